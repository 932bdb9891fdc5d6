"""Small files that may lie beside the data in any layout: names, pairs to mask, and what a data set says of itself.

- `label_names.txt`, `output-items.txt` (PECOS), `label_map.txt` (X-Transformer), `Yf.txt`, `Y.txt`: a label in a line;
- `feature_names.txt`, `Xf.txt`: a feature in a line;
- `train_names.txt`, `test_names.txt`: an instance in a line;
- `filter_labels_train.txt`, `filter_labels_test.txt`: an instance and a label, numbered from 0, that are masked before
  ranking (in sets where documents are labels too, a document must not be recommended to itself);
- `dataset.json`: name, feature_kind, A and B, as `write_xc_text` and `write_npz` leave them; of a sample also
  given_n_train, the number of training instances that it was drawn from;
- `given_label_counts.txt`: how many of those have each label, a label's number in a line.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain

import numpy as np

from xmlcore.checks import shown
from xmlcore.dataset import FEATURE_KINDS, HIGHEST_PARAMETER, MOST_INSTANCES
from xmlcore.matrices import n_columns
from xmlcore.readers.files import DataFile, located, parse_whole, role, text_lines
from xmlcore.readers.parts import Files, Parsed, Part
from xmlcore.units import clean, counted

LABEL_NAMES = ("label_names.txt", "output-items.txt", "label_map.txt", "yf.txt", "y.txt")
FEATURE_NAMES = ("feature_names.txt", "xf.txt")
INSTANCE_NAMES = ("train_names.txt", "test_names.txt")
FILTERS = ("filter_labels_train.txt", "filter_labels_test.txt")
ABOUT = "dataset.json"
GIVEN_COUNTS = "given_label_counts.txt"
_MOST_TEXT = 300_000_000
COMPANIONS = frozenset((*LABEL_NAMES, *FEATURE_NAMES, *INSTANCE_NAMES, *FILTERS, ABOUT, GIVEN_COUNTS))


def is_companion(file: DataFile) -> bool:
    """Whether a file is one of the small ones of this module."""
    return file.base.lower() in COMPANIONS


def without_companions(files: Files) -> list[DataFile]:
    """The files that may be data: all but the small ones of this module."""
    return [file for file in files if not is_companion(file)]


def find(files: Files, *names: str) -> DataFile | None:
    """The first file with one of the names, in the order of the names; lower case."""
    by_name = {file.base.lower(): file for file in reversed(files)}
    return next((by_name[name] for name in names if name in by_name), None)


def read_names(file: DataFile, count: int) -> np.ndarray:
    """One name for each line; blank lines at the end are none where they are more than the `count` that is expected."""
    names = [line for _, line in text_lines(file)]
    while len(names) > count and not names[-1].strip():
        names.pop()
    return np.array(names, dtype=str)


def read_texts(file: DataFile, rows: int, notes: list[str]) -> list[str] | None:
    """One text for each line, if there are `rows` of them; else None, and a note that says why."""
    size = file.path.stat().st_size
    if size > _MOST_TEXT:
        notes.append(f"{file.name} ({size / 1e6:,.0f} MB) was left out: too large to keep in memory.")
        return None
    texts = [line for _, line in text_lines(file)]
    if len(texts) != rows:
        notes.append(f"{file.name} has {counted(len(texts), 'line')} for {counted(rows, 'instance')} and was left out.")
        return None
    return texts


def with_companions(parsed: Parsed, files: Files, *data: DataFile | None) -> Parsed:
    """`parsed` with what lies beside the data: names where they fit (where they do not, a note says so), pairs to mask,
    and the label counts of a training set that this is a sample of.

    data: the files that `parsed` was read from.

    Raises DataError, naming file and line, where such a file cannot be read, a pair names no instance or no label, or
    the counts are not those of these labels.
    """
    notes, used = list(parsed.notes), [*parsed.used, *data]
    parts = {"train": parsed.train, "test": parsed.test}
    sides = [part for part in parts.values() if part is not None]
    n_labels = max(part.Y.shape[1] for part in sides)
    n_features = max(0 if part.X is None else n_columns(part.X) for part in sides)
    label_names, feature_names = parsed.label_names, parsed.feature_names
    if label_names is None:
        used.append(find(files, *LABEL_NAMES))
        label_names = _fitting(used[-1], n_labels, "label", notes)
    if feature_names is None and n_features:
        used.append(find(files, *FEATURE_NAMES))
        feature_names = _fitting(used[-1], n_features, "feature", notes)
    n_labels = max(n_labels, 0 if label_names is None else len(label_names))
    for side, part in parts.items():
        if part is not None:
            parts[side] = _with_side(part, side, n_labels, files, notes, used)
    about = _about(find(files, ABOUT))
    used += [find(files, ABOUT), find(files, GIVEN_COUNTS)]
    if counts := find(files, GIVEN_COUNTS):
        about["given_label_counts"] = _given_counts(counts, n_labels, about.get("given_n_train"))
    names = {"label_names": label_names, "feature_names": feature_names}
    return replace(parsed, **parts, **about, **names, notes=tuple(notes), used=tuple(used))


def _fitting(file: DataFile | None, count: int, what: str, notes: list[str]) -> np.ndarray | None:
    if file is None:
        return None
    names = read_names(file, count)
    if len(names) < count:
        notes.append(f"{file.name} has {counted(len(names), 'name')} for {counted(count, what)} and was left out.")
        return None
    return names


def _with_side(
    part: Part, side: str, n_labels: int, files: Files, notes: list[str], used: list[DataFile | None]
) -> Part:
    rows = part.Y.shape[0]
    names = find(files, f"{side}_names.txt")
    if part.names is None and names is not None:
        used.append(names)
        found = read_names(names, rows)
        if len(found) == rows:
            part = replace(part, names=found)
        else:
            seen = f"{counted(len(found), 'name')} for {counted(rows, 'instance')}"
            notes.append(f"{names.name} has {seen} and was left out.")
    masks = [file for file in files if file.base.lower().startswith("filter") and role(file) == side]
    if part.masked is None and masks:
        used.append(masks[0])
        masked = read_pairs(masks[0], rows, n_labels)
        part = replace(part, masked=masked)
        distinct = len(set(zip(*masked, strict=True)))  # a file may name a pair twice
        notes.append(f"Masked before ranking in {side}: {counted(distinct, 'pair')} of {masks[0].name}.")
    return part


def read_pairs(file: DataFile, rows: int, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs (instance, label) of a filter file, numbered from 0, as two int64 arrays.

    Raises DataError, naming the line, for anything else than two whole numbers, an instance not below `rows`, or a
    label not below `n_labels`.
    """
    pairs = []
    for number, line in text_lines(file):
        pair = tuple(map(parse_whole, line.split()))
        if not pair:
            continue
        if len(pair) != 2 or None in pair:
            raise located(file, number, f"found {line[:40]!r}; expected an instance and a label, such as 0 17")
        if pair[0] >= rows:
            raise located(file, number, f"instance {pair[0]} is out of range; expected 0 to {rows - 1}")
        if pair[1] >= n_labels:
            raise located(file, number, f"label {pair[1]} is out of range; expected 0 to {n_labels - 1}")
        pairs.append(pair)
    flat = np.fromiter(chain.from_iterable(pairs), np.int64, 2 * len(pairs))
    return flat[::2], flat[1::2]


def _given_counts(file: DataFile, n_labels: int, given_n_train: object) -> np.ndarray:
    """N_l of the training set as it was given, shape (L,), int64."""
    if given_n_train is None:
        raise located(file, None, f"needs the number of instances counted; expected given_n_train in {ABOUT}")
    counts = []
    for number, line in text_lines(file):
        count = parse_whole(line.strip())
        if count is None or count > given_n_train:
            raise located(file, number, f"found {line[:40]!r}; expected a number from 0 to {given_n_train}")
        counts.append(count)
    if len(counts) != n_labels:
        seen = f"has {counted(len(counts), 'count')} for {counted(n_labels, 'label')}"
        raise located(file, None, f"{seen}; expected one for each")
    return np.array(counts, dtype=np.int64)


def _about(file: DataFile | None) -> dict[str, object]:
    """name, feature_kind, A, B and given_n_train of `dataset.json`, those that it has."""
    if file is None:
        return {}
    text = "\n".join(line for _, line in text_lines(file))
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise located(
            file, getattr(error, "lineno", None), "is no JSON; expected name, feature_kind, A and B"
        ) from error
    if not isinstance(said, dict):
        raise located(file, 1, "is no JSON object; expected name, feature_kind, A and B")
    about = {key: said[key] for key in ("name", "feature_kind", "A", "B", "given_n_train") if key in said}
    for key in ("A", "B"):
        value = about.get(key, 1.0)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 <= value <= HIGHEST_PARAMETER or (key == "B" and value == 0):
            raise located(file, None, f"{key} is {shown(value)}; expected a number, A not negative and B positive")
    if about.get("feature_kind", "values") not in FEATURE_KINDS:
        raise located(file, None, f"feature_kind is {shown(about['feature_kind'])}; expected values or counts")
    if not isinstance(about.get("name", ""), str):
        raise located(file, None, f"name is {shown(about['name'])}; expected text")
    if "name" in about:
        about["name"] = clean(about["name"])
    size = about.get("given_n_train", 1)
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= MOST_INSTANCES:
        raise located(file, None, f"given_n_train is {shown(size)}; expected a number of instances")
    return about
