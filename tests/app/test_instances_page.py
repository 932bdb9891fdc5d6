"""The Instances page itself, run on a data set small enough to check by brute force."""

import re
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shared import instance_find as find
from pages.shared import model, sources
from pages.shared.frame import PAGES, plain_markdown
from tests.app.tiny import BUILT, LABELS, RAW, SAME, K, answer_at, exact_scores
from xmlcore import Dataset
from xmlcore.figures import RIDGE_PS


@pytest.fixture
def page(monkeypatch):
    """The page in a session of its own, with the tiny data set alone; called with a link, it runs."""
    monkeypatch.setattr(sources, "names", lambda: ["Tiny"])
    monkeypatch.setattr(sources, "raw", lambda title: RAW)

    def open_page(**link: str) -> AppTest:
        test = AppTest.from_file("../../app.py", default_timeout=120)
        test.query_params.update({"K": str(K), "reg_lambda": "0.5", **link})
        test.switch_page("pages/instances.py")
        test.run()
        for thread in threading.enumerate():
            if thread.name == "factorise Tiny":
                thread.join()
        return test.run()

    return open_page


@pytest.fixture
def offer(monkeypatch):
    """Offers other data sets beside the tiny one; their titles must be new, for models are kept by title."""

    def offer_these(**others: Dataset) -> None:
        monkeypatch.setattr(sources, "names", lambda: ["Tiny", *others])
        monkeypatch.setattr(sources, "raw", lambda title: others.get(title, RAW))

    return offer_these


def html_of(test: AppTest) -> str:
    return " ".join(element.proto.body for element in test.get("html"))


@pytest.mark.parametrize("text", ["🎲", ".*", "?!"])
def test_a_search_without_a_word_finds_nothing_and_says_so(page, text):
    assert find.found(answer_at(SAME), text, "any").size == 0
    test = page(instance="4")
    test.text_input(key="find").set_value(text).run()
    assert "<h2>doc-4</h2>" in html_of(test)
    assert any("there is no word in it" in info.value for info in test.info)


def test_what_is_searched_is_not_taken_for_markdown(page):
    test = page(instance="4")
    test.text_input(key="find").set_value("*a*_b_ <b>x</b> $a$ [l](http://x)").run()
    (said,) = [info.value for info in test.info]
    assert r"“\*a\*\_b\_ \<b\>x\</b\> \$a\$ \[l\]\(http\://x\)”" in said


def test_asking_for_the_most_labels_goes_to_the_instance_that_has_them(page):
    most = int(np.argmax(np.diff(BUILT.Y_test.indptr)))
    test = page(instance=str(most + 1))
    test.selectbox(key="show").set_value("most labels").run()
    assert test.session_state["instance"] == most
    assert test.query_params["instance"] == str(most)


def test_the_address_leaves_out_the_instance_that_nobody_has_chosen(page):
    test = page()
    assert "instance" not in test.query_params
    shown = test.session_state["instance"]
    test.button(key="instance_after").click().run()
    assert test.query_params["instance"] == str(test.session_state["instance"])
    test.button(key="instance_before").click().run()
    assert test.session_state["instance"] == shown
    assert "instance" not in test.query_params


def test_an_instance_that_nobody_has_chosen_is_in_the_address_once_another_would_be_the_first(page):
    test = page()
    test.sidebar.slider(key="K").set_value(K + 1).run()
    assert test.query_params["instance"] == str(test.session_state["instance"])


def test_a_link_opens_an_instance_and_a_label(page):
    test = page(instance="4", label="3")
    assert not test.exception
    assert "<h2>doc-4</h2>" in html_of(test)
    assert test.session_state[test.session_state["_label_choice"].key] == 3
    assert "<b>sound</b> scores" in html_of(test)
    assert len(test.get("plotly_chart")) == 2


@pytest.mark.parametrize(
    ("link", "named"),
    [
        ({"instance": "30"}, "instance = 30 was refused: Tiny has the test instances 0 to 29"),
        ({"instance": "-1"}, "instance = -1 was refused"),
        ({"instance": "![](http://x/y.png)"}, "instance = ![](http://x/y.png) was refused"),
        ({"instance": "4", "label": "6"}, "label = 6 was refused: Tiny has the labels 0 to 5"),
    ],
)
def test_what_a_link_asks_for_and_is_not_there_is_named(page, link, named):
    test = page(**link)
    assert not test.exception
    assert any(plain_markdown(named) in warning.value for warning in test.warning)
    assert "<h2>doc-" in html_of(test)


def test_a_label_that_was_never_seen_is_told_to_have_no_score(page):
    test = page(instance="4", label="5")
    assert not test.exception
    assert any("on no training instance" in info.value for info in test.info)
    assert not test.get("plotly_chart")


def test_a_link_inside_the_app_opens_an_instance(page):
    test = page(view="Your own document")
    test.session_state["instance"], test.session_state["label"] = 7, 1
    test.run()
    assert "<h2>doc-7</h2>" in html_of(test)
    assert test.query_params["instance"] == "7"
    assert test.query_params["label"] == "1"


def test_the_arrows_walk_over_what_was_found(page):
    test = page(instance="4", find="chess")
    rows = find.found(answer_at(SAME), "chess", "any").tolist()
    test.session_state["instance"] = rows[0]
    test.run()
    assert test.button(key="instance_before").disabled
    test.button(key="instance_after").click().run()
    assert test.session_state["instance"] == rows[1]
    assert test.query_params["instance"] == str(rows[1])


def test_a_search_goes_to_the_first_that_it_finds_and_says_when_there_is_none(page):
    test = page(instance="4")
    test.text_input(key="find").set_value("doc-12").run()
    assert "<h2>doc-12</h2>" in html_of(test)
    test.text_input(key="find").set_value("zyzzyva").run()
    assert "<h2>doc-12</h2>" in html_of(test)
    assert any("zyzzyva" in info.value for info in test.info)


def test_the_lists_come_at_once_and_the_explanations_say_that_they_are_coming(page, monkeypatch):
    monkeypatch.setattr(model.Model, "ready", False)
    test = page(instance="4")
    assert not test.exception
    assert "✓" in html_of(test)
    assert any("explanations appear here" in info.value for info in test.info)


def test_missing_labels_lead_to_their_instances(page):
    test = page(view="Missing labels?", own_lambda_ps="true", reg_lambda_ps="50")
    assert not test.exception
    (table,) = test.dataframe
    scores, Y = exact_scores(BUILT.X_test.toarray(), 0.5), BUILT.Y_test.toarray()
    ranked = np.argsort(-scores, axis=1, kind="stable")[:, :K]
    wrong = [(row, label) for row in range(30) for label in ranked[row] if not Y[row, label]]
    rows, labels = zip(*sorted(wrong, key=lambda at: -scores[at])[:50], strict=True)
    assert table.value["Support"].tolist() == pytest.approx([scores[at] for at in zip(rows, labels, strict=True)])
    assert table.value["Instance"].tolist()[:9] == [f"doc-{row}" for row in rows[:9]]
    assert table.value["Missing label?"].tolist()[:9] == [LABELS[label] for label in labels[:9]]
    assert table.value["Training instances"].tolist()[:9] == [BUILT.label_counts[label] for label in labels[:9]]
    given = [", ".join(LABELS[label] for label in np.flatnonzero(Y[row])) for row in rows]
    assert table.value["Labels in the data"].tolist()[:9] == given[:9]


def test_a_chosen_row_of_the_missing_labels_opens_its_instance_at_its_label(page, monkeypatch):
    tables, drawn = [], st.dataframe

    def dataframe(table, *, on_select="ignore", **told):
        def pick() -> None:  # as the browser does
            st.session_state["missing_rows"] = SimpleNamespace(selection=SimpleNamespace(rows=[2]))
            on_select()

        if not callable(on_select):
            return drawn(table, **told)
        tables.append(table)
        return st.button("Pick", on_click=pick)

    monkeypatch.setattr(st, "dataframe", dataframe)
    test = page(view="Missing labels?")
    chosen = tables[-1].iloc[2]
    next(each for each in test.button if each.label == "Pick").click().run()
    assert not test.exception
    assert f"<h2>{chosen['Instance']}</h2>" in html_of(test)
    assert test.query_params["label"] == str(LABELS.index(chosen["Missing label?"]))


def test_a_typed_document_is_explained_and_unknown_words_are_marked(page):
    test = page(view="Your own document")
    test.text_area(key="document").set_value("chess engine <i>zyzzyva</i>").run()
    assert not test.exception
    assert "<mark class='unknown'>zyzzyva</mark>" in html_of(test)
    assert "<i>" not in html_of(test)
    assert len(test.get("plotly_chart")) == 2


def test_the_example_that_is_offered_is_explained(page):
    test = page(view="Your own document")
    next(each for each in test.button if each.label == "Try an example").click().run()
    assert not test.exception
    assert test.text_area(key="document").value.startswith("A chess engine")
    assert len(test.get("plotly_chart")) == 2


def test_of_a_typed_document_without_a_known_word_nothing_is_ranked(page):
    test = page(view="Your own document")
    test.text_area(key="document").set_value("zyzzyva").run()
    assert not test.exception
    assert [info.value for info in test.info] == ["So all scores are 0, and there is nothing to rank or to explain."]
    assert "zyzzyva" in html_of(test)
    assert "<table>" not in html_of(test)
    assert not test.get("plotly_chart")


def test_of_a_long_text_the_beginning_is_explained_and_it_is_said_so(page):
    test = page(view="Your own document")
    test.text_area(key="document").set_value("chess zyzzyva " * 80_000).run()
    assert not test.exception
    assert any("Of the 1,120,000 characters of this text, the first 19,998 are" in info.value for info in test.info)
    assert len(html_of(test)) < 200_000
    assert len(test.session_state["document"]) == 1_120_000
    test.text_area(key="document").set_value("chess").run()
    assert not test.info


def test_a_data_set_without_words_says_at_once_that_no_text_can_be_explained(page, offer):
    offer(Wordless=replace(RAW, feature_names=None, test_names=None))
    test = page(data="Wordless", view="Your own document")
    assert not test.exception
    (said,) = test.info
    assert "which are not plain counts of known words" in said.value
    assert not test.text_area
    assert "Try an example" not in [button.label for button in test.button]
    test.segmented_control(key="view").set_value("A test instance").run()
    assert test.text_input(key="find").label == "Number"
    assert test.text_input(key="find").placeholder == "such as 29"


@pytest.mark.parametrize("search", [{"find": "chess"}, {"show": "most labels"}, {"find": "doc-2", "show": "any"}])
def test_another_data_set_shows_the_first_that_the_search_finds_as_a_link_does(page, offer, search):
    order = np.arange(30)[::-1]
    other = replace(RAW, X_test=RAW.X_test[order], Y_test=RAW.Y_test[order], test_names=RAW.test_names[order])
    first = {
        "chess": other.test_names[np.flatnonzero(other.X_test.toarray()[:, 0])[0]],
        "most labels": other.test_names[np.argmax(np.diff(other.Y_test.indptr))],
        "doc-2": "doc-2",
    }[next(iter(search.values()))]
    offer(Other=other)
    by_link, test = page(data="Other", **search), page(data="Tiny", **search)
    test.sidebar.selectbox(key="data").set_value("Other").run()
    assert not test.exception
    for each in (by_link, test):
        assert not any("shown below, is not" in caption.value for caption in each.caption)
        assert "instance" not in each.query_params
        assert f"<h2>{first}</h2>" in html_of(each)


def test_an_instance_that_a_search_has_not_chosen_is_in_the_address_once_the_search_is_another(page):
    test = page(find="chess")
    shown = test.session_state["instance"]
    test.text_input(key="find").set_value("").run()
    assert test.query_params["instance"] == str(shown)


def test_what_is_found_outside_of_a_search_is_told_apart_from_the_one_or_all_that_are_in_it(page):
    test = page(instance="4", find="doc-12")
    assert any(each.value.endswith("shown below, is not the one found.") for each in test.caption)
    test = page(instance="4", find="doc-2")
    assert any(each.value.endswith("shown below, is not among the 11 found.") for each in test.caption)


def test_a_single_test_instance_is_not_spoken_of_as_several(page, offer):
    offer(Single=replace(RAW, X_test=RAW.X_test[:1], Y_test=RAW.Y_test[:1], test_names=RAW.test_names[:1]))
    test = page(data="Single", instance="4", find="zyzzyva", K="1")
    assert any("has the test instance 0 only" in warning.value for warning in test.warning)
    texts = [each.value for kind in (test.caption, test.info, test.warning, test.markdown) for each in kind]
    assert not [text for text in texts if "1 test instances" in text or "the first 1" in text]
    test = page(data="Single", view="Missing labels?", K="1")
    texts = [each.value for kind in (test.caption, test.info, test.markdown) for each in kind]
    assert not [text for text in texts if "1 test instances" in text or "the first 1" in text or "1 strongest" in text]


@pytest.mark.parametrize(("reg_lambda", "shown"), [("0.5", "%.3f"), ("1e12", "%.2e")])
def test_the_support_of_a_missing_label_has_digits_at_any_scale(page, reg_lambda, shown):
    test = page(view="Missing labels?", reg_lambda=reg_lambda)
    assert not test.exception
    assert f'"format": "{shown}"' in test.dataframe[0].proto.columns


def test_a_very_large_lambda_leaves_no_score_without_digits(page):
    test = page(instance="4", reg_lambda="1e12")
    assert not test.exception
    assert "0.000" not in html_of(test)
    assert re.search(r"scores \d\.\d\de−1\d, the sum", html_of(test))


def test_with_reduced_features_the_words_of_a_typed_document_are_those_that_are_counted(page):
    test = page(view="Your own document", features="tfidf+unit+svd:5")
    test.text_area(key="document").set_value("chess engine zyzzyva").run()
    assert not test.exception
    assert "Underlined: not in the vocabulary of 10 words, so without any effect: zyzzyva." in html_of(test)
    assert "Its features, by weight" in html_of(test)
    assert any(caption.value.startswith("By feature:") for caption in test.caption)


def test_a_search_among_reduced_features_says_that_there_are_no_words_to_find(page):
    test = page(instance="4", features="tfidf+unit+svd:5")
    test.text_input(key="find").set_value("chess").run()
    assert any("Their features are no words" in info.value for info in test.info)


def test_with_a_lambda_of_its_own_ps_can_be_explained_itself(page):
    test = page(instance="4", own_lambda_ps="true", reg_lambda_ps="2")
    assert "PS has a λ of its own" in html_of(test)
    test.segmented_control(key="explained").set_value(RIDGE_PS).run()
    assert not test.exception
    assert "with PS, at its own λ = 2" in html_of(test)


@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.title)
def test_the_name_of_a_data_set_is_text_on_every_page(monkeypatch, entry):
    name = "![](http://x/y.png) $a$"
    monkeypatch.setattr(sources, "names", lambda: [name])
    monkeypatch.setattr(sources, "raw", lambda title: replace(RAW, name=name, notes=(name,), source=name))
    test = AppTest.from_file("../../app.py", default_timeout=120)
    test.query_params.update(
        {"K": str(K), "hold": f"{name} 2~3.0~false~3.0~0.55~1.5~5~false~", "part": "Five questions"}
    )
    test.switch_page(entry.path)
    test.run()
    assert not test.exception
    kinds = (test.markdown, test.caption, test.info, test.warning, test.error, test.header, test.title)
    shown = [each.value for kind in kinds for each in kind] + [each.label for each in test.button]
    assert not [text for text in shown if "![](" in text or "$a$" in text]
    assert any(plain_markdown(f"{name} 2") in text for text in shown)  # the note on what is held
