"""The benchmark of the two smallest shapes, end to end and at full size; no time is asserted."""

from __future__ import annotations

import pytest

from benchmarks.shapes import measure


@pytest.mark.parametrize("shape", ["bibtex", "delicious"])
def test_a_small_shape_runs_from_files_to_metrics_and_its_scores_equal_a_float64_solve(shape: str, tmp_path) -> None:
    found = measure(shape, folder=tmp_path)
    names = " / ".join(stage.name for stage in found.stages)
    for stage in ("read", "Gram", "first answer", "factorise", "project", "change λ", "change A", "change K", "top 5"):
        assert stage in names
    assert len(found.checks) == 4
    for check in found.checks:
        assert check.error < 1e-4
        assert check.same_top == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("shape", ["amazoncat-13k", "delicious-200k"])
def test_a_shape_of_reduced_features_made_small_has_the_scores_of_a_float64_solve(shape: str, tmp_path) -> None:
    found = measure(shape, 0.005, tmp_path)
    assert found.memory_target is None
    assert len(found.checks) == 3
    for check in found.checks:
        assert check.error < 1e-4
        assert check.same_top == 1
