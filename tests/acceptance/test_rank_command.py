"""`recollect rank` as a shell sees it: a real process, lines in, JSON or words out, an exit code."""

import json
import math
import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from recollect.ranking.candidates_json import read_candidate
from recollect.ranking.profiles import BUILTIN_PROFILES
from tests import forked
from tests.tables import table
from tests.unit.ranking.test_profiles import FORMULAS

AT = datetime(2026, 1, 1, tzinfo=UTC)
SEEDS = ("five-signal", "three-signal", "assistant", "search", "session", "salience")


def recollect(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*forked.command(), *arguments], input=stdin, capture_output=True, timeout=60)


def rank(records: list[dict[str, Any]], *arguments: str) -> dict[str, Any]:
    lines = "\n".join(json.dumps(record) for record in records).encode()
    done = recollect("rank", "--at", AT.isoformat(), "--json", *arguments, stdin=lines)
    assert done.returncode == 0, done.stderr.decode()
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def random_records(count: int, chance: random.Random) -> list[dict[str, Any]]:
    """Candidates with offsets, missing fields and future dates."""

    def a_date() -> str:
        zone = timezone(timedelta(minutes=chance.choice([0, 120, -330, 840])))
        return (AT + timedelta(seconds=chance.uniform(-3e7, 3e6))).astimezone(zone).isoformat()

    def a_record(number: int) -> dict[str, Any]:
        kinds = ["profile", "preference", "decision", "pattern", "discovery", "summary", "fact", "event"]
        fields: dict[str, Any] = {
            "similarity": chance.uniform(-1, 1),
            "lexical": chance.random(),
            "importance": chance.random(),
            "usefulness": chance.random(),
            "confidence": chance.random(),
            "salience": chance.random(),
            "served": chance.randrange(120),
            "revisions": chance.randrange(1, 30),
            "kind": chance.choice(kinds),
        }
        fields |= {name: a_date() for name in ("created_at", "updated_at", "last_accessed_at", "valid_from")}
        kept = {name: value for name, value in fields.items() if chance.random() < 0.8}
        return {"id": f"m{number}", **kept}

    return [a_record(number) for number in range(count)]


@table("name", SEEDS)
def test_400_random_candidates_are_ranked_by_the_formula_of_the_source(name: str) -> None:
    records = random_records(400, random.Random(name))
    answer = rank(records, "--profile", name)
    gated = [r for r in records if name != "three-signal" or "similarity" in r]
    expected = {r["id"]: FORMULAS[name](read_candidate(r), AT) for r in gated}
    expected = {id: score for id, score in expected.items() if score >= BUILTIN_PROFILES[name].min_score}
    scores = {result["id"]: result["score"] for result in answer["results"]}
    assert scores == pytest.approx(expected, abs=1e-9)
    assert (answer["profile"], answer["version"], answer["at"], answer["exact"]) == (
        name,
        "1",
        AT.isoformat(),
        True,
    )
    order = [(-result["score"], result["id"]) for result in answer["results"]]
    assert order == sorted(order)
    assert len(answer["results"]) + sum(answer["excluded"].values()) == 400


@table("name", sorted(BUILTIN_PROFILES))
def test_the_score_printed_is_what_the_parts_and_factors_printed_give(name: str) -> None:
    for result in rank(random_records(50, random.Random(7)), "--profile", name)["results"]:
        total = sum(part["points"] for part in result["parts"])
        for factor in result["factors"]:
            total *= factor["times"]
        assert result["score"] == pytest.approx(total, abs=1e-12)
        for part in result["parts"]:
            assert part["points"] == part["value"] * part["weight"]
            assert set(part) == {"signal", "value", "weight", "points", "assumed", "note"}


def test_the_json_of_one_candidate_is_this() -> None:
    record = {
        "id": "a",
        "similarity": -0.5,
        "created_at": "2026-02-01T00:00:00Z",
        "served": 100,
        "kind": "fact",
    }
    assert rank([record], "--profile", "five-signal") == {
        "profile": "five-signal",
        "version": "1",
        "at": "2026-01-01T00:00:00+00:00",
        "exact": True,
        "proof": {"stopped": "every", "scanned": 1, "eligible": 1, "why": "every eligible memory was scored"},
        "excluded": {},
        "results": [
            {
                "id": "a",
                "kind": "fact",
                "score": math.fsum([0.25, 0.5 * 0.20, 0.8 * 0.10, 0.05]),
                "parts": [
                    {
                        "signal": "relevance",
                        "value": 0.0,
                        "weight": 0.4,
                        "points": 0.0,
                        "assumed": False,
                        "note": "similarity -0.5 counts as 0",
                    },
                    {
                        "signal": "recency",
                        "value": 1.0,
                        "weight": 0.25,
                        "points": 0.25,
                        "assumed": False,
                        "note": "dated in the future: counts as new",
                    },
                    {
                        "signal": "usefulness",
                        "value": 0.5,
                        "weight": 0.2,
                        "points": 0.1,
                        "assumed": True,
                        "note": None,
                    },
                    {
                        "signal": "confidence",
                        "value": 0.8,
                        "weight": 0.1,
                        "points": 0.8 * 0.1,
                        "assumed": True,
                        "note": None,
                    },
                    {
                        "signal": "frequency",
                        "value": 1.0,
                        "weight": 0.05,
                        "points": 0.05,
                        "assumed": False,
                        "note": None,
                    },
                ],
                "factors": [],
            }
        ],
    }


@table(
    ("line", "complaint"),
    [
        (b'{"id": "b", "similarity": NaN}', "line 2, field 'similarity': nan is not a finite number"),
        (b'{"id": "b", "similarity": 1e999}', "line 2, field 'similarity': inf"),
        (b'{"id": "b", "created_at": "9999-12-31T00:00:00Z"}', "line 2, field 'created_at': 9999"),
        (b'{"id": "b", "created_at": "0001-01-01T00:00:00Z"}', "line 2, field 'created_at': 0001"),
        (
            b'{"id": "b", "created_at": "2026-01-01T00:00:00"}',
            "line 2, field 'created_at': '2026-01-01T00:00:00' has no time zone",
        ),
        (b'{"id": "b", "updated_at": "soon"}', "line 2, field 'updated_at': 'soon' is not a date"),
        (b'{"id": "b", "importance": 1.5}', "line 2, field 'importance': 1.5 is not within 0..1"),
        (b'{"id": "b", "served": -1}', "line 2, field 'served': -1 is not a count"),
        (b'{"id": "a"}', "line 2, field 'id': 'a' is already on line 1"),
        (b'{"id": "b"', "line 2: this is not JSON"),
        (b"\xff\xfe", "line 2: this is not UTF-8"),
        (b'{"id": "\\ud800"}', "line 2, field 'id'"),
        (b"[" * 100_000, "line 2: this is not JSON"),
        (b'{"id": "b", "simularity": 1}', "did you mean 'similarity'"),
    ],
)
def test_a_hostile_line_is_refused_with_exit_code_2_and_no_traceback(line: bytes, complaint: str) -> None:
    done = recollect(
        "rank",
        "--at",
        AT.isoformat(),
        "--profile",
        "salience",
        stdin=b'{"id": "a", "similarity": 1}\n' + line,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert complaint in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_the_moment_to_rank_for_may_be_a_day_and_a_candidates_dates_may_not() -> None:
    def ranked(at: str, created: str) -> subprocess.CompletedProcess[bytes]:
        line = json.dumps({"id": "a", "similarity": 1, "created_at": created})
        return recollect("rank", "--at", at, stdin=line.encode())

    day = ranked("2026-01-01", "2025-12-01T00:00:00Z")
    assert day.returncode == 0
    assert day.stdout == ranked("2026-01-01T00:00:00+00:00", "2025-12-01T00:00:00Z").stdout
    assert "has no time zone" in ranked("2026-01-01", "2025-12-01").stderr.decode()


@table(
    ("arguments", "code", "complaint"),
    [
        (["--profile", "nope"], 3, "unknown profile 'nope'; known are assistant"),
        (["--profile", "nope.toml"], 3, "profile file 'nope.toml' does not exist"),
        (["--profile", "/"], 3, "unknown profile '/'"),
        (["--at", "tomorrow"], 2, "field '--at': 'tomorrow' is not a date"),
        (["--at", "2026-01-01T00:00:00"], 2, "field '--at': '2026-01-01T00:00:00' has no time zone"),
        (["--at", "9999-01-01T00:00:00Z"], 2, "is not within 1900"),
        (["--set", "min_score"], 2, "has no KEY=VALUE"),
        (["--set", "=3"], 2, "has no KEY=VALUE"),
        (["--set", "min_score=2"], 2, "profile 'default': min_score is 2.0; give a number within 0..1"),
        (["--set", "min_score=1", "--set", "min_score.deep=1"], 2, "min_score"),
        (["--set", "min_score=1" + "0" * 400], 2, "min_score is 1000"),
        (["--set", "min_score=1" + "0" * 5000], 2, "min_score is '1000"),
        (["--set", "min_score=" + "[" * 3000], 2, "min_score is '[[["),
        (["--set", ".".join(["min_score", *"a" * 3000]) + "=1"], 2, "min_score is {'a'"),
        (["--set", "min_score=0.1\nfoo=3"], 2, "min_score is '0.1\\nfoo=3'"),
        (["--set", "version=\x1b[31m"], 2, "its version is '\\x1b[31m'"),
        (["--limit", "0"], 2, "0 is not in the range"),
        (["--why", "x"], 3, "candidate 'x' does not exist"),
        (["--profile", "five-signal"], 2, "needs a question"),
        (["no-such-file.jsonl"], 2, "No such file"),
    ],
)
def test_a_wrong_call_is_refused_with_its_exit_code(arguments: list[str], code: int, complaint: str) -> None:
    evidence = b"" if "five-signal" in arguments else b', "similarity": 0.5'
    done = recollect("rank", *arguments, stdin=b'{"id": "a"' + evidence + b"}")
    assert (done.returncode, done.stdout) == (code, b"")
    assert complaint in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_nothing_in_is_nothing_out() -> None:
    assert rank([])["results"] == []


def test_without_a_moment_it_is_the_present() -> None:
    before = datetime.now(UTC)
    done = recollect("rank", "--json", "--profile", "session", stdin=b'{"id": "a"}')
    assert before <= datetime.fromisoformat(json.loads(done.stdout)["at"]) <= datetime.now(UTC)


def test_a_limit_and_an_override_reach_the_ranking() -> None:
    records = [
        {"id": "a", "similarity": 0.9, "salience": 0.0},
        {"id": "b", "similarity": 0.8, "salience": 1.0},
    ]
    answer = rank(records, "--profile", "salience", "--limit", "1")
    assert [result["id"] for result in answer["results"]] == ["b"]
    assert answer["excluded"] == {"limit": 1}
    answer = rank(records, "--profile", "salience", "--set", "factors.salience.floor=1.0")
    assert [result["id"] for result in answer["results"]] == ["a", "b"]
    assert answer["version"].startswith("1+")
    answer = rank(records, "--profile", "salience", "--set", "factors.salience=")
    assert len(answer["results"][0]["factors"]) == 1


def test_a_profile_of_ones_own_is_a_file(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('about = "Mine."\nversion = "7"\n[terms]\nimportance = { weight = 1.0, missing = 0.0 }\n')
    answer = rank([{"id": "a", "importance": 0.25}], "--profile", str(mine))
    assert (answer["profile"], answer["version"], answer["results"][0]["score"]) == ("mine", "7", 0.25)


def test_why_says_where_a_candidate_fell_and_what_would_have_put_it_in() -> None:
    records = [{"id": "a", "similarity": 0.9}, {"id": "b", "similarity": 0.1}]
    answer = rank(records, "--why", "b")
    value = 0.4 * 0.1 / 0.85
    assert answer["fate"] == {
        "step": "gate",
        "signal": "relevance",
        "value": pytest.approx(value),
        "at_least": 0.05,
        "or": {"dated": 0.9},
    }
    needed = {"signal": "relevance", "value": pytest.approx(value), "needed": 0.05, "means": None}
    of_the_day = {"signal": "dated", "value": None, "needed": 0.9, "means": "at most 1 day from a day in the question"}
    assert answer["changes"] == [needed, of_the_day]
    assert answer["score"] == pytest.approx(0.53 * value + 0.5 * (0.03 + 0.02))
    done = recollect(
        "rank",
        "--why",
        "b",
        "--at",
        AT.isoformat(),
        stdin=b'{"id": "a", "similarity": 1}\n{"id": "b", "similarity": 0.1}',
    )
    told = "b did not pass the gate: relevance is 0.047, and 0.05 is needed, or 0.9 of dated"
    assert done.stdout.decode().splitlines()[0] == told
    assert done.stdout.decode().splitlines()[-2:] == [
        "it would be included with relevance 0.050 instead of 0.047",
        "or dated 0.900 instead of none at all (at most 1 day from a day in the question)",
    ]


def test_a_terminal_that_knows_few_characters_is_not_a_reason_to_fail() -> None:
    command = [sys.executable, "-m", "recollect", "rank", "--at", AT.isoformat(), "--profile", "session"]
    environment = {"PYTHONIOENCODING": "latin-1", "PATH": ""}
    line = '{"id": "a", "text": "naïve \\u001b[31m", "created_at": "2026-01-01T00:00:00Z"}'
    done = subprocess.run(command, input=line.encode(), capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    assert b"\x1b" not in done.stdout
    assert b"na\xefve \\x1b[31m" in done.stdout


def test_profiles_are_listed_shown_and_checked(tmp_path: Path) -> None:
    listed = recollect("profiles").stdout.decode()
    assert listed == recollect("profiles", "list").stdout.decode()
    assert [line.split()[0] for line in listed.splitlines()] == sorted(BUILTIN_PROFILES)
    names = [row["name"] for row in json.loads(recollect("profiles", "list", "--json").stdout)]
    assert names == sorted(BUILTIN_PROFILES)
    shown = recollect("profiles", "show", "default").stdout
    copy = tmp_path / "copy.toml"
    copy.write_bytes(shown)
    assert (
        recollect("profiles", "check", str(copy)).stdout
        == f"copy {BUILTIN_PROFILES['default'].version} is a valid profile\n".encode()
    )
    described = json.loads(recollect("profiles", "show", "default", "--json").stdout)
    assert described["terms"]["dated"] == {"weight": 0.155, "missing": 0.0, "half_life": "7d"}
    assert json.loads(recollect("profiles", "check", str(copy), "--json").stdout) == {
        **described,
        "name": "copy",
    }


@table(
    ("arguments", "code", "complaint"),
    [
        (["profiles", "show", "nope"], 3, "unknown profile 'nope'"),
        (["profiles", "check", "nope.toml"], 3, "profile file 'nope.toml' does not exist"),
        (["profiles", "nope"], 2, "No such command"),
        (["nope"], 2, "No such command"),
    ],
)
def test_what_is_not_there_is_said_not_to_be(arguments: list[str], code: int, complaint: str) -> None:
    done = recollect(*arguments)
    assert done.returncode == code
    assert complaint in done.stderr.decode()


def test_a_broken_profile_file_is_refused_with_what_is_wrong(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text('about = "x"\nversion = "1"\n[terms]\nimportance = { weight = 0.95 }\n')
    done = recollect("profiles", "check", str(broken))
    assert done.returncode == 2
    assert done.stderr.decode() == "Error: profile 'broken': the weights add up to 0.95, not 1\n"
    broken.write_bytes(b"\xff")
    assert recollect("profiles", "check", str(broken)).returncode == 2


def test_the_version_is_told() -> None:
    assert recollect("--version").stdout.startswith(b"recollect, version ")


def shell(command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["bash", "-c", f"{sys.executable} -m recollect {command}"], capture_output=True)


def test_closed_input_is_no_input() -> None:
    done = shell("rank --profile session --json <&-")
    assert (done.returncode, json.loads(done.stdout)["results"]) == (0, [])


@table("command", ["rank .", "rank 0>/dev/null"])
def test_candidates_that_cannot_be_read_are_an_error_and_no_traceback(command: str) -> None:
    done = shell(command)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"rror" in done.stderr


@table("stream", ["1>/dev/full", ">&-"])
def test_output_that_goes_nowhere_is_an_error_and_no_traceback(stream: str) -> None:
    done = shell(f"profiles {stream}")
    assert (done.returncode, b"Traceback" in done.stderr, b"Error: " in done.stderr) == (1, False, True)


def test_a_profile_file_that_rank_would_not_take_is_not_called_sound(tmp_path: Path) -> None:
    odd = tmp_path / "odd.txt"
    odd.write_text("")
    done = recollect("profiles", "check", str(odd))
    assert (done.returncode, b"does not end in .toml" in done.stderr) == (2, True)
