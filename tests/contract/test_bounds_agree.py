"""Whatever happens to a store whose vectors stay in the database, bounds find the best that the oracle finds."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.ranking.bound_pruning import can_prune, prune
from recollect.ranking.profile import Profile
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile
from recollect.ranking.result import Ranking
from recollect.ranking.scorer import rank_candidates
from recollect.ranking.selection import rank_evidence
from recollect.retrieval.evidence import Evidence
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.builders import ManualClock, Probe, gather
from recollect.testing.reference_store import ReferenceStore
from tests.contract.histories import ONE_ROOT, Look, Write, histories, looks
from tests.contract.sorts import postgres
from tests.evidence import drive
from tests.plain_evidence import plain_evidence
from tests.postgres import Server

PROFILES = [builtin_profile(name) for name in sorted(BUILTIN_PROFILES) if can_prune(builtin_profile(name))]


def shown(ranking: Ranking) -> object:
    return [(one.id, float(one.score).hex(), one.explanation) for one in ranking]


def by_bounds(store: PostgresStore, found: Evidence, probe: Probe, profile: Profile, limit: int) -> Ranking:
    """The best, as whoever does not trust an index finds them."""
    snapshot, vector = found.snapshot, found.query_vectors[0]  # type: ignore[index]
    nearest = store.nearest(snapshot, vector)
    pruning = prune(replace(found, asked=True), profile, probe.at, limit=limit, nearest=nearest, trusting=False)
    seen = drive(
        pruning,
        lambda wanted: (store.exact_similarities if wanted.exact else store.similarities)(
            snapshot, vector, wanted.rows
        ),
    )
    assert seen.proof.exact
    return rank_evidence(seen.evidence, profile, probe.at, limit=limit, proof=seen.proof)


def presently(look: Look, clock: ManualClock) -> Probe:
    """What is asked, as one question about the present."""
    now = replace(look, present=True, known=None, commit=None, as_of=look.as_of * 0)
    return replace(now, ways=look.ways[:1] or (0,)).probe(clock)


def test_bounds_find_the_best_of_the_oracle(postgres_server: Server, postgres_template: str) -> None:
    sort = postgres(postgres_server, postgres_template)
    stayed: list[int] = []

    @settings(max_examples=sort.looking.max_examples)
    @given(
        histories(ONE_ROOT),
        st.lists(looks(ONE_ROOT), min_size=1, max_size=2),
        st.sampled_from(PROFILES),
        st.integers(1, 6),
    )
    def holds(history: Sequence[Write | Look], asked_for: list[Look], profile: Profile, limit: int) -> None:
        clock = ManualClock()
        plain = ReferenceStore(clock)
        with (
            postgres_server.store_database(postgres_template) as name,
            closing(PostgresStore(postgres_server.url(name), clock)) as writer,
            closing(PostgresStore(postgres_server.url(name), clock, cache_bytes=1)) as bare,
        ):
            for event in [*history, *asked_for]:
                if isinstance(event, Write):
                    before = clock.now
                    event.apply(plain, clock)
                    clock.now = before
                    event.apply(writer, clock)
                    continue
                probe = replace(presently(event, clock), in_turns=False)
                found = gather(bare, replace(probe, remote_vectors=True))
                expected = rank_candidates(
                    plain_evidence(plain, probe).candidates, profile, probe.at, limit=limit, asked=True
                )
                if not found.snapshot.columns.has_remote_vectors:  # there is nothing whose vector could stay anywhere
                    assert not found.table.ids or plain.encoder() is None
                else:
                    stayed.append(len(found.remote_rows))
                    assert shown(by_bounds(bare, found, probe, profile, limit)) == shown(expected)

    holds()
    assert any(stayed)
