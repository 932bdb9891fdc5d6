"""Names → data sets: the embedded ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from xmlcore.dataset import DataError, Dataset
from xmlcore.features import fit_features

DATA = Path(__file__).resolve().parents[1] / "data"
EMBEDDED = ("debtags", "debian-depends")


def load_dataset(name: str, features: str | None = "tfidf+unit") -> Dataset:
    """The data set of that name, its X made by the recipe `features`, or as it is (raw counts) for None.

    Raises DataError, listing the names, for one that is not there.
    """
    if name not in EMBEDDED:
        raise DataError(f"there is no data set called {name!r}; there are: {', '.join(EMBEDDED)}")
    raw = _read_embedded(name)
    return raw if features is None else fit_features(raw, features)[0]


def _read_embedded(name: str) -> Dataset:
    with np.load(DATA / f"{name}.npz", allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    words, labels, instances, origin = (_names(arrays[key]) for key in ("words", "labels", "instances", "origin"))
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


def _names(lines: np.ndarray) -> np.ndarray:
    return np.array(lines.tobytes().decode().split("\n"))


def _rows(values: np.ndarray, columns: np.ndarray, lengths: np.ndarray, width: int) -> sparse.csr_array:
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int32)
    parts = (values.astype(np.float32), columns.astype(np.int32), indptr)
    return sparse.csr_array(parts, shape=(len(lengths), width))
