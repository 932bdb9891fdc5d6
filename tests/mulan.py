"""Bibtex and Delicious in the Mulan format, read for tests and benchmarks without the project's own readers.

Two sparse ARFF files with binary attributes and an XML file that names the labels; every other attribute is a feature.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
from scipy import sparse

from xmlcore.dataset import Dataset


def load_mulan(folder: Path, name: str) -> Dataset:
    """The data set `name` (bibtex, delicious) from `folder` with its own split, features binary as they are."""
    tree = ElementTree.parse(folder / f"{name}.xml")
    label_names = [element.attrib["name"] for element in tree.iter("{http://mulan.sourceforge.net/labels}label")]
    attributes, train = _read(folder / f"{name}-train.arff")
    same, test = _read(folder / f"{name}-test.arff")
    if attributes != same:
        raise ValueError(f"{name}: the two files differ in their attributes")
    place = {attribute: column for column, attribute in enumerate(attributes)}
    labels = np.array([place[label] for label in label_names])
    features = np.setdiff1d(np.arange(len(attributes)), labels)
    return Dataset(
        name=name,
        X_train=train[:, features],
        Y_train=train[:, labels],
        X_test=test[:, features],
        Y_test=test[:, labels],
        feature_names=np.array(attributes)[features],
        label_names=np.array(label_names),
    )


def _read(path: Path) -> tuple[list[str], sparse.csr_array]:
    """The attributes' names and the instances × attributes matrix of one file."""
    head, _, data = path.read_text(encoding="utf-8").partition("@data")
    lines = [line for line in head.splitlines() if line.startswith("@attribute")]
    attributes = [line.split(maxsplit=1)[1].rsplit("{", 1)[0].rsplit(" numeric", 1)[0].strip(" '\"") for line in lines]
    rows = [line.strip(" {}") for line in data.splitlines() if line.startswith("{")]
    entries = [np.array(row.replace(",", " ").split(), dtype=np.int64).reshape(-1, 2) for row in rows]
    indptr = np.concatenate([[0], np.cumsum([len(pairs) for pairs in entries])])
    pairs = np.concatenate(entries)
    values = pairs[:, 1].astype(np.float32)
    return attributes, sparse.csr_array((values, pairs[:, 0], indptr), shape=(len(rows), len(attributes)))
