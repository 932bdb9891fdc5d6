"""What is written is read back to the same data set, by us and by others."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from xmlcore.dataset import DataError, Dataset
from xmlcore.readers import read, write_npz, write_xc_text


def made(blocks: int = 1) -> Dataset:
    rng = np.random.default_rng(blocks)

    def features(rows: int):
        parts = [sparse.random_array((rows, 6), density=0.4, rng=rng, format="csr", dtype=np.float32)]
        parts += [rng.random((rows, 2), np.float32) for _ in range(blocks - 1)]
        return parts[0] if blocks == 1 else tuple(parts)

    def labels(rows: int):
        return sparse.csr_array((rng.random((rows, 3)) < 0.4).astype(np.float32))

    return Dataset(
        name="Made here",
        X_train=features(7),
        Y_train=labels(7),
        X_test=features(4),
        Y_test=labels(4),
        feature_names=np.array([f"word {n}" for n in range(6 + 2 * (blocks - 1))]),
        label_names=np.array(["ä", "b c", "d"]),
        train_names=np.array([f"p{i}" for i in range(7)]),
        test_names=np.array([f"q{i}" for i in range(4)]),
        train_texts=[f"text {i}" for i in range(7)],
        test_texts=[f"text {i}" for i in range(4)],
        train_groups=np.array([0, 0, 1, 2, 2, 3, 4]),
        test_filter=sparse.csr_array(np.eye(4, 3, dtype=np.float32)),
        feature_kind="counts",
        A=0.5,
        B=0.4,
    )


@pytest.mark.parametrize("blocks", [1, 3])
def test_everything_that_was_written_as_npz_is_read_back(tmp_path, blocks):
    ds = made(blocks)
    assert read(write_npz(ds, tmp_path / "out")).fingerprint == ds.fingerprint


def test_everything_but_texts_and_groups_comes_back_from_xc_text(tmp_path):
    ds = made()
    expected = replace(ds, train_texts=None, test_texts=None, train_groups=None)
    assert read(write_xc_text(ds, tmp_path / "out")).fingerprint == expected.fingerprint


def test_blocks_become_one_in_xc_text(tmp_path):
    ds = made(3)
    again = read(write_xc_text(ds, tmp_path / "out"))
    together = sparse.hstack([sparse.csr_array(block) for block in ds.X_train]).toarray()
    np.testing.assert_array_equal(again.X_train.toarray(), together)


def test_scikit_learn_reads_what_was_written(tmp_path):
    ds = made()
    write_xc_text(ds, tmp_path)
    (tmp_path / "bare.txt").write_text((tmp_path / "train.txt").read_text().partition("\n")[2])
    X, y = load_svmlight_file(
        str(tmp_path / "bare.txt"), multilabel=True, zero_based=True, n_features=6, dtype=np.float32
    )
    rows = [i for i in range(7) if ds.Y_train[[i]].nnz or ds.X_train[[i]].nnz]
    assert abs(X - ds.X_train[rows]).max() == 0
    assert [sorted(map(int, labels)) for labels in y] == [ds.Y_train[[i]].indices.tolist() for i in rows]


@settings(max_examples=30, deadline=None)
@given(
    hnp.arrays(np.float32, (4, 3), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)),
    hnp.arrays(bool, (4, 2)),
)
def test_any_numbers_come_back_to_the_last_bit(tmp_path_factory, values, labels):
    X, Y = sparse.csr_array(values), sparse.csr_array(labels.astype(np.float32))
    ds = Dataset("n", X, Y, X, Y)
    for write in (write_xc_text, write_npz):
        again = read(write(ds, tmp_path_factory.mktemp("any")))
        np.testing.assert_array_equal(again.X_train.toarray(), values)
        np.testing.assert_array_equal(again.Y_test.toarray(), labels)


def test_a_folder_that_cannot_be_made_is_refused(put):
    with pytest.raises(DataError, match="cannot be made"):
        write_npz(made(), put("file", "x") / "below")
