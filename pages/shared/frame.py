"""The frame around every page: the list of pages, the guard that each page begins with, and the page's run."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.shared.settings import Settings

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
