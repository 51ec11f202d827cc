"""What people read, as they read it."""

from dataclasses import replace
from datetime import timedelta

from recollect.cli import extract, formatting
from recollect.cli.tables import TextStyle
from recollect.model.context import NO_USAGE, Usage
from recollect.model.conversation import Extract, Extraction
from recollect.model.draft import (
    Changed,
    Created,
    Outdated,
    Quarantined,
    Reactivated,
    Receipt,
    Refused,
    Reinforced,
    Superseded,
    Unchanged,
    Unindexed,
    Updated,
    Verdict,
)
from recollect.model.enums import Kind, Provenance, Status
from recollect.model.memory import MemoryId
from recollect.packing.budget import Budget
from recollect.packing.pack import pack
from recollect.packing.prompt import Prompt
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.result import Proof, StopReason
from recollect.ranking.scorer import rank_candidates
from recollect.ranking.why import Barred, Outranked, Ranked, SignalChange, Unpacked, why_ranked
from recollect.retrieval.eligibility import Barrier
from recollect.testing import NOW, a_candidate, a_memory, a_ranking
from tests.tables import table
from tests.unit.ranking.sample import SAMPLE

DAY = timedelta(days=1)


def test_a_ranking_reads_like_this() -> None:
    pool = [
        a_candidate(memory=a_memory("a", text="deploys run\n on Fridays"), similarity=0.9, salience=1.0),
        a_candidate("b", similarity=-0.5, served=1),
    ]
    assert "\n".join(formatting.format_ranking(rank_candidates(pool, builtin_profile("salience"), NOW))) == (
        "salience, version 1, at 2026-01-01T00:00:00+00:00\n"
        "\n"
        "  1. 0.900  a  deploys run on Fridays\n"
        "     + 0.900 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇   similarity 0.900 × 1\n"
        "     × 1.000 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ salience 1.000\n"
        "     × 1.000 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ rarity 1.000 (assumed)\n"
        "\n"
        "  2. 0.000  b\n"
        "     + 0.000                      similarity 0.000 × 1 (-0.5 counts as 0)\n"
        "     × 0.775 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇     salience 0.500 (assumed)\n"
        "     × 0.870 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇    rarity 0.870\n"
        "\n"
        "2 ranked"
    )


def test_what_was_left_out_is_counted_by_reason() -> None:
    pool = [a_candidate(id, similarity=s) for id, s in (("a", 0.9), ("b", 0.8), ("c", 0.1))]
    lines = list(formatting.format_ranking(rank_candidates(pool, SAMPLE, NOW, limit=1)))
    assert lines[-1] == "1 ranked, left out: 1 by gate:relevance, 1 by limit"


def test_a_reason_reads_like_this() -> None:
    pool = [a_candidate("a", similarity=0.9), a_candidate("b", similarity=0.8, salience=0.25)]
    assert "\n".join(formatting.format_why(why_ranked("b", pool, builtin_profile("salience"), NOW, limit=1))) == (
        "b is at place 2, and the limit is 1\n"
        "score 0.530\n"
        "  + 0.800 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇     similarity 0.800 × 1\n"
        "  × 0.663 ▇▇▇▇▇▇▇▇▇▇▇▇▇        salience 0.250\n"
        "  × 1.000 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ rarity 1.000 (assumed)\n"
        "it would be included with salience 0.716 instead of 0.250"
    )


def test_several_ways_in_are_told_smallest_first() -> None:
    pool = [a_candidate("a", revisions=10), a_candidate("b", revisions=2, age=20 * DAY)]
    last = list(formatting.format_why(why_ranked("b", pool, builtin_profile("session"), NOW, limit=1)))[-2:]
    assert last[0].startswith("it would be included with ")
    assert last[1].startswith("or ")


def test_where_no_single_signal_would_have_done_it_says_so() -> None:
    pool = [a_candidate("a", similarity=1.0, salience=1.0), a_candidate("b", similarity=0.2, salience=0.2)]
    assert list(formatting.format_why(why_ranked("b", pool, builtin_profile("salience"), NOW, limit=1)))[-1] == (
        "no change of a single signal would include it"
    )


def test_who_is_in_or_short_of_tokens_is_told_of_no_signals() -> None:
    reason = why_ranked("m", [a_candidate()], builtin_profile("session"), NOW)
    for fate in (Ranked(1), Unpacked("budget", 90, 50, 840)):
        lines = list(formatting.format_why(replace(reason, fate=fate, changes=())))
        assert lines[-1].lstrip().startswith("+ ")


def test_what_nobody_was_asked_about_has_no_score() -> None:
    reason = why_ranked("m", [a_candidate()], builtin_profile("session"), NOW)
    barred = replace(reason, fate=Barred(Barrier.STATUS, Status.FORGOTTEN), changes=())
    assert list(formatting.format_why(barred)) == ["m is not recalled: it is forgotten"]


def test_a_needed_value_is_rounded_to_the_side_that_is_enough() -> None:
    reason = replace(
        why_ranked("m", [a_candidate()], builtin_profile("session"), NOW),
        fate=Outranked(2, 1),
        changes=(SignalChange("recency", 0.5, 0.71201, "at most 3 days old"),),
    )
    assert list(formatting.format_why(reason))[-1] == (
        "it would be included with recency 0.713 instead of 0.500 (at most 3 days old)"
    )


def test_a_profile_is_one_line() -> None:
    assert formatting.format_profile(builtin_profile("session")) == (
        "session              1   Rank observations to know before anyone asks: fresh, often revised, and of a "
        "kind that lasts."
    )


def test_a_text_of_several_lines_keeps_them_and_nothing_else_that_could_steer() -> None:
    assert formatting.split_printable_lines("one\r\n\ttwo\n\x1b[2J\rthree") == [
        "one",
        "        two",
        "\\x1b[2J\\rthree",
    ]


MARKER = "0123456789abcdef"


def test_a_context_is_explained_memory_by_memory_and_what_was_left_out_says_why() -> None:
    long = a_memory("b", text="word " * 200)
    context = pack(a_ranking([a_memory("a"), long]), Budget(150), Prompt(MARKER))
    (omitted,) = context.omitted
    assert list(formatting.format_context(context)) == [
        "  1. 1.000  a  deploys run on Fridays",
        f"     + 1.000 {'▇' * 20} relevance 1.000 × 1",
        "",
        f"left out: b, 0.500: it costs {omitted.cost} tokens, but only {omitted.room} were left",
    ]
    few = pack(a_ranking([a_memory("a"), a_memory("b")]), Budget(500, items=1), Prompt(MARKER))
    assert (
        list(formatting.format_context(few))[-1] == "left out: b, 0.500: the context has the maximum number of memories"
    )


def test_who_said_something_stands_before_it_in_a_ranking_and_in_a_context() -> None:
    ranking = a_ranking([a_memory("a", speaker="Ana"), a_memory("b", text="Ben: on Mondays", speaker="Ben")])
    heads = ["  1. 1.000  a  Ana: deploys run on Fridays", "  2. 0.500  b  Ben: on Mondays"]
    assert [line for line in formatting.format_ranking(ranking) if line in heads] == heads
    assert [
        line for line in formatting.format_context(pack(ranking, Budget(500), Prompt(MARKER))) if line in heads
    ] == heads
    assert formatting.quote_memory(a_memory("a", speaker="Ana")) == "a (Ana: deploys run on Fridays)"


def test_room_that_is_less_than_none_is_told_as_none() -> None:
    context = pack(a_ranking([a_memory("a"), a_memory("b", text="word " * 200)]), Budget(150), Prompt(MARKER))
    (omitted,) = context.omitted
    short = replace(context, omitted=(replace(omitted, room=-9),))
    assert list(formatting.format_context(short))[-1].endswith(f"it costs {omitted.cost} tokens, but only 0 were left")


def test_within_a_width_what_a_memory_says_is_cut_and_its_explanation_is_not() -> None:
    ranking = a_ranking([a_memory("a", text="word " * 200)])
    whole, within = list(formatting.format_ranking(ranking)), list(formatting.format_ranking(ranking, width=60))
    (heading, shown), *others = [pair for pair in zip(whole, within, strict=True) if pair[0] != pair[1]]
    assert not others
    assert len(shown) <= 60 < len(heading)
    assert shown.endswith("word…")
    context = pack(ranking, Budget(1200), Prompt(MARKER))
    assert next(formatting.format_context(context, width=60)) == shown


def test_what_a_context_came_to_is_one_line_or_breaks_behind_commas_where_there_is_less_room() -> None:
    ranking = replace(a_ranking([a_memory("a"), a_memory("b", text="word " * 200)]), excluded={"gate:relevance": 3})
    context = replace(pack(ranking, Budget(150), Prompt(MARKER)), id="c1")
    whole = (
        f"context c1: 1 memory, {context.tokens} of 150 tokens (estimated), left out: 1 by budget, 3 by gate:relevance"
    )
    assert (
        list(formatting.summarize_context(context))
        == list(formatting.summarize_context(context, len(whole) + 1))
        == [whole]
    )
    narrow = list(formatting.summarize_context(context, 60))
    assert [len(line) <= 60 for line in narrow] == [True, True]
    assert ", ".join(line.strip().removesuffix(",") for line in narrow) == whole
    assert len(list(formatting.summarize_context(context, 1))) == whole.count(", ") + 1
    nothing = replace(pack(a_ranking([]), Budget(150), Prompt(MARKER)), id="c2", estimated=False)
    assert list(formatting.summarize_context(nothing)) == ["context c2: 0 memories, 0 of 150 tokens"]


def test_a_memory_is_told_with_all_that_is_known_of_it() -> None:
    memory = a_memory(
        "seat",
        text="window seats,\n  mostly",
        title="Seats",
        kind=Kind.PREFERENCE,
        topic_key="travel",
        tags=("a", "b"),
        speaker="ana",
        session="s1",
        pinned=True,
        importance=0.7,
        valid_from=NOW,
        valid_until=NOW + DAY,
        provenance=Provenance.DIRECT_USER,
        source="mail-7",
        derived_from=("m1",),
        evidence=("I like windows",),
        metadata={"colour": "blue"},
    )
    usage = Usage(served=1, helped=2, misled=1, echoed=3, quoted=2, followed=1, last_served_at=NOW)
    assert list(formatting.format_memory(memory, usage)) == [
        "seat",
        "  Seats",
        "  window seats,",
        "    mostly",
        "kind       preference",
        "scope      acme/ana",
        "standing   pinned",
        "topic      travel",
        "tags       a, b",
        "said       by ana, s1",
        "observed   2026-01-01 00:00:00Z",
        "valid      from 2026-01-01 00:00:00Z until 2026-01-02 00:00:00Z",
        "judged     importance 0.7",
        "from       direct_user, mail-7",
        "lineage    m1, I like windows",
        'metadata   {"colour": "blue"}',
        "revisions  1",
        "served     1 time, last 2026-01-01 00:00:00Z",
        "feedback   2 helped, 1 misled: usefulness 0.600",
        "said again 3 times",
        "quoted     in 2 answers",
        "followed   by success 1 time",
    ]


def test_of_a_memory_nothing_is_told_that_is_not_known() -> None:
    assert list(formatting.format_memory(a_memory("m"), NO_USAGE)) == [
        "m",
        "  deploys run on Fridays",
        "kind       observation",
        "scope      acme/ana",
        "standing   active",
        "observed   2026-01-01 00:00:00Z",
        "from       model_inference",
        "revisions  1",
        "served     0 times",
    ]


@table(
    ("verdict", "said"),
    [
        (Created(), "created"),
        (Updated(3), "updated: revision 3"),
        (Reinforced(MemoryId("m")), "nothing new (the same words); counted as a repetition"),
        (Superseded(MemoryId("o"), "why"), "created; replaces o (why)"),
        (Outdated(MemoryId("n"), "why"), "created as outdated; n is newer (why)"),
        (Reactivated("forgotten"), "reactivated: it was forgotten and was repeated"),
        (Unindexed(MemoryId("t"), "why"), "stored but not indexed: why"),
        (Quarantined("why"), "quarantined: why"),
        (Quarantined("why", MemoryId("o")), "quarantined: why (o)"),
        (Refused("why"), "refused: why"),
        (Changed("pinned"), "now pinned"),
        (Unchanged(), "unchanged: nothing new"),
    ],
)
def test_every_verdict_has_its_words(verdict: Verdict, said: str) -> None:
    assert formatting.describe_verdict(verdict) == said


def test_looks_are_given_to_parts_and_change_no_word() -> None:
    seen: list[TextStyle] = []

    def paint(look: TextStyle, words: str) -> str:
        seen.append(look)
        return words

    pool = [a_candidate("a", similarity=0.9)]
    painted = list(formatting.format_ranking(rank_candidates(pool, builtin_profile("salience"), NOW), paint))
    assert painted == list(formatting.format_ranking(rank_candidates(pool, builtin_profile("salience"), NOW)))
    assert seen == [TextStyle.SCORE, TextStyle.BAR, TextStyle.BAR, TextStyle.BAR]


@table(
    ("verdict", "status", "way"),
    [
        (Quarantined("why"), Status.QUARANTINED, ("to release it", ("curate", "release"))),
        (Refused("why"), Status.FORGOTTEN, ("to restore it", ("restore",))),
        (Refused("why"), Status.ACTIVE, None),
        (Created(), Status.ACTIVE, None),
    ],
)
def test_what_keeps_a_memory_out_of_recall_comes_with_the_command_that_lets_it_in(
    verdict: Verdict, status: Status, way: tuple[str, tuple[str, ...]] | None
) -> None:
    memory = a_memory("m", status=status)
    expected = None if way is None else (way[0], (*way[1], "m", "--scope", "acme/ana"))
    assert formatting.suggest_remedy(Receipt(memory.id, verdict, memory)) == expected
    assert formatting.suggest_remedy(Receipt(None, verdict, None)) is None


def test_an_extract_that_is_kept_apart_comes_with_the_command_that_lets_it_in() -> None:
    memory = a_memory("my m", status=Status.QUARANTINED)
    said = Extract(text=memory.text, quote=memory.text, turn=0, kind=memory.kind)
    found = [([Receipt(memory.id, Quarantined("why"), memory)], Extraction(extracts=(said,)))]
    assert "  to release it: recollect curate release 'my m' --scope acme/ana" in list(
        extract.format_extractions(found)
    )


def test_a_tally_says_that_a_ranking_is_not_exact() -> None:
    every = a_ranking([a_memory("a")])
    assert formatting.tally_ranking(every) == "1 ranked"
    some = replace(every, proof=Proof(StopReason.INDEX, 1, 9), excluded={"unseen": 8})
    assert formatting.tally_ranking(some) == f"1 ranked, left out: 8 by unseen; {some.proof}"
