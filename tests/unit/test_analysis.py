import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xmlcore.analysis import (
    BIN_KINDS,
    CONTRIBUTION_METRICS,
    contribution_by_bin,
    contributions,
    frequency_bins,
    head_torso_tail,
    instance_marks,
    label_table,
    recall_by_bin,
    rows_of_label,
)
from xmlcore.checks import DataError
from xmlcore.evaluation import evaluate_ranking, evaluate_scores
from xmlcore.metrics import make_ruler
from xmlcore.propensity import inverse_propensity

counts_lists = st.lists(st.integers(0, 3000), min_size=1, max_size=60)


def case(seed, rows=50, labels=20):
    """An evaluation in which some labels are unseen in training and some rows have no label."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 40, labels) * rng.integers(0, 40, labels) * rng.integers(0, 2, labels)
    Y = sparse.csr_array((rng.random((rows, labels)) < 0.2) & (rng.random((rows, 1)) < 0.8), dtype=np.float32)
    scores = rng.standard_normal((rows, labels)) + Y.toarray()
    theta, theta0 = (inverse_propensity(counts, A, 1.5, n_train=2000) for A in (1.0, 0.55))
    return evaluate_scores(scores, Y, theta, theta0), Y, counts, theta, theta0


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(BIN_KINDS), k=st.sampled_from([1, 3, 5]))
@settings(max_examples=40, deadline=None)
def test_the_bars_sum_to_the_metric_and_the_shares_to_one(seed, kind, k):
    evaluation, _, counts, _, theta0 = case(seed)
    for metric in CONTRIBUTION_METRICS:
        for bins in (frequency_bins(counts, kind), head_torso_tail(counts, 10, 100)):
            bars = contributions(evaluation, k, metric, theta0, bins)
            assert abs(bars.ridge.sum() - evaluation.ridge.metrics[metric][k]) < 1e-9
            assert abs(bars.ps.sum() - evaluation.ps.metrics[metric][k]) < 1e-9
            assert bars.ridge_shares.sum() == pytest.approx(1)
            assert bars.ps_shares.sum() == pytest.approx(1)


def test_each_bar_is_the_sum_over_its_hits_one_by_one():
    evaluation, Y, counts, _, theta0 = case(1)
    bins = frequency_bins(counts, "tens")
    dense, expected = Y.toarray(), np.zeros((2, len(bins.names)))
    for i, row in enumerate(evaluation.ps.top[:, :3]):
        for label in row[dense[i, row] > 0]:
            expected[0, bins.of_label[label]] += 1 / (3 * 50)
            expected[1, bins.of_label[label]] += theta0[label] / evaluation.psprecision_best[3]
    for metric, bars in zip(CONTRIBUTION_METRICS, expected, strict=True):
        np.testing.assert_allclose(contributions(evaluation, 3, metric, theta0, bins).ps, bars, atol=1e-12)


@given(counts=counts_lists, kind=st.sampled_from(BIN_KINDS), n_shares=st.integers(1, 9))
@settings(max_examples=80, deadline=None)
def test_every_label_is_in_the_one_bin_that_takes_its_frequency(counts, kind, n_shares):
    bins = frequency_bins(np.array(counts), kind, n_shares)
    assert bins.names[0] == "unseen"
    assert (bins.low[0], bins.high[0]) == (0, 0)
    np.testing.assert_array_equal(bins.low[1:], bins.high[:-1] + 1)
    for count, of in zip(counts, bins.of_label, strict=True):
        assert bins.low[of] <= count <= bins.high[of]
    assert bins.n_labels.sum() == len(counts)
    assert len(set(bins.names)) == len(bins.names) == len(bins.low)


def test_bins_are_called_as_people_write_them():
    assert frequency_bins(np.array([0, 1, 5, 9])).names == ("unseen", "1", "2–3", "4–7", "8–15")
    assert frequency_bins(np.array([5, 1000]), "tens").names == ("unseen", "1–9", "10–99", "100–999", "1,000–9,999")
    assert frequency_bins(np.array([0, 0])).names == ("unseen", "1")


def test_bins_by_share_hold_about_equal_parts_of_the_assignments():
    counts = np.arange(1, 2001)
    bins = frequency_bins(counts, "shares", 5)
    share = np.bincount(bins.of_label, weights=counts) / counts.sum()
    assert share[0] == 0
    np.testing.assert_allclose(share[1:], 0.2, atol=1e-3)


def test_two_cuts_make_tail_torso_and_head():
    bins = head_torso_tail(np.array([0, 9, 10, 99, 100]), 10, 100)
    assert [bins.names[of] for of in bins.of_label] == ["tail", "tail", "torso", "torso", "head"]
    assert bins.n_labels.tolist() == [2, 2, 1]


def test_recall_by_bin_is_hits_over_assignments_and_unknown_without_any():
    evaluation, Y, counts, _, _ = case(2)
    bins = frequency_bins(np.where(counts > 0, 3, 0))
    recall = recall_by_bin(evaluation, 5, Y, bins)
    assert recall.assignments.sum() == Y.nnz
    assert bins.names == ("unseen", "1", "2–3")
    assert np.isnan(recall.ridge[1])
    seen = counts > 0
    expected = evaluation.ps.label_hits[2][seen].sum() / Y[:, np.flatnonzero(seen)].nnz
    assert recall.ps[2] == pytest.approx(expected)


def test_the_label_table_and_the_rows_of_a_label_tell_the_same_story():
    evaluation, Y, counts, theta, _ = case(3)
    table = label_table(evaluation, 3, Y, counts, theta)
    for label in range(20):
        rows = rows_of_label(evaluation, 3, Y, label)
        assert table.difference[label] == len(rows.won) - len(rows.lost)
        assert table.ridge_hits[label] == len(rows.kept) + len(rows.lost)
        assert table.ps_hits[label] == len(rows.kept) + len(rows.won)
        every = np.concatenate([rows.won, rows.lost, rows.kept, rows.missed])
        np.testing.assert_array_equal(np.sort(every), np.flatnonzero(Y.toarray()[:, label]))
        assert table.test_count[label] == len(every)
        assert table.ps_recall[label] == pytest.approx(table.ps_hits[label] / len(every))
    np.testing.assert_array_equal(table.inverse_propensity, theta)
    np.testing.assert_array_equal(table.train_count, counts)


def test_instances_are_marked_as_a_loop_over_them_finds():
    evaluation, Y, counts, _, _ = case(4)
    marks = instance_marks(evaluation, 3, Y, counts, tail_below=100)
    for i, relevant in enumerate(set(np.flatnonzero(row)) for row in Y.toarray()):
        ridge, ps = (set(variant.top[i, :3]) for variant in (evaluation.ridge, evaluation.ps))
        tail = {label for label in relevant if counts[label] < 100}
        assert marks.changed[i] == (ridge != ps)
        assert (marks.ridge_hits[i], marks.ps_hits[i]) == (len(relevant & ridge), len(relevant & ps))
        assert (marks.ridge_tail_missed[i], marks.ps_tail_missed[i]) == (len(tail - ridge), len(tail - ps))
        assert (marks.gained[i], marks.lost[i]) == (len(relevant & ps - ridge), len(relevant & ridge - ps))
        assert marks.n_relevant[i] == len(relevant)
    assert (marks.gained.astype(bool) & marks.lost.astype(bool)).any()


def test_a_bin_without_labels_has_a_bar_of_zero_and_no_recall():
    evaluation, Y, counts, _, theta0 = case(6)
    bins = head_torso_tail(counts, 10, 10**6)
    assert bins.n_labels[2] == 0
    bars = contributions(evaluation, 3, "psprecision", theta0, bins)
    assert (len(bars.ridge), len(bars.ps), bars.ridge[2], bars.ps[2]) == (3, 3, 0, 0)
    recall = recall_by_bin(evaluation, 3, Y, bins)
    assert recall.assignments[2] == 0
    assert np.isnan([recall.ridge[2], recall.ps[2]]).all()


def test_a_metric_without_any_possible_hit_has_bars_of_zero():
    evaluation = evaluate_scores(np.eye(3), sparse.csr_array((3, 3)), np.ones(3), np.ones(3), (1,))
    bars = contributions(evaluation, 1, "psprecision", np.ones(3), frequency_bins(np.array([0, 1, 2])))
    assert bars.ridge.tolist() == [0, 0, 0]
    assert bars.ridge_shares.tolist() == [0, 0, 0]


def test_other_systems_hits_contribute_by_the_same_rule_and_sum_to_their_metric():
    evaluation, Y, counts, _, theta0 = case(5)
    top = np.tile(np.array([7, 3, 11, -1, -1]), (50, 1))
    other = evaluate_ranking(top, make_ruler(Y, theta0, 5))
    bins = frequency_bins(counts, "tens")
    right = Y.toarray().sum(axis=0)
    for metric, each in (
        ("precision", right / (3 * 50)),
        ("psprecision", right * theta0 / evaluation.psprecision_best[3]),
    ):
        expected = np.zeros(len(bins.names))
        for label in (7, 3, 11):
            expected[bins.of_label[label]] += each[label]
        found = contribution_by_bin(other, evaluation, 3, metric, theta0, bins)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert found.sum() == pytest.approx(other.metrics[metric][3])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e, Y: frequency_bins(np.array([1]), "threes"), "kind is 'threes'"),
        (lambda e, Y: frequency_bins(np.array([2, -1])), "label_counts holds -1; expected whole numbers"),
        (lambda e, Y: frequency_bins(np.array([0.5])), "label_counts holds 0.5; expected whole numbers"),
        (lambda e, Y: frequency_bins(np.array([2.0**64])), "label_counts holds 1.84467e\\+19; expected whole"),
        (lambda e, Y: frequency_bins(np.array([])), r"label_counts has shape \(0,\)"),
        (lambda e, Y: head_torso_tail(np.ones((2, 2)), 1, 2), r"label_counts has shape \(2, 2\)"),
        (lambda e, Y: frequency_bins(np.array([1]), "shares", 0), "n_shares is 0"),
        (lambda e, Y: head_torso_tail(np.array([1]), 0, 4), "tail_below is 0; expected a whole number of at least 1"),
        (lambda e, Y: head_torso_tail(np.array([1]), 5, 4), "head_from is 4; expected a whole number of at least 5"),
        (lambda e, Y: contributions(e, 2, "precision", np.ones(20), frequency_bins(np.ones(20))), "k is 2"),
        (lambda e, Y: contributions(e, 1, "recall", np.ones(20), frequency_bins(np.ones(20))), "metric is 'recall'"),
        (lambda e, Y: rows_of_label(e, 1, Y, 20), "label is 20"),
        (lambda e, Y: rows_of_label(e, 1, Y, 1.5), r"label is 1\.5"),
        (lambda e, Y: rows_of_label(e, 1, Y[:5], 1), r"Y has shape \(5, "),
        (lambda e, Y: instance_marks(e, 1, sparse.hstack([Y, Y], format="csr"), np.ones(40), 5), "Y has shape"),
        (lambda e, Y: label_table(e, 1, Y[:5], np.ones(20), np.ones(20)), "Y has shape"),
        (lambda e, Y: label_table(e, 1, Y, np.ones(3), np.ones(20)), "label_counts has 3"),
        (lambda e, Y: instance_marks(e, 1, Y, np.ones(3), 5), "label_counts has 3"),
        (lambda e, Y: instance_marks(e, 1, Y, np.ones(20), "5"), "tail_below is '5'; expected a whole number"),
    ],
)
def test_bad_arguments_are_named_with_their_value(call, message):
    evaluation, Y, *_ = case(0)
    with pytest.raises(DataError, match=message):
        call(evaluation, Y)


def test_bins_of_other_labels_are_refused():
    evaluation, Y, counts, _, ruler = case(3)
    bins = frequency_bins(counts[:-1])
    with pytest.raises(DataError, match="bins are of 19 labels, the evaluation of 20"):
        contributions(evaluation, 3, "precision", ruler, bins)
    with pytest.raises(DataError, match="bins are of 19 labels"):
        recall_by_bin(evaluation, 3, Y, bins)


def test_a_bin_that_no_label_falls_in_has_a_name_that_can_be():
    assert frequency_bins(np.zeros(3, dtype=int), "shares").names == ("unseen", "1")
