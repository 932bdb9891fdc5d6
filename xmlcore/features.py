"""Raw features into X by a recipe: everything is learned from the training rows, and new rows take the same steps.

TF-IDF is sublinear and smoothed, as scikit-learn's `TfidfTransformer(sublinear_tf=True, norm=None)`: a term that occurs
c > 0 times in a row, and in n_t of D training rows, becomes

    (1 + ln c) · (1 + ln((1 + D) / (1 + n_t)))

Sparse features are reduced by the range finder of `xmlcore.range_finder`, dense ones by scikit-learn's randomized SVD,
which is imported only there: the import takes two seconds, of every first start.

Blocks side by side, as in the paper: each block's rows are scaled to unit length, then multiplied by the block's
weight. A weight w counts w² in XXᵀ, so with the weights 1 and 0.7 the second block has a third of a row's squared
length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xmlcore import linalg, products
from xmlcore.checks import DataError, as_list
from xmlcore.dataset import Dataset
from xmlcore.embeddings import embed_texts, shipped_table
from xmlcore.matrices import Block, Features, as_blocks
from xmlcore.progress import Progress, unheard
from xmlcore.projection import random_projection
from xmlcore.range_finder import RangeSVD, truncated_svd
from xmlcore.recipe import FeatureRecipe
from xmlcore.words import count_words

LARGEST_DIRECTIONS = 1 << 30
"""Bytes: a larger V is not kept, but made again from the training rows whenever new rows are reduced."""


@dataclass(frozen=True, eq=False)
class KeptDirections:
    """The directions V, (N, k), that a truncated SVD has found, or a random projection has drawn."""

    V: np.ndarray | sparse.csr_array

    def transform(self, X: Block) -> np.ndarray:
        """X V, (rows, k)."""
        if not sparse.issparse(self.V):
            return products.multiply((X,), self.V)
        projected = X @ self.V
        return projected.toarray() if sparse.issparse(projected) else projected


@dataclass(frozen=True, eq=False)
class FittedFeatures:
    """A recipe with what it learned from the training rows. Call it with raw rows, or give it texts.

    Attributes:
        recipe: the recipe.
        widths: the number of raw features in each block that it expects.
        is_sparse: which blocks are sparse; new rows that have them otherwise are converted.
        vocabulary: the words that are counted in a text, or None where the raw features are no words.
        kept: for each block, the columns that it keeps, or None for all.
        idf: for each block, the second factor of its TF-IDF by feature, float64, or None.
        reducer: the SVD or projection of the joined sparse blocks, or None.
        reduce_embeddings: the full embeddings of texts → the block of the recipe's `lm`, or None.
    """

    recipe: FeatureRecipe
    widths: tuple[int, ...]
    is_sparse: tuple[bool, ...]
    vocabulary: np.ndarray | None
    kept: tuple[np.ndarray | None, ...]
    idf: tuple[np.ndarray | None, ...]
    reducer: KeptDirections | RangeSVD | None
    reduce_embeddings: Callable[[np.ndarray], np.ndarray] | None

    def __call__(self, X: Features, embeddings: np.ndarray | None = None) -> Features:
        """Rows of X from raw rows, (rows, N) in one block or several.

        Args:
            X: raw features, in the blocks of the data set that this was fitted on.
            embeddings: with `lm`, the rows' block of sentence embeddings.

        Raises DataError where blocks or widths differ, embeddings are missing, not wanted or of other rows, counts are
        below 1, or a row is too long to be scaled.
        """
        blocks = as_blocks(X, "X")
        widths = tuple(block.shape[1] for block in blocks)
        if widths != self.widths:
            raise DataError(f"X has {widths} features a block; expected {self.widths}")
        if (embeddings is None) != (self.recipe.lm is None):
            raise DataError(f"embeddings must be given with the step lm, and only then; features is {self.recipe}")
        blocks = tuple(map(_as_kind, blocks, self.is_sparse))
        return _finish(self, _prepare(self, blocks), embeddings)

    def from_texts(self, texts: Sequence[str]) -> Features:
        """Rows of X from texts (documents that somebody typed).

        Words are looked up in lower case. Raises DataError where the data set's features are no words, or two of their
        names the same one (upper and lower case alike), texts is one text or holds something else, or the language
        model is not installed.
        """
        if self.vocabulary is None:
            raise DataError("this data set's features are not words; expected rows of features, not texts")
        if isinstance(texts, str):
            raise DataError("texts is a single text; expected a list of texts")
        texts = as_list(texts, "texts")
        for place, text in enumerate(texts):
            if not isinstance(text, str):
                raise DataError(f"texts holds {type(text).__name__} at place {place}; expected texts")
        counts = count_words(texts, self.vocabulary)
        embeddings = None if self.reduce_embeddings is None else self.reduce_embeddings(embed_texts(texts))
        counts = _as_kind(counts, self.is_sparse[0])
        return _finish(self, _prepare(self, (counts,), kept=False), embeddings)


def fit_features(
    ds: Dataset, recipe: FeatureRecipe | str, progress: Progress = unheard
) -> tuple[Dataset, FittedFeatures]:
    """The data set with X made by the recipe, and what makes X of new rows.

    Args:
        ds: with raw features.
        recipe: a recipe or its text.
        progress: told how far the embedding of texts is, and the SVD, which may take minutes.

    One block stays one block; where dense features stand beside sparse ones, or `lm` adds a block, X is a tuple. The
    new data set keeps everything else of the old one. Raises DataError for a step that does not suit the data.
    """
    recipe = FeatureRecipe.parse(recipe)
    blocks = as_blocks(ds.X_train, "X_train")
    is_sparse = [sparse.issparse(block) for block in blocks]
    for step in ("terms", "tfidf"):
        if getattr(recipe, step) and not any(is_sparse):
            raise DataError(f"features: {step} needs a sparse block; the data set has {len(blocks)} dense")
    if recipe.dense != 1 and (all(is_sparse) or (len(blocks) == 1 and recipe.lm is None)):
        raise DataError(f"features: dense:{recipe.dense:g} needs a dense block beside others; the data set has none")
    if recipe.seed and not (recipe.svd or recipe.project):
        raise DataError(f"features: seed:{recipe.seed} needs svd or project; features is {recipe}")
    kept = tuple(_frequent(block, recipe.terms) if s else None for block, s in zip(blocks, is_sparse, strict=True))
    cut = _cut(blocks, kept)
    idf = tuple(_fit_idf(block) if s and recipe.tfidf else None for block, s in zip(cut, is_sparse, strict=True))
    train_lm, test_lm, reduce_embeddings = _embeddings(ds, progress) if recipe.lm is not None else (None, None, None)
    fitted = FittedFeatures(
        recipe=recipe,
        widths=tuple(block.shape[1] for block in blocks),
        is_sparse=tuple(is_sparse),
        vocabulary=_vocabulary(ds, kept),
        kept=kept,
        idf=idf,
        reducer=None,
        reduce_embeddings=reduce_embeddings,
    )
    prepared = _prepare(fitted, blocks)
    if recipe.svd is not None or recipe.project is not None:
        fitted = replace(fitted, reducer=_fit_reducer(recipe, _to_reduce(prepared)[0], progress))
    X_train = _finish(fitted, prepared, train_lm)
    made = replace(
        ds,
        X_train=X_train,
        X_test=fitted(ds.X_test, test_lm),
        feature_names=_feature_names(ds, fitted, is_sparse, as_blocks(X_train, "X_train")),
        feature_kind=ds.feature_kind if recipe == FeatureRecipe() else "values",
    )
    return made, fitted


def _frequent(block: Block, terms: int | None) -> np.ndarray | None:
    """The columns with the most non-zero rows, in their own order; ties to the lower column."""
    if terms is None or terms >= block.shape[1]:
        return None
    rows = np.bincount(block.indices[block.data != 0], minlength=block.shape[1])
    return np.sort(np.argsort(-rows, kind="stable")[:terms])


def _cut(blocks: Sequence[Block], kept: Sequence[np.ndarray | None]) -> list[Block]:
    return [block if columns is None else block[:, columns] for block, columns in zip(blocks, kept, strict=True)]


def _fit_idf(block: sparse.csr_array) -> np.ndarray:
    _check_counts(block)
    rows = np.bincount(block.indices[block.data != 0], minlength=block.shape[1])
    return 1 + np.log((1 + block.shape[0]) / (1 + rows))


def _tfidf(block: sparse.csr_array, idf: np.ndarray) -> sparse.csr_array:
    _check_counts(block)
    weighted = sparse.csr_array(block, copy=True)
    weighted.eliminate_zeros()
    weighted.data = ((1 + np.log(weighted.data)) * idf[weighted.indices]).astype(block.dtype)
    return weighted


def _check_counts(block: sparse.csr_array) -> None:
    # The logarithm would turn values below 1 into negative weights without a word.
    if (least := block.data[block.data != 0].min(initial=1)) < 1:
        raise DataError(f"features: tfidf needs counts of 1 or more; X holds {least:g}")


def _vocabulary(ds: Dataset, kept: tuple[np.ndarray | None, ...]) -> np.ndarray | None:
    if ds.feature_kind != "counts" or ds.feature_names is None or len(kept) != 1:
        return None
    return ds.feature_names if kept[0] is None else ds.feature_names[kept[0]]


def _as_kind(block: Block, is_sparse: bool) -> Block:
    """The block as sparse, or as dense, as that of the training rows is."""
    if sparse.issparse(block) == is_sparse:
        return block
    return sparse.csr_array(block) if is_sparse else block.toarray()


def _fit_reducer(recipe: FeatureRecipe, X: Block, progress: Progress) -> KeptDirections | RangeSVD:
    step, k, limit = ("svd", recipe.svd, min(X.shape)) if recipe.svd else ("project", recipe.project, X.shape[1])
    if k > limit:
        raise DataError(f"features: {step}:{k} is too many; {X.shape[0]} rows of {X.shape[1]} features give {limit}")
    if step == "project":
        return KeptDirections(random_projection(X.shape[1], k, recipe.seed))
    if not sparse.issparse(X):
        if not linalg.check_scale((X,), np.float32):
            raise DataError("X holds only zeros; expected at least one feature that is not zero")
        from sklearn.utils.extmath import randomized_svd

        return KeptDirections(randomized_svd(X, k, n_iter=5, random_state=recipe.seed)[2].T.astype(np.float32))
    # scikit-learn's keeps several dense arrays of N×k: for wide data more than there is, and a multiple of the time.
    svd = truncated_svd(X, k, seed=recipe.seed, progress=lambda stage, part: progress(f"SVD, {stage}", part))
    if 4 * X.shape[1] * k > LARGEST_DIRECTIONS:
        return svd
    return KeptDirections(svd.transform(sparse.eye_array(X.shape[1], dtype=np.float32, format="csr")))


def _prepare(fitted: FittedFeatures, blocks: Sequence[Block], kept: bool = True) -> list[Block]:
    """The steps up to unit length, block by block."""
    prepared = []
    for block, idf in zip(_cut(blocks, fitted.kept) if kept else blocks, fitted.idf, strict=True):
        if idf is not None:
            block = _tfidf(block, idf)
        prepared.append(_unit(block) if fitted.recipe.unit else block)
    return prepared


def _to_reduce(blocks: Sequence[Block]) -> tuple[Block, list[Block]]:
    """The sparse blocks joined, or the dense ones where there are no others; and the rest."""
    sparse_ones = [block for block in blocks if sparse.issparse(block)]
    dense_ones = [block for block in blocks if not sparse.issparse(block)]
    if sparse_ones:
        return sparse.csr_array(sparse.hstack(sparse_ones)) if len(sparse_ones) > 1 else sparse_ones[0], dense_ones
    return np.hstack(dense_ones), []


def _finish(fitted: FittedFeatures, blocks: Sequence[Block], embeddings: np.ndarray | None) -> Features:
    """The steps from reduction on."""
    recipe = fitted.recipe
    weights = [1.0 if sparse.issparse(block) else recipe.dense for block in blocks]
    if fitted.reducer is not None:
        joined, rest = _to_reduce(blocks)
        blocks = [fitted.reducer.transform(joined).astype(np.float32, copy=False), *rest]
        weights = [1.0] + [recipe.dense] * len(rest)
    if embeddings is not None:
        if embeddings.shape[0] != blocks[0].shape[0]:
            raise DataError(f"embeddings has {embeddings.shape[0]} rows and X {blocks[0].shape[0]}; expected the same")
        blocks, weights = [*blocks, embeddings], [*weights, recipe.lm]
    if len(blocks) == 1:
        return blocks[0]
    return tuple(_unit(block, weight) for block, weight in zip(blocks, weights, strict=True))


def _unit(block: Block, weight: float = 1.0) -> Block:
    """Rows of length `weight`; those of zeros stay.

    Raises DataError for a row whose squared length is beyond float64's range.
    """
    divisor = _lengths(block) / weight
    divisor[divisor == 0] = 1
    # Divided in float64 and rounded once: float32 has no room for the length, or its inverse, of every float32 row.
    if not sparse.issparse(block):
        return np.divide(block, divisor[:, None], out=np.empty_like(block), casting="same_kind")
    scaled = sparse.csr_array(block, copy=True)
    np.divide(block.data, np.repeat(divisor, np.diff(block.indptr)), out=scaled.data, casting="same_kind")
    return scaled


def _lengths(block: Block) -> np.ndarray:
    """The Euclidean length of each row, shape (rows,), float64. The block, which threads may share, is only read."""
    with np.errstate(over="ignore"):
        if sparse.issparse(block):
            squares = np.zeros(block.shape[0])
            filled = np.flatnonzero(np.diff(block.indptr))  # reduceat gives an empty row the next row's first entry
            squares[filled] = np.add.reduceat(np.square(block.data, dtype=np.float64), block.indptr[filled])
        else:
            squares = np.einsum("ij,ij->i", block, block, dtype=np.float64)
    if not np.isfinite(squares).all():
        row = np.flatnonzero(~np.isfinite(squares))[0]
        raise DataError(f"features: row {row} of X is too long to be scaled; expected values below 1e150")
    return np.sqrt(squares)


def _embeddings(ds: Dataset, progress: Progress) -> tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """The embeddings of the training and test instances, and what makes the same of new texts' embeddings.

    Those of the data set's own texts where it has any, else the shipped ones (`cost.outline` foretells their width).
    """
    if ds.train_texts is not None and ds.test_texts is not None:
        both = embed_texts([*ds.train_texts, *ds.test_texts], progress)
        return both[: ds.n_train], both[ds.n_train :], np.asarray
    table = shipped_table(ds.name)
    if table is not None and ds.train_names is not None and ds.test_names is not None:
        train, test = table.rows(ds.train_names), table.rows(ds.test_names)
        if train is not None and test is not None:
            return train, test, table.reduce
    raise DataError(f"features: lm needs texts to embed; the data set {ds.name} has none")


def _feature_names(
    ds: Dataset, fitted: FittedFeatures, is_sparse: Sequence[bool], made: Sequence[Block]
) -> np.ndarray | None:
    if ds.feature_names is None:
        return None
    ends = np.cumsum(fitted.widths)
    blocks = [ds.feature_names[end - width : end] for end, width in zip(ends, fitted.widths, strict=True)]
    names = [n if kept is None else n[kept] for n, kept in zip(blocks, fitted.kept, strict=True)]
    if fitted.reducer is not None:
        word = "component" if fitted.recipe.svd else "projection"
        rest = [n for n, s in zip(names, is_sparse, strict=True) if not s] if any(is_sparse) else []
        names = [_numbered(word, made[0].shape[1]), *rest]
    if fitted.recipe.lm is not None:
        names.append(_numbered("language model", made[-1].shape[1]))
    return np.concatenate(names)


def _numbered(word: str, count: int) -> np.ndarray:
    return np.array([f"{word} {number}" for number in range(1, count + 1)])
