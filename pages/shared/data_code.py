"""The present setting as Python, so that the numbers of the pages can be had again without them."""

from __future__ import annotations

import streamlit as st

from pages.shared.answers import CARD_KS
from pages.shared.model import Model
from pages.shared.settings import Settings
from xmlcore import Dataset, FeatureRecipe
from xmlcore.units import counted

CODE = """\
from xmlcore import RidgeFactorization, evaluate, inverse_propensity, load_dataset, metric_inverse_propensity

ds = load_dataset({source}){note}
fac = RidgeFactorization.fit(ds.X_train, ds.Y_train)  # serves every λ
result = evaluate(
    fac,
    fac.project(ds.X_test),
    ds.Y_test,
    reg_lambda={reg_lambda},{of_ps}
    inverse_propensity=inverse_propensity(ds.Y_train, A={A}, B={B}),  # weights of the model
    metric_inverse_propensity=metric_inverse_propensity(ds, A={metric_A}, B={metric_B}),  # PSP's: {ruler}
    ks={ks},{mask}
)
for name, variant in (("XML-ridge", result.ridge), ("XML-ridge with PS", result.ps)):
    for short, metric in (("P", "precision"), ("PSP", "psprecision")):
        print(name, *(f"{{short}}@{{k}} {{100 * value:.2f}}" for k, value in variant.metrics[metric].items()))
"""


def code_text(settings: Settings, data: Dataset, name_or_path: str, note: str = "") -> str:
    """Python that prints P@K and PSP@K of both variants at these settings, for K = 1, 3, 5 and the present one.

    data: whose A, B and mask are meant. name_or_path: what `load_dataset` takes for it. note: a comment on that.
    """
    tied = settings.tie_metric
    metric_A, metric_B = (settings.A, settings.B) if tied else (data.A, data.B)
    features = f', features="{FeatureRecipe.parse(settings.features)}"' if settings.features else ""
    return CODE.format(
        source=f'"{name_or_path}"{features}',
        note=f"  # {note}" if note else "",
        reg_lambda=settings.reg_lambda,
        of_ps=f"\n    reg_lambda_ps={settings.reg_lambda_ps}," if settings.own_lambda_ps else "",
        A=settings.A,
        B=settings.B,
        metric_A=metric_A,
        metric_B=metric_B,
        ruler="those of the model" if tied else "the data set's own",
        ks=tuple(sorted({*CARD_KS, settings.K})),
        mask="\n    exclude=ds.test_filter," if data.test_filter is not None else "",
    )


def section(model: Model, settings: Settings, name_or_path: str, note: str = "") -> None:
    """The code, folded, and of which rows its numbers are."""
    folded = st.expander("The code for this setting", key="code", on_change="rerun")
    if not folded.open:  # what colours code is 1.5 MB, which a first visit need not wait for
        return
    with folded:
        st.code(code_text(settings, model.full, name_or_path, note), language="python")
        whole, shown = model.full.n_test, model.dataset.n_test
        of_sample = f" The pages show those of a sample of {shown:,}, which differ a little." if shown < whole else ""
        st.caption(
            f"Prints P@K and PSP@K of both variants in percent, of {counted(whole, 'test instance')}.{of_sample} Run "
            "it in the project's folder, or anywhere after `pip install -e .` there."
        )
