"""Server process: serve one store over HTTP, MCP and gRPC until told to stop.

MCP shares the port of HTTP, gRPC has its own; both are imported only when used. The last part tunes memory allocation
and garbage collection for requests.
"""

import asyncio
import ctypes
import errno
import gc
import logging
import math
import os
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, Final, Protocol

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect import config, factory
from recollect.api.dispatcher import Dispatcher, OperationRunner, RequestLimits, RequestOutcome
from recollect.config import Settings
from recollect.engine.engine import Engine
from recollect.errors import InvalidInput, RecollectError, StoreError
from recollect.jobs.scheduler import JobFailure
from recollect.model.plan import JobOccurrence
from recollect.model.validation import IN_MEMORY_TARGET
from recollect.server import telemetry
from recollect.server.authenticator import Authentication, create_authentication, create_host_policy
from recollect.server.health import DEGRADED_MODES, create_monitor
from recollect.server.http.app import create_app
from recollect.server.http.connection import LimitedHttpConnection
from recollect.server.http.middleware import MAX_HEAD_BYTES
from recollect.server.telemetry import Metrics

MCP_PATH = "/mcp"


class RunningTransport(Protocol):
    """A transport that listens on its own port."""

    @property
    def port(self) -> int:
        """The port it listens on."""
        ...

    def stop(self, grace: float) -> object:
        """Accept nothing more, and finish running requests within `grace` seconds."""
        ...


class MountedTransport(Protocol):
    """A transport that is served over HTTP at a path of the server."""

    def run(self) -> AbstractAsyncContextManager[None]:
        """Answer requests while the context is open."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        ...


def create_mcp_transport(dispatcher: Dispatcher, tools: str) -> MountedTransport:
    """Return the MCP transport, with the tools of the named toolsets."""
    from recollect.server.mcp.catalog import parse_toolsets
    from recollect.server.mcp.http_transport import McpHttpApp

    return McpHttpApp(dispatcher, parse_toolsets(tools))


def start_grpc(dispatcher: Dispatcher, address: str, is_ready: Callable[[], bool]) -> RunningTransport:
    """Start gRPC at an address; it reports the same health as HTTP."""
    from recollect.server.grpc.server import start_server

    return start_server(dispatcher, address, is_ready)


_LOG = logging.getLogger(__name__)

EXIT_UNFINISHED = 1
"""Exit code if work was still running when the time was up."""

SHUTDOWN_GRACE_SECONDS = 1.0
"""Time after the drain for idle threads to stop and deferred writes to be stored."""

BACKLOG_CONNECTIONS = 2048
"""Maximum number of connections that wait to be accepted."""


class DrainTimer:
    """The time left for running work once the server stops."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadline: float | None = None

    def start(self) -> None:
        """Start the countdown."""
        self._deadline = time.monotonic() + self.seconds

    @property
    def remaining_seconds(self) -> float:
        """Seconds left; all of them before the start."""
        return self.seconds if self._deadline is None else max(0.0, self._deadline - time.monotonic())


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What to serve: the store, the settings, and the transports beside HTTP."""

    target: str
    store_label: str
    settings: Settings
    mcp: bool = True
    grpc: bool = True

    @property
    def runs_scheduler(self) -> bool:
        """Whether jobs run too; an in-memory store has nothing to maintain."""
        return self.settings.server.scheduler and self.target != IN_MEMORY_TARGET


def build_options(
    target: str,
    *,
    shown: str,
    host: str | None = None,
    port: int | None = None,
    grpc_port: int | None = None,
    mcp: bool = True,
    grpc: bool = True,
    scheduler: bool = True,
) -> ServeOptions:
    """Return the current settings with these overrides.

    `shown` is the store's name in messages, without a password.
    """
    settings = config.load_settings()
    overrides: dict[str, Any] = {
        "host": host,
        "port": port,
        "grpc_port": grpc_port,
        "scheduler": None if scheduler else False,
    }
    server = replace(settings.server, **{name: one for name, one in overrides.items() if one is not None})
    return ServeOptions(target=target, store_label=shown, settings=replace(settings, server=server), mcp=mcp, grpc=grpc)


def serve(
    options: ServeOptions, open_engine: Callable[[], AbstractContextManager[Engine]], print_line: Callable[[str], None]
) -> int:
    """Serve until SIGTERM or SIGINT, and return the exit code.

    `print_line` prints the lines at the start.
    """
    settings = options.settings.server
    authentication = create_authentication(settings)
    with _listen(settings.host, settings.port) as listener, open_engine() as engine:
        telemetry.configure_logging()
        tune_allocator()
        process = ServerProcess(options, authentication, engine, listener)
        with process.run_scheduler():
            process.run(print_line)
        if process.unfinished:  # the threads of unfinished work would keep the process alive
            _LOG.error("work_unfinished", extra={"what": process.unfinished})
            _run_within(engine.admin.flush, SHUTDOWN_GRACE_SECONDS)
            os._exit(EXIT_UNFINISHED)
        _log_lost_changes(engine)
    _LOG.info("stopped")
    return 0


def _log_lost_changes(engine: Engine) -> None:
    """Log that deferred writes were lost; each was logged when it failed."""
    try:
        engine.admin.flush()
    except StoreError as error:
        _LOG.error("flush_failed", extra={"problem": str(error)})


class ServerProcess:
    """One server: its engine, its transports, metrics and health monitor."""

    def __init__(
        self, options: ServeOptions, authentication: Authentication, engine: Engine, listener: socket.socket
    ) -> None:
        self._options, self._authentication, self._listener = options, authentication, listener
        self._port: int = listener.getsockname()[1]
        server = options.settings.server
        self._dispatcher = Dispatcher(
            OperationRunner(engine),
            authentication.authenticate,
            create_host_policy(server, self._port),
            limits=RequestLimits.from_settings(server),
            on_outcome=self._on_request,
        )
        self._drain = DrainTimer(server.drain_seconds)
        self.unfinished: list[str] = []
        self._monitor = create_monitor(engine, options.settings, authentication.status)
        self._metrics = Metrics(lambda: self._dispatcher.pending_count, DEGRADED_MODES, self._monitor.degraded_modes)

    @contextmanager
    def run_scheduler(self) -> Iterator[None]:
        """Run jobs that are due while the context is open, if the options want that."""
        if not self._options.runs_scheduler:
            yield
            return
        scheduler = factory.scheduler(self._options.target, settings=self._options.settings, heard=self._on_job)
        self._monitor.watch_scheduler(lambda: scheduler.failing)
        try:
            scheduler.start()
            yield
        finally:
            if (
                not _run_within(scheduler.close, max(self._drain.remaining_seconds, SHUTDOWN_GRACE_SECONDS))
                and scheduler.at_work
            ):
                self.unfinished.append("a job")

    def run(self, print_line: Callable[[str], None]) -> None:
        """Listen until told to stop, then finish running requests; `unfinished` lists the rest."""
        tools = self._options.settings.server.tools
        mcp_transport = create_mcp_transport(self._dispatcher, tools) if self._options.mcp else None
        mounts: dict[str, ASGIApp] = {} if mcp_transport is None else {MCP_PATH: mcp_transport}

        grpc_transport = self._start_grpc()

        @asynccontextmanager
        async def run_transports(_: Starlette) -> AsyncIterator[None]:
            async with nullcontext() if mcp_transport is None else mcp_transport.run():
                for line in self._describe_startup(mcp_transport is not None, grpc_transport):
                    print_line(line)
                _LOG.info(
                    "listening",
                    extra={
                        "port": self._port,
                        "store": self._options.store_label,
                        "degraded": list(self._monitor.degraded_modes()),
                    },
                )
                self._monitor.log_changes()
                freeze_garbage_collector()
                try:
                    yield
                finally:
                    if grpc_transport is not None:
                        await asyncio.to_thread(grpc_transport.stop, self._drain.remaining_seconds)

        app = create_app(
            self._dispatcher, self._monitor.health, self._metrics.text, mounts=mounts, lifespan=run_transports
        )
        _UvicornServer(_uvicorn_config(app, self._drain.seconds), self._drain).run([self._listener])
        self.unfinished += ["a request"] * self._dispatcher.close(self._drain.remaining_seconds)
        self._monitor.close()

    def _start_grpc(self) -> RunningTransport | None:
        if not self._options.grpc:
            return None
        server = self._options.settings.server
        grpc_transport = start_grpc(self._dispatcher, format_address(server.host, server.grpc_port), self._is_ready)
        # the port is known only now if the system chose it
        self._dispatcher.host_policy = create_host_policy(server, self._port, grpc_transport.port)
        return grpc_transport

    def _describe_startup(self, mcp: bool, grpc_transport: RunningTransport | None) -> Iterator[str]:
        host = self._options.settings.server.host
        yield f"listening on http://{format_address(host, self._port)}"
        yield f"store: {self._options.store_label}"
        if mcp:
            yield f"MCP at http://{format_address(host, self._port)}{MCP_PATH}"
        if grpc_transport is not None:
            yield f"gRPC at {format_address(host, grpc_transport.port)}"
        yield f"authorized {self._authentication.description}"
        yield "jobs run when they are due" if self._options.runs_scheduler else "jobs do not run here"
        yield from (f"degraded: {one}" for one in self._monitor.degraded_modes())

    def _is_ready(self) -> bool:
        return self._monitor.health_now().ready

    def _on_request(self, outcome: RequestOutcome) -> None:
        self._metrics.count_request(outcome)
        telemetry.log_request(outcome)
        self._monitor.on_request(outcome)

    def _on_job(self, event: JobOccurrence | JobFailure) -> None:
        self._metrics.count_job(event)
        self._monitor.on_job(event)


class _UvicornServer(uvicorn.Server):
    """Stops gracefully at the first signal, at once at the second, and never raises it again."""

    def __init__(self, config: uvicorn.Config, drain: DrainTimer) -> None:
        super().__init__(config)
        self._drain = drain

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start the shutdown; if it is under way, exit at once."""
        if self.should_exit:
            os._exit(128 + sig)
        self._drain.start()
        self.should_exit = True


def _uvicorn_config(app: ASGIApp, drain: float) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=LimitedHttpConnection,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(drain),
    )


def format_address(host: str, port: int) -> str:
    """Return host and port as written in a URL, with brackets for IPv6."""
    return f"[{host.strip('[]')}]:{port}" if ":" in host else f"{host}:{port}"


@contextmanager
def _listen(host: str, port: int) -> Iterator[socket.socket]:
    """Return a listening socket; raise an error with the remedy if that fails."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise InvalidInput(f"{host!r} is not an address of this machine: {error}") from error
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(BACKLOG_CONNECTIONS)
        except OSError as error:
            remedy = (
                "stop the program that uses it, or choose another port with --port"
                if error.errno == errno.EADDRINUSE
                else "choose another host or port"
            )
            raise RecollectError(
                f"cannot listen on {format_address(host, port)}: {error.strerror}; {remedy}"
            ) from error
        yield listener


def _run_within(work: Callable[[], object], seconds: float) -> bool:
    """Return whether `work` ends in time; if not, it continues in a daemon thread."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


M_TRIM_THRESHOLD: Final = -1
M_MMAP_THRESHOLD: Final = -3
"""Parameters of `mallopt` in the C library."""

KEPT_HEAP_BYTES: Final = 64 * 1024 * 1024
"""Free bytes that a thread keeps at the end of its heap."""

MMAP_THRESHOLD_BYTES: Final = 32 * 1024 * 1024
"""Arrays from this size on get their own mapping, which is returned as soon as it is free."""


def tune_allocator() -> bool:
    """Make the C library return freed memory later; return whether it does.

    Only glibc has such parameters. By default it returns the end of the heap of every thread but the first after each
    recall and takes it back for the next, page by page, which costs a tenth of the recall (docs/adr/0077).
    """
    if not sys.platform.startswith("linux"):
        return False
    choose = getattr(ctypes.CDLL(None), "mallopt", None)
    return choose is not None and all(
        choose(name, size)
        for name, size in ((M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES), (M_TRIM_THRESHOLD, KEPT_HEAP_BYTES))
    )


def freeze_garbage_collector() -> None:
    """Exempt all present objects (modules, classes, schemas) from garbage collection.

    By default the collector scans all of them after some thirty recalls, which takes as long as three recalls
    (docs/adr/0077). It scans new objects as often as before: a body of megabytes may be garbage.
    """
    gc.collect()
    gc.freeze()
