"""Data sets written, so that any of them can be handed on: as the repository's text, and as numpy matrices."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import sparse

from xmlcore.atomic import scratch_in, writing
from xmlcore.checks import DataError
from xmlcore.dataset import Dataset
from xmlcore.matrices import as_blocks
from xmlcore.readers.archives import ignorable, is_gzip
from xmlcore.readers.files import DataFile
from xmlcore.readers.names import ABOUT, GIVEN_COUNTS
from xmlcore.readers.reading import FORMATS, is_for_people

_ROWS = 2_000
_BOM = "\ufeff"
_NOT_IN_A_LINE = re.compile(r"\r\n?|[\n\0]")
# What a reader would take for a part of the data set by its name alone, whoever put it there.
_DATA = re.compile(r"(?i).+\.(txt|npz|npy|gz|tgz)|dataset\.json")
_COMPANIONS = (
    r"(feature|train|test)_names\.txt|filter_labels_(train|test)\.txt"
    rf"|{re.escape(GIVEN_COUNTS)}|{re.escape(ABOUT)}"
)
_XC_TEXT = re.compile(rf"(train|test|label_names)\.txt|{_COMPANIONS}")
_NPZ = re.compile(
    r"X(\.block\d\d+)?\.(trn|tst)\.np[zy]|Y\.(trn|tst)\.npz|X\.(trn|tst)\.txt|groups\.trn\.npy|output-items\.txt"
    rf"|{_COMPANIONS}"
)


def write_xc_text(ds: Dataset, folder: str | Path) -> Path:
    """Writes a data set in the repository's text format: `train.txt`, `test.txt`, and what lies beside them.

    Blocks of features become one, side by side; dense ones are written without their zeros. Values are written with
    as many digits as bring back the same float32. Names, masked pairs, A and B, and the label counts of the training
    set as it was given are written too; raw texts and groups have no place in this format (write_npz keeps them).
    Names stand one in a line: each line end (`\\n`, `\\r` or both together) and each zero character in them becomes a
    blank. All else in them comes back, empty names too.

    Args:
        ds: the data set.
        folder: made if it is not there. A data set that this function wrote there before, known by its `dataset.json`,
            is replaced as a whole: exactly its files go, and only once the new ones are complete. Files that no reader
            would take for data stay.

    Returns the folder. Raises DataError, with the folder as it was, where it cannot be written to, and where it holds
    other data at any depth (`.txt`, `.npz`, `.npy`, or what any reader takes for its own), or lies in the folder of a
    data set written before: they would be read together. Raises DataError, naming the argument, for what could not be
    read back: no feature, no label, or values beyond float32.
    """
    _check_readable(ds)
    with _written_anew(folder, _XC_TEXT) as scratch:
        for side in ("train", "test"):
            blocks = [sparse.csr_array(block) for block in as_blocks(getattr(ds, f"X_{side}"))]
            X = blocks[0] if len(blocks) == 1 else sparse.csr_array(sparse.hstack(blocks, format="csr"))
            Y = getattr(ds, f"Y_{side}")
            with (scratch / f"{side}.txt").open("w", encoding="utf-8", newline="\n") as out:
                out.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
                for start in range(0, X.shape[0], _ROWS):
                    out.writelines(_rows(X[start : start + _ROWS], Y[start : start + _ROWS]))
        _write_companions(ds, scratch, "label_names.txt")
    return Path(folder)


def write_npz(ds: Dataset, folder: str | Path) -> Path:
    """Writes a data set as numpy matrices: `X.trn.npz`, `Y.trn.npz`, `X.tst.npz`, `Y.tst.npz`, dense blocks as `.npy`.

    Further blocks are `X.block02.trn.npz` and so on, in their order. Names, raw texts, groups, masked pairs, A and B,
    and the label counts of the training set as it was given are written too. Line ends and zero characters in names
    and in texts become blanks, as in `write_xc_text`. Features are written in their own precision; `read` returns
    float32.

    Args and errors as in `write_xc_text`. Returns the folder.
    """
    _check_readable(ds)
    with _written_anew(folder, _NPZ) as scratch:
        for side, short in (("train", "trn"), ("test", "tst")):
            for number, block in enumerate(as_blocks(getattr(ds, f"X_{side}")), 1):
                stem = f"X.{short}" if number == 1 else f"X.block{number:02d}.{short}"
                if sparse.issparse(block):
                    sparse.save_npz(scratch / f"{stem}.npz", block)
                else:
                    np.save(scratch / f"{stem}.npy", block)
            sparse.save_npz(scratch / f"Y.{short}.npz", getattr(ds, f"Y_{side}"))
            texts = getattr(ds, f"{side}_texts")
            if texts is not None:
                _write_lines(scratch / f"X.{short}.txt", texts)
        if ds.train_groups is not None:
            np.save(scratch / "groups.trn.npy", np.asarray(ds.train_groups))
        _write_companions(ds, scratch, "output-items.txt")
    return Path(folder)


def _check_readable(ds: Dataset) -> None:
    if 0 in (ds.n_features, ds.n_labels):
        raise DataError(f"ds has {ds.n_features} features and {ds.n_labels} labels; expected at least one of each")
    for side in ("train", "test"):
        for block in as_blocks(getattr(ds, f"X_{side}")):
            values = block.data if sparse.issparse(block) else block
            for extreme in (values.min(initial=0), values.max(initial=0)):
                with np.errstate(over="ignore"):
                    if np.isinf(np.float32(extreme)):
                        raise DataError(f"X_{side} holds {extreme}; expected values within the range of float32")


@contextmanager
def _written_anew(folder: str | Path, own: re.Pattern[str]) -> Iterator[Path]:
    """A scratch folder whose files replace those of an earlier data set, named by `own`, when all are complete."""
    folder = Path(folder)
    with writing(folder):
        if foreign := _foreign(folder, own):
            raise DataError(
                f"{folder} holds {foreign}, which would be read together with what is written; "
                "expected a new or empty folder, or one with a data set written before in the same format"
            )
        parents = Path(os.path.realpath(folder)).parents
        if around := next((parent for parent in parents if _says_whose(parent / ABOUT)), None):
            raise DataError(f"{folder} lies in {around}, a data set that it would be read together with")
        folder.mkdir(parents=True, exist_ok=True)
        with scratch_in(folder) as scratch:
            yield scratch
            names = {path.name for path in scratch.iterdir()}
            for path in folder.iterdir():
                if own.fullmatch(path.name) and path.name not in names:
                    path.unlink()
            # First what tells whose files these are, so that a writing that was cut short here can be repeated.
            for name in sorted(names, key=lambda name: (name != ABOUT, name)):
                os.replace(scratch / name, folder / name)


def _foreign(folder: Path, own: re.Pattern[str]) -> str | None:
    """A file or folder below `folder` that is taken for data and not of a data set written before, or None."""
    ours = _says_whose(folder / ABOUT)
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not ignorable(name))
        for name in (*folders, *sorted(files)):
            path = Path(parent, name)
            of_before = ours and path.parent == folder and own.fullmatch(name) and path.is_file()
            if not ignorable(name) and not of_before and _is_data(path):
                return path.relative_to(folder).as_posix()
    return None


def _is_data(path: Path) -> bool:
    """Whether a file or folder has a data file's name, or a reader takes the content for its own."""
    if _DATA.fullmatch(path.name) or not path.is_file():
        return _DATA.fullmatch(path.name) is not None
    file = DataFile(path.name, path)
    claimed = any(form.claim([file]) for form in FORMATS.values())
    masks = path.name.lower().startswith("filter")
    return masks or is_gzip(file.head()) or (claimed and not is_for_people(file))


def _says_whose(about: Path) -> bool:
    """Whether a file is a `dataset.json` as the writers leave it."""
    try:
        said = json.loads(about.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(said, dict) and {"name", "feature_kind", "A", "B"} <= said.keys()


def _rows(X: sparse.csr_array, Y: sparse.csr_array) -> Iterable[str]:
    # numpy writes the shortest digits that bring back the same number.
    fields = [
        f" {index}:{value.removesuffix('.0')}"
        for index, value in zip(X.indices.tolist(), X.data.astype(str).tolist(), strict=True)
    ]
    for row in range(X.shape[0]):
        labels = ",".join(map(str, Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist()))
        features = "".join(fields[X.indptr[row] : X.indptr[row + 1]])
        yield f"{labels}{features or ' '}\n"


def _write_companions(ds: Dataset, folder: Path, label_names: str) -> None:
    lists = {
        label_names: ds.label_names,
        "feature_names.txt": ds.feature_names,
        "train_names.txt": ds.train_names,
        "test_names.txt": ds.test_names,
    }
    for file, names in lists.items():
        if names is not None:
            _write_lines(folder / file, names)
    for side in ("train", "test"):
        masked = getattr(ds, f"{side}_filter")
        if masked is not None:
            pairs = zip(*(array.tolist() for array in masked.nonzero()), strict=True)
            _write_lines(folder / f"filter_labels_{side}.txt", (f"{row} {label}" for row, label in pairs))
    about = {"name": ds.name, "feature_kind": ds.feature_kind, "A": ds.A, "B": ds.B}
    if ds.given_label_counts is not None:
        _write_lines(folder / GIVEN_COUNTS, map(str, np.asarray(ds.given_label_counts, dtype=np.int64).tolist()))
    if ds.given_n_train is not None:
        about["given_n_train"] = int(ds.given_n_train)
    (folder / ABOUT).write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    plain = (_NOT_IN_A_LINE.sub(" ", str(line)) for line in lines)
    first = next(plain, None)
    with path.open("w", encoding="utf-8", newline="\n") as out:
        if first is not None:
            # Readers take away a byte order mark at the very beginning, so that one of the text's own needs another.
            out.write(f"{_BOM if first.startswith(_BOM) else ''}{first}\n")
        out.writelines(f"{line}\n" for line in plain)
