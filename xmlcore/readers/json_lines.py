"""Texts with labels as JSON lines.

    {"uid": "a1", "title": "A match", "content": "They won", "target_ind": [0, 7]}
    {"title": "A vote", "content": "They voted", "labels": ["politics", "local"]}

One object in each line (or one list of objects in the file). The repository's raw files have `title`, `content` and
`target_ind`, the numbers of labels from 0, and a file `lbl.json` with a `title` for each label.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np

from xmlcore.checks import DataError
from xmlcore.readers.files import DataFile, is_text, located, text_lines, train_and_test
from xmlcore.readers.names import ABOUT, with_companions, without_companions
from xmlcore.readers.parts import LIKELY, POSSIBLE, Claim, Files, Format, Options, Parsed, Part
from xmlcore.readers.tables import NUMBERED, Table, cell_text, named_roles, parse_tables
from xmlcore.units import counted

_LABEL_FILES = ("lbl", "label", "labels")
_SUFFIXES = (".json", ".jsonl", ".ndjson")


def _is_label_file(file: DataFile) -> bool:
    return PurePosixPath(file.base).stem.lower() in _LABEL_FILES and file.has_suffix(*_SUFFIXES)


def json_files(files: Files) -> list[DataFile]:
    """The files that hold instances as JSON."""
    return [
        file
        for file in files
        if file.base.lower() != ABOUT and not _is_label_file(file) and is_text(file) and _looks_like_json(file)
    ]


def _looks_like_json(file: DataFile) -> bool:
    start = file.head().lstrip()[:64]
    return (start.startswith(b"{") and b'"' in start) or (start.startswith(b"[") and file.has_suffix(*_SUFFIXES))


def _first_keys(file: DataFile) -> list[str]:
    first = file.head().lstrip().partition(b"\n")[0]
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return []
    return list(record) if isinstance(record, dict) else []


def _claim(files: Files) -> Claim | None:
    data = json_files(files)
    if not data:
        return None
    keys = _first_keys(data[0])
    if NUMBERED in keys:
        return Claim(LIKELY, f"{data[0].name} holds JSON objects with {NUMBERED}")
    roles = named_roles(keys)
    if roles is None:
        return Claim(POSSIBLE, f"{data[0].name} holds JSON")
    return Claim(LIKELY, f"{data[0].name} holds JSON objects with {roles.texts[0]!r} and {roles.label!r}")


def _read(files: Files, options: Options) -> Parsed:
    data = json_files(files)
    if not data:
        raise DataError(f"{files[0].name}: no JSON object; expected one in each line, with text and labels")
    train, test = train_and_test(data, without_companions(files), "JSON")
    parsed = parse_tables(_table(train), None if test is None else _table(test), options.limits)
    return with_companions(read_label_names(parsed, files), files, train, test)


def read_label_names(parsed: Parsed, files: Files) -> Parsed:
    """`parsed` with the titles in the repository's `lbl.json` as the labels' names, where it is there and fits.

    Raises DataError, naming the line, where it is no JSON.
    """
    file = next((file for file in files if _is_label_file(file)), None)
    if file is None or parsed.label_names is not None:
        return parsed
    names = np.array([cell_text(record.get("title", record.get("uid"))) for _, record in _records(file)[1]], dtype=str)
    n_labels = max(part.Y.shape[1] for part in (parsed.train, parsed.test) if part is not None)
    if len(names) < n_labels:
        seen = f"{counted(len(names), 'name')} for {counted(n_labels, 'label')}"
        note = f"{file.name} has {seen} and was left out."
        return replace(parsed, notes=(*parsed.notes, note), used=(*parsed.used, file))
    return replace(parsed, label_names=names, used=(*parsed.used, file))


def read_texts(part: Part, file: DataFile, notes: list[str]) -> Part:
    """`part` with the titles and contents in a JSON file as its texts, if there is one for each row; else a note.

    Raises DataError, naming the line, where it is no JSON.
    """
    records = [record for _, record in _records(file)[1]]
    if len(records) != part.Y.shape[0]:
        seen = f"{counted(len(records), 'text')} for {counted(part.Y.shape[0], 'instance')}"
        notes.append(f"{file.name} has {seen} and was left out.")
        return part
    titles = [cell_text(record.get("title")) for record in records]
    contents = [cell_text(record.get("content")) for record in records]
    texts = [f"{title} {content}".strip() for title, content in zip(titles, contents, strict=True)]
    return replace(part, texts=texts, names=np.array(titles, dtype=str) if any(contents) else None)


def _table(file: DataFile) -> Table:
    file, records = _records(file)
    columns = list(dict.fromkeys(key for _, record in records for key in record))
    rows = [(number, [record.get(column) for column in columns]) for number, record in records]
    return Table(file, columns, rows, header=records[0][0])


def _records(file: DataFile) -> tuple[DataFile, list[tuple[int, dict[str, object]]]]:
    """The file with what its objects are counted in, lines or in a list themselves, and the objects so numbered."""
    if file.head().lstrip().startswith(b"["):
        listed = _loads("\n".join(line for _, line in text_lines(file)), file, None)
        file = replace(file, unit="object")
        found = list(enumerate(listed, 1)) if isinstance(listed, list) else []
    else:
        found = [(number, _loads(line, file, number)) for number, line in text_lines(file) if line.strip()]
    for line, record in found:
        if not isinstance(record, dict):
            raise located(file, line, f"holds {str(record)[:40]!r}; expected a JSON object with text and labels")
    if not found:
        raise located(file, None, "holds no JSON object; expected one in each line, with text and labels")
    return file, found


def _loads(text: str, file: DataFile, line: int | None) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        at = getattr(error, "lineno", None) if line is None else line
        raise located(file, at, f"is no JSON ({error}); expected an object with text and labels") from error


FORMAT = Format(
    name="json-lines",
    title="Texts with labels, JSON lines",
    help=(
        "One JSON object in each line with title, content or text, and labels in target_ind (numbers from 0, as the "
        "repository's raw files have them), labels, tags or such; a file lbl.json may name the labels."
    ),
    example=(
        '{"title": "A match", "content": "They won", "target_ind": [0, 7]}\n'
        '{"title": "A vote", "content": "They voted", "target_ind": [3]}'
    ),
    claim=_claim,
    read=_read,
)
