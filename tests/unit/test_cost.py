"""What a factorisation would cost: sizes, bytes and choices against what really is made."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.memory import peak_bytes
from xmlcore import (
    DataError,
    Dataset,
    DirectSolver,
    FeatureRecipe,
    RidgeFactorization,
    fit_features,
    inverse_propensity,
    load_dataset,
    metric_inverse_propensity,
)
from xmlcore.cost import (
    BlockOutline,
    Outline,
    alternatives,
    factorization_cost,
    operations_per_second,
    outline,
    refuse_unfitting,
)
from xmlcore.eigen import FLOAT64_LIMIT, LARGEST_SIZE
from xmlcore.matrices import as_blocks
from xmlcore.sampling import sample_training
from xmlcore.synthetic import make_dataset

FREE, RATE = 64 << 30, 1e11


def dataset(rows=50, columns=30, dense=0, seed=0) -> Dataset:
    rng = np.random.default_rng(seed)

    def side(n):
        counts = sparse.random_array(
            (n, columns), density=0.3, rng=rng, data_sampler=lambda size: np.ones(size)
        ).tocsr()
        return (counts, rng.standard_normal((n, dense)).astype(np.float32)) if dense else counts

    Y = sparse.csr_array((rng.random((rows + 10, 6)) < 0.4).astype(np.float32))
    return Dataset("made", side(rows), Y[:rows], side(10), Y[rows:], train_names=np.arange(rows).astype(str))


def amazoncat() -> Outline:
    """About AmazonCat-13K's shape."""
    counts = np.maximum((7e6 / np.arange(1, 203_883)), 1).astype(np.int64)
    return Outline(1_186_239, 306_782, 13_330, (BlockOutline(203_882, counts, 9_000_000_000),), 6_000_000)


def test_an_outline_counts_what_is_in_the_matrices():
    ds = dataset(dense=4)
    found = outline(ds)
    X = ds.X_train[0].toarray()
    assert (found.n_train, found.n_test, found.n_features, found.n_labels) == (50, 10, 34, 6)
    assert found.blocks[0].column_counts.tolist() == (X != 0).sum(axis=0).tolist()
    assert found.blocks[0].row_pairs == ((X != 0).sum(axis=1) ** 2).sum()
    assert found.blocks[1].column_counts is None
    assert found.n_assignments == ds.Y_train.nnz


@given(
    st.sampled_from([(50, 30), (20, 30)]),
    st.sampled_from([0, 4]),
    st.sampled_from(["raw", "tfidf+unit", "terms:12", "svd:7", "project:9", "terms:15+tfidf+unit+svd:5"]),
)
@settings(max_examples=30, deadline=None)
def test_the_size_foretold_is_that_of_the_matrix_that_is_factorised(shape, dense, recipe):
    ds = dataset(*shape, dense)
    cost = factorization_cost(outline(ds), recipe, free_bytes=FREE, rate=RATE)
    made, _ = fit_features(ds, recipe)
    fac = RidgeFactorization.fit(made.X_train, made.Y_train)
    assert (cost.size, cost.form, cost.precision) == (fac.size, fac.form, fac.precision)
    assert cost.gram_bytes == 8 * fac.size**2


def test_the_size_foretold_with_a_language_model_is_that_of_the_embeddings_that_are_shipped_or_made(monkeypatch):
    class Model:
        def encode(self, texts, **_):
            return np.ones((len(texts), 384))

    monkeypatch.setattr("xmlcore.embeddings._model", Model)
    debtags, names = load_dataset("debtags", None), {"train_texts": ["text"] * 500, "test_texts": ["text"] * 10}
    # The last has the name of the data set that ships its embeddings, and texts of its own.
    for ds in (debtags, replace(dataset(500), **names), replace(dataset(500), name="debtags", **names)):
        made, _ = fit_features(ds, "unit+lm")
        cost = factorization_cost(outline(ds), "unit+lm", free_bytes=FREE, rate=RATE)
        assert (cost.form, cost.size) == ("primal", made.n_features)


@pytest.mark.parametrize("limit", [FLOAT64_LIMIT, 10], ids=["float64", "float32"])
def test_the_bytes_foretold_cover_what_a_factorisation_takes(limit, monkeypatch):
    monkeypatch.setattr("xmlcore.eigen.FLOAT64_LIMIT", limit)
    monkeypatch.setattr("xmlcore.cost.FLOAT64_LIMIT", limit)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 900)).astype(np.float32)
    X[:, 100:] = X[:, np.arange(800) % 100] + 1e-3 * X[:, 100:]  # small eigenvalues in plenty take most to refine
    Y = sparse.csr_array((rng.random((1200, 5)) < 0.1).astype(np.float32))
    ds = Dataset("dense", X, Y, X[:100], Y[:100])
    cost = factorization_cost(outline(ds), "raw", free_bytes=FREE, rate=RATE)
    RidgeFactorization.fit(X[:50], Y[:50])  # what is compiled and imported once is not counted
    DirectSolver(X[:50], Y[:50]).scores(X[:5], 1.0)

    def as_on_the_page() -> DirectSolver:  # which answers until the factorisation is there
        direct = DirectSolver(X, Y)
        direct.scores(X[:100], 1.0)
        RidgeFactorization.fit(X, Y)
        return direct

    _, peak = peak_bytes(as_on_the_page)
    foretold = cost.peak_bytes - cost.feature_bytes  # X itself was there before
    assert 0.3 * foretold < peak <= 1.2 * foretold


@pytest.mark.parametrize("largest_kept", [1 << 30, 0], ids=["directions kept", "directions made anew"])
def test_the_bytes_foretold_cover_what_the_svd_of_a_wide_matrix_takes(largest_kept, monkeypatch):
    for where in ("cost", "features"):
        monkeypatch.setattr(f"xmlcore.{where}.LARGEST_DIRECTIONS", largest_kept)
    ds = make_dataset("eurlex-4k", scale=0.1)
    fit_features(ds, "svd:20")
    cost = factorization_cost(outline(ds), "svd:200", free_bytes=FREE, rate=RATE)
    _, peak = peak_bytes(lambda: fit_features(ds, "svd:200"))
    assert 0.4 * cost.peak_bytes < peak <= cost.peak_bytes


def test_small_matrices_are_in_float64_and_large_ones_in_float32():
    sizes = {5000: ("float64", 8), 5001: ("float32", 4)}
    for size, (precision, item) in sizes.items():
        of = Outline(10**6, 10, 10, (BlockOutline(size, None, 0),), 10)
        cost = factorization_cost(of, "raw", free_bytes=FREE, rate=RATE)
        assert (cost.precision, cost.gram_bytes) == (precision, item * size**2)


def test_beyond_the_largest_size_nothing_fits_however_much_memory_there_is():
    of = Outline(10**6, 10, 10, (BlockOutline(LARGEST_SIZE + 1, None, 0),), 10)
    cost = factorization_cost(of, "raw", free_bytes=1 << 50, rate=RATE)
    assert cost.too_large
    assert not cost.fits
    assert f"at most {LARGEST_SIZE:,}" in cost.problem


def test_too_little_memory_is_said_with_both_numbers():
    of = Outline(20_000, 10, 10, (BlockOutline(30_000, None, 0),), 10)
    cost = factorization_cost(of, "raw", free_bytes=1_000_000_000, rate=RATE)
    assert not cost.fits
    assert "20,000 takes about" in cost.problem
    assert "1 GB are free" in cost.problem


@given(st.integers(100, 3000), st.integers(100, 3000))
@settings(max_examples=30, deadline=None)
def test_more_features_never_cost_less(small, more):
    def cost(width):
        of = Outline(5000, 100, 50, (BlockOutline(width, None, 0),), 100)
        return factorization_cost(of, "raw", free_bytes=FREE, rate=RATE)

    less, greater = cost(small), cost(small + more)
    assert less.peak_bytes <= greater.peak_bytes
    assert less.eigh_seconds <= greater.eigh_seconds
    assert less.gram_seconds <= greater.gram_seconds


def test_for_a_data_set_of_a_million_rows_every_kind_of_way_out_is_found_and_fits():
    of = amazoncat()
    assert not factorization_cost(of, "unit", free_bytes=FREE, rate=RATE).fits
    found = alternatives(of, "unit", free_bytes=FREE, rate=RATE)
    assert [each.kind for each in found] == ["svd", "project", "terms", "sample"]
    for each in found:
        assert each.cost.fits
        assert each.recipe.unit
        again = factorization_cost(of, each.recipe, n_train=each.n_train, free_bytes=FREE, rate=RATE)
        assert again == each.cost
        assert FeatureRecipe.parse(str(each.recipe)) == each.recipe


def test_with_less_memory_the_ways_out_become_smaller_or_vanish():
    of = amazoncat()
    for free in (8 << 30, 2 << 30, 1 << 28, 1 << 20):
        assert all(each.cost.peak_bytes <= free for each in alternatives(of, "unit", free_bytes=free, rate=RATE))
    assert alternatives(of, "unit", free_bytes=1 << 20, rate=RATE) == ()


def test_every_way_out_can_be_made(monkeypatch):
    import xmlcore.cost

    monkeypatch.setattr(
        xmlcore.cost, "_LADDERS", {"svd": (20, 5), "project": (25, 6), "terms": (22, 8), "sample": (20, 10)}
    )
    for dense in (0, 4):
        ds = dataset(60, 30, dense)
        for each in alternatives(outline(ds), "unit", free_bytes=FREE, rate=RATE):
            data = ds if each.n_train is None else sample_training(ds, each.n_train)
            made, _ = fit_features(data, each.recipe)
            assert RidgeFactorization.fit(made.X_train, made.Y_train).size == each.cost.size


def test_the_most_frequent_features_are_said_to_be_of_each_block_where_there_are_several():
    free = 160_000_000
    for n_blocks, ending in ((1, "features"), (2, "features of each sparse block")):
        wide = BlockOutline(3000, np.full(3000, 20), 10**6)
        found = alternatives(Outline(10_000, 10, 10, (wide,) * n_blocks, 10), "raw", free_bytes=free, rate=RATE)
        (terms,) = (each for each in found if each.kind == "terms")
        assert terms.title == f"The {terms.recipe.terms:,} most frequent {ending}"
        assert terms.cost.size == n_blocks * terms.recipe.terms


def test_an_impossible_data_set_is_refused_with_what_to_do(monkeypatch):
    import xmlcore.cost

    ds = dataset()
    refuse_unfitting(ds, "raw")
    monkeypatch.setattr(xmlcore.cost, "LARGEST_SIZE", 20)
    monkeypatch.setattr(xmlcore.cost, "_LADDERS", {"svd": (10,)})
    with pytest.raises(DataError, match=r"size 30 .* at most 20 is possible; possible instead: features = svd:10"):
        refuse_unfitting(ds, "raw")


def test_a_sample_keeps_rows_together_and_says_what_it_is():
    ds = dataset(dense=3)
    half = sample_training(ds, 25, seed=4)
    rows = half.train_names.astype(int)
    assert half.n_train == 25
    assert half.n_test == ds.n_test
    for ours, whole in zip(as_blocks(half.X_train), as_blocks(ds.X_train), strict=True):
        left, right = (part.toarray() if sparse.issparse(part) else part for part in (ours, whole[rows]))
        assert np.array_equal(left, right)
    assert np.array_equal(half.Y_train.toarray(), ds.Y_train[rows].toarray())
    assert "25 of 50 training instances" in half.notes[-1]
    # The ruler stays still: PSP is measured with the frequencies of all training instances, of a sample's sample too.
    for part in (half, sample_training(half, 12)):
        assert np.array_equal(metric_inverse_propensity(part), inverse_propensity(ds.Y_train, ds.A, ds.B))
        assert np.array_equal(metric_inverse_propensity(part, 1.0, 2.0), inverse_propensity(ds.Y_train, 1.0, 2.0))
    for wrong in (0, 51):
        with pytest.raises(DataError, match=f"n_train is {wrong}"):
            sample_training(ds, wrong)


def test_the_machines_best_counts_whatever_else_runs_now(monkeypatch):
    import xmlcore.cost

    best = operations_per_second()
    assert best > 1e7
    monkeypatch.setattr(xmlcore.cost.time, "perf_counter", iter([0.0, 3600.0]).__next__)
    assert operations_per_second() == best
