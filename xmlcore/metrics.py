"""Six metrics of the K best labels, as functions of (top K, Y, K) and of θ where labels weigh differently.

With hit_ij = 1 where the j-th ranked label of instance i is relevant, n instances, n_i relevant labels of instance i:

    P@K      = Σ_i Σ_{j≤K} hit_ij / (K n)
    PSP@K    = Σ_i Σ_{j≤K} hit_ij θ / Σ_i best_iK,    best_iK = sum of the K largest θ among i's relevant labels
    nDCG@K   = mean_i [ Σ_{j≤K} hit_ij / log2(j+1) ] / c_i,    c_i = Σ_{j ≤ min(K, n_i)} 1/log2(j+1), 0 where n_i = 0
    PSnDCG@K = Σ_i (Σ_{j≤K} hit_ij θ / log2(j+1)) / c_i  /  Σ_i (the same of the best ranking) / c_i
    recall@K = mean_i hits_i / n_i (0 where n_i = 0)
    coverage@K = distinct labels hit / distinct labels among the relevant

as napkinXC and pyxclib compute them. All values are fractions in [0, 1]. K above the number of labels is cut to it.
In a ranking, -1 stands for no label and is never a hit; the labels of a row are distinct.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_array, as_whole
from xmlcore.compiled import compiled
from xmlcore.matrices import as_labels
from xmlcore.propensity import as_weights


@dataclass(frozen=True, eq=False)
class Ruler:
    """What the metrics need of the relevant labels and of θ: made once, laid on any number of rankings.

    Attributes:
        Y: relevant labels, n×L, CSR.
        n_relevant: n_i, shape (n,), int64.
        n_distinct: how many labels are relevant to some instance.
        k_max: the largest K that can be measured, at most L.
        inverse_propensity: θ of the metric, shape (L,), float64; None where no metric with θ is wanted.
        best: Σ_i best_iK for K = 1…k_max, shape (k_max,); None without θ.
        best_discounted: the denominator of PSnDCG@K for K = 1…k_max, shape (k_max,); None without θ.
    """

    Y: sparse.csr_array
    n_relevant: np.ndarray
    n_distinct: int
    k_max: int
    inverse_propensity: np.ndarray | None
    best: np.ndarray | None
    best_discounted: np.ndarray | None


def make_ruler(Y: sparse.csr_array, metric_inverse_propensity: np.ndarray | None, k_max: int) -> Ruler:
    """The ruler for rankings of Y's rows (n×L, values 0 and 1) up to K = min(k_max, L).

    Raises DataError for a Y without rows or with other values, k_max < 1, and a θ that does not fit.
    """
    Y = as_labels(Y)
    if 0 in Y.shape:
        raise DataError(f"Y has shape {Y.shape}; expected at least one instance and one label")
    k_max = min(as_whole(k_max, "k", at_least=1), Y.shape[1])
    theta = best = discounted = None
    if metric_inverse_propensity is not None:
        theta = as_weights(metric_inverse_propensity, Y.shape[1], "metric_inverse_propensity")
        best, discounted = _best_sums(Y, theta, k_max)
    return Ruler(Y, np.diff(Y.indptr).astype(np.int64), _distinct(Y.indices), k_max, theta, best, discounted)


def _best_sums(Y: sparse.csr_array, theta: np.ndarray, k_max: int) -> tuple[np.ndarray, np.ndarray]:
    """Σ_i best_iK, and the sum of the discounted best over c_i, for K = 1…k_max: two arrays of shape (k_max,)."""
    n_rows, n_labels = Y.shape
    by_weight = np.argsort(-theta)
    place = np.empty(n_labels, dtype=np.int64)
    place[by_weight] = np.arange(n_labels)
    n_relevant = np.diff(Y.indptr)
    ordered = np.sort(np.repeat(np.arange(n_rows), n_relevant) * n_labels + place[Y.indices])
    row, weight = ordered // n_labels, theta[by_weight[ordered % n_labels]]
    rank = np.arange(row.size) - Y.indptr[row]  # among its row's labels, from 0
    row, weight, rank = row[rank < k_max], weight[rank < k_max], rank[rank < k_max]

    gain = weight * discounts(k_max)[rank]
    ideal = np.cumsum(discounts(k_max))  # c_i where K or n_i is 1…k_max
    # A row with n_i ≤ K labels counts as a whole over the c_i of n_i; of the others the first K gains over that of K.
    short = np.flatnonzero((n_relevant > 0) & (n_relevant <= k_max))
    last = n_relevant[short] - 1
    whole = np.bincount(row, gain, minlength=n_rows)[short]
    ended = np.cumsum(np.bincount(last, whole, minlength=k_max))
    begun = np.cumsum(np.bincount(rank, gain, minlength=k_max)) - ended
    shares = np.cumsum(np.bincount(last, whole / ideal[last], minlength=k_max))
    return np.cumsum(np.bincount(rank, weight, minlength=k_max)), begun / ideal + shares


def hits(top: np.ndarray, ruler: Ruler) -> np.ndarray:
    """hit_ij: whether the j-th ranked label of row i is relevant; shape of top, bool.

    top: (n, K) label indices, best first, -1 for no label. Raises DataError where it does not fit the ruler.
    """
    top = as_array(top, "top")
    n, n_labels = ruler.Y.shape
    if top.ndim != 2 or top.shape[0] != n or not np.issubdtype(top.dtype, np.integer):
        raise DataError(f"top has shape {top.shape} and holds {top.dtype}; expected {n} rows of label indices")
    if top.size and not (top.min() >= -1 and top.max() < n_labels):
        wrong = int(top.max()) if top.max() >= n_labels else int(top.min())
        raise DataError(f"top holds label {wrong}; expected indices from 0 to {n_labels - 1}, or -1 for no label")
    found = np.zeros(top.shape, dtype=np.bool_)
    _find(_frozen(top, np.int32), _frozen(ruler.Y.indptr, np.int64), _frozen(ruler.Y.indices, np.int32), found)
    return found


def measure(top: np.ndarray, found: np.ndarray, ruler: Ruler, ks: tuple[int, ...]) -> dict[str, dict[int, float]]:
    """Every metric at every K: {"precision": {1: …, 3: …}, "psprecision": …, …}; those with θ only where it is there.

    top, found: a ranking and its `hits`, shape (n, ≥ max(ks)).
    """
    return {name: {k: _METRIC[name](top[:, :k], found[:, :k], ruler) for k in ks} for name in measured_metrics(ruler)}


def measured_metrics(ruler: Ruler) -> tuple[str, ...]:
    """The names of the metrics that the ruler measures: those with θ only where it has one."""
    return tuple(name for name in METRICS if ruler.inverse_propensity is not None or not name.startswith("ps"))


def precision_at_k(top: np.ndarray, Y: sparse.csr_array, k: int) -> float:
    """P@K: the share of the K first labels that are relevant. top: (n, ≥ K) label indices; Y: n×L in {0,1}.

    Raises DataError where top and Y do not fit each other, or top has fewer than min(K, L) columns; so do the others.
    """
    return _at_k("precision", top, Y, None, k)


def precision_ceiling(Y: sparse.csr_array, k: int) -> float:
    """P@K of a perfect ranking, mean_i min(K, n_i) / K: below 1 where instances have fewer than K labels; Y: n×L.

    Raises DataError as `make_ruler` does.
    """
    ruler = make_ruler(Y, None, k)
    return float(np.minimum(ruler.n_relevant, ruler.k_max).mean() / ruler.k_max)


def psprecision_at_k(
    top: np.ndarray, Y: sparse.csr_array, inverse_propensity: np.ndarray, k: int, normalize: bool = True
) -> float:
    """PSP@K: hits weighted by θ (L,), as a share of the best that is possible; arguments as in `precision_at_k`.

    normalize=False gives Σ hit θ / (K n) instead, as the paper prints it: not a fraction, may exceed 1.
    """
    ranking = _ranking("psprecision", top, Y, inverse_propensity, k)
    return _psprecision(*ranking) if normalize else _weighted_hits(*ranking) / ranking[1].size


def ndcg_at_k(top: np.ndarray, Y: sparse.csr_array, k: int) -> float:
    """nDCG@K: hits discounted by 1/log2(rank+1), as a share of each instance's best; as in `precision_at_k`."""
    return _at_k("ndcg", top, Y, None, k)


def psndcg_at_k(
    top: np.ndarray, Y: sparse.csr_array, inverse_propensity: np.ndarray, k: int, normalize: bool = True
) -> float:
    """PSnDCG@K: discounted hits weighted by θ (L,), as a share of the best; arguments as in `psprecision_at_k`.

    normalize=False leaves out the last division and takes the mean over instances.
    """
    ranking = _ranking("psndcg", top, Y, inverse_propensity, k)
    return _psndcg(*ranking) if normalize else _weighted_gains(*ranking) / len(ranking[0])


def recall_at_k(top: np.ndarray, Y: sparse.csr_array, k: int) -> float:
    """recall@K: the share of an instance's relevant labels that are among the K first, averaged over instances."""
    return _at_k("recall", top, Y, None, k)


def coverage_at_k(top: np.ndarray, Y: sparse.csr_array, k: int) -> float:
    """coverage@K: the share of the labels that occur in Y that were hit at least once among the K first."""
    return _at_k("coverage", top, Y, None, k)


def _at_k(name: str, top: np.ndarray, Y: sparse.csr_array, theta: np.ndarray | None, k: int) -> float:
    return _METRIC[name](*_ranking(name, top, Y, theta, k))


def _ranking(
    name: str, top: np.ndarray, Y: sparse.csr_array, theta: np.ndarray | None, k: int
) -> tuple[np.ndarray, np.ndarray, Ruler]:
    """The K first labels with their hits and the ruler, looked at as whoever calls a public function needs it."""
    Y = as_labels(Y)
    ruler = make_ruler(Y, as_weights(theta, Y.shape[1]) if name.startswith("ps") else None, k)
    top = as_array(top, "top")
    if top.ndim != 2 or top.shape[1] < ruler.k_max:
        raise DataError(f"top has shape {top.shape}; expected rows of at least k = {ruler.k_max} labels")
    top = top[:, : ruler.k_max]
    ordered = np.sort(top, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise DataError("top names a label twice in one row; expected each at most once")
    return top, hits(top, ruler), ruler


def discounts(k: int) -> np.ndarray:
    """1/log2(j+1) for the ranks j = 1…k, shape (k,)."""
    return 1.0 / np.log2(np.arange(2.0, k + 2.0))


def _ideal_gains(ruler: Ruler, k: int) -> np.ndarray:
    """c_i of every instance, with 1 in place of 0: without relevant labels there is no hit to divide."""
    cumulated = np.concatenate(([1.0], np.cumsum(discounts(k))))
    return cumulated[np.minimum(ruler.n_relevant, k)]


def _precision(top: np.ndarray, found: np.ndarray, ruler: Ruler) -> float:
    return float(np.count_nonzero(found) / found.size)


def _psprecision(top: np.ndarray, found: np.ndarray, ruler: Ruler) -> float:
    return _share(_weighted_hits(top, found, ruler), ruler.best[top.shape[1] - 1])


def _weighted_hits(top: np.ndarray, found: np.ndarray, ruler: Ruler) -> float:
    return float(ruler.inverse_propensity[top[found]].sum())


def _ndcg(top: np.ndarray, found: np.ndarray, ruler: Ruler) -> float:
    k = top.shape[1]
    return float((found @ discounts(k) / _ideal_gains(ruler, k)).mean())


def _psndcg(top: np.ndarray, found: np.ndarray, ruler: Ruler) -> float:
    return _share(_weighted_gains(top, found, ruler), ruler.best_discounted[top.shape[1] - 1])


def _weighted_gains(top: np.ndarray, found: np.ndarray, ruler: Ruler) -> float:
    k = top.shape[1]
    weights = np.where(found, ruler.inverse_propensity[top], 0.0)
    return float((weights @ discounts(k) / _ideal_gains(ruler, k)).sum())


def _recall(top: np.ndarray, found: np.ndarray, ruler: Ruler) -> float:
    return float((np.count_nonzero(found, axis=1) / np.maximum(ruler.n_relevant, 1)).mean())


def _coverage(top: np.ndarray, found: np.ndarray, ruler: Ruler) -> float:
    return _share(_distinct(top[found]), ruler.n_distinct)


def _distinct(labels: np.ndarray) -> int:
    return int(np.count_nonzero(np.bincount(labels, minlength=1)))


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else 0.0


_METRIC: dict[str, Callable[[np.ndarray, np.ndarray, Ruler], float]] = {
    "precision": _precision,
    "psprecision": _psprecision,
    "ndcg": _ndcg,
    "psndcg": _psndcg,
    "recall": _recall,
    "coverage": _coverage,
}
METRICS = tuple(_METRIC)
SHORT_NAMES = {
    "precision": "P",
    "psprecision": "PSP",
    "ndcg": "nDCG",
    "psndcg": "PSnDCG",
    "recall": "recall",
    "coverage": "coverage",
}
"""What stands before @K."""


def _frozen(array: np.ndarray, dtype: type) -> np.ndarray:
    """A read-only C-contiguous view: numba compiles once for each type, and read-only is another type."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


@compiled
def _find(top, pointers, relevant, found):
    for i in range(top.shape[0]):
        labels = relevant[pointers[i] : pointers[i + 1]]
        for j in range(top.shape[1]):
            hit = False
            for label in labels:
                hit |= label == top[i, j]
            found[i, j] = hit
