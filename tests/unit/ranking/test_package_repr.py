"""What rankings look like at a Python prompt: what matters, without a wall of fields."""

from datetime import UTC, datetime

import recollect
from recollect.testing import a_candidate

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SEAT = a_candidate("seat", similarity=0.5, importance=0.5)


def test_a_profile_says_its_name_its_version_and_what_it_is_for() -> None:
    search = recollect.profile("search")
    assert repr(search) == f"<Profile search {search.version}: {search.about}>"


def test_an_explanation_shows_its_parts_as_people_read_them() -> None:
    (scored,) = recollect.rank([SEAT], "search", NOW)
    assert repr(scored.explanation) == f"<Explanation {scored.explanation}>"


def test_a_why_says_what_became_of_which_and_with_how_much() -> None:
    found = recollect.why("seat", [SEAT], "search", NOW)
    assert repr(found) == f"<Why seat: {found.fate}, score {found.explanation.score:.3f}>"


def test_a_fused_place_says_what_it_was_made_of() -> None:
    first, second = recollect.rank([SEAT], "search", NOW), recollect.rank([SEAT], "three-signal", NOW)
    (fused,) = recollect.fuse(first, second)
    assert repr(fused) == f"<Fused {2 / 61:.4f} from places (1, 1): {fused.scored}>"
