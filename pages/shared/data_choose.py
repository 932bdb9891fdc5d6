"""The Data page's ways to another data set: upload, download, make, and what was found before it is used."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.shared import data_cost, data_jobs, data_upload, frame, mirror, sources
from pages.shared.data_jobs import Found, Job, found_in, shared_job
from pages.shared.data_profile import sentence
from xmlcore import CatalogEntry, FeatureRecipe, catalog_entries, load_dataset
from xmlcore.downloads import is_downloaded
from xmlcore.readers import FORMATS
from xmlcore.sampling import sample_training
from xmlcore.units import in_units

SAMPLE_JOB, PROBLEM = "_sample_job", "_choosing_failed"
WAYS = "Upload", "Download or make", "Formats", "From Python"
FROM_PYTHON = """A folder or a file on the server's disk is not read from here: whoever visits the page could \
look into it. From Python, any path will do:

```python
from xmlcore import RidgeFactorization, load_dataset
data = load_dataset("path/to/folder")      # a file, a folder, .zip, .tar.gz
factorization = RidgeFactorization.fit(data.X_train, data.Y_train)
```

`python -m xmlcore evaluate path/to/folder --reg-lambda 3` prints the metrics without a line of code."""


def section() -> None:
    """Upload, catalog, formats; and the sample that is being drawn, if one is."""
    st.header("Another data set", anchor="another-data-set")
    if problem := st.session_state.pop(PROBLEM, None):
        st.error(frame.plain_markdown(problem), icon=":material/error:")
    _sample()
    # Most is drawn when its tab is opened: it is half of the page's elements, and few visitors come for it. Files that
    # were chosen, and the format, would be forgotten.
    upload, catalog, formats, python = st.tabs(WAYS, key="ways", on_change="rerun")
    with upload:
        found = data_upload.section()
        if found is not None:
            show_found(found, "upload")
    with catalog:
        for entry in catalog_entries() if catalog.open else ():
            _entry(entry)
    with formats:
        _formats(formats.open)
    with python:
        if python.open:
            st.markdown(FROM_PYTHON)


def show_found(found: Found, key: str, entry: CatalogEntry | None = None) -> None:
    """What was found, and buttons to use it: as it is, or in a way that costs less."""
    st.markdown(sentence(found.name, found.profile))
    if found.notes:
        st.caption("  \n".join(map(frame.plain_markdown, found.notes)))
    recipe = FeatureRecipe.parse(found.recipe)
    use = partial(_use, found, entry)
    data_cost.offer(found.outline, recipe, use, key, as_it_is="Use this data set")


def _use(found: Found, entry: CatalogEntry | None, recipe: FeatureRecipe | None, n_train: int | None) -> None:
    """Makes the data set that was found the one of the sidebar: a callback."""
    if n_train is not None and entry is not None:
        draw_sample(entry.title, n_train)
        return
    try:
        if entry is not None:
            sources.offer(entry.title)
            title = entry.title
        else:
            title = sources.keep_own(found.dataset if n_train is None else sample_training(found.dataset, n_train))
    except ValueError as error:
        st.session_state[PROBLEM] = f"{found.name} cannot be kept: {error}. The data set in use stays."
        return
    mirror.put(data=title, features="" if recipe is None else str(recipe))
    data_upload.forget()
    st.session_state.pop(SAMPLE_JOB, None)


def draw_sample(title: str, n_train: int) -> None:
    """Starts to draw a sample of a data set's training instances: a callback."""

    def work(_: object) -> Found:
        return found_in(sample_training(sources.raw(title), n_train), keep=True)

    st.session_state[SAMPLE_JOB] = Job(work)


def _sample() -> None:
    job: Job[Found] | None = st.session_state.get(SAMPLE_JOB)
    if job is None:
        return
    with st.container(border=True):
        if not job.wait():
            data_jobs.watch(job, "A sample is being drawn")
        elif job.error:
            st.error(frame.plain_markdown(job.error), icon=":material/error:")
        else:
            show_found(job.result, "sample")


def _entry(entry: CatalogEntry) -> None:
    """One data set of the catalog: what it is, what to do to have it, and what it would cost."""
    with st.container(border=True, key=f"entry_{entry.name}"):
        text, button = st.columns([5, 1], vertical_alignment="center")
        text.markdown(f"**{entry.title}**: {entry.description}  \n{_having(entry)}")
        look = f"look {entry.name}"
        here = entry.kind != "download" or is_downloaded(entry.name)
        with button:
            if entry.kind == "embedded":
                st.button("Use", key=f"use_{entry.name}", on_click=_use_embedded, args=(entry.title,), width="stretch")
            else:
                st.button(
                    ("Look at it" if here else "Download") if entry.kind == "download" else "Make",
                    key=f"look_{entry.name}",
                    on_click=shared_job,
                    args=(look, partial(_look, entry)),
                    width="stretch",
                )
        job = shared_job(look)
        if job is None:
            return
        if not job.wait(0.3):
            data_jobs.watch(job, "Being made" if entry.kind == "synthetic" else "Being read" if here else "On its way")
        elif job.error:
            st.error(frame.plain_markdown(job.error), icon=":material/error:")
        else:
            show_found(job.result, f"found_{entry.name}", entry)


def _look(entry: CatalogEntry, progress: object) -> Found:
    """Downloads, reads or makes a data set, and keeps only what is in it."""
    return found_in(load_dataset(entry.name, None, progress), keep=False)


def _use_embedded(title: str) -> None:
    mirror.put(data=title, features="")


def _having(entry: CatalogEntry) -> str:
    if entry.kind == "embedded":
        return f"Comes with this project ({in_units(entry.n_bytes)})."
    if entry.kind == "synthetic":
        return "Made on the spot, the same every time."
    if is_downloaded(entry.name):
        return "In the cache on disk."
    size = in_units(entry.n_bytes) if entry.n_bytes else "size unknown"
    checked = "compared with a known checksum" if entry.has_checksum else "no checksum is known"
    tried = "" if entry.tried else " :orange-badge[This address has never been tried]"
    return f"From {entry.address} ({size}; {checked}).{tried}"


def _formats(shown: bool) -> None:
    st.markdown(
        "What these files look like; compressed with gzip, or together in a zip or tar archive, they may be too."
    )
    names = {form.title: form for form in FORMATS.values()}
    form = names[st.selectbox("Format", list(names), key="format_help")]
    if shown:
        st.markdown(frame.plain_markdown(form.help))
        st.code(form.example, language=None)
