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

from pydantic import ValidationError
from pydantic_core import ErrorDetails, from_json

from recollect import config
from recollect.api.auth import WHOLE_STORE, Caller, HostPolicy, Reach, Right
from recollect.api.keys import Authenticator
from recollect.api.operation import Answer, Operation, OperationRequest
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
        found = from_json(body, allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput(f'the body is {show(found)}; give a JSON object, such as {{"scope": "acme/ana"}}')
    return found


def read_request(model: type[R], given: Mapping[str, Any]) -> R:
    """Validate `given` against `model`; raise FieldError for the first problem.

    An unknown field is reported first.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False)
        unknown = (one for one in found if one["type"] == "extra_forbidden")  # often the missing field, misspelled
        raise _to_field_error(model, next(unknown, found[0])) from error


def _to_field_error(model: type[OperationRequest], found: ErrorDetails) -> FieldError:
    field = ".".join(str(part) for part in found["loc"])
    cause = found.get("ctx", {}).get("error")
    match found["type"]:
        case "extra_forbidden":
            known = list(model.model_fields) if len(found["loc"]) == 1 else []
            told = f"; {suggest(str(found['loc'][-1]), known)}" if known else ""
            return FieldError(f"there is no such field{told}", field=field)
        case "missing" if field == model.scope_field:
            return FieldError(
                "is missing; say whose memory it is, ask by a key for one scope, or start `recollect mcp` with --scope",
                field=field,
            )
        case "missing":
            return FieldError("is missing", field=field)
        case _ if isinstance(cause, FieldError):
            return FieldError(cause.problem, field=_refused_field(found["loc"], cause))
        case _ if cause is not None:
            return FieldError(str(cause), field=field)
        case _:
            return FieldError(
                f"{show(found['input'])} does not fit: {found['msg'][0].lower()}{found['msg'][1:]}", field=field
            )


def _refused_field(path: tuple[int | str, ...], cause: FieldError) -> str | None:
    """Return the field to report: the list rather than its item, or the field named by `cause`."""
    named = path[:-1] if path and isinstance(path[-1], int) else path
    return ".".join(str(part) for part in named) or cause.field


class OperationRunner:
    """Runs operations for callers. Thread-safe, as the engine is."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def run(self, name: str, given: Mapping[str, Any], caller: Caller) -> Answer:
        """Validate the arguments, check the caller's right and return the answer.

        A caller without the read right gets the redacted answer if the operation defines one.
        """
        operation = find_operation(name)
        request = read_request(operation.request, fill_scope(operation, given, caller))
        if request.scope_field is None:
            caller.require_right_anywhere(operation.right)
            return operation.run(self.engine, request, caller)
        reach = resolve_reach(request, request.scope_field)
        caller.require_right(operation.right, reach)
        answer = operation.run(self.engine, request, caller)
        return answer if operation.redact is None or caller.has_right(Right.READ, reach) else operation.redact(answer)


def find_operation(name: str) -> Operation[Any]:
    """Return the operation of that name; raise NotFound if there is none."""
    found = OPERATIONS.get(name)
    if found is None:
        raise NotFound(f"there is no operation {show(name)}; {suggest(name, OPERATIONS)}")
    return found


def fill_scope(operation: Operation[Any], given: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
    """Return the arguments; if they name no scope, add the caller's default scope."""
    whose = operation.request.scope_field
    if whose is None or caller.scope is None or given.get(whose) is not None:
        return given
    return {**given, whose: str(caller.scope)}


def resolve_reach(request: OperationRequest, whose: str) -> Reach:
    """Return the reach of a request: its scope and those below, or the whole store."""
    scope = getattr(request, whose)
    try:
        return WHOLE_STORE if scope is None else as_scope(scope)
    except ScopeError as error:
        if whose == SCOPE_FIELD:
            raise
        raise FieldError(str(error), field=whose) from error


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
        service: OperationRunner,
        authenticate: Authenticator,
        gate: HostPolicy,
        *,
        limits: RequestLimits = DEFAULT_LIMITS,
        heard: OutcomeListener = lambda _: None,
    ) -> None:
        self.service, self.gate, self.limits = service, gate, limits
        self.authenticate = authenticate
        self._heard = heard
        self._threads = ThreadPoolExecutor(limits.threads, thread_name_prefix="recollect-asked")
        self._under_way: set[Future[Answer]] = set()
        self._counting = threading.Lock()  # close() must see every submitted request

    @property
    def pending_count(self) -> int:
        """Number of requests that are running or queued."""
        return len(self._under_way)

    def submit(self, name: str, given: Mapping[str, Any], caller: Caller) -> "Future[Answer]":
        """Queue an operation on the thread pool; raise ServerBusy if too many wait."""
        with self._counting:
            if self.pending_count >= self.limits.threads + self.limits.waiting:
                raise ServerBusy(f"{self.pending_count} requests are waiting already; try again in a moment")
            work = self._threads.submit(self.service.run, name, given, caller)
            self._under_way.add(work)
        work.add_done_callback(self._under_way.discard)
        return work

    async def dispatch(self, face: str, name: str, given: Mapping[str, Any], caller: Caller) -> Answer:
        """Run the operation and return its answer; raise Overdue after `limits.seconds`."""
        with self.record_outcome(face, name, caller.name):
            work = self.submit(name, given, caller)
            try:
                async with asyncio.timeout(self.limits.seconds):
                    return await asyncio.wrap_future(work)  # cancelling stops it only if it has not started
            except TimeoutError as error:
                raise timeout_error(work, self.limits.seconds) from error

    @contextmanager
    def record_outcome(self, face: str, name: str, caller: str) -> Iterator[None]:
        """Report the outcome and duration of the enclosed request to the listener."""
        began, outcome = time.perf_counter(), ProblemCode.INTERNAL.value
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
            took = time.perf_counter() - began
            self._heard(RequestOutcome(transport=face, operation=name, caller=caller, outcome=outcome, seconds=took))

    def record_refusal(self, face: str, name: str, caller: str, error: RecollectError) -> None:
        """Report a request that was refused before it ran."""
        outcome = problem_of(error).code.value
        self._heard(RequestOutcome(transport=face, operation=name, caller=caller, outcome=outcome, seconds=0.0))

    def close(self, seconds: float | None = None) -> int:
        """Stop accepting requests and wait for running ones; return how many did not finish.

        Queued requests are cancelled. Without `seconds` it waits until all have finished.
        """
        with self._counting:
            self._threads.shutdown(wait=False, cancel_futures=True)
            left = set(self._under_way)
        begun = {one for one in left if not one.cancelled()}  # waiting for a cancelled future would hang
        return len(wait(begun, seconds).not_done)


def timeout_error(work: "Future[Answer]", seconds: float) -> Overdue:
    """Return the error for work that takes too long; cancel the work if it has not started."""
    rest = "it was not begun" if work.cancel() else "what it writes may still come"
    return Overdue(f"it takes longer than {seconds:g} seconds, or than was allowed it; {rest}")
