"""A damaged file for training or testing is named, and no data set is made of its counterpart alone."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from xmlcore.checks import DataError
from xmlcore.readers import FORMATS, read
from xmlcore.readers.files import DataFile, train_and_test


def parquet() -> bytes:
    table = pd.DataFrame({"text": ["aa bb", "aa", "bb cc"], "labels": [["x"], ["y", "x"], []]})
    return table.to_parquet()


def matlab() -> bytes:
    out = io.BytesIO()
    savemat(out, {"data": np.eye(4, 5), "target": np.eye(4, 3)})
    return out.getvalue()


ARFF = b"@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute a numeric\n@data\n1,2.5\n0,1\n"
# For each format: the names of its two files, what reads well, what is damaged in its first lines, and where.
SAMPLES: dict[str, tuple[str, str, bytes, bytes, str]] = {
    "xc-text": (
        "{train}.txt",
        "train test",
        b"3 4 3\n0,1 0:1\n0,2 0:2\n1 1:1\n",
        b"3 4 3\n0, 1 0:1\n0, 2 0:2\n1 1:1\n",
        ", line 2: ",
    ),
    "libsvm": (
        "{train}/X.svm",
        "train test",
        b"0,1 1:1\n0,2 1:2\n1 2:1\n",
        b"0, 1 1:1\n0, 2 1:2\n1 2:1\n",
        ", line 1: ",
    ),
    "csv": (
        "data_{train}.csv",
        "trn tst",
        b"text,labels\naa bb,x\naa,y\n",
        b"text labels\naa bb,x\naa,y\n",
        ", line 1: ",
    ),
    "csv by its header": (
        "{train}.txt",
        "Training testing",
        b"text,labels\naa bb,x\naa,y\n",
        b"text,\naa bb,x\naa,y\n",
        ", line 1: ",
    ),
    "tab-text": ("eurlex{train}.txt", "Tr Te", b"x\taa bb\ny\taa\nx\tbb\n", b"x aa bb\ny aa\nx\tbb\n", ", line 1: "),
    "fasttext": (
        "set.{train}.txt",
        "train test",
        b"__label__x aa bb\n__label__y aa\n",
        b"label__x aa bb\naa\n",
        ": no word",
    ),
    "json-lines": (
        "{train}.jsonl",
        "train test",
        b'{"text": "aa bb", "labels": ["x"]}\n{"text": "aa", "labels": []}\n',
        b'"text": "aa bb", "labels": ["x"]}\n{"text": "aa", "labels": []}\n',
        ", line 1: ",
    ),
    "parquet": ("mine{train}.parquet", "train test", parquet(), parquet()[1:], ": cannot be read as Parquet"),
    "matlab": ("{train}.dat", "trn ts", matlab(), matlab()[1:], ": does not begin as a MATLAB file"),
    "matlab by its ending": ("{train}.mat", "trn ts", matlab(), matlab()[1:], ": does not begin as a MATLAB file"),
    "arff": ("{train}.arff", "train test", ARFF, ARFF.replace(b"@", b"#"), ", line 1: "),
    "arff by its content": ("{train}.txt", "train test", ARFF, ARFF.replace(b"@", b"#"), ", line 1: "),
}
OTHERS = {"empty": b"", "blank": b"\n\n", "binary": b"\0\x01\xff\n\0,\t:" * 40, "novel": b"A novel begins\nhere.\n"}


def test_every_format_that_tells_train_and_test_by_name_has_a_sample():
    others = {"npz", "xmc-base", "lf", "attentionxml"}
    assert {sample.partition(" by ")[0] for sample in SAMPLES} == set(FORMATS) - others


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("damaged", [0, 1], ids=["train", "test"])
def test_what_is_wrong_with_one_of_two_files_is_said_with_its_name(put, tmp_path, refusal, sample, damaged):
    pattern, words, content, first_lines, where = SAMPLES[sample]
    names = [pattern.format(train=word) for word in words.split()]
    form = sample.partition(" by ")[0]
    for name in names:
        put(f"set/{name}", content)
    assert read(tmp_path / "set").n_test >= 2
    for what, bad in {"first lines": first_lines, **OTHERS}.items():
        put(f"set/{names[damaged]}", bad)
        for chosen in (None, form):
            message = refusal(tmp_path / "set", format=chosen)
            assert message.startswith(names[damaged]), what
            if what == "first lines":
                assert message.startswith(names[damaged] + where)


def test_a_file_of_another_kind_is_not_left_out(put, tmp_path, refusal):
    put("set/train.txt", "text,labels\naa,x\n")
    put("set/test.txt", "0,1 0:1\n1 1:1\n")
    assert refusal(tmp_path / "set", format="xc-text").startswith("train.txt, line 1: found 'text,labels'")
    assert refusal(tmp_path / "set", format="csv").startswith("test.txt, line 2: has 1 cell;")


def test_shapes_that_do_not_fit_together_are_named_with_both_files(put, tmp_path, refusal):
    put("set/train.mat", matlab())
    out = io.BytesIO()
    savemat(out, {"data": np.eye(4, 9), "target": np.eye(4, 3)})
    put("set/test.mat", out.getvalue())
    assert refusal(tmp_path / "set").startswith("train.mat and test.mat: features and labels have the shapes (4, 5)")


def chosen(files: list[str], given: list[str]) -> list[str]:
    """The names that are taken for training and testing of the files that look like data, and those beside them."""
    made = {name: DataFile(name, Path(name)) for name in [*files, *given]}
    return [file.name for file in train_and_test([made[name] for name in files], list(made.values()), "data") if file]


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("train.txt", "test.txt"),
        ("Train.TXT", "test.txt"),
        ("train.txt", "tst.txt"),
        ("data_trn.csv", "data_tst.csv"),
        ("train/X.svm", "test/X.svm"),
        ("a/training/train.svm", "a/testing/test.svm"),
        ("wikiTrain.v2.txt", "wikiTest.v2.txt"),
        ("eurlextrain.txt", "eurlextest.txt"),
        ("latest_train.txt", "latest_test.txt"),
    ],
)
def test_a_counterpart_differs_by_the_word_for_its_role_only(train, test):
    assert chosen([test], [train]) == chosen([train], [test]) == [train, test]


@pytest.mark.parametrize(
    "other",
    [
        *("train_labels.txt", "test_labels.txt", "test.csv", "test", "old/test.txt", "test2.txt", "valid.txt"),
        *("tr_test.txt", "contest.txt", "a.txt", "testing/train.txt"),
    ],
)
def test_other_files_beside_the_data_are_no_counterparts(other):
    assert chosen(["train.txt"], [other]) == ["train.txt"]


def test_where_the_counterpart_is_there_no_other_is_taken():
    assert chosen(["train.txt", "test.txt"], ["tst.txt", "trn.txt", "valid.txt"]) == ["train.txt", "test.txt"]


def test_a_validation_file_does_not_take_the_place_of_a_damaged_one():
    assert chosen(["valid.txt"], ["train.txt"]) == ["train.txt"]
    assert chosen(["valid.txt"], ["train.txt", "test.txt"]) == ["train.txt", "test.txt"]
    with pytest.raises(DataError, match="2 files with data"):
        chosen(["a.txt", "b.txt"], [])


def test_companions_and_split_files_are_no_counterparts(put, tmp_path):
    put("set/trn_names.txt", "0 0:1\n1 1:1\n")
    put("set/test_names.txt", "p\n")
    put("set/trSplit.txt", "1\n")
    assert read(tmp_path / "set", format="xc-text").n_train == 1
    put("set/trainingSplit.txt", "0 0:1\n1 1:1\n").parent.joinpath("trn_names.txt").unlink()
    put("set/tstSplit.txt", "1\n").parent.joinpath("trSplit.txt").unlink()
    with pytest.raises(DataError, match=r"tstSplit\.txt: is named as the test set, but is no part of"):
        read(tmp_path / "set", format="xc-text")


TABLE = "text,labels\n" + "some words,a\nother words,b\n" * 5
LINES = '{"text": "some words", "labels": ["a"]}\n{"text": "other words", "labels": ["b"]}\n' * 5


def test_a_test_set_in_another_format_is_named_and_never_left_out(put, tmp_path):
    put("set/small_train.csv", TABLE)
    put("set/small_test.jsonl", LINES)
    with pytest.raises(DataError, match=r"small_(test\.jsonl|train\.csv).*(named as the test set|one named train)"):
        read(tmp_path / "set")


def test_a_training_set_that_is_none_is_named_and_the_test_set_never_split(put, tmp_path):
    put("set/train.html", "<html>not found</html>")
    put("set/test.txt", "0 0:1\n1 1:1\n")
    with pytest.raises(DataError, match=r"^train\.html: is named as the training set, but is no part of"):
        read(tmp_path / "set")


@pytest.mark.parametrize("form", ["libsvm", "xc-text"])
def test_features_counted_from_one_and_from_zero_are_not_put_together(put, tmp_path, form):
    put("set/x_train.svm", "0 1:1\n1 2:1\n")
    put("set/x_test.txt", "0 0:1\n1 1:1\n")
    with pytest.raises(DataError, match=r"x_train\.svm is named as LIBSVM, the other file is not"):
        read(tmp_path / "set", format=form)


@pytest.mark.parametrize("extra", ["small.jsonl", "picture.png", "my_label_list.txt", "prose.txt"])
def test_files_that_are_no_part_of_the_data_set_are_named(put, tmp_path, extra):
    put("set/small.csv", TABLE)
    assert not any("Not used" in note for note in read(tmp_path / "set").notes)
    put(f"set/{extra}", LINES if extra.endswith("jsonl") else "one\ntwo\n")
    put("set/README.md", "What this is.\n")
    ds = read(tmp_path / "set", format="csv")
    assert [note for note in ds.notes if "Not used" in note] == [f"Not used: {extra}."]
    assert ds.n_train + ds.n_test == 10


def test_where_labels_have_no_names_it_is_said_what_the_file_would_be_called(put, tmp_path):
    put("set/small.txt", "2 2 2\n0 0:1\n1 1:1\n")
    put("set/my_label_list.txt", "sport\nlocal\n")
    notes = read(tmp_path / "set").notes
    assert "Not used: my_label_list.txt. Names of labels would be in label_names.txt, one in a line." in notes
