"""Compare: against whom?"""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared import answers, compare_baselines, comparison, frame, show
from pages.shared.contribution import METRICS
from pages.shared.settings import SWITCH, settings_text
from xmlcore import DataError
from xmlcore.analysis import contribution_by_bin, frequency_bins
from xmlcore.figures import OTHER_LOOKS, RIDGE, RIDGE_PS, system_bars
from xmlcore.predictions import agreement

OTHERS = "_other_systems"
MOST_ROWS = 200  # of the table instance by instance

settings = frame.guard()
names = list(comparison.table_1()["dataset"].unique())
frame.refuse_others(compare_contribution_to=METRICS, only_different=SWITCH, paper_data=names)
answer = answers.answer_at(settings)
data = answer.dataset
ours = [
    comparison.row(RIDGE, answer.evaluation.ridge, data.n_labels),
    comparison.row(RIDGE_PS, answer.evaluation.ps, data.n_labels),
]
given = st.session_state.setdefault(OTHERS, {}).setdefault((settings.data, settings.features), {})
others = {**compare_baselines.trained(answer), **given}
results = {name: comparison.evaluate_other(other, answer) for name, other in others.items()}

# Names of files are longer than ours, and would be cut; a column wider than it need be would push numbers off a phone.
LETTER, MOST_LETTERS = 8, 32  # pixels of one, and how many of a name are shown
longest = max(map(len, [RIDGE_PS, *others]))
names_column = {"_index": st.column_config.Column(width=LETTER * min(longest, MOST_LETTERS))} if others else None

# The answer: this data set's rows, and those of the systems whose predictions were given.
st.header(f"{frame.plain_markdown(settings.data)}: side by side")
rows = [*ours, *(comparison.row(name, result, data.n_labels) for name, result in results.items())]
st.dataframe(
    comparison.best_in_bold(pd.DataFrame(rows).set_index("system")),
    alt="Metrics of each system in percent",
    column_config=names_column,
)
st.caption(
    f"Percent, on {answer.rows_text}, all by the same code; ours at {settings_text(settings)}; "
    f"{show.psp_measured_with(answer)}. Best of each column in bold.{comparison.what_is_missing(others, answer)}"
)

# Other systems' predictions, kept in this session only.
with st.form("other_system", clear_on_submit=True):
    file = st.file_uploader(
        "Predictions of another system for the same test instances",
        type=["npz", "npy", "txt", "csv", "tsv", "gz", "zip"],
        help="Sparse scores as .npz (PECOS, XR-Transformer, pyxclib), lines of label:score, or a table of instance, "
        "label, score. In the order of this data set's test instances, or with their names.",
    )
    pressed = st.form_submit_button("Add to the comparison")
    if pressed and file is None:
        st.info("Choose a file first; one that was refused has to be chosen again.", icon=":material/upload_file:")
    elif pressed:
        try:
            added = comparison.read_other(file.name, file.getvalue(), answer)
        except DataError as error:
            st.error(frame.plain_markdown(str(error)), icon=":material/error:")
        else:
            name = comparison.free_name(added.name, others)
            given[name] = replace(added, name=name)
            st.rerun()
if given:
    with st.container(horizontal=True, gap="small"):
        for name in given:
            label = f"Remove {frame.plain_markdown(name)}"
            st.button(label, key=f"remove_{name}", on_click=given.pop, args=(name, None), type="tertiary")

# In what they differ: by label frequency, in general, and instance by instance.
if others:
    st.header("Where they differ")
    metric = st.segmented_control(
        "Contribution to",
        list(METRICS),
        default="P@K",
        required=True,
        key="compare_contribution_to",
        bind="query-params",
    )
    metric_name = metric.replace("K", str(answer.K))
    bins = frequency_bins(data.label_counts, "tens")
    systems = {RIDGE: answer.evaluation.ridge, RIDGE_PS: answer.evaluation.ps, **results}
    heights = {
        name: 100 * contribution_by_bin(each, answer.evaluation, answer.K, METRICS[metric], answer.metric_theta, bins)
        for name, each in systems.items()
    }
    repeated = ""
    if len(others) > len(OTHER_LOOKS):
        repeated = (
            f" With more than {len(OTHER_LOOKS)} other systems colours and patterns come again: in each group the bars "
            "stand in the order of the table above, and a bar names its system where the pointer rests on it."
        )
    show.chart(
        system_bars(
            bins.names,
            heights,
            x_title="Training instances of the label",
            y_title=f"Contribution to {metric_name} (points)",
        ),
        name="compare_contributions",
        caption=f"Where each system's hits come from: the bars of a system sum to its {metric_name}.{repeated}",
        alt=f"Bars: what labels of each training frequency contribute to {metric_name}, for each system",
        data=partial(
            show.bars_table,
            {"training instances": bins.names},
            f"contribution to {metric_name} (points)",
            (answer, heights),
        ),
    )
    st.markdown(f"**How much two systems agree** (% of the {show.first_labels(answer.K)})")
    st.dataframe(
        comparison.agreement_table({name: each.top for name, each in systems.items()}, answer.K).style.format("{:.2f}"),
        alt="For any two systems, the share of the labels ranked first that both have",
        column_config=names_column,
    )
    st.caption(
        f"Look up one system's row and another's column: of the {show.first_labels(answer.K)}, the share that both "
        f"name, in any order, averaged over {answer.rows_text}; where both name fewer, of the longer list. 100: the "
        "same labels everywhere; 0: none in common. Two systems may agree and both be wrong."
    )
    name = st.selectbox("Instance by instance against", list(others), key="compare_with")
    other, shown_name = others[name], frame.plain_markdown(name)
    shared, shared_ps = (
        agreement(each.top, other.top, answer.K) for each in (answer.evaluation.ridge, answer.evaluation.ps)
    )
    st.markdown(
        f"Of the {show.first_labels(answer.K)}, {shown_name} and XML-ridge share **{show.percent(shared.mean)}**, "
        f"{shown_name} and XML-ridge with PS **{show.percent(shared_ps.mean)}**."
    )
    only = st.toggle(f"Only where it differs from {RIDGE_PS}", value=True, key="only_different", bind="query-params")
    apart = np.argsort(shared_ps.by_row, kind="stable")
    apart = apart[shared_ps.by_row[apart] < 1] if only else apart
    st.dataframe(
        comparison.side_by_side(other, answer, shared_ps.by_row, apart[:MOST_ROWS]),
        hide_index=True,
        alt="Labels of each system, by instance",
        column_config={column: st.column_config.Column(width="medium") for column in (name, "true", RIDGE, RIDGE_PS)},
    )
    if len(apart) > MOST_ROWS:
        where = f" on which {shown_name} differs from {RIDGE_PS}" if only else ""
        st.caption(
            f"The first {MOST_ROWS} of the {len(apart):,} test instances{where}, those with the least in "
            "common with PS."
        )

# What the paper reports, and our own rows beside it.
st.header("What the paper reports")
own = names.index(settings.data) if settings.data in names else 0
chosen = st.selectbox("Data set of the paper", names, index=own, key="paper_data", bind="query-params")
beside, of_paper = comparison.beside_the_paper(chosen, ours)
st.dataframe(comparison.best_in_bold(beside, of_paper), alt=f"Table 1 of the paper for {chosen}, and our own rows")
st.caption(
    "Table 1 of Onishi and Hayashi, in percent, as printed; the best of its rows in bold. "
    f"{comparison.what_differs(chosen, answer)}"
)

# Baselines, trained at a visitor's wish: their rows are then in the first table.
compare_baselines.section(answer)
