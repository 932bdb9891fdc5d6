"""Answers for the current settings, kept for all visitors.

There is one from the first second: while a model has no factorisation, λ is solved for by Cholesky.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from cachetools import LRUCache, cached

from pages.shared.model import Model, model_of
from pages.shared.settings import Settings, counted, held
from pages.shared.sizes import held_bytes
from xmlcore import (
    Dataset,
    Evaluation,
    evaluate_scores,
    inverse_propensity,
    metric_inverse_propensity,
    solve_direct,
)

CARD_KS = (1, 3, 5)
SCORE_BYTES, ANSWER_BYTES = 300 << 20, 100 << 20
LAST_ANSWER = "_last_answer"  # its settings and the seconds it took


@cached(
    LRUCache(SCORE_BYTES, getsizeof=lambda scores: scores.nbytes),
    key=lambda model, reg_lambda: (model.full.fingerprint, reg_lambda),
    condition=threading.Condition(),
)
def scores_on_test(model: Model, reg_lambda: float) -> np.ndarray:
    """The scores of all test instances at this λ, (n_test, L), float32: exact, whichever way they are computed."""
    if model.ready:
        return model.factorization.scores_of(model.dataset.X_test, model.projection, reg_lambda)
    return solve_direct(model.full.X_train, model.full.Y_train, model.dataset.X_test, reg_lambda)


@dataclass(frozen=True)
class Answer:
    """What some settings give on the test instances.

    Attributes:
        theta, metric_theta: θ of the model and θ of the metric, shape (L,).
        metric_AB: A and B that PSP is measured with; empty for the data set's own.
    """

    model: Model
    settings: Settings
    evaluation: Evaluation
    theta: np.ndarray
    metric_theta: np.ndarray
    metric_AB: tuple[float, ...] = ()

    @property
    def dataset(self) -> Dataset:
        """The data set that was answered for, with the test instances that were."""
        return self.model.dataset

    @property
    def n_bytes(self) -> int:
        """About what the answer holds beside its model."""
        return held_bytes((self.evaluation, self.theta, self.metric_theta))

    @property
    def K(self) -> int:
        """K, cut to the number of labels."""
        return min(self.settings.K, self.dataset.n_labels)

    @property
    def rows_text(self) -> str:
        """Of which rows every number is."""
        whole = self.model.full.n_test
        shown = self.evaluation.n_rows
        return f"{'' if shown == whole else f'a sample of {shown:,} of '}{counted(whole, 'test instance')}"


def metric_AB_of(settings: Settings) -> tuple[float, ...]:
    """A and B that PSP is measured with: the data set's own, for which it is empty, unless the switch ties them."""
    return (settings.A, settings.B) if settings.tie_metric else ()


def thetas(dataset: Dataset, settings: Settings, metric_AB: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """θ of the model, from the sliders, and θ of the metric."""
    theta = inverse_propensity(dataset.Y_train, settings.A, settings.B)
    return theta, metric_inverse_propensity(dataset, *(metric_AB or (dataset.A, dataset.B)))


def answer_at(settings: Settings) -> Answer:
    """Both variants at these settings, for a page; says so where rounding may show at this λ, and where K is cut."""
    started = time.perf_counter()
    with st.spinner("Solving for this λ…", show_time=True):  # seen only where it takes more than half a second
        result = _answer(settings, metric_AB_of(settings))
    result.model.start()
    # A run that only draws the same answer again finds it ready: what the answer took stays told.
    if st.session_state.get(LAST_ANSWER, (None,))[0] != settings:
        st.session_state[LAST_ANSWER] = settings, time.perf_counter() - started
    least = result.model.factorization.smallest_reliable_lambda if result.model.ready else 0.0
    if min(settings.reg_lambda, settings.reg_lambda_ps) < least:
        st.warning(f"Below λ = {least:.2g} rounding may show on these data: labels can come in another order.")
    if not result.dataset.Y_test.nnz:
        st.warning("No test instance has a label, so nothing can be right: P@K and PSP@K are 0 whatever is predicted.")
    if result.K < settings.K:
        st.caption(f"K = {settings.K} is cut to {result.K}, the number of labels.")
    return result


def _answer(settings: Settings, metric_AB: tuple[float, ...]) -> Answer:
    model = model_of(settings.data, settings.features)
    return Answer(model, settings, *_evaluated(model, settings, metric_AB), metric_AB)


@cached(
    LRUCache(ANSWER_BYTES, getsizeof=held_bytes),
    key=lambda model, settings, metric_AB: (model.full.fingerprint, settings, metric_AB),
    condition=threading.Condition(),
)
def _evaluated(
    model: Model, settings: Settings, metric_AB: tuple[float, ...]
) -> tuple[Evaluation, np.ndarray, np.ndarray]:
    """What an answer has beside its model, which is kept, or not, for itself."""
    data = model.dataset
    theta, metric_theta = thetas(data, settings, metric_AB)
    scores = scores_on_test(model, settings.reg_lambda)
    own = settings.reg_lambda_ps != settings.reg_lambda
    evaluation = evaluate_scores(
        scores,
        data.Y_test,
        theta,
        metric_theta,
        sorted({*CARD_KS, settings.K}),
        scores_ps=scores_on_test(model, settings.reg_lambda_ps) if own else None,
        exclude=data.test_filter,
        reg_lambda=settings.reg_lambda,
        reg_lambda_ps=settings.reg_lambda_ps,
    )
    return evaluation, theta, metric_theta


def held_answer(settings: Settings) -> Answer | None:
    """The answer at the held setting, where one is held for the same data set: with the present K and ruler.

    By another ruler even a model that is the same would seem to gain or lose.
    """
    ghost = held()
    if ghost is None or (ghost.data, ghost.features) != (settings.data, settings.features):
        return None
    return _answer(replace(ghost, K=settings.K), metric_AB_of(settings))
