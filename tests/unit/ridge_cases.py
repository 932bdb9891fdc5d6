"""Hard data with its factorisation, in both forms, and what its scores must be."""

from dataclasses import dataclass

import numpy as np

from tests.hard_data import HardData
from xmlcore.ridge import RidgeFactorization

SHARES = (1e-5, 1e-3, 1e-1)
SHAPES = {"primal": (900, 300), "dual": (300, 900)}


@dataclass(frozen=True)
class Case:
    data: HardData
    fac: RidgeFactorization
    P: np.ndarray

    def reg_lambda(self, share):
        return share * float(self.fac.eigenvalues[-1])


def brute_force(X, Y, X_new, reg_lambda):
    """Scores by the normal equations, dense, in float64."""
    X, Y, X_new = (A.toarray().astype(np.float64) for A in (X, Y, X_new))
    if X.shape[0] < X.shape[1]:
        return X_new @ X.T @ np.linalg.solve(X @ X.T + reg_lambda * np.eye(X.shape[0]), Y)
    return X_new @ np.linalg.solve(X.T @ X + reg_lambda * np.eye(X.shape[1]), X.T @ Y)


def refitted(data, out, reg_lambda):
    """Scores of the rows `out` from a model that was really fitted without them."""
    rest = np.setdiff1d(np.arange(data.X.shape[0]), out)
    return brute_force(data.X[rest], data.Y[rest], data.X[out], reg_lambda)


def distance(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def same_top5(found, expected):
    def sets(scores):
        return np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :5], axis=1)

    return (sets(found) == sets(expected)).all(axis=1).mean()
