"""Held-out scores of the training rows themselves, for every λ, one row or one family of rows at a time.

A ridge model's fitted scores are F = H Y with H(λ) = Z diag(1/(σ+λ)) Zᵀ, Z = XV, in the primal and
U diag(σ/(σ+λ)) Uᵀ in the dual. Let g be the rows left out and S_g what the model trained without them gives them.
That model does not change when the rows are put back with S_g as their labels, for they then fit it perfectly:

    S_g = F_g + H_gg (S_g − Y_g),   so   Y_g − S_g = (I − H_gg)⁻¹ (Y_g − F_g);
    S_g = (I − H_gg)⁻¹ (F_g − H_gg Y_g);   for a single row i, with h_i = H_ii,   s_il = (f_il − h_i y_il) / (1 − h_i).

Where λ is small, H_gg nears I and F nears Y. In the dual neither difference need be taken: with M = (K + λI)⁻¹

    I − H = λM,   Y − F = λMY,   so   Y_g − S_g = M_gg⁻¹ (MY)_g,
    M = U diag(1/(σ+λ)) Uᵀ + U₀U₀ᵀ/λ,   U₀ the null directions of K.

Nothing is retrained. What stays as fitted on all rows is what was computed before the ridge regression: vocabulary,
IDF, a projection, θ. A label with a single training instance scores 0 for it, and is hit by chance at best. Instances
that come in families need the group form: a row alone is easy to predict from its brothers, and the estimate flatters.

The second is used in the dual up to λ = σ_max; from there on h_i ≤ 1/2, and the first loses nothing.

Exact in theory, these round as follows, with u = 6e-8 for float32, in which factors are stored.
- In the dual, a single row's scores are right to a few u times the size of Y for every λ that the factorisation
  resolves (above r · 2e-16 · σ_max), after a float32 decomposition to 5e-5 of the scores at 1e-6 σ_max.
- In the dual a family's scores lose in proportion to the condition number of M_gg, which is at most (κ + λ)/λ, κ being
  the largest eigenvalue of K_gg. It is large for near-duplicates, and for all rows where K itself is nearly singular:
  at λ = 1e-6 σ_max, families of near-duplicates came to 3e-5 of the scores, all rows at once to 0.004 where 0 is true.
- In the primal errors are about u / (1 − h), h being the largest eigenvalue of H_gg. It nears 1 where λ is small and
  nothing but the rows left out is known in some direction. For a family of all rows 1 − h = λ/(σ_max + λ): 0.03 where
  0 is true at λ = 1e-6 σ_max.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from xmlcore import products
from xmlcore.checks import DataError, as_indices, as_list, as_whole, check_reg_lambda
from xmlcore.dataset import as_groups
from xmlcore.matrices import take_rows

if TYPE_CHECKING:
    from xmlcore.ridge import RidgeFactorization


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of training rows from models that were trained without them, or without their families.

    Attributes:
        rows: which training rows, shape (n,), int64.
        reg_lambda: the λ of all of them.
        scores: shape (n, L), float32; float64 where float32 could not hold them, as `RidgeFactorization.scores`.
    """

    rows: np.ndarray
    reg_lambda: float
    scores: np.ndarray


def held_out_scores(
    fac: RidgeFactorization,
    reg_lambdas: Sequence[float],
    *,
    groups: np.ndarray | None = None,
    rows: np.ndarray | None = None,
) -> Iterator[HeldOut]:
    """Held-out scores for many λ: a block of rows at a time, and for that block every λ in the order given.

    Leave-one-out, or leave-group-out where `groups` has an entry for each of the D training rows. `rows` (indices,
    each at most once) names the rows that are wanted, default all; whole families are computed for them, and only the
    rows named are given back. A block's share of Z is computed once, and a block has as many whole families as the
    factorisation's memory budget allows, but at least one: a family of all rows takes arrays of D×L and D×r'. Rows come
    out family by family, small families first.

    Raises DataError for a λ that is not above 0 or too small to leave rows out, rows out of range, or `groups` of
    another length or with entries that are missing.
    """
    reg_lambdas = list(map(check_reg_lambda, as_list(reg_lambdas, "reg_lambdas")))
    wanted = np.zeros(fac.n_train, bool)
    wanted[slice(None) if rows is None else as_indices(rows, fac.n_train, "rows")] = True
    family = _families(groups, fac.n_train)
    null_labels = _null_labels(fac)
    for block, sizes in _blocks(np.unique(family[wanted]), family, _rows_at_once(fac)):
        kept = wanted[block]
        Z = _factor(fac, block)
        labels = fac.Y_train[block].toarray()
        null_part = None if null_labels is None else null_labels(block)
        batches = list(_batches(Z, None if null_labels is None else fac.null[block], sizes))
        for reg_lambda in reg_lambdas:
            # From σ_max up h is at most 1/2, and S follows from F without losing digits to Y.
            if null_labels is None or reg_lambda >= fac.eigenvalues[-1]:
                scores = _from_fitted(fac, reg_lambda, Z, batches, labels)
            else:
                scores = _from_inverse(fac, reg_lambda, Z, batches, labels, null_part)
            yield HeldOut(block[kept], reg_lambda, scores if kept.all() else scores[kept])


def scores_left_out(
    fac: RidgeFactorization, reg_lambda: float, groups: np.ndarray | None, rows: slice | np.ndarray
) -> np.ndarray:
    """Held-out scores of the given training rows in the order given, (rows, L), float32; whole, so choose few rows.

    Raises DataError as `held_out_scores` does.
    """
    asked = np.arange(fac.n_train)[rows] if isinstance(rows, slice) else as_indices(rows, fac.n_train, "rows")
    chosen, places = np.unique(asked, return_inverse=True)
    out = np.zeros((chosen.size, fac.n_labels), np.float32)
    for held in held_out_scores(fac, [reg_lambda], groups=groups, rows=chosen):
        out = out.astype(np.promote_types(out.dtype, held.scores.dtype), copy=False)  # float64 at a λ of 1e46, say
        out[np.searchsorted(chosen, held.rows)] = held.scores
    return out if np.array_equal(chosen, asked) else out[places]


def sample_families(groups: np.ndarray | None, n_train: int, n_rows: int, seed: int = 0) -> np.ndarray:
    """A seeded sample of whole families, or of rows where `groups` is None, with at least `n_rows` rows; sorted.

    All rows where the training set has no more. An estimate on a sample of families is an estimate for all rows.

    Raises DataError for n_rows < 1, a seed below 0, and groups as `held_out_scores` does.
    """
    n_rows, seed = as_whole(n_rows, "n_rows", at_least=1), as_whole(seed, "seed", at_least=0)
    family = _families(groups, n_train)
    sizes = np.bincount(family)
    order = np.random.default_rng(seed).permutation(sizes.size)
    enough = int(np.searchsorted(np.cumsum(sizes[order]), min(n_rows, n_train))) + 1
    chosen = np.zeros(sizes.size, bool)
    chosen[order[:enough]] = True
    return np.flatnonzero(chosen[family])


def _families(groups: np.ndarray | None, n_train: int) -> np.ndarray:
    """A number from 0 up for each training row, the same within a family."""
    if groups is None:
        return np.arange(n_train)
    return as_groups(groups, n_train)


def _rows_at_once(fac: RidgeFactorization) -> int:
    each = 24 * fac.eigenvalues.size + 28 * fac.n_labels + (4 * fac.n_train if fac.Q is None else 0)
    each += 0 if fac.null is None else 12 * fac.null.shape[1] + 4 * fac.n_labels
    return max(1, min(2_048, fac.memory_budget // each))


def _blocks(chosen: np.ndarray, family: np.ndarray, rows_at_once: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of whole families: their rows, family by family, and the families' sizes in ascending order."""
    counts = np.bincount(family)
    by_family = np.argsort(family, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)])
    chosen = chosen[np.argsort(counts[chosen], kind="stable")]
    first = 0
    while first < chosen.size:
        sizes = counts[chosen[first : first + rows_at_once]]
        taken = max(1, int(np.searchsorted(np.cumsum(sizes), rows_at_once, side="right")))
        members = [by_family[starts[one] : starts[one + 1]] for one in chosen[first : first + taken]]
        yield np.concatenate(members), sizes[:taken]
        first += taken


def _factor(fac: RidgeFactorization, rows: np.ndarray) -> np.ndarray:
    """Z or U of training rows, (rows, r'), float32."""
    if fac.form == "primal":
        return fac.project(take_rows(fac.X_train, rows))
    return fac.eigenvectors[rows]


def _null_labels(fac: RidgeFactorization) -> Callable[[np.ndarray], np.ndarray | None] | None:
    """A function of rows that gives their part of U₀U₀ᵀY, (rows, L), float32, or None where K has no null directions.

    None instead of it in the primal, or where the null directions were not kept: `_from_inverse` needs them.
    """
    if fac.null is None:
        return None
    if not fac.null.shape[1]:
        return lambda rows: None
    if fac.Q is None or 4 * fac.null.shape[1] * fac.n_labels > fac.memory_budget:
        by_column = fac.Y_train.tocsc()
        return lambda rows: products.times_sparse(fac.null[rows] @ fac.null.T, by_column)
    coefficients = products.times_sparse(fac.null.T, fac.Y_train)
    return lambda rows: fac.null[rows] @ coefficients


@dataclass(frozen=True, eq=False)
class _Batch:
    """Families of one size within a block.

    Attributes:
        rows: where their rows are.
        Z: their part of Z or U, (families, size, r'), float64; squared where size is 1.
        null: U₀U₀ᵀ within each, (families, size, size), float64, or 0.
    """

    rows: slice
    Z: np.ndarray
    null: np.ndarray | float

    def within(self, weights: np.ndarray) -> np.ndarray:
        """Z_g diag(weights) Z_gᵀ of each family, (families, size, size)."""
        if self.Z.shape[1] == 1:
            return (self.Z @ weights)[:, :, None]
        return (self.Z * weights) @ self.Z.transpose(0, 2, 1)


def _batches(Z: np.ndarray, null: np.ndarray | None, sizes: np.ndarray) -> Iterator[_Batch]:
    start = 0
    for size, families in zip(*np.unique(sizes, return_counts=True), strict=True):
        rows = slice(start, start + size * families)
        start = rows.stop
        own = Z[rows].astype(np.float64).reshape(families, size, -1)
        square = 0.0
        if null is not None and null.shape[1]:
            own_null = null[rows].astype(np.float64).reshape(families, size, -1)
            square = own_null @ own_null.transpose(0, 2, 1)
        yield _Batch(rows, np.square(own, out=own) if size == 1 else own, square)


def _from_fitted(
    fac: RidgeFactorization, reg_lambda: float, Z: np.ndarray, batches: list[_Batch], labels: np.ndarray
) -> np.ndarray:
    """S_g = (I − H_gg)⁻¹ (F_g − H_gg Y_g), solved in float64."""
    shrink = 1 / (fac.eigenvalues + reg_lambda)
    if fac.form == "dual":
        shrink *= fac.eigenvalues
    scores = fac.weighted_scores(Z, shrink)
    for batch in batches:
        H = batch.within(shrink)
        ours, theirs = scores[batch.rows], labels[batch.rows]
        if H.shape[1] == 1:
            ours -= H[:, 0].astype(ours.dtype) * theirs  # float64 where float32 could not hold the scores
        else:
            ours -= (H @ theirs.reshape(*H.shape[:2], -1)).reshape(ours.shape)
        _divide(np.eye(H.shape[1]) - H, ours, reg_lambda)
    return scores


def _from_inverse(
    fac: RidgeFactorization,
    reg_lambda: float,
    U: np.ndarray,
    batches: list[_Batch],
    labels: np.ndarray,
    null_part: np.ndarray | None,
) -> np.ndarray:
    """S_g = Y_g − M_gg⁻¹ (MY)_g, solved in float64; `null_part` is U₀U₀ᵀY of the rows.

    M is taken times a number that makes its largest eigenvalue 1.
    """
    smallest = reg_lambda if null_part is not None else fac.eigenvalues[0] + reg_lambda
    shrink = smallest / (fac.eigenvalues + reg_lambda)
    scores = fac.weighted_scores(U, shrink)
    if null_part is not None:
        scores += null_part
    for batch in batches:
        _divide(batch.within(shrink) + batch.null, scores[batch.rows], reg_lambda)
    return np.subtract(labels, scores, out=scores).astype(np.float32, copy=False)


def _divide(A: np.ndarray, B: np.ndarray, reg_lambda: float) -> None:
    """B ← A⁻¹B in place, family by family: A positive definite (families, size, size), B (families·size, L).

    Raises DataError where an A is singular, or a single row's is not above 0.
    """
    families, size, _ = A.shape
    try:
        if size > 1:
            B[:] = np.linalg.solve(A, B.reshape(families, size, -1)).reshape(B.shape)
        elif A.min() > 0:
            B /= A[:, 0].astype(B.dtype)
        else:
            raise np.linalg.LinAlgError
    except np.linalg.LinAlgError as error:
        raise DataError(
            f"reg_lambda is {reg_lambda:g}, too small to leave out rows that nothing else resembles in some direction"
        ) from error
