"""Learn's example: its messages, its tables as they are edited, and each step's numbers by hand."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import learn_example, learn_steps
from pages.shared.learn_steps import STEPS
from xmlcore.toy import EXAMPLE


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (None, "is empty: it needs a number"),
        (-1.0, "is −1: a count"),
        (1_234_567, "is 1234567: a count"),
        (1e300, "is 1e+300: a count"),
        (float("inf"), "is inf"),
    ],
)
def test_a_count_that_cannot_be_used_is_named_by_document_and_word(cell, sentence):
    frame = pd.DataFrame(EXAMPLE.X, index=list(EXAMPLE.documents), columns=list(EXAMPLE.words))
    frame.loc["freeciv", "chess"] = cell
    (line,) = learn_example.cell_problems(frame, "counts")
    assert line.startswith("**freeciv**, *chess*")
    assert sentence in line


def test_a_tick_that_was_deleted_is_named():
    frame = learn_example._labels_frame()  # what the editor is given: a plain bool column would drop the edit
    frame.loc["nginx", "Web"] = None
    assert learn_example.cell_problems(frame, "labels") == ["**nginx**, *Web* is empty: it needs a tick or none."]


def step_app() -> None:
    """One step with the tables as they are first; an edit of a table is put in its place by the test."""
    import streamlit as st

    from pages.shared import learn_steps
    from pages.shared.learn_example import bench, sliders

    step = learn_steps.STEPS[st.session_state["position"]]
    learn_steps.text(step)
    example = bench(sliders())
    if example is not None:
        step.numbers(example)


def run_step(position: int, **state: object) -> AppTest:
    app = AppTest.from_function(step_app, default_timeout=30)
    app.session_state["position"] = position
    for key, value in state.items():
        app.session_state[key] = value
    return app.run()


def page_text(app: AppTest) -> str:
    return " ".join(element.value for element in [*app.markdown, *app.caption, *app.warning])


@pytest.mark.parametrize("position", range(len(STEPS)), ids=[step.title for step in STEPS])
def test_each_step_shows_its_numbers(position):
    app = run_step(position)
    assert not app.exception
    assert STEPS[position].answer in page_text(app)


def test_at_the_examples_default_the_page_says_that_weighting_changes_the_first_label():
    text = page_text(run_step(0))
    assert "XML-ridge ranks **Game** first, a label on 4 documents of 5; weighting puts **Chess** first" in text
    assert learn_example.Parameters(0.5, 0.55, 1.5) == learn_example.DEFAULT


def test_labels_that_score_the_same_are_named():
    Y = EXAMPLE.Y.copy()
    Y[:, 1] = Y[:, 0]
    twins, default = replace(EXAMPLE, Y=Y), learn_example.DEFAULT
    told = learn_steps._ties(learn_example.Bench(twins, default, learn_example.work(twins, default)))
    assert told.startswith(f" By XML-ridge **{EXAMPLE.labels[1]}** scores the same.")
    Y = EXAMPLE.Y.copy()
    Y[:, 2] = Y[:, 3]  # first with PS only
    twins = replace(EXAMPLE, Y=Y)
    told = learn_steps._ties(learn_example.Bench(twins, default, learn_example.work(twins, default)))
    assert told == f" By XML-ridge with PS **{EXAMPLE.labels[3]}** scores the same."
    assert learn_steps._ties(learn_example.Bench(EXAMPLE, default, learn_example.work(EXAMPLE, default))) == ""


def test_without_A_both_variants_rank_the_same_label_first():
    assert "both variants rank **Game** first" in page_text(run_step(0, toy_A=0.0))


def test_a_bad_cell_gives_a_message_and_keeps_the_other_edits():
    edited = learn_example._words_frame()
    edited.loc["freeciv", "chess"] = None
    edited.loc["nginx", "mail"] = 7
    app = run_step(2, toy_words_last=edited)
    assert "**freeciv**, *chess* is empty" in app.warning[0].value
    assert app.session_state["toy_words_last"].loc["nginx", "mail"] == 7
    assert not app.table  # no numbers of a state that is not on the screen
    ticks = learn_example._labels_frame()
    ticks.loc["nginx", "Web"] = None
    app = run_step(2, toy_labels_last=ticks)
    assert not app.exception
    assert "**nginx**, *Web* is empty" in app.warning[0].value


def test_edits_outlive_another_part_of_the_page_and_start_over_undoes_them():
    edited = learn_example._words_frame()
    edited.loc["nginx", "mail"] = 7
    ticked = learn_example._labels_frame()
    ticked.loc["nginx", "Chess"] = True
    app = run_step(2, toy_words_last=edited, toy_labels_last=ticked, toy_lambda=5.0, toy_A=1.0, toy_B=9.0)
    assert "50" in app.table[0].value.loc["mail"].tolist()  # 1² + 7²
    app.button[0].click().run()
    assert app.table[0].value.loc["mail", "mail"] == "2"
    assert [app.session_state[key] for key in ("toy_lambda", "toy_A", "toy_B")] == [0.5, 0.55, 1.5]
    assert app.table[1].value.loc["mail", "Chess"] == "0"


def test_a_slider_that_a_step_makes_no_use_of_is_hidden_and_no_other():
    for position, step in enumerate(STEPS):
        hidden = [key for key in ("toy_lambda", "toy_A", "toy_B") if key in learn_example.unused_sliders(step.sliders)]
        shown = [table.value for table in run_step(position).table]
        for key, value in (("toy_lambda", 5.0), ("toy_A", 1.0), ("toy_B", 9.0)):
            moved = run_step(position, **{key: value})
            if step.title != "In one line":  # it has a chart, not a table
                same = all(a.equals(b.value) for a, b in zip(shown, moved.table, strict=True))
                assert same == (key in hidden), (step.title, key)


def test_the_sum_that_explains_the_gram_matrix_is_its_entry_to_the_last_digit():
    app = run_step(2, toy_words_last=learn_example._words_frame() * 0 + 999)
    (caption,) = (each.value for each in app.caption if each.value.startswith("Each number is a sum"))
    assert f" = {5 * 999**2}. Neither" in caption
    assert app.table[0].value.loc["game", "play"] == str(5 * 999**2)


def test_tables_without_any_word_or_label_work_in_every_step():
    words, labels = learn_example._words_frame() * 0, learn_example._labels_frame() & False
    for position in range(len(STEPS)):
        app = run_step(position, toy_words_last=words, toy_labels_last=labels)
        assert not app.exception
        text = page_text(app)
        assert "The highest bar" not in text
        assert "it is lowest in the row" not in text
    assert "All scores are 0" in text


@pytest.fixture
def edited():
    """State of the page with edited tables and moved sliders, and the numbers of it by hand."""
    words, labels = learn_example._words_frame(), learn_example._labels_frame()
    words.loc["nginx", "mail"], words.loc["new", "game"], labels.loc["freeciv", "Chess"] = 3, 3, True
    X, Y, x = words.to_numpy()[:-1], labels.to_numpy(dtype=float), words.to_numpy()[-1]
    G = X.T @ X + 2 * np.eye(6)
    found = SimpleNamespace(X=X, Y=Y, x=x, inverse=np.linalg.inv(G), W=np.linalg.solve(G, X.T @ Y))
    found.scores = x @ found.W
    found.theta = 1 + (np.log(5) - 1) * (1.5 / (Y.sum(axis=0) + 0.5)) ** 1.2
    return {"toy_words_last": words, "toy_labels_last": labels, "toy_lambda": 2.0, "toy_A": 1.2, "toy_B": 0.5}, found


def shown_as(values, digits: int = 2) -> list[list[str]]:
    return [[learn_steps._number(value, digits) for value in row] for row in values]


def cells(app: AppTest, at: int) -> list[list[str]]:
    return app.table[at].value.to_numpy().tolist()


def test_the_objective_and_both_tables_of_sums_are_those_of_the_edited_example(edited):
    state, by_hand = edited
    X, Y = by_hand.X, by_hand.Y
    solved = [np.linalg.solve(X.T @ X + at * np.eye(6), X.T @ Y) for at in (0.2, 2, 20)]
    terms = [(((X @ W - Y) ** 2).sum(), (W**2).sum()) for W in (*solved, 0 * by_hand.W)]
    assert cells(run_step(1, **state), 0) == shown_as([(error, size, error + 2 * size) for error, size in terms], 3)
    app = run_step(2, **state)
    for at, table in enumerate((X.T @ X, X.T @ Y, X @ X.T)):
        assert cells(app, at) == shown_as(table, 0)


def test_eigenvalues_directions_and_what_is_kept_of_each_are_those_of_the_edited_example(edited):
    state, by_hand = edited
    app, G = run_step(3, **state), by_hand.X.T @ by_hand.X
    sigma = np.linalg.eigvalsh(G)[::-1]
    sigma[np.abs(sigma) < 1e-9] = 0
    assert cells(app, 0) == [
        [number(s, 3), number(1 / s, 3) if s else "infinite", number(1 / (s + 2), 3), f"{100 * s / (s + 2):.2f} %"]
        for s in sigma
        for number in [learn_steps._number]
    ]
    V, Q = (app.table[at].value.map(lambda cell: float(cell.replace("−", "-"))).to_numpy() for at in (1, 2))
    assert np.abs(G @ V - V * sigma).max() < 0.01 * G.sum(axis=1).max()
    assert np.abs(V.T @ by_hand.X.T @ by_hand.Y - Q).max() < 0.1
    zeros = int((sigma == 0).sum())
    assert zeros
    assert page_text(app).count(f"{zeros} of the 6 eigenvalues {'is' if zeros == 1 else 'are'} 0") == 1


def test_weights_votes_and_scores_by_the_others_are_those_of_the_edited_example(edited):
    state, by_hand = edited
    app, (X, Y, x) = run_step(4, **state), (by_hand.X, by_hand.Y, by_hand.x)
    bold = [[f"**{cell}**" for cell in shown_as([by_hand.scores], digits)[0]] for digits in (2, 3)]
    assert cells(app, 0) == [
        *([f"{count:g}", *row] for count, row in zip(x, shown_as(by_hand.W), strict=True)),
        ["", *bold[0]],
    ]
    best = int(by_hand.scores.argmax())
    terms = [f"{count:g} · {learn_steps._number(w)}" for count, w in zip(x, by_hand.W[:, best], strict=True) if count]
    total = learn_steps._number(by_hand.scores[best])
    assert f"*{EXAMPLE.labels[best]}*: {' + '.join(terms)} = {total}. The words" in page_text(app)
    votes = X @ by_hand.inverse @ x
    vote_cells = [cell for (cell,) in shown_as(votes[:, None], 3)]
    assert cells(app, 1) == [
        *([cell, *(cell if there else "·" for there in row)] for cell, row in zip(vote_cells, Y, strict=True)),
        ["", *bold[1]],
    ]
    h, left_out = np.einsum("ij,jk,ik->i", X, by_hand.inverse, X), []
    for at in range(5):
        others, of_others = np.delete(X, at, axis=0), np.delete(Y, at, axis=0)
        left_out.append(X[at] @ np.linalg.solve(others.T @ others + 2 * np.eye(6), others.T @ of_others))
    rows = zip(h, shown_as(left_out), strict=True)
    assert cells(app, 2) == [[learn_steps._number(leverage, 3), *row] for leverage, row in rows]
    fitted = X[0] @ by_hand.W[:, 0]
    said = [learn_steps._number(value, 3) for value in (fitted, h[0], left_out[0][0])]
    assert f"*gnuchess* for *Game*: {said[0]} by all documents, h = {said[1]}, so {said[2]} by the" in page_text(app)
    state["toy_labels_last"].loc["gnuchess"] = False
    text = page_text(run_step(4, **state))
    assert "*freeciv* for *Game*: " in text
    assert f" by all documents, h = {learn_steps._number(h[1], 3)}, so " in text


def test_weighted_scores_and_ranks_are_those_of_the_edited_example_in_table_chart_and_file(edited, monkeypatch):
    state, by_hand = edited
    s, theta = by_hand.scores, by_hand.theta
    rank, rank_ps = ([int((each > value).sum()) + 1 for value in each] for each in (s, theta * s))
    moved = [
        f"{now} {'↑' if now < was else '↓'}" if now != was else f"{now}" for was, now in zip(rank, rank_ps, strict=True)
    ]
    assert {each[-1] for each in moved} >= {"↑", "↓"}
    number = learn_steps._number
    assert cells(run_step(5, **state), 0) == [
        [f"{count:g}", number(t, 3), number(score, 3), str(was), number(t * score, 3), now]
        for count, t, score, was, now in zip(by_hand.Y.sum(axis=0), theta, s, rank, moved, strict=True)
    ]
    charts = []
    monkeypatch.setattr(learn_steps.show, "chart", lambda figure, **told: charts.append((figure, told)))
    text = page_text(run_step(0, **state))
    ((figure, told),) = charts
    assert [list(trace.y) for trace in figure.data] == [pytest.approx(s), pytest.approx(theta * s)]
    file = told["data"]()
    assert file["score"].tolist() == pytest.approx(s)
    assert file["score with PS"].tolist() == pytest.approx(theta * s)
    assert file[["lambda", "A", "B"]].to_numpy().tolist() == [[2.0, 1.2, 0.5]] * 4
    assert f"{EXAMPLE.labels[0]} {s[0]:.2f}, with PS {theta[0] * s[0]:.2f}; " in told["alt"]
    first, first_ps = int(s.argmax()), int((theta * s).argmax())
    assert first != first_ps
    for label, words in ((first, "ranks **{}** first, a label on {:g}"), (first_ps, "**{}** first, which is on {:g}")):
        assert words.format(EXAMPLE.labels[label], by_hand.Y[:, label].sum()) in text


def test_the_objective_is_lowest_at_the_sliders_lambda():
    app = run_step(1)
    totals = app.table[0].value.iloc[:, 2].astype(float)
    assert totals.idxmin() == "W made with λ = 0.5 (now)"
    assert re.search(r"0\.5 · size", app.table[0].value.columns[2])


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.6478e-5, "0.000016"), (-0.0021, "−0.0021"), (0.004, "0.004"), (0.006, "0.01"), (-1e-17, "0.00"), (2, "2.00")],
)
def test_a_number_that_is_not_zero_is_never_shown_as_zero(value, shown):
    assert learn_steps._number(value) == shown
