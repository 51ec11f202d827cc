"""Whoever shows a key and says nothing holds up nobody else who has one, as long as calls are free."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from recollect.api.auth import Caller
from recollect.grpc.v1 import recollect_pb2

from .serving import ANA, PATIENT, READER, Place, a_place, a_stub, called

LONGER = 4 * PATIENT
"""How long a server waits for the words of a call; no test waits so long."""


class Begun:
    """Calls that are let in and say nothing until they are told to."""

    def __init__(self, place: Place, channel: Any) -> None:
        self.ended = threading.Semaphore(0)
        self.spoken = threading.Event()
        self._let_in, self._asked = threading.Semaphore(0), channel.stream_unary("/recollect.v1.Recollect/Stats")
        lets_in = place.front.authenticate

        def authenticate(shown: str | None) -> Caller:
            self._let_in.release()
            return lets_in(shown)

        place.front.authenticate = authenticate

    def call(self, key: str) -> Any:
        """One more of them."""
        said = recollect_pb2.StatsRequest(scope="acme/ana").SerializeToString()
        made = self._asked.future((said for _ in range(1) if self.spoken.wait(LONGER)), **called(key))
        made.add_done_callback(lambda _: self.ended.release())
        assert self._let_in.acquire(timeout=PATIENT)
        return made


@contextmanager
def silent(place: Place) -> Iterator[Begun]:
    with place.channel() as channel:
        begun = Begun(place, channel)
        try:
            yield begun
        finally:
            begun.spoken.set()


def test_as_many_who_say_nothing_as_there_are_threads_hold_up_nobody() -> None:
    with a_place(threads=2, waiting=8, seconds=LONGER) as place, a_stub(place) as stub, silent(place) as begun:
        for _ in range(3):
            begun.call(READER)
        assert stub.Stats(recollect_pb2.StatsRequest(), **called()).memories == 0
        assert not begun.ended.acquire(blocking=False)


def test_when_too_many_say_nothing_only_those_are_let_go_of_whoever_has_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.grpc.server._MIN_READ_SECONDS", 0.5)
    monkeypatch.setattr("recollect.server.grpc.server.MAX_POLL_SECONDS", 0.05)
    with a_place(threads=2, waiting=8, seconds=LONGER) as place, silent(place) as begun:
        slow = begun.call(ANA)
        for _ in range(5):
            begun.call(READER)
        assert all(begun.ended.acquire(timeout=PATIENT) for _ in range(2))  # of 6, 4 are waited for
        assert not begun.ended.acquire(blocking=False)
        begun.spoken.set()
        assert slow.result(timeout=PATIENT)


def test_a_call_is_answered_beside_a_silent_one_though_none_may_wait() -> None:
    with a_place(threads=1, waiting=0, seconds=LONGER) as place, a_stub(place) as stub, silent(place) as begun:
        begun.call(READER)
        assert stub.Stats(recollect_pb2.StatsRequest(), **called()).memories == 0


def test_a_call_that_is_alone_is_let_go_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.server.grpc.server._MIN_READ_SECONDS", 0.0)
    with a_place(threads=1, waiting=0) as place, a_stub(place) as stub:
        assert stub.Stats(recollect_pb2.StatsRequest(), **called()).memories == 0
