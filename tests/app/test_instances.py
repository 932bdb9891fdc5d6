"""What the Instances page finds and lists, on a data set small enough to check by brute force."""

from dataclasses import fields, replace
from html import escape
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
from pages.shared import instance_why as why
from pages.shared.frame import plain_markdown
from pages.shared.instance_subject import _places, _typed_scores, _votes, subject_of_row
from tests.app.tiny import BUILT, OWN, RAW, SAME, WORDS, K, answer_at, exact_scores, tiny
from xmlcore.analysis import instance_marks
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.predictions import Predictions
from xmlcore.profile import random_instances


def test_an_instance_without_a_name_is_called_the_same_everywhere_and_found_by_that():
    answer = answer_at(SAME)
    nameless = replace(BUILT, test_names=None, train_names=None)
    answer = replace(answer, model=SimpleNamespace(**{**vars(answer.model), "dataset": nameless}))
    assert subject_of_row(answer, 5).name == "test instance 5"
    top = answer.evaluation.ridge.top
    other = Predictions("other", top, np.zeros(top.shape), nameless.n_labels)
    table = comparison.side_by_side(other, answer, np.ones(30), np.array([5]))
    assert table["instance"].tolist() == ["test instance 5"]
    for text in ("5", "instance 5", "Test instance 5"):
        assert find.found(answer, text, "any").tolist() == [5]
    assert find.found(answer, "9" * 5000, "any").size == 0
    assert {each.name for each in random_instances(nameless, 90)} == {f"training instance {i}" for i in range(90)}


def test_a_label_that_is_masked_before_ranking_has_no_rank_and_is_not_missed():
    answer = answer_at(SAME)
    row = int(np.flatnonzero(BUILT.Y_test.sum(axis=1) > 1)[0])
    relevant, K_first = BUILT.Y_test[[row]].indices, answer.evaluation.ridge.top[row, :K]
    masked = int(np.intersect1d(relevant, K_first)[0])  # ranked among the first, were it not masked
    mask = sparse.csr_array(([1.0], ([row], [masked])), shape=BUILT.Y_test.shape)
    answer = replace(
        answer, model=SimpleNamespace(**{**vars(answer.model), "dataset": replace(BUILT, test_filter=mask)})
    )
    for ranked in (answer.evaluation.ridge, answer.evaluation.ps):
        ranked.top[row, ranked.top[row] == masked] = -1
    subject = subject_of_row(answer, row)
    assert all(masked not in places for places in subject.places.values())
    chips = view._true_labels(answer, subject).split("<span class='chip")
    of_masked = [chip for chip in chips if "masked, not ranked" in chip]
    assert len(of_masked) == 1
    assert escape(BUILT.label_name(masked)) in of_masked[0]
    assert "missed" not in of_masked[0]
    assert all("●" in chip for chip in chips[2:] if chip not in of_masked)


def test_small_weights_of_features_keep_their_digits_and_ordinary_ones_have_two():
    answer, subject = answer_at(SAME), subject_of_row(answer_at(SAME), 3)
    assert all(
        len(text.split(".")[1].split("<")[0]) == 2 for text in view._features(answer, subject).split("<small>")[1:]
    )
    shown = view._features(answer, replace(subject, x=subject.x * 1e-4))
    for value in subject.features[1] * 1e-4:
        assert f"{value:.2e}".replace("-", "−") in shown


def test_an_only_label_is_told_as_one():
    answer = answer_at(SAME)
    for row in np.flatnonzero(BUILT.Y_test.sum(axis=1) == 1):
        subject = subject_of_row(answer, int(row))
        hits = [any(entry.right for entry in subject.lists[variant]) for variant in (RIDGE, RIDGE_PS)]
        one, weighted = ("is" if hit else "is not" for hit in hits)
        told = f"Its only label {one} among the first {K} of {RIDGE}, and {weighted} with PS."
        assert view._sentence(answer, subject).endswith(told) or not subject.features[0].size


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


def test_what_is_worth_a_look_is_kept_for_each_setting_and_each_bound_of_the_tail():
    for answer in (answer_at(SAME), answer_at(OWN), answer_at(replace(SAME, A=2.0))):
        for tail in (find.TAIL_BELOW, 1, 1_000):
            kept = find.marks_of(answer, tail)
            marks = instance_marks(answer.evaluation, K, BUILT.Y_test, BUILT.label_counts, tail)
            for field in fields(marks):
                np.testing.assert_array_equal(getattr(kept, field.name), getattr(marks, field.name))


def test_the_arrows_go_one_step_and_end_at_both_ends_and_from_outside_to_the_first():
    rows = np.array([3, 5, 9])
    neighbours = [find._neighbours(rows, at) for at in (0, 1, 2, None)]
    assert neighbours == [(None, 5), (3, 9), (5, None), (None, 3)]
    assert find._neighbours(rows[:0], None) == (None, None)


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
    assert not set(plain_markdown(name)) - set(name) - {"\\", "\u2060"}


def test_names_in_a_hover_are_shown_as_they_are():
    data = tiny()
    names = np.array(['say "hi" & <b>', *(f"text {row}" for row in range(1, data.n_train))])
    shown = why._voter(replace(data, train_names=names), 0)
    # Plotly's HTML has no &quot;, which it would show as such.
    assert shown.startswith('<b>say "hi" &amp; &lt;b&gt;</b>, with the labels')


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


def test_what_was_not_found_is_told_in_a_whole_sentence():
    answer = answer_at(SAME)
    assert find._nothing_found(answer, "", "all wrong") == "There is none where all is wrong, of 30 test instances."
    assert "of those test instances where all is wrong. A word" in find._nothing_found(answer, "zyzzyva", "all wrong")
    assert "where a tail label was missed, of" in find._nothing_found(answer, "", "a tail label was missed")


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


def test_marks_are_of_one_setting_one_data_set_and_the_tail_that_head_and_tail_is_set_to(monkeypatch):
    answer, other = answer_at(SAME), answer_at(SAME)
    other.model.full = replace(BUILT, Y_train=BUILT.Y_train[::-1])
    marks = find.marks_of(answer, 30)
    assert find.marks_of(answer_at(SAME), 30) is marks
    for of, tail in ((answer, 31), (answer_at(OWN), 30), (other, 30)):
        assert find.marks_of(of, tail) is not marks
    for state, tail in (({find.CUTS: (7, 300)}, 7), ({}, find.TAIL_BELOW)):
        monkeypatch.setattr(find.st, "session_state", state)
        assert find.tail_below() == tail


def test_the_instance_of_that_very_name_comes_before_those_of_which_it_is_a_part():
    answer = answer_at(SAME)
    answer.model.dataset = replace(BUILT, test_names=np.array([*(f"doc-{row}" for row in range(29)), "doc"]))
    assert find.found(answer, "doc", "any").tolist() == [29, *range(29)]


@pytest.mark.parametrize(
    ("at", "before", "after"),
    [(0, None, 7), (1, 4, 9), (2, 7, None), (None, None, 4)],
    ids=["first", "", "last", "out"],
)
def test_the_arrows_lead_to_the_neighbours_among_what_was_found(at, before, after):
    assert find._neighbours(np.array([4, 7, 9]), at) == (before, after)


def test_an_example_to_search_for_is_a_feature_of_a_sparse_block():
    names = np.array(["alpha", "beta", "gamma", *(f"w{n}" for n in range(9))])
    X = (np.ones((30, 2), np.float32), BUILT.X_test)
    assert find._example_word(SimpleNamespace(X_test=X, feature_names=names)) == "gamma"


def test_the_list_decides_on_places_and_what_is_masked_has_none():
    labels = np.array([0, 1, 2])
    assert _places(np.array([0.9, 0.8, 0.1]), np.array([1, 0]), labels, None) == {1: 1, 0: 2, 2: 3}
    assert _places(np.array([0.5, 0.9, 0.7]), np.array([0, 1]), labels, None) == {0: 1, 1: 2, 2: 3}
    assert _places(np.array([5.0, 4.0, 3.0, 2.0]), np.array([0]), np.array([2, 3]), np.array([1])) == {2: 2, 3: 3}


def test_before_the_factorisation_each_instance_has_its_own_scores_too():
    answer = answer_at(OWN, ready=False)
    for row in (0, 7, 16):
        subject, x = subject_of_row(answer, row), BUILT.X_test[[row]].toarray()[0].astype(np.float64)
        np.testing.assert_allclose(subject.scores, exact_scores(x, OWN.reg_lambda), atol=2e-5)
        np.testing.assert_allclose(subject.scores_ps, exact_scores(x, OWN.reg_lambda_ps), atol=2e-5)


def test_scores_and_votes_that_are_kept_are_of_one_data_set_one_text_and_one_lambda():
    of, other = answer_at(SAME).model, answer_at(SAME).model
    other.full = replace(BUILT, Y_train=BUILT.Y_train[::-1])
    x, subjects = BUILT.X_test[[3]], [subject_of_row(answer_at(SAME), row) for row in (3, 7)]
    assert len({id(_typed_scores(*each)) for each in ((of, "a", x, 0.5), (of, "b", x, 0.5), (of, "a", x, 0.7))}) == 3
    assert _typed_scores(other, "a", x, 0.5) is not _typed_scores(of, "a", x, 0.5) is _typed_scores(of, "a", x, 0.5)
    assert len({id(_votes(of, *each)) for each in ((subjects[0], 0.5), (subjects[1], 0.5), (subjects[0], 0.7))}) == 3
    assert _votes(other, subjects[0], 0.5) is not _votes(of, subjects[0], 0.5) is _votes(of, subjects[0], 0.5)
