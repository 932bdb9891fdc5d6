"""What a link sets, what of it is refused in words, and what the address keeps."""

import ast
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import head_tail_labels, sources
from pages.shared.frame import plain_markdown
from tests.app.helpers import SECONDS, start, texts
from tests.app.tiny import tiny

TITLE = "Another"
OF_PAGES = {
    "tune": ("search",),
    "head_and_tail": ("contribution_to", "frequency_bins", "cuts"),
    "instances": ("explained",),
    "compress": ("kept_share",),
    "compare": ("paper_data", "compare_contribution_to", "only_different"),
    "data": ("pair_order",),
    "learn": ("part", "question", "toy_lambda", "toy_A", "toy_B"),
    "lecture": ("lecture_chart",),
}


def test_an_internal_link_sets_what_a_control_can_take_and_nothing_else():
    own = '"own_lambda_ps": true, "reg_lambda_ps": 9.5'
    app = start(set=f'{{"data": "Debtags", "reg_lambda": 30, {own}, "A": -1, "K": "7", "toy_words": "x"}}')
    assert not app.exception
    assert app.sidebar.number_input(key="reg_lambda").value == 30.0
    assert app.sidebar.number_input(key="reg_lambda_ps").value == 9.5
    assert [app.sidebar.slider(key=key).value for key in "AK"] == [0.55, 5]
    assert "set" not in app.query_params


@pytest.mark.parametrize("text", ["[1, 2]", "null", "{", '{"K": NaN, "A": [[0.5]]}', "[" * 5000])
def test_an_internal_link_that_makes_no_sense_sets_nothing(text):
    app = start(set=text)
    assert not app.exception
    assert len(app.metric) >= 12
    assert "set" not in app.query_params


@pytest.mark.parametrize("page", OF_PAGES)
def test_what_a_control_of_a_page_cannot_take_from_a_link_is_named(page):
    app = start(**dict.fromkeys(OF_PAGES[page], "foo")).switch_page(f"pages/{page}.py").run()
    assert not app.exception
    (warning,) = app.warning
    for key in OF_PAGES[page]:
        assert plain_markdown(f"{key} = foo was refused: expected ") in warning.value
        assert key not in app.query_params


def test_every_control_that_is_bound_to_the_address_has_its_refusal_tested():
    bound = set()
    for path in (Path(__file__).parents[2] / "pages").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            given = {each.arg: each.value for each in getattr(call, "keywords", ())}
            if "bind" in given:
                bound.add(given["key"].value)
    assert bound == {key for keys in OF_PAGES.values() for key in keys}


@pytest.mark.parametrize(
    ("values", "told"), [({"toy_A": "2.5"}, "a number from 0 to 2"), ({"toy_lambda": "20.0"}, "one of 0.01, 0.02")]
)
def test_a_number_out_of_a_sliders_range_is_named(values, told):
    app = start(**values).switch_page("pages/learn.py").run()
    ((key, value),) = values.items()
    assert plain_markdown(f"{key} = {value} was refused: expected {told}") in app.warning[0].value


def test_numbers_of_a_link_are_taken_as_they_are():
    app = start(toy_A="1.2", toy_B="0.05", toy_lambda="20").switch_page("pages/learn.py").run()
    assert not app.warning
    assert [app.slider(key=key).value for key in ("toy_A", "toy_B")] == [1.2, 0.05]
    assert app.select_slider(key="toy_lambda").value == 20.0


@pytest.mark.parametrize("cuts", [["7"], ["abc"], ["0", "5"], ["300", "30"], ["30", "31"], ["10", "30", "50"]])
def test_cuts_that_the_slider_cannot_take_are_named(cuts):
    app = start(cuts=cuts).switch_page("pages/head_and_tail.py").run()
    assert not app.exception
    (warning,) = app.warning
    assert plain_markdown(f"cuts = {', '.join(cuts)} was refused: expected two of 1, 2, 3") in warning.value


def test_cuts_of_a_link_are_taken():
    app = start(cuts=["7", "300"]).switch_page("pages/head_and_tail.py").run()
    assert not app.warning
    assert next(each for each in app.select_slider if each.key == "cuts").value == (7, 300)


def test_a_value_that_is_given_twice_is_none():
    app = start(K=["1", "3"], A="0.3")
    (warning,) = app.warning
    assert plain_markdown("K = 1, 3 was refused: expected a whole number from 1 to 20. Using 5.") in warning.value
    assert [app.sidebar.slider(key=key).value for key in "AK"] == [0.3, 5]


def test_many_changes_of_the_address_are_one_and_what_is_left_out_is_gone():
    def script():
        import streamlit as st

        from pages.shared import frame

        frame.write_address(instance=None if st.session_state.get("without") else 7, label=3, find="two words")

    app = AppTest.from_function(script, default_timeout=SECONDS).run()
    assert app.query_params == {"instance": "7", "label": "3", "find": "two words"}
    app.session_state["without"] = True
    app.run()
    assert app.query_params == {"label": "3", "find": "two words"}


@pytest.mark.parametrize(
    ("name", "title"),
    [
        *((name, "Debtags") for name in ("debtags", "DEBTAGS", "Debtags")),
        ("synthetic-bibtex", "Synthetic, shaped like bibtex"),
    ],
)
def test_a_data_set_of_the_catalog_goes_by_its_name_and_its_title_in_any_case(name, title):
    app = start(data=name)
    assert not app.warning
    assert app.sidebar.selectbox(key="data").value == title
    assert len(app.metric) == 12


def test_a_link_to_data_that_are_gone_sets_nothing_that_is_theirs_alone():
    app = start(data="own (1234)", features="tfidf+unit+svd:300", instance="244", reg_lambda="30")
    (warning,) = app.warning
    assert plain_markdown("Showing Debtags with its usual features.") in warning.value
    assert app.sidebar.text_input(key="features").value == ""
    assert app.sidebar.number_input(key="reg_lambda").value == 30.0
    assert not {"features", "instance"} & set(app.query_params)


LONG = "x" * 5000


@pytest.mark.parametrize(
    ("page", "address"),
    [
        ("tune", {"A": LONG, "features": LONG, "hold": LONG, "data": LONG}),
        ("tune", {"search": LONG}),
        ("instances", {"instance": LONG, "label": LONG, "find": LONG}),
        ("head_and_tail", {"label": LONG, "cuts": LONG}),
    ],
)
def test_what_is_long_is_quoted_by_its_beginning(page, address):
    app = start(**address).switch_page(f"pages/{page}.py").run()
    assert not app.exception
    told = "\n".join(each.value for each in (*app.warning, *app.info))
    assert told.count("x" * 99 + "…") >= len(address)
    assert "x" * 100 not in told


def test_a_long_search_that_finds_no_label_is_quoted_by_its_beginning():
    app = start().switch_page("pages/head_and_tail.py").run()
    app.text_input(key=head_tail_labels.FIND).set_value(LONG).run()
    assert f"No label has “{'x' * 99}…” in its name" in texts(app)


def test_what_was_refused_is_told_until_another_data_set_is_chosen(monkeypatch):
    monkeypatch.setattr(sources, "names", lambda: ["Debtags", TITLE])
    monkeypatch.setitem(sources._own, TITLE, tiny())
    app = start(data="Nowhere", A="-3")
    assert len(app.warning) == 1
    app.switch_page("pages/data.py").run()
    assert len(app.warning) == 1
    app.sidebar.selectbox(key="data").set_value(TITLE).run()
    assert not app.warning
    app.sidebar.selectbox(key="data").set_value("Debtags").run()
    assert not app.warning
