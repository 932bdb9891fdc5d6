"""The cache on disk: what comes back, what is dropped, who may read it, and what happens when others write too."""

import json
import os
import stat
import tempfile
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.full_disk import full_disk
from tests.unit.helpers import leftovers
from xmlcore.checks import DataError
from xmlcore.store import Store, StoreError, default_folder
from xmlcore.store_entry import write_entry


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache", max_bytes=10_000_000)


def entry_files(store, pattern="*/*"):
    return sorted(path for path in (store.folder / "store").glob(pattern) if path.is_file())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


NUMBERS = np.arange(1000, dtype=np.float32)


@given(
    arrays=st.dictionaries(
        st.text(max_size=8),
        st.sampled_from(["f4", "f8", "i4", "i8", "u1", "bool", "U5", "c8"]).flatmap(
            lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
        ),
        max_size=3,
    ),
    meta=st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)),
    key=st.text(max_size=20),
)
@settings(max_examples=60, deadline=None)
def test_what_goes_in_comes_out_with_its_type_shape_and_bits(arrays, meta, key):
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder, max_bytes=10_000_000)
        assert store.put(key, arrays, meta)
        found, found_meta = store.get(key)
    assert found_meta == meta
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("view", [lambda a: a.T, lambda a: a[::2, ::-1], lambda a: np.asfortranarray(a)])
def test_views_in_any_memory_order_come_back_equal(store, view):
    array = view(np.random.default_rng(0).random((7, 5)))
    store.put("k", {"a": array})
    np.testing.assert_array_equal(store.get("k")[0]["a"], array)


def test_arrays_come_back_mapped_from_the_file_and_read_only(store):
    store.put("k", {"a": NUMBERS})
    found = store.get("k")[0]["a"]
    assert isinstance(found.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1


def test_an_unknown_key_gives_none(store):
    assert store.get("nobody wrote this") is None
    assert not store.notices


def test_the_last_writing_of_a_key_counts_and_takes_no_more_room_than_one(store):
    store.put("k", {"a": NUMBERS})
    once = store.size()
    store.put("k", {"a": NUMBERS + 1})
    assert store.get("k")[0]["a"][0] == 1
    assert store.size() == pytest.approx(once, abs=20)  # the time of writing is text in the manifest
    assert len(store.entries()) == 1


def test_the_last_writing_counts_even_when_the_clock_was_set_back(store, monkeypatch):
    store.put("k", {"a": NUMBERS})
    monkeypatch.setattr("xmlcore.store.time.time_ns", lambda: 1_000)
    store.put("k", {"a": NUMBERS + 1})
    assert store.get("k")[0]["a"][0] == 1


def test_another_instance_on_the_folder_sees_the_entry(store):
    store.put("k", {"a": NUMBERS}, {"σ": 3})
    arrays, meta = Store(store.folder).get("k")
    np.testing.assert_array_equal(arrays["a"], NUMBERS)
    assert meta == {"σ": 3}


def test_clear_spares_what_is_in_use_and_removes_what_cannot_be_read(store):
    for key in ("factorisation 1", "factorisation 2", "features 1"):
        store.put(key, {"a": NUMBERS})
    damaged = entry_files(store, "*/manifest.json")[0]
    kept = {"factorisation 1", "factorisation 2"} - {json.loads(damaged.read_bytes())["entry"]["key"]}
    damaged.write_bytes(b"")
    store.clear(spared=["factorisation", "none"])
    assert {entry.key for entry in store.entries()} == kept
    assert len(list((store.folder / "store").iterdir())) == len(kept)


def test_size_is_what_the_files_take_and_clear_leaves_nothing(store):
    for key in "abc":
        store.put(key, {"a": NUMBERS})
    assert store.size() == sum(path.stat().st_size for path in entry_files(store))
    store.clear()
    assert store.size() == 0
    assert store.entries() == []
    assert list((store.folder / "store").iterdir()) == []


def test_objects_are_refused_because_they_would_need_pickle(store):
    with pytest.raises(DataError, match="'words' of 'k' holds Python objects"):
        store.put("k", {"words": np.array(["a", None], dtype=object)})
    with pytest.raises(DataError, match="meta of 'k' must be JSON"):
        store.put("k", {}, {"bad": {1, 2}})
    for size in (0, "5", float("nan")):
        with pytest.raises(DataError, match="max_bytes is "):
            Store(store.folder, max_bytes=size)


class _Bomb:
    def __reduce__(self):
        return (os.mkdir, ("exploded",))


def test_a_pickle_is_never_loaded_even_where_its_checksum_is_right(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store.put("k", {"a": NUMBERS})
    manifest, file = entry_files(store, "*/manifest.json")[0], entry_files(store, "*/*.npy")[0]
    np.save(file, np.array([_Bomb()], dtype=object), allow_pickle=True)
    entry = json.loads(manifest.read_text())["entry"]
    entry["arrays"]["a"] |= {"bytes": file.stat().st_size, "crc32": zlib.crc32(file.read_bytes())}
    manifest.write_text(json.dumps({"entry": entry, "crc32": zlib.crc32(json.dumps(entry, sort_keys=True).encode())}))
    assert store.get("k") is None
    assert "k was damaged" in store.notices[-1]
    assert not (tmp_path / "exploded").exists()


# Damage


@pytest.mark.parametrize("file", ["0.npy", "1.npy", "manifest.json"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "grow", "remove"])
def test_a_damaged_entry_is_dropped_with_a_notice_and_can_be_written_again(store, file, damage):
    store.put("ridge of bibtex", {"a": NUMBERS, "b": NUMBERS[:10]}, {"rank": 12345})
    path = entry_files(store, f"*/{file}")[0]
    content = bytearray(path.read_bytes())
    if damage == "flip":
        at = content.index(b"12345") if file == "manifest.json" else len(content) - 3
        content[at] ^= 1
    changed = {"truncate": content[:-5], "empty": b"", "grow": content + b"}"}.get(damage, content)
    path.write_bytes(changed)
    if damage == "remove":
        path.unlink()
    assert store.get("ridge of bibtex") is None
    assert "ridge of bibtex was damaged" in store.notices[-1]
    assert store.entries() == []
    assert list((store.folder / "store").iterdir()) == []
    assert store.put("ridge of bibtex", {"a": NUMBERS})
    np.testing.assert_array_equal(store.get("ridge of bibtex")[0]["a"], NUMBERS)


def test_what_others_put_beside_an_entry_disturbs_nothing(store):
    store.put("k", {"x": np.ones(3)})
    (version,) = (store.folder / "store").glob("*.*")
    (store.folder / "store" / f"{version.name.split('.')[0]}.zzz").mkdir()
    assert store.put("k", {"x": np.zeros(3)})
    assert store.get("k")[0]["x"].tolist() == [0, 0, 0]


def test_a_manifest_nested_beyond_reading_is_damage(store):
    store.put("k", {"x": np.ones(3)})
    (version,) = (store.folder / "store").glob("*.*")
    (version / "manifest.json").write_text("[" * 100_000)
    assert store.get("k") is None
    assert "damaged" in store.notices[-1]


def test_a_scratch_folder_is_the_owners_alone_and_gone_at_the_end(store):
    with store.scratch() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").write_text("x")
        Store(store.folder)  # sweeps: this one is in use
        assert folder.exists()
    assert not folder.exists()


def test_damage_to_one_entry_leaves_the_others(store):
    store.put("a", {"x": NUMBERS})
    store.put("b", {"x": NUMBERS})
    entry_files(store, "*/0.npy")[0].write_bytes(b"")
    assert sorted([store.get("a") is None, store.get("b") is None]) == [False, True]


def test_running_out_of_file_handles_does_not_drop_a_sound_entry(store, monkeypatch):
    store.put("k", {"a": NUMBERS})

    def no_handles(*_args, **_kwargs):
        raise OSError(24, "Too many open files", str(store.folder))

    with monkeypatch.context() as patch:
        patch.setattr("xmlcore.store_entry.open", no_handles, raising=False)
        assert store.get("k") is None
    assert store.notices[-1] == "k could not be read from the cache: Too many open files"  # without the server's path
    assert store.get("k") is not None


# Room


def test_the_least_recently_used_entry_makes_room(tmp_path):
    store = Store(tmp_path, max_bytes=14_000)  # an entry takes about 4,600
    for at, key in enumerate("abc"):
        store.put(key, {"x": NUMBERS})
        directory = max((tmp_path / "store").iterdir(), key=lambda path: path.name.split(".")[1])
        os.utime(directory, (at + 1, at + 1))
    store.get("a")
    store.put("d", {"x": NUMBERS})
    assert {entry.key for entry in store.entries()} == {"a", "c", "d"}
    assert store.entries()[0].key == "c"
    assert store.size() <= 14_000


def test_the_limit_holds_whatever_is_written(tmp_path):
    rng = np.random.default_rng(1)
    store = Store(tmp_path, max_bytes=50_000)
    for number in range(40):
        size = int(rng.integers(0, 15_000))
        stored = store.put(f"k{number % 13}", {"x": np.zeros(size, np.float32)})
        assert stored == (4 * size + 600 < 50_000)
        assert store.size() <= 50_000


def test_an_entry_too_large_for_the_cache_evicts_nothing_and_says_so(store):
    store.put("small", {"x": NUMBERS})
    assert not store.put("large", {"x": np.zeros(20_000_000, np.uint8)})
    assert "large was not cached: it takes 20 MB and the cache may hold 10 MB" in store.notices
    assert [entry.key for entry in store.entries()] == ["small"]
    assert leftovers(store) == []


@pytest.mark.parametrize("loss", ["evicted", "replaced", "cleared"])
def test_arrays_in_use_stay_readable_when_their_entry_goes(tmp_path, loss):
    store = Store(tmp_path, max_bytes=1_500_000)
    array = np.random.default_rng(2).random(100_000)
    store.put("k", {"a": array})
    mapped = store.get("k")[0]["a"]
    {
        "evicted": lambda: store.put("other", {"a": array}),
        "replaced": lambda: store.put("k", {"a": array + 1}),
        "cleared": store.clear,
    }[loss]()
    assert loss == "replaced" or store.get("k") is None
    np.testing.assert_array_equal(mapped, array)


def test_a_full_disk_costs_neither_the_result_nor_other_entries_and_leaves_no_half_entry(tmp_path):
    large = np.random.default_rng(3).random((400, 500))  # 1.6 MB
    with full_disk(tmp_path / "disk"):
        store = Store(tmp_path / "disk", max_bytes=10_000_000)
        assert store.put("small", {"a": NUMBERS})
        assert not store.put("large", {"first": NUMBERS, "then": large})
        assert "large was not cached: the disk is full" in store.notices[-1]
        assert leftovers(store) == []
        assert store.get("large") is None
        np.testing.assert_array_equal(store.get("small")[0]["a"], NUMBERS)
        assert store.put("fits again", {"a": NUMBERS})
    assert large.shape == (400, 500)


def test_what_a_new_entry_pushes_out_goes_before_it_is_written(tmp_path, monkeypatch):
    store, held = Store(tmp_path, max_bytes=15_000), []
    monkeypatch.setattr("xmlcore.store.write_entry", lambda *entry: (held.append(store.size()), write_entry(*entry)))
    for key in "abcdef":
        assert store.put(key, {"a": NUMBERS})
    assert max(held) + NUMBERS.nbytes <= 15_000
    assert {entry.key for entry in store.entries()} == set("def")


def test_a_damaged_entry_that_cannot_be_removed_is_passed_over(store, monkeypatch):
    store.put("k", {"a": NUMBERS})
    for path in entry_files(store, "*/*.npy"):
        path.write_bytes(b"")
    removals = iter(range(3))
    monkeypatch.setattr(store, "_remove", lambda version: next(removals))  # the folder is read-only
    assert store.get("k") is None
    assert next(removals) == 1


def test_writing_many_results_leaves_no_file_open(store):
    store.put("k", {"a": NUMBERS})
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        store.put("k", {"a": NUMBERS})
    assert len(os.listdir("/proc/self/fd")) == before


def test_only_the_last_notices_are_kept(tmp_path):
    store = Store(tmp_path, max_bytes=1_000)
    for number in range(25):
        assert not store.put(f"k{number}", {"a": NUMBERS})
    assert [notice.split()[0] for notice in store.notices] == [f"k{number}" for number in range(5, 25)]


def test_without_a_bound_the_cache_takes_half_of_what_is_free_for_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XMLCORE_CACHE", str(tmp_path))
    assert Store(max_bytes=10**7).put("k", {"a": NUMBERS})
    for free, expected in ((10**9, (10**9 + Store(max_bytes=1).size()) // 2), (10**12, 20 * 10**9)):
        monkeypatch.setattr("shutil.disk_usage", lambda path, free=free: SimpleNamespace(free=free))
        store = Store()
        assert (store.folder, store.max_bytes) == (tmp_path, expected)


def test_a_cache_folder_removed_by_hand_is_made_again(store):
    store.put("k", {"a": NUMBERS})
    store.clear()
    (store.folder / "store").rmdir()
    assert store.get("k") is None
    assert store.entries() == []
    before = os.umask(0)
    try:
        assert store.put("k", {"a": NUMBERS})
    finally:
        os.umask(before)
    assert mode(store.folder / "store") == 0o700
    assert store.get("k") is not None


# Owners


def test_only_the_owner_may_read_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        store = Store(tmp_path / "cache")
        store.put("k", {"a": NUMBERS})
    finally:
        os.umask(before)
    assert mode(store.folder) == mode(store.folder / "store") == 0o700
    assert all(mode(path) == 0o700 for path in (store.folder / "store").iterdir())
    assert [mode(path) for path in entry_files(store)] == [0o600, 0o600]


def test_a_store_left_open_to_others_is_closed_to_them(store):
    (store.folder / "store").chmod(0o755)
    Store(store.folder)
    assert mode(store.folder / "store") == 0o700


@pytest.mark.parametrize("part", ["cache", "cache/store"])
def test_a_folder_of_somebody_else_is_refused(store, tmp_path, part, monkeypatch):
    if os.getuid() == 0:
        os.chown(tmp_path / part, 12345, -1)
    else:
        real = os.getuid()
        monkeypatch.setattr("xmlcore.store.os.getuid", lambda: real + 1)
    with pytest.raises(StoreError, match=r"belongs to user .* XMLCORE_CACHE"):
        Store(store.folder)


def test_a_link_in_place_of_the_entries_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "store").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is not a folder"):
        Store(tmp_path / "cache")


def test_a_file_in_place_of_the_folder_is_refused_with_advice(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be used.*XMLCORE_CACHE"):
        Store(tmp_path / "file")


def test_the_default_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XMLCORE_CACHE", str(tmp_path / "own"))
    assert default_folder() == tmp_path / "own"
    monkeypatch.delenv("XMLCORE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "xml-ridge"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the XDG specification says to ignore these
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "xml-ridge"
