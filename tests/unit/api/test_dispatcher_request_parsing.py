"""What a face was given becomes a request, or a refusal that names the field."""

import pytest

import recollect
from recollect.api.auth import Caller, Grant, Right, create_owner, parse_reach
from recollect.api.dispatcher import OperationRunner, read_json, read_request
from recollect.api.operations import OPERATIONS
from recollect.api.operations.admin import Erase
from recollect.api.operations.episodes import CompleteEpisode
from recollect.api.operations.memories import Remember, RememberAll
from recollect.api.operations.recall import Recall
from recollect.api.problems import problem_of
from recollect.errors import FieldError, InvalidInput, NotFound
from tests.tables import table

ODD = (
    b"",
    b"[1]",
    b"null",
    b'"text"',
    b"{",
    b'{"a": NaN}',
    b'{"a": Infinity}',
    b'{"a": -Infinity}',
    b'{"a": "\\ud800"}',
    b'{"a": "\xff"}',
    b"\x00",
    b"[" * 100_000,
    b'{"a":' * 100_000,
)


@table("body", ODD, ids=lambda body: repr(body[:20]))
def test_what_is_no_object_of_json_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput, match="the body is"):
        read_json(body)


@table(
    ("model", "given", "told"),
    [
        (Remember, {"scope": "acme"}, "field 'text': is missing"),
        (Remember, {"scope": "acme", "text": ""}, "field 'text': '' is not valid"),
        (Remember, {"scope": "acme", "text": 5}, "field 'text': 5 is not valid"),
        (Remember, {"scope": "acme", "text": "a", "tag": []}, "'tag': unknown field; did you mean 'tags'"),
        (Remember, {"scope": "acme", "text": "a", "kind": "facts"}, "'facts' is not a valid kind; did you mean 'fact'"),
        (Remember, {"scope": "acme", "text": "a", "at": "soon"}, "field 'at': 'soon'"),
        (Remember, {"scope": "acme", "text": "a", "at": 5}, "field 'at': 5 is not a timestamp"),
        (Remember, {"scope": "acme", "text": "a", "importance": 2}, "field 'importance': 2"),
        (Remember, {"scope": "acme", "text": "a", "importance": float("nan")}, "field 'importance': nan"),
        (Remember, {"scope": "acme", "text": "a", "pinned": "yes"}, "field 'pinned': 'yes'"),
        (RememberAll, {"scope": "acme", "drafts": []}, "field 'drafts'"),
        (RememberAll, {"scope": "acme", "drafts": [{"text": "a"}] * 1001}, "field 'drafts'"),
        (RememberAll, {"scope": "acme", "drafts": [{"text": "a", "x": 1}]}, "field 'drafts.0.x': unknown field"),
        (Remember, {"scope": "acme", "text": "a", "importance": -1}, "field 'importance': -1 is not within 0..1"),
        (RememberAll, {"scope": "acme", "drafts": [{"text": "a", "kind": "x"}]}, "'drafts.0.kind': 'x' is not a"),
        (Recall, {"scope": "acme"}, "field 'query': give exactly one of query and turns"),
        (Recall, {"scope": "acme", "query": "a", "kinds": ["facts"]}, "field 'kinds': 'facts' is not a valid kind"),
        (Recall, {"scope": "acme", "query": "a", "tokens": 10**9}, "field 'tokens'"),
        (CompleteEpisode, {"scope": "acme", "id": "a", "outcome": 2}, "field 'outcome': 2 is not an outcome"),
        (Erase, {"scope": "acme"}, "field 'id': give exactly one of id, source and everything"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_with_its_field(model: type, given: dict[str, object], told: str) -> None:
    with pytest.raises(FieldError) as raised:
        read_request(model, given)
    assert told in str(raised.value)


def test_a_profile_that_is_not_there_is_told_as_the_engine_tells_it_and_no_file_is_looked_for() -> None:
    with pytest.raises(NotFound, match="unknown profile '/etc/passwd'; known are"):
        read_request(Recall, {"scope": "acme", "query": "a", "profile": "/etc/passwd"})


def test_the_scope_of_the_key_is_taken_where_none_is_said() -> None:
    caller = Caller(name="ana", grants=(Grant(frozenset(Right), parse_reach("acme/ana")),))
    with recollect.open(":memory:", embedder="hashing") as engine:
        told = OperationRunner(engine).run("remember", {"text": "Ana likes tea"}, caller)
        assert told["memory"]["scope"] == "acme/ana"
        assert OperationRunner(engine).run("list_profiles", {}, caller)["profiles"]


def test_a_field_that_nobody_knows_is_told_before_one_that_is_missing_since_it_may_be_that_one() -> None:
    with pytest.raises(FieldError, match="did you mean 'observation_id'") as refused:
        read_request(OPERATIONS["mem_get_observation"].request, {"user_id": "ana", "observation_di": "x"})
    assert refused.value.field == "observation_di"


def test_who_says_no_scope_is_told_how_none_need_be_said() -> None:
    with pytest.raises(FieldError, match="use a key for a single scope, or start `recollect mcp` with --scope"):
        read_request(OPERATIONS["recall"].request, {"query": "where?"})


@table(("name", "field"), [("recall", "scope"), ("stats", "scope"), ("mem_search", "user_id")])
def test_a_scope_that_names_nothing_is_told_with_its_field(name: str, field: str) -> None:
    given = {field: "acme//ana", **({} if name == "stats" else {"query": "tea"})}
    with recollect.open(":memory:", embedder="hashing") as engine, pytest.raises(InvalidInput) as refused:
        OperationRunner(engine).run(name, given, create_owner())
    assert problem_of(refused.value).field == field
    assert "needs 1 to 128 characters" in str(refused.value)
