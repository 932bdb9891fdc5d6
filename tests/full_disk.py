"""A disk that is soon full."""

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """A folder on a disk of 1 MB where this user may mount one, else files that may not grow beyond 1 MB."""
    folder.mkdir()
    mounted = (
        os.getuid() == 0
        and shutil.which("mount") is not None
        and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", folder], capture_output=True, check=False
        ).returncode
        == 0
    )
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if not mounted:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, limits[1]))
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["umount", "-l", folder], check=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
