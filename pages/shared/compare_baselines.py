"""Baselines on the Compare page: trained behind the page at a visitor's wish, then compared like any other system."""

from __future__ import annotations

import threading

import streamlit as st
from cachetools import LRUCache

from pages.shared import behind, frame
from pages.shared.answers import Answer
from pages.shared.comparison import cut_to_answer
from pages.shared.model import store
from pages.shared.sizes import held_bytes
from xmlcore import DataError
from xmlcore.background import Task
from xmlcore.baselines import BASELINES, INSTALL, Baseline, BaselineResult, result, start
from xmlcore.predictions import Predictions
from xmlcore.units import counted, in_seconds

_TASKS: LRUCache[tuple[str, str], Task] = LRUCache(64)
RESULTS_BYTES = 64 << 20
# A result that is larger than the cache is kept alone: else it would be read and checked in every run of the page.
_RESULTS: LRUCache[tuple[str, str], BaselineResult | None] = LRUCache(
    RESULTS_BYTES, getsizeof=lambda found: min(held_bytes(found), RESULTS_BYTES)
)
_lock = threading.Lock()
RUNNING = ("queued", "running")
PROBLEM = "_baseline_problem"


def _result(answer: Answer, key: str) -> BaselineResult | None:
    """What the baseline predicted: looked for in the cache on disk once, and again when a task of ours is done."""
    place = (answer.model.full.fingerprint, key)
    with _lock:
        task, known = _TASKS.get(place), place in _RESULTS
        found = _RESULTS.get(place)
    if store() is None or (known and (found is not None or task is None or task.state != "done")):
        return found
    found = result(store(), answer.model.full, key)
    with _lock:
        _RESULTS[place] = found
    return found


def _task(answer: Answer, key: str) -> Task | None:
    with _lock:
        return _TASKS.get((answer.model.full.fingerprint, key))


def trained(answer: Answer) -> dict[str, Predictions]:
    """The baselines that have been trained on this data set, by title, as rankings of the answer's test instances."""
    found = {each.title: _result(answer, key) for key, each in BASELINES.items()}
    n_labels = answer.dataset.n_labels
    return {
        title: cut_to_answer(Predictions(title, each.top, each.scores, n_labels), answer)
        for title, each in found.items()
        if each is not None
    }


def is_training(answer: Answer) -> bool:
    """Whether a baseline of this data set waits or runs, so that the page has to look again."""
    tasks = [_task(answer, key) for key in BASELINES]
    return any(task is not None and task.state in RUNNING for task in tasks)


def section(answer: Answer) -> None:
    """Each baseline with what it is, what has become of it, and a button; polls while one is being trained."""
    st.header("Baselines, trained here")
    polls = is_training(answer)
    frame.fragment(_rows, run_every=behind.POLL_SECONDS if polls else None)(answer, polls)


def _rows(answer: Answer, polls: bool) -> None:
    if store() is None:
        st.info("Baselines need a cache folder on disk: set XMLCORE_CACHE to a folder of your own.")
        return
    if polls != is_training(answer):
        st.rerun()  # the whole page once more: it begins to look again, or has a new row in its table
    if PROBLEM in st.session_state:
        st.error(frame.plain_markdown(st.session_state.pop(PROBLEM)), icon=":material/error:")
    st.caption(
        "On the same features and training instances as ours, with their packages' recommended settings, in a process "
        "of its own on one thread at low priority, so their times cannot be compared with ours. The page stays usable, "
        "and what has been trained is kept, for every visitor of this server."
    )
    for each in BASELINES.values():
        with st.container(horizontal=True, vertical_alignment="center", key=f"baseline_{each.key}"):
            st.markdown(f"**{each.title}**  \n{each.text}  \n{_state(answer, each)}", width="stretch")
            _button(answer, each)
    absent = sorted({each.package for each in BASELINES.values() if not each.is_installed})
    if absent:
        st.info(
            f"Not installed: {' and '.join(absent)}. Baselines are an optional extra; in the project's folder type "
            f"`{INSTALL}` and start the dashboard again.",
            icon=":material/extension:",
        )


def _state(answer: Answer, baseline: Baseline) -> str:
    if not baseline.is_installed:
        return f":gray[{baseline.package} is not installed.]"
    task, found = _task(answer, baseline.key), _result(answer, baseline.key)
    if found is not None:
        rows = answer.model.full.n_test
        return (
            f"Trained in {in_seconds(found.train_seconds)}, predicted {counted(rows, 'test instance')} in "
            f"{in_seconds(found.predict_seconds)} ({1e6 * found.predict_seconds / rows:,.0f} ms for 1,000)."
        )
    if task is None:
        return ":gray[Not trained yet.]"
    if task.state == "running":
        return f"{task.elapsed:.0f} s: {task.message}."
    if task.state == "cancelled":
        return "Stopped by a visitor before it was done."
    if task.state == "done":  # somebody has cleared the cache before this page looked, or it had to make room
        return "Trained, but what it predicted is no longer in the cache on disk."
    return f"{task.state.capitalize()}: {task.message}."


def _button(answer: Answer, baseline: Baseline) -> None:
    key, title = baseline.key, baseline.title
    task = _task(answer, key)
    if task is not None and task.state in RUNNING:
        st.button(
            "Cancel",
            key=f"cancel_{key}",
            on_click=task.cancel,
            help=f"Stop training {title}, for every visitor of this server",
        )
    elif _result(answer, key) is None:
        st.button(
            f"Train {title}",
            key=f"train_{key}",
            on_click=_train,
            args=(answer, key),
            disabled=not baseline.is_installed,
        )


def _train(answer: Answer, key: str) -> None:
    try:
        task = start(store(), answer.model.full, key, again=True)
    except DataError as error:
        st.session_state[PROBLEM] = str(error)
        return
    with _lock:
        _TASKS[answer.model.full.fingerprint, key] = task
