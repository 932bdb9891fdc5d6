"""Data sets written, so that any of them can be handed on: as the repository's text, and as numpy matrices."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy import sparse

from xmlcore.dataset import DataError, Dataset, as_blocks
from xmlcore.readers.names import ABOUT

_ROWS = 2_000


def write_xc_text(ds: Dataset, folder: str | Path) -> Path:
    """Writes a data set in the repository's text format: `train.txt`, `test.txt`, and what lies beside them.

    Blocks of features become one, side by side; dense ones are written without their zeros. Values are written with
    as many digits as bring back the same float32. Names, masked pairs, A and B are written too; raw texts and groups
    have no place in this format (write_npz keeps them).

    Args:
        ds: the data set.
        folder: made if it is not there; files of the same names are replaced.

    Returns the folder. Raises DataError where it cannot be written to.
    """
    folder = _made(folder)
    for side in ("train", "test"):
        blocks = [sparse.csr_array(block) for block in as_blocks(getattr(ds, f"X_{side}"))]
        X = blocks[0] if len(blocks) == 1 else sparse.csr_array(sparse.hstack(blocks, format="csr"))
        Y = getattr(ds, f"Y_{side}")
        with (folder / f"{side}.txt").open("w", encoding="utf-8", newline="\n") as out:
            out.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
            for start in range(0, X.shape[0], _ROWS):
                out.writelines(_rows(X[start : start + _ROWS], Y[start : start + _ROWS]))
    _write_companions(ds, folder, "label_names.txt")
    return folder


def write_npz(ds: Dataset, folder: str | Path) -> Path:
    """Writes a data set as numpy matrices: `X.trn.npz`, `Y.trn.npz`, `X.tst.npz`, `Y.tst.npz`, dense blocks as `.npy`.

    Further blocks are `X.block2.trn.npz` and so on, in their order. Names, raw texts, groups, masked pairs, A and B are
    written too.

    Args:
        ds: the data set.
        folder: made if it is not there; files of the same names are replaced.

    Returns the folder. Raises DataError where it cannot be written to.
    """
    folder = _made(folder)
    for side, short in (("train", "trn"), ("test", "tst")):
        for number, block in enumerate(as_blocks(getattr(ds, f"X_{side}")), 1):
            stem = f"X.{short}" if number == 1 else f"X.block{number:02d}.{short}"
            if sparse.issparse(block):
                sparse.save_npz(folder / f"{stem}.npz", block)
            else:
                np.save(folder / f"{stem}.npy", block)
        sparse.save_npz(folder / f"Y.{short}.npz", getattr(ds, f"Y_{side}"))
        texts = getattr(ds, f"{side}_texts")
        if texts is not None:
            _write_lines(folder / f"X.{short}.txt", texts)
    if ds.train_groups is not None:
        np.save(folder / "groups.trn.npy", np.asarray(ds.train_groups))
    _write_companions(ds, folder, "output-items.txt")
    return folder


def _made(folder: str | Path) -> Path:
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made ({error.strerror}); expected a folder to write to") from error
    return folder


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
    (folder / ABOUT).write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(" ".join(str(line).splitlines()) + "\n" for line in lines)
