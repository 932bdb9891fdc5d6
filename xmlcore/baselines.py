"""Other systems trained on the spot, in a process of its own: Parabel, Bonsai, a label tree and one-vs-all.

They come with the optional packages omikuji and napkinXC, with the settings that these packages recommend, and get the
same features and the same training instances as we. They use one thread. What they predict for all test instances is
kept in the store under a key of the data's, the system's and the package's version.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from xmlcore.atomic import writing
from xmlcore.background import Report, Task, submit
from xmlcore.checks import DataError
from xmlcore.dataset import Dataset
from xmlcore.matrices import Features, as_blocks
from xmlcore.readers import write_xc_text
from xmlcore.store import Store, get_features, put_all_features

INSTALL = 'pip install -e ".[baselines]"'
DEPTH = 20  # labels that are predicted for each instance
_BLOCK = 500  # test instances between two messages

Rows = sparse.csr_array
Rankings = Sequence[Sequence[tuple[int, float]]]
Predict = Callable[[Rows, int], Rankings]


@dataclass(frozen=True)
class Baseline:
    """A system that can be trained here.

    Attributes:
        key: for programs. title: its name with the package's. package: what must be installed.
        text: what it is, in a sentence.
        parameters: where they differ from the package's own defaults.
    """

    key: str
    title: str
    package: str
    text: str
    parameters: tuple[tuple[str, bool | int], ...] = ()

    @property
    def is_installed(self) -> bool:
        """Whether its package can be imported."""
        return importlib.util.find_spec(self.package) is not None


BASELINES = {
    each.key: each
    for each in (
        Baseline(
            "parabel",
            "Parabel (omikuji)",
            "omikuji",
            "Three balanced binary trees of labels, with a linear SVM at each node.",
        ),
        Baseline(
            "bonsai",
            "Bonsai (omikuji)",
            "omikuji",
            "Three shallow trees of labels with up to 100 branches at each node, not balanced.",
            (("cluster_balanced", False), ("cluster_k", 100), ("max_depth", 3)),
        ),
        Baseline(
            "plt",
            "Probabilistic label tree (napkinXC)",
            "napkinxc",
            "One tree of labels, with a logistic regression at each node.",
        ),
        Baseline(
            "br", "One-vs-all logistic regression (napkinXC)", "napkinxc", "A logistic regression for each label."
        ),
    )
}


@dataclass(frozen=True, eq=False)
class BaselineResult:
    """What a baseline predicts for all test instances of a data set.

    Attributes:
        top: (rows, min(20, L)) label indices, best first, -1 where it gives fewer, int32. scores: theirs, NaN there.
        train_seconds, predict_seconds: what it took, on one thread at low priority.
    """

    top: np.ndarray
    scores: np.ndarray
    train_seconds: float
    predict_seconds: float


def start(store: Store, ds: Dataset, key: str, *, again: bool = False) -> Task:
    """Trains the baseline on the data set's features in a process of its own, or gives the task that does.

    ds: with features as our model has them, and all of its test instances. again: starts anew what has ended.
    Raises DataError for an unknown baseline, one that is not installed, and data that the store cannot take.
    """
    baseline = _baseline(key)
    if not baseline.is_installed:
        raise DataError(f"{baseline.title} needs the package {baseline.package}: {INSTALL}")
    parts = {"features_key": ds.X_train, "labels_key": ds.Y_train, "test_key": ds.X_test}
    keys = {name: f"{ds.fingerprint}/baselines {name}/1" for name in parts}
    put_all_features(store, {keys[name]: X for name, X in parts.items()})
    return submit(
        _result_key(ds, baseline),
        train,
        {**keys, "baseline": key, "result_key": _result_key(ds, baseline)},
        store=store,
        title=baseline.title,  # seen by all visitors: nothing of an upload in it
        again=again,
    )


def result(store: Store, ds: Dataset, key: str) -> BaselineResult | None:
    """What the baseline predicted for this data set, where it has been trained; None where not."""
    baseline = _baseline(key)
    found = store.get(_result_key(ds, baseline)) if baseline.is_installed else None
    if found is None:
        return None
    arrays, meta = found
    return BaselineResult(arrays["top"], arrays["scores"], meta["train_seconds"], meta["predict_seconds"])


def train(
    store: Store,
    report: Report,
    *,
    baseline: str,
    features_key: str,
    labels_key: str,
    test_key: str,
    result_key: str,
) -> dict:
    """The work of the other process: trains on the X and Y of these keys, predicts, and keeps the result.

    Raises RuntimeError where the data has left the store or the result does not fit into it.
    """
    if store.get(result_key) is not None:
        return {"found": True}
    parts = [get_features(store, key) for key in (features_key, labels_key, test_key)]
    if any(part is None for part in parts):
        raise RuntimeError("the data is no longer in the cache")
    X, Y, X_test = (_one_block(part) for part in parts)
    if not ((np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0)).any():
        raise RuntimeError("no training instance has both features and labels: there is nothing to learn from")
    fit = _fit_omikuji if BASELINES[baseline].package == "omikuji" else _fit_napkinxc
    with store.scratch() as folder, _without_progress_bars():
        report("preparing the data")
        seconds, predict = fit(BASELINES[baseline], X, Y, folder, report)
        top = np.full((X_test.shape[0], min(DEPTH, Y.shape[1])), -1, dtype=np.int32)
        scores = np.full(top.shape, np.nan, dtype=np.float32)
        started = time.perf_counter()
        for first in range(0, X_test.shape[0], _BLOCK):
            report(f"predicting: {first:,} of {X_test.shape[0]:,} test instances")
            for row, pairs in enumerate(predict(X_test[first : first + _BLOCK], top.shape[1]), start=first):
                # napkinXC fills up what it does not know with label 0, again and again.
                best: dict[int, float] = {}
                for label, score in pairs:
                    best.setdefault(label, score)
                top[row, : len(best)], scores[row, : len(best)] = list(best), list(best.values())
        times = {"train_seconds": seconds, "predict_seconds": time.perf_counter() - started}
    if not store.put(result_key, {"top": top, "scores": scores}, times):
        raise RuntimeError(store.notices[-1])
    return {"found": False, **times}


@contextlib.contextmanager
def _without_progress_bars() -> Iterator[None]:
    """Both packages write bars and notes, thousands of lines in a server's log; they go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    for stream in kept:
        os.dup2(nowhere, stream)
    try:
        yield
    finally:
        for stream, copy in kept.items():
            os.dup2(copy, stream)
            os.close(copy)
        os.close(nowhere)


def _fit_omikuji(baseline: Baseline, X: Rows, Y: Rows, folder: Path, report: Report) -> tuple[float, Predict]:
    import omikuji

    # omikuji refuses rows without features or without labels, from which its trees would learn nothing.
    taught = np.flatnonzero((np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0))
    X, Y = X[taught], Y[taught]
    # It reads a file; a data set in that format has test rows too.
    write_xc_text(Dataset("baseline", X, Y, X[:1], Y[:1]), folder)
    parameters = omikuji.Model.default_hyper_param()
    for name, value in baseline.parameters:
        setattr(parameters, name, value)
    report("training")
    started = time.perf_counter()
    model = omikuji.Model.train_on_data(str(folder / "train.txt"), parameters, n_threads=1)
    seconds = time.perf_counter() - started
    model.init_prediction_thread_pool(1)

    def predict(rows: Rows, k: int) -> Rankings:
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        pairs = (list(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True)) for a, b in ends)
        return [model.predict(each, top_k=k) for each in pairs]

    return seconds, predict


def _fit_napkinxc(baseline: Baseline, X: Rows, Y: Rows, folder: Path, report: Report) -> tuple[float, Predict]:
    from napkinxc import models

    kind = {"plt": models.PLT, "br": models.BR}[baseline.key]
    model = kind(str(folder / "model"), threads=1, seed=0, **dict(baseline.parameters))
    report("training")
    started = time.perf_counter()
    model.fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    with writing("the model"):  # napkinXC does not notice a full disk, and would predict with half of its weights
        (folder / "room").write_bytes(bytes(1 << 20))
    model.load()
    seconds = time.perf_counter() - started
    return seconds, lambda rows, k: model.predict_proba(sparse.csr_matrix(rows), top_k=k)


def _one_block(X: Features) -> Rows:
    """All blocks side by side without stored zeros, in memory of this process."""
    blocks = [sparse.csr_array(block, dtype=np.float32) for block in as_blocks(X)]
    side_by_side = blocks[0].copy() if len(blocks) == 1 else sparse.csr_array(sparse.hstack(blocks, format="csr"))
    side_by_side.eliminate_zeros()
    return side_by_side


def _baseline(key: str) -> Baseline:
    if key not in BASELINES:
        raise DataError(f"baseline is {key!r}; expected one of {', '.join(BASELINES)}")
    return BASELINES[key]


def _result_key(ds: Dataset, baseline: Baseline) -> str:
    return f"{ds.fingerprint}/baseline {baseline.key} {importlib.metadata.version(baseline.package)}/1"
