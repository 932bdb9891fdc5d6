"""Servers just started: four visitors at once of one without a cache, then another that finds it filled."""

import re
from collections.abc import Iterator

import pytest

from tests.browser.chromium import Server, card_numbers, slider_value

# When the cards were drawn, in the browser's own milliseconds since it asked for the page, and whether the sidebar has
# told that the matrix is being factorised.
WATCH = """setInterval(() => {
    if (document.querySelector(".st-key-cards")) window.cardsDrawn ??= performance.now();
    const sidebar = document.querySelector("[data-testid='stSidebar']")?.textContent;
    if (/being factorised for \\d+ s/.test(sidebar)) window.toldProgress = true;
}, 20)"""


@pytest.fixture(scope="module")
def cold(chromium, server) -> Iterator[list]:
    """Four visitors of the server of all journeys, who came at once while its cache was empty and now have numbers."""
    assert not server.cache.exists(), "the server has had visitors: these tests must come first"
    contexts = [chromium.new_context(viewport={"width": 1280, "height": 720}) for _ in range(4)]
    pages = [context.new_page() for context in contexts]
    for page in pages:
        page.add_init_script(WATCH)
    for page in pages:
        page.goto(server.url, wait_until="commit")
    for page in pages:
        page.locator(".st-key-cards [data-testid='stMetricValue']").nth(11).wait_for(timeout=180_000)
    for page in pages:
        page.get_by_text("factorised in").first.wait_for(timeout=180_000)
    yield pages
    for context in contexts:
        context.close()


def test_four_visitors_of_a_cold_server_share_one_computation_and_are_told_that_it_goes_on(cold):
    # All sessions report the seconds of the same one.
    sidebars = [page.inner_text("[data-testid='stSidebar']") for page in cold]
    assert len({re.search(r"factorised in [\d.]+ s", text).group() for text in sidebars}) == 1
    assert len({tuple(card_numbers(page)) for page in cold}) == 1
    assert any(page.evaluate("window.toldProgress") for page in cold)
    assert all(page.locator("[data-testid='stException']").count() == 0 for page in cold)


def test_a_browser_reads_the_script_of_charts_before_the_numbers_are_there_and_shows_none_for_it(cold):
    for page in cold:
        began = page.evaluate(
            "performance.getEntriesByType('resource').find(file => file.name.includes('PlotlyChart')).startTime"
        )
        assert began < page.evaluate("window.cardsDrawn")
        assert page.locator(".st-key-unseen .stPlotlyChart").count() == 0


def test_the_first_request_to_a_fresh_server_may_be_any_page_and_reads_the_cache(cold, server, visit, tmp_path):
    numbers = card_numbers(cold[0])
    for visitor in cold:
        visitor.close()
    other = Server(tmp_path / "log.txt", server.cache)
    try:
        page = visit(f"{other.url}/instances?reg_lambda=7.3&K=3")
        page.get_by_text("read from the cache on disk").wait_for(timeout=180_000)
        assert page.get_by_label("λ, typed", exact=True).input_value() == "7.3"
        assert slider_value(page, "K") == 3
        assert page.get_by_role("link", name="Head and tail").count() >= 1
        page.get_by_role("link", name="Tune").first.click()
        page.locator(".st-key-cards [data-testid='stMetricValue']").nth(11).wait_for()
        assert page.locator("[data-testid='stException']").count() == 0
        assert card_numbers(visit(other.url)) == numbers
    finally:
        other.stop()
    assert other.complaints() == []
