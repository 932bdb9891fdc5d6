"""The command line: what it prints, what it writes, and how it ends."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import linalg, sparse

from xmlcore import Dataset, Store, catalog_entries, precision_at_k, read_predictions
from xmlcore.cli import main
from xmlcore.readers import read, write_npz

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path) -> Path:
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((90, 15)) < 0.4).astype(np.float32))
    Y = sparse.csr_array((rng.random((90, 8)) < 0.3).astype(np.float32))
    return write_npz(Dataset("tiny", X[:60], Y[:60], X[60:], Y[60:]), tmp_path / "tiny")


def test_every_data_set_is_listed_and_untried_addresses_are_marked(capsys):
    assert main(["data"]) == 0
    out = capsys.readouterr().out
    for entry in catalog_entries():
        assert entry.name in out
    assert out.count("never been tried") == sum(not entry.tried for entry in catalog_entries())


@pytest.mark.parametrize("budget", [None, 1])
def test_the_metrics_printed_are_those_of_a_float64_solve(capsys, folder, monkeypatch, budget):
    if budget:  # scores too large for memory: by a factorisation, block by block
        monkeypatch.setattr("xmlcore.cli.default_memory_budget", lambda: budget)
    assert main(["evaluate", str(folder), "--reg-lambda", "2.5", "--A", "0.9", "--B", "2", "--K", "1", "3"]) == 0
    out = capsys.readouterr().out
    ds = read(folder)
    X, Y, relevant = ds.X_train.toarray().astype(float), ds.Y_train.toarray(), ds.Y_test.toarray()
    S = ds.X_test.toarray() @ linalg.solve(X.T @ X + 2.5 * np.eye(15), X.T @ Y)
    theta = 1 + (np.log(60) - 1) * 3**0.9 * (Y.sum(axis=0) + 2) ** -0.9
    for k in (1, 3):
        expected = [
            100 * np.take_along_axis(relevant, np.argsort(-scores, axis=1)[:, :k], axis=1).mean()
            for scores in (S, S * theta)
        ]
        shown = re.search(rf"^P@{k} +([\d.]+) +([\d.]+)$", out, re.MULTILINE).groups()
        assert [float(value) for value in shown] == pytest.approx(expected, abs=0.006)
    assert "λ = 2.5; model A = 0.9, B = 2; PSP measured with A = 0.55, B = 1.5" in out


@pytest.mark.parametrize("ending", ["npz", "txt", "csv"])
@pytest.mark.parametrize("budget", [None, 1])
def test_predictions_read_back_have_the_metrics_that_were_printed(
    capsys, folder, tmp_path, monkeypatch, ending, budget
):
    if budget:  # row by row
        monkeypatch.setattr("xmlcore.cli.default_memory_budget", lambda: budget)
        monkeypatch.setattr("xmlcore.evaluation.as_memory_budget", lambda _: budget)
    ds = read(folder)
    masked = replace(ds, test_filter=sparse.csr_array(np.eye(30, 8, dtype=np.float32)))
    write_npz(masked, folder)
    out = tmp_path / f"ours.{ending}"
    assert main(["evaluate", str(folder), "--K", "1", "3", "--predictions", str(out)]) == 0
    printed = capsys.readouterr().out
    for column, path in enumerate((out, tmp_path / f"ours-ps.{ending}")):
        found = read_predictions(path, ds.n_test, ds.n_labels)
        assert (found.top >= 0).sum(axis=1).tolist() == [3] * 30
        for k in (1, 3):
            shown = re.search(rf"^P@{k} +([\d.]+) +([\d.]+)$", printed, re.MULTILINE).groups()[column]
            assert 100 * precision_at_k(found.top, ds.Y_test, k) == pytest.approx(float(shown), abs=0.006)


def test_a_lambda_at_which_rounding_may_show_is_warned_of(capsys, folder, monkeypatch):
    monkeypatch.setattr("xmlcore.cli.default_memory_budget", lambda: 1)
    for reg_lambda, warned in (("1e-9", True), ("2.5", False)):
        assert main(["evaluate", str(folder), "--reg-lambda", reg_lambda]) == 0
        assert ("rounding may show" in capsys.readouterr().err) == warned


@pytest.mark.parametrize("to", ["xc", "npz"])
def test_what_is_converted_is_read_as_the_same(capsys, folder, tmp_path, to):
    assert main(["convert", str(folder), str(tmp_path / "out"), "--to", to]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "out")
    again, before = read(tmp_path / "out"), read(folder)
    assert again.fingerprint == before.fingerprint


@pytest.mark.parametrize("to", ["xc", "npz"])
def test_converting_again_replaces_what_was_converted_before(folder, tmp_path, to):
    assert main(["convert", "debtags", str(tmp_path / "out"), "--to", to]) == 0
    assert main(["convert", str(folder), str(tmp_path / "out"), "--to", to]) == 0
    assert read(tmp_path / "out").fingerprint == read(folder).fingerprint


def test_a_conversion_that_cannot_be_written_is_said_in_one_line(capsys, folder, tmp_path):
    (tmp_path / "out" / "train.txt").mkdir(parents=True)
    (tmp_path / "file").write_text("x")
    assert main(["convert", str(folder), str(folder)]) == 1
    assert main(["convert", str(folder), str(tmp_path / "out")]) == 1
    assert main(["convert", str(folder), str(tmp_path / "file")]) == 1
    assert main(["convert", str(folder), str(folder / "below")]) == 1
    assert not (folder / "below").exists()
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith("error: ") for line in lines] == [True] * 4
    assert "tiny holds X.trn.npz, which would be read together" in lines[0]
    assert "out holds train.txt, which would be read together" in lines[1]
    assert "file cannot be written (File exists)" in lines[2]
    assert "below lies in" in lines[3]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate", "nowhere"], "nowhere"),
        (["evaluate", "debtags", "--features", "svd:x"], "svd:x"),
        (["fetch", "debtags"], "nothing to download"),
        (["convert", "nowhere", "out"], "nowhere"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(capsys, arguments, said):
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error
    assert error.count("\n") == 1


def test_the_cache_is_shown_and_cleared(capsys):
    store = Store()
    store.put("a key", {"x": np.zeros(1000)})
    assert main(["cache"]) == 0
    assert "a key" in capsys.readouterr().out
    assert main(["cache", "--clear"]) == 0
    assert "removed" in capsys.readouterr().out
    assert Store().entries() == []


def test_the_module_runs_and_refuses_an_unknown_command():
    run = subprocess.run([sys.executable, "-m", "xmlcore", "dance"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 2
    assert "dance" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("arguments", [["data"], ["evaluate", "FOLDER"]])
def test_an_output_that_takes_nothing_is_an_error_in_one_line(folder, arguments):
    command = [sys.executable, "-m", "xmlcore", *(str(folder) if a == "FOLDER" else a for a in arguments)]
    with open("/dev/full", "w") as full:
        run = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == "error: the output cannot be written: No space left on device"
    assert "Traceback" not in run.stderr


def test_a_terminal_without_greek_gets_the_numbers_too(folder, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    command = [sys.executable, "-m", "xmlcore", "evaluate", str(folder)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="latin-1", check=False)
    assert (run.returncode, run.stderr.count("Traceback")) == (0, 0)
    assert "P@1" in run.stdout


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--K", "0"], "K is 0"),
        (["--reg-lambda", "-1"], "reg_lambda is -1"),
        (["--A", "-1"], "A is -1"),
        (["--features", ""], "features"),
        (["--predictions", "ours.mat"], "predictions go to 'ours.mat'; expected a name in .npz, .txt, .csv"),
        (["--predictions", "nowhere/a.csv"], "predictions go to 'nowhere/a.csv'; expected a folder that is there"),
    ],
)
def test_options_are_looked_at_before_the_work(option, message, capsys, monkeypatch, folder):
    monkeypatch.setattr("xmlcore.cli.load_dataset", None)  # it is not called
    assert main(["evaluate", str(folder), *option]) == 1
    assert message in capsys.readouterr().err


def test_of_features_that_take_long_each_stage_is_told_and_a_cut_k_too(capsys, folder):
    assert main(["evaluate", str(folder), "--features", "svd:2", "--K", "1", "1000"]) == 0
    said = capsys.readouterr().err
    assert "SVD, pass 1 of 4\n" in said
    assert "K is at most " in said


def test_nothing_but_results_is_written_where_they_go_even_without_a_place_for_errors(folder):
    command = f"{sys.executable} -m xmlcore evaluate {folder}/nowhere 2>&-"
    run = subprocess.run(command, shell=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert (run.returncode, run.stdout) == (1, "")
    command = f"{sys.executable} -m xmlcore evaluate {folder} --features svd:2 2>/dev/full"
    run = subprocess.run(command, shell=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert (run.returncode, "P@1" in run.stdout) == (0, True)


@pytest.mark.parametrize(
    "arguments", [["data"], ["evaluate", "{folder}", "--K", "1"], ["convert", "{folder}", "{folder}2"]]
)
@pytest.mark.parametrize("both", [False, True])
def test_a_closed_pipe_ends_the_program_quietly(folder, arguments, both):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "xmlcore", *(argument.format(folder=folder) for argument in arguments)]
    error = writing if both else subprocess.PIPE
    run = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=error, text=True)
    os.close(writing)
    assert run.returncode == 1
    assert not run.stderr


def test_a_reader_that_stops_after_one_line_gets_it(monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")  # each line is then written by itself, and the pipe breaks in between
    command = [sys.executable, "-m", "xmlcore", "data"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline().startswith("debtags")
        run.stdout.close()
        assert "Error" not in run.stderr.read()
    assert run.returncode in (0, 1)  # 0 where all was written before the pipe was closed
