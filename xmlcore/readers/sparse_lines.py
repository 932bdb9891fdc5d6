"""Files of `labels index:value …` lines, read piece by piece into sparse matrices.

A piece of a few megabytes is parsed at a time, so that what is held beside the result stays small however large the
file; the pieces of indices and values are joined one kind after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.readers import sparse_kernel as kernel
from xmlcore.readers.files import DataFile, located, other_encoding
from xmlcore.units import counted

_PIECE = 1 << 22
_SHOWN = 40
_NUMBER = re.compile(rb"[-+.0-9eE]+")


@dataclass(frozen=True)
class SparseLines:
    """What the lines of a file held.

    Attributes:
        X: rows×features float32; the width is what was asked for, or one more than the highest index.
        Y: rows×labels of float32 ones, in the same way.
        valued_labels, dropped_labels, repeated_labels: labels that carried a value, those among them whose value was 0
            and which therefore do not count, and labels named again in one line.
        blank_end: lines without a single character at the end of the file, all counted as rows.
    """

    X: sparse.csr_array
    Y: sparse.csr_array
    valued_labels: int
    dropped_labels: int
    repeated_labels: int
    blank_end: int


def read_sparse_lines(
    file: DataFile,
    *,
    form: int,
    base: int = 0,
    skip_lines: int = 0,
    n_features: int | None = None,
    n_labels: int | None = None,
    max_columns: int,
    called: str = "feature",
    dtype: type = np.float32,
) -> SparseLines:
    """Reads every line of a file after `skip_lines`.

    Args:
        file: what to read.
        form: one of the kernel's NO_LABELS, XC, LIBSVM.
        base: the number of the first feature, 0 or 1.
        skip_lines: lines at the top that are a header.
        n_features, n_labels: the widths if they are known; an index that does not fit is an error.
        max_columns: the bound on both where they are not known.
        called: what stands before a colon, for messages.
        dtype: the precision of X, float32 or float64; in float64 every value is the nearest to its decimal.

    Raises DataError, naming file and line, for anything else than such lines.
    """
    feature_pieces, value_pieces, label_pieces = [], [], []
    row_features, row_labels = [], []
    totals = np.zeros(kernel.REPORT_SIZE, np.int64)
    blank_end = 0
    line = 1 + skip_lines
    bounds = max_columns if n_features is None else n_features, max_columns if n_labels is None else n_labels
    with file.path.open("rb") as stream:
        for piece in _whole_lines(stream, skip_lines):
            text = np.frombuffer(piece, np.uint8)
            lines = piece.count(b"\n")
            # `1:1 ` is the shortest feature and `1,` the shortest label.
            features, values = np.empty(len(piece) // 3 + 2, np.int32), np.empty(len(piece) // 3 + 2, dtype)
            labels = np.empty(len(piece) // 2 + 2, np.int32)
            counts, label_counts = np.empty(lines, np.int64), np.empty(lines, np.int64)
            report = np.zeros(kernel.REPORT_SIZE, np.int64)
            parts = (counts, labels, label_counts)
            kernel.parse_lines(text, form, base, *bounds, features, values, *parts, report, False)
            if report[kernel.CODE] != kernel.OK:
                raise other_encoding(file) or _error(
                    file, line, piece, report, base, n_features, n_labels, max_columns, called
                )
            if dtype == np.float64 and report[kernel.LONG_DECIMALS]:
                places = np.empty_like(values)
                kernel.parse_lines(text, form, base, *bounds, features, places, *parts, np.zeros_like(report), True)
                for at in np.flatnonzero(places[: report[kernel.N_FEATURES]] > 0):
                    values[at] = float(_NUMBER.match(piece, int(places[at])).group())
            line += int(report[kernel.LINE])
            rows, filled, n_filled = (int(report[k]) for k in (kernel.ROWS, kernel.N_FEATURES, kernel.N_LABELS))
            feature_pieces.append(features[:filled].copy())
            value_pieces.append(values[:filled].copy())
            label_pieces.append(labels[:n_filled].copy())
            row_features.append(counts[:rows].copy())
            row_labels.append(label_counts[:rows].copy())
            whole = report[kernel.BLANK_LINES] == lines
            blank_end = int(report[kernel.BLANK_LINES]) + (blank_end if whole else 0)
            for kind in (kernel.WIDEST_FEATURE, kernel.WIDEST_LABEL):
                totals[kind] = max(totals[kind], report[kind])
            for kind in (kernel.VALUED_LABELS, kernel.DROPPED_LABELS, kernel.REPEATED_LABELS):
                totals[kind] += report[kind]
    width = int(totals[kernel.WIDEST_FEATURE]) if n_features is None else n_features
    label_width = int(totals[kernel.WIDEST_LABEL]) if n_labels is None else n_labels
    label_indices = _joined(label_pieces, np.int32)
    return SparseLines(
        X=_csr(_joined(value_pieces, dtype), _joined(feature_pieces, np.int32), row_features, width),
        Y=_csr(np.ones(len(label_indices), np.float32), label_indices, row_labels, label_width),
        valued_labels=int(totals[kernel.VALUED_LABELS]),
        dropped_labels=int(totals[kernel.DROPPED_LABELS]),
        repeated_labels=int(totals[kernel.REPEATED_LABELS]),
        blank_end=blank_end,
    )


def _whole_lines(stream: BinaryIO, skip_lines: int) -> Iterator[bytes]:
    """The content after the header, in pieces that end with a newline; one is added at the end if it lacks."""
    for _ in range(skip_lines):
        stream.readline()
    started = skip_lines > 0
    rest: list[bytes] = []
    while piece := stream.read(_PIECE):
        if not started:
            piece = piece.removeprefix(b"\xef\xbb\xbf")
            started = True
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield b"".join([*rest, piece[:cut]])
            rest = []
        rest.append(piece[cut:])
    last = b"".join(rest)
    if last:
        yield last + b"\n"


def _joined(pieces: list[np.ndarray], dtype: type) -> np.ndarray:
    """One array of all pieces; the list is emptied, so that pieces go as soon as they have been copied."""
    whole = np.empty(sum(len(piece) for piece in pieces), dtype)
    at = len(whole)
    while pieces:
        piece = pieces.pop()
        whole[at - len(piece) : at] = piece
        at -= len(piece)
    return whole


def _csr(data: np.ndarray, indices: np.ndarray, counts: list[np.ndarray], width: int) -> sparse.csr_array:
    rows = np.concatenate(counts) if counts else np.zeros(0, np.int64)
    indptr = np.concatenate([[0], np.cumsum(rows)])
    # Both index arrays of one type, or scipy copies the large one.
    indptr = indptr.astype(np.int32) if indptr[-1] < 2**31 else indptr
    matrix = sparse.csr_array((data, indices, indptr), shape=(len(rows), width))
    matrix.has_canonical_format = True
    return matrix


def drop_blank_end(lines: SparseLines, rows: int) -> SparseLines:
    """`lines` without rows beyond `rows`, as far as they come from blank lines at the end of the file."""
    surplus = min(lines.blank_end, lines.X.shape[0] - rows)
    if surplus <= 0:
        return lines
    keep = lines.X.shape[0] - surplus
    X, Y = (
        sparse.csr_array((part.data, part.indices, part.indptr[: keep + 1]), shape=(keep, part.shape[1]))
        for part in (lines.X, lines.Y)
    )
    for part in (X, Y):
        part.has_canonical_format = True
    return SparseLines(
        X, Y, lines.valued_labels, lines.dropped_labels, lines.repeated_labels, lines.blank_end - surplus
    )


def _error(
    file: DataFile,
    first_line: int,
    piece: bytes,
    report: np.ndarray,
    base: int,
    n_features: int | None,
    n_labels: int | None,
    max_columns: int,
    called: str,
) -> DataError:
    at, detail = int(report[kernel.POSITION]), int(report[kernel.DETAIL])
    end = piece.find(b"\n", at)
    fields = piece[at:end].split()
    field = fields[0] if fields else b""
    seen = repr(field[:_SHOWN].decode(errors="backslashreplace")) + ("…" if len(field) > _SHOWN else "")
    number = field.partition(b":")[2].lower().lstrip(b"+-")
    code = int(report[kernel.CODE])
    if code == kernel.VALUE and number in (b"nan", b"inf", b"infinity"):
        code = kernel.NOT_FINITE
    known_features = f"{counted(n_features, called)}, numbered {base} to {n_features - 1 + base}" if n_features else ""
    messages = {
        kernel.LABEL: f"found {seen} where labels were expected: whole numbers with commas between, such as 3,17",
        kernel.INDEX: f"found {seen} where a {called} was expected, such as 12:0.5",
        kernel.COLON: f"the {called} {seen} has no value; expected index:value, such as 12:0.5 "
        "(is the line cut short?)",
        kernel.VALUE: f"the value in {seen} is no number; expected such as 12:0.5 (is the line cut short?)",
        kernel.NOT_FINITE: f"the value in {seen} is not finite, or too large; expected a finite number",
        kernel.FEATURE_RANGE: f"{called} {detail} is out of range; expected "
        + (known_features or f"numbers from {base} to {max_columns - 1 + base}"),
        kernel.LABEL_RANGE: f"label {detail} is out of range; expected "
        + (
            f"{counted(n_labels, 'label')}, numbered 0 to {n_labels - 1}"
            if n_labels
            else f"numbers below {max_columns}"
        ),
        kernel.DUPLICATE: f"{called} {detail} occurs twice; expected each {called} at most once in a line",
    }
    return located(file, first_line + int(report[kernel.LINE]), messages[code])
