"""What the tests of the pages share: the app opened by a link, what it says, and a small data set."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse
from streamlit.testing.v1 import AppTest

from pages.shared import answers, behind, model, sources
from xmlcore import Dataset

SECONDS = 300  # that a page may take on a busy machine
CACHES = (model.model_of, answers.scores_on_test, answers._evaluated)


@contextmanager
def only_data_set(monkeypatch: pytest.MonkeyPatch, title: str, data: Dataset) -> Iterator[None]:
    """One data set for all visitors, of which nothing is ready at first and nothing is left in the end."""
    monkeypatch.setattr(sources, "names", lambda: [title])
    monkeypatch.setattr(sources, "raw", lambda title: data)
    before = [dict(cached.cache) for cached in CACHES]
    for cached in CACHES:
        cached.cache.clear()
    yield
    for cached, found in zip(CACHES, before, strict=True):
        cached.cache.clear()
        cached.cache.update(found)


def start(**params: str | list[str]) -> AppTest:
    """The app on Tune, opened by a link with these settings."""
    app = AppTest.from_file("../../app.py", default_timeout=SECONDS)
    for key, value in params.items():
        app.query_params[key] = value
    return app.run()


def data_page(way: str = "Upload", **params: str) -> AppTest:
    """The app on Data, opened by a link with these settings, as `unfolded` says."""
    return unfolded(start(**params), way).switch_page("pages/data.py").run()


def unfolded(app: AppTest, way: str = "Upload") -> AppTest:
    """The app with nothing folded on Data when that is run next, and this tab open."""
    for key, opened in (("ways", way), ("code", True), ("other_features", True)):
        app.session_state[key] = opened
    return app


def texts(app: AppTest) -> str:
    """What the page says, warnings included."""
    return "\n".join(each.value for kind in (app.markdown, app.caption, app.warning) for each in kind)


def charts(app: AppTest, name: str = "") -> list[dict]:
    """The page's charts as they are sent to the browser: all of them, or the one of this name, if it is there."""
    return [json.loads(each.proto.spec) for each in app.get("plotly_chart") if name in ("", each.key)]


def button(app: AppTest, label: str):
    """The page's button that says this."""
    return next(each for each in app.button if each.label == label)


def preset(app: AppTest):
    """The sidebar's choice of A and B by the name of a data set."""
    return next(each for each in app.sidebar.radio if each.label == "A and B as used for")


def small(n_train: int = 60, n_labels: int = 7) -> Dataset:
    """Random values and labels, for training and for 20 test instances."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((n_train + 20, 12), density=0.4, rng=rng, dtype=np.float32).tocsr()
    Y = sparse.csr_array((rng.random((n_train + 20, n_labels)) < 0.3).astype(np.float32))
    return Dataset("small", X[:n_train], Y[:n_train], X[n_train:], Y[n_train:])


def cards(app: AppTest) -> list[str]:
    """The numbers of the page's cards, as they are written."""
    return [metric.value for metric in app.metric]


def run_until(app: AppTest, there: Callable[[AppTest], object]) -> AppTest:
    """The app, run again as often as its page asks, until what is filled in behind the page is there."""
    deadline = time.monotonic() + SECONDS
    while not there(app):
        assert time.monotonic() < deadline, texts(app)
        time.sleep(behind.POLL_SECONDS)  # work behind the pages waits for a visitor who comes more often
        assert not app.run().exception
    return app


def until(condition: Callable[[], object]) -> None:
    """Waits for what other threads do."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
