"""The frame of the dashboard: page settings, menu and sidebar. Run it with `streamlit run app.py`."""

import numpy  # noqa: F401
import pandas  # noqa: F401
import plotly.graph_objects as go
import streamlit as st

# Of an icon that Streamlit knows by name, a browser would ask a host elsewhere at every answer.
ICON = """<svg viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="white"/>
<path d="M2 14V3h4v11z" fill="#0072B2"/><path d="M10 14V7h4v7z" fill="#E69F00"/></svg>"""
st.set_page_config(page_icon=ICON, layout="wide")
# A browser's first chart comes with five megabytes of script, which it reads for a second and more. A chart that nobody
# sees, drawn before the imports below, has it do so while the server begins, and not when the numbers are there. Plotly
# takes numpy and pandas as it finds them, which may be half imported by another session: so they are imported first.
st.html('<style>[data-testid="stLayoutWrapper"]:has(> .st-key-unseen) { display: none; }</style>')
hidden = st.container(key="unseen")
unseen = hidden.empty()
if "_begun" not in st.session_state:
    st.session_state["_begun"] = True
    with unseen.container():
        st.metric("unseen", 0)
        st.plotly_chart(go.Figure(go.Scatter()), key="unseen_chart")

from pages.shared import behind, controls, frame, model, preparing, settings, show, sources, status  # noqa: E402
from xmlcore import DataError  # noqa: E402

page = frame.navigation()
st.set_page_config(page_title=f"{page.title} · XML-ridge dashboard")
with hidden:  # where it takes no room above the page
    show.styles()
show.title(page.title)
sources.take_name()
names = sources.names()
settings.note_refusals(names)
settings.take_link()
settings.sync_hold()

try:
    model.model_bytes()
    with st.sidebar:
        current, problem = controls.sidebar(names)
        below = st.container()
except DataError as error:  # the server's own settings are wrong, or not even the first data set can be had
    st.error(frame.plain_markdown(f"{error}. No page can answer before this is set right where the server runs."))
    unseen.empty()
    st.stop()
settings.sync_hold()
frame.show_refusals(current.data)
if problem:
    st.error(frame.plain_markdown(problem), icon=":material/error:")
if work := preparing.prepare(current.data, current.features):
    preparing.show(work)
else:
    if page.title != "Lecture":  # which has them beside its buttons
        controls.body_controls(current)
    with behind.visitor_first():
        try:
            with frame.worded_errors():
                frame.run(page, current)
        finally:
            with below:
                status.line(current)
unseen.empty()
