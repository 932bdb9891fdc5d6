"""Two worker processes against the local path, also when one of them is killed half-way."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.distributed import evaluate_distributed, fit_distributed, sum_distributed
from xmlcore.evaluation import Evaluation, evaluate
from xmlcore.projection import random_projection
from xmlcore.propensity import inverse_propensity
from xmlcore.ridge import RidgeFactorization
from xmlcore.row_blocks import RowBlock, blocks_of, save_blocks, stored_blocks, stored_loads
from xmlcore.streaming import evaluate_streamed, fit_streamed, gram_sums
from xmlcore.synthetic import make_dataset

SHAPE = partial(make_dataset, "bibtex", seed=4, scale=0.2)  # 976 rows, 367 features, 32 labels
PROJECTION = random_projection(367, 80, 1)


@dataclass(frozen=True)
class DeadlyLoad:
    """Reads a block, but the first process of all that tries is killed as by a machine that loses power."""

    load: partial
    victim: Path

    def __call__(self) -> RowBlock:
        try:
            self.victim.touch(exist_ok=False)
        except FileExistsError:
            return self.load()
        self.victim.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("a killed process goes no further")


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> tuple[Path, Path]:
    """Training and test rows on disk, in 14 and 10 blocks."""
    ds = SHAPE()
    train, test = tmp_path_factory.mktemp("train"), tmp_path_factory.mktemp("test")
    save_blocks(blocks_of(ds.X_train, ds.Y_train, 70), train)
    save_blocks(blocks_of(ds.X_test, ds.Y_test, 51), test)
    return train, test


def with_a_death_half_way(folder: Path, victim: Path) -> list:
    loads = stored_loads(folder)
    loads[len(loads) // 2] = DeadlyLoad(loads[len(loads) // 2], victim)
    return loads


def assert_same(found: Evaluation, expected: Evaluation) -> None:
    assert found.n_rows == expected.n_rows
    assert found.rows_scored_zero == expected.rows_scored_zero
    for one, other in ((found.ridge, expected.ridge), (found.ps, expected.ps)):
        assert np.mean(np.sort(one.top, axis=1) == np.sort(other.top, axis=1)) > 0.999
        for name, values in one.metrics.items():
            assert values == pytest.approx(other.metrics[name], abs=1e-4)


def test_sums_and_scores_of_two_workers_equal_the_local_ones(client: Client, folders: tuple[Path, Path]) -> None:
    train, test = folders
    local = fit_streamed(stored_blocks(train), projection=PROJECTION)
    fac = fit_distributed(client, stored_loads(train), projection=PROJECTION)
    theta = inverse_propensity(fac.label_counts, 0.55, 1.5, fac.n_train)
    for X, _ in stored_blocks(test):
        expected = local.scores(local.project(X), 2.0)
        assert np.linalg.norm(fac.scores(fac.project(X), 2.0) - expected) < 1e-4 * np.linalg.norm(expected)
    for labels_a_block in (1, 7, 100):
        assert_same(
            evaluate_distributed(
                client, fac, stored_loads(test), 2.0, theta, theta, (1, 5, 9), labels_a_block=labels_a_block
            ),
            evaluate_streamed(local, stored_blocks(test), 2.0, theta, theta, (1, 5, 9)),
        )


def test_the_weighted_variant_may_have_its_own_penalty(client: Client, folders: tuple[Path, Path]) -> None:
    train, test = folders
    fac = fit_streamed(stored_blocks(train))
    theta = inverse_propensity(fac.label_counts, 0.55, 1.5, fac.n_train)
    found = evaluate_distributed(
        client, fac, stored_loads(test), 2.0, theta, theta, reg_lambda_ps=0.3, labels_a_block=10
    )
    assert_same(found, evaluate_streamed(fac, stored_blocks(test), 2.0, theta, theta, reg_lambda_ps=0.3))


@pytest.mark.parametrize("reg_lambda_ps", [None, 0.3])
def test_masked_pairs_are_ranked_nowhere_and_a_row_with_few_labels_left_ends_in_none(
    client: Client, folders: tuple[Path, Path], reg_lambda_ps: float | None
) -> None:
    ds = SHAPE()
    fac = fit_streamed(stored_blocks(folders[0]))
    theta = inverse_propensity(fac.label_counts, 0.55, 1.5, fac.n_train)
    masked = np.random.default_rng(0).random(ds.Y_test.shape) < 0.5
    masked[::9] = True
    masked[::9, ::16] = False  # two labels left, in two of the blocks below
    masked[4] = True
    exclude = sparse.csr_array(masked)
    expected = evaluate(
        fac, fac.project(ds.X_test), ds.Y_test, 2.0, theta, theta, exclude=exclude, reg_lambda_ps=reg_lambda_ps
    )
    assert (expected.ridge.top[9] < 0).tolist() == [False, False, True, True, True]
    for labels_a_block in (1, 7, 100):
        found = evaluate_distributed(
            client,
            fac,
            stored_loads(folders[1]),
            2.0,
            theta,
            theta,
            exclude=exclude,
            reg_lambda_ps=reg_lambda_ps,
            labels_a_block=labels_a_block,
        )
        assert_same(found, expected)
        for top, top_there in ((found.ridge.top, expected.ridge.top), (found.ps.top, expected.ps.top)):
            np.testing.assert_array_equal(top < 0, top_there < 0)
    for rows in (ds.n_test - 1, ds.n_test + 1):
        with pytest.raises(DataError, match=f"exclude has (shape \\()?{rows}"):
            evaluate_distributed(
                client, fac, stored_loads(folders[1]), 2.0, theta, theta, exclude=sparse.csr_array((rows, 32))
            )


def test_a_worker_that_is_killed_half_way_changes_no_sum(client: Client, folders: tuple[Path, Path], tmp_path) -> None:
    train, _ = folders
    found = sum_distributed(client, with_a_death_half_way(train, tmp_path / "victim"), projection=PROJECTION)
    assert int((tmp_path / "victim").read_text()) != os.getpid()
    expected = gram_sums(stored_blocks(train), projection=PROJECTION)
    np.testing.assert_allclose(found.gram, expected.gram, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.label_sums, expected.label_sums, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.label_counts, expected.label_counts)
    assert found.n_rows == expected.n_rows


def test_a_worker_that_is_killed_half_way_changes_no_ranking(
    client: Client, folders: tuple[Path, Path], tmp_path
) -> None:
    train, test = folders
    fac = fit_streamed(stored_blocks(train), projection=PROJECTION)
    theta = inverse_propensity(fac.label_counts, 0.55, 1.5, fac.n_train)
    loads = with_a_death_half_way(test, tmp_path / "victim")
    found = evaluate_distributed(client, fac, loads, 2.0, theta, theta, labels_a_block=8)
    assert int((tmp_path / "victim").read_text()) != os.getpid()
    assert_same(found, evaluate_streamed(fac, stored_blocks(test), 2.0, theta, theta))


def test_a_task_may_have_no_rows_at_all(client: Client) -> None:
    ds = SHAPE()
    parts = [(ds.X_train[a:b], ds.Y_train[a:b]) for a, b in ((0, 5), (5, 5), (5, 300), (300, 300), (300, 976))]
    found, expected = sum_distributed(client, [partial(tuple, part) for part in parts]), gram_sums(parts)
    assert found.n_rows == expected.n_rows == 976
    np.testing.assert_allclose(found.gram, expected.gram, atol=1e-9)
    with pytest.raises(DataError, match="blocks hold no row"):
        sum_distributed(client, [partial(tuple, parts[1]), partial(tuple, parts[3])])


def test_labels_that_do_not_fit_their_rows_are_named_as_they_are_locally(client: Client) -> None:
    ds = SHAPE()
    fac = fit_streamed([(ds.X_train, ds.Y_train)])
    fitting, theta = (ds.X_test[:30], ds.Y_test[:30]), np.ones(32)
    for Y in (ds.Y_test[30:61], ds.Y_test[30:60, :31], ds.Y_test[30:60].toarray() * 2):
        parts = [fitting, (ds.X_test[30:60], Y)]
        for call in (
            lambda parts=parts: evaluate_streamed(fac, parts, 1.0, theta, theta),
            lambda parts=parts: evaluate_distributed(
                client, fac, [partial(tuple, part) for part in parts], 1.0, theta, theta
            ),
        ):
            with pytest.raises(DataError, match=r"Y of block 1 (has shape|must hold only 0 and 1)"):
                call()


@pytest.mark.parametrize("number", [1, 7, 20])
def test_a_block_that_cannot_be_summed_is_named_by_its_number_among_all(client: Client, number: int) -> None:
    ds = SHAPE()
    wrong = {
        f"X of block {number} holds nan": (ds.X_train[:9] * np.float32(np.nan), ds.Y_train[:9]),
        f"block {number} has 9 rows of X and 8 of Y": (ds.X_train[:9], ds.Y_train[:8]),
        # Where a task's first block is the odd one, it is the next that differs from the one before.
        rf"block ({number}|{number + 1}) has 36. features and 32 labels": (ds.X_train[:9, :366], ds.Y_train[:9]),
        rf"block ({number}|{number + 1}) has 367 features and 3. labels": (ds.X_train[:9], ds.Y_train[:9, :31]),
    }
    for message, block in wrong.items():
        parts = [block if at == number else (ds.X_train[:9], ds.Y_train[:9]) for at in range(21)]
        with pytest.raises(DataError, match=message):
            sum_distributed(client, [partial(tuple, part) for part in parts])


def test_misuse_is_named_here_and_on_a_worker(client: Client, folders: tuple[Path, Path]) -> None:
    train, _ = folders
    with pytest.raises(DataError, match="loads is empty"):
        sum_distributed(client, [])
    with pytest.raises(DataError, match="projection is for 90"):
        sum_distributed(client, stored_loads(train), projection=random_projection(90, 10))
    fac = fit_streamed(stored_blocks(train))
    with pytest.raises(DataError, match="loads is empty"):
        evaluate_distributed(client, fac, [], 1.0, np.ones(32), np.ones(32))
    in_memory = RidgeFactorization.fit(SHAPE().X_train, SHAPE().Y_train)
    with pytest.raises(DataError, match="fac is RidgeFactorization; expected StreamedFactorization"):
        evaluate_distributed(client, in_memory, stored_loads(train), 1.0, np.ones(32), np.ones(32))
    mask = sparse.csr_array((9, 31))
    with pytest.raises(DataError, match=r"exclude has shape \(9, 31\)"):
        evaluate_distributed(client, fac, stored_loads(train), 1.0, np.ones(32), np.ones(32), exclude=mask)
    with pytest.raises(DataError, match="labels_a_block is 0"):
        evaluate_distributed(client, fac, stored_loads(train), 1.0, np.ones(32), np.ones(32), labels_a_block=0)
