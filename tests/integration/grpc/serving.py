"""A server of its own for a test: an engine that a test can hold up, callers with keys, and a client."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import grpc
import numpy as np
from numpy.typing import NDArray

import recollect
from recollect.api.auth import Caller, Grant, HostPolicy, Right, create_owner
from recollect.api.dispatcher import Dispatcher, OperationRunner, RequestLimits, RequestOutcome
from recollect.api.operation import JsonAnswer
from recollect.engine.engine import Engine
from recollect.errors import Unauthenticated
from recollect.grpc.v1.recollect_pb2_grpc import RecollectStub
from recollect.model.scope import Scope
from recollect.server.grpc.server import GrpcServer, start_server
from recollect.testing.builders import ManualClock, a_vector

OWNER, ANA, READER = "key-of-the-owner", "key-of-ana", "key-of-a-reader"
CALLERS = {
    OWNER: create_owner(),
    ANA: Caller(name="ana", grants=(Grant(frozenset({Right.READ, Right.WRITE}), Scope.parse("acme/ana")),)),
    READER: Caller(name="reader", grants=(Grant(frozenset({Right.READ}), Scope.parse("acme")),)),
}
PATIENT = 60.0
"""How long a client waits that is only to be answered; no test waits so long."""


class HeldUp:
    """An embedder that waits, for texts that begin with `wait`, until it is let go."""

    name, dimensions = "held-up", 8

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Semaphore(0), threading.Event()

    def embed(self, texts: Sequence[str], purpose: Literal["memory", "query"]) -> NDArray[np.float32]:
        """Directions that mean nothing, sooner or later."""
        if any(one.startswith("wait") for one in texts):
            self.begun.release()
            assert self.go_on.wait(PATIENT)
        return np.array([a_vector(one) for one in texts], dtype=np.float32).reshape(len(texts), self.dimensions)


class Listening(OperationRunner):
    """A service that knows what it answered last, to be compared with what a client got."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.last: JsonAnswer = {}
        self.fault: Exception | None = None
        self.unfit: JsonAnswer = {}

    def run(self, name: str, given: Mapping[str, Any], caller: Caller) -> JsonAnswer:
        """What every service answers, unless a fault of ours is wanted, or an answer that fits no message."""
        if self.fault is not None:
            raise self.fault
        self.last = super().run(name, given, caller)
        return {**self.last, **self.unfit}


def authenticate(shown: str | None) -> Caller:
    """Who has that key."""
    if shown not in CALLERS:
        raise Unauthenticated("no key that holds")
    return CALLERS[shown]


@dataclass
class Place:
    """A server that runs, with what is behind it."""

    engine: Engine
    embedder: HeldUp
    service: Listening
    front: Dispatcher
    heard: list[RequestOutcome]
    ready: bool = True
    running: GrpcServer = field(init=False)

    @contextmanager
    def channel(self, **options: Any) -> Iterator[grpc.Channel]:
        """A connection to it."""
        with grpc.insecure_channel(f"127.0.0.1:{self.running.port}", options=list(options.items())) as channel:
            yield channel


def called(key: str | None = OWNER, **more: str) -> dict[str, Any]:
    """What a call is sent with: a key, other metadata, and patience."""
    shown = () if key is None else (("authorization", f"Bearer {key}"),)
    return {
        "metadata": (*shown, *((name.replace("_", "-"), value) for name, value in more.items())),
        "timeout": PATIENT,
    }


@contextmanager
def a_place(clock: Callable[[], datetime] | None = None, **limits: Any) -> Iterator[Place]:
    """A server on a port of this machine, with a store that nobody else sees."""
    embedder, heard = HeldUp(), list[RequestOutcome]()
    with recollect.open(":memory:", embedder=embedder, clock=clock or ManualClock()) as engine:
        service = Listening(engine)
        gate = HostPolicy(frozenset({"127.0.0.1", "localhost"}), frozenset({"https://console.example"}))
        front = Dispatcher(service, authenticate, gate, limits=RequestLimits(**limits), on_outcome=heard.append)
        place = Place(engine, embedder, service, front, heard)
        place.running = running = start_server(front, "127.0.0.1:0", lambda: place.ready)
        try:
            yield place
        finally:
            embedder.go_on.set()
            running.stop(0.0)
            front.close()


@contextmanager
def a_stub(place: Place) -> Iterator[RecollectStub]:
    """A client of a place."""
    with place.channel() as channel:
        yield RecollectStub(channel)
