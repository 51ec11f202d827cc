"""Every code has its status, and what is told of a problem fits into metadata."""

import grpc

from recollect.api.problems import Problem, ProblemCode
from recollect.server.grpc.server import MAX_METADATA_BYTES, STATUSES, problem_to_message
from tests.tables import table


def test_every_code_has_a_status_that_is_no_success() -> None:
    assert STATUSES.keys() == set(ProblemCode)
    assert grpc.StatusCode.OK not in STATUSES.values()


def test_only_what_may_be_answered_a_moment_later_has_the_status_that_clients_retry() -> None:
    assert [code for code, status in STATUSES.items() if status is grpc.StatusCode.UNAVAILABLE] == [ProblemCode.BUSY]


@table("letter", ["a", "é", "🌍", "\ud800"])
def test_a_problem_that_is_too_long_for_metadata_is_cut(letter: str) -> None:
    message = problem_to_message(Problem(code=ProblemCode.INVALID, message=letter * 100_000, field=letter * 100_000))
    assert message.message.endswith("…")
    assert len(message.message.encode()) <= MAX_METADATA_BYTES
    assert len(message.SerializeToString()) < 3 * MAX_METADATA_BYTES


def test_a_problem_is_told_whole_if_it_fits() -> None:
    problem = Problem(code=ProblemCode.CONFLICT, message="it has changed", field=None, line=3, retryable=True)
    message = problem_to_message(problem)
    assert (message.code, message.message, message.line, message.retryable) == ("conflict", "it has changed", 3, True)
    assert not message.HasField("field")
