"""Lecture: one chart, λ, A and the four numbers together, in type that the last row can read."""

import streamlit as st

from pages.shared import answers, frame
from pages.shared.controls import body_controls, times
from pages.shared.learn_board import contribution_chart, four_numbers, held_text, name_of, numbers_of
from pages.shared.show import FOUR_NUMBERS

# The frame's λ and A for narrow screens are this page's controls at every width, side by side and larger.
STYLE = """<style>
.stApp .stMainBlockContainer > [data-testid="stVerticalBlock"] { gap: 0.5rem; }
.stApp .stMainBlockContainer { min-height: 100vh; display: flex; flex-direction: column; padding-bottom: 1rem; }
.stApp .stMainBlockContainer > [data-testid="stVerticalBlock"] { flex: 1; }
.stPlotlyChart { min-height: 240px; }
.stApp .st-key-lecture_controls > :has(> .st-key-body_controls) { display: flex; }
.stApp .st-key-body_controls { flex-direction: row; gap: 2rem; }
/* Symbol, then slider: above it, at its left end, λ would have digits over its symbol. */
.st-key-body_controls .stSlider { display: flex; align-items: end; gap: 1rem; padding-top: 1.5rem; }
.st-key-body_controls .stSlider > label { flex: none; width: auto; }
.st-key-body_controls [data-testid="stTooltipIcon"] { display: none; }  /* the sidebar has it */
.st-key-body_controls :is(label p, [data-testid="stSliderThumbValue"]) { font-size: 1.75rem; line-height: 1; }
.st-key-lecture_controls button { min-height: 3.25rem; min-width: 5.5rem; }
.st-key-lecture_controls button p { font-size: clamp(1.3rem, 2.4vw, 1.8rem); }
.st-key-lecture_numbers table { width: 100%; font-variant-numeric: tabular-nums; }
.st-key-lecture_numbers :is(th, td) { border: 0; padding: 0 0.3rem; text-align: right; line-height: 1.2; }
.st-key-lecture_numbers th { font-size: clamp(0.9rem, 2vw, 1.5rem); }
.st-key-lecture_numbers td { font-size: clamp(1.15rem, 3.6vw, 2.75rem); }
.st-key-lecture_numbers td span:not(.stMarkdownColoredText) { font-size: clamp(0.8rem, 1.9vw, 1.5rem) !important; }
.st-key-lecture_numbers td:first-child { font-size: clamp(0.8rem, 1.9vw, 1.4rem); }
.st-key-lecture_numbers :is(th, td):first-child { text-align: left; }
.st-key-lecture_which p, .stMain [data-testid="stCaptionContainer"] p { font-size: clamp(1rem, 1.5vw, 1.25rem); }
.stApp:has([data-testid="stExpandSidebarButton"]) .st-key-lecture_hint { display: none; }
@media (min-width: 641px) {
  [class*="st-key-chart_"] > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"] { flex-wrap: nowrap; }
}
@media (max-width: 640px) {
  .stApp .st-key-body_controls { flex-direction: column; gap: 0.5rem; }
  .stApp .st-key-lecture_controls > :has(> .st-key-body_controls) { min-width: 100%; }
  .st-key-lecture_hint { display: none; }
  .stPlotlyChart { min-height: 360px; }
  .js-plotly-plot text { font-size: 11px !important; }
  .js-plotly-plot .bartext { display: none; }  /* wider than the bars */
}
</style>"""

settings = frame.guard()
st.html(STYLE)

# The two buttons that step λ, and λ and A.
with st.container(key="lecture_controls", horizontal=True, vertical_alignment="center"):
    st.button("λ ÷ 2", key="lecture_halve", on_click=times, args=("reg_lambda", 0.5), type="primary")
    st.button("λ × 2", key="lecture_double", on_click=times, args=("reg_lambda", 2.0), type="primary")
    body_controls(settings)

# The four numbers of both variants, and the labels that one of them comes from.
answer, ghost = answers.answer_at(settings), answers.held_answer(settings)
numbers = numbers_of(answer)
# With fewer labels, the address has the names with K cut; it may still have one from before.
frame.refuse_others(lecture_chart=dict.fromkeys([*FOUR_NUMBERS, *(name_of(answer, number) for number in numbers)]))
with st.container(key="lecture_numbers"):
    four_numbers(answer, ghost)
with st.container(key="lecture_which", horizontal=True, vertical_alignment="center"):
    st.markdown("By label frequency", width="content")
    chosen = st.segmented_control(
        "Number to show by label frequency",
        numbers,
        default="PSP@5",
        format_func=lambda number: name_of(answer, number),
        required=True,
        key="lecture_chart",
        bind="query-params",
        label_visibility="collapsed",
    )
    if ghost:
        st.caption(held_text(ghost), width="content")
    else:
        with st.container(key="lecture_hint", width="content"):
            st.caption("More room: the sidebar folds away by « at its top.")
contribution_chart(answer, ghost, chosen, height=240, for_a_room=True)
