import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from napkinxc.metrics import Jain_et_al_inverse_propensity
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.propensity import PROPENSITY_PRESETS, inverse_propensity

parameters = {"A": st.floats(0, 3), "B": st.floats(0.01, 20)}


@given(**parameters, seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_theta_agrees_with_an_independent_library(A, B, seed):
    Y = sparse.csr_array(np.random.default_rng(seed).random((40, 12)) < 0.2, dtype=np.float64)
    expected = Jain_et_al_inverse_propensity(sparse.csr_matrix(Y), A, B)
    np.testing.assert_allclose(inverse_propensity(Y, A, B), expected, rtol=1e-9)


def test_a_label_seen_once_in_ten_thousand_has_the_weight_worked_out_by_hand():
    # (B+1)^A and (N_l+B)^(−A) cancel at N_l = 1, so θ = 1 + ln D − 1 = ln D whatever A and B are.
    assert inverse_propensity(np.array([1]), 0.55, 1.5, n_train=10_000)[0] == pytest.approx(math.log(10_000))


@given(**parameters, counts=st.lists(st.integers(0, 1000), min_size=2))
@settings(deadline=None)
def test_rarer_labels_never_weigh_less_and_none_weighs_less_than_one(A, B, counts):
    theta = inverse_propensity(np.sort(counts), A, B, n_train=1000)
    assert (np.diff(theta) <= 0).all()
    assert (theta >= 1).all()


def test_without_A_all_labels_weigh_the_same():
    theta = inverse_propensity(np.array([0, 5, 500]), 0.0, 1.5, n_train=500)
    np.testing.assert_allclose(theta, math.log(500))


def test_labels_and_their_counts_give_the_same_weights():
    Y = np.array([[1, 0, 1], [1, 0, 0], [1, 1, 0], [0, 0, 0]], dtype=np.float32)
    np.testing.assert_array_equal(
        inverse_propensity(sparse.csr_array(Y), 0.5, 0.4), inverse_propensity(Y.sum(axis=0), 0.5, 0.4, n_train=4)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"A": -0.1}, "A is -0.1"),
        ({"A": math.nan}, "A is nan"),
        ({"B": 0.0}, "B is 0"),
        ({"B": -2.0}, "B is -2"),
        ({"n_train": 2}, "n_train is 2"),
        ({"n_train": None}, "n_train is None"),
        ({"n_train": 4}, "hold 5"),
        ({"A": 1e6}, "A = 1000000.0"),
    ],
)
def test_bad_arguments_are_named_with_their_value(arguments, message):
    call = {"A": 0.55, "B": 1.5, "n_train": 100} | arguments
    counts = np.array([0.0, 1.0, 2.0]) if arguments.get("n_train") == 2 else np.array([0.0, 5.0])
    with pytest.raises(DataError, match=message):
        inverse_propensity(counts, **call)


def test_three_training_instances_are_enough_and_fewer_are_refused_whatever_form_the_labels_have():
    assert inverse_propensity(np.eye(3), 0.55, 1.5) == pytest.approx(math.log(3))
    for labels, n_train in ((np.eye(2), None), (np.ones(2), 2)):
        with pytest.raises(DataError, match="n_train is 2; expected at least 3"):
            inverse_propensity(labels, 0.55, 1.5, n_train)


def test_labels_and_a_number_of_instances_that_contradict_each_other_are_refused():
    with pytest.raises(DataError, match="n_train is 4 and Y_train has 3 rows"):
        inverse_propensity(np.eye(3), 0.55, 1.5, n_train=4)
    with pytest.raises(DataError, match="label counts have 3 dimensions"):
        inverse_propensity(np.ones((3, 1, 1)), 0.55, 1.5, n_train=3)


def test_labels_other_than_zero_and_one_are_refused():
    with pytest.raises(DataError, match="it holds 2"):
        inverse_propensity(np.array([[2.0, 0.0]] * 3), 0.55, 1.5)


def test_presets_are_those_of_the_field():
    usual = dict.fromkeys(("Bibtex", "Eurlex-4K", "Wiki10-31K", "AmazonCat-13K", "Delicious-200K"), (0.55, 1.5))
    wikipedia = dict.fromkeys(("WikiLSHTC-325K", "Wikipedia-500K"), (0.5, 0.4))
    amazon = dict.fromkeys(("Amazon-670K", "Amazon-3M"), (0.6, 2.6))
    assert usual | wikipedia | amazon == PROPENSITY_PRESETS
