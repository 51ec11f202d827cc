"""The reference MCP memory server's file becomes facts."""

from typing import Any

import pytest

from recollect.errors import FieldError
from recollect.model.enums import Kind, Provenance
from tests.tables import table

from .reading import drafts, reading


def an_entity(*observations: Any, name: Any = "Ana_Lee", type: Any = "person") -> dict[str, Any]:
    return {"type": "entity", "name": name, "entityType": type, "observations": list(observations)}


def a_relation(start: Any = "Ana_Lee", relation: Any = "works_at", end: Any = "Acme") -> dict[str, Any]:
    return {"type": "relation", "from": start, "to": end, "relationType": relation}


def test_each_observation_is_a_fact_that_says_whom_it_is_about() -> None:
    tea, oslo = drafts("mcp-memory", an_entity("Likes tea", "Ana Lee moved to Oslo"))
    assert (tea.text, oslo.text) == ("Ana Lee: Likes tea", "Ana Lee moved to Oslo")
    for draft in (tea, oslo):
        assert (draft.kind, draft.tags, draft.metadata) == (Kind.FACT, ("person",), {"entity": "Ana_Lee"})
        assert (draft.provenance, draft.source, draft.at) == (Provenance.IMPORT, "notes.jsonl", None)


@table(("type", "text"), [("company", "Acme (company)"), ("", "Acme"), (None, "Acme")])
def test_of_what_nothing_is_known_there_is_the_name(type: Any, text: str) -> None:
    (draft,) = drafts("mcp-memory", an_entity(name="Acme", type=type))
    assert (draft.text, draft.kind) == (text, Kind.ENTITY)


def test_a_relation_is_a_sentence_and_keeps_its_parts() -> None:
    (draft,) = drafts("mcp-memory", a_relation())
    assert (draft.text, draft.kind) == ("Ana Lee works at Acme", Kind.FACT)
    assert draft.metadata == {"relation": {"from": "Ana_Lee", "type": "works_at", "to": "Acme"}}


def test_a_graph_as_the_server_reads_it_out_is_the_same_as_its_lines() -> None:
    entity, relation = an_entity("Likes tea"), a_relation()
    plain = [{name: one[name] for name in one if name != "type"} for one in (entity, relation)]
    graph = {"entities": plain[:1], "relations": plain[1:]}
    assert drafts("mcp-memory", graph) == drafts("mcp-memory", entity, relation)


def test_relations_may_go_in_circles_and_lead_nowhere() -> None:
    circle = [a_relation("a", "knows", "b"), a_relation("b", "knows", "a"), a_relation("a", "knows", "a")]
    assert [one.text for one in drafts("mcp-memory", *circle)] == ["a knows b", "b knows a", "a knows a"]


def test_empty_observations_and_lines_of_other_types_are_skipped_and_counted() -> None:
    read = reading("mcp-memory", an_entity("", "  ", None, "Likes tea"), {"type": "note", "name": "x"})
    assert [draft.text for draft in read] == ["Ana Lee: Likes tea"]
    assert read.notes.skipped == {"empty observations": 3, "lines of another type": 1}


def test_that_nothing_has_a_date_is_said() -> None:
    read = reading("mcp-memory", an_entity("Likes tea"), a_relation())
    assert len(list(read)) == 2
    assert read.notes.assumed == {"memories without a date are observed now": 2}


def test_what_is_there_twice_is_there_once() -> None:
    read = reading(
        "mcp-memory", an_entity("Likes tea", "Likes tea"), an_entity("Likes tea"), a_relation(), a_relation()
    )
    assert len(list(read)) == 2
    assert read.notes.skipped == {"said before in the file": 3}


@table(
    ("record", "told"),
    [
        ({"name": "Ana"}, "line 1, field 'type': is missing"),
        (an_entity("x", name=" "), r"line 1, field 'observations\[0\].name': is missing or blank"),
        (an_entity("x", name="n" * 300), r"field 'observations\[0\].name'"),
        (an_entity("fine", 7), r"line 1, field 'observations\[1\]': 7 is not text"),
        (an_entity("a\0b"), r"field 'observations\[0\]': has a NUL"),
        ({**an_entity(), "observations": "Likes tea"}, "field 'observations': 'Likes tea' is not a list"),
        (a_relation(end=None), "field 'to': is missing or blank"),
        (a_relation(relation={}), "field 'relationType': {} is not text"),
        ({"entities": [7], "relations": []}, r"field 'entities\[0\]': 7 is not a JSON object"),
        ({"entities": 7}, "field 'entities': 7 is not a list"),
        ("[]", "line 1: \\[\\] is not a JSON object"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place_or_left_out(record: Any, told: str) -> None:
    with pytest.raises(FieldError, match=told):
        drafts("mcp-memory", record)
    lenient = reading("mcp-memory", record, an_entity("Likes tea"), skip_bad=True)
    assert [draft.text for draft in lenient][-1] == "Ana Lee: Likes tea"
    assert lenient.notes.bad_count == 1
