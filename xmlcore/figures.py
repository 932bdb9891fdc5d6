"""Plotly figures from plain results, for the pages and for notebooks: coordinates, nothing computed.

Every figure is drawn dark on white with vector marks only, so that what is exported can be printed as it is. The two
variants have the same colour, pattern and marker everywhere: blue, plain, circles for XML-ridge; orange, hatched,
diamonds for XML-ridge with PS (colours from Okabe and Ito's set, which colour-blind people can tell apart).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

RIDGE, RIDGE_PS = "XML-ridge", "XML-ridge with PS"


@dataclass(frozen=True)
class Look:
    """How a variant is drawn: colour, bar pattern and marker."""

    color: str
    pattern: str
    symbol: str


LOOKS = {RIDGE: Look("#0072B2", "", "circle"), RIDGE_PS: Look("#E69F00", "/", "diamond")}
INK, GRID = "#222222", "#DDDDDD"

TEMPLATE = go.layout.Template(
    layout={
        "font": {"family": "Source Sans, Source Sans Pro, Helvetica, Arial, sans-serif", "size": 14, "color": INK},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "margin": {"l": 60, "r": 12, "t": 34, "b": 52},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"},
        "hoverlabel": {"bgcolor": "white", "font": {"color": INK}},
        "xaxis": {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": INK, "ticks": "outside", "automargin": True},
        "yaxis": {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": INK, "ticks": "outside", "automargin": True},
        "bargap": 0.25,
        "modebar": {"color": "#666666", "activecolor": INK, "bgcolor": "rgba(255,255,255,0)"},
    }
)


def _figure(
    traces: Sequence[go.Bar | go.Scatter], x_title: str, y_title: str, height: int, **layout: object
) -> go.Figure:
    figure = go.Figure(traces)
    figure.update_layout(template=TEMPLATE, height=height, **layout)
    figure.update_xaxes(title=x_title)
    figure.update_yaxes(title=y_title)
    return figure


def grouped_bars(
    categories: Sequence[str],
    values: dict[str, np.ndarray],
    *,
    x_title: str,
    y_title: str,
    held: dict[str, np.ndarray] | None = None,
    height: int = 300,
) -> go.Figure:
    """Bars of both variants side by side in each category, with the held setting as outlines.

    Args:
        categories: the names of the bins, in order.
        values: variant name → heights, shape (bins,), in the unit that y_title names.
        held: the same of a held setting, drawn as outlines over the bars, or None.
    """
    traces = [
        go.Bar(
            name=name,
            x=list(categories),
            y=heights,
            offsetgroup=name,
            marker={
                "color": LOOKS[name].color,
                "pattern": {"shape": LOOKS[name].pattern, "fgcolor": "white", "bgcolor": LOOKS[name].color},
            },
            hovertemplate=f"{name}<br>%{{x}}: %{{y:.2f}}<extra></extra>",
        )
        for name, heights in values.items()
    ]
    for name, heights in (held or {}).items():
        traces.append(
            go.Bar(
                name=f"{name}, held",
                x=list(categories),
                y=heights,
                offsetgroup=name,
                marker={"color": "rgba(0,0,0,0)", "line": {"color": INK, "width": 1.5}},
                hovertemplate=f"{name}, held<br>%{{x}}: %{{y:.2f}}<extra></extra>",
                showlegend=name == RIDGE,
            )
        )
    return _figure(traces, x_title, y_title, height, barmode="group")


@dataclass(frozen=True)
class Curve:
    """One curve of a variant: x and y, shape (points,); dashed where it is held out from training."""

    variant: str
    x: np.ndarray
    y: np.ndarray
    rows: str
    dashed: bool = False


def curves(
    lines: Sequence[Curve],
    *,
    x_title: str,
    y_title: str,
    current: dict[str, tuple[float, float]] | None = None,
    held: dict[str, tuple[float, float]] | None = None,
    log_x: bool = False,
    height: int = 340,
) -> go.Figure:
    """Curves of both variants, solid on test rows and dashed held out, with markers at the current and held setting.

    Args:
        lines: the curves, in the order of the legend.
        current, held: variant → (x, y) of the setting in the sidebar and of the one held.
    """
    traces = []
    for line in lines:
        look = LOOKS[line.variant]
        traces.append(
            go.Scatter(
                name=f"{line.variant}, {line.rows}",
                x=line.x,
                y=line.y,
                mode="lines+markers" if len(line.x) < 40 else "lines",
                line={"color": look.color, "dash": "dash" if line.dashed else "solid", "width": 2},
                marker={"symbol": look.symbol + ("-open" if line.dashed else ""), "size": 6},
                hovertemplate=f"{line.variant}, {line.rows}<br>%{{x:.4g}}: %{{y:.2f}}<extra></extra>",
            )
        )
    for points, suffix in ((held, "held"), (current, "now")):
        for variant, (x, y) in (points or {}).items():
            look = LOOKS[variant]
            traces.append(
                go.Scatter(
                    name=f"{variant}, {suffix}",
                    x=[x],
                    y=[y],
                    mode="markers",
                    marker={
                        "symbol": look.symbol if suffix == "now" else look.symbol + "-open",
                        "size": 14,
                        "color": look.color,
                        "line": {"color": INK, "width": 2},
                    },
                    hovertemplate=f"{variant}, {suffix}<br>%{{x:.4g}}: %{{y:.2f}}<extra></extra>",
                    showlegend=False,
                )
            )
    figure = _figure(traces, x_title, y_title, height)
    if log_x:
        figure.update_xaxes(type="log", exponentformat="power")
    return figure


def label_frequencies(counts: np.ndarray, names: Sequence[str], *, height: int = 360) -> go.Figure:
    """Training frequency against rank on log-log axes: the paper's first figure.

    Args:
        counts: training instances of each label, shape (L,).
        names: the labels' names, in the same order.
    """
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    trace = go.Scatter(
        x=np.arange(1, len(order) + 1),
        y=counts[order],
        mode="markers",
        marker={"color": INK, "size": 5, "opacity": 0.6},
        customdata=[names[label] for label in order],
        hovertemplate="%{customdata}<br>rank %{x}, on %{y} training instances<extra></extra>",
        showlegend=False,
    )
    figure = _figure([trace], "Label, by rank of frequency", "Training instances", height)
    figure.update_xaxes(type="log", exponentformat="power", dtick=1)
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    return figure
