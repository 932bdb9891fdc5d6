"""How sparse W can be: entries below a threshold dropped, and what every metric keeps of its value.

XML-ridge keeps |W_nl| ≥ τ, the weighted variant θ_l |W_nl| ≥ τ'. One τ keeps different shares of the two, so the axis
is the kept share of all N·L entries. W is made and thresholded in blocks of labels and never whole, unless the caller
has it. A block's scores for a rising list of shares are sums: each share adds the entries between its threshold and the
one before, so a whole curve costs one product with W.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from scipy import sparse

from xmlcore.atomic import whole_file
from xmlcore.checks import DataError, as_array, as_number, check_reg_lambda
from xmlcore.compiled import compiled
from xmlcore.evaluation import cut_ks, evaluate_ranking
from xmlcore.matrices import Block, Features, as_mask, as_one_block, n_rows
from xmlcore.metrics import Ruler, measured_metrics
from xmlcore.products import compiled_parts, over_rows
from xmlcore.progress import Progress, unheard
from xmlcore.propensity import as_weights
from xmlcore.ranking import best_of_blocks, top_k_weighted
from xmlcore.ridge import RidgeFactorization

# Magnitudes are counted by the first 20 bits of a positive float32: 8 of the exponent and 12 of the mantissa, so a
# threshold is exact to 1 part in 4,096, and the entries that it keeps are counted exactly.
_DROPPED_BITS = 11
_BINS = 1 << (31 - _DROPPED_BITS)


@dataclass(frozen=True, eq=False)
class WeightSizes:
    """How many entries of W have which magnitude: from this every share's threshold follows.

    Attributes:
        reg_lambda: λ of W.
        inverse_propensity: θ (L,) by which magnitudes are multiplied; None for XML-ridge.
        shape: (N, L).
        at_least: number of entries that are at least as large as each bin's lower edge, zeros left out, int64.
    """

    reg_lambda: float
    inverse_propensity: np.ndarray | None
    shape: tuple[int, int]
    at_least: np.ndarray

    def threshold(self, share: float) -> float:
        """The τ whose kept share is nearest to the one asked for, as a fraction of N·L; 0 keeps everything.

        Raises DataError for a share outside (0, 1].
        """
        share = as_number(share, "share", above=0, at_most=1)
        wanted = share * self.shape[0] * self.shape[1]
        # at_least falls with the bin: the last bin with enough entries, or the next where that is nearer.
        at = int(np.searchsorted(-self.at_least, -wanted, side="right")) - 1
        if at < 0:
            return 0.0
        if at + 1 < _BINS and wanted - self.at_least[at + 1] < self.at_least[at] - wanted:
            at += 1
        return _edge(at)

    def kept(self, threshold: float) -> int:
        """How many entries a threshold from `threshold` keeps, zeros left out. Raises DataError for one below 0."""
        return int(self.at_least[int(_as_threshold(threshold).view(np.uint32)) >> _DROPPED_BITS])


@dataclass(frozen=True, eq=False)
class SparsePoint:
    """One variant with a sparse W.

    Attributes:
        threshold: τ. kept: entries of W that are left. kept_share: of N·L.
        megabytes, megabytes_dense: 10⁶ bytes of W in CSR (4 bytes a value, 4 an index, 4 a row) and as float32.
        seconds: what scoring and ranking all evaluated rows took with this W.
        metrics: as in `VariantResult`. relative: each as a fraction of the full W's; NaN where that is 0.
    """

    threshold: float
    kept: int
    kept_share: float
    megabytes: float
    megabytes_dense: float
    seconds: float
    metrics: Mapping[str, Mapping[int, float]]
    relative: Mapping[str, Mapping[int, float]]


def weight_sizes(
    fac: RidgeFactorization,
    reg_lambda: float,
    inverse_propensity: np.ndarray | None = None,
    *,
    W: np.ndarray | None = None,
    progress: Progress = unheard,
) -> WeightSizes:
    """Count the magnitudes of W(λ), or of θ_l W_nl where θ (L,) is given, block by block.

    W: all weights (N×L, float32) where the caller keeps them; else they are made in blocks of labels within the
    factorisation's memory budget. progress: told the share of the labels that is done.
    Raises DataError for λ ≤ 0, a θ that does not fit and a W of another shape.
    """
    reg_lambda = check_reg_lambda(reg_lambda)
    theta = None if inverse_propensity is None else as_weights(inverse_propensity, fac.n_labels)
    counts = np.zeros(_BINS, dtype=np.int64)
    zeros = 0
    for labels, block in _weight_blocks(fac, reg_lambda, W, 0, progress):
        sizes = _sizes(block, theta, labels)
        counts += np.bincount(sizes.view(np.uint32).ravel() >> _DROPPED_BITS, minlength=_BINS)
        zeros += sizes.size - np.count_nonzero(sizes)
    counts[0] -= zeros
    return WeightSizes(reg_lambda, theta, (fac.n_features, fac.n_labels), np.cumsum(counts[::-1])[::-1])


def compress(
    fac: RidgeFactorization,
    sizes: WeightSizes,
    shares: Sequence[float],
    X: Features,
    ruler: Ruler,
    full: Mapping[str, Mapping[int, float]],
    ks: Sequence[int] = (1, 3, 5),
    *,
    W: np.ndarray | None = None,
    exclude: sparse.csr_array | None = None,
    progress: Progress = unheard,
) -> list[SparsePoint]:
    """One variant's metrics with W thresholded to each kept share, in the order given.

    sizes: from `weight_sizes`, which says which variant and λ. X: features of the evaluated rows, in training's
    blocks; ruler: of their labels (`make_ruler`), up to max(ks). full: the same variant's metrics with the full W, to
    divide by. exclude: pairs masked before ranking, rows×L. W, progress: as in `weight_sizes`.

    Raises DataError for a share outside (0, 1], shapes that do not fit, and a metric that `full` lacks.
    """
    _check_sizes(sizes, fac)
    blocks = fac.as_features(X, "X")
    rows, n_labels = ruler.Y.shape
    if (n_rows(blocks), fac.n_labels) != (rows, n_labels):
        raise DataError(f"X has {n_rows(blocks)} rows, W {fac.n_labels} labels and Y shape {ruler.Y.shape}")
    ks, exclude = cut_ks(ks, n_labels), as_mask(exclude, ruler.Y.shape)
    lacking = [f"{name} at K = {k}" for name in measured_metrics(ruler) for k in ks if k not in full.get(name, {})]
    if lacking:
        raise DataError(f"full lacks {lacking[0]}; expected every metric at K = {', '.join(map(str, ks))}")
    if as_array(shares, "shares").ndim != 1:
        raise DataError(f"shares is {shares!r}; expected a sequence of fractions")
    thresholds = [sizes.threshold(share) for share in shares]
    rising = sorted(set(thresholds), reverse=True)
    best = {tau: _Best(rows, ks[-1]) for tau in rising}
    seconds = dict.fromkeys(rising, 0.0)
    theta = np.ones(n_labels) if sizes.inverse_propensity is None else sizes.inverse_propensity
    for labels, block in _weight_blocks(fac, sizes.reg_lambda, W, 4 * rows, progress):
        magnitudes = _sizes(block, sizes.inverse_propensity, labels)
        mask = None if exclude is None else exclude[:, labels]
        scores = np.zeros((rows, block.shape[1]), dtype=np.float32)
        upper, spent = np.inf, 0.0
        for tau in rising:
            part = _entries(block, (magnitudes >= tau) & (magnitudes < upper))
            started = time.perf_counter()
            _add_product(blocks, part, scores)
            spent += time.perf_counter() - started
            started = time.perf_counter()
            best[tau].add(scores, theta[labels], labels.start, mask)
            seconds[tau] += spent + time.perf_counter() - started
            upper = tau
    return [_point(tau, sizes, evaluate_ranking(best[tau].top, ruler, ks).metrics, full, seconds) for tau in thresholds]


def sparse_weights(
    fac: RidgeFactorization, sizes: WeightSizes, threshold: float, *, W: np.ndarray | None = None
) -> sparse.csr_array:
    """The thresholded W, N×L in CSR, float32; with θ multiplied in where `sizes` has it, so that X W ranks as it is.

    Raises DataError for a threshold below 0, a W of another shape, and sizes of another factorisation's shape.
    """
    _check_sizes(sizes, fac)
    theta, threshold = sizes.inverse_propensity, _as_threshold(threshold)
    parts = []
    for labels, block in _weight_blocks(fac, sizes.reg_lambda, W, 0):
        part = _entries(block, _sizes(block, theta, labels) >= threshold)
        if theta is not None:
            part.data *= theta[labels].astype(np.float32)[part.indices]
        part.eliminate_zeros()
        parts.append(part)
    return sparse.csr_array(sparse.hstack(parts, format="csr"))


def _check_sizes(sizes: WeightSizes, fac: RidgeFactorization) -> None:
    if sizes.shape != (fac.n_features, fac.n_labels):
        raise DataError(f"sizes are of W of shape {sizes.shape}; expected {(fac.n_features, fac.n_labels)}")


def save_sparse_weights(
    file: str | Path | BinaryIO,
    weights: sparse.csr_array,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    settings: Mapping[str, object] | None = None,
) -> None:
    """Write N×L weights as an .npz that `scipy.sparse.load_npz` reads, with names and settings (as JSON) beside.

    Nothing in it is pickled: names are arrays of text "feature_names" and "label_names", settings the text "settings",
    in which numpy's numbers and arrays are plain numbers and lists. A path gets the ending .npz where it lacks it.

    Weights in another form than CSR are turned into it. Raises DataError for weights that are no matrix of finite
    numbers, names that do not fit, settings that JSON cannot hold, and a path that cannot be written to; a
    file that was there before stays as it was then.
    """
    weights, extra = sparse.csr_array(as_one_block(weights, "weights")), {}
    for name, values, size in (
        ("feature_names", feature_names, weights.shape[0]),
        ("label_names", label_names, weights.shape[1]),
    ):
        if values is not None:
            if len(values) != size:
                raise DataError(f"{name} has {len(values)} entries; expected {size}")
            extra[name] = np.array([str(value) for value in values])
    try:
        said = json.dumps(dict(settings or {}), default=_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"settings cannot be written as JSON: {error}") from error
    arrays = {
        "format": np.array("csr"),
        "shape": np.array(weights.shape),
        "data": weights.data,
        "indices": weights.indices,
        "indptr": weights.indptr,
        "settings": np.array(said),
        **extra,
    }
    if not isinstance(file, (str, Path)):
        np.savez_compressed(file, **arrays)
        return
    with whole_file(file, ".npz") as target:
        np.savez_compressed(target, **arrays)


def _plain(value: object) -> object:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{value!r} is no number, text, list or mapping")


def _as_threshold(threshold: float) -> np.float32:
    with np.errstate(over="ignore"):  # beyond float32 is infinity, which no entry reaches
        return np.float32(abs(as_number(threshold, "threshold", at_least=0)))  # −0.0 has the bits of a negative number


def _edge(at: int) -> float:
    return float(np.uint32(at << _DROPPED_BITS).view(np.float32))


def _weight_blocks(
    fac: RidgeFactorization,
    reg_lambda: float,
    W: np.ndarray | None,
    bytes_beside: int,
    progress: Progress = unheard,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of labels with their weights; bytes_beside: what a label needs besides weights, magnitudes and masks."""
    shape = (fac.n_features, fac.n_labels)
    W = None if W is None else as_array(W, "W")
    if W is not None and W.shape != shape:
        raise DataError(f"W has shape {W.shape}; expected {shape}")
    # For an entry: the weight in float32 and in float64 while it is made, its magnitude, two masks, its bin.
    for labels in fac.label_blocks(32 * fac.n_features + bytes_beside):
        yield labels, fac.weights(reg_lambda, labels=labels) if W is None else W[:, labels]
        progress("blocks of W", labels.stop / fac.n_labels)


def _sizes(block: np.ndarray, theta: np.ndarray | None, labels: slice) -> np.ndarray:
    sizes = np.abs(np.ascontiguousarray(block, dtype=np.float32))
    return sizes if theta is None else np.multiply(sizes, theta[labels].astype(np.float32), out=sizes)


def _entries(block: np.ndarray, chosen: np.ndarray) -> sparse.csr_array:
    features, labels = np.nonzero(chosen)
    pointers = np.concatenate(([0], np.cumsum(np.count_nonzero(chosen, axis=1))))
    return sparse.csr_array((block[features, labels], labels, pointers), shape=block.shape)


class _Best:
    """The K best labels of each row while blocks of labels pass by."""

    def __init__(self, rows: int, k: int) -> None:
        self.top = np.full((rows, k), -1, dtype=np.int32)
        self.values = np.full((rows, k), -np.inf)

    def add(self, scores: np.ndarray, theta: np.ndarray, first: int, exclude: sparse.csr_array | None) -> None:
        top = top_k_weighted(scores, theta, self.top.shape[1], exclude)
        values = np.take_along_axis(scores, np.maximum(top, 0), axis=1) * theta[top]
        values[top < 0] = -np.inf
        if first == 0 and top.shape[1] == self.top.shape[1]:
            self.top, self.values = top, values
            return
        labels = np.where(top < 0, -1, top + np.int32(first))
        self.top, self.values = best_of_blocks([self.top, labels], [self.values, values], self.top.shape[1])


def _point(
    tau: float,
    sizes: WeightSizes,
    metrics: Mapping[str, Mapping[int, float]],
    full: Mapping[str, Mapping[int, float]],
    seconds: Mapping[float, float],
) -> SparsePoint:
    N, L = sizes.shape
    kept = sizes.kept(tau)
    relative = {
        name: {k: value / full[name][k] if full[name][k] > 0 else float("nan") for k, value in by_k.items()}
        for name, by_k in metrics.items()
    }
    return SparsePoint(
        threshold=tau,
        kept=kept,
        kept_share=kept / (N * L),
        megabytes=(8 * kept + 4 * (N + 1)) / 1e6,
        megabytes_dense=4 * N * L / 1e6,
        seconds=seconds[tau],
        metrics=metrics,
        relative=relative,
    )


def _add_product(blocks: tuple[Block, ...], weights: sparse.csr_array, scores: np.ndarray) -> None:
    """scores += X · weights, in place."""
    start = 0
    for block in blocks:
        part = weights[start : start + block.shape[1]]
        start += block.shape[1]
        if not part.nnz:
            continue
        rows = sparse.csr_array(block)
        arrays = (*compiled_parts(rows, np.float32), *compiled_parts(part, np.float32))
        work = rows.nnz * (part.nnz // part.shape[0] + 1)
        over_rows(lambda a, b, arrays=arrays: _add_rows(*arrays, scores, a, b), scores.shape[0], work)


@compiled
def _add_rows(x_pointers, features, x_values, w_pointers, labels, w_values, scores, start, stop):
    for i in range(start, stop):
        out = scores[i]
        for at in range(x_pointers[i], x_pointers[i + 1]):
            x = x_values[at]
            feature = features[at]
            for entry in range(w_pointers[feature], w_pointers[feature + 1]):
                out[labels[entry]] += x * w_values[entry]
