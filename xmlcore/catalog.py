"""Names → data sets: the embedded ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import sparse

from xmlcore.dataset import DataError, Dataset
from xmlcore.features import fit_features

DATA = Path(__file__).resolve().parents[1] / "data"
TFIDF = "tfidf+unit"


@dataclass(frozen=True)
class CatalogEntry:
    """A data set that can be had by its name.

    Attributes:
        name: for `load_dataset`, scripts and links.
        title: for people.
        description: one or two sentences on what it is, and what it is not.
        kind: "embedded" (comes with the project), "download" or "synthetic".
        recipe: the features that suit it, as text for `load_dataset`.
    """

    name: str
    title: str
    description: str
    kind: Literal["embedded", "download", "synthetic"]
    recipe: str


_ENTRIES = (
    CatalogEntry(
        "debtags",
        "Debtags",
        "Descriptions of Debian packages with the tags that volunteers gave them: 29,770 packages, 598 tags, many missing.",
        "embedded",
        TFIDF,
    ),
    CatalogEntry(
        "debian-depends",
        "Debian-depends",
        "Descriptions of Debian packages with the packages that they depend on: 63,666 packages, 35,515 labels, half "
        "of them on one package only.",
        "embedded",
        TFIDF,
    ),
)


def catalog_entries() -> tuple[CatalogEntry, ...]:
    """All data sets that can be had by name, the default one first."""
    return _ENTRIES


def load_dataset(name: str, features: str | None = "default") -> Dataset:
    """The data set of that name, its X made by a recipe.

    Args:
        name: of a catalog entry.
        features: a recipe; "default" for the one that suits the data set; None for the features as they are (counts).

    Raises DataError, listing the names, for one that is not there.
    """
    entries = {entry.name: entry for entry in catalog_entries()}
    if name not in entries:
        raise DataError(f"there is no data set called {name!r}; there are: {', '.join(entries)}")
    raw = _read_embedded(name)
    if features is None:
        return raw
    return fit_features(raw, entries[name].recipe if features == "default" else features)[0]


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
