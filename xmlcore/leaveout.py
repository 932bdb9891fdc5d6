"""Held-out scores of the training rows themselves, exact for every λ, one row or one family of rows at a time.

A ridge model's fitted scores are F = H Y with H(λ) = Z diag(1/(σ+λ)) Zᵀ, Z = XV, in the primal and
U diag(σ/(σ+λ)) Uᵀ in the dual. Let g be the rows left out and S_g what the model trained without them gives them.
That model does not change when the rows are put back with S_g as their labels, for they then fit it perfectly:

    S_g = F_g + H_gg (S_g − Y_g),   so   Y_g − S_g = (I − H_gg)⁻¹ (Y_g − F_g);
    for a single row i, with h_i = H_ii,   s_il = (f_il − h_i y_il) / (1 − h_i).

Nothing is retrained. What stays as fitted on all rows is what was computed before the ridge regression: vocabulary,
IDF, a projection, θ. A label with a single training instance can never be hit. Instances that come in families need the
group form: a row alone is easy to predict from its brothers, and the estimate flatters.

H is the same matrix written as P diag(1/(σ+λ)) Rᵀ: P = R = Z in the primal, P = U diag(σ) and R = U in the dual.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from xmlcore.dataset import DataError
from xmlcore.linalg import check_reg_lambda

if TYPE_CHECKING:
    from xmlcore.ridge import RidgeFactorization


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of training rows from models that were trained without them, or without their families.

    Attributes:
        rows: which training rows, shape (n,), int64.
        reg_lambda: the λ of all of them.
        scores: shape (n, L), float32.
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
    rows named are given back. A block's share of Z is computed once, and a block is as large as the factorisation's
    memory budget allows, so nothing of size D×L is ever whole. Rows come out family by family, small families first.

    Raises DataError for a λ that is not above 0, rows out of range, or `groups` of another length.
    """
    reg_lambdas = [check_reg_lambda(reg_lambda) for reg_lambda in reg_lambdas]
    wanted = np.zeros(fac.n_train, bool)
    wanted[slice(None) if rows is None else _check_rows(rows, fac.n_train)] = True
    family = _families(groups, fac.n_train)
    for block, sizes in _blocks(np.unique(family[wanted]), family, _rows_at_once(fac)):
        kept = wanted[block]
        P, R = fac.training_factors(block)
        labels = fac.Y_train[block].toarray()
        batches = list(_batches(P, R, sizes))
        for reg_lambda in reg_lambdas:
            scores = fac.scores(P, reg_lambda)
            residuals = np.subtract(labels, scores, out=scores)
            _leave_out(residuals, batches, 1 / (fac.eigenvalues + reg_lambda))
            scores = np.subtract(labels, residuals, out=residuals)
            yield HeldOut(block[kept], reg_lambda, scores if kept.all() else scores[kept])


def scores_left_out(
    fac: RidgeFactorization, reg_lambda: float, groups: np.ndarray | None, rows: slice | np.ndarray
) -> np.ndarray:
    """Held-out scores of the given training rows in the order given, (rows, L), float32; whole, so choose few rows."""
    asked = np.arange(fac.n_train)[rows] if isinstance(rows, slice) else _check_rows(rows, fac.n_train)
    chosen, places = np.unique(asked, return_inverse=True)
    out = np.empty((chosen.size, fac.n_labels), np.float32)
    for held in held_out_scores(fac, [reg_lambda], groups=groups, rows=chosen):
        out[np.searchsorted(chosen, held.rows)] = held.scores
    return out if np.array_equal(chosen, asked) else out[places]


def sample_families(groups: np.ndarray | None, n_train: int, n_rows: int, seed: int = 0) -> np.ndarray:
    """A seeded sample of whole families, or of rows where `groups` is None, with at least `n_rows` rows; sorted.

    All rows where the training set has no more. An estimate on a sample of families is an estimate for all rows.
    """
    family = _families(groups, n_train)
    sizes = np.bincount(family)
    order = np.random.default_rng(seed).permutation(sizes.size)
    enough = int(np.searchsorted(np.cumsum(sizes[order]), min(n_rows, n_train))) + 1
    chosen = np.zeros(sizes.size, bool)
    chosen[order[:enough]] = True
    return np.flatnonzero(chosen[family])


def _check_rows(rows: np.ndarray, n_train: int) -> np.ndarray:
    rows = np.asarray(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise DataError(f"rows has type {rows.dtype} and shape {rows.shape}; expected a list of training row numbers")
    if rows.size and not (rows.min() >= 0 and rows.max() < n_train):
        raise DataError(f"rows names {rows.min()} to {rows.max()}; expected numbers from 0 to {n_train - 1}")
    return rows


def _families(groups: np.ndarray | None, n_train: int) -> np.ndarray:
    """A number from 0 up for each training row, the same within a family."""
    if groups is None:
        return np.arange(n_train)
    if np.shape(groups) != (n_train,):
        raise DataError(f"groups has shape {np.shape(groups)}; expected one entry for each of {n_train} training rows")
    return np.unique(groups, return_inverse=True)[1]


def _rows_at_once(fac: RidgeFactorization) -> int:
    each = 24 * fac.eigenvalues.size + 28 * fac.n_labels + (4 * fac.n_train if fac.Q is None else 0)
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


@dataclass(frozen=True, eq=False)
class _Batch:
    """Families of one size within a block: where their rows are, and their parts of P and R, (families, size, r')."""

    rows: slice
    P: np.ndarray
    R: np.ndarray


def _batches(P: np.ndarray, R: np.ndarray, sizes: np.ndarray) -> Iterator[_Batch]:
    start = 0
    for size, families in zip(*np.unique(sizes, return_counts=True), strict=True):
        rows = slice(start, start + size * families)
        start = rows.stop
        yield _Batch(rows, *(part[rows].astype(np.float64).reshape(families, size, part.shape[1]) for part in (P, R)))


def _leave_out(residuals: np.ndarray, batches: list[_Batch], shrink: np.ndarray) -> None:
    """Turn the residuals Y − F of each batch into (I − H_gg)⁻¹ (Y_g − F_g), in place, solved in float64."""
    for batch in batches:
        families, size, _ = batch.P.shape
        if size == 1:
            leverage = np.einsum("gij,gij,j->g", batch.P, batch.R, shrink)
            residuals[batch.rows] /= (1 - leverage)[:, None]
            continue
        H = (batch.P * shrink) @ batch.R.transpose(0, 2, 1)
        ours = residuals[batch.rows].reshape(families, size, -1)
        residuals[batch.rows] = np.linalg.solve(np.eye(size) - H, ours).reshape(families * size, -1)
