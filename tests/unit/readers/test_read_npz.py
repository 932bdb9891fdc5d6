"""Matrices in numpy's files, alone and in the layout of the PECOS collection, and what is refused in them."""

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xmlcore.readers import LIMITS, read, recognise


def matrices(seed: int = 0, rows: int = 12, test_rows: int = 5) -> dict[str, sparse.csr_array]:
    rng = np.random.default_rng(seed)
    made = {}
    for short, n in (("trn", rows), ("tst", test_rows)):
        made[f"X.{short}"] = sparse.random_array((n, 9), density=0.3, rng=rng, format="csr", dtype=np.float32)
        made[f"Y.{short}"] = sparse.csr_array((rng.random((n, 4)) < 0.3).astype(np.float32))
    return made


@pytest.fixture
def folder(tmp_path):
    target = tmp_path / "Small"
    target.mkdir()
    for name, matrix in matrices().items():
        sparse.save_npz(target / f"{name}.npz", matrix)
    return target


def same(ds, made) -> bool:
    pairs = ((ds.X_train, "X.trn"), (ds.Y_train, "Y.trn"), (ds.X_test, "X.tst"), (ds.Y_test, "Y.tst"))
    return all(abs(seen - made[name]).max() == 0 and seen.nnz == made[name].nnz for seen, name in pairs)


def test_matrices_of_scipy_are_read_as_they_are(folder):
    recognition = recognise(folder)
    assert recognition.format == "npz"
    assert recognition.reason == "X.trn.npz holds features and Y.trn.npz labels"
    ds = read(folder)
    assert (ds.name, ds.notes) == ("Small", ())
    assert same(ds, matrices())


@pytest.mark.parametrize("ends", [(".npy",), (".npz",), (".npy", ".npz")])
@pytest.mark.parametrize("inside", ["", "set/"])
def test_a_zip_of_matrices_is_read_as_its_folder_is(tmp_path, inside, ends):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number, (name, matrix) in enumerate(matrices().items()):
            end = ends[number % 2 % len(ends)]  # X in one, Y in the other
            with archive.open(f"{inside}{name}{end}", "w") as out:
                sparse.save_npz(out, matrix) if end == ".npz" else np.save(out, matrix.toarray())
    ds = read(tmp_path / "a.zip")
    seen = ((ds.X_train, "X.trn"), (ds.Y_train, "Y.trn"), (ds.X_test, "X.tst"), (ds.Y_test, "Y.tst"))
    assert all(np.array_equal(sparse.csr_array(block).toarray(), matrices()[name].toarray()) for block, name in seen)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("compressed", [True, False])
def test_every_sparse_form_gives_the_same_rows(folder, form, compressed):
    for name, matrix in matrices().items():
        sparse.save_npz(folder / f"{name}.npz", matrix.asformat(form), compressed=compressed)
    assert same(read(folder), matrices())


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_bare_arrays_of_indices_are_a_sparse_matrix_too(folder, form):
    for name, matrix in matrices().items():
        part = matrix.asformat(form)
        np.savez(folder / f"{name}.npz", data=part.data, indices=part.indices, indptr=part.indptr, shape=part.shape)
    assert same(read(folder), matrices())


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int64, np.uint8, bool])
def test_numbers_of_any_kind_become_float32(folder, dtype):
    X = np.arange(60).reshape(12, 5) % 3
    np.savez(folder / "X.trn.npz", X.astype(dtype))
    np.savez(folder / "X.tst.npz", X[:5].astype(dtype))
    ds = read(folder)
    assert ds.X_train.dtype == np.float32
    np.testing.assert_array_equal(ds.X_train, X.astype(dtype).astype(np.float32))


def test_finite_values_whose_sum_is_not_are_read(folder):
    X = np.full((12, 2), 3e38, np.float32)
    np.savez(folder / "X.trn.npz", X)
    np.savez(folder / "X.tst.npz", X[:5])
    np.testing.assert_array_equal(read(folder).X_train, X)


def test_dense_features_alone_are_x_itself(folder):
    for short, rows in (("trn", 12), ("tst", 5)):
        (folder / f"X.{short}.npz").unlink()
        np.save(folder / f"X.{short}.npy", np.asfortranarray(np.arange(rows * 3.0).reshape(rows, 3)))
    ds = read(folder)
    np.testing.assert_array_equal(ds.X_train, np.arange(36.0).reshape(12, 3))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_large_dense_file_is_read_as_a_small_one_is(folder, monkeypatch, order):
    made = [np.random.default_rng(0).random((rows, 3)).astype(np.float32, order=order) for rows in (12, 5)]
    for short, X in zip(("trn", "tst"), made, strict=True):
        (folder / f"X.{short}.npz").unlink()
        np.save(folder / f"X.{short}.npy", X)
    monkeypatch.setattr("xmlcore.readers.arrays._MAP_FROM", 100)
    ds = read(folder)
    for path in folder.glob("X.*"):
        path.unlink()
    np.testing.assert_array_equal(ds.X_train, made[0])
    np.testing.assert_array_equal(ds.X_test, made[1])


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (np.zeros((12, 3, 2)), "holds float64 of shape (12, 3, 2); expected numbers in rows and columns"),
        (np.zeros(12), "holds float64 of shape (12,); expected numbers in rows and columns"),
        (np.zeros((12, 3), "U2"), "holds <U2 of shape (12, 3); expected numbers in rows and columns"),
        (np.zeros((12, 3), complex), "holds complex128; expected plain numbers"),
        (np.zeros(12, [("a", "f4")]), "holds [('a', '<f4')]; expected plain numbers"),
        (np.zeros((12, 9)), "has 9 columns; expected at most 8"),
    ],
)
@pytest.mark.parametrize("map_from", [0, 10**9])
def test_arrays_that_are_no_features_are_refused(folder, refusal, monkeypatch, X, expected, map_from):
    monkeypatch.setattr("xmlcore.readers.arrays._MAP_FROM", map_from)
    for short in ("trn", "tst"):
        (folder / f"X.{short}.npz").unlink()
        np.save(folder / f"X.{short}.npy", X)
    assert refusal(folder, limits=replace(LIMITS, max_columns=8)) == f"X.trn.npy: {expected}"


def test_embeddings_beside_sparse_features_become_further_blocks(folder):
    for kind, width in (("bert", 3), ("xlnet", 2)):
        for short, rows in (("trn", 12), ("tst", 5)):
            np.save(folder / f"X.{kind}.{short}.npy", np.full((rows, width), width, np.float32))
    ds = read(folder)
    assert [block.shape[1] for block in ds.X_train] == [9, 3, 2]
    assert "3 blocks side by side: X.trn.npz, X.bert.trn.npy, X.xlnet.trn.npy" in ds.notes[0]


@pytest.mark.parametrize("below", ["", "kinds"])
def test_numbered_blocks_stand_in_the_order_of_their_numbers(folder, below):
    (folder / below).mkdir(exist_ok=True)
    for number in (100, 9, 99, 10):
        for short, rows in (("trn", 12), ("tst", 5)):
            np.save(folder / below / f"X.block{number}.{short}.npy", np.full((rows, 1), number, np.float32))
    for short in ("trn", "tst") if below else ():
        (folder / f"X.{short}.npz").unlink()
    dense = [block for block in read(folder).X_train if not sparse.issparse(block)]
    assert [block[0, 0] for block in dense] == [9, 10, 99, 100]


def test_groups_that_are_neither_whole_numbers_nor_texts_are_refused(folder, refusal):
    no_character = np.full(12, 0x110000, np.uint32).view("U1")
    for groups, expected in ((np.ones(12), "holds float64 of shape"), (no_character, "cannot be read as arrays")):
        np.save(folder / "groups.trn.npy", groups)
        assert refusal(folder).startswith(f"groups.trn.npy: {expected}")


def test_groups_of_another_number_of_instances_are_refused(folder, refusal):
    np.save(folder / "groups.trn.npy", np.arange(11))
    assert refusal(folder) == "groups.trn.npy: holds 11 groups for 12 instances"


def test_an_embedding_for_one_side_only_is_refused(folder, refusal):
    np.save(folder / "X.bert.trn.npy", np.ones((12, 2), np.float32))
    assert refusal(folder) == "X.bert.trn.npy: has no counterpart for test; expected one, as the labels have"


def test_files_without_a_word_for_train_or_test_hold_all_instances(tmp_path):
    made = matrices()
    for letter in "XY":
        sparse.save_npz(tmp_path / f"{letter}.npz", made[f"{letter}.trn"])
    ds = read(tmp_path)
    assert (ds.n_train, ds.n_test) == (10, 2)
    assert "There is no test set" in ds.notes[0]


def test_label_values_are_read_as_one_and_said(folder):
    made = matrices()
    sparse.save_npz(folder / "Y.trn.npz", made["Y.trn"] * 0.5)
    ds = read(folder)
    assert same(ds, made)
    assert ds.notes == (f"Y.trn.npz has {made['Y.trn'].nnz} labels with a value; each above 0 is read as 1.",)


def test_minus_one_marks_a_label_that_an_instance_has_not(folder):
    made = matrices()
    signed = 2 * made["Y.trn"].toarray() - 1
    sparse.save_npz(folder / "Y.trn.npz", sparse.csr_array(signed))
    ds = read(folder)
    assert same(ds, made)
    assert not ds.notes


def test_raw_texts_and_names_beside_the_matrices_are_kept(folder, put):
    (folder / "X.trn.txt").write_text("".join(f"text {i}\n" for i in range(12)))
    (folder / "test_raw_texts.txt").write_text("".join(f"test\u2028text {i}\n" for i in range(5)))
    (folder / "output-items.txt").write_text("a\nb\nc\nd\n")
    ds = read(folder)
    assert ds.train_texts[3] == "text 3"
    assert ds.test_texts[4] == "test\u2028text 4"
    assert ds.label_names.tolist() == list("abcd")


def pecos(folder, kinds):
    for kind in kinds:
        below = folder / kind
        below.mkdir()
        for name, matrix in matrices(seed=len(kind)).items():
            if name.startswith("X"):
                sparse.save_npz(below / f"{name}.npz", matrix)
    for path in folder.glob("X.*"):
        path.unlink()


def test_the_pecos_layout_has_features_in_a_folder_below_the_labels(folder):
    pecos(folder, ["tfidf-attnxml"])
    recognition = recognise(folder)
    assert (recognition.format, recognition.alternatives) == ("xmc-base", ())
    assert same(read(folder), {**matrices(), **{k: m for k, m in matrices(13).items() if k.startswith("X")}})


def test_of_several_sparse_kinds_one_is_used_and_dense_kinds_are_blocks(folder):
    pecos(folder, ["bow", "tfidf-attnxml"])
    (folder / "bert").mkdir()
    for short, rows in (("trn", 12), ("tst", 5)):
        np.save(folder / "bert" / f"X.{short}.npy", np.ones((rows, 2), np.float32))
    ds = read(folder)
    assert abs(ds.X_train[0] - matrices(13)["X.trn"]).max() == 0
    assert ds.X_train[1].shape == (12, 2)
    assert "Other sparse features were left out: bow." in ds.notes


def test_texts_of_another_number_of_instances_are_left_out_with_a_note(folder):
    (folder / "X.trn.txt").write_text("only one\n")
    ds = read(folder)
    assert ds.train_texts is None
    assert ds.notes == ("X.trn.txt has 1 line for 12 instances and was left out.",)


def test_features_and_labels_that_are_none_or_differ_from_side_to_side_are_refused(folder, refusal):
    made = matrices()
    for name, changed, expected in (
        ("X", lambda M, n: M[:, :0], "the data set has no features; expected at least one"),
        ("Y", lambda M, n: M[:, :0], "the data set has no labels; expected at least one"),
        ("X", lambda M, n: M[:, :n].toarray(), "dense features have 3 columns in train and 4 in test"),
    ):
        for side, width in (("trn", 3), ("tst", 4)):
            M = changed(made[f"{name}.{side}"], width)
            path = folder / f"{name}.{side}.npz"
            sparse.save_npz(path, M) if sparse.issparse(M) else np.savez(path, M)
        assert refusal(folder) == expected
        for side in ("trn", "tst"):
            sparse.save_npz(folder / f"{name}.{side}.npz", made[f"{name}.{side}"])
    np.save(folder / "Y.trn.npy", made["Y.trn"].toarray())
    assert refusal(folder) == "Y.trn.npy and Y.trn.npz both hold labels; expected one of them"
    for path in folder.glob("Y.trn.*"):
        path.unlink()
    assert refusal(folder) == "Y.tst.npz: labels for testing but none for training; expected such as Y.trn.npz"


def test_rows_of_features_and_labels_that_differ_are_refused_with_both_files(folder, refusal):
    sparse.save_npz(folder / "Y.trn.npz", matrices()["Y.trn"][:11])
    assert refusal(folder) == "X.trn.npz has 12 rows and Y.trn.npz 11; expected the same number"


class Malicious:
    def __reduce__(self):
        return print, ("unpickled",)


def damaged(kind: str) -> bytes:
    """The content of an .npz file that must be refused."""
    X = matrices()["X.trn"]
    arrays = {"data": X.data, "indices": X.indices.copy(), "indptr": X.indptr.copy(), "shape": np.array(X.shape)}
    if kind == "pickle":
        arrays["data"] = np.array([Malicious()] * X.nnz, dtype=object)
    if kind == "index":
        arrays["indices"][3] = 9
    if kind == "negative":
        arrays["indices"][3] = -1
    if kind == "twice":
        arrays["indices"][: arrays["indptr"][1]] = 0
    if kind == "indptr":
        arrays["indptr"][2] = 10**6
    if kind == "starts":
        # Without entries scipy does not look at the starts in between, and would read beyond the end.
        arrays |= {"data": X.data[:0], "indices": X.indices[:0], "indptr": np.where(np.arange(13) % 12, 10**6, 0)}
    if kind == "shape":
        arrays["shape"] = np.array([12, 10**12])
    if kind == "nan":
        arrays["data"] = np.where(np.arange(X.nnz) == 1, np.nan, X.data)
    if kind == "infinite":
        arrays["data"] = X.data.astype(np.float64) * 1e60
    if kind == "missing":
        del arrays["indptr"]
    if kind == "text":
        arrays["data"] = np.array(["a"] * X.nnz)
    if kind == "form":
        arrays["format"] = np.array(b"dia")
    if kind == "float":
        arrays["indices"] = arrays["indices"] * 1.0
    if kind == "table":
        arrays["indices"] = arrays["indices"][:, None]
    if kind.startswith("coo"):
        row = np.repeat(np.arange(12), np.diff(X.indptr))
        arrays = {"format": np.array(b"coo"), "data": X.data, "row": row, "col": X.indices, "shape": arrays["shape"]}
    if kind == "coo row":
        arrays["row"][-1] = 12
    if kind == "coo short":
        arrays["col"] = arrays["col"][:-1]
    if kind == "coo twice":
        arrays["col"] = np.where(row == row[0], 0, X.indices)
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()[:-40] if kind == "cut" else out.getvalue()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("pickle", "holds pickled Python objects, which are never loaded"),
        ("index", "is no valid sparse matrix"),
        ("negative", "is no valid sparse matrix"),
        ("twice", "names 1 column twice in one row"),
        ("indptr", "is no valid sparse matrix"),
        ("starts", "is no valid sparse matrix"),
        ("shape", "has the shape 12×1000000000000"),
        ("nan", "holds NaN, infinity"),
        ("infinite", "holds NaN, infinity"),
        ("missing", "without indptr"),
        ("text", "arrays of the wrong kind"),
        ("form", "in the form 'dia'; expected csr, csc or coo"),
        ("float", "holds indices that are no whole numbers"),
        ("table", "arrays of the wrong kind"),
        ("coo row", "is no valid sparse matrix"),
        ("coo short", "is no valid sparse matrix"),
        ("coo twice", "names 1 column twice in one row"),
        ("cut", "cannot be read as arrays"),
    ],
)
def test_a_matrix_that_cannot_be_is_refused_with_its_file(folder, refusal, capsys, kind, expected):
    (folder / "X.trn.npz").write_bytes(damaged(kind))
    message = refusal(folder)
    assert message.startswith("X.trn.npz: ")
    assert expected in message
    assert capsys.readouterr().out == ""


def test_dense_matrices_that_are_named_one_by_one_are_no_archives(folder):
    for short, rows in (("trn", 12), ("tst", 5)):
        np.savez(folder / f"X.{short}.npz", np.arange(rows * 3.0).reshape(rows, 3))
    ds = read(sorted(folder.iterdir()))
    np.testing.assert_array_equal(ds.X_train, np.arange(36.0).reshape(12, 3))


def test_a_header_that_promises_more_than_the_file_holds_is_refused(folder, refusal):
    for short, shape in (("trn", (10**9, 10**4)), ("tst", (5, 9))):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
        (folder / f"X.{short}.npz").unlink()
        (folder / f"X.{short}.npy").write_bytes(header.getvalue())
    assert "an array of shape (1000000000, 10000) does not fit its size" in refusal(folder)


def test_matrices_that_expand_beyond_the_limits_are_refused(folder, refusal):
    with zipfile.ZipFile(folder / "X.trn.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        out = io.BytesIO()
        np.save(out, np.zeros((12, 400_000), np.float32))
        archive.writestr("arr_0.npy", out.getvalue())
    assert "expands to more than 200 times its size" in refusal(folder)
    assert "expands to more than 10 MB, the limit" in refusal(
        folder, limits=replace(LIMITS, max_expanded_bytes=10_000_000)
    )


def test_two_data_sets_in_one_folder_are_refused(tmp_path, refusal):
    for part in ("one", "two"):
        (tmp_path / part).mkdir()
        for name, matrix in matrices().items():
            sparse.save_npz(tmp_path / part / f"{name}.npz", matrix)
    assert refusal(tmp_path) == "2 folders hold labels (one, two); expected one data set"
