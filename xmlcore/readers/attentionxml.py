"""The layout of AttentionXML and X-Transformer: texts in one file, labels in another, line by line.

    train_raw_texts.txt   A match: they won
    train_labels.txt      sport local

Labels are words with blanks between. Instead of `train_raw_texts.txt` there may be only `train_texts.txt`, in which
words and punctuation stand apart. The files for testing begin with `test`.
"""

from __future__ import annotations

from itertools import chain

from xmlcore.checks import DataError
from xmlcore.readers.files import DataFile, text_lines
from xmlcore.readers.labels import LabelledTexts, with_labels
from xmlcore.readers.names import find, with_companions
from xmlcore.readers.parts import CERTAIN, Claim, Files, Format, Options, Parsed
from xmlcore.units import counted


def _texts(files: Files, side: str) -> DataFile | None:
    return find(files, f"{side}_raw_texts.txt", f"{side}_texts.txt")


def _claim(files: Files) -> Claim | None:
    texts, labels = _texts(files, "train"), find(files, "train_labels.txt")
    if texts is None or labels is None:
        return None
    return Claim(CERTAIN, f"{texts.name} holds texts and {labels.name} their labels")


def _read(files: Files, options: Options) -> Parsed:
    train = _side(files, "train")
    if train is None:
        raise DataError(f"{files[0].name}: no train_labels.txt beside train_raw_texts.txt; expected both")
    parsed = with_labels(train, _side(files, "test"))
    sides = [(_texts(files, side), find(files, f"{side}_labels.txt")) for side in ("train", "test")]
    return with_companions(parsed, files, *chain.from_iterable(sides))


def _side(files: Files, side: str) -> LabelledTexts | None:
    text_file, label_file = _texts(files, side), find(files, f"{side}_labels.txt")
    if text_file is None and label_file is None:
        return None
    if text_file is None or label_file is None:
        there = text_file or label_file
        raise DataError(f"{there.name} lies alone; expected {side}_raw_texts.txt and {side}_labels.txt")
    texts = [line for _, line in text_lines(text_file)]
    labels = [line.split() for _, line in text_lines(label_file)]
    if len(texts) != len(labels):
        counts = f"{text_file.name} has {counted(len(texts), 'line')} and {label_file.name} {len(labels):,}"
        raise DataError(f"{counts}; expected the same number")
    return LabelledTexts(label_file, texts, labels)


FORMAT = Format(
    name="attentionxml",
    title="AttentionXML or X-Transformer, texts",
    help=(
        "train_raw_texts.txt (or train_texts.txt) with a text in each line beside train_labels.txt with its labels, "
        "blanks between; the same for test."
    ),
    example="train_raw_texts.txt:\nA match: they won\n\ntrain_labels.txt:\nsport local",
    claim=_claim,
    read=_read,
)
