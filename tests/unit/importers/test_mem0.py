"""mem0's memories become facts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from recollect.errors import FieldError
from recollect.model.enums import Kind, Provenance
from recollect.model.memory import MAX_METADATA_CHARS
from tests.tables import table

from .reading import drafts, reading

MADE, CHANGED = datetime(2026, 1, 31, 9, tzinfo=UTC), datetime(2026, 2, 1, 9, tzinfo=UTC)


def an_item(text: Any = "Likes tea", id: Any = "m1", **more: Any) -> dict[str, Any]:
    return {"id": id, "memory": text, "hash": "0a1b", "created_at": MADE.isoformat(), "user_id": "ana", **more}


def test_a_memory_is_a_fact_with_its_tags_date_and_origin() -> None:
    (draft,) = drafts(
        "mem0",
        an_item(metadata={"type": "taste"}, categories=["food", "drink"], agent_id="bot", run_id="r1", updated_at=None),
    )
    assert (draft.text, draft.kind, draft.tags, draft.at) == ("Likes tea", Kind.FACT, ("food", "drink"), MADE)
    assert (draft.source, draft.session, draft.provenance) == ("mem0:m1", "r1", Provenance.IMPORT)
    assert draft.metadata == {"type": "taste", "mem0": {"user_id": "ana", "agent_id": "bot", "run_id": "r1"}}


@table(
    "shape",
    [
        lambda items: [{"results": items}],
        lambda items: [{"count": 2, "next": None, "previous": None, "results": items}],
        lambda items: [{"memories": items}],
        lambda items: [items],
        lambda items: items,
        lambda items: [{"results": items[:1]}, {"results": items[1:]}],
    ],
    ids=["results", "page", "export", "list", "lines", "pages"],
)
def test_every_shape_that_mem0_gives_is_read_alike(shape: Any) -> None:
    items = [an_item(), an_item("Lives in Oslo", "m2")]
    assert drafts("mem0", *shape(items)) == drafts("mem0", *items)


def test_a_memory_was_observed_when_its_present_words_were() -> None:
    (draft,) = drafts("mem0", an_item(updated_at=CHANGED.isoformat()))
    assert draft.at == CHANGED


def test_a_memory_holds_until_it_expires_there() -> None:
    (draft,) = drafts("mem0", an_item(expiration_date="2030-08-31"))
    assert draft.valid_until == datetime(2030, 8, 31, tzinfo=UTC)


def test_a_memory_that_changed_there_is_another_one_here() -> None:
    (before,), (after,) = drafts("mem0", an_item()), drafts("mem0", an_item("Likes coffee"))
    assert before.id != after.id
    assert before.source == after.source


def test_a_relation_of_the_graph_is_a_sentence() -> None:
    (draft,) = drafts(
        "mem0", {"results": [], "relations": [{"source": "ana", "relationship": "likes", "target": "tea"}]}
    )
    assert (draft.text, draft.metadata) == (
        "ana likes tea",
        {"relation": {"from": "ana", "type": "likes", "to": "tea"}},
    )


def test_what_was_deleted_there_or_has_no_words_is_skipped_and_counted() -> None:
    read = reading("mem0", an_item(state="deleted"), an_item(""), an_item(None), an_item(state="active"))
    assert len(list(read)) == 1
    assert read.notes.skipped == {"memories that were deleted there": 1, "memories without words": 2}


def test_metadata_that_is_too_long_is_left_out_and_the_rest_is_kept() -> None:
    read = reading("mem0", an_item(metadata={"note": "x" * MAX_METADATA_CHARS}))
    assert [draft.metadata for draft in read] == [{"mem0": {"user_id": "ana"}}]
    assert read.notes.assumed == {"metadata that is too long, too deep or broken was left out": 1}


def test_a_memory_is_said_by_the_user_whose_it_was_or_else_by_who_spoke() -> None:
    items = [
        an_item("User lives in Oslo"),
        an_item("Likes tea", "m2", actor_id="bo"),
        an_item("Is", "m3", user_id=None),
    ]
    assert [draft.speaker for draft in drafts("mem0", *items, an_item("Runs", "m4", user_id="", actor_id="bo"))] == [
        *("ana", "ana"),
        None,
        "bo",
    ]


def test_that_memories_of_several_users_come_into_one_scope_is_said() -> None:
    read = reading("mem0", an_item(), an_item("Likes milk", "m2", user_id="ben"), an_item("Is tall", "m3"))
    assert len(list(read)) == 3
    assert read.notes.assumed == {"further users whose memories come into this one scope": 1}


def test_the_same_words_under_another_id_are_said_again_with_nothing_beside_them() -> None:
    first, again = drafts("mem0", an_item(categories=["food"]), an_item(id="m2", categories=["drink"]))
    assert first.id != again.id
    assert (again.text, again.tags, again.metadata) == (first.text, (), None)


@table(
    ("record", "told"),
    [
        ({"id": "m1"}, "line 1, field 'memory': is missing"),
        ({"role": "user", "content": "Hi"}, "field 'memory': is missing"),
        ({"results": [an_item(), 7]}, r"line 1, field 'results\[1\]': 7 is not a JSON object"),
        ({"results": [an_item(["x"])]}, r"field 'results\[0\].memory': .* is not text"),
        (an_item("a\0b"), "field 'memory': has a NUL"),
        (an_item(id={}), "field 'id': {} is not text"),
        (an_item(id="x" * 256), "field 'id': has 261 characters"),
        (an_item(created_at="soon"), "field 'created_at': 'soon' is not a date"),
        (an_item(updated_at="2126-01-01T00:00Z"), "field 'updated_at': .* in the future"),
        (an_item(expiration_date="9999-12-31"), "field 'expiration_date': .* is not within"),
        ({"relations": [{"source": "a", "relationship": "b"}]}, r"field 'relations\[0\].target': is missing or blank"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place_or_left_out(record: Any, told: str) -> None:
    with pytest.raises(FieldError, match=told):
        drafts("mem0", record)
    lenient = reading("mem0", record, an_item("Is tall", "m9"), skip_bad=True)
    assert [draft.text for draft in lenient][-1] == "Is tall"
    assert lenient.notes.bad_count == 1
