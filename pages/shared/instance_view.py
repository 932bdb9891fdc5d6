"""How the Instances page draws what it found: head, both lists, and the two explanations of a chosen label."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared import frame, mirror, show
from pages.shared import instance_find as find
from pages.shared.answers import Answer
from pages.shared.frame import plain_markdown
from pages.shared.instance_subject import Listed, Subject, explain, kind_of_features, weights_are_tfidf
from pages.shared.settings import lambda_text, own_lambda_text
from pages.shared.show import SYMBOLS
from xmlcore import Dataset, Explanation
from xmlcore.figures import LOOKS, RIDGE, RIDGE_PS, escaped
from xmlcore.figures_explain import digits_of, explanation_bars, number_text, others_text
from xmlcore.units import counted

WORDS_SHOWN = 14
LABELS_IN_HOVER = 12
ON_DARK = {RIDGE: "#56B4E9", RIDGE_PS: LOOKS[RIDGE_PS].color}
STYLE = """<style>
.inst h3 { padding: 0; margin: 0 0 .3rem; overflow-wrap: anywhere; }
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
    parts = [f"<h3>{escape(subject.name)}</h3><p>{_sentence(answer, subject)}</p>"]
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
    return (
        f"{told} Of its {counted(subject.relevant.size, 'label')}, {hits[RIDGE]} "
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
        places = [subject.places[variant][label] for variant in (RIDGE, RIDGE_PS)]
        missed = min(places) > answer.K
        chips.append(
            f"<span class='chip{' missed' if missed else ''}'><b>{_isolated(answer.dataset.label_name(label))}</b> "
            f"<small>on {answer.dataset.label_counts[label]:,} · {SYMBOLS[RIDGE]} {places[0]:,} · "
            f"{SYMBOLS[RIDGE_PS]} {places[1]:,}{' · missed by both' if missed else ''}</small></span>"
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
    weights = [f"{value:.2f}".replace("-", "−") for value in values.tolist()]
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
    data, known, digits = answer.dataset, subject.relevant is not None, _digits(subject, variant)
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


def _digits(subject: Subject, variant: str) -> str:
    """How scores are written in a variant's list."""
    return digits_of(entry.score for entry in subject.lists[variant])


def _digits_explained(
    subject: Subject, label: int, variant: str, parts: tuple[Explanation, Explanation]
) -> dict[str, str]:
    """How each variant's scores of the explained label are written: as in the lists, where it is in one of them."""
    if any(entry.label == label for each in subject.lists.values() for entry in each):
        return {each: _digits(subject, each) for each in subject.lists}
    terms = [np.append(part.contribution, [part.others, part.score]) for part in parts]
    return dict.fromkeys(subject.lists, digits_of(np.concatenate(terms)))


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


def chosen_label(answer: Answer, subject: Subject) -> int | None:
    """Which label is explained: the chosen one, else what weighting brought in, else the first."""
    if st.session_state[find.LABEL] is not None:
        return st.session_state[find.LABEL]
    candidates = [entry.label for entry in subject.brought_in] + subject.labels
    return candidates[0] if candidates else None


@frame.fragment
def why(answer: Answer, subject: Subject) -> None:
    """Chooses a label and explains its score, as a sum over words and as a sum over training instances."""
    state, data = st.session_state, answer.dataset
    label = chosen_label(answer, subject)
    if label is None:
        return
    options = subject.labels if label in subject.labels else [*subject.labels, label]
    marks = {entry.label: "✓ " for each in subject.lists.values() for entry in each if entry.right}
    if subject.relevant is not None:
        marks.update({each: "✓ " for each in subject.relevant.tolist()})
    key = mirror.key_of("label_choice", label)
    st.pills(
        "Why this label?",
        options,
        default=label,
        required=True,
        format_func=lambda each: marks.get(each, "") + plain_markdown(data.label_name(each)),
        key=key,
        on_change=mirror.on_move,
        args=("label_choice", key, lambda chosen: state.update({find.LABEL: chosen})),
        help="✓: a label that the instance has." if subject.relevant is not None else None,
    )
    find.write_link()
    if not subject.features[0].size:
        return
    if not data.label_counts[label]:
        st.info(
            f"{plain_markdown(data.label_name(label))} is on no training instance, so its score is 0 everywhere and "
            "there is nothing to take apart.",
            icon=":material/visibility_off:",
        )
        return
    if not answer.model.ready:
        st.info(_not_yet(answer), icon=":material/hourglass_top:")
        return
    variant = RIDGE
    if answer.settings.reg_lambda != answer.settings.reg_lambda_ps:
        variant = st.segmented_control(
            "Explain the score of",
            [RIDGE, RIDGE_PS],
            default=RIDGE,
            required=True,
            key="explained",
            bind="query-params",
        )
    parts = explain(answer, subject, label, variant)
    digits = _digits_explained(subject, label, variant, parts)
    st.html(f"<div class='inst'><p>{_told(answer, label, variant, parts[0], digits)}</p></div>")
    _charts(answer, subject, label, variant, parts, digits[variant])


def _not_yet(answer: Answer) -> str:
    if answer.model.progress.error:
        return (
            f"The matrix is not factorised ({answer.model.progress.error}), so no score can be taken apart. In the "
            "sidebar it can be tried again."
        )
    return (
        "The explanations appear here by themselves as soon as the matrix is factorised; the sidebar tells how far it "
        "is. The lists above are exact already."
    )


def _told(answer: Answer, label: int, variant: str, explanation: Explanation, digits: dict[str, str]) -> str:
    name, theta = escape(answer.dataset.label_name(label)), answer.theta[label]
    score = number_text(explanation.score, digits[variant])
    same = answer.settings.reg_lambda == answer.settings.reg_lambda_ps
    if same:
        return (
            f"<b>{name}</b> scores {score}, the sum of the bars in either chart. With PS everything is "
            f"θ = {theta:.2f} times as much, each bar and the score: "
            f"{number_text(theta * explanation.score, digits[RIDGE_PS])}."
        )
    if variant == RIDGE:
        return (
            f"<b>{name}</b> scores {score} with {RIDGE}, the sum of the bars in either chart. With PS "
            f"everything would be θ = {theta:.2f} times as much, but PS has a λ of its own here: choose it above."
        )
    return (
        f"<b>{name}</b> scores {score} with PS, at its own λ = {answer.settings.reg_lambda_ps:g}: the "
        f"sum of the bars in either chart. θ = {theta:.2f} is in every bar; without it all are that many times less."
    )


def _charts(
    answer: Answer,
    subject: Subject,
    label: int,
    variant: str,
    parts: tuple[Explanation, Explanation],
    digits: str,
) -> None:
    data = answer.dataset
    by_feature, by_instance = parts
    index, values = subject.features
    weight_of = dict(zip(index.tolist(), values.tolist(), strict=True))
    x = [weight_of[n] for n in by_feature.index.tolist()]
    W = [c / weight for c, weight in zip(by_feature.contribution.tolist(), x, strict=True)]
    label_name = data.label_name(label)
    words = kind_of_features(answer)
    in_W, times_theta = ("θ · W", ", times θ") if variant == RIDGE_PS else ("W", "")
    sides = (
        (
            "explain_features",
            by_feature,
            [data.feature_name(n) for n in by_feature.index.tolist()],
            words,
            [
                f"<b>{escaped(data.feature_name(n))}</b><br>{number_text(x_n, digits_of(x))} here × "
                f"{number_text(W_nl, digits_of(W), '+')} in {in_W}"
                for n, x_n, W_nl in zip(by_feature.index.tolist(), x, W, strict=True)
            ],
            f"By {words[:-1]}: how much there is of it here, times its weight in W for this label{times_theta}.",
        ),
        (
            "explain_instances",
            by_instance,
            [data.train_name(i) for i in by_instance.index.tolist()],
            "training instances",
            [_voter(data, i) for i in by_instance.index.tolist()],
            f"By training instance: {_voters(data.label_counts[label])} casts one vote, of its own size, which counts "
            f"for all of its labels{times_theta}.",
        ),
    )
    for column, (name, part, names, kind, hover, caption) in zip(st.columns(2), sides, strict=True):
        with column:
            show.chart(
                explanation_bars(
                    names,
                    part.contribution,
                    part.others,
                    part.n_others,
                    part.score,
                    variant=variant,
                    kind=kind,
                    hover=hover,
                    digits=digits,
                ),
                name=name,
                caption=caption,
                alt=_alt(kind, label_name, names, part, digits),
                data=lambda part=part, names=names, kind=kind: _frame(part, names, kind),
            )


def _voters(count: int) -> str:
    return "the one with this label" if count == 1 else f"each of the {count:,} with this label"


def _alt(kind: str, label_name: str, names: list[str], part: Explanation, digits: str) -> str:
    terms = zip(names[:3], part.contribution, strict=False)
    largest = ", ".join(f"{name} {number_text(term, digits, '+')}" for name, term in terms)
    return (
        f"Bars: which {kind} make the score {number_text(part.score, digits)} of {label_name}. Largest: "
        f"{largest or 'none'}; all others {number_text(part.others, digits, '+')}."
    )


def _frame(part: Explanation, names: list[str], kind: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            kind: [*names, others_text(part.n_others), "score"],
            "contribution": np.append(part.contribution, [part.others, part.score]),
        }
    )


def _voter(data: Dataset, row: int) -> str:
    labels = data.Y_train[[row]].indices.tolist()
    shown = "".join(f"<br>· {escaped(data.label_name(label))}" for label in labels[:LABELS_IN_HOVER])
    rest = f"<br>and {len(labels) - LABELS_IN_HOVER} more" if len(labels) > LABELS_IN_HOVER else ""
    return f"<b>{escaped(data.train_name(row))}</b>, with the labels{shown}{rest}"
