"""The worked example: every step against an independent computation, and what the page says of its default."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import Ridge

from xmlcore import DataError, RidgeFactorization
from xmlcore.toy import EXAMPLE, ToyExample, objective, work_through

LAMBDA, A, B = 0.5, 0.55, 1.5

COUNTS = arrays(np.float64, (5, 6), elements=st.integers(0, 9))
LABELS = arrays(np.float64, (5, 4), elements=st.integers(0, 1))
NEW = arrays(np.float64, 6, elements=st.integers(0, 9))
LAMBDAS = st.floats(0.01, 100)


def worked(example: ToyExample = EXAMPLE, reg_lambda: float = LAMBDA, A: float = A, B: float = B):
    return work_through(example.X, example.Y, example.x_new, reg_lambda, A, B)


def names(example: ToyExample, order: np.ndarray) -> list[str]:
    return [example.labels[label] for label in order]


def test_at_the_default_weighting_puts_chess_first_instead_of_game():
    w = worked()
    assert names(EXAMPLE, w.order)[:2] == ["Game", "Chess"]
    assert names(EXAMPLE, w.order_ps)[:2] == ["Chess", "Game"]


def test_the_default_has_a_clear_margin_so_that_no_rounding_decides():
    w = worked()
    assert w.scores[w.order[0]] > 1.03 * w.scores[w.order[1]]
    assert w.scores_ps[w.order_ps[0]] > 1.03 * w.scores_ps[w.order_ps[1]]


def test_the_numbers_of_the_gram_matrix_can_be_counted_by_hand():
    # "game" occurs 1, 2, 1 and 2 times: 1 + 4 + 1 + 4; with "chess" only in the first document: 1 · 2.
    w = worked()
    assert w.gram[0, 0] == 10
    assert w.gram[0, 3] == 2
    # The label "Chess" is on the first document alone, so its column of XᵀY is that document.
    np.testing.assert_array_equal(w.cross[:, 3], EXAMPLE.X[0])
    np.testing.assert_array_equal(w.label_counts, [4, 3, 2, 1])


def test_theta_of_a_label_on_one_document_is_ln_5_and_without_A_every_theta_is():
    assert worked().inverse_propensity[3] == pytest.approx(np.log(5))  # (B+1)/(N_l+B) is 1 where N_l = 1
    np.testing.assert_allclose(worked(A=0).inverse_propensity, np.log(5))


def test_five_documents_leave_one_of_six_eigenvalues_exactly_zero():
    w = worked()
    assert np.count_nonzero(w.eigenvalues == 0) == 1
    assert w.inverse[-1] == 1 / LAMBDA
    assert (np.diff(w.eigenvalues) <= 0).all()


@given(COUNTS, LABELS, NEW, LAMBDAS)
@settings(max_examples=60, deadline=None)
def test_weights_and_scores_are_those_of_scikit_learn(X, Y, x_new, reg_lambda):
    w = work_through(X, Y, x_new, reg_lambda, A, B)
    peer = Ridge(alpha=reg_lambda, fit_intercept=False, solver="cholesky").fit(X, Y)
    np.testing.assert_allclose(w.weights, peer.coef_.T, atol=1e-7)
    np.testing.assert_allclose(w.scores, peer.predict(x_new[None])[0], atol=1e-6)


@given(COUNTS, LABELS, NEW, LAMBDAS)
@settings(max_examples=60, deadline=None)
def test_each_step_is_what_its_formula_says(X, Y, x_new, reg_lambda):
    w = work_through(X, Y, x_new, reg_lambda, A, B)
    V, sigma = w.eigenvectors, w.eigenvalues
    np.testing.assert_allclose(V @ np.diag(sigma) @ V.T, X.T @ X, atol=1e-8)
    np.testing.assert_allclose(V.T @ V, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(w.inverse, 1 / (sigma + reg_lambda))
    np.testing.assert_allclose((X.T @ X + reg_lambda * np.eye(6)) @ w.weights, X.T @ Y, atol=1e-8)
    np.testing.assert_allclose(x_new @ w.weights, w.scores, atol=1e-9)
    np.testing.assert_allclose(w.votes @ Y, w.scores, atol=1e-7)


@given(COUNTS, LABELS, LAMBDAS)
@settings(max_examples=60, deadline=None)
def test_a_document_left_out_has_the_score_of_weights_made_without_it(X, Y, reg_lambda):
    w = work_through(X, Y, X[0], reg_lambda, A, B)
    np.testing.assert_allclose(w.fitted, X @ w.weights, atol=1e-9)
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        W = np.linalg.solve(X[others].T @ X[others] + reg_lambda * np.eye(6), X[others].T @ Y[others])
        np.testing.assert_allclose(w.left_out[i], X[i] @ W, atol=1e-5)


def exactly(X, Y, reg_lambda: Fraction) -> np.ndarray:
    """W in rational numbers, by Gauss and Jordan's elimination of (XᵀX + λI | XᵀY)."""
    X, Y = (np.array([[Fraction(int(value)) for value in row] for row in of]) for of in (X, Y))
    n_words = X.shape[1]
    rows = np.hstack([X.T @ X + reg_lambda * np.eye(n_words, dtype=int), X.T @ Y])
    for at in range(n_words):
        rows[at] = rows[at] / rows[at, at]
        for other in set(range(n_words)) - {at}:
            rows[other] = rows[other] - rows[other, at] * rows[at]
    return rows[:, n_words:].astype(float)


def test_counts_of_999_beside_1_at_a_small_lambda_lose_no_digit_that_is_shown():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.choice([0, 1, 999], size=(5, 6), p=[0.3, 0.4, 0.3]).astype(float)
        Y, x_new = rng.integers(0, 2, (5, 4)).astype(float), rng.choice([0, 1, 999], 6).astype(float)
        w, W = work_through(X, Y, x_new, 0.01, A, B), exactly(X, Y, Fraction(1, 100))
        np.testing.assert_allclose(w.scores, x_new @ W, atol=1e-5)
        np.testing.assert_allclose(w.votes @ Y, x_new @ W, atol=1e-5)
        for i in range(len(X)):
            others = np.arange(len(X)) != i
            np.testing.assert_allclose(
                w.left_out[i], X[i] @ exactly(X[others], Y[others], Fraction(1, 100)), rtol=1e-5, atol=1e-5
            )


def test_the_smaller_gram_matrix_gives_the_same_weights():
    dual = EXAMPLE.X.T @ np.linalg.solve(EXAMPLE.X @ EXAMPLE.X.T + LAMBDA * np.eye(5), EXAMPLE.Y)
    np.testing.assert_allclose(dual, worked().weights, atol=1e-12)


@given(COUNTS, LABELS, LAMBDAS, st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_no_other_weights_have_a_smaller_objective(X, Y, reg_lambda, seed):
    w = work_through(X, Y, X[0], reg_lambda, A, B)
    other = w.weights + np.random.default_rng(seed).normal(scale=0.1, size=w.weights.shape)
    best = objective(X, Y, w.weights, reg_lambda)
    assert best.total <= objective(X, Y, other, reg_lambda).total
    assert best.total == pytest.approx(best.error + reg_lambda * best.size)


def test_the_library_gives_the_same_scores():
    fac = RidgeFactorization.fit(EXAMPLE.X, EXAMPLE.Y)
    scores = fac.scores(fac.project(EXAMPLE.x_new[None]), LAMBDA)[0]
    np.testing.assert_allclose(scores, worked().scores, atol=1e-5)


def test_weighting_is_the_same_as_training_on_weighted_labels():
    w = worked()
    weighted = np.linalg.solve(w.gram + LAMBDA * np.eye(6), EXAMPLE.X.T @ (EXAMPLE.Y * w.inverse_propensity))
    np.testing.assert_allclose(EXAMPLE.x_new @ weighted, w.scores_ps)


def test_ties_go_to_the_first_label_and_empty_tables_work():
    blank = replace(EXAMPLE, X=np.zeros((5, 6)), Y=np.zeros((5, 4)))
    w = worked(blank)
    assert not w.scores.any()
    np.testing.assert_array_equal(w.order, [0, 1, 2, 3])
    np.testing.assert_array_equal(w.eigenvalues, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.where(EXAMPLE.X == 2, np.nan, EXAMPLE.X)}, "X holds nan in row 1 and column 4; expected a number"),
        ({"X": -EXAMPLE.X}, "X holds -1 in row 1 and column 1"),
        ({"x_new": np.array([0, 0, 0, 0, 0, -2.0])}, "x_new holds -2 in column 6"),
        ({"x_new": np.array([0, np.inf, 0, 0, 0, 0])}, "x_new holds inf in column 2"),
        ({"Y": EXAMPLE.Y * 2}, "Y holds 2; expected 0 or 1"),
        ({"Y": EXAMPLE.Y[:4]}, r"Y \(4, 4\)"),
        ({"x_new": np.ones(5)}, r"x_new \(5,\)"),
        ({"X": EXAMPLE.X[:2], "Y": EXAMPLE.Y[:2]}, "n_train is 2; expected at least 3"),
        ({"X": np.ones(6)}, "X has shape"),
        ({"Y": np.ones(5)}, r"Y has shape \(5,\)"),
        ({"Y": np.ones((5, 0))}, r"Y has shape \(5, 0\)"),
        ({"X": [["two"] * 6] * 5}, "X must hold real numbers"),
        ({"x_new": [0, 0, 0, 0, 0, "one"]}, "x_new must hold real numbers"),
        ({"Y": [[1], [1, 0]]}, "Y must have rows of equal length"),
    ],
)
def test_what_cannot_be_used_is_named(changes, message):
    with pytest.raises(DataError, match=message):
        worked(replace(EXAMPLE, **changes))


@pytest.mark.parametrize(("name", "value"), [("reg_lambda", 0), ("reg_lambda", np.nan), ("A", -1), ("B", 0)])
def test_a_parameter_out_of_bounds_is_named(name, value):
    with pytest.raises(DataError, match=name):
        worked(**{name: value})
