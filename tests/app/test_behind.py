"""Work behind the pages: what is kept of it stays within its bytes, and what failed is told and can be tried again."""

import itertools
import re
import threading
import time
import weakref
from collections import OrderedDict
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from pages.shared import answers, behind, compression, model, paths, sample, search
from pages.shared.frame import plain_markdown
from pages.shared.settings import Settings
from pages.shared.sizes import held_bytes
from tests.app.helpers import only_data_set, start, texts, until
from xmlcore import evaluate_scores, solve_direct
from xmlcore.sampling import sample_interval
from xmlcore.synthetic import make_dataset

SECONDS = 40
TITLE, MADE = "Made", make_dataset("bibtex", scale=0.2)


@pytest.fixture
def made(monkeypatch):
    """One small data set, answered on a sample of its test instances, of which nothing is ready yet."""
    monkeypatch.setattr(model, "SAMPLE_SCORES", 220 * MADE.n_labels)
    with only_data_set(monkeypatch, TITLE, MADE):
        yield


@pytest.fixture
def fillings(monkeypatch):
    """No work behind the pages but a test's own."""
    mine = OrderedDict()
    monkeypatch.setattr(behind, "QUIET_SECONDS", 0.0)  # a test is a visitor who asks all the time
    monkeypatch.setattr(behind, "_fillings", mine)
    return mine


def all_of(work: behind.Filling) -> list:
    while not work.done:
        work.step()
    assert work.error is None
    return work.results


def test_a_result_is_counted_with_all_that_it_holds():
    point = paths.Point(1.0, {"precision": {1: 0.5}}, {})
    array = np.zeros((3, 5))
    assert held_bytes(array) == 120
    assert held_bytes([array, {"a": array}]) > 240
    assert held_bytes(point) > held_bytes(paths.Point(1.0, {}, {})) > 0
    words = ["a word of a thousand letters".ljust(1_000), "another".ljust(1_000)]
    for kind in (object, np.dtypes.StringDType()):
        assert held_bytes(np.array(words, kind)) > 2_000
    matrix = sparse.csr_array((1_000, 3))
    assert held_bytes(matrix) >= matrix.indptr.nbytes > 4_000


def test_of_all_work_what_was_asked_for_last_is_kept_within_its_bytes(fillings, monkeypatch):
    monkeypatch.setattr(behind, "_FORGOTTEN_AFTER", 0.0)
    part = behind.FILLED_BYTES // 4
    for key in range(3):
        all_of(behind.filling(key, lambda: iter([np.zeros(part + 8, np.int8)]), 1))
    behind.filling(0, iter, 1)
    behind.filling("another", lambda: iter([np.zeros(part)]), 1, works_with=part)
    assert list(fillings) == [2, 0, "another"]


def test_works_of_one_page_that_are_larger_together_do_not_push_each_other_out(fillings):
    def asked() -> list[behind.Filling]:
        return [behind.filling(key, lambda: iter([1.0]), 1, works_with=behind.FILLED_BYTES) for key in range(3)]

    assert asked() == asked()
    assert len(fillings) == 3


def test_unfinished_work_counts_what_it_works_with_until_it_is_done():
    work = behind.Filling(lambda: iter([1.0]), 1, works_with=1_000_000)
    assert work.n_bytes == 1_000_000
    assert all_of(work) == [1.0]
    assert work.n_bytes < 100


class Model:
    """What the steps of some work hold."""


def endless(of: Model):
    for step in itertools.count():
        yield step, of is None


def test_unfinished_work_that_nobody_asks_for_any_more_goes_with_its_model_and_finished_work_stays(fillings):
    model = Model()
    gone = weakref.ref(model)
    left, finished = (behind.filling(key, partial(endless, model), n) for key, n in (("left", 9), ("finished", 1)))
    for work in (left, finished):
        work.step()
        work.asked_for -= 2 * behind._LET_GO_AFTER
    del model, left, work
    behind.filling("another", iter, 1)
    assert list(fillings) == ["finished", "another"]
    assert gone() is None
    assert behind.filling("finished", iter, 1) is finished


def test_work_that_is_asked_for_again_just_in_time_stays_as_far_as_it_got(fillings):
    work = behind.filling("left", partial(endless, Model()), 9)
    work.step()
    work.asked_for -= 2 * behind._LET_GO_AFTER
    assert behind.filling("left", iter, 9) is work


def test_work_is_not_let_go_within_a_step_that_may_finish_it(fillings):
    def long_step():
        work.asked_for -= 2 * behind._LET_GO_AFTER
        behind.filling("another", iter, 1)
        yield 1.0

    work = behind.filling("left", long_step, 1)
    assert all_of(work) == [1.0]
    assert list(fillings) == ["left", "another"]


def wanted_until(work: behind.Filling, there) -> None:
    """Waits as a page does that polls: the thread behind may come to the work late on a busy machine."""
    until(lambda: behind.want(work) or there())


@pytest.mark.usefixtures("fillings")
def test_a_long_step_that_nobody_waits_for_gives_way_to_other_work_and_begins_anew_when_asked(monkeypatch):
    monkeypatch.setattr(behind, "_FORGOTTEN_AFTER", 0.3)
    may_end, begun = threading.Event(), []

    def long_step():
        begun.append(time.monotonic())
        while not may_end.wait(0.02):
            behind.step_aside(0.5)
        yield 1.0

    left, other = behind.filling("left", long_step, 1), behind.filling("other", lambda: iter([2.0]), 1)
    wanted_until(left, lambda: left.reported == 0.5)
    time.sleep(2 * behind._FORGOTTEN_AFTER)
    assert (len(begun), left.reported) == (1, 0.5)  # as long as nobody waits for anything else it goes on
    wanted_until(other, lambda: other.done)
    assert (other.results, left.results, left.reported, left.error) == ([2.0], [], 0.0, None)
    may_end.set()
    wanted_until(left, lambda: left.done)
    assert (left.results, len(begun)) == ([1.0], 2)


@pytest.mark.usefixtures("fillings")
def test_the_last_work_is_let_go_though_no_visitor_comes_any_more(monkeypatch):
    monkeypatch.setattr(behind, "_LET_GO_AFTER", 0.3)
    monkeypatch.setattr(behind, "_FORGOTTEN_AFTER", 0.1)
    model = Model()
    gone = weakref.ref(model)
    behind.want(behind.filling("last", partial(endless, model), 10**9))
    del model
    until(lambda: gone() is None)
    assert gone() is None


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.usefixtures("made", "fillings")
def test_the_curves_of_compress_count_the_answer_that_they_work_with(monkeypatch, quick):
    monkeypatch.setattr(compression, "is_quick", lambda model: quick)
    answer = answers._answer(Settings(TITLE), ())
    assert compression.curves(answer).n_bytes == answer.n_bytes > 0


@pytest.mark.usefixtures("made", "fillings")
def test_another_k_does_not_evaluate_all_test_instances_anew_but_whatever_else_matters_does():
    def work_at(metric_AB=(), **changes) -> behind.Filling:
        return sample.whole_test_set(answers._answer(replace(Settings(TITLE), **changes), metric_AB))

    assert work_at(K=7) is work_at()
    others = [
        work_at(reg_lambda=2.0),
        work_at(own_lambda_ps=True, reg_lambda_ps=2.0),
        work_at(A=0.7),
        work_at(B=2.0),
        work_at(metric_AB=(0.7, 2.0)),
        work_at(features="unit"),
    ]
    assert len({work_at(), *others}) == 1 + len(others)


@pytest.mark.usefixtures("made", "fillings")
def test_the_numbers_of_all_test_instances_are_there_at_once_for_another_k():
    app = start()
    until(lambda: "On all" in texts(app.run()))
    app.sidebar.slider(key="K").set_value(7).run()
    assert not app.exception
    scores = solve_direct(MADE.X_train, MADE.Y_train, MADE.X_test, 3.0)
    ones = np.ones(MADE.n_labels)
    expected = 100 * evaluate_scores(scores, MADE.Y_test, ones, ones, (7,)).ridge.metrics["precision"][7]
    told = texts(app).split("test instances: P@7 ")[1]
    assert float(told.split(" %")[0]) == pytest.approx(expected, abs=0.03)


@pytest.mark.usefixtures("made")
def test_a_path_keeps_metrics_only_and_an_answer_is_counted_whole(fillings):
    answer = answers._answer(Settings(TITLE), ())
    answer.model.start()
    until(lambda: answer.model.ready)
    for work in paths.paths(answer):
        results = all_of(work)
        assert held_bytes(results) < 50_000 * len(results)
        assert work.n_bytes < 2_000_000
    evaluation = answer.evaluation
    arrays = (evaluation.ridge.top, evaluation.ps.top, evaluation.ridge.label_hits, evaluation.ps.label_hits)
    assert answers._evaluated.cache.currsize >= sum(array.nbytes for array in arrays) + 2 * answer.theta.nbytes


@pytest.mark.parametrize(
    ("page", "address", "module", "function", "told"),
    [
        ("tune", {}, paths, "lambda_path", "The path"),
        ("tune", {}, paths, "held_out_path", "The path"),
        ("tune", {"search": "true"}, search, "search_settings", "The search"),
        ("tune", {}, sample, "evaluate_streamed", "The evaluation of all test instances"),
        ("compress", {}, compression, "_quick_steps", "The compression"),
    ],
)
@pytest.mark.usefixtures("made", "fillings")
def test_work_that_fails_behind_a_page_is_told_there_and_can_be_tried_again(
    monkeypatch, page, address, module, function, told
):
    def broken(*_, **__):
        raise ValueError("this is broken")

    whole = getattr(module, function)
    monkeypatch.setattr(module, function, broken)
    app = start(**address)
    until(lambda: model.model_of(TITLE, "").ready)
    if page != "tune":
        app.switch_page(f"pages/{page}.py")

    def errors() -> list[str]:
        assert not app.run().exception
        return [each.value for each in app.error]

    text = plain_markdown(f"{told} ended early: an unforeseen ValueError; please report it with these data")
    until(lambda: text in errors())
    monkeypatch.setattr(module, function, whole)
    next(each for each in app.button if each.label == "Try again").click().run()
    until(lambda: not errors() and not any(work.error for work in behind._fillings.values()))


@pytest.mark.usefixtures("made", "fillings")
def test_numbers_of_a_sample_have_an_interval_for_both_variants():
    app = start(A="0.9", K="4")
    answer = answers._answer(Settings(TITLE, A=0.9, K=4), ())
    told = next(each.value for each in app.caption if "95 % intervals" in each.value)
    for name, theta in (("P@4", None), ("PSP@4", answer.metric_theta)):
        widths = [
            100 * sample_interval(top, answer.dataset.Y_test, 4, MADE.n_test, theta)
            for top in (answer.evaluation.ridge.top, answer.evaluation.ps.top)
        ]
        assert min(widths) > 0
        assert re.search(rf"\b{name} ± {widths[0]:.2f} and, with PS, ± {widths[1]:.2f}[.;]", told)


def test_work_that_fails_is_logged_but_not_when_the_server_stops(caplog):
    def fail(text):
        raise RuntimeError(text)
        yield

    for text in ("cannot schedule new futures after interpreter shutdown", "no room"):
        work = behind.Filling(lambda text=text: fail(text), 3)
        work.step()
        assert work.error == "an unforeseen RuntimeError; please report it with these data"
    assert [record.exc_info[1].args[0] for record in caplog.records] == ["no room"]
