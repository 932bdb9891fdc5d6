"""Compiled loops: what is kept of them serves the next process, and nothing on a disk keeps them from running."""

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import numba
import pytest

from tests.full_disk import full_disk
from xmlcore.compiled import compiled


def double_in(folder: Path) -> Callable:
    """A loop in a module of that folder, as the next process would have it."""
    (folder / "loops.py").write_text("def double(x):\n    return 2 * x\n")
    spec = importlib.util.spec_from_file_location("loops", folder / "loops.py")
    loops = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loops)
    return compiled(loops.double)


def was_kept(loop: Callable) -> bool:
    return bool(loop.stats.cache_hits)


@pytest.mark.parametrize("damaged", [None, "*.nbi", "*.nbc"])
@pytest.mark.parametrize("left", [0, 20])
def test_what_was_compiled_is_kept_and_made_again_where_it_was_damaged(tmp_path, damaged, left):
    assert double_in(tmp_path)(3) == 6
    for file in (tmp_path / "__pycache__").glob(damaged or "none"):
        os.truncate(file, left)
    for kept in (damaged is None, True):
        loop = double_in(tmp_path)
        assert loop(3) == 6
        assert was_kept(loop) == kept


def test_a_full_disk_does_not_keep_a_loop_from_running(tmp_path):
    with full_disk(tmp_path / "disk"):
        loop = double_in(tmp_path / "disk")
        with pytest.raises(OSError, match=r"space|large"):
            (tmp_path / "disk/full").write_bytes(bytes(2 << 20))
        assert loop(3) == 6


def test_where_nothing_can_be_kept_loops_run_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")  # and no folder is provided
    loop = double_in(tmp_path)
    assert loop(3) == 6
    assert not was_kept(loop)
