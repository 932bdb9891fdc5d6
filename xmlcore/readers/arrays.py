"""numpy's array files, read without trusting them: nothing is unpickled, and no header may promise more than the file.

Matrices come as `.npy` (dense) or `.npz`: as `scipy.sparse.save_npz` writes them, as bare `data`, `indices`, `indptr`
and `shape`, or one dense array.
"""

from __future__ import annotations

import math
import zipfile
from tokenize import TokenError
from typing import BinaryIO

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.matrices import Block
from xmlcore.readers.archives import DAMAGE
from xmlcore.readers.files import DataFile, located
from xmlcore.readers.limits import Limits
from xmlcore.units import counted

# Larger dense files stay on disk and are paged in as they are used.
_MAP_FROM = 1_000_000_000
_UNREADABLE = (*DAMAGE, TypeError, SyntaxError, TokenError)


def expanded_size(file: DataFile) -> int:
    """The bytes that the arrays of an `.npz` file take, 0 for any other file."""
    if not file.has_suffix(".npz"):
        return 0
    try:
        with zipfile.ZipFile(file.path) as archive:
            return sum(member.file_size for member in archive.infolist())
    except _UNREADABLE as error:
        raise _damaged(file, error) from error


def check_expansion(files: list[DataFile], limits: Limits) -> None:
    """Raises DataError where `.npz` files together, or one for its size, would expand beyond the limits."""
    total = 0
    for file in files:
        size = expanded_size(file)
        total += size
        if total > limits.max_expanded_bytes:
            raise located(file, None, f"expands to more than {limits.max_expanded_bytes / 1e6:,.0f} MB, the limit")
        if size > limits.ratio_counts_from and size > limits.max_ratio * file.path.stat().st_size:
            raise located(file, None, f"expands to more than {limits.max_ratio} times its size; expected data")


def load_matrix(file: DataFile, limits: Limits, dtype: type = np.float32) -> Block:
    """The matrix in a `.npy` or `.npz` file, in that precision: CSR (sorted, without zeros), or dense, two-dimensional.

    Raises DataError, naming the file, where it is damaged or holds Python objects, another kind of array, an index that
    is out of range or occurs twice in a row, or a value that is not finite.
    """
    try:
        matrix = _load(file, limits, dtype)
    except DataError:
        raise
    except _UNREADABLE as error:
        raise _damaged(file, error) from error
    values = matrix.data if sparse.issparse(matrix) else matrix
    # A finite sum needs no mask as large as the matrix; a sum that overflows sends us to the exact check.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = not values.size or np.isfinite(values.sum()) or np.isfinite(values).all()
    if not finite:
        raise located(file, None, "holds NaN, infinity or a value beyond single precision; expected finite numbers")
    return matrix


def load_vector(file: DataFile) -> np.ndarray:
    """The one-dimensional array of whole numbers (int64) or of texts in a `.npy` file.

    Raises DataError, naming the file, where it is damaged or holds anything else.
    """
    try:
        with file.path.open("rb") as stream:
            vector = _read_array(stream, file.path.stat().st_size, file)
        if vector.dtype.kind == "U":
            vector.tolist()  # numpy takes any four bytes for a character, Python does not
    except DataError:
        raise
    except (*_UNREADABLE, SystemError) as error:
        raise _damaged(file, error) from error
    if vector.ndim != 1 or vector.dtype.kind not in "iuU":
        raise located(
            file, None, f"holds {vector.dtype} of shape {vector.shape}; expected a list of whole numbers or texts"
        )
    return vector if vector.dtype.kind == "U" else vector.astype(np.int64)


def _load(file: DataFile, limits: Limits, dtype: type) -> Block:
    if file.has_suffix(".npy"):
        size = file.path.stat().st_size
        with file.path.open("rb") as stream:
            if size <= _MAP_FROM:
                return _dense(_read_array(stream, size, file), file, limits, dtype)
            _header(stream, size, file)
        return _dense(np.load(file.path, mmap_mode="r", allow_pickle=False), file, limits, dtype)
    arrays = {}
    with zipfile.ZipFile(file.path) as archive:
        for member in archive.infolist():
            with archive.open(member) as stream:
                arrays[member.filename.removesuffix(".npy")] = _read_array(stream, member.file_size, file)
    if len(arrays) == 1 and "data" not in arrays:
        return _dense(next(iter(arrays.values())), file, limits, dtype)
    return _sparse(arrays, file, limits, dtype)


def _header(stream: BinaryIO, size: int, file: DataFile) -> None:
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise located(file, None, f"has arrays of version {version}; expected plain numbers")
    shape, _, dtype = readers[version](stream)
    if dtype.hasobject:
        raise located(file, None, "holds pickled Python objects, which are never loaded; expected plain numbers")
    if dtype.kind not in "biufSU":
        raise located(file, None, f"holds {dtype}; expected plain numbers")
    promised = math.prod(shape) * dtype.itemsize
    if any(length < 0 for length in shape) or promised != size - stream.tell():
        raise located(file, None, f"is cut short or damaged: an array of shape {shape} does not fit its size")


def _read_array(stream: BinaryIO, size: int, file: DataFile) -> np.ndarray:
    _header(stream, size, file)
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _dense(array: np.ndarray, file: DataFile, limits: Limits, dtype: type) -> np.ndarray:
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise located(file, None, f"holds {array.dtype} of shape {array.shape}; expected numbers in rows and columns")
    if array.shape[1] > limits.max_columns:
        raise located(file, None, f"has {array.shape[1]} columns; expected at most {limits.max_columns}")
    with np.errstate(over="ignore"):
        return array if array.dtype == dtype else array.astype(dtype)


def _sparse(arrays: dict[str, np.ndarray], file: DataFile, limits: Limits, dtype: type) -> sparse.csr_array:
    kind = np.asarray(arrays.get("format", "csr")).item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    needed = ("data", "row", "col", "shape") if kind == "coo" else ("data", "indices", "indptr", "shape")
    if kind not in ("csr", "csc", "coo"):
        raise located(file, None, f"holds a sparse matrix in the form {kind!r}; expected csr, csc or coo")
    if missing := [name for name in needed if name not in arrays]:
        held = ", ".join(sorted(arrays)[:8]) or "nothing"
        raise located(file, None, f"holds {held}, without {', '.join(missing)}; expected a sparse matrix")
    data, *places, shape = (arrays[name] for name in needed)
    if any(array.ndim != 1 for array in (data, *places, shape)) or data.dtype.kind not in "biuf" or len(shape) != 2:
        raise located(file, None, "holds arrays of the wrong kind; expected a sparse matrix of numbers")
    if any(array.dtype.kind not in "iu" for array in (*places, shape)):
        raise located(file, None, "holds indices that are no whole numbers; expected a sparse matrix")
    rows, columns = (int(length) for length in shape)
    if not (0 <= rows <= limits.max_rows and 0 <= columns <= limits.max_columns):
        raise located(
            file, None, f"has the shape {rows}×{columns}; expected at most {limits.max_rows}×{limits.max_columns}"
        )
    if "format" not in arrays and len(places[1]) != rows + 1 and len(places[1]) == columns + 1:
        kind = "csc"
    with np.errstate(over="ignore"):
        data = data.astype(dtype, copy=False)
    if kind == "coo":
        fits = len(data) == len(places[0]) == len(places[1])
        if not (fits and _within(places[0], rows) and _within(places[1], columns)):
            raise located(file, None, f"is no valid sparse matrix; expected indices within {rows}×{columns}")
        matrix = sparse.coo_array((data, tuple(places)), shape=(rows, columns)).tocsr()
        return _without_repetitions(matrix, len(data), file)
    return checked_csr(data, *places, kind, (rows, columns), file)


def checked_csr(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, kind: str, shape: tuple[int, int], file: DataFile
) -> sparse.csr_array:
    """A CSR array of the three arrays of a matrix in the form `kind`, "csr" or "csc": sorted, without stored zeros.

    Every index is checked here, because scipy does not look at the starts of a matrix without entries and then reads
    beyond them. Raises DataError, naming the file, where one is out of range or an entry is named twice.
    """
    major, minor = shape if kind == "csr" else shape[::-1]
    valid = len(indptr) == major + 1 and indptr[0] == 0 and _within(indptr, min(len(indices), len(data)) + 1)
    if valid:
        starts = indptr.astype(np.int64)
        count = int(starts[-1])
        valid = bool((np.diff(starts) >= 0).all()) and _within(indices[:count], minor)
    if not valid:
        raise located(file, None, f"is no valid sparse matrix; expected indices within {shape[0]}×{shape[1]}")
    index = np.int32 if count < 2**31 else np.int64
    arrays = data[:count], indices[:count].astype(index, copy=False), starts.astype(index)
    matrix = (sparse.csr_array if kind == "csr" else sparse.csc_array)(arrays, shape=shape).tocsr()
    return _without_repetitions(matrix, count, file)


def _within(indices: np.ndarray, bound: int) -> bool:
    return indices.size == 0 or (int(indices.min()) >= 0 and int(indices.max()) < bound)


def _without_repetitions(matrix: sparse.csr_array, entries: int, file: DataFile) -> sparse.csr_array:
    matrix.sum_duplicates()
    if matrix.nnz < entries:
        again = counted(entries - matrix.nnz, "column")
        raise located(file, None, f"names {again} twice in one row; expected each at most once")
    if not matrix.data.all():
        matrix.eliminate_zeros()
    return matrix


def _damaged(file: DataFile, error: Exception) -> DataError:
    return located(file, None, f"cannot be read as arrays ({error}); expected a whole .npy or .npz file")
