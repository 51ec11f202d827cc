"""Whether a profile's numbers are those that were measured."""

import json
import math
from dataclasses import replace
from importlib.resources import files

import pytest
from hypothesis import given

from recollect.errors import ProfileError
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import build_profile, override_profile, parse_profile, profile_to_document
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile
from recollect.ranking.tuning_report_check import REQUIRED_ENTRY_KEYS, fingerprint, refuse_unproven_profile
from tests.tables import table
from tests.unit.ranking.strategies import profiles

OWN = replace(builtin_profile("salience"), name="mine", report="mine.report.json")


WHOLE = {
    "measure": "worth",
    "folder": None,
    "before": {"mean": 0.5},
    "held_out": {"mean": 0.75},
    "gained": {"mean": 0.25, "interval": [0.1, 0.4]},
}
"""What all folders together gained where they were held out."""


def numbers(profile: Profile) -> list[dict[str, object]]:
    """Every weight and then every floor, as a report says it."""
    weights = [{"signal": term.signal.name, "number": "weight", "after": term.weight} for term in profile.terms]
    floors = [{"signal": one.signal.name, "number": "floor", "after": one.floor} for one in profile.factors]
    return [*weights, *floors]


def a_report(profile: Profile, /, **other: object) -> str:
    told = {
        "profile": profile.name,
        "version": profile.version,
        "fingerprint": fingerprint(profile),
        "carries_over": True,
        "folders": [{"folder": "notes", "digest": "0", "memories": 2, "queries": 1}],
        "figures": [WHOLE, {**WHOLE, "measure": "recall@10", "gained": {"mean": -0.1}}],
        "folds": [{"scopes": 1, "queries": 1, "before": 0.5, "after": 0.75}],
        "numbers": numbers(profile),
    }
    return json.dumps({**told, **other})


@given(profiles())
def test_a_fingerprint_is_of_the_numbers_and_not_of_the_words(profile: Profile) -> None:
    words = replace(profile, name="other", version="7", about="Something else.", report="r.json")
    assert fingerprint(words) == fingerprint(profile)
    assert fingerprint(build_profile(profile_to_document(profile), name="again")) == fingerprint(profile)


@table(
    "changes",
    [
        {"factors": {"salience": {"floor": 0.56}}},
        {"factors": {"salience": {"missing": 0.51}}},
        {"factors": {"rarity": {"rate": 0.16}}},
        {"factors": {"rarity": None}},
        {"terms": {"similarity": {"missing": 0.1}}},
        {"terms": {"similarity": {"weight": 0.9}, "lexical": {"weight": 0.1, "missing": 0.0}}},
        {"gates": {"similarity": 0.1}},
        {"min_score": 0.1},
        {"max_items": 3},
        {"question": "optional"},
    ],
    ids=str,
)
def test_another_number_or_option_gives_another_fingerprint(changes: dict[str, object]) -> None:
    assert fingerprint(override_profile(OWN, changes)) != fingerprint(OWN)


def test_a_profile_with_its_own_report_is_fine_and_so_is_one_with_none() -> None:
    for profile, report in ((OWN, a_report(OWN)), (replace(OWN, report=None), None)):
        assert _complaint(profile, report) is None


def _complaint(profile: Profile, report: str | None) -> str | None:
    try:
        refuse_unproven_profile(profile, report)
    except ProfileError as error:
        return str(error)
    return None


@table(
    ("report", "complaint"),
    [
        (
            a_report(builtin_profile("five-signal")),
            "its numbers differ from those that its report 'mine.report.json' measured",
        ),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is not a JSON object"),
        ("{}", "has no fingerprint"),
        ('{"fingerprint": 1}', "has no fingerprint"),
        (json.dumps({"fingerprint": fingerprint(OWN)}), "has no list of folders"),
        *((a_report(OWN, **{name: []}), f"has no list of {name}") for name in ("figures", "folds", "numbers")),
        (a_report(OWN, figures=[0.5]), "has no list of figures"),
        (a_report(OWN, carries_over=False), r"no better on data they were not fitted to \(carries_over is false\)"),
        (a_report(OWN, carries_over="true"), "has no carries_over, which is true or false"),
        (a_report(OWN)[:-1] + ', "carries_over": true}', "field 'carries_over': occurs twice"),
        (a_report(OWN, figures=["?"]).replace('"?"', '{"a": 1, "a": 2}'), "field 'a': occurs twice"),
    ],
    ids=[
        *("other", "torn", "deep", "list", "empty", "number", "fingerprint alone", "no figures", "no folds"),
        *("no numbers", "odd figures", "does not carry over", "says nothing of that", "twice", "twice within"),
    ],
)
def test_a_report_that_tells_of_something_else_is_refused_with_the_remedy(report: str, complaint: str) -> None:
    with pytest.raises(ProfileError, match=complaint) as caught:
        refuse_unproven_profile(OWN, report)
    assert "tune it again with `recollect profiles tune`, or remove its line `report`" in str(caught.value)


def worth(**other: float) -> list[dict[str, object]]:
    return [{**WHOLE, **{name: {"mean": mean} for name, mean in other.items()}}]


@table(
    ("other", "complaint"),
    [
        *(({name: [{}]}, f"has no .* in one of its {name};") for name in REQUIRED_ENTRY_KEYS),
        ({"profile": "other"}, "is about the profile 'other', not 'mine'"),
        ({"version": "999"}, "is about the version '999', not '1'"),
        ({"version": 1}, "is about the version 1, not '1'"),
        ({"version": None}, "is about the version None, not '1'"),
        ({"numbers": numbers(OWN)[1:]}, "does not have the weight of similarity, 1.0, in its numbers"),
        ({"numbers": numbers(OWN)[:-1]}, "does not have the floor of rarity, 0.0, in its numbers"),
        ({"numbers": [*numbers(OWN), numbers(OWN)[0]]}, "has more numbers than the profile has weights and floors"),
        ({"numbers": [{**one, "after": 0.9} for one in numbers(OWN)]}, "the weight of similarity, 1.0"),
        ({"k": math.nan}, "has nan for 'k', which is not a finite number"),
        ({"k": 10**309}, "has 1000.* for 'k', which is not a finite number"),
        (
            {"folds": [{"scopes": 1, "queries": 1, "before": 0.5, "after": math.inf}]},
            r"has inf for 'folds\[0\]\.after'",
        ),
        (
            {"figures": worth(gained=-0.5)},
            "carries_over, but on held-out data worth went from 0.5 to 0.75, a gain of -0.5",
        ),
        ({"figures": worth(gained=0.0, held_out=0.5)}, "went from 0.5 to 0.5, a gain of 0;"),
        ({"figures": worth(held_out=0.25)}, "went from 0.5 to 0.25, a gain of 0.25"),
        *(
            (
                {"figures": [{**WHOLE, "gained": {"mean": 0.25, **said}}]},
                "may be due to chance",
            )
            for said in ({}, {"interval": [0.0, 0.5]}, {"interval": [True, 0.5]}, {"interval": 0.1})
        ),
        ({"figures": [{**WHOLE, "measure": "mrr"}]}, "needs one figure worth for all folders together"),
        ({"figures": [WHOLE, WHOLE]}, "needs one figure worth for all folders together"),
        *(
            ({"figures": [{**WHOLE, "gained": gained}]}, "needs one figure worth for all folders together")
            for gained in (None, {}, {"mean": "much"}, {"mean": True}, 0.25)
        ),
    ],
    ids=str,
)
def test_a_report_that_tells_nothing_or_contradicts_itself_is_refused_with_the_remedy(
    other: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ProfileError, match=complaint) as caught:
        refuse_unproven_profile(OWN, a_report(OWN, **other))
    assert str(caught.value).startswith("profile 'mine': its report 'mine.report.json' ")
    assert "; tune it again with `recollect profiles tune`, or remove its line `report`" in str(caught.value)


def test_numbers_may_be_told_in_any_order_but_none_may_be_left_out() -> None:
    backwards = numbers(OWN)[::-1]
    refuse_unproven_profile(OWN, a_report(OWN, numbers=backwards))
    with pytest.raises(ProfileError, match="does not have the "):
        refuse_unproven_profile(OWN, a_report(OWN, numbers=backwards[1:]))


def test_other_numbers_under_the_name_of_a_built_in_profile_need_a_report_and_another_version() -> None:
    ours = builtin_profile("salience")
    refuse_unproven_profile(replace(ours, about="Said otherwise."), None)
    changed = override_profile(ours, {"factors": {"salience": {"floor": 0.5}}})
    with pytest.raises(ProfileError, match="other numbers and no report; rename it"):
        refuse_unproven_profile(changed, None)
    reported = replace(changed, version="2", report="salience.report.json")
    refuse_unproven_profile(reported, a_report(reported))
    same = replace(reported, version=ours.version)
    with pytest.raises(
        ProfileError, match=r"the name and version of the built-in profile salience 1.*; raise its version"
    ):
        refuse_unproven_profile(same, a_report(same))


@table("name", sorted(BUILTIN_PROFILES))
def test_a_built_in_profile_that_names_a_report_has_one_beside_it_that_tells_of_it(name: str) -> None:
    profile = builtin_profile(name)
    beside = None if profile.report is None else files("recollect.ranking.profiles") / profile.report
    assert _complaint(profile, None if beside is None else beside.read_text(encoding="utf-8")) is None


def test_a_report_is_a_plain_file_name_and_makes_no_other_profile() -> None:
    text = 'about = "A test."\nversion = "1"\nreport = "r.report.json"\n[terms]\nimportance = { weight = 1 }\n'
    profile = parse_profile(text, name="p")
    assert profile.report == "r.report.json"
    assert build_profile(profile_to_document(profile), name="p").report == profile.report
    without = parse_profile(text.replace('report = "r.report.json"\n', ""), name="p")
    assert profile == without
    assert hash(profile) == hash(without)
    assert "report" not in profile_to_document(without)


@table("name", ["", ".json", "../r.json", "a/r.json", "r.txt", "r.json\n", "C:r.json", "r" * 100 + ".json"])
def test_what_is_no_plain_file_name_is_no_report(name: str) -> None:
    with pytest.raises(ProfileError, match=r"its report is .*; give the name of a \.json file beside it"):
        replace(OWN, report=name)


def test_a_report_that_is_no_text_is_refused() -> None:
    with pytest.raises(ProfileError, match="report is 1; write a string"):
        override_profile(OWN, {"report": 1})


def test_no_report_tells_of_what_was_overridden() -> None:
    changed = override_profile(OWN, {"min_score": 0.1})
    assert changed.report is None
    assert changed.version == override_profile(replace(OWN, report=None), {"min_score": 0.1}).version
    assert override_profile(OWN, {"min_score": 0.0}) is OWN
