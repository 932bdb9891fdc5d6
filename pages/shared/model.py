"""Cached calls into xmlcore: a data set made ready once for all visitors, and answers for the current settings.

One `Model` serves every session of the server. It answers from the first second, by a Cholesky solve for the λ that
is asked for, while the factorisation that makes every λ cheap is made in a thread of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import streamlit as st
from cachetools import LRUCache, cached

from pages.shared.settings import Settings, held
from xmlcore import (
    Dataset,
    Evaluation,
    RidgeFactorization,
    catalog_entries,
    evaluate_scores,
    inverse_propensity,
    lambda_range,
    load_dataset,
    solve_direct,
)
from xmlcore.dataset import as_blocks

CARD_KS = (1, 3, 5)
MODEL_BYTES, SCORE_BYTES, ANSWER_BYTES = 1 << 30, 200 << 20, 100 << 20
STATUS_SECONDS = 2.0
LAST_SECONDS = "_seconds_of_last_answer"


@dataclass
class Progress:
    """How far a piece of work is; written by the thread that does it, read by every page."""

    stage: str = "waiting"
    fraction: float | None = None
    started: float = field(default_factory=time.monotonic)
    finished: float | None = None
    error: str | None = None

    def __call__(self, stage: str, fraction: float | None) -> None:
        """Notes the stage that is being worked on, and how much of it is done, where that is known."""
        self.stage, self.fraction = stage, fraction

    @property
    def seconds(self) -> float:
        """Seconds since the work began, until now or until it ended."""
        return (self.finished or time.monotonic()) - self.started


class Model:
    """A data set made ready for answers, and what has been computed of it so far; one for all visitors.

    Attributes:
        dataset: with its features built.
        factorization, projection: None until the thread that makes them is done.
        progress: of that thread.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        name = next(entry.name for entry in catalog_entries() if entry.title == title)
        self.dataset: Dataset = load_dataset(name)
        self.lambda_range = lambda_range(self.dataset.X_train)
        self.factorization: RidgeFactorization | None = None
        self.projection: np.ndarray | None = None
        self.progress = Progress()
        self.rows_without_features = int(np.count_nonzero(_features_per_row(self.dataset.X_test) == 0))
        self._thread = threading.Thread(target=self._factorize, name=f"factorise {title}", daemon=True)

    def start(self) -> None:
        """Begins the factorisation, unless it has begun: after the first answer, which it would slow down."""
        if self._thread.ident is None:
            self._thread.start()

    def _factorize(self) -> None:
        self.progress.started = time.monotonic()
        try:
            data = self.dataset
            factorization = RidgeFactorization.fit(data.X_train, data.Y_train, progress=self.progress)
            self.progress("test instances", None)
            self.projection = factorization.project(data.X_test)
            self.factorization = factorization
        except Exception as error:
            self.progress.error = str(error)  # a thread has nobody to raise to: the page shows it
        finally:
            self.progress.finished = time.monotonic()

    @property
    def ready(self) -> bool:
        """Whether the factorisation is there, and every λ cheap."""
        return self.factorization is not None

    @property
    def size(self) -> int:
        """r, the size of the matrix that is factorised."""
        return min(self.dataset.n_train, self.dataset.n_features)

    @property
    def form(self) -> str:
        """XᵀX or XXᵀ, whichever is smaller."""
        return "XᵀX" if self.dataset.n_features <= self.dataset.n_train else "XXᵀ"

    @property
    def n_bytes(self) -> int:
        """About what the model takes when it is complete."""
        data = self.dataset
        entries = sum(block.nnz if hasattr(block, "nnz") else block.size for block in as_blocks(data.X_train))
        return 4 * (self.size * (self.size + data.n_labels + data.n_test) + 2 * entries)


def _features_per_row(X: object) -> np.ndarray:
    return sum(np.asarray((block != 0).sum(axis=1)).ravel() for block in as_blocks(X))


def data_names() -> list[str]:
    """The data sets that this visitor can choose, the default one first."""
    return [entry.title for entry in catalog_entries() if entry.kind == "embedded"]


@cached(LRUCache(MODEL_BYTES, getsizeof=lambda model: model.n_bytes), condition=threading.Condition())
def model_of(title: str) -> Model:
    """The model of a data set, made once; sessions that ask for it meanwhile wait for the one that makes it."""
    return Model(title)


def lambda_range_of(title: str) -> tuple[float, float]:
    """The λ slider's range for a data set."""
    return model_of(title).lambda_range


_visitors_waiting = 0
_visitors_lock = threading.Lock()


@contextmanager
def visitor_first() -> Iterator[None]:
    """Marks that a visitor waits, so that work in the background steps aside."""
    global _visitors_waiting
    with _visitors_lock:
        _visitors_waiting += 1
    try:
        yield
    finally:
        with _visitors_lock:
            _visitors_waiting -= 1


def visitors_waiting() -> int:
    """How many visitors wait for an answer at this moment."""
    return _visitors_waiting


@cached(
    LRUCache(SCORE_BYTES, getsizeof=lambda scores: scores.nbytes),
    key=lambda model, reg_lambda: (model.title, reg_lambda),
    condition=threading.Condition(),
)
def test_scores(model: Model, reg_lambda: float) -> np.ndarray:
    """The scores of all test instances at this λ, (n_test, L), float32: exact, whichever way they are computed."""
    if model.ready:
        return model.factorization.scores(model.projection, reg_lambda)
    data = model.dataset
    return solve_direct(data.X_train, data.Y_train, data.X_test, reg_lambda)


@dataclass(frozen=True)
class Answer:
    """What some settings give on the test instances.

    Attributes:
        theta, metric_theta: θ of the model and θ of the metric, shape (L,).
    """

    model: Model
    settings: Settings
    evaluation: Evaluation
    theta: np.ndarray
    metric_theta: np.ndarray

    @property
    def dataset(self) -> Dataset:
        """The data set that was answered for."""
        return self.model.dataset

    @property
    def K(self) -> int:
        """K, cut to the number of labels."""
        return min(self.settings.K, self.dataset.n_labels)

    @property
    def rows_text(self) -> str:
        """Of which rows every number is."""
        return f"{self.evaluation.n_rows:,} test instances"


def thetas(dataset: Dataset, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """θ of the model, from the sliders, and θ of the metric: the data set's own unless the switch ties them."""
    theta = inverse_propensity(dataset.Y_train, settings.A, settings.B)
    own = theta if settings.tie_metric else inverse_propensity(dataset.Y_train, dataset.A, dataset.B)
    return theta, own


def answer(settings: Settings) -> Answer:
    """Both variants at these settings."""
    started = time.perf_counter()
    with visitor_first():
        result = _answer(settings)
    result.model.start()
    st.session_state[LAST_SECONDS] = time.perf_counter() - started
    return result


@cached(
    LRUCache(ANSWER_BYTES, getsizeof=lambda result: 2 * result.evaluation.ridge.top.nbytes),
    condition=threading.Condition(),
)
def _answer(settings: Settings) -> Answer:
    model = model_of(settings.data)
    data = model.dataset
    theta, metric_theta = thetas(data, settings)
    scores = test_scores(model, settings.reg_lambda)
    own = settings.reg_lambda_ps != settings.reg_lambda
    evaluation = evaluate_scores(
        scores,
        data.Y_test,
        theta,
        metric_theta,
        sorted({*CARD_KS, settings.K}),
        scores_ps=test_scores(model, settings.reg_lambda_ps) if own else None,
        exclude=data.test_filter,
        reg_lambda=settings.reg_lambda,
        reg_lambda_ps=settings.reg_lambda_ps,
        rows_without_features=model.rows_without_features,
    )
    return Answer(model, settings, evaluation, theta, metric_theta)


def status(settings: Settings) -> None:
    """The sidebar's quiet line: what is factorised, how long it took, and how long the last answer took.

    While the factorisation is being made, the line tells how far it is, and draws the page anew when it is done.
    """
    model = model_of(settings.data)
    seconds = st.session_state.get(LAST_SECONDS, 0.0)
    waiting = not model.ready and model.progress.error is None

    def line() -> None:
        matrix, progress = f"{model.form}, {model.size:,} × {model.size:,}", model.progress
        if model.ready:
            matrix += f", factorised in {progress.seconds:.1f} s"
        elif progress.error:
            matrix += f", not factorised: {progress.error}"
        else:
            matrix += f", being factorised for {progress.seconds:.0f} s ({progress.stage}); until then by Cholesky"
        st.caption(f"{matrix}. Last answer in {seconds:.2f} s, on {model.dataset.n_test:,} test instances.")
        if waiting and (model.ready or progress.error):
            st.rerun()

    st.fragment(line, run_every=STATUS_SECONDS if waiting else None)()


def held_answer(settings: Settings) -> Answer | None:
    """The answer at the held setting, with the present K, where one is held for the same data set."""
    ghost = held()
    if ghost is None or ghost.data != settings.data:
        return None
    return _answer(replace(ghost, K=settings.K))
