"""What the Instances page shows, on a data set small enough to check by brute force."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy import sparse

from pages.shared import comparison, model
from pages.shared import instance_find as find
from pages.shared import instance_view as view
from pages.shared.instance_subject import explain, subject_of_row, subject_of_text
from pages.shared.settings import Settings
from xmlcore import (
    Dataset,
    FeatureRecipe,
    RidgeFactorization,
    default_recipe,
    evaluate_scores,
    fit_features,
    inverse_propensity,
)
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.figures_explain import explanation_bars
from xmlcore.profile import random_instances

WORDS = ["chess", "board", "engine", "network", "server", "python", "library", "music", "player", "mail"]
LABELS = ["games", "use::net", "<b>lib</b>", "sound", "rare_one", "never"]
K = 2


def tiny() -> Dataset:
    """120 texts of ten words whose labels follow the words, one label on few of them and one on none."""
    rng = np.random.default_rng(5)
    counts = rng.poisson(0.7, (120, len(WORDS)))
    counts[100:, 9] = 0
    counts[110] = 0
    Y = np.stack(
        [
            counts[:, 0] + counts[:, 1] > 1,
            counts[:, 3] + counts[:, 4] > 1,
            counts[:, 5] + counts[:, 6] > 1,
            counts[:, 7] + counts[:, 8] > 1,
            (counts[:, 0] > 1) & (counts[:, 2] > 0),
            np.zeros(120, dtype=bool),
        ],
        axis=1,
    )
    Y &= rng.random(Y.shape) < 0.8
    X, Y = sparse.csr_array(counts.astype(np.float32)), sparse.csr_array(Y.astype(np.float32))
    return Dataset(
        name="tiny",
        X_train=X[:90],
        Y_train=Y[:90],
        X_test=X[90:],
        Y_test=Y[90:],
        feature_names=np.array(WORDS),
        label_names=np.array(LABELS),
        train_names=np.array([f"train-{i}" for i in range(90)]),
        test_names=np.array([f"doc-{i}" for i in range(30)]),
        feature_kind="counts",
    )


RAW = tiny()
BUILT, FITTED = fit_features(RAW, default_recipe(RAW))


def answer_at(settings: Settings, ready: bool = True) -> model.Answer:
    fac = RidgeFactorization.fit(BUILT.X_train, BUILT.Y_train)
    P = fac.project(BUILT.X_test)
    theta = inverse_propensity(BUILT.Y_train, settings.A, settings.B)
    evaluation = evaluate_scores(
        fac.scores(P, settings.reg_lambda),
        BUILT.Y_test,
        theta,
        theta,
        (1, settings.K),
        scores_ps=fac.scores(P, settings.reg_lambda_ps),
    )
    known = {"factorization": fac, "projection": P} if ready else {"factorization": None, "projection": None}
    made = SimpleNamespace(dataset=BUILT, full=BUILT, fitted=FITTED, ready=ready, **known)
    return model.Answer(made, settings, evaluation, theta, theta)


def exact_scores(x: np.ndarray, reg_lambda: float) -> np.ndarray:
    """x (G+λI)⁻¹XᵀY in float64."""
    X, Y = BUILT.X_train.toarray().astype(np.float64), BUILT.Y_train.toarray().astype(np.float64)
    return x @ np.linalg.solve(X.T @ X + reg_lambda * np.eye(X.shape[1]), X.T @ Y)


SAME = Settings("tiny", reg_lambda=0.5, reg_lambda_ps=0.5, K=K)
OWN = Settings("tiny", reg_lambda=0.5, own_lambda_ps=True, reg_lambda_ps=2.0, K=K)


@pytest.mark.parametrize("settings", [SAME, OWN])
@pytest.mark.parametrize("variant", [RIDGE, RIDGE_PS])
def test_the_bars_of_both_explanations_add_up_to_the_score_in_the_list(settings, variant):
    answer = answer_at(settings)
    for row in range(0, 30, 7):
        subject = subject_of_row(answer, row)
        for entry in subject.lists[variant]:
            for part in explain(answer, subject, entry.label, variant):
                assert part.contribution.sum() + part.others == pytest.approx(part.score, abs=1e-12)
                assert part.score == pytest.approx(entry.score, abs=1e-5)


def test_the_drawn_bars_add_up_to_the_drawn_score():
    answer = answer_at(SAME)
    subject = subject_of_row(answer, 3)
    for part in explain(answer, subject, 0, RIDGE):
        names = [f"name {i}" for i in part.index]
        figure = explanation_bars(
            names,
            part.contribution,
            part.others,
            part.n_others,
            part.score,
            variant=RIDGE,
            kind="words",
            hover=names,
        )
        *terms, score = figure.data[0].x
        assert sum(terms) == pytest.approx(score, abs=1e-12)
        assert score == part.score


@pytest.mark.parametrize("ready", [True, False])
def test_a_typed_document_scores_as_by_brute_force_before_and_after_the_factorisation(ready):
    text = f"Chess engine, chess BOARD; with a zyzzyva server {ready}"
    answer = answer_at(OWN, ready)
    subject = subject_of_text(answer, text)
    counts = np.array([[2, 1, 1, 0, 1, 0, 0, 0, 0, 0]], dtype=np.float32)
    x = FITTED(sparse.csr_array(counts)).toarray()[0].astype(np.float64)
    assert subject.scores == pytest.approx(exact_scores(x, 0.5), abs=1e-5)
    assert subject.scores_ps == pytest.approx(exact_scores(x, 2.0), abs=1e-5)
    best = np.argsort(-exact_scores(x, 2.0) * answer.theta, kind="stable")[:K]
    assert [entry.label for entry in subject.lists[RIDGE_PS]] == best.tolist()
    assert subject.relevant is None


@pytest.mark.parametrize("settings", [SAME, OWN])
def test_lists_say_what_the_evaluation_counted_and_where_each_label_stood_in_the_other(settings):
    answer = answer_at(settings)
    gained = 0
    for row in range(30):
        subject = subject_of_row(answer, row)
        x = BUILT.X_test[[row]].toarray()[0].astype(np.float64)
        orders = {
            RIDGE: np.argsort(-exact_scores(x, settings.reg_lambda), kind="stable").tolist(),
            RIDGE_PS: np.argsort(-exact_scores(x, settings.reg_lambda_ps) * answer.theta, kind="stable").tolist(),
        }
        for variant, other in ((RIDGE, RIDGE_PS), (RIDGE_PS, RIDGE)):
            for entry in subject.lists[variant]:
                assert orders[variant][entry.place - 1] == entry.label
                assert orders[other][entry.other_place - 1] == entry.label
                assert entry.right == (BUILT.Y_test[row, entry.label] == 1)
        gained += sum(entry.right for entry in subject.brought_in) - sum(entry.right for entry in subject.dropped)
    marks = find.marks_of(answer, find.TAIL_BELOW)
    assert gained == (marks.ps_hits - marks.ridge_hits).sum()


def test_an_instance_without_a_name_is_called_the_same_everywhere_and_found_by_that():
    answer = answer_at(SAME)
    nameless = replace(BUILT, test_names=None, train_names=None)
    answer = replace(answer, model=SimpleNamespace(**{**vars(answer.model), "dataset": nameless}))
    assert subject_of_row(answer, 5).name == "test instance 5"
    other = comparison.OtherSystem("other", answer.evaluation.ridge.top, K)
    table = comparison.side_by_side(other, answer, np.ones(30), np.array([5]))
    assert table["instance"].tolist() == ["test instance 5"]
    for text in ("5", "instance 5", "Test instance 5"):
        assert find.found(answer, text, "any").tolist() == [5]
    assert find.found(answer, "9" * 5000, "any").size == 0
    assert {each.name for each in random_instances(nameless, 90)} == {f"training instance {i}" for i in range(90)}


def fitted_by(recipe: str):
    """What the tiny data set's features would be made by, were they made by this recipe."""
    parsed = FeatureRecipe.parse(recipe)
    return replace(FITTED, recipe=parsed, reducer=object() if parsed.svd or parsed.project else None)


@pytest.mark.parametrize(
    ("fitted", "kind"),
    [
        (FITTED, "words"),
        *((fitted_by(recipe), "features") for recipe in ("tfidf+unit+svd:5", "project:5", "tfidf+unit+lm")),
        (replace(FITTED, vocabulary=None), "features"),
    ],
)
def test_features_are_called_words_only_where_each_is_one(fitted, kind):
    answer = answer_at(SAME)
    answer.model.fitted = fitted
    assert f"Its {kind}, by weight" in view._features(answer, subject_of_row(answer, 3))


@pytest.mark.parametrize(
    ("recipe", "effect"), [("tfidf+unit", "without any effect"), ("tfidf+unit+lm", "read by the language model only")]
)
def test_words_outside_the_vocabulary_have_an_effect_only_by_a_language_model(monkeypatch, recipe, effect):
    answer, said = answer_at(SAME), []
    answer.model.fitted = fitted_by(recipe)
    monkeypatch.setattr(view.st, "html", said.append)
    view.text_with_unknown_words(answer, "chess zyzzyva")
    assert f"not among the 10 words of the vocabulary, so {effect}: zyzzyva." in said[0]


def test_words_of_the_vocabulary_are_found_whatever_their_case(monkeypatch):
    answer, said, names = answer_at(SAME), [], np.array([word.title() for word in WORDS])
    answer.model.fitted = replace(FITTED, vocabulary=names)
    answer.model.dataset = replace(BUILT, feature_names=names)
    (having,) = np.nonzero(RAW.X_test.toarray()[:, 0])
    assert find.found(answer, "CHESS", "any").tolist() == having.tolist()
    monkeypatch.setattr(view.st, "html", said.append)
    view.text_with_unknown_words(answer, "the chess")
    assert "All of its words are among the 10 of the vocabulary" in said[0]


def test_a_row_without_features_is_told_from_one_that_the_model_ranks():
    answer = answer_at(SAME)
    subject = subject_of_row(answer, 20)
    assert not subject.features[0].size
    assert [entry.label for entry in subject.lists[RIDGE]] == [0, 1]
    assert "none of the features" in view._sentence(answer, subject)


def test_each_filter_finds_what_its_name_says():
    answer = answer_at(SAME)
    Y, tail = BUILT.Y_test.toarray() > 0, BUILT.label_counts < find.TAIL_BELOW
    tops = [answer.evaluation.ridge.top[:, :K], answer.evaluation.ps.top[:, :K]]
    for which in find.FILTERS:
        rows = find.found(answer, "", which)
        for row in range(30):
            before, after = (set(top[row].tolist()) for top in tops)
            true = set(np.flatnonzero(Y[row]).tolist())
            rare = true & set(np.flatnonzero(tail).tolist())
            expected = {
                "any": True,
                "most labels": True,
                "weighting changed the top K": before != after,
                "weighting brought a right label in": len(after & true) > len(before & true),
                "weighting dropped a right label": len(after & true) < len(before & true),
                "a tail label was missed": bool(rare - before or rare - after),
                "all wrong": bool(true) and not true & (before | after),
            }[which]
            assert (row in rows) == expected, (which, row)
    sizes = Y.sum(axis=1)[find.found(answer, "", "most labels")]
    assert sizes.tolist() == sorted(sizes, reverse=True)


def test_a_search_gives_the_very_name_first_then_parts_of_names_then_words():
    answer = answer_at(SAME)
    assert find.found(answer, "DOC-2", "any").tolist() == [2, *range(20, 30)]
    has = RAW.X_test.toarray() > 0
    assert find.found(answer, "chess server", "any").tolist() == np.flatnonzero(has[:, 0] & has[:, 4]).tolist()
    assert find.found(answer, "zyzzyva", "any").size == 0


@given(st.text(max_size=40))
@hypothesis_settings(max_examples=50, deadline=None)
def test_no_name_can_break_out_of_the_page(name):
    html = view._breakable(name).replace("<wbr>", "")
    assert "<" not in html
    assert ">" not in html
    assert not set(view.plain_markdown(name)) - set(name) - {"\\", "\u2060"}
