"""Profiles as TOML: what is written is what is built, and what is wrong is named."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given

from recollect.errors import NotFound, ProfileError
from recollect.model.enums import Kind
from recollect.ranking.profile import Factor, Gate, Profile, QuestionPolicy, Term
from recollect.ranking.profile_toml import build_profile, override_profile, parse_profile, profile_to_document
from recollect.ranking.profiles import BUILTIN_PROFILES, PROFILE_TEXTS, builtin_profile
from recollect.ranking.quantities import AgeClock
from recollect.ranking.signals import (
    Frequency,
    Importance,
    KindPriority,
    Newest,
    Recency,
    Relevance,
    Salience,
    Similarity,
)
from tests.tables import table
from tests.unit.ranking.sample import SAMPLE
from tests.unit.ranking.strategies import profiles

WHOLE = """
about = "Everything a profile can say."
version = "3"
question = "needed"
min_score = 0.1
max_items = 7

[terms]
relevance = { weight = 0.5, lexical_strength = 2 }
recency = { weight = 0.25, missing = 0.5, clock = "updated", half_life = "36h" }
frequency = { weight = 0.25, cap = 20 }

[factors]
newest = { floor = 0.8, missing = 1, above = 0.9, among = 10, clock = "created" }
kind = { priorities = { fact = 1.0, event = 0.1 }, otherwise = 0.4 }

[gates]
relevance = { at_least = 0.2, or = { frequency = 0.9, salience = 1.0 } }
similarity = 0.0
"""


def test_what_is_written_is_what_is_built() -> None:
    relevance = Relevance(lexical_strength=2)
    assert parse_profile(WHOLE, name="whole") == Profile(
        name="whole",
        version="3",
        about="Everything a profile can say.",
        terms=(
            Term(relevance, 0.5),
            Term(Recency(AgeClock.UPDATED, half_life=timedelta(hours=36)), 0.25, 0.5),
            Term(Frequency(20.0), 0.25),
        ),
        factors=(
            Factor(Newest(0.9, 10, AgeClock.CREATED), 0.8, 1.0),
            Factor(KindPriority({Kind.FACT: 1.0, Kind.EVENT: 0.1}, 0.4)),
        ),
        gates=(
            Gate(relevance, 0.2, (Gate(Frequency(20.0), 0.9), Gate(Salience(), 1.0))),
            Gate(Similarity(), 0.0),
        ),
        question=QuestionPolicy.NEEDED,
        min_score=0.1,
        max_items=7,
    )


HEAD = 'about = "x"\nversion = "1"\n'
ONE = HEAD + "[terms]\nimportance = { weight = 1.0 }\n"


@table(
    ("text", "complaint"),
    [
        ("about = ", "is not TOML: Invalid value"),
        ("min_score = " + "[" * 5_000, "is not TOML: "),
        ("min_score = 1" + "0" * 5_000, "is not TOML: "),
        ("min_score = 1" + "0" * 400 + "\n" + ONE, "min_score is 1000.*000; write a number"),
        (".".join(["min_score", *"a" * 900]) + " = 1\n" + ONE, "min_score is {'a': {'a': {...}}}; write a number"),
        (HEAD + '[terms]\n"\\u001b]0;" = {}', r"unknown signal '\\x1b]0;'"),
        (HEAD + '[gates]\n"\\u001b]0;" = 1', r"unknown signal '\\x1b]0;'"),
        ('abut = "x"\n' + ONE, "unknown key 'abut'; did you mean 'about'"),
        ("about = 3\n", "about is 3; write a string"),
        (HEAD + "terms = 3", r"terms is 3; write a table, such as \{ weight = 0\.5 \}"),
        (HEAD + "[terms]\nimportance = 1.0", "terms.importance is 1.0; write a table"),
        (HEAD + "[terms]\nimportance = {}", "terms.importance has no weight"),
        (
            HEAD + "[terms]\nmagic = { weight = 1.0 }",
            "unknown signal 'magic'; known are addressed, confidence, dated, frequency",
        ),
        (HEAD + '[terms]\nimportance = { weight = "1" }', "terms.importance.weight is '1'; write a number"),
        (HEAD + "[terms]\nimportance = { weight = true }", "weight is True; write a number"),
        (HEAD + "[terms]\nimportance = { weight = nan }", "weight is nan; write a number"),
        (HEAD + "[terms]\nimportance = { weight = inf }", "weight is inf; write a number"),
        (
            HEAD + "[terms]\nimportance = { weight = 1.0, cap = 3 }",
            "unknown option 'cap' in terms.importance; known are missing, weight",
        ),
        (
            HEAD + "[terms]\nfrequency = { weight = 1.0, name = 3 }",
            "unknown option 'name' in terms.frequency; known are cap, missing, weight",
        ),
        (
            HEAD + "[terms]\nfrequency = { wieght = 1.0 }",
            "unknown option 'wieght' in terms.frequency; did you mean 'weight'",
        ),
        (
            ONE + "[factors]\nsalience = { flor = 1.0 }",
            "unknown option 'flor' in factors.salience; did you mean 'floor'",
        ),
        (HEAD + "[terms]\nfrequency = { weight = 1.0, cap = 0 }", "terms.frequency: cap is 0.0"),
        (HEAD + "[terms]\nimportance = { weight = 1.5 }", "the weight of importance is 1.5"),
        (HEAD + '[terms]\nimportance = { weight = 1.0, missing = "x" }', "terms.importance.missing is 'x'"),
        (
            HEAD + "[terms]\nrecency = { weight = 1.0, half_life = 14 }",
            "half_life is 14; write a duration such as '14d'",
        ),
        (
            HEAD + '[terms]\nrecency = { weight = 1.0, half_life = "14 d" }',
            "half_life is '14 d'; write a duration",
        ),
        (HEAD + '[terms]\nrecency = { weight = 1.0, half_life = "0d" }', "terms.recency: half_life is 0.0"),
        (HEAD + f'[terms]\nrecency = {{ weight = 1.0, half_life = "{"9" * 30}d" }}', "which is too long"),
        (HEAD + f'[terms]\nrecency = {{ weight = 1.0, half_life = "{"9" * 400}d" }}', "which is too long"),
        (
            HEAD + '[terms]\nrecency = { weight = 1.0, half_life = "1d", clock = "wall" }',
            "clock is 'wall'; choose one of created",
        ),
        (HEAD + "[terms]\nrecency = { weight = 1.0 }", "give exactly one of them"),
        (
            HEAD + "[terms]\nrelevance = { weight = 1.0, lexical_strength = 1.5 }",
            "lexical_strength is 1.5; write a whole",
        ),
        (
            HEAD + "[terms]\nrelevance = { weight = 1.0, lexical_strength = true }",
            "strength is True; write a whole",
        ),
        (
            HEAD + "[terms]\nkind = { weight = 1.0, priorities = { idea = 1.0 } }",
            "priorities is 'idea'; choose one of profile",
        ),
        (
            HEAD + '[terms]\nkind = { weight = 1.0, priorities = { fact = "1" } }',
            "priorities.fact is '1'; write a number",
        ),
        (HEAD + "[terms]\nkind = { weight = 1.0, priorities = 1.0 }", "priorities is 1.0; write a table"),
        (ONE + '[factors]\nsalience = { floor = "x" }', "factors.salience.floor is 'x'"),
        (ONE + "[factors]\nsalience = { floor = 2.0 }", "the floor of salience is 2.0"),
        (ONE + "[gates]\nnewest = 0.5", "gates.newest: newest compares the candidates that passed the gates"),
        (ONE + "[gates]\nimportance = 2.0", "gates.importance is 2.0; write a number within"),
        (ONE + "[gates]\nimportance = { or = { salience = 0.5 } }", "gates.importance has no at_least"),
        (ONE + "[gates]\nimportance = { at_least = 0.5, and = 1 }", "unknown key 'and' in gates.importance"),
        (
            ONE + "[gates]\nimportance = { at_least = 0.5, or = 1 }",
            "gates.importance.or is 1; write a table of signals",
        ),
        (ONE + "[gates]\nimportance = { at_least = 0.5, or = { magic = 1 } }", "unknown signal 'magic'"),
        (
            ONE + "[gates]\nimportance = { at_least = 0.5, or = { salience = 8 } }",
            "gates.importance.or.salience is 8.0",
        ),
        (
            ONE + "[gates]\nimportance = { at_least = 0.5, or = { newest = 1 } }",
            "gates.importance.or.newest: newest compares",
        ),
        (ONE + "[gates]\nimportance = { at_least = 0.5, or = { salience = 'x' } }", "gates.importance.or.salience is"),
        (ONE + "[gates]\nrecency = 0.5", "gates.recency: recency needs half_life or rate_per_day"),
        ("max_items = 1.5\n" + ONE, "max_items is 1.5; write a whole number"),
        ('question = "maybe"\n' + ONE, "question is 'maybe'; choose one of needed, optional, refused"),
        ("question = 3\n" + ONE, "question is 3; choose one of"),
        (HEAD + "[terms]\nimportance = { weight = 0.95 }", r"the weights add up to 0.95, not 1"),
    ],
)
def test_what_is_wrong_with_a_profile_is_named(text: str, complaint: str) -> None:
    with pytest.raises(ProfileError, match=rf"^profile 'mine'.*{complaint}"):
        parse_profile(text, name="mine")


@table(
    ("written", "meant"),
    [
        ("2w", timedelta(days=14)),
        ("1.5d", timedelta(hours=36)),
        ("36h", timedelta(hours=36)),
        ("90m", timedelta(minutes=90)),
    ],
)
def test_durations_are_weeks_days_hours_or_minutes(written: str, meant: timedelta) -> None:
    text = HEAD + f'[terms]\nrecency = {{ weight = 1.0, half_life = "{written}" }}'
    signal = parse_profile(text, name="p").terms[0].signal
    assert isinstance(signal, Recency)
    assert signal.half_life == meant


@given(profiles())
def test_a_profile_described_and_built_again_is_the_same(profile: Profile) -> None:
    assert build_profile(profile_to_document(profile), name=profile.name) == profile


@table("name", sorted(BUILTIN_PROFILES))
def test_a_built_in_profile_is_an_ordinary_file(name: str) -> None:
    assert (
        parse_profile(PROFILE_TEXTS[name], name=name)
        == builtin_profile(name)
        == build_profile(profile_to_document(builtin_profile(name)), name=name)
    )


def test_silence_that_is_not_allowed_is_described_by_saying_nothing() -> None:
    whole = parse_profile(WHOLE, name="whole")
    assert "missing" not in profile_to_document(whole)["terms"]["relevance"]
    assert build_profile(profile_to_document(whole), name="whole") == whole


def test_the_built_in_profiles_are_these() -> None:
    seeds = {"five-signal", "three-signal", "assistant", "search", "session", "salience"}
    ours = {"default", "graph", "salience-hybrid"}
    presets = {f"assistant-{use}" for use in ("support", "knowledge", "news", "companion")}
    assert set(BUILTIN_PROFILES) == seeds | ours | presets
    assert list(BUILTIN_PROFILES) == sorted(BUILTIN_PROFILES)


def test_an_unknown_profile_is_not_found_and_the_known_ones_are_named() -> None:
    with pytest.raises(NotFound, match=r"unknown profile .defalt.; did you mean .default."):
        builtin_profile("defalt")
    with pytest.raises(NotFound, match=r"known are assistant, .*three-signal \(recollect.profile reads a file\)"):
        builtin_profile("x.toml")


def test_an_override_changes_what_it_names_and_says_so_in_the_version() -> None:
    changed = override_profile(SAMPLE, {"terms": {"recency": {"half_life": "30d"}}, "min_score": 0.2})
    recency = changed.terms[1].signal
    assert isinstance(recency, Recency)
    assert (recency.half_life, recency.clock) == (timedelta(days=30), AgeClock.CURRENT)
    assert changed.min_score == 0.2
    assert changed.terms[0] == SAMPLE.terms[0]
    assert changed.version.startswith("1+")
    assert len(changed.version) == len("1+12345678")


def test_equal_overrides_give_equal_versions_and_others_do_not() -> None:
    one, same, other = (override_profile(SAMPLE, {"gates": {"relevance": floor}}) for floor in (0.2, 0.2, 0.3))
    assert one == same
    assert one.version != other.version
    weeks, days = (override_profile(SAMPLE, {"terms": {"recency": {"half_life": h}}}) for h in ("3w", "21d"))
    assert weeks == days


def test_two_overrides_one_after_the_other_are_one_override() -> None:
    at_once = override_profile(SAMPLE, {"min_score": 0.1, "max_items": 3})
    in_turn = override_profile(override_profile(SAMPLE, {"min_score": 0.1}), {"max_items": 3})
    assert at_once == in_turn


def test_an_override_of_python_is_checked_like_any_other() -> None:
    with pytest.raises(ProfileError, match=r"min_score is 1000.*000; write a number"):
        override_profile(SAMPLE, {"min_score": 10**400})


@table("changes", [3, "min_score", [("min_score", 0.1)]])
def test_an_override_that_is_no_mapping_is_refused(changes: Any) -> None:
    with pytest.raises(ProfileError, match=r"overrides is .*; give a mapping with keys of the profile"):
        override_profile(SAMPLE, changes)


def test_an_override_that_changes_nothing_gives_the_profile_itself() -> None:
    assert override_profile(SAMPLE, {}) is SAMPLE
    assert override_profile(SAMPLE, {"min_score": 0.0}) is SAMPLE


def test_an_override_can_remove_a_key_and_put_another_in_its_place() -> None:
    changes: dict[str, Any] = {"terms": {"recency": {"rate_per_day": None, "half_life": "14d"}}}
    recency = override_profile(builtin_profile("five-signal"), changes).terms[1].signal
    assert isinstance(recency, Recency)
    assert (recency.half_life, recency.rate_per_day) == (timedelta(days=14), None)
    assert override_profile(SAMPLE, {"gates": None}).gates == ()
    assert override_profile(SAMPLE, {"gates": {"importance": 0.3}}).gates[1] == Gate(Importance(), 0.3)
    assert override_profile(SAMPLE, {"nothing": None}) is SAMPLE


def test_an_override_of_how_much_a_gate_needs_keeps_what_else_opens_it_and_the_reverse() -> None:
    default = builtin_profile("default")
    for least in (0.1, {"at_least": 0.1}):
        asked = override_profile(default, {"gates": {"relevance": least}}).gates[0]
        assert (asked.at_least, asked.otherwise) == (0.1, default.gates[0].otherwise)
    assert override_profile(default, {"gates": {"relevance": {"or": None}}}).gates == (Gate(default.relevance, 0.05),)
    opened = override_profile(SAMPLE, {"gates": {"relevance": {"or": {"salience": 0.5}}}}).gates[0]
    assert (opened.at_least, opened.otherwise) == (SAMPLE.gates[0].at_least, (Gate(Salience(), 0.5),))


@table(
    ("changes", "complaint"),
    [
        ({"terms": {"recency": {"weight": 0.5}}}, "the weights add up to 1.41, not 1"),
        ({"terms": {"recency": 3}}, "terms.recency is 3; write a table"),
        ({"colour": "red"}, "unknown key 'colour'"),
    ],
)
def test_an_override_is_validated_like_a_file(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ProfileError, match=f"profile 'sample': {complaint}"):
        override_profile(SAMPLE, changes)


def test_a_profile_without_max_items_has_no_such_key() -> None:
    assert "max_items" not in profile_to_document(SAMPLE)
    assert profile_to_document(builtin_profile("assistant"))["max_items"] == 20
