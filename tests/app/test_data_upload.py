"""The page "Data": uploads, what is refused of them, and every page with what was uploaded."""

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import data_jobs
from pages.shared.data_upload import limits_text
from pages.shared.frame import PAGES, plain_markdown
from pages.shared.head_tail_words import NO_ORDER
from tests.app.helpers import button, data_page, only_data_set, small, texts, until
from xmlcore import Dataset
from xmlcore.dataset import take_instances
from xmlcore.readers import FORMATS, LIMITS, write_xc_text

ROOT = Path(__file__).parents[2]
# Numbers of training and of test instances in two splits.
TRAIN_OF_TWO, TEST_OF_TWO = [(row, 41 - row) for row in range(1, 31)], [(row, 41 - row) for row in range(31, 41)]


def upload(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    app.file_uploader[0].set_value([(name, content, "application/octet-stream") for name, content in files]).run()
    for _ in range(200):  # each run waits for the reading a while
        if not any("being read" in each.value for each in app.info):
            return app
        app.run()
    raise AssertionError("the upload was not read")


def xc_files(data: Dataset, folder: Path) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted(write_xc_text(data, folder).iterdir())]


def test_an_upload_is_recognised_shown_and_used_at_a_press(tmp_path):
    app = upload(data_page(), *xc_files(small(), tmp_path))
    assert "Recognised as **Extreme Classification Repository, text**" in texts(app)
    assert "**small** has 60 training and 20 test instances with 12 features and 7 labels" in texts(app)
    assert app.sidebar.selectbox(key="data").value == "Debtags"
    button(app, "Use this data set").click().run()
    assert not app.exception
    assert app.sidebar.selectbox(key="data").value.startswith("small (")
    assert app.markdown[0].value.startswith("**small** has 60 training")
    assert "Recognised as" not in texts(app)
    assert "Still here" not in texts(app)
    assert app.sidebar.text_input(key="features").value == ""
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
            until(lambda: not any("when the matrix is factorised" in each.value for each in app.run().info))
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
        (take_instances(small(), test=np.arange(0)), "the test set has no instance; expected at least one, or no test"),
        (replace(small(), X_train=0 * small().X_train), "X holds only zeros"),
        (replace(small(), X_train=np.float32(1e38) * small().X_train), "X holds values too large"),
    ],
    ids=["few", "no test", "zeros", "large"],
)
def test_a_data_set_of_which_no_model_can_be_made_is_refused_before_it_is_offered(changed, told, tmp_path):
    app = upload(data_page(), *xc_files(changed, tmp_path))
    assert not app.exception
    (error,) = app.error
    assert told in error.value
    assert "The data set in use stays as it is" in texts(app)
    assert app.selectbox(key="upload_format").value == "xc-text"  # which may be the reason
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


def test_the_help_of_a_format_is_shown_as_it_is_written_with_its_underscores_and_bars():
    app = data_page("Formats")
    for form in FORMATS.values():
        app.selectbox(key="format_help").set_value(form.title).run()
        assert plain_markdown(form.help) in [each.value for each in app.markdown]
    assert r"with \_\_label\_\_ are" in plain_markdown(FORMATS["fasttext"].help)


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
    app = upload(app, ("train.txt", lines[:400]))  # other files are what they are recognised as
    assert app.selectbox(key="upload_format").value != other


def test_the_split_that_is_chosen_is_the_one_that_is_read_until_other_files_come(monkeypatch):
    rows = b"40 5 3\n" + b"".join(b"%d 0:1 %d:2\n" % (row % 3, 1 + row % 4) for row in range(40))
    train, test = (b"".join(b"%d %d\n" % pair for pair in pairs) for pairs in (TRAIN_OF_TWO, TEST_OF_TWO))
    files = [("data.txt", rows), ("trn_split.txt", train), ("tst_split.txt", test)]
    with only_data_set(monkeypatch, "small", small()):
        app = upload(data_page(), *files)
        assert "Split 1 of 2 in trn" in texts(app).replace("\\", "")
        assert app.number_input(key="upload_split").value == 1
        app.number_input(key="upload_split").set_value(2).run()
        assert "Split 2 of 2 in trn" in texts(app).replace("\\", "")
        app.switch_page("pages/learn.py").run()
        app.switch_page("pages/data.py").run()
        assert app.number_input(key="upload_split").value == 2
        assert "Split 2 of 2 in trn" in texts(app).replace("\\", "")
        button(app, "Forget them").click().run()
        app = upload(app, *files)
        assert "Split 1 of 2 in trn" in texts(app).replace("\\", "")


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


def test_files_that_are_not_recognised_can_be_read_as_a_format_that_the_visitor_names():
    app = upload(data_page(), ("thing.txt", b"some words, and no more\n" * 3))
    assert app.selectbox(key="upload_format").value is None
    for name, told in (("libsvm", "line 1"), ("json-lines", "no JSON object")):
        app.selectbox(key="upload_format").set_value(name).run()
        assert app.selectbox(key="upload_format").value == name
        assert len(app.error) == 1
        assert told in app.error[0].value
