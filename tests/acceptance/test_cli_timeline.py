"""What happened, on the command line: kept, summed up, walked through down to each word, and recalled by level."""

import json
from typing import Any

import pytest

from .shell import Shell

SCOPE = "acme/ana"
ANA = ("--scope", SCOPE)
BEN = ("--scope", "acme/ben")

TRIP = (
    ("2025-03-03T09:00:00Z", "Ana", "We fly to Lisbon on 14 April, and I want a window seat."),
    ("2025-03-03T09:01:00Z", "bot", "I have booked seat 12A to Lisbon, at the window."),
    ("2025-03-03T09:03:00Z", "Ana", "The budget for the hotel is 900 euros."),
)
DOG = (("2025-04-07T11:00:00Z", "Ana", "The vet gave Bruno drops for his ear, twice a day for a week."),)


def lines(said: Any, session: str | None = "trip") -> str:
    """Events as a file has them."""
    told = [{"timestamp": at, "name": name, "content": text, "session": session} for at, name, text in said]
    return "\n".join(json.dumps(one) for one in told)


@pytest.fixture
def observed(shell: Shell) -> Shell:
    shell("observe", "-", *ANA, stdin=lines(TRIP))
    shell("observe", "-", *ANA, stdin=lines(DOG, "dog"))
    return shell


@pytest.fixture
def rolled(observed: Shell) -> Shell:
    observed("admin", "rollup")
    return observed


def rows(printed: str) -> list[list[str]]:
    return [line.split("\t") for line in printed.splitlines()]


def segment(shell: Shell) -> str:
    """The id of the segment about the trip."""
    key: str = shell.json("browse", "2025-03-03", *ANA)["parts"][0]["key"]
    return key


class TestObserve:
    def test_events_are_kept_once_and_counted(self, shell: Shell) -> None:
        assert shell("observe", "-", *ANA, stdin=lines(TRIP)).stdout == "3 events: 3 created\n"
        again = shell("observe", "-", *ANA, stdin=lines(TRIP)).stdout
        assert again == "3 events: 3 unchanged: nothing new\n"
        listed = shell.json("list", *ANA)["memories"]
        assert [(one["text"], one["level"]) for one in listed] == [(text, "event") for _, _, text in TRIP]

    def test_as_json_there_is_a_receipt_for_each(self, shell: Shell) -> None:
        found = shell.json("observe", "-", *ANA, stdin=lines(TRIP))
        assert [one["verdict"] for one in found["events"]] == ["created"] * 3
        first = found["events"][0]["memory"]
        assert (first["level"], first["kind"], first["speaker"], first["session"]) == ("event", "event", "Ana", "trip")
        assert (first["created_at"], first["provenance"]) == ("2025-03-03T09:00:00+00:00", "import")
        assert [found[name] for name in ("redacted", "skipped", "assumed", "bad", "problems")] == [{}, {}, {}, 0, []]

    def test_through_whom_they_came_is_what_is_said(self, shell: Shell) -> None:
        found = shell.json("observe", "-", *ANA, "--provenance", "direct_user", stdin=lines(TRIP))
        assert {one["memory"]["provenance"] for one in found["events"]} == {"direct_user"}
        refused = shell("observe", "-", *ANA, "--provenance", "me", code=2, stdin=lines(TRIP))
        assert "field '--provenance': 'me' is not a valid provenance" in refused.stderr

    def test_what_is_secret_is_taken_out_and_what_is_assumed_is_said(self, shell: Shell) -> None:
        said = json.dumps({"content": "the staging password is hunter2Secret99x", "name": "Ana"})
        told = shell("observe", "-", *ANA, stdin=said).stdout.splitlines()
        assert told[0] == "1 event: 1 created"
        assert "password" in told[1]
        assert told[2] == "assumed  1: turns without a date are observed now"
        assert "hunter2" not in json.dumps(shell.json("list", *ANA))

    def test_what_cannot_be_read_is_refused_with_its_line_unless_it_is_to_be_left_out(self, shell: Shell) -> None:
        file = f"{lines(TRIP)}\n{{}}"
        refused = shell("observe", "-", *ANA, code=2, stdin=file).stderr
        assert refused.startswith("Error: line 4, field 'content': is missing")
        assert "nothing was kept; --skip-bad leaves out such lines" in refused
        assert not shell.store.exists()
        told = shell("observe", "-", *ANA, "--skip-bad", stdin=file).stdout
        assert told.splitlines()[0] == "3 events: 3 created"
        assert "line 4" in told

    def test_a_scope_and_a_file_are_needed(self, shell: Shell) -> None:
        assert "--scope acme/ana" in shell("observe", "-", code=2, stdin=lines(TRIP)).stderr
        assert "nowhere.jsonl" in shell("observe", "nowhere.jsonl", *ANA, code=2).stderr
        assert not shell.store.exists()
        assert shell("observe", "-", *ANA).stdout == "0 events: nothing\n"


class TestRollup:
    def test_what_is_over_is_summed_up_and_the_same_again_changes_nothing(self, observed: Shell) -> None:
        told = observed("admin", "rollup").stdout
        assert told == "acme/ana: created 2 segments, 4 grips, 2 days, 2 weeks, 2 months, 1 year\n"
        assert observed("admin", "rollup").stdout == "acme/ana: all records are up to date\n"
        observed("observe", "-", *ANA, stdin=lines([("2025-04-07T11:05:00Z", "Ana", "Bruno hates the drops.")], "dog"))
        told = observed("admin", "rollup").stdout
        assert told == "acme/ana: created 1 grip; updated 1 segment, 1 day, 1 week, 1 month, 1 year\n"

    def test_as_json_it_is_counted_by_scope_and_level(self, observed: Shell) -> None:
        observed("observe", "-", *BEN, stdin=lines(DOG))
        (ben,) = observed.json("admin", "rollup", *BEN)["scopes"]
        assert (ben["scope"], ben["under_way"]) == ("acme/ben", 0)
        assert ben["made"] == {"segment": 1, "grip": 1, "day": 1, "week": 1, "month": 1, "year": 1}
        assert (ben["revised"], ben["archived"], ben["unchanged"]) == ({}, {}, {})
        scopes = observed.json("admin", "rollup", "--scope", "acme")["scopes"]
        assert [one["scope"] for one in scopes] == ["acme/ana", "acme/ben"]
        assert [sum(one["made"].values()) for one in scopes] == [13, 0]

    def test_what_is_under_way_is_summed_up_if_that_is_asked_for(self, shell: Shell) -> None:
        shell("observe", "-", *ANA, stdin=json.dumps({"content": "It rains.", "name": "Ana"}))
        (early,) = shell.json("admin", "rollup")["scopes"]
        assert early["under_way"] >= 1
        assert "year" not in early["made"]
        assert "under way)\n" in shell("admin", "rollup").stdout
        (asked,) = shell.json("admin", "rollup", "--unfinished")["scopes"]
        assert "year" in asked["made"]

    def test_nothing_is_summed_up_where_nothing_happened_and_a_store_is_not_made(self, shell: Shell) -> None:
        assert "does not exist" in shell("admin", "rollup", code=3).stderr
        assert not shell.store.exists()
        shell("remember", "Ana prefers window seats", *ANA)
        quiet = shell("admin", "rollup")
        assert (quiet.stdout, "no events there" in quiet.stderr) == ("", True)
        assert shell("admin", "rollup", *BEN).stdout == ""
        assert shell.json("admin", "rollup", *BEN) == {"scopes": []}
        assert (
            "scope part '' needs 1 to 128 characters" in shell("admin", "rollup", "--scope", "acme//x", code=2).stderr
        )


class TestBrowse:
    def test_one_walks_from_years_down_to_the_words(self, rolled: Shell) -> None:
        keys = ["2025", "2025-03", "2025-W10", "2025-03-03"]
        seen, key = list[str](), tuple[str, ...]()
        for expected in keys:
            found = rows(rolled("browse", *key, *ANA).stdout)
            assert found[0][1] == expected
            seen.append(found[0][0])
            key = (expected,)
        assert seen == ["year", "month", "week", "day"]
        (below,) = rows(rolled("browse", "2025-03-03", *ANA).stdout)
        assert below[0] == "segment"
        inside = rows(rolled("browse", below[1], *ANA).stdout)
        assert [(one[0], one[2]) for one in inside] == [
            *(("event", f"{name}: {text}") for _, name, text in TRIP),
            *(("grip", f"{name}: {text}") for _, name, text in TRIP),
        ]
        event = rolled("browse", inside[2][1], *ANA)
        assert (event.stdout, event.stderr.splitlines()[1:]) == ("", ["2025-03-03 09:03:00Z", TRIP[2][2]])

    def test_what_a_place_was_about_is_told_beside_the_rows(self, rolled: Shell) -> None:
        told = rolled("browse", "2025-04-07", *ANA).stderr.splitlines()
        assert told[0].startswith("Monday, 7 April 2025: ")
        assert told[1:] == [f"- Ana: {DOG[0][2]}"]

    @pytest.mark.parametrize("key", ["2025-03-03", "2025-W10", "2025-03", "2025"])
    def test_the_points_of_coarser_records_stay_in_the_order_of_time(self, key: str, rolled: Shell) -> None:
        told = rolled("browse", key, *ANA).stderr.splitlines()[1:]
        said = [f"- {name}: {text}" for _, name, text in (*TRIP, *DOG)]
        assert len(told) >= 3
        assert told == [one for one in said if one in told]

    def test_as_json_a_place_has_the_time_it_covers_and_its_record(self, rolled: Shell) -> None:
        found = rolled.json("browse", "2025-03", *ANA)
        place = found["place"]
        assert (place["level"], place["key"]) == ("month", "2025-03")
        assert (place["first"], place["last"]) == ("2025-03-01T00:00:00+00:00", "2025-04-01T00:00:00+00:00")
        assert (place["record"]["level"], place["record"]["kind"]) == ("month", "summary")
        assert [(one["level"], one["key"]) for one in found["parts"]] == [("week", "2025-W10")]
        assert found["grips"] == []
        years = rolled.json("browse", *ANA)
        assert (years["place"], [one["key"] for one in years["parts"]]) == (None, ["2025"])
        assert len(rolled.json("browse", segment(rolled), *ANA)["grips"]) == 3

    def test_a_place_is_there_before_it_is_summed_up_and_says_so(self, observed: Shell) -> None:
        found = observed("browse", "2025-03-03", *ANA)
        assert [one[0] for one in rows(found.stdout)] == ["event"] * 3
        assert "not summarized yet; `recollect admin rollup` summarizes" in found.stderr
        assert observed.json("browse", "2025", *ANA)["place"]["record"] is None
        empty = observed("browse", "2025-03-04", *ANA)
        assert (empty.stdout, empty.stderr.splitlines()[1]) == ("", "no events")

    def test_a_scope_without_events_has_nothing_to_show(self, rolled: Shell) -> None:
        nothing = rolled("browse", *BEN)
        observe = "acme/ben has no events; `recollect observe` adds them\n"
        assert (nothing.stdout, nothing.stderr) == ("", observe)
        assert rolled.json("browse", *BEN) == {"place": None, "parts": [], "grips": []}
        assert "acme/ben has no memories" in rolled.terminal("browse", *BEN)
        assert "does not exist" in Shell(rolled.store.with_name("no.db"))("browse", *ANA, code=3).stderr

    def test_what_is_no_place_of_the_scope_is_refused(self, rolled: Shell) -> None:
        id = rolled("remember", "Ana prefers window seats", *ANA).stdout.strip()
        assert "there is no memory '2025-13' in acme/ana" in rolled("browse", "2025-13", *ANA, code=3).stderr
        keys = "; a key is a year, month, week or day, such as 2026, 2026-03, 2026-W09 or 2026-03-01, or the id of a"
        for typed in ("2025-3", "March"):
            assert f"there is no memory '{typed}' in acme/ana{keys}" in rolled("browse", typed, *ANA, code=3).stderr
        own = segment(rolled)
        assert f"there is no memory '{own}' in acme/ben" in rolled("browse", own, *BEN, code=3).stderr
        assert "is a plain memory and not on the timeline" in rolled("browse", id, *ANA, code=2).stderr
        assert "--scope" in rolled("browse", "2025", code=2).stderr

    def test_looking_counts_as_no_use(self, rolled: Shell) -> None:
        key = segment(rolled)
        rolled("browse", key, *ANA)
        rolled("expand", key, *ANA)
        assert rolled.json("show", key, *ANA)["usage"]["served"] == 0


class TestExpand:
    def test_a_grip_shows_the_events_it_is_of_and_those_around_it(self, rolled: Shell) -> None:
        grip = rolled.json("browse", segment(rolled), *ANA)["grips"][1]["key"]
        alone = rows(rolled("expand", grip, *ANA).stdout)
        assert [(one[0], one[2], one[3], one[4]) for one in alone] == [("*", "2025-03-03 09:01:00Z", *TRIP[1][1:])]
        around = rows(rolled("expand", grip, *ANA, "--around", "5").stdout)
        assert [(one[0], one[4]) for one in around] == [("", TRIP[0][2]), ("*", TRIP[1][2]), ("", TRIP[2][2])]

    def test_as_json_it_has_the_memories(self, rolled: Shell) -> None:
        found = rolled.json("expand", segment(rolled), *ANA, "--around", "1")
        assert found["record"]["level"] == "segment"
        assert [one["text"] for one in found["events"]] == [text for _, _, text in TRIP]
        assert (found["before"], found["after"], found["gone"]) == ([], [], [])

    def test_it_says_how_many_are_gone(self, rolled: Shell) -> None:
        key = segment(rolled)
        events = rolled.json("expand", key, *ANA)["events"]
        rolled("forget", events[0]["id"], *ANA)
        outcome = rolled("expand", key, *ANA)
        assert len(rows(outcome.stdout)) == 2
        assert outcome.stderr == "1 event of it archived or erased since\n"
        assert rolled.json("expand", key, *ANA)["gone"] == [events[0]["id"]]

    def test_what_cannot_be_expanded_is_refused(self, rolled: Shell) -> None:
        key, day = segment(rolled), rolled.json("browse", "2025-03-03", *ANA)["place"]["record"]["id"]
        event = rolled.json("expand", key, *ANA)["events"][0]["id"]
        for id, level in ((day, "day"), (event, "event")):
            refused = rolled("expand", id, *ANA, code=2).stderr
            assert f"has the level {level}; browse from it to a segment or a grip" in refused
        whole = rolled("expand", "2025-03-03", *ANA, code=2).stderr
        assert "'2025-03-03' is a day, which `browse` shows; `expand` takes the id of a grip or a segment" in whole
        assert "there is no memory 'grip-0'" in rolled("expand", "grip-0", *ANA, code=3).stderr
        assert f"'{key}' in acme/ben" in rolled("expand", key, *BEN, code=3).stderr
        for around in ("101", "-1", "x"):
            assert "--around" in rolled("expand", key, *ANA, "--around", around, code=2).stderr


class TestLevels:
    @pytest.fixture
    def known(self, rolled: Shell) -> Shell:
        rolled("remember", "Ana collects stamps from Lisbon", *ANA)
        return rolled

    def levels(self, shell: Shell, *words: str) -> set[str | None]:
        found = shell.json(*words, *ANA)
        return {one["level"] for one in found.get("results", found.get("packed"))}

    def test_plain_memories_and_events_are_recalled_and_others_if_they_are_asked_for(self, known: Shell) -> None:
        for command in ("search", "recall"):
            asked = (command, "Lisbon window seat")
            assert self.levels(known, *asked) == {None, "event"}
            assert self.levels(known, *asked, "--level", "plain") == {None}
            assert self.levels(known, *asked, "--level", "month", "--level", "day") == {"month", "day"}
        assert "by level" in known("search", "Lisbon", *ANA, "--level", "year").stderr

    def test_a_brief_is_of_plain_memories_unless_it_is_said(self, known: Shell) -> None:
        assert self.levels(known, "brief") == {None}
        assert self.levels(known, "brief", "--level", "month") == {"month"}

    def test_why_says_that_another_level_was_asked_for(self, known: Shell) -> None:
        year = known.json("browse", *ANA)["parts"][0]["record"]["id"]
        told = known("why", year, "Lisbon", *ANA).stdout
        assert told == f"{year} is not recalled: only other levels were requested\n"
        fate = known.json("why", year, "Lisbon", *ANA)["fate"]
        assert (fate["step"], fate["barrier"]) == ("eligibility", "level")
        assert "is in" in known("why", year, "Lisbon", *ANA, "--level", "year").stdout

    @pytest.mark.parametrize("command", [("search", "x"), ("recall", "x"), ("brief",), ("why", "x", "x")])
    def test_what_is_no_level_is_refused(self, command: tuple[str, ...], known: Shell) -> None:
        refused = known(*command, *ANA, "--level", "weeek", code=2).stderr
        assert refused == "Error: field '--level': 'weeek' is not a valid level; did you mean 'week'?\n"
