"""What Compress computes: W kept for a λ, one point at once where W is small, and the curve behind the page."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np
from cachetools import LRUCache, cached
from scipy import sparse

from pages.shared import behind, paths
from pages.shared.answers import Answer, scores_on_test
from pages.shared.model import Model
from pages.shared.sizes import held_bytes
from xmlcore import RidgeFactorization, compress, evaluate_scores, save_sparse_weights, sparse_weights, weight_sizes
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.matrices import as_blocks, n_rows, take_rows
from xmlcore.metrics import METRICS, make_ruler
from xmlcore.products import multiply
from xmlcore.progress import Progress, unheard
from xmlcore.ranking import top_k_weighted
from xmlcore.sparsify import SparsePoint, WeightSizes

# Percent of all entries; the same for every data set, so that a link means the same.
SHARES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0)
# The curve of a quick W has these points only, so that it is there at the page's first look for it.
CURVE_SHARES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
VARIANTS = (RIDGE, RIDGE_PS)
# Up to here W is kept and a point is answered at once; beyond, W is made in blocks of labels when it is asked for.
QUICK_OPERATIONS, QUICK_BYTES = 4e10, 64 << 20
W_BYTES, BLOCK_BYTES = 3 * QUICK_BYTES, 200 << 20
SIZES_BYTES = 64 << 20  # of which a WeightSizes takes 8 MB
POINTS_KEPT = 400  # some kB each
TIMED_ROWS, TIMED_RUNS = 1_000, 3

Step = tuple[str, dict[float, SparsePoint]]  # a variant's points by share
Curves = behind.Filling[Step]


def is_quick(model: Model) -> bool:
    """Whether W is small enough to be made anew with every λ while a visitor waits."""
    n_features, n_labels = model.full.n_features, model.full.n_labels
    operations = 2 * model.size * n_features * n_labels
    return operations <= QUICK_OPERATIONS and 4 * n_features * n_labels <= QUICK_BYTES


@cached(
    LRUCache(W_BYTES, getsizeof=lambda W: W.nbytes),
    key=lambda model, reg_lambda: (model.full.fingerprint, reg_lambda),
    condition=threading.Condition(),
)
def _whole_w(model: Model, reg_lambda: float) -> np.ndarray:
    return model.factorization.weights(reg_lambda)


def _kept_w(model: Model, reg_lambda: float) -> np.ndarray | None:
    return _whole_w(model, reg_lambda) if is_quick(model) else None


def _factorization(model: Model) -> RidgeFactorization:
    """With a memory budget that leaves the server near its size, where W is made in blocks."""
    fac = model.factorization
    return fac if is_quick(model) else replace(fac, memory_budget=min(fac.memory_budget, BLOCK_BYTES))


def reg_lambda_of(answer: Answer, variant: str) -> float:
    """The variant's λ."""
    return answer.settings.reg_lambda if variant == RIDGE else answer.settings.reg_lambda_ps


def _weighting(answer: Answer, variant: str) -> tuple:
    """What W's magnitudes depend on."""
    settings = answer.settings
    own = () if variant == RIDGE else (settings.A, settings.B)
    return (answer.model.full.fingerprint, reg_lambda_of(answer, variant), *own)


def _measured(answer: Answer, variant: str) -> tuple:
    """What metrics of a sparse W depend on, K aside."""
    return (*_weighting(answer, variant), *answer.metric_AB)


@cached(
    LRUCache(SIZES_BYTES, getsizeof=held_bytes),
    key=lambda answer, variant, progress=unheard: _weighting(answer, variant),
    condition=threading.Condition(),
)
def sizes(answer: Answer, variant: str, progress: Progress = unheard) -> WeightSizes:
    """How many entries of the variant's W have which magnitude."""
    reg_lambda, theta = reg_lambda_of(answer, variant), None if variant == RIDGE else answer.theta
    W = _kept_w(answer.model, reg_lambda)
    return weight_sizes(_factorization(answer.model), reg_lambda, theta, W=W, progress=progress)


def _compress(
    answer: Answer,
    variant: str,
    shares: tuple[float, ...],
    ks: tuple[int, ...],
    full: dict,
    progress: Progress = unheard,
) -> list[SparsePoint]:
    data = answer.dataset
    _warm_up()
    return compress(
        _factorization(answer.model),
        sizes(answer, variant, progress),
        [share / 100 for share in shares],
        data.X_test,
        make_ruler(data.Y_test, answer.metric_theta, max(ks)),
        full,
        ks,
        W=_kept_w(answer.model, reg_lambda_of(answer, variant)),
        exclude=data.test_filter,
        progress=progress,
    )


@cached(
    LRUCache(POINTS_KEPT),
    key=lambda answer, variant, share: (*_measured(answer, variant), answer.evaluation.ks, share),
    condition=threading.Condition(),
)
def point(answer: Answer, variant: str, share: float) -> SparsePoint:
    """The variant with a share (percent) of W's entries, at the answer's values of K; the model must be ready."""
    evaluation = answer.evaluation
    full = (evaluation.ridge if variant == RIDGE else evaluation.ps).metrics
    return _compress(answer, variant, (share,), evaluation.ks, full)[0]


def curves(answer: Answer) -> Curves:
    """Both variants at every share, filled in behind the page; the model must be ready.

    Where W is quick at the answer's values of K, and again for another K; else at every K.
    """
    key = ("compress", *(_measured(answer, variant) for variant in VARIANTS))
    if is_quick(answer.model):
        # A share a step, so that visitors need not wait for a whole curve.
        steps = partial(_quick_steps, answer)
        return behind.filling((*key, answer.evaluation.ks), steps, len(VARIANTS) * len(CURVE_SHARES), answer.n_bytes)
    return behind.filling(key, partial(_large_steps, answer), len(VARIANTS), answer.n_bytes)


def _quick_steps(answer: Answer) -> Iterator[Step]:
    for share in CURVE_SHARES:
        for variant in VARIANTS:
            yield variant, {share: point(answer, variant, share)}


def _large_steps(answer: Answer) -> Iterator[Step]:
    """All shares of a variant at once, and all K: W is made anew for each step."""
    data, settings = answer.dataset, answer.settings
    ks = paths.all_ks(answer)
    own = settings.reg_lambda_ps != settings.reg_lambda
    full = paths.point_of(
        evaluate_scores(
            scores_on_test(answer.model, settings.reg_lambda),
            data.Y_test,
            answer.theta,
            answer.metric_theta,
            ks,
            scores_ps=scores_on_test(answer.model, settings.reg_lambda_ps) if own else None,
            exclude=data.test_filter,
        )
    )
    passes = _Passes()
    for variant, metrics in zip(VARIANTS, (full.ridge, full.ps), strict=True):
        points = _compress(answer, variant, SHARES, ks, metrics, passes)
        yield variant, dict(zip(SHARES, points, strict=True))


class _Passes:
    """Counts the passes over W (sizes and metrics, for each variant) that make a curve, and steps aside in between."""

    def __init__(self) -> None:
        self.done = 0

    def __call__(self, stage: str, fraction: float) -> None:
        behind.step_aside((self.done + fraction) / (2 * len(VARIANTS)))
        if fraction >= 1:
            self.done += 1


def points_of(work: Curves, variant: str) -> dict[float, SparsePoint]:
    """A variant's points by share, as far as they are there."""
    found: dict[float, SparsePoint] = {}
    for name, points in list(work.results):
        if name == variant:
            found |= points
    return found


@cached(
    LRUCache(64), key=lambda answer, variant: (answer.model.full.fingerprint, variant), condition=threading.Condition()
)
def dense_seconds(answer: Answer, variant: str) -> float | None:
    """Seconds for 1,000 instances with the whole W: the quickest of three runs; None where W is not kept whole.

    Measured once for a data set: the values of a dense W do not matter.
    """
    if not is_quick(answer.model):
        return None
    rows = np.arange(min(TIMED_ROWS, n_rows(answer.dataset.X_test)))
    blocks = as_blocks(take_rows(answer.dataset.X_test, rows))
    W = _whole_w(answer.model, reg_lambda_of(answer, variant))
    theta = np.ones(W.shape[1]) if variant == RIDGE else answer.theta
    seconds = []
    for _ in range(TIMED_RUNS):
        started = time.perf_counter()
        top_k_weighted(multiply(blocks, W), theta, answer.K)
        seconds.append(time.perf_counter() - started)
    return min(seconds) * 1_000 / rows.size


def exported(answer: Answer, variant: str, share: float) -> bytes:
    """The sparse W as an .npz file, with names and settings; with PS, θ is multiplied in."""
    model, reg_lambda = answer.model, reg_lambda_of(answer, variant)
    found = sizes(answer, variant)
    threshold = found.threshold(share / 100)
    weights = sparse_weights(_factorization(model), found, threshold, W=_kept_w(model, reg_lambda))
    settings = answer.settings
    file = io.BytesIO()
    save_sparse_weights(
        file,
        weights,
        feature_names=model.full.feature_names,
        label_names=model.full.label_names,
        settings={
            "data": model.full.name,
            "features": str(model.fitted.recipe),
            "variant": variant,
            "reg_lambda": reg_lambda,
            **({} if variant == RIDGE else {"A": settings.A, "B": settings.B}),
            "threshold": threshold,
            "kept": weights.nnz,
            "kept_share": weights.nnz / (weights.shape[0] * weights.shape[1]),
        },
    )
    return file.getvalue()


@cache
def _warm_up() -> None:
    """Compiled code is loaded before any time is taken."""
    X, Y = sparse.csr_array(np.eye(3, dtype=np.float32)), sparse.csr_array(np.eye(3, dtype=np.float32))
    fac = RidgeFactorization.fit(X, Y)
    full = {name: {1: 1.0} for name in METRICS}
    compress(fac, weight_sizes(fac, 1.0), [1.0], X, make_ruler(Y, None, 1), full, (1,))
