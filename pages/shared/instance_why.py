"""How the Instances page explains the score of a chosen label: a sum over words and a sum over training instances."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared import frame, mirror, show
from pages.shared import instance_find as find
from pages.shared.answers import Answer
from pages.shared.frame import plain_markdown
from pages.shared.instance_subject import Subject, explain, kind_of_features
from pages.shared.instance_view import digits_in_list
from pages.shared.settings import lambda_text
from xmlcore import Dataset, Explanation
from xmlcore.figures import RIDGE, RIDGE_PS, escaped
from xmlcore.figures_explain import digits_of, explanation_bars, number_text, others_text

LABELS_IN_HOVER = 12


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
    return show.until_factorised(
        answer,
        "The explanations appear here by themselves as soon as the matrix is factorised; the sidebar tells how far it "
        "is. The lists above are exact already.",
        "no score can be taken apart",
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
        f"<b>{name}</b> scores {score} with PS, at its own λ = {lambda_text(answer.settings.reg_lambda_ps)}: the "
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
                data=lambda part=part, names=names, kind=kind: _frame(part, names, kind).assign(
                    of=f"{label_name} for {subject.name} by {variant}", setting=show.told(answer)
                ),
            )


def _voters(count: int) -> str:
    return "the one with this label" if count == 1 else f"each of the {count:,} with this label"


def _alt(kind: str, label_name: str, names: list[str], part: Explanation, digits: str) -> str:
    terms = zip(names[:3], part.contribution, strict=False)
    largest = ", ".join(f"{name} {number_text(term, digits, '+')}" for name, term in terms)
    others = f"; {others_text(part.n_others)} {number_text(part.others, digits, '+')}" if part.n_others else ""
    return (
        f"Bars: which {kind} make the score {number_text(part.score, digits)} of {label_name}. Largest: "
        f"{largest or 'none'}{others}."
    )


def _frame(part: Explanation, names: list[str], kind: str) -> pd.DataFrame:
    """The bars as rows, those that are drawn: where there are no other terms, there is no bar of them."""
    others = [(others_text(part.n_others), part.others)] if part.n_others else []
    rows = [*zip(names, part.contribution.tolist(), strict=True), *others, ("score", part.score)]
    return pd.DataFrame(rows, columns=[kind, "contribution"])


def _voter(data: Dataset, row: int) -> str:
    labels = data.Y_train[[row]].indices.tolist()
    shown = "".join(f"<br>· {escaped(data.label_name(label))}" for label in labels[:LABELS_IN_HOVER])
    rest = f"<br>and {len(labels) - LABELS_IN_HOVER} more" if len(labels) > LABELS_IN_HOVER else ""
    return f"<b>{escaped(data.train_name(row))}</b>, with the labels{shown}{rest}"


def _digits_explained(
    subject: Subject, label: int, variant: str, parts: tuple[Explanation, Explanation]
) -> dict[str, str]:
    """How each variant's scores of the explained label are written: as in the lists, where it is in one of them."""
    if any(entry.label == label for each in subject.lists.values() for entry in each):
        return {each: digits_in_list(subject, each) for each in subject.lists}
    terms = [np.append(part.contribution, [part.others, part.score]) for part in parts]
    return dict.fromkeys(subject.lists, digits_of(np.concatenate(terms)))
