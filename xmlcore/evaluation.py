"""The one hot loop: blocks of scores → top K of both variants → metrics and per-label hits.

XML-ridge ranks by s, XML-ridge with propensity scores by s·θ. Where both use one λ they share one product. Nothing of
size rows×L is formed whole unless it fits the memory budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_array, as_whole, check_reg_lambda
from xmlcore.matrices import Features, as_mask
from xmlcore.memory import as_memory_budget
from xmlcore.metrics import Ruler, hits, make_ruler, measure
from xmlcore.products import chunks
from xmlcore.ranking import top_k, top_k_both, top_k_weighted
from xmlcore.ridge import RidgeFactorization

if TYPE_CHECKING:
    from xmlcore.streaming import StreamedFactorization


@dataclass(frozen=True, eq=False)
class VariantResult:
    """What one variant ranked first, and what that is worth.

    Attributes:
        top: (rows, max K) label indices, best first, -1 for no label, int32.
        metrics: {"precision": {1: …, 3: …}, "psprecision", "ndcg", "psndcg", "recall", "coverage"}, fractions.
        label_hits: (len(ks), L), int64: in how many rows each label was rightly among the K first.
    """

    top: np.ndarray
    metrics: Mapping[str, Mapping[int, float]]
    label_hits: np.ndarray


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Both variants on the same rows.

    Attributes:
        ks: the values of K, ascending, cut to the number of labels.
        reg_lambda, reg_lambda_ps: λ of XML-ridge and of XML-ridge with PS; None for scores from elsewhere.
        n_rows: instances evaluated.
        rows_scored_zero: how many of them score 0 everywhere, as rows without features do: they rank labels 0…K−1.
            0 where only rankings are known.
        psprecision_best: Σ_i best_iK, the denominator of PSP@K, for each K.
        ridge, ps: the results.
    """

    ks: tuple[int, ...]
    reg_lambda: float | None
    reg_lambda_ps: float | None
    n_rows: int
    rows_scored_zero: int
    psprecision_best: Mapping[int, float]
    ridge: VariantResult
    ps: VariantResult


def evaluate(
    fac: RidgeFactorization,
    P: np.ndarray,
    Y: sparse.csr_array,
    reg_lambda: float,
    inverse_propensity: np.ndarray,
    metric_inverse_propensity: np.ndarray,
    ks: Sequence[int] = (1, 3, 5),
    *,
    reg_lambda_ps: float | None = None,
    exclude: sparse.csr_array | None = None,
    X_new: Features | None = None,
    memory_budget: int | None = None,
) -> Evaluation:
    """Every metric at every K, the top K and per-label hits, of both variants at λ.

    P: (rows, r') from `fac.project`; Y: rows×L in {0,1}. inverse_propensity: θ (L,) with which the model weights its
    labels; metric_inverse_propensity: θ (L,) with which PSP and PSnDCG measure, from the full training set with the
    data set's own A and B, so that the ruler stays still while A and B move. reg_lambda_ps: λ of the weighted variant
    where it has its own. exclude: pairs (row, label) masked before ranking, rows×L. X_new: the features of which P is
    the projection; with them, all rows are scored by way of W where that takes less (`RidgeFactorization.scores_of`).
    memory_budget: bytes that a block of scores with what it needs may take; a quarter of the free memory by default. In
    the primal without Q, XᵀY is made in parts within half of the factorisation's own budget.

    Raises DataError for shapes that do not fit, λ ≤ 0, K < 1, and scores that are not finite.
    """
    ruler = metric_ruler(Y, metric_inverse_propensity, max(_whole(ks)))
    check_labels(ruler.Y, fac.n_labels)
    P, exclude = check_rows(P, ruler.Y.shape, exclude)
    penalties = as_penalties(reg_lambda, reg_lambda_ps)
    top, top_ps, n_zero = rank_projected(
        fac, P, penalties, inverse_propensity, ruler.k_max, exclude, memory_budget, X_new
    )
    return evaluate_rankings(
        top, top_ps, ruler, ks, reg_lambda=penalties[0], reg_lambda_ps=penalties[1], rows_scored_zero=n_zero
    )


def evaluate_scores(
    scores: np.ndarray,
    Y: sparse.csr_array,
    inverse_propensity: np.ndarray,
    metric_inverse_propensity: np.ndarray,
    ks: Sequence[int] = (1, 3, 5),
    *,
    scores_ps: np.ndarray | None = None,
    exclude: sparse.csr_array | None = None,
    reg_lambda: float | None = None,
    reg_lambda_ps: float | None = None,
) -> Evaluation:
    """`evaluate` from scores (rows, L) in memory: a new A, B or K costs a ranking and no product.

    scores_ps: unweighted scores of the weighted variant, where it has its own λ. reg_lambda, reg_lambda_ps: passed on
    to the result. The rest, and what is raised, as in `evaluate`.
    """
    ruler = metric_ruler(Y, metric_inverse_propensity, max(_whole(ks)))
    _require_shape(scores, "scores", ruler)
    if scores_ps is None:
        reg_lambda_ps = reg_lambda if reg_lambda_ps is None else reg_lambda_ps
    else:
        _require_shape(scores_ps, "scores_ps", ruler)
    top, top_ps = rank_variants(scores, scores_ps, inverse_propensity, ruler.k_max, exclude)
    return evaluate_rankings(
        top,
        top_ps,
        ruler,
        ks,
        reg_lambda=reg_lambda,
        reg_lambda_ps=reg_lambda_ps,
        rows_scored_zero=zero_rows(np.asarray(scores)),
    )


def as_penalties(reg_lambda: float, reg_lambda_ps: float | None) -> tuple[float, float]:
    """λ of XML-ridge and of XML-ridge with PS, which is the same where that is None. Raises DataError, naming the
    argument, for one that is not above 0."""
    penalty = check_reg_lambda(reg_lambda)
    return penalty, penalty if reg_lambda_ps is None else check_reg_lambda(reg_lambda_ps, "reg_lambda_ps")


def rank_variants(
    scores: np.ndarray,
    scores_ps: np.ndarray | None,
    inverse_propensity: np.ndarray,
    k: int,
    exclude: sparse.csr_array | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """`ranking.top_k_both` where the weighted variant may have scores of its own, from another λ, or None."""
    if scores_ps is None:
        return top_k_both(scores, inverse_propensity, k, exclude)
    return top_k(scores, k, exclude), top_k_weighted(scores_ps, inverse_propensity, k, exclude)


def rank_projected(
    fac: RidgeFactorization | StreamedFactorization,
    P: np.ndarray,
    penalties: tuple[float, float],
    inverse_propensity: np.ndarray,
    k: int,
    exclude: sparse.csr_array | None,
    memory_budget: int | None,
    X_new: Features | None = None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """The k best labels of projected rows by both variants, (rows, k) each, and how many rows score 0 everywhere.

    penalties: λ of XML-ridge and of XML-ridge with PS. Block by block: the scores are never whole beyond the budget,
    and no two blocks are held at once.
    X_new: as in `evaluate`.
    """
    top = np.empty((P.shape[0], k), dtype=np.int32)
    top_ps = np.empty_like(top)
    n_zero = 0
    for rows, X in blocks_with_features(fac, P, X_new, memory_budget):
        mask = None if exclude is None else exclude[rows]
        scores = scores_of_rows(fac, P[rows], penalties[0], X)
        n_zero += zero_rows(scores)
        if penalties[0] == penalties[1]:
            top[rows], top_ps[rows] = top_k_both(scores, inverse_propensity, k, mask)
        else:
            top[rows] = top_k(scores, k, mask)
            del scores  # before those at the other λ are made
            scores = scores_of_rows(fac, P[rows], penalties[1], X)
            top_ps[rows] = top_k_weighted(scores, inverse_propensity, k, mask)
        del scores  # before those of the next rows are made
    return top, top_ps, n_zero


def scores_of_rows(
    fac: RidgeFactorization | StreamedFactorization, P: np.ndarray, reg_lambda: float, X_new: Features | None
) -> np.ndarray:
    """Scores of projected rows, (rows, L); X_new: the features of these rows, or None."""
    return fac.scores(P, reg_lambda) if X_new is None else fac.scores_of(X_new, P, reg_lambda)


def zero_rows(scores: np.ndarray) -> int:
    """How many rows hold zeros only."""
    suspects = np.flatnonzero(~scores[:, :8].any(axis=1))  # nearly none: the whole is not read for the others
    return int(np.count_nonzero(~scores[suspects].any(axis=1)))


def evaluate_rankings(
    top: np.ndarray,
    top_ps: np.ndarray,
    ruler: Ruler,
    ks: Sequence[int],
    *,
    reg_lambda: float | None,
    reg_lambda_ps: float | None,
    rows_scored_zero: int = 0,
) -> Evaluation:
    """The evaluation of two rankings (rows, ≥ max K) of the ruler's rows, however they came about."""
    ks = cut_ks(ks, ruler.Y.shape[1])
    ridge, ps = (evaluate_ranking(each, ruler, ks) for each in (top, top_ps))
    best = {k: float(ruler.best[k - 1]) for k in ks}
    return Evaluation(ks, reg_lambda, reg_lambda_ps, ruler.Y.shape[0], rows_scored_zero, best, ridge, ps)


def evaluate_ranking(top: np.ndarray, ruler: Ruler, ks: Sequence[int] = (1, 3, 5)) -> VariantResult:
    """Metrics and per-label hits of one ranking (rows, ≥ max K), also another system's; rows shorter end in -1.

    Raises DataError for a top of fewer than max K columns or as `metrics.hits` does, K < 1, and a ruler of a lower K.
    """
    ks, top = cut_ks(ks, ruler.Y.shape[1]), as_array(top, "top")
    found = hits(top, ruler)
    if top.shape[1] < ks[-1] or ruler.k_max < ks[-1]:
        raise DataError(
            f"top has {top.shape[1]} columns and the ruler reaches {ruler.k_max}; expected at least {ks[-1]}"
        )
    label_hits = np.stack([np.bincount(top[:, :k][found[:, :k]], minlength=ruler.Y.shape[1]) for k in ks])
    return VariantResult(top, measure(top, found, ruler, ks), label_hits.astype(np.int64))


def cut_ks(ks: Sequence[int], n_labels: int) -> tuple[int, ...]:
    """The values of K ascending, each once, cut to the number of labels. Raises DataError for none and for K < 1."""
    return tuple(sorted({min(k, n_labels) for k in _whole(ks)}))


def row_blocks(
    n_rows: int, fac: RidgeFactorization | StreamedFactorization, memory_budget: int | None
) -> Iterator[slice]:
    """Slices of rows whose scores (L) and what these are made of (twice r) fit the budget, one block at a time.

    memory_budget: bytes; by default a quarter of the free memory.
    """
    budget, inner = as_memory_budget(memory_budget), 2 * fac.eigenvectors.shape[0]
    if fac.Q is None and fac.form == "primal":
        budget, inner = budget // 2, 3 * inner  # the other half is for XᵀY; three factors are of float64
    return chunks(n_rows, budget // (4 * (fac.n_labels + inner)))


def blocks_with_features(
    fac: RidgeFactorization | StreamedFactorization, P: np.ndarray, X_new: Features | None, memory_budget: int | None
) -> Iterator[tuple[slice, Features | None]]:
    """The `row_blocks` of P, each with the features to score it from, which are X_new where one block holds all rows.

    A W for each of several blocks would cost more than it saves, and a StreamedFactorization has none: None for these,
    and where W does not fit the budget beside the scores.
    """
    n = P.shape[0]
    fits = 4 * fac.n_labels * (fac.eigenvectors.shape[0] + n) <= as_memory_budget(memory_budget)
    for rows in row_blocks(n, fac, memory_budget):
        whole = rows.stop - rows.start == n
        yield rows, X_new if whole and fits and isinstance(fac, RidgeFactorization) else None


def check_labels(Y: sparse.csr_array, n_labels: int) -> None:
    """Raises DataError where Y has other labels than so many."""
    if Y.shape[1] != n_labels:
        raise DataError(f"Y has {Y.shape[1]} labels; expected {n_labels}, as in training")


def check_rows(
    P: np.ndarray, shape: tuple[int, int], exclude: sparse.csr_array | None
) -> tuple[np.ndarray, sparse.csr_array | None]:
    """P as an array, the mask as CSR. Raises DataError where P or the mask is not of the rows of Y, whose shape it is,
    or the mask not of its labels."""
    P = as_array(P, "P")
    if P.ndim != 2 or P.shape[0] != shape[0]:
        raise DataError(f"P has shape {P.shape} and Y {tuple(shape)}; expected a row of P for each of Y")
    return P, as_mask(exclude, shape)


def metric_ruler(Y: sparse.csr_array, metric_inverse_propensity: np.ndarray, k_max: int) -> Ruler:
    """`make_ruler` with all six metrics: raises DataError where θ is None, too."""
    if metric_inverse_propensity is None:
        raise DataError("metric_inverse_propensity is None; expected a weight for each label: ones where all are equal")
    return make_ruler(Y, metric_inverse_propensity, k_max)


def _whole(ks: Sequence[int]) -> list[int]:
    if as_array(ks, "ks").ndim != 1 or len(ks) == 0:
        raise DataError(f"ks is {ks!r}; expected a sequence of at least one K")
    return [as_whole(k, "ks", at_least=1) for k in ks]


def _require_shape(scores: object, name: str, ruler: Ruler) -> None:
    shape = as_array(scores, name).shape
    if shape != ruler.Y.shape:
        raise DataError(f"{name} has shape {shape} and Y {ruler.Y.shape}; expected the same")
