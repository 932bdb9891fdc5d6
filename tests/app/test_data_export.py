"""Taken away from the page "Data": the data set, the code of its numbers, and predictions that give them again."""

import io
import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import streamlit as st
from scipy import sparse
from streamlit.testing.v1 import AppTest

from pages.shared import answers, comparison, model, sources
from pages.shared.data_code import code_text
from pages.shared.data_export import PREDICTION_FILES, WRITERS, predictions_file, predictions_name, zipped
from pages.shared.settings import Settings
from tests.app.helpers import data_page, small, start, texts, unfolded
from xmlcore import Dataset
from xmlcore.evaluation import evaluate_ranking
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.metrics import make_ruler
from xmlcore.predictions import agreement, read_predictions
from xmlcore.readers import LIMITS, read, write_npz

OTHER = {
    "features": "tfidf+unit+terms:300",
    "reg_lambda": "2.5",
    "own_lambda_ps": "true",
    "reg_lambda_ps": "8",
    "A": "0.9",
    "B": "2",
    "K": "4",
    "tie_metric": "true",
}


def unnamed(n_labels: int, mask: bool = False) -> Dataset:
    """A data set without names of anything and with a ruler of its own, of which some pairs are masked."""
    rng = np.random.default_rng(7)
    X = sparse.random_array((90, 12), density=0.4, rng=rng, dtype=np.float32).tocsr()
    Y = sparse.csr_array((rng.random((90, n_labels)) < 0.3).astype(np.float32))
    masked = sparse.csr_array((rng.random((30, n_labels)) < 0.2).astype(np.float32)) if mask else None
    return Dataset("my data", X[:60], Y[:60], X[60:], Y[60:], test_filter=masked, A=0.3, B=2.0)


def opened_with(data: Dataset, monkeypatch) -> AppTest:
    """The app on Tune with a visitor's own data set."""
    title = f"{data.name} ({data.fingerprint[:8]})"
    monkeypatch.setitem(sources._own, title, data)
    app = start()
    app.session_state[sources.OWN] = [title]
    app.run()
    app.sidebar.selectbox(key="data").set_value(title).run()
    assert not app.exception
    return app


def code_of(app: AppTest) -> str:
    unfolded(app).switch_page("pages/data.py").run()
    assert not app.exception
    (code,) = (each.value for each in app.code if each.value.startswith("from xmlcore import "))
    return code


def printed_by(code: str, capsys) -> dict[str, str]:
    """What the code prints, by variant and metric."""
    capsys.readouterr()
    exec(code, {})
    found = {}
    for line in capsys.readouterr().out.splitlines():
        variant = line.split(" P")[0] if RIDGE_PS not in line else RIDGE_PS
        found |= {f"{variant} {name}": value for name, value in re.findall(r"(PS?P?@\d+) ([\d.]+)", line)}
    return found


def cards(app: AppTest, ks: tuple[int, ...]) -> dict[str, str]:
    """The numbers of Tune's cards by variant and metric."""
    names = [f"{variant} {metric}@{k}" for variant in (RIDGE, RIDGE_PS) for metric in ("P", "PSP") for k in ks]
    return dict(zip(names, (each.value for each in app.metric), strict=True))


@pytest.mark.parametrize("label", WRITERS)
def test_an_export_read_again_is_the_same_data_set(tmp_path, label):
    ds = small()
    path = tmp_path / "out.zip"
    path.write_bytes(zipped(ds, WRITERS[label][1]))
    assert zipfile.ZipFile(io.BytesIO(path.read_bytes())).testzip() is None
    again = read(path)
    assert again.fingerprint == ds.fingerprint


def test_what_is_too_large_to_hand_over_for_its_texts_is_not_exported(monkeypatch):
    monkeypatch.setattr("pages.shared.data_export.LIMITS", replace(LIMITS, max_upload_bytes=10_000_000))
    data = replace(small(), train_texts=["word " * 100_000] * 60)
    monkeypatch.setattr(sources, "names", lambda: ["Texts"])
    monkeypatch.setattr(sources, "raw", lambda title: data)
    assert "more than a page can hand over" in texts(data_page())


# Code.


@pytest.mark.parametrize("params", [{}, OTHER], ids=["as it opens", "other"])
def test_the_code_prints_the_numbers_of_the_cards(params, capsys):
    app = start(**params)
    shown = cards(app, (1, 3, 5))
    printed = printed_by(code_of(app), capsys)
    assert {name: printed.pop(name) for name in shown} == shown
    assert set(printed) == ({f"{v} {m}@4" for v in (RIDGE, RIDGE_PS) for m in ("P", "PSP")} if params else set())


def test_a_visitors_own_data_are_read_by_the_code_from_the_export_beside_it(tmp_path, capsys, monkeypatch):
    data = unnamed(n_labels=3, mask=True)
    app = opened_with(data, monkeypatch)
    shown = cards(app, (1, 3))
    code = code_of(app)
    assert 'load_dataset("my-data-npz.zip")  # the npz export above, or your own files' in code
    assert "the first 3 labels of each of 30 test instances" in texts(app)
    (tmp_path / "my-data-npz.zip").write_bytes(zipped(data, write_npz))
    monkeypatch.chdir(tmp_path)
    assert printed_by(code, capsys) == shown


def test_the_code_says_only_what_the_setting_needs():
    data = unnamed(n_labels=7)
    plain = code_text(Settings("x"), data, "x")
    assert not re.search("reg_lambda_ps|exclude|features=", plain)
    assert "A=0.3, B=2.0),  # PSP's: the data set's own" in plain


# Predictions.


@pytest.fixture(params=["Debtags, own λ", "masked, K beyond the labels", "K = 1"])
def answer(request, monkeypatch) -> answers.Answer:
    if request.param == "Debtags, own λ":
        return answers.answer_at(
            Settings("Debtags", reg_lambda=2.5, own_lambda_ps=True, reg_lambda_ps=8.0, A=0.9, B=2.0, K=8)
        )
    data = unnamed(n_labels=3, mask=True) if "masked" in request.param else unnamed(n_labels=9)
    title = f"{data.name} ({data.fingerprint[:8]})"
    monkeypatch.setitem(sources._own, title, data)
    return answers.answer_at(Settings(title, K=1 if request.param == "K = 1" else 5))


@pytest.mark.parametrize("format", PREDICTION_FILES)
def test_predictions_read_back_give_the_metrics_of_the_page(answer, format, tmp_path):
    data = answer.model.full
    for variant, ours in ((RIDGE, answer.evaluation.ridge), (RIDGE_PS, answer.evaluation.ps)):
        path = tmp_path / f"file.{PREDICTION_FILES[format]}"
        path.write_bytes(predictions_file(answer.model, answer.settings, variant, format))
        found = read_predictions(path, data.n_test, data.n_labels)
        ruler = make_ruler(data.Y_test, answer.metric_theta, max(answer.evaluation.ks))
        again = evaluate_ranking(found.top, ruler, answer.evaluation.ks)
        for metric, values in ours.metrics.items():
            assert again.metrics[metric] == pytest.approx(values, abs=1e-6), metric


@pytest.mark.parametrize("variant", [RIDGE, RIDGE_PS])
def test_predictions_given_to_compare_agree_with_ours_everywhere(answer, variant):
    ours = answer.evaluation.ps if variant == RIDGE_PS else answer.evaluation.ridge
    content = predictions_file(answer.model, answer.settings, variant, "npz")
    other = comparison.read_other("ours.npz", content, answer)
    np.testing.assert_array_equal(other.top[:, : ours.top.shape[1]], ours.top)
    assert comparison.evaluate_other(other, answer).metrics == ours.metrics
    assert agreement(other.top, ours.top, answer.K).mean == 1


def test_scores_with_ps_are_those_without_times_theta(tmp_path):
    answer = answers.answer_at(Settings("Debtags"))
    plain, weighted = (tmp_path / name for name in ("plain.npz", "weighted.npz"))
    for path, variant in ((plain, RIDGE), (weighted, RIDGE_PS)):
        path.write_bytes(predictions_file(answer.model, answer.settings, variant, "npz"))
    s, s_ps = (sparse.csr_array(sparse.load_npz(path)) for path in (plain, weighted))
    both = s.astype(bool).multiply(s_ps.astype(bool)).tocsr()
    assert both.nnz > s.nnz / 2
    np.testing.assert_allclose(s_ps.multiply(both).toarray(), (s.multiply(both) * answer.theta).toarray(), rtol=1e-6)


def test_of_a_sample_of_the_test_instances_no_predictions_are_offered(monkeypatch):
    monkeypatch.setattr(model, "_sample_rows", lambda data: np.arange(0, data.n_test, 3))
    app = opened_with(unnamed(n_labels=8), monkeypatch)
    code_of(app)
    labels = [each.proto.label for each in app.get("download_button")]
    assert not any("Predictions" in label for label in labels)
    assert "the pages answer on a sample of 10 of 30 test instances" in texts(app)
    assert "of 30 test instances. The pages show those of a sample of 10" in texts(app)


def test_each_button_hands_over_what_it_names(tmp_path, monkeypatch):
    files, offered = {}, st.download_button

    def offer(*args, data, file_name, **told):
        files[file_name] = data
        return offered(*args, data=data, file_name=file_name, **told)

    monkeypatch.setattr(st, "download_button", offer)
    data = unnamed(n_labels=9, mask=True)
    app = opened_with(data, monkeypatch)
    title = app.sidebar.selectbox(key="data").value
    app.sidebar.text_input(key="features").set_value("unit+svd:4").run()
    app.sidebar.number_input(key="reg_lambda").set_value(0.5).run()
    code_of(app)
    settings = Settings(title, reg_lambda=0.5, reg_lambda_ps=0.5, features="unit+svd:4")
    of = model.model_of(title, "unit+svd:4")
    for name in (RIDGE, RIDGE_PS):
        for format, ending in PREDICTION_FILES.items():
            content = files[f"{predictions_name('my data', settings, name)}.{ending}"]()
            (tmp_path / f"found.{ending}").write_bytes(content)
            (tmp_path / f"wanted.{ending}").write_bytes(predictions_file(of, settings, name, format))
            found, wanted = (read_predictions(tmp_path / f"{each}.{ending}", 30, 9) for each in ("found", "wanted"))
            np.testing.assert_array_equal(found.top, wanted.top)
            np.testing.assert_array_equal(found.scores, wanted.scores)
    for short, train in (("xc", "train.txt"), ("npz", "X.trn.npz")):
        path = tmp_path / f"my-data-{short}.zip"
        path.write_bytes(files[path.name]())
        assert train in zipfile.ZipFile(path).namelist()
        assert read(path).fingerprint == data.fingerprint  # the features as they were given


def test_each_variant_is_offered_in_each_format():
    app = start(K="1")
    code_of(app)
    labels = [each.proto.label for each in app.get("download_button")]
    assert [
        f"Predictions of {variant}, {format}" in labels for variant in (RIDGE, RIDGE_PS) for format in PREDICTION_FILES
    ] == [True] * 4
    assert "the first 5 labels of each of 6,131 test instances" in texts(app)


def test_predictions_at_different_settings_have_different_names():
    own = Settings("my data", reg_lambda=8, own_lambda_ps=True, reg_lambda_ps=0.25, A=0.7, B=2)
    assert predictions_name("my data", own, RIDGE) == "my-data-xml-ridge-lambda-8"
    assert predictions_name("my data", own, RIDGE_PS) == "my-data-xml-ridge-with-ps-lambda-0.25-A-0.7-B-2"
