"""A data set made ready, once for all visitors: its features, and the factorisation that makes every λ cheap.

One `Model` serves every session of the server. The factorisation is read from the cache on disk, made in a thread where
it takes seconds, or in a process of its own where it takes minutes; pages have answers meanwhile, from `answers`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from cachetools import LRUCache, cached
from scipy import sparse
from threadpoolctl import threadpool_limits

from pages.shared import sources
from pages.shared.failures import in_words
from pages.shared.settings import LAMBDA_MAX, LAMBDA_MIN
from pages.shared.sizes import held_bytes
from xmlcore import (
    DataError,
    Dataset,
    DirectSolver,
    RidgeFactorization,
    default_recipe,
    evaluate_scores,
    factorization_cost,
    fit_features,
    lambda_range,
    outline,
)
from xmlcore.background import Task, queue, submit
from xmlcore.cost import refuse_unfitting
from xmlcore.dataset import take_instances
from xmlcore.eigen import FLOAT64_LIMIT
from xmlcore.jobs import factorize
from xmlcore.memory import default_memory_budget, free_memory
from xmlcore.progress import Progress as Told
from xmlcore.progress import unheard
from xmlcore.store import Store, StoreError, put_all_features

# A λ is answered on as many test instances as one product of so many operations, and so many scores, allow.
SAMPLE_OPERATIONS, SAMPLE_SCORES = 1.2e11, 60e6
SAMPLE_SEED = 0
UNQUEUED_SIZE = 1_000
_one_factorization = threading.Lock()
_elsewhere: set[str] = set()  # fingerprints of what other processes factorise: they read and write the cache on disk


@dataclass
class Progress:
    """How far a piece of work is; written by the thread that does it, read by every page."""

    stage: str = "waiting"
    fraction: float | None = None
    started: float = field(default_factory=time.monotonic)
    finished: float | None = None
    error: str | None = None
    from_cache: bool = False

    def __call__(self, stage: str, fraction: float | None) -> None:
        """Notes the stage that is being worked on, and how much of it is done, where that is known."""
        self.stage, self.fraction = stage, fraction

    @property
    def seconds(self) -> float:
        """Seconds since the work began, until now or until it ended."""
        return (self.finished or time.monotonic()) - self.started


@cache
def store() -> Store | None:
    """The cache on disk, or None where there is no folder that it can use."""
    try:
        return Store()
    except StoreError:
        return None


def in_use_on_disk() -> set[str]:
    """How the keys of the cache on disk begin that work in other processes reads and writes at this moment."""
    return _elsewhere | {task.key.split("/")[0] for task in queue()}


class Model:
    """A data set made ready for answers, and what has been computed of it so far; one for all visitors.

    Attributes:
        dataset: with its features built; where its test set is large, a seeded sample of it.
        full: with the whole test set. rows: which of its test instances dataset has, shape (n,).
        fitted: what makes features of new documents.
        factorization, projection: None until they are there; projection is of dataset's test instances.
        direct: what solves for one λ until then; None afterwards.
        direct_operations: about what that takes, Gram matrix and all, in float32 operations.
        begun: whether the work on them was begun; pages that ask for no answer leave it.
        progress: of that work. task: the process that does it, where it is one.
    """

    def __init__(self, title: str, features: str, told: Told = unheard) -> None:
        """told: of how far the features are."""
        _compile_beside()
        self.title, self.features = title, features
        raw = sources.raw(title)
        recipe = features or str(default_recipe(raw))
        refuse_unfitting(raw, recipe)
        sources.refuse_unusable(raw, recipe)
        self.full, self.fitted = fit_features(raw, recipe, told)
        self.rows = _sample_rows(self.full)
        self.dataset = self.full if self.rows.size == self.full.n_test else _sampled(self.full, self.rows)
        self.lambda_range = self._lambda_range()
        self.factorization: RidgeFactorization | None = None
        self.projection: np.ndarray | None = None
        self.direct: DirectSolver | None = None
        self.progress = Progress()
        self.task: Task | None = None
        self.begun = False
        self._beginning = threading.Lock()
        if not self._take_from_store():
            self.direct = DirectSolver(self.full.X_train, self.full.Y_train)
        cost = factorization_cost(outline(self.dataset), "raw", rate=1.0)  # where a second is an operation
        self.direct_operations = cost.gram_seconds + cost.cholesky_seconds

    def start(self) -> None:
        """Begins the factorisation, unless it has begun: after the first answer, which it would slow down."""
        with self._beginning:
            if not self.ready and not self.begun:
                self._begin()

    def again(self) -> None:
        """Begins the factorisation once more, after it was cancelled or failed; two visitors may ask at once."""
        with self._beginning:
            if not self.ready and self.progress.error is not None:
                self.progress, self.task = Progress(), None
                self._begin()

    def _begin(self) -> None:
        self.begun = True
        threading.Thread(target=self._factorize, name=f"factorise {self.title}", daemon=True).start()

    def _key(self, what: str) -> str:
        return f"{self.full.fingerprint}/{what}/5"

    def _factorize(self) -> None:
        self.progress.started = time.monotonic()
        try:
            if self._take_from_store():  # another session's model of equal data, say, has been made meanwhile
                self.direct = None
            elif self.size <= FLOAT64_LIMIT or store() is None:
                data = self.full
                with _turn(self.size):
                    self.progress.started = time.monotonic()  # what it waited for its turn is not its own time
                    factorization = RidgeFactorization.fit(data.X_train, data.Y_train, progress=self.progress)
                self._complete(factorization)
            else:
                _elsewhere.add(self.full.fingerprint)
                self._factorize_elsewhere(store())
        except Exception as error:  # a thread has nobody to raise to: the page shows it
            self.progress.error = in_words(error, "these data")
            self.progress.finished = time.monotonic()
        finally:
            _elsewhere.discard(self.full.fingerprint)

    def _factorize_elsewhere(self, kept: Store) -> None:
        features, labels, result = (self._key(what) for what in ("features", "labels", "factorization"))
        put_all_features(kept, {features: self.full.X_train, labels: self.full.Y_train})
        arguments = {"features_key": features, "labels_key": labels, "result_key": result}
        title = f"{self.form} of {self.size:,}"  # seen by all visitors: nothing of an upload in it
        self.task = submit(result, factorize, arguments, store=kept, title=title, again=True)
        self.task.wait()
        if self.task.state != "done":
            said = "" if self.task.state == "cancelled" else f": {self.task.message}"
            raise DataError(f"{self.task.state}{said}")
        found = kept.get(result)
        if found is None:
            raise DataError("the result is no longer in the cache on disk")
        self.progress.started = time.monotonic() - self.task.elapsed
        self._complete(RidgeFactorization.from_arrays(found[0], self.full.X_train, self.full.Y_train))

    def _complete(self, factorization: RidgeFactorization) -> None:
        self.progress("test instances", None)
        self.projection = factorization.project(self.dataset.X_test)
        self.progress.finished = time.monotonic()  # before it counts as ready, so that all visitors read one duration
        self.factorization = factorization
        self.direct = None
        if store() is not None:
            if self.task is None:
                store().put(self._key("factorization"), factorization.arrays())
            self._keep_projection()

    def _keep_projection(self) -> None:
        store().put(self._key(f"projection {self.dataset.n_test}"), {"P": self.projection})

    def _lambda_range(self) -> tuple[float, float]:
        kept, key = store(), self._key("range of λ")
        if found := kept and kept.get(key):
            low, high = found[0]["range"].tolist()
        else:
            low, high = lambda_range(self.full.X_train)
            if kept:
                kept.put(key, {"range": np.array([low, high])})
        # Beyond what an address may hold no λ could be set. Data of scale 1e9 leave a range of one decade.
        high = min(max(high, 10 * LAMBDA_MIN), LAMBDA_MAX)
        return min(max(low, LAMBDA_MIN), high / 10), high

    def _take_from_store(self) -> bool:
        found = store() and store().get(self._key("factorization"))
        if not found:
            return False
        factorization = RidgeFactorization.from_arrays(found[0], self.full.X_train, self.full.Y_train)
        if projection := store().get(self._key(f"projection {self.dataset.n_test}")):
            self.projection = projection[0]["P"]
        else:  # of other test instances, say of the whole of which these are a sample
            self.projection = factorization.project(self.dataset.X_test)
            self._keep_projection()
        self.progress.from_cache, self.progress.finished = True, time.monotonic()  # before it counts as ready
        self.factorization = factorization
        return True

    @property
    def shown_title(self) -> str:
        """The data set's name for people: its title in the catalog, or the name of a visitor's own."""
        return self.title if sources.entry_of(self.title) else self.full.name

    @property
    def ready(self) -> bool:
        """Whether the factorisation is there, and every λ cheap."""
        return self.factorization is not None

    @property
    def size(self) -> int:
        """r, the size of the matrix that is factorised."""
        return min(self.full.n_train, self.full.n_features)

    @property
    def form(self) -> str:
        """XᵀX or XXᵀ, whichever is smaller."""
        return "XᵀX" if self.full.n_features <= self.full.n_train else "XXᵀ"

    @property
    def n_bytes(self) -> int:
        """About what the model takes when it is complete."""
        data = self.dataset
        matrices = 4 * self.size * (self.size + data.n_labels + data.n_test)
        return matrices + held_bytes(self.full)


@contextmanager
def _turn(size: int) -> Iterator[None]:
    """The turn of a factorisation: one at a time and on one core, while the other core answers visitors.

    LAPACK on two cores slows down many times over where anything else runs. A small matrix takes less than a second,
    and does not wait for a large one.
    """
    taken = _one_factorization.acquire(blocking=size > UNQUEUED_SIZE)
    try:
        with threadpool_limits(1, user_api="blas") if taken else nullcontext():  # else the one that has the turn limits
            yield
    finally:
        if taken:
            _one_factorization.release()


@cache
def _compile_beside() -> None:
    """Begins to compile what a first answer needs, or to load it, while the first data set is made ready."""
    threading.Thread(target=_answer_tiny_data, name="compile", daemon=True).start()


def _answer_tiny_data() -> None:
    """A first answer, in the order in which it is made: numba compiles one loop at a time, and so the first needed."""
    tiny = sparse.csr_array(np.eye(8, dtype=np.float32))
    lambda_range(tiny)
    evaluate_scores(DirectSolver(tiny, tiny).scores(tiny, 1.0), tiny, np.ones(8), np.ones(8))


def _sample_rows(data: Dataset) -> np.ndarray:
    """As many test instances as a λ can be answered on in time, drawn by a seed; all where they are no more."""
    size = min(data.n_train, data.n_features)
    rows = int(min(SAMPLE_OPERATIONS / (2 * size * data.n_labels), SAMPLE_SCORES / data.n_labels))
    rows = max(rows, 200)
    if rows >= data.n_test:
        return np.arange(data.n_test)
    return np.sort(np.random.default_rng(SAMPLE_SEED).choice(data.n_test, rows, replace=False))


def _sampled(data: Dataset, rows: np.ndarray) -> Dataset:
    """The data set with these test instances only, each called as in the whole, also where that is by its number."""
    names = np.array([data.test_name(row) for row in rows.tolist()])
    return replace(take_instances(data, test=rows), test_names=names)


@cache
def model_bytes() -> int:
    """What models may take in memory, in bytes. Raises DataError where $XMLCORE_MEMORY is no such number."""
    return max(1 << 30, min(2 * default_memory_budget(), free_memory() // 2))


# A model that is larger than the cache is kept alone: one that is not kept would be made anew for each visitor. The
# cache counts in millionths of what models may take, which is asked for only where a page can tell what is wrong.
@cached(
    LRUCache(10**6, getsizeof=lambda model: min(10**6 * model.n_bytes // model_bytes(), 10**6)),
    key=lambda title, features, told=unheard: (title, features),
    condition=threading.Condition(),
)
def model_of(title: str, features: str, told: Told = unheard) -> Model:
    """The model of a data set, made once; sessions that ask for it meanwhile wait for the one that makes it.

    told: of how far it is, where this call makes it. Raises DataError where the data cannot be had, or the features do
    not suit it.
    """
    return Model(title, features, told)
