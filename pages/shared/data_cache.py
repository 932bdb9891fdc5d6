"""The Data page's cache on disk: how much it holds, and a button that clears it."""

from __future__ import annotations

import streamlit as st

from pages.shared import frame
from pages.shared.model import Model, in_use_on_disk, store
from xmlcore.units import counted, in_units

CLEARED = "_cache_cleared"


@frame.fragment
def section(model: Model) -> None:
    """What the cache on disk holds, what is lost where it is cleared, and the button."""
    st.header("Cache on disk", anchor="cache-on-disk")
    kept = store()
    if kept is None:
        st.caption("There is none: set XMLCORE_CACHE to a folder of your own.")
        return
    entries = kept.entries()
    own = [entry for entry in entries if entry.key.startswith(model.full.fingerprint)]
    held, of_own = (in_units(sum(entry.bytes for entry in part)) for part in (entries, own))
    st.markdown(
        f"{counted(len(entries), 'result')}, **{held}** of at most {in_units(kept.max_bytes)}; "
        f"{len(own):,} of them, {of_own}, of the data set in use."
    )
    left, right = st.columns([1, 4], vertical_alignment="center")
    left.button("Clear the cache", key="clear_cache", on_click=_clear, disabled=not entries)
    right.caption(
        "Factorisations and trained baselines of all data sets are lost, for all who use this folder: after the next "
        "start they are computed again. Downloads and the data sets stay, and so does what the server has in memory. "
        "What a running factorisation or baseline works with stays until it is done."
    )
    if note := st.session_state.pop(CLEARED, None):
        st.success(note, icon=":material/delete_sweep:")


def _clear() -> None:
    """Empties the cache, save what work in another process reads and writes: a callback."""
    before, spared = store().size(), in_use_on_disk()
    store().clear(spared)
    after = store().size()
    left = f" {in_units(after)} are in use and stay." if after else ""
    st.session_state[CLEARED] = f"{in_units(max(before - after, 0))} removed.{left}"
