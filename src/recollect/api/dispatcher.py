"""Run operations for every transport: parse, authorize, limit, time out, record.

`read_json` and `read_request` parse input and name the bad field. `OperationRunner` checks rights and runs one
operation. `Dispatcher` adds threads, a queue limit, a timeout and outcome events; transports only parse and render.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, from_json

from recollect import config
from recollect.api.auth import WHOLE_STORE, Caller, HostPolicy, Reach, Right
from recollect.api.keys import Authenticator
from recollect.api.operation import JsonAnswer, Operation, OperationRequest
from recollect.api.operations import OPERATIONS
from recollect.api.problems import SCOPE_FIELD, ProblemCode, problem_of
from recollect.config import ServerSettings
from recollect.engine.engine import Engine
from recollect.errors import (
    FieldError,
    InvalidInput,
    NotFound,
    Overdue,
    RecollectError,
    ScopeError,
    ServerBusy,
    show,
    suggest,
)
from recollect.model.scope import as_scope

R = TypeVar("R", bound=OperationRequest)


def read_json(body: bytes | str) -> Mapping[str, Any]:
    """Return the JSON object in `body`; raise InvalidInput if it is anything else.

    NaN, infinities and values that are nested too deeply are rejected.
    """
    try:
        value = from_json(body, allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInput(f'the body is {show(value)}; send a JSON object, such as {{"scope": "acme/ana"}}')
    return value


def read_request(model: type[R], arguments: Mapping[str, Any]) -> R:
    """Validate `arguments` against `model`; raise FieldError for the first problem.

    An unknown field is reported first.
    """
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        details = error.errors(include_url=False)
        unknown = (one for one in details if one["type"] == "extra_forbidden")  # often the missing field, misspelled
        raise _to_field_error(model, next(unknown, details[0])) from error


def _to_field_error(model: type[OperationRequest], detail: ErrorDetails) -> FieldError:
    field = ".".join(str(part) for part in detail["loc"])
    cause = detail.get("ctx", {}).get("error")
    match detail["type"]:
        case "extra_forbidden":
            known = list(model.model_fields) if len(detail["loc"]) == 1 else []
            hint = f"; {suggest(str(detail['loc'][-1]), known)}" if known else ""
            return FieldError(f"unknown field{hint}", field=field)
        case "missing" if field == model.scope_field:
            return FieldError(
                "is missing; name a scope, use a key for a single scope, or start `recollect mcp` with --scope",
                field=field,
            )
        case "missing":
            return FieldError("is missing", field=field)
        case _ if isinstance(cause, FieldError):
            return FieldError(cause.problem, field=_refused_field(detail["loc"], cause))
        case _ if cause is not None:
            return FieldError(str(cause), field=field)
        case _:
            return FieldError(
                f"{show(detail['input'])} is not valid: {detail['msg'][0].lower()}{detail['msg'][1:]}", field=field
            )


def _refused_field(path: tuple[int | str, ...], cause: FieldError) -> str | None:
    """Return the field to report: the list rather than its item, or the field named by `cause`."""
    parts = path[:-1] if path and isinstance(path[-1], int) else path
    return ".".join(str(part) for part in parts) or cause.field


class OperationRunner:
    """Runs operations for callers. Thread-safe, as the engine is."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def run(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> JsonAnswer:
        """Validate the arguments, check the caller's right and return the answer.

        A caller without the read right gets the redacted answer if the operation defines one.
        """
        operation = find_operation(name)
        request = read_request(operation.request, fill_scope(operation, arguments, caller))
        if request.scope_field is None:
            caller.require_right_anywhere(operation.right)
            return _to_json(operation.run(self.engine, request, caller))
        reach = resolve_reach(request, request.scope_field)
        caller.require_right(operation.right, reach)
        answer = operation.run(self.engine, request, caller)
        if operation.redact is not None and not caller.has_right(Right.READ, reach):
            answer = operation.redact(answer)
        return _to_json(answer)


def _to_json(answer: BaseModel) -> JsonAnswer:
    """Return the answer as JSON, without the fields that were not set."""
    return answer.model_dump(mode="json", by_alias=True, exclude_unset=True)


def find_operation(name: str) -> Operation[Any, Any]:
    """Return the operation of that name; raise NotFound if there is none."""
    operation = OPERATIONS.get(name)
    if operation is None:
        raise NotFound(f"unknown operation {show(name)}; {suggest(name, OPERATIONS)}")
    return operation


def fill_scope(operation: Operation[Any, Any], arguments: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
    """Return the arguments; if they name no scope, add the caller's default scope."""
    field = operation.request.scope_field
    if field is None or caller.scope is None or arguments.get(field) is not None:
        return arguments
    return {**arguments, field: str(caller.scope)}


def resolve_reach(request: OperationRequest, field: str) -> Reach:
    """Return the reach of a request: its scope and those below, or the whole store."""
    scope = getattr(request, field)
    try:
        return WHOLE_STORE if scope is None else as_scope(scope)
    except ScopeError as error:
        if field == SCOPE_FIELD:
            raise
        raise FieldError(str(error), field=field) from error


OK = "ok"
"""Outcome of a request that was answered."""

UNIDENTIFIED = "-"
"""Placeholder for the caller or the operation while it is unknown."""

CANCELLED = "cancelled"
"""Outcome of a request whose client stopped waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Limits of a server: body size, time per request, threads and queue length."""

    body_bytes: int = 8_388_608
    seconds: float = 30.0
    threads: int = 8
    waiting: int = 256

    @classmethod
    def from_settings(cls, settings: ServerSettings | None = None) -> Self:
        """Return the limits in these settings, or in the current ones."""
        server = config.load_settings().server if settings is None else settings
        return cls(body_bytes=server.body_bytes, seconds=server.seconds, threads=server.threads, waiting=server.waiting)


DEFAULT_LIMITS = RequestLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """One answered or refused request, for metrics and logs; never any request content."""

    transport: str
    operation: str
    caller: str
    outcome: str
    seconds: float


OutcomeListener = Callable[[RequestOutcome], object]
"""Called once for each request."""


class Dispatcher:
    """Runs requests of all transports under one policy; transports only parse and render."""

    def __init__(
        self,
        runner: OperationRunner,
        authenticate: Authenticator,
        host_policy: HostPolicy,
        *,
        limits: RequestLimits = DEFAULT_LIMITS,
        on_outcome: OutcomeListener = lambda _: None,
    ) -> None:
        self.runner, self.host_policy, self.limits = runner, host_policy, limits
        self.authenticate = authenticate
        self._on_outcome = on_outcome
        self._threads = ThreadPoolExecutor(limits.threads, thread_name_prefix="recollect-request")
        self._pending: set[Future[JsonAnswer]] = set()
        self._lock = threading.Lock()  # close() must see every submitted request

    @property
    def pending_count(self) -> int:
        """Number of requests that are running or queued."""
        return len(self._pending)

    def submit(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> "Future[JsonAnswer]":
        """Queue an operation on the thread pool; raise ServerBusy if too many wait."""
        with self._lock:
            if self.pending_count >= self.limits.threads + self.limits.waiting:
                raise ServerBusy(f"{self.pending_count} requests are already pending; try again in a moment")
            work = self._threads.submit(self.runner.run, name, arguments, caller)
            self._pending.add(work)
        work.add_done_callback(self._pending.discard)
        return work

    async def dispatch(self, transport: str, name: str, arguments: Mapping[str, Any], caller: Caller) -> JsonAnswer:
        """Run the operation and return its answer; raise Overdue after `limits.seconds`."""
        with self.record_outcome(transport, name, caller.name):
            work = self.submit(name, arguments, caller)
            try:
                async with asyncio.timeout(self.limits.seconds):
                    return await asyncio.wrap_future(work)  # cancelling stops it only if it has not started
            except TimeoutError as error:
                raise timeout_error(work, self.limits.seconds) from error

    @contextmanager
    def record_outcome(self, transport: str, name: str, caller: str) -> Iterator[None]:
        """Report the outcome and duration of the enclosed request to the listener."""
        started_at, outcome = time.perf_counter(), ProblemCode.INTERNAL.value
        try:
            yield
            outcome = OK
        except RecollectError as error:
            outcome = problem_of(error).code.value
            raise
        except (asyncio.CancelledError, CancelledError):
            outcome = CANCELLED
            raise
        finally:
            took = time.perf_counter() - started_at
            self._on_outcome(
                RequestOutcome(transport=transport, operation=name, caller=caller, outcome=outcome, seconds=took)
            )

    def record_refusal(self, transport: str, name: str, caller: str, error: RecollectError) -> None:
        """Report a request that was refused before it ran."""
        outcome = problem_of(error).code.value
        self._on_outcome(
            RequestOutcome(transport=transport, operation=name, caller=caller, outcome=outcome, seconds=0.0)
        )

    def close(self, seconds: float | None = None) -> int:
        """Stop accepting requests and wait for running ones; return how many did not finish.

        Queued requests are cancelled. Without `seconds` it waits until all have finished.
        """
        with self._lock:
            self._threads.shutdown(wait=False, cancel_futures=True)
            pending = set(self._pending)
        started = {one for one in pending if not one.cancelled()}  # waiting for a cancelled future would hang
        return len(wait(started, seconds).not_done)


def timeout_error(work: "Future[JsonAnswer]", seconds: float) -> Overdue:
    """Return the error for work that takes too long; cancel the work if it has not started."""
    state = "it had not started" if work.cancel() else "its writes may still complete"
    return Overdue(f"the request took longer than {seconds:g} seconds, or than the client allowed; {state}")
