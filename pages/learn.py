"""Learn: how does it work? The derivation beside a small live example, and questions that set the sliders."""

import numpy as np
import streamlit as st

from pages.shared import answers, frame, learn_steps, show
from pages.shared.learn_board import contribution_chart, four_numbers, held_text
from pages.shared.learn_example import A_RANGE, B_RANGE, LAMBDAS, bench, sliders, unused_sliders
from pages.shared.learn_questions import DATA, QUESTIONS
from pages.shared.settings import link, settings_text

QUESTIONS_PART = "Five questions"
STYLE = """<style>
:is(.st-key-part_before, .st-key-part_after) button { min-height: 2rem; padding-block: 0; }
.st-key-learn_numbers table { font-variant-numeric: tabular-nums; }
.st-key-learn_numbers :is(th, td):not(:first-child) { text-align: right !important; }
.st-key-toy_sliders .stElementContainer:has(.stSlider) { max-width: 14rem; }
.st-key-learn_numbers .stTable :is(th, td) { padding-inline: 0.3rem; }
@media (max-width: 640px) {
  .st-key-learn_numbers table { font-size: 0.8rem; }
  .st-key-toy_sliders .stElementContainer:has(.stSlider) { min-width: 100%; }
}
</style>"""

settings = frame.guard()
st.html(STYLE)

# Which part: the steps of the derivation, then the questions.
parts = [*(step.title for step in learn_steps.STEPS), QUESTIONS_PART]
frame.refuse_others(
    part=parts,
    question=list(map(str, range(1, len(QUESTIONS) + 1))),
    toy_lambda=[f"{value:g}" for value in LAMBDAS],
)
frame.refuse_numbers(toy_A=A_RANGE, toy_B=B_RANGE)


def go_to(target: str) -> None:
    """Shows another part."""
    st.session_state["part"] = target


# The way on stands beside the parts, where it is seen however long a step is.
with st.container(horizontal=True, gap="xsmall"):
    part = st.segmented_control(
        "Part", parts, default=parts[0], required=True, key="part", bind="query-params", label_visibility="collapsed"
    )
    at = parts.index(part)
    with st.container(horizontal=True, wrap=False, gap="xsmall", width="content"):  # one would stand alone in a line
        for label, key, place in (("← Previous", "part_before", at - 1), ("Next →", "part_after", at + 1)):
            target = parts[place] if 0 <= place < len(parts) else None
            st.button(label, key=key, disabled=target is None, on_click=go_to, args=(target,), help=target)


def steps(step: learn_steps.Step) -> None:
    """One step: its text beside the example's sliders and what follows from them, and the tables below."""
    # λ and A of the data set, which a narrow screen shows above every page, have no effect on the example.
    st.html(f"<style>.st-key-body_controls {{ display: none; }} {unused_sliders(step.sliders)}</style>")
    left, right = st.columns([4, 7], gap="medium")
    with left:
        learn_steps.text(step)
    with right:
        parameters = sliders()
        numbers = st.container(key="learn_numbers")
    example = bench(parameters)
    if example is not None:
        with numbers:
            step.numbers(example)


def questions() -> None:
    """One question: its link, what to look for, the live numbers, and the answer behind an expander."""
    numbers = list(range(1, len(QUESTIONS) + 1))
    number = st.segmented_control(
        "Question",
        numbers,
        default=1,
        required=True,
        format_func=str,
        key="question",
        bind="query-params",
    )
    question = QUESTIONS[number - 1]
    answer, ghost = answers.answer_at(settings), answers.held_answer(settings)
    left, right = st.columns([4, 7], gap="medium")
    with left:
        st.markdown(f"## {question.question}")
        st.page_link(
            "pages/learn.py",
            label="Set the sliders for this question",
            icon=":material/tune:",
            query_params=link(question.settings, part=QUESTIONS_PART, question=number),
        )
        st.markdown(question.look_for)
        if (settings.data, settings.features) != (DATA, ""):
            other = frame.plain_markdown(settings.data) if settings.data != DATA else "other features"
            st.info(
                f"The answers are about {DATA} with its usual features, and the sidebar is set to {other}. The link "
                "changes it."
            )
        with st.expander("Answer", key=f"answer_{number}"):
            st.markdown(question.answer)
    with right:
        with st.container(key="learn_numbers"):
            four_numbers(answer, ghost)
            if ghost:
                st.caption(held_text(ghost))
        variants = (answer.evaluation.ridge, answer.evaluation.ps)
        firsts = [len(np.unique(variant.top[:, 0])) for variant in variants]
        st.caption(
            f"On {answer.rows_text}, at {settings_text(settings)}; {show.psp_measured_with(answer)}. "
            f"Different labels ever ranked first: {firsts[0]:,} of {answer.dataset.n_labels:,}, with PS {firsts[1]:,}."
        )
        contribution_chart(answer, ghost, question.chart, height=300)


if part == QUESTIONS_PART:
    questions()
else:
    steps(learn_steps.STEPS[parts.index(part)])
