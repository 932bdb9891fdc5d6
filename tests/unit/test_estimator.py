"""XMLRidge against scikit-learn's Ridge, against `evaluate`, and within scikit-learn's own tools and checks."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import Ridge
from sklearn.metrics import average_precision_score, precision_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from tests.hard_data import hard_data
from xmlcore import (
    DataError,
    RidgeFactorization,
    XMLRidge,
    evaluate,
    inverse_propensity,
    make_dataset,
    psprecision_at_k,
    top_k,
)
from xmlcore.synthetic import Shape

TARGETS = "its targets are not label indicators of 0 and 1"
EXPECTED_TO_FAIL = {
    "check_classifier_data_not_an_array": TARGETS,
    "check_classifier_not_supporting_multiclass": "it is for several labels, and says so in other words",
    "check_classifiers_classes": TARGETS,
    "check_classifiers_one_label": "it gives predictions two dimensions where the targets have one",
    "check_classifiers_regression_target": TARGETS,
    "check_classifiers_train": TARGETS,
    "check_classifier_multioutput": "it takes labels for right whose score is above 0; we predict the k best",
    "check_estimators_dtypes": TARGETS,
    "check_fit2d_1feature": TARGETS,
}
WITH_PROPENSITIES = {"check_fit2d_1sample": "θ needs three instances, which the message says in these words"}
MAY_FAIL = {"check_methods_subset_invariance": "it allows 1e-7, to which scores in float32 may agree or not"}


@pytest.mark.parametrize(
    ("model", "expected"),
    [(XMLRidge(), EXPECTED_TO_FAIL), (XMLRidge(A=0.55), EXPECTED_TO_FAIL | WITH_PROPENSITIES)],
    ids=["plain", "with propensities"],
)
def test_it_keeps_the_conventions_of_scikit_learn_but_for_what_is_named_here(model, expected):
    results = check_estimator(model, on_skip=None, on_fail=None)
    failed = {each["check_name"]: each["exception"] for each in results if each["status"] == "failed"}
    assert failed.keys() - MAY_FAIL.keys() == expected.keys(), failed


@pytest.fixture(scope="module", params=[(300, 60), (60, 300)], ids=["primal", "dual"])
def data(request):
    return hard_data(*request.param, n_labels=12, n_new=80)


@pytest.fixture(scope="module")
def counts():
    return make_dataset(Shape(400, 100, 60, 30, 8.0, 3.0))


def test_scores_equal_ridge_of_scikit_learn_in_float64(data):
    X, Y, X_new = (M.toarray().astype(np.float64) for M in (data.X, data.Y, data.X_new))
    expected = Ridge(alpha=2.0, fit_intercept=False, solver="cholesky").fit(X, Y).predict(X_new)
    for train, test in ((X, X_new), (data.X, data.X_new)):
        found = XMLRidge(2.0).fit(train, Y).decision_function(test)
        assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()
    weighted = XMLRidge(2.0, A=0.7, B=2.0).fit(X, Y).decision_function(X_new)
    theta = 1 + (np.log(len(Y)) - 1) * 3.0**0.7 * (Y.sum(axis=0) + 2.0) ** -0.7
    assert np.abs(weighted - expected * theta).max() < 1e-4 * np.abs(weighted).max()


@pytest.mark.parametrize("A", [None, 0.55])
def test_ranking_prediction_and_score_equal_evaluate(data, A):
    Y_new = sparse.csr_array(np.random.default_rng(0).random((80, 12)) < 0.3)
    fac = RidgeFactorization.fit(data.X, data.Y)
    theta = inverse_propensity(data.Y, 0.55, 1.5)
    expected = evaluate(fac, fac.project(data.X_new), Y_new, 2.0, theta, theta, ks=(3,))
    expected = expected.ridge if A is None else expected.ps
    model = XMLRidge(2.0, A=A, k=3).fit(data.X, data.Y)
    np.testing.assert_array_equal(model.rank(data.X_new), expected.top)
    assert model.score(data.X_new, Y_new) == expected.metrics["precision"][3]
    predicted = model.predict(data.X_new)
    assert isinstance(predicted, sparse.csr_array)
    for row, top in enumerate(expected.top):
        assert predicted[[row]].indices.tolist() == sorted(top)
    # Each instance has three predictions, so P@3 is scikit-learn's precision over all pairs.
    assert precision_score(Y_new, predicted, average="micro") == pytest.approx(expected.metrics["precision"][3])


def test_a_ranking_in_blocks_of_rows_is_that_of_all_scores(data, monkeypatch):
    model = XMLRidge(2.0, A=0.55, k=4).fit(data.X, data.Y)
    expected = top_k(model.decision_function(data.X_new), 4)
    monkeypatch.setattr("xmlcore.estimator.row_blocks", lambda n, *_: (slice(at, at + 7) for at in range(0, n, 7)))
    np.testing.assert_array_equal(model.rank(data.X_new), expected)


def test_prediction_is_dense_where_the_labels_were(data):
    model = XMLRidge(2.0, k=99).fit(data.X, data.Y.toarray())
    np.testing.assert_array_equal(model.predict(data.X_new), np.ones((80, 12)))  # k is cut to all labels


def test_every_parameter_may_change_without_another_fit(data):
    changed = {"reg_lambda": 30.0, "A": 0.9, "B": 0.4, "k": 2}
    model = XMLRidge(2.0).fit(data.X, data.Y)
    fresh = clone(model).set_params(**changed).fit(data.X, data.Y)
    before = model.factorization_
    model.set_params(**changed)
    np.testing.assert_array_equal(model.decision_function(data.X_new), fresh.decision_function(data.X_new))
    np.testing.assert_array_equal(model.rank(data.X_new), fresh.rank(data.X_new))
    assert model.factorization_ is before
    assert model.get_params() == fresh.get_params() == changed


def precision(model, X, y, theta):
    return model.score(X, y)


def psprecision(model, X, y, theta):
    return psprecision_at_k(model[-1].rank(model[:-1].transform(X)), y, theta, model[-1].k)


@pytest.mark.parametrize("measure", [precision, psprecision], ids=lambda measure: measure.__name__)
def test_a_search_over_a_pipeline_finds_what_a_loop_over_its_folds_finds(counts, measure):
    X, Y = counts.X_train, counts.Y_train
    grid, folds, theta = [0.01, 1.0, 100.0], KFold(3), inverse_propensity(Y, 0.55, 1.5)
    pipeline = make_pipeline(TfidfTransformer(), XMLRidge(A=0.8, k=3))
    search = GridSearchCV(
        pipeline, {"xmlridge__reg_lambda": grid}, cv=folds, scoring=lambda *fitted: measure(*fitted, theta)
    ).fit(X, Y)
    expected = np.zeros(3)
    for train, held_out in folds.split(X):
        tfidf = TfidfTransformer().fit(X[train])
        fac = RidgeFactorization.fit(tfidf.transform(X[train]), Y[train])
        P, of_model = fac.project(tfidf.transform(X[held_out])), inverse_propensity(Y[train], 0.8, 1.5)
        results = [evaluate(fac, P, Y[held_out], each, of_model, theta, ks=(3,)) for each in grid]
        expected += [each.ps.metrics[measure.__name__][3] / 3 for each in results]
    assert len(set(expected)) > 1
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
    assert search.best_params_ == {"xmlridge__reg_lambda": grid[np.argmax(expected)]}


def test_scikit_learns_own_measures_of_scores_take_it(counts):
    X, Y = counts.X_train, counts.Y_train.toarray()
    Y = Y[:, Y.sum(axis=0) > 60]  # every fold has some of each
    train, held_out = next(KFold(3).split(X))
    expected = average_precision_score(Y[held_out], XMLRidge().fit(X[train], Y[train]).decision_function(X[held_out]))
    assert cross_val_score(XMLRidge(), X, Y, scoring="average_precision", cv=KFold(3))[0] == expected


def test_bad_input_is_refused_with_the_argument_and_the_value(data):
    X, Y = data.X, data.Y
    with pytest.raises(NotFittedError):
        XMLRidge().predict(X)
    for parameters, told in (
        ({"reg_lambda": 0}, "reg_lambda is 0; expected a finite number above 0"),
        ({"k": 0}, "k is 0; expected a whole number of at least 1"),
        ({"A": -1}, "A is -1; expected a finite number of at least 0"),
        ({"A": 1, "B": 0}, "B is 0; expected a finite number above 0"),
    ):
        with pytest.raises(DataError, match=told):
            XMLRidge(**parameters).fit(X, Y)
    with pytest.raises(DataError, match="y must hold only 0 and 1; it holds 2"):
        XMLRidge().fit(X, 2 * Y)
    with pytest.raises(
        DataError, match=rf"y must have two dimensions, instances and labels; it has shape \({X.shape[0]},"
    ):
        XMLRidge().fit(X, np.ones(X.shape[0]))
    with pytest.raises(DataError, match="n_train is 2; expected at least 3"):
        XMLRidge(A=0.5).fit(X[:2], Y[:2])
    XMLRidge().fit(X[:2], Y[:2])  # without θ two are enough
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        XMLRidge().fit(X, Y[:5])
    model = XMLRidge().fit(X, Y)
    with pytest.raises(ValueError, match="X has 5 features, but XMLRidge is expecting"):
        model.predict(X[:, :5])
    with pytest.raises(DataError, match="reg_lambda is -1"):
        model.set_params(reg_lambda=-1).predict(X)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        XMLRidge().fit(np.full(X.shape, np.nan), Y)


def test_the_library_does_not_wait_for_scikit_learn():
    code = "import sys, xmlcore; assert 'sklearn' not in sys.modules; assert xmlcore.XMLRidge().k == 5"
    subprocess.run([sys.executable, "-c", code], check=True)
