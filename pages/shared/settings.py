"""The settings that all pages share: one typed value, drawn in the sidebar, kept in the URL.

Every control but the λ slider is bound to a URL parameter of its own name. λ's one truth is the number field: the
slider cannot be bound (it would drop every typed value that is not one of its positions), so both mirror each other
by callbacks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace

import streamlit as st

from xmlcore import PROPENSITY_PRESETS, DataError, FeatureRecipe

LAMBDA_MIN, LAMBDA_MAX = 1e-9, 1e12
A_MAX, B_MIN, B_MAX, K_MAX = 2.0, 0.05, 10.0, 20
POSITIONS_PER_DECADE = 20
OWN_VALUES = "own values"
LINK_KEY = "set"  # a link inside the app carries its settings here; no widget is bound to it
HOLD_KEY = "hold"
REFUSED = "_refused"
NUMBER = (int, float)
LINKED = {
    **dict.fromkeys(("data", "features", "part"), (str,)),
    **dict.fromkeys(("reg_lambda", "reg_lambda_ps", "A", "B"), NUMBER),
    **dict.fromkeys(("own_lambda_ps", "tie_metric"), (bool,)),
    **dict.fromkeys(("K", "instance", "label", "question"), (int,)),
}
"""What a link inside the app may set, and the types that it may have."""


@dataclass(frozen=True)
class Settings:
    """What is set in the sidebar.

    Attributes:
        data: the data set's name in the catalog, or a visitor's own.
        reg_lambda, reg_lambda_ps: λ of XML-ridge and of XML-ridge with PS; equal unless own_lambda_ps separates them.
        A, B: the model's propensity parameters.
        K: how many labels the charts and lists count.
        features: the recipe of the features; empty for the one that suits the data set.
        tie_metric: PSP is measured with the sliders' A and B instead of the data set's own.
    """

    data: str
    reg_lambda: float = 3.0
    own_lambda_ps: bool = False
    reg_lambda_ps: float = 3.0
    A: float = 0.55
    B: float = 1.5
    K: int = 5
    tie_metric: bool = False
    features: str = ""


DEFAULTS = {field.name: field.default for field in fields(Settings) if field.name not in ("data", "features")}


def _is_recipe(text: str) -> bool:
    return not text or bool(FeatureRecipe.parse(text))


ACCEPTED: dict[str, tuple[Callable[[str], object], Callable[[object], bool], str]] = {
    "reg_lambda": (float, lambda v: LAMBDA_MIN <= v <= LAMBDA_MAX, f"a number from {LAMBDA_MIN:g} to {LAMBDA_MAX:g}"),
    "reg_lambda_ps": (
        float,
        lambda v: LAMBDA_MIN <= v <= LAMBDA_MAX,
        f"a number from {LAMBDA_MIN:g} to {LAMBDA_MAX:g}",
    ),
    "A": (float, lambda v: 0 <= v <= A_MAX, f"a number from 0 to {A_MAX:g}"),
    "B": (float, lambda v: B_MIN <= v <= B_MAX, f"a number from {B_MIN:g} to {B_MAX:g}"),
    "K": (int, lambda v: 1 <= v <= K_MAX, f"a whole number from 1 to {K_MAX}"),
    "own_lambda_ps": (str, lambda v: v in ("true", "false"), "true or false"),
    "tie_metric": (str, lambda v: v in ("true", "false"), "true or false"),
    "features": (str, _is_recipe, "steps such as tfidf+unit"),
}


def refusals(params: dict[str, str], data_names: list[str]) -> list[str]:
    """A sentence for each value in a link that no control can take."""
    sentences = []
    for key, (parse, accepts, expected) in ACCEPTED.items():
        if params.get(key):
            try:
                accepted = accepts(parse(params[key]))
            except ValueError:
                accepted = False
            if not accepted:
                instead = DEFAULTS.get(key, "the features that suit the data set")
                sentences.append(f"{key} = {params[key]} was refused: expected {expected}. Using {instead}.")
    if "data" in params and params["data"] not in data_names:
        sentences.append(
            f"There is no data set called “{params['data']}” here: it may be another visitor's upload, or one that has "
            f"to be downloaded first. Available: {', '.join(data_names)}. Showing {data_names[0]}."
        )
    return sentences


def slider_positions(low: float, high: float, *current: float) -> list[float]:
    """The λ slider's positions: log-spaced, with three digits, and the current values exactly as they are."""
    first = math.floor(math.log10(low) * POSITIONS_PER_DECADE)
    last = math.ceil(math.log10(high) * POSITIONS_PER_DECADE)
    grid = {float(f"{10 ** (step / POSITIONS_PER_DECADE):.3g}") for step in range(first, last + 1)}
    return sorted(grid | set(current))


def lambda_text(reg_lambda: float) -> str:
    """λ as people write it: no exponent where it can be helped, no digits that say nothing."""
    return f"{reg_lambda:.10g}" if 1e-4 <= reg_lambda < 1e6 else f"{reg_lambda:.6g}"


def link(settings: Settings | None = None, **changes: object) -> dict[str, str]:
    """The query parameters of a link inside the app that changes settings (and page state) in the same session."""
    values = {**(asdict(settings) if settings else {}), **changes}
    return {LINK_KEY: json.dumps(values, separators=(",", ":"))}


def take_link() -> None:
    """Turns the settings of an internal link into session state, before any control is drawn."""
    text = st.query_params.get(LINK_KEY)
    if text is None:
        return
    del st.query_params[LINK_KEY]
    try:
        values = dict(json.loads(text))
    except (ValueError, TypeError):
        return
    # A link may come from anybody: only what a link of ours can carry, and what a control can take.
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in values.items()}
    refused = {key for key, text in texts.items() if key != "data" and refusals({key: text}, [])}
    for key, value in values.items():
        fits = isinstance(value, LINKED.get(key, ())) and key not in refused
        if fits:
            st.session_state[key] = float(value) if LINKED[key] == (int, float) else value


def note_refusals(data_names: list[str]) -> None:
    """Remembers, on a session's first run, which values of its link cannot be taken."""
    if REFUSED not in st.session_state:
        st.session_state[REFUSED] = refusals(st.query_params.to_dict(), data_names)


def show_refusals() -> None:
    """Names the refused values above the page, until the visitor closes the note."""
    if st.session_state.get(REFUSED):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.warning("  \n".join(st.session_state[REFUSED]), icon=":material/link_off:")
            st.button("Close", key="close_refused", on_click=lambda: st.session_state.update({REFUSED: []}))


LambdaRangeOf = Callable[[str, str], tuple[float, float]]


def sidebar(data_names: list[str], lambda_range_of: LambdaRangeOf) -> tuple[Settings, str | None]:
    """Draws the controls that all pages share; what they are set to, and what could not be had, in a sentence.

    Where the data set or the features cannot be had, the default ones take their place in the settings.
    """
    data = st.selectbox("Data set", data_names, key="data", bind="query-params")
    controls = st.container()
    more = st.expander("More settings")
    features = more.text_input("Features", value="", key="features", bind="query-params", help=HELP["features"])
    data, features, (low, high), problem = _what_can_be_had(data, features, data_names[0], lambda_range_of)
    settings = Settings(data=data, features=features)
    with controls:
        settings = replace(
            settings,
            reg_lambda=_lambda_control("reg_lambda", "λ", low, high),
            A=st.slider("A", 0.0, A_MAX, value=0.55, step=0.01, key="A", bind="query-params", help=HELP["A"]),
            B=st.slider("B", B_MIN, B_MAX, value=1.5, step=0.05, key="B", bind="query-params", help=HELP["B"]),
            K=st.slider("K", 1, K_MAX, value=5, key="K", bind="query-params", help=HELP["K"]),
        )
    with more:
        _presets(settings.A, settings.B)
        tie = st.toggle(
            "Measure PSP with these A and B", value=False, key="tie_metric", bind="query-params", help=HELP["tie"]
        )
        own = st.toggle(
            "A λ of its own for PS", value=False, key="own_lambda_ps", bind="query-params", help=HELP["own"]
        )
        # Drawn always: a bound field that is not drawn at first loses its value from a link.
        own_value = _lambda_control("reg_lambda_ps", "λ of PS", low, high, disabled=not own)
    reg_lambda_ps = own_value if own else settings.reg_lambda
    settings = replace(settings, tie_metric=tie, own_lambda_ps=own, reg_lambda_ps=reg_lambda_ps)
    _reset_and_hold(settings)
    return settings, problem


def _what_can_be_had(
    data: str, features: str, first: str, lambda_range_of: LambdaRangeOf
) -> tuple[str, str, tuple[float, float], str | None]:
    problem = None
    for choice in ((data, features), (data, ""), (first, "")):
        try:
            return *choice, lambda_range_of(*choice), problem
        except DataError as error:
            problem = problem or f"{data}: {error}"
    raise DataError(problem)


HELP = {
    "lambda": "The penalty on large weights, the only hyperparameter. Small: the model follows the training data "
    "closely; large: it is cautious and smooth. Type any value greater than 0.",
    "A": "How steeply a label's weight falls with its frequency. At 0 all labels weigh the same, and both variants "
    "are one; towards 1 and beyond, only the very rarest labels stand out.",
    "B": "Where the favour sets in: the larger B, the less very rare labels differ from rare ones.",
    "K": "How many labels of each list are counted in charts and lists.",
    "tie": "Off: PSP is measured with the data set's own A and B, so that only the model changes when you move the "
    "sliders. On: the ruler moves with the model.",
    "features": "The steps that make the features, joined by +, as in tfidf+unit or tfidf+unit+svd:300 or "
    "tfidf+unit+lm. Empty: what suits the data set. The Data page has them as buttons.",
    "own": "The best λ of the two variants often differ a little. Off: one λ for both.",
}


def body_controls(settings: Settings, lambda_range_of: LambdaRangeOf) -> None:
    """λ and A once more, in the page's body, where a narrow screen's open sidebar would cover the page."""
    with st.container(key="body_controls"):
        low, high = lambda_range_of(settings.data, settings.features)
        _lambda_slider("reg_lambda", "body_reg_lambda", "λ", settings.reg_lambda, low, high)
        st.session_state["body_A"] = settings.A
        st.slider("A", 0.0, A_MAX, step=0.01, key="body_A", on_change=_copy, args=("body_A", "A"), help=HELP["A"])


def _copy(source: str, target: str) -> None:
    st.session_state[target] = st.session_state[source]


def _lambda_slider(
    key: str, slider_key: str, label: str, value: float, low: float, high: float, disabled: bool = False
) -> None:
    st.session_state[slider_key] = value
    st.select_slider(
        label,
        slider_positions(low, high, value),
        format_func=lambda_text,
        key=slider_key,
        on_change=_copy,
        args=(slider_key, key),
        help=HELP["lambda"],
        disabled=disabled,
    )


def _lambda_control(key: str, label: str, low: float, high: float, disabled: bool = False) -> float:
    state = st.session_state

    def times(factor: float) -> None:
        state[key] = min(max(float(f"{state[key] * factor:.6g}"), LAMBDA_MIN), LAMBDA_MAX)

    slider = st.container()
    with st.container(horizontal=True, wrap=False, gap="xsmall"):
        value = st.number_input(
            f"{label}, typed",
            LAMBDA_MIN,
            LAMBDA_MAX,
            value=3.0,
            step=0.1,
            format="%g",
            key=key,
            bind="query-params",
            required=True,
            label_visibility="collapsed",
            disabled=disabled,
        )
        for text, what, factor in (("÷2", "halve", 0.5), ("×2", "double", 2.0)):
            tip = f"{what.capitalize()} {label}"
            st.button(text, key=f"{key}_{what}", on_click=times, args=(factor,), help=tip, disabled=disabled)
    with slider:
        _lambda_slider(key, f"{key}_slider", label, value, low, high, disabled)
    return value


def _presets(A: float, B: float) -> None:
    state = st.session_state

    def from_preset() -> None:
        if state["preset"] != OWN_VALUES:
            state["A"], state["B"] = PROPENSITY_PRESETS[state["preset"]]

    names = [name for name, values in PROPENSITY_PRESETS.items() if values == (A, B)]
    if state.get("preset") not in names:
        state["preset"] = names[0] if names else OWN_VALUES
    st.selectbox("A and B as used for", [*PROPENSITY_PRESETS, OWN_VALUES], key="preset", on_change=from_preset)


def _reset_and_hold(settings: Settings) -> None:
    def reset() -> None:
        st.session_state.update(DEFAULTS, features="")

    def toggle_hold() -> None:
        st.session_state[HOLD_KEY] = None if held() else settings

    with st.container(horizontal=True):
        st.button("Reset", on_click=reset, help="λ, A, B, K and the switches as at first", width="stretch")
        st.button(
            "Release" if held() else "Hold",
            key="hold_button",
            type="primary" if held() else "secondary",
            on_click=toggle_hold,
            help="Keeps the present setting as a ghost on cards and charts, to compare with, until you release it.",
            width="stretch",
        )


def held() -> Settings | None:
    """The setting that is held as a ghost, or None."""
    return st.session_state.get(HOLD_KEY)


def sync_hold() -> None:
    """Takes the held setting from the URL on a session's first run, and keeps the URL up to date afterwards."""
    text = st.query_params.get(HOLD_KEY)
    if HOLD_KEY not in st.session_state:
        st.session_state[HOLD_KEY] = _parse_hold(text) if text else None
    now = held()
    if now is None and text is not None:
        del st.query_params[HOLD_KEY]
    elif now is not None and text != _hold_text(now):
        st.query_params[HOLD_KEY] = _hold_text(now)


def _hold_text(settings: Settings) -> str:
    return "~".join(
        str(value).lower() if isinstance(value, bool) else str(value) for value in asdict(settings).values()
    )


def _parse_hold(text: str) -> Settings | None:
    parts = text.split("~")
    keys = [field.name for field in fields(Settings)]
    params = dict(zip(keys, parts, strict=False))
    if len(parts) != len(keys) or refusals(params, [params["data"]]):
        return None
    values = {key: ACCEPTED[key][0](text) for key, text in params.items() if key in ACCEPTED}
    for switch in ("own_lambda_ps", "tie_metric"):
        values[switch] = values[switch] == "true"
    return Settings(data=params["data"], **values)
