"""Which data sets there are, what is refused of them, what they take in memory, and the bound on what is kept."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from cachetools import LRUCache
from scipy import sparse

from pages.shared import sources
from pages.shared.sizes import held_bytes
from tests.app.helpers import small
from tests.app.tiny import RAW
from xmlcore import DataError, Dataset, default_recipe


@pytest.mark.parametrize(
    "field", ["train_texts", "test_texts", "train_names", "test_names", "feature_names", "label_names"]
)
def test_texts_and_names_count_as_what_a_data_set_takes(field):
    data = small()
    n = {"train": data.n_train, "test": data.n_test, "feature": data.n_features, "label": data.n_labels}
    entries = [f"{number:01000}" for number in range(n[field.split("_")[0]])]
    more = held_bytes(replace(data, **{field: entries})) - held_bytes(data)
    assert 1_000 * len(entries) <= more < 5_000 * len(entries)


def test_filters_and_rows_without_entries_count_as_what_a_data_set_takes():
    data, empty = small(), sparse.csr_array((10_000, 7), dtype=np.float32)
    pairs = sparse.csr_array(np.ones((data.n_train, data.n_labels), np.float32))
    masked = held_bytes(replace(data, train_filter=pairs)) - held_bytes(data)
    assert masked >= 8 * pairs.nnz
    assert held_bytes(Dataset("empty", empty, empty, empty, empty)) >= 4 * empty.indptr.nbytes


def test_texts_larger_than_all_that_is_kept_for_visitors_are_refused(monkeypatch):
    monkeypatch.setattr(sources, "_own", LRUCache(100_000, getsizeof=held_bytes))
    data = small()
    assert data.name in sources.keep_own(data)
    with pytest.raises(ValueError, match="too large"):
        sources.keep_own(replace(data, train_texts=["word " * 1_000] * data.n_train))


def test_a_visitor_is_offered_what_is_here_what_a_link_has_made_and_what_is_their_own(monkeypatch):
    state = {sources.OWN: ["mine (1)", "pushed out (2)"]}
    page = SimpleNamespace(query_params={"data": "Synthetic, shaped like bibtex"}, session_state=state)
    monkeypatch.setattr(sources, "st", page)
    monkeypatch.setattr(sources, "is_downloaded", lambda name: name == "eurlex-4k")
    monkeypatch.setattr(sources, "_own", {"mine (1)": small(), "of somebody else (3)": small()})
    here = ["Debtags", "Debian-depends", "Eurlex-4K"]
    assert sources.names() == [*here, "Synthetic, shaped like bibtex", "mine (1)"]
    page.query_params["data"] = "Wiki10-31K"  # to be downloaded first
    state.clear()
    assert sources.names() == here


def test_no_path_of_the_server_is_a_data_set(tmp_path):
    (tmp_path / "train.txt").write_text("3 2 2\n0 0:1\n1 1:1\n0 1:1\n")
    with pytest.raises(DataError, match="no data set called"):
        sources.raw(str(tmp_path))


def test_a_recipe_that_says_what_is_usual_is_none_and_another_is_written_in_one_way(monkeypatch):
    usual = str(default_recipe(RAW))
    monkeypatch.setattr(sources, "raw", lambda title: RAW)
    assert [sources.features_setting("mine (1)", recipe) for recipe in ("", usual, "raw")] == ["", "", "raw"]
    assert (
        sources.features_setting("mine (1)", "svd:5+unit") == sources.features_setting("mine (1)", "unit+svd:5") != ""
    )
    assert [sources.features_setting("Debtags", recipe) for recipe in ("", "unit+tfidf")] == ["", ""]


WIDE = sparse.csr_array(1e20 * np.eye(60, 9_000, dtype=np.float32))


@pytest.mark.parametrize(
    ("data", "recipe", "told"),
    [
        (small(n_train=3), "raw", None),
        (small(n_train=2), "raw", "at least 3"),
        (replace(small(), X_train=small().X_train.astype(np.float64) * 1e-200), "unit", None),  # whose squares vanish
        (replace(small(), X_train=0 * small().X_train), "unit", "only zeros"),
        # Of 60 instances XXᵀ is in float64, which has room for squares of 1e40.
        (replace(small(), X_train=WIDE, X_test=WIDE[:20]), "raw", None),
        (replace(small(), X_train=np.float32(1e38) * small().X_train), "unit", None),
        (replace(small(), X_train=np.float32(1e38) * small().X_train), "raw", "too large"),
    ],
    ids=["three", "two", "tiny", "zeros", "wide", "scaled", "large"],
)
def test_what_no_model_can_be_made_of_is_refused_and_nothing_else(data, recipe, told):
    if told is None:
        sources.refuse_unusable(data, recipe)
    else:
        with pytest.raises(DataError, match=told):
            sources.refuse_unusable(data, recipe)
