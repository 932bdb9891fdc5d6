"""A data set whose labels are frequent and rare, and both variants' hits on it counted by full sorts.

Its ruler is not the model's θ, PS has a λ of its own, and K is not the usual one: nothing can stand for another.
"""

import numpy as np
from scipy import sparse

from pages.shared import model
from pages.shared.settings import Settings
from xmlcore import Dataset, inverse_propensity, solve_direct
from xmlcore.figures import RIDGE, RIDGE_PS

TITLE, K = "Charted", 3
NOW = Settings(TITLE, 0.5, True, 8.0, A=1.2, B=0.4, K=K)
HELD = Settings(TITLE, 30.0, False, 30.0, A=0.3, B=1.5, K=K)
VARIANTS = (RIDGE, RIDGE_PS)


def charted() -> Dataset:
    """Random values, and labels on about a hundred training instances and on ever fewer, down to one and to none."""
    rng = np.random.default_rng(3)
    X = rng.random((340, 12)) * (rng.random((340, 12)) < 0.4)
    scores = X @ rng.normal(size=(12, 9)) + 2 * rng.normal(size=(340, 9))
    shares = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99]
    Y = scores > np.diag(np.quantile(scores, shares, axis=0))
    Y[np.flatnonzero(Y[:240, 5])[20:], 5] = False  # the least frequency of a torso
    Y[1:240, 7], Y[0, 7] = False, True
    Y[:240, 8] = False
    X, Y = (sparse.csr_array(each.astype(np.float32)) for each in (X, Y))
    names = np.array([f"label {label}" for label in range(9)])
    return Dataset("charted", X[:240], Y[:240], X[240:], Y[240:], label_names=names, A=0.2, B=3.0)


DATA = charted()


class ByHand:
    """Rankings of both variants at a setting, by full sorts, and what follows of them."""

    def __init__(self, settings: Settings) -> None:
        data = model.model_of(TITLE, "").dataset
        self.Y, self.counts = data.Y_test.toarray(), data.label_counts
        self.ruler = inverse_propensity(data.Y_train, 0.2, 3.0)
        theta = inverse_propensity(data.Y_train, settings.A, settings.B)
        scores = (
            solve_direct(data.X_train, data.Y_train, data.X_test, settings.reg_lambda),
            solve_direct(data.X_train, data.Y_train, data.X_test, settings.reg_lambda_ps) * theta,
        )
        self.order = dict(zip(VARIANTS, (np.argsort(-each, axis=1, kind="stable") for each in scores), strict=True))

    def hits(self, variant: str, k: int = K) -> np.ndarray:
        """How often each label is rightly among the first k."""
        first = np.zeros_like(self.Y)
        np.put_along_axis(first, self.order[variant][:, :k], 1, axis=1)
        return (first * self.Y).sum(axis=0)

    def parts(self, variant: str, metric: str, k: int = K) -> np.ndarray:
        """What each label contributes to P@k or PSP@k, in points."""
        if metric == "precision":
            return 100 * self.hits(variant, k) / (k * len(self.Y))
        best = np.sort(self.Y * self.ruler, axis=1)[:, ::-1][:, :k].sum()
        return 100 * self.hits(variant, k) * self.ruler / best

    def value(self, variant: str, metric: str, k: int = K) -> float:
        return self.parts(variant, metric, k).sum()


def binned(values: np.ndarray, starts: list[int]) -> list[float]:
    """Sums over the labels of each range of training frequencies."""
    of = np.searchsorted(starts, DATA.label_counts, side="right") - 1
    return [values[of == at].sum() for at in range(len(starts))]


TENS, TWOS = [0, 1, 10, 100], [0, 1, 2, 4, 8, 16, 32, 64]
