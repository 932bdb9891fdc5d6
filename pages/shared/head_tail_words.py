"""Head and tail's sentences: who gains and who pays, and whose share of the metric is whose."""

from __future__ import annotations

import numpy as np

from pages.shared import show
from xmlcore.analysis import Contributions, FrequencyBins
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.units import counted

NO_DIFFERENCE = "Nobody gains and nobody pays: both variants find each label equally often among the first K."
EVEN_BINS = "**Who gains, and who pays?** No bin as a whole: within each, gains and losses are even."
NO_ORDER = "All labels are among the first K, so their order does not matter."
NO_WEIGHTS = "At A = 0 all labels weigh the same: raise it to favour rare ones."


def verdict(
    parts: Contributions, difference: np.ndarray, A: float, name: str, rows_text: str, own_lambda: str = ""
) -> str:
    """The answer in words.

    Args:
        parts: contributions to the metric called name, by bin.
        difference: hits of each label with weighting minus those without, shape (L,).
        A: of the weighting.
        rows_text: on which rows the numbers are. own_lambda: at which λ PS stands, where it has one of its own.
    """
    before, after = parts.ridge.sum(), parts.ps.sum()
    shown, shown_ps = show.percent(before), show.percent(after)
    moves = f"stays at {shown}" if shown == shown_ps else f"goes from {shown} to {shown_ps}"
    total = f"{name} {moves} with PS{own_lambda}, on {rows_text}."
    if not difference.any():
        why = NO_ORDER if parts.k >= difference.size else "" if A > 0 else NO_WEIGHTS
        same = f"{name} is {show.percent(before)} for both, on {rows_text}."
        return " ".join(filter(None, (NO_DIFFERENCE, why, same)))
    change = parts.ps - parts.ridge
    change[np.abs(change) < 1e-12] = 0  # what rounding left of a sum that is even
    gains, pays = _side(parts.bins, change, name), _side(parts.bins, -change, name, sign=-1)
    more, fewer = np.count_nonzero(difference > 0), np.count_nonzero(difference < 0)
    sides = f"**Who gains?** {gains}  \n**Who pays?** {pays}" if change.any() else EVEN_BINS
    return (
        f"{sides}  \n{total} {RIDGE_PS} finds {counted(more, 'label')} more often and {counted(fewer, 'label')} less "
        "often."
    )


def _side(bins: FrequencyBins, change: np.ndarray, name: str, sign: int = 1) -> str:
    """One side, the bins with a positive change: which they are, their total, and the bin with the most of it."""
    of_side = np.flatnonzero(change > 0)
    if not of_side.size:
        return "Nobody."
    first, last, most = of_side[0], of_side[-1], int(change.argmax())
    total = f"**{_amount(sign * change[of_side].sum())} points** of {name}"
    if first == last:
        return f"Labels {_on_instances(bins.names[first])}: {total}."
    if (change[first : last + 1] < 0).any():
        where = f"in {of_side.size} of {len(bins.names)} bins"
    else:
        where = _on_instances(f"{bins.low[first]:,}–{bins.high[last]:,}")
    best = _on_instances(bins.names[most])
    return f"Labels {where}: {total}. The largest part, {_amount(sign * change[most])}, is from labels {best}."


def _amount(change: float) -> str:
    shown = show.points(change)
    return "less than 0.01" if shown == show.NO_POINTS else shown


def _on_instances(bin_name: str) -> str:
    if bin_name == "unseen":
        return "never seen in training"
    return f"on {bin_name} training instance{'' if bin_name == '1' else 's'}"


def shares_caption(parts: Contributions, name: str) -> str:
    """What the shares of tail, torso and head say of a metric; parts: of these three bins."""
    if not parts.ridge.any() and not parts.ps.any():
        return f"{name} is 0 for both variants: there is nothing to share."
    tail, head = parts.bins.names.index("tail"), parts.bins.names.index("head")
    sentences = [
        f"{kind.capitalize()} labels make {show.percent(parts.ridge_shares[at])} of {name}, and with PS "
        f"{show.percent(parts.ps_shares[at])}."
        for kind, at in (("head", head), ("tail", tail))
    ]
    without = [variant for variant, of in ((RIDGE, parts.ridge), (RIDGE_PS, parts.ps)) if not of.any()]
    end = f"{name} of {without[0]} is 0: it has no shares." if without else "The shares of each variant sum to 100 %."
    return " ".join([*sentences, end])
