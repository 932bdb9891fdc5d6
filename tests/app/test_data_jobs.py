"""The page "Data": the catalog, downloads, and work that goes on while the page is used."""

import http.server
import threading
from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import data_jobs, sources
from tests.app.helpers import data_page, texts
from xmlcore import DataError
from xmlcore.catalog import catalog_entries
from xmlcore.downloads import DOWNLOADS, DownloadProgress, RemoteFile
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
    assert data_jobs.progress_of(DownloadProgress("b.xml", 5, 5, 2, 2)) is None
