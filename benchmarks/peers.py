"""Side by side with other systems on Bibtex, Delicious and Debtags: the same rows, the same metrics, one run.

    OPENBLAS_NUM_THREADS=2 python -m benchmarks.peers [bibtex] [delicious] [debtags]

Each system trains once and predicts all test rows, five labels each. Training time starts from what the system takes
(arrays, or a text file for omikuji) and ends with a model that can predict; prediction is scaled to 1,000 instances.
Model size is what prediction needs: arrays in memory, or the files that the system saves. PSP is normalised and
measured with A and B of the data set. Compiled code is compiled before the clock starts. Bibtex and Delicious are read
from `mulan/` in the folder that XMLCORE_TEST_DATA names.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import napkinxc.models
import numpy as np
import omikuji
from scipy import sparse
from sklearn.linear_model import Ridge

from benchmarks.measure import number, write_table
from benchmarks.stages import warm_up
from tests import TEST_DATA
from tests.mulan import load_mulan
from xmlcore import (
    Dataset,
    RidgeFactorization,
    inverse_propensity,
    load_dataset,
    precision_at_k,
    psprecision_at_k,
    top_k,
    top_k_both,
)
from xmlcore.baselines import BASELINES
from xmlcore.readers import write_xc_text

REG_LAMBDA = {"bibtex": 92.0, "delicious": 92.0, "debtags": 3.0}  # the paper's and the dashboard's
K = 5


@dataclass(frozen=True)
class Result:
    """What a system took, and its best K labels of each test row, -1 where it gave fewer."""

    name: str
    train_seconds: float
    predict_seconds: float
    model_bytes: float
    top: np.ndarray


def ours(ds: Dataset, reg_lambda: float, theta: np.ndarray, folder: Path) -> list[Result]:
    started = time.perf_counter()
    fac = RidgeFactorization.fit(ds.X_train, ds.Y_train)
    trained = time.perf_counter()
    top, top_ps = top_k_both(fac.scores(fac.project(ds.X_test), reg_lambda), theta, K)
    predicted = time.perf_counter()
    train, predict = trained - started, predicted - trained
    size = fac.eigenvalues.nbytes + fac.eigenvectors.nbytes + (0 if fac.Q is None else fac.Q.nbytes)
    if fac.form == "dual":
        size += _bytes(ds.X_train)
    return [
        Result("XML-ridge (xmlcore), every λ", train, predict, size, top),
        Result("XML-ridge with PS, by the same run", train, predict, size, top_ps),
    ]


def scikit_learn(ds: Dataset, reg_lambda: float, theta: np.ndarray, folder: Path) -> list[Result]:
    Y = ds.Y_train.toarray()
    started = time.perf_counter()
    model = Ridge(alpha=reg_lambda).fit(ds.X_train, Y)
    trained = time.perf_counter()
    top = top_k(model.predict(ds.X_test), K)
    return [_result("scikit-learn Ridge(), one λ", started, trained, model.coef_.nbytes, top)]


def textbook_inverse(ds: Dataset, reg_lambda: float, theta: np.ndarray, folder: Path) -> list[Result]:
    started = time.perf_counter()
    X = ds.X_train.astype(np.float64)
    inverse = np.linalg.inv((X.T @ X).toarray() + reg_lambda * np.eye(X.shape[1]))
    W = inverse @ (X.T @ ds.Y_train).toarray()
    trained = time.perf_counter()
    top = top_k(ds.X_test @ W, K)
    return [_result("numpy.linalg.inv, dense W, one λ", started, trained, W.nbytes, top)]


def label_trees(ds: Dataset, reg_lambda: float, theta: np.ndarray, folder: Path) -> list[Result]:
    write_xc_text(ds, folder / "text")
    rows = [
        list(zip(ds.X_test.indices[a:b].tolist(), ds.X_test.data[a:b].tolist(), strict=True)) or [(0, 0.0)]
        for a, b in zip(ds.X_test.indptr, ds.X_test.indptr[1:], strict=False)
    ]
    results = []
    for name, changes in ((each.title, dict(each.parameters)) for each in (BASELINES["parabel"], BASELINES["bonsai"])):
        parameters = omikuji.Model.default_hyper_param()
        for parameter, value in changes.items():
            setattr(parameters, parameter, value)
        started = time.perf_counter()
        model = omikuji.Model.train_on_data(str(folder / "text" / "train.txt"), parameters)
        trained = time.perf_counter()
        found = [[label for label, _ in model.predict(row, top_k=K)] for row in rows]
        predicted = time.perf_counter()
        model.save(str(folder / name))
        size = _folder_bytes(folder / name)
        results.append(Result(name, trained - started, predicted - trained, size, _padded(found)))
    return results


def napkin(ds: Dataset, reg_lambda: float, theta: np.ndarray, folder: Path) -> list[Result]:
    X, Y, X_test = (sparse.csr_matrix(matrix) for matrix in (ds.X_train, ds.Y_train, ds.X_test))
    results = []
    for name, kind in (("one-vs-all (napkinXC BR)", "BR"), ("label tree (napkinXC PLT)", "PLT")):
        place = folder / kind
        started = time.perf_counter()
        model = getattr(napkinxc.models, kind)(str(place), seed=0)
        model.fit(X, Y)
        model.load()
        trained = time.perf_counter()
        top = _padded(model.predict(X_test, top_k=K))
        results.append(_result(name, started, trained, _folder_bytes(place), top))
    return results


SYSTEMS: Sequence[Callable[[Dataset, float, np.ndarray, Path], list[Result]]] = (
    ours,
    textbook_inverse,
    scikit_learn,
    label_trees,
    napkin,
)


def _result(name: str, started: float, trained: float, size: float, top: np.ndarray) -> Result:
    """Of a system that has just predicted."""
    return Result(name, trained - started, time.perf_counter() - trained, size, top)


def _padded(rankings: Sequence[Sequence[int]]) -> np.ndarray:
    top = np.full((len(rankings), K), -1, np.int32)
    for row, labels in zip(top, rankings, strict=True):
        row[: len(labels)] = labels[:K]
    return top


def _bytes(X: sparse.csr_array) -> int:
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def table(ds: Dataset, reg_lambda: float) -> list[str]:
    """The lines of one data set's table; each row is printed as soon as it is known."""
    theta = inverse_propensity(ds.Y_train, ds.A, ds.B)
    lines = [
        f"## {ds.name}",
        "",
        f"{ds.n_train:,} × {ds.n_features:,}, {ds.n_labels:,} labels, {ds.n_test:,} test instances; ridge at "
        f"λ = {reg_lambda:g}, A = {ds.A:g}, B = {ds.B:g}.",
        "",
        "| system | training, s | prediction, s per 1,000 | model, MB | P@1 | P@5 | PSP@1 | PSP@5 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    print("\n".join(lines), flush=True)
    for system in SYSTEMS:
        with tempfile.TemporaryDirectory(prefix="peers-") as folder:
            for found in system(ds, reg_lambda, theta, Path(folder)):
                precision = [100 * precision_at_k(found.top, ds.Y_test, k) for k in (1, 5)]
                psprecision = [100 * psprecision_at_k(found.top, ds.Y_test, theta, k) for k in (1, 5)]
                figures = " | ".join(f"{value:.2f}" for value in precision + psprecision)
                lines.append(
                    f"| {found.name} | {number(found.train_seconds)} "
                    f"| {number(1_000 * found.predict_seconds / ds.n_test)} | {number(found.model_bytes / 1e6)} "
                    f"| {figures} |"
                )
                print(lines[-1], flush=True)
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"{', '.join(REG_LAMBDA)}; all by default")
    names = parser.parse_args().names or list(REG_LAMBDA)
    warm_up()
    lines = ["# Beside other systems", ""]
    for name in names:
        ds = load_dataset(name) if name == "debtags" else load_mulan(TEST_DATA / "mulan", name)
        lines += table(ds, REG_LAMBDA[name])
    if names == list(REG_LAMBDA):
        print(f"\nstored as {write_table('peers', lines[:-1])}")


if __name__ == "__main__":
    main()
