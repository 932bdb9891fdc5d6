"""What all tests share: where outside data is, and a cache folder of the tests' own."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests import TEST_DATA

hypothesis.settings.register_profile("shared machine", deadline=None)
hypothesis.settings.load_profile("shared machine")
# Two processes on two cores: more BLAS threads than that wait for each other, and the whole takes half as long again.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
MAIN = sys.modules["__main__"]
# In this order, and handed out whole: two processes have a server and a browser each, at different times if they can.
BROWSER = ("tests/browser/test_servers.py", "tests/browser/test_tune.py", "tests/browser/test_every_page.py")
ORDER = (*BROWSER, "tests/app/", "tests/browser/", "tests/benchmarks/", "tests/unit/")


# Its processes of low priority wait for minutes beside a cold server that compiles.
LATER = "tests/app/test_background.py"


def place(nodeid: str) -> int:
    """Where a test stands in the order."""
    if nodeid.startswith(LATER):
        return ORDER.index("tests/benchmarks/")
    return next((place for place, beginning in enumerate(ORDER) if nodeid.startswith(beginning)), len(ORDER))


class JourneysTogether(LoadScopeScheduling):
    """Two groups of the browser's journeys, each of which shares a server, and beside them file by file.

    Marks for `--dist loadgroup` would say the same, but xdist 3.8 writes them into test ids that pytest 9.2 keeps.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        if not file.startswith("tests/browser/"):
            return file
        return "a fresh server" if file in BROWSER else "journeys"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> JourneysTogether:
    """How tests are handed out to processes."""
    return JourneysTogether(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The servers just started first, since they want to be cold, and what is short last."""
    items.sort(key=lambda item: place(item.nodeid))


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of public data that is not committed; skips where it is missing."""
    if not TEST_DATA.is_dir():
        pytest.skip(f"{TEST_DATA} is missing; set XMLCORE_TEST_DATA to a folder that has mulan/ and table1.csv")
    return TEST_DATA


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory) -> None:
    """Nothing of a user's own cache is read or written."""
    os.environ["XMLCORE_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True)
def main_module_stays() -> Iterator[None]:
    """streamlit.testing leaves its script as the main module, which processes that are spawned later would run."""
    yield
    sys.modules["__main__"] = MAIN
