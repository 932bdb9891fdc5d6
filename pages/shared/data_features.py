"""The Data page's controls for the recipe of the features, with what each choice would cost."""

from __future__ import annotations

import threading

import streamlit as st
from cachetools import LRUCache, cached

from pages.shared import data_choose, data_cost, frame, mirror, sources
from pages.shared.model import Model
from xmlcore import DataError, FeatureRecipe
from xmlcore.cost import Outline, outline
from xmlcore.embeddings import shipped_table
from xmlcore.recipe import LM_WEIGHT

DRAWN, APPLIED = "_recipe_drawn", "_recipe_applied"
REDUCTIONS = {"all features": None, "truncated SVD": "svd", "random projection": "project"}


@cached(LRUCache(32), key=lambda model: model.title, condition=threading.Condition())
def outline_of(model: Model) -> Outline:
    """The outline of a model's data set with its features as given, made once."""
    recipe = model.fitted.recipe
    same = not (recipe.terms or recipe.svd or recipe.project or recipe.lm)
    # TF-IDF and unit rows leave every entry where it is; after other steps the data must be read again.
    return outline(model.full if same else sources.raw(model.title))


@frame.fragment
def section(model: Model) -> None:
    """What is made of the features, and what that costs."""
    if st.session_state.pop(APPLIED, False):
        st.rerun()  # a fragment alone would leave the sidebar as it was
    recipe = model.fitted.recipe
    st.header("Features", anchor="features")
    st.markdown(f"In use: `{recipe}`, {_width(model)}.")
    if not model.ready:
        st.markdown("**Before the matrix is factorised**")
        data_cost.offer(outline_of(model), recipe, lambda other, n: _apply(model, other, n), "present")
    with st.expander("Other features", key="other_features", on_change="rerun") as folded:
        # Drawn when it is opened, and from then on: what is being chosen would be forgotten.
        if not folded.open and "recipe_tfidf" not in st.session_state:
            return
        chosen = _controls(model, recipe)
        if chosen is not None and chosen != recipe:
            st.markdown(f"`{chosen}`")
            data_cost.offer(
                outline_of(model),
                chosen,
                lambda other, n: _apply(model, other or chosen, n),
                "chosen",
                as_it_is="Use these features",
            )


def _apply(model: Model, recipe: FeatureRecipe, n_train: int | None) -> None:
    if n_train is None:
        mirror.put(features=sources.features_setting(model.title, str(recipe)))
    else:
        data_choose.draw_sample(model.title, n_train)
    st.session_state[APPLIED] = True


def _width(model: Model) -> str:
    blocks = model.full.X_train if isinstance(model.full.X_train, tuple) else (model.full.X_train,)
    parts = [f"{block.shape[1]:,} {'sparse' if hasattr(block, 'indptr') else 'dense'}" for block in blocks]
    return f"{' + '.join(parts)} features"


def _controls(model: Model, recipe: FeatureRecipe) -> FeatureRecipe | None:
    """The recipe that the controls make; None, and why, where they make none."""
    state, raw = st.session_state, outline_of(model)
    # The controls follow the recipe in use when it changes elsewhere, and keep what is being chosen until then. A visit
    # to another page makes Streamlit forget them.
    if state.get(DRAWN) != (model.title, str(recipe)) or "recipe_tfidf" not in state:
        state[DRAWN] = (model.title, str(recipe))
        state.update(_values(recipe, raw))
    sparse_width = sum(block.width for block in raw.blocks if block.is_sparse)
    left, middle, right = st.columns(3)
    with left:
        tfidf = st.toggle(
            "TF-IDF",
            key="recipe_tfidf",
            help="A count c becomes 1 + ln c, times a weight that is larger for rarer words. Needs counts.",
        )
        unit = st.toggle("Unit rows", key="recipe_unit", help="Scales each instance to length 1.")
        few = st.toggle(
            "Only frequent features",
            key="recipe_few",
            disabled=sparse_width < 2,
            help="On the most rows; so many of each sparse block.",
        )
        terms = (
            int(st.number_input("Features kept", 1, max(sparse_width, 1), step=100, key="recipe_terms"))
            if few and sparse_width
            else None
        )
    with middle:
        reduction = st.radio(
            "Sparse features as",
            list(REDUCTIONS),
            key="recipe_reduction",
            help="Truncated SVD: the k directions that keep the most of X, by the sum of squares. Random projection: k "
            "random mixtures of all features, which keep distances about as they are. Both make fewer, dense features.",
        )
        k = (
            None
            if REDUCTIONS[reduction] is None
            else int(st.number_input("Dimensions k", 1, max(raw.n_features, 1), step=50, key="recipe_k"))
        )
    with right:
        has_texts = model.full.train_texts is not None or shipped_table(model.full.name) is not None
        lm = st.toggle(
            "Language model",
            key="recipe_lm",
            disabled=not has_texts,
            help="Adds sentence embeddings beside the other features. Debtags comes with them; other texts need the "
            "extra package that the README names, and minutes.",
        )
        weight = st.slider("Its weight", 0.1, 2.0, step=0.1, key="recipe_lm_weight") if lm and has_texts else None
        dense = 1.0
        if any(not block.is_sparse for block in raw.blocks) and len(raw.blocks) > 1:
            dense = st.slider("Weight of dense features", 0.1, 2.0, step=0.1, key="recipe_dense")
    try:
        return FeatureRecipe(
            terms=terms,
            tfidf=tfidf,
            unit=unit,
            svd=k if REDUCTIONS[reduction] == "svd" else None,
            project=k if REDUCTIONS[reduction] == "project" else None,
            seed=recipe.seed if REDUCTIONS[reduction] else 0,
            dense=round(dense, 3),
            lm=None if weight is None else round(weight, 3),
        )
    except DataError as error:
        st.error(frame.plain_markdown(str(error)), icon=":material/error:")
        return None


def _values(recipe: FeatureRecipe, raw: Outline) -> dict[str, object]:
    widths = [block.width for block in raw.blocks if block.is_sparse]
    most = max(sum(widths), 1)
    by_step = {step: name for name, step in REDUCTIONS.items()}
    step = "svd" if recipe.svd else "project" if recipe.project else None
    return {
        "recipe_tfidf": recipe.tfidf,
        "recipe_unit": recipe.unit,
        "recipe_few": recipe.terms is not None,
        "recipe_terms": min(recipe.terms or 1000, most),
        "recipe_reduction": by_step[step],
        "recipe_k": min(recipe.svd or recipe.project or 300, max(raw.n_features, 1)),
        "recipe_lm": recipe.lm is not None,
        "recipe_lm_weight": min(max(recipe.lm or LM_WEIGHT, 0.1), 2.0),
        "recipe_dense": min(max(recipe.dense, 0.1), 2.0),
    }
