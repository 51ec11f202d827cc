"""Who is waited for, and who is let go when too many say nothing."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from recollect.server.grpc.server import ReadDeadlines

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
