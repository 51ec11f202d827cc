"""The scenario that fills a fixture: calls of the public API that leave a row in every table."""

from datetime import UTC, datetime, timedelta
from typing import Any

import recollect
from recollect.model.plan import JobState
from recollect.protocols import JobStore
from recollect.testing.builders import ManualClock

ANA, TEAM, BO = "acme/ana", "acme", "labs/bo"
"""A scope, its parent, and a scope under another root."""

BEGIN, END = datetime(2025, 3, 3, 9, tzinfo=UTC), datetime(2026, 5, 7, 9, tzinfo=UTC)
"""When the scenario begins and ends. Tests read the store as of the end."""

EMBEDDER = "hashing-32"
SETTINGS = {
    "consolidation.more_than": 3,
    "consolidation.threshold": 0.5,
    "topics.threshold": 0.5,
    "topics.least": 2,
    "episodic.value": "normalised",
    "novelty.enabled": True,
    "novelty.threshold": 0.98,
}
"""Settings under which each job finds work in a few memories."""

SMALL_BUDGET = recollect.Budget(300, reserves={recollect.Kind.CONSTRAINT: 60}, items=5)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

KINDS = {
    "profile": "Ana is a nurse in the night shift",
    "preference": "Ana prefers window seats on long flights",
    "decision": "We chose PostgreSQL for the booking service",
    "pattern": "Ana books hotels two weeks before a trip",
    "discovery": "The airport train is faster than a taxi",
    "summary": "The trip to Oslo was planned in three calls",
    "fact": "The office in Oslo opens at eight",
    "entity": "Globex is the travel agency of the team",
    "learning": "Refunds need the number of the ticket",
    "procedure": "To cancel a booking, call Globex and name the ticket",
    "constraint": "Hotels must cost less than 180 euros a night",
    "definition": "A long flight is one of more than six hours",
    "observation": "Ana sounded tired on Monday",
    "task": "Ask Globex for the invoice of the Oslo trip",
    "correction": "The meeting in Oslo is on Tuesday, not on Monday",
    "event": "Ana landed in Oslo at noon",
}
"""A text for each kind."""

SIMILAR_TEXTS = "Breakfast smells of tea", "Breakfast smells of green tea", "Breakfast smells of green tea and honey"
"""Texts that consolidation merges: the last one contains the others."""


def run_scenario(engine: recollect.Engine, timetable: JobStore, clock: ManualClock) -> dict[str, Any]:
    """Fill the store; return the runs that can be undone in `acme/ana`, and a plan that can be applied there."""
    _erase_memory(engine, clock)
    ids = _remember(engine, clock)
    runs = _curate(engine, clock, ids)
    _converse(engine, clock)
    contexts = _recall(engine, clock, ids)
    _work(engine, clock, contexts)
    _meet(engine, clock)
    plan, jobs = _maintain(engine, clock)
    _schedule(timetable)
    _retry(engine, clock)
    engine.remember("Bo lives in Bergen", scope=BO, kind="fact", key="bo")
    engine.recall("where does Bo live?", scope=BO, tokens=200)
    engine.admin.flush()
    assert clock() < END
    clock.now = END
    return {"runs": [*runs, *jobs], "plan": plan}


def _erase_memory(engine: recollect.Engine, clock: ManualClock) -> None:
    """Erase a memory. This comes first, because an erasure also removes the topics of its scope."""
    receipt = engine.remember("Ana had a phone with a broken screen", scope=ANA, at=clock())
    engine.erase(scope=ANA, id=receipt.id)
    clock.move(HOUR)


def _remember(engine: recollect.Engine, clock: ManualClock) -> dict[str, str]:
    """Add memories of every kind, provenance, trust and status; return their ids by name."""
    ids: dict[str, str] = {}
    for number, (kind, text) in enumerate(KINDS.items()):
        provenance = list(recollect.Provenance)[number % len(recollect.Provenance)]
        receipt = engine.remember(
            text,
            scope=ANA,
            kind=kind,
            title=f"About {kind}",
            tags=("trip", kind),
            importance=round(0.1 + number / 20, 2),
            confidence=round(0.95 - number / 40, 3),
            session="planning",
            speaker="Ana" if number % 3 == 0 else None,
            valid_from=clock() if number % 4 == 0 else None,
            valid_until=END + 90 * DAY if number % 4 == 0 else None,
            provenance=provenance,
            source=f"document-{number}",
            evidence=(f"said on day {number}",),
            metadata={"number": number, "nested": {"list": [1, 2.5, None, "Zürich"]}},
        )
        ids[kind] = receipt.id
        clock.move(HOUR)
    ids["rome"] = engine.remember("Ana lives in Rome", scope=ANA, provenance="direct_user").id
    clock.move(DAY)
    ids["lisbon"] = engine.remember("Ana lives in Lisbon", scope=ANA, provenance="direct_user").id  # supersedes Rome
    ids["paris"] = engine.remember("Ana lives in Paris", scope=ANA, provenance="tool_external").id  # is quarantined
    ids["tea"] = engine.remember("Ana drinks green tea", scope=ANA, topic_key="drink").id
    clock.move(HOUR)
    engine.remember("Ana drinks black tea", scope=ANA, topic_key="drink")  # a second version
    ids["deploy"] = engine.remember("Deploys wait for the release notes", scope=TEAM, shared=True, pinned=True).id
    for text in SIMILAR_TEXTS:
        engine.remember(text, scope=ANA, importance=0.4)
    for place in ("north", "south", "east"):
        engine.remember(f"The booking service has a server in the {place}", scope=ANA, source="handbook")
    clock.move(DAY)
    return ids


def _curate(engine: recollect.Engine, clock: ManualClock, ids: dict[str, str]) -> list[int]:
    """Change memories as an operator does; return the runs that can be undone."""
    engine.revise(ids["observation"], "Ana sounded tired on Tuesday", scope=ANA, importance=0.3)
    engine.pin(ids["constraint"], scope=ANA)
    clock.move(HOUR)
    forget = engine.forget(ids["discovery"], scope=ANA)
    weigh = engine.curator.weigh(ids["fact"], 0.9, scope=ANA)
    engine.curator.vouch(ids["definition"], scope=ANA)
    engine.curator.quarantine(ids["entity"], "somebody doubts it", scope=ANA)
    merge = engine.curator.merge(
        [engine.remember(f"The {side} door sticks in winter", scope=ANA).id for side in ("back", "front")],
        "Both doors stick in winter",
        scope=ANA,
    )
    clock.move(HOUR)
    return [receipt.memory.commit or 0 for receipt in (forget, weigh, merge)]


def _converse(engine: recollect.Engine, clock: ManualClock) -> None:
    """Add events over two years, so that rollup makes segments, grips, days, weeks, months and years."""
    texts = [
        "I plan the trip to Oslo with Globex, the hotel must be near the harbor",
        "Globex offers two hotels near the harbor, the Viking and the Anker",
        "We decided to book the Viking hotel because breakfast is included",
    ]
    for day in (clock(), clock() + DAY, datetime(2026, 1, 12, 10, tzinfo=UTC)):
        clock.now = day
        turns = [
            {
                "text": f"{text}, as of {day:%B %d}",
                "role": "user" if number % 2 == 0 else "assistant",
                "speaker": "Ana" if number % 2 == 0 else None,
                "session": f"talk-{day:%Y-%m-%d}",
                "at": day + number * timedelta(minutes=7),
            }
            for number, text in enumerate(texts)
        ]
        clock.move(HOUR)
        engine.observe(turns, scope=ANA, source="chat")
    for speaker in ("Ana", "Bo"):  # the second one repeats the first: it is stored, but not recalled
        engine.remember("The plane left on time", scope=ANA, kind="event", speaker=speaker)


def _recall(engine: recollect.Engine, clock: ManualClock, ids: dict[str, str]) -> list[str]:
    """Recall with several profiles, times and budgets, and give feedback; return the ids of the contexts."""
    clock.move(DAY)
    requests: list[dict[str, Any]] = [
        {"query": "which seat does Ana prefer on a flight?", "tokens": 400},
        {"query": "which hotel did we book in Oslo?", "tokens": 300, "profile": "five-signal"},
        {"query": "where did Ana live?", "past": True, "kinds": ("observation", "fact", "profile")},
        {"query": "where does Ana live?", "as_of": BEGIN + DAY, "profile": "three-signal"},
        {"query": "what does Ana drink?", "known_at": BEGIN + 2 * DAY, "tokens": SMALL_BUDGET},
        {"query": "what happened in Oslo?", "levels": ("plain", "event", "episode"), "tokens": 250},
    ]
    contexts = [_flush_uses(engine, engine.recall(scope=ANA, **request)) for request in requests]
    contexts.append(_flush_uses(engine, engine.brief(scope=ANA, tokens=350)))
    context_ids = [context.id for context in contexts if context.id is not None]
    first, second = context_ids[:2]
    clock.move(HOUR)
    engine.feedback(
        first, scope=ANA, helped=[ids["preference"]], by="reviewer", answer="Ana prefers window seats on long flights."
    )
    engine.feedback(second, scope=ANA, misled=[contexts[1].packed[0].id], by="reviewer")
    engine.feedback(first, scope=ANA, misled=[ids["preference"]], by="second reviewer")
    engine.feedback(first, scope=ANA, helped=[ids["preference"]], by="second reviewer")
    engine.contexts.count_served([ids["lisbon"]], scope=ANA)
    engine.admin.flush()
    engine.revise(ids["preference"], "Ana prefers window seats on all flights", scope=ANA)  # after a recall returned it
    clock.move(HOUR)
    return context_ids


def _flush_uses(engine: recollect.Engine, context: recollect.Context) -> recollect.Context:
    """Count the uses of the context, since the next ranking depends on them; return the context."""
    engine.admin.flush()
    return context


def _work(engine: recollect.Engine, clock: ManualClock, contexts: list[str]) -> None:
    """Add an episode that succeeded, one that failed and one that is running."""
    flight = engine.episodes.start("Book a flight to Oslo", scope=ANA, plan=("search", "book"), key="flight")
    clock.move(HOUR)
    engine.episodes.record(flight.id, "search", scope=ANA, input={"to": "Oslo"}, output="3 fares", context=contexts[0])
    engine.episodes.record(flight.id, "book", scope=ANA, output="no seat left", result="failed", key="book-1")
    engine.episodes.complete(
        flight.id,
        0.8,
        scope=ANA,
        lessons=("Book flights to Oslo in spring",),
        failure_modes=("Cheap fares to Oslo are gone by May",),
        contexts=contexts[:1],
    )
    clock.move(HOUR)
    luggage = engine.episodes.start("Find the lost luggage of the Oslo trip", scope=ANA)
    engine.episodes.complete(luggage.id, 0.0, scope=ANA, failure_modes=("The luggage office closes at four",))
    engine.episodes.start("Plan the trip to Bergen", scope=ANA, plan=("ask Globex",), session="planning")
    clock.move(HOUR)


def _meet(engine: recollect.Engine, clock: ManualClock) -> None:
    """Add a session that ended with a summary, and one that is open."""
    engine.sessions.start(scope=ANA)
    engine.sessions.remember("Ana wants a quiet room", scope=ANA, kind="preference", title="Room")
    engine.sessions.end("We talked about rooms", scope=ANA)
    clock.move(HOUR)
    engine.sessions.start(scope=ANA)
    engine.sessions.remember("Ana travels with one bag", scope=ANA, kind="preference", title="Luggage")
    engine.admin.flush()
    clock.move(HOUR)


def _maintain(engine: recollect.Engine, clock: ManualClock) -> tuple[dict[str, Any], list[int]]:
    """Run every job once; return a plan that is not applied, and the runs that can be undone."""
    engine.timeline.extract_events(scope=ANA)
    clock.now = datetime(2026, 5, 4, 9, tzinfo=UTC)
    engine.timeline.rollup(scope=ANA, unfinished=True)
    engine.topics.refresh(scope=ANA)
    runs: list[int] = []
    for job in ("consolidate", "prune-episodes", "prune-vectors", "rebuild-index"):
        clock.move(HOUR)
        runs += [applied.run for applied in engine.admin.run(job, scope=ANA) if applied.run is not None]
    clock.move(HOUR)
    return engine.plan("prune-vectors", scope=ANA, level="event", age_days=30).to_json(), runs


KEYED_DRAFTS = {
    "created": {"text": "Ana collects old train tickets"},
    "reinforced": {"text": "We chose PostgreSQL for the booking service", "kind": "decision"},
    "updated": {"text": "Ana drinks white tea", "topic_key": "drink"},
    "superseded": {"text": "Ana lives in Porto", "provenance": "direct_user"},
    "quarantined": {"text": "Ana lives in Madrid", "provenance": "tool_external"},
}
"""Drafts by idempotency key, which is the name of the verdict. Add drafts, but keep these: fixtures contain them."""


def _retry(engine: recollect.Engine, clock: ManualClock) -> None:
    """Send each request with an idempotency key twice."""
    for key, draft in KEYED_DRAFTS.items():
        (first,) = engine.remember_all([{**draft, "key": key}], scope=ANA)
        (again,) = engine.remember_all([{**draft, "key": key}], scope=ANA)
        assert (again.id, type(again.verdict)) == (first.id, type(first.verdict))
        clock.move(HOUR)


def _schedule(timetable: JobStore) -> None:
    """Add occurrences that are done, failed, interrupted and running, and pause a job."""
    first = datetime(2026, 5, 5, 3, tzinfo=UTC)
    for job in ("rollup", "extract", "topics", "consolidate"):
        assert (
            timetable.claim(job, None, by="writer", at=first - DAY, until=first) is None
        )  # the timetable knows the job from now on

    for day in (first, first + DAY):
        rollup = timetable.claim("rollup", day, by="writer", at=day, until=day + HOUR)
        assert rollup is not None
        timetable.finish(rollup.finish(JobState.DONE, day + HOUR / 2, {"scopes": 3, "made": 7}))
    extract = timetable.claim("extract", first, by="writer", at=first, until=first + HOUR)
    assert extract is not None
    timetable.finish(extract.finish(JobState.FAILED, first + HOUR / 2, {"scopes": 2}, "ProviderError in 1 scope"))
    topics = timetable.claim("topics", first, by="writer", at=first, until=first + HOUR)
    assert topics is not None
    timetable.finish(topics.finish(JobState.INTERRUPTED, first + HOUR / 2, {"scopes": 1}))
    assert timetable.claim("consolidate", first, by="writer", at=first, until=first + HOUR) is not None
    timetable.pause("prune-vectors", first)
