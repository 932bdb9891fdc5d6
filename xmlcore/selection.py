"""Choosing λ, A and B: the path over λ on test rows and held out, the search over all three, and its frontier.

Results are yielded one by one, in the order of the λ that are given (`nearest_first` puts those near the current one
first), so that a page can show what is there and fill in the rest. Held-out ones come together: one pass makes all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_floats, as_indices, as_list, as_number, as_whole, check_reg_lambda
from xmlcore.dataset import Dataset, as_groups, take_instances
from xmlcore.evaluation import (
    Evaluation,
    blocks_with_features,
    check_labels,
    check_rows,
    cut_ks,
    evaluate,
    evaluate_ranking,
    evaluate_rankings,
    metric_ruler,
    scores_of_rows,
)
from xmlcore.leaveout import held_out_scores
from xmlcore.matrices import Features, as_labels, as_mask
from xmlcore.progress import Progress, unheard
from xmlcore.propensity import inverse_propensity as propensity_weights
from xmlcore.ranking import top_k_both, top_k_weighted
from xmlcore.ridge import RidgeFactorization


def lambda_grid(low: float, high: float, n: int = 25) -> np.ndarray:
    """n values of λ from low to high, both included, at equal steps of their logarithm, ascending, shape (n,).

    Raises DataError unless 0 < low ≤ high and n ≥ 1; n = 1 gives the geometric mean.
    """
    low, high = check_reg_lambda(low, "low"), check_reg_lambda(high, "high")
    n = as_whole(n, "n", at_least=1)
    if low > high:
        raise DataError(f"low is {low} and high {high}; expected low ≤ high")
    grid = np.geomspace(low, high, n) if n > 1 else np.array([np.sqrt(low) * np.sqrt(high)])
    return np.sort(np.clip(grid, low, high))  # rounding leaves that, and the order where both are near each other


def nearest_first(lambdas: Iterable[float], current: float) -> list[float]:
    """The values of λ, each once, the nearest to the current one first, by the logarithm.

    Raises DataError for a λ that is not above 0.
    """
    current = check_reg_lambda(current)
    return sorted(_distinct(lambdas), key=lambda value: abs(np.log(value) - np.log(current)))


def _distinct(lambdas: Iterable[float]) -> list[float]:
    return list(dict.fromkeys(map(check_reg_lambda, as_list(lambdas, "lambdas"))))


def lambda_path(
    fac: RidgeFactorization,
    P: np.ndarray,
    Y: sparse.csr_array,
    lambdas: Iterable[float],
    inverse_propensity: np.ndarray,
    metric_inverse_propensity: np.ndarray,
    ks: Sequence[int] = (1, 3, 5),
    *,
    exclude: sparse.csr_array | None = None,
    X_new: Features | None = None,
    memory_budget: int | None = None,
) -> Iterator[Evaluation]:
    """`evaluate` for each λ, both variants at the same λ, in the order in which they are given; for equal ones once.

    Arguments, and what is raised, as in `evaluation.evaluate`.
    """
    for reg_lambda in _distinct(lambdas):
        yield evaluate(
            fac,
            P,
            Y,
            reg_lambda,
            inverse_propensity,
            metric_inverse_propensity,
            ks,
            exclude=exclude,
            X_new=X_new,
            memory_budget=memory_budget,
        )


def held_out_path(
    fac: RidgeFactorization,
    lambdas: Iterable[float],
    inverse_propensity: np.ndarray,
    metric_inverse_propensity: np.ndarray,
    ks: Sequence[int] = (1, 3, 5),
    *,
    groups: np.ndarray | None = None,
    rows: np.ndarray | None = None,
    exclude: sparse.csr_array | None = None,
    progress: Progress = unheard,
) -> Iterator[Evaluation]:
    """The path over λ on training rows, each scored by a model trained without it, or without its family; exact.

    groups: a number for each of the D training rows, equal within a family; None leaves out single rows. rows:
    ascending indices of the training rows to evaluate (`leaveout.sample_families` draws whole families); all by
    default, and the tops are in their order. All λ share one pass over the rows and come out together at its end.
    exclude: pairs masked before ranking, D×L. progress: told the fraction of the pass that is done.

    Raises DataError as `evaluation.evaluate` and `leaveout.held_out_scores` do.
    """
    rows = np.arange(fac.n_train) if rows is None else as_indices(rows, fac.n_train, "rows")
    if not rows.size or (np.diff(rows) <= 0).any():
        raise DataError(f"rows has {rows.size} indices; expected at least one, ascending and each once")
    exclude = as_mask(exclude, fac.Y_train.shape)
    values = _distinct(lambdas)
    ruler = metric_ruler(fac.Y_train[rows], metric_inverse_propensity, cut_ks(ks, fac.n_labels)[-1])
    tops = {value: np.empty((2, rows.size, ruler.k_max), dtype=np.int32) for value in values}
    done = 0
    for held in held_out_scores(fac, values, groups=groups, rows=rows):
        mask = None if exclude is None else exclude[held.rows]
        places = np.searchsorted(rows, held.rows)
        tops[held.reg_lambda][:, places] = top_k_both(held.scores, inverse_propensity, ruler.k_max, mask)
        done += held.rows.size
        progress("held-out rows", done / (rows.size * len(values)))
    for value, (top, top_ps) in tops.items():
        yield evaluate_rankings(top, top_ps, ruler, ks, reg_lambda=value, reg_lambda_ps=value)


@dataclass(frozen=True, eq=False)
class Setting:
    """The weighted variant at one λ, A and B; at A = 0 all labels weigh the same, which is plain XML-ridge.

    Attributes:
        reg_lambda, A, B: the setting.
        metrics: as in `VariantResult`.
    """

    reg_lambda: float
    A: float
    B: float
    metrics: Mapping[str, Mapping[int, float]]


def search_settings(
    fac: RidgeFactorization,
    P: np.ndarray,
    Y: sparse.csr_array,
    lambdas: Iterable[float],
    A_values: Sequence[float],
    B_values: Sequence[float],
    label_counts: np.ndarray,
    metric_inverse_propensity: np.ndarray,
    ks: Sequence[int] = (1, 3, 5),
    *,
    exclude: sparse.csr_array | None = None,
    X_new: Features | None = None,
    memory_budget: int | None = None,
) -> Iterator[Setting]:
    """The weighted variant at every combination of λ, A and B; one product for each λ, however many A and B.

    The rest, and what is raised, as in `evaluation.evaluate` and `propensity.inverse_propensity`.
    """
    Y = as_labels(Y)
    ks = cut_ks(ks, Y.shape[1])
    check_labels(Y, fac.n_labels)
    P, exclude = check_rows(P, Y.shape, exclude)
    ruler = metric_ruler(Y, metric_inverse_propensity, ks[-1])
    pairs = product(as_list(A_values, "A_values"), as_list(B_values, "B_values"))
    weights = {(A, B): propensity_weights(label_counts, A, B, n_train=fac.n_train) for A, B in pairs}
    for reg_lambda in _distinct(lambdas):
        tops = {pair: np.empty((Y.shape[0], ks[-1]), dtype=np.int32) for pair in weights}
        for rows, X in blocks_with_features(fac, P, X_new, memory_budget):
            scores = scores_of_rows(fac, P[rows], reg_lambda, X)
            mask = None if exclude is None else exclude[rows]
            for pair, theta in weights.items():
                tops[pair][rows] = top_k_weighted(scores, theta, ks[-1], mask)
            del scores  # before those of the next rows are made
        for (A, B), top in tops.items():
            yield Setting(reg_lambda, A, B, evaluate_ranking(top, ruler, ks).metrics)


def frontier(precision: Sequence[float], psprecision: Sequence[float]) -> np.ndarray:
    """The points that no other beats in one metric without losing in the other: indices by rising precision.

    precision, psprecision: P@K and PSP@K of each point, shape (points,). Of equal points the first is kept.

    Raises DataError for other shapes, and for what is no number: NaN is beaten by nothing.
    """
    p, psp = as_floats(precision, "precision"), as_floats(psprecision, "psprecision")
    if p.shape != psp.shape or p.ndim != 1:
        raise DataError(
            f"precision has shape {p.shape} and psprecision {psp.shape}; expected one number for each point"
        )
    if np.isnan(p).any() or np.isnan(psp).any():
        raise DataError("precision or psprecision holds NaN; expected numbers")
    kept: list[int] = []
    for point in np.lexsort((-psp, -p)):
        if not kept or psp[point] > psp[kept[-1]]:
            kept.append(int(point))
    return np.array(kept[::-1], dtype=np.int64)


def validation_split(ds: Dataset, share: float = 0.1, seed: int = 0) -> Dataset:
    """The training instances of ds, split for tuning as in the paper: `share` of them, drawn by seed, are the test set.

    Families (`train_groups`) are never torn apart: as many whole families are drawn as come nearest to the share.
    Features stay as they are (their vocabulary and IDF saw all rows), and PSP is measured with the label frequencies of
    all training instances of ds.

    Raises DataError for a share outside (0, 1) and where one of the two sides would be empty.
    """
    share, seed = as_number(share, "share", above=0, below=1), as_whole(seed, "seed", at_least=0)
    named = np.arange(ds.n_train) if ds.train_groups is None else ds.train_groups
    groups = as_groups(named, ds.n_train, "train_groups")
    order = np.random.default_rng(seed).permutation(int(groups.max(initial=-1)) + 1)
    sizes = np.bincount(groups, minlength=order.size)[order]
    # The families whose middle lies within the share: the nearest to it, whichever side a large one falls.
    drawn = np.zeros(order.size, dtype=bool)
    drawn[order[np.cumsum(sizes) - sizes / 2 <= share * ds.n_train]] = True
    held_out = drawn[groups]
    if held_out.all() or not held_out.any():
        raise DataError(
            f"share is {share}; of {ds.n_train} instances in {order.size} families it leaves one side empty"
        )
    everything = replace(
        ds,
        X_test=ds.X_train,
        Y_test=ds.Y_train,
        test_names=ds.train_names,
        test_texts=ds.train_texts,
        test_filter=ds.train_filter,
    )
    return take_instances(everything, train=np.flatnonzero(~held_out), test=np.flatnonzero(held_out))
