"""Every table, one after the other, each in a process of its own: prints them and stores them in benchmarks/results.

    OPENBLAS_NUM_THREADS=2 python -m benchmarks [part ...] [--folder /var/tmp]

Parts: the names of the shapes, inner-loops, peers, growth, path, reading, browser; all by default, which takes two
to three hours on two cores and needs 24 GB of memory and 20 GB in the folder for temporary files; browser needs
Debian's `chromium`. For a table smaller or cut down, see the modules themselves.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.stages import TARGETS

MODULES = {
    "inner-loops": "micro",
    "peers": "peers",
    "growth": "growth",
    "path": "path",
    "reading": "reading",
    "browser": "browser",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="all by default")
    parser.add_argument("--folder", type=Path, help="for temporary files")
    choice = parser.parse_args()
    known = [*TARGETS, *MODULES]
    if unknown := set(choice.parts) - set(known):
        parser.error(f"there is no {', '.join(sorted(unknown))}; expected some of {', '.join(known)}")
    failed = []
    for part in choice.parts or known:
        command = [sys.executable, "-m", f"benchmarks.{MODULES.get(part, 'shapes')}"]
        if part in TARGETS:
            command += ["--shape", part] + (["--folder", str(choice.folder)] if choice.folder else [])
        print(f"\n{part}\n", flush=True)
        if subprocess.run(command).returncode:
            failed.append(part)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
