"""Learn: each question's answer is true of the data, the example's messages, and the pages as a visitor uses them."""

import json

import numpy as np
import pytest

from pages.shared.learn_questions import DATA, QUESTIONS
from pages.shared.learn_steps import STEPS
from pages.shared.settings import LINK_KEY, Settings, link, refusals
from tests.app.helpers import only_data_set, small, start, texts
from xmlcore import Evaluation, RidgeFactorization, evaluate_scores, inverse_propensity, load_dataset, top_k
from xmlcore.analysis import contributions, frequency_bins
from xmlcore.figures import RIDGE_PS

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


def test_the_buttons_beside_the_parts_go_on_through_all_of_them_and_back(monkeypatch):
    names = [*(step.title for step in STEPS), "Five questions"]
    with only_data_set(monkeypatch, "small", small()):
        app = start().switch_page("pages/learn.py").run()
        for name, after in zip(names, [*names[1:], None], strict=True):
            assert app.segmented_control(key="part").value == name
            assert app.button(key="part_before").disabled == (name == names[0])
            assert app.button(key="part_after").disabled == (after is None)
            if after is not None:
                app.button(key="part_after").click().run()
        app.button(key="part_before").click().run()
        assert app.segmented_control(key="part").value == names[-2]


def test_there_are_five_questions():
    assert len(QUESTIONS) == 5


def test_the_lecture_tells_at_which_lambda_ps_stands_where_its_slider_does_not_move_it():
    app = start(own_lambda_ps="true", reg_lambda_ps="24").switch_page("pages/lecture.py").run()
    assert f"{RIDGE_PS} is at λ = 24." in texts(app)
    app.sidebar.toggle(key="own_lambda_ps").set_value(False).run()
    assert f"{RIDGE_PS} is at" not in texts(app)
