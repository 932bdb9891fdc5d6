"""Names → data sets: those that come with the project, those that can be downloaded, and made-up ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from xmlcore.checks import DataError
from xmlcore.dataset import Dataset
from xmlcore.downloads import DOWNLOADS, DownloadProgress, fetch
from xmlcore.embedded import DATA, read_embedded
from xmlcore.features import fit_features
from xmlcore.readers import LIMITS, read
from xmlcore.recipe import FeatureRecipe, default_recipe
from xmlcore.synthetic import SHAPES, make_dataset

SYNTHETIC = "synthetic-"
# Shapes that are made within a minute and fit a laptop's memory.
MADE_SHAPES = ("bibtex", "delicious", "eurlex-4k", "wiki10-31k")
# The catalog's addresses are trusted further than an upload: AmazonCat-13K with its texts is larger than one may be.
DOWNLOAD_LIMITS = replace(LIMITS, max_upload_bytes=20_000_000_000, max_expanded_bytes=60_000_000_000)


@dataclass(frozen=True)
class CatalogEntry:
    """A data set that can be had by its name.

    Attributes:
        name: for `load_dataset`, scripts and links.
        title: for people.
        description: what it is, and what it is not.
        kind: "embedded" (comes with the project), "download" or "synthetic" (made on the spot).
        n_bytes: of the file or the download; None where it is unknown or the file is not here.
        address: where a download comes from.
        tried: whether its address has ever been tried by the makers of this catalog; True for what needs no address.
        has_checksum: whether a download is compared with a known SHA-256.
        recipe: the features that suit it, as text for `load_dataset`.
    """

    name: str
    title: str
    description: str
    kind: Literal["embedded", "download", "synthetic"]
    n_bytes: int | None = None
    address: str | None = None
    tried: bool = True
    has_checksum: bool = False
    recipe: str = "raw"


def _embedded(name: str, title: str, description: str) -> CatalogEntry:
    path = DATA / f"{name}.npz"
    size = path.stat().st_size if path.exists() else None  # an installed package has no data beside it
    return CatalogEntry(name, title, description, "embedded", size, recipe="tfidf+unit")


def _download(name: str, title: str, description: str, n_bytes: int | None = None) -> CatalogEntry:
    files = DOWNLOADS[name]
    address = files[0].address if len(files) == 1 else files[0].address.rpartition("/")[0]
    known = all(file.sha256 is not None for file in files)
    return CatalogEntry(name, title, description, "download", n_bytes, address, tried=False, has_checksum=known)


def _synthetic(shape: str) -> CatalogEntry:
    size = SHAPES[shape]
    return CatalogEntry(
        f"{SYNTHETIC}{shape}",
        f"Synthetic, shaped like {shape}",
        f"Made up, with a known answer and labels that are missing just as propensities model it: {size.n_train:,} "
        f"training instances, {size.n_features:,} features, {size.n_labels:,} labels. Not the data set of that name.",
        "synthetic",
    )


_ENTRIES = (
    _embedded(
        "debtags",
        "Debtags",
        "Descriptions of Debian packages with the tags that volunteers gave them: 29,770 packages, 598 tags, many of "
        "them missing.",
    ),
    _embedded(
        "debian-depends",
        "Debian-depends",
        "Descriptions of Debian packages with the packages that they depend on: 63,666 packages, 35,515 labels, nearly "
        "half of them on one package only.",
    ),
    _download(
        "bibtex",
        "Bibtex",
        "Bookmarks of scientific papers with the tags that people gave them, as the Mulan project publishes it: 7,395 "
        "instances, 1,836 binary features, 159 labels. The paper's Bibtex is another split of the same.",
        3_514_478,
    ),
    _download(
        "delicious",
        "Delicious (983 labels)",
        "Web pages with the tags that people gave them, as the Mulan project publishes it: 16,105 instances, 500 "
        "binary features, 983 labels. This is not the paper's Delicious-200K, which has 205,443 labels: get that from "
        "the Extreme Classification Repository's page, by hand, and upload it.",
        3_848_458,
    ),
    _download(
        "eurlex-4k",
        "Eurlex-4K",
        "European laws with their subjects, as the PECOS project publishes it: 15,449 training instances, 3,956 "
        "labels.",
    ),
    _download(
        "wiki10-31k",
        "Wiki10-31K",
        "Wikipedia articles with the tags that people gave them, as the PECOS project publishes it: 14,146 training "
        "instances, 30,938 labels.",
    ),
    _download(
        "amazoncat-13k",
        "AmazonCat-13K",
        "Products with their categories, as the PECOS project publishes it: 1,186,239 training instances, 13,330 "
        "labels. Gigabytes, and it needs a projection or SVD to be factorised.",
    ),
    *map(_synthetic, MADE_SHAPES),
)


def catalog_entries() -> tuple[CatalogEntry, ...]:
    """All data sets that can be had by name, the default one first."""
    return _ENTRIES


def load_dataset(
    name_or_path: str | Path,
    features: FeatureRecipe | str | None = "default",
    progress: DownloadProgress | None = None,
) -> Dataset:
    """The data set of that name, or in that file, folder or archive, its X made by a recipe.

    Args:
        name_or_path: a name in the catalog; else a path.
        features: a recipe or its text; "default" for the one that suits the data set; None for the features as given
            (counts stay counts).
        progress: is told what a download brings.

    Raises DataError: for a name that is not there, with those that are; for an embedded data set whose file is missing;
    for files that cannot be read, with the line; for a download that fails, with the reason; for a recipe that does not
    suit the data.
    """
    if features is not None and features != "default":
        features = FeatureRecipe.parse(features)
    raw = _load_raw(name_or_path, progress)
    if features is None:
        return raw
    return fit_features(raw, default_recipe(raw) if features == "default" else features)[0]


def _load_raw(name_or_path: str | Path, progress: DownloadProgress | None) -> Dataset:
    entry = next((entry for entry in _ENTRIES if entry.name == str(name_or_path)), None)
    if entry is None:
        if str(name_or_path) and Path(name_or_path).exists():
            return read(name_or_path)
        names = ", ".join(entry.name for entry in _ENTRIES)
        raise DataError(
            f"there is no data set, file or folder called {str(name_or_path)!r}; the data sets are: {names}"
        )
    if entry.kind == "embedded":
        return read_embedded(entry.name)
    if entry.kind == "synthetic":
        made = make_dataset(entry.name.removeprefix(SYNTHETIC))
        return replace(made, name=entry.name, source=entry.description)
    paths = fetch(entry.name, DOWNLOADS[entry.name], progress)
    ds = read(paths[0] if len(paths) == 1 else paths, limits=DOWNLOAD_LIMITS, name=entry.name)
    return replace(ds, source=f"{entry.description} From {entry.address}.")
