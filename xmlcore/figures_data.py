"""Figures of what is in a data set, drawn as those of `xmlcore.figures` are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from xmlcore.figures import INK, TITLE, draw, escaped
from xmlcore.figures_axes import SMALL, shortened, text_width
from xmlcore.units import counted

_GREY = "#777777"
_MOST_BARS = 60
PAIR_PIXELS = 34  # of a pair's bar: its name is in two lines
LONGEST_NAME = 24  # characters of a label: so the bars keep half of a narrow screen


def labels_per_instance(train: np.ndarray, test: np.ndarray) -> go.Figure:
    """The share of instances that have 0, 1, 2, … labels, in percent, as two lines of steps.

    train, test: how many instances have so many labels, from 0 on. Counts from sixty labels on are one last point.
    """
    traces = []
    for name, counts, dash in (("training instances", train, "solid"), ("test instances", test, "dot")):
        total = max(int(counts.sum()), 1)
        shown = np.append(counts[:_MOST_BARS], counts[_MOST_BARS:].sum()) if counts.size > _MOST_BARS else counts
        ticks = [
            f"{_MOST_BARS} or more labels" if at == _MOST_BARS else counted(at, "label") for at in range(len(shown))
        ]
        traces.append(
            {
                "type": "scatter",
                "name": name,
                "x": np.arange(len(shown)),
                "y": 100 * shown / total,
                "mode": "lines+markers" if len(shown) < 30 else "lines",
                "line": {"color": INK if dash == "solid" else _GREY, "dash": dash, "shape": "hvh", "width": 2},
                "customdata": ticks,
                "hovertemplate": f"%{{customdata}}: %{{y:.2f}} % of {name}<extra></extra>",
            }
        )
    from_zero = {"rangemode": "tozero"}
    # No half labels where there are few.
    whole = from_zero | ({"dtick": 1} if max(len(train), len(test)) <= 10 else {})
    return draw(traces, "Labels of an instance", "Share of instances (%)", 340, xaxis=whole, yaxis=from_zero)


def pair_bars(pairs: Sequence[tuple[str, str]], values: np.ndarray, told: Sequence[str], *, x_title: str) -> go.Figure:
    """Horizontal bars of the strongest pairs of labels, the strongest at the top.

    Args:
        pairs: the labels' names, in order; values: the pairs' strength, in the unit that x_title names.
        told: what is shown on hover below the names, for each pair.
    """
    bars = {
        "type": "bar",
        "x": values,
        "y": np.arange(len(pairs)),
        "orientation": "h",
        "marker": {"color": _GREY},
        "customdata": [
            f"{escaped(' + '.join(pair))}<br>{escaped(each)}" for pair, each in zip(pairs, told, strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
        "showlegend": False,
    }
    lines = [[shortened(each, LONGEST_NAME) for each in pair] for pair in pairs]
    axis = {
        "title": {"text": "Pair of labels", "standoff": 8, **TITLE},
        "tickmode": "array",
        "tickvals": np.arange(len(pairs)),  # positions, not names: two pairs may be called the same
        "ticktext": [f"{escaped(first)} +<br>{escaped(second)}" for first, second in lines],
        "tickfont": {"size": SMALL},
        "autorange": "reversed",
        "ticks": "",
    }
    longest = max(text_width(f"{line} +", SMALL) for pair in lines for line in pair)
    return draw(
        [bars],
        x_title,
        "",
        90 + PAIR_PIXELS * max(len(pairs), 3),
        xaxis={"tickformat": ","},
        yaxis=axis,
        margin={"l": 40 + math.ceil(longest)},
    )
