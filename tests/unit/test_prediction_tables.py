"""Tables of predictions: what names instances and labels in them, and comes back to the same ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmlcore.checks import DataError
from xmlcore.predictions import Predictions, read_predictions, write_predictions

OURS = Predictions("ours", np.array([[0], [1], [2]]), np.array([[3.0], [2.0], [1.0]]), 3)


def test_tables_may_name_instances_and_labels_and_order_their_columns(tmp_path):
    path = tmp_path / "scores.tsv"
    path.write_text(
        "label\tscore\tinstance\nuse::editing\t0.5\tvim\nworks-with::text\t0.75\tvim\nuse::editing\t1\tedr\n"
    )
    names, labels = ["edr", "vim"], ["use::editing", "works-with::text"]
    read = read_predictions(path, 2, 2, instance_names=names, label_names=labels)
    assert read.top.tolist() == [[0, -1], [1, 0]]
    write_predictions(tmp_path / "again.csv", read, "csv", instance_names=names, label_names=labels)
    assert (tmp_path / "again.csv").read_text().splitlines()[1] == "edr,use::editing,1"
    again = read_predictions(tmp_path / "again.csv", 2, 2, instance_names=names, label_names=labels)
    np.testing.assert_array_equal(again.top, read.top)


@pytest.mark.parametrize("names", [["a", "a", "b"], ["1", "1", "0"], ["a", " a", "b"], ["a b", "a\nb", "c"]])
def test_predictions_for_repeated_names_come_back_to_their_own_instances_and_labels(names, tmp_path):
    for instances, labels in ((names, None), (None, names), (names, names)):
        write_predictions(tmp_path / "ours.csv", OURS, "csv", instance_names=instances, label_names=labels)
        read = read_predictions(tmp_path / "ours.csv", 3, 3, k=1, instance_names=instances, label_names=labels)
        np.testing.assert_array_equal(read.top, OURS.top)


@pytest.mark.parametrize(
    "name",
    ["two\nlines", " blank before", "blank after ", "a\r\n\tb", "x\u2028y", "", '"', "a,b;c", "z\0", "q" * 200_000],
)
def test_any_name_that_is_written_is_read_back(name, tmp_path):
    names = ["other", name, "third"]
    write_predictions(tmp_path / "ours.csv", OURS, "csv", instance_names=names, label_names=names)
    read = read_predictions(tmp_path / "ours.csv", 3, 3, k=1, instance_names=names, label_names=names)
    np.testing.assert_array_equal(read.top, OURS.top)


@given(names=st.lists(st.text(st.characters(codec="utf-8"), max_size=3), min_size=3, max_size=3))
@settings(max_examples=100, deadline=None)
def test_all_names_are_written_so_that_they_are_read_back(names, tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "ours.csv"
    write_predictions(path, OURS, "csv", instance_names=names, label_names=names)
    read = read_predictions(path, 3, 3, k=1, instance_names=names, label_names=names)
    np.testing.assert_array_equal(read.top, OURS.top)


@pytest.mark.parametrize("mark", "\t;,")
def test_a_name_may_hold_the_marks_that_do_not_part_the_cells(mark, tmp_path):
    names = ["".join({"\t", ";", ","} - {mark}).join(["a", "b"]), "c"]
    (tmp_path / "theirs.csv").write_text(f"{names[0]}{mark}0{mark}0.5\n{names[1]}{mark}1{mark}0.25\n")
    read = read_predictions(tmp_path / "theirs.csv", 2, 2, k=1, instance_names=names)
    assert read.top.tolist() == [[0], [1]]


def test_names_on_one_line_are_kept_for_other_tools(tmp_path):
    names = ["two\nlines", " b", "c"]
    write_predictions(tmp_path / "ours.csv", OURS, "csv", instance_names=names)
    assert (tmp_path / "ours.csv").read_text().splitlines()[1:] == ["two lines,0,3", "b,1,2", "c,2,1"]


def test_a_repeated_name_in_another_systems_table_is_refused_and_a_single_one_is_not(tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text("b,0,1\n")
    assert read_predictions(path, 3, 3, k=1, instance_names=["a", "a", "b"]).top.tolist() == [[-1], [-1], [0]]
    path.write_text("b,0,1\na,1,0.5\n")
    with pytest.raises(DataError, match="line 2: 'a' is the name of 2 instances; expected numbers from 0 to 2"):
        read_predictions(path, 3, 3, instance_names=["a", "a", "b"])


def test_names_for_another_number_of_rows_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("c,0,1\n")
    with pytest.raises(DataError, match="instance_names has 3 entries; expected 2"):
        read_predictions(tmp_path / "a.csv", 2, 2, instance_names=["a", "b", "c"])


def test_a_surrogate_in_a_name_is_named(tmp_path):
    with pytest.raises(DataError, match="surrogates not allowed"):
        write_predictions(tmp_path / "a.csv", OURS, "csv", label_names=["\ud800", "b", "c"])


def test_numbers_are_indices_where_names_do_not_cover_them(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("0,1,0.5\n1,0,0.25\n")
    assert read_predictions(path, 2, 2, label_names=["a", "b"]).top.tolist() == [[1, -1], [0, -1]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0,b,1\n0,d,1\n", "b.csv, line 2: label 'd' is unknown; expected a number from 0 to 2, or one of the 3 names"),
        ("0,b,1\n0,9,1\n", "b.csv, line 2: label '9' is unknown; expected a number from 0 to 2, or one of the 3 names"),
        ("0,1,1\n0,d,1\n", "b.csv, line 2: label 'd' is unknown"),
        ("0,b,1\n0,a,1\n1,2,1\n", "b.csv, line 3: label '2' is a number, and 'b' in line 1 a name; expected one or"),
        ("0,2,1\n0,b,1\n", "b.csv, line 1: label '2' is a number, and 'b' in line 2 a name; expected one or"),
    ],
)
def test_of_names_the_one_that_is_unknown_is_blamed(content, message, tmp_path):
    (tmp_path / "b.csv").write_text(content)
    with pytest.raises(DataError, match=message):
        read_predictions(tmp_path / "b.csv", 2, 3, label_names=["a", "b", "c"])
