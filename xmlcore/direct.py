"""What is known before a factorisation: the scores at one λ by Cholesky, and the range of λ that is worth trying."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from scipy import sparse

from xmlcore import eigen, linalg, products
from xmlcore.checks import DataError, check_reg_lambda
from xmlcore.inputs import check_features, check_training
from xmlcore.matrices import Block, Features, as_blocks, n_columns, n_rows
from xmlcore.memory import default_memory_budget
from xmlcore.products import multiply, multiply_transposed

_Times = Callable[[np.ndarray], np.ndarray]


class DirectSolver:
    """The scores at one λ after another by Cholesky, as long as there is no factorisation that serves every λ.

    Of X (D×N) and Y (D×L) the smaller Gram matrix is solved for the new rows, which are then multiplied with the sparse
    labels: in the dual ((K+λI)⁻¹ X X_newᵀ)ᵀ Y, in the primal ((G+λI)⁻¹ X_newᵀ)ᵀ (XᵀY) or, where that is fewer columns,
    X_new ((G+λI)⁻¹ XᵀY). float64 for a Gram matrix up to `eigen.FLOAT64_LIMIT`; float32 beyond, and float64 besides, in
    twice the time and three times the memory, where float32 would be too rough: one feature may outweigh all others.

    The Gram matrix of the usual precision is made once and kept, and so is the factor of the last λ. Several threads
    may ask, and are answered one after the other. Raises DataError as `RidgeFactorization.fit` does, but takes any r.
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
        self._factored: float | None = None  # the λ of the factor that the last solve has left there
        self._one_at_a_time = threading.Lock()

    def prepare(self) -> None:
        """Makes the Gram matrix, unless it is there: before the first λ, which would make it else."""
        with self._one_at_a_time:
            if self._gram is None:
                self._gram = linalg.gram(self.X, of_rows=self._dual, dtype=self._dtype)

    def scores(self, X_new: Features, reg_lambda: float) -> np.ndarray:
        """Scores of X_new (n×N) at this λ, (n, L), float32; float64 where float32 could not hold them.

        Raises DataError for a λ too small (see `linalg.cholesky_solve`), and for values of X_new too large.
        """
        X_new = check_features(X_new, self.X, "X_new")
        reg_lambda = check_reg_lambda(reg_lambda)
        self.prepare()
        with self._one_at_a_time, np.errstate(over="ignore", invalid="ignore"):  # which is looked for below
            scores = self._solve_in_order(X_new, reg_lambda) if np.isfinite(linalg.squared_norm(X_new)) else np.inf
        if not np.isfinite(scores).all():
            raise DataError("X_new holds values too large to be scored: scale its rows as those of X")
        return scores

    def _solve_in_order(self, X_new: tuple[Block, ...], reg_lambda: float) -> np.ndarray:
        if self._dtype == np.float32:
            with suppress(DataError):
                return self._solve_kept(X_new, reg_lambda)
            return self._solve(X_new, reg_lambda, linalg.gram(self.X, of_rows=self._dual, dtype=np.float64), None)
        return self._solve_kept(X_new, reg_lambda)

    def _solve_kept(self, X_new: tuple[Block, ...], reg_lambda: float) -> np.ndarray:
        K = self._gram
        if self._factored == reg_lambda:
            return self._solve(X_new, reg_lambda, K, self._diagonal)
        if self._diagonal is not None:
            linalg.undo_cholesky_solve(K, self._diagonal)
        self._diagonal, self._factored = K.diagonal().copy(), None
        scores = self._solve(X_new, reg_lambda, K, None)
        self._factored = reg_lambda
        return scores

    def _solve(
        self, X_new: tuple[Block, ...], reg_lambda: float, K: np.ndarray, diagonal: np.ndarray | None
    ) -> np.ndarray:
        X, Y, dtype = self.X, self.Y, K.dtype
        scaled = (lambda A, times: times(A)) if linalg.is_ordinary(self._trace, reg_lambda) else linalg.at_any_scale

        def solve(right: np.ndarray, times_right: _Times, to_scores: _Times) -> np.ndarray:
            exactly = (lambda V: linalg.gram_times(X, V, of_rows=self._dual), times_right)
            return linalg.cholesky_solve(K, reg_lambda, right, exactly, to_scores, diagonal)

        def by_labels(A: np.ndarray) -> np.ndarray:
            return multiply_transposed(X, Y @ A, np.float64)

        def by_new_rows(A: np.ndarray) -> np.ndarray:
            return multiply_transposed(X_new, A, np.float64)

        if self._dual:
            right = linalg.cross_gram(X_new, X, dtype).T
            votes = solve(right, lambda A: multiply(X, by_new_rows(A), np.float64), lambda S: Y.T @ S)
            return scaled(votes.T, lambda A: products.times_sparse(A, Y))
        if Y.shape[1] <= n_rows(X_new):
            right = products.transposed_times_sparse(X, Y, dtype)
            W = solve(right, by_labels, lambda S: multiply(X_new, S, np.float64))
            return scaled(W.T, lambda A: multiply(X_new, A.T).T).T
        dense = np.hstack([block.toarray() if sparse.issparse(block) else block for block in X_new])
        solved = solve(dense.T.astype(dtype), by_new_rows, lambda S: Y.T @ multiply(X, S, np.float64))
        return scaled(solved.T, self._times_label_sums)

    def _times_label_sums(self, A: np.ndarray) -> np.ndarray:
        """A XᵀY, (rows, L), float32, for A (rows×N): in blocks of labels, since XᵀY may be of any size."""
        out = np.empty((A.shape[0], self.Y.shape[1]), np.float32)
        for labels in products.chunks(self.Y.shape[1], max(1, default_memory_budget() // (16 * A.shape[1]))):
            out[:, labels] = products.product(A, products.transposed_times_sparse(self.X, self.Y[:, labels], A.dtype))
        return out


def solve_direct(X: Features, Y: sparse.csr_array, X_new: Features, reg_lambda: float) -> np.ndarray:
    """Scores of X_new (n×N) for one λ, without a factorisation that serves other λ; (n, L).

    By `DirectSolver`, which is for more than one λ and gives the same. Raises DataError as that does.
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
