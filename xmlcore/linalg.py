"""Gram matrices and Cholesky solves: arrays in, arrays out, no labels.

Matrices of features come as blocks (see `xmlcore.matrices.as_blocks`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.linalg import norm

from xmlcore.checks import DataError
from xmlcore.compiled import compiled
from xmlcore.lapack import add_syrk, cholesky_factor, cholesky_solve_factored
from xmlcore.matrices import Block
from xmlcore.products import chunks, compiled_parts, multiply, multiply_transposed, over_rows, times_sparse

_BYTES_AT_ONCE = 32 << 20


# A column (of the matrix whose rows are multiplied) that fills more than this share of the rows is summed by BLAS as
# if it were dense. A share p of filled rows leaves p² of the pairs: the ways cross near 1/√SCATTERED_AS_DENSE (see
# `products`).
_DENSE_SHARE = 0.15


def warm_up() -> None:
    """Compile every kernel, or load it from numba's cache on disk, on tiny matrices."""
    block = sparse.csr_array(np.eye(8, dtype=np.float32))  # eight rows: no column counts as frequent
    for dtype in (np.float32, np.float64):
        gram((block,), of_rows=True, dtype=dtype)
        multiply((block,), np.eye(8, dtype=dtype), dtype)
    times_sparse(np.eye(8, dtype=np.float32), block)


@compiled
def _add_row_products(indptr, indices, data, t_indptr, t_indices, t_data, lower, out, start, stop):
    """out[i, j] += <row i of A, row j of B>, A in CSR and B given by columns; only j ≤ i where `lower`."""
    n = out.shape[0]
    for step in range(start, stop):
        # Row i of a lower half costs about i: taking turns from both ends gives every thread the same work.
        i = step // 2 if step % 2 == 0 else n - 1 - step // 2
        last = i if lower else out.shape[1]
        row = out[i]
        for at in range(indptr[i], indptr[i + 1]):
            value = data[at]
            column = indices[at]
            for other in range(t_indptr[column], t_indptr[column + 1]):
                j = t_indices[other]
                if j > last:
                    break
                row[j] += value * t_data[other]


def gram(X: tuple[Block, ...], *, of_rows: bool, dtype: type) -> np.ndarray:
    """XXᵀ (`of_rows`) or XᵀX, dense, symmetric, C-contiguous, of type `dtype`, in which it is also summed.

    Frequent columns of sparse blocks and dense blocks go through BLAS, the rest through a compiled loop over half of
    the matrix; blocks may be of both kinds.
    """
    size = X[0].shape[0] if of_rows else sum(block.shape[1] for block in X)
    K = np.zeros((size, size), dtype)
    if of_rows:
        for block in X:
            _add_lower_gram(K, block, of_rows=True)
    else:
        start = 0
        for at, block in enumerate(X):
            stop = start + block.shape[1]
            diagonal = K if len(X) == 1 else np.zeros((stop - start, stop - start), dtype)
            _add_lower_gram(diagonal, block, of_rows=False)
            if len(X) > 1:
                K[start:stop, start:stop] = diagonal
            left = 0
            for other in X[:at]:
                K[start:stop, left : left + other.shape[1]] = _cross_features(block, other, dtype)
                left += other.shape[1]
            start = stop
    _mirror_lower(K)
    return K


def gram_times(X: tuple[Block, ...], V: np.ndarray, *, of_rows: bool) -> np.ndarray:
    """XXᵀV (`of_rows`) or XᵀXV for V (r×k), in float64 and without the Gram matrix, few columns at a time."""
    first, second = (multiply_transposed, multiply) if of_rows else (multiply, multiply_transposed)
    width = X[0].shape[0] + sum(block.shape[1] for block in X)
    out = np.empty(V.shape)
    for columns in chunks(V.shape[1], _BYTES_AT_ONCE // (8 * width)):
        out[:, columns] = second(X, first(X, V[:, columns], np.float64), np.float64)
    return out


def cross_gram(A: tuple[Block, ...], B: tuple[Block, ...], dtype: type) -> np.ndarray:
    """A Bᵀ, dense (rows of A, rows of B), of type `dtype`, for A and B in equal blocks of features."""
    out = np.zeros((A[0].shape[0], B[0].shape[0]), dtype)
    for left, right in zip(A, B, strict=True):
        if sparse.issparse(left) and sparse.issparse(right):
            _add_sparse_products(out, left, right, lower=False)
        elif not sparse.issparse(left) and not sparse.issparse(right):
            for columns in chunks(left.shape[1]):
                out += left[:, columns].astype(dtype, copy=False) @ right[:, columns].astype(dtype, copy=False).T
        elif sparse.issparse(left):
            out += multiply((left,), right.T, dtype)
        else:
            out += multiply((right,), left.T, dtype).T
    return out


def _add_lower_gram(K: np.ndarray, block: Block, *, of_rows: bool) -> None:
    if not block.shape[1]:
        return  # BLAS takes no empty matrix
    if sparse.issparse(block):
        rows = block if of_rows else block.T.tocsr()
        _add_sparse_products(K, rows, rows, lower=True)
        return
    for part in chunks(block.shape[1 if of_rows else 0]):
        piece = block[:, part] if of_rows else block[part]
        add_syrk(K, np.ascontiguousarray(piece, dtype=K.dtype), of_rows=of_rows)


def _add_sparse_products(out: np.ndarray, A: sparse.csr_array, B: sparse.csr_array, *, lower: bool) -> None:
    """out += A Bᵀ, or its lower half where A is B: frequent columns by BLAS, the others by the compiled loop."""
    counts = np.bincount(B.indices, minlength=B.shape[1])
    frequent = np.flatnonzero(counts > _DENSE_SHARE * B.shape[0])
    if frequent.size:
        for part in chunks(frequent.size):
            right = _columns(B, frequent[part]).toarray().astype(out.dtype, copy=False)
            if lower:
                add_syrk(out, right, of_rows=True)
            else:
                out += _columns(A, frequent[part]).toarray().astype(out.dtype, copy=False) @ right.T
        rare = np.flatnonzero(counts <= _DENSE_SHARE * B.shape[0])
        B = _columns(B, rare)
        A = B if lower else _columns(A, rare)
    arrays = (*compiled_parts(A, out.dtype), *compiled_parts(B.T.tocsr(), out.dtype), lower, out)
    work = int(np.bincount(A.indices, minlength=A.shape[1]) @ np.bincount(B.indices, minlength=B.shape[1]))
    over_rows(lambda start, stop: _add_row_products(*arrays, start, stop), out.shape[0], work)


def _columns(A: sparse.csr_array, columns: np.ndarray) -> sparse.csr_array:
    """The given columns of A: by a table of new numbers, many times faster than fancy indexing of a wide matrix."""
    table = np.full(A.shape[1], -1, np.int32)
    table[columns] = np.arange(columns.size, dtype=np.int32)
    indices = table[A.indices]
    kept = indices >= 0
    before = np.concatenate([[0], np.cumsum(kept)])
    return sparse.csr_array((A.data[kept], indices[kept], before[A.indptr]), shape=(A.shape[0], columns.size))


def _cross_features(A: Block, B: Block, dtype: type) -> np.ndarray:
    """AᵀB for two blocks of features of the same rows."""
    if sparse.issparse(A):
        if sparse.issparse(B):
            return (A.T.astype(dtype) @ B.astype(dtype)).toarray()
        return multiply_transposed((A,), B, dtype)
    if sparse.issparse(B):
        return multiply_transposed((B,), A, dtype).T
    total = np.zeros((A.shape[1], B.shape[1]), dtype)
    for rows in chunks(A.shape[0]):
        total += A[rows].T.astype(dtype, copy=False) @ B[rows].astype(dtype, copy=False)
    return total


def _mirror_lower(K: np.ndarray) -> None:
    """Copy the lower half of K onto its upper half, in tiles that fit a processor's cache."""
    for rows in chunks(K.shape[0], 256):
        corner = K[rows, rows]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        for columns in chunks(rows.start, 256):
            K[columns, rows] = K[rows, columns].T


def cholesky_solve(
    K: np.ndarray,
    reg_lambda: float,
    B: np.ndarray,
    exactly: tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]],
    to_scores: Callable[[np.ndarray], np.ndarray],
    diagonal: np.ndarray | None = None,
) -> np.ndarray:
    """S = (K + λI)⁻¹ B for a symmetric K (r×r) and B (r×k) of the same type, which is left as it is.

    K is overwritten; with its diagonal from before, `undo_cholesky_solve` makes it what it was. Where a call with this
    λ has gone well before and has left K as it is now, that diagonal is given, and nothing is factorised again.

    exactly: products of K and of B with a few columns, in float64, by what K and B were made of, so that their own
    rounding is seen too. to_scores: what S is for, linear, of a few columns. The error of S is measured on eight random
    combinations s of its columns: what is wrong in them is the residual, solved for. Where λ drowns in rounding the
    residual is blind; so a twentieth of what may have been rounded in K is added, E_ij about eps √(d_i d_j) for d the
    diagonal of K, a random one.

    Raises DataError where K + λI is not positive definite in the precision at hand, where scores are off by more than
    1e-4 in float64 or 1e-5 in float32, for which float64 can stand in (and by 1e-7 each: they may be 0), and for a λ
    that K's type cannot hold.
    """
    d = (K.diagonal() if diagonal is None else diagonal).astype(np.float64)[:, None]
    if diagonal is None:
        with np.errstate(over="ignore"):
            K[np.diag_indices_from(K)] += reg_lambda
    held = np.isfinite(K.diagonal()).all()
    if held and (diagonal is not None or cholesky_factor(K)):
        S, (times_K, times_B) = cholesky_solve_factored(K, B), exactly
        random = np.random.default_rng(0).standard_normal
        Z = random((S.shape[1], 8))
        mixed = np.vstack([S[rows] @ Z for rows in chunks(len(S))])
        wrong = times_B(Z) - reg_lambda * mixed - times_K(mixed)
        wrong += np.finfo(K.dtype).eps / 20 * np.sqrt(d) * random(wrong.shape) * norm(np.sqrt(d) * mixed, axis=0)
        scale = np.abs(wrong).max(initial=1e-300)  # at an extreme one float32 would lose it
        off = scale * to_scores(cholesky_solve_factored(K, (wrong / scale).astype(K.dtype)).astype(np.float64))
        allowed = 1e-4 if K.dtype == np.float64 else 1e-5
        if norm(off) <= max(allowed * norm(to_scores(mixed)), 1e-7 * np.sqrt(Z.size)):  # at any scale: numpy's vanish
            return S
    what = "small" if held else "large"
    raise DataError(
        f"reg_lambda is {reg_lambda:g}, too {what} for a solve in {K.dtype} of a matrix of size {K.shape[0]:,}"
    )


def undo_cholesky_solve(K: np.ndarray, diagonal: np.ndarray) -> None:
    """Gives K (r×r) back what `cholesky_solve` has overwritten: its lower half. diagonal: K's own, shape (r,)."""
    _mirror_lower(K.T)
    np.fill_diagonal(K, diagonal)


def check_scale(X: tuple[Block, ...], dtype: type, name: str = "X") -> float:
    """‖X‖², the trace of X's Gram matrices, which are to be made in `dtype`; 0 for an X of zeros.

    Raises DataError, naming the argument, where its values' squares overflow or vanish, or factors leave float32: for
    a trace above 1e60 in float64, 1e30 in float32, or below the inverse of that.
    """
    trace = squared_norm(X)
    if not is_scale(trace, dtype) and (largest := largest_value(X)) > 0:
        raise scale_error(trace, largest, name)
    return trace


def is_scale(trace: float, dtype: type) -> bool:
    """Whether Gram matrices of this trace can be made and factorised in `dtype`."""
    limit = 1e60 if dtype == np.float64 else 1e30
    return 1 / limit <= trace <= limit


def largest_value(X: tuple[Block, ...]) -> float:
    """The largest absolute value in X, 0 where there is none."""
    return max((float(abs(block).max()) for block in X if block.size), default=0.0)


def scale_error(trace: float, largest: float, name: str) -> DataError:
    """The error for values whose squares overflow or vanish."""
    what = "large" if trace > 1 else "small"
    return DataError(f"{name} holds values too {what} (up to {largest:.3g}): scale its rows, to length 1 say")


def is_ordinary(*values: float) -> bool:
    """Whether positive values are far enough from the ends of float32's range to be factors there."""
    return min(values) >= 1e-15 and max(values) <= 1e15


def at_any_scale(A: np.ndarray, times: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """times(A), (rows, k), for A of any scale and a `times` that works on each row by itself, linearly.

    Each row is first multiplied by a power of two that brings its largest value near 1; A keeps its type. The result
    is float32, or float64 where float32 could not hold it.
    """
    exponents = np.frexp(np.abs(A).max(axis=1, keepdims=True))[1]
    out = times(np.ldexp(A, -exponents))
    sizes = np.ldexp(np.abs(out).max(axis=1, keepdims=True, initial=0).astype(np.float64), exponents)
    held = (sizes == 0) | ((sizes > 1e-30) & (sizes < 1e38))
    return np.ldexp(out.astype(np.float32 if held.all() else np.float64, copy=False), exponents)


def squared_norm(X: tuple[Block, ...]) -> float:
    """‖X‖² = trace(XXᵀ) = trace(XᵀX), summed in float64; infinite or 0 where squares overflow or vanish."""
    total = 0.0
    for block in X:
        values = block.data if sparse.issparse(block) else block
        for part in chunks(values.shape[0], 1 << 20 if values.ndim == 1 else 1 << 10):
            with np.errstate(over="ignore", under="ignore"):
                total += float(np.square(values[part], dtype=np.float64).sum())
    return total


def largest_eigenvalues(X: tuple[Block, ...]) -> np.ndarray:
    """The four largest eigenvalues of XXᵀ (and of XᵀX) from below, ascending, float64.

    Twelve power iterations on a block of eight seeded vectors: exact enough for a slider, a few passes over X. Fewer
    than four where X has fewer columns.
    """
    columns = sum(block.shape[1] for block in X)
    V = np.random.default_rng(0).standard_normal((columns, min(8, columns)))
    turned = [block.T.tocsr() if sparse.issparse(block) else block.T for block in X]
    for _ in range(12):
        Z = multiply(X, np.linalg.qr(V)[0], np.float64)
        V = np.vstack([multiply((block,), Z, np.float64) for block in turned])
    return np.linalg.eigvalsh(Z.T @ Z)[-4:]
