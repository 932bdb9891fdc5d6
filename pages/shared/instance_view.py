"""How the Instances page draws what it found: the head and both lists."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

import numpy as np
import streamlit as st

from pages.shared.answers import Answer
from pages.shared.instance_subject import Listed, Subject, kind_of_features, weights_are_tfidf
from pages.shared.settings import lambda_text, own_lambda_text
from pages.shared.show import SYMBOLS
from xmlcore.figures import LOOKS, RIDGE, RIDGE_PS
from xmlcore.figures_explain import digits_of, number_text

WORDS_SHOWN = 14
ON_DARK = {RIDGE: "#56B4E9", RIDGE_PS: LOOKS[RIDGE_PS].color}
STYLE = """<style>
.inst h2 { font-size: 1.25rem; padding: 0; margin: 0 0 .3rem; overflow-wrap: anywhere; }
.inst p { margin: 0 0 .5rem; }
.inst .chips { display: flex; flex-wrap: wrap; gap: .35rem; margin: 0 0 .6rem; align-items: baseline; }
.inst .chip { border: 1px solid rgba(128,128,128,.5); border-radius: .4rem; padding: .05rem .45rem; font-size: .9rem;
  overflow-wrap: anywhere; }
.inst .missed { border-style: dashed; border-width: 2px; }
.inst small { font-size: .82rem; opacity: .8; }
.inst table { width: 100%; border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
.inst th { text-align: left; font-weight: 600; font-size: .82rem; }
.inst th.name { font-weight: inherit; font-size: inherit; }
.inst td, .inst th { padding: .22rem .4rem; border-bottom: 1px solid rgba(128,128,128,.3); vertical-align: top; }
.inst td.number, .inst th.number { text-align: right; white-space: nowrap; }
.inst .name { overflow-wrap: anywhere; min-width: 6.5rem; }
.inst .unseen { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
.inst tr.right > * { background: rgba(128,128,128,.14); }
.inst tr.right .name { font-weight: 700; }
.inst td.mark { white-space: nowrap; }
.inst .list-title { font-weight: 600; margin: 0 0 .2rem; }
.inst .text { white-space: pre-wrap; overflow-wrap: anywhere; max-height: 12rem; overflow-y: auto; }
@media (max-width: 640px) {
  .inst .said { position: absolute; clip-path: inset(50%); }
  .inst .name { min-width: 4.5rem; }
  .inst td, .inst th { padding: .22rem .25rem; }
}
.inst mark.unknown { background: none; color: inherit; text-decoration: underline dashed 2px; opacity: .7; }
</style>"""


def head(answer: Answer, subject: Subject) -> None:
    """What weighting did, in one sentence; then labels and words."""
    parts = [f"<h2>{escape(subject.name)}</h2><p>{_sentence(answer, subject)}</p>"]
    if subject.relevant is not None:
        parts.append(_true_labels(answer, subject))
    parts.append(_features(answer, subject))
    st.html(f"{STYLE}<div class='inst'>{''.join(parts)}</div>")


def _sentence(answer: Answer, subject: Subject) -> str:
    if not subject.features[0].size:
        return (
            "It has none of the features that the model knows, so every label scores 0 and the lists are only the "
            "first labels in the order of the data set."
        )
    k, own = answer.K, own_lambda_text(answer.settings)
    doer = f"PS{own}, not {lambda_text(answer.settings.reg_lambda)}," if own else "Weighting"
    moved = [f"brought in {_named(answer, subject.brought_in)}"] if subject.brought_in else []
    if subject.dropped:
        moved.append(f"dropped {_named(answer, subject.dropped)}")
    same_order = [e.label for e in subject.lists[RIDGE]] == [e.label for e in subject.lists[RIDGE_PS]]
    if moved:
        told = f"{doer} {' and '.join(moved)}."
    elif same_order:
        told = f"{doer} changed nothing {among_first(k)}."
    else:
        told = f"{doer} changed only the order of the first {k}."
    if subject.relevant is None:
        return told
    if not subject.relevant.size:
        return f"{told} The data gives this instance no label, so nothing can be right."
    hits = {variant: sum(bool(entry.right) for entry in subject.lists[variant]) for variant in subject.lists}
    if subject.relevant.size == 1:
        one, weighted = ("is" if hit else "is not" for hit in hits.values())
        return f"{told} Its only label {one} {among_first(k)} of {RIDGE}, and {weighted} with PS."
    return (
        f"{told} Of its {subject.relevant.size:,} labels, {hits[RIDGE]} "
        f"{'are' if hits[RIDGE] != 1 else 'is'} {among_first(k)} of {RIDGE} and {hits[RIDGE_PS]} with PS."
    )


def among_first(k: int) -> str:
    """Where the labels that count are in a ranking."""
    return "in first place" if k == 1 else f"among the first {k}"


def _named(answer: Answer, entries: list[Listed]) -> str:
    said = {True: " (right)", False: " (wrong)", None: ""}
    names = [f"<b>{_isolated(answer.dataset.label_name(entry.label))}</b>{said[entry.right]}" for entry in entries]
    return joined(names)


def _isolated(name: str) -> str:
    """A name as HTML, whose direction of writing leaves what stands around it as it is."""
    return f"<bdi>{escape(name)}</bdi>"


def joined(names: list[str]) -> str:
    """The names as a sentence lists them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _true_labels(answer: Answer, subject: Subject) -> str:
    chips = []
    for label in subject.relevant.tolist():
        places = [subject.places[variant].get(label) for variant in (RIDGE, RIDGE_PS)]
        masked = None in places
        missed = not masked and min(places) > answer.K
        told = "masked, not ranked" if masked else f"{SYMBOLS[RIDGE]} {places[0]:,} · {SYMBOLS[RIDGE_PS]} {places[1]:,}"
        chips.append(
            f"<span class='chip{' missed' if missed else ''}'><b>{_isolated(answer.dataset.label_name(label))}</b> "
            f"<small>on {answer.dataset.label_counts[label]:,} · {told}{' · missed by both' if missed else ''}</small>"
            "</span>"
        )
    if not chips:
        return "<div class='chips'><span>Its labels</span><span>none</span></div>"
    on = answer.dataset.label_counts[subject.relevant[0]]
    return (
        f"<div class='chips'><span>Its labels</span><small>“on {on:,}”: training instances with the label · rank with "
        f"{SYMBOLS[RIDGE]} {RIDGE}, {SYMBOLS[RIDGE_PS]} with PS</small>{''.join(chips)}</div>"
    )


def _features(answer: Answer, subject: Subject) -> str:
    index, values = subject.features
    words, kind = kind_of_features(answer), "TF-IDF weight" if weights_are_tfidf(answer) else "weight"
    digits = ".2f" if np.abs(values[:WORDS_SHOWN]).min(initial=1) >= 0.005 else digits_of(values)
    weights = [number_text(value, digits) for value in values.tolist()]
    chips = [
        f"<span class='chip'>{_isolated(answer.dataset.feature_name(feature))} <small>{weight}</small></span>"
        for feature, weight in zip(index.tolist()[:WORDS_SHOWN], weights, strict=False)
    ]
    rest = index.size - len(chips)
    more = f"<small>and {rest:,} more</small>" if rest else ""
    return f"<div class='chips'><span>Its {words}, by {kind}</span>{''.join(chips) or '<span>none</span>'}{more}</div>"


def lists(answer: Answer, subject: Subject) -> None:
    """Both lists side by side, with where weighting moved each label."""
    columns = st.container(key="lists").columns(2)
    for column, variant, arrow in zip(columns, (RIDGE, RIDGE_PS), (_to, _from), strict=True):
        with column:
            st.html(f"<div class='inst'>{_table(answer, subject, variant, arrow)}</div>")
    st.caption(
        f"Training: how many training instances have the label. {RIDGE_PS} ranks by θ · score"
        f"{own_lambda_text(answer.settings)}. Arrows: where that moved a label."
    )


def _table(answer: Answer, subject: Subject, variant: str, arrow: Callable[[Listed, int], str]) -> str:
    data, known, digits = answer.dataset, subject.relevant is not None, digits_in_list(subject, variant)
    rows = []
    for entry in subject.lists[variant]:
        sign, said = ("✓", "right") if entry.right else ("✗", "wrong")
        mark = f"<td class='mark'>{sign} <span class='said'>{said}</span></td>" if known else ""
        rows.append(
            f"<tr{' class=right' if entry.right else ''}><td class='number'>{entry.place}</td>"
            f"<th scope='row' class='name'><bdi>{_breakable(data.label_name(entry.label))}</bdi></th>"
            f"<td class='number'>{number_text(entry.score, digits)}</td>"
            f"<td class='number'>{data.label_counts[entry.label]:,}</td>"
            f"{mark}<td class='mark'>{arrow(entry, answer.K)}</td></tr>"
        )
    score = "Score" if variant == RIDGE else "θ · score"
    moved = "With PS" if variant == RIDGE else "Moved"
    color = ON_DARK[variant] if st.context.theme.type == "dark" else LOOKS[variant].color
    return (
        f"<p class='list-title'><span style='color:{color}'>{SYMBOLS[variant]}</span> {variant}</p>"
        f"<table aria-label='The first labels by {variant}'><thead><tr><th class='number'>#</th><th>Label</th>"
        f"<th class='number'>{score}</th><th class='number'>Training</th>"
        f"{'<th><span class=unseen>Right or wrong</span></th>' if known else ''}<th>{moved}</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def digits_in_list(subject: Subject, variant: str) -> str:
    """How scores are written in a variant's list."""
    return digits_of(entry.score for entry in subject.lists[variant])


def _breakable(name: str) -> str:
    """The name as HTML that may break after its punctuation, rather than within a word."""
    return re.sub(r"([:\-_./]+)", r"\1<wbr>", escape(name))


def _to(entry: Listed, k: int) -> str:
    if entry.other_place > k:
        return f"out, to {entry.other_place:,}"
    if entry.other_place == entry.place:
        return "="
    return f"{'↑' if entry.other_place < entry.place else '↓'} to {entry.other_place}"


def _from(entry: Listed, k: int) -> str:
    if entry.other_place > k:
        return f"<b>↑ in</b>, from {entry.other_place:,}"
    if entry.other_place == entry.place:
        return "="
    return f"{'↑' if entry.other_place > entry.place else '↓'} from {entry.other_place}"
