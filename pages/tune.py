"""Tune: what do λ, A and B do?"""

from functools import partial

import pandas as pd
import streamlit as st

from pages.shared import answers, behind, frame, paths, sample, search, show
from pages.shared.contribution import by_bin, contribution_bars, held_in_percent, in_percent, in_words
from pages.shared.settings import SWITCH
from xmlcore.analysis import frequency_bins
from xmlcore.figures import RIDGE, RIDGE_PS, curves, tradeoff
from xmlcore.metrics import SHORT_NAMES

settings = frame.guard()
frame.refuse_others(search=SWITCH)
answer = answers.answer_at(settings)
ghost = answers.held_answer(settings)
bins = frequency_bins(answer.dataset.label_counts, "tens")
of_data = f"{answer.model.shown_title}; {show.psp_measured_with(answer)}"  # for files whose rows have a λ of their own


# The answer: six numbers for each variant.
show.cards(answer, ghost)

# Where the hits come from: contributions by label frequency, to P@K and to PSP@K.
for column, metric in zip(st.columns(2), show.MAIN_METRICS, strict=True):
    parts, held = by_bin(answer, metric, bins), by_bin(ghost, metric, bins) if ghost else None
    name = f"{SHORT_NAMES[metric]}@{answer.K}"
    before, after = show.percent(parts.ridge.sum()), show.percent(parts.ps.sum())
    with column:
        show.chart(
            contribution_bars(parts, held, height=270),
            name=f"contributions_{metric}",
            caption=f"The bars sum to {name}: {before} and, with PS, {after}.",
            alt=f"Bars: what labels of each training frequency contribute to {name}, in points. "
            f"{in_words(bins.names, parts.ridge, parts.ps)}",
            data=partial(
                show.bars_table,
                {"training instances": bins.names},
                f"contribution to {name} (points)",
                (answer, in_percent(parts.ridge, parts.ps)),
                (ghost, held_in_percent(held)),
            ),
        )
show.notes(answer)


# Where the numbers are of a sample: how far off they may be, and then those of all test instances.
def of_all(polls: bool) -> None:
    widths = "; ".join(
        f"{name}@{answer.K} ± {ridge:.2f} and, with PS, ± {ps:.2f}"
        for name, (ridge, ps) in sample.intervals(answer).items()
    )
    st.caption(
        f"The numbers above are of this random sample, so that λ answers quickly. Its 95 % intervals, in points: "
        f"{widths}."
    )
    if not answer.model.ready:
        return
    work = sample.whole_test_set(answer)
    if work.done == polls:
        st.rerun()  # the whole page once more, which begins to poll, or ends it
    K = answer.K
    for point in work.results:
        values = [
            f"{SHORT_NAMES[metric]}@{K} {show.percent(point.ridge[metric][K])} and, with PS, "
            f"{show.percent(point.ps[metric][K])}"
            for metric in show.MAIN_METRICS
        ]
        st.markdown(f"On all {answer.model.full.n_test:,} test instances: {'; '.join(values)}.")
    show.failure("The evaluation of all test instances", work)
    if not work.done:
        behind.want(work)
        st.caption(f"All {answer.model.full.n_test:,} test instances are being evaluated behind the page.")


if answer.model.full.n_test > answer.dataset.n_test:
    polls_all = answer.model.ready and not sample.whole_test_set(answer).done
    frame.fragment(of_all, run_every=behind.POLL_SECONDS if polls_all else None)(polls_all)

# What other values of λ would give, filled in behind the page.
st.header("Along λ", help=paths.HELP)


def along_lambda(polls: bool) -> None:
    if not answer.model.ready:
        comes = "The curves begin when the matrix is factorised."
        st.caption(show.until_factorised(answer, comes, "there are no curves"))
        return
    work = paths.paths(answer)
    unfinished = [each for each in work if not each.done]
    if bool(unfinished) != polls:
        st.rerun()
    if unfinished:
        behind.want(unfinished[0])
        st.progress(paths.fraction(work), text=paths.progress_text(work))
    show.failure("The path", *work)
    begun = any(each.results for each in work)
    for column, metric in zip(st.columns(2), show.MAIN_METRICS, strict=True):
        if not begun:
            show.keep_room(column)
            continue
        name = f"{SHORT_NAMES[metric]}@{answer.K}"
        lines = paths.lines(answer, work, metric)
        best = paths.best_text(lines)
        with column:
            show.chart(
                curves(
                    lines,
                    x_title="λ",
                    y_title=f"{name} (%)",
                    current=paths.markers(answer, metric),
                    held=paths.markers(ghost, metric) if ghost else None,
                    x_range=answer.model.lambda_range,
                ),
                name=f"path_{metric}",
                caption=f"{best} Large markers: the present λ{show.open_ones(ghost)}.",
                alt=f"Curves: {name} of both variants against λ, on test instances and held out. {best}",
                data=lambda lines=lines, name=name: show.curve_table(lines, "lambda", name).assign(
                    A=settings.A, B=settings.B, of=of_data
                ),
            )
    st.caption(f"Solid: {answer.rows_text}. Dashed: {paths.held_out_text(answer)}.")


polls = answer.model.ready and not all(each.done for each in paths.paths(answer))
frame.fragment(along_lambda, run_every=behind.POLL_SECONDS if polls else None)(polls)

# What λ, A and B can reach: P@K against PSP@K over λ, A and B.
st.header("What λ, A and B can reach")


def reach(polls: bool) -> None:
    if not answer.model.ready:
        comes = "The search begins when the matrix is factorised."
        st.caption(show.until_factorised(answer, comes, "nothing can be searched"))
        return
    work = search.search(answer)
    if not work.done and not wanted:
        st.caption("Tries coarse values of λ, A and B on the test instances, one after the other.")
        return
    if work.done == polls:
        st.rerun()
    if not work.done:
        behind.want(work)
        st.progress(work.fraction, text=f"{len(work.results)} of {work.n_steps} settings")
    show.failure("The search", work)
    found = list(work.results)
    if found:
        points = search.plane(found, answer.K)
        name, ps_name = f"P@{answer.K}", f"PSP@{answer.K}"
        show.chart(
            tradeoff(
                points.precision,
                points.psprecision,
                points.names,
                points.frontier,
                x_title=f"{name} (%)",
                y_title=f"{ps_name} (%)",
                current=search.plane_markers(answer),
                held=search.plane_markers(ghost) if ghost else None,
            ),
            name="tradeoff",
            caption=f"Up and to the right is better. The large circle is {RIDGE}, the large diamond {RIDGE_PS}, at the "
            f"present setting{show.open_ones(ghost)}. Settings far worse may lie outside; double-click to see all. Of "
            f"{answer.rows_text}: a setting chosen by these numbers will look better here than on new data.",
            alt=f"Dots: settings of λ, A and B by {name} and {ps_name}, with the frontier of the best ones",
            data=lambda: pd.DataFrame(
                {
                    "lambda": [each.reg_lambda for each in found],  # to the last digit: as named, it is rounded
                    "A": [each.A for each in found],
                    "B": [each.B for each in found],
                    f"{name} (%)": points.precision,
                    f"{ps_name} (%)": points.psprecision,
                    "rows": answer.rows_text,
                    "of": of_data,
                }
            ),
        )


wanted = st.toggle("Search λ, A and B", value=False, key="search", bind="query-params")
polls_search = wanted and answer.model.ready and not search.search(answer).done
frame.fragment(reach, run_every=behind.POLL_SECONDS if polls_search else None)(polls_search)
