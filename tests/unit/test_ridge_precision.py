"""Ridge regression where rounding could show: float32, huge and tiny values, large means, near-duplicates."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tests.hard_data import hard_data
from tests.unit.ridge_cases import SHAPES, SHARES, brute_force, distance, refitted, same_top5
from xmlcore import eigen
from xmlcore.checks import DataError
from xmlcore.direct import lambda_range, solve_direct
from xmlcore.ridge import RidgeFactorization


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_large_factorisation_in_float32_is_as_right_as_one_in_float64(form, monkeypatch):
    monkeypatch.setattr(eigen, "FLOAT64_LIMIT", 10)
    data = hard_data(*SHAPES[form])
    fac = RidgeFactorization.fit(data.X, data.Y)
    assert fac.precision == "float32"
    assert fac.leading.shape[1] == 1
    P = fac.project(data.X_new)
    for share, direct in zip(SHARES, (1e-3, 1e-4, 1e-5), strict=True):
        reg_lambda = share * float(fac.eigenvalues[-1])
        expected = brute_force(data.X, data.Y, data.X_new, reg_lambda)
        found = fac.scores(P, reg_lambda)
        assert distance(found, expected) < 1e-4
        assert same_top5(found, expected) >= 0.999
        assert distance(solve_direct(data.X, data.Y, data.X_new, reg_lambda), expected) < direct
        left_out = fac.leave_one_out_scores(reg_lambda, rows=np.array([4]))
        assert distance(left_out, refitted(data, [4], reg_lambda)) < 1e-4


@pytest.mark.parametrize("scale", [1e-22, 1e-20, 1e20, 1e22])
@pytest.mark.parametrize("budget", [None, 3_000])
@pytest.mark.parametrize("shape", [(90, 40), (40, 90)])
def test_scaling_features_and_lambda_alike_changes_no_score(shape, budget, scale):
    data = hard_data(*shape, n_new=30)
    X, X_new = (A.astype(np.float64) for A in (data.X, data.X_new))
    reg_lambda = 3.0
    expected = brute_force(X, data.Y, X_new, reg_lambda)
    fac = RidgeFactorization.fit(X * scale, data.Y, memory_budget=budget)
    assert (fac.Q is None) == (budget is not None)
    P = fac.project(X_new * scale)
    for rows in (slice(None), slice(5)):
        found = fac.scores(P, reg_lambda * scale**2, rows=rows)
        assert found.dtype == np.float32
        assert distance(found, expected[rows]) < 1e-5
        direct = solve_direct(X * scale, data.Y, X_new[rows] * scale, reg_lambda * scale**2)
        assert distance(direct, expected[rows]) < 1e-5
    left_out = fac.leave_one_out_scores(reg_lambda * scale**2, rows=np.array([7]))
    assert distance(left_out, refitted(data, [7], reg_lambda)) < 1e-4


@pytest.mark.parametrize("reg_lambda", [1e35, 1e46, 1e100])
def test_scores_smaller_than_float32_holds_still_rank(case, reg_lambda):
    expected = brute_force(case.data.X, case.data.Y, case.data.X_new[:50], reg_lambda)
    for found in (
        case.fac.scores(case.P, reg_lambda, rows=slice(50)),
        solve_direct(case.data.X, case.data.Y, case.data.X_new[:50], reg_lambda),
    ):
        assert distance(found, expected) < 1e-5
        assert same_top5(found, expected) >= 0.98


@pytest.mark.parametrize(("limit", "scale"), [(5_000, 1e170), (5_000, 1e200), (5_000, 1e-170), (10, 1e19), (10, 1e-19)])
def test_values_whose_squares_leave_the_precision_are_refused_by_name(case, monkeypatch, limit, scale):
    monkeypatch.setattr(eigen, "FLOAT64_LIMIT", limit)
    X, Y = case.data.X.astype(np.float64) * scale, case.data.Y
    message = f"X holds values too {'large' if scale > 1 else 'small'} .*: scale its rows"
    for call in (lambda: RidgeFactorization.fit(X, Y), lambda: solve_direct(X, Y, X[:5], 1.0), lambda: lambda_range(X)):
        with pytest.raises(DataError, match=message):
            call()
    with pytest.raises(DataError, match="X_new holds values too large to be projected"):
        case.fac.project(np.full((2, case.fac.n_features), 1e300))


@pytest.mark.parametrize("limit", [5_000, 10], ids=["float64", "float32"])
@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("size", [10, 1e3, 1e4])
def test_one_feature_that_outweighs_all_others_costs_no_accuracy(monkeypatch, limit, form, size):
    monkeypatch.setattr(eigen, "FLOAT64_LIMIT", limit)
    rng = np.random.default_rng(0)

    def features(rows):  # words, and a column such as a year or a length
        words = sparse.random_array((rows, 250), density=0.06, format="csr", rng=rng)
        return sparse.csr_array(sparse.hstack([words, size * (1 + rng.random((rows, 1)))], format="csr"))

    X, X_new = features(220), features(100)
    Y = sparse.csr_array((rng.random((220, 12)) < 0.1).astype(np.float32))
    fac = RidgeFactorization.fit(X, Y, form=form)
    P = fac.project(X_new)
    for reg_lambda in (1e-2, 1, 100):
        assert reg_lambda > fac.smallest_reliable_lambda
        expected = brute_force(X, Y, X_new, reg_lambda)
        assert distance(fac.scores(P, reg_lambda), expected) < 2e-4
        assert same_top5(fac.scores(P, reg_lambda), expected) >= 0.99
        assert distance(solve_direct(X, Y, X_new, reg_lambda), expected) < 2e-3


@pytest.mark.parametrize("limit", [5_000, 10], ids=["float64", "float32"])
@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("mean", [100, 1_000])
def test_features_whose_mean_is_many_times_their_spread_cost_no_accuracy(monkeypatch, limit, form, mean):
    monkeypatch.setattr(eigen, "FLOAT64_LIMIT", limit)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((330, 90)) + mean
    Y = sparse.csr_array((rng.random((300, 12)) < 0.1).astype(np.float32))
    fac = RidgeFactorization.fit(X[:300], Y, form=form)
    P = fac.project(X[300:])
    kept_small = replace(fac, Q=None, memory_budget=20_000)
    for reg_lambda in (fac.smallest_reliable_lambda, 1, 100):
        expected = brute_force(*map(sparse.csr_array, (X[:300], Y, X[300:])), reg_lambda)
        assert distance(fac.scores(P, reg_lambda), expected) < 3e-6
        assert distance(kept_small.scores(P, reg_lambda), expected) < 3e-6
        assert distance(fac.votes(P, reg_lambda) @ Y, expected) < 3e-6
        assert distance(X[300:] @ fac.weights(reg_lambda), expected) < (5e-4 if form == "primal" else 5e-5)
        left_out = fac.leave_one_out_scores(reg_lambda, rows=np.array([4]))
        rest = np.arange(300) != 4
        refit = brute_force(*map(sparse.csr_array, (X[:300][rest], Y[rest], X[[4]])), reg_lambda)
        assert distance(left_out, refit) < 3e-5


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("change", [1e-3, 0.1])
@pytest.mark.parametrize("copies", [0.1, 0.3, 0.5, 0.8])
def test_rows_that_mostly_come_twice_cost_no_accuracy_in_float32(monkeypatch, copies, change, form):
    monkeypatch.setattr(eigen, "FLOAT64_LIMIT", 10)
    rng = np.random.default_rng(0)
    X = (rng.random((350, 600)) < 0.6 / np.arange(1, 601) ** 0.5) * rng.random((350, 600))
    first = int(300 * (1 - copies))
    X[first:300] = X[rng.integers(0, first, 300 - first)]
    X[np.arange(first, 300), rng.integers(0, 600, 300 - first)] += change
    Y = sparse.csr_array((rng.random((300, 12)) < 0.1).astype(np.float32))
    fac = RidgeFactorization.fit(X[:300], Y, form=form)
    P = fac.project(X[300:])
    largest = float(fac.eigenvalues[-1 - fac.leading.shape[1]])
    bounds = {fac.smallest_reliable_lambda: 2e-3, 1e-4 * largest: 5e-4, 1e-3 * largest: 5e-5, 1e-1 * largest: 5e-6}
    for reg_lambda, bound in bounds.items():
        expected = brute_force(*map(sparse.csr_array, (X[:300], Y, X[300:])), reg_lambda)
        assert distance(fac.scores(P, reg_lambda), expected) < bound
        left_out = fac.leave_one_out_scores(reg_lambda, rows=np.array([4, 290]))
        for row, found in zip((4, 290), left_out, strict=True):
            rest = np.arange(300) != row
            refit = brute_force(*map(sparse.csr_array, (X[:300][rest], Y[rest], X[[row]])), reg_lambda)
            assert distance(found, refit) < (10 if form == "dual" else 30) * bound


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_features_of_a_low_rank_are_projected_in_either_form(rank):
    # Null eigenvalues are rounding errors, of which one may be many times as large as the next.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, X_new = (rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, 26)) for rows in (9, 5))
        Y = sparse.csr_array((rng.random((9, 4)) < 0.5).astype(np.float32))
        for form in ("dual", "primal"):
            fac = RidgeFactorization.fit(X, Y, form=form)
            assert fac.leading.shape[1] <= fac.eigenvalues.size == rank
            expected = brute_force(sparse.csr_array(X), Y, sparse.csr_array(X_new), 1.0)
            assert distance(fac.scores(fac.project(X_new), 1.0), expected) < 1e-5
