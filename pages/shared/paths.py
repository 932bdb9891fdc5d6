"""The λ path of both variants, on the test instances and held out, as it fills in behind the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from pages.shared import answers, behind, sources
from pages.shared.settings import K_MAX, rounded_lambda_text
from xmlcore import Evaluation
from xmlcore.figures import RIDGE, RIDGE_PS, Curve
from xmlcore.leaveout import sample_families
from xmlcore.selection import held_out_path, lambda_grid, lambda_path, nearest_first

N_LAMBDAS = 25
HELD_OUT_ROWS = 5_000
HELD_OUT_OPERATIONS = 2e12  # of the whole held-out path: some tens of seconds
HELP = (
    "Each point is computed exactly, not read off a grid that was prepared. The held-out curve needs no validation "
    "set: each training instance is scored by the model that would have been trained without it and its family (the "
    "instances of the same origin). Vocabulary, IDF and θ stay as they are from all training instances; a label whose "
    "training instances are all of one family, or only one, then scores 0 and is hit by chance at best."
)


@dataclass(frozen=True)
class Point:
    """Both variants' metrics, as in `VariantResult`, at one λ: rankings and hits of each label would take megabytes."""

    reg_lambda: float
    ridge: Mapping[str, Mapping[int, float]]
    ps: Mapping[str, Mapping[int, float]]


Work = tuple[behind.Filling[Point], behind.Filling[Point]]


def paths(answer: answers.Answer) -> Work:
    """The path on test instances and the held-out path at the answer's A and B; the model must be ready."""
    settings = answer.settings
    key = (answer.model.full.fingerprint, settings.A, settings.B, *answer.metric_AB)
    near = settings.reg_lambda
    return (
        behind.filling(("test", *key), partial(_test_steps, answer, near), N_LAMBDAS, answer.n_bytes),
        behind.filling(("held out", *key), partial(_held_out_steps, answer), N_LAMBDAS, answer.n_bytes),
    )


def _grid(answer: answers.Answer) -> np.ndarray:
    return lambda_grid(*answer.model.lambda_range, N_LAMBDAS)


def _held_out_rows(answer: answers.Answer) -> int:
    each = 2.0 * answer.model.size * answer.dataset.n_labels * N_LAMBDAS
    return min(answer.dataset.n_train, HELD_OUT_ROWS, max(200, int(HELD_OUT_OPERATIONS / each)))


def all_ks(answer: answers.Answer) -> tuple[int, ...]:
    """Every K that a slider may be set to."""
    return tuple(range(1, min(K_MAX, answer.dataset.n_labels) + 1))


def point_of(evaluation: Evaluation) -> Point:
    """What is kept of an evaluation."""
    return Point(evaluation.reg_lambda, evaluation.ridge.metrics, evaluation.ps.metrics)


def _test_steps(answer: answers.Answer, near: float) -> Iterator[Point]:
    data = answer.dataset
    return map(
        point_of,
        lambda_path(
            answer.model.factorization,
            answer.model.projection,
            data.Y_test,
            nearest_first(_grid(answer), near),
            answer.theta,
            answer.metric_theta,
            all_ks(answer),
            exclude=data.test_filter,
            X_new=data.X_test,
        ),
    )


def _held_out_steps(answer: answers.Answer) -> Iterator[Point]:
    data, fac = answer.dataset, answer.model.factorization
    path = held_out_path(
        fac,
        _grid(answer),
        answer.theta,
        answer.metric_theta,
        all_ks(answer),
        groups=data.train_groups,
        rows=sample_families(data.train_groups, data.n_train, _held_out_rows(answer)),
        exclude=data.train_filter,
        progress=lambda _, done: behind.step_aside(done),
    )
    # All at once: a path that nobody looks at any more would keep the rankings of every λ.
    yield from list(map(point_of, path))


def held_out_text(answer: answers.Answer) -> str:
    """Which training instances the held-out curve is of, and what was left out with each."""
    data, rows = answer.dataset, _held_out_rows(answer)
    which = f"about {rows:,} of {data.n_train:,}" if rows < data.n_train else f"{rows:,}"
    left_out = "itself"
    if data.train_groups is not None:
        entry = sources.entry_of(answer.settings.data)
        of_debian = entry is not None and entry.kind == "embedded"
        left_out = f"its whole family{' (its source package)' if of_debian else ''}"
    return f"{which} training instances, each scored by the exact model trained without {left_out}"


def fraction(work: Work) -> float:
    """The share of the path that has arrived."""
    return sum(each.fraction for each in work) / len(work)


def progress_text(work: Work) -> str:
    """What is being filled in, in words."""
    test, held_out = work
    if not test.done:
        return f"{len(test.results)} of {test.n_steps} values of λ on the test instances"
    return f"Held out, at all {held_out.n_steps} values of λ together"


def lines(answer: answers.Answer, work: Work, metric: str) -> list[Curve]:
    """The curves of both variants in percent, solid on test instances and dashed held out, as far as they are there."""
    found = []
    for each, rows, dashed in zip(work, (answer.rows_text, "held out"), (False, True), strict=True):
        points = sorted(each.results, key=lambda point: point.reg_lambda)
        x = np.array([point.reg_lambda for point in points])
        for variant, attribute in ((RIDGE, "ridge"), (RIDGE_PS, "ps")):
            y = [100 * getattr(point, attribute)[metric][answer.K] for point in points]
            found.append(Curve(variant, x, np.array(y), rows, dashed, legend="… held out" if dashed else variant))
    return found


def best_text(curves: list[Curve]) -> str:
    """At which of the λ tried each held-out curve is highest, in words; nothing until it is there, or if it is flat."""
    found = [curve for curve in curves if curve.dashed and curve.x.size and np.ptp(curve.y)]
    if len(found) < 2:
        return ""
    ridge, ps = (rounded_lambda_text(curve.x[curve.y.argmax()]) for curve in found)
    return f"Of the λ tried, {ridge} is best held out and, with PS, {ps}."


def markers(answer: answers.Answer, metric: str) -> dict[str, tuple[float, float]]:
    """Where each variant stands at an answer's own λ, in percent."""
    evaluation = answer.evaluation
    return {
        RIDGE: (evaluation.reg_lambda, 100 * evaluation.ridge.metrics[metric][answer.K]),
        RIDGE_PS: (evaluation.reg_lambda_ps, 100 * evaluation.ps.metrics[metric][answer.K]),
    }
