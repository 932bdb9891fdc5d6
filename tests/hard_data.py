"""Data on which careless ridge code goes wrong: a large mean, near-duplicate and empty rows, rank deficiency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class HardData:
    """Features as one CSR block, labels that depend on them, and families of near-duplicate training rows."""

    X: sparse.csr_array
    Y: sparse.csr_array
    X_new: sparse.csr_array
    groups: np.ndarray


def hard_data(n_train: int, n_features: int, n_labels: int = 40, n_new: int = 200, seed: int = 0) -> HardData:
    """Seeded data of the given shape.

    A fifth of the features fill most rows (one huge eigenvalue, the mean direction); the others are rare. A tenth of
    the rows repeat an earlier one up to a small change of one value, and share its group; some are empty. A tenth of
    the features are sums of others and a few are empty, so that either Gram matrix is singular.
    """
    rng = np.random.default_rng(seed)
    rows = n_train + n_new
    frequent = max(1, n_features // 5)
    dense = np.zeros((rows, n_features), np.float32)
    dense[:, :frequent] = (rng.random((rows, frequent)) < 0.8) * (1 + 0.1 * rng.random((rows, frequent)))
    chance = 0.6 / np.arange(1, n_features - frequent + 1) ** 0.5
    dense[:, frequent:] = (rng.random((rows, n_features - frequent)) < chance) * rng.random(
        (rows, n_features - frequent)
    )
    copies = np.arange(1, n_train, 10)
    dense[copies] = dense[copies - 1]
    dense[copies, rng.integers(0, n_features, copies.size)] += 1e-3
    sums = rng.choice(n_features, n_features // 10, replace=False)
    dense[:, sums] = dense[:, (sums + 1) % n_features] + dense[:, (sums + 2) % n_features]
    dense[:, rng.choice(n_features, 3, replace=False)] = 0
    dense[rng.choice(rows, rows // 50, replace=False)] = 0

    planted = rng.standard_normal((n_features, n_labels)) * (rng.random((n_features, n_labels)) < 0.1)
    affinity = (dense - dense.mean(0)) @ planted + 0.5 * rng.standard_normal((rows, n_labels))
    wanted = np.maximum(2, (n_train * 0.3 / np.arange(1, n_labels + 1)).astype(int)) / n_train
    cut = np.array([np.quantile(affinity[:, label], 1 - wanted[label]) for label in range(n_labels)])
    labels = sparse.csr_array((affinity[:n_train] > cut).astype(np.float32))
    groups = np.arange(n_train)
    groups[copies] = copies - 1
    X = sparse.csr_array(dense)
    return HardData(X[:n_train], labels, X[n_train:], groups)
