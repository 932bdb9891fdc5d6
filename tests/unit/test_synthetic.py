"""Synthetic data sets: the sizes asked for, the traps that they hold, and that there is something to learn."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse

from xmlcore.checks import DataError
from xmlcore.synthetic import BLOCK_ROWS, SHAPES, Shape, make_dataset, scaled_shape, synthetic_blocks

SMALL = Shape(n_train=1500, n_features=900, n_labels=120, n_test=500, labels=3.0, terms=40)


@pytest.fixture(scope="module")
def small():
    return make_dataset(SMALL)


@pytest.fixture(scope="module")
def bibtex():
    return make_dataset("bibtex")


def same(a, b):
    return a.shape == b.shape and (a != b).nnz == 0


@given(
    st.builds(
        Shape,
        n_train=st.integers(1, 300),
        n_features=st.integers(1, 400),
        n_labels=st.integers(1, 60),
        n_test=st.integers(1, 150),
        labels=st.floats(0.05, 0.5),
        terms=st.floats(0.1, 50),
    ),
    st.integers(0, 2**40),
)
@settings(max_examples=25, deadline=None)
def test_every_shape_gives_unit_or_empty_float32_rows_and_binary_labels(shape, seed):
    shape = replace(shape, labels=max(0.05, shape.labels * shape.n_labels))
    ds = make_dataset(shape, seed)
    assert (ds.n_train, ds.n_features, ds.n_labels, ds.n_test) == (
        shape.n_train,
        shape.n_features,
        shape.n_labels,
        shape.n_test,
    )
    for X, Y in ((ds.X_train, ds.Y_train), (ds.X_test, ds.Y_test)):
        assert isinstance(X, sparse.csr_array)
        assert X.dtype == Y.dtype == np.float32
        assert X.has_canonical_format
        assert Y.has_canonical_format
        assert (X.data > 0).all()
        assert (Y.data == 1).all()
        norms = np.sqrt((X.toarray().astype(np.float64) ** 2).sum(axis=1))
        np.testing.assert_allclose(norms[norms > 0], 1, rtol=1e-5)


def test_the_seed_decides_everything(small):
    again, other = make_dataset(SMALL), make_dataset(SMALL, seed=1)
    assert again.fingerprint == small.fingerprint
    assert other.fingerprint != small.fingerprint


def test_the_named_shapes_are_those_of_the_literature():
    sizes = {name: (s.n_train, s.n_features, s.n_labels, s.n_test, s.labels) for name, s in SHAPES.items()}
    assert sizes == {
        "bibtex": (4_880, 1_836, 159, 2_515, 2.38),
        "delicious": (12_920, 500, 983, 3_185, 19.0),
        "eurlex-4k": (15_449, 186_104, 3_956, 3_865, 5.3),
        "wiki10-31k": (14_146, 101_938, 30_938, 6_616, 18.6),
        "amazoncat-13k": (1_186_239, 203_882, 13_330, 306_782, 5.04),
        "delicious-200k": (196_606, 782_585, 205_443, 100_095, 75.5),
    }
    assert [SHAPES[name].terms for name in ("eurlex-4k", "amazoncat-13k", "delicious-200k")] == [240, 71, 301]


def test_scale_shrinks_rows_features_and_labels_and_leaves_the_rows_as_full_as_they_were():
    shape = scaled_shape("eurlex-4k", 0.1)
    assert shape == Shape(1_545, 18_610, 396, 386, 5.3, 240)
    ds = make_dataset("eurlex-4k", scale=0.1)
    assert (ds.n_train, ds.n_features, ds.n_labels, ds.n_test) == (1_545, 18_610, 396, 386)
    assert 150 < ds.X_train.nnz / ds.n_train < 240


@pytest.mark.parametrize("name", ["bibtex", "delicious", "eurlex-4k"])
def test_rows_have_as_many_labels_as_asked_for(name):
    ds = make_dataset(name)
    assert ds.Y_train.nnz / ds.n_train == pytest.approx(SHAPES[name].labels, rel=0.05)


def test_blocks_are_the_rows_of_the_data_set_in_order():
    shape = replace(SMALL, n_train=BLOCK_ROWS + 700, n_test=300)
    ds = make_dataset(shape, seed=5)
    for side in ("train", "test"):
        start = 0
        for block in synthetic_blocks(shape, seed=5, side=side):
            rows = slice(start, start + block.X.shape[0])
            assert same(block.X, getattr(ds, f"X_{side}")[rows])
            assert same(block.Y, getattr(ds, f"Y_{side}")[rows])
            assert block.groups.min() >= start
            start = rows.stop
        assert start == getattr(ds, f"n_{side}")


def test_the_first_block_of_the_largest_shape_needs_no_other_row():
    block = next(synthetic_blocks("amazoncat-13k"))
    assert block.X.shape == (BLOCK_ROWS, 203_882)
    assert block.Y.shape == (BLOCK_ROWS, 13_330)
    assert block.Y.nnz / BLOCK_ROWS == pytest.approx(5.04, rel=0.05)


def test_labels_and_features_follow_a_power_law(bibtex):
    eurlex = make_dataset("eurlex-4k")
    for counts in (eurlex.label_counts, np.bincount(eurlex.X_train.indices, minlength=eurlex.n_features)):
        falling = np.sort(counts)[::-1]
        assert falling[: len(falling) // 20].sum() > 0.4 * counts.sum()  # 5% of them hold 40% of all
        assert np.median(counts) < counts.mean() / 2
    assert eurlex.label_counts.max() < 0.3 * eurlex.n_train
    frequent = np.argsort(bibtex.label_counts)[-5:]
    assert not np.isin(frequent, np.arange(5)).all(), "a row without features would get the head labels by their index"


def test_some_labels_occur_only_in_test_rows():
    ds = make_dataset("wiki10-31k", scale=0.1)
    in_test = np.bincount(ds.Y_test.indices, minlength=ds.n_labels) > 0
    assert (in_test & (ds.label_counts == 0)).any()


def test_some_rows_have_no_features_and_others_no_labels(small):
    for X, Y in ((small.X_train, small.Y_train), (small.X_test, small.Y_test)):
        without_features, without_labels = np.diff(X.indptr) == 0, np.diff(Y.indptr) == 0
        assert 0 < without_features.sum() < 0.02 * X.shape[0]
        assert (without_features & ~without_labels).any()
        assert (without_labels & ~without_features).any()


def test_a_family_is_an_original_and_its_near_duplicates(small):
    groups = small.train_groups
    members = np.flatnonzero(groups != np.arange(small.n_train))
    assert 0.01 < len(members) / small.n_train < 0.04
    assert (groups[groups] == groups).all()
    X = small.X_train
    cosines = np.asarray(X[members].multiply(X[groups[members]]).sum(axis=1))
    assert (cosines > 0.999).all()
    assert (cosines < 1).any()
    assert same(small.Y_train[members], small.Y_train[groups[members]])


def test_some_features_are_copies_of_others_so_the_primal_gram_matrix_is_singular(small):
    columns = {}
    X = small.X_train.tocsc()
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        column = (X.indices[start:end].tobytes(), X.data[start:end].tobytes())
        columns[column] = columns.get(column, 0) + (end > start)
    assert sum(count == 2 for count in columns.values()) > 0.005 * small.n_features


def ridge_scores(ds, reg_lambda):
    """Scores of the test rows by the normal equations in float64."""
    X, Y = ds.X_train.astype(np.float64), ds.Y_train.astype(np.float64)
    G = (X.T @ X).toarray() + reg_lambda * np.eye(ds.n_features)
    return ds.X_test @ linalg.solve(G, (X.T @ Y).toarray(), assume_a="pos")


def hits(scores, Y, k):
    top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(Y.toarray(), top, axis=1), top


def test_ridge_learns_far_more_than_the_most_frequent_label(bibtex):
    hit, _ = hits(ridge_scores(bibtex, 3.0), bibtex.Y_test, 1)
    base = bibtex.label_counts.max() / bibtex.n_train
    assert hit.mean() > 4 * base
    assert 0.5 < hit.mean() < 0.8, "as hard as the real Bibtex, 0.63"


def test_weighting_by_propensity_helps_the_tail(bibtex):
    scores, counts = ridge_scores(bibtex, 3.0), bibtex.label_counts
    theta = 1 + (np.log(bibtex.n_train) - 1) * 2.5**0.55 * (counts + 1.5) ** -0.55
    tail = counts <= np.median(counts)
    found, weighted_hits = [], []
    for variant in (scores, scores * theta):
        hit, top = hits(variant, bibtex.Y_test, 5)
        found.append((hit * tail[top]).sum())
        weighted_hits.append((hit * theta[top]).sum())
    assert found[1] > 1.2 * found[0]
    assert weighted_hits[1] > 1.03 * weighted_hits[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": "bibtx"}, "there is no shape 'bibtx'; expected one of bibtex, delicious"),
        ({"shape": replace(SMALL, n_train=0)}, "n_train is 0; expected a whole number of at least 1"),
        ({"shape": replace(SMALL, labels=100)}, "labels is 100; expected a finite number above 0 and of at most 60"),
        ({"shape": replace(SMALL, terms=0)}, "terms is 0; expected a finite number above 0"),
        ({"shape": replace(SMALL, terms=float("inf"))}, "terms is inf; expected a finite number above 0"),
        ({"shape": SMALL, "scale": 0}, "scale is 0; expected a finite number above 0"),
        ({"shape": SMALL, "scale": np.nan}, "scale is nan; expected a finite number above 0"),
        ({"shape": SMALL, "seed": -1}, "seed is -1; expected a whole number of at least 0"),
        ({"shape": SMALL, "seed": 0.5}, r"seed is 0\.5; expected a whole number of at least 0"),
    ],
)
def test_what_cannot_be_is_refused_by_name(arguments, message):
    with pytest.raises(DataError, match=message):
        make_dataset(**arguments)


def test_numbers_of_numpy_make_the_shape_that_those_of_python_make():
    of_numpy = replace(SMALL, labels=np.array(SMALL.labels), terms=np.array(SMALL.terms), n_test=np.int64(SMALL.n_test))
    assert make_dataset(of_numpy).fingerprint == make_dataset(SMALL).fingerprint


def test_another_side_than_train_and_test_is_refused():
    with pytest.raises(DataError, match="side must be 'train' or 'test'; it is 'valid'"):
        synthetic_blocks(SMALL, side="valid")
