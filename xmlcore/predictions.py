"""Other systems' predictions in, ours out, and how far two systems agree.

    .npz    sparse scores, rows×L, as PECOS, XR-Transformer and pyxclib save them (or a dense .npy)
    text    a line for each instance: label:score label:score …, labels from 0; a first line "rows labels" may be there
    table   CSV or TSV: instance, label, score, one prediction a line; numbers from 0, or names

In all of them what is not there, and a score of 0, is no prediction. Ties go to the lower label index.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse

from xmlcore.atomic import whole_file
from xmlcore.checks import DataError, as_array, as_whole
from xmlcore.matrices import as_mask
from xmlcore.prediction_tables import COLUMNS, read_table, written_column
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
    text_lines,
)
from xmlcore.readers.sparse_kernel import NO_LABELS
from xmlcore.readers.sparse_lines import drop_blank_end, read_sparse_lines
from xmlcore.units import counted

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
            scores = read_table(file, n_rows, n_labels, instance_names, label_names)
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
        instances = written_column(instance_names, rows, "instance_names")
        labels = written_column(label_names, n_labels, "label_names")
        with whole_file(path) as target, target.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(COLUMNS)
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
