"""The Compare page: the paper's table as given, and another system's file in our metrics."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import comparison
from pages.shared import model as models
from pages.shared.settings import Settings
from xmlcore import DataError
from xmlcore.analysis import frequency_bins
from xmlcore.predictions import predictions_from_scores, write_predictions


@pytest.fixture(scope="module")
def answer():
    return models.answer(Settings(data="Debtags"))


def test_the_page_shows_our_rows_and_the_papers():
    app = AppTest.from_file("../../app.py", default_timeout=240).run()
    app.switch_page("pages/compare.py").run()
    assert not app.exception
    assert list(app.dataframe[0].value.index) == ["XML-ridge", "XML-ridge with PS"]
    app.selectbox(key="paper_data").set_value("Wiki10-31K").run()
    assert app.dataframe[-1].value.loc["XML-ridge_PS", "P@1"] == 90.01


@pytest.mark.parametrize("format", ["npz", "text", "csv"])
def test_our_own_ranking_written_and_imported_has_our_own_numbers(answer, tmp_path, format):
    ours = predictions_from_scores("ours", models.test_scores(answer.model, 3.0), 20)
    path = tmp_path / f"ours.{'txt' if format == 'text' else format}"
    write_predictions(path, ours, format)
    other = comparison.read_other(path.name, path.read_bytes(), answer)
    found = comparison.evaluate_other(other, answer)
    # A row without features scores 0 everywhere, which a sparse file cannot tell from no prediction.
    for name, (metric, k) in comparison.COLUMNS.items():
        assert found.metrics[metric][k] == pytest.approx(answer.evaluation.ridge.metrics[metric][k], abs=1e-3), name


def test_a_file_for_other_rows_is_refused_with_its_name(answer):
    with pytest.raises(DataError, match=r"wrong\.txt"):
        comparison.read_other("wrong.txt", b"1 598\n0:0.5\n", answer)


def test_a_systems_bars_sum_to_its_precision(answer):
    bins = frequency_bins(answer.dataset.label_counts, "tens")
    heights = comparison.contribution_by_bin(answer.evaluation.ps, answer, bins)
    assert np.sum(heights) == pytest.approx(100 * answer.evaluation.ps.metrics["precision"][5], abs=1e-9)
