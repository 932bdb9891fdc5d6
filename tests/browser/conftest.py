"""What the browser tests share: one Chromium, one server, and visits of it."""

import os
from collections.abc import Iterator

import pytest

from tests.browser.chromium import FLAGS, NO_CHROMIUM, SECONDS, Server, chromium_path, wait_until_idle


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """Debian's Chromium, driven by playwright; skips where there is none, unless a browser is required."""
    path = chromium_path()
    if path is None:
        if os.environ.get("XMLCORE_REQUIRE_BROWSER") == "1":
            pytest.fail(NO_CHROMIUM)
        pytest.skip(NO_CHROMIUM)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(chromium, tmp_path_factory) -> Iterator[Server]:
    """One server for all journeys."""
    folder = tmp_path_factory.mktemp("server")
    running = Server(folder / "log.txt", folder / "cache")
    yield running
    running.stop()
    assert running.complaints() == [], running.log.read_text()


@pytest.fixture(scope="session")
def browser_context(chromium) -> Iterator[object]:
    """One profile for all visits: the app's scripts are then compiled once, and not by every page anew."""
    context = chromium.new_context(accept_downloads=True)
    context.set_default_timeout(SECONDS * 1000)
    yield context
    context.close()


@pytest.fixture(scope="session")
def tabs(browser_context) -> list:
    """Tabs that no test uses now: there the app's scripts are compiled, and the next page takes a third of the time."""
    return []


@pytest.fixture
def visit(browser_context, tabs):
    """visit(url, width=, height=, dark=) opens a page, which has a session of its own, and waits until it is idle.

    Whatever a test does there, the browser may ask no other machine for anything: an icon, say, or a font.
    """
    pages, elsewhere = [], []

    def note(request):
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            elsewhere.append(request.url)

    def open_page(url: str, width: int = 1280, height: int = 720, dark: bool = False):
        page = tabs.pop() if tabs else browser_context.new_page()
        pages.append(page)
        page.bring_to_front()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if dark else "light")
        page.on("request", note)
        page.goto(url)
        page.locator("[data-testid='stMain']").wait_for()
        wait_until_idle(page)
        assert page.locator("[data-testid='stException']").count() == 0
        return page

    yield open_page
    for page in pages:
        page.remove_listener("request", note)
        page.evaluate("localStorage.clear()")  # whether the sidebar is folded, say
        page.goto("about:blank")
        browser_context.new_cdp_session(page).send("Page.resetNavigationHistory")
        tabs.append(page)
    assert elsewhere == []
