"""The frame around every page: the list of pages, the guard that each page begins with, and the page's run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps

import streamlit as st

from pages.shared.settings import Settings
from xmlcore import DataError

SETTINGS = "_settings_of_this_run"


@dataclass(frozen=True)
class PageEntry:
    """A page of the menu: its script, whose name is its address, and its title. The first is at `/`."""

    path: str
    title: str


PAGES = (
    PageEntry("pages/tune.py", "Tune"),
    PageEntry("pages/head_and_tail.py", "Head and tail"),
    PageEntry("pages/instances.py", "Instances"),
    PageEntry("pages/compress.py", "Compress"),
    PageEntry("pages/compare.py", "Compare"),
    PageEntry("pages/data.py", "Data"),
    PageEntry("pages/learn.py", "Learn"),
    PageEntry("pages/lecture.py", "Lecture"),
)


def navigation() -> st.Page:
    """Registers the menu and gives the page that the address asks for."""
    pages = [st.Page(entry.path, title=entry.title, default=entry is PAGES[0]) for entry in PAGES]
    return st.navigation(pages, position="top")


@contextmanager
def worded_errors() -> Iterator[None]:
    """Shows what is wrong with the data as the sentence that says so; the page ends there."""
    try:
        yield
    except DataError as error:
        st.error(str(error), icon=":material/error:")


def fragment(function: Callable[..., None], run_every: float | None = None) -> Callable[..., None]:
    """`st.fragment` whose own runs, which do not pass through `app.py`, word errors of the data as that does."""

    @wraps(function)
    def worded(*args: object) -> None:
        with worded_errors():
            function(*args)

    return st.fragment(worded, run_every=run_every)


def run(page: st.Page, settings: Settings) -> None:
    """Runs the page with the settings of the sidebar."""
    st.session_state[SETTINGS] = settings
    page.run()


def guard() -> Settings:
    """The settings of this run; runs `app.py` first where Streamlit has started a page's script alone.

    A folder called `pages` makes a fresh server run the script behind `/instances` by itself, before `app.py` has
    told it of the navigation. `app.py` leaves the settings before it runs a page; without them, the navigation is
    registered here and the run starts again, now through `app.py`.
    """
    settings = st.session_state.pop(SETTINGS, None)
    if settings is None:
        navigation()
        st.rerun()
    return settings
