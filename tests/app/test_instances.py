"""What the Instances page shows, on a data set small enough to check by brute force."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy import sparse

from pages.shared import comparison
from pages.shared import instance_find as find
from pages.shared import instance_view as view
from pages.shared.instance_subject import explain, subject_of_row, subject_of_text
from pages.shared.instance_text import LONGEST_DOCUMENT, document_of, text_with_unknown_words, why_no_text
from pages.shared.settings import lambda_text
from tests.app.tiny import BUILT, FITTED, OWN, RAW, SAME, WORDS, K, answer_at, tiny
from xmlcore import FeatureRecipe
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.figures_explain import digits_of, explanation_bars, number_text
from xmlcore.predictions import predictions_from_ranking
from xmlcore.profile import random_instances


def exact_scores(x: np.ndarray, reg_lambda: float) -> np.ndarray:
    """x (G+λI)⁻¹XᵀY in float64."""
    X, Y = BUILT.X_train.toarray().astype(np.float64), BUILT.Y_train.toarray().astype(np.float64)
    return x @ np.linalg.solve(X.T @ X + reg_lambda * np.eye(X.shape[1]), X.T @ Y)


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


def bars(values: list[float], others: float = 0.0, n_others: int = 0, **more: str) -> dict:
    """The trace and the x axis of a figure with these terms."""
    names = [f"name {i}" for i in range(len(values))]
    score = sum(values) + others
    figure = explanation_bars(
        names, np.array(values), others, n_others, score, variant=RIDGE, kind="words", hover=names, **more
    )
    return figure.to_dict()


@pytest.mark.parametrize(
    ("scale", "shown"),
    [
        (1.0, ["+0.412", "−0.098", "+0.031", "0.345"]),
        (1e-2, ["+0.00412", "−0.00098", "+0.00031", "0.00345"]),
        (1e-12, ["+4.12e−13", "−9.80e−14", "+3.10e−14", "3.45e−13"]),
        (1e8, ["+4.12e+07", "−9.80e+06", "+3.10e+06", "3.45e+07"]),
        (0.0, ["+0.000", "−0.000", "+0.000", "0.000"]),
    ],
)
def test_bars_have_significant_digits_at_any_scale_and_room_for_them(scale, shown):
    figure = bars([0.412 * scale, -0.098 * scale], 0.031 * scale, 7)
    (trace,), layout = figure["data"], figure["layout"]
    assert list(trace["text"]) == shown
    low, high = layout["xaxis"]["range"]
    pixels = 300 / (high - low)  # in a column, beside long names
    for value, text in zip(trace["x"], trace["text"], strict=True):
        right = (high - value) * pixels + layout["margin"]["r"]
        left = (value - low) * pixels
        assert (left if value < 0 else right) >= 7.5 * len(text)


def test_bars_are_written_as_other_numbers_of_the_page_are_where_they_must_agree():
    assert list(bars([0.0412, 0.0011], digits=".3f")["data"][0]["text"]) == ["+0.041", "+0.001", "0.042"]


def test_one_other_term_is_called_so_and_names_are_no_html():
    trace, axis = bars([0.4], 0.1, 1)["data"][0], bars([0.4], 0.1, 1)["layout"]["yaxis"]
    assert list(axis["ticktext"]) == ["name 0", "1 other", "score"]
    assert list(trace["customdata"]) == [
        "name 0<br>+0.4",
        "1 other word<br>+0.1",
        "the sum of the bars above<br>+0.5",
    ]
    figure = explanation_bars(
        ["<b>lib</b>"], np.ones(1), 0.0, 0, 1.0, variant=RIDGE, kind="words", hover=["&lt;b&gt;lib"]
    )
    assert figure.layout.yaxis.ticktext[0] == "&lt;b&gt;lib&lt;/b&gt;"


def test_a_zero_among_small_numbers_has_no_power():
    assert number_text(0.0, digits_of([2e-12, 0.0])) == "0"


def test_a_score_that_is_written_as_zero_has_no_minus():
    assert number_text(-2e-9, digits_of([0.7])) == "0.000"
    assert number_text(-0.002, digits_of([0.7])) == "−0.002"
    assert number_text(-2e-9, digits_of([0.7]), "+") == "−0.000"  # a bar to the left


@pytest.mark.parametrize("reg_lambda", [0.5, 50.0, 1e5, 1e12])
@pytest.mark.parametrize("own", [False, True])
def test_a_score_is_written_alike_in_the_list_the_sentence_and_the_bars(monkeypatch, reg_lambda, own):
    settings = replace(SAME, K=4, reg_lambda=reg_lambda, own_lambda_ps=own, reg_lambda_ps=0.7 if own else reg_lambda)
    answer, drawn = answer_at(settings), {}
    monkeypatch.setattr(view.show, "chart", lambda figure, *, name, **told: drawn.update({name: (figure, told)}))
    cases = [
        (subject_of_row(answer, row), variant) for row in range(0, 20, 3) for variant in (RIDGE, RIDGE_PS)[: 1 + own]
    ]
    for subject, variant in cases:
        table = view._table(answer, subject, variant, view._to)
        for entry in subject.lists[variant]:
            parts = explain(answer, subject, entry.label, variant)
            digits = view._digits_explained(subject, entry.label, variant, parts)
            shown = number_text(entry.score, digits[variant])
            assert f"<td class='number'>{shown}</td>" in table
            assert f" scores {shown}" in view._told(answer, entry.label, variant, parts[0], digits)
            view._charts(answer, subject, entry.label, variant, parts, digits[variant])
            for figure, told in drawn.values():
                assert figure.data[0].text[-1] == shown
                assert f"make the score {shown} of" in told["alt"]
                terms = [float(text.replace("−", "-")) for text in figure.data[0].text[:-1]]
                unit = 10.0 ** -int(digits[variant][1]) * (max(map(abs, terms)) if digits[variant][-1] == "e" else 1)
                assert sum(terms) == pytest.approx(entry.score, abs=unit * len(terms))
        assert float(number_text(subject.lists[variant][0].score, digits[variant]).replace("−", "-")) > 0


def test_the_score_of_a_label_outside_of_both_lists_has_digits_of_its_own():
    answer = answer_at(replace(SAME, K=1))
    subject = subject_of_row(answer, 3)
    label = next(each for each in range(5) if each not in {e.label for es in subject.lists.values() for e in es})
    parts = tuple(
        replace(part, score=2e-5, contribution=np.array([3e-5]), others=-1e-5)
        for part in explain(answer, subject, label, RIDGE)
    )
    digits = view._digits_explained(subject, label, RIDGE, parts)
    assert "scores 2.00e−05, the sum" in view._told(answer, label, RIDGE, parts[0], digits)


def test_where_ps_has_a_lambda_of_its_own_not_weighting_alone_is_named():
    answer = answer_at(OWN)
    own, its = lambda_text(OWN.reg_lambda), lambda_text(OWN.reg_lambda_ps)
    subjects = [subject_of_row(answer, row) for row in range(30)]
    told = [view._sentence(answer, subject) for subject in subjects if subject.features[0].size]
    assert all(each.startswith(f"PS at λ = {its}, not {own}, ") for each in told)
    assert "Weighting" not in " ".join(told)


def test_where_one_label_counts_it_is_in_first_place():
    answer = answer_at(replace(SAME, K=1))
    told = [view._sentence(answer, subject_of_row(answer, row)) for row in range(30)]
    assert any("Weighting changed nothing in first place. Of its " in each for each in told)
    assert any(" is in first place of XML-ridge and " in each for each in told)
    assert not any("the first 1" in each for each in told)


def test_why_no_text_can_be_explained_is_told_in_words():
    answer = answer_at(SAME)
    assert why_no_text(answer) is None
    answer.model.fitted = replace(FITTED, vocabulary=None)
    assert "the features of tiny, which are not plain counts of known words" in why_no_text(answer)
    assert "It can be on Debtags and Debian-depends, and on data of your own" in why_no_text(answer)
    answer.model.fitted = replace(FITTED, vocabulary=np.array(["chess", "Chess"]))
    assert "feature 0 is 'chess' and feature 1 'Chess'" in why_no_text(answer)


@pytest.mark.parametrize(
    ("changes", "label", "example", "told", "nothing"),
    [
        ({}, "Name or word", "chess", "Part of an instance's name, or words that", "names and words of 30 test"),
        (
            {"feature_names": np.array([f"a {word}" for word in WORDS])},
            "Name",
            "doc-0",
            "Part of an instance's name. The features of this data set cannot be searched.",
            "names of 30 test instances. Their features are no words",
        ),
        (
            {"feature_names": np.array(["a b", *WORDS[1:]]), "test_names": None},
            "Number or word",
            "board",
            "The number of an instance, from 0 to 29, or words that it contains.",
            "numbers and words of 30 test instances",
        ),
        (
            {"feature_names": None, "test_names": None},
            "Number",
            "29",
            "The number of an instance, from 0 to 29. The features",
            "try a number from 0 to 29, or another filter",
        ),
        ({"X_train": BUILT.X_train.toarray(), "X_test": BUILT.X_test.toarray()}, "Name", "doc-0", "Part", "no words"),
    ],
)
def test_the_search_says_what_can_be_searched(changes, label, example, told, nothing):
    answer = answer_at(SAME)
    answer.model.dataset = replace(BUILT, **changes)
    assert find._searchable(answer)[:2] == (label, example)
    assert told in find._searchable(answer)[2]
    assert find.found(answer, example, "any").size
    assert nothing in find._nothing_found(answer, "zyzzyva", "any")
    assert find._nothing_found(answer, "zyzzyva", "most labels") == find._nothing_found(answer, "zyzzyva", "any")


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
    top = answer.evaluation.ridge.top
    other = predictions_from_ranking("other", top, np.zeros(top.shape), nameless.n_labels)
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
    by = "TF-IDF weight" if kind == "words" and fitted.recipe.tfidf else "weight"
    assert f"Its {kind}, by {by}<" in view._features(answer, subject_of_row(answer, 3))


@pytest.mark.parametrize(
    ("recipe", "effect"), [("tfidf+unit", "without any effect"), ("tfidf+unit+lm", "read by the language model only")]
)
def test_words_outside_the_vocabulary_have_an_effect_only_by_a_language_model(monkeypatch, recipe, effect):
    answer, said = answer_at(SAME), []
    answer.model.fitted = fitted_by(recipe)
    monkeypatch.setattr(view.st, "html", said.append)
    text_with_unknown_words(answer, "chess zyzzyva")
    assert f"Underlined: not in the vocabulary of 10 words, so {effect}: zyzzyva." in said[0]
    text_with_unknown_words(answer, "the chess")
    text_with_unknown_words(answer, "chess Zyzzyva İzmir")
    assert "chess <mark class='unknown'>Zyzzyva</mark> <mark class='unknown'>İzmir</mark><" in said.pop()
    assert f"but for “the”, {effect}." in said[1]
    text_with_unknown_words(answer, " ".join(f"zyzzyva{number}" for number in range(1234)))
    assert "zyzzyva28, zyzzyva29 and 1,204 more." in said[2]


@pytest.mark.parametrize(
    ("words", "text", "told"),
    [
        (["chess", "the"], "the chess", "All of its words are in the vocabulary of 2 words.<"),
        (["chess"], "chess", "All of its words are in the vocabulary of 1 word.<"),
        (["chess", "the"], "of the 42", "are in the vocabulary of 2 words, but for “of” and “42”, without any effect."),
        (["chess"], "chess 1 2 3 4 5 6 7", "but for “1”, “2”, “3”, “4”, “5” and 2 more, without"),
        (["chess"], "the 42", "No word of the vocabulary of 1 word is in it."),
        (["chess"], "?!", "No word of the vocabulary of 1 word is in it."),
    ],
)
def test_of_a_text_without_unknown_words_those_are_named_that_do_not_count(monkeypatch, words, text, told):
    answer, said = answer_at(SAME), []
    answer.model.fitted = replace(FITTED, vocabulary=np.array(words))
    monkeypatch.setattr(view.st, "html", said.append)
    text_with_unknown_words(answer, text)
    assert told in said[0]


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("a" * LONGEST_DOCUMENT, LONGEST_DOCUMENT),
        ("abcdef " * LONGEST_DOCUMENT, LONGEST_DOCUMENT - LONGEST_DOCUMENT % 7),
        ("a" * (LONGEST_DOCUMENT - 2) + " chess", LONGEST_DOCUMENT - 1),
        ("a" * LONGEST_DOCUMENT + " chess", LONGEST_DOCUMENT),
        ("a" * 1_000_000, LONGEST_DOCUMENT),
        ("." * 1_000_000, LONGEST_DOCUMENT),
    ],
)
def test_a_long_text_is_cut_before_the_word_that_goes_on_at_the_limit(text, end):
    assert document_of(text) == text[:end]


def test_words_of_the_vocabulary_are_found_whatever_their_case(monkeypatch):
    answer, said, names = answer_at(SAME), [], np.array([word.title() for word in WORDS])
    answer.model.fitted = replace(FITTED, vocabulary=names)
    answer.model.dataset = replace(BUILT, feature_names=names)
    (having,) = np.nonzero(RAW.X_test.toarray()[:, 0])
    assert find.found(answer, "CHESS", "any").tolist() == having.tolist()
    monkeypatch.setattr(view.st, "html", said.append)
    text_with_unknown_words(answer, "the chess")
    assert "All of its words are in the vocabulary of 10 words" in said[0]


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
                "weighting brought a right label in": bool(true & after - before),
                "weighting dropped a right label": bool(true & before - after),
                "a tail label was missed": bool(rare - before or rare - after),
                "all wrong": bool(true) and not true & (before | after),
            }[which]
            assert (row in rows) == expected, (which, row)
    both = (find.found(answer, "", f"weighting {did}") for did in ("brought a right label in", "dropped a right label"))
    assert np.intersect1d(*both).size
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


def test_names_in_a_hover_are_shown_as_they_are():
    data = tiny()
    names = np.array(['say "hi" & <b>', *(f"text {row}" for row in range(1, data.n_train))])
    shown = view._voter(replace(data, train_names=names), 0)
    # Plotly's HTML has no &quot;, which it would show as such.
    assert shown.startswith('<b>say "hi" &amp; &lt;b&gt;</b>, with the labels')
