"""Instances: why these labels?"""

import pandas as pd
import streamlit as st

from pages.shared import answers, frame
from pages.shared import instance_find as find
from pages.shared import instance_view as view
from pages.shared.frame import plain_markdown
from pages.shared.instance_subject import Subject, kind_of_features, subject_of_row, subject_of_text
from pages.shared.instance_text import LONGEST_DOCUMENT, document_of, text_with_unknown_words, why_no_text
from pages.shared.instance_why import why
from xmlcore import DataError, missing_labels
from xmlcore.figures import RIDGE, RIDGE_PS
from xmlcore.figures_explain import digits_of

EXAMPLE = "A chess engine with a graphical board: play against the computer, or watch two engines flummox each other."
MISSING = 50

settings = frame.guard()
frame.refuse_others(explained=[RIDGE, RIDGE_PS])
answer = answers.answer_at(settings)
data = answer.dataset


def explained(subject: Subject) -> None:
    """The answer in a sentence, both lists, and why a label is where it is."""
    view.head(answer, subject)
    view.lists(answer, subject)
    why(answer, subject)


def test_instance() -> None:
    """Finds a test instance and explains it."""
    find.controls(answer)
    explained(subject_of_row(answer, st.session_state[find.INSTANCE]))


def missing() -> None:
    """Wrong predictions that look right."""
    st.markdown(
        f"Labels that {RIDGE} ranks {view.among_first(answer.K)} and that the data does not give, the strongest "
        "support first. Support is the sum of the votes of all training instances with the label, the label's score; "
        "training aims at 1 for a label that is there and 0 for one that is not. Some of these labels may be missing "
        "from the data rather than wrong: that is why there are propensities. Choose a row to see why."
    )
    scores = answers.scores_on_test(answer.model, settings.reg_lambda)
    strongest = missing_labels(answer.evaluation.ridge.top[:, : answer.K], scores, data.Y_test, MISSING)
    rows, labels = strongest.row.tolist(), strongest.label.tolist()
    if not rows:
        st.info(f"None: all labels {view.among_first(answer.K)} are right.")
        return

    def chosen() -> None:
        picked = st.session_state["missing_rows"].selection.rows
        if picked:
            find.go(rows[picked[0]], labels[picked[0]])

    st.dataframe(
        pd.DataFrame(
            {
                "Instance": [data.test_name(row) for row in rows],
                "Missing label?": [data.label_name(label) for label in labels],
                "Support": strongest.support,
                "Training instances": data.label_counts[strongest.label],
                "Labels in the data": [
                    ", ".join(data.label_name(label) for label in data.Y_test[[row]].indices.tolist()) for row in rows
                ],
            }
        ),
        hide_index=True,
        column_config={
            "Support": st.column_config.NumberColumn(format=f"%{digits_of(strongest.support)}"),
            "Training instances": st.column_config.NumberColumn(format="localized"),
            "Labels in the data": st.column_config.TextColumn(width="large"),
        },
        height=420,
        on_select=chosen,
        selection_mode="single-row",
        key="missing_rows",
        alt="Wrong predictions with the strongest support",
    )
    st.caption(f"The {len(rows)} strongest, of {answer.rows_text}." if len(rows) > 1 else f"Of {answer.rows_text}.")


def own_document() -> None:
    """Explains what the visitor types."""
    if reason := why_no_text(answer):
        st.info(reason, icon=":material/block:")
        return
    text = st.text_area(
        "Type or paste a text",
        key="document",
        height=110,
        placeholder=f"Such as: {EXAMPLE}",
        persist_state="session",
        help="It is turned into the same features as the data set's own texts. It is not kept, and not in the link. Of "
        f"a text longer than {LONGEST_DOCUMENT:,} characters only the beginning is explained.",
    )
    if not text.strip():
        st.button("Try an example", on_click=lambda: st.session_state.update(document=EXAMPLE))
        st.caption(
            f"Its labels by both variants appear here, with the {kind_of_features(answer)} and the training instances "
            "behind them."
        )
        return
    # Streamlit's own limit would leave a longer text out without a word, and the answer to an earlier one in place.
    document = document_of(text)
    if len(document) < len(text):
        st.info(
            f"Of the {len(text):,} characters of this text, the first {len(document):,} are explained; the rest is "
            "left out.",
            icon=":material/content_cut:",
        )
    try:
        with st.spinner("Scoring your document…", show_time=True):
            subject = subject_of_text(answer, document)
    except DataError as error:
        st.info(f"A text cannot be explained here: {plain_markdown(str(error))}.", icon=":material/block:")
        return
    text_with_unknown_words(answer, document)
    if not subject.features[0].size:
        st.info("So all scores are 0, and there is nothing to rank or to explain.", icon=":material/search_off:")
        return
    explained(subject)


@frame.fragment
def page() -> None:
    """All of the page: what is chosen here does not run the rest again."""
    find.show_refusals()
    chosen = st.segmented_control(
        "What to explain",
        find.VIEWS,
        default=find.VIEWS[0],
        required=True,
        key=find.VIEW,
        persist_state="session",
        label_visibility="collapsed",
    )
    views = dict(zip(find.VIEWS, (test_instance, missing, own_document), strict=True))
    views[chosen]()
    find.write_link()


find.take_from_link(answer)
page()
