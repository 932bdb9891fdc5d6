"""Answers for the current settings, kept for all visitors.

There is one from the first second: while a model has no factorisation, λ is solved for by Cholesky. Of data so large
that this takes many seconds, it is done behind the page.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from cachetools import LRUCache, cached

from pages.shared import behind, frame
from pages.shared.model import Model, model_of
from pages.shared.settings import Settings, held, lambda_text
from pages.shared.sizes import held_bytes
from xmlcore import (
    DataError,
    Dataset,
    Evaluation,
    evaluate_scores,
    inverse_propensity,
    metric_inverse_propensity,
)
from xmlcore.cost import operations_per_second
from xmlcore.metrics import SHORT_NAMES
from xmlcore.units import beside_estimate, counted

CARD_KS = (1, 3, 5)
SCORE_BYTES, ANSWER_BYTES = 300 << 20, 100 << 20
# However small they are: one λ more then takes the memory that the oldest leaves. Memory that the process has not had
# before came so slowly on a virtual machine that a λ took half as long again.
MOST_SCORES = 4
LAST_ANSWER = "_last_answer"  # its settings and the seconds it took
SPOKEN = "_spoken_answer"  # its numbers in one sentence
SOLVED = "_solved_behind"  # the settings and the seconds of an answer that this visitor has waited for
WAITED_FOR = 1e12  # operations of a solve that a page waits for: a few seconds


@cached(
    LRUCache(SCORE_BYTES, getsizeof=lambda scores: max(scores.nbytes, SCORE_BYTES // MOST_SCORES)),
    key=lambda model, reg_lambda: (model.full.fingerprint, reg_lambda),
    condition=threading.Condition(),
)
def scores_on_test(model: Model, reg_lambda: float) -> np.ndarray:
    """The scores of all test instances at this λ, (n_test, L), float32: right to 1e-4, whichever way is taken."""
    direct = model.direct  # looked at first: it goes when the factorisation is there
    if model.ready:
        return model.factorization.scores_of(model.dataset.X_test, model.projection, reg_lambda)
    return direct.scores(model.dataset.X_test, reg_lambda)


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


def answer_at(settings: Settings) -> Answer:
    """Both variants at these settings, for a page; says so where rounding may show at this λ, and where K is cut."""
    _leave_until_solved(settings)
    solved_for, seconds = st.session_state.pop(SOLVED, (None, 0.0))
    started = time.perf_counter() - (seconds if solved_for == settings else 0.0)
    with st.spinner("Solving for this λ…", show_time=True):  # seen only where it takes more than half a second
        result = _answer(settings, metric_AB_of(settings))
    result.model.start()
    st.session_state[SPOKEN] = _spoken(result)
    # A run that only draws the same answer again finds it ready: what the answer took stays told.
    if st.session_state.get(LAST_ANSWER, (None,))[0] != settings:
        st.session_state[LAST_ANSWER] = settings, time.perf_counter() - started
    least = result.model.factorization.smallest_reliable_lambda if result.model.ready else 0.0
    if min(settings.reg_lambda, settings.reg_lambda_ps) < least:
        st.warning(f"Below λ = {least:.2g} rounding may show on these data: labels can come in another order.")
    of_sample = " of the sample" if result.evaluation.n_rows < result.model.full.n_test else ""
    if not result.dataset.Y_test.nnz:
        st.warning(
            f"No test instance{of_sample} has a label, so nothing can be right: P@K and PSP@K are 0 whatever is "
            "predicted."
        )
    elif not result.dataset.label_counts[result.dataset.Y_test.indices].any():
        st.warning(
            f"No label of a test instance{of_sample} occurs in training: none can be learned, and a hit is chance."
        )
    if result.K < settings.K:
        st.caption(f"K = {settings.K} is cut to {result.K}, the number of labels.")
    return result


def _spoken(answer: Answer) -> str:
    evaluation, k = answer.evaluation, answer.K
    return "; ".join(
        f"{SHORT_NAMES[metric]}@{k} {100 * evaluation.ridge.metrics[metric][k]:.2f} and, with PS, "
        f"{100 * evaluation.ps.metrics[metric][k]:.2f}"
        for metric in ("precision", "psprecision")
    )


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
    theta = inverse_propensity(data.Y_train, settings.A, settings.B)
    metric_theta = metric_inverse_propensity(data, *metric_AB)
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
    ghost = _held_settings(settings)
    return ghost and _answer(ghost, metric_AB_of(settings))


def _held_settings(settings: Settings) -> Settings | None:
    ghost = held()
    if ghost is None or (ghost.data, ghost.features) != (settings.data, settings.features):
        return None
    return replace(ghost, K=settings.K)


def _leave_until_solved(settings: Settings) -> None:
    """Ends the page's run where what it shows takes long to be solved for, until that has been done behind the page.

    The page says how far it is and, when it is done, is drawn anew; all controls of the sidebar stay usable meanwhile.
    """
    model, metric_AB = model_of(settings.data, settings.features), metric_AB_of(settings)
    if model.direct is None or model.direct_operations <= WAITED_FOR:
        return
    works = [(wanted, _solution(model, wanted, metric_AB)) for wanted in (settings, _held_settings(settings)) if wanted]
    for wanted, work in works:
        if not work.done and not _is_quick(model, wanted, metric_AB):
            _show_solving(model, wanted, metric_AB)
            raise frame.EndOfPage
    # What was found is in the caches. If it has been pushed out already, it is made in the page's run: no page waits
    # again for what it has waited for.
    for _, work in works:
        behind.forget(work)
        if work.error:
            raise DataError(work.error)


def _is_quick(model: Model, settings: Settings, metric_AB: tuple[float, ...]) -> bool:
    lambdas = settings.reg_lambda, settings.reg_lambda_ps
    return _evaluated.cache_key(model, settings, metric_AB) in _evaluated.cache or all(
        scores_on_test.cache_key(model, each) in scores_on_test.cache for each in lambdas
    )


def _solution(model: Model, settings: Settings, metric_AB: tuple[float, ...]) -> behind.Filling[None]:
    """The work on an answer; what comes of it is in the caches then. The Gram matrix is a step of its own."""

    def steps() -> Iterator[None]:
        if direct := model.direct:
            direct.prepare()
        yield None
        _evaluated(model, settings, metric_AB)
        model.start()  # whether or not anybody is still there to see the answer
        yield None

    key = ("solve", model.full.fingerprint, settings, metric_AB)
    return behind.filling(key, steps, 2, awaited=True)


def _show_solving(model: Model, settings: Settings, metric_AB: tuple[float, ...]) -> None:
    lambdas = tuple(dict.fromkeys((settings.reg_lambda, settings.reg_lambda_ps)))
    about = len(lambdas) * model.direct_operations / operations_per_second()

    def told() -> None:
        # Asked for at each poll: work that nobody asks for is let go in the end.
        work = _solution(model, settings, metric_AB)
        if work.done:
            st.session_state[SOLVED] = settings, work.seconds
        if work.done or model.ready:
            st.rerun()
        behind.want(work)
        stage = "Cholesky" if work.results else "the Gram matrix"
        state = f"is being solved for ({stage}): {work.seconds:.0f} s so far{beside_estimate(work.seconds, about)}"
        st.info(
            f"λ = {' and '.join(map(lambda_text, lambdas))} "
            f"{state if work.begun else 'is solved for when the one before is done'}. Meanwhile "
            "you can choose another λ, another data set or another page.",
            icon=":material/hourglass_top:",
        )

    frame.fragment(told, run_every=behind.POLL_SECONDS)()
