"""The repository's text format: its quirks, what it refuses, and other tools as witnesses."""

import napkinxc.datasets
import numpy as np
import omikuji
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from xmlcore.readers import LIMITS, read, recognise
from xmlcore.readers import sparse_lines as pieces
from xmlcore.readers.files import DataFile
from xmlcore.readers.sparse_kernel import XC

TRAIN = "3 4 2\n0,1 0:0.5 3:1.25\n1 2:1\n 1:0.75\n"
TEST = "2 4 2\n0 0:1\n1 1:2\n"


def test_a_header_gives_the_shape_and_the_reason_names_it(put):
    folder = put("set/train.txt", TRAIN).parent
    put("set/test.txt", TEST)
    assert "3 points, 4 features, 2 labels" in recognise(folder).reason
    ds = read(folder)
    assert ds.name == "set"
    np.testing.assert_array_equal(ds.X_train.toarray(), [[0.5, 0, 0, 1.25], [0, 0, 1, 0], [0, 0.75, 0, 0]])
    np.testing.assert_array_equal(ds.Y_train.toarray(), [[1, 1], [0, 1], [0, 0]])
    np.testing.assert_array_equal(ds.X_test.toarray(), [[1, 0, 0, 0], [0, 2, 0, 0]])
    assert ds.notes == ()


def test_instances_without_labels_or_features_are_kept(put):
    ds = read([put("train.txt", " 0:1\n0,2\n \n1 3:1\n"), put("test.txt", "0 0:1\n")])
    assert ds.Y_train.toarray().tolist() == [[0, 0, 0], [1, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert np.diff(ds.X_train.indptr).tolist() == [1, 0, 0, 1]


def test_without_a_header_the_wider_of_train_and_test_counts(put):
    narrow, wide = "0 0:1 2:1\n4 1:1\n", "6 0:1 5:1\n"
    ds = read([put("train.txt", narrow), put("test.txt", wide)])
    assert (ds.n_features, ds.n_labels) == (6, 7)
    assert "Train has 3 features and test 6: the wider one counts." in ds.notes
    ds = read([put("train.txt", wide), put("test.txt", narrow)])
    assert (ds.n_features, ds.n_labels) == (6, 7)


def test_labels_with_values_are_read_as_one_and_a_note_says_so(put):
    ds = read([put("train.txt", "2 2 13\n12:0.5,3:2 0:1\n4:0 1:1\n"), put("test.txt", "1 2 13\n1 1:1\n")])
    assert [row.nonzero()[0].tolist() for row in ds.Y_train.toarray()] == [[3, 12], []]
    assert ds.Y_train.data.tolist() == [1, 1]
    assert ds.notes == (
        "3 labels with a value, such as 12:0.5; each is read as 1, or as none where the value is 0 (1).",
    )


def test_split_files_choose_rows_from_one_and_a_column_each(put):
    data = put("x/Set_data.txt", "4 2 2\n0 0:1\n1 0:2\n0 0:3\n1 0:4\n").parent
    put("x/set_trSplit.txt", "1 4\n3 2\n")
    put("x/set_tstSplit.txt", "2 1\n4 3\n")
    assert recognise(data).split_columns == 2
    first, second = read(data), read(data, split_column=1)
    assert first.X_train.toarray()[:, 0].tolist() == [1, 3]
    assert first.X_test.toarray()[:, 0].tolist() == [2, 4]
    assert second.X_train.toarray()[:, 0].tolist() == [4, 2]
    assert second.X_test.toarray()[:, 0].tolist() == [1, 3]
    assert "Split 2 of 2 in set_trSplit.txt is used." in second.notes


@pytest.mark.parametrize(
    ("split", "column", "expected"),
    [
        ("1\n5\n", 0, "line 2: found '5'; expected the number of an instance, 1 to 4"),
        ("0\n", 0, "line 1: found '0'"),
        ("0000000000000000015\n", 0, "line 1: found '0000000000000000015'"),
        ("1\nx\n", 0, "line 2: found 'x'"),
        ("1 2\n", 2, "line 1: has 2 columns; expected a split in column 3"),
        ("1\n1\n", 0, "names 1 instance twice"),
        ("", 0, "is empty"),
    ],
)
def test_a_split_that_cannot_be_is_refused(put, refusal, split, column, expected):
    put("x/data.txt", "4 2 2\n0 0:1\n1 0:2\n0 0:3\n1 0:4\n")
    put("x/tstSplit.txt", "2 1 3\n")
    assert expected in refusal(put("x/trSplit.txt", split).parent, split_column=column)


def test_one_file_is_split_with_a_seed_and_a_note(put):
    path = put("one.txt", "".join(f"{i % 3} {i}:1\n" for i in range(50)))
    first, again, other = read(path), read(path), read(path, seed=1, test_share=0.5)
    assert (first.n_train, first.n_test) == (40, 10)
    assert first.fingerprint == again.fingerprint
    assert other.n_test == 25
    assert first.notes[-1] == "There is no test set: 10 of 50 instances were set aside at random (seed 0)."
    together = sparse.vstack([first.X_train, first.X_test]).sum(axis=0)
    np.testing.assert_array_equal(together, np.ones(50))


def test_windows_line_ends_tabs_a_byte_order_mark_and_a_missing_last_newline_are_fine(put):
    plain = read([put("train.txt", TRAIN), put("test.txt", TEST)])
    odd = b"\xef\xbb\xbf" + TRAIN.replace(" 3:", "\t3:").replace("\n", "\r\n").rstrip().encode()
    assert read([put("train.txt", odd), put("test.txt", TEST)]).fingerprint == plain.fingerprint
    bare = TRAIN.partition("\n")[2]
    odd = b"\xef\xbb\xbf" + bare.replace("\n", "\r\n").encode()
    assert read([put("train.txt", odd), put("test.txt", TEST)]).fingerprint == plain.fingerprint


def test_blank_lines_at_the_end_count_only_where_the_header_counts_them(put):
    test = put("test.txt", TEST)
    assert read([put("train.txt", TRAIN + "\n\r\n\n"), test]).n_train == 3
    assert read([put("train.txt", TRAIN.replace("3 4 2", "5 4 2") + "\n\n\n"), test]).n_train == 5
    assert read([put("train.txt", TRAIN.partition("\n")[2] + "\n\n"), test]).n_train == 3


def test_features_in_any_order_are_sorted_and_zeros_are_not_stored(put):
    ds = read([put("train.txt", "1 4 1\n0 3:3 0:0 1:1\n"), put("test.txt", "1 4 1\n0 1:1\n")])
    assert ds.X_train.indices.tolist() == [1, 3]
    assert ds.X_train.data.tolist() == [1, 3]


@given(st.integers(0, 1_000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, 2**32 - 1))))
@settings(max_examples=50)
def test_rows_of_any_length_are_sorted_as_numpy_sorts_them(tmp_path_factory, drawn):
    longest, length, seed = drawn
    rng = np.random.default_rng(seed)
    features = rng.permutation(longest + 1)[: length + 1]
    labels = rng.integers(0, longest + 1, size=length + 1)
    path = tmp_path_factory.mktemp("rows") / "train.txt"
    entries = " ".join(f"{feature}:{feature + 1}" for feature in features)
    path.write_text(f"0 0:1\n{','.join(map(str, labels))} {entries}\n0 0:1\n")
    test = path.with_name("test.txt")
    test.write_text("0 0:1\n")
    ds = read([path, test])
    row, marks = ds.X_train[[1]], ds.Y_train[[1]]
    assert row.indices.tolist() == np.sort(features).tolist()
    assert row.data.tolist() == (np.sort(features) + 1).tolist()
    assert marks.indices.tolist() == np.unique(labels).tolist()


@pytest.mark.parametrize(
    ("content", "sizes"),
    [
        ("1 1 1\n0 0:1\n", "1 point, 1 feature, 1 label"),
        ("2 2000 0\n 0:1\n 1:1\n", "2 points, 2,000 features, 0 labels"),
    ],
)
def test_the_sizes_in_a_header_are_told_one_by_one(put, content, sizes):
    assert recognise(put("a.txt", content)).reason == f"a.txt begins with a header: {sizes}"


def test_a_label_that_is_named_again_counts_once(put):
    ds = read([put("train.txt", "2,0,2 0:1\n"), put("test.txt", "2 0:1\n")])
    assert ds.Y_train.indices.tolist() == [0, 2]
    assert ds.notes == ("1 label named again in one line; each counts once.",)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("2 4 2\n0 0:1\n1 1:1 3:\n", "line 3: the value in '3:' is no number"),
        ("2 4 2\n0 0:1\n1 1:1 3:.\n", "line 3: the value in '3:.' is no number"),
        ("2 4 2\n0 0:1\n1 1:1 3:-\n", "line 3: the value in '3:-' is no number"),
        ("2 4 2\n0 0:1\n1 1:1 3:.e5\n", "line 3: the value in '3:.e5' is no number"),
        ("2 4 2\n0 0:1\n1 1:1 3\n", "line 3: the feature '3' has no value; expected index:value"),
        ("2 4 2\n0 0:1\n1 1:one\n", "line 3: the value in '1:one' is no number"),
        ("2 4 2\n0 0:1\n1 1:1.5.2\n", "line 3: the value in '1:1.5.2' is no number"),
        ("2 4 2\n0 0:1\n1 1:nan\n", "line 3: the value in '1:nan' is not finite"),
        ("2 4 2\n0 0:1\n1 1:-inf\n", "line 3: the value in '1:-inf' is not finite"),
        ("2 4 2\n0 0:1\n1 1:1e39\n", "line 3: the value in '1:1e39' is not finite"),
        ("2 4 2\n0 0:1\n1: 1:1\n", "line 3: the value in '1:' is no number"),
        ("2 4 2\n0 0:1\n1:1e999 1:1\n", "line 3: the value in '1:1e999' is not finite"),
        ("2 4 2\n0 0:1\n1 4:1\n", "line 3: feature 4 is out of range; expected 4 features, numbered 0 to 3"),
        ("2 4 2\n0 0:1\n2 1:1\n", "line 3: label 2 is out of range; expected 2 labels, numbered 0 to 1"),
        ("2 4 2\n0 0:1\n1 2:1 1:1 2:3\n", "line 3: feature 2 occurs twice"),
        ("2 4 2\n0 0:1\n1,x 2:1\n", "line 3: found 'x' where labels were expected"),
        ("2 4 2\n0 0:1\n1 x:1\n", "line 3: found 'x:1' where a feature was expected"),
        ("2 4 2\n0 0:1\n-1 2:1\n", "line 3: found '-1' where labels were expected"),
        ("2 4 2\n0 0:1\n1 2:1 \xff:2\n", "line 3: found"),
        ("3 4 2\n0 0:1\n1 2:1\n", "line 1: the header says 3 points, but below it came 2 lines"),
        ("1 4 2\n0 0:1\n1 2:1\n", "line 1: the header says 1 point, but below it came 2 lines"),
        ("2 99999999999 2\n0 0:1\n1 2:1\n", "line 1: the header names 99999999999 features or labels"),
        (f"{'9' * 5000} 4 2\n0 0:1\n1 2:1\n", "line 1: label 99999999999999999 is out of range"),
        ("0 0:1\n1 99999999999999999999999:1\n", "is out of range; expected numbers from 0 to"),
        ("0 0:1\n99999999 1:1\n", "line 2: label 99999999 is out of range"),
        ("0 0:1\n\n1\x00 1:1\n", "line 3"),
    ],
)
def test_a_line_that_is_wrong_is_named_with_what_was_expected(put, refusal, content, expected):
    message = refusal(put("bad.txt", content))
    assert message.startswith("bad.txt, line ")
    assert expected in message


def test_files_that_cannot_be_told_apart_are_listed(put, refusal):
    put("x/a.txt", TRAIN)
    message = refusal(put("x/b.txt", TRAIN).parent)
    assert message == (
        "2 files with labels and features (a.txt, b.txt); expected one, or one named train and one named test"
    )


def test_names_and_masked_pairs_beside_the_data_are_taken(put):
    folder = put("set/train.txt", TRAIN).parent
    put("set/test.txt", TEST)
    put("set/label_names.txt", "politics\nsport\n")
    put("set/Xf.txt", "a\nb\nc\nd\n")
    put("set/test_names.txt", "first\nsecond\n")
    put("set/filter_labels_test.txt", "0 1\n1 0\n0 1\n")
    ds = read(folder)
    assert ds.label_names.tolist() == ["politics", "sport"]
    assert ds.feature_names.tolist() == ["a", "b", "c", "d"]
    assert ds.test_names.tolist() == ["first", "second"]
    assert ds.train_filter is None
    assert ds.test_filter.toarray().tolist() == [[0, 1], [1, 0]]


def test_names_that_are_too_few_are_left_out_and_said(put):
    folder = put("set/train.txt", TRAIN).parent
    put("set/label_names.txt", "politics\n")
    ds = read(folder)
    assert ds.label_names is None
    assert "label_names.txt has 1 name for 2 labels and was left out." in ds.notes


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ("0 1\n7 0\n", "filter_labels_train.txt, line 2: instance 7 is out of range; expected 0 to 2"),
        ("0 1\n\n0 x\n", "filter_labels_train.txt, line 3: found '0 x'; expected an instance and a label"),
        ("0 1\n0\n", "filter_labels_train.txt, line 2: found '0'; expected an instance and a label"),
        ("0 5\n", "filter_labels_train.txt, line 1: label 5 is out of range; expected 0 to 1"),
    ],
)
def test_masked_pairs_that_name_nothing_are_refused(put, refusal, pairs, expected):
    put("set/train.txt", TRAIN)
    put("set/test.txt", TEST)
    assert expected in refusal(put("set/filter_labels_train.txt", pairs).parent)


def random_set(seed: int) -> tuple[sparse.csr_array, sparse.csr_array]:
    rng = np.random.default_rng(seed)
    X = sparse.random_array((60, 40), density=0.2, rng=rng, format="csr", dtype=np.float32)
    Y = sparse.random_array((60, 12), density=0.2, rng=rng, format="csr")
    Y.data[:] = 1
    return X, Y


def test_a_file_of_scikit_learn_is_read_to_the_same_matrices(tmp_path):
    X, Y = random_set(0)
    path = tmp_path / "dumped.txt"
    dump_svmlight_file(X, Y, str(path), multilabel=True, zero_based=True)
    lines = pieces.read_sparse_lines(DataFile("dumped.txt", path), form=XC, max_columns=LIMITS.max_columns)
    assert abs(lines.X - X).max() == 0
    assert (lines.Y != Y).nnz == 0
    again, _ = load_svmlight_file(str(path), multilabel=True, zero_based=True, dtype=np.float32)
    assert (again != lines.X).nnz == 0


def test_napkinxc_and_omikuji_read_the_same_file_to_the_same_shape(put):
    X, Y = random_set(1)
    rows = [
        ",".join(map(str, Y[[i]].indices))
        + "".join(f" {n}:{v!s}" for n, v in zip(X[[i]].indices, X[[i]].data, strict=True))
        for i in range(60)
    ]
    path = put("train.txt", "60 40 12\n" + "\n".join(rows) + "\n")
    ds = read([path, put("test.txt", "1 40 12\n0 0:1\n")])
    theirs_X, theirs_Y = napkinxc.datasets.load_libsvm_file(str(path), labels_format="csr_matrix")
    assert (ds.n_train, ds.X_train.nnz, ds.Y_train.nnz) == (60, theirs_X.nnz, theirs_Y.nnz)
    assert abs(ds.X_train - theirs_X[:, :40]).max() < 1e-6
    assert (ds.Y_train != theirs_Y[:, :12]).nnz == 0
    param = omikuji.Model.default_hyper_param()
    param.n_trees = 1
    assert omikuji.Model.train_on_data(str(path), param).n_features == ds.n_features


def test_the_size_of_the_pieces_changes_nothing(put, monkeypatch):
    path = put("train.txt", "\n".join(f"{i % 7} {i % 11}:0.5 {20 + i % 13}:{i}e-3" for i in range(200)))
    whole = read(path).fingerprint
    for size in (1, 7, 64):
        monkeypatch.setattr(pieces, "_PIECE", size)
        assert read(path).fingerprint == whole
    put("train.txt", path.read_text().replace("5 10:0.5 21:131", "5 10:0.5 x:131"))
    with pytest.raises(ValueError, match=r"train.txt, line \d+: found 'x:") as caught:
        read(path)
    line = int(str(caught.value).split("line ")[1].split(":")[0])
    assert "x:" in path.read_text().splitlines()[line - 1]


@pytest.mark.parametrize("size", [1, 2, 5, 8, 13, 21])
def test_blank_lines_at_the_end_are_no_instances_in_pieces_of_any_size(put, monkeypatch, size):
    lines = "0,1 0:2 3:0.25\n\n\n1 1:1\n 2:1e-3\n\n0 0:3\n\n\n"
    paths = put("train.txt", lines), put("test.txt", "1 3:1\n")
    whole = read(paths)
    assert whole.n_train == 7
    monkeypatch.setattr(pieces, "_PIECE", size)
    assert read(paths).fingerprint == whole.fingerprint


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
        st.floats(-3e38, 3e38).map(lambda value: f"{value:.25g}"),
        st.decimals(-1000, 1000, places=12).map(str),
        st.from_regex(
            r"[+-]?([0-9]{1,30}|[0-9]{0,20}\.[0-9]{1,20}|[0-9]{1,5}\.)([eE][+-]?[0-9]{1,3})?", fullmatch=True
        ),
    )
)
@example("123456789012345678901234567")  # more digits than an integer holds
@example("0.000000000000000000001234567890123456789")
@example("1e-700")
def test_numbers_are_read_as_python_reads_them(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("number") / "n.txt"
    path.write_text(f"1 2 1\n0 1:{text}\n")
    with np.errstate(over="ignore"):
        value = np.float32(float(text))
    if not np.isfinite(value):
        with pytest.raises(ValueError, match="not finite"):
            pieces.read_sparse_lines(DataFile("n.txt", path), form=XC, skip_lines=1, max_columns=9)
        return
    seen = pieces.read_sparse_lines(DataFile("n.txt", path), form=XC, skip_lines=1, max_columns=9).X.toarray()[0]
    assert (seen[-1] if seen.size else 0) == pytest.approx(value, rel=2e-7, abs=2e-45)
