"""Every error of ours is a problem with a code."""

import inspect

from recollect import errors
from recollect.api.problems import INTERNAL_PROBLEM, Problem, ProblemCode, problem_of
from recollect.errors import FieldError, RecollectError
from tests.tables import table

ALL = [thing for _, thing in inspect.getmembers(errors, inspect.isclass) if issubclass(thing, RecollectError)]

EXPECTED = {
    "TooLarge": ProblemCode.TOO_LARGE,
    "FieldError": ProblemCode.INVALID,
    "ScopeError": ProblemCode.INVALID,
    "EmbedderMismatch": ProblemCode.INVALID,
    "SignalMissing": ProblemCode.INVALID,
    "Unauthenticated": ProblemCode.UNAUTHENTICATED,
    "AccessDenied": ProblemCode.FORBIDDEN,
    "NotFound": ProblemCode.NOT_FOUND,
    "Conflict": ProblemCode.CONFLICT,
    "ServerBusy": ProblemCode.BUSY,
    "Overdue": ProblemCode.OVERDUE,
    "StoreBusy": ProblemCode.BUSY,
    "ProviderBusy": ProblemCode.BUSY,
    "StoreError": ProblemCode.STORE,
    "SchemaMismatch": ProblemCode.STORE,
    "ProviderError": ProblemCode.PROVIDER,
    "RecollectError": ProblemCode.INTERNAL,
}


@table("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_has_a_code_and_keeps_its_words(kind: type[RecollectError]) -> None:
    problem = problem_of(kind("what, and the remedy"))
    assert problem.code is EXPECTED.get(kind.__name__, ProblemCode.INVALID)
    assert (problem.message, problem.retryable) == ("what, and the remedy", kind.retryable)


def test_a_field_and_its_line_are_told() -> None:
    problem = problem_of(FieldError("is odd", field="text", line=3))
    assert problem == Problem(
        code=ProblemCode.INVALID, message="line 3, field 'text': is odd", field="text", line=3, retryable=False
    )
    assert problem.fields()["line"] == 3


def test_of_a_fault_of_ours_nothing_is_told() -> None:
    assert INTERNAL_PROBLEM.fields() == {
        "code": "internal",
        "message": "internal error; the server log has the details",
        "field": None,
        "line": None,
        "retryable": False,
    }
