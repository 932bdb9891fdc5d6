"""Evaluation in blocks against float64 solves and the metrics one by one."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from tests.memory import peak_bytes
from xmlcore.checks import DataError
from xmlcore.evaluation import (
    VariantResult,
    cut_ks,
    evaluate,
    evaluate_ranking,
    evaluate_scores,
    row_blocks,
)
from xmlcore.metrics import METRICS, make_ruler, precision_at_k, psndcg_at_k, psprecision_at_k
from xmlcore.propensity import inverse_propensity
from xmlcore.ranking import top_k
from xmlcore.ridge import RidgeFactorization


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(5)
    X, X_new = rng.standard_normal((80, 15)), rng.standard_normal((33, 15))
    frequency = 0.5 * rng.random(9) ** 2
    Y = sparse.csr_array(rng.random((80, 9)) < frequency, dtype=np.float32)
    Y_new = sparse.csr_array(rng.random((33, 9)) < frequency, dtype=np.float32)
    return X, Y, X_new, Y_new, inverse_propensity(Y, 0.9, 2.0), inverse_propensity(Y, 0.55, 1.5)


def brute_scores(X, Y, X_new, reg_lambda):
    return X_new @ np.linalg.solve(X.T @ X + reg_lambda * np.eye(X.shape[1]), X.T @ Y.toarray())


def assert_same(a: VariantResult, b: VariantResult):
    np.testing.assert_array_equal(a.top, b.top)
    np.testing.assert_array_equal(a.label_hits, b.label_hits)
    assert a.metrics == b.metrics


@pytest.mark.parametrize("budget", [1, 2000, None])
@pytest.mark.parametrize("reg_lambda_ps", [None, 40.0])
@pytest.mark.parametrize("with_features", [False, True])
def test_both_variants_equal_a_float64_solve_whatever_the_block_size(problem, budget, reg_lambda_ps, with_features):
    X, Y, X_new, Y_new, theta, theta0 = problem
    fac = RidgeFactorization.fit(X, Y)
    options = {"reg_lambda_ps": reg_lambda_ps, "X_new": X_new if with_features else None, "memory_budget": budget}
    result = evaluate(fac, fac.project(X_new), Y_new, 3.0, theta, theta0, **options)
    assert (result.ks, result.n_rows, result.reg_lambda) == ((1, 3, 5), 33, 3.0)
    assert result.reg_lambda_ps == (reg_lambda_ps or 3.0)
    expected = {
        "ridge": top_k(brute_scores(X, Y, X_new, 3.0), 5),
        "ps": top_k(brute_scores(X, Y, X_new, reg_lambda_ps or 3.0) * theta, 5),
    }
    for variant, top in expected.items():
        got = getattr(result, variant)
        np.testing.assert_array_equal(got.top, top)
        assert set(got.metrics) == set(METRICS)
        for k in (1, 3, 5):
            assert got.metrics["precision"][k] == precision_at_k(top, Y_new, k)
            assert got.metrics["psprecision"][k] == psprecision_at_k(top, Y_new, theta0, k)
            assert got.metrics["psndcg"][k] == psndcg_at_k(top, Y_new, theta0, k)


def test_scores_in_memory_give_what_the_factorisation_gives(problem):
    X, Y, X_new, Y_new, theta, theta0 = problem
    fac = RidgeFactorization.fit(X, Y)
    P = fac.project(X_new)
    for reg_lambda_ps in (None, 40.0):
        expected = evaluate(fac, P, Y_new, 3.0, theta, theta0, (2, 4), reg_lambda_ps=reg_lambda_ps)
        scores_ps = None if reg_lambda_ps is None else fac.scores(P, reg_lambda_ps)
        penalties = {"reg_lambda": 3.0, "reg_lambda_ps": reg_lambda_ps}
        got = evaluate_scores(fac.scores(P, 3.0), Y_new, theta, theta0, (2, 4), scores_ps=scores_ps, **penalties)
        assert (got.reg_lambda, got.reg_lambda_ps) == (expected.reg_lambda, expected.reg_lambda_ps)
        assert_same(got.ridge, expected.ridge)
        assert_same(got.ps, expected.ps)
        assert got.psprecision_best == expected.psprecision_best


def test_label_hits_count_the_rows_in_which_each_label_was_rightly_ranked(problem):
    X, Y, X_new, Y_new, theta, theta0 = problem
    result = evaluate_scores(brute_scores(X, Y, X_new, 3.0), Y_new, theta, theta0, (1, 4))
    for variant in (result.ridge, result.ps):
        for row, k in enumerate((1, 4)):
            ranked = np.zeros(Y_new.shape, dtype=bool)
            np.put_along_axis(ranked, variant.top[:, :k], True, axis=1)
            np.testing.assert_array_equal(variant.label_hits[row], (ranked & (Y_new.toarray() > 0)).sum(axis=0))
            assert variant.label_hits[row].sum() / (k * 33) == pytest.approx(variant.metrics["precision"][k], abs=1e-12)
            weighted = variant.label_hits[row] @ theta0 / result.psprecision_best[k]
            assert weighted == pytest.approx(variant.metrics["psprecision"][k], abs=1e-12)


def test_the_models_weights_move_only_the_weighted_variant_and_the_ruler_stays(problem):
    X, Y, X_new, Y_new, theta, theta0 = problem
    scores = brute_scores(X, Y, X_new, 3.0)
    mild, strong = (evaluate_scores(scores, Y_new, weights, theta0) for weights in (theta0, theta**3))
    assert_same(mild.ridge, strong.ridge)
    assert (mild.ps.top != strong.ps.top).any()
    assert mild.psprecision_best == strong.psprecision_best


def test_equal_weights_rank_as_no_weights_do(problem):
    X, Y, X_new, Y_new, _, theta0 = problem
    result = evaluate_scores(brute_scores(X, Y, X_new, 3.0), Y_new, np.full(9, 4.2), theta0)
    assert_same(result.ridge, result.ps)


def test_masked_pairs_are_in_no_ranking(problem):
    X, Y, X_new, Y_new, theta, theta0 = problem
    fac = RidgeFactorization.fit(X, Y)
    exclude = sparse.csr_array(np.random.default_rng(0).random((33, 9)) < 0.5)
    result = evaluate(fac, fac.project(X_new), Y_new, 3.0, theta, theta0, exclude=exclude, memory_budget=1)
    masked = exclude.toarray()
    for variant in (result.ridge, result.ps):
        rows, places = np.nonzero(variant.top >= 0)
        assert not masked[rows, variant.top[rows, places]].any()
        np.testing.assert_array_equal((variant.top >= 0).sum(axis=1), np.minimum(5, (~masked).sum(axis=1)))


def test_rows_of_P_and_Y_that_differ_are_refused(problem):
    X, Y, X_new, Y_new, theta, theta0 = problem
    fac = RidgeFactorization.fit(X, Y)
    with pytest.raises(DataError, match=r"P has shape \(5, 15\) and Y \(33, 9\)"):
        evaluate(fac, fac.project(X_new[:5]), Y_new, 3.0, theta, theta0)


def test_k_above_the_number_of_labels_is_cut_and_the_result_says_so():
    result = evaluate_scores(np.eye(3), sparse.csr_array(np.eye(3)), np.ones(3), np.ones(3), (5, 1, 9))
    assert result.ks == (1, 3)
    assert result.ridge.metrics["precision"] == {1: 1.0, 3: pytest.approx(1 / 3)}


@pytest.mark.parametrize("reg_lambda_ps", [None, 40.0])
def test_rows_that_score_zero_everywhere_are_counted_and_rank_the_first_labels(problem, reg_lambda_ps):
    X, Y, X_new, Y_new, theta, theta0 = problem
    fac = RidgeFactorization.fit(X, Y)
    empty = np.array([0, 7, 32])
    X_new = X_new.copy()
    X_new[empty] = 0
    P = fac.project(X_new)
    whole = evaluate(fac, P, Y_new, 3.0, theta, theta0, reg_lambda_ps=reg_lambda_ps, memory_budget=2000)
    scores = brute_scores(X, Y, X_new, 3.0)
    for result in (whole, evaluate_scores(scores, Y_new, theta, theta0)):
        assert result.rows_scored_zero == 3
        assert (result.ridge.top[empty] == np.arange(5)).all()
        assert (result.ps.top[empty] == np.arange(5)).all()
    scores[1, :8] = 0  # its last label is not 0
    assert evaluate_scores(scores, Y_new, theta, theta0).rows_scored_zero == 3


def test_blocks_of_rows_stay_within_the_budget_and_cover_all_rows(problem):
    fac = RidgeFactorization.fit(*problem[:2])
    blocks = list(row_blocks(7, fac, 4 * (9 + 2 * 15) * 3))
    assert [(rows.start, rows.stop) for rows in blocks] == [(0, 3), (3, 6), (6, 7)]
    assert [(rows.start, rows.stop) for rows in row_blocks(7, fac, 1)] == [(row, row + 1) for row in range(7)]


@pytest.mark.parametrize("reg_lambda_ps", [None, 40.0])
@pytest.mark.parametrize(
    ("kind", "shape", "budget"),  # shape: D, N, L and the rows to be scored
    [
        ("primal", (500, 300, 5_000, 1_200), 4_500_000),
        ("primal with Q", (500, 200, 5_000, 600), 8_000_000),
        ("primal by way of W", (500, 200, 5_000, 400), 4 * 400 * (5_000 + 2 * 200)),
        ("dual", (200, 300, 5_000, 1_200), 6_000_000),
    ],
)
def test_an_evaluation_stays_within_its_memory_budget(kind, shape, budget, reg_lambda_ps):
    rng = np.random.default_rng(4)
    D, N, L, rows = shape

    def some(n, m, density):
        return sparse.csr_array(sparse.random_array((n, m), density=density, dtype=np.float32, rng=rng))

    X, X_new = some(D, N, 0.01), some(rows, N, 0.01)
    Y, Y_new = (sparse.csr_array((some(n, L, 0.001) > 0).astype(np.float32)) for n in (D, rows))
    fac = RidgeFactorization.fit(X, Y, memory_budget=budget)
    assert (fac.form, fac.Q is not None) == (kind[:6].strip(), kind not in ("primal", "dual"))
    P, theta = fac.project(X_new), np.ones(L)

    options = {"reg_lambda_ps": reg_lambda_ps, "X_new": X_new if kind.endswith("W") else None, "memory_budget": budget}
    evaluation = partial(evaluate, fac, P, Y_new, 1.0, theta, theta, **options)
    evaluation()  # what is kept for the next call is not counted
    assert peak_bytes(evaluation)[1] < 1.3 * budget


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": np.zeros((2, 3))}, r"^scores has shape \(2, 3\)"),
        ({"scores": np.full((3, 3), np.nan)}, "scores holds nan in row 0, label 0"),
        ({"ks": ()}, r"ks is \(\)"),
        ({"ks": 5}, "ks is 5; expected a sequence"),
        ({"metric_inverse_propensity": None}, "metric_inverse_propensity is None"),
        ({"exclude": sparse.csr_array((4, 3))}, r"exclude has shape \(4, 3\)"),
        ({"ks": (0, 1)}, "ks is 0; expected a whole number of at least 1"),
        ({"inverse_propensity": np.array([1.0, -1.0, 1.0])}, "inverse_propensity holds -1.0"),
        ({"metric_inverse_propensity": np.ones(2)}, "metric_inverse_propensity has shape"),
        ({"scores_ps": np.zeros((3, 2))}, r"^scores_ps has shape \(3, 2\)"),
    ],
)
def test_bad_arguments_are_named_with_their_value(change, message):
    arguments = {
        "scores": np.eye(3),
        "Y": sparse.csr_array(np.eye(3)),
        "inverse_propensity": np.ones(3),
        "metric_inverse_propensity": np.ones(3),
    }
    with pytest.raises(DataError, match=message):
        evaluate_scores(**(arguments | change))


def test_another_systems_shorter_ranking_is_refused_unless_it_is_padded():
    ruler = make_ruler(sparse.csr_array(np.eye(3)), np.ones(3), 2)
    with pytest.raises(DataError, match="top has 1 columns"):
        evaluate_ranking(np.array([[0], [1], [2]]), ruler, (1, 2))
    with pytest.raises(DataError, match="the ruler reaches 2; expected at least 3"):
        evaluate_ranking(np.array([[0, 1, 2]] * 3), ruler, (1, 3))
    with pytest.raises(DataError, match=r"top has shape \(3,\)"):
        evaluate_ranking(np.array([0, 1, 2]), ruler, (1,))
    padded = np.array([[0, -1], [1, -1], [2, -1]])
    for top in (padded, padded.tolist()):
        assert evaluate_ranking(top, ruler, (1, 2)).metrics["precision"] == {1: 1.0, 2: 0.5}


def test_ks_are_sorted_distinct_and_cut():
    assert cut_ks((5, 1, 5, 30), 7) == (1, 5, 7)
