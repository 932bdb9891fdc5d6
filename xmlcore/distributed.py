"""The sums and the scores of `xmlcore.streaming` on many machines, by dask.distributed.

Gram sums add up over row blocks, so each worker sums some of them and the sums are added in pairs. Scores of one block
of rows and one block of labels need P of these rows and Q of these labels only; the K best of each are found where the
scores are, and only those travel. Results equal the local ones up to the order in which floating-point numbers are
added.

A worker may die at any time: whatever was on it is computed again elsewhere, because everything, Q too, is the result
of a task that the scheduler remembers (data that is scattered would be lost).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xmlcore import products
from xmlcore.checks import DataError, as_whole
from xmlcore.evaluation import (
    Evaluation,
    as_penalties,
    cut_ks,
    evaluate_rankings,
    metric_ruler,
    rank_variants,
)
from xmlcore.matrices import as_mask
from xmlcore.propensity import as_weights
from xmlcore.ranking import best_of_blocks
from xmlcore.row_blocks import RowBlock
from xmlcore.streaming import (
    GramSums,
    StreamedFactorization,
    add_sums,
    check_some_rows,
    factorize_sums,
    labels_of_block,
    sum_blocks,
)

if TYPE_CHECKING:
    from distributed import Client, Future

Load = Callable[[], RowBlock]

TASKS_A_THREAD = 4  # what a dying worker takes with it is a quarter of its share, or less
LABELS_A_BLOCK = 16_384


def sum_distributed(client: Client, loads: Sequence[Load], *, projection: sparse.csr_array | None = None) -> GramSums:
    """`gram_sums` of all row blocks, summed by the client's workers.

    loads: a function for each row block that reads or makes it (X of rows×N, Y of rows×L); workers call them, so files
    must be where these can read them (`stored_loads` for a shared folder). projection: T, shape (N, k), or None.

    Memory of a worker: what `gram_sums` needs, for each of its threads, and a few sums that wait to be added. Raises
    DataError as `gram_sums` does, and for no loads.
    """
    if not loads:
        raise DataError("loads is empty; expected a function for each row block")
    threads = sum(client.nthreads().values())
    count = min(len(loads), max(1, TASKS_A_THREAD * threads))
    edges = np.linspace(0, len(loads), count + 1).astype(int)
    T = _held(client, projection)
    sums = [
        client.submit(_sum_group, int(start), list(loads[start:stop]), T, pure=False) for start, stop in pairwise(edges)
    ]
    while len(sums) > 1:
        pairs = [client.submit(_add_groups, *sums[at : at + 2], pure=False) for at in range(0, len(sums) - 1, 2)]
        sums = pairs + sums[2 * len(pairs) :]
    total: GramSums = sums[0].result().sums
    check_some_rows(total.n_rows)
    return total


def fit_distributed(
    client: Client, loads: Sequence[Load], *, projection: sparse.csr_array | None = None
) -> StreamedFactorization:
    """`fit_streamed` with the sums made by the client's workers; the factorisation itself is computed here.

    Arguments and errors as in `sum_distributed`.
    """
    return factorize_sums(sum_distributed(client, loads, projection=projection), projection)


def evaluate_distributed(
    client: Client,
    fac: StreamedFactorization,
    loads: Sequence[Load],
    reg_lambda: float,
    inverse_propensity: np.ndarray,
    metric_inverse_propensity: np.ndarray,
    ks: Sequence[int] = (1, 3, 5),
    *,
    reg_lambda_ps: float | None = None,
    exclude: sparse.csr_array | None = None,
    labels_a_block: int = LABELS_A_BLOCK,
) -> Evaluation:
    """`evaluate_streamed` with test rows projected, scored and ranked by the client's workers.

    loads: as in `sum_distributed`, for the test rows. exclude: pairs masked before ranking, of all loads' rows
    together. labels_a_block: how many labels a task scores; the scheduler holds all blocks of Q and the mask, a worker
    those that it uses. Other arguments and errors as in `evaluate`.
    """
    if not loads:
        raise DataError("loads is empty; expected a function for each row block")
    if not isinstance(fac, StreamedFactorization):
        raise DataError(f"fac is {type(fac).__name__}; expected StreamedFactorization, which has no training rows")
    labels_a_block = as_whole(labels_a_block, "labels_a_block", at_least=1)
    k_max = cut_ks(ks, fac.n_labels)[-1]
    theta = as_weights(inverse_propensity, fac.n_labels)
    as_weights(metric_inverse_propensity, fac.n_labels, "metric_inverse_propensity")  # not after the last block
    penalties = as_penalties(reg_lambda, reg_lambda_ps)
    exclude = as_mask(exclude, (*np.shape(exclude)[:1], fac.n_labels))  # its rows are compared once they are counted
    pairs, mask = _held(client, exclude), None
    projector = _held(client, replace(fac, Q=fac.Q[:, :0]))
    coefficients = [
        (labels.start, _held(client, replace(fac, projection=None, Q=fac.Q[:, labels])), theta[labels])
        for labels in products.chunks(fac.n_labels, labels_a_block)
    ]
    ranked = []
    for number, load in enumerate(loads):
        rows = client.submit(_project, load, projector, fac.n_labels, number, pure=False)
        mask = None if exclude is None else client.submit(_next_mask, pairs, mask, rows, pure=False)
        best = [
            client.submit(_best_of_labels, rows, Q, start, weights, penalties, k_max, mask, pure=False)
            for start, Q, weights in coefficients
        ]
        ranked.append(client.submit(_merge, rows, best, k_max, pure=False))
    parts: list[_Ranked] = client.gather(ranked)
    as_mask(exclude, (sum(len(part.top) for part in parts), fac.n_labels))
    return evaluate_rankings(
        np.concatenate([part.top for part in parts]),
        np.concatenate([part.top_ps for part in parts]),
        metric_ruler(sparse.vstack([part.Y for part in parts], format="csr"), metric_inverse_propensity, k_max),
        ks,
        reg_lambda=penalties[0],
        reg_lambda_ps=penalties[1],
        rows_scored_zero=sum(part.rows_scored_zero for part in parts),
    )


@dataclass(frozen=True, eq=False)
class _Group:
    """The sums of some row blocks, and the number of the first of them."""

    first: int
    sums: GramSums


@dataclass(frozen=True, eq=False)
class _Rows:
    """P and Y of one block of rows."""

    P: np.ndarray
    Y: sparse.csr_array


@dataclass(frozen=True, eq=False)
class _Mask:
    """The masked pairs of one block of rows, and the number of rows up to its end."""

    pairs: sparse.csr_array
    stop: int


@dataclass(frozen=True, eq=False)
class _Best:
    """The best of one block of labels for one block of rows: (rows, k) labels and what they are ranked by, twice.

    Where a mask leaves fewer than k labels, a row ends in -1 and −∞, behind the labels of all other blocks.
    zero: which rows score 0 for all labels of the block, shape (rows,).
    """

    labels: np.ndarray
    values: np.ndarray
    labels_ps: np.ndarray
    values_ps: np.ndarray
    zero: np.ndarray


@dataclass(frozen=True, eq=False)
class _Ranked:
    top: np.ndarray
    top_ps: np.ndarray
    Y: sparse.csr_array
    rows_scored_zero: int


def _held(client: Client, value: object) -> Future:
    """A task whose result is `value`, so that the scheduler can make it again when the worker that holds it dies."""
    import dask  # the optional extra: whoever has a client has it

    # dask advises to scatter large values, which is what must not be done here.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        return client.submit(_same, value, pure=False)


def _same(value: object) -> object:
    return value


def _sum_group(first: int, loads: list[Load], projection: sparse.csr_array | None) -> _Group:
    return _Group(first, sum_blocks((load() for load in loads), projection, first=first))


def _add_groups(a: _Group, b: _Group) -> _Group:
    """The sums of both; b follows a. Raises DataError, naming b's first block, where they are of other widths."""
    (labels, features), (other_labels, other_features) = a.sums.label_sums.shape, b.sums.label_sums.shape
    if (labels, features) != (other_labels, other_features):
        seen, expected = f"{other_features} features and {other_labels} labels", (features, labels)
        raise DataError(f"block {b.first} has {seen}; expected {expected}, as before")
    return _Group(a.first, add_sums(a.sums, b.sums))


def _project(load: Load, fac: StreamedFactorization, n_labels: int, number: int) -> _Rows:
    X, Y = load()
    P = fac.project(X)
    return _Rows(P, labels_of_block(Y, P.shape[0], n_labels, number))


def _next_mask(pairs: sparse.csr_array, before: _Mask | None, rows: _Rows) -> _Mask:
    start = 0 if before is None else before.stop
    stop = start + rows.P.shape[0]
    if stop > pairs.shape[0]:
        raise DataError(f"exclude has {pairs.shape[0]} rows, and the blocks have more; expected as many")
    return _Mask(pairs[start:stop], stop)


def _best_of_labels(
    rows: _Rows,
    fac: StreamedFactorization,
    start: int,
    theta: np.ndarray,
    penalties: tuple[float, float],
    k: int,
    mask: _Mask | None,
) -> _Best:
    scores = fac.scores(rows.P, penalties[0])
    scores_ps = None if penalties[0] == penalties[1] else fac.scores(rows.P, penalties[1])
    pairs = None if mask is None else mask.pairs[:, start : start + theta.size]
    top, top_ps = rank_variants(scores, scores_ps, theta, k, pairs)
    values = np.take_along_axis(scores, top, axis=1).astype(np.float64)
    values_ps = np.take_along_axis(scores if scores_ps is None else scores_ps, top_ps, axis=1) * theta[top_ps]
    for labels, ranked_by in ((top, values), (top_ps, values_ps)):
        ranked_by[labels < 0] = -np.inf
        labels[labels >= 0] += start
    return _Best(top, values, top_ps, values_ps, ~scores.any(axis=1))


def _merge(rows: _Rows, best: list[_Best], k: int) -> _Ranked:
    top = best_of_blocks([part.labels for part in best], [part.values for part in best], k)[0]
    top_ps = best_of_blocks([part.labels_ps for part in best], [part.values_ps for part in best], k)[0]
    zero = np.logical_and.reduce([part.zero for part in best])
    return _Ranked(top, top_ps, rows.Y, int(np.count_nonzero(zero)))
