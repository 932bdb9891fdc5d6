"""Plotly figures from plain results, for the pages and for notebooks: coordinates, nothing computed.

Every figure is drawn dark on white with vector marks only, so that what is exported can be printed as it is. The two
variants have the same colour, pattern and marker everywhere: blue, plain, circles for XML-ridge; orange, hatched,
diamonds for XML-ridge with PS (colours from Okabe and Ito's set, which colour-blind people can tell apart).

Names are given as plain text: Plotly reads texts as HTML, so a figure escapes them, after all measuring and cutting.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from xmlcore.figures_axes import category_axis, log_axis, log_range, percent_range

RIDGE, RIDGE_PS = "XML-ridge", "XML-ridge with PS"


@dataclass(frozen=True)
class Look:
    """How a variant is drawn: colour, bar pattern and marker."""

    color: str
    pattern: str
    symbol: str


LOOKS = {RIDGE: Look("#0072B2", "", "circle"), RIDGE_PS: Look("#E69F00", "/", "diamond")}
INK, GRID = "#222222", "#DDDDDD"
TWO_ROWS = {"t": 72}  # the margin above a chart whose legend has two rows where two charts stand side by side
TITLE = {"font": {"size": 14}}  # of an axis: as large as all other text, not larger

# Fixed margins, with room for the legend: where they grow, a browser lays a chart out two or three times, which was
# most of a slider's answer.
_AXIS = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": INK, "ticks": "outside", "automargin": False}
_LAYOUT = {
    "template": "none",
    "font": {"family": "Source Sans, Source Sans Pro, Helvetica, Arial, sans-serif", "size": 14, "color": INK},
    "paper_bgcolor": "white",
    "plot_bgcolor": "white",
    "margin": {"l": 76, "r": 12, "t": 50, "b": 56},
    "legend": {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom", "tracegroupgap": 0},
    "hoverlabel": {"bgcolor": "white", "font": {"color": INK}},
    "bargap": 0.25,
    "modebar": {"color": "#666666", "activecolor": INK, "bgcolor": "rgba(255,255,255,0)"},
}


def escaped(text: str) -> str:
    """The text such that Plotly shows it as it is."""
    return html.escape(text, quote=False)  # Plotly would show &quot; as such


def _escaped_lines(text: str) -> str:
    return "<br>".join(map(escaped, text.split("<br>")))


def draw(
    traces: Sequence[dict],
    x_title: str,
    y_title: str,
    height: int,
    *,
    xaxis: dict | None = None,
    yaxis: dict | None = None,
    **layout: object,
) -> go.Figure:
    """A figure in the project's style, made at once: Plotly checks every change of a figure, which adds up on a page.

    Args:
        traces: as Plotly's JSON has them.
        height: in pixels.
        xaxis, yaxis, layout: what differs from the style, as Plotly's JSON has it; margins are added to the style's.
    """
    whole = {
        **_LAYOUT,
        "height": height,
        "xaxis": {**_AXIS, "title": {"text": x_title, **TITLE}, **(xaxis or {})},
        "yaxis": {**_AXIS, "title": {"text": y_title, **TITLE}, **(yaxis or {})},
        **layout,
        "margin": {**_LAYOUT["margin"], **layout.get("margin", {})},
    }
    figure = go.Figure({"data": list(map(_without_arrays, traces)), "layout": _without_arrays(whole)})
    figure.layout.template = None  # where none is named, Plotly puts its own into a new figure
    return figure


def _without_arrays(part: object) -> object:
    """Lists for arrays: a browser that is given a figure twice cannot tell that a typed array is the same."""
    if isinstance(part, dict):
        return {key: _without_arrays(value) for key, value in part.items()}
    return part.tolist() if isinstance(part, np.ndarray) else part


def _bars(look: Look, name: str, categories: Sequence[str], heights: np.ndarray) -> dict:
    return {
        "type": "bar",
        "name": escaped(name),
        "x": list(categories),
        "y": heights,
        "offsetgroup": name,
        "marker": {
            "color": look.color,
            "pattern": {"shape": look.pattern, "fgcolor": "white", "bgcolor": look.color},
        },
        "customdata": list(map(_escaped_lines, categories)),  # on the axis they may be broken or cut
        "hovertemplate": "%{fullData.name}<br>%{customdata}: %{y:.2f}<extra></extra>",
    }


HELD = "held setting"  # the outlines' one name in the legend: they lie over the bars of both variants


def grouped_bars(
    categories: Sequence[str],
    values: dict[str, np.ndarray],
    *,
    x_title: str,
    y_title: str,
    held: dict[str, np.ndarray] | None = None,
    height: int = 300,
    numbered: bool = False,
    number_size: int | None = None,
) -> go.Figure:
    """Bars of both variants side by side in each category, with the held setting as outlines.

    Args:
        categories: the names of the bins, in order.
        values: variant name → heights, shape (bins,), in the unit that y_title names.
        held: the same of a held setting, drawn as outlines over the bars, or None.
        numbered: each bar's height is written above it. number_size: in type of so many pixels.
    """
    traces = _variant_bars(categories, values, held)
    layout = {"yaxis": _write_heights(traces, values, held, number_size)} if numbered else {}
    return _bar_chart(traces, categories, x_title, y_title, height, **layout)


def _variant_bars(
    categories: Sequence[str], values: dict[str, np.ndarray], held: dict[str, np.ndarray] | None
) -> list[dict]:
    outlines = [
        {
            **_bars(LOOKS[name], name, categories, heights),
            "name": HELD,
            "hovertemplate": f"{name}, held<br>%{{customdata}}: %{{y:.2f}}<extra></extra>",
            "marker": {"color": "rgba(0,0,0,0)", "line": {"color": INK, "width": 1.5}},
            "legendgroup": HELD,
            "showlegend": at == 0,
        }
        for at, (name, heights) in enumerate((held or {}).items())
    ]
    return [_bars(LOOKS[name], name, categories, heights) for name, heights in values.items()] + outlines


def _bar_chart(
    traces: Sequence[dict], categories: Sequence[str], x_title: str, y_title: str, height: int, **layout: object
) -> go.Figure:
    axis, below = category_axis(categories, x_title)
    axis["ticktext"] = list(map(_escaped_lines, axis["ticktext"]))
    layout = {"yaxis": {"rangemode": "tozero"}} | layout  # where all are 0, too
    return draw(traces, x_title, y_title, height, xaxis=axis, barmode="group", margin={"b": below}, **layout)


OTHER_LOOKS = (
    Look("#009E73", "x", "square"),
    Look("#CC79A7", ".", "x"),
    Look("#56B4E9", "-", "cross"),
    Look("#D55E00", "\\", "triangle-up"),
    Look("#000000", "+", "star"),
)


def system_bars(categories: Sequence[str], values: dict[str, np.ndarray], *, x_title: str, y_title: str) -> go.Figure:
    """Bars of several systems side by side: our variants in their colours, others in colours of their own."""
    others = [name for name in values if name not in LOOKS]
    looks = {**LOOKS, **{name: OTHER_LOOKS[at % len(OTHER_LOOKS)] for at, name in enumerate(others)}}
    traces = [_bars(looks[name], name, categories, heights) for name, heights in values.items()]
    return _bar_chart(traces, categories, x_title, y_title, 320)


@dataclass(frozen=True)
class Curve:
    """One curve of a variant: x > 0 and y, shape (points,); dashed where it is held out from training.

    legend: its name there, where variant and rows would be too long.
    """

    variant: str
    x: np.ndarray
    y: np.ndarray
    rows: str
    dashed: bool = False
    legend: str = ""


def curves(
    lines: Sequence[Curve],
    *,
    x_title: str,
    y_title: str,
    current: dict[str, tuple[float, float]] | None = None,
    held: dict[str, tuple[float, float]] | None = None,
    x_range: tuple[float, float] | None = None,
) -> go.Figure:
    """Curves of both variants, solid on test rows and dashed held out, with markers at the current and held setting.

    x is on a logarithmic axis, and y in percent. A curve without points yet is in the legend already.

    Args:
        lines: the curves, in the order of the legend.
        current, held: variant → (x, y) of the setting in the sidebar and of the one held.
        x_range: the least and largest x that the curves will have, so that the axis stays while they fill in.
    """
    traces = [_curve(line) for line in lines] + _markers(held, "held") + _markers(current, "now")
    x = [float(value) for trace in traces for value in trace["x"] if value is not None]
    y = [float(value) for trace in traces for value in trace["y"] if value is not None]
    x += x_range or ([] if x else [1.0])
    axis = {**log_axis(min(x), max(x)), "range": log_range(min(x), max(x))}
    return draw(
        traces, x_title, y_title, 340, xaxis=axis, yaxis={"range": percent_range(y)}, margin=TWO_ROWS, showlegend=True
    )


def _curve(line: Curve) -> dict:
    look = LOOKS[line.variant]
    n_points = len(line.x)
    return {
        "type": "scatter",
        "name": line.legend or f"{line.variant}, {line.rows}",
        "x": line.x if n_points else [None],
        "y": line.y if n_points else [None],
        "mode": "lines+markers" if n_points < 40 else "lines",
        "line": {"color": look.color, "dash": "dash" if line.dashed else "solid", "width": 2},
        "marker": {"symbol": look.symbol + ("-open" if line.dashed else ""), "size": 6},
        "hovertemplate": f"{line.variant}, {line.rows}<br>%{{x:.4g}}: %{{y:.2f}}<extra></extra>",
    }


def _markers(points: dict[str, tuple[float, float]] | None, when: str, *, in_legend: bool = False) -> list[dict]:
    return [
        {
            "type": "scatter",
            "name": f"{variant}, {when}",
            "x": [x],
            "y": [y],
            "mode": "markers",
            "marker": {
                "symbol": LOOKS[variant].symbol + ("" if when == "now" else "-open"),
                "size": 14,
                "color": LOOKS[variant].color,
                "line": {"color": INK, "width": 2},
            },
            "hovertemplate": f"{variant}, {when}<br>%{{x:.4g}}: %{{y:.2f}}<extra></extra>",
            "showlegend": in_legend,
        }
        for variant, (x, y) in (points or {}).items()
    ]


LEAST_OF_PLANE = 2.0  # points that each axis of the trade-off spans: a frontier may be short


def tradeoff(
    x: np.ndarray,
    y: np.ndarray,
    names: Sequence[str],
    frontier: np.ndarray,
    *,
    x_title: str,
    y_title: str,
    current: dict[str, tuple[float, float]] | None = None,
    held: dict[str, tuple[float, float]] | None = None,
) -> go.Figure:
    """Two metrics against each other, a dot for each setting, the frontier as a line, and where the variants stand.

    The axes span the frontier and the variants, between which there is something to choose: settings that are far worse
    lie outside.

    Args:
        x, y: the metrics of each setting, shape (settings,); names: what each setting is, for the hover.
        frontier: indices of the settings on it, in the order of the line.
        current, held: variant → (x, y) of the setting in the sidebar and of the one held.
    """
    hover = "%{customdata}<br>%{x:.2f}, %{y:.2f}<extra></extra>"
    dots = {
        "type": "scatter",
        "name": "a setting of λ, A and B",
        "x": x,
        "y": y,
        "mode": "markers",
        "marker": {"color": "#999999", "size": 5},
        "customdata": list(map(escaped, names)),
        "hovertemplate": hover,
    }
    line = {
        "type": "scatter",
        "name": "frontier: none of these is better in both",
        "x": x[frontier],
        "y": y[frontier],
        "mode": "lines+markers",
        "line": {"color": INK, "width": 2},
        "marker": {"color": INK, "size": 6},
        "customdata": [escaped(names[point]) for point in frontier],
        "hovertemplate": hover,
    }
    marks = [*_markers(held, "held", in_legend=True), *_markers(current, "now", in_legend=True)]
    shown = ([*line[axis], *(float(mark[axis][0]) for mark in marks)] for axis in ("x", "y"))
    axes = [{"range": percent_range(values, LEAST_OF_PLANE)} for values in shown]
    return draw([dots, line, *marks], x_title, y_title, 400, xaxis=axes[0], yaxis=axes[1])


def _write_heights(
    traces: list[dict], values: dict[str, np.ndarray], held: dict[str, np.ndarray] | None, size: int | None
) -> dict:
    """Writes above each bar how high it is, in type of so many pixels; the y axis that has room for it."""
    for trace in traces:
        variant = trace["offsetgroup"]
        now = values[variant]
        then = np.asarray((held or {}).get(variant, np.zeros(len(now))))
        # The number stands above the outline of the held setting where that is higher, so that no line crosses it.
        above = then > now if trace["name"] == HELD else then <= now
        trace["text"] = [_height(value) if here else "" for value, here in zip(now, above, strict=True)]
        trace |= {"textposition": "outside", "textangle": 0, "cliponaxis": False}
        if size:
            trace["textfont"] = {"size": size}
    largest = max(float(np.max(heights)) for heights in [*values.values(), *(held or {}).values()])
    return {"range": [0, max(1.12 * largest, 1.0)]}


def _height(value: float) -> str:
    """With two decimals, but for 100: beside another, the wider number would run into it."""
    text = f"{value:.2f}"
    return "100" if text == "100.00" else text
