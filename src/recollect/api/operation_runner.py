"""Service: an engine as the faces see it; a request comes in by name, and the answer or a refusal goes out."""

from collections.abc import Mapping
from typing import Any

from recollect.api.auth import WHOLE_STORE, Caller, Reach, Right
from recollect.api.operation import Answer, Operation, OperationRequest
from recollect.api.operation_table import OPERATIONS
from recollect.api.problems import SCOPE_FIELD
from recollect.api.request_parser import read_request
from recollect.engine.engine import Engine
from recollect.errors import FieldError, NotFound, ScopeError, show, suggest
from recollect.model.scope import as_scope


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
