"""Tune: what do λ, A and B do?"""

from pages.shared import frame, model, show

settings = frame.guard()
answer = model.answer(settings)
show.cards(answer.evaluation)
