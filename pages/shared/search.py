"""What λ, A and B can reach: settings over a coarse grid as points of P@K against PSP@K, as they fill in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pages.shared import answers, behind, paths
from pages.shared.settings import rounded_lambda_text
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.selection import Setting, frontier, lambda_grid, nearest_first, search_settings

N_LAMBDAS = 12
A_VALUES, B_VALUES = (0.0, 0.2, 0.4, 0.55, 0.7, 0.9, 1.2, 1.6), (0.4, 1.5, 2.6)


def search(answer: answers.Answer) -> behind.Filling[Setting]:
    """Settings of λ, A and B over a coarse grid, measured on the test instances; the model must be ready."""
    settings, data, ks = answer.settings, answer.dataset, paths.all_ks(answer)
    n_pairs = len(A_VALUES) * len(B_VALUES)
    rankings = 4 * n_pairs * data.n_test * ks[-1]  # of one λ, until all of its settings have been measured
    return behind.filling(
        ("search", answer.model.full.fingerprint, *answer.metric_AB),
        lambda: search_settings(
            answer.model.factorization,
            answer.model.projection,
            data.Y_test,
            nearest_first(lambda_grid(*answer.model.lambda_range, N_LAMBDAS), settings.reg_lambda),
            A_VALUES,
            B_VALUES,
            data.label_counts,
            answer.metric_theta,
            ks,
            exclude=data.test_filter,
            X_new=data.X_test,
        ),
        N_LAMBDAS * n_pairs,
        answer.n_bytes + rankings,
    )


@dataclass(frozen=True)
class Plane:
    """P@K against PSP@K in percent: arrays of shape (settings,), a name for each, and the frontier's indices."""

    precision: np.ndarray
    psprecision: np.ndarray
    names: list[str]
    frontier: np.ndarray


def plane(found: list[Setting], k: int) -> Plane:
    """The settings found so far as points of the plane."""
    P, PSP = (np.array([100 * each.metrics[m][k] for each in found]) for m in ("precision", "psprecision"))
    names = [f"λ = {rounded_lambda_text(each.reg_lambda)}, A = {each.A:g}, B = {each.B:g}" for each in found]
    return Plane(P, PSP, names, frontier(P, PSP))


def plane_markers(answer: answers.Answer) -> dict[str, tuple[float, float]]:
    """Where each variant stands in the plane, in percent."""
    (_, p), (_, p_ps) = paths.markers(answer, "precision").values()
    (_, psp), (_, psp_ps) = paths.markers(answer, "psprecision").values()
    return {RIDGE: (p, psp), RIDGE_PS: (p_ps, psp_ps)}
