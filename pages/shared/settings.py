"""The settings that all pages share: one typed value, set in the sidebar, kept in the URL and carried by links."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.shared import mirror
from xmlcore import DataError, FeatureRecipe, catalog_entries
from xmlcore.figures_axes import shortened

LAMBDA_MIN, LAMBDA_MAX = 1e-9, 1e12
A_MAX, B_MIN, B_MAX, K_MAX = 2.0, 0.05, 10.0, 20
LINK_KEY = "set"  # a link inside the app carries its settings here; no widget is bound to it
HOLD_KEY = "hold"
REFUSED, REFUSED_WITH = "_refused", "_refused_with"  # sentences, and the data set that is shown with them
NUMBER = (int, float)
SWITCH = ("true", "false")  # what the address may hold for a toggle
LINKED = {
    **dict.fromkeys(("data", "features", "part"), (str,)),
    **dict.fromkeys(("reg_lambda", "reg_lambda_ps", "A", "B"), NUMBER),
    **dict.fromkeys(("own_lambda_ps", "tie_metric"), (bool,)),
    **dict.fromkeys(("K", "question"), (int,)),
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

    def __post_init__(self) -> None:
        if not self.own_lambda_ps:  # a link may say otherwise of a held setting
            object.__setattr__(self, "reg_lambda_ps", self.reg_lambda)


DEFAULTS = {field.name: field.default for field in fields(Settings) if field.name not in ("data", "features")}
USUAL = {**DEFAULTS, "data": catalog_entries()[0].title, "features": "", "question": 1}
"""What a control is set to where the address says nothing of it."""


def _is_recipe(text: str) -> bool:
    return not text or bool(FeatureRecipe.parse(text))


_A_LAMBDA = (float, lambda v: LAMBDA_MIN <= v <= LAMBDA_MAX, f"a number from {LAMBDA_MIN:g} to {LAMBDA_MAX:g}")
ACCEPTED: dict[str, tuple[Callable[[str], object], Callable[[object], bool], str]] = {
    "reg_lambda": _A_LAMBDA,
    "reg_lambda_ps": _A_LAMBDA,
    "A": (float, lambda v: 0 <= v <= A_MAX, f"a number from 0 to {A_MAX:g}"),
    "B": (float, lambda v: B_MIN <= v <= B_MAX, f"a number from {B_MIN:g} to {B_MAX:g}"),
    "K": (int, lambda v: 1 <= v <= K_MAX, f"a whole number from 1 to {K_MAX}"),
    "own_lambda_ps": (str, lambda v: v in SWITCH, "true or false"),
    "tie_metric": (str, lambda v: v in SWITCH, "true or false"),
    "features": (str, _is_recipe, "steps such as tfidf+unit"),
}
IN_ADDRESS = ("data", *ACCEPTED, HOLD_KEY)
"""The keys under which the address has the settings."""
MOST_QUOTED = 100


def as_quoted(text: str) -> str:
    """What a visitor typed, or a link has, as a sentence quotes it: where it is long, its beginning."""
    return shortened(text, MOST_QUOTED)


def _is_refused(key: str, text: str) -> bool:
    parse, accepts, _ = ACCEPTED[key]
    try:
        return not accepts(parse(text))
    except ValueError:
        return True


def _recipe_problem(text: str) -> str:
    try:
        FeatureRecipe.parse("+".join(map(as_quoted, text.replace(" ", "+").split("+"))))
    except DataError as error:
        return str(error).removeprefix("features: ")
    return ""


def refusals(params: dict[str, str], data_names: list[str]) -> list[str]:
    """A sentence for each value in a link that no control can take."""
    sentences = []
    for key, (_, _, expected) in ACCEPTED.items():
        if params.get(key) and _is_refused(key, params[key]):
            instead = DEFAULTS.get(key, "the features that suit the data set")
            instead = str(instead).lower() if isinstance(instead, bool) else instead
            why = _recipe_problem(params[key]) if key == "features" else f"expected {expected}"
            sentences.append(f"{key} = {as_quoted(params[key])} was refused: {why}. Using {instead}.")
    if "data" in params and params["data"] not in data_names:
        sentences.append(
            f"There is no data set called “{as_quoted(params['data'])}” here. An upload lives until its page is loaded "
            "anew and is seen by nobody else: upload it again. Others have to be downloaded first, on the Data page. "
            f"Available: {', '.join(data_names)}. Showing {data_names[0]}"
            f"{' with its usual features' if params.get('features') else ''}."
        )
    return sentences


def settings_text(settings: Settings) -> str:
    """λ, A and B as a line tells them: λ = 8 (PS: 32), A = 0.55, B = 1.5."""
    of_ps = f" (PS: {lambda_text(settings.reg_lambda_ps)})" if settings.own_lambda_ps else ""
    return f"λ = {lambda_text(settings.reg_lambda)}{of_ps}, A = {settings.A:g}, B = {settings.B:g}"


def own_lambda_text(settings: Settings) -> str:
    """At which λ PS stands, to follow "PS", where it is not that of XML-ridge; else nothing."""
    return f" at λ = {lambda_text(settings.reg_lambda_ps)}" if settings.reg_lambda_ps != settings.reg_lambda else ""


def lambda_text(reg_lambda: float) -> str:
    """λ as people write it: no exponent where it can be helped, no digits that say nothing."""
    digits = 6 if reg_lambda < 1e-4 else 10 if reg_lambda < 1e6 else 13  # as many as LAMBDA_MAX has
    return f"{reg_lambda:.{digits}g}"


def rounded_lambda_text(reg_lambda: float) -> str:
    """A λ that nobody typed, to three digits."""
    return lambda_text(float(f"{reg_lambda:.3g}"))


def link(settings: Settings, **changes: object) -> dict[str, str]:
    """The query parameters of a link inside the app that changes settings (and page state) in the same session.

    Beside them stands what the controls will then write into the address: each value that they had to write would be
    one step more for Back.
    """
    values = asdict(settings) | changes
    if not settings.own_lambda_ps:
        values["reg_lambda_ps"] = DEFAULTS["reg_lambda_ps"]  # what its field is at, though it is not used
    texts = {key: _address_text(key, value) for key, value in values.items() if value != USUAL.get(key)}
    return {LINK_KEY: json.dumps(values, separators=(",", ":")), **texts, **hold_in_link()}


def _address_text(key: str, value: object) -> str:
    if isinstance(value, float) and value.is_integer() and key in ("A", "B"):
        return str(int(value))  # as sliders do, and fields do not
    return str(value).lower() if isinstance(value, bool) else str(value)


def hold_in_link() -> dict[str, str]:
    """The query parameter by which a link inside the app keeps the held setting; none where none is held.

    Where it is left out, it is put back once the link was followed: one step more for Back, which would release it.
    """
    return {HOLD_KEY: _hold_text(held())} if held() else {}


def take_link() -> None:
    """Turns the settings of an internal link into session state, before any control is drawn."""
    text = st.query_params.get(LINK_KEY)
    if text is None:
        return
    del st.query_params[LINK_KEY]
    try:
        values = dict(json.loads(text))
    except (ValueError, TypeError, RecursionError):  # the last for a thousand brackets, one in the other
        return
    # A link may come from anybody: only what a link of ours can carry, and what a control can take.
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in values.items()}
    refused = {key for key, text in texts.items() if key != "data" and refusals({key: text}, [])}
    for key, value in values.items():
        fits = isinstance(value, LINKED.get(key, ())) and key not in refused
        if fits:
            mirror.put(**{key: float(value) if LINKED[key] == NUMBER else value})


def note_refusals(data_names: list[str]) -> None:
    """Remembers, on a session's first run, which values of its link cannot be taken, and takes the usual ones instead.

    Otherwise a control would make of them what it can, such as 2 of K = 2.5. A run's controls read the link as it was
    when the run began, so it begins anew.
    """
    if REFUSED not in st.session_state:
        # A key that is given twice is no value either.
        params = {key: ", ".join(st.query_params.get_all(key)) for key in st.query_params}
        st.session_state[REFUSED] = refusals(params, data_names)
        refused = [key for key in ACCEPTED if params.get(key) and _is_refused(key, params[key])]
        if params.get(HOLD_KEY) and _parse_hold(params[HOLD_KEY]) is None:
            quoted = f"hold = {as_quoted(params[HOLD_KEY])}"
            told = f"{quoted} was refused: it is no setting that was held here. Nothing is held."
            st.session_state[REFUSED].append(told)
            refused.append(HOLD_KEY)
        if "data" in params and params["data"] not in data_names:  # what else is of that data set says nothing here
            refused += [key for key in ("features", "instance") if key in params and key not in refused]
        for key in refused:
            del st.query_params[key]
        if refused:
            st.rerun()


def held() -> Settings | None:
    """The setting that is held as a ghost, or None."""
    return st.session_state.get(HOLD_KEY)


def sync_hold() -> None:
    """Takes the held setting from the URL on a session's first run and after Back or Forward; else writes it there."""
    text, context = st.query_params.get(HOLD_KEY), get_script_run_ctx()
    in_url = _parse_hold(text) if text else None
    if HOLD_KEY not in st.session_state or (context is not None and context.is_history_navigation):
        st.session_state[HOLD_KEY] = in_url
    now = held()
    if now is None and text is not None:
        del st.query_params[HOLD_KEY]
    elif now != in_url:  # written otherwise, as a link may have it, it stays: each change is one more step for Back
        st.query_params[HOLD_KEY] = _hold_text(now)


def _hold_text(settings: Settings) -> str:
    return "~".join(
        str(value).lower() if isinstance(value, bool) else str(value) for value in asdict(settings).values()
    )


def _parse_hold(text: str) -> Settings | None:
    keys = [field.name for field in fields(Settings)]
    parts = text.rsplit("~", len(keys) - 1)  # the first, a data set's name, may hold any sign
    params = dict(zip(keys, parts, strict=False))
    if len(parts) != len(keys) or refusals(params, [params["data"]]):
        return None
    if not all(text or key == "features" for key, text in params.items()):
        return None
    values = {key: ACCEPTED[key][0](text) for key, text in params.items() if key in ACCEPTED}
    for switch in ("own_lambda_ps", "tie_metric"):
        values[switch] = values[switch] == "true"
    return Settings(data=params["data"], **values)
