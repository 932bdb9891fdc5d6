"""The frame under streamlit.testing: the sidebar on every page, and values that travel."""

import ast
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import answers, behind, frame, mirror, model, show
from pages.shared.frame import PAGES, plain_markdown
from pages.shared.settings import Settings
from tests.app.helpers import SECONDS, start
from xmlcore import PROPENSITY_PRESETS, DataError


def lambda_slider(app: AppTest):
    return next(each for each in app.sidebar.select_slider if each.label == "λ")


def preset(app: AppTest):
    return next(each for each in app.sidebar.radio if each.label == "A and B as used for")


def sidebar_labels(app: AppTest) -> set[str]:
    return {each.label for kind in (app.sidebar.slider, app.sidebar.select_slider) for each in kind}


def test_the_sidebar_survives_two_changes_and_a_change_of_page():
    app = start()
    app.sidebar.slider(key="A").set_value(0.8).run()
    app.sidebar.slider(key="A").set_value(1.0).run()
    app.switch_page("pages/instances.py").run()
    assert not app.exception
    assert sidebar_labels(app) >= {"λ", "A", "B", "K"}
    assert app.sidebar.slider(key="A").value == 1.0


@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.title)
def test_every_page_runs_without_an_exception(entry):
    app = start().switch_page(entry.path).run()
    assert not app.exception
    assert sidebar_labels(app) >= {"λ", "A", "B", "K"}


def test_the_lambda_slider_and_the_field_mirror_each_other():
    app = start(reg_lambda="7.3")
    assert lambda_slider(app).value == 7.3
    lambda_slider(app).set_value(10.0).run()
    assert app.sidebar.number_input(key="reg_lambda").value == 10.0
    app.sidebar.button(key="reg_lambda_double").click().run()
    assert app.sidebar.number_input(key="reg_lambda").value == 20.0


def test_every_preset_of_the_field_can_be_chosen_by_its_data_set_and_stays_chosen():
    app = start()
    for name, values in reversed(PROPENSITY_PRESETS.items()):
        preset(app).set_value(values).run()
        assert name in preset(app).options[preset(app).index].split(", ")
        assert (app.sidebar.slider(key="A").value, app.sidebar.slider(key="B").value) == values
    app.sidebar.slider(key="A").set_value(0.7).run()
    assert preset(app).value is None


def test_one_label_and_one_instance_are_not_told_as_several():
    assert (show.first_labels(1), show.first_labels(5)) == ("label ranked first", "5 labels ranked first")
    app = start()
    assert app.metric[0].help.startswith("Of the label ranked first, the share")
    assert app.metric[2].help.startswith("Of the 5 labels ranked first, the share")
    labels_of = answers.answer_at(Settings("Debtags")).dataset.Y_test.sum(axis=1)
    ceiling = 100 * np.minimum(labels_of, 5).sum() / (5 * len(labels_of))
    assert app.metric[2].help.endswith(f"A perfect ranking would score {ceiling:.2f} % here.")
    answer = answers.answer_at(Settings("Debtags"))
    one = SimpleNamespace(full=SimpleNamespace(n_test=1))
    assert replace(answer, model=one, evaluation=SimpleNamespace(n_rows=1)).rows_text == "1 test instance"
    assert replace(answer, evaluation=SimpleNamespace(n_rows=9)).rows_text == "a sample of 9 of 6,131 test instances"


def test_a_lambda_at_which_rounding_may_show_is_warned_of():
    app = start(reg_lambda="1e-9")
    of = model.model_of("Debtags", "")
    deadline = time.monotonic() + SECONDS
    while not of.ready and time.monotonic() < deadline:
        time.sleep(0.1)
    app.run()
    least = of.factorization.smallest_reliable_lambda
    assert [warning.value for warning in app.warning] == [
        f"Below λ = {least:.2g} rounding may show on these data: labels can come in another order."
    ]
    app.sidebar.number_input(key="reg_lambda").set_value(0.01).run()
    assert not app.warning
    assert not app.exception


def test_drawing_an_answer_again_does_not_count_as_the_last_answer():
    app = start()
    first = app.session_state[answers.LAST_ANSWER]
    assert app.run().session_state[answers.LAST_ANSWER] is first
    app.sidebar.slider(key="A").set_value(0.7).run()
    assert app.session_state[answers.LAST_ANSWER][0].A == 0.7


def test_a_preset_sets_both_parameters_and_reset_takes_them_back():
    app = start()
    preset(app).set_value(PROPENSITY_PRESETS["Amazon-670K"]).run()
    assert (app.sidebar.slider(key="A").value, app.sidebar.slider(key="B").value) == (0.6, 2.6)
    next(button for button in app.sidebar.button if button.label == "Reset").click().run()
    assert (app.sidebar.slider(key="A").value, app.sidebar.slider(key="B").value) == (0.55, 1.5)


def test_the_lambda_slider_keeps_its_key_for_its_user_and_gets_another_when_a_number_is_typed():
    app = start()
    key = lambda_slider(app).key
    for value in (10.0, 11.2):
        lambda_slider(app).set_value(value).run()
        assert lambda_slider(app).key == key
    app.sidebar.number_input(key="reg_lambda").set_value(7.3).run()
    assert lambda_slider(app).key != key
    assert lambda_slider(app).value == 7.3


def test_an_old_value_that_the_browser_repeats_does_not_undo_what_was_set():
    app = start()
    drawn = app.text_input(key=mirror.DRAWN).value
    app.sidebar.button(key="reg_lambda_double").click().run()
    app.text_input(key=mirror.DRAWN).set_value(drawn)
    preset(app).set_value(PROPENSITY_PRESETS["Amazon-670K"]).run()
    # What a browser sends that has drawn neither of the two yet, when K is moved.
    app.sidebar.number_input(key="reg_lambda").set_value(3.0)
    app.sidebar.slider(key="A").set_value(0.55)
    app.sidebar.slider(key="B").set_value(1.5)
    app.text_input(key=mirror.DRAWN).set_value(drawn)
    app.sidebar.slider(key="K").set_value(4).run()
    assert app.sidebar.number_input(key="reg_lambda").value == 6.0
    assert [app.sidebar.slider(key=key).value for key in "ABK"] == [0.6, 2.6, 4]


def test_what_was_drawn_is_not_put_again_whatever_the_browser_reports_later():
    app = start()
    app.sidebar.button(key="reg_lambda_double").click().run()
    app.run()
    app.session_state["reg_lambda"] = 4.0
    app.text_input(key=mirror.DRAWN).set_value("0")  # as after a run that ended before the field
    assert app.run().sidebar.number_input(key="reg_lambda").value == 4.0


def test_a_browser_is_told_what_it_has_drawn_before_the_page_which_may_take_long(monkeypatch):
    app = start()
    before = int(app.text_input(key=mirror.DRAWN).value)

    def broken_off(*_):
        raise DataError("broken off")

    monkeypatch.setattr(frame, "run", broken_off)
    app.sidebar.button(key="reg_lambda_double").click().run()
    assert app.error[0].value == "broken off"
    assert int(app.text_input(key=mirror.DRAWN).value) == int(app.text_input(key=mirror.DRAWN_EARLY).value) > before
    app.sidebar.number_input(key="reg_lambda").set_value(3.0).run()
    assert app.sidebar.number_input(key="reg_lambda").value == 3.0


def test_too_little_memory_is_told_as_a_sentence(monkeypatch):
    app = start()

    def without_room(*_):
        raise MemoryError

    monkeypatch.setattr(frame, "run", without_room)
    app.run()
    assert app.error[0].value.startswith("There is not enough memory for this now.")
    assert not app.exception


def test_a_browser_is_told_of_the_data_set_before_it_is_loaded(monkeypatch):
    app = start()
    before = int(app.text_input(key=mirror.DRAWN_EARLY).value)

    def broken_off(*_):
        raise KeyError("broken off")  # as a run that ends while it loads

    monkeypatch.setattr(model, "lambda_range_of", broken_off)
    next(button for button in app.sidebar.button if button.label == "Reset").click().run()
    assert app.exception
    assert int(app.text_input(key=mirror.DRAWN_EARLY).value) > before


def test_a_browser_has_no_value_of_an_earlier_session_for_a_mirrored_control():
    first, second = ({slider.key for slider in start().select_slider} for _ in range(2))
    assert len(first) == len(second) == 2
    assert not first & second


def test_a_control_may_go_back_to_its_old_value_once_the_new_one_is_drawn():
    app = start()
    app.sidebar.button(key="reg_lambda_double").click().run()
    app.sidebar.number_input(key="reg_lambda").set_value(3.0).run()
    assert app.sidebar.number_input(key="reg_lambda").value == 3.0


def test_without_a_preference_for_rare_labels_both_variants_are_one():
    app = start(A="0")
    values = [each.value for each in app.metric]
    assert values[:6] == values[6:12]


def test_moving_a_and_b_leaves_the_plain_variant_where_it_was():
    app = start()
    before = [each.value for each in app.metric][:6]
    app.sidebar.slider(key="A").set_value(1.5).run()
    assert [each.value for each in app.metric][:6] == before
    app.sidebar.toggle(key="tie_metric").set_value(True).run()
    tied = [each.value for each in app.metric][:6]
    assert tied[:3] == before[:3]
    assert tied[3:] != before[3:]


def test_a_held_setting_stays_as_a_ghost_until_released():
    app = start()
    app.sidebar.button(key="hold_button").click().run()
    app.sidebar.number_input(key="reg_lambda").set_value(30.0).run()
    assert app.metric[0].delta not in ("", None, "0")
    assert "hold" in app.query_params
    app.sidebar.button(key="hold_button").click().run()
    assert "hold" not in app.query_params


def test_an_internal_link_sets_what_a_control_can_take_and_nothing_else():
    app = start(set='{"reg_lambda": 30, "A": -1, "own_lambda_ps": true, "reg_lambda_ps": 9.5, "toy_words": "x"}')
    assert not app.exception
    assert app.sidebar.number_input(key="reg_lambda").value == 30.0
    assert app.sidebar.number_input(key="reg_lambda_ps").value == 9.5
    assert app.sidebar.slider(key="A").value == 0.55
    assert "set" not in app.query_params


@pytest.mark.parametrize("text", ["[1, 2]", "null", "{", '{"K": NaN, "A": [[0.5]]}', "[" * 5000])
def test_an_internal_link_that_makes_no_sense_sets_nothing(text):
    app = start(set=text)
    assert not app.exception
    assert len(app.metric) >= 12
    assert "set" not in app.query_params


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


@pytest.mark.parametrize("held_tie", [True, False])
def test_a_held_setting_is_measured_with_the_present_ruler(held_tie):
    hold = f"Debtags~3.0~false~3.0~0.3~1.5~5~{str(held_tie).lower()}~"
    app = start(A="0.9", tie_metric=str(not held_tie).lower(), hold=hold)
    psp, psp_ps = app.metric[3], app.metric[9]
    assert (psp.label, psp.delta) == ("PSP@1", "±0.00")  # XML-ridge does not depend on A
    assert psp_ps.delta != "±0.00"


def test_no_difference_is_neither_a_rise_nor_a_fall():
    app = start(A="0")
    assert [metric.delta for metric in app.metric][6:] == ["±0.00"] * 6


def test_a_part_of_a_page_words_what_is_wrong_with_the_data_and_the_rest_goes_on():
    def script():
        import streamlit as st

        from pages.shared.frame import fragment
        from xmlcore import DataError

        def part(name: str) -> None:
            raise DataError(f"{name} is not there any more: *x*")

        fragment(part)("Debtags")
        st.write("the rest")

    app = AppTest.from_function(script, default_timeout=SECONDS).run()
    assert not app.exception
    assert [error.value for error in app.error] == [r"Debtags is not there any more\: \*x\*"]
    assert app.markdown[0].value == "the rest"


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


def test_plain_markdown_escapes_what_streamlit_would_draw():
    assert plain_markdown(":red[x] $a$ use::net") == r"\:red\[x\] \$a\$ use\:\:net"
    assert plain_markdown(":material/home:") == "\\:\u2060material/home\\:"


def seen_by_a_run(monkeypatch, **options) -> list[bool]:
    """Whether a visitor waited during one run of a fragment, and whether one did after it."""
    monkeypatch.setattr(behind, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(frame.st, "fragment", lambda function, run_every: function)
    seen = []
    frame.fragment(lambda: seen.append(behind.visitors_waiting()), **options)()
    return [*seen, behind.visitors_waiting()]


def test_work_behind_the_pages_steps_aside_for_a_fragment_that_a_visitor_runs(monkeypatch):
    assert seen_by_a_run(monkeypatch) == [True, False]


def test_polls_do_not_hold_up_the_work_that_they_look_for(monkeypatch):
    assert seen_by_a_run(monkeypatch, run_every=behind.POLL_SECONDS) == [False, False]
