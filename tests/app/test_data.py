"""The page "Data": what it says of a data set."""

import re
from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from pages.shared import data_profile, show
from pages.shared.data_profile import LABELS_SHOWN, _described, _remarks, pairs_of, profile_of, sentence
from tests.app.helpers import button, charts, data_page, only_data_set, start, texts, unfolded
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


def uneven() -> Dataset:
    """Of 50 training and 30 test instances the last have no features, others no labels; three labels are only in test.

    A label is on one training instance, and one of no instance at all.
    """
    rng = np.random.default_rng(2)
    X = sparse.csr_array((rng.random((80, 6)) * (rng.random((80, 6)) < 0.5)).astype(np.float32))
    Y = rng.random((80, 12)) < np.linspace(0.8, 0.1, 12)
    Y[:50, 7:], Y[4, 7], Y[:, 11] = False, True, False
    Y[:40, 1] = Y[:40, 0]
    Y[[1, 2, 60, 61, 62]] = False
    Y[70, :11] = True
    keep = sparse.diags_array(~np.isin(np.arange(80), [49, 75, 76, 77, 78, 79]) * 1.0)
    X, Y = sparse.csr_array((keep @ X).astype(np.float32)), sparse.csr_array(Y.astype(np.float32))
    return Dataset("uneven", X[:50], Y[:50], X[50:], Y[50:])


@pytest.mark.parametrize("order", ["together", "jaccard"])
def test_every_number_on_the_page_and_in_its_files_is_counted_by_hand(monkeypatch, order):
    data, files, drawn = uneven(), {}, show.chart
    monkeypatch.setattr(show, "chart", lambda *args, **told: [files.update({told["name"]: told}), drawn(*args, **told)])
    with only_data_set(monkeypatch, "Uneven", data):
        app = data_page(pair_order="by instances with both")  # asked first: it must not be given for the other order
        if order == "jaccard":
            app.segmented_control(key="pair_order").set_value("by overlap").run()
    assert not app.exception
    X, Y, Y_test = data.X_train.toarray(), data.Y_train.toarray(), data.Y_test.toarray()
    of, in_test, per, per_test = Y.sum(axis=0), Y_test.sum(axis=0), Y.sum(axis=1), Y_test.sum(axis=1)
    lost = (of == 0) & (in_test > 0)
    half = int((np.cumsum(np.sort(of)[::-1]) < Y.sum() / 2).sum()) + 1
    first = app.markdown[0].value
    assert "50 training and 30 test instances with 6 features and 12 labels" in first
    assert f", {per.mean():.2f} on a training instance. {half} labels make at least half" in first
    assert f"1 label ({100 / 12:.1f} %) is on one training instance only." in first
    assert [(each.label, each.value) for each in app.metric] == [
        ("Cardinality", f"{per.mean():.2f}"),
        ("Density", f"{100 * Y.mean():.3g} %"),
        ("Features per instance", f"{(X > 0).sum(axis=1).mean():.1f}"),
        ("Labels seen once", "1"),
        ("Labels only in test", "3"),
        ("Most on one instance", f"{per.max():.0f}"),
    ]
    helps = {each.label: each.help for each in app.metric}
    assert f"They are {100 * Y_test[:, lost].sum() / Y_test.sum():.2f} % of all test" in helps["Labels only in test"]
    assert f"median is {np.median(per):g}, and {(per == 0).sum()} have none" in helps["Most on one instance"]
    told = texts(app)
    without = [int((each.toarray() == 0).all(axis=1).sum()) for each in (data.X_train, data.X_test)]
    assert f"Without features: {without[0]} training instances and {without[1]} test instances." in told
    assert without[0] != without[1]
    assert f"No prediction is right for {(per_test == 0).sum()} test instances without labels." in told
    assert "4 labels without a training instance cannot be drawn." in told
    assert f"have {per.mean():.2f} labels on average, test instances {per_test.mean():.2f}." in told
    rows = {name: each["data"]() for name, each in files.items()}
    by_frequency = np.argsort(-of, kind="stable")
    table = rows["frequency_profile"]
    assert table["label"].tolist() == [data.label_name(label) for label in by_frequency]
    assert table[["training instances", "test instances"]].to_numpy().T.tolist() == [
        of[by_frequency].tolist(),
        in_test[by_frequency].tolist(),
    ]
    table = rows["labels_per_instance"]
    widest = int(max(per.max(), per_test.max())) + 1
    counts = [np.bincount(each.astype(int), minlength=widest) for each in (per, per_test)]
    assert table[["training instances", "test instances"]].to_numpy().T.tolist() == [each.tolist() for each in counts]
    both = {(a, b): (Y[:, a] * Y[:, b]).sum() for a in range(12) for b in range(a + 1, 12)}
    overlap = {(a, b): n / (of[a] + of[b] - n) for (a, b), n in both.items() if n >= 5}
    orders = {
        "together": sorted(overlap, key=lambda pair: (-both[pair], -overlap[pair], pair)),
        "jaccard": sorted(overlap, key=lambda pair: (-overlap[pair], -both[pair], pair)),
    }
    assert orders["together"] != orders["jaccard"]
    wanted = orders[order][:15]
    table = rows["label_pairs"]
    assert table[["label", "and label"]].to_numpy().tolist() == [list(map(data.label_name, pair)) for pair in wanted]
    assert table["training instances with both"].tolist() == [both[pair] for pair in wanted]
    assert table["overlap (%)"].tolist() == pytest.approx([100 * overlap[pair] for pair in wanted])
    (chart,) = charts(app, "label_pairs")
    shown = both if order == "together" else {pair: 100 * share for pair, share in overlap.items()}
    assert list(chart["data"][0]["x"]) == pytest.approx([shown[pair] for pair in wanted])
    assert len(listed(app)) == 10
    (chart,) = charts(app, "labels_per_instance")
    for trace, each in zip(chart["data"], counts, strict=True):
        assert list(trace["y"])[: len(each)] == pytest.approx(100 * each[: len(trace["y"])] / each.sum())


def test_two_data_sets_of_one_name_have_profiles_charts_and_pairs_of_their_own():
    data = uneven()
    other = replace(data, Y_train=0 * data.Y_train)
    for each, labelled in ((data, True), (other, False)):
        assert profile_of(each).label_counts.any() == labelled
        assert bool(pairs_of(each, "together").first.size) == labelled
        assert (data_profile._figures(each)[1].data[0].y[0] == 100) != labelled


@pytest.mark.parametrize(("train", "test", "labels"), [(0, 2, 0), (1, 0, 0), (0, 0, 3), (0, 0, 0)])
def test_what_is_without_features_or_labels_is_remarked_on_whichever_side_it_is(train, test, labels):
    sides = {"train": {"without_features": train}, "test": {"without_features": test, "without_labels": labels}}
    told = _remarks(SimpleNamespace(**{name: SimpleNamespace(**side) for name, side in sides.items()}))
    assert [each.startswith("Without features") for each in told] == [True] * bool(train + test) + [False] * bool(
        labels
    )


def test_of_many_labels_the_first_are_listed_and_the_rest_counted():
    names = tuple(f"l{label}" for label in range(LABELS_SHOWN + 3))
    told = _described(Sample(0, "0", names, (), 1, None))
    assert told.endswith(f"l{LABELS_SHOWN - 2}, l{LABELS_SHOWN - 1} and 3 more</li>")
