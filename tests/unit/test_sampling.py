"""The interval of a metric measured on a sample, against many samples drawn from a population that is known."""

import numpy as np
import pytest
from scipy import sparse

from xmlcore import DataError, precision_at_k, psprecision_at_k
from xmlcore.sampling import sample_interval


@pytest.fixture(scope="module")
def population():
    rng = np.random.default_rng(0)
    n, n_labels, k = 3_000, 40, 5
    Y = sparse.csr_array((rng.random((n, n_labels)) < np.geomspace(0.4, 0.01, n_labels)).astype(np.float32))
    top = np.argsort(-(Y.toarray() + rng.normal(0, 0.6, (n, n_labels))), axis=1)[:, :k].astype(np.int32)
    return top, Y, 1 + 5 * rng.random(n_labels)


@pytest.mark.parametrize("weighted", [False, True])
def test_about_95_of_100_intervals_hold_the_population_value(population, weighted):
    top, Y, theta = population
    rng = np.random.default_rng(1)
    exact = psprecision_at_k(top, Y, theta, 5) if weighted else precision_at_k(top, Y, 5)
    held = 0
    for _ in range(400):
        rows = np.sort(rng.choice(len(top), 300, replace=False))
        value = psprecision_at_k(top[rows], Y[rows], theta, 5) if weighted else precision_at_k(top[rows], Y[rows], 5)
        held += abs(value - exact) <= sample_interval(top[rows], Y[rows], 5, len(top), theta if weighted else None)
    assert 0.92 <= held / 400 <= 0.98


def test_the_whole_population_has_no_interval(population):
    top, Y, theta = population
    assert sample_interval(top, Y, 5, len(top)) == 0.0
    assert sample_interval(top, Y, 5, len(top), theta) == 0.0


def test_a_sample_larger_than_its_population_is_refused(population):
    top, Y, _ = population
    with pytest.raises(DataError, match="n_population is 10"):
        sample_interval(top, Y, 5, 10)


@pytest.mark.parametrize("n_population", ["9000", 9000.5, None])
def test_a_population_that_is_no_whole_number_is_refused(population, n_population):
    top, Y, _ = population
    with pytest.raises(DataError, match=r"n_population is .*; expected a whole number"):
        sample_interval(top, Y, 5, n_population)


@pytest.mark.parametrize("right", [True, False])
def test_where_all_of_a_sample_are_alike_the_interval_still_holds_the_population_value(right):
    """One in a hundred instances is otherwise: a sample of 100 without any of them has a chance of a third."""
    n, rng = 5_000, np.random.default_rng(2)
    Y = sparse.csr_array(np.tile([1.0, 0.0], (n, 1)))
    top = np.full((n, 1), 0 if right else 1)
    top[::100] = 1 - top[::100]
    exact, held, alike = precision_at_k(top, Y, 1), 0, 0
    for _ in range(300):
        rows = np.sort(rng.choice(n, 100, replace=False))
        value, half = precision_at_k(top[rows], Y[rows], 1), sample_interval(top[rows], Y[rows], 1, n)
        alike += value in (0.0, 1.0)
        held += value in (0.0, 1.0) and abs(value - exact) <= half == pytest.approx(0.03)
    assert alike > 60
    assert held == alike


def test_instances_without_labels_do_not_make_an_interval_of_psp_narrower():
    Y = sparse.csr_array(np.vstack([np.eye(2)[[0] * 20], np.zeros((180, 2))]))
    top = np.zeros((200, 1), int)
    assert sample_interval(top, Y, 1, 9_000, np.ones(2)) == pytest.approx(3 / 20)
    assert sample_interval(top[:20], Y[:20], 1, 9_000) == pytest.approx(3 / 20)
    assert sample_interval(top[:20], Y[:20], 1, 21) == pytest.approx(1 / 21)
