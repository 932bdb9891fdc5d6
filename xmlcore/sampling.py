"""Fewer training instances, and how far a metric on a sample of the test instances may be from that on all of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from xmlcore.checks import DataError, as_whole
from xmlcore.dataset import Dataset, take_instances
from xmlcore.metrics import hits, make_ruler

Z_95 = 1.959964  # the normal distribution's 97.5 % quantile


def sample_training(ds: Dataset, n_train: int, seed: int = 0) -> Dataset:
    """The data set with so many training instances drawn by the seed, all test instances, and a note that says so.

    Raises DataError unless 1 ≤ n_train ≤ D.
    """
    n_train, seed = as_whole(n_train, "n_train", at_least=1, at_most=ds.n_train), as_whole(seed, "seed", at_least=0)
    rows = np.sort(np.random.default_rng(seed).choice(ds.n_train, n_train, replace=False))
    return replace(
        take_instances(ds, train=rows),
        name=f"{ds.name}, {n_train:,} training instances",
        notes=(
            *ds.notes,
            f"{n_train:,} of {ds.n_train:,} training instances, drawn at random (seed {seed}). The model's weights "
            "follow the label frequencies of the sample; PSP is measured with those of all training instances.",
        ),
    )


def sample_interval(
    top: np.ndarray, Y: object, k: int, n_population: int, metric_inverse_propensity: np.ndarray | None = None
) -> float:
    """Half the width of the 95 % interval for P@K, or for PSP@K where θ (L,) is given, as a fraction.

    top: (n, ≥ K) rankings of a simple random sample drawn without replacement from n_population instances; Y: their
    labels, n×L. Both metrics are ratios Σa_i/Σb_i over instances (for P@K, b_i = K); the variance is that of the ratio
    estimator, from the residuals a_i − R b_i, with the finite population correction (Cochran, Sampling Techniques,
    1977, equation 6.9). Where all instances of the sample are alike (all right, or all wrong), that is 0 and says
    nothing: then it is 3/n, n being the instances that count (for PSP those with labels), since up to that share of
    others is missed by a sample with a chance of 5 % or more (the rule of three). 0 where the sample is the whole.

    Raises DataError for fewer than two instances, or more than n_population, and for a top of fewer than K columns.
    """
    n, n_population = len(top), as_whole(n_population, "n_population")
    if not 2 <= n <= n_population:
        raise DataError(f"top has {n} rows and n_population is {n_population}; expected 2 to n_population rows")
    ruler = make_ruler(Y, metric_inverse_propensity, k)
    k = ruler.k_max
    if np.ndim(top) != 2 or top.shape[1] < k:
        raise DataError(f"top has shape {np.shape(top)}; expected at least {k} columns")
    found = hits(top[:, :k], ruler)
    if metric_inverse_propensity is None:
        gained, possible = np.count_nonzero(found, axis=1).astype(float), np.full(n, float(k))
    else:
        theta = ruler.inverse_propensity
        gained = np.where(found, theta[top[:, :k]], 0.0).sum(axis=1)
        possible = np.array([np.sort(theta[ruler.Y.indices[a:b]])[::-1][:k].sum() for a, b in pairwise(ruler.Y.indptr)])
    if possible.sum() == 0:
        return 0.0
    residuals = gained - gained.sum() / possible.sum() * possible
    if n < n_population and np.abs(residuals).max() < 1e-12 * possible.max():
        return min(3 / np.count_nonzero(possible), 1 - n / n_population)
    variance = (1 - n / n_population) * (residuals @ residuals) / (n - 1) / n / possible.mean() ** 2
    return float(Z_95 * np.sqrt(variance))
