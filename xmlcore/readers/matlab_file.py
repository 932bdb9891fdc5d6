"""The numeric matrices of MATLAB's binary files, version 5 (what `save -v6` and `save -v7` write).

scipy's reader can be made to crash the whole process by a damaged file, which an upload must never do; this one knows
only full and sparse matrices of real numbers and checks every length against what is there. A file is a header of 128
bytes, then elements: a tag of 8 bytes (type and length; short ones pack type, length and up to 4 bytes of data into
it), then data filled up to a multiple of 8 bytes. A matrix is an element whose parts are elements: flags, dimensions,
name, then the numbers column by column (of any type that holds them), or for a sparse one row indices, column starts,
numbers.
"""

from __future__ import annotations

import re
import struct
import zlib

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.matrices import Block
from xmlcore.readers.arrays import checked_csr
from xmlcore.readers.files import DataFile, located
from xmlcore.readers.limits import Limits

_HEADER, _TAG = 128, 8
_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_SPARSE_CLASS, _NUMERIC_CLASSES, _COMPLEX = 5, range(6, 16), 0x0800
_PIECE = 1 << 20


def read_matrices(file: DataFile, wanted: re.Pattern[str], limits: Limits) -> dict[str, Block | None]:
    """The variables of a file by name: float32 (CSR or dense) where the name in lower case matches `wanted` as a whole.

    Other variables, which are not looked into, are None. Raises DataError, naming the file, where it is damaged or of
    another version, or where a wanted variable is no matrix of finite real numbers.
    """
    data = memoryview(file.path.read_bytes())
    if bytes(data[:10]) == b"MATLAB 7.3":
        raise located(file, None, "is of MATLAB's version 7.3; expected one saved with -v7")
    if len(data) < _HEADER or bytes(data[:10]) != b"MATLAB 5.0" or bytes(data[126:128]) not in (b"IM", b"MI"):
        raise located(file, None, "does not begin as a MATLAB file of version 5 does; expected one saved with -v7")
    order = "<" if bytes(data[126:128]) == b"IM" else ">"
    found: dict[str, Block | None] = {}
    at, expanded = _HEADER, 0
    while at < len(data):
        kind, content, at = _element(data, at, order, file)
        if kind == _COMPRESSED:
            content = memoryview(_decompressed(content, limits.max_expanded_bytes - expanded, file, limits))
            expanded += len(content)
            kind, content, _ = _element(content, 0, order, file)
        if kind == _MATRIX:
            name, matrix = _variable(content, order, wanted, file, limits)
            found[name] = matrix
    return found


def _element(data: memoryview, at: int, order: str, file: DataFile) -> tuple[int, memoryview, int]:
    """The type and the content of the element at `at`, and where the next one begins."""
    if at + _TAG > len(data):
        raise _damaged(file)
    kind, length = struct.unpack_from(f"{order}II", data, at)
    start = at + _TAG
    if kind >> 16:  # a short one
        kind, length, start = kind & 0xFFFF, kind >> 16, at + 4
    following = start + length + (-(start + length - at) % _TAG if kind != _COMPRESSED else 0)
    if start + length > len(data) or (start == at + 4 and length > 4):
        raise _damaged(file)
    return kind, data[start : start + length], following


def _decompressed(content: memoryview, most: int, file: DataFile, limits: Limits) -> bytes:
    unpacker = zlib.decompressobj()
    pieces: list[bytes] = []
    size = 0
    rest: bytes | memoryview = content
    try:
        while rest and not unpacker.eof:
            pieces.append(unpacker.decompress(rest, _PIECE))
            size += len(pieces[-1])
            rest = unpacker.unconsumed_tail
            if size > most:
                raise located(file, None, f"expands to more than {limits.max_expanded_bytes / 1e6:,.0f} MB, the limit")
            if size > limits.ratio_counts_from and size > limits.max_ratio * len(content):
                raise located(file, None, f"expands to more than {limits.max_ratio} times its size; expected data")
    except zlib.error as error:
        raise _damaged(file) from error
    return b"".join(pieces)


def _variable(
    content: memoryview, order: str, wanted: re.Pattern[str], file: DataFile, limits: Limits
) -> tuple[str, Block | None]:
    flags, at = _numbers(content, 0, order, file)
    dimensions, at = _numbers(content, at, order, file)
    _, raw_name, at = _element(content, at, order, file)
    name = bytes(raw_name).decode("ascii", "replace")
    if not wanted.fullmatch(name.lower()):
        return name, None
    if len(flags) != 2 or flags.dtype.kind not in "iu" or dimensions.dtype.kind not in "iu":
        raise _damaged(file)
    kind = int(flags[0]) & 0xFF
    if (kind != _SPARSE_CLASS and kind not in _NUMERIC_CLASSES) or int(flags[0]) & _COMPLEX or len(dimensions) != 2:
        raise located(file, None, f"{name} is no matrix of real numbers; expected rows and columns of numbers")
    rows, columns = (int(length) for length in dimensions)
    if not (0 <= rows <= limits.max_rows and 0 <= columns <= limits.max_rows):
        raise located(file, None, f"{name} has the shape {rows}×{columns}; expected at most {limits.max_rows} each way")
    if kind == _SPARSE_CLASS:
        matrix = _sparse(content, at, order, (rows, columns), file)
        values = matrix.data
    else:
        numbers, _ = _numbers(content, at, order, file)
        if len(numbers) != rows * columns:
            raise _damaged(file)
        with np.errstate(over="ignore"):
            values = matrix = numbers.astype(np.float32).reshape((rows, columns), order="F")
    if not np.isfinite(values).all():
        raise located(file, None, f"{name} holds NaN, infinity or a value beyond single precision")
    return name, matrix


def _numbers(content: memoryview, at: int, order: str, file: DataFile) -> tuple[np.ndarray, int]:
    """The numbers of the element at `at`, and where the next one begins."""
    kind, raw, following = _element(content, at, order, file)
    if kind not in _NUMBERS:
        raise _damaged(file)
    dtype = np.dtype(order + _NUMBERS[kind])
    if len(raw) % dtype.itemsize:
        raise _damaged(file)
    return np.frombuffer(raw, dtype), following


def _sparse(content: memoryview, at: int, order: str, shape: tuple[int, int], file: DataFile) -> sparse.csr_array:
    rows, at = _numbers(content, at, order, file)
    starts, at = _numbers(content, at, order, file)
    numbers, _ = _numbers(content, at, order, file)
    if len(starts) != shape[1] + 1 or rows.dtype.kind not in "iu" or starts.dtype.kind not in "iu":
        raise _damaged(file)
    with np.errstate(over="ignore"):
        values = numbers.astype(np.float32)
    # MATLAB may keep room for more entries than there are; what lies beyond the last start is left out.
    return checked_csr(values, rows, starts, "csc", shape, file)


def _damaged(file: DataFile) -> DataError:
    return located(file, None, "is damaged or cut short; expected a whole MATLAB file")
