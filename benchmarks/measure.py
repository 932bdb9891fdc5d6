"""Seconds and peak memory of one piece of work after another, and the tables that are made of them."""

from __future__ import annotations

import gc
import os
import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from threadpoolctl import threadpool_info

RESULTS = Path(__file__).parent / "results"
GB = 1e9
T = TypeVar("T")


@dataclass(frozen=True)
class Stage:
    """One line of a table: seconds, and the most memory in bytes that the process held meanwhile, all told."""

    name: str
    seconds: float
    peak: float
    target: float | None = None
    note: str = ""

    @property
    def missed(self) -> bool:
        return self.target is not None and self.seconds > self.target


class Recorder:
    """Runs stages in turn and prints each as soon as it is done, unless it is quiet."""

    def __init__(self, quiet: bool = False) -> None:
        self.stages: list[Stage] = []
        self.quiet = quiet

    def run(
        self, name: str, work: Callable[[], T], *, target: float | None = None, repeat: int = 1, note: str = ""
    ) -> T:
        """The result of `work`, run `repeat` times, of which the median counts."""
        seconds = []
        with peak_memory() as peak:
            for turn in range(repeat):
                result = None  # the one before must not count as memory of this one
                started = time.perf_counter()
                result = work()
                seconds.append(time.perf_counter() - started)
                if turn == 0 and seconds[0] > 20:
                    break
        self.add(Stage(name, sorted(seconds)[len(seconds) // 2], peak[0], target, note))
        return result

    def add(self, stage: Stage) -> None:
        self.stages.append(stage)
        if not self.quiet:
            print(stage_line(stage), flush=True)


def stage_line(stage: Stage) -> str:
    target = "" if stage.target is None else f"{stage.target:g}{' **missed**' if stage.missed else ''}"
    return f"| {stage.name} | {number(stage.seconds)} | {target} | {stage.peak / GB:.2f} | {stage.note} |"


def number(value: float) -> str:
    """Three digits that count, as people write them."""
    return f"{value:.0f}" if value >= 99.5 else f"{value:.3g}"


@contextmanager
def peak_memory() -> Iterator[list[float]]:
    """A list whose one entry, once the block is left, is this process's peak resident memory within it, in bytes."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # sets the peak back to what is held now (proc(5))
    peak = [0.0]
    try:
        yield peak
    finally:
        peak[0] = resident("self", "VmHWM")


@contextmanager
def peak_memory_of_children() -> Iterator[list[float]]:
    """The same of the largest process that this one has started, looked at five times a second while it runs."""
    peak, over = [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            for task in Path("/proc/self/task").iterdir():
                for child in (task / "children").read_text().split():
                    peak[0] = max(peak[0], resident(child, "VmHWM"))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def resident_memory() -> float:
    """What this process holds now, in bytes."""
    return resident("self", "VmRSS")


def resident(process: str | int, field: str) -> float:
    """Bytes of a process that Linux tells as this field of its status; 0 once the process has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return next((float(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), 0.0)


def machine() -> str:
    """The machine and the libraries, in a sentence."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GB
    blas = max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
    libraries = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "numba"))
    return (
        f"{date.today()}: {len(os.sched_getaffinity(0))} cores ({model}), {memory:.0f} GB, {platform.system()}; "
        f"Python {platform.python_version()}, {libraries}; {blas} BLAS threads."
    )


def write_table(name: str, lines: Iterable[str]) -> Path:
    """Stores a table under benchmarks/results with the machine's description."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.md"
    path.write_text("\n".join([*lines, "", machine()]) + "\n", encoding="utf-8")
    return path
