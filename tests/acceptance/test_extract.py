"""A conversation leaves memories behind, at once or soon, and the same conversation again changes nothing."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import recollect
from recollect import Provenance, Status, Trust
from recollect.testing.builders import ManualClock
from tests.tables import table

from .shell import Shell

ANA = "acme/ana"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
TALK = [
    {"content": "Hi! I'm allergic to peanuts. Can you find me a place?", "name": "Ana", "at": NOON, "session": "s1"},
    {"content": "Do you like Thai food?", "role": "assistant", "at": NOON + timedelta(seconds=10), "session": "s1"},
    {"content": "I prefer small places with a garden.", "name": "Ana", "at": NOON + timedelta(minutes=1)},
]
ALLERGIC, GARDEN = "I'm allergic to peanuts.", "I prefer small places with a garden."


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON + timedelta(days=1))


@pytest.fixture
def memory(tmp_path: Path, clock: ManualClock) -> Iterator[recollect.Engine]:
    with recollect.open(tmp_path / "agent.db", embedder="hashing", clock=clock) as engine:
        yield engine


def known(memory: recollect.Engine) -> list[tuple[str, str]]:
    return [(one.text, one.status.value) for one in memory.memories(scope=ANA, statuses=tuple(Status))]


def test_what_is_said_outright_is_remembered_with_its_quote_speaker_session_and_date(memory: recollect.Engine) -> None:
    extracted = memory.extract(TALK, scope=ANA)
    first, second = (receipt.memory for receipt in extracted.receipts)
    assert (first.text, second.text) == (ALLERGIC, GARDEN)
    assert (first.speaker, first.session, first.created_at) == ("Ana", "s1", NOON)
    assert first.evidence == ("I'm allergic to peanuts.",)
    assert first.evidence[0] in str(TALK[0]["content"])
    assert (first.provenance, first.trust) == (Provenance.DIRECT_USER, Trust.STATED)
    assert (first.importance, second.importance) == (0.85, 0.55)
    assert first.confidence == 1.0


def test_the_same_conversation_again_changes_nothing(memory: recollect.Engine, clock: ManualClock) -> None:
    memory.extract(TALK, scope=ANA)
    before = list(memory.export())
    clock.move(timedelta(days=40))
    again = memory.extract(TALK, scope=ANA)
    assert [receipt.verdict for receipt in again.receipts] == [recollect.types.Unchanged()] * 2
    assert list(memory.export()) == before


def test_turns_without_a_date_are_remembered_once(memory: recollect.Engine) -> None:
    first = memory.extract([ALLERGIC], scope=ANA)
    usage = memory.contexts.usage(first.receipts[0].id, scope=ANA)
    again = memory.extract([ALLERGIC], scope=ANA)
    assert [receipt.id for receipt in again.receipts] == [first.receipts[0].id]
    assert memory.contexts.usage(first.receipts[0].id, scope=ANA) == usage


def test_what_was_forgotten_stays_so_until_it_is_said_again_later(memory: recollect.Engine, clock: ManualClock) -> None:
    id = memory.extract(TALK, scope=ANA).receipts[0].id
    memory.forget(id, scope=ANA)
    again = memory.extract(TALK, scope=ANA)
    assert isinstance(again.receipts[0].verdict, recollect.types.Refused)
    assert known(memory) == [(ALLERGIC, "forgotten"), (GARDEN, "active")]
    clock.move(timedelta(days=2))
    later = memory.extract([{**TALK[0], "at": clock()}], scope=ANA)
    assert later.receipts[0].verdict == recollect.types.Reactivated("forgotten")
    assert later.receipts[0].id == id


@pytest.mark.parametrize("days", [0, 1, 31, 400])
def test_a_turn_without_a_date_never_brings_back_what_was_forgotten(
    days: int, memory: recollect.Engine, clock: ManualClock
) -> None:
    id = memory.extract([ALLERGIC], scope=ANA).receipts[0].id
    clock.move(timedelta(hours=1))
    memory.forget(id, scope=ANA)
    clock.move(timedelta(days=days, seconds=1))
    (receipt,) = memory.extract([ALLERGIC], scope=ANA).receipts
    assert isinstance(receipt.verdict, recollect.types.Refused)
    assert receipt.reason.startswith("it was forgotten on 2026-03-03T13:00:00")
    assert (receipt.other, receipt.memory.status) == (id, Status.FORGOTTEN)
    assert known(memory) == [(ALLERGIC, "forgotten")]


def test_nor_does_a_longer_turn_with_the_same_words_or_one_that_only_echoed_it(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    elsewhere = {"text": ALLERGIC, "session": "s2"}
    id = memory.extract([ALLERGIC], scope=ANA).receipts[0].id
    clock.move(timedelta(hours=1))
    assert isinstance(memory.extract([elsewhere], scope=ANA).receipts[0].verdict, recollect.types.Reinforced)
    memory.forget(id, scope=ANA)
    clock.move(timedelta(days=40))
    memory.extract([GARDEN], scope=ANA)  # which lets go of keys that are too old
    for turn in (f"{ALLERGIC} Thanks!", elsewhere):
        assert isinstance(memory.extract([turn], scope=ANA).receipts[0].verdict, recollect.types.Refused)
    assert known(memory) == [(ALLERGIC, "forgotten"), (GARDEN, "active")]


@pytest.mark.parametrize("anew", [{"session": "s2"}, {"at": NOON + timedelta(days=3)}])
def test_said_again_in_another_session_or_with_a_date_it_comes_back(
    anew: dict[str, object], memory: recollect.Engine, clock: ManualClock
) -> None:
    id = memory.extract([{"text": ALLERGIC, "session": "s1"}], scope=ANA).receipts[0].id
    clock.move(timedelta(days=1))
    memory.forget(id, scope=ANA)
    clock.move(timedelta(days=1))
    turn = {"text": ALLERGIC, "session": "s1", **anew}
    (receipt,) = memory.extract([turn], scope=ANA).receipts
    assert (receipt.verdict, receipt.id) == (recollect.types.Reactivated("forgotten"), id)
    clock.move(timedelta(days=1))
    memory.forget(id, scope=ANA)
    assert isinstance(memory.extract([turn], scope=ANA).receipts[0].verdict, recollect.types.Refused)


@pytest.mark.parametrize("first", [None, NOON])
def test_said_again_later_in_a_conversation_that_went_on_it_comes_back(
    first: datetime | None, memory: recollect.Engine, clock: ManualClock
) -> None:
    talk: list[dict[str, object]] = [{"text": ALLERGIC, "at": first}]
    id = memory.extract(talk, scope=ANA).receipts[0].id
    clock.move(timedelta(days=1))
    memory.forget(id, scope=ANA)
    clock.move(timedelta(days=1))
    for later in (f"Who said: {ALLERGIC}", f'Bo said "{ALLERGIC}"'):
        talk.append({"text": later, "at": clock()})
        assert isinstance(memory.extract(talk, scope=ANA).receipts[0].verdict, recollect.types.Refused)
    talk.append({"text": f"As I said! {ALLERGIC}", "at": clock()})
    (receipt,) = memory.extract(talk, scope=ANA).receipts
    assert (receipt.verdict, receipt.id) == (recollect.types.Reactivated("forgotten"), id)
    before = list(memory.export())
    assert memory.extract(talk, scope=ANA).receipts[0].verdict == recollect.types.Unchanged()
    assert list(memory.export()) == before


def test_turns_without_a_date_again_change_nothing_however_much_later(
    memory: recollect.Engine, clock: ManualClock
) -> None:
    turns = ["I live in Rome.", GARDEN, "I live in Oslo."]
    memory.remember(GARDEN, scope=ANA, provenance="direct_user")
    clock.move(timedelta(days=1))
    memory.extract(turns, scope=ANA)
    before = list(memory.export())
    clock.move(timedelta(days=40))
    again = memory.extract(turns, scope=ANA)
    assert not {type(one.verdict) for one in again.receipts} - {recollect.types.Unchanged, recollect.types.Refused}
    assert list(memory.export()) == before


def test_what_an_operator_merged_is_not_made_again(memory: recollect.Engine, clock: ManualClock) -> None:
    one, other = (receipt.id for receipt in memory.extract(TALK, scope=ANA).receipts)
    clock.move(timedelta(hours=1))
    memory.curator.merge([one, other], "Ana wants a garden and no peanuts", scope=ANA)
    before = list(memory.export())
    again = memory.extract(TALK, scope=ANA)
    assert [receipt.verdict for receipt in again.receipts] == [recollect.types.Unchanged()] * 2
    assert list(memory.export()) == before


@pytest.mark.parametrize("dated", [True, False])
def test_what_was_revised_since_is_not_made_again(dated: bool, memory: recollect.Engine, clock: ManualClock) -> None:
    talk = TALK if dated else [ALLERGIC, GARDEN]
    first, _ = memory.extract(talk, scope=ANA).receipts
    clock.move(timedelta(hours=1))
    memory.revise(first.id, "Ana has an EpiPen for her peanut allergy", scope=ANA)
    before = list(memory.export())
    clock.move(timedelta(days=40))
    again = memory.extract(talk, scope=ANA)
    assert [receipt.verdict for receipt in again.receipts] == [recollect.types.Unchanged()] * 2
    assert list(memory.export()) == before
    clock.move(timedelta(days=1))
    said = {"content": ALLERGIC, "name": "Ana", "at": clock.now}
    assert memory.extract([said], scope=ANA).receipts[0].verdict == recollect.types.Created()


def test_what_was_extracted_can_be_read_at_a_glance(memory: recollect.Engine) -> None:
    assert repr(memory.extract([ALLERGIC, "Hello!"], scope=ANA)) == f"<Extracted 1 memory: Created {ALLERGIC!r}>"
    assert repr(memory.extract(["Hello!"], scope=ANA)) == "<Extracted 0 memories: nothing>"


def test_a_turn_that_is_kept_passes_its_trust_on(memory: recollect.Engine) -> None:
    turn = memory.remember(ALLERGIC, scope=ANA, kind="event", provenance="tool_external", speaker="Ana", at=NOON)
    (receipt,) = memory.extract([{"text": GARDEN, "id": turn.id, "at": NOON}], scope=ANA).receipts
    assert (receipt.memory.derived_from, receipt.memory.trust) == ((turn.id,), Trust.EXTERNAL)


def test_a_conversation_is_trusted_no_more_than_who_brought_it(memory: recollect.Engine) -> None:
    (receipt,) = memory.extract([GARDEN], scope=ANA, provenance="document").receipts
    assert (receipt.memory.provenance, receipt.memory.trust) == (Provenance.DOCUMENT, Trust.SECONDHAND)


def test_secrets_and_private_parts_are_not_extracted(memory: recollect.Engine) -> None:
    token = "ghp_" + "a1B2" * 9
    turns = [f"My favourite token is {token} and I prefer tea.", "<private>I prefer gin.</private> I prefer tea."]
    memory.extract(turns, scope=ANA)
    assert all(token not in one and "gin" not in one for one, _ in known(memory))


def test_a_secret_for_a_name_is_refused(memory: recollect.Engine) -> None:
    with pytest.raises(recollect.errors.FieldError, match="speaker"):
        memory.extract([{"text": GARDEN, "speaker": "ghp_" + "a1B2" * 9}], scope=ANA)


@pytest.mark.parametrize("most", [0, 11, -1])
def test_one_call_extracts_between_one_and_ten(most: int, memory: recollect.Engine) -> None:
    with pytest.raises(recollect.errors.FieldError, match="most"):
        memory.extract(TALK, scope=ANA, most=most)


def test_no_more_than_asked_for_are_extracted_and_the_most_important_first(memory: recollect.Engine) -> None:
    assert [one.memory.text for one in memory.extract(TALK, scope=ANA, most=1).receipts] == [ALLERGIC]


def test_a_turn_of_the_future_is_refused(memory: recollect.Engine, clock: ManualClock) -> None:
    with pytest.raises(recollect.errors.FieldError, match="at"):
        memory.extract([{"text": GARDEN, "at": clock() + timedelta(seconds=1)}], scope=ANA)
    assert known(memory) == []


def test_in_the_background_it_can_be_waited_for(memory: recollect.Engine) -> None:
    pending = memory.extract(TALK, scope=ANA, background=True)
    assert [receipt.memory.text for receipt in pending.result(timeout=60).receipts] == [ALLERGIC, GARDEN]
    assert pending.done


def test_in_the_background_it_can_be_awaited(memory: recollect.Engine) -> None:
    async def wait() -> list[str]:
        extracted = await memory.extract(TALK, scope=ANA, background=True)
        return [receipt.memory.text for receipt in extracted.receipts]

    assert asyncio.run(wait()) == [ALLERGIC, GARDEN]


def test_what_goes_wrong_in_the_background_is_told_to_who_waits(memory: recollect.Engine, clock: ManualClock) -> None:
    pending = memory.extract([{"text": GARDEN, "at": clock() + timedelta(days=1)}], scope=ANA, background=True)
    with pytest.raises(recollect.errors.FieldError, match="at"):
        pending.result(timeout=60)


def test_closing_waits_for_what_is_under_way(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "agent.db", embedder="hashing") as engine:
        pending = engine.extract([GARDEN], scope=ANA, background=True)
    assert pending.done
    with recollect.open(tmp_path / "agent.db") as engine:
        assert [one.text for one in engine.memories(scope=ANA)] == [GARDEN]


def test_the_command_extracts_session_by_session_and_again_changes_nothing(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    turns = [
        {"role": "user", "content": GARDEN, "timestamp": "2026-03-02T12:00:00Z", "session": "a"},
        {"role": "user", "content": ALLERGIC, "timestamp": "2026-03-03T12:00:00Z", "session": "b"},
    ]
    file.write_text("\n".join(map(json.dumps, turns)))
    first = shell.json("extract", str(file), "--scope", ANA)
    assert (first["sessions"], first["calls"], first["cost"], first["bad"]) == (2, 0, None, 0)
    assert [(one["verdict"], one["quote"]) for one in first["extracts"]] == [("created", GARDEN), ("created", ALLERGIC)]
    assert [one["memory"]["trust"] for one in first["extracts"]] == ["secondhand", "secondhand"]
    again = shell.json("extract", str(file), "--scope", ANA)
    assert [one["verdict"] for one in again["extracts"]] == ["unchanged", "unchanged"]
    told = shell("extract", str(file), "--scope", ANA).stdout
    assert told.splitlines()[-1] == "2 sessions: 2 unchanged"


def test_an_import_of_conversations_extracts_too_if_asked(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(json.dumps({"role": "user", "content": GARDEN, "timestamp": "2026-03-02T12:00:00Z"}))
    taken = shell.json("import", str(file), "--format", "chat", "--scope", ANA, "--extract")
    (extract,) = taken["extracted"]["extracts"]
    assert extract["memory"]["kind"] == "preference"
    (event,) = [one for one in shell.json("list", "--scope", ANA)["memories"] if one["kind"] == "event"]
    assert extract["memory"]["derived_from"] == [event["id"]]
    other = shell("import", str(file), "--format", "mem0", "--scope", ANA, "--extract", code=2)
    assert "--extract needs --format chat" in other.stderr


def test_a_dry_run_of_an_import_shows_what_would_be_extracted_too(shell: Shell, tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    chat.write_text(json.dumps({"role": "user", "content": "I am a nurse.", "timestamp": "2026-01-31T09:00:00Z"}))
    command = ("import", str(chat), "--format", "chat", "--scope", ANA, "--extract")
    ahead = shell(*command, "--dry-run").stdout
    assert "I am a nurse." in ahead
    assert ahead.splitlines()[-1] == "1 session: 1 memory would be proposed; nothing was written"
    assert not shell.store.exists()
    assert shell.json(*command, "--dry-run")["extracted"]["extracts"][0]["quote"] == "I am a nurse."
    assert shell(*command).stdout.splitlines()[-1] == "1 session: 1 created"


def test_a_dry_run_shows_what_would_be_remembered_and_makes_no_store(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(json.dumps({"role": "user", "content": f"Hi! {GARDEN}", "timestamp": "2026-03-02T12:00:00Z"}))
    told = shell("extract", str(file), "--scope", ANA, "--dry-run").stdout
    assert told.splitlines() == [
        f"preference  {GARDEN}",
        f"  quote: {GARDEN}",
        "1 session: 1 memory would be proposed; nothing was written",
    ]
    foreseen = shell.json("extract", str(file), "--scope", ANA, "--dry-run")
    assert (foreseen["dry_run"], foreseen["sessions"]) == (True, 1)
    assert [(one["kind"], one["text"], one["quote"]) for one in foreseen["extracts"]] == [
        ("preference", GARDEN, GARDEN)
    ]
    assert not shell.store.exists()


def test_a_dry_run_leaves_a_store_as_it_is(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(json.dumps({"role": "user", "content": GARDEN}))
    shell("remember", ALLERGIC, "--scope", ANA)
    before = shell("export").stdout
    shell("extract", str(file), "--scope", ANA, "--dry-run")
    assert shell("export").stdout == before


@pytest.mark.parametrize(
    ("second", "told"), [("oops", "line 2: invalid JSON"), ("7", "line 2: 7 is not a JSON object")]
)
def test_a_line_that_is_no_turn_is_named_with_what_was_expected(
    second: str, told: str, shell: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(f"{json.dumps({'content': GARDEN, 'role': 'user'})}\n{second}\n")
    said = shell("extract", str(file), "--scope", ANA, code=2).stderr
    assert told in said
    assert 'a line is a turn, such as {"role": "user", "content": "I prefer tea."' in said
    assert "nothing was extracted; --skip-bad leaves out such lines" in said
    assert not shell.store.exists()


@pytest.mark.parametrize("stored", [False, True])
def test_words_that_are_repeated_are_still_of_who_says_them(stored: bool, shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    turns = [{"role": "tool", "name": "web", "content": GARDEN, "session": session} for session in "ab"]
    file.write_text("\n".join(map(json.dumps, turns)))
    if stored:
        taken = shell.json("import", str(file), "--format", "chat", "--scope", ANA, "--extract")["extracted"]
    else:
        taken = shell.json("extract", str(file), "--scope", ANA)
    assert (taken["sessions"], taken["extracts"]) == (2, [])


BAD = [
    json.dumps({"role": "system", "content": "Be kind.", "timestamp": "2026-03-02T12:00:00Z"}),
    json.dumps({"role": "user", "content": GARDEN, "timestamp": "2026-03-02T12:00:00Z"}),
    "oops",
    json.dumps({"role": "user", "content": 5}),
]


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_what_the_command_left_out_is_told_line_by_line_as_an_import_tells_it(
    more: list[str], shell: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text("\n".join(BAD))
    told = shell("extract", str(file), "--scope", ANA, "--skip-bad", *more).stdout.splitlines()
    theirs = shell("import", str(file), "--format", "chat", "--scope", ANA, "--skip-bad", "--dry-run").stdout
    assert told[-4:] == [
        "skipped  1: turns of the system",
        "left out 2: cannot be read",
        "  line 3: invalid JSON (Expecting value)",
        "  line 4, field 'content': 5 is not a text",
    ]
    assert theirs.splitlines()[-4:] == told[-4:]
    data = shell.json("extract", str(file), "--scope", ANA, "--skip-bad", *more)
    assert (data["bad"], data["skipped"], data["assumed"]) == (2, {"turns of the system": 1}, {})
    assert data["problems"] == [line.strip() for line in told[-2:]]


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_file_of_which_no_turn_can_be_read_is_an_error(more: list[str], shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text("dear diary\nit rained\n")
    refused = shell("extract", str(file), "--scope", ANA, "--skip-bad", *more, code=2)
    assert "no record can be read, 2 skipped; the first: line 1: invalid JSON" in refused.stderr
    assert 'a line is a turn, such as {"role": "user"' in refused.stderr
    assert (refused.stdout, shell.store.exists()) == ("", False)


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_the_command_tells_what_was_taken_out_of_the_turns(more: list[str], shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    said = [f"{GARDEN} <private>My aunt has one.</private>", ALLERGIC, "<private>Nobody knows.</private>"]
    turns = [
        {"role": "user", "content": text, "timestamp": f"2026-03-0{day}T12:00:00Z", "session": str(day)}
        for day, text in enumerate(said, start=1)
    ]
    file.write_text("\n".join(map(json.dumps, turns)))
    told = shell("extract", str(file), "--scope", ANA, *more).stdout
    assert told.splitlines()[-1] == "removed from 2 turns before storing: private"
    assert shell.json("extract", str(file), "--scope", ANA, *more)["redacted"] == {"private": 2}


@table("action", ["redact", "refuse"])
def test_what_was_taken_out_of_turns_is_returned(action: str) -> None:
    with recollect.open(":memory:", embedder="hashing", settings={"secrets": {"action": action}}) as engine:
        found = engine.extract(
            [f"{GARDEN} <private>x</private>", "My password is hunter2Secret99x", ALLERGIC], scope=ANA
        )
    assert found.redacted == {"private": 1, "password": 1}
    assert repr(found).startswith("<Extracted 2 memories, without private, password: ")


def test_help_says_that_a_dry_run_does_not_look_at_the_store(shell: Shell) -> None:
    assert "without a look at the store" in " ".join(shell("extract", "--help").stdout.split())
