"""What a sample of the test instances leaves open: how far off its numbers may be, and what those of all are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pages.shared import behind, model
from xmlcore import Evaluation, top_k_both
from xmlcore.dataset import take_rows
from xmlcore.evaluation import evaluate_rankings
from xmlcore.metrics import make_ruler
from xmlcore.sampling import sample_interval


def whole_test_set(answer: model.Answer) -> behind.Filling[Evaluation]:
    """The answer's setting on all test instances, where the answer is of a sample; the model must be ready."""
    return behind.filling(("whole", answer.settings), lambda: _whole_steps(answer), 1)


def _whole_steps(answer: model.Answer) -> Iterator[Evaluation]:
    data, fac, settings = answer.model.full, answer.model.factorization, answer.settings
    ruler = make_ruler(data.Y_test, answer.metric_theta, max(answer.evaluation.ks))
    tops = np.empty((2, data.n_test, ruler.k_max), np.int32)
    for start in range(0, data.n_test, answer.dataset.n_test):
        behind.step_aside()
        rows = slice(start, min(start + answer.dataset.n_test, data.n_test))
        mask = None if data.test_filter is None else data.test_filter[rows]
        P = fac.project(take_rows(data.X_test, rows))
        scores = fac.scores(P, settings.reg_lambda)
        tops[:, rows] = top_k_both(scores, answer.theta, ruler.k_max, mask)
        if settings.reg_lambda_ps != settings.reg_lambda:
            tops[1, rows] = top_k_both(fac.scores(P, settings.reg_lambda_ps), answer.theta, ruler.k_max, mask)[1]
    yield evaluate_rankings(
        *tops,
        ruler,
        answer.evaluation.ks,
        reg_lambda=settings.reg_lambda,
        reg_lambda_ps=settings.reg_lambda_ps,
    )


def intervals(answer: model.Answer) -> dict[str, float]:
    """Half the 95 % interval of P@K and PSP@K of the plain variant, in points, where the answer is of a sample."""
    top, Y, n = answer.evaluation.ridge.top, answer.dataset.Y_test, answer.model.full.n_test
    return {
        "P": 100 * sample_interval(top, Y, answer.K, n),
        "PSP": 100 * sample_interval(top, Y, answer.K, n, answer.metric_theta),
    }
