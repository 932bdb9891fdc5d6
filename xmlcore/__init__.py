"""XML-ridge: ridge regression for extreme multi-label learning, solved, evaluated and explained exactly."""

from xmlcore.catalog import CatalogEntry, catalog_entries, load_dataset
from xmlcore.dataset import DataError, Dataset
from xmlcore.propensity import PROPENSITY_PRESETS, inverse_propensity
from xmlcore.ranking import top_k, top_k_both
from xmlcore.ridge import RidgeFactorization, lambda_range, solve_direct

__all__ = [
    "PROPENSITY_PRESETS",
    "CatalogEntry",
    "DataError",
    "Dataset",
    "RidgeFactorization",
    "catalog_entries",
    "inverse_propensity",
    "lambda_range",
    "load_dataset",
    "solve_direct",
    "top_k",
    "top_k_both",
]
