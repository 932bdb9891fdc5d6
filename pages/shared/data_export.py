"""The present data set to take away, in the two formats that everybody reads."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from pages.shared import sources
from pages.shared.model import Model
from xmlcore import Dataset
from xmlcore.readers import LIMITS, write_npz, write_xc_text
from xmlcore.units import in_units

WRITERS = {"XC text": ("xc", write_xc_text), "npz": ("npz", write_npz)}


def section(model: Model) -> None:
    """One button for each format."""
    st.subheader("Export")
    size = sources.dataset_bytes(model.full)
    if size > LIMITS.max_upload_bytes:
        st.caption(
            f"It takes {in_units(size)} in memory, more than a page can hand over. From Python: "
            "`write_npz(load_dataset(path, features=None), folder)`, both of `xmlcore`."
        )
        return
    with st.container(horizontal=True):
        for label, (short, write) in WRITERS.items():
            st.download_button(
                f"{label}, zip",
                data=lambda write=write: zipped(sources.raw(model.title), write),
                file_name=f"{_file_name(model.full.name)}-{short}.zip",
                mime="application/zip",
                key=f"export_{short}",
                on_click="ignore",
                help="Features as they were given, train and test, names where there are any."
                + (" Families of instances have no place in this format: npz keeps them." if short == "xc" else ""),
            )


def zipped(data: Dataset, write: Callable[[Dataset, str | Path], Path]) -> bytes:
    """A zip file with what the writer writes of a data set."""
    out = io.BytesIO()
    with TemporaryDirectory(prefix="xmlcore-") as folder, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(write(data, Path(folder) / "data").iterdir()):
            archive.write(path, path.name)
    return out.getvalue()


def _file_name(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name).strip("-").lower() or "data"
