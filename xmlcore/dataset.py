"""The one structure that everything takes: features and labels of training and test instances, with their names.

`Dataset` is immutable and knows its fingerprint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_array, as_indices, as_number, as_whole
from xmlcore.matrices import Features, as_blocks, as_labels, as_mask, n_columns, n_rows, take_rows


def as_groups(groups: object, n_train: int, name: str = "groups") -> np.ndarray:
    """The family of each training instance as whole numbers from 0, shape (n_train,), by the order of `groups`.

    Raises DataError, naming the argument, for another length, and for entries that are missing or cannot be compared.
    """
    groups = as_array(groups, name)
    if groups.shape != (n_train,):
        raise DataError(f"{name} has shape {groups.shape}; expected one entry for each of {n_train} training rows")
    # Whole numbers and texts cannot be missing, and NaN is the one value that differs from itself.
    known = groups.dtype.kind in "biuSU"
    missing = np.zeros(0, bool) if known else np.array([group is None or group != group for group in groups.tolist()])
    if missing.any():
        at = int(np.argmax(missing))
        raise DataError(f"{name} holds {groups[at]} for training row {at}; expected the family of every row")
    try:
        return np.unique(groups, return_inverse=True)[1]
    except TypeError as error:
        raise DataError(f"{name} holds entries of several kinds ({error}); expected numbers or texts") from error


FEATURE_KINDS = ("values", "counts")
HIGHEST_PARAMETER = 1e6  # of A and B
MOST_INSTANCES = 10**12
_VECTORS = ("feature_names", "label_names", "train_names", "test_names", "train_groups", "given_label_counts")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A multi-label data set with its split into training and test instances.

    Attributes:
        name: as shown to people and used in links.
        X_train, X_test: features, D×N and n×N; one block or a tuple of blocks.
        Y_train, Y_test: labels in {0,1}, D×L and n×L, CSR.
        feature_names: N names over all blocks, or None.
        label_names: L names, or None.
        train_names, test_names: a name for each instance, or None.
        train_texts, test_texts: the raw text of each instance, or None.
        train_groups: an integer or a text for each training instance; equal ones mark a family (packages of one source)
            that leave-out estimates must leave out together. None where instances are independent.
        train_filter, test_filter: pairs (instance, label), as CSR of ones, that are masked before ranking, or None.
        feature_kind: "counts" for raw term counts, "values" for everything else.
        A, B: the propensity parameters with which this data set's PSP is measured; A ≥ 0, B > 0.
        given_label_counts, given_n_train: N_l, shape (L,), and D of the training set as it was given, where this data
            set has only a sample of it; PSP is measured with these. None where it has all of it.
        notes: what the reader wants people to know (labels with values read as 1, a split that was made, ...).
        source: where the data comes from, in a sentence.

    Names, groups and counts may be given as lists, whole numbers, A and B as numbers of any type; they become arrays,
    ints and floats. Raises DataError, naming the field, where one cannot be read so, or does not fit the others: so
    each block is sparse in both of X_train and X_test, or dense in both.
    """

    name: str
    X_train: Features
    Y_train: sparse.csr_array
    X_test: Features
    Y_test: sparse.csr_array
    feature_names: np.ndarray | None = None
    label_names: np.ndarray | None = None
    train_names: np.ndarray | None = None
    test_names: np.ndarray | None = None
    train_texts: Sequence[str] | None = None
    test_texts: Sequence[str] | None = None
    train_groups: np.ndarray | None = None
    train_filter: sparse.csr_array | None = None
    test_filter: sparse.csr_array | None = None
    feature_kind: str = "values"
    A: float = 0.55
    B: float = 1.5
    given_label_counts: np.ndarray | None = None
    given_n_train: int | None = None
    notes: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        for field in _VECTORS:
            if (values := getattr(self, field)) is not None:
                object.__setattr__(self, field, _as_vector(values, field))
        if not isinstance(self.name, str):
            raise DataError(f"name is {self.name!r}; expected text")
        if self.feature_kind not in FEATURE_KINDS:
            raise DataError(f"feature_kind is {self.feature_kind!r}; expected {' or '.join(FEATURE_KINDS)}")
        object.__setattr__(self, "A", as_number(self.A, "A", at_least=0, at_most=HIGHEST_PARAMETER))
        object.__setattr__(self, "B", as_number(self.B, "B", above=0, at_most=HIGHEST_PARAMETER))
        if self.given_n_train is not None:
            given = as_whole(self.given_n_train, "given_n_train", at_least=1, at_most=MOST_INSTANCES)
            object.__setattr__(self, "given_n_train", given)
        if self.train_groups is not None:
            object.__setattr__(self, "train_groups", _as_families(self.train_groups, "train_groups"))
        for side in ("train", "test"):
            blocks = as_blocks(getattr(self, f"X_{side}"), f"X_{side}")
            single = not isinstance(getattr(self, f"X_{side}"), (list, tuple))
            object.__setattr__(self, f"X_{side}", blocks[0] if single else blocks)
            object.__setattr__(self, f"Y_{side}", as_labels(getattr(self, f"Y_{side}"), f"Y_{side}"))
            self._check_side(side)
        self._check_columns()

    def _check_side(self, side: str) -> None:
        rows = n_rows(getattr(self, f"X_{side}"))
        Y = getattr(self, f"Y_{side}")
        if Y.shape[0] != rows:
            raise DataError(f"X_{side} has {rows} rows and Y_{side} {Y.shape[0]}; expected the same number")
        for kind in ("names", "texts", "groups"):
            values = getattr(self, f"{side}_{kind}", None)
            if values is not None and len(values) != rows:
                raise DataError(f"{side}_{kind} has {len(values)} entries; expected one for each of {rows} instances")
        mask = as_mask(getattr(self, f"{side}_filter"), Y.shape, f"{side}_filter", f"Y_{side}")
        object.__setattr__(self, f"{side}_filter", mask)

    def _check_columns(self) -> None:
        sides = [X if isinstance(X, tuple) else (X,) for X in (self.X_train, self.X_test)]
        train, test = ([block.shape[1] for block in blocks] for blocks in sides)
        if train != test:
            raise DataError(f"X_train has {train} features a block and X_test {test}; expected the same")
        for number, pair in enumerate(zip(*sides, strict=True)):
            one, other = ("sparse" if sparse.issparse(block) else "dense" for block in pair)
            if one != other:
                raise DataError(f"block {number} of X_train is {one} and of X_test {other}; expected the same")
        if self.Y_train.shape[1] != self.Y_test.shape[1]:
            raise DataError(f"Y_train has {self.Y_train.shape[1]} labels and Y_test {self.Y_test.shape[1]}")
        for what, count in (("feature", sum(train)), ("label", self.Y_train.shape[1])):
            names = getattr(self, f"{what}_names")
            if names is not None and len(names) != count:
                raise DataError(f"{what}_names has {len(names)} entries; expected one for each of {count} {what}s")
        counts = self.given_label_counts
        if counts is not None and len(counts) != self.n_labels:
            raise DataError(
                f"given_label_counts has {len(counts)} entries; expected one for each of {self.n_labels} labels"
            )
        if counts is not None:
            if self.given_n_train is None:
                raise DataError("given_n_train is None; expected the number of instances in given_label_counts")
            counts = _as_integers(counts, "given_label_counts")
            counts = as_indices(counts, self.given_n_train + 1, "given_label_counts")
            object.__setattr__(self, "given_label_counts", counts)

    @property
    def n_train(self) -> int:
        """D, the number of training instances."""
        return self.Y_train.shape[0]

    @property
    def n_test(self) -> int:
        """The number of test instances."""
        return self.Y_test.shape[0]

    @property
    def n_features(self) -> int:
        """N, the number of features over all blocks."""
        return n_columns(self.X_train)

    @property
    def n_labels(self) -> int:
        """L, the number of labels."""
        return self.Y_train.shape[1]

    @cached_property
    def label_counts(self) -> np.ndarray:
        """N_l, the number of training instances of each label, shape (L,), int64."""
        return np.bincount(self.Y_train.indices, minlength=self.n_labels).astype(np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that a result can depend on: equal data gives the equal text, on any machine."""
        digest = hashlib.blake2b(digest_size=16)
        for field in fields(self):
            if field.name not in ("notes", "source"):
                digest.update(field.name.encode())
                _update(digest, getattr(self, field.name))
        return digest.hexdigest()

    def label_name(self, label: int) -> str:
        """The label's name, or its number where it has none."""
        return _name(self.label_names, "label", label)

    def every_label_name(self) -> np.ndarray:
        """A name for each label, or its number where it has none, shape (L,)."""
        if self.label_names is not None and np.char.strip(self.label_names.astype(str)).all():
            return self.label_names
        return np.array([self.label_name(label) for label in range(self.n_labels)])

    def train_name(self, row: int) -> str:
        """The training instance's name, or its number where it has none."""
        return _name(self.train_names, "training instance", row)

    def test_name(self, row: int) -> str:
        """The test instance's name, or its number where it has none."""
        return _name(self.test_names, "test instance", row)

    def feature_name(self, feature: int) -> str:
        """The feature's name, or its number where it has none."""
        return _name(self.feature_names, "feature", feature)


def _name(names: np.ndarray | None, what: str, at: int) -> str:
    name = "" if names is None else str(names[at])
    return name if name.strip() else f"{what} {at}"


def take_instances(ds: Dataset, *, train: np.ndarray | None = None, test: np.ndarray | None = None) -> Dataset:
    """The data set with these rows of its training and test instances only; None keeps a side as it is.

    PSP goes on being measured with the label frequencies of all training instances: see `given_label_counts`.
    """
    changes = {}
    for side, rows in (("train", train), ("test", test)):
        if rows is None:
            continue
        X, Y, texts = (getattr(ds, name) for name in (f"X_{side}", f"Y_{side}", f"{side}_texts"))
        changes |= {f"X_{side}": take_rows(X, rows), f"Y_{side}": Y[rows]}
        changes[f"{side}_texts"] = None if texts is None else [texts[row] for row in rows]
        for name in (f"{side}_names", f"{side}_groups", f"{side}_filter"):
            if (values := getattr(ds, name, None)) is not None:
                changes[name] = values[rows]
    if train is not None and ds.given_label_counts is None and ds.n_train:
        changes |= {"given_label_counts": ds.label_counts, "given_n_train": ds.n_train}
    return replace(ds, **changes)


def _as_vector(values: object, field: str) -> np.ndarray:
    vector = as_array(values, field)
    if vector.ndim != 1:
        raise DataError(f"{field} has shape {vector.shape}; expected one dimension")
    return vector


def _as_integers(values: np.ndarray, field: str) -> np.ndarray:
    """The values as integers; 5.0 is 5. Raises DataError, naming the field and the value, for any other."""
    if values.dtype.kind not in "iu":
        values = np.array([as_whole(value, f"an entry of {field}") for value in values.tolist()])
    if values.size and values.dtype.kind not in "iu":
        raise DataError(f"{field} holds numbers up to {values.max()}; expected integers of 64 bits")
    return values


def _as_families(groups: np.ndarray, field: str) -> np.ndarray:
    """The groups as integers or texts, which numpy's files hold as they are; DataError where they are neither."""
    if groups.dtype.kind in "iuU":
        return groups
    as_groups(groups, len(groups), field)  # says which is missing, and what cannot be compared
    entries = groups.tolist()
    return np.array(entries, str) if all(isinstance(entry, str) for entry in entries) else _as_integers(groups, field)


def _update(digest: hashlib.blake2b, value: object) -> None:
    """Adds what a value holds, each text and number with its end marked; how numpy keeps texts and integers is no part
    of it."""
    if isinstance(value, np.generic):
        value = value.item()  # a numpy scalar's repr names its type
    if value is None or isinstance(value, (str, float, int)):
        digest.update(f"{value!a},".encode())  # what repr escapes depends on the Unicode that this Python knows
    elif sparse.issparse(value):
        digest.update(repr(value.shape).encode())
        for part in (value.indptr, value.indices, value.data):
            _update(digest, part)
    elif isinstance(value, np.ndarray) and value.dtype.kind not in "OSTU":
        if value.dtype.kind in "iu":
            value = value.astype(np.int64, copy=False)
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8))
    else:
        digest.update(f"{len(value)}:".encode())
        for part in value.tolist() if isinstance(value, np.ndarray) else value:
            _update(digest, part)
