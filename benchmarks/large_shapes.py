"""The stages of the two shapes whose features are reduced: streamed from disk through a random projection, and held in
memory through a truncated SVD."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from scipy import linalg, sparse

from benchmarks.measure import Recorder
from benchmarks.stages import (
    REFERENCE_SHARES,
    Measured,
    compare,
    measured,
    reference_rows,
    targets,
    time_settings,
)
from xmlcore import (
    RidgeFactorization,
    random_projection,
    save_blocks,
    stored_blocks,
    synthetic_blocks,
    truncated_svd,
)
from xmlcore.streaming import GramSums, StreamedFactorization, factorize_sums, gram_sums

COMPONENTS = 4_096  # of the random projection
RANK = 3_000  # of the truncated SVD
PASSES = 4


def projected(shape: str, scale: float, folder: Path) -> Measured:
    """Row blocks from disk, through a sparse random projection, into Gram sums."""
    goal, recorder = targets(shape, scale), Recorder()

    def write() -> None:
        for side in ("train", "test"):
            save_blocks(((block.X, block.Y) for block in synthetic_blocks(shape, 0, scale, side)), folder / side)

    recorder.run("write row blocks", write)
    n_features = next(stored_blocks(folder / "test"))[0].shape[1]
    projection = random_projection(n_features, max(1, round(COMPONENTS * min(1, scale))))
    sums: list[GramSums] = []

    def factorise() -> StreamedFactorization:
        sums.append(gram_sums(stored_blocks(folder / "train"), projection=projection))
        return factorize_sums(sums[0], projection)

    fac = recorder.run(
        "factorise, streamed", factorise, target=goal.factorise, note=f"{projection.shape[1]:,} projected"
    )
    labels = sparse.vstack([Y for _, Y in stored_blocks(folder / "test")], format="csr")

    def project() -> np.ndarray:
        # In a file: P of all test rows need not stay in memory between two λ.
        P = np.lib.format.open_memmap(folder / "P.npy", "w+", np.float32, (labels.shape[0], fac.eigenvalues.size))
        start = 0
        for X, _ in stored_blocks(folder / "test"):
            P[start : start + X.shape[0]] = fac.project(X)
            start += X.shape[0]
        P.flush()
        return np.load(folder / "P.npy", mmap_mode="r")

    P = recorder.run("project all test rows", project, note="into a file")
    checks = []
    rows = reference_rows(labels.shape[0])
    # The features again, from the raw rows and in float64.
    X_test = sparse.vstack([X for X, _ in stored_blocks(folder / "test")], format="csr")[rows]
    F = (X_test.astype(np.float64) @ projection.astype(np.float64)).toarray()
    for share in REFERENCE_SHARES:
        reg_lambda = share * fac.eigenvalues[-1]
        shifted = sums[0].gram + reg_lambda * np.eye(F.shape[1])
        expected = (sums[0].label_sums @ linalg.solve(shifted, F.T, assume_a="pos")).T
        checks.append(compare(f"σ_max·{share:g}", fac.scores(P[rows], reg_lambda), expected, reg_lambda))
    del sums[:], X_test
    time_settings(recorder, goal, fac, P, labels, _middle(fac.eigenvalues), fac.label_counts)
    return measured(shape, scale, recorder, checks)


def reduced(shape: str, scale: float, folder: Path) -> Measured:
    """Rows made and held in memory, a truncated SVD of them, and the factorisation of its features."""
    goal, recorder = targets(shape, scale), Recorder()

    def make(side: str) -> tuple[sparse.csr_array, sparse.csr_array]:
        blocks = list(synthetic_blocks(shape, 0, scale, side))
        return tuple(sparse.vstack([getattr(block, part) for block in blocks], format="csr") for part in ("X", "Y"))

    X, Y = recorder.run("make the data", lambda: make("train"))
    X_test, Y_test = make("test")
    rank = max(1, round(RANK * min(1, scale)))

    fac, F_test = recorder.run(
        "factorise",
        partial(_by_svd, X, Y, X_test, rank),
        target=goal.factorise,
        note=f"SVD {rank:,}, {PASSES} passes, and test features",
    )
    del X, X_test
    P = recorder.run("project all test rows", partial(fac.project, F_test), note="from their features")
    checks = []
    few = F_test[reference_rows(F_test.shape[0])].astype(np.float64)
    F = fac.X_train[0]
    G = np.zeros((F.shape[1], F.shape[1]))
    for start in range(0, F.shape[0], 4_096):
        block = F[start : start + 4_096].astype(np.float64)
        G += block.T @ block
    for share in REFERENCE_SHARES:
        reg_lambda = share * fac.eigenvalues[-1]
        votes = F @ linalg.solve(G + reg_lambda * np.eye(F.shape[1]), few.T, assume_a="pos")
        expected = (Y.T.astype(np.float64) @ votes).T
        checks.append(compare(f"σ_max·{share:g}", fac.scores(fac.project(few), reg_lambda), expected, reg_lambda))
    del F_test, F, expected, votes
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    time_settings(recorder, goal, fac, P, Y_test, _middle(fac.eigenvalues), counts)
    return measured(shape, scale, recorder, checks)


def _by_svd(
    X: sparse.csr_array, Y: sparse.csr_array, X_test: sparse.csr_array, rank: int
) -> tuple[RidgeFactorization, np.ndarray]:
    """The factorisation of the SVD's features, and the test rows' features."""
    svd = truncated_svd(X, rank, passes=PASSES)
    F_test = svd.transform(X_test)
    # Q takes 2.5 GB at full size: allow it, whatever is free at the moment.
    return RidgeFactorization.fit(svd.features, Y, form="primal", memory_budget=3 << 30), F_test


def _middle(eigenvalues: np.ndarray) -> float:
    """A λ from the middle of the slider: between a thousandth of the mean eigenvalue and the largest."""
    return float(np.sqrt(1e-3 * eigenvalues.mean() * eigenvalues[-1]))
