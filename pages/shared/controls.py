"""The controls that all pages share: the sidebar, and λ and A once more in the body of narrow screens.

λ's one truth is the number field. Its slider cannot be bound to the URL (it would drop every typed value that is not
one of its positions), so both mirror each other; see `mirror` for how that stays safe.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from pages.shared import mirror, preparing, sources
from pages.shared.frame import plain_markdown
from pages.shared.settings import (
    A_MAX,
    B_MAX,
    B_MIN,
    DEFAULTS,
    HOLD_KEY,
    K_MAX,
    LAMBDA_MAX,
    LAMBDA_MIN,
    Settings,
    held,
    lambda_text,
)
from xmlcore import PROPENSITY_PRESETS, DataError

POSITIONS_PER_DECADE = 20


def slider_positions(low: float, high: float, *current: float) -> list[float]:
    """The λ slider's positions: log-spaced, with three digits, and the current values exactly as they are."""
    first = math.floor(math.log10(low) * POSITIONS_PER_DECADE)
    last = math.ceil(math.log10(high) * POSITIONS_PER_DECADE)
    grid = {float(f"{10 ** (step / POSITIONS_PER_DECADE):.3g}") for step in range(first, last + 1)}
    return sorted(grid | set(current))


def sidebar(data_names: list[str]) -> tuple[Settings, str | None]:
    """Draws the controls that all pages share; what they are set to, and what could not be had, in a sentence.

    Where the data set or the features cannot be had, the default ones take their place in the settings, which the
    sentence says: the fields still name what was chosen.
    """
    mirror.begin_run()
    data = st.selectbox("Data set", data_names, **_bound("data"))
    controls = st.container()
    more = st.expander("More settings")
    features = more.text_input("Features", value="", help=HELP["features"], **_bound("features"))
    mirror.tell_drawn(mirror.DRAWN_EARLY)
    data, features, (low, high), problem = _what_can_be_had(data, features, data_names[0])
    settings = Settings(data=data, features=features)
    with controls:
        settings = replace(
            settings,
            reg_lambda=_lambda_control("reg_lambda", "λ", low, high),
            A=_slider("A", 0.0, A_MAX, 0.01),
            B=_slider("B", B_MIN, B_MAX, 0.05),
            K=_slider("K", 1, K_MAX, 1),
        )
    with more:
        _presets(settings.A, settings.B)
        tie = st.toggle("Measure PSP with these A and B", value=False, help=HELP["tie"], **_bound("tie_metric"))
        own = st.toggle("A λ of its own for PS", value=False, help=HELP["own"], **_bound("own_lambda_ps"))
        # The field is drawn always: a bound one that is not drawn at first loses its value from a link.
        own_value = _lambda_control("reg_lambda_ps", "λ of PS", low, high, enabled=own)
    reg_lambda_ps = own_value if own else settings.reg_lambda
    settings = replace(settings, tie_metric=tie, own_lambda_ps=own, reg_lambda_ps=reg_lambda_ps)
    _reset_and_hold(settings)
    mirror.tell_drawn(mirror.DRAWN)
    return settings, problem


def _what_can_be_had(data: str, features: str, first: str) -> tuple[str, str, tuple[float, float], str | None]:
    problem, last = None, ""
    for choice, instead in (
        ((data, features), ""),
        ((data, ""), f"All numbers are of {data} with its usual features."),
        ((first, ""), f"All numbers are of {first}."),
    ):
        try:
            title, recipe = choice[0], sources.features_setting(*choice)
            lambdas = preparing.lambda_range_of(title, recipe)
            return title, recipe, lambdas, None if problem is None else f"{problem}. {instead}"
        except DataError as error:
            problem, last = problem or f"{data}: {error}", f"{first}: {error}"
    raise DataError(last)


HELP = {
    "lambda": "The penalty on large weights, the only hyperparameter of XML-ridge. Small: the model follows the "
    "training data closely; large: it is cautious and smooth. "
    f"Type any value from {LAMBDA_MIN:g} to {LAMBDA_MAX:g}.",
    "A": "PS (propensity scores) multiplies the scores of each label by its inverse propensity θ, which is larger for "
    "rarer labels. A: how steeply θ falls with the label's frequency. At 0 all labels weigh the same and, at the same "
    "λ, both variants are one; towards 1 and beyond, only the very rarest labels stand out.",
    "B": "How far very rare labels differ from rare ones: the larger B, the less.",
    "K": "How many labels of each list are counted in charts and lists. P@K: of the K labels ranked first, the share "
    "that is right. PSP@K: the same with each right label counted θ times, in percent of what a perfect ranking has.",
    "tie": "Off: PSP is measured with the A and B that are usual for the data set (where none are known, 0.55 and "
    "1.5), so that only the model changes when you move the sliders. On: the ruler moves with the model.",
    "features": "The steps that make the features, joined by +, as in tfidf+unit or tfidf+unit+svd:300 or "
    "tfidf+unit+lm. Empty: what suits the data set. The Data page has them as buttons.",
    "own": "PS often does best at a larger λ; on Debtags, P@1 at eight times as much. Off: one λ for both.",
}


def body_controls(settings: Settings) -> None:
    """λ and A once more, in the page's body, where a narrow screen's open sidebar would cover the page."""
    with st.container(key="body_controls"):
        low, high = preparing.lambda_range_of(settings.data, settings.features)
        _lambda_slider("reg_lambda", "body_reg_lambda", "λ", settings.reg_lambda, low, high)
        key = mirror.key_of("body_A", settings.A)
        args = ("body_A", key, _put_as("A"))
        st.slider("A", 0.0, A_MAX, settings.A, 0.01, key=key, on_change=mirror.on_move, args=args, help=HELP["A"])


def _put_as(key: str) -> Callable[[float], None]:
    return lambda value: mirror.put(**{key: value})


def _slider(key: str, low: float, high: float, step: float) -> float:
    return st.slider(key, low, high, value=DEFAULTS[key], step=step, help=HELP[key], **_bound(key))


def _bound(key: str) -> dict:
    """What every control that is bound to the URL is drawn with."""
    return {"key": key, "bind": "query-params", "on_change": mirror.undo_echo, "args": (key,)}


def _lambda_slider(target: str, name: str, label: str, value: float, low: float, high: float) -> None:
    key = mirror.key_of(name, value, low, high)
    st.select_slider(
        label,
        slider_positions(low, high, value, mirror.first_value(name)),
        value,
        format_func=lambda_text,
        key=key,
        on_change=mirror.on_move,
        args=(name, key, _put_as(target)),
        help=HELP["lambda"],
    )


def _lambda_control(key: str, label: str, low: float, high: float, enabled: bool = True) -> float:
    slider = st.container()
    with st.container(horizontal=True, wrap=False, gap="xsmall"):
        value = st.number_input(
            f"{label}, typed",
            LAMBDA_MIN,
            LAMBDA_MAX,
            value=3.0,
            step=0.1,
            format="%g",
            required=True,
            label_visibility="collapsed",
            disabled=not enabled,
            **_bound(key),
        )
        if enabled:
            for text, what, factor in (("÷2", "halve", 0.5), ("×2", "double", 2.0)):
                tip = f"{what.capitalize()} {label}"
                st.button(text, key=f"{key}_{what}", on_click=times, args=(key, factor), help=tip)
    if enabled:
        with slider:
            _lambda_slider(key, f"{key}_slider", label, value, low, high)
    return value


def times(key: str, factor: float) -> None:
    """Multiplies a λ, within the bounds of its field; for a button's `on_click`."""
    value = float(f"{st.session_state[key] * factor:.6g}")
    mirror.put(**{key: min(max(value, LAMBDA_MIN), LAMBDA_MAX)})


def _presets(A: float, B: float) -> None:
    pairs = list(dict.fromkeys(PROPENSITY_PRESETS.values()))
    now = (A, B) if (A, B) in pairs else None
    key = mirror.key_of("preset", now)
    st.radio(
        "A and B as used for",
        pairs,
        None if now is None else pairs.index(now),
        format_func=lambda pair: ", ".join(name for name, values in PROPENSITY_PRESETS.items() if values == pair),
        captions=[f"{A:g} and {B:g}" for A, B in pairs],
        key=key,
        on_change=mirror.on_move,
        args=("preset", key, lambda pair: mirror.put(A=pair[0], B=pair[1])),
    )


def _reset_and_hold(settings: Settings) -> None:
    def reset() -> None:
        mirror.put(**DEFAULTS, features="")

    def toggle_hold() -> None:
        st.session_state[HOLD_KEY] = None if held() else settings

    with st.container(horizontal=True):
        st.button(
            "Reset", on_click=reset, help="The sidebar's λ, A, B, K, features and switches as at first", width="stretch"
        )
        st.button(
            "Release" if held() else "Hold",
            key="hold_button",
            on_click=toggle_hold,
            help="Keeps the present setting as a ghost on cards and charts, to compare with, until you release it.",
            width="stretch",
        )
    if held() and (held().data, held().features) != (settings.data, settings.features):
        whose = plain_markdown(held().data) if held().data != settings.data else "other features"
        st.caption(f"The held setting is of {whose}, and is shown only there.")
