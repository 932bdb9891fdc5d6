"""A data set that takes long to be made ready: the page says how far it is, and its visitor may go on with another."""

import threading
import time

import pytest

from pages.shared import model, preparing
from tests.app.helpers import SECONDS, start, texts, until
from xmlcore import DataError

SLOW = "tfidf+unit+svd:25"


@pytest.fixture
def goes_on(monkeypatch):
    """What lets the slow features go on; the work on them ends with the test."""
    event, real = threading.Event(), model.fit_features

    def fit_features(raw, recipe, progress):
        if str(recipe) != SLOW:
            return real(raw, recipe, progress)
        progress("embeddings", 0.25)
        assert event.wait(SECONDS)
        return real(raw, "terms:50", progress)

    model.model_of("Debtags", "")
    monkeypatch.setattr(model, "fit_features", fit_features)
    monkeypatch.setattr(preparing, "PATIENCE", 0.1)
    yield event
    event.set()
    for work in list(preparing._running.values()):
        assert work.over.wait(SECONDS)
    preparing._running.clear()
    for title, features in list(model.model_of.cache):
        if features == SLOW:
            del model.model_of.cache[title, features]


def told(app) -> list[str]:
    every = [each.proto.text for each in app.get("progress")] + [each.value for each in app.info]
    return [text for text in every if "is being made ready" in text]


def at_the_end(app):
    for work in list(preparing._running.values()):
        assert work.over.wait(SECONDS)
    return app.run()


def test_how_far_it_is_and_that_one_may_go_on_is_told_until_it_is_there(goes_on):
    app = start(data="Debtags", features=SLOW, A="0.7", search="true")
    (work,) = preparing._running.values()
    until(lambda: work.progress.stage == "embeddings")
    app.run()
    assert not app.exception
    (text,) = told(app)
    assert text.startswith("Debtags is being made ready: embeddings, ")
    assert "other features in the sidebar" in text
    assert not app.metric
    app.sidebar.slider(key="A").set_value(0.8).run()
    assert len(told(app)) == 1
    goes_on.set()
    at_the_end(app)
    assert not app.exception
    assert len(app.metric) == 12
    assert not told(app)
    assert app.sidebar.text_input(key="features").value == SLOW
    assert app.sidebar.slider(key="A").value == 0.8
    assert app.toggle(key="search").value  # of a control that was not drawn meanwhile


def test_meanwhile_other_features_are_answered(goes_on):
    app = start(features=SLOW)
    app.sidebar.text_input(key="features").set_value("").run()
    assert not app.exception
    assert len(app.metric) == 12
    app.sidebar.text_input(key="features").set_value(SLOW).run()
    assert len(told(app)) == 1
    assert not app.metric
    goes_on.set()
    assert len(at_the_end(app).metric) == 12


def test_visitors_who_ask_for_the_same_wait_for_one_piece_of_work(goes_on):
    start(features=SLOW)
    (work,) = preparing._running.values()
    start(features=SLOW)
    assert list(preparing._running.values()) == [work]
    started = time.monotonic()
    assert preparing.prepare("Debtags", SLOW) is work  # whose patience is over
    assert time.monotonic() - started < preparing.PATIENCE + 5


@pytest.mark.parametrize(
    ("error", "told_of_it"),
    [
        (DataError("features: no model"), "no model"),
        (MemoryError("Unable to allocate"), "not enough memory for these features"),
        (KeyError("/secret/place"), "an unforeseen KeyError; please report it with these features"),
    ],
)
def test_why_it_failed_is_told_and_the_usual_features_take_its_place(goes_on, monkeypatch, error, told_of_it):
    def fails(*_):
        goes_on.wait(SECONDS)
        raise error

    real = model.fit_features
    monkeypatch.setattr(model, "fit_features", lambda *args: (fails if str(args[1]) == SLOW else real)(*args))
    app = start(features=SLOW)
    assert len(told(app)) == 1
    goes_on.set()
    monkeypatch.setattr(preparing, "PATIENCE", 60)
    at_the_end(app)
    assert not app.exception
    assert told_of_it in "".join(each.value for each in app.error)
    assert "usual features" in "".join(each.value for each in app.error)
    assert len(app.metric) == 12
    assert texts(app)


def ended(work: preparing.Preparation) -> preparing.Preparation:
    assert work.over.wait(SECONDS)
    return work


def test_an_error_that_nobody_came_for_in_time_is_no_answer_to_the_next_visitor(goes_on, monkeypatch):
    def fails(*_):
        raise DataError("features: no model")

    with monkeypatch.context() as broken:
        broken.setattr(model, "fit_features", fails)
        work = ended(preparing.Preparation("Debtags", SLOW))
    preparing._running["Debtags", SLOW] = work
    work.progress.finished -= 2 * preparing.KEPT_SECONDS
    again = preparing.prepare("Debtags", SLOW)
    assert again is not None
    goes_on.set()
    assert ended(again).error is None


def test_a_visitor_who_polls_is_told_the_error_without_another_attempt(goes_on, monkeypatch):
    def fails(*_):
        goes_on.wait(SECONDS)
        raise DataError("features: no model")

    monkeypatch.setattr(model, "fit_features", fails)
    work = preparing.prepare("Debtags", SLOW)
    goes_on.set()
    ended(work).progress.finished -= preparing.KEPT_SECONDS / 2
    with pytest.raises(DataError, match="no model"):
        preparing.prepare("Debtags", SLOW)
    assert not preparing._running


def test_a_model_that_nobody_came_for_and_that_was_pushed_out_is_made_again_in_its_thread(goes_on):
    work = preparing.prepare("Debtags", SLOW)
    goes_on.set()
    ended(work)
    goes_on.clear()
    del model.model_of.cache["Debtags", SLOW]
    assert preparing.prepare("Debtags", SLOW) not in (None, work)
