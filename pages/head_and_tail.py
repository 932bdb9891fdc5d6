"""Head and tail: who gains, who pays?"""

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared import answers, frame, mirror, show
from pages.shared import head_tail_labels as labels_of
from pages.shared.contribution import METRICS, by_bin, contribution_bars, held_in_percent, in_percent, in_words
from pages.shared.frame import plain_markdown
from pages.shared.head_tail_words import shares_caption, verdict
from pages.shared.settings import as_quoted, hold_in_link, own_lambda_text
from xmlcore.analysis import frequency_bins, head_torso_tail, label_table, recall_by_bin, rows_of_label
from xmlcore.figures import grouped_bars
from xmlcore.figures_axes import SMALL
from xmlcore.figures_frequencies import MOST_POINTS
from xmlcore.units import counted

BINS = {"powers of two": "twos", "powers of ten": "tens", "equal shares": "shares"}
# The same for every data set: bounds that follow the data would put a linked value back to the default.
CUTS = (1, 2, 3, 5, 7, *(step * 10**power for power in range(4) for step in (10, 15, 20, 30, 50, 70)), 100_000)
OUTCOMES = {"won": "only with PS", "lost": "only without PS", "kept": "by both", "missed": "by neither"}
LINKS = 8
# Of columns: eighths, which are widths of few decimals. Plotly rounds others and then draws the chart once more.
WIDE_AND_NARROW = (5, 3)
TABLE_HEIGHT = 320  # pixels: with the instances of a chosen row on one screen

settings = frame.guard()
answer = answers.answer_at(settings)
ghost = answers.held_answer(settings)
dataset, K = answer.dataset, answer.K
frame.refuse_others(contribution_to=METRICS, frequency_bins=BINS)
frame.refuse_range("cuts", CUTS)
table = label_table(answer.evaluation, K, dataset.Y_test, dataset.label_counts, answer.theta)


# The answer in words, then the contributions that sum to the metric, and recall beside them.
@frame.fragment
def gains_and_losses() -> None:
    answer_in_words = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        metric = st.segmented_control(
            "Contribution to", list(METRICS), default="P@K", required=True, key="contribution_to", bind="query-params"
        )
        kind = st.segmented_control(
            "Labels in bins by",
            list(BINS),
            default="powers of two",
            required=True,
            key="frequency_bins",
            bind="query-params",
            help="By the labels' training frequency. Equal shares: as many training assignments in each bin, about.",
        )
    name = metric.replace("K", str(K))
    bins = frequency_bins(dataset.label_counts, BINS[kind])
    parts = by_bin(answer, METRICS[metric], bins)
    held_parts = by_bin(ghost, METRICS[metric], bins) if ghost else None
    recall = recall_by_bin(answer.evaluation, K, dataset.Y_test, bins)
    held_recall = recall_by_bin(ghost.evaluation, K, dataset.Y_test, bins) if ghost else None
    answer_in_words.markdown(
        verdict(parts, table.difference, settings.A, name, answer.rows_text, own_lambda_text(settings))
    )
    left, right = st.columns(WIDE_AND_NARROW)
    with left:
        show.chart(
            contribution_bars(parts, held_parts, height=340),
            name="gains_by_frequency",
            caption=f"The bars sum to {name}: {show.percent(parts.ridge.sum())} and, with PS, "
            f"{show.percent(parts.ps.sum())}, of {answer.rows_text}.",
            alt=f"Bars: what labels of each training frequency contribute to {name}, in points. "
            f"{in_words(bins.names, parts.ridge, parts.ps)}",
            data=lambda: show.bars_table(
                {"training instances": bins.names, "labels": bins.n_labels},
                f"contribution to {name} (points)",
                (answer, in_percent(parts.ridge, parts.ps)),
                (ghost, held_in_percent(held_parts)),
            ),
        )
    with right:
        show.chart(
            grouped_bars(
                bins.names,
                in_percent(recall.ridge, recall.ps),
                x_title="Training instances of the label",
                y_title=f"Recall@{K} in the bin (%)",
                held=held_in_percent(held_recall),
                height=340,
            ),
            name="recall_by_frequency",
            caption="Of all pairs of a test instance and one of its labels in the bin, the share whose label is "
            f"{'' if K == 1 else 'among '}the {show.first_labels(K)}.",
            alt=f"Bars: recall at {K} of labels of each training frequency, in percent. "
            f"{in_words(bins.names, recall.ridge, recall.ps)}",
            data=lambda: show.bars_table(
                {"training instances": bins.names, "test assignments": recall.assignments},
                f"recall@{K} (%)",
                (answer, in_percent(recall.ridge, recall.ps)),
                (ghost, held_in_percent(held_recall)),
            ),
        )


# Head, torso and tail: where they begin, and the share of P@K that each has.
@frame.fragment
def head_torso_and_tail() -> None:
    st.header("Head, torso and tail")
    tail_below, head_from = st.select_slider(
        "Training instances at which torso and head begin",
        CUTS,
        value=(30, 300),
        key="cuts",
        bind="query-params",
        help="Labels on fewer training instances than the left handle are the tail, those on as many as the right one "
        "or more the head, and those between the torso.",
    )
    bins = head_torso_tail(dataset.label_counts, tail_below, head_from)
    parts = by_bin(answer, "precision", bins)
    held_parts = by_bin(ghost, "precision", bins) if ghost else None
    held_shares = in_percent(held_parts.ridge_shares, held_parts.ps_shares) if held_parts else None
    unseen = int((dataset.label_counts == 0).sum())
    left, right = st.columns(WIDE_AND_NARROW)
    with left:
        caption = "Each point is a label; its name is shown on hover."
        if dataset.n_labels - unseen > MOST_POINTS:
            caption += " Where points would overlap, only some of the labels are drawn."
        if unseen:
            caption += f" Labels never seen in training have no place on this axis: {unseen:,} of {dataset.n_labels:,}."
        show.chart(
            labels_of.profile(answer.model.full, tail_below, head_from),
            name="label_frequencies",
            caption=caption,
            alt="Points on logarithmic axes: training instances of each label by rank, with the cuts as lines",
            data=lambda: pd.DataFrame(
                {
                    "label": dataset.every_label_name(),
                    "training instances": dataset.label_counts,
                    "of": answer.model.shown_title,
                }
            ).sort_values("training instances", ascending=False, kind="stable"),
        )
    with right:
        show.chart(
            grouped_bars(
                [f"{kind}<br>{counted(n, 'label')}" for kind, n in zip(bins.names, bins.n_labels, strict=True)],
                in_percent(parts.ridge_shares, parts.ps_shares),
                x_title="Labels by training frequency",
                y_title=f"Share of P@{K} (%)",
                held=held_shares,
                height=360,
                numbered=True,
                number_size=SMALL,
            ),
            name="shares_of_head_and_tail",
            caption=shares_caption(parts, f"P@{K}"),
            alt=f"Bars: share of tail, torso and head in P@{K}, in percent. "
            f"{in_words(bins.names, parts.ridge_shares, parts.ps_shares)}",
            data=lambda: show.bars_table(
                {"part": bins.names, "labels": bins.n_labels},
                f"share of P@{K} (%)",
                (answer, in_percent(parts.ridge_shares, parts.ps_shares)),
                (ghost, held_shares),
            ),
        )


# Every label, found by name, in a list and a table that are chosen from; and the chosen one's test instances.
@frame.fragment
def labels() -> None:
    st.header("Labels that gain and labels that pay")
    label = labels_of.chosen_label(settings.data, dataset.n_labels)
    labels_of.write_address()
    names = dataset.every_label_name()
    search, sort, choice = st.columns([2, 2, 3])
    text = search.text_input("Search labels", placeholder="Part of a name", key=labels_of.FIND, persist_state="session")
    order = sort.selectbox("In the order", list(labels_of.ORDERS), key=labels_of.ORDER, persist_state="session")
    every = labels_of.ordered(table, names, labels_of.found(names, text), order)
    shown = every[: labels_of.MOST_ROWS]
    with choice:
        list_of_labels(label, shown, names)
    table_of_labels(label, shown, names)
    with st.container(horizontal=True, vertical_alignment="top", wrap=False):
        st.caption(found_text(len(every), len(shown), text.strip()), width="stretch")
        st.download_button(
            "CSV",
            data=lambda: (
                labels_of.labels_frame(table, names, every)
                .assign(setting=f"{show.told(answer)}; K = {K}")
                .to_csv(index=False)
                .encode()
            ),
            file_name="labels.csv",
            mime="text/csv",
            key="labels_csv",
            on_click="ignore",
            type="tertiary",
            help="All labels that were found, in this order",
        )
    if label is not None:
        instances_of(label, str(names[label]))


def list_of_labels(label: int | None, shown: np.ndarray, names: np.ndarray) -> None:
    """The labels as a list, with the chosen one, which stays in it where the table lacks it."""
    key = mirror.key_of(labels_of.LIST, label)
    listed = shown.tolist() if label is None or label in shown else [label, *shown.tolist()]
    st.selectbox(
        "Show the test instances of",
        listed,
        None if label is None else listed.index(label),
        format_func=lambda each: str(names[each]),
        key=key,
        on_change=mirror.on_move,
        args=(labels_of.LIST, key, labels_of.choose),
        placeholder="Choose a label here, or a row of the table",
    )


def table_of_labels(label: int | None, shown: np.ndarray, names: np.ndarray) -> None:
    """The labels as a table, with the chosen one's row selected."""
    selected = labels_of.selection(label, shown)
    key = mirror.key_of(labels_of.TABLE, selected)
    st.dataframe(
        labels_of.labels_frame(table, names, shown),
        key=key,
        on_select=lambda: mirror.on_move(labels_of.TABLE, key, lambda now: labels_of.choose_row(now, shown)),
        selection_default=selected,
        selection_mode="single-row",
        hide_index=True,
        height=TABLE_HEIGHT if len(shown) > TABLE_HEIGHT // 35 else "auto",
        placeholder="none in test",
        column_config={
            "label": st.column_config.TextColumn("Label", pinned=True, width="medium"),
            "training instances": st.column_config.NumberColumn("training"),
            "θ": st.column_config.NumberColumn(format="%.2f", help="By how much the model weights the label"),
            "test instances": st.column_config.NumberColumn("test"),
            "difference": st.column_config.NumberColumn(format="%+d"),
            "recall before (%)": st.column_config.NumberColumn("recall before", format="%.2f"),
            "recall after (%)": st.column_config.NumberColumn("recall after", format="%.2f"),
        },
        alt=f"Labels with training frequency, θ, hits and recall at {K} before and after weighting",
    )


def found_text(n_found: int, n_shown: int, text: str) -> str:
    """Which labels stand in the table, and what its columns are; text: what was searched for."""
    count = f"All {n_found:,}" if n_found == n_shown else f"The first {n_shown:,} of {n_found:,}"
    which = f"{'One label' if n_found == 1 else f'{count} labels'}{' found' if text else ''}"
    if not n_found:
        which = f"No label has “{plain_markdown(as_quoted(text))}” in its name"
    return (
        f"{which}. Training: how many training instances have the label. Test: how many of {answer.rows_text}. Hits: "
        f"how often it is rightly {'' if K == 1 else 'among '}the {show.first_labels(K)}, without PS (before) and with "
        "it (after). Recall: hits in percent of the number under test."
    )


def instances_of(label: int, name: str) -> None:
    """Links to the test instances of a label, by who found it."""
    on_train, on_test = int(table.train_count[label]), int(table.test_count[label])
    st.markdown(
        f"**{plain_markdown(name)}**, θ = {table.inverse_propensity[label]:.2f}, is on "
        f"{counted(on_train, 'training instance')} and on {f'{on_test:,}' if on_test else 'none'} of "
        f"{answer.rows_text}."
    )
    if not on_test:
        return
    st.caption(f"Found: it is {'' if K == 1 else 'among '}the {show.first_labels(K)}. Choose an instance to see why.")
    rows = rows_of_label(answer.evaluation, K, dataset.Y_test, label)
    groups = {outcome: getattr(rows, outcome) for outcome in OUTCOMES}
    pages = max(1, -(-max(len(group) for group in groups.values()) // LINKS))
    page = 1
    if pages > 1:
        st.session_state[labels_of.PAGE_KEY] = min(st.session_state.get(labels_of.PAGE_KEY, 1), pages)
        page = st.number_input(f"Page of the lists, 1 to {pages:,}", 1, pages, key=labels_of.PAGE_KEY, width=220)
    for column, (outcome, found_by) in zip(st.columns(len(OUTCOMES)), OUTCOMES.items(), strict=True):
        group = groups[outcome]
        with column:
            st.markdown(f"**{outcome.capitalize()}: {len(group):,}**  \nfound {found_by}")
            for row in group[(page - 1) * LINKS : page * LINKS].tolist():
                st.page_link(
                    "pages/instances.py",
                    label=plain_markdown(dataset.test_name(row)),
                    query_params={"instance": str(row), "label": str(label), **hold_in_link()},
                )


gains_and_losses()
head_torso_and_tail()
labels_of.take_from_address()
labels()
