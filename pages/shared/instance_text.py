"""A text that the visitor typed: whether it can be explained, how much of it is, and which of its words count."""

from __future__ import annotations

import re
from html import escape

import streamlit as st

from pages.shared.answers import Answer
from pages.shared.frame import plain_markdown
from pages.shared.instance_view import STYLE, joined
from xmlcore import DataError, catalog_entries
from xmlcore.units import counted
from xmlcore.words import WORD, count_words, tokenize, unknown_words

LONGEST_DOCUMENT = 20_000
WORDS_LISTED, WORDS_QUOTED = 30, 5


def why_no_text(answer: Answer) -> str | None:
    """Why no text can be explained on this data set, as Markdown; None where one can."""
    vocabulary, name = answer.model.fitted.vocabulary, plain_markdown(answer.model.shown_title)
    if vocabulary is None:
        with_words = " and ".join(entry.title for entry in catalog_entries() if entry.kind == "embedded")
        return (
            f"A text cannot be explained here: it would have to be turned into the features of {name}, which are not "
            f"plain counts of known words. It can be on {with_words}, and on data of your own that you upload as texts "
            "on the page Data."
        )
    try:
        count_words((), vocabulary)
    except DataError as error:
        return f"A text cannot be explained on {name}: {plain_markdown(str(error))}."
    return None


def document_of(text: str) -> str:
    """The text, cut to LONGEST_DOCUMENT characters: before the word that goes on there, unless it is the first."""
    if len(text) <= LONGEST_DOCUMENT:
        return text
    words = list(re.finditer(WORD, text[: LONGEST_DOCUMENT + 1]))
    end = words[-1].start() if words and words[-1].end() > LONGEST_DOCUMENT else LONGEST_DOCUMENT
    return text[: end or LONGEST_DOCUMENT]


def text_with_unknown_words(answer: Answer, text: str) -> None:
    """The typed text with the words marked that the vocabulary does not know, and the same in a sentence."""
    fitted = answer.model.fitted
    unknown, known = unknown_words(text, fitted.vocabulary), {str(word).lower() for word in fitted.vocabulary}
    vocabulary = f"the vocabulary of {counted(len(fitted.vocabulary), 'word')}"
    effect = "without any effect" if fitted.recipe.lm is None else "read by the language model only"
    marked, end, lacking = [], 0, set(unknown)
    for word in re.finditer(WORD, text):
        marked.append(escape(text[end : word.start()]))
        told = escape(word.group())
        # Lower case cuts a word with the capital İ in two: what is one word here may be two there.
        is_unknown = not lacking.isdisjoint(tokenize(word.group()))
        marked.append(f"<mark class='unknown'>{told}</mark>" if is_unknown else told)
        end = word.end()
    marked.append(escape(text[end:]))
    words = list(dict.fromkeys(tokenize(text)))
    left_out = [word for word in words if word not in known]
    if unknown:
        told = f"Underlined: not in {vocabulary}, so {effect}: {_first_of(unknown, WORDS_LISTED)}."
    elif len(left_out) == len(words):
        told = f"No word of {vocabulary} is in it."
    elif left_out:
        quoted = _first_of([f"“{word}”" for word in left_out], WORDS_QUOTED)
        told = f"All of its words are in {vocabulary}, but for {quoted}, {effect}."
    else:
        told = f"All of its words are in {vocabulary}."
    st.html(f"{STYLE}<div class='inst'><div class='text'>{''.join(marked)}</div><p><small>{told}</small></p></div>")


def _first_of(words: list[str], most: int) -> str:
    more = [f"{len(words) - most:,} more"] if len(words) > most else []
    return joined([*map(escape, words[:most]), *more])
