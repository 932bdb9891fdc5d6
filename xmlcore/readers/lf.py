"""The repository's LF- sets, in which labels have features too.

    trn_X_Xf.txt   3 5            rows and columns, then a row in each line
                   0:0.5 3:1.25
    trn_X_Y.txt    3 4
                   0:1 2:1
    lbl_X_Xf.txt                  the labels' own features, which ridge regression has no use for
    filter_labels_train.txt       pairs (instance, label) that are masked before ranking

The files for testing begin with `tst`. Raw texts and label names may lie beside them in `trn.json`, `tst.json` and
`lbl.json`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.readers import sparse_kernel as kernel
from xmlcore.readers.files import DataFile, located, other_encoding, role
from xmlcore.readers.json_lines import json_files, read_label_names, read_texts
from xmlcore.readers.labels import as_ones
from xmlcore.readers.names import with_companions
from xmlcore.readers.parts import CERTAIN, Claim, Files, Format, Options, Parsed, Part
from xmlcore.readers.sparse_lines import drop_blank_end, read_sparse_lines
from xmlcore.units import counted

_FEATURES, _LABELS = "x_xf", "x_y"
_HEADER = re.compile(rb"\s*(\d{1,18})[ \t]+(\d{1,18})\s*")
_SIDES = ("train", "test")


def _find(files: Files, what: str) -> dict[str, DataFile]:
    """The files of features or labels by side; those of the labels' own features are neither."""
    found: dict[str, DataFile] = {}
    for file in files:
        words = re.split(r"[._-]+", file.base.lower())
        if f"_{what}." in f"_{file.base.lower()}." and words[0] not in ("lbl", "label", "labels"):
            found.setdefault(role(file) or "train", file)
    return found


def _claim(files: Files) -> Claim | None:
    features, labels = _find(files, _FEATURES), _find(files, _LABELS)
    if "train" not in features or "train" not in labels:
        return None
    return Claim(CERTAIN, f"{features['train'].name} holds features and {labels['train'].name} labels")


def _read(files: Files, options: Options) -> Parsed:
    features, labels = _find(files, _FEATURES), _find(files, _LABELS)
    if "train" not in features or "train" not in labels:
        raise DataError(f"{files[0].name}: no trn_X_Xf.txt beside trn_X_Y.txt; expected both")
    for side in _SIDES:
        if (side in features) != (side in labels):
            there = features.get(side) or labels.get(side)
            raise located(there, None, "has no counterpart; expected features (X_Xf) and labels (X_Y) for each side")
    notes: list[str] = []
    parts = {s: _part(features[s], labels[s], options, notes) for s in _SIDES if s in features}
    parsed = Parsed(parts["train"], parts.get("test"))
    json = {role(file): file for file in json_files(files)}
    used = [found.get(side) for found in (features, labels, json) for side in parts]
    for side, part in parts.items():
        if side in json:
            parsed = replace(parsed, **{side: read_texts(part, json[side], notes)})
    return with_companions(read_label_names(replace(parsed, notes=tuple(notes)), files), files, *used)


def _part(features: DataFile, labels: DataFile, options: Options, notes: list[str]) -> Part:
    X = _matrix(features, "feature", options.limits.max_columns)
    Y, note = as_ones(_matrix(labels, "label", options.limits.max_columns), labels)
    if note:
        notes.append(note)
    if X.shape[0] != Y.shape[0]:
        raise DataError(
            f"{features.name} has {counted(X.shape[0], 'row')} and {labels.name} {Y.shape[0]:,}; "
            "expected the same number"
        )
    return Part(Y, X)


def _matrix(file: DataFile, called: str, max_columns: int) -> sparse.csr_array:
    """A matrix of `column:value` lines, numbered from 0, after a line with the numbers of rows and columns."""
    first = file.head().partition(b"\n")[0]
    found = _HEADER.fullmatch(first)
    if not found:
        seen = first[:40].decode(errors="replace")
        no_header = located(file, 1, f"found {seen!r}; expected the numbers of rows and columns, such as 3 5")
        raise other_encoding(file) or no_header
    rows, columns = int(found[1]), int(found[2])
    if columns > max_columns:
        raise located(file, 1, f"names {columns} columns; expected at most {max_columns}")
    lines = read_sparse_lines(
        file,
        form=kernel.NO_LABELS,
        skip_lines=1,
        n_features=columns,
        n_labels=0,
        max_columns=max_columns,
        called=called,
    )
    # A blank line is a row without entries, at the end too as far as the header counts it.
    X = drop_blank_end(lines, rows).X
    if X.shape[0] != rows:
        seen = f"the header says {counted(rows, 'row')}, but below it came {counted(X.shape[0], 'line')}"
        raise located(file, 1, f"{seen}; expected the same number")
    return X


FORMAT = Format(
    name="lf",
    title="Extreme Classification Repository, LF- sets",
    help=(
        "trn_X_Xf.txt with the features and trn_X_Y.txt with the labels, the same for tst, each with a header of rows "
        "and columns; pairs in filter_labels_train.txt and filter_labels_test.txt are masked before ranking."
    ),
    example="3 5\n0:0.5 3:1.25\n2:1\n1:0.75",
    claim=_claim,
    read=_read,
)
