"""Finding a test instance: by name or word, by what weighting did to it, step by step, and by its number in a link."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import chain

import numpy as np
import streamlit as st
from cachetools import LRUCache, cached
from scipy import sparse

from pages.shared import frame, mirror
from pages.shared.answers import Answer
from pages.shared.frame import plain_markdown
from pages.shared.instance_subject import kind_of_features
from pages.shared.settings import as_quoted, own_lambda_text
from pages.shared.sizes import held_bytes
from xmlcore import Dataset
from xmlcore.analysis import InstanceMarks, instance_marks
from xmlcore.matrices import as_blocks
from xmlcore.units import counted
from xmlcore.words import has_all_words, tokenize

INSTANCE, LABEL, VIEW, FIND, SHOW = "instance", "label", "view", "find", "show"
VIEWS = ("A test instance", "Missing labels?", "Your own document")
REFUSED = "_refused_instance"
SHOWN = "_instance_shown"  # the data set and the instance that were shown last
UNASKED = "_instance_unasked"  # the instance that the address leaves out; for what search and setting it is the first
LISTED = 200
EXAMPLE = "chess"
MARKS_BYTES = 32 << 20
CUTS, TAIL_BELOW = "cuts", 30  # the slider of Head and tail, and its default

FILTERS: dict[str, Callable[[InstanceMarks], np.ndarray]] = {
    "any": lambda marks: np.arange(marks.changed.size),
    "weighting changed the top K": lambda marks: np.flatnonzero(marks.changed),
    "weighting brought a right label in": lambda marks: np.flatnonzero(marks.gained),
    "weighting dropped a right label": lambda marks: np.flatnonzero(marks.lost),
    "a tail label was missed": lambda marks: np.flatnonzero((marks.ridge_tail_missed > 0) | (marks.ps_tail_missed > 0)),
    "all wrong": lambda marks: np.flatnonzero((marks.n_relevant > 0) & (marks.ridge_hits == 0) & (marks.ps_hits == 0)),
    "most labels": lambda marks: np.argsort(-marks.n_relevant, kind="stable"),
}
IN_A_SENTENCE = {"all wrong": "all is wrong"}  # behind "where", in which the other filters are as they are called
SORTED = ("most labels",)  # keeps every instance, so that the first of them is what was asked for


def tail_below() -> int:
    """On fewer training instances a label is in the tail: as the visitor has set it on the page Head and tail."""
    return st.session_state.get(CUTS, (TAIL_BELOW,))[0]


@cached(
    LRUCache(MARKS_BYTES, getsizeof=held_bytes),
    key=lambda answer, tail: (answer.model.full.fingerprint, answer.settings, tail),
    condition=threading.Condition(),
)
def marks_of(answer: Answer, tail: int) -> InstanceMarks:
    """What is worth a look in each test instance; labels on fewer than `tail` training instances are in the tail."""
    data = answer.dataset
    return instance_marks(answer.evaluation, answer.K, data.Y_test, data.label_counts, tail)


def found(answer: Answer, text: str, which: str) -> np.ndarray:
    """The test instances that pass filter and search: those of that name first, then by its parts, then by word."""
    rows = FILTERS[which](marks_of(answer, tail_below()))
    text = text.strip()
    if not text:
        return rows
    data = answer.dataset
    exact, by_name = _by_name(data, text)
    by_words = False if data.feature_names is None else has_all_words(text, data.X_test, data.feature_names)
    order = np.where(exact, 0, np.where(by_name, 1, np.where(by_words, 2, 3)))[rows]
    return rows[np.argsort(order, kind="stable")][: np.count_nonzero(order < 3)]


def _by_name(data: Dataset, text: str) -> tuple[np.ndarray, np.ndarray]:
    if data.test_names is None:
        nowhere = np.zeros(data.n_test, dtype=bool)
        text = text.lower().removeprefix("test").strip().removeprefix("instance").strip()
        if (row := frame.as_index(text, data.n_test)) is not None:
            nowhere[row] = True
        return nowhere, nowhere
    names = np.char.lower(np.asarray(data.test_names, dtype=str))
    return names == text.lower(), np.char.find(names, text.lower()) >= 0


def take_from_link(answer: Answer) -> None:
    """Takes over what a link or Back shows, names and refuses what is not there, and sees that an instance is shown."""
    state, data, refused = st.session_state, answer.dataset, []
    came_by = frame.new_address()
    frame.take_from_address(came_by, **{FIND: ("", None), SHOW: ("any", FILTERS), VIEW: (VIEWS[0], VIEWS)})
    if came_by == frame.HISTORY or (came_by == frame.LINK and INSTANCE in st.query_params):
        state.update({key: st.query_params.get(key) or None for key in (INSTANCE, LABEL)})
        if SHOWN in state and VIEW not in st.query_params:
            state[VIEW] = VIEWS[0]
    elif state.get(SHOWN, (answer.settings.data, None))[0] != answer.settings.data and (
        state[INSTANCE] == state[SHOWN][1]
    ):
        state.update({INSTANCE: None, LABEL: None})  # the same number in another data set is another instance
    elif SHOWN in state and state[INSTANCE] != state[SHOWN][1]:
        state[VIEW] = VIEWS[0]  # a link of another page chose it
    for key, count, what in ((INSTANCE, data.n_test, "test instance"), (LABEL, data.n_labels, "label")):
        if key not in state:
            state[key] = st.query_params.get(key)
        if state[key] is None:
            continue
        index = frame.as_index(state[key], count)
        if index is None:
            there = f"{what}s 0 to {count - 1:,}" if count > 1 else f"{what} 0 only"
            there += " of its sample" if key == INSTANCE and count < answer.model.full.n_test else ""
            refused.append(f"{key} = {as_quoted(str(state[key]))} was refused: {answer.settings.data} has the {there}.")
        state[key] = index
    at = (answer.settings, tail_below())
    if state[INSTANCE] is None:
        state[INSTANCE] = _first_to_show(answer)
        state[UNASKED] = (state[INSTANCE], _search(), at)
    elif UNASKED in state and state[UNASKED][2] != at:
        del state[UNASKED]
    if refused:
        state[REFUSED] = [*refused, f"Showing {data.test_name(state[INSTANCE])} (instance = {state[INSTANCE]})."]
    state[SHOWN] = (answer.settings.data, state[INSTANCE])


def _search() -> tuple[str, str]:
    """What is searched for, and the filter."""
    return (st.session_state.get(FIND) or "").strip(), st.session_state.get(SHOW) or "any"


def _first_to_show(answer: Answer) -> int:
    """The first that is found, else an instance to which weighting brought a right label, where there is one."""
    searches = [("", "weighting brought a right label in"), ("", "any")]
    if _search() != ("", "any"):
        searches.insert(0, _search())
    return next(int(rows[0]) for rows in (found(answer, *each) for each in searches) if rows.size)


def write_link() -> None:
    """Keeps the address up to date: one entry of the browser's history for each step, however much it changes."""
    state = st.session_state
    unasked = UNASKED in state and state[UNASKED][:2] == (state[INSTANCE], _search())
    frame.write_address(
        **{
            INSTANCE: None if unasked else state[INSTANCE],
            LABEL: state[LABEL],
            FIND: state.get(FIND) or None,
            SHOW: None if state.get(SHOW, "any") == "any" else state[SHOW],
            VIEW: None if state.get(VIEW, VIEWS[0]) == VIEWS[0] else state[VIEW],
        }
    )


def show_refusals() -> None:
    """Names what a link asked for and is not there, until the visitor goes on."""
    if st.session_state.get(REFUSED):
        frame.warn_of_refused(st.session_state[REFUSED])


def go(row: int, label: int | None = None) -> None:
    """Shows a test instance, and one of its labels, or the first that is worth explaining."""
    shown = (st.session_state[SHOWN][0], row)
    st.session_state.update({INSTANCE: row, LABEL: label, VIEW: VIEWS[0], SHOWN: shown})
    st.session_state.pop(REFUSED, None)


def controls(answer: Answer) -> None:
    """Search, filter, the list of what was found, and the way to the one before and after."""
    search, filters, choice, steps = st.container(key="find_controls").columns(4, vertical_alignment="bottom")
    with search:
        text = _search_field(answer)
    with filters:
        which = _filter_list(answer)
    rows = found(answer, text, which)
    (at,) = np.nonzero(rows == st.session_state[INSTANCE])
    with choice:
        _found_list(answer.dataset, rows)
    with steps.container(horizontal=True, wrap=False, gap="xsmall"):
        _steps(rows, int(at[0]) if at.size else None)
    if answer.dataset.n_test < answer.model.full.n_test:
        st.caption(f"Found in {answer.rows_text}.")
    if not rows.size:
        st.info(_nothing_found(answer, text, which), icon=":material/search_off:")
    elif not at.size:
        shown = plain_markdown(answer.dataset.test_name(st.session_state[INSTANCE]))
        among = f"among the {len(rows):,}" if len(rows) > 1 else "the one"
        st.caption(f"{shown}, shown below, is not {among} found.")


def _search_field(answer: Answer) -> str:
    label, example, searched = _searchable(answer)
    return st.text_input(
        label,
        key=FIND,
        persist_state="session",
        type="search",
        placeholder=f"such as {example}",
        on_change=_jump,
        args=(answer,),
        help=searched,
    )


def _filter_list(answer: Answer) -> str:
    return st.selectbox(
        "Where",
        list(FILTERS),
        key=SHOW,
        persist_state="session",
        on_change=_jump,
        args=(answer,),
        help=f"K is {answer.K}. Weighting: what PS{own_lambda_text(answer.settings)} ranks otherwise. All wrong: "
        "neither list has a right label. A tail label is one on fewer than "
        f"{counted(tail_below(), 'training instance')}, as set on the page Head and tail; it counts as missed where "
        "one of the two lists lacks it.",
    )


def _found_list(data: Dataset, rows: np.ndarray) -> None:
    """The first that were found and the instance that is shown, chosen."""
    listed, shown = rows[:LISTED].tolist(), st.session_state[INSTANCE]
    if shown not in listed:
        listed = [shown, *listed]
    key = mirror.key_of("instance_choice", shown)
    st.selectbox(
        f"Instance ({len(rows):,} found)" if len(rows) <= LISTED else f"Instance (first {LISTED} of {len(rows):,})",
        listed,
        listed.index(shown),
        format_func=data.test_name,
        key=key,
        on_change=mirror.on_move,
        args=("instance_choice", key, go),
    )


def _steps(rows: np.ndarray, at: int | None) -> None:
    """Buttons to the instances before and after the place of the shown one; at: None where it is not among the rows."""
    before, after = _neighbours(rows, at)
    for label, target, which_way in (("Prev", before, "before"), ("Next", after, "after")):
        st.button(
            label,
            key=f"instance_{which_way}",
            disabled=target is None,
            on_click=go,
            args=(target,),
            help=f"The one {which_way}",
            width="stretch",
        )


def _searchable(answer: Answer) -> tuple[str, str, str]:
    """What a search can look for in this data set: its name, an example and a description."""
    data, word, kind = answer.dataset, _example_word(answer.dataset), kind_of_features(answer)
    name, example, told = "Name", data.test_name(0), "Part of an instance's name"
    if data.test_names is None:
        name, example = "Number", str(data.n_test - 1)
        told = f"The number of an instance, from 0 to {data.n_test - 1:,}"
    if word is None:
        return name, example, f"{told}. The features of this data set cannot be searched."
    return f"{name} or {kind[:-1]}", word, f"{told}, or {kind} that it contains."


def _example_word(data: Dataset) -> str | None:
    """A feature that a search can find, one whose name is a single word; None where there is none."""
    named, offset = [], 0
    for block in as_blocks(data.X_test) if data.feature_names is not None else ():
        if sparse.issparse(block):
            named.append(data.feature_names[offset : offset + block.shape[1]])
        offset += block.shape[1]
    if any(np.any(names == EXAMPLE) for names in named):
        return EXAMPLE
    every = map(str, chain.from_iterable(named))
    return next((name for name in every if tokenize(name) == [name.lower()]), None)


def _neighbours(rows: np.ndarray, at: int | None) -> tuple[int | None, int | None]:
    if at is None:
        return None, int(rows[0]) if rows.size else None
    return int(rows[at - 1]) if at > 0 else None, int(rows[at + 1]) if at + 1 < rows.size else None


def _jump(answer: Answer) -> None:
    """After a new search or filter: to the first that is found, unless the present one is among them."""
    text, which = _search()
    rows = found(answer, text, which)
    if rows.size and (text or which in SORTED or st.session_state[INSTANCE] not in rows):
        go(int(rows[0]))


def _nothing_found(answer: Answer, text: str, which: str) -> str:
    data, where = answer.dataset, IN_A_SENTENCE.get(which, which)
    if not text.strip():
        return f"There is none where {where}, of {answer.rows_text}."
    among = answer.rows_text if which in ("any", *SORTED) else f"those test instances where {where}"
    nothing = f"Nothing found for “{plain_markdown(as_quoted(text.strip()))}” in"
    names, part = "names", "a part of a name"
    if data.test_names is None:
        names, part = "numbers", f"a number from 0 to {data.n_test - 1:,}"
    if _example_word(data) is None:
        return (
            f"{nothing} {names} of {among}. Their features are no words that can be searched: try {part}, or another "
            "filter."
        )
    if not tokenize(text):
        return (
            f"{nothing} {names} of {among}, and there is no word in it to look for in their texts. Try a word, {part}, "
            "or another filter."
        )
    return (
        f"{nothing} {names} and words of {among}. A word is found where it is one of the features; try {part}, or "
        "another filter."
    )
