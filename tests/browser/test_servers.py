"""Servers just started: several visitors at once, two of them on one cache, a third that finds it filled."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.browser.chromium import Server, card_numbers, slider_value

# When the cards were drawn, in the browser's own milliseconds since it asked for the page, and whether the sidebar has
# told that the matrix is being factorised.
WATCH = """setInterval(() => {
    if (document.querySelector(".st-key-cards")) window.cardsDrawn ??= performance.now();
    const sidebar = document.querySelector("[data-testid='stSidebar']")?.textContent;
    if (/being factorised for \\d+ s/.test(sidebar)) window.toldProgress = true;
}, 20)"""


@dataclass
class Cold:
    """Two servers on one cache that was empty, four visitors of the first and one of the second."""

    servers: list[Server]
    visitors: list


@pytest.fixture(scope="module")
def cold(chromium, server, tmp_path_factory) -> Iterator[Cold]:
    """Both servers, when all their visitors have numbers of a factorised matrix; the first is that of all journeys."""
    assert not server.cache.exists(), "the server has had visitors: these tests must come first"
    servers = [server, Server(tmp_path_factory.mktemp("cold") / "log.txt", server.cache)]
    contexts = [chromium.new_context(viewport={"width": 1280, "height": 720}) for _ in range(5)]
    pages = [context.new_page() for context in contexts]
    for page in pages:
        page.add_init_script(WATCH)
    for page, running in zip(pages, [servers[0]] * 4 + [servers[1]], strict=True):
        page.goto(running.url, wait_until="commit")
    for page in pages:
        page.locator(".st-key-cards [data-testid='stMetricValue']").nth(11).wait_for(timeout=180_000)
    for page in pages:
        page.get_by_text("factorised in").or_(page.get_by_text("read from the cache")).first.wait_for(timeout=180_000)
    yield Cold(servers, pages)
    for context in contexts:
        context.close()
    for running in servers[1:]:
        running.stop()
    assert [running.complaints() for running in servers[1:]] == [[]] * (len(servers) - 1)


def test_four_visitors_of_a_cold_server_share_one_computation_and_are_told_that_it_goes_on(cold):
    # All sessions report the seconds of the same one; that of the other server, if it was there much earlier.
    sidebars = [page.inner_text("[data-testid='stSidebar']") for page in cold.visitors[:4]]
    assert len({re.search(r"factorised in [\d.]+ s|read from the cache", text).group() for text in sidebars}) == 1
    assert any(page.evaluate("window.toldProgress") for page in cold.visitors[:4])
    assert all(page.locator("[data-testid='stException']").count() == 0 for page in cold.visitors)


def test_a_browser_reads_the_script_of_charts_before_the_numbers_are_there_and_shows_none_for_it(cold):
    for page in cold.visitors:
        began = page.evaluate(
            "performance.getEntriesByType('resource').find(file => file.name.includes('PlotlyChart')).startTime"
        )
        assert began < page.evaluate("window.cardsDrawn")
        assert page.locator(".st-key-unseen .stPlotlyChart").count() == 0


def test_two_servers_started_at_once_on_one_cache_give_the_same_numbers(cold):
    assert len({tuple(card_numbers(page)) for page in cold.visitors}) == 1


def test_the_first_request_to_a_fresh_server_may_be_any_page_and_reads_the_cache(cold, visit, tmp_path):
    for visitor in cold.visitors:
        visitor.close()
    third = Server(tmp_path / "log.txt", cold.servers[0].cache)
    cold.servers.append(third)  # stopped, and its log read, with the others
    page = visit(f"{third.url}/instances?reg_lambda=7.3&K=3")
    page.get_by_text("read from the cache on disk").wait_for(timeout=180_000)
    assert page.get_by_label("λ, typed", exact=True).input_value() == "7.3"
    assert slider_value(page, "K") == 3
    assert page.get_by_role("link", name="Head and tail").count() >= 1
    page.get_by_role("link", name="Tune").first.click()
    page.locator(".st-key-cards [data-testid='stMetricValue']").nth(11).wait_for()
    assert page.locator("[data-testid='stException']").count() == 0
