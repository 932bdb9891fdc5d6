"""One entry of the cache on disk: a directory of .npy files and a manifest with their sizes, types and checksums.

The checksum is CRC-32: it finds damage, not malice, at about 2 to 3 GB/s. Nothing is ever unpickled.
"""

from __future__ import annotations

import errno
import json
import os
import time
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np

FORMAT = 1
_CHUNK = 1 << 22


class Damaged(Exception):
    """What is wrong with an entry."""


def tree_bytes(version: Path) -> int:
    """The bytes of an entry's files; those that vanish meanwhile count nothing."""
    total = 0
    with suppress(FileNotFoundError):
        for item in os.scandir(version):
            total += item.stat().st_size
    return total


class _Summed:
    """A file that keeps the CRC-32 and the number of the bytes written to it."""

    def __init__(self, file) -> None:
        self.file, self.checksum, self.bytes = file, 0, 0

    def write(self, data) -> int:
        self.checksum = zlib.crc32(data, self.checksum)
        self.bytes += len(data)
        return self.file.write(data)


def _create(path: Path):
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")


def write_entry(folder: Path, key: str, arrays: dict[str, np.ndarray], meta: dict) -> None:
    """Writes arrays and meta (as JSON holds it) into an empty folder. Raises OSError where that fails."""
    specs = {}
    for number, (name, array) in enumerate(arrays.items()):
        with _create(folder / f"{number}.npy") as file:
            summed = _Summed(file)
            np.lib.format.write_array(summed, array, allow_pickle=False)
        specs[name] = {
            "file": f"{number}.npy",
            "bytes": summed.bytes,
            "crc32": summed.checksum,
            "dtype": array.dtype.str,
            "shape": list(array.shape),
        }
    entry = {"format": FORMAT, "key": key, "created": time.time(), "meta": meta, "arrays": specs}
    with _create(folder / "manifest.json") as file:
        file.write(json.dumps({"crc32": _json_checksum(entry), "entry": entry}, indent=1).encode())


def _json_checksum(entry: dict) -> int:
    return zlib.crc32(json.dumps(entry, sort_keys=True).encode())


def read_manifest(version: Path, key: str | None = None) -> dict:
    """The manifest of an entry; Damaged where it is not whole, or is another key's."""
    try:
        outer = json.loads((version / "manifest.json").read_bytes())
        entry = outer["entry"]
        whole = outer["crc32"] == _json_checksum(entry) and entry["format"] == FORMAT
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Damaged(f"manifest.json: {error}") from error
    if not whole or (key is not None and entry["key"] != key):
        raise Damaged("manifest.json does not match its checksum")
    return entry


def open_array(path: Path, spec: dict) -> np.ndarray:
    """The mapped array, after its bytes were compared with the checksum; Damaged where they do not match.

    They are read and not mapped for that: an unreadable sector is then an OSError, where a mapping would end the
    process, and the pages do not count as this process's memory.
    """
    checksum = count = 0
    buffer = memoryview(bytearray(_CHUNK))
    try:
        with open(path, "rb", buffering=0) as file:
            while got := file.readinto(buffer):
                checksum = zlib.crc32(buffer[:got], checksum)
                count += got
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        raise Damaged(f"{path.name}: {error.strerror}") from error
    if count != spec["bytes"]:
        raise Damaged(f"{path.name} has {count} bytes, {spec['bytes']} were written")
    if checksum != spec["crc32"]:
        raise Damaged(f"{path.name} does not match its checksum")
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except ValueError as error:
        raise Damaged(f"{path.name}: {error}") from error
