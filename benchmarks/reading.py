"""Reading the repository's text format, against scikit-learn: speed, and memory at its peak.

    python -m benchmarks.reading [--megabytes 100] [--repeat 3]

A file of the given size is made with a seed, in the shape of TF-IDF features (about 100 a row, six digits). Both
readers read it from a warm disk cache, the best of the repetitions counts; compiled code is compiled before the clock
starts. Memory is what Python and numpy hold at the peak of reading, beyond what they held before, in a run of its own;
beside it as a multiple of the result's.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from benchmarks.measure import number, write_table
from xmlcore.dataset import Dataset
from xmlcore.readers import read

MEGABYTES, REPEAT = 100.0, 3
N_FEATURES, N_LABELS, PER_ROW, ROWS_AT_ONCE = 100_000, 4_000, 100, 1_000


def make_file(path: Path, megabytes: float) -> None:
    """Writes about that many megabytes of instances, with a header, features and labels drawn with a seed."""
    rng = np.random.default_rng(0)
    lines: list[str] = []
    size = 0
    while size < megabytes * 1e6:
        for _ in range(ROWS_AT_ONCE):
            features = np.unique(rng.integers(0, N_FEATURES, rng.integers(PER_ROW // 2, PER_ROW * 3 // 2)))
            values = rng.random(len(features)) + 1e-6
            labels = np.unique(rng.integers(0, N_LABELS, 5))
            fields = " ".join(f"{n}:{value:.6f}" for n, value in zip(features, values, strict=True))
            lines.append(f"{','.join(map(str, labels))} {fields}\n")
            size += len(lines[-1])
    path.write_text(f"{len(lines)} {N_FEATURES} {N_LABELS}\n" + "".join(lines), encoding="utf-8")


def read_ours(folder: Path) -> Dataset:
    """The data set of `train.txt` and a `test.txt` of one instance."""
    return read([folder / "train.txt", folder / "test.txt"])


def read_theirs(folder: Path) -> tuple[sparse.csr_matrix, list[tuple[int, ...]]]:
    """The same lines by scikit-learn, which has no place for a header: it is read past."""
    with (folder / "train.txt").open("rb") as stream:
        stream.readline()
        return load_svmlight_file(stream, multilabel=True, zero_based=True, dtype=np.float32, n_features=N_FEATURES)


def best_seconds(work: Callable[[], object], repeat: int) -> float:
    """The shortest of the repetitions."""
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def peak_bytes(work: Callable[[], object]) -> int:
    """The most that was held at once during the work, beyond what was held before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def held(matrix: sparse.csr_array) -> int:
    """The bytes of a sparse matrix."""
    return matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes


def table(folder: Path, megabytes: float, repeat: int) -> Iterator[str]:
    """The lines of the table, for a file that is made in the folder."""
    make_file(folder / "train.txt", megabytes)
    (folder / "test.txt").write_text(f"1 {N_FEATURES} {N_LABELS}\n0 0:1\n", encoding="utf-8")
    megabytes = (folder / "train.txt").stat().st_size / 1e6
    ds = read_ours(folder)
    X, Y = read_theirs(folder)
    result = held(ds.X_train) + held(ds.Y_train)
    same = abs(ds.X_train - X).max() == 0 and sum(map(len, Y)) == ds.Y_train.nnz
    yield "# Reading text"
    yield ""
    yield (
        f"{megabytes:.0f} MB, {ds.n_train:,} instances, {ds.X_train.nnz:,} values; result {result / 1e6:.0f} MB; best "
        f"of {repeat}. Both read {'the same values and as many labels' if same else '**different values or labels**'}."
    )
    yield ""
    yield "| reader | seconds | MB/s | peak, MB | times the result |"
    yield "| --- | --- | --- | --- | --- |"
    for name, work in (("xmlcore.readers.read", read_ours), ("sklearn load_svmlight_file", read_theirs)):
        seconds = best_seconds(lambda work=work: work(folder), repeat)
        peak = peak_bytes(lambda work=work: work(folder))
        yield (
            f"| {name} | {number(seconds)} | {number(megabytes / seconds)} | {number(peak / 1e6)} "
            f"| {number(peak / result)} |"
        )


def main() -> None:
    """Makes the file, measures both readers, prints the table, and stores it where nothing was cut down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=MEGABYTES)
    parser.add_argument("--repeat", type=int, default=REPEAT)
    choice = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for line in table(Path(folder), choice.megabytes, choice.repeat):
            lines.append(line)
            print(line, flush=True)
    if (choice.megabytes, choice.repeat) == (MEGABYTES, REPEAT):
        print(f"\nstored as {write_table('reading', lines)}")


if __name__ == "__main__":
    main()
