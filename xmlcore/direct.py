"""What is known before a factorisation: the scores at one λ by Cholesky, and the range of λ that is worth trying."""

from __future__ import annotations

import threading
from contextlib import suppress

import numpy as np
from scipy import sparse

from xmlcore import eigen, linalg, products
from xmlcore.checks import DataError, check_reg_lambda
from xmlcore.inputs import check_features, check_training
from xmlcore.matrices import Block, Features, as_blocks, n_columns, n_rows


class DirectSolver:
    """The scores at one λ after another by Cholesky, as long as there is no factorisation that serves every λ.

    Of X (D×N) and Y (D×L) the smaller Gram matrix is solved for the new rows, which are then multiplied with the sparse
    labels: in the dual ((K+λI)⁻¹ X X_newᵀ)ᵀ Y, in the primal ((G+λI)⁻¹ X_newᵀ)ᵀ (XᵀY) or, where that is fewer columns,
    X_new ((G+λI)⁻¹ XᵀY). float64 for a Gram matrix up to `eigen.FLOAT64_LIMIT`; float32 beyond, and float64 again, in
    twice the time and memory, where float32 would be too rough: one feature may outweigh all others.

    The Gram matrix is made once and kept; several threads may ask, and are answered one after the other. Raises
    DataError as `RidgeFactorization.fit` does.
    """

    def __init__(self, X: Features, Y: sparse.csr_array) -> None:
        self.X, self.Y = check_training(X, Y)
        self._dual = n_rows(self.X) < n_columns(self.X)
        self._dtype = eigen.gram_dtype(min(n_rows(self.X), n_columns(self.X)))
        self._trace = linalg.check_scale(self.X, self._dtype)
        if not self._trace:
            raise DataError("X holds only zeros; expected at least one feature that is not zero")
        self._gram: np.ndarray | None = None
        self._diagonal: np.ndarray | None = None  # the Gram matrix's own, where a solve has overwritten that
        self._one_at_a_time = threading.Lock()

    def prepare(self) -> None:
        """Makes the Gram matrix, unless it is there: before the first λ, which would make it else."""
        with self._one_at_a_time:
            self._prepare()

    def scores(self, X_new: Features, reg_lambda: float) -> np.ndarray:
        """Scores of X_new (n×N) at this λ, (n, L), float32. Raises DataError for a λ too small (`cholesky_solve`)."""
        X_new = check_features(X_new, self.X, "X_new")
        reg_lambda = check_reg_lambda(reg_lambda)
        with self._one_at_a_time:
            if self._dtype == np.float32:
                with suppress(DataError):
                    return self._solve(self._prepared(), X_new, reg_lambda)
                return self._solve(linalg.gram(self.X, of_rows=self._dual, dtype=np.float64), X_new, reg_lambda)
            return self._solve(self._prepared(), X_new, reg_lambda)

    def _prepare(self) -> None:
        if self._gram is None:
            self._gram = linalg.gram(self.X, of_rows=self._dual, dtype=self._dtype)
        elif self._diagonal is not None:
            linalg.undo_cholesky_solve(self._gram, self._diagonal)
            self._diagonal = None

    def _prepared(self) -> np.ndarray:
        self._prepare()
        self._diagonal = self._gram.diagonal().copy()
        return self._gram

    def _solve(self, K: np.ndarray, X_new: tuple[Block, ...], reg_lambda: float) -> np.ndarray:
        X, Y, dtype = self.X, self.Y, K.dtype
        scaled = (lambda A, times: times(A)) if linalg.is_ordinary(self._trace, reg_lambda) else linalg.at_any_scale
        random = np.random.default_rng(0).standard_normal  # to estimate the error of the solve
        if self._dual:
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


def solve_direct(X: Features, Y: sparse.csr_array, X_new: Features, reg_lambda: float) -> np.ndarray:
    """Scores of X_new (n×N) for one λ, without a factorisation that serves other λ; (n, L), float32.

    By `DirectSolver`, which is for more than one λ. Raises DataError as that does.
    """
    return DirectSolver(X, Y).scores(X_new, reg_lambda)


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
