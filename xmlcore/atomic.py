"""Files that are there as a whole or not at all, and disks that refuse, in words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from xmlcore.checks import DataError


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
    """A hidden folder on the same disk, so that what is in it can be moved at once; removed at the end."""
    with TemporaryDirectory(prefix=".writing-", dir=folder, ignore_cleanup_errors=True) as name:
        yield Path(name)
