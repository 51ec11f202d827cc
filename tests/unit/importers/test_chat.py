"""Turns of conversations become events."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recollect.errors import FieldError
from recollect.model.enums import TRUST_BY_PROVENANCE, Kind, Provenance
from tests.tables import table

from .reading import ANA, NOW, drafts, reading

NINE = datetime(2026, 1, 31, 9, tzinfo=UTC)
DATED = {"timestamp": NINE.isoformat(), "session": "s1"}


def a_turn(text: Any = "I moved to Oslo", role: Any = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **DATED, **more}


def test_a_turn_is_an_event_with_who_where_and_when() -> None:
    (draft,) = drafts("chat", a_turn(name="Ana"))
    assert (draft.text, draft.scope, draft.kind, draft.at) == ("I moved to Oslo", ANA, Kind.EVENT, NINE)
    assert (draft.session, draft.speaker, draft.source) == ("s1", "Ana", "notes.jsonl")
    assert draft.metadata == {"role": "user"}


@table(
    "turn",
    [
        {"text": "Hi", "speaker": "Ana", "at": NINE.timestamp(), "conversation_id": 7},
        {"content": "Hi", "name": "Ana", "created_at": NINE.timestamp() * 1000, "thread_id": "7"},
        {"content": [{"type": "text", "text": "Hi"}], "author": "Ana", "date": "2026-01-31T09:00", "session_id": "7"},
        {"content": {"parts": ["Hi"]}, "author": {"name": "Ana"}, "create_time": "2026-01-31T10+01", "session": "7"},
    ],
)
def test_what_programs_call_the_parts_of_a_turn_makes_no_difference(turn: dict[str, Any]) -> None:
    (draft,) = drafts("chat", turn)
    assert (draft.text, draft.speaker, draft.at, draft.session) == ("Hi", "Ana", NINE, "7")


@table(
    ("role", "provenance"),
    [
        ("user", Provenance.IMPORT),
        ("Human", Provenance.IMPORT),
        ("assistant", Provenance.IMPORT),
        ("operator", Provenance.IMPORT),
        (None, Provenance.IMPORT),
        ("tool", Provenance.TOOL_EXTERNAL),
        ("function", Provenance.TOOL_EXTERNAL),
    ],
)
def test_a_file_may_lower_the_trust_in_what_it_has_and_never_raise_it(role: Any, provenance: Provenance) -> None:
    (draft,) = drafts("chat", a_turn(role=role))
    assert draft.provenance is provenance
    assert not TRUST_BY_PROVENANCE[Provenance.IMPORT].less_than(TRUST_BY_PROVENANCE[draft.provenance])


def test_a_role_that_is_not_known_is_a_tag() -> None:
    (draft,) = drafts("chat", a_turn(role="Critic"))
    assert (draft.tags, draft.speaker, draft.metadata) == (("critic",), "critic", {"role": "critic"})


@table("role", ["system", "developer", "SYSTEM"])
def test_what_the_system_says_is_skipped_and_counted(role: str) -> None:
    read = reading("chat", a_turn(role=role), a_turn())
    assert len(list(read)) == 1
    assert read.notes.skipped == {"turns of the system": 1}


@table("content", [None, "", "  \n", [], [{"type": "image_url", "image_url": {}}]])
def test_a_turn_without_words_is_skipped_and_counted(content: Any) -> None:
    read = reading("chat", a_turn(content, tool_calls=[{}]))
    assert list(read) == []
    assert read.notes.skipped["turns without words"] == 1


def test_only_the_texts_among_several_parts_are_what_was_said() -> None:
    read = reading("chat", a_turn(["See:", {"type": "image_url"}, {"type": "input_text", "text": "my cat"}]))
    assert [draft.text for draft in read] == ["See:\nmy cat"]
    assert read.notes.skipped == {"parts that are no text": 1}


def test_the_turns_of_a_conversation_share_its_session_and_its_date() -> None:
    turns = [a_turn("One", session=None), {"content": "Two"}]
    conversation = {"id": "c9", "created_at": "2026-01-31T09:00Z", "messages": turns}
    assert [(one.session, one.at) for one in drafts("chat", conversation)] == [
        ("c9", NINE),
        ("c9", NINE + timedelta(microseconds=1)),
    ]


def test_conversations_without_a_name_are_told_apart_by_what_was_said() -> None:
    first = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
    other = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Good day"}]}
    one, two, three, four = (draft.session for draft in drafts("chat", first, other))
    assert one == two != three == four
    assert [draft.session for draft in drafts("chat", other)] == [three, four]


@table("dated", [True, False])
def test_turns_of_one_moment_stay_in_their_order(dated: bool) -> None:
    stamp = {"timestamp": "2026-01-31"} if dated else {}
    turns = [{"content": f"turn {number}", "session": "s", **stamp} for number in range(50)]
    found = drafts("chat", *turns)
    assert sorted(found, key=lambda one: (one.at or NOW, str(one.id))) == found


def test_a_turn_without_a_date_is_observed_now_and_that_is_said() -> None:
    read = reading("chat", {"role": "user", "content": "Hi"})
    assert [draft.at for draft in read] == [None]
    assert read.notes.assumed == {"turns without a date are observed now": 1}


def test_a_list_of_turns_or_conversations_is_read_like_lines() -> None:
    whole = [a_turn("One"), {"messages": [a_turn("Two")]}]
    assert [one.text for one in drafts("chat", whole)] == ["One", "Two"]
    assert [one.id for one in drafts("chat", whole)] == [one.id for one in drafts("chat", *whole)]


@table(
    ("record", "told"),
    [
        ({"role": "user"}, "line 2, field 'content': is missing"),
        ([1], r"line 2, field '\[0\]': 1 is not a JSON object"),
        ("7", "line 2: 7 is not a JSON object"),
        ({"messages": {}}, "line 2, field 'messages': {} is not a list"),
        ({"messages": [a_turn(), a_turn({"parts": 7})]}, r"line 2, field 'messages\[1\].content': 7 is not a text"),
        (a_turn(5), "line 2, field 'content': 5 is not a text"),
        (
            {"title": "Trip", "mapping": {"a": {}}},
            "line 2: this looks like an export of ChatGPT, which is not supported",
        ),
        (
            [{"chat_messages": [{"text": "Hi"}]}],
            r"line 2, field '\[0\]': this looks like an export of Claude, which is",
        ),
        (a_turn([{"text": 7}]), "field 'content': 7 is not a text"),
        (a_turn("a\0b"), "field 'content': has a NUL"),
        (a_turn("a\ud800b"), "field 'content': has a lone surrogate"),
        (a_turn("x" * 2_000_000), "field 'content': has 2000000 characters"),
        (a_turn(timestamp="9999-12-31T00:00Z"), "field 'timestamp': 9999.* is not within 1900..2199"),
        (a_turn(timestamp="2026-12-24T00:00Z"), "field 'timestamp': 2026-12-24.* is 37 days, 12:00:00 in the future"),
        (a_turn(role=["user"]), "field 'role': .* is not text"),
        (a_turn(session="x" * 300), "field 'session': has 300 characters"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place_or_left_out(record: Any, told: str) -> None:
    with pytest.raises(FieldError, match=told):
        drafts("chat", a_turn("One"), record)
    lenient = reading("chat", a_turn("One"), record, a_turn("Three"), skip_bad=True)
    texts = [draft.text for draft in lenient]
    assert (texts[0], texts[-1]) == ("One", "Three")
    assert lenient.notes.bad_count == len(lenient.notes.errors) == 1


def test_who_gives_an_export_that_is_not_read_is_told_what_is() -> None:
    with pytest.raises(
        FieldError, match="not supported; write each turn as one JSON object a line, with role and content"
    ):
        drafts("chat", {"mapping": {}})


def test_a_turn_may_have_fields_of_any_name_beside_its_words() -> None:
    assert [one.text for one in drafts("chat", a_turn(mapping={"a": 1}), a_turn("Two", chat_messages=[]))] == [
        "I moved to Oslo",
        "Two",
    ]


def test_where_each_turn_stands_is_known_by_its_id() -> None:
    found = reading("chat", a_turn("One"), [a_turn("Two"), {"messages": [a_turn("Three"), a_turn("Four")]}])
    assert {one.text: str(found.spots[one.id]) for one in found if one.id is not None} == {
        "One": "line 1",
        "Two": "line 2, [0]",
        "Three": "line 2, [1].messages[0]",
        "Four": "line 2, [1].messages[1]",
    }
