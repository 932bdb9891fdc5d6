"""A λ that takes long to be solved for: it is done behind the page, which says so and stays usable."""

import re
import threading
from collections import OrderedDict
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shared import answers, behind, model
from pages.shared.settings import Settings
from tests.app.helpers import CACHES, SECONDS, cards, only_data_set, start, until
from xmlcore import DataError, RidgeFactorization
from xmlcore.synthetic import make_dataset

TITLE, MADE = "Made", make_dataset("bibtex", scale=0.2)


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """One data set, answered as if it were large, of which nothing is ready; its factorisation never ends."""
    monkeypatch.setattr(answers, "WAITED_FOR", 0.0)
    monkeypatch.setattr(model, "store", lambda: None)
    monkeypatch.setattr(model, "_compile_beside", lambda: None)  # a process's first model solves for a λ of its own
    monkeypatch.setattr(behind, "_fillings", OrderedDict())
    monkeypatch.setattr(behind, "_FORGOTTEN_AFTER", float(SECONDS))  # a test's page does not poll
    ended = threading.Event()

    def fit(*_: object, **__: object) -> None:
        ended.wait(SECONDS)
        raise DataError("ended with the test")

    monkeypatch.setattr(RidgeFactorization, "fit", fit)
    with only_data_set(monkeypatch, TITLE, MADE):
        yield
        ended.set()


@pytest.fixture
def goes_on(monkeypatch):
    """What lets solves go on, and the λ of those that have begun."""
    event, asked, real = threading.Event(), [], model.DirectSolver.scores

    def scores(self: model.DirectSolver, X: object, reg_lambda: float) -> object:
        asked.append(reg_lambda)
        assert event.wait(SECONDS)
        return real(self, X, reg_lambda)

    monkeypatch.setattr(model.DirectSolver, "scores", scores)
    event.asked = asked
    yield event
    event.set()


def told(app: AppTest) -> list[str]:
    return [each.value for each in app.info if each.value.startswith("λ = ")]


def when_done(app: AppTest) -> AppTest:
    """The app after its next polls; the visitor's clicks would have it drawn anew as well."""
    until(lambda: not [work for work in behind._fillings.values() if work.awaited and work.wanted and not work.done])
    return app.run()


def test_the_page_says_what_is_solved_for_and_shows_the_numbers_of_a_direct_answer(goes_on):
    app = start(reg_lambda="2.5")
    assert not app.exception
    until(lambda: goes_on.asked)
    (text,) = told(app.run())
    assert re.match(
        r"λ = 2\.5 is being solved for \(.*\): \d+ s so far( of about|, longer than) .*\d+ s",
        text,
    )
    assert not app.metric
    assert "not factorised yet" in " ".join(caption.value for caption in app.sidebar.caption)
    goes_on.set()
    app = when_done(app)
    assert not told(app)
    expected = answers._answer(Settings(TITLE, reg_lambda=2.5), ()).evaluation
    assert cards(app)[0] == f"{100 * expected.ridge.metrics['precision'][1]:.2f}"
    assert len(cards(app)) == 12
    assert goes_on.asked == [2.5]


def test_meanwhile_the_controls_and_the_other_pages_are_there_and_the_last_lambda_is_solved_next(goes_on):
    app = start(reg_lambda="2.5")
    until(lambda: goes_on.asked == [2.5])
    for reg_lambda in (3.5, 4.5):
        app.sidebar.number_input(key="reg_lambda").set_value(reg_lambda).run()
        assert told(app)[0].startswith(f"λ = {reg_lambda:g} is solved for when the one before is done.")
    app.switch_page("pages/data.py").run()
    assert not app.exception
    assert not told(app)
    app.switch_page("pages/tune.py").run()
    assert len(told(app)) == 1
    goes_on.set()
    until(lambda: 4.5 in goes_on.asked)
    assert goes_on.asked[:2] == [2.5, 4.5]
    assert len(cards(when_done(app))) == 12


def test_another_A_after_the_answer_is_not_waited_for():
    app = when_done(start(reg_lambda="2.5"))
    before = cards(app)
    app.sidebar.slider(key="A").set_value(1.2).run()
    assert not told(app)
    assert cards(app) != before


class Rerun(Exception):
    """What a poll ends with that has the page drawn anew."""


@pytest.fixture
def polls(monkeypatch):
    """What pages poll with, as the browser would call it: AppTest does not."""
    found, said = [], []

    def rerun():
        raise Rerun

    monkeypatch.setattr(answers.frame, "fragment", lambda told, run_every: found.append(told) or (lambda: None))
    monkeypatch.setattr(answers.st, "rerun", rerun)
    monkeypatch.setattr(answers.st, "info", lambda text, icon: said.append(text))
    return SimpleNamespace(found=found, said=said)


def drawn_anew(poll) -> bool:
    try:
        poll()
    except Rerun:
        return True
    return False


def test_a_poll_tells_how_far_it_is_and_what_it_took_and_asks_again_for_work_that_was_let_go(polls, goes_on):
    settings, of = Settings(TITLE, reg_lambda=2.5), model.model_of(TITLE, "")
    answers._show_solving(of, settings, ())
    (poll,) = polls.found
    assert not drawn_anew(poll)
    assert "is solved for when the one before is done" in polls.said[-1]
    until(lambda: goes_on.asked)
    assert not drawn_anew(poll)
    assert re.search(r"is being solved for \(Cholesky\): \d+ s so far", polls.said[-1])
    behind._fillings.clear()
    assert not drawn_anew(poll)
    goes_on.set()
    until(lambda: drawn_anew(poll))
    assert answers._evaluated.cache_key(of, settings, ()) in answers._evaluated.cache
    for_settings, seconds = st.session_state[answers.SOLVED]
    assert for_settings == settings
    assert 0 < seconds < SECONDS
    assert of.begun  # the factorisation, though no page has drawn the answer


def test_a_poll_has_the_page_drawn_anew_when_the_factorisation_is_there_first(polls, goes_on):
    of = model.model_of(TITLE, "")
    answers._show_solving(of, Settings(TITLE, reg_lambda=2.5), ())
    assert not drawn_anew(polls.found[0])
    of.factorization = object()
    assert drawn_anew(polls.found[0])


def test_what_the_answer_took_behind_the_page_is_told():
    app = when_done(start(reg_lambda="2.5"))
    app.session_state[answers.SOLVED] = Settings(TITLE, reg_lambda=3.5), 1234.0
    app.sidebar.number_input(key="reg_lambda").set_value(3.5).run()
    when_done(app)
    assert "Last answer in 1234." in " ".join(caption.value for caption in app.sidebar.caption)
    app.session_state[answers.SOLVED] = Settings(TITLE, reg_lambda=9.0), 1234.0  # another's
    app.sidebar.number_input(key="reg_lambda").set_value(4.5).run()
    when_done(app)
    assert "Last answer in 1234." not in " ".join(caption.value for caption in app.sidebar.caption)


def test_answers_that_no_cache_keeps_are_made_in_the_page_and_not_waited_for_without_end(monkeypatch):
    with monkeypatch.context() as patch:
        for cached in CACHES[1:]:
            patch.setattr(cached.cache, "_Cache__maxsize", 0)  # every value is too large for it
        app = when_done(start(reg_lambda="2.5"))
        assert len(cards(app)) == 12
        app.sidebar.button(key="hold_button").click().run()
        app.sidebar.number_input(key="reg_lambda").set_value(3.5).run()
        assert 12 in [len(cards(when_done(app))) for _ in range(2)]  # one wait for each of the two settings at most


def test_a_lambda_of_its_own_for_ps_and_one_that_is_held_are_waited_for_too(goes_on):
    goes_on.set()
    app = when_done(start(reg_lambda="2.5"))
    app.sidebar.button(key="hold_button").click().run()
    goes_on.clear()
    for cached in CACHES[1:]:
        cached.cache.clear()
    app.sidebar.number_input(key="reg_lambda").set_value(3.5).run()
    assert told(app)[0].startswith("λ = 3.5 ")
    goes_on.set()
    app = when_done(app)
    assert told(app)[0].startswith("λ = 2.5 ")
    app = when_done(app)
    assert len(cards(app)) == 12
    app.sidebar.toggle(key="own_lambda_ps").set_value(True).run()
    goes_on.clear()
    app.sidebar.number_input(key="reg_lambda_ps").set_value(9.0).run()
    assert told(app)[0].startswith("λ = 3.5 and 9 ")
    goes_on.set()
    assert len(cards(when_done(app))) == 12


def test_why_a_lambda_cannot_be_solved_for_is_told_and_another_one_goes_on(monkeypatch):
    real, asked = model.DirectSolver.scores, []

    def scores(self: model.DirectSolver, X: object, reg_lambda: float) -> object:
        asked.append(reg_lambda)
        if reg_lambda == 2.5:
            raise DataError("reg_lambda is 2.5, which this test refuses")
        return real(self, X, reg_lambda)

    monkeypatch.setattr(model.DirectSolver, "scores", scores)
    app = when_done(start(reg_lambda="2.5"))
    assert not app.exception
    assert any("which this test refuses" in error.value for error in app.error)
    assert asked == [2.5]  # and not once more in the page, which would wait for it
    assert not told(app)
    app.sidebar.number_input(key="reg_lambda").set_value(3.5).run()
    assert len(cards(when_done(app))) == 12


def test_it_does_not_step_aside_for_visitors_nor_wait_for_what_fills_in_behind_pages(monkeypatch):
    holds, began = threading.Event(), threading.Event()

    def long_step():
        began.set()
        assert holds.wait(SECONDS)
        yield None

    monkeypatch.setattr(behind, "QUIET_SECONDS", 0.0)
    filled = behind.filling("long", long_step, 1)
    behind.want(filled)
    assert began.wait(SECONDS)
    awaited = behind.filling("awaited", lambda: iter([1]), 1, awaited=True)
    with behind.visitor_first():
        behind.want(awaited)
        until(lambda: awaited.done)
    assert not filled.done
    holds.set()
    until(lambda: filled.done)
