"""The frame under streamlit.testing: the sidebar on every page, what it sets, and parts of a page."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import answers, behind, frame, model, show
from pages.shared.frame import PAGES, plain_markdown
from pages.shared.settings import DEFAULTS, LAMBDA_MAX, Settings
from tests.app.helpers import only_data_set, preset, small, start, until
from xmlcore import PROPENSITY_PRESETS


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
def test_every_page_runs_without_an_exception_and_each_row_of_its_files_says_what_it_is_of(entry, monkeypatch):
    files, drawn = {}, show.chart
    monkeypatch.setattr(
        show, "chart", lambda *args, **told: [files.update({told["name"]: told["data"]()}), drawn(*args, **told)]
    )
    app = start().switch_page(entry.path).run()
    assert not app.exception
    assert sidebar_labels(app) >= {"λ", "A", "B", "K"}
    for name, table in files.items():
        rows = table.to_csv(index=False, header=False).splitlines()
        of = "the example of Learn" if name == "toy_scores" else "Debtags"
        assert all(of in row for row in rows), name


def test_every_preset_of_the_field_can_be_chosen_by_its_data_set_and_stays_chosen():
    app = start()
    for name, values in reversed(PROPENSITY_PRESETS.items()):
        preset(app).set_value(values).run()
        assert name in preset(app).options[preset(app).index].split(", ")
        assert (app.sidebar.slider(key="A").value, app.sidebar.slider(key="B").value) == values
    app.sidebar.slider(key="A").set_value(0.7).run()
    assert preset(app).value is None


def test_a_preset_sets_both_parameters_and_reset_takes_them_back():
    app = start()
    preset(app).set_value(PROPENSITY_PRESETS["Amazon-670K"]).run()
    assert (app.sidebar.slider(key="A").value, app.sidebar.slider(key="B").value) == (0.6, 2.6)
    next(button for button in app.sidebar.button if button.label == "Reset").click().run()
    assert (app.sidebar.slider(key="A").value, app.sidebar.slider(key="B").value) == (0.55, 1.5)


def test_whatever_sets_a_control_sets_that_one_alone_and_reset_all_of_them(monkeypatch):
    with only_data_set(monkeypatch, "small", small()):
        app = start(own_lambda_ps="true", reg_lambda_ps="8")
        now = {**DEFAULTS, "own_lambda_ps": True, "reg_lambda_ps": 8.0, "features": ""}

        def sets(control, value=None, **changed) -> None:
            (control.click() if value is None else control.set_value(value)).run()
            now.update(changed)
            assert {key: app.session_state[key] for key in now} == now

        def slider_of(name: str):
            return next(each for each in (*app.select_slider, *app.slider) if each.key.startswith(f"{name}_"))

        sets(app.button(key="reg_lambda_ps_double"), reg_lambda_ps=16.0)
        sets(app.button(key="reg_lambda_ps_halve"), reg_lambda_ps=8.0)
        sets(app.button(key="reg_lambda_halve"), reg_lambda=1.5)
        sets(slider_of("reg_lambda_ps_slider"), 1.0, reg_lambda_ps=1.0)
        sets(slider_of("body_reg_lambda"), 10.0, reg_lambda=10.0)
        sets(app.slider(key="B"), 2.0, B=2.0)
        sets(slider_of("body_A"), 0.7, A=0.7)
        sets(preset(app), (0.6, 2.6), A=0.6, B=2.6)
        sets(app.number_input(key="reg_lambda"), LAMBDA_MAX, reg_lambda=LAMBDA_MAX)
        sets(app.button(key="reg_lambda_double"), reg_lambda=LAMBDA_MAX)
        sets(app.text_input(key="features"), "unit", features="unit")
        sets(app.toggle(key="tie_metric"), True, tie_metric=True)
        sets(next(each for each in app.button if each.label == "Reset"), **DEFAULTS, features="")
        assert app.number_input(key="reg_lambda_ps").disabled
        assert "reg_lambda_ps_double" not in [each.key for each in app.button]


def test_one_label_and_one_instance_are_not_told_as_several():
    assert (show.first_labels(1), show.first_labels(5)) == ("label ranked first", "5 labels ranked first")
    app = start()
    assert app.metric[0].help.startswith("Of the label ranked first, the share")
    assert app.metric[2].help.startswith("Of the 5 labels ranked first, the share")
    labels_of = answers.answer_at(Settings("Debtags")).dataset.Y_test.sum(axis=1)
    for card, k in ((1, 3), (2, 5)):
        ceiling = 100 * np.minimum(labels_of, k).sum() / (k * len(labels_of))
        assert app.metric[card].help.endswith(f"A perfect ranking would score {ceiling:.2f} % here.")
    answer = answers.answer_at(Settings("Debtags"))
    one = SimpleNamespace(full=SimpleNamespace(n_test=1))
    assert replace(answer, model=one, evaluation=SimpleNamespace(n_rows=1)).rows_text == "1 test instance"
    assert replace(answer, evaluation=SimpleNamespace(n_rows=9)).rows_text == "a sample of 9 of 6,131 test instances"


def test_a_lambda_at_which_rounding_may_show_is_warned_of():
    app = start(reg_lambda="1e-9")
    of = model.model_of("Debtags", "")
    until(lambda: of.ready)
    app.run()
    least = of.factorization.smallest_reliable_lambda
    told = f"Below λ = {least:.2g} rounding may show on these data: labels can come in another order."
    assert [warning.value for warning in app.warning] == [told]
    app.sidebar.number_input(key="reg_lambda").set_value(0.01).run()
    assert not app.warning
    app.session_state["reg_lambda_ps"] = 1e-9
    app.sidebar.toggle(key="own_lambda_ps").set_value(True).run()
    assert [warning.value for warning in app.warning] == [told]
    assert not any("is cut to" in caption.value for caption in app.caption)
    assert not app.exception


def test_drawing_an_answer_again_does_not_count_as_the_last_answer():
    app = start()
    first = app.session_state[answers.LAST_ANSWER]
    assert app.run().session_state[answers.LAST_ANSWER] is first
    app.sidebar.slider(key="A").set_value(0.7).run()
    assert app.session_state[answers.LAST_ANSWER][0].A == 0.7


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


def test_plain_markdown_escapes_what_streamlit_would_draw():
    assert plain_markdown(":red[x] $a$ use::net") == r"\:red\[x\] \$a\$ use\:\:net"
    for mark in r"\`*_{}[]()#+-.!|~<>$:&":
        assert plain_markdown(f"a{mark}b") == f"a\\{mark}b"
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
