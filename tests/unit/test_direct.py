"""The direct solve against float64 brute force, and the range of λ that a slider is given."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from tests.unit.ridge_cases import SHARES, brute_force, distance, same_top5
from xmlcore import direct, eigen, linalg, products
from xmlcore.checks import DataError
from xmlcore.direct import DirectSolver, lambda_range, solve_direct


@pytest.mark.parametrize("share", SHARES)
def test_the_direct_solve_equals_brute_force(case, share):
    reg_lambda = case.reg_lambda(share)
    expected = brute_force(case.data.X, case.data.Y, case.data.X_new, reg_lambda)
    for rows in (slice(None), slice(7)):
        found = solve_direct(case.data.X, case.data.Y, case.data.X_new[rows], reg_lambda)
        assert distance(found, expected[rows]) < 1e-5
    assert same_top5(solve_direct(case.data.X, case.data.Y, case.data.X_new, reg_lambda), expected) >= 0.999


@pytest.mark.parametrize("limit", [5_000, 10], ids=["float64", "float32"])
def test_one_lambda_after_another_is_solved_on_one_gram_matrix(case, monkeypatch, limit):
    monkeypatch.setattr(eigen, "FLOAT64_LIMIT", limit)
    made, gram = [], linalg.gram
    monkeypatch.setattr(linalg, "gram", lambda X, **how: made.append(how["dtype"]) or gram(X, **how))
    solver = DirectSolver(case.data.X, case.data.Y)
    solver.prepare()
    kept = solver._gram.copy()
    for share in (*SHARES, SHARES[0]):
        reg_lambda = case.reg_lambda(share)
        expected = brute_force(case.data.X, case.data.Y, case.data.X_new, reg_lambda)
        found = solver.scores(case.data.X_new, reg_lambda)
        assert distance(found, expected) < 2e-5
        assert same_top5(found, expected) >= 0.999
    with pytest.raises(DataError, match="reg_lambda"):
        solver.scores(case.data.X_new, 1e-300)
    linalg.undo_cholesky_solve(solver._gram, solver._diagonal)
    np.testing.assert_array_equal(solver._gram, kept)
    assert made[:1] == [np.float64 if limit > 10 else np.float32]
    assert np.float32 not in made[1:]  # again only in float64, where float32 was too rough
    assert len(made) == 1 or limit == 10


@pytest.mark.parametrize("limit", [5_000, 10], ids=["float64", "float32"])
def test_more_rows_at_the_last_lambda_cost_no_factor(case, monkeypatch, limit):
    monkeypatch.setattr(eigen, "FLOAT64_LIMIT", limit)
    factored, factor = [], linalg.cholesky_factor
    monkeypatch.setattr(linalg, "cholesky_factor", lambda K: factored.append(K.dtype) or factor(K))
    solver, reg_lambda = DirectSolver(case.data.X, case.data.Y), case.reg_lambda(SHARES[-1])
    expected = brute_force(case.data.X, case.data.Y, case.data.X_new, reg_lambda)
    for rows in (slice(None), slice(3), slice(3, 60)):
        assert distance(solver.scores(case.data.X_new[rows], reg_lambda), expected[rows]) < 2e-5
    assert len(factored) == 1
    other = case.reg_lambda(SHARES[1])
    expected = brute_force(case.data.X, case.data.Y, case.data.X_new, other)
    assert distance(solver.scores(case.data.X_new, other), expected) < 2e-5
    assert len(factored) > 1


def test_several_threads_get_each_the_scores_of_its_own_lambda(case):
    solver = DirectSolver(case.data.X, case.data.Y)
    lambdas = [case.reg_lambda(share) for share in np.geomspace(1e-3, 1, 12)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda each: solver.scores(case.data.X_new, each), lambdas * 2))
    for reg_lambda, scores in zip(lambdas * 2, found, strict=True):
        expected = brute_force(case.data.X, case.data.Y, case.data.X_new, reg_lambda)
        assert distance(scores, expected) < 1e-5


@pytest.mark.parametrize("scale", [1e40, 1e160])
@pytest.mark.parametrize("shape", [(30, 12), (12, 30)], ids=["primal", "dual"])
@pytest.mark.parametrize("n_new", [3, 40])
def test_rows_too_large_to_be_scored_are_named(scale, shape, n_new):
    rng = np.random.default_rng(0)
    X, X_new = rng.standard_normal(shape), scale * rng.standard_normal((n_new, shape[1]))
    Y = sparse.csr_array((rng.random((shape[0], 8)) < 0.3).astype(np.float32))
    with pytest.raises(DataError, match="X_new holds values too large"):
        solve_direct(X, Y, X_new, 2.0)


def test_the_sums_of_many_labels_are_made_in_blocks_within_the_memory_budget(monkeypatch):
    rng = np.random.default_rng(0)
    X, X_new = sparse.csr_array(rng.standard_normal((60, 40))), rng.standard_normal((5, 40))
    Y = sparse.csr_array((rng.random((60, 300)) < 0.1).astype(np.float32))
    widths, times = [], products.transposed_times_sparse
    monkeypatch.setattr(direct, "default_memory_budget", lambda: 16 * 40 * 70)
    monkeypatch.setattr(
        products, "transposed_times_sparse", lambda X, S, dtype: widths.append(S.shape[1]) or times(X, S, dtype)
    )
    expected = brute_force(X, Y, sparse.csr_array(X_new), 2.0)
    assert distance(solve_direct(X, Y, X_new, 2.0), expected) < 1e-6
    assert widths == [70, 70, 70, 70, 20]


@pytest.mark.parametrize("reg_lambda", [1e60, 1e200, 1e300])
def test_the_direct_solve_of_a_huge_lambda_is_that_of_the_factorisation(reg_lambda):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((20, 6)), sparse.csr_array(rng.random((20, 5)) < 0.4, dtype=np.float32)
    expected = X @ (X.T @ Y.toarray()) / reg_lambda
    np.testing.assert_allclose(solve_direct(X, Y, X, reg_lambda), expected, rtol=1e-4, atol=1e-6 / reg_lambda)


def test_the_range_of_lambda_spans_from_barely_shrunk_to_wholly_shrunk(case):
    low, high = lambda_range(case.data.X)
    values = case.fac.eigenvalues
    assert high == pytest.approx(values[-1], rel=1e-3)
    assert low == pytest.approx(max(1e-3 * values.sum() / case.fac.size, 1e-6 * values[-1]), rel=1e-3)
    assert low >= 0.999 * case.fac.smallest_reliable_lambda


@pytest.mark.parametrize("shape", [(3, 4), (0, 4), (3, 0)])
def test_features_that_are_all_zero_or_none_have_no_range_of_lambda(shape):
    for X in (np.zeros(shape), sparse.csr_array(shape)):
        with pytest.raises(DataError, match="X holds only zeros"):
            lambda_range(X)


@pytest.mark.parametrize("scale", [1e-20, 1e-12, 1.0, 1e12, 1e20])
@pytest.mark.parametrize("n_new", [5, 30])
def test_the_direct_solve_of_rows_unlike_any_other_is_as_right_at_any_scale(scale, n_new):
    rng = np.random.default_rng(0)
    X, X_new = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 12)), rng.standard_normal((n_new, 12))
    Y = sparse.csr_array((rng.random((40, 8)) < 0.3).astype(np.float32))
    expected = brute_force(sparse.csr_array(X), Y, sparse.csr_array(X_new), 1e-3)
    found = solve_direct(X * scale, Y, X_new * scale, 1e-3 * scale**2)
    assert distance(found, expected) < 1e-6


@pytest.mark.parametrize("limit", [5_000, 2], ids=["float64", "float32"])
@pytest.mark.parametrize("reg_lambda", [1e-3, 3.0, 1e6])
def test_the_direct_solve_gives_zeros_to_rows_that_share_nothing_with_a_labelled_row(monkeypatch, limit, reg_lambda):
    monkeypatch.setattr(eigen, "FLOAT64_LIMIT", limit)
    X = sparse.csr_array([[1.0, 2, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]])
    Y = sparse.csr_array([[1.0, 0], [0, 1], [1, 0], [0, 0], [0, 1]])
    for new in ([[0.0, 0, 3, 0]], [[0, 0, 0, 1]], [[0, 0, 1, 0]] * 5, [[0, 0, 1, 2]] * 5):
        assert np.abs(solve_direct(X, Y, sparse.csr_array(np.array(new)), reg_lambda)).max() < 1e-6


@pytest.mark.parametrize("reg_lambda", [1e-9, 1e-10, 1e-12, 1e-13, 1e-14, 1e-15])
def test_the_direct_solve_of_repeated_rows_is_right_or_refused(reg_lambda):
    rng = np.random.default_rng(0)
    half, X_new = rng.standard_normal((10, 60)), rng.standard_normal((30, 60))
    Y = sparse.csr_array((rng.random((20, 30)) < 0.2).astype(np.float32))
    # Two equal rows with labels y and z are one row √2 times as long with labels (y + z)/√2.
    expected = brute_force(*map(sparse.csr_array, (half * 2**0.5, (Y[:10] + Y[10:]) / 2**0.5, X_new)), reg_lambda)
    if reg_lambda >= 1e-10:
        assert distance(solve_direct(np.vstack([half, half]), Y, X_new, reg_lambda), expected) < 2e-4
    else:
        with pytest.raises(DataError, match="too small for a solve in float64"):
            solve_direct(np.vstack([half, half]), Y, X_new, reg_lambda)


@pytest.mark.parametrize("limit", [5_000, 10])
def test_the_direct_solve_refuses_no_lambda_of_the_slider(case, monkeypatch, limit):
    monkeypatch.setattr(eigen, "FLOAT64_LIMIT", limit)
    for X in (case.data.X, sparse.csr_array(sparse.vstack([case.data.X[:100], case.data.X[:100]]))):
        low, _ = lambda_range(X)
        scores = solve_direct(X, case.data.Y[: X.shape[0]], case.data.X_new, low)
        expected = brute_force(X, case.data.Y[: X.shape[0]], case.data.X_new, low)
        assert distance(scores, expected) < 2e-5
