"""Ridge regression on training data that is never in memory as a whole: one pass over blocks of rows.

Everything that the primal form needs of the training rows is a sum over them. With T the projection of the features
(the identity where there is none) and F = XT:

    G = Σ_blocks FᵀF,   S = Σ_blocks FᵀY,   G = V diag(σ) Vᵀ,   Q = VᵀS
    scores(λ) = P diag(1 / (σ + λ)) Q,   P = X_new T V

So no Z = FV is ever stored, and memory depends on the features and labels only: 8 bytes for each number of G (k×k) and
of S (k×L), 4 for each of V and Q. G and S are summed in float64, because their errors grow with σ_max/λ.

T is scikit-learn's sparse random projection (Li, Hastie and Church, Very Sparse Random Projections, KDD 2006), with
which the paper reduces AmazonCat-13K.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xmlcore import eigen, linalg, products
from xmlcore.checks import DataError, check_reg_lambda
from xmlcore.evaluation import (
    Evaluation,
    as_penalties,
    cut_ks,
    evaluate_rankings,
    metric_ruler,
    rank_projected,
)
from xmlcore.inputs import Rows, as_part, as_projection, check_projection
from xmlcore.matrices import Features, as_blocks, as_labels, as_mask, as_one_block, n_columns, n_rows, take_rows
from xmlcore.progress import Progress, unheard
from xmlcore.propensity import as_weights
from xmlcore.ridge import RidgeFactorization
from xmlcore.row_blocks import BLOCK_ROWS, RowBlock, numbered, same_rows, same_widths


@dataclass(frozen=True, eq=False)
class GramSums:
    """What a factorisation needs of some training rows; sums of disjoint rows add up.

    Attributes:
        gram: FᵀF, shape (k, k), float64.
        label_sums: (FᵀY)ᵀ, shape (L, k), float64: by labels, so that a block touches only the rows of its own.
        label_counts: N_l, shape (L,), int64.
        n_rows: how many rows were summed.
    """

    gram: np.ndarray
    label_sums: np.ndarray
    label_counts: np.ndarray
    n_rows: int


def gram_sums(
    blocks: Iterable[RowBlock], *, projection: sparse.csr_array | None = None, progress: Progress = unheard
) -> GramSums:
    """The sums over all rows of the blocks, each (X of rows×N, Y of rows×L), in one pass.

    projection: T, shape (N, k), or None. progress is told how many rows are summed so far.

    Memory: the result, one k×k matrix more, and 20 bytes for each value of 4,096 projected rows. Raises DataError for
    no rows or no labels at all, for blocks that do not fit each other, for values, of X, T or XT, beyond what can be
    squared and summed, and for more features than can be factorised.
    """
    sums = sum_blocks(blocks, projection, progress)
    check_some_rows(sums.n_rows)
    return sums


def check_some_rows(count: int) -> None:
    """Raises DataError where row blocks held no row at all."""
    if not count:
        raise DataError("blocks hold no row; expected at least one")


def sum_blocks(
    blocks: Iterable[RowBlock], projection: sparse.csr_array | None, progress: Progress = unheard, first: int = 0
) -> GramSums:
    """`gram_sums` of a part of the row blocks, at least one, which may all have no rows; errors count from `first`."""
    if projection is not None:
        projection = as_one_block(projection, "projection")
        linalg.check_scale((projection,), np.float32, "projection")
    gram = label_sums = label_counts = widths = None
    summed, trace, largest = 0, 0.0, 0.0
    for number, X, Y in numbered(blocks, first):
        X, Y = as_blocks(X, f"X of block {number}"), as_labels(Y, f"Y of block {number}")
        same_rows(X, Y, f"block {number}")
        widths = same_widths(widths, X, Y, f"block {number}")
        if gram is None:
            if not Y.shape[1]:
                raise DataError("Y has no labels; expected at least one")
            k = n_columns(X) if projection is None else projection.shape[1]
            if k > eigen.LARGEST_SIZE:
                raise DataError(f"X has {k:,} features; at most {eigen.LARGEST_SIZE:,} can be factorised: project them")
            gram, label_sums = np.zeros((k, k)), np.zeros((Y.shape[1], k))
            label_counts = np.zeros(Y.shape[1], np.int64)
            dtype = eigen.gram_dtype(k)
        trace, largest = trace + linalg.squared_norm(X), max(largest, linalg.largest_value(X))
        if trace > 1 and not linalg.is_scale(trace, dtype):
            raise linalg.scale_error(trace, largest, f"X of block {number}")
        for part in products.chunks(Y.shape[0], BLOCK_ROWS):
            with np.errstate(over="ignore", invalid="ignore"):  # refused below, by name
                F = _projected(take_rows(X, part), projection, f"X of block {number}")
                gram += linalg.gram(F, of_rows=False, dtype=np.float64)
            if projection is not None and not (gram.trace() <= 1 or linalg.is_scale(gram.trace(), dtype)):
                raise _projected_scale_error(gram, f"X of block {number}")
            _add_label_sums(label_sums, F, Y[part])
        label_counts += np.bincount(Y.indices, minlength=Y.shape[1])
        summed += Y.shape[0]
        progress(f"Gram sums, {summed:,} rows", None)
    check_some_rows(gram is not None)
    if largest > 0 and not linalg.is_scale(trace, dtype):
        raise linalg.scale_error(trace, largest, "X")
    if projection is not None and gram.any() and not linalg.is_scale(gram.trace(), dtype):
        raise _projected_scale_error(gram, "X")
    return GramSums(gram, label_sums, label_counts, summed)


def _projected_scale_error(gram: np.ndarray, name: str) -> DataError:
    what = "small" if gram.trace() <= 1 else "large"
    return DataError(f"{name} times the projection has values too {what} to be squared and summed: scale either")


def add_sums(a: GramSums, b: GramSums) -> GramSums:
    """The sums over the rows of both. Raises DataError where they are of other features or labels."""
    if a.label_sums.shape != b.label_sums.shape:
        raise DataError(f"sums of (labels, features) {a.label_sums.shape} and {b.label_sums.shape} cannot be added")
    return GramSums(a.gram + b.gram, a.label_sums + b.label_sums, a.label_counts + b.label_counts, a.n_rows + b.n_rows)


def _projected(X: Features, projection: sparse.csr_array | None, name: str = "X_new") -> Features:
    """F = XT as one dense float32 block; X as it is where there is no projection."""
    if projection is None:
        return X
    if n_columns(X) != projection.shape[0]:
        raise DataError(f"{name} has {n_columns(X)} features and the projection is for {projection.shape[0]}")
    if len(X) == 1:
        product = X[0] @ projection
        return (np.asarray(product.toarray() if sparse.issparse(product) else product, np.float32, order="C"),)
    total, start = np.zeros((n_rows(X), projection.shape[1]), np.float32), 0
    for block in X:
        total += block @ projection[start : start + block.shape[1]]
        start += block.shape[1]
    return (total,)


def _add_label_sums(label_sums: np.ndarray, F: Features, Y: sparse.csr_array) -> None:
    """label_sums[l] += Σ_i y_il F_i, with one dense row for each label that occurs, not for all L."""
    present, places = np.unique(Y.indices, return_inverse=True)
    compact = sparse.csr_array((Y.data, places.astype(np.int32), Y.indptr), shape=(Y.shape[0], present.size))
    label_sums[present] += products.transposed_times_sparse(F, compact, np.float64).T


@dataclass(frozen=True, eq=False)
class StreamedFactorization:
    """The primal factorisation of training rows that were summed block by block; `evaluate` takes it as any other.

    Attributes:
        projection: T, shape (N, k), or None.
        eigenvalues: σ, shape (r',), float64, ascending, all positive; null directions are dropped.
        eigenvectors: V, shape (k, r'), float32.
        Q: Vᵀ(FᵀY), shape (r', L), float32.
        label_counts: N_l, shape (L,), int64; θ needs no more of the labels.
        n_train: D.
        seconds: what the parts of the fit took, by name.
    """

    projection: sparse.csr_array | None
    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    Q: np.ndarray
    label_counts: np.ndarray
    n_train: int
    seconds: Mapping[str, float]

    @property
    def n_features(self) -> int:
        """N, the number of features before the projection."""
        return (self.eigenvectors if self.projection is None else self.projection).shape[0]

    @property
    def n_labels(self) -> int:
        """L, the number of labels."""
        return self.Q.shape[1]

    def project(self, X_new: Features) -> np.ndarray:
        """P = X_new T V, shape (rows, r'), float32: what scores need of new rows, whatever λ is.

        Raises DataError for another number of features, and values that are not finite or too large.
        """
        X_new = as_blocks(X_new, "X_new")
        if n_columns(X_new) != self.n_features:
            raise DataError(f"X_new has {n_columns(X_new)} features; expected {self.n_features}, as in training")
        P = np.empty((n_rows(X_new), self.eigenvalues.size), np.float32)
        for rows in products.chunks(P.shape[0], BLOCK_ROWS):
            with np.errstate(over="ignore", invalid="ignore"):  # refused below, by name
                F = _projected(take_rows(X_new, rows), self.projection)
                P[rows] = as_projection(products.multiply(F, self.eigenvectors))
        return P

    def scores(
        self, P: np.ndarray, reg_lambda: float, *, rows: Rows = slice(None), labels: Rows = slice(None)
    ) -> np.ndarray:
        """Scores P diag(1/(σ+λ)) Q of projected rows, shape (rows, labels), float32.

        Where float32 could not hold them (at a λ of 1e46, say) they are float64.

        Raises DataError for a λ that is not above 0, a P of another factorisation, and unknown rows or labels.
        """
        shrink = 1 / (self.eigenvalues + check_reg_lambda(reg_lambda))
        P = check_projection(P, shrink.size)
        Q = self.Q[:, as_part(labels, self.n_labels, "labels")]
        rows = as_part(rows, P.shape[0], "rows")
        if linalg.is_ordinary(shrink.min(), shrink.max()):
            return (P[rows] * shrink.astype(np.float32)) @ Q
        return linalg.at_any_scale(P[rows] * shrink, lambda A: A.astype(np.float32) @ Q)

    @property
    def smallest_reliable_lambda(self) -> float:
        """Below this λ, rounding may show in the ranking."""
        return eigen.smallest_reliable_lambda(self.eigenvalues, self.eigenvectors.shape[0], 0)


def factorize_sums(
    sums: GramSums, projection: sparse.csr_array | None = None, seconds: Mapping[str, float] | None = None
) -> StreamedFactorization:
    """The factorisation from the sums over all training rows.

    Up to `eigen.FLOAT64_LIMIT` features in float64, beyond in float32, refined (see `xmlcore.eigen`).
    Raises DataError where all features are zero.
    """
    started = time.perf_counter()
    K, lowered = eigen.prepared(sums.gram)
    pairs = eigen.eigenpairs(K.copy() if K is sums.gram else K, lowered, sums.gram.__matmul__)  # the sums stay whole
    Q = products.product(pairs.vectors.T, sums.label_sums.T)
    taken = {**(seconds or {}), "eigh": time.perf_counter() - started}
    return StreamedFactorization(projection, pairs.values, pairs.vectors, Q, sums.label_counts, sums.n_rows, taken)


def fit_streamed(
    blocks: Iterable[RowBlock], *, projection: sparse.csr_array | None = None, progress: Progress = unheard
) -> StreamedFactorization:
    """One pass over blocks of rows (X of rows×N, Y of rows×L), then the factorisation for every λ, A and B.

    Arguments and errors as in `gram_sums`.
    """
    started = time.perf_counter()
    sums = gram_sums(blocks, projection=projection, progress=progress)
    return factorize_sums(sums, projection, {"gram": time.perf_counter() - started})


def labels_of_block(Y: object, rows: int, n_labels: int, number: int) -> sparse.csr_array:
    """The labels of a block of test rows. Raises DataError, naming the block, where they do not fit its rows or L."""
    labels = as_labels(Y, f"Y of block {number}")
    if labels.shape != (rows, n_labels):
        raise DataError(f"Y of block {number} has shape {labels.shape}; expected {(rows, n_labels)}")
    return labels


def evaluate_streamed(
    fac: StreamedFactorization | RidgeFactorization,
    blocks: Iterable[RowBlock],
    reg_lambda: float,
    inverse_propensity: np.ndarray,
    metric_inverse_propensity: np.ndarray,
    ks: Sequence[int] = (1, 3, 5),
    *,
    reg_lambda_ps: float | None = None,
    exclude: sparse.csr_array | None = None,
    memory_budget: int | None = None,
) -> Evaluation:
    """`evaluate` of test rows that come in blocks (X, Y): each is projected, scored, ranked and forgotten.

    Kept are the K best labels and the labels Y. To try many λ, keep P in a file instead and call `evaluate` with it as
    a memory map. exclude: pairs masked before ranking, of all blocks' rows together. Arguments and errors as there.
    """
    k_max = cut_ks(ks, fac.n_labels)[-1]
    exclude = as_mask(exclude, np.shape(exclude))  # its rows are compared once they are counted
    penalties = as_penalties(reg_lambda, reg_lambda_ps)
    as_weights(metric_inverse_propensity, fac.n_labels, "metric_inverse_propensity")  # not after the last block
    tops, tops_ps, labels = [], [], []
    done = n_zero = 0
    for number, X, Y in numbered(blocks):
        P = fac.project(X)
        if exclude is not None and done + P.shape[0] > exclude.shape[0]:
            raise DataError(f"exclude has {exclude.shape[0]} rows, and the blocks have more; expected as many")
        Y = labels_of_block(Y, P.shape[0], fac.n_labels, number)
        labels.append(Y)
        mask = None if exclude is None else exclude[done : done + P.shape[0]]
        top, top_ps, zero = rank_projected(fac, P, penalties, inverse_propensity, k_max, mask, memory_budget)
        tops.append(top)
        tops_ps.append(top_ps)
        n_zero += zero
        done += P.shape[0]
    check_some_rows(done)
    as_mask(exclude, (done, fac.n_labels))
    return evaluate_rankings(
        np.concatenate(tops),
        np.concatenate(tops_ps),
        metric_ruler(sparse.vstack(labels, format="csr"), metric_inverse_propensity, k_max),
        ks,
        reg_lambda=penalties[0],
        reg_lambda_ps=penalties[1],
        rows_scored_zero=n_zero,
    )
