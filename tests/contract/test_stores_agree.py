"""Whatever happens, each store and the plain dictionary find the same, and it ranks the same to the last bit."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.changeset import NeighborQuery
from recollect.model.context import ContextRecord, Use
from recollect.model.enums import Kind, Status
from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction
from recollect.ranking.profile import Profile, QuestionPolicy
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile
from recollect.ranking.result import Ranking
from recollect.ranking.scorer import rank_candidates
from recollect.ranking.selection import rank_evidence
from recollect.retrieval.eligibility import View
from recollect.retrieval.evidence import Evidence
from recollect.testing import NOW
from recollect.testing.builders import (
    ManualClock,
    Probe,
    a_context_record,
    a_note,
    a_probe,
    a_query,
    a_vote,
    candidates,
    cast_votes,
    count_uses,
    gather,
    ids,
    put,
)
from recollect.testing.reference_store import ReferenceStore
from recollect.text.questions import is_question
from tests.contract.histories import (
    ANA,
    BELOW,
    CHECKPOINTS,
    IDS,
    LEVELS,
    ONE_ROOT,
    SESSIONS,
    TWO_ROOTS,
    Land,
    Look,
    Write,
    a_random_memory,
    histories,
    looks,
    traces,
    tracing,
)
from tests.contract.sorts import Sort
from tests.plain_evidence import plain_evidence
from tests.tables import check_each
from tests.unit.ranking.strategies import profiles


def live(history: Sequence[Write | Look], clock: ManualClock, plain: ReferenceStore, tried: Store) -> None:
    """Let the same happen to both, which must take it alike and find the same in between."""
    for event in history:
        if isinstance(event, Write):
            before = clock.now
            expected = event.apply(plain, clock)
            clock.now = before
            assert event.apply(tried, clock) == expected
            for scope in (ANA, BELOW) if event.watched else ():
                tried.snapshot(View(scope=scope, at=clock.now))
        else:
            assert found(tried, event.probe(clock)) == expected_of(plain, event.probe(clock))


def found(store: Store, probe: Probe) -> tuple[object, ...]:
    """All that a store says of what it found, but for the order of its rows."""
    one = gather(store, probe)
    rows, ids, snapshot = one.rows.tolist(), one.table.ids, one.snapshot
    memories = {ids[row]: memory for row, memory in zip(rows, store.load(snapshot, rows), strict=True)}
    marked = [{ids[row] for row in some} for some in (one.pinned.tolist(), snapshot.dropped_vectors)]
    return candidates(one), memories, marked, dict(one.barred), snapshot.commit, snapshot.speakers, snapshot.mentions()


def expected_of(plain: ReferenceStore, probe: Probe) -> tuple[object, ...]:
    """The same of what is in the plain dictionary, by the plain definitions."""
    one = plain_evidence(plain, probe)
    by_id = {candidate.id: candidate for candidate in one.candidates}
    memories = {memory.id: memory for memory in one.memories}
    marked = [one.pinned, one.dropped_vectors]
    return by_id, memories, marked, dict(one.barred), one.commit, one.speakers, one.mentions


def facts(ranking: Ranking) -> object:
    """Everything a ranking says, down to the last bit."""
    shown = [(one.id, float(one.score).hex(), one.explanation) for one in ranking]
    return shown, dict(ranking.excluded), ranking.scheme


def ranked(found: Evidence, profile: Profile, at: datetime, *, limit: int, asked: bool) -> object:
    """What columns make of it."""
    silent = replace(found, asked=asked, barred={})
    return facts(rank_evidence(silent, profile, at, limit=limit))


BUILT_IN_PROFILES = [builtin_profile(name) for name in sorted(BUILTIN_PROFILES)]


def test_the_same_history_gives_the_same_rankings_to_the_last_bit(sort: Sort) -> None:
    @sort.looking
    @given(
        histories(sort.land),
        st.lists(looks(sort.land), min_size=1, max_size=3),
        st.lists(profiles(), min_size=1, max_size=2),
        st.data(),
    )
    def holds(
        history: Sequence[Write | Look], asked_for: list[Look], random: list[Profile], data: st.DataObject
    ) -> None:
        clock = ManualClock()
        with sort.both(clock) as (plain, tried):
            live(history, clock, plain, tried)
            for look in asked_for:
                probe = look.probe(clock)
                expected, got = gather(plain, probe), gather(tried, probe)
                assert found(tried, probe) == found(plain, probe) == expected_of(plain, probe)
                pool = plain_evidence(plain, probe).candidates
                chosen = [*random, *data.draw(st.lists(st.sampled_from(BUILT_IN_PROFILES), min_size=2, max_size=3))]
                for profile in chosen:
                    if (profile.question is QuestionPolicy.REFUSED and look.asks) or (
                        profile.question is QuestionPolicy.NEEDED and not look.asks
                    ):
                        continue
                    limit = data.draw(st.integers(1, 12))
                    oracle = facts(rank_candidates(pool, profile, probe.at, limit=limit, asked=look.asks))
                    assert ranked(got, profile, probe.at, limit=limit, asked=look.asks) == oracle
                    assert ranked(expected, profile, probe.at, limit=limit, asked=look.asks) == oracle

    holds()


@pytest.mark.parametrize("land", [TWO_ROOTS, ONE_ROOT])
def test_random_memories_ask_and_tell_and_call_sessions_alike_in_scopes_that_one_sees(land: Land) -> None:
    chance = Random(7)
    drawn = [a_random_memory(land, chance.choice(IDS), chance) for _ in range(200)]
    assert {(is_question(one.text), "?" in one.text) for one in drawn} == {
        (True, True),
        (True, False),
        (False, True),
        (False, False),
    }
    scopes = {session: {one.scope for one in drawn if one.session == session and one.shared} for session in SESSIONS}
    assert all({ANA, TEAM} <= found for found in scopes.values())


def test_the_same_history_is_told_alike_however_it_is_asked_about(sort: Sort) -> None:
    @sort.looking
    @given(histories(sort.land), st.lists(traces(sort.land), max_size=4), st.sampled_from([None, -2, -1, 0, 1]))
    def holds(history: Sequence[Write | Look], kept: list[ContextRecord], days: int | None) -> None:
        clock = ManualClock()
        with sort.both(clock) as (plain, tried):
            said_in = [a_context_record(id, scope=scope) for id, scope in zip("abcde", sort.land.scopes, strict=True)]
            live([*tracing(sort.land, [*kept, *said_in]), *history], clock, plain, tried)
            known_at = None if days is None else clock.now + timedelta(days=days)
            for scope in sort.land.scopes:
                everyone = ids(*IDS, "nobody")
                assert tried.get(scope, everyone, known_at=known_at) == plain.get(scope, everyone, known_at=known_at)
                assert tried.usage(scope, everyone) == plain.usage(scope, everyone)
                assert tried.votes(scope, "abcdefg") == plain.votes(scope, "abcdefg")
                assert tried.signs(scope, "cba") == plain.signs(scope, "cba")
                assert [tried.history(scope, id) for id in everyone] == [plain.history(scope, id) for id in everyone]
                for below in (False, True):
                    for statuses in (list(Status), [Status.ACTIVE], [Status.SUPERSEDED, Status.FORGOTTEN]):
                        listed = [list(one.memories(scope, below=below, statuses=statuses)) for one in (tried, plain)]
                        assert listed[0] == listed[1]
                assert [tried.context(scope, one.id) for one in kept] == [plain.context(scope, one.id) for one in kept]
                assert named(tried, scope) == named(plain, scope)
                assert recorded(tried, scope, clock.now) == recorded(plain, scope, clock.now)
                said = [version for id in everyone for version in plain.history(scope, id)]
                assert looked_up(tried, said) == looked_up(plain, said)

    holds()


def named(store: Store, scope: Scope) -> object:
    """What the scope has by the only topic and by the only key there is."""
    query = NeighborQuery(scope=scope, topic_key="topic", retry_key="key")
    inside = store.write(lambda writing: writing.neighbors(query))
    assert store.neighbors([query]) == [inside]
    return inside


def recorded(store: Store, scope: Scope, now: datetime) -> object:
    """The records of the scope, all and some of them, those that changed late, and how far somebody got."""
    some = store.timeline(scope, LEVELS[:1], since=NOW - timedelta(days=3), before=now, statuses=tuple(Status))
    touched = [store.changed_dates(scope, level, after) for level in LEVELS for after in (0, 2, 5)]
    checkpoints = [store.checkpoint(scope, name) for name in CHECKPOINTS]

    def inside(writing: WriteTransaction) -> list[object]:
        found: list[object] = [writing.changed_dates(scope, level, 2) for level in LEVELS]
        return [*found, *(writing.checkpoint(scope, name) for name in CHECKPOINTS)]

    told = store.write(inside)
    return store.timeline(scope, LEVELS), some, touched, checkpoints, told, store.scopes(scope), store.scopes(None)


def looked_up(store: Store, said: Sequence[Memory]) -> object:
    """All that drafts with the words of these memories are judged by."""

    def of(memory: Memory) -> NeighborQuery:
        return a_query(
            memory,
            id=memory.id,
            subject=memory.subject,
            since=memory.created_at,
            stated_at=memory.created_at,
            origins=memory.derived_from,
            shared=True,
            former=True,
        )

    found = store.write(lambda writing: [writing.neighbors(of(memory)) for memory in said])
    return [replace(one, vectors={id: vector.tolist() for id, vector in one.vectors.items()}) for one in found]


SCOPE = Scope.parse("acme/ana")
TEAM = Scope.parse("acme")
VOCABULARY = [f"word{number}" for number in range(400)]
QUESTIONS = ["word1 word2 word399", "word7", "nothing that anyone said"]


def many(chance: Random, number_of_them: int) -> list[Memory]:
    """Many memories of one scope, with a few that its team shares."""
    return [
        a_note(
            f"{number:05}",
            scope=TEAM if number % 50 == 0 else SCOPE,
            shared=True,
            kind=chance.choice(list(Kind)),
            text=" ".join([*chance.choices(VOCABULARY, k=chance.randrange(3, 12)), f"{number}"]),
            created_at=NOW - timedelta(minutes=chance.randrange(500_000)),
            importance=chance.choice([None, 0.5, chance.random()]),
            confidence=chance.choice([None, chance.random()]),
            salience=chance.choice([None, chance.random()]),
            revisions=chance.randrange(1, 9),
            status=chance.choices([Status.ACTIVE, Status.FORGOTTEN, Status.SUPERSEDED], [90, 5, 5])[0],
        )
        for number in range(number_of_them)
    ]


@pytest.fixture(scope="module")
def large(sort: Sort) -> Iterator[tuple[ReferenceStore, Store]]:
    """Both stores with many memories, of which some were changed, used and judged since they were first asked for."""
    clock, chance = ManualClock(), Random(7)
    memories = many(chance, sort.many)
    changed = [
        one.with_changes(text=f"{one.text} word1", importance=0.9) for one in chance.sample(memories, sort.many // 28)
    ]
    served = [one.id for one in chance.sample(memories, sort.many // 66)]
    votes = [
        a_vote(one.id, chance.choice([Use.HELPED, Use.MISLED])) for one in chance.sample(memories, sort.many // 200)
    ]
    with sort.both(clock) as stores:
        for store in stores:
            put(store, *memories)
            gather(store, a_probe(QUESTIONS[0], scope=SCOPE))
            put(store, *changed)
            store.write(lambda writing: count_uses(writing, SCOPE, served, Use.SERVED, NOW, None))
            store.write(lambda writing: cast_votes(writing, SCOPE, votes))
        yield stores


def test_the_best_of_many_are_those_that_brute_force_finds(large: tuple[ReferenceStore, Store]) -> None:
    plain, tried = large
    probe = a_probe(QUESTIONS[0], scope=SCOPE)
    got = gather(tried, probe)
    pool = plain_evidence(plain, probe).candidates
    assert found(tried, probe) == found(plain, probe) == expected_of(plain, probe)
    silent = [replace(one, similarity=None, lexical=None) for one in pool]
    for profile in BUILT_IN_PROFILES:
        asked = profile.question is not QuestionPolicy.REFUSED
        oracle = facts(rank_candidates(pool if asked else silent, profile, NOW, limit=20, asked=asked))
        table = got if asked else gather(tried, a_probe(scope=SCOPE))
        assert ranked(table, profile, NOW, limit=20, asked=asked) == oracle


def test_the_best_two_hundred_of_many_agree_for_every_profile(large: tuple[ReferenceStore, Store]) -> None:
    plain, tried = large

    def check(question: str) -> None:
        probe = a_probe(question, scope=SCOPE, at=NOW - timedelta(days=20))
        expected, got = gather(plain, probe), gather(tried, probe)
        assert (dict(got.barred), len(got.rows)) == (dict(expected.barred), len(expected.rows))
        for profile in BUILT_IN_PROFILES:
            if profile.question is not QuestionPolicy.REFUSED:
                oracle = ranked(expected, profile, probe.at, limit=200, asked=True)
                assert ranked(got, profile, probe.at, limit=200, asked=True) == oracle

    check_each(QUESTIONS, check)
