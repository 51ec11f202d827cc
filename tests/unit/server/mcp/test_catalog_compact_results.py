"""What a model is told of an answer: a part of what is known, that costs little however much there is."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic_core import to_json

import recollect
from recollect.api.auth import create_owner
from recollect.api.dispatcher import OperationRunner
from recollect.api.operations import OPERATIONS
from recollect.errors import FieldError
from recollect.server.mcp import catalog
from recollect.server.mcp.catalog import COMPACT_FIELDS, LEFT_OUT_FIELD, FieldSelection, is_informative, load_tools
from tests.tables import table

SCOPE = "acme/ana"
Answers = Mapping[str, Mapping[str, Any]]


@pytest.fixture(scope="module")
def answers() -> Iterator[Answers]:
    with recollect.open(":memory:", embedder="hashing") as engine:
        service = OperationRunner(engine)
        found: dict[str, Mapping[str, Any]] = {}

        def ask(name: str, **given: Any) -> Mapping[str, Any]:
            found[name] = service.run(name, {"scope": SCOPE, **given}, create_owner())
            return found[name]

        seat = ask("remember", text="Ana takes a seat by the window of the train", title="Seat", tags=["train"])["id"]
        ask("revise", id=seat, text="Ana takes a seat by the aisle of the train")
        gone = engine.remember("Ana took the seat of the driver of the train", scope=SCOPE).id
        for name in ("forget", "restore", "pin", "unpin"):
            ask(name, id=gone)
        engine.forget(gone, scope=SCOPE)
        ask("remember_all", drafts=[{"text": f"train {place} had no free seat"} for place in range(40)])
        ask("observe", events=[{"content": f"train {place} has left"} for place in range(20)])
        ask("extract", turns=[{"content": "I prefer tea to coffee. My password is hunter2Secret99x."}])
        task = ask("start_episode", task="Book a seat on the train", plan=["look", "book"])["id"]
        for place in range(12):
            ask("record_action", id=task, type="look", input=f"train {place} " * 200, result="failed")
        ask("complete_episode", id=task, outcome=0.1, lessons=["Book early"], failure_modes=["All trains were full"])
        ask("get_similar_episodes", task="Book a seat on another train")
        ask("get_failure_modes", task="Book a seat on another train")
        ask("recall", query="which seat on the train?", tokens=200)
        ask("brief", tokens=200)
        ask("search", query="which seat on the train?", past=True)
        yield found


def test_every_tool_that_is_told_in_short_is_tried_here(answers: Answers) -> None:
    assert set(answers) == set(COMPACT_FIELDS)


def is_part(few: Any, whole: Any, kept: FieldSelection | None) -> bool:
    """Whether nothing is said but what is known and kept, and nothing is missing that says something."""
    if kept is None:
        return bool(few == whole)
    if isinstance(whole, list):
        return len(few) == len(whole) and all(is_part(*pair, kept) for pair in zip(few, whole, strict=True))
    wanted = {name for name in kept if is_informative(whole.get(name))}
    return set(few) == wanted and all(is_part(few[name], whole[name], kept[name]) for name in wanted)


@table("name", COMPACT_FIELDS)
def test_what_is_told_in_short_is_part_of_what_is_known(name: str, answers: Answers) -> None:
    whole, kept = answers[name], COMPACT_FIELDS[name]
    told = catalog.compact_answer(kept, whole)
    left_out = {LEFT_OUT_FIELD} if "excluded" in whole else set[str]()
    assert set(told) == {field for field in kept if whole.get(field) is not None} | left_out
    assert all(is_part(told[field], whole[field], kept[field]) for field in set(told) - left_out)


@table("name", COMPACT_FIELDS)
def test_both_are_what_the_tool_says_that_it_gives(name: str, answers: Answers) -> None:
    schema = Draft202012Validator(load_tools()[name].output)
    schema.validate(answers[name])
    told = catalog.compact_answer(COMPACT_FIELDS[name], answers[name])
    schema.validate(told)
    for field in schema.schema["required"]:
        assert not schema.is_valid({key: value for key, value in told.items() if key != field})
    several = {field: below for field, below in COMPACT_FIELDS[name].items() if below is not None}
    for field in several:
        first, *rest = told[field]
        place = schema.schema["properties"][field]["items"]["$ref"].rpartition("/")[2]
        for inner in schema.schema["$defs"][place]["required"]:
            less = {key: value for key, value in first.items() if key != inner}
            assert not schema.is_valid({**told, field: [less, *rest]})


def test_of_what_was_left_out_it_is_told_how_much_by_reason(answers: Answers) -> None:
    whole = answers["recall"]
    assert len(whole["omitted"]) > 0
    counted = catalog.compact_answer(COMPACT_FIELDS["recall"], whole)[LEFT_OUT_FIELD]
    assert counted["budget"] == len(whole["omitted"])
    assert {reason: counted[reason] for reason in whole["excluded"]} == whole["excluded"]
    assert (
        catalog.compact_answer(COMPACT_FIELDS["search"], answers["search"])[LEFT_OUT_FIELD]
        == answers["search"]["excluded"]
    )


@table("name", ["recall", "brief"])
def test_a_context_costs_hardly_more_than_its_text(name: str, answers: Answers) -> None:
    told = catalog.compact_answer(COMPACT_FIELDS[name], answers[name])
    beside = len(to_json(told)) - len(to_json(told["text"]))
    assert beside < 250 + 150 * len(told["packed"])
    assert len(to_json(told)) < len(to_json(answers[name])) / 3


@table(
    ("name", "each"),
    [
        *((name, 1) for name in ("remember", "revise", "forget", "restore", "pin", "unpin")),
        *((name, 1) for name in ("start_episode", "record_action")),
        *(("remember_all", 40), ("observe", 20), ("complete_episode", 3)),
    ],
)
def test_what_became_of_something_costs_little_however_much_was_there_before(
    name: str, each: int, answers: Answers
) -> None:
    assert len(to_json(catalog.compact_answer(COMPACT_FIELDS[name], answers[name]))) < 200 * each


def test_a_reason_that_keeps_out_of_the_ranking_and_of_the_text_is_counted_once() -> None:
    context: dict[str, Any] = {
        **dict.fromkeys(COMPACT_FIELDS["recall"]),
        "packed": [{"id": "1"}],
        "excluded": {"budget": 2, "limit": 1},
        "omitted": [{"reason": "budget"}],
    }
    assert catalog.compact_answer(COMPACT_FIELDS["recall"], context)[LEFT_OUT_FIELD] == {
        "budget": 3,
        "limit": 1,
    }


def test_a_model_can_act_on_what_a_search_tells_in_short() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        service = OperationRunner(engine)

        def found(query: str) -> Mapping[str, Any]:
            answer = service.run("search", {"scope": SCOPE, "query": query, "past": True}, create_owner())
            told: Mapping[str, Any] = catalog.compact_answer(COMPACT_FIELDS["search"], answer)["results"][0]
            return told

        engine.remember("Everybody books trains early", scope="acme", shared=True, pinned=True)
        shared = found("how are trains booked?")
        assert (shared["scope"], shared["pinned"]) == ("acme", True)
        changed = {"scope": shared["scope"], "id": shared["id"], "text": "Everybody books trains late"}
        assert service.run("revise", changed, create_owner())["id"] == shared["id"]
        until = datetime(2020, 1, 1, tzinfo=UTC)
        engine.remember("The lift of the office is broken", scope=SCOPE, speaker="Bo", at=until, valid_until=until)
        over = found("is the lift broken?")
        assert (over["scope"], over["speaker"], over["valid_until"]) == (SCOPE, "Bo", until.isoformat())
        assert "pinned" not in over
        assert service.run("forget", {"scope": over["scope"], "id": over["id"]}, create_owner())["memory"]


def test_what_is_asked_is_told_apart_from_how_much_of_it() -> None:
    assert catalog.split_explain("recall", {"query": "seat"}) == ({"query": "seat"}, COMPACT_FIELDS["recall"])
    assert catalog.split_explain("recall", {"query": "seat", "explain": False}) == (
        {"query": "seat"},
        COMPACT_FIELDS["recall"],
    )
    assert catalog.split_explain("recall", {"query": "seat", "explain": True}) == ({"query": "seat"}, None)
    assert catalog.split_explain("remember", {"text": "tea", "explain": True}) == ({"text": "tea"}, None)
    with pytest.raises(FieldError, match="5 is not valid") as refused:
        catalog.split_explain("search", {"explain": 5})
    assert refused.value.field == "explain"


def test_a_tool_that_tells_all_anyway_takes_no_wish_for_it() -> None:
    assert catalog.split_explain("get_memory", {"explain": True}) == ({"explain": True}, None)
    takers = {name for name, entry in load_tools().items() if "explain" in entry.input["properties"]}
    assert takers == {name for name in COMPACT_FIELDS if load_tools()[name].read_only}


@table("name", COMPACT_FIELDS)
def test_only_what_there_is_can_be_kept(name: str) -> None:
    answer = OPERATIONS[name].answer.model_json_schema()

    def refuse_unknown(kept: FieldSelection, told: Mapping[str, Any]) -> None:
        assert not kept.keys() - told["properties"].keys()
        for field, below in kept.items():
            if below is not None:
                reference = told["properties"][field]["items"]["$ref"]
                refuse_unknown(below, answer["$defs"][reference.rpartition("/")[2]])

    refuse_unknown(COMPACT_FIELDS[name], answer)
