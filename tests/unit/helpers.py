"""What several tests share: features as one array, a small data set of counts, what is left beside a cache on disk."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from xmlcore.dataset import Dataset
from xmlcore.matrices import Features, as_blocks
from xmlcore.store import Store


def dense(X: Features) -> np.ndarray:
    """Features in one block or several as one array, in float64."""
    blocks = [block.toarray() if sparse.issparse(block) else block for block in as_blocks(X)]
    return np.hstack(blocks).astype(np.float64)


def leftovers(store: Store) -> list[str]:
    """Names in its folder that are none of an entry: what was begun and not finished."""
    return sorted(path.name for path in (store.folder / "store").iterdir() if "." not in path.name)


COUNTS = np.array([[1, 2, 0, 0], [0, 1, 4, 0], [3, 0, 0, 0]], dtype=np.float32)


def small_counts(**changes) -> Dataset:
    """Three instances with their term counts, and two labels."""
    Y = sparse.csr_array(np.eye(3, 2, dtype=np.float32))
    X = sparse.csr_array(COUNTS)
    names = np.array(["editor", "gtk+", "c++", "never"])
    return replace(Dataset("small", X, Y, X[:2], Y[:2], feature_names=names, feature_kind="counts"), **changes)
