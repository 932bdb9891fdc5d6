"""Answers, and the models that they come from, against exact solutions of small data."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from pages.shared import answers, model, sources
from pages.shared.settings import Settings
from pages.shared.sizes import held_bytes
from tests.app.helpers import only_data_set, small, until
from xmlcore import DataError, Dataset, evaluate_scores, inverse_propensity, solve_direct
from xmlcore.store import Store

TITLE = "small (1a2b3c4d)"
MASK = sparse.csr_array((np.random.default_rng(1).random((20, 7)) < 0.2) * 1.0)
DATA = replace(small(), A=0.3, B=2.0, test_filter=MASK)


@pytest.fixture(autouse=True)
def only_small(monkeypatch, tmp_path):
    """One data set with a ruler of its own and masked pairs, of which nothing is ready when a test begins."""
    kept = Store(tmp_path / "cache")
    monkeypatch.setattr(model, "store", lambda: kept)
    with only_data_set(monkeypatch, TITLE, DATA):
        yield


@pytest.mark.parametrize("tied", [False, True])
def test_an_answer_is_of_both_lambdas_of_the_models_theta_and_of_the_ruler_without_masked_pairs(tied):
    settings = Settings(TITLE, 0.5, True, 8.0, A=0.9, B=0.4, K=2, tie_metric=tied)
    AB = (0.9, 0.4) if tied else ()
    assert answers.metric_AB_of(settings) == AB
    answers._answer(settings, () if tied else (0.9, 0.4))  # by the other ruler, which is not to be given again
    answer = answers._answer(settings, AB)
    theta, ruler = (inverse_propensity(DATA.Y_train, *each) for each in ((0.9, 0.4), AB or (0.3, 2.0)))
    data = answer.dataset
    ridge, ps = (solve_direct(data.X_train, data.Y_train, data.X_test, at) for at in (0.5, 8.0))
    exact = evaluate_scores(ridge, data.Y_test, theta, ruler, (1, 2, 3, 5), scores_ps=ps, exclude=MASK)
    for ours, expected in ((answer.evaluation.ridge, exact.ridge), (answer.evaluation.ps, exact.ps)):
        np.testing.assert_array_equal(ours.top, expected.top)
        for metric, values in expected.metrics.items():
            assert ours.metrics[metric] == pytest.approx(values), metric
    assert (answer.evaluation.reg_lambda, answer.evaluation.reg_lambda_ps) == (0.5, 8.0)


def test_two_values_of_lambda_that_are_near_each_other_have_scores_of_their_own():
    of = model.model_of(TITLE, "")
    for reg_lambda in (0.5, 0.501):
        exact = solve_direct(of.dataset.X_train, of.dataset.Y_train, of.dataset.X_test, reg_lambda)
        np.testing.assert_allclose(answers.scores_on_test(of, reg_lambda), exact, atol=2e-5)


def test_a_direct_solver_that_goes_while_a_page_asks_still_gives_its_scores():
    class Racing:
        """A model whose factorisation comes, and its solver goes, right after it was looked at."""

        full = dataset = model.model_of(TITLE, "").dataset
        direct = model.model_of(TITLE, "").direct

        @property
        def ready(self) -> bool:
            self.direct = None
            return False

    found = answers.scores_on_test(Racing(), 0.7)
    np.testing.assert_allclose(found, model.model_of(TITLE, "").direct.scores(Racing.dataset.X_test, 0.7), atol=1e-6)


def test_the_held_setting_has_the_present_k_and_ruler_and_is_none_of_other_features(monkeypatch):
    now = Settings(TITLE, A=0.9, B=0.4, K=4, tie_metric=True)
    for features, there in (("", True), ("unit", False)):
        monkeypatch.setattr(answers, "held", lambda features=features: Settings(TITLE, 9.0, K=2, features=features))
        ghost = answers.held_answer(now)
        assert (ghost is not None) == there
        if there:
            assert ghost.settings == Settings(TITLE, 9.0, K=4)
            assert ghost.metric_AB == (0.9, 0.4)
            assert 4 in ghost.evaluation.ks


def test_k_is_cut_to_the_labels_that_there_are():
    assert answers._answer(Settings(TITLE, K=9), ()).K == 7
    assert answers._answer(Settings(TITLE, K=6), ()).K == 6


def test_a_model_from_the_cache_on_disk_has_the_projection_of_its_own_test_instances(monkeypatch):
    def is_right(of: model.Model) -> bool:
        exact = of.factorization.project(of.dataset.X_test)
        return of.projection.shape == exact.shape and np.allclose(of.projection, exact, atol=1e-5)

    whole = model.Model(TITLE, "")
    whole.start()
    until(lambda: model.store().get(whole._key("projection 20")))
    assert is_right(whole)
    monkeypatch.setattr(model, "_sample_rows", lambda data: np.array([3, 8, 17]))
    sampled = model.Model(TITLE, "")
    assert sampled.progress.from_cache  # the factorisation, not the projection of the others
    assert sampled.projection.shape[0] == 3
    assert is_right(sampled)
    kept = model.store().get(sampled._key("projection 3"))  # for the next start, as the whole's is
    np.testing.assert_array_equal(kept[0]["P"], sampled.projection)
    assert sampled.lambda_range == whole.lambda_range
    arrays = [*whole.factorization.arrays().values(), whole.projection]
    assert whole.n_bytes == pytest.approx(held_bytes(whole.full) + sum(array.nbytes for array in arrays), rel=0.1)
    monkeypatch.setattr(model, "store", lambda: None)
    alone = model.Model(TITLE, "")
    alone.start()
    until(lambda: alone.ready)
    assert is_right(alone)


@pytest.mark.parametrize(
    ("n_train", "n_features", "n_labels", "n_test", "rows"),
    [
        (5_000, 8_000, 6_000, 9_000, 2_000),  # one product of 2 · 5,000 · 6,000 operations a row, 1.2e11 in all
        (8_000, 5_000, 6_000, 9_000, 2_000),
        (100, 8_000, 60_000, 9_000, 1_000),  # 60,000 scores a row, 60 million in all
        (10_000, 10_000, 1_000_000, 9_000, 200),  # fewer would tell little
        (5_000, 8_000, 6_000, 2_000, 2_000),
    ],
)
def test_a_sample_has_as_many_test_instances_as_are_answered_in_time(n_train, n_features, n_labels, n_test, rows):
    data = SimpleNamespace(n_train=n_train, n_features=n_features, n_labels=n_labels, n_test=n_test)
    found = model._sample_rows(data)
    assert found.tolist() == sorted(set(found.tolist())) == model._sample_rows(data).tolist()
    assert len(found) == rows
    assert 0.9 * n_test < found[-1] < n_test  # of all parts of the test set


def test_a_model_that_cannot_be_made_is_refused_before_it_is_begun(monkeypatch):
    wide = sparse.csr_array(([1.0] * 3, ([0, 1, 2], [0, 1, 2])), shape=(40_000, 40_000), dtype=np.float32)
    Y = sparse.csr_array(([1.0] * 3, ([0, 1, 2], [0, 0, 1])), shape=(40_000, 2), dtype=np.float32)
    refused = {"at least 3": small(n_train=2), "at most 32,766": Dataset("wide", wide, Y, wide[:5], Y[:5])}
    for told, data in refused.items():
        monkeypatch.setattr(sources, "raw", lambda title, data=data: data)
        with pytest.raises(DataError, match=told):
            model.Model(TITLE, "raw")


def test_a_visitors_own_data_set_is_called_as_it_was_without_the_key_to_it():
    assert model.model_of(TITLE, "").shown_title == "small"
    assert model.Model("Debtags", "").shown_title == "Debtags"


def test_what_other_processes_read_and_write_is_all_of_the_queue_and_what_is_about_to_be_in_it(monkeypatch):
    monkeypatch.setattr(model, "_elsewhere", {"factorised"})
    monkeypatch.setattr(model, "queue", lambda: [SimpleNamespace(key="trained/baseline plt/1")])
    assert model.in_use_on_disk() == {"factorised", "trained"}
