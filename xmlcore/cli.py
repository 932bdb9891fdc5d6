"""The command line: `python -m xmlcore data | fetch | evaluate | convert | cache`.

Results go to the standard output, progress and errors to the standard error. The exit code is 0, 1 where the data
cannot be used or written (one line says why) or nobody reads the output to its end, 2 where the command is not
understood, or 130 where it was interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from xmlcore.catalog import CatalogEntry, catalog_entries, load_dataset
from xmlcore.checks import DataError, as_number, as_whole, check_reg_lambda
from xmlcore.cost import refuse_unfitting
from xmlcore.dataset import Dataset
from xmlcore.direct import solve_direct
from xmlcore.downloads import DOWNLOADS, DownloadProgress, fetch, is_downloaded
from xmlcore.evaluation import Evaluation, evaluate, evaluate_scores, row_blocks
from xmlcore.features import fit_features
from xmlcore.memory import default_memory_budget
from xmlcore.metrics import SHORT_NAMES
from xmlcore.predictions import Predictions, predictions_from_scores, write_predictions
from xmlcore.propensity import inverse_propensity, metric_inverse_propensity
from xmlcore.readers import write_npz, write_xc_text
from xmlcore.recipe import FeatureRecipe, default_recipe
from xmlcore.ridge import RidgeFactorization
from xmlcore.store import Store, StoreError
from xmlcore.units import counted, in_units

WRITERS = {"xc": write_xc_text, "npz": write_npz}
PREDICTION_ENDINGS = {".npz": "npz", ".txt": "text", ".csv": "csv"}
_LINE_SECONDS = 0.5


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code. arguments: those of the process where None."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that has no λ
    try:
        try:
            return _run(arguments)
        finally:
            print(end="", flush=True)  # here and not as Python ends, so that a closed pipe shows in time
    except OSError as error:  # of what is printed: files are read and written with errors of their own
        _drop_output()
        if not isinstance(error, BrokenPipeError):
            _tell(f"error: the output cannot be written: {error.strerror}")
        return 1


def _tell(text: str) -> None:
    """Writes a line to the standard error, where that is open: never among the results, and none fails for it."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(text, file=sys.stderr, flush=True)


def _drop_output() -> None:
    """Sends what cannot be written nowhere, or Python would complain of it as it ends."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            print(end="", file=stream, flush=True)
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _run(arguments: Sequence[str] | None) -> int:
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (DataError, StoreError) as error:
        _tell(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        _tell("interrupted")
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    about = "Ridge regression for extreme multi-label learning."
    parser = argparse.ArgumentParser(prog="python -m xmlcore", description=about)
    commands = parser.add_subparsers(required=True, metavar="command")

    data = commands.add_parser("data", help="list the data sets that can be had by name")
    data.set_defaults(run=_data)

    download = commands.add_parser("fetch", help="download a data set into the cache on disk")
    download.add_argument("name", metavar="NAME", help="a name that the command data lists")
    download.set_defaults(run=_fetch)

    metrics = commands.add_parser("evaluate", help="fit both variants and print every metric on the test instances")
    metrics.add_argument("data", metavar="NAME|PATH", help="a name, or a file, folder or archive")
    metrics.add_argument("--reg-lambda", type=float, default=3.0, help="λ of both variants (default 3)")
    metrics.add_argument("--A", type=float, help="A of the model's propensities (default: the data set's own)")
    metrics.add_argument("--B", type=float, help="B of the model's propensities (default: the data set's own)")
    metrics.add_argument("--K", type=int, nargs="+", default=[1, 3, 5], help="how many labels count (default 1 3 5)")
    metrics.add_argument("--features", help="steps such as tfidf+unit+svd:300 (default: what suits the data set)")
    metrics.add_argument(
        "--predictions",
        metavar="FILE",
        type=Path,
        help="also write the first labels of each test instance with scores, as many as the largest K, as .npz, .txt "
        "or .csv; those with PS go beside it, with -ps behind the name",
    )
    metrics.set_defaults(run=_evaluate)

    convert = commands.add_parser("convert", help="write a data set, features as given, in another format")
    convert.add_argument("data", metavar="NAME|PATH", help="a name, or a file, folder or archive")
    convert.add_argument("out", metavar="OUT", type=Path, help="a folder: new, or of no data, or written so before")
    convert.add_argument("--to", choices=list(WRITERS), default="xc", help="the format (default xc)")
    convert.set_defaults(run=_convert)

    cache = commands.add_parser("cache", help="show or clear the results in the cache on disk")
    what = cache.add_mutually_exclusive_group()
    what.add_argument("--show", action="store_true", help="list them (what is done without an option)")
    what.add_argument("--clear", action="store_true", help="remove them; downloads stay")
    cache.set_defaults(run=_cache)
    return parser


def _data(options: argparse.Namespace) -> None:
    entries = catalog_entries()
    width = max(len(entry.name) for entry in entries)
    for entry in entries:
        print(f"{entry.name:<{width}}  {_having(entry)}")
        print(f"{'':<{width}}  {entry.description}")


def _having(entry: CatalogEntry) -> str:
    if entry.kind != "download":
        return "comes with the project" if entry.kind == "embedded" else "made on the spot"
    if is_downloaded(entry.name):
        return "downloaded"
    size = f", {in_units(entry.n_bytes)}" if entry.n_bytes else ""
    return f"to download from {entry.address}{size}{'' if entry.tried else '; this address has never been tried'}"


class _Lines(DownloadProgress):
    """Progress as lines on the standard error, a few in a second at most."""

    _last = 0.0

    def update(self, n_bytes: int) -> None:
        super().update(n_bytes)
        if time.monotonic() - self._last > _LINE_SECONDS:
            self._last = time.monotonic()
            total = f" of {in_units(self.total)}" if self.total else ""
            _tell(f"{self.file}: {in_units(self.done)}{total}")


class _Stages:
    """Progress as a line for each stage on the standard error."""

    _last = ""

    def __call__(self, stage: str, fraction: float | None) -> None:
        if stage != self._last:
            self._last = stage
            _tell(stage)


def _fetch(options: argparse.Namespace) -> None:
    if options.name not in DOWNLOADS:
        names = ", ".join(DOWNLOADS)
        raise DataError(f"there is nothing to download for {options.name!r}; expected one of {names}")
    for path in fetch(options.name, DOWNLOADS[options.name], _Lines()):
        print(path)


def _loaded(name_or_path: str) -> Dataset:
    data = load_dataset(name_or_path, features=None, progress=_Lines())
    for note in data.notes:
        _tell(note)
    return data


def _evaluate(options: argparse.Namespace) -> None:
    check_reg_lambda(options.reg_lambda)
    for k in options.K:
        as_whole(k, "K", at_least=1)
    if options.A is not None:
        as_number(options.A, "A", at_least=0)
    if options.B is not None:
        as_number(options.B, "B", above=0)
    out = options.predictions
    if out is not None and out.suffix not in PREDICTION_ENDINGS:
        raise DataError(f"predictions go to {str(out)!r}; expected a name in {', '.join(PREDICTION_ENDINGS)}")
    if out is not None and not out.parent.is_dir():
        raise DataError(f"predictions go to {str(out)!r}; expected a folder that is there")
    recipe = None if options.features is None else FeatureRecipe.parse(options.features)
    raw = _loaded(options.data)
    recipe = default_recipe(raw) if recipe is None else recipe
    refuse_unfitting(raw, recipe)
    data, _ = fit_features(raw, recipe, _Stages())
    A = data.A if options.A is None else options.A
    B = data.B if options.B is None else options.B
    result, predictions = _evaluation(data, options.reg_lambda, A, B, options.K, predict=out is not None)
    if max(options.K) > data.n_labels:
        _tell(f"K is at most {data.n_labels}, the number of labels: greater ones are cut to it")
    print(
        f"{data.name}: {data.n_train:,} training and {counted(data.n_test, 'test instance')}, "
        f"{counted(data.n_features, 'feature')} ({recipe}), {counted(data.n_labels, 'label')}"
    )
    print(f"λ = {options.reg_lambda:g}; model A = {A:g}, B = {B:g}; PSP measured with A = {data.A:g}, B = {data.B:g}")
    print(f"{'percent':<12}{'XML-ridge':>12}{'with PS':>12}")
    for metric, short in SHORT_NAMES.items():
        for k in result.ks:
            values = (result.ridge.metrics[metric][k], result.ps.metrics[metric][k])
            print(f"{f'{short}@{k}':<12}{100 * values[0]:>12.2f}{100 * values[1]:>12.2f}")
    paths = (out, out.with_stem(f"{out.stem}-ps")) if out is not None else ()
    for path, ours in zip(paths, predictions, strict=True):
        names = {"instance_names": data.test_names, "label_names": data.label_names}
        write_predictions(path, ours, PREDICTION_ENDINGS[path.suffix], **names)
        _tell(f"{ours.name}: {path}")


def _evaluation(
    data: Dataset, reg_lambda: float, A: float, B: float, ks: list[int], predict: bool
) -> tuple[Evaluation, list[Predictions]]:
    """The metrics; and what each variant ranks first, where that is asked for."""
    theta = inverse_propensity(data.Y_train, A, B)
    metric_theta = metric_inverse_propensity(data)
    # One λ costs least by Cholesky, where all scores fit in memory at once; else by a factorisation, block by block.
    if 4 * data.n_test * data.n_labels <= default_memory_budget():
        scores = solve_direct(data.X_train, data.Y_train, data.X_test, reg_lambda)
        result = evaluate_scores(
            scores,
            data.Y_test,
            theta,
            metric_theta,
            ks,
            exclude=data.test_filter,
            reg_lambda=reg_lambda,
        )
        return result, _predictions(data, [scores], theta, max(ks)) if predict else []
    fac = RidgeFactorization.fit(data.X_train, data.Y_train)
    if reg_lambda < (least := fac.smallest_reliable_lambda):
        _tell(f"below λ = {least:.2g} rounding may show: labels can come in another order")
    P = fac.project(data.X_test)
    result = evaluate(
        fac,
        P,
        data.Y_test,
        reg_lambda,
        theta,
        metric_theta,
        ks,
        exclude=data.test_filter,
        X_new=data.X_test,
    )
    blocks = (fac.scores(P, reg_lambda, rows=rows) for rows in row_blocks(data.n_test, fac, None))
    return result, _predictions(data, blocks, theta, max(ks)) if predict else []


def _predictions(data: Dataset, blocks: Iterable[np.ndarray], theta: np.ndarray, k: int) -> list[Predictions]:
    """The k first labels of both variants, from the scores of the test instances in blocks of rows."""
    parts, first = {"XML-ridge": [], "XML-ridge with PS": []}, 0
    for scores in blocks:
        exclude = None if data.test_filter is None else data.test_filter[first : first + len(scores)]
        first += len(scores)
        for (name, found), weights in zip(parts.items(), (None, theta), strict=True):
            found.append(predictions_from_scores(name, scores, k, inverse_propensity=weights, exclude=exclude))
        del scores  # before those of the next instances are made
    return [
        Predictions(
            name, *(np.concatenate([getattr(part, of) for part in found]) for of in ("top", "scores")), data.n_labels
        )
        for name, found in parts.items()
    ]


def _convert(options: argparse.Namespace) -> None:
    data, source = _loaded(options.data), Path(options.data)
    if source.is_dir() and source.resolve() in options.out.resolve().parents:
        raise DataError(f"{options.out} lies in {source}; expected a folder that is not read together with the data")
    print(WRITERS[options.to](data, options.out))


def _cache(options: argparse.Namespace) -> None:
    store = Store()
    if options.clear:
        size = store.size()
        store.clear()
        print(f"{in_units(size)} removed from {store.folder}")
        return
    for entry in store.entries():
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.last_used))
        print(f"{in_units(entry.bytes):>10}  last used {used}  {entry.key}")
    print(f"{in_units(store.size())} in {store.folder}")
