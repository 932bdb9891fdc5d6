"""Work that the Data page starts and need not wait for: reading an upload, a download, a sample.

A piece of work runs in a thread of its own and leaves its result in a plain object that pages poll.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st
from cachetools import LRUCache

from pages.shared import behind
from pages.shared.failures import in_words
from pages.shared.sources import refuse_unusable
from xmlcore import Dataset, default_recipe
from xmlcore.cost import Outline, outline
from xmlcore.downloads import DownloadProgress
from xmlcore.profile import Profile, profile
from xmlcore.readers import Recognition
from xmlcore.units import in_units

Result = TypeVar("Result")
AT_ONCE_SECONDS = 1.5  # work that ends within it needs no poll


@dataclass(frozen=True, eq=False)
class Found:
    """What was found in files, or under a name, before anybody decides to use it.

    Attributes:
        name: of the data set.
        profile, outline: of it, with features as given. recipe: the features that suit it.
        dataset: the data itself where it came from the visitor; None where the catalog can give it again.
        recognition: what format the files are in, where they are files.
        notes: what the reader wants people to know.
        error: why there is no data set, or None; the other parts are None then.
    """

    name: str
    profile: Profile | None = None
    outline: Outline | None = None
    recipe: str = "raw"
    dataset: Dataset | None = None
    recognition: Recognition | None = None
    notes: tuple[str, ...] = ()
    error: str | None = None


def found_in(data: Dataset, *, keep: bool, recognition: Recognition | None = None) -> Found:
    """What is in a data set; the data itself only where it is to be kept. Raises DataError where it is of no use."""
    recipe = str(default_recipe(data))
    refuse_unusable(data, recipe)
    return Found(
        data.name,
        profile(data),
        outline(data),
        recipe,
        data if keep else None,
        recognition,
        data.notes,
    )


class Job(Generic[Result]):
    """A function that runs in a thread of its own.

    Attributes:
        result: what it returned, once done. error: why it failed, in words, or None.
        progress: of the download that is part of it.
    """

    def __init__(self, work: Callable[[DownloadProgress], Result]) -> None:
        self.result: Result | None = None
        self.error: str | None = None
        self.progress = DownloadProgress()
        self.started = time.monotonic()
        self._work = work
        self._over = threading.Event()
        threading.Thread(target=self._run, name="data page", daemon=True).start()

    def _run(self) -> None:
        try:
            self.result = self._work(self.progress)
        except Exception as error:
            self.error = in_words(error, "the data")
        finally:
            self._over.set()

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._over.is_set()

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.monotonic() - self.started

    def wait(self, seconds: float = AT_ONCE_SECONDS) -> bool:
        """Waits so long at most; whether it has ended."""
        return self._over.wait(seconds)


_shared: LRUCache[str, Job] = LRUCache(64)
_lock = threading.Lock()


def shared_job(key: str, work: Callable[[DownloadProgress], Result] | None = None) -> Job[Result] | None:
    """The job of that key, which all visitors share; with `work`, it is started unless it runs or has succeeded."""
    with _lock:
        job = _shared.get(key)
        if work is not None and (job is None or (job.done and job.error is not None)):
            job = _shared[key] = Job(work)
        return job


def watch(job: Job, text: str) -> None:
    """Shows that a job is at work, and draws the page anew when it has ended."""

    def line() -> None:
        if job.done:
            st.rerun()
        bar = progress_of(job.progress)
        if bar is None:
            st.info(f"{text} for {job.seconds:.0f} s. You may go on meanwhile.", icon=":material/hourglass_top:")
        else:
            share, words = bar
            st.progress(share, text=f"{text}: {words}")

    st.fragment(line, run_every=behind.POLL_SECONDS)()


def progress_of(progress: DownloadProgress) -> tuple[float, str] | None:
    """The share done and what is being fetched; None before the first file and after the last."""
    if not progress.files or progress.files_done >= progress.files:
        return None
    part = progress.done / progress.total if progress.total else 0.0
    total = f" of {in_units(progress.total)}" if progress.total else ""
    words = (
        f"file {min(progress.files_done + 1, progress.files)} of {progress.files}, {progress.file}, "
        f"{in_units(progress.done)}{total}"
    )
    return min((progress.files_done + part) / progress.files, 1.0), words
