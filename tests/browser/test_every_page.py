"""What holds for every page: it fits the screen, its charts can be read, heard and saved, and the keyboard suffices."""

import io
import re
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from pages.shared.frame import PAGES
from tests.browser.chromium import card_numbers, slider, wait_until_idle

# The charts that each page has at least; Compare draws its own once there is another system.
N_CHARTS = {
    "": 4,
    "head_and_tail": 4,
    "instances": 2,
    "compress": 2,
    "compare": 0,
    "data": 3,
    "learn": 1,
    "lecture": 1,
}

CHARTS = "[...document.querySelectorAll(\"[class*='st-key-chart_']\")]"
DESCRIBE_CHARTS = f"""() => {CHARTS}.map(block => ({{
    titles: [...block.querySelectorAll(".xtitle, .ytitle")].map(title => title.textContent),
    caption: block.querySelector("[data-testid='stCaptionContainer']")?.innerText ?? "",
    name: block.querySelector(".stPlotlyChart[role='figure']")?.getAttribute("aria-label") ?? "",
    csv: [...block.querySelectorAll("button")].filter(
        button => button.innerText.trim() === "CSV" && button.checkVisibility()
    ).length,
    cut: [...block.querySelectorAll(".main-svg text")].filter(text => {{
        const inner = text.getBoundingClientRect(), outer = text.closest(".main-svg").getBoundingClientRect();
        return inner.width && (inner.left < outer.left - 1 || inner.right > outer.right + 1
            || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1);
    }}).map(text => text.textContent),
}}))"""
COMPLETE_CHARTS = f"""least => {{
    const charts = ({DESCRIBE_CHARTS})();
    const complete = ({{titles, caption, name, csv}}) => titles.length >= 2 && caption && name && csv === 1;
    return charts.length >= least && charts.every(complete) && charts;
}}"""

FILLED = "!document.querySelector(\"[data-testid='stProgress']\")"


@pytest.mark.parametrize("path", N_CHARTS, ids=lambda path: path or "tune")
def test_the_page_fits_every_width_its_charts_are_complete_and_the_keyboard_alone_reaches_everything(
    server, visit, path
):
    page = visit(f"{server.url}/{path}", width=1440, height=900)
    main = page.locator("[data-testid='stMain']")
    title = next(entry.title for entry in PAGES if Path(entry.path).stem == (path or "tune"))
    assert page.title() == f"{title} · XML-ridge dashboard"
    assert page.get_by_role("heading", level=1).all_inner_texts() == [title]
    levels = main.evaluate("main => [...main.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(each => each.localName)")
    assert set(levels[1:]) <= {"h2"}  # who goes from heading to heading misses none between
    grounds = set()
    for width, scheme in ((1440, "light"), (1440, "dark"), (390, "dark"), (390, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        wait_until_idle(page)
        grounds.add((scheme, main.evaluate("main => getComputedStyle(main.closest('.stApp')).backgroundColor")))
        assert main.evaluate("main => main.scrollWidth - main.clientWidth") <= 1
        # A chart that has just come, or whose curve grows, is for a moment without what belongs to it.
        charts = page.wait_for_function(COMPLETE_CHARTS, arg=N_CHARTS[path], timeout=60_000).json_value()
        for chart in charts:
            assert all(title.strip() for title in chart["titles"])
            assert chart["caption"].strip()
            assert chart["name"].strip()
            assert chart["csv"] == 1
            assert chart["cut"] == []
    assert len(grounds) == len({ground for _, ground in grounds}) == 2  # the theme did change
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_function(FILLED, timeout=120_000)  # a chart that grows is drawn anew, and its buttons with it
    wait_until_idle(page)
    assert unreached_by_tab(page) == []


def test_the_pages_visited_here_are_those_of_the_menu():
    assert list(N_CHARTS) == ["", *(Path(entry.path).stem for entry in PAGES[1:])]


NOTE_FOCUS = """() => {
    window.reached = new Set();
    document.addEventListener("focusin", event => window.reached.add(event.target), true);
}"""
# Of radio buttons and tabs one is reached by Tab and the others from there by arrows; a list's arrow is the mouse's.
UNREACHED = """() => {
    const one = control => control.closest("[role='radiogroup'], [role='tablist'], [role='group'], .stSelectbox");
    const reached = new Set([...window.reached].flatMap(control => [control, one(control)]));
    return [...document.querySelectorAll(
        "a[href], button, input, textarea, summary, [role='slider'], [role='tab'], [role='combobox']"
    )].filter(
        control => control.checkVisibility({visibilityProperty: true, opacityProperty: true})
            && !control.disabled && !reached.has(control) && !reached.has(one(control) ?? control)
    ).map(control => control.outerHTML.slice(0, 300));
}"""


def unreached_by_tab(page) -> list[str]:
    """The visible controls that Tab never comes to; walked again where one is left, since a page may be drawn anew."""
    page.evaluate(NOTE_FOCUS)
    for _ in range(3):
        before = -1
        while (now := page.evaluate("window.reached.size")) > before:
            before = now
            for _ in range(10):
                page.keyboard.press("Tab")
        if not (left := page.evaluate(UNREACHED)):
            break
    return left


def test_a_chart_of_the_dark_theme_is_saved_dark_on_white_as_vectors_as_a_picture_and_as_numbers(
    server, visit, tmp_path
):
    page = visit(server.url, dark=True)
    block = page.locator(".st-key-chart_contributions_precision")
    block.locator(".js-plotly-plot .main-svg").first.wait_for()
    for kind in ("SVG", "PNG", "CSV"):
        with page.expect_download() as saved:
            block.get_by_role("button", name=kind).click()
        saved.value.save_as(tmp_path / kind)
    text = (tmp_path / "SVG").read_text()
    assert "<image" not in text
    ground = re.search(r"<rect[^>]*style=\"fill: rgb\(([\d, ]+)\)", text).group(1)
    assert ground == "255, 255, 255"
    inks = re.findall(r"<text[^>]*fill: rgb\((\d+), (\d+), (\d+)\)", text)
    assert inks
    assert all(int(part) < 100 for ink in inks for part in ink)
    assert (tmp_path / "PNG").read_bytes().startswith(b"\x89PNG")
    header = "training instances,variant,contribution to P@5 (points),setting"
    assert (tmp_path / "CSV").read_text().splitlines()[0] == header


LEGEND = """() => [...document.querySelectorAll(".legend .traces")].map(entry => {
    const box = part => entry.querySelector(part).getBoundingClientRect();
    const frame = document.querySelector(".legend .bg").getBoundingClientRect();
    return [box(".legendsymbols").left, box(".legendtext").left, box(".legendtext").right, frame.right];
})"""


def test_the_legend_of_a_saved_chart_has_room_for_its_names_where_the_pages_font_is_not(
    server, visit, browser_context, tmp_path
):
    page = visit(f"{server.url}/?reg_lambda=8&hold=Debtags~3~false~3~0.55~1.5~5~false~", width=1600)  # in one row
    block = page.locator(".st-key-chart_contributions_precision")
    block.locator(".js-plotly-plot .main-svg").first.wait_for()
    with page.expect_download() as saved:
        block.get_by_role("button", name="SVG").click()
    saved.value.save_as(tmp_path / "chart.svg")
    viewer = browser_context.new_page()
    viewer.set_content((tmp_path / "chart.svg").read_text())
    symbols, lefts, rights, frames = zip(*viewer.evaluate(LEGEND), strict=True)
    viewer.close()
    assert len(symbols) == 3  # both variants and what is held
    assert all(symbol < left for symbol, left in zip(symbols, lefts, strict=True))
    assert all(right < symbol for right, symbol in zip(rights, symbols[1:], strict=False))
    assert rights[-1] <= frames[-1]


SETTING = (
    "Debtags, 6,131 test instances, λ = 8, A = 0.7, B = 2; PSP measured with the data set's A = 0.55, B = 1.5",
    "Debtags, 6,131 test instances, λ = 3, A = 0.55, B = 1.5; PSP measured with the data set's A = 0.55, B = 1.5",
)


@pytest.mark.parametrize(
    ("path", "chart", "number", "n_held"),
    [
        ("", "contributions_psprecision", "contribution to PSP@4 (points)", 10),
        ("lecture", "contributions_PSP_at_5", "contribution to PSP@5 (points)", 10),
        ("head_and_tail", "gains_by_frequency", "contribution to P@4 (points)", 28),
        ("head_and_tail", "recall_by_frequency", "recall@4 (%)", 28),
        ("head_and_tail", "shares_of_head_and_tail", "share of P@4 (%)", 6),
        ("compress", "sparse_precision", "P@4 of the full W's (%)", 0),
        ("instances", "explain_features", "contribution", 0),
    ],
)
def test_the_numbers_of_a_chart_are_saved_with_what_they_are_and_at_which_setting_the_held_ones_too(
    server, visit, path, chart, number, n_held
):
    page = visit(f"{server.url}/{path}?reg_lambda=8&A=0.7&B=2&K=4&hold=Debtags~3~false~3~0.55~1.5~5~false~")
    block = page.locator(f".st-key-chart_{chart}")
    block.wait_for()
    if path == "compress":  # its curve is filled in behind the page
        page.wait_for_function(FILLED, timeout=60_000)
    wait_until_idle(page)
    with page.expect_download() as saved:
        block.get_by_role("button", name="CSV").click()
    table = pd.read_csv(saved.value.path())
    held = table[table["setting"] == SETTING[1]]
    assert number in table
    assert len(held) == n_held
    assert set(table["setting"]) == set(SETTING if n_held else SETTING[:1])
    if number.startswith("contribution to"):
        sums = table[table["setting"] == SETTING[0]].groupby("variant")[number].sum().map("{:.2f}".format)
        assert all(each in page.get_by_test_id("stMain").inner_text() for each in sums)


def test_a_chart_of_the_dark_theme_keeps_the_pages_ground_while_it_fades(server, visit):
    page = visit(server.url, dark=True)
    plot = page.locator(".st-key-chart_contributions_precision .js-plotly-plot")
    plot.locator(".main-svg").first.wait_for()
    # As Streamlit fades what a fragment draws anew.
    plot.evaluate("plot => plot.closest('.stElementContainer').style.opacity = 0.99")
    box = plot.bounding_box()
    clip = {"x": box["x"] + 3, "y": box["y"] + box["height"] - 3, "width": 1, "height": 1}
    shown = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB").getpixel((0, 0))
    ground = page.locator(".stApp").evaluate("app => getComputedStyle(app).backgroundColor")
    assert shown == tuple(map(int, re.findall(r"\d+", ground)))


def test_where_the_sidebar_is_folded_at_first_lambda_and_a_are_in_the_body_too(server, visit):
    page = visit(server.url, width=760, height=844)
    assert page.get_by_test_id("stExpandSidebarButton").is_visible()
    body = page.locator(".st-key-body_controls")
    assert body.is_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    assert body.is_visible()
    handle = body.get_by_role("group", name="A", exact=True).get_by_role("slider").first
    handle.press("ArrowRight")
    page.wait_for_url("**A=0.56**")


TABLES = """() => [...document.querySelectorAll(".inst table")].map(table => table.getBoundingClientRect())
    .map(({left, right, top, bottom}) => ({left, right, top, bottom}))"""


def test_the_two_lists_of_an_instance_never_lie_on_each_other(server, visit):
    page = visit(f"{server.url}/instances?instance=3000", width=1152)
    page.wait_for_function("document.querySelectorAll('.inst table').length === 2")
    for width in (1152, 960, 720):
        page.set_viewport_size({"width": width, "height": 720})
        wait_until_idle(page)
        one, other = page.evaluate(TABLES)
        assert one["right"] < other["left"] or one["bottom"] < other["top"]
        assert max(one["right"], other["right"]) < width
        assert page.locator("[data-testid='stMain']").evaluate("main => main.scrollWidth - main.clientWidth") <= 1


def test_each_number_can_be_heard_with_its_name_and_hold_keeps_the_focus(server, visit):
    page = visit(server.url)
    names = [f"{name}@{k}" for name in ("P", "PSP") for k in (1, 3, 5)]
    heard = page.locator("[data-testid='stMain']").aria_snapshot()
    for name in (*names, *(f"{name} with PS" for name in names)):
        assert f"- paragraph: {name}\n" in heard
    for before, after in (("Hold", "Release"), ("Release", "Hold")):
        page.get_by_role("button", name=before, exact=True).press("Enter")
        page.get_by_role("button", name=after, exact=True).wait_for()
        wait_until_idle(page)
        assert page.evaluate("document.activeElement.innerText") == after


def test_a_new_answer_is_said_by_itself_and_not_seen(server, visit):
    page = visit(server.url)
    region = page.locator("#heard")
    for key in ("ArrowRight", "ArrowLeft"):
        before = region.inner_text()
        slider(page, "A").press(key)
        page.wait_for_function("before => document.getElementById('heard').innerText !== before", arg=before)
        wait_until_idle(page)
        shown = [f"{number:.2f}" for number in card_numbers(page)]
        spoken = "P@5 {} and, with PS, {}; PSP@5 {} and, with PS, {}"
        assert region.inner_text() == spoken.format(shown[2], shown[8], shown[5], shown[11])
    assert region.get_attribute("role") == "status"
    assert region.evaluate("region => getComputedStyle(region).clipPath") == "inset(50%)"


def test_the_lectures_hint_goes_with_the_sidebar(server, visit):
    page = visit(f"{server.url}/lecture", width=1440)
    hint = page.locator(".st-key-lecture_hint")
    assert hint.is_visible()
    page.get_by_test_id("stSidebar").hover()
    page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
    hint.wait_for(state="hidden")
