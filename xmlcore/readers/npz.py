"""A folder of matrices in numpy's files, one for each of features and labels, training and test.

    X.trn.npz  Y.trn.npz  X.tst.npz  Y.tst.npz        sparse
    X.trn.npy  X.bert.trn.npy  X.bert.tst.npy         dense, alone or as further blocks beside the sparse one

Names are taken apart at dots, dashes and underscores: a part `X` or `Y`, a part for train or test, and whatever else is
the block's own name. Without a part for train or test, the files hold all instances. Beside them may lie the raw texts
(`X.trn.txt`, or `train_raw_texts.txt` as X-Transformer has them), `groups.trn.npy`, and names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from xmlcore.checks import DataError
from xmlcore.matrices import Block
from xmlcore.readers.arrays import check_expansion, load_matrix, load_vector
from xmlcore.readers.files import DataFile, located, role
from xmlcore.readers.labels import as_ones
from xmlcore.readers.names import read_texts, with_companions
from xmlcore.readers.parts import CERTAIN, Claim, Files, Format, Options, Parsed, Part
from xmlcore.units import counted

Key = tuple[str, str, bool]
_SIDES = ("train", "test")


@dataclass(frozen=True)
class Layout:
    """The array files of one data set: labels by side, and the blocks of features by side under the block's name.

    Sides are "train" and "test", or only "train" where the names say neither. A block's name begins with its folder as
    seen from the labels', "" where it lies beside them; then its own name, and whether it is dense.
    """

    folder: str
    labels: dict[str, DataFile]
    blocks: dict[Key, dict[str, DataFile]]


def _parts(file: DataFile) -> tuple[str, str] | None:
    """("x" or "y", the block's name) from a file's name, or None where it is no matrix of features or labels."""
    if not file.has_suffix(".npz", ".npy"):
        return None
    words = re.split(r"[._-]+", PurePosixPath(file.base).stem.lower())
    letters = [word for word in words if word in ("x", "y")]
    if len(letters) != 1:
        return None
    rest = [word for word in words if word != letters[0] and role(DataFile(word, file.path)) is None]
    return letters[0], "-".join(rest)


def find_layout(files: Files) -> Layout | None:
    """The matrices of features and labels among the files; None where there are none of either.

    Raises DataError where there is more than one data set.
    """
    named = [(file, *parts) for file in files if (parts := _parts(file))]
    labels = [file for file, letter, _ in named if letter == "y"]
    if not labels or not any(letter == "x" for _, letter, _ in named):
        return None
    folders = sorted({file.folder for file in labels})
    if len(folders) > 1:
        raise DataError(f"{len(folders)} folders hold labels ({', '.join(folders[:5])}); expected one data set")
    folder = folders[0]
    blocks: dict[Key, dict[str, DataFile]] = {}
    for file, letter, kind in named:
        if letter == "x" and (file.folder == folder or file.folder.startswith(f"{folder}/" if folder else "")):
            below = file.folder.removeprefix(folder).strip("/")
            blocks.setdefault((below, kind, file.has_suffix(".npy")), {}).setdefault(_side(file, below, kind), file)
    sides: dict[str, DataFile] = {}
    for file in labels:
        if sides.setdefault(_side(file, "", ""), file) is not file:
            raise DataError(f"{sides[_side(file, '', '')].name} and {file.name} both hold labels; expected one of them")
    if "train" not in sides:
        raise DataError(f"{labels[0].name}: labels for testing but none for training; expected such as Y.trn.npz")
    return Layout(folder, sides, blocks)


def _side(file: DataFile, below: str, kind: str) -> str:
    side = role(DataFile(file.base, file.path)) or "train"
    return side if side in _SIDES else f"{side} {below} {kind}"  # a validation set, which nothing asks for


def _claim(files: Files) -> Claim | None:
    layout = find_layout(files)
    if layout is None or not any(below == "" for below, _, _ in layout.blocks):
        return None
    beside = next(block for (below, _, _), block in layout.blocks.items() if below == "")
    return Claim(CERTAIN, f"{next(iter(beside.values())).name} holds features and {layout.labels['train'].name} labels")


def _read(files: Files, options: Options) -> Parsed:
    layout = find_layout(files)
    if layout is None:
        raise DataError(f"{files[0].name}: no X and Y among the files; expected such as X.trn.npz and Y.trn.npz")
    return read_layout(layout, sorted(layout.blocks, key=in_order), files, options)


def in_order(key: Key) -> Key:
    """What to sort the keys of blocks by: numbers in their names count as numbers, so that 99 stands before 100."""
    folder, name, dense = key
    return folder, re.sub(r"\d+", lambda number: number[0].zfill(20), name), dense


def read_layout(layout: Layout, chosen: list[Key], files: Files, options: Options) -> Parsed:
    """The data set with the chosen blocks of features, side by side in that order.

    Raises DataError where a block is missing for one side, or its rows are not those of the labels.
    """
    if not chosen:
        raise DataError(f"no features lie beside {layout.labels['train'].name}; expected such as X.trn.npz")
    sides = [side for side in _SIDES if side in layout.labels]
    for key in chosen:
        for side in sides:
            if side not in layout.blocks[key]:
                there = next(iter(layout.blocks[key].values()))
                raise located(there, None, f"has no counterpart for {side}; expected one, as the labels have")
    used = [layout.labels[side] for side in sides] + [layout.blocks[key][side] for key in chosen for side in sides]
    check_expansion(used, options.limits)
    notes: list[str] = []
    parts = {side: _read_side(layout, chosen, side, files, options, notes) for side in sides}
    if len(chosen) > 1:
        names = ", ".join(layout.blocks[key]["train"].name for key in chosen)
        notes.append(f"The features are {len(chosen)} blocks side by side: {names}.")
    parsed = Parsed(parts["train"], parts.get("test"), notes=tuple(notes))
    used += [_text_file(layout, side, files) for side in sides] + [_group_file(layout, files)]
    return with_companions(parsed, files, *used)


def _read_side(layout: Layout, chosen: list[Key], side: str, files: Files, options: Options, notes: list[str]) -> Part:
    label_file = layout.labels[side]
    Y, note = as_ones(load_matrix(label_file, options.limits), label_file)
    if note:
        notes.append(note)
    blocks: list[Block] = []
    for key in chosen:
        file = layout.blocks[key][side]
        block = load_matrix(file, options.limits)
        if block.shape[0] != Y.shape[0]:
            raise DataError(
                f"{file.name} has {counted(block.shape[0], 'row')} and {label_file.name} {Y.shape[0]:,}; "
                "expected the same number"
            )
        blocks.append(block)
    part = Part(Y, blocks[0] if len(blocks) == 1 else tuple(blocks))
    if text := _text_file(layout, side, files):
        part = replace(part, texts=read_texts(text, Y.shape[0], notes))
    if side == "train" and (group := _group_file(layout, files)):
        groups = load_vector(group)
        if len(groups) != Y.shape[0]:
            raise located(group, None, f"holds {counted(len(groups), 'group')} for {counted(Y.shape[0], 'instance')}")
        part = replace(part, groups=groups)
    return part


def _text_file(layout: Layout, side: str, files: Files) -> DataFile | None:
    short = "trn" if side == "train" else "tst"
    return _beside(layout, files, (f"x.{short}.txt", f"{side}_raw_texts.txt"))


def _group_file(layout: Layout, files: Files) -> DataFile | None:
    return _beside(layout, files, ("groups.trn.npy",))


def _beside(layout: Layout, files: Files, names: tuple[str, ...]) -> DataFile | None:
    return next((file for file in files if file.folder == layout.folder and file.base.lower() in names), None)


FORMAT = Format(
    name="npz",
    title="numpy matrices (.npz, .npy)",
    help=(
        "A folder or archive with X.trn.npz, Y.trn.npz, X.tst.npz and Y.tst.npz, as scipy.sparse.save_npz writes them; "
        "dense features as X.trn.npy, or beside the sparse ones as X.bert.trn.npy."
    ),
    example=(
        'scipy.sparse.save_npz("X.trn.npz", X_train)\n'
        'scipy.sparse.save_npz("Y.trn.npz", Y_train)\n'
        'scipy.sparse.save_npz("X.tst.npz", X_test)\n'
        'scipy.sparse.save_npz("Y.tst.npz", Y_test)'
    ),
    claim=_claim,
    read=_read,
)
