"""What a sample of the test instances leaves open: how far off its numbers may be, and what those of all are."""

from __future__ import annotations

from collections.abc import Iterator

from pages.shared import answers, behind, paths
from xmlcore.matrices import take_rows
from xmlcore.products import chunks
from xmlcore.row_blocks import RowBlock
from xmlcore.sampling import sample_interval
from xmlcore.streaming import evaluate_streamed


def whole_test_set(answer: answers.Answer) -> behind.Filling[paths.Point]:
    """The answer's setting on all test instances, where the answer is of a sample; the model must be ready.

    At every K, so that another one does not begin it anew.
    """
    settings = answer.settings
    lambdas = settings.reg_lambda, settings.reg_lambda_ps
    key = ("whole", answer.model.full.fingerprint, *lambdas, settings.A, settings.B, *answer.metric_AB)
    return behind.filling(key, lambda: _whole_steps(answer), 1, answer.n_bytes)


def _whole_steps(answer: answers.Answer) -> Iterator[paths.Point]:
    data, settings = answer.model.full, answer.settings

    def blocks() -> Iterator[RowBlock]:
        for rows in chunks(data.n_test, answer.dataset.n_test):
            behind.step_aside()
            yield take_rows(data.X_test, rows), data.Y_test[rows]

    evaluation = evaluate_streamed(
        answer.model.factorization,
        blocks(),
        settings.reg_lambda,
        answer.theta,
        answer.metric_theta,
        paths.all_ks(answer),
        reg_lambda_ps=settings.reg_lambda_ps,
        exclude=data.test_filter,
    )
    yield paths.point_of(evaluation)


def intervals(answer: answers.Answer) -> dict[str, tuple[float, float]]:
    """Half the 95 % intervals of P@K and PSP@K without and with PS, in points, where the answer is of a sample."""
    evaluation, Y, n = answer.evaluation, answer.dataset.Y_test, answer.model.full.n_test
    ridge, ps = evaluation.ridge.top, evaluation.ps.top
    return {
        name: tuple(100 * sample_interval(top, Y, answer.K, n, theta) for top in (ridge, ps))
        for name, theta in (("P", None), ("PSP", answer.metric_theta))
    }
