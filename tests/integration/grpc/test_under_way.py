"""Calls that are cancelled, too many, too late, sent again, or under way when the server stops."""

import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from recollect.api.auth import Caller
from recollect.api.dispatcher import RequestLimits
from recollect.api.operation import JsonAnswer
from recollect.grpc.v1 import recollect_pb2
from recollect.grpc.v1.recollect_pb2_grpc import RecollectStub
from tests.integration.postgres.scene import until

from .serving import ANA, PATIENT, Place, a_place, a_stub, called

WAITING = recollect_pb2.RememberRequest(scope="acme/ana", text="wait for it")


def begin(place: Place, stub: Any, **sent: Any) -> Any:
    """A call that has begun and cannot end before the embedder is let go."""
    call = stub.Remember.future(WAITING, **{**called(), **sent})
    assert place.embedder.begun.acquire(timeout=PATIENT)
    return call


def code(call: Any) -> grpc.StatusCode:
    """How a call ended, sooner or later."""
    with pytest.raises((grpc.RpcError, grpc.FutureCancelledError)) as ended:
        call.result(timeout=PATIENT)
    return ended.value.code() if isinstance(ended.value, grpc.RpcError) else grpc.StatusCode.CANCELLED


def test_a_storm_of_retries_leaves_one_memory_each() -> None:
    with a_place(threads=4) as place, ThreadPoolExecutor(8) as clients:
        requests = [recollect_pb2.RememberRequest(scope="acme/ana", text=f"fact number {n}") for n in range(20)]

        def send(number: int, attempt: int) -> None:
            with a_stub(place) as stub:  # whose channel is closed before the first two attempts are answered
                call = stub.Remember.future(requests[number], **called(ANA, idempotency_key=f"key-{number}"))
                if attempt < 2:
                    call.cancel()
                else:
                    call.result(timeout=PATIENT)

        sent = [clients.submit(send, number, attempt) for attempt in range(3) for number in range(20)]
        assert all(one.exception() is None for one in sent)
        found = place.engine.memories(scope="acme/ana")
        assert sorted(one.text for one in found) == sorted(one.text for one in requests)
        assert sum(place.engine.contexts.usage(one.id, scope="acme/ana").echoed for one in found) == 0


def test_a_write_that_was_cancelled_midway_is_done_once_when_it_is_sent_again() -> None:
    with a_place() as place, a_stub(place) as stub:
        sent = called(ANA, idempotency_key="once")
        begin(place, stub, **sent).cancel()
        again = [begin(place, stub, **sent) for _ in range(2)]
        place.embedder.go_on.set()
        (id,) = {one.result(timeout=PATIENT).id for one in again}
        assert [one.id for one in place.engine.memories(scope="acme/ana")] == [id]
        assert place.engine.contexts.usage(id, scope="acme/ana").echoed == 0


def test_each_write_that_takes_a_key_is_done_once_however_often_it_is_sent() -> None:
    with a_place() as place, a_stub(place) as stub:
        started = [
            stub.StartEpisode(recollect_pb2.StartEpisodeRequest(scope="a", task="t"), **called(idempotency_key="start"))
            for _ in range(3)
        ]
        assert len({one.id for one in started}) == 1
        action = recollect_pb2.RecordActionRequest(scope="a", id=started[0].id, type="look", key="first")
        assert len([stub.RecordAction(action, **called()) for _ in range(3)][-1].actions) == 1
        draft = {"text": "said once", "key": "draft"}
        many = recollect_pb2.RememberAllRequest(scope="a", drafts=[draft])
        assert len({stub.RememberAll(many, **called()).receipts[0].id for _ in range(3)}) == 1
        assert len(place.engine.episodes.list(scope="a")) == 1


def test_a_call_that_is_cancelled_frees_its_client_at_once_and_what_was_begun_is_kept() -> None:
    with a_place() as place, a_stub(place) as stub:
        call = begin(place, stub)
        call.cancel()
        assert code(call) is grpc.StatusCode.CANCELLED
        place.embedder.go_on.set()
        place.running.stop(PATIENT)
        assert place.front.close(PATIENT) == 0  # a server stops without what nobody waits for; the front waits for it
        assert [one.text for one in place.engine.memories(scope="acme/ana")] == ["wait for it"]


def test_what_waits_behind_others_is_never_begun_once_nobody_waits_for_it() -> None:
    with a_place(threads=1) as place, place.channel() as channel:
        stub = RecollectStub(channel)
        first = begin(place, stub)
        behind = recollect_pb2.RememberRequest(scope="acme/ana", text="too late")
        late = stub.Remember.future(behind, metadata=called()["metadata"], timeout=0.05)
        assert code(late) is grpc.StatusCode.DEADLINE_EXCEEDED
        channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=PATIENT)  # before which the server hears of it
        place.embedder.go_on.set()
        assert first.result(timeout=PATIENT).verdict == "created"
        assert stub.Stats(recollect_pb2.StatsRequest(), **called()).memories == 1


def test_a_call_that_is_cancelled_behind_others_holds_no_thread_until_it_would_be_its_turn() -> None:
    with a_place(threads=1, seconds=4 * PATIENT) as place, place.channel() as channel:
        stub = RecollectStub(channel)
        first = begin(place, stub)
        late = stub.Remember.future(recollect_pb2.RememberRequest(scope="acme/ana", text="too late"), **called())
        until(lambda: place.front.pending_count == 2)
        late.cancel()
        until(lambda: [one.outcome for one in place.heard] == ["cancelled"])
        place.embedder.go_on.set()
        assert first.result(timeout=PATIENT).verdict == "created"


def test_what_takes_longer_than_the_server_allows_is_told_in_time_and_still_comes() -> None:
    with a_place() as place, a_stub(place) as stub:
        place.front.limits = RequestLimits(seconds=0.05)  # of what is done: how long a message may take was said before
        submit = place.front.submit

        def begun(name: str, arguments: Mapping[str, Any], caller: Caller) -> "Future[JsonAnswer]":
            work = submit(name, arguments, caller)
            assert place.embedder.begun.acquire(timeout=PATIENT)  # else it would not be, once that time is over
            return work

        place.front.submit = begun  # type: ignore[method-assign]
        call = stub.Remember.future(WAITING, **called())
        with pytest.raises(grpc.RpcError) as late:
            call.result(timeout=PATIENT)
        assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert "may still complete" in late.value.details()
        place.embedder.go_on.set()
        place.running.stop(PATIENT)
        assert place.front.close(PATIENT) == 0
        assert len(place.engine.memories(scope="acme/ana")) == 1
        assert [one.outcome for one in place.heard] == ["overdue"]


def test_a_caller_who_says_nothing_is_not_waited_for_any_longer_than_that() -> None:
    with a_place(seconds=0.05, threads=1) as place, place.channel() as channel:
        spoken = threading.Event()
        silent = channel.stream_unary("/recollect.v1.Recollect/Stats").future(
            (spoken.wait(PATIENT) and b"" for _ in range(1)), **called()
        )
        assert code(silent) is grpc.StatusCode.CANCELLED
        spoken.set()


def test_whoever_shows_no_key_is_refused_before_anything_else_is_heard_of_them() -> None:
    with a_place(threads=1) as place, place.channel() as channel:
        spoken = threading.Event()
        silent = channel.stream_unary("/recollect.v1.Recollect/Stats").future(
            (spoken.wait(PATIENT) and b"" for _ in range(1)), timeout=PATIENT
        )
        assert code(silent) is grpc.StatusCode.UNAUTHENTICATED
        spoken.set()


def test_beyond_as_many_as_may_wait_calls_are_refused() -> None:
    with a_place(threads=1, waiting=1) as place, a_stub(place) as stub:
        first = begin(place, stub)
        ended: SimpleQueue[Any] = SimpleQueue()
        for other in [stub.Stats.future(recollect_pb2.StatsRequest(), **called()) for _ in range(2)]:
            other.add_done_callback(ended.put)
        assert code(ended.get(timeout=PATIENT)) is grpc.StatusCode.RESOURCE_EXHAUSTED
        place.embedder.go_on.set()
        assert first.result(timeout=PATIENT).verdict == "created"
        assert ended.get(timeout=PATIENT).result().memories == 1


def test_a_call_under_way_is_answered_when_the_server_stops() -> None:
    with a_place() as place, a_stub(place) as stub, ThreadPoolExecutor(1) as operator:
        call = begin(place, stub)
        stopped = operator.submit(place.running.stop, PATIENT)
        place.embedder.go_on.set()
        assert call.result(timeout=PATIENT).verdict == "created"
        stopped.result(timeout=PATIENT)


def test_a_caller_who_says_nothing_does_not_hold_up_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.grpc.server._SHUTDOWN_READ_SECONDS", 0.05)
    monkeypatch.setattr("recollect.server.grpc.server.MAX_POLL_SECONDS", 0.05)
    with (
        a_place(seconds=2 * PATIENT, threads=1) as place,
        place.channel() as channel,
        ThreadPoolExecutor(1) as operator,
    ):
        spoken, lets_in = threading.Event(), place.front.authenticate
        asked = threading.Event()

        def authenticate(shown: str | None) -> Caller:
            asked.set()
            return lets_in(shown)

        place.front.authenticate = authenticate
        silent = channel.stream_unary("/recollect.v1.Recollect/Stats").future(
            (spoken.wait(PATIENT) and b"" for _ in range(1)), **called()
        )
        assert asked.wait(PATIENT)
        stopped = operator.submit(place.running.stop, 2 * PATIENT)
        assert code(silent) in (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE)
        stopped.result(timeout=PATIENT)
        spoken.set()


def test_a_call_that_does_not_end_in_the_grace_of_a_stop_is_cancelled_and_its_work_is_known_to_be_left() -> None:
    with a_place() as place, a_stub(place) as stub:
        call = begin(place, stub)
        place.running.stop(0.0)  # which waits for no engine
        assert code(call) in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        assert place.front.close(0.0) == 1
        place.embedder.go_on.set()
        assert place.front.close(PATIENT) == 0
        assert len(place.engine.memories(scope="acme/ana")) == 1
