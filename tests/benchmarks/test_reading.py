"""The benchmark of reading on a small file; no time is asserted."""

import pytest

from benchmarks import measure, reading


@pytest.fixture
def results(tmp_path, monkeypatch):
    """The folder of the results, and a small file in the place of the usual one."""
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    monkeypatch.setattr(reading, "MEGABYTES", 0.2)
    return tmp_path


def test_the_usual_file_is_read_alike_by_both_readers_and_the_table_is_stored(results, monkeypatch):
    monkeypatch.setattr("sys.argv", ["reading"])
    reading.main()
    lines = (results / "reading.md").read_text().splitlines()
    assert "Both read the same values and as many labels." in lines[2]
    assert [line.split(" | ")[0] for line in lines[6:8]] == ["| xmlcore.readers.read", "| sklearn load_svmlight_file"]
    assert "cores" in lines[-1]


@pytest.mark.parametrize("cut", [["--megabytes", "0.1"], ["--repeat", "1"]], ids=" ".join)
def test_another_file_or_fewer_repetitions_are_printed_only(results, monkeypatch, capsys, cut):
    monkeypatch.setattr("sys.argv", ["reading", *cut])
    reading.main()
    assert "| xmlcore.readers.read | " in capsys.readouterr().out
    assert not list(results.iterdir())
