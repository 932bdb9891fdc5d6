"""What the Instances page shows: one test instance, or a document that the visitor typed, with both of its lists."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache, cached

from pages.shared.answers import Answer, scores_on_test
from pages.shared.model import Model
from pages.shared.sizes import held_bytes
from xmlcore import (
    Explanation,
    explain_by_feature,
    explain_by_instance,
    top_k,
)
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.matrices import Features, as_blocks, take_rows
from xmlcore.ranking import label_ranks

KEPT_BYTES = 16 << 20  # of typed documents' scores, and as much of votes


@dataclass(frozen=True, eq=False)
class Listed:
    """One label in a list.

    Attributes:
        place: from 1. label: its index. score: as this variant ranks it, with θ in the weighted list.
        right: whether the instance has it; None where nobody knows.
        other_place: its place in the other variant's ranking of all labels.
    """

    place: int
    label: int
    score: float
    right: bool | None
    other_place: int


@dataclass(frozen=True, eq=False)
class Subject:
    """An instance with what both variants say of it.

    Attributes:
        key: tells it from other subjects of the data set. name: as shown.
        x: its features, 1×N in the blocks of the data set.
        relevant: its labels, most frequent first; None where nobody knows them.
        scores, scores_ps: of all labels, shape (L,); θ is not in scores_ps yet, which are at λ of PS.
        lists: variant → its K first labels.
        places: variant → label → its place, for all labels of lists and relevant but those masked before ranking.
    """

    key: tuple
    name: str
    x: Features
    relevant: np.ndarray | None
    scores: np.ndarray
    scores_ps: np.ndarray
    lists: dict[str, list[Listed]]
    places: dict[str, dict[int, int]]

    @property
    def features(self) -> tuple[np.ndarray, np.ndarray]:
        """The features that are not zero, over all blocks, and their values; largest first."""
        row = np.concatenate([np.asarray(b.toarray() if hasattr(b, "toarray") else b)[0] for b in as_blocks(self.x)])
        index = np.flatnonzero(row)
        order = np.argsort(-np.abs(row[index]), kind="stable")
        return index[order], row[index][order]

    @property
    def labels(self) -> list[int]:
        """The labels worth an explanation: both lists, then the instance's other labels."""
        listed = [entry.label for variant in (RIDGE, RIDGE_PS) for entry in self.lists[variant]]
        return list(dict.fromkeys([*listed, *([] if self.relevant is None else self.relevant.tolist())]))

    @property
    def brought_in(self) -> list[Listed]:
        """What weighting brought among the K first."""
        return _only_in(self.lists[RIDGE_PS], self.lists[RIDGE])

    @property
    def dropped(self) -> list[Listed]:
        """What weighting dropped from among the K first."""
        return _only_in(self.lists[RIDGE], self.lists[RIDGE_PS])


def _only_in(these: list[Listed], those: list[Listed]) -> list[Listed]:
    known = {entry.label for entry in those}
    return [entry for entry in these if entry.label not in known]


def subject_of_row(answer: Answer, row: int) -> Subject:
    """A test instance at the answer's settings."""
    data, settings = answer.dataset, answer.settings
    relevant = data.Y_test[[row]].indices
    scores, scores_ps = (_test_row(answer.model, row, at) for at in (settings.reg_lambda, settings.reg_lambda_ps))
    masked = None if data.test_filter is None else data.test_filter[[row]].indices
    evaluation = answer.evaluation
    top, top_ps = evaluation.ridge.top[row, : answer.K], evaluation.ps.top[row, : answer.K]
    key, x = ("test", row), take_rows(data.X_test, slice(row, row + 1))
    return _subject(answer, key, data.test_name(row), x, relevant, scores, scores_ps, top, top_ps, masked)


def subject_of_text(answer: Answer, text: str) -> Subject:
    """A typed document at the answer's settings: exact, by the factorisation or, before it is there, by Cholesky.

    Raises DataError where the data set's features are no words.
    """
    x = answer.model.fitted.from_texts([text])
    settings = answer.settings
    scores, scores_ps = (
        _typed_scores(answer.model, text, x, at) for at in (settings.reg_lambda, settings.reg_lambda_ps)
    )
    top, top_ps = top_k(scores[None], answer.K)[0], top_k(scores_ps[None] * answer.theta, answer.K)[0]
    return _subject(answer, ("typed", text), "Your document", x, None, scores, scores_ps, top, top_ps, None)


def _subject(
    answer: Answer,
    key: tuple,
    name: str,
    x: Features,
    relevant: np.ndarray | None,
    scores: np.ndarray,
    scores_ps: np.ndarray,
    top: np.ndarray,
    top_ps: np.ndarray,
    masked: np.ndarray | None,
) -> Subject:
    if relevant is not None:
        relevant = relevant[np.argsort(-answer.dataset.label_counts[relevant], kind="stable")]
    tops = {RIDGE: top[top >= 0], RIDGE_PS: top_ps[top_ps >= 0]}
    ranked = {RIDGE: scores, RIDGE_PS: scores_ps * answer.theta}
    labels = np.unique(np.concatenate([*tops.values(), [] if relevant is None else relevant]).astype(np.int64))
    labels = labels if masked is None else np.setdiff1d(labels, masked)
    places = {variant: _places(ranked[variant], tops[variant], labels, masked) for variant in ranked}
    known = None if relevant is None else set(relevant.tolist())
    lists = {
        variant: [
            Listed(
                place,
                label,
                float(ranked[variant][label]),
                None if known is None else label in known,
                places[other][label],
            )
            for place, label in enumerate(tops[variant].tolist(), start=1)
        ]
        for variant, other in ((RIDGE, RIDGE_PS), (RIDGE_PS, RIDGE))
    }
    return Subject(key, name, x, relevant, scores, scores_ps, lists, places)


def _places(scores: np.ndarray, top: np.ndarray, labels: np.ndarray, masked: np.ndarray | None) -> dict[int, int]:
    # The list comes from a block of rows, these scores from one row: a last digit may differ, and the list decides.
    listed = {label: place for place, label in enumerate(top.tolist(), start=1)}
    ranks = label_ranks(scores, labels, masked).tolist()
    return {
        label: listed.get(label, max(rank, len(listed) + 1)) for label, rank in zip(labels.tolist(), ranks, strict=True)
    }


def _test_row(model: Model, row: int, reg_lambda: float) -> np.ndarray:
    if model.ready:
        return model.factorization.scores(model.projection, reg_lambda, rows=slice(row, row + 1))[0]
    return scores_on_test(model, reg_lambda)[row]


@cached(
    LRUCache(KEPT_BYTES, getsizeof=held_bytes),
    key=lambda model, text, x, reg_lambda: (model.full.fingerprint, text, reg_lambda),
    condition=threading.Condition(),
)
def _typed_scores(model: Model, text: str, x: Features, reg_lambda: float) -> np.ndarray:
    direct = model.direct  # looked at first: it goes when the factorisation is there
    if model.ready:
        return model.factorization.scores(model.factorization.project(x), reg_lambda)[0]
    return direct.scores(x, reg_lambda)[0]


def kind_of_features(answer: Answer) -> str:
    """What the features are called: words where each is one, not a mixture of them or a language model's."""
    fitted = answer.model.fitted
    each_is_one = fitted.vocabulary is not None and fitted.reducer is None and fitted.recipe.lm is None
    return "words" if each_is_one else "features"


def weights_are_tfidf(answer: Answer) -> bool:
    """Whether the values of the features are TF-IDF weights of words."""
    return kind_of_features(answer) == "words" and answer.model.fitted.recipe.tfidf


def explain(answer: Answer, subject: Subject, label: int, variant: str) -> tuple[Explanation, Explanation]:
    """One score of the subject by feature and by training instance; the factorisation must be there."""
    settings, fac = answer.settings, answer.model.factorization
    weighted = variant == RIDGE_PS
    reg_lambda = settings.reg_lambda_ps if weighted else settings.reg_lambda
    weight = float(answer.theta[label]) if weighted else 1.0
    votes = _votes(answer.model, subject, reg_lambda)
    return (
        explain_by_feature(fac, subject.x, label, reg_lambda, weight=weight),
        explain_by_instance(votes, fac.Y_train, label, weight=weight),
    )


@cached(
    LRUCache(KEPT_BYTES, getsizeof=held_bytes),
    key=lambda model, subject, reg_lambda: (model.full.fingerprint, subject.key, reg_lambda),
    condition=threading.Condition(),
)
def _votes(model: Model, subject: Subject, reg_lambda: float) -> np.ndarray:
    fac = model.factorization
    P = model.projection[subject.key[1]] if subject.key[0] == "test" else fac.project(subject.x)[0]
    return fac.votes(P, reg_lambda)
