"""fastText's format: words that begin with `__label__` are labels, all others are the text.

__label__sport __label__local A match: they won
A line without labels
"""

from __future__ import annotations

from xmlcore.checks import DataError
from xmlcore.readers.files import DataFile, is_text, located, text_lines, train_and_test
from xmlcore.readers.labels import LabelledTexts, with_labels
from xmlcore.readers.names import is_companion, with_companions, without_companions
from xmlcore.readers.parts import CERTAIN, Claim, Files, Format, Options, Parsed

PREFIX = "__label__"


def _fasttext_files(files: Files) -> list[DataFile]:
    return [f for f in files if not is_companion(f) and is_text(f) and PREFIX.encode() in f.head()]


def _claim(files: Files) -> Claim | None:
    data = _fasttext_files(files)
    return Claim(CERTAIN, f"{data[0].name} holds words that begin with {PREFIX}") if data else None


def _read(files: Files, options: Options) -> Parsed:
    data = _fasttext_files(files)
    if not data:
        raise DataError(f"{files[0].name}: no word begins with {PREFIX}; expected labels such as {PREFIX}sport")
    train, test = train_and_test(data, without_companions(files), f"{PREFIX} words")
    sides = _side(train), None if test is None else _side(test)
    return with_companions(with_labels(*sides), files, train, test)


def _side(file: DataFile) -> LabelledTexts:
    texts, labels = [], []
    for number, line in text_lines(file):
        words = line.split()
        if not words:
            continue
        found = [word.removeprefix(PREFIX) for word in words if word.startswith(PREFIX)]
        if "" in found:
            raise located(file, number, f"{PREFIX} stands without a name; expected such as {PREFIX}sport")
        labels.append(found)
        texts.append(" ".join(word for word in words if not word.startswith(PREFIX)))
    if not any(labels):
        raise located(file, None, f"no word begins with {PREFIX}; expected labels such as {PREFIX}sport")
    return LabelledTexts(file, texts, labels)


FORMAT = Format(
    name="fasttext",
    title="fastText",
    help=f"One line an instance: words that begin with {PREFIX} are its labels, all others its text.",
    example=f"{PREFIX}sport {PREFIX}local A match: they won\n{PREFIX}politics A vote: they voted",
    claim=_claim,
    read=_read,
)
