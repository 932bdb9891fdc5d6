"""Data: what is in it?"""

from pages.shared import data_cache, data_choose, data_export, data_features, data_profile, frame, model

settings = frame.guard()
of = model.model_of(settings.data, settings.features)

# The answer: one sentence and six numbers, then how they are spread, and what goes together.
data_profile.answer(of)
data_profile.charts(of)
data_profile.pairs(of)
data_profile.instances(of)

# What is made of the features, and what that costs.
data_features.section(of)

# Another data set: one's own, or one of the catalog; and this one to take away, with predictions and code.
data_choose.section()
data_export.section(of, settings)

# What is kept between two starts of the server, and a button that removes it.
data_cache.section(of)
