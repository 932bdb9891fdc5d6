"""ARFF with several labels, as Mulan and MEKA use it.

Mulan: the names in an XML file are labels (nested ones too), wherever they stand among the attributes.
MEKA: the relation's name says `-C n`: the first n attributes are labels, or the last n where n is negative.

`?` is read as 0. Where the only other attributes are strings, they are the texts whose words are counted.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from xml.etree import ElementTree

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.readers.arff_rows import feature_names, make_columns, read_rows
from xmlcore.readers.arff_syntax import Header, read_header, unescaped
from xmlcore.readers.files import DataFile, is_text, located, train_and_test
from xmlcore.readers.names import without_companions
from xmlcore.readers.parts import CERTAIN, POSSIBLE, Claim, Files, Format, Options, Parsed
from xmlcore.units import counted

_RELATION = re.compile(rb"(?im)^\s*@(relation|attribute)\b")
_MEKA = re.compile(r"-C\s+(-?\d+)")
_MOST_XML = 50_000_000
_SAMPLE = 4096


def _arff_files(files: Files) -> list[DataFile]:
    return [f for f in files if f.has_suffix(".arff") or (is_text(f) and _RELATION.search(f.head()[:_SAMPLE]))]


def _claim(files: Files) -> Claim | None:
    data = _arff_files(files)
    if not data:
        return None
    xml = [file for file in files if file.has_suffix(".xml")]
    if xml:
        return Claim(CERTAIN, f"{data[0].name} is ARFF, and {xml[0].name} names the labels")
    if _MEKA.search(data[0].head()[:_SAMPLE].decode(errors="replace")):
        return Claim(CERTAIN, f"{data[0].name} is ARFF, and its relation says with -C which attributes are labels")
    return Claim(POSSIBLE, f"{data[0].name} is ARFF, but neither an XML file nor -C says which attributes are labels")


def _read(files: Files, options: Options) -> Parsed:
    data = _arff_files(files)
    if not data:
        raise DataError(f"{files[0].name}: no @relation and @attribute; expected ARFF")
    train_file, test_file = train_and_test(data, without_companions(files), "attributes")
    header = read_header(train_file)
    labels = _labels(header, train_file, files)
    columns = make_columns(header, labels, train_file, header)
    names = feature_names(header, columns)
    if len(names) > options.limits.max_columns:
        what = f"has {len(names)} features; expected at most {options.limits.max_columns}"
        raise located(train_file, None, what)
    train, missing = read_rows(train_file, header, columns, len(names), len(labels))
    test = None
    if test_file is not None:
        test_header = read_header(test_file)
        _check_same(header, train_file, test_header, test_file)
        test_columns = make_columns(test_header, labels, test_file, header)
        test, more = read_rows(test_file, test_header, test_columns, len(names), len(labels))
        missing += more
        if sparse.issparse(train.X) != sparse.issparse(test.X):
            test = replace(test, X=sparse.csr_array(test.X) if sparse.issparse(train.X) else test.X.toarray())
    notes = [f"{counted(missing, 'missing value')} (?), read as 0."] if missing else []
    dates = [one.name for one, column in zip(header.attributes, columns, strict=True) if column.use == "none"]
    if dates:
        notes.append(f"Left out: {counted(len(dates), 'attribute')} of dates ({', '.join(dates[:5])}).")
    return Parsed(
        train,
        test,
        feature_names=np.array(names) if names else None,
        label_names=np.array([header.attributes[place].name for place in labels]),
        notes=tuple(notes),
        used=(train_file, test_file, _xml_file(train_file, files)),
    )


def _labels(header: Header, file: DataFile, files: Files) -> list[int]:
    """The numbers of the attributes that are labels, in the order of the file."""
    if xml := _xml_file(file, files):
        return _labels_of_xml(header, file, xml)
    meka = _MEKA.search(header.relation)
    if not meka:
        what = "nothing says which attributes are labels; expected an XML file that names them, or -C in the relation"
        raise located(file, None, what)
    count, n_attributes = int(meka[1][:10]), len(header.attributes)
    if count == 0 or abs(count) >= n_attributes:
        what = f"the relation says -C {count}; expected how many of the {n_attributes} attributes are labels"
        raise located(file, None, what)
    return list(range(count)) if count > 0 else list(range(n_attributes + count, n_attributes))


def _xml_file(file: DataFile, files: Files) -> DataFile | None:
    """The file that names the labels of an ARFF file, or None."""
    xml = [other for other in files if other.has_suffix(".xml")]
    if len(xml) > 1:
        stem = PurePosixPath(file.base).stem
        xml = [other for other in xml if stem.startswith(PurePosixPath(other.base).stem)] or xml
    if len(xml) > 1:
        listed = ", ".join(other.name for other in xml[:5])
        raise DataError(f"{len(xml)} XML files ({listed}); expected one that names the labels")
    return xml[0] if xml else None


def _labels_of_xml(header: Header, file: DataFile, xml: DataFile) -> list[int]:
    if xml.path.stat().st_size > _MOST_XML:
        raise located(xml, None, f"is larger than {_MOST_XML / 1e6:.0f} MB; expected the names of labels")
    content = xml.path.read_bytes()
    if re.search(rb"(?i)<!\s*(doctype|entity)", content):
        raise located(xml, None, "declares a document type or entities; expected plain <label name=…/> elements")
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        line = error.position[0]
        raise located(xml, line, f"is no XML ({error}); expected <label name=…/> elements") from error
    except (ValueError, LookupError) as error:
        raise located(xml, 1, f"cannot be read as XML ({error}); expected UTF-8") from error
    elements = (element for element in root.iter() if isinstance(element.tag, str))
    names = [element.get("name", "") for element in elements if element.tag.rpartition("}")[2] == "label"]
    if not names:
        raise located(xml, None, "names no label; expected <label name=…/> elements")
    places = {attribute.name: place for place, attribute in enumerate(header.attributes)}
    chosen: set[int] = set()
    for name in names:
        # Some files write the escapes of the ARFF file into the XML file too.
        place = places.get(name, places.get(unescaped(name), places.get(name.strip())))
        if place is None:
            raise located(xml, None, f"the label {name!r} is no attribute of {file.name}; expected the same names")
        if place in chosen:
            raise located(xml, None, f"names the label {name!r} twice; expected each once")
        chosen.add(place)
    return sorted(chosen)


def _check_same(header: Header, file: DataFile, other: Header, other_file: DataFile) -> None:
    if len(header.attributes) != len(other.attributes):
        counts = f"{counted(len(other.attributes), 'attribute')} and {file.name} {len(header.attributes):,}"
        raise DataError(f"{other_file.name} has {counts}; expected the same ones")
    for one, two in zip(header.attributes, other.attributes, strict=True):
        if (one.name, one.type) != (two.name, two.type) or sorted(one.values) != sorted(two.values):
            what = f"the attribute {two.name!r} differs from {one.name!r} in line {one.line} of {file.name}"
            raise located(other_file, two.line, f"{what}; expected the same attributes")


FORMAT = Format(
    name="arff",
    title="Mulan or MEKA (ARFF)",
    help=(
        "ARFF files with a row for each instance, dense or sparse, and an XML file that names the labels (Mulan), or "
        "-C n in the relation's name for the first n attributes, -C -n for the last n (MEKA)."
    ),
    example=(
        "@relation 'music: -C 2'\n@attribute sad {0,1}\n@attribute happy {0,1}\n@attribute tempo numeric\n"
        "@data\n1,0,92.5\n{1 1,2 120}"
    ),
    claim=_claim,
    read=_read,
)
