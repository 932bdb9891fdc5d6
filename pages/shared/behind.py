"""Work that fills in behind the page: one thread for the whole server, which steps aside for visitors.

What a page cannot begin without has a thread of its own, which does not.

A thread takes the next step of the work that a page asked for last. Asking again, as every poll of a page does, is
what keeps a piece of work going; when its visitors have moved the sliders on, it stays as far as it got for a while.
Then it is let go, unless it is finished: its steps hold a model, of some GB perhaps, that nothing else may need.
A long step that nobody waits for any more is given up where somebody waits for other work, and begins anew when asked.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from pages.shared.failures import in_words
from pages.shared.sizes import held_bytes

Step = TypeVar("Step")
FILLED_BYTES = 64 << 20
POLL_SECONDS = 2.0
_FORGOTTEN_AFTER = 3 * POLL_SECONDS
_LET_GO_AFTER = 120.0  # a tab that is hidden polls once a minute
QUIET_SECONDS = 1.5  # after a page was drawn: its browser still has work, and its visitor may go on at once


class Superseded(Exception):
    """Nobody waits any more for the work of this step, and somebody for other work."""


class Filling(Generic[Step]):
    """Results that arrive one by one.

    Attributes:
        results: what has arrived, in the order of its arrival.
        n_steps: how many will come.
        error: why the work ended early, or None.
        reported: how much of the whole work is done, where one that takes long within a step reports it.
        awaited: whether a page shows nothing before this is there; it then does not step aside for visitors.
    """

    def __init__(
        self, make_steps: Callable[[], Iterator[Step]], n_steps: int, works_with: int = 0, awaited: bool = False
    ) -> None:
        self.results: list[Step] = []
        self.n_steps = n_steps
        self.error: str | None = None
        self.reported = 0.0
        self.wanted = self.asked_for = 0.0
        self.in_step, self.awaited = False, awaited
        self._began = self._ended = None
        self._works_with, self._results_bytes = works_with, 0
        self._make_steps: Callable[[], Iterator[Step]] | None = make_steps
        self._steps: Iterator[Step] | None = None

    @property
    def done(self) -> bool:
        """Whether nothing more will come."""
        return self.error is not None or len(self.results) >= self.n_steps

    @property
    def fraction(self) -> float:
        """How much of the work is done, from 0 to 1."""
        return min(max(len(self.results) / max(self.n_steps, 1), self.reported), 1.0)

    @property
    def n_bytes(self) -> int:
        """About what its results hold and, until it is done, what it works with."""
        return self._results_bytes + (0 if self.done else self._works_with)

    @property
    def begun(self) -> bool:
        """Whether its first step has begun."""
        return self._began is not None

    @property
    def seconds(self) -> float:
        """Seconds since its first step began, until now or until it was done."""
        return 0.0 if self._began is None else (self._ended or time.monotonic()) - self._began

    def step(self) -> None:
        """Takes the next step; only a worker calls this."""
        _at_work.filling, self.in_step = self, True
        self._began = self._began or time.monotonic()
        try:
            if self._steps is None:
                self._steps = self._make_steps()
            result = next(self._steps)
            self._results_bytes += held_bytes(result)
            self.results.append(result)
        except StopIteration:
            self.n_steps = len(self.results)
        except Superseded:
            self.results, self._results_bytes, self.reported, self._steps = [], 0, 0.0, None
        except Exception as error:  # a thread has nobody to raise to: `show.failure` tells it on the page
            self.error = in_words(error, "these data")
        finally:
            _at_work.filling, self.in_step = None, False
        if self.done:  # what was worked with, a model of some GB perhaps, is not kept for the results' sake
            self._make_steps = self._steps = None
            self._ended = time.monotonic()


_at_work = threading.local()  # its filling: whose step this thread takes
_fillings: OrderedDict[object, Filling] = OrderedDict()  # the one asked for last at the end
_changed = threading.Condition()
_workers: list[threading.Thread] = []


def filling(
    key: object, make_steps: Callable[[], Iterator[Step]], n_steps: int, works_with: int = 0, awaited: bool = False
) -> Filling[Step]:
    """The work of that key, made at the first call; it is not worked on before somebody wants it.

    works_with: about the bytes that it holds, beside its results, until it is done. awaited: as in `Filling`.

    Of all work, what was asked for last is kept, as much as FILLED_BYTES take, and what a page still shows: works of
    one page that are larger together would else push each other out at every poll, and none would ever be done.
    """
    with _changed:
        if not _workers:
            for awaited_ones, name in ((False, "fill in behind the pages"), (True, "what pages wait for")):
                _workers.append(threading.Thread(target=_work, args=(awaited_ones,), name=name, daemon=True))
                _workers[-1].start()
        if key not in _fillings:
            _fillings[key] = Filling(make_steps, n_steps, works_with, awaited)
        _fillings.move_to_end(key)
        now = _fillings[key].asked_for = time.monotonic()
        _let_go()
        for old, work in list(_fillings.items())[:-1]:
            held = sum(each.n_bytes for each in _fillings.values())
            if held <= FILLED_BYTES or work.asked_for > now - _FORGOTTEN_AFTER:
                break
            del _fillings[old]
        return _fillings[key]


def _let_go() -> None:
    """Takes out what is not finished and nobody asks for any more; a step that has begun may yet finish it."""
    since = time.monotonic() - _LET_GO_AFTER
    for key, work in list(_fillings.items()):
        if not work.done and not work.in_step and work.asked_for < since:
            del _fillings[key]


def forget(work: Filling) -> None:
    """Lets go of work, so that it begins anew when it is asked for again."""
    with _changed:
        for key in [key for key, each in _fillings.items() if each is work]:
            del _fillings[key]


def want(work: Filling) -> None:
    """Asks for the next steps of this work before all others, for the next few seconds."""
    with _changed:
        work.wanted = time.monotonic()
        _changed.notify_all()


_visitors_waiting = 0
_last_visit = -QUIET_SECONDS
_visitors_lock = threading.Lock()


@contextmanager
def visitor_first() -> Iterator[None]:
    """Marks that a visitor waits, so that work in the background steps aside, now and for a moment after."""
    global _visitors_waiting, _last_visit
    with _visitors_lock:
        _visitors_waiting += 1
    try:
        yield
    finally:
        with _visitors_lock:
            _visitors_waiting -= 1
            _last_visit = time.monotonic()


def visitors_waiting() -> bool:
    """Whether a visitor waits for a page at this moment, or has just got one."""
    return bool(_visitors_waiting) or time.monotonic() - _last_visit < QUIET_SECONDS


def step_aside(done: float | None = None) -> None:
    """Waits while a visitor waits; work that takes long within one step calls it in between.

    done: how much of the whole work is done, for those who look at it meanwhile. Raises Superseded, which ends the step
    and is for nobody else to catch, where other work is waited for and this is not.
    """
    if work := getattr(_at_work, "filling", None):
        if done is not None:
            work.reported = done
        with _changed:
            wanted = _wanted(work.awaited)
        if wanted and work not in wanted:
            raise Superseded
    while visitors_waiting():
        time.sleep(0.02)


def _wanted(awaited: bool) -> list[Filling]:
    """What somebody waits for, of the work of one thread."""
    since = time.monotonic() - _FORGOTTEN_AFTER
    return [work for work in _fillings.values() if work.awaited == awaited and not work.done and work.wanted > since]


def _work(awaited: bool) -> None:
    while True:
        with _changed:
            _let_go()
            if not (wanted := _wanted(awaited)):
                _changed.wait(_LET_GO_AFTER)
                continue
        if not awaited:
            step_aside()
        max(wanted, key=lambda work: work.wanted).step()
