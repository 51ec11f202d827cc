"""Draft: what a caller proposes."""

import dataclasses
from typing import Any

import pytest

from recollect.errors import FieldError, ScopeError
from recollect.model.draft import Draft, read_draft
from recollect.model.enums import Kind, Provenance
from recollect.model.scope import Scope
from recollect.testing import NOW
from tests.tables import table


def a_draft(**given: Any) -> Draft:
    return read_draft({"text": "Ana prefers window seats", "scope": "acme/ana", **given})


def test_names_become_values() -> None:
    draft = a_draft(kind="preference", provenance="direct_user", tags=["seats"], vector=[1, 2])
    assert (draft.scope, draft.kind, draft.provenance) == (
        Scope.parse("acme/ana"),
        Kind.PREFERENCE,
        Provenance.DIRECT_USER,
    )
    assert (draft.tags, draft.vector) == (("seats",), (1.0, 2.0))


def test_a_draft_without_a_scope_takes_the_one_for_all() -> None:
    assert read_draft({"text": "x"}, "acme").scope == Scope.parse("acme")
    assert read_draft({"text": "x", "scope": "acme/ana"}, "acme").scope == Scope.parse("acme/ana")


@table(
    ("given", "problem"),
    [
        ({"scope": "acme"}, "field 'text': is missing"),
        ({"text": "x"}, "field 'scope': is missing"),
        ({"text": "x", "scope": "a", "knd": "fact"}, "field 'knd': .* did you mean 'kind'"),
        ({"text": "x", "scope": "a", "kind": "fct"}, "field 'kind'"),
        ({"text": "", "scope": "a"}, "field 'text': is blank"),
        ({"text": "x", "scope": "a", "tags": "b"}, "field 'tags'"),
        ({"text": "x", "scope": "a", "derived_from": 7}, "field 'derived_from'"),
        ({"text": "x", "scope": "a", "key": " "}, "field 'key'"),
        ({"text": "x", "scope": "a", "at": "today"}, "field 'at'"),
        ({"text": "x", "scope": "a", "vector": [float("nan")]}, "field 'vector'"),
        ({"text": "x", "scope": "a", 7: 1}, "field '7': unknown field of a draft"),
        ([], r"field 'drafts': \[\] is not a draft"),
    ],
)
def test_what_no_draft_can_be_is_refused_by_field(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        read_draft(given)


def test_a_kind_that_is_none_is_refused_before_anybody_weighs_it() -> None:
    with pytest.raises(FieldError, match="field 'kind': \\['fact'\\] is not a valid kind"):
        Draft(text="x", scope=Scope.parse("acme"), kind=["fact"])  # type: ignore[arg-type]


def test_a_scope_that_names_nothing_is_refused() -> None:
    with pytest.raises(ScopeError):
        read_draft({"text": "x", "scope": ""})


CHANGES: dict[str, Any] = {
    "text": "other",
    "scope": "acme/bob",
    "kind": "fact",
    "title": "t",
    "subject": "home",
    "topic_key": "seat",
    "tags": ["a"],
    "importance": 0.5,
    "confidence": 0.5,
    "pinned": True,
    "shared": True,
    "session": "s",
    "speaker": "ana",
    "at": NOW,
    "valid_from": NOW,
    "valid_until": NOW,
    "source": "doc",
    "derived_from": ["m"],
    "evidence": ["she said so"],
    "metadata": {"a": 1},
    "vector": [1.0],
    "id": "m-7",
}


def test_every_field_but_the_key_and_who_says_it_is_part_of_what_was_said() -> None:
    assert {*CHANGES, "key", "provenance"} == {one.name for one in dataclasses.fields(Draft)}
    bodies = [a_draft().body, *(a_draft(**{name: value}).body for name, value in CHANGES.items())]
    assert len(set(bodies)) == len(bodies)
    assert a_draft(key="k").body == a_draft(provenance="import").body == a_draft().body
