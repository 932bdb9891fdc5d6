"""Hard data and its factorisation in both forms, for the tests of ridge regression."""

import pytest

from tests.hard_data import hard_data
from tests.unit.ridge_cases import SHAPES, Case
from xmlcore.ridge import RidgeFactorization


@pytest.fixture(scope="module", params=["primal", "dual"])
def case(request):
    data = hard_data(*SHAPES[request.param], n_new=1_000)
    fac = RidgeFactorization.fit(data.X, data.Y)
    assert fac.form == request.param
    assert fac.precision == "float64"
    return Case(data, fac, fac.project(data.X_new))
