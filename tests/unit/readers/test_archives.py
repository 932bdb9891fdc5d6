"""Archives: the same data set whatever it is packed in, and nothing that an archive may try gets through."""

import gzip
import io
import tarfile
import tempfile
import zipfile
from dataclasses import replace

import pytest

from xmlcore.readers import LIMITS, read, recognise

FILES = {"set/train.txt": "2 3 2\n0 0:1 2:1\n1 1:2\n", "set/test.txt": "1 3 2\n1 2:1\n"}


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """The folder in which archives are expanded; it must be empty after every test."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def zipped(members: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(members: dict[str, str | bytes | tarfile.TarInfo], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            raw = content if isinstance(content, bytes) else content.encode()
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            archive.addfile(info, io.BytesIO(raw))
    return out.getvalue()


def junk(members):
    return {"__MACOSX/set/._train.txt": b"\0\1", "set/.DS_Store": b"\0\0", **members}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("set.zip", zipped(junk(FILES))),
        ("set.zip", zipped(FILES, zipfile.ZIP_STORED)),
        ("set.zip", zipped(FILES, zipfile.ZIP_LZMA)),
        ("set.zip", zipped({f"{name}.gz": gzip.compress(text.encode()) for name, text in FILES.items()})),
        ("set.tar", tarred(junk(FILES))),
        ("set.tar.gz", tarred(FILES, "w:gz")),
        ("set.tgz", tarred(FILES, "w:gz")),
        ("set", tarred(FILES, "w:gz")),
    ],
)
def test_an_archive_holds_the_same_data_set_as_its_folder(put, name, content):
    for inner, text in FILES.items():
        put(f"plain/{inner}", text)
    plain = read(put("plain/set/train.txt", FILES["set/train.txt"]).parent)
    path = put(f"packed/{name}", content)
    assert recognise(path).format == "xc-text"
    ds = read(path)
    assert ds.fingerprint == plain.fingerprint
    assert ds.notes == plain.notes


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names_that_are_too_long_for_a_tar_header_are_read(tmp_path, put, form):
    plain = put("plain/train.txt", FILES["set/train.txt"])
    with tarfile.open(tmp_path / "set.tar", "w", format=form) as archive:
        archive.add(plain, f"{'réseau' * 30}/train.txt")
        archive.add(put("plain/label_names.txt", "a\nb\n"), f"{'réseau' * 30}/label_names.txt")
    assert read(tmp_path / "set.tar").label_names.tolist() == ["a", "b"]


def test_folders_that_an_archive_lists_beside_their_files_are_no_files(tmp_path, put):
    for inner, text in FILES.items():
        folder = put(inner, text).parent
    with tarfile.open(tmp_path / "set.tar.gz", "w:gz") as archive:
        archive.add(folder, "set")
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        for path in (folder, *folder.iterdir()):
            archive.write(path, path.relative_to(tmp_path))
    fingerprint = read(folder).fingerprint
    for name in ("set.tar.gz", "set.zip"):
        ds = read(tmp_path / name)
        assert (ds.fingerprint, ds.notes) == (fingerprint, ())


def test_names_in_another_encoding_are_told_as_what_a_page_can_show(put):
    old = tarred({"train.txt": "0 0:1\n1 1:1\n", "caf\udce9.dat": "x"})  # as tar keeps the byte of a Latin letter
    assert "Not used: caf?.dat." in read(put("a.tar", old)).notes[0]


def test_gzipped_files_are_read_alone_several_and_in_folders(put):
    paths = [put(f"z/{name.split('/')[1]}.gz", gzip.compress(text.encode())) for name, text in FILES.items()]
    assert read(paths).n_test == 1
    assert read(paths[0].parent).n_test == 1
    assert read(paths[0]).n_train == 1


@pytest.mark.parametrize("name", ["train.txt.gz", "train.tgz", "train.zip", "train.tar"])
@pytest.mark.parametrize("content", [b"", b"junk", b"<html>not found</html>"])
def test_a_damaged_archive_beside_good_files_is_named_and_never_left_out(put, refusal, name, content):
    folder = put(f"set/{name}", content).parent
    put("set/test.txt", "0 0:1\n1 1:1\n")
    expected = f"{name} is no archive, whatever its name says; expected zip, tar or gzip"
    assert refusal(folder) == expected
    assert refusal([folder / name, folder / "test.txt"]) == expected
    inside = zipped({name: content, "test.txt": "0 0:1\n1 1:1\n"})
    assert refusal(put("a.zip", inside)) == expected


def test_whole_archives_beside_the_data_are_left_as_they_are(put):
    folder = put("set/train.txt", "0 0:1\n1 1:1\n").parent
    put("set/old.zip", zipped(FILES))
    put("set/old.tar", tarred(FILES))
    assert "Not used: old.tar, old.zip." in read(folder).notes[0]


@pytest.mark.parametrize("name", ["old.zip", "old.tar", "old.tar.gz", "old.tgz"])
def test_an_archive_inside_an_archive_or_alone_in_a_folder_is_to_be_unpacked(put, refusal, name):
    inner = zipped(FILES) if name == "old.zip" else tarred(FILES, "w" if name == "old.tar" else "w:gz")
    for path in (put("up/a.zip", zipped({name: inner})), put(f"set/{name}", inner).parent):
        for form in (None, "csv", "npz"):
            said = "is an archive inside an archive or a folder, which is not read; unpack it"
            assert refusal(path, format=form).startswith(f"{name.removesuffix('.gz')}: {said}")


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tgz", "A.TAR.GZ"])
@pytest.mark.parametrize(
    "inner", [tarred({}), b"0 0:1\n1 1:1\n", b"", zipped(FILES)], ids=["none", "text", "empty", "zip"]
)
def test_a_gzip_file_that_is_called_a_tar_archive_and_is_none_is_named(put, refusal, name, inner):
    told = f"{name} holds no tar archive, or an empty one; expected an archive of data files"
    assert refusal(put(name, gzip.compress(inner))) == told
    assert refusal([put("train.txt", "0 0:1\n1 1:1\n"), put(name, gzip.compress(inner))]) == told


def link(name: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = "/etc/passwd"
    return info


def zip_link() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("train.txt")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return out.getvalue()


def encrypted() -> bytes:
    """A zip whose members say that they are encrypted."""
    raw = bytearray(zipped(FILES))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := raw.find(signature, at + 1)) >= 0:
            raw[at + offset] |= 1
    return bytes(raw)


def lying(size: int) -> bytes:
    """A zip whose directory says that a member of 5 MB has another size."""
    raw = bytearray(zipped({"train.txt": b"0 0:1\n" * 800_000}))
    at = raw.find(b"PK\x01\x02")
    raw[at + 24 : at + 28] = size.to_bytes(4, "little")
    return bytes(raw)


def long_header() -> bytes:
    first, info = tarfile.TarInfo("test.txt"), tarfile.TarInfo("train.txt")
    first.size, info.pax_headers = 700, {"comment": "x" * 2_000_000}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(first, io.BytesIO(b"0 0:1\n" * 117))
        archive.addfile(info)
    return out.getvalue()


def negative() -> bytes:
    """A tar file whose first member says that it has −512 bytes: whoever goes on from there reads it for ever."""
    raw = bytearray(tarred({"train.txt": "0 0:1\n"}))
    raw[124:136] = tarfile.itn(-512, 12, tarfile.GNU_FORMAT)
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw[:512])
    return bytes(raw)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.zip", zipped({"../train.txt": "0 0:1\n"}), "a.zip: the name '../train.txt' leads out of the archive"),
        ("a.zip", zipped({"/etc/train.txt": "0 0:1\n"}), "leads out of the archive"),
        ("a.zip", zipped({"x/../../y.txt": "0 0:1\n"}), "leads out of the archive"),
        ("a.zip", zipped({"..\\y.txt": "0 0:1\n"}), "leads out of the archive"),
        ("a.zip", zipped({"C:/y.txt": "0 0:1\n"}), "leads out of the archive"),
        ("a.tar", tarred({"../train.txt": "0 0:1\n"}), "leads out of the archive"),
        ("a.tar.gz", tarred({"/train.txt": "0 0:1\n"}, "w:gz"), "leads out of the archive"),
        ("a.tar", tarred({"l": link("l", tarfile.SYMTYPE)}), "a.tar: l is a link; expected files only"),
        ("a.tar", tarred({"l": link("l", tarfile.LNKTYPE)}), "a.tar: l is a link; expected files only"),
        ("a.tar", tarred({"l": link("l", tarfile.FIFOTYPE)}), "a.tar: l is no plain file"),
        ("a.zip", zip_link(), "a.zip: train.txt is a link; expected files only"),
        ("a.zip", encrypted(), "a.zip: set/train.txt is encrypted; expected an archive without a password"),
        ("a.zip", zipped({"train.txt": b"0" * 20_000_000}), "a.zip expands to more than 200 times its size"),
        ("a.gz", gzip.compress(b"0" * 20_000_000, mtime=0), "a.gz expands to more than 200 times its size"),
        ("a.tar.gz", tarred({"t": b"0" * 20_000_000}, "w:gz"), "a.tar.gz expands to more than 200 times its size"),
        ("a.zip", lying(100), "a.zip is damaged or cut short"),
        ("a.tar", negative(), "a.tar is damaged (a member of size -512)"),
        ("a.tar.gz", long_header(), "a.tar.gz has a header of 20000"),
        ("a.zip", zipped(FILES)[:-30], "a.zip"),
        ("a.gz", gzip.compress(b"0 0:1\n" * 1000, mtime=0)[:-12], "a.gz is damaged or cut short"),
        ("a.tar", tarred({"train.txt": "0 0:1\n" * 5000})[:9000], "a.tar is damaged or cut short"),
        ("a.zip", b"no zip", "a.zip is no archive, whatever its name says"),
        ("a.zip", zipped({}), "a.zip holds no file; expected a data set"),
        ("a.zip", zipped({".hidden": "x"}), "a.zip holds no file; expected a data set"),
        ("a.zip", zipped({f"{i}.txt": "x" for i in range(1001)}), "a.zip holds too many files; expected at most 1000"),
        ("a.zip", zipped({"a.txt": "0 0:1", "./a.txt": "0 0:1"}), "two files are called a.txt"),
    ],
)
def test_an_archive_that_is_none_or_means_harm_is_refused(put, refusal, tmp_path, name, content, expected):
    message = refusal(put(f"up/{name}", content))
    assert expected in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scratch", "up"]


def test_all_archives_together_may_not_expand_beyond_the_limit(put, refusal):
    limits = replace(LIMITS, max_expanded_bytes=10_000)
    paths = [put(f"{side}.txt.gz", gzip.compress(b"0 0:1\n" * 1000, mtime=0)) for side in ("train", "test")]
    assert read(paths[0], limits=limits).n_train == 800
    assert refusal(paths, limits=limits) == "test.txt.gz expands to more than 0 MB, the limit"


def test_files_that_are_named_are_bounded_and_folders_by_their_number(put, refusal):
    path = put("f/train.txt", "0 0:1\n" * 100)
    put("f/test.txt", "0 0:1\n" * 100)
    assert refusal(path, limits=replace(LIMITS, max_upload_bytes=500)).startswith("train.txt: files of more than")
    assert read(path.parent, limits=replace(LIMITS, max_upload_bytes=500)).n_train == 100
    assert "holds more than 1 files" in refusal(path.parent, limits=replace(LIMITS, max_files=1))


def test_what_is_not_there_is_said(tmp_path, refusal):
    assert "missing does not exist; expected a file or a folder" in refusal(tmp_path / "missing")
    assert refusal([]) == "no file was given; expected a file, a folder or several files"
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "empty") == "empty holds no file; expected a data set"
