"""What follows from other fields is found once, and without a lock."""

import threading
from dataclasses import dataclass, field

from recollect.retrieval.lock_free_property import lock_free_property


@dataclass(frozen=True)
class Square:
    """A square that counts how often its area was worked out."""

    side: int
    worked_out: list[int] = field(default_factory=list[int])
    together: threading.Barrier | None = None

    @lock_free_property
    def area(self) -> int:
        """What it covers."""
        self.worked_out.append(self.side)
        if self.together is not None:
            self.together.wait()
        return self.side**2


def test_it_is_found_when_first_asked_for_and_then_kept_for_each_by_itself() -> None:
    small, large = Square(2), Square(3)
    assert small.worked_out == []
    assert [small.area, large.area, small.area] == [4, 9, 4]
    assert (small.worked_out, large.worked_out) == ([2], [3])


def test_it_says_what_it_is_for() -> None:
    assert Square.area.__doc__ == "What it covers."


def test_a_thread_does_not_wait_for_another_that_is_finding_it() -> None:
    square = Square(5, together=threading.Barrier(2))  # which both must reach
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(square.area)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [25, 25]
