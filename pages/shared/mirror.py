"""Controls whose value is also set from elsewhere, safe against a browser that is one answer behind.

Every request of the browser carries the values of all controls as it last drew them. Where the script has set a
control meanwhile (λ's slider after a number was typed), the next request, caused by any other control, still carries
the old value: Streamlit takes that for a change and would undo what was set. Two ways around it:

- a control without a fixed key (`key_of`) gets a new one whenever its value is set from elsewhere, so that the old
  value arrives under a key that is no longer drawn; it keeps its key, and with it the keyboard's focus, while only its
  user moves it;
- a control bound to the URL must keep its key, so `put` notes what it replaces and counts, and `tell_drawn` draws that
  count in a hidden field directly behind the sidebar's controls, however long the rest of the run takes. A request that
  still carries a lower count comes from a browser that has not drawn what was put, and `undo_echo`, the control's
  `on_change`, restores it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

DRAWN = "drawn_count"
EARLY, DRAWN_EARLY = ("data", "features"), "drawn_count_early"  # drawn before what may take long: loading a data set
_PUT, _COUNT = "_put", "_put_count"


@dataclass
class _Drawn:
    key: str = ""
    # After a restart of the server a browser sends what it had under the last session's keys, and tells of no change.
    session: str = field(default_factory=lambda: secrets.token_hex(4))
    first: Any = None
    shape: tuple = ()
    values: dict[str, Any] = field(default_factory=dict)  # under each key so far, as last drawn or moved


@dataclass
class _Note:
    value: Any
    replaced: tuple
    count: int


def key_of(name: str, value: Any, *shape: object) -> str:
    """The key under which to draw the control: a new one where value or shape were set from elsewhere since.

    name: of the control, unique in the app. value: what it must show, and must be given as the control's default, for a
    new control to start from. shape: what else needs a new control, such as the range of a slider.
    """
    drawn = st.session_state.setdefault(f"_{name}", _Drawn())
    if not drawn.values or drawn.values[drawn.key] != value or drawn.shape != shape:
        drawn.key, drawn.first, drawn.shape = f"{name}_{drawn.session}_{len(drawn.values)}", value, shape
        drawn.values[drawn.key] = value
    return drawn.key


def first_value(name: str) -> Any:
    """The value that the control showed when it got its present key: one to which its user can go back."""
    return st.session_state[f"_{name}"].first


def on_move(name: str, key: str, take: Callable[[Any], None]) -> None:
    """The `on_change` of the control that is drawn under this key: takes the value to which its user has moved it.

    Streamlit also calls it for a control that is no longer drawn and has not moved, where the browser still has it.
    """
    values, value = st.session_state[f"_{name}"].values, st.session_state[key]
    if values[key] != value:
        values[key] = value
        take(value)


def put(**values: Any) -> None:
    """Sets controls that are bound to the URL from elsewhere: from a callback, or before they are drawn."""
    state, notes = st.session_state, st.session_state.setdefault(_PUT, {})
    state[_COUNT] = count = state.get(_COUNT, 0) + 1
    for key, value in values.items():
        replaced = notes[key].replaced if key in notes and not _has_drawn(key) else ()
        notes[key] = _Note(value, (*replaced, state.get(key)), count)
        state[key] = value


def undo_echo(key: str) -> None:
    """`on_change` of a bound control: restores what was put where the browser only repeats what it replaced."""
    note = st.session_state.get(_PUT, {}).get(key)
    if note is None:
        return
    if _has_drawn(key) or st.session_state[key] not in note.replaced:
        del st.session_state[_PUT][key]  # its user has moved it
    else:
        st.session_state[key] = note.value


def _has_drawn(key: str) -> bool:
    drawn = st.session_state.get(DRAWN_EARLY if key in EARLY else DRAWN, 0)
    return int(drawn) >= st.session_state[_PUT][key].count


def begin_run() -> None:
    """Sends what was put once more, before it is drawn, to a browser that has not drawn it yet: a run that is broken
    off by the next takes with it what it had not sent. What is drawn is done with."""
    notes = st.session_state.get(_PUT, {})
    for key in list(notes):
        if _has_drawn(key):
            del notes[key]
        else:
            st.session_state[key] = notes[key].value


def tell_drawn(name: str) -> None:
    """Tells the browser, behind the controls that it is about, what it has drawn by now; name: DRAWN or DRAWN_EARLY."""
    st.session_state[name] = str(st.session_state.get(_COUNT, 0))
    st.text_input("What was drawn", key=name, label_visibility="collapsed")
