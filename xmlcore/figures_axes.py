"""What stands along an axis, decided from names and values alone, for every width of screen.

Left to itself, Plotly drops, turns and shrinks labels as the room at hand has it: differently in two charts side by
side, and after laying a chart out twice. Here all names are always shown, and margins are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, count, pairwise, repeat

import numpy as np

NARROW = 270  # pixels of an axis on a screen of 390
TEXT, SMALL = 14, 12  # sizes of type, in pixels: of numbers and titles, and of names
LONGEST_NAME = 28  # characters of a turned name, in full on hover
MOST_TICKS = 10  # of a logarithmic axis
LEAST_POINTS = 5.0  # that an axis of percentages spans: less would make noise look like an effect


def text_width(text: str, size: int) -> float:
    """About so many pixels wide is a line of text in the project's typeface."""
    slim = sum(text.count(each) for each in ".,:;il|'")
    return size * (0.5 * len(text) - 0.25 * slim)


def shortened(name: str, most: int) -> str:
    """The name in so many characters at most; where some are left out, the last is an ellipsis."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _stand_apart(places: Sequence[float], widths: Sequence[float], gap: float) -> bool:
    return all(
        right - left >= (a + b) / 2 + gap
        for (left, right), (a, b) in zip(pairwise(places), pairwise(widths), strict=True)
    )


def category_axis(names: Sequence[str], title: str) -> tuple[dict, int]:
    """An axis with every name below its place, and the margin that it needs: in one line, broken at a dash, or turned.

    A name may have lines of its own, apart by `<br>`.
    """
    places = [NARROW * (at + 0.5) / len(names) for at in range(len(names))] if names else []
    wide = NARROW / max(len(names), 1) - 2
    broken = [name.replace("–", "–<br>") if text_width(name, SMALL) > wide else name for name in names]
    for shown in (list(names), broken):
        lines = [name.split("<br>") for name in shown]
        n_lines = max(map(len, lines), default=1)
        widths = [max(text_width(line, SMALL) for line in each) for each in lines]
        if _stand_apart(places, widths, 2) or any("<br>" in name for name in names):
            angle, below = 0, 16 * n_lines
            break
    else:
        shown = [shortened(name, LONGEST_NAME) for name in names]
        angle, below = -90, math.ceil(max(text_width(name, SMALL) for name in shown)) + 4
    axis = {
        "type": "category",  # told: "1" and "2–3" look like numbers
        "tickmode": "array",
        "tickvals": list(names),
        "ticktext": shown,
        "tickangle": angle,
        "tickfont": {"size": SMALL},
        "title": {"text": title, "font": {"size": TEXT}, "standoff": 6},
    }
    return axis, 40 + below


def log_axis(low: float, high: float, pixels: int = NARROW, *, upright: bool = False) -> dict:
    """A logarithmic axis whose ticks from low to high are plain numbers, as many as stand apart on so many pixels.

    They are 1, 2 and 5 times powers of ten, or powers of ten only, or some of these. An upright axis has them one above
    another.
    """
    low, high = _decade(low, high)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    scale = pixels / math.log10(high / low)
    for digits, step in chain([((1, 2, 5), 1)], zip(repeat((1,)), count(1))):
        ticks = [
            (digit, power)
            for power in range(first, last + 1)
            if power % step == 0
            for digit in digits
            if low * (1 - 1e-9) <= digit * 10.0**power <= high * (1 + 1e-9)
        ]
        texts = [_plain(*tick) for tick in ticks]
        places = [scale * (math.log10(digit) + power) for digit, power in ticks]
        widths = [TEXT if upright else text_width(text, TEXT) for text in texts]
        if len(ticks) <= MOST_TICKS and _stand_apart(places, widths, 6):
            break
    values = [digit * 10.0**power for digit, power in ticks]
    return {"type": "log", "tickmode": "array", "tickvals": values, "ticktext": texts, "tickangle": 0}


def _plain(digit: int, power: int) -> str:
    if power < -4 or power > 6 or (power == 6 and digit > 1):
        return f"{digit}e{power}"
    return f"{digit * 10**power:,}" if power >= 0 else f"{digit * 10.0**power:.{-power}f}"


def _decade(low: float, high: float) -> tuple[float, float]:
    """The same, or ten times around their middle where they are closer: three ticks at least are in it."""
    wider = max(1.0, math.sqrt(10 * low / high))
    return low / wider, high * wider


def log_range(low: float, high: float) -> list[float]:
    """The exponents that an axis with points from low to high begins and ends at: no marker is cut in half."""
    start, end = map(math.log10, _decade(low, high))
    return [start - 0.03 * (end - start), end + 0.03 * (end - start)]


def percent_range(values: Iterable[float], least: float = LEAST_POINTS) -> list[float] | None:
    """Where an axis of percentages begins and ends: whole points, so that it seldom changes while points arrive.

    It spans so many points at least. None without values.
    """
    known = np.array([value for value in values if math.isfinite(value)])
    if not known.size:
        return None
    low, high = float(known.min()), float(known.max())
    room = max(0.06 * (high - low), (least - (high - low)) / 2)
    bottom, top = math.floor(low - room), math.ceil(high + room)
    if low >= 0 > bottom:  # only so far below 0 as a marker is large
        top = max(top, least)
        bottom = -0.04 * top
    return [bottom, top]
