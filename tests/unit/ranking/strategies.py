"""Random candidates and random profiles, tame and hostile, for properties."""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from recollect.model.candidate import Candidate
from recollect.model.enums import Kind
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.table import CandidateTable, Rows
from recollect.ranking.profile import Factor, Gate, Profile, QuestionPolicy, Term
from recollect.ranking.profile_toml import override_profile
from recollect.ranking.quantities import AgeClock
from recollect.ranking.scorer import compute_set_evidence, explain, rank_candidates
from recollect.ranking.signals import (
    Addressed,
    Confidence,
    Dated,
    Frequency,
    Importance,
    KindPriority,
    Lexical,
    Newest,
    Rarity,
    Recency,
    Relevance,
    Revisions,
    Salience,
    SetSignal,
    Setting,
    Signal,
    Similarity,
    Substance,
    Thread,
    Usefulness,
    signal_value,
)
from recollect.retrieval.evidence import Evidence
from recollect.testing import NOW
from tests.evidence import evidence_of
from tests.unit.ranking.sample import SAMPLE

edges = [0.0, 5e-324, 1e-300, 0.15, 0.1, 0.5, 1.0 - 2**-53, 1.0]
thresholds = st.integers(1, 16).map(lambda part: part / 32)
"""Shares that some are above and some below."""

shares = st.sampled_from(edges) | st.floats(0.0, 1.0)
cosines = shares | st.floats(-1.0, 0.0) | st.sampled_from([1.0 + 1e-7, -1.0 - 1e-7])
counts = st.sampled_from([0, 1, 5, 10, 50, 2**53]) | st.integers(0, 200)
zones = st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-11, minutes=-30))])
moments = st.builds(
    lambda moment, zone: moment.replace(tzinfo=UTC).astimezone(zone),
    st.datetimes(datetime(1900, 1, 2), datetime(2199, 12, 30)),
    zones,
) | st.sampled_from([datetime(2026, 1, 1, tzinfo=UTC) - timedelta(days=days) for days in (0, 1, 14, 30, 365)])
vectors = st.tuples(*[st.sampled_from([0.0, 1.0, -1.0, 0.9, 1e-200, 1e300]) | st.floats(-1.0, 1.0)] * 3)


def unknown_or(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "kind": st.sampled_from(Kind),
    "similarity": cosines,
    "lexical": shares,
    "relevance": shares,
    "addressed": shares,
    "days_off": st.sampled_from([0.0, 1e-300, 7.0, 1e7]) | st.floats(0.0, 1e3),
    "created_at": moments,
    "updated_at": moments,
    "last_accessed_at": moments,
    "valid_from": moments,
    "importance": shares,
    "usefulness": shares,
    "confidence": shares,
    "salience": shares,
    "served": counts,
    "revisions": counts,
    "words": counts,
    "setting": shares,
    "linked": shares,
    "link": st.sampled_from(["ana souza", "ana souza → access bank"]),
    "scope": st.sampled_from([Scope.parse("one"), Scope.parse("two")]),
    "session": st.sampled_from(["a", "b"]),
    "speaker": st.sampled_from(["Ana", "Ben"]),
    "vector": vectors,
}


@st.composite
def moulded(draw: st.DrawFn, max_size: int = 30) -> list[Candidate]:
    """Candidates of few moulds, alike in all but the id, so that ties and silence are common."""
    ids = draw(st.lists(st.text("abc", min_size=1, max_size=4), unique=True, max_size=max_size))
    known = draw(st.sets(st.sampled_from(sorted(FIELDS))))
    fields = {name: unknown_or(FIELDS[name]) for name in sorted(known)}
    moulds = draw(st.lists(st.fixed_dictionaries(fields), min_size=1, max_size=max(1, len(ids))))
    return [Candidate(id=MemoryId(id), **draw(st.sampled_from(moulds))) for id in ids]


@st.composite
def varied(draw: st.DrawFn, max_size: int = 30) -> list[Candidate]:
    """Candidates of which most is known and hardly two are alike, some of them twins by their vectors."""
    chance = draw(st.randoms(use_true_random=False))
    size = draw(st.integers(min(5, max_size), max_size))
    return [_varied(f"m{number}", chance) for number in range(size)]


def _varied(id: str, chance: Random) -> Candidate:
    def share() -> float:
        return chance.choice([chance.random(), chance.random(), round(chance.random(), 1)])

    def moment() -> datetime:
        return NOW + timedelta(days=chance.uniform(-60.0, 5.0))

    angle = chance.choice([0.0, 0.7, 1.5]) + chance.uniform(-0.2, 0.2)
    fields: dict[str, Any] = {
        "kind": chance.choice(list(Kind)),
        "similarity": chance.uniform(-0.2, 1.0),
        **{name: share() for name in ("lexical", "importance", "usefulness", "confidence", "salience")},
        **{name: moment() for name in ("created_at", "updated_at", "last_accessed_at", "valid_from")},
        "served": chance.randrange(60),
        "revisions": chance.randrange(15),
        "addressed": chance.choice([0.0, 1.0]),
        "days_off": chance.choice([0.0, chance.uniform(0.0, 30.0)]),
        "words": chance.randrange(40),
        "scope": chance.choice([Scope.parse("one"), Scope.parse("two")]),
        "session": chance.choice("abcd"),
        "speaker": chance.choice(["Ana", "Ben"]),
        "setting": share(),
        "linked": chance.choice([0.0, share()]),
        "link": chance.choice(["ana souza", "ana souza → access bank"]),
        "vector": (math.cos(angle), math.sin(angle), 0.1),
    }
    known = {name: value for name, value in fields.items() if chance.random() < 0.85}
    if chance.random() < 0.15:
        known["relevance"] = share()
    return Candidate(id=MemoryId(id), **known)


def candidates(max_size: int = 30) -> st.SearchStrategy[list[Candidate]]:
    """Candidates with distinct ids, varied or moulded."""
    return st.one_of(varied(max_size), varied(max_size), moulded(max_size))


near = st.floats(-3.0, 60.0).map(lambda days: NOW + timedelta(days=days))
"""Moments at which the varied candidates are of different ages."""

positive = st.floats(1e-3, 1e3)
blends = st.builds(
    lambda share, part: Relevance(lexical_share=share, overlap=part * min(share, 1.0 - share)), shares, shares
)
signals: st.SearchStrategy[Signal] = st.one_of(
    st.sampled_from(
        [Similarity(), Lexical(), Importance(), Usefulness(), Confidence(), Salience(), Addressed(), Setting()]
    ),
    st.builds(Relevance, st.integers(0, 5)),
    blends,
    st.builds(
        Recency,
        st.sampled_from(AgeClock),
        half_life=st.timedeltas(timedelta(days=1), timedelta(days=60))
        | st.timedeltas(timedelta(microseconds=1), timedelta(days=10_000)),
    ),
    st.builds(Recency, st.sampled_from(AgeClock), rate_per_day=positive),
    st.builds(Frequency, positive),
    st.builds(Rarity, positive),
    st.builds(Revisions, positive),
    st.builds(Substance, positive),
    st.builds(Dated, st.timedeltas(timedelta(microseconds=1), timedelta(days=10_000))),
    st.builds(KindPriority, st.dictionaries(st.sampled_from(Kind), shares), shares),
)
twins: st.SearchStrategy[SetSignal] = st.builds(
    Newest,
    st.sampled_from([0.5, 0.88, 0.97]),
    st.integers(2, 9),
    st.sampled_from(AgeClock),
    st.none() | st.just(0.99),
    st.none() | st.just(0.4),
)
halves = positive | st.sampled_from([5e-324, 1e300])
threads: st.SearchStrategy[SetSignal] = st.builds(Thread, halves, halves, st.sampled_from(AgeClock))


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """Profiles of any shape that makes sense; every signal's silence is worth something."""
    chosen: list[Signal | SetSignal] = draw(
        st.lists(signals, unique_by=lambda signal: signal.name, min_size=1, max_size=6)
    )
    chosen += [draw(sets) for sets in (twins, threads) if draw(st.integers(0, 2)) == 0]
    if {"frequency", "rarity"} <= {signal.name for signal in chosen}:
        chosen = [signal for signal in chosen if signal.name != "rarity"]
    split = draw(st.integers(1, len(chosen)))
    raw = draw(st.lists(st.integers(0, 10), min_size=split, max_size=split))
    total = sum(raw)
    weights = [weight / total for weight in raw] if total else [1.0, *[0.0] * (split - 1)]
    terms = [Term(signal, weight, draw(shares)) for signal, weight in zip(chosen, weights, strict=False)]
    factors = [Factor(signal, draw(shares), draw(shares)) for signal in chosen[split:]]
    pointwise = [signal for signal in chosen if not isinstance(signal, SetSignal)]
    gates = (
        st.lists(st.sampled_from(pointwise), unique_by=lambda signal: signal.name, min_size=1, max_size=2)
        if pointwise
        else st.just([])
    )
    gated = draw(st.one_of(st.just([]), gates, gates))
    limits = st.one_of(thresholds, thresholds, shares)

    def a_gate(signal: Signal) -> Gate:
        others = [other for other in pointwise if other.name != signal.name]
        instead = (
            draw(st.lists(st.sampled_from(others), unique_by=lambda other: other.name, max_size=2)) if others else []
        )
        return Gate(signal, draw(limits), tuple(Gate(other, draw(limits)) for other in instead))

    return Profile(
        name="random",
        version="1",
        about="Whatever comes.",
        terms=tuple(terms),
        factors=tuple(factors),
        gates=tuple(a_gate(signal) for signal in gated),
        question=QuestionPolicy.OPTIONAL,
        min_score=draw(st.sampled_from([0.0, 0.0, 0.3]) | shares),
    )


@st.composite
def lined_up(draw: st.DrawFn, pool: list[Candidate], profile: Profile, at: datetime) -> Profile:
    """The profile with its gates and its minimum where some candidates are, to the bit."""
    if not pool:
        return profile
    chance = draw(st.randoms(use_true_random=False))

    def moved(way: Gate) -> Gate:
        value = signal_value(way.signal, chance.choice(pool), at)
        return way if value is None else replace(way, at_least=value)

    gates = [replace(moved(gate), otherwise=tuple(moved(way) for way in gate.otherwise)) for gate in profile.gates]
    given = compute_set_evidence(pool, profile, at)
    one = chance.choice(pool)
    score = explain(one, profile, at, given.get(one.id, {})).score
    return replace(profile, gates=tuple(gates), min_score=chance.choice([profile.min_score, score]))


@dataclass(frozen=True)
class Blurred:
    """Candidates as a store has them: similarities that are off by at most an error, and true ones for the asking."""

    pool: list[Candidate]
    table: CandidateTable
    rows: Rows

    @property
    def evidence(self) -> Evidence:
        return evidence_of(self.pool, self.table, rows=self.rows)

    @property
    def eligible(self) -> list[Candidate]:
        return [self.pool[row] for row in self.rows]


@st.composite
def blurred(draw: st.DrawFn, pools: st.SearchStrategy[list[Candidate]]) -> Blurred:
    """Some of which only a few rows are looked at, some known exactly, some far from it."""
    pool = draw(pools)
    chance = draw(st.randoms(use_true_random=False))
    error = chance.choice([0.0, 1e-6, 1e-3, 0.05])
    table = CandidateTable.of(pool)
    noise = [chance.choice([-error, error, 0.0, chance.uniform(-error, error)]) for _ in pool]
    similarity = table.numbers["similarity"] + np.array(noise)
    kept = chance.choice([1.0, 0.7, 0.2])
    rows = np.array([row for row in range(len(pool)) if chance.random() < kept], dtype=np.intp)
    return Blurred(pool, table.with_evidence(similarity=similarity, similarity_error=error), rows)


@st.composite
def crowded(draw: st.DrawFn) -> tuple[Blurred, Profile]:
    """Candidates whose similarities are nearer to each other than they are known, and lines right among them."""
    chance = draw(st.randoms(use_true_random=False))
    error = chance.choice([1e-6, 1e-3, 0.05])
    pool = [
        Candidate(
            id=MemoryId(f"m{chance.randrange(10**6)}-{number}"),
            similarity=chance.choice([0.5, 0.5, 0.8]) + error * chance.randint(-3, 3) / 3,
            importance=chance.choice([0.5, 0.5 + error]),
            vector=chance.choice([(1.0, 0.0), (0.0, 1.0)]),
            created_at=NOW - timedelta(days=chance.randint(0, 3)),
            session=chance.choice(["a", "b", None]),
        )
        for number in range(12)
    ]
    similarity = [(one.similarity or 0.0) + chance.choice([-error, 0.0, error]) for one in pool]
    table = CandidateTable.of(pool).with_evidence(similarity=np.array(similarity), similarity_error=error)
    newest = {"among": chance.randint(2, 6)}
    profile = override_profile(SAMPLE, {"factors": {"newest": newest}, "gates": {"relevance": 0.5}})
    if chance.random() < 0.5:  # of a best of 0.8, 0.5 is just at a step of a thread
        shares = {"relevance": {"weight": 0.4}, "thread": {"weight": 0.41, "missing": 0.0}}
        profile = override_profile(profile, {"terms": shares})
    if chance.random() < 0.5:
        score = chance.choice(list(rank_candidates(pool, override_profile(profile, {"gates": None}), NOW))).score
        profile = override_profile(profile, {"min_score": float(score)})
    return Blurred(pool, table, np.arange(12)), profile
