"""What Tune fills in behind the page: how far the held-out path is, and what it says was left out."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pages.shared import behind, model, paths
from pages.shared.settings import Settings
from xmlcore import RidgeFactorization, evaluate_scores, inverse_propensity, make_dataset


@pytest.fixture(scope="module")
def answer():
    """An answer on a small data set in which some instances have near-duplicates, their families."""
    data = make_dataset("bibtex", scale=0.05)
    fac = RidgeFactorization.fit(data.X_train, data.Y_train)
    P, theta = fac.project(data.X_test), inverse_propensity(data.Y_train, 0.55, 1.5)
    made = SimpleNamespace(dataset=data, factorization=fac, projection=P, lambda_range=(0.1, 10.0), size=data.n_train)
    evaluation = evaluate_scores(fac.scores(P, 3.0), data.Y_test, theta, theta)
    return model.Answer(made, Settings("Synthetic, shaped like bibtex"), evaluation, theta, theta)


def test_the_held_out_path_tells_how_far_it_is_before_its_results_arrive_together(answer, monkeypatch):
    work, told, step_aside = paths.paths(answer), [], behind.step_aside

    def spied(*done: float) -> None:
        step_aside(*done)
        if done:  # the thread behind the pages has none, where it is awake
            told.append((paths.fraction(work), paths.progress_text(work)))

    while not work[0].done:
        work[0].step()
    monkeypatch.setattr(behind, "step_aside", spied)
    work[1].step()
    assert work[1].error is None
    fractions = [fraction for fraction, _ in told]
    assert 0.5 < fractions[0] < fractions[-1] == 1
    assert (np.diff(fractions) > 0).all()
    assert all(text == f"Held out, at all 25 values of λ together: {200 * f - 100:.0f} %" for f, text in told)


def test_a_family_is_called_a_source_package_only_in_the_data_sets_of_debian_packages(answer):
    of_debian = replace(answer, settings=Settings("Debtags"))
    alone = SimpleNamespace(**{**vars(answer.model), "dataset": replace(answer.dataset, train_groups=None)})
    assert paths.held_out_text(of_debian).endswith("trained without its whole family (its source package)")
    assert paths.held_out_text(answer).endswith("trained without its whole family")
    assert paths.held_out_text(replace(answer, model=alone)).endswith("trained without itself")
