"""Whatever is done to a file, reading it either works or says what is wrong: no other error comes out."""

import functools
import gzip
import io
import json
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import savemat

from xmlcore.checks import DataError
from xmlcore.matrices import n_rows
from xmlcore.readers import FORMATS, LIMITS, read, recognise

X = sparse.random_array((6, 4), density=0.5, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
Y = sparse.csr_array(np.eye(6, 3, dtype=np.float32))


def saved(write, *arguments, **options) -> bytes:
    out = io.BytesIO()
    write(out, *arguments, **options)
    return out.getvalue()


def packed(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def parquet() -> bytes:
    table = pd.DataFrame({"text": ["aa bb", "aa", "bb cc"], "labels": [["x"], ["y", "x"], []]})
    return saved(lambda out: table.to_parquet(out))


NPZ = {"X.trn.npz": saved(sparse.save_npz, X), "Y.trn.npz": saved(sparse.save_npz, Y, compressed=False)}
XC = b"4 5 3\n0,1 0:0.5 3:1.25\n1 2:1e-3 4:7\n 1:0.75\n2:0.5 0:1\n"
MATRIX = {"data": X.toarray().astype(float), "target": sparse.csc_array(Y.astype(float))}
# For each format, files that read well, and the one to which something is done.
SAMPLES: dict[str, tuple[str, dict[str, bytes], str]] = {
    "xc-text": ("xc-text", {"a.txt": XC}, "a.txt"),
    "libsvm": ("libsvm", {"a.svm": b"0,1 1:0.5 3:1.25 # c\n1 2:1\n 1:0.75\n3:2 1:1\n"}, "a.svm"),
    "split": ("xc-text", {"d.txt": XC, "trSplit.txt": b"1 2\n3 4\n", "tstSplit.txt": b"2 1\n4 3\n"}, "trSplit.txt"),
    "sparse npz": ("npz", NPZ, "X.trn.npz"),
    "stored npz": ("npz", NPZ, "Y.trn.npz"),
    "npy": ("npz", {**NPZ, "X.b.trn.npy": saved(np.save, X.toarray())}, "X.b.trn.npy"),
    "arrays": (
        "npz",
        {**NPZ, "X.trn.npz": saved(np.savez, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape)},
        "X.trn.npz",
    ),
    "xmc-base": ("xmc-base", {"Y.trn.npz": NPZ["Y.trn.npz"], "t/X.trn.npz": NPZ["X.trn.npz"]}, "t/X.trn.npz"),
    "about": ("npz", {**NPZ, "dataset.json": b'{"name": "n", "A": 0.5, "B": 1.5}'}, "dataset.json"),
    "given counts": (
        "npz",
        {
            **NPZ,
            "dataset.json": b'{"given_n_train": 90}',
            "given_label_counts.txt": b"40\n7\n12\n" + b"1\n" * (Y.shape[1] - 3),
        },
        "given_label_counts.txt",
    ),
    "arff": (
        "arff",
        {
            "m.arff": b"% c\n@relation 'r: -C 2'\n@attribute 'a b' {0,1}\n@attribute y {no,yes}\n@attribute z numeric\n"
            b"@attribute n {u,'v w',x}\n@data\n1,yes,2.5,'v w'\n{0 1,2 ?,3 x}\n\n0,no,-1e3,u\n"
        },
        "m.arff",
    ),
    "xml": (
        "arff",
        {
            "m.arff": b"@relation r\n@attribute a numeric\n@attribute y {0,1}\n@data\n1,1\n2,0\n3,1\n",
            "m.xml": b'<?xml version="1.0"?>\n<labels><label name="y"></label></labels>\n',
        },
        "m.xml",
    ),
    "csv": ("csv", {"t.csv": b'text,labels\n"aa, bb",x|y\naa,"[""x""]"\n"bb\ncc",y\n'}, "t.csv"),
    "indicators": ("csv", {"t.csv": b"text,p,q\naa bb,1,0\naa,0,1\nbb cc,1,1\n"}, "t.csv"),
    "json-lines": (
        "json-lines",
        {
            "t.json": b'{"title": "aa", "content": "bb", "target_ind": [0, 2]}\n' * 3,
            "lbl.json": b'{"title": "l"}\n' * 3,
        },
        "t.json",
    ),
    "json list": ("json-lines", {"t.json": json.dumps([{"text": "aa", "labels": ["x"]}] * 3).encode()}, "t.json"),
    "lf": (
        "lf",
        {"trn_X_Xf.txt": b"3 4\n0:1 2:0.5\n1:1\n3:2\n", "trn_X_Y.txt": b"3 2\n0:1\n1:1\n\n"},
        "trn_X_Y.txt",
    ),
    "filter": (
        "lf",
        {
            "trn_X_Xf.txt": b"3 4\n0:1 2:0.5\n1:1\n3:2\n",
            "trn_X_Y.txt": b"3 2\n0:1\n1:1\n\n",
            "filter_labels_train.txt": b"0 1\n2 0\n",
        },
        "filter_labels_train.txt",
    ),
    "attentionxml": (
        "attentionxml",
        {"train_labels.txt": b"x y\ny\nx\n", "train_texts.txt": b"aa bb\naa\nbb cc\n"},
        "train_labels.txt",
    ),
    "tab-text": ("tab-text", {"t.txt": b"x,y\taa bb\ny\taa\nx\tbb cc\n"}, "t.txt"),
    "fasttext": ("fasttext", {"t.txt": b"__label__x aa bb\naa __label__y\nbb cc\n"}, "t.txt"),
    "parquet": ("parquet", {"t.parquet": parquet()}, "t.parquet"),
    "matlab": ("matlab", {"m.mat": saved(savemat, MATRIX)}, "m.mat"),
    "packed matlab": ("matlab", {"m.mat": saved(savemat, MATRIX, do_compression=True)}, "m.mat"),
    "zip": ("xc-text", {"a.zip": packed({"a.txt": XC})}, "a.zip"),
    "gzip": ("xc-text", {"a.txt.gz": gzip.compress(XC)}, "a.txt.gz"),
    "tar": ("xc-text", {"a.tar": tarred({"a.txt": XC})}, "a.tar"),
}
INTERESTING = [
    b"\0",
    b"\n",
    b" ",
    b":",
    b",",
    b"-",
    b"nan",
    b"1e999",
    b"99999999999",
    b"\xff\xfe",
    b'"',
    b"'",
    b"{",
    b"\\",
]
Change = tuple[str, float, bytes]
changes = st.lists(
    st.tuples(
        st.sampled_from(["replace", "insert", "delete", "cut"]),
        st.floats(0, 1),
        st.one_of(st.sampled_from(INTERESTING), st.binary(min_size=1, max_size=4)),
    ),
    min_size=1,
    max_size=4,
)


def changed(content: bytes, edits: list[Change]) -> bytes:
    for kind, share, piece in edits:
        at = int(share * len(content))
        keep = {"replace": at + len(piece), "insert": at, "delete": at + len(piece), "cut": len(content)}[kind]
        content = content[:at] + (piece if kind in ("replace", "insert") else b"") + content[keep:]
    return content


@functools.cache
def put_down(folder: Path, sample: str) -> Path:
    """The untouched files of a sample, in a folder of their own."""
    target = folder / sample.replace(" ", "-")
    for name, content in SAMPLES[sample][1].items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(content)
    return target


@pytest.fixture(scope="module")
def samples(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("samples")


def source(folder: Path, sample: str) -> Path:
    """What to read: the archive itself, or else the folder."""
    name = SAMPLES[sample][2]
    return folder / name if name.endswith((".zip", ".gz", ".tar")) else folder


def test_every_format_has_a_sample_and_all_are_recognised(samples):
    assert {form for form, _, _ in SAMPLES.values()} == set(FORMATS)
    for sample, (form, _, _) in SAMPLES.items():
        path = source(put_down(samples, sample), sample)
        assert recognise(path).format == form
        assert read(path).n_train >= 1


@pytest.mark.parametrize("sample", SAMPLES)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=changes, chosen=st.booleans())
@example(edits=[("cut", 0.0, b"x")], chosen=False)
@example(edits=[("cut", 0.0, b"x")], chosen=True)
def test_a_changed_file_reads_or_is_refused(samples, sample, edits, chosen):
    form, members, name = SAMPLES[sample]
    folder = put_down(samples, sample)
    (folder / name).write_bytes(changed(members[name], edits))
    reads_or_is_refused(source(folder, sample), form if chosen else None)


def reads_or_is_refused(path, form):
    """Any other exception than DataError ends the test."""
    with suppress(DataError):
        ds = read(path, format=form, limits=SMALL)
        assert ds.n_train == n_rows(ds.X_train) == ds.Y_train.shape[0]
        assert ds.n_test == n_rows(ds.X_test) == ds.Y_test.shape[0]


SMALL = type(LIMITS)(max_expanded_bytes=50_000_000, max_rows=1_000_000, max_columns=1_000_000)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))),
    end=st.sampled_from([".txt", ".arff", ".csv", ".json", ".npz", ".mat", ".parquet", ".zip", ".gz", ""]),
    form=st.sampled_from([None, *FORMATS]),
)
def test_any_bytes_under_any_name_read_or_are_refused(samples, content, end, form):
    path = samples / f"any{end}"
    path.write_bytes(content)
    reads_or_is_refused(path, form)
