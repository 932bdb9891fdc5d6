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
from xmlcore.figures import RIDGE, RIDGE_PS


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


def test_work_behind_the_page_is_of_one_model_and_one_ruler_and_the_search_of_any_model(answer):
    at = {name: replace(answer.settings, **{name: 0.7}) for name in ("A", "B")}
    others = [replace(answer, metric_AB=(0.7, 2.0)), *(replace(answer, settings=each) for each in at.values())]
    for work in (lambda of: paths.paths(of)[0], lambda of: paths.paths(of)[1]):
        assert len({id(work(each)) for each in (answer, *others)}) == 4
    assert paths.paths(answer)[0] is not paths.paths(answer)[1]
    tied, *with_other_A_and_B = map(search.search, others)
    assert tied is not search.search(answer)
    assert {id(each) for each in with_other_A_and_B} == {id(search.search(answer))}


def test_the_numbers_of_all_test_instances_are_of_both_lambdas_the_model_and_the_ruler_at_any_k(answer):
    answer = replace(answer, settings=replace(answer.settings, own_lambda_ps=True, reg_lambda_ps=9.0))
    work = sample.whole_test_set(answer)
    for name in ("reg_lambda", "reg_lambda_ps", "A", "B"):
        other = replace(answer, settings=replace(answer.settings, **{name: 0.7}))
        assert sample.whole_test_set(other) is not work, name
    assert sample.whole_test_set(replace(answer, metric_AB=(0.7, 2.0))) is not work
    assert sample.whole_test_set(replace(answer, settings=replace(answer.settings, K=2))) is work


def test_a_family_is_called_a_source_package_only_in_the_data_sets_of_debian_packages(answer):
    of_debian = replace(answer, settings=Settings("Debtags"))
    alone = SimpleNamespace(**{**vars(answer.model), "dataset": replace(answer.dataset, train_groups=None)})
    assert paths.held_out_text(of_debian).endswith("trained without its whole family (its source package)")
    assert paths.held_out_text(answer).endswith("trained without its whole family")
    assert paths.held_out_text(replace(answer, model=alone)).endswith("trained without itself")


@pytest.fixture
def masked(answer):
    """The answer with a ruler of its own, and masked pairs of training and of test instances."""
    data, rng = answer.dataset, np.random.default_rng(0)
    train, test = (sparse.csr_array((rng.random(Y.shape) < 0.2) * 1.0) for Y in (data.Y_train, data.Y_test))
    data = replace(data, train_filter=train, test_filter=test)
    model = SimpleNamespace(**{**vars(answer.model), "dataset": data, "full": data})
    ruler = inverse_propensity(data.Y_train, 0.9, 0.4)
    return replace(answer, model=model, metric_theta=ruler, metric_AB=(0.9, 0.4))


def is_of(found, expected):
    """Whether metrics are those expected, but for what rounding changes in an order."""
    assert list(found) == list(expected)
    for metric, values in expected.items():
        assert found[metric] == pytest.approx(values, abs=0.004), metric
    return True


def test_the_path_and_the_search_are_of_the_setting_that_they_name_by_the_present_ruler(masked, monkeypatch):
    monkeypatch.setattr(behind, "_fillings", OrderedDict())
    data, ks = masked.dataset, paths.all_ks(masked)
    assert ks == tuple(range(1, data.n_labels + 1))

    def solved(reg_lambda, theta):
        scores = solve_direct(data.X_train, data.Y_train, data.X_test, reg_lambda)
        return evaluate_scores(scores, data.Y_test, theta, masked.metric_theta, ks, exclude=data.test_filter)

    point = next(paths._test_steps(masked, 3.0))
    assert point.reg_lambda == min(np.geomspace(0.1, 10, 25), key=lambda value: abs(np.log(value / 3)))
    expected = solved(point.reg_lambda, masked.theta)
    assert is_of(point.ridge, expected.ridge.metrics)
    assert is_of(point.ps, expected.ps.metrics)
    work = search.search(masked)
    assert work.n_steps == search.N_LAMBDAS * len(search.A_VALUES) * len(search.B_VALUES)
    while not work.results or work.results[-1].A < 0.4:
        work.step()
    setting = work.results[-1]
    assert setting.reg_lambda == min(np.geomspace(0.1, 10, 12), key=lambda value: abs(np.log(value / 3)))
    theta = inverse_propensity(data.Y_train, setting.A, setting.B)
    assert is_of(setting.metrics, solved(setting.reg_lambda, theta).ps.metrics)


def test_the_held_out_path_scores_each_instance_by_a_model_without_its_family(masked):
    data, ks = masked.dataset, paths.all_ks(masked)
    X, Y = data.X_train, data.Y_train
    point = next(each for each in paths._held_out_steps(masked) if each.reg_lambda > 0.9)
    scores = np.empty(Y.shape, np.float32)
    for family in np.unique(data.train_groups):
        own = data.train_groups == family
        scores[own] = solve_direct(X[~own], Y[~own], X[own], point.reg_lambda)
    exact = evaluate_scores(scores, Y, masked.theta, masked.metric_theta, ks, exclude=data.train_filter)
    assert is_of(point.ridge, exact.ridge.metrics)
    assert is_of(point.ps, exact.ps.metrics)


def made_work(*points, n_steps=2):
    work = behind.Filling(iter, n_steps)
    work.results += points
    return work


def a_point(reg_lambda, ridge, ps):
    """A point of a path whose P@1 and PSP@1 are 0 throughout, and others at the K of the settings."""
    of = [{metric: {1: 0.0, 5: value} for metric in ("precision", "psprecision")} for value in (ridge, ps)]
    return paths.Point(reg_lambda, *of)


def test_curves_are_in_percent_at_k_by_lambda_and_the_best_is_told_of_the_held_out_ones(answer):
    test = made_work(a_point(2.0, 0.5, 0.25), a_point(1.0, 0.75, 0.5))
    held_out = made_work(a_point(1.0, 0.25, 0.125), a_point(2.0, 0.375, 0.0625), n_steps=4)
    lines = paths.lines(answer, (test, held_out), "psprecision")
    assert [(line.variant, line.dashed, line.x.tolist(), line.y.tolist()) for line in lines] == [
        (RIDGE, False, [1, 2], [75, 50]),
        (RIDGE_PS, False, [1, 2], [50, 25]),
        (RIDGE, True, [1, 2], [25, 37.5]),
        (RIDGE_PS, True, [1, 2], [12.5, 6.25]),
    ]
    assert paths.best_text(lines) == "Of the λ tried, 2 is best held out and, with PS, 1."
    assert paths.fraction((test, held_out)) == 0.75
    flat = made_work(a_point(1.0, 0.25, 0.25), a_point(2.0, 0.375, 0.25))
    assert paths.best_text(paths.lines(answer, (test, flat), "precision")) == ""
    assert paths.best_text(paths.lines(answer, (test, made_work()), "precision")) == ""
    assert paths.progress_text((made_work(a_point(1.0, 0, 0)), held_out)).startswith("1 of 2 values of λ on the test")


def test_each_variants_marker_stands_at_its_own_lambda_and_its_own_number(answer):
    metrics = {"ridge": {"precision": {5: 0.5}, "psprecision": {5: 0.25}}, "ps": {"precision": {5: 0.375}}}
    metrics["ps"]["psprecision"] = {5: 0.4375}
    both = {name: SimpleNamespace(metrics=values) for name, values in metrics.items()}
    there = replace(answer, evaluation=SimpleNamespace(reg_lambda=2.0, reg_lambda_ps=8.0, **both))
    assert paths.markers(there, "precision") == {RIDGE: (2, 50), RIDGE_PS: (8, 37.5)}
    assert paths.markers(there, "psprecision") == {RIDGE: (2, 25), RIDGE_PS: (8, 43.75)}
    assert search.plane_markers(there) == {RIDGE: (50, 25), RIDGE_PS: (37.5, 43.75)}


def test_few_instances_are_held_out_where_each_costs_much_and_all_where_they_are_few(answer, monkeypatch):
    assert paths._held_out_rows(answer) == answer.dataset.n_train == 244
    assert paths.held_out_text(answer).startswith("244 training instances")
    monkeypatch.setattr(paths, "HELD_OUT_ROWS", 230)
    assert paths._held_out_rows(answer) == 230
    assert paths.held_out_text(answer).startswith("about 230 of 244 training instances")
    monkeypatch.setattr(paths, "HELD_OUT_OPERATIONS", 210 * 2.0 * 244 * 8 * 25)
    assert paths._held_out_rows(answer) == 210
    monkeypatch.setattr(paths, "HELD_OUT_OPERATIONS", 1.0)
    assert paths._held_out_rows(answer) == 200  # fewer would tell little, whatever they cost


MADE = make_dataset("bibtex", scale=0.3)
# A third of the test instances have none of the features, and some pairs are masked.
SAMPLED = replace(
    MADE,
    X_test=sparse.csr_array(MADE.X_test * (np.arange(MADE.n_test) % 3 > 0)[:, None]),
    test_filter=sparse.csr_array((np.random.default_rng(0).random(MADE.Y_test.shape) < 0.2) * 1.0),
)


@pytest.fixture
def sampled(monkeypatch):
    """A data set of which the page answers on a sample of 200 test instances."""
    monkeypatch.setattr(model, "SAMPLE_SCORES", 0)
    monkeypatch.setattr(model, "store", lambda: None)
    monkeypatch.setattr(sources, "names", lambda: ["Sampled"])
    monkeypatch.setattr(sources, "raw", lambda title: SAMPLED)
    return SAMPLED


def test_a_sampled_page_says_so_and_then_has_the_numbers_of_all_test_instances(sampled):
    app = start(A="0.8", K="4", own_lambda_ps="true", reg_lambda_ps="24.0")
    whole = sampled.n_test
    assert f"a sample of 200 of {whole:,} test instances" in texts(app)
    of = model.model_of("Sampled", "")
    empty = np.count_nonzero(of.rows % 3 == 0)
    assert f"{empty} of these test instances share no feature with a training instance that has labels: " in texts(app)
    assert [of.dataset.test_name(at) for at in (0, 9)] == [of.full.test_name(row) for row in of.rows[[0, 9]].tolist()]
    run_until(app, lambda app: "On all" in texts(app))
    told = re.search(rf"On all {whole:,} test instances: (.*)", texts(app)).group(1)
    scores, scores_ps = (solve_direct(sampled.X_train, sampled.Y_train, sampled.X_test, at) for at in (3.0, 24.0))
    theta, ruler = inverse_propensity(sampled.Y_train, 0.8, 1.5), metric_inverse_propensity(sampled)
    masks = {"scores_ps": scores_ps, "exclude": sampled.test_filter}
    both = evaluate_scores(scores, sampled.Y_test, theta, ruler, (4,), **masks)
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
