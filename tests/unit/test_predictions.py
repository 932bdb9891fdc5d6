import gzip

import napkinxc.metrics as napkin
import numpy as np
import omikuji
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.full_disk import full_disk
from tests.mulan import load_mulan
from xmlcore.checks import DataError
from xmlcore.metrics import precision_at_k, psprecision_at_k
from xmlcore.predictions import (
    PREDICTION_FORMATS,
    Predictions,
    agreement,
    cut_predictions,
    predictions_from_scores,
    read_predictions,
    write_predictions,
)
from xmlcore.propensity import inverse_propensity
from xmlcore.readers import write_xc_text


@pytest.fixture(scope="module")
def parabel(test_data, tmp_path_factory):
    """Bibtex, and what omikuji's Parabel predicts for its test instances: lists of (label, score), best first."""
    ds = load_mulan(test_data / "mulan", "bibtex")
    folder = write_xc_text(ds, tmp_path_factory.mktemp("bibtex"))
    parameters = omikuji.Model.default_hyper_param()
    parameters.n_trees = 1
    model = omikuji.Model.train_on_data(str(folder / "train.txt"), parameters, n_threads=1)
    X = ds.X_test
    rows = (slice(X.indptr[i], X.indptr[i + 1]) for i in range(X.shape[0]))
    pairs = [list(zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True)) for row in rows]
    return ds, [model.predict(row, top_k=10) for row in pairs]


def written_by_hand(path, kind, lists, n_labels):
    """The lists as each format has them, without the module under test."""
    triples = [(row, label, score) for row, pairs in enumerate(lists) for label, score in pairs]
    if kind == "npz":
        row, label, score = zip(*triples, strict=True)
        shape = (len(lists), n_labels)
        sparse.save_npz(path, sparse.csr_matrix((np.array(score, dtype=np.float32), (row, label)), shape=shape))
    elif kind == "text":
        path.write_text("".join(" ".join(f"{a}:{s:.9g}" for a, s in pairs) + "\n" for pairs in lists))
    else:
        path.write_text("instance,label,score\n" + "".join(f"{i},{a},{s:.9g}\n" for i, a, s in triples))


@pytest.mark.parametrize("kind", PREDICTION_FORMATS)
def test_parabels_predictions_in_a_file_give_its_metrics_as_napkinxc_computes_them(parabel, kind, tmp_path):
    ds, lists = parabel
    path = tmp_path / ("scores.npz" if kind == "npz" else "scores.txt")
    written_by_hand(path, kind, lists, ds.n_labels)
    top = read_predictions(path, ds.n_test, ds.n_labels).top
    theta = inverse_propensity(ds.Y_train, 0.55, 1.5)
    Y = sparse.csr_matrix(ds.Y_test)
    assert precision_at_k(top, ds.Y_test, 1) == pytest.approx(napkin.precision_at_k(Y, lists, 1)[-1], abs=1e-6)
    expected = napkin.psprecision_at_k(Y, lists, theta, 5)[-1]
    assert psprecision_at_k(top, ds.Y_test, theta, 5) == pytest.approx(expected, abs=1e-6)
    assert 0.55 < precision_at_k(top, ds.Y_test, 1) < 0.7


@given(seed=st.integers(0, 2**32 - 1), masked=st.sampled_from([None, 0.0, 0.4, 1.0]))
def test_of_chosen_rows_what_is_not_masked_moves_up_with_its_score(seed, masked):
    rng = np.random.default_rng(seed)
    top = np.stack([rng.permutation(7)[:4] for _ in range(6)]).astype(np.int32)
    scores = rng.random((6, 4))
    short = rng.random((6, 1)) * 6 <= np.arange(4)
    top[short], scores[short] = -1, np.nan
    whole = Predictions("theirs", top, scores, 7)
    rows = rng.permutation(6)[:3]
    exclude = None if masked is None else sparse.csr_array((rng.random((3, 7)) < masked).astype(np.float32))
    if exclude is not None:
        exclude.data[rng.random(exclude.nnz) < 0.3] = 0  # a stored zero masks nothing
    found = cut_predictions(whole, rows, exclude)
    assert (found.name, found.n_labels) == ("theirs", 7)
    assert (found.top.shape, found.top.dtype) == ((3, 4), np.int32)
    for at, row in enumerate(rows):
        pairs = [(a, s) for a, s in zip(top[row], scores[row], strict=True) if a >= 0]
        kept = [(a, s) for a, s in pairs if exclude is None or not exclude[at, a]]
        labels = found.top[at, : len(kept)]
        assert list(zip(labels, found.scores[at, : len(kept)], strict=True)) == kept
        assert (found.top[at, len(kept) :] == -1).all()
        assert np.isnan(found.scores[at, len(kept) :]).all()


def test_in_a_long_ranking_what_is_not_masked_keeps_its_order():
    order = np.random.default_rng(0).permutation(200).astype(np.int32)
    whole = Predictions("theirs", order[None], np.linspace(1, 0.1, 200)[None], 200)
    exclude = sparse.csr_array((np.arange(200)[None] % 3 == 0).astype(np.float32))
    found = cut_predictions(whole, slice(None), exclude)
    assert found.top[0, :133].tolist() == [label for label in order if label % 3]
    assert (np.diff(found.scores[0, :133]) < 0).all()


def test_a_mask_of_another_shape_is_refused():
    whole = predictions_from_scores("ours", np.eye(3), 2)
    with pytest.raises(DataError, match=r"exclude has shape \(2, 3\); .* shape of the predictions, \(3, 3\)"):
        cut_predictions(whole, slice(None), sparse.csr_array(np.eye(2, 3)))


@given(
    seed=st.integers(0, 2**32 - 1), k=st.integers(1, 9), kind=st.sampled_from(PREDICTION_FORMATS), weigh=st.booleans()
)
@settings(max_examples=40, deadline=None)
def test_our_ranking_comes_back_from_every_format(seed, k, kind, weigh, tmp_path_factory):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((6, 7)).astype(np.float32)
    exclude = sparse.csr_array(rng.random((6, 7)) < 0.4)
    theta = 1 + rng.random(7) if weigh else None
    written = predictions_from_scores("ours", scores, k, inverse_propensity=theta, exclude=exclude)
    path = tmp_path_factory.mktemp("round") / ("scores.npz" if kind == "npz" else "scores.csv")
    write_predictions(path, written, kind)
    if not (written.top >= 0).any():
        return
    read = read_predictions(path, 6, 7, k=k)
    np.testing.assert_array_equal(read.top, written.top)
    np.testing.assert_allclose(read.scores, written.scores, rtol=1e-6)
    assert (read.n_labels, read.top.shape[1]) == (7, min(k, 7))


@pytest.mark.parametrize("kind", PREDICTION_FORMATS)
def test_scores_that_single_precision_cannot_tell_apart_keep_their_order(kind, tmp_path):
    scores = np.array([[0.99999999, 0.0, 0.999999999, 0.5], [1e-50, 1e-60, 0.0, 0.0]])
    theirs = predictions_from_scores("theirs", scores, 4)
    assert theirs.top[0].tolist() == [2, 0, 3, 1]
    path = tmp_path / ("scores.npz" if kind == "npz" else "scores.csv")
    write_predictions(path, theirs, kind)
    read = read_predictions(path, 2, 4)
    assert read.top.tolist() == theirs.top.tolist()
    np.testing.assert_array_equal(read.scores[0, :3], theirs.scores[0, :3])


@pytest.mark.parametrize("suffix", ["csv", "txt"])
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False).filter(bool), min_size=2, max_size=9),
    st.floats(1e-30, 1e300),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scores_one_unit_in_the_last_place_apart_come_back_bit_by_bit(suffix, tmp_path, scores, score):
    scores = np.array([[*scores, score, np.nextafter(score, 1e308), 5e-324, -1e-310, 1e39, -np.finfo(float).max]])
    theirs = predictions_from_scores("theirs", scores, scores.size)
    path = tmp_path / f"scores.{suffix}"
    write_predictions(path, theirs, "csv" if suffix == "csv" else "text")
    read = read_predictions(path, 1, scores.size)
    np.testing.assert_array_equal(read.top, theirs.top)
    np.testing.assert_array_equal(read.scores, theirs.scores)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**38), max_value=10**38), st.integers(-340, 308)
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_decimal_is_read_as_python_reads_it(tmp_path, decimal, power):
    texts = [text for text in (f"{decimal:f}", f"{decimal.scaleb(-39):e}", f"1e{power}") if float(text)]
    (tmp_path / "scores.txt").write_text(" ".join(f"{at}:{text}" for at, text in reversed(list(enumerate(texts)))))
    read = read_predictions(tmp_path / "scores.txt", 1, 3)
    for label, score in zip(read.top[0], read.scores[0], strict=True):
        assert label < 0 or score == float(texts[label])
    assert (read.top >= 0).sum() == len(texts)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kind", PREDICTION_FORMATS)
def test_labels_that_score_zero_keep_their_places(kind, wide, tmp_path):
    scores = np.array([[0.0, -1.0, 0.5 + wide * 1e-12, 0.0], [0.0, 0.0, -0.0, 0.0]])
    ours = predictions_from_scores("ours", scores, 3)
    path = tmp_path / ("scores.npz" if kind == "npz" else "scores.csv")
    write_predictions(path, ours, kind)
    read = read_predictions(path, 2, 4, k=3)
    assert read.top.tolist() == ours.top.tolist() == [[2, 0, 3], [0, 1, 2]]
    np.testing.assert_allclose(read.scores, ours.scores, rtol=1e-15, atol=1e-44)
    assert ours.scores[0, 1] == 0  # what is written is a copy


OURS = Predictions("ours", np.array([[0], [1], [2]]), np.array([[3.0], [2.0], [1.0]]), 3)


@pytest.mark.parametrize("kind", PREDICTION_FORMATS)
@pytest.mark.parametrize("path", ["", "/"])
def test_a_path_without_a_name_is_refused(path, kind):
    with pytest.raises(DataError, match=r"cannot be written \(it names no file\)"):
        write_predictions(path, OURS, kind)


@pytest.mark.parametrize("kind", PREDICTION_FORMATS)
def test_what_cannot_be_written_is_said_with_the_path_and_nothing_is_lost(kind, tmp_path):
    path = tmp_path / "nowhere" / "ours.npz"
    with pytest.raises(DataError, match=r"nowhere/ours.npz cannot be written \(No such file or directory\)"):
        write_predictions(path, OURS, kind)
    path.mkdir(parents=True)
    with pytest.raises(DataError, match=r"ours.npz cannot be written \(Is a directory\)"):
        write_predictions(path, OURS, kind)
    large = predictions_from_scores("large", np.random.default_rng(0).random((3_000, 100)), 100)
    with full_disk(tmp_path / "disk"):
        path = tmp_path / "disk" / "ours.npz"
        write_predictions(path, OURS, kind)
        before = path.read_bytes()
        with pytest.raises(DataError, match=r"ours\.npz cannot be written"):
            write_predictions(path, large, kind)
        assert [file.read_bytes() for file in path.parent.iterdir()] == [before]


def test_a_path_without_its_ending_gets_it_and_a_link_stays_a_link(tmp_path):
    write_predictions(tmp_path / "ours", OURS, "npz")
    assert [path.name for path in tmp_path.iterdir()] == ["ours.npz"]
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_predictions(tmp_path / "link", OURS, "text")
    assert (tmp_path / "real").read_text() == "3 3\n0:3\n1:2\n2:1\n"
    assert (tmp_path / "link").is_symlink()


def test_ties_go_to_the_lower_label_and_rows_without_predictions_stay_empty(tmp_path):
    path = tmp_path / "scores.txt.gz"
    path.write_bytes(gzip.compress(b"3 4\n\n3:1 0:1 2:1.5\n\n\n"))
    read = read_predictions(path, 3, 4, k=2)
    assert read.top.tolist() == [[-1, -1], [2, 0], [-1, -1]]
    assert read.name == "scores.txt"


def test_blank_lines_before_a_header_are_no_rows(tmp_path):
    (tmp_path / "scores.txt").write_text("\n \n2 3\n0:1 1:2\n2:1\n")
    assert read_predictions(tmp_path / "scores.txt", 2, 3).top.tolist() == [[1, 0, -1], [2, -1, -1]]


def test_scores_of_single_precision_are_written_in_it(tmp_path):
    for value, dtype in ((0.5, np.float32), (0.1, np.float64)):
        write_predictions(tmp_path / "ours.npz", predictions_from_scores("ours", np.full((1, 2), value), 1), "npz")
        assert sparse.load_npz(tmp_path / "ours.npz").dtype == dtype


def test_scores_that_expand_beyond_the_limits_are_refused(tmp_path):
    np.savez_compressed(tmp_path / "theirs.npz", np.zeros((2_000, 1_100)))
    with pytest.raises(DataError, match=r"theirs\.npz: expands to more than 200 times its size"):
        read_predictions(tmp_path / "theirs.npz", 2_000, 1_100)


def test_dense_scores_are_ranked_too(tmp_path):
    np.save(tmp_path / "scores.npy", np.array([[0.1, 0.3, 0.2]]))
    assert read_predictions(tmp_path / "scores.npy", 1, 3).top.tolist() == [[1, 2, 0]]


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.coo_array, np.asarray])
@pytest.mark.parametrize("name", ["scores.zip", "scores"])
def test_scores_of_numpy_are_known_by_what_they_hold_whatever_the_file_is_called(name, kind, tmp_path):
    scores = kind(np.array([[0.1, 0.3, 0.2]]))
    np.savez(tmp_path / "a.npz", scores) if kind is np.asarray else sparse.save_npz(tmp_path / "a.npz", scores)
    path = (tmp_path / "a.npz").rename(tmp_path / name)
    assert read_predictions(path, 1, 3).top.tolist() == [[1, 2, 0]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "0:0.5\n1:x\n", "a.txt, line 2: the value in '1:x' is no number"),
        ("a.txt", "0:0.5\n1 0:1\n", "a.txt, line 2: the label '1' has no value"),
        ("a.txt", "0:0.5\n3:1\n", "a.txt, line 2: label 3 is out of range; expected 3 labels, numbered 0 to 2"),
        ("a.txt", "0:0.5 0:0.4\n\n", "a.txt, line 1: label 0 occurs twice"),
        ("a.txt", "0:nan\n\n", "a.txt, line 1: the value in '0:nan' is not finite"),
        ("a.csv", "0,0,1\n0,1,1_0\n", "a.csv, line 2: the score '1_0' is no finite number"),
        ("a.txt", "0:2e308\n\n", "a.txt, line 1: the value in '0:2e308' is not finite"),
        ("a.txt", "0:1\n", r"a.txt: has scores of shape \(1, 3\); expected \(2, 3\)"),
        ("a.txt", "5 3\n0:1\n", "a.txt, line 1: promises 5 rows and 3 labels; expected 2 and 3"),
        ("a.txt", "\n5 3\n0:1\n", "a.txt, line 2: promises 5 rows and 3 labels; expected 2 and 3"),
        ("a.txt", f"{'9' * 5000} 3\n0:1\n", "a.txt, line 1: has 1 cell; expected three"),
        ("a.txt", "\n \n", "a.txt: holds no prediction"),
        ("b.csv", "0,0,1\n0,1\n", "b.csv, line 2: has 2 cells; expected three"),
        ("b.csv", "0,0,1\n0\n", "b.csv, line 2: has 1 cell; expected three"),
        ("b.csv", "0,0,1\n0,1,high\n", "b.csv, line 2: the score 'high'"),
        ("b.csv", "0,0,1\n0,1,inf\n", "b.csv, line 2: the score 'inf'"),
        ("b.csv", "0,0,1\n\n2,1,1\n", "b.csv, line 3: instance '2' is unknown; expected a number from 0 to 1"),
        ("b.csv", "0,0,1\n0,-1,1\n", "b.csv, line 2: label '-1' is unknown"),
        ("b.csv", "0,0,1\n1,0,1\n0,0,2\n", "b.csv, line 3: names a label twice"),
        ("b.csv", "doc,tag,score\n0,0,2\n", "b.csv, line 1: names the columns doc, tag, score"),
        ("b.csv", '0,"0,1\n', "b.csv, line 1: is no CSV"),
        ("b.csv", b"0,0,1\n0,caf\xe9,1\n", r"b.csv, line 2: byte b'\\xe9' is not UTF-8; expected text in UTF-8 \(save"),
        ("b.csv", "0,0,1\n".encode("utf-16"), "b.csv: seems to be text in UTF-16"),
        ("c.bin", "\0\0", "c.bin: is neither text nor .npz"),
        ("c.npz", "PK", "c.npz: cannot be read as arrays"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError, match=message):
        read_predictions(tmp_path / name, 2, 3)


@given(content=st.one_of(st.binary(max_size=60), st.text('0123456789:., \n\t"-e', max_size=60).map(str.encode)))
@settings(max_examples=150, deadline=None)
def test_whatever_a_file_holds_only_data_errors_come_out(content, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "scores"
    path.write_bytes(content)
    try:
        read = read_predictions(path, 3, 4)
    except DataError:
        return
    assert read.top.shape == (3, 4)
    assert read.top.max() < 4


def test_scores_of_another_shape_and_unknown_formats_are_refused(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(np.ones((2, 3))))
    with pytest.raises(DataError, match=r"a.npz: has scores of shape \(2, 3\); expected \(2, 4\)"):
        read_predictions(tmp_path / "a.npz", 2, 4)
    with pytest.raises(DataError, match="k is 0"):
        read_predictions(tmp_path / "a.npz", 2, 3, k=0)
    ours = Predictions("ours", np.array([[0]]), np.array([[1.0]]), 2)
    with pytest.raises(DataError, match="format is 'xml'"):
        write_predictions(tmp_path / "b", ours, "xml")
    with pytest.raises(DataError, match="label_names has 1"):
        write_predictions(tmp_path / "b", ours, "csv", label_names=["a"])


def test_agreement_is_the_share_of_common_labels_in_any_order():
    top = np.array([[0, 1, 2], [0, 1, 2], [3, -1, -1], [-1, -1, -1], [4, -1, -1]])
    other = np.array([[2, 0, 1], [5, 6, 0], [3, -1, -1], [-1, -1, -1], [-1, -1, -1]])
    found = agreement(top, other, 3)
    np.testing.assert_allclose(found.by_row, [1, 1 / 3, 1, 1, 0])
    assert found.mean == pytest.approx((1 + 1 / 3 + 1 + 1 + 0) / 5)
    assert agreement(top, other, 1).by_row.tolist() == [0, 0, 1, 1, 0]


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_agreement_equals_a_loop_over_sets_and_is_symmetric(seed, k):
    rng = np.random.default_rng(seed)
    a, b = (np.argsort(rng.random((5, 8)), axis=1)[:, :6] for _ in range(2))
    expected = [len(set(x[:k]) & set(y[:k])) / k for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(agreement(a, b, k).by_row, expected)
    assert agreement(a, b, k).mean == agreement(b, a, k).mean


def test_rankings_of_other_rows_cannot_agree():
    with pytest.raises(DataError, match="expected the same rows"):
        agreement(np.zeros((2, 1), int), np.zeros((3, 1), int), 1)
