"""How time and memory grow as instances, features and labels double, one at a time.

    OPENBLAS_NUM_THREADS=2 python -m benchmarks.growth [--scale 1] [--doublings 2]

Synthetic data around 4,000 × 3,000 and around 3,000 × 20,000, with 1,000 labels and 1,000 test rows. The form is the
one that was used: dual where N is more than D, which the first data become as N doubles. Each size is measured in a
process of its own, so that peak memory is its own. Theory: with r the smaller of D and N, the Gram matrix and its
factorisation take r² memory and r³ time, whatever L is; a λ takes 1,000·r·L. Beside each time stands its ratio to that
of half the size.
"""

from __future__ import annotations

import argparse
import multiprocessing
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.measure import GB, Recorder, number, write_table
from benchmarks.stages import warm_up
from xmlcore import RidgeFactorization, Shape, evaluate_scores, inverse_propensity, lambda_range, make_dataset

BASES = (Shape(4_000, 3_000, 1_000, 1_000, 5.0, 80), Shape(3_000, 20_000, 1_000, 1_000, 5.0, 80))
SIDES = {"D": "n_train", "N": "n_features", "L": "n_labels"}


@dataclass(frozen=True)
class Point:
    """One size: the form that was used, seconds of the factorisation, of a λ and of an A on 1,000 test rows, and peak
    memory in bytes."""

    form: str
    factorise: float
    change_lambda: float
    change_A: float
    peak: float


def measure(shape: Shape) -> Point:
    """Fits and answers at one shape; to be called in a fresh process."""
    warm_up()
    ds = make_dataset(shape)
    reg_lambda = float(np.sqrt(np.prod(lambda_range(ds.X_train))))
    theta = inverse_propensity(ds.Y_train, 0.55, 1.5)
    recorder = Recorder(quiet=True)
    fac = recorder.run("factorise", lambda: RidgeFactorization.fit(ds.X_train, ds.Y_train))
    P = fac.project(ds.X_test)

    def change_lambda() -> np.ndarray:
        scores = fac.scores(P, reg_lambda)
        evaluate_scores(scores, ds.Y_test, theta, theta)
        return scores

    scores = recorder.run("λ", change_lambda, repeat=5)
    recorder.run("A", lambda: evaluate_scores(scores, ds.Y_test, theta, theta), repeat=5)
    seconds = [stage.seconds for stage in recorder.stages]
    return Point(fac.form, *seconds, max(stage.peak for stage in recorder.stages))


def in_fresh_process(shape: Shape) -> Point:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (shape,))


def table(scale: float, doublings: int) -> list[str]:
    """The lines of the table, each printed as soon as it is known."""
    lines = [
        "# Growth",
        "",
        "| form | D | N | L | factorise, s | λ, s | A, s | peak, GB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    print("\n".join(lines), flush=True)
    for base in BASES:
        start = replace(base, **{name: round(getattr(base, name) * scale) for name in (*SIDES.values(), "n_test")})
        first = in_fresh_process(start)
        for side in SIDES.values():
            before = None
            for turn in range(doublings + 1):
                shape = replace(start, **{side: getattr(start, side) * 2**turn})
                point = in_fresh_process(shape) if turn else first
                lines.append(_line(shape, side, point, before))
                print(lines[-1], flush=True)
                before = point
    return lines


def _line(shape: Shape, side: str, point: Point, before: Point | None) -> str:
    sizes = [
        f"**{getattr(shape, name):,}**" if name == side else f"{getattr(shape, name):,}" for name in SIDES.values()
    ]
    figures = []
    for name in ("factorise", "change_lambda", "change_A", "peak"):
        value = getattr(point, name)
        ratio = "" if before is None else f" (×{number(value / getattr(before, name))})"
        figures.append(f"{f'{value / GB:.2f}' if name == 'peak' else number(value)}{ratio}")
    return f"| {' | '.join([point.form, *sizes, *figures])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--doublings", type=int, default=2)
    choice = parser.parse_args()
    lines = table(choice.scale, choice.doublings)
    if choice.scale == 1:
        print(f"\nstored as {write_table('growth', lines)}")


if __name__ == "__main__":
    main()
