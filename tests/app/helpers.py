"""What the tests of the pages share: the app opened by a link, and what it says."""

import json

from streamlit.testing.v1 import AppTest

SECONDS = 300  # that a page may take on a busy machine


def start(**params: str | list[str]) -> AppTest:
    """The app on Tune, opened by a link with these settings."""
    app = AppTest.from_file("../../app.py", default_timeout=SECONDS)
    for key, value in params.items():
        app.query_params[key] = value
    return app.run()


def data_page(**params: str) -> AppTest:
    """The app on Data, opened by a link with these settings."""
    return start(**params).switch_page("pages/data.py").run()


def texts(app: AppTest) -> str:
    """What the page says, warnings included."""
    return "\n".join(each.value for kind in (app.markdown, app.caption, app.warning) for each in kind)


def charts(app: AppTest, name: str = "") -> list[dict]:
    """The page's charts as they are sent to the browser: all of them, or the one of this name, if it is there."""
    return [json.loads(each.proto.spec) for each in app.get("plotly_chart") if name in ("", each.key)]
