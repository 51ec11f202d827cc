"""Server: each operation as a call over gRPC, which is parsed, asked of the front, and rendered."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2

from recollect.api.auth import Caller
from recollect.api.dispatcher import NOBODY, Front, overdue
from recollect.api.error_log import fault
from recollect.api.keys import bearer
from recollect.api.operation import Answer, Operation
from recollect.api.operation_table import OPERATIONS
from recollect.api.problems import problem_of
from recollect.errors import InvalidInput, NotFound, RecollectError, show
from recollect.grpc.v1 import recollect_pb2
from recollect.server.grpc.converters import given, parsed, told
from recollect.server.grpc.deadlines import Patience
from recollect.server.grpc.statuses import end, refuse

FACE = "grpc"
SERVICE = recollect_pb2.DESCRIPTOR.services_by_name["Recollect"]
RETRY_KEY = "idempotency-key"
"""The metadata that may say the key which makes a retry harmless."""

_HEALTH = "/grpc.health.v1.Health/Check"
_LOOKED_AFTER = frozenset({"", SERVICE.full_name})
"""Of what health is told: of the server by no name, or of the one service."""

_STRANGERS_SECONDS = 1.0
"""How long is waited for the words of somebody who need not say who they are."""

_LAST_SECONDS = 1.0
"""How long is waited for the words of anybody once the server is to end."""

_LISTENING = 256
"""How many threads there are at most beside those that are set; half of them may wait for who says nothing."""

_LEAST_SECONDS = 1.0
"""How long is waited for the words of anybody who has shown a key, however many say nothing."""

_STRANGERS = 8
"""How many threads there are for them: none of those that answer whoever has a key."""


@dataclass(frozen=True, slots=True)
class Method:
    """An operation, and the messages that it takes and gives."""

    operation: Operation[Any]
    request: type[Message]
    answer: type[Message]


def camel(name: str) -> str:
    """What the call of an operation is named."""
    return "".join(part.capitalize() for part in name.split("_"))


def _method(operation: Operation[Any]) -> Method:
    found = SERVICE.methods_by_name[camel(operation.name)]
    return Method(operation, GetMessageClass(found.input_type), GetMessageClass(found.output_type))


METHODS: Mapping[str, Method] = MappingProxyType(
    {f"/{SERVICE.full_name}/{camel(name)}": _method(operation) for name, operation in OPERATIONS.items()}
)
"""What can be called, by its path."""


class Running:
    """A server that answers, until it is stopped."""

    def __init__(self, front: Front, address: str, is_ready: Callable[[], bool]) -> None:
        limits = front.limits
        waiting = max(limits.waiting, 1)
        listening = min(waiting, _LISTENING)
        self._calls = _Calls(front, is_ready, silent=max(listening // 2, 1))
        self._threads = ThreadPoolExecutor(limits.threads + listening, thread_name_prefix="recollect-grpc")
        self._server = grpc.server(
            self._threads,
            handlers=[self._calls],
            options=(("grpc.max_receive_message_length", limits.body_bytes), ("grpc.so_reuseport", 0)),
            maximum_concurrent_rpcs=limits.threads + waiting,
        )
        self.port = self._bound(address)
        self._server.start()

    def _bound(self, address: str) -> int:
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
        What an engine has begun goes on to its end; `Front.close` waits for it.
        """
        self._calls.end()
        self._server.stop(grace).wait()
        self._calls.close()
        self._threads.shutdown(wait=False)


def start(front: Front, address: str, is_ready: Callable[[], bool] = lambda: True) -> Running:
    """Answer calls at an address such as `127.0.0.1:0`, where 0 is any port that is free.

    `is_ready` is what its health tells; without it, that it listens.
    """
    return Running(front, address, is_ready)


class _Calls(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio comes without types
    """Answers calls: each as a stream of one message, of which grpcio reads nothing before it is asked to."""

    def __init__(self, front: Front, is_ready: Callable[[], bool], silent: int) -> None:
        """Calls that are answered by a front; so many that say nothing are waited for at once."""
        self._front, self._is_ready = front, is_ready
        self._patience = Patience(front.limits.seconds, most=silent, least=_LEAST_SECONDS)
        self._with_strangers = Patience(_STRANGERS_SECONDS, most=_STRANGERS - 1)  # so that one thread is always free
        self._strangers = ThreadPoolExecutor(_STRANGERS, thread_name_prefix="recollect-grpc-health")
        self._ends = False

    def end(self) -> None:
        """Tell whoever asks that it ends, and wait no longer for those who say nothing."""
        self._ends = True
        self._patience.hurry(_LAST_SECONDS)

    def close(self) -> None:
        """Wait for nobody any more."""
        self._patience.close()
        self._with_strangers.close()
        self._strangers.shutdown(wait=False)

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """How a call is answered; there is no such call, if nothing is given."""
        path = handler_call_details.method
        if path == _HEALTH:
            return self._handler(self._health, self._strangers)
        found = METHODS.get(path)
        if found is None:
            return None
        return self._handler(partial(self._answer, found, time.monotonic()))

    def _handler(
        self,
        answer: Callable[[Iterator[bytes], grpc.ServicerContext], bytes],
        threads: ThreadPoolExecutor | None = None,
    ) -> grpc.RpcMethodHandler:
        answered = partial(self._answered, answer)
        if threads is not None:
            answered.experimental_thread_pool = threads  # type: ignore[attr-defined]  # where grpcio looks for it
        return grpc.stream_unary_rpc_method_handler(answered)

    def _health(self, messages: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """Whether calls are answered as they should be."""
        self._front.gate.refuse_strangers(_authority(context), _single(context.invocation_metadata()).get("origin"))
        with self._with_strangers.waiting(context.cancel):
            body = next(messages, b"")
        asked = parsed(health_pb2.HealthCheckRequest, body)
        if asked.service not in _LOOKED_AFTER:
            raise NotFound(f"there is no service {show(asked.service)} here; {SERVICE.full_name!r} is")
        found = health_pb2.HealthCheckResponse
        serving = found.SERVING if not self._ends and self._is_ready() else found.NOT_SERVING
        told: bytes = found(status=serving).SerializeToString()
        return told

    def _answered(
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
            end(context, grpc.StatusCode.CANCELLED, "it was cancelled")
        except Exception as error:  # the outermost door
            problem = fault(FACE, error)
        return refuse(context, problem)

    def _answer(self, method: Method, came: float, messages: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        who = NOBODY
        try:
            caller, key = self._let_in(context)
            who = caller.name
            with self._patience.waiting(context.cancel, who):
                body = next(messages, None)
            if body is None:
                raise InvalidInput("the call came without a message; send one")
            asked = method.operation.with_key(given(parsed(method.request, body)), key, RETRY_KEY)
        except RecollectError as error:
            self._front.refused(FACE, method.operation.name, who, error)
            raise

        with self._front.telling(FACE, method.operation.name, caller.name):
            answer = self._in_time(method.operation.name, asked, caller, came, context)
            written: bytes = told(method.answer, answer).SerializeToString()
        return written

    def _let_in(self, context: grpc.ServicerContext) -> tuple[Caller, str | None]:
        """Who calls, and the key of the metadata that makes a retry harmless."""
        metadata = _single(context.invocation_metadata())
        self._front.gate.refuse_strangers(_authority(context), metadata.get("origin"))
        caller = self._front.authenticate(bearer(metadata.get("authorization")))
        return caller, metadata.get(RETRY_KEY)

    def _in_time(
        self, name: str, asked: Mapping[str, Any], caller: Caller, came: float, context: grpc.ServicerContext
    ) -> Answer:
        """What is answered, unless it takes too long; what has not begun when nobody waits any more never does."""
        seconds = self._front.limits.seconds
        left = min(came + seconds - time.monotonic(), context.time_remaining())
        work = self._front.submit(name, asked, caller)
        if not context.add_callback(partial(_let_go, work)):
            _let_go(work)
        try:
            return work.result(max(left, 0.0))  # which hears at once that it was cancelled; `wait` does not
        except TimeoutError as error:
            if work.done():
                raise
            raise overdue(work, seconds) from error


def _let_go(work: "Future[Answer]") -> None:
    """Begin it no more, if it has not begun."""
    work.cancel()


def _authority(context: Any) -> str:
    """The name by which the server was called. grpcio tells it nowhere but here."""
    return str(context._rpc_event.call_details.host, "utf-8", "replace")  # noqa: SLF001


def _single(metadata: Any) -> dict[str, str]:
    """The texts of the metadata by name; refused if one that counts is said twice."""
    found: dict[str, str] = {}
    for name, value in metadata:
        if name in found and name in ("authorization", "origin", RETRY_KEY):
            raise InvalidInput(f"the metadata {show(name)} is there twice; send it once")
        if isinstance(value, str):
            found[name] = value
    return found
