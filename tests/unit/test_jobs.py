"""The estimate of how long a factorisation takes."""

import numpy as np
import pytest

from xmlcore.checks import DataError
from xmlcore.jobs import estimate_seconds


def test_a_duration_is_estimated_by_the_cube_of_the_size(monkeypatch):
    clock = [0.0]
    sizes = []

    def solve(matrix):
        np.linalg.cholesky(matrix)
        sizes.append(len(matrix))
        clock[0] += 1e-9 * len(matrix) ** 3

    monkeypatch.setattr("xmlcore.jobs.time.perf_counter", lambda: clock[0])
    assert estimate_seconds(solve, 15_449, sample=200) == pytest.approx(1e-9 * 15_449**3)
    assert estimate_seconds(solve, 100, sample=200) == pytest.approx(1e-3)
    assert sizes == [50, 200, 50, 100]
    with pytest.raises(DataError, match="size must be at least 1; it is 0"):
        estimate_seconds(solve, 0)
