"""XML-ridge: ridge regression for extreme multi-label learning, solved, evaluated and explained exactly."""

from xmlcore.analysis import contributions, frequency_bins, head_torso_tail, label_table
from xmlcore.catalog import CatalogEntry, catalog_entries, load_dataset
from xmlcore.cost import factorization_cost, outline
from xmlcore.dataset import DataError, Dataset
from xmlcore.direct import DirectSolver, lambda_range, solve_direct
from xmlcore.downloads import DownloadProgress
from xmlcore.evaluation import Evaluation, VariantResult, evaluate, evaluate_scores
from xmlcore.explain import Explanation, explain_by_feature, explain_by_instance, missing_labels
from xmlcore.features import FittedFeatures, fit_features
from xmlcore.metrics import (
    coverage_at_k,
    make_ruler,
    ndcg_at_k,
    precision_at_k,
    psndcg_at_k,
    psprecision_at_k,
    recall_at_k,
)
from xmlcore.predictions import Predictions, agreement, predictions_from_scores, read_predictions, write_predictions
from xmlcore.profile import random_instances, strongest_pairs
from xmlcore.projection import random_projection
from xmlcore.propensity import PROPENSITY_PRESETS, inverse_propensity, metric_inverse_propensity
from xmlcore.range_finder import truncated_svd
from xmlcore.ranking import top_k, top_k_both
from xmlcore.readers import Recognition, read, recognise, write_npz, write_xc_text
from xmlcore.recipe import FeatureRecipe, default_recipe
from xmlcore.ridge import RidgeFactorization
from xmlcore.row_blocks import blocks_of, save_blocks, stored_blocks
from xmlcore.sampling import sample_training
from xmlcore.selection import frontier, held_out_path, lambda_grid, lambda_path, search_settings, validation_split
from xmlcore.sparsify import compress, save_sparse_weights, sparse_weights, weight_sizes
from xmlcore.store import Store, StoreError
from xmlcore.streaming import evaluate_streamed, fit_streamed
from xmlcore.synthetic import Shape, make_dataset, synthetic_blocks

__all__ = [
    "PROPENSITY_PRESETS",
    "CatalogEntry",
    "DataError",
    "Dataset",
    "DirectSolver",
    "DownloadProgress",
    "Evaluation",
    "Explanation",
    "FeatureRecipe",
    "FittedFeatures",
    "Predictions",
    "Recognition",
    "RidgeFactorization",
    "Shape",
    "Store",
    "StoreError",
    "VariantResult",
    "XMLRidge",
    "agreement",
    "blocks_of",
    "catalog_entries",
    "compress",
    "contributions",
    "coverage_at_k",
    "default_recipe",
    "evaluate",
    "evaluate_scores",
    "evaluate_streamed",
    "explain_by_feature",
    "explain_by_instance",
    "factorization_cost",
    "fit_features",
    "fit_streamed",
    "frequency_bins",
    "frontier",
    "head_torso_tail",
    "held_out_path",
    "inverse_propensity",
    "label_table",
    "lambda_grid",
    "lambda_path",
    "lambda_range",
    "load_dataset",
    "make_dataset",
    "make_ruler",
    "metric_inverse_propensity",
    "missing_labels",
    "ndcg_at_k",
    "outline",
    "precision_at_k",
    "predictions_from_scores",
    "psndcg_at_k",
    "psprecision_at_k",
    "random_instances",
    "random_projection",
    "read",
    "read_predictions",
    "recall_at_k",
    "recognise",
    "sample_training",
    "save_blocks",
    "save_sparse_weights",
    "search_settings",
    "solve_direct",
    "sparse_weights",
    "stored_blocks",
    "strongest_pairs",
    "synthetic_blocks",
    "top_k",
    "top_k_both",
    "truncated_svd",
    "validation_split",
    "weight_sizes",
    "write_npz",
    "write_predictions",
    "write_xc_text",
]


def __getattr__(name: str) -> object:
    if name == "XMLRidge":  # here: scikit-learn takes more than a second, and no page needs it at once
        from xmlcore.estimator import XMLRidge

        return XMLRidge
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
