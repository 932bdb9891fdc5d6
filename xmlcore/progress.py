"""How far a piece of work is, as whoever does it tells."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Called with what is being worked on, and the fraction of it that is done: None where nothing can tell."""


def unheard(stage: str, fraction: float | None) -> None:
    """The progress of work that nobody listens to."""
