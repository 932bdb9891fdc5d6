"""A document that is typed on the Instances page, on a data set small enough to check by brute force."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from pages.shared import instance_find as find
from pages.shared import instance_view as view
from pages.shared.instance_subject import explain, subject_of_row, subject_of_text
from pages.shared.instance_text import LONGEST_DOCUMENT, document_of, text_with_unknown_words, why_no_text
from tests.app.tiny import BUILT, FITTED, OWN, RAW, SAME, WORDS, K, answer_at, exact_scores
from xmlcore import DirectSolver, FeatureRecipe
from xmlcore.figures import RIDGE, RIDGE_PS


def test_why_no_text_can_be_explained_is_told_in_words():
    answer = answer_at(SAME)
    assert why_no_text(answer) is None
    answer.model.fitted = replace(FITTED, vocabulary=None)
    assert "the features of tiny, which are not plain counts of known words" in why_no_text(answer)
    assert "It can be on Debtags and Debian-depends, and on data of your own" in why_no_text(answer)
    answer.model.fitted = replace(FITTED, vocabulary=np.array(["chess", "Chess"]))
    assert "feature 0 is 'chess' and feature 1 'Chess'" in why_no_text(answer)


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


@pytest.mark.parametrize("variant", [RIDGE, RIDGE_PS])
def test_the_bars_of_a_typed_document_add_up_to_its_score(variant):
    answer = answer_at(OWN)
    subject = subject_of_text(answer, "chess engine, chess board; with a server")
    for entry in subject.lists[variant]:
        for part in explain(answer, subject, entry.label, variant):
            assert part.contribution.sum() + part.others == pytest.approx(part.score, abs=1e-12)
            assert part.score == pytest.approx(entry.score, abs=1e-5)


def test_the_same_text_typed_for_other_data_has_their_scores():
    text, answer = "a library for chess", answer_at(SAME, ready=False)
    subject_of_text(answer, text)
    turned = replace(BUILT, Y_train=BUILT.Y_train[:, ::-1])
    answer.model.dataset = answer.model.full = turned
    answer.model.direct = DirectSolver(turned.X_train, turned.Y_train)
    x = FITTED.from_texts([text]).toarray()[0].astype(np.float64)
    assert subject_of_text(answer, text).scores == pytest.approx(exact_scores(x, 0.5)[::-1], abs=1e-5)


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
        ("a chess" + "." * 1_000_000, LONGEST_DOCUMENT),
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
