"""XML-ridge: ridge regression for extreme multi-label learning, solved, evaluated and explained exactly."""

from xmlcore.dataset import DataError, Dataset

__all__ = ["DataError", "Dataset"]
