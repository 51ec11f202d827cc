"""Whoever asks for health shows no key, and holds up nobody who has one, nor others who ask."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from recollect.grpc.v1 import recollect_pb2

from .serving import PATIENT, Place, a_place, a_stub, called

HEALTH = "/grpc.health.v1.Health/Check"


@contextmanager
def silent(place: Place, number: int) -> Iterator[threading.Semaphore]:
    """So many who begin to ask for health and say nothing; gives who of them is waited for no more."""
    spoken, ended = threading.Event(), threading.Semaphore(0)
    with place.channel() as channel:
        asked = channel.stream_unary(HEALTH)
        for _ in range(number):
            call = asked.future((spoken.wait(PATIENT) and b"" for _ in range(1)), timeout=PATIENT)
            call.add_done_callback(lambda _: ended.release())
        try:
            yield ended
        finally:
            spoken.set()


def test_strangers_who_say_nothing_take_no_thread_of_those_with_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.grpc.server._HEALTH_READ_SECONDS", PATIENT)
    with a_place(threads=1, waiting=64) as place, a_stub(place) as stub, silent(place, 20) as ended:
        assert ended.acquire(timeout=PATIENT)  # so all threads of strangers are taken
        assert stub.Stats(recollect_pb2.StatsRequest(), **called()).memories == 0
        assert all(ended.acquire(timeout=PATIENT) for _ in range(12))  # of 20, 7 are waited for
        assert not ended.acquire(blocking=False)


def test_whoever_says_what_they_want_to_know_is_told_though_many_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.grpc.server._HEALTH_READ_SECONDS", PATIENT)
    with a_place(threads=1, waiting=64) as place, silent(place, 20), place.channel() as channel:
        asked = health_pb2.HealthCheckRequest()
        for _ in range(3):
            found = health_pb2_grpc.HealthStub(channel).Check(asked, timeout=PATIENT)
            assert found.status == health_pb2.HealthCheckResponse.SERVING


def test_a_stranger_who_says_nothing_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.grpc.server._HEALTH_READ_SECONDS", 0.05)
    with a_place() as place, silent(place, 1) as ended:
        assert ended.acquire(timeout=PATIENT)


def test_what_is_no_question_for_health_is_refused_as_that() -> None:
    with a_place() as place, place.channel() as channel:
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary(HEALTH)(b"\xff\xff\xff", timeout=PATIENT)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "the message is not a grpc.health.v1.HealthCheckRequest" in refused.value.details()
