"""Learn's six steps, from the objective to the weighted scores: a text beside its numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared import show
from pages.shared.learn_example import Bench, work
from xmlcore.figures import RIDGE, RIDGE_PS, grouped_bars
from xmlcore.toy import objective

ROUNDING = 1e-9  # what is smaller in the example is what rounding leaves of 0


@dataclass(frozen=True)
class Step:
    """One idea: the answer in a sentence, its formulas, why, a function that shows its numbers, and their sliders.

    sliders: which of the example's λ, A and B its numbers depend on.
    """

    title: str
    answer: str
    formulas: tuple[str, ...]
    words: str
    numbers: Callable[[Bench], None]
    sliders: str


def text(step: Step) -> None:
    """The step's answer, formulas and explanation."""
    st.markdown(f"## {step.answer}")
    for formula in step.formulas:
        st.latex(formula)
    st.markdown(f"{step.words}\n\n:small[:gray[The sidebar's settings act on the data set, not on this example.]]")


def _name(bench: Bench, label: int) -> str:
    return bench.example.labels[label]


def _documents(count: int) -> str:
    return "no document" if count == 0 else "1 document" if count == 1 else f"{count} documents"


def _table(values: np.ndarray, rows: list[str], columns: list[str], digits: int = 2) -> None:
    st.table(pd.DataFrame(values, index=rows, columns=columns).map(lambda value: _number(value, digits)))


def _number(value: float, digits: int = 2) -> str:
    if ROUNDING < abs(value) < 0.5 * 10**-digits:  # as 0.00 it would seem to be nothing
        text = np.format_float_positional(value, 2, fractional=False, trim="-")
    else:
        # An addition turns -0.0 into 0.0, so that no "−0.00" is shown.
        text = f"{round(float(value), digits) + 0.0:.{digits}f}"
    return text.replace("-", "−")


def _verdict(bench: Bench) -> str:
    w = bench.worked
    first, first_ps = w.order[0], w.order_ps[0]
    if not w.scores.any():
        return "All scores are 0: the new document shares no word with a labelled document, or none has a label."
    if first == first_ps:
        return (
            f"For the new document both variants rank **{_name(bench, first)}** first, a label on "
            f"{_documents(w.label_counts[first])} of {len(bench.example.Y)}.{_ties(bench)}"
        )
    return (
        f"For the new document {RIDGE} ranks **{_name(bench, first)}** first, a label on "
        f"{_documents(w.label_counts[first])} of {len(bench.example.Y)}; weighting puts **{_name(bench, first_ps)}** "
        f"first, which is on {_documents(w.label_counts[first_ps])}.{_ties(bench)}"
    )


def _ties(bench: Bench) -> str:
    """Which labels score as much as the one ranked first."""
    told = []
    w, at = bench.worked, np.arange(len(bench.example.labels))
    for variant, scores, order in ((RIDGE, w.scores, w.order), (RIDGE_PS, w.scores_ps, w.order_ps)):
        others = np.flatnonzero(np.isclose(scores, scores[order[0]], rtol=1e-9, atol=0) & (at != order[0]))
        if others.size:
            names = " and ".join(f"**{_name(bench, label)}**" for label in others)
            told.append(f" By {variant} {names} {'scores' if others.size == 1 else 'score'} the same.")
    return "".join(told)


def _scores_chart(bench: Bench) -> None:
    labels, w, at = list(bench.example.labels), bench.worked, bench.parameters
    st.markdown(_verdict(bench))
    values = {RIDGE: w.scores, RIDGE_PS: w.scores_ps}
    show.chart(
        grouped_bars(labels, values, x_title="Label", y_title="Score", height=240),
        name="toy_scores",
        caption="The highest bar of each colour is the first answer of that variant."
        if w.scores.any()
        else "There is no bar: all scores are 0.",
        alt="Scores of the new document: "
        + "; ".join(
            f"{label} {s:.2f}, with PS {p:.2f}" for label, s, p in zip(labels, w.scores, w.scores_ps, strict=True)
        ),
        data=lambda: pd.DataFrame({"label": labels, "score": w.scores, "score with PS": w.scores_ps}).assign(
            **{"lambda": at.reg_lambda, "A": at.A, "B": at.B, "of": "the example of Learn"}
        ),
    )


def _objective_numbers(bench: Bench) -> None:
    example, lam = bench.example, bench.parameters.reg_lambda
    rows = {}
    for factor in (0.1, 1.0, 10.0):
        W = work(example, replace(bench.parameters, reg_lambda=factor * lam)).weights
        rows[f"W made with λ = {factor * lam:g}" + (" (now)" if factor == 1 else "")] = W
    rows["W = 0, nothing learned"] = np.zeros_like(bench.worked.weights)
    results = [objective(example.X, example.Y, W, lam) for W in rows.values()]
    _table(
        np.array([[result.error, result.size, result.total] for result in results]),
        list(rows),
        ["error ‖XW − Y‖²", "size ‖W‖²", f"error + {lam:g} · size"],
        digits=3,
    )
    minimised = "The last column is what is minimised at the example's λ"
    if bench.worked.weights.any():
        st.caption(
            f"{minimised}; it is lowest in the row “now”. A smaller λ fits the five documents better, with larger "
            "weights; a larger λ fits them worse, with smaller weights."
        )
    else:
        st.caption(f"{minimised}. All rows are the same: no word is in a document with a label, so W is 0 at any λ.")


def _gram_numbers(bench: Bench) -> None:
    words, labels, w = list(bench.example.words), list(bench.example.labels), bench.worked
    left, right = st.columns([4, 3])
    digits = 0 if _whole(w.gram) else 2
    with left:
        st.markdown("**G = XᵀX**: word meets word")
        _table(w.gram, words, words, digits)
    with right:
        st.markdown("**XᵀY**: word meets label")
        _table(w.cross, words, labels, digits=0 if _whole(w.cross) else 2)
    products = " + ".join(f"{row[0]:g}·{row[1]:g}" for row in bench.example.X)
    st.caption(
        f"Each number is a sum over the documents. *{words[0]}* with *{words[1]}*: {products} = "
        f"{_number(w.gram[0, 1], digits)}. Neither table depends on λ."
    )
    with st.expander("More words than documents?"):
        st.latex(r"(X^\top X + \lambda I)^{-1} X^\top = X^\top (X X^\top + \lambda I)^{-1}")
        documents = list(bench.example.documents)
        st.markdown(
            "Multiply out Xᵀ(XXᵀ + λI) = (XᵀX + λI)Xᵀ to see it. So W = Xᵀ(XXᵀ + λI)⁻¹Y, and the smaller of the two "
            f"tables is enough: words by words, here {len(words)} × {len(words)}, or documents by documents, here "
            f"{len(documents)} × {len(documents)}. Which of the two a data set has is in the sidebar."
        )
        st.markdown("**XXᵀ**: document meets document")
        gram = bench.example.X @ bench.example.X.T
        _table(gram, documents, documents, digits=0 if _whole(gram) else 2)


def _whole(values: np.ndarray) -> bool:
    return bool((values == np.round(values)).all())


def _eigenvalue_numbers(bench: Bench) -> None:
    w, lam = bench.worked, bench.parameters.reg_lambda
    directions = [f"direction {i + 1}" for i in range(len(w.eigenvalues))]
    columns = ["σ", "1/σ", f"1/(σ + {lam:g})", "share kept, σ/(σ+λ)"]
    cells = [
        [_number(s, 3), _number(1 / s, 3) if s > 0 else "infinite", _number(inverse, 3), show.percent(s * inverse)]
        for s, inverse in zip(w.eigenvalues, w.inverse, strict=True)
    ]
    st.table(pd.DataFrame(cells, index=directions, columns=columns))
    zeros = int((w.eigenvalues == 0).sum())
    st.caption(
        (f"{zeros} of the {len(directions)} eigenvalues {'is' if zeros == 1 else 'are'} 0: without λ there would be a "
         "division by zero. " if zeros else "")
        + "Move the example's λ: only the last two columns change. Directions with σ far above λ stay as they are, "
        "those far below it are all but removed. Share kept: of what λ = 0 would give along that direction."
    )  # fmt: skip
    with st.expander("V and Q, made once"):
        st.markdown("**V**, a direction in each column")
        _table(w.eigenvectors, list(bench.example.words), [str(i + 1) for i in range(len(directions))])
        st.markdown("**Q = VᵀXᵀY**, the labels along each direction")
        _table(w.projected, directions, list(bench.example.labels))


def _weight_numbers(bench: Bench) -> None:
    words, labels, w = list(bench.example.words), list(bench.example.labels), bench.worked
    cells = np.column_stack([bench.example.x_new, w.weights])
    frame = pd.DataFrame(cells, index=words, columns=["x", *labels]).map(_number)
    frame["x"] = [f"{count:g}" for count in bench.example.x_new]
    frame.loc["**score s = xW**"] = ["", *(f"**{_number(score)}**" for score in w.scores)]
    st.markdown("**W**, beside the new document **x**")
    st.table(frame)
    best = w.order[0]
    terms = " + ".join(
        f"{count:g} · {_number(weight)}"
        for count, weight in zip(bench.example.x_new, w.weights[:, best], strict=True)
        if count
    )
    if terms:
        st.caption(f"*{labels[best]}*: {terms} = {_number(w.scores[best])}. The words' parts always sum to the score.")
    with st.expander("The same scores as votes of the documents"):
        st.markdown(
            "Read from the other side, every labelled document casts one vote a for all of its labels, "
            "a = X (G + λI)⁻¹ xᵀ. The votes of the documents that have a label sum to exactly the same score."
        )
        marks = np.where(bench.example.Y > 0, w.votes[:, None], np.nan)
        frame = pd.DataFrame(marks, index=list(bench.example.documents), columns=labels)
        frame = frame.map(lambda vote: "·" if np.isnan(vote) else _number(vote, 3))
        frame.insert(0, "vote a", [_number(vote, 3) for vote in w.votes])
        frame.loc["**sum = score**"] = ["", *(f"**{_number(score, 3)}**" for score in w.scores)]
        st.table(frame)
    with st.expander("The score of a document by all the others"):
        st.latex(
            r"s^{(-i)}_l = \frac{s_l(x_i) - h_i\,Y_{il}}{1 - h_i}, \qquad h_i = x_i\,(G + \lambda I)^{-1} x_i^\top"
        )
        told = (
            "A labelled document's own score flatters itself: its labels helped to make W. **h** says how much of the "
            "score is its own label's doing. Taking it out gives exactly the score of a W made without the document, "
            "and nothing is solved again. That is how the page Tune draws its held-out curves; where instances come in "
            "families, as packages of one source do, it takes out the whole family."
        )
        if bench.example.Y.any():
            at, own = np.argwhere(bench.example.Y)[0].tolist()
            told += (
                f" *{bench.example.documents[at]}* for *{labels[own]}*: {_number(w.fitted[at, own], 3)} by all "
                f"documents, h = {_number(w.leverages[at], 3)}, so {_number(w.left_out[at, own], 3)} by the others."
            )
        st.markdown(told)
        frame = pd.DataFrame(w.left_out, index=list(bench.example.documents), columns=labels).map(_number)
        frame.insert(0, "h", [_number(leverage, 3) for leverage in w.leverages])
        st.table(frame)


def _weighting_numbers(bench: Bench) -> None:
    w = bench.worked
    rank, rank_ps = np.argsort(w.order) + 1, np.argsort(w.order_ps) + 1
    moved = [
        f"{now} ↑" if now < was else f"{now} ↓" if now > was else str(now)
        for was, now in zip(rank, rank_ps, strict=True)
    ]
    st.markdown(_verdict(bench))
    st.table(
        pd.DataFrame(
            {
                "documents N": w.label_counts.astype(str),
                "θ": [_number(theta, 3) for theta in w.inverse_propensity],
                "score s": [_number(score, 3) for score in w.scores],
                "rank": rank.astype(str),
                "θ · s": [_number(score, 3) for score in w.scores_ps],
                "rank with PS": moved,
            },
            index=list(bench.example.labels),
        )
    )
    st.caption(
        "With A = 0 every label has the same θ, and both rankings are one. A label on a single document has θ = ln D "
        f"whatever A and B are: here ln 5 = {np.log(5):.2f}, among 20,000 documents {np.log(20_000):.2f}."
    )


STEPS = (
    Step(
        "In one line",
        "One formula turns the words of a document into a score for every label.",
        (
            r"s(x) = x\,(X^\top X + \lambda I)^{-1} X^\top Y",
            r"s^{\mathrm{PS}}_l(x) = \theta_l\, s_l(x)",
        ),
        "Each row of **X** counts the words of a document, each row of **Y** marks its labels, and **x** is a new "
        "document. The labels with the highest scores are the answer. That is XML-ridge. **XML-ridge with propensity "
        "scores** (PS) multiplies each score by θ, which is larger for a rarer label. The five steps that follow "
        "derive the line; edit any number below and see what becomes of it. (On the other pages X usually holds "
        "TF-IDF weights, in which a word that is everywhere counts less.)",
        _scores_chart,
        "λAB",
    ),
    Step(
        "Objective",
        "W should give back the labels, and its weights should be small; λ says how much smallness counts.",
        (r"\min_W \; \lVert XW - Y \rVert_F^2 + \lambda\, \lVert W \rVert_F^2",),
        "**W** has a column for each label, with a weight for each word: XW are the scores of the labelled documents. "
        "The first term sums their squared distances from **Y**, 1 for a label that is there and 0 for one that is "
        "not. The second sums the squared weights. Without it, weights of rare words grow to whatever reproduces the "
        "few documents they occur in, and that does not carry over to new ones.",
        _objective_numbers,
        "λ",
    ),
    Step(
        "Normal equations",
        "Where the slope is zero, the best W solves a linear system.",
        (
            r"2 X^\top (XW - Y) + 2\lambda W = 0",
            r"(X^\top X + \lambda I)\, W = X^\top Y",
        ),
        "The first line is the derivative of the objective by W. Sort the terms and the second follows. With λ > 0 "
        "the objective is a bowl, so the one point without slope is its lowest. All that is needed of the documents "
        "are two tables of sums: **G = XᵀX**, words by words, and **XᵀY**, words by labels. Every label has a column "
        "of its own on the right, so all labels share one system: that is why thousands of labels are no trouble.",
        _gram_numbers,
        "",
    ),
    Step(
        "Eigenvalues",
        "Take G apart once, and every λ is a division away.",
        (
            r"G = V\,\mathrm{diag}(\sigma)\,V^\top",
            r"(G + \lambda I)^{-1} = V\,\mathrm{diag}\!\left(\tfrac{1}{\sigma+\lambda}\right) V^\top",
        ),
        "The columns of **V** are directions, mixtures of words at right angles to each other; the eigenvalue **σ** "
        "is the sum of the documents' squared coordinates along it. Adding λI to G adds λ to each σ and leaves the "
        "directions alone. So V, σ and **Q = VᵀXᵀY** are made once, and a new λ divides Q's rows by new numbers. "
        "That is how the other pages answer each λ of the sidebar.",
        _eigenvalue_numbers,
        "λ",
    ),
    Step(
        "Weights and scores",
        "A score is the sum of the words' weights, each times its count.",
        (
            r"W = V\,\mathrm{diag}\!\left(\tfrac{1}{\sigma+\lambda}\right) Q",
            r"s_l(x) = \sum_n x_n W_{nl}",
        ),
        "Here the steps come together: G is taken apart, λ is put in, and W follows. For a new document, multiply each "
        "word's count by its weight for a label and add. A negative weight is a word that speaks against the label. "
        "Since the sum is exact, so is the explanation of a score by its words, on the page Instances.",
        _weight_numbers,
        "λ",
    ),
    Step(
        "Rare labels",
        "A rare label is often missing where it would be right; θ makes up for it.",
        (
            r"\theta_l = 1 + (\ln D - 1)\left(\frac{B+1}{N_l+B}\right)^{\!A}",
            r"s^{\mathrm{PS}}_l(x) = \theta_l\, s_l(x)",
        ),
        "Nobody gives a document all the labels that fit. The **propensity** p = 1/θ is a model of the chance that a "
        "fitting label was in fact recorded: lower for a label on few (**N**) of the **D** documents. XML-ridge with "
        "PS puts θ in place of each 1 in the label's column of Y: θ times what was recorded is right on average. The "
        "solution is linear in Y, so the same column of W, and its scores, are scaled by the same θ: nothing is solved "
        "again. A and B are the model's parameters; they "
        "need D ≥ 3, since θ rises with rarity only where ln D > 1.",
        _weighting_numbers,
        "λAB",
    ),
)  # fmt: skip
