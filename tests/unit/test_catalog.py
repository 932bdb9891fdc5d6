"""The catalog: embedded sets as they should be, downloads from a server of the tests' own, every failure told."""

import hashlib
import http.server
import io
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xmlcore.catalog import catalog_entries, load_dataset
from xmlcore.checks import DataError
from xmlcore.downloads import DOWNLOADS, DownloadProgress, RemoteFile, fetch, is_downloaded
from xmlcore.embedded import DATA
from xmlcore.features import fit_features
from xmlcore.matrices import take_rows
from xmlcore.recipe import default_recipe

ARFF = """@relation small
@attribute red numeric
@attribute blue numeric
@attribute tall {0,1}
@attribute wide {0,1}
@data
"""
MULAN_FILES = {
    "small-train.arff": ARFF + "{0 1,2 1}\n{1 1,3 1}\n{0 1,1 1,2 1,3 1}\n",
    "small-test.arff": ARFF + "{1 1,3 1}\n",
    "small.xml": """<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="tall"/><label name="wide"/></labels>
""",
}


SECONDS = 60  # until a test gives up


class Server(http.server.ThreadingHTTPServer):
    """Serves what is in `files`; what is in `broken` stops half-way, what is in `held` stands still there."""

    files: dict[str, bytes]
    broken: set[str]
    held: set[str]
    half_sent: threading.Event
    lengths: dict[str, str]
    asked: list[str]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        body = self.server.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", self.server.lengths.get(self.path, str(len(body))))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path in self.server.broken | self.server.held else body)
        if self.path in self.server.held:
            self.server.half_sent.set()
            self.rfile.read()  # until who asked is gone

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    running = Server(("127.0.0.1", 0), Handler)
    running.files, running.broken, running.held, running.lengths, running.asked = {}, set(), set(), {}, []
    running.half_sent = threading.Event()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XMLCORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "downloads"


def offer(server, files, checksum=True):
    """Puts the files on the server; returns them as a download."""
    remote = []
    for name, content in files.items():
        body = content if isinstance(content, bytes) else content.encode()
        server.files[f"/{name}"] = body
        known = hashlib.sha256(body).hexdigest() if checksum else None
        remote.append(RemoteFile(f"http://127.0.0.1:{server.server_port}/{name}", known))
    return tuple(remote)


def left_behind(cache):
    return sorted(path.name for path in cache.rglob("*") if path.is_file())


def xmc_base_archive():
    """A small archive in the layout of the PECOS collection."""
    X = sparse.csr_matrix(np.array([[0.6, 0.8, 0], [0, 1, 0], [0, 0, 1]], np.float32))
    Y = sparse.csr_matrix(np.array([[1, 0], [0, 1], [1, 1]], np.float32))
    members = {}
    for side, rows in (("trn", slice(0, 2)), ("tst", slice(2, 3))):
        for name, matrix in ((f"tfidf-attnxml/X.{side}.npz", X), (f"Y.{side}.npz", Y)):
            members[name] = io.BytesIO()
            sparse.save_npz(members[name], matrix[rows])
    members["output-items.txt"] = io.BytesIO(b"fish\nbird\n")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(f"xmc-base/eurlex-4k/{name}")
            info.size = len(content.getvalue())
            tar.addfile(info, io.BytesIO(content.getvalue()))
    return archive.getvalue()


def listed_recipe(name):
    return next(entry.recipe for entry in catalog_entries() if entry.name == name)


def test_every_name_is_listed_once_and_says_what_a_person_needs_to_know():
    entries = catalog_entries()
    assert entries[0].name == "debtags"
    assert len({entry.name for entry in entries}) == len({entry.title for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.description.endswith(".")
        assert (entry.address is not None) == (entry.kind == "download")
        if entry.kind == "embedded":
            assert entry.n_bytes == (DATA / f"{entry.name}.npz").stat().st_size


@pytest.mark.parametrize("name", ["nosuch", ""])
def test_an_unknown_name_is_answered_with_those_that_there_are(name):
    with pytest.raises(DataError, match=f"called '{name}'; the data sets are: debtags, debian-depends, bibtex"):
        load_dataset(name)


def test_the_two_delicious_are_told_apart():
    entry = next(entry for entry in catalog_entries() if entry.name == "delicious")
    assert "983" in entry.title
    assert "not the paper's Delicious-200K" in entry.description


@pytest.mark.parametrize(
    ("name", "rows", "labels", "megabytes"), [("debtags", 29_770, 598, 4), ("debian-depends", 63_666, 35_515, 8)]
)
def test_an_embedded_set_has_the_figures_that_its_readme_states(name, rows, labels, megabytes):
    ds = load_dataset(name, features=None)
    assert (ds.n_train + ds.n_test, ds.n_labels, ds.n_features) == (rows, labels, 3_000)
    assert (ds.A, ds.B, ds.feature_kind) == (0.55, 1.5, "counts")
    assert 0.19 < ds.n_test / rows < 0.22
    assert ds.train_groups.max() > 10_000
    assert (ds.X_train.data >= 1).all()
    assert len(set(ds.train_names) | set(ds.test_names)) == rows
    assert (DATA / f"{name}.npz").stat().st_size < megabytes * 1_000_000
    assert str(default_recipe(ds)) == listed_recipe(name)


PACKAGE_ALONE = """
from xmlcore import DataError, catalog_entries, load_dataset
assert catalog_entries()[0].n_bytes is None
load_dataset("synthetic-bibtex")
try:
    load_dataset("debtags")
except DataError as error:
    print(error)
"""


def test_the_package_without_the_data_beside_it_works_but_for_the_embedded_sets(tmp_path):
    shutil.copytree(DATA.parent / "xmlcore", tmp_path / "xmlcore", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-c", PACKAGE_ALONE]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("data/debtags.npz is missing: it is not installed with the package; run in a clone")


def test_a_known_package_has_its_words_and_its_tags():
    ds = load_dataset("debtags", features=None)
    names, Y, X = (
        (ds.train_names, ds.Y_train, ds.X_train) if "gimp" in ds.train_names else (ds.test_names, ds.Y_test, ds.X_test)
    )
    row = list(names).index("gimp")
    tags = set(ds.label_names[Y[[row]].indices])
    assert {"role::program", "works-with::image", "uitoolkit::gtk"} <= tags
    assert {"gimp", "image", "program"} <= set(ds.feature_names[X[[row]].indices])


def test_embedded_files_hold_numbers_only():
    for path in DATA.glob("*.npz"):
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                with archive.open(member) as file:
                    np.lib.format.read_magic(file)
                    _, _, kind = np.lib.format.read_array_header_1_0(file)
                    assert kind.kind in "buif", (path.name, member)


def test_debtags_is_ready_for_ridge_when_it_is_loaded():
    ds = load_dataset("debtags")
    lengths = np.sqrt(ds.X_train.multiply(ds.X_train).sum(axis=1))
    np.testing.assert_allclose(lengths, 1, atol=1e-5)
    assert ds.X_train.dtype == np.float32


def test_loading_twice_gives_the_same_fingerprint():
    assert load_dataset("debtags").fingerprint == load_dataset("debtags").fingerprint


def test_the_language_models_block_comes_with_debtags_whole_or_a_sample_of_it():
    ds = load_dataset("debtags", "tfidf+lm")
    tfidf, lm = ds.X_train
    assert (tfidf.shape[1], lm.shape[1], lm.dtype) == (3_000, 128, np.float32)
    np.testing.assert_allclose(np.linalg.norm(lm, axis=1), 0.7, rtol=1e-5)
    assert (DATA / "debtags-embeddings.npz").stat().st_size < 4_000_000
    raw = load_dataset("debtags", features=None)
    rows = np.array([5, 77, 3])
    sample = replace(
        raw,
        X_train=take_rows(raw.X_train, rows),
        Y_train=raw.Y_train[rows],
        train_names=raw.train_names[rows],
        train_groups=raw.train_groups[rows],
    )
    np.testing.assert_allclose(fit_features(sample, "tfidf+lm")[0].X_train[1], lm[rows], rtol=1e-6)


def test_a_path_is_read_as_a_data_set(tmp_path):
    file = tmp_path / "tiny.txt"
    file.write_text("3 4 2\n0 0:1 1:2\n1 2:1\n0,1 3:1\n")
    ds = load_dataset(file, features=None)
    assert (ds.n_train + ds.n_test, ds.n_features, ds.n_labels) == (3, 4, 2)


def test_a_synthetic_set_goes_by_the_name_under_which_it_was_asked_for():
    ds = load_dataset("synthetic-bibtex")
    assert (ds.name, ds.n_train, ds.n_features, ds.n_labels) == ("synthetic-bibtex", 4_880, 1_836, 159)
    assert str(default_recipe(load_dataset("synthetic-bibtex", features=None))) == listed_recipe("synthetic-bibtex")


def test_a_mulan_set_is_downloaded_once_and_read(server, monkeypatch, cache):
    monkeypatch.setitem(DOWNLOADS, "bibtex", offer(server, MULAN_FILES))
    progress = DownloadProgress()
    ds = load_dataset("bibtex", progress=progress)
    assert (ds.name, ds.n_train, ds.n_test, ds.n_features, ds.n_labels) == ("bibtex", 3, 1, 2, 2)
    assert ds.label_names.tolist() == ["tall", "wide"]
    np.testing.assert_array_equal(sparse.csr_array(ds.X_train).toarray(), [[1, 0], [0, 1], [1, 1]])
    assert (progress.files_done, progress.files, progress.file) == (3, 3, "small.xml")
    assert progress.done == progress.total == len(MULAN_FILES["small.xml"])
    assert load_dataset("bibtex").fingerprint == ds.fingerprint
    assert len(server.asked) == 3
    assert str(default_recipe(load_dataset("bibtex", features=None))) == listed_recipe("bibtex")


def test_an_archive_of_the_pecos_collection_is_downloaded_and_read(server, monkeypatch):
    files = offer(server, {"eurlex-4k.tar.gz": xmc_base_archive()}, checksum=False)
    monkeypatch.setitem(DOWNLOADS, "eurlex-4k", files)
    ds = load_dataset("eurlex-4k")
    assert (ds.name, ds.n_train, ds.n_test, ds.n_features, ds.n_labels) == ("eurlex-4k", 2, 1, 3, 2)
    assert str(default_recipe(load_dataset("eurlex-4k", features=None))) == listed_recipe("eurlex-4k")
    assert ds.label_names.tolist() == ["fish", "bird"]


def test_progress_never_counts_more_than_there_is():
    progress = DownloadProgress(total=100_000)
    counted = []
    for _ in range(3):
        progress.update(65_536)
        counted.append(progress.done)
    progress.reset()
    progress.update(100_000)
    assert [*counted, progress.done] == [65_536, 100_000, 100_000, 100_000]


def test_the_cache_is_its_owners_alone(server, cache):
    (path,) = fetch("small", offer(server, {"a.txt": "a"}))
    assert path == cache / "small" / "a.txt"
    for folder in (path.parent, cache, cache.parent):
        assert folder.stat().st_mode & 0o077 == 0


def test_a_file_that_is_not_the_expected_one_is_deleted_and_said(server, cache):
    files = offer(server, {"a.txt": "as published"})
    server.files["/a.txt"] = b"something else"
    with pytest.raises(DataError, match=r"a\.txt holds another file than the one expected"):
        fetch("small", files)
    assert left_behind(cache) == []


def test_a_connection_that_breaks_leaves_nothing_and_the_next_try_works(server, cache):
    for checksum in (True, False):
        files = offer(server, {"b.txt": "x" * 300_000}, checksum)
        server.broken.add("/b.txt")
        with pytest.raises(DataError, match=r"broke while .*b\.txt was on its way"):
            fetch(f"small-{checksum}", files)
        assert left_behind(cache / f"small-{checksum}") == []
        server.broken.clear()
        assert fetch(f"small-{checksum}", files)[0].stat().st_size == 300_000


@pytest.mark.parametrize("body", [xmc_base_archive()[:-20], b"<html>log in first</html>"], ids=["cut", "a page"])
def test_an_archive_without_checksum_that_is_not_whole_is_not_kept(server, monkeypatch, cache, body):
    files = offer(server, {"eurlex-4k.tar.gz": body}, checksum=False)
    monkeypatch.setitem(DOWNLOADS, "eurlex-4k", files)
    with pytest.raises(DataError, match=r"eurlex-4k\.tar\.gz gave a file that is cut short or no gzip file"):
        load_dataset("eurlex-4k")
    assert left_behind(cache) == []
    assert not is_downloaded("eurlex-4k")
    offer(server, {"eurlex-4k.tar.gz": xmc_base_archive()})
    assert load_dataset("eurlex-4k").n_train == 2, "trying again works"


def test_what_a_killed_download_left_goes_with_the_next(server, cache, monkeypatch):
    files = offer(server, {"large.txt": "x" * 300_000})
    server.held.add("/large.txt")
    code = f"from xmlcore.downloads import RemoteFile, fetch; fetch('large', ({files[0]!r},))"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        assert server.half_sent.wait(SECONDS)
        process.kill()
    server.held.clear()
    monkeypatch.setattr("xmlcore.atomic._ABANDONED", -1.0)
    fetch("large", files)
    assert [path.name for path in (cache / "large").iterdir()] == ["large.txt"]


def test_an_answer_that_cannot_be_understood_is_no_matter_of_checksums(server):
    server.lengths["/a.txt"] = "many"
    with pytest.raises(DataError, match=r"could not be downloaded: http://.*/a\.txt: .*Try again later"):
        fetch("small", offer(server, {"a.txt": "a"}, checksum=False))


def test_without_a_home_or_a_cache_that_can_be_named_nothing_is_downloaded_and_that_is_said(monkeypatch):
    for folder in ("~nobody-of-that-name/cache", "/" + "x" * 300):
        monkeypatch.setenv("XMLCORE_CACHE", folder)
        assert not is_downloaded("bibtex")
        with pytest.raises(DataError, match="bibtex could not be stored"):
            fetch("bibtex", DOWNLOADS["bibtex"])


def test_a_damaged_file_in_the_cache_is_fetched_again(server):
    files = offer(server, {"c.txt": "whole"})
    (path,) = fetch("small", files)
    path.write_text("dam")
    assert fetch("small", files)[0].read_text() == "whole"


def test_a_missing_file_is_told_with_its_address(server):
    gone = RemoteFile(f"http://127.0.0.1:{server.server_port}/gone.txt")
    with pytest.raises(DataError, match=r"the server answered 404 Not Found for http://.*/gone\.txt.*upload"):
        fetch("small", (gone,))


def test_a_server_that_is_not_there_is_told(server):
    with pytest.raises(DataError, match="there is no connection to the server of http://127"):
        fetch("small", (RemoteFile("http://127.0.0.1:9/x.txt"),))


def test_a_cache_that_cannot_be_written_is_told(server, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XMLCORE_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match="could not be stored in"):
        fetch("small", offer(server, {"a.txt": "a"}))


def test_the_known_checksums_are_those_of_the_published_files(test_data):
    for name in ("bibtex", "delicious"):
        for file in DOWNLOADS[name]:
            content = (test_data / "mulan" / file.name).read_bytes()
            assert hashlib.sha256(content).hexdigest() == file.sha256
        sizes = sum((test_data / "mulan" / file.name).stat().st_size for file in DOWNLOADS[name])
        assert sizes == next(entry.n_bytes for entry in catalog_entries() if entry.name == name)


def test_bibtex_from_a_server_is_bibtex(test_data, server, monkeypatch):
    content = {file.name: (test_data / "mulan" / file.name).read_bytes() for file in DOWNLOADS["bibtex"]}
    monkeypatch.setitem(DOWNLOADS, "bibtex", offer(server, content))
    ds = load_dataset("bibtex")
    assert (ds.n_train, ds.n_test, ds.n_features, ds.n_labels) == (4_880, 2_515, 1_836, 159)
