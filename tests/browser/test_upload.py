"""A visitor uploads Bibtex in three formats, a bad file, and looks for somebody else's upload."""

import shutil
from pathlib import Path

import pytest

from tests.browser.chromium import SECONDS, card_numbers, wait_until_idle
from tests.mulan import load_mulan
from xmlcore.readers import write_npz, write_xc_text

SHAPE = "4,880 training and 2,515 test instances with 1,836 features and 159 labels"
# Measured independently on this split: binary features, λ = 92; see the data's README.
P_AT_1 = 63.10


def files_of(kind: str, data: Path, tmp_path: Path) -> list[Path]:
    """Bibtex in a format: the Mulan project's own files, or written by ours."""
    mulan = data / "mulan"
    if kind == "ARFF and XML":
        return [mulan / name for name in ("bibtex-train.arff", "bibtex-test.arff", "bibtex.xml")]
    ds = load_mulan(mulan, "bibtex")
    if kind == "XC text":
        return sorted(write_xc_text(ds, tmp_path / "xc").iterdir())
    folder = write_npz(ds, tmp_path / "npz")
    return [Path(shutil.make_archive(str(tmp_path / "bibtex"), "zip", folder))]


def upload(page, files: list[Path]) -> None:
    page.locator("[data-testid='stFileUploader'] input[type=file]").set_input_files([str(file) for file in files])


def chosen_data(page) -> str:
    return page.get_by_role("combobox", name="Data set", exact=True).input_value()


def use(page) -> None:
    button = page.get_by_role("button", name="Use this data set")
    button.wait_for()
    wait_until_idle(page)
    button.click()
    page.wait_for_function("() => location.search.includes('data=bibtex')", timeout=SECONDS * 1000)
    wait_until_idle(page)
    assert chosen_data(page).startswith("bibtex (")


def assert_is_bibtex(page) -> None:
    assert SHAPE in page.locator("[data-testid='stMain']").inner_text()
    page.get_by_role("link", name="Tune").first.click()
    page.locator(".st-key-cards [data-testid='stMetricValue']").nth(11).wait_for(timeout=SECONDS * 1000)
    wait_until_idle(page)
    # Half a unit of the last digit, and one instance of 2,515 whose two labels are a rounding error apart.
    assert card_numbers(page)[0] == pytest.approx(P_AT_1, abs=0.006 + 100 / 2515)
    assert page.locator("[data-testid='stException']").count() == 0


@pytest.mark.parametrize("kind", ["ARFF and XML", "XC text"])
def test_bibtex_is_the_same_whatever_its_format(server, visit, test_data, tmp_path, kind):
    page = visit(f"{server.url}/data?reg_lambda=92")
    upload(page, files_of(kind, test_data, tmp_path))
    use(page)
    assert_is_bibtex(page)


def test_a_bad_file_is_a_message_and_the_data_set_in_use_stays(server, visit, tmp_path):
    bad = tmp_path / "train.txt"
    bad.write_text("3 4 2\n0 0:1 1:2\n1 2:zero\n1 3:1\n")
    page = visit(f"{server.url}/data")
    upload(page, [bad])
    message = page.get_by_text("train.txt, line 3")
    message.wait_for()
    assert page.locator("[data-testid='stException']").count() == 0
    text = page.locator("[data-testid='stMain']").inner_text()
    assert "Traceback" not in text
    assert str(tmp_path) not in text
    assert "Debtags" in chosen_data(page)
    page.get_by_role("link", name="Tune").first.click()
    page.locator(".st-key-cards [data-testid='stMetricValue']").nth(11).wait_for(timeout=SECONDS * 1000)
    assert len(card_numbers(page)) == 12


def test_an_upload_belongs_to_its_session_and_a_link_to_it_says_so(server, visit, test_data, tmp_path):
    page = visit(f"{server.url}/data?reg_lambda=92")
    upload(page, files_of("npz in a zip", test_data, tmp_path))
    use(page)
    assert_is_bibtex(page)
    link = page.url
    assert "bibtex" in link
    other = visit(link)
    text = other.locator("[data-testid='stMain']").inner_text()
    assert "There is no data set called “bibtex" in text
    assert "Available: Debtags" in text
    assert "Debtags" in chosen_data(other)
    other.get_by_role("combobox", name="Data set", exact=True).click()
    options = other.get_by_role("option").all_inner_texts()
    assert options
    assert not any("bibtex (" in option for option in options)


SHOWS_CODE = "performance.getEntriesByType('resource').some(each => each.name.includes('SyntaxHighlighter'))"


def test_tabs_show_what_they_hold_when_they_are_opened_and_an_upload_stays_meanwhile(server, visit, tmp_path):
    (tmp_path / "data.svm").write_text("".join(f"{row % 3} 1:{row + 1} 2:1\n" for row in range(40)))
    page = visit(f"{server.url}/data")
    upload(page, [tmp_path / "data.svm"])
    found = page.get_by_role("button", name="Use this data set")
    found.wait_for()
    assert not page.evaluate(SHOWS_CODE)  # 1.5 MB that a first visit need not wait for
    inside = {
        "Download or make": "Made on the spot",
        "Formats": "One line an instance",
        "From Python": "path/to/folder",
    }
    for tab, text in inside.items():
        page.get_by_role("tab", name=tab).click()
        page.get_by_text(text).locator("visible=true").first.wait_for()
        assert not found.is_visible()
    page.get_by_role("tab", name="Upload").click()
    found.wait_for()
    page.get_by_text("The code for this setting").click()
    page.get_by_text("ds.Y_test").first.wait_for()
    assert page.evaluate(SHOWS_CODE)
