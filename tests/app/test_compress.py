"""The Compress page on Debtags: what is kept at each share, against the dense product thresholded by hand."""

from io import BytesIO

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import compression
from pages.shared import model as models
from pages.shared.settings import Settings
from xmlcore import RidgeFactorization, inverse_propensity, load_dataset, precision_at_k, top_k
from xmlcore.figures import RIDGE, RIDGE_PS

SECONDS = 240


@pytest.fixture(scope="module")
def page() -> AppTest:
    app = AppTest.from_file("../../app.py", default_timeout=SECONDS).run()
    app.switch_page("pages/compress.py").run()
    while not models.model_of("Debtags", "").ready:
        app.run()
    return app.run()


def test_two_percent_keep_what_a_thresholded_w_keeps(page):
    assert not page.exception
    ds = load_dataset("debtags")
    W = RidgeFactorization.fit(ds.X_train, ds.Y_train).weights(3.0)
    full = precision_at_k(top_k(ds.X_test @ W, 1), ds.Y_test, 1)
    kept = np.where(np.abs(W) >= np.quantile(np.abs(W), 0.98), W, 0)
    expected = 100 * precision_at_k(top_k(ds.X_test @ kept, 1), ds.Y_test, 1) / full
    shown = page.dataframe[0].value.loc["XML-ridge", "P@1 (% of full)"]
    assert shown == pytest.approx(expected, abs=0.05)


def test_the_slider_changes_what_is_kept(page):
    page.select_slider(key="kept_share").set_value("10 %").run()
    assert not page.exception
    assert page.dataframe[0].value["kept (%)"].tolist() == pytest.approx([10, 10], abs=0.05)


def test_the_weights_of_the_weighted_variant_carry_theta():
    answer = models.answer(Settings(data="Debtags"))
    theta = inverse_propensity(answer.dataset.Y_train, 0.55, 1.5)
    found = {variant: np.load(BytesIO(compression.download(answer, variant, 1.0))) for variant in (RIDGE, RIDGE_PS)}
    np.testing.assert_allclose(
        found[RIDGE_PS]["data"], found[RIDGE]["data"] * theta[found[RIDGE]["indices"]], rtol=1e-5, atol=1e-7
    )
