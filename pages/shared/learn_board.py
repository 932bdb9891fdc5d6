"""Four numbers of both variants as a small table, and the contribution bars: for Learn's questions and the lecture."""

from __future__ import annotations

import streamlit as st

from pages.shared import answers, show
from pages.shared.contribution import by_bin, contribution_bars, held_in_percent, in_percent, in_words
from pages.shared.settings import own_lambda_text, settings_text
from pages.shared.show import FOUR_NUMBERS, MARKS
from xmlcore.analysis import frequency_bins
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.metrics import SHORT_NAMES

ROOM_FONT = 18


def four_numbers(answer: answers.Answer, ghost: answers.Answer | None) -> None:
    """P@1, P@5, PSP@1 and PSP@5 of both variants, in percent, with those of a held setting small beside them.

    Each is there once: with one label, P@5 is P@1.
    """
    numbers = numbers_of(answer)
    lines = [f"| % | {' | '.join(name_of(answer, number) for number in numbers)} |", "|---" * (len(numbers) + 1) + "|"]
    for name in (RIDGE, RIDGE_PS):
        cells = [f"**{text}**" for text in _values(answer, name)]
        if ghost:
            cells = [f"{cell} :small[{held}]" for cell, held in zip(cells, _values(ghost, name), strict=True)]
        lines.append(f"| {MARKS[name]} {name} | {' | '.join(cells)} |")
    st.markdown("\n".join(lines))


def held_text(ghost: answers.Answer) -> str:
    """What the small numbers are."""
    return f"Small: held, at {settings_text(ghost.settings)}."


def numbers_of(answer: answers.Answer) -> list[str]:
    """Those of FOUR_NUMBERS that are not the same when K is cut; P@5 and PSP@5 are always among them."""
    return list({name_of(answer, number): number for number in FOUR_NUMBERS}.values())


def name_of(answer: answers.Answer, number: str) -> str:
    """A number's name, where K is cut to the labels that there are: P@3 for P@5 where they are three."""
    metric, k = FOUR_NUMBERS[number]
    return f"{SHORT_NAMES[metric]}@{min(k, answer.dataset.n_labels)}"


def _values(answer: answers.Answer, name: str) -> list[str]:
    variant = answer.evaluation.ridge if name == RIDGE else answer.evaluation.ps
    # A data set with fewer than five labels has no metric at 5: K is cut to their number.
    cut = [(metric, min(k, answer.dataset.n_labels)) for metric, k in map(FOUR_NUMBERS.get, numbers_of(answer))]
    return [f"{100 * variant.metrics[metric][k]:.2f}" for metric, k in cut]


def contribution_chart(
    answer: answers.Answer, ghost: answers.Answer | None, number: str, *, height: int, for_a_room: bool = False
) -> None:
    """What labels of each training frequency contribute to one of the four numbers; a held setting as outlines.

    height: in pixels. for_a_room: as much higher as its container has left, in larger type, with its numbers above the
    bars.
    """
    metric, k = FOUR_NUMBERS[number][0], min(FOUR_NUMBERS[number][1], answer.dataset.n_labels)
    name = name_of(answer, number)
    bins = frequency_bins(answer.dataset.label_counts, "tens")
    parts = by_bin(answer, metric, bins, k)
    bars = in_percent(parts.ridge, parts.ps)
    held = by_bin(ghost, metric, bins, k) if ghost else None
    figure = contribution_bars(parts, held, height, numbered=for_a_room)
    if for_a_room:  # the names too, which then may need room below
        figure.update_layout(font_size=ROOM_FONT, margin_l=96)
        figure.update_xaxes(tickfont_size=ROOM_FONT, title_font_size=ROOM_FONT, tickangle=None, automargin=True)
        figure.update_yaxes(title_font_size=ROOM_FONT, title_text=f"Contribution to<br>{name} (points)")
    of_k = " K is fixed here." if k != answer.K else ""
    sums = f": {bars[RIDGE].sum():.2f} % and, with PS, {bars[RIDGE_PS].sum():.2f} %"
    own_lambda = own_lambda_text(answer.settings)
    of_ps = f" {RIDGE_PS} is{own_lambda}." if for_a_room and own_lambda else ""  # on no slider there
    of_psp = f" {show.psp_measured_with(answer)}." if for_a_room else ""
    show.chart(
        figure,
        name=f"contributions_{name.replace('@', '_at_')}",
        caption=f"Rare labels left, frequent ones right. The bars of a colour sum to its {name}"
        f"{'' if for_a_room else sums}, on {answer.rows_text}.{of_k}{of_ps}{of_psp}",
        alt=f"Contribution to {name} by training frequency, in points: {in_words(bins.names, parts.ridge, parts.ps)}",
        data=lambda: show.bars_table(
            {"training instances": bins.names},
            f"contribution to {name} (points)",
            (answer, bars),
            (ghost, held_in_percent(held)),
        ),
        height="stretch" if for_a_room else "content",
        one_line=for_a_room,
    )
