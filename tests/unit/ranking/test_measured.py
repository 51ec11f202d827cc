"""Whether a profile's numbers are those that were measured."""

import json
from dataclasses import replace
from importlib.resources import files

import pytest
from hypothesis import given

from recollect.errors import ProfileError
from recollect.ranking.measured import fingerprint, refuse_unmeasured
from recollect.ranking.parse import build, describe, override, parse
from recollect.ranking.profile import Profile
from recollect.ranking.profiles import BUILT_IN, built_in
from tests.unit.ranking.strategies import profiles

OWN = replace(built_in("salience"), name="mine", report="mine.report.json")


def a_report(profile: Profile, **other: object) -> str:
    told = {name: [{"told": name}] for name in ("folders", "figures", "folds", "numbers")}
    return json.dumps({"fingerprint": fingerprint(profile), "carries_over": True, **told, **other})


@given(profiles())
def test_a_fingerprint_is_of_the_numbers_and_not_of_the_words(profile: Profile) -> None:
    words = replace(profile, name="other", version="7", about="Something else.", report="r.json")
    assert fingerprint(words) == fingerprint(profile)
    assert fingerprint(build(describe(profile), name="again")) == fingerprint(profile)


@pytest.mark.parametrize(
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
    assert fingerprint(override(OWN, changes)) != fingerprint(OWN)


def test_a_profile_with_its_own_report_is_fine_and_so_is_one_with_none() -> None:
    for profile, report in ((OWN, a_report(OWN)), (replace(OWN, report=None), None)):
        assert _complaint(profile, report) is None


def _complaint(profile: Profile, report: str | None) -> str | None:
    try:
        refuse_unmeasured(profile, report)
    except ProfileError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("report", "complaint"),
    [
        (a_report(built_in("five-signal")), "its numbers are not those that its report 'mine.report.json' tells of"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is no JSON object"),
        ("{}", "has no fingerprint"),
        ('{"fingerprint": 1}', "has no fingerprint"),
        (json.dumps({"fingerprint": fingerprint(OWN)}), "tells nothing of its folders"),
        *((a_report(OWN, **{name: []}), f"tells nothing of its {name}") for name in ("figures", "folds", "numbers")),
        (a_report(OWN, figures=[0.5]), "tells nothing of its figures"),
        (a_report(OWN, carries_over=False), r"no better where they were not fitted \(carries_over is false\)"),
        (a_report(OWN, carries_over="true"), "does not say whether it carries_over"),
        (a_report(OWN)[:-1] + ', "carries_over": true}', "field 'carries_over': is there twice"),
        (a_report(OWN, figures=["?"]).replace('"?"', '{"a": 1, "a": 2}'), "field 'a': is there twice"),
    ],
    ids=[
        *("other", "torn", "deep", "list", "empty", "number", "fingerprint alone", "no figures", "no folds"),
        *("no numbers", "odd figures", "does not carry over", "says nothing of that", "twice", "twice within"),
    ],
)
def test_a_report_that_tells_of_something_else_is_refused_with_the_remedy(report: str, complaint: str) -> None:
    with pytest.raises(ProfileError, match=complaint) as caught:
        refuse_unmeasured(OWN, report)
    assert "tune it again with `recollect profiles tune`, or take its line `report` out" in str(caught.value)


def test_other_numbers_under_the_name_of_a_built_in_profile_need_a_report_and_another_version() -> None:
    ours = built_in("salience")
    refuse_unmeasured(replace(ours, about="Said otherwise."), None)
    changed = override(ours, {"factors": {"salience": {"floor": 0.5}}})
    with pytest.raises(ProfileError, match="other numbers than salience 1, and no report; give it a name of its own"):
        refuse_unmeasured(changed, None)
    reported = replace(changed, version="2", report="salience.report.json")
    refuse_unmeasured(reported, a_report(reported))
    with pytest.raises(ProfileError, match=r"the name and the version of the built-in salience 1.*; raise its version"):
        refuse_unmeasured(replace(reported, version=ours.version), a_report(reported))


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_built_in_profile_that_names_a_report_has_one_beside_it_that_tells_of_it(name: str) -> None:
    profile = built_in(name)
    beside = None if profile.report is None else files("recollect.ranking.profiles") / profile.report
    assert _complaint(profile, None if beside is None else beside.read_text(encoding="utf-8")) is None


def test_a_report_is_a_plain_file_name_and_makes_no_other_profile() -> None:
    text = 'about = "A test."\nversion = "1"\nreport = "r.report.json"\n[terms]\nimportance = { weight = 1 }\n'
    profile = parse(text, name="p")
    assert profile.report == "r.report.json"
    assert build(describe(profile), name="p").report == profile.report
    without = parse(text.replace('report = "r.report.json"\n', ""), name="p")
    assert profile == without
    assert hash(profile) == hash(without)
    assert "report" not in describe(without)


@pytest.mark.parametrize(
    "name", ["", ".json", "../r.json", "a/r.json", "r.txt", "r.json\n", "C:r.json", "r" * 100 + ".json"]
)
def test_what_is_no_plain_file_name_is_no_report(name: str) -> None:
    with pytest.raises(ProfileError, match=r"its report is .*; give the name of a \.json file beside it"):
        replace(OWN, report=name)


def test_a_report_that_is_no_text_is_refused() -> None:
    with pytest.raises(ProfileError, match="report is 1; write a text"):
        override(OWN, {"report": 1})


def test_no_report_tells_of_what_was_overridden() -> None:
    changed = override(OWN, {"min_score": 0.1})
    assert changed.report is None
    assert changed.version == override(replace(OWN, report=None), {"min_score": 0.1}).version
    assert override(OWN, {"min_score": 0.0}) is OWN
