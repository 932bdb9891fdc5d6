"""Eigenpairs of Gram matrices against those of whole float64 decompositions."""

import numpy as np
import pytest
from scipy import linalg

from xmlcore.checks import DataError
from xmlcore.eigen import FLOAT64_LIMIT, eigenpairs, lowered, outstanding, smallest_reliable_lambda
from xmlcore.linalg import gram


def test_eigenpairs_in_float64_rebuild_the_matrix_and_drop_its_null_directions():
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 3, (120, 31)) @ rng.integers(0, 3, (31, 60))).astype(np.float64)
    K = X @ X.T
    pairs = eigenpairs(K.copy())
    rebuilt = (pairs.vectors * pairs.values) @ pairs.vectors.T
    assert np.linalg.norm(rebuilt - K) < 1e-6 * np.linalg.norm(K)
    assert pairs.values.size == 31
    assert pairs.null.shape == (120, 89)
    assert np.abs(pairs.vectors.T @ pairs.null).max() < 1e-6
    assert (np.diff(pairs.values) >= 0).all()
    np.testing.assert_array_equal(pairs.leading.astype(np.float32), pairs.vectors[:, 31 - pairs.leading.shape[1] :])


def test_eigenpairs_in_float32_keep_small_eigenvalues_beside_a_huge_one():
    # Plain float32 loses what is below about 1e-7 of the largest eigenvalue; splitting that one off first does not.
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    values = np.concatenate([np.linspace(0.05, 1, 299), [1e6]])
    K = (basis * values) @ basis.T
    K = np.ascontiguousarray((K + K.T) / 2)
    exact = np.linalg.eigvalsh(K)
    pairs = eigenpairs(*lowered(K))
    plain = linalg.eigvalsh(K.astype(np.float32))
    assert pairs.leading.shape == (300, 1)
    assert np.abs(pairs.values - exact).max() < 1e-4
    assert np.abs(plain - exact)[:-1].max() > 1e-3
    assert np.abs(pairs.vectors.T @ pairs.vectors - np.eye(300)).max() < 1e-5


def test_eigenpairs_in_float32_split_off_nothing_where_nothing_stands_out():
    K = gram((np.random.default_rng(0).standard_normal((200, 100)),), of_rows=False, dtype=np.float64)
    pairs = eigenpairs(*lowered(K))
    assert pairs.leading.shape[1] == 0
    np.testing.assert_allclose(pairs.values, np.linalg.eigvalsh(K), rtol=1e-4)


def near_duplicates(rows=80, copies=12, same=3, seed=0):
    """Rows with a large mean, of which some are repeated with a small change and some as they are, in float64."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 200)) + 2
    changed = X[:copies] + 1e-3 * rng.standard_normal((copies, 200))
    return np.vstack([X, changed, X[-same:]])


def test_small_eigenpairs_after_float32_are_as_exact_as_float64_where_they_can_be_refined():
    X = near_duplicates()
    exact = np.linalg.eigvalsh(X @ X.T)[3:]
    pairs = eigenpairs(*lowered(X @ X.T), lambda V: X @ (X.T @ V))
    assert pairs.null.shape[1] == 3
    assert np.abs(X.T @ pairs.null).max() < 1e-5
    np.testing.assert_allclose(pairs.values[:12], exact[:12], rtol=1e-6)
    np.testing.assert_allclose(pairs.values, exact, rtol=1e-4)
    assert (np.diff(pairs.values) >= 0).all()
    vectors = np.hstack([pairs.null, pairs.vectors])
    assert np.abs(vectors.T @ vectors - np.eye(95)).max() < 1e-5
    # Without that, products with the small directions hold what has come in from the large ones.
    plain = eigenpairs(*lowered(X @ X.T))
    spoilt, kept = (np.linalg.norm(X.T @ each.vectors[:, :12], axis=0) for each in (plain, pairs))
    np.testing.assert_allclose(kept, np.sqrt(exact[:12]), rtol=1e-3)
    assert np.abs(spoilt[:12] / np.sqrt(exact[:12]) - 1).max() > 0.01


def test_where_most_directions_are_null_none_of_their_rounding_counts_as_an_eigenvalue():
    X = np.random.default_rng(0).standard_normal((200, 40))
    pairs = eigenpairs(*lowered(X @ X.T), lambda V: X @ (X.T @ V))
    assert pairs.values.size == 40
    np.testing.assert_allclose(pairs.values, np.linalg.eigvalsh(X.T @ X), rtol=1e-5)


def test_null_directions_beside_many_small_ones_are_told_from_them():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 60)) * np.where(np.arange(60) < 40, 1, 1e-2)
    pairs = eigenpairs(*lowered(X @ X.T), lambda V: X @ (X.T @ V))
    assert pairs.null.shape[1] == 140
    np.testing.assert_allclose(pairs.values, np.linalg.eigvalsh(X.T @ X), rtol=1e-3)


def test_a_few_tiny_eigenvalues_beside_small_ones_are_kept():
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.standard_normal((60, 60)))[0] * np.repeat([1.0, 1e-2, 3e-6], [50, 5, 5])
    pairs = eigenpairs(*lowered(X @ X.T), lambda V: X @ (X.T @ V))
    np.testing.assert_allclose(pairs.values, np.repeat([9e-12, 1e-4, 1.0], [5, 5, 50]), rtol=0.01)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_a_matrix_of_few_directions_in_float32_has_no_others(rank):
    X = np.zeros((60, 4))
    X[np.arange(60), np.arange(60) % rank] = 1 + np.arange(60) % rank
    pairs = eigenpairs(*lowered(X @ X.T), lambda V: X @ (X.T @ V))
    exact = np.linalg.eigvalsh(X.T @ X)[-rank:]
    np.testing.assert_allclose(pairs.values, exact, rtol=1e-6)
    assert pairs.leading.shape[1] <= rank
    np.testing.assert_allclose((pairs.vectors * pairs.values) @ pairs.vectors.T, X @ X.T, atol=1e-5)
    whole = np.hstack([pairs.null, pairs.vectors])
    np.testing.assert_allclose(whole.T @ whole, np.eye(60), atol=1e-5)  # held-out scores need the null directions


def test_eigenvalues_stand_out_down_to_the_last_that_is_twice_the_next():
    assert outstanding(np.array([1, 1.5, 2, 3])) == 0
    assert outstanding(np.array([1, 1.5, 2, 75])) == 1
    assert outstanding(np.array([1, 20, 21, 30])) == 3
    assert [outstanding(np.array(values)) for values in ([], [5], [1, 2], [1, 3], [1, 1, 9])] == [0, 0, 0, 1, 1]


def test_the_smallest_reliable_lambda_is_a_share_of_the_largest_eigenvalue_that_does_not_stand_out():
    values = np.array([0.5, 2.0, 5e3])
    assert smallest_reliable_lambda(values, FLOAT64_LIMIT, 0) == pytest.approx(5e-3)
    assert smallest_reliable_lambda(values, FLOAT64_LIMIT, 1) == pytest.approx(2e-6)
    assert smallest_reliable_lambda(values, FLOAT64_LIMIT + 1, 1) == pytest.approx(6e-5)
    assert smallest_reliable_lambda(values * [1, 1, 1e9], FLOAT64_LIMIT, 1) == pytest.approx(0.5)
    assert smallest_reliable_lambda(values[2:], FLOAT64_LIMIT, 1) == pytest.approx(5e-10)  # nothing but what stands out


def test_nothing_but_zeros_has_no_eigenpairs():
    with pytest.raises(DataError, match="only zeros"):
        eigenpairs(np.zeros((4, 4)))
