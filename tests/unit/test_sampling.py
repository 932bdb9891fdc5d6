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
