"""How much memory is free, and the bound in bytes that follows for temporary arrays."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

from xmlcore.checks import DataError, as_number

_CGROUP = Path("/sys/fs/cgroup")  # of version 2; a container sees its own limits there


def free_memory() -> int:
    """The memory that is free now, in bytes: of the machine, or of the container where that has less."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 8 << 30
    try:
        limit, used = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        cached = next(
            int(line.split()[1])
            for line in (_CGROUP / "memory.stat").read_text().splitlines()
            if line.startswith("inactive_file ")
        )
    except (OSError, StopIteration):
        return free
    return free if limit == "max" else max(min(free, int(limit) - int(used) + cached), 0)


_LEAST = 10_000_000  # bytes; with less, work in blocks takes many times as long, and hardly less memory


def default_memory_budget() -> int:
    """$XMLCORE_MEMORY, in bytes, where it is set, as 2e9 or inf; else a quarter of the memory that is free now.

    Raises DataError where it is set to anything but a number of at least 1e7.
    """
    if not (chosen := os.environ.get("XMLCORE_MEMORY")):
        return free_memory() // 4
    try:
        value = float(chosen)
    except ValueError as error:
        raise DataError(f"XMLCORE_MEMORY is {chosen!r}; expected bytes, as 2e9") from error
    return sys.maxsize if value == math.inf else int(as_number(value, "XMLCORE_MEMORY", at_least=_LEAST))


def as_memory_budget(memory_budget: float | None) -> int:
    """A bound in bytes: the default one for None, no bound for infinity. Raises DataError below 1."""
    if memory_budget is None:
        return default_memory_budget()
    if memory_budget == math.inf:
        return sys.maxsize
    return int(as_number(memory_budget, "memory_budget", at_least=1))
