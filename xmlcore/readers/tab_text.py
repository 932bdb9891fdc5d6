"""Labels and text in one line, with a tab between.

    sport,local<TAB>A match: they won
    a1<TAB>sport,local<TAB>A match: they won

Two fields are labels and text, three are an id, labels and text. Further tabs belong to the text. There is no row of
column names (a table with one is CSV).
"""

from __future__ import annotations

import numpy as np

from xmlcore.checks import DataError
from xmlcore.readers.csv_text import has_header
from xmlcore.readers.files import DataFile, is_text, located, text_lines, train_and_test
from xmlcore.readers.labels import LabelledTexts, find_delimiter, split_labels, with_labels
from xmlcore.readers.names import is_companion, with_companions, without_companions
from xmlcore.readers.parts import LIKELY, POSSIBLE, Claim, Files, Format, Options, Parsed
from xmlcore.readers.xc_text import is_sparse_text
from xmlcore.units import counted

_SAMPLE = 20


def _tab_files(files: Files) -> list[DataFile]:
    return [file for file in files if not is_companion(file) and is_text(file) and _has_tabs(file)]


def _has_tabs(file: DataFile) -> bool:
    lines = [line for line in file.head().split(b"\n")[:_SAMPLE] if line.strip()]
    return bool(lines) and sum(b"\t" in line for line in lines) * 2 >= len(lines)


def _claim(files: Files) -> Claim | None:
    data = _tab_files(files)
    if not data:
        return None
    # Sparse text may have tabs too.
    if has_header(data[0]) or is_sparse_text(data[0]):
        return Claim(POSSIBLE, f"{data[0].name} has tabs, so the first field may be labels and the rest text")
    return Claim(LIKELY, f"{data[0].name} has fields with tabs between and no row of column names")


def _read(files: Files, options: Options) -> Parsed:
    data = _tab_files(files) or [file for file in files if len(files) == 1]
    if not data:
        raise DataError(f"{files[0].name}: no tab in the first lines; expected labels, a tab, and text")
    train_file, test_file = train_and_test(data, without_companions(files), "tabs")
    sides = {file: _fields(file) for file in (train_file, test_file) if file is not None}
    # A text may hold tabs of its own, so that the most usual number of fields decides.
    width = 3 if np.median([len(row) for _, row in sides[train_file]]) > 2 else 2
    for file, rows in sides.items():
        for line, row in rows:
            if len(row) < width:
                raise located(file, line, f"has {counted(len(row), 'field')}; expected {width} with tabs between")
    delimiter = find_delimiter(row[width - 2].strip() for rows in sides.values() for _, row in rows)
    taken = {file: _taken(file, rows, width, delimiter) for file, rows in sides.items()}
    between = {None: "one in each line", " ": "with blanks between"}.get(delimiter, f"with {delimiter!r} between")
    fields = "labels and text" if width == 2 else "an id, labels and text"
    notes = [f"Each line is {fields}; labels {between}."]
    test = None if test_file is None else taken[test_file]
    parsed = with_labels(taken[train_file], test, notes=notes)
    return with_companions(parsed, files, train_file, test_file)


def _fields(file: DataFile) -> list[tuple[int, list[str]]]:
    rows = [(number, line.split("\t", 2)) for number, line in text_lines(file) if line.strip()]
    if not rows:
        raise located(file, None, "is empty; expected labels, a tab, and text in each line")
    return rows


def _taken(file: DataFile, rows: list[tuple[int, list[str]]], width: int, delimiter: str | None) -> LabelledTexts:
    texts = ["\t".join(row[width - 1 :]) for _, row in rows]
    labels = [split_labels(row[width - 2], delimiter, file, line) for line, row in rows]
    return LabelledTexts(file, texts, labels, [row[0] for _, row in rows] if width == 3 else None)


FORMAT = Format(
    name="tab-text",
    title="Labels and text with a tab between",
    help=(
        "One line an instance: labels, a tab, and the text; or an id, a tab, labels, a tab, and the text; labels with "
        "| ; or , between (or blanks between numbers); no row of column names."
    ),
    example="sport,local\tA match: they won\npolitics\tA vote: they voted",
    claim=_claim,
    read=_read,
)
