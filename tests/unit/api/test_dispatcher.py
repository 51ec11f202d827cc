"""What every face holds: how many at once, how long, and that each request is heard of once."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Event
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recollect
from recollect.api.auth import Caller, HostPolicy, create_owner
from recollect.api.dispatcher import CANCELLED, OK, Dispatcher, OperationRunner, RequestLimits, RequestOutcome
from recollect.api.operation import JsonAnswer
from recollect.config import ServerSettings
from recollect.errors import NotFound, Overdue, ServerBusy
from recollect.protocols import Purpose

FACE, OWNER = "test", create_owner()
TEA = {"scope": "acme", "text": "Ana likes tea"}


class Waiting:
    """An embedder that says when it was asked, and waits until it is let go."""

    name, dimensions = "waiting", 2

    def __init__(self) -> None:
        self.asked, self.go = Event(), Event()

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        self.asked.set()
        assert self.go.wait(60)
        return np.ones((len(texts), 2), dtype=np.float32)


class Begun(Dispatcher):
    """A front whose clock runs only once the first request has begun, however long its thread takes for that."""

    began: Event

    def submit(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> "Future[JsonAnswer]":
        work = super().submit(name, arguments, caller)
        assert self.began.wait(60)
        return work


@contextmanager
def fronted(
    limits: RequestLimits, heard: Callable[[RequestOutcome], object] = lambda _: None
) -> Iterator[tuple[Dispatcher, Waiting]]:
    waiting = Waiting()
    with recollect.open(":memory:", embedder=waiting) as engine:
        front = Begun(
            OperationRunner(engine), lambda _: OWNER, HostPolicy.for_ports(1), limits=limits, on_outcome=heard
        )
        front.began = waiting.asked
        try:
            yield front, waiting
        finally:
            waiting.go.set()
            assert front.close() == 0


def asking(front: Dispatcher, given: Mapping[str, Any], name: str = "remember") -> "asyncio.Task[JsonAnswer]":
    return asyncio.create_task(front.dispatch(FACE, name, given, OWNER))


async def until(event: Event) -> None:
    assert await asyncio.to_thread(event.wait, 60)


def test_when_too_many_wait_the_next_one_is_told_to_come_again() -> None:
    heard: list[RequestOutcome] = []

    async def story(front: Dispatcher, waiting: Waiting) -> None:
        first = asking(front, TEA)
        await until(waiting.asked)
        second = asking(front, TEA)
        await asyncio.sleep(0)
        assert front.pending_count == 2
        with pytest.raises(ServerBusy, match="2 requests are already pending"):
            await front.dispatch(FACE, "remember", TEA, OWNER)
        waiting.go.set()
        assert {(await first)["verdict"], (await second)["verdict"]} == {"created", "reinforced"}

    with fronted(RequestLimits(threads=1, waiting=1), heard.append) as (front, waiting):
        asyncio.run(story(front, waiting))
    assert sorted(one.outcome for one in heard) == ["busy", OK, OK]


def test_what_takes_too_long_is_given_up_on_and_what_it_writes_still_comes() -> None:
    heard: list[RequestOutcome] = []

    async def story(front: Dispatcher, waiting: Waiting) -> None:
        with pytest.raises(Overdue, match="its writes may still complete"):
            await front.dispatch(FACE, "remember", TEA, OWNER)
        assert front.pending_count == 1
        waiting.go.set()

    with fronted(RequestLimits(seconds=0.05, threads=1), heard.append) as (front, waiting):
        asyncio.run(story(front, waiting))
        assert front.close() == 0
        assert len(front.runner.engine.memories(scope="acme")) == 1
    assert [one.outcome for one in heard] == ["overdue"]


def test_what_waited_too_long_to_begin_is_never_begun() -> None:
    async def story(front: Dispatcher, waiting: Waiting) -> None:
        late = [asking(front, TEA), asking(front, {**TEA, "text": "Bo likes coffee"})]
        told = [str(one) for one in await asyncio.gather(*late, return_exceptions=True)]
        assert ["may still complete" in one for one in told] == [True, False]
        assert "it had not started" in told[1]
        waiting.go.set()

    with fronted(RequestLimits(seconds=0.05, threads=1)) as (front, waiting):
        asyncio.run(story(front, waiting))
        assert front.close() == 0
        assert [one.text for one in front.runner.engine.memories(scope="acme")] == ["Ana likes tea"]


def test_who_goes_away_changes_nothing_of_what_has_begun() -> None:
    heard: list[RequestOutcome] = []

    async def story(front: Dispatcher, waiting: Waiting) -> None:
        gone = asking(front, TEA)
        await until(waiting.asked)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        waiting.go.set()

    with fronted(RequestLimits(threads=1), heard.append) as (front, waiting):
        asyncio.run(story(front, waiting))
        assert front.close() == 0
        assert len(front.runner.engine.memories(scope="acme")) == 1
    assert [one.outcome for one in heard] == [CANCELLED]


def test_closing_waits_no_longer_than_it_is_told_and_says_what_is_left() -> None:
    async def story(front: Dispatcher, waiting: Waiting) -> None:
        gone = asking(front, TEA)
        await until(waiting.asked)
        assert await asyncio.to_thread(front.close, 0.0) == 1
        waiting.go.set()
        await gone

    with fronted(RequestLimits(threads=1)) as (front, waiting):
        asyncio.run(story(front, waiting))


def test_closing_does_not_wait_for_what_is_being_cancelled_at_that_moment() -> None:
    with fronted(RequestLimits(threads=1)) as (front, waiting):
        front.submit("remember", TEA, OWNER)
        cancelled = front.submit("remember", TEA, OWNER)
        assert cancelled.cancel()
        front._pending.add(cancelled)  # as whoever closes finds it between two steps of another thread
        assert front.close(0.0) == 1
        waiting.go.set()
        assert front.close() == 0


def test_each_request_is_heard_of_once_and_without_its_words() -> None:
    heard: list[RequestOutcome] = []
    with fronted(RequestLimits(), heard.append) as (front, waiting):
        waiting.go.set()
        asyncio.run(front.dispatch(FACE, "remember", TEA, OWNER))
        asyncio.run(front.dispatch(FACE, "stats", {}, OWNER))
        with pytest.raises(NotFound, match="unknown operation 'recal'; did you mean 'recall'"):
            asyncio.run(front.dispatch(FACE, "recal", {}, OWNER))
        front.record_refusal(FACE, "recall", "-", NotFound("nothing"))
    told = [(one.operation, one.caller, one.outcome) for one in heard]
    assert told == [
        ("remember", "owner", OK),
        ("stats", "owner", OK),
        ("recal", "owner", "not_found"),
        ("recall", "-", "not_found"),
    ]
    assert "tea" not in repr(heard)


def test_each_limit_is_the_setting_of_its_name() -> None:
    settings = ServerSettings(body_bytes=2_000, seconds=3.0, threads=7, waiting=5)
    assert RequestLimits.from_settings(settings) == RequestLimits(body_bytes=2_000, seconds=3.0, threads=7, waiting=5)


def test_default_settings_give_the_default_limits() -> None:
    assert RequestLimits.from_settings(ServerSettings()) == RequestLimits()
