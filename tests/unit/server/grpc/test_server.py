"""Problems become gRPC statuses with metadata that fits, and too many silent calls are ended."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import grpc

from recollect.api.problems import Problem, ProblemCode
from recollect.server.grpc.server import MAX_METADATA_BYTES, STATUSES, ReadDeadlines, problem_to_message
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


LONG = 600.0


@contextmanager
def patience(seconds: float, *, most: int, least: float = 0.0) -> Iterator[ReadDeadlines]:
    made = ReadDeadlines(seconds, max_calls=most, min_seconds=least)
    try:
        yield made
    finally:
        made.close()


def ended(with_whom: ReadDeadlines, *callers: str) -> list[str]:
    """Who of those that begin one after another is waited for no more, each by a name and a number."""
    gone = list[str]()
    with ExitStack() as waited:
        for one in callers:
            waited.enter_context(with_whom.guard(lambda one=one: gone.append(one), one.rstrip("0123456789")))  # type: ignore[misc]
    return gone


def test_beyond_as_many_as_may_be_silent_the_first_is_let_go_of_whoever_has_most() -> None:
    with patience(LONG, most=3) as found:
        assert ended(found, "ana1", "bo1", "bo2") == []
        assert ended(found, "ana1", "bo1", "bo2", "bo3", "bo4") == ["bo1", "bo2"]
        assert ended(found, "ana1", "bo1", "cy1", "di1") == ["ana1"]


def test_whoever_has_only_begun_is_let_go_for_nobody() -> None:
    with patience(LONG, most=1, least=LONG) as found:
        assert ended(found, "bo1", "bo2", "bo3") == []
