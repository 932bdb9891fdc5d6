"""What a format's module gives and gets: the contract between the readers and the two ends of reading.

A format is one module with a `FORMAT`. Its `claim` says whether a list of files looks like it, its `read` turns the
files into `Parsed`; recognising, splitting, widening and term counts are done once for all formats, elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xmlcore.matrices import Features
from xmlcore.readers.files import DataFile
from xmlcore.readers.limits import Limits

Files = Sequence[DataFile]

# How sure a claim is: by the names and the content, by the content alone, or only as another way to read it.
CERTAIN, LIKELY, POSSIBLE = 3, 2, 1


@dataclass(frozen=True)
class Claim:
    """A format's claim on files: how sure it is, why in words, and how many splits the files offer to choose from."""

    strength: int
    reason: str
    split_columns: int = 0


@dataclass(frozen=True)
class Options:
    """What a person may choose about reading; split_column counts from 0."""

    split_column: int
    limits: Limits


@dataclass(frozen=True)
class Part:
    """Training or test instances as read: labels, and features or texts or both.

    Attributes:
        Y: rows×labels, sparse, ones.
        X: features with as many rows, or None where they are to be counted from the texts.
        texts, names: one for each row, or None.
        groups: an integer or a text for each row, or None.
        masked: pairs (row, label) to leave out of rankings, as two int64 arrays of one length, or None.
    """

    Y: sparse.csr_array
    X: Features | None = None
    texts: list[str] | None = None
    names: np.ndarray | None = None
    groups: np.ndarray | None = None
    masked: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True)
class Parsed:
    """A data set as its files have it; `test` is None where they have no test instances.

    used: the files that it comes from, those too of which a note says why they were left out.
    """

    train: Part
    test: Part | None = None
    feature_names: np.ndarray | None = None
    label_names: np.ndarray | None = None
    feature_kind: str = "values"
    A: float = 0.55
    B: float = 1.5
    given_label_counts: np.ndarray | None = None
    given_n_train: int | None = None
    name: str | None = None
    notes: tuple[str, ...] = ()
    used: tuple[DataFile | None, ...] = ()


@dataclass(frozen=True)
class Format:
    """A format: its name in code and links, a title for people, a sentence of help, an example of a few lines."""

    name: str
    title: str
    help: str
    example: str
    claim: Callable[[Files], Claim | None]
    read: Callable[[Files, Options], Parsed]
