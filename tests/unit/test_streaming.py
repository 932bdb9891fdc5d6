"""Sums over row blocks against a float64 solve and against the factorisation of the same data in memory."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.random_projection import SparseRandomProjection

from tests.hard_data import hard_data
from xmlcore.checks import DataError
from xmlcore.evaluation import evaluate
from xmlcore.projection import random_projection
from xmlcore.propensity import inverse_propensity
from xmlcore.ridge import RidgeFactorization
from xmlcore.row_blocks import blocks_of
from xmlcore.streaming import (
    add_sums,
    evaluate_streamed,
    factorize_sums,
    fit_streamed,
    gram_sums,
)
from xmlcore.synthetic import make_dataset

HARD = hard_data(600, 120)


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def solved(F: np.ndarray, Y: np.ndarray, F_new: np.ndarray, reg_lambda: float) -> np.ndarray:
    """Scores by the normal equations in float64."""
    F = F.astype(np.float64)
    return F_new @ np.linalg.solve(F.T @ F + reg_lambda * np.eye(F.shape[1]), F.T @ Y)


@pytest.mark.parametrize("share", [1e-5, 1e-3, 1e-1])
@pytest.mark.parametrize("rows", [7, 256, 5_000])
def test_scores_of_streamed_rows_equal_a_float64_solve_of_all_rows(share: float, rows: int) -> None:
    fac = fit_streamed(blocks_of(HARD.X, HARD.Y, rows))
    reg_lambda = share * fac.eigenvalues[-1]
    expected = solved(HARD.X.toarray(), HARD.Y.toarray(), HARD.X_new.toarray(), reg_lambda)
    assert relative_error(fac.scores(fac.project(HARD.X_new), reg_lambda), expected) < 1e-4


@pytest.mark.parametrize("share", [1e-5, 1e-3, 1e-1])
def test_projected_rows_equal_scikit_learns_projection_fitted_in_memory(share: float) -> None:
    ds = make_dataset("bibtex", seed=3, scale=0.2)
    reducer = SparseRandomProjection(100, random_state=5, dense_output=True).fit(ds.X_train)
    F, F_new = reducer.transform(ds.X_train), reducer.transform(ds.X_test)
    streamed = fit_streamed(blocks_of(ds.X_train, ds.Y_train, 100), projection=random_projection(ds.n_features, 100, 5))
    in_memory = RidgeFactorization.fit(F, ds.Y_train, form="primal")
    reg_lambda = share * streamed.eigenvalues[-1]
    found = streamed.scores(streamed.project(ds.X_test), reg_lambda)
    assert relative_error(found, in_memory.scores(in_memory.project(F_new), reg_lambda)) < 1e-4
    assert relative_error(found, solved(F, ds.Y_train.toarray(), F_new, reg_lambda)) < 1e-4


def test_a_random_projection_is_the_one_that_scikit_learn_draws() -> None:
    X = sparse.random_array((5, 400), density=0.1, format="csr", rng=np.random.default_rng(0))
    expected = SparseRandomProjection(30, random_state=9).fit(X).components_
    np.testing.assert_allclose(random_projection(400, 30, 9).toarray(), expected.toarray().T, rtol=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 599), max_size=4, unique=True))
def test_sums_do_not_depend_on_where_rows_are_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), 600]
    parts = [gram_sums([(HARD.X[a:b], HARD.Y[a:b])]) for a, b in pairwise(edges)]
    total = parts[0]
    for part in parts[1:]:
        total = add_sums(total, part)
    X = HARD.X.toarray().astype(np.float64)
    np.testing.assert_allclose(total.gram, X.T @ X, atol=1e-9)
    np.testing.assert_allclose(total.label_sums, HARD.Y.toarray().T @ X, atol=1e-9)
    np.testing.assert_array_equal(total.label_counts, HARD.Y.toarray().sum(axis=0))
    assert total.n_rows == 600


def test_dense_and_sparse_feature_blocks_stream_side_by_side_with_and_without_projection() -> None:
    dense = np.random.default_rng(1).standard_normal((800, 9)).astype(np.float32)
    X, X_new = (HARD.X, dense[:600]), (HARD.X_new, dense[600:])
    whole, whole_new = (np.hstack([block.toarray(), more]) for block, more in (X, X_new))
    for projection in (None, random_projection(129, 40, 2)):
        fac = fit_streamed(blocks_of(X, HARD.Y, 100), projection=projection)
        T = np.eye(129) if projection is None else projection.toarray()
        reg_lambda = 1e-3 * fac.eigenvalues[-1]
        expected = solved(whole @ T, HARD.Y.toarray(), whole_new @ T, reg_lambda)
        assert relative_error(fac.scores(fac.project(X_new), reg_lambda), expected) < 1e-4


@pytest.mark.parametrize("reg_lambda_ps", [None, 0.5])
def test_evaluating_test_rows_in_blocks_equals_evaluating_them_at_once(reg_lambda_ps: float | None) -> None:
    ds = make_dataset("bibtex", seed=1, scale=0.2)
    fac = fit_streamed(blocks_of(ds.X_train, ds.Y_train, 300), projection=random_projection(ds.n_features, 90))
    theta = inverse_propensity(fac.label_counts, 0.55, 1.5, fac.n_train)
    ruler = inverse_propensity(ds.Y_train, 0.6, 2.6)
    found = evaluate_streamed(
        fac, blocks_of(ds.X_test, ds.Y_test, 70), 2.0, theta, ruler, reg_lambda_ps=reg_lambda_ps, memory_budget=10_000
    )
    expected = evaluate(fac, fac.project(ds.X_test), ds.Y_test, 2.0, theta, ruler, reg_lambda_ps=reg_lambda_ps)
    assert found.n_rows == ds.n_test
    for one, other in ((found.ridge, expected.ridge), (found.ps, expected.ps)):
        assert one.metrics == other.metrics
        np.testing.assert_array_equal(one.label_hits, other.label_hits)


def test_masked_pairs_and_rows_that_score_zero_are_those_of_the_whole() -> None:
    fac = fit_streamed(blocks_of(HARD.X, HARD.Y, 250))
    theta = inverse_propensity(HARD.Y, 0.55, 1.5)
    Y_new = HARD.Y[: HARD.X_new.shape[0]]
    exclude = sparse.csr_array(np.random.default_rng(0).random(Y_new.shape) < 0.3)
    found = evaluate_streamed(
        fac, blocks_of(HARD.X_new, Y_new, 17), 2.0, theta, theta, exclude=exclude, memory_budget=5_000
    )
    expected = evaluate(fac, fac.project(HARD.X_new), Y_new, 2.0, theta, theta, exclude=exclude)
    np.testing.assert_array_equal(found.ps.top, expected.ps.top)
    assert found.ridge.metrics == expected.ridge.metrics
    assert found.rows_scored_zero == expected.rows_scored_zero
    with pytest.raises(DataError, match="exclude has 199 rows, and the blocks have more"):
        evaluate_streamed(fac, blocks_of(HARD.X_new, Y_new, 17), 2.0, theta, theta, exclude=exclude[:-1])


def test_large_sums_are_factorised_in_float32_after_deflation(monkeypatch) -> None:
    monkeypatch.setattr("xmlcore.eigen.FLOAT64_LIMIT", 50)
    fac = factorize_sums(gram_sums(blocks_of(HARD.X, HARD.Y)))
    reg_lambda = 1e-3 * fac.eigenvalues[-1]
    expected = solved(HARD.X.toarray(), HARD.Y.toarray(), HARD.X_new.toarray(), reg_lambda)
    assert relative_error(fac.scores(fac.project(HARD.X_new), reg_lambda), expected) < 1e-4


def test_scores_smaller_than_float32_holds_still_rank() -> None:
    fac = factorize_sums(gram_sums(blocks_of(HARD.X, HARD.Y)))
    P = fac.project(HARD.X_new)
    expected = solved(HARD.X.toarray(), HARD.Y.toarray(), HARD.X_new.toarray(), 1e46)
    assert relative_error(fac.scores(P, 1e46), expected) < 1e-5


def test_progress_counts_rows() -> None:
    told = []
    fit_streamed(blocks_of(HARD.X, HARD.Y, 250), progress=lambda *stage: told.append(stage))
    assert told == [("Gram sums, 250 rows", None), ("Gram sums, 500 rows", None), ("Gram sums, 600 rows", None)]


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "no row"),
        ([(HARD.X, HARD.Y[:, :0])], "Y has no labels"),
        ([(HARD.X, HARD.Y[:5])], "600 rows of X and 5 of Y"),
        ([(HARD.X, HARD.Y), (HARD.X[:, :7], HARD.Y)], "block 1 has 7 features"),
        ([(sparse.csr_array((3, 40_000), dtype=np.float32), HARD.Y[:3])], "at most 32,766"),
        ([(HARD.X * np.float32(np.nan), HARD.Y)], "X of block 0 holds nan"),
        ([(HARD.X, HARD.Y), (HARD.X.astype(float) * 1e160, HARD.Y)], "X of block 1 holds values too large"),
        ([(HARD.X.astype(float) * 1e-170, HARD.Y)], "X holds values too small"),
    ],
)
def test_blocks_that_cannot_be_summed_are_named(blocks: list, message: str) -> None:
    with pytest.raises(DataError, match=message):
        gram_sums(blocks)


@pytest.mark.parametrize(
    ("scale", "of_rows", "message"),
    [
        (1e200, 1, "projection holds values too large"),
        (1e-200, 1, "projection holds values too small"),
        (1e12, 1e27, "X of block 1 times the projection has values too large"),
        (1e-12, 1e-22, "X times the projection has values too small"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_projection_beyond_what_can_be_squared_is_named(scale: float, of_rows: float, message: str) -> None:
    T = random_projection(HARD.X.shape[1], 20).astype(np.float64) * scale
    empty = sparse.csr_array((3, HARD.X.shape[1]), dtype=np.float32)
    with pytest.raises(DataError, match=message):
        fit_streamed([(empty, HARD.Y[:3]), (HARD.X.astype(np.float64) * of_rows, HARD.Y)], projection=T)


def test_other_misuse_is_named() -> None:
    fac = fit_streamed([(HARD.X, HARD.Y)])
    with pytest.raises(DataError, match="X_new has 7 features"):
        fac.project(HARD.X[:, :7])
    with pytest.raises(DataError, match="X_new holds values too large to be projected"):
        fac.project(HARD.X.astype(float) * 1e60)
    for Y in (HARD.Y[:4], HARD.Y[:, :7]):
        with pytest.raises(DataError, match=r"Y of block 1 has shape .*; expected \(600, 40\)"):
            evaluate_streamed(fac, [(HARD.X, HARD.Y), (HARD.X, Y)], 1.0, np.ones(40), np.ones(40))
    for named in ("inverse_propensity", "metric_inverse_propensity"):
        theta = dict.fromkeys(("inverse_propensity", "metric_inverse_propensity"), np.ones(40)) | {named: np.ones(3)}
        blocks = iter([(HARD.X, HARD.Y)] * 2)
        with pytest.raises(DataError, match=rf"^{named} has shape \(3,\)"):
            evaluate_streamed(fac, blocks, 1.0, **theta)
        assert list(blocks)  # known before the last block
    with pytest.raises(DataError, match="P has shape"):
        fac.scores(np.zeros((2, 3), np.float32), 1.0)
    with pytest.raises(DataError, match="reg_lambda is 0"):
        fac.scores(fac.project(HARD.X), 0)
    with pytest.raises(DataError, match="n_components is 500"):
        random_projection(120, 500)
    with pytest.raises(DataError, match="cannot be added"):
        add_sums(gram_sums([(HARD.X, HARD.Y)]), gram_sums([(HARD.X[:, :7], HARD.Y)]))
    with pytest.raises(DataError, match="projection is for 150"):
        gram_sums([(HARD.X, HARD.Y)], projection=random_projection(150, 10))
    short = sparse.csr_array((700, 40))
    with pytest.raises(DataError, match="exclude has 700 rows, and the blocks have more"):
        evaluate_streamed(fac, [(HARD.X, HARD.Y)] * 2, 1.0, np.ones(40), np.ones(40), exclude=short)
    with pytest.raises(DataError, match="block 0 is csr_array; expected a pair of X and Y"):
        fit_streamed((HARD.X, HARD.Y))
    with pytest.raises(DataError, match="no row"):
        evaluate_streamed(fac, [], 1.0, np.ones(40), np.ones(40))
