"""Seeded data sets of any shape, with what real ones have and independent draws lack.

How a row is made. A label is drawn from a power law; it sets the row's topic, from which most of the other labels come.
Each label owns a few characteristic terms, each topic a vocabulary, and there is a background of terms with a power law
of its own. The row's n terms are drawn from the three, so the expected term counts are linear in the row's labels z:

    E[counts | z] = n (b φ_background + t φ_topic + c Σ_l z_l φ_l / Σ_l z_l),     b + t + c = 1

which is the planted linear relation: ridge regression can decode it, better for labels that it has seen often. Then
annotators forget: a label of z stays in Y with its propensity p_l = 1 / (1 + (ln D − 1)(B+1)^A (N_l+B)^(−A)) (Jain,
Prabhu and Varma, KDD 2016) at its expected count N_l, so here the propensity model is the truth. Counts become TF-IDF
rows of unit length.

Some rows are made to break careless code: near-duplicates of earlier rows (a nearly singular dual), pairs of features
that always occur together (a singular primal), rows without features or without labels. Some labels occur only in test
rows.

Rows come in blocks, each with a generator of its own, so any block can be made alone and nothing larger than a block is
ever held by `synthetic_blocks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_number, as_whole
from xmlcore.dataset import Dataset

BLOCK_ROWS = 4096  # part of the definition of the data: another size would give other rows
PROPENSITY = (0.55, 1.5)  # A, B
TERM_SHARES = (0.45, 0.20, 0.35)  # background, topic, labels: b, t, c above
TERMS_A_LABEL = 12
TERMS_A_TOPIC = 300
GLOBAL_LABEL_SHARE = 0.25  # labels drawn from everywhere, not from the row's topic
NEAR_DUPLICATES = 0.02
EMPTY_ROWS = 0.002
TWIN_FEATURES = 0.01
MOST_DRAWS = 64.0  # where nearly all labels are asked for, rows get somewhat fewer


@dataclass(frozen=True)
class Shape:
    """The size of a data set.

    Attributes:
        n_train, n_features, n_labels, n_test: D, N, L and the number of test rows.
        labels: mean number of labels of a row; at most half of L, because labels get lost.
        terms: mean number of terms of a row, before equal terms are merged.
    """

    n_train: int
    n_features: int
    n_labels: int
    n_test: int
    labels: float
    terms: float


# Terms of Bibtex, Delicious and Wiki10-31K are chosen so that the merged rows have about as many as the real ones.
SHAPES: dict[str, Shape] = {
    "bibtex": Shape(4_880, 1_836, 159, 2_515, 2.38, 85),
    "delicious": Shape(12_920, 500, 983, 3_185, 19.0, 19),
    "eurlex-4k": Shape(15_449, 186_104, 3_956, 3_865, 5.3, 240),
    "wiki10-31k": Shape(14_146, 101_938, 30_938, 6_616, 18.6, 850),
    "amazoncat-13k": Shape(1_186_239, 203_882, 13_330, 306_782, 5.04, 71),
    "delicious-200k": Shape(196_606, 782_585, 205_443, 100_095, 75.5, 301),
}


def make_dataset(shape: Shape | str, seed: int = 0, scale: float = 1.0) -> Dataset:
    """A data set of the given shape: float32 TF-IDF rows of unit length, one sparse block, labels with a power law.

    Args:
        shape: a Shape, or one of the names in SHAPES.
        seed: equal seeds give equal data.
        scale: multiplies rows, features and labels; the terms and labels of a row stay.

    Near-duplicates share their original's number in `train_groups`, for leave-group-out estimates. The whole of X is in
    memory, 8 bytes a stored term (0.7 GB for amazoncat-13k) and twice that while its blocks are joined;
    `synthetic_blocks` gives the same rows block by block. Raises DataError for a shape, seed or scale that cannot be.
    """
    size = scaled_shape(shape, scale)
    sides = {}
    for side in ("train", "test"):
        blocks = list(synthetic_blocks(shape, seed, scale, side))
        X, Y = (sparse.vstack([getattr(block, part) for block in blocks], format="csr") for part in ("X", "Y"))
        sides[side] = (X, Y, np.concatenate([block.groups for block in blocks]))
    (X_train, Y_train, groups), (X_test, Y_test, _) = sides["train"], sides["test"]
    name = shape if isinstance(shape, str) else f"{size.n_train}×{size.n_features}, {size.n_labels} labels"
    return Dataset(
        name=f"synthetic {name}" + (f" × {scale:g}" if scale != 1 else ""),
        X_train=X_train,
        Y_train=Y_train,
        X_test=X_test,
        Y_test=Y_test,
        train_groups=groups,
        notes=(f"synthetic data, seed {seed}: no row comes from a real data set",),
        source="drawn at random by xmlcore.synthetic",
    )


def scaled_shape(shape: Shape | str, scale: float = 1.0) -> Shape:
    """The shape, by name or as given, with rows, features and labels multiplied by scale (each at least 3).

    Raises DataError, naming what is wrong, for an unknown name or numbers that cannot be a shape.
    """
    if isinstance(shape, str):
        if shape not in SHAPES:
            raise DataError(f"there is no shape {shape!r}; expected one of {', '.join(SHAPES)}")
        shape = SHAPES[shape]
    scale = as_number(scale, "scale", above=0)
    sizes = ("n_train", "n_features", "n_labels", "n_test")
    sizes = {name: as_whole(getattr(shape, name), name, at_least=1) for name in sizes}
    if scale != 1:
        sizes = {name: max(3, round(value * scale)) for name, value in sizes.items()}
    for name, limit in (("labels", sizes["n_labels"] / 2), ("terms", np.inf)):
        sizes[name] = as_number(getattr(shape, name), name, above=0, at_most=limit)
    return replace(shape, **sizes)


@dataclass(frozen=True, eq=False)
class SyntheticBlock:
    """Consecutive rows; a pair of X and Y for what takes row blocks.

    Attributes:
        X, Y: features (rows, N) and labels (rows, L), float32 CSR.
        groups: (rows,) int64 row numbers within the side, the original's for a near-duplicate.
    """

    X: sparse.csr_array
    Y: sparse.csr_array
    groups: np.ndarray

    def __iter__(self) -> Iterator[sparse.csr_array]:
        return iter((self.X, self.Y))


def synthetic_blocks(
    shape: Shape | str, seed: int = 0, scale: float = 1.0, side: str = "train"
) -> Iterator[SyntheticBlock]:
    """The rows of `make_dataset(shape, seed, scale)`, in blocks of BLOCK_ROWS, made one by one as they are asked for.

    Args:
        side: "train" or "test".

    Memory: one block, about 30 bytes a term (60 MB at 300 terms a row), and the model, about 60 bytes a label and 20 a
    feature. Raises DataError as `make_dataset` does, and for another side.
    """
    size = scaled_shape(shape, scale)
    if side not in ("train", "test"):
        raise DataError(f"side must be 'train' or 'test'; it is {side!r}")
    return _blocks(size, as_whole(seed, "seed", at_least=0), side)


def _blocks(size: Shape, seed: int, side: str) -> Iterator[SyntheticBlock]:
    model = _model(size, seed)
    total = size.n_train if side == "train" else size.n_test
    for number, start in enumerate(range(0, total, BLOCK_ROWS)):
        rng = np.random.default_rng([seed, 1 if side == "train" else 2, number])
        yield _block(model, min(BLOCK_ROWS, total - start), start, rng)


@dataclass(frozen=True, eq=False)
class _PowerLaw:
    """Ranks 0…n−1 with P(rank < k) = ((k+q)^(1−a) − q^(1−a)) / ((n+q)^(1−a) − q^(1−a)): a Zipf–Mandelbrot law whose
    quantiles have a closed form, so that a draw costs one power and no table."""

    n: int
    a: float
    q: float

    def below(self, k: np.ndarray) -> np.ndarray:
        low, high = self.q ** (1 - self.a), (self.n + self.q) ** (1 - self.a)
        return ((k + self.q) ** (1 - self.a) - low) / (high - low)

    @property
    def weights(self) -> np.ndarray:
        return np.diff(self.below(np.arange(self.n + 1, dtype=np.float64)))

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        low, high = self.q ** (1 - self.a), (self.n + self.q) ** (1 - self.a)
        rank = (low + rng.random(count) * (high - low)) ** (1 / (1 - self.a)) - self.q
        return np.clip(rank.astype(np.int64), 0, self.n - 1)


@dataclass(frozen=True, eq=False)
class _Model:
    size: Shape
    term_law: _PowerLaw
    term_of_rank: np.ndarray  # (N,) features in order of frequency; shuffled, as an alphabet shuffles words
    label_of_rank: np.ndarray  # (L,) the same for labels
    kept: np.ndarray  # (L,) propensity of each label, by rank
    topic: np.ndarray  # (L,) of each label, by rank
    by_topic: np.ndarray  # (L,) label ranks sorted by topic
    topic_cumulative: np.ndarray  # (L+1,) cumulative weight in that order
    topic_start: np.ndarray  # (T+1,) where each topic starts in that order
    label_terms: np.ndarray  # (L, TERMS_A_LABEL) term ranks
    topic_terms: np.ndarray  # (T, TERMS_A_TOPIC) term ranks
    twin: np.ndarray  # (N,) the rank of the twin that accompanies a term, or -1
    original: np.ndarray  # (N,) a twin's original, else the rank itself
    idf: np.ndarray  # (N,) by rank, float32
    draws: float  # label draws for each label that is to remain in Y


@lru_cache(maxsize=2)
def _model(size: Shape, seed: int) -> _Model:
    """Everything that all rows share. It is kept for the last shapes, because each side and each block needs it."""
    rng = np.random.default_rng([seed, 0])
    N, L = size.n_features, size.n_labels
    term_law = _PowerLaw(N, 1.05, 10.0)
    observed = _PowerLaw(L, 1.1, 5.0).weights
    A, B = PROPENSITY
    expected_count = size.n_train * size.labels * observed
    excess = max(0.0, np.log(size.n_train) - 1) * (B + 1) ** A * (expected_count + B) ** -A
    weights = observed * (1 + excess)  # of z; what the annotators keep has the power law
    weights /= weights.sum()
    n_topics = int(np.clip(L / (10 * size.labels), 4, 1000)) if L >= 4 else 1
    topic = rng.integers(n_topics, size=L)
    by_topic = np.argsort(topic, kind="stable")
    # Characteristic terms are rarer than the background, but overlap with it: a flatter law over the same terms.
    flat = _PowerLaw(N, 0.3, 30.0)
    label_terms = flat.draw(rng, L * TERMS_A_LABEL).reshape(L, TERMS_A_LABEL)
    topic_terms = flat.draw(rng, n_topics * TERMS_A_TOPIC).reshape(n_topics, TERMS_A_TOPIC)
    pairs = rng.permutation(N)[: 2 * round(N * TWIN_FEATURES)].reshape(2, -1)
    twin, original = np.full(N, -1), np.arange(N)
    twin[pairs[0]], original[pairs[1]] = pairs[1], pairs[0]
    model = _Model(
        size=size,
        term_law=term_law,
        term_of_rank=rng.permutation(N),
        label_of_rank=rng.permutation(L),
        kept=1 / (1 + excess),
        topic=topic,
        by_topic=by_topic,
        topic_cumulative=np.concatenate([[0.0], np.cumsum(weights[by_topic])]),
        topic_start=np.searchsorted(topic[by_topic], np.arange(n_topics + 1)),
        label_terms=label_terms,
        topic_terms=topic_terms,
        twin=twin,
        original=original,
        idf=np.empty(0),
        draws=1.0,
    )
    return replace(model, idf=_inverse_document_frequency(model, weights), draws=_calibrate(model, seed))


def _inverse_document_frequency(model: _Model, label_weights: np.ndarray) -> np.ndarray:
    """ln(1 / share of rows with the term), from the model's own probabilities: no pass over the data is needed."""
    N = model.size.n_features
    background, topic, labels = TERM_SHARES
    p = background * model.term_law.weights
    topic_weights = np.bincount(model.topic, label_weights, minlength=len(model.topic_terms))
    for share, terms, weights in (
        (labels, model.label_terms, label_weights),
        (topic, model.topic_terms, topic_weights),
    ):
        ranks = _rank_weights(terms.shape[1])
        p += share * np.bincount(terms.ravel(), np.outer(weights, ranks).ravel(), minlength=N)
    twins = model.original != np.arange(N)
    p[model.original[twins]] += p[twins]
    p[twins] = p[model.original[twins]]
    return np.log(1 / -np.expm1(-model.size.terms * p) + 1).astype(np.float32)


def _rank_weights(n: int) -> np.ndarray:
    """P(floor(n u²) = k) = √((k+1)/n) − √(k/n): the weights of a vocabulary's terms as `_block` draws them."""
    return np.diff(np.sqrt(np.arange(n + 1) / n))


def _calibrate(model: _Model, seed: int) -> float:
    """Label draws for each label that is to remain in Y after merging and forgetting, by a few pilot blocks."""
    draws, rows = 1.0, 2048
    for number in range(8):
        rng = np.random.default_rng([seed, 3, number])
        _, _, kept, _ = _labels(replace(model, draws=draws), rows, rng)
        draws = min(MOST_DRAWS, draws * model.size.labels * rows / kept.sum())
    return draws


def _labels(
    model: _Model, rows: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """z of some rows: label ranks (merged, sorted), where each row starts, which of them Y keeps, each row's topic."""
    L = model.size.n_labels
    count = 1 + rng.poisson(max(0.0, model.size.labels * model.draws - 1) * rng.gamma(4.0, 0.25, rows))
    first = model.by_topic[_draw_from(model, rng, np.zeros(rows, np.int64), np.full(rows, L))]
    topic = model.topic[first]
    row = np.repeat(np.arange(rows), count - 1)
    local = rng.random(row.size) >= GLOBAL_LABEL_SHARE
    low = np.where(local, model.topic_start[topic[row]], 0)
    high = np.where(local, model.topic_start[topic[row] + 1], L)
    label = model.by_topic[_draw_from(model, rng, low, high)]
    keys, _ = _merge(np.concatenate([np.arange(rows), row]) * L + np.concatenate([first, label]))
    label = keys % L
    return label, np.searchsorted(keys, np.arange(rows + 1) * L), rng.random(label.size) < model.kept[label], topic


def _draw_from(model: _Model, rng: np.random.Generator, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """One place in `by_topic` for each pair of bounds, drawn by weight from start ≤ place < end."""
    low, high = model.topic_cumulative[start], model.topic_cumulative[end]
    at = np.searchsorted(model.topic_cumulative, low + rng.random(start.size) * (high - low), side="right") - 1
    return np.clip(at, start, end - 1)


def _merge(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct keys in order, and how often each occurs. Sorts its argument in place."""
    keys.sort()
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if keys.size else np.empty(0, np.int64)
    return keys[starts], np.diff(starts, append=keys.size)


def _block(model: _Model, rows: int, start: int, rng: np.random.Generator) -> SyntheticBlock:
    N, L = model.size.n_features, model.size.n_labels
    labels, label_start, kept, topic = _labels(model, rows, rng)
    length = np.maximum(1, rng.poisson(model.size.terms * rng.gamma(4.0, 0.25, rows)))
    row = np.repeat(np.arange(rows), length)
    source = rng.random(row.size)
    background, topical, _ = TERM_SHARES
    term = np.empty(row.size, np.int64)

    where = source < background
    term[where] = model.term_law.draw(rng, int(where.sum()))
    where = (source >= background) & (source < background + topical)
    term[where] = model.topic_terms[topic[row[where]], _draw_ranks(rng, int(where.sum()), TERMS_A_TOPIC)]
    where = source >= background + topical
    own = row[where]
    count = np.diff(label_start)[own]
    label = labels[label_start[own] + (rng.random(own.size) * count).astype(np.int64)]
    term[where] = model.label_terms[label, _draw_ranks(rng, own.size, TERMS_A_LABEL)]

    term = model.original[term]
    paired = model.twin[term] >= 0
    row, term = np.concatenate([row, row[paired]]), np.concatenate([term, model.twin[term[paired]]])
    keys, counts = _merge(row * N + term)
    term = keys % N
    values = (1 + np.log(counts, dtype=np.float32)) * model.idf[term]
    indptr = np.searchsorted(keys, np.arange(rows + 1) * N)
    X = sparse.csr_array((values, model.term_of_rank[term].astype(np.int32), indptr.astype(np.int32)), shape=(rows, N))
    ranks = model.label_of_rank[labels[kept]].astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(kept)])[label_start].astype(np.int32)
    Y = sparse.csr_array((np.ones(ranks.size, np.float32), ranks, indptr), shape=(rows, L))
    alone = np.empty(N, bool)
    alone[model.term_of_rank] = (model.twin < 0) & (model.original == np.arange(N))
    return _spoil(X, Y, alone, start, rng)


def _draw_ranks(rng: np.random.Generator, count: int, n: int) -> np.ndarray:
    return (n * rng.random(count) ** 2).astype(np.int64)


def _spoil(
    X: sparse.csr_array, Y: sparse.csr_array, alone: np.ndarray, start: int, rng: np.random.Generator
) -> SyntheticBlock:
    """Makes some rows near-duplicates of earlier ones, empties others, and scales all rows to unit length."""
    rows = X.shape[0]
    origin = np.arange(rows)
    copies = np.flatnonzero(rng.random(rows) < NEAR_DUPLICATES)
    copies = copies[copies > 0]
    origin[copies] = (rng.random(copies.size) * copies).astype(np.int64)
    # A copy of a copy belongs to the first one's family; the loop ends because origins only go down.
    while (origin != origin[origin]).any():
        origin = origin[origin]
    X, Y = X[origin], Y[origin]
    per_row = np.diff(X.indptr)
    copied = np.repeat(origin != np.arange(rows), per_row) & alone[X.indices]  # twins stay equal
    X.data[copied] *= rng.normal(1, 0.01, int(copied.sum())).astype(np.float32)
    if rows >= 100:
        empty = rng.choice(np.setdiff1d(np.arange(rows), origin[copies]), 2 * max(1, round(rows * EMPTY_ROWS)), False)
        no_features, no_labels = np.split(empty, 2)
        X, Y = _without(X, no_features), _without(Y, no_labels)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), np.float64)).ravel()
    X.data /= np.repeat(np.where(norms > 0, norms, 1), np.diff(X.indptr)).astype(np.float32)
    X.sort_indices()
    Y.sort_indices()
    return SyntheticBlock(X, Y, start + origin)


def _without(matrix: sparse.csr_array, rows: np.ndarray) -> sparse.csr_array:
    """The matrix with the given rows emptied."""
    keep = np.ones(matrix.shape[0], bool)
    keep[rows] = False
    per_row = np.diff(matrix.indptr)
    stored = np.repeat(keep, per_row)
    indptr = np.concatenate([[0], np.cumsum(per_row * keep)]).astype(matrix.indptr.dtype)
    return sparse.csr_array((matrix.data[stored], matrix.indices[stored], indptr), shape=matrix.shape)
