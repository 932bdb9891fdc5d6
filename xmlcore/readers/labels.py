"""Labels as they come, in matrices, lists or delimited text, to sparse matrices of ones."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy import sparse

from xmlcore.matrices import Block
from xmlcore.readers.files import DataFile, located, parse_whole
from xmlcore.readers.parts import Parsed, Part
from xmlcore.units import clean, counted

Label = str | int
_DELIMITERS = ("|", ";", ",")
_LONGEST_LIST = 1_000_000


@dataclass(frozen=True)
class LabelledTexts:
    """The instances of one file: a text, labels and perhaps a name for each.

    file: the one that their labels are in.
    """

    file: DataFile
    texts: list[str]
    labels: list[list[Label]]
    names: list[str] | None = None


def as_ones(matrix: Block, file: DataFile) -> tuple[sparse.csr_array, str | None]:
    """The labels of a matrix: one wherever it is above 0, with a note where it held other values than 0, 1 and −1."""
    Y = sparse.csr_array(matrix, copy=True)
    other = int(np.count_nonzero((Y.data != 1) & (Y.data != 0) & (Y.data != -1)))
    Y.data = (Y.data > 0).astype(np.float32)
    Y.eliminate_zeros()
    return Y, f"{file.name} has {counted(other, 'label')} with a value; each above 0 is read as 1." if other else None


def with_labels(
    train: LabelledTexts, test: LabelledTexts | None, *, numbered: bool = False, notes: Sequence[str] = ()
) -> Parsed:
    """The data set of labelled texts.

    Args:
        train, test: the instances of the two files; None where there is no test file.
        numbered: labels are their own numbers from 0, as in the repository's `target_ind`; else they are names, which
            are put in order, as numbers where all are numbers.
        notes: passed on.

    Raises DataError where there are no instances or no labels.
    """
    sides = [train] if test is None else [train, test]
    for side in sides:
        if not side.texts:
            raise located(side.file, None, "holds no instance; expected texts with labels")
    names = None
    place: dict[str, int] | None = None
    if not numbered:
        distinct = {str(label) for side in sides for label in chain.from_iterable(side.labels)}
        numbers = all(parse_whole(label) is not None for label in distinct)
        ordered = sorted(distinct, key=(lambda label: (int(label), label)) if numbers else None)
        place = {label: number for number, label in enumerate(ordered)}
        names = np.array(ordered, dtype=str)
    parts = [_part(side, place) for side in sides]
    if all(part.Y.shape[1] == 0 for part in parts):
        raise located(train.file, None, "no instance has a label; expected labels")
    return Parsed(parts[0], parts[1] if test is not None else None, label_names=names, notes=tuple(notes))


def _part(side: LabelledTexts, place: dict[str, int] | None) -> Part:
    rows = [sorted({label if place is None else place[str(label)] for label in labels}) for labels in side.labels]
    flat = list(chain.from_iterable(rows))
    width = len(place) if place is not None else max(flat, default=-1) + 1
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    Y = sparse.csr_array((np.ones(len(flat), np.float32), np.array(flat, np.int64), indptr), shape=(len(rows), width))
    return Part(Y, texts=side.texts, names=None if side.names is None else np.array(side.names, dtype=str))


def find_delimiter(cells: Iterable[str]) -> str | None:
    """What stands between labels in the cells: `|`, `;` or `,`, whichever comes first in this order and occurs at all;
    else a blank, if all words are numbers; else nothing (None), each cell being one label."""
    plain = [cell for cell in cells if cell and not is_list(cell)]
    for delimiter in _DELIMITERS:
        if any(delimiter in cell for cell in plain):
            return delimiter
    words = [word for cell in plain for word in cell.split()]
    return " " if words and all(word.isascii() and word.isdigit() for word in words) else None


def is_list(cell: str) -> bool:
    """Whether a cell is a list in JSON's or Python's notation."""
    cell = cell.strip()
    return (cell[:1], cell[-1:]) in (("[", "]"), ("(", ")"), ("{", "}"))


def split_labels(cell: str, delimiter: str | None, file: DataFile, line: int | None) -> list[Label]:
    """The labels in a cell: a list in JSON's or Python's notation, or text with a delimiter between.

    Raises DataError where a list cannot be read.
    """
    cell = cell.strip()
    if is_list(cell):
        return list_labels(_parsed_list(cell, file, line), file, line)
    parts = [cell] if delimiter is None else cell.split(delimiter if delimiter != " " else None)
    return [label for part in parts if (label := part.strip())]


def _parsed_list(cell: str, file: DataFile, line: int | None) -> object:
    if len(cell) <= _LONGEST_LIST:
        for parse in (json.loads, ast.literal_eval):
            try:
                return parse(cell)
            except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                continue
    raise located(file, line, f'the labels {cell[:40]!r} are no list; expected such as ["sport", "news"]')


def list_labels(value: object, file: DataFile, line: int | None) -> list[Label]:
    """The labels in a list, tuple, set or array, or in one value alone; None and NaN are no labels.

    Raises DataError where an entry is neither text nor a whole number.
    """
    entries = value if isinstance(value, (list, tuple, set, np.ndarray)) else [value]
    labels: list[Label] = []
    for entry in entries:
        if isinstance(entry, np.generic):
            entry = entry.item()
        if entry is None or (isinstance(entry, float) and math.isnan(entry)):
            continue
        if isinstance(entry, float) and entry.is_integer():
            entry = int(entry)
        if isinstance(entry, bool) or not isinstance(entry, (str, int)):
            raise located(file, line, f"the label {str(entry)[:40]!r} is no text and no whole number; expected one")
        labels.append(clean(entry).strip() if isinstance(entry, str) else entry)
    return [label for label in labels if label != ""]
