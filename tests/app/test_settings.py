"""The shared settings: what a link may carry, how it is refused, and the λ slider's positions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.shared import controls, settings
from pages.shared.settings import Settings


@pytest.mark.parametrize("text", ["93", "93.0", "7.3", "1e-5"])
def test_a_lambda_is_accepted_however_it_is_written(text):
    assert settings.refusals({"reg_lambda": text}, ["Debtags"]) == []


@pytest.mark.parametrize(
    ("key", "text"),
    [
        *(("reg_lambda", text) for text in ("0", "-3", "nan", "inf", "1e99", "ten")),
        *(("A", "-0.1"), ("A", "5"), ("B", "0"), ("K", "0"), ("K", "2.5")),
        *(("tie_metric", "maybe"), ("features", "magic"), ("data", "Nowhere")),
    ],
)
def test_a_refused_value_is_named(key, text):
    (sentence,) = settings.refusals({key: text}, ["Debtags"])
    assert text in sentence
    assert "Debtags" in sentence if key == "data" else key in sentence


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
        data=st.sampled_from(["Debtags", "My data (upload)"]),
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


@pytest.mark.parametrize("text", ["", "Debtags", "Debtags~0~false~3~0.5~1.5~5~false~", "a~b~c~d~e~f~g~h~i"])
def test_a_held_setting_that_cannot_be_read_is_dropped(text):
    assert settings._parse_hold(text) is None
