"""What a data set takes in memory, and the bound on what visitors keep."""

from dataclasses import replace

import numpy as np
import pytest
from cachetools import LRUCache
from scipy import sparse

from pages.shared import sources
from pages.shared.sizes import held_bytes
from tests.app.helpers import small
from xmlcore import Dataset


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
