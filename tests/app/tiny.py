"""A data set of ten words and six labels, small enough to check by brute force, and answers on it."""

from types import SimpleNamespace

import numpy as np
from scipy import sparse

from pages.shared import answers
from pages.shared.settings import Settings
from xmlcore import (
    Dataset,
    DirectSolver,
    RidgeFactorization,
    default_recipe,
    evaluate_scores,
    fit_features,
    inverse_propensity,
)

WORDS = ["chess", "board", "engine", "network", "server", "python", "library", "music", "player", "mail"]
LABELS = ["games", "use::net", "<b>lib</b>", "sound", "rare_one", "never"]
K = 2
RULER = (0.2, 2.0)  # A and B that PSP is measured with


def tiny() -> Dataset:
    """120 texts of ten words whose labels follow the words, one label on few of them and one on none."""
    rng = np.random.default_rng(5)
    counts = rng.poisson(0.7, (120, len(WORDS)))
    counts[100:, 9] = 0
    counts[110] = 0
    Y = np.stack(
        [
            counts[:, 0] + counts[:, 1] > 1,
            counts[:, 3] + counts[:, 4] > 1,
            counts[:, 5] + counts[:, 6] > 1,
            counts[:, 7] + counts[:, 8] > 1,
            (counts[:, 0] > 1) & (counts[:, 2] > 0),
            np.zeros(120, dtype=bool),
        ],
        axis=1,
    )
    Y &= rng.random(Y.shape) < 0.8
    X, Y = sparse.csr_array(counts.astype(np.float32)), sparse.csr_array(Y.astype(np.float32))
    return Dataset(
        name="tiny",
        X_train=X[:90],
        Y_train=Y[:90],
        X_test=X[90:],
        Y_test=Y[90:],
        feature_names=np.array(WORDS),
        label_names=np.array(LABELS),
        train_names=np.array([f"train-{i}" for i in range(90)]),
        test_names=np.array([f"doc-{i}" for i in range(30)]),
        feature_kind="counts",
    )


RAW = tiny()
BUILT, FITTED = fit_features(RAW, default_recipe(RAW))
SAME = Settings("tiny", reg_lambda=0.5, reg_lambda_ps=0.5, K=K)
OWN = Settings("tiny", reg_lambda=0.5, own_lambda_ps=True, reg_lambda_ps=2.0, K=K)


def answer_at(settings: Settings, ready: bool = True) -> answers.Answer:
    """The answer at these settings, made without a page; not ready as long as the factorisation is missing."""
    fac = RidgeFactorization.fit(BUILT.X_train, BUILT.Y_train)
    P = fac.project(BUILT.X_test)
    theta, ruler = (inverse_propensity(BUILT.Y_train, *AB) for AB in ((settings.A, settings.B), RULER))
    evaluation = evaluate_scores(
        fac.scores(P, settings.reg_lambda),
        BUILT.Y_test,
        theta,
        ruler,
        (1, settings.K),
        scores_ps=fac.scores(P, settings.reg_lambda_ps),
    )
    if ready:
        known = {"factorization": fac, "projection": P, "direct": None}
    else:
        known = {"factorization": None, "projection": None, "direct": DirectSolver(BUILT.X_train, BUILT.Y_train)}
    of = {"dataset": BUILT, "full": BUILT, "rows": np.arange(BUILT.n_test), "fitted": FITTED, "shown_title": "tiny"}
    made = SimpleNamespace(**of, size=len(WORDS), ready=ready, **known)
    return answers.Answer(made, settings, evaluation, theta, ruler, RULER)


def exact_scores(x: np.ndarray, reg_lambda: float) -> np.ndarray:
    """x (G+λI)⁻¹XᵀY in float64."""
    X, Y = BUILT.X_train.toarray().astype(np.float64), BUILT.Y_train.toarray().astype(np.float64)
    return x @ np.linalg.solve(X.T @ X + reg_lambda * np.eye(X.shape[1]), X.T @ Y)
