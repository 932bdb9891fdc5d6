import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.unit.helpers import dense
from xmlcore.checks import DataError
from xmlcore.explain import explain_by_feature, explain_by_instance, missing_labels
from xmlcore.ridge import RidgeFactorization


def problem(form, seed=0):
    """Sparse and dense features side by side, rows enough for the form asked for."""
    rng = np.random.default_rng(seed)
    D = 40 if form == "primal" else 12
    X = (
        sparse.random_array((D, 15), density=0.4, format="csr", rng=rng, dtype=np.float64),
        rng.standard_normal((D, 5)),
    )
    x = (
        sparse.random_array((1, 15), density=0.4, format="csr", rng=rng, dtype=np.float64),
        rng.standard_normal((1, 5)),
    )
    Y = sparse.csr_array(rng.random((D, 6)) < 0.4, dtype=np.float32)
    return RidgeFactorization.fit(X, Y, form=form), X, x, Y


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("label", range(6))
@pytest.mark.parametrize(("weight", "m"), [(1.0, 3), (7.5, 1), (2.0, 100)])
def test_both_explanations_add_up_to_the_float64_score_and_hold_the_largest_terms(form, label, weight, m):
    fac, X, x, Y = problem(form)
    A, a = dense(X), dense(x)[0]
    inverse = np.linalg.inv(A.T @ A + 0.7 * np.eye(20))
    by_feature = a * (inverse @ A.T @ Y.toarray()[:, label]) * weight
    by_instance = (A @ inverse @ a) * Y.toarray()[:, label] * weight
    votes = fac.votes(fac.project(x)[0], 0.7)
    for got, terms in (
        (explain_by_feature(fac, x, label, 0.7, weight=weight, m=m), by_feature),
        (explain_by_instance(votes, Y, label, weight=weight, m=m), by_instance),
    ):
        assert got.contribution.sum() + got.others == pytest.approx(got.score, abs=1e-12)
        assert got.score == pytest.approx(terms.sum(), abs=1e-5)
        order = np.argsort(-np.abs(terms))[: len(got.index)]
        np.testing.assert_array_equal(got.index, order)
        np.testing.assert_allclose(got.contribution, terms[order], atol=1e-5)
        assert got.n_others == np.count_nonzero(terms) - len(got.index)


@given(seed=st.integers(0, 1000), label=st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_the_two_explanations_and_the_score_of_the_list_are_one_number(seed, label):
    fac, _, x, Y = problem("primal", seed)
    P = fac.project(x)
    score = fac.scores(P, 2.0)[0, label]
    assert explain_by_feature(fac, x, label, 2.0).score == pytest.approx(score, abs=1e-5)
    assert explain_by_instance(fac.votes(P[0], 2.0), Y, label).score == pytest.approx(score, abs=1e-5)


def test_weighted_explanations_are_theta_times_the_plain_ones():
    fac, _, x, Y = problem("dual")
    votes = fac.votes(fac.project(x)[0], 1.0)
    for explain in (
        lambda weight: explain_by_feature(fac, x, 2, 1.0, weight=weight, m=4),
        lambda weight: explain_by_instance(votes, Y, 2, weight=weight, m=4),
    ):
        plain, weighted = explain(1.0), explain(3.0)
        np.testing.assert_array_equal(plain.index, weighted.index)
        np.testing.assert_allclose(weighted.contribution, 3 * plain.contribution)
        assert weighted.others == pytest.approx(3 * plain.others)
        assert weighted.score == pytest.approx(3 * plain.score)


def test_an_instance_without_features_and_a_label_without_instances_score_nothing():
    fac, *_ = problem("primal")
    nothing = (sparse.csr_array((1, 15)), np.zeros((1, 5)))
    empty = explain_by_feature(fac, nothing, 0, 1.0)
    assert (empty.score, empty.others, len(empty.index)) == (0, 0, 0)
    stored = sparse.csr_array(([0.0, 2.0], ([0, 0], [3, 4])), shape=(1, 15))
    assert explain_by_feature(fac, (stored, np.zeros((1, 5))), 0, 1.0).index.tolist() == [4]
    unseen = sparse.csr_array((40, 6), dtype=np.float32)
    assert explain_by_instance(np.ones(40), unseen, 1).score == 0


def test_wrong_predictions_are_listed_by_their_support():
    Y = sparse.csr_array(np.array([[1, 0, 0], [0, 0, 1]], dtype=np.float32))
    scores = np.array([[0.9, 0.3, 0.8], [0.95, 0.7, 0.1]])
    found = missing_labels(np.array([[0, 2], [0, -1]]), scores, Y)
    assert list(zip(found.row, found.label, found.support, strict=True)) == [(1, 0, 0.95), (0, 2, 0.8)]
    assert missing_labels(np.array([[0, 2], [0, -1]]), scores, Y, n=1).label.tolist() == [0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda fac, x, Y: explain_by_feature(fac, x, 6, 1.0), "label is 6"),
        (lambda fac, x, Y: explain_by_feature(fac, x, -1, 1.0), "label is -1"),
        (lambda fac, x, Y: explain_by_feature(fac, x, 0, -1.0), "reg_lambda is -1"),
        (lambda fac, x, Y: explain_by_feature(fac, x, 0, 1.0, m=0), "m is 0"),
        (lambda fac, x, Y: explain_by_feature(fac, x, 0, 1.0, weight=0.0), "weight is 0"),
        (lambda fac, x, Y: explain_by_feature(fac, x[0], 0, 1.0), "x has"),
        (lambda fac, x, Y: explain_by_feature(fac, (np.ones((2, 15)), np.ones((2, 5))), 0, 1.0), "x has 2 rows"),
        (lambda fac, x, Y: explain_by_instance(np.ones(3), Y, 0), "votes has shape"),
        (lambda fac, x, Y: explain_by_instance(np.ones(40), Y, -1), "label is -1"),
        (lambda fac, x, Y: explain_by_instance(np.ones(40), Y, 6), "label is 6"),
        (lambda fac, x, Y: explain_by_instance(np.r_[np.ones(39), np.inf], Y, 0), "values that are not finite"),
        (lambda fac, x, Y: explain_by_instance(np.full(40, np.nan), Y, 0), "votes holds values that are not finite"),
        (lambda fac, x, Y: missing_labels(np.zeros((40, 1), int), np.ones((40, 2)), Y), "scores has shape"),
        (lambda fac, x, Y: missing_labels(np.zeros((40, 1), int), np.ones((40, 6)), Y, n=0), "n is 0"),
    ],
)
def test_bad_arguments_are_named_with_their_value(call, message):
    fac, _, x, Y = problem("primal")
    with pytest.raises(DataError, match=message):
        call(fac, x, Y)
