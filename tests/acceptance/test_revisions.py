"""A memory gets its next text in one way, whether its topic moves on or somebody revises it."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.admission.classify import compute_salience
from recollect.model.draft import Reinforced, Unchanged, Updated
from recollect.model.memory import Memory
from recollect.providers.hashing import HashingEmbedder

ANA = "acme/ana"
SEAT, AISLE = "Ana prefers window seats", "Ana prefers aisle seats"


@pytest.fixture
def memory() -> Iterator[recollect.Engine]:
    with recollect.open(":memory:", embedder="hashing") as engine:
        yield engine


def weight(memory: Memory) -> float:
    return compute_salience(memory.text, memory.kind, pinned=memory.pinned)


def test_how_much_a_text_stands_out_is_judged_by_the_memory_it_becomes(memory: recollect.Engine) -> None:
    first = memory.remember(SEAT, scope=ANA, topic_key="seat", kind="preference", pinned=True).memory
    moved_on = memory.remember(AISLE, scope=ANA, topic_key="seat").memory
    revised = memory.revise(first.id, "Ana stands", scope=ANA, kind="fact").memory
    assert (moved_on.kind, moved_on.pinned) == (recollect.Kind.PREFERENCE, True)
    assert (revised.kind, revised.pinned) == (recollect.Kind.FACT, True)
    assert [one.salience for one in (first, moved_on, revised)] == [weight(one) for one in (first, moved_on, revised)]
    assert [one.revisions for one in (first, moved_on, revised)] == [1, 2, 3]


def test_importance_never_falls_either_way(memory: recollect.Engine) -> None:
    first = memory.remember(SEAT, scope=ANA, topic_key="seat", importance=0.8)
    assert memory.remember(AISLE, scope=ANA, topic_key="seat", importance=0.2).memory.importance == 0.8
    assert memory.revise(first.id, SEAT, scope=ANA, importance=0.2).memory.importance == 0.8
    assert memory.revise(first.id, AISLE, scope=ANA, importance=0.9).memory.importance == 0.9


def test_the_same_again_is_no_revision(memory: recollect.Engine) -> None:
    id = memory.remember(SEAT, scope=ANA, topic_key="seat", kind="preference", tags=("travel",)).id
    memory.remember(AISLE, scope=ANA, topic_key="seat")
    assert memory.revise(id, f" {AISLE} ", scope=ANA, kind="preference", tags=("travel",)).verdict == Unchanged()
    assert len(memory.history(id, scope=ANA)) == 2


@pytest.mark.parametrize("taken", ["words", "topic"])
def test_nothing_is_brought_back_or_revised_into_what_another_memory_is(memory: recollect.Engine, taken: str) -> None:
    topic = "seat" if taken == "topic" else None
    former = memory.remember(SEAT, scope=ANA, topic_key=topic).id
    memory.forget(former, scope=ANA)
    present = memory.remember(AISLE, scope=ANA, topic_key=topic).id
    if topic is None:
        memory.revise(present, SEAT, scope=ANA)
    with pytest.raises(recollect.Conflict, match=f"the memory '{present}'(;| already)"):
        memory.restore(former, scope=ANA)
    other = memory.remember("Ana stands", scope=ANA, topic_key=topic and "stance").id
    if topic is None:
        with pytest.raises(recollect.Conflict, match=f"the memory '{present}' already has the same text"):
            memory.revise(other, SEAT, scope=ANA)
    else:  # two topics may say the same
        assert memory.revise(other, AISLE, scope=ANA).id == other
    statuses = [memory.get(id, scope=ANA).status.value for id in (former, present, other)]
    assert statuses == ["forgotten", "active", "active"]


class Noting:
    """An embedder that notes what it is asked for, and lets something else happen before it answers."""

    name, dimensions = "noting", 256

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.meanwhile: list[Callable[[], object]] = []

    def embed(self, texts: Sequence[str], purpose: Any) -> Any:
        if purpose == "memory":
            self.asked += texts
            while self.meanwhile:
                self.meanwhile.pop()()
        return HashingEmbedder(self.dimensions).embed(texts, purpose)


@pytest.fixture
def embedder() -> Noting:
    return Noting()


@pytest.fixture
def titled(tmp_path: Path, embedder: Noting) -> Iterator[recollect.Engine]:
    """An engine whose store has a topic with a title, and an embedder that was asked for nothing since."""
    with recollect.open(tmp_path / "agent.db", embedder=embedder) as engine:
        engine.remember(SEAT, scope=ANA, topic_key="seat", title="Seats")
        embedder.asked.clear()
        yield engine


def nearness(engine: recollect.Engine) -> list[float]:
    """How near each memory is to what a question is compared with: 1 if its vector is that of its own words."""
    memories = engine.memories(scope=ANA)
    found = {one.searched_text: engine.search(one.searched_text, scope=ANA) for one in memories}
    near = {
        one.id: one.candidate.similarity for text in found for one in found[text] if one.memory.searched_text == text
    }
    return [round(near[one.id] or 0.0, 6) for one in memories]


def test_a_topic_s_next_text_is_embedded_with_the_title_it_inherits(titled: recollect.Engine, embedder: Noting) -> None:
    receipt = titled.remember(AISLE, scope=ANA, topic_key="seat")
    assert (receipt.verdict, receipt.memory.title) == (Updated(2), "Seats")
    assert embedder.asked == [f"Seats\n{AISLE}"]
    assert nearness(titled) == [1.0]


def test_a_title_is_handed_down_within_one_call(titled: recollect.Engine, embedder: Noting) -> None:
    drafts: list[dict[str, Any]] = [
        {"text": AISLE, "topic_key": "seat"},
        {"text": "Ana stands", "topic_key": "seat", "title": "Stance"},
        {"text": "Ana lies", "topic_key": "seat"},
        {"text": "Ana eats fish", "topic_key": "food", "title": "Food"},
        {"text": "Ana eats rice", "topic_key": "food"},
    ]
    titled.remember_all(drafts, scope=ANA)
    assert embedder.asked == [
        f"Seats\n{AISLE}",
        "Stance\nAna stands",
        "Stance\nAna lies",
        "Food\nAna eats fish",
        "Food\nAna eats rice",
    ]
    assert nearness(titled) == [1.0, 1.0]


def test_a_title_that_was_no_news_is_not_handed_down(titled: recollect.Engine, embedder: Noting) -> None:
    old = datetime(2020, 1, 1, tzinfo=UTC)
    first, second = titled.remember_all(
        [
            {"text": "Ana stood", "topic_key": "seat", "title": "Stance", "at": old},
            {"text": AISLE, "topic_key": "seat"},
        ],
        scope=ANA,
    )
    assert (first.verdict, second.verdict, second.memory.title) == (
        Reinforced(first.id, "its topic has a text that was observed later"),
        Updated(2),
        "Seats",
    )
    assert embedder.asked == ["Stance\nAna stood", f"Stance\n{AISLE}", f"Seats\n{AISLE}"]
    assert nearness(titled) == [1.0]


@pytest.mark.parametrize("way", ["topic", "revise"])
def test_a_title_that_changes_while_a_text_is_embedded_is_embedded_too(
    way: str, titled: recollect.Engine, embedder: Noting
) -> None:
    (first,) = titled.memories(scope=ANA)
    embedder.meanwhile.append(lambda: titled.revise(first.id, "Ana stands", scope=ANA, title="Stance"))
    if way == "topic":
        receipt = titled.remember(AISLE, scope=ANA, topic_key="seat")
    else:
        receipt = titled.revise(first.id, AISLE, scope=ANA)
    assert (receipt.verdict, receipt.memory.searched_text) == (Updated(3), f"Stance\n{AISLE}")
    assert embedder.asked == [f"Seats\n{AISLE}", "Stance\nAna stands", f"Stance\n{AISLE}"]
    assert nearness(titled) == [1.0]


def test_a_topic_that_goes_while_its_next_text_is_embedded_hands_nothing_down(
    titled: recollect.Engine, embedder: Noting
) -> None:
    (first,) = titled.memories(scope=ANA)
    embedder.meanwhile.append(lambda: titled.forget(first.id, scope=ANA))
    receipt = titled.remember(AISLE, scope=ANA, topic_key="seat")
    assert (receipt.id != first.id, receipt.memory.searched_text) == (True, AISLE)
    assert nearness(titled) == [1.0]


def test_the_same_words_with_something_new_keep_their_title_text_and_vector(
    titled: recollect.Engine, embedder: Noting
) -> None:
    plain = titled.remember("Ana eats fish", scope=ANA, title="Food")
    pinned = titled.remember("Ana  eats fish", scope=ANA, pinned=True)
    assert (pinned.verdict, pinned.memory.searched_text) == (Updated(2), plain.memory.searched_text)
    assert nearness(titled) == [1.0, 1.0]
    embedder.asked.clear()
    assert titled.revise(plain.id, "Ana eats fish ", scope=ANA, importance=0.5).verdict == Updated(3)
    assert (embedder.asked, nearness(titled)) == ([], [1.0, 1.0])


def test_a_vector_that_is_brought_is_the_caller_s_affair(titled: recollect.Engine, embedder: Noting) -> None:
    given = [1.0, *[0.0] * (embedder.dimensions - 1)]
    titled.remember(AISLE, scope=ANA, topic_key="seat", vector=given)
    assert embedder.asked == []
    assert nearness(titled) != [1.0]
