"""What the benchmarks of all shapes share: the targets, the stages after a factorisation, checks, tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from scipy import sparse

from benchmarks.measure import GB, Recorder, Stage, stage_line
from xmlcore import inverse_propensity, ranking
from xmlcore.evaluation import evaluate, evaluate_scores
from xmlcore.linalg import warm_up as warm_up_linalg

SAMPLE = 1_000
REFERENCE_ROWS = 50
REFERENCE_SHARES = (1e-5, 1e-3, 1e-1)  # λ of the comparisons with float64, as shares of the largest eigenvalue
KEPT_SCORES = 4e9  # bytes: scores of all test rows are kept where they take no more
BLOCK_BYTES = 500_000_000  # of scores, where they are not kept
NOT_COUNTED = ("make the data", "write row blocks")  # making data is no part of using it


class Factorization(Protocol):
    """What RidgeFactorization and StreamedFactorization have in common."""

    n_labels: int
    n_train: int

    def scores(self, P: np.ndarray, reg_lambda: float, *, rows: slice = slice(None)) -> np.ndarray: ...


@dataclass(frozen=True)
class Targets:
    """Seconds and gigabytes that a machine of two cores and 24 GB should need at most; None where nothing is asked."""

    first: float | None = None
    factorise: float | None = None
    lam: tuple[float | None, float | None] = (None, None)  # on the sample, on all test rows
    change: tuple[float | None, float | None] = (None, None)  # of A, B or K, the same
    memory: float | None = None


TARGETS = {
    "bibtex": Targets(),
    "delicious": Targets(1, 1, (0.05, 0.15), (0.02, 0.05), 0.6),
    "eurlex-4k": Targets(15, 300, (0.7, 2.5), (0.02, 0.1), 5),
    "wiki10-31k": Targets(20, 240, (2.5, 15), (0.05, 0.3), 8),
    "amazoncat-13k": Targets(None, 480, (0.8, 240), (0.05, None), 8),
    "delicious-200k": Targets(None, 2_700, (8, 1_200), (0.3, None), 12),
}


def targets(shape: str, scale: float) -> Targets:
    """The shape's targets, which are for its full size."""
    return TARGETS[shape] if scale == 1 else Targets()


@dataclass(frozen=True)
class Check:
    """How far the scores of a few test rows are from those found in another way, at one λ."""

    name: str
    reg_lambda: float
    error: float  # relative, Frobenius
    same_top: float  # share of rows with the same five best

    @property
    def line(self) -> str:
        return (
            f"{self.name} (λ = {self.reg_lambda:.3g}): relative error {self.error:.1e}, the same top 5 on "
            f"{100 * self.same_top:.0f}% of {REFERENCE_ROWS} rows"
        )


@dataclass(frozen=True)
class Measured:
    """All that a run found out."""

    title: str
    stages: list[Stage]
    checks: list[Check]
    peak: float
    memory_target: float | None

    def lines(self) -> list[str]:
        missed = [stage.name for stage in self.stages if stage.missed]
        target = self.memory_target
        if target is not None and self.peak > target * GB:
            missed.append("peak memory")
        asked = "" if target is None else f" (target {target:g} GB)"
        return [
            f"# {self.title}",
            "",
            "| stage | seconds | target | peak, GB | |",
            "| --- | --- | --- | --- | --- |",
            *(stage_line(stage) for stage in self.stages),
            "",
            f"Peak memory: {self.peak / GB:.2f} GB{asked}. Missed: {', '.join(missed) if missed else 'nothing'}.",
            "",
            "Scores against those of a float64 solve, and the first answer's against the factorisation's:",
            "",
            *(f"- {check.line}" for check in self.checks),
        ]


def warm_up() -> None:
    """Compiles everything, or loads it from numba's cache."""
    warm_up_linalg()
    ranking.warm_up()
    tiny = np.eye(4, dtype=np.float32)
    evaluate_scores(tiny, tiny, np.ones(4), np.ones(4))


def time_settings(
    recorder: Recorder,
    goal: Targets,
    fac: Factorization,
    P: np.ndarray,
    Y: sparse.csr_array,
    middle: float,
    label_counts: np.ndarray,
) -> None:
    """What a change of λ, of A and of K costs, on a sample and on all test rows, with all six metrics of both."""
    rows = np.sort(np.random.default_rng(0).permutation(P.shape[0])[:SAMPLE])
    _time_rows(recorder, fac, np.ascontiguousarray(P[rows]), Y[rows], middle, label_counts, goal, 0)
    _time_rows(recorder, fac, P, Y, middle, label_counts, goal, 1)


def _time_rows(
    recorder: Recorder,
    fac: Factorization,
    P: np.ndarray,
    Y: sparse.csr_array,
    middle: float,
    label_counts: np.ndarray,
    goal: Targets,
    column: int,
) -> None:
    who = f"{'all ' if column else ''}{P.shape[0]:,} test rows"
    theta = inverse_propensity(label_counts, 0.55, 1.5, fac.n_train)
    weights = inverse_propensity(label_counts, 0.9, 2.6, fac.n_train)
    if P.shape[0] * fac.n_labels * 4 > KEPT_SCORES:
        in_blocks = partial(evaluate, fac, P, Y, middle, theta, theta, memory_budget=BLOCK_BYTES)
        recorder.run(f"change λ, {who}", in_blocks, target=goal.lam[column], note="scores in blocks of 0.5 GB")
        return

    def change_lambda() -> np.ndarray:
        scores = fac.scores(P, middle)
        evaluate_scores(scores, Y, theta, theta)
        return scores

    scores = recorder.run(f"change λ, {who}", change_lambda, target=goal.lam[column], repeat=5)
    for name, ks in (("A", (1, 3, 5)), ("K", (1, 3, 5, 10))):
        recorder.run(
            f"change {name}, {who}",
            partial(evaluate_scores, scores, Y, weights, theta, ks),
            target=goal.change[column],
            repeat=5,
            note="scores kept",
        )
    recorder.run(f"top 5 of both, {who}", partial(ranking.top_k_both, scores, weights, 5), repeat=5, note="part of it")


def reference_rows(n_rows: int) -> np.ndarray:
    """The numbers of the test rows that are compared, spread evenly."""
    return np.linspace(0, n_rows - 1, REFERENCE_ROWS).astype(int)


def compare(name: str, found: np.ndarray, expected: np.ndarray, reg_lambda: float) -> Check:
    """Scores (rows, L) against those that they should be."""
    error = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
    tops = [np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :5], axis=1) for scores in (found, expected)]
    same = (tops[0] == tops[1]).all(axis=1) | ~expected.any(axis=1)  # without features there is nothing to rank
    return Check(name, reg_lambda, error, float(same.mean()))


def measured(shape: str, scale: float, recorder: Recorder, checks: list[Check]) -> Measured:
    """What the table says. At another scale than 1 the targets are left out."""
    title = shape if scale == 1 else f"{shape} × {scale:g}"
    peak = max(stage.peak for stage in recorder.stages if stage.name not in NOT_COUNTED)
    return Measured(title, recorder.stages, checks, peak, targets(shape, scale).memory)
