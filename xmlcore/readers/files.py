"""What a person points at (a file, a folder, several files, archives) as a list of plain files on disk.

Also the small questions about one file that several formats ask: its first bytes, its lines, its role by name.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from xmlcore.checks import DataError
from xmlcore.readers import archives
from xmlcore.readers.limits import Limits
from xmlcore.units import clean

HEAD = 1 << 16
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r"))  # which no text has, in whatever encoding of a byte a letter
_IN_UTF8 = "expected text in UTF-8 (save the file as UTF-8)"
_LONGEST_NAME = 200  # bytes: 255 are the most on most file systems, fewer characters than a browser may send
_ROLES = {
    **dict.fromkeys(("train", "training", "trn", "tr"), "train"),
    **dict.fromkeys(("test", "testing", "tst", "te", "ts"), "test"),
    **dict.fromkeys(("valid", "validation", "val", "dev"), "valid"),
}
_WORD = re.compile(r"[A-Z]+[a-z]*|[a-z]+")


def storable_name(name: str) -> str:
    """A file's name without folders, as any file system takes it: of a longer one the middle is left out.

    Beginning and end stay, which tell train from test, and the format.
    """
    base = PurePosixPath(name.replace("\\", "/")).name or "file"
    raw = base.encode()
    if len(raw) <= _LONGEST_NAME:
        return base
    first, last = raw[: _LONGEST_NAME // 2], raw[-_LONGEST_NAME // 2 :]
    return f"{first.decode(errors='ignore')}…{last.decode(errors='ignore')}"


@dataclass(frozen=True)
class DataFile:
    """A file to read: `name` as the person knows it (with `/` between folders), `path` where its bytes are.

    unit: what its instances are counted in, in messages: lines of text, or rows where it has no lines.
    """

    name: str
    path: Path
    unit: str = "line"

    @property
    def base(self) -> str:
        """The name without folders."""
        return PurePosixPath(self.name).name

    @property
    def folder(self) -> str:
        """The folder part of the name, "" at the top."""
        parent = str(PurePosixPath(self.name).parent)
        return "" if parent == "." else parent

    def head(self) -> bytes:
        """The first 64 KB, without a byte order mark."""
        with self.path.open("rb") as stream:
            return stream.read(HEAD).removeprefix(codecs.BOM_UTF8)

    def has_suffix(self, *suffixes: str) -> bool:
        """Whether the name ends with one of the suffixes, in any case."""
        return self.name.lower().endswith(suffixes)


def located(file: DataFile, line: int | None, what: str) -> DataError:
    """The error for something wrong in a file: its name, the line counted from 1 where there is one, and what."""
    return DataError(f"{file.name}, {file.unit} {line}: {what}" if line is not None else f"{file.name}: {what}")


@contextmanager
def opened(path_or_paths: str | Path | Sequence[str | Path], limits: Limits) -> Iterator[tuple[DataFile, ...]]:
    """The files behind a path or several, archives expanded into a scratch folder that is removed at the end.

    `.zip`, `.tar`, `.tar.gz` and `.gz` are recognised by content. Inside folders and archives, `.gz` files are expanded
    and other archives left as they are. Hidden files are left out. Raises DataError where something is no path, does
    not exist, cannot be read, is damaged, is no archive though its name says so, holds no file, or passes a bound.
    """
    paths = listed(path_or_paths)
    if not paths:
        raise DataError("no file was given; expected a file, a folder or several files")
    with TemporaryDirectory(prefix="xmlcore-", ignore_cleanup_errors=True) as scratch:
        budget = archives.Budget(limits, Path(scratch))
        try:
            files = _listed(paths, budget)
        except OSError as error:
            raise DataError(f"{error.filename or paths[0]} cannot be read: {error.strerror or error}") from error
        if not files:
            raise DataError(f"{paths[0].name} holds no file; expected a data set")
        yield tuple(sorted(files, key=lambda file: file.name))


def listed(path_or_paths: str | Path | Sequence[str | Path]) -> list[Path]:
    """A path or several as a list of them. Raises DataError, naming the argument, where one is none."""
    try:
        return list(map(Path, [path_or_paths] if isinstance(path_or_paths, (str, os.PathLike)) else path_or_paths))
    except TypeError as error:
        raise DataError(f"path_or_paths is {path_or_paths!r}; expected a path or several") from error


def _listed(paths: list[Path], budget: archives.Budget) -> list[DataFile]:
    limits = budget.limits
    total = 0
    files: list[DataFile] = []
    for path in paths:
        if not path.exists():
            raise DataError(f"{path} does not exist; expected a file or a folder")
        if path.is_dir():
            files += [_ungzipped(file, budget) for file in _in_folder(path, limits)]
            continue
        total += path.stat().st_size
        if total > limits.max_upload_bytes:
            raise DataError(f"{path.name}: files of more than {limits.max_upload_bytes / 1e6:,.0f} MB, the limit")
        files += _expanded(DataFile(clean(path.name), path), budget)
    if len(files) > limits.max_files:
        raise DataError(f"{len(files)} files were given; expected at most {limits.max_files}")
    if len({file.name for file in files}) < len(files):
        twice = next(file.name for file in files if sum(other.name == file.name for other in files) > 1)
        raise DataError(f"two files are called {twice}; expected each name once")
    return files


def _in_folder(folder: Path, limits: Limits) -> list[DataFile]:
    found: list[DataFile] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not archives.ignorable(name))
        for name in names:
            path = Path(parent, name)
            if archives.ignorable(name) or not path.is_file():
                continue
            found.append(DataFile(clean(path.relative_to(folder).as_posix()), path))
            if len(found) > limits.max_files:
                raise DataError(f"{folder} holds more than {limits.max_files} files; expected a data set's folder")
    return found


def _expanded(file: DataFile, budget: archives.Budget) -> list[DataFile]:
    head = file.head()
    if archives.is_zip(head) and not file.has_suffix(".npz") and not archives.is_array_archive(file.path):
        members = archives.expand_zip(file.path, file.name, budget)
    elif archives.is_tar(head):
        members = archives.expand_tar(file.path, file.name, budget)
    elif archives.is_gzip(head):
        plain = _ungzipped(file, budget)
        if not archives.is_tar(plain.head()):
            if plain.has_suffix(".tar", ".tgz"):
                raise DataError(f"{file.name} holds no tar archive, or an empty one; expected an archive of data files")
            return [plain]
        members = archives.expand_tar(plain.path, file.name, budget)
    else:
        return [_ungzipped(file, budget)]
    return [_ungzipped(DataFile(name, path), budget) for name, path in members]


def _ungzipped(file: DataFile, budget: archives.Budget) -> DataFile:
    head = file.head()
    if not archives.is_gzip(head):
        known = not file.has_suffix(".gz", ".tgz") and (archives.is_zip(head) or archives.is_tar(head))
        if file.has_suffix(".zip", ".gz", ".tgz", ".tar") and not known:
            raise DataError(f"{file.name} is no archive, whatever its name says; expected zip, tar or gzip")
        return file
    return DataFile(re.sub(r"(?i)\.gz$", "", file.name), archives.expand_gzip(file.path, file.name, budget))


def is_text(file: DataFile) -> bool:
    """Whether the first bytes of a file are those of text in UTF-8: no zero byte, and decodable."""
    return no_text_at(file.head()) is None


def no_text_at(head: bytes) -> int | None:
    """The place of the first of a file's first bytes that is a zero or not UTF-8; None where they are text in UTF-8."""
    text = head.partition(b"\0")[0]
    try:
        text.decode()
    except UnicodeDecodeError as error:
        cut = len(text) == HEAD and error.start > HEAD - 4  # a character cut by the end of the sample
        return None if cut else error.start
    return None if text == head else len(text)


def other_encoding(file: DataFile) -> DataError | None:
    """The error for a file whose first bytes look like text in another encoding than UTF-8; None for any other file."""
    head = file.head()
    zeros = head[::2].count(0), head[1::2].count(0)
    # Without its mark, UTF-16 is known by the zero that each letter of ours has in the same one of its two bytes.
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or (not min(zeros) and max(zeros) * 4 > len(head)):
        return located(file, None, f"seems to be text in UTF-16; {_IN_UTF8}")
    at = no_text_at(head)
    if at is None or len(head.translate(None, _CONTROLS)) < len(head):
        return None
    return _not_utf8(file, head[:at].count(b"\n") + 1, head[at : at + 1])


def _not_utf8(file: DataFile, line: int, byte: bytes) -> DataError:
    return located(file, line, f"byte {byte!r} is not UTF-8; {_IN_UTF8}")


def text_lines(file: DataFile) -> Iterator[tuple[int, str]]:
    """Each line of a UTF-8 file with its number from 1, without its line end and without a byte order mark.

    Raises DataError, naming the line, where a line is not UTF-8 or holds a zero byte.
    """
    with file.path.open("rb") as stream:
        for number, raw in enumerate(stream, 1):
            if number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            if b"\0" in raw:
                binary = located(file, number, "holds a zero byte, so this is a binary file; expected text")
                raise other_encoding(file) or binary
            try:
                yield number, raw.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                byte = raw[error.start : error.start + 1]
                raise other_encoding(file) or _not_utf8(file, number, byte) from error


def parse_number(text: str) -> float | None:
    """The number that `text` is, or None."""
    # float() also takes 1_000, which no other reader of these formats does.
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def parse_whole(text: str) -> int | None:
    """The whole number, of at least 0, that `text` is in plain digits, 18 at most; None for anything else."""
    return int(text) if len(text) < 19 and text.isascii() and text.isdigit() else None


def role(file: DataFile) -> str | None:
    """ "train", "test" or "valid" by a word of the file's name, or of the folder that it is in; None without one."""
    for text in (PurePosixPath(file.base).stem, PurePosixPath(file.folder).name):
        if found := _role_word(text):
            return found[0]
    return None


def _role_word(text: str) -> tuple[str, int, int] | None:
    """The role that a word of `text` says, and where what says it begins and ends; None without one."""
    words = list(_WORD.finditer(text))
    for word in reversed(words):
        if said := _ROLES.get(word[0].lower()):
            return said, *word.span()
    for word in words:
        for end in ("train", "test"):
            if word[0].lower().endswith(end):
                return end, word.end() - len(end), word.end()
    return None


def _without_role(file: DataFile) -> tuple[str, ...]:
    """The parts of a file's name in lower case, the words that `role` looks at replaced: equal for counterparts."""
    folder = PurePosixPath(file.folder)
    stem = PurePosixPath(file.base).stem
    parts = [str(folder.parent), folder.name, stem]
    for place in (1, 2):
        if found := _role_word(parts[place]):
            parts[place] = f"{parts[place][: found[1]]}*{parts[place][found[2] :]}"
    return tuple(part.lower() for part in (*parts, file.base.removeprefix(stem)))


def _with_counterparts(files: Sequence[DataFile], given: Sequence[DataFile]) -> list[DataFile]:
    """`files`, and of those given the ones for training or testing that only this word tells from one of them."""
    known = {(_without_role(file), role(file)) for file in files}
    names = {name for name, _ in known}
    sides = [(file, _without_role(file), role(file)) for file in given if role(file) in ("train", "test")]
    return [*files, *(file for file, name, side in sides if name in names and (name, side) not in known)]


def train_and_test(files: Sequence[DataFile], given: Sequence[DataFile], what: str) -> tuple[DataFile, DataFile | None]:
    """The training and the test file among files of one kind, told apart by their names; no test file for one alone.

    Validation files are left out.

    Args:
        files: those that look like the kind that is read.
        given: all that may be data. A file for training or testing among them counts as one of the kind where only
            that word tells its name from one of `files`: its first lines are damaged, and reading it says where.
            Without it, the data set would quietly be made of the other one alone.
        what: what the files hold, for the message.

    Raises DataError, listing the names, where the choice is not clear.
    """
    files = _with_counterparts(files, given)
    wanted = [file for file in files if role(file) != "valid"] or files
    if len(wanted) == 1:
        return wanted[0], None
    train = [file for file in wanted if role(file) == "train"]
    test = [file for file in wanted if role(file) == "test"]
    if len(train) == 1 and len(test) == 1:
        return train[0], test[0]
    names = ", ".join(file.name for file in wanted[:6])
    raise DataError(f"{len(wanted)} files with {what} ({names}); expected one, or one named train and one named test")
