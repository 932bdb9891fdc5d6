"""Servers just started: any page first, several visitors at once, two of them on one cache."""

import re

from tests.browser.conftest import Server, card_numbers, slider_value


def test_the_first_request_to_a_fresh_server_may_be_any_page(fresh_server, visit):
    page = visit(f"{fresh_server.url}/instances?reg_lambda=7.3&K=3")
    assert page.get_by_label("λ, typed", exact=True).input_value() == "7.3"
    assert slider_value(page, "K") == 3
    assert page.get_by_role("link", name="Head and tail").count() >= 1


def test_four_visitors_of_a_cold_server_share_one_computation(fresh_server, chromium):
    contexts = [chromium.new_context(viewport={"width": 1280, "height": 720}) for _ in range(4)]
    pages = [context.new_page() for context in contexts]
    for page in pages:
        page.goto(fresh_server.url, wait_until="commit")
    for page in pages:
        page.locator(".st-key-cards [data-testid='stMetricValue']").nth(11).wait_for(timeout=180_000)
    for page in pages:  # the line stands below the cards in the order of drawing
        page.get_by_text("being factorised").or_(page.get_by_text("factorised in")).first.wait_for(timeout=180_000)
    for page in pages:
        page.get_by_text("factorised in").first.wait_for(timeout=180_000)
    # One computation: all sessions report the seconds of the same one.
    lines = {
        re.search(r"factorised in [\d.]+ s", page.inner_text("[data-testid='stSidebar']")).group() for page in pages
    }
    assert len(lines) == 1
    assert all(page.locator("[data-testid='stException']").count() == 0 for page in pages)
    for context in contexts:
        context.close()


def test_two_servers_started_at_once_on_one_cache_give_the_same_numbers(chromium, tmp_path):
    servers = [Server(tmp_path / f"log-{name}.txt", tmp_path / "cache") for name in ("one", "two")]
    context = chromium.new_context(viewport={"width": 1280, "height": 720})
    try:
        pages = [context.new_page() for _ in servers]
        for page, running in zip(pages, servers, strict=True):
            page.goto(running.url, wait_until="commit")
        for page in pages:
            page.get_by_text("factorised in").or_(page.get_by_text("read from the cache")).first.wait_for(
                timeout=180_000
            )
        servers.append(Server(tmp_path / "log-three.txt", tmp_path / "cache"))
        pages.append(context.new_page())
        pages[2].goto(servers[2].url)
        pages[2].get_by_text("read from the cache on disk").wait_for(timeout=180_000)
        assert len({tuple(card_numbers(page)) for page in pages}) == 1
        assert all(page.locator("[data-testid='stException']").count() == 0 for page in pages)
    finally:
        context.close()
        for running in servers:
            running.stop()
    assert [running.complaints() for running in servers] == [[], [], []]
