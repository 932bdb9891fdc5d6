"""The page "Data": the catalog, downloads, and work that goes on while the page is used."""

import http.server
import threading
from dataclasses import replace
from functools import partial

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shared import data_choose, data_cost, data_jobs, model, sources
from tests.app.helpers import data_page, only_data_set, small, texts
from xmlcore import DataError
from xmlcore.catalog import catalog_entries
from xmlcore.downloads import DOWNLOADS, DownloadProgress, RemoteFile
from xmlcore.recipe import FeatureRecipe
from xmlcore.sampling import sample_training


@pytest.fixture(autouse=True)
def jobs_of_this_test(monkeypatch):
    """What a visitor here has looked at is not offered to those of other tests."""
    monkeypatch.setattr(data_jobs, "_shared", {})


def test_every_entry_of_the_catalog_is_offered_and_untried_addresses_are_marked():
    app = data_page("Download or make")
    text = texts(app)
    for entry in catalog_entries():
        assert f"**{entry.title}**" in text
    known = sum(entry.has_checksum for entry in catalog_entries() if entry.kind == "download")
    assert text.count("compared with a known checksum") == known > 0
    assert text.count("never been tried") == sum(not entry.tried for entry in catalog_entries())


def test_a_made_up_data_set_is_looked_at_and_then_used():
    app = press_and_wait(data_page("Download or make"), "synthetic-bibtex")
    app.button(key="found_synthetic-bibtex_as_it_is").click().run()
    assert not app.exception
    assert app.sidebar.selectbox(key="data").value == "Synthetic, shaped like bibtex"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def local_bibtex(tmp_path, monkeypatch):
    """The address of a server of this machine with a small data set under the names of Bibtex's files."""
    head = "@relation t\n@attribute f1 {0,1}\n@attribute f2 {0,1}\n@attribute l1 {0,1}\n@attribute l2 {0,1}\n@data\n"
    rows = "".join(f"{{{row % 2} 1,{2 + row % 2} 1}}\n" for row in range(20))
    names = ["bibtex-train.arff", "bibtex-test.arff", "bibtex.xml"]
    xml = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="l1"/><label name="l2"/></labels>'
    for name, content in zip(names, [head + rows, head + rows, xml], strict=True):
        (tmp_path / name).write_text(content)
    handler = partial(QuietHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setitem(DOWNLOADS, "bibtex", tuple(RemoteFile(f"{address}/{name}") for name in names))
        monkeypatch.setenv("XMLCORE_CACHE", str(tmp_path / "cache"))
        yield tmp_path
        server.shutdown()


def press_and_wait(app: AppTest, name: str) -> AppTest:
    app.button(key=f"look_{name}").click().run()
    for _ in range(200):
        if app.error or any(each.key == f"found_{name}_as_it_is" for each in app.button):
            return app
        app.run()
    raise AssertionError("nothing came of it")


def test_a_download_that_fails_is_a_message_and_works_when_tried_again(local_bibtex):
    content = (local_bibtex / "bibtex.xml").read_text()
    (local_bibtex / "bibtex.xml").unlink()
    app = press_and_wait(data_page("Download or make"), "bibtex")
    assert not app.exception
    assert "404" in app.error[0].value
    (local_bibtex / "bibtex.xml").write_text(content)
    app = press_and_wait(app, "bibtex")
    assert not app.error
    assert "**bibtex** has 20 training and 20 test instances with 2 features and 2 labels" in texts(app)
    app.button(key="found_bibtex_as_it_is").click().run()
    assert not app.exception
    assert app.sidebar.selectbox(key="data").value == "Bibtex"
    assert app.markdown[0].value.startswith("**Bibtex** has 20 training")


def test_a_sample_of_the_training_instances_becomes_a_data_set_of_the_session():
    sampled = sample_training(sources.raw("Debtags"), 500)
    app = data_page()
    app.session_state["_sample_job"] = data_jobs.Job(lambda _: data_jobs.found_in(sampled, keep=True))
    app.run()
    app.button(key="sample_as_it_is").click().run()
    assert not app.exception
    assert app.sidebar.selectbox(key="data").value.startswith("debtags, 500 training instances (")
    assert "500 of 23,639 training instances, drawn at random" in texts(app)


@pytest.fixture
def costly(monkeypatch):
    """Small data under every name, of which is offered what is of data that cost much: fewer features, 30 instances."""

    def offer(shapes, recipe, use, key, *, as_it_is=None):
        st.button("reduced", key=f"{key}_reduced", on_click=use, args=(FeatureRecipe(svd=4), None))
        st.button("sampled", key=f"{key}_sampled", on_click=use, args=(None, 30))
        if as_it_is is not None:
            st.button(as_it_is, key=f"{key}_as_it_is", on_click=use, args=(None, None))

    monkeypatch.setattr(data_cost, "offer", offer)
    names = sources.names
    with only_data_set(monkeypatch, "Debtags", small()):
        monkeypatch.setattr(sources, "names", names)
        monkeypatch.setattr(sources, "raw", lambda title: sources._own[title] if title in sources._own else small())
        monkeypatch.setattr(data_choose, "load_dataset", lambda *_: replace(small(), notes=("a *note*",)))
        yield


def after(app: AppTest, key: str) -> AppTest:
    """The app when what the button starts is over."""
    app.button(key=key).click().run()
    while any("is being drawn" in each.value for each in app.info):
        app.run()
    assert not app.exception
    return app


@pytest.mark.usefixtures("costly")
def test_what_was_found_is_used_with_the_features_or_the_sample_that_were_pressed():
    name = "found_synthetic-bibtex"
    app = press_and_wait(data_page("Download or make"), "synthetic-bibtex")
    assert r"a \*note\*" in texts(app)
    app = after(app, f"{name}_sampled")
    assert "** has 30 training and 20 test instances with 12 features and 7 labels" in texts(app)
    assert app.sidebar.selectbox(key="data").value == "Debtags"
    app = after(app, "sample_reduced")
    assert app.sidebar.selectbox(key="data").value.endswith(")")
    assert app.sidebar.text_input(key="features").value == "svd:4"
    assert "** has 30 training and 20 test instances" in app.markdown[0].value
    assert not [each.key for each in app.button if (each.key or "").startswith("sample_")]
    app.session_state["_sample_job"] = data_jobs.Job(lambda _: data_jobs.found_in(small(), keep=True))
    app = after(app.run(), "sample_sampled")
    assert "** has 30 training and 20 test instances with 12 features and 7 labels" in app.markdown[0].value
    app.sidebar.text_input(key="features").set_value("unit").run()
    app = after(app, "use_debian-depends")
    assert app.sidebar.selectbox(key="data").value == "Debian-depends"
    assert app.sidebar.text_input(key="features").value == ""  # not those of the data before


@pytest.mark.usefixtures("costly")
def test_other_features_of_the_present_data_are_those_pressed_and_a_sample_is_of_these_data():
    app = data_page()
    app.radio(key="recipe_reduction").set_value("truncated SVD").run()
    app = after(app, "chosen_reduced")
    assert app.sidebar.text_input(key="features").value == "svd:4"
    app.toggle(key="recipe_unit").set_value(True).run()
    app = after(app, "chosen_sampled")
    assert "has 30 training and 20 test instances with 12 features and 7 labels" in texts(app)


@pytest.mark.usefixtures("costly")
def test_before_the_matrix_is_factorised_the_present_features_can_be_changed_for_those_pressed(monkeypatch):
    monkeypatch.setattr(model.Model, "ready", False)
    app = after(data_page(), "present_reduced")
    assert app.sidebar.text_input(key="features").value == "svd:4"


@pytest.mark.usefixtures("costly")
def test_a_data_set_that_cannot_be_kept_is_told_and_the_one_in_use_stays(monkeypatch):
    def too_large(data):
        raise ValueError("value too large")

    monkeypatch.setattr(sources, "keep_own", too_large)
    app = data_page()
    app.session_state["_sample_job"] = data_jobs.Job(lambda _: data_jobs.found_in(small(), keep=True))
    app.run()
    app.button(key="sample_as_it_is").click().run()
    assert [each.value for each in app.error] == [
        r"small cannot be kept\: value too large\. The data set in use stays\."
    ]
    assert app.sidebar.selectbox(key="data").value == "Debtags"


def test_of_what_was_found_the_notes_are_kept_and_the_data_only_where_nothing_else_has_them():
    data = replace(small(), notes=("a note",))
    for keep in (False, True):
        found = data_jobs.found_in(data, keep=keep)
        assert found.notes == ("a note",)
        assert found.dataset is (data if keep else None)


def test_a_job_that_runs_is_not_started_again():
    goes_on = threading.Event()
    job = data_jobs.shared_job("long", lambda _: goes_on.wait(30))
    assert data_jobs.shared_job("long", lambda _: 7) is job
    goes_on.set()
    assert job.wait(30)
    assert job.result is True


def test_a_job_that_fails_says_why_and_can_be_started_again():
    def fail(progress):
        raise DataError("there is no connection")

    job = data_jobs.shared_job("a test", fail)
    assert job.wait(30)
    assert job.error == "there is no connection"
    again = data_jobs.shared_job("a test", lambda progress: 7)
    assert again.wait(30)
    assert (again.result, again.error) == (7, None)
    assert data_jobs.shared_job("a test", fail) is again


def test_an_unforeseen_failure_names_no_place_on_the_server():
    def fail(progress):
        raise OSError("/secret/place")

    job = data_jobs.Job(fail)
    assert job.wait(30)
    assert "/secret" not in job.error


def test_too_little_memory_is_told_in_words():
    def fail(progress):
        raise MemoryError("Unable to allocate 3 GiB for an array")

    job = data_jobs.Job(fail)
    assert job.wait(30)
    assert job.error == "there is not enough memory for the data"


def test_progress_is_a_share_and_the_file_on_its_way():
    assert data_jobs.progress_of(DownloadProgress()) is None
    share, words = data_jobs.progress_of(DownloadProgress("b.xml", 500_000, 1_000_000, 1, 2))
    assert share == 0.75
    assert words == "file 2 of 2, b.xml, 500 kB of 1 MB"
    assert data_jobs.progress_of(DownloadProgress("c.xml", 5, 0, 1, 4)) == (0.25, "file 2 of 4, c.xml, 5 bytes")
    assert data_jobs.progress_of(DownloadProgress("b.xml", 5, 5, 2, 2)) is None
