"""What a factorisation would cost, before anything expensive is done, and what to do instead where it is too much.

Sizes and bytes follow from shapes; they count what is in memory at the worst moment. Seconds are rough: operations by
how many of them this machine does in a second, measured on a product of two matrices. With r the size of the Gram
matrix and R the float32 operations a second of all cores (half of it in float64), what was measured at r = 15,449 on
two cores gives

    Cholesky factor 0.45 r³ / R,    eigendecomposition 16 r³ / R,    a product of m columns 2 r² m / R

The eigendecomposition is made on one core, behind the page, so that the other answers. A scattered product of two
sparse entries takes about as long as forty operations of a dense product.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_number, as_whole
from xmlcore.dataset import Dataset
from xmlcore.eigen import FLOAT64_LIMIT, LARGEST_SIZE
from xmlcore.embeddings import MODEL_WIDTH, shipped_width
from xmlcore.features import LARGEST_DIRECTIONS
from xmlcore.matrices import as_blocks
from xmlcore.memory import free_memory
from xmlcore.products import SCATTERED_AS_DENSE
from xmlcore.range_finder import BLOCK_BYTES
from xmlcore.recipe import FeatureRecipe
from xmlcore.units import in_units

COMFORTABLE_SECONDS = 60.0
_CHOLESKY, _EIGH = 0.45, 16.0
_DENSE_SVD_OVERSAMPLES, _DENSE_SVD_PRODUCTS = 10, 12  # scikit-learn's: five power iterations of two products, and two
# Of a sparse X, `range_finder`: twice four passes, the Ritz values, and what applies the directions to all rows.
_SVD_PRODUCTS = 14
_SVD_FACTORS, _SVD_SMALL = 40, 300  # operations on D×k and on k×k, each times its size and k
# The matrix, two of its size that the divide-and-conquer driver wants, and the Gram matrix that `DirectSolver` keeps
# meanwhile; the eigenvectors beside these, where a decomposition in float32 is refined in nearly all directions.
_WORKSPACE = {"float64": 4, "float32": 5}
_MARGIN = 0.85  # of the free memory: interpreter, other visitors, and the system want some
_LADDERS = {
    "svd": (3000, 2000, 1000, 500, 300, 100),
    "project": (8000, 5000, 3000, 2000, 1000, 500),
    "terms": (20_000, 10_000, 5000, 3000, 2000, 1000),
    "sample": (30_000, 20_000, 10_000, 5000, 2000, 1000),
}


@dataclass(frozen=True, eq=False)
class BlockOutline:
    """One feature block of the training instances: its width, and what its products would take.

    Attributes:
        width: features. column_counts: rows in which each is not zero, shape (width,), or None for a dense block.
        row_pairs: Σ_i n_i² over rows with n_i entries; 0 for a dense block.
    """

    width: int
    column_counts: np.ndarray | None
    row_pairs: int

    @property
    def is_sparse(self) -> bool:
        """Whether only its entries are stored."""
        return self.column_counts is not None

    @property
    def n_entries(self) -> int:
        """Stored entries of a sparse block; 0 for a dense one."""
        return int(self.column_counts.sum()) if self.is_sparse else 0


@dataclass(frozen=True, eq=False)
class Outline:
    """The shapes of a data set, from which the cost of any recipe follows without the data.

    Attributes:
        n_train, n_test, n_labels: D, n and L.
        blocks: one for each feature block, as it is.
        n_assignments: entries of Y_train.
        embedding_width: features that the step lm would add.
    """

    n_train: int
    n_test: int
    n_labels: int
    blocks: tuple[BlockOutline, ...]
    n_assignments: int
    embedding_width: int = MODEL_WIDTH

    @property
    def n_features(self) -> int:
        """N."""
        return sum(block.width for block in self.blocks)


def outline(ds: Dataset) -> Outline:
    """The outline of a data set. Raises DataError where its features were changed to what `Dataset` refuses."""
    blocks = []
    for block in as_blocks(ds.X_train):
        if sparse.issparse(block):
            per_row = np.diff(block.indptr).astype(np.int64)
            counts = np.bincount(block.indices, minlength=block.shape[1]).astype(np.int64)
            blocks.append(BlockOutline(block.shape[1], counts, int(per_row @ per_row)))
        else:
            blocks.append(BlockOutline(block.shape[1], None, 0))
    own_texts = ds.train_texts is not None and ds.test_texts is not None
    embedding_width = MODEL_WIDTH if own_texts else shipped_width(ds.name) or MODEL_WIDTH
    return Outline(ds.n_train, ds.n_test, ds.n_labels, tuple(blocks), int(ds.Y_train.nnz), embedding_width)


@dataclass(frozen=True)
class Cost:
    """What a recipe and the factorisation after it would take.

    Attributes:
        form: "primal" (XᵀX) or "dual" (XXᵀ), the smaller one; size: r, its rows.
        precision: in which it is decomposed.
        gram_bytes: of the matrix, in that precision. peak_bytes: of everything at the worst moment, beside the data set
            itself.
        feature_bytes: of X, train and test, once the recipe is done.
        reduction_seconds, gram_seconds, cholesky_seconds: rough, on all of the machine's cores.
        eigh_seconds: rough, on one core; up to 2.5 times as much in float32 where most rows are near-duplicates.
        free_bytes: memory that was free when this was computed.
        too_large: r is more than the decomposition can take at all.
    """

    form: str
    size: int
    precision: str
    gram_bytes: int
    peak_bytes: int
    feature_bytes: int
    reduction_seconds: float
    gram_seconds: float
    cholesky_seconds: float
    eigh_seconds: float
    free_bytes: int
    too_large: bool

    @property
    def fits(self) -> bool:
        """Whether it can be done on this machine now."""
        return not self.too_large and self.peak_bytes <= _MARGIN * self.free_bytes

    @property
    def seconds(self) -> float:
        """Rough seconds until every λ is cheap: features, Gram matrix and eigendecomposition."""
        return self.reduction_seconds + self.gram_seconds + self.eigh_seconds

    @property
    def comfortable(self) -> bool:
        """Whether it fits and takes no more than a minute or so."""
        return self.fits and self.seconds <= COMFORTABLE_SECONDS

    @property
    def problem(self) -> str:
        """Why it cannot be done, in a sentence; empty where it can."""
        if self.too_large:
            return f"a matrix of size {self.size:,} is to be factorised; at most {LARGEST_SIZE:,} is possible"
        if not self.fits:
            return (
                f"factorising a matrix of size {self.size:,} takes about {in_units(self.peak_bytes)} of memory; "
                f"{in_units(self.free_bytes)} are free"
            )
        return ""


_quickest: list[float] = []


def operations_per_second() -> float:
    """float32 operations a second of a dense product on this machine: the best so far, measured anew at each call.

    What else runs at the moment can only slow one product; the first call takes three.
    """
    A = np.random.default_rng(0).standard_normal((768, 768), dtype=np.float32)
    seconds = []
    for _ in range(1 if _quickest else 3):
        started = time.perf_counter()
        A @ A
        seconds.append(time.perf_counter() - started)
    _quickest[:] = [min([*_quickest, *seconds])]
    return 2 * 768**3 / _quickest[0]


def factorization_cost(
    shapes: Outline,
    recipe: FeatureRecipe | str,
    *,
    n_train: int | None = None,
    free_bytes: int | None = None,
    rate: float | None = None,
) -> Cost:
    """The cost of the recipe's features and of the factorisation of the matrix that they give.

    Args:
        shapes: the outline of the data set with its features as given.
        recipe: the recipe or its text.
        n_train: training instances in a sample, at least 1, where not all are to be used.
        free_bytes: memory that may be used; None asks the system.
        rate: float32 operations a second; None measures.

    Raises DataError for what is no recipe, n_train < 1 and rate ≤ 0.
    """
    recipe = FeatureRecipe.parse(recipe)
    rate = operations_per_second() if rate is None else as_number(rate, "rate", above=0)
    free_bytes = free_memory() if free_bytes is None else free_bytes
    D = shapes.n_train if n_train is None else min(as_whole(n_train, "n_train", at_least=1), shapes.n_train)
    made = _sampled(_after(shapes.blocks, recipe, shapes), D / max(shapes.n_train, 1))
    N = sum(block.width for block in made)
    dual = N > D
    size = min(D, N)
    wide = size <= FLOAT64_LIMIT
    precision = "float64" if wide else "float32"
    item, speed = (8, rate / 2) if wide else (4, rate)
    rows = D + shapes.n_test
    feature_bytes = sum(
        int(8 * block.n_entries * rows / max(D, 1)) if block.is_sparse else 4 * rows * block.width for block in made
    )
    reduction_seconds, reduction_bytes = _reduction(shapes, recipe, D, rate)
    gram = item * size * size
    evaluated = 4 * size * min(shapes.n_test, 20_000)
    label_coefficients = min(4 * size * shapes.n_labels, free_bytes // 4)
    refined = 0 if wide else feature_bytes  # a float32 decomposition is refined by products with X: a copy of it
    work = max(_WORKSPACE[precision] * gram + refined, gram // 2 + gram + label_coefficients + evaluated)
    return Cost(
        form="dual" if dual else "primal",
        size=size,
        precision=precision,
        gram_bytes=gram,
        peak_bytes=feature_bytes + max(work, reduction_bytes),
        feature_bytes=feature_bytes,
        reduction_seconds=reduction_seconds,
        gram_seconds=_gram_operations(made, D, dual) / speed,
        cholesky_seconds=_CHOLESKY * size**3 / speed + 2 * size**2 * min(shapes.n_test, shapes.n_labels) / speed,
        eigh_seconds=_EIGH * size**3 / speed,
        free_bytes=free_bytes,
        too_large=size > LARGEST_SIZE,
    )


def _after(blocks: Sequence[BlockOutline], recipe: FeatureRecipe, shapes: Outline) -> list[BlockOutline]:
    """The blocks that the recipe makes of those given."""
    made = [_frequent(block, recipe.terms) for block in blocks]
    if width := recipe.svd or recipe.project:
        dense = [block for block in made if not block.is_sparse]
        made = [BlockOutline(width, None, 0), *(dense if len(dense) < len(made) else [])]
    if recipe.lm is not None:
        made = [*made, BlockOutline(shapes.embedding_width, None, 0)]
    return made


def _frequent(block: BlockOutline, terms: int | None) -> BlockOutline:
    if terms is None or not block.is_sparse or terms >= block.width:
        return block
    kept = np.sort(block.column_counts)[::-1][:terms]
    share = kept.sum() / max(block.n_entries, 1)
    return BlockOutline(terms, kept, int(block.row_pairs * share**2))


def _sampled(blocks: Sequence[BlockOutline], share: float) -> list[BlockOutline]:
    if share >= 1:
        return list(blocks)
    return [
        block
        if not block.is_sparse
        else BlockOutline(block.width, (block.column_counts * share).astype(np.int64), int(block.row_pairs * share))
        for block in blocks
    ]


def _gram_operations(blocks: Sequence[BlockOutline], D: int, dual: bool) -> float:
    """Operations of the lower half of the Gram matrix, scattered ones by their weight."""
    total, dense = 0.0, sum(block.width for block in blocks if not block.is_sparse)
    for block in blocks:
        if not block.is_sparse:
            continue
        if dual:
            counts = block.column_counts.astype(np.float64)
            # A column is summed in the cheaper of two ways.
            total += np.minimum(SCATTERED_AS_DENSE * counts**2, float(D) ** 2).sum()
        else:
            total += min(SCATTERED_AS_DENSE * float(block.row_pairs), float(D) * block.width**2)
            total += 2.0 * SCATTERED_AS_DENSE * block.n_entries * dense
    return total + (float(D) ** 2 * dense if dual else float(D) * dense**2)


def _reduction(shapes: Outline, recipe: FeatureRecipe, D: int, rate: float) -> tuple[float, int]:
    """Rough seconds and bytes of the SVD or the projection, beside its result."""
    k = recipe.svd or recipe.project
    if k is None:
        return 0.0, 0
    blocks = [_frequent(block, recipe.terms) for block in shapes.blocks]
    reduced = [block for block in blocks if block.is_sparse] or blocks
    width = sum(block.width for block in reduced)
    entries = sum(D * block.width if not block.is_sparse else block.n_entries for block in reduced)
    if recipe.project:
        # a projection has √width entries for each of its k rows
        return 2.0 * SCATTERED_AS_DENSE * entries * k / np.sqrt(max(width, 1)) / rate, int(12 * k * np.sqrt(width))
    if not reduced[0].is_sparse:
        columns = k + _DENSE_SVD_OVERSAMPLES
        operations = 2.0 * _DENSE_SVD_PRODUCTS * (entries + (D + width) * columns) * columns
        return operations / rate, 3 * 8 * (D + width) * columns
    columns = min(k + k // 20 + 10, D, width)
    products = 2.0 * SCATTERED_AS_DENSE / 4 * _SVD_PRODUCTS * entries * columns
    factors = float(_SVD_FACTORS * D + _SVD_SMALL * columns) * columns**2
    block, directions = min(4 * max(D, width) * columns, BLOCK_BYTES), 4 * width * k
    kept = directions if directions <= LARGEST_DIRECTIONS else 0
    return (products + factors) / rate, 4 * D * columns + 8 * entries + 32 * columns**2 + 3 * block + kept


@dataclass(frozen=True)
class Alternative:
    """Something to do instead.

    Attributes:
        kind: "svd", "project", "terms" or "sample".
        title: what it is, in a few words.
        recipe: the recipe to use.
        n_train: so many training instances drawn at random; None for all.
        cost: what it would take.
    """

    kind: str
    title: str
    recipe: FeatureRecipe
    n_train: int | None
    cost: Cost


def alternatives(
    shapes: Outline,
    recipe: FeatureRecipe | str,
    *,
    free_bytes: int | None = None,
    rate: float | None = None,
) -> tuple[Alternative, ...]:
    """What to do instead of a recipe that costs too much: of each kind the largest that fits and takes at most
    a minute, or the smallest one that fits; kinds that cannot help are left out."""
    recipe = FeatureRecipe.parse(recipe)
    rate = operations_per_second() if rate is None else rate
    free_bytes = free_memory() if free_bytes is None else free_bytes
    present = factorization_cost(shapes, recipe, free_bytes=free_bytes, rate=rate)
    found = []
    for kind, ladder in _LADDERS.items():
        fitting = None
        for k in ladder:
            candidate = _candidate(shapes, recipe, kind, k, free_bytes, rate)
            if candidate is None or not candidate.cost.fits or candidate.cost.size >= present.size:
                continue
            fitting = candidate
            if candidate.cost.comfortable:
                break
        if fitting is not None:
            found.append(fitting)
    return tuple(found)


def _candidate(
    shapes: Outline, recipe: FeatureRecipe, kind: str, k: int, free_bytes: int, rate: float
) -> Alternative | None:
    is_sparse = [block.is_sparse for block in shapes.blocks]
    reducible = sum(block.width for block, s in zip(shapes.blocks, is_sparse, strict=True) if s or not any(is_sparse))
    n_train = None
    if kind == "sample":
        if k >= shapes.n_train:
            return None
        n_train, title = k, f"A sample of {k:,} training instances"
    elif kind == "terms":
        if not any(is_sparse) or k >= max(b.width for b in shapes.blocks):
            return None
        recipe, title = replace(recipe, terms=k), f"The {k:,} most frequent features"
        title += " of each sparse block" if sum(is_sparse) > 1 else ""
    else:
        if k >= min(reducible, shapes.n_train if kind == "svd" else reducible):
            return None
        recipe = replace(recipe, svd=None, project=None) if kind == "svd" else replace(recipe, svd=None)
        recipe = replace(recipe, **{kind: k})
        title = f"{'SVD' if kind == 'svd' else 'Random projection'} to {k:,} dimensions"
    cost = factorization_cost(shapes, recipe, n_train=n_train, free_bytes=free_bytes, rate=rate)
    return Alternative(kind, title, recipe, n_train, cost)


def refuse_unfitting(ds: Dataset, recipe: FeatureRecipe | str) -> None:
    """Raises DataError, with what to do instead, where the recipe's matrix cannot be factorised on this machine."""
    shapes = outline(ds)
    cost = factorization_cost(shapes, recipe)
    if cost.fits:
        return
    instead = [
        f"features = {other.recipe}" if other.n_train is None else other.title.lower()
        for other in alternatives(shapes, recipe)
    ]
    advice = f"; possible instead: {', or '.join(instead)}" if instead else "; take a smaller data set"
    raise DataError(f"{cost.problem}{advice}")
