"""What the Instances page says of an instance and its lists, against an order of all labels by brute force."""

import re
from dataclasses import replace
from html import escape

import numpy as np
import pytest
from scipy import sparse

from pages.shared import instance_view as view
from pages.shared.answers import Answer
from pages.shared.instance_subject import Listed, subject_of_row
from tests.app.tiny import BUILT, LABELS, OWN, SAME, K, answer_at, exact_scores

WITH_FEATURES = np.flatnonzero(np.diff(BUILT.X_test.indptr)).tolist()


def orders(answer: Answer, row: int) -> list[list[int]]:
    """All labels as XML-ridge ranks them, and as it does with PS."""
    x, settings = BUILT.X_test[[row]].toarray()[0].astype(np.float64), answer.settings
    scores = exact_scores(x, settings.reg_lambda), exact_scores(x, settings.reg_lambda_ps) * answer.theta
    return [np.argsort(-each, kind="stable").tolist() for each in scores]


def bold(label: int) -> str:
    return f"<b><bdi>{escape(LABELS[label])}</bdi></b>"


def test_the_sentence_names_what_came_and_went_and_counts_what_is_right():
    changed = set()
    for settings in (SAME, OWN, replace(SAME, K=4), replace(OWN, K=3), replace(OWN, reg_lambda_ps=1_000.0)):
        answer, k = answer_at(settings), settings.K
        for row in WITH_FEATURES:
            true = BUILT.Y_test[[row]].indices.tolist()
            before, after = (order[:k] for order in orders(answer, row))
            told = view._sentence(answer, subject_of_row(answer, row))
            for labels, others, did in ((after, before, "brought in"), (before, after, "dropped")):
                moved = [f"{bold(label)} ({_said(label in true)})" for label in labels if label not in others]
                assert (f"{did} {view.joined(moved)}" in told) if moved else (f"{did} " not in told)
            if set(before) == set(after):
                same = before == after
                assert ("changed nothing" in told, "changed only the order" in told) == (same, not same)
                changed.add(not same)
            if len(true) > 1:
                hits, hits_ps = (len({*true} & {*labels}) for labels in (before, after))
                is_are = "is" if hits == 1 else "are"
                assert f"Of its {len(true)} labels, {hits} {is_are} among the first {k} of" in told
                assert told.endswith(f"and {hits_ps} with PS.")
    assert changed == {True, False}


def _said(right: bool) -> str:
    return "right" if right else "wrong"


@pytest.mark.parametrize("settings", [SAME, OWN])
def test_true_labels_stand_by_frequency_with_both_ranks_and_those_that_both_miss_are_marked(settings):
    answer, missed = answer_at(settings), 0
    for row in WITH_FEATURES:
        before, after = orders(answer, row)
        true = sorted(BUILT.Y_test[[row]].indices.tolist(), key=lambda label: -BUILT.label_counts[label])
        _, *chips = view._true_labels(answer, subject_of_row(answer, row)).split("<span class='chip")
        for label, chip in zip(true, chips if true else (), strict=True):
            assert bold(label) in chip
            assert (
                f"on {BUILT.label_counts[label]:,} · ● {before.index(label) + 1} · ◆ {after.index(label) + 1}" in chip
            )
            by_both = label not in before[:K] and label not in after[:K]
            assert (chip.startswith(" missed'"), " · missed by both" in chip) == (by_both, by_both)
            missed += by_both
    assert missed


def test_the_labels_to_choose_from_are_those_of_both_lists_and_then_the_other_true_ones():
    answer = answer_at(SAME)
    for row in WITH_FEATURES:
        subject = subject_of_row(answer, row)
        before, after = (order[:K] for order in orders(answer, row))
        true = sorted(BUILT.Y_test[[row]].indices.tolist(), key=lambda label: -BUILT.label_counts[label])
        assert subject.labels == list(dict.fromkeys([*before, *after, *true]))
        assert [entry.label for entry in subject.brought_in] == [each for each in after if each not in before]
        assert [entry.label for entry in subject.dropped] == [each for each in before if each not in after]


@pytest.mark.parametrize(
    ("place", "other", "to", "came"),
    [
        (1, 1, "=", "="),
        (2, 1, "↑ to 1", "↓ from 1"),
        (1, 2, "↓ to 2", "↑ from 2"),
        (2, 1_234, "out, to 1,234", "<b>↑ in</b>, from 1,234"),
    ],
)
def test_arrows_point_to_where_weighting_moves_a_label(place, other, to, came):
    entry = Listed(place, 0, 0.5, True, other)
    assert (view._to(entry, 2), view._from(entry, 2)) == (to, came)


def test_each_list_marks_what_is_right_and_tells_its_own_scores_and_places(monkeypatch):
    answer, said = answer_at(SAME), []
    monkeypatch.setattr(view.st, "html", said.append)
    for row in WITH_FEATURES:
        view.lists(answer, subject_of_row(answer, row))
        assert ">Score</th>" in said[-2]
        assert ">θ · score</th>" in said[-1]
        assert "<th>With PS</th>" in said[-2]
        assert "<th>Moved</th>" in said[-1]
        before, after = orders(answer, row)
        for html, mine, other, word in ((said[-2], before, after, "to"), (said[-1], after, before, "from")):
            signs = re.findall(r"<td class='mark'>(.) <span class='said'>(\w+)<", html)
            right = [BUILT.Y_test[row, label] == 1 for label in mine[:K]]
            assert signs == [("✓", "right") if each else ("✗", "wrong") for each in right]
            assert html.count("<tr class=right>") == sum(right)
            for label, line in zip(mine[:K], html.split("<tr")[2:], strict=True):
                assert view._breakable(LABELS[label]) in line
                assert f"<td class='number'>{BUILT.label_counts[label]:,}</td>" in line
            places = [(at, other.index(label) + 1) for at, label in enumerate(mine[:K], start=1)]
            assert re.findall(rf"{word} (\d+)</td></tr>", html) == [str(there) for at, there in places if there != at]


def test_features_stand_by_size_whatever_their_sign():
    subject = subject_of_row(answer_at(SAME), 3)
    index, values = replace(subject, x=sparse.csr_array([[0.0, -3.0, 1.0, 0.0, 2.0]])).features
    assert (index.tolist(), values.tolist()) == ([1, 4, 2], [-3.0, 2.0, 1.0])
