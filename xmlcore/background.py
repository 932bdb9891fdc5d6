"""Long work in a process of its own: one at a time on a machine, at low priority, shared by everybody who asks for it.

`submit(key, function, args)` gives a Task that a page polls. The process is a fresh interpreter that imports the
function's module and nothing of its parent's (not the script that a server runs). It gets its arguments as JSON and
large arrays through a Store, and answers the same way. It runs with one thread at the lowest priority, and the system
ends it first when memory runs out, so that the server stays quick and alive.

One thread of the server starts the tasks in turn, each under a lock on a file in the cache folder, so that two servers
with one cache queue too. The process holds that lock as well: should it outlive its server, it still counts.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from xmlcore.checks import DataError
from xmlcore.store import Store

State = Literal["queued", "running", "done", "failed", "cancelled", "died"]
Report = Callable[..., None]
"""Called by the work as report(message, seconds=None): what it is doing, and how many seconds more it takes."""

ENDED_KEPT = 50  # tasks that have ended are remembered, the last so many
_SHARE_AT_ESTIMATE = 0.95
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h

_changed = threading.Condition()  # guards all that follows and every Task's fields
_tasks: dict[tuple[str, str], Task] = {}  # by cache folder and key, in the order of the queue
_worker: threading.Thread | None = None
_holder: str | None = None  # what another program on this machine runs while our first task waits for it
_closing = False


class Task:
    """A piece of work and what has become of it. All of its attributes may be read at any time, from any thread.

    Attributes:
        key, title: what it is, for programs and for people.
        state: "queued", "running", and then one of "done", "failed" (the function raised), "cancelled", or "died" (its
            process was ended from outside).
        result: the JSON object that the function returned, once done.
    """

    def __init__(self, key: str, title: str, job: dict, store: Store) -> None:
        self.key, self.title = key, title
        self.state: State = "queued"
        self.result: dict | None = None
        self._said = ""
        self._expected: float | None = None
        self._job, self._store = job, store
        self._started: float | None = None
        self._ended: float | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._over = threading.Event()

    @property
    def message(self) -> str:
        """A sentence about it for people: what it waits for, what it is doing, or why it ended."""
        with _changed:
            if self.state != "queued":
                return self._said
            before = queue()[: queue().index(self)]
            if before:
                return f"waits for {before[0].title}" + (f" and {len(before) - 1} more" if before[1:] else "")
            return "starts in a moment" if _holder is None else f"waits for another program on this machine: {_holder}"

    @property
    def elapsed(self) -> float:
        """Seconds since its process started, until it ended; 0 while it is queued."""
        if self._started is None:
            return 0.0
        return (self._ended if self._ended is not None else time.monotonic()) - self._started

    @property
    def estimate(self) -> float | None:
        """The seconds that it is estimated to take in all; None where nobody knows."""
        return self._expected

    @property
    def share(self) -> float | None:
        """The share done, by the estimate; None without one. Never 1 before the end: what takes longer than estimated
        creeps from 0.95 on."""
        if self.state == "done":
            return 1.0
        if self._expected is None:
            return None
        ratio = self.elapsed / self._expected
        return _SHARE_AT_ESTIMATE * ratio if ratio < 1 else 1 - (1 - _SHARE_AT_ESTIMATE) / ratio

    def cancel(self) -> None:
        """Ends it at once, wherever it is in a computation. Nothing happens where it has ended."""
        with _changed:
            if self.state in ("queued", "running"):
                if self._process is not None:
                    self._process.kill()
                self._finish("cancelled", "cancelled")

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it has ended, at most timeout seconds; whether it has."""
        return self._over.wait(timeout)

    def _hear(self, message: str, seconds: float | None) -> None:
        with _changed:
            if not self._over.is_set():
                self._said = message
                if seconds is not None:
                    self._expected = self.elapsed + max(0.0, seconds)

    def _finish(self, state: State, message: str, result: dict | None = None) -> None:
        with _changed:
            if self._over.is_set():  # cancelled before
                return
            self._said, self.result, self._ended = message, result, time.monotonic()
            self.state = state
            self._over.set()


def submit(
    key: str,
    function: Callable[..., dict | None],
    args: Mapping[str, object],
    *,
    store: Store | None = None,
    title: str | None = None,
    again: bool = False,
) -> Task:
    """The task with this key: the one that there is, whatever its state, or a new one at the end of the queue.

    Args:
        key: equal keys are one task for all visitors of this server.
        function: called in the other process as `function(store, report, **args)`; a function at the top of a module
            that can be imported. It keeps large results in the store and returns a small JSON object. It should look
            into the store first: another server may have finished the same work while this one was queued.
            `report(message, seconds=None)` changes the task's message, and its estimate to that many seconds from now.
        args: JSON values. Large arrays go through the store: `put_features`, `get_features`.
        store: the cache to use, None for `Store()`.
        title: how people call it; None for the key.
        again: starts a new task where the one that there is has ended.

    Raises DataError where the function cannot be imported elsewhere or args are not JSON; StoreError where the cache
    folder cannot be used.
    """
    global _worker
    module, name = getattr(function, "__module__", "__main__"), getattr(function, "__qualname__", "")
    if module == "__main__" or not name.isidentifier():
        raise DataError(f"{function} cannot be imported by another process; expected a function at the top of a module")
    try:
        job = json.loads(json.dumps({"module": module, "function": name, "args": dict(args)}))
    except (TypeError, ValueError) as error:
        raise DataError(f"the arguments of {key!r} must be JSON: {error}") from error
    store = store if store is not None else Store()
    place = (str(store.folder), key)
    with _changed:
        task = _tasks.get(place)
        if task is not None and not (again and task._over.is_set()):
            return task
        _tasks.pop(place, None)
        task = _tasks[place] = Task(key, title or key, job, store)
        ended = [known for known, other in _tasks.items() if other._over.is_set()]
        for known in ended[:-ENDED_KEPT]:
            del _tasks[known]
        if _worker is None:
            _worker = threading.Thread(target=_work, name="xmlcore background", daemon=True)
            _worker.start()
        _changed.notify_all()
    return task


def queue() -> list[Task]:
    """The tasks of this server that run or wait, in the order in which they get their turn."""
    with _changed:
        return [task for task in _tasks.values() if not task._over.is_set()]


# The server's side


def _work() -> None:
    while True:
        with _changed:
            while not _closing and not queue():
                _changed.wait()
            if _closing:
                return
            task = queue()[0]
        try:
            with _one_on_this_machine(task) as lock:
                _run(task, lock)
        except Exception as error:  # this thread must go on with the next task, whatever this one did
            task._finish("failed", f"it could not be started: {error}")


@contextlib.contextmanager
def _one_on_this_machine(task: Task) -> Iterator[int]:
    """Waits for the lock that the running task of any server holds, and knows meanwhile what that is."""
    global _holder
    task._store.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(task._store.folder / "background.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _holder = os.pread(lock, 1000, 0).decode(errors="replace")
            fcntl.flock(lock, fcntl.LOCK_EX)
            _holder = None
        with contextlib.suppress(OSError):  # the text is a courtesy; a full disk must not stop the work
            os.ftruncate(lock, 0)
            os.pwrite(lock, task.title.encode()[:1000], 0)
        yield lock
    finally:
        os.close(lock)


def _run(task: Task, lock: int) -> None:
    """Starts the task's process, listens to it until it has ended, and reaps it."""
    with _changed:
        if task.state != "queued" or _closing:
            return
        code = "from xmlcore.background import run_job; run_job()"
        process = task._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | _ONE_THREAD | {"PYTHONPATH": os.pathsep.join(_importable())},
            pass_fds=(lock,),
            # Its own group, so that Ctrl-C ends the server and the server ends it; not its own session, because Linux
            # weighs sessions against each other before it looks at priorities.
            process_group=0,
        )
        task.state, task._said, task._started = "running", "starting", time.monotonic()
    outcome: dict = {}
    with process:  # closes the pipes and reaps
        with contextlib.suppress(BrokenPipeError):
            store = {"folder": str(task._store.folder), "max_bytes": task._store.max_bytes}
            process.stdin.write(json.dumps(task._job | {"store": store, "parent": os.getpid()}).encode() + b"\n")
            process.stdin.flush()
        for line in process.stdout:
            if line.endswith(b"\n"):  # else it was ended in the middle of a word
                said = json.loads(line)
                if "message" in said:
                    task._hear(**said)
                else:
                    outcome = said
    if "result" in outcome:
        task._finish("done", "done", outcome["result"])
    elif "error" in outcome:
        task._finish("failed", outcome["error"])
    else:
        task._finish("died", _how_it_ended(process.returncode))


def _importable() -> list[str]:
    """This process's import path, absolute, as PYTHONPATH can carry it, and with this package in it."""
    package = str(Path(__file__).resolve().parents[1])
    paths = [os.path.abspath(path) for path in sys.path]  # "" is the current directory
    return [path for path in dict.fromkeys([*paths, package]) if os.pathsep not in path]


def _how_it_ended(code: int) -> str:
    if code == -signal.SIGKILL:
        return "its process was killed (SIGKILL), as the system does when memory runs out; it can be started again"
    if code < 0:
        return f"its process was ended by signal {-code} ({signal.strsignal(-code)}); it can be started again"
    return f"its process ended without an answer (exit code {code}); it can be started again"


def _close() -> None:
    """At the server's end: nothing more is started, and what runs is ended and reaped."""
    global _closing
    with _changed:
        _closing = True
        running = [task._process for task in queue() if task._process is not None]
        _changed.notify_all()
    for process in running:
        process.kill()
        process.wait()
    if running and _worker is not None:
        _worker.join(timeout=2)


atexit.register(_close)


# The other process's side


def run_job() -> None:
    """What the other process runs: reads its job from standard input and writes lines of JSON to standard output."""
    # What the function prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(0, 65536)
        if not part:
            return
        line += part
    job = json.loads(line)
    _end_with(job["parent"])
    os.nice(19)  # not before: on a busy machine the imports would take minutes
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800")  # where memory runs out, this process goes first

    def say(answer: dict) -> None:
        answers.write(json.dumps(answer) + "\n")

    def report(message: str, seconds: float | None = None) -> None:
        say({"message": message, "seconds": seconds})

    try:
        function = getattr(importlib.import_module(job["module"]), job["function"])
        store = Store(job["store"]["folder"], job["store"]["max_bytes"])
        say({"result": function(store, report, **job["args"])})
    except Exception as error:  # whatever it is, the page shows it, and the server's log has the rest
        traceback.print_exc()
        say({"error": str(error) or type(error).__name__})


def _end_with(parent: int) -> None:
    """Makes this process end when the parent does.

    Linux kills it. Elsewhere a thread notices that standard input was closed, as soon as the computation lets other
    threads run: LAPACK calls do not.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
        if os.getppid() != parent:  # it ended before that call
            os._exit(1)

    def watch() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
