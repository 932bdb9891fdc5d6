"""The frame around every page: the list of pages, the guard that each page begins with, and the page's run."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.shared import behind
from pages.shared.settings import REFUSED, REFUSED_WITH, Settings, as_quoted
from xmlcore import DataError
from xmlcore.readers.files import parse_whole

SETTINGS = "_settings_of_this_run"
PAGE, NEW_ADDRESS = "_page_of_last_run", "_new_address"
LINK, HISTORY = "a link", "the browser's history"


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


class EndOfPage(Exception):
    """Ends a page that has shown why it shows no more; after `st.stop` the frame could not draw its status line."""


@contextmanager
def worded_errors() -> Iterator[None]:
    """Shows what is wrong with the data as the sentence that says so; the page ends there."""
    try:
        yield
    except EndOfPage:
        pass
    except DataError as error:
        st.error(plain_markdown(str(error)), icon=":material/error:")
    except MemoryError:
        st.error("There is not enough memory for this now. Fewer features need less, and so do fewer instances.")


def plain_markdown(text: str) -> str:
    """The text such that Markdown shows it as it is."""
    text = text.replace(":material/", ":\u2060material/")  # Streamlit draws an icon even where the colon is escaped
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~<>$:&])", r"\\\1", text)


def warn_of_refused(sentences: list[str]) -> None:
    """A note of what a link asks for and is not there; the sentences quote the link, which anybody may have written."""
    st.warning("  \n".join(map(plain_markdown, sentences)), icon=":material/link_off:")


def show_refusals(data: str) -> None:
    """Names the refused values above the page, until the visitor closes the note or goes on to another data set."""
    state = st.session_state
    if not state.get(REFUSED):
        state[REFUSED_WITH] = data
    elif data != state.setdefault(REFUSED_WITH, data):
        state[REFUSED], state[REFUSED_WITH] = [], data
    else:
        with st.container(horizontal=True, vertical_alignment="center"):
            warn_of_refused(state[REFUSED])
            st.button("Close", key="close_refused", on_click=lambda: state.update({REFUSED: []}))


def fragment(function: Callable[..., None], run_every: float | None = None) -> Callable[..., None]:
    """`st.fragment` whose own runs, which do not pass through `app.py`, word errors of the data as that does.

    They are a visitor's as well, for whom work behind the pages steps aside. Not where the fragment polls: its polls,
    which cannot be told from its visitor's runs, would hold up the very work that they look for.
    """

    @wraps(function)
    def worded(*args: object) -> None:
        with worded_errors(), nullcontext() if run_every else behind.visitor_first():
            function(*args)

    return st.fragment(worded, run_every=run_every)


def run(page: st.Page, settings: Settings) -> None:
    """Runs the page with the settings of the sidebar."""
    state, context = st.session_state, get_script_run_ctx()
    state[SETTINGS] = settings
    if context is not None and context.is_history_navigation:
        state[NEW_ADDRESS] = HISTORY
    elif state.get(PAGE) != page.url_path:
        state[NEW_ADDRESS] = LINK
    state[PAGE] = page.url_path
    page.run()


def new_address() -> str | None:
    """LINK on the first run of a visit to the page, HISTORY after Back or Forward, else None; and then None.

    Only then may the address tell the page what to show: at other times it may be one answer behind the controls.
    """
    return st.session_state.pop(NEW_ADDRESS, None)


def refuse_others(**controls: Collection[str]) -> None:
    """Names above the page what a link asks of controls that cannot take it, and begins the run anew without it.

    controls: for each key the values that it takes. Streamlit drops others without a word.
    """
    _refuse(
        {
            key: f"one of {', '.join(options)}"
            for key, options in controls.items()
            if (value := st.query_params.get(key)) and value not in options
        }
    )


def refuse_numbers(**controls: tuple[float, float]) -> None:
    """The same for sliders: for each key the lowest and the highest number."""
    expected = {}
    for key, (low, high) in controls.items():
        try:
            taken = low <= float(st.query_params.get(key) or low) <= high
        except ValueError:
            taken = False
        if not taken:
            expected[key] = f"a number from {low:g} to {high:g}"
    _refuse(expected)


def _refuse(expected: dict[str, str]) -> None:
    """Drops the values of these keys, says so with what was expected, and begins the run anew; nothing without keys."""
    if not expected:
        return
    sentences = []
    for key, wanted in expected.items():
        sentences.append(
            f"{key} = {as_quoted(', '.join(st.query_params.get_all(key)))} was refused: expected {wanted}."
        )
        del st.query_params[key]
    st.session_state[REFUSED] = [*st.session_state.get(REFUSED, []), *sentences]
    st.rerun()


def refuse_range(key: str, values: Sequence[int]) -> None:
    """The same for a slider with two handles over these values, which the address has twice, in ascending order."""
    given = st.query_params.get_all(key)
    if not given or (len(given) == 2 and set(given) <= set(map(str, values)) and int(given[0]) <= int(given[1])):
        return
    _refuse({key: f"two of {', '.join(map(str, values))}, the lower one first"})


def take_from_address(came_by: str | None, **controls: tuple[str | None, Collection[str] | None]) -> None:
    """Sets the controls that the address has a value for; after Back, the others to their defaults.

    controls: for each key its default, and which values it takes, None for any.

    Streamlit's own binding to the address would, whenever such a page is left, push one more entry in which the bound
    values are missing: Back would lead there, and lose the search, before it led to what the visitor saw.
    """
    if came_by is not None:
        st.session_state[NEW_ADDRESS] = came_by  # for the run that begins where a value is refused
        refuse_others(**{key: options for key, (_, options) in controls.items() if options is not None})
        del st.session_state[NEW_ADDRESS]
    for key, (default, options) in controls.items():
        value = st.query_params.get(key)
        if came_by is not None and value and (options is None or value in options):
            st.session_state[key] = value
        elif came_by == HISTORY:
            st.session_state[key] = default


def write_address(**values: str | int | None) -> None:
    """Brings these keys of the address up to date, None leaves one out: one entry of the history, or none at all."""
    wanted = {key: "" if value is None else str(value) for key, value in values.items()}
    changed = {key: value for key, value in wanted.items() if st.query_params.get(key, "") != value}
    if changed:
        # Each deletion would be an entry of its own; a key with an empty list is not in the address either.
        st.query_params.update({key: value or [] for key, value in changed.items()})


def as_index(value: object, count: int) -> int | None:
    """What the address or a control has for an index, from 0 to count − 1; None where it is none."""
    index = parse_whole(str(value))
    return index if index is not None and index < count else None


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
