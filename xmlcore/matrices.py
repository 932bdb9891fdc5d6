"""Features in blocks, labels and masks: whatever form they come in, checked and brought into the one that all take.

Features are one block or several side by side; each block is sparse (CSR) or dense and all have the same rows. Labels
are a sparse matrix of zeros and ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_array, as_floats, check_places

Block = sparse.csr_array | np.ndarray
Features = Block | tuple[Block, ...]


def as_blocks(X: Features | Sequence[Block], name: str = "X") -> tuple[Block, ...]:
    """The feature blocks of X, each a CSR array or a two-dimensional array of floats, all with the same rows.

    A CSR block is in canonical form: each row's columns ascend, and none occurs twice; entries that share a place are
    added. The caller's arrays are never changed, and none is copied that is float32 or float64 and dense or canonical.

    Raises DataError, naming the argument, where blocks are missing, have other than two dimensions, differ in rows,
    name columns that they lack, hold anything but real numbers, or hold NaN or infinity.
    """
    parts = X if isinstance(X, (list, tuple)) else (X,)
    if not parts:
        raise DataError(f"{name} has no feature block; expected one or more")
    blocks = tuple(_as_block(part, name) for part in parts)
    rows = {block.shape[0] for block in blocks}
    if len(rows) > 1:
        raise DataError(f"the blocks of {name} differ in rows: {[block.shape for block in blocks]}")
    return blocks


def as_one_block(X: Block, name: str) -> Block:
    """X as `as_blocks` reads it, where it is one block. Raises DataError, naming the argument, where it is several."""
    blocks = as_blocks(X, name)
    if len(blocks) > 1:
        raise DataError(f"{name} has {len(blocks)} blocks; expected one matrix")
    return blocks[0]


def _as_block(part: object, name: str) -> Block:
    block = _as_matrix(part, name, "rows and features")
    block = _as_floats(block)  # before entries that share a place are added, which small integers could not hold
    if sparse.issparse(block) and not isinstance(block, sparse.csr_array):
        block = sparse.csr_array(block)
    # The property keeps its answer on the object that it is asked of, and leaves indices and values alone: threads that
    # share a block all write the same answer.
    if sparse.issparse(block) and not block.has_canonical_format:
        block = block.copy()
        block.sum_duplicates()
    values = block.data if sparse.issparse(block) else block
    # A sum is finite only where all of its terms are, and needs no mask as large as the block; a sum that overflows
    # sends us to the exact check.
    with np.errstate(over="ignore", invalid="ignore"):
        suspect = values.size > 0 and not np.isfinite(values.sum())
    if suspect and not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values.ravel()))[0])
        row = (
            int(np.searchsorted(block.indptr, at, side="right") - 1) if sparse.issparse(block) else at // block.shape[1]
        )
        raise DataError(f"{name} holds {values.ravel()[at]} in row {row}; expected finite numbers")
    return block


def _as_floats(M: sparse.sparray | sparse.spmatrix | np.ndarray) -> sparse.sparray | sparse.spmatrix | np.ndarray:
    """M in this machine's float64 where it holds floats of that width or wider, in float32 otherwise."""
    dtype = np.dtype(np.float64 if M.dtype.kind == "f" and M.dtype.itemsize >= 8 else np.float32)
    with np.errstate(over="ignore"):  # infinity is refused
        return M if M.dtype == dtype else M.astype(dtype)


def _as_matrix(M: object, name: str, axes: str) -> sparse.sparray | sparse.spmatrix | np.ndarray:
    """M, sparse of any format or dense, once it is known to have two dimensions and to hold real numbers."""
    if not sparse.issparse(M):
        M = as_array(M, name)
    if M.ndim != 2:
        raise DataError(f"{name} must have two dimensions, {axes}; it has shape {M.shape}")
    if M.dtype == object and not sparse.issparse(M):
        M = as_floats(M, name)
    if M.dtype.kind not in "biuf":
        raise DataError(f"{name} must hold real numbers; it holds {M.dtype}")
    if sparse.issparse(M):
        check_places(M, name)
    return M


def as_labels(Y: object, name: str = "Y") -> sparse.csr_array:
    """Y as a float32 CSR array of zeros and ones, sorted indices, without stored zeros or duplicates.

    Raises DataError, naming the argument, where Y has other than two dimensions, names columns that it lacks or holds
    anything but real numbers, and where a value other than 0 and 1 occurs, which it names too.
    """
    labels = _as_matrix(Y, name, "instances and labels")
    # scipy has neither half precision nor foreign byte orders, and adds entries that share a place in their own type.
    added = sparse.issparse(labels) and labels.format != "csr"
    if labels.dtype == np.float16 or not labels.dtype.isnative or added:
        labels = _as_floats(labels)
    if not isinstance(labels, sparse.csr_array):
        labels = sparse.csr_array(labels)
    other = labels.data[(labels.data != 1) & (labels.data != 0)]
    if other.size:
        raise DataError(f"{name} must hold only 0 and 1; it holds {other[0]}")
    clean = labels.has_canonical_format and labels.dtype == np.float32 and labels.data.all()
    if not clean:
        labels = labels.astype(np.float32)  # a copy: the caller's matrix is left as it is
        labels.sum_duplicates()
        labels.eliminate_zeros()
        if labels.data.size and labels.data.max() > 1:
            raise DataError(f"{name} names a label twice in one row; expected each at most once")
    return labels


def as_mask(pairs: object, shape: tuple[int, int], name: str = "exclude", of: str = "Y") -> sparse.csr_array | None:
    """Pairs to be masked as float32 CSR of ones, each once and in order, or None for none.

    Raises DataError, naming the argument, where they are no sparse matrix of the labels' shape, or name columns that
    it lacks.
    """
    if pairs is None:
        return None
    if not (sparse.issparse(pairs) and tuple(pairs.shape) == tuple(shape)):
        seen = f"has shape {tuple(pairs.shape)}" if sparse.issparse(pairs) else f"is of type {type(pairs).__name__}"
        raise DataError(f"{name} {seen}; expected a sparse matrix of the shape of {of}, {tuple(shape)}")
    check_places(pairs, name)
    mask = sparse.csr_array(pairs)
    if mask.dtype == np.float32 and (mask.data == 1).all() and mask.has_canonical_format:
        return mask
    mask = sparse.csr_array((mask.data != 0, mask.indices, mask.indptr), shape=mask.shape, copy=True)
    mask.sum_duplicates()
    mask.eliminate_zeros()
    return mask.astype(np.float32)


def n_rows(X: Features) -> int:
    """The number of instances in X."""
    return (X[0] if isinstance(X, (list, tuple)) else X).shape[0]


def n_columns(X: Features) -> int:
    """The number of features in X, over all of its blocks."""
    return sum(block.shape[1] for block in X) if isinstance(X, (list, tuple)) else X.shape[1]


def take_rows(X: Features, rows: slice | np.ndarray) -> Features:
    """The given rows of X, in the same form (one block or a tuple of blocks)."""
    return tuple(block[rows] for block in X) if isinstance(X, (list, tuple)) else X[rows]
