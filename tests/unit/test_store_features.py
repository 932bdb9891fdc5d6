"""Features in the cache on disk: each form comes back as it was, mapped from its files."""

import numpy as np
import pytest
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.store import Store, get_features, put_all_features, put_features


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache", max_bytes=10_000_000)


@pytest.mark.parametrize("form", ["sparse", "dense", "blocks"])
def test_features_come_back_in_their_form_without_being_copied_into_memory(store, form):
    rng = np.random.default_rng(4)
    csr = sparse.random_array((50, 30), density=0.1, rng=rng, dtype=np.float32).tocsr()
    dense = rng.random((50, 7)).astype(np.float32)
    X = {"sparse": csr, "dense": dense, "blocks": (csr, dense)}[form]
    assert put_features(store, "X", X)
    found = get_features(store, "X")
    assert isinstance(found, tuple) == (form == "blocks")
    for block, expected in zip(*(value if form == "blocks" else (value,) for value in (found, X)), strict=True):
        assert type(block) is type(expected)
        assert block.dtype == np.float32
        assert block.shape == expected.shape
        assert abs(block - expected).max() == 0
        part = block.data if sparse.issparse(block) else block
        while isinstance(part, np.ndarray) and not isinstance(part, np.memmap):
            part = part.base
        assert isinstance(part, np.memmap)


def test_columns_and_rows_without_entries_come_back_too(store):
    X = sparse.csr_array(([1.0], ([0], [0])), shape=(5, 9), dtype=np.float32)
    assert put_features(store, "X", X)
    assert get_features(store, "X").shape == (5, 9)


def test_features_that_are_gone_give_none(store):
    assert get_features(store, "X") is None


def test_parts_that_do_not_fit_the_cache_all_at_once_are_refused(tmp_path):
    X, Y = np.ones((100, 100), np.float32), sparse.csr_array(np.eye(100, dtype=np.float32))
    put_all_features(Store(tmp_path / "large"), {"X": X, "Y": Y})
    np.testing.assert_array_equal(get_features(Store(tmp_path / "large"), "X"), X)
    for max_bytes, message in ((20_000, "X was not cached"), (42_000, "the data does not fit all at once")):
        with pytest.raises(DataError, match=message):
            put_all_features(Store(tmp_path / str(max_bytes), max_bytes=max_bytes), {"X": X, "Y": Y})
