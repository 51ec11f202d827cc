"""The tools as they are listed: what the operations are, whole, in order, and with all that is to be known."""

import json

import pytest
from jsonschema import Draft202012Validator

import recollect
from recollect.api.auth import WHOLE_STORE, Caller, Grant, Reach, Right, create_owner
from recollect.api.dispatcher import OperationRunner
from recollect.api.operation import Effect, Toolset
from recollect.api.operations import OPERATIONS
from recollect.errors import FieldError
from recollect.model.scope import Scope
from recollect.server.mcp.catalog import (
    SINGLE_SCOPE_HINT,
    SUBTREE_HINT,
    TOOLS_FILE,
    ToolEntry,
    list_allowed_tools,
    load_tools,
    parse_toolsets,
    select_tools,
)
from tests.tables import table

ANA = Scope.parse("acme/ana")


def caller(reach: Reach, *rights: Right) -> Caller:
    return Caller(name="somebody", grants=(Grant(frozenset(rights), reach),))


@table("entry", load_tools().values(), ids=lambda entry: entry.name)
def test_a_tool_says_what_it_does_to_a_store_as_its_operation_does(entry: ToolEntry) -> None:
    operation = OPERATIONS[entry.name]
    assert (entry.title, entry.about, entry.right) == (operation.title, operation.about, operation.right)
    assert entry.read_only == (operation.effect is Effect.NONE)
    assert entry.destructive == (operation.effect is Effect.REMOVES)
    assert entry.repeatable == operation.repeatable


@table("entry", load_tools().values(), ids=lambda entry: entry.name)
def test_the_schemas_of_a_tool_are_objects_that_need_nothing_outside_of_them(entry: ToolEntry) -> None:
    for schema in (entry.input, entry.output):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert all(one.startswith("#/$defs/") for one in references(schema))
        assert "title" not in json.dumps({key: value for key, value in schema.items() if key == "title"})


def references(schema: object) -> list[str]:
    match schema:
        case dict():
            here = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
            return here + [one for value in schema.values() for one in references(value)]
        case list():
            return [one for value in schema for one in references(value)]
        case _:
            return []


@table("entry", load_tools().values(), ids=lambda entry: entry.name)
def test_what_a_tool_says_of_its_answer_names_no_wish_that_it_does_not_tell_of(entry: ToolEntry) -> None:
    assert ("explain" in entry.input["properties"]) == ("explain" in entry.output.get("description", ""))


def test_no_argument_comes_in_a_header_as_well_which_the_face_says_of_them_all() -> None:
    assert "x-mcp-header" not in TOOLS_FILE.read_text(encoding="utf-8")


@table("entry", [e for e in load_tools().values() if e.destructive], ids=lambda entry: entry.name)
def test_a_tool_that_removes_for_good_only_tells_unless_it_is_told_otherwise(entry: ToolEntry) -> None:
    assert entry.input["properties"]["dry_run"]["default"] is True


def test_toolsets_are_named_between_commas() -> None:
    assert parse_toolsets("core") == {Toolset.CORE}
    assert parse_toolsets("core, operator") == {"core", "operator"}
    assert parse_toolsets(",".join(Toolset)) == set(Toolset)
    assert {one.toolset for one in select_tools(frozenset({Toolset.CORE})).values()} == {Toolset.CORE}
    for wrong in ("", "cor", "core,,operator"):
        with pytest.raises(FieldError, match="unknown toolset"):
            parse_toolsets(wrong)


@table("entry", load_tools().values(), ids=lambda entry: entry.name)
def test_whatever_a_model_can_say_is_described(entry: ToolEntry) -> None:
    assert [name for name, one in entry.input["properties"].items() if not one.get("description")] == []


def test_what_is_told_of_the_tools_that_every_model_has_is_short() -> None:
    core = select_tools(frozenset({Toolset.CORE})).values()
    assert len(core) <= 10
    assert sum(len(one.name) + len(one.about) + len(json.dumps(one.input)) for one in core) < 15_000


def test_what_is_asked_is_asked_in_one_way_where_the_other_is_not_told() -> None:
    for name in ("recall", "search", "why"):
        assert "query" in load_tools()[name].input["required"]


def test_a_caller_is_offered_the_tools_of_its_rights_in_the_one_order() -> None:
    wanted = parse_toolsets("core,operator")
    reader = [one.name for one in list_allowed_tools(wanted, caller(ANA, Right.READ))]
    assert {load_tools()[name].right for name in reader} == {Right.READ}
    assert reader == [name for name in OPERATIONS if name in reader]
    assert [one.name for one in list_allowed_tools(wanted, create_owner())] == list(select_tools(wanted))


def test_a_scope_is_required_unless_it_goes_without_saying() -> None:
    recall = load_tools()["recall"]
    assert "scope" in recall.input_for(create_owner())["required"]
    told = recall.input_for(caller(ANA, Right.READ))
    assert "scope" not in told["required"]
    said = f"Leave it out: then it is acme/ana; {SINGLE_SCOPE_HINT}."
    assert told["properties"]["scope"]["description"] == said
    assert (
        load_tools()["list_profiles"].input_for(caller(WHOLE_STORE, Right.READ)) == load_tools()["list_profiles"].input
    )


@table("entry", [one for one in load_tools().values() if one.whose], ids=lambda entry: entry.name)
def test_a_caller_who_has_one_scope_is_told_of_no_other(entry: ToolEntry) -> None:
    told = json.dumps(entry.input_for(caller(Scope.parse("kim/notes"), *Right)))
    assert "then it is kim/notes" in told
    assert "acme" not in told
    assert "whole store if none" not in told
    assert "examples" not in entry.input["properties"][str(entry.whose)]


def test_a_caller_with_several_scopes_is_told_those_in_which_it_has_the_right() -> None:
    def two(*rights: Right) -> Caller:
        return Caller(name="both", grants=(Grant(frozenset(Right), ANA), Grant(frozenset(rights), Scope.parse("bo"))))

    def told(tool: str, who: Caller) -> tuple[str, bool]:
        taken = load_tools()[tool].input_for(who)
        return taken["properties"]["scope"]["description"], "scope" in taken["required"]

    assert told("recall", two(Right.READ)) == (f"Whose memory: acme/ana, bo; {SINGLE_SCOPE_HINT}.", True)
    assert told("remember", two(Right.READ)) == (f"Whose memory: acme/ana; {SINGLE_SCOPE_HINT}.", True)
    assert told("stats", two(Right.READ)) == (f"Whose memory: acme/ana, bo; {SUBTREE_HINT}.", True)
    many = Caller(name="many", grants=tuple(Grant(frozenset(Right), Scope.parse(f"s{n}")) for n in range(20)))
    assert told("recall", many)[0].startswith("Whose memory: s0, s1, s2, s3, s4, s5, s6, s7 or one of 12 others; ")


def test_without_a_scope_what_there_is_is_counted_in_one_scope_or_in_the_whole_store_by_who_asks() -> None:
    def told(who: Caller) -> str:
        field: str = load_tools()["stats"].input_for(who)["properties"]["scope"]["description"]
        return field

    assert told(caller(ANA, Right.READ)) == f"Leave it out: then it is acme/ana; {SUBTREE_HINT}."
    assert told(create_owner()).endswith("the whole store if none is named.")


@table(
    ("place", "subject", "ends"),
    [("Ana lives in", None, True), ("Ana wohnt in", None, False), ("Ana wohnt in", "ana: wohnt in", True)],
)
def test_a_subject_is_found_in_plain_english_alone_which_is_what_a_model_is_told(
    place: str, subject: str | None, ends: bool
) -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        _, last = (engine.remember(f"{place} {one}", scope="acme", subject=subject) for one in ("Lyon", "Paris"))
        assert isinstance(last.verdict, recollect.types.Superseded) == ends
    told = load_tools()["remember"].input["properties"]["subject"]["description"]
    assert told.endswith("in plain English sentences; in other languages it has to be named.")


@table(("said", "kept"), [({}, "model_inference"), ({"provenance": "direct_user"}, "direct_user")])
def test_a_model_is_told_whose_words_it_says_and_whose_they_are_if_it_does_not(said: dict[str, str], kept: str) -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        given = {"scope": "acme", "text": "Ana likes tea", **said}
        assert OperationRunner(engine).run("remember", given, create_owner())["memory"]["provenance"] == kept
    for tool in ("remember", "revise", "record_action"):
        assert kept in load_tools()[tool].input["properties"]["provenance"]["description"]
