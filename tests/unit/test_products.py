"""The compiled products, entered by several threads at once under the threading layer that cannot bear it."""

import os
import subprocess
import sys

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
