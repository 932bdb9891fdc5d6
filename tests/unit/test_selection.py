"""The λ path, the held-out path, the search and the split, each against single evaluations and refits."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.dataset import Dataset, take_instances
from xmlcore.evaluation import evaluate, evaluate_scores
from xmlcore.propensity import inverse_propensity, metric_inverse_propensity
from xmlcore.ridge import RidgeFactorization
from xmlcore.sampling import sample_training
from xmlcore.selection import (
    frontier,
    held_out_path,
    lambda_grid,
    lambda_path,
    nearest_first,
    search_settings,
    validation_split,
)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(8)
    X, X_new = rng.standard_normal((70, 12)) + 0.5, rng.standard_normal((25, 12)) + 0.5
    truth = rng.standard_normal((12, 8))
    Y = sparse.csr_array(X @ truth > 3, dtype=np.float32)
    Y_new = sparse.csr_array(X_new @ truth > 3, dtype=np.float32)
    counts = np.bincount(Y.indices, minlength=8)
    fac = RidgeFactorization.fit(X, Y)
    return X, Y, fac, fac.project(X_new), Y_new, counts, inverse_propensity(counts, 0.55, 1.5, n_train=70)


def test_the_grid_has_equal_steps_of_the_logarithm_and_both_ends_exactly():
    grid = lambda_grid(0.3, 700.0, 7)
    assert (grid[0], grid[-1]) == (0.3, 700.0)
    np.testing.assert_allclose(np.diff(np.log(grid)), np.log(700 / 0.3) / 6)
    assert lambda_grid(2.0, 8.0, 1) == pytest.approx([4.0])
    assert lambda_grid(1e-200, 1e-200, 1) == pytest.approx([1e-200])
    assert lambda_grid(1e-200, 1e200, 1) == pytest.approx([1.0])


@given(st.floats(1e-300, 1e300), st.sampled_from([1, 1 + 2**-52, 1 + 1e-15, 1 + 1e-9, 7, 1e5]), st.integers(1, 40))
@example(3.0, 1, 1)
@example(2.0404600683333986e-07, 1 + 1e-15, 39)
def test_a_grid_rises_and_stays_between_its_ends_however_near_they_are(low, times, n):
    high = low * times
    grid = lambda_grid(low, high, n)
    assert grid.shape == (n,)
    assert low <= grid[0] <= grid[-1] <= high
    assert (np.diff(grid) >= 0).all()
    assert n == 1 or (grid[0], grid[-1]) == (low, high)


def test_the_nearest_value_comes_first_and_the_others_by_distance():
    assert nearest_first([1, 10, 100, 1000, 10], 80) == [100, 10, 1000, 1]
    assert nearest_first([1, 10], 10) == [10, 1]
    with np.errstate(all="raise"):
        assert nearest_first([1e-300, 1, 1e300], 1e300) == [1e300, 1, 1e-300]


def test_the_path_is_evaluate_at_each_value(problem):
    _, _, fac, P, Y_new, counts, theta0 = problem
    theta = inverse_propensity(counts, 1.0, 2.0, n_train=70)
    path = list(lambda_path(fac, P, Y_new, [5.0, 1.0, 30.0], theta, theta0, (1, 3), memory_budget=500))
    assert [step.reg_lambda for step in path] == [5.0, 1.0, 30.0]
    for step in path:
        expected = evaluate(fac, P, Y_new, step.reg_lambda, theta, theta0, (1, 3))
        assert step.ridge.metrics == expected.ridge.metrics
        assert step.ps.metrics == expected.ps.metrics


def test_path_and_search_score_by_way_of_W_where_that_takes_less_and_find_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    X = sparse.random_array((100, 60), density=0.1, format="csr", rng=rng) + sparse.eye_array(100, 60)
    X_new = sparse.csr_array(sparse.eye_array(500, 60) + sparse.eye_array(500, 60, k=-60) * 2)
    Y, Y_new = (sparse.csr_array(rng.random((n, 8)) < 0.3, dtype=np.float32) for n in (100, 500))
    counts = np.bincount(Y.indices, minlength=8)
    theta = inverse_propensity(counts, 0.55, 1.5, n_train=100)
    fac = RidgeFactorization.fit(sparse.csr_array(X), Y)
    P = fac.project(X_new)
    path = partial(lambda_path, fac, P, Y_new, [0.5, 20.0], theta, theta)
    search = partial(search_settings, fac, P, Y_new, [0.5, 20.0], [0.0, 0.7], [1.5], counts, theta)
    expected = [*(each.ps.metrics for each in path()), *(each.metrics for each in search())]
    made = []
    weights = RidgeFactorization.weights
    monkeypatch.setattr(RidgeFactorization, "weights", lambda *args: made.append(args[1]) or weights(*args))
    found = [*(each.ps.metrics for each in path(X_new=X_new)), *(each.metrics for each in search(X_new=X_new))]
    assert made == [0.5, 20.0] * 2  # one W for each λ
    assert found == expected
    # Where a block holds a part of the rows, as before.
    found = [*(each.ps.metrics for each in path(X_new=X_new, memory_budget=10_000))]
    assert found == expected[:2]
    assert len(made) == 4


def test_the_path_begins_before_its_end_is_known(problem):
    _, _, fac, P, Y_new, _, theta0 = problem
    endless = lambda_path(fac, P, Y_new, [7.0, 1.0], theta0, theta0)
    assert next(endless).reg_lambda == 7.0


@pytest.mark.parametrize("grouped", [False, True])
def test_the_held_out_path_is_what_retraining_without_the_rows_gives(problem, grouped):
    X, Y, fac, _, _, _, theta0 = problem
    groups = np.random.default_rng(1).integers(0, 20, 70) if grouped else None
    rows = np.array([3, 4, 11, 40, 41, 42, 69])
    fractions = []
    path = list(
        held_out_path(
            fac,
            [4.0, 1.0, 20.0],
            theta0,
            theta0,
            (1, 3),
            groups=groups,
            rows=rows,
            progress=lambda stage, done: fractions.append(done),
        )
    )
    assert [step.reg_lambda for step in path] == [4.0, 1.0, 20.0]
    assert fractions[-1] == 1.0
    for step in path:
        scores = np.empty((rows.size, 8))
        for at, row in enumerate(rows):
            kept = groups != groups[row] if grouped else np.arange(70) != row
            gram = X[kept].T @ X[kept] + step.reg_lambda * np.eye(12)
            scores[at] = X[row] @ np.linalg.solve(gram, X[kept].T @ Y.toarray()[kept])
        expected = evaluate_scores(scores, Y[rows], theta0, theta0, (1, 3))
        np.testing.assert_array_equal(step.ridge.top, expected.ridge.top)
        np.testing.assert_array_equal(step.ps.top, expected.ps.top)
        assert step.ps.metrics == expected.ps.metrics


def test_the_held_out_path_covers_all_rows_and_obeys_the_mask(problem):
    _, Y, fac, _, _, _, theta0 = problem
    exclude = sparse.csr_array(np.random.default_rng(2).random((70, 8)) < 0.3)
    (step,) = held_out_path(fac, [4.0], theta0, theta0, (1, 2), exclude=exclude)
    expected = evaluate_scores(fac.leave_one_out_scores(4.0), Y, theta0, theta0, (1, 2), exclude=exclude)
    np.testing.assert_array_equal(step.ridge.top, expected.ridge.top)
    np.testing.assert_array_equal(step.ps.top, expected.ps.top)


def test_the_search_evaluates_every_combination(problem):
    _, _, fac, P, Y_new, counts, theta0 = problem
    found = list(
        search_settings(fac, P, Y_new, [1, 9], [0.0, 1.0], [1.5, 3.0], counts, theta0, (1, 3), memory_budget=1)
    )
    wanted = set(itertools.product([1, 9], [0.0, 1.0], [1.5, 3.0]))
    assert {(setting.reg_lambda, setting.A, setting.B) for setting in found} == wanted
    assert len(found) == len(wanted)
    for setting in found:
        theta = inverse_propensity(counts, setting.A, setting.B, n_train=70)
        expected = evaluate(fac, P, Y_new, setting.reg_lambda, theta, theta0, (1, 3))
        assert setting.metrics == expected.ps.metrics
        if setting.A == 0:
            assert setting.metrics == expected.ridge.metrics


@given(points=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30))
@settings(deadline=None)
def test_the_frontier_holds_each_point_that_no_other_beats(points):
    kept = frontier([p for p, _ in points], [psp for _, psp in points])
    undominated = {a for a in points if not any(b != a and b[0] >= a[0] and b[1] >= a[1] for b in points)}
    assert [points[index] for index in kept] == sorted(undominated)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"P": np.ones((40, 15))}, r"P has shape \(40, 15\)"),
        ({"P": np.ones((5, 15))}, r"P has shape \(5, 15\)"),
        ({"exclude": sparse.csr_array((99, 9))}, r"exclude has shape \(99, 9\)"),
    ],
)
def test_rows_and_masks_of_another_data_set_are_refused_everywhere(problem, change, message):
    _, _, fac, P, Y_new, counts, theta = problem
    P, exclude = change.get("P", P), change.get("exclude")
    calls = [
        lambda: evaluate(fac, P, Y_new, 1.0, theta, theta, exclude=exclude),
        lambda: next(lambda_path(fac, P, Y_new, [1.0], theta, theta, exclude=exclude)),
        lambda: next(search_settings(fac, P, Y_new, [1.0], [0.5], [1.0], counts, theta, exclude=exclude)),
    ]
    if exclude is not None:
        calls.append(lambda: next(held_out_path(fac, [1.0], theta, theta, exclude=exclude)))
    for call in calls:
        with pytest.raises(DataError, match=message):
            call()


def test_a_ruler_without_weights_is_refused_everywhere(problem):
    _, _, fac, P, Y_new, counts, theta = problem
    for path in (
        lambda_path(fac, P, Y_new, [1.0], theta, None),
        search_settings(fac, P, Y_new, [1.0], [0.5], [1.0], counts, None),
        held_out_path(fac, [1.0], theta, None),
    ):
        with pytest.raises(DataError, match="metric_inverse_propensity is None"):
            next(path)


def test_labels_that_were_not_trained_are_refused_by_the_search_too(problem):
    _, _, fac, P, Y_new, counts, _ = problem
    wide = sparse.hstack([Y_new, Y_new[:, :3]], format="csr")
    with pytest.raises(DataError, match="Y has 11 labels; expected 8, as in training"):
        next(search_settings(fac, P, wide, [1.0], [0.5], [1.0], counts, np.ones(11)))


@pytest.mark.parametrize("kind", ["coo", "csc", "dok", "lil"])
def test_a_mask_may_come_in_any_sparse_form(problem, kind):
    _, _, fac, P, Y_new, counts, theta = problem
    mask = sparse.csr_array(np.random.default_rng(0).random(Y_new.shape) < 0.3)
    masked = [mask, mask.asformat(kind)]
    one, other = (evaluate(fac, P, Y_new, 1.0, theta, theta, exclude=each) for each in masked)
    np.testing.assert_array_equal(one.ps.top, other.ps.top)
    one, other = (next(search_settings(fac, P, Y_new, [1.0], [0.5], [1.0], counts, theta, exclude=m)) for m in masked)
    assert one.metrics == other.metrics


def test_training_rows_that_are_not_there_are_refused(problem):
    _, _, fac, _, _, _, theta = problem
    with pytest.raises(DataError, match=f"rows holds numbers from 0 to {fac.n_train}"):
        next(held_out_path(fac, [1.0], theta, theta, rows=np.array([0, fac.n_train])))


def dataset(n=100, groups=None):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((n, 6)))
    Y = sparse.csr_array(rng.random((n, 4)) < 0.4, dtype=np.float32)
    names = np.array([f"row {i}" for i in range(n)])
    return Dataset(
        "toy", X, Y, X[:5], Y[:5], train_names=names, train_texts=names.tolist(), train_groups=groups, train_filter=Y
    )


def test_the_validation_split_takes_a_seeded_tenth_and_keeps_rows_together():
    ds = dataset()
    split = validation_split(ds, seed=3)
    assert (split.n_train, split.n_test) == (90, 10)
    again = validation_split(ds, seed=3)
    assert split.test_names.tolist() == again.test_names.tolist()
    assert split.test_names.tolist() != validation_split(ds, seed=4).test_names.tolist()
    assert set(split.train_names) | set(split.test_names) == set(ds.train_names)
    for names, texts, X, Y, pairs in (
        (split.train_names, split.train_texts, split.X_train, split.Y_train, split.train_filter),
        (split.test_names, split.test_texts, split.X_test, split.Y_test, split.test_filter),
    ):
        rows = [int(name.split()[1]) for name in names]
        assert texts == names.tolist()
        np.testing.assert_array_equal(X.toarray(), ds.X_train[rows].toarray())
        np.testing.assert_array_equal(Y.toarray(), ds.Y_train[rows].toarray())
        np.testing.assert_array_equal(pairs.toarray(), ds.Y_train[rows].toarray())


def test_a_missing_family_is_named_and_makes_none_of_its_own():
    with pytest.raises(DataError, match="train_groups holds nan for training row 1; expected the family of every row"):
        validation_split(dataset(groups=[0.0, np.nan, np.nan, *range(97)]))


def test_the_validation_split_measures_with_all_training_instances():
    ds = dataset()
    expected = metric_inverse_propensity(ds)
    split = validation_split(ds, seed=3)
    assert not np.array_equal(inverse_propensity(split.Y_train, ds.A, ds.B), expected)
    for sample in (split, sample_training(ds, 40), sample_training(split, 40), validation_split(split)):
        np.testing.assert_array_equal(metric_inverse_propensity(sample), expected)


def test_the_validation_split_never_tears_a_family_apart():
    groups = np.repeat(np.arange(30), [1] * 10 + [2] * 10 + [7] * 10)
    split = validation_split(dataset(100, groups), share=0.2, seed=1)
    held_out = {groups[int(name.split()[1])] for name in split.test_names}
    assert not held_out & set(split.train_groups)
    assert 13 <= split.n_test <= 27


def held_out(rows):
    ds = dataset()
    theta = inverse_propensity(ds.Y_train, 0.5, 1.5)
    return list(held_out_path(RidgeFactorization.fit(ds.X_train, ds.Y_train), [1.0], theta, theta, rows=rows))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lambda_grid(0, 1), "low is 0"),
        (lambda: lambda_grid(2, 1), "low is 2"),
        (lambda: nearest_first([1, -3], 1), "reg_lambda is -3"),
        (lambda: nearest_first(3.0, 1), "lambdas is 3.0; expected a list"),
        (lambda: held_out([0, 3, 1]), "rows has 3 indices; expected at least one, ascending"),
        (lambda: held_out([0, 1, 1]), "rows has 3 indices; expected at least one, ascending"),
        (lambda: held_out([3, 1]), "rows has 2 indices; expected at least one, ascending"),
        (lambda: held_out([1, 1]), "each once"),
        (lambda: held_out([]), "rows has 0 indices"),
        (lambda: frontier([1], [1, 2]), "precision has shape"),
        (lambda: frontier([1, np.nan], [1, 2]), "precision or psprecision holds NaN"),
        (lambda: frontier([1, 2], [1, np.nan]), "precision or psprecision holds NaN"),
        (lambda: validation_split(dataset(), share=1.0), "share is 1.0; expected a finite number above 0 and below 1"),
        (lambda: validation_split(take_instances(dataset(), train=np.arange(0))), "of 0 instances in 0 families"),
        (lambda: validation_split(dataset(100, np.zeros(100, dtype=int))), "leaves one side empty"),
    ],
)
def test_bad_arguments_are_named_with_their_value(call, message):
    with pytest.raises(DataError, match=message):
        call()
