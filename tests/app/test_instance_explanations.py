"""How scores of the Instances page are explained and written, on a small data set."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from pages.shared import instance_find as find
from pages.shared import instance_view as view
from pages.shared import instance_why as why
from pages.shared.instance_subject import explain, subject_of_row
from pages.shared.settings import lambda_text
from tests.app.tiny import BUILT, OWN, SAME, WORDS, answer_at
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.figures_explain import digits_of, explanation_bars, number_text


@pytest.mark.parametrize("settings", [SAME, OWN])
@pytest.mark.parametrize("variant", [RIDGE, RIDGE_PS])
def test_the_bars_of_both_explanations_add_up_to_the_score_in_the_list(settings, variant):
    answer = answer_at(settings)
    answer = replace(answer, metric_theta=np.ones_like(answer.theta))  # of the ruler nothing is in a score
    for row in range(0, 30, 7):
        subject = subject_of_row(answer, row)
        for entry in subject.lists[variant]:
            for part in explain(answer, subject, entry.label, variant):
                assert part.contribution.sum() + part.others == pytest.approx(part.score, abs=1e-12)
                assert part.score == pytest.approx(entry.score, abs=1e-5)


def test_the_drawn_bars_add_up_to_the_drawn_score():
    answer = answer_at(SAME)
    subject = subject_of_row(answer, 3)
    for part in explain(answer, subject, 0, RIDGE):
        names = [f"name {i}" for i in part.index]
        figure = explanation_bars(
            names,
            part.contribution,
            part.others,
            part.n_others,
            part.score,
            variant=RIDGE,
            kind="words",
            hover=names,
        )
        *terms, score = figure.data[0].x
        assert sum(terms) == pytest.approx(score, abs=1e-12)
        assert score == part.score


def bars(values: list[float], others: float = 0.0, n_others: int = 0, **more: str) -> dict:
    """The trace and the x axis of a figure with these terms."""
    names = [f"name {i}" for i in range(len(values))]
    score = sum(values) + others
    figure = explanation_bars(
        names, np.array(values), others, n_others, score, variant=RIDGE, kind="words", hover=names, **more
    )
    return figure.to_dict()


@pytest.mark.parametrize(
    ("scale", "shown"),
    [
        (1.0, ["+0.412", "−0.098", "+0.031", "0.345"]),
        (1e-2, ["+0.00412", "−0.00098", "+0.00031", "0.00345"]),
        (1e-12, ["+4.12e−13", "−9.80e−14", "+3.10e−14", "3.45e−13"]),
        (1e8, ["+4.12e+07", "−9.80e+06", "+3.10e+06", "3.45e+07"]),
        (0.0, ["+0.000", "−0.000", "+0.000", "0.000"]),
    ],
)
def test_bars_have_significant_digits_at_any_scale_and_room_for_them(scale, shown):
    figure = bars([0.412 * scale, -0.098 * scale], 0.031 * scale, 7)
    (trace,), layout = figure["data"], figure["layout"]
    assert list(trace["text"]) == shown
    low, high = layout["xaxis"]["range"]
    pixels = 300 / (high - low)  # in a column, beside long names
    for value, text in zip(trace["x"], trace["text"], strict=True):
        right = (high - value) * pixels + layout["margin"]["r"]
        left = (value - low) * pixels
        assert (left if value < 0 else right) >= 7.5 * len(text)


def test_bars_are_written_as_other_numbers_of_the_page_are_where_they_must_agree():
    assert list(bars([0.0412, 0.0011], digits=".3f")["data"][0]["text"]) == ["+0.041", "+0.001", "0.042"]


def test_one_other_term_is_called_so_and_names_are_no_html():
    trace, axis = bars([0.4], 0.1, 1)["data"][0], bars([0.4], 0.1, 1)["layout"]["yaxis"]
    assert list(axis["ticktext"]) == ["name 0", "1 other", "score"]
    assert list(trace["customdata"]) == [
        "name 0<br>+0.4",
        "1 other word<br>+0.1",
        "the sum of the bars above<br>+0.5",
    ]
    figure = explanation_bars(
        ["<b>lib</b>"], np.ones(1), 0.0, 0, 1.0, variant=RIDGE, kind="words", hover=["&lt;b&gt;lib"]
    )
    assert figure.layout.yaxis.ticktext[0] == "&lt;b&gt;lib&lt;/b&gt;"


def test_a_zero_among_small_numbers_has_no_power():
    assert number_text(0.0, digits_of([2e-12, 0.0])) == "0"


def test_a_score_that_is_written_as_zero_has_no_minus():
    assert number_text(-2e-9, digits_of([0.7])) == "0.000"
    assert number_text(-0.002, digits_of([0.7])) == "−0.002"
    assert number_text(-2e-9, digits_of([0.7]), "+") == "−0.000"  # a bar to the left


@pytest.mark.parametrize("reg_lambda", [0.5, 50.0, 1e5, 1e12])
@pytest.mark.parametrize("own", [False, True])
def test_a_score_is_written_alike_in_the_list_the_sentence_and_the_bars(monkeypatch, reg_lambda, own):
    settings = replace(SAME, K=4, reg_lambda=reg_lambda, own_lambda_ps=own, reg_lambda_ps=0.7 if own else reg_lambda)
    answer, drawn = answer_at(settings), {}
    monkeypatch.setattr(why.show, "chart", lambda figure, *, name, **told: drawn.update({name: (figure, told)}))
    cases = [
        (subject_of_row(answer, row), variant) for row in range(0, 20, 3) for variant in (RIDGE, RIDGE_PS)[: 1 + own]
    ]
    for subject, variant in cases:
        table = view._table(answer, subject, variant, view._to)
        for entry in subject.lists[variant]:
            parts = explain(answer, subject, entry.label, variant)
            digits = why._digits_explained(subject, entry.label, variant, parts)
            shown = number_text(entry.score, digits[variant])
            assert f"<td class='number'>{shown}</td>" in table
            assert f" scores {shown}" in why._told(answer, entry.label, variant, parts[0], digits)
            why._charts(answer, subject, entry.label, variant, parts, digits[variant])
            for figure, told in drawn.values():
                assert figure.data[0].text[-1] == shown
                assert f"make the score {shown} of" in told["alt"]
                terms = [float(text.replace("−", "-")) for text in figure.data[0].text[:-1]]
                unit = 10.0 ** -int(digits[variant][1]) * (max(map(abs, terms)) if digits[variant][-1] == "e" else 1)
                assert sum(terms) == pytest.approx(entry.score, abs=unit * len(terms))
        assert float(number_text(subject.lists[variant][0].score, digits[variant]).replace("−", "-")) > 0


def test_the_score_of_a_label_outside_of_both_lists_has_digits_of_its_own():
    answer = answer_at(replace(SAME, K=1))
    subject = subject_of_row(answer, 3)
    label = next(each for each in range(5) if each not in {e.label for es in subject.lists.values() for e in es})
    parts = tuple(
        replace(part, score=2e-5, contribution=np.array([3e-5]), others=-1e-5)
        for part in explain(answer, subject, label, RIDGE)
    )
    digits = why._digits_explained(subject, label, RIDGE, parts)
    assert "scores 2.00e−05, the sum" in why._told(answer, label, RIDGE, parts[0], digits)


def test_the_rows_of_the_file_and_what_is_told_of_the_bars_are_the_bars_that_are_drawn(monkeypatch):
    answer, drawn = answer_at(SAME), {}
    monkeypatch.setattr(why.show, "chart", lambda figure, *, name, **told: drawn.update({name: (figure, told)}))
    subject = subject_of_row(answer, 3)
    parts = explain(answer, subject, 0, RIDGE)
    assert not parts[0].n_others  # it has a few words only
    assert parts[1].n_others
    why._charts(answer, subject, 0, RIDGE, parts, ".3f")
    for figure, told in drawn.values():
        table, (trace,) = told["data"](), figure.data
        assert table["contribution"].tolist() == list(trace.x)
        assert table.iloc[:, 0].tolist() == list(figure.layout.yaxis.ticktext)
        assert ("other" in told["alt"]) == any("other" in text for text in figure.layout.yaxis.ticktext)


def test_the_lambda_that_ps_has_of_its_own_is_written_with_all_of_its_digits():
    answer = answer_at(replace(OWN, reg_lambda_ps=1234567.8))
    subject = subject_of_row(answer, 3)
    parts = explain(answer, subject, 0, RIDGE_PS)
    assert "its own λ = 1234567.8:" in why._told(answer, 0, RIDGE_PS, parts[0], {RIDGE_PS: ".3f"})


def test_where_ps_has_a_lambda_of_its_own_not_weighting_alone_is_named():
    answer = answer_at(OWN)
    own, its = lambda_text(OWN.reg_lambda), lambda_text(OWN.reg_lambda_ps)
    subjects = [subject_of_row(answer, row) for row in range(30)]
    told = [view._sentence(answer, subject) for subject in subjects if subject.features[0].size]
    assert all(each.startswith(f"PS at λ = {its}, not {own}, ") for each in told)
    assert "Weighting" not in " ".join(told)


def test_where_one_label_counts_it_is_in_first_place():
    answer = answer_at(replace(SAME, K=1))
    told = [view._sentence(answer, subject_of_row(answer, row)) for row in range(30)]
    assert any("Weighting changed nothing in first place. Of its " in each for each in told)
    assert any(" is in first place of XML-ridge and " in each for each in told)
    assert not any("the first 1" in each for each in told)


@pytest.mark.parametrize(("n_labels", "rest"), [(12, ""), (13, "<br>and 1 more")])
def test_a_hover_says_how_many_labels_of_a_training_instance_it_leaves_out(n_labels, rest):
    data = SimpleNamespace(
        Y_train=sparse.csr_array(np.ones((1, n_labels))), label_name=lambda label: f"label {label}", train_name=str
    )
    told = why._voter(data, 0)
    assert told.endswith(f"· label 11{rest}")
    assert "label 12" not in told
    assert (why._voters(1), why._voters(2)) == ("the one with this label", "each of the 2 with this label")


def test_a_bar_tells_how_much_of_a_feature_there_is_and_its_exact_weight_with_theta_in_it_for_ps(monkeypatch):
    answer, drawn, label = answer_at(OWN), {}, 1
    monkeypatch.setattr(why.show, "chart", lambda figure, *, name, **told: drawn.update({name: (figure, told)}))
    X, Y = (each.toarray().astype(np.float64) for each in (BUILT.X_train, BUILT.Y_train))
    row = next(row for row in range(30) if BUILT.X_test[[row]].nnz > 2)
    subject = subject_of_row(answer, row)
    for variant, reg_lambda, theta, name in ((RIDGE, 0.5, 1.0, "W"), (RIDGE_PS, 2.0, answer.theta[label], "θ · W")):
        parts = explain(answer, subject, label, variant)
        why._charts(answer, subject, label, variant, parts, ".3f")
        inverse = np.linalg.inv(X.T @ X + reg_lambda * np.eye(X.shape[1]))
        W, x = inverse @ X.T @ Y[:, label] * theta, BUILT.X_test[[row]].toarray()[0]
        hover = drawn["explain_features"][0].data[0].customdata
        for n, told in zip(parts[0].index.tolist(), hover, strict=False):
            assert told.startswith(f"<b>{WORDS[n]}</b><br>{x[n]:.3f} here × ")
            weight = float(told.split(" here × ")[1].split(" in ")[0].replace("−", "-"))
            assert weight == pytest.approx(W[n], rel=0.02, abs=0.002)
            assert f" in {name}<br>" in told
        votes = X @ inverse @ x * theta
        (figure, told) = drawn["explain_instances"]
        for i, c, said in zip(parts[1].index.tolist(), parts[1].contribution, figure.data[0].customdata, strict=False):
            assert c == pytest.approx(votes[i], abs=1e-5)
            assert said.startswith(f"<b>train-{i}</b>, with the labels")
        assert f"each of the {BUILT.label_counts[label]} with this label casts one vote" in told["caption"]
        assert ("times θ" in told["caption"]) == (variant == RIDGE_PS)
        assert (told["data"]()["of"] == f"{BUILT.label_name(label)} for doc-{row} by {variant}").all()
        first = parts[1].index[0]
        assert f"Largest: train-{first} {number_text(parts[1].contribution[0], '.3f', '+')}" in told["alt"]


def test_with_one_lambda_the_score_with_ps_is_told_as_theta_times_the_score():
    answer = answer_at(SAME)
    subject, label = subject_of_row(answer, 3), 4  # a rare one
    (part, _), theta = explain(answer, subject, label, RIDGE), answer.theta[label]
    assert theta > 1.5
    told = why._told(answer, label, RIDGE, part, dict.fromkeys((RIDGE, RIDGE_PS), ".4f"))
    score, weighted = (number_text(value, ".4f") for value in (part.score, theta * part.score))
    assert f" scores {score}, the sum of the bars" in told
    assert f"θ = {theta:.2f} times as much, each bar and the score: {weighted}." in told


def test_the_label_that_is_explained_is_the_chosen_one_or_what_weighting_brought_in_or_the_first(monkeypatch):
    answer = answer_at(SAME)
    for chosen in (None, 5):
        monkeypatch.setattr(why.st, "session_state", {find.LABEL: chosen})
        for row in range(30):
            subject = subject_of_row(answer, row)
            first = (subject.brought_in or subject.lists[RIDGE])[0].label
            assert why.chosen_label(answer, subject) == (first if chosen is None else chosen)
