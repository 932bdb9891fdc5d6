"""Lecture: one chart, λ, A and the four numbers together, in type that the last row can read."""

import streamlit as st

from pages.shared import frame, model
from pages.shared.controls import times
from pages.shared.learn_board import contribution_chart, four_numbers, held_text, name_of, numbers_of
from pages.shared.settings import settings_text
from pages.shared.show import FOUR_NUMBERS

# The frame's λ and A for narrow screens are this page's controls at every width, side by side and larger.
STYLE = """<style>
.stApp .stMainBlockContainer { padding-top: 3.25rem; padding-bottom: 0; }
.stApp .stMainBlockContainer > [data-testid="stVerticalBlock"] { gap: 0.5rem; }
.stApp .stMainBlockContainer { min-height: 100vh; display: flex; flex-direction: column; }
.stApp .stMainBlockContainer > [data-testid="stVerticalBlock"] { flex: 1; }
.stPlotlyChart { min-height: 240px; }
.stApp .stMain :has(> .st-key-body_controls) { display: flex; }
.stApp .st-key-body_controls { display: flex; flex-direction: row; gap: 2rem; }
.st-key-body_controls [data-testid="stSliderThumbValue"], .st-key-body_controls label p { font-size: 1.25rem; }
.st-key-lecture_values p { font-size: clamp(1.4rem, 3.2vw, 2.4rem); line-height: 1.15; }
.st-key-lecture_values button p { font-size: clamp(1.3rem, 2.4vw, 1.8rem); }
.st-key-lecture_values button { min-height: 3.25rem; min-width: 5.5rem; }
.st-key-lecture_numbers table { width: 100%; font-variant-numeric: tabular-nums; }
.st-key-lecture_numbers :is(th, td) { border: 0; padding: 0 0.3rem; text-align: right; line-height: 1.2; }
.st-key-lecture_numbers th { font-size: clamp(0.9rem, 2vw, 1.5rem); }
.st-key-lecture_numbers td { font-size: clamp(1.15rem, 3.6vw, 2.75rem); }
.st-key-lecture_numbers td span:not(.stMarkdownColoredText) { font-size: clamp(0.8rem, 1.9vw, 1.5rem) !important; }
.st-key-lecture_numbers td:first-child { font-size: clamp(0.8rem, 1.9vw, 1.4rem); text-align: left; }
@media (max-width: 640px) {
  .stApp .st-key-body_controls { flex-direction: column; gap: 0.5rem; }
  .stPlotlyChart { min-height: 360px; }
  .js-plotly-plot text { font-size: 11px !important; }
}
</style>"""

settings = frame.guard()
st.html(STYLE)
answer, ghost = model.answer(settings), model.held_answer(settings)
numbers = numbers_of(answer)
# With fewer labels, the address has the names with K cut; it may still have one from before.
frame.refuse_others(lecture_chart=dict.fromkeys([*FOUR_NUMBERS, *(name_of(answer, number) for number in numbers)]))

# The two buttons that step λ, and λ and A as they are.
with st.container(key="lecture_values", horizontal=True, vertical_alignment="center"):
    st.button("λ ÷ 2", key="lecture_halve", on_click=times, args=("reg_lambda", 0.5), type="primary")
    st.button("λ × 2", key="lecture_double", on_click=times, args=("reg_lambda", 2.0), type="primary")
    st.markdown(settings_text(settings), width="content")

# The four numbers of both variants, and the labels that one of them comes from.
with st.container(key="lecture_numbers"):
    four_numbers(answer, ghost)
with st.container(horizontal=True, vertical_alignment="center"):
    st.markdown("By label frequency", width="content")
    chosen = st.segmented_control(
        "Number to show by label frequency",
        numbers,
        default="P@5",
        format_func=lambda number: name_of(answer, number),
        required=True,
        key="lecture_chart",
        bind="query-params",
        label_visibility="collapsed",
    )
    if ghost:
        st.caption(held_text(ghost), width="content")
contribution_chart(answer, ghost, chosen, height=240, for_a_room=True)
