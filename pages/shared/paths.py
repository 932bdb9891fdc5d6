"""The λ path of both variants, on the test instances and held out, as it fills in behind the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from pages.shared import behind, model, sources
from pages.shared.settings import K_MAX, lambda_text
from xmlcore import Evaluation, top_k_both
from xmlcore.dataset import take_rows
from xmlcore.evaluation import evaluate_rankings
from xmlcore.figures import RIDGE, RIDGE_PS, Curve
from xmlcore.leaveout import sample_families
from xmlcore.metrics import make_ruler
from xmlcore.sampling import sample_interval
from xmlcore.selection import Setting, frontier, held_out_path, lambda_grid, lambda_path, search_settings

N_LAMBDAS = 25
HELD_OUT_ROWS = 5_000
HELD_OUT_OPERATIONS = 2e12  # of the whole held-out path: some tens of seconds
HELP = (
    "Each point is computed exactly, not read off a grid that was prepared. The held-out curve needs no validation "
    "set: each training instance is scored by the model that would have been trained without it and its family (the "
    "instances of the same origin). Vocabulary, IDF and θ stay as they are from all training instances; a label with "
    "one instance can never be hit."
)
SEARCH_LAMBDAS = 12
SEARCH_A, SEARCH_B = (0.0, 0.2, 0.4, 0.55, 0.7, 0.9, 1.2, 1.6), (0.4, 1.5, 2.6)
Work = tuple[behind.Filling[Evaluation], behind.Filling[Evaluation]]


def paths(answer: model.Answer) -> Work:
    """The path on test instances and the held-out path at the answer's A and B; the model must be ready."""
    settings = answer.settings
    key = (settings.data, settings.features, settings.A, settings.B, settings.tie_metric)
    near = settings.reg_lambda
    return (
        behind.filling(("test", *key), partial(_test_steps, answer, near), N_LAMBDAS),
        behind.filling(("held out", *key), partial(_held_out_steps, answer), N_LAMBDAS),
    )


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


def search(answer: model.Answer) -> behind.Filling[Setting]:
    """Settings of λ, A and B over a coarse grid, measured on the test instances; the model must be ready."""
    settings, data = answer.settings, answer.dataset
    # The search has A and B of its own; the sliders' matter only where the metric is tied to them.
    ruler = (settings.A, settings.B) if settings.tie_metric else ()
    return behind.filling(
        ("search", settings.data, settings.features, *ruler),
        lambda: search_settings(
            answer.model.factorization,
            answer.model.projection,
            data.Y_test,
            lambda_grid(*answer.model.lambda_range, SEARCH_LAMBDAS),
            SEARCH_A,
            SEARCH_B,
            data.label_counts,
            answer.metric_theta,
            _ks(answer),
            exclude=data.test_filter,
        ),
        SEARCH_LAMBDAS * len(SEARCH_A) * len(SEARCH_B),
    )


@dataclass(frozen=True)
class Plane:
    """P@K against PSP@K in percent: arrays of shape (settings,), a name for each, and the frontier's indices."""

    precision: np.ndarray
    psprecision: np.ndarray
    names: list[str]
    frontier: np.ndarray


def plane(found: list[Setting], k: int) -> Plane:
    """The settings found so far as points of the plane."""
    P, PSP = (np.array([100 * each.metrics[m][k] for each in found]) for m in ("precision", "psprecision"))
    names = [f"λ = {lambda_text(float(f'{each.reg_lambda:.3g}'))}, A = {each.A:g}, B = {each.B:g}" for each in found]
    return Plane(P, PSP, names, frontier(P, PSP))


def plane_markers(answer: model.Answer) -> dict[str, tuple[float, float]]:
    """Where each variant stands in the plane, in percent."""
    (_, p), (_, p_ps) = markers(answer, "precision").values()
    (_, psp), (_, psp_ps) = markers(answer, "psprecision").values()
    return {RIDGE: (p, psp), RIDGE_PS: (p_ps, psp_ps)}


def _grid(answer: model.Answer) -> np.ndarray:
    return lambda_grid(*answer.model.lambda_range, N_LAMBDAS)


def _held_out_rows(answer: model.Answer) -> int:
    each = 2.0 * answer.model.size * answer.dataset.n_labels * N_LAMBDAS
    return min(answer.dataset.n_train, HELD_OUT_ROWS, max(200, int(HELD_OUT_OPERATIONS / each)))


def _ks(answer: model.Answer) -> tuple[int, ...]:
    return tuple(range(1, min(K_MAX, answer.dataset.n_labels) + 1))


def _test_steps(answer: model.Answer, near: float) -> Iterator[Evaluation]:
    grid = _grid(answer)
    data, fac = answer.dataset, answer.model.factorization
    ordered = sorted(grid, key=lambda value: abs(np.log(value / near)))
    return lambda_path(
        fac,
        answer.model.projection,
        data.Y_test,
        ordered,
        answer.theta,
        answer.metric_theta,
        _ks(answer),
        exclude=data.test_filter,
    )


def _held_out_steps(answer: model.Answer) -> Iterator[Evaluation]:
    data, fac = answer.dataset, answer.model.factorization
    return held_out_path(
        fac,
        _grid(answer),
        answer.theta,
        answer.metric_theta,
        _ks(answer),
        groups=data.train_groups,
        rows=sample_families(data.train_groups, data.n_train, _held_out_rows(answer)),
        exclude=data.train_filter,
        progress=behind.step_aside,
    )


def held_out_text(answer: model.Answer) -> str:
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
    """What is being filled in, in words; or what went wrong."""
    errors = [each.error for each in work if each.error]
    if errors:
        return f"The path ended early: {errors[0]}"
    test, held_out = work
    if not test.done:
        return f"{len(test.results)} of {test.n_steps} values of λ on the test instances"
    return f"Held out, at all {held_out.n_steps} values of λ together: {100 * held_out.fraction:.0f} %"


def lines(answer: model.Answer, work: Work, metric: str) -> list[Curve]:
    """The curves of both variants in percent, solid on test instances and dashed held out, as far as they are there."""
    found = []
    for each, rows, dashed in zip(work, (answer.rows_text, "held out"), (False, True), strict=True):
        points = sorted(each.results, key=lambda evaluation: evaluation.reg_lambda)
        x = np.array([point.reg_lambda for point in points])
        for variant, attribute in ((RIDGE, "ridge"), (RIDGE_PS, "ps")):
            y = [100 * getattr(point, attribute).metrics[metric][answer.K] for point in points]
            found.append(Curve(variant, x, np.array(y), rows, dashed))
    return found


def markers(answer: model.Answer, metric: str) -> dict[str, tuple[float, float]]:
    """Where each variant stands at an answer's own λ, in percent."""
    evaluation = answer.evaluation
    return {
        RIDGE: (evaluation.reg_lambda, 100 * evaluation.ridge.metrics[metric][answer.K]),
        RIDGE_PS: (evaluation.reg_lambda_ps, 100 * evaluation.ps.metrics[metric][answer.K]),
    }


def table(lines: list[Curve], x_name: str, y_name: str) -> pd.DataFrame:
    """Curves as rows of variant, rows, x and y."""
    parts = [
        pd.DataFrame({"variant": line.variant, "rows": line.rows, x_name: line.x, f"{y_name} (%)": line.y})
        for line in lines
        if line.x.size
    ]
    return pd.concat(parts) if parts else pd.DataFrame()
