"""The page "Data": other features, and what they cost."""

import numpy as np
from streamlit.testing.v1 import AppTest

from pages.shared import data_cost
from tests.app.helpers import button, data_page, texts, unfolded
from xmlcore.cost import BlockOutline, Outline, factorization_cost
from xmlcore.recipe import FeatureRecipe

BIG = Outline(1_000_000, 300_000, 13_000, (BlockOutline(200_000, np.full(200_000, 350), 5_000_000_000),), 5_000_000)


def test_other_features_are_put_together_shown_with_their_cost_and_used():
    app = data_page()
    app.radio(key="recipe_reduction").set_value("truncated SVD").run()
    app.number_input(key="recipe_k").set_value(20).run()
    assert "`tfidf+unit+svd:20`" in texts(app)
    assert "20 × 20" in texts(app)
    button(app, "Use these features").click().run()
    assert not app.exception
    assert app.sidebar.text_input(key="features").value == "tfidf+unit+svd:20"
    assert "In use: `tfidf+unit+svd:20`, 20 dense features." in texts(app)
    app.radio(key="recipe_reduction").set_value("all features").run()
    button(app, "Use these features").click().run()
    assert app.sidebar.text_input(key="features").value == ""  # what is used without a choice


def test_the_controls_follow_a_recipe_from_elsewhere():
    app = data_page(features="tfidf+unit+terms:500")
    assert app.toggle(key="recipe_few").value
    assert app.number_input(key="recipe_terms").value == 500
    app.sidebar.text_input(key="features").set_value("tfidf").run()
    assert not app.toggle(key="recipe_few").value
    assert not app.toggle(key="recipe_unit").value
    app.switch_page("pages/learn.py").run()
    unfolded(app).switch_page("pages/data.py").run()
    assert app.toggle(key="recipe_tfidf").value
    assert not any(each.label == "Use these features" for each in app.button)


def test_what_does_not_fit_says_why_and_what_to_press_instead():
    def page():
        import streamlit as st

        from pages.shared import data_cost
        from tests.app.test_data_features import BIG
        from xmlcore.recipe import FeatureRecipe

        def use(recipe, n_train):
            st.session_state["used"] = (str(recipe), n_train)

        data_cost.offer(BIG, FeatureRecipe(), use, "big", as_it_is="Use it")
        st.text(str(st.session_state.get("used")))

    app = AppTest.from_function(page, default_timeout=60).run()
    assert "It does not fit" in app.warning[0].value
    assert button(app, "Use it").disabled
    app.button(key="big_svd").click().run()
    assert "svd:" in app.text[0].value
    app.button(key="big_sample").click().run()
    assert app.text[0].value.endswith("000)")


def test_seconds_are_said_roughly():
    said = [data_cost.seconds_text(value) for value in (0.2, 12.3, 150, 9000)]
    assert said == ["less than a second", "about 12 s", "about 2 min", "about 2 h"]


def test_a_cost_names_the_matrix_and_its_bytes():
    cost = factorization_cost(BIG, FeatureRecipe(svd=300), free_bytes=64 << 30, rate=1e11)
    assert "XᵀX of size 300 × 300 takes 720 kB" in data_cost.cost_text(cost)
