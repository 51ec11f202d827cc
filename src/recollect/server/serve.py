"""serve(): one process for one store; it listens until it is told to end, and ends well."""

import asyncio
import errno
import logging
import math
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from recollect import config, factory
from recollect.api.dispatcher import Asked, Front
from recollect.api.operation_runner import Service
from recollect.config import Settings
from recollect.engine.engine import Engine
from recollect.errors import InvalidInput, RecollectError, StoreError
from recollect.jobs.runner import Failure
from recollect.model.job_runs import Occurrence
from recollect.model.validation import IN_MEMORY
from recollect.server import logs, transports
from recollect.server.allocator_tuning import keep_what_is_freed, look_past_what_stays
from recollect.server.authenticator import Letting, gate, letting
from recollect.server.health_monitor import MODES, watching
from recollect.server.http.app import app as http_app
from recollect.server.http.connection import Connection, refuse_unknown_uvicorn
from recollect.server.metrics import Metrics
from recollect.server.request_limits import limits

_LOG = logging.getLogger(__name__)

ENDED_EARLY = 1
"""What a shell learns if something was still under way when the time was up."""

LAST_WORDS = 1.0
"""For how many seconds, once the time is up, what has nothing to do may end, and what was put off is written."""

BACKLOG = 2048
"""How many connections wait until they are taken."""


class Drain:
    """How long what is under way may still take, once it is to end."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._until: float | None = None

    def begin(self) -> None:
        """Count from now on."""
        self._until = time.monotonic() + self.seconds

    @property
    def rest(self) -> float:
        """How many seconds are left."""
        return self.seconds if self._until is None else max(0.0, self._until - time.monotonic())


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be served: which store, by which settings, and through which faces beside HTTP."""

    target: str
    shown: str
    settings: Settings
    mcp: bool = True
    grpc: bool = True

    @property
    def scheduled(self) -> bool:
        """Whether jobs are run too; a throw-away has nothing that they could look after."""
        return self.settings.server.scheduler and self.target != IN_MEMORY


def wanted(
    target: str,
    *,
    shown: str,
    host: str | None = None,
    port: int | None = None,
    grpc_port: int | None = None,
    mcp: bool = True,
    grpc: bool = True,
    scheduler: bool = True,
) -> Wanted:
    """What the settings want, but for what is said here; `shown` is what is told of the store, without a password."""
    chosen = config.settings()
    said: dict[str, Any] = {
        "host": host,
        "port": port,
        "grpc_port": grpc_port,
        "scheduler": None if scheduler else False,
    }
    server = replace(chosen.server, **{name: one for name, one in said.items() if one is not None})
    return Wanted(target=target, shown=shown, settings=replace(chosen, server=server), mcp=mcp, grpc=grpc)


def serve(wanted: Wanted, opened: Callable[[], AbstractContextManager[Engine]], tell: Callable[[str], None]) -> int:
    """Serve until SIGTERM or SIGINT; gives what a shell is to learn. `tell` gets what there is to know at the start."""
    refuse_unknown_uvicorn()
    server = wanted.settings.server
    let_in = letting(server)
    with _listening(server.host, server.port) as listening, opened() as engine:
        logs.begin()
        keep_what_is_freed()
        serving = Serving(wanted, let_in, engine, listening)
        with serving.scheduled():
            serving.run(tell)
        if serving.left:  # their threads would keep the process for as long as they like
            _LOG.error("left_under_way", extra={"what": serving.left})
            _is_done(engine.flush, LAST_WORDS)
            os._exit(ENDED_EARLY)
        _tell_of_what_was_lost(engine)
    _LOG.info("ended")
    return 0


def _tell_of_what_was_lost(engine: Engine) -> None:
    """Log what was put off by requests and could not be written; of each it was logged when it failed."""
    try:
        engine.flush()
    except StoreError as error:
        _LOG.error("changes_put_off_lost", extra={"problem": str(error)})


class Serving:
    """A server with its engine, its faces, and what is told of it."""

    def __init__(self, wanted: Wanted, let_in: Letting, engine: Engine, listening: socket.socket) -> None:
        self._wanted, self._let_in, self._listening = wanted, let_in, listening
        self._port: int = listening.getsockname()[1]
        server = wanted.settings.server
        self._front = Front(
            Service(engine),
            let_in.authenticate,
            gate(server, self._port),
            limits=limits(server),
            heard=self._asked,
        )
        self._drain = Drain(server.drain_seconds)
        self.left: list[str] = []
        self._watch = watching(engine, wanted.settings, let_in.entrance)
        self._metrics = Metrics(lambda: self._front.under_way, MODES, self._watch.degraded)

    @contextmanager
    def scheduled(self) -> Iterator[None]:
        """Run jobs when they fall due meanwhile, if that is wanted."""
        if not self._wanted.scheduled:
            yield
            return
        ours = factory.scheduler(self._wanted.target, settings=self._wanted.settings, heard=self._worked)
        self._watch.look_after(lambda: ours.failing)
        try:
            ours.start()
            yield
        finally:
            if not _is_done(ours.close, max(self._drain.rest, LAST_WORDS)) and ours.at_work:
                self.left.append("a job")

    def run(self, tell: Callable[[str], None]) -> None:
        """Listen until it is told to end, and finish what is under way; `left` says what could not be."""
        tools = self._wanted.settings.server.tools
        mounted = transports.mcp(self._front, tools) if self._wanted.mcp else None
        mounts: dict[str, ASGIApp] = {} if mounted is None else {transports.MCP_PATH: mounted}

        beside = self._grpc()

        @asynccontextmanager
        async def living(_: Starlette) -> AsyncIterator[None]:
            async with nullcontext() if mounted is None else mounted.run():
                for line in self._told(mounted is not None, beside):
                    tell(line)
                _LOG.info(
                    "listening",
                    extra={"port": self._port, "store": self._wanted.shown, "degraded": list(self._watch.degraded())},
                )
                self._watch.notice()
                look_past_what_stays()
                try:
                    yield
                finally:
                    if beside is not None:
                        await asyncio.to_thread(beside.stop, self._drain.rest)

        app = http_app(self._front, self._watch.health, self._metrics.text, mounts=mounts, lifespan=living)
        _Uvicorn(_options(app, self._drain.seconds), self._drain).run([self._listening])
        self.left += ["a request"] * self._front.close(self._drain.rest)
        self._watch.close()

    def _grpc(self) -> transports.Listening | None:
        if not self._wanted.grpc:
            return None
        server = self._wanted.settings.server
        beside = transports.grpc(self._front, address(server.host, server.grpc_port), self._is_ready)
        self._front.gate = gate(server, self._port, beside.port)  # which nobody knew before, if any would do
        return beside

    def _told(self, mcp: bool, beside: transports.Listening | None) -> Iterator[str]:
        host = self._wanted.settings.server.host
        yield f"listening at http://{address(host, self._port)}"
        yield f"the store is {self._wanted.shown}"
        if mcp:
            yield f"MCP at http://{address(host, self._port)}{transports.MCP_PATH}"
        if beside is not None:
            yield f"gRPC at {address(host, beside.port)}"
        yield f"authorised {self._let_in.told}"
        yield "jobs are run when they fall due" if self._wanted.scheduled else "jobs are not run here"
        yield from (f"degraded: {one}" for one in self._watch.degraded())

    def _is_ready(self) -> bool:
        return self._watch.health_now().ready

    def _asked(self, one: Asked) -> None:
        self._metrics.asked(one)
        logs.asked(one)
        self._watch.heard(one)

    def _worked(self, one: Occurrence | Failure) -> None:
        self._metrics.worked(one)
        self._watch.worked(one)


class _Uvicorn(uvicorn.Server):
    """Ends well at the first signal, at once at the second, and raises none of them again."""

    def __init__(self, config: uvicorn.Config, drain: Drain) -> None:
        super().__init__(config)
        self._drain = drain

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        if self.should_exit:
            os._exit(128 + sig)
        self._drain.begin()
        self.should_exit = True


def _options(app: ASGIApp, drain: float) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(drain),
    )


def address(host: str, port: int) -> str:
    """A host and a port, as they are written together."""
    return f"[{host.strip('[]')}]:{port}" if ":" in host else f"{host}:{port}"


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens there; refused with the remedy if it cannot."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise InvalidInput(f"{host!r} is no address of this machine: {error}") from error
    with made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind(place)
            made.listen(BACKLOG)
        except OSError as error:
            remedy = "stop what listens there, or choose another with --port" if _is_taken(error) else "choose another"
            raise RecollectError(f"{address(host, port)} cannot be listened at: {error.strerror}; {remedy}") from error
        yield made


def _is_taken(error: OSError) -> bool:
    return error.errno == errno.EADDRINUSE


def _is_done(do: Callable[[], object], seconds: float) -> bool:
    """Whether it is done within so many seconds; if not, it goes on in a thread that nobody waits for."""
    thread = threading.Thread(target=do, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()
