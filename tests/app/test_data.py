"""The page "Data": what it says of a data set, uploads and what is refused, features and their cost, and exports."""

import io
import time
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cachetools import LRUCache
from scipy import sparse
from streamlit.testing.v1 import AppTest

from pages.shared import data_cost, data_jobs, sources
from pages.shared.data_export import WRITERS, zipped
from pages.shared.data_profile import sentence
from pages.shared.data_upload import limits_text
from pages.shared.frame import PAGES, plain_markdown
from pages.shared.head_tail_words import NO_ORDER
from tests.app.helpers import data_page, texts
from xmlcore import Dataset, load_dataset
from xmlcore.cost import BlockOutline, Outline, factorization_cost
from xmlcore.profile import profile
from xmlcore.readers import LIMITS, read, write_xc_text
from xmlcore.recipe import FeatureRecipe
from xmlcore.sampling import sample_training

ROOT = Path(__file__).parents[2]
BIG = Outline(1_000_000, 300_000, 13_000, (BlockOutline(200_000, np.full(200_000, 350), 5_000_000_000),), 5_000_000)


def small(n_train=60, n_labels=7, seed=0) -> Dataset:
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n_train + 20, 12), density=0.4, rng=rng, dtype=np.float32).tocsr()
    Y = sparse.csr_array((rng.random((n_train + 20, n_labels)) < 0.3).astype(np.float32))
    return Dataset("small", X[:n_train], Y[:n_train], X[n_train:], Y[n_train:])


def upload(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    app.file_uploader[0].set_value([(name, content, "application/octet-stream") for name, content in files]).run()
    for _ in range(200):  # each run waits for the reading a while
        if not any("being read" in each.value for each in app.info):
            return app
        app.run()
    raise AssertionError("the upload was not read")


def xc_files(data: Dataset, folder: Path) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted(write_xc_text(data, folder).iterdir())]


def button(app: AppTest, label: str):
    return next(each for each in app.button if each.label == label)


# What the page says.


def test_the_answer_comes_first_with_the_numbers_of_the_profile():
    app = data_page()
    assert not app.exception
    ds = load_dataset("debtags", None)
    assert app.markdown[0].value.startswith("**Debtags** has 23,639 training and 6,131 test instances with 3,000 ")
    values = {each.label: each.value for each in app.metric}
    assert values["Cardinality"] == f"{ds.Y_train.sum() / ds.n_train:.2f}"
    assert values["Labels seen once"] == str(int((ds.Y_train.sum(axis=0) == 1).sum()))
    names = {str(name) for name in ds.train_names}
    shown = app.dataframe[0].value
    assert len(shown) == 10
    assert set(shown["instance"]) <= names


def test_ten_others_are_others_and_the_order_of_pairs_can_be_chosen():
    app = data_page()
    before = set(app.dataframe[0].value["instance"])
    button(app, "Ten others").click().run()
    assert set(app.dataframe[0].value["instance"]) != before
    app.segmented_control(key="pair_order").set_value("by overlap").run()
    assert not app.exception
    assert app.segmented_control(key="pair_order").value == "by overlap"


def test_a_data_set_without_training_labels_is_said_to_teach_nothing():
    X = np.ones((3, 2), np.float32)
    empty = Dataset("none", X, sparse.csr_array((3, 4)), X, sparse.csr_array((3, 4)))
    assert "nothing can be learned" in sentence("none", profile(empty))


def test_one_feature_one_label_and_one_test_instance_are_not_told_as_several():
    X, Y = np.ones((3, 1), np.float32), sparse.csr_array(np.ones((3, 1), np.float32))
    told = sentence("tiny", profile(Dataset("tiny", X, Y, X[:1], Y[:1])))
    assert "3 training and 1 test instance with 1 feature and 1 label, 1.00 on" in told


def test_the_most_extreme_embedded_data_set_is_shown():
    app = data_page(data="Debian-depends")
    assert not app.exception
    assert "35,515 labels" in app.markdown[0].value


# Uploads.


def test_an_upload_is_recognised_shown_and_used_at_a_press(tmp_path):
    app = upload(data_page(), *xc_files(small(), tmp_path))
    assert "Recognised as **Extreme Classification Repository, text**" in texts(app)
    assert "**small** has 60 training and 20 test instances with 12 features and 7 labels" in texts(app)
    assert app.sidebar.selectbox(key="data").value == "Debtags"
    button(app, "Use this data set").click().run()
    assert not app.exception
    assert app.sidebar.selectbox(key="data").value.startswith("small (")
    assert app.markdown[0].value.startswith("**small** has 60 training")
    app.switch_page("pages/tune.py").run()
    assert not app.exception
    assert len(app.metric) >= 12


def test_a_name_that_is_too_long_for_a_disk_does_not_keep_files_from_being_read(tmp_path):
    files = [(f"{'目录' * 60}_{name}", content) for name, content in xc_files(small(), tmp_path)]
    app = upload(data_page(), *files)
    assert not app.error
    assert "has 60 training and 20 test instances with 12 features and 7 labels" in texts(app)


@pytest.mark.parametrize("n_labels", [1, 3])
def test_every_page_copes_with_fewer_labels_than_the_cards_count(tmp_path, n_labels):
    app = upload(data_page(), *xc_files(small(n_labels=n_labels), tmp_path))
    button(app, "Use this data set").click().run()
    shown = [f"{name}@{k}" for name in ("P", "PSP") for k in sorted({1, n_labels})]
    for entry in PAGES:
        app.switch_page(entry.path).run()
        assert not app.exception, entry.title
        assert not app.error, entry.title
        at_k = entry.title not in ("Data", "Learn")
        cut = f"K = 5 is cut to {n_labels}, the number of labels."
        assert [each.value for each in app.caption].count(cut) == texts(app).count("is cut to") == at_k, entry.title
        if entry.title == "Tune":
            assert [metric.label for metric in app.metric[: len(app.metric) // 2]] == shown
        if entry.title == "Lecture":
            assert f"P@{n_labels}" in texts(app)
            assert "P@5" not in texts(app)
            assert f"| % | {' | '.join(shown)} |" in texts(app)
            chosen = app.segmented_control(key="lecture_chart")
            assert (chosen.options, chosen.value) == (shown, "PSP@5")
        if entry.title == "Compare":
            assert list(app.dataframe[0].value.columns) == shown
        if entry.title == "Head and tail":
            assert NO_ORDER in app.markdown[0].value
        if entry.title == "Compress":
            for _ in range(200):
                if not any("when the matrix is factorised" in each.value for each in app.info):
                    break
                time.sleep(0.2)
                app.run()
            assert (f"of P@{n_labels}" in texts(app), "of P@1" in texts(app)) == (False, n_labels > 1)
            assert f"P@{n_labels} and PSP@{n_labels} are the same with any W" in texts(app)


def test_a_number_that_is_not_there_with_one_label_gives_way_to_the_same_one(tmp_path):
    app = upload(data_page(), *xc_files(small(n_labels=1), tmp_path))
    app.switch_page("pages/lecture.py").run()
    app.segmented_control(key="lecture_chart").set_value("PSP@1").run()
    app.switch_page("pages/data.py").run()
    button(app, "Use this data set").click().run()
    app.switch_page("pages/lecture.py").run()
    assert not app.exception
    assert not app.warning
    assert "sum to its PSP@1" in texts(app)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (small(n_train=2), "the data set has 2 training instances; expected at least 3"),
        (replace(small(), X_train=0 * small().X_train), "X holds only zeros"),
        (replace(small(), X_train=np.float32(1e38) * small().X_train), "X holds values too large"),
    ],
    ids=["few", "zeros", "large"],
)
def test_a_data_set_of_which_no_model_can_be_made_is_refused_before_it_is_offered(changed, told, tmp_path):
    app = upload(data_page(), *xc_files(changed, tmp_path))
    assert not app.exception
    (error,) = app.error
    assert told in error.value
    assert error.value.endswith("The data set in use stays.")
    assert "Use this data set" not in [each.label for each in app.button]


def test_a_data_set_that_cannot_be_had_is_told_on_every_page_above_the_default_ones_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(data_jobs, "refuse_unusable", lambda *_: None)
    app = upload(data_page(), *xc_files(small(n_train=2), tmp_path))
    button(app, "Use this data set").click().run()
    for page in ("pages/tune.py", "pages/instances.py", "pages/compress.py"):
        app.switch_page(page).run()
        assert not app.exception
        (error,) = app.error
        assert "the data set has 2 training instances; expected at least 3" in error.value
        assert error.value.endswith(plain_markdown("All numbers are of Debtags."))
    assert "of 6,131 test instances" in texts(app.switch_page("pages/tune.py").run())


def test_a_bad_file_is_one_message_with_its_line_and_the_old_data_set_stays(tmp_path):
    app = upload(data_page(), ("train.txt", b"2 3 2\n0 0:1\n1 0:what\n"))
    assert not app.exception
    assert len(app.error) == 1
    assert plain_markdown("train.txt, line 3") in app.error[0].value
    assert "/tmp" not in app.error[0].value
    assert app.sidebar.selectbox(key="data").value == "Debtags"
    assert app.markdown[0].value.startswith("**Debtags** has")
    upload(app, *xc_files(small(), tmp_path))
    assert not app.error
    assert "**small** has 60 training" in texts(app)


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01\x02\xff" * 50, b"PK\x03\x04 no archive at all", b"\xff\xfe\xfa text"], ids=repr
)
def test_files_of_no_format_are_refused_in_words(content):
    app = upload(data_page(), ("thing.txt", content))
    assert not app.exception
    assert len(app.error) == 1
    assert plain_markdown("thing.txt") in app.error[0].value


def test_what_an_error_quotes_of_a_file_is_not_taken_for_markdown():
    app = upload(data_page(), ("train.txt", b"2 3 2\n0 0:1\n1 0:[l](http://x);:red[x]\n"))
    assert len(app.error) == 1
    assert r"\[l\]\(http\://x\);\:red\[x\]" in app.error[0].value


def test_another_format_may_be_chosen_and_what_is_read_follows():
    lines = b"".join(b"%d %d:1 %d:2\n" % (row % 3, 1 + row % 4, 5 + row % 2) for row in range(40))
    app = upload(data_page(), ("train.txt", lines))
    before = texts(app)
    choice = app.selectbox(key="upload_format")
    titles = [option.removesuffix(" (not recognised)") for option in choice.options]
    assert {"Extreme Classification Repository, text", "LIBSVM, several labels"} <= set(titles)
    other = "libsvm" if choice.value == "xc-text" else "xc-text"
    choice.set_value(other).run()
    assert not app.exception
    assert app.selectbox(key="upload_format").value == other
    assert texts(app) != before


def test_a_visitor_says_which_file_is_for_training_where_names_do_not():
    rows = b"".join(b"%d 0:1 %d:2\n" % (row % 3, 1 + row % 4) for row in range(30))
    names = ("*first*.txt", "second.txt")
    app = upload(data_page(), *zip(names, (b"30 5 3\n" + rows, b"10 5 3\n" + rows[:100]), strict=True))
    roles = [app.selectbox(key=f"role of {name}") for name in names]
    assert [each.label for each in roles] == [plain_markdown(name) for name in names]
    roles[0].set_value("training")
    roles[1].set_value("test").run()
    assert not app.error
    assert "30 training and 10 test instances" in texts(app)


def test_an_upload_is_still_there_after_a_visit_to_another_page(tmp_path):
    app = upload(data_page(), *xc_files(small(), tmp_path))
    app.switch_page("pages/tune.py").run()
    app.switch_page("pages/data.py").run()
    assert "**small** has 60 training" in texts(app)
    button(app, "Forget them").click().run()
    assert "**small** has" not in texts(app)


def test_another_session_does_not_see_an_upload_and_a_link_to_it_says_so(tmp_path):
    app = upload(data_page(), *xc_files(small(), tmp_path))
    button(app, "Use this data set").click().run()
    title = app.sidebar.selectbox(key="data").value
    other = data_page(data=title)
    assert title not in other.sidebar.selectbox(key="data").options
    assert other.sidebar.selectbox(key="data").value == "Debtags"
    assert any(plain_markdown(f"no data set called “{title}”") in each.value for each in other.warning)


def test_the_bounds_are_named_and_the_server_agrees_with_them():
    assert "1 GB" in limits_text()
    assert "can see them, until you load the page anew" in limits_text()
    assert f"{LIMITS.max_files:,} files" in limits_text()
    megabytes = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["server"]["maxUploadSize"]
    assert megabytes << 20 <= LIMITS.max_upload_bytes < (megabytes + 1) << 20


# Features and what they cost.


def test_other_features_are_put_together_shown_with_their_cost_and_used():
    app = data_page()
    app.radio(key="recipe_reduction").set_value("truncated SVD").run()
    app.number_input(key="recipe_k").set_value(20).run()
    assert "`tfidf+unit+svd:20`" in texts(app)
    assert "20 × 20" in texts(app)
    button(app, "Use these features").click().run()
    assert not app.exception
    assert app.sidebar.text_input(key="features").value == "tfidf+unit+svd:20"
    assert "In use: `tfidf+unit+svd:20`, 20 dense features." in texts(app)
    app.radio(key="recipe_reduction").set_value("all features").run()
    button(app, "Use these features").click().run()
    assert app.sidebar.text_input(key="features").value == ""  # what is used without a choice


def test_the_controls_follow_a_recipe_from_elsewhere():
    app = data_page(features="tfidf+unit+terms:500")
    assert app.toggle(key="recipe_few").value
    assert app.number_input(key="recipe_terms").value == 500
    app.sidebar.text_input(key="features").set_value("tfidf").run()
    assert not app.toggle(key="recipe_few").value
    assert not app.toggle(key="recipe_unit").value
    app.switch_page("pages/learn.py").run()
    app.switch_page("pages/data.py").run()
    assert app.toggle(key="recipe_tfidf").value
    assert not any(each.label == "Use these features" for each in app.button)


def test_what_does_not_fit_says_why_and_what_to_press_instead():
    def page():
        import streamlit as st

        from pages.shared import data_cost
        from tests.app.test_data import BIG
        from xmlcore.recipe import FeatureRecipe

        def use(recipe, n_train):
            st.session_state["used"] = (str(recipe), n_train)

        data_cost.offer(BIG, FeatureRecipe(), use, "big", as_it_is="Use it")
        st.text(str(st.session_state.get("used")))

    app = AppTest.from_function(page, default_timeout=60).run()
    assert "It does not fit" in app.warning[0].value
    assert button(app, "Use it").disabled
    app.button(key="big_svd").click().run()
    assert "svd:" in app.text[0].value
    app.button(key="big_sample").click().run()
    assert app.text[0].value.endswith("000)")


def test_seconds_are_said_roughly():
    said = [data_cost.seconds_text(value) for value in (0.2, 12.3, 150, 9000)]
    assert said == ["less than a second", "about 12 s", "about 2 min", "about 2 h"]


def test_a_cost_names_the_matrix_and_its_bytes():
    cost = factorization_cost(BIG, FeatureRecipe(svd=300), free_bytes=64 << 30, rate=1e11)
    assert "XᵀX of size 300 × 300 takes 720 kB" in data_cost.cost_text(cost)


# Exports.


@pytest.mark.parametrize("label", WRITERS)
def test_an_export_read_again_is_the_same_data_set(tmp_path, label):
    ds = small()
    path = tmp_path / "out.zip"
    path.write_bytes(zipped(ds, WRITERS[label][1]))
    assert zipfile.ZipFile(io.BytesIO(path.read_bytes())).testzip() is None
    again = read(path)
    assert again.fingerprint == ds.fingerprint


def test_a_sample_of_the_training_instances_becomes_a_data_set_of_the_session():
    sampled = sample_training(sources.raw("Debtags"), 500)
    app = data_page()
    app.session_state["_sample_job"] = data_jobs.Job(lambda _: data_jobs.found_in(sampled, keep=True))
    app.run()
    app.button(key="sample_as_it_is").click().run()
    assert not app.exception
    assert app.sidebar.selectbox(key="data").value.startswith("debtags, 500 training instances (")
    assert "500 of 23,639 training instances, drawn at random" in texts(app)


# What a data set takes in memory.


@pytest.mark.parametrize(
    "field", ["train_texts", "test_texts", "train_names", "test_names", "feature_names", "label_names"]
)
def test_texts_and_names_count_as_what_a_data_set_takes(field):
    data = small()
    n = {"train": data.n_train, "test": data.n_test, "feature": data.n_features, "label": data.n_labels}
    entries = [f"{number:01000}" for number in range(n[field.split("_")[0]])]
    more = sources.dataset_bytes(replace(data, **{field: entries})) - sources.dataset_bytes(data)
    assert 1_000 * len(entries) <= more < 5_000 * len(entries)


def test_filters_and_rows_without_entries_count_as_what_a_data_set_takes():
    data, empty = small(), sparse.csr_array((10_000, 7), dtype=np.float32)
    pairs = sparse.csr_array(np.ones((data.n_train, data.n_labels), np.float32))
    masked = sources.dataset_bytes(replace(data, train_filter=pairs)) - sources.dataset_bytes(data)
    assert masked >= 8 * pairs.nnz
    assert sources.dataset_bytes(Dataset("empty", empty, empty, empty, empty)) >= 4 * empty.indptr.nbytes


def test_texts_larger_than_all_that_is_kept_for_visitors_are_refused(monkeypatch):
    monkeypatch.setattr(sources, "_own", LRUCache(100_000, getsizeof=sources.dataset_bytes))
    data = small()
    assert data.name in sources.keep_own(data)
    with pytest.raises(ValueError, match="too large"):
        sources.keep_own(replace(data, train_texts=["word " * 1_000] * data.n_train))


def test_what_is_too_large_to_hand_over_for_its_texts_is_not_exported(monkeypatch):
    monkeypatch.setattr("pages.shared.data_export.LIMITS", replace(LIMITS, max_upload_bytes=10_000_000))
    data = replace(small(), train_texts=["word " * 100_000] * 60)
    monkeypatch.setattr(sources, "names", lambda: ["Texts"])
    monkeypatch.setattr(sources, "raw", lambda title: data)
    assert "more than a page can hand over" in texts(data_page())
