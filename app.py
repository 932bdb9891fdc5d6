"""The frame of the dashboard: page settings, menu and sidebar. Run it with `streamlit run app.py`."""

import streamlit as st

from pages.shared import behind, controls, frame, mirror, model, settings, show, sources, status

st.set_page_config(page_title="XML-ridge dashboard", page_icon=":material/monitoring:", layout="wide")
page = frame.navigation()
show.styles()
names = sources.names()
settings.note_refusals(names)
settings.take_link()
settings.sync_hold()

with st.sidebar:
    current, problem = controls.sidebar(names, model.lambda_range_of)
    below = st.container()
settings.sync_hold()
settings.show_refusals()
if problem:
    st.error(frame.plain_markdown(problem), icon=":material/error:")
controls.body_controls(current, model.lambda_range_of)
with behind.visitor_first():
    try:
        with frame.worded_errors():
            frame.run(page, current)
    except Exception:
        mirror.end_run()  # an error is drawn too
        raise
    finally:
        with below:
            status.line(current)
mirror.end_run()
