"""Words: how texts are taken apart, counted and made a vocabulary of."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from tests.unit.helpers import dense
from xmlcore.words import WORD, choose_vocabulary, count_words, has_all_words, tokenize, unknown_words


def test_words_that_the_vocabulary_does_not_know_are_told_once_in_order():
    text, vocabulary = "Zebra editor, the C++ zebra of 12 apples", ["editor", "gtk+", "c++", "never"]
    assert unknown_words(text, vocabulary) == ["zebra", "apples"]


def test_words_are_lower_case_and_keep_the_signs_of_their_names():
    assert tokenize("GTK+ for C++, C# and i18n_x: naïve (3D)") == [
        "gtk+",
        "for",
        "c++",
        "c#",
        "and",
        "i18n_x",
        "naïve",
        "3d",
    ]


@given(st.lists(st.text(st.sampled_from("aBc+ ,_İß"), max_size=30), max_size=4))
def test_counting_agrees_with_scikit_learn(texts):
    vocabulary = ["c", "c++", "a", "b_a", "d", "ß"]
    theirs = CountVectorizer(token_pattern=WORD, vocabulary=vocabulary).transform(texts)
    ours = count_words(texts, vocabulary)
    assert (ours.dtype, ours.shape, ours.has_canonical_format) == (np.float32, (len(texts), 6), True)
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())


def test_a_vocabulary_without_words_counts_none():
    assert count_words(["a", "b"], []).shape == (2, 0)


def test_a_vocabulary_holds_the_words_of_the_most_texts_without_stop_words_and_numbers():
    texts = ["the zoo zoo zoo", "a bear 42", "the bear and apple 42", "bear apple 42"]
    assert choose_vocabulary(texts, 2).tolist() == ["bear", "apple"]
    assert choose_vocabulary(texts, 9).tolist() == ["bear", "apple", "zoo"]
    assert choose_vocabulary(["the", ""], 9).tolist() == []


@given(st.integers(0, 2**32 - 1), st.text(st.sampled_from("aBcd ,"), max_size=6))
def test_an_instance_has_all_words_where_each_is_a_feature_of_it_that_is_not_zero(seed, text):
    rng = np.random.default_rng(seed)
    first, last = (sparse.csr_array((rng.random((5, width)) < 0.7).astype(np.float32)) for width in (3, 2))
    last.data[:1] = 0
    X, names = (first, np.ones((5, 1), np.float32), last), ["a", "B", "c", "d", "A", "b"]
    # The dense block's "d" is no word.
    rows = [{name.lower() for name, x in zip(names, row, strict=True) if x and name != "d"} for row in dense(X)]
    words = set(tokenize(text))
    assert has_all_words(text, X, names).tolist() == [bool(words) and words <= row for row in rows]
