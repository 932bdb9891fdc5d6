"""Compress: how sparse can W be?"""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared import compression, frame, model, show
from xmlcore.figures import Curve, curves

METRICS = {"P@1": ("precision", 1), "P@5": ("precision", 5), "PSP@1": ("psprecision", 1), "PSP@5": ("psprecision", 5)}
POSITIONS = (0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0)

settings = frame.guard()
answer = model.answer(settings)
if not answer.model.ready:
    st.info("W is made from the factorisation, which is on its way (see the sidebar); this page comes by itself.")
    st.stop()
data = answer.model.full
n_entries = data.n_features * data.n_labels
if not compression.fits_whole(answer.model):
    st.info(
        f"W has {data.n_features:,} × {data.n_labels:,} entries here, {4 * n_entries / 1e9:.1f} GB whole: it is made "
        "in blocks of labels, which takes a minute or so for each new setting."
    )
    if not st.toggle("Compress it all the same", value=False, key="compress_large", bind="query-params"):
        st.stop()

texts = [f"{100 * share:g} %" for share in POSITIONS]
chosen = st.select_slider(
    "Kept share of W", texts, value="2 %", key="kept_share", bind="query-params", help="The largest weights are kept."
)
share = POSITIONS[texts.index(chosen)]
now = {variant: compression.points(answer, variant, (share,))[0] for variant in compression.VARIANTS}
ks = {name: (metric, min(k, data.n_labels)) for name, (metric, k) in METRICS.items()}


def relative(point, name: str) -> float:
    metric, k = ks[name]
    return 100 * point.relative[metric][k]


# The answer: what is left, in a sentence and a table like the paper's.
ridge, ps = now.values()
st.markdown(
    f"With **{100 * ps.kept_share:.2f} %** of its weights, XML-ridge with PS keeps **{relative(ps, 'P@1'):.2f} %** of "
    f"its P@1 and **{relative(ps, 'PSP@5'):.2f} %** of its PSP@5; XML-ridge keeps {relative(ridge, 'P@1'):.2f} % and "
    f"{relative(ridge, 'PSP@5'):.2f} %. In memory that is **{ps.megabytes:.2f} MB** instead of "
    f"{ps.megabytes_dense:.2f} MB."
)
rows = {
    "kept (%)": [100 * point.kept_share for point in now.values()],
    "τ": [point.threshold for point in now.values()],
    "sparse (MB)": [point.megabytes for point in now.values()],
    "dense (MB)": [point.megabytes_dense for point in now.values()],
    "ms for 1,000 instances": [1e6 * point.seconds / answer.evaluation.n_rows for point in now.values()],
    **{f"{name} (% of full)": [relative(point, name) for point in now.values()] for name in METRICS},
}
columns = {name: st.column_config.NumberColumn(format="%.4f" if name == "τ" else "%.2f") for name in rows}
st.dataframe(
    pd.DataFrame(rows, index=pd.Index(compression.VARIANTS, name="variant")),
    column_config=columns,
    alt="For both variants: what is kept, the threshold, the size, the time, and each metric relative to the full W",
)
st.caption(
    f"W is {data.n_features:,} × {data.n_labels:,}. XML-ridge keeps |W| ≥ τ, with PS θ·|W| ≥ τ: one τ would keep "
    f"different shares of the two. Metrics on {answer.rows_text}; the time is scoring and ranking, as measured here."
)

# The curve, and the weights themselves to take away.
everything = {variant: compression.points(answer, variant, compression.SHARES) for variant in compression.VARIANTS}
for column, name in zip(st.columns(2), ("P@1", "PSP@5"), strict=True):
    lines = [
        Curve(
            variant,
            np.array([100 * point.kept_share for point in found]),
            np.array([relative(point, name) for point in found]),
            answer.rows_text,
        )
        for variant, found in everything.items()
    ]
    table = pd.DataFrame({"kept (%)": lines[0].x, **{line.variant: line.y for line in lines}})
    with column:
        show.chart(
            curves(
                lines,
                x_title="Kept share of W (%)",
                y_title=f"{name} (% of the full W's)",
                current={v: (100 * point.kept_share, relative(point, name)) for v, point in now.items()},
                log_x=True,
            ),
            name=f"compress_{name.replace('@', '')}",
            caption=f"How much of {name} the kept share keeps. Large markers: the slider.",
            alt=f"Curves: {name} relative to the full W against the kept share, for both variants",
            data=partial(pd.DataFrame.copy, table),
        )
with st.container(horizontal=True):
    for variant in compression.VARIANTS:
        st.download_button(
            f"{variant}: sparse W (.npz)",
            data=partial(compression.download, answer, variant, share),
            file_name=f"weights-{'ps' if variant != compression.VARIANTS[0] else 'ridge'}.npz",
            key=f"sparse_{variant}",
            on_click="ignore",
            help="As scipy.sparse.load_npz reads it, with the names of features and labels and these settings.",
        )
