"""Single numbers as arguments: what is taken, and that every function names what it cannot take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xmlcore.analysis import (
    contributions,
    frequency_bins,
    head_torso_tail,
    label_table,
    recall_by_bin,
    rows_of_label,
)
from xmlcore.checks import DataError, as_indices, as_number, as_whole, check_reg_lambda
from xmlcore.cost import factorization_cost, outline
from xmlcore.dataset import Dataset
from xmlcore.estimator import XMLRidge
from xmlcore.evaluation import evaluate, evaluate_scores
from xmlcore.explain import explain_by_instance, missing_labels
from xmlcore.metrics import hits, make_ruler, precision_at_k, psprecision_at_k
from xmlcore.predictions import agreement
from xmlcore.profile import random_instances, strongest_pairs
from xmlcore.projection import random_projection
from xmlcore.propensity import inverse_propensity
from xmlcore.ranking import label_ranks, top_k, top_k_weighted
from xmlcore.ridge import RidgeFactorization
from xmlcore.sampling import sample_interval
from xmlcore.selection import frontier, lambda_grid, search_settings
from xmlcore.sparsify import compress, save_sparse_weights, sparse_weights, weight_sizes
from xmlcore.store import Store
from xmlcore.streaming import evaluate_streamed, fit_streamed
from xmlcore.synthetic import Shape, make_dataset

NO_NUMBERS = ["3", b"3", None, [3.0], [[3.0], []], np.ones(1), 3j, float("nan"), float("inf"), object(), 10**400]


@given(st.floats(-1e6, 1e6), st.floats(-10, 10), st.floats(0, 10))
def test_a_number_is_taken_exactly_where_it_is_within_its_bounds(value, low, width):
    high = low + width
    for bounds, fits in (
        ({"above": low, "below": high}, low < value < high),
        ({"at_least": low, "at_most": high}, low <= value <= high),
        ({}, True),
    ):
        if fits:
            assert as_number(value, "x", **bounds) == as_number(np.float64(value), "x", **bounds) == value
        else:
            with pytest.raises(DataError, match=r"x is .*; expected a finite number"):
                as_number(value, "x", **bounds)


@given(st.integers(-(10**9), 10**9), st.integers(-5, 5))
def test_a_whole_number_is_taken_in_whatever_type_it_comes(value, low):
    for given_as in (value, float(value), np.int64(value), np.float64(value)):
        if value >= low:
            assert as_whole(given_as, "n", at_least=low) == value
        else:
            with pytest.raises(DataError, match=rf"n is .*; expected a whole number of at least {low}"):
                as_whole(given_as, "n", at_least=low)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_is_no_finite_number_is_refused(value):
    for check in (as_number, as_whole):
        with pytest.raises(DataError, match="x is "):
            check(value, "x")


@pytest.mark.parametrize("none", [[], (), np.array([]), np.array([], int)], ids=repr)
def test_no_index_at_all_is_a_list_of_indices(none):
    indices = as_indices(none, 3, "rows")
    assert indices.dtype.kind == "i"
    assert indices.shape == (0,)
    with pytest.raises(DataError, match="rows has type float64"):
        as_indices([0.7], 3, "rows")


def test_the_bounds_and_the_value_are_told():
    with pytest.raises(DataError, match=r"^share is 1\.5; expected a finite number above 0 and of at most 1$"):
        as_number(np.float32(1.5), "share", above=0, at_most=1)
    with pytest.raises(DataError, match=r"^k is 2\.5; expected a whole number of at least 1 and of at most 2,000$"):
        as_whole(2.5, "k", at_least=1, at_most=2_000)
    with pytest.raises(DataError, match=r"^k is '3'; expected a whole number$"):
        as_whole("3", "k")


@pytest.mark.parametrize("value", ["3", None, float("nan"), 2.5])
def test_numbers_of_every_kind_are_named_where_they_come_in(value):
    scores, Y, votes = np.eye(4), sparse.csr_array(np.eye(4)), np.ones(4)
    data = Dataset("toy", scores, Y, scores, Y)
    calls = {
        "k": lambda: top_k(scores, value),
        "k ": lambda: precision_at_k(top_k(scores, 2), Y, value),
        "ks": lambda: evaluate_scores(scores, Y, votes, votes, ks=(1, value)),
        "label": lambda: explain_by_instance(votes, Y, value),
        "m": lambda: explain_by_instance(votes, Y, 0, m=value),
        "n": lambda: lambda_grid(1, 2, value),
        "n_components": lambda: random_projection(5, value),
        "seed": lambda: make_dataset("bibtex", value),
        "n_shares": lambda: frequency_bins([1, 2], "shares", value),
        "tail_below": lambda: head_torso_tail([1, 2], value, 3),
        "head_from": lambda: head_torso_tail([1, 2], 1, value),
        "n_pairs": lambda: strongest_pairs(Y, value),
        "min_together": lambda: strongest_pairs(Y, 2, min_together=value),
        "n  ": lambda: random_instances(data, value),
        "n_train": lambda: make_dataset(Shape(value, 9, 8, 4, 2.0, 3.0)),
        "n_train ": lambda: factorization_cost(outline(data), "raw", n_train=value or 0, rate=1.0),
    }
    if not isinstance(value, float) or np.isnan(value):
        calls |= {
            "A": lambda: inverse_propensity(Y, value, 1.5),
            "B": lambda: inverse_propensity(Y, 0.55, value),
            "weight": lambda: explain_by_instance(votes, Y, 0, weight=value),
        }
    for name, call in calls.items():
        with pytest.raises(DataError, match=f"^{name.strip()} is "):
            call()


def test_arrays_that_hold_no_numbers_are_named():
    scores, Y = np.eye(4), sparse.csr_array(np.eye(4))
    for values in (["a"] * 4, ["1"] * 4, [1j] * 4, [10**400] * 4, [object()] * 4, np.array([0] * 4, "M8[D]"), Y):
        for name, call in (
            ("inverse_propensity", lambda values: top_k_weighted(scores, values, 2)),
            ("inverse_propensity", lambda values: psprecision_at_k(top_k(scores, 2), Y, values, 1)),
            ("metric_inverse_propensity", lambda values: make_ruler(Y, values, 1)),
            ("votes", lambda values: explain_by_instance(values, Y, 0)),
            ("precision", lambda values: frontier(values, np.ones(4))),
            ("psprecision", lambda values: frontier(np.ones(4), values)),
        ):
            with pytest.raises(DataError, match=f"^{name} must hold real numbers"):
                call(values)
    with pytest.raises(DataError, match="inverse_propensity has shape"):
        psprecision_at_k(top_k(scores, 2), Y, None, 1)
    with pytest.raises(DataError, match="label counts must hold real numbers"):
        inverse_propensity(["a"], 0.55, 1.5, 8)
    with pytest.raises(DataError, match="n_train is 'four'"):
        inverse_propensity(Y, 0.55, 1.5, "four")
    with pytest.raises(DataError, match="n_train is '8'"):
        inverse_propensity([1, 2], 0.55, 1.5, "8")
    for counts, told in (
        ([1, np.nan], "holds nan"),
        ([np.inf], "holds inf"),
        ([0.5], "holds 0.5"),
        (["a"], "must hold"),
    ):
        with pytest.raises(DataError, match=f"^label_counts {told}"):
            frequency_bins(counts, "twos")
    with pytest.raises(DataError, match="exclude is of type list; expected a sparse matrix"):
        top_k(scores, 2, [[1]])
    assert agreement(np.empty((2, 0), int), np.empty((2, 0), int), 1).mean == 1


def test_masked_entries_count_nowhere_as_if_they_were_not_masked(tmp_path):
    scores, Y, ones = np.eye(4), sparse.csr_array(np.eye(4)), np.ones(4)
    square, row = np.ma.masked_array(scores, scores > 0), np.ma.masked_array(ones, [0, 1, 0, 0])
    fac = RidgeFactorization.fit(scores, Y)
    model = XMLRidge().fit(scores, Y)
    for name, call in (
        ("scores", lambda: top_k(square, 2)),
        ("top", lambda: precision_at_k(np.ma.masked_array(top_k(scores, 2), [[0, 1]] * 4), Y, 1)),
        ("inverse_propensity", lambda: top_k_weighted(scores, row, 2)),
        ("P", lambda: fac.scores(square, 1.0)),
        ("groups", lambda: fac.leave_group_out_scores(1.0, row)),
        ("votes", lambda: explain_by_instance(row, Y, 0)),
        ("label_counts", lambda: frequency_bins(row)),
        ("Y_train", lambda: inverse_propensity(row, 0.55, 1.5, 8)),
        ("array 'a' of 'key'", lambda: Store(tmp_path).put("key", {"a": row})),
        ("X", lambda: XMLRidge().fit(square, Y)),
        ("y", lambda: XMLRidge().fit(scores, square)),
        ("X", lambda: model.predict(square)),
    ):
        with pytest.raises(DataError, match=f"^{name} is an array with masked entries"):
            call()


def test_a_whole_number_of_another_type_is_a_k_that_was_evaluated():
    scores, Y = np.eye(4), sparse.csr_array(np.eye(4))
    evaluation = evaluate_scores(scores, Y, np.ones(4), np.ones(4), ks=(1, 2))
    for k in (2.0, np.int8(2)):
        assert rows_of_label(evaluation, k, Y, 3).kept.tolist() == [3]
    for k, seen in (("2", "'2'"), (2.5, "2.5"), (3, "3")):
        with pytest.raises(DataError, match=f"^k is {seen}; "):
            rows_of_label(evaluation, k, Y, 3)
    bins = frequency_bins(np.ones(4))
    assert repr(contributions(evaluation, 2.0, "precision", np.ones(4), bins).k) == "2"  # as it is written in titles
    assert recall_by_bin(evaluation, 2.0, Y, bins).assignments.sum() == 4
    assert label_table(evaluation, 2.0, Y, np.ones(4), np.ones(4)).test_count.tolist() == [1, 1, 1, 1]


def test_rows_of_a_projection_may_be_lists():
    eye = sparse.csr_array(np.eye(4, dtype=np.float32))
    fac = RidgeFactorization.fit(eye, eye)
    P, ones = fac.project(eye), np.ones(4)
    for given_as in (P, P.tolist()):
        (found,) = search_settings(fac, given_as, eye, [1.0], [0.5], [1.5], ones, ones, (1,))
        assert found.metrics["precision"][1] == 1
        assert evaluate(fac, given_as, eye, 1.0, ones, ones, (1,)).ridge.metrics["precision"][1] == 1
    for wrong, told in (([1, 2, 3, 4], "P has shape"), ([[1, 2], [1]], "P must have rows of equal length")):
        with pytest.raises(DataError, match=told):
            next(search_settings(fac, wrong, eye, [1.0], [0.5], [1.5], ones, ones, (1,)))


def test_rows_of_different_lengths_are_refused_by_name(tmp_path):
    eye, uneven, ones = sparse.csr_array(np.eye(4, dtype=np.float32)), [[0], [0, 1]], np.ones(4)
    fac, ruler = RidgeFactorization.fit(eye, eye), make_ruler(eye, None, 1)
    full = {name: {1: 1.0} for name in ("precision", "ndcg", "recall", "coverage")}
    for name, call in (
        ("P", lambda: fac.scores(uneven, 1.0)),
        ("P", lambda: fac.votes(uneven, 1.0)),
        ("rows", lambda: fac.leave_one_out_scores(1.0, rows=uneven)),
        ("groups", lambda: fac.leave_group_out_scores(1.0, uneven)),
        ("ks", lambda: evaluate(fac, fac.project(eye), eye, 1.0, ones, ones, uneven)),
        ("scores", lambda: evaluate_scores(uneven, eye, ones, ones)),
        ("scores_ps", lambda: evaluate_scores(np.eye(4), eye, ones, ones, scores_ps=uneven)),
        ("scores", lambda: top_k(uneven, 1)),
        ("scores", lambda: label_ranks(uneven, [0])),
        ("scores", lambda: missing_labels(np.zeros((4, 1), int), uneven, eye)),
        ("top", lambda: precision_at_k(uneven, eye, 1)),
        ("top", lambda: hits(uneven, ruler)),
        ("other", lambda: agreement(np.zeros((2, 1), int), uneven, 1)),
        ("psprecision", lambda: frontier([1.0, 2.0], uneven)),
        ("votes", lambda: explain_by_instance(uneven, eye, 0)),
        ("shares", lambda: compress(fac, weight_sizes(fac, 1.0), uneven, eye, ruler, full, (1,))),
        ("label_counts", lambda: frequency_bins(uneven, "twos")),
        ("array 'a' of 'key'", lambda: Store(tmp_path).put("key", {"a": uneven})),
    ):
        with pytest.raises(DataError, match=f"^{name} must have rows of equal length"):
            call()


def test_what_does_not_fit_the_rest_is_named_by_its_argument(tmp_path):
    eye = sparse.csr_array(np.eye(4, dtype=np.float32))
    fac, other = RidgeFactorization.fit(eye, eye), RidgeFactorization.fit(eye, eye[:, :3])
    sizes, top = weight_sizes(other, 1.0), np.zeros((4, 1), np.int32)
    full = {name: {1: 1.0} for name in ("precision", "ndcg", "recall", "coverage")}
    for call, told in (
        (lambda: random_projection(3, 2, seed=2**32), "seed is 4294967296; .* at most 4,294,967,295"),
        (lambda: save_sparse_weights(tmp_path / "W.npz", (eye, eye)), "weights has 2 blocks; expected one matrix"),
        (lambda: fit_streamed([(eye, eye)], projection=(eye, eye)), "projection has 2 blocks; expected one matrix"),
        (lambda: Store(tmp_path).put("a\udcff", {}), r"key is 'a\\udcff'; expected text"),
        (lambda: Store(tmp_path).get("a\udcff"), r"key is 'a\\udcff'; expected text"),
        (lambda: Store(tmp_path).put(5, {}), r"key is 5; expected text"),
        (lambda: Store(tmp_path).get(b"a"), r"key is b'a'; expected text"),
        (lambda: make_dataset(Shape(9, 9, 8, 4, 2.0, float("inf"))), "terms is inf; expected a finite number"),
        (lambda: sparse_weights(fac, sizes, 0.1), r"sizes are of W of shape \(4, 3\); expected \(4, 4\)"),
        (lambda: compress(fac, sizes, [0.5], eye, make_ruler(eye, None, 1), full, (1,)), "sizes are of W of shape"),
        (lambda: sample_interval(top, eye, 3, 9), r"top has shape \(4, 1\); expected at least 3 columns"),
    ):
        with pytest.raises(DataError, match=told):
            call()


@pytest.mark.parametrize("value", [0, -1, float("nan"), "3"])
def test_the_lambda_of_the_weighted_variant_is_named_as_what_it_is(value):
    eye, ones = sparse.csr_array(np.eye(4, dtype=np.float32)), np.ones(4)
    fac = RidgeFactorization.fit(eye, eye)
    for call in (
        lambda: evaluate(fac, fac.project(eye), eye, 1.0, ones, ones, reg_lambda_ps=value),
        lambda: evaluate_streamed(fac, [(eye, eye)], 1.0, ones, ones, reg_lambda_ps=value),
    ):
        with pytest.raises(DataError, match=f"^reg_lambda_ps is {value!r}; expected a finite number above 0"):
            call()


@pytest.mark.parametrize("value", [0, -1.5, float("nan"), float("inf"), None, "three"])
def test_a_lambda_that_is_not_above_zero_is_refused_with_its_value(value):
    shown = f"{value:g}" if isinstance(value, (int, float)) else repr(value)
    with pytest.raises(DataError, match=f"reg_lambda is {shown}; expected"):
        check_reg_lambda(value)
