"""Tables of texts with labels, whatever file they come from: which column is what, and the rows taken apart.

A column is known by its name. Labels are in one column, as a list or as text with a delimiter between, or in several
columns of zeros and ones, one for each label.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xmlcore.readers.files import DataFile, located, parse_whole
from xmlcore.readers.labels import Label, LabelledTexts, find_delimiter, list_labels, split_labels, with_labels
from xmlcore.readers.limits import Limits
from xmlcore.readers.parts import Parsed
from xmlcore.units import clean

Cell = object
Row = tuple[int | None, Sequence[Cell]]

NUMBERED = "target_ind"
_LABELS = (
    *("labels", "label", "tags", "tag", "categories", "category", "genres", "genre", "topics", "topic", "classes"),
    *("keywords", "codes", "targets", "target", NUMBERED, "y"),
)
_TEXTS = (
    *("title", "headline", "text", "texts", "content", "abstract", "description", "body", "document", "summary"),
    *("overview", "plot", "review", "comment", "comment_text", "sentence", "question", "raw_text"),
)
_NAMES = ("name", "title", "id", "uid", "doc_id", "document_id")
_SAMPLE = 1_000


@dataclass(frozen=True)
class Table:
    """A file as rows: the columns' names, each row with its number, and that of the one that names them, if any."""

    file: DataFile
    columns: list[str]
    rows: list[Row]
    header: int | None = None


@dataclass(frozen=True)
class Roles:
    """Which columns, by name, hold text, labels (one column), zeros and ones (one for each label), and a name."""

    texts: list[str]
    label: str | None
    indicators: list[str]
    name: str | None


def named_roles(columns: Sequence[str]) -> Roles | None:
    """The columns' roles by their names alone; None where no name says text, or none says labels."""
    label, texts = _named_columns(columns)
    if label is None or not texts:
        return None
    return Roles(texts, label, [], _name_column(columns, texts))


def find_roles(table: Table) -> Roles:
    """The columns' roles by their names, and by their content where the names are not known.

    Text is then the column with the longest cells; labels are the columns of zeros and ones, if there are two or more.
    Raises DataError, listing the columns, where there are no labels or no text.
    """
    label, texts = _named_columns(table.columns)
    sample = [row for _, row in table.rows[:_SAMPLE]]
    cells = {column: [row[at] for row in sample] for at, column in enumerate(table.columns)}
    others = [column for column in table.columns if column not in texts and column != label]
    indicators = []
    if label is None:
        indicators = [
            column for column in others if cells[column] and all(_bit(cell) is not None for cell in cells[column])
        ]
    if not texts:
        lengths = {c: np.mean([len(str(cell)) for cell in cells[c]] or [0]) for c in others if c not in indicators}
        texts = [max(lengths, key=lengths.get)] if lengths else []
    listed = _listed(table.columns)
    if label is None and len(indicators) < 2:
        raise located(
            table.file, table.header, f"no column for labels among {listed}; expected one named labels, tags or such"
        )
    if not texts:
        raise located(table.file, table.header, f"no column for text among {listed}; expected one named text or such")
    return Roles(texts, label, indicators, _name_column(table.columns, texts))


def _named_columns(columns: Sequence[str]) -> tuple[str | None, list[str]]:
    """The column of labels, or None, and those of text, as far as names say."""
    known = _by_name(columns)
    label = next((known[name] for name in _LABELS if name in known), None)
    return label, [column for column in columns if column.strip().lower() in _TEXTS]


def _name_column(columns: Sequence[str], texts: Sequence[str]) -> str | None:
    known = _by_name(columns)
    return next((known[name] for name in _NAMES if name in known and texts != [known[name]]), None)


def _by_name(columns: Sequence[str]) -> dict[str, str]:
    """The columns by their names in lower case, the first of those that are then alike."""
    return {column.strip().lower(): column for column in reversed(columns)}


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(repr(column[:20]) for column in columns[:8]) + (", …" if len(columns) > 8 else "")


def _bit(cell: Cell) -> bool | None:
    """Whether a cell is 1, or None where it is neither 0 nor 1."""
    if isinstance(cell, str):
        return {"0": False, "1": True, "0.0": False, "1.0": True}.get(cell.strip())
    if isinstance(cell, (bool, int, float, np.bool_, np.integer, np.floating)) and cell in (0, 1):
        return bool(cell)
    return None


def parse_tables(train: Table, test: Table | None, limits: Limits) -> Parsed:
    """The data set of one table, or of two with the same columns.

    Raises DataError, naming file and line, where a column is missing or a cell is not what it should be.
    """
    roles = find_roles(train)
    tables = [train] if test is None else [train, test]
    for table in tables:
        wanted = [*roles.texts, *roles.indicators, *([roles.label] if roles.label else [])]
        if missing := [column for column in wanted if column not in table.columns]:
            what = f"the column {missing[0]!r} is missing; expected the columns of {train.file.name}"
            raise located(table.file, table.header, what)
    notes = []
    delimiter = None
    if roles.label is not None:
        cells = [row[table.columns.index(roles.label)] for table in tables for _, row in table.rows]
        delimiter = find_delimiter(cell.strip() for cell in cells if isinstance(cell, str))
        between = {None: ", one or a list of them in a cell", " ": " with blanks between"}.get(
            delimiter, f" with {delimiter!r} between"
        )
        notes.append(f"Labels are in the column {roles.label!r}{between}; text in {_listed(roles.texts)}.")
    else:
        notes.append(f"Labels are {len(roles.indicators)} columns of 0 and 1; text in {_listed(roles.texts)}.")
    sides = [_taken(table, roles, delimiter) for table in tables]
    numbered = roles.label is not None and roles.label.strip().lower() == NUMBERED
    if numbered:
        sides = [_numbered(side, table, limits) for side, table in zip(sides, tables, strict=True)]
    return with_labels(sides[0], sides[1] if test is not None else None, numbered=numbered, notes=notes)


def _numbered(side: LabelledTexts, table: Table, limits: Limits) -> LabelledTexts:
    """The side with its labels as whole numbers: a table of text, as CSV is, has their digits."""
    rows = []
    for (line, _), labels in zip(table.rows, side.labels, strict=True):
        numbers = [parse_whole(label) if isinstance(label, str) else label for label in labels]
        for label, number in zip(labels, numbers, strict=True):
            if number is None or not 0 <= number < limits.max_columns:
                fault = f"label {str(label)[:40]!r} in {NUMBERED} is out of range"
                raise located(table.file, line, f"{fault}; expected numbers from 0 to {limits.max_columns - 1}")
        rows.append(numbers)
    return replace(side, labels=rows)


def _taken(table: Table, roles: Roles, delimiter: str | None) -> LabelledTexts:
    at = {column: place for place, column in reversed(list(enumerate(table.columns)))}
    texts, labels, names = [], [], []
    for line, row in table.rows:
        texts.append(" ".join(text for column in roles.texts if (text := cell_text(row[at[column]]))))
        if roles.label is not None:
            cell = row[at[roles.label]]
            if isinstance(cell, str):
                labels.append(split_labels(clean(cell), delimiter, table.file, line))
            else:
                labels.append(list_labels(cell, table.file, line))
        else:
            labels.append(_indicated(row, at, roles.indicators, table.file, line))
        if roles.name in at:
            names.append(cell_text(row[at[roles.name]]))
    return LabelledTexts(table.file, texts, labels, names if len(names) == len(texts) else None)


def _indicated(
    row: Sequence[Cell], at: dict[str, int], indicators: Iterable[str], file: DataFile, line: int | None
) -> list[Label]:
    labels: list[Label] = []
    for column in indicators:
        bit = _bit(row[at[column]])
        if bit is None:
            raise located(file, line, f"{column!r} is {str(row[at[column]])[:40]!r}; expected 0 or 1")
        if bit:
            labels.append(clean(column))
    return labels


def cell_text(cell: Cell) -> str:
    """A cell as text: nothing for None and NaN, blanks between the parts of a list."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, (list, tuple, np.ndarray)):
        return " ".join(cell_text(part) for part in cell)
    return clean(str(cell))
