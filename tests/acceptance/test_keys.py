"""A call that is made again under its key is answered from the store, whatever has become of the embedder."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.model.draft import Created, Updated
from recollect.providers.hashing import HashingEmbedder

ANA = "acme/ana"
SEAT = "Ana prefers window seats"


class Switched:
    """An embedder that can be switched off, and says what it was asked for."""

    name = "switched"
    dimensions = 64

    def __init__(self) -> None:
        self.on = True
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], purpose: Any) -> Any:
        if not self.on:
            raise recollect.errors.ProviderBusy("switched: nobody is there; try again")
        self.asked += texts
        return HashingEmbedder(self.dimensions).embed(texts, purpose)


@pytest.fixture
def embedder() -> Switched:
    return Switched()


@pytest.fixture
def memory(tmp_path: Path, embedder: Switched) -> Iterator[recollect.Engine]:
    with recollect.open(tmp_path / "agent.db", embedder=embedder) as engine:
        yield engine


def opened_again(tmp_path: Path, embedder: Switched) -> recollect.Engine:
    """An engine that remembers no vector of before."""
    return recollect.open(tmp_path / "agent.db", embedder=embedder)


def test_a_retry_needs_no_embedder(tmp_path: Path, memory: recollect.Engine, embedder: Switched) -> None:
    first = memory.remember(SEAT, scope=ANA, key="k-1")
    embedder.on = False
    with opened_again(tmp_path, embedder) as again:
        assert again.remember(SEAT, scope=ANA, key="k-1") == first
        with pytest.raises(recollect.errors.ProviderBusy):
            again.remember(SEAT, scope=ANA, key="k-2")
        with pytest.raises(recollect.errors.ProviderBusy):
            again.remember(SEAT, scope="acme/ben", key="k-1")  # a key is its scope's own
    assert memory.contexts.usage(first.id, scope=ANA).echoed == 0


def test_something_else_under_a_key_is_a_conflict_before_it_is_embedded(
    memory: recollect.Engine, embedder: Switched
) -> None:
    memory.remember(SEAT, scope=ANA, key="k-1")
    embedder.on = False
    with pytest.raises(recollect.Conflict, match="retry key 'k-1' was used for a different call"):
        memory.remember("Ana prefers aisle seats", scope=ANA, key="k-1")


def test_of_several_drafts_only_those_that_are_new_are_embedded(
    tmp_path: Path, memory: recollect.Engine, embedder: Switched
) -> None:
    drafts = [{"text": f"seat {number}", "key": f"k-{number}"} for number in range(4)]
    known = memory.remember_all(drafts[1:3], scope=ANA)
    embedder.asked.clear()
    with opened_again(tmp_path, embedder) as again:
        receipts = again.remember_all(drafts, scope=ANA)
        assert embedder.asked == ["seat 0", "seat 3"]
        assert receipts[1:3] == known
        assert [one.memory.text for one in receipts] == [draft["text"] for draft in drafts]
        embedder.on = False
        assert again.remember_all(drafts, scope=ANA) == receipts


def test_a_key_may_come_twice_in_one_call(memory: recollect.Engine) -> None:
    first, second = memory.remember_all([{"text": SEAT, "key": "k"}] * 2, scope=ANA)
    assert (first, first.verdict) == (second, Created())
    with pytest.raises(recollect.Conflict):
        memory.remember_all([{"text": "one", "key": "both"}, {"text": "two", "key": "both"}], scope=ANA)
    assert len(memory.memories(scope=ANA)) == 1


def test_a_retry_while_the_first_call_is_under_way_writes_nothing_twice(tmp_path: Path) -> None:
    met = threading.Barrier(2)

    class Slow(Switched):
        def embed(self, texts: Sequence[str], purpose: Any) -> Any:
            met.wait(30)  # both have looked for the key before either has its vector
            return super().embed(texts, purpose)

    slow, receipts = Slow(), []
    with recollect.open(tmp_path / "other.db", embedder=slow) as other:
        calls = [
            threading.Thread(target=lambda: receipts.append(other.remember(SEAT, scope=ANA, key="k"))) for _ in range(2)
        ]
        for call in calls:
            call.start()
        for call in calls:
            call.join()
        assert receipts[0] == receipts[1]
        assert other.contexts.usage(receipts[0].id, scope=ANA).echoed == 0


def test_a_retry_says_what_became_of_it_then_and_shows_the_memory_as_it_is(memory: recollect.Engine) -> None:
    memory.remember(SEAT, scope=ANA, topic_key="seat")
    second = memory.remember("Ana prefers aisle seats", scope=ANA, topic_key="seat", key="k")
    memory.revise(second.id, "Ana stands", scope=ANA)
    again = memory.remember("Ana prefers aisle seats", scope=ANA, topic_key="seat", key="k")
    assert (again.id, again.verdict, again.memory.text) == (second.id, Updated(2), "Ana stands")


def test_what_was_erased_is_not_known_by_its_key_any_more(memory: recollect.Engine, embedder: Switched) -> None:
    first = memory.remember(SEAT, scope=ANA, key="k")
    memory.erase(scope=ANA, id=first.id)
    embedder.on = False
    with pytest.raises(recollect.errors.ProviderBusy):
        memory.remember(SEAT, scope=ANA, key="k")
    embedder.on = True
    assert memory.remember(SEAT, scope=ANA, key="k").id != first.id


def test_who_says_it_does_not_make_another_call_of_it(memory: recollect.Engine, embedder: Switched) -> None:
    first = memory.remember(SEAT, scope=ANA, key="k", provenance="direct_user")
    embedder.on = False
    again = memory.remember(SEAT, scope=ANA, key="k")
    assert (again.id, again.verdict, again.memory.provenance) == (first.id, Created(), "direct_user")


def test_what_the_user_says_under_the_key_of_a_stranger_is_the_users(memory: recollect.Engine) -> None:
    first = memory.remember(SEAT, scope=ANA, key="k", provenance="tool_external")
    own = memory.remember(SEAT, scope=ANA, key="k", provenance="direct_user")
    assert (own.id, own.verdict) == (first.id, Updated(2, None))
    assert first.memory.trust.less_than(own.memory.trust)
    assert memory.remember(SEAT, scope=ANA, key="k").verdict == Updated(2, None), "and is so for everybody"
