import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.ranking import label_ranks, top_k, top_k_both, top_k_weighted, warm_up


def brute_force(scores, k, exclude=None):
    """A stable sort of the negated scores: ties to the lower label; masked labels become -1."""
    scores = scores.astype(np.float64)
    if exclude is not None:
        scores[exclude.nonzero()] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k].astype(np.int32)
    order[np.take_along_axis(scores, order, axis=1) == -np.inf] = -1
    return order


def random_case(seed, rows, labels, dtype, few_values):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-2, 3, (rows, labels)) if few_values else rng.standard_normal((rows, labels))
    exclude = sparse.csr_array(rng.random((rows, labels)) < rng.choice([0, 0.02, 0.5, 1.0], size=(rows, 1)))
    theta = 1 + rng.integers(0, 3, labels) if few_values else 1 + 9 * rng.random(labels)
    return scores.astype(dtype), theta.astype(np.float64), exclude


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(0, 6),
    labels=st.integers(1, 300),
    k=st.integers(1, 40),
    dtype=st.sampled_from([np.float32, np.float64]),
    few_values=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_both_rankings_equal_a_stable_sort_with_ties_masks_and_large_k(seed, rows, labels, k, dtype, few_values):
    scores, theta, exclude = random_case(seed, rows, labels, dtype, few_values)
    for mask in (None, exclude):
        top, top_ps = top_k_both(scores, theta, k, mask)
        np.testing.assert_array_equal(top, brute_force(scores, k, mask))
        np.testing.assert_array_equal(top_ps, brute_force(scores * theta, k, mask))
        np.testing.assert_array_equal(top, top_k(scores, k, mask))
        np.testing.assert_array_equal(top_ps, top_k(scores * theta, k, mask))
        np.testing.assert_array_equal(top_ps, top_k_weighted(scores, theta, k, mask))


@pytest.mark.parametrize("order", ["rising", "falling", "equal", "random"])
def test_many_rows_shared_among_threads_rank_like_one_row_alone(order):
    rng = np.random.default_rng(4)
    scores = rng.standard_normal((3000, 700), dtype=np.float32)
    if order == "rising":
        scores.sort(axis=1)
    elif order == "falling":
        scores = -np.sort(scores, axis=1)
    elif order == "equal":
        scores[:] = 0
    theta = 1 + 5 * rng.random(700)
    top, top_ps = top_k_both(scores, theta, 5)
    np.testing.assert_array_equal(top, brute_force(scores, 5))
    np.testing.assert_array_equal(top_ps, brute_force(scores * theta, 5))


def test_k_is_cut_to_the_number_of_labels():
    assert top_k(np.array([[1.0, 3.0, 2.0]]), 5).tolist() == [[1, 2, 0]]


def test_a_row_with_nothing_left_to_rank_ends_in_no_label():
    exclude = sparse.csr_array(np.array([[1, 0, 1], [1, 1, 1]]))
    assert top_k(np.array([[9.0, 1.0, 8.0]] * 2), 2, exclude).tolist() == [[1, -1], [-1, -1]]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", [(0, 0), (2499, 616), (1203, 31)])
def test_scores_that_are_not_finite_are_refused_with_their_place(value, dtype, place):
    scores = np.zeros((2500, 617), dtype=dtype)
    scores[place] = value
    for call in (lambda: top_k(scores, 3), lambda: top_k_both(scores, np.ones(617), 3)):
        with pytest.raises(DataError, match=f"{value} in row {place[0]}, label {place[1]};"):
            call()


def test_a_masked_score_that_is_not_finite_is_refused_too():
    with pytest.raises(DataError, match="row 0, label 1"):
        top_k(np.array([[1.0, np.nan]]), 1, sparse.csr_array(np.array([[0, 1]])))


@pytest.mark.parametrize("scores", [[1e308, 1.0], [-1e308, -1.0]])
def test_products_that_overflow_are_refused(scores):
    with pytest.raises(DataError, match="overflows in row 1"):
        top_k_both(np.array([[2.0, 1.0], scores]), np.array([100.0, 1.0]), 2)


def test_a_product_that_overflows_is_refused_where_masks_leave_fewer_labels_than_k_too():
    mask = sparse.csr_array(np.array([[0, 0, 0], [0, 1, 0]]))
    scores, theta = np.array([[2.0, 1.0, 3.0], [-1e308, 1.0, 2.0]]), np.array([100.0, 1.0, 1.0])
    with pytest.raises(DataError, match="overflows in row 1"):
        top_k_both(scores, theta, 3, mask)
    assert top_k_weighted(scores, theta, 1, mask).tolist() == [[0], [2]]  # far from the first, it changes nothing
    assert top_k_weighted(scores / 1e3, theta, 3, mask).tolist() == [[0, 2, 1], [2, 0, -1]]


@pytest.mark.parametrize(
    ("scores", "theta", "k", "exclude", "message"),
    [
        (np.zeros(3), np.ones(3), 1, None, r"shape \(3,\)"),
        (np.zeros((2, 0)), np.ones(0), 1, None, "at least one label"),
        (np.zeros((2, 3)), np.ones(3), 0, None, "k is 0"),
        (np.zeros((2, 3)), np.ones(2), 1, None, "inverse_propensity has shape"),
        (np.zeros((2, 3)), np.array([1, 0, 1]), 1, None, "holds 0.0 for label 1"),
        (np.zeros((2, 3)), np.ones(3), 1, sparse.csr_array((3, 3)), "exclude has shape"),
        (np.array([["a", "b"]]), np.ones(2), 1, None, "expected real numbers"),
    ],
)
def test_bad_arguments_are_named_with_their_value(scores, theta, k, exclude, message):
    with pytest.raises(DataError, match=message):
        top_k_both(scores, theta, k, exclude)


def test_read_only_transposed_and_whole_number_scores_rank_alike():
    scores = np.asfortranarray(np.random.default_rng(0).permutation(60).reshape(6, 10))
    frozen = scores.astype(np.float32)
    frozen.flags.writeable = False
    warm_up()
    np.testing.assert_array_equal(top_k(scores, 4), brute_force(scores, 4))
    np.testing.assert_array_equal(top_k(frozen, 4), brute_force(scores, 4))


@given(seed=st.integers(0, 2**32 - 1), labels=st.integers(1, 60), few_values=st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_places_of_labels_are_those_of_the_ranking(seed, labels, few_values):
    scores, theta, exclude = random_case(seed, 1, labels, np.float32, few_values)
    masked = exclude[[0]].indices
    (order,) = top_k(scores * theta, labels, exclude)
    ranked = order[order >= 0]
    assert label_ranks(scores[0] * theta, ranked, masked).tolist() == list(range(1, len(ranked) + 1))


def test_without_a_mask_every_label_has_its_place():
    assert label_ranks(np.array([3.0, 1.0, 3.0, 2.0]), np.array([3, 2, 0])).tolist() == [3, 2, 1]
    assert label_ranks(np.array([3.0, 1.0]), np.array([1]), np.array([0])).tolist() == [1]


@pytest.mark.parametrize(
    ("scores", "labels"),
    [([[0.0, 1.0]], [0]), ([0.0, np.nan], [0]), ([0.0, 1.0], [2]), ([0.0, 1.0], [-1]), ([0.0, 1.0], [0.7])],
)
def test_the_place_of_a_label_that_is_not_there_or_cannot_be_compared_is_refused(scores, labels):
    with pytest.raises(DataError, match="expected"):
        label_ranks(np.array(scores), np.array(labels))
    with pytest.raises(DataError, match="masked"):
        label_ranks(np.arange(2.0), np.array([0]), np.array([2]))


def test_a_stored_zero_masks_nothing():
    exclude = sparse.csr_array((np.array([0.0, 1.0]), (np.array([0, 0]), np.array([0, 1]))), shape=(1, 3))
    assert top_k(np.array([[3.0, 2.0, 1.0]]), 2, exclude).tolist() == [[0, 2]]
    assert exclude.nnz == 2
