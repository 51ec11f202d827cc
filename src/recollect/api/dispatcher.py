"""Front: what every face holds: who is it, may they, how long, how many at once, and what came of it.

Reading: what a face was given becomes a request, or a refusal that names the field.

Service: an engine as the faces see it; a request comes in by name, and the answer or a refusal goes out.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, from_json

from recollect.api.auth import WHOLE_STORE, Caller, HostPolicy, Reach, Right
from recollect.api.keys import Authenticator
from recollect.api.operation import Answer, Operation, OperationRequest
from recollect.api.operations import OPERATIONS
from recollect.api.problems import SCOPE_FIELD, ProblemCode, problem_of
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
    """The object that a text of JSON is; numbers that are none, and what is nested too deeply, are refused."""
    try:
        found = from_json(body, allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput(f'the body is {show(found)}; give a JSON object, such as {{"scope": "acme/ana"}}')
    return found


def read_request(model: type[R], given: Mapping[str, Any]) -> R:
    """The request; the first thing that is wrong with it is told, with its field and the remedy."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False)
        unknown = (one for one in found if one["type"] == "extra_forbidden")  # which often is what is missing, misspelt
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
    """The field that is refused: of a list the list, as everywhere, and of a whole request the one that is named."""
    named = path[:-1] if path and isinstance(path[-1], int) else path
    return ".".join(str(part) for part in named) or cause.field


class OperationRunner:
    """Answers whoever may ask. Safe to use from many threads, as its engine is."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def run(self, name: str, given: Mapping[str, Any], caller: Caller) -> Answer:
        """What the operation of that name gives for what is given, if the caller may ask for it."""
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
    """The operation of that name."""
    found = OPERATIONS.get(name)
    if found is None:
        raise NotFound(f"there is no operation {show(name)}; {suggest(name, OPERATIONS)}")
    return found


def fill_scope(operation: Operation[Any], given: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
    """What is given, with the scope of the caller where none is said."""
    whose = operation.request.scope_field
    if whose is None or caller.scope is None or given.get(whose) is not None:
        return given
    return {**given, whose: str(caller.scope)}


def resolve_reach(request: OperationRequest, whose: str) -> Reach:
    """Whose memories a request is about: one scope with those below it, or the whole store where it names none."""
    scope = getattr(request, whose)
    try:
        return WHOLE_STORE if scope is None else as_scope(scope)
    except ScopeError as error:
        if whose == SCOPE_FIELD:
            raise
        raise FieldError(str(error), field=whose) from error


OK = "ok"
"""What came of a request that was answered."""

UNIDENTIFIED = "-"
"""Who asks, and for what, before either is known."""

CANCELLED = "cancelled"
"""What came of a request that nobody waits for any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """How much a server takes at once, and how long it lets anybody wait."""

    body_bytes: int = 8_388_608
    seconds: float = 30.0
    threads: int = 8
    waiting: int = 256


DEFAULT_LIMITS = RequestLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """That something was asked: through which face, by whom, and what came of it; never a word of what it was."""

    transport: str
    operation: str
    caller: str
    outcome: str
    seconds: float


OutcomeListener = Callable[[RequestOutcome], object]
"""Whoever is told of each request."""


class Dispatcher:
    """Answers requests of every face by one policy; the faces only parse and render."""

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
        self._counting = threading.Lock()  # nothing is begun that whoever closes does not know of

    @property
    def pending_count(self) -> int:
        """How many requests are being answered, or wait for that."""
        return len(self._under_way)

    def submit(self, name: str, given: Mapping[str, Any], caller: Caller) -> "Future[Answer]":
        """Have an operation answered in a thread of ours; refused if too many wait already."""
        with self._counting:
            if self.pending_count >= self.limits.threads + self.limits.waiting:
                raise ServerBusy(f"{self.pending_count} requests are waiting already; try again in a moment")
            work = self._threads.submit(self.service.run, name, given, caller)
            self._under_way.add(work)
        work.add_done_callback(self._under_way.discard)
        return work

    async def dispatch(self, face: str, name: str, given: Mapping[str, Any], caller: Caller) -> Answer:
        """What the operation gives; given up on after a while."""
        with self.record_outcome(face, name, caller.name):
            work = self.submit(name, given, caller)
            try:
                async with asyncio.timeout(self.limits.seconds):
                    return await asyncio.wrap_future(work)  # to cancel it keeps only what has not begun from doing so
            except TimeoutError as error:
                raise timeout_error(work, self.limits.seconds) from error

    @contextmanager
    def record_outcome(self, face: str, name: str, caller: str) -> Iterator[None]:
        """Have it heard what came of a request, and how long that took."""
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
        """Have it heard that something was refused before it was asked."""
        outcome = problem_of(error).code.value
        self._heard(RequestOutcome(transport=face, operation=name, caller=caller, outcome=outcome, seconds=0.0))

    def close(self, seconds: float | None = None) -> int:
        """Take nothing more and wait for what has begun, so many seconds at most; gives how much is still at it."""
        with self._counting:
            self._threads.shutdown(wait=False, cancel_futures=True)
            left = set(self._under_way)
        begun = {one for one in left if not one.cancelled()}  # of others nobody would ever tell the end
        return len(wait(begun, seconds).not_done)


def timeout_error(work: "Future[Answer]", seconds: float) -> Overdue:
    """What is said of work that takes too long; it is not begun any more, if it has not been."""
    rest = "it was not begun" if work.cancel() else "what it writes may still come"
    return Overdue(f"it takes longer than {seconds:g} seconds, or than was allowed it; {rest}")
