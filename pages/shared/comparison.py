"""The paper's table and other systems' predictions for the Compare page."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations, count
from pathlib import Path

import numpy as np
import pandas as pd

from pages.shared import sources
from pages.shared.answers import Answer
from pages.shared.frame import plain_markdown
from pages.shared.settings import K_MAX, settings_text
from pages.shared.show import FOUR_NUMBERS
from xmlcore import DataError
from xmlcore.evaluation import VariantResult, evaluate_ranking
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.metrics import SHORT_NAMES, make_ruler
from xmlcore.predictions import Predictions, agreement, cut_predictions, read_predictions
from xmlcore.readers.files import storable_name

TABLE_1 = Path(__file__).resolve().parents[2] / "data" / "table1.csv"
WITH_LM = ("Eurlex-4K", "Wiki10-31K", "AmazonCat-13K")


@cache
def table_1() -> pd.DataFrame:
    """Table 1 of the paper: data set, system, and four metrics in percent; our variants under their names here."""
    return pd.read_csv(TABLE_1).replace({"system": {"XML-ridge_PS": RIDGE_PS}})


def row(system: str, result: VariantResult, n_labels: int) -> dict[str, object]:
    """One system's row in the table's columns, in percent; they are fewer, or others, where there are fewer labels."""
    values = {}
    for metric, k in FOUR_NUMBERS.values():
        k = min(k, n_labels)
        values[f"{SHORT_NAMES[metric]}@{k}"] = 100 * result.metrics[metric][k]
    return {"system": system, **values}


def best_in_bold(table: pd.DataFrame, among: int | None = None):
    """The table with two decimals, the best of each column in bold: of all rows, or of so many at the top."""
    numbers = table.style.format("{:.2f}", na_rep="")
    return numbers.highlight_max(props="font-weight: bold", subset=pd.IndexSlice[table.index[:among], :])


def beside_the_paper(chosen: str, ours: list[dict[str, object]]) -> tuple[pd.DataFrame, int]:
    """Table 1's rows for a data set with our own rows below, told apart by name, and how many rows are the paper's."""
    table = table_1()
    papers = table[table["dataset"] == chosen].drop(columns="dataset")
    own = pd.DataFrame(ours)
    own["system"] += ", here"
    return pd.concat([papers, own]).set_index("system"), len(papers)


def what_differs(chosen: str, answer: Answer) -> str:
    """Why our own rows and the paper's for a data set are not the same, in plain words."""
    settings = answer.settings
    here = (
        f"The rows that end in “here” were computed on this page: {plain_markdown(answer.model.shown_title)}, "
        f"{answer.rows_text}, {settings_text(settings)}. "
    )
    ours_join = "with one that is not fine-tuned" if "lm" in settings.features else "do not"
    features = f" Its features join TF-IDF with a fine-tuned language model; ours here {ours_join}."
    of_paper = "The paper tuned λ on a tenth of the training data, and its split may be another."
    of_paper += features if chosen in WITH_LM else ""
    if settings.data == chosen:
        return f"{here}{of_paper}"
    if sources.entry_of(settings.data) is None:
        return (
            f"{here}Whether these are the paper's {chosen}, with its split and its features, cannot be told from here: "
            f"compare the values only if they are. {of_paper}"
        )
    return (
        f"{here}That is another data set than the paper's {chosen}, so the values cannot be compared: see how far the "
        f"two variants lie apart, there and here. {of_paper}"
    )


def what_is_missing(others: Mapping[str, Predictions], answer: Answer) -> str:
    """Which systems name fewer labels than the metrics count, which makes them look worse than they may be."""
    K = max(answer.K, *(min(k, answer.dataset.n_labels) for _, k in FOUR_NUMBERS.values()))
    told = []
    for name, other in others.items():
        named = np.count_nonzero(other.top[:, :K] >= 0, axis=1)
        short, none = int(np.count_nonzero(named < K)), int(np.count_nonzero(named == 0))
        if not short:
            continue
        told.append(
            f" {plain_markdown(name)} names fewer than {K} labels for {short:,} of {answer.rows_text}"
            f"{f', none for {none:,}' if none else ''}: what is missing counts as wrong."
        )
    return "".join(told)


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, with a number behind it where another system has it already."""
    numbered = (name if number == 1 else f"{name} ({number})" for number in count(1))
    return next(each for each in numbered if each not in taken)


def agreement_table(tops: dict[str, np.ndarray], k: int) -> pd.DataFrame:
    """How much any two systems agree in their K first labels, in percent."""
    table = pd.DataFrame(100.0, index=list(tops), columns=list(tops))
    for a, b in combinations(tops, 2):
        table.loc[a, b] = table.loc[b, a] = 100 * agreement(tops[a], tops[b], k).mean
    return table.rename_axis("system")


def read_other(name: str, content: bytes, answer: Answer) -> Predictions:
    """A prediction file for the data set's test instances, called as the file is, cut to those that the answer is of.

    Raises DataError, naming file and line, where it cannot be read, is of another data set, or ranks nothing.
    """
    full = answer.model.full
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / storable_name(name)
        path.write_bytes(content)
        found = read_predictions(
            path, full.n_test, full.n_labels, instance_names=full.test_names, label_names=full.label_names
        )
    if not (found.top >= 0).any():
        raise DataError(f"{name} ranks nothing: its scores are all zero or missing, and 0 is no prediction")
    other = cut_to_answer(found, answer)  # what was masked is replaced by what came after it in the file
    top, scores = (each[:, :K_MAX].copy() for each in (other.top, other.scores))
    other = replace(other, name=Path(name).name, top=top, scores=scores)
    if not (other.top >= 0).any():
        what = "their scores are all zero or missing, or of labels that are masked"
        raise DataError(f"{name} ranks nothing for the test instances shown: {what}")
    return other


def cut_to_answer(predictions: Predictions, answer: Answer) -> Predictions:
    """Predictions for all test instances, cut to those of the answer and masked as ours are."""
    return cut_predictions(predictions, answer.model.rows, answer.dataset.test_filter)


def evaluate_other(other: Predictions, answer: Answer) -> VariantResult:
    """The other system in the same metrics as ours; what its lists lack counts as wrong."""
    ruler = make_ruler(answer.dataset.Y_test, answer.metric_theta, max(answer.evaluation.ks))
    missing = max(0, ruler.k_max - other.top.shape[1])
    top = np.pad(other.top, ((0, 0), (0, missing)), constant_values=-1)
    return evaluate_ranking(top, ruler, answer.evaluation.ks)


def side_by_side(other: Predictions, answer: Answer, shared: np.ndarray, rows: np.ndarray) -> pd.DataFrame:
    """Instance by instance: theirs, true labels, and ours with and without PS, the K first of each.

    shared: how much of their list and ours with PS is in common, of each test instance. rows: those to show.
    """
    k, data = answer.K, answer.dataset

    def names(labels: np.ndarray) -> str:
        return ", ".join(data.label_name(label) for label in labels if label >= 0)

    return pd.DataFrame(
        {
            "instance": [data.test_name(row) for row in rows],
            "in common with PS (%)": 100 * shared[rows],
            other.name: [names(other.top[row, :k]) for row in rows],
            "true": [names(data.Y_test[[row]].indices) for row in rows],
            RIDGE: [names(answer.evaluation.ridge.top[row, :k]) for row in rows],
            RIDGE_PS: [names(answer.evaluation.ps.top[row, :k]) for row in rows],
        }
    )
