"""What is said of a context, and what it shows by itself: each counts once, moves what it may move, and no more."""

import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection

import pytest

import recollect
from recollect.engine.contexts import COPIED_REASON, QUOTES_ALL_REASON
from recollect.factory import re_embed
from recollect.model.context import MAX_COUNTED_VOTES, Noted, Sign, Usage, Use
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sqlite.store import SqliteStore
from recollect.testing.builders import a_vote, cast_votes

from .shell import Shell
from .stores import on_both_stores

ANA, TEAM, BEN = "acme/ana", "acme", "acme/ben"
NOW, DAY = datetime(2026, 3, 1, tzinfo=UTC), timedelta(days=1)
SEAT, MEAL, TRAIN = "Ana prefers window seats", "Ana orders the vegetarian meal", "The Basel train was cancelled"
ASKED = "which seat, meal or train should I book?"
ANSWER = "Booked 12A, as Ana prefers window seats. Have a good trip!"


class Clock:
    """A clock that stands still until it is moved."""

    now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(target: str, clock: Clock) -> Iterator[recollect.Engine]:
    with recollect.open(target, embedder="hashing", clock=clock) as engine:
        yield engine


def store_of(target: str, clock: Clock) -> SqliteStore | PostgresStore:
    return PostgresStore(target, clock) if target.startswith("postgresql:") else SqliteStore(target, clock)


def told(memory: recollect.Engine, *texts: str, scope: str = ANA) -> list[str]:
    """Remember these, and give their ids."""
    return [one.id for one in memory.remember_all([{"text": text} for text in texts], scope=scope)]


def a_context(memory: recollect.Engine, scope: str = ANA) -> recollect.Context:
    """All that the scope knows, as it is handed over for a trip."""
    context = memory.recall(ASKED, scope=scope)
    assert context.id is not None
    return context


@on_both_stores
def test_what_an_answer_quotes_is_noted_once_and_moves_nothing(memory: recollect.Engine) -> None:
    seat, meal, train = told(memory, SEAT, MEAL, TRAIN)
    context = a_context(memory)
    memory.feedback(context.id or "", scope=ANA, helped=[meal])
    before = memory.search(ASKED, scope=ANA)
    usages = [memory.contexts.usage(id, scope=ANA) for id in (seat, meal, train)]
    for _ in range(3):
        for by in (None, "ben"):
            assert memory.feedback(context.id or "", scope=ANA, by=by, answer=ANSWER) == Noted(0, (MemoryId(seat),))
    after = memory.search(ASKED, scope=ANA)
    assert [(one.id, one.explanation) for one in after] == [(one.id, one.explanation) for one in before]
    assert [memory.contexts.usage(id, scope=ANA) for id in (seat, meal, train)] == [
        Usage(served=1, quoted=1, last_served_at=NOW),
        *usages[1:],
    ]
    noted = memory.feedback(context.id or "", scope=ANA, misled=[meal], answer=f"{MEAL}: {SEAT}")
    assert noted == Noted(1, tuple(one.id for one in context.packed if one.id in (seat, meal)))
    assert [memory.contexts.usage(id, scope=ANA).quoted for id in (seat, meal, train)] == [1, 1, 0]
    assert memory.stats(scope=ANA).uses == {
        Use.SERVED: 3,
        Use.HELPED: 0,
        Use.MISLED: 1,
        Use.ECHOED: 0,
        Use.QUOTED: 2,
        Use.FOLLOWED: 0,
    }


def test_an_answer_that_is_the_context_itself_is_no_evidence(memory: recollect.Engine) -> None:
    told(memory, SEAT, MEAL, TRAIN)
    told(memory, SEAT, scope=BEN)
    context, alone = a_context(memory), a_context(memory, BEN)
    for answer, why in (
        *(
            (context.text, COPIED_REASON),
            (f"{context.marker}\n{SEAT}", COPIED_REASON),
            (f"{TRAIN}; {MEAL}; {SEAT}", QUOTES_ALL_REASON),
        ),
        *(("ok", None), ("the and of it", None)),
    ):
        assert memory.feedback(context.id or "", scope=ANA, answer=answer) == Noted(0, (), why)
    assert memory.feedback(alone.id or "", scope=BEN, answer=alone.text) == Noted(0, (), COPIED_REASON)
    assert memory.stats().uses[Use.QUOTED] == 0
    assert len(memory.feedback(context.id or "", scope=ANA, answer=f"{TRAIN}; {MEAL}").quoted) == 2
    assert len(memory.feedback(alone.id or "", scope=BEN, answer=SEAT).quoted) == 1


def test_an_answer_is_screened_and_nothing_of_it_is_kept(memory: recollect.Engine) -> None:
    seat, *_ = told(memory, SEAT, MEAL)
    context = a_context(memory)
    assert memory.feedback(context.id or "", scope=ANA, answer=f"<private>{SEAT}</private> is private") == Noted(0)
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"[:36]
    answer = f"{SEAT}. The passphrase is Xylophone-{token}"
    assert memory.feedback(context.id or "", scope=ANA, answer=answer).quoted == (seat,)
    kept = "".join(memory.export())
    assert '"quoted"' in kept
    for word in ("Xylophone", token, "is private", "Booked"):
        assert word not in kept


@on_both_stores
def test_a_memory_is_quoted_by_what_it_said_when_it_was_handed_over(memory: recollect.Engine, clock: Clock) -> None:
    (seat, _) = told(memory, SEAT, MEAL)
    before = a_context(memory)
    clock.now += DAY
    memory.revise(seat, "Ana prefers a corridor seat", scope=ANA)
    after, then = a_context(memory), memory.recall(ASKED, scope=ANA, as_of=NOW)
    known = memory.recall(ASKED, scope=ANA, known_at=NOW)
    for answer, contexts in ((SEAT, (before, then, known)), ("Ana prefers a corridor seat.", (after,))):
        for context in (before, after, then, known):
            noted = memory.feedback(context.id or "", scope=ANA, answer=answer)
            assert bool(noted.quoted) is (context in contexts), answer
    assert memory.contexts.usage(seat, scope=ANA).quoted == 4


@on_both_stores
def test_what_is_somebody_elses_is_no_context_of_mine(memory: recollect.Engine) -> None:
    (shared,) = (one.id for one in [memory.remember(SEAT, scope=TEAM, shared=True)])
    context = a_context(memory)
    for scope, id in ((BEN, context.id), (TEAM, context.id), (ANA, "nowhere"), (ANA, "\ud800")):
        with pytest.raises(recollect.NotFound, match="there is no context"):
            memory.feedback(id or "", scope=scope, answer=SEAT)
    assert memory.feedback(context.id or "", scope=ANA, answer=SEAT).quoted == (shared,)
    assert memory.contexts.usage(shared, scope=TEAM).quoted == 1


@on_both_stores
def test_a_sign_comes_along_and_no_longer_with_what_is_erased(
    memory: recollect.Engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    seat, meal = told(memory, SEAT, MEAL)
    context = a_context(memory)
    memory.feedback(context.id or "", scope=ANA, answer=SEAT)
    elsewhere = str(tmp_path_factory.mktemp("elsewhere") / "copy.db")
    with recollect.open(elsewhere, embedder="hashing") as copy:
        copy.import_(memory.export())
        assert copy.contexts.usage(seat, scope=ANA) == memory.contexts.usage(seat, scope=ANA)
        assert copy.feedback(context.id or "", scope=ANA, answer=SEAT).quoted == (seat,)
        assert copy.contexts.usage(seat, scope=ANA).quoted == 1
    re_embed(elsewhere, embedder="hashing-64")
    with recollect.open(elsewhere) as copy:
        assert copy.contexts.usage(seat, scope=ANA).quoted == 1
    assert memory.erase(scope=ANA, id=seat).uses == 2
    assert memory.stats().uses[Use.QUOTED] == 0
    assert memory.feedback(context.id or "", scope=ANA, answer=MEAL).quoted == (meal,)
    assert memory.erase(scope=ANA, everything=True).uses == 2
    assert memory.stats().uses[Use.QUOTED] == 0


def _give(pipe: Connection, target: str, context: str) -> None:
    """Open the store, wait for the word, and say again and again what was answered."""
    with recollect.open(target, embedder="hashing") as engine:
        pipe.send("ready")
        pipe.recv()
        pipe.send([engine.feedback(context, scope=ANA, answer=ANSWER).quoted for _ in range(50)])


@pytest.mark.thorough
def test_from_several_processes_at_once_it_is_noted_once(memory: recollect.Engine, target: str) -> None:
    seat, *_ = told(memory, SEAT, MEAL)
    context = a_context(memory)
    memory.admin.flush()
    spawn = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for _ in range(2):
        ours, theirs = spawn.Pipe()
        processes.append(spawn.Process(target=_give, args=(theirs, target, context.id), daemon=True))
        processes[-1].start()
        theirs.close()
        pipes.append(ours)
    assert [pipe.recv() for pipe in pipes] == ["ready"] * 2
    for pipe in pipes:
        pipe.send("go")
    assert [pipe.recv() for pipe in pipes] == [[(seat,)] * 50] * 2
    for process in processes:
        process.join()
    assert memory.contexts.usage(seat, scope=ANA) == Usage(served=1, quoted=1, last_served_at=NOW)


# how far one principal gets


def scores(memory: recollect.Engine) -> dict[str, float]:
    return {one.id: float(one.score) for one in memory.search(ASKED, scope=ANA)}


@on_both_stores
def test_ten_thousand_votes_in_one_context_move_what_one_does(target: str, clock: Clock) -> None:
    with recollect.open(target, embedder="hashing", clock=clock) as memory:
        seat, meal = told(memory, SEAT, MEAL)
        context = a_context(memory)
        memory.feedback(context.id or "", scope=ANA, helped=[seat], by="ana")
        one = scores(memory)
    votes = [a_vote(seat, context=context.id, at=NOW + n * timedelta(seconds=1)) for n in range(10_000)]
    with closing(store_of(target, clock)) as store:
        store.write(lambda writing: cast_votes(writing, Scope.parse(ANA), votes))
        assert store.votes(Scope.parse(ANA), [context.id or ""]) == votes[-1:]
    with recollect.open(target, embedder="hashing", clock=clock) as memory:
        assert memory.contexts.usage(seat, scope=ANA).usefulness == 2 / 3
        assert scores(memory) == one
        memory.feedback(context.id or "", scope=ANA, helped=[seat, meal], by="ana")
        assert memory.contexts.usage(seat, scope=ANA).helped == memory.contexts.usage(meal, scope=ANA).helped == 1


@on_both_stores
def test_votes_over_fifty_contexts_move_what_five_do_and_ranks_no_further(memory: recollect.Engine) -> None:
    seat, meal = told(memory, SEAT, MEAL)
    after = list[dict[str, float]]()
    for _ in range(50):
        memory.feedback(a_context(memory).id or "", scope=ANA, helped=[meal], misled=[seat])
        after.append(scores(memory))
    assert after[0] != after[1] != after[MAX_COUNTED_VOTES - 1]
    assert after[MAX_COUNTED_VOTES - 1 :] == [after[MAX_COUNTED_VOTES - 1]] * (51 - MAX_COUNTED_VOTES)
    assert [memory.contexts.usage(id, scope=ANA).usefulness for id in (meal, seat)] == [6 / 7, 1 / 7]
    for name in ("ben", "eva"):
        memory.feedback(a_context(memory).id or "", scope=ANA, helped=[seat], misled=[meal], by=name)
    assert [memory.contexts.usage(id, scope=ANA).usefulness for id in (meal, seat)] == [6 / 9, 3 / 9], (
        "others are heard beside"
    )


@on_both_stores
def test_who_only_looks_leaves_no_trace_of_use(memory: recollect.Engine, clock: Clock) -> None:
    seat, *others = told(memory, SEAT, MEAL, TRAIN)
    context = a_context(memory)
    memory.feedback(context.id or "", scope=ANA, helped=[seat], answer=ANSWER)
    before = [memory.contexts.usage(id, scope=ANA) for id in (seat, *others)]
    clock.now += DAY
    memory.search(ASKED, scope=ANA)
    memory.search(ASKED, scope=ANA, as_of=NOW, known_at=NOW)
    memory.recall(ASKED, scope=ANA, known_at=NOW)
    memory.why(seat, ASKED, scope=ANA)
    memory.get(seat, scope=ANA)
    memory.history(seat, scope=ANA)
    memory.memories(scope=ANA)
    memory.topics.entities(scope=ANA)
    memory.stats(scope=ANA)
    list(memory.export())
    assert memory.feedback(context.id or "", scope=ANA) == Noted(0), "whoever reckons what helped may find nothing"
    assert [memory.contexts.usage(id, scope=ANA) for id in (seat, *others)] == before


@on_both_stores
def test_signs_are_told_beside_the_votes_of_a_context(memory: recollect.Engine, target: str, clock: Clock) -> None:
    seat, meal = told(memory, SEAT, MEAL)
    context = a_context(memory).id or ""
    memory.feedback(context, scope=ANA, helped=[meal], answer=ANSWER)
    with closing(store_of(target, clock)) as store:
        scope = Scope.parse(ANA)
        assert store.signs(scope, [context]) == [Sign(context, MemoryId(seat), Use.QUOTED)]
        assert store.votes(scope, [context]) == [a_vote(meal, context=context, by=ANA, at=NOW)]


# from a shell


def test_a_shell_is_told_what_was_quoted(shell: Shell) -> None:
    for id, text in (("seat", SEAT), ("meal", MEAL), ("train", TRAIN)):
        shell("remember", text, "--scope", ANA, "--id", id)
    context = shell.json("brief", "--scope", ANA)["id"]
    outcome = shell("feedback", context, "--scope", ANA, "--answer", ANSWER)
    assert (outcome.stdout, outcome.stderr) == ("seat\n", "0 helped, 0 misled, 1 quoted\n")
    outcome = shell("feedback", context, "--scope", ANA, "--answer", "-", "--helped", "meal", stdin=f"{MEAL}\n")
    assert (outcome.stdout, outcome.stderr) == ("meal\n", "1 helped, 0 misled, 1 quoted\n")
    said: Sequence[str] = ("--scope", ANA, "--answer", "nothing of that")
    given = {"context": context, "scope": ANA, "helped": [], "misled": [], "quoted": [], "remark": None}
    assert shell.json("feedback", context, *said) == given
    assert shell.json("show", "seat", "--scope", ANA)["usage"]["quoted"] == 1
    assert "quoted     in 1 answer\n" in shell("show", "seat", "--scope", ANA).stdout
    assert shell.json("stats")["uses"]["quoted"] == 2
    assert "use\t2\tquoted\n" in shell("stats").stdout


def test_a_shell_is_told_why_nothing_of_an_answer_was_noted(shell: Shell) -> None:
    for id, text in (("seat", SEAT), ("meal", MEAL)):
        shell("remember", text, "--scope", ANA, "--id", id)
    whole = shell.json("brief", "--scope", ANA)
    for answer, why in ((f"{SEAT}. {MEAL}.", QUOTES_ALL_REASON), (whole["text"], COPIED_REASON)):
        outcome = shell("feedback", whole["id"], "--scope", ANA, "--answer", answer)
        assert outcome.stdout == ""
        assert outcome.stderr == f"0 helped, 0 misled, 0 quoted\nthe answer was not recorded: {why}\n"
        assert shell.json("feedback", whole["id"], "--scope", ANA, "--answer", answer)["remark"] == why


def test_a_shell_that_names_several_memories_at_once_is_told_to_repeat_the_option(shell: Shell) -> None:
    shell("remember", SEAT, "--scope", ANA, "--id", "seat")
    context = shell.json("brief", "--scope", ANA)["id"]
    repeat = "repeat --helped or --misled for each memory"
    refused = shell("feedback", context, "--scope", ANA, "--helped", "seat,meal", code=3)
    told = f"Error: memory 'seat,meal' is not in the context '{context}'; {repeat}\n"
    assert (refused.stdout, refused.stderr) == ("", told)
    refused = shell("feedback", context, "--scope", ANA, "--misled", "seat", "meal", code=2)
    assert f"Got unexpected extra arguments (meal); {repeat}." in refused.stderr
    assert "repeat" not in shell("feedback", context, "--scope", ANA, "--helped", "meal", code=3).stderr
