"""Text into term counts: what a word is, which words a vocabulary holds, how often each occurs, and where.

The embedded data sets, text files and a typed document all pass through here, so that they are cut into words alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.matrices import Features, as_blocks, n_rows

# Letters, digits and underscores, with the signs that end names such as c++, gtk+ and c#.
WORD = r"\w+[+#]*"

# English words that say nothing about a subject, and the leftovers of "e.g.", "don't" and the like. Kept short on
# purpose: longer lists drop words such as "system" or "fire", which do say something.
_STOP_WORDS = """
    a an the and or nor but if then than that this these those there here it its itself he she they them their theirs
    his her we us our you your yours i me my who whom whose which what when where why how is are was were be been being
    am do does did doing done has have had having will would shall should can could may might must to of in on at by
    for from with without within into onto over under between among through during before after above below up down
    out off about against as so not no yes such also too very more most less least some any all each every both either
    neither other another same own only just even still yet already again once because while until since though
    although however therefore thus etc e g ie eg s t d ll re ve m don doesn isn aren won
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

_WORD = re.compile(WORD)


def tokenize(text: str) -> list[str]:
    """The words of a text, lower-case, in order and with repetitions."""
    return _WORD.findall(text.lower())


def count_words(texts: Iterable[str], vocabulary: Sequence[str] | np.ndarray) -> sparse.csr_array:
    """How often each word of the vocabulary occurs in each text: (texts, words) float32.

    Upper and lower case are the same. Raises DataError, naming both, for two words that then are one.
    """
    column_of: dict[str, int] = {}
    for column, word in enumerate(vocabulary):
        first = column_of.setdefault(str(word).lower(), column)
        if first != column:
            raise DataError(
                f"words cannot be counted: feature {first} is {str(vocabulary[first])!r} and feature {column} "
                f"{str(word)!r}; expected each word once, upper and lower case being the same"
            )
    columns: list[int] = []
    ends = [0]
    for text in texts:
        columns.extend(column_of[word] for word in tokenize(text) if word in column_of)
        ends.append(len(columns))
    parts = (np.ones(len(columns), np.float32), np.array(columns, np.int32), np.array(ends, np.int32))
    counts = sparse.csr_array(parts, shape=(len(ends) - 1, len(vocabulary)))
    counts.sum_duplicates()
    return counts


def choose_vocabulary(texts: Iterable[str], n_words: int) -> np.ndarray:
    """The n_words words that occur in the most texts, most frequent first, ties in alphabetical order.

    Stop words and words without a letter are left out. Fewer come back where the texts have fewer.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(token_pattern=WORD, stop_words=list(STOP_WORDS), binary=True, dtype=np.float32)
    try:
        counts = sparse.csc_array(counter.fit_transform(texts))
    except ValueError:  # scikit-learn's way to say that no word is left
        return np.array([], dtype=str)
    words = counter.get_feature_names_out().astype(str)
    frequency = np.diff(counts.indptr)
    lettered = np.array([any(character.isalpha() for character in word) for word in words])
    words, frequency = words[lettered], frequency[lettered]
    # The words come in alphabetical order, by which a stable sort breaks ties.
    return words[np.argsort(-frequency, kind="stable")[:n_words]]


def has_all_words(text: str, X: Features, feature_names: Sequence[str] | np.ndarray) -> np.ndarray:
    """Whether an instance has every word of the text among its features, in any case, shape (rows,), bool.

    Features in dense blocks are no words. A text without words is nowhere.
    """
    words = tokenize(text)
    names = np.char.lower(np.asarray(feature_names, dtype=str)) if words else ()
    has_all = np.full(n_rows(X), bool(words))
    for word in words:
        has_all &= _has_any(np.flatnonzero(names == word), X)
    return has_all


def _has_any(columns: np.ndarray, X: Features) -> np.ndarray:
    has, offset = np.zeros(n_rows(X), dtype=bool), 0
    for block in as_blocks(X):
        inside = columns[(columns >= offset) & (columns < offset + block.shape[1])] - offset
        if sparse.issparse(block):
            at = np.isin(block.indices, inside) & (block.data != 0)
            has |= np.bincount(np.repeat(np.arange(has.size), np.diff(block.indptr))[at], minlength=has.size) > 0
        offset += block.shape[1]
    return has


def unknown_words(text: str, vocabulary: Sequence[str] | np.ndarray) -> list[str]:
    """The words of a text that the vocabulary lacks in any case, each once, in order, lower-case.

    Stop words and numbers are not told.
    """
    known = {str(word).lower() for word in vocabulary} | STOP_WORDS
    words = dict.fromkeys(tokenize(text))
    return [word for word in words if word not in known and any(character.isalpha() for character in word)]
