"""LAPACK and BLAS calls during which other threads run: float32 or float64 arrays in, arrays out.

scipy's own wrappers hold Python's lock until the routine returns, so a factorisation of some seconds in one thread
stops every other thread of a server. These call the same routines, of the library that scipy ships, through the
addresses in `scipy.linalg.cython_lapack` and `cython_blas`, which are there for such use.

All matrices are symmetric and C-contiguous. To the routines, which count in columns, the lower half in rows is the
upper half.
"""

from __future__ import annotations

import ctypes
from functools import cache
from types import ModuleType

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
_REAL = {"s": ctypes.c_float, "d": ctypes.c_double}
_UPPER = b"U"


def symmetric_eigen(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (r,), ascending, and eigenvectors (r×r, one a column) of a symmetric K, which is overwritten.

    LAPACK's divide-and-conquer driver syevd; of K only the half below the diagonal and the diagonal are read. Raises
    ArithmeticError where it does not converge.
    """
    size, real = K.shape[0], _real(K)
    values = np.empty(size, K.dtype)
    work = np.empty(1 + 6 * size + 2 * size * size, K.dtype)
    whole = np.empty(3 + 5 * size, np.int32)
    info = _call(
        cython_lapack, real, "syevd", b"V", _UPPER, size, K, size, values, work, work.size, whole, whole.size, 0
    )
    if info:
        raise ArithmeticError(f"the eigendecomposition of size {size} did not converge ({info})")
    return values, K.T


def cholesky_factor(K: np.ndarray) -> bool:
    """Factorises K in place; False where it is not positive definite. For `cholesky_solve_factored`."""
    return _call(cython_lapack, _real(K), "potrf", _UPPER, K.shape[0], K, K.shape[0], 0) == 0


def cholesky_solve_factored(factor: np.ndarray, B: np.ndarray) -> np.ndarray:
    """K⁻¹B, shape (r, k), for what `cholesky_factor` has made of K, and B (r×k) of the same type, kept as it is."""
    X = np.array(B.T, order="C", dtype=factor.dtype)  # a copy with each right-hand side in one piece
    size = factor.shape[0]
    _call(cython_lapack, _real(factor), "potrs", _UPPER, size, X.shape[0], factor, size, X, size, 0)
    return X.T


def add_syrk(K: np.ndarray, A: np.ndarray, *, of_rows: bool) -> None:
    """The half of K += A Aᵀ (`of_rows`) or AᵀA below the diagonal, and the diagonal, in place; A C-contiguous."""
    inner = A.shape[1] if of_rows else A.shape[0]
    transposed, one = b"T" if of_rows else b"N", _REAL[_real(K)](1)
    _call(cython_blas, _real(K), "syrk", _UPPER, transposed, K.shape[0], inner, one, A, A.shape[1], one, K, K.shape[0])


def _real(K: np.ndarray) -> str:
    return _PREFIX[K.dtype]


def _call(module: ModuleType, real: str, name: str, *arguments: object) -> int:
    """Calls a routine with pointers to its arguments; gives what is in the last one afterwards, LAPACK's `info`."""
    pointers, kept = [], []
    for value in arguments:
        if isinstance(value, np.ndarray):
            if not value.flags.c_contiguous:
                raise ValueError(f"{real}{name} needs arrays in one piece")
            pointers.append(value.ctypes.data)
            continue
        holder = (
            ctypes.c_char(value)
            if isinstance(value, bytes)
            else ctypes.c_int(value)
            if isinstance(value, int)
            else value
        )
        kept.append(holder)
        pointers.append(ctypes.addressof(holder))
    _routine(module, real + name, len(arguments))(*pointers)
    return getattr(kept[-1], "value", 0)


@cache
def _routine(module: ModuleType, name: str, n_arguments: int) -> ctypes._CFuncPtr:
    capsule = module.__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(capsule, name_of(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address)
