"""What several memories become when they become one."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from recollect.admission.decision import effective_from
from recollect.admission.policy import AdmissionPolicy
from recollect.engine.merge import Wording, build_merged
from recollect.model.enums import TRUST_BY_PROVENANCE, Kind, Level, Provenance, Trust, lowest_trust
from recollect.model.memory import MAX_LIST_ITEMS, Memory, MemoryId
from recollect.model.validation import MAX_TEXT_BYTES
from recollect.testing import NOW, a_memory

DAY = timedelta(days=1)


def one_of(*sources: Memory, **said: str) -> Memory:
    return build_merged(sources, Wording(**said), MemoryId("made"), AdmissionPolicy())  # type: ignore[arg-type]


def test_the_most_important_speaks_for_all_and_of_these_the_newest() -> None:
    unknown = a_memory("a", text="unknown", created_at=NOW, importance=None)
    old = a_memory("b", text="old", created_at=NOW - 2 * DAY, importance=0.5, kind=Kind.FACT)
    new = a_memory("c", text="new", created_at=NOW - DAY, importance=0.5, kind=Kind.DECISION)
    made = one_of(unknown, old, new)
    assert (made.text, made.kind, made.importance) == ("new", Kind.DECISION, 0.5)
    assert one_of(unknown, old, new, text="else").text == "else"


def test_where_they_differ_only_what_all_have_in_common_is_kept() -> None:
    one = a_memory("a", text="one", session="s", speaker="ana", source="x", topic_key=None, subject="home")
    other = a_memory("b", text="other", session="s", speaker="ben", source="y", topic_key="topic", subject=None)
    made = one_of(one, other, text="both")
    assert (made.session, made.speaker, made.source) == ("s", None, None)
    assert (made.topic_key, made.subject) == ("topic", None)  # what is said of both is no longer about the home alone


def test_records_of_one_level_become_a_record_of_it_and_any_others_a_plain_memory() -> None:
    event, other = (a_memory(id, text=id, level=Level.EVENT) for id in "ab")
    assert one_of(event, other).level is Level.EVENT
    assert one_of(event, a_memory("c", text="c", level=Level.DAY)).level is None
    assert one_of(event, a_memory("c", text="c")).level is None


def test_no_more_is_kept_than_a_memory_may_have() -> None:
    sources = [
        a_memory(
            f"{place}",
            text=f"text {place}",
            tags=tuple(f"{place}-{number}" for number in range(40)),
            evidence=("é" * (MAX_TEXT_BYTES // 5),),
        )
        for place in range(4)
    ]
    made = one_of(*sources)
    assert len(made.tags) == MAX_LIST_ITEMS
    assert len(made.evidence) == 1  # letters of two bytes: two of them do not fit any more


shares = st.none() | st.floats(0, 1)
moments = st.none() | st.integers(-5, 5).map(lambda days: NOW + days * DAY)


@st.composite
def memories(draw: st.DrawFn, id: str) -> Memory:
    since, until = draw(moments), draw(moments)
    provenance = draw(st.sampled_from(Provenance))
    below = [one for one in Trust if not TRUST_BY_PROVENANCE[provenance].less_than(one)]
    return a_memory(
        id,
        text=f"what {id} says",
        created_at=NOW - draw(st.integers(0, 9)) * DAY,
        importance=draw(shares),
        confidence=draw(shares),
        shared=draw(st.booleans()),
        pinned=draw(st.booleans()),
        valid_from=None if since is None else min(since, until or since),
        valid_until=None if until is None else max(until, since or until),
        provenance=provenance,
        trust=draw(st.sampled_from([*below, Trust.VOUCHED])),
    )


@given(st.tuples(memories("a"), memories("b"), memories("c")))
def test_it_is_no_more_sure_trusted_or_seen_than_the_least_and_holds_when_any_does(sources: tuple[Memory, ...]) -> None:
    made = one_of(*sources)
    assert made.trust is lowest_trust(one.trust for one in sources)
    assert made.importance == max((one.importance for one in sources if one.importance is not None), default=None)
    assert made.confidence == min((one.confidence for one in sources if one.confidence is not None), default=None)
    assert (made.shared, made.pinned) == (all(one.shared for one in sources), any(one.pinned for one in sources))
    assert made.created_at == min(one.created_at for one in sources)
    for one in sources:
        assert made.valid_from is None or made.valid_from <= effective_from(one)
        assert made.valid_until is None or (one.valid_until is not None and one.valid_until <= made.valid_until)
    assert (made.valid_until is None) == any(one.valid_until is None for one in sources)
