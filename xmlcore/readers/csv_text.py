"""Tables of texts with labels as CSV or TSV.

    title,text,labels
    A match,"They won, narrowly",sport|local
    A vote,They voted,"[""politics"", ""local""]"

The first row names the columns. Commas, semicolons or tabs stand between cells; cells may be quoted, and a quoted cell
may go over several lines.
"""

from __future__ import annotations

import csv

from xmlcore.checks import DataError
from xmlcore.readers.files import DataFile, is_text, located, text_lines, train_and_test
from xmlcore.readers.names import is_companion, with_companions, without_companions
from xmlcore.readers.parts import LIKELY, POSSIBLE, Claim, Files, Format, Options, Parsed
from xmlcore.readers.tables import Table, named_roles, parse_tables
from xmlcore.units import counted

# Python's own bound on a cell, 128 KB, is less than the text of some articles.
csv.field_size_limit(1 << 27)


def _separator(file: DataFile) -> str | None:
    """What stands between the cells of the first line, whichever occurs most; None where none does."""
    first = file.head().partition(b"\n")[0].decode(errors="replace")
    counts = {separator: first.count(separator) for separator in "\t,;"}
    best = max(counts, key=counts.get)
    return best if counts[best] else None


def _columns(file: DataFile) -> list[str]:
    separator = _separator(file)
    first = file.head().partition(b"\n")[0].decode(errors="replace")
    try:
        return next(csv.reader([first], delimiter=separator), []) if separator else []
    except csv.Error:
        return []


def has_header(file: DataFile) -> bool:
    """Whether the first line of a text file names columns for text and for labels."""
    return is_text(file) and named_roles(_columns(file)) is not None


def _csv_files(files: Files) -> list[DataFile]:
    return [
        file
        for file in files
        if not is_companion(file) and is_text(file) and (file.has_suffix(".csv", ".tsv") or has_header(file))
    ]


def _claim(files: Files) -> Claim | None:
    data = _csv_files(files)
    if not data:
        return None
    roles = named_roles(_columns(data[0]))
    if roles is None:
        return Claim(POSSIBLE, f"{data[0].name} may be a table of texts with labels")
    return Claim(LIKELY, f"{data[0].name} is a table with the columns {roles.texts[0]!r} and {roles.label!r}")


def _read(files: Files, options: Options) -> Parsed:
    data = _csv_files(files) or [file for file in files if len(files) == 1]
    if not data:
        raise DataError(f"{files[0].name}: no table; expected CSV with a row of column names")
    train, test = train_and_test(data, without_companions(files), "tables")
    tables = _table(train), None if test is None else _table(test)
    return with_companions(parse_tables(*tables, options.limits), files, train, test)


def _table(file: DataFile) -> Table:
    separator = _separator(file)
    if separator is None:
        if next(text_lines(file), None) is None:  # which also says where a file is no text
            raise located(file, None, "is empty; expected a row of column names, and instances below it")
        raise located(file, 1, "has one column only; expected columns for text and labels, with commas between")
    reader = csv.reader((line + "\n" for _, line in text_lines(file)), delimiter=separator, strict=True)
    rows, start = [], 1
    try:
        columns = [column.strip() for column in next(reader, [])]
        if len(set(columns)) < len(columns):
            raise located(file, 1, "names a column twice; expected each name once")
        start = reader.line_num + 1
        for row in reader:
            if row and len(row) != len(columns):
                cells = counted(len(row), "cell")
                raise located(file, start, f"has {cells}; expected {len(columns)}, as the first row has")
            if row:
                rows.append((start, row))
            start = reader.line_num + 1
    except csv.Error as error:
        # A quote that is not closed takes in the lines below it, up to the next quote or the end of the file.
        noticed = f", noticed in line {reader.line_num}" if reader.line_num > start else ""
        what = f"the row that begins here is no CSV ({error}{noticed}); expected quotes in pairs"
        raise located(file, start, what) from error
    if not rows:
        raise located(file, None, "holds no row below the names of columns; expected instances")
    return Table(file, columns, rows, header=1)


FORMAT = Format(
    name="csv",
    title="Texts with labels, CSV or TSV",
    help=(
        "A table whose first row names the columns: text in title, text, content or such, labels in a column such as "
        "labels or tags (as a list, or with | ; or , between), or in one column of 0 and 1 for each label."
    ),
    example='title,text,labels\nA match,"They won, narrowly",sport|local\nA vote,They voted,politics',
    claim=_claim,
    read=_read,
)
