"""The memory that is free, and the bound that follows."""

import pytest

from xmlcore.checks import DataError
from xmlcore.memory import as_memory_budget, default_memory_budget, free_memory


def test_the_memory_budget_is_a_quarter_of_what_is_free():
    # Other processes take and give memory between the two looks.
    assert default_memory_budget() == pytest.approx(free_memory() / 4, rel=0.3)


def test_the_environment_may_set_the_memory_budget(monkeypatch):
    monkeypatch.setenv("XMLCORE_MEMORY", "2e9")
    assert as_memory_budget(None) == default_memory_budget() == 2_000_000_000
    for value in ("2 GB", "0", "4", "nan"):  # someone who means 4 GB would wait for ever
        monkeypatch.setenv("XMLCORE_MEMORY", value)
        with pytest.raises(DataError, match="XMLCORE_MEMORY is "):
            as_memory_budget(None)


def test_the_environment_may_take_the_bound_away(monkeypatch):
    monkeypatch.setenv("XMLCORE_MEMORY", "inf")
    assert default_memory_budget() == as_memory_budget(float("inf"))


@pytest.mark.parametrize(("limit", "expected"), [("3000000", 3_000_000 - 2_500_000 + 400_000), ("1000000", 0)])
def test_a_container_with_less_memory_than_the_machine_counts(tmp_path, monkeypatch, limit, expected):
    for name, text in (("max", limit), ("current", "2500000"), ("stat", "anon 5\ninactive_file 400000\n")):
        (tmp_path / f"memory.{name}").write_text(f"{text}\n")
    monkeypatch.setattr("xmlcore.memory._CGROUP", tmp_path)
    assert free_memory() == expected
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 1 << 28


def test_a_memory_budget_is_a_number_of_bytes_none_or_without_bound():
    assert as_memory_budget(1e6) == 1_000_000
    assert as_memory_budget(float("inf")) > 1 << 60
    assert as_memory_budget(None) > 1
    for value in (0, -1, "1", float("nan")):
        with pytest.raises(DataError, match="memory_budget is "):
            as_memory_budget(value)
