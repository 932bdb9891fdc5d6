"""Features: TF-IDF by hand, reductions against full algebra, blocks side by side, new rows alike."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from tests.unit.helpers import COUNTS, small_counts
from xmlcore import features
from xmlcore.checks import DataError
from xmlcore.dataset import Dataset
from xmlcore.features import fit_features
from xmlcore.range_finder import RangeSVD
from xmlcore.recipe import default_recipe
from xmlcore.words import unknown_words


def random_counts(rows, columns, seed=0):
    counts = np.random.default_rng(seed).poisson(0.4, (rows, columns)).astype(np.float32)
    Y = sparse.csr_array(np.ones((rows, 1), np.float32))
    return Dataset("random", sparse.csr_array(counts), Y, sparse.csr_array(counts[:5]), Y[:5], feature_kind="counts")


def lengths(block):
    return np.linalg.norm(block.toarray() if sparse.issparse(block) else block, axis=1)


def test_counts_get_tfidf_and_unit_rows_by_default_and_other_features_stay():
    assert str(default_recipe(small_counts())) == "tfidf+unit"
    assert str(default_recipe(small_counts(feature_kind="values"))) == "raw"
    assert str(default_recipe(small_counts(X_train=(COUNTS,), X_test=(COUNTS[:2],), feature_kind="values"))) == "unit"


@pytest.mark.parametrize("recipe", ["tfidf", "tfidf+unit"])
def test_tfidf_and_unit_length_are_those_of_scikit_learn(recipe):
    data = random_counts(200, 60)
    theirs = TfidfTransformer(norm="l2" if "unit" in recipe else None, sublinear_tf=True).fit(data.X_train)
    made, _ = fit_features(data, recipe)
    for ours, raw in ((made.X_train, data.X_train), (made.X_test, data.X_test)):
        np.testing.assert_allclose(ours.toarray(), theirs.transform(raw).toarray(), rtol=1e-5)


def test_tfidf_is_the_formula_that_its_documentation_states():
    made, _ = fit_features(small_counts(), "tfidf")
    in_rows = (COUNTS > 0).sum(axis=0)
    expected = np.where(COUNTS > 0, 1 + np.log(np.maximum(COUNTS, 1)), 0) * (1 + np.log((1 + 3) / (1 + in_rows)))
    np.testing.assert_allclose(made.X_train.toarray(), expected, rtol=1e-6)
    assert isinstance(made.X_train, sparse.csr_array)
    assert made.X_train.dtype == np.float32
    assert made.feature_kind == "values"


def test_what_is_learned_does_not_depend_on_the_test_rows():
    ds = small_counts()
    other = replace(ds, X_test=sparse.csr_array(np.full((2, 4), 7, np.float32)))
    here, there = (fit_features(d, "terms:3+tfidf+unit")[0].X_train.toarray() for d in (ds, other))
    np.testing.assert_array_equal(here, there)


def test_unit_rows_have_length_one_and_empty_rows_stay_empty():
    X = sparse.csr_array(np.vstack([COUNTS[:2], np.zeros((1, 4), np.float32)]))
    made, _ = fit_features(small_counts(X_train=X), "tfidf+unit")
    np.testing.assert_allclose(lengths(made.X_train), [1, 1, 0], atol=1e-6)


def test_making_features_leaves_the_arrays_of_others_as_they_are():
    rows = sparse.csr_array(COUNTS)
    unsorted = sparse.csr_array((rows.data[::-1].copy(), rows.indices[::-1].copy(), [0, 1, 3, 5]), shape=(3, 4))
    ds = small_counts(X_train=unsorted)
    for X in (unsorted, ds.X_train):
        before = [part.copy() for part in (X.data, X.indices, X.indptr)]
        made, fitted = fit_features(ds, "unit")
        np.testing.assert_allclose(lengths(made.X_train), 1, atol=1e-6)
        np.testing.assert_array_equal(fitted(X).toarray(), made.X_train.toarray())
        for now, then in zip((X.data, X.indices, X.indptr), before, strict=True):
            np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("largest", [3e38, 1e20, 1e-20, 1e-40])
def test_rows_of_any_size_that_float32_can_hold_get_unit_length(largest):
    dense = np.random.default_rng(0).uniform(-1, 1, (3, 500)).astype(np.float32) * np.float32(largest)
    exact = dense / np.linalg.norm(dense.astype(np.float64), axis=1, keepdims=True)
    for X in (dense, sparse.csr_array(dense)):
        made, _ = fit_features(small_counts(X_train=X, X_test=X[:2], feature_names=None), "unit")
        assert made.X_train.dtype == np.float32
        found = made.X_train.toarray() if sparse.issparse(X) else made.X_train
        np.testing.assert_allclose(found, exact, rtol=1e-6)


def test_a_row_whose_length_is_beyond_numbers_is_refused():
    dense = np.vstack([np.zeros(4), np.full((2, 4), 1e200)])
    for X in (dense, sparse.csr_array(dense)):
        with pytest.raises(DataError, match="row 1 of X is too long to be scaled"):
            fit_features(small_counts(X_train=X, X_test=X[:2]), "unit")


def test_terms_keeps_the_columns_of_the_most_training_rows_with_their_names():
    made, fitted = fit_features(small_counts(), "terms:2")
    np.testing.assert_array_equal(made.X_train.toarray(), COUNTS[:, :2])
    assert made.feature_names.tolist() == fitted.vocabulary.tolist() == ["editor", "gtk+"]


def test_terms_keeps_so_many_columns_of_each_sparse_block():
    rows = sparse.csr_array(COUNTS)
    ds = small_counts(X_train=(rows, rows[:, ::-1]), X_test=(rows[:2], rows[:2, ::-1]), feature_names=list("abcddcba"))
    made, _ = fit_features(ds, "terms:2")
    assert made.feature_names.tolist() == ["a", "b", "b", "a"]
    assert [block.shape[1] for block in made.X_train] == [2, 2]


def test_of_terms_in_equally_many_rows_the_first_are_kept_and_dense_blocks_stay_whole():
    rows = sparse.csr_array((np.random.default_rng(0).random((3, 300)) < 0.5).astype(np.float32))
    ds = small_counts(X_train=(rows, COUNTS), X_test=(rows[:2], COUNTS[:2]), feature_names=None, feature_kind="values")
    _, fitted = fit_features(ds, "terms:200")
    counts = rows.sum(axis=0)
    assert fitted.kept[0].tolist() == sorted(sorted(range(300), key=lambda column: -counts[column])[:200])
    assert fitted.kept[1] is None
    assert [block.shape[1] for block in fitted(ds.X_test)] == [200, 4]


def test_raw_changes_nothing():
    ds = small_counts()
    assert fit_features(ds, "raw")[0].fingerprint == ds.fingerprint


def test_svd_gives_the_inner_products_of_the_best_approximation():
    ds = random_counts(60, 30)
    made, _ = fit_features(ds, "tfidf+unit+svd:12")
    full = fit_features(ds, "tfidf+unit")[0].X_train.toarray().astype(np.float64)
    U, s, _ = np.linalg.svd(full, full_matrices=False)
    best = (U[:, :12] * s[:12] ** 2) @ U[:, :12].T
    ours = made.X_train.astype(np.float64) @ made.X_train.T
    assert np.linalg.norm(ours - best) < 0.02 * np.linalg.norm(best)
    assert made.n_features == 12


def test_svd_of_full_rank_keeps_every_inner_product():
    ds = random_counts(40, 8)
    made, _ = fit_features(ds, "unit+svd:8")
    X = fit_features(ds, "unit")[0].X_train.toarray()
    np.testing.assert_allclose(made.X_train @ made.X_train.T, X @ X.T, atol=1e-4)
    np.testing.assert_allclose(made.X_test @ made.X_train.T, X[:5] @ X.T, atol=1e-4)


def test_where_there_are_fewer_directions_than_asked_for_they_are_all_of_the_features():
    counts = random_counts(40, 4)
    X = sparse.csr_array(counts.X_train[:, [0, 1, 2, 3, 0, 1]])
    ds = replace(counts, X_train=X, X_test=X[:5], feature_names=np.array(list("abcdef")))
    made, fitted = fit_features(ds, "unit+svd:6")
    assert made.feature_names.tolist() == [f"component {number}" for number in range(1, 5)]
    assert made.n_features == fitted(ds.X_test).shape[1] == 4
    full = fit_features(ds, "unit")[0].X_train.toarray()
    np.testing.assert_allclose(made.X_train @ made.X_train.T, full @ full.T, atol=1e-5)


def test_directions_too_large_to_be_kept_give_the_same_features(monkeypatch):
    ds = replace(random_counts(60, 30), feature_names=np.array([f"word{number}" for number in range(30)]))
    kept, fitted = fit_features(ds, "tfidf+unit+svd:12")
    monkeypatch.setattr(features, "LARGEST_DIRECTIONS", 0)
    made, again = fit_features(ds, "tfidf+unit+svd:12")
    assert (type(fitted.reducer), type(again.reducer)) == (features.KeptDirections, RangeSVD)
    np.testing.assert_allclose(made.X_train, kept.X_train, atol=1e-5)
    np.testing.assert_allclose(again(ds.X_test), fitted(ds.X_test), atol=1e-5)
    text = " ".join(ds.feature_names[:3])
    np.testing.assert_allclose(again.from_texts([text]), fitted.from_texts([text]), atol=1e-5)


def test_the_svd_tells_how_far_it_is():
    told = []
    fit_features(random_counts(60, 30), "svd:12", progress=lambda stage, part: told.append((stage, part)))
    assert told[0][0] == "SVD, pass 1 of 4"
    assert told[-1] == ("SVD, Rayleigh–Ritz", 1.0)


def as_other_kind(X):
    blocks = X if isinstance(X, tuple) else (X,)
    turned = tuple(block.toarray() if sparse.issparse(block) else sparse.csr_array(block) for block in blocks)
    return turned if isinstance(X, tuple) else turned[0]


@pytest.mark.parametrize("recipe", ["raw", "tfidf+unit", "terms:3+tfidf", "unit+svd:3", "project:3"])
def test_new_rows_may_be_dense_where_training_rows_were_sparse(recipe):
    ds = small_counts()
    _, fitted = fit_features(ds, recipe)
    found, expected = fitted(ds.X_test.toarray()), fitted(ds.X_test)
    assert type(found) is type(expected)
    np.testing.assert_array_equal(*(X.toarray() if sparse.issparse(X) else X for X in (found, expected)))


@pytest.mark.parametrize("recipe", ["tfidf", "unit+svd:3+dense:0.5", "project:3"])
def test_each_block_of_new_rows_may_be_of_the_other_kind(recipe):
    ds, dense = side_by_side()
    _, fitted = fit_features(ds, recipe)
    expected = fitted(ds.X_train)
    for one, other in zip(fitted((COUNTS, sparse.csr_array(dense))), expected, strict=True):
        assert type(one) is type(other)
        np.testing.assert_array_equal(*(X.toarray() if sparse.issparse(X) else X for X in (one, other)))


@pytest.mark.parametrize(
    ("recipe", "dense"),
    [("svd:3", False), ("svd:3", True), ("project:3", False), ("project:3", True), ("tfidf+unit", False)],
)
def test_there_may_be_no_new_row_and_their_numbers_may_be_of_another_width(recipe, dense):
    counts = random_counts(30, 8)
    X = counts.X_train.toarray() if dense else counts.X_train
    made, fitted = fit_features(replace(counts, X_train=X, X_test=X[:0], Y_test=counts.Y_train[:0]), recipe)
    assert made.X_test.shape == (0, made.n_features)
    single, double = map(fitted, (X, X.astype(np.float64)))
    if sparse.issparse(single):
        single, double = single.toarray(), double.toarray()
    np.testing.assert_allclose(single, double, atol=1e-5)


@pytest.mark.parametrize("dense", [False, True])
def test_one_feature_can_be_reduced_and_what_cannot_be_squared_or_is_all_zero_is_refused(dense):
    def one(scale):
        X = np.full((4, 1), scale, np.float32)
        return small_counts(
            X_train=X if dense else sparse.csr_array(X),
            X_test=X[:2] if dense else sparse.csr_array(X[:2]),
            Y_train=sparse.csr_array(np.eye(4, 2, dtype=np.float32)),
            feature_names=None,
            feature_kind="values",
        )

    made, _ = fit_features(one(2.0), "svd:1")
    np.testing.assert_allclose(np.abs(made.X_train), 2, rtol=1e-6)
    for scale, told in ((3e38, "3e"), (0.0, "holds only zeros")):
        with pytest.raises(DataError, match=told):
            fit_features(one(scale), "svd:1")


def test_dense_counts_have_features_that_suit_them():
    ds = small_counts(X_train=COUNTS, X_test=COUNTS[:2])
    recipe = default_recipe(ds)
    assert str(recipe) == "unit"
    _, fitted = fit_features(ds, recipe)
    np.testing.assert_allclose(fitted.from_texts(["gtk+ editor gtk+"]), fitted(COUNTS[:1]), rtol=1e-6)


@pytest.mark.parametrize(
    ("recipe", "told"),
    [("unit+dense:2", "dense:2 needs a dense block"), ("unit+seed:3", "seed:3 needs svd or project")],
)
def test_a_step_that_would_change_nothing_is_refused(recipe, told):
    with pytest.raises(DataError, match=told):
        fit_features(small_counts(), recipe)


def test_a_projection_keeps_lengths_and_angles_about_and_depends_on_its_seed_only():
    ds = random_counts(30, 2_000)
    made, again, other = (fit_features(ds, f"unit+project:1000+seed:{seed}")[0].X_train for seed in (1, 1, 2))
    X = fit_features(ds, "unit")[0].X_train.toarray()
    np.testing.assert_allclose(made @ made.T, X @ X.T, atol=0.2)
    np.testing.assert_array_equal(made, again)
    assert not np.allclose(made, other)


@pytest.mark.parametrize("recipe", ["svd:31", "project:31"])
def test_more_dimensions_than_there_are_is_an_error_that_says_how_many_there_are(recipe):
    with pytest.raises(DataError, match=r":31 is too many; 60 rows of 30 features give 30"):
        fit_features(random_counts(60, 30), recipe)


def side_by_side():
    dense = np.random.default_rng(3).normal(size=(3, 5)).astype(np.float32)
    X = sparse.csr_array(COUNTS)
    names = np.array([*"abcd", *(f"d{i}" for i in range(5))])
    return small_counts(X_train=(X, dense), X_test=(X[:2], dense[:2]), feature_names=names), dense


def test_blocks_stay_apart_each_of_unit_length_times_its_weight():
    ds, dense = side_by_side()
    made, _ = fit_features(ds, "tfidf+dense:0.5")
    sparse_block, dense_block = made.X_train
    assert sparse.issparse(sparse_block)
    np.testing.assert_allclose(lengths(sparse_block), 1, atol=1e-6)
    np.testing.assert_allclose(dense_block, 0.5 * dense / lengths(dense)[:, None], rtol=1e-5)


def test_reduction_takes_the_sparse_block_and_leaves_the_dense_one():
    ds, _ = side_by_side()
    made, _ = fit_features(ds, "unit+svd:2+dense:3")
    assert [block.shape[1] for block in made.X_train] == [2, 5]
    np.testing.assert_allclose(lengths(made.X_train[1]), 3, rtol=1e-6)
    assert made.feature_names.tolist() == ["component 1", "component 2", "d0", "d1", "d2", "d3", "d4"]


def test_a_dense_block_alone_can_be_reduced():
    X = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    made, _ = fit_features(small_counts(X_train=X, X_test=X[:2], feature_names=None, feature_kind="values"), "svd:3")
    np.testing.assert_allclose(made.X_train @ made.X_train.T, X @ X.T, atol=1e-4)


@pytest.mark.parametrize("recipe", ["raw", "tfidf+unit", "terms:3+tfidf+unit", "tfidf+svd:2", "unit+project:3+seed:5"])
def test_new_rows_take_the_same_steps(recipe):
    ds = small_counts()
    made, fitted = fit_features(ds, recipe)
    again = fitted(ds.X_train)
    dense = [X.toarray() if sparse.issparse(X) else X for X in (made.X_train, again)]
    np.testing.assert_allclose(dense[0], dense[1], atol=1e-5)
    assert type(made.X_train) is type(fitted(ds.X_test))


def test_a_typed_text_becomes_the_row_of_its_counts():
    X = sparse.csr_array(COUNTS[:, ::-1])  # so that the terms that are kept are not the first ones
    ds = small_counts(X_train=X, X_test=X[:2], feature_names=["never", "c++", "gtk+", "editor"])
    for recipe in ("tfidf+unit", "terms:3+tfidf", "terms:2"):
        _, fitted = fit_features(ds, recipe)
        row = fitted.from_texts(["GTK+: gtk+, an Editor, unheard-of"])
        np.testing.assert_allclose(row.toarray(), fitted(ds.X_train[:1]).toarray(), rtol=1e-6)


def test_new_rows_of_another_width_are_refused():
    _, fitted = fit_features(small_counts(), "tfidf")
    with pytest.raises(DataError, match=r"X has \(3,\) features a block; expected \(4,\)"):
        fitted(sparse.csr_array(COUNTS[:, :3]))


def test_tfidf_refuses_what_is_no_count():
    for value in (0.25, -1):
        X = sparse.csr_array(COUNTS * np.float32(value))
        with pytest.raises(DataError, match="tfidf needs counts of 1 or more"):
            fit_features(small_counts(X_train=X), "tfidf")


def test_steps_for_sparse_features_refuse_dense_ones():
    with pytest.raises(DataError, match="tfidf needs a sparse block"):
        fit_features(small_counts(X_train=COUNTS, X_test=COUNTS[:2]), "tfidf")


def test_texts_are_refused_where_the_features_are_no_words():
    _, fitted = fit_features(small_counts(feature_kind="values"), "raw")
    with pytest.raises(DataError, match="not words"):
        fitted.from_texts(["editor"])


def test_what_is_no_list_of_texts_is_refused():
    _, fitted = fit_features(small_counts(), "tfidf")
    with pytest.raises(DataError, match="texts is a single text; expected a list of texts"):
        fitted.from_texts("editor")
    with pytest.raises(DataError, match="texts holds NoneType at place 1; expected texts"):
        fitted.from_texts(["editor", None])
    with pytest.raises(DataError, match="texts is None; expected a list"):
        fitted.from_texts(None)
    np.testing.assert_array_equal(
        fitted.from_texts(iter(["editor"])).toarray(), fitted.from_texts(["editor"]).toarray()
    )


def test_names_with_capital_letters_are_counted_and_known():
    _, fitted = fit_features(small_counts(feature_names=["Editor", "GTK+", "c++", "Never"]), "raw")
    np.testing.assert_array_equal(fitted.from_texts(["editor, Editor and gtk+"]).toarray(), [[2, 1, 0, 0]])
    assert unknown_words("an editor, Editor and gtk+ zebra", fitted.vocabulary) == ["zebra"]


@pytest.mark.parametrize("twice", ["gtk+", "GTK+"])
def test_two_features_that_are_the_same_word_are_named(twice):
    _, fitted = fit_features(small_counts(feature_names=["editor", "gtk+", "c++", twice]), "tfidf")
    told = re.escape(f"feature 1 is 'gtk+' and feature 3 {twice!r}; expected each word once")
    with pytest.raises(DataError, match=told):
        fitted.from_texts(["editor"])
