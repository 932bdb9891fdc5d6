"""Texts with labels as CSV and JSON lines: columns, delimiters, lists, and what is refused."""

import gzip
import json

import napkinxc.datasets
import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MultiLabelBinarizer

from tests.unit.readers.texts import same_as_given, shown
from xmlcore.readers import assemble, read, recognise

TEXTS = ["the match was won", "the vote was lost", "a match and a vote", 'no news, "none"\nat all']
LABELS = [["sport", "local"], ["politics"], ["sport", "politics"], []]


@pytest.mark.parametrize(
    "cell",
    [
        "|".join,
        ";".join,
        ",".join,
        " | ".join,
        json.dumps,
        str,
        lambda labels: str(tuple(labels)),
    ],
)
@pytest.mark.parametrize(("end", "separator"), [(".csv", ","), (".csv", ";"), (".tsv", "\t")])
def test_tables_of_pandas_are_read_whatever_stands_between_labels(tmp_path, cell, end, separator):
    table = pd.DataFrame({"id": range(4), "text": TEXTS, "labels": [cell(labels) for labels in LABELS]})
    for side in ("train", "test"):
        table.to_csv(tmp_path / f"{side}{end}", index=False, sep=separator)
    recognition = recognise(tmp_path)
    assert (recognition.format, recognition.reason) == (
        "csv",
        f"test{end} is a table with the columns 'text' and 'labels'",
    )
    assert same_as_given(read(tmp_path), TEXTS, LABELS)


def test_words_are_counted_over_the_vocabulary_of_the_training_texts(put):
    table = "text,labels\n{}"
    ds = read(
        [
            put("train.csv", table.format("red red wine,a\nred beer,b\nwhite wine,a\n")),
            put("test.csv", table.format("red cider wine wine,a\n")),
        ]
    )
    assert ds.feature_names.tolist() == ["red", "wine"]
    assert ds.X_train.toarray().tolist() == [[2, 1], [1, 0], [0, 1]]
    assert ds.X_test.toarray().tolist() == [[1, 2]]
    assert ds.feature_kind == "counts"
    assert "Features are counts of the 2 words found in at least 2 training texts." in ds.notes


def test_the_vocabulary_is_bounded_and_the_note_says_so(put, monkeypatch):
    monkeypatch.setattr(assemble, "MAX_WORDS", 2)
    rows = "aa aa aa bb bb cc,x\naa bb cc,y\n" * 2
    ds = read([put("train.csv", "text,labels\n" + rows), put("test.csv", "text,labels\n" + rows)])
    assert ds.feature_names.tolist() == ["aa", "bb"]
    assert any("only the 2 most frequent are kept" in note for note in ds.notes)


def test_title_and_content_are_one_text_and_the_title_names_the_instance(put):
    ds = read([put("train.csv", "title,content,tags\nAa,b c,x\n"), put("test.csv", "title,content,tags\nD,e,x\n")])
    assert list(ds.train_texts) == ["Aa b c"]
    assert ds.train_names.tolist() == ["Aa"]


def test_columns_of_zeros_and_ones_are_labels(put):
    rows = "id,comment_text,toxic,mild\n7,so very bad,1,0\n8,not so bad,0,1\n9,so nice,0,0\n"
    ds = read([put("train.csv", rows), put("test.csv", rows)])
    assert shown(ds) == [["toxic"], ["mild"], []]
    assert ds.train_names.tolist() == ["7", "8", "9"]
    assert ds.notes[0] == "Labels are 2 columns of 0 and 1; text in 'comment_text'."


def test_the_longest_column_is_the_text_where_no_name_says_so(put):
    rows = "key,words,labels\nk,a long long text,x\nl,another long text,y\n"
    ds = read([put("train.csv", rows), put("test.csv", rows)])
    assert ds.train_texts[0] == "a long long text"


def test_numbers_as_labels_are_put_in_the_order_of_numbers(put):
    rows = "text,labels\nsome words,10 9\nmore words,9 100\n"
    ds = read([put("train.csv", rows), put("test.csv", rows)])
    assert ds.label_names.tolist() == ["9", "10", "100"]
    assert shown(ds) == [["9", "10"], ["9", "100"]]


def test_a_label_may_have_several_words(put):
    rows = "text,labels\nsome words,machine learning\nmore words,art\n"
    assert read([put("train.csv", rows), put("test.csv", rows)]).label_names.tolist() == ["art", "machine learning"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("text,labels\na b,x\nc d\n", "t.csv, line 3: has 1 cell; expected 2, as the first row has"),
        ('text,labels\n"a\nb",x\nc d\n', "t.csv, line 4: has 1 cell; expected 2"),
        ('text,labels\na b,"x\n', "t.csv, line 2: the row that begins here is no CSV (unexpected end of data)"),
        ('text,labels\n"a\nb",x\n\n"c,x\n' + "d,x\n" * 9, "t.csv, line 5: the row that begins here is no CSV (unex"),
        ('text,labels\na b,"x\n' + "c,x\n" * 3 + 'd,"e f"\n', "t.csv, line 2: the row that begins here is no CSV"),
        ('text,labels\na b,"x\nd,"e f"\n', """(',' expected after '"', noticed in line 3); expected quotes in pairs"""),
        ('"text,labels\na b,x\nd,e\n', "t.csv, line 1: the row that begins here is no CSV"),
        ("text,labels\n", "t.csv: holds no row"),
        ("text,text,labels\na,b,c\n", "t.csv, line 1: names a column twice"),
        ("text,kind\na,b\n", "t.csv, line 1: no column for labels among 'text', 'kind'"),
        ("text,labels\na b,[1\n2]\n", "t.csv, line 3: has 1 cell;"),
        ("text,labels\nab cd,[x y]\n", "t.csv, line 2: the labels '[x y]' are no list"),
        ('text,labels\nab cd,"[1.5, 2]"\n', "t.csv, line 2: the label '1.5' is no text and no whole number"),
        ("text,labels\nab cd,\nef,\n", "t.csv: no instance has a label"),
        (b"text,labels\nab \xe9,x\n", "t.csv, line 2"),
        (b"text,labels\n" + b"ab,x\n" * 20_000 + b"ab \xe9,x\n", "t.csv, line 20002: byte b'\\xe9' is not UTF-8"),
        ("text,labels\nab,x\n".encode("utf-16"), "t.csv: seems to be text in UTF-16; expected text in UTF-8"),
    ],
)
def test_a_table_that_is_wrong_is_named_with_its_line(put, refusal, content, expected):
    assert expected in refusal(put("t.csv", content))


def test_a_test_table_without_the_labels_is_refused(put, refusal):
    train, test = put("train.csv", "text,labels\nab,x\n"), put("test.csv", "text,id\nab,1\n")
    assert (
        refusal([train, test]) == "test.csv, line 1: the column 'labels' is missing; expected the columns of train.csv"
    )


def repository(folder, compress: bool):
    """The repository's raw files of four instances, three labels and a pair to mask."""
    for side in ("trn", "tst"):
        lines = [
            json.dumps(
                {"uid": f"u{i}", "title": f"title {i}", "content": text, "target_ind": [i % 3], "target_rel": [1.0]}
            )
            for i, text in enumerate(TEXTS)
        ]
        content = ("\n".join(lines) + "\n").encode()
        (folder / f"{side}.json{'.gz' * compress}").write_bytes(gzip.compress(content) if compress else content)
    (folder / "lbl.json").write_text(
        "".join(json.dumps({"uid": f"l{i}", "title": f"label {i}"}) + "\n" for i in range(4))
    )
    (folder / "filter_labels_train.txt").write_text("1 1\n")


@pytest.mark.parametrize("cells", [["0", "2", "1", "2"], ["0,2", "2", "1", "2,0"], ["[0, 2]", "2", "1", "[2]"]])
def test_numbers_of_labels_in_a_table_of_text_are_the_labels(put, cells):
    texts = ["the match", "was won", "the vote", "was lost"]
    rows = "".join(f'{text},"{cell}"\n' for text, cell in zip(texts, cells, strict=True))
    ds = read(put("t.csv", "text,target_ind\n" + rows))
    found = dict(zip([*ds.train_texts, *ds.test_texts], [*ds.Y_train.toarray(), *ds.Y_test.toarray()], strict=True))
    for text, cell in zip(texts, cells, strict=True):
        assert np.flatnonzero(found[text]).tolist() == sorted(int(digit) for digit in cell if digit.isdigit())


@pytest.mark.parametrize("compress", [False, True])
def test_the_raw_files_of_the_repository_are_read_as_napkinxc_reads_them(tmp_path, compress):
    repository(tmp_path, compress)
    assert "target_ind" in recognise(tmp_path).reason
    ds = read(tmp_path)
    assert (ds.n_train, ds.n_test, ds.n_labels) == (4, 4, 4)
    assert read(sorted(tmp_path.iterdir())).name == "data"  # none of these names says what it is
    assert ds.label_names.tolist() == ["label 0", "label 1", "label 2", "label 3"]
    assert ds.train_names.tolist()[2] == "title 2"
    assert ds.train_filter.toarray()[1].tolist() == [0, 1, 0, 0]
    texts, labels = napkinxc.datasets.load_json_lines_file(str(tmp_path / f"trn.json{'.gz' * compress}"))
    assert list(ds.train_texts) == texts
    np.testing.assert_array_equal(
        ds.Y_train.toarray()[:, :3], MultiLabelBinarizer(classes=[0, 1, 2]).fit_transform(labels)
    )


@pytest.mark.parametrize("orient", ["lines", "list"])
def test_json_of_pandas_with_names_of_labels_is_read(tmp_path, orient):
    table = pd.DataFrame({"text": TEXTS, "tags": LABELS})
    for side in ("train", "test"):
        table.to_json(tmp_path / f"{side}.json", orient="records", lines=orient == "lines")
    assert same_as_given(read(tmp_path), TEXTS, LABELS)


def test_labels_in_json_may_be_delimited_text_missing_or_null(put):
    lines = '{"text": "aa bb", "labels": "x|y"}\n\n{"text": "aa"}\n{"text": null, "labels": null}\n'
    lines += '{"text": "bb", "labels": 3}\n'
    ds = read([put("train.jsonl", lines), put("test.jsonl", lines)])
    assert shown(ds) == [["x", "y"], [], [], ["3"]]


def test_zeros_and_ones_in_json_are_labels_in_whatever_type_they_come(put):
    lines = '{"text": "aa bb", "p": 1, "q": false, "r": "0"}\n{"text": ["aa", "bb"], "p": 0.0, "q": true, "r": "1"}\n'
    ds = read([put("train.jsonl", lines), put("test.jsonl", lines)])
    assert same_as_given(ds, ["aa bb", "aa bb"], [["p"], ["q", "r"]])


def test_a_cell_that_is_neither_zero_nor_one_far_below_is_named_with_its_line(put, refusal):
    rows = "aa bb,1,0\naa,0,1\n" * 600
    assert refusal(put("t.csv", f"text,p,q\n{rows}bb,0,2\n")) == "t.csv, line 1202: 'q' is '2'; expected 0 or 1"


def test_what_is_missing_in_json_is_no_text_no_label_and_no_name(put):
    lines = (
        '{"title": "aa bb", "abstract": null, "labels": ["x", "", " ", null]}\n'
        '{"title": NaN, "abstract": "bb", "labels": [NaN, "y"]}\n{"title": "aa", "labels": null}\n'
    )
    ds = read([put("train.jsonl", lines), put("test.jsonl", lines)])
    assert same_as_given(ds, ["aa bb", "bb", "aa"], [["x"], ["y"], []])
    titles = lines.replace('"abstract"', '"kind"')
    ds = read([put("train.jsonl", titles), put("test.jsonl", titles)])
    assert ds.train_texts == ["aa bb", "", "aa"]
    assert ds.train_names is None  # the only text is no name beside itself


def test_halves_of_surrogate_pairs_are_replaced(put):
    lines = '{"text": "aa \\ud800", "labels": ["\\udfff"]}\n{"text": "aa", "labels": []}\n'
    ds = read([put("train.jsonl", lines), put("test.jsonl", lines)])
    assert (ds.train_texts[0], ds.label_names[0]) == ("aa ?", "?")
    ones = '{"text": "aa", "\\ud800": 1, "b": 0}\n'
    assert read([put("train.jsonl", ones), put("test.jsonl", ones)]).label_names.tolist() == ["?"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"text": "a", "labels": []}\n{"text": ', "t.jsonl, line 2: is no JSON"),
        ('{"text": "a", "labels": ["x"]}\n[1]\n', "t.jsonl, line 2: holds '[1]'; expected a JSON object"),
        ('{"text": "a", "labels": [{"b": 1}]}\n', "t.jsonl, line 1: the label \"{'b': 1}\" is no text"),
        ('{"text": "a", "labels": [true]}\n', "t.jsonl, line 1: the label 'True' is no text"),
        ('{"text": "a", "labels": [Infinity]}\n', "t.jsonl, line 1: the label 'inf' is no text"),
        ('{"text": "a", "target_ind": ["x"]}\n', "t.jsonl, line 1: label 'x' in target_ind is out of range"),
        ('{"text": "aa", "target_ind": [-1]}\n', "t.jsonl, line 1: label '-1' in target_ind is out of range"),
        (
            '{"text": "aa", "target_ind": [1]}\n' * 2 + '{"text": "aa", "target_ind": [99999999999999999999]}\n',
            "t.jsonl, line 3: label '99999999999999999999' in target_ind is out of range; expected numbers from 0 to",
        ),
        ('[{"text": "a", "labels": ["x"]},\n{"text": "b", "labels": [true]}]', "t.jsonl, object 2: the label"),
        ('[{"text": "a", "labels": ["x"]},\n3]', "t.jsonl, object 2: holds '3'; expected a JSON object"),
        ('{"text": "a", "kind": "x"}\n', "t.jsonl, line 1: no column for labels among 'text', 'kind'"),
        ('{"text": ' + "[" * 200_000, "t.jsonl, line 1: is no JSON"),
        ('{"text": "a", "labels": ["x"]}\n{"text": "a", "labels": ["x"]}\n', "no word of two letters or more"),
    ],
)
def test_json_that_is_wrong_is_named_with_its_line(put, refusal, content, expected):
    assert expected in refusal(put("t.jsonl", content))
