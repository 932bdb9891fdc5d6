"""Head and tail's labels: those that a search finds, in the order asked for, and the one that is chosen.

The chosen label's one truth is `label` in the session state and in the URL, an index. The table's selected row and the
list beside it mirror it, so that it stays chosen when another setting brings the rows into another order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from cachetools import LRUCache, cached

from pages.shared import frame
from pages.shared.settings import as_quoted
from xmlcore import Dataset
from xmlcore.analysis import LabelTable
from xmlcore.figures_frequencies import head_torso_tail_lines

MOST_ROWS = 1000  # what the table sends to the browser; with tens of thousands, each change of λ would wait for it
ORDERS: dict[str, Callable[[LabelTable, np.ndarray], np.ndarray]] = {
    "largest gain first": lambda table, names: -table.difference,
    "largest loss first": lambda table, names: table.difference,
    "most frequent first": lambda table, names: -table.train_count,
    "rarest first": lambda table, names: table.train_count,
    "by name": lambda table, names: names,
}
CHOSEN, LAST = "label", "_label_of_last_run"
FIND, ORDER = "find_label", "label_order"
TABLE, LIST, PAGE_KEY = "labels_table", "label_of_list", "label_page"


@cached(
    LRUCache(16),
    key=lambda dataset, tail_below, head_from: (dataset.fingerprint, tail_below, head_from),
    condition=threading.Condition(),
)
def profile(dataset: Dataset, tail_below: int, head_from: int) -> go.Figure:
    """The label frequencies with the cuts; kept, because no other setting changes them."""
    return head_torso_tail_lines(dataset.label_counts, dataset.every_label_name(), tail_below, head_from)


def found(names: np.ndarray, text: str) -> np.ndarray:
    """Indices of the labels whose name has every word of the text, in upper or lower case."""
    words = text.lower().split()
    if not words:
        return np.arange(len(names))
    return np.array(
        [label for label, name in enumerate(names) if all(word in name.lower() for word in words)], dtype=np.int64
    )


def ordered(table: LabelTable, names: np.ndarray, labels: np.ndarray, order: str) -> np.ndarray:
    """The labels in one of ORDERS, ties by index."""
    return labels[np.argsort(ORDERS[order](table, names)[labels], kind="stable")]


def labels_frame(table: LabelTable, names: np.ndarray, labels: np.ndarray) -> pd.DataFrame:
    """The rows of the table of labels, in the order given, recall in percent."""
    return pd.DataFrame(
        {
            "label": names[labels].astype(object),
            "training instances": table.train_count[labels],
            "θ": table.inverse_propensity[labels],
            "test instances": table.test_count[labels],
            "hits before": table.ridge_hits[labels],
            "hits after": table.ps_hits[labels],
            "difference": table.difference[labels],
            "recall before (%)": 100 * table.ridge_recall[labels],
            "recall after (%)": 100 * table.ps_recall[labels],
        }
    )


def chosen_label(data: str, n_labels: int) -> int | None:
    """The label of link, list or table; says so where a link's is refused."""
    state, last = st.session_state, st.session_state.get(LAST)
    value = state.get(CHOSEN)
    if last is not None and last[0] != data and last[1] == value:
        value = None  # it was another data set's
    label = None if value is None else frame.as_index(value, n_labels)
    if value is not None and label is None:
        frame.warn_of_refused(
            [f"label = {as_quoted(str(value))} was refused: expected a whole number from 0 to {n_labels - 1}."]
        )
    choose(label)
    state[LAST] = (data, label)
    return label


def take_from_address() -> None:
    """Takes label, search and order from the address where a link or Back has brought the visitor here."""
    came_by = frame.new_address()
    if came_by == frame.HISTORY and "instance" in st.query_params:
        # No visitor has seen this entry. Streamlit has added it when a link to an instance was followed, because a
        # chart's control was bound to the address: search and order stay as they were.
        came_by = frame.LINK
    frame.take_from_address(came_by, **{CHOSEN: (None, None), FIND: ("", None), ORDER: (next(iter(ORDERS)), ORDERS)})
    if came_by is not None and st.query_params.get(CHOSEN):
        st.session_state.pop(LAST, None)  # so that it is not taken for another data set's


def write_address() -> None:
    """Keeps the address up to date: one entry of the browser's history for each step, however much it changes."""
    state = st.session_state
    order = state.get(ORDER)
    frame.write_address(
        **{
            CHOSEN: state.get(CHOSEN),
            FIND: state.get(FIND) or None,
            ORDER: None if order == next(iter(ORDERS)) else order,
        }
    )


def choose(label: int | None) -> None:
    """Chooses a label, or none; its lists of instances begin at their first page."""
    state = st.session_state
    if state.get(CHOSEN) != label:
        state[PAGE_KEY] = 1
    if label is None:
        state.pop(CHOSEN, None)
    else:
        state[CHOSEN] = label


def selection(label: int | None, shown: np.ndarray) -> dict:
    """The state of the table whose rows are these labels, with the chosen one's row selected."""
    rows = [] if label is None else np.flatnonzero(shown == label).tolist()
    return {"selection": {"rows": rows, "columns": [], "cells": []}}


def choose_row(selected: dict, shown: np.ndarray) -> None:
    """Chooses the label of the table's selected row; shown: the labels in the order of the rows."""
    rows = selected["selection"]["rows"]
    choose(int(shown[rows[0]]) if rows else None)
