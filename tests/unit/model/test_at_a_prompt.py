"""What the values look like at a Python prompt: a line that says what matters, and steers no terminal."""

from dataclasses import replace

import pytest

from recollect.model.erasure import Erasure, Search
from recollect.model.memory import Kind, Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.stats import Stats
from recollect.model.usage import Usage, Use
from recollect.model.verdict import Changed, Created, Receipt, Reinforced, Unchanged, Updated, Verdict
from recollect.testing import a_candidate, a_memory

ANA = Scope.parse("acme/ana")
SEAT = a_memory("seat", text="Ana prefers window seats", kind=Kind.PREFERENCE)
STEERING = "\x1b[2J\u202e\nseats " * 50


@pytest.mark.parametrize(
    ("memory", "shown"),
    [
        (SEAT, "<Memory seat of acme/ana, preference: Ana prefers window seats>"),
        (
            SEAT.changed(revisions=2, status=Status.FORGOTTEN, pinned=True, shared=True),
            "<Memory seat of acme/ana, preference, revision 2, forgotten, pinned, shared: Ana prefers window seats>",
        ),
        (SEAT.changed(text="word " * 20), f"<Memory seat of acme/ana, preference: {'word ' * 12}".rstrip() + "…>"),
    ],
)
def test_a_memory_says_whose_it_is_what_it_is_and_how_it_begins(memory: Memory, shown: str) -> None:
    assert repr(memory) == str(memory) == shown


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Created(), "Created()"),
        (Updated(3), "Updated(revision=3)"),
        (Reinforced(MemoryId("seat")), "Reinforced(twin='seat', reason='the same words')"),
        (Changed("pinned"), "Changed(to='pinned')"),
        (Unchanged(), "Unchanged()"),
    ],
)
def test_a_receipt_says_the_verdict_and_which_memory_it_is(verdict: Verdict, said: str) -> None:
    assert repr(Receipt(SEAT.id, verdict, SEAT)) == f"<Receipt {said}: seat  Ana prefers window seats>"


def test_a_scope_is_shown_as_it_is_written() -> None:
    assert repr(ANA) == "Scope.parse('acme/ana')"
    assert eval(repr(ANA), {"Scope": Scope}) == ANA  # noqa: S307


def test_a_candidate_says_what_was_found_and_what_it_says() -> None:
    assert repr(a_candidate("a")) == "<Candidate a>"
    found = a_candidate(memory=SEAT, similarity=1 / 3, lexical=0.25)
    assert repr(found) == "<Candidate seat, similarity 0.333, lexical 0.250: Ana prefers window seats>"
    assert repr(a_candidate("a", relevance=1.0)) == "<Candidate a, relevance 1.000>"


def test_an_erasure_says_how_much_is_gone_and_whether_that_is_proven() -> None:
    erasure = Erasure(scope=ANA, ids=(MemoryId("a"),), versions=2, contexts=0, search=Search(files=("a.db",)))
    assert repr(erasure) == "<Erasure of 1 memory of acme/ana, proven>"
    left = replace(erasure, ids=(), search=Search(remains=("a.db (first at byte 7)",)))
    assert repr(left) == "<Erasure of 0 memories of acme/ana, not proven: left in a.db (first at byte 7)>"
    read = replace(erasure, search=Search(remains=("a.db-wal",), unfinished="a.db: somebody reads it; close it"))
    told = "a.db: somebody reads it; close it; then look again with `prove_erased`"
    assert repr(read).endswith(f", not proven: left in a.db-wal; {told}>")


def test_usage_says_how_often_and_what_came_of_it() -> None:
    usage = Usage(served=1, helped=2, misled=0, echoed=3)
    assert repr(usage) == "<Usage: served 1 time, 2 helped, 0 misled, said again 3 times>"


def test_stats_say_the_figures_that_everybody_asks_for() -> None:
    stats = Stats(
        memories=2,
        statuses={Status.ACTIVE: 2},
        kinds={Kind.FACT: 2},
        scopes=1,
        largest=((ANA, 2),),
        versions=3,
        contexts=1,
        uses=dict.fromkeys(Use, 0),
        unembedded=0,
        encoder=None,
        analyser="1",
        schema=1,
        bytes=4096,
    )
    assert repr(stats) == "<Stats: 2 memories of 1 scope, 3 versions, 1 context, 4096 bytes>"


def test_no_value_sends_a_text_to_the_terminal_raw() -> None:
    memory = a_memory(text=STEERING)
    for value in (memory, Receipt(memory.id, Created(), memory), a_candidate(memory=memory)):
        assert repr(value).isprintable()
        assert len(repr(value)) < 200
