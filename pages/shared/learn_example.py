"""Learn's example: two small tables that are edited in place, three sliders, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st

from xmlcore.toy import EXAMPLE, ToyExample, WorkedExample, work_through

NEW = "new"
CELL_WIDTH = 74  # pixels: beside the sign that a column can be edited, the longest word is not cut
LAMBDAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
A_RANGE, B_RANGE = (0.0, 2.0), (0.05, 10.0)
LARGEST_COUNT = 999
SLIDER_KEYS = {"λ": "toy_lambda", "A": "toy_A", "B": "toy_B"}
WORDS_KEY, LABELS_KEY = "toy_words", "toy_labels"
ROUND = "_toy_round"  # how often the tables were begun anew


@dataclass(frozen=True)
class Parameters:
    """What the example's three sliders are set to."""

    reg_lambda: float
    A: float
    B: float


DEFAULT = Parameters(reg_lambda=0.5, A=0.55, B=1.5)


@dataclass(frozen=True, eq=False)
class Bench:
    """The example as it is edited, with the sliders, and every number that follows."""

    example: ToyExample
    parameters: Parameters
    worked: WorkedExample


def sliders() -> Parameters:
    """The example's own λ, A and B in a row, and a button that undoes all changes of the example."""
    with st.container(key="toy_sliders", horizontal=True, vertical_alignment="bottom", gap="medium"):
        reg_lambda = st.select_slider(
            "λ of the example",
            LAMBDAS,
            DEFAULT.reg_lambda,
            format_func=lambda value: f"{value:g}",
            key="toy_lambda",
            bind="query-params",
            help="The example's eigenvalues are small, so its λ has a scale of its own, apart from the sidebar's.",
        )
        A = st.slider("A of the example", *A_RANGE, DEFAULT.A, 0.05, key="toy_A", bind="query-params")
        B = st.slider("B of the example", *B_RANGE, DEFAULT.B, 0.05, key="toy_B", bind="query-params")
        st.button("Start over", on_click=_start_over, help="The example's tables and sliders as at first")
    return Parameters(reg_lambda, A, B)


def unused_sliders(uses: str) -> str:
    """Style that hides the sliders that a step makes no use of. One that is not drawn would lose its value.

    uses: the symbols of those that it uses, such as "λAB".
    """
    hidden = [f".st-key-{key}" for symbol, key in SLIDER_KEYS.items() if symbol not in uses]
    return f"{', '.join(hidden)} {{ display: none; }}" if hidden else ""


def bench(parameters: Parameters) -> Bench | None:
    """Draws the tables side by side; None, with a message that names each cell, while a cell cannot be used."""
    left, right = st.columns([29, 21])
    with left:
        st.markdown("**Word counts X**, the new document last")
        number = st.column_config.NumberColumn(step=1, width=CELL_WIDTH)
        words = _editor(WORDS_KEY, _words_frame(), dict.fromkeys(EXAMPLE.words, number))
    with right:
        st.markdown("**Labels Y**")
        tick = st.column_config.CheckboxColumn(width=CELL_WIDTH)
        labels = _editor(LABELS_KEY, _labels_frame(), dict.fromkeys(EXAMPLE.labels, tick))
    problems = cell_problems(words, "counts") + cell_problems(labels, "labels")
    if problems:
        st.warning(
            "The steps wait for these cells; everything else is kept.\n\n"
            + "\n".join(f"- {line}" for line in problems),
            icon=":material/edit:",
        )
        return None
    counts = words.to_numpy(dtype=np.float64)
    example = replace(EXAMPLE, X=counts[:-1], Y=labels.to_numpy(dtype=np.float64), x_new=counts[-1])
    return Bench(example, parameters, work(example, parameters))


def work(example: ToyExample, parameters: Parameters) -> WorkedExample:
    """All numbers of an example at the sliders' values."""
    return work_through(example.X, example.Y, example.x_new, parameters.reg_lambda, parameters.A, parameters.B)


def cell_problems(frame: pd.DataFrame, kind: str) -> list[str]:
    """A sentence for each cell that cannot be used. kind: "counts", numbers from 0 to 999, or "labels", ticks."""
    sentences = []
    for document, row in frame.iterrows():
        for name, value in row.items():
            if pd.isna(value):
                needed = "a number, 0 where the word does not occur" if kind == "counts" else "a tick or none"
                sentences.append(f"**{document}**, *{name}* is empty: it needs {needed}.")
            elif kind == "counts" and not 0 <= value <= LARGEST_COUNT:
                seen = f"{value:.15g}".replace("-", "−")
                sentences.append(f"**{document}**, *{name}* is {seen}: a count is a number from 0 to {LARGEST_COUNT}.")
    return sentences


def _editor(key: str, original: pd.DataFrame, columns: dict) -> pd.DataFrame:
    # An editor forgets its edits when another part of the page, or another page, is shown instead of it: it then
    # begins again from the table as it was last. While it is on the screen, what it is given must not change.
    # The browser keeps the edits under the editor's key, whatever becomes of them here: each round has keys of its own.
    state, base_key, last_key = st.session_state, f"{key}_base", f"{key}_last"
    editor_key = f"{key}_{state.get(ROUND, 0)}"
    if editor_key not in state or base_key not in state:
        state[base_key] = state.get(last_key, original)
    edited = st.data_editor(
        state[base_key],
        key=editor_key,
        column_config=columns,
        row_height=30,
        alt="Word counts of each document" if key == WORDS_KEY else "Labels of each document",
    )
    state[last_key] = edited
    return edited


def _start_over() -> None:
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
    for key in (WORDS_KEY, LABELS_KEY):
        for suffix in ("_base", "_last"):
            st.session_state.pop(key + suffix, None)
    st.session_state.update(toy_lambda=DEFAULT.reg_lambda, toy_A=DEFAULT.A, toy_B=DEFAULT.B)


def _words_frame() -> pd.DataFrame:
    counts = np.vstack([EXAMPLE.X, EXAMPLE.x_new])
    return pd.DataFrame(counts, index=[*EXAMPLE.documents, NEW], columns=list(EXAMPLE.words))


def _labels_frame() -> pd.DataFrame:
    ticks = pd.DataFrame(EXAMPLE.Y.astype(bool), index=list(EXAMPLE.documents), columns=list(EXAMPLE.labels))
    return ticks.astype("boolean")  # which can hold nothing, as Delete leaves it in a cell: bool would drop that edit
