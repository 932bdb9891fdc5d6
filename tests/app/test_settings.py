"""The shared settings: what a link may carry, how it is refused, and the λ slider's positions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.shared import answers, controls, model, settings, sources
from pages.shared.frame import plain_markdown
from pages.shared.settings import Settings
from xmlcore import Dataset


@pytest.mark.parametrize("text", ["93", "93.0", "7.3", "1e-5", "1e-9", "1e12"])
def test_a_lambda_is_accepted_however_it_is_written(text):
    assert settings.refusals({"reg_lambda": text}, ["Debtags"]) == []


@pytest.mark.parametrize(("text", "shown"), [("93", 93), ("93.0", 93), ("-3", 3)])
def test_a_link_may_write_lambda_in_any_way_and_a_refused_one_leaves_the_usual(text, shown):
    app = AppTest.from_file("../../app.py", default_timeout=240)
    app.query_params["reg_lambda"] = text
    app.run()
    assert app.sidebar.number_input(key="reg_lambda").value == shown
    told = [plain_markdown(f"reg_lambda = {text} was refused") in each.value for each in app.warning]
    assert told == [True] * (text == "-3")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        *(("reg_lambda", text) for text in ("0", "-3", "nan", "inf", "1e99", "ten")),
        *(("A", "-0.1"), ("A", "5"), ("B", "0"), ("B", "11"), ("K", "0"), ("K", "21"), ("K", "2.5")),
        *(("tie_metric", "maybe"), ("features", "magic"), ("data", "Nowhere")),
    ],
)
def test_a_refused_value_is_named(key, text):
    (sentence,) = settings.refusals({key: text}, ["Debtags"])
    assert text in sentence
    assert "Debtags" in sentence if key == "data" else key in sentence


@pytest.mark.parametrize(
    ("key", "text", "used"),
    [("K", "2.5", 5), ("A", "5", 0.55), ("features", "foo+bar", ""), ("tie_metric", "1", False)],
)
def test_what_is_used_instead_of_a_refused_value_is_what_the_sentence_says(key, text, used):
    app = AppTest.from_file("../../app.py", default_timeout=240)
    app.query_params[key] = text
    app.run()
    assert not app.exception
    assert not app.error
    (warning,) = [each.value for each in app.warning]
    assert plain_markdown(f"{key} = {text} was refused") in warning
    controls = [*app.sidebar.slider, *app.sidebar.text_input, *app.sidebar.toggle]
    assert next(each.value for each in controls if each.key == key) == used
    assert plain_markdown(f"Using {str(used).lower() or 'the features that suit the data set'}.") in warning


@pytest.mark.parametrize(
    "text",
    ["0.000000001", "0.000123456789", "0.25", "3", "999999.5", "1000000", "1234567", "25000000000", "1000000000000"],
)
def test_a_lambda_is_written_in_full_and_without_an_exponent_unless_it_is_tiny(text):
    written = settings.lambda_text(float(text))
    assert float(written) == float(text)
    assert written == (text if float(text) >= 1e-4 else "1e-09")


def test_the_help_of_lambda_names_the_values_that_its_field_takes():
    assert f"from {settings.LAMBDA_MIN:g} to {settings.LAMBDA_MAX:g}" in controls.HELP["lambda"]


def test_a_lambda_of_its_own_for_ps_is_told_where_it_is_set():
    own = Settings("Debtags", reg_lambda=8.0, own_lambda_ps=True, reg_lambda_ps=32.0)
    assert settings.settings_text(own) == "λ = 8 (PS: 32), A = 0.55, B = 1.5"
    assert settings.settings_text(Settings("Debtags", reg_lambda_ps=32.0)) == "λ = 3, A = 0.55, B = 1.5"
    assert settings.own_lambda_text(own) == " at λ = 32"
    same = Settings("Debtags", reg_lambda=8.0, own_lambda_ps=True, reg_lambda_ps=8.0)
    assert settings.own_lambda_text(same) == settings.own_lambda_text(Settings("Debtags", reg_lambda=8.0)) == ""


def test_a_lambda_of_its_own_is_named_only_where_it_is_another_and_one_of_a_grid_has_three_digits():
    assert settings.own_lambda_text(Settings("Debtags", 3.0, True, 8.0)) == " at λ = 8"
    assert settings.own_lambda_text(Settings("Debtags", 3.0, True, 3.0)) == ""
    assert settings.rounded_lambda_text(1.23456) == "1.23"
    assert settings.rounded_lambda_text(123456.0) == "123000"


def test_what_a_link_leaves_empty_is_not_refused():
    assert settings.refusals(dict.fromkeys(settings.ACCEPTED, ""), ["Debtags"]) == []


def test_a_link_inside_the_app_keeps_what_is_held(monkeypatch):
    held = Settings("Debtags", 7.5)
    monkeypatch.setattr(settings, "held", lambda: held)
    for link in (settings.link(Settings("Debtags")), settings.hold_in_link()):
        assert settings._parse_hold(link["hold"]) == held


@given(st.floats(1e-6, 1e6), st.floats(0, 6))
def test_the_slider_shows_the_typed_value_itself(value, decades):
    positions = controls.slider_positions(1e-3, 1e-3 * 10**decades, value)
    assert value in positions
    assert positions == sorted(positions)


def test_slider_positions_are_evenly_spaced_on_a_logarithmic_scale():
    positions = controls.slider_positions(1.0, 100.0)
    assert positions[0] == 1.0
    assert positions[-1] == 100.0
    assert len(positions) == 2 * controls.POSITIONS_PER_DECADE + 1


@given(
    st.builds(
        Settings,
        data=st.sampled_from(["Debtags", "My data (upload)", "a~b~3.0"]),
        reg_lambda=st.floats(1e-6, 1e6),
        own_lambda_ps=st.booleans(),
        reg_lambda_ps=st.floats(1e-6, 1e6),
        A=st.floats(0, 2),
        B=st.floats(0.05, 10),
        K=st.integers(1, 20),
        tie_metric=st.booleans(),
        features=st.sampled_from(["", "tfidf+unit+svd:30"]),
    )
)
def test_a_held_setting_survives_the_url(held):
    assert settings._parse_hold(settings._hold_text(held)) == held


HELD = ["Debtags", "3.0", "false", "3.0", "0.55", "1.5", "5", "false", ""]


@pytest.mark.parametrize(
    "text",
    [
        *("", "Debtags", "Debtags~0~false~3~0.5~1.5~5~false~", "a~b~c~d~e~f~g~h~i"),
        *("~".join([*HELD[:field], "", *HELD[field + 1 :]]) for field in range(len(HELD) - 1)),
    ],
)
def test_a_held_setting_that_cannot_be_read_is_dropped(text):
    assert settings._parse_hold(text) is None


def test_without_a_lambda_of_its_own_ps_has_that_of_ridge_whatever_a_link_says():
    assert settings._parse_hold("Debtags~10~false~3.0~0.55~1.5~5~false~").reg_lambda_ps == 10
    assert settings._parse_hold("Debtags~10~true~3.0~0.55~1.5~5~false~").reg_lambda_ps == 3


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (Settings("Debtags"), {}),
        (
            Settings("Debian-depends", 7.3, A=1.0, B=2.0),
            {"data": "Debian-depends", "reg_lambda": "7.3", "A": "1", "B": "2"},
        ),
        (
            Settings("Debtags", 20.0, True, 0.5, 0.8, 2.6, 3, True, "tfidf"),
            {"reg_lambda": "20.0", "own_lambda_ps": "true", "reg_lambda_ps": "0.5", "A": "0.8", "B": "2.6", "K": "3"}
            | {"tie_metric": "true", "features": "tfidf"},
        ),
    ],
)
def test_a_link_inside_the_app_has_what_the_controls_will_write_into_the_address(chosen, expected):
    found = settings.link(chosen, part="Five questions", question=1)
    assert {key: text for key, text in found.items() if key != settings.LINK_KEY} == {
        "part": "Five questions",
        **expected,
    }


@pytest.mark.parametrize(("features", "end"), [({}, "."), ({"features": "raw"}, " with its usual features.")])
def test_features_of_a_data_set_that_is_not_there_are_said_to_be_left(features, end):
    (sentence,) = settings.refusals({"data": "Nowhere", **features}, ["Debtags"])
    assert sentence.endswith(f"Showing Debtags{end}")


def test_a_refused_recipe_says_why():
    (sentence,) = settings.refusals({"features": "svd:50+project:5"}, [])
    assert "svd:50 and project:5 together; expected one of them. Using the features that suit" in sentence


@pytest.mark.parametrize(
    ("title", "features", "expected"),
    [
        *(("Debtags", text, "") for text in ("", "tfidf+unit", "unit tfidf", "tfidf+unit+dense:1")),
        *(("Debtags", text, "tfidf+unit+svd:30") for text in ("tfidf+unit+svd:30", "svd:30+unit+tfidf")),
        *(("Debtags", "raw", "raw"), ("Bibtex", "raw", ""), ("Bibtex", "unit", "unit")),
        *(("own", "raw", ""), ("own", "tfidf", "tfidf")),
    ],
)
def test_features_that_are_the_same_have_one_text(title, features, expected, monkeypatch):
    X = np.eye(4, dtype=np.float32)
    monkeypatch.setitem(sources._own, "own", Dataset("own", X, X, X, X))
    assert sources.features_setting(title, features) == expected


def test_a_link_that_names_the_usual_features_gets_the_model_of_one_that_names_none(monkeypatch):
    model.model_of("Debtags", "")
    monkeypatch.setattr(model, "Model", None)  # no other is made
    app = AppTest.from_file("../../app.py", default_timeout=240)
    app.query_params["features"] = "unit+tfidf"
    app.run()
    assert not app.exception
    assert not app.error
    assert app.sidebar.text_input(key="features").value == "unit+tfidf"
    app.sidebar.button(key="hold_button").click().run()
    app.sidebar.text_input(key="features").set_value("").run()
    assert app.session_state[answers.LAST_ANSWER][0].features == ""
    assert not any("The held setting is of" in caption.value for caption in app.sidebar.caption)
