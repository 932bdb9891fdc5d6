"""The build of the embedded data sets, on a small package index of the tests' own."""

import gzip
import hashlib
import lzma
from dataclasses import replace

import numpy as np
import pytest

from data.build_debian import debian_depends, debtags, encode, in_test, read_packages, stanzas, write
from data.build_embeddings import N_COMPONENTS, sentence
from data.build_embeddings import encode as encode_embeddings
from xmlcore.embedded import read_arrays, split_lines

LONG = "An editor for texts of every kind, with many windows and colours, that starts at once."

PACKAGES = """Package: zed-editor
Source: zed (1.2)
Depends: libc6 (>= 2.34), gtk2 | gtk3:any (>= 3), libc6 (<< 3)
Description: small editor
Description-md5: aa
Tag: role::program, use::editing,
 x11::application

Package: libzed
Source: zed
Description: library of zed
Description-md5: bb
Tag: role::shared-lib

Package: alone
Pre-Depends: dpkg
Description: without a long text
Description-md5: cc
"""
TRANSLATION = f"""Package: zed-editor
Description-md5: aa
Description-en: small editor
 {LONG}
 .
 It écrit C++ and GTK+.

Package: libzed
Description-md5: bb
Description-en: library of zed
 Too short.
"""
SECURITY = """Package: zed-editor
Depends: something-else
Description-md5: dd

Package: new-kernel
Depends: libc6
Description-md5: ee
"""


def release(origin, codename):
    return f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nOrigin: {origin}\nCodename: {codename}\nDate: today\n"


@pytest.fixture
def lists(tmp_path):
    """A folder of lists as apt leaves them, in several ways of compression."""
    main, security, other = "deb_dists_trixie", "deb-a_dists_trixie-security", "elsewhere_dists_trixie"
    index = "main_binary-amd64_Packages"
    (tmp_path / f"{main}_InRelease").write_text(release("Debian", "trixie"))
    (tmp_path / f"{main}_{index}.gz").write_bytes(gzip.compress(PACKAGES.encode()))
    (tmp_path / f"{main}_main_i18n_Translation-en.xz").write_bytes(lzma.compress(TRANSLATION.encode()))
    (tmp_path / f"{security}_InRelease").write_text(release("Debian", "trixie-security"))
    (tmp_path / f"{security}_{index}").write_text(SECURITY)
    (tmp_path / f"{other}_InRelease").write_text(release("Somebody", "trixie"))
    (tmp_path / f"{other}_{index}").write_text("Package: foreign\nDescription-md5: aa\n")
    return tmp_path


def test_packages_come_sorted_with_the_base_suite_before_updates_and_no_foreign_archive(lists):
    packages, origin = read_packages(lists)
    assert [package.name for package in packages] == ["alone", "libzed", "new-kernel", "zed-editor"]
    assert origin == "Debian trixie, index of today; Debian trixie-security, index of today"


def test_a_package_has_its_source_tags_and_dependencies_with_all_alternatives(lists):
    zed = read_packages(lists)[0][3]
    assert zed.source == "zed"
    assert zed.tags == ("role::program", "use::editing", "x11::application")
    assert zed.depends == ("gtk2", "gtk3", "libc6")
    assert zed.description == f"{LONG}\nIt écrit C++ and GTK+."
    assert zed.text.startswith("zed editor small editor An editor")


def test_a_package_without_translation_keeps_the_line_that_the_index_has(lists):
    assert read_packages(lists)[0][0].synopsis == "without a long text"


def test_debtags_takes_packages_with_tags_and_a_text_and_depends_takes_all(lists):
    packages, _ = read_packages(lists)
    assert [package.name for package in debtags(packages)[0]] == ["zed-editor"]
    chosen, labels = debian_depends(packages)
    assert len(chosen) == 4
    assert labels[0] == ()


def test_the_arrays_hold_what_the_texts_hold(lists):
    packages, _ = read_packages(lists)
    arrays = encode(*debian_depends(packages), "here", n_words=50)
    words = arrays["words"].tobytes().decode().split("\n")
    labels = arrays["labels"].tobytes().decode().split("\n")
    assert labels == ["gtk2", "gtk3", "libc6"]
    assert arrays["label_lengths"].tolist() == [0, 0, 1, 3]
    assert [labels[column] for column in arrays["label_columns"]] == ["libc6", "gtk2", "gtk3", "libc6"]
    start = int(arrays["term_lengths"][:3].sum())
    counts = zip(arrays["term_columns"][start:], arrays["term_counts"][start:], strict=True)
    counted = {words[column]: count for column, count in counts}
    assert {word: counted[word] for word in ("editor", "gtk+", "c++", "zed")} == {
        "editor": 3,
        "gtk+": 1,
        "c++": 1,
        "zed": 1,
    }
    assert arrays["source_of"][1] == arrays["source_of"][3]


def test_words_of_test_packages_alone_are_not_in_the_vocabulary(lists):
    packages, _ = read_packages(lists)
    arrays = encode(*debian_depends(packages), "here", n_words=50)
    words = set(arrays["words"].tobytes().decode().split("\n"))
    train = " ".join(p.text.lower() for p, held in zip(packages, arrays["is_test"], strict=True) if not held)
    assert words
    assert all(word in train for word in words)


def test_the_same_index_gives_the_same_bytes(lists, tmp_path):
    digests = []
    for name in ("one", "two"):
        packages, origin = read_packages(lists)
        write(tmp_path / f"{name}.npz", encode(*debian_depends(packages), origin))
        digests.append(hashlib.sha256((tmp_path / f"{name}.npz").read_bytes()).hexdigest())
    assert digests[0] == digests[1]


def test_about_one_source_in_five_is_for_testing_and_always_the_same_ones():
    held = [in_test(f"source-{number}") for number in range(5_000)]
    assert 0.18 < np.mean(held) < 0.22
    assert in_test("bash") == (int(hashlib.sha256(b"bash").hexdigest(), 16) % 5 == 0)


def test_a_machine_without_descriptions_is_told_what_to_run(tmp_path):
    with pytest.raises(SystemExit, match="apt-get -o Acquire::Languages=en update"):
        read_packages(tmp_path)


def test_stanzas_part_at_empty_lines_and_keep_continuations():
    assert list(stanzas("A: 1\nB: two\n more\n\n\nA: x:y\n")) == [{"A": "1", "B": "two\nmore"}, {"A": "x:y"}]


def test_the_committed_split_leaves_no_source_on_both_sides():
    for name in ("debtags", "debian-depends"):
        arrays = read_arrays(name)
        sources = split_lines(arrays["sources"])
        assert [in_test(sources[at]) for at in arrays["source_of"][:500]] == arrays["is_test"][:500].tolist()
        assert not set(arrays["source_of"][arrays["is_test"]]) & set(arrays["source_of"][~arrays["is_test"]])


def test_embeddings_are_kept_for_the_packages_of_the_data_set_in_their_order(lists):
    packages, _ = debtags(read_packages(lists)[0])
    assert sentence(packages[0]) == f"zed editor. small editor. {LONG} It écrit C++ and GTK+."
    many = [replace(packages[0], name=f"zed-{number}", source=f"zed-{number}") for number in range(200)]
    embeddings = np.random.default_rng(0).normal(size=(200, 384)).astype(np.float32)
    arrays = encode_embeddings(many, embeddings)
    assert arrays["codes"].shape == (200, N_COMPONENTS)
    names = "\n".join(package.name for package in many)
    assert arrays["instance_digest"].tobytes() == hashlib.sha256(names.encode()).digest()
