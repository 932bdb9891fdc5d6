"""The data sets that a visitor can choose: embedded ones, downloads that are here, made-up ones, and their own.

A visitor's own data sets are kept under names that nobody can guess, and are offered in their own session only.
"""

from __future__ import annotations

import secrets
import threading

import streamlit as st
from cachetools import LRUCache

from pages.shared.sizes import held_bytes
from xmlcore import CatalogEntry, DataError, Dataset, FeatureRecipe, catalog_entries, default_recipe, load_dataset
from xmlcore.downloads import is_downloaded
from xmlcore.eigen import gram_dtype
from xmlcore.linalg import check_scale, largest_value, squared_norm
from xmlcore.matrices import as_blocks
from xmlcore.units import counted

LEAST_TRAIN = 3  # inverse propensities need it
OWN, OPENED = "_own_data_sets", "_opened_data_sets"
OWN_BYTES = 2 << 30
_own: LRUCache[str, Dataset] = LRUCache(OWN_BYTES, getsizeof=held_bytes)
_own_lock = threading.Lock()


def entry_of(title: str) -> CatalogEntry | None:
    """The catalog's entry with this title, or None."""
    return next((entry for entry in catalog_entries() if entry.title == title), None)


def take_name() -> None:
    """Writes a data set of the catalog into the address as its title, where a link has its name or another case."""
    asked = st.query_params.get("data", "")
    for entry in catalog_entries():
        if asked != entry.title and asked.casefold() in (entry.name.casefold(), entry.title.casefold()):
            st.query_params["data"] = entry.title
            st.rerun()  # a run's controls read the address as it was when the run began


def names() -> list[str]:
    """The data sets that this visitor can choose at once, the default one first."""
    here = [
        entry.title
        for entry in catalog_entries()
        if entry.kind == "embedded" or (entry.kind == "download" and is_downloaded(entry.name))
    ]
    asked = entry_of(st.query_params.get("data", ""))
    if asked is not None and asked.kind == "synthetic":
        offer(asked.title)
    with _own_lock:
        own = [title for title in st.session_state.get(OWN, ()) if title in _own]
    return list(dict.fromkeys([*here, *st.session_state.get(OPENED, ()), *own]))


def offer(title: str) -> None:
    """Adds a data set of the catalog to what this visitor can choose."""
    opened = st.session_state.setdefault(OPENED, [])
    if title not in opened:
        opened.append(title)


def keep_own(data: Dataset) -> str:
    """Keeps a visitor's own data set and gives the title under which only this session can choose it.

    Raises ValueError where it is larger than all that is kept for visitors together.
    """
    title = f"{data.name} ({secrets.token_hex(4)})"
    with _own_lock:
        _own[title] = data
    st.session_state.setdefault(OWN, []).append(title)
    return title


def raw(title: str) -> Dataset:
    """The data set with its features as given. Raises DataError where it cannot be had."""
    with _own_lock:
        if title in _own:
            return _own[title]
    entry = entry_of(title)
    if entry is None:  # never a path of the server's, whatever a visitor asks for
        raise DataError(f"there is no data set called {title!r} here")
    return load_dataset(entry.name, features=None)


def features_setting(title: str, features: str) -> str:
    """The recipe in one text of all that say the same: empty for what the data set has without a choice.

    Each text would else have a model and answers of its own. Raises DataError for what is no recipe, and for a data set
    that cannot be had.
    """
    if not features:
        return ""
    recipe, entry = str(FeatureRecipe.parse(features)), entry_of(title)
    return "" if recipe == (entry.recipe if entry else str(default_recipe(raw(title)))) else recipe


def refuse_unusable(raw: Dataset, recipe: str) -> None:
    """Raises DataError where no model can be made of a data set with these features, however much memory there is, and
    where there is no test instance to measure one on.
    """
    if raw.n_train < LEAST_TRAIN:
        raise DataError(
            f"the data set has {counted(raw.n_train, 'training instance')}; expected at least {LEAST_TRAIN}, since a "
            "label's weight follows from how many of them have it"
        )
    if raw.n_test == 0:
        raise DataError(
            "the test set has no instance; expected at least one, or no test set at all: a fifth of the training "
            "instances is then set aside"
        )
    blocks = as_blocks(raw.X_train)
    if not squared_norm(blocks) and not largest_value(blocks):  # squares of tiny values vanish
        raise DataError("X holds only zeros; expected at least one feature that is not zero")
    if recipe == "raw":  # others scale the rows, or reduce them
        check_scale(blocks, gram_dtype(min(raw.n_train, raw.n_features)))
