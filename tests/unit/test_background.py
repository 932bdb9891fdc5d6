"""Long work in another process: what comes back, real kills, two servers, and that nothing outlives its server."""

import os
import re
import select
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.unit import background_jobs as jobs
from xmlcore import background
from xmlcore.background import queue, submit
from xmlcore.checks import DataError
from xmlcore.store import Store, put_features

LONG = 200  # seconds until a test gives up


@pytest.fixture
def store(tmp_path):
    yield Store(tmp_path / "cache", max_bytes=10_000_000)
    for task in queue():
        task.cancel()


@pytest.fixture
def go(tmp_path):
    path = tmp_path / "go"
    os.mkfifo(path)
    return str(path)


def finished(task):
    assert task.wait(LONG), f"{task.key} is still {task.state}"
    return task


def polled(task, pattern):
    """The first group of the pattern in the task's message, once it is there; polled as a page does."""
    for _ in range(LONG * 50):
        if found := re.search(pattern, task.message):
            return found[1]
        if task.wait(0.02):
            pytest.fail(f"{task.key} is {task.state}: {task.message}")
    pytest.fail(f"{task.key} says {task.message!r}")


def wait_until_gone(pid):
    """Waits for a process that is not our child to end."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([handle], [], [], LONG)[0], f"process {pid} lives on"
    os.close(handle)


def test_large_arrays_go_both_ways_through_the_store(store):
    X = sparse.random_array((40, 30), density=0.2, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
    assert put_features(store, "X", X)
    task = finished(submit("sums", jobs.row_sums, {"key": "X"}, store=store))
    assert task.result == {"rows": 40}
    np.testing.assert_allclose(store.get("sums")[0]["sums"], X.toarray().sum(axis=1), rtol=1e-6)


def test_the_process_is_fresh_of_low_priority_and_has_one_thread(store):
    seen = finished(submit("who", jobs.describe, {}, store=store)).result
    assert seen["nice"] == 19
    assert seen["threads"] == ["1", "1", "1"]
    assert seen["main"] is None, "a main script would be the server's"
    assert not seen["streamlit"]
    assert seen["folder"] == str(store.folder)
    assert seen["group"] == seen["pid"], "Ctrl-C in the server's terminal is not for it"
    assert seen["session"] == os.getsid(0), "Linux shares time between sessions before it looks at priorities"


def test_one_key_is_one_task_with_one_result_for_everybody_until_it_is_started_again(store):
    first = submit("add", jobs.add, {"a": 2, "b": 3}, store=store)
    assert submit("add", jobs.add, {"a": 2, "b": 3}, store=store) is first
    assert (finished(first).state, first.result, first.share) == ("done", {"sum": 5}, 1.0)
    assert submit("add", jobs.add, {"a": 2, "b": 3}, store=store) is first
    second = submit("add", jobs.add, {"a": 2, "b": 4}, store=store, again=True)
    assert second is not first
    assert finished(second).result == {"sum": 6}


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        (jobs.fail, {"text": "λ is too small"}, "λ is too small"),
        (jobs.keep_squares, {"n": 10_000_000}, "may hold 10 MB"),
    ],
)
def test_a_function_that_raises_has_failed_and_says_why(store, function, args, message):
    task = finished(submit("fails", function, args, store=store))
    assert task.state == "failed"
    assert message in task.message
    assert task.result is None


def test_a_killed_process_has_died_and_can_be_started_again(store, go):
    task = submit("long", jobs.until_there, {"go": go}, store=store)
    pid = int(polled(task, r"pid (\d+)"))
    assert task.state == "running"
    assert 1000 < task.estimate < 1000 + LONG, "the process said that it needs 1000 seconds more"
    assert task.share < 0.5
    os.kill(pid, signal.SIGKILL)
    finished(task)
    assert task.state == "died"
    assert "killed (SIGKILL)" in task.message
    assert "started again" in task.message
    assert task.elapsed == task.elapsed > 0
    assert 0 < task.share < 1
    assert submit("long", jobs.until_there, {"go": go}, store=store) is task, "a page that polls must not revive it"
    wait_until_gone(pid)
    with pytest.raises(ChildProcessError):  # it was reaped: this process has no child left
        os.waitpid(pid, os.WNOHANG)
    again = submit("long", jobs.until_there, {"go": go}, store=store, again=True)
    polled(again, r"pid (\d+)")
    with open(go, "w"):
        finished(again)
    assert again.state == "done"


def test_a_process_that_ends_without_an_answer_has_died(store):
    task = finished(submit("leaves", jobs.leave, {"code": 0}, store=store))
    assert task.state == "died"
    assert "exit code 0" in task.message


def test_a_running_task_is_cancelled_at_once_and_the_next_that_is_not_gets_its_turn(store):
    first = submit("first", jobs.hold_everything, {}, store=store, title="the first")
    second = submit("second", jobs.keep_squares, {"n": 3}, store=store)
    third = submit("third", jobs.add, {"a": 2, "b": 1}, store=store)
    pid = int(polled(first, r"pid (\d+)"))
    assert queue() == [first, second, third]
    assert (second.state, second.message, second.elapsed) == ("queued", "waits for the first", 0)
    assert third.message == "waits for the first and 1 more"
    second.cancel()
    assert third.message == "waits for the first"
    first.cancel()
    assert (first.state, first.message) == ("cancelled", "cancelled")
    wait_until_gone(pid)
    assert finished(third).result == {"sum": 3}
    first.cancel()
    third.cancel()
    assert (first.state, second.state, third.state) == ("cancelled", "cancelled", "done")
    assert store.get("squares") is None, "a cancelled task never starts"
    assert queue() == []


def test_only_the_last_ended_tasks_are_remembered(store, monkeypatch):
    monkeypatch.setattr(background, "ENDED_KEPT", 2)
    monkeypatch.setattr(background, "_worker", threading.current_thread())  # so that none is started
    with background._changed:  # so that one that an earlier test has left takes nothing
        waiting = submit("waiting", jobs.add, {}, store=store)
        for number in range(4):
            submit(f"ended {number}", jobs.add, {}, store=store).cancel()
        submit("last", jobs.add, {}, store=store)
        known = [task.key for task in background._tasks.values() if task._store is store]
        assert known == ["waiting", "ended 2", "ended 3", "last"]
        assert [task.key for task in queue()] == ["waiting", "last"]
        assert waiting.message == "starts in a moment"


# The estimate


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=20), st.floats(1e-3, 1e6))
def test_the_share_grows_with_time_and_never_reaches_one_before_the_end(moments, expected):
    task = background.Task("k", "k", {}, None)
    task._hear("begun", expected)
    task._started, task.state = 0.0, "running"
    shares = []
    for moment in sorted(moments):
        task._ended = moment
        shares.append(task.share)
    assert shares == sorted(shares)
    assert all(0 <= share < 1 for share in shares)


def test_without_an_estimate_there_is_no_share(store):
    task = background.Task("k", "k", {}, None)
    assert (task.share, task.estimate, task.elapsed) == (None, None, 0.0)


# What cannot be started


def test_functions_that_another_process_cannot_import_are_refused(store):
    for function in (lambda store, report: None, jobs.add.__call__):
        with pytest.raises(DataError, match="cannot be imported by another process"):
            submit("k", function, {}, store=store)
    with pytest.raises(DataError, match="the arguments of 'k' must be JSON"):
        submit("k", jobs.add, {"a": np.zeros(3)}, store=store)


def test_a_process_that_cannot_be_started_is_a_failed_task_and_the_queue_goes_on(store, monkeypatch):
    monkeypatch.setattr("xmlcore.background.sys.executable", "/nowhere/python")
    tasks = [submit(f"task {number}", jobs.add, {"a": 1, "b": 1}, store=store) for number in range(2)]
    for task in tasks:
        assert finished(task).state == "failed"
        assert "/nowhere/python" in task.message


# Servers


SERVER = """
import sys

with open(sys.argv[1] + "/main-imports", "a") as marks:
    marks.write(__name__ + "\\n")

from tests.unit import background_jobs as jobs
from xmlcore.background import submit
from xmlcore.store import Store

task = submit("held", jobs.hold_everything, {}, store=Store(sys.argv[1] + "/cache"), title="a server's work")
while "pid" not in task.message:
    task.wait(0.02)
print(task.message, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def server(tmp_path):
    """A server in the middle of a computation that lets no other thread run, and the process id of its work."""
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    process = subprocess.Popen(
        [sys.executable, script, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    with process:
        said = process.stdout.readline()
        pid = int(re.fullmatch(rb"pid (\d+)\n", said)[1]) if said else pytest.fail(process.stderr.read().decode())
        yield process, pid
        process.kill()


def test_work_ends_with_a_server_that_ends_and_nothing_is_said_on_the_way_out(server):
    process, pid = server
    process.stdin.close()
    assert process.wait(LONG) == 0
    with pytest.raises(ProcessLookupError):  # the server itself ended and reaped it
        os.kill(pid, 0)
    assert process.stderr.read() == b""


def test_a_second_server_waits_its_turn_and_the_work_of_a_killed_server_ends(server, store, tmp_path):
    process, pid = server
    assert (tmp_path / "main-imports").read_text() == "__main__\n", "the work does not run the server's script again"
    mine = submit("mine", jobs.keep_squares, {"n": 3}, store=store)
    assert polled(mine, "waits for another program on this machine: (.*)") == "a server's work"
    assert mine.state == "queued"
    mine.cancel()
    after = submit("after", jobs.add, {"a": 1, "b": 1}, store=store)
    assert after.message == "waits for another program on this machine: a server's work"
    process.kill()
    wait_until_gone(pid)
    assert finished(after).result == {"sum": 2}
    assert store.get("squares") is None, "a cancelled task never starts"
