"""Every call, once and for real: what a client gets is what the engine answered, field by field."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Value

from recollect.api.operations import OPERATIONS
from recollect.grpc.v1 import recollect_pb2
from recollect.testing.builders import NOW
from tests.unit.api import story

from .serving import ANA, Place, a_place, a_stub, called

ANAS = "acme/ana"


def differences(message: Message, answer: Mapping[str, Any], path: str = "") -> list[str]:
    """Where a message does not say what the answer says."""
    known = message.DESCRIPTOR.fields_by_name
    found = [f"{path}{name} is not told" for name in answer if name not in known]
    for field in known.values():
        value, wanted = getattr(message, field.name), answer.get(field.name)
        here = f"{path}{field.name}"
        inner = field.message_type
        if wanted is None:
            absent = not message.HasField(field.name) if field.has_presence else not value
            found += [] if absent else [f"{here} is made up"]
        elif inner is None or inner.GetOptions().map_entry:
            same = (dict(value) if isinstance(wanted, dict) else list(value) if field.is_repeated else value) == wanted
            found += [] if same else [f"{here} is {value!r} instead of {wanted!r}"]
        elif inner.full_name == "google.protobuf.Struct":
            told = [MessageToDict(one) for one in value] if field.is_repeated else MessageToDict(value)
            found += [] if told == wanted else [f"{here} is {told!r} instead of {wanted!r}"]
        elif field.is_repeated:
            found += [] if len(value) == len(wanted) else [f"{here} has {len(value)} instead of {len(wanted)}"]
            for place, (one, told) in enumerate(zip(value, wanted, strict=False)):
                found += differences(one, told, f"{here}.{place}.")
        else:
            found += differences(value, wanted, f"{here}.")
    return found


class Asking:
    """A client that compares every answer."""

    def __init__(self, place: Place, stub: Any) -> None:
        self._place, self._stub = place, stub

    def __call__(self, operation: str, **request: Any) -> Any:
        """The answer to a request."""
        kind = getattr(recollect_pb2, f"{OPERATIONS[operation].call_name}Request")
        unscoped = operation in ("stats", "list_scopes", "list_profiles")
        scope = {} if unscoped else {OPERATIONS[operation].request.scope_field: ANAS}
        answer = getattr(self._stub, OPERATIONS[operation].call_name)(kind(**{**scope, **request}), **called())
        assert differences(answer, self._place.service.last) == []
        return answer


def test_every_call_answers_what_the_engine_answers() -> None:
    with a_place() as place, a_stub(place) as stub:
        ask = Asking(place, stub)
        fields = {"kind": "preference", "importance": 0.7, "tags": ["seats"], "metadata": {"n": 1, "deep": [None, {}]}}
        first = ask("remember", text="Ana prefers window seats in Lisbon", at="2025-12-31T09:00:00.000001Z", **fields)
        assert (first.verdict, first.memory.observed_at) == ("created", "2025-12-31T09:00:00.000001+00:00")
        second = ask("remember_all", drafts=[{"text": "Ana flies to Lisbon", "vector": {"items": [1.0] * 8}}]).receipts[
            0
        ]
        revised = ask("revise", id=second.id, text="Ana flies to Lisbon on Friday", tags={"items": ["trips"]})
        assert list(revised.memory.tags) == ["trips"]
        assert not ask("revise", id=second.id, text="Ana flies on Friday", tags={"items": []}).memory.tags
        ask("forget", id=second.id)
        ask("restore", id=second.id)
        assert ask("pin", id=second.id).memory.pinned
        ask("unpin", id=second.id)
        ask("get_memory", id=first.id)
        assert len(ask("get_history", id=second.id).versions) == 7
        assert ask("list_memories", limit=1).next

        context = ask("recall", query="which seat in Lisbon?", overrides={"min_score": 0})
        assert first.id in [one.id for one in context.packed]
        ask("recall", turns=[{"content": "which seat?"}, {"content": "in Lisbon", "role": "user"}])
        ask("brief", tokens=500)
        assert ask("search", query="seats", limit=1, kinds=["preference"]).results[0].id == first.id
        assert ask("why", id=first.id, query="seats in Lisbon").fate["step"]
        assert ask("feedback", context_id=context.id, helped=[first.id]).helped == [first.id]
        assert ask("replay", context_id=context.id).identical

        events = [{"content": f"We land in Lisbon at {hour}", "at": f"2025-12-30T0{hour}:00:00Z"} for hour in range(8)]
        ask("observe", events=events)
        place.engine.timeline.rollup(scope=ANAS, unfinished=True)
        assert ask("extract", turns=[{"content": "I prefer trains.", "session": "s"}]).sessions == 1
        assert ask("browse").parts
        segment = ask("browse", key="2025-12-30").parts[0]
        assert ask("expand", id=segment.key, around=1).events
        ask("list_entities")
        ask("get_neighbours", name_or_id="Lisbon")
        place.engine.topics.refresh(scope=ANAS)
        ask("list_topics", pruned=True)

        episode = ask("start_episode", task="Book a flight", plan=["search", "book"])
        done = {"type": "search", "output": Value(struct_value={"flights": 2}), "context": context.id}
        ask("record_action", id=episode.id, input=Value(string_value="LIS"), **done)
        ended = ask("complete_episode", id=episode.id, outcome=0.0, failure_modes=["The card was refused"])
        assert ended.outcome.score == 0.0
        assert ask("get_similar_episodes", task="Book a flight").episodes
        assert ask("get_failure_modes", task="Book a flight").failure_modes
        assert ask("list_episodes", finished=True).episodes
        ask("get_episode", id=episode.id)

        assert ask("stats").memories
        ask("stats", scope=ANAS)
        assert list(ask("list_scopes").scopes) == [ANAS]
        ask("list_profiles")
        ask("run_job", job="consolidate")
        assert ask("prune_vector_index", level="segment", age_days=1).dry_run
        pruned = ask("prune_vector_index", level="segment", age_days=1, dry_run=False)
        ask("undo", run=int(pruned.runs[0]["run"]))
        observe(ask)
        assert ask("erase", id=first.id).dry_run
        assert ask("erase", id=first.id, dry_run=False).memories == 1

        assert {one.transport for one in place.heard} == {"grpc"}


def observe(ask: Asking) -> None:
    """Ask by the eight methods of seed 003."""
    assert ask("mem_session_start").is_new
    saved = ask("mem_save", content="Ana reads on the train", type="pattern", title="Reading")
    (found,) = ask("mem_search", query="train", types=["pattern"]).observations
    assert found.id == saved.id
    assert ask("mem_get_observation", observation_id=saved.id).session_id == saved.session_id
    assert ask("mem_timeline", observation_id=saved.id).observation.id == saved.id
    ask("mem_session_summary", summary="Trains")
    assert ask("mem_stats").sessions == 1
    assert ask("mem_session_end", summary="Trains and seats").status == "completed"


def test_every_operation_of_the_story_is_answered_as_the_engine_answers() -> None:
    with a_place(lambda: NOW + timedelta(days=30)) as place, a_stub(place) as stub:

        def ask(operation: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
            call = OPERATIONS[operation].call_name
            request = ParseDict(given, getattr(recollect_pb2, f"{call}Request")())
            assert differences(getattr(stub, call)(request, **called()), place.service.last) == []
            return place.service.last

        assert {name for name, _ in story.told(ask, place.engine)} == OPERATIONS.keys()


def test_a_caller_with_a_key_for_one_scope_need_not_name_it() -> None:
    with a_place() as place, a_stub(place) as stub:
        told = stub.Remember(recollect_pb2.RememberRequest(text="Ana likes tea"), **called(ANA))
        assert told.memory.scope == ANAS
        assert told.memory.created_at == NOW.isoformat()


def test_whoever_looks_after_a_server_is_told_that_it_is_well() -> None:
    with a_place() as place, place.channel() as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"", timeout=60) == b"\x08\x01"  # status: SERVING
        assert check(b"\x0a\x16recollect.v1.Recollect", timeout=60) == b"\x08\x01"
        place.ready = False
        assert check(b"", timeout=60) == b"\x08\x02"  # status: NOT_SERVING
        for nobody, status in ((b"\x0a\x01x", grpc.StatusCode.NOT_FOUND), (b"\xff", grpc.StatusCode.INVALID_ARGUMENT)):
            with pytest.raises(grpc.RpcError) as refused:
                check(nobody, timeout=60)
            assert refused.value.code() is status
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary("/grpc.health.v1.Health/Watch")(b"", timeout=60)
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED  # nobody without a key keeps a call open
