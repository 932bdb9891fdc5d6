"""XML-ridge as an estimator of scikit-learn: for pipelines, cross-validation and searches."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from xmlcore.checks import as_whole, check_reg_lambda, refuse_masked
from xmlcore.evaluation import row_blocks
from xmlcore.matrices import Block, as_labels
from xmlcore.metrics import precision_at_k
from xmlcore.propensity import inverse_propensity
from xmlcore.ranking import top_k, top_k_weighted
from xmlcore.ridge import RidgeFactorization

_READ = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}


class XMLRidge(ClassifierMixin, BaseEstimator):
    """Ridge regression of label indicators, without an intercept, that predicts the k labels which score best.

    W minimises ‖XW − Y‖² + λ‖W‖²; the scores are XW, and XW diag(θ) with propensity scores. What is factorised depends
    on no parameter: all of them may be changed with `set_params` after `fit`, and the next prediction follows. Searches
    of scikit-learn fit a clone for each setting all the same; for λ alone `held_out_path` is cheaper.

    Parameters:
        reg_lambda: λ > 0, which scikit-learn's Ridge calls alpha.
        A, B: of the propensity model, A ≥ 0 and B > 0; with A = None all labels weigh alike, and B says nothing.
        k: how many labels are predicted for each instance, at most all.

    Attributes:
        factorization_: the `RidgeFactorization` of the training data.
        classes_: the label indices 0…L−1.
        n_features_in_, feature_names_in_: as in scikit-learn.
    """

    def __init__(self, reg_lambda: float = 1.0, *, A: float | None = None, B: float = 1.5, k: int = 5) -> None:
        self.reg_lambda = reg_lambda
        self.A = A
        self.B = B
        self.k = k

    def fit(self, X: Block, y: sparse.sparray | sparse.spmatrix | np.ndarray) -> XMLRidge:
        """Factorise X (D×N) with the labels y (D×L, values 0 and 1); either may be sparse or dense.

        Raises ValueError where scikit-learn's estimators do, and of these DataError for a y of another form or with
        other values, masked entries, parameters out of range, and D < 3 where A is given.
        """
        refuse_masked(X, "X")  # scikit-learn takes the masks off
        refuse_masked(y, "y")
        X, y = validate_data(self, X, y, multi_output=True, **_READ)
        labels = as_labels(y, "y")
        check_reg_lambda(self.reg_lambda)
        as_whole(self.k, "k", at_least=1)
        if self.A is not None:
            inverse_propensity(labels, self.A, self.B)  # refuses now what it would refuse at the first prediction
        self.factorization_ = RidgeFactorization.fit(X, labels)
        self.classes_ = np.arange(labels.shape[1])
        self._predicts_sparse = sparse.issparse(y)
        return self

    def decision_function(self, X: Block) -> np.ndarray:
        """Scores of all labels, shape (rows, L): float32, or where A is given times θ, float64."""
        X, fac, theta = self._validated(X), self.factorization_, self._theta()
        scores = fac.scores_of(X, fac.project(X), self.reg_lambda)
        return scores if theta is None else scores * theta

    def rank(self, X: Block) -> np.ndarray:
        """The k labels of each row that score best, best first, shape (rows, min(k, L)), int32.

        Ties go to the lower label, so a row of zeros has labels 0…k−1. Never holds more scores than the memory budget.
        """
        X, fac, theta = self._validated(X), self.factorization_, self._theta()
        ranked = []
        for rows in row_blocks(X.shape[0], fac, None):
            scores = fac.scores(fac.project(X[rows]), self.reg_lambda)
            ranked.append(top_k(scores, self.k) if theta is None else top_k_weighted(scores, theta, self.k))
            del scores  # before those of the next rows are made
        return np.vstack(ranked)

    def predict(self, X: Block) -> sparse.csr_array | np.ndarray:
        """Indicators of the labels of `rank`, shape (rows, L), int64: CSR where the y of `fit` was sparse."""
        top = self.rank(X)
        ends = np.arange(0, top.size + 1, top.shape[1])
        predicted = sparse.csr_array(
            (np.ones(top.size, np.int64), np.sort(top).ravel(), ends), shape=(len(top), self.classes_.size)
        )
        return predicted if self._predicts_sparse else predicted.toarray()

    def score(self, X: Block, y: sparse.sparray | sparse.spmatrix | np.ndarray) -> float:
        """P@k: the share of the k predicted labels that are right.

        Not PSP@k, for which each A and B would be measured with a θ of its own. A search by PSP@k needs one θ for all,
        in a scorer such as `lambda model, X, y: psprecision_at_k(model.rank(X), y, theta, model.k)`.
        """
        return precision_at_k(self.rank(X), y, self.k)

    def _validated(self, X: Block) -> Block:
        check_is_fitted(self)
        refuse_masked(X, "X")
        return validate_data(self, X, reset=False, **_READ)

    def _theta(self) -> np.ndarray | None:
        return None if self.A is None else inverse_propensity(self.factorization_.Y_train, self.A, self.B)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output, tags.target_tags.single_output = True, False
        tags.classifier_tags.multi_label, tags.classifier_tags.multi_class = True, False
        return tags
