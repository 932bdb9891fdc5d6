"""The tests, and where those that need outside data find it."""

import os
from pathlib import Path

TEST_DATA = Path(os.environ.get("XMLCORE_TEST_DATA", "../shared/data"))
"""The folder of public data that is not committed: `mulan/` and `table1.csv` in it."""
