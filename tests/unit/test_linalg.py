from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.hard_data import hard_data
from tests.unit.helpers import dense
from xmlcore import linalg, products
from xmlcore.checks import DataError


def features(kinds, rows=60, seed=0):
    """Blocks of the given kinds: rare entries, rows that are nearly full, or a dense array."""
    rng = np.random.default_rng(seed)
    blocks = []
    for kind in kinds:
        values = rng.standard_normal((rows, 25)).astype(np.float32)
        share = {"rare": 0.05, "full": 0.9, "dense": 1.0}[kind]
        values[rng.random(values.shape) >= share] = 0
        blocks.append(values if kind == "dense" else sparse.csr_array(values))
    return tuple(blocks)


KINDS = [("rare",), ("full",), ("dense",), ("rare", "dense"), ("dense", "rare"), ("rare", "full"), ("dense", "dense")]


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
@pytest.mark.parametrize("of_rows", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_gram_matrix_of_any_mixture_of_blocks_equals_the_dense_product(kinds, of_rows, dtype, tolerance):
    X = features(kinds)
    K = linalg.gram(X, of_rows=of_rows, dtype=dtype)
    wide = dense(X)
    assert K.dtype == dtype
    exact = wide @ wide.T if of_rows else wide.T @ wide
    np.testing.assert_allclose(K, exact, atol=tolerance * 25)
    V = np.random.default_rng(3).standard_normal((len(K), 7))
    np.testing.assert_allclose(linalg.gram_times(X, V, of_rows=of_rows), exact @ V, atol=1e-11)
    assert np.array_equal(K, K.T)


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_products_with_blocks_equal_the_dense_products(kinds):
    X = features(kinds)
    wide = dense(X)
    other = features(kinds, rows=13, seed=1)
    rng = np.random.default_rng(2)
    right, left = rng.standard_normal((wide.shape[1], 7)), rng.standard_normal((60, 7))
    S = sparse.csr_array((rng.random((60, 9)) < 0.2).astype(np.float32))
    np.testing.assert_allclose(linalg.cross_gram(other, X, np.float64), dense(other) @ wide.T, atol=1e-5)
    turned = tuple(block.toarray() if sparse.issparse(block) else sparse.csr_array(block) for block in other)
    np.testing.assert_allclose(linalg.cross_gram(turned, X, np.float64), dense(other) @ wide.T, atol=1e-5)
    np.testing.assert_allclose(products.multiply(X, right, np.float64), wide @ right, atol=1e-12)
    np.testing.assert_allclose(products.multiply_transposed(X, left, np.float64), wide.T @ left, atol=1e-12)
    np.testing.assert_allclose(products.transposed_times_sparse(X, S), wide.T @ S.toarray(), atol=1e-12)


def test_gram_matrix_splits_frequent_columns_from_rare_ones_without_losing_any():
    X = hard_data(80, 120).X
    counts = np.bincount(X.indices, minlength=120)
    assert (counts > 0.5 * 80).any()
    assert ((counts > 0) & (counts < 0.1 * 80)).any()
    wide = X.toarray().astype(np.float64)
    np.testing.assert_allclose(linalg.gram((X,), of_rows=True, dtype=np.float64), wide @ wide.T, rtol=1e-12)
    np.testing.assert_allclose(linalg.cross_gram((X[:9],), (X,), np.float64), wide[:9] @ wide.T, rtol=1e-12)


def test_gram_matrix_takes_indices_of_64_bits_and_leaves_its_input_alone():
    X = hard_data(40, 30).X
    long = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    before = X.data.copy()
    assert np.array_equal(
        linalg.gram((long,), of_rows=False, dtype=np.float64), linalg.gram((X,), of_rows=False, dtype=np.float64)
    )
    assert np.array_equal(X.data, before)


@pytest.mark.parametrize("product", ["XXᵀ", "XB", "AS"])
def test_products_are_the_same_to_the_last_bit_with_one_thread_or_three(product, monkeypatch):
    X = hard_data(300, 200).X
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((50, 300)), rng.standard_normal((200, 7))
    make = {
        "XXᵀ": lambda: linalg.gram((X,), of_rows=True, dtype=np.float32),
        "XB": lambda: products.multiply((X,), B),
        "AS": lambda: products.times_sparse(A, X),
    }[product]
    pools = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, threads):
            super().__init__(threads)
            pools.append(threads)

    monkeypatch.setattr(products, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(products, "_MIN_WORK_PER_THREAD", 1)
    made = []
    for threads in (1, 3):
        monkeypatch.setattr(products, "config", SimpleNamespace(NUMBA_NUM_THREADS=threads))
        made.append(make())
    assert set(pools) == {3}
    assert np.array_equal(*made)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_gram_matrix_of_any_small_matrix_of_whole_numbers_is_exact(rows, columns, share, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-5, 6, (rows, columns)) * (rng.random((rows, columns)) < share)
    X = (sparse.csr_array(values.astype(np.float32)),)
    assert np.array_equal(linalg.gram(X, of_rows=True, dtype=np.float32), values @ values.T)
    assert np.array_equal(linalg.gram(X, of_rows=False, dtype=np.float32), values.T @ values)


def test_times_sparse_equals_the_dense_product_for_any_number_of_rows():
    rng = np.random.default_rng(0)
    S = sparse.csr_array((rng.random((50, 33)) < 0.1).astype(np.float32))
    for rows in (1, 15, 16, 17, 40):
        A = rng.standard_normal((rows, 50))
        expected = A @ S.toarray()
        np.testing.assert_allclose(products.times_sparse(A, S), expected, atol=1e-5)
        np.testing.assert_allclose(products.times_sparse(np.asfortranarray(A), S.tocsc()), expected, atol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_product_with_leading_columns_keeps_what_a_huge_component_would_round_away(precision):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((200, 200)))[0]
    V = basis.astype(np.float32)
    A = 1e6 * basis[:, -1] + rng.standard_normal((20, 200)) * 1e-2
    exact = A @ basis
    split = products.product_with_leading(A, V, basis[:, -1:], precision)
    plain = products.product_with_leading(A, V, basis[:, :0], precision)
    assert np.abs(split - exact)[:, :-1].max() < 1e-4 * np.abs(plain - exact)[:, :-1].max()
    np.testing.assert_allclose(split[:, -1], exact[:, -1], rtol=1e-6)


def solved(K, reg_lambda, B, C, *, exact=None):
    """`cholesky_solve` for CᵀS, of a K and a B that are rounded from `exact`, by default from nothing."""
    exact_K, exact_B = (K, B) if exact is None else exact
    products = (lambda V: exact_K.astype(np.float64) @ V, lambda V: exact_B.astype(np.float64) @ V)
    return linalg.cholesky_solve(K.copy(), reg_lambda, B, products, lambda S: C.T @ S)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_cholesky_solve_solves_and_leaves_the_right_hand_side_alone(dtype, tolerance):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((50, 50))
    K = (A @ A.T).astype(dtype)
    for B in (rng.standard_normal((50, 4)).astype(dtype), rng.standard_normal((4, 50)).astype(dtype).T):
        before = B.copy()
        expected = np.linalg.solve(K.astype(np.float64) + 2 * np.eye(50), B)
        np.testing.assert_allclose(solved(K, 2.0, B, np.eye(50)), expected, atol=tolerance)
        assert np.array_equal(B, before)


def test_cholesky_solve_names_a_lambda_that_is_too_small():
    with pytest.raises(DataError, match=r"reg_lambda is 1e-12.*size 3"):
        solved(-np.eye(3), 1e-12, np.eye(3), np.eye(3))


def test_cholesky_solve_names_a_lambda_that_float32_cannot_hold():
    with pytest.raises(DataError, match=r"reg_lambda is 1e\+46, too large for a solve in float32"):
        solved(np.eye(3, dtype=np.float32), 1e46, np.eye(3, dtype=np.float32), np.eye(3))


def test_cholesky_solve_refuses_what_rounding_spoils_and_nothing_that_it_leaves_right():
    # C in the range of K: rounding in its null directions, however large, does not reach CᵀS.
    rng = np.random.default_rng(0)
    A, inner = rng.standard_normal((30, 10)), rng.standard_normal((10, 4))
    K, B, within = A @ A.T, A @ rng.standard_normal((10, 6)), A @ inner
    exact = inner.T @ np.linalg.solve(A.T @ A + 1e-13 * np.eye(10), A.T @ B)
    S = solved(K, 1e-13, B, within)
    assert np.abs(within.T @ S - exact).max() < 1e-9 * np.abs(exact).max()
    with pytest.raises(DataError, match="too small for a solve in float64"):
        solved(K, 1e-13, B, rng.standard_normal((30, 4)))


@pytest.mark.parametrize("scale", [1e-28, 1.0, 1e28])
def test_cholesky_solve_in_float32_answers_where_it_is_right_to_a_hundred_thousandth_and_nowhere_else(scale):
    # A large mean: one eigenvalue outweighs all others, which rounding of K alone moves.
    rng = np.random.default_rng(0)
    A, C = (rng.standard_normal((400, 300)) + 10) * scale**0.5, rng.standard_normal((400, 6))
    K, B, answered = A @ A.T, A @ rng.standard_normal((300, 8)) * scale**0.5, []
    for reg_lambda in scale * np.geomspace(1, 1e6, 13):
        exact = C.T @ np.linalg.solve(K + reg_lambda * np.eye(400), B)
        try:
            S = solved(K.astype(np.float32), reg_lambda, B.astype(np.float32), C, exact=(K, B))
        except DataError:
            answered.append(False)
        else:
            answered.append(True)
            assert np.linalg.norm(C.T @ S - exact) < 2e-5 * np.linalg.norm(exact)
    assert answered == sorted(answered)
    assert not answered[0]
    assert answered[-1]


@pytest.mark.parametrize("scale", [1e-20, 1e-5, 1.0, 1e20])
def test_what_is_linear_row_by_row_is_right_at_any_scale(scale):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 5)) * scale ** np.arange(1, 4).repeat(2)[:, None]
    A[3] = 0
    B = rng.standard_normal((5, 4)).astype(np.float32)
    found = linalg.at_any_scale(A, lambda rows: rows @ B)
    exact = A @ B.astype(np.float64)
    assert found.dtype == (np.float32 if 1e-10 < scale < 1e10 else np.float64)
    assert (np.abs(found - exact).max(axis=1) <= 1e-6 * np.abs(exact).max(axis=1)).all()


@pytest.mark.parametrize(
    ("dtype", "scale", "what"),
    [
        (np.float64, 1e170, "large"),
        (np.float64, 1e40, "large"),
        (np.float64, 1e-170, "small"),
        (np.float32, 1e19, "large"),
    ],
)
def test_values_whose_squares_overflow_or_vanish_are_named(dtype, scale, what):
    X = np.array([[1.0, -2.0], [0.0, 0.5]])
    assert linalg.check_scale((X, sparse.csr_array(X)), dtype) == pytest.approx(10.5)
    shown = f"{2 * scale:.3g}".replace("+", r"\+")
    with pytest.raises(DataError, match=rf"X_train holds values too {what} \(up to {shown}\): scale its rows"):
        linalg.check_scale((X * scale, sparse.csr_array(X * scale)), dtype, "X_train")
    assert linalg.check_scale((X * 0, X[:, :0]), dtype) == 0


def test_trace_and_largest_eigenvalues_agree_with_the_decomposition():
    X = features(("rare", "dense"))
    values = np.linalg.eigvalsh(dense(X).T @ dense(X))
    assert linalg.squared_norm(X) == pytest.approx(values.sum(), rel=1e-6)
    found = linalg.largest_eigenvalues(X)
    assert found == pytest.approx(values[-4:], rel=0.1)
    assert (found <= values[-4:] * (1 + 1e-9)).all()
    hard = hard_data(100, 50).X
    exact = np.linalg.eigvalsh(hard.toarray().T.astype(np.float64) @ hard.toarray())[-1]
    assert linalg.largest_eigenvalues((hard,))[-1] == pytest.approx(exact, rel=1e-6)
    assert linalg.largest_eigenvalues((np.ones((5, 2)),)) == pytest.approx([0, 10])


def test_nothing_but_zeros_has_no_large_eigenvalue():
    assert not linalg.largest_eigenvalues((sparse.csr_array((5, 4), dtype=np.float32),)).any()


def test_warm_up_compiles_every_kernel():
    linalg.warm_up()
    kernels = (
        linalg._add_row_products,
        products._add_sparse_rows,
        products._dense_times_columns,
    )
    assert all(kernel.signatures for kernel in kernels)
