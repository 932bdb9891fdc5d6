"""The routines against numpy and scipy in float64, and what they are for: other threads run meanwhile."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import linalg

from xmlcore.lapack import add_syrk, cholesky_factor, cholesky_solve_factored, symmetric_eigen

TYPES = pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-4), (np.float64, 1e-12)])


def positive(size, dtype, seed=0):
    A = np.random.default_rng(seed).standard_normal((size, size + 5))
    return (A @ A.T / size).astype(dtype)


@TYPES
@pytest.mark.parametrize("size", [1, 2, 7, 60])
def test_eigenpairs_are_those_of_scipy(size, dtype, tolerance):
    K = positive(size, dtype)
    values, V = symmetric_eigen(K.copy())
    exact = linalg.eigh(K.astype(np.float64), eigvals_only=True)
    assert np.allclose(values, exact, atol=tolerance * exact[-1])
    assert np.allclose(K.astype(np.float64) @ V, V * values, atol=tolerance * exact[-1])
    assert np.allclose(V.T @ V, np.eye(size), atol=tolerance)


@TYPES
def test_only_the_half_below_the_diagonal_is_read(dtype, tolerance):
    K = positive(9, dtype)
    half = np.tril(K) + np.triu(np.full((9, 9), np.nan, dtype), 1)
    assert np.allclose(symmetric_eigen(half.copy())[0], np.linalg.eigvalsh(K), atol=tolerance * 10)
    assert cholesky_factor(half)


@TYPES
def test_a_cholesky_solve_leaves_the_right_hand_sides_and_is_right(dtype, tolerance):
    K, B = positive(40, dtype), np.random.default_rng(1).standard_normal((40, 3)).astype(dtype)
    factor, before = K.copy(), B.copy()
    assert cholesky_factor(factor)
    X = cholesky_solve_factored(factor, B)
    exact = np.linalg.solve(K.astype(np.float64), B.astype(np.float64))
    assert np.linalg.norm(X - exact) <= tolerance * 100 * np.linalg.norm(exact)
    assert np.array_equal(B, before)
    # Right-hand sides in another order of memory.
    assert np.allclose(cholesky_solve_factored(factor, np.asfortranarray(B)), X)


def test_what_is_not_positive_definite_is_said_to_be_so():
    assert not cholesky_factor(np.diag([1.0, -1.0]))


@TYPES
@pytest.mark.parametrize("of_rows", [True, False])
def test_syrk_adds_to_the_half_below_the_diagonal(of_rows, dtype, tolerance):
    A = np.random.default_rng(2).standard_normal((6, 4)).astype(dtype)
    product = A @ A.T if of_rows else A.T @ A
    K = np.ones_like(product)
    add_syrk(K, A, of_rows=of_rows)
    assert np.allclose(np.tril(K), np.tril(1 + product), atol=tolerance)
    assert np.array_equal(np.triu(K, 1), np.triu(np.ones_like(product), 1))


def test_an_array_that_is_not_in_one_piece_is_refused():
    with pytest.raises(ValueError, match="one piece"):
        cholesky_factor(positive(4, np.float64)[::2, ::2])


def test_other_threads_run_during_a_decomposition():
    ticks = 0
    with ThreadPoolExecutor(1) as pool:
        pairs = pool.submit(symmetric_eigen, positive(700, np.float64))
        while not pairs.done():
            time.sleep(0.001)
            ticks += not pairs.done()
    pairs.result()
    # With Python's lock held this thread would wake up once, when all is over.
    assert ticks >= 3
