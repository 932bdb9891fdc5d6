"""Compress in words and tables: what is kept of the metrics, and what the sparse W costs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from pages.shared.answers import Answer
from pages.shared.compression import sizes
from pages.shared.settings import own_lambda_text
from pages.shared.show import MAIN_METRICS
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.metrics import METRICS, SHORT_NAMES
from xmlcore.sparsify import SparsePoint
from xmlcore.units import UNITS

WHY_LARGER = (
    "a sparse matrix stores an index beside each value and where each row begins, so with about half of the entries "
    "or more, or where there are few labels, it is the larger one. Entries that are exactly 0 are not kept"
)
Points = Mapping[str, SparsePoint]
CLEARLY = 1.5  # times as long: what is timed once is rough


def verdict(points: Points, K: int, n_labels: int, rows_text: str) -> str:
    """The answer in a sentence, at the largest K that leaves labels out: where all are in, any W keeps everything."""
    all_in = n_labels <= K
    first = f"All labels are among the first {K}" if K > 1 else "The only label is always first"
    same = f" {first}, so P@{K} and PSP@{K} are the same with any W." if all_in else ""
    if not any(point.kept for point in points.values()):
        return f"No entry of W is left at this share: all labels score 0, on {rows_text}.{same}"
    ks = points[RIDGE].relative["precision"]
    telling = max((k for k in ks if k < n_labels), default=None) if all_in else K
    kept = [
        f"{variant} keeps {_of(point, 'precision', telling)} and {_of(point, 'psprecision', telling)}"
        if point.kept
        else f"{variant} keeps no entry, so that all labels score 0"
        for variant, point in points.items()
        if telling is not None
    ]
    told = f" {'; '.join(kept)}, on {rows_text}." if kept else ""
    return f"{_what_it_takes(points)}{told}{same}"


def kept_table(points: Points, K: int, ks: tuple[int, ...]) -> pd.DataFrame:
    """Each metric as a percentage of the full W's, with its value: P and PSP at each of ks, the others at K."""
    rows = [(metric, k) for k in ks for metric in MAIN_METRICS]
    rows += [(metric, K) for metric in METRICS if metric not in MAIN_METRICS]
    return pd.DataFrame(
        {
            variant: [
                f"{_percent(point.relative[metric][k])} ({100 * point.metrics[metric][k]:.2f})" for metric, k in rows
            ]
            for variant, point in points.items()
        },
        index=pd.Index([f"{SHORT_NAMES[metric]}@{k}" for metric, k in rows], name="Metric"),
    )


def cost_table(points: Points, dense_seconds: Mapping[str, float | None], n_rows: int) -> pd.DataFrame:
    """τ, entries, megabytes and times of each variant; dense_seconds: for 1,000 instances, None if not measured."""
    columns = {}
    for variant, point in points.items():
        dense, (size, size_dense) = dense_seconds[variant], _sizes(point)
        columns[variant] = {
            "Threshold τ": f"{point.threshold:.4g}",
            "Entries kept": f"{point.kept:,}",
            "Share kept": _percent(point.kept_share),
            "W, sparse": size,
            "W, dense": size_dense,
            "1,000 instances, sparse": _milliseconds(_sparse_seconds(point, n_rows)),
            "1,000 instances, dense": "not measured: W is not formed whole" if dense is None else _milliseconds(dense),
        }
    return pd.DataFrame(columns).rename_axis("Cost")


def slower(points: Points, dense_seconds: Mapping[str, float | None], n_rows: int) -> str:
    """Why a sparse W is not the faster one, where it clearly is not; else nothing. Names all that took longer."""
    times = {
        variant: _sparse_seconds(point, n_rows) / dense_seconds[variant]
        for variant, point in points.items()
        if dense_seconds[variant] is not None and point.kept
    }
    slow = [variant for variant, times_as_long in times.items() if times_as_long > 1]
    if max(times.values(), default=0) <= CLEARLY:
        return ""
    smaller = all(points[variant].megabytes < points[variant].megabytes_dense for variant in slow)
    whose = "" if len(slow) == len(points) else f" for {slow[0]}"
    return (
        f"Sparse {'is smaller but ' if smaller else ''}was not faster here{whose}: a dense product uses the processor "
        "better until few entries are left, and other work on this machine lengthens what is timed once."
    )


def other_share(answer: Answer, points: Points) -> str:
    """That one threshold keeps another share of the other variant."""
    weighted = sizes(answer, RIDGE_PS)
    tau = points[RIDGE].threshold
    share = weighted.kept(tau) / (weighted.shape[0] * weighted.shape[1])
    of = "those of another λ, and θ times larger" if own_lambda_text(answer.settings) else "θ times larger"
    return f"{RIDGE}'s τ would keep {_percent(share)} of {RIDGE_PS}'s entries, which are {of}."


def _what_it_takes(points: Points) -> str:
    """Share and size of W, of each variant's where they differ: entries of one size are kept or cut together."""
    alike = len({_percent(point.kept_share) for point in points.values()}) == 1
    left = {variant: point for variant, point in points.items() if point.kept}
    told = [
        f"{_percent(point.kept_share)} of its entries {'W' if alike else f'W of {variant}'} takes "
        f"**{' instead of '.join(_sizes(point))}**"
        for variant, point in left.items()
    ]
    why = f": {WHY_LARGER}" if any(point.megabytes > point.megabytes_dense for point in left.values()) else ""
    return f"With {'; with '.join(told[:1] if alike else told)}{why}."


def _of(point: SparsePoint, metric: str, k: int) -> str:
    name, kept = f"{SHORT_NAMES[metric]}@{k}", point.relative[metric][k]
    return f"0 of {name} (0 with the whole W too)" if math.isnan(kept) else f"**{_percent(kept)}** of {name}"


def _percent(fraction: float) -> str:
    return "undefined" if fraction != fraction else f"{100 * fraction:.2f} %"


def _sizes(point: SparsePoint) -> tuple[str, str]:
    """The sparse and the dense W's size, both in the unit of the larger, to be compared at a glance."""
    n_bytes = (1e6 * point.megabytes, 1e6 * point.megabytes_dense)
    unit, size = next((each for each in UNITS if max(n_bytes) >= each[1]), ("bytes", 1.0))
    return tuple(f"{_amount(each / size) if size > 1 else f'{each:.0f}'} {unit}" for each in n_bytes)


def _amount(value: float) -> str:
    """With two decimals, or two digits that are not 0."""
    decimals = 2 if value >= 0.1 or not value else 1 - math.floor(math.log10(value))
    return f"{value:,.{decimals}f}"


def _sparse_seconds(point: SparsePoint, n_rows: int) -> float:
    """What 1,000 instances take."""
    return point.seconds * 1_000 / n_rows


def _milliseconds(seconds: float) -> str:
    return f"{1_000 * seconds:,.1f} ms"
