"""Held-out scores against models that were really fitted without the rows, and samples of families."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.hard_data import hard_data
from tests.unit.ridge_cases import distance
from xmlcore import eigen
from xmlcore.checks import DataError
from xmlcore.leaveout import sample_families
from xmlcore.ridge import RidgeFactorization
from xmlcore.synthetic import make_dataset

RNG = np.random.default_rng(0)
LABELS = sparse.csr_array((RNG.random((60, 9)) < 0.3).astype(np.float32))
LOW_RANK = (RNG.standard_normal((60, 12)) @ RNG.standard_normal((12, 80))).astype(np.float32)
WIDE = make_dataset("eurlex-4k", scale=0.03)  # 463 rows of 5,583 features


def refitted(X, Y, reg_lambda, families):
    """Scores of each family from a model fitted without it, by the normal equations of the dual in float64."""
    X, Y = (A.toarray() if sparse.issparse(A) else A for A in (X, Y))
    K = X.astype(np.float64) @ X.T.astype(np.float64)
    scores = []
    for family in map(np.atleast_1d, families):
        rest = np.setdiff1d(np.arange(len(K)), family)
        alpha = np.linalg.solve(K[np.ix_(rest, rest)] + reg_lambda * np.eye(rest.size), Y[rest].astype(np.float64))
        scores.append(K[np.ix_(family, rest)] @ alpha)
    return np.vstack(scores)


def both_errors(fac, reg_lambda, rows):
    """Relative errors of leave-one-out on the rows, and of leave-group-out on the families of the first of them."""
    X, Y = fac.X_train[0], fac.Y_train
    one = distance(fac.leave_one_out_scores(reg_lambda, rows=rows), refitted(X, Y, reg_lambda, rows))
    groups = np.arange(fac.n_train) // 3
    families = [np.flatnonzero(groups == group) for group in np.unique(groups[rows])[:20]]
    found = fac.leave_group_out_scores(reg_lambda, groups, rows=np.concatenate(families))
    return one, distance(found, refitted(X, Y, reg_lambda, families))


@pytest.mark.parametrize("share", [1e-9, 1e-6, 3e-5, 1e-2, 0.5, 1, 1e3])
def test_in_the_dual_held_out_scores_are_right_at_every_lambda(share):
    fac = RidgeFactorization.fit(WIDE.X_train, WIDE.Y_train)
    assert fac.form == "dual"
    errors = both_errors(fac, share * float(fac.eigenvalues[-1]), np.arange(0, 463, 15))
    assert max(errors) < (2e-6 if share < 1 else 3e-7)


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("reg_lambda", [1e20, 1e30, 1e38, 1e43, 1e46, 1e100, 1e200])
def test_held_out_scores_too_small_for_float32_are_right_too(form, reg_lambda):
    fac = RidgeFactorization.fit(LOW_RANK, LABELS, form=form)
    rows, pairs = np.arange(60), np.arange(60) // 2
    found = (
        fac.leave_one_out_scores(reg_lambda).astype(np.float64),
        fac.leave_group_out_scores(reg_lambda, pairs).astype(np.float64),
    )
    expected = (
        refitted(LOW_RANK, LABELS, reg_lambda, rows),
        refitted(LOW_RANK, LABELS, reg_lambda, rows.reshape(-1, 2)),
    )
    for one, other in zip(found, expected, strict=True):
        assert distance(one * reg_lambda, other * reg_lambda) < 1e-6


@pytest.mark.parametrize("budget", [None, 300])
@pytest.mark.parametrize("share", [1e-9, 1e-6, 1e-3, 1])
def test_null_directions_count_as_what_they_are(share, budget):
    fac = RidgeFactorization.fit(LOW_RANK, LABELS, form="dual", memory_budget=budget)
    assert fac.null.shape == (60, 48)
    assert (fac.Q is None) == (budget is not None)
    assert max(both_errors(fac, share * float(fac.eigenvalues[-1]), np.arange(60))) < 2e-6


def test_rows_repeated_with_other_labels_are_predicted_from_their_copies():
    X = np.vstack([RNG.standard_normal((20, 70)), np.zeros((20, 70))])
    X[20:] = X[:20]
    fac = RidgeFactorization.fit(X, LABELS[:40], form="dual")
    reg_lambda = fac.smallest_reliable_lambda
    found = fac.leave_one_out_scores(reg_lambda)
    assert distance(found, refitted(X, LABELS[:40], reg_lambda, np.arange(40))) < 1e-5
    assert np.abs(found[:20] - LABELS[20:40].toarray()).max() < 1e-3


@pytest.mark.parametrize("reg_lambda", [1e-2, 1e-7, 1e-20, 1e-60])
def test_rows_that_share_nothing_score_nothing_without_themselves(reg_lambda):
    fac = RidgeFactorization.fit(np.eye(6), LABELS[:6], form="dual")
    assert np.abs(fac.leave_one_out_scores(reg_lambda)).max() < 1e-6
    assert np.abs(fac.leave_group_out_scores(reg_lambda, np.array([0, 0, 1, 1, 1, 2]))).max() < 1e-6


def test_without_any_row_scores_are_zero_at_the_smallest_reliable_lambda():
    X = np.random.default_rng(1).standard_normal((5, 20))
    fac = RidgeFactorization.fit(X, LABELS[:5])
    assert np.abs(fac.leave_group_out_scores(fac.smallest_reliable_lambda, np.zeros(5, int))).max() < 1e-5


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_rows_of_few_kinds_are_held_out_rightly_in_float32_too(monkeypatch, rank):
    monkeypatch.setattr(eigen, "FLOAT64_LIMIT", 10)
    kinds = (RNG.random((rank, 90)) < 0.3).astype(np.float64)
    fac = RidgeFactorization.fit(kinds[np.arange(60) % rank], LABELS)
    assert (fac.precision, fac.eigenvalues.size) == ("float32", rank)
    assert max(both_errors(fac, 3.0, np.arange(0, 60, 7))) < 1e-5


def test_a_decomposition_in_float32_keeps_held_out_scores_at_its_smallest_reliable_lambda(monkeypatch):
    monkeypatch.setattr(eigen, "FLOAT64_LIMIT", 10)
    fac = RidgeFactorization.fit(WIDE.X_train, WIDE.Y_train)
    assert fac.precision == "float32"
    assert max(both_errors(fac, fac.smallest_reliable_lambda, np.arange(0, 463, 15))) < 1e-4
    data = hard_data(300, 900)
    fac = RidgeFactorization.fit(data.X, data.Y)
    assert fac.null.shape[1] > 0
    assert max(both_errors(fac, 1e-4 * float(fac.eigenvalues[-1]), np.arange(0, 300, 9))) < 1e-4


def test_a_factorisation_kept_without_its_null_directions_gives_what_it_can():
    fac = replace(RidgeFactorization.fit(WIDE.X_train, WIDE.Y_train), null=None)
    assert "null" not in fac.arrays()
    assert max(both_errors(fac, 0.1, np.arange(0, 463, 15))) < 1e-4


def test_a_lambda_too_small_to_leave_a_row_out_is_named():
    orthogonal = np.linalg.qr(np.random.default_rng(2).standard_normal((6, 6)))[0]
    fac = RidgeFactorization.fit(orthogonal, LABELS[:6], form="primal")
    with pytest.raises(DataError, match="reg_lambda is 1e-20, too small to leave out rows"):
        fac.leave_one_out_scores(1e-20)


def test_leaving_everything_out_leaves_scores_of_zero():
    data = hard_data(40, 20)
    fac = RidgeFactorization.fit(data.X, data.Y)
    found = fac.leave_group_out_scores(1.0, np.zeros(40, int))
    assert np.abs(found).max() < 1e-5


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(1, 80), st.integers(0, 1_000))
def test_a_sample_of_families_holds_whole_families_and_enough_rows(families, wanted, seed):
    groups = np.random.default_rng(seed).integers(0, families, 70)
    rows = sample_families(groups, 70, wanted, seed)
    assert rows.size >= min(wanted, 70)
    assert np.array_equal(rows, np.flatnonzero(np.isin(groups, groups[rows])))
    assert np.array_equal(rows, sample_families(groups, 70, wanted, seed))


def test_a_sample_of_lone_rows_has_the_size_asked():
    assert sample_families(None, 1_000, 64, seed=3).size == 64
    assert np.array_equal(sample_families(None, 10, 99), np.arange(10))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a",), "n_rows is 'a'; expected a whole number"),
        ((0,), "n_rows is 0"),
        ((-5,), "n_rows is -5; expected a whole number of at least 1"),
        ((5, -1), "seed is -1; expected a whole number of at least 0"),
    ],
)
def test_a_sample_that_cannot_be_drawn_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        sample_families(None, 30, *arguments)
