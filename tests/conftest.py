"""What all tests share: where outside data is, and a cache folder of the tests' own."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

hypothesis.settings.register_profile("shared machine", deadline=None)
hypothesis.settings.load_profile("shared machine")
# Two processes on two cores: more BLAS threads than that wait for each other, and the whole takes half as long again.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
BROWSER, SERVERS = "tests/browser/", "tests/browser/test_servers.py"
MAIN = sys.modules["__main__"]


class JourneysTogether(LoadScopeScheduling):
    """The browser's journeys in one process, since they share a server, beside them file by file."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        return BROWSER if file.startswith(BROWSER) and file != SERVERS else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> JourneysTogether:
    """How tests are handed out to processes."""
    return JourneysTogether(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first: the journeys, and beside them the servers that are started for one test."""
    items.sort(key=lambda item: (not item.nodeid.startswith(BROWSER), item.nodeid.startswith(SERVERS)))


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of public data that is not committed; skips where it is missing."""
    folder = Path(os.environ.get("XMLCORE_TEST_DATA", "../shared/data"))
    if not folder.is_dir():
        pytest.skip(f"{folder} is missing; set XMLCORE_TEST_DATA to a folder that has mulan/ and table1.csv")
    return folder


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory) -> None:
    """Nothing of a user's own cache is read or written."""
    os.environ["XMLCORE_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True)
def main_module_stays() -> Iterator[None]:
    """streamlit.testing leaves its script as the main module, which processes that are spawned later would run."""
    yield
    sys.modules["__main__"] = MAIN
