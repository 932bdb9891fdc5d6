"""Other systems' predictions in, ours out, and how far two systems agree.

    .npz    sparse scores, rows×L, as PECOS, XR-Transformer and pyxclib save them (or a dense .npy)
    text    a line for each instance: label:score label:score …, labels from 0; a first line "rows labels" may be there
    table   CSV or TSV: instance, label, score, one prediction a line; numbers from 0, or names

In all of them what is not there, and a score of 0, is no prediction. Ties go to the lower label index.

Names in tables stand on one line: blanks and line ends within them count as one blank, those around them as none.
Titles may repeat, and then say nothing of which instance is meant: such a column is written in numbers.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse

from xmlcore.atomic import whole_file
from xmlcore.checks import DataError, as_array, as_whole
from xmlcore.matrices import as_mask
from xmlcore.ranking import top_k, top_k_weighted
from xmlcore.readers import LIMITS, Limits
from xmlcore.readers.archives import is_array_archive
from xmlcore.readers.arrays import check_expansion, load_matrix
from xmlcore.readers.files import (
    DataFile,
    is_text,
    located,
    opened,
    other_encoding,
    parse_number,
    parse_whole,
    text_lines,
)
from xmlcore.readers.sparse_kernel import NO_LABELS
from xmlcore.readers.sparse_lines import drop_blank_end, read_sparse_lines
from xmlcore.units import counted

_COLUMNS = ("instance", "label", "score")
PREDICTION_FORMATS = ("npz", "text", "csv")


@dataclass(frozen=True, eq=False)
class Predictions:
    """One system's ranking of the same rows.

    Attributes:
        name: the system's or the file's name.
        top: (rows, K) label indices, best first, -1 where a row has fewer, int32.
        scores: theirs, (rows, K), float32 or float64, NaN where there is no label.
        n_labels: L.
    """

    name: str
    top: np.ndarray
    scores: np.ndarray
    n_labels: int


def read_predictions(
    path: str | Path,
    n_rows: int,
    n_labels: int,
    *,
    k: int = 100,
    instance_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    limits: Limits = LIMITS,
) -> Predictions:
    """The k best labels of each of n_rows instances from a file of predictions over n_labels labels (formats above).

    A single file inside a .zip or .gz is taken as the file. instance_names, label_names: for tables that name them; a
    column whose cells are all known names is read as names, else as numbers from 0. Where some names are alike, a
    column of numbers in range is read as numbers, even if they are names too.

    Raises DataError, naming file and line, for what cannot be read, another number of rows or labels, a label out of
    range or twice in a row, a name that several instances or labels have, and a score that is not finite; also for
    another number of names.
    """
    n_rows, n_labels = as_whole(n_rows, "n_rows", at_least=1), as_whole(n_labels, "n_labels", at_least=1)
    with opened(path, limits) as files:
        if len(files) != 1:
            raise DataError(f"{Path(path).name} holds {len(files)} files; expected one file of predictions")
        file = files[0]
        if file.has_suffix(".npz", ".npy") or is_array_archive(file.path):
            check_expansion([file], limits)
            scores = load_matrix(file, limits, np.float64)
        elif not is_text(file):
            raise other_encoding(file) or located(file, None, "is neither text nor .npz; expected predictions")
        elif _is_pairs(file):
            scores = _read_pairs(file, n_rows, n_labels)
        else:
            scores = _read_table(file, n_rows, n_labels, instance_names, label_names)
        if scores.shape != (n_rows, n_labels):
            raise located(file, None, f"has scores of shape {scores.shape}; expected {(n_rows, n_labels)}")
        return _ranked(file.base, scores, k)


def predictions_from_scores(
    name: str,
    scores: np.ndarray,
    k: int,
    *,
    inverse_propensity: np.ndarray | None = None,
    exclude: sparse.csr_array | None = None,
) -> Predictions:
    """Our own ranking of scores (rows, L), or of scores·θ where θ (L,) is given, to be written.

    Raises DataError as `ranking.top_k` does.
    """
    scores = as_array(scores, "scores")
    if inverse_propensity is None:
        top = top_k(scores, k, exclude)
        values = np.take_along_axis(scores, np.maximum(top, 0), axis=1).astype(np.float64)
    else:
        top = top_k_weighted(scores, inverse_propensity, k, exclude)
        values = np.take_along_axis(scores, np.maximum(top, 0), axis=1) * np.asarray(inverse_propensity)[top]
    return Predictions(name, top, np.where(top >= 0, values, np.nan), scores.shape[1])


def cut_predictions(
    predictions: Predictions, rows: slice | np.ndarray, exclude: sparse.csr_array | None = None
) -> Predictions:
    """The predictions of some rows, in that order, without the pairs of exclude (these rows, L); others move up.

    Raises DataError where exclude has another shape.
    """
    top, scores = predictions.top[rows], predictions.scores[rows]
    exclude = as_mask(exclude, (len(top), predictions.n_labels), of="the predictions")
    if exclude is not None and exclude.nnz:
        masked = np.repeat(np.arange(exclude.shape[0]), np.diff(exclude.indptr)) * exclude.shape[1] + exclude.indices
        pairs = np.arange(len(top))[:, None] * exclude.shape[1] + top
        gone = (top < 0) | np.isin(pairs, masked)
        order = np.argsort(gone, axis=1, kind="stable")
        top, scores = (
            np.take_along_axis(np.where(gone, nothing, values), order, axis=1)
            for values, nothing in ((top, -1), (scores, np.nan))
        )
    return replace(predictions, top=top, scores=scores)


def write_predictions(
    path: str | Path,
    predictions: Predictions,
    format: str,
    *,
    instance_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
) -> None:
    """Write a ranking as "npz", "text" or "csv", so that `read_predictions` and other tools read it.

    Scores are written in float32 where that is what they are, else in float64: the order comes back as it was. Since a
    score of 0 is no prediction in these files, it is written as the smallest positive number of that type (1e-45 or
    5e-324), which ranks alike: above negative scores and below all others.

    instance_names, label_names: written in the CSV in place of numbers, each on one line. Where two of them are alike
    then, or one cannot stand in a CSV, that whole column is written in numbers, which `read_predictions` takes for what
    they are when it is given the same names. A path for "npz" gets that ending where it lacks it, as numpy does it.

    Raises DataError for another format, names that do not fit, and a path that cannot be written to; a file that was
    there before stays as it was then.
    """
    if format not in PREDICTION_FORMATS:
        raise DataError(f"format is {format!r}; expected one of {', '.join(PREDICTION_FORMATS)}")
    path = Path(path)
    rows, n_labels = predictions.top.shape[0], predictions.n_labels
    with np.errstate(over="ignore"):  # infinity in float32 is another number
        single = np.array_equal(predictions.scores, predictions.scores.astype(np.float32), equal_nan=True)
    kind, digits = (np.float32, 9) if single else (np.float64, 17)
    least = float(np.nextafter(kind(0), kind(1)))
    predictions = replace(predictions, scores=np.where(predictions.scores == 0, least, predictions.scores))
    if format == "npz":
        row, place = np.nonzero(predictions.top >= 0)
        labels = predictions.top[row, place]
        scores = predictions.scores[row, place].astype(kind)
        matrix = sparse.csr_array((scores, (row, labels)), shape=(rows, n_labels))
        with whole_file(path, ".npz") as target:
            sparse.save_npz(target, matrix)
    elif format == "text":
        with whole_file(path) as target, target.open("w", encoding="utf-8", newline="\n") as out:
            out.write(f"{rows} {n_labels}\n")
            for top, scores in zip(predictions.top, predictions.scores, strict=True):
                out.write(" ".join(f"{a}:{s:.{digits}g}" for a, s in zip(top, scores, strict=True) if a >= 0) + "\n")
    else:
        instances = _cells(instance_names, rows, "instance_names")
        labels = _cells(label_names, n_labels, "label_names")
        with whole_file(path) as target, target.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(_COLUMNS)
            for row, place in zip(*np.nonzero(predictions.top >= 0), strict=True):
                score = predictions.scores[row, place]
                writer.writerow((instances[row], labels[predictions.top[row, place]], f"{score:.{digits}g}"))


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far two rankings of the same rows have the same K first labels, in any order.

    Attributes:
        by_row: labels in common / labels of the longer list, 1 where both are empty, shape (rows,).
        mean: over the rows.
    """

    by_row: np.ndarray
    mean: float


def agreement(top: np.ndarray, other: np.ndarray, k: int) -> Agreement:
    """The share of common labels among the K first of two rankings (rows, ≥ 1), -1 for no label.

    Raises DataError where they differ in rows, and for k < 1.
    """
    top, other = as_array(top, "top"), as_array(other, "other")
    if top.ndim != 2 or other.ndim != 2 or top.shape[0] != other.shape[0] or not top.shape[0]:
        raise DataError(f"the rankings have shapes {top.shape} and {other.shape}; expected the same rows, at least one")
    k = as_whole(k, "k", at_least=1)
    top, other = top[:, :k], other[:, :k]
    # A number for each pair (row, label): one lookup for all rows, and no K×K comparison for each.
    first = (int(max(top.max(initial=0), other.max(initial=0))) + 1) * np.arange(top.shape[0])[:, None]
    common = (np.isin(top + first, (other + first)[other >= 0]) & (top >= 0)).sum(axis=1)
    longer = np.maximum((top >= 0).sum(axis=1), (other >= 0).sum(axis=1))
    by_row = np.where(longer > 0, common / np.maximum(longer, 1), 1.0)
    return Agreement(by_row, float(by_row.mean()))


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


def _cells(names: Sequence[str] | None, count: int, what: str) -> Sequence[object]:
    called = _called(names, count, what)
    return range(count) if called is None or not _tell_apart(called) else called


def _ranked(name: str, scores: np.ndarray | sparse.csr_array, k: int) -> Predictions:
    k = as_whole(k, "k", at_least=1)
    if not sparse.issparse(scores):
        scores = sparse.csr_array(scores)
    rows, n_labels = scores.shape
    row = np.repeat(np.arange(rows), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, row))
    place = np.arange(order.size) - scores.indptr[row]
    kept = place < k
    top = np.full((rows, min(k, n_labels)), -1, dtype=np.int32)
    values = np.full(top.shape, np.nan)
    # Sorting by row first leaves each row's entries where they were: row[order] is row.
    top[row[kept], place[kept]] = scores.indices[order][kept]
    values[row[kept], place[kept]] = scores.data[order][kept]
    return Predictions(name, top, values, n_labels)


def _is_pairs(file: DataFile) -> bool:
    """Whether the first line that is not blank is a header of two numbers or begins with label:score."""
    for _, line in text_lines(file):
        if line.strip():
            return re.match(r"\s*(\d{1,18}\s+\d{1,18}\s*$|\d+:)", line) is not None
    raise located(file, None, "holds no prediction; expected label:score, or instance, label, score")


def _read_pairs(file: DataFile, n_rows: int, n_labels: int) -> sparse.csr_array:
    number, first = next((number, line) for number, line in text_lines(file) if line.strip())
    header = re.fullmatch(r"\s*(\d{1,18})\s+(\d{1,18})\s*", first)
    if header and (int(header[1]), int(header[2])) != (n_rows, n_labels):
        promised = f"{counted(int(header[1]), 'row')} and {counted(int(header[2]), 'label')}"
        fault = f"promises {promised}; expected {n_rows:,} and {n_labels:,}"
        raise located(file, number, fault)
    lines = read_sparse_lines(
        file,
        form=NO_LABELS,
        skip_lines=number if header else 0,
        n_features=n_labels,
        max_columns=n_labels,
        called="label",
        dtype=np.float64,
    )
    return drop_blank_end(lines, n_rows).X


def _read_table(
    file: DataFile,
    n_rows: int,
    n_labels: int,
    instance_names: Sequence[str] | None,
    label_names: Sequence[str] | None,
) -> sparse.csr_array:
    numbers, cells = _table_rows(file)
    places, header = {name: at for at, name in enumerate(_COLUMNS)}, [cell.strip().lower() for cell in cells[0]]
    if parse_number(cells[0][2]) is None or set(header) == set(_COLUMNS):
        if set(header) != set(_COLUMNS):
            seen = ", ".join(cells[0])
            raise located(file, numbers[0], f"names the columns {seen}; expected instance, label and score")
        places = {name: header.index(name) for name in _COLUMNS}
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
