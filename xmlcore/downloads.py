"""Data sets of other people's, fetched once into a cache on disk.

A download that fails leaves nothing behind: files arrive in a scratch folder, are compared with their checksum, or with
the one that gzip keeps where no other is known, and only then get their place. What a killed process leaves in such a
folder is removed by the next download.
"""

from __future__ import annotations

import gzip
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import pooch
from requests.exceptions import ChunkedEncodingError, ConnectionError, HTTPError, RequestException, Timeout

from xmlcore.atomic import scratch_in
from xmlcore.checks import DataError
from xmlcore.store import default_folder

CHUNK = 1 << 16
MULAN = "https://raw.githubusercontent.com/tsoumakas/mulan/43f6389095ad71984264db4387a8074b22bc7d4a/data/multi-label"
PECOS = "https://archive.org/download/pecos-dataset/xmc-base"
ADVICE = "Try again later, or fetch the files in another way and upload them."


@dataclass(frozen=True)
class RemoteFile:
    """One file to fetch.

    Attributes:
        address: where it is.
        sha256: the checksum of its content, or None where it is unknown.
    """

    address: str
    sha256: str | None = None

    @property
    def name(self) -> str:
        """The file's name, without the folders of its address."""
        return self.address.rpartition("/")[2]


@dataclass
class DownloadProgress:
    """How far a download is: written by the thread that downloads, read by anybody.

    Attributes:
        file: the name of the file on its way, "" before the first.
        done, total: bytes of that file; total is 0 where the server does not say.
        files_done, files: whole files.
    """

    file: str = ""
    done: int = 0
    total: int = 0
    files_done: int = 0
    files: int = 0

    def update(self, n_bytes: int) -> None:
        """Counts bytes that have arrived. pooch tells them in whole chunks, and the total once more at the end."""
        self.done = min(self.done + n_bytes, self.total or self.done + n_bytes)

    def reset(self) -> None:
        """Part of what pooch expects of a progress bar; the count stands."""

    def close(self) -> None:
        """Part of what pooch expects of a progress bar."""


DOWNLOADS: dict[str, tuple[RemoteFile, ...]] = {
    "bibtex": (
        RemoteFile(
            f"{MULAN}/bibtex/bibtex-train.arff", "8dcc9de6e0b2cebaec8c1f4fac78431adeeb73cfd3ab879b530a66d366e59174"
        ),
        RemoteFile(
            f"{MULAN}/bibtex/bibtex-test.arff", "9b03329cde64d3f994bdf7fbbac3f3b10fe185c311cb9ae725475f59c7f3f922"
        ),
        RemoteFile(f"{MULAN}/bibtex/bibtex.xml", "08fe20013c1e75dcf1888c185f5187c95e76495b8518ce289b4d3afce38d1232"),
    ),
    "delicious": (
        RemoteFile(
            f"{MULAN}/delicious/delicious-train.arff",
            "030186cdb542ebdd32052fcdbb1ebe30115b3a22518c1b4b198c45eb827aebe1",
        ),
        RemoteFile(
            f"{MULAN}/delicious/delicious-test.arff",
            "2dfb01723a819914b0ca83361177ed413ce3f2169851d9f228d4692915d63944",
        ),
        RemoteFile(
            f"{MULAN}/delicious/delicious.xml", "4e0c0f93c7d86a39b9fca4aaefaa00e9428f2c80277732dfbf03ca48e2c14da2"
        ),
    ),
    "eurlex-4k": (RemoteFile(f"{PECOS}/eurlex-4k.tar.gz"),),
    "wiki10-31k": (RemoteFile(f"{PECOS}/wiki10-31k.tar.gz"),),
    "amazoncat-13k": (RemoteFile(f"{PECOS}/amazoncat-13k.tar.gz"),),
}


def is_downloaded(name: str) -> bool:
    """Whether all files of a data set are in the cache; False where there is no cache that can be read."""
    try:
        folder = default_folder() / "downloads" / name
    except RuntimeError:  # there is no home directory
        return False
    return all(os.path.isfile(folder / file.name) for file in DOWNLOADS[name])


def fetch(name: str, files: tuple[RemoteFile, ...], progress: DownloadProgress | None = None) -> list[Path]:
    """The files in the cache, downloaded unless they are there already.

    Args:
        name: of the data set; its folder in the cache is called so.
        files: what to fetch.
        progress: is told what arrives.

    They are kept in the subfolder "downloads" of the cache on disk, readable by its owner alone.
    Raises DataError, saying what failed and what to do, where a file cannot be had or is not the one expected.
    """
    progress = progress if progress is not None else DownloadProgress()
    progress.files, progress.files_done = len(files), 0
    try:
        root = default_folder()
    except RuntimeError as error:
        raise DataError(f"{name} could not be stored: {error} Set XMLCORE_CACHE to a folder of your own") from error
    folder = root / "downloads" / name
    paths = []
    for file in files:
        progress.file, progress.done, progress.total = file.name, 0, 0
        try:
            for made in (root, folder.parent, folder):
                made.mkdir(mode=0o700, parents=True, exist_ok=True)
            paths.append(_fetch_one(file, folder, progress))
        except RequestException as error:
            raise DataError(f"{name} could not be downloaded: {_reason(error, file)}. {ADVICE}") from error
        except OSError as error:
            raise DataError(f"{name} could not be stored in {folder}: {error.strerror or error}") from error
        except _AnotherFile as error:
            raise DataError(f"{name} was not loaded: {file.address} {error}; it was deleted. {ADVICE}") from error
        except ValueError as error:  # a length that is no number, an address that is none in a redirection
            raise DataError(f"{name} could not be downloaded: {file.address}: {error}. {ADVICE}") from error
        progress.files_done += 1
    return paths


class _AnotherFile(ValueError):
    """What is wrong with a file that has arrived, after its address."""


def _fetch_one(file: RemoteFile, folder: Path, progress: DownloadProgress) -> Path:
    path = folder / file.name
    if path.is_file() and file.sha256 in (None, pooch.file_hash(str(path))):
        return path
    with scratch_in(folder) as scratch:
        arrived = scratch / file.name
        arrived.touch(mode=0o600)
        pooch.HTTPDownloader(progressbar=progress, chunk_size=CHUNK)(file.address, str(arrived), None)
        if file.sha256 not in (None, pooch.file_hash(str(arrived))):
            raise _AnotherFile(f"holds another file than the one expected, with the SHA-256 {file.sha256}")
        if file.sha256 is None and file.name.endswith(".gz"):
            _refuse_cut(arrived)
        os.replace(arrived, path)
    return path


def _refuse_cut(path: Path) -> None:
    """Raises _AnotherFile where it is no whole gzip file: kept, it would be read, and found damaged, ever after."""
    try:
        with gzip.open(path) as unpacked:
            while unpacked.read(CHUNK):
                pass
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _AnotherFile(f"gave a file that is cut short or no gzip file ({error})") from error


def _reason(error: RequestException, file: RemoteFile) -> str:
    if isinstance(error, HTTPError):
        return f"the server answered {error.response.status_code} {error.response.reason} for {file.address}"
    if isinstance(error, Timeout):
        return f"the server of {file.address} did not answer in time"
    if isinstance(error, ChunkedEncodingError):
        return f"the connection broke while {file.address} was on its way; what had arrived was deleted"
    if isinstance(error, ConnectionError):
        return f"there is no connection to the server of {file.address}"
    return f"{file.address}: {error}"
