"""The whole λ path, 25 values, against other ways to compute it: one table for each data set.

    python -m benchmarks.path [bibtex] [delicious] [debtags] [--values 25] [--ridge-values 25] [--repeats 3]

Every way gets the same λ, the same rows and the same metrics (six of them, K = 1, 3, 5, both variants) by the same
functions, whose time counts for each. Ours includes the factorisation. Compiled code is compiled before the clock
starts. The ways are run in turn `--repeats` times and each one's best time counts, so that what else the machine does
falls on none of them; scikit-learn's default, which is slow, is run once, and with `--ridge-values 3` for three λ only,
evenly spread: the table says then that its time is extrapolated. Only the table of all data sets at 25 values is
stored.

Bibtex and Delicious are read from `mulan/` in the folder that XMLCORE_TEST_DATA names.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from sklearn.linear_model import Ridge

from benchmarks.measure import write_table
from benchmarks.stages import warm_up
from tests import TEST_DATA
from tests.mulan import load_mulan
from xmlcore import (
    Dataset,
    Evaluation,
    RidgeFactorization,
    evaluate_scores,
    inverse_propensity,
    lambda_path,
    lambda_range,
    load_dataset,
)

NAMES = ["bibtex", "delicious", "debtags"]
VALUES = 25
KS = (1, 3, 5)


@dataclass(frozen=True)
class Timing:
    """What one way took for all values of λ; `measured` says for how many it was really run."""

    seconds: float
    measured: int
    middle: Evaluation


def ours(ds: Dataset, theta: np.ndarray, lambdas: Iterable[float]) -> Iterator[Evaluation]:
    fac = RidgeFactorization.fit(ds.X_train, ds.Y_train)
    P = fac.project(ds.X_test)
    return lambda_path(fac, P, ds.Y_test, lambdas, theta, theta, KS, X_new=ds.X_test)


def gram_and_cholesky(ds: Dataset, theta: np.ndarray, lambdas: Iterable[float]) -> Iterator[Evaluation]:
    X = ds.X_train.astype(np.float64)
    gram, right = (X.T @ X).toarray(), (X.T @ ds.Y_train).toarray()
    for reg_lambda in lambdas:
        system = gram + reg_lambda * np.eye(gram.shape[0])
        factor = linalg.cho_factor(system, overwrite_a=True, check_finite=False)
        W = linalg.cho_solve(factor, right, check_finite=False)
        yield evaluate_scores(ds.X_test @ W.astype(np.float32), ds.Y_test, theta, theta, KS)


def ridge_cholesky(ds: Dataset, theta: np.ndarray, lambdas: Iterable[float]) -> Iterator[Evaluation]:
    Y = ds.Y_train.toarray()
    for reg_lambda in lambdas:
        model = Ridge(alpha=reg_lambda, solver="cholesky", fit_intercept=False).fit(ds.X_train, Y)
        yield evaluate_scores(model.predict(ds.X_test).astype(np.float32), ds.Y_test, theta, theta, KS)


def ridge_cholesky_dense(ds: Dataset, theta: np.ndarray, lambdas: Iterable[float]) -> Iterator[Evaluation]:
    X, X_test, Y = ds.X_train.toarray(), ds.X_test.toarray(), ds.Y_train.toarray()
    for reg_lambda in lambdas:
        model = Ridge(alpha=reg_lambda, solver="cholesky").fit(X, Y)
        yield evaluate_scores(model.predict(X_test).astype(np.float32), ds.Y_test, theta, theta, KS)


def ridge_default(ds: Dataset, theta: np.ndarray, lambdas: Iterable[float]) -> Iterator[Evaluation]:
    Y = ds.Y_train.toarray()
    for reg_lambda in lambdas:
        model = Ridge(alpha=reg_lambda).fit(ds.X_train, Y)
        yield evaluate_scores(model.predict(ds.X_test).astype(np.float32), ds.Y_test, theta, theta, KS)


WAYS: dict[str, Callable[[Dataset, np.ndarray, Iterable[float]], Iterator[Evaluation]]] = {
    "xmlcore": ours,
    "Gram matrix once, Cholesky for each λ": gram_and_cholesky,
    'scikit-learn Ridge(solver="cholesky", fit_intercept=False) on CSR': ridge_cholesky,
    'scikit-learn Ridge(solver="cholesky") on dense X, as it must be with an intercept': ridge_cholesky_dense,
    "scikit-learn Ridge() on CSR": ridge_default,
}


def timed(way: Callable, ds: Dataset, theta: np.ndarray, lambdas: np.ndarray, values: int) -> Timing:
    """Run `way` for `values` evenly spread of the λ, the middle one among them, and scale its time to all of them."""
    spread = np.linspace(0, lambdas.size - 1, values).round().astype(int) if values > 1 else []
    chosen = np.union1d(spread, [lambdas.size // 2]).astype(int)
    started = time.perf_counter()
    found = list(way(ds, theta, (float(lambdas[at]) for at in chosen)))
    seconds = (time.perf_counter() - started) * lambdas.size / chosen.size
    return Timing(seconds, chosen.size, found[np.searchsorted(chosen, lambdas.size // 2)])


def table(ds: Dataset, values: int, ridge_values: int, repeats: int) -> Iterator[str]:
    """The lines of one data set's table."""
    theta = inverse_propensity(ds.Y_train, ds.A, ds.B)
    low, high = lambda_range(ds.X_train)
    lambdas = np.geomspace(low, high, values)
    yield f"## {ds.name}"
    yield ""
    yield (
        f"{ds.n_train:,} × {ds.n_features:,}, {ds.n_labels:,} labels, {ds.n_test:,} test instances; {values} λ from "
        f"{low:.3g} to {high:.3g}, best of {repeats}; metrics at λ = {lambdas[values // 2]:.3g}."
    )
    yield ""
    yield "| way | seconds | times ours | P@1 | PSP@5 with PS |"
    yield "| --- | --- | --- | --- | --- |"
    fast = [way for way in WAYS.values() if way is not ridge_default]
    timings = {way: [] for way in fast}
    for _ in range(repeats):
        for way in fast:
            timings[way].append(timed(way, ds, theta, lambdas, values))
    timings[ridge_default] = [timed(ridge_default, ds, theta, lambdas, ridge_values)]
    best = {way: min(found, key=lambda timing: timing.seconds) for way, found in timings.items()}
    for name, way in WAYS.items():
        timing = best[way]
        note = "" if timing.measured == values else f" (from {timing.measured} λ)"
        precision = 100 * timing.middle.ridge.metrics["precision"][1]
        psprecision = 100 * timing.middle.ps.metrics["psprecision"][5]
        yield (
            f"| {name} | {timing.seconds:.2f}{note} | {timing.seconds / best[ours].seconds:.1f} "
            f"| {precision:.2f} | {psprecision:.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"{', '.join(NAMES)}; all by default")
    parser.add_argument("--values", type=int, default=VALUES, help="how many λ")
    parser.add_argument("--ridge-values", type=int, help="for how many of them to run Ridge(); all by default")
    parser.add_argument("--repeats", type=int, default=3, help="how often to run each, the best counting")
    choice = parser.parse_args()
    warm_up()
    names, lines = choice.names or NAMES, ["# The whole λ path", ""]
    for name in names:
        ds = load_dataset(name) if name == "debtags" else load_mulan(TEST_DATA / "mulan", name)
        for line in table(ds, choice.values, choice.ridge_values or choice.values, choice.repeats):
            lines.append(line)
            print(line, flush=True)
        lines.append("")
        print()
    if names == NAMES and choice.values == VALUES:
        print(f"stored as {write_table('path', lines[:-1])}")


if __name__ == "__main__":
    main()
