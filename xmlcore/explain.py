"""Why this label: two exact decompositions of one score, by feature and by training instance.

By feature, s_l(x) = Σ_n x_n W_nl. By training instance, s_l(x) = Σ_i a_i(x) y_il: instance i casts one vote a_i(x) for
all of its labels, a(x) = X(G+λI)⁻¹x or (K+λI)⁻¹Xx in the dual. Both follow from W = (G+λI)⁻¹XᵀY. With propensity scores
both are θ_l times those. What is not among the largest terms is one more term, so that the bars add up to the score.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_array, as_floats, as_number, as_whole
from xmlcore.matrices import Features, as_labels, n_rows
from xmlcore.metrics import hits, make_ruler
from xmlcore.ridge import RidgeFactorization


@dataclass(frozen=True, eq=False)
class Explanation:
    """A score as a sum: score = Σ contribution + others.

    Attributes:
        score: the whole; of the weighted variant θ_l is in it, and in all of its terms.
        index: features or training instances with the largest contributions by absolute value, shape (m,), int64.
        contribution: what each adds to the score, shape (m,), float64.
        others: the sum of all other terms.
        n_others: how many other terms differ from zero.
    """

    score: float
    index: np.ndarray
    contribution: np.ndarray
    others: float
    n_others: int


def explain_by_feature(
    fac: RidgeFactorization, x: Features, label: int, reg_lambda: float, *, weight: float = 1.0, m: int = 10
) -> Explanation:
    """The m features with the largest x_n W_nl, and the rest. Only W's one column is formed.

    x: one instance, in the blocks of the training features (1×N); weight: θ_l for the weighted variant.
    Raises DataError for another number of rows or features, an unknown label, λ ≤ 0, m < 1 and a weight ≤ 0.
    """
    blocks = fac.as_features(x, "x")
    if n_rows(blocks) != 1:
        raise DataError(f"x has {n_rows(blocks)} rows; expected one instance")
    label = as_whole(label, "label", at_least=0, at_most=fac.n_labels - 1)
    W_l = fac.weights(reg_lambda, labels=slice(label, label + 1))[:, 0].astype(np.float64)
    features, values, offset = [], [], 0
    for block in blocks:
        row = sparse.coo_array(block)
        features.append(row.coords[1].astype(np.int64) + offset)
        values.append(row.data.astype(np.float64))
        offset += block.shape[1]
    index, x_n = np.concatenate(features), np.concatenate(values)
    index, x_n = index[x_n != 0], x_n[x_n != 0]  # a sparse row may store zeros
    return _largest(index, x_n * W_l[index], weight, m)


def explain_by_instance(
    votes: np.ndarray, Y_train: sparse.csr_array, label: int, *, weight: float = 1.0, m: int = 10
) -> Explanation:
    """The m training instances with the largest votes for the label, and the rest.

    votes: a(x), shape (D,), from `RidgeFactorization.votes`: the same for all labels of one instance and one λ.
    Y_train: D×L in {0,1}. weight: θ_l for the weighted variant.
    Raises DataError for votes of another length, an unknown label, m < 1 and a weight ≤ 0.
    """
    Y_train = as_labels(Y_train, "Y_train")
    votes = as_floats(votes, "votes")
    if votes.shape != (Y_train.shape[0],):
        raise DataError(f"votes has shape {votes.shape}; expected one vote for each of {Y_train.shape[0]} instances")
    if not np.isfinite(votes).all():
        raise DataError("votes holds values that are not finite; expected votes as RidgeFactorization.votes gives them")
    label = as_whole(label, "label", at_least=0, at_most=Y_train.shape[1] - 1)
    voters = np.repeat(np.arange(Y_train.shape[0]), np.diff(Y_train.indptr))[Y_train.indices == label]
    return _largest(voters, votes[voters], weight, m)


@dataclass(frozen=True, eq=False)
class MissingLabels:
    """Wrong predictions, those with the strongest support first: labels that may be missing from the data.

    Attributes:
        row: the evaluated row, shape (n,), int64.
        label: the label that was predicted and is not among the row's labels, shape (n,), int64.
        support: Σ_i a_i y_il, the unweighted score, shape (n,): 1 is what a model that fits perfectly gives a label
            that is there.
    """

    row: np.ndarray
    label: np.ndarray
    support: np.ndarray


def missing_labels(top: np.ndarray, scores: np.ndarray, Y: sparse.csr_array, n: int = 50) -> MissingLabels:
    """The n wrong predictions that the training votes support most: the very reason for propensities.

    top: (rows, K) ranked labels, of either variant, -1 for none; scores: (rows, L) unweighted; Y: rows×L in {0,1}.
    Raises DataError for shapes that do not fit each other and n < 1.
    """
    ruler = make_ruler(Y, None, 1)
    n = as_whole(n, "n", at_least=1)
    top, scores = as_array(top, "top"), as_array(scores, "scores")
    if scores.shape != ruler.Y.shape:
        raise DataError(f"scores has shape {scores.shape}; expected that of Y, {ruler.Y.shape}")
    row, place = np.nonzero(~hits(top, ruler) & (top >= 0))
    label = top[row, place].astype(np.int64)
    support = scores[row, label]
    order = np.argsort(-support, kind="stable")[:n]
    return MissingLabels(row[order], label[order], support[order])


def _largest(index: np.ndarray, terms: np.ndarray, weight: float, m: int) -> Explanation:
    m, weight = as_whole(m, "m", at_least=1), as_number(weight, "weight", above=0)
    terms = terms * weight
    order = np.lexsort((index, -np.abs(terms)))
    shown, rest = order[:m], terms[order[m:]]
    # math.fsum is exact but for one rounding: the parts add up to the whole whatever their number.
    return Explanation(
        score=math.fsum(terms),
        index=index[shown],
        contribution=terms[shown],
        others=math.fsum(rest),
        n_others=int(np.count_nonzero(rest)),
    )
