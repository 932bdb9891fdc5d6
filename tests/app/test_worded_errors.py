"""What is wrong with the data, the memory or the server's settings is told on the page as a sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import frame, preparing
from pages.shared.frame import plain_markdown
from tests.app.helpers import SECONDS, start
from xmlcore import DataError

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
    assert {line.partition(" No page")[0] for line in said} == {
        plain_markdown("XMLCORE_MEMORY is 'lots'; expected bytes, as 2e9.")
    }


@pytest.mark.parametrize("link", [{}, {"data": "Debian-depends"}, {"features": "unit"}])
def test_where_not_even_the_first_data_set_can_be_had_the_reason_is_told(monkeypatch, link):
    def none(*_):
        raise DataError("the disk is gone")

    monkeypatch.setattr(preparing, "lambda_range_of", none)
    app = start(**link)
    assert not app.exception
    assert not app.metric
    (error,) = app.error
    assert error.value.startswith(plain_markdown("Debtags: the disk is gone. No page can answer"))


def test_too_little_memory_is_told_as_a_sentence(monkeypatch):
    app = start()

    def without_room(*_):
        raise MemoryError

    monkeypatch.setattr(frame, "run", without_room)
    app.run()
    assert app.error[0].value.startswith("There is not enough memory for this now.")
    assert not app.exception


def test_a_part_of_a_page_words_what_is_wrong_with_the_data_and_the_rest_goes_on():
    def script():
        import streamlit as st

        from pages.shared.frame import fragment
        from xmlcore import DataError

        def part(name: str) -> None:
            raise DataError(f"{name} is not there any more: *x*")

        fragment(part)("Debtags")
        st.write("the rest")

    app = AppTest.from_function(script, default_timeout=SECONDS).run()
    assert not app.exception
    assert [error.value for error in app.error] == [r"Debtags is not there any more\: \*x\*"]
    assert app.markdown[0].value == "the rest"
