"""Whatever is written under other roots of a database, a root is found as if it were alone."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from recollect.model.memory import Memory
from recollect.model.scope import Scope
from recollect.protocols import Store, WriteTransaction
from recollect.retrieval.vectors import Vector
from recollect.testing.builders import ManualClock, adopt, ids
from tests.contract import sorts
from tests.contract.histories import ENCODER, IDS, ONE_ROOT, Look, Write, histories, memories, vectors
from tests.contract.test_stores_agree import expected_of, found
from tests.postgres import Server

ELSEWHERE = [Scope.parse(path) for path in ("acme-labs", "acme-labs/ana", "zeta/acme")]
"""Other roots, one of which begins as the one that is looked at does."""

Noise = list[tuple[Memory, Vector | None, Scope, bool]]


def disturb(store: Store, noise: Noise) -> None:
    """Memories of the same ids, words and sessions under other roots, some of which are erased again."""
    for root in sorted({scope.parts[0] for _, _, scope, _ in noise}):
        latest = {one[0].id: one for one in noise if one[2].parts[0] == root}  # the same id twice would say the same
        store.write(partial(_disturb, list(latest.values())))


def _disturb(noise: Noise, writing: WriteTransaction) -> None:
    for memory, vector, scope, gone in noise:
        if vector is not None:
            adopt(writing, ENCODER)
        writing.put(replace(memory, scope=scope, topic_key=None, text=f"{memory.text} of {scope}"), vector)
        if gone:
            writing.erase(scope, [memory.id])


def test_a_root_is_found_as_if_it_were_alone(postgres_server: Server, postgres_template: str) -> None:
    sort = sorts.postgres(postgres_server, postgres_template)
    noises = st.lists(
        st.tuples(memories(ONE_ROOT), vectors, st.sampled_from(ELSEWHERE), st.booleans()), min_size=1, max_size=4
    )

    @sort.looking
    @given(histories(ONE_ROOT), st.lists(noises, min_size=1, max_size=6))
    def holds(history: Sequence[Write | Look], elsewhere: list[Noise]) -> None:
        clock = ManualClock()
        with sort.both(clock) as (plain, tried):
            homes: dict[tuple[str, str], Scope] = {}
            for place, event in enumerate(history):
                noise = [
                    (memory, vector, homes.setdefault((scope.parts[0], memory.id), scope), gone)
                    for memory, vector, scope, gone in elsewhere[place % len(elsewhere)]
                ]
                disturb(tried, noise)
                if isinstance(event, Write):
                    before = clock.now
                    expected = event.apply(plain, clock)
                    clock.now = before
                    assert event.apply(tried, clock) == expected
                else:
                    probe = event.probe(clock)
                    if tried.encoder() == plain.encoder():  # elsewhere somebody may have been the first with vectors
                        assert found(tried, probe) == expected_of(plain, probe)
            for scope in ONE_ROOT.scopes:
                assert tried.get(scope, ids(*IDS)) == plain.get(scope, ids(*IDS))
                assert tried.usage(scope, ids(*IDS)) == plain.usage(scope, ids(*IDS))
                assert tried.stats(scope, below=True).memories == plain.stats(scope, below=True).memories

    holds()
