"""What is in a data set: profiles and pairs of labels against brute force on dense matrices."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import xmlcore.profile
from tests.unit.helpers import dense
from xmlcore import DataError, Dataset
from xmlcore.profile import (
    features_per_instance,
    pair_operations,
    profile,
    random_instances,
    strongest_pairs,
)


def random_dataset(seed, n_train=23, n_test=11, n_labels=9, blocks=1, share=0.25) -> Dataset:
    rng = np.random.default_rng(seed)

    def side(rows):
        parts = [sparse.csr_array((rng.random((rows, 6)) < 0.4) * rng.random((rows, 6))).astype(np.float32)]
        if blocks > 1:
            parts.append(rng.integers(0, 3, (rows, 4)).astype(np.float32))
        Y = sparse.csr_array((rng.random((rows, n_labels)) < share).astype(np.float32))
        return (tuple(parts) if blocks > 1 else parts[0]), Y

    X_train, Y_train = side(n_train)
    X_test, Y_test = side(n_test)
    return Dataset("random", X_train, Y_train, X_test, Y_test)


def brute_force_pairs(Y: np.ndarray, order: str, least: int) -> list[tuple]:
    found = []
    for a, b in combinations(range(Y.shape[1]), 2):
        together = int((Y[:, a] * Y[:, b]).sum())
        if together >= least:
            jaccard = together / int(((Y[:, a] + Y[:, b]) > 0).sum())
            found.append((a, b, together, jaccard))
    if order == "together":
        return sorted(found, key=lambda p: (-p[2], -p[3], p[0], p[1]))
    return sorted(found, key=lambda p: (-p[3], -p[2], p[0], p[1]))


@given(st.integers(0, 10_000), st.integers(1, 2), st.sampled_from([0.02, 0.25, 0.9]))
@settings(max_examples=40, deadline=None)
def test_every_number_is_that_of_the_dense_matrices(seed, blocks, share):
    ds = random_dataset(seed, blocks=blocks, share=share)
    found = profile(ds)
    Y, Y_test, X = ds.Y_train.toarray(), ds.Y_test.toarray(), dense(ds.X_train)
    counts, test_counts = Y.sum(axis=0), Y_test.sum(axis=0)
    assert (found.n_features, found.n_labels) == (X.shape[1], 9)
    assert found.train.n_assignments == Y.sum()
    assert found.train.labels.mean == pytest.approx(Y.sum(axis=1).mean())
    assert found.train.labels.median == np.median(Y.sum(axis=1))
    assert found.train.labels.most == Y.sum(axis=1).max()
    assert found.train.density == pytest.approx(Y.mean())
    assert found.train.features.mean == pytest.approx((X != 0).sum(axis=1).mean())
    assert found.train.without_features == ((X != 0).sum(axis=1) == 0).sum()
    assert found.test.without_labels == (Y_test.sum(axis=1) == 0).sum()
    assert found.train.instances_by_labels.tolist() == [
        int((Y.sum(axis=1) == n).sum()) for n in range(int(Y.sum(axis=1).max()) + 1)
    ]
    assert found.on_one_instance == (counts == 1).sum()
    assert found.never_in_train == (counts == 0).sum()
    assert found.only_in_test == ((counts == 0) & (test_counts > 0)).sum()
    assert found.only_in_test_assignments == test_counts[counts == 0].sum()
    ranked = np.sort(counts)[::-1]
    least = next((n for n in range(1, 10) if 2 * ranked[:n].sum() >= ranked.sum()), 0) if ranked.sum() else 0
    assert found.half_of_assignments == least


def test_stored_zeros_are_no_features():
    X = sparse.csr_array((np.array([0.0, 1.0, 0.0]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    assert features_per_instance(X).tolist() == [1, 0]


@given(st.integers(0, 10_000), st.sampled_from(["together", "jaccard"]), st.integers(1, 4), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_the_strongest_pairs_are_those_of_a_look_at_every_pair(seed, order, least, n_pairs):
    Y = random_dataset(seed).Y_train
    found = strongest_pairs(Y, n_pairs, order=order, min_together=least)
    expected = brute_force_pairs(Y.toarray(), order, least)[:n_pairs]
    assert list(zip(found.first, found.second, found.together, strict=True)) == [pair[:3] for pair in expected]
    assert found.jaccard == pytest.approx([pair[3] for pair in expected])


@pytest.mark.parametrize("at_once", [1, 30, 200])
def test_pairs_do_not_depend_on_the_size_of_the_slabs(monkeypatch, at_once):
    Y = random_dataset(5, n_train=60, n_labels=25).Y_train
    whole = strongest_pairs(Y, 40, order="jaccard", min_together=2)
    monkeypatch.setattr(xmlcore.profile, "_PAIRS_AT_ONCE", at_once)
    in_slabs = strongest_pairs(Y, 40, order="jaccard", min_together=2)
    for part in ("first", "second", "together", "jaccard"):
        assert np.array_equal(getattr(whole, part), getattr(in_slabs, part))


def test_without_labels_there_are_no_pairs():
    for shape in ((4, 3), (0, 3), (4, 0)):
        assert strongest_pairs(sparse.csr_array(shape, dtype=np.float32)).first.size == 0


def test_the_operations_of_the_pairs_are_the_squares_of_the_rows():
    Y = sparse.csr_array(np.array([[1, 1, 1], [0, 0, 0], [1, 0, 1]], np.float32))
    assert pair_operations(Y) == 9 + 0 + 4


@pytest.mark.parametrize(
    ("arguments", "named"), [({"order": "lift"}, "order"), ({"n_pairs": 0}, "n_pairs"), ({"min_together": 0}, "min")]
)
def test_pairs_name_the_argument_that_cannot_be(arguments, named):
    with pytest.raises(DataError, match=named):
        strongest_pairs(random_dataset(0).Y_train, **arguments)


def test_random_instances_are_rows_of_the_training_set_with_their_names():
    ds = random_dataset(3, blocks=2)
    found = random_instances(ds, 5, seed=1)
    assert len({each.row for each in found}) == 5
    assert [each.row for each in found] == [each.row for each in random_instances(ds, 5, seed=1)]
    for each in found:
        labels = np.flatnonzero(ds.Y_train[[each.row]].toarray()[0])
        assert set(each.labels) == {f"label {label}" for label in labels}
        frequencies = [ds.label_counts[int(name.split()[1])] for name in each.labels]
        assert frequencies == sorted(frequencies, reverse=True)
        row = dense(ds.X_train)[each.row]
        assert each.n_features == np.count_nonzero(row)
        largest = np.argsort(-np.abs(row[:6]), kind="stable")[: np.count_nonzero(row[:6])]
        assert each.features == tuple(f"feature {column}" for column in largest)


def test_where_there_are_fewer_instances_all_are_shown():
    assert [each.row for each in random_instances(random_dataset(0, n_train=4), 10)] == [0, 1, 2, 3]
    with pytest.raises(DataError, match="n is 0"):
        random_instances(random_dataset(0), 0)
