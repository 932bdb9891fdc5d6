"""A data set that is being made ready: in a thread, for which a page waits a while, then says how far it is, and polls.

Most are there at once. Sentence embeddings or an SVD of large data take minutes, in which a visitor may go on with
other data or other features.
"""

from __future__ import annotations

import threading
import time

import streamlit as st

from pages.shared import behind, frame, model
from pages.shared.failures import in_words
from pages.shared.model import Progress
from xmlcore import DataError

PATIENCE = 10.0  # seconds, from the beginning of the work
KEPT_SECONDS = 120.0  # an error, for those who poll: a tab that is hidden does so once a minute
AT_FIRST = (1e-2, 1e3)  # the λ slider's range until the data set's own is known


class Preparation:
    """A model that is being made.

    Attributes:
        progress: how far it is. over: set when it has ended. error: why it failed, in words, or None.
    """

    def __init__(self, title: str, features: str) -> None:
        self.title, self.features = title, features
        self.progress = Progress("the data are read")
        self.over = threading.Event()
        self.error: str | None = None
        threading.Thread(target=self._run, name=f"prepare {title}", daemon=True).start()

    def _run(self) -> None:
        try:
            model.model_of(self.title, self.features, self.progress)
        except Exception as error:
            self.error = in_words(error, "these features")
        finally:
            self.progress.finished = time.monotonic()
            self.over.set()

    @property
    def outdated(self) -> bool:
        """Whether how it ended says nothing of an attempt now, where the model is not in the cache.

        That is so where nobody came for its error in time, and where the model was there and has been pushed out.
        """
        if not self.over.is_set():
            return False
        return self.error is None or time.monotonic() - self.progress.finished > KEPT_SECONDS


_running: dict[tuple[str, str], Preparation] = {}
_lock = threading.Lock()


def prepare(title: str, features: str) -> Preparation | None:
    """None where the model is there, if need be after a while; else the work on it.

    Raises DataError where there can be none: the data cannot be had, the features do not suit it, or making it failed.
    """
    key = title, features
    with _lock:
        if key in model.model_of.cache:
            return None
        work = _running.get(key)
        if work is None or work.outdated:
            work = _running[key] = Preparation(title, features)
    with st.spinner("Preparing…", show_time=True):
        work.over.wait(max(0.0, PATIENCE - work.progress.seconds))
    if not work.over.is_set():
        return work
    with _lock:
        if _running.get(key) is work:
            del _running[key]
    if work.error is not None:
        raise DataError(work.error)
    return None


def lambda_range_of(title: str, features: str) -> tuple[float, float]:
    """The λ slider's range for a data set, a wide one as long as that is being made ready."""
    return AT_FIRST if prepare(title, features) else model.model_of(title, features).lambda_range


def show(work: Preparation) -> None:
    """The page as long as its data set is being made ready."""

    def told() -> None:
        if work.over.is_set():
            st.rerun()
        progress = work.progress
        text = (
            f"{frame.plain_markdown(work.title)} is being made ready: {progress.stage}, {progress.seconds:.0f} s so "
            "far. Meanwhile you can choose another data set or other features in the sidebar."
        )
        if progress.fraction is None:
            st.info(text, icon=":material/hourglass_top:")
        else:
            st.progress(min(progress.fraction, 1.0), text)

    frame.fragment(told, run_every=behind.POLL_SECONDS)()
