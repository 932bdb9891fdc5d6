"""How much memory a result holds, so that caches are bounded in bytes and not in entries."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np
from scipy import sparse


def held_bytes(thing: object) -> int:
    """About the bytes of a result: its arrays, and what is in its mappings, lists and dataclasses; shared parts too."""
    if isinstance(thing, str):  # first, since there may be millions
        return sys.getsizeof(thing)
    if isinstance(thing, np.ndarray):
        # Arrays of objects, and of texts of any length, hold no more than where each entry is.
        return thing.nbytes + (sum(map(held_bytes, thing.tolist())) if thing.dtype.kind in "OT" else 0)
    if sparse.issparse(thing):
        parts = list(vars(thing).values())
    elif isinstance(thing, Mapping):
        parts = [part for item in thing.items() for part in item]
    elif isinstance(thing, (list, tuple)):
        parts = thing
    elif is_dataclass(thing):
        parts = [getattr(thing, field.name) for field in fields(thing)]
    else:
        parts = ()
    return sys.getsizeof(thing) + sum(map(held_bytes, parts))
