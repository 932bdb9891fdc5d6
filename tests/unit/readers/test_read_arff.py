"""Mulan's and MEKA's ARFF: every turn that the language takes, and what is refused."""

import re

import numpy as np
import pytest
from scipy import sparse
from scipy.io import arff as scipy_arff

from xmlcore.readers import read, recognise, write_npz, write_xc_text

XML = '<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n{}</labels>\n'


def xml(*names: str) -> str:
    return XML.format("".join(f'<label name="{name}"></label>\n' for name in names))


HEADER = (
    "@relation r\n@attribute a numeric\n@attribute sport {0,1}\n@attribute b numeric\n@attribute news {0,1}\n@data\n"
)
ROWS = "1.5,1,0,0\n0,0,2,1\n0,1,-1,1\n"


def arrays(ds) -> tuple[list, list]:
    X = np.vstack([block.toarray() if sparse.issparse(block) else block for block in (ds.X_train, ds.X_test)])
    return X.tolist(), np.vstack([ds.Y_train.toarray(), ds.Y_test.toarray()]).tolist()


@pytest.fixture
def mulan(put):
    """A function that puts down train and test of the same rows, and the XML file, and reads them."""

    def reading(header: str, rows: str, *labels: str):
        put("m/m-train.arff", header + rows)
        put("m/m-test.arff", header + rows)
        if labels:
            put("m/m.xml", xml(*labels))
        return read(put("m/readme.txt", "x").parent)

    return reading


def test_labels_named_by_the_xml_stand_anywhere_among_the_attributes(mulan):
    ds = mulan(HEADER, ROWS, "news", "sport")
    assert ds.label_names.tolist() == ["sport", "news"]
    assert ds.feature_names.tolist() == ["a", "b"]
    assert ds.X_train.toarray().tolist() == [[1.5, 0], [0, 2], [0, -1]]
    assert ds.Y_train.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]
    assert ds.notes == ()


def test_sparse_rows_mean_the_same_as_dense_ones(mulan):
    dense = mulan(HEADER, ROWS, "news", "sport")
    sparse_rows = "{0 1.5, 1 1}\n{ 3\t1 ,2 2}\n{1 1,2 -1,3 1}\n"
    assert mulan(HEADER, sparse_rows, "news", "sport").fingerprint == dense.fingerprint


def test_quoted_values_in_sparse_rows_may_hold_commas_blanks_and_quotes(mulan):
    header = "@relation r\n@attribute n numeric\n@attribute c {'a, b','it\\'s',\"x y\"}\n@attribute y {0,1}\n@data\n"
    ds = mulan(header, "{0 3, 1 'it\\'s',2 1}\n{1 'a, b', 0 1}\n{1 \"x y\"}\n", "y")
    assert ds.feature_names.tolist() == ["n", "c=a, b", "c=it's", "c=x y"]
    assert ds.X_train.toarray().tolist() == [[3, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]]
    assert ds.Y_train.toarray().tolist() == [[1], [0], [0]]


def test_of_several_xml_files_the_one_named_as_the_data_names_the_labels(put, refusal):
    for side in ("train", "test"):
        put(f"m/m-{side}.arff", HEADER + ROWS)
    own, other = put("m/m.xml", xml("news")), put("m/other.xml", xml("sport"))
    assert read(other.parent).label_names.tolist() == ["news"]
    own.rename(other.parent / "yet-another.xml")
    assert refusal(other.parent).startswith("2 XML files (other.xml, yet-another.xml); expected one")


@pytest.mark.parametrize(
    ("count", "labels", "features"), [("2", ["p", "q"], ["x", "y"]), ("-2", ["x", "y"], ["p", "q"])]
)
def test_meka_says_in_the_relation_which_attributes_are_labels(put, count, labels, features):
    header = "".join(f"@attribute {name} {{0,1}}\n" for name in "pqxy")
    path = put("meka.arff", f"@relation 'music: -C {count}'\n{header}@data\n1,0,1,1\n0,1,0,1\n{{0 1,3 1}}\n")
    assert "-C" in recognise(path).reason
    ds = read(path)
    assert ds.label_names.tolist() == labels
    assert ds.feature_names.tolist() == features


def test_names_are_quoted_escaped_and_matched_with_the_xml(mulan):
    header = (
        '@RELATION x\n@Attribute \'the beat\' NUMERIC\n@ATTRIBUTE "say \\"hi\\"" real\n'
        "@attribute 'it\\'s, {odd}' {0,1}\n@attribute caf\\'e {0,1}\n@attribute 'x%' Integer\n@DATA\n"
    )
    ds = mulan(header, "1,2,1,0,3\n0,0,0,1,1\n", "it's, {odd}", "caf\\'e")
    assert ds.feature_names.tolist() == ["the beat", 'say "hi"', "x%"]
    assert ds.label_names.tolist() == ["it's, {odd}", "caf'e"]
    assert ds.X_train.tolist() == [[1, 2, 3], [0, 0, 1]]


def test_comments_blank_lines_tabs_and_windows_line_ends_are_no_rows(mulan):
    plain = mulan(HEADER, ROWS, "news", "sport")
    header = "% about\r\n\r\n" + HEADER.replace("\n", "\r\n").replace("a numeric", "a\tnumeric")
    rows = "% first\r\n" + ROWS.replace("\n", "  \r\n\r\n") + "%end\r\n"
    assert mulan(header, rows, "news", "sport").fingerprint == plain.fingerprint


def test_hierarchies_in_the_xml_name_labels_at_every_depth(put):
    put("m/m.arff", HEADER + ROWS)
    nested = XML.format('<label name="news"><label name="sport"><!-- inner --></label></label>\n')
    ds = read(put("m/m.xml", nested).parent)
    assert ds.label_names.tolist() == ["sport", "news"]


def test_nominal_values_become_numbers_one_feature_or_one_each(mulan):
    header = (
        "@relation r\n@attribute n {0,2.5}\n@attribute two {no,yes}\n@attribute many {red,'dark blue',green}\n"
        "@attribute y {0,1}\n@data\n"
    )
    ds = mulan(header, "2.5,yes,'dark blue',1\n0,no,green,0\n{0 2.5}\n", "y")
    assert ds.feature_names.tolist() == ["n", "two=yes", "many=red", "many=dark blue", "many=green"]
    # A sparse row that is silent about a nominal attribute means its first value.
    expected = [[2.5, 1, 0, 1, 0], [0, 0, 0, 0, 1], [2.5, 0, 1, 0, 0]]
    assert ds.X_train.toarray().tolist() == expected


def test_a_label_whose_first_value_is_one_is_on_where_a_sparse_row_is_silent(mulan):
    ds = mulan("@relation r\n@attribute a numeric\n@attribute y {1,0}\n@data\n", "{0 1}\n{0 1,1 0}\n", "y")
    assert ds.Y_train.toarray().tolist() == [[1], [0]]


def test_test_files_may_list_nominal_values_in_another_order(put):
    header = "@relation r\n@attribute c {u,v,w}\n@attribute y {0,1}\n@data\n"
    put("m/a-train.arff", header + "v,1\nu,0\n")
    put("m/a-test.arff", header.replace("{u,v,w}", "{w,v,u}") + "v,1\n{1 1}\n")
    ds = read(put("m/a.xml", xml("y")).parent)
    assert ds.X_test.toarray().tolist() == [[0, 1, 0], [0, 0, 1]]


def test_labels_are_true_or_yes_or_numbers(mulan):
    kinds = {"a": "numeric", "p": "{false,true}", "q": "{No,Yes}", "r": "numeric"}
    header = "@relation r\n" + "".join(f"@attribute {name} {kind}\n" for name, kind in kinds.items()) + "@data\n"
    ds = mulan(header, "1,true,No,1.0\n1,false,Yes,0\n", "p", "q", "r")
    assert ds.Y_train.toarray().tolist() == [[1, 0, 1], [0, 1, 0]]


def test_missing_values_are_read_as_zero_and_counted(mulan):
    ds = mulan(HEADER, "?,1,3,?\n0,0,2,1\n{0 ?}\n", "news", "sport")
    assert ds.X_train.toarray().tolist() == [[0, 3], [0, 2], [0, 0]]
    assert ds.Y_train.toarray().tolist() == [[1, 0], [0, 1], [0, 0]]
    assert ds.notes == ("6 missing values (?), read as 0.",)


def test_texts_alone_are_counted_and_dates_left_out(mulan):
    header = "@relation r\n@attribute t string\n@attribute d date 'yyyy'\n@attribute y {0,1}\n@data\n"
    ds = mulan(header, "'red wine, \\'good\\'',2001,1\n\"red beer\",2002,0\n", "y")
    assert ds.train_texts == ["red wine, 'good'", "red beer"]
    assert ds.feature_names.tolist() == ["red"]
    assert ds.feature_kind == "counts"
    assert "Left out: 1 attribute of dates (d)." in ds.notes


def test_scipy_reads_dense_files_to_the_same_numbers(put):
    rng = np.random.default_rng(0)
    numbers = np.round(rng.normal(size=(30, 4)) * 10.0 ** rng.integers(-3, 4, (30, 4)), 5)
    labels = rng.integers(0, 2, (30, 2))
    header = "@relation r\n" + "".join(f"@attribute x{i} numeric\n" for i in range(4))
    header += "".join(f"@attribute y{i} {{0,1}}\n" for i in range(2)) + "@data\n"
    rows = "".join(",".join([*map(str, x), *map(str, y)]) + "\n" for x, y in zip(numbers, labels, strict=True))
    put("m/m-train.arff", header + rows)
    put("m/m-test.arff", header + rows)
    ds = read(put("m/m.xml", xml("y0", "y1")).parent)
    records, _ = scipy_arff.loadarff(put("m/m-train.arff", header + rows))
    X = np.column_stack([records[f"x{i}"] for i in range(4)])
    Y = np.column_stack([records[f"y{i}"].astype(int) for i in range(2)])
    np.testing.assert_array_equal(ds.X_train, X.astype(np.float32))
    np.testing.assert_array_equal(ds.Y_train.toarray(), Y)


@pytest.mark.parametrize(
    ("header", "rows", "expected"),
    [
        (HEADER, "1,0,0\n", "m-train.arff, line 7: has 3 values; expected 4"),
        (HEADER, "1,0,0,1\n1,0,0", "m-train.arff, line 8: has 3 values; expected 4"),
        (HEADER, "1,0,x,1\n", "line 7: 'b' has the value 'x'; expected a finite number"),
        (HEADER, "1,0,nan,1\n", "line 7: 'b' has the value 'nan'; expected a finite number"),
        (HEADER, "{2 inf}\n", "line 7: 'b' has the value 'inf'; expected a finite number"),
        (HEADER, "1,0,1e60,1\n", "line 7: 'b' has the value '1e60'; expected a finite number"),
        (HEADER, "1,0,1_0,1\n", "line 7: 'b' has the value '1_0'; expected a finite number"),
        (HEADER, "1,2,1,1\n", "line 7: the label 'sport' has the value '2'; expected 0 or 1"),
        (HEADER, "{1 2}\n", "line 7: the label 'sport' has the value '2'; expected 0 or 1"),
        (HEADER, "{4 1}\n", "line 7: attribute 4 is out of range; expected 0 to 3"),
        (HEADER, "{0000000000004 1}\n", "line 7: attribute 4 is out of range; expected 0 to 3"),
        (HEADER, "{0 1,0 2}\n", "line 7: attribute 0 occurs twice"),
        (HEADER, "{0 1,1}\n", "line 7: found '1'; expected the number of an attribute and its value"),
        (HEADER, "{0 1,1 1\n", "line 7: the row does not end with a brace"),
        (HEADER, "{0 '1' '2'}\n", "line 7: found \"'1' '2'\"; expected a value"),
        (HEADER, "'1,0,0,1\n", 'line 7: found "\'1,0,0,1"; expected a value (is a quote missing?)'),
        (HEADER, "", "m-train.arff: has no row after @data"),
        (HEADER.replace("@data\n", ""), "", "line 5: ends before @data"),
        (HEADER.replace("b numeric", "b relational"), ROWS, "line 4: 'b' has the type 'relational'"),
        (HEADER.replace("b numeric", "a numeric"), ROWS, "line 4: the attribute 'a' was declared in line 2 already"),
        (HEADER.replace("b numeric", ""), ROWS, "line 4: found ''; expected a name after @attribute"),
        (HEADER.replace("b numeric", "b {0,?}"), ROWS, "line 4: ? is among the values of 'b'; expected values"),
        ("@relation r\n@data\n", "1\n", "line 2: @data comes before any @attribute"),
        (HEADER.replace("b numeric", "b {0,1"), ROWS, "line 4: the values of 'b' do not end with a brace"),
        (HEADER.replace("sport {0,1}", "sport {a,b}"), ROWS, "line 3: the label 'sport' has values a,b"),
        (HEADER.replace("@attribute b", "attribute b"), ROWS, "line 4: found 'attribute b numeric'"),
        (HEADER.replace("news", "olds"), ROWS, "m.xml: the label 'news' is no attribute of m-train.arff"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(put, refusal, header, rows, expected):
    put("m/m-train.arff", header + rows)
    put("m/m-test.arff", HEADER + ROWS)
    assert expected in refusal(put("m/m.xml", xml("sport", "news")).parent)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<labels>\n<label name='news'>", "m.xml, line 2: is no XML"),
        ("<labels></labels>", "m.xml: names no label"),
        (xml("news", "news"), "m.xml: names the label 'news' twice"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><labels/>", "m.xml: declares a document type or entities"),
        ("", "m.xml, line 1: is no XML"),
        (
            "<?xml version='1.0' encoding='none'?><labels/>",
            "m.xml, line 1: cannot be read as XML (unknown encoding: none)",
        ),
    ],
)
def test_an_xml_file_that_names_no_labels_is_refused(put, refusal, content, expected):
    put("m/m.arff", HEADER + ROWS)
    assert expected in refusal(put("m/m.xml", content).parent)


def test_arff_without_a_word_on_labels_is_refused_with_what_to_add(put, refusal):
    path = put("m.arff", HEADER + ROWS)
    assert recognise(path).format == "arff"
    assert "expected an XML file that names them, or -C in the relation" in refusal(path)
    assert "-C 9; expected how many of the" in refusal(
        put("n.arff", HEADER.replace("relation r", "relation 'r: -C 9'") + ROWS)
    )


def test_train_and_test_with_other_attributes_are_refused(put, refusal):
    put("m/m-train.arff", HEADER + ROWS)
    put("m/m.xml", xml("sport"))
    other = HEADER.replace("attribute b", "attribute c")
    message = refusal(put("m/m-test.arff", other + ROWS).parent)
    assert message.startswith("m-test.arff, line 4: the attribute 'c' differs from 'b' in line 4 of m-train.arff")


@pytest.mark.parametrize(
    ("name", "shape"), [("bibtex", (4880, 2515, 1836, 159)), ("delicious", (12920, 3185, 500, 983))]
)
def test_the_mulan_sets_have_the_published_shapes_in_every_format(test_data, tmp_path, name, shape):
    files = [test_data / "mulan" / f"{name}{end}" for end in ("-train.arff", "-test.arff", ".xml")]
    ds = read(files)
    assert (ds.n_train, ds.n_test, ds.n_features, ds.n_labels) == shape
    assert ds.name == name
    rows = files[0].read_text().lower().partition("@data")[2]
    assert ds.X_train.nnz + ds.Y_train.nnz == len(re.findall(r"\d+ 1\b", rows))
    assert round(ds.Y_train.nnz / ds.n_train, 1) == {"bibtex": 2.4, "delicious": 19.0}[name]
    for write in (write_xc_text, write_npz):
        assert read(write(ds, tmp_path / write.__name__)).fingerprint == ds.fingerprint
