"""Text for people: memories, rankings, explanations, verdicts and tables of memories.

Functions named `format_…` yield or return text, `describe_…` a phrase, and `…_table` a table. All text from memories is
made printable, so it cannot control a terminal.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC
from typing import assert_never

from recollect.cli.tables import MIN_TEXT_COLUMNS, Paint, TextStyle, TextTable, paint_plain, truncate, wrap_at_commas
from recollect.model.context import Usage
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
from recollect.model.enums import TRUST_BY_PROVENANCE, Level, Status
from recollect.model.episode import read_action
from recollect.model.format import (
    escape_unprintable,
    format_count,
    format_left_out,
    format_moment,
    make_printable,
    shorten,
)
from recollect.model.memory import Memory, MemoryId
from recollect.packing.pack import Context, OmissionReason, Omitted
from recollect.packing.prompt import speaker_to_show
from recollect.ranking.explanation import Explanation
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking, Scored, StopReason
from recollect.ranking.why import (
    Barred,
    Ranked,
    Unpacked,
    Why,
    describe_change,
    describe_fate,
    format_start,
    tokens_left,
)

MAX_BAR_BLOCKS = 20
"""Length of the longest bar, in blocks."""


def format_ranking(ranking: Ranking, paint: Paint = paint_plain, width: int | None = None) -> Iterator[str]:
    """Yield a ranking with every explanation, best first; texts are cut to the width."""
    yield f"{ranking.profile}, version {ranking.version}, at {ranking.at.isoformat()}"
    for place, scored in enumerate(ranking, start=1):
        yield ""
        yield from _format_scored(place, scored, paint, width)
    yield ""
    yield tally_ranking(ranking)


def format_context(context: Context, paint: Paint = paint_plain, width: int | None = None) -> Iterator[str]:
    """Yield why each memory is in a context, and why others were left out; cut to the width."""
    for place, scored in enumerate(context.packed, start=1):
        yield from _format_scored(place, scored, paint, width)
        yield ""
    for one in context.omitted:
        yield f"left out: {one.scored.id}, {float(one.scored.score):.3f}: {_describe_omission(one)}"


def summarize_context(context: Context, width: int | None = None) -> Iterator[str]:
    """Yield the summary of a context, broken after commas to fit the width."""
    name = "context (not recorded)" if context.id is None else f"context {context.id}"
    yield from wrap_at_commas(f"{name}: {context.summary}", width)


def format_ranked_line(
    place: int, score: float, text: str, paint: Paint = paint_plain, width: int | None = None
) -> str:
    """Return the line of a ranked item: its rank, score and text, cut to the width."""
    rank, points, padded_text = f"{place:>3}. ", f"{score:.3f}", f"  {text}"
    room = None if width is None else max(width - len(rank) - len(points), MIN_TEXT_COLUMNS)
    return f"{rank}{paint(TextStyle.SCORE, points)}{padded_text if room is None else truncate(padded_text, room)}"


def format_explanation(explanation: Explanation, paint: Paint = paint_plain) -> Iterator[str]:
    """Yield what each signal contributes, as numbers and bars.

    The lines with `+` add up to a sum; multiplied by the lines with `×` it is the score.
    """
    for part in explanation.shown:
        yield f"+ {part.points:.3f} {paint(TextStyle.BAR, _draw_bar(part.points))} {make_printable(str(part))}"
    if explanation.silence is not None:
        yield f"+ 0.000 {paint(TextStyle.BAR, _draw_bar(0.0))} {explanation.silence}"
    for scale in explanation.scales:
        yield f"× {scale.times:.3f} {paint(TextStyle.BAR, _draw_bar(scale.times))} {make_printable(str(scale))}"


def format_why(why: Why, paint: Paint = paint_plain, by: Memory | None = None) -> Iterator[str]:
    """Yield why a candidate was or was not returned, and which changes would return it.

    `by` is the memory that replaced the candidate, if it is known.
    """
    quote = None if by is None else quote_memory(by)
    yield f"{paint(TextStyle.STRONG, why.id)} {describe_fate(why.fate, why.candidate.memory, quote)}"
    if isinstance(why.fate, Barred):
        return  # a barred candidate is never scored
    yield f"score {paint(TextStyle.SCORE, f'{why.explanation.score:.3f}')}"
    yield from (f"  {line}" for line in format_explanation(why.explanation, paint))
    if isinstance(why.fate, Ranked):
        return
    if not why.changes and not isinstance(why.fate, Unpacked):
        yield "no change of a single signal would include it"
    for lead, change in zip(["it would be included with", *["or"] * len(why.changes)], why.changes, strict=False):
        yield f"{lead} {describe_change(change)}"


def format_memory(memory: Memory, usage: Usage, paint: Paint = paint_plain, by: Memory | None = None) -> Iterator[str]:
    """Yield everything known about a memory: its text, fields, replacement and usage."""
    yield paint(TextStyle.STRONG, memory.id)
    if memory.title is not None:
        yield f"  {make_printable(memory.title)}"
    yield from (f"  {line}" for line in split_printable_lines(memory.text))
    facts = {name: value for name, value in (*_memory_facts(memory, by), *_usage_facts(usage)) if value}
    for name, value in facts.items():
        yield f"{paint(TextStyle.FAINT, f'{name:<10}')} {make_printable(value)}"


def describe_verdict(verdict: Verdict) -> str:
    """Describe what a write did to a memory."""
    match verdict:
        case Created():
            return "created"
        case Updated(revision, instead_of):
            return f"updated: revision {revision}{_describe_ended(instead_of)}"
        case Reinforced(_, reason):
            return f"nothing new ({reason}); counted as a repetition"
        case Superseded(old, reason):
            return f"created; replaces {old} ({reason})"
        case Outdated(newer, reason):
            return f"created as outdated; {newer} is newer ({reason})"
        case Reactivated(was, instead_of):
            return f"reactivated: it was {was} and was repeated{_describe_ended(instead_of)}"
        case Unindexed(_, reason):
            return f"stored but not indexed: {reason}"
        case Quarantined(reason, other):
            return f"quarantined: {reason}{_describe_other(other)}"
        case Refused(reason, _):
            return f"refused: {reason}"
        case Changed(to, instead_of):
            return f"now {to}{_describe_ended(instead_of)}"
        case Unchanged():
            return "unchanged: nothing new"
        case _ as unknown:
            assert_never(unknown)


def _describe_ended(other: MemoryId | None) -> str:
    return "" if other is None else f"; replaces {other}"


def _describe_other(other: MemoryId | None) -> str:
    return "" if other is None else f" ({other})"


def format_receipt(receipt: Receipt) -> Iterator[str]:
    """Yield the verdict on a write, and what was redacted before it was stored."""
    yield describe_verdict(receipt.verdict)
    if receipt.redacted:
        yield f"removed before storing: {', '.join(receipt.redacted)}"


def format_profile(profile: Profile) -> str:
    """Return a profile as one line."""
    return f"{profile.name:<20} {profile.version:<3} {profile.about}"


def tally_ranking(ranking: Ranking) -> str:
    """Describe how many memories were ranked and how many were left out for each reason.

    If the search stopped early, the proof that the result is still right is appended.
    """
    proof = "" if ranking.proof.stopped is StopReason.EVERY else f"; {ranking.proof}"
    return f"{len(ranking)} ranked{format_left_out(ranking.excluded)}{proof}"


def format_marks(memory: Memory) -> str:
    """Return the marks of a memory, such as pinned, separated by commas."""
    return ", ".join(memory.marks)


def format_headline(memory: Memory) -> str:
    """Return the text of a memory on one line, after its title and its speaker if it has them."""
    text = _text_with_speaker(memory)
    return make_printable(text if memory.title is None else f"{memory.title}: {text}")


def quote_memory(memory: Memory) -> str:
    """Return the id of a memory with the start of its text."""
    return f"{memory.id} ({shorten(format_headline(memory))})"


def describe_replacement(memory: Memory, by: Memory | None = None) -> str:
    """Describe which memory replaced this one; empty if there is none."""
    if memory.superseded_by is None:
        return ""
    return f"replaced by {memory.superseded_by if by is None else quote_memory(by)}"


def suggest_remedy(receipt: Receipt) -> tuple[str, tuple[str, ...]] | None:
    """Return how to make a memory with this verdict recallable, or None if that is not needed.

    The result is a purpose, and the arguments to type after `recollect`.
    """
    if not receipt.kept:
        return None
    match receipt.verdict:
        case Quarantined():
            return "to release it", release_command(receipt.memory)
        case Refused() if receipt.memory.status is not Status.ACTIVE:
            return "to restore it", ("restore", *_memory_arguments(receipt.memory))
        case _:
            return None


def release_command(memory: Memory) -> tuple[str, ...]:
    """Return the arguments of `recollect` that release a quarantined memory."""
    return ("curate", "release", *_memory_arguments(memory))


def _memory_arguments(memory: Memory) -> tuple[str, ...]:
    """Return the id and scope of a memory as arguments, safe for an id that starts with `-`."""
    scope = "--scope", str(memory.scope)
    return (*scope, "--", memory.id) if memory.id.startswith("-") else (memory.id, *scope)


def format_day(memory: Memory) -> str:
    """Return the day on which the present text was observed, in UTC."""
    return (memory.observed_at or memory.created_at).date().isoformat()


def split_printable_lines(text: str) -> list[str]:
    """Split a text into lines, with characters that could control a terminal escaped."""
    return [escape_unprintable(line.expandtabs()) for line in text.replace("\r\n", "\n").split("\n")]


def _format_scored(place: int, scored: Scored, paint: Paint, width: int | None) -> Iterator[str]:
    memory = scored.candidate.memory
    text = scored.id if memory is None else f"{scored.id}  {make_printable(_text_with_speaker(memory))}"
    yield format_ranked_line(place, float(scored.score), text, paint, width)
    if memory is not None and (ending := ", ".join(_format_ending(memory))):
        yield f"     {ending}"
    yield from (f"     {line}" for line in format_explanation(scored.explanation, paint))


def _text_with_speaker(memory: Memory) -> str:
    """Return the text after its speaker's name, unless the text begins with that name."""
    speaker, text = speaker_to_show(memory), _describe_action(memory) if memory.level is Level.ACTION else memory.text
    return text if speaker is None else f"{speaker}: {text}"


def _describe_action(memory: Memory) -> str:
    """Describe an action of an episode."""
    action = read_action(memory)
    detail = action.input or action.output
    return f"{action.type}, {action.result.value}{detail and f': {detail}'}"


def _draw_bar(value: float) -> str:
    return f"{'▇' * round(value * MAX_BAR_BLOCKS):<{MAX_BAR_BLOCKS}}"


def _describe_omission(one: Omitted) -> str:
    match one.reason:
        case OmissionReason.BUDGET:
            return f"it costs {one.cost} tokens, but only {tokens_left(one.room)} were left"
        case OmissionReason.ITEMS:
            return "the context has the maximum number of memories"
        case _ as unknown:
            assert_never(unknown)


def _memory_facts(memory: Memory, by: Memory | None) -> Iterator[tuple[str, str]]:
    yield "kind", memory.kind.value
    yield "level", "" if memory.level is None else memory.level.value
    yield "scope", str(memory.scope)
    yield "standing", format_marks(memory) or memory.status.value
    yield "replaced", describe_replacement(memory, by).removeprefix("replaced ")
    yield "remark", memory.remark or ""
    yield "topic", memory.topic_key or ""
    yield "subject", memory.subject or ""
    yield "tags", ", ".join(memory.tags)
    yield "said", ", ".join(filter(None, [memory.speaker and f"by {memory.speaker}", memory.session]))
    yield "observed", format_moment(memory.observed_at or memory.created_at)
    yield "valid", " ".join(_format_validity(memory))
    judged = {name: getattr(memory, name) for name in ("importance", "confidence", "salience")}
    yield "judged", ", ".join(f"{name} {value:g}" for name, value in judged.items() if value is not None)
    yield "from", ", ".join(filter(None, [memory.provenance.value, memory.source]))
    yield "trust", "" if memory.trust is TRUST_BY_PROVENANCE[memory.provenance] else memory.trust.value
    yield "lineage", ", ".join((*memory.derived_from, *memory.evidence))
    yield "metadata", json.dumps(dict(memory.metadata), ensure_ascii=False) if memory.metadata else ""
    yield "revisions", str(memory.revisions)


def _format_validity(memory: Memory) -> Iterator[str]:
    if memory.valid_from is not None:
        yield f"from {format_moment(memory.valid_from)}"
    if memory.valid_until is not None:
        yield f"until {format_moment(memory.valid_until)}"


def _format_ending(memory: Memory) -> Iterator[str]:
    if memory.valid_until is not None:
        yield f"until {format_start(memory.valid_until)}"
    if memory.superseded_by is not None:
        yield describe_replacement(memory)


def _usage_facts(usage: Usage) -> Iterator[tuple[str, str]]:
    last = f", last {format_moment(usage.last_served_at)}" if usage.last_served_at is not None else ""
    yield "served", f"{format_count(usage.served, 'time')}{last}"
    votes = f"{usage.helped} helped, {usage.misled} misled"
    yield "feedback", "" if usage.usefulness is None else f"{votes}: usefulness {usage.usefulness:.3f}"
    yield "said again", format_count(usage.echoed, "time") if usage.echoed else ""
    yield "quoted", f"in {format_count(usage.quoted, 'answer')}" if usage.quoted else ""
    yield "followed", f"by success {format_count(usage.followed, 'time')}" if usage.followed else ""


Replacements = Mapping[MemoryId, Memory]
"""The memories that replaced others, by id; only those that are known."""


def ranking_table(ranking: Ranking, instead: Replacements | None = None) -> TextTable:
    """Return search results as a table, best first."""
    rows = [
        (
            f"{float(one.score):.3f}",
            one.id,
            one.memory.kind.value,
            format_day(one.memory),
            _memory_text(one.memory, instead),
        )
        for one in ranking
    ]
    return TextTable(("score", "id", "kind", "date", "text"), rows)


def memory_table(memories: Iterable[Memory], instead: Replacements | None = None) -> TextTable:
    """Return memories as a table, in the order given."""
    rows = [
        (one.id, str(one.scope), one.kind.value, format_day(one), format_marks(one), _memory_text(one, instead))
        for one in memories
    ]
    return TextTable(("id", "scope", "kind", "date", "marks", "text"), rows)


def version_table(versions: Iterable[Memory], instead: Replacements | None = None) -> TextTable:
    """Return the versions of one memory as a table, with the time and run that recorded each."""
    rows = [
        (
            str(one.revisions),
            "" if one.recorded_at is None else format_moment(one.recorded_at),
            "" if one.commit is None else str(one.commit),
            format_marks(one),
            _memory_text(one, instead),
        )
        for one in versions
    ]
    return TextTable(("revision", "recorded", "run", "marks", "text"), rows)


def _memory_text(memory: Memory, instead: Replacements | None) -> str:
    """Return the text of a memory with notes: its end of validity, replacement and quarantine."""
    until = "" if memory.valid_until is None else f"[until {memory.valid_until.astimezone(UTC).date().isoformat()}] "
    by = None if instead is None or memory.superseded_by is None else instead.get(memory.superseded_by)
    quarantine_reason = memory.remark if memory.status is Status.QUARANTINED else None
    notes = "".join(f" [{make_printable(why)}]" for why in (describe_replacement(memory, by), quarantine_reason) if why)
    return f"{until}{format_headline(memory)}{notes}"
