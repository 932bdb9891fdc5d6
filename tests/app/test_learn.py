"""Learn: each question's answer is true of the data, the example's messages, and the pages as a visitor uses them."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import learn_example, learn_steps
from pages.shared.learn_questions import DATA, QUESTIONS
from pages.shared.learn_steps import STEPS
from pages.shared.settings import LINK_KEY, Settings, link, refusals
from tests.app.helpers import start, texts
from xmlcore import Evaluation, RidgeFactorization, evaluate_scores, inverse_propensity, load_dataset, top_k
from xmlcore.analysis import contributions, frequency_bins
from xmlcore.figures import RIDGE_PS
from xmlcore.toy import EXAMPLE

DOUBLINGS = [0.25 * 2**i for i in range(9)]
METRICS = {"P@1": ("precision", 1), "P@5": ("precision", 5), "PSP@1": ("psprecision", 1), "PSP@5": ("psprecision", 5)}


class Debtags:
    """Answers on the embedded data at any setting, as the page computes them."""

    def __init__(self) -> None:
        self.data = load_dataset("debtags")
        self.factorization = RidgeFactorization.fit(self.data.X_train, self.data.Y_train)
        self.projection = self.factorization.project(self.data.X_test)
        self.scores_at: dict[float, np.ndarray] = {}
        self.evaluations: dict[tuple[float, float, bool], Evaluation] = {}

    def theta(self, A: float) -> np.ndarray:
        return inverse_propensity(self.data.Y_train, A, self.data.B)

    def scores(self, reg_lambda: float) -> np.ndarray:
        if reg_lambda not in self.scores_at:
            self.scores_at[reg_lambda] = self.factorization.scores(self.projection, reg_lambda)
        return self.scores_at[reg_lambda]

    def evaluate(self, reg_lambda: float = 3.0, A: float = 0.55, tie: bool = False) -> Evaluation:
        key = (reg_lambda, A, tie)
        if key not in self.evaluations:
            metric_theta = self.theta(A if tie else self.data.A)
            self.evaluations[key] = evaluate_scores(
                self.scores(reg_lambda), self.data.Y_test, self.theta(A), metric_theta
            )
        return self.evaluations[key]


@pytest.fixture(scope="module")
def debtags() -> Debtags:
    return Debtags()


def value(evaluation: Evaluation, name: str, variant: str = "ridge") -> float:
    metric, k = METRICS[name]
    return 100 * getattr(evaluation, variant).metrics[metric][k]


def best_lambda(debtags: Debtags, name: str, variant: str) -> tuple[float, float]:
    values = {reg_lambda: value(debtags.evaluate(reg_lambda), name, variant) for reg_lambda in DOUBLINGS}
    best = max(values, key=values.get)
    return best, values[best]


def test_the_best_lambda_for_precision_is_too_large_for_rare_labels(debtags):
    answer = QUESTIONS[0].answer
    at, best = best_lambda(debtags, "P@1", "ridge")
    assert f"P@1 is highest at λ = {at:g}, {best:.2f} %" in answer
    assert best - value(debtags.evaluate(8), "P@1") < 0.1  # "nearly the same at 8"
    at_psp, best_psp = best_lambda(debtags, "PSP@5", "ridge")
    assert f"PSP@5 is highest at λ = {at_psp:g}, {best_psp:.2f} %" in answer
    assert f"at 8 it has lost {best_psp - value(debtags.evaluate(8), 'PSP@5'):.1f} points" in answer
    assert at_psp < at


def test_weighting_wants_a_larger_lambda(debtags):
    answer = QUESTIONS[1].answer
    ridge, _ = best_lambda(debtags, "P@1", "ridge")
    ps, best = best_lambda(debtags, "P@1", "ps")
    assert ridge == QUESTIONS[1].settings.reg_lambda == 4
    assert f"P@1 with PS is {value(debtags.evaluate(4), 'P@1', 'ps'):.2f} % at λ = 4" in answer
    assert f"highest at {ps:g}, {best:.2f} %, eight times" in answer
    assert ps == 8 * ridge
    psp, best_psp = best_lambda(debtags, "PSP@5", "ps")
    assert f"PSP@5 with PS is highest at {psp:g}, {best_psp:.2f} %" in answer
    assert f"that of XML-ridge at {best_lambda(debtags, 'PSP@5', 'ridge')[0]:g}." in answer


def test_a_moderate_A_moves_answers_to_rare_labels_and_a_large_one_no_longer(debtags):
    answer = QUESTIONS[2].answer
    bins = frequency_bins(debtags.data.label_counts, "tens")
    none, some, much = (debtags.evaluate(A=A) for A in (0.0, 0.4, 1.5))
    np.testing.assert_array_equal(none.ridge.top, none.ps.top)  # "At A = 0 both variants are one"
    parts = contributions(some, 1, "precision", debtags.theta(debtags.data.A), bins)
    rare, frequent = bins.low < 100, bins.low >= 1000
    assert f"contribute {100 * parts.ps[rare].sum():.2f} points" in answer
    assert f"instead of {100 * parts.ridge[rare].sum():.2f}," in answer
    assert f"1,000 or more {100 * parts.ps[frequent].sum():.2f} instead of" in answer
    assert f"instead of {100 * parts.ridge[frequent].sum():.2f}." in answer
    assert f"PSP@5 rises by {value(some, 'PSP@5', 'ps') - value(none, 'PSP@5', 'ps'):.2f} points" in answer
    assert f"P@1 pays {value(none, 'P@1', 'ps') - value(some, 'P@1', 'ps'):.2f}." in answer
    assert f"P@1 is back at {value(much, 'P@1', 'ps'):.2f} %" in answer
    assert value(much, "P@1", "ps") == pytest.approx(value(none, "P@1", "ps"), abs=0.005)
    assert debtags.theta(1.5)[debtags.data.label_counts > 30].max() < 1.2  # "near 1 for all but the very rarest"


def test_tying_the_metric_to_A_changes_the_ruler_and_not_the_model(debtags):
    answer = QUESTIONS[3].answer
    flat, usual = debtags.evaluate(A=0.0, tie=True), debtags.evaluate(A=0.55, tie=True)
    np.testing.assert_array_equal(flat.ridge.top, usual.ridge.top)
    assert value(flat, "PSP@1") == pytest.approx(value(flat, "P@1"))
    assert f"PSP@1 is P@1: {value(flat, 'PSP@1'):.2f} %. At A = 0.55 it is {value(usual, 'PSP@1'):.2f} %" in answer
    theta, Y = debtags.theta(0.55), debtags.data.Y_test
    hits = usual.ridge.label_hits[0]
    assert f"{hits @ theta / hits.sum():.2f} on average, since" in answer
    rarest = np.mean([theta[Y.indices[start:end]].max() for start, end in zip(Y.indptr, Y.indptr[1:], strict=False)])
    assert f"would have given, {rarest:.2f} on average" in answer
    assert f"PSP@5 {value(flat, 'PSP@5'):.2f} % at A = 0, and P@5 {value(flat, 'P@5'):.2f} %" in answer
    n_labels = np.diff(Y.indptr)
    assert f"{100 * (n_labels < 5).mean():.0f} % of the packages have fewer than five labels" in answer
    perfect = 100 * np.minimum(n_labels, 5).mean() / 5
    assert f"P@5 of {perfect:.2f} % only" in answer
    assert value(flat, "PSP@5") == pytest.approx(100 * value(flat, "P@5") / perfect)


def test_a_huge_lambda_leaves_the_word_overlap_with_each_label(debtags):
    answer, data = QUESTIONS[4].answer, debtags.data
    huge = debtags.evaluate(1e6)
    assert f"still {value(huge, 'P@1'):.2f} %" in answer
    overlap = top_k((data.X_test @ (data.X_train.T @ data.Y_train)).toarray(), 1)
    assert (huge.ridge.top[:, 0] == overlap[:, 0]).mean() > 0.999
    few, many = (len(np.unique(debtags.evaluate(reg_lambda).ridge.top[:, 0])) for reg_lambda in (1e6, 3.0))
    assert f"only {few} of the {data.n_labels} labels" in answer
    assert f"λ = 3 has {many}." in answer
    most_frequent = data.Y_test[:, [int(data.label_counts.argmax())]].sum() / data.n_test
    assert f"would give {100 * most_frequent:.2f} %" in answer


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.question)
def test_a_question_sets_values_that_every_control_accepts(question):
    values = json.loads(link(question.settings)[LINK_KEY])
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in values.items()}
    assert refusals(texts, [DATA]) == []
    assert question.settings != Settings(data=DATA)


@pytest.mark.parametrize(("features", "told"), [("tfidf+unit", False), ("terms:300+tfidf+unit", True)])
def test_a_question_tells_that_its_answer_is_about_the_usual_features(features, told):
    params = {"part": "Five questions", "features": features}
    app = start(**params).switch_page("pages/learn.py").run()
    assert not app.exception
    assert any("the sidebar is set to other features" in each.value for each in app.info) == told


def test_there_are_five_questions():
    assert len(QUESTIONS) == 5


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (None, "is empty: it needs a number"),
        (-1.0, "is −1: a count"),
        (1_234_567, "is 1234567: a count"),
        (1e300, "is 1e+300: a count"),
        (float("inf"), "is inf"),
    ],
)
def test_a_count_that_cannot_be_used_is_named_by_document_and_word(cell, sentence):
    frame = pd.DataFrame(EXAMPLE.X, index=list(EXAMPLE.documents), columns=list(EXAMPLE.words))
    frame.loc["freeciv", "chess"] = cell
    (line,) = learn_example.cell_problems(frame, "counts")
    assert line.startswith("**freeciv**, *chess*")
    assert sentence in line


def test_a_tick_that_was_deleted_is_named():
    frame = learn_example._labels_frame()  # what the editor is given: a plain bool column would drop the edit
    frame.loc["nginx", "Web"] = None
    assert learn_example.cell_problems(frame, "labels") == ["**nginx**, *Web* is empty: it needs a tick or none."]


def step_app() -> None:
    """One step with the tables as they are first; an edit of a table is put in its place by the test."""
    import streamlit as st

    from pages.shared import learn_steps
    from pages.shared.learn_example import bench, sliders

    step = learn_steps.STEPS[st.session_state["position"]]
    learn_steps.text(step)
    example = bench(sliders())
    if example is not None:
        step.numbers(example)


def run_step(position: int, **state: object) -> AppTest:
    app = AppTest.from_function(step_app, default_timeout=30)
    app.session_state["position"] = position
    for key, value in state.items():
        app.session_state[key] = value
    return app.run()


def page_text(app: AppTest) -> str:
    return " ".join(element.value for element in [*app.markdown, *app.caption, *app.warning])


@pytest.mark.parametrize("position", range(len(STEPS)), ids=[step.title for step in STEPS])
def test_each_step_shows_its_numbers(position):
    app = run_step(position)
    assert not app.exception
    assert STEPS[position].answer in page_text(app)


def test_at_the_examples_default_the_page_says_that_weighting_changes_the_first_label():
    text = page_text(run_step(0))
    assert "XML-ridge ranks **Game** first, a label on 4 documents of 5; weighting puts **Chess** first" in text
    assert learn_example.Parameters(0.5, 0.55, 1.5) == learn_example.DEFAULT


def test_labels_that_score_the_same_are_named():
    Y = EXAMPLE.Y.copy()
    Y[:, 1] = Y[:, 0]
    twins, default = replace(EXAMPLE, Y=Y), learn_example.DEFAULT
    told = learn_steps._ties(learn_example.Bench(twins, default, learn_example.work(twins, default)))
    assert told.startswith(f" By XML-ridge **{EXAMPLE.labels[1]}** scores the same.")
    assert learn_steps._ties(learn_example.Bench(EXAMPLE, default, learn_example.work(EXAMPLE, default))) == ""


def test_without_A_both_variants_rank_the_same_label_first():
    assert "both variants rank **Game** first" in page_text(run_step(0, toy_A=0.0))


def test_a_bad_cell_gives_a_message_and_keeps_the_other_edits():
    edited = learn_example._words_frame()
    edited.loc["freeciv", "chess"] = None
    edited.loc["nginx", "mail"] = 7
    app = run_step(2, toy_words_last=edited)
    assert "**freeciv**, *chess* is empty" in app.warning[0].value
    assert app.session_state["toy_words_last"].loc["nginx", "mail"] == 7
    assert not app.table  # no numbers of a state that is not on the screen


def test_edits_outlive_another_part_of_the_page_and_start_over_undoes_them():
    edited = learn_example._words_frame()
    edited.loc["nginx", "mail"] = 7
    app = run_step(2, toy_words_last=edited, toy_lambda=5.0)
    assert "50" in app.table[0].value.loc["mail"].tolist()  # 1² + 7²
    app.button[0].click().run()
    assert app.table[0].value.loc["mail", "mail"] == "2"
    assert app.session_state["toy_lambda"] == 0.5


def test_a_slider_that_a_step_makes_no_use_of_is_hidden_and_no_other():
    for position, step in enumerate(STEPS):
        hidden = [key for key in ("toy_lambda", "toy_A", "toy_B") if key in learn_example.unused_sliders(step.sliders)]
        shown = [table.value for table in run_step(position).table]
        for key, value in (("toy_lambda", 5.0), ("toy_A", 1.0), ("toy_B", 9.0)):
            moved = run_step(position, **{key: value})
            if step.title != "In one line":  # it has a chart, not a table
                same = all(a.equals(b.value) for a, b in zip(shown, moved.table, strict=True))
                assert same == (key in hidden), (step.title, key)


def test_the_sum_that_explains_the_gram_matrix_is_its_entry_to_the_last_digit():
    app = run_step(2, toy_words_last=learn_example._words_frame() * 0 + 999)
    (caption,) = (each.value for each in app.caption if each.value.startswith("Each number is a sum"))
    assert f" = {5 * 999**2}. Neither" in caption
    assert app.table[0].value.loc["game", "play"] == str(5 * 999**2)


def test_tables_without_any_word_or_label_work_in_every_step():
    words, labels = learn_example._words_frame() * 0, learn_example._labels_frame() & False
    for position in range(len(STEPS)):
        app = run_step(position, toy_words_last=words, toy_labels_last=labels)
        assert not app.exception
        text = page_text(app)
        assert "The highest bar" not in text
        assert "it is lowest in the row" not in text
    assert "All scores are 0" in text


def test_the_objective_is_lowest_at_the_sliders_lambda():
    app = run_step(1)
    totals = app.table[0].value.iloc[:, 2].astype(float)
    assert totals.idxmin() == "W made with λ = 0.5 (now)"
    assert re.search(r"0\.5 · size", app.table[0].value.columns[2])


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.6478e-5, "0.000016"), (-0.0021, "−0.0021"), (0.004, "0.004"), (0.006, "0.01"), (-1e-17, "0.00"), (2, "2.00")],
)
def test_a_number_that_is_not_zero_is_never_shown_as_zero(value, shown):
    assert learn_steps._number(value) == shown


def test_the_lecture_tells_at_which_lambda_ps_stands_where_its_slider_does_not_move_it():
    app = start(own_lambda_ps="true", reg_lambda_ps="24").switch_page("pages/lecture.py").run()
    assert f"{RIDGE_PS} is at λ = 24." in texts(app)
    app.sidebar.toggle(key="own_lambda_ps").set_value(False).run()
    assert f"{RIDGE_PS} is at" not in texts(app)
