"""What labels of each training frequency contribute to a metric, for both variants, as numbers and as bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from pages.shared.answers import Answer
from xmlcore.analysis import Contributions, FrequencyBins, contributions
from xmlcore.figures import RIDGE, RIDGE_PS, grouped_bars
from xmlcore.metrics import SHORT_NAMES

METRICS = {"P@K": "precision", "PSP@K": "psprecision"}  # that contributions sum to, by what a visitor reads


def by_bin(answer: Answer, metric: str, bins: FrequencyBins, k: int | None = None) -> Contributions:
    """The contributions to an answer's metric at k, by default its own K."""
    return contributions(answer.evaluation, answer.K if k is None else k, metric, answer.metric_theta, bins)


def in_percent(ridge: np.ndarray, ps: np.ndarray) -> dict[str, np.ndarray]:
    """Fractions of both variants as the figures take them."""
    return {RIDGE: 100 * ridge, RIDGE_PS: 100 * ps}


def held_in_percent(held: Contributions | None) -> dict[str, np.ndarray] | None:
    """The contributions of a held setting, where there is one, as the figures take them."""
    return in_percent(held.ridge, held.ps) if held else None


def in_words(names: Sequence[str], ridge: np.ndarray, ps: np.ndarray) -> str:
    """Bars of both variants, given as fractions, for who hears the page: "1–9: 0.21, with PS 1.85; ...".

    A bin without test assignments, whose recall is no number, is left out, as among the bars.
    """
    return "; ".join(
        f"{name}: {100 * before:.2f}, with PS {100 * after:.2f}"
        for name, before, after in zip(names, ridge, ps, strict=True)
        if not np.isnan(before)
    )


def contribution_bars(
    parts: Contributions, held: Contributions | None, height: int, numbered: bool = False
) -> go.Figure:
    """The contributions of each bin as bars, with those of a held setting as outlines.

    height: in pixels. numbered: each bar's height is written above it.
    """
    return grouped_bars(
        parts.bins.names,
        in_percent(parts.ridge, parts.ps),
        x_title="Training instances of the label",
        y_title=f"Contribution to {SHORT_NAMES[parts.metric]}@{parts.k} (points)",
        held=held_in_percent(held),
        height=height,
        numbered=numbered,
    )
