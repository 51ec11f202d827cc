"""Who sums up what happened is what the settings say, and what no setting can be is refused."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import recollect
from recollect import Level, Trust
from recollect.cli import admin
from tests.integration.providers.chat_server import shown, summing_up
from tests.integration.providers.server import Server, saying, serving

from .shell import Shell

ANA = "acme/ana"
BEGAN = datetime(2025, 3, 3, 9, tzinfo=UTC)
SAID = "I prefer green tea, and I always drink it hot."
POINT = {"text": "Ana prefers green tea, hot.", "passages": [0]}
EVENTS: list[dict[str, Any]] = [{"text": SAID, "speaker": "Ana", "at": BEGAN, "session": "s1"}]
LEVELS = ("segment", "day", "week", "month", "year")


def asked(server: Server, **more: Any) -> dict[str, Any]:
    address = {"address": server.url, "model": "tiny", **more}
    return {"lifecycle": {"summariser": "llm"}, "extraction": address}


def records(engine: recollect.Engine) -> dict[str, recollect.Memory]:
    return {one.level: one for one in engine.memories(scope=ANA) if one.level is not None}


def test_a_model_is_asked_with_the_key_and_what_it_says_is_the_record_as_its_inference(tmp_path: Path) -> None:
    with (
        serving(summing_up(POINT, title="Green tea")) as server,
        recollect.open(tmp_path / "a.db", embedder="hashing", settings=asked(server, key="k-1")) as memory,
    ):
        memory.observe(EVENTS, scope=ANA)
        memory.timeline.rollup(scope=ANA)
        found = records(memory)
    assert len(server.asked) == len(LEVELS)
    assert {one.headers["Authorization"] for one in server.asked} == {"Bearer k-1"}
    assert {one.body["model"] for one in server.asked} == {"tiny"}
    assert [one["text"] for one in shown(server.asked[0])] == [SAID]
    assert {found[Level(level)].text for level in LEVELS} == {f"- {POINT['text']}"}
    assert found[Level.DAY].title == "Monday, 3 March 2025: Green tea"
    assert {found[Level(level)].trust for level in LEVELS} == {Trust.INFERRED}
    assert (found[Level.EVENT].trust, found[Level.GRIP].trust) == (Trust.STATED, Trust.STATED)


def test_a_rollup_says_what_was_asked_of_the_model_and_what_that_cost(tmp_path: Path) -> None:
    prices = {"price_prompt": 2.0, "price_completion": 4.0}
    with (
        serving(summing_up(POINT)) as server,
        recollect.open(tmp_path / "a.db", embedder="hashing", settings=asked(server, **prices)) as memory,
    ):
        memory.observe(EVENTS, scope=ANA)
        done, again = memory.timeline.rollup(scope=ANA), memory.timeline.rollup(scope=ANA)
    assert done.spent.calls == len(LEVELS)
    assert done.spent.prompt_tokens > 0
    assert done.cost == (2.0 * done.spent.prompt_tokens + 4.0 * done.spent.completion_tokens) / 1_000_000
    assert (again.spent.calls, again.cost) == (0, None)
    assert f"({len(LEVELS)} calls, " in admin.describe_rollup(done)
    assert admin.rollup_fields(done)["cost"] == done.cost


def test_unless_it_is_set_no_model_is_asked_and_the_words_are_those_that_were_said(tmp_path: Path) -> None:
    with (
        serving(summing_up(POINT)) as server,
        recollect.open(tmp_path / "a.db", embedder="hashing", settings={**asked(server), "lifecycle": {}}) as memory,
    ):
        memory.observe(EVENTS, scope=ANA)
        memory.timeline.rollup(scope=ANA)
        found = records(memory)
    assert server.asked == []
    assert {found[Level(level)].text for level in LEVELS} == {f"- Ana: {SAID}"}
    assert {one.trust for one in found.values()} == {Trust.STATED}


def test_another_summariser_than_before_makes_all_records_anew(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "a.db", embedder="hashing") as memory:
        memory.observe(EVENTS, scope=ANA)
        memory.timeline.rollup(scope=ANA)
    with (
        serving(summing_up(POINT)) as server,
        recollect.open(tmp_path / "a.db", embedder="hashing", settings=asked(server)) as memory,
    ):
        done = memory.timeline.rollup(scope=ANA)
        assert {level.value: count for level, count in done.revised.items()} == dict.fromkeys(LEVELS, 1)
        assert memory.timeline.rollup(scope=ANA).changed == 0
        assert len(server.asked) == len(LEVELS)


def test_a_server_that_fails_is_an_error_and_the_next_rollup_asks_for_the_rest_alone(tmp_path: Path) -> None:
    well = summing_up(POINT)
    acts = (well, well, saying(b"", 503, Retry_After="0"), well)
    with (
        serving(*acts) as server,
        recollect.open(tmp_path / "a.db", embedder="hashing", settings=asked(server, attempts=1)) as memory,
    ):
        memory.observe(EVENTS, scope=ANA)
        with pytest.raises(recollect.errors.ProviderBusy):
            memory.timeline.rollup(scope=ANA)
        assert set(records(memory)) == {"event", "grip", "segment", "day"}
        memory.timeline.rollup(scope=ANA)
        assert set(records(memory)) == {"event", "grip", *LEVELS}
        assert len(server.asked) == len(acts) + 2  # the week again, month and year


def test_of_two_segments_the_one_that_was_summed_up_is_not_asked_for_again(tmp_path: Path) -> None:
    well = summing_up(POINT)
    acts = (well, saying(b"", 503, Retry_After="0"), well)
    second = [{**EVENTS[0], "session": "s2", "at": BEGAN + timedelta(hours=2)}]
    with (
        serving(*acts) as server,
        recollect.open(tmp_path / "a.db", embedder="hashing", settings=asked(server, attempts=1)) as memory,
    ):
        memory.observe([*EVENTS, *second], scope=ANA)
        with pytest.raises(recollect.errors.ProviderBusy):
            memory.timeline.rollup(scope=ANA)
        memory.timeline.rollup(scope=ANA)
    assert len(server.asked) == len(acts) + 4  # the second segment again, then day, week, month and year


@pytest.mark.parametrize("lacking", ["address", "model"])
def test_a_store_is_not_opened_for_a_model_that_nobody_named(lacking: str, tmp_path: Path) -> None:
    given = {"address": "http://127.0.0.1/v1", "model": "m"}
    settings = {"lifecycle": {"summariser": "llm"}, "extraction": {k: v for k, v in given.items() if k != lacking}}
    with pytest.raises(recollect.errors.FieldError, match=lacking):
        recollect.open(tmp_path / "a.db", embedder="hashing", settings=settings)


def test_the_command_asks_the_model_of_the_configuration(shell: Shell, tmp_path: Path) -> None:
    configured = tmp_path / "recollect.toml"
    told = json.dumps({"content": SAID, "name": "Ana", "timestamp": BEGAN.isoformat()})
    shell("observe", "-", "--scope", ANA, stdin=told)
    with serving(summing_up(POINT, title="Green tea")) as server:
        configured.write_text(
            f'[lifecycle]\nsummariser = "llm"\n[extraction]\naddress = "{server.url}"\nmodel = "tiny"\n'
        )
        shell("--config", str(configured), "admin", "rollup")
    assert shell("browse", "--scope", ANA).stdout == "year\t2025\t2025: Green tea\n"


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "Pacific/Apia"])
def test_a_day_is_browsed_in_the_time_zone_it_was_summed_up_in(zone: str, tmp_path: Path) -> None:
    settings = {"lifecycle": {"time_zone": zone}}
    late = BEGAN + timedelta(hours=14, minutes=30)
    with recollect.open(tmp_path / "a.db", embedder="hashing", settings=settings) as memory:
        memory.observe([{"text": "half past eleven", "at": late}], scope=ANA)
        memory.timeline.rollup(scope=ANA)
        place = memory.timeline.browse(late.astimezone(ZoneInfo(zone)).date().isoformat(), scope=ANA).place
    assert place is not None
    assert place.record is not None
    assert (place.last - place.first, place.first.astimezone(ZoneInfo(zone)).hour) == (timedelta(days=1), 0)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("time_zone", "Europe/Lissabon", "'Europe/Lissabon' is not a time zone; use a name such as 'Europe/Lisbon'"),
        ("time_zone", "", "is not a time zone"),
        ("time_zone", "/etc/localtime", "is not a time zone"),
        ("time_zone", "../zone", "is not a time zone"),
        ("time_zone", "Europe", "is not a time zone"),
        ("time_zone", "a\0b", "is not a time zone"),
        ("time_zone", "\ud800", "is not a time zone"),
        ("time_zone", "x" * 10_000, "is not a time zone"),
        ("time_zone", 7, "7 is not text"),
        ("segment_gap_minutes", 0, "0 is not a number of minutes up to a day"),
        ("segment_gap_minutes", -1.0, "is not a number of minutes"),
        ("segment_gap_minutes", 1440.5, "is not a number of minutes"),
        ("segment_gap_minutes", float("nan"), "segment_gap_minutes"),
        ("segment_gap_minutes", float("inf"), "segment_gap_minutes"),
        ("segment_tokens", 99, r"99 is not within 100\.\.100000"),
        ("segment_tokens", 100_001, "is not within"),
        ("segment_tokens", 200.5, "is not a whole number"),
        ("summariser", "lm", "'lm' is not a summarizer; did you mean 'llm'"),
        ("summariser", None, "summariser"),
    ],
)
def test_what_no_setting_can_be_is_refused_by_its_name(name: str, value: object, problem: str, tmp_path: Path) -> None:
    with pytest.raises(recollect.errors.FieldError, match=problem) as caught:
        recollect.open(tmp_path / "a.db", embedder="hashing", settings={"lifecycle": {name: value}})
    assert caught.value.field == f"lifecycle.{name}"
    assert list(tmp_path.iterdir()) == []
