"""Archives expanded under bounds that count what comes out, not what the archive's own headers promise.

Members are written under numbers of our own, never under their names, so no name can lead out of the folder. Names that
try (`../x`, `/x`, `C:x`), links and encrypted members are refused all the same: such an archive is not a data set.
"""

from __future__ import annotations

import gzip
import lzma
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from xmlcore.checks import DataError
from xmlcore.readers.limits import Limits
from xmlcore.units import clean

_PIECE = 1 << 20
_TAR_BLOCK = 512
# Metadata blocks of a tar file (long names, extended headers) are read into memory whole by tarfile.
_MAX_TAR_METADATA = 1 << 20
# What the standard library raises when an archive is not what it says.
DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    LookupError,
    OverflowError,
)


@dataclass
class Budget:
    """What may still be written, shared by all archives of one reading. Expanding an archive uses it up."""

    limits: Limits
    folder: Path
    expanded: int = 0
    files: int = 0

    def new_path(self, name: str) -> Path:
        """A fresh path in the scratch folder for the next file; DataError where there are too many."""
        self.files += 1
        if self.files > self.limits.max_files:
            raise DataError(f"{name} holds too many files; expected at most {self.limits.max_files}")
        return self.folder / f"{self.files:06d}"


def is_zip(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a zip archive (an .npz file is one too)."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def is_gzip(head: bytes) -> bool:
    """Whether the first bytes of a file are those of gzip."""
    return head.startswith(b"\x1f\x8b")


def is_tar(head: bytes) -> bool:
    """Whether the first 512 bytes of a file are a tar header."""
    return head[257:262] == b"ustar"


def is_array_archive(path: Path) -> bool:
    """Whether a zip file is a sparse matrix in numpy's form, whatever its name: only the arrays' names tell it from a
    zip file of matrices, each an array."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {"data.npy", "shape.npy"} <= set(archive.namelist())
    except DAMAGE:
        return False


def ignorable(name: str) -> bool:
    """Whether a file is an operating system's own: hidden, or in a folder of macOS's."""
    return any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(name).parts)


def expand_zip(path: Path, name: str, budget: Budget) -> Iterator[tuple[str, Path]]:
    """The members of a zip archive as (name, path of the expanded file)."""
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                inner = _safe_name(member.filename, name)
                if member.is_dir() or ignorable(inner):
                    continue
                if member.flag_bits & 1:
                    raise DataError(f"{name}: {inner} is encrypted; expected an archive without a password")
                if stat.S_ISLNK(member.external_attr >> 16):
                    raise DataError(f"{name}: {inner} is a link; expected files only")
                target = budget.new_path(name)
                with archive.open(member) as stream:
                    _copy(stream, target, name, path.stat().st_size, budget)
                yield inner, target
    except DataError:  # a ValueError, so it would be taken for damage below
        raise
    except DAMAGE as error:
        raise _damaged(name, "zip", error) from error


def expand_gzip(path: Path, name: str, budget: Budget) -> Path:
    """The path of the expanded content of a gzip file."""
    target = budget.new_path(name)
    try:
        with gzip.open(path, "rb") as stream:
            _copy(stream, target, name, path.stat().st_size, budget)
    except DataError:  # a ValueError, so it would be taken for damage below
        raise
    except DAMAGE as error:
        raise _damaged(name, "gzip", error) from error
    return target


def expand_tar(path: Path, name: str, budget: Budget) -> Iterator[tuple[str, Path]]:
    """The members of an uncompressed tar archive as (name, path of the expanded file)."""
    try:
        _check_tar_metadata(path, name)
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                inner = _safe_name(member.name, name)
                if member.isdir() or ignorable(inner):
                    continue
                if member.issym() or member.islnk():
                    raise DataError(f"{name}: {inner} is a link; expected files only")
                if not member.isreg() or member.issparse():
                    raise DataError(f"{name}: {inner} is no plain file; expected files only")
                target = budget.new_path(name)
                _copy(archive.extractfile(member), target, name, path.stat().st_size, budget)
                yield inner, target
    except DataError:  # a ValueError, so it would be taken for damage below
        raise
    except DAMAGE as error:
        raise _damaged(name, "tar", error) from error


def _damaged(name: str, kind: str, error: Exception) -> DataError:
    return DataError(f"{name} is damaged or cut short ({error}); expected a whole {kind} file")


def _safe_name(name: str, archive: str) -> str:
    inner = name.replace("\\", "/")
    climbs = inner.startswith("/") or ".." in PurePosixPath(inner).parts or re.match(r"[A-Za-z]:", inner)
    if climbs or "\0" in inner:
        raise DataError(f"{archive}: the name {name!r} leads out of the archive; expected names inside it")
    return clean(str(PurePosixPath(inner)))


def _copy(stream: BinaryIO, target: Path, name: str, compressed: int, budget: Budget) -> None:
    limits = budget.limits
    written = 0
    with target.open("wb") as out:
        while piece := stream.read(_PIECE):
            written += len(piece)
            budget.expanded += len(piece)
            if budget.expanded > limits.max_expanded_bytes:
                raise DataError(f"{name} expands to more than {limits.max_expanded_bytes / 1e6:,.0f} MB, the limit")
            if written > limits.ratio_counts_from and written > limits.max_ratio * compressed:
                raise DataError(
                    f"{name} expands to more than {limits.max_ratio} times its size; "
                    "expected data (an archive like this is made to fill a disk)"
                )
            out.write(piece)


def _check_tar_metadata(path: Path, name: str) -> None:
    with path.open("rb") as stream:
        while len(header := stream.read(_TAR_BLOCK)) == _TAR_BLOCK and header.strip(b"\0"):
            size = tarfile.nti(header[124:136])
            if size < 0:
                raise DataError(f"{name} is damaged (a member of size {size}); expected a whole tar file")
            if header[156:157] in b"xgLKXNS" and size > _MAX_TAR_METADATA:
                raise DataError(f"{name} has a header of {size} bytes; expected at most {_MAX_TAR_METADATA}")
            stream.seek(-(-size // _TAR_BLOCK) * _TAR_BLOCK, 1)
