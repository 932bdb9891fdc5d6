"""The sparse random projection, by which features of any number become as few as can be factorised."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xmlcore.checks import as_whole


def random_projection(n_features: int, n_components: int, seed: int = 0) -> sparse.csr_array:
    """T, shape (N, k), float32: the same as `SparseRandomProjection(k, random_state=seed)` of scikit-learn draws.

    One entry in √N is not zero, so a row of X with n terms gets about n k/√N values.
    Raises DataError unless 1 ≤ k ≤ N and 0 ≤ seed < 2³².
    """
    n_features = as_whole(n_features, "n_features", at_least=1)
    n_components = as_whole(n_components, "n_components", at_least=1, at_most=n_features)
    seed = as_whole(seed, "seed", at_least=0, at_most=2**32 - 1)
    from sklearn.random_projection import SparseRandomProjection  # here: it takes two seconds, and few need it

    only_its_shape_counts = sparse.csr_array((1, n_features), dtype=np.float32)
    drawn = SparseRandomProjection(n_components, random_state=seed).fit(only_its_shape_counts).components_
    return sparse.csr_array(drawn.T.astype(np.float32))
