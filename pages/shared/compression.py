"""Sparse weights of both variants for the Compress page: the point at the slider, and the curve."""

from __future__ import annotations

import threading
from dataclasses import asdict
from io import BytesIO

import numpy as np
from cachetools import LRUCache, cached

from pages.shared.model import Answer, Model
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.metrics import make_ruler
from xmlcore.sparsify import SparsePoint, WeightSizes, compress, save_sparse_weights, sparse_weights, weight_sizes

SHARES = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0)
WHOLE_W = 100_000_000
"""Entries of W up to which it is kept whole; a larger one is made in blocks of labels each time."""


@cached(
    LRUCache(400 << 20, getsizeof=lambda W: W.nbytes),
    key=lambda model, reg_lambda: (model.full.fingerprint, reg_lambda),
    condition=threading.Condition(),
)
def _weights(model: Model, reg_lambda: float) -> np.ndarray:
    return model.factorization.weights(reg_lambda)


def fits_whole(model: Model) -> bool:
    """Whether W is small enough to answer the slider at once."""
    return model.full.n_features * model.full.n_labels <= WHOLE_W


def _W(answer: Answer, reg_lambda: float) -> np.ndarray | None:
    return _weights(answer.model, reg_lambda) if fits_whole(answer.model) else None


def _variant(answer: Answer, variant: str) -> tuple[float, np.ndarray | None]:
    if variant == RIDGE:
        return answer.settings.reg_lambda, None
    return answer.settings.reg_lambda_ps, answer.theta


@cached(
    LRUCache(8),
    key=lambda answer, variant: (answer.model.full.fingerprint, variant, _cut_key(answer, variant)),
    condition=threading.Condition(),
)
def sizes(answer: Answer, variant: str) -> WeightSizes:
    """How many weights of a variant have which size."""
    reg_lambda, theta = _variant(answer, variant)
    return weight_sizes(answer.model.factorization, reg_lambda, theta, W=_W(answer, reg_lambda))


def _cut_key(answer: Answer, variant: str) -> tuple:
    settings = answer.settings
    return (settings.reg_lambda,) if variant == RIDGE else (settings.reg_lambda_ps, settings.A, settings.B)


@cached(
    LRUCache(64),
    key=lambda answer, variant, shares: (answer.model.full.fingerprint, answer.settings, variant, shares),
    condition=threading.Condition(),
)
def points(answer: Answer, variant: str, shares: tuple[float, ...]) -> list[SparsePoint]:
    """What is left of every metric of a variant at each kept share, largest errors first; on the answer's rows."""
    reg_lambda, _ = _variant(answer, variant)
    result = answer.evaluation.ridge if variant == RIDGE else answer.evaluation.ps
    ruler = make_ruler(answer.dataset.Y_test, answer.metric_theta, max(answer.evaluation.ks))
    return compress(
        answer.model.factorization,
        sizes(answer, variant),
        shares,
        answer.dataset.X_test,
        ruler,
        result.metrics,
        answer.evaluation.ks,
        W=_W(answer, reg_lambda),
        exclude=answer.dataset.test_filter,
    )


def download(answer: Answer, variant: str, share: float) -> bytes:
    """The sparse W of a variant as an .npz file, with names and settings; θ is in the weights of the weighted one."""
    reg_lambda, _ = _variant(answer, variant)
    cut = sizes(answer, variant)
    W = sparse_weights(answer.model.factorization, cut, cut.threshold(share), W=_W(answer, reg_lambda))
    file = BytesIO()
    settings = {**asdict(answer.settings), "variant": variant, "kept_share": share, "threshold": cut.threshold(share)}
    data = answer.dataset
    save_sparse_weights(file, W, feature_names=data.feature_names, label_names=data.label_names, settings=settings)
    return file.getvalue()


VARIANTS = (RIDGE, RIDGE_PS)
