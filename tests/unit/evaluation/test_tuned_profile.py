"""The report of a tuned profile: which profile it tells of, what it tells, and what it never does."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.cli.evaluation_output import format_tuning
from recollect.errors import InvalidInput, ProfileError
from recollect.evaluation.measures import compare_paired
from recollect.evaluation.training_set import JudgmentTrainingSet, mean_of_means
from recollect.evaluation.tuned_profile import (
    JudgmentOrigin,
    TunedNumber,
    TunedProfile,
    build_tuned_profile,
    file_stem,
    next_profile,
    next_version,
    refuse_duplicate_folders,
    tuned_numbers,
    tuning_report_to_json,
)
from recollect.evaluation.tuning import tune
from recollect.ranking.profile_toml import parse_profile, profile_to_toml
from recollect.ranking.tuning_report_check import fingerprint, refuse_unproven_profile
from tests.tables import table

from .fresh import PEOPLE, SUBJECTS, fresh_folder, wrong
from .test_training_set import K, gathered, untold

MADE_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> TunedProfile:
    """Tuned on two folders, one of which is smaller."""
    place = tmp_path_factory.mktemp("folders")
    folders = [
        gathered(fresh_folder(place / "notes"), wrong()),
        gathered(fresh_folder(place / "few", ("eve", "fay")), wrong()),
    ]
    tuning = tune(folders, wrong(), folds=3, report_progress=untold)
    return build_tuned_profile(
        tuning,
        folders,
        name="better",
        origin=JudgmentOrigin(K),
        embedder="hashing-256",
        made_at=MADE_AT,
        versions={"recollect": "1"},
    )


def test_the_profile_is_the_next_version_with_a_report(made: TunedProfile) -> None:
    assert (made.profile.name, made.profile.version, made.profile.report) == ("better", "2", "better.report.json")
    assert made.profile == replace(made.tuning.numbers.apply_to(wrong()), name="better", version="2")


def test_the_report_tells_of_the_profile_that_is_written(made: TunedProfile) -> None:
    text = profile_to_toml(made.profile, made.comments)
    again = parse_profile(text, name="better")
    assert again == made.profile
    assert again.report == made.profile.report
    refuse_unproven_profile(again, json.dumps(tuning_report_to_json(made)))
    told = tuning_report_to_json(made)
    assert told["fingerprint"] == fingerprint(again)
    assert told["from"] == {"profile": "fresh", "version": "1", "fingerprint": fingerprint(wrong())}
    assert text.startswith("# Tuned from fresh 1 on notes, few: 48 queries of 6 scopes.\n# Held out by scope, ")


def test_the_report_says_what_it_was_made_with(made: TunedProfile) -> None:
    told = tuning_report_to_json(made)
    facts = ("folder", "memories", "queries", "judgements", "scopes")
    assert [[one[fact] for fact in facts] for one in told["folders"]] == [
        ["notes", 20 * 4, 8 * 4, 8 * 4, 4],
        ["few", 20 * 2, 8 * 2, 8 * 2, 2],
    ]
    assert [one["digest"] for one in told["folders"]] == [one.source.digest for one in made.training_sets]
    assert (told["made_at"], told["embedder"], told["k"]) == ("2026-03-01T12:00:00+00:00", "hashing-256", 3)
    assert [fold["scopes"] for fold in told["folds"]] == [2, 2, 2]
    assert sum(fold["queries"] for fold in told["folds"]) == 48


def test_nothing_of_the_data_is_in_the_report_nor_in_the_profile(made: TunedProfile, tmp_path: Path) -> None:
    said = (
        json.dumps(tuning_report_to_json(made))
        + profile_to_toml(made.profile, made.comments)
        + "\n".join(format_tuning(made))
    )
    words = (*(f"{who}-" for who in (*PEOPLE, "eve", "fay")), "acme", *SUBJECTS, "decided", str(tmp_path.parent), "/")
    assert [word for word in words if word in said] == []


def test_figures_are_of_all_folders_alike_and_then_of_each(made: TunedProfile) -> None:
    assert [(row.folder, row.measure) for row in made.rows] == [
        (folder, measure) for folder in (None, "notes", "few") for measure in ("worth", "recall@3", "ndcg@3")
    ]
    whole, tuning = made.rows[1], made.tuning
    assert whole.before.mean == mean_of_means(tuning.before.measures["recall@3"])
    assert whole.gain.mean == pytest.approx(
        mean_of_means(tuning.held_out.measures["recall@3"]) - mean_of_means(tuning.before.measures["recall@3"])
    )
    few = made.rows[7]
    assert few.gain == compare_paired(
        *(one.measures["recall@3"][1].tolist() for one in (tuning.before, tuning.held_out))
    )
    assert whole.gain.wins == made.rows[4].gain.wins + few.gain.wins


def test_every_number_is_told_and_whether_anything_was_to_be_learned_of_it(made: TunedProfile) -> None:
    told = {one.signal: one for one in tuned_numbers(made.tuning)}
    assert list(told) == [use.signal.name for use in wrong().uses]
    assert told["rarity"] == TunedNumber(
        signal="rarity", what="floor", before=0.6, after=0.6, folds=(0.6, 0.6, 0.6), tuned=False
    )
    assert told["lexical"].tuned
    assert told["lexical"].after == made.profile.weight("lexical")


def test_numbers_are_in_the_document_as_scripts_rely_on_them(made: TunedProfile) -> None:
    told = tuning_report_to_json(made)["numbers"]
    assert told[-1] == {
        "signal": "rarity",
        "number": "floor",
        "before": 0.6,
        "after": 0.6,
        "folds": [0.6, 0.6, 0.6],
        "tuned": False,
        "settled": True,
    }
    assert [one["after"] for one in told] == [one.after for one in tuned_numbers(made.tuning)]
    assert json.loads(json.dumps(told)) == told


def test_a_reader_is_told_what_it_is_worth(made: TunedProfile) -> None:
    lines = list(format_tuning(made))
    assert lines[0] == "fresh 1 on notes, few: 48 queries of 6 scopes, embedder hashing-256"
    assert any(line.startswith("importance  ") and line.endswith("does not vary in this data") for line in lines)
    assert lines[-1] == "held-out queries gained +1.0000, p < 0.001"


def with_lexical(tuned: TunedProfile, *weights: float) -> TunedProfile:
    """The same, with these weights of `lexical` found in the folds."""
    folds = [
        replace(fold, numbers=replace(fold.numbers, weights=(weight, *fold.numbers.weights[1:])))
        for fold, weight in zip(tuned.tuning.folds, weights, strict=True)
    ]
    return replace(tuned, tuning=replace(tuned.tuning, folds=tuple(folds)))


def test_folds_that_do_not_agree_on_a_weight_are_warned_of(made: TunedProfile) -> None:
    warning = "the folds disagree on lexical (0.1000 to 0.7000): judge more queries, of more scopes, before you "
    torn = with_lexical(made, 0.1, 0.7, 0.3)
    assert list(format_tuning(torn))[-2] == f"{warning}rely on it"
    assert {one["signal"]: one["settled"] for one in tuning_report_to_json(torn)["numbers"]}["lexical"] is False
    agreed = with_lexical(made, 0.4, 0.5, 0.45)
    assert not any("do not agree" in line for line in format_tuning(agreed))


def test_nothing_found_is_said_plainly(made: TunedProfile) -> None:
    good = made.tuning.numbers.apply_to(wrong())
    tuning = tune(made.training_sets, good, folds=3, report_progress=untold)
    nothing = replace(made, tuning=tuning)
    assert (
        list(format_tuning(nothing))[-1] == "tuning found no improvement: no change of a weight or floor gains enough"
    )
    worth = made.tuning.before.worth[0].tolist()
    worse = replace(made.tuning, gain=compare_paired(worth, [one - 0.1 for one in worth]))
    told = "tuning found no improvement that carries over: held-out queries gained -0.1000"
    assert list(format_tuning(replace(made, tuning=worse)))[-1] == told


def test_a_gain_that_may_be_chance_does_not_carry_over(made: TunedProfile) -> None:
    """One query of eight gains, and none loses: that may well be all."""
    tuning = replace(made.tuning, gain=compare_paired([0.0] * 8, [0.4, *[0.0] * 7]))
    assert tuning.gain.mean == pytest.approx(0.05)
    assert tuning.gain.interval.low == 0.0
    assert not tuning.carries_over
    lines = list(format_tuning(replace(made, tuning=tuning)))
    assert (
        lines[-1]
        == "tuning found no improvement that carries over: held-out queries gained +0.0500, which may be chance"
    )
    with pytest.raises(ProfileError, match="carries_over is false"):
        refuse_unproven_profile(made.profile, json.dumps(tuning_report_to_json(replace(made, tuning=tuning))))


def test_a_report_that_says_that_it_carries_over_must_have_a_gain_that_is_no_chance(made: TunedProfile) -> None:
    told = tuning_report_to_json(made)
    whole = told["figures"][0]
    for interval in ([0.0, 1.2], [-0.1, 1.2], [True, 1.2], [None, 1.2], [0.1], "0.1"):
        doubtful = {**whole, "gained": {**whole["gained"], "interval": interval}}
        with pytest.raises(ProfileError, match="a gain of 1 that may be due to chance"):
            refuse_unproven_profile(made.profile, json.dumps({**told, "figures": [doubtful, *told["figures"][1:]]}))


@table(
    ("version", "following", "stem"),
    [
        ("1", "2", "fresh-2"),
        ("09", "10", "fresh-10"),
        ("1+0a1b2c3d", "2", "fresh-2"),
        ("A_b.4", "A_b.4.1", "fresh-a-b-4-1"),
    ],
)
def test_the_next_version_is_the_next_number_if_there_is_one(version: str, following: str, stem: str) -> None:
    profile = replace(wrong(), version=version)
    assert (next_version(profile), file_stem(profile)) == (following, stem)
    assert next_profile(profile, stem).report == f"{stem}.report.json"


def test_a_name_that_no_profile_can_have_is_refused() -> None:
    with pytest.raises(ProfileError, match="lowercase letters"):
        next_profile(wrong(), "No Name")


def test_folders_of_the_same_name_are_refused(made: TunedProfile) -> None:
    judgements = [one.judgments for one in made.training_sets if isinstance(one, JudgmentTrainingSet)]
    assert len(judgements) == 2
    refuse_duplicate_folders(judgements)
    with pytest.raises(InvalidInput, match="two folders have the name 'notes'; name each folder once"):
        refuse_duplicate_folders([*judgements, judgements[0]])
