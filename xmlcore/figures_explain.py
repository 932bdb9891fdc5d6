"""The figure of an explanation: one score as the sum of its bars."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from xmlcore.figures import INK, LOOKS, TITLE, draw

ROW_PIXELS = 25
LONGEST_NAME = 30


def explanation_bars(
    names: Sequence[str],
    contributions: np.ndarray,
    others: float,
    n_others: int,
    score: float,
    *,
    variant: str,
    kind: str,
    hover: Sequence[str],
) -> go.Figure:
    """Horizontal bars of the largest terms, of all others together, and of the score that they add up to.

    Args:
        names: of features or training instances, those with the largest terms first; as plain text.
        contributions: their terms, shape (names,). others: the sum of the n_others other terms. score: the whole.
        variant: XML-ridge or XML-ridge with PS, for the colour.
        kind: what the bars are, in the plural: "words".
        hover: for each name what else is to be told, as Plotly's HTML.
    """
    values, ticks, told = [*map(float, contributions)], [*map(_short, names)], [*hover]
    if n_others:
        values.append(float(others))
        ticks.append(f"all {n_others:,} others")
        told.append(f"all {n_others:,} other {kind} together")
    n_terms, color = len(values), LOOKS[variant].color
    values.append(float(score))
    low, high = min(0.0, *values), max(0.0, *values)
    # Three digits of the largest bar, so that small scores do not read as zeros.
    decimals = min(max(3, 2 - math.floor(math.log10(max(high, -low, 1e-9)))), 9)
    shown = [f"{value:+.{decimals}f}" for value in values[:-1]] + [f"{score:.{decimals}f}"]
    # Bars are at numbers, not at names: two training instances may have one name.
    places = np.arange(len(values))
    trace = {
        "type": "bar",
        "x": values,
        "y": places,
        "orientation": "h",
        "marker": {
            "color": [color] * len(names) + ["white"] * (n_terms - len(names)) + [INK],
            "line": {"color": [color] * n_terms + [INK], "width": 1.5},
        },
        "text": [text.replace("-", "−") for text in shown],
        "textposition": "outside",
        "cliponaxis": False,
        "customdata": [*told, "the sum of the bars above"],
        "hovertemplate": "%{customdata}<br>%{x:+.4g}<extra></extra>",
        "showlegend": False,
    }
    room = (high - low) or 1.0  # for the numbers beside the bars: on the left they must not reach the names
    axis = {
        "title": {"text": kind[0].upper() + kind[1:], "standoff": 10, **TITLE},
        "tickmode": "array",
        "tickvals": places,
        "automargin": True,  # names may be long
        "ticktext": [*ticks, "score"],
        "range": [len(places) - 0.5, -0.5],  # the largest on top
        "ticks": "outside",
        "ticklen": 5,
        "tickcolor": "white",
        "showgrid": False,
    }
    rule = {"type": "line", "xref": "x domain", "x0": 0, "x1": 1, "y0": n_terms - 0.5, "y1": n_terms - 0.5}
    return draw(
        [trace],
        "Contribution to the score",
        "",
        90 + ROW_PIXELS * len(values),
        xaxis={"range": [low - (0.3 * room if low < 0 else 0), high + 0.18 * room]},
        yaxis=axis,
        margin={"t": 12},
        shapes=[{**rule, "line": {"color": INK, "width": 1}}],
    )


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
