"""Tables of predictions: instance, label and score in columns of any order, one prediction a line.

Names in tables stand on one line: blanks and line ends within them count as one blank, those around them as none.
Titles may repeat, and then say nothing of which instance is meant: such a column is written in numbers.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.readers.files import DataFile, located, parse_number, parse_whole, text_lines
from xmlcore.units import counted

COLUMNS = ("instance", "label", "score")


def read_table(
    file: DataFile,
    n_rows: int,
    n_labels: int,
    instance_names: Sequence[str] | None,
    label_names: Sequence[str] | None,
) -> sparse.csr_array:
    """The scores of a table, (n_rows, n_labels), float64; arguments and errors as in `predictions.read_predictions`."""
    numbers, cells = _table_rows(file)
    places, header = {name: at for at, name in enumerate(COLUMNS)}, [cell.strip().lower() for cell in cells[0]]
    if parse_number(cells[0][2]) is None or set(header) == set(COLUMNS):
        if set(header) != set(COLUMNS):
            seen = ", ".join(cells[0])
            raise located(file, numbers[0], f"names the columns {seen}; expected instance, label and score")
        places = {name: header.index(name) for name in COLUMNS}
        numbers, cells = numbers[1:], cells[1:]
    columns = {name: [_one_line(row[at]) for row in cells] for name, at in places.items()}
    row = _indices(file, numbers, columns["instance"], n_rows, instance_names, "instance")
    label = _indices(file, numbers, columns["label"], n_labels, label_names, "label")
    score = np.empty(len(cells))
    for at, cell in enumerate(columns["score"]):
        number = parse_number(cell)
        if number is None or not np.isfinite(number):
            raise located(file, numbers[at], f"the score {cell!r} is no finite number")
        score[at] = number
    order = np.lexsort((label, row))
    twice = np.flatnonzero((np.diff(row[order]) == 0) & (np.diff(label[order]) == 0))
    if twice.size:
        at = int(max(order[twice[0]], order[twice[0] + 1]))
        raise located(file, numbers[at], "names a label twice for one instance; expected each at most once")
    matrix = sparse.csr_array((score, (row, label)), shape=(n_rows, n_labels))
    matrix.eliminate_zeros()
    return matrix


def _table_rows(file: DataFile) -> tuple[list[int], list[list[str]]]:
    """The table's rows of three cells with the numbers of their lines."""
    numbers, cells = [], []
    separator = None
    for number, line in text_lines(file):
        if not line.strip():
            continue
        separator = separator or _separator(line)
        try:
            (row,) = csv.reader([line], delimiter=separator, strict=True)
        except (csv.Error, ValueError) as error:
            raise located(file, number, f"is no CSV ({error}); expected instance, label, score") from error
        if len(row) != 3:
            raise located(file, number, f"has {counted(len(row), 'cell')}; expected three: instance, label, score")
        numbers.append(number)
        cells.append(row)
    return numbers, cells


def _separator(line: str) -> str:
    """The mark that cuts the line into three cells, as a name may hold the others; else the first that it has."""
    found = [mark for mark in "\t;," if mark in line]
    for mark in found:
        with suppress(csv.Error):
            if len(next(csv.reader([line], delimiter=mark))) == 3:
                return mark
    return (*found, ",")[0]


def _indices(
    file: DataFile, numbers: list[int], cells: list[str], count: int, names: Sequence[str] | None, what: str
) -> np.ndarray:
    called = _called(names, count, f"{what}_names")
    indices = list(map(parse_whole, cells))
    numbered = [index is not None and index < count for index in indices]
    if called is not None and (_tell_apart(called) or not all(numbered)):
        known = {name: at for at, name in enumerate(called)}
        if all(cell in known for cell in cells):
            times = Counter(called)
            for at, cell in enumerate(cells):
                if times[cell] > 1:
                    raise located(
                        file,
                        numbers[at],
                        f"{cell!r} is the name of {times[cell]} {what}s; expected numbers from 0 to {count - 1}",
                    )
            return np.array([known[cell] for cell in cells], dtype=np.int64)
    if not all(numbered):
        raise _unknown(file, numbers, cells, numbered, called, count, what)
    return np.array(indices, dtype=np.int64)


def _unknown(
    file: DataFile,
    numbers: list[int],
    cells: list[str],
    numbered: list[bool],
    called: list[str] | None,
    count: int,
    what: str,
) -> DataError:
    """The error for cells that are not all names and not all numbers: it blames the first that is neither."""
    known = set(called or ())
    at = next((at for at, cell in enumerate(cells) if not numbered[at] and cell not in known), None)
    if at is not None:
        named = f", or one of the {count} names" if called is not None else ""
        return located(
            file, numbers[at], f"{what} {cells[at]!r} is unknown; expected a number from 0 to {count - 1}{named}"
        )
    name, number = numbered.index(False), next(at for at, cell in enumerate(cells) if cell not in known)
    return located(
        file,
        numbers[number],
        f"{what} {cells[number]!r} is a number, and {cells[name]!r} in line {numbers[name]} a name; expected one or "
        "the other throughout",
    )


def _one_line(name: object) -> str:
    return " ".join(str(name).split())


def _called(names: Sequence[str] | None, count: int, what: str) -> list[str] | None:
    """Names as a table has them, each on one line."""
    if names is not None and len(names) != count:
        raise DataError(f"{what} has {len(names)} entries; expected {count}")
    return None if names is None else [_one_line(name) for name in names]


def _tell_apart(called: list[str]) -> bool:
    """Whether each name can stand in a table for what it names, and for nothing else."""
    readable = not any("\0" in name or len(name) > csv.field_size_limit() for name in called)
    return readable and len(set(called)) == len(called)


def written_column(names: Sequence[str] | None, count: int, what: str) -> Sequence[object]:
    """What stands in a column for each of count instances or labels: their names, or numbers where names cannot.

    what: the argument that the names come from. Raises DataError for another number of names.
    """
    called = _called(names, count, what)
    return range(count) if called is None or not _tell_apart(called) else called
