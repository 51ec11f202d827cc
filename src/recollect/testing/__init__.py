"""What tests of code around recollect need: builders that say only what a test is about."""

from recollect.testing.builders import NOW, a_candidate, a_memory, a_ranking

__all__ = ["NOW", "a_candidate", "a_memory", "a_ranking"]
