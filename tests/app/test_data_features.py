"""The page "Data": other features, and what they cost."""

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import data_cost, data_features
from tests.app.helpers import button, data_page, only_data_set, small, texts, unfolded
from xmlcore.cost import BlockOutline, Outline, alternatives, factorization_cost
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


def test_the_other_matrix_is_named_where_instances_are_fewer_and_each_number_of_a_cost_is_in_its_place():
    few = Outline(500, 100, 7, (BlockOutline(2_000, np.full(2_000, 50), 20_000_000),), 1_500)
    cost = factorization_cost(few, FeatureRecipe(), free_bytes=64 << 30, rate=1e11)
    assert data_cost.cost_text(cost).startswith("XXᵀ of size 500 × 500 takes 2 MB, and ")
    seconds = {"reduction_seconds": 120.0, "gram_seconds": 200.0, "cholesky_seconds": 40.0, "eigh_seconds": 7200.0}
    told = data_cost.cost_text(replace(cost, gram_bytes=10**6, peak_bytes=3 * 10**6, free_bytes=9 * 10**9, **seconds))
    assert told.endswith(
        "takes 1 MB, and 3 MB at the worst moment, of 9 GB that are free. Roughly, where nothing else runs: the "
        "features about 2 min; a first answer by Cholesky about 6 min; the eigendecomposition that makes every λ quick "
        "about 2 h."
    )


@pytest.mark.parametrize("fits", [False, True])
def test_each_way_out_tells_its_own_cost(fits, monkeypatch):
    found = alternatives(BIG, FeatureRecipe())
    monkeypatch.setattr(data_cost, "alternatives", lambda *_: found)  # what is free, and how fast, changes meanwhile
    if fits:  # and yet takes long
        cost = factorization_cost(BIG, FeatureRecipe())
        slow = replace(cost, peak_bytes=1, too_large=False, eigh_seconds=500.0)
        assert slow.fits
        monkeypatch.setattr(data_cost, "factorization_cost", lambda *_: slow)

    def page():
        from pages.shared import data_cost
        from tests.app.test_data_features import BIG
        from xmlcore.recipe import FeatureRecipe

        data_cost.offer(BIG, FeatureRecipe(), lambda *_: None, "big")

    buttons = AppTest.from_function(page, default_timeout=60).run().button
    ways = {each.key.removeprefix("big_"): each for each in buttons}
    assert len(ways) == len(found) > 2
    for other in found:
        assert "It does not fit" not in ways[other.kind].help
        assert other.n_train or f"Features {other.recipe}. XᵀX of size {other.cost.size:,} ×" in ways[other.kind].help
        assert ways[other.kind].label == f"{other.title}, {data_cost.seconds_text(other.cost.seconds)}"


def test_every_control_makes_its_step_and_shows_the_one_in_use(monkeypatch):
    rng = np.random.default_rng(0)
    texts_of = [" ".join(rng.choice(["chess", "game", "server", "mail"], 5)) for _ in range(80)]
    dense = rng.random((80, 3)).astype(np.float32)
    data = small()
    data = replace(
        data,
        X_train=(data.X_train, dense[:60]),
        X_test=(data.X_test, dense[60:]),
        train_texts=texts_of[:60],
        test_texts=texts_of[60:],
    )
    with only_data_set(monkeypatch, "Small", data):
        app = data_page(features="unit+project:4+seed:5+dense:0.5")
        assert not app.exception
        assert "In use: `unit+project:4+seed:5+dense:0.5`, 4 dense + 3 dense features." in texts(app)
        assert not any(each.label == "Use these features" for each in app.button)
        for control, value, recipe in (
            (app.number_input(key="recipe_k"), 3, "unit+project:3+seed:5+dense:0.5"),
            (app.toggle(key="recipe_lm"), True, "unit+project:3+seed:5+dense:0.5+lm"),
            (app.toggle(key="recipe_few"), True, "terms:12+unit+project:3+seed:5+dense:0.5+lm"),
            (app.radio(key="recipe_reduction"), "truncated SVD", "terms:12+unit+svd:3+seed:5+dense:0.5+lm"),
            (app.slider(key="recipe_dense"), 0.7, "terms:12+unit+svd:3+seed:5+dense:0.7+lm"),
        ):
            control.set_value(value).run()
            assert f"`{FeatureRecipe.parse(recipe)}`" in texts(app)


def test_the_controls_show_each_step_of_a_recipe_within_their_bounds():
    raw = Outline(60, 20, 7, (BlockOutline(12, np.full(12, 24), 1_500), BlockOutline(3, None, 0)), 126)
    shown = data_features._values(FeatureRecipe.parse("terms:7+tfidf+svd:5+dense:0.5+lm:0.3"), raw)
    assert shown == {
        "recipe_tfidf": True,
        "recipe_unit": False,
        "recipe_few": True,
        "recipe_terms": 7,
        "recipe_reduction": "truncated SVD",
        "recipe_k": 5,
        "recipe_lm": True,
        "recipe_lm_weight": 0.3,
        "recipe_dense": 0.5,
    }
    shown = data_features._values(FeatureRecipe.parse("unit+project:6"), raw)
    assert (shown["recipe_unit"], shown["recipe_reduction"], shown["recipe_k"]) == (True, "random projection", 6)
    assert (shown["recipe_few"], shown["recipe_terms"], shown["recipe_lm"]) == (False, 12, False)
