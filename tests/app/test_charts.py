"""What the charts of the pages show and put in their files: numbers by hand, of a setting beside a held one."""

import json
from collections import OrderedDict
from dataclasses import replace
from io import BytesIO
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from scipy import sparse

from pages.shared import answers, behind, comparison, compression, model, paths, search, show
from pages.shared import head_tail_labels as labels_of
from tests.app.by_hand import DATA, HELD, NOW, TENS, TITLE, TWOS, VARIANTS, ByHand, K, binned
from tests.app.helpers import only_data_set, start, texts, until
from xmlcore import inverse_propensity
from xmlcore.figures import RIDGE_PS
from xmlcore.predictions import Predictions


@pytest.fixture(autouse=True)
def only_charted(monkeypatch):
    """Nothing fills in by itself, and nothing is kept."""
    monkeypatch.setattr(model, "store", lambda: None)
    monkeypatch.setattr(behind, "_fillings", OrderedDict())
    monkeypatch.setattr(behind, "want", lambda work: None)
    with only_data_set(monkeypatch, TITLE, DATA):
        of = model.model_of(TITLE, "")
        of.start()
        until(lambda: of.ready)
        yield


@pytest.fixture
def page(monkeypatch):
    """Runs a page with a setting held: the app, what each chart was given, and each file; files are made in the end."""

    def opened(path: str, state: dict | None = None, **params: str):
        drawn, files, chart, download = {}, {}, show.chart, st.download_button

        def offer(*args, data, key, **told):
            files[key] = data
            return download(*args, data=data, key=key, **told)

        def keep(figure, **told):
            drawn[told["name"]] = {"figure": figure, **told}
            chart(figure, **told)

        monkeypatch.setattr(show, "chart", keep)
        monkeypatch.setattr(st, "download_button", offer)
        own = {"reg_lambda": "0.5", "own_lambda_ps": "true", "reg_lambda_ps": "8", "A": "1.2", "B": "0.4", "K": str(K)}
        app = start(**own, hold=f"{TITLE}~30~false~30~0.3~1.5~5~false~", **params)
        for key, value in (state or {}).items():
            app.session_state[key] = value
        drawn.clear()
        files.clear()
        app.switch_page(f"pages/{path}.py").run()
        assert not app.exception
        assert not app.warning
        return app, {name: {**told, "file": told["data"]()} for name, told in drawn.items()}, files

    return opened


def bars_are(told: dict, expected) -> None:
    """Whether bars, file and words are those expected of each variant, now and held."""
    now, held = ByHand(NOW), ByHand(HELD)
    wanted = [np.array(expected(of, variant)) for of in (now, held) for variant in VARIANTS]
    assert len({tuple(each) for each in wanted}) == 4  # so that none could stand for another
    shown = [np.array(trace["y"]) for trace in told["figure"].data]
    what = next(name for name in told["file"] if "(points)" in name or "(%)" in name)
    setting = "charted, 100 test instances, λ = {}; PSP measured with the data set's A = 0.2, B = 3"
    texts = (setting.format("0.5 (PS: 8), A = 1.2, B = 0.4"), setting.format("30, A = 0.3, B = 1.5"))
    rows = [group for _, group in told["file"].groupby(["setting", "variant"], sort=False)]
    assert [(each["setting"].iloc[0], each["variant"].iloc[0]) for each in rows] == [
        (text, variant) for text in texts for variant in VARIANTS
    ]
    for bars, of_file, values in zip(shown, rows, wanted, strict=True):
        assert bars == pytest.approx(values, nan_ok=True)
        assert of_file[what].to_numpy() == pytest.approx(values, nan_ok=True)
    words = [f"{a:.2f}, with PS {b:.2f}" for a, b in zip(*wanted[:2], strict=True) if not np.isnan(a)]
    assert all(each in told["alt"] for each in words)


def completed(work: behind.Filling) -> behind.Filling:
    """The work, done here and now."""
    while not work.done:
        work.step()
    assert work.error is None
    return work


def numbers(of: ByHand, metric: str, k: int = K) -> list[float]:
    return [of.value(variant, metric, k) for variant in VARIANTS]


@pytest.mark.parametrize("metric", ["precision", "psprecision"])
def test_tunes_bars_and_curves_are_of_their_metric_variant_and_setting_and_so_are_their_files(page, metric):
    answer = answers._answer(NOW, ())
    for work in paths.paths(answer):
        completed(work)
    app, charts, _ = page("tune")
    name = {"precision": "P@3", "psprecision": "PSP@3"}[metric]
    bars = charts[f"contributions_{metric}"]
    bars_are(bars, lambda of, variant: binned(of.parts(variant, metric), TENS))
    now, held = numbers(ByHand(NOW), metric), numbers(ByHand(HELD), metric)
    assert bars["caption"] == f"The bars sum to {name}: {now[0]:.2f} % and, with PS, {now[1]:.2f} %."
    assert "random sample" not in texts(app)
    path = charts[f"path_{metric}"]
    lines, marks = path["figure"].data[:4], path["figure"].data[4:]
    assert [(each.x[0], each.y[0]) for each in marks] == [
        *((30, pytest.approx(value)) for value in held),
        *((at, pytest.approx(value)) for at, value in zip((0.5, 8), now, strict=True)),
    ]
    at = float(lines[0].x[12])
    there = ByHand(replace(NOW, reg_lambda=at, reg_lambda_ps=at))
    assert [line.y[12] for line in lines[:2]] == pytest.approx(numbers(there, metric), abs=0.4)  # rounding of one hit
    file = path["file"]
    assert file[f"{name} (%)"].tolist() == [value for line in lines for value in line.y]
    assert file["lambda"].tolist() == [value for line in lines for value in line.x]
    assert file["variant"].tolist() == [variant for variant in (*VARIANTS, *VARIANTS) for _ in range(25)]
    assert file["rows"].tolist() == ["100 test instances"] * 50 + ["held out"] * 50
    assert (file["A"].tolist(), file["B"].tolist()) == ([1.2] * 100, [0.4] * 100)


def test_the_search_puts_each_setting_with_its_own_numbers_into_its_file_and_both_settings_on_its_chart(page):
    found = completed(search.search(answers._answer(NOW, ()))).results
    _, charts, _ = page("tune", search="true")
    told = charts["tradeoff"]
    file = told["file"]
    for metric, name in (("precision", "P@3 (%)"), ("psprecision", "PSP@3 (%)")):
        assert file[name].tolist() == [100 * each.metrics[metric][3] for each in found]
    assert file[["lambda", "A", "B"]].to_numpy().tolist() == [[each.reg_lambda, each.A, each.B] for each in found]
    wanted = [list(zip(*(numbers(ByHand(at), m) for m in show.MAIN_METRICS), strict=True)) for at in (HELD, NOW)]
    marks = [(each.x[0], each.y[0]) for each in told["figure"].data[2:]]
    assert marks == [pytest.approx(each) for both in wanted for each in both]


@pytest.mark.parametrize(("shown", "metric"), [("P@K", "precision"), ("PSP@K", "psprecision")])
def test_head_and_tails_bars_are_of_their_metric_variant_and_setting_and_so_are_their_files(page, shown, metric):
    app, charts, _ = page("head_and_tail", contribution_to=shown, cuts=["20", "70"])
    gains = charts["gains_by_frequency"]
    bars_are(gains, lambda of, variant: binned(of.parts(variant, metric), TWOS))
    now, name = numbers(ByHand(NOW), metric), shown.replace("K", "3")
    assert f"sum to {name}: {now[0]:.2f} % and, with PS, {now[1]:.2f} %, of 100 test" in gains["caption"]
    assert f"{name} goes from {now[0]:.2f} % to {now[1]:.2f} % with PS at λ = 8" in texts(app)
    assigned = np.array(binned(DATA.Y_test.toarray().sum(axis=0), TWOS))
    recall = charts["recall_by_frequency"]
    with np.errstate(invalid="ignore"):
        bars_are(recall, lambda of, variant: 100 * np.array(binned(of.hits(variant), TWOS)) / assigned)
    assert recall["file"]["test assignments"].tolist() == assigned.tolist() * 4
    shares = charts["shares_of_head_and_tail"]
    bars_are(
        shares,
        lambda of, variant: 100 * np.array(binned(of.parts(variant, "precision"), [0, 20, 70]))
        / of.value(variant, "precision"),
    )  # fmt: skip
    of_labels = charts["label_frequencies"]
    assert of_labels["figure"] is labels_of.profile(model.model_of(TITLE, "").full, 20, 70)
    assert of_labels["caption"].endswith("have no place on this axis: 1 of 9.")
    order = np.argsort(-DATA.label_counts, kind="stable")
    assert of_labels["file"]["label"].tolist() == [f"label {label}" for label in order]
    assert of_labels["file"]["training instances"].tolist() == DATA.label_counts[order].tolist()


def test_the_table_of_labels_has_hits_at_k_by_the_models_theta_and_its_file_has_every_row(page, monkeypatch):
    monkeypatch.setattr(labels_of, "MOST_ROWS", 4)
    app, _, files = page("head_and_tail", label_order="rarest first")
    by_hand, order = ByHand(NOW), np.argsort(DATA.label_counts, kind="stable")
    before, after = (by_hand.hits(variant) for variant in VARIANTS)
    wanted = pd.DataFrame(
        {
            "label": [f"label {label}" for label in order],
            "training instances": DATA.label_counts[order],
            "θ": inverse_propensity(DATA.Y_train, 1.2, 0.4)[order],
            "test instances": DATA.Y_test.toarray().sum(axis=0)[order],
            "hits before": before[order],
            "hits after": after[order],
            "difference": (after - before)[order],
        }
    )
    shown, file = app.dataframe[0].value, pd.read_csv(BytesIO(files["labels_csv"]()))
    for table, rows in ((shown, wanted[:4]), (file, wanted)):
        pd.testing.assert_frame_equal(table[list(rows)], rows, check_dtype=False)
    assert set(file["setting"]) == {
        "charted, 100 test instances, λ = 0.5 (PS: 8), A = 1.2, B = 0.4; "
        "PSP measured with the data set's A = 0.2, B = 3; K = 3"
    }
    assert "The first 4 of 9 labels. " in texts(app)
    app.text_input(key=labels_of.FIND).set_value("label").run()
    assert "The first 4 of 9 labels found. " in texts(app)
    app.text_input(key=labels_of.FIND).set_value("7").run()
    assert "One label found. " in texts(app)


@pytest.mark.parametrize("most", ["won", "lost"])
def test_a_labels_test_instances_stand_by_who_found_them_page_by_page_with_links_that_keep_what_is_held(page, most):
    by_hand = ByHand(NOW)
    in_ridge, in_ps = (
        np.array([np.isin(np.arange(9), row[:K]) for row in by_hand.order[variant]]) for variant in VARIANTS
    )
    of = {"won": in_ps & ~in_ridge, "lost": in_ridge & ~in_ps, "kept": in_ridge & in_ps, "missed": ~in_ridge & ~in_ps}
    of = {outcome: there & (by_hand.Y > 0) for outcome, there in of.items()}
    label = int(of[most].sum(axis=0).argmax())
    rows = {outcome: np.flatnonzero(there[:, label]).tolist() for outcome, there in of.items()}
    app, _, _ = page("head_and_tail", label=str(label))
    n_train, n_test = DATA.label_counts[label], int(by_hand.Y[:, label].sum())
    assert f"is on {n_train} training instances and on {n_test} of 100 test instances." in texts(app)
    found_by = dict(zip(of, ("only with PS", "only without PS", "by both", "by neither"), strict=True))
    for outcome, found in rows.items():
        assert f"**{outcome.capitalize()}: {len(found)}**  \nfound {found_by[outcome]}" in texts(app)
    pages = -(-max(map(len, rows.values())) // 8)
    assert rows[most]
    assert pages > 1
    for at in (1, pages):
        app.number_input(key=labels_of.PAGE_KEY).set_value(at).run()
        links = [parse_qs(each.proto.query_string) for each in app.get("page_link")]
        linked = [row for found in rows.values() for row in found[8 * (at - 1) : 8 * at]]
        assert [link["instance"] for link in links] == [[str(row)] for row in linked]
        assert all(link["label"] == [str(label)] and link["hold"][0].startswith(TITLE) for link in links)


def test_a_page_of_a_labels_lists_that_another_k_does_not_have_gives_way_to_its_last(page):
    app, _, _ = page("head_and_tail", label="1")  # is on 35 test instances: at K = 1 no list has 25
    app.number_input(key=labels_of.PAGE_KEY).set_value(4).run()
    app.sidebar.slider(key="K").set_value(1).run()
    assert not app.exception
    assert app.number_input(key=labels_of.PAGE_KEY).value == app.number_input(key=labels_of.PAGE_KEY).max == 3


def table_of_numbers(at_k: int) -> list[str]:
    """The rows of the table of four numbers, with those of the held setting small beside them."""
    lines = []
    for mark, variant in zip(show.MARKS.values(), VARIANTS, strict=True):
        cells = [
            "**{:.2f}** :small[{:.2f}]".format(*(of.value(variant, metric, k) for of in (ByHand(NOW), ByHand(HELD))))
            for metric in ("precision", "psprecision")
            for k in (1, at_k)
        ]
        lines.append(f"| {mark} {variant} | {' | '.join(cells)} |")
    return lines


@pytest.mark.parametrize(("name", "metric", "k"), [("PSP@5", "psprecision", 5), ("P@1", "precision", 1)])
def test_the_lectures_numbers_and_bars_are_by_hand_and_its_buttons_halve_and_double_lambda(page, name, metric, k):
    app, charts, _ = page("lecture", lecture_chart=name)
    (told,) = charts.values()
    bars_are(told, lambda of, variant: binned(of.parts(variant, metric, k), TENS))
    assert f"sum to its {name}, on 100 test instances. K is fixed here. XML-ridge with PS is at λ = 8." in texts(app)
    for line in table_of_numbers(5):
        assert line in texts(app)
    assert "Small: held, at λ = 30, A = 0.3, B = 1.5." in texts(app)
    for key, reg_lambda in (("lecture_halve", 0.25), ("lecture_double", 0.5)):
        app.button(key=key).click().run()
        assert app.sidebar.number_input(key="reg_lambda").value == reg_lambda
    assert app.sidebar.number_input(key="reg_lambda_ps").value == 8


@pytest.mark.parametrize(
    ("question", "metric", "k"), [(1, "psprecision", 5), (2, "precision", 1), (4, "psprecision", 1)]
)
def test_each_question_has_the_bars_that_it_is_about_and_numbers_by_hand(page, question, metric, k):
    app, charts, _ = page("learn", part="Five questions", question=str(question))
    (told,) = charts.values()
    bars_are(told, lambda of, variant: binned(of.parts(variant, metric, k), TENS))
    sums = [ByHand(NOW).value(variant, metric, k) for variant in VARIANTS]
    assert f": {sums[0]:.2f} % and, with PS, {sums[1]:.2f} %, on 100 test instances. K is fixed" in told["caption"]
    for line in table_of_numbers(5):
        assert line in texts(app)
    ever = [len(np.unique(ByHand(NOW).order[variant][:, 0])) for variant in VARIANTS]
    assert f"Different labels ever ranked first: {ever[0]} of 9, with PS {ever[1]}." in texts(app)
    (link,) = app.get("page_link")
    assert json.loads(parse_qs(link.proto.query_string)["set"][0])["question"] == question


def test_compress_marks_the_chosen_share_of_both_settings_and_its_files_are_of_their_metric_and_variant(
    page, monkeypatch
):
    monkeypatch.setattr(compression, "dense_seconds", lambda of, variant: 0.1 if variant == VARIANTS[0] else 0.2)
    answer, held = (answers._answer(settings, ()) for settings in (NOW, HELD))
    work = completed(compression.curves(answer))
    app, charts, files = page("compress", kept_share="20 %")
    assert app.table[1].value.iloc[-1].tolist() == ["100.0 ms", "200.0 ms"]
    assert not any(each.proto.disabled for each in app.get("download_button"))
    for metric, name in (("precision", "P@3"), ("psprecision", "PSP@3")):
        told = charts[f"sparse_{metric}"]
        curves = [
            [100 * point.relative[metric][3] for point in compression.points_of(work, variant).values()]
            for variant in VARIANTS
        ]
        lines, marks = told["figure"].data[:2], told["figure"].data[2:]
        assert [list(line.y) for line in lines] == curves
        assert told["file"][f"{name} of the full W's (%)"].tolist() == [value for curve in curves for value in curve]
        assert [(each.x[0], each.y[0]) for each in marks] == [
            (20, pytest.approx(100 * compression.point(of, variant, 20.0).relative[metric][3]))
            for of in (held, answer)
            for variant in VARIANTS
        ]
    for variant in VARIANTS:
        found, wanted = (
            sparse.load_npz(BytesIO(content))
            for content in (files[f"sparse_{variant}"](), compression.exported(answer, variant, 20.0))
        )
        assert abs(found - wanted).max() == 0


def test_compare_measures_another_systems_bars_agreement_and_list_at_k_by_the_ruler(page, monkeypatch):
    published = comparison.table_1().replace({"dataset": {"Wiki10-31K": TITLE}})
    monkeypatch.setattr(comparison, "table_1", lambda: published)
    bold, in_bold = [], comparison.best_in_bold
    monkeypatch.setattr(
        comparison, "best_in_bold", lambda table, *among: bold.append((len(table), *among)) or in_bold(table, *among)
    )
    by_hand, top = ByHand(NOW), ByHand(HELD).order[RIDGE_PS][:, :5]
    other = Predictions("theirs", top, np.zeros(top.shape), 9)
    elsewhere = {(title, ""): {"elsewhere": other} for title in ("Debtags", "")}
    added = {"_other_systems": {(TITLE, ""): {"theirs": other}, **elsewhere}}
    app, charts, _ = page("compare", added, compare_contribution_to="PSP@K")
    assert app.selectbox(key="paper_data").value == TITLE
    of_paper = (published["dataset"] == TITLE).sum()
    assert bold == [(3,), (of_paper + 2, of_paper)]  # of the paper's rows alone
    by_hand.order["theirs"] = top
    systems = (*VARIANTS, "theirs")
    table = app.dataframe[0].value
    assert list(table.index) == list(systems)
    for metric, name in (("precision", "P"), ("psprecision", "PSP")):
        for k in (1, 5):
            wanted = [by_hand.value(system, metric, k) for system in systems]
            assert table[f"{name}@{k}"].tolist() == pytest.approx(wanted)
    told = charts["compare_contributions"]
    for at, system in enumerate(systems):
        wanted = pytest.approx(binned(by_hand.parts(system, "psprecision"), TENS))
        assert list(told["figure"].data[at].y) == wanted
        assert told["file"].query("variant == @system")["contribution to PSP@3 (points)"].tolist() == wanted
    shared = {
        variant: np.array(
            [len({*a} & {*b}) / K for a, b in zip(by_hand.order[variant][:, :K], top[:, :K], strict=True)]
        )
        for variant in VARIANTS
    }
    ridge, ps = (f"**{100 * shared[variant].mean():.2f} %**" for variant in VARIANTS)
    assert ridge != ps
    assert f"theirs and XML-ridge share {ridge}, theirs and XML-ridge with PS {ps}." in texts(app)
    agreement = next(each.value for each in app.dataframe if list(each.value.columns) == list(systems))
    assert agreement.loc["theirs", list(VARIANTS)].tolist() == pytest.approx(
        [100 * shared[variant].mean() for variant in VARIANTS]
    )
    listed = next(each.value for each in app.dataframe if "instance" in each.value)
    order = [row for row in np.argsort(shared[RIDGE_PS], kind="stable") if shared[RIDGE_PS][row] < 1]
    assert listed["in common with PS (%)"].tolist() == pytest.approx(100 * shared[RIDGE_PS][order])
    assert listed["theirs"].tolist() == [", ".join(f"label {label}" for label in top[row, :K]) for row in order]
