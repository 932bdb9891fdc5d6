"""The text format of the Extreme Classification Repository.

    3 4 2
    0,1 0:0.5 3:1.25
    1 2:1
     1:0.75

The first line may say how many points, features and labels there are. Each further line is one instance: its labels
with commas between, then `feature:value` fields, everything numbered from 0. An instance without labels begins with a
blank, and an instance without features ends after its labels. Train and test are two files, or one file with two more
that hold the numbers (from 1) of its training and test instances, one column for each of several splits.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from xmlcore.checks import DataError
from xmlcore.readers import sparse_kernel as kernel
from xmlcore.readers.assemble import take_part
from xmlcore.readers.files import DataFile, is_text, located, parse_whole, role, text_lines, train_and_test
from xmlcore.readers.names import is_companion, with_companions, without_companions
from xmlcore.readers.parts import CERTAIN, LIKELY, POSSIBLE, Claim, Files, Format, Options, Parsed, Part
from xmlcore.readers.sparse_lines import SparseLines, drop_blank_end, read_sparse_lines
from xmlcore.units import counted

# Of numbers beyond 18 digits Python may refuse to read one.
_HEADER = re.compile(rb"\s*(\d{1,18})[ \t]+(\d{1,18})[ \t]+(\d{1,18})\s*")
_VALUED = rb"[^\s:,]+(?::[^\s:,]*)?"
_LINE = re.compile(rb"(?:" + _VALUED + rb"(?:," + _VALUED + rb")*)?(?:[ \t]+\d+:[^\s:]+)*\s*")
_FEATURE = re.compile(rb"(?:^|[ \t])\d+:[^\s:]+")
_SPLIT = re.compile(r"(train|trn|tr|test|tst|te|ts)[-_]?split", re.IGNORECASE)
_SAMPLE = 20


def header(file: DataFile) -> tuple[int, int, int] | None:
    """The points, features and labels that a file's first line gives, or None where that line is no header."""
    first, _, rest = file.head().partition(b"\n")
    found = _HEADER.fullmatch(first)
    # Three whole numbers in each line are a table, not a header.
    if not found or _HEADER.fullmatch(rest.partition(b"\n")[0]):
        return None
    points, features, labels = (int(number) for number in found.groups())
    return points, features, labels


def is_sparse_text(file: DataFile) -> bool:
    """Whether a file's first lines look like labels and `feature:value` fields, perhaps after a header."""
    if is_companion(file) or _SPLIT.search(file.base) or not is_text(file):
        return False
    lines = file.head().split(b"\n")[: _SAMPLE + 1]
    lines = [line for line in lines[1 if header(file) else 0 :] if line.partition(b"#")[0].strip()]
    fitting = [line for line in lines if _LINE.fullmatch(line.partition(b"#")[0])]
    has_features = any(_FEATURE.search(line) for line in fitting)
    return len(fitting) * 2 >= len(lines) and (has_features or header(file) is not None)


def sparse_files(files: Files) -> list[DataFile]:
    """The files that look like sparse text. One file alone is taken as such where it is chosen by hand."""
    return [file for file in files if is_sparse_text(file)] or [file for file in files if len(files) == 1]


def counts_from_zero(files: Files) -> bool:
    """Whether feature 0 occurs anywhere in the files."""
    return any(_holds(file, (b" 0:", b"\t0:", b"\n0:")) for file in files)


def _holds(file: DataFile, patterns: tuple[bytes, ...]) -> bool:
    tail = b"\n"
    with file.path.open("rb") as stream:
        while piece := stream.read(1 << 20):
            piece = tail + piece
            if any(pattern in piece for pattern in patterns):
                return True
            tail = piece[-2:]
    return False


def _split_files(files: Files) -> tuple[DataFile, DataFile] | None:
    sides: dict[str, list[DataFile]] = {"train": [], "test": []}
    for file in files:
        if found := _SPLIT.search(file.base):
            sides["train" if found[1].lower().startswith("tr") else "test"].append(file)
    return (sides["train"][0], sides["test"][0]) if all(len(side) == 1 for side in sides.values()) else None


def _claim(files: Files) -> Claim | None:
    data = [file for file in files if is_sparse_text(file)]
    if not data:
        return None
    data.sort(key=lambda file: role(file) == "test")
    splits = _split_files(files)
    columns = _first_width(splits[0]) if splits else 0
    if headed := [file for file in data if header(file)]:
        points, features, labels = header(headed[0])
        sizes = f"{counted(points, 'point')}, {counted(features, 'feature')}, {counted(labels, 'label')}"
        return Claim(CERTAIN, f"{headed[0].name} begins with a header: {sizes}", columns)
    if splits:
        return Claim(CERTAIN, f"{data[0].name} holds sparse lines and {splits[0].name} numbers its instances", columns)
    if counts_from_zero(data):
        return Claim(LIKELY, f"{data[0].name} holds lines of labels and features, and features count from 0")
    return Claim(POSSIBLE, f"{data[0].name} holds lines of labels and features; feature 0 may just not occur")


def _first_width(file: DataFile) -> int:
    return len(file.head().partition(b"\n")[0].split())


def _read(files: Files, options: Options) -> Parsed:
    splits = _split_files(files)
    data = sparse_files(files)
    if not splits:
        return read_pair(files, data, lambda file: _read_file(file, options))
    if len(data) != 1:
        names = ", ".join(file.name for file in data) or "none"
        raise DataError(f"beside {splits[0].name} expected one file with the instances; found {names}")
    lines = _read_file(data[0], options)
    part = Part(lines.Y, lines.X)
    rows = [_split_rows(file, options.split_column, part.Y.shape[0]) for file in splits]
    notes = _label_notes(lines)
    width = _first_width(splits[0])
    if width > 1:
        notes.append(f"Split {options.split_column + 1} of {width} in {splits[0].name} is used.")
    shared = np.intersect1d(*rows)
    if shared.size:
        notes.append(f"Train and test have {counted(shared.size, 'instance')} in common.")
    parsed = Parsed(take_part(part, rows[0]), take_part(part, rows[1]), notes=tuple(notes))
    return with_companions(parsed, files, *data, *splits)


def read_pair(files: Files, data: Files, read_file: Callable[[DataFile], SparseLines]) -> Parsed:
    """The training and test instances of the files `data`, with what lies beside them in `files`.

    Raises DataError where no file is given, where it is not clear which is for training, and where one is named as
    LIBSVM, whose features count from 1, and the other is not.
    """
    if not data:
        raise DataError(f"{files[0].name}: no line of labels and features, such as 3,17 12:0.5; expected sparse text")
    given = [file for file in without_companions(files) if not _SPLIT.search(file.base)]
    train_file, test_file = train_and_test(data, given, "labels and features")
    if test_file is not None:
        named = [file.name for file in (train_file, test_file) if file.has_suffix(".svm", ".libsvm")]
        if len(named) == 1:  # numbered from 1 and from 0, they would fit each other only by the look of it
            raise DataError(f"{named[0]} is named as LIBSVM, the other file is not; expected both in one format")
    train = read_file(train_file)
    test = None if test_file is None else read_file(test_file)
    notes = _label_notes(train, *([] if test is None else [test]))
    parsed = Parsed(Part(train.Y, train.X), None if test is None else Part(test.Y, test.X), notes=tuple(notes))
    return with_companions(parsed, files, train_file, test_file)


def _read_file(file: DataFile, options: Options) -> SparseLines:
    head = header(file)
    limit = options.limits.max_columns
    if head and max(head[1:]) > limit:
        raise located(file, 1, f"the header names {max(head[1:])} features or labels; expected at most {limit}")
    points, n_features, n_labels = head or (None, None, None)
    lines = read_sparse_lines(
        file,
        form=kernel.XC,
        skip_lines=1 if head else 0,
        n_features=n_features,
        n_labels=n_labels,
        max_columns=limit,
    )
    # Blank lines at the end are instances only where the header counts them.
    lines = drop_blank_end(lines, points or 0)
    rows = lines.X.shape[0]
    if points is not None and rows != points:
        seen = f"the header says {counted(points, 'point')}, but below it came {counted(rows, 'line')}"
        raise located(file, 1, f"{seen}; expected the same number")
    # A header that promises none means it: so a data set without test instances is written.
    if rows == 0 and points is None:
        raise located(file, None, "holds no instance; expected lines such as 3,17 12:0.5")
    return lines


def _split_rows(file: DataFile, column: int, rows: int) -> np.ndarray:
    found = []
    for number, line in text_lines(file):
        fields = line.split()
        if not fields:
            continue
        if not 0 <= column < len(fields):
            raise located(
                file, number, f"has {counted(len(fields), 'column')}; expected a split in column {column + 1}"
            )
        instance = parse_whole(fields[column])
        if instance is None or not 1 <= instance <= rows:
            raise located(file, number, f"found {fields[column]!r}; expected the number of an instance, 1 to {rows}")
        found.append(instance - 1)
    if not found:
        raise located(file, None, "is empty; expected the numbers of instances, one in a line")
    chosen = np.unique(found)
    if len(chosen) < len(found):
        again = counted(len(found) - len(chosen), "instance")
        raise located(file, None, f"names {again} twice in column {column + 1}")
    return np.array(found)


def _label_notes(*sides: SparseLines) -> list[str]:
    notes = []
    valued, dropped, repeated = (
        sum(getattr(side, what) for side in sides) for what in ("valued_labels", "dropped_labels", "repeated_labels")
    )
    if valued:
        zero = f", or as none where the value is 0 ({dropped:,})" if dropped else ""
        notes.append(f"{counted(valued, 'label')} with a value, such as 12:0.5; each is read as 1{zero}.")
    if repeated:
        notes.append(f"{counted(repeated, 'label')} named again in one line; each counts once.")
    return notes


FORMAT = Format(
    name="xc-text",
    title="Extreme Classification Repository, text",
    help=(
        "One line an instance: labels with commas between, then feature:value fields, all numbered from 0; a first "
        "line with the numbers of points, features and labels may be there; train and test as two files, or one with "
        "split files."
    ),
    example="3 4 2\n0,1 0:0.5 3:1.25\n1 2:1\n 1:0.75",
    claim=_claim,
    read=_read,
)
