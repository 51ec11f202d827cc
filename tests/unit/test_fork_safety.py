"""What a forked child inherits begins anew there: a lock that another thread of the parent had is free."""

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest

from recollect import fork_safety
from recollect.fork_safety import ForkSafeLock, register_fork_aware
from recollect.ids import make_id_generator
from recollect.providers.base import CachedEmbedder, Lazy
from recollect.providers.hashing import HashingEmbedder
from recollect.providers.openai_embeddings import OpenAIEmbedder
from recollect.testing import NOW
from tests.platforms import posix_only
from tests.tables import table

pytestmark = [
    posix_only,
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),  # there are threads, and that is the point
]


def ends_well(act: Callable[[], object]) -> bool:
    """Whether a forked child does it; one that waits for ever is ended by its alarm clock."""
    child = os.fork()
    if not child:
        signal.alarm(30)
        try:
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@contextmanager
def another_thread_has(*locks: ForkSafeLock) -> Iterator[None]:
    """Have another thread hold the locks."""
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with ExitStack() as all_of_them:
            for lock in locks:
                all_of_them.enter_context(lock.rlock)
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        yield
    finally:
        over.set()
        thread.join()


def take(lock: ForkSafeLock) -> None:
    with lock.rlock:
        pass


def test_a_lock_is_free_in_a_child_whoever_had_it_in_the_parent() -> None:
    lock = ForkSafeLock()
    with another_thread_has(lock):
        assert ends_well(lambda: take(lock))
    take(lock)


def test_a_lock_keeps_threads_apart() -> None:
    lock, inside, most = ForkSafeLock(), list[int](), 0

    def work() -> None:
        nonlocal most
        for _ in range(200):
            with lock.rlock:
                inside.append(1)
                most = max(most, len(inside))
                os.sched_yield()
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_child_that_was_forked_from_within_a_lock_may_leave_it_and_take_it_again() -> None:
    lock = ForkSafeLock()
    with lock.rlock:
        child = os.fork()
        signal.alarm(0 if child else 30)
    if not child:
        take(lock)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    take(lock)


def test_what_nobody_has_any_more_is_not_told() -> None:
    class Heir:
        def after_fork(self) -> None:
            os._exit(1)

    heir = Heir()
    register_fork_aware(heir)
    del heir
    gc.collect()
    assert ends_well(lambda: None)


@table(
    "make",
    [
        lambda: partial(make_id_generator(), NOW),
        lambda: partial(CachedEmbedder(HashingEmbedder(8)).embed, ["a text"], "query"),
        lambda: Lazy(object),
        lambda: partial(getattr, OpenAIEmbedder("https://host.invalid/v1", "model", 8), "dimensions"),
    ],
    ids=["ids", "cache", "lazily", "http"],
)
def test_what_has_a_lock_goes_on_in_a_child(make: Callable[[], Callable[[], object]]) -> None:
    before = set(fork_safety._REGISTRY.members)
    act = make()
    locks = [heir for heir in set(fork_safety._REGISTRY.members) - before if isinstance(heir, ForkSafeLock)]
    assert locks != []
    with another_thread_has(*locks):
        assert ends_well(act)
