"""A profile written down is read as the same profile."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import parse_profile, profile_to_toml
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile
from tests.tables import table
from tests.unit.ranking.strategies import profiles


@given(profiles(), st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_written_is_read_again_to_the_last_digit(profile: Profile, about: str) -> None:
    said = replace(profile, about=f"For {about}", report="random.report.json", max_items=3)
    again = parse_profile(profile_to_toml(said), name=said.name)
    assert again == said
    assert again.report == said.report


@table("name", sorted(BUILTIN_PROFILES))
def test_every_built_in_profile_can_be_written(name: str) -> None:
    assert parse_profile(profile_to_toml(builtin_profile(name)), name=name) == builtin_profile(name)


def test_it_is_written_as_a_person_would() -> None:
    assert profile_to_toml(builtin_profile("three-signal"), ["Why it is so.", "And since when."]) == (
        "# Why it is so.\n"
        "# And since when.\n"
        'about = "Rank an agent\'s memories by similarity, importance and the time since they were last used."\n'
        'version = "1"\n'
        'question = "needed"\n'
        'hearing = "alone"\n'
        "min_score = 0.0\n"
        "\n"
        "[terms]\n"
        "similarity = { weight = 0.5, missing = 0.0 }\n"
        "importance = { weight = 0.3, missing = 0.5 }\n"
        'recency = { weight = 0.2, missing = 0.5, clock = "accessed", rate_per_day = 0.05 }\n'
        "\n"
        "[gates]\n"
        "similarity = 0.0\n"
    )
