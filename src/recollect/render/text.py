"""Values for people: a terminal, a log, a page."""

import json
from collections.abc import Iterator, Sequence
from typing import assert_never

from recollect.model.archive import Imported, Inventory
from recollect.model.episode import action_of
from recollect.model.erasure import Erasure
from recollect.model.format import counted, left_out, moment, printable, shortened, spelled_out
from recollect.model.level import Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.report import Report
from recollect.model.trust import TRUST
from recollect.model.usage import Usage
from recollect.model.verdict import (
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
from recollect.packing.pack import Context, Omitted, Reason
from recollect.packing.prompt import said_by
from recollect.ranking.explanation import Explanation
from recollect.ranking.profile import Profile
from recollect.ranking.proof import Stopped
from recollect.ranking.result import Ranking, Scored
from recollect.ranking.why import Barred, Ranked, Unpacked, Why
from recollect.ranking.why_text import beginning, change_in_words, fate_in_words, left
from recollect.render.styles import Look, Paint, plain
from recollect.render.table import LEAST, cut, wrapped

BAR = 20
"""How many blocks the longest bar has."""

NAMED = 10
"""How many ids are named one by one."""


def ranking(ranking: Ranking, paint: Paint = plain, width: int | None = None) -> Iterator[str]:
    """A ranking with every explanation, best first; what a memory says is cut to the width, if there is one."""
    yield f"{ranking.profile}, version {ranking.version}, at {ranking.at.isoformat()}"
    for place, scored in enumerate(ranking, start=1):
        yield ""
        yield from _placed(place, scored, paint, width)
    yield ""
    yield tally(ranking)


def context(context: Context, paint: Paint = plain, width: int | None = None) -> Iterator[str]:
    """Why each memory of a context is in it, and what kept out those that are not; cut like a ranking."""
    for place, scored in enumerate(context.packed, start=1):
        yield from _placed(place, scored, paint, width)
        yield ""
    for one in context.omitted:
        yield f"left out: {one.scored.id}, {float(one.scored.score):.3f}: {_omission(one)}"


def handed(context: Context, width: int | None = None) -> Iterator[str]:
    """What a context came to: in one line, or in as few as the width takes, broken behind commas."""
    name = "context, of which nothing is kept" if context.id is None else f"context {context.id}"
    yield from wrapped(f"{name}: {context.summary}", width)


def placed(place: int, score: float, said: str, paint: Paint = plain, width: int | None = None) -> str:
    """The line of one that is ranked: its place, its score, and what it is, cut to the width, if there is one."""
    rank, points, shown = f"{place:>3}. ", f"{score:.3f}", f"  {said}"
    room = None if width is None else max(width - len(rank) - len(points), LEAST)
    return f"{rank}{paint(Look.SCORE, points)}{shown if room is None else cut(shown, room)}"


def explanation(explanation: Explanation, paint: Paint = plain) -> Iterator[str]:
    """What each signal contributed, as numbers and bars; the lines add up and multiply to the score."""
    for part in explanation.shown:
        yield f"+ {part.points:.3f} {paint(Look.BAR, _bar(part.points))} {printable(str(part))}"
    if explanation.silence is not None:
        yield f"+ 0.000 {paint(Look.BAR, _bar(0.0))} {explanation.silence}"
    for scale in explanation.scales:
        yield f"× {scale.times:.3f} {paint(Look.BAR, _bar(scale.times))} {printable(str(scale))}"


def why(why: Why, paint: Paint = plain, by: Memory | None = None) -> Iterator[str]:
    """Where a candidate stands or fell, and what would have put it in; `by` is what took its place, if known."""
    spoken = None if by is None else quoted(by)
    yield f"{paint(Look.STRONG, why.id)} {fate_in_words(why.fate, why.candidate.memory, spoken)}"
    if isinstance(why.fate, Barred):
        return  # nobody asked about it, so it has no score
    yield f"score {paint(Look.SCORE, f'{why.explanation.score:.3f}')}"
    yield from (f"  {line}" for line in explanation(why.explanation, paint))
    if isinstance(why.fate, Ranked):
        return
    if not why.changes and not isinstance(why.fate, Unpacked):
        yield "no single signal could have put it in"
    for lead, change in zip(["it would have been in with", *["or"] * len(why.changes)], why.changes, strict=False):
        yield f"{lead} {change_in_words(change)}"


def memory(memory: Memory, usage: Usage, paint: Paint = plain, by: Memory | None = None) -> Iterator[str]:
    """A memory with all that is known of it, what took its place and what happened to it since."""
    yield paint(Look.STRONG, memory.id)
    if memory.title is not None:
        yield f"  {printable(memory.title)}"
    yield from (f"  {line}" for line in printable_lines(memory.text))
    said = {name: value for name, value in (*_facts(memory, by), *_uses(usage)) if value}
    for name, value in said.items():
        yield f"{paint(Look.FAINT, f'{name:<10}')} {printable(value)}"


def verdict(verdict: Verdict) -> str:
    """What became of a draft, or of a change."""
    match verdict:
        case Created():
            return "created"
        case Updated(revision, instead_of):
            return f"updated: revision {revision}{_ended(instead_of)}"
        case Reinforced(_, reason):
            return f"nothing new ({reason}); counted as said again"
        case Superseded(old, reason):
            return f"created; {old} holds no longer ({reason})"
        case Outdated(newer, reason):
            return f"created as what held until {newer} ({reason})"
        case Reactivated(was, instead_of):
            return f"back: it was {was}, and was said again since{_ended(instead_of)}"
        case Unindexed(_, reason):
            return f"kept, and not indexed: {reason}"
        case Quarantined(reason, other):
            return f"quarantined: {reason}{_other(other)}"
        case Refused(reason, _):
            return f"refused: {reason}"
        case Changed(to, instead_of):
            return f"now {to}{_ended(instead_of)}"
        case Unchanged():
            return "unchanged: nothing of that is new"
        case _ as unknown:
            assert_never(unknown)


def _ended(other: MemoryId | None) -> str:
    return "" if other is None else f"; {other} holds no longer"


def _other(other: MemoryId | None) -> str:
    return "" if other is None else f" ({other})"


def receipt(receipt: Receipt) -> Iterator[str]:
    """What became of a draft or of a change, and what was taken out of it before."""
    yield verdict(receipt.verdict)
    if receipt.redacted:
        yield f"taken out before anything was kept: {', '.join(receipt.redacted)}"


def erasure(erasure: Erasure, paint: Paint = plain) -> Iterator[str]:
    """What was erased, where it was looked for, what was found, and what is out of reach."""
    for name, value in _findings(erasure):
        yield f"{paint(Look.FAINT, f'{name:<12}')} {printable(value)}"


def unproved(erasure: Erasure) -> str:
    """Asks whether to look once more for what was erased."""
    return f"Erased, but it is not proved: {erasure.search.unfinished}. Look again now?"


def exported(inventory: Inventory) -> str:
    """What went into an export."""
    return f"exported {_items(inventory.memories, inventory.contexts)}"


def imported(imported: Imported) -> Iterator[str]:
    """What came of an export that was taken in."""
    added = _items(imported.memories, imported.contexts)
    were = "was" if imported.skipped == 1 else "were"
    yield f"added {added}; skipped {imported.skipped} that {were} there already"
    if imported.re_embedded is not None:
        yield f"embedded anew: the vectors of the export were of {imported.re_embedded}"


def report(report: Report, paint: Paint = plain) -> Iterator[str]:
    """What is in a file that was checked, and all that is wrong with it."""
    yield f"{paint(Look.STRONG, printable(report.path))}  {_items(report.memories, report.contexts)}"
    for problem in report.problems:
        yield f"{paint(Look.STRONG, 'problem')}  {printable(problem)}"
    if report.ok:
        sealed = "not a byte has changed since the backup was made" if report.sealed else "a store without a seal"
        recalled = "a recall found what it had to find" if report.recalled else "there was nothing to recall"
        yield f"{paint(Look.SCORE, 'ok')}  restored, every row checked; {sealed}; {recalled}"


def profile(profile: Profile) -> str:
    """A profile in one line."""
    return f"{profile.name:<20} {profile.version:<3} {profile.about}"


def tally(ranking: Ranking) -> str:
    """How many were ranked, how many were left out for which reason, and the proof where not all were looked at."""
    proof = "" if ranking.proof.stopped is Stopped.EVERY else f"; {ranking.proof}"
    return f"{len(ranking)} ranked{left_out(ranking.excluded)}{proof}"


def marks(memory: Memory) -> str:
    """What sets the memory apart, in words."""
    return ", ".join(memory.marks)


def headline(memory: Memory) -> str:
    """What the memory says, on one line, after its title if it has one and the name of who said it if that is known."""
    spoken = _spoken(memory)
    return printable(spoken if memory.title is None else f"{memory.title}: {spoken}")


def quoted(memory: Memory) -> str:
    """The memory as one speaks of it: its id, and how it begins."""
    return f"{memory.id} ({shortened(headline(memory))})"


def replaced(memory: Memory, by: Memory | None = None) -> str:
    """What took the place of the memory, with its words if it is known; nothing if nothing did."""
    if memory.superseded_by is None:
        return ""
    return f"replaced by {memory.superseded_by if by is None else quoted(by)}"


def remedy(receipt: Receipt) -> tuple[str, tuple[str, ...]] | None:
    """What can be done about a verdict that keeps a memory out of every recall, and what is typed after `recollect`."""
    if not receipt.kept:
        return None
    match receipt.verdict:
        case Quarantined():
            return "to let it be recalled", release(receipt.memory)
        case Refused() if receipt.memory.status is not Status.ACTIVE:
            return "to bring it back", ("restore", *_named(receipt.memory))
        case _:
            return None


def release(memory: Memory) -> tuple[str, ...]:
    """What is typed after `recollect` to let a quarantined memory be recalled."""
    return ("curate", "release", *_named(memory))


def _named(memory: Memory) -> tuple[str, ...]:
    """The memory as a command takes it, whatever its id begins with."""
    scope = "--scope", str(memory.scope)
    return (*scope, "--", memory.id) if memory.id.startswith("-") else (memory.id, *scope)


def date(memory: Memory) -> str:
    """The day its present text was observed, in UTC."""
    return (memory.observed_at or memory.created_at).date().isoformat()


def printable_lines(text: str) -> list[str]:
    """The text line by line, with whatever could steer a terminal spelled out."""
    return [spelled_out(line.expandtabs()) for line in text.replace("\r\n", "\n").split("\n")]


def _placed(place: int, scored: Scored, paint: Paint, width: int | None) -> Iterator[str]:
    known = scored.candidate.memory
    said = scored.id if known is None else f"{scored.id}  {printable(_spoken(known))}"
    yield placed(place, float(scored.score), said, paint, width)
    if known is not None and (over := ", ".join(_ending(known))):
        yield f"     {over}"
    yield from (f"     {line}" for line in explanation(scored.explanation, paint))


def _spoken(memory: Memory) -> str:
    """The text, after the name of who said it, as in a transcript; once, if the text begins with the name already."""
    speaker, said = said_by(memory), _done(memory) if memory.level is Level.ACTION else memory.text
    return said if speaker is None else f"{speaker}: {said}"


def _done(memory: Memory) -> str:
    """What was done for a task, in words."""
    action = action_of(memory)
    given = action.input or action.output
    return f"{action.type}, {action.result.value}{given and f': {given}'}"


def _bar(value: float) -> str:
    return f"{'▇' * round(value * BAR):<{BAR}}"


def _items(memories: int, contexts: int) -> str:
    return f"{counted(memories, 'memory', 'memories')} and {counted(contexts, 'context')}"


def _omission(one: Omitted) -> str:
    match one.reason:
        case Reason.BUDGET:
            return f"it costs {one.cost} tokens, and {left(one.room)} were left"
        case Reason.ITEMS:
            return "there were as many as may be"
        case _ as unknown:
            assert_never(unknown)


def _findings(erasure: Erasure) -> Iterator[tuple[str, str]]:
    search = erasure.search
    memories = counted(erasure.memories, "memory", "memories")
    versions = counted(erasure.versions, "version")
    contexts = counted(erasure.contexts, "context")
    yield "erased", f"{memories} of {erasure.scope} with {versions}, and all of it in {contexts}"
    if erasure.ids:
        yield "ids", _some(erasure.ids)
    more = {"use": erasure.uses, "vote": erasure.votes, "key": erasure.keys, "checkpoint": erasure.checkpoints}
    with_it = [counted(erasure.vectors, "vector"), *(counted(count, name) for name, count in more.items())]
    yield "with it", f"its words in the index of texts, {', '.join(with_it)}"
    if erasure.restored:
        yield "holds again", f"{_some(erasure.restored)}: what it was recalled through is gone"
    if erasure.made_of:
        says, that, all_ = ("says", "that", "both") if len(erasure.made_of) == 1 else ("say", "these", "all")
        yield "made of", f"{_some(erasure.made_of)}, which still {says} it; erase {that} to be rid of {all_}"
    if search.rewritten:
        yield "rewritten", _some(search.rewritten)
    yield "searched", _some(search.files) or f"no files: {search.unsearched or 'the store has none'}"
    if erasure.proven:
        yield "proved", "nothing of it is left there"
    for place in search.remains:
        yield "left", place
    if search.unfinished is not None:
        yield "not proved", search.unfinished
    same = [f"{counted(count, 'row')} of {table}" for table, count in search.elsewhere.items()]
    if same:
        yield "same bytes", f"in {', '.join(same)}, which belong to what was not erased"
    yield from zip(["out of reach", *[""] * len(erasure.out_of_reach)], erasure.out_of_reach, strict=False)


def _some(names: Sequence[str]) -> str:
    """The first of the names, and how many more there are."""
    more = [f"and {len(names) - NAMED} more"] if len(names) > NAMED else []
    return ", ".join([*names[:NAMED], *more])


def _facts(memory: Memory, by: Memory | None) -> Iterator[tuple[str, str]]:
    yield "kind", memory.kind.value
    yield "level", "" if memory.level is None else memory.level.value
    yield "scope", str(memory.scope)
    yield "standing", marks(memory) or memory.status.value
    yield "replaced", replaced(memory, by).removeprefix("replaced ")
    yield "remark", memory.remark or ""
    yield "topic", memory.topic_key or ""
    yield "subject", memory.subject or ""
    yield "tags", ", ".join(memory.tags)
    yield "said", ", ".join(filter(None, [memory.speaker and f"by {memory.speaker}", memory.session]))
    yield "observed", moment(memory.observed_at or memory.created_at)
    yield "valid", " ".join(_validity(memory))
    judged = {name: getattr(memory, name) for name in ("importance", "confidence", "salience")}
    yield "judged", ", ".join(f"{name} {value:g}" for name, value in judged.items() if value is not None)
    yield "from", ", ".join(filter(None, [memory.provenance.value, memory.source]))
    yield "trust", "" if memory.trust is TRUST[memory.provenance] else memory.trust.value
    yield "lineage", ", ".join((*memory.derived_from, *memory.evidence))
    yield "metadata", json.dumps(dict(memory.metadata), ensure_ascii=False) if memory.metadata else ""
    yield "revisions", str(memory.revisions)


def _validity(memory: Memory) -> Iterator[str]:
    if memory.valid_from is not None:
        yield f"from {moment(memory.valid_from)}"
    if memory.valid_until is not None:
        yield f"until {moment(memory.valid_until)}"


def _ending(memory: Memory) -> Iterator[str]:
    if memory.valid_until is not None:
        yield f"until {beginning(memory.valid_until)}"
    if memory.superseded_by is not None:
        yield replaced(memory)


def _uses(usage: Usage) -> Iterator[tuple[str, str]]:
    last = f", last {moment(usage.last_served_at)}" if usage.last_served_at is not None else ""
    yield "served", f"{counted(usage.served, 'time')}{last}"
    votes = f"{usage.helped} helped, {usage.misled} misled"
    yield "feedback", "" if usage.usefulness is None else f"{votes}: usefulness {usage.usefulness:.3f}"
    yield "said again", counted(usage.echoed, "time") if usage.echoed else ""
    yield "quoted", f"in {counted(usage.quoted, 'answer')}" if usage.quoted else ""
    yield "followed", f"by success {counted(usage.followed, 'time')}" if usage.followed else ""
