"""What the values look like at a Python prompt: a line that says what matters, and steers no terminal."""

from dataclasses import replace

from recollect.lifecycle.episodes import FailureMode, Similar
from recollect.model.archive import ErasureReceipt, ResidueSearch, Stats
from recollect.model.context import DifferenceKind, Noted, ReplayDifference, Usage, Use
from recollect.model.draft import Changed, Created, Receipt, Reinforced, Unchanged, Updated, Verdict
from recollect.model.enums import Kind, Status
from recollect.model.episode import Action, Episode, Outcome
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.ranking.explanation import Explanation, ScorePart
from recollect.testing import a_candidate, a_memory
from recollect.testing.builders import NOW
from tests.tables import table

ANA = Scope.parse("acme/ana")
SEAT = a_memory("seat", text="Ana prefers window seats", kind=Kind.PREFERENCE)
FLIGHTS = Episode(
    id=MemoryId("trip"),
    scope=ANA,
    task="Book the flights to Lisbon",
    started_at=NOW,
    outcome=Outcome(score=0.8, lessons=("Book early", "Pack light"), failure_modes=("The site logs out",), at=NOW),
)
STEERING = "\x1b[2J\u202e\nseats " * 50


@table(
    ("memory", "shown"),
    [
        (SEAT, "<Memory seat of acme/ana, preference: Ana prefers window seats>"),
        (
            SEAT.with_changes(revisions=2, status=Status.FORGOTTEN, pinned=True, shared=True),
            "<Memory seat of acme/ana, preference, revision 2, forgotten, pinned, shared: Ana prefers window seats>",
        ),
        (SEAT.with_changes(text="word " * 20), f"<Memory seat of acme/ana, preference: {'word ' * 12}".rstrip() + "…>"),
    ],
)
def test_a_memory_says_whose_it_is_what_it_is_and_how_it_begins(memory: Memory, shown: str) -> None:
    assert repr(memory) == str(memory) == shown


@table(
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
    erasure = ErasureReceipt(
        scope=ANA, ids=(MemoryId("a"),), versions=2, contexts=0, search=ResidueSearch(files=("a.db",))
    )
    assert repr(erasure) == "<Erasure of 1 memory of acme/ana, proven>"
    left = replace(erasure, ids=(), search=ResidueSearch(remains=("a.db (first at byte 7)",)))
    assert repr(left) == "<Erasure of 0 memories of acme/ana, not proven: left in a.db (first at byte 7)>"
    read = replace(erasure, search=ResidueSearch(remains=("a.db-wal",), unfinished="a.db: somebody reads it; close it"))
    told = "a.db: somebody reads it; close it; then search again with `prove_erased`"
    assert repr(read).endswith(f", not proven: left in a.db-wal; {told}>")


def test_usage_says_how_often_and_what_came_of_it() -> None:
    usage = Usage(served=1, helped=2, misled=0, echoed=3)
    assert repr(usage) == "<Usage: served 1 time, 2 helped, 0 misled, said again 3 times>"
    signs = Usage(served=1, quoted=1)
    assert repr(signs) == "<Usage: served 1 time, 0 helped, 0 misled, 1 quoted, 0 followed, said again 0 times>"


def test_an_episode_says_how_it_went_and_how_much_was_done_if_that_is_known() -> None:
    assert repr(FLIGHTS) == "<Episode trip of acme/ana, outcome 0.8: Book the flights to Lisbon>"
    action = Action(id=MemoryId("a"), type="search", at=NOW, input="Lisbon")
    assert repr(replace(FLIGHTS, outcome=None, actions=(action,))) == (
        "<Episode trip of acme/ana, under way, 1 action: Book the flights to Lisbon>"
    )


def test_an_outcome_says_what_was_learned_first() -> None:
    assert repr(FLIGHTS.outcome) == "<Outcome 0.8; lesson: Book early and 1 more; failure: The site logs out>"
    bare = Outcome(score=0.0, lessons=(), failure_modes=(), at=NOW)
    assert repr(bare) == "<Outcome 0>"


def test_what_similar_tasks_taught_is_said_behind_the_score() -> None:
    explanation = Explanation((ScorePart("similarity", 0.75, 1.0),))
    found = Similar(episode=FLIGHTS, explanation=explanation)
    assert repr(found) == (
        "<Similar 0.750 Book the flights to Lisbon; lesson: Book early and 1 more; failure: The site logs out>"
    )
    wrong = FailureMode(text="The site logs out", episodes=(MemoryId("a"), MemoryId("b")), explanation=explanation)
    assert repr(wrong) == "<FailureMode 0.750 in 2 episodes: The site logs out>"


def test_what_came_of_feedback_says_how_much_was_noted_and_why_nothing_was() -> None:
    assert repr(Noted(2, (MemoryId("seat"),))) == "<Noted 2 votes, 1 quoted>"
    assert repr(Noted(0, remark="it is a copy of the context")) == (
        "<Noted 0 votes, 0 quoted: it is a copy of the context>"
    )


@table(
    ("difference", "shown"),
    [
        (ReplayDifference(DifferenceKind.PACKED, "seat", "0.5", "0.25"), "<Difference packed seat: was 0.5, is 0.25>"),
        (ReplayDifference(DifferenceKind.PACKED, "seat", "0.5"), "<Difference packed seat: was 0.5>"),
        (ReplayDifference(DifferenceKind.ERASED, None, "2", "1"), "<Difference erased: was 2, is 1>"),
        (ReplayDifference(DifferenceKind.TEXT, None, "e3b0c4", "d41d8c"), "<Difference text>"),
        (ReplayDifference(DifferenceKind.NOT_RECORDED), "<Difference unnoted>"),
    ],
)
def test_a_difference_says_what_was_and_what_is(difference: ReplayDifference, shown: str) -> None:
    assert repr(difference) == shown


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
    outcome = Outcome(score=0.5, lessons=(STEERING,), failure_modes=(), at=NOW)
    episode = replace(FLIGHTS, task=STEERING, outcome=replace(outcome, failure_modes=(STEERING,), lessons=()))
    why = Explanation((ScorePart("similarity", 0.75, 1.0),))
    values = (
        *(memory, Receipt(memory.id, Created(), memory), a_candidate(memory=memory), outcome, episode),
        *(Similar(episode=episode, explanation=why), ReplayDifference(DifferenceKind.PACKED, STEERING, STEERING)),
        FailureMode(text=STEERING, episodes=(FLIGHTS.id,), explanation=why),
    )
    for value in values:
        assert repr(value).isprintable()
        assert len(repr(value)) < 200
