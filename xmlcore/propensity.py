"""Inverse propensities: how much rarer a label's recorded assignments are than its true ones.

A rare label is often missing where it would be right. Jain, Prabhu and Varma (KDD 2016) model the probability p_l that
a true assignment of label l is recorded as a sigmoid of ln(N_l + B), N_l its training frequency; θ_l = 1/p_l corrects
for it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_array, as_floats, as_number, as_whole
from xmlcore.dataset import Dataset
from xmlcore.matrices import as_labels

# (A, B) that the model's authors and the Extreme Classification Repository use for these data sets.
PROPENSITY_PRESETS: dict[str, tuple[float, float]] = {
    "Bibtex": (0.55, 1.5),
    "Eurlex-4K": (0.55, 1.5),
    "Wiki10-31K": (0.55, 1.5),
    "AmazonCat-13K": (0.55, 1.5),
    "Delicious-200K": (0.55, 1.5),
    "WikiLSHTC-325K": (0.5, 0.4),
    "Wikipedia-500K": (0.5, 0.4),
    "Amazon-670K": (0.6, 2.6),
    "Amazon-3M": (0.6, 2.6),
}


def inverse_propensity(
    Y_train: sparse.csr_array | np.ndarray, A: float, B: float, n_train: int | None = None
) -> np.ndarray:
    """θ_l = 1 + (ln D − 1)(B+1)^A (N_l+B)^(−A) of every label, shape (L,), float64, natural logarithm.

    Y_train: D×L labels in {0,1}; or the label counts N_l, shape (L,), with n_train = D beside them.
    A ≥ 0, B > 0: the model's parameters. θ_l ≥ 1, falls with N_l, and is ln D for every label where A = 0.

    Source: Jain, Prabhu and Varma, Extreme multi-label loss functions, KDD 2016.
    Raises DataError for A < 0, B ≤ 0, D < 3 (below e the weights would rise with frequency), counts outside [0, D],
    and a θ beyond the range of float64.
    """
    counts, D = _label_counts(Y_train, n_train)
    A, B = as_number(A, "A", at_least=0), as_number(B, "B", above=0)
    if D < 3:
        raise DataError(f"n_train is {D}; expected at least 3, since θ falls with frequency only where ln D > 1")
    # The two powers as one quotient: each alone overflows long before their product does.
    with np.errstate(over="ignore"):
        theta = 1.0 + (math.log(D) - 1.0) * ((B + 1.0) / (counts + B)) ** A
    if not np.isfinite(theta).all():
        raise DataError(f"A = {A} with B = {B} gives a weight beyond float64's range; expected a smaller A or larger B")
    return theta


def metric_inverse_propensity(ds: Dataset, A: float | None = None, B: float | None = None) -> np.ndarray:
    """θ with which PSP is measured, shape (L,): of the training set as it was given, even where ds has a sample of it.

    A, B: instead of the data set's own. Raises DataError as `inverse_propensity` does.
    """
    A, B = ds.A if A is None else A, ds.B if B is None else B
    if ds.given_label_counts is None:
        return inverse_propensity(ds.Y_train, A, B)
    return inverse_propensity(ds.given_label_counts, A, B, ds.given_n_train)


def as_weights(inverse_propensity: np.ndarray, n_labels: int, name: str = "inverse_propensity") -> np.ndarray:
    """θ as a float64 array of shape (n_labels,). Raises DataError, naming the argument, unless all are above 0."""
    theta = np.array(as_floats(inverse_propensity, name))
    if theta.shape != (n_labels,):
        raise DataError(f"{name} has shape {theta.shape}; expected one weight for each of {n_labels} labels")
    bad = ~(np.isfinite(theta) & (theta > 0))
    if bad.any():
        raise DataError(f"{name} holds {theta[bad][0]} for label {np.argmax(bad)}; expected weights above 0")
    return theta


def _label_counts(Y_train: sparse.csr_array | np.ndarray, n_train: int | None) -> tuple[np.ndarray, int]:
    if sparse.issparse(Y_train) or as_array(Y_train, "Y_train").ndim == 2:
        Y = as_labels(Y_train, "Y_train")
        if n_train is not None and as_whole(n_train, "n_train") != Y.shape[0]:
            raise DataError(
                f"n_train is {n_train} and Y_train has {Y.shape[0]} rows; expected the same or n_train=None"
            )
        return np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.float64), Y.shape[0]
    counts = as_floats(Y_train, "label counts")
    if counts.ndim != 1:
        raise DataError(f"label counts have {counts.ndim} dimensions; expected one, a count for each label")
    if n_train is None:
        raise DataError("n_train is None; with label counts the number of training instances is needed beside them")
    n_train = as_whole(n_train, "n_train")
    bad = ~((counts >= 0) & (counts <= n_train))
    if bad.any():
        raise DataError(f"label counts hold {counts[bad][0]:g}; expected numbers from 0 to n_train = {n_train}")
    return counts, n_train
