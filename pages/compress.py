"""Compress: how sparse can W be?"""

import numpy as np
import streamlit as st

from pages.shared import answers, behind, frame, show
from pages.shared import compression as work
from pages.shared.compress_words import cost_table, kept_table, other_share, slower, verdict
from xmlcore.figures import Curve, curves
from xmlcore.metrics import SHORT_NAMES
from xmlcore.sparsify import SparsePoint
from xmlcore.units import in_units

LARGEST_DOWNLOAD = 300  # MB in memory, before it is packed
WANTED = "_compress_wanted"
STYLE = """<style>
.st-key-compress_tables table { font-variant-numeric: tabular-nums; }
.st-key-compress_tables :is(th, td):not(:first-child) { text-align: right !important; }
</style>"""

settings = frame.guard()
st.html(STYLE)
answer = answers.answer_at(settings)
ghost = answers.held_answer(settings)
quick = work.is_quick(answer.model)
SHARE_TEXTS = [f"{share:g} %" for share in work.SHARES]
frame.refuse_others(kept_share=SHARE_TEXTS)


def points_now(of: answers.Answer, share: float) -> dict[str, SparsePoint]:
    """Both variants at the slider's share: computed now where W is small, else from the curve."""
    if quick:
        with behind.visitor_first():
            return {variant: work.point(of, variant, share) for variant in work.VARIANTS}
    return {variant: work.points_of(work.curves(of), variant)[share] for variant in work.VARIANTS}


def downloads(share: float, points: dict[str, SparsePoint]) -> None:
    """A file of each variant's sparse W."""
    with st.container(horizontal=True):
        for variant in work.VARIANTS:
            too_large = points[variant].megabytes > LARGEST_DOWNLOAD
            st.download_button(
                f"Sparse W of {variant} (.npz)",
                data=lambda variant=variant: work.exported(answer, variant, share),
                file_name=f"W-{variant.replace(' ', '-')}-{share:g}-percent.npz",
                key=f"sparse_{variant}",
                on_click="ignore",
                disabled=too_large,
                help="Too large to be packed here: keep a smaller share."
                if too_large
                else "scipy.sparse.load_npz reads it; names of features and labels, λ, A, B and τ are in it too. With "
                "PS, θ is multiplied in, so that X W ranks as it is.",
            )


def of_the_share(share: float) -> None:
    """The answer: what is kept of each metric, and what the sparse W costs."""
    points = points_now(answer, share)
    st.markdown(verdict(points, answer.K, answer.dataset.n_labels, answer.rows_text))
    left, right = st.container(key="compress_tables").columns([3, 2])
    with left:
        st.table(kept_table(points, answer.K, answer.evaluation.ks), border="horizontal")
        st.caption(
            f"With the sparse W, in percent of the value with the whole W; in brackets the value with the sparse W. On "
            f"{answer.rows_text} of {frame.plain_markdown(answer.model.shown_title)}. Above 100 %: dropping the small "
            "weights raised the metric. P and PSP: see the help of K in the sidebar. nDCG and PSnDCG: the same two, "
            "with less weight for a label further down the ranking. Recall: of an instance's labels, the share found. "
            "Coverage: of all labels in test, the share ever rightly found."
        )
    with right:
        dense = {variant: work.dense_seconds(answer, variant) for variant in work.VARIANTS}
        st.table(cost_table(points, dense, answer.evaluation.n_rows), border="horizontal")
        st.caption(
            f"kB, MB and GB: 10³, 10⁶ and 10⁹ bytes, sparse as CSR. Times: measured here on all cores, scores and "
            f"the {show.first_labels(answer.K)} together. {slower(points, dense, answer.evaluation.n_rows)} "
            f"{other_share(answer, points)}"
        )
    downloads(share, points)


def of_all_shares(share: float) -> None:
    """The curves, as far as they are there."""
    filled, columns = work.curves(answer), st.columns(2)
    if not filled.results:
        for column in columns:
            show.keep_room(column)
        return
    now = points_now(answer, share)
    then = points_now(ghost, share) if ghost and quick else None
    for column, metric in zip(columns, show.MAIN_METRICS, strict=True):
        name = f"{SHORT_NAMES[metric]}@{answer.K}"

        def relative(point: SparsePoint, metric: str = metric) -> float:
            return 100 * point.relative[metric][answer.K]

        def marks(points: dict[str, SparsePoint]) -> dict[str, tuple[float, float]]:
            return {variant: (share, relative(point)) for variant, point in points.items()}

        lines = [
            Curve(variant, np.array(list(points)), np.array(list(map(relative, points.values()))), answer.rows_text)
            for variant in work.VARIANTS
            for points in [work.points_of(filled, variant)]
        ]
        with column:
            show.chart(
                curves(
                    lines,
                    x_title="Kept share of W (%)",
                    y_title=f"{name} (% of the full W's)",
                    current=marks(now),
                    held=marks(then) if then else None,
                    x_range=(work.SHARES[0], work.SHARES[-1]),
                ),
                name=f"sparse_{metric}",
                caption=f"100 % is {name} with the whole W. Large markers: the share chosen above"
                f"{show.open_ones(then)}.",
                alt=f"Curves: the percentage of {name} that is kept against the share of W that is kept",
                data=lambda lines=lines, name=name: show.curve_table(
                    lines, "kept share of W (%)", f"{name} of the full W's"
                ).assign(setting=show.told(answer)),
            )


def ask_for_large_w() -> bool:
    """Says what compressing a large W costs and starts it by a button; whether it has been asked for."""
    key = (settings.data, settings.features)
    n_features, n_labels = answer.model.full.n_features, answer.model.full.n_labels
    if st.session_state.get(WANTED) == key:
        return True
    st.markdown(
        f"W has {n_features:,} × {n_labels:,} entries, {in_units(4 * n_features * n_labels)}. It is made and cut "
        "in blocks of labels, never whole; that takes a while, behind the page."
    )
    st.button("Compress W", type="primary", on_click=lambda: st.session_state.update({WANTED: key}))
    return False


def page(polls: bool) -> None:
    """All of the page: the slider does not run the rest again."""
    chosen = st.select_slider(
        "Kept share of W",
        SHARE_TEXTS,
        value="2 %",
        key="kept_share",
        bind="query-params",
        help="The entries of W with the largest |W|, with PS the largest θ·|W|, are kept; all others become 0. One "
        "threshold τ keeps different shares of the two variants, so the share is chosen and τ follows.",
    )
    share = work.SHARES[SHARE_TEXTS.index(chosen)]
    if not answer.model.ready:
        comes = "The weights come when the matrix is factorised."
        st.info(show.until_factorised(answer, comes, "there are no weights to cut"), icon=":material/hourglass:")
        return
    if not quick and not ask_for_large_w():
        return
    filled = work.curves(answer)
    if filled.done == polls:
        st.rerun()  # the whole page once more, which begins to poll, or ends it
    if filled.error is not None:
        show.failure("The compression", filled)
        return
    if quick or filled.done:
        of_the_share(share)
    st.header("Along the kept share")
    if not filled.done:
        behind.want(filled)
        st.progress(filled.fraction, text="W is being cut at all shares")
    if quick or filled.done:
        of_all_shares(share)


waits = answer.model.ready and not work.curves(answer).done
waits = waits and (quick or st.session_state.get(WANTED) == (settings.data, settings.features))
frame.fragment(page, run_every=behind.POLL_SECONDS if waits else None)(waits)
