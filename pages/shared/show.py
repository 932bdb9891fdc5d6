"""Small widgets that the pages share: metric cards and charts with caption, alternative text and data."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Literal
from urllib.parse import quote

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.shared import behind
from pages.shared.answers import CARD_KS, Answer
from pages.shared.frame import plain_markdown
from pages.shared.settings import IN_ADDRESS, LINK_KEY, own_lambda_text, settings_text
from pages.shared.settings import held as held_setting
from xmlcore.figures import RIDGE, RIDGE_PS, Curve
from xmlcore.metrics import SHORT_NAMES, precision_ceiling
from xmlcore.units import counted

# Charts are drawn dark on white, which is what their exports must be. On a dark page the same drawing is shown
# without its ground and with other colours. The matrix takes white to that page's ground, ink to near white, and both
# variants' colours to those of the dark theme; its rows are red, green and blue of a colour, as sums of the drawing's
# red, green and blue and a constant. `invert` and `hue-rotate` would make orange brown. A blend mode that lets the
# page's ground through would show black boxes wherever Streamlit fades what a fragment draws anew.
DARK_COLORS = """0.447 -0.992 -0.482 0 1.117
  -0.326 -0.322 -0.384 0 1.118
  -0.211 -1.49 0.66 0 1.119
  0 0 0 1 0"""
DARK_FILTER = (
    "<svg xmlns='http://www.w3.org/2000/svg'><filter id='dark' color-interpolation-filters='sRGB'>"
    f"<feColorMatrix values='{DARK_COLORS}'/></filter></svg>"
)
DARK = f"""<style>
@media (forced-colors: none) {{
  .js-plotly-plot .main-svg {{ filter: url("data:image/svg+xml,{quote(DARK_FILTER)}#dark"); }}
  .js-plotly-plot .main-svg {{ background: transparent !important; }}
  .js-plotly-plot .bg {{ fill: none !important; }}
}}
/* On the dark theme's blue, which is light enough to be read as text, white could not be read. */
[data-testid="stBaseButton-primary"] p {{ color: #0E1117; }}
</style>"""
# Streamlit writes captions in a grey that is hard to read on white, and much that is needed stands in them.
LIGHT = '<style>.stApp [data-testid="stCaptionContainer"] { opacity: 0.75; }</style>'
LAYOUT = """<style>
.stMainBlockContainer { padding: 4rem 2rem 2rem; }
[data-testid="stSidebarUserContent"] { padding-bottom: 1rem; }
[data-testid="stSidebarHeader"] { height: 2.5rem; margin-bottom: 0; }
[data-testid="stSidebar"] [data-testid="stVerticalBlock"] { gap: 0.6rem; }
.stApp :is(.st-key-drawn_count, .st-key-drawn_count_early) { display: none; }
.image-buttons { display: flex; gap: 0.75rem; }
.image-buttons button { all: unset; cursor: pointer; font-size: 0.875rem; min-width: 24px; min-height: 24px; }
.image-buttons button:is(:hover, :focus-visible) { text-decoration: underline; }
.image-buttons button:focus-visible { outline: 2px solid #0072B2; outline-offset: 2px; }
/* λ is stepped by factors, with the buttons beside its field: the room of + and − goes to its digits. */
[data-testid="stSidebar"] [class*="st-key-reg_lambda"] [data-testid="stNumberInput"] button { display: none; }
.modebar-container { display: none; }  /* it would lie over the legend; the buttons below a chart press what it has */
/* Equal columns, whatever stands in them: a number is under the name of its column. */
.stApp :is(.st-key-cards_ridge, .st-key-cards_ps) { display: grid; grid-auto-flow: column; }
.stApp :is(.st-key-cards_ridge, .st-key-cards_ps) { grid-auto-columns: minmax(0, 1fr); }
.stApp :is(.st-key-cards_ridge, .st-key-cards_ps) > * { width: auto; min-width: 0; }
/* Columns with their least width: those without room begin a new line. */
.st-key-find_controls [data-testid="stColumn"] { min-width: min(10rem, 100%); }
.st-key-lists [data-testid="stColumn"] { min-width: min(24rem, 100%); }
/* A screen of 768 pixels at most begins with its sidebar folded. */
@media (min-width: 769px) { .stApp :has(> .st-key-body_controls) { display: none; } }
/* Where the second row's names stand above it already, they are there to be heard. */
.st-key-cards:not(:has([data-testid="stMetricDeltaDescription"])) .st-key-cards_ps [data-testid="stMetricLabel"] {
  display: block; position: absolute; clip-path: inset(50%);
}
:is(.stApp :has(> .page-title), #heard) { position: absolute; clip-path: inset(50%); }
@media (max-width: 640px) {
  .stMainBlockContainer { padding: 4rem 1rem 2rem; }
  .stApp :is(.st-key-cards_ridge, .st-key-cards_ps) { grid: auto-flow / repeat(3, minmax(0, 1fr)); }
  .stApp .st-key-cards:has([data-testid="stMetricDeltaDescription"]) :is(.st-key-cards_ridge, .st-key-cards_ps) {
    grid: auto-flow / repeat(2, minmax(0, 1fr));
  }
  .st-key-cards .st-key-cards_ps [data-testid="stMetricLabel"][data-testid] {  /* their rows break */
    display: flex; position: static; clip-path: none;
  }
}
</style>"""


# Plotly's own menu button saves a chart in one format, cannot be reached by keyboard and is hidden. These buttons press
# it, with the format that they name. A saved image has not the page's font: laid out for it, wider letters would run
# into what follows and be cut.
IMAGE_BUTTONS = """<div class="image-buttons">
<button type="button" title="Save as a drawing" aria-label="SVG of {name}">SVG</button>
<button type="button" title="Save as a picture" aria-label="PNG of {name}">PNG</button></div>"""
# In its own tab Streamlit keeps the settings where a link leads to another page. In another tab it would show the usual
# ones: before the browser looks at the link, it gets what the address has of them.
OPEN_IN_ANOTHER_TAB = f"""<script>
document.onpointerdown = document.onkeydown = event => {{
  const link = event.target.closest("[data-testid='stPageLink'] a, a[data-testid$='NavLink']");
  const url = link && new URL(link.href), here = new URLSearchParams(location.search);
  if (!link || url.searchParams.has("{LINK_KEY}")) return;
  for (const key of {json.dumps(IN_ADDRESS)}) {{
    url.searchParams.delete(key);
    if (here.has(key)) url.searchParams.set(key, here.get(key));
  }}
  link.href = url;
}};
</script>"""
SAVE_IMAGE = """<script>
document.onclick = event => {
  const button = event.target.closest(".image-buttons button");
  const block = button && button.closest("[class*='st-key-chart_']");
  const plot = block && block.querySelector(".js-plotly-plot");
  if (!plot) return;
  const options = plot._context.toImageButtonOptions, font = plot.layout.font, {format} = options, {family} = font;
  options.format = button.textContent.trim().toLowerCase();
  font.family = "Helvetica, Arial, sans-serif";
  plot.querySelector(".modebar-btn[data-title^='Download']").click();
  Object.assign(options, {format});
  Object.assign(font, {family});
};
</script>"""
# What a screen reader says of itself must stand where it stood before; the app's own places are made anew.
HEARD = """<script>(() => {{
  const region = document.getElementById("heard") ?? document.body.appendChild(document.createElement("div"));
  Object.assign(region, {{ id: "heard", role: "status", textContent: {text} }});
}})()</script>"""


CHART_ROOM = 418  # pixels that such a chart takes with its caption and buttons


def styles() -> None:
    """The few rules that Streamlit has no setting for."""
    theme = DARK if st.context.theme.type == "dark" else LIGHT
    st.html(LAYOUT + theme + SAVE_IMAGE + OPEN_IN_ANOTHER_TAB, unsafe_allow_javascript=True)


def title(page: str) -> None:
    """The page's heading, for who hears the page; others see which page is chosen in the menu."""
    st.html(f'<h1 class="page-title">{page}</h1>')


def heard(text: str) -> None:
    """Has a screen reader say the text, once for each change of it; nobody sees it."""
    st.html(HEARD.format(text=json.dumps(text)), unsafe_allow_javascript=True)


def chart(
    figure: go.Figure,
    *,
    name: str,
    caption: str,
    alt: str,
    data: Callable[[], pd.DataFrame],
    height: Literal["content", "stretch"] = "content",
    one_line: bool = False,
) -> None:
    """A figure with one line that says what to see, a description for screen readers, its image and its data.

    height: "content" for the figure's own, "stretch" for what its container has left. one_line: the buttons that save
    image and data stand beside the caption, not below it.
    """
    # Streamlit makes each changed chart anew and then hands Plotly the same figure once more. Without a revision Plotly
    # takes all data for changed and draws them again, which took as long as the first time.
    figure.layout.datarevision = 1
    with st.container(key=f"chart_{name}", gap="xsmall", height=height):
        st.plotly_chart(
            figure,
            theme=None,
            height=height,
            key=name,
            alt=alt,
            config={
                "displaylogo": False,
                "toImageButtonOptions": {"format": "svg", "filename": name, "scale": 2},
                "modeBarButtons": [["toImage"]],
            },
        )
        below = st.container(horizontal=True, vertical_alignment="top") if one_line else st.container(gap="xsmall")
        below.caption(caption)
        with below.container(horizontal=True, vertical_alignment="center", gap="xsmall", width="content"):
            st.html(IMAGE_BUTTONS.format(name=name.replace("_", " ")), width="content")
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


def keep_room(column: st.delta_generator.DeltaGenerator) -> None:
    """Keeps the room of a chart of curves of which none has a point yet.

    Axes without a curve would take as long to draw as the rest of an answer.
    """
    column.container(height=CHART_ROOM, border=False)


def until_factorised(answer: Answer, comes: str, without: str) -> str:
    """What stands in the place of what needs the factorisation: comes while it may come; else why, and so `without`."""
    error = answer.model.progress.error
    if error is None:
        return comes
    failed = f"The matrix is not factorised ({plain_markdown(error)})"
    return f"{failed}, so {without}. In the sidebar it can be tried again."


def failure(what: str, *works: behind.Filling) -> None:
    """Why work behind the page ended early, and a button that lets it begin anew; nothing where none of it failed.

    what: the work's name, such as "The path".
    """
    failed = [work for work in works if work.error is not None]
    if failed:
        st.error(plain_markdown(f"{what} ended early: {failed[0].error}"), icon=":material/error:")
        st.button("Try again", key=f"again {what}", on_click=lambda: [behind.forget(work) for work in failed])


def curve_table(lines: list[Curve], x_name: str, y_name: str) -> pd.DataFrame:
    """Curves as rows of variant, rows, x and y."""
    parts = [
        pd.DataFrame({"variant": line.variant, "rows": line.rows, x_name: line.x, f"{y_name} (%)": line.y})
        for line in lines
        if line.x.size
    ]
    return pd.concat(parts) if parts else pd.DataFrame(columns=["variant", "rows", x_name, f"{y_name} (%)"])


def told(answer: Answer, system: str = RIDGE) -> str:
    """What a system's numbers beside an answer are of, for a file: data set, rows, setting and ruler.

    Of another system than our two variants nobody knows the setting: the sidebar's is not its own.
    """
    at = f", {settings_text(answer.settings)}" if system in SYMBOLS else ""
    return f"{answer.model.shown_title}, {answer.rows_text}{at}; {psp_measured_with(answer)}"


def bars_table(
    rows: dict[str, object], what: str, *shown: tuple[Answer | None, dict[str, np.ndarray] | None]
) -> pd.DataFrame:
    """Bars of each system as rows, at the present setting and, where there is one, at the held one.

    rows: what is known of each bin, by column. what: the bars' number with its unit. shown: answers with their bars.
    """
    return pd.concat(
        pd.DataFrame({**rows, "variant": variant, what: values, "setting": told(answer, variant)})
        for answer, bars in shown
        if answer is not None
        for variant, values in bars.items()
    )


def percent(fraction: float) -> str:
    """A fraction as a percentage with two decimals."""
    return f"{100 * fraction:.2f} %"


NO_POINTS = "±0.00"


def points(difference: float) -> str:
    """The difference of two fractions, in percentage points with its sign."""
    text = f"{100 * difference:+.2f}"
    return text.replace("-", "−") if float(text) else NO_POINTS


def first_labels(k: int) -> str:
    """The first k labels of a ranking, in words."""
    return "label ranked first" if k == 1 else f"{k} labels ranked first"


def open_ones(held: object) -> str:
    """What the open markers of a chart are, where a setting is held."""
    return "; open ones: the held setting" if held else ""


SYMBOLS = {RIDGE: "●", RIDGE_PS: "◆"}
MARKS = {RIDGE: f":blue[{SYMBOLS[RIDGE]}]", RIDGE_PS: f":orange[{SYMBOLS[RIDGE_PS]}]"}
MAIN_METRICS = ("precision", "psprecision")
FOUR_NUMBERS = {
    "P@1": ("precision", 1),
    "P@5": ("precision", 5),
    "PSP@1": ("psprecision", 1),
    "PSP@5": ("psprecision", 5),
}
CARD_HELP = {
    "precision": "Of the {first}, the share that is right, averaged over the test instances. It cannot reach 100 % "
    "where instances have fewer than {labels}. A perfect ranking would score {ceiling} here.",
    "psprecision": "As P@{k}, but each right label counts its inverse propensity θ, which is larger for rarer labels "
    "(unless A = 0), and the sum is divided by what a perfect ranking would score. So it is lower than P@{k} where the "
    "hits are mostly frequent labels. It may be higher where instances have {fewer}: P@{k} counts what they lack as "
    "wrong.",
}


def cards(answer: Answer, ghost: Answer | None = None) -> None:
    """P@K and PSP@K at K = 1, 3, 5, cut to the labels that there are, for both variants, with the rows they are of.

    The second row tells its difference from the first; where a setting is held, that stands beside the names, and both
    rows tell their change since then.
    """
    evaluation, held, settings = answer.evaluation, ghost and ghost.evaluation, answer.settings
    weigh = "rare labels weigh more" if settings.A else "at A = 0 all labels weigh the same"
    n_labels = evaluation.ridge.label_hits.shape[1]
    shown = [(metric, k) for metric in MAIN_METRICS for k in sorted({min(k, n_labels) for k in CARD_KS})]
    of_rows = f"in %, on {answer.rows_text}{', and change since the held setting in percentage points' if held else ''}"
    also = " and, below, change since held, in points" if held else " in percentage points"
    with st.container(key="cards", gap="xsmall"):
        st.markdown(f"{MARKS[RIDGE]} **{RIDGE}**, {of_rows}")
        row = st.container(key="cards_ridge", horizontal=True, gap="xsmall")
        for metric, k in shown:
            value = evaluation.ridge.metrics[metric][k]
            row.metric(
                f"{SHORT_NAMES[metric]}@{k}",
                f"{100 * value:.2f}",
                **(_since(value, held.ridge.metrics[metric][k]) if held else {}),
                help=CARD_HELP[metric].format(
                    k=k,
                    first=first_labels(k),
                    labels=counted(k, "label"),
                    fewer="no labels" if k == 1 else f"fewer than {k} labels",
                    ceiling=percent(precision_ceiling(answer.dataset.Y_test, k)),
                ),
            )
        st.markdown(
            f"{MARKS[RIDGE_PS]} **{RIDGE_PS}** (propensity scores: {weigh}){own_lambda_text(settings)}, "
            f"difference from {RIDGE}{also}"
        )
        row = st.container(key="cards_ps", horizontal=True, gap="xsmall")
        for metric, k in shown:
            value = evaluation.ps.metrics[metric][k]
            difference = value - evaluation.ridge.metrics[metric][k]
            name = f"{SHORT_NAMES[metric]}@{k}"
            row.metric(
                f"{name}, {points(difference)} with PS" if held else f"{name} with PS",
                f"{100 * value:.2f}",
                **(_since(value, held.ps.metrics[metric][k]) if held else _delta(difference)),
                label_visibility="visible" if held else "collapsed",
            )


def _since(value: float, then: float) -> dict[str, str]:
    return {**_delta(value - then), "delta_description": f"held {100 * then:.2f}"}


def _delta(difference: float) -> dict[str, str]:
    """A difference as a card shows it; what is 0 as shown gets neither an arrow nor a colour."""
    shown = points(difference)
    if shown == NO_POINTS:
        return {"delta": shown, "delta_arrow": "off", "delta_color": "off"}
    # Streamlit knows a fall by a hyphen only, not by a minus sign.
    return {"delta": shown, **({"delta_arrow": "down", "delta_color": "red"} if difference < 0 else {})}


def psp_measured_with(answer: Answer) -> str:
    """What PSP is measured with, in words: at a held setting too, that is the present ruler."""
    A, B = answer.metric_AB or (answer.dataset.A, answer.dataset.B)
    whose = "the sliders'" if answer.metric_AB else "the data set's"
    return f"PSP measured with {whose} A = {A:g}, B = {B:g}"


def notes(answer: Answer) -> None:
    """What a reader of the numbers must know: which rows, which setting and which ruler."""
    evaluation, settings = answer.evaluation, answer.settings
    sentences = [
        f"All numbers in percent, of {answer.rows_text} of {plain_markdown(answer.model.shown_title)}, at "
        f"{settings_text(settings)}; {psp_measured_with(answer)}."
    ]
    ghost = held_setting()
    if ghost and (ghost.data, ghost.features) == (settings.data, settings.features):
        sentences.append(f"Held: {settings_text(ghost)}.")
    if zero := evaluation.rows_scored_zero:
        sentences.append(
            f"{zero:,} of these test instances {'shares' if zero == 1 else 'share'} no feature with a training "
            "instance that has labels: all scores are 0 there, which gives the first labels in the data set's order."
        )
    st.caption(" ".join(sentences))
