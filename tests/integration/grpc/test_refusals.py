"""What is refused over gRPC: with which status, and what a program is told of it."""

import math
from typing import Any

import grpc
import pytest
from google.protobuf.struct_pb2 import Value

from recollect.errors import InvalidInput
from recollect.grpc.v1 import recollect_pb2
from recollect.grpc.v1.recollect_pb2_grpc import RecollectStub
from recollect.server.grpc.server import PROBLEM_METADATA, start_server
from tests.tables import table

from .serving import ANA, OWNER, READER, a_place, a_stub, called

BOBS = "acme/bob"


def refusal(call: Any, request: Any, **sent: Any) -> tuple[grpc.StatusCode, recollect_pb2.Problem]:
    """The status that a call ends with, and the problem it tells."""
    with pytest.raises(grpc.RpcError) as refused:
        call(request, **sent)
    details = dict(refused.value.trailing_metadata() or ())
    problem = recollect_pb2.Problem.FromString(details.get(PROBLEM_METADATA, b""))
    if problem.message:
        assert refused.value.details() == problem.message
    return refused.value.code(), problem


def test_a_mistake_names_the_field_and_the_remedy() -> None:
    with a_place() as place, a_stub(place) as stub:
        request = recollect_pb2.RememberRequest(scope="acme/ana", text="a", kind="preferense")
        status, problem = refusal(stub.Remember, request, **called())
        assert status is grpc.StatusCode.INVALID_ARGUMENT
        assert (problem.code, problem.field, problem.retryable) == ("invalid", "kind", False)
        assert "preference" in problem.message


@table(
    ("call", "request_", "field"),
    [
        ("Remember", recollect_pb2.RememberRequest(scope="a", text="t", importance=math.nan), "importance"),
        ("Remember", recollect_pb2.RememberRequest(scope="a", text="t", metadata={"x": math.inf}), "metadata.x"),
        ("Remember", recollect_pb2.RememberRequest(scope="a"), "text"),
        ("Remember", recollect_pb2.RememberRequest(scope="a", text=""), "text"),
        ("Remember", recollect_pb2.RememberRequest(scope="a", text="t", at="10000-01-01T00:00:00Z"), "at"),
        ("Search", recollect_pb2.SearchRequest(scope="a", query="q", limit=0), "limit"),
        ("Recall", recollect_pb2.RecallRequest(scope="a", query="q", tokens=-1), "tokens"),
        ("RecordAction", recollect_pb2.RecordActionRequest(scope="a", id="i", type="t", input=Value()), "input"),
        ("RememberAll", recollect_pb2.RememberAllRequest(scope="a"), "drafts"),
        ("CompleteEpisode", recollect_pb2.CompleteEpisodeRequest(scope="a", id="i"), "outcome"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_field(call: str, request_: Any, field: str) -> None:
    with a_place() as place, a_stub(place) as stub:
        status, problem = refusal(getattr(stub, call), request_, **called())
        assert (status, problem.field) == (grpc.StatusCode.INVALID_ARGUMENT, field)
        assert place.engine.stats().memories == 0


def test_a_field_with_a_name_of_a_megabyte_is_refused_in_a_few_words() -> None:
    with a_place() as place, a_stub(place) as stub:
        request = recollect_pb2.RememberRequest(scope="a", text="t", metadata={"é" * 500_000: math.nan})
        status, problem = refusal(stub.Remember, request, **called())
        assert status is grpc.StatusCode.INVALID_ARGUMENT
        assert len(problem.field.encode()) <= 1_000


@table("key", [None, "", "wrong", OWNER.upper(), f"{OWNER} "[1:]])
def test_without_a_key_that_holds_nobody_is_answered(key: str | None) -> None:
    with a_place() as place, a_stub(place) as stub:
        request = recollect_pb2.StatsRequest()
        assert refusal(stub.Stats, request, **called(key))[0] is grpc.StatusCode.UNAUTHENTICATED
        assert refusal(stub.Stats, request, **called(None, authorization=OWNER))[0] is grpc.StatusCode.UNAUTHENTICATED
        assert {(one.caller, one.outcome) for one in place.heard} == {("-", "unauthenticated")}


def test_every_call_needs_a_key() -> None:
    with a_place() as place, place.channel() as channel:
        service = recollect_pb2.DESCRIPTOR.services_by_name["Recollect"]
        for method in service.methods:
            call = channel.unary_unary(f"/{service.full_name}/{method.name}")
            assert refusal(call, b"", timeout=60)[0] is grpc.StatusCode.UNAUTHENTICATED


def test_what_is_not_yours_is_not_there() -> None:
    with a_place() as place, a_stub(place) as stub:
        bobs = stub.Remember(recollect_pb2.RememberRequest(scope=BOBS, text="Bob likes tea"), **called())
        theirs = refusal(stub.GetMemory, recollect_pb2.GetMemoryRequest(scope=BOBS, id=bobs.id), **called(ANA))
        nowhere = refusal(stub.GetMemory, recollect_pb2.GetMemoryRequest(scope="no/where", id=bobs.id), **called(ANA))
        assert theirs[0] is nowhere[0] is grpc.StatusCode.NOT_FOUND
        assert theirs[1].message == nowhere[1].message.replace("no/where", BOBS)
        as_own = recollect_pb2.GetMemoryRequest(id=bobs.id)
        assert refusal(stub.GetMemory, as_own, **called(ANA))[0] is grpc.StatusCode.NOT_FOUND


def test_what_a_key_has_no_right_to_is_refused_as_that() -> None:
    with a_place() as place, a_stub(place) as stub:
        request = recollect_pb2.RememberRequest(scope="acme/ana", text="t")
        assert refusal(stub.Remember, request, **called(READER))[0] is grpc.StatusCode.PERMISSION_DENIED
        assert (
            refusal(stub.ListScopes, recollect_pb2.ListScopesRequest(), **called(READER))[0]
            is grpc.StatusCode.PERMISSION_DENIED
        )


@table("name", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1:99999999999x", "xn--1"])
def test_who_calls_the_server_by_another_name_is_refused(name: str) -> None:
    with a_place() as place, place.channel(**{"grpc.default_authority": name}) as channel:
        status, problem = refusal(RecollectStub(channel).Stats, recollect_pb2.StatsRequest(), **called())
        assert status is grpc.StatusCode.PERMISSION_DENIED
        assert name in problem.message


def test_a_page_of_another_origin_is_refused_and_one_that_is_allowed_is_not() -> None:
    with a_place() as place, a_stub(place) as stub:
        request = recollect_pb2.StatsRequest()
        forged = refusal(stub.Stats, request, **called(origin="https://evil.example"))
        assert forged[0] is grpc.StatusCode.PERMISSION_DENIED
        assert stub.Stats(request, **called(origin="https://console.example")).memories == 0


def test_metadata_that_says_two_things_is_refused() -> None:
    with a_place() as place, a_stub(place) as stub:
        twice = (("authorization", f"Bearer {ANA}"), ("authorization", f"Bearer {OWNER}"))
        status, problem = refusal(stub.Stats, recollect_pb2.StatsRequest(), metadata=twice, timeout=60)
        assert (status, "twice" in problem.message) == (grpc.StatusCode.INVALID_ARGUMENT, True)


def test_a_message_that_is_too_large_is_refused_also_if_it_is_compressed() -> None:
    with a_place(body_bytes=100_000) as place, a_stub(place) as stub:
        request = recollect_pb2.RememberRequest(scope="a", text="a" * 200_000)
        assert refusal(stub.Remember, request, **called())[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
        squeezed = refusal(stub.Remember, request, compression=grpc.Compression.Gzip, **called())
        assert squeezed[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert stub.Stats(recollect_pb2.StatsRequest(), **called()).memories == 0


def test_bytes_that_are_no_message_and_calls_that_are_none_are_refused() -> None:
    with a_place() as place, place.channel() as channel:
        forget, nothing = (channel.unary_unary(f"/recollect.v1.Recollect/{name}") for name in ("Forget", "Nothing"))
        assert refusal(forget, b"\xff\xff", **called())[0] is grpc.StatusCode.INVALID_ARGUMENT
        assert refusal(nothing, b"", **called())[0] is grpc.StatusCode.UNIMPLEMENTED
        silent = channel.stream_unary("/recollect.v1.Recollect/Forget")
        assert refusal(silent, iter(()), **called())[0] is grpc.StatusCode.INVALID_ARGUMENT


def test_a_fault_of_ours_is_told_as_nothing_but_that(caplog: pytest.LogCaptureFixture) -> None:
    with a_place() as place, a_stub(place) as stub:
        place.service.fault = ZeroDivisionError("our secret")
        status, problem = refusal(stub.Stats, recollect_pb2.StatsRequest(), **called())
        assert (status, problem.code) == (grpc.StatusCode.INTERNAL, "internal")
        (record,) = (vars(one) for one in caplog.records if one.name.startswith("recollect"))
        assert (record["msg"], record["face"], record["error"]) == ("internal_error", "grpc", "ZeroDivisionError")
        assert record["id"] in problem.message
        assert "secret" not in problem.message + repr(record)


def test_an_answer_that_does_not_fit_its_message_counts_as_the_fault_that_it_is_told_as() -> None:
    with a_place() as place, a_stub(place) as stub:
        place.service.unfit = {"memories": "many"}
        status, problem = refusal(stub.Stats, recollect_pb2.StatsRequest(), **called())
        assert (status, problem.code) == (grpc.StatusCode.INTERNAL, "internal")
        assert [one.outcome for one in place.heard] == ["internal"]


def test_two_keys_for_one_retry_are_refused() -> None:
    with a_place() as place, a_stub(place) as stub:
        request = recollect_pb2.RememberRequest(scope="a", text="t", key="one")
        status, problem = refusal(stub.Remember, request, **called(idempotency_key="two"))
        assert (status, problem.code) == (grpc.StatusCode.FAILED_PRECONDITION, "conflict")
        assert stub.Remember(request, **called(idempotency_key="one")).verdict == "created"
        other = recollect_pb2.RememberRequest(scope="a", text="another")
        assert refusal(stub.Remember, other, **called(idempotency_key="one"))[1].code == "conflict"


def test_a_key_is_no_part_of_what_only_looks() -> None:
    with a_place() as place, a_stub(place) as stub:
        assert not stub.Browse(recollect_pb2.BrowseRequest(scope="a"), **called(idempotency_key="2026")).HasField(
            "place"
        )


def test_an_address_that_is_taken_is_refused() -> None:
    with a_place() as place, pytest.raises(InvalidInput, match="cannot listen on"):
        start_server(place.front, f"127.0.0.1:{place.running.port}")


def test_whoever_asks_for_health_by_another_name_is_told_nothing() -> None:
    with a_place() as place, place.channel(**{"grpc.default_authority": "evil.example"}) as channel:
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=60)
        assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
