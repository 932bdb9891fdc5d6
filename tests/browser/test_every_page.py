"""What holds for every page: it fits the screen, its charts can be read, heard and saved, and the keyboard suffices."""

import re

import pytest

from pages.shared.frame import PAGES
from tests.browser.conftest import wait_until_idle

PATHS = ["", *(entry.path.removeprefix("pages/").removesuffix(".py") for entry in PAGES[1:])]

CHARTS = "[...document.querySelectorAll(\"[class*='st-key-chart_']\")]"
DESCRIBE_CHARTS = f"""() => {CHARTS}.map(block => ({{
    titles: [...block.querySelectorAll(".xtitle, .ytitle")].map(title => title.textContent),
    caption: block.querySelector("[data-testid='stCaptionContainer']").innerText,
    name: block.querySelector(".stPlotlyChart[role='figure']").getAttribute("aria-label"),
    csv: [...block.querySelectorAll("button")].filter(
        button => button.innerText.trim() === "CSV" && button.checkVisibility()
    ).length,
}}))"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path or "tune")
def test_the_page_fits_every_width_and_its_charts_are_complete(server, visit, path, dark):
    page = visit(f"{server.url}/{path}", width=1440, height=900, dark=dark)
    for width in (1440, 390):
        if width != 1440:
            page.set_viewport_size({"width": width, "height": 900})
            wait_until_idle(page)
        main = page.locator("[data-testid='stMain']")
        assert main.evaluate("main => main.scrollWidth - main.clientWidth") <= 1
        page.wait_for_function(f"() => {CHARTS}.every(block => block.querySelector('.js-plotly-plot .main-svg'))")
        for chart in page.evaluate(DESCRIBE_CHARTS):
            assert len(chart["titles"]) >= 2
            assert all(title.strip() for title in chart["titles"])
            assert chart["caption"].strip()
            assert chart["name"].strip()
            assert chart["csv"] == 1


def test_a_chart_saved_from_the_dark_theme_is_dark_on_white_and_vectors_only(server, visit, tmp_path):
    page = visit(server.url, dark=True)
    block = page.locator(".st-key-chart_contributions_precision")
    block.locator(".js-plotly-plot .main-svg").first.wait_for()
    with page.expect_download() as saved:
        block.get_by_role("button", name="SVG").click()
    saved.value.save_as(tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text()
    assert "<image" not in text
    ground = re.search(r"<rect[^>]*style=\"fill: rgb\(([\d, ]+)\)", text).group(1)
    assert ground == "255, 255, 255"
    inks = re.findall(r"<text[^>]*fill: rgb\((\d+), (\d+), (\d+)\)", text)
    assert inks
    assert all(int(part) < 100 for ink in inks for part in ink)


def test_a_chart_can_be_saved_as_a_picture_and_as_numbers(server, visit, tmp_path):
    page = visit(server.url)
    block = page.locator(".st-key-chart_contributions_precision")
    block.locator(".js-plotly-plot .main-svg").first.wait_for()
    with page.expect_download() as saved:
        block.get_by_role("button", name="PNG").click()
    saved.value.save_as(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    with page.expect_download() as saved:
        block.get_by_role("button", name="CSV").click()
    saved.value.save_as(tmp_path / "chart.csv")
    assert (tmp_path / "chart.csv").read_text().splitlines()[0] == "training instances,XML-ridge,XML-ridge with PS"


def test_on_a_narrow_screen_lambda_and_a_are_in_the_body_too(server, visit):
    page = visit(server.url, width=390, height=844)
    body = page.locator(".st-key-body_controls")
    assert body.is_visible()
    handle = body.get_by_role("group", name="A", exact=True).get_by_role("slider").first
    handle.press("ArrowRight")
    page.wait_for_url("**A=0.56**")


def test_the_keyboard_alone_reaches_the_controls_and_the_menu(server, visit):
    page = visit(server.url)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        name = page.evaluate(
            """() => {
                const now = document.activeElement, group = now.closest("[role='group'][aria-label]");
                return (group || now).getAttribute('aria-label') || now.innerText || '';
            }"""
        )
        reached.add(name.strip())
    assert reached >= {"λ", "A", "B", "K", "Reset", "Hold", "Head and tail", "Instances", "SVG", "CSV"}
