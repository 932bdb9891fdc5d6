"""Build the reduced sentence embeddings of Debtags, from the same package index as Debtags itself and after it.

    pip install -e ".[embed]"
    python -m data.build_embeddings

writes `debtags-embeddings.npz` beside this script. It takes about half an hour on one core. `README.md` says what is in
the file. Unlike the data sets, its last bits depend on the version of the software that computes the embeddings.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from data.build_debian import HERE, LISTS, Package, debtags, in_test, lines, read_packages
from xmlcore.embeddings import embed_texts, instance_digest, quantize

N_COMPONENTS = 128


def sentence(package: Package) -> str:
    """What is embedded of a package: its name in words, the synopsis and the description."""
    return f"{package.name.replace('-', ' ')}. {package.synopsis}. {' '.join(package.description.split())}"


def encode(packages: list[Package], embeddings: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of the file: principal components of the training packages, 8 bits a number."""
    train = np.flatnonzero([not in_test(package.source) for package in packages])
    arrays = quantize(embeddings, train, N_COMPONENTS)
    return {**arrays, "instance_digest": instance_digest(lines([package.name for package in packages]))}


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the reduced sentence embeddings of Debtags.")
    parser.add_argument("--lists", type=Path, default=LISTS, help="folder of apt's lists (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to (default: %(default)s)")
    arguments = parser.parse_args()
    packages, _ = debtags(read_packages(arguments.lists)[0])
    embeddings = embed_texts(
        [sentence(package) for package in packages],
        progress=lambda stage, done: print(f"\r{stage}: {done:.0%}", end="", flush=True),
    )
    path = arguments.out / "debtags-embeddings.npz"
    np.savez_compressed(path, **encode(packages, embeddings))
    print(f"\n{path.name}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
