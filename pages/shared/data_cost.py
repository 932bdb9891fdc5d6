"""The cost of a factorisation in words, and what to do instead, as buttons that do it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from xmlcore.cost import Alternative, Cost, Outline, alternatives, factorization_cost
from xmlcore.recipe import FeatureRecipe
from xmlcore.units import in_units


def seconds_text(seconds: float) -> str:
    """Rough seconds as people say them."""
    if seconds < 1:
        return "less than a second"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.0f} h"


def cost_text(cost: Cost) -> str:
    """Which matrix, how large, and how long each step takes, or why it cannot be done."""
    matrix = "XᵀX" if cost.form == "primal" else "XXᵀ"
    if cost.problem:
        return f"**It does not fit**: {cost.problem}."
    steps = [
        f"a first answer by Cholesky {seconds_text(cost.reduction_seconds + cost.gram_seconds + cost.cholesky_seconds)}"
    ]
    if cost.reduction_seconds >= 1:
        steps.insert(0, f"the features {seconds_text(cost.reduction_seconds)}")
    steps.append(f"the eigendecomposition that makes every λ quick {seconds_text(cost.eigh_seconds)}")
    return (
        f"{matrix} of size {cost.size:,} × {cost.size:,} takes {in_units(cost.gram_bytes)}, and "
        f"{in_units(cost.peak_bytes)} at the worst moment, of {in_units(cost.free_bytes)} that are free. Roughly, "
        f"where nothing else runs: {'; '.join(steps)}."
    )


Use = Callable[[FeatureRecipe | None, int | None], None]


def offer(shapes: Outline, recipe: FeatureRecipe, use: Use, key: str, *, as_it_is: str | None = None) -> None:
    """The cost of a recipe; a button to use it as it is; and where it costs much, buttons for what to do instead.

    Args:
        use: called with the recipe (None for the one that is given) and the size of a sample (None for all instances).
        as_it_is: the label of the button for the recipe itself; None for no such button.
    """
    cost = factorization_cost(shapes, recipe)
    (st.markdown if cost.comfortable else st.warning)(cost_text(cost))
    instead: tuple[Alternative, ...] = () if cost.comfortable else alternatives(shapes, recipe)
    with st.container(horizontal=True):
        if as_it_is is not None:
            st.button(
                as_it_is,
                key=f"{key}_as_it_is",
                type="primary" if cost.comfortable else "secondary",
                disabled=not cost.fits,
                on_click=use,
                args=(None, None),
            )
        for other in instead:
            st.button(
                f"{other.title}, {seconds_text(other.cost.seconds)}",
                key=f"{key}_{other.kind}",
                help=f"Features {other.recipe}. {cost_text(other.cost)}",
                on_click=use,
                args=(other.recipe, other.n_train),
            )
    if not cost.fits and not instead:
        st.caption("Nothing that this page could do makes it fit: take fewer instances or features.")
