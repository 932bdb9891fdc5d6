"""The page "Head and tail": its words, sums and table, the label that is chosen, and the frame around it."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.shared import answers, contribution, frame
from pages.shared import head_tail_labels as labels_of
from pages.shared import head_tail_words as words
from pages.shared.frame import plain_markdown
from pages.shared.settings import Settings
from tests.app import tiny
from tests.app.helpers import charts
from tests.app.tiny import BUILT, OWN, K, answer_at
from xmlcore import Dataset, evaluate_scores, inverse_propensity
from xmlcore.analysis import Contributions, frequency_bins, head_torso_tail, label_table, rows_of_label
from xmlcore.figures import RIDGE, RIDGE_PS

APP = Path(__file__).parents[2] / "app.py"
TIMEOUT = 240  # seconds; the first run makes the model ready
NAMES = np.array(["game::arcade", "game::puzzle", "made-of::html", "role::Game-data"])


def table(**columns):
    return SimpleNamespace(**{key: np.array(values) for key, values in columns.items()})


def parts(ridge, ps, counts=(0, 1, 2, 5)):
    return Contributions("precision", 5, frequency_bins(np.array(counts)), np.array(ridge), np.array(ps))


# Words.


def test_the_verdict_names_who_gains_and_who_pays_and_by_how_much():
    text = words.verdict(parts([0, 0.1, 0.2, 0.5], [0, 0.15, 0.3, 0.3]), np.array([1, 2, -4]), 0.5, "P@5", "9 rows")
    gains, pays, total = text.split("\n")
    assert "on 1–3 training instances: **+15.00 points** of P@5" in gains
    assert "+10.00, is from labels on 2–3" in gains
    assert "on 4–7 training instances: **−20.00 points** of P@5" in pays
    assert "80.00 % to 75.00 %" in total
    assert "2 labels more often and 1 label less often" in total
    assert "9 rows" in total


def test_gains_on_both_sides_of_a_loss_are_not_called_one_range():
    text = words.verdict(parts([0, 0.1, 0.2, 0.1], [0, 0.15, 0.1, 0.15]), np.array([1, -1]), 0.5, "P@5", "9 rows")
    assert "Labels in 2 of 4 bins: **+10.00 points**" in text


def test_where_nothing_moves_the_verdict_says_what_to_do():
    same = [parts([0.1] * 4, [0.1] * 4), np.zeros(6)]
    assert words.NO_DIFFERENCE in words.verdict(*same, 0.5, "P@5", "9 rows")
    assert words.NO_WEIGHTS not in words.verdict(*same, 0.5, "P@5", "9 rows")
    assert words.NO_WEIGHTS in words.verdict(*same, 0.0, "P@5", "9 rows")


@pytest.mark.parametrize("A", [0.0, 0.5])
def test_where_all_labels_are_among_the_first_k_the_verdict_says_so_and_nothing_else(A):
    text = words.verdict(parts([0.1] * 4, [0.1] * 4), np.zeros(5), A, "P@5", "9 rows")
    assert f"{words.NO_DIFFERENCE} {words.NO_ORDER} P@5 is" in text


def test_where_gains_and_losses_are_even_within_each_bin_no_bin_is_named():
    rounded = [0.1, 0.1, 0.1 + 1e-17, 0.3 - 5e-17]
    text = words.verdict(parts([0.1, 0.1, 0.1, 0.3], rounded), np.array([1, -1]), 0.5, "P@5", "9 rows", " at λ = 64")
    assert text.startswith(words.EVEN_BINS)
    assert "P@5 stays at 60.00 % with PS at λ = 64, on 9 rows. XML-ridge with PS finds 1 label more often" in text
    assert "points" not in text


def test_what_rounding_leaves_of_an_even_bin_is_no_gain():
    moved = [0.1, 0.1 + 1e-17, 0.2, 0.2 + 1e-9]
    text = words.verdict(parts([0.1, 0.1, 0.1, 0.3], moved), np.array([1, -1]), 0.5, "P@5", "9 rows")
    assert "Labels on 2–3 training instances: **+10.00 points** of P@5." in text


def test_without_losses_nobody_pays():
    text = words.verdict(parts([0.1] * 4, [0.1, 0.1, 0.1, 0.2]), np.array([1]), 0.5, "P@5", "9 rows")
    assert "**Who pays?** Nobody." in text


def test_bars_are_told_in_percent_and_those_that_are_no_number_are_left_out():
    told = contribution.in_words(["unseen", "1–9"], np.array([np.nan, 0.0021]), np.array([np.nan, 0.0185]))
    assert told == "1–9: 0.21, with PS 1.85"


def test_contributions_sum_to_the_metric_by_its_own_ruler_at_the_k_that_is_asked_for():
    answer = tiny.answer_at(tiny.SAME)
    data, scores = tiny.BUILT, answer.model.factorization.scores(answer.model.projection, 0.5)
    ruler = inverse_propensity(data.Y_train, 1.2, 0.5)
    evaluation = evaluate_scores(scores, data.Y_test, answer.theta, ruler, (1, tiny.K))
    answer = replace(answer, evaluation=evaluation, metric_theta=ruler)
    for metric in contribution.METRICS.values():
        for k in (None, 1):
            found = contribution.by_bin(answer, metric, frequency_bins(data.label_counts), k)
            assert found.ridge.sum() == pytest.approx(evaluation.ridge.metrics[metric][k or tiny.K])
            assert found.ps.sum() == pytest.approx(evaluation.ps.metrics[metric][k or tiny.K])


def test_shares_of_nothing_are_not_given():
    bins = head_torso_tail(np.array([1, 5, 9]), 2, 6)
    nothing = Contributions("precision", 1, bins, np.zeros(3), np.zeros(3))
    assert words.shares_caption(nothing, "P@1") == "P@1 is 0 for both variants: there is nothing to share."
    half = Contributions("precision", 1, bins, np.zeros(3), np.array([0.1, 0, 0.3]))
    assert words.shares_caption(half, "P@1").endswith("with PS 25.00 %. P@1 of XML-ridge is 0: it has no shares.")
    assert words.shares_caption(replace(half, ridge=half.ps), "P@1").endswith(
        "The shares of each variant sum to 100 %."
    )


# The table's rows.


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", [0, 1, 2, 3]), ("  ", [0, 1, 2, 3]), ("GAME", [0, 1, 3]), ("game data", [3]), ("nowhere", [])],
)
def test_a_search_finds_the_labels_that_have_every_word(text, expected):
    assert labels_of.found(NAMES, text).tolist() == expected


@pytest.mark.parametrize("order", labels_of.ORDERS)
@given(difference=st.lists(st.integers(-3, 3), min_size=4, max_size=4))
def test_every_order_keeps_the_labels_and_breaks_ties_by_index(order, difference):
    columns = table(difference=difference, train_count=[5, 5, 0, 9])
    labels = np.array([3, 1, 0])
    rows = labels_of.ordered(columns, NAMES, np.sort(labels), order).tolist()
    key = {
        "largest gain first": lambda label: -difference[label],
        "largest loss first": lambda label: difference[label],
        "most frequent first": lambda label: -columns.train_count[label],
        "rarest first": lambda label: columns.train_count[label],
        "by name": lambda label: NAMES[label],
    }[order]
    assert rows == sorted(labels.tolist(), key=lambda label: (key(label), label))


@pytest.mark.parametrize(
    ("value", "index"),
    [
        *[("3", 3), (3, 3), (np.int64(0), 0)],
        *[(value, None) for value in ("4", -1, "x", None, True, 1.5, "+3", " 3", "0_3", "٣", "9" * 5000)],
    ],
)
def test_only_an_index_in_plain_digits_is_taken_from_the_address(value, index):
    assert frame.as_index(value, 4) == index


# The page.


@pytest.fixture(scope="module")
def first_run():
    """The page as it opens; each test goes on from it and puts back what it sets."""
    app = AppTest.from_file(APP, default_timeout=TIMEOUT)
    app.run()
    return app.switch_page("pages/head_and_tail.py").run()


@pytest.fixture
def page(first_run):
    yield first_run
    first_run.session_state["A"] = 0.55
    first_run.session_state["find_label"] = ""
    first_run.session_state["contribution_to"] = "P@K"
    if labels_of.CHOSEN in first_run.session_state:
        del first_run.session_state[labels_of.CHOSEN]
    first_run.run()
    assert not first_run.exception


def key_of(page, name):
    """The key under which a control that mirrors another is drawn now."""
    return page.session_state[f"_{name}"].key


def answer_of(page):
    """The answer that the page shows."""
    keys = ("data", "reg_lambda", "A", "B", "K")
    return answers.answer_at(Settings(**{key: page.session_state[key] for key in keys}))


def bars(page, name):
    """Variant → heights of a chart's bars, as they are sent to the browser."""
    (chart,) = charts(page, name)
    return {trace["name"]: np.array(trace["y"]) for trace in chart["data"]}


def test_the_page_runs_and_the_sidebar_stays_over_two_changes_of_a_slider(page):
    for A in (0.3, 0.9):
        page.slider(key="A").set_value(A).run()
        assert not page.exception
        assert [each.label for each in page.sidebar.slider] == ["A", "B", "K"]
        assert page.sidebar.number_input(key="reg_lambda").value == 3.0


@pytest.mark.parametrize(("shown", "metric"), [("P@K", "precision"), ("PSP@K", "psprecision")])
@pytest.mark.parametrize("kind", ["powers of two", "powers of ten", "equal shares"])
def test_the_bars_on_the_page_sum_to_the_metric(page, shown, metric, kind):
    page.session_state["contribution_to"], page.session_state["frequency_bins"] = shown, kind
    page.run()
    evaluation = answer_of(page).evaluation
    drawn = bars(page, "gains_by_frequency")
    assert drawn[RIDGE].sum() == pytest.approx(100 * evaluation.ridge.metrics[metric][5], abs=1e-9)
    assert drawn[RIDGE_PS].sum() == pytest.approx(100 * evaluation.ps.metrics[metric][5], abs=1e-9)


@pytest.mark.parametrize("cuts", [(30, 300), (1, 1), (1, 100_000), (5, 1000)])
def test_the_shares_of_head_torso_and_tail_sum_to_a_hundred(page, cuts):
    page.session_state["cuts"] = cuts
    page.run()
    assert not page.exception
    for heights in bars(page, "shares_of_head_and_tail").values():
        assert heights.sum() == pytest.approx(100)


def test_at_A_zero_nobody_gains_and_nobody_pays(page):
    page.slider(key="A").set_value(0.0).run()
    assert words.NO_DIFFERENCE in page.markdown[0].value


def test_the_search_keeps_the_labels_with_that_word_and_their_true_numbers(page):
    page.text_input(key="find_label").set_value("Game").run()
    frame = page.dataframe[0].value
    answer = answer_of(page)
    names = answer.dataset.label_names.tolist()
    assert sorted(frame["label"]) == sorted(name for name in names if "game" in name.lower())
    assert (np.diff(frame["difference"]) <= 0).all()
    data = answer.dataset
    whole = label_table(answer.evaluation, 5, data.Y_test, data.label_counts, answer.theta)
    for _, row in frame.iterrows():
        label = names.index(row["label"])
        assert row["training instances"] == data.label_counts[label]
        assert row["hits after"] - row["hits before"] == row["difference"] == whole.difference[label]
        assert row["θ"] == pytest.approx(answer.theta[label])


def test_a_chosen_label_shows_its_test_instances_as_links_and_is_in_the_url(page):
    label = answer_of(page).dataset.label_names.tolist().index("game::arcade")
    page.selectbox(key=key_of(page, labels_of.LIST)).set_value(label).run()
    assert not page.exception
    assert page.query_params["label"] == str(label)
    answer = answer_of(page)
    rows = rows_of_label(answer.evaluation, 5, answer.dataset.Y_test, label)
    for outcome in ("won", "lost", "kept", "missed"):
        (text,) = [each.value for each in page.markdown if each.value.startswith(f"**{outcome.capitalize()}: ")]
        assert int(re.search(r"\d+", text)[0]) == len(getattr(rows, outcome))
    links = page.get("page_link")
    first_won = answer.dataset.test_names[rows.won[0]]
    (link,) = [each.proto for each in links if each.proto.label == plain_markdown(first_won)]
    assert link.page.endswith("instances")
    assert link.query_string == f"instance={rows.won[0]}&label={label}"


def test_a_link_to_an_instance_takes_settings_label_and_search_along():
    app = AppTest.from_file(APP, default_timeout=TIMEOUT)
    app.query_params.update(reg_lambda="20", find_label="game", label="180", label_order="rarest first")
    app.switch_page("pages/head_and_tail.py").run()
    assert app.text_input(key="find_label").value == "game"
    assert app.selectbox(key="label_order").value == "rarest first"
    # As the browser follows it: what is bound to the page itself is left behind.
    app.query_params.clear()
    app.query_params.update(reg_lambda="20", instance="1128", label="180")
    app.switch_page("pages/instances.py").run()
    assert not app.exception
    assert (app.session_state["instance"], app.session_state["label"]) == (1128, 180)
    assert app.query_params == {"reg_lambda": "20", "instance": "1128", "label": "180"}
    assert app.sidebar.number_input(key="reg_lambda").value == 20
    app.query_params = {"reg_lambda": "20"}
    app.switch_page("pages/head_and_tail.py").run()
    assert app.text_input(key="find_label").value == "game"
    assert {**app.query_params, "reg_lambda": "20"} == {
        "reg_lambda": "20",
        "find_label": "game",
        "label": "180",
        "label_order": "rarest first",
    }


def test_the_name_of_a_label_is_not_taken_for_markdown(page, monkeypatch):
    names = answer_of(page).dataset.label_names.astype(object)
    names[180] = ":red[x] $a$ and $b$"
    monkeypatch.setattr(Dataset, "every_label_name", lambda dataset: names)
    page.session_state[labels_of.CHOSEN] = 180
    page.run()
    assert any(each.value.startswith(r"**\:red\[x\] \$a\$ and \$b\$**, θ = ") for each in page.markdown)


def test_a_label_stays_chosen_when_a_setting_reorders_the_table(page):
    label = answer_of(page).dataset.label_names.tolist().index("game::arcade")
    page.selectbox(key=key_of(page, labels_of.LIST)).set_value(label).run()
    page.slider(key="A").set_value(1.2).run()
    assert page.selectbox(key=key_of(page, labels_of.LIST)).value == label
    row = page.session_state[key_of(page, labels_of.TABLE)]["selection"]["rows"][0]
    assert page.dataframe[0].value["label"].iloc[row] == "game::arcade"


def test_a_label_that_is_not_there_is_refused_by_name(page):
    page.session_state[labels_of.CHOSEN] = 598
    page.run()
    assert any("label = 598 was refused" in each.value and "0 to 597" in each.value for each in page.warning)
    assert labels_of.CHOSEN not in page.session_state


def test_an_order_and_bins_that_are_not_there_are_named_and_the_rest_of_the_link_taken():
    app = AppTest.from_file(APP, default_timeout=TIMEOUT)
    app.query_params.update(label_order="foo", frequency_bins="bar", find_label="game", label="180")
    app.switch_page("pages/head_and_tail.py").run()
    assert not app.exception
    (warning,) = app.warning
    assert plain_markdown("label_order = foo was refused: expected one of largest gain first, ") in warning.value
    assert plain_markdown("frequency_bins = bar was refused: expected one of powers of two, ") in warning.value
    assert app.selectbox(key="label_order").value == "largest gain first"
    assert app.text_input(key="find_label").value == "game"
    assert app.query_params == {"find_label": "game", "label": "180"}


def test_the_label_frequencies_are_not_drawn_anew_when_a_slider_moves(page):
    data = answer_of(page).model.full
    drawn = labels_of.profile(data, 30, 300)
    page.slider(key="A").set_value(0.7).run()
    assert labels_of.profile(answer_of(page).model.full, 30, 300) is drawn
    assert labels_of.profile(data, 30, 1000) is not drawn


def test_a_label_that_no_test_instance_has_shows_no_lists(page):
    label = int(np.flatnonzero(answer_of(page).dataset.Y_test.sum(axis=0) == 0)[0])
    page.session_state[labels_of.CHOSEN] = label
    page.run()
    assert any("and on none of 6,131 test instances" in each.value for each in page.markdown)
    assert not page.get("page_link")


def test_contributions_sum_to_the_metric_by_its_own_ruler_at_any_k_and_bars_are_of_their_variant():
    answer = answer_at(replace(OWN, reg_lambda_ps=1_000.0))
    bins = frequency_bins(BUILT.label_counts, "tens")
    for metric in contribution.METRICS.values():
        for k in (None, 1):
            parts = contribution.by_bin(answer, metric, bins, k)
            both = (parts.ridge, answer.evaluation.ridge), (parts.ps, answer.evaluation.ps)
            assert parts.k == (k or K)
            for part, of in both:
                assert part.sum() == pytest.approx(of.metrics[metric][k or K])
        shown = contribution.held_in_percent(parts)
        assert shown[RIDGE].tolist() == (100 * parts.ridge).tolist() != shown[RIDGE_PS].tolist()
        assert shown[RIDGE_PS].tolist() == (100 * parts.ps).tolist()
    figure = contribution.contribution_bars(parts, parts, height=200)
    assert len(figure.data) == len(contribution.contribution_bars(parts, None, height=200).data) + 2
    told = contribution.in_words(["a", "b"], np.array([0.25, np.nan]), np.array([0.5, np.nan]))
    assert told == "a: 25.00, with PS 50.00"
