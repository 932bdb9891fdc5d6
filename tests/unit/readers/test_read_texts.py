"""Texts with labels in AttentionXML's, tabbed and fastText's layouts, and as Parquet."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tests.unit.readers.texts import same_as_given, shown
from xmlcore.readers import LIMITS, read, recognise
from xmlcore.readers.limits import Limits

TEXTS = ["the match was won", "the vote was lost", "a match and a vote"]
LABELS = [["sport", "local"], ["politics"], []]


def both(put, name: str, content: str | bytes):
    """The content as a file for training and one for testing, in a folder of their own."""
    put(f"set/{name.format('train')}", content)
    return put(f"set/{name.format('test')}", content).parent


@pytest.mark.parametrize("texts", ["{}_raw_texts.txt", "{}_texts.txt"])
def test_texts_and_labels_in_files_of_their_own_go_line_by_line(put, texts):
    both(put, "{}_labels.txt", "".join(" ".join(labels) + "\n" for labels in LABELS))
    folder = both(put, texts, "\n".join(TEXTS) + "\n")
    assert recognise(folder).format == "attentionxml"
    assert same_as_given(read(folder), TEXTS, LABELS)


def test_matrices_beside_such_texts_come_first_and_the_texts_are_kept(put):
    both(put, "{}_labels.txt", "".join(" ".join(labels) + "\n" for labels in LABELS))
    folder = both(put, "{}_raw_texts.txt", "\n".join(TEXTS) + "\n")
    for side in ("trn", "tst"):
        sparse.save_npz(folder / f"X.{side}.npz", sparse.csr_array(np.eye(3)))
        sparse.save_npz(folder / f"Y.{side}.npz", sparse.csr_array(np.eye(3)))
    recognition = recognise(folder)
    assert (recognition.format, recognition.alternatives[0].format) == ("npz", "attentionxml")
    ds = read(folder)
    assert (list(ds.train_texts), ds.feature_kind) == (TEXTS, "values")
    assert same_as_given(read(folder, format="attentionxml"), TEXTS, LABELS)


def test_texts_and_labels_of_different_length_are_refused(put, refusal):
    both(put, "{}_labels.txt", "a\nb\n")
    folder = both(put, "{}_texts.txt", "a b\n")
    assert refusal(folder) == "train_texts.txt has 1 line and train_labels.txt 2; expected the same number"
    (folder / "test_texts.txt").unlink()
    (folder / "train_texts.txt").write_text("ab\ncd\n")
    assert refusal(folder) == "test_labels.txt lies alone; expected test_raw_texts.txt and test_labels.txt"


@pytest.mark.parametrize("delimiter", [",", "|", ";", ", "])
@pytest.mark.parametrize("with_id", [False, True])
def test_labels_a_tab_and_text_with_or_without_an_id(put, delimiter, with_id):
    rows = zip(range(3), LABELS, TEXTS, strict=True)
    lines = [(f"id{i}\t" * with_id) + delimiter.join(labels) + "\t" + text + "\n" for i, labels, text in rows]
    folder = both(put, "{}.txt", "".join(lines))
    assert recognise(folder).format == "tab-text"
    ds = read(folder)
    assert same_as_given(ds, TEXTS, LABELS)
    assert (ds.train_names is not None) == with_id


def test_numbers_as_labels_may_have_blanks_between(put):
    ds = read(both(put, "{}.tsv", "10 2\tsome words\n3\tmore\twords\n4\twords\n"), format="tab-text")
    assert ds.train_names is None
    assert shown(ds) == [["2", "10"], ["3"], ["4"]]
    assert ds.train_texts[1] == "more\twords"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\tb c\nd\n", "t.txt, line 2: has 1 field; expected 2 with tabs between"),
        ("1\ta\tb c\n\n2\td\n", "t.txt, line 3: has 2 fields; expected 3 with tabs between"),
        ("[a\tb\n[1.5]\tb\n", "t.txt, line 2: the label '1.5' is no text"),
    ],
)
def test_a_tabbed_line_that_is_wrong_is_named(put, refusal, content, expected):
    assert expected in refusal(put("t.txt", content))


def test_fasttext_marks_labels_wherever_they_stand(put):
    content = "__label__sport __label__local the match was won\nthe vote __label__politics was lost\n\n" + TEXTS[2]
    folder = both(put, "{}.txt", content)
    assert recognise(folder).format == "fasttext"
    assert same_as_given(read(folder), TEXTS, LABELS)


def test_a_fasttext_label_without_a_name_is_refused(put, refusal):
    assert refusal(put("t.txt", "__label__a b c\n__label__ d\n")).startswith("t.txt, line 2: __label__ stands without")


@pytest.mark.parametrize("as_list", [True, False])
def test_parquet_of_pandas_is_read(tmp_path, as_list):
    labels = LABELS if as_list else ["|".join(labels) for labels in LABELS]
    for side in ("train", "test"):
        pd.DataFrame({"text": TEXTS, "labels": labels}).to_parquet(tmp_path / f"{side}.parquet")
    assert recognise(tmp_path).format == "parquet"
    assert same_as_given(read(tmp_path), TEXTS, LABELS)


def test_parquet_with_columns_of_zeros_and_ones_is_read(tmp_path):
    labels = {"local": [True, False, False], "politics": [0.0, 1.0, 0.0], "sport": [1, 0, 0]}
    table = pd.DataFrame({"text": TEXTS, **labels})
    for side in ("train", "test"):
        table.to_parquet(tmp_path / f"{side}.parquet")
    assert same_as_given(read(tmp_path), TEXTS, LABELS)


def test_parquet_that_is_damaged_or_expands_too_far_is_refused(tmp_path, refusal):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"text": ["the same words"] * 200_000, "labels": ["x"] * 200_000}).to_parquet(path)
    assert path.stat().st_size < 10_000
    assert "expands to more than 20 MB" in refusal(path, limits=Limits(max_expanded_bytes=20_000_000))
    path.write_bytes(path.read_bytes()[:-30])
    assert refusal(path).startswith("t.parquet: cannot be read as Parquet")
    pd.DataFrame({"text": [], "labels": []}).to_parquet(path)
    assert refusal(path, limits=LIMITS) == "t.parquet: holds no row; expected instances"


def test_what_is_wrong_in_parquet_is_named_with_its_row(tmp_path, refusal):
    path = tmp_path / "t.parquet"
    rows = 5_000  # more than one batch
    labels = {"a": [0.0, 1.0] * (rows // 2), "b": [1.0] * (rows - 1) + [0.5]}
    pd.DataFrame({"text": ["the words"] * rows, **labels}).to_parquet(path)
    assert refusal(path) == f"t.parquet, row {rows}: 'b' is '0.5'; expected 0 or 1"
    pd.DataFrame({"text": ["the words"], "kind": ["x"]}).to_parquet(path)
    assert refusal(path).startswith("t.parquet: no column for labels among 'text', 'kind'")
