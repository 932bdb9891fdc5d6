"""The cache on disk: arrays under a text key, opened memory-mapped and checked, bounded in size, private to its owner.

An entry is a directory of plain .npy files and a manifest.json with their sizes, types, shapes and checksums. It is
written under a temporary name and renamed when it is whole, so nobody ever sees half of one. Each writing gets a
directory of its own and readers take the newest, so two processes may write one key at once. An entry goes away by a
rename and then its files are unlinked: what is still mapped stays readable. Nothing is ever unpickled.

The checksum is CRC-32: it finds damage, not malice (the folder belongs to its user alone), at about 2 to 3 GB/s.
Entries are not flushed to the disk at once: one that a power cut left incomplete fails its check and is dropped.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import stat
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError, as_array, as_number
from xmlcore.matrices import Features, as_blocks
from xmlcore.store_entry import Damaged, open_array, read_manifest, tree_bytes, write_entry
from xmlcore.units import in_units

LARGEST_DEFAULT = 20_000_000_000  # bytes
_ABANDONED = 60.0  # seconds after which a temporary directory that nobody has locked is removed

_VERSION = re.compile(r"\.\d{20}-[0-9a-f]{8}$")
_log = logging.getLogger(__name__)


class StoreError(RuntimeError):
    """The cache folder cannot be used, or a result could not be kept in it: the message says why and what to do."""


@dataclass(frozen=True)
class Entry:
    """One stored result: its key, its size in bytes, and when it was last used (seconds since 1970)."""

    key: str
    bytes: int
    last_used: float


def default_folder() -> Path:
    """$XMLCORE_CACHE where it is set, else xml-ridge in $XDG_CACHE_HOME or ~/.cache."""
    if chosen := os.environ.get("XMLCORE_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path("~/.cache").expanduser()) / "xml-ridge"


class Store:
    """A cache of arrays in one folder. Any number of instances, threads and processes may share the folder.

    Attributes:
        folder: the cache folder; the entries live in its subfolder "store", mode 0700.
        max_bytes: the most that the entries may take together.
        notices: the last 20 things that people should know (a damaged entry was dropped, the disk is full), oldest
            first. They are logged as warnings too.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, max_bytes: int | None = None) -> None:
        """Opens the cache, creating its folder where needed.

        Args:
            folder: None for `default_folder()`.
            max_bytes: None for 20 GB, or half of what the disk has free for it where that is less.

        Raises StoreError where the folder cannot be made or written, or belongs to somebody else; DataError where
        max_bytes is not above 0.
        """
        if max_bytes is not None:
            max_bytes = int(as_number(max_bytes, "max_bytes", above=0))
        self.notices: deque[str] = deque(maxlen=20)
        try:
            self.folder = Path(folder if folder is not None else default_folder()).absolute()
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._root = self.folder / "store"
            self._root.mkdir(mode=0o700, exist_ok=True)
            _require_own(self.folder.stat(), self.folder)
            _require_own(self._root.lstat(), self._root)
            self._root.chmod(0o700)
            self._sweep()
            free = shutil.disk_usage(self._root).free
        except StoreError:
            raise
        except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
            advice = "set XMLCORE_CACHE to a folder of your own"
            raise StoreError(f"the cache folder cannot be used: {error}; {advice}") from error
        self.max_bytes = max_bytes if max_bytes is not None else min(LARGEST_DEFAULT, (free + self.size()) // 2)

    def put(self, key: str, arrays: Mapping[str, np.ndarray], meta: Mapping[str, object] | None = None) -> bool:
        """Keeps the arrays under the key, in place of what it held; True where that worked.

        Args:
            arrays: any shapes and any types without Python objects; subclasses and views are stored as plain arrays.
            meta: whatever JSON can hold; it comes back as JSON gives it.

        The least recently used entries make room. A result that cannot be kept (the disk is full, it is larger than
        max_bytes) is not an error: nothing is left of it on the disk, a notice says why, False is returned, and the
        caller's arrays are as they were. Raises DataError for arrays of objects or with masked entries, meta that is
        not JSON, and a key that is no proper text.
        """
        digest = _digest(key)
        plain = {name: as_array(array, f"array {name!r} of {key!r}") for name, array in arrays.items()}
        for name, array in plain.items():
            if array.dtype.hasobject:
                raise DataError(f"array {name!r} of {key!r} holds Python objects; expected numbers or fixed-width text")
        try:
            meta_text = json.dumps(dict(meta or {}))
        except (TypeError, ValueError) as error:
            raise DataError(f"meta of {key!r} must be JSON: {error}") from error
        needed = sum(array.nbytes for array in plain.values())
        try:
            self._check_fits(needed)
            with self.scratch() as temporary:
                self._evict(self.max_bytes - needed, spared=digest)
                write_entry(temporary, key, plain, json.loads(meta_text))
                written = tree_bytes(temporary)
                self._check_fits(written)
                self._publish(temporary, key)
            self._evict(self.max_bytes - written, spared=digest)
        except (OSError, StoreError) as error:
            full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            why = f"the disk is full ({error.strerror})" if full else _reason(error)
            self._note(f"{key} was not cached: {why}")
            return False
        return True

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder for the time of the block, readable by its owner alone; OSError where it cannot be made.

        What a killed process leaves of it is removed by the next one that writes.
        """
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)  # people remove cache folders by hand
        self._sweep()
        folder = self._root / f"tmp-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        try:
            with _locked(folder):
                yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _check_fits(self, count: int) -> None:
        if count > self.max_bytes:
            raise StoreError(f"it takes {in_units(count)} and the cache may hold {in_units(self.max_bytes)}")

    def _publish(self, temporary: Path, key: str) -> None:
        """Makes the entry in a temporary directory the newest of its key, and removes the others."""
        older = self._versions(key)
        # Newer than the last even where the clock was set back.
        stamp = max([time.time_ns(), *(int(version.suffix[1:].split("-")[0]) + 1 for version in older[:1])])
        temporary.rename(self._root / f"{_digest(key)}.{stamp:020d}-{secrets.token_hex(4)}")
        # Another writer may have published since: all keep the newest, whoever wrote it.
        for version in self._versions(key)[1:]:
            self._remove(version)

    def get(self, key: str) -> tuple[dict[str, np.ndarray], dict] | None:
        """The arrays (read-only, memory-mapped) and the meta under the key, or None.

        Every byte is read and compared with its checksum first. A damaged entry is dropped with a notice and gives
        None. The arrays stay readable when the entry is evicted or replaced meanwhile.
        """
        tried = set()
        while untried := [version for version in self._versions(key) if version not in tried]:
            version = untried[0]
            tried.add(version)
            try:
                manifest = read_manifest(version, key)
                arrays = {name: open_array(version / spec["file"], spec) for name, spec in manifest["arrays"].items()}
            except (FileNotFoundError, Damaged) as error:
                # Entries vanish whole, by a rename: where the directory is gone, it was evicted or replaced meanwhile.
                if version.exists():
                    self._note(f"{key} was damaged on the disk ({_reason(error)}); it will be computed again")
                    self._remove(version)
            except OSError as error:  # too many open files and the like: nothing is wrong with the entry
                self._note(f"{key} could not be read from the cache: {_reason(error)}")
                return None
            else:
                with suppress(OSError):
                    os.utime(version)
                return arrays, manifest["meta"]
        return None

    def has(self, key: str) -> bool:
        """Whether there is an entry of the key; whether it is whole, `get` finds out."""
        return bool(self._versions(key))

    def entries(self) -> list[Entry]:
        """What is stored, the least recently used first."""
        found = []
        for version in self._all():
            with suppress(OSError, Damaged):
                manifest = read_manifest(version)
                used = version.stat().st_mtime
                found.append(Entry(manifest["key"], tree_bytes(version), used))
        return sorted(found, key=lambda entry: entry.last_used)

    def size(self) -> int:
        """The bytes that the entries take on the disk."""
        return sum(tree_bytes(version) for version in self._all())

    def clear(self, spared: Collection[str] = ()) -> None:
        """Removes every entry, but none whose key begins with one of `spared`. Arrays in use stay readable."""
        for version in self._all():
            with suppress(OSError, Damaged):
                if spared and read_manifest(version)["key"].startswith(tuple(spared)):
                    continue
            self._remove(version)
        self._sweep()

    def _all(self) -> list[Path]:
        return [path for path in self._root.glob("*.*") if path.is_dir()]

    def _versions(self, key: str) -> list[Path]:
        """The directories of the key, the newest first."""
        return sorted(
            (path for path in self._root.glob(f"{_digest(key)}.*") if _VERSION.search(path.name)), reverse=True
        )

    def _evict(self, limit: int, spared: str) -> None:
        """Removes the least recently used entries until all but those of the spared digest take at most limit bytes."""
        found = []
        for version in self._all():
            if not version.name.startswith(spared):
                with suppress(FileNotFoundError):
                    found.append((version.stat().st_mtime_ns, version, tree_bytes(version)))
        total = sum(size for _, _, size in found)
        for _, version, size in sorted(found):
            if total <= limit:
                return
            self._remove(version)
            total -= size

    def _remove(self, version: Path) -> None:
        gone = self._root / f"gone-{secrets.token_hex(8)}"
        with suppress(OSError):  # another process was faster, or the folder is read-only
            version.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)

    def _sweep(self) -> None:
        """Removes what processes that were killed while they wrote or removed have left."""
        for path in self._root.glob("gone-*"):
            shutil.rmtree(path, ignore_errors=True)
        for path in self._root.glob("tmp-*"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED:
                    with _locked(path):
                        shutil.rmtree(path, ignore_errors=True)

    def _note(self, text: str) -> None:
        self.notices.append(text)
        _log.warning("%s", text)


def put_features(store: Store, key: str, X: Features) -> bool:
    """Keeps features (one block or several) or labels for another process; False, with a notice, where that failed.

    Raises DataError as `as_blocks` does.
    """
    arrays, shapes = {}, []
    for number, block in enumerate(as_blocks(X)):
        parts = ("data", "indices", "indptr") if sparse.issparse(block) else ("dense",)
        arrays |= {f"{number}.{part}": block if part == "dense" else getattr(block, part) for part in parts}
        shapes.append(list(block.shape))
    return store.put(key, arrays, {"shapes": shapes, "single": not isinstance(X, (list, tuple))})


def put_all_features(store: Store, parts: Mapping[str, Features]) -> None:
    """Keeps features and labels, by their keys, for another process that needs all of them; what is there stays.

    Raises DataError, saying why, where they cannot be kept, each or all at once.
    """
    for key, X in parts.items():
        if store.get(key) is None and not put_features(store, key, X):
            raise DataError(store.notices[-1])
    if not all(map(store.has, parts)):  # the last has pushed out the first
        raise DataError(f"the data does not fit all at once into the cache, which may hold {in_units(store.max_bytes)}")


def get_features(store: Store, key: str) -> Features | None:
    """What `put_features` kept under the key, memory-mapped and read-only, in the same form; None where it is gone."""
    found = store.get(key)
    if found is None:
        return None
    arrays, meta = found
    blocks = []
    for number, shape in enumerate(meta["shapes"]):
        if f"{number}.dense" in arrays:
            blocks.append(arrays[f"{number}.dense"])
        else:
            parts = tuple(arrays[f"{number}.{part}"] for part in ("data", "indices", "indptr"))
            blocks.append(sparse.csr_array(parts, shape=tuple(shape)))
    return blocks[0] if meta["single"] else tuple(blocks)


def _reason(error: Exception) -> str:
    """What an error says without the path that it is about: visitors read notices."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _digest(key: str) -> str:
    try:
        encoded = key.encode()
    except (AttributeError, UnicodeEncodeError) as error:
        raise DataError(f"key is {key!a}; expected text that UTF-8 can hold") from error
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Holds the lock by which a temporary directory's writer shows that it lives; OSError where another holds it."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def _require_own(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise StoreError(f"the cache folder {path} is not a folder; set XMLCORE_CACHE to a folder of your own")
    if status.st_uid != os.getuid():
        raise StoreError(
            f"the cache folder {path} belongs to user {status.st_uid}, not to you ({os.getuid()}), who could read or "
            "change your results; set XMLCORE_CACHE to a folder of your own"
        )
