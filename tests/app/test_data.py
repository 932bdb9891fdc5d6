"""The page "Data": what it says of a data set."""

import re
from html import unescape

import numpy as np
from scipy import sparse

from pages.shared.data_profile import _described, sentence
from tests.app.helpers import button, data_page, start, unfolded
from xmlcore import Dataset, load_dataset
from xmlcore.profile import Sample, profile


def listed(app) -> set[str]:
    """The names of the instances that are listed."""
    return {unescape(name) for each in app.get("html") for name in re.findall("<li><b>(.*?)</b>", each.proto.body)}


def test_the_answer_comes_first_with_the_numbers_of_the_profile():
    app = data_page()
    assert not app.exception
    ds = load_dataset("debtags", None)
    assert app.markdown[0].value.startswith("**Debtags** has 23,639 training and 6,131 test instances with 3,000 ")
    values = {each.label: each.value for each in app.metric}
    assert values["Cardinality"] == f"{ds.Y_train.sum() / ds.n_train:.2f}"
    assert values["Labels seen once"] == str(int((ds.Y_train.sum(axis=0) == 1).sum()))
    names = {str(name) for name in ds.train_names}
    shown = listed(app)
    assert len(shown) == 10
    assert shown <= names


def test_ten_others_are_others_and_the_order_of_pairs_can_be_chosen():
    app = data_page()
    before = listed(app)
    button(app, "Ten others").click().run()
    assert listed(app) != before
    app.segmented_control(key="pair_order").set_value("by overlap").run()
    assert not app.exception
    assert app.segmented_control(key="pair_order").value == "by overlap"


def test_a_data_set_without_training_labels_is_said_to_teach_nothing():
    X = np.ones((3, 2), np.float32)
    empty = Dataset("none", X, sparse.csr_array((3, 4)), X, sparse.csr_array((3, 4)))
    assert "nothing can be learned" in sentence("none", profile(empty))


def test_one_feature_one_label_and_one_test_instance_are_not_told_as_several():
    X, Y = np.ones((3, 1), np.float32), sparse.csr_array(np.ones((3, 1), np.float32))
    told = sentence("tiny", profile(Dataset("tiny", X, Y, X[:1], Y[:1])))
    assert "3 training and 1 test instance with 1 feature and 1 label, 1.00 on" in told


def test_the_most_extreme_embedded_data_set_is_shown():
    app = data_page(data="Debian-depends")
    assert not app.exception
    assert "35,515 labels" in app.markdown[0].value


def test_names_and_texts_of_listed_instances_are_shown_letter_by_letter_and_what_is_not_there_is_left_out():
    odd = Sample(0, "<b>", ("a & b",), (), 3, "<script>" + "x" * 400)
    told = _described(odd)
    assert told.startswith("<li><b>&lt;b&gt;</b> · 3 features<br>Labels: a &amp; b<br>&lt;script&gt;xxx")
    assert told.endswith("…</li>")
    assert len(told) < 400
    assert _described(Sample(0, "0", (), ("word",), 1, None)) == (
        "<li><b>0</b> · 1 feature<br>Labels: none<br>Largest features: word</li>"
    )


def test_what_is_folded_is_drawn_when_it_is_opened_and_what_was_chosen_there_stays():
    def drawn() -> tuple[bool, bool, bool]:
        keys = {each.key for kind in (app.button, app.toggle) for each in kind}
        return bool(app.get("code")), "look_synthetic-bibtex" in keys, "recipe_unit" in keys

    app = start().switch_page("pages/data.py").run()
    assert drawn() == (False, False, False)
    unfolded(app, "Download or make").run()
    assert drawn() == (True, True, True)
    app.toggle(key="recipe_unit").set_value(False).run()
    for key, opened in (("ways", "Upload"), ("code", False), ("other_features", False)):
        app.session_state[key] = opened
    app.run()
    assert drawn() == (False, False, True)
    assert not app.toggle(key="recipe_unit").value
