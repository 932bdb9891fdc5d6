"""The front door: what is recognised and why, what may be chosen, and the plainest mistakes."""

import pytest

from xmlcore.checks import DataError
from xmlcore.readers import FORMATS, read, recognise

# What a person sees as help must be true: each example that is a file's content is read as the format says.
EXAMPLES = ("xc-text", "libsvm", "arff", "csv", "json-lines", "tab-text", "fasttext")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_a_format_is_recognised_and_read(put, name):
    path = put("example", FORMATS[name].example + "\n")
    assert recognise(path).format == name
    ds = read(path)
    assert ds.n_train + ds.n_test >= 2
    assert FORMATS[name].title in ds.source


def test_every_format_has_a_title_help_and_an_example():
    for name, form in FORMATS.items():
        assert name == form.name
        assert form.help.endswith(".")
        assert form.title
        assert form.example
    assert len({form.title for form in FORMATS.values()}) == len(FORMATS)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("empty.txt", b"", "empty.txt is empty; expected a data set"),
        ("b.txt", b"ab\ncd\x00\x01", "b.txt, line 2: the file is neither text in UTF-8 nor a binary format known here"),
        ("x.npz", b"PK\x03\x04\xff", "x.npz alone is no data set; expected files of features and of labels together"),
        ("l.txt", b"ab\n\xe9t\xe9 0:1\n", "l.txt, line 2: byte b'\\xe9' is not UTF-8; expected text in UTF-8 (save"),
        ("l.bin", b"ab\n\xe9t\xe9\x02\n", "l.bin, line 2: the file is neither text in UTF-8"),
        ("n.txt", b"a novel begins\nhere\n", "n.txt, line 1: 'a novel begins' fits no known format"),
        ("w.txt", "0 0:1\n".encode("utf-16"), "w.txt: seems to be text in UTF-16; expected text in UTF-8 (save"),
        ("w.bin", bytes(range(1, 200)) * 9, "w.bin, line 2: the file is neither text in UTF-8"),
    ],
)
def test_a_file_that_is_no_data_set_gets_one_message(put, refusal, name, content, expected):
    path = put(name, content)
    assert refusal(path).startswith(expected)
    with pytest.raises(DataError):
        recognise(path)
    for form in FORMATS:
        assert refusal(path, format=form)


WORDS = {"cp1252": "caf\xe9", "cp1251": "\u043c\u0430\u0442\u0447", "shift_jis": "\u8a66\u5408"}


@pytest.mark.parametrize("encoding", ["cp1252", "cp1251", "shift_jis", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["csv", "json-lines", "tab-text", "fasttext", "arff"])
def test_text_in_another_encoding_is_to_be_saved_as_utf_8_and_is_read_then(put, refusal, name, encoding):
    word = WORDS.get(encoding, "caf\xe9")
    text = FORMATS[name].example.replace("won", word).replace("tempo", word) + "\n"
    path = put("example", text.encode(encoding))
    said = "seems to be text in UTF-16" if "16" in encoding else "is not UTF-8"
    expected = f"{said}; expected text in UTF-8 (save the file as UTF-8)"
    assert all(expected in refusal(path, format=form) for form in (None, *FORMATS))
    beside = put("two/train", text.encode(encoding)), put("two/test", text)  # of which one is recognised
    assert expected in refusal(beside)
    assert read(put("example", text.encode())).n_test == 1


@pytest.mark.parametrize(("damaged", "whole"), [("test.txt", "train.txt"), ("trn_X_Xf.txt", "trn_X_Y.txt")])
def test_numbers_in_utf_16_beside_a_good_file_are_told_as_such(put, refusal, damaged, whole):
    text = "2 3\n0:1\n1:1\n" if "X" in whole else "0 0:1\n1 1:1\n"
    paths = put(damaged, text.encode("utf-16")), put(whole, text)
    assert refusal(paths).startswith(f"{damaged}: seems to be text in UTF-16; expected text in UTF-8")


def test_a_readme_in_another_encoding_does_not_keep_data_from_being_read(put, refusal):
    folder = put("s/README", b"caf\xe9\n").parent
    put("s/notes", "a novel begins\n")
    assert refusal(folder).startswith("no known format fits these 2 files")
    put("s/notes", "0 0:1\n1 1:1\n")
    assert read(folder).n_train == 1


def test_files_that_fit_no_format_together_are_listed(put, refusal):
    folder = put("x/a.md", "# a").parent
    put("x/b.md", "# b")
    assert refusal(folder).startswith("no known format fits these 2 files (a.md, b.md)")


def test_an_argument_that_cannot_be_is_named(put, refusal):
    path = put("a.txt", "0 0:1\n1 1:1\n")
    for form in ("xls", []):
        assert refusal(path, format=form).startswith(f"format is {form!r}; expected one of xc-text, npz")
    for share in (1.0, 0, "a", None):
        assert refusal(path, test_share=share).startswith(f"test_share is {share!r}; expected a finite number above 0")
    for name in ("seed", "split_column"):
        for value in (-1, 1.5, "a", None):
            assert refusal(path, **{name: value}) == f"{name} is {value!r}; expected a whole number of at least 0"
    assert refusal(path, name=5) == "name is 5; expected text"
    whole = put("train.txt", "0 0:1\n1 1:1\n"), put("test.txt", "0 0:1\n1 1:1\n")
    assert refusal(whole, test_share=5).startswith("test_share is 5; ")  # also where there is a test set
    for paths in (None, 5, [None], b"a.txt"):
        assert refusal(paths) == f"path_or_paths is {paths!r}; expected a path or several"
        with pytest.raises(DataError, match=r"^path_or_paths is"):
            recognise(paths)
    assert "has 1 instance; expected at least 2" in refusal(put("b.txt", "0 0:1\n"))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["bibtex-train.svm", "bibtex-test.svm"], "bibtex"),
        (["eurlex_train.txt", "eurlex_test.txt"], "eurlex"),
        (["train.txt", "test.txt"], "data"),
        (["train.txt", "bibtex_test.txt"], "bibtex"),
        (["_mine_.txt"], "mine"),
        (["label_names.txt", "train.txt", "eurlex_test.txt"], "eurlex"),
        (["X.trn.txt", "X.tst.txt"], "data"),
        ([".txt"], "data"),
    ],
)
def test_a_data_set_is_called_after_its_files_unless_a_name_is_given(put, names, expected):
    paths = [put(name, "one\ntwo\n" if name == "label_names.txt" else "0 0:1\n1 1:1\n") for name in names]
    assert read(paths).name == expected
    assert read(paths, name="mine").name == "mine"


def test_names_and_texts_of_another_number_are_left_out_with_a_note(put):
    for name in ("train.txt", "test.txt"):
        folder = put(f"s/{name}", "1 0:1\n0 1:1\n").parent
    for name in ("feature_names.txt", "label_names.txt", "train_names.txt", "test_names.txt"):
        put(f"s/{name}", {"test_names.txt": "a\nb\n\n", "train_names.txt": "a\nb\nc\n"}.get(name, "a\n"))
    ds = read(folder)
    assert (ds.feature_names, ds.label_names, ds.train_names) == (None, None, None)
    assert ds.test_names.tolist() == ["a", "b"]
    assert sorted(ds.notes) == [
        "feature_names.txt has 1 name for 2 features and was left out.",
        "label_names.txt has 1 name for 2 labels and was left out.",
        "train_names.txt has 3 names for 2 instances and was left out.",
    ]


def test_names_of_labels_are_those_of_the_wider_side_and_hidden_folders_are_left_out(put):
    for name in (".git/train.txt", "__MACOSX/test.txt", "below/.cache/train.txt"):
        put(f"s/{name}", "0 0:1\n")
    put("s/label_names.txt", "a\nb\nc\n")
    put("s/below/train.txt", "0 0:1\n1 1:1\n")
    put("s/below/test.txt", "2 0:1\n")
    ds = read(put("s/README.md", "x").parent)
    assert ds.label_names.tolist() == ["a", "b", "c"]
    assert (ds.n_train, ds.n_test) == (2, 1)


def test_an_instance_keeps_its_name_and_its_mask_when_some_are_set_aside(put):
    put("s/train.txt", "".join(f"0,1 0:{i + 1}\n" for i in range(20)))
    put("s/train_names.txt", "".join(f"number {i}\n" for i in range(20)))
    ds = read(put("s/filter_labels_train.txt", "".join(f"{i} 1\n" for i in range(0, 20, 3))).parent)
    assert (ds.n_train, ds.n_test) == (16, 4)
    for X, names, mask in (
        (ds.X_train, ds.train_names, ds.train_filter),
        (ds.X_test, ds.test_names, ds.test_filter),
    ):
        at = X.toarray()[:, 0].astype(int) - 1
        assert names.tolist() == [f"number {i}" for i in at]
        assert mask.toarray().tolist() == [[0, int(i % 3 == 0)] for i in at]


def test_a_name_that_no_page_can_show_is_told_without_what_it_cannot(put):
    path = put("caf\udce9.txt", "0 0:1\n1 1:1\n")  # a byte that is not UTF-8, as Python gives it
    ds = read(path)
    assert (ds.name, ds.source) == ("caf?", "caf?, read as: Extreme Classification Repository, text.")
    folder = put("s/dataset.json", '{"name": "a\\ud800"}').parent
    put("s/train.txt", "0 0:1\n1 1:1\n")
    put("s/\udce9", "x")
    ds = read(folder)
    assert ds.name == "a?"
    assert "Not used: ?." in ds.notes[0]


def test_validation_files_and_notes_beside_the_data_are_left_alone(put):
    folder = put("s/train.txt", "0 0:1\n1 1:1\n").parent
    for name, content in (("test.txt", "0 1:1\n"), ("valid.txt", "0 0:1\n"), ("README.md", "read me\n")):
        put(f"s/{name}", content)
    ds = read(folder)
    assert (ds.n_train, ds.n_test) == (2, 1)
