"""How much memory a piece of work takes at once."""

import threading
import tracemalloc
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def peak_bytes(work: Callable[[], Result]) -> tuple[Result, int]:
    """What the work returns, and the most bytes that it held at once.

    All threads are counted: a test of the pages may have left one that factorises, which is waited for.
    """
    for thread in threading.enumerate():
        if thread.name.startswith("factorise"):
            thread.join()
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
