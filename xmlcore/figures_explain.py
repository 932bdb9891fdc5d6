"""The figure of an explanation, one score as the sum of its bars, and how scores and their parts are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import plotly.graph_objects as go

from xmlcore.figures import INK, LOOKS, TITLE, draw, escaped
from xmlcore.figures_axes import shortened

ROW_PIXELS = 25
SUM = "the sum of the bars above"
LONGEST_NAME = 30
POINT_FROM, POINT_BELOW = 1e-4, 1e6  # largest numbers between these are written with a decimal point, others as powers
# Room for the numbers beside the bars. On the left, where they must not reach the names, a share of the width for each
# character; on the right a share of the bars, and beyond its characters so many pixels of margin for each further one.
LEFT, RIGHT, RIGHT_CHARACTERS, CHARACTER_PIXELS = 0.034, 0.18, 6, 8


def digits_of(values: Iterable[float]) -> str:
    """The format of numbers that stand together: three digits of the largest, and three decimals at least."""
    largest = max((abs(float(value)) for value in values), default=0.0)
    if not largest:
        return ".3f"
    if not POINT_FROM <= largest < POINT_BELOW:
        return ".2e"
    return f".{max(3, 2 - math.floor(math.log10(largest)))}f"


def number_text(value: float, digits: str, sign: str = "") -> str:
    """The number in a format of `digits_of`, with a minus sign in place of hyphens.

    sign: "+" to write that too; then what is written as 0 has its sign as well, and without it none.
    """
    if not value and digits.endswith("e"):
        return "0"
    return f"{value:{sign or 'z'}{digits}}".replace("-", "−")


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
    digits: str | None = None,
) -> go.Figure:
    """Horizontal bars of the largest terms, of all others together, and of the score that they add up to.

    Args:
        names: of features or training instances, those with the largest terms first; as plain text.
        contributions: their terms, shape (names,). others: the sum of the n_others other terms. score: the whole.
        variant: XML-ridge or XML-ridge with PS, for the colour.
        kind: what the bars are, in the plural: "words".
        hover: for each name what else is to be told, as Plotly's HTML.
        digits: how the numbers are written, a format of `digits_of`; by default that of all of them.
    """
    values, told = [*map(float, contributions)], [*hover]
    ticks = [escaped(shortened(name, LONGEST_NAME)) for name in names]
    if n_others:
        values.append(float(others))
        ticks.append(others_text(n_others))
        told.append(f"1 other {kind[:-1]}" if n_others == 1 else f"all {n_others:,} other {kind} together")
    n_terms, color = len(values), LOOKS[variant].color
    values.append(float(score))
    low, high = min(0.0, *values), max(0.0, *values)
    digits = digits or digits_of(values)
    shown = [number_text(value, digits, "+") for value in values[:-1]] + [number_text(values[-1], digits)]
    told = [f"{what}<br>{number_text(value, '.4g', '+')}" for what, value in zip([*told, SUM], values, strict=True)]
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
        "text": shown,
        "textposition": "outside",
        "cliponaxis": False,
        "customdata": told,
        "hovertemplate": "%{customdata}<extra></extra>",
        "showlegend": False,
    }
    length = (high - low) or 1.0
    left = LEFT * max((len(text) for text, value in zip(shown, values, strict=True) if value < 0), default=0)
    more_pixels = CHARACTER_PIXELS * max(0, max(map(len, shown)) - RIGHT_CHARACTERS)
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
        "zeroline": False,  # it would run through the first bar's number
    }
    rule = {"type": "line", "xref": "x domain", "x0": 0, "x1": 1, "y0": n_terms - 0.5, "y1": n_terms - 0.5}
    return draw(
        [trace],
        "Contribution to the score",
        "",
        90 + ROW_PIXELS * len(values),
        xaxis={
            "range": [low - left / (1 - left) * (1 + RIGHT) * length, high + RIGHT * length],
            "exponentformat": "e",  # Plotly's own would be 2p and 2µ
        },
        yaxis=axis,
        margin={"t": 12, "r": 12 + more_pixels},
        shapes=[{**rule, "line": {"color": INK, "width": 1}}],
    )


def others_text(n_others: int) -> str:
    """What the bar of all other terms is called."""
    return "1 other" if n_others == 1 else f"all {n_others:,} others"
