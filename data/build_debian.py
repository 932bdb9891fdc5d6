"""Build the embedded data sets from the package index of a Debian or Ubuntu machine. In the project's folder,

    apt-get -o Acquire::Languages=en update
    python -m data.build_debian

writes `debtags.npz` (descriptions → tags) and `debian-depends.npz` (descriptions → packages depended on) beside this
script. The same index gives the same bytes. `README.md` says what is in the files.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import lzma
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xmlcore.words import choose_vocabulary, count_words

HERE = Path(__file__).resolve().parent
LISTS = Path("/var/lib/apt/lists")
APT_HELPER = "/usr/lib/apt/apt-helper"  # reads the lists in whatever way apt has compressed them
ORIGINS = {"Debian", "Ubuntu"}
N_WORDS = 3_000
MIN_DESCRIPTION_WORDS = 12  # shorter ones ("transitional package") say nothing that tags could be learned from


@dataclass(frozen=True)
class Package:
    """One binary package of the index.

    Attributes:
        name, source: of the binary package and of the source package that it is built from.
        synopsis, description: the first line of the description, and the rest of it.
        tags: facet::tag, sorted.
        depends: the packages named in Depends, all alternatives, without versions, sorted.
    """

    name: str
    source: str
    synopsis: str
    description: str
    tags: tuple[str, ...]
    depends: tuple[str, ...]

    @property
    def text(self) -> str:
        """What terms are counted in: the name's parts, the synopsis and the description."""
        return f"{self.name.replace('-', ' ')} {self.synopsis} {self.description}"


def read_list(path: Path) -> str:
    """The text of one index file: plain, .gz, .xz, or as apt keeps it (.lz4, .zst)."""
    if path.suffix == ".gz":
        raw = gzip.decompress(path.read_bytes())
    elif path.suffix == ".xz":
        raw = lzma.decompress(path.read_bytes())
    elif path.suffix in (".lz4", ".zst"):
        raw = subprocess.run([APT_HELPER, "cat-file", str(path)], check=True, stdout=subprocess.PIPE).stdout
    else:
        raw = path.read_bytes()
    return raw.decode("utf-8")


def stanzas(text: str) -> Iterator[dict[str, str]]:
    """The paragraphs of a Debian control file as field → value; continuation lines keep their line breaks."""
    for paragraph in text.split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in paragraph.splitlines():
            if line[:1] in (" ", "\t"):
                fields[name] += "\n" + line[1:]
            elif line:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if fields:
            yield fields


def archives(lists: Path) -> list[tuple[str, dict[str, str]]]:
    """The file name prefix and the release fields of Debian's or Ubuntu's own archives, the base suite first.

    Security and update suites (codenames with a hyphen) come after it: they have no tags, and only packages that are
    new in them count.
    """
    found = []
    for path in sorted(lists.glob("*Release")):
        body = read_list(path).partition("-----BEGIN PGP SIGNATURE-----")[0]
        fields = {key: value for stanza in stanzas(body) for key, value in stanza.items()}
        if fields.get("Origin") in ORIGINS:
            found.append((path.name.removesuffix("InRelease").removesuffix("Release"), fields))
    return sorted(found, key=lambda item: ("-" in item[1].get("Suite", "") + item[1].get("Codename", ""), item[0]))


def read_packages(lists: Path) -> tuple[list[Package], str]:
    """All packages of a machine's index, sorted by name, and a line that says which archives they come from."""
    suites = archives(lists)
    fields_of: dict[str, dict[str, str]] = {}
    descriptions: dict[str, str] = {}
    for prefix, _ in suites:
        for path in sorted(lists.glob(f"{prefix}*_Packages*")):
            for fields in stanzas(read_list(path)):
                fields_of.setdefault(fields["Package"], fields)
        for path in sorted(lists.glob(f"{prefix}*_i18n_Translation-en*")):
            for fields in stanzas(read_list(path)):
                descriptions.setdefault(fields["Description-md5"], fields["Description-en"])
    if not fields_of or not descriptions:
        raise SystemExit(
            f"{lists} holds {len(fields_of)} packages and {len(descriptions)} English descriptions of Debian or "
            "Ubuntu; run: apt-get -o Acquire::Languages=en update"
        )
    packages = [_package(fields_of[name], descriptions) for name in sorted(fields_of)]
    return packages, "; ".join(f"{f['Origin']} {f['Codename']}, index of {f['Date']}" for _, f in suites)


def _package(fields: dict[str, str], descriptions: dict[str, str]) -> Package:
    # The index itself holds the synopsis only; the digest leads to the whole text.
    described = descriptions.get(fields.get("Description-md5", ""), fields.get("Description", ""))
    synopsis, _, description = described.partition("\n")
    tags = {tag.strip() for tag in fields.get("Tag", "").split(",")} - {""}
    alternatives = fields.get("Depends", "").replace("|", ",").split(",")
    depends = {words[0].partition(":")[0] for words in map(str.split, alternatives) if words}
    return Package(
        name=fields["Package"],
        source=fields.get("Source", fields["Package"]).split()[0],
        synopsis=synopsis,
        description="\n".join(line for line in description.splitlines() if line.strip() != "."),
        tags=tuple(sorted(tags)),
        depends=tuple(sorted(depends)),
    )


def in_test(source: str) -> bool:
    """Whether a source package's packages are test instances: one in five, by the SHA-256 of its name."""
    return int.from_bytes(hashlib.sha256(source.encode()).digest()) % 5 == 0


def is_described(package: Package) -> bool:
    """Whether the description is long enough to learn from."""
    return len(re.findall(r"[a-z]+", package.description.lower())) >= MIN_DESCRIPTION_WORDS


def encode(
    packages: Sequence[Package], label_sets: Sequence[tuple[str, ...]], origin: str, n_words: int = N_WORDS
) -> dict[str, np.ndarray]:
    """The arrays of one data set's file; every one of them is plain numbers or UTF-8 bytes, lines joined by newlines.

    Rows of the two sparse matrices are given by their lengths (`*_lengths`) and their sorted column numbers.
    """
    test = np.array([in_test(package.source) for package in packages])
    vocabulary = choose_vocabulary((p.text for p, held in zip(packages, test, strict=True) if not held), n_words)
    counts = count_words((package.text for package in packages), vocabulary)
    labels = sorted(set().union(*label_sets))
    number = {label: column for column, label in enumerate(labels)}
    sources = sorted({package.source for package in packages})
    source_number = {source: at for at, source in enumerate(sources)}
    return {
        "term_lengths": compact(np.diff(counts.indptr)),
        "term_columns": compact(counts.indices),
        "term_counts": np.minimum(counts.data, 255).astype(np.uint8),
        "label_lengths": compact(np.array([len(row) for row in label_sets])),
        "label_columns": compact(np.array([number[label] for row in label_sets for label in row])),
        "source_of": compact(np.array([source_number[package.source] for package in packages])),
        "is_test": test,
        "words": lines(vocabulary),
        "labels": lines(labels),
        "instances": lines([package.name for package in packages]),
        "sources": lines(sources),
        "origin": lines([origin]),
    }


def compact(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers in the smallest unsigned type that holds them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def lines(names: Sequence[str] | np.ndarray) -> np.ndarray:
    """Names as one array of UTF-8 bytes, one a line: no object arrays, so nothing is ever pickled."""
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)


def write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write the arrays compressed, and say what they are."""
    np.savez_compressed(path, **arrays)
    rows, labels = len(arrays["is_test"]), bytes(arrays["labels"]).count(b"\n") + 1
    print(
        f"{path.name}: {rows:,} instances ({arrays['is_test'].sum():,} test), {labels:,} labels, "
        f"{len(arrays['label_columns']) / rows:.2f} a row, {len(arrays['term_columns']) / rows:.1f} terms a row, "
        f"{path.stat().st_size / 1e6:.2f} MB"
    )


def debtags(packages: Sequence[Package]) -> tuple[list[Package], list[tuple[str, ...]]]:
    """Packages that have tags and a description worth the name, and their tags."""
    chosen = [package for package in packages if package.tags and is_described(package)]
    return chosen, [package.tags for package in chosen]


def debian_depends(packages: Sequence[Package]) -> tuple[list[Package], list[tuple[str, ...]]]:
    """All packages, and the packages that they depend on."""
    return list(packages), [package.depends for package in packages]


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the embedded data sets from this machine's package index.")
    parser.add_argument("--lists", type=Path, default=LISTS, help="folder of apt's lists (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to (default: %(default)s)")
    arguments = parser.parse_args()
    packages, origin = read_packages(arguments.lists)
    for name, select in (("debtags", debtags), ("debian-depends", debian_depends)):
        write(arguments.out / f"{name}.npz", encode(*select(packages), origin))


if __name__ == "__main__":
    main()
