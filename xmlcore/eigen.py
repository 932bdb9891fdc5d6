"""The eigendecomposition of a Gram matrix, and where rounding in it would show.

In float32 the error of every pair is proportional to the largest eigenvalue that is decomposed, a few 1e-7 of it. Two
steps in float64 keep that from the scores, on both sides of the decomposition:
- before it, up to three eigenvalues of K, which is summed in float64, that stand out are found, and lowered to twice
  the next one: K − Σ_i (σ_i − 2σ_next) u_i u_iᵀ has the same eigenvectors, and is then rounded;
- after it, the pairs of small eigenvalues are refined, in which near-duplicates and empty rows show. A direction v that
  should be null comes out with components of large ones, whose products with new rows are then divided by λ alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import eigsh

from xmlcore.checks import DataError
from xmlcore.lapack import symmetric_eigen
from xmlcore.products import chunks

FLOAT64_LIMIT = 5_000
"""Matrices up to this size are decomposed in float64: a few seconds, and exact where float32 is not."""

LARGEST_SIZE = 32_766
"""LAPACK's divide-and-conquer driver wants 1 + 6r + 2r² numbers of workspace, counted in 32 bits."""

FLOAT32_CUT = 3e-7
"""In float32, eigenvalues up to this share of the largest that was decomposed are rounding noise around zero."""

LEAST_LOWERED = 1e-9
"""Eigenvalues that stand out are lowered to no less than this share of the largest: above the rounding of float64."""

SMALL = 1e-3
"""Eigenvalues up to this share of the largest that was decomposed are refined after float32."""

_WIDENED = 128  # columns or rows that are converted to float64 at a time


def gram_dtype(size: int) -> type:
    """The precision in which a Gram matrix of this size is decomposed, and solved for one λ."""
    return np.float64 if size <= FLOAT64_LIMIT else np.float32


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenpairs of a Gram matrix of size r, in ascending order, null directions apart.

    Attributes:
        values: σ, shape (r',), float64, all positive.
        vectors: shape (r, r'), float32, columns of unit length.
        leading: shape (r, k), float64: the last k vectors, those whose eigenvalues stand out, k from 0 to 3.
        null: shape (r, r − r'), float32, columns of unit length: the directions whose eigenvalue counts as 0.
    """

    values: np.ndarray
    vectors: np.ndarray
    leading: np.ndarray
    null: np.ndarray


def prepared(K: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    """K (r×r, float64) in the precision in which it is decomposed, and in float32 the eigenpairs that were lowered.

    Up to FLOAT64_LIMIT K is given back as it is, else a float32 matrix in which what stands out is lowered: K stays.
    """
    return (K, None) if gram_dtype(K.shape[0]) == np.float64 else lowered(K)


def eigenpairs(
    K: np.ndarray,
    lowered: tuple[np.ndarray, np.ndarray] | None = None,
    times: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Eigenpairs:
    """The eigenpairs of a symmetric K (r×r, C-contiguous), which is overwritten, with what `prepared` lowered in it.

    times: gives K V in float64 for V (r×k, float64) without K, as X(XᵀV) does. A decomposition in float32 is refined
    with it: see the module; without it, it is not.

    Raises DataError where K is zero.
    """
    if not K.any():
        raise DataError("X holds only zeros; expected at least one feature that is not zero")
    sigma, V = symmetric_eigen(K)
    sigma = sigma.astype(np.float64)
    largest = sigma[-1]
    if lowered is None:
        sigma[sigma <= _rounding(sigma)] = 0  # else a null direction would stand out among its like
        leading = np.ascontiguousarray(V[:, sigma.size - outstanding(sigma) :], dtype=np.float64)
    else:
        values, leading = lowered
        sigma[sigma.size - values.size :] = values
        V[:, sigma.size - values.size :] = leading
        for columns in chunks(sigma.size - values.size, 512):
            V[:, columns] = _without(leading, V[:, columns].astype(np.float64))
    if V.dtype == np.float32:
        if times is not None:
            _refine_small(sigma, V, largest, lambda S: _without(leading, times(_without(leading, S))))
        else:
            sigma[sigma <= FLOAT32_CUT * largest] = 0
    # Directions in which two near-duplicate rows differ have tiny eigenvalues, and matter: only what is below the
    # rounding error of float64 goes.
    first = int(np.searchsorted(sigma, _rounding(sigma), side="right"))
    vectors, null = V[:, first:], V[:, :first]  # large in float32: views, not copies
    if V.dtype == np.float64:
        vectors, null = (part.astype(np.float32, order="C") for part in (vectors, null))
    return Eigenpairs(sigma[first:], vectors, leading, null)


def _without(leading: np.ndarray, V: np.ndarray) -> np.ndarray:
    """V (r×k, float64) less its components in `leading` (r×l): where these are huge, float32 keeps nothing else."""
    return V - leading @ (leading.T @ V)


def _rounding(sigma: np.ndarray) -> float:
    """Up to where the eigenvalues of a matrix (r,), ascending, may be rounding errors of float64 around 0."""
    return sigma.size * np.finfo(np.float64).eps * sigma[-1]


def lowered(K: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """A float32 copy of K (r×r, float64, r > 4) with what stands out lowered, and those eigenpairs, ascending."""
    start = np.random.default_rng(0).standard_normal(K.shape[0])
    values, vectors = eigsh(K, k=4, v0=start, tol=1e-10)
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    # Of a matrix of rank 1 or 2 the others are rounding errors around 0, some of which would stand out among the rest.
    values[values < K.shape[0] * np.finfo(np.float64).eps * values[-1]] = 0
    leading = outstanding(values)
    # They stay the largest, also where all others are null.
    target = max(2 * values[-leading - 1], LEAST_LOWERED * values[-1])
    values, vectors = values[4 - leading :], vectors[:, 4 - leading :]
    scaled = vectors * (values - target)
    out = np.empty(K.shape, np.float32)
    for rows in chunks(K.shape[0], 512):
        out[rows] = K[rows] - scaled[rows] @ vectors.T
    return out, (values, vectors)


def _refine_small(sigma: np.ndarray, V: np.ndarray, largest: float, times: Callable[[np.ndarray], np.ndarray]) -> None:
    """Refines the pairs of (sigma, V) with small eigenvalues, in place, and sets to 0 what is noise around zero.

    One step of first order against every larger direction b: with the residual r = Kv − σv, in float64, v loses
    u_b (u_bᵀr)/(σ_b − σ), after Ogita and Aishima (2018), whose formula holds for vectors that are not quite
    orthogonal too. Then the small ones among themselves are decomposed anew (Rayleigh–Ritz).
    """
    size = sigma.size
    count = int(np.searchsorted(sigma, SMALL * largest))
    if not count:
        return
    for columns in chunks(count, _WIDENED):
        small = V[:, columns].astype(np.float64)
        residual = times(small)
        values = np.einsum("ij,ij->j", small, residual)
        residual = (residual - small * values).astype(np.float32)  # corrections need few digits
        for part in chunks(size - count):
            larger = slice(count + part.start, count + part.stop)
            gap = sigma[larger, None] - values
            near = gap < 0.1 * SMALL * largest  # too near each other for a first order, and λ hardly tells them apart
            components = np.where(near, 0, V[:, larger].T @ residual) / np.where(near, 1, gap)
            small -= V[:, larger] @ components.astype(np.float32)
        V[:, columns] = small
    # In float64 while that takes no more memory than the decomposition did. In float32 it is exact to SMALL times what
    # the decomposition was.
    dtype = np.float64 if 3 * count**2 <= size**2 else np.float32
    S = V[:, :count]
    # (SᵀS)^(−1/2) ≈ 1.5 I − SᵀS/2 makes S orthonormal, which it nearly is.
    _turn(S, 1.5 * np.eye(count, dtype=dtype) - _inner(S, dtype) / 2)
    values, turn = symmetric_eigen(_inner(S, dtype, times))
    values = values.astype(np.float64)
    if dtype == np.float32:
        values[values <= FLOAT32_CUT * values[-1]] = 0
    _turn(S, turn)
    sigma[:count] = np.clip(values, 0, sigma[count])


def _inner(S: np.ndarray, dtype: type, times: Callable[[np.ndarray], np.ndarray] = np.asarray) -> np.ndarray:
    """SᵀS (k×k), or SᵀKS where `times` multiplies by K: summed in float64, of type dtype."""
    out = np.empty((S.shape[1], S.shape[1]), dtype)
    for columns in chunks(S.shape[1], _WIDENED):
        right = times(S[:, columns].astype(np.float64))
        for rows in chunks(columns.stop, _WIDENED):
            out[rows, columns] = S[:, rows].astype(np.float64).T @ right
            out[columns, rows] = out[rows, columns].T
    return out


def _turn(S: np.ndarray, T: np.ndarray) -> None:
    """S ← S T, in place."""
    for rows in chunks(S.shape[0], _WIDENED):
        S[rows] = S[rows].astype(T.dtype) @ T


def outstanding(values: np.ndarray) -> int:
    """How many of the three largest eigenvalues, ascending, are worth splitting off: those before the last fall to less
    than half."""
    ranks = range(1, min(4, len(values)))
    return max((count for count in ranks if values[-count] > 2 * values[-count - 1]), default=0)


def smallest_reliable_lambda(values: np.ndarray, size: int, leading: int) -> float:
    """Below this λ rounding may show in a ranking, given the largest eigenvalues (ascending) of a matrix of size r.

    Errors grow with σ/λ, where σ is the largest after the `leading` ones, which are handled in float64, and where the
    data has near-duplicates. Measured on Bibtex in the dual: at this λ the scores are right to 1e-6 in float64, 5e-5
    in float32; there to 1e-3 where most rows are near-duplicates.
    """
    share = 1e-6 if gram_dtype(size) == np.float64 else 3e-5
    rest = float(values[-1 - leading]) if leading < len(values) else 0.0
    return max(share * rest, 1e-13 * float(values[-1]))
