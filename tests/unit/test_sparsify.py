import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.full_disk import full_disk
from tests.mulan import load_mulan
from tests.unit.helpers import dense
from xmlcore.catalog import load_dataset
from xmlcore.checks import DataError
from xmlcore.evaluation import evaluate
from xmlcore.metrics import METRICS, make_ruler, precision_at_k, psprecision_at_k
from xmlcore.propensity import inverse_propensity
from xmlcore.ranking import top_k
from xmlcore.ridge import RidgeFactorization
from xmlcore.sparsify import WeightSizes, compress, save_sparse_weights, sparse_weights, weight_sizes

SHARES = [0.3, 0.02, 1.0, 0.1]


def problem(seed=0, L=9):
    rng = np.random.default_rng(seed)
    X, X_new = (
        (
            sparse.random_array((n, 30), density=0.3, format="csr", rng=rng, dtype=np.float64),
            rng.standard_normal((n, 4)),
        )
        for n in (60, 25)
    )
    Y, Y_new = (sparse.csr_array(rng.random((n, L)) < 0.3 * rng.random(L), dtype=np.float32) for n in (60, 25))
    return RidgeFactorization.fit(X, Y), X_new, Y_new, inverse_propensity(Y, 0.8, 1.5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("memory_budget", [1, 5000, 1 << 30])
@pytest.mark.parametrize("keep_W", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_each_point_equals_a_dense_W_with_its_small_entries_set_to_zero(weighted, memory_budget, keep_W, masked):
    fac, X, Y, theta = problem()
    W = fac.weights(0.5)
    fac = replace(fac, memory_budget=memory_budget)
    exclude = sparse.csr_array(np.random.default_rng(9).random(Y.shape) < 0.6) if masked else None
    full = evaluate(fac, fac.project(X), Y, 0.5, theta, theta, (1, 3), exclude=exclude)
    full = (full.ps if weighted else full.ridge).metrics
    kept_W = W if keep_W else None
    sizes = weight_sizes(fac, 0.5, theta if weighted else None, W=kept_W)
    ruler = make_ruler(Y, theta, 3)
    points = compress(fac, sizes, SHARES, X, ruler, full, (1, 3), W=kept_W, exclude=exclude)
    factor = theta if weighted else np.ones(9)
    magnitudes = np.abs(W) * factor.astype(np.float32)
    for share, point in zip(SHARES, points, strict=True):
        kept = np.where(magnitudes >= point.threshold, W, 0)
        assert point.kept == np.count_nonzero(kept)
        assert point.kept_share == pytest.approx(share, abs=0.002 + np.mean(W == 0))
        top = top_k((dense(X).astype(np.float32) @ kept).astype(np.float64) * factor, 3, exclude)
        hit = np.take_along_axis(Y.toarray(), np.maximum(top, 0), axis=1) * (top >= 0)
        assert point.metrics["precision"][3] == pytest.approx(hit.mean())
        assert point.relative["precision"][3] == pytest.approx(hit.mean() / full["precision"][3])
    assert points[2].metrics == full
    assert all(value == 1 for name in full for value in points[2].relative[name].values())


@pytest.mark.parametrize("memory_budget", [1, 1 << 30])
def test_where_most_labels_are_masked_the_others_alone_are_ranked(memory_budget):
    fac, X, Y, _ = problem()
    fac = replace(fac, memory_budget=memory_budget)
    masked = np.random.default_rng(0).random(Y.shape) < 0.8
    ruler = make_ruler(sparse.csr_array(np.ones(Y.shape, np.float32)), None, 3)  # whatever is ranked is right
    full = {name: {3: 1.0} for name in METRICS}
    (point,) = compress(fac, weight_sizes(fac, 0.5), [0.5], X, ruler, full, (3,), exclude=sparse.csr_array(masked))
    assert point.metrics["precision"][3] == pytest.approx(np.minimum((~masked).sum(axis=1), 3).mean() / 3)


def test_an_entry_as_large_as_the_threshold_is_kept():
    fac, X, Y, _ = problem()
    W = np.random.default_rng(0).choice([-1, -0.5, -0.25, 0.25, 0.5, 1], (34, 9)).astype(np.float32)
    sizes, ruler = weight_sizes(fac, 0.5, W=W), make_ruler(Y, None, 3)
    full = {name: {3: 1.0} for name in METRICS}
    shares = [np.mean(np.abs(W) >= tau) for tau in (1, 0.5)]
    points = compress(fac, sizes, shares, X, ruler, full, (3,), W=W)
    for tau, share, point in zip((1, 0.5), shares, points, strict=True):
        kept = np.where(np.abs(W) >= tau, W, 0)
        assert (point.threshold, point.kept, point.kept_share) == (tau, np.count_nonzero(kept), pytest.approx(share))
        np.testing.assert_array_equal(sparse_weights(fac, sizes, tau, W=W).toarray(), kept)
        top = top_k(dense(X).astype(np.float32) @ kept, 3)
        assert point.metrics["precision"][3] == precision_at_k(top, Y, 3)


def test_a_share_beyond_what_is_not_zero_keeps_all_of_that():
    fac, *_ = problem()
    W = fac.weights(0.5)
    W[:20] = 0  # as those of features that no training instance has
    sizes = weight_sizes(fac, 0.5, W=W)
    assert sizes.threshold(1.0) == 0
    assert sizes.kept(0.0) == sparse_weights(fac, sizes, 0.0, W=W).nnz == np.count_nonzero(W)
    assert sizes.threshold(0.3) > 0


@given(seed=st.integers(0, 1000), share=st.floats(0.001, 1))
@settings(max_examples=40, deadline=None)
def test_the_threshold_keeps_the_share_asked_for_to_one_part_in_four_thousand(seed, share):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((60, 40)).astype(np.float32) * np.exp(rng.standard_normal(40)).astype(np.float32)
    counts = np.bincount(np.abs(W).view(np.uint32).ravel() >> 11, minlength=1 << 20)
    sizes = WeightSizes(1.0, None, W.shape, np.cumsum(counts[::-1])[::-1])
    tau = sizes.threshold(share)
    assert sizes.kept(tau) == np.count_nonzero(np.abs(W) >= tau)
    exact = np.sort(np.abs(W).ravel())[::-1][min(W.size - 1, round(share * W.size))]
    within = np.count_nonzero((np.abs(W) >= exact * (1 - 2**-11)) & (np.abs(W) <= exact * (1 + 2**-11)))
    assert abs(sizes.kept(tau) - share * W.size) <= within + 1


def test_one_threshold_keeps_different_shares_of_the_two_variants():
    fac, _, _, theta = problem()
    plain, weighted = weight_sizes(fac, 0.5), weight_sizes(fac, 0.5, theta)
    tau = plain.threshold(0.1)
    assert weighted.kept(tau) > plain.kept(tau)


def test_megabytes_are_those_of_scipys_arrays(tmp_path):
    fac, X, Y, theta = problem()
    sizes = weight_sizes(fac, 0.5, theta)
    full = evaluate(fac, fac.project(X), Y, 0.5, theta, theta, (1,)).ps.metrics
    (point,) = compress(fac, sizes, [0.2], X, make_ruler(Y, theta, 1), full, (1,))
    W = sparse_weights(fac, sizes, point.threshold)
    assert W.nnz == point.kept
    expected = W.data.nbytes + W.indices.astype(np.int32).nbytes + W.indptr.astype(np.int32).nbytes
    assert point.megabytes == pytest.approx(expected / 1e6)
    assert point.megabytes_dense == pytest.approx(34 * 9 * 4 / 1e6)


@pytest.mark.filterwarnings("error")
def test_a_threshold_beyond_float32_keeps_nothing_and_minus_zero_is_zero():
    fac, *_ = problem()
    sizes = weight_sizes(fac, 0.5)
    assert sizes.kept(1e60) == sparse_weights(fac, sizes, 1e60).nnz == 0
    assert sizes.kept(-0.0) == sizes.kept(0.0) == np.count_nonzero(fac.weights(0.5))


@pytest.mark.parametrize("memory_budget", [1, 1 << 30])
def test_the_exported_weights_are_read_by_scipy_and_rank_as_they_are(tmp_path, memory_budget):
    fac, *_, theta = problem()
    fac = replace(fac, memory_budget=memory_budget)
    sizes = weight_sizes(fac, 0.5, theta)
    tau = sizes.threshold(0.3)
    features, labels = [f"word {n}" for n in range(34)], [f"tag {n}" for n in range(9)]
    settings = {"reg_lambda": 0.5, "A": 0.8, "B": 1.5, "threshold": tau}
    path = tmp_path / "weights.npz"
    save_sparse_weights(
        path, sparse_weights(fac, sizes, tau), feature_names=features, label_names=labels, settings=settings
    )
    W = sparse.load_npz(path)
    full = fac.weights(0.5)
    expected = np.where(np.abs(full) * theta.astype(np.float32) >= tau, full, 0) * theta
    np.testing.assert_allclose(W.toarray(), expected, rtol=1e-5)
    with np.load(path, allow_pickle=False) as file:
        assert file["feature_names"].tolist() == features
        assert file["label_names"].tolist() == labels
        assert json.loads(str(file["settings"])) == settings


def test_an_open_file_is_written_to_as_a_path_is(tmp_path):
    W = sparse.csr_array(np.eye(2, dtype=np.float32))
    with (tmp_path / "weights").open("wb") as file:
        save_sparse_weights(file, W, label_names=["a", "b"])
    assert (sparse.load_npz(tmp_path / "weights") != W).nnz == 0


def test_numpys_numbers_in_the_settings_are_plain_numbers_in_the_file(tmp_path):
    W = sparse.csr_array(np.eye(2, dtype=np.float32))
    said = {"a": np.float32(0.5), "n": np.int64(3), "ok": np.True_, "ks": np.array([1, 5])}
    save_sparse_weights(tmp_path / "weights", W, settings=said)
    with np.load(tmp_path / "weights.npz", allow_pickle=False) as file:
        assert json.loads(str(file["settings"])) == {"a": 0.5, "n": 3, "ok": True, "ks": [1, 5]}


def test_weights_of_every_form_are_written_as_they_are(tmp_path):
    W = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    for form in (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csc_matrix, np.asarray):
        save_sparse_weights(tmp_path / "weights.npz", form(W))
        np.testing.assert_array_equal(sparse.load_npz(tmp_path / "weights.npz").toarray(), W)
    with pytest.raises(DataError, match="weights must have two dimensions"):
        save_sparse_weights(tmp_path / "weights.npz", np.ones(3))


def test_weights_that_cannot_be_written_are_refused_with_the_reason(tmp_path):
    W = sparse.csr_array(np.eye(2, dtype=np.float32))
    for value in (object(), {1, 2}, {np.int64(1): 2}, float("nan"), np.array([np.inf])):
        with pytest.raises(DataError, match="settings cannot be written as JSON"):
            save_sparse_weights(tmp_path / "weights.npz", W, settings={"a": value})
    with pytest.raises(DataError, match=r"nowhere/weights.npz cannot be written \(No such file or directory\)"):
        save_sparse_weights(tmp_path / "nowhere" / "weights.npz", W)
    rng = np.random.default_rng(0)
    with full_disk(tmp_path / "disk"):
        path = tmp_path / "disk" / "weights.npz"
        save_sparse_weights(path, W)
        with pytest.raises(DataError, match=r"weights\.npz cannot be written"):
            save_sparse_weights(path, sparse.csr_array(rng.random((1_000, 500), np.float32)))
        assert (sparse.load_npz(path) != W).nnz == 0


@pytest.mark.parametrize(
    ("full", "named"),
    [
        ({}, "precision at K = 1"),
        ({name: {1: 0.5} for name in METRICS}, "precision at K = 3"),
        ({name: {1: 0.5, 3: 0.5} for name in METRICS if name != "recall"}, "recall at K = 1"),
    ],
)
def test_a_metric_that_full_lacks_is_named(full, named):
    fac, X, Y, theta = problem()
    with pytest.raises(DataError, match=f"full lacks {named}; expected every metric at K = 1, 3"):
        compress(fac, weight_sizes(fac, 0.5), [0.5], X, make_ruler(Y, theta, 3), full, (1, 3))


def test_progress_rises_to_one_block_by_block():
    fac, X, Y, _ = problem()
    fac = replace(fac, memory_budget=5000)
    full = evaluate(fac, fac.project(X), Y, 0.5, np.ones(9), np.ones(9), (1,)).ridge.metrics
    said: list[float] = []
    sizes = weight_sizes(fac, 0.5, progress=lambda stage, done: said.append(done))
    compress(
        fac, sizes, [0.5], X, make_ruler(Y, np.ones(9), 1), full, (1,), progress=lambda stage, done: said.append(done)
    )
    assert said.count(1.0) == 2
    assert len(said) > 4
    assert said == sorted(said[: said.index(1.0) + 1]) + sorted(said[said.index(1.0) + 1 :])


def test_bibtex_keeps_what_was_measured_with_another_implementation(test_data):
    ds = load_mulan(test_data / "mulan", "bibtex")
    fac = RidgeFactorization.fit(ds.X_train, ds.Y_train)
    theta = inverse_propensity(ds.Y_train, 0.55, 1.5)
    full = evaluate(fac, fac.project(ds.X_test), ds.Y_test, 93.0, theta, theta, (1, 5)).ps.metrics
    sizes = weight_sizes(fac, 93.0, theta)
    points = compress(fac, sizes, [0.1, 0.01], ds.X_test, make_ruler(ds.Y_test, theta, 5), full, (1, 5))
    kept = [100 * point.relative[name][k] for point in points for name, k in (("precision", 1), ("psprecision", 5))]
    assert kept == pytest.approx([99.5, 98.8, 94.6, 93.5], abs=0.5)


def test_debtags_keeps_its_metrics_at_a_fiftieth_of_w():
    ds = load_dataset("debtags")
    fac = RidgeFactorization.fit(ds.X_train, ds.Y_train)
    theta = inverse_propensity(ds.Y_train, 0.55, 1.5)
    full = evaluate(fac, fac.project(ds.X_test), ds.Y_test, 3.0, theta, theta, (1, 5))
    W, ruler = fac.weights(3.0), make_ruler(ds.Y_test, theta, 5)
    # By hand: the largest 2% of the magnitudes by a full sort, and scipy's own product.
    for weights, metrics, measured in (
        (None, full.ridge.metrics, (99.96, 99.27)),
        (theta, full.ps.metrics, (98.66, 99.20)),
    ):
        sizes = weight_sizes(fac, 3.0, weights, W=W)
        (point,) = compress(fac, sizes, [0.02], ds.X_test, ruler, metrics, (1, 5), W=W)
        kept = [100 * point.relative[name][k] for name, k in (("precision", 1), ("psprecision", 5))]
        assert kept == pytest.approx(measured, abs=0.5)
        factor = np.ones(ds.n_labels) if weights is None else weights
        magnitudes = np.abs(W) * factor.astype(np.float32)
        smallest = np.sort(magnitudes, axis=None)[-round(0.02 * W.size)]
        top = top_k((ds.X_test @ np.where(magnitudes >= smallest, W, 0)) * factor, 5)
        exact = [
            100 * precision_at_k(top, ds.Y_test, 1) / metrics["precision"][1],
            100 * psprecision_at_k(top, ds.Y_test, theta, 5) / metrics["psprecision"][5],
        ]
        assert kept == pytest.approx(exact, abs=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda fac, X, Y, sizes: sizes.threshold(0.0), "share is 0"),
        (lambda fac, X, Y, sizes: sizes.threshold(1.1), "share is 1.1"),
        (lambda fac, X, Y, sizes: sizes.kept(-1), "threshold is -1"),
        (lambda fac, X, Y, sizes: sizes.kept("1"), "threshold is '1'"),
        (lambda fac, X, Y, sizes: sparse_weights(fac, sizes, np.nan), "threshold is nan"),
        (lambda fac, X, Y, sizes: compress(fac, sizes, 0.5, X, make_ruler(Y, None, 1), {}, (1,)), "full lacks"),
        (
            lambda fac, X, Y, sizes: compress(
                fac, sizes, 0.5, X, make_ruler(Y, None, 1), {m: {1: 1} for m in METRICS}, (1,)
            ),
            "shares is 0.5; expected a sequence",
        ),
        (lambda fac, X, Y, sizes: weight_sizes(fac, 0.0), "reg_lambda is 0"),
        (lambda fac, X, Y, sizes: weight_sizes(fac, -1.0, W=fac.weights(1.0)), "reg_lambda is -1"),
        (lambda fac, X, Y, sizes: weight_sizes(fac, 1.0, W=sparse.csr_array(fac.weights(1.0))), r"W has shape \(\)"),
        (lambda fac, X, Y, sizes: weight_sizes(fac, 1.0, np.ones(3)), "inverse_propensity has shape"),
        (lambda fac, X, Y, sizes: weight_sizes(fac, 1.0, W=np.ones((3, 3))), "W has shape"),
        (lambda fac, X, Y, sizes: compress(fac, sizes, [0.5], X, make_ruler(Y[:4], None, 5), {}), "X has 25 rows"),
        (
            lambda fac, X, Y, sizes: save_sparse_weights("unused", sparse_weights(fac, sizes, 0.1), label_names=["a"]),
            "label_names has 1",
        ),
    ],
)
def test_bad_arguments_are_named_with_their_value(call, message):
    fac, X, Y, _ = problem()
    with pytest.raises(DataError, match=message):
        call(fac, X, Y, weight_sizes(fac, 1.0))
