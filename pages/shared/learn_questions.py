"""Learn's five guided questions on Debtags: where each sets the sliders, what to look for, and the answer.

Every figure in an answer is checked by a test against the data.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pages.shared.settings import Settings

DATA = "Debtags"


@dataclass(frozen=True)
class Question:
    """A question with the settings that it starts from.

    Attributes:
        short: for the menu of questions. question: as asked.
        start: what its link sets; everything else goes to its default.
        look_for: what to do with the sliders and where to look. answer: with figures of the Debtags test packages.
        chart: the metric and K whose contributions are shown by label frequency.
    """

    short: str
    question: str
    look_for: str
    answer: str
    start: dict[str, object] = field(default_factory=dict)
    chart: tuple[str, int] = ("precision", 1)

    @property
    def settings(self) -> Settings:
        """All settings that the link sets."""
        return Settings(data=DATA, **self.start)


QUESTIONS = (
    Question(
        short="The best λ",
        question="At which λ is P@1 best? Is it best for PSP@5 too?",
        start={"reg_lambda": 0.25, "reg_lambda_ps": 0.25},
        look_for="Double λ with the ×2 button in the sidebar, step by step up to 64, and watch P@1 and PSP@5 of "
        "XML-ridge, the first line. Note at which λ each is highest.",
        answer="P@1 is highest at λ = 4, 85.71 %, and nearly the same at 8. PSP@5 is highest at λ = 2, 63.64 %, and "
        "at 8 it has lost 1.2 points. So no λ is best for both. PSP counts rare labels more, and a large λ takes the "
        "directions with few packages in them away first: those that rare labels need.",
    ),
    Question(
        short="One λ for both?",
        question="Do XML-ridge and XML-ridge with PS want the same λ?",
        start={"reg_lambda": 4.0, "reg_lambda_ps": 32.0, "own_lambda_ps": True},
        look_for="The link gives PS a λ of its own, 32, and XML-ridge 4. In the sidebar, under “More settings”, halve "
        "and double λ of PS and watch its P@1 and PSP@5, the second line.",
        answer="No: weighting wants more of it. P@1 with PS is highest at λ = 32, 84.86 %, eight times the best λ of "
        "XML-ridge; at λ = 4 it is 82.14 %. Its PSP@5 is highest at 4, 66.73 %, where XML-ridge has its best at 2. "
        "Weighting multiplies the scores of rare labels, and with them their noise; a larger λ calms it. That is "
        "why the paper tunes λ for each variant.",
    ),
    Question(
        short="What A does",
        question="What does A do to frequent and to rare labels, and is more of it always stronger?",
        start={"A": 0.0},
        look_for="At A = 0 both variants are one. Raise A to 0.4, then to 1.5, and watch the two lines and the bars.",
        answer="At A = 0.4 the right answers move from frequent labels to rare ones. Those with at most 100 training "
        "packages contribute 7.0 points of P@1 instead of 1.8; those with more than 1,000 contribute 62.2 instead of "
        "77.4. PSP@5 rises by 3.4 points, and P@1 pays 5.3. But more is not always stronger: at A = 1.5, P@1 is the "
        "85.71 % of A = 0 again. θ falls so steeply with frequency then that it is near 1 for all but the very rarest "
        "labels, which are hardly ever in a test package.",
    ),
    Question(
        short="PSP and its ruler",
        question="Why is PSP@1 lower than P@1? And what is it measured with?",
        start={"A": 0.0, "tie_metric": True},
        look_for="The link ties the metric to the sliders and sets A = 0, so every label counts the same. Compare "
        "PSP@1 with P@1. Then raise A to 0.55 and watch the first line: XML-ridge itself does not depend on A.",
        answer="At A = 0, PSP@1 is P@1: 85.71 %. At A = 0.55 it is 55.40 %, though XML-ridge ranks just as before. A "
        "right answer now counts θ of its label, and the sum is divided by what the rarest label of each package "
        "would have given: 1.86 on average. The right answers are mostly frequent labels, worth 1.21 on average. So "
        "PSP is below P where hits are on frequent labels. And it was the ruler that moved, not the model: that is "
        "why the metric keeps the data set's own A and B unless you tie it to the sliders.",
    ),
    Question(
        short="A huge λ",
        question="What is left when λ is huge?",
        start={"reg_lambda": 1e6, "reg_lambda_ps": 1e6},
        look_for="All scores are nearly 0 now, a millionth of what they were. Is P@1 nearly 0 too? See how many "
        "different labels are ranked first, and in which bars the right answers are.",
        answer="P@1 of XML-ridge is still 57.69 %: ranking asks only which score is larger. (G + λI)⁻¹ has become "
        "1/λ, the same for all directions, and what is left is x XᵀY: how many words the package shares with the "
        "packages of each label. Frequent labels have more packages, so they win: only 6 of 598 labels are ever "
        "ranked first, where λ = 3 has 102. Always answering the most frequent label gives 34.17 %.",
    ),
)
