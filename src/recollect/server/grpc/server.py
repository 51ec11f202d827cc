"""gRPC server: every operation as a call, with read deadlines and status codes.

Calls are parsed, run by the dispatcher and rendered. `ReadDeadlines` limits how long a call may take to send its
request, and how many calls may wait at once. The last part turns problems into gRPC statuses.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2

from recollect.api.auth import Caller
from recollect.api.dispatcher import UNIDENTIFIED, Dispatcher, timeout_error
from recollect.api.keys import parse_bearer
from recollect.api.operation import Operation
from recollect.api.operations import OPERATIONS
from recollect.api.problems import Problem, ProblemCode, log_internal_error, problem_of
from recollect.errors import InvalidInput, NotFound, RecollectError, show
from recollect.grpc.v1 import recollect_pb2
from recollect.server.grpc.converters import from_message, parse_message, to_message

TRANSPORT = "grpc"
SERVICE = recollect_pb2.DESCRIPTOR.services_by_name["Recollect"]
IDEMPOTENCY_KEY_METADATA = "idempotency-key"
"""The metadata with the idempotency key."""

_HEALTH_PATH = "/grpc.health.v1.Health/Check"
_HEALTH_SERVICES = frozenset({"", SERVICE.full_name})
"""Names that a health check may ask for: the server as a whole, or its one service."""

_HEALTH_READ_SECONDS = 1.0
"""Read timeout of health checks, which need no key."""

_SHUTDOWN_READ_SECONDS = 1.0
"""Read timeout of all calls once the server shuts down."""

_MAX_WAITING_THREADS = 256
"""Maximum number of threads beside the configured ones; half may wait for silent clients."""

_MIN_READ_SECONDS = 1.0
"""Minimum read time of an authenticated call, however many clients are silent."""

_HEALTH_THREADS = 8
"""Number of threads for health checks, which take none from authenticated calls."""


@dataclass(frozen=True, slots=True)
class RpcMethod:
    """An operation with the messages that it takes and returns."""

    operation: Operation[Any, Any]
    request: type[Message]
    answer: type[Message]


def _to_method(operation: Operation[Any, Any]) -> RpcMethod:
    descriptor = SERVICE.methods_by_name[operation.call_name]
    return RpcMethod(operation, GetMessageClass(descriptor.input_type), GetMessageClass(descriptor.output_type))


METHODS: Mapping[str, RpcMethod] = MappingProxyType(
    {f"/{SERVICE.full_name}/{operation.call_name}": _to_method(operation) for operation in OPERATIONS.values()}
)
"""All methods by their path."""


class GrpcServer:
    """A gRPC server that runs until it is stopped."""

    def __init__(self, dispatcher: Dispatcher, address: str, is_ready: Callable[[], bool]) -> None:
        limits = dispatcher.limits
        waiting = max(limits.waiting, 1)
        listening = min(waiting, _MAX_WAITING_THREADS)
        self._calls = _CallHandler(dispatcher, is_ready, max_silent=max(listening // 2, 1))
        self._threads = ThreadPoolExecutor(limits.threads + listening, thread_name_prefix="recollect-grpc")
        self._server = grpc.server(
            self._threads,
            handlers=[self._calls],
            options=(("grpc.max_receive_message_length", limits.body_bytes), ("grpc.so_reuseport", 0)),
            maximum_concurrent_rpcs=limits.threads + waiting,
        )
        self.port = self._bind(address)
        self._server.start()

    def _bind(self, address: str) -> int:
        try:
            return int(self._server.add_insecure_port(address))
        except RuntimeError as error:
            self._calls.close()
            problem = f"cannot listen on {address} for gRPC: the port is in use, or the address is not of this machine"
            remedy = "choose another port with --grpc-port, or disable gRPC with --no-grpc"
            raise InvalidInput(f"{problem}; {remedy}") from error

    def stop(self, grace: float) -> None:
        """Accept no more calls, let running ones end within `grace` seconds, cancel the rest.

        A call that has not sent its request gets only a short time, since its work has not started. Work that the
        engine has started runs to its end; `Dispatcher.close` waits for it.
        """
        self._calls.begin_shutdown()
        self._server.stop(grace).wait()
        self._calls.close()
        self._threads.shutdown(wait=False)


def start_server(dispatcher: Dispatcher, address: str, is_ready: Callable[[], bool] = lambda: True) -> GrpcServer:
    """Start a server at an address such as `127.0.0.1:0`, where 0 is any free port.

    `is_ready` gives its health; without it, the server is healthy as long as it listens.
    """
    return GrpcServer(dispatcher, address, is_ready)


class _CallHandler(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio comes without types
    """Handles calls as streams of one message, which grpcio reads only when asked to."""

    def __init__(self, dispatcher: Dispatcher, is_ready: Callable[[], bool], max_silent: int) -> None:
        """Answer calls with a dispatcher; up to `max_silent` calls may wait for their message."""
        self._dispatcher, self._is_ready = dispatcher, is_ready
        self._deadlines = ReadDeadlines(dispatcher.limits.seconds, max_calls=max_silent, min_seconds=_MIN_READ_SECONDS)
        # one thread always stays free
        self._health_deadlines = ReadDeadlines(_HEALTH_READ_SECONDS, max_calls=_HEALTH_THREADS - 1)
        self._health_threads = ThreadPoolExecutor(_HEALTH_THREADS, thread_name_prefix="recollect-grpc-health")
        self._stopping = False

    def begin_shutdown(self) -> None:
        """Report that the server is not serving, and shorten the read timeout."""
        self._stopping = True
        self._deadlines.shorten(_SHUTDOWN_READ_SECONDS)

    def close(self) -> None:
        """Stop waiting for messages."""
        self._deadlines.close()
        self._health_deadlines.close()
        self._health_threads.shutdown(wait=False)

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """Return the handler of a call, or None if there is no such method."""
        path = handler_call_details.method
        if path == _HEALTH_PATH:
            return self._make_handler(self._check_health, self._health_threads)
        method = METHODS.get(path)
        if method is None:
            return None
        return self._make_handler(partial(self._run_operation, method, time.monotonic()))

    def _make_handler(
        self,
        answer: Callable[[Iterator[bytes], grpc.ServicerContext], bytes],
        threads: ThreadPoolExecutor | None = None,
    ) -> grpc.RpcMethodHandler:
        guarded = partial(self._run_guarded, answer)
        if threads is not None:
            guarded.experimental_thread_pool = threads  # type: ignore[attr-defined]  # where grpcio looks for it
        return grpc.stream_unary_rpc_method_handler(guarded)

    def _check_health(self, messages: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """Return whether the server is serving."""
        self._dispatcher.host_policy.require_allowed(
            _read_authority(context), _read_metadata(context.invocation_metadata()).get("origin")
        )
        with self._health_deadlines.guard(context.cancel):
            body = next(messages, b"")
        request = parse_message(health_pb2.HealthCheckRequest, body)
        if request.service not in _HEALTH_SERVICES:
            raise NotFound(f"unknown service {show(request.service)}; use {SERVICE.full_name!r}")
        response = health_pb2.HealthCheckResponse
        serving = response.SERVING if not self._stopping and self._is_ready() else response.NOT_SERVING
        encoded: bytes = response(status=serving).SerializeToString()
        return encoded

    def _run_guarded(
        self,
        answer: Callable[[Iterator[bytes], grpc.ServicerContext], bytes],
        messages: Iterator[bytes],
        context: grpc.ServicerContext,
    ) -> bytes:
        """Return the answer, or end the call with the error's status."""
        try:
            return answer(messages, context)
        except RecollectError as error:
            problem = problem_of(error)
        except (grpc.RpcError, CancelledError):  # the client is gone
            abort_call(context, grpc.StatusCode.CANCELLED, "the call was cancelled")
        except Exception as error:  # the outermost boundary
            problem = log_internal_error(TRANSPORT, error)
        return abort_with_problem(context, problem)

    def _run_operation(
        self, method: RpcMethod, received_at: float, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        caller_name = UNIDENTIFIED
        try:
            caller, key = self._authenticate(context)
            caller_name = caller.name
            with self._deadlines.guard(context.cancel, caller_name):
                body = next(messages, None)
            if body is None:
                raise InvalidInput("the call has no message; send one")
            arguments = method.operation.with_key(
                from_message(parse_message(method.request, body)), key, IDEMPOTENCY_KEY_METADATA
            )
        except RecollectError as error:
            self._dispatcher.record_refusal(TRANSPORT, method.operation.name, caller_name, error)
            raise

        with self._dispatcher.record_outcome(TRANSPORT, method.operation.name, caller.name):
            answer = self._run_with_deadline(method.operation.name, arguments, caller, received_at, context)
            encoded: bytes = to_message(method.answer, answer).SerializeToString()
        return encoded

    def _authenticate(self, context: grpc.ServicerContext) -> tuple[Caller, str | None]:
        """Return the caller and the idempotency key from the metadata."""
        metadata = _read_metadata(context.invocation_metadata())
        self._dispatcher.host_policy.require_allowed(_read_authority(context), metadata.get("origin"))
        caller = self._dispatcher.authenticate(parse_bearer(metadata.get("authorization")))
        return caller, metadata.get(IDEMPOTENCY_KEY_METADATA)

    def _run_with_deadline(
        self, name: str, arguments: Mapping[str, Any], caller: Caller, received_at: float, context: grpc.ServicerContext
    ) -> Mapping[str, Any]:
        """Return the answer in time, or raise Overdue.

        Work that has not begun when the client stops waiting is cancelled.
        """
        seconds = self._dispatcher.limits.seconds
        remaining = min(received_at + seconds - time.monotonic(), context.time_remaining())
        work = self._dispatcher.submit(name, arguments, caller)
        if not context.add_callback(partial(_cancel, work)):
            _cancel(work)
        try:
            return work.result(max(remaining, 0.0))  # notices a cancellation at once; `wait` does not
        except TimeoutError as error:
            if work.done():
                raise
            raise timeout_error(work, seconds) from error


def _cancel(work: "Future[Mapping[str, Any]]") -> None:
    """Cancel the work if it has not begun."""
    work.cancel()


def _read_authority(context: Any) -> str:
    """Return the host name that the client called; grpcio has it nowhere else."""
    return str(context._rpc_event.call_details.host, "utf-8", "replace")  # noqa: SLF001


def _read_metadata(metadata: Any) -> dict[str, str]:
    """Return the text metadata by name; raise InvalidInput if one that matters occurs twice."""
    values: dict[str, str] = {}
    for name, value in metadata:
        if name in values and name in ("authorization", "origin", IDEMPOTENCY_KEY_METADATA):
            raise InvalidInput(f"metadata {show(name)} occurs twice; send it once")
        if isinstance(value, str):
            values[name] = value
    return values


MAX_POLL_SECONDS = 1.0
"""Maximum delay until a late call is noticed."""


CancelCall = Callable[[], object]
"""Cancels a call."""


@dataclass(frozen=True, slots=True)
class _PendingCall:
    """A call that has not sent its request: its client, start, deadline and how to cancel it."""

    client: str
    since: float
    deadline: float
    cancel: CancelCall


class ReadDeadlines:
    """Cancels calls that are silent for too long, since each of them holds a thread."""

    def __init__(self, seconds: float, *, max_calls: int | None = None, min_seconds: float = 0.0) -> None:
        """Wait `seconds` for each call and, if given, for at most `max_calls` calls at once.

        Beyond `max_calls`, the longest-waiting call of the client with the most calls is cancelled, but not in
        its first `min_seconds` seconds: many requests at once take a moment to arrive.
        """
        self._seconds, self._max_calls, self._min_seconds = seconds, max_calls, min_seconds
        self._pending: dict[object, _PendingCall] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="recollect-deadlines", daemon=True)
        self._thread.start()

    @contextmanager
    def guard(self, cancel: CancelCall, client: str = "") -> Iterator[None]:
        """Cancel the call if the enclosed read takes too long or its client has too many calls."""
        token, now = object(), time.monotonic()
        with self._lock:
            self._pending[token] = _PendingCall(client, now, now + self._seconds, cancel)
            excess = self._evict_excess(now)
        for cancel_other in excess:
            cancel_other()
        try:
            yield
        finally:
            with self._lock:
                self._pending.pop(token, None)

    def shorten(self, seconds: float) -> None:
        """Wait at most `seconds` from now on, also for calls that wait already."""
        deadline = time.monotonic() + seconds
        with self._lock:
            self._seconds = min(self._seconds, seconds)
            self._pending = {
                one: replace(call, deadline=min(call.deadline, deadline)) for one, call in self._pending.items()
            }

    def close(self) -> None:
        """Stop the thread that looks for late calls."""
        self._closed.set()
        self._thread.join()

    def _evict_excess(self, now: float) -> list[CancelCall]:
        """Remove the calls beyond `max_calls` and return what cancels them."""
        evicted = list[CancelCall]()
        while self._max_calls is not None and len(self._pending) > self._max_calls:
            ((client, _),) = Counter(one.client for one in self._pending.values()).most_common(1)
            oldest = next(one for one, call in self._pending.items() if call.client == client)
            if now - self._pending[oldest].since < self._min_seconds:
                break
            evicted.append(self._pending.pop(oldest).cancel)
        return evicted

    def _poll(self) -> None:
        while not self._closed.wait(min(self._seconds, MAX_POLL_SECONDS)):
            now = time.monotonic()
            with self._lock:
                late = [one.cancel for one in self._pending.values() if one.deadline <= now] + self._evict_excess(now)
            for cancel in late:
                cancel()


PROBLEM_METADATA = "recollect-problem-bin"
"""The trailing metadata with the problem, as a message."""

MAX_METADATA_BYTES = 1_000
"""Maximum size of a text in metadata; clients take 8 KiB in all, percent-encoded."""

STATUSES: Mapping[ProblemCode, grpc.StatusCode] = {
    ProblemCode.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    ProblemCode.TOO_LARGE: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ProblemCode.UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    ProblemCode.FORBIDDEN: grpc.StatusCode.PERMISSION_DENIED,
    ProblemCode.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ProblemCode.CONFLICT: grpc.StatusCode.FAILED_PRECONDITION,
    ProblemCode.BUSY: grpc.StatusCode.UNAVAILABLE,
    ProblemCode.OVERDUE: grpc.StatusCode.DEADLINE_EXCEEDED,
    ProblemCode.PROVIDER: grpc.StatusCode.UNKNOWN,
    ProblemCode.STORE: grpc.StatusCode.INTERNAL,
    ProblemCode.INTERNAL: grpc.StatusCode.INTERNAL,
}
"""The status of each code. Clients retry only `UNAVAILABLE` by themselves."""


def abort_with_problem(context: grpc.ServicerContext, problem: Problem) -> NoReturn:
    """End the call with the problem."""
    message = problem_to_message(problem)
    context.set_trailing_metadata(((PROBLEM_METADATA, message.SerializeToString()),))
    abort_call(context, STATUSES[problem.code], message.message)


def abort_call(context: grpc.ServicerContext, status: grpc.StatusCode, why: str) -> NoReturn:
    """End the call with a status."""
    context.abort(status, why)
    raise AssertionError("abort always raises")


def problem_to_message(problem: Problem) -> recollect_pb2.Problem:
    """Return the problem as a message that is short enough for metadata."""
    return recollect_pb2.Problem(
        code=problem.code.value,
        message=_shorten(problem.message),
        field=None if problem.field is None else _shorten(problem.field),
        line=problem.line,
        retryable=problem.retryable,
    )


def _shorten(text: str) -> str:
    """Return the text, cut to the size that metadata can carry."""
    written = text.encode("utf-8", "backslashreplace")
    if len(written) <= MAX_METADATA_BYTES:
        return written.decode("utf-8")
    return written[: MAX_METADATA_BYTES - 3].decode("utf-8", "ignore") + "…"
