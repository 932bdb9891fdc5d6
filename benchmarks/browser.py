"""What a visitor waits for, in a headless Chromium on Debtags: first numbers, and the answer to a control.

    python -m benchmarks.browser [start] [visit] [tune] [head_and_tail] [instances] [compress] [compare] [lecture]

An answer takes from the key that changes a control until the last frame in which the script was running or anything on
the page changed. Nothing comes from a cache: λ is drawn at random and typed, the sliders A and K go one step further
each time. Beside it, in the same run, the same kind of control on a page that has only both kinds of control and one
small chart. A first start takes from a new browser's first request to the twelve numbers on Tune: with neither cached
results nor compiled loops, then from a server started again with both. OPENBLAS_NUM_THREADS is left out of the servers'
environment, as it is where people start them.

A visit goes through the pages of the menu, several times over: from the key on a page's name to its last frame, the
first time, when some begin to compute, and later. Then the server's memory.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.measure import GB, number, resident, write_table
from pages.shared.frame import PAGES
from tests.browser.chromium import (
    FLAGS,
    NO_CHROMIUM,
    SECONDS,
    Server,
    chromium_path,
    slider,
    wait_until_factorised,
    wait_until_idle,
)

CHANGES, STARTS, ROUNDS = 10, 3, 5
CONTROLS = {"tune": "λAK", **dict.fromkeys(("head_and_tail", "instances", "compress", "compare", "lecture"), "λ")}
PARTS = ["start", "visit", *CONTROLS]
MENU = [entry.title for entry in (*PAGES[1:], PAGES[0])]  # a visit begins on the first page and ends there
VISIT_TARGET, MEMORY_TARGET = 1.0, 1.0  # seconds, GB
TARGETS = {"λ": 0.5, "A": 0.3, "K": 0.3}
START_TARGETS = {"without a cache": 10, "with one": 4}
EMPTY_PAGE = """
import plotly.graph_objects as go
import streamlit as st

height = st.slider("A", 0.0, 2.0, 0.55, 0.01) + st.number_input("λ, typed", 1e-9, 1e12, 3.0, format="%g")
st.plotly_chart(go.Figure(go.Bar(x=["first", "second"], y=[height, 1.0])))
"""

# Looks in every frame whether the script runs or anything was drawn since the last one. A script may be over so soon
# that the page never tells that it runs: a chart that is drawn anew is an answer, too.
WATCH = """() => {
    const app = document.querySelector("[data-test-script-state]");
    const runs = () => app.dataset.testScriptState !== "notRunning";
    let drawn = false;
    window.wait = {};
    document.addEventListener("keydown", event => { window.wait = {began: event.timeStamp}; }, true);
    new MutationObserver(changes => {
        drawn = true;
        window.wait.answered ||= runs() || changes.some(change => change.target.closest?.(".stPlotlyChart"));
    }).observe(document.body, {subtree: true, childList: true, characterData: true, attributes: true});
    const look = () => {
        if (drawn || runs()) window.wait.ended = performance.now();
        drawn = false;
        requestAnimationFrame(look);
    };
    look();
}"""
IDLE = "() => window.wait.answered && performance.now() - window.wait.ended > 500 && window.wait"


@contextmanager
def served(folder: Path, script: str | Path = "app.py", **environment: str) -> Iterator[Server]:
    """A server whose cache and log are in the folder."""
    folder.mkdir(exist_ok=True)
    server = Server(folder / "log.txt", folder / "cache", script, **environment)
    try:
        yield server
    finally:
        server.stop()


def new_visitor(browser: Browser, url: str) -> Page:
    """A page that was just asked for, in a profile of its own."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(SECONDS * 1000)
    page.goto(url, wait_until="commit")
    return page


def median_waits(page: Page, controls: str, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Each control, and the seconds from its change to the page's last frame."""
    page.evaluate(WATCH)
    for control in controls:
        waits = []
        for _ in range(CHANGES):
            if control == "λ":
                field = page.get_by_label("λ, typed", exact=True)
                field.fill(f"{10 ** rng.uniform(-1, 2.5):.6g}")
                field.press("Enter")
            else:
                slider(page, control).press("ArrowRight")
            waits.append(seconds_since_key(page))
        yield control, float(np.median(waits))


def seconds_since_key(page: Page) -> float:
    """Seconds from the last key that was pressed to the page's last frame, once it is idle."""
    wait = page.wait_for_function(IDLE, timeout=SECONDS * 1000, polling=50).json_value()
    assert page.locator("[data-testid='stException']").count() == 0
    return (wait["ended"] - wait["began"]) / 1000


def visits(browser: Browser, folder: Path) -> Iterator[str]:
    """The lines of the table of changes of page."""
    yield f"| page, chosen in the menu | first time, seconds | then (median of {ROUNDS}) | target |"
    yield "| --- | --- | --- | --- |"
    with served(folder / "visit") as server, new_visitor(browser, server.url) as page:
        wait_until_factorised(page)
        page.evaluate(WATCH)
        waits: dict[str, list[float]] = {title: [] for title in MENU}
        for _ in range(1 + ROUNDS):
            for title, seconds in waits.items():
                page.get_by_role("link", name=title, exact=True).first.press("Enter")
                seconds.append(seconds_since_key(page))
        assert server.process.poll() is None
        memory = resident(server.process.pid, "VmRSS") / GB, resident(server.process.pid, "VmHWM") / GB
    for title, (first, *others) in waits.items():
        median = float(np.median(others))
        before = "" if title == MENU[-1] else number(first)
        yield f"| {title} | {before} | {number(median)} | {with_target(median, VISIT_TARGET)} |"
    yield ""
    yield "| the server's memory after that | GB | target |"
    yield "| --- | --- | --- |"
    yield f"| held | {memory[0]:.2f} | {with_target(memory[0], MEMORY_TARGET)} |"
    yield f"| at most, from its start | {memory[1]:.2f} | {with_target(memory[1], MEMORY_TARGET)} |"


def answers(browser: Browser, folder: Path, parts: list[str]) -> Iterator[str]:
    """The lines of the table of controls, those of the empty page first."""
    yield f"| page and control | seconds (median of {CHANGES}) | times an empty page | target |"
    yield "| --- | --- | --- | --- |"
    rng = np.random.default_rng(0)
    (folder / "empty.py").write_text(EMPTY_PAGE, encoding="utf-8")
    with served(folder / "empty", folder / "empty.py") as server, new_visitor(browser, server.url) as page:
        page.locator(".stPlotlyChart .main-svg").first.wait_for()
        wait_until_idle(page)
        empty = dict(median_waits(page, "λA", rng))
    yield f"| Empty page, number typed | {number(empty['λ'])} | 1 | |"
    yield f"| Empty page, slider | {number(empty['A'])} | 1 | |"
    with served(folder / "app") as server:
        for part in parts:
            with new_visitor(browser, server.url if part == "tune" else f"{server.url}/{part}") as page:
                wait_until_factorised(page)
                for control, seconds in median_waits(page, CONTROLS[part], rng):
                    name = f"{part.replace('_', ' ').capitalize()}, {control}"
                    times = seconds / empty["λ" if control == "λ" else "A"]
                    yield f"| {name} | {number(seconds)} | {times:.1f} | {with_target(seconds, TARGETS[control])} |"


def first_numbers(browser: Browser, folder: Path) -> float:
    """Seconds from the first request of a new server and browser to the twelve numbers on Tune."""
    with served(folder, NUMBA_CACHE_DIR=str(folder / "loops")) as server:
        began = time.perf_counter()
        with new_visitor(browser, server.url) as page:
            page.locator(".st-key-cards [data-testid='stMetricValue']").nth(11).wait_for()
            seconds = time.perf_counter() - began
            wait_until_factorised(page)  # the next server finds it in the cache
    return seconds


def starts(browser: Browser, folder: Path) -> Iterator[str]:
    """The lines of the table of first starts."""
    yield f"| first request to first twelve numbers | seconds (median of {STARTS}) | target |"
    yield "| --- | --- | --- |"
    found = [[first_numbers(browser, folder / f"start{turn}") for _ in START_TARGETS] for turn in range(STARTS)]
    for (name, target), seconds in zip(START_TARGETS.items(), zip(*found, strict=True), strict=True):
        median = float(np.median(seconds))
        yield f"| {name} | {number(median)} | {with_target(median, target)} |"


def with_target(seconds: float, target: float) -> str:
    """The target as a table shows it."""
    return f"{target:g}{' **missed**' if seconds > target else ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"{', '.join(PARTS)}; all by default")
    parts = parser.parse_args().parts or PARTS
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; expected some of {', '.join(PARTS)}")
    if (path := chromium_path()) is None:
        sys.exit(NO_CHROMIUM)
    lines = ["# In a browser, on Debtags"]
    print(lines[0], flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="browser-") as folder,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=path, args=FLAGS) as browser,
    ):
        pages = [part for part in parts if part in CONTROLS]
        tables = [starts(browser, Path(folder))] if "start" in parts else []
        tables += [visits(browser, Path(folder))] if "visit" in parts else []
        tables += [answers(browser, Path(folder), pages)] if pages else []
        for line in chain.from_iterable(chain([""], table) for table in tables):
            lines.append(line)
            print(line, flush=True)
    if set(parts) == set(PARTS):
        print(f"\nstored as {write_table('browser', lines)}")


if __name__ == "__main__":
    main()
