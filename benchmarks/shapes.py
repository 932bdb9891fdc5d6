"""Time and memory of each stage at the paper's shapes, on synthetic data, against our targets.

    OPENBLAS_NUM_THREADS=2 python -m benchmarks.shapes --shape eurlex-4k [--scale 0.05] [--folder /var/tmp]

Shapes: bibtex, delicious, eurlex-4k, wiki10-31k, amazoncat-13k, delicious-200k. Compiled code is compiled before the
clock starts. The factorisation of a large matrix runs as the pages have it run: in a process of its own, at low
priority, on one thread. The features of the largest two shapes are reduced: amazoncat-13k is streamed from blocks on
disk through a random projection, delicious-200k, held in memory, goes through a truncated SVD. Scores of a few
test rows are compared with a solve in float64. A full-size run is stored under benchmarks/results.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import linalg, sparse

from benchmarks.large_shapes import projected, reduced
from benchmarks.measure import GB, Recorder, Stage, peak_memory_of_children, resident_memory, write_table
from benchmarks.stages import (
    REFERENCE_ROWS,
    REFERENCE_SHARES,
    SAMPLE,
    TARGETS,
    Check,
    Measured,
    compare,
    measured,
    reference_rows,
    targets,
    time_settings,
    warm_up,
)
from xmlcore import (
    Dataset,
    RidgeFactorization,
    Store,
    evaluate_scores,
    inverse_propensity,
    lambda_range,
    make_dataset,
    solve_direct,
)
from xmlcore.background import submit
from xmlcore.eigen import FLOAT64_LIMIT
from xmlcore.jobs import factorize
from xmlcore.linalg import cross_gram, gram
from xmlcore.matrices import n_columns, n_rows
from xmlcore.readers import read, write_npz
from xmlcore.store import put_features

STREAMED = {"amazoncat-13k": projected, "delicious-200k": reduced}


def in_memory(shape: str, scale: float, folder: Path) -> Measured:
    """The stages of a shape whose Gram matrix is factorised as it is."""
    goal, recorder = targets(shape, scale), Recorder()
    made = recorder.run("make the data", lambda: make_dataset(shape, scale=scale))
    write_npz(made, folder / "data")
    del made
    ds: Dataset = recorder.run("read (numpy files)", lambda: read(folder / "data"))
    X, Y, X_test, Y_test = ds.X_train, ds.Y_train, ds.X_test, ds.Y_test
    low, high = lambda_range(X)
    middle = float(np.sqrt(low * high))
    theta = inverse_propensity(Y, ds.A, ds.B)
    dual = n_rows(X) < n_columns(X)
    size = min(n_rows(X), n_columns(X))
    dtype = np.float64 if size <= FLOAT64_LIMIT else np.float32
    recorder.run(f"Gram matrix, {size:,}²", lambda: gram((X,), of_rows=dual, dtype=dtype))

    def first_answer(rows: int) -> np.ndarray:
        scores = solve_direct(X, Y, X_test[:rows], middle)
        evaluate_scores(scores, Y_test[:rows], theta, theta)
        return scores

    sample = min(SAMPLE, ds.n_test)
    note = "Cholesky"
    direct = recorder.run(
        f"first answer, {sample:,} test rows", lambda: first_answer(sample), target=goal.first, note=note
    )
    recorder.run(f"first answer, all {ds.n_test:,} test rows", lambda: first_answer(ds.n_test), note=note)
    if size > FLOAT64_LIMIT:
        fac = _in_background(recorder, X, Y, folder, goal.factorise)
    else:
        fac = recorder.run("factorise", lambda: RidgeFactorization.fit(X, Y), target=goal.factorise)
    checks = _checks(fac, ds, high)
    again = fac.scores(fac.project(X_test[:REFERENCE_ROWS]), middle)
    checks.append(compare("first answer", direct[:REFERENCE_ROWS], again, middle))
    del direct
    P = recorder.run("project all test rows", lambda: fac.project(X_test))
    time_settings(recorder, goal, fac, P, Y_test, middle, ds.label_counts)
    return measured(shape, scale, recorder, checks)


def _in_background(
    recorder: Recorder, X: sparse.csr_array, Y: sparse.csr_array, folder: Path, target: float | None
) -> RidgeFactorization:
    """The factorisation as the pages have it made where it takes more than a few seconds; memory of both processes."""
    store = Store(folder / "cache")
    put_features(store, "X", X)
    put_features(store, "Y", Y)
    held = resident_memory()
    started = time.perf_counter()
    keys = {"features_key": "X", "labels_key": "Y", "result_key": "fac"}
    with peak_memory_of_children() as peak:
        task = submit("fac", factorize, keys, store=store)
        task.wait()
    seconds = time.perf_counter() - started
    found = store.get("fac")
    if found is None:
        raise RuntimeError(f"the factorisation {task.state}: {task.message}")
    note = f"one thread; {peak[0] / GB:.2f} GB of it in a process of its own"
    recorder.add(Stage("factorise, in the background", seconds, held + peak[0], target, note))
    return RidgeFactorization.from_arrays(found[0], X, Y)


def _checks(fac: RidgeFactorization, ds: Dataset, largest: float) -> list[Check]:
    """Scores at three λ against the votes of the training rows, solved by Cholesky in float64."""
    X, few = ds.X_train, ds.X_test[reference_rows(ds.n_test)]
    P = fac.project(few)
    dual = n_rows(X) < n_columns(X)
    K = gram((X,), of_rows=dual, dtype=np.float64)
    right = cross_gram((few,), (X,), np.float64).T if dual else few.toarray().T.astype(np.float64)
    by_label = sparse.csr_array(ds.Y_train.T.astype(np.float64))
    checks = []
    for share in REFERENCE_SHARES:
        shifted = K.copy()
        shifted[np.diag_indices_from(K)] += share * largest
        factor = linalg.cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)
        solved = linalg.cho_solve(factor, right, check_finite=False)
        expected = (by_label @ (solved if dual else X @ solved)).T
        checks.append(compare(f"σ_max·{share:g}", fac.scores(P, share * largest), expected, share * largest))
    return checks


def measure(shape: str, scale: float = 1.0, folder: Path | None = None) -> Measured:
    """All stages of a shape; files go to a temporary folder within `folder`."""
    warm_up()
    with tempfile.TemporaryDirectory(dir=folder, prefix="shapes-") as place:
        return STREAMED.get(shape, in_memory)(shape, scale, Path(place))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=TARGETS, required=True)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, help="where to put files; the system's temporary folder by default")
    choice = parser.parse_args()
    found = measure(choice.shape, choice.scale, choice.folder)
    print("\n".join(["", *found.lines()]))
    if choice.scale == 1:
        print(f"\nstored as {write_table(f'shape-{choice.shape}', found.lines())}")


if __name__ == "__main__":
    main()
