"""The Compare page: the paper's table as given, and another system's file in our metrics."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from pages.shared import answers, compare_baselines, comparison, show
from pages.shared import model as models
from pages.shared.settings import Settings
from tests.app import tiny
from tests.app.helpers import start
from xmlcore import DataError, baselines, precision_at_k
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.predictions import Predictions, predictions_from_scores, write_predictions


@pytest.fixture(scope="module")
def answer():
    return answers.answer_at(Settings(data="Debtags"))


def test_the_page_shows_our_rows_and_the_papers():
    app = start().switch_page("pages/compare.py").run()
    assert not app.exception
    assert list(app.dataframe[0].value.index) == ["XML-ridge", "XML-ridge with PS"]
    headings = [each.value for each in app.header]
    assert headings == ["Debtags: side by side", "What the paper reports", "Baselines, trained here"]
    app.selectbox(key="paper_data").set_value("Wiki10-31K").run()
    assert app.dataframe[-1].value.loc["XML-ridge with PS", "P@1"] == 90.01


def test_the_papers_table_is_as_published_cell_by_cell(test_data):
    published = pd.read_csv(test_data / "table1.csv", dtype=str).replace({"XML-ridge_PS": RIDGE_PS})
    shown = comparison.table_1()
    assert shown.shape == (25, 6)
    assert shown.map(lambda cell: cell if isinstance(cell, str) else f"{cell:.2f}").equals(published)


def test_this_data_sets_own_rows_stand_below_the_papers_with_what_differs_told():
    app = start().switch_page("pages/compare.py").run()
    beside, ours = app.dataframe[-1].value, app.dataframe[0].value
    assert list(beside.index)[-2:] == ["XML-ridge, here", "XML-ridge with PS, here"]
    assert beside.iloc[-2:].to_numpy() == pytest.approx(ours.to_numpy())
    told = next(each.value for each in app.caption if "Table 1 of" in each.value)
    assert "another data set than the paper's Bibtex" in told
    assert "6,131 test instances" in told


def test_beside_the_same_data_set_of_the_paper_split_and_features_are_told_to_differ(answer):
    of_eurlex = replace(answer, settings=Settings("Eurlex-4K"))
    assert "another data set" not in comparison.what_differs("Eurlex-4K", of_eurlex)
    assert "fine-tuned language model" in comparison.what_differs("Eurlex-4K", of_eurlex)
    assert "fine-tuned language model" not in comparison.what_differs("Bibtex", of_eurlex)


def test_of_a_visitors_own_data_it_is_not_claimed_to_be_the_papers_or_not(answer):
    own = replace(answer, settings=Settings("Delicious200K (1a2b3c4d)"))
    told = comparison.what_differs("Delicious200K", own)
    assert "another data set" not in told
    assert "the paper's Delicious200K, with its split and its features, cannot be told from here" in told


def test_a_language_model_among_our_own_features_is_told(answer):
    joined = replace(answer, settings=Settings("Eurlex-4K", features="tfidf+unit+lm"))
    assert "ours here with one that is not fine-tuned" in comparison.what_differs("Eurlex-4K", joined)
    assert "ours here do not" in comparison.what_differs("Eurlex-4K", replace(answer, settings=Settings("Eurlex-4K")))


def test_other_systems_are_drawn_by_psp_too_and_any_two_systems_have_their_agreement(answer, monkeypatch):
    tops = {"a": answer.evaluation.ridge.top, "b": answer.evaluation.ps.top[:, ::-1]}
    named = {name: Predictions(name, top, np.zeros(top.shape), answer.dataset.n_labels) for name, top in tops.items()}
    monkeypatch.setattr(compare_baselines, "trained", lambda _: named)
    app = start().switch_page("pages/compare.py").run()
    table = next(each.value for each in app.dataframe if "a" in each.value)
    assert table.loc["a", "XML-ridge"] == table.loc["XML-ridge with PS", "b"] == 100
    assert table.loc["a", "b"] == table.loc["b", "a"] == table.loc["XML-ridge", "XML-ridge with PS"]
    shared = [len({*x.tolist()} & {*y.tolist()}) / 5 for x, y in zip(*tops.values(), strict=True)]
    assert table.loc["a", "b"] == pytest.approx(100 * np.mean(shared))
    app.segmented_control(key="compare_contribution_to").set_value("PSP@K").run()
    assert not app.exception
    assert any("the bars of a system sum to its PSP@5" in each.value for each in app.caption)


def test_in_a_file_another_systems_bars_do_not_claim_our_setting(answer):
    bars = {RIDGE: np.ones(1), RIDGE_PS: np.ones(1), "theirs.npz": np.ones(1)}
    table = show.bars_table({"training instances": ["1"]}, "points", (answer, bars)).set_index("variant")
    title, ruler = "Debtags, 6,131 test instances", "; PSP measured with the data set's A = 0.55, B = 1.5"
    assert table["setting"][RIDGE] == table["setting"][RIDGE_PS] == f"{title}, λ = 3, A = 0.55, B = 1.5{ruler}"
    assert table["setting"]["theirs.npz"] == f"{title}{ruler}"


def test_the_ruler_is_named_by_what_psp_was_measured_with():
    for tied, words in (("false", "the data set's A = 0.55, B = 1.5"), ("true", "the sliders' A = 0,")):
        app = start(A="0", tie_metric=tied)
        assert any(f"PSP measured with {words}" in each.value for each in app.caption)
        app.switch_page("pages/compare.py").run()
        assert any(f"PSP measured with {words}" in each.value for each in app.caption)


def test_a_file_whose_name_is_too_long_for_a_disk_is_read(answer):
    name = f"{'目录' * 60}.txt"
    assert comparison.read_other(name, b"0:0.5\n" * answer.model.full.n_test, answer).name == name


def test_an_added_file_can_be_removed(answer):
    app = start().switch_page("pages/compare.py").run()
    other = comparison.read_other("my_own.txt", b"0:0.5\n" * answer.model.full.n_test, answer)
    app.session_state["_other_systems"] = {("Debtags", ""): {"first": other, other.name: other}}
    app.run()
    assert "my_own.txt" in app.dataframe[0].value.index
    button = app.button(key="remove_my_own.txt")
    assert button.label == r"Remove my\_own\.txt"
    button.click().run()
    assert not app.exception
    assert list(app.dataframe[0].value.index) == [RIDGE, RIDGE_PS, "first"]


def test_a_file_that_leaves_labels_or_instances_out_is_told_beside_its_numbers(answer):
    n = answer.model.full.n_test
    full = comparison.read_other("full.txt", b"0:6 1:5 2:4 3:3 4:2\n" * n, answer)
    assert comparison.what_is_missing({"full.txt": full}, answer) == ""
    sample = replace(answer, evaluation=replace(answer.evaluation, n_rows=500))
    short = comparison.read_other("short.txt", b"0:6 1:5\n" * n, answer)
    told = comparison.what_is_missing({"short.txt": replace(short, top=short.top[:500])}, sample)
    assert f"for 500 of a sample of 500 of {n:,} test instances" in told
    part = comparison.read_other("part.txt", b"0:6 1:5 2:4 3:3 4:2\n" * 100 + b"0:1\n" * 5 + b"\n" * (n - 105), answer)
    told = comparison.what_is_missing({"full.txt": full, "part.txt": part}, answer)
    assert told == (
        rf" part\.txt names fewer than 5 labels for {n - 100:,} of {n:,} test instances, none for {n - 105:,}: "
        "what is missing counts as wrong."
    )
    of_full_rows = {"part.txt": replace(part, top=part.top[:100])}
    assert comparison.what_is_missing(of_full_rows, sample) == ""


def test_lists_are_short_where_they_lack_what_a_card_counts_though_k_is_lower(answer):
    at_one = replace(answer, settings=Settings("Debtags", K=1))
    other = comparison.read_other("three.txt", b"0:6 1:5 2:4\n" * answer.model.full.n_test, answer)
    assert "names fewer than 5 labels for" in comparison.what_is_missing({"three.txt": other}, at_one)


def test_of_a_file_as_many_labels_are_kept_as_k_may_ask_for(answer):
    line = b" ".join(b"%d:%d" % (label, 99 - label) for label in range(30)) + b"\n"
    other = comparison.read_other("long.txt", line * answer.model.full.n_test, answer)
    assert other.top[0].tolist() == list(range(20))


def test_another_system_is_measured_with_the_ruler_that_ours_is_measured_with():
    ours = answers._answer(Settings("Debtags", A=0.9), ())
    top = ours.evaluation.ridge.top
    other = Predictions("ours", top, np.zeros(top.shape), ours.dataset.n_labels)
    assert comparison.evaluate_other(other, ours).metrics["psprecision"] == ours.evaluation.ridge.metrics["psprecision"]


def test_rows_of_the_table_are_in_percent_at_the_ks_that_there_are():
    metrics = {"precision": {1: 0.5, 3: 0.25}, "psprecision": {1: 0.125, 3: 1.0}}
    row = comparison.row("x", SimpleNamespace(metrics=metrics), 3)
    assert row == {"system": "x", "P@1": 50.0, "P@3": 25.0, "PSP@1": 12.5, "PSP@3": 100.0}


@pytest.mark.parametrize(("among", "best"), [(None, ["2"]), (2, ["1"])])
def test_the_best_is_bold_among_all_rows_or_among_the_papers(among, best):
    html = comparison.best_in_bold(pd.DataFrame({"P@1": [1.0, 3.0, 5.0]}), among).to_html()
    assert re.findall(r"row(\d)_col0 {\s*font-weight: bold", html) == best


def test_side_by_side_stand_the_k_first_of_each_and_the_true_labels():
    ours, rows = tiny.answer_at(tiny.SAME), np.arange(29, -1, -1)
    other = Predictions("other", np.tile([2, -1, 0], (30, 1)), np.zeros((30, 3)), 6)
    table = comparison.side_by_side(other, ours, np.linspace(0, 1, 30), rows)
    assert table["instance"].tolist() == [f"doc-{row}" for row in rows]
    assert table["in common with PS (%)"].tolist() == pytest.approx(np.linspace(100, 0, 30))
    assert set(table["other"]) == {tiny.LABELS[2]}  # K is 2, and of the first two one is missing
    labels = {
        "true": [np.flatnonzero(each) for each in tiny.BUILT.Y_test.toarray()],
        RIDGE: ours.evaluation.ridge.top[:, : tiny.K],
        RIDGE_PS: ours.evaluation.ps.top[:, : tiny.K],
    }
    for column, of_rows in labels.items():
        assert table[column].tolist() == [", ".join(tiny.LABELS[label] for label in of_rows[row]) for row in rows]
    assert (table[RIDGE] != table[RIDGE_PS]).any()


def test_two_files_of_one_name_are_both_kept():
    assert comparison.free_name("p.npz", []) == "p.npz"
    assert comparison.free_name("p.npz", ["p.npz", "p.npz (2)"]) == "p.npz (3)"


@pytest.mark.parametrize(("differ", "shares"), [(300, [0, 0, 0, *[80] * 197]), (3, [0, 0, 0])])
def test_instances_are_listed_by_what_they_have_in_common_with_ps_and_a_cut_is_told(answer, differ, shares):
    top = answer.evaluation.ps.top.copy()
    top[-differ:, 0] = -1
    top[-3:] = -1
    app = start().switch_page("pages/compare.py").run()
    other = Predictions("other", top, np.zeros(top.shape), answer.dataset.n_labels)
    app.session_state["_other_systems"] = {("Debtags", ""): {"other": other}}
    app.run()
    assert not app.exception
    table = next(each.value for each in app.dataframe if "instance" in each.value)
    assert table["instance"].tolist()[:3] == answer.dataset.test_names[-3:].tolist()
    assert table["in common with PS (%)"].tolist() == shares
    cut = "The first 200 of the 300 test instances on which other differs from XML-ridge with PS"
    assert sum(cut in each.value for each in app.caption) == (differ > 200)


@pytest.mark.parametrize("format", ["npz", "text", "csv"])
def test_our_own_ranking_written_and_imported_has_our_own_numbers(answer, tmp_path, format):
    ours = predictions_from_scores("ours", answers.scores_on_test(answer.model, 3.0), 5)
    path = tmp_path / f"ours.{'txt' if format == 'text' else format}"
    write_predictions(path, ours, format)
    other = comparison.read_other(path.name, path.read_bytes(), answer)
    found = comparison.evaluate_other(other, answer)
    # A row without features scores 0 everywhere, which a sparse file cannot tell from no prediction.
    for name, (metric, k) in show.FOUR_NUMBERS.items():
        assert found.metrics[metric][k] == pytest.approx(answer.evaluation.ridge.metrics[metric][k], abs=1e-3), name


def test_a_file_for_other_rows_is_refused_with_its_name(answer):
    with pytest.raises(DataError, match=r"wrong\.txt"):
        comparison.read_other("wrong.txt", b"1 598\n0:0.5\n", answer)


def test_scores_that_are_all_zero_are_told_to_rank_nothing(answer, tmp_path):
    rows, labels = answer.model.full.n_test, answer.model.full.n_labels
    np.save(tmp_path / "zeros.npy", np.zeros((rows, labels), np.float32))
    for name, content in {"zeros.npy": (tmp_path / "zeros.npy").read_bytes(), "none.txt": b"0:0\n" * rows}.items():
        with pytest.raises(DataError, match=rf"^{name} ranks nothing: its scores are all zero or missing"):
            comparison.read_other(name, content, answer)
    model = SimpleNamespace(full=answer.model.full, rows=np.arange(rows - 1), dataset=answer.dataset)
    of_others = replace(answer, model=model)
    with pytest.raises(DataError, match=r"^last\.txt ranks nothing for the test instances shown: their scores are all"):
        comparison.read_other("last.txt", b"\n" * (rows - 1) + b"0:1\n", of_others)


def test_a_file_of_short_lists_stays_in_the_comparison_when_k_is_raised(answer):
    rows = answer.model.full.n_test
    other = comparison.read_other("short.txt", b"0:0.5\n" * rows, answer)
    wide = answers.answer_at(Settings(data="Debtags", K=20))
    found = comparison.evaluate_other(other, wide)
    hits = answer.dataset.Y_test[:, [0]].sum()
    assert found.metrics["precision"][20] == pytest.approx(hits / (20 * rows))


def test_pairs_that_are_masked_for_ours_are_masked_for_others_too(answer):
    labels = answer.dataset.n_labels
    masked = sparse.csr_array((np.ones(2), ([0, 1], [7, 5])), shape=answer.dataset.Y_test.shape)
    of_masked = replace(answer, model=SimpleNamespace(dataset=replace(answer.dataset, test_filter=masked)))
    of_masked.model.rows = np.array([2, 0, 1, *range(3, answer.dataset.n_test)])
    top = np.full((answer.dataset.n_test, 3), -1)
    top[2], top[0] = (4, 7, labels - 1), (7, 5, 3)
    others = Predictions("other", top, np.zeros(top.shape), labels)
    found = comparison.cut_to_answer(others, of_masked)
    assert found.top[:2].tolist() == [[4, labels - 1, -1], [7, 3, -1]]


def test_a_baseline_trained_on_the_page_joins_the_comparison():
    data = "Synthetic, shaped like bibtex"  # the packages need a quarter of the time that Debtags takes them
    app = start(data=data)
    app.switch_page("pages/compare.py").run()
    app.button(key="train_plt").click().run()
    assert not app.exception
    model = models.model_of(data, "")
    task = baselines.start(models.store(), model.full, "plt")
    assert task.wait(200)
    assert task.state == "done", task.message
    app.run()
    assert not app.exception
    found = baselines.result(models.store(), model.full, "plt")
    shown = app.dataframe[0].value.loc["Probabilistic label tree (napkinXC)"]
    assert shown["P@1"] == pytest.approx(100 * precision_at_k(found.top, model.full.Y_test, 1))
    assert any("Trained in" in each.value for each in app.markdown)
    assert not [each for each in app.button if each.key == "train_plt"]


def test_a_baseline_can_be_cancelled_and_says_so():
    app = start().switch_page("pages/compare.py").run()
    app.button(key="train_br").click().run()
    app.button(key="cancel_br").click().run()
    assert not app.exception
    assert any("Stopped by a visitor" in each.value for each in app.markdown)
    assert app.button(key="train_br")


@pytest.fixture
def no_baseline(monkeypatch):
    """Nothing is trained or known; what was looked for in the cache on disk, which has nothing until a test puts it."""
    looked_for, on_disk = [], {}
    monkeypatch.setattr(compare_baselines, "_TASKS", {})
    monkeypatch.setattr(compare_baselines, "_RESULTS", {})
    monkeypatch.setattr(compare_baselines, "result", lambda _, data, key: looked_for.append(key) or on_disk.get(key))
    return SimpleNamespace(looked_for=looked_for, on_disk=on_disk)


def test_the_result_of_a_baseline_is_looked_for_once_and_again_when_its_training_ends(answer, no_baseline):
    place, found = (answer.model.full.fingerprint, "plt"), SimpleNamespace(top=1)
    for state, looks in ((None, 1), (None, 1), ("running", 1), ("done", 2), ("done", 3)):
        if state is not None:
            compare_baselines._TASKS[place] = SimpleNamespace(state=state)
        assert compare_baselines._result(answer, "plt") is None
        assert len(no_baseline.looked_for) == looks
    no_baseline.on_disk["plt"] = found
    for _ in range(2):
        assert compare_baselines._result(answer, "plt") is found
    assert len(no_baseline.looked_for) == 4
    other = replace(answer, model=SimpleNamespace(full=SimpleNamespace(fingerprint="of other data")))
    no_baseline.on_disk.clear()
    assert compare_baselines._result(other, "plt") is None


def test_a_baseline_by_the_cache_is_cut_to_the_rows_shown_and_its_times_are_told_for_a_thousand(answer, no_baseline):
    rows, full = np.array([7, 3, 5]), answer.model.full
    top = np.argsort(np.random.default_rng(0).random((full.n_test, full.n_labels)), axis=1)[:, :5]
    no_baseline.on_disk["plt"] = SimpleNamespace(top=top, scores=-top, train_seconds=75.0, predict_seconds=0.613)
    shown = SimpleNamespace(full=full, rows=rows, dataset=replace(answer.dataset, test_filter=None))
    sampled = replace(answer, model=shown)
    ((title, found),) = compare_baselines.trained(sampled).items()
    assert title == found.name == baselines.BASELINES["plt"].title
    np.testing.assert_array_equal(found.top, top[rows])
    told = compare_baselines._state(answer, baselines.BASELINES["plt"])
    assert told == "Trained in 75.0 s, predicted 6,131 test instances in 0.6 s (100 ms for 1,000)."
    assert compare_baselines._state(answer, baselines.BASELINES["br"]) == ":gray[Not trained yet.]"


@pytest.mark.usefixtures("no_baseline")
def test_a_baseline_by_another_data_set_is_not_told_of_this_one_and_one_at_work_is(answer):
    running = SimpleNamespace(state="running", elapsed=4.0, message="learning")
    compare_baselines._TASKS["of other data", "plt"] = running
    assert not compare_baselines.is_training(answer)
    compare_baselines._TASKS[answer.model.full.fingerprint, "plt"] = running
    assert compare_baselines.is_training(answer)
    assert compare_baselines._state(answer, baselines.BASELINES["plt"]) == "4 s: learning."
    compare_baselines._TASKS[answer.model.full.fingerprint, "plt"] = SimpleNamespace(state="failed", message="no room")
    assert not compare_baselines.is_training(answer)
    assert compare_baselines._state(answer, baselines.BASELINES["plt"]) == "Failed: no room."


@pytest.mark.usefixtures("no_baseline")
def test_why_a_baseline_by_a_press_cannot_be_begun_is_told(monkeypatch):
    asked = []

    def no_room(kept, data, key, again):
        asked.append(key)
        raise DataError("no *room*")

    monkeypatch.setattr(compare_baselines, "start", no_room)
    app = start().switch_page("pages/compare.py").run()
    app.button(key="train_br").click().run()
    assert not app.exception
    assert asked == ["br"]
    assert [each.value for each in app.error] == [r"no \*room\*"]


def test_a_result_that_has_left_the_cache_is_said_to_have_left_and_can_be_trained_again(monkeypatch):
    app = start()
    model = models.model_of("Debtags", "")
    done = SimpleNamespace(state="done", message="done")
    monkeypatch.setattr(compare_baselines, "_TASKS", {(model.full.fingerprint, "plt"): done})
    monkeypatch.setattr(compare_baselines, "_RESULTS", {})
    app.switch_page("pages/compare.py").run()
    assert not app.exception
    assert any("what it predicted is no longer in the cache on disk." in each.value for each in app.markdown)
    assert app.button(key="train_plt")


def test_without_the_packages_the_page_says_how_to_install_them(monkeypatch):
    absent = {key: replace(each, package=f"absent_{each.package}") for key, each in list(baselines.BASELINES.items())}
    for key, each in absent.items():
        monkeypatch.setitem(baselines.BASELINES, key, each)
    monkeypatch.setattr(compare_baselines, "_RESULTS", {})  # of a test that has trained one
    app = start().switch_page("pages/compare.py").run()
    assert not app.exception
    assert any('pip install -e ".[baselines]"' in each.value for each in app.info)
    assert all(app.button(key=f"train_{key}").disabled for key in absent)


@pytest.mark.parametrize("n_others", [5, 6])
def test_a_chart_of_many_systems_says_that_its_looks_come_again(answer, monkeypatch, n_others):
    top = answer.evaluation.ridge.top
    named = [Predictions(f"system {at}", top, top, answer.dataset.n_labels) for at in range(n_others)]
    monkeypatch.setattr(compare_baselines, "trained", lambda _: {each.name: each for each in named})
    app = start().switch_page("pages/compare.py").run()
    assert not app.exception
    assert any("colours and patterns come again" in each.value for each in app.caption) == (n_others > 5)
