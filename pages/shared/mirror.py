"""Controls whose value is also set from elsewhere, safe against a browser that is one answer behind.

Every request of the browser carries the values of all controls as it last drew them. Where the script has set a
control meanwhile (λ's slider after a number was typed), the next request, caused by any other control, still carries
the old value: Streamlit takes that for a change and would undo what was set. Two ways around it:

- a control without a fixed key (`key_of`) gets a new one whenever its value is set from elsewhere, so that the old
  value arrives under a key that is no longer drawn; it keeps its key, and with it the keyboard's focus, while only its
  user moves it;
- a control bound to the URL must keep its key, so `put` notes what it replaces, and `undo_echo`, its `on_change`,
  restores what was put where just that comes back at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

ECHO_SECONDS = 2.0  # after the run that drew it; nobody puts a control back to what it was so quickly
_PUT = "_put"


@dataclass
class _Drawn:
    key: str = ""
    first: Any = None
    shape: tuple = ()
    values: dict[str, Any] = field(default_factory=dict)  # under each key so far, as last drawn or moved


@dataclass
class _Note:
    value: Any
    replaced: tuple
    completed: float | None = None  # when a run that drew the value had come to its end

    @property
    def is_over(self) -> bool:
        return self.completed is not None and time.monotonic() - self.completed > ECHO_SECONDS


def key_of(name: str, value: Any, *shape: object) -> str:
    """The key under which to draw the control: a new one where value or shape were set from elsewhere since.

    name: of the control, unique in the app. value: what it must show, and must be given as the control's default, for a
    new control to start from. shape: what else needs a new control, such as the range of a slider.
    """
    drawn = st.session_state.setdefault(f"_{name}", _Drawn())
    if not drawn.values or drawn.values[drawn.key] != value or drawn.shape != shape:
        drawn.key, drawn.first, drawn.shape = f"{name}_{len(drawn.values)}", value, shape
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
    for key, value in values.items():
        replaced = notes[key].replaced if key in notes else ()
        notes[key] = _Note(value, (*replaced, state.get(key)))
        state[key] = value


def undo_echo(key: str) -> None:
    """`on_change` of a bound control: restores what was put where the browser only repeats what it replaced."""
    notes = st.session_state.get(_PUT, {})
    if key in notes:
        if notes[key].is_over or st.session_state[key] not in notes[key].replaced:
            del notes[key]  # its user has moved it
        else:
            st.session_state[key] = notes[key].value


def begin_run() -> None:
    """Sends what was put once more, before it is drawn: a run that was cut short may not have reached the browser."""
    notes = st.session_state.get(_PUT, {})
    for key in [key for key, note in notes.items() if note.is_over]:
        del notes[key]
    for key, note in notes.items():
        st.session_state[key] = note.value


def end_run() -> None:
    """Notes that a run has drawn everything that was put, and come to its end."""
    for note in st.session_state.get(_PUT, {}).values():
        note.completed = note.completed or time.monotonic()
