"""The Compress page on Debtags: what is kept at each share, against the dense product thresholded by hand."""

import json
import re
from collections import OrderedDict
from dataclasses import replace
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from streamlit.testing.v1 import AppTest

from pages.shared import answers, behind, compress_words, compression
from pages.shared import model as models
from pages.shared.frame import plain_markdown
from pages.shared.settings import Settings
from tests.app.helpers import charts, run_until, start
from tests.app.tiny import BUILT, OWN, answer_at
from xmlcore import evaluate_scores, inverse_propensity
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.metrics import METRICS


def ready(app: AppTest) -> AppTest:
    """The page once Debtags is factorised."""
    return run_until(app, lambda app: models.model_of("Debtags", "").ready).run()


@pytest.fixture(scope="module")
def page() -> AppTest:
    return ready(start().switch_page("pages/compress.py").run())


@pytest.fixture(scope="module")
def answer(page):
    return answers.answer_at(Settings(data="Debtags"))


def shown(page, table, row, variant) -> float:
    """The first number in a cell of a table on the page."""
    return float(re.match(r"[\d.,]+", page.table[table].value.loc[row, variant])[0].replace(",", ""))


def test_two_percent_keep_what_a_thresholded_w_keeps(page):
    assert not page.exception
    # As tests/unit/test_sparsify.py finds by a full sort of the magnitudes and scipy's own product.
    assert shown(page, 0, "P@1", RIDGE) == pytest.approx(99.96, abs=0.05)
    assert shown(page, 1, "W, dense", RIDGE) == pytest.approx(4 * 3_000 * 598 / 1e6, abs=0.005)


def test_the_slider_changes_what_is_kept(page):
    page.select_slider(key="kept_share").set_value("10 %").run()
    assert not page.exception
    for variant in (RIDGE, RIDGE_PS):
        assert shown(page, 1, "Share kept", variant) == pytest.approx(10, abs=0.05)


@pytest.mark.parametrize("path", ["pages/compress.py", "pages/tune.py"])
def test_charts_say_what_their_open_markers_are_where_a_setting_is_held(page, path):
    app = start().switch_page(path).run()
    for held in (False, True):
        run_until(app, lambda app: any("Large markers: the" in each.value for each in app.caption))
        told = [each.value for each in app.caption if "Large markers: the" in each.value]
        assert len(told) == 2
        assert all(("; open ones: the held setting." in caption) == held for caption in told)
        app.sidebar.button(key="hold_button").click().run()


def test_a_link_sets_the_kept_share():
    app = start(kept_share="0.5 %").switch_page("pages/compress.py").run()
    assert app.select_slider(key="kept_share").value == "0.5 %"


def test_a_kept_share_that_is_not_there_is_named_and_the_usual_one_taken():
    app = start(kept_share="500").switch_page("pages/compress.py").run()
    assert not app.exception
    assert app.select_slider(key="kept_share").value == "2 %"
    (warning,) = app.warning
    assert plain_markdown("kept_share = 500 was refused: expected one of 0.1 %, ") in warning.value
    app.button(key="close_refused").click().run()
    assert not app.warning


def curves_with_points(page) -> list[str]:
    """The names of the first chart's curves that have points; all are in its legend from the start."""
    names = {trace["name"]: trace["x"] for trace in charts(page)[0]["data"] if "test instances" in trace["name"]}
    assert len(names) == 2
    return [name for name, x in names.items() if x != [None]]


def completed(work: behind.Filling) -> behind.Filling:
    """The work, done here and now: the thread behind the pages must not have been asked for it."""
    while not work.done:
        work.step()
    assert work.error is None
    return work


def test_the_curve_is_filled_in_behind_the_page_and_agrees_with_the_slider(page, monkeypatch):
    monkeypatch.setattr(behind, "want", lambda work: None)
    page.session_state["A"] = 0.8
    page.run()
    assert not charts(page)  # axes without a curve are not drawn
    answer = answers.answer_at(Settings(data="Debtags", A=0.8))
    work = completed(compression.curves(answer))
    page.run()
    assert len(curves_with_points(page)) == 2
    page.session_state["A"] = 0.55
    page.run()
    assert not page.exception
    for variant in (RIDGE, RIDGE_PS):
        now, there = compression.point(answer, variant, 2.0), compression.points_of(work, variant)[2.0]
        assert now.threshold == there.threshold
        for metric, by_k in now.metrics.items():
            assert by_k[5] == pytest.approx(there.metrics[metric][5])
            assert now.relative[metric][5] == pytest.approx(there.relative[metric][5])
        assert all(
            value == pytest.approx(1) for value in compression.points_of(work, variant)[100.0].relative["ndcg"].values()
        )


def test_a_w_that_is_made_in_blocks_gives_the_same_points(answer, monkeypatch):
    quick = compression.point(answer, RIDGE_PS, 5.0)
    monkeypatch.setattr(compression, "QUICK_BYTES", 0)
    monkeypatch.setattr(compression, "BLOCK_BYTES", 20 << 20)
    assert not compression.is_quick(answer.model)
    assert compression.dense_seconds.__wrapped__(answer, RIDGE) is None
    blocks = compression._compress(answer, RIDGE_PS, (5.0,), (1, 5), answer.evaluation.ps.metrics)[0]
    assert blocks.kept == quick.kept
    assert blocks.metrics["precision"][5] == pytest.approx(quick.metrics["precision"][5], abs=1e-4)


def test_a_large_w_is_compressed_behind_a_button(monkeypatch):
    monkeypatch.setattr(compression, "QUICK_BYTES", 0)
    monkeypatch.setattr(behind, "want", lambda work: None)
    app = ready(start().switch_page("pages/compress.py").run())
    app.session_state["A"] = 0.9  # another test has the curve of the default
    app.session_state["_compress_wanted"] = ("Debian-depends", "")
    app.run()
    assert not app.table
    assert any("W has 3,000 × 598 entries, 7.18 MB. " in each.value for each in app.markdown)
    next(button for button in app.button if button.label == "Compress W").click().run()
    answer = answers.answer_at(Settings(data="Debtags", A=0.9))
    completed(compression.curves(answer))
    app.run()
    assert not app.exception
    assert shown(app, 1, "Share kept", RIDGE_PS) == pytest.approx(2, abs=0.05)


def test_the_weights_of_the_weighted_variant_carry_theta_and_their_settings(answer):
    theta = inverse_propensity(answer.dataset.Y_train, 0.55, 1.5)
    files = {variant: BytesIO(compression.exported(answer, variant, 100.0)) for variant in (RIDGE, RIDGE_PS)}
    plain, weighted = (sparse.load_npz(file) for file in files.values())
    np.testing.assert_allclose(weighted.data, plain.data * theta[plain.indices], rtol=1e-5, atol=1e-7)
    with np.load(files[RIDGE_PS], allow_pickle=False) as file:
        settings = json.loads(str(file["settings"]))
        assert (settings["reg_lambda"], settings["A"], settings["B"]) == (3.0, 0.55, 1.5)
        assert file["label_names"].tolist() == answer.dataset.label_names.tolist()


def cut_by_hand(of: answers.Answer, variant: str, share: float) -> tuple[np.ndarray, float]:
    """W in float64 with so many percent of its entries, the largest, and the least magnitude of them."""
    reg_lambda, theta = (0.5, 1.0) if variant == RIDGE else (2.0, of.theta)
    X, Y = (each.toarray().astype(np.float64) for each in (BUILT.X_train, BUILT.Y_train))
    W = np.linalg.solve(X.T @ X + reg_lambda * np.eye(X.shape[1]), X.T @ Y) * theta
    least = np.sort(np.abs(W), axis=None)[-round(share / 100 * W.size)]
    return np.where(np.abs(W) >= least, W, 0), least


@pytest.mark.parametrize("quick", [True, False])
def test_each_variants_w_is_cut_and_measured_at_its_own_lambda_and_theta(monkeypatch, quick):
    if not quick:
        monkeypatch.setattr(compression, "QUICK_BYTES", 0)
    monkeypatch.setattr(behind, "_fillings", OrderedDict())
    for name in ("point", "sizes"):
        monkeypatch.setattr(getattr(compression, name).cache, "_Cache__maxsize", 0)  # of the other way, nothing is kept
    of = answer_at(replace(OWN, A=0.9, B=5.0))
    ruler = inverse_propensity(BUILT.Y_train, 0.2, 2.0)
    mask = sparse.csr_array((np.random.default_rng(0).random(BUILT.Y_test.shape) < 0.2) * 1.0)
    of.model.dataset = replace(BUILT, test_filter=mask)
    scores = {reg_lambda: of.model.factorization.scores(of.model.projection, reg_lambda) for reg_lambda in (0.5, 2.0)}
    both = {"scores_ps": scores[2.0], "exclude": mask}
    own = evaluate_scores(scores[0.5], BUILT.Y_test, of.theta, ruler, (1, 2), **both)
    of = replace(of, evaluation=own, metric_theta=ruler, metric_AB=(0.2, 2.0))
    assert own.ridge.metrics["psprecision"][2] != own.ps.metrics["psprecision"][2]
    monkeypatch.setattr(compression, "scores_on_test", lambda of, reg_lambda: scores[reg_lambda])
    work = completed(compression.curves(of))
    for variant, whole in ((RIDGE, own.ridge), (RIDGE_PS, own.ps)):
        points = compression.points_of(work, variant)
        assert list(points) == list(compression.CURVE_SHARES if quick else compression.SHARES)
        W, least = cut_by_hand(of, variant, 20.0)
        found = points[20.0]
        assert found.threshold <= least * (1 + 1e-4)
        assert found.kept == np.count_nonzero(W) == round(0.2 * W.size)
        ones = np.ones(len(ruler))  # θ is in W already
        cut = evaluate_scores((BUILT.X_test @ W).astype(np.float32), BUILT.Y_test, ones, ruler, (1, 2), exclude=mask)
        for metric, values in cut.ridge.metrics.items():
            for k in (1, 2):
                assert found.metrics[metric][k] == pytest.approx(values[k], abs=1e-6)
                assert found.relative[metric][k] == pytest.approx(values[k] / whole.metrics[metric][k], abs=1e-5)


def test_what_is_kept_of_a_cut_w_is_of_its_lambda_theta_ruler_and_values_of_k(monkeypatch):
    monkeypatch.setattr(behind, "_fillings", OrderedDict())
    plain = answer_at(OWN)
    others = {
        "λ": answer_at(replace(OWN, reg_lambda=0.7)),
        "λ of PS": answer_at(replace(OWN, reg_lambda_ps=3.0)),
        "A": answer_at(replace(OWN, A=0.9)),
        "B": answer_at(replace(OWN, B=0.4)),
        "K": answer_at(replace(OWN, K=3)),
        "ruler": replace(plain, metric_AB=(0.7, 1.0)),
    }
    others["data"] = answer_at(OWN)
    others["data"].model.full = replace(BUILT, Y_train=BUILT.Y_train[::-1])
    work, points = compression.curves(plain), compression.point(plain, RIDGE_PS, 20.0)
    assert compression.curves(replace(plain)) is work
    for what, other in others.items():
        assert compression.curves(other) is not work, what
        if what != "λ":
            assert compression.point(other, RIDGE_PS, 20.0) is not points, what
        else:
            assert compression.point(other, RIDGE_PS, 20.0) is points
        same_sizes = compression.sizes(other, RIDGE_PS) is compression.sizes(plain, RIDGE_PS)
        assert same_sizes == (what in ("λ", "K", "ruler")), what


def test_a_file_names_the_lambda_of_its_variant_and_a_and_b_only_where_they_weight():
    of, settings = answer_at(replace(OWN, A=0.9, B=0.4)), {}
    for variant in (RIDGE, RIDGE_PS):
        content = BytesIO(compression.exported(of, variant, 20.0))
        weights, (W, least) = sparse.load_npz(content), cut_by_hand(of, variant, 20.0)
        np.testing.assert_allclose(weights.toarray(), W, atol=1e-5)
        settings[variant] = json.loads(str(np.load(content, allow_pickle=False)["settings"]))
        assert settings[variant]["threshold"] <= least * (1 + 1e-4)
        assert settings[variant]["kept"] == 12 == 0.2 * W.size
        assert settings[variant]["kept_share"] == 0.2
        assert settings[variant]["features"] == "tfidf+unit"
    assert (settings[RIDGE]["reg_lambda"], settings[RIDGE_PS]["reg_lambda"]) == (0.5, 2.0)
    assert not {"A", "B"} & set(settings[RIDGE])
    assert (settings[RIDGE_PS]["A"], settings[RIDGE_PS]["B"]) == (0.9, 0.4)


def test_the_threshold_of_one_variant_is_told_to_keep_another_share_of_the_other():
    of = answer_at(OWN)
    points = {variant: compression.point(of, variant, 20.0) for variant in (RIDGE, RIDGE_PS)}
    W = np.abs(cut_by_hand(of, RIDGE_PS, 100.0)[0])
    share = 100 * np.mean(points[RIDGE].threshold <= W)
    assert share != pytest.approx(20)
    assert f"would keep {share:.2f} % of {RIDGE_PS}'s entries, which are those of another λ" in (
        compress_words.other_share(of, points)
    )


def test_costs_are_those_of_a_thousand_instances_in_milliseconds():
    point = SimpleNamespace(threshold=0.125, kept=9, kept_share=0.25, megabytes=0.5, megabytes_dense=2.0, seconds=0.06)
    rows = compress_words.cost_table({RIDGE: point}, {RIDGE: 0.0045}, 3_000)[RIDGE].tolist()
    assert rows == ["0.125", "9", "25.00 %", "0.50 MB", "2.00 MB", "20.0 ms", "4.5 ms"]


def test_a_metric_that_is_zero_with_the_whole_w_has_no_percentage():
    zero = {name: {5: 0.0} for name in METRICS}
    point = SimpleNamespace(metrics=zero, relative={name: {5: float("nan")} for name in zero})
    table = compress_words.kept_table({RIDGE: point}, 5, (5,))
    assert table.loc["P@5", RIDGE] == "undefined (0.00)"
    part = SimpleNamespace(metrics={name: {5: 0.5} for name in METRICS}, relative={name: {5: 0.75} for name in METRICS})
    assert set(compress_words.kept_table({RIDGE: part}, 5, (5,))[RIDGE]) == {"75.00 % (50.00)"}


def a_point(megabytes: float, megabytes_dense: float) -> SimpleNamespace:
    relative = {"precision": {5: 1.0}, "psprecision": {5: 1.0}}
    return SimpleNamespace(
        kept=9, kept_share=0.9933, relative=relative, megabytes=megabytes, megabytes_dense=megabytes_dense
    )


def test_the_verdict_says_why_a_sparse_w_is_larger_than_the_dense_one_and_only_then():
    larger, smaller = (
        compress_words.verdict({RIDGE: a_point(size, 7.18)}, 5, 6, "9 test instances") for size in (14.27, 0.4)
    )
    assert "**14.27 MB instead of 7.18 MB**: a sparse matrix stores an index beside each value" in larger
    assert "exactly 0 are not kept" in larger
    assert "**0.40 MB instead of 7.18 MB**. " in smaller


@pytest.mark.parametrize(
    ("sparse_mb", "dense_mb", "told"),
    [
        (0.2964, 7.176, "0.30 MB instead of 7.18 MB"),
        (0.0264, 7.176, "0.026 MB instead of 7.18 MB"),
        (14.274, 7.176, "14.27 MB instead of 7.18 MB"),
        (1_234.5, 1_800_000.0, "1.23 GB instead of 1,800.00 GB"),
        (72e-6, 240e-6, "72 bytes instead of 240 bytes"),
        (0.0, 7.176, "0.00 MB instead of 7.18 MB"),
    ],
)
def test_two_sizes_are_told_in_one_unit(sparse_mb, dense_mb, told):
    text = compress_words.verdict({RIDGE: a_point(sparse_mb, dense_mb)}, 5, 6, "9 test instances")
    assert f"**{told}**" in text


def test_a_sparse_w_that_is_slower_is_explained_and_no_other():
    points = {
        RIDGE: SimpleNamespace(seconds=0.2, kept=9, megabytes=1.0, megabytes_dense=2.0)
    }  # 25 ms for 1,000 of 8,000 rows
    assert "is smaller but was not faster here: " in compress_words.slower(points, {RIDGE: 0.007}, 8_000)
    assert compress_words.slower(points, {RIDGE: 0.07}, 8_000) == ""
    assert compress_words.slower(points, {RIDGE: 0.02}, 8_000) == ""  # which one timing cannot tell
    assert compress_words.slower(points, {RIDGE: None}, 8_000) == ""
    both = {**points, RIDGE_PS: SimpleNamespace(seconds=0.1, kept=9, megabytes=1.0, megabytes_dense=2.0)}
    told = compress_words.slower(both, {RIDGE: 0.007, RIDGE_PS: 0.05}, 8_000)
    assert told.startswith(f"Sparse is smaller but was not faster here for {RIDGE}: ")
    # To name one alone would say that the other was faster: the table shows 12.5 ms beside 10.
    told = compress_words.slower(both, {RIDGE: 0.007, RIDGE_PS: 0.010}, 8_000)
    assert told.startswith("Sparse is smaller but was not faster here: ")
    points[RIDGE].megabytes = 3.0
    assert "Sparse was not faster here: " in compress_words.slower(points, {RIDGE: 0.007}, 8_000)
    points[RIDGE].kept = 0
    assert compress_words.slower(points, {RIDGE: 0.007}, 8_000) == ""


def test_a_metric_that_is_0_with_the_whole_w_has_nothing_to_keep():
    point = a_point(0.4, 7.18)
    point.relative = {"precision": {5: float("nan")}, "psprecision": {5: float("nan")}}
    text = compress_words.verdict({RIDGE: point}, 5, 6, "9 test instances")
    assert "keeps 0 of P@5 (0 with the whole W too) and 0 of PSP@5" in text


@pytest.mark.parametrize(("n_labels", "kept"), [(5, {1: 0.8, 3: 0.9, 5: 1.0}), (1, {1: 1.0})])
def test_the_verdict_is_of_a_k_at_which_the_weights_matter_and_says_where_they_do_not(n_labels, kept):
    point = a_point(0.4, 7.18)
    point.relative = {"precision": kept, "psprecision": kept}
    text = compress_words.verdict({RIDGE: point}, n_labels, n_labels, "9 test instances")
    assert ("keeps **90.00 %** of P@3" in text) == (n_labels > 1)
    assert "100.00 %" not in text
    first = f"All labels are among the first {n_labels}" if n_labels > 1 else "The only label is always first"
    same = f"{first}, so P@{n_labels} and PSP@{n_labels} are the same with any W."
    assert text.endswith(same)
    point.kept = 0
    none = "No entry of W is left"
    text = compress_words.verdict({RIDGE: point, RIDGE_PS: point}, n_labels, n_labels, "9 test instances")
    assert text.startswith(none)
    assert text.endswith(same)
    weighted = a_point(0.4, 7.18)  # ties may leave entries to one variant only
    weighted.relative = point.relative
    text = compress_words.verdict({RIDGE: point, RIDGE_PS: weighted}, n_labels, n_labels, "9 test instances")
    assert none not in text


def test_the_verdict_tells_the_variants_apart_where_ties_keep_other_shares_of_them():
    ridge, weighted = a_point(0.8, 9.4), a_point(0.6, 9.4)
    ridge.kept_share, weighted.kept_share = 0.0426, 0.0213
    text = compress_words.verdict({RIDGE: ridge, RIDGE_PS: weighted}, 5, 47, "9 test instances")
    assert text.startswith(
        f"With 4.26 % of its entries W of {RIDGE} takes **0.80 MB instead of 9.40 MB**; with 2.13 % of its entries "
        f"W of {RIDGE_PS} takes **0.60 MB instead of 9.40 MB**. {RIDGE} keeps **100.00 %** of P@5"
    )
    ridge.kept, ridge.kept_share, ridge.megabytes = 0, 0.0, 0.2
    ridge.relative = {"precision": {5: 15.0}, "psprecision": {5: 15.0}}  # where the data's order does better by chance
    text = compress_words.verdict({RIDGE: ridge, RIDGE_PS: weighted}, 5, 47, "9 test instances")
    assert text.startswith(f"With 2.13 % of its entries W of {RIDGE_PS} takes **0.60 MB instead of 9.40 MB**. ")
    assert f"{RIDGE} keeps no entry, so that all labels score 0; {RIDGE_PS} keeps **100.00 %** of P@5" in text
    assert "1500" not in text
