import napkinxc.metrics as napkin
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.metrics import (
    METRICS,
    coverage_at_k,
    hits,
    make_ruler,
    measure,
    ndcg_at_k,
    precision_at_k,
    precision_ceiling,
    psndcg_at_k,
    psprecision_at_k,
    recall_at_k,
)
from xmlcore.propensity import inverse_propensity
from xmlcore.ranking import top_k


def random_case(seed, rows=30, labels=14):
    """Labels with empty rows, short rows and labels unseen in training; distinct scores; θ from training labels."""
    rng = np.random.default_rng(seed)
    frequency = 0.6 * rng.random(labels) ** 3
    Y_train = (rng.random((50, labels)) < frequency) & (np.arange(labels) > 1)
    Y = (rng.random((rows, labels)) < np.maximum(frequency, 0.1)) & (rng.random((rows, 1)) < 0.7)
    scores = rng.permutation(rows * labels).reshape(rows, labels) + 1.0
    theta = inverse_propensity(sparse.csr_array(Y_train), rng.random(), 0.1 + 2 * rng.random())
    return sparse.csr_array(Y, dtype=np.float32), scores, theta


def napkin_values(Y, scores, theta, k, normalize=True):
    Y, scores = sparse.csr_matrix(Y, dtype=np.float64), sparse.csr_matrix(scores)
    return {
        "precision": napkin.precision_at_k(Y, scores, k)[-1],
        "psprecision": napkin.psprecision_at_k(Y, scores, theta, k, normalize=normalize)[-1],
        "ndcg": napkin.ndcg_at_k(Y, scores, k)[-1],
        "psndcg": napkin.psndcg_at_k(Y, scores, theta, k, normalize=normalize)[-1],
        "recall": napkin.recall_at_k(Y, scores, k)[-1],
        "coverage": napkin.coverage_at_k(Y, scores, k)[-1],
    }


def our_values(top, Y, theta, k, normalize=True):
    return {
        "precision": precision_at_k(top, Y, k),
        "psprecision": psprecision_at_k(top, Y, theta, k, normalize=normalize),
        "ndcg": ndcg_at_k(top, Y, k),
        "psndcg": psndcg_at_k(top, Y, theta, k, normalize=normalize),
        "recall": recall_at_k(top, Y, k),
        "coverage": coverage_at_k(top, Y, k),
    }


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 14), normalize=st.booleans())
@settings(max_examples=60, deadline=None)
def test_all_six_agree_with_an_independent_library(seed, k, normalize):
    Y, scores, theta = random_case(seed)
    expected = napkin_values(Y, scores, theta, k, normalize)
    assert our_values(top_k(scores, k), Y, theta, k, normalize) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_ruler_measures_what_the_single_functions_do(seed):
    Y, scores, theta = random_case(seed)
    assert (Y.sum(axis=1) == 0).any()
    assert (Y.sum(axis=1) == 1).any()
    top, ruler = top_k(scores, 5), make_ruler(Y, theta, 5)
    measured = measure(top, hits(top, ruler), ruler, (1, 3, 5))
    assert set(measured) == set(METRICS)
    for k in (1, 3, 5):
        assert {name: measured[name][k] for name in METRICS} == our_values(top, Y, theta, k)


def test_without_theta_only_the_metrics_that_need_none_are_measured():
    Y, scores, _ = random_case(0)
    ruler = make_ruler(Y, None, 1)
    top = top_k(scores, 1)
    assert set(measure(top, hits(top, ruler), ruler, (1,))) == {"precision", "ndcg", "recall", "coverage"}


def test_a_case_worked_out_by_hand():
    Y = sparse.csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]], dtype=np.float32))
    top = np.array([[1, 3], [0, 2], [0, 1]])
    theta = np.array([2.0, 4.0, 8.0, 16.0])
    assert precision_at_k(top, Y, 2) == pytest.approx(2 / 6)
    assert psprecision_at_k(top, Y, theta, 2) == pytest.approx((4 + 8) / (4 + 2 + 8))
    assert psprecision_at_k(top, Y, theta, 2, normalize=False) == pytest.approx((4 + 8) / 6)
    discount = 1 / np.log2(3)
    assert ndcg_at_k(top, Y, 2) == pytest.approx((1 / (1 + discount) + discount) / 3)
    gained = 4 / (1 + discount) + 8 * discount
    assert psndcg_at_k(top, Y, theta, 2) == pytest.approx(gained / ((4 + 2 * discount) / (1 + discount) + 8))
    assert recall_at_k(top, Y, 2) == pytest.approx((1 / 2 + 1) / 3)
    assert coverage_at_k(top, Y, 2) == pytest.approx(2 / 3)


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 14))
@settings(max_examples=30, deadline=None)
def test_the_best_ranking_scores_one_and_nothing_leaves_the_unit_interval(seed, k):
    Y, scores, theta = random_case(seed)
    best = our_values(top_k(Y.toarray() * theta + 1e-9 * scores / scores.max(), k), Y, theta, k)
    assert best["psprecision"] == pytest.approx(1)
    assert best["psndcg"] == pytest.approx(1)
    assert all(0 <= value <= 1 + 1e-12 for value in our_values(top_k(scores, k), Y, theta, k).values())


def test_places_without_a_label_are_never_hits():
    Y = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 1]], dtype=np.float32))
    top = np.array([[0, -1], [-1, -1]])
    assert our_values(top, Y, np.ones(3), 2)["precision"] == 1 / 4
    assert our_values(top, Y, np.ones(3), 2)["psprecision"] == 1 / 3


def test_k_above_the_number_of_labels_is_cut_to_it():
    Y, scores, theta = random_case(3, labels=4)
    top = top_k(scores, 9)
    assert our_values(top, Y, theta, 9) == our_values(top, Y, theta, 4)


def test_labels_without_any_assignment_give_zero_and_not_nan():
    assert set(our_values(np.array([[0], [1]]), sparse.csr_array((2, 3)), np.ones(3), 1).values()) == {0.0}


@pytest.mark.parametrize(
    ("top", "Y", "theta", "k", "message"),
    [
        ([[0], [1]], np.eye(3), [1, 1, 1], 1, r"top has shape \(2, 1\)"),
        ([[0.0], [1.0], [2.0]], np.eye(3), [1, 1, 1], 1, "holds float64"),
        ([[0], [1], [3]], np.eye(3), [1, 1, 1], 1, "top holds label 3"),
        ([[0], [1], [-2]], np.eye(3), [1, 1, 1], 1, "top holds label -2"),
        ([0, 1, 2], np.eye(3), [1, 1, 1], 1, r"top has shape \(3,\)"),
        ([[0, 1], [1, 1], [2, -1]], np.eye(3), [1, 1, 1], 2, "top names a label twice in one row"),
        ([[0], [1], [2]], np.eye(3), [1, 1, 1], 2, r"top has shape \(3, 1\); expected rows of at least k = 2"),
        ([[0], [1], [2]], np.eye(3), [1, 1, 1], 0, "k is 0"),
        ([[0], [1], [2]], 2 * np.eye(3), [1, 1, 1], 1, "Y must hold only 0 and 1; it holds 2"),
        ([[0], [1], [2]], np.eye(3), [1, 1], 1, "^inverse_propensity has shape"),
        ([[0], [1], [2]], np.eye(3), [1, np.nan, 1], 1, "^inverse_propensity holds nan"),
        ([], np.zeros((0, 3)), [1, 1, 1], 1, r"Y has shape \(0, 3\)"),
    ],
)
def test_bad_arguments_are_named_with_their_value(top, Y, theta, k, message):
    with pytest.raises(DataError, match=message):
        psprecision_at_k(np.array(top), sparse.csr_array(Y), np.array(theta), k)


@pytest.mark.parametrize("k", [1, 3, 5, 14, 20])
def test_the_ceiling_of_precision_is_what_a_ranking_by_the_labels_themselves_scores(k):
    Y, *_ = random_case(4)
    best = np.argsort(-Y.toarray(), axis=1, kind="stable")
    assert precision_ceiling(Y, k) == pytest.approx(precision_at_k(best, Y, k))
    assert precision_ceiling(Y, 1) < 1  # some rows are empty


def test_the_ceiling_of_precision_by_hand():
    Y = sparse.csr_array(np.array([[1, 1, 1], [1, 0, 0]], dtype=np.float32))
    assert precision_ceiling(Y, 2) == pytest.approx((2 + 1) / (2 * 2))
