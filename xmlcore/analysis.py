"""Who gains and who pays: label frequencies, contributions to a metric by frequency, and labels won and lost.

Each hit of label l adds 1/(K n) to P@K, and θ_l / Σ_i best_iK to PSP@K, in the bin of l's training frequency. So the
bars of all bins sum to the metric exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_floats, as_whole
from xmlcore.evaluation import Evaluation, VariantResult
from xmlcore.matrices import as_labels
from xmlcore.metrics import hits, make_ruler
from xmlcore.propensity import as_weights

BIN_KINDS = ("twos", "tens", "shares")
CONTRIBUTION_METRICS = ("precision", "psprecision")


@dataclass(frozen=True, eq=False)
class FrequencyBins:
    """Labels in bins by training frequency.

    Attributes:
        names: what each bin is called, rarest labels first.
        low, high: the training frequencies that a bin takes, both included, shape (bins,), int64.
        of_label: the bin of each label, shape (L,), int64.
        n_labels: how many labels are in each bin, shape (bins,), int64.
    """

    names: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray
    of_label: np.ndarray
    n_labels: np.ndarray


def frequency_bins(label_counts: np.ndarray, kind: str = "twos", n_shares: int = 6) -> FrequencyBins:
    """Bins of the training frequencies N_l, shape (L,); the first is always for labels never seen in training.

    kind: "twos" (1, 2–3, 4–7, …), "tens" (1–9, 10–99, …), or "shares": at most n_shares bins with about equal shares
    of all assignments, labels of equal frequency kept together.

    Raises DataError for another kind, counts that are no whole numbers of at least 0, and n_shares < 1.
    """
    counts = _as_counts(label_counts)
    largest = int(counts.max(initial=0))
    if kind == "shares":
        starts = _share_starts(counts[counts > 0], as_whole(n_shares, "n_shares", at_least=1))
    elif kind in ("twos", "tens"):
        base = 2 if kind == "twos" else 10
        starts = [1]
        while starts[-1] * base <= largest:
            starts.append(starts[-1] * base)
    else:
        raise DataError(f"kind is {kind!r}; expected one of {', '.join(BIN_KINDS)}")
    ends = [start - 1 for start in starts[1:]] + [max(largest, starts[-1])]
    if kind == "tens":
        ends[-1] = starts[-1] * 10 - 1
    elif kind == "twos":
        ends[-1] = starts[-1] * 2 - 1
    names = ["unseen", *(f"{a:,}" if a == b else f"{a:,}–{b:,}" for a, b in zip(starts, ends, strict=True))]
    return _bins(counts, names, [0, *starts], [0, *ends])


def head_torso_tail(label_counts: np.ndarray, tail_below: int, head_from: int) -> FrequencyBins:
    """Three bins by two cuts: tail (N_l < tail_below, also labels never seen), torso, head (N_l ≥ head_from).

    Raises DataError unless both are whole numbers and 1 ≤ tail_below ≤ head_from.
    """
    counts = _as_counts(label_counts)
    tail_below = as_whole(tail_below, "tail_below", at_least=1)
    head_from = as_whole(head_from, "head_from", at_least=tail_below)
    largest = max(int(counts.max(initial=0)), head_from)
    starts, ends = [0, tail_below, head_from], [tail_below - 1, head_from - 1, largest]
    return _bins(counts, ["tail", "torso", "head"], starts, ends)


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each bin's labels add to a metric, for both variants; the sums are the metric.

    Attributes:
        metric: "precision" or "psprecision"; k: its K.
        bins: the bins.
        ridge, ps: contributions, shape (bins,), fractions.
    """

    metric: str
    k: int
    bins: FrequencyBins
    ridge: np.ndarray
    ps: np.ndarray

    @property
    def ridge_shares(self) -> np.ndarray:
        """Each bin's share of XML-ridge's metric, shape (bins,); sums to 1 unless the metric is 0."""
        return _shares(self.ridge)

    @property
    def ps_shares(self) -> np.ndarray:
        """Each bin's share of the weighted variant's metric, shape (bins,); sums to 1 unless the metric is 0."""
        return _shares(self.ps)


def contributions(
    evaluation: Evaluation, k: int, metric: str, metric_inverse_propensity: np.ndarray, bins: FrequencyBins
) -> Contributions:
    """Contribution to P@K ("precision") or PSP@K ("psprecision") by bin, for both variants.

    k: one of evaluation.ks; metric_inverse_propensity: θ (L,) with which the evaluation measured.
    Raises DataError for another metric or K, bins of other labels, and for PSP@K a θ that does not fit.
    """
    ridge, ps = (
        contribution_by_bin(each, evaluation, k, metric, metric_inverse_propensity, bins)
        for each in (evaluation.ridge, evaluation.ps)
    )
    return Contributions(metric, int(k), bins, ridge, ps)


def contribution_by_bin(
    result: VariantResult,
    evaluation: Evaluation,
    k: int,
    metric: str,
    metric_inverse_propensity: np.ndarray,
    bins: FrequencyBins,
) -> np.ndarray:
    """Contribution to P@K or PSP@K by bin, shape (bins,), for any system's result on the rows of the evaluation.

    Arguments, and what is raised, as in `contributions`.
    """
    if metric not in CONTRIBUTION_METRICS:
        raise DataError(f"metric is {metric!r}; expected one of {', '.join(CONTRIBUTION_METRICS)}")
    k, at = _evaluated(k, evaluation)
    label_hits = result.label_hits[at]
    if metric == "precision":
        return _summed(label_hits / (k * evaluation.n_rows), bins)
    best = evaluation.psprecision_best[k]
    theta = as_weights(metric_inverse_propensity, len(label_hits), "metric_inverse_propensity")
    return _summed(label_hits * theta / best if best > 0 else np.zeros(len(label_hits)), bins)


def _summed(values: np.ndarray, bins: FrequencyBins) -> np.ndarray:
    """Values of the labels, shape (L,), added up within each bin."""
    if values.shape != bins.of_label.shape:
        raise DataError(f"bins are of {bins.of_label.size} labels, the evaluation of {values.size}; expected the same")
    return np.bincount(bins.of_label, weights=values, minlength=len(bins.names))


@dataclass(frozen=True, eq=False)
class BinRecall:
    """How many of a bin's test assignments are among the K first.

    Attributes:
        assignments: test assignments of each bin's labels, shape (bins,), int64.
        ridge, ps: hits / assignments, shape (bins,); NaN where a bin has no assignment.
    """

    assignments: np.ndarray
    ridge: np.ndarray
    ps: np.ndarray


def recall_by_bin(evaluation: Evaluation, k: int, Y: sparse.csr_array, bins: FrequencyBins) -> BinRecall:
    """Recall within each bin, over all of its assignments in Y (the evaluated rows).

    Raises DataError for a K that was not evaluated, labels Y of other rows, and bins of other labels.
    """
    total = _summed(_counts(Y, evaluation), bins)
    ridge, ps = (_divided(_summed(label_hits, bins), total) for label_hits in _label_hits(evaluation, k))
    return BinRecall(total.astype(np.int64), ridge, ps)


@dataclass(frozen=True, eq=False)
class LabelTable:
    """One row for each label, columns of shape (L,).

    Attributes:
        train_count, test_count: instances of the label in training and among the evaluated rows, int64.
        inverse_propensity: θ with which the model weights it.
        ridge_hits, ps_hits: rows in which it was rightly among the K first, before and after weighting, int64.
        ridge_recall, ps_recall: hits / test_count, NaN where it does not occur.
        difference: ps_hits − ridge_hits, int64: above 0 for who gains, below for who pays.
    """

    train_count: np.ndarray
    test_count: np.ndarray
    inverse_propensity: np.ndarray
    ridge_hits: np.ndarray
    ps_hits: np.ndarray
    ridge_recall: np.ndarray
    ps_recall: np.ndarray
    difference: np.ndarray


def label_table(
    evaluation: Evaluation, k: int, Y: sparse.csr_array, label_counts: np.ndarray, inverse_propensity: np.ndarray
) -> LabelTable:
    """Hits and recall of every label before and after weighting. Y: the evaluated rows' labels; label_counts: N_l.

    Raises DataError for a K that was not evaluated and shapes that do not fit.
    """
    ridge, ps = _label_hits(evaluation, k)
    test = _counts(Y, evaluation)
    train = _as_counts(label_counts)
    if train.shape != test.shape:
        raise DataError(f"label_counts has {train.size} entries; expected one for each of {test.size} labels")
    theta = as_weights(inverse_propensity, test.size)
    return LabelTable(train, test, theta, ridge, ps, _divided(ridge, test), _divided(ps, test), ps - ridge)


@dataclass(frozen=True, eq=False)
class LabelRows:
    """The evaluated rows that have a label, by which variant ranked it among the K first; arrays of row indices.

    Attributes:
        won: only with weighting. lost: only without. kept: both. missed: neither.
    """

    won: np.ndarray
    lost: np.ndarray
    kept: np.ndarray
    missed: np.ndarray


def rows_of_label(evaluation: Evaluation, k: int, Y: sparse.csr_array, label: int) -> LabelRows:
    """Where weighting won or lost a label.

    Raises DataError for a K that was not evaluated, labels Y of other rows, and an unknown label.
    """
    k, _ = _evaluated(k, evaluation)
    Y = _labels_of(evaluation, Y)
    label = as_whole(label, "label", at_least=0, at_most=Y.shape[1] - 1)
    rows = np.flatnonzero(Y[:, [label]].toarray()[:, 0])
    before = (evaluation.ridge.top[rows, :k] == label).any(axis=1)
    after = (evaluation.ps.top[rows, :k] == label).any(axis=1)
    return LabelRows(rows[after & ~before], rows[before & ~after], rows[before & after], rows[~before & ~after])


@dataclass(frozen=True, eq=False)
class InstanceMarks:
    """What is worth a look in each evaluated row; arrays of shape (rows,).

    Attributes:
        changed: weighting changed which labels are among the K first.
        ridge_hits, ps_hits: relevant labels among the K first, int64.
        ridge_tail_missed, ps_tail_missed: relevant tail labels that are not, int64.
        gained, lost: relevant labels that weighting brought among the K first, and that it dropped from there, int64.
        n_relevant: relevant labels, int64.
    """

    changed: np.ndarray
    ridge_hits: np.ndarray
    ps_hits: np.ndarray
    ridge_tail_missed: np.ndarray
    ps_tail_missed: np.ndarray
    gained: np.ndarray
    lost: np.ndarray
    n_relevant: np.ndarray


def _labels_of(evaluation: Evaluation, Y: object) -> sparse.csr_array:
    labels, expected = as_labels(Y), (evaluation.n_rows, evaluation.ridge.label_hits.shape[1])
    if labels.shape != expected:
        raise DataError(f"Y has shape {labels.shape}; expected {expected}, the rows and labels of the evaluation")
    return labels


def instance_marks(
    evaluation: Evaluation, k: int, Y: sparse.csr_array, label_counts: np.ndarray, tail_below: int
) -> InstanceMarks:
    """Marks by which instances are found. A label is in the tail where N_l < tail_below, also where it is unseen.

    Raises DataError for a K that was not evaluated, tail_below < 1 and shapes that do not fit.
    """
    k, _ = _evaluated(k, evaluation)
    tail = _as_counts(label_counts) < as_whole(tail_below, "tail_below", at_least=1)
    ruler = make_ruler(_labels_of(evaluation, Y), None, k)
    if tail.size != ruler.Y.shape[1]:
        raise DataError(f"label_counts has {tail.size} entries; expected one for each of {ruler.Y.shape[1]} labels")
    in_tail = (ruler.Y @ tail.astype(np.float64)).astype(np.int64)
    tops = [variant.top[:, :k] for variant in (evaluation.ridge, evaluation.ps)]
    found_counts, tail_missed, only_here = [], [], []
    for top, other in (tops, tops[::-1]):
        found = hits(top, ruler)
        found_counts.append(np.count_nonzero(found, axis=1))
        tail_missed.append(in_tail - np.count_nonzero(found & tail[top], axis=1))
        in_other = np.stack([(other == column[:, None]).any(axis=1) for column in top.T], axis=1)
        only_here.append(np.count_nonzero(found & ~in_other, axis=1))
    lost, gained = only_here
    same = np.sort(tops[0], axis=1) == np.sort(tops[1], axis=1)
    return InstanceMarks(~same.all(axis=1), *found_counts, *tail_missed, gained, lost, ruler.n_relevant)


def _as_counts(label_counts: np.ndarray) -> np.ndarray:
    counts = as_floats(label_counts, "label_counts")
    if counts.ndim != 1 or not counts.size:
        raise DataError(f"label_counts has shape {counts.shape}; expected one count for each label")
    with np.errstate(invalid="ignore"):  # what int64 cannot hold becomes another number
        whole = counts.astype(np.int64)
    wrong = (whole != counts) | (whole < 0)
    if wrong.any():
        raise DataError(f"label_counts holds {counts[wrong][0]:g}; expected whole numbers of at least 0")
    return whole


def _share_starts(counts: np.ndarray, n_shares: int) -> list[int]:
    """The lowest frequency of each bin, where bins are cut at equal shares of the assignments."""
    values, labels = np.unique(counts, return_counts=True)
    mass = values * labels
    # A frequency goes where the middle of its assignments falls.
    share = ((np.cumsum(mass) - mass / 2) * n_shares / mass.sum()).astype(int)
    starts = values[np.flatnonzero(np.diff(share, prepend=-1))]
    return [1, *starts[1:].tolist()]


def _bins(counts: np.ndarray, names: list[str], starts: list[int], ends: list[int]) -> FrequencyBins:
    low = np.array(starts, dtype=np.int64)
    of_label = np.searchsorted(low, counts, side="right") - 1
    return FrequencyBins(
        tuple(names), low, np.array(ends, dtype=np.int64), of_label, np.bincount(of_label, minlength=len(names))
    )


def _evaluated(k: int, evaluation: Evaluation) -> tuple[int, int]:
    """K, and its place among those that were evaluated. Raises DataError where it is none of them."""
    k = as_whole(k, "k")
    if k not in evaluation.ks:
        raise DataError(f"k is {k}; the evaluation has {', '.join(map(str, evaluation.ks))}")
    return k, evaluation.ks.index(k)


def _label_hits(evaluation: Evaluation, k: int) -> tuple[np.ndarray, np.ndarray]:
    _, at = _evaluated(k, evaluation)
    return evaluation.ridge.label_hits[at], evaluation.ps.label_hits[at]


def _counts(Y: sparse.csr_array, evaluation: Evaluation) -> np.ndarray:
    Y = _labels_of(evaluation, Y)
    return np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64)


def _divided(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


def _shares(values: np.ndarray) -> np.ndarray:
    total = values.sum()
    return values / total if total > 0 else np.zeros_like(values)
