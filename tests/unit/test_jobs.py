"""The estimate of how long a factorisation takes."""

import pytest

from xmlcore import jobs


def test_a_duration_is_estimated_by_the_cube_of_the_size(monkeypatch):
    clock = [0.0]
    sizes = []

    def solve(matrix):
        sizes.append(len(matrix))
        clock[0] += 1e-9 * len(matrix) ** 3

    monkeypatch.setattr(jobs, "symmetric_eigen", solve)
    monkeypatch.setattr(jobs, "TIMED_SIZE", 200)
    monkeypatch.setattr("xmlcore.jobs.time.perf_counter", lambda: clock[0])
    assert jobs.estimate_seconds(15_449) == pytest.approx(1e-9 * 15_449**3)
    assert jobs.estimate_seconds(100) == pytest.approx(1e-3)
    assert sizes == [50, 200, 50, 100]
