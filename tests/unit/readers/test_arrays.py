"""Arrays of indices become a sparse matrix where none leads out of it."""

import numpy as np
import pytest

from xmlcore.checks import DataError
from xmlcore.readers.arrays import checked_csr
from xmlcore.readers.files import DataFile


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize(
    ("indptr", "indices", "fits"),
    [
        ([0, 1, 3], [2, 0, 1], True),
        ([0, 1, 2], [2, 0, 77], True),  # room for more entries than there are, as MATLAB keeps it
        ([0, 1, 4], [2, 0, 1], False),
        ([0, 3, 2], [2, 0, 1], False),
        ([1, 2, 3], [2, 0, 1], False),
        ([-1, 1, 3], [2, 0, 1], False),
        ([0, 1], [2, 0, 1], False),
        ([0, 1, 2, 3], [2, 0, 1], False),
        ([0, 1, 3], [2, 0, 3], False),
        ([0, 1, 3], [2, -1, 1], False),
        ([0, 1, 3], [2, 0], False),
    ],
)
def test_arrays_of_a_sparse_matrix_are_taken_where_no_index_leads_out_of_it(tmp_path, kind, indptr, indices, fits):
    file = DataFile("m.npz", tmp_path / "m.npz")
    data, shape = np.array([1, 2, 3], np.float32), (2, 3) if kind == "csr" else (3, 2)
    arrays = (data, np.array(indices), np.array(indptr), kind, shape, file)
    if not fits:
        with pytest.raises(DataError, match=r"^m\.npz: is no valid sparse matrix"):
            checked_csr(*arrays)
        return
    expected = np.zeros((2, 3))
    for row in range(2):
        expected[row, indices[indptr[row] : indptr[row + 1]]] = data[indptr[row] : indptr[row + 1]]
    np.testing.assert_array_equal(checked_csr(*arrays).toarray(), expected if kind == "csr" else expected.T)
