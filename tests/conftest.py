"""What all tests share: where outside data is, and a cache folder of the tests' own."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("shared machine", deadline=None)
hypothesis.settings.load_profile("shared machine")
MAIN = sys.modules["__main__"]


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests share one server and one process, and begin first, beside all others in the second process."""
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("browser"))
    items.sort(key=lambda item: "browser" not in item.path.parts)


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of public data that is not committed; skips where it is missing, but fails in CI when it is there."""
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
