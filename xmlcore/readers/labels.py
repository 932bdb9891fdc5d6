"""Labels as they come, in matrices or as lists of names, to sparse matrices of ones."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xmlcore.dataset import Block
from xmlcore.readers.files import DataFile

Label = str | int


def as_ones(matrix: Block, file: DataFile) -> tuple[sparse.csr_array, str | None]:
    """The labels of a matrix: one wherever it is not 0; with a note where it held other values than 0 and 1."""
    Y = sparse.csr_array(matrix)
    other = int(np.count_nonzero(Y.data != 1))
    ones = sparse.csr_array((np.ones(Y.nnz, np.float32), Y.indices, Y.indptr), shape=Y.shape)
    return ones, f"{other:,} labels of {file.name} carry a value; each is read as 1." if other else None
