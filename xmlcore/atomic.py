"""Files that are there as a whole or not at all, and disks that refuse, in words."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from xmlcore.checks import DataError

_SCRATCH = ".writing-"
_ABANDONED = 2.0  # seconds after which a scratch folder that nobody has locked is removed; its writer locks it at once


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turns what goes wrong on a disk, or in a name that UTF-8 cannot hold, into a DataError: the path and why."""
    try:
        yield
    except (OSError, UnicodeEncodeError) as error:
        raise DataError(f"{path} cannot be written ({getattr(error, 'strerror', None) or error})") from error


@contextmanager
def whole_file(path: str | Path, suffix: str = "") -> Iterator[Path]:
    """Where to write a file that takes its place at `path` when it is complete; until then what was there stays.

    suffix: what the file's name ends in; added where it does not, as numpy adds .npz.
    A link, and what is no plain file (a device, a pipe), is written to directly. Raises DataError as `writing` does.
    """
    path = Path(path)
    if not path.name:
        raise DataError(f"{path} cannot be written (it names no file)")
    path = path if path.name.endswith(suffix) else path.with_name(path.name + suffix)
    with writing(path):
        if path.is_symlink() or (path.exists() and not path.is_file()):
            yield path
            return
        with scratch_in(path.parent) as scratch:
            yield scratch / path.name
            os.replace(scratch / path.name, path)


@contextmanager
def scratch_in(folder: Path) -> Iterator[Path]:
    """A hidden folder on the same disk, so that what is in it can be moved at once; removed at the end.

    What a killed process left of its own is removed first.
    """
    _sweep(folder)
    with TemporaryDirectory(prefix=_SCRATCH, dir=folder, ignore_cleanup_errors=True) as name:
        lock = os.open(name, os.O_RDONLY)
        try:
            with suppress(OSError):  # a file system without locks: then nobody takes the folder for abandoned either
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield Path(name)
        finally:
            os.close(lock)


def _sweep(folder: Path) -> None:
    """Removes the scratch folders in `folder` that no living process writes."""
    for path in folder.glob(f"{_SCRATCH}????????"):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > _ABANDONED:
                lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
                finally:
                    os.close(lock)
