"""XML-ridge: ridge regression for extreme multi-label learning, solved, evaluated and explained exactly."""

from xmlcore.analysis import contributions, frequency_bins, head_torso_tail, label_table
from xmlcore.catalog import CatalogEntry, catalog_entries, load_dataset
from xmlcore.dataset import DataError, Dataset
from xmlcore.evaluation import Evaluation, VariantResult, evaluate, evaluate_scores
from xmlcore.metrics import coverage_at_k, ndcg_at_k, precision_at_k, psndcg_at_k, psprecision_at_k, recall_at_k
from xmlcore.propensity import PROPENSITY_PRESETS, inverse_propensity
from xmlcore.ranking import top_k, top_k_both
from xmlcore.ridge import RidgeFactorization, lambda_range, solve_direct

__all__ = [
    "PROPENSITY_PRESETS",
    "CatalogEntry",
    "DataError",
    "Dataset",
    "Evaluation",
    "RidgeFactorization",
    "VariantResult",
    "catalog_entries",
    "contributions",
    "coverage_at_k",
    "evaluate",
    "evaluate_scores",
    "frequency_bins",
    "head_torso_tail",
    "inverse_propensity",
    "label_table",
    "lambda_range",
    "load_dataset",
    "ndcg_at_k",
    "precision_at_k",
    "psndcg_at_k",
    "psprecision_at_k",
    "recall_at_k",
    "solve_direct",
    "top_k",
    "top_k_both",
]
