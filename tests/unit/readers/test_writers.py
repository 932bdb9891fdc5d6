"""What is written is read back to the same data set, by us and by others."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from tests.full_disk import full_disk
from xmlcore.atomic import scratch_in
from xmlcore.checks import DataError
from xmlcore.dataset import Dataset
from xmlcore.propensity import metric_inverse_propensity
from xmlcore.readers import read, write_npz, write_xc_text
from xmlcore.sampling import sample_training

WRITERS = pytest.mark.parametrize("write", [write_xc_text, write_npz])


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


def test_many_blocks_come_back_in_their_order(tmp_path):
    X = tuple(np.full((3, 1), number, np.float32) for number in range(101))
    ds = Dataset("n", X, np.eye(3, 2), X, np.eye(3, 2))
    assert [block[0, 0] for block in read(write_npz(ds, tmp_path)).X_train] == list(range(101))


@pytest.mark.parametrize(
    "groups",
    [["b", "a", "b"], [2.0, 1.0, 2.0], [True, False, True]],
)
@pytest.mark.parametrize("dtype", [None, object])
def test_groups_of_any_kind_come_back_and_are_never_pickled(tmp_path, groups, dtype):
    ds = Dataset("n", np.eye(3), np.eye(3, 2), np.eye(3), np.eye(3, 2), train_groups=np.array(groups, dtype))
    assert read(write_npz(ds, tmp_path)).train_groups.tolist() == groups
    np.load(tmp_path / "groups.trn.npy", allow_pickle=False)


def test_features_of_double_precision_come_back_in_single(tmp_path):
    ds = Dataset("n", np.eye(3) / 3, np.eye(3, 2), np.eye(3), np.eye(3, 2))
    assert read(write_npz(ds, tmp_path)).X_train.dtype == np.float32


@WRITERS
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_what_could_not_be_read_back_is_refused_by_name(tmp_path, write, form):
    X, Y, out = np.eye(3), np.eye(3, 2), tmp_path / "out"
    for side in ("X_train", "X_test"):
        for value in (1e39, -1e300):
            ds = replace(Dataset("n", form(X), Y, form(X), Y), **{side: form(value * X)})
            with pytest.raises(DataError, match=rf"^{side} holds {value}".replace("+", r"\+")):
                write(ds, out)
    for features, labels, seen in ((X[:, :0], Y, "0 features and 2"), (X, Y[:, :0], "3 features and 0")):
        with pytest.raises(DataError, match=f"^ds has {seen} labels; expected at least one of each"):
            write(Dataset("n", form(features), labels, form(features), labels), out)
    assert not out.exists()


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


# Among them what looks like the end of a file, of a line, or like a mark of its encoding.
ODD = st.sampled_from(
    ["", " ", "\t ", "\ufeff", "\ufeff\ufeffa", " a ", "\x0b", "\x85", "\u2028", "\x1e", '"', "#", "0 1"]
)
names = st.one_of(ODD, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=5))


@settings(max_examples=60, deadline=None)
@given(st.lists(names, min_size=4, max_size=4), st.sampled_from([write_xc_text, write_npz]))
def test_any_names_come_back_empty_ones_at_the_end_too(tmp_path_factory, given_names, write):
    X, Y = sparse.csr_array(np.eye(4, dtype=np.float32)), sparse.csr_array(np.eye(4, dtype=np.float32))
    fields = ("label_names", "feature_names", "train_names", "test_names")
    texts = {"train_texts": given_names, "test_texts": given_names} if write is write_npz else {}
    ds = Dataset("n", X, Y, X, Y, **dict.fromkeys(fields, np.array(given_names)), **texts)
    again = read(write(ds, tmp_path_factory.mktemp("names")))
    for field in (*fields, *texts):
        assert list(getattr(again, field)) == given_names, field
    assert again.fingerprint == ds.fingerprint
    assert again.notes == ()


@WRITERS
def test_line_ends_and_zero_characters_in_names_become_blanks(tmp_path, write):
    ds = replace(bare(), label_names=["a\nb", "c\r\nd\r", "\n", "e\0f"])
    assert read(write(ds, tmp_path)).label_names.tolist() == ["a b", "c d ", " ", "e f"]


def test_blank_lines_beyond_the_number_of_names_are_none(put):
    folder = put("set/train.txt", "2 2 2\n0 0:1\n1 1:1\n").parent
    put("set/test.txt", "1 2 2\n0 0:1\n")
    put("set/label_names.txt", "a\n\n\n \n")
    put("set/train_names.txt", "p\nq\n\n")
    put("set/feature_names.txt", "x\n")
    ds = read(folder)
    assert (ds.label_names.tolist(), ds.train_names.tolist(), ds.feature_names) == (["a", ""], ["p", "q"], None)
    assert ds.notes == ("feature_names.txt has 1 name for 2 features and was left out.",)


@WRITERS
@pytest.mark.parametrize(("n_train", "n_test"), [(5, 0), (0, 2)])
def test_a_side_without_instances_comes_back(tmp_path, write, n_train, n_test):
    ds = bare()
    if write is write_xc_text:
        ds = replace(ds, X_train=sparse.csr_array(ds.X_train), X_test=sparse.csr_array(ds.X_test))
    ds = replace(ds, X_train=ds.X_train[:n_train], Y_train=ds.Y_train[:n_train])
    ds = replace(ds, X_test=ds.X_test[:n_test], Y_test=ds.Y_test[:n_test], test_names=np.array(["p", "q"])[:n_test])
    again = read(write(ds, tmp_path))
    assert (again.n_train, again.n_test) == (n_train, n_test)
    assert again.fingerprint == ds.fingerprint


def bare(n_features: int = 10, rows: int = 5) -> Dataset:
    """Dense features, and nothing that need not be there."""
    rng = np.random.default_rng(n_features)
    X, Y = rng.random((rows, n_features), np.float32) + 1, sparse.csr_array(np.eye(rows, 4, dtype=np.float32))
    return Dataset("Two", X, Y, X[:2], Y[:2])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@WRITERS
def test_a_second_data_set_in_the_same_folder_takes_the_place_of_the_first(tmp_path, write):
    write(made(), tmp_path)
    (tmp_path / "README.md").write_text("mine")
    write(bare(), tmp_path)
    again = read(tmp_path)
    assert (again.name, again.n_features, again.n_labels) == ("Two", 10, 4)
    assert not isinstance(again.X_train, tuple)
    for field in ("label_names", "feature_names", "train_names", "train_texts", "train_groups", "test_filter"):
        assert getattr(again, field) is None, field
    assert (tmp_path / "README.md").read_text() == "mine"
    kept = contents(tmp_path)
    fresh = write(bare(), tmp_path.with_name(f"{tmp_path.name} fresh"))
    assert sorted(kept) == sorted([*contents(fresh), "README.md"])


@WRITERS
@pytest.mark.parametrize(
    "name", ["train.txt", "Label_Names.txt", "label_map.txt.gz", "X.bert.trn.npy", "old/X.trn.npz", "a/dataset.json"]
)
def test_a_folder_with_other_data_is_refused_and_left_as_it_was(tmp_path, put, write, name):
    put(name, "somebody's own")
    with pytest.raises(DataError, match=f"holds {name}, which would be read together"):
        write(made(), tmp_path)
    assert contents(tmp_path) == {name: b"somebody's own"}


# For each way to tell that a file is data (by its content, for most), a file that no name of the writers' own covers.
OTHERS = {
    "train.svm": b"1 1:2\n0 2:1\n",
    "sub/data": b"0,1 0:2\n1 2:1\n",
    "a.arff": b"@relation r\n@attribute a numeric\n@data\n1\n",
    "a.csv": b"text,labels\nsome,a\n",
    "a.tsv": b"text\tlabels\nsome\ta\n",
    "tabs": b"a\tsome\nb\tother\n",
    "a.jsonl": b'{"text": "some", "labels": ["a"]}\n',
    "a.ft": b"__label__a some\n",
    "a.mat": b"MATLAB 5.0",
    "a.parquet": b"PAR1PAR1",
    "a.svm.gz": b"no gzip, which the reader refuses",
    "zipped": b"\x1f\x8b",
    "filter_train": b"0 9\n",
}


@WRITERS
@pytest.mark.parametrize("name", OTHERS)
def test_a_folder_with_data_of_any_other_format_is_refused(tmp_path, put, write, name):
    put(name, OTHERS[name])
    with pytest.raises(DataError, match=f"holds {name}, which would be read together"):
        write(made(), tmp_path)
    assert contents(tmp_path) == {name: OTHERS[name]}


@WRITERS
def test_a_folder_with_what_no_reader_takes_for_data_is_written_to(tmp_path, put, write):
    kept = {
        "README.md": "a\ttable\nin\ttabs\n",
        "notes.md": "read, me\n",
        "plot.png": "\x89PNG",
        ".hidden.svm": "1 1:1\n",
    }
    for name, content in kept.items():
        put(name, content)
    assert read(write(made(), tmp_path)).n_train == 7
    assert contents(tmp_path).keys() >= kept.keys()


@WRITERS
def test_a_folder_in_a_data_set_that_was_written_before_is_refused(tmp_path, write):
    for other in (write_npz, write_xc_text):
        before = contents(other(bare(), tmp_path / other.__name__))
        with pytest.raises(
            DataError, match=f"lies in .*{other.__name__}, a data set that it would be read together with"
        ):
            write(made(), tmp_path / other.__name__ / "below" / "out")
        assert contents(tmp_path / other.__name__) == before
        assert not (tmp_path / other.__name__ / "below").exists()


@pytest.mark.parametrize(("first", "second"), [(write_xc_text, write_npz), (write_npz, write_xc_text)])
def test_the_two_formats_do_not_share_a_folder(tmp_path, first, second):
    before = contents(first(made(), tmp_path))
    with pytest.raises(DataError, match="expected a new or empty folder"):
        second(bare(), tmp_path)
    assert contents(tmp_path) == before


@WRITERS
def test_a_sample_keeps_the_weights_with_which_its_psp_is_measured(tmp_path, write):
    sample = sample_training(replace(made(), train_texts=None, test_texts=None, train_groups=None), 4, seed=0)
    assert len(set(metric_inverse_propensity(sample))) > 1
    again = read(write(sample, tmp_path))
    assert (again.given_n_train, again.given_label_counts.tolist()) == (7, sample.given_label_counts.tolist())
    np.testing.assert_array_equal(metric_inverse_propensity(again), metric_inverse_propensity(sample))
    assert again.fingerprint == sample.fingerprint


@pytest.mark.parametrize(
    ("counts", "given_n_train", "message"),
    [
        ("1\n2\n", 7, "given_label_counts.txt: has 2 counts for 3 labels"),
        ("1\nx\n3\n", 7, "given_label_counts.txt, line 2: found 'x'; expected a number from 0 to 7"),
        ("1\n8\n3\n", 7, "given_label_counts.txt, line 2: found '8'"),
        ("1\n2\n3\n", None, "given_label_counts.txt: needs the number of instances"),
        ("1\n2\n3\n", 0, "dataset.json: given_n_train is 0"),
        ("1\n2\n3\n", 7.5, "dataset.json: given_n_train is 7.5"),
        ("1\n2\n3\n", 10**4000, "0000…; expected a number of instances"),
    ],
)
def test_counts_that_do_not_fit_are_refused_with_their_file(tmp_path, put, refusal, counts, given_n_train, message):
    write_npz(made(), tmp_path)
    put("given_label_counts.txt", counts)
    about = json.loads((tmp_path / "dataset.json").read_text())
    put("dataset.json", json.dumps(about if given_n_train is None else {**about, "given_n_train": given_n_train}))
    assert message in refusal(tmp_path)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ("[1]", "dataset.json, line 1: is no JSON object"),
        ('{"A": 0.5,', "dataset.json, line 1: is no JSON"),
        ('{"A": -1}', "dataset.json: A is -1; expected"),
        ('{"A": NaN}', "dataset.json: A is nan; expected"),
        ('{"A": "1"}', "dataset.json: A is '1'; expected"),
        ('{"A": true}', "dataset.json: A is True; expected"),
        ('{"B": 0}', "dataset.json: B is 0; expected"),
        ('{"name": 5}', "dataset.json: name is 5; expected text"),
        ('{"feature_kind": "words"}', "dataset.json: feature_kind is 'words'; expected values or counts"),
        ('{"given_n_train": true}', "dataset.json: given_n_train is True"),
    ],
)
def test_what_a_data_set_says_of_itself_is_refused_where_it_cannot_be(tmp_path, refusal, about, message):
    folder = write_xc_text(made(), tmp_path)
    (folder / "dataset.json").write_text(about)
    assert refusal(folder).startswith(message)


@WRITERS
def test_a_folder_that_cannot_be_made_is_refused(put, write):
    with pytest.raises(DataError, match=r"below cannot be written \(Not a directory\)"):
        write(made(), put("file", "x") / "below")


@WRITERS
def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path, write):
    before = contents(write(made(), tmp_path))
    name = next(name for name in before if name.lower().endswith((".trn.npz", "train.txt")))
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(DataError, match=f"holds {name}, which"):
        write(bare(), tmp_path)
    assert contents(tmp_path) == {kept: before[kept] for kept in before if kept != name}


@WRITERS
def test_a_full_disk_is_named_and_leaves_the_data_set_that_was_there(tmp_path, write):
    with full_disk(tmp_path / "disk"):
        out = tmp_path / "disk" / "out"
        write(bare(), out)
        before = contents(out)
        with pytest.raises(DataError, match="out cannot be written"):
            write(bare(300, 2_000), out)
        assert contents(out) == before
        assert not [path for path in out.iterdir() if path.name.startswith(".")]


KILLED = """
import os, signal, sys
from pathlib import Path
from xmlcore.atomic import scratch_in

with scratch_in(Path(sys.argv[1])) as scratch:
    (scratch / "train.txt").write_bytes(b"0" * 1000)
    os.kill(os.getpid(), int(sys.argv[2]))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])  # neither is ignored, as SIGHUP under nohup
def test_what_a_killed_writing_left_is_removed_by_the_next_and_what_one_that_lives_writes_is_not(tmp_path, how):
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    assert subprocess.run([sys.executable, "-c", KILLED, tmp_path, str(int(how))], env=env).returncode == -how
    (left,) = tmp_path.iterdir()
    os.utime(left, (0, 0))
    with scratch_in(tmp_path) as living:
        assert not left.exists()
        os.utime(living, (0, 0))
        write_npz(made(), tmp_path)
        assert living.is_dir()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
