"""LIBSVM's multi-label files, as scikit-learn writes and reads them, and how they are told from the repository's."""

import io

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from xmlcore.readers import read, recognise


def random_set(seed: int, rows: int = 40) -> tuple[sparse.csr_array, sparse.csr_array]:
    rng = np.random.default_rng(seed)
    X = sparse.random_array((rows, 20), density=0.2, rng=rng, format="csr", dtype=np.float32)
    Y = sparse.random_array((rows, 6), density=0.3, rng=rng, format="csr")
    Y.data[:] = 1
    return X, Y


def test_files_of_scikit_learn_come_back_the_same(tmp_path):
    expected = []
    for seed, side in enumerate(("train", "test")):
        X, Y = random_set(seed)
        dump_svmlight_file(X, Y, str(tmp_path / f"{side}.svm"), multilabel=True, zero_based=False, comment="made here")
        expected.append((X, Y))
    recognition = recognise(tmp_path)
    assert recognition.format == "libsvm"
    assert "without a header, and no feature 0" in recognition.reason
    assert [other.format for other in recognition.alternatives] == ["xc-text"]
    ds = read(tmp_path)
    for X, Y, (their_X, their_Y) in zip((ds.X_train, ds.X_test), (ds.Y_train, ds.Y_test), expected, strict=True):
        assert abs(X - their_X).max() == 0
        assert (their_Y != Y).nnz == 0


def test_feature_zero_anywhere_makes_it_the_repository_s_format(put):
    lines = "0 1:1\n" * 30_000
    assert recognise(put("one.txt", lines)).format == "libsvm"
    recognition = recognise(put("zero.txt", lines + "0 0:1\n"))
    assert recognition.format == "xc-text"
    assert recognition.alternatives[0].format == "libsvm"


def test_the_format_can_be_chosen_and_shifts_the_features(put):
    path = put("x.txt", "0 1:1 3:2\n1 2:1\n0 1:5\n")
    assert read(path).n_features == 3
    assert read(path, format="xc-text").n_features == 4


def test_a_line_without_labels_begins_with_a_blank_or_a_feature(put):
    ds = read([put("train.svm", "1 1:1\n 2:1\n1:2 3:1\n0,1\t2:3\n\n# no instance\n \n"), put("test.svm", "1 3:1\n")])
    assert ds.Y_train.toarray().tolist() == [[0, 1], [0, 0], [0, 0], [1, 1], [0, 0]]
    assert ds.X_train.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [2, 0, 1], [0, 3, 0], [0, 0, 0]]


def test_comments_end_a_line_as_scikit_learn_has_it(put):
    content = "# about\n1 1:1 # a:b c\n0,1 2:0.5# d\n"
    ds = read([put("train.svm", content), put("test.svm", content)])
    X, y = load_svmlight_file(io.BytesIO(content.encode()), multilabel=True, zero_based=False)
    assert ds.X_train.toarray().tolist() == X.toarray().tolist()
    assert [tuple(ds.Y_train[[i]].indices) for i in range(2)] == y


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1 1:1\n1 0:1\n", "line 2: feature 0 is out of range; expected numbers from 1"),
        ("1 1:1\n\n# c\n1 2:x\n", "line 4: the value in '2:x' is no number"),
        ("1 1:1\n1 2:1.5x\n", "line 2: the value in '2:1.5x' is no number"),
        ("1 1:1\n1 2:1 2:1\n", "line 2: feature 2 occurs twice"),
        ("1 1:1\nqid:3 2:1\n", "line 2: found 'qid:3'"),
        ("# only\n\n", "holds no instance"),
    ],
)
def test_a_line_that_is_wrong_is_named(put, refusal, content, expected):
    assert expected in refusal(put("x.svm", content), format="libsvm")
