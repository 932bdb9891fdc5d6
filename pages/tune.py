"""Tune: what do λ, A and B do?"""

import pandas as pd
import streamlit as st

from pages.shared import frame, model, show
from xmlcore.analysis import Contributions, contributions, frequency_bins
from xmlcore.figures import RIDGE, RIDGE_PS, grouped_bars

METRIC_NAMES = {"precision": "P", "psprecision": "PSP"}

settings = frame.guard()
answer = model.answer(settings)
ghost = model.held_answer(settings)
bins = frequency_bins(answer.dataset.label_counts, "tens")


def by_bin(of: model.Answer, metric: str) -> Contributions:
    return contributions(of.evaluation, of.K, metric, of.metric_theta, bins)


def heights(parts: Contributions) -> dict:
    return {RIDGE: 100 * parts.ridge, RIDGE_PS: 100 * parts.ps}


# The answer: six numbers for each variant.
show.cards(answer.evaluation, ghost and ghost.evaluation)

# Where the hits come from: contributions by label frequency, to P@K and to PSP@K.
for column, metric in zip(st.columns(2), METRIC_NAMES, strict=True):
    parts = by_bin(answer, metric)
    name = f"{METRIC_NAMES[metric]}@{answer.K}"
    before, after = show.percent(parts.ridge.sum()), show.percent(parts.ps.sum())
    with column:
        show.chart(
            grouped_bars(
                bins.names,
                heights(parts),
                x_title="Training instances of the label",
                y_title=f"Share of {name} (points)",
                held=heights(by_bin(ghost, metric)) if ghost else None,
                height=270,
            ),
            name=f"contributions_{metric}",
            caption=f"The bars sum to {name}: {before} and, with PS, {after}.",
            alt=f"Bars: what labels of each training frequency contribute to {name}, for both variants",
            data=lambda parts=parts: pd.DataFrame(
                {"training instances": bins.names, RIDGE: 100 * parts.ridge, RIDGE_PS: 100 * parts.ps}
            ),
        )
