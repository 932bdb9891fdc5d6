"""LIBSVM's format with several labels.

    0,2 1:0.5 4:1.25 # a comment
     2:1
    3:0.75

Like the repository's text format, but features count from 1, there is no header, `#` begins a comment, and a line
without labels may begin with its first feature straight away.
"""

from __future__ import annotations

from xmlcore.readers import sparse_kernel as kernel
from xmlcore.readers.files import DataFile, located
from xmlcore.readers.parts import LIKELY, POSSIBLE, Claim, Files, Format, Options, Parsed
from xmlcore.readers.sparse_lines import SparseLines, read_sparse_lines
from xmlcore.readers.xc_text import counts_from_zero, header, is_sparse_text, read_pair, sparse_files


def _claim(files: Files) -> Claim | None:
    data = [file for file in files if is_sparse_text(file)]
    if not data or any(header(file) for file in data):
        return None
    if counts_from_zero(data):
        return Claim(POSSIBLE, f"{data[0].name} holds lines of labels and features, but feature 0 occurs")
    return Claim(LIKELY, f"{data[0].name} holds lines of labels and features without a header, and no feature 0")


def _read(files: Files, options: Options) -> Parsed:
    return read_pair(files, sparse_files(files), lambda file: _read_file(file, options))


def _read_file(file: DataFile, options: Options) -> SparseLines:
    lines = read_sparse_lines(file, form=kernel.LIBSVM, base=1, max_columns=options.limits.max_columns)
    if lines.X.shape[0] == 0:
        raise located(file, None, "holds no instance; expected lines such as 3,17 12:0.5")
    return lines


FORMAT = Format(
    name="libsvm",
    title="LIBSVM, several labels",
    help=(
        "One line an instance: labels with commas between, then index:value fields; features count from 1, there is no "
        "header, the labels may be missing, and # begins a comment."
    ),
    example="0,2 1:0.5 4:1.25\n 2:1\n1 3:0.75",
    claim=_claim,
    read=_read,
)
