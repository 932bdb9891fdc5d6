"""MATLAB files as scipy writes them: orientation, names, values, and what is refused."""

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from xmlcore.readers import read, recognise
from xmlcore.readers.limits import Limits


def matrices(rows: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = (rng.random((rows, 5)) * (rng.random((rows, 5)) < 0.4)).astype(np.float32)
    return X, (rng.random((rows, 3)) < 0.4).astype(float)


@pytest.mark.parametrize("turn_data", [False, True])
@pytest.mark.parametrize("turn_target", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse", "packed"])
def test_either_orientation_gives_the_same_data_set(tmp_path, turn_data, turn_target, kind):
    made = {}
    for side, rows in (("train", 8), ("test", 6)):
        X, Y = matrices(rows)
        X, Y = (X.T if turn_data else X), (Y.T if turn_target else Y)
        as_kind = sparse.csc_array if kind == "sparse" else np.asarray
        made |= {f"{side}_data": as_kind(X).astype(float), f"{side}_target": as_kind(Y)}
    path = tmp_path / "set.mat"
    savemat(path, made, do_compression=kind == "packed")
    assert recognise(path).reason == "set.mat is a MATLAB file"
    ds = read(path)
    for X, Y, rows in ((ds.X_train, ds.Y_train, 8), (ds.X_test, ds.Y_test, 6)):
        np.testing.assert_array_equal(X.toarray(), matrices(rows)[0])
        np.testing.assert_array_equal(Y.toarray(), matrices(rows)[1])
    assert bool(ds.notes) == (turn_data or turn_target)


@pytest.mark.parametrize("names", [("data", "target"), ("X", "Y"), ("features", "labels")])
def test_one_pair_of_matrices_is_split(tmp_path, names):
    X, Y = matrices()
    savemat(tmp_path / "set.mat", dict(zip(names, (X, Y), strict=True)))
    ds = read(tmp_path / "set.mat")
    assert (ds.n_train, ds.n_test, ds.n_features, ds.n_labels) == (6, 2, 5, 3)


def test_two_files_are_train_and_test(tmp_path):
    for side, rows in (("train", 8), ("test", 6)):
        X, Y = matrices(rows)
        savemat(tmp_path / f"{side}.mat", {"data": X, "target": Y})
    ds = read(tmp_path)
    assert (ds.n_train, ds.n_test) == (8, 6)


def test_minus_one_is_no_label_and_dense_features_stay_dense(tmp_path):
    _, Y = matrices()
    X = np.arange(40.0).reshape(8, 5)
    savemat(tmp_path / "set.mat", {"trainX": X, "trainY": Y * 2 - 1, "testX": X, "testY": Y * 2 - 1})
    ds = read(tmp_path / "set.mat")
    np.testing.assert_array_equal(ds.Y_train.toarray(), Y)
    np.testing.assert_array_equal(ds.X_train, X)


def test_label_values_are_read_as_one_and_said(tmp_path):
    X, Y = matrices()
    savemat(tmp_path / "set.mat", {"data": X, "target": Y * 0.5})
    ds = read(tmp_path / "set.mat")
    assert ds.Y_train.nnz + ds.Y_test.nnz == Y.sum()
    assert f"set.mat has {Y.sum():.0f} labels with a value; each above 0 is read as 1." in ds.notes


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"a": np.eye(3)}, "set.mat: holds a; expected a matrix data (or X) and a matrix target (or Y)"),
        ({"data": np.eye(3), "target": np.eye(4)}, "set.mat: features and labels have the shapes (3, 3) and (4, 4)"),
        ({"data": np.array([[1, np.nan]]), "target": np.eye(1)}, "set.mat: data holds NaN"),
        ({"data": np.ones((1, 1, 2)), "target": np.eye(1)}, "set.mat: data is no matrix of real numbers"),
        ({"data": np.ones((1, 2)) * 1j, "target": np.eye(1)}, "set.mat: data is no matrix of real numbers"),
        ({"data": np.array([[1, 1e60]]), "target": np.eye(1)}, "set.mat: data holds NaN, infinity or a value beyond"),
        ({"data": np.array(["a", "b"]), "target": np.eye(2)}, "set.mat: data is no matrix of real numbers"),
        ({"data": np.eye(3), "target": {"a": 1}}, "set.mat: target is no matrix of real numbers"),
        ({"data": np.eye(3), "target": np.array([[1], [2], [3]])}, "set.mat: has one column of labels"),
    ],
)
def test_variables_that_are_no_data_set_are_refused(tmp_path, refusal, variables, expected):
    savemat(tmp_path / "set.mat", variables)
    assert expected in refusal(tmp_path / "set.mat")


def test_files_that_are_damaged_too_new_or_too_large_are_refused(tmp_path, refusal):
    path = tmp_path / "set.mat"
    savemat(path, {"data": np.zeros((3, 3_000_000)), "target": np.eye(3)}, do_compression=True)
    assert "expands to more than 200 times its size" in refusal(path)
    assert "expands to more than 10 MB" in refusal(path, limits=Limits(max_expanded_bytes=10_000_000))
    savemat(path, {"data": np.random.default_rng(0).random((50, 50)), "target": np.eye(50)}, do_compression=True)
    path.write_bytes(path.read_bytes()[:5000])
    assert refusal(path).startswith("set.mat: ")
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n" + b"\0" * 500)
    assert "is of MATLAB's version 7.3; expected one saved with -v7" in refusal(path)
