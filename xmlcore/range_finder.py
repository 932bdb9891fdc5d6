"""Truncated SVD of a very large sparse X (D×N), working on the side of its D rows, in bounded memory.

With Z of D×k, k a little above the rank that is wanted, and `passes` rounds of subspace iteration:

    Z ← an orthonormal basis of X(XᵀZ) − αZ
    ZᵀXXᵀZ = R diag(s²) Rᵀ,   U = ZR
    features of the training rows U diag(s),   of new rows X_new (Xᵀ U) / s = X_new V

The first line is the range finder of Halko, Martinsson and Tropp (SIAM Review 2011), the second Rayleigh–Ritz. The
shift α makes each pass count for more (Feng and Yu, dashSVD, 2024): eigenvectors of XXᵀ stay as they are, and with α up
to half of the smallest eigenvalue that is wanted, the unwanted ones, from 0 to that, come out at most α large. The
singular values of X(XᵀZ) − αZ are at most those eigenvalues less α, which gives the next α.

Nothing of N×k is ever whole: XᵀZ and XᵀU come in blocks of columns. Whole are X twice (by rows and by columns) and one
array of D×k in float32. Bases are made orthonormal by the Cholesky factor of the small ZᵀZ in float64, which needs no
second array and keeps each direction apart from the larger ones before it. Columns of X(XᵀZ) are as long as the squares
of singular values, so each is brought to length 1 first: else those below 1e-3 of the largest would look like rounding
noise. What is noise all the same starts again at random, and the next pass finds what this one could not tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from xmlcore import products
from xmlcore.checks import DataError, as_whole
from xmlcore.inputs import as_projection
from xmlcore.lapack import cholesky_factor, cholesky_solve_factored, symmetric_eigen
from xmlcore.linalg import check_scale, gram
from xmlcore.matrices import as_one_block
from xmlcore.progress import Progress, unheard

BLOCK_BYTES = 1 << 30  # of the larger of X(XᵀZ) and XᵀZ, for one block of columns: the wider, the faster
_ROWS = 4_096
# What is rounding noise of float32: squared lengths of a direction of Z, whose columns have length 1, and squared
# singular values relative to the largest.
_NOISE = 1e-12
_MOST_TURNS = 6  # one or two do, unless Z is nearly square and has columns drawn at random
_FAR_ABOVE = 30  # times the smallest singular value: from here on rounding in a direction shows in the small ones


@dataclass(frozen=True, eq=False)
class RangeSVD:
    """A truncated SVD X ≈ U diag(s) Vᵀ; V is applied to new rows without being kept.

    Attributes:
        singular_values: s, shape (k,), float64, descending, all positive. k is the rank that was asked for, or X's own.
        features: U diag(s), shape (D, k), float32: the training rows' new features.
        X: the matrix itself, D×N, because V = XᵀU/s.
    """

    singular_values: np.ndarray
    features: np.ndarray
    X: sparse.csr_array

    def transform(self, X_new: sparse.csr_array, progress: Progress = unheard) -> np.ndarray:
        """X_new V, shape (rows, k), float32: new rows' features.

        Each call makes V anew, of the features that the rows have: so give many rows at once. Raises DataError for
        another number of features, and values that are not finite or too large.
        """
        X, X_new = self.X, _one_sparse_block(X_new, "X_new")
        if X_new.shape[1] != X.shape[1]:
            raise DataError(f"X_new has {X_new.shape[1]} features; expected {X.shape[1]}, as in training")
        used = np.unique(X_new.indices)
        if used.size < X.shape[1] // 2:
            X, X_new = X[:, used], X_new[:, used]
        by_column = X.T.tocsr()
        out = np.empty((X_new.shape[0], self.singular_values.size), np.float32)
        for columns in _column_blocks(out.shape[1], X.shape):
            V = products.multiply((by_column,), self._left(columns))
            with np.errstate(over="ignore", invalid="ignore"):  # refused below, by name
                out[:, columns] = products.multiply((X_new,), V)
            as_projection(out[:, columns])
            progress("features of the rows", columns.stop / out.shape[1])
        return out if self._upright is None else _times_in_place(out, self._upright)

    def _left(self, columns: slice) -> np.ndarray:
        """U/s: first, because X Xᵀ U s, of the third power of the values, would leave float32 at once."""
        return (self.features[:, columns] / np.square(self.singular_values[columns])).astype(np.float32)

    @cached_property
    def _upright(self) -> np.ndarray | None:
        """T (k×k) with which the columns of VT stand at right angles to the leading ones; None where none leads.

        U in float32 has a share of about 1e-8 of every other direction. In XᵀU/s that of direction j grows by s_j/s_i,
        and in new rows it stands beside a value that is smaller by s_i/s_j: small directions would drown in it.
        """
        s = self.singular_values
        m = int(np.count_nonzero(s > _FAR_ABOVE * s[-1]))
        if m == 0:
            return None
        H, by_column = np.empty((m, s.size)), self.X.T.tocsr()  # V_leadingᵀV
        for columns in _column_blocks(s.size, self.X.shape):
            V = products.multiply((by_column,), self._left(columns))
            H[:, columns] = _inner(self.features[:, :m], products.multiply((self.X,), V))
        H /= np.square(s[:m, None])
        upper = np.triu(H[:, :m])  # the lower half has the products of small directions with rounded large ones
        leading = np.linalg.inv(np.linalg.cholesky(upper + np.triu(upper, 1).T))
        T = np.eye(s.size)
        T[:m, :m] = leading.T
        T[:m, m:] = -leading.T @ (leading @ H[:, m:])
        return T


def truncated_svd(
    X: sparse.csr_array, rank: int, *, passes: int = 4, seed: int = 0, progress: Progress = unheard
) -> RangeSVD:
    """The leading `rank` singular triplets of a sparse X (D×N).

    passes: rounds of subspace iteration, each of two products with X. Directions with singular values well above the
    last one are exact after a few; among nearly equal ones at the end, which one is found hardly matters. Those below
    1e-6 of the largest are rounding noise, and left out.
    seed: of the random start. progress: called with a stage and the fraction of the whole that is done.

    Memory: 4 bytes for each of D×1.05 rank numbers, X twice, and about 3 GB. Raises DataError for an X that is not one
    sparse block or holds only zeros, values that are not finite, or values that float32 cannot square and sum; for
    1 ≤ rank ≤ min(D, N) not met, and passes < 1.
    """
    X = _one_sparse_block(X, "X")
    D, N = X.shape
    rank = as_whole(rank, "rank", at_least=1, at_most=min(D, N))
    passes, seed = as_whole(passes, "passes", at_least=1), as_whole(seed, "seed", at_least=0)
    if not X.data.any():
        raise DataError("X holds only zeros; expected at least one feature that is not zero")
    # A power of two that brings the largest eigenvalue of XXᵀ near 1, so that the small ones stay within float32.
    unit = 2.0 ** -round(np.log2(check_scale((X,), np.float32)))
    width = min(D, N, rank + max(10, rank // 20))  # a few more than wanted: the last directions come out too short
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((D, width), dtype=np.float32)
    by_column = X.T.tocsr()

    shift = 0.0
    for turn in range(passes):
        stage = f"pass {turn + 1} of {passes}"
        for columns in _column_blocks(Z.shape[1], X.shape):
            Z[:, columns] = _there_and_back(X, by_column, Z[:, columns], unit) - np.float32(shift) * Z[:, columns]
            progress(stage, (turn + columns.stop / Z.shape[1] / 2) / (passes + 1))
        Z, shortest = _orthonormal(Z, rng)
        progress(stage, (turn + 1) / (passes + 1))
        if turn > 0:  # the first Z was not orthonormal
            shift = max(shift, (shortest + shift) / 2)

    ritz = np.empty((Z.shape[1], Z.shape[1]))
    for columns in _column_blocks(Z.shape[1], X.shape):
        ritz[:, columns] = _inner(Z, _there_and_back(X, by_column, Z[:, columns], unit))
        progress("Rayleigh–Ritz", (passes + columns.stop / Z.shape[1] / 2) / (passes + 1))
    squares, R = symmetric_eigen((ritz + ritz.T) / 2)
    squares, R = squares[::-1][:rank], R[:, ::-1][:, :rank]
    found = int(np.count_nonzero(squares > _NOISE * squares[0]))
    s = np.sqrt(squares[:found] / unit)
    features = _times_in_place(Z, R[:, :found] * s)
    progress("Rayleigh–Ritz", 1.0)
    return RangeSVD(s, features, X)


def _one_sparse_block(X: sparse.csr_array, name: str) -> sparse.csr_array:
    block = as_one_block(X, name)
    if not sparse.issparse(block):
        raise DataError(f"{name} must be one sparse block; it is dense")
    return block


def _column_blocks(width: int, shape: tuple[int, int]):
    return products.chunks(width, max(1, BLOCK_BYTES // (4 * max(shape))))


def _there_and_back(X: sparse.csr_array, by_column: sparse.csr_array, part: np.ndarray, unit: float) -> np.ndarray:
    """X(Xᵀ part) times `unit` for some columns of Z."""
    return products.multiply((X,), products.multiply((by_column,), part * np.float32(unit)))


def _inner(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """AᵀB in float64 for two tall float32 matrices, a block of rows at a time."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for rows in products.chunks(A.shape[0], _ROWS):
        total += A[rows].T.astype(np.float64) @ B[rows].astype(np.float64)
    return total


def _orthonormal(Z: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """ZCL⁻ᵀ with CZᵀZC = LLᵀ, in the memory of Z: orthonormal, its first j columns spanning the first j of Z.

    C brings the columns of Z to length 1. Directions that are rounding noise become random ones, at right angles to all
    others. With it Z's smallest singular value, from below: 0 where it cannot be told from noise.

    A badly conditioned Z comes out orthonormal to about its condition number times float32's precision, and random
    columns as they were drawn: so it is done again until Z was nearly orthonormal before.
    """
    shortest = 0.0
    for turn in range(_MOST_TURNS):
        G = gram((Z,), of_rows=False, dtype=np.float64)
        lengths = np.sqrt(G.diagonal())
        lengths = np.maximum(lengths, 1e-15 * lengths.max())  # a column of zeros stays one
        scaled = G / lengths / lengths[:, None]
        least = _least(scaled)
        if turn == 0:
            shortest = max(_least(G), float(lengths.min()) * least)  # the second where columns differ much in length
        G = scaled
        G[np.diag_indices_from(G)] += _NOISE
        if not cholesky_factor(G):
            raise ArithmeticError(f"the Gram matrix of {Z.shape[1]} directions is not positive definite")
        L = np.tril(G)
        T = cholesky_solve_factored(G, L)  # (LLᵀ)⁻¹L, the inverse of Lᵀ
        noise = np.square(L.diagonal()) < 4 * _NOISE
        T[:, noise] = 0
        Z = _times_in_place(Z, np.triu(T) / lengths[:, None])
        for column in np.flatnonzero(noise):
            Z[:, column] = rng.standard_normal(Z.shape[0]) / np.sqrt(Z.shape[0])
        if least > 0.7:
            break
    return Z, shortest


def _least(G: np.ndarray) -> float:
    """The smallest singular value of a Z whose ZᵀZ is G, 0 where rounding noise may have made it."""
    squares = np.linalg.eigvalsh(G)
    return float(np.sqrt(squares[0])) if squares[0] > _NOISE * squares[-1] else 0.0


def _times_in_place(Z: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Z T for a square or narrower T, C-contiguous in the memory of Z, which is overwritten.

    Row i of the result ends where or before row i of Z ends, so no row is overwritten before it is read.
    """
    T = T.astype(np.float32)
    out = Z.reshape(-1)[: Z.shape[0] * T.shape[1]].reshape(Z.shape[0], T.shape[1])
    for rows in products.chunks(Z.shape[0], _ROWS):
        out[rows] = Z[rows] @ T
    return out
