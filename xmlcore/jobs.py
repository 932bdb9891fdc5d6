"""The work that a process of its own does for a page: the factorisation of a large matrix."""

from __future__ import annotations

import time

import numpy as np

from xmlcore.background import Report
from xmlcore.lapack import symmetric_eigen
from xmlcore.matrices import n_columns, n_rows
from xmlcore.ridge import RidgeFactorization
from xmlcore.store import Store, get_features

TIMED_SIZE = 1_000


def factorize(store: Store, report: Report, *, features_key: str, labels_key: str, result_key: str) -> dict:
    """Factorises the X and Y that the store has under these keys and keeps the result there, as `arrays()` gives it.

    Nothing is computed where the result is there already. Raises RuntimeError where X or Y has left the store, or the
    result does not fit into it.
    """
    if store.get(result_key) is not None:
        return {"found": True}
    X, Y = get_features(store, features_key), get_features(store, labels_key)
    if X is None or Y is None:
        raise RuntimeError("the data is no longer in the cache")
    report("estimating the time")
    seconds = estimate_seconds(min(n_rows(X), n_columns(X)))

    def progress(stage: str, fraction: float | None) -> None:
        report(stage, seconds=seconds if stage == "eigendecomposition" else None)

    factorization = RidgeFactorization.fit(X, Y, progress=progress)
    if not store.put(result_key, factorization.arrays()):
        raise RuntimeError(store.notices[-1])
    return {"found": False}


def estimate_seconds(size: int) -> float:
    """About the seconds that the eigendecomposition of a symmetric float32 matrix of this size, r ≥ 1, takes.

    Seconds(r) ≈ seconds(n) (r/n)³, of a timed one of n ≤ TIMED_SIZE rows after one of 50 untimed. Caches and blocking
    make it an estimate, not a promise.
    """
    n = min(size, TIMED_SIZE)
    factor = np.random.default_rng(0).standard_normal((n, n), dtype=np.float32)
    matrix = factor @ factor.T / n + np.eye(n, dtype=np.float32)
    symmetric_eigen(matrix[:50, :50].copy())
    start = time.perf_counter()
    symmetric_eigen(matrix)
    return (time.perf_counter() - start) * (size / n) ** 3
