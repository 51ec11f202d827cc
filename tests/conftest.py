"""How hard Hypothesis looks: HYPOTHESIS_PROFILE names one of these profiles."""

import os

from hypothesis import settings

settings.register_profile("default", deadline=None, derandomize=os.environ.get("CI") == "true", max_examples=100)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.register_profile("mutation", deadline=None, derandomize=True, database=None, max_examples=15)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
