"""A visitor's ways: from an instance to its explanation, a typed document, and another system's predictions."""

import numpy as np
import pytest

from tests.browser.chromium import click_in_table, slider, slider_value, wait_until_factorised, wait_until_idle
from xmlcore import fit_features, load_dataset, solve_direct
from xmlcore.predictions import predictions_from_scores, write_predictions


@pytest.fixture(scope="module")
def debtags():
    return load_dataset("debtags")


def direct_scores(ds, X_new):
    """By Cholesky, where the page has them from its factorisation."""
    return solve_direct(ds.X_train, ds.Y_train, X_new, 3.0)


def open_when_factorised(visit, url):
    page = visit(url)
    wait_until_factorised(page)
    return page


def test_an_instance_leads_to_the_explanation_of_its_first_label(server, visit, debtags):
    row = 7
    scores = direct_scores(debtags, debtags.X_test[[row]])[0]
    label = int(np.argmax(scores))
    page = open_when_factorised(visit, f"{server.url}/instances?instance={row}&label={label}")
    main = page.locator("[data-testid='stMain']")
    assert str(debtags.test_names[row]) in main.inner_text()
    assert f"{debtags.label_name(label)} scores {scores[label]:.3f}" in main.inner_text()
    for name in ("explain_features", "explain_instances"):
        bars = page.locator(f".st-key-chart_{name}")
        bars.locator(".js-plotly-plot .main-svg").first.wait_for()
        assert "score" in bars.locator(".ytick").all_text_contents()


def test_a_typed_document_gets_the_labels_that_the_model_gives_it(server, visit, debtags):
    page = open_when_factorised(visit, f"{server.url}/instances?view=Your own document")
    fitted = fit_features(load_dataset("debtags", features=None), "tfidf+unit")[1]
    box = page.get_by_role("textbox", name="Type or paste a text")
    box.fill("a chess game for the terminal qwertyuiopx")
    box.press("Control+Enter")
    main = page.locator("[data-testid='stMain']")
    main.get_by_text("qwertyuiopx").first.wait_for()  # marked as a word that the vocabulary does not know
    wait_until_idle(page)
    scores = direct_scores(debtags, fitted.from_texts(["a chess game for the terminal qwertyuiopx"]))[0]
    assert debtags.label_name(int(np.argmax(scores))) in main.inner_text()


def test_imported_predictions_stand_beside_ours_with_the_same_numbers(server, visit, debtags, tmp_path):
    ranked = predictions_from_scores("ours", direct_scores(debtags, debtags.X_test), 10)
    path = tmp_path / "their-system.csv"
    write_predictions(path, ranked, "csv")
    page = visit(f"{server.url}/compare")
    page.locator("[data-testid='stFileUploader'] input[type='file']").set_input_files(path)
    page.get_by_role("button", name="Add to the comparison").click()
    page.locator(".st-key-chart_compare_contributions").wait_for()
    wait_until_idle(page)
    text = page.locator("[data-testid='stMain']").inner_text()
    assert "their-system.csv and XML-ridge share" in text


def test_a_wrong_prediction_file_is_named_and_nothing_is_lost(server, visit, tmp_path):
    path = tmp_path / "wrong.txt"
    path.write_text("1 598\n0:0.5\n")
    page = visit(f"{server.url}/compare")
    page.locator("[data-testid='stFileUploader'] input[type='file']").set_input_files(path)
    page.get_by_role("button", name="Add to the comparison").click()
    page.locator("[data-testid='stAlert']").first.wait_for()
    assert "wrong.txt" in page.locator("[data-testid='stAlert']").first.inner_text()
    page.get_by_role("button", name="Add to the comparison").click()
    page.get_by_text("Choose a file first; one that was refused has to be chosen again.").wait_for()
    assert page.locator("[data-testid='stException']").count() == 0


def choose_first_instance(page) -> str:
    """Follows the first link of a label to an instance, until that is shown; its name."""
    main = page.get_by_test_id("stMain")
    link = main.locator("[data-testid='stPageLink'] a").first
    name = link.inner_text().strip()
    link.click()
    page.wait_for_url("**/instances**")
    main.get_by_role("heading", name=name, exact=True).wait_for()
    wait_until_idle(page)
    return name


def test_a_row_of_the_label_table_leads_to_the_instances_where_it_was_won(server, visit):
    page = open_when_factorised(visit, f"{server.url}/head_and_tail?find_label=game::arcade")
    table = page.get_by_test_id("stDataFrame").last
    table.scroll_into_view_if_needed()
    click_in_table(page, table, 18, 52, "tr[aria-selected='true']")  # the box before the first row
    main = page.get_by_test_id("stMain")
    main.get_by_text("Won: ").first.wait_for()
    wait_until_idle(page)
    assert "label=" in page.url
    assert "game::arcade" in main.inner_text()
    choose_first_instance(page)
    assert "game::arcade scores" in main.inner_text()


def searched(page, name):
    return page.locator(f"[data-testid='stMain'] input[aria-label='{name}']").input_value()


def go_back(page, address):
    page.go_back()
    page.wait_for_url(address)
    wait_until_idle(page)


def test_back_leads_from_an_instance_to_the_label_and_the_search_that_led_to_it(server, visit):
    address = f"{server.url}/head_and_tail?find_label=game&label=180&reg_lambda=20&A=0.7"
    page = visit(address)
    main = page.get_by_test_id("stMain")
    entries = page.evaluate("history.length")
    name = choose_first_instance(page)
    assert page.evaluate("history.length") == entries + 1
    assert "label=180" in page.url
    assert "reg_lambda=20" in page.url
    go_back(page, address)
    assert searched(page, "Search labels") == "game"
    main.get_by_text("Won: ").first.wait_for()
    page.go_forward()
    main.get_by_role("heading", name=name, exact=True).wait_for()
    wait_until_idle(page)
    assert shown_settings(page) == ("20", 0.7)
    page.reload()
    main.get_by_role("heading", name=name, exact=True).wait_for()
    wait_until_idle(page)
    assert shown_settings(page) == ("20", 0.7)
    assert "was refused" not in main.inner_text()


def shown_settings(page) -> tuple[str, float]:
    """λ and A as the sidebar has them."""
    return page.get_by_role("spinbutton", name="λ, typed", exact=True).input_value(), slider_value(page, "A")


@pytest.mark.parametrize(
    "link", ["[data-testid='stMain'] [data-testid='stPageLink'] a", "[data-testid='stTopNavLink']:has-text('Compare')"]
)
def test_a_link_that_is_opened_in_another_tab_has_the_same_settings_there(server, visit, link):
    page = visit(f"{server.url}/head_and_tail?label=180&reg_lambda=5&A=0.6")
    entries = page.evaluate("history.length")
    slider(page, "A").press("ArrowRight")  # what is set since the links were drawn counts
    page.wait_for_url("**A=0.61**")
    wait_until_idle(page)
    with page.context.expect_page() as opened:
        page.locator(link).first.click(button="middle")
    other = opened.value
    wait_until_idle(other)
    assert shown_settings(other) == ("5", 0.61)
    assert "was refused" not in other.get_by_test_id("stMain").inner_text()
    other.close()
    assert page.url.startswith(f"{server.url}/head_and_tail")
    assert page.evaluate("history.length") == entries


def test_back_leads_from_a_missing_label_to_the_list_of_them(server, visit):
    address = f"{server.url}/instances?view=Missing+labels%3F"
    page = open_when_factorised(visit, address)
    entries = page.evaluate("history.length")
    table = page.get_by_test_id("stDataFrame").first
    box = table.bounding_box()
    page.mouse.click(box["x"] + 18, box["y"] + 52)
    page.wait_for_url("**instance=**")
    wait_until_idle(page)
    assert page.evaluate("history.length") == entries + 1
    go_back(page, address)
    page.get_by_test_id("stDataFrame").first.wait_for()


def test_back_walks_over_the_instances_and_to_the_search_of_an_earlier_page(server, visit):
    page = visit(f"{server.url}/instances")
    main = page.get_by_test_id("stMain")
    box = page.get_by_role("searchbox", name="Name or word")
    box.fill("chess")
    box.press("Enter")
    page.wait_for_url("**find=chess**")
    wait_until_idle(page)
    first, at_first = main.get_by_role("heading", level=2).first.inner_text(), page.url
    page.get_by_role("button", name="Next").click()
    page.wait_for_function("at => location.href !== at", arg=at_first)
    wait_until_idle(page)
    assert main.get_by_role("heading", level=2).first.inner_text() != first
    go_back(page, at_first)
    main.get_by_role("heading", name=first, exact=True).wait_for()
    for title, path in (("Tune", "/"), ("Head and tail", "/head_and_tail")):
        page.get_by_test_id("stTopNavLink").filter(has_text=title).first.click()
        page.wait_for_url(f"{server.url}{path}")
        wait_until_idle(page)
    go_back(page, f"{server.url}/")
    go_back(page, at_first)
    main.get_by_role("heading", name=first, exact=True).wait_for()
    assert searched(page, "Name or word") == "chess"


def test_back_and_forward_release_and_hold_again_and_a_link_keeps_what_is_held(server, visit):
    page = visit(f"{server.url}/")
    button = page.locator(".st-key-hold_button button").first

    def assert_button(name: str) -> None:
        button.get_by_text(name, exact=True).wait_for()
        wait_until_idle(page)
        assert button.inner_text() == name
        assert ("hold=" in page.url) == (name == "Release")

    button.click()
    assert_button("Release")
    page.go_back()
    assert_button("Hold")
    page.go_forward()
    assert_button("Release")
    page.get_by_test_id("stTopNavLink").filter(has_text="Learn").first.click()
    page.wait_for_url("**/learn**")
    page.get_by_role("radio", name="Five questions", exact=True).click()
    link = page.get_by_role("link", name="Set the sliders for this question")
    link.wait_for()
    wait_until_idle(page)
    link.click()
    page.wait_for_url(lambda url: "reg_lambda=0.25" in url and "part=Five+questions" in url)
    assert_button("Release")
    page.go_back()
    assert_button("Release")
