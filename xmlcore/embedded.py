"""The files that come with the project, in `data/`: plain numbers and lines of UTF-8, never pickled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.dataset import Dataset

DATA = Path(__file__).resolve().parents[1] / "data"


def read_arrays(name: str, *keys: str) -> dict[str, np.ndarray]:
    """The arrays of `data/<name>.npz`: those named, or all. Raises DataError where the file is missing."""
    try:
        with np.load(DATA / f"{name}.npz", allow_pickle=False) as file:
            return {key: file[key] for key in keys or file.files}
    except FileNotFoundError as error:
        raise DataError(
            f"data/{name}.npz is missing: it is not installed with the package; run in a clone of the project, or "
            "install from there with: pip install -e ."
        ) from error


def read_embedded(name: str) -> Dataset:
    """The embedded data set of that name, with term counts as X. `data/README.md` describes the file.

    Raises DataError where it is missing.
    """
    arrays = read_arrays(name)
    words, labels, instances, origin = (split_lines(arrays[key]) for key in ("words", "labels", "instances", "origin"))
    X = _rows(arrays["term_counts"], arrays["term_columns"], arrays["term_lengths"], len(words))
    ones = np.ones(len(arrays["label_columns"]))
    Y = _rows(ones, arrays["label_columns"], arrays["label_lengths"], len(labels))
    test = np.flatnonzero(arrays["is_test"])
    train = np.flatnonzero(~arrays["is_test"])
    return Dataset(
        name=name,
        X_train=X[train],
        Y_train=Y[train],
        X_test=X[test],
        Y_test=Y[test],
        feature_names=words,
        label_names=labels,
        train_names=instances[train],
        test_names=instances[test],
        train_groups=arrays["source_of"][train].astype(np.int64),
        feature_kind="counts",
        source=str(origin[0]),
    )


def split_lines(text: np.ndarray) -> np.ndarray:
    """The lines of a text kept as UTF-8 bytes, as an array of str."""
    return np.array(text.tobytes().decode().split("\n"))


def _rows(values: np.ndarray, columns: np.ndarray, lengths: np.ndarray, width: int) -> sparse.csr_array:
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int32)
    parts = (values.astype(np.float32), columns.astype(np.int32), indptr)
    return sparse.csr_array(parts, shape=(len(lengths), width))
