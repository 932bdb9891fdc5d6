"""Two inner loops beside what numpy and scipy offer, in one run: the Gram matrix, and the top K of both variants.

    OPENBLAS_NUM_THREADS=2 python -m benchmarks.micro [--scale 0.05]

The Gram matrix XXᵀ at the eurlex-4k shape in float32, against scipy's sparse product X @ X.T; both are compared. The
top 5 of scores and of weighted scores from a block of 3,865 × 30,938, in random order and with every row sorted
ascending (each score beats all before it), against two calls of `numpy.argpartition(S, L-5)`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from benchmarks.measure import number, write_table
from benchmarks.stages import warm_up
from xmlcore import make_dataset, top_k_both
from xmlcore.linalg import gram

ROWS, LABELS, K = 3_865, 30_938, 5
T = TypeVar("T")


def timed(work: Callable[[], T], repeat: int) -> tuple[float, T]:
    """The median of the seconds of so many runs, and the last result."""
    seconds = []
    for _ in range(repeat):
        result = None
        started = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - started)
    return sorted(seconds)[repeat // 2], result


def gram_lines(scale: float) -> list[str]:
    X = make_dataset("eurlex-4k", scale=scale).X_train
    ours, K_ours = timed(lambda: gram((X,), of_rows=True, dtype=np.float32), 3)
    theirs, K_theirs = timed(lambda: X @ X.T, 1)
    rows = slice(0, X.shape[0], 97)
    difference = float(np.abs(K_ours[rows] - K_theirs[rows].toarray()).max())
    return [
        f"Gram matrix of {X.shape[0]:,} rows × {X.shape[1]:,} features, {X.nnz / X.shape[0]:.0f} a row, float32; "
        f"largest difference of an entry {difference:.1e}:",
        "",
        "| | seconds | times |",
        "| --- | --- | --- |",
        f"| xmlcore, dense and symmetric | {number(ours)} | 1 |",
        f"| scipy, X @ X.T | {number(theirs)} | {number(theirs / ours)} (at least 5 wanted) |",
    ]


def argpartition_both(scores: np.ndarray, weighted: np.ndarray) -> list[np.ndarray]:
    """What the comparison is with: it does not even sort the K."""
    return [np.argpartition(each, each.shape[1] - K) for each in (scores, weighted)]


def top_lines(scale: float) -> list[str]:
    rows, labels = max(10, round(ROWS * scale)), max(10, round(LABELS * scale))
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((rows, labels), dtype=np.float32)
    theta = 1 + 20 * rng.random(labels)
    lines = [
        f"Top {K} of both variants from {rows:,} × {labels:,} float32 scores:",
        "",
        "| rows | xmlcore, seconds | two argpartitions, seconds | times |",
        "| --- | --- | --- | --- |",
    ]
    for name, wanted in (("in random order", 0.1), ("sorted ascending", 0.3)):
        ours, (top, top_ps) = timed(partial(top_k_both, scores, theta, K), 5)
        weighted = (scores * theta).astype(np.float32)
        theirs, _ = timed(partial(argpartition_both, scores, weighted), 1)
        del weighted
        for found, values in ((top, scores[:50]), (top_ps, scores[:50] * theta)):
            if not np.array_equal(found[:50], np.argsort(-values, axis=1, kind="stable")[:, :K]):
                raise AssertionError("the two rankings differ")
        lines.append(
            f"| {name} | {number(ours)} (at most {wanted:g} wanted) | {number(theirs)} "
            f"| {number(theirs / ours)} (at least 8 wanted) |"
        )
        scores.sort(axis=1)
        theta = np.sort(theta)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    scale = parser.parse_args().scale
    warm_up()
    lines = ["# Inner loops", "", *gram_lines(scale), "", *top_lines(scale)]
    print("\n".join(lines))
    if scale == 1:
        print(f"\nstored as {write_table('inner-loops', lines)}")


if __name__ == "__main__":
    main()
