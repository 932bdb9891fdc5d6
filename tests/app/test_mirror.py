"""Controls that are set from elsewhere too, and browsers that are one answer behind."""

from streamlit.testing.v1 import AppTest

from pages.shared import frame, mirror, preparing
from tests.app.helpers import only_data_set, preset, small, start
from xmlcore import PROPENSITY_PRESETS, DataError


def lambda_slider(app: AppTest):
    return next(each for each in app.sidebar.select_slider if each.label == "λ")


def test_the_lambda_slider_and_the_field_mirror_each_other():
    app = start(reg_lambda="7.3")
    assert lambda_slider(app).value == 7.3
    lambda_slider(app).set_value(10.0).run()
    assert app.sidebar.number_input(key="reg_lambda").value == 10.0
    assert "7.3" in lambda_slider(app).options  # to which its user may go back
    app.sidebar.button(key="reg_lambda_double").click().run()
    assert app.sidebar.number_input(key="reg_lambda").value == 20.0


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


def test_a_browser_that_is_two_answers_behind_undoes_neither_and_its_user_may_still_move_the_control(monkeypatch):
    with only_data_set(monkeypatch, "small", small()):
        app = start()
        drawn = app.text_input(key=mirror.DRAWN).value
        for _ in range(2):
            app.text_input(key=mirror.DRAWN).set_value(drawn)
            app.sidebar.button(key="reg_lambda_double").click().run()
        for sent, kept in ((3.0, 12.0), (6.0, 12.0), (5.0, 5.0)):
            app.sidebar.number_input(key="reg_lambda").set_value(sent)
            app.text_input(key=mirror.DRAWN).set_value(drawn)
            app.sidebar.slider(key="K").set_value(app.sidebar.slider(key="K").value - 1).run()
            assert app.sidebar.number_input(key="reg_lambda").value == kept


def test_a_mirrored_control_is_a_new_one_where_its_range_is_another():
    keys = [mirror.key_of("ranged", 1.0, *shape) for shape in ((1, 10), (1, 10), (1, 100), (1, 100))]
    assert keys[0] == keys[1] != keys[2] == keys[3]


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


def test_a_browser_is_told_of_the_data_set_before_it_is_loaded(monkeypatch):
    app = start()
    before = int(app.text_input(key=mirror.DRAWN_EARLY).value)

    def broken_off(*_):
        raise KeyError("broken off")  # as a run that ends while it loads

    monkeypatch.setattr(preparing, "lambda_range_of", broken_off)
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
