"""The range finder against LAPACK's SVD of the same matrix, and the ridge regression on its features."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import svds
from sklearn.utils.extmath import randomized_svd

from xmlcore.checks import DataError
from xmlcore.range_finder import RangeSVD, truncated_svd
from xmlcore.ridge import RidgeFactorization
from xmlcore.synthetic import make_dataset

FLAT = make_dataset("delicious-200k", seed=2, scale=0.003)  # 590 rows of 2,348 features; s_40 is hardly above s_50
RNG = np.random.default_rng(0)
# Columns that get smaller give singular values that do, so that each direction is told from the next.
DRAWN = sparse.random_array((700, 900), density=0.2, rng=RNG) * 0.93 ** np.arange(900)
X, X_NEW = (sparse.csr_array(part.astype(np.float32)) for part in (DRAWN.tocsr()[:500], DRAWN.tocsr()[500:]))
Y = sparse.csr_array((RNG.random((500, 12)) < 0.1).astype(np.float32))


def orthonormality(svd: RangeSVD) -> float:
    U = svd.features / svd.singular_values
    return float(np.abs(U.T @ U - np.eye(U.shape[1])).max())


def test_singular_values_and_directions_equal_those_of_lapack() -> None:
    svd = truncated_svd(X, 40)
    U, s, _ = np.linalg.svd(X.toarray().astype(np.float64), full_matrices=False)
    np.testing.assert_allclose(svd.singular_values, s[:40], rtol=1e-4)
    found = svd.features[:, :10] / svd.singular_values[:10]
    np.testing.assert_allclose(np.abs(np.sum(found * U[:, :10], axis=0)), 1, atol=1e-4)
    assert orthonormality(svd) < 1e-5


def test_singular_values_equal_those_of_lanczos() -> None:
    s = np.sort(svds(X.astype(np.float64), 20, return_singular_vectors=False, rng=0))[::-1]
    np.testing.assert_allclose(truncated_svd(X, 20).singular_values, s, rtol=1e-4)


def test_at_equal_passes_more_is_kept_of_a_flat_spectrum_than_by_scikit_learns_randomized_svd() -> None:
    X_flat = FLAT.X_train
    best = np.square(np.linalg.svd(X_flat.toarray(), compute_uv=False)[:40]).sum()
    kept = [np.square(truncated_svd(X_flat, 40, passes=passes).singular_values).sum() / best for passes in (1, 2, 4, 8)]
    assert kept == sorted(kept)
    assert kept[-1] < 1 + 1e-5
    for passes, ours in ((4, kept[2]), (8, kept[3])):
        theirs = randomized_svd(X_flat, 40, n_iter=passes, power_iteration_normalizer="QR", random_state=0)[1]
        assert ours > np.square(theirs).sum() / best


def test_new_rows_are_transformed_as_training_rows_were() -> None:
    svd = truncated_svd(X, 30, passes=8)
    np.testing.assert_allclose(svd.transform(X), svd.features, atol=1e-5 * np.abs(svd.features).max())
    V = np.linalg.svd(X.toarray().astype(np.float64), full_matrices=False)[2][:30].T
    # Singular vectors have no sign of their own; products of two rows do not depend on it.
    exact, found = X_NEW @ V, svd.transform(X_NEW)
    np.testing.assert_allclose(found @ found.T, exact @ exact.T, atol=1e-5 * np.square(exact).sum(axis=1).max())


def test_few_rows_by_the_features_that_they_have_are_as_among_many() -> None:
    svd = truncated_svd(X, 30)
    few = sparse.csr_array(X_NEW[:3] * (np.arange(X.shape[1]) % 7 == 0))
    among_many = svd.transform(sparse.csr_array(sparse.vstack([X_NEW, few])))[-3:]
    np.testing.assert_allclose(svd.transform(few), among_many, atol=1e-6 * np.abs(among_many).max())
    assert not svd.transform(sparse.csr_array((2, X.shape[1]), dtype=np.float32)).any()


@pytest.mark.parametrize("share", [1e-5, 1e-3, 1e-1])
def test_ridge_regression_on_its_features_equals_that_on_the_exact_ones(share: float) -> None:
    svd = truncated_svd(X, 30, passes=6)
    U, s, Vt = np.linalg.svd(X.toarray().astype(np.float64), full_matrices=False)
    F, F_new = U[:, :30] * s[:30], X_NEW @ Vt[:30].T
    reg_lambda = share * s[0] ** 2
    fac = RidgeFactorization.fit(svd.features, Y, form="primal")
    found = fac.scores(fac.project(svd.transform(X_NEW)), reg_lambda)
    expected = F_new @ np.linalg.solve(F.T @ F + reg_lambda * np.eye(30), F.T @ Y.toarray())
    assert np.linalg.norm(found - expected) / np.linalg.norm(expected) < 1e-4


def test_blocks_of_columns_change_nothing(monkeypatch) -> None:
    whole = truncated_svd(X, 30)
    transformed = whole.transform(X_NEW)
    monkeypatch.setattr("xmlcore.range_finder.BLOCK_BYTES", 7 * 4 * max(X.shape))
    monkeypatch.setattr("xmlcore.range_finder._ROWS", 100)
    blocked = truncated_svd(X, 30)
    np.testing.assert_allclose(blocked.singular_values, whole.singular_values, rtol=1e-5)
    np.testing.assert_allclose(blocked.features @ blocked.features.T, whole.features @ whole.features.T, atol=1e-4)
    again = blocked.transform(X_NEW)
    np.testing.assert_allclose(again @ again.T, transformed @ transformed.T, atol=1e-4)


def test_a_matrix_of_lower_rank_gives_as_many_features_as_it_has() -> None:
    rng = np.random.default_rng(0)
    low = sparse.csr_array((rng.random((80, 6)) @ rng.random((6, 50))).astype(np.float32))
    svd = truncated_svd(low, 20)
    assert svd.singular_values.size == svd.features.shape[1] == 6
    exact = np.linalg.svd(low.toarray().astype(np.float64), compute_uv=False)[:6]
    np.testing.assert_allclose(svd.singular_values, exact, rtol=1e-4)


def falling(base: float, rows: int, columns: int) -> np.ndarray:
    """A matrix of rank 30 whose singular values are the powers of base."""
    rng = np.random.default_rng(5)
    U, V = (np.linalg.qr(rng.standard_normal((size, 30)))[0] for size in (rows, columns))
    return U * base ** np.arange(30) @ V.T


@pytest.mark.parametrize("scale", [2.0**-48, 1.0, 2.0**45])
@pytest.mark.parametrize(("rows", "columns"), [(300, 200), (40, 30), (60, 400)])
@pytest.mark.parametrize("base", [0.6, 0.7])
def test_directions_far_below_the_largest_are_found_and_serve_new_rows(base, rows, columns, scale) -> None:
    whole = (falling(base, rows + 20, columns) * scale).astype(np.float32)
    old, new = sparse.csr_array(whole[:rows]), sparse.csr_array(whole[rows:])
    _, s, Vt = np.linalg.svd(old.toarray().astype(np.float64), full_matrices=False)
    svd = truncated_svd(old, 20)
    np.testing.assert_allclose(svd.singular_values, s[:20], rtol=1e-5)
    exact = new @ Vt[:20].T
    found = svd.transform(new)
    found = found * np.sign(np.sum(found * exact, axis=0))
    errors = np.linalg.norm(found - exact, axis=0) / np.linalg.norm(exact, axis=0)
    assert errors.max() < 1e-3


def test_one_feature_far_larger_than_all_others_hides_none_of_them() -> None:
    rng = np.random.default_rng(0)
    M = (rng.random((300, 100)) < 0.1) * 1.0
    M[:, 0] = 1e3 * (1 + rng.random(300))
    svd = truncated_svd(sparse.csr_array(M), 20, passes=30)
    np.testing.assert_allclose(svd.singular_values, np.linalg.svd(M, compute_uv=False)[:20], rtol=1e-4)
    np.testing.assert_allclose(truncated_svd(sparse.csr_array(M), 20).singular_values, svd.singular_values, rtol=0.05)
    assert orthonormality(svd) < 1e-5


@pytest.mark.parametrize("rows", [20, 80])
@pytest.mark.parametrize("values", [[1.0, 1e-2, 1e-4, 1e-5], [3.0, 3.0], [1.0]])
def test_a_matrix_with_few_rows_that_are_not_zero_gives_its_own_rank(values, rows) -> None:
    rank = len(values)
    X_few = np.zeros((rows, 50), np.float32)
    X_few[np.arange(rank), np.arange(rank) * 2] = values
    svd = truncated_svd(sparse.csr_array(X_few), 20)
    np.testing.assert_allclose(svd.singular_values, values, rtol=1e-5)
    assert np.isfinite(svd.features).all()


def test_the_full_rank_is_allowed_on_either_side() -> None:
    for matrix in (X[:40], sparse.csr_array(X[:40].T)):
        svd = truncated_svd(matrix, 40)
        rank = np.linalg.matrix_rank(matrix.toarray().astype(np.float64))
        exact = np.linalg.svd(matrix.toarray().astype(np.float64), compute_uv=False)[:rank]
        assert svd.singular_values.size == rank
        np.testing.assert_allclose(svd.singular_values, exact, rtol=1e-4)


def test_equal_seeds_give_equal_features_and_others_do_not() -> None:
    one, same, other = (truncated_svd(X, 20, passes=1, seed=seed).features for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(np.abs(one), np.abs(other))


def test_progress_only_grows_and_ends_at_one() -> None:
    told, after = [], []
    svd = truncated_svd(X, 20, passes=2, progress=lambda stage, part: told.append((stage, part)))
    svd.transform(X_NEW, progress=lambda stage, part: after.append((stage, part)))
    assert list(dict.fromkeys(stage for stage, _ in told)) == ["pass 1 of 2", "pass 2 of 2", "Rayleigh–Ritz"]
    parts = [part for _, part in told]
    assert parts == sorted(parts)
    assert 0 < parts[0] < parts[-1] == 1
    assert after[-1] == ("features of the rows", 1)


@pytest.mark.parametrize(("scale", "what"), [(1e20, "large"), (1e-20, "small")])
def test_values_that_float32_cannot_square_are_named(scale: float, what: str) -> None:
    with pytest.raises(DataError, match=f"X holds values too {what} .*: scale its rows"):
        truncated_svd(X * np.float32(scale), 5)


def test_a_scale_well_within_float32_changes_nothing_but_the_scale() -> None:
    plain = truncated_svd(X, 20)
    products = plain.transform(X_NEW) @ plain.features.T
    for scale in (2.0**-50, 2.0**-30, 2.0**30, 2.0**43):
        scaled = truncated_svd(X * np.float32(scale), 20)
        np.testing.assert_allclose(scaled.singular_values / scale, plain.singular_values, rtol=1e-5)
        np.testing.assert_allclose(scaled.transform(X_NEW) @ scaled.features.T / scale, products, atol=0.01)
    with pytest.raises(DataError, match="X_new holds values too large"):
        plain.transform(sparse.csr_array(X_NEW).astype(np.float64) * 1e200)


def test_misuse_is_named() -> None:
    for rank in (0, 501):
        with pytest.raises(DataError, match=f"rank is {rank}"):
            truncated_svd(X, rank)
    with pytest.raises(DataError, match="passes is 0"):
        truncated_svd(X, 5, passes=0)
    with pytest.raises(DataError, match="seed is -1"):
        truncated_svd(X, 5, seed=-1)
    with pytest.raises(DataError, match="one sparse block"):
        truncated_svd(X.toarray(), 5)
    with pytest.raises(DataError, match="only zeros"):
        truncated_svd(X * np.float32(0), 5)
    with pytest.raises(DataError, match="X_new has 7 features"):
        truncated_svd(X, 5).transform(X[:, :7])
