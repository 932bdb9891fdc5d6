"""What to make of raw features, as a value that fits in a link: `tfidf+unit+svd:300`."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import partial

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_number, as_whole
from xmlcore.dataset import Dataset
from xmlcore.matrices import as_blocks

MAX_COUNT = 10_000_000
MIN_WEIGHT, MAX_WEIGHT = 0.001, 1000.0  # within them no weight is written with an exponent
LM_WEIGHT = 0.7


@dataclass(frozen=True)
class FeatureRecipe:
    """The steps that turn raw features into X, in the order in which they are done.

    Attributes:
        terms: keep only the so many features of each sparse block that occur in the most training rows; None keeps all.
        tfidf: weigh counts by sublinear TF-IDF.
        unit: scale each row of each block to unit length. Always done where X has several blocks.
        svd: reduce the sparse features (or dense ones, where there are no others) to so many dimensions by truncated
            SVD. No more than one of svd and project.
        project: reduce them so by a sparse random projection.
        seed: of either.
        dense: the weight of the data's own dense blocks, where the sparse one has 1.
        lm: add a block of sentence embeddings with this weight; None adds none.

    As text: the steps joined by plus signs or spaces, each a name or `name:number`; without any, `raw`. `lm` alone has
    the weight 0.7. Numbers may be of any type. Raises DataError, naming the step and the value, for one that cannot be.
    """

    terms: int | None = None
    tfidf: bool = False
    unit: bool = False
    svd: int | None = None
    project: int | None = None
    seed: int = 0
    dense: float = 1.0
    lm: float | None = None

    def __post_init__(self) -> None:
        count = partial(as_whole, at_least=1, at_most=MAX_COUNT)
        seed = partial(as_whole, at_least=0, at_most=MAX_COUNT)
        weight = partial(as_number, at_least=MIN_WEIGHT, at_most=MAX_WEIGHT)
        read = (count, _as_switch, _as_switch, count, count, seed, weight, weight)
        for field, as_read in zip(fields(self), read, strict=True):
            value = getattr(self, field.name)
            if value is not None or field.default is not None:
                object.__setattr__(self, field.name, as_read(value, f"features: {field.name}"))
        if self.svd is not None and self.project is not None:
            raise DataError(f"features: svd:{self.svd} and project:{self.project} together; expected one of them")

    def __str__(self) -> str:
        """The text of which `parse` makes an equal recipe."""
        steps = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value is True:
                steps.append(field.name)
            elif value != field.default:
                steps.append(f"{field.name}:{str(value).removesuffix('.0')}")
        return "+".join(steps) or "raw"

    @classmethod
    def parse(cls, text: str | FeatureRecipe) -> FeatureRecipe:
        """The recipe of a text; one that is a recipe already as it is.

        Spaces part steps too, since a plus sign in a link is read as one.
        """
        if isinstance(text, FeatureRecipe):
            return text
        if not isinstance(text, str):
            raise DataError(f"features is {text!r}; expected a text such as tfidf+unit, or a recipe")
        steps = [step for step in re.split(r"[+\s]+", text) if step]
        if not steps:
            raise DataError(f"features is {text!r}; expected steps such as tfidf+unit, or raw")
        values: dict[str, bool | int | float] = {}
        for step in steps if steps != ["raw"] else []:
            name, colon, number = step.partition(":")
            if name in values:
                raise DataError(f"features: {name} occurs twice in {text!r}; expected each step once")
            values[name] = _value(name, number if colon else None, step)
        return cls(**values)


def default_recipe(ds: Dataset) -> FeatureRecipe:
    """What suits a data set: TF-IDF for sparse counts, unit rows for counts and for several blocks, else X as it is."""
    counts = ds.feature_kind == "counts"
    any_sparse = any(map(sparse.issparse, as_blocks(ds.X_train, "X_train")))
    return FeatureRecipe(tfidf=counts and any_sparse, unit=counts or isinstance(ds.X_train, tuple))


def _value(name: str, number: str | None, step: str) -> bool | int | float:
    if name in ("tfidf", "unit"):
        if number is not None:
            raise DataError(f"features: {step!r} has a number; expected {name} alone")
        return True
    if name == "lm" and number is None:
        return LM_WEIGHT
    if name in ("terms", "svd", "project", "seed"):
        if number is None or not re.fullmatch(r"[0-9]{1,9}", number):
            raise DataError(f"features: {step!r} is no step; expected {name} with a whole number, as in {name}:300")
        return int(number)
    if name in ("dense", "lm"):
        if number is None or not re.fullmatch(r"[0-9]*\.?[0-9]+", number):
            raise DataError(f"features: {step!r} is no step; expected {name} with a weight, as in {name}:0.7")
        return float(number)
    names = ", ".join(field.name for field in fields(FeatureRecipe))
    raise DataError(f"features: {step!r} is no step; expected some of: {names}, or raw")


def _as_switch(value: object, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise DataError(f"{name} is {value!r}; expected True or False")
    return bool(value)
