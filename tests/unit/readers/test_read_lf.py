"""The repository's LF- sets, with pairs to mask before ranking, and their raw texts."""

import json

import pytest

from xmlcore.readers import read, recognise

FILES = {
    "trn_X_Xf.txt": "3 5\n0:0.5 3:1.25\n\n1:0.75\n",
    "trn_X_Y.txt": "3 4\n0:1.00000 2:1.00000\n3:1.00000\n\n",
    "tst_X_Xf.txt": "2 5\n4:1\n0:2\n",
    "tst_X_Y.txt": "2 4\n1:1\n2:0.5\n",
    "lbl_X_Xf.txt": "4 5\n0:1\n1:1\n2:1\n3:1\n",
    "filter_labels_train.txt": "0 2\n2 1\n0 2\n",
    "filter_labels_test.txt": "0 1\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def test_features_labels_and_pairs_to_mask_are_read(folder):
    recognition = recognise(folder)
    assert (recognition.format, recognition.reason) == (
        "lf",
        "trn_X_Xf.txt holds features and trn_X_Y.txt labels",
    )
    ds = read(folder)
    assert ds.X_train.toarray().tolist() == [[0.5, 0, 0, 1.25, 0], [0] * 5, [0, 0.75, 0, 0, 0]]
    assert ds.Y_train.toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 1], [0] * 4]
    assert ds.Y_test.toarray().tolist() == [[0, 1, 0, 0], [0, 0, 1, 0]]
    assert ds.train_filter.toarray().tolist() == [[0, 0, 1, 0], [0] * 4, [0, 1, 0, 0]]
    assert ds.test_filter.toarray().tolist() == [[0, 1, 0, 0], [0] * 4]
    assert "tst_X_Y.txt has 1 label with a value; each above 0 is read as 1." in ds.notes
    assert "Masked before ranking in train: 2 pairs of filter_labels_train.txt." in ds.notes


def test_raw_texts_and_label_names_beside_them_are_kept(folder):
    lines = [json.dumps({"title": f"t{i}", "content": f"c{i}"}) for i in range(3)]
    (folder / "trn.json").write_text("\n".join(lines))
    (folder / "tst.json").write_text("\n".join(lines))
    (folder / "lbl.json").write_text("\n".join(json.dumps({"title": f"label {i}"}) for i in range(4)))
    ds = read(folder)
    assert list(ds.train_texts) == ["t0 c0", "t1 c1", "t2 c2"]
    assert ds.train_names.tolist() == ["t0", "t1", "t2"]
    assert ds.test_texts is None
    assert "tst.json has 3 texts for 2 instances and was left out." in ds.notes
    assert ds.label_name(2) == "label 2"
    (folder / "lbl.json").write_text('{"title": "label 0"}\n')
    ds = read(folder)
    assert ds.label_names is None
    assert "lbl.json has 1 name for 4 labels and was left out." in ds.notes


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("trn_X_Xf.txt", "0:0.5\n", "trn_X_Xf.txt, line 1: found '0:0.5'; expected the numbers of rows and columns"),
        ("trn_X_Xf.txt", "3 5\n0:1\n", "trn_X_Xf.txt, line 1: the header says 3 rows, but below it came 1 line;"),
        ("trn_X_Xf.txt", "3 5\n0:1\n5:1\n\n", "trn_X_Xf.txt, line 3: feature 5 is out of range"),
        ("trn_X_Y.txt", "3 4\n0:1\n4:1\n\n", "trn_X_Y.txt, line 3: label 4 is out of range; expected 4 labels"),
        ("trn_X_Y.txt", "3 4\n0:1\n1,2 4:1\n\n", "trn_X_Y.txt, line 3: the label '1,2' has no value"),
        ("trn_X_Y.txt", "2 4\n0:1\n1:1\n", "trn_X_Xf.txt has 3 rows and trn_X_Y.txt 2; expected the same number"),
        ("trn_X_Xf.txt", "3 99999999999\n", "trn_X_Xf.txt, line 1: names 99999999999 columns"),
        ("trn_X_Xf.txt", f"3 {'9' * 5000}\n", "trn_X_Xf.txt, line 1: found '3 99999999999"),
        ("filter_labels_test.txt", "0 9\n", "filter_labels_test.txt, line 1: label 9 is out of range; expected 0 to 3"),
    ],
)
def test_files_that_do_not_fit_are_refused(folder, refusal, name, content, expected):
    (folder / name).write_text(content)
    assert expected in refusal(folder)


def test_a_side_that_lacks_its_labels_is_refused(folder, refusal):
    (folder / "tst_X_Y.txt").unlink()
    assert refusal(folder).startswith("tst_X_Xf.txt: has no counterpart")
