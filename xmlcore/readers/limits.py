"""The bounds on what is read, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a reader accepts before it gives up with a DataError.

    Attributes:
        max_upload_bytes: files and archives that are named one by one, together. A folder is not bounded by it: what
            it holds is on this disk already.
        max_expanded_bytes: what all archives and compressed files together may expand to.
        max_files: files in a folder, an archive, or a list.
        max_ratio: expanded bytes for each compressed byte of an archive. Text of zeros and commas reaches 100.
        ratio_counts_from: expanded bytes of one archive below which the ratio is not looked at.
        max_rows: instances that the header of a file may promise.
        max_columns: features or labels. A single mistyped index must not cost gigabytes.
    """

    max_upload_bytes: int = 1_000_000_000
    max_expanded_bytes: int = 4_000_000_000
    max_files: int = 1_000
    max_ratio: int = 200
    ratio_counts_from: int = 16_000_000
    max_rows: int = 100_000_000
    max_columns: int = 20_000_000


LIMITS = Limits()
