"""The figures that were measured on Bibtex with another implementation: binary features, A = 0.55, B = 1.5, percent."""

import pytest

from tests.mulan import load_mulan
from xmlcore import RidgeFactorization, evaluate, evaluate_scores, inverse_propensity


@pytest.fixture(scope="module")
def bibtex(test_data):
    return load_mulan(test_data / "mulan", "bibtex")


@pytest.fixture(scope="module")
def fac(bibtex):
    return RidgeFactorization.fit(bibtex.X_train, bibtex.Y_train)


@pytest.fixture(scope="module")
def theta(bibtex):
    return inverse_propensity(bibtex.Y_train, A=0.55, B=1.5)


def percent(variant):
    return [100 * variant.metrics[metric][k] for metric in ("precision", "psprecision") for k in (1, 5)]


def test_ridge_at_92_and_weighted_ridge_at_93_give_the_published_figures(bibtex, fac, theta):
    found = evaluate(fac, fac.project(bibtex.X_test), bibtex.Y_test, 92.0, theta, theta, ks=(1, 5), reg_lambda_ps=93.0)
    assert percent(found.ridge) == pytest.approx([63.10, 29.15, 48.28, 58.97], abs=0.05)
    assert percent(found.ps) == pytest.approx([65.92, 29.73, 52.40, 61.05], abs=0.05)


def test_leave_one_out_of_the_training_rows_gives_the_published_figures(bibtex, fac, theta):
    scores = fac.leave_one_out_scores(92.0)
    found = evaluate_scores(scores, bibtex.Y_train, theta, theta, ks=(1, 5))
    assert percent(found.ps) == pytest.approx([65.74, 29.83, 52.57, 62.20], abs=0.05)
