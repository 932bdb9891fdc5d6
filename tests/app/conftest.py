"""What the tests of the pages share: work behind a page that nobody looks at takes no time from the next test."""

import pytest

from pages.shared import behind


@pytest.fixture(scope="session", autouse=True)
def forgotten_soon() -> None:
    """For the whole process: given back at a test's end, they would have its work go on."""
    behind.QUIET_SECONDS, behind._FORGOTTEN_AFTER = 0.1, 1.0
