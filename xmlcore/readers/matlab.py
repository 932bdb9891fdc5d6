"""MATLAB files with a matrix of features and one of labels, in either orientation.

Names are `data` and `target`, `X` and `Y`, or `features` and `labels`, with `train` or `test` before or behind them
where one file holds both. The two matrices have one dimension in common, which is the instances'; where several fit,
instances are rows. Labels are 0 and 1, or -1 and 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.matrices import Block
from xmlcore.readers.files import DataFile, located, role, train_and_test
from xmlcore.readers.labels import as_ones
from xmlcore.readers.limits import Limits
from xmlcore.readers.matlab_file import read_matrices
from xmlcore.readers.names import with_companions, without_companions
from xmlcore.readers.parts import CERTAIN, Claim, Files, Format, Options, Parsed, Part

_SIDE = "train|trn|tr|test|tst|te|ts"
_NAME = re.compile(rf"(?:({_SIDE})_?)?(data|x|features|target|targets|y|labels)(?:_?({_SIDE}))?")
_FEATURES = ("data", "x", "features")
# A matrix in which more than this share is not zero is kept dense.
_DENSE = 0.5
# Which of features and labels are transposed, in the order in which it is tried.
_TURNS = ((False, False), (False, True), (True, True), (True, False))


@dataclass(frozen=True)
class _Pair:
    """The two matrices of one side, as they are in the file."""

    file: DataFile
    X: Block
    Y: Block

    def turned(self, turns: tuple[bool, bool]) -> tuple[tuple[int, int], tuple[int, int]]:
        """The shapes of both after the turns."""
        x, y = self.X.shape, self.Y.shape
        return (x[::-1] if turns[0] else x), (y[::-1] if turns[1] else y)


def _mat_files(files: Files) -> list[DataFile]:
    return [file for file in files if file.head().startswith(b"MATLAB ") or file.has_suffix(".mat")]


def _claim(files: Files) -> Claim | None:
    data = _mat_files(files)
    return Claim(CERTAIN, f"{data[0].name} is a MATLAB file") if data else None


def _read(files: Files, options: Options) -> Parsed:
    data = _mat_files(files)
    if not data:
        raise DataError(f"{files[0].name}: is no MATLAB file; expected one with data and target")
    train_file, test_file = train_and_test(data, without_companions(files), "matrices")
    pairs = _pairs(train_file, options.limits)
    if test_file is not None:
        more = _pairs(test_file, options.limits)
        pairs = {"train": pairs["train"], "test": more.get("test", more["train"])}
    turns = _turns(list(pairs.values()))
    notes: list[str] = []
    parts = {side: _part(pair, turns, notes) for side, pair in pairs.items()}
    if any(turns):
        turned = " and ".join(what for what, turn in zip(("features", "labels"), turns, strict=True) if turn)
        notes.append(f"Instances are the columns of the {turned}.")
    if len({sparse.issparse(part.X) for part in parts.values()}) > 1:
        parts = {side: Part(part.Y, sparse.csr_array(part.X)) for side, part in parts.items()}
    parsed = Parsed(parts["train"], parts.get("test"), notes=tuple(dict.fromkeys(notes)))
    return with_companions(parsed, files, train_file, test_file)


def _pairs(file: DataFile, limits: Limits) -> dict[str, _Pair]:
    """The matrices of a file by side; "train" alone where their names say no side."""
    variables = read_matrices(file, _NAME, limits)
    found: dict[tuple[str, bool], Block] = {}
    for name, matrix in variables.items():
        if parts := _NAME.fullmatch(name.lower()):
            word = parts[1] or parts[3]
            side = "" if word is None else role(DataFile(word, file.path))
            found.setdefault((side, parts[2] in _FEATURES), matrix)
    sides = [side for side in ("train", "test") if (side, True) in found and (side, False) in found]
    if "train" not in sides:
        sides = [""] if ("", True) in found and ("", False) in found else sides[:1]
    if not sides:
        held = ", ".join(sorted(variables)[:8]) or "nothing"
        raise located(file, None, f"holds {held}; expected a matrix data (or X) and a matrix target (or Y)")
    pairs = {side: _Pair(file, found[side, True], found[side, False]) for side in sides}
    return pairs if len(sides) > 1 else {"train": pairs[sides[0]]}


def _turns(pairs: list[_Pair]) -> tuple[bool, bool]:
    """The first way to turn the matrices in which rows agree, and columns agree between train and test."""
    for turns in _TURNS:
        shapes = [pair.turned(turns) for pair in pairs]
        rows_agree = all(x[0] == y[0] for x, y in shapes)
        if rows_agree and len({(x[1], y[1]) for x, y in shapes}) == 1:
            return turns
    listed = ", ".join(f"{pair.X.shape} and {pair.Y.shape}" for pair in pairs)
    names = " and ".join(dict.fromkeys(pair.file.name for pair in pairs))
    raise DataError(f"{names}: features and labels have the shapes {listed}; expected one dimension in common")


def _part(pair: _Pair, turns: tuple[bool, bool], notes: list[str]) -> Part:
    X, Y = (matrix.T if turn else matrix for matrix, turn in zip((pair.X, pair.Y), turns, strict=True))
    Y, note = as_ones(Y, pair.file)
    if note and Y.shape[1] == 1:
        raise located(pair.file, None, "has one column of labels with other values than 0 and 1; expected one a label")
    if note:
        notes.append(note)
    if sparse.issparse(X):
        return Part(Y, sparse.csr_array(X))
    dense = np.count_nonzero(X) > _DENSE * X.size
    return Part(Y, np.ascontiguousarray(X) if dense else sparse.csr_array(X))


FORMAT = Format(
    name="matlab",
    title="MATLAB (.mat)",
    help=(
        "A file with the matrices data and target (or X and Y), instances as rows or columns, labels 0 and 1 or -1 and "
        "1; train_data, train_target, test_data and test_target where it holds both; saved with -v7 or earlier."
    ),
    example='data = sparse(rand(3, 5) > 0.5);\ntarget = [1 0; 0 1; 1 1];\nsave("set.mat", "data", "target", "-v7")',
    claim=_claim,
    read=_read,
)
