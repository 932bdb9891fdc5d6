"""What Tune fills in behind the page: the path, all test instances where a sample was answered on, the frontier."""

import re
from collections import OrderedDict
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from pages.shared import answers, behind, model, paths, sample, search, sources
from pages.shared.settings import LAMBDA_MAX, LAMBDA_MIN, Settings
from tests.app.helpers import charts, run_until, start, texts
from xmlcore import (
    RidgeFactorization,
    evaluate_scores,
    inverse_propensity,
    make_dataset,
    metric_inverse_propensity,
    solve_direct,
)


@pytest.fixture(scope="module")
def answer():
    """An answer on a small data set in which some instances have near-duplicates, their families."""
    data = make_dataset("bibtex", scale=0.05)
    fac = RidgeFactorization.fit(data.X_train, data.Y_train)
    P, theta = fac.project(data.X_test), inverse_propensity(data.Y_train, 0.55, 1.5)
    known = {"factorization": fac, "projection": P, "lambda_range": (0.1, 10.0), "size": data.n_train}
    made = SimpleNamespace(dataset=data, full=data, **known)
    evaluation = evaluate_scores(fac.scores(P, 3.0), data.Y_test, theta, theta)
    return answers.Answer(made, Settings("Synthetic, shaped like bibtex"), evaluation, theta, theta)


def test_the_held_out_path_tells_how_far_it_is_before_its_results_arrive_together(answer, monkeypatch):
    monkeypatch.setattr(behind, "_fillings", OrderedDict())  # a step gives way to what another test's page waits for
    work, told, step_aside = paths.paths(answer), [], behind.step_aside

    def spied(*done: float) -> None:
        step_aside(*done)
        if behind._at_work.filling is work[1]:  # the thread behind the pages may be at another test's work
            told.append((paths.fraction(work), paths.progress_text(work)))

    while not work[0].done:
        work[0].step()
    monkeypatch.setattr(behind, "step_aside", spied)
    work[1].step()
    assert work[1].error is None
    fractions = [fraction for fraction, _ in told]
    assert 0.5 < fractions[0] < fractions[-1] == 1
    assert (np.diff(fractions) > 0).all()
    assert {text for _, text in told} == {"Held out, at all 25 values of λ together"}


def test_equal_data_share_work_behind_the_page_whatever_they_are_called_and_other_data_do_not(answer):
    renamed = replace(answer, settings=Settings("Another title"))
    others = SimpleNamespace(**{**vars(answer.model), "full": make_dataset("bibtex", seed=1, scale=0.05)})
    for work in (lambda of: paths.paths(of)[0], lambda of: paths.paths(of)[1], search.search, sample.whole_test_set):
        assert work(renamed) is work(answer)
        assert work(replace(answer, model=others)) is not work(answer)


def test_a_family_is_called_a_source_package_only_in_the_data_sets_of_debian_packages(answer):
    of_debian = replace(answer, settings=Settings("Debtags"))
    alone = SimpleNamespace(**{**vars(answer.model), "dataset": replace(answer.dataset, train_groups=None)})
    assert paths.held_out_text(of_debian).endswith("trained without its whole family (its source package)")
    assert paths.held_out_text(answer).endswith("trained without its whole family")
    assert paths.held_out_text(replace(answer, model=alone)).endswith("trained without itself")


MADE = make_dataset("bibtex", scale=0.3)
# A third of the test instances have none of the features.
SAMPLED = replace(MADE, X_test=sparse.csr_array(MADE.X_test * (np.arange(MADE.n_test) % 3 > 0)[:, None]))


@pytest.fixture
def sampled(monkeypatch):
    """A data set of which the page answers on a sample of 200 test instances."""
    monkeypatch.setattr(model, "SAMPLE_SCORES", 0)
    monkeypatch.setattr(model, "store", lambda: None)
    monkeypatch.setattr(sources, "names", lambda: ["Sampled"])
    monkeypatch.setattr(sources, "raw", lambda title: SAMPLED)
    return SAMPLED


def test_a_sampled_page_says_so_and_then_has_the_numbers_of_all_test_instances(sampled):
    app = start(A="0.8", K="4")
    whole = sampled.n_test
    assert f"a sample of 200 of {whole:,} test instances" in texts(app)
    of = model.model_of("Sampled", "")
    empty = np.count_nonzero(of.rows % 3 == 0)
    assert f"{empty} of these test instances share no feature with a training instance that has labels: " in texts(app)
    assert [of.dataset.test_name(at) for at in (0, 9)] == [of.full.test_name(row) for row in of.rows[[0, 9]].tolist()]
    run_until(app, lambda app: "On all" in texts(app))
    told = re.search(rf"On all {whole:,} test instances: (.*)", texts(app)).group(1)
    scores = solve_direct(sampled.X_train, sampled.Y_train, sampled.X_test, 3.0)
    theta, ruler = inverse_propensity(sampled.Y_train, 0.8, 1.5), metric_inverse_propensity(sampled)
    both = evaluate_scores(scores, sampled.Y_test, theta, ruler, (4,))
    expected = [100 * each.metrics[m][4] for m in ("precision", "psprecision") for each in (both.ridge, both.ps)]
    assert [float(number) for number in re.findall(r"[\d.]+(?= %)", told)] == pytest.approx(expected, abs=0.03)
    assert "are being evaluated behind the page" not in texts(app)


def drawn(app, name):
    """The traces of a chart; none where the page has no such chart."""
    return [trace for chart in charts(app, name) for trace in chart["data"]]


def points_of(trace):
    return list(zip(trace["x"], trace["y"], strict=True))


def test_the_curves_are_solid_on_test_instances_and_dashed_held_out_with_the_best_lambda_in_words(sampled):
    app = run_until(start(), lambda app: "best held out" in texts(app))
    for name in ("path_precision", "path_psprecision"):
        lines = [trace for trace in drawn(app, name) if "line" in trace]
        best = [f"{line['x'][line['y'].index(max(line['y']))]:.3g}" for line in lines[2:]]
        assert f"Of the λ tried, {best[0]} is best held out and, with PS, {best[1]}." in texts(app)
        assert [trace["line"]["dash"] for trace in lines] == ["solid", "solid", "dash", "dash"]
        rows = ["a sample of 200"] * 2 + ["held out"] * 2
        assert all(each in trace["hovertemplate"] for each, trace in zip(rows, lines, strict=True))


def test_a_link_that_asks_for_the_search_shows_every_setting_and_the_frontier_of_the_best(sampled):
    app = start(search="true")
    run_until(app, lambda app: drawn(app, "tradeoff") and len(drawn(app, "tradeoff")[0]["customdata"]) == 12 * 8 * 3)
    dots, line = drawn(app, "tradeoff")[:2]
    points = points_of(dots)
    best = {a for a in points if not any(b != a and b[0] >= a[0] and b[1] >= a[1] for b in points)}
    assert points_of(line) == sorted(best)
    at, name = next((at, name) for at, name in enumerate(dots["customdata"]) if name.endswith("A = 0, B = 1.5"))
    app = start(reg_lambda=re.match(r"λ = (\S+),", name).group(1))
    assert points[at] == pytest.approx([float(app.metric[card].value) for card in (2, 5)], abs=0.6)  # P@5 and PSP@5


def test_where_no_test_instance_has_a_label_the_page_says_why_nothing_is_right(monkeypatch):
    data = replace(MADE, Y_test=MADE.Y_test * 0)
    monkeypatch.setattr(sources, "names", lambda: ["Unlabelled"])
    monkeypatch.setattr(sources, "raw", lambda title: data)
    app = start()
    assert not app.exception
    assert {card.value for card in app.metric} == {"0.00"}
    assert any(each.value.startswith("No test instance has a label") for each in app.warning)


def test_where_no_label_of_a_test_instance_was_trained_the_page_says_why_nothing_is_right(monkeypatch):
    half = np.arange(MADE.n_labels) % 2.0
    data = replace(
        MADE, Y_train=MADE.Y_train @ sparse.diags_array(half), Y_test=MADE.Y_test @ sparse.diags_array(1 - half)
    )
    monkeypatch.setattr(sources, "names", lambda: ["Apart"])
    monkeypatch.setattr(sources, "raw", lambda title: data)
    app = start()
    assert not app.exception
    assert [each.value for each in app.warning] == [
        "No label of a test instance occurs in training: none can be learned, and a hit is chance."
    ]


@pytest.mark.parametrize(("scale", "low", "high"), [(1e8, 1e11, LAMBDA_MAX), (1e-8, LAMBDA_MIN, 1e-8)])
def test_the_slider_offers_no_lambda_that_no_address_may_hold(monkeypatch, scale, low, high):
    monkeypatch.setattr(model, "store", lambda: None)
    monkeypatch.setattr(sources, "raw", lambda title: replace(MADE, X_train=MADE.X_train * scale))
    assert model.Model("Made", "").lambda_range == pytest.approx((low, high))
