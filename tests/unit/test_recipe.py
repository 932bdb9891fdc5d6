"""Recipes for features: their text, and what is refused in one."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmlcore.checks import DataError
from xmlcore.recipe import FeatureRecipe

weights = st.floats(0.001, 1000, allow_nan=False)
sizes = st.none() | st.integers(1, 10_000)


@given(
    st.builds(
        FeatureRecipe,
        terms=sizes,
        tfidf=st.booleans(),
        unit=st.booleans(),
        svd=sizes,
        seed=st.integers(0, 10_000),
        dense=weights,
        lm=st.none() | weights,
    )
    | st.builds(FeatureRecipe, project=sizes, seed=st.integers(0, 99))
)
def test_a_recipe_survives_the_way_through_its_text(recipe):
    assert FeatureRecipe.parse(str(recipe)) == recipe


def test_steps_are_written_in_the_order_in_which_they_are_done():
    assert str(FeatureRecipe.parse("svd:300 unit+tfidf")) == "tfidf+unit+svd:300"
    assert str(FeatureRecipe.parse("tfidf+lm")) == "tfidf+lm:0.7"
    assert str(FeatureRecipe()) == "raw"


def test_a_plus_sign_that_a_link_turned_into_a_space_still_parts_steps():
    assert FeatureRecipe.parse("tfidf unit lm:1") == FeatureRecipe(tfidf=True, unit=True, lm=1.0)


@given(st.text(max_size=30))
def test_only_a_data_error_comes_out_of_a_text_that_is_no_recipe(text):
    with suppress(DataError):
        recipe = FeatureRecipe.parse(text)
        assert FeatureRecipe.parse(str(recipe)) == recipe


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "expected steps"),
        ("stemming", "'stemming' is no step"),
        ("svd", "svd with a whole number"),
        ("svd:0", "svd is 0"),
        ("svd:-3", "'svd:-3'"),
        ("svd:3.5", "'svd:3.5'"),
        ("svd:9+project:9", "expected one of them"),
        ("unit+unit", "twice"),
        ("unit:2", "unit alone"),
        ("lm:0", "lm is 0.0"),
        ("lm:nan", "'lm:nan'"),
        ("dense:5000", "dense is 5000"),
        ("raw+tfidf", "'raw' is no step"),
    ],
)
def test_a_bad_recipe_is_named_with_the_step_and_the_value(text, told):
    with pytest.raises(DataError, match=told):
        FeatureRecipe.parse(text)


@given(st.integers(1, 10_000), weights)
def test_a_recipe_of_numpys_numbers_is_the_one_of_pythons(size, weight):
    of_numpy = FeatureRecipe(np.int64(size), np.True_, seed=np.float64(size), svd=np.int32(size), lm=np.float64(weight))
    assert of_numpy == FeatureRecipe(size, True, seed=size, svd=size, lm=weight)
    assert FeatureRecipe.parse(str(of_numpy)) == of_numpy


def test_a_weight_of_one_may_be_a_whole_number():
    assert str(FeatureRecipe(lm=1, dense=2)) == "dense:2+lm:1"
    assert FeatureRecipe.parse(str(FeatureRecipe(lm=True))) == FeatureRecipe(lm=1.0)  # the text was lm, which is lm:0.7


@pytest.mark.parametrize(
    ("step", "value"),
    [
        ("lm", "0.7"),
        ("lm", float("nan")),
        ("dense", None),
        ("seed", None),
        ("svd", "300"),
        ("terms", 2.5),
        ("tfidf", "no"),
        ("unit", None),
        ("unit", 1),
    ],
)
def test_a_value_of_another_type_is_named_with_its_step(step, value):
    with pytest.raises(DataError, match=f"features: {step} is {value!r}; expected"):
        FeatureRecipe(**{step: value})
