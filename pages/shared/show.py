"""Small widgets that the pages share: metric cards and charts with caption, alternative text and data."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.shared.model import CARD_KS, Answer
from xmlcore import Evaluation
from xmlcore.figures import RIDGE, RIDGE_PS

# Charts are drawn dark on white, which is what their exports must be. On a dark page the same drawing is shown
# inverted, with its hues turned back, and its then black ground let through to the page's own.
DARK_CHARTS = """<style>
.js-plotly-plot .main-svg { filter: invert(1) hue-rotate(180deg); }
.js-plotly-plot { mix-blend-mode: screen; }
</style>"""
LAYOUT = """<style>
.stMainBlockContainer { padding: 4rem 2rem 2rem; }
[data-testid="stSidebarUserContent"] { padding-bottom: 1rem; }
[data-testid="stSidebarHeader"] { height: 2.5rem; margin-bottom: 0; }
[data-testid="stSidebar"] [data-testid="stVerticalBlock"] { gap: 0.6rem; }
.st-key-drawn_count { display: none; }
.image-buttons { display: flex; gap: 0.75rem; }
.image-buttons button { all: unset; cursor: pointer; font-size: 0.875rem; }
.image-buttons button:is(:hover, :focus-visible) { text-decoration: underline; }
.image-buttons button:focus-visible { outline: 2px solid #0072B2; outline-offset: 2px; }
@media (min-width: 641px) { .st-key-body_controls { display: none; } }
@media (max-width: 640px) {
  .modebar-container { display: none; }
  .stMainBlockContainer { padding: 4rem 1rem 2rem; }
  .st-key-cards .stElementContainer:has(.stMetric) { min-width: 30%; }
}
</style>"""


# Plotly's own menu button saves a chart in one format and cannot be reached by keyboard. These buttons press it, with
# the format that they name.
IMAGE_BUTTONS = """<div class="image-buttons"><button type="button" title="Save as a drawing">SVG</button>
<button type="button" title="Save as a picture">PNG</button></div>"""
SAVE_IMAGE = """<script>
document.onclick = event => {
  const button = event.target.closest(".image-buttons button");
  const block = button && button.closest("[class*='st-key-chart_']");
  const plot = block && block.querySelector(".js-plotly-plot");
  if (!plot) return;
  const format = plot._context.toImageButtonOptions.format;
  plot._context.toImageButtonOptions.format = button.textContent.trim().toLowerCase();
  plot.querySelector(".modebar-btn[data-title^='Download']").click();
  plot._context.toImageButtonOptions.format = format;
};
</script>"""


def styles() -> None:
    """The few rules that Streamlit has no setting for."""
    dark = DARK_CHARTS if st.context.theme.type == "dark" else ""
    st.html(LAYOUT + dark + SAVE_IMAGE, unsafe_allow_javascript=True)


def chart(
    figure: go.Figure, *, name: str, caption: str, alt: str, data: Callable[[], pd.DataFrame], key: str | None = None
) -> None:
    """A figure with one line that says what to see, a description for screen readers, its image and its data."""
    with st.container(key=f"chart_{name}", gap="xsmall"):
        st.plotly_chart(
            figure,
            theme=None,
            key=key or name,
            alt=alt,
            config={
                "displaylogo": False,
                "toImageButtonOptions": {"format": "svg", "filename": name, "scale": 2},
                "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d"],
            },
        )
        st.caption(caption)
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.html(IMAGE_BUTTONS, width="content")
            st.download_button(
                "CSV",
                data=lambda: data().to_csv(index=False).encode(),
                file_name=f"{name}.csv",
                mime="text/csv",
                key=f"{name}_csv",
                on_click="ignore",
                type="tertiary",
                help="The numbers of this chart",
            )


def percent(fraction: float) -> str:
    """A fraction as a percentage with two decimals."""
    return f"{100 * fraction:.2f} %"


def points(difference: float) -> str:
    """The difference of two fractions, in percentage points with its sign."""
    return f"{100 * difference:+.2f}"


CARDS = {"precision": "P", "psprecision": "PSP"}
CARD_HELP = {
    "precision": "Of the {k} labels ranked first, the share that is right, averaged over the test instances. It cannot "
    "reach 100 % where instances have fewer than {k} labels.",
    "psprecision": "As P@{k}, but each right label counts its inverse propensity θ, so rare labels count more. It is "
    "divided by what a perfect ranking would score, so 100 % can be reached; it is lower than P@{k} where the hits are "
    "mostly frequent labels.",
}


def cards(evaluation: Evaluation, held: Evaluation | None = None) -> None:
    """P@K and PSP@K at K = 1, 3, 5, cut to the labels that there are, for both variants.

    The second row tells the difference to the first; both tell their change since a held setting where one is held.
    """
    n_labels = evaluation.ridge.label_hits.shape[1]
    shown = [(metric, k) for metric in CARDS for k in sorted({min(k, n_labels) for k in CARD_KS})]
    change = ", and its change since the held setting in percentage points"
    with st.container(key="cards", gap="xsmall"):
        st.markdown(f":blue[●] **{RIDGE}**{change if held else ''}")
        row = st.container(horizontal=True, gap="xsmall")
        for metric, k in shown:
            value = evaluation.ridge.metrics[metric][k]
            row.metric(
                f"{CARDS[metric]}@{k}",
                f"{100 * value:.2f}",
                **(_since(value, held.ridge.metrics[metric][k]) if held else {}),
                help=CARD_HELP[metric].format(k=k),
            )
        difference = f", and its difference to {RIDGE} in percentage points"
        st.markdown(f":orange[◆] **{RIDGE_PS}**{change if held else difference}")
        row = st.container(horizontal=True, gap="xsmall")
        for metric, k in shown:
            value = evaluation.ps.metrics[metric][k]
            before = evaluation.ridge.metrics[metric][k]
            row.metric(
                f"{CARDS[metric]}@{k} with PS",
                f"{100 * value:.2f}",
                **(_since(value, held.ps.metrics[metric][k]) if held else _delta(value - before)),
                label_visibility="collapsed",
            )


def _since(value: float, then: float) -> dict[str, str]:
    return {**_delta(value - then), "delta_description": f"held {100 * then:.2f}"}


def _delta(difference: float) -> dict[str, str]:
    """A difference as a card shows it; what is 0 as shown gets neither an arrow nor a colour."""
    shown = points(difference)
    return {"delta": shown} if float(shown) else {"delta": "±0.00", "delta_arrow": "off", "delta_color": "off"}


def notes(answer: Answer) -> None:
    """What a reader of the numbers must know: which rows, which ruler, and what was cut."""
    data, evaluation, settings = answer.dataset, answer.evaluation, answer.settings
    ruler = (settings.A, settings.B) if settings.tie_metric else (data.A, data.B)
    whose = "the sliders'" if settings.tie_metric else "the data set's own"
    sentences = [
        f"All numbers in percent, of {answer.rows_text} of {data.name}; PSP measured with {whose} "
        f"A = {ruler[0]:g}, B = {ruler[1]:g}."
    ]
    if evaluation.rows_without_features:
        sentences.append(
            f"{evaluation.rows_without_features:,} of them have no features: they score 0 everywhere and get the first "
            "labels."
        )
    if data.n_labels < settings.K:
        sentences.append(f"K = {settings.K} is cut to {data.n_labels}, the number of labels.")
    st.caption(" ".join(sentences))
