"""The contribution bars of one metric by label frequency, in a size of choice: for Learn and the lecture view."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pages.shared import model, show
from xmlcore.analysis import contributions, frequency_bins
from xmlcore.figures import RIDGE, RIDGE_PS, grouped_bars

METRIC_NAMES = {"precision": "P", "psprecision": "PSP"}


def contribution_chart(
    answer: model.Answer, ghost: model.Answer | None, metric: str, k: int, *, height: int, font_size: int = 14
) -> None:
    """What labels of each training frequency contribute to P@k or PSP@k; a held setting as outlines."""
    bins = frequency_bins(answer.dataset.label_counts, "tens")

    def heights(of: model.Answer) -> dict[str, np.ndarray]:
        parts = contributions(of.evaluation, k, metric, of.metric_theta, bins)
        return {RIDGE: 100 * parts.ridge, RIDGE_PS: 100 * parts.ps}

    name, bars = f"{METRIC_NAMES[metric]}@{k}", heights(answer)
    figure = grouped_bars(
        bins.names,
        bars,
        x_title="Training instances of the label",
        y_title=f"Share of {name}, points",
        held=heights(ghost) if ghost else None,
        height=height,
    )
    figure.update_layout(font_size=font_size)
    show.chart(
        figure,
        name=f"contributions_{name.replace('@', '_at_')}",
        caption=f"Left rare labels, right frequent ones. The bars of a colour sum to its {name}: "
        f"{bars[RIDGE].sum():.2f} % and, with PS, {bars[RIDGE_PS].sum():.2f} %, on {answer.rows_text}.",
        alt=f"Contribution to {name} by training frequency: "
        + "; ".join(
            f"{label} {ridge:.2f}, with PS {ps:.2f}"
            for label, ridge, ps in zip(bins.names, bars[RIDGE], bars[RIDGE_PS], strict=True)
        ),
        data=lambda: pd.DataFrame({"training instances": bins.names, **bars}),
    )
