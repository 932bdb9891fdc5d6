"""The method worked through on an example small enough to see every number: plain numpy in float64, step by step.

For teaching, and for checking by hand. `ridge` does the same for real data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xmlcore.checks import DataError, as_floats, check_reg_lambda
from xmlcore.propensity import inverse_propensity


@dataclass(frozen=True, eq=False)
class ToyExample:
    """Documents as word counts, with their labels, and a new document whose labels are to be found.

    Attributes:
        documents, words, labels: D, N and L names.
        X: D×N word counts. Y: D×L in {0,1}. x_new: (N,) word counts.
    """

    documents: tuple[str, ...]
    words: tuple[str, ...]
    labels: tuple[str, ...]
    X: np.ndarray
    Y: np.ndarray
    x_new: np.ndarray


EXAMPLE = ToyExample(
    documents=("gnuchess", "freeciv", "pioneers", "supertux", "nginx"),
    words=("game", "play", "board", "chess", "web", "mail"),
    labels=("Game", "Web", "Board", "Chess"),
    X=np.array(
        [
            [1, 1, 1, 2, 0, 0],
            [2, 1, 0, 0, 1, 1],
            [1, 1, 1, 0, 1, 0],
            [2, 2, 0, 0, 0, 0],
            [0, 0, 0, 0, 2, 1],
        ],
        dtype=np.float64,
    ),
    Y=np.array([[1, 0, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]], dtype=np.float64),
    x_new=np.array([1, 0, 0, 1, 0, 0], dtype=np.float64),
)


@dataclass(frozen=True, eq=False)
class WorkedExample:
    """Every number on the way from the counts to the two rankings.

    Attributes:
        gram: G = XᵀX, N×N.
        cross: XᵀY, N×L.
        eigenvalues: σ of G, (N,), largest first, exactly 0 where rounding alone kept them from it.
        eigenvectors: V, N×N, a column each; the largest entry of each column is positive.
        projected: Q = Vᵀ(XᵀY), N×L.
        inverse: 1/(σ+λ), (N,).
        weights: W = V diag(1/(σ+λ)) Q, N×L.
        scores: s = x_new W, (L,).
        votes: a = X(G+λI)⁻¹x_new, (D,), the vote of each document for its labels: aᵀY = s.
        fitted: XW, D×L, the labelled documents' own scores.
        leverages: h_i = x_i(G+λI)⁻¹x_iᵀ, (D,).
        left_out: D×L, the score of each document by a W made without it: (s_il − h_i Y_il) / (1 − h_i).
        label_counts: N_l, (L,).
        inverse_propensity: θ_l, (L,).
        scores_ps: θ_l s_l, (L,).
        order, order_ps: the labels from best to worst, (L,), by s and by θ s; ties go to the lower index.
    """

    gram: np.ndarray
    cross: np.ndarray
    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    projected: np.ndarray
    inverse: np.ndarray
    weights: np.ndarray
    scores: np.ndarray
    votes: np.ndarray
    fitted: np.ndarray
    leverages: np.ndarray
    left_out: np.ndarray
    label_counts: np.ndarray
    inverse_propensity: np.ndarray
    scores_ps: np.ndarray
    order: np.ndarray
    order_ps: np.ndarray


def work_through(
    X: np.ndarray, Y: np.ndarray, x_new: np.ndarray, reg_lambda: float, A: float, B: float
) -> WorkedExample:
    """All steps from word counts to rankings: ridge regression at λ, then weighting by inverse propensities.

    X: D×N numbers of at least 0. Y: D×L in {0,1}. x_new: (N,). λ > 0, A ≥ 0, B > 0.

    The minimiser of ‖XW − Y‖² + λ‖W‖² solves (G + λI) W = XᵀY; with G = V diag(σ) Vᵀ it is V diag(1/(σ+λ)) VᵀXᵀY.
    Raises DataError for missing, negative or infinite counts, labels other than 0 and 1, shapes that do not fit, and
    what `inverse_propensity` refuses, D < 3 among it.
    """
    X, Y, x_new = _counts(X, "X", 2), _zeros_and_ones(Y), _counts(x_new, "x_new", 1)
    if len(Y) != len(X) or len(x_new) != X.shape[1]:
        raise DataError(f"X is {X.shape}, Y {Y.shape}, x_new {x_new.shape}; expected D×N, D×L and N")
    check_reg_lambda(reg_lambda)
    label_counts = Y.sum(axis=0)
    theta = inverse_propensity(label_counts, A, B, n_train=len(X))

    gram, cross = X.T @ X, X.T @ Y
    eigenvalues, V, U = _eigenpairs(X)
    projected, inverse = V.T @ cross, 1.0 / (eigenvalues + reg_lambda)
    weights = (V * inverse) @ projected
    scores = x_new @ weights
    # Y − XW and 1 − h by what λ takes away along each of U's columns: where λ is small, both are small differences.
    taken = reg_lambda / (np.append(eigenvalues, np.zeros(len(X)))[: len(X)] + reg_lambda)
    residuals, left = (U * taken) @ (U.T @ Y), U**2 @ taken
    return WorkedExample(
        gram=gram,
        cross=cross,
        eigenvalues=eigenvalues,
        eigenvectors=V,
        projected=projected,
        inverse=inverse,
        weights=weights,
        scores=scores,
        votes=X @ ((V * inverse) @ (V.T @ x_new)),
        fitted=X @ weights,
        leverages=1 - left,
        left_out=Y - residuals / left[:, None],
        label_counts=label_counts.astype(np.int64),
        inverse_propensity=theta,
        scores_ps=theta * scores,
        order=np.argsort(-scores, kind="stable"),
        order_ps=np.argsort(-theta * scores, kind="stable"),
    )


@dataclass(frozen=True)
class Objective:
    """What least squares with a penalty minimises: error = ‖XW − Y‖², size = ‖W‖², total = error + λ·size."""

    error: float
    size: float
    total: float


def objective(X: np.ndarray, Y: np.ndarray, W: np.ndarray, reg_lambda: float) -> Objective:
    """The objective of ridge regression at W: D×N counts X, D×L labels Y, N×L weights W (the paper's first formula)."""
    error, size = float(((X @ W - Y) ** 2).sum()), float((W**2).sum())
    return Objective(error, size, error + reg_lambda * size)


def _eigenpairs(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues of XᵀX, largest first, its eigenvectors, with one sign for every machine, and those of XXᵀ.

    By the singular values of X: counts of 999 beside 1 leave of XᵀX's small eigenvalues a few digits only.
    """
    U, singular, Vt = np.linalg.svd(X)
    singular = np.where(singular > 1e-13 * singular.max(), singular, 0.0)
    vectors = Vt.T
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(len(vectors))]
    return np.pad(singular**2, (0, len(vectors) - len(singular))), vectors * np.sign(largest), U


def _counts(array: np.ndarray, name: str, dimensions: int) -> np.ndarray:
    numbers = as_floats(array, name)
    if numbers.ndim != dimensions or numbers.size == 0:
        raise DataError(f"{name} has shape {numbers.shape}; expected {dimensions} dimensions and at least one number")
    bad = ~(np.isfinite(numbers) & (numbers >= 0))
    if bad.any():
        place = " and ".join(
            f"{axis} {index + 1}"
            for axis, index in zip(("row", "column")[-dimensions:], np.argwhere(bad)[0], strict=True)
        )
        raise DataError(f"{name} holds {numbers[bad][0]:g} in {place}; expected a number of at least 0")
    return numbers


def _zeros_and_ones(Y: np.ndarray) -> np.ndarray:
    labels = as_floats(Y, "Y")
    if labels.ndim != 2 or labels.size == 0:
        raise DataError(f"Y has shape {labels.shape}; expected two dimensions, documents and labels")
    other = labels[~np.isin(labels, (0.0, 1.0))]
    if other.size:
        raise DataError(f"Y holds {other[0]:g}; expected 0 or 1")
    return labels
