"""Functions that the tests of xmlcore.background run in another process."""

import os
import sys
import time

import numpy as np

from xmlcore.store import StoreError, get_features


def add(store, report, a, b):
    report("adding")
    print("this must not disturb the answers")
    return {"sum": a + b}


def keep_squares(store, report, n):
    if not store.put("squares", {"n": np.arange(n) ** 2}):
        raise StoreError(store.notices[-1])
    return {"kept": n}


def row_sums(store, report, key):
    X = get_features(store, key)
    store.put("sums", {"sums": np.asarray(X.sum(axis=1))})
    return {"rows": X.shape[0]}


def fail(store, report, text):
    raise ValueError(text)


def leave(store, report, code):
    os._exit(code)


def describe(store, report):
    return {
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "threads": [os.environ[f"{name}_NUM_THREADS"] for name in ("OMP", "OPENBLAS", "NUMBA")],
        "main": getattr(sys.modules["__main__"], "__file__", None),
        "streamlit": "streamlit" in sys.modules,
        "session": os.getsid(0),
        "group": os.getpgid(0),
        "pid": os.getpid(),
        "folder": str(store.folder),
    }


def until_there(store, report, go):
    """Says its process id and works until somebody opens the named pipe for writing."""
    report(f"pid {os.getpid()}", 1000.0)
    with open(go):
        pass
    return {}


def hold_everything(store, report):
    """Computes for minutes and lets no other thread run, as LAPACK calls do."""
    report(f"pid {os.getpid()}")
    sys.setswitchinterval(1000)
    end = time.monotonic() + 300
    while time.monotonic() < end:
        pass
