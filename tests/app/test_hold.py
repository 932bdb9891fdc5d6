"""A held setting: a ghost to compare with, measured with the present ruler."""

from dataclasses import replace

import pytest

from pages.shared import answers, show
from pages.shared.settings import Settings
from tests.app.helpers import start


def test_a_held_setting_stays_as_a_ghost_until_released():
    app = start()
    app.sidebar.button(key="hold_button").click().run()
    app.sidebar.number_input(key="reg_lambda").set_value(30.0).run()
    assert app.metric[0].delta not in ("", None, "0")
    assert "hold" in app.query_params
    app.sidebar.button(key="hold_button").click().run()
    assert "hold" not in app.query_params


def test_a_held_setting_gives_both_rows_their_change_and_says_when_it_belongs_to_other_data():
    app = start()
    before = [float(metric.value) for metric in app.metric]
    app.sidebar.button(key="hold_button").click().run()
    app.sidebar.number_input(key="reg_lambda").set_value(30.0).run()
    for metric, held in zip(app.metric, before, strict=True):
        assert float(metric.delta.replace("−", "-")) == pytest.approx(float(metric.value) - held, abs=0.011)
        assert f"held {held:.2f}" in metric.proto.delta_description
    for ridge, ps in zip(app.metric[:6], app.metric[6:], strict=True):
        name, difference = ps.label.removesuffix(" with PS").split(", ")
        assert name == ridge.label
        now = float(ps.value) - float(ridge.value)
        assert float(difference.replace("−", "-")) == pytest.approx(now, abs=0.011)
    assert not any("The held setting is of" in caption.value for caption in app.sidebar.caption)
    app.sidebar.text_input(key="features").set_value("tfidf+unit+svd:30").run()
    assert any("The held setting is of other features" in caption.value for caption in app.sidebar.caption)
    assert not any("Held: " in caption.value for caption in app.caption)


@pytest.mark.parametrize("held_tie", [True, False])
def test_a_held_setting_is_measured_with_the_present_ruler(held_tie):
    hold = f"Debtags~3.0~false~3.0~0.3~1.5~5~{str(held_tie).lower()}~"
    app = start(A="0.9", tie_metric=str(not held_tie).lower(), hold=hold)
    psp, psp_ps = app.metric[3], app.metric[9]
    assert (psp.label, psp.delta) == ("PSP@1", "±0.00")  # XML-ridge does not depend on A
    assert psp_ps.delta != "±0.00"


def test_a_file_names_the_present_ruler_for_the_held_setting_too():
    now = Settings("Debtags", A=0.9, B=1.0, tie_metric=True)
    held = replace(now, A=0.3, B=1.5, tie_metric=False)
    for settings, ruler in ((now, "the sliders' A = 0.9, B = 1"), (held, "the data set's A = 0.55, B = 1.5")):
        answer = answers._answer(held, answers.metric_AB_of(settings))
        own = "Debtags, 6,131 test instances, λ = 3, A = 0.3, B = 1.5"
        assert show.told(answer) == f"{own}; PSP measured with {ruler}"


def test_no_difference_is_neither_a_rise_nor_a_fall():
    app = start(A="0")
    assert [metric.delta for metric in app.metric][6:] == ["±0.00"] * 6
    assert any("at A = 0 all labels weigh the same" in each.value for each in app.markdown)
    assert show._delta(-0.01) == {"delta": "−1.00", "delta_arrow": "down", "delta_color": "red"}
    assert show._delta(0.01) == {"delta": "+1.00"}


@pytest.mark.parametrize(
    "hold", ["of last week", "Debtags~3~false~3~5~1.5~5~false~", ["Debtags~3~false~3~0.55~1.5~5~false~", "x"]]
)
def test_a_held_setting_of_a_link_that_cannot_be_taken_is_named_and_nothing_is_held(hold):
    app = start(hold=hold)
    assert not app.exception
    assert "Nothing is held" in app.warning[0].value
    assert app.session_state["hold"] is None
    assert "hold" not in app.query_params
    assert len(start(hold="Debtags~3~false~3~0.55~1.5~5~false~").warning) == 0
