"""The two questions about files: what format is this, and what data set is in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from xmlcore.checks import DataError, as_number, as_whole
from xmlcore.dataset import Dataset
from xmlcore.readers import (
    arff,
    attentionxml,
    csv_text,
    fasttext,
    json_lines,
    lf,
    libsvm,
    matlab,
    npz,
    parquet,
    tab_text,
    xc_text,
    xmc_base,
)
from xmlcore.readers.assemble import assemble
from xmlcore.readers.files import DataFile, listed, located, no_text_at, opened, other_encoding, role
from xmlcore.readers.limits import LIMITS, Limits
from xmlcore.readers.names import COMPANIONS, without_companions
from xmlcore.readers.parts import Files, Format, Options, Parsed
from xmlcore.units import clean

# In the order in which they are listed to people, the most usual first.
FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        xc_text,
        npz,
        xmc_base,
        arff,
        csv_text,
        json_lines,
        libsvm,
        lf,
        attentionxml,
        tab_text,
        fasttext,
        parquet,
        matlab,
    )
}

_EXPECTED = f"expected one of: {'; '.join(form.title for form in FORMATS.values())}"
_SUFFIXES = re.compile(r"(?i)(\.(zip|tgz|tar|gz|txt|arff|xml|npz|npy|csv|tsv|jsonl?|svm|libsvm|mat|parquet|dat))+$")
_NO_NAMES = frozenset(("", "train", "test", "trn", "tst", "data", "x", "xf", "y", "yf", "lbl"))
_FOR_PEOPLE = re.compile(r"(?i)(readme|licen[cs]e|citation|changelog)\b")


@dataclass(frozen=True)
class Recognition:
    """Which format files are taken to be in.

    Attributes:
        format: a name in FORMATS.
        reason: why, in words.
        alternatives: other formats that the same files could be in, the likelier ones first; a person may choose one.
        split_columns: how many splits the files offer to choose from, 0 where there is nothing to choose.
    """

    format: str
    reason: str
    alternatives: tuple[Recognition, ...] = ()
    split_columns: int = 0


def read(
    path_or_paths: str | Path | Sequence[str | Path],
    *,
    format: str | None = None,
    split_column: int = 0,
    test_share: float = 0.2,
    seed: int = 0,
    limits: Limits = LIMITS,
    name: str | None = None,
) -> Dataset:
    """The data set in a file, a folder, several files, or an archive (`.zip`, `.tar`, `.tar.gz`, `.gz`).

    Args:
        path_or_paths: what to read.
        format: a name in FORMATS; None recognises it from the content.
        split_column: which split to use, from 0, where the files offer several.
        test_share: the share of instances set aside for testing, above 0 and below 1, where there is no test set.
        seed: of that split.
        limits: bounds on sizes and numbers.
        name: for the data set; None takes one from the files.

    Raises DataError, naming the file, the line and what was expected, where the files are no data set, and naming the
    argument where one is not what is said here.
    """
    split_column = as_whole(split_column, "split_column", at_least=0)
    test_share, seed = as_number(test_share, "test_share", above=0, below=1), as_whole(seed, "seed", at_least=0)
    if format is not None and format not in tuple(FORMATS):
        raise DataError(f"format is {format!r}; expected one of {', '.join(FORMATS)}")
    with opened(path_or_paths, limits) as files:
        chosen = FORMATS[format or _recognised(files).format]
        if format is not None and chosen.claim(files) is None:
            _check_readable(files)
        try:
            parsed = chosen.read(files, Options(split_column, limits))
        except MemoryError as error:
            raise DataError(f"{files[0].name} needs more memory than there is; expected a smaller data set") from error
        parsed = _with_unused(parsed, files, chosen)
        called = _called(path_or_paths)
        if name is not None:
            parsed = replace(parsed, name=name)
        return assemble(parsed, called, f"{called}, read as: {chosen.title}.", test_share, seed)


def is_for_people(file: DataFile) -> bool:
    """Whether a file is by its name about the data, and no part of them: a readme, a licence."""
    return _FOR_PEOPLE.match(file.base) is not None


def _with_unused(parsed: Parsed, files: Files, form: Format) -> Parsed:
    """`parsed` with a note of the files that are no part of it.

    Raises DataError where one of them is named as the test set, and there is no other, or as the training set, and what
    was read is named as the test set.
    """
    data = without_companions([file for file in parsed.used if file is not None])
    missing = {"test", "train"} if any(role(file) == "test" for file in data) else {"test"}
    unused = [file for file in files if file not in parsed.used and not is_for_people(file)]
    for file in without_companions(unused):
        if parsed.test is None and role(file) in missing:
            named = "test" if role(file) == "test" else "training"
            what = f"is named as the {named} set, but is no part of a data set in the format {form.title}"
            raise located(file, None, f"{what}; expected training and test instances in one format")
    if not unused:
        return parsed
    listed = ", ".join(file.name for file in unused[:5]) + (f" and {len(unused) - 5} more" if unused[5:] else "")
    note = f"Not used: {listed}. Names of labels would be in label_names.txt, one in a line."
    return replace(parsed, notes=(*parsed.notes, note if parsed.label_names is None else f"Not used: {listed}."))


def recognise(path_or_paths: str | Path | Sequence[str | Path], *, limits: Limits = LIMITS) -> Recognition:
    """The format of the data set in a file, a folder, several files, or an archive.

    Raises DataError, saying what is there, where no format fits.
    """
    with opened(path_or_paths, limits) as files:
        return _recognised(files)


def _recognised(files: Files) -> Recognition:
    claims = [(form.name, claim) for form in FORMATS.values() if (claim := form.claim(files)) is not None]
    if not claims:
        _check_readable(files)
        raise DataError(_unknown(files))
    claims.sort(key=lambda claimed: -claimed[1].strength)
    found = [Recognition(form, claim.reason, split_columns=claim.split_columns) for form, claim in claims]
    return replace(found[0], alternatives=tuple(found[1:]))


def _check_readable(files: Files) -> None:
    """Raises DataError where one of the files that fit no format is an archive, which only at the top is unpacked, or
    text in another encoding than UTF-8."""
    for file in files:
        if file.has_suffix(".zip", ".tar", ".tgz"):
            what = "is an archive inside an archive or a folder, which is not read"
            raise located(file, None, f"{what}; unpack it, and give the files that it holds")
        if not is_for_people(file) and (error := other_encoding(file)):
            raise error


def _unknown(files: Files) -> str:
    if len(files) > 1:
        names = ", ".join(file.name for file in files[:5]) + (", …" if len(files) > 5 else "")
        return f"no known format fits these {len(files)} files ({names}); {_EXPECTED}"
    file = files[0]
    if file.path.stat().st_size == 0:
        return f"{file.name} is empty; expected a data set"
    head = file.head()
    if file.has_suffix(".npz", ".npy"):
        together = "expected files of features and of labels together, such as X.trn.npz and Y.trn.npz"
        return f"{file.name} alone is no data set; {together}"
    at = no_text_at(head)
    if at is not None:
        line = head[:at].count(b"\n") + 1
        what = "the file is neither text in UTF-8 nor a binary format known here"
        return f"{file.name}, line {line}: {what}; {_EXPECTED}"
    first = head.split(b"\n")[0].decode(errors="replace")
    return f"{file.name}, line 1: {first[:60]!r} fits no known format; {_EXPECTED}"


def _called(path_or_paths: str | Path | Sequence[str | Path]) -> str:
    """A name for the data set from its paths: without small files beside it, and words that only say what a file is."""
    for path in listed(path_or_paths):
        if path.name.lower().removesuffix(".gz") in COMPANIONS:
            continue
        stem = path.resolve().name if path.is_dir() else _SUFFIXES.sub("", path.name)
        words = re.split(r"[-_. ]+", stem)
        kept = [word for word in words if word.lower() not in _NO_NAMES]
        if kept:
            return clean("-".join(kept))
    return "data"
