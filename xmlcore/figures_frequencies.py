"""Figures of label frequencies on log-log axes, from plain results: the paper's first figure, and the cuts in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from xmlcore.figures import INK, draw, escaped
from xmlcore.figures_axes import log_axis, log_range

MOST_POINTS = 1200  # of a frequency profile: more would overlap on log-log axes and make the page slow


def _drawn_ranks(n_labels: int) -> np.ndarray:
    """Ranks from 0 that are drawn: all, or the first half of MOST_POINTS and from there on evenly on a log axis."""
    if n_labels <= MOST_POINTS:
        return np.arange(n_labels)
    first = MOST_POINTS // 2
    rest = np.geomspace(first + 1, n_labels, MOST_POINTS - first).round().astype(int) - 1
    return np.union1d(np.arange(first), rest)


def label_frequencies(counts: np.ndarray, names: Sequence[str], *, height: int = 360) -> go.Figure:
    """Training frequency against rank on log-log axes: the paper's first figure.

    With more than MOST_POINTS labels, not every one beyond the most frequent MOST_POINTS / 2 is drawn.

    Args:
        counts: training instances of each label, shape (L,).
        names: the labels' names, in the same order.
    """
    return _frequencies(counts, names, [], height)


def _frequencies(
    counts: np.ndarray, names: Sequence[str], more: Sequence[dict], height: int, **layout: object
) -> go.Figure:
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    ranks = _drawn_ranks(len(order))
    points = {
        "type": "scatter",
        "x": ranks + 1,
        "y": counts[order[ranks]],
        "mode": "markers",
        "marker": {"color": INK, "size": 5, "opacity": 0.6},
        "customdata": [escaped(names[label]) for label in order[ranks]],
        "hovertemplate": "%{customdata}<br>rank: %{x:,}, training instances: %{y:,}<extra></extra>",
        "showlegend": False,
    }
    titles = ("Label, by rank of frequency", "Training instances")
    x = log_axis(1, max(len(order), 10))
    values = np.concatenate([counts[order], *(line["y"] for line in more)]) if order.size or more else np.ones(1)
    low, high = float(values.min()), float(values.max())
    y = {**log_axis(low, high, height - 90, upright=True), "range": log_range(low, high)}
    return draw([points, *more], *titles, height, xaxis=x, yaxis=y, **layout)


def head_torso_tail_lines(counts: np.ndarray, names: Sequence[str], tail_below: int, head_from: int) -> go.Figure:
    """Label frequencies with the two cuts as lines.

    Args:
        counts, names: as for `label_frequencies`.
        tail_below: labels on fewer training instances are the tail.
        head_from: labels on as many or more are the head; those between are the torso.
    """
    last = max(int(np.count_nonzero(counts)), 2)
    cuts = (
        (head_from, "dash", f"head: {head_from:,} or more", "right", "bottom"),
        (tail_below, "dot", f"tail: fewer than {tail_below:,}", "left", "top"),
    )
    lines = [
        {
            "type": "scatter",
            "x": [1, last],
            "y": [cut, cut],
            "mode": "lines",
            "line": {"color": INK, "dash": dash, "width": 1.5},
            "hoverinfo": "skip",
            "showlegend": False,
        }
        for cut, dash, *_ in cuts
    ]
    notes = [
        {
            # An annotation's place on a logarithmic axis is given as an exponent.
            "x": np.log10(last) if side == "right" else 0,
            "y": np.log10(cut),
            "text": text,
            "showarrow": False,
            "xanchor": side,
            "yanchor": anchor,
        }
        for cut, _, text, side, anchor in cuts
    ]
    return _frequencies(counts, names, lines, 360, annotations=notes)
