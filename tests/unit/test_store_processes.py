"""The cache on disk when other processes write to it at the same time, or are killed while they do."""

import os
import signal
import subprocess
import sys

import pytest

from tests.unit.helpers import leftovers
from xmlcore.store import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache", max_bytes=10_000_000)


WRITER = """
import sys
import numpy as np
from xmlcore.store import Store

store, me = Store(sys.argv[1], max_bytes=10_000_000), int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(20):
    assert store.put("shared", {"a": np.full(20_000, me), "b": np.full(3, me)}, {"me": me})
    arrays, meta = store.get("shared")
    assert (arrays["a"] == meta["me"]).all() and (arrays["b"] == meta["me"]).all()
assert not store.notices, list(store.notices)
"""


def start(code, *args):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def test_processes_that_write_one_key_at_once_all_succeed_and_never_see_a_mixture_or_a_gap(store):
    writers = [start(WRITER, store.folder, number) for number in range(2)]
    for writer in writers:
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    for writer in writers:
        writer.stdin.close()
        writer.stdout.close()
    assert len(store.entries()) == 1
    assert leftovers(store) == []


HALF_WRITER = """
import sys
import numpy as np
import xmlcore.store

real = xmlcore.store.write_entry
def stop_half_way(folder, key, arrays, meta):
    real(folder, key, arrays, meta)
    print("written", flush=True)
    sys.stdin.readline()
xmlcore.store.write_entry = stop_half_way
xmlcore.store.Store(sys.argv[1]).put("k", {"a": np.zeros(1000)})
"""


def test_what_a_killed_writer_left_is_removed_but_not_what_a_living_one_writes(store):
    writer = start(HALF_WRITER, store.folder)
    assert writer.stdout.readline() == b"written\n"
    (half,) = (store.folder / "store").iterdir()
    os.utime(half, (1, 1))  # it has been there for long
    Store(store.folder)
    assert leftovers(store) == [half.name]
    assert store.get("k") is None
    assert store.size() == 0
    writer.send_signal(signal.SIGKILL)
    writer.wait(timeout=60)
    writer.stdin.close()
    writer.stdout.close()
    Store(store.folder)
    assert leftovers(store) == []
