"""Learn's five guided questions on Debtags: where each sets the sliders, what to look for, and the answer.

Every figure in an answer is checked by a test against the data.
"""

from __future__ import annotations

from dataclasses import dataclass

from pages.shared.settings import Settings

DATA = "Debtags"


@dataclass(frozen=True)
class Question:
    """A question with the settings that it starts from.

    Attributes:
        question: as asked. start: what its link sets; everything else goes to its default.
        look_for: what to do with the sliders and where to look. answer: with figures of the Debtags test packages.
        chart: which of the four numbers is shown by label frequency.
    """

    question: str
    look_for: str
    answer: str
    start: dict[str, object]
    chart: str = "P@1"

    @property
    def settings(self) -> Settings:
        """All settings that the link sets."""
        return Settings(data=DATA, **self.start)


QUESTIONS = (
    Question(
        question="At which λ is P@1 best? Is it best for PSP@5 too?",
        start={"reg_lambda": 0.25, "reg_lambda_ps": 0.25},
        look_for="Double λ with the ×2 button in the sidebar, step by step up to 64, and watch P@1 and PSP@5 of "
        "XML-ridge, the first line. Note at which λ each is highest.",
        answer="Among these, P@1 is highest at λ = 4, 85.71 %, and nearly the same at 8. PSP@5 is highest at λ = 2, "
        "63.64 %, and at 8 it has lost 1.2 points. So no λ is best for both. PSP counts rare labels more, and a "
        "growing λ first takes away the directions that few packages share, which are those that rare labels lean on.",
        chart="PSP@5",
    ),
    Question(
        question="Do XML-ridge and XML-ridge with PS want the same λ?",
        start={"reg_lambda": 4.0, "reg_lambda_ps": 4.0},
        look_for="The link sets λ = 4, of those the best for P@1 of XML-ridge. Go on doubling it up to 64 and watch "
        "P@1 of XML-ridge with PS, the second line. Then do the same from λ = 1 with PSP@5.",
        answer="No: with weighting, a larger λ is better. P@1 with PS is 82.14 % at λ = 4 and highest at 32, 84.86 %, "
        "eight times the best λ of XML-ridge. PSP@5 with PS is highest at 4, 66.73 %, that of XML-ridge at 2. "
        "Weighting multiplies the scores of rare labels and with them their noise, and a larger λ calms it. So each "
        "variant deserves a λ of its own: “A λ of its own for PS”, under “More settings”, is for that.",
    ),
    Question(
        question="What does A do to frequent and to rare labels? Is more of it always stronger?",
        start={"A": 0.0},
        look_for="At A = 0 both variants are one. Raise A to 0.40, then to 1.50, and watch the two lines and the bars.",
        answer="At A = 0.40 right answers move from frequent labels to rare ones: labels with fewer than 100 training "
        "packages contribute 6.92 points to P@1 instead of 1.79, those with 1,000 or more 62.18 instead of 77.36. "
        "PSP@5 rises by 3.37 points, and P@1 pays 5.30. But more is not always stronger: at A = 1.50, P@1 is back at "
        "85.71 %. θ then falls so steeply with frequency that it is near 1 for all but the very rarest labels, and "
        "few test packages have one of those.",
    ),
    Question(
        question="Why is PSP@1 lower than P@1? And what is it measured with?",
        start={"A": 0.0, "tie_metric": True},
        look_for="The link ties the metric to the sliders and sets A = 0, so every label counts the same. Compare "
        "PSP@1 with P@1. Then raise A to 0.55 and watch the first line: XML-ridge itself does not depend on A.",
        answer="At A = 0, PSP@1 is P@1: 85.71 %. At A = 0.55 it is 55.40 %, though XML-ridge ranks just as before. A "
        "right answer now counts θ of its label, 1.21 on average, since most are frequent labels; and the sum is "
        "divided by what the rarest label of each package would have given, 1.86 on average. So PSP@1 is lower than "
        "P@1 where the right answers are mostly frequent labels. And it was the ruler that moved, not the model: that "
        "is why the metric keeps A = 0.55 and B = 1.5 unless you tie it to the sliders. (Why is PSP@5 80.45 % at "
        "A = 0, and P@5 44.87 %? 71 % of the packages have fewer than five labels, so that even a perfect ranking has "
        "a P@5 of 55.78 % only; PSP is divided by what that would score, and P is not.)",
        chart="PSP@1",
    ),
    Question(
        question="What is left when λ is huge?",
        start={"reg_lambda": 1e6, "reg_lambda_ps": 1e6},
        look_for="At λ = 1,000,000 all scores are nearly 0. Is P@1 nearly 0 too? See how many different labels are "
        "ever ranked first, and in which bars the right answers are. Compare with λ = 3.",
        answer="P@1 of XML-ridge is still 57.69 %: ranking only asks which score is larger. (G + λI)⁻¹ has become "
        "1/λ, the same for all directions, and what is left is x XᵀY: how many words the package shares with the "
        "packages of each label. Frequent labels have more packages, so they win: only 6 of the 598 labels are ever "
        "ranked first, where λ = 3 has 102. Always answering the most frequent label would give 34.17 %.",
    ),
)
