"""Row blocks in a folder: they come back as they were, and what is not whole is never read as less."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tests.full_disk import full_disk
from tests.hard_data import hard_data
from xmlcore.checks import DataError
from xmlcore.row_blocks import blocks_of, save_blocks, stored_blocks
from xmlcore.streaming import evaluate_streamed, fit_streamed
from xmlcore.synthetic import make_dataset, synthetic_blocks

HARD = hard_data(600, 120)


def test_blocks_on_disk_come_back_as_they_were(tmp_path) -> None:
    made = [(block.X, block.Y) for block in synthetic_blocks("bibtex", scale=0.9)]
    assert save_blocks(made, tmp_path / "train") == len(made) == 2
    for (X, Y), (X_read, Y_read) in zip(made, stored_blocks(tmp_path / "train"), strict=True):
        assert (X_read != X).nnz == 0
        assert (Y_read != Y).nnz == 0
    with pytest.raises(DataError, match="not empty"):
        save_blocks(made, tmp_path / "train")
    with pytest.raises(DataError, match="no row blocks"):
        stored_blocks(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("X", "Y", "rows", "message"),
    [
        (HARD.X[:10], HARD.Y[:20], 6, "X has 10 rows and Y 20"),
        ((HARD.X[:20], HARD.X[:25]), HARD.Y[:20], 5, "X has 25 rows and Y 20"),
        (HARD.X, HARD.Y, 0, "rows is 0; expected a whole number of at least 1"),
        (HARD.X, HARD.Y, -3, "rows is -3"),
        (HARD.X, HARD.Y, 2.5, r"rows is 2\.5"),
    ],
)
def test_rows_that_cannot_be_cut_into_blocks_are_refused(X, Y, rows, message) -> None:
    with pytest.raises(DataError, match=message):
        blocks_of(X, Y, rows)


def test_what_is_no_row_block_is_named_and_leaves_the_folder_empty(tmp_path) -> None:
    pair = (HARD.X[:5], HARD.Y[:5])
    for blocks, message in (
        ([], "blocks is empty"),
        (None, "blocks is NoneType; expected row blocks"),
        (pair, "block 0 is csr_array; expected a pair"),
        ([pair, 3], "block 1 is int; expected a pair"),
    ):
        with pytest.raises(DataError, match=message):
            save_blocks(blocks, tmp_path)
        assert not list(tmp_path.iterdir())


def test_synthetic_blocks_are_row_blocks(tmp_path) -> None:
    assert save_blocks(synthetic_blocks("bibtex", scale=0.1), tmp_path) == 1
    ((X, Y),) = stored_blocks(tmp_path)
    made = make_dataset("bibtex", scale=0.1)
    np.testing.assert_array_equal(X.toarray(), made.X_train.toarray())
    np.testing.assert_array_equal(Y.toarray(), made.Y_train.toarray())


def test_a_folder_of_no_blocks_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="holds no row blocks; expected what save_blocks writes"):
        stored_blocks(tmp_path)


def test_blocks_whose_writer_was_killed_are_not_read_as_fewer(tmp_path) -> None:
    (saved(tmp_path) / "blocks.txt").unlink()  # written last
    with pytest.raises(DataError, match=r"holds row blocks but no whole blocks\.txt: they may be cut short"):
        stored_blocks(tmp_path)


def saved(folder):
    """Four blocks of five rows on disk."""
    save_blocks(blocks_of(HARD.X[:20], HARD.Y[:20], 5), folder)
    return folder


@pytest.mark.parametrize(
    ("lost", "named"),
    [
        (["000001.X"], "000001.X.npz"),
        (["000001.X", "000001.Y"], "000001.X.npz"),
        (["000002.Y"], "000002.Y.npz"),
        (["000003.X"], "000003.X.npz"),
        (["000003.X", "000003.Y"], "000003.X.npz"),
        (["000003.Y"], "000003.Y.npz"),
        (["000000.X", "000000.Y"], "000000.X.npz"),
    ],
)
def test_a_missing_block_is_named_and_never_left_out(tmp_path, lost: list[str], named: str) -> None:
    for name in lost:
        (saved(tmp_path) if name == lost[0] else tmp_path).joinpath(f"{name}.npz").unlink()
    with pytest.raises(DataError, match=f"{named} is missing; expected . row blocks"):
        fit_streamed(stored_blocks(tmp_path))


def test_a_damaged_block_is_named(tmp_path) -> None:
    file = saved(tmp_path) / "000001.Y.npz"
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"no archive"):
        file.write_bytes(content)
        with pytest.raises(DataError, match=r"000001\.Y\.npz: cannot be read as arrays"):
            fit_streamed(stored_blocks(tmp_path))
    np.savez(file, np.ones((5, 40)))
    with pytest.raises(DataError, match=r"000001\.Y\.npz holds a dense matrix"):
        fit_streamed(stored_blocks(tmp_path))
    sparse.save_npz(file, HARD.Y[:3])
    with pytest.raises(DataError, match=r"000001\.X\.npz has 5 rows of X and 3 of Y"):
        evaluate_streamed(fit_streamed([(HARD.X, HARD.Y)]), stored_blocks(tmp_path), 1.0, np.ones(40), np.ones(40))


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ((np.ones((5, 120)), HARD.Y[:5]), "X of block 1 is ndarray; expected one sparse block"),
        ((HARD.X[:5] * 1j, HARD.Y[:5]), "X of block 1 must hold real numbers; it holds complex"),
        ((HARD.X[:5, :100], HARD.Y[:5]), r"block 1 has 100 features and 40 labels; expected \(120, 40\), as before"),
        ((HARD.X[:20], HARD.Y[:3]), "block 1 has 20 rows of X and 3 of Y"),
        ((HARD.X[:5] * np.float32(np.inf), HARD.Y[:5]), "X of block 1 holds"),
        ((sparse.csr_array(np.full((5, 120), 1e300)), HARD.Y[:5]), "X of block 1 holds inf"),
        ((HARD.X[:5], HARD.Y[:5] * np.float32(2)), "Y of block 1 must hold only 0 and 1"),
    ],
)
def test_a_block_that_cannot_be_stored_leaves_nothing_behind(tmp_path, block, message: str) -> None:
    with pytest.raises(DataError, match=message):
        save_blocks([(HARD.X[:5], HARD.Y[:5]), block], tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    assert save_blocks([(HARD.X[:5], HARD.Y[:5])], tmp_path / "out") == 1


def test_blocks_that_end_in_an_error_of_their_own_leave_nothing_behind(tmp_path) -> None:
    def blocks():
        yield HARD.X[:5], HARD.Y[:5]
        raise OSError("their own")

    with pytest.raises(OSError, match="their own"):
        save_blocks(blocks(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_hold_blocks_is_named(tmp_path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match=r"file cannot be written \(File exists\)"):
        save_blocks([(HARD.X, HARD.Y)], tmp_path / "file")
    large = sparse.random_array((2_000, 1_000), density=0.1, format="csr", rng=np.random.default_rng(0))
    with full_disk(tmp_path / "disk"):
        with pytest.raises(DataError, match=r"000001\.X\.npz cannot be written"):
            save_blocks([(large[:5], HARD.Y[:5]), (large, HARD.Y[[0] * 2_000])], tmp_path / "disk")
        assert list((tmp_path / "disk").iterdir()) == []
