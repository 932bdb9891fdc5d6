"""Products of dense and sparse matrices, by rows in compiled loops or by BLAS, summed in float64.

Matrices of features come as blocks (see `xmlcore.matrices.as_blocks`). Compiled kernels take pointers in int64 and
indices in int32, so that each is compiled once for each type of value. Every output row belongs to one thread, so no
result depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numba import config
from scipy import sparse

from xmlcore.compiled import compiled
from xmlcore.matrices import Block

SCATTERED_AS_DENSE = 40
"""A sum over scattered entries handles about one pair of them in the time in which BLAS handles so many."""

_CHUNK = 2_048
_WIDENED = 512  # rows that are converted to float64 at a time
_SUMMED_BYTES = 4 << 20  # of sums in float64 at a time, where the result is not: they stay in the processor's cache
_TILE = 16
_MIN_WORK_PER_THREAD = 500_000  # steps of an inner loop; below it a second thread costs more than it saves
Found = TypeVar("Found")


def over_rows(piece: Callable[[int, int], Found], rows: int, work: int) -> list[Found]:
    """What `piece(start, stop)` gives for pieces of 0…rows, in their order, made side by side in threads.

    piece: a compiled loop that holds no interpreter lock. work: how many steps its inner loops have in all.

    Plain threads, not numba's parallel loops: these take several times as long to compile, which a first visitor would
    wait for, and abort the process when two threads (two visitors) enter them at once under their default layer.
    """
    threads = max(1, min(config.NUMBA_NUM_THREADS, work // _MIN_WORK_PER_THREAD, rows))
    if threads == 1:
        return [piece(0, rows)]  # no pool for what takes less time than starting one
    # Four pieces a thread: a thread that starts late, or is held up by another process, then delays by a quarter only.
    edges = np.linspace(0, rows, num=4 * threads + 1, dtype=int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(piece, edges[:-1], edges[1:]))


def _sparse_times_dense(A: sparse.csr_array, B: np.ndarray, out: np.ndarray) -> None:
    """out = A B, each row summed in float64."""
    pointers, indices, values = compiled_parts(A)
    B = np.ascontiguousarray(B)
    at_once = _SUMMED_BYTES // (8 * max(B.shape[1], 1))

    def piece(start: int, stop: int) -> None:
        for rows in chunks(stop - start, at_once):
            first, end = start + rows.start, start + rows.stop
            part = out[first:end]
            # Always into float64, also where the result is not: so the loop is compiled for one type of sums.
            total = part if part.dtype == np.float64 else np.empty(part.shape)
            _add_sparse_rows(pointers[first : end + 1], indices, values, B, total)
            if total is not part:
                with np.errstate(over="ignore"):  # infinity beyond float32, which rankings refuse
                    part[:] = total

    over_rows(piece, out.shape[0], A.nnz * out.shape[1])


@compiled
def _add_sparse_rows(indptr, indices, data, B, out):
    """Four entries at a time: the four rows of a large B are then fetched from memory side by side."""
    total = np.empty(out.shape[1])
    for i in range(out.shape[0]):
        for j in range(total.size):
            total[j] = 0.0
        at, end = indptr[i], indptr[i + 1]
        while at + 4 <= end:
            a, b, c, d = data[at], data[at + 1], data[at + 2], data[at + 3]
            row_a, row_b, row_c, row_d = B[indices[at]], B[indices[at + 1]], B[indices[at + 2]], B[indices[at + 3]]
            for j in range(total.size):
                total[j] += a * row_a[j] + b * row_b[j] + c * row_c[j] + d * row_d[j]
            at += 4
        while at < end:
            value, row = data[at], B[indices[at]]
            for j in range(total.size):
                total[j] += value * row[j]
            at += 1
        for j in range(total.size):
            out[i, j] = total[j]


@compiled
def _dense_times_columns(A, indptr, indices, data, out, start, stop):
    """out = A S with A dense and S given by columns, for sixteen rows of A at a time: one index, sixteen products."""
    inner = A.shape[1]
    turned = np.zeros((inner, _TILE), np.float32)
    total = np.empty(_TILE)
    for first in range(start, stop, _TILE):
        width = min(_TILE, stop - first)
        for k in range(width):
            for d in range(inner):
                turned[d, k] = A[first + k, d]
        for column in range(out.shape[1]):
            total[:] = 0.0
            for at in range(indptr[column], indptr[column + 1]):
                value = data[at]
                source = turned[indices[at]]
                for k in range(_TILE):
                    total[k] += value * source[k]
            for k in range(width):
                out[first + k, column] = total[k]


def compiled_parts(
    A: sparse.csr_array | sparse.csc_array, dtype: type = np.float64
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pointers, indices and values of A in the types that the kernels are compiled for."""
    return (
        A.indptr.astype(np.int64, copy=False),
        A.indices.astype(np.int32, copy=False),
        A.data.astype(dtype, copy=False),
    )


def chunks(n: int, size: int = _CHUNK) -> Iterator[slice]:
    """Slices that cover 0…n−1 in order, each of at most `size`, and of 1 where that is less."""
    size = max(size, 1)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def multiply(X: tuple[Block, ...], B: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    """X B, rows×k, for X of N columns in blocks and B of shape (N, k); summed in float64, returned as `dtype`."""
    out = np.empty((X[0].shape[0], B.shape[1]), dtype)
    if len(X) == 1:
        _block_product(X[0], B, out)
        return out
    edges = np.cumsum([0, *(block.shape[1] for block in X)])
    for rows in chunks(out.shape[0]):  # several blocks are summed in float64: twice out or more, were it all rows
        total = np.zeros((rows.stop - rows.start, B.shape[1]))
        for block, start, stop in zip(X, edges[:-1], edges[1:], strict=True):
            product = np.empty_like(total)
            _block_product(block[rows], B[start:stop], product)
            total += product
        out[rows] = total
    return out


def _block_product(block: Block, B: np.ndarray, out: np.ndarray) -> None:
    """out = X B for one block."""
    (_sparse_times_dense if sparse.issparse(block) else _dense_product)(block, B, out)


def _dense_product(A: np.ndarray, B: np.ndarray, out: np.ndarray) -> None:
    """out = A B in float64, converted piece by piece."""
    for columns in chunks(B.shape[1]):
        wide = B[:, columns].astype(np.float64, copy=False)
        for rows in chunks(A.shape[0], _WIDENED):
            out[rows, columns] = A[rows].astype(np.float64, copy=False) @ wide


def product(A: np.ndarray, B: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    """A B for dense matrices of any float types, in float64 without a whole float64 copy of either."""
    out = np.empty((A.shape[0], B.shape[1]), dtype)
    _dense_product(A, B, out)
    return out


def product_with_leading(A: np.ndarray, V: np.ndarray, leading: np.ndarray, precision: str) -> np.ndarray:
    """A V for A in float64 (rows×r) and V in float32 (r×r'), as accurate as if A had no large components.

    `leading` (r×k, float64) are the last k columns of V before they were rounded. What A has in them, which are
    orthogonal to all others, is taken out first: (A − C leadingᵀ) V_rest with C = A leading equals A V_rest, and
    rounds relative to what is left. precision: "float32" or "float64", in which the rest is multiplied; the result is
    of that type.
    """
    components = A @ leading
    rest = A - components @ leading.T
    out = product(rest, V, np.float64) if precision == "float64" else rest.astype(np.float32) @ V
    out[:, V.shape[1] - leading.shape[1] :] = components
    return out


def multiply_transposed(X: tuple[Block, ...], B: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    """Xᵀ B, shape (N, k), for X in blocks of D rows and B of shape (D, k); summed in float64, returned as `dtype`."""
    out = np.empty((sum(block.shape[1] for block in X), B.shape[1]), dtype)
    start = 0
    for block in X:
        part = out[start : start + block.shape[1]]
        start += block.shape[1]
        if sparse.issparse(block):
            _sparse_times_dense(block.T.tocsr(), B, part)
        else:
            total = np.zeros(part.shape)
            for rows in chunks(block.shape[0], _WIDENED):
                total += block[rows].T.astype(np.float64) @ B[rows].astype(np.float64, copy=False)
            part[:] = total
    return out


def transposed_times_sparse(X: tuple[Block, ...], S: sparse.csr_array, dtype: type = np.float64) -> np.ndarray:
    """Xᵀ S as a dense (N, k) array for X in blocks of D rows and a sparse S of shape (D, k), summed in float64."""
    parts = []
    for block in X:
        if sparse.issparse(block):
            parts.append((block.T.astype(np.float64) @ S).toarray().astype(dtype, copy=False))
        else:
            turned = np.empty((S.shape[1], block.shape[1]), dtype)
            _sparse_times_dense(S.T.tocsr(), block, turned)
            parts.append(turned.T)
    return parts[0] if len(parts) == 1 else np.vstack(parts)


def times_sparse(A: np.ndarray, S: sparse.csr_array | sparse.csc_array) -> np.ndarray:
    """A S, rows×k float32, for a dense A of shape (rows, D) and a sparse S of shape (D, k), best given in CSC."""
    columns = compiled_parts(S.tocsc(), np.float32)
    out = np.empty((A.shape[0], S.shape[1]), np.float32)
    for rows in chunks(A.shape[0]):
        arrays = (np.ascontiguousarray(A[rows], dtype=np.float32), *columns, out[rows])
        n_rows = arrays[0].shape[0]
        over_rows(lambda start, stop, arrays=arrays: _dense_times_columns(*arrays, start, stop), n_rows, n_rows * S.nnz)
    return out
