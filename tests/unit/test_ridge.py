"""Ridge regression against float64 brute force on data where careless code goes wrong, in both forms."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from tests.hard_data import hard_data
from tests.memory import peak_bytes
from tests.unit.ridge_cases import SHARES, brute_force, distance, refitted, same_top5
from xmlcore.checks import DataError
from xmlcore.direct import solve_direct
from xmlcore.leaveout import held_out_scores
from xmlcore.ridge import RidgeFactorization
from xmlcore.synthetic import Shape, make_dataset


@pytest.mark.parametrize("share", SHARES)
def test_scores_equal_brute_force_and_rank_the_same_top_five(case, share):
    reg_lambda = case.reg_lambda(share)
    expected = brute_force(case.data.X, case.data.Y, case.data.X_new, reg_lambda)
    found = case.fac.scores(case.P, reg_lambda)
    assert found.dtype == np.float32
    assert distance(found, expected) < 1e-4
    assert same_top5(found, expected) >= 0.999


@pytest.mark.parametrize("share", SHARES)
def test_scores_of_whole_features_are_those_of_their_projection_on_hard_data(case, share):
    reg_lambda = case.reg_lambda(share)
    expected = brute_force(case.data.X, case.data.Y, case.data.X_new, reg_lambda)
    assert distance(case.fac.scores_of(case.data.X_new, case.P, reg_lambda), expected) < 1e-4
    with pytest.raises(DataError, match=r"X_new has \d+ rows and P \d+; expected the same number"):
        case.fac.scores_of(case.data.X_new[:-1], case.P, reg_lambda)


@pytest.mark.parametrize("share", SHARES)
def test_many_sparse_rows_are_scored_by_way_of_W(share, monkeypatch):
    ds = make_dataset(Shape(700, 300, 40, 900, 3.0, 6))
    fac = RidgeFactorization.fit(ds.X_train, ds.Y_train)
    reg_lambda = share * fac.eigenvalues[-1]
    P = fac.project(ds.X_test)
    expected = brute_force(ds.X_train, ds.Y_train, ds.X_test, reg_lambda)
    monkeypatch.setattr(RidgeFactorization, "weighted_scores", None)  # it is not called
    found = fac.scores_of(ds.X_test, P, reg_lambda)
    assert found.dtype == np.float32
    assert distance(found, expected) < 1e-4
    assert same_top5(found, expected) >= 0.999


def test_many_sparse_rows_at_a_lambda_too_large_for_W_in_float32_have_their_scores():
    ds = make_dataset(Shape(700, 300, 40, 900, 3.0, 6))
    fac = RidgeFactorization.fit(ds.X_train, ds.Y_train)
    expected = ds.X_test @ (ds.X_train.T @ ds.Y_train).toarray().astype(np.float64)
    found = fac.scores_of(ds.X_test, fac.project(ds.X_test), 1e46)
    assert found.dtype == np.float64
    assert distance(found * 1e46, expected) < 1e-5


def test_scores_equal_scikit_learn(case):
    reg_lambda = case.reg_lambda(1e-3)
    model = Ridge(alpha=reg_lambda, fit_intercept=False, solver="cholesky")
    model.fit(case.data.X.toarray().astype(np.float64), case.data.Y.toarray())
    assert distance(case.fac.scores(case.P, reg_lambda), model.predict(case.data.X_new.toarray())) < 1e-5


@pytest.mark.parametrize("share", SHARES)
def test_leave_one_out_equals_really_fitting_without_each_of_twenty_rows(case, share):
    reg_lambda = case.reg_lambda(share)
    rows = np.concatenate([np.arange(10, 20), np.random.default_rng(1).permutation(np.arange(50, 290))[:10]])
    expected = np.vstack([refitted(case.data, [row], reg_lambda) for row in rows])
    assert distance(case.fac.leave_one_out_scores(reg_lambda, rows=rows), expected) < 1e-4


@pytest.mark.parametrize("share", SHARES)
def test_leave_group_out_equals_really_fitting_without_each_of_five_groups(case, share):
    reg_lambda = case.reg_lambda(share)
    groups = case.data.groups.copy()
    groups[100:140] = 100  # a large family, a scattered one, and three of near-duplicates
    groups[[3, 57, 204]] = 3
    families = [np.flatnonzero(groups == group) for group in (0, 10, 3, 100, 150)]
    assert sorted(map(len, families)) == [2, 2, 2, 3, 40]
    expected = np.vstack([refitted(case.data, family, reg_lambda) for family in families])
    found = case.fac.leave_group_out_scores(reg_lambda, groups, rows=np.concatenate(families))
    assert distance(found, expected) < 1e-4


@pytest.mark.parametrize("share", SHARES)
def test_weights_and_votes_each_sum_to_the_scores(case, share):
    reg_lambda = case.reg_lambda(share)
    scores = case.fac.scores(case.P[:50], reg_lambda)
    by_feature = case.data.X_new[:50] @ case.fac.weights(reg_lambda)
    by_instance = case.fac.votes(case.P[:50], reg_lambda) @ case.data.Y
    assert np.abs(by_feature - scores).max() < 1e-4 * np.abs(scores).max()
    assert np.abs(by_instance - scores).max() < 1e-5 * np.abs(scores).max()
    np.testing.assert_allclose(case.fac.votes(case.P[3], reg_lambda), case.fac.votes(case.P[:50], reg_lambda)[3])


def test_votes_are_those_of_the_dual_solution(case):
    reg_lambda = case.reg_lambda(1e-3)
    X, x = case.data.X.toarray().astype(np.float64), case.data.X_new[:4].toarray().astype(np.float64)
    expected = np.linalg.solve(X @ X.T + reg_lambda * np.eye(len(X)), X @ x.T).T
    assert distance(case.fac.votes(case.P[:4], reg_lambda), expected) < 1e-4


def test_rows_and_labels_cut_the_same_numbers_out(case):
    whole = case.fac.scores(case.P, 5.0)
    rows, labels = slice(3, 20), slice(5, 9)
    np.testing.assert_allclose(
        case.fac.scores(case.P, 5.0, rows=rows, labels=labels), whole[rows, labels], atol=1e-5 * np.abs(whole).max()
    )
    W = case.fac.weights(5.0)
    np.testing.assert_allclose(case.fac.weights(5.0, labels=labels), W[:, labels], atol=1e-5 * np.abs(W).max())
    assert W.shape == (case.fac.n_features, case.fac.n_labels)


def test_a_memory_budget_too_small_for_Q_changes_no_number(case):
    small = RidgeFactorization.fit(case.data.X, case.data.Y, memory_budget=10_000)
    assert case.fac.Q is not None
    assert small.Q is None
    reg_lambda = case.reg_lambda(1e-3)
    assert (
        distance(small.scores(small.project(case.data.X_new), reg_lambda), case.fac.scores(case.P, reg_lambda)) < 1e-5
    )
    assert distance(small.weights(reg_lambda), case.fac.weights(reg_lambda)) < 1e-5
    rows = np.arange(0, 40, 3)
    assert (
        distance(
            small.leave_one_out_scores(reg_lambda, rows=rows), case.fac.leave_one_out_scores(reg_lambda, rows=rows)
        )
        < 1e-5
    )


@pytest.mark.parametrize(("labels_of_a_row", "with_Q"), [(1, False), (250, True)])
def test_the_dual_keeps_Q_for_many_labels_only_where_rows_have_many_of_them(labels_of_a_row, with_Q):
    # Each of 60 rows hands its vote to its labels, which takes less than a product with Q where these are few.
    data = hard_data(60, 200, n_new=50)
    columns = (np.arange(60)[:, None] + np.arange(labels_of_a_row)) % 500
    Y = sparse.csr_array(
        (np.ones(columns.size, np.float32), columns.ravel(), np.arange(61) * labels_of_a_row), shape=(60, 500)
    )
    fac = RidgeFactorization.fit(data.X, Y)
    assert fac.form == "dual"
    assert (fac.Q is not None) == with_Q
    expected = brute_force(data.X, Y, data.X_new, 3.0)
    assert distance(fac.scores(fac.project(data.X_new), 3.0), expected) < 1e-5


def test_a_projection_of_many_rows_never_holds_their_products_with_all_training_rows():
    data = hard_data(300, 400, n_new=4_000)
    fac = RidgeFactorization.fit(data.X, data.Y, memory_budget=500_000)
    assert fac.form == "dual"
    P, peak = peak_bytes(lambda: fac.project(data.X_new))
    products = 8 * data.X_new.shape[0] * fac.n_train
    assert peak - P.nbytes < products / 4


def test_a_projection_by_the_dual_stays_within_the_memory_budget():
    data, budget = hard_data(400, 500, n_new=2_000), 5_000_000
    fac = RidgeFactorization.fit(data.X, data.Y, memory_budget=budget)
    fac.project(data.X_new)  # what is kept for the next call is not counted
    P, peak = peak_bytes(lambda: fac.project(data.X_new))
    assert peak - P.nbytes < 1.3 * budget


def test_many_rows_are_not_scored_by_way_of_a_W_beyond_the_memory_budget():
    ds = make_dataset(Shape(700, 100, 2_000, 10, 3.0, 6))
    X, X_new = sparse.hstack([ds.X_train] * 3, "csr"), sparse.csr_array(sparse.eye_array(600, 300))
    budget = 4 * 100 * 2_000  # each feature is there three times: Q takes a third of what W would
    fac = RidgeFactorization.fit(X, ds.Y_train, form="primal", memory_budget=budget)
    assert fac.Q is not None
    P = fac.project(X_new)
    scores, peak = peak_bytes(lambda: fac.scores_of(X_new, P, 1.0))
    assert peak - scores.nbytes < 1.3 * budget


def test_weights_in_the_blocks_that_the_memory_budget_allows_are_all_weights(case):
    budget, bytes_each = 40_000, 8 * case.fac.n_features
    small = replace(case.fac, memory_budget=budget)
    blocks = small.label_blocks(bytes_each)
    assert len(blocks) > 1
    assert all((block.stop - block.start) * bytes_each <= budget for block in blocks)
    whole = case.fac.weights(2.0)
    np.testing.assert_array_equal([label for block in blocks for label in range(whole.shape[1])[block]], np.arange(40))
    parts = [small.weights(2.0, labels=block) for block in blocks]
    assert distance(np.hstack(parts), whole) < 1e-6


def test_either_form_gives_the_same_scores():
    data = hard_data(150, 150)
    scores = []
    for form in ("primal", "dual"):
        fac = RidgeFactorization.fit(data.X, data.Y, form=form)
        assert fac.form == form
        scores.append(fac.scores(fac.project(data.X_new), 10.0))
    assert distance(scores[0], scores[1]) < 1e-5
    assert RidgeFactorization.fit(data.X, data.Y).form == "primal"


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_blocks_of_features_give_the_scores_of_one_matrix(form):
    data = hard_data(120, 90)
    whole = RidgeFactorization.fit(data.X, data.Y, form=form)
    expected = whole.scores(whole.project(data.X_new), 2.0)
    dense, dense_new = data.X[:, 30:].toarray(), data.X_new[:, 30:].toarray()
    fac = RidgeFactorization.fit((data.X[:, :30], dense), data.Y, form=form)
    new = (data.X_new[:, :30], dense_new)
    assert distance(fac.scores(fac.project(new), 2.0), expected) < 1e-5
    assert distance(fac.weights(2.0), whole.weights(2.0)) < 1e-4
    assert distance(fac.votes(fac.project(new), 2.0) @ data.Y, expected) < 1e-5
    assert distance(solve_direct((data.X[:, :30], dense), data.Y, new, 2.0), expected) < 1e-5
    assert distance(fac.leave_one_out_scores(2.0), whole.leave_one_out_scores(2.0)) < 1e-5


def test_held_out_blocks_cover_every_row_once_for_every_lambda(case):
    groups = np.repeat(np.arange(case.fac.n_train), 3)[: case.fac.n_train]
    lambdas = (0.5, 50.0)
    seen = {reg_lambda: [] for reg_lambda in lambdas}
    fac = RidgeFactorization.fit(case.data.X, case.data.Y, memory_budget=200_000)
    blocks = list(held_out_scores(fac, lambdas, groups=groups))
    assert len(blocks) > 4
    for held in blocks:
        seen[held.reg_lambda].append(held.rows)
        expected = case.fac.leave_group_out_scores(held.reg_lambda, groups, rows=held.rows)
        assert distance(held.scores, expected) < 1e-4
    for rows in seen.values():
        assert np.array_equal(np.sort(np.concatenate(rows)), np.arange(case.fac.n_train))


def test_rows_wanted_from_a_family_come_without_their_brothers_in_the_order_asked(case):
    groups = np.arange(case.fac.n_train) // 4
    whole = case.fac.leave_group_out_scores(2.0, groups)
    rows = np.array([9, 2, 11, 2])
    np.testing.assert_allclose(
        case.fac.leave_group_out_scores(2.0, groups, rows=rows), whole[rows], atol=1e-5 * np.abs(whole).max()
    )
    np.testing.assert_allclose(
        case.fac.leave_group_out_scores(2.0, groups, rows=slice(3, 9)), whole[3:9], atol=1e-5 * np.abs(whole).max()
    )


def test_families_of_one_are_leave_one_out(case):
    alone = np.arange(case.fac.n_train)[::-1]
    assert distance(case.fac.leave_group_out_scores(3.0, alone), case.fac.leave_one_out_scores(3.0)) < 1e-6


def test_a_factorisation_goes_to_disk_and_back_through_memory_maps(case, tmp_path):
    for name, array in case.fac.arrays().items():
        np.save(tmp_path / f"{name}.npy", array, allow_pickle=False)
    mapped = {path.stem: np.load(path, mmap_mode="r") for path in tmp_path.iterdir()}
    back = RidgeFactorization.from_arrays(mapped, case.data.X, case.data.Y)
    assert (back.form, back.precision) == (case.fac.form, case.fac.precision)
    assert back.seconds == case.fac.seconds
    assert np.array_equal(back.project(case.data.X_new[:20]), case.fac.project(case.data.X_new[:20]))
    assert np.array_equal(back.scores(case.P, 4.0), case.fac.scores(case.P, 4.0))
    assert np.array_equal(back.leave_one_out_scores(4.0), case.fac.leave_one_out_scores(4.0))


def test_arrays_that_do_not_fit_each_other_are_refused(case):
    arrays = case.fac.arrays()
    for name in {"Q", "eigenvectors", "leading", "null"} & set(arrays):
        with pytest.raises(DataError, match=f"arrays has {name} of shape"):
            RidgeFactorization.from_arrays(arrays | {name: arrays[name][:-1]}, case.data.X, case.data.Y)
    for name, wrong in (
        ("eigenvalues", arrays["eigenvalues"][:, None]),
        ("eigenvalues", arrays["eigenvalues"][0]),
        ("seconds", arrays["seconds"][:1]),
    ):
        with pytest.raises(DataError, match=f"arrays has {name} of shape"):
            RidgeFactorization.from_arrays(arrays | {name: wrong}, case.data.X, case.data.Y)


def test_a_block_without_features_changes_nothing_and_prints_nothing(case, capfd):
    data = case.data
    dense = data.X.toarray()
    for form in ("primal", "dual"):
        fac = RidgeFactorization.fit((dense, dense[:, :0]), data.Y, form=form)
        alone = RidgeFactorization.fit(dense, data.Y, form=form)
        np.testing.assert_array_equal(fac.weights(1.0), alone.weights(1.0))
    assert capfd.readouterr() == ("", "")  # BLAS writes there of what it cannot take


def test_arrays_of_other_data_are_refused(case):
    with pytest.raises(DataError, match=r"arrays are of D, N, L = .*; X and Y have"):
        RidgeFactorization.from_arrays(case.fac.arrays(), case.data.X[:, :50], case.data.Y)
    broken = {name: array for name, array in case.fac.arrays().items() if name != "eigenvalues"}
    with pytest.raises(DataError, match=r"arrays lacks \['eigenvalues'\]"):
        RidgeFactorization.from_arrays(broken, case.data.X, case.data.Y)


def test_the_fit_says_what_it_is_doing_and_how_long_it_took(case):
    said = []
    fac = RidgeFactorization.fit(case.data.X, case.data.Y, progress=lambda stage, share: said.append((stage, share)))
    assert [stage for stage, _ in said[:3]] == ["Gram matrix", "eigendecomposition", "label coefficients"]
    assert said[-1] == ("label coefficients", 1.0)
    assert set(fac.seconds) == {"gram", "eigh"}


def test_bad_input_is_refused_with_the_argument_and_the_value(case):
    data, fac = case.data, case.fac
    holes = data.X.toarray()
    holes[3, 4] = np.nan
    with pytest.raises(DataError, match="X holds nan in row 3"):
        RidgeFactorization.fit(holes, data.Y)
    with pytest.raises(DataError, match="X_new holds inf in row 0"):
        fac.project(np.full((1, fac.n_features), np.inf, np.float32))
    with pytest.raises(DataError, match=r"X has \d+ rows and Y 7"):
        RidgeFactorization.fit(data.X, data.Y[:7])
    with pytest.raises(DataError, match="Y must hold only 0 and 1; it holds 2"):
        RidgeFactorization.fit(data.X, data.Y * 2)
    with pytest.raises(DataError, match="form is 'thin'; expected"):
        RidgeFactorization.fit(data.X, data.Y, form="thin")
    with pytest.raises(DataError, match=r"X_new has \[5\] features.*expected \[\d+\]"):
        fac.project(data.X_new[:, :5])
    with pytest.raises(DataError, match="only zeros"):
        RidgeFactorization.fit(data.X * 0, data.Y)
    with pytest.raises(DataError, match="only zeros"):
        solve_direct(data.X * 0, data.Y, data.X_new, 1.0)
    with pytest.raises(DataError, match="expected no zero"):
        RidgeFactorization.fit(data.X[:, :0], data.Y)
    with pytest.raises(DataError, match=r"P has shape \(200, 3\)"):
        fac.scores(np.ones((200, 3)), 1.0)
    with pytest.raises(DataError, match=r"groups has shape \(3,\)"):
        fac.leave_group_out_scores(1.0, np.arange(3))
    missing = np.full(fac.n_train, 1.0)
    missing[2] = np.nan
    for groups, seen in ((missing, "nan"), ([None] * fac.n_train, "None")):
        with pytest.raises(DataError, match=f"groups holds .*{seen}.* for training row .; expected the family"):
            fac.leave_group_out_scores(1.0, groups)
    with pytest.raises(DataError, match="groups holds entries of several kinds"):
        fac.leave_group_out_scores(1.0, np.array([1, "a", *range(fac.n_train - 2)], dtype=object))
    for labels in (3, [[3]], [0.5], [True] * fac.n_labels, "3"):
        with pytest.raises(DataError, match="labels has type"):
            fac.weights(1.0, labels=labels)
        with pytest.raises(DataError, match="labels has type"):
            fac.scores(case.P, 1.0, labels=labels)
    with pytest.raises(DataError, match="labels holds numbers from -1 to 100"):
        fac.weights(1.0, labels=[-1, 100])
    with pytest.raises(DataError, match="rows holds numbers from 0 to 99999"):
        fac.scores(case.P, 1.0, rows=[0, 99_999])
    for wrong in (case.P[:, :1], case.P[:, :2], 5.0, case.P[0, :2]):
        with pytest.raises(DataError, match="P has shape"):
            fac.votes(wrong, 1.0)
    with pytest.raises(DataError, match="P holds complex"):
        fac.votes(case.P * 1j, 1.0)
    with pytest.raises(DataError, match="X is an array with masked entries"):
        RidgeFactorization.fit(np.ma.masked_array(data.X.toarray(), data.X.toarray() > 0), data.Y)
    with pytest.raises(DataError, match="rows holds numbers from 0 to 99999"):
        fac.leave_one_out_scores(1.0, rows=np.array([0, 99_999]))


@pytest.mark.parametrize("value", [0.0, -3.0, float("nan"), float("inf")])
def test_a_lambda_that_is_not_above_zero_is_refused_everywhere(case, value):
    message = f"reg_lambda is {value:g}"
    calls = (
        lambda: case.fac.scores(case.P, value),
        lambda: case.fac.weights(value),
        lambda: case.fac.votes(case.P, value),
        lambda: case.fac.leave_one_out_scores(value),
        lambda: next(held_out_scores(case.fac, [1.0, value])),
        lambda: solve_direct(case.data.X, case.data.Y, case.data.X_new, value),
    )
    for call in calls:
        with pytest.raises(DataError, match=message):
            call()


def test_a_matrix_beyond_the_library_is_refused_before_it_is_made():
    wide = sparse.csr_array((np.ones(1, np.float32), ([0], [0])), shape=(40_000, 40_000))
    with pytest.raises(DataError, match="size 40,000 factorised; at most 32,766"):
        RidgeFactorization.fit(wide, wide[:, :2])
