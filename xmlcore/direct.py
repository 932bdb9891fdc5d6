"""What is known before a factorisation: the scores at one λ by Cholesky, and the range of λ that is worth trying."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
from scipy import sparse

from xmlcore import eigen, linalg, products
from xmlcore.checks import DataError, check_reg_lambda
from xmlcore.inputs import check_features, check_training
from xmlcore.matrices import Block, Features, as_blocks, n_columns, n_rows


def solve_direct(X: Features, Y: sparse.csr_array, X_new: Features, reg_lambda: float) -> np.ndarray:
    """Scores of X_new for one λ by Cholesky, without a factorisation that serves other λ; (rows, L), float32.

    Of X (D×N), Y (D×L) and X_new (n×N) the smaller Gram matrix is solved for the new rows, which are then multiplied
    with the sparse labels: in the dual ((K+λI)⁻¹ X X_newᵀ)ᵀ Y, in the primal ((G+λI)⁻¹ X_newᵀ)ᵀ (XᵀY) or, where that
    is fewer columns, X_new ((G+λI)⁻¹ XᵀY). float64 for a Gram matrix up to `eigen.FLOAT64_LIMIT`; float32 beyond, and
    float64 again, in twice the time and memory, where float32 would be too rough: one feature may outweigh all others.

    Raises DataError as `RidgeFactorization.fit` does, and for a λ too small (see `linalg.cholesky_solve`).
    """
    X, Y = check_training(X, Y)
    X_new = check_features(X_new, X, "X_new")
    reg_lambda = check_reg_lambda(reg_lambda)
    dtype = eigen.gram_dtype(min(n_rows(X), n_columns(X)))
    trace = linalg.check_scale(X, dtype)
    if not trace:
        raise DataError("X holds only zeros; expected at least one feature that is not zero")
    scaled = (lambda A, times: times(A)) if linalg.is_ordinary(trace, reg_lambda) else linalg.at_any_scale
    if dtype == np.float32:
        with suppress(DataError):
            return _solve_direct(X, Y, X_new, reg_lambda, np.float32, scaled)
    return _solve_direct(X, Y, X_new, reg_lambda, np.float64, scaled)


def _solve_direct(
    X: tuple[Block, ...],
    Y: sparse.csr_array,
    X_new: tuple[Block, ...],
    reg_lambda: float,
    dtype: type,
    scaled: Callable[[np.ndarray, Callable], np.ndarray],
) -> np.ndarray:
    dual = n_rows(X) < n_columns(X)
    K = linalg.gram(X, of_rows=dual, dtype=dtype)
    random = np.random.default_rng(0).standard_normal  # to estimate the error of the solve
    if dual:
        votes = linalg.cholesky_solve(K, reg_lambda, linalg.cross_gram(X_new, X, dtype).T, Y @ random(Y.shape[1]))
        return scaled(votes.T, lambda A: products.times_sparse(A, Y))
    right = products.transposed_times_sparse(X, Y, dtype)
    if Y.shape[1] <= n_rows(X_new):
        mixed = products.multiply_transposed(X_new, random((n_rows(X_new), 1)), np.float64)[:, 0]
        W = linalg.cholesky_solve(K, reg_lambda, right, mixed)
        return scaled(W.T, lambda A: products.multiply(X_new, A.T).T).T
    dense = np.hstack([block.toarray() if sparse.issparse(block) else block for block in X_new])
    solved = linalg.cholesky_solve(K, reg_lambda, dense.T.astype(dtype), right @ random(Y.shape[1]))
    return scaled(solved.T, lambda A: products.product(A, right))


def lambda_range(X: Features) -> tuple[float, float]:
    """The range of λ worth a slider, from the trace and a few power iterations, before any factorisation.

    From a thousandth of the mean eigenvalue, trace/r, below which λ changes little, up to the largest eigenvalue, above
    which all scores only shrink together; and never below `eigen.smallest_reliable_lambda`.

    Raises DataError for X without a value other than zero, or with values beyond what can be squared and summed.
    """
    blocks = as_blocks(X)
    size = min(n_rows(blocks), n_columns(blocks))
    trace = linalg.check_scale(blocks, eigen.gram_dtype(size))
    values = linalg.largest_eigenvalues(blocks) if size else np.zeros(1)
    if not values[-1] > 0:
        raise DataError("X holds only zeros; expected at least one feature that is not zero")
    reliable = eigen.smallest_reliable_lambda(values, size, eigen.outstanding(values))
    return max(1e-3 * trace / size, reliable), float(values[-1])
