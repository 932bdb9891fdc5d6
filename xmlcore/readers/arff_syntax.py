"""The ARFF language: header lines, quoted and escaped words, rows.

    % a comment
    @relation 'music: -C 2'
    @attribute 'the beat' numeric
    @attribute mood {calm,"very loud"}
    @data
    0.5,calm
    {0 0.5,1 'very loud'}

Keywords are in any case. A word may be quoted with ' or ", and a backslash takes the next character as it is. `?` is a
missing value. In a sparse row (in braces) what is not named is 0, or the first value of a nominal attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from xmlcore.readers.files import DataFile, located, parse_whole, text_lines

_WORD = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|((?:[^\s,'"\\]|\\.)(?:[^\s,\\]|\\.)*))""")
_VALUE = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|((?:[^,'"\\]|\\.)(?:[^,\\]|\\.)*|))\s*(,|$)""")
_KEYWORD = re.compile(r"\s*@(\w+)\s*(.*)")
_ESCAPED = re.compile(r"\\(.)")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r"}
_NUMERIC = ("numeric", "real", "integer")
MISSING = None


@dataclass(frozen=True)
class Attribute:
    """A column: its name, its type ("numeric", "nominal", "string" or "date"), nominal values, the line it is on."""

    name: str
    type: str
    values: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Header:
    """What stands above the rows: the relation's name as it is written, the attributes, and the line of `@data`."""

    relation: str
    attributes: tuple[Attribute, ...]
    data_line: int


def unescaped(text: str) -> str:
    """`text` with every backslash taken away and the character after it as it is meant."""
    return _ESCAPED.sub(lambda found: _LETTERS.get(found[1], found[1]), text) if "\\" in text else text


def read_header(file: DataFile) -> Header:
    """The header of an ARFF file. Raises DataError, naming the line, where it is none."""
    relation = ""
    attributes: list[Attribute] = []
    names: dict[str, int] = {}
    number = 0
    for number, line in text_lines(file):
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        found = _KEYWORD.match(line)
        keyword = found[1].lower() if found else ""
        if keyword == "relation":
            relation = found[2]
        elif keyword == "attribute":
            attribute = _attribute(found[2], file, number)
            if attribute.name in names:
                first = names[attribute.name]
                raise located(file, number, f"the attribute {attribute.name!r} was declared in line {first} already")
            names[attribute.name] = number
            attributes.append(attribute)
        elif keyword == "data":
            if not attributes:
                raise located(file, number, "@data comes before any @attribute; expected attributes first")
            return Header(relation, tuple(attributes), number)
        else:
            raise located(file, number, f"found {line.strip()[:40]!r}; expected @relation, @attribute or @data")
    raise located(file, number or None, "ends before @data; expected rows after it (is the file cut short?)")


def _first_word(text: str, file: DataFile, line: int, expected: str) -> tuple[str, str]:
    found = _WORD.match(text)
    if not found:
        raise located(file, line, f"found {text[:40]!r}; expected {expected}")
    word = next(group for group in found.groups() if group is not None)
    return unescaped(word), text[found.end() :].strip()


def _attribute(text: str, file: DataFile, line: int) -> Attribute:
    name, declared = _first_word(text, file, line, "a name after @attribute")
    if declared.startswith("{"):
        if not declared.endswith("}"):
            raise located(file, line, f"the values of {name!r} do not end with a brace; expected such as {{0,1}}")
        values = split_row(declared[1:-1], file, line)
        if any(value is MISSING for value in values):
            raise located(file, line, f"? is among the values of {name!r}; expected values")
        return Attribute(name, "nominal", tuple(values), line)
    kind = declared.split()[0].lower() if declared else ""
    if kind in _NUMERIC:
        return Attribute(name, "numeric", (), line)
    if kind in ("string", "date"):
        return Attribute(name, kind, (), line)
    raise located(file, line, f"{name!r} has the type {declared[:30]!r}; expected numeric, {{values}}, string or date")


def data_rows(file: DataFile, header: Header) -> Iterator[tuple[int, str]]:
    """The rows after `@data` as (line, text), without comments and blank lines."""
    for number, line in text_lines(file):
        if number > header.data_line:
            row = line.strip()
            if row and not row.startswith("%"):
                yield number, row


def split_row(text: str, file: DataFile, line: int) -> list[str | None]:
    """The values of a dense row: at commas, or at blanks where there is no comma; MISSING for a bare `?`."""
    if not ("'" in text or '"' in text or "\\" in text):
        cells = text.split(",") if "," in text else text.split() or [""]
        return [MISSING if (cell := raw.strip()) == "?" else cell for raw in cells]
    values: list[str | None] = []
    at = 0
    while True:
        found = _VALUE.match(text, at)
        if not found:
            raise located(file, line, f"found {text[at : at + 40]!r}; expected a value (is a quote missing?)")
        bare = found[3]
        if bare is not None:
            values.append(MISSING if bare.strip() == "?" else unescaped(bare.strip()))
        else:
            values.append(unescaped(found[1] if found[1] is not None else found[2]))
        if not found[4]:
            return values
        at = found.end()


def split_sparse_row(text: str, n_attributes: int, file: DataFile, line: int) -> dict[int, str | None]:
    """The values that a row in braces names, by the attribute's number from 0."""
    if not text.endswith("}"):
        raise located(file, line, "the row does not end with a brace; expected {number value, …} (is it cut short?)")
    values: dict[int, str | None] = {}
    inner = text[1:-1].strip()
    if not inner:
        return values
    plain = not ("'" in inner or '"' in inner or "\\" in inner)
    for item in inner.split(",") if plain else _items(inner):
        number, value = [*item.strip().split(None, 1), "", ""][:2]
        place = parse_whole(number)
        if place is None or not value:
            raise located(file, line, f"found {item.strip()[:40]!r}; expected the number of an attribute and its value")
        if place >= n_attributes:
            raise located(file, line, f"attribute {place} is out of range; expected 0 to {n_attributes - 1}")
        if place in values:
            raise located(file, line, f"attribute {place} occurs twice; expected each at most once in a row")
        if plain:
            values[place] = MISSING if value == "?" else value
        else:
            parts = split_row(value, file, line)
            if len(parts) != 1:
                raise located(file, line, f"found {value[:40]!r}; expected one value")
            values[place] = parts[0]
    return values


def _items(text: str) -> Iterator[str]:
    """The parts of `text` between commas that are not in quotes."""
    quote = ""
    start = 0
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == "\\":
            at += 1
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"" and text[at - 1 : at] in ("", " ", "\t", ","):
            quote = letter
        elif letter == ",":
            yield text[start:at]
            start = at + 1
        at += 1
    yield text[start:]
