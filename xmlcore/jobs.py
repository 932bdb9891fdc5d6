"""The work that a process of its own does for a page: the factorisation of a large matrix."""

from __future__ import annotations

from collections.abc import Callable

from xmlcore import eigen
from xmlcore.background import estimate_seconds
from xmlcore.dataset import n_columns, n_rows
from xmlcore.ridge import RidgeFactorization
from xmlcore.store import Store, get_features


def factorize(
    store: Store, report: Callable[..., None], *, features_key: str, labels_key: str, result_key: str
) -> dict:
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
    seconds = estimate_seconds(eigen.eigenpairs, min(n_rows(X), n_columns(X)))

    def progress(stage: str, fraction: float | None) -> None:
        report(stage, seconds=seconds if stage == "eigendecomposition" else None)

    factorization = RidgeFactorization.fit(X, Y, progress=progress)
    if not store.put(result_key, factorization.arrays()):
        raise RuntimeError(store.notices[-1])
    return {"found": False}
