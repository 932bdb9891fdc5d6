"""The layout of the PECOS data collection (`xmc-base`).

    Y.trn.npz  Y.tst.npz  X.trn.txt  X.tst.txt  output-items.txt
    tfidf-attnxml/X.trn.npz  tfidf-attnxml/X.tst.npz

Labels lie at the top, each kind of features in a folder of its own, raw texts and label names beside the labels. One
sparse kind is used (`tfidf-attnxml` if it is there), and every dense kind as a further block.
"""

from __future__ import annotations

from dataclasses import replace

from xmlcore.checks import DataError
from xmlcore.readers.npz import find_layout, in_order, read_layout
from xmlcore.readers.parts import CERTAIN, Claim, Files, Format, Options, Parsed

_PREFERRED = "tfidf-attnxml"


def _claim(files: Files) -> Claim | None:
    layout = find_layout(files)
    if layout is None or any(below == "" for below, _, _ in layout.blocks):
        return None
    kinds = ", ".join(sorted({below for below, _, _ in layout.blocks}))
    return Claim(CERTAIN, f"{layout.labels['train'].name} lies above folders of features ({kinds})")


def _read(files: Files, options: Options) -> Parsed:
    layout = find_layout(files)
    if layout is None:
        raise DataError(f"{files[0].name}: no labels above a folder of features; expected Y.trn.npz above X.trn.npz")
    kinds = sorted(layout.blocks, key=in_order)
    sparse_kinds = sorted((key for key in kinds if not key[2]), key=lambda key: key[0] != _PREFERRED)
    dense_kinds = [key for key in kinds if key[2]]
    parsed = read_layout(layout, sparse_kinds[:1] + dense_kinds, files, options)
    left_out = ", ".join(key[0] for key in sparse_kinds[1:])
    if left_out:
        parsed = replace(parsed, notes=(*parsed.notes, f"Other sparse features were left out: {left_out}."))
    return parsed


FORMAT = Format(
    name="xmc-base",
    title="PECOS data collection (xmc-base)",
    help=(
        "Y.trn.npz and Y.tst.npz above folders of features such as tfidf-attnxml/X.trn.npz, with output-items.txt for "
        "the names of the labels and X.trn.txt for the raw texts."
    ),
    example="Y.trn.npz\nY.tst.npz\noutput-items.txt\ntfidf-attnxml/X.trn.npz\ntfidf-attnxml/X.tst.npz",
    claim=_claim,
    read=_read,
)
