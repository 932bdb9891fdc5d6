"""A visitor on Learn and in the lecture view: links that set sliders, an edited example, a lecture on one screen."""

import re

import pytest

from pages.shared.learn_questions import QUESTIONS
from pages.shared.settings import settings_text
from tests.browser.chromium import click_in_table, wait_until_idle

SECONDS = 60_000


def settled(page, condition: str) -> None:
    """Waits for what an action changes, then for the page to come to rest."""
    page.wait_for_function(condition, timeout=SECONDS)
    wait_until_idle(page)


def typed_lambda(page) -> float:
    return float(page.get_by_role("spinbutton", name="λ, typed", exact=True).input_value())


def numbers(page) -> list[str]:
    return re.findall(r"\d+\.\d\d", page.locator(".st-key-learn_numbers tbody").inner_text())


def assert_question_is_set(page, question) -> None:
    assert page.locator("h2").inner_text().startswith(question.question)
    assert typed_lambda(page) == question.settings.reg_lambda
    assert settings_text(question.settings) in page.get_by_test_id("stMain").inner_text()


def test_each_questions_link_sets_the_sliders_in_the_same_tab_and_survives_a_reload(server, visit):
    page = visit(f"{server.url}/learn?part=Five+questions&reg_lambda=7.3")
    tabs = len(page.context.pages)
    for number, question in enumerate(QUESTIONS, start=1):
        if number > 1:
            page.get_by_role("radio", name=str(number), exact=True).click()
            settled(page, f"document.querySelector('h2')?.innerText.startsWith({question.question!r})")
        link = page.get_by_role("link", name="Set the sliders for this question")
        came_from, entries = page.url, page.evaluate("history.length")
        link.focus()
        page.keyboard.press("Enter")
        wanted = question.settings
        settled(page, f"Number(document.querySelector('[aria-label=\"λ, typed\"]').value) === {wanted.reg_lambda}")
        assert len(page.context.pages) == tabs
        assert_question_is_set(page, question)
        assert page.evaluate("history.length") == min(entries + 1, 50)  # a browser keeps 50
    before = numbers(page)
    page.reload()
    page.locator(".st-key-learn_numbers tbody").wait_for()
    wait_until_idle(page)
    assert_question_is_set(page, QUESTIONS[-1])
    assert numbers(page) == before
    page.go_back()
    settled(page, f"location.href === {came_from!r}")
    assert typed_lambda(page) == QUESTIONS[-2].settings.reg_lambda


def test_the_answer_is_hidden_until_it_is_asked_for(server, visit):
    page = visit(f"{server.url}/learn?part=Five+questions&question=5")
    answer = page.get_by_text("57.69 %: ranking only asks", exact=False)
    assert not answer.is_visible()
    page.get_by_text("Answer", exact=True).click()
    answer.wait_for(state="visible")


CHOSEN = "td[aria-selected='true']"  # in the table that the canvas holds for screen readers


def chosen_cell(table) -> tuple[int, int] | None:
    """Column and row of the chosen cell."""
    cell = table.locator(CHOSEN)
    if cell.count() != 1:
        return None
    column, row = cell.get_attribute("id").split("-")[2:]
    return int(column), int(row)


def test_a_deleted_cell_is_named_and_survives_a_visit_to_another_page(server, visit):
    page = visit(f"{server.url}/learn", width=1440, height=1000)
    table = page.get_by_test_id("stDataFrame").first
    width = table.bounding_box()["width"]
    click_in_table(page, table, width * 0.7, 85, f"{CHOSEN}[id='glide-cell-4-1']")  # freeciv, chess
    page.keyboard.press("Delete")
    message = page.get_by_test_id("stAlert")
    message.get_by_text("chess").wait_for()
    assert "freeciv, chess is empty" in message.inner_text()
    page.get_by_role("link", name="Tune", exact=True).click()
    settled(page, "!location.pathname.includes('learn')")
    page.get_by_role("link", name="Learn", exact=True).click()
    message.wait_for()
    assert "freeciv, chess is empty" in message.inner_text()


def tab_to_the_next_table(page) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "CANVAS":
            return
    pytest.fail("60 presses of Tab reach no further table")


def walk_to(page, table, column: int, row: int) -> None:
    """Presses arrows until the cell is chosen, each after the last one's effect is there."""
    for _ in range(20):
        before = chosen_cell(table) or (0, 0)
        if before == (column, row):
            return
        key = "ArrowRight" if before[0] < column else "ArrowDown"
        page.keyboard.press(key)
        for _ in range(100):
            if chosen_cell(table) not in (None, before):
                break
            page.wait_for_timeout(50)
    pytest.fail(f"the arrows do not reach the cell: {chosen_cell(table)}")


def test_both_tables_of_the_example_are_edited_by_the_keyboard_alone(server, visit):
    page = visit(f"{server.url}/learn", width=1440, height=1000)
    main, tables = page.get_by_test_id("stMain"), page.get_by_test_id("stDataFrame")
    assert "XML-ridge ranks Game first" in main.inner_text()
    tab_to_the_next_table(page)
    walk_to(page, tables.nth(0), 2, 1)  # freeciv, play
    page.keyboard.press("3")
    page.locator("#portal input").wait_for()
    page.keyboard.press("Enter")
    settled(page, "document.body.innerText.includes('both variants rank Chess first, a label on 1 document of 5')")
    tab_to_the_next_table(page)
    walk_to(page, tables.nth(1), 4, 1)  # freeciv, Chess
    page.keyboard.press("Enter")
    settled(page, "document.body.innerText.includes('both variants rank Game first')")


def cell_text(page, table: int, column: int, row: int) -> str:
    """What a table of the example shows in a cell, by the table that its canvas holds for screen readers."""
    return page.get_by_test_id("stDataFrame").nth(table).locator(f"#glide-cell-{column}-{row}").inner_text()


def type_into_cell(page, x: float, y: float, column: int, row: int, text: str) -> None:
    """Types into a cell of the word counts: x is a share of the table's width, y in pixels from its top."""
    table = page.get_by_test_id("stDataFrame").first
    at = f"{CHOSEN}[id='glide-cell-{column}-{row}']"
    click_in_table(page, table, table.bounding_box()["width"] * x, y, at)
    page.keyboard.type(text)
    page.locator("#portal input").wait_for()
    page.keyboard.press("Enter")


def go_to_part(page, name: str, sign: str) -> None:
    page.get_by_role("radio", name=name, exact=True).click()
    settled(page, f"document.body.innerText.includes({sign!r})")


def test_start_over_also_undoes_what_the_tables_on_the_screen_show_and_the_next_edits_count(server, visit):
    page = visit(f"{server.url}/learn?part=Normal+equations", width=1440, height=1000)

    def both(cell: str, square: str) -> None:
        """A cell shows its count, and the page computes with it: its square is in the word's sum in G."""
        diagonal = ".st-key-learn_numbers table tbody tr:nth-child(4) :nth-child(5)"  # chess meets chess
        settled(page, f"document.querySelector('{diagonal}').innerText.trim() === {square!r}")
        assert cell_text(page, 0, 4, 1) == cell

    both("0", "4")
    type_into_cell(page, 0.7, 85, 4, 1, "9")  # freeciv, chess
    both("9", "85")
    page.get_by_role("button", name="Start over").click()
    both("0", "4")
    go_to_part(page, "Objective", "The last column is what is minimised")
    assert cell_text(page, 0, 4, 1) == "0"
    go_to_part(page, "Normal equations", "word meets word")
    both("0", "4")
    type_into_cell(page, 0.7, 85, 4, 1, "3")
    both("3", "13")
    go_to_part(page, "Objective", "The last column is what is minimised")
    go_to_part(page, "Normal equations", "word meets word")
    both("3", "13")


@pytest.mark.parametrize("width", [390, 1280, 1440])
def test_the_ways_back_and_on_stand_side_by_side(server, visit, width):
    page = visit(f"{server.url}/learn", width=width)
    before, after = (page.get_by_role("button", name=name).bounding_box() for name in ("← Previous", "Next →"))
    assert before["y"] == after["y"]
    assert before["x"] < after["x"] < width


def test_a_step_shows_the_sliders_that_it_uses_beside_their_numbers_and_the_others_keep_their_values(server, visit):
    page = visit(f"{server.url}/learn?part=Eigenvalues&toy_A=0")
    names = [f"{symbol} of the example" for symbol in "λAB"]
    sliders = [page.get_by_role("group", name=name, exact=True) for name in names]
    assert [each.is_visible() for each in sliders] == [True, False, False]
    box = page.locator(".st-key-learn_numbers table").first.bounding_box()
    assert box["y"] + box["height"] <= 720
    page.get_by_role("radio", name="In one line", exact=True).click()
    page.get_by_text("both variants rank Game first").wait_for()
    assert all(each.is_visible() for each in sliders)


def test_the_lectures_chart_has_the_height_that_the_window_has_left(server, visit):
    page = visit(f"{server.url}/lecture?hold=Debtags~3~false~3~0.55~1.5~5~false~")
    main, below = page.get_by_test_id("stMain"), page.get_by_text("Rare labels left, frequent ones right.")
    for width, height, least in ((1280, 720, 240), (1440, 900, 380), (390, 844, 240)):
        page.set_viewport_size({"width": width, "height": height})
        settled(page, f"document.querySelector('.stPlotlyChart .main-svg').clientHeight >= {least}")
        if width > 640:  # a narrow window is scrolled
            assert main.evaluate("element => element.scrollHeight <= element.clientHeight")
            box = below.bounding_box()
            assert height - 30 < box["y"] + box["height"] <= height


def test_the_lecture_fits_a_small_projector_with_its_warning_too(server, visit):
    page = visit(f"{server.url}/lecture?reg_lambda=0.000123456&K=10")
    main = page.get_by_test_id("stMain")
    main.get_by_text("rounding may show").wait_for()
    wait_until_idle(page)
    assert main.evaluate("element => element.scrollHeight <= element.clientHeight")
    assert "PSP measured with the data set's A = 0.55, B = 1.5." in main.inner_text()


def test_the_lecture_fits_a_small_projector_and_its_buttons_step_lambda(server, visit):
    page = visit(f"{server.url}/lecture?reg_lambda=4", dark=True)
    page.get_by_role("button", name="Hold", exact=True).click()
    page.get_by_role("button", name="Release", exact=True).wait_for()
    page.get_by_role("button", name="λ × 2", exact=True).click()
    settled(page, "Number(document.querySelector('[aria-label=\"λ, typed\"]').value) === 8")
    main = page.get_by_test_id("stMain")
    assert main.evaluate("element => element.scrollHeight <= element.clientHeight")
    assert main.evaluate("element => element.scrollWidth <= element.clientWidth")
    assert page.locator(".st-key-body_controls [data-testid='stSliderThumbValue']").first.inner_text() == "8"
    assert "reg_lambda=8" in page.url
    heights = page.locator(".st-key-lecture_numbers td strong").evaluate_all(
        "cells => cells.map(cell => parseFloat(getComputedStyle(cell).fontSize))"
    )
    assert len(heights) == 8
    assert min(heights) >= 40  # a 720-pixel screen shows 18 such lines: what the last row can read
