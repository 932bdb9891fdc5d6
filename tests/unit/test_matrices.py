"""Matrices of features and labels: every form that is read, what becomes of it, and what is refused by name."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xmlcore import DataError, Dataset, fit_features, lambda_range, read, write_npz, write_xc_text
from xmlcore.cost import outline
from xmlcore.evaluation import evaluate
from xmlcore.matrices import as_blocks, as_labels, as_mask, as_one_block
from xmlcore.profile import profile
from xmlcore.ridge import RidgeFactorization
from xmlcore.streaming import fit_streamed

FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
Y = sparse.csr_array(np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32))


def with_duplicates(dtype=np.float32):
    """[[0, 3, 0, 4], [0, 0, 0, 0], [5, 0, 0, 0]], columns out of order, two places named twice."""
    parts = (np.array([4, 1, 2, 2, 3], dtype), np.array([3, 1, 1, 0, 0], np.int32), np.array([0, 3, 3, 5], np.int32))
    return sparse.csr_array(parts, shape=(3, 4))


def arrays_of(X):
    return [np.array(part) for part in (X.data, X.indices, X.indptr)]


def assert_untouched(X, before):
    for now, then in zip(arrays_of(X), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_entries_that_share_a_place_are_added_once_for_all_in_a_copy():
    X = with_duplicates()
    before = arrays_of(X)
    (block,) = as_blocks(X)
    assert block.indices.tolist() == [1, 3, 0]
    assert block.data.tolist() == [3, 4, 5]
    assert_untouched(X, before)
    ds = Dataset("twice", X, Y, (X,), Y)
    assert ds.X_train.nnz == ds.X_test[0].nnz == 3
    assert_untouched(X, before)


def test_counts_that_share_a_place_are_added_without_running_over():
    X = with_duplicates(np.uint8)
    X.data[:] = 200
    np.testing.assert_array_equal(as_blocks(X)[0].data, [400, 200, 400])


@pytest.mark.parametrize("form", ["coo", "csr"])
@pytest.mark.parametrize(("dtype", "value"), [(np.int8, 100), (np.uint8, 200), (np.int16, 30_000), (bool, 1)])
def test_small_integers_that_share_a_place_are_added_without_running_over_in_every_format(form, dtype, value):
    parts = np.array([value, value], dtype), np.array([1, 1], np.int32)
    if form == "coo":
        X = sparse.coo_array((parts[0], (np.zeros(2, np.int32), parts[1])), shape=(1, 3))
    else:
        X = sparse.csr_array((*parts, np.array([0, 2], np.int32)), shape=(1, 3))
    np.testing.assert_array_equal(as_blocks(X)[0].toarray(), [[0, 2 * value, 0]])
    with pytest.raises(DataError, match=r"it holds|names a label twice"):
        as_labels(X)


@pytest.mark.parametrize("dtype", [">f8", np.longdouble])
def test_wide_floats_keep_the_precision_of_float64_whatever_their_byte_order(dtype):
    values = np.array([[1 + 2.0**-40, 0], [0, 1e-60]])
    (block,) = as_blocks(values.astype(dtype))
    assert block.dtype == np.float64
    np.testing.assert_array_equal(block, values)
    # scipy refuses the other byte order itself.
    (block,) = as_blocks(sparse.coo_array(values).astype(np.longdouble))
    np.testing.assert_array_equal(block.toarray(), values)
    with pytest.raises(DataError, match="holds inf"):
        as_blocks(np.full((1, 1), np.longdouble(10) ** 400))


def test_a_sum_beyond_the_range_of_float32_is_refused():
    X = with_duplicates()
    X.data[:] = 3e38
    with pytest.raises(DataError, match="X_new holds inf in row 0; expected finite numbers"):
        as_blocks(X, "X_new")


def test_a_block_in_canonical_form_is_not_copied():
    X = sparse.csr_array(np.eye(3, dtype=np.float32))
    dense = np.eye(3)
    assert as_blocks([X, dense])[0] is X
    assert as_blocks([X, dense])[1] is dense
    assert Dataset("same", X, Y, X, Y).X_train is X
    matrix = sparse.csr_matrix(X)
    assert np.shares_memory(as_blocks(matrix)[0].data, matrix.data)


def test_a_block_that_cannot_be_written_is_read_all_the_same():
    for X in (with_duplicates(), as_blocks(with_duplicates())[0].copy()):
        for part in (X.data, X.indices, X.indptr):
            part.flags.writeable = False
        np.testing.assert_array_equal(as_blocks(X)[0].toarray(), with_duplicates().toarray())


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("make", [sparse.coo_array, sparse.coo_matrix])
def test_every_sparse_format_is_read_and_left_as_it_is(form, make):
    entries = (np.array([1.0, 2, 3, 4]), (np.array([2, 0, 0, 0]), np.array([0, 3, 1, 1])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
        X = make(entries, shape=(3, 4)).asformat(form)
    whole, stored = X.toarray(), X.nnz
    for block in (as_blocks(X)[0], as_labels(X > 0)):
        assert block.has_canonical_format
        np.testing.assert_array_equal(block.toarray() > 0, whole > 0)
    assert X.nnz == stored
    np.testing.assert_array_equal(X.toarray(), whole)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(-4, 4)), max_size=25))
@settings(deadline=None)
def test_the_canonical_block_is_the_same_matrix(entries):
    rows, columns, values = np.array(sorted(entries, key=lambda e: e[0]), dtype=np.int64).reshape(-1, 3).T
    indptr = np.searchsorted(rows, np.arange(5))
    X = sparse.csr_array((values.astype(np.float32), columns, indptr), shape=(4, 6))
    expected = np.zeros((4, 6))
    np.add.at(expected, (rows, columns), values)
    (block,) = as_blocks(X)
    np.testing.assert_array_equal(block.toarray(), expected)
    for row in range(4):
        assert (np.diff(block.indices[block.indptr[row] : block.indptr[row + 1]]) > 0).all()


def test_all_that_is_made_of_a_data_set_is_the_same_whether_or_not_entries_share_a_place(tmp_path):
    twice = Dataset("counts", with_duplicates(), Y, with_duplicates(), Y, feature_kind="counts")
    clean = sparse.csr_array(with_duplicates().toarray())
    once = Dataset("counts", clean, Y, clean, Y, feature_kind="counts")
    assert twice.fingerprint == once.fingerprint
    for recipe in ("terms:1", "tfidf", "tfidf+unit"):
        made = [fit_features(ds, recipe)[0].X_train.toarray() for ds in (twice, once)]
        np.testing.assert_array_equal(*made)
    assert lambda_range(twice.X_train) == lambda_range(once.X_train)
    assert outline(twice).blocks[0].column_counts.tolist() == [1, 1, 0, 1]
    assert profile(twice).train.features == profile(once).train.features
    for write in (write_npz, write_xc_text):
        again = read(write(twice, tmp_path / write.__name__))
        np.testing.assert_array_equal(again.X_train.toarray(), clean.toarray())


@pytest.mark.parametrize(
    ("X", "told"),
    [
        (np.eye(3) * 1j, "must hold real numbers; it holds complex128"),
        (sparse.csr_array(np.eye(3) * 1j), "must hold real numbers; it holds complex128"),
        (np.array([[1j, 2]], dtype=object), "must hold real numbers"),
        (np.array([["a", 2]], dtype=object), "must hold real numbers"),
        (np.array([["a", "b"]]), "must hold real numbers; it holds <U1"),
        (np.array([[1, 2]], dtype="m8[s]"), r"must hold real numbers; it holds timedelta64\[s\]"),
        ([[1, 0], [1]], "must have rows of equal length"),
        (np.ones(3), r"must have two dimensions, .*; it has shape \(3,\)"),
        (sparse.coo_array(np.ones(3)), r"must have two dimensions, .*; it has shape \(3,\)"),
        ("text", r"must have two dimensions, .*; it has shape \(\)"),
    ],
)
def test_what_is_no_matrix_of_real_numbers_is_refused_by_name(X, told):
    with pytest.raises(DataError, match=f"^X_new {told}"):
        as_blocks([X], "X_new")
    with pytest.raises(DataError, match=f"^Y_new {told}"):
        as_labels(X, "Y_new")


@pytest.mark.parametrize(
    "dtype",
    [
        *(bool, np.int8, np.uint64, np.float16, np.float32, np.float64, np.longdouble, object),
        *(">f8", ">f4", ">f2", ">i4", ">u2"),
    ],
)
def test_real_numbers_of_every_type_and_byte_order_are_read(dtype):
    M = np.array([[1, 0], [0, 1]], dtype=dtype)
    np.testing.assert_array_equal(as_blocks(M)[0], np.eye(2))
    np.testing.assert_array_equal(as_labels(M).toarray(), np.eye(2))


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr"])
@pytest.mark.parametrize("index", [-1, 3, 2**31 - 1])
def test_an_index_that_the_matrix_lacks_is_refused_by_name(form, index):
    M = sparse.coo_array(np.eye(3, dtype=np.float32)).asformat(form)
    if form == "coo":
        M.coords[1][1] = index
    else:
        M.indices[1] = index
    for read_one in (as_blocks, as_labels, lambda M, name: as_mask(M, (3, 3), name)):
        with pytest.raises(DataError, match=f"^given has an entry in .* {index}; expected .* from 0 to 2$"):
            read_one(M, "given")


def test_columns_counted_from_one_are_refused_by_whatever_takes_a_matrix():
    parts = (np.ones(3, np.float32), np.array([1, 2, 3]), np.array([0, 1, 2, 3]))
    counted = sparse.csr_array(parts, shape=(3, 3))  # scipy takes it
    eye = sparse.csr_array(np.eye(3, dtype=np.float32))
    fac = RidgeFactorization.fit(eye, eye)
    for name, call in {
        "X": lambda: RidgeFactorization.fit(counted, eye),
        "Y": lambda: RidgeFactorization.fit(eye, counted),
        "X_new": lambda: fac.project(counted),
        "exclude": lambda: evaluate(fac, fac.project(eye), eye, 1.0, np.ones(3), np.ones(3), (1,), exclude=counted),
        "X of block 0": lambda: fit_streamed([(counted, eye)]),
        "test_filter": lambda: Dataset("mask", eye, eye, eye, eye, test_filter=counted),
    }.items():
        with pytest.raises(DataError, match=f"^{name} has an entry in column 3; expected columns from 0 to 2$"):
            call()


@pytest.mark.parametrize("pointers", [[1, 2, 3, 3], [0, 2, 1, 3], [0, 1, 2, 2], [0, 1, 2, 4], [0, 3]])
@pytest.mark.parametrize("form", ["csc", "csr"])
def test_pointers_that_cut_no_rows_are_refused_by_name(form, pointers):
    M = sparse.coo_array(np.eye(3, dtype=np.float32)).asformat(form)
    M.indptr = np.array(pointers, np.int32)
    for read_one in (as_blocks, as_labels, lambda M, name: as_mask(M, (3, 3), name)):
        with pytest.raises(DataError, match=r"^given has pointers \(indptr\) that do not rise from 0 to its 3 entries"):
            read_one(M, "given")


def test_blocks_that_are_missing_or_too_many_are_refused_by_name():
    with pytest.raises(DataError, match=r"^given has no feature block"):
        as_blocks((), "given")
    with pytest.raises(DataError, match=r"^the blocks of given differ in rows: \[\(2, 3\), \(3, 3\)\]"):
        as_blocks((np.ones((2, 3)), np.ones((3, 3))), "given")
    with pytest.raises(DataError, match=r"^given has 2 blocks; expected one matrix"):
        as_one_block((np.eye(3), np.eye(3)), "given")
