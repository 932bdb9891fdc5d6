"""Raw inputs into X: the features that ridge regression is fitted on, by a recipe learned from training rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from xmlcore.dataset import DataError, Dataset, Features


def fit_features(ds: Dataset, recipe: str = "tfidf+unit") -> tuple[Dataset, Callable[[Features], Features]]:
    """The data set with X made by the recipe, and the function that turns raw rows into rows of X alike."""
    if recipe != "tfidf+unit":
        raise DataError(f"features is {recipe!r}; expected one of: tfidf+unit")
    weighting = TfidfTransformer(norm=None, sublinear_tf=True).fit(ds.X_train)

    def transform(X: Features) -> Features:
        return sparse.csr_array(normalize(weighting.transform(X)))

    made = dataclasses.replace(ds, X_train=transform(ds.X_train), X_test=transform(ds.X_test), feature_kind="values")
    return made, transform
