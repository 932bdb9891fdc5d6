"""Loops that are compiled by numba, at their first call or from what is kept of an earlier one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from numba import njit
from numba.core.caching import FunctionCache


class _Kept(FunctionCache):
    """What was compiled, on disk; by numba's own, a call fails where the disk is full or a file was cut short."""

    def load_overload(self, *args: object) -> object:
        try:
            return super().load_overload(*args)
        except Exception:  # a damaged pickle raises anything; it is compiled anew
            with suppress(OSError):
                self.flush()  # which writes the index afresh
            return None

    def save_overload(self, *args: object) -> None:
        with suppress(OSError):
            super().save_overload(*args)


def compiled(loop: Callable) -> Callable:
    """The loop, compiled; it runs without Python's lock.

    What was compiled is kept beside its module, or in the user's cache where that folder cannot be written; where
    neither can, as in a container that is read-only, each process compiles anew.
    """
    dispatcher = njit(nogil=True)(loop)
    with suppress(RuntimeError):  # there is nowhere to keep it
        dispatcher._cache = _Kept(loop)
    return dispatcher
