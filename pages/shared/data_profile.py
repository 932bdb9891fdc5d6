"""The Data page's profile: the answer in a sentence and six numbers, the frequency profile, pairs, and instances."""

from __future__ import annotations

import threading
from functools import partial
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from cachetools import LRUCache, cached

from pages.shared import frame, show, sources
from pages.shared.model import Model
from pages.shared.sizes import held_bytes
from xmlcore import Dataset
from xmlcore.figures_axes import shortened
from xmlcore.figures_data import labels_per_instance, pair_bars
from xmlcore.figures_frequencies import MOST_POINTS, label_frequencies
from xmlcore.profile import LabelPairs, Profile, Sample, pair_operations, profile, random_instances, strongest_pairs
from xmlcore.units import counted

PAIRS_SHOWN = 15
INSTANCES_SHOWN = 10
SAMPLE_KEY = "instances_seed"
# About two seconds of products; more is computed when it is asked for.
PAIRS_AT_ONCE = 100_000_000
PAIR_ORDERS = {"by instances with both": "together", "by overlap": "jaccard"}
LABELS_SHOWN = 20
TEXT_SHOWN = 300  # characters
STYLE = """<style>
.stApp ul.instances { list-style: none; padding: 0; margin: 0; }
.stApp .instances li { margin: 0 0 .7rem; overflow-wrap: anywhere; }
</style>"""
PROFILE_BYTES = 16 << 20


@cached(
    LRUCache(PROFILE_BYTES, getsizeof=held_bytes), key=lambda data: data.fingerprint, condition=threading.Condition()
)
def profile_of(data: Dataset) -> Profile:
    """The profile of a data set, computed once for all visitors."""
    return profile(data)


@cached(LRUCache(16), key=lambda data, order: (data.fingerprint, order), condition=threading.Condition())
def pairs_of(data: Dataset, order: str) -> LabelPairs:
    """The strongest pairs of labels among the training instances, computed once for all visitors."""
    return strongest_pairs(data.Y_train, PAIRS_SHOWN, order=order)


@cached(LRUCache(16), key=lambda data: data.fingerprint, condition=threading.Condition())
def _figures(data: Dataset) -> tuple[go.Figure, go.Figure]:
    found = profile_of(data)
    return (
        label_frequencies(found.label_counts, data.every_label_name(), height=340),
        labels_per_instance(found.train.instances_by_labels, found.test.instances_by_labels),
    )


def sentence(name: str, found: Profile) -> str:
    """What the data set is, and what makes it hard, in two sentences."""
    seen = found.n_labels - found.never_in_train
    text = (
        f"**{frame.plain_markdown(name)}** has {found.train.n_instances:,} training and "
        f"{counted(found.test.n_instances, 'test instance')} with {counted(found.n_features, 'feature')} and "
        f"{counted(found.n_labels, 'label')}, "
        f"{found.train.labels.mean:.2f} on a training instance."
    )
    if not seen:
        return f"{text} No training instance has a label: nothing can be learned from it."
    if found.n_labels == 1:
        return text
    make = "makes" if found.half_of_assignments == 1 else "make"
    return (
        f"{text} {counted(found.half_of_assignments, 'label')} {make} at least half of all training assignments "
        "(instance–label pairs); "
        f"{counted(found.on_one_instance, 'label')} ({100 * found.on_one_instance / found.n_labels:.1f} %) "
        f"{'is' if found.on_one_instance == 1 else 'are'} on one training instance only."
    )


def answer(model: Model) -> None:
    """The sentence, and the numbers that every paper gives."""
    data = model.full
    found = profile_of(data)
    st.markdown(sentence(model.shown_title, found))
    unseen = 100 * found.only_in_test_assignments / max(found.test.n_assignments, 1)
    cards = (
        ("Cardinality", f"{found.train.labels.mean:.2f}", "Labels per training instance, on average."),
        ("Density", f"{100 * found.train.density:.3g} %", "Cardinality divided by the number of labels."),
        (
            "Features per instance",
            f"{found.train.features.mean:.1f}",
            f"Features that are not zero, on average over training instances; the median is "
            f"{found.train.features.median:g}, the most {found.train.features.most:,}.",
        ),
        (
            "Labels seen once",
            f"{found.on_one_instance:,}",
            "Labels on exactly one training instance: the end of the tail.",
        ),
        (
            "Labels only in test",
            f"{found.only_in_test:,}",
            f"Labels on test instances that no training instance has: they cannot be learned. They are {unseen:.2f} % "
            "of all test assignments.",
        ),
        (
            "Most on one instance",
            f"{found.train.labels.most:,}",
            f"The most labels on one training instance; the median is {found.train.labels.median:g}, and "
            f"{found.train.without_labels:,} have none.",
        ),
    )
    with st.container(key="data_cards", horizontal=True, horizontal_alignment="distribute"):
        for title, value, help in cards:
            st.metric(title, value, help=help, width="content")
    remarks = [*map(frame.plain_markdown, data.notes), *_remarks(found)]
    if remarks:
        st.caption("  \n".join(remarks))
    if data.source:
        given = sources.entry_of(model.title) is None
        st.caption(f"Source: {frame.plain_markdown(data.source) if given else data.source}")
    st.markdown("[Upload, download or make another data set](#another-data-set) · [Features and cost](#features)")


def _remarks(found: Profile) -> list[str]:
    remarks = []
    if found.train.without_features or found.test.without_features:
        remarks.append(
            f"Without features: {counted(found.train.without_features, 'training instance')} and "
            f"{counted(found.test.without_features, 'test instance')}. Nothing is predicted there but the first "
            "labels in the order of the data set."
        )
    if found.test.without_labels:
        without = counted(found.test.without_labels, "test instance")
        remarks.append(f"No prediction is right for {without} without labels.")
    return remarks


def charts(model: Model) -> None:
    """How often labels occur, and how many an instance has."""
    data = model.full
    found = profile_of(data)
    frequencies, per_instance = _figures(data)
    left, right = st.columns(2)
    with left:
        caption = (
            "Each point is a label, the most frequent first. A straight line would be a power law; a bend downwards at "
            "the right means that the rarest labels are fewer than that."
        )
        if data.n_labels - found.never_in_train > MOST_POINTS:
            caption += " Where points would overlap, only some are drawn."
        if found.never_in_train:
            caption += f" {counted(found.never_in_train, 'label')} without a training instance cannot be drawn."
        show.chart(
            frequencies,
            name="frequency_profile",
            caption=caption,
            alt="Points on logarithmic axes: training instances of each label against its rank",
            data=partial(_frequency_table, model),
        )
    with right:
        show.chart(
            per_instance,
            name="labels_per_instance",
            caption=f"Training instances have {found.train.labels.mean:.2f} labels on average, test instances "
            f"{found.test.labels.mean:.2f}.",
            alt="Lines: share of training and test instances that have each number of labels",
            data=partial(_labels_table, model),
        )


def _frequency_table(model: Model) -> pd.DataFrame:
    found = profile_of(model.full)
    table = pd.DataFrame(
        {
            "label": model.full.every_label_name(),
            "training instances": found.label_counts,
            "test instances": found.test_counts,
            "of": model.shown_title,
        }
    )
    return table.sort_values("training instances", ascending=False, kind="stable")


def _labels_table(model: Model) -> pd.DataFrame:
    found = profile_of(model.full)
    train, test = found.train.instances_by_labels, found.test.instances_by_labels
    width = max(len(train), len(test))
    return pd.DataFrame(
        {
            "labels": np.arange(width),
            "training instances": np.pad(train, (0, width - len(train))),
            "test instances": np.pad(test, (0, width - len(test))),
            "of": model.shown_title,
        }
    )


def pairs(model: Model) -> None:
    """The labels that go together."""
    frame.refuse_others(pair_order=PAIR_ORDERS)
    frame.fragment(_pairs)(model)


def _pairs(model: Model) -> None:
    data = model.full
    st.header("Labels that go together")
    chosen = st.segmented_control(
        "Strongest pairs",
        list(PAIR_ORDERS),
        default="by instances with both",
        required=True,
        key="pair_order",
        bind="query-params",
        help="By instances with both: frequent labels lead. By overlap: instances with both, divided by instances with "
        "either; labels that mean nearly the same lead. Pairs on fewer than five training instances are left out.",
    )
    work = pair_operations(data.Y_train)
    asked_key = f"pairs of {data.fingerprint}"
    if work > PAIRS_AT_ONCE and not st.session_state.get(asked_key):
        st.caption(f"Counting them takes {work:.2g} operations here, some seconds for each hundred million.")
        st.button("Count the pairs", on_click=lambda: st.session_state.update({asked_key: True}))
        return
    found = pairs_of(data, PAIR_ORDERS[chosen])
    if not found.first.size:
        st.caption("No two labels are together on five or more training instances.")
        return
    labels = [
        (data.label_name(a), data.label_name(b))
        for a, b in zip(found.first.tolist(), found.second.tolist(), strict=True)
    ]
    names = [" + ".join(pair) for pair in labels]
    by_overlap = PAIR_ORDERS[chosen] == "jaccard"
    show.chart(
        pair_bars(
            labels,
            100 * found.jaccard if by_overlap else found.together,
            [
                f"together on {both:,} training instances, {100 * share:.1f} % of those with either"
                for both, share in zip(found.together.tolist(), found.jaccard.tolist(), strict=True)
            ],
            x_title="Overlap (%)" if by_overlap else "Instances with both",
        ),
        name="label_pairs",
        caption=f"The {'strongest pair' if len(names) == 1 else f'{len(names)} strongest pairs'} of labels on the "
        f"{data.n_train:,} training instances.",
        alt=f"Bars: the strongest pairs of labels, {chosen}; the first is {names[0]}",
        data=lambda: pd.DataFrame(
            {
                "label": [first for first, _ in labels],
                "and label": [second for _, second in labels],
                "training instances with both": found.together,
                "overlap (%)": 100 * found.jaccard,
                "of": model.shown_title,
            }
        ),
    )


@frame.fragment
def instances(model: Model) -> None:
    """Ten instances, drawn at random, and ten others at a press of a button."""
    data = model.full
    seed = st.session_state.get(SAMPLE_KEY, 0)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Ten instances at random" if data.n_train >= INSTANCES_SHOWN else "Instances")
        if data.n_train > INSTANCES_SHOWN:
            st.button("Ten others", on_click=lambda: st.session_state.update({SAMPLE_KEY: seed + 1}))
    found = random_instances(data, INSTANCES_SHOWN, seed)
    st.html(f"{STYLE}<ul class='instances'>{''.join(map(_described, found))}</ul>")
    st.caption(f"Of the {data.n_train:,} training instances; labels with the most frequent first.")


def _described(each: Sample) -> str:
    """An instance as an entry of a list, in HTML."""
    lines = [f"<b>{escape(each.name)}</b> · {counted(each.n_features, 'feature')}", f"Labels: {_listed(each.labels)}"]
    if each.features:
        lines.append(f"Largest features: {_listed(each.features)}")
    if each.text:
        lines.append(escape(shortened(each.text, TEXT_SHOWN)))
    return f"<li>{'<br>'.join(lines)}</li>"


def _listed(names: tuple[str, ...]) -> str:
    shown = escape(", ".join(names[:LABELS_SHOWN])) or "none"
    return f"{shown} and {len(names) - LABELS_SHOWN:,} more" if len(names) > LABELS_SHOWN else shown
