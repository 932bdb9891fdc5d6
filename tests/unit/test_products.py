"""The compiled products: rows of every length, and several threads at once under the layer that cannot bear it."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from tests.memory import peak_bytes
from xmlcore import products

SCRIPT = """
import threading
import numpy as np
from scipy import sparse
from xmlcore import products

A = sparse.random_array((400, 300), density=0.05, format="csr", rng=np.random.default_rng(0), dtype=np.float64)
B = np.random.default_rng(1).normal(size=(300, 20))
wrong = []

def work():
    for _ in range(50):
        if not np.allclose(products.multiply((sparse.csr_array(A),), B, np.float64), A @ B):
            wrong.append(1)

threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("wrong:", len(wrong))
"""


def test_two_visitors_may_enter_the_parallel_loops_at_once_whatever_the_threading_layer():
    environment = {**os.environ, "NUMBA_THREADING_LAYER": "workqueue", "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "wrong: 0"), done.stderr[-2000:]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_every_length_up_to_ten_are_summed_in_float64(dtype):
    rng = np.random.default_rng(3)
    lengths = np.arange(11)
    indices = np.concatenate([np.sort(rng.choice(40, size, replace=False)) for size in lengths])
    A = sparse.csr_array((rng.normal(size=indices.size), indices, np.concatenate([[0], np.cumsum(lengths)])), (11, 40))
    B = rng.normal(size=(40, 7)).astype(dtype)
    np.testing.assert_allclose(products.multiply((A,), B, np.float64), A.toarray() @ B, rtol=1e-13, atol=1e-13)


def test_several_blocks_take_little_more_memory_than_their_product():
    rng = np.random.default_rng(0)
    X = (sparse.random_array((20_000, 50), density=0.1, rng=rng, dtype=np.float32).tocsr(), rng.random((20_000, 10)))
    B = rng.random((60, 400)).astype(np.float32)
    products.multiply(tuple(block[:10] for block in X), B)  # what is compiled once is not counted
    out, peak = peak_bytes(lambda: products.multiply(X, B))
    np.testing.assert_allclose(out, X[0] @ B[:50] + X[1] @ B[50:], rtol=1e-5)
    assert peak < 2 * out.nbytes


@pytest.mark.parametrize("size", [0, 1])
def test_pieces_that_would_be_smaller_than_one_are_of_one(size):
    assert list(products.chunks(3, size)) == [slice(0, 1), slice(1, 2), slice(2, 3)]


@pytest.mark.filterwarnings("error")
def test_a_product_beyond_float32_is_infinite_and_warns_nobody():
    A = sparse.csr_array(np.array([[2.0, 0.0], [1.0, 1.0]], dtype=np.float32))
    B = np.array([[3e38, 1.0], [0.0, 1.0]])
    assert products.multiply((A,), B).tolist() == [[np.inf, 2.0], [np.float32(3e38), 2.0]]


def test_the_sparse_product_is_compiled_for_one_type_of_sums():
    A, B = sparse.csr_array(np.eye(3, dtype=np.float32)), np.ones((3, 2))
    for dtype in (np.float32, np.float64):
        products.multiply((A,), B, dtype)
    assert {str(signature[-1].dtype) for signature in products._add_sparse_rows.signatures} == {"float64"}
