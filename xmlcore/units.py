"""Amounts as people write them, and texts as they can be shown."""

from __future__ import annotations

UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def counted(number: int, what: str) -> str:
    """So many of them: 1 label, 2,000 labels."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def in_units(n_bytes: float) -> str:
    """Bytes to three digits, in the unit that leaves some before the point: 720 bytes, 3.5 MB, 12 GB, 1,800 GB."""
    for unit, size in UNITS:
        if n_bytes >= size:
            rounded = float(f"{n_bytes / size:.3g}")  # which alone would write 1,800 as 1.8e+03
            return f"{rounded:,g} {unit}"
    return "1 byte" if n_bytes == 1 else f"{n_bytes:.0f} bytes"


def in_seconds(seconds: float, digits: int = 1) -> str:
    """A time with so many decimals; where they would all be 0, that it is less: 3.2 s, less than 0.1 s."""
    least = 10.0**-digits
    return f"{seconds:.{digits}f} s" if seconds >= least else f"less than {least:g} s"


def beside_estimate(seconds: float, estimate: float) -> str:
    """What follows the seconds that something has taken so far: how long it was thought to take."""
    if seconds > estimate:
        return f", longer than the estimate of {estimate:.0f} s"
    return f" of about {estimate:.0f} s, an estimate"


def clean(text: str) -> str:
    """`text` with halves of surrogate pairs, which no page can show, replaced by a question mark.

    JSON may hold them, and Python puts them in file names for bytes that are not UTF-8.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
