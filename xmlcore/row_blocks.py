"""Training data in blocks of rows, (X of rows×N, Y of rows×L), in memory or in a folder that is read block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from xmlcore import products
from xmlcore.atomic import writing
from xmlcore.checks import DataError, as_whole
from xmlcore.matrices import Features, as_blocks, as_labels, n_columns, n_rows, take_rows
from xmlcore.readers import LIMITS
from xmlcore.readers.arrays import load_matrix
from xmlcore.readers.files import DataFile

BLOCK_ROWS = 4_096
_COUNT = "blocks.txt"
RowBlock = tuple[Features, sparse.csr_array]


def blocks_of(X: Features, Y: sparse.csr_array, rows: int = BLOCK_ROWS) -> Iterator[RowBlock]:
    """X (D×N) and Y (D×L) in blocks of so many rows; of memory-mapped arrays one block at a time is read.

    Raises DataError where their rows differ, and for rows < 1.
    """
    rows = as_whole(rows, "rows", at_least=1)
    for block in X if isinstance(X, (list, tuple)) else (X,):
        if block.shape[0] != Y.shape[0]:
            raise DataError(f"X has {block.shape[0]} rows and Y {Y.shape[0]}; expected the same number")
    return ((take_rows(X, part), Y[part]) for part in products.chunks(n_rows(X), rows))


def numbered(blocks: Iterable[RowBlock], first: int = 0) -> Iterator[tuple[int, Features, sparse.csr_array]]:
    """Row blocks with their numbers, from `first` on. Raises DataError for what is no pair of X and Y."""
    if not isinstance(blocks, Iterable):
        raise DataError(f"blocks is {type(blocks).__name__}; expected row blocks, each a pair of X and Y")
    for number, block in enumerate(blocks, first):
        try:
            X, Y = block
        except (TypeError, ValueError) as error:
            raise DataError(f"block {number} is {type(block).__name__}; expected a pair of X and Y") from error
        yield number, X, Y


def save_blocks(blocks: Iterable[RowBlock], folder: str | Path) -> int:
    """Writes row blocks of one sparse X and Y to the folder, two .npz files each; returns how many blocks there were.

    Last of all comes a file with their number, without which nobody reads them: not even where this process was killed
    half-way. Values are stored in float32. Raises DataError, naming the block, where X is not one sparse block of
    finite numbers, Y is not of zeros and ones, their rows differ, or they have other features or labels than the block
    before; where there is no block; and where the folder holds files already or cannot be written to. After any error
    the folder is empty again.
    """
    folder = Path(folder)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise DataError(f"{folder} is not empty; expected a folder for these blocks alone")
    written: list[Path] = []
    count, widths = 0, None
    try:
        for number, X, Y in numbered(blocks):
            matrices = _storable(X, Y, number)
            widths = same_widths(widths, *matrices, f"block {number}")
            for letter, matrix in zip("XY", matrices, strict=True):
                written.append(folder / _block_name(number, letter))
                with writing(written[-1]):
                    sparse.save_npz(written[-1], matrix, compressed=False)
            count += 1
        if not count:
            raise DataError("blocks is empty; expected at least one row block")
        written.append(folder / _COUNT)
        with writing(written[-1]):
            written[-1].write_text(f"{count}\n", encoding="ascii")
    except BaseException:  # what is not whole would be read as a smaller training set
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise
    return count


def stored_loads(folder: str | Path) -> list[Callable[[], RowBlock]]:
    """A function for each row block that `save_blocks` wrote, in order, that reads it; other processes can call it.

    Raises DataError where the folder holds none, or one of its blocks is missing. Each function raises DataError,
    naming the file, where that is damaged or no sparse matrix, or the rows of X and Y differ.
    """
    folder = Path(folder).absolute()
    names = {path.name for path in folder.glob("*.npz")}
    try:
        count = as_whole(int((folder / _COUNT).read_text(encoding="ascii")), _COUNT, at_least=1)
    except (OSError, ValueError) as error:
        cut = f" but no whole {_COUNT}: they may be cut short" if names else ""
        raise DataError(
            f"{folder} holds {'row' if names else 'no row'} blocks{cut}; expected what save_blocks writes"
        ) from error
    for name in (_block_name(number, letter) for number in range(count) for letter in "XY"):
        if name not in names:
            raise DataError(f"{folder / name} is missing; expected {count} row blocks, each of X and Y")
    return [partial(_load_block, folder, number) for number in range(count)]


def stored_blocks(folder: str | Path) -> Iterator[RowBlock]:
    """The row blocks that `save_blocks` wrote, read one by one as they are asked for; errors as in `stored_loads`."""
    return (load() for load in stored_loads(folder))


def _block_name(number: int, letter: str) -> str:
    return f"{number:06}.{letter}.npz"


def _storable(X: object, Y: object, number: int) -> RowBlock:
    if not sparse.issparse(X):
        raise DataError(f"X of block {number} is {type(X).__name__}; expected one sparse block")
    (X,), Y = as_blocks(X, f"X of block {number}"), as_labels(Y, f"Y of block {number}")
    with np.errstate(over="ignore"):  # beyond float32 is infinity, which is refused
        (X,) = as_blocks(X.astype(np.float32, copy=False), f"X of block {number}")
    return same_rows(X, Y, f"block {number}")


def same_widths(known: tuple[int, int] | None, X: Features, Y: sparse.csr_array, where: str) -> tuple[int, int]:
    """The numbers of features and labels. Raises DataError, naming the block, where the blocks before had others."""
    widths = (n_columns(X), Y.shape[1])
    if known not in (None, widths):
        raise DataError(f"{where} has {widths[0]} features and {widths[1]} labels; expected {known}, as before")
    return widths


def same_rows(X: Features, Y: sparse.csr_array, where: str) -> RowBlock:
    """The block as it is. Raises DataError, naming it, where X and Y have other numbers of rows."""
    if n_rows(X) != Y.shape[0]:
        raise DataError(f"{where} has {n_rows(X)} rows of X and {Y.shape[0]} of Y; expected the same number")
    return X, Y


def _load_block(folder: Path, number: int) -> RowBlock:
    matrices = []
    for letter in "XY":
        path = folder / _block_name(number, letter)
        matrix = load_matrix(DataFile(str(path), path), LIMITS)
        if not sparse.issparse(matrix):
            raise DataError(f"{path} holds a dense matrix; expected a sparse one, as save_blocks writes it")
        matrices.append(matrix)
    return same_rows(*matrices, f"the block of {folder / _block_name(number, 'X')}")
