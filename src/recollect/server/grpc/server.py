"""Server: each operation as a call over gRPC, which is parsed, asked of the front, and rendered.

Patience: how long a call may take to say what it wants, and how many may be waited for at once.

Statuses: which status a call ends with that is refused, and what it says to programs.
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
from recollect.api.operation import Answer, Operation
from recollect.api.operations import OPERATIONS
from recollect.api.problems import Problem, ProblemCode, log_internal_error, problem_of
from recollect.errors import InvalidInput, NotFound, RecollectError, show
from recollect.grpc.v1 import recollect_pb2
from recollect.server.grpc.converters import from_message, parse_message, to_message

TRANSPORT = "grpc"
SERVICE = recollect_pb2.DESCRIPTOR.services_by_name["Recollect"]
IDEMPOTENCY_KEY_METADATA = "idempotency-key"
"""The metadata that may say the key which makes a retry harmless."""

_HEALTH_PATH = "/grpc.health.v1.Health/Check"
_HEALTH_SERVICES = frozenset({"", SERVICE.full_name})
"""Of what health is told: of the server by no name, or of the one service."""

_HEALTH_READ_SECONDS = 1.0
"""How long is waited for the words of somebody who need not say who they are."""

_SHUTDOWN_READ_SECONDS = 1.0
"""How long is waited for the words of anybody once the server is to end."""

_MAX_WAITING_THREADS = 256
"""How many threads there are at most beside those that are set; half of them may wait for who says nothing."""

_MIN_READ_SECONDS = 1.0
"""How long is waited for the words of anybody who has shown a key, however many say nothing."""

_HEALTH_THREADS = 8
"""How many threads there are for them: none of those that answer whoever has a key."""


@dataclass(frozen=True, slots=True)
class RpcMethod:
    """An operation, and the messages that it takes and gives."""

    operation: Operation[Any]
    request: type[Message]
    answer: type[Message]


def camel_case(name: str) -> str:
    """What the call of an operation is named."""
    return "".join(part.capitalize() for part in name.split("_"))


def _to_method(operation: Operation[Any]) -> RpcMethod:
    found = SERVICE.methods_by_name[camel_case(operation.name)]
    return RpcMethod(operation, GetMessageClass(found.input_type), GetMessageClass(found.output_type))


METHODS: Mapping[str, RpcMethod] = MappingProxyType(
    {f"/{SERVICE.full_name}/{camel_case(name)}": _to_method(operation) for name, operation in OPERATIONS.items()}
)
"""What can be called, by its path."""


class GrpcServer:
    """A server that answers, until it is stopped."""

    def __init__(self, front: Dispatcher, address: str, is_ready: Callable[[], bool]) -> None:
        limits = front.limits
        waiting = max(limits.waiting, 1)
        listening = min(waiting, _MAX_WAITING_THREADS)
        self._calls = _CallHandler(front, is_ready, silent=max(listening // 2, 1))
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
            told = f"{address} cannot be listened at for gRPC; is it taken, or not an address of this machine?"
            problem = f"{told} Choose another port with --grpc-port, or none with --no-grpc"
            raise InvalidInput(problem) from error

    def stop(self, grace: float) -> None:
        """Take no more calls, let those under way end within so many seconds, and cancel the rest.

        Who has not said by then what they want is waited for only shortly: nothing of that is under way.
        What an engine has begun goes on to its end; `Dispatcher.close` waits for it.
        """
        self._calls.begin_shutdown()
        self._server.stop(grace).wait()
        self._calls.close()
        self._threads.shutdown(wait=False)


def start_server(front: Dispatcher, address: str, is_ready: Callable[[], bool] = lambda: True) -> GrpcServer:
    """Answer calls at an address such as `127.0.0.1:0`, where 0 is any port that is free.

    `is_ready` is what its health tells; without it, that it listens.
    """
    return GrpcServer(front, address, is_ready)


class _CallHandler(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio comes without types
    """Answers calls: each as a stream of one message, of which grpcio reads nothing before it is asked to."""

    def __init__(self, front: Dispatcher, is_ready: Callable[[], bool], silent: int) -> None:
        """Calls that are answered by a front; so many that say nothing are waited for at once."""
        self._front, self._is_ready = front, is_ready
        self._patience = ReadDeadlines(front.limits.seconds, most=silent, least=_MIN_READ_SECONDS)
        self._with_strangers = ReadDeadlines(
            _HEALTH_READ_SECONDS, most=_HEALTH_THREADS - 1
        )  # so that one thread is always free
        self._strangers = ThreadPoolExecutor(_HEALTH_THREADS, thread_name_prefix="recollect-grpc-health")
        self._ends = False

    def begin_shutdown(self) -> None:
        """Tell whoever asks that it ends, and wait no longer for those who say nothing."""
        self._ends = True
        self._patience.shorten(_SHUTDOWN_READ_SECONDS)

    def close(self) -> None:
        """Wait for nobody any more."""
        self._patience.close()
        self._with_strangers.close()
        self._strangers.shutdown(wait=False)

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """How a call is answered; there is no such call, if nothing is given."""
        path = handler_call_details.method
        if path == _HEALTH_PATH:
            return self._make_handler(self._check_health, self._strangers)
        found = METHODS.get(path)
        if found is None:
            return None
        return self._make_handler(partial(self._run_operation, found, time.monotonic()))

    def _make_handler(
        self,
        answer: Callable[[Iterator[bytes], grpc.ServicerContext], bytes],
        threads: ThreadPoolExecutor | None = None,
    ) -> grpc.RpcMethodHandler:
        answered = partial(self._run_guarded, answer)
        if threads is not None:
            answered.experimental_thread_pool = threads  # type: ignore[attr-defined]  # where grpcio looks for it
        return grpc.stream_unary_rpc_method_handler(answered)

    def _check_health(self, messages: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """Whether calls are answered as they should be."""
        self._front.gate.require_allowed(
            _read_authority(context), _read_metadata(context.invocation_metadata()).get("origin")
        )
        with self._with_strangers.guard(context.cancel):
            body = next(messages, b"")
        asked = parse_message(health_pb2.HealthCheckRequest, body)
        if asked.service not in _HEALTH_SERVICES:
            raise NotFound(f"there is no service {show(asked.service)} here; {SERVICE.full_name!r} is")
        found = health_pb2.HealthCheckResponse
        serving = found.SERVING if not self._ends and self._is_ready() else found.NOT_SERVING
        told: bytes = found(status=serving).SerializeToString()
        return told

    def _run_guarded(
        self,
        answer: Callable[[Iterator[bytes], grpc.ServicerContext], bytes],
        messages: Iterator[bytes],
        context: grpc.ServicerContext,
    ) -> bytes:
        """What is answered; whatever else comes of it ends the call."""
        try:
            return answer(messages, context)
        except RecollectError as error:
            problem = problem_of(error)
        except (grpc.RpcError, CancelledError):  # nobody waits any more
            abort_call(context, grpc.StatusCode.CANCELLED, "it was cancelled")
        except Exception as error:  # the outermost door
            problem = log_internal_error(TRANSPORT, error)
        return abort_with_problem(context, problem)

    def _run_operation(
        self, method: RpcMethod, came: float, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        who = UNIDENTIFIED
        try:
            caller, key = self._authenticate(context)
            who = caller.name
            with self._patience.guard(context.cancel, who):
                body = next(messages, None)
            if body is None:
                raise InvalidInput("the call came without a message; send one")
            asked = method.operation.with_key(
                from_message(parse_message(method.request, body)), key, IDEMPOTENCY_KEY_METADATA
            )
        except RecollectError as error:
            self._front.record_refusal(TRANSPORT, method.operation.name, who, error)
            raise

        with self._front.record_outcome(TRANSPORT, method.operation.name, caller.name):
            answer = self._run_with_deadline(method.operation.name, asked, caller, came, context)
            written: bytes = to_message(method.answer, answer).SerializeToString()
        return written

    def _authenticate(self, context: grpc.ServicerContext) -> tuple[Caller, str | None]:
        """Who calls, and the key of the metadata that makes a retry harmless."""
        metadata = _read_metadata(context.invocation_metadata())
        self._front.gate.require_allowed(_read_authority(context), metadata.get("origin"))
        caller = self._front.authenticate(parse_bearer(metadata.get("authorization")))
        return caller, metadata.get(IDEMPOTENCY_KEY_METADATA)

    def _run_with_deadline(
        self, name: str, asked: Mapping[str, Any], caller: Caller, came: float, context: grpc.ServicerContext
    ) -> Answer:
        """What is answered, unless it takes too long; what has not begun when nobody waits any more never does."""
        seconds = self._front.limits.seconds
        left = min(came + seconds - time.monotonic(), context.time_remaining())
        work = self._front.submit(name, asked, caller)
        if not context.add_callback(partial(_cancel, work)):
            _cancel(work)
        try:
            return work.result(max(left, 0.0))  # which hears at once that it was cancelled; `wait` does not
        except TimeoutError as error:
            if work.done():
                raise
            raise timeout_error(work, seconds) from error


def _cancel(work: "Future[Answer]") -> None:
    """Begin it no more, if it has not begun."""
    work.cancel()


def _read_authority(context: Any) -> str:
    """The name by which the server was called. grpcio tells it nowhere but here."""
    return str(context._rpc_event.call_details.host, "utf-8", "replace")  # noqa: SLF001


def _read_metadata(metadata: Any) -> dict[str, str]:
    """The texts of the metadata by name; refused if one that counts is said twice."""
    found: dict[str, str] = {}
    for name, value in metadata:
        if name in found and name in ("authorization", "origin", IDEMPOTENCY_KEY_METADATA):
            raise InvalidInput(f"the metadata {show(name)} is there twice; send it once")
        if isinstance(value, str):
            found[name] = value
    return found


MAX_POLL_SECONDS = 1.0
"""How many seconds pass at most until it is noticed that a call is late."""


CancelCall = Callable[[], object]
"""What ends a call."""


@dataclass(frozen=True, slots=True)
class _PendingCall:
    """A call that is waited for: whose it is, since when, until when, and what ends it."""

    client: str
    since: float
    deadline: float
    cancel: CancelCall


class ReadDeadlines:
    """Ends calls that are waited for too long, which hold a thread all the while."""

    def __init__(self, seconds: float, *, most: int | None = None, least: float = 0.0) -> None:
        """Patience for so many seconds, and if `most` is said, with so many at once.

        Beyond that, of whoever has most of them, the one that was silent for longest is waited for no more; but each
        is for the `least` seconds, since what many say at once takes a moment to come.
        """
        self._seconds, self._most, self._least = seconds, most, least
        self._awaited: dict[object, _PendingCall] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="recollect-patience", daemon=True)
        self._thread.start()

    @contextmanager
    def guard(self, end: CancelCall, whose: str = "") -> Iterator[None]:
        """Have it ended if what is done meanwhile takes too long, or if somebody has too many of them."""
        one, now = object(), time.monotonic()
        with self._lock:
            self._awaited[one] = _PendingCall(whose, now, now + self._seconds, end)
            too_many = self._evict_excess(now)
        for let_go in too_many:
            let_go()
        try:
            yield
        finally:
            with self._lock:
                self._awaited.pop(one, None)

    def shorten(self, seconds: float) -> None:
        """Wait for nobody any longer than that from now on."""
        until = time.monotonic() + seconds
        with self._lock:
            self._seconds = min(self._seconds, seconds)
            self._awaited = {
                one: replace(awaited, deadline=min(awaited.deadline, until)) for one, awaited in self._awaited.items()
            }

    def close(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _evict_excess(self, now: float) -> list[CancelCall]:
        """What ends those who are let go for the others."""
        ends = list[CancelCall]()
        while self._most is not None and len(self._awaited) > self._most:
            ((whose, _),) = Counter(one.client for one in self._awaited.values()).most_common(1)
            first = next(one for one, awaited in self._awaited.items() if awaited.client == whose)
            if now - self._awaited[first].since < self._least:
                break
            ends.append(self._awaited.pop(first).cancel)
        return ends

    def _poll(self) -> None:
        while not self._over.wait(min(self._seconds, MAX_POLL_SECONDS)):
            now = time.monotonic()
            with self._lock:
                late = [one.cancel for one in self._awaited.values() if one.deadline <= now] + self._evict_excess(now)
            for end in late:
                end()


PROBLEM_METADATA = "recollect-problem-bin"
"""The trailing metadata that has the problem, as a message."""

MAX_METADATA_BYTES = 1_000
"""How long a text may be that goes into metadata, of which clients take 8 KiB in all, percent-encoded."""

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
"""The status of each code. `UNAVAILABLE` alone is one that clients send again by themselves."""


def abort_with_problem(context: grpc.ServicerContext, problem: Problem) -> NoReturn:
    """End the call with the problem."""
    message = problem_to_message(problem)
    context.set_trailing_metadata(((PROBLEM_METADATA, message.SerializeToString()),))
    abort_call(context, STATUSES[problem.code], message.message)


def abort_call(context: grpc.ServicerContext, status: grpc.StatusCode, why: str) -> NoReturn:
    """End the call."""
    context.abort(status, why)
    raise AssertionError("abort has raised already")


def problem_to_message(problem: Problem) -> recollect_pb2.Problem:
    """The problem, as short as metadata must be."""
    return recollect_pb2.Problem(
        code=problem.code.value,
        message=_shorten(problem.message),
        field=None if problem.field is None else _shorten(problem.field),
        line=problem.line,
        retryable=problem.retryable,
    )


def _shorten(text: str) -> str:
    """The text as far as metadata can carry it."""
    written = text.encode("utf-8", "backslashreplace")
    if len(written) <= MAX_METADATA_BYTES:
        return written.decode("utf-8")
    return written[: MAX_METADATA_BYTES - 3].decode("utf-8", "ignore") + "…"
