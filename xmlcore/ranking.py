"""The K best labels of each row of a block of scores, for plain and for weighted scores in one pass.

A row is read once. Its labels are dealt to about √(K L) lanes; the maximum of each is a vectorised reduction, for s and
for s·θ. The K best labels lie in the lanes whose maxima reach the K-th largest maximum: a lane below that bound is
beaten by K labels. So all but about K lanes are never looked at again, whatever the order of the scores.

The loops are written out where numpy has a call, and what they work in is made outside: numba takes seconds to compile
some of these calls (for a slice set to a slice, the code that words its error), which a first visitor would wait for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_array, as_indices, as_whole
from xmlcore.compiled import compiled
from xmlcore.matrices import as_mask
from xmlcore.products import over_rows
from xmlcore.propensity import as_weights


def top_k(scores: np.ndarray, k: int, exclude: sparse.csr_array | None = None) -> np.ndarray:
    """The labels of the k highest scores of each row, best first, shape (rows, min(k, L)), int32.

    scores: (rows, L), float32 or float64 (other numbers are read as float64). Ties go to the lower label index.
    exclude: pairs (row, label) that must not be ranked, as a sparse matrix of the scores' shape, or None. A row with
    fewer than k labels left ends in -1, which stands for no label.

    Raises DataError for NaN or infinity in scores, k < 1 and shapes that do not fit.
    """
    scores = _as_scores(scores)
    top = np.full((scores.shape[0], _cut(k, scores.shape[1])), -1, dtype=np.int32)
    _rank(scores, np.empty(0), exclude, top, top[:, :0])
    return top


def top_k_weighted(
    scores: np.ndarray, inverse_propensity: np.ndarray, k: int, exclude: sparse.csr_array | None = None
) -> np.ndarray:
    """`top_k` of scores·θ, without making the product; arguments as in `top_k_both`."""
    scores = _as_scores(scores)
    theta = as_weights(inverse_propensity, scores.shape[1])
    top = np.full((scores.shape[0], _cut(k, scores.shape[1])), -1, dtype=np.int32)
    _rank(scores, theta, exclude, top[:, :0], top)
    return top


def top_k_both(
    scores: np.ndarray, inverse_propensity: np.ndarray, k: int, exclude: sparse.csr_array | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """`top_k` of scores and of scores·θ in one pass: two arrays of shape (rows, min(k, L)), int32.

    inverse_propensity: θ, shape (L,), finite and above 0. The products are float64, also those of float32 scores, just
    as numpy forms them from a float64 θ: the second result equals `top_k(scores * inverse_propensity, k)`.

    Raises DataError as `top_k` does, and for a θ that is not finite and above 0.
    """
    scores = _as_scores(scores)
    theta = as_weights(inverse_propensity, scores.shape[1])
    top = np.full((scores.shape[0], _cut(k, scores.shape[1])), -1, dtype=np.int32)
    top_ps = top.copy()
    _rank(scores, theta, exclude, top, top_ps)
    return top, top_ps


def best_of_blocks(labels: Sequence[np.ndarray], values: Sequence[np.ndarray], k: int) -> tuple[np.ndarray, np.ndarray]:
    """The K best labels of each row and what they are ranked by, of the best that blocks of labels gave.

    labels, values: for each block (rows, any) label indices and their values. Blocks come by rising labels: the sort is
    stable, so ties go to the lower label.
    """
    found, ranked_by = np.hstack(labels), np.hstack(values)
    order = np.argsort(-ranked_by, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(ranked_by, order, axis=1)


def label_ranks(scores: np.ndarray, labels: np.ndarray, masked: np.ndarray | None = None) -> np.ndarray:
    """At which place each of the labels stands among the scores of one row, 1 for the best, shape (labels,), int64.

    scores: (L,), weighted already where the weighted ranking is meant. Ties go to the lower label index, as in `top_k`.
    masked: label indices that are not ranked and so do not count, or None.

    Raises DataError for scores of another shape or not finite, and labels outside of 0…L−1.
    """
    scores = as_array(scores, "scores")
    if scores.ndim != 1:
        raise DataError(f"scores has shape {scores.shape}; expected one row")
    if not np.isfinite(scores).all():
        raise DataError(f"scores holds {scores[~np.isfinite(scores)][0]}; expected finite numbers")
    labels = as_indices(labels, scores.size, "labels")
    ranked = np.ones(scores.size, dtype=bool)
    ranked[as_indices([] if masked is None else masked, scores.size, "masked")] = False
    index = np.arange(scores.size)
    ranks = np.empty(labels.size, dtype=np.int64)
    for place, label in enumerate(labels):
        ahead = (scores > scores[label]) | ((scores == scores[label]) & (index < label))
        ranks[place] = 1 + np.count_nonzero(ahead & ranked)
    return ranks


def warm_up() -> None:
    """Compile the loops, or load them from numba's cache, so that the first answer does not wait for it."""
    for dtype in (np.float32, np.float64):
        top_k_both(np.zeros((1, 1), dtype=dtype), np.ones(1), 1)


def _as_scores(scores: np.ndarray) -> np.ndarray:
    if sparse.issparse(scores):
        raise DataError("scores is sparse; expected an array, in which every label has its score")
    scores = as_array(scores, "scores")
    if scores.ndim != 2:
        raise DataError(f"scores has shape {scores.shape}; expected two dimensions, rows and labels")
    if scores.shape[1] == 0:
        raise DataError(f"scores has shape {scores.shape}; expected at least one label")
    if scores.dtype not in (np.float32, np.float64):
        if not (np.issubdtype(scores.dtype, np.number) or scores.dtype == bool) or np.iscomplexobj(scores):
            raise DataError(f"scores holds {scores.dtype}; expected real numbers")
        scores = scores.astype(np.float64)
    # A read-only view always: numba would compile again for the other kind.
    scores = np.ascontiguousarray(scores).view()
    scores.flags.writeable = False
    return scores


def _cut(k: int, n_labels: int) -> int:
    return min(as_whole(k, "k", at_least=1), n_labels)


def _rank(
    scores: np.ndarray, theta: np.ndarray, exclude: sparse.csr_array | None, top: np.ndarray, top_ps: np.ndarray
) -> None:
    """Fill top with the best labels by score, top_ps with the best by score·θ; one without columns is left out."""
    rows = scores.shape[0]
    if exclude is None:
        pointers, masked = np.zeros(rows + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    else:
        exclude = as_mask(exclude, scores.shape, of="scores")
        pointers = exclude.indptr.astype(np.int64)
        masked = exclude.indices.astype(np.int32)

    # A sweep ends with one look at each lane, a selection looks into about K of them: their sum is least at √(K L).
    n_labels, k = scores.shape[1], max(top.shape[1], top_ps.shape[1])
    lanes = min(n_labels, 16 * math.ceil(math.sqrt(k * n_labels) / 16))
    no_theta = theta[:0]

    def rank_piece(start: int, stop: int) -> int:
        piece = slice(start, stop)
        pairs = pointers[start : stop + 1]
        kept = k + int(np.diff(pairs).max(initial=0))
        work = (
            np.full(n_labels, -1, dtype=np.int32),
            np.empty(lanes, dtype=scores.dtype),
            np.empty(lanes),
            np.empty(lanes),
            np.empty(lanes, dtype=scores.dtype),
            np.empty(kept),
            np.empty(kept, dtype=np.int32),
        )
        bad = _rank_rows(scores[piece], theta, no_theta, pairs, masked, top[piece], top_ps[piece], *work)
        return start + bad if bad >= 0 else -1

    bad_rows = [row for row in over_rows(rank_piece, rows, scores.size) if row >= 0]
    if bad_rows:
        row = bad_rows[0]
        label = int(np.argmin(np.isfinite(scores[row])))
        if np.isfinite(scores[row, label]):
            raise DataError(f"scores times inverse_propensity overflows in row {row}; expected smaller numbers")
        raise DataError(f"scores holds {scores[row, label]} in row {row}, label {label}; expected finite numbers")


@compiled
def _sweep(row, theta, maxima, maxima_ps, nought):
    """The largest score and product of each lane; False where a score is NaN or infinite, or a product overflows."""
    lanes = maxima.size
    zero = row.dtype.type(0)
    for j in range(lanes):
        maxima[j] = -np.inf
        maxima_ps[j] = -np.inf
        nought[j] = zero
    for start in range(0, row.size, lanes):
        part = row[start : start + lanes]
        for j in range(part.size):
            score = part[j]
            maxima[j] = score if score > maxima[j] else maxima[j]
            nought[j] += score * zero  # NaN for ever once a score was NaN or infinite
        if theta.size > 0:
            weights = theta[start : start + lanes]
            for j in range(part.size):
                product = part[j] * weights[j]
                maxima_ps[j] = product if product > maxima_ps[j] else maxima_ps[j]
    finite = True
    for j in range(lanes):
        finite &= nought[j] == zero and maxima_ps[j] < np.inf
    return finite


@compiled
def _insert(value, label, values, labels, k):
    """Keep the pair among the k best: values fall, and equal values go by rising label."""
    place = k
    while place > 0 and (value > values[place - 1] or (value == values[place - 1] and label < labels[place - 1])):
        place -= 1
        if place + 1 < k:
            values[place + 1] = values[place]
            labels[place + 1] = labels[place]
    if place < k:
        values[place] = value
        labels[place] = label


@compiled
def _select(row, theta, maxima, wanted, mask, mark, values, labels, best):
    """Fill best with the labels of the highest scores, or products where theta is given, whose mask is not mark.

    wanted: how many lane maxima secure the result: as many as labels, and one more for each masked label.
    """
    k, lanes = best.size, maxima.size
    bound = -np.inf
    if wanted <= lanes:
        for j in range(wanted):
            values[j] = -np.inf
        for lane in range(lanes):
            if maxima[lane] > values[wanted - 1]:
                _insert(maxima[lane], lane, values, labels, wanted)
        bound = values[wanted - 1]
    for j in range(k):
        values[j] = -np.inf
        labels[j] = -1
    last = -np.inf  # the least value kept
    for lane in range(lanes):
        # The first label of a lane is its number: with a maximum that only equals the last kept, it must be lower.
        if maxima[lane] < bound or maxima[lane] < last or (maxima[lane] == last and lane > labels[k - 1]):
            continue
        for label in range(lane, row.size, lanes):
            value = row[label] * theta[label] if theta.size > 0 else np.float64(row[label])
            if value >= last and mask[label] != mark:
                _insert(value, label, values, labels, k)
                last = values[k - 1]
    for j in range(k):
        best[j] = labels[j]


@compiled
def _rank_rows(
    scores, theta, no_theta, pointers, masked, top, top_ps, mask, maxima, wide, maxima_ps, nought, values, labels
):
    """Rank every row; returns the first that holds NaN, infinity or an overflowing product, else -1.

    mask and what follows is worked in. wide: of one type with maxima_ps, so that a selection is compiled once.
    """
    k = max(top.shape[1], top_ps.shape[1])
    for i in range(scores.shape[0]):
        if not _sweep(scores[i], theta, maxima, maxima_ps, nought):
            return i
        for at in range(pointers[i], pointers[i + 1]):
            mask[masked[at]] = i
        n_masked = pointers[i + 1] - pointers[i]
        wanted = k + n_masked
        if top.shape[1] > 0:
            for lane in range(maxima.size):
                wide[lane] = maxima[lane]
            _select(scores[i], no_theta, wide, wanted, mask, i, values, labels, top[i])
        if top_ps.shape[1] > 0:
            _select(scores[i], theta, maxima_ps, wanted, mask, i, values, labels, top_ps[i])
            ranked = min(top_ps.shape[1], scores.shape[1] - n_masked)
            if ranked > 0 and top_ps[i, ranked - 1] < 0:
                return i  # a product of -inf would have had the place
    return -1
