"""Arguments that are numbers or indices: taken where they are what was expected, else named with the value seen."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse


class DataError(ValueError):
    """Input that cannot be used: the message says what is wrong, where, and what was expected."""


def as_number(
    value: object,
    name: str,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
    at_most: float = math.inf,
) -> float:
    """The value as a finite float within the bounds. Raises DataError, naming the argument, for anything else."""
    number = _float(value)
    if not (math.isfinite(number) and above < number < below and at_least <= number <= at_most):
        bounds = (("above", above), ("of at least", at_least), ("below", below), ("of at most", at_most))
        named = " and ".join(f"{words} {bound:g}" for words, bound in bounds if math.isfinite(bound))
        raise DataError(f"{name} is {shown(value)}; expected a finite number {named}".rstrip())
    return number


def as_whole(value: object, name: str, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """The value as an int within the bounds; 5.0 is 5. Raises DataError, naming the argument, for anything else."""
    number = _float(value)
    too_low, too_high = at_least is not None and number < at_least, at_most is not None and number > at_most
    if not number.is_integer() or too_low or too_high:
        bounds = (("of at least", at_least), ("of at most", at_most))
        named = " and ".join(f"{words} {bound:,}" for words, bound in bounds if bound is not None)
        raise DataError(f"{name} is {shown(value)}; expected a whole number {named}".rstrip())
    return int(value)


def check_reg_lambda(reg_lambda: float, name: str = "reg_lambda") -> float:
    """λ as a float. Raises DataError, naming the argument and the value, unless it is a finite number above 0."""
    return as_number(reg_lambda, name, above=0)


def as_array(values: object, name: str) -> np.ndarray:
    """The values as an array. Raises DataError, naming the argument, for rows of different lengths and masked ones."""
    refuse_masked(values, name)
    try:
        return np.asarray(values)
    except ValueError as error:
        raise DataError(f"{name} must have rows of equal length: {error}") from error


def as_floats(values: object, name: str) -> np.ndarray:
    """The values as float64. Raises DataError as `as_array` does, and for what are no real numbers: texts are none."""
    numbers = as_array(values, name)
    if numbers.dtype.kind not in "biufO":
        raise DataError(f"{name} must hold real numbers; it holds {numbers.dtype}")
    try:
        return numbers.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{name} must hold real numbers: {error}") from error


def refuse_masked(values: object, name: str) -> None:
    """Raises DataError where values are masked: as a plain array they would count as if they were not."""
    if np.ma.is_masked(values):
        raise DataError(f"{name} is an array with masked entries; expected one whose every value counts")


def as_list(values: object, name: str) -> list:
    """The values as a list. Raises DataError, naming the argument, for one value where several are asked for."""
    try:
        return list(values)
    except TypeError as error:
        raise DataError(f"{name} is {values!r}; expected a list of values") from error


def as_indices(values: object, count: int, name: str) -> np.ndarray:
    """The values, none too, as an array of whole numbers from 0 to count − 1. Raises DataError, naming the argument."""
    indices = as_array(values, name)
    if indices.shape == (0,):
        indices = indices.astype(np.int64)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise DataError(f"{name} has type {indices.dtype} and shape {indices.shape}; expected a list of whole numbers")
    if indices.size and not (indices.min() >= 0 and indices.max() < count):
        seen = f"holds numbers from {indices.min()} to {indices.max()}"
        raise DataError(f"{name} {seen}; expected whole numbers from 0 to {count - 1}")
    return indices


def check_places(M: sparse.sparray | sparse.spmatrix, name: str) -> None:
    """Raises DataError, naming the argument and the index, where a sparse M names a row or column that it lacks.

    scipy takes indices as they are given (columns counted from 1, say), and compiled loops would read and write
    elsewhere in memory. Also raised where the pointers of a compressed M do not cut its entries into rows.
    """
    if M.format == "coo":
        rows, columns = M.shape
        _check_below(M.coords[0], rows, name, "row")
        _check_below(M.coords[1], columns, name, "column")
    elif M.format in ("csr", "csc", "bsr"):
        height, width = M.blocksize if M.format == "bsr" else (1, 1)
        rows, columns = M.shape[0] // height, M.shape[1] // width
        lines, places, what = (columns, rows, "row") if M.format == "csc" else (rows, columns, "column")
        pointers, stored = M.indptr, len(M.indices)
        ends = (len(pointers), pointers[0], pointers[-1], len(M.data)) == (lines + 1, 0, stored, stored)
        if not ends or (pointers[1:] < pointers[:-1]).any():
            raise DataError(f"{name} has pointers (indptr) that do not rise from 0 to its {stored:,} entries")
        _check_below(M.indices, places, name, f"block of {what}s" if M.format == "bsr" else what)


def _check_below(indices: np.ndarray, count: int, name: str, what: str) -> None:
    # As unsigned numbers negative ones are large: one pass finds both.
    if indices.size and int(indices.view(f"u{indices.itemsize}").max()) >= count:
        seen = indices[(indices < 0) | (indices >= count)][0]
        expected = f"expected {what}s from 0 to {count - 1}" if count else f"it has no {what}"
        raise DataError(f"{name} has an entry in {what} {seen}; {expected}")


def _float(value: object) -> float:
    """The value as a float, NaN where it is no single number: a text is none, whatever it says."""
    try:
        return math.nan if isinstance(value, (str, bytes)) or np.ndim(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def shown(value: object) -> str:
    """The value as a message repeats it: as Python writes it, of a long one the beginning."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else f"{text[:59]}…"
