"""Dataset: what it takes, in which form it keeps it, what it refuses, and when two data sets are equal."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xmlcore import DataError, Dataset, fit_features, sample_training
from xmlcore.dataset import take_instances

Y = sparse.csr_array(np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32))


def a_dataset(**changes):
    X = np.arange(12, dtype=np.float32).reshape(3, 4)
    return replace(Dataset("small", X, Y, X[:2], Y[:2]), **changes)


def test_names_and_groups_may_be_lists():
    lists = {
        "feature_names": ["a", "b", "c", "d"],
        "label_names": ["x", "y"],
        "train_names": ["i", "ii", "iii"],
        "test_names": ["iv", "v"],
        "train_groups": [7, 7, 8],
        "given_label_counts": [20, 10],
    }
    lists_alone = {"train_texts": ["1", "2", "3"], "given_n_train": 30}
    ds = a_dataset(**lists, **lists_alone)
    arrays = {key: np.array(value) for key, value in lists.items()}
    assert ds.fingerprint == a_dataset(**arrays, **lists_alone).fingerprint
    for key, value in lists.items():
        assert getattr(ds, key).tolist() == value
    assert ds.train_texts == ["1", "2", "3"]
    assert a_dataset().train_names is None


def test_every_label_has_the_name_that_it_has_alone_or_its_number():
    for names in (None, ["x", "y"]):
        ds = a_dataset(label_names=names)
        assert ds.every_label_name().tolist() == [ds.label_name(label) for label in range(2)]


def test_a_name_of_blanks_is_none():
    blank = {key: ["x", " "] for key in ("label_names", "test_names")}
    ds = a_dataset(**blank, train_names=["x", "", "z"], feature_names=["x", "\t", "y", "z"])
    assert ds.every_label_name().tolist() == ["x", "label 1"]
    assert [ds.feature_name(1), ds.test_name(1), ds.train_name(1)] == [
        "feature 1",
        "test instance 1",
        "training instance 1",
    ]


@pytest.mark.parametrize("kind", [np.asarray, sparse.coo_array, sparse.csc_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float64])
def test_equal_labels_are_kept_as_ones_and_give_the_same_fingerprint_whatever_holds_them(kind, dtype):
    given = kind(Y.toarray().astype(dtype))
    ds = a_dataset(Y_train=given, Y_test=Y[:2])
    assert ds.fingerprint == a_dataset().fingerprint
    assert isinstance(ds.Y_train, sparse.csr_array)
    assert ds.Y_train.dtype == np.float32
    assert ds.label_counts.tolist() == [2, 2]
    with pytest.raises(DataError, match="Y_test must hold only 0 and 1; it holds 3"):
        a_dataset(Y_test=3 * Y[:2])


def test_equal_masks_are_kept_as_ones_and_give_the_same_fingerprint_whatever_they_hold():
    pairs = np.array([[0, 1], [1, 1], [0, 0]])
    rows, columns = [1, 0, 1, 1, 2], [1, 1, 0, 0, 0]  # out of order, one pair twice, and a pair with a zero
    plain = a_dataset(train_filter=sparse.csr_array(pairs.astype(np.float32)))
    for values in ([1, 1, 1, 1, 0], [2, -1, 0.5, 3, 0], [True, True, True, True, False]):
        for kind in (bool, np.int8, np.float32, np.float64):
            mask = sparse.coo_array((np.array(values).astype(kind), (rows, columns)), shape=(3, 2))
            for given_as in (mask, mask.tocsr(), mask.tocsc(), sparse.csr_array(pairs.astype(kind))):
                if (given_as.toarray() != 0).tolist() == (pairs != 0).tolist():  # 0.5 is no whole number
                    ds = replace(plain, train_filter=given_as)
                    assert ds.fingerprint == plain.fingerprint
                    assert ds.train_filter.data.tolist() == [1.0] * 3
    crooked = sparse.csr_array((np.array([5.0, 1, 1, 1]), np.array([1, 1, 0, 0]), np.array([0, 1, 4, 4])), shape=(3, 2))
    before = crooked.copy()
    assert replace(plain, train_filter=crooked).fingerprint == plain.fingerprint
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(crooked, part), getattr(before, part))


def test_equal_names_and_groups_give_the_same_fingerprint_however_numpy_keeps_them():
    plain = a_dataset(label_names=np.array(["x", "ys"]), train_groups=np.array([7, 7, 8]))
    for kind in ("<U30", object, np.dtypes.StringDType()):
        assert replace(plain, label_names=np.array(["x", "ys"], kind)).fingerprint == plain.fingerprint
    for kind in (np.int32, np.uint8, np.float64, object):
        assert replace(plain, train_groups=np.array([7, 7, 8], kind)).fingerprint == plain.fingerprint
    for kind in ("<U30", object, np.dtypes.StringDType()):
        groups = replace(plain, train_groups=np.array(["a", "a", "b"], kind)).train_groups
        assert (groups.tolist(), groups.dtype.kind) == (["a", "a", "b"], "U")
    texts = ["1", "2", "34"]
    assert len({a_dataset(train_texts=kind(texts)).fingerprint for kind in (list, tuple, np.array)}) == 1


@given(*2 * [st.lists(st.text(st.sampled_from("ab',:\"\\é"), max_size=3), min_size=2, max_size=2)])
@settings(deadline=None)
def test_other_names_give_another_fingerprint(names, others):
    assert (a_dataset(label_names=names).fingerprint == a_dataset(label_names=others).fingerprint) == (names == others)


def test_numbers_that_run_together_alike_are_told_apart():
    names = [np.array(numbers, object) for numbers in ([1, 23], [12, 3])]
    assert a_dataset(label_names=names[0]).fingerprint != a_dataset(label_names=names[1]).fingerprint


def test_a_sample_and_a_choice_of_terms_can_be_made_where_names_are_lists():
    X = sparse.csr_array(np.array([[1, 2, 0, 0], [0, 1, 4, 0], [3, 0, 0, 0]], dtype=np.float32))
    ds = a_dataset(X_train=X, X_test=X[:2], feature_names=list("abcd"), train_names=list("xyz"), train_groups=[1, 2, 2])
    part = sample_training(ds, 2)
    assert len(part.train_names) == len(part.train_groups) == 2
    assert fit_features(ds, "terms:2")[0].feature_names.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"train_names": ["a", "b"]}, "train_names has 2 entries; expected one for each of 3 instances"),
        ({"X_train": np.ones((2, 4))}, "X_train has 2 rows and Y_train 3; expected the same number"),
        ({"X_test": np.ones((2, 3))}, r"X_train has \[4\] features a block and X_test \[3\]"),
        ({"X_test": (np.ones((2, 2)), np.ones((2, 2)))}, r"X_train has \[4\] features a block and X_test \[2, 2\]"),
        ({"Y_test": Y[:2, :1]}, "Y_train has 2 labels and Y_test 1"),
        ({"test_texts": ["a"]}, "test_texts has 1 entries; expected one for each of 2 instances"),
        ({"feature_names": ["a", "b"]}, "feature_names has 2 entries; expected one for each of 4 features"),
        ({"label_names": ["a"]}, "label_names has 1 entries; expected one for each of 2 labels"),
        ({"train_filter": Y[:2]}, r"train_filter has shape \(2, 2\); expected .* Y_train, \(3, 2\)"),
        ({"train_names": "abc"}, r"train_names has shape \(\)"),
        ({"train_groups": [[1], [2], [3]]}, r"train_groups has shape \(3, 1\)"),
        ({"train_groups": np.ma.masked_array([7, 7, 8], [0, 1, 0])}, "train_groups is an array with masked entries"),
        ({"label_names": [["a"], ["b", "c"]]}, "label_names must have rows of equal length"),
        ({"given_label_counts": [3, 2, 1]}, "given_label_counts has 3 entries; expected one for each of 2 labels"),
        ({"given_n_train": 2.5}, r"given_n_train is 2\.5; expected a whole number"),
        ({"A": "much"}, "A is 'much'; expected a finite number"),
        ({"B": None}, "B is None; expected a finite number"),
        ({"A": -1}, "A is -1; expected a finite number of at least 0"),
        ({"A": 1e7}, "A is 10000000.0; expected a finite number of at least 0 and of at most 1e\\+06"),
        ({"B": 0}, "B is 0; expected a finite number above 0"),
        ({"name": None}, "name is None; expected text"),
        ({"feature_kind": "terms"}, "feature_kind is 'terms'; expected values or counts"),
        ({"feature_kind": None}, "feature_kind is None; expected values or counts"),
        ({"given_n_train": 0}, "given_n_train is 0; expected a whole number of at least 1"),
        ({"given_label_counts": [3, 2]}, "given_n_train is None; expected the number of instances"),
        (
            {"given_label_counts": [3, 2.5], "given_n_train": 9},
            r"an entry of given_label_counts is 2\.5; expected a whole",
        ),
        (
            {"given_label_counts": [3, 10], "given_n_train": 9},
            "given_label_counts holds numbers from 3 to 10; expected",
        ),
        (
            {"given_label_counts": [-1, 2], "given_n_train": 9},
            "given_label_counts holds numbers from -1 to 2; expected",
        ),
        ({"train_groups": [1, 1, 2.5]}, r"an entry of train_groups is 2\.5; expected a whole number"),
        (
            {"train_groups": [1, 1, np.nan]},
            "train_groups holds nan for training row 2; expected the family of every row",
        ),
        ({"train_groups": ["a", None, "b"]}, "train_groups holds None for training row 1; expected the family"),
        ({"train_groups": np.array([1, "a", 2], object)}, "train_groups holds entries of several kinds"),
        ({"train_groups": np.array([b"a"] * 3)}, "an entry of train_groups is b'a'; expected a whole number"),
        ({"train_groups": [2**70] * 3}, f"train_groups holds numbers up to {2**70}; expected integers of 64 bits"),
    ],
)
def test_what_does_not_fit_is_named_with_what_was_seen(changes, told):
    with pytest.raises(DataError, match=f"^{told}"):
        a_dataset(**changes)


def test_a_block_is_sparse_or_dense_on_both_sides():
    X, kinds = np.eye(3, 4), (np.asarray, sparse.csr_array)
    for one, other, told in ((*kinds, "dense and of X_test sparse"), (*kinds[::-1], "sparse and of X_test dense")):
        with pytest.raises(DataError, match=f"^block 0 of X_train is {told}; expected the same"):
            a_dataset(X_train=one(X), X_test=other(X[:2]))
        with pytest.raises(DataError, match=f"^block 1 of X_train is {told}; expected the same"):
            a_dataset(X_train=(X, one(X)), X_test=(X[:2], other(X[:2])))


def test_a_part_of_the_test_instances_has_the_whole_training_set():
    part = take_instances(a_dataset(test_texts=["a", "b"], test_names=["c", "d"]), test=np.array([1]))
    assert (part.n_train, part.n_test, part.test_texts, part.test_names.tolist()) == (3, 1, ["b"], ["d"])
    assert (part.given_label_counts, part.given_n_train) == (None, None)


def test_a_part_of_no_training_instance_says_of_no_other_training_set():
    nothing = a_dataset(X_train=np.eye(0, 4), Y_train=Y[:0])
    assert take_instances(nothing, train=np.arange(0)).given_n_train is None


def test_a_number_is_the_same_whatever_its_type():
    plain = a_dataset(name="n", A=0.5, B=2.0, given_label_counts=[20, 10], given_n_train=30)
    for real in (np.float32, np.float64, np.float16):
        for whole in (np.int64, np.int32, np.float64):
            other = replace(plain, name=np.str_("n"), A=real(0.5), B=real(2), given_n_train=whole(30))
            assert other.fingerprint == plain.fingerprint
            assert (type(other.A), type(other.B), type(other.given_n_train)) == (float, float, int)
    assert replace(plain, B=2).fingerprint == plain.fingerprint
    assert replace(plain, A=0.25).fingerprint != plain.fingerprint
    texts, again = ["a", "b", "c"], [np.str_("a"), "b", "c"]
    assert a_dataset(train_texts=again).fingerprint == a_dataset(train_texts=texts).fingerprint
