"""What can be taken away: the present data set, what both variants predict at the present setting, and its code."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from pages.shared import data_code, sources
from pages.shared.answers import CARD_KS, scores_on_test
from pages.shared.model import Model
from pages.shared.settings import Settings, lambda_text, settings_text
from pages.shared.sizes import held_bytes
from xmlcore import Dataset, inverse_propensity
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.predictions import predictions_from_scores, write_predictions
from xmlcore.readers import LIMITS, write_npz, write_xc_text
from xmlcore.units import counted, in_units

WRITERS = {"XC text": ("xc", write_xc_text), "npz": ("npz", write_npz)}
PREDICTION_FILES = {"npz": "npz", "text": "txt"}


def section(model: Model, settings: Settings) -> None:
    """The data set, the predictions, and the code."""
    st.header("Export")
    size = held_bytes(model.full)
    fits = size <= LIMITS.max_upload_bytes
    if fits:
        _data_set(model)
    else:
        st.caption(
            f"It takes {in_units(size)} in memory, more than a page can hand over. From Python: "
            "`write_npz(load_dataset(path, features=None), folder)`, both of `xmlcore`."
        )
    _predictions(model, settings)
    if entry := sources.entry_of(model.title):
        data_code.section(model, settings, entry.name)
    elif fits:
        data_code.section(model, settings, _export_name(model, "npz"), "the npz export above, or your own files")
    else:
        data_code.section(model, settings, "path/to/your-data", "your own files")


def _data_set(model: Model) -> None:
    """One button for each format."""
    with st.container(horizontal=True):
        for label, (short, write) in WRITERS.items():
            st.download_button(
                f"{label}, zip",
                data=lambda write=write: zipped(sources.raw(model.title), write),
                file_name=_export_name(model, short),
                mime="application/zip",
                key=f"export_{short}",
                on_click="ignore",
                help="Features as they were given, train and test, names where there are any."
                + (" Families of instances have no place in this format: npz keeps them." if short == "xc" else ""),
            )


def _predictions(model: Model, settings: Settings) -> None:
    """One button for each variant and format; none where only a sample of the test instances is answered on."""
    whole, shown = model.full.n_test, model.dataset.n_test
    if shown < whole:
        st.caption(
            f"No predictions to download: the pages answer on a sample of {shown:,} of {whole:,} test instances, and a "
            "file with the others left empty would be taken for predictions of all. In a terminal, `python -m xmlcore "
            "evaluate` with `--predictions FILE` writes them for all."
        )
        return
    with st.container(horizontal=True):
        for variant in (RIDGE, RIDGE_PS):
            for format, ending in PREDICTION_FILES.items():
                st.download_button(
                    f"Predictions of {variant}, {format}",
                    data=lambda variant=variant, format=format: predictions_file(model, settings, variant, format),
                    file_name=f"{predictions_name(model.full.name, settings, variant)}.{ending}",
                    mime="application/octet-stream" if format == "npz" else "text/plain",
                    key=f"predictions_{variant}_{format}",
                    on_click="ignore",
                    help="A sparse matrix of scores, instances × labels: `scipy.sparse.load_npz` reads it."
                    if format == "npz"
                    else "A line of label:score for each instance, labels from 0.",
                )
    labels = min(_depth(settings), model.full.n_labels)
    first = f"first {labels} labels" if labels > 1 else "first label"
    st.caption(
        f"Predictions: the {first} of each of {counted(whole, 'test instance')}, in their order, with "
        f"scores (with PS, s·θ), at {settings_text(settings)}. Compare reads them back."
    )


def predictions_name(data_name: str, settings: Settings, variant: str) -> str:
    """A file's name with all that a variant's predictions depend on: Compare shows it as the system's."""
    name = f"{_file_name(data_name)}-{_file_name(variant)}-lambda-"
    if variant == RIDGE:
        return f"{name}{lambda_text(settings.reg_lambda)}"
    return f"{name}{lambda_text(settings.reg_lambda_ps)}-A-{settings.A:g}-B-{settings.B:g}"


def _depth(settings: Settings) -> int:
    """How many labels a file has of each instance: enough for every number on the pages."""
    return max(*CARD_KS, settings.K)


def predictions_file(model: Model, settings: Settings, variant: str, format: str) -> bytes:
    """A file with what a variant ranks first for every test instance; solved now where no page has asked before."""
    data, weighted = model.dataset, variant == RIDGE_PS
    predictions = predictions_from_scores(
        variant,
        scores_on_test(model, settings.reg_lambda_ps if weighted else settings.reg_lambda),
        _depth(settings),
        inverse_propensity=inverse_propensity(data.Y_train, settings.A, settings.B) if weighted else None,
        exclude=data.test_filter,
    )
    with TemporaryDirectory(prefix="xmlcore-") as folder:
        path = Path(folder) / f"predictions.{PREDICTION_FILES[format]}"
        write_predictions(path, predictions, format)
        return path.read_bytes()


def zipped(data: Dataset, write: Callable[[Dataset, str | Path], Path]) -> bytes:
    """A zip file with what the writer writes of a data set."""
    out = io.BytesIO()
    with TemporaryDirectory(prefix="xmlcore-") as folder, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(write(data, Path(folder) / "data").iterdir()):
            archive.write(path, path.name)
    return out.getvalue()


def _export_name(model: Model, short: str) -> str:
    return f"{_file_name(model.full.name)}-{short}.zip"


def _file_name(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name).strip("-").lower() or "data"
