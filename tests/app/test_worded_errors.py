"""What is wrong with the data, the memory or the server's settings is told on the page as a sentence."""

import os
import subprocess
import sys
from pathlib import Path

from pages.shared.frame import plain_markdown

EVERY_PAGE = """
from pages.shared.frame import PAGES
from tests.app.helpers import start

for entry in PAGES:
    app = start().switch_page(entry.path).run()
    assert not app.exception, entry.title
    (error,) = app.error
    print(error.value)
"""


def test_a_memory_of_the_server_that_is_no_number_is_told_on_every_page():
    done = subprocess.run(
        [sys.executable, "-c", EVERY_PAGE],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"XMLCORE_MEMORY": "lots"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) == 8
    assert {line.partition(" Whoever")[0] for line in said} == {
        plain_markdown("XMLCORE_MEMORY is 'lots'; expected bytes, as 2e9.")
    }
