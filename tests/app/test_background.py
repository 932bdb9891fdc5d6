"""What a page shows when work behind it dies, is cancelled, or finds the disk full: a clear state, right numbers."""

import contextlib
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from threadpoolctl import threadpool_info

from pages.shared import answers, data_cache, model
from pages.shared import status as status_line
from pages.shared.frame import plain_markdown
from pages.shared.settings import Settings
from tests.app.helpers import CACHES, SECONDS, cards, only_data_set, start, texts, until
from tests.full_disk import full_disk
from xmlcore.checks import DataError
from xmlcore.store import Store, put_features
from xmlcore.synthetic import make_dataset
from xmlcore.units import in_units

RETRY = "Factorise again"
TITLE, MADE = "Made", make_dataset("bibtex", scale=0.5)


@pytest.fixture(autouse=True)
def nobody_was_here_before(monkeypatch):
    """One data set, of which nothing is ready when a test begins."""
    with only_data_set(monkeypatch, TITLE, MADE):
        yield


@pytest.fixture
def in_a_process(monkeypatch, tmp_path) -> None:
    """The data set as if it were large: factorised in a process of its own."""
    monkeypatch.setattr(model, "FLOAT64_LIMIT", 100)
    kept = Store(tmp_path / "cache")
    monkeypatch.setattr(model, "store", lambda: kept)


def the_model() -> model.Model:
    return model.model_of(TITLE, "")


def threads_of_blas() -> list[int]:
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def status(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.sidebar.caption)


def retry(app: AppTest):
    return next(button for button in app.sidebar.button if button.label == RETRY)


def running_process(app: AppTest):
    """The process that factorises, once it runs; it is held up, so that it does not end before it is ended."""
    until(lambda: the_model().task and the_model().task.state == "running" and the_model().task._process)
    process = the_model().task._process
    os.kill(process.pid, signal.SIGSTOP)
    return process


@pytest.mark.usefixtures("in_a_process")
def test_a_killed_process_is_named_the_numbers_stay_and_it_can_be_tried_again():
    app = start()
    before = cards(app)
    assert len(before) == 12
    running_process(app).kill()
    until(lambda: the_model().progress.error)
    app.run()
    assert not app.exception
    assert f"not factorised ({plain_markdown('died: its process was killed')}" in status(app)
    assert "each λ is solved by Cholesky" in status(app)
    assert cards(app) == before
    app.sidebar.number_input(key="reg_lambda").set_value(7.0).run()  # still answered, and exactly
    other = cards(app)
    assert other != before
    retry(app).click().run()
    until(lambda: the_model().ready or the_model().progress.error)
    assert the_model().ready, the_model().progress.error
    for cached in CACHES[1:]:
        cached.cache.clear()  # else the answers by Cholesky would be shown again
    app.run()
    assert "factorised in" in status(app)
    assert [float(value) for value in cards(app)] == pytest.approx([float(value) for value in other], abs=0.011)


def test_two_visitors_who_ask_at_once_begin_one_factorisation_again(monkeypatch):
    begun, goes_on = [], threading.Event()

    def fit(*_, **__):
        begun.append(None)
        goes_on.wait(SECONDS)
        raise DataError("stopped")

    monkeypatch.setattr(model.RidgeFactorization, "fit", fit)
    monkeypatch.setattr(model, "store", lambda: None)
    of = model.Model(TITLE, "")
    goes_on.set()
    of.start()
    until(lambda: of.progress.error)
    goes_on.clear()
    for _ in range(3):
        of.again()
        of.start()
    goes_on.set()
    until(lambda: of.progress.error)
    assert len(begun) == 2


@pytest.mark.usefixtures("in_a_process")
def test_a_cancelled_process_is_called_cancelled():
    app = start()
    before = cards(app)
    running_process(app)
    app.run()
    next(button for button in app.sidebar.button if button.label == "Cancel the factorisation").click().run()
    until(lambda: the_model().progress.error)
    app.run()
    assert "not factorised (cancelled): each λ is solved by Cholesky" in status(app)
    assert retry(app)
    assert cards(app) == before


@pytest.mark.usefixtures("in_a_process")
def test_no_page_promises_what_waits_for_a_cancelled_factorisation():
    app = start()
    running_process(app)

    def told_on(page: str) -> str:
        app.switch_page(f"pages/{page}.py").run()
        return "\n".join([texts(app), *(each.value for each in app.info)])

    pages = {"tune": ("curves begin", "search begins"), "compress": ("weights come",), "instances": ("appear here",)}
    for page, promises in pages.items():
        told = told_on(page)
        assert all(promise in told for promise in promises), page
        assert "it can be tried again" not in told, page
    the_model().task.cancel()
    until(lambda: the_model().progress.error)
    for page, promises in pages.items():
        told = told_on(page)
        assert not any(promise in told for promise in promises), page
        again = "not factorised (cancelled), so"
        assert told.replace("\\", "").count(again) == told.count("it can be tried again") == len(promises), page


@pytest.mark.parametrize("largest_in_a_thread", [100, 5_000], ids=["in a process", "in a thread"])
def test_a_full_disk_is_named_and_costs_no_number(monkeypatch, tmp_path, largest_in_a_thread):
    monkeypatch.setattr(model, "FLOAT64_LIMIT", largest_in_a_thread)
    with full_disk(tmp_path / "disk"):
        kept = Store(tmp_path / "disk", max_bytes=1 << 30)
        monkeypatch.setattr(model, "store", lambda: kept)
        app = start()
        before = cards(app)
        until(lambda: the_model().ready or the_model().progress.error)
        app.run()
        assert not app.exception
        assert "the disk is full" in status(app)
        assert ("factorised in" in status(app)) == (largest_in_a_thread == 5_000)
        assert cards(app) == before


def test_data_that_does_not_fit_the_cache_all_at_once_is_told_before_a_process_begins(monkeypatch, tmp_path):
    features = Store(tmp_path / "features")
    put_features(features, "X", MADE.X_train)
    kept = Store(tmp_path / "cache", max_bytes=features.size() + 1_000)
    monkeypatch.setattr(model, "FLOAT64_LIMIT", 100)
    monkeypatch.setattr(model, "store", lambda: kept)
    app = start()
    until(lambda: the_model().ready or the_model().progress.error)
    app.run()
    assert "not factorised (the data does not fit all at once into the cache, which may hold" in status(app)
    assert the_model().task is None


def test_four_visitors_of_a_cold_server_make_one_model_and_solve_once(monkeypatch):
    done = []

    def counted(module: ModuleType | type, name: str) -> None:
        real, together = getattr(module, name), threading.Barrier(4)

        def work(*args: object) -> object:
            done.append(name)
            with contextlib.suppress(threading.BrokenBarrierError):
                together.wait(1)  # where nobody waits for the first, all four come here
            return real(*args)

        monkeypatch.setattr(module, name, work)

    counted(model, "Model")
    counted(model.DirectSolver, "scores")
    with ThreadPoolExecutor(4) as visitors:
        found = list(visitors.map(lambda _: answers._answer(Settings(data=TITLE), ()), range(4)))
    assert done == ["Model", "scores"]
    assert len({id(answer.evaluation) for answer in found}) == 1


def test_a_small_matrix_does_not_wait_for_a_large_one(monkeypatch):
    monkeypatch.setattr(model, "store", lambda: None)
    small, large = model.Model(TITLE, ""), model.Model(TITLE, "")
    before, asked, fitted = threads_of_blas(), [], []
    lock, fit = model._one_factorization, model.RidgeFactorization.fit
    watched = SimpleNamespace(
        acquire=lambda blocking: asked.append(blocking) or lock.acquire(blocking), release=lock.release
    )
    monkeypatch.setattr(model, "_one_factorization", watched)
    monkeypatch.setattr(model.RidgeFactorization, "fit", lambda *given, **how: fitted.append(0) or fit(*given, **how))
    with model._turn(model.UNQUEUED_SIZE + 1):
        small.start()
        until(lambda: small.ready or small.progress.error)
        assert small.ready
        monkeypatch.setattr(model, "UNQUEUED_SIZE", large.size - 1)
        large.start()
        until(lambda: len(asked) == 3)
        assert asked == [True, False, True]
        assert len(fitted) == 1
    until(lambda: large.ready)
    assert len(fitted) == 2
    until(lambda: threads_of_blas() == before)


def test_the_time_for_which_a_factorisation_waited_for_its_turn_is_not_its_own(monkeypatch):
    monkeypatch.setattr(model, "store", lambda: None)
    monkeypatch.setattr(model, "UNQUEUED_SIZE", 0)
    of = model.Model(TITLE, "")
    with model._turn(1):
        of.start()
        until(lambda: of.progress.seconds < 1)  # its thread has begun
        of.progress.started -= 1000
    until(lambda: of.ready)
    assert of.progress.seconds < 500


def test_the_time_for_which_a_process_waited_in_the_queue_is_not_told_as_its_own(monkeypatch):
    task = SimpleNamespace(state="running", message="stage", elapsed=7.0, estimate=90.0, share=0.07, cancel=None)
    of = SimpleNamespace(begun=True, ready=False, form="XᵀX", size=9, task=task, progress=model.Progress())
    of.progress.started -= 1000
    told = []
    monkeypatch.setattr(status_line.model, "model_of", lambda *_: of)
    monkeypatch.setattr(status_line.frame, "fragment", lambda function, run_every: function)
    monkeypatch.setattr(status_line.st, "caption", lambda text, **_: told.append(text))
    status_line.line(Settings(data=TITLE))
    assert "being factorised for 7 s of about 90 s, an estimate (stage)" in told[0]


def test_a_factorisation_that_was_made_elsewhere_meanwhile_is_not_told_as_made_here():
    first, second = model.Model(TITLE, ""), model.Model(TITLE, "")
    first.start()
    until(lambda: first.ready)
    assert not first.progress.from_cache
    until(lambda: model.store().get(first._key("factorization")))
    second.start()
    until(lambda: second.ready)
    assert second.progress.from_cache
    assert second.direct is None


def test_a_factorisation_that_waits_for_its_turn_is_not_told_as_being_made(monkeypatch):
    monkeypatch.setattr(model, "store", lambda: None)
    monkeypatch.setattr(model, "UNQUEUED_SIZE", 0)
    with model._turn(1):
        app = start().run()
        assert the_model().begun
        assert "not factorised yet (waiting): until then by Cholesky" in status(app)
        assert "being factorised" not in status(app)
    until(lambda: the_model().ready)


@pytest.mark.parametrize("in_work", [True, False])
def test_the_status_line_draws_the_page_anew_when_a_factorisation_begins_again_or_ends(monkeypatch, in_work):
    drawn, of = [], SimpleNamespace(begun=True, ready=False, form="XᵀX", size=9, task=None, again=None)
    of.progress = model.Progress(error="broken")
    monkeypatch.setattr(status_line.model, "model_of", lambda *_: of)
    monkeypatch.setattr(status_line.st, "rerun", lambda: drawn.append("anew"))

    def fragment(told, run_every):
        def both_runs():
            told()
            assert drawn == []
            of.progress.error = None if of.progress.error else "broken"
            told()

        return both_runs

    monkeypatch.setattr(status_line.frame, "fragment", fragment)
    of.progress.error = None if in_work else "broken"
    status_line.line(Settings(data=TITLE))
    assert drawn == ["anew"]


def test_the_last_answer_of_another_data_set_is_not_told():
    app = start()
    assert "Last answer in" in status(app)
    app.switch_page("pages/data.py").run()
    assert "Last answer in" in status(app)
    _, seconds = app.session_state[answers.LAST_ANSWER]
    app.session_state[answers.LAST_ANSWER] = Settings(data="another"), seconds
    app.run()
    assert "Last answer in" not in status(app)


@pytest.mark.parametrize(
    ("n_bytes", "solved"),
    [(answers.SCORE_BYTES // 3, [1, 2, 3, 4, 2]), (1, [1, 2, 3, 4, 5, 4])],
    ids=["large", "small"],
)
def test_scores_are_kept_up_to_a_number_of_bytes_and_a_few_those_asked_for_last(n_bytes, solved):
    asked = []

    def scores_of(X: object, P: object, reg_lambda: float) -> np.ndarray:
        asked.append(reg_lambda)
        return np.empty(n_bytes, np.uint8)

    answers.scores_on_test.cache.clear()
    of = SimpleNamespace(
        full=MADE,
        dataset=MADE,
        ready=True,
        direct=None,
        projection=None,
        factorization=SimpleNamespace(scores_of=scores_of),
    )
    for reg_lambda in (1, 2, 3, 1, 4, 1, 3, 2, *((5, 4) if n_bytes == 1 else ())):
        answers.scores_on_test(of, reg_lambda)
    assert asked == solved


def test_a_model_larger_than_the_cache_is_made_once(monkeypatch):
    class Large:
        n_bytes = 2 * model.model_bytes()

        def __init__(self, *_: str) -> None:
            pass

    monkeypatch.setattr(model, "Model", Large)
    assert the_model() is the_model()


def test_an_answer_that_outlives_its_model_is_given_with_the_present_one():
    settings = Settings(data=TITLE)
    before = answers._answer(settings, ())
    model.model_of.cache.clear()
    after = answers._answer(settings, ())
    assert after.model is the_model()
    assert after.model is not before.model
    assert after.evaluation is before.evaluation


def test_the_cache_on_disk_is_told_and_cleared_on_the_data_page(monkeypatch, tmp_path):
    kept = Store(tmp_path / "cache")
    monkeypatch.setattr(model, "store", lambda: kept)
    monkeypatch.setattr(data_cache, "store", lambda: kept)
    kept.put("another data set/factorization", {"a": np.zeros(1_000_000, np.int8)})
    app = start()
    # Beside the other's: the range of λ, the factorisation and, when it is ready, the projection.
    until(lambda: len(kept.entries()) == 4)
    app.switch_page("pages/data.py").run()
    own = sum(entry.bytes for entry in kept.entries()) - kept.entries()[0].bytes
    assert any(f"**{in_units(kept.size())}** of at most" in each.value for each in app.markdown)
    assert any(f"of them, {in_units(own)}, of the data set in use" in each.value for each in app.markdown)
    size = kept.size()
    app.button(key="clear_cache").click().run()
    assert not app.exception
    assert kept.entries() == []
    assert app.success[0].value == f"{in_units(size)} removed."
    assert app.button(key="clear_cache").disabled
    assert any("0 results" in each.value for each in app.markdown)


@pytest.mark.usefixtures("in_a_process")
def test_a_cache_that_is_cleared_while_another_process_factorises_leaves_it_what_it_needs(monkeypatch):
    monkeypatch.setattr(data_cache, "store", model.store)
    app = start()
    process = running_process(app)
    model.store().put("another data set/factorization", {"a": np.zeros(1_000)})
    app.switch_page("pages/data.py").run()
    app.button(key="clear_cache").click().run()
    assert not app.exception
    assert "are in use and stay" in app.success[0].value
    keys = [entry.key for entry in model.store().entries()]
    assert {key.split("/")[0] for key in keys} == {the_model().full.fingerprint}
    os.kill(process.pid, signal.SIGCONT)
    until(lambda: the_model().ready or the_model().progress.error)
    assert the_model().progress.error is None
    until(lambda: not model.in_use_on_disk())
