"""The sidebar's quiet line: what is factorised, and how long that and the last answer took."""

import streamlit as st

from pages.shared import answers, behind, frame, model, show
from pages.shared.settings import Settings
from xmlcore.units import beside_estimate, counted, in_seconds

HELP = (
    "The smaller of two tables, XᵀX (features by features) or XXᵀ (instances by instances), is factorised once, into "
    "directions and eigenvalues; each λ is then a division. Until that is done, the λ asked for is solved by itself, "
    "by Cholesky. The page Learn shows the steps."
)


def line(settings: Settings) -> None:
    """Draws the line for these settings.

    While the factorisation is being made, the line tells how far it is, and draws the page anew when it is done.
    """
    of = model.model_of(settings.data, settings.features)
    last, seconds = st.session_state.get(answers.LAST_ANSWER, (None, 0.0))
    # Of other data it would be told with the test instances of these.
    answered = last is not None and (last.data, last.features) == (settings.data, settings.features)

    def in_work() -> bool:
        return of.begun and not of.ready and of.progress.error is None

    waiting = in_work()

    def told() -> None:
        matrix, progress, task = f"{of.form}, {of.size:,} × {of.size:,}", of.progress, of.task
        if of.ready:
            made = f"factorised in {in_seconds(progress.seconds)}"
            matrix += f", {'read from the cache on disk' if progress.from_cache else made}"
        elif not of.begun:
            matrix += ", not factorised yet: that begins after the first answer"
        elif progress.error:
            matrix += f", not factorised ({frame.plain_markdown(progress.error)}): each λ is solved by Cholesky"
        elif task.state == "queued" if task else progress.stage == "waiting":
            matrix += f", not factorised yet ({task.message if task else progress.stage}): until then by Cholesky"
        else:
            stage, taken = (task.message, task.elapsed) if task else (progress.stage, progress.seconds)
            about = beside_estimate(taken, task.estimate) if task and task.estimate else ""
            matrix += f", being factorised for {taken:.0f} s{about} ({stage}); until then by Cholesky"
        took = in_seconds(seconds, digits=2)
        told_last = f" Last answer in {took}, on {counted(of.dataset.n_test, 'test instance')}." if answered else ""
        st.caption(f"{matrix}.{told_last}", help=HELP)
        if waiting and task:
            if task.share is not None:
                st.progress(task.share)
            st.button("Cancel the factorisation", on_click=task.cancel)
        if progress.error:
            st.button("Factorise again", on_click=of.again)
        if in_work() != waiting:  # begun anew by the button above, or ended
            st.rerun()

    frame.fragment(told, run_every=behind.POLL_SECONDS if waiting else None)()
    if answered:
        show.heard(st.session_state[answers.SPOKEN])
    if model.store() is not None and model.store().notices:
        st.caption(f"Cache on disk: {model.store().notices[-1]}")
