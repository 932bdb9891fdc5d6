"""What is in a data set: shapes, labels per instance and instances per label, and which labels go together.

Everything is exact and comes from the sparse matrices as they are; nothing of size L×L is ever held whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_whole
from xmlcore.dataset import Dataset
from xmlcore.matrices import Features, as_blocks, as_labels

PAIR_ORDERS = ("together", "jaccard")
_PAIRS_AT_ONCE = 20_000_000  # entries of a slab of YᵀY: about 240 MB
_MOST_FEATURES = 8


@dataclass(frozen=True)
class Spread:
    """How a count is spread over instances: the mean, the middle and the most of it."""

    mean: float
    median: float
    most: int


@dataclass(frozen=True, eq=False)
class SideProfile:
    """One side of the split.

    Attributes:
        n_instances: D or n.
        n_assignments: pairs (instance, label), the entries of Y.
        labels: labels per instance; its mean is the cardinality.
        density: cardinality / L, in [0, 1].
        features: features per instance that are not zero, over all blocks.
        without_labels, without_features: instances that have none.
        instances_by_labels: how many instances have 0, 1, 2, … labels, shape (labels.most + 1,), int64.
    """

    n_instances: int
    n_assignments: int
    labels: Spread
    density: float
    features: Spread
    without_labels: int
    without_features: int
    instances_by_labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Profile:
    """What is in a data set.

    Attributes:
        n_features, n_labels: N and L.
        train, test: the two sides.
        label_counts, test_counts: training and test instances of each label, shape (L,), int64.
        on_one_instance: labels on exactly one training instance.
        never_in_train: labels on no training instance.
        only_in_test: labels on test instances but on no training instance: nobody can predict them.
        only_in_test_assignments: how many of test's assignments are of those labels.
        half_of_assignments: the least number of labels that together have half of the training assignments.
    """

    n_features: int
    n_labels: int
    train: SideProfile
    test: SideProfile
    label_counts: np.ndarray
    test_counts: np.ndarray
    on_one_instance: int
    never_in_train: int
    only_in_test: int
    only_in_test_assignments: int
    half_of_assignments: int


def profile(ds: Dataset) -> Profile:
    """The profile of a data set, with its features as they are in it.

    Raises DataError where its features were changed to what `Dataset` refuses.
    """
    train_counts = ds.label_counts
    test_counts = np.bincount(ds.Y_test.indices, minlength=ds.n_labels).astype(np.int64)
    unseen = (train_counts == 0) & (test_counts > 0)
    return Profile(
        n_features=ds.n_features,
        n_labels=ds.n_labels,
        train=_side(ds.X_train, ds.Y_train),
        test=_side(ds.X_test, ds.Y_test),
        label_counts=train_counts,
        test_counts=test_counts,
        on_one_instance=int(np.count_nonzero(train_counts == 1)),
        never_in_train=int(np.count_nonzero(train_counts == 0)),
        only_in_test=int(np.count_nonzero(unseen)),
        only_in_test_assignments=int(test_counts[unseen].sum()),
        half_of_assignments=_labels_of_half(train_counts),
    )


def _side(X: Features, Y: sparse.csr_array) -> SideProfile:
    labels, features = np.diff(Y.indptr), features_per_instance(X)
    spread = _spread(labels)
    return SideProfile(
        n_instances=Y.shape[0],
        n_assignments=int(Y.nnz),
        labels=spread,
        density=spread.mean / Y.shape[1] if Y.shape[1] else 0.0,
        features=_spread(features),
        without_labels=int(np.count_nonzero(labels == 0)),
        without_features=int(np.count_nonzero(features == 0)),
        instances_by_labels=np.bincount(labels, minlength=1).astype(np.int64),
    )


def features_per_instance(X: Features) -> np.ndarray:
    """How many features of each row are not zero, over all blocks, shape (rows,), int64."""
    total = 0
    for block in as_blocks(X):
        if not sparse.issparse(block):
            total = total + np.count_nonzero(block, axis=1)
        elif block.data.all():
            total = total + np.diff(block.indptr)
        else:  # stored zeros are no features
            before = np.concatenate([[0], np.cumsum(block.data != 0)])
            total = total + np.diff(before[block.indptr])
    return np.asarray(total, dtype=np.int64)


def _spread(counts: np.ndarray) -> Spread:
    if not counts.size:
        return Spread(0.0, 0.0, 0)
    return Spread(float(counts.mean()), float(np.median(counts)), int(counts.max()))


def _labels_of_half(counts: np.ndarray) -> int:
    total = np.cumsum(np.sort(counts)[::-1])
    return int(np.searchsorted(total, total[-1] / 2) + 1) if total.size and total[-1] else 0


@dataclass(frozen=True, eq=False)
class LabelPairs:
    """Pairs of labels that occur together, the strongest first.

    Attributes:
        first, second: the labels, first < second, shape (pairs,), int64.
        together: instances that have both, int64.
        jaccard: together / instances that have at least one of them, in (0, 1].
    """

    first: np.ndarray
    second: np.ndarray
    together: np.ndarray
    jaccard: np.ndarray


def pair_operations(Y: sparse.csr_array) -> int:
    """Σ_i n_i² over the rows of Y, n_i labels each: the operations that `strongest_pairs` needs."""
    return int(np.square(np.diff(Y.indptr).astype(np.int64)).sum())


def strongest_pairs(
    Y: sparse.csr_array, n_pairs: int = 20, *, order: str = "together", min_together: int = 5
) -> LabelPairs:
    """The pairs of labels that occur together most, from YᵀY, a slab of labels at a time.

    Args:
        Y: labels, rows×L.
        n_pairs: at most so many pairs.
        order: "together", by the number of instances that have both (frequent labels lead), or "jaccard", by the
            share of these among the instances that have either (labels that mean the same lead). Ties go by the
            other of the two, then to the lower label numbers.
        min_together: pairs on fewer instances are left out.

    Raises DataError for another order, or numbers below 1.
    """
    if order not in PAIR_ORDERS:
        raise DataError(f"order is {order!r}; expected one of {', '.join(PAIR_ORDERS)}")
    n_pairs, min_together = as_whole(n_pairs, "n_pairs", at_least=1), as_whole(min_together, "min_together", at_least=1)
    Y = as_labels(Y)
    counts = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64)
    best = np.zeros((0, 3), np.int64)
    jaccard = np.zeros(0)
    for first, second, together in _pairs(Y, min_together):
        best = np.vstack([best, np.column_stack([first, second, together])])
        either = counts[best[:, 0]] + counts[best[:, 1]] - best[:, 2]
        jaccard = best[:, 2] / either
        keys = (best[:, 2], jaccard) if order == "together" else (jaccard, best[:, 2])
        kept = np.lexsort((best[:, 1], best[:, 0], -keys[1], -keys[0]))[:n_pairs]
        best, jaccard = best[kept], jaccard[kept]
    return LabelPairs(best[:, 0], best[:, 1], best[:, 2], jaccard)


def _pairs(Y: sparse.csr_array, min_together: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """All pairs first < second on at least min_together instances, in slabs, each of about _PAIRS_AT_ONCE products."""
    # A label on fewer instances is in no such pair: in extreme data most labels go here.
    frequent = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]) >= min_together)
    place = np.full(Y.shape[1], -1, np.int64)
    place[frequent] = np.arange(frequent.size)
    columns = place[Y.indices]
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))[columns >= 0]
    columns = columns[columns >= 0]
    # 1 in int32, which products of ones add up in exactly
    Z = sparse.csr_array((np.ones(rows.size, np.int32), (rows, columns)), shape=(Y.shape[0], frequent.size))
    turned = Z.T.tocsr()
    # Row l of ZᵀZ takes as many products as the rows with label l have labels.
    work = np.cumsum(turned @ np.diff(Z.indptr).astype(np.int64)) if frequent.size else np.zeros(0)
    start = 0
    while start < frequent.size:
        done = work[start - 1] if start else 0
        stop = max(int(np.searchsorted(work, done + _PAIRS_AT_ONCE, side="right")), start + 1)
        slab = (turned[start:stop] @ Z).tocoo()
        wanted = (slab.row + start < slab.col) & (slab.data >= min_together)
        yield (
            frequent[slab.row[wanted] + start],
            frequent[slab.col[wanted]],
            slab.data[wanted].astype(np.int64),
        )
        start = stop


@dataclass(frozen=True)
class Sample:
    """One instance to look at.

    Attributes:
        row: its number in the training set. name: its name, or its number.
        labels: its labels' names, the most frequent first.
        features: names of its features with the largest absolute values, at most eight, of sparse blocks; n_features:
            how many features it has in all.
        text: its raw text, or None.
    """

    row: int
    name: str
    labels: tuple[str, ...]
    features: tuple[str, ...]
    n_features: int
    text: str | None


def random_instances(ds: Dataset, n: int = 10, seed: int = 0) -> tuple[Sample, ...]:
    """So many training instances drawn without replacement by the seed (all where there are fewer), in their order.

    Raises DataError where n is below 1.
    """
    n, seed = as_whole(n, "n", at_least=1), as_whole(seed, "seed", at_least=0)
    rows = np.sort(np.random.default_rng(seed).choice(ds.n_train, min(n, ds.n_train), replace=False))
    return tuple(_sample(ds, int(row)) for row in rows)


def _sample(ds: Dataset, row: int) -> Sample:
    labels = ds.Y_train.indices[ds.Y_train.indptr[row] : ds.Y_train.indptr[row + 1]]
    labels = labels[np.argsort(-ds.label_counts[labels], kind="stable")]
    found, values, n_features, start = [], [], 0, 0
    for block in as_blocks(ds.X_train):
        if sparse.issparse(block):
            at = slice(block.indptr[row], block.indptr[row + 1])
            found.append(block.indices[at][block.data[at] != 0] + start)
            values.append(block.data[at][block.data[at] != 0])
            n_features += found[-1].size
        else:
            n_features += int(np.count_nonzero(block[row]))
        start += block.shape[1]
    columns = np.concatenate(found) if found else np.zeros(0, np.int64)
    if columns.size:
        columns = columns[np.argsort(-np.abs(np.concatenate(values)), kind="stable")]
    return Sample(
        row=row,
        name=ds.train_name(row),
        labels=tuple(ds.label_name(label) for label in labels),
        features=tuple(ds.feature_name(column) for column in columns[:_MOST_FEATURES]),
        n_features=n_features,
        text=None if ds.train_texts is None else ds.train_texts[row],
    )
