"""Service: an engine as the faces see it; a request comes in by name, and the answer or a refusal goes out."""

from collections.abc import Mapping
from typing import Any

from recollect.api.auth import WHOLE, Caller, Reach, Right
from recollect.api.operation import Answer, Operation, Request
from recollect.api.operation_table import OPERATIONS
from recollect.api.problems import SCOPE
from recollect.api.request_parser import read_request
from recollect.engine.engine import Engine
from recollect.errors import FieldError, NotFound, ScopeError, remedy, show
from recollect.model.scope import a_scope


class Service:
    """Answers whoever may ask. Safe to use from many threads, as its engine is."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def answer(self, name: str, given: Mapping[str, Any], caller: Caller) -> Answer:
        """What the operation of that name gives for what is given, if the caller may ask for it."""
        operation = an_operation(name)
        request = read_request(operation.request, with_scope(operation, given, caller))
        if request.whose is None:
            caller.refuse_without(operation.right)
            return operation.run(self.engine, request, caller)
        reach = reach_of(request, request.whose)
        caller.refuse_unless(operation.right, reach)
        answer = operation.run(self.engine, request, caller)
        return answer if operation.unread is None or caller.may(Right.READ, reach) else operation.unread(answer)


def an_operation(name: str) -> Operation[Any]:
    """The operation of that name."""
    found = OPERATIONS.get(name)
    if found is None:
        raise NotFound(f"there is no operation {show(name)}; {remedy(name, OPERATIONS)}")
    return found


def with_scope(operation: Operation[Any], given: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
    """What is given, with the scope of the caller where none is said."""
    whose = operation.request.whose
    if whose is None or caller.scope is None or given.get(whose) is not None:
        return given
    return {**given, whose: str(caller.scope)}


def reach_of(request: Request, whose: str) -> Reach:
    """Whose memories a request is about: one scope with those below it, or the whole store where it names none."""
    scope = getattr(request, whose)
    try:
        return WHOLE if scope is None else a_scope(scope)
    except ScopeError as error:
        if whose == SCOPE:
            raise
        raise FieldError(str(error), field=whose) from error
