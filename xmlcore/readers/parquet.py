"""Tables of texts with labels as Parquet, with the same columns as CSV; labels may be lists.

Read a batch of rows at a time and only the columns that are needed, and what they take is counted: a few kilobytes of
Parquet can hold one value repeated a billion times.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow
from pyarrow import parquet

from xmlcore.checks import DataError
from xmlcore.readers.files import DataFile, located, train_and_test
from xmlcore.readers.limits import Limits
from xmlcore.readers.names import with_companions, without_companions
from xmlcore.readers.parts import CERTAIN, Claim, Files, Format, Options, Parsed
from xmlcore.readers.tables import Table, parse_tables

_MAGIC = b"PAR1"
_BATCH = 4_096
_CELL = 100  # what a short text takes in Python beside its letters


def _parquet_files(files: Files) -> list[DataFile]:
    return [file for file in files if file.head().startswith(_MAGIC)]


def _claim(files: Files) -> Claim | None:
    data = _parquet_files(files)
    return Claim(CERTAIN, f"{data[0].name} is Parquet") if data else None


def _read(files: Files, options: Options) -> Parsed:
    data = _parquet_files(files)
    if not data:
        raise DataError(f"{files[0].name}: does not begin as a Parquet file does; expected one")
    train, test = train_and_test(data, without_companions(files), "Parquet")
    tables = _table(train, options.limits), None if test is None else _table(test, options.limits)
    return with_companions(parse_tables(*tables, options.limits), files, train, test)


def _table(file: DataFile, limits: Limits) -> Table:
    file = replace(file, unit="row")
    size = 0
    rows = []
    try:
        with parquet.ParquetFile(file.path, memory_map=False) as source:
            columns = source.schema_arrow.names
            if len(set(columns)) < len(columns):
                raise located(file, None, "names a column twice; expected each name once")
            for batch in source.iter_batches(_BATCH):
                size += batch.nbytes + _CELL * batch.num_rows * len(columns)
                if size > limits.max_expanded_bytes:
                    limit = f"{limits.max_expanded_bytes / 1e6:,.0f} MB, the limit"
                    raise located(file, None, f"expands to more than {limit}")
                cells = [column.to_pylist() for column in batch.columns]
                rows += enumerate(zip(*cells, strict=True), len(rows) + 1)
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, OverflowError, KeyError) as error:
        first = str(error).partition("\n")[0][:120]
        raise located(file, None, f"cannot be read as Parquet ({first}); expected a whole file") from error
    if not rows:
        raise located(file, None, "holds no row; expected instances")
    return Table(file, columns, rows)


FORMAT = Format(
    name="parquet",
    title="Texts with labels, Parquet",
    help="A table with the same columns as CSV: text in title, text or such, labels as lists or delimited text.",
    example='pandas.DataFrame({"text": ["They won"], "labels": [["sport", "local"]]}).to_parquet("train.parquet")',
    claim=_claim,
    read=_read,
)
