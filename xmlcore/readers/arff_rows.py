"""The rows of an ARFF file as features and labels: what each attribute becomes, and the values put in place.

Numeric attributes and nominal ones whose values are numbers become one feature each; a nominal attribute with two other
values becomes one feature (1 for the second value), with more values one feature for each. Strings are texts.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xmlcore.matrices import Features
from xmlcore.readers.arff_syntax import MISSING, Attribute, Header, data_rows, split_row, split_sparse_row
from xmlcore.readers.files import DataFile, located, parse_number
from xmlcore.readers.parts import Part
from xmlcore.units import counted

_YES, _NO = ("1", "true", "yes", "t", "y"), ("0", "false", "no", "f", "n")
# A matrix in which more than this share is not zero is kept dense.
_DENSE = 0.5
_FLOAT32_MAX = 3.4028235e38
_PAIRS = re.compile(r"\{\s*\d{1,12}\s+[^\s,{}]+(?:\s*,\s*\d{1,12}\s+[^\s,{}]+)*\s*\}")


@dataclass(frozen=True)
class Column:
    """What becomes of an attribute's values.

    Attributes:
        use: "label", "number" (one feature), "codes" (a nominal attribute), "text", or "none".
        place: the label's number, or that of the first feature.
        codes: for each nominal value the feature, counted from the first one, and what it is set to.
        default: the same for what a sparse row means where it does not name the attribute.
    """

    use: str
    place: int = 0
    codes: dict[str, tuple[int, float]] | None = None
    default: tuple[int, float] = (0, 0.0)


@dataclass(frozen=True)
class Rows:
    """The instances of one file, growing: the three arrays of a sparse matrix each for features and labels."""

    features: array
    values: array
    feature_ends: list[int]
    labels: array
    label_ends: list[int]
    texts: list[str]


def make_columns(header: Header, labels: Sequence[int], file: DataFile, like: Header) -> list[Column]:
    """What becomes of each attribute of a header.

    Args:
        header: of the file whose rows will be read.
        labels: the numbers of the attributes that are labels.
        file: for messages.
        like: the training file's header; its order of nominal values decides which feature is which.

    Raises DataError, naming the line, where a label cannot be one.
    """
    label_places = {place: number for number, place in enumerate(labels)}
    columns = []
    filled = 0
    for place, (attribute, first) in enumerate(zip(header.attributes, like.attributes, strict=True)):
        if place in label_places:
            columns.append(Column("label", label_places[place], default=(0, _label_default(attribute, file))))
        elif attribute.type == "numeric":
            columns.append(Column("number", filled))
            filled += 1
        elif attribute.type == "nominal":
            codes = _codes(first)
            columns.append(Column("codes", filled, codes, codes[attribute.values[0]]))
            filled += 1 + max(offset for offset, _ in codes.values())
        else:
            columns.append(Column("text" if attribute.type == "string" else "none"))
    return columns


def feature_names(header: Header, columns: Sequence[Column]) -> list[str]:
    """A name for each feature: the attribute's, with `=value` where a feature stands for one nominal value."""
    names: list[str] = []
    for attribute, column in zip(header.attributes, columns, strict=True):
        if column.use == "number":
            names.append(attribute.name)
        elif column.use == "codes":
            one_each = max(offset for offset, _ in column.codes.values()) > 0
            plain = all(parse_number(value) is not None for value in attribute.values)
            if one_each:
                names += [f"{attribute.name}={value}" for value in attribute.values]
            else:
                names.append(attribute.name if plain else f"{attribute.name}={attribute.values[-1]}")
    return names


def _codes(attribute: Attribute) -> dict[str, tuple[int, float]]:
    numbers = [parse_number(value) for value in attribute.values]
    if all(number is not None and abs(number) < _FLOAT32_MAX for number in numbers):
        return {value: (0, number) for value, number in zip(attribute.values, numbers, strict=True)}
    if len(attribute.values) <= 2:
        return {value: (0, float(code)) for code, value in enumerate(attribute.values)}
    return {value: (code, 1.0) for code, value in enumerate(attribute.values)}


def _label_default(attribute: Attribute, file: DataFile) -> float:
    if attribute.type == "numeric":
        return 0.0
    seen = ",".join(attribute.values)[:40] if attribute.type == "nominal" else f"of type {attribute.type}"
    if attribute.type != "nominal" or not all(value.lower() in _YES + _NO for value in attribute.values):
        what = f"the label {attribute.name!r} has values {seen}; expected 0 and 1"
        raise located(file, attribute.line, what)
    return float(attribute.values[0].lower() in _YES)


def read_rows(
    file: DataFile, header: Header, columns: Sequence[Column], n_features: int, n_labels: int
) -> tuple[Part, int]:
    """The instances of a file, and how many values were missing (and are read as 0).

    Raises DataError, naming the line, where a row does not fit the attributes.
    """
    rows = Rows(array("i"), array("f"), [0], array("i"), [0], [])
    # Only these mean anything where a sparse row is silent; usually there is none.
    given = [place for place, column in enumerate(columns) if column.default[1] != 0]
    shortcut = _shortcut(columns)
    missing = 0
    for line, text in data_rows(file, header):
        is_sparse = text.startswith("{")
        if shortcut is not None and not (is_sparse and given) and _put_numbers(text, is_sparse, shortcut, rows):
            continue
        if is_sparse:
            named = split_sparse_row(text, len(columns), file, line)
            for place in given:
                if place not in named:
                    _put(columns[place], columns[place].default, rows)
            cells = named.items()
        else:
            values = split_row(text, file, line)
            if len(values) != len(columns):
                what = f"has {counted(len(values), 'value')}; expected {len(columns)}, one for each attribute"
                raise located(file, line, what)
            cells = enumerate(values)
        texts = []
        for place, value in cells:
            column = columns[place]
            if column.use == "none":
                continue
            if value is MISSING:
                missing += 1
            elif column.use == "text":
                texts.append(value)
            else:
                _put(column, _meant(column, value, header.attributes[place], file, line), rows)
        _end(rows, " ".join(texts))
    if len(rows.texts) == 0:
        raise located(file, None, "has no row after @data; expected instances")
    return _part(rows, n_features, n_labels, any(column.use == "text" for column in columns)), missing


@dataclass(frozen=True)
class _Shortcut:
    """For rows of nothing but numbers: each attribute's place among labels or features; which allow only 0 and 1."""

    is_label: np.ndarray
    places: np.ndarray
    is_binary: np.ndarray


def _shortcut(columns: Sequence[Column]) -> _Shortcut | None:
    binary = [column.codes == {"0": (0, 0.0), "1": (0, 1.0)} for column in columns]
    if not all(two or column.use in ("label", "number") for two, column in zip(binary, columns, strict=True)):
        return None
    is_label = np.array([column.use == "label" for column in columns])
    return _Shortcut(is_label, np.array([column.place for column in columns], np.int32), is_label | binary)


def _put_numbers(text: str, is_sparse: bool, shortcut: _Shortcut, rows: Rows) -> bool:
    """Puts a row of nothing but fitting numbers in place, all at once; False where it is not one.

    The long way around then does it, or finds out what is wrong.
    """
    if "_" in text or (is_sparse and not _PAIRS.fullmatch(text)):
        return False
    cells = text[1:-1].replace(",", " ").split() if is_sparse else text.split(",")
    try:
        numbers = np.array([float(cell) for cell in cells])
    except ValueError:
        return False
    if is_sparse:
        places, numbers = numbers[::2].astype(np.int64), numbers[1::2]
        if places.max() >= len(shortcut.places) or np.unique(places).size < places.size:
            return False
    else:
        places = np.arange(len(numbers))
        if len(numbers) != len(shortcut.places):
            return False
    binary = numbers[shortcut.is_binary[places]]
    if not ((np.abs(numbers) < _FLOAT32_MAX).all() and ((binary == 0) | (binary == 1)).all()):
        return False
    places, numbers = places[numbers != 0], numbers[numbers != 0]
    is_label = shortcut.is_label[places]
    rows.labels.frombytes(shortcut.places[places[is_label]].tobytes())
    rows.features.frombytes(shortcut.places[places[~is_label]].tobytes())
    rows.values.frombytes(numbers[~is_label].astype(np.float32).tobytes())
    _end(rows, "")
    return True


def _meant(column: Column, value: str, attribute: Attribute, file: DataFile, line: int) -> tuple[int, float]:
    """The feature, counted from the column's first, and the number that a value stands for."""
    seen = f"{attribute.name!r} has the value {value[:40]!r}"
    if column.use == "codes":
        if value not in column.codes:
            raise located(file, line, f"{seen}; expected one of {','.join(attribute.values)[:60]}")
        return column.codes[value]
    number = parse_number(value)
    if column.use == "label":
        number = 1.0 if value.lower() in _YES else 0.0 if value.lower() in _NO else number
        if number not in (0.0, 1.0):
            raise located(file, line, f"the label {seen}; expected 0 or 1")
    elif number is None or not abs(number) < _FLOAT32_MAX:
        raise located(file, line, f"{seen}; expected a finite number")
    return 0, number


def _put(column: Column, meant: tuple[int, float], rows: Rows) -> None:
    offset, number = meant
    if number == 0:
        return
    if column.use == "label":
        rows.labels.append(column.place)
    else:
        rows.features.append(column.place + offset)
        rows.values.append(number)


def _end(rows: Rows, text: str) -> None:
    rows.feature_ends.append(len(rows.features))
    rows.label_ends.append(len(rows.labels))
    rows.texts.append(text)


def _part(rows: Rows, n_features: int, n_labels: int, has_text: bool) -> Part:
    labels = np.array(rows.labels, np.int32)
    ones = np.ones(len(labels), np.float32)
    Y = sparse.csr_array((ones, labels, rows.label_ends), shape=(len(rows.texts), n_labels))
    Y.sort_indices()
    texts = rows.texts if has_text else None
    if n_features == 0:
        return Part(Y, texts=texts)
    values, features = np.array(rows.values, np.float32), np.array(rows.features, np.int32)
    X: Features = sparse.csr_array((values, features, rows.feature_ends), shape=(len(rows.texts), n_features))
    X.sort_indices()
    return Part(Y, X.toarray() if X.nnz > _DENSE * len(rows.texts) * n_features else X, texts=texts)
