"""The benchmark of the λ path on small data; no time is asserted."""

from dataclasses import replace

import pytest

from benchmarks import measure, path
from xmlcore import Shape, make_dataset


@pytest.fixture
def results(tmp_path, monkeypatch):
    """The folder of the results, and small data in the place of the true data sets."""
    ds = make_dataset(Shape(60, 20, 8, 15, 3.0, 5))
    monkeypatch.setattr(path, "load_dataset", lambda name: replace(ds, name=name))
    monkeypatch.setattr(path, "load_mulan", lambda folder, name: replace(ds, name=name))
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    return tmp_path


def test_the_whole_path_is_stored_with_every_way_on_every_data_set(results, monkeypatch):
    monkeypatch.setattr("sys.argv", ["path", "--ridge-values", "1", "--repeats", "1"])
    path.main()
    lines = (results / "path.md").read_text().splitlines()
    assert [line for line in lines if line.startswith("## ")] == ["## bibtex", "## delicious", "## debtags"]
    rows = [
        line.strip("| ").split(" | ") for line in lines if line.startswith(tuple(f"| {way} |" for way in path.WAYS))
    ]
    assert [row[0] for row in rows] == 3 * list(path.WAYS)
    # Whoever solves it, the same λ gives the same ranking; those with an intercept have another one.
    assert len({tuple(row[3:]) for row in rows if row[0] in list(path.WAYS)[:3]}) == 1
    assert "cores" in lines[-1]


@pytest.mark.parametrize("cut", [["bibtex"], ["--values", "3"]], ids=" ".join)
def test_a_part_of_the_path_is_printed_only(results, monkeypatch, capsys, cut):
    monkeypatch.setattr("sys.argv", ["path", *cut, "--ridge-values", "1", "--repeats", "1"])
    path.main()
    assert "| xmlcore | " in capsys.readouterr().out
    assert not list(results.iterdir())
