"""From what a format's module read to a Dataset: the split where there is no test set, term counts from texts, and
train and test widened to the same features and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from xmlcore.checks import DataError
from xmlcore.dataset import Dataset
from xmlcore.matrices import Features, take_rows
from xmlcore.readers.parts import Parsed, Part
from xmlcore.units import counted
from xmlcore.words import WORD

MAX_WORDS = 50_000
MIN_TEXTS_WITH_WORD = 2


def assemble(parsed: Parsed, name: str, source: str, test_share: float, seed: int) -> Dataset:
    """The data set of `parsed`.

    Args:
        parsed: what a format's module gave.
        name: for the data set, where `parsed` has none.
        source: where the data comes from, in a sentence.
        test_share: the share of instances set aside for testing where there is no test set, above 0 and below 1.
        seed: of that split.

    Raises DataError where there are no features, labels or instances, or train and test do not fit together.
    """
    notes = list(parsed.notes)
    train, test = parsed.train, parsed.test
    if test is None:
        train, test = _split(train, test_share, seed)
        notes.append(
            f"There is no test set: {test.Y.shape[0]:,} of {train.Y.shape[0] + test.Y.shape[0]:,} instances "
            f"{'was' if test.Y.shape[0] == 1 else 'were'} set aside at random (seed {seed})."
        )
    kind, feature_names = parsed.feature_kind, parsed.feature_names
    if train.X is None or test.X is None:
        train, test, feature_names, note = _count_words(train, test)
        notes.append(note)
        kind = "counts"
    n_features = len(feature_names) if feature_names is not None else 0
    train_X, test_X = _same_features(train.X, test.X, n_features, notes)
    train_Y, test_Y = _same_labels(train.Y, test.Y, parsed.label_names, notes)
    return Dataset(
        name=parsed.name or name,
        X_train=train_X,
        Y_train=train_Y,
        X_test=test_X,
        Y_test=test_Y,
        feature_names=feature_names,
        label_names=parsed.label_names,
        train_names=train.names,
        test_names=test.names,
        train_texts=train.texts,
        test_texts=test.texts,
        train_groups=train.groups,
        train_filter=_mask(train.masked, train_Y.shape),
        test_filter=_mask(test.masked, test_Y.shape),
        feature_kind=kind,
        A=parsed.A,
        B=parsed.B,
        given_label_counts=parsed.given_label_counts,
        given_n_train=parsed.given_n_train,
        notes=tuple(notes),
        source=source,
    )


def take_part(part: Part, rows: np.ndarray) -> Part:
    """The given rows of a part, in the given order."""
    masked = None
    if part.masked is not None:
        place = np.full(part.Y.shape[0], -1)
        place[rows] = np.arange(len(rows))
        kept = place[part.masked[0]] >= 0
        masked = (place[part.masked[0][kept]], part.masked[1][kept])
    return Part(
        Y=part.Y[rows],
        X=None if part.X is None else take_rows(part.X, rows),
        texts=None if part.texts is None else [part.texts[row] for row in rows],
        names=None if part.names is None else part.names[rows],
        groups=None if part.groups is None else part.groups[rows],
        masked=masked,
    )


def _split(part: Part, test_share: float, seed: int) -> tuple[Part, Part]:
    rows = part.Y.shape[0]
    if rows < 2:
        raise DataError(f"the data set has {counted(rows, 'instance')}; expected at least 2, to set some aside")
    n_test = min(max(round(rows * test_share), 1), rows - 1)
    order = np.random.default_rng(seed).permutation(rows)
    return take_part(part, np.sort(order[n_test:])), take_part(part, np.sort(order[:n_test]))


def _count_words(train: Part, test: Part) -> tuple[Part, Part, np.ndarray, str]:
    """Term counts of the texts over the training texts' vocabulary, with a note on how it was chosen."""
    if train.texts is None or test.texts is None:
        raise DataError("the data set has neither features nor texts for all of its instances; expected one of them")
    for least in (MIN_TEXTS_WITH_WORD, 1):
        # Words as a typed document is cut into them (xmlcore.words), but for those of one letter.
        from sklearn.feature_extraction.text import CountVectorizer  # here: it takes two seconds, and few need it

        counter = CountVectorizer(token_pattern=r"\w" + WORD, min_df=least, max_features=MAX_WORDS, dtype=np.float32)
        try:
            train_X = counter.fit_transform(train.texts)
            break
        except ValueError:  # no word is left in the vocabulary
            continue
    else:
        raise DataError("the texts of the training instances hold no word of two letters or more; expected texts")
    test_X = counter.transform(test.texts)
    words = counter.get_feature_names_out().astype(str)
    seldom = f"in at least {least} training texts" if least > 1 else "in a training text"
    note = f"Features are counts of the {counted(len(words), 'word')} found {seldom}" + (
        f" (only the {MAX_WORDS:,} most frequent are kept)." if len(words) == MAX_WORDS else "."
    )
    train = replace(train, X=sparse.csr_array(train_X))
    return train, replace(test, X=sparse.csr_array(test_X)), words, note


def _same_features(train: Features, test: Features, at_least: int, notes: list[str]) -> tuple[Features, Features]:
    single = not isinstance(train, tuple) and not isinstance(test, tuple)
    left = train if isinstance(train, tuple) else (train,)
    right = test if isinstance(test, tuple) else (test,)
    if len(left) != len(right):
        blocks = counted(len(left), "feature block")
        raise DataError(f"the training instances have {blocks} and the test instances {len(right)}")
    pairs = []
    for one, other in zip(left, right, strict=True):
        widths = one.shape[1], other.shape[1]
        # Names of features that occur in neither file can only belong to a single sparse block.
        width = max(*widths, at_least) if single and sparse.issparse(one) and sparse.issparse(other) else max(widths)
        if widths[0] != widths[1]:
            if not (sparse.issparse(one) and sparse.issparse(other)):
                raise DataError(
                    f"dense features have {counted(widths[0], 'column')} in train and {widths[1]:,} in test"
                )
            notes.append(f"Train has {counted(widths[0], 'feature')} and test {widths[1]:,}: the wider one counts.")
        pairs.append((_widened(one, width), _widened(other, width)))
    if sum(one.shape[1] for one, _ in pairs) == 0:
        raise DataError("the data set has no features; expected at least one")
    if single:
        return pairs[0]
    return tuple(one for one, _ in pairs), tuple(other for _, other in pairs)


def _same_labels(
    train: sparse.csr_array, test: sparse.csr_array, names: Sequence[str] | None, notes: list[str]
) -> tuple[sparse.csr_array, sparse.csr_array]:
    width = max(train.shape[1], test.shape[1], len(names) if names is not None else 0)
    if width == 0:
        raise DataError("the data set has no labels; expected at least one")
    if train.shape[1] != test.shape[1]:
        notes.append(f"Train has {counted(train.shape[1], 'label')} and test {test.shape[1]:,}: the wider one counts.")
    return _widened(train, width), _widened(test, width)


def _widened(block: Features, width: int) -> Features:
    if not sparse.issparse(block) or block.shape[1] == width:
        return block
    return sparse.csr_array((block.data, block.indices, block.indptr), shape=(block.shape[0], width))


def _mask(pairs: tuple[np.ndarray, np.ndarray] | None, shape: tuple[int, int]) -> sparse.csr_array | None:
    if pairs is None:
        return None
    rows, labels = pairs
    mask = sparse.coo_array((np.ones(len(rows), np.float32), (rows, labels)), shape=shape).tocsr()
    mask.data[:] = 1  # a pair that is named twice is masked once
    return mask
