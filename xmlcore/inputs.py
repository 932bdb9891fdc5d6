"""What ridge regression is given, checked: training data, new rows, projections, and parts of rows or labels."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_array, as_indices
from xmlcore.matrices import Block, Features, as_blocks, as_labels, n_columns, n_rows

Rows = slice | np.ndarray


def check_training(X: Features, Y: object) -> tuple[tuple[Block, ...], sparse.csr_array]:
    """Training data as blocks and labels. Raises DataError unless both are of the same rows, and none is empty."""
    blocks, labels = as_blocks(X), as_labels(Y)
    if n_rows(blocks) != labels.shape[0]:
        raise DataError(f"X has {n_rows(blocks)} rows and Y {labels.shape[0]}; expected the same number")
    if 0 in (n_rows(blocks), n_columns(blocks), labels.shape[1]):
        raise DataError(f"X has shape {(n_rows(blocks), n_columns(blocks))} and Y {labels.shape}; expected no zero")
    return blocks, labels


def check_projection(P: object, rank: int) -> np.ndarray:
    """P as an array. Raises DataError unless it is rows of so many real numbers, as `project` gives them."""
    P = as_array(P, "P")
    if P.ndim != 2 or P.shape[1] != rank:
        raise DataError(f"P has shape {P.shape}; expected (rows, {rank}), as project gives it")
    if P.dtype.kind not in "iuf":
        raise DataError(f"P holds {P.dtype}; expected real numbers, as project gives them")
    return P


def as_part(part: Rows, count: int, name: str) -> Rows:
    """A slice as it is, else indices from 0 to count − 1. Raises DataError, naming the argument, for anything else."""
    return part if isinstance(part, slice) else as_indices(part, count, name)


def as_projection(P: np.ndarray) -> np.ndarray:
    """P as it was computed. Raises DataError where X_new was too large for it to be finite."""
    if not np.isfinite(P).all():
        raise DataError("X_new holds values too large to be projected: scale its rows as those of X")
    return P


def check_features(X_new: Features, X: tuple[Block, ...], name: str) -> tuple[Block, ...]:
    """New rows as blocks. Raises DataError, naming the argument, unless they are of the features of the blocks X."""
    blocks = as_blocks(X_new, name)
    seen, expected = ([block.shape[1] for block in side] for side in (blocks, X))
    if seen != expected:
        raise DataError(f"{name} has {seen} features, by block; expected {expected}, as in training")
    return blocks
