"""The scorer, in plain Python: the oracle that every other engine is measured against."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from recollect.errors import InvalidInput, SignalMissing, show
from recollect.model import validation
from recollect.model.candidate import Candidate
from recollect.model.memory import MemoryId
from recollect.ranking.explanation import Explanation, Part, Scale
from recollect.ranking.profile import Factor, Gate, Profile, Question, Term
from recollect.ranking.proof import Proof
from recollect.ranking.result import Ranking, Scheme, Scored, tally
from recollect.ranking.set_signals import Given, SetSignal
from recollect.ranking.signals import read

SetEvidence = Mapping[str, Given]
"""What the set signals found for one candidate, by signal."""

NO_EVIDENCE: SetEvidence = {}
Noted = TypeVar("Noted", Part, Scale)
UNKNOWN = Given(None)


def rank(
    candidates: Iterable[Candidate],
    profile: Profile,
    at: datetime,
    *,
    limit: int | None = None,
    asked: bool = False,
) -> Ranking:
    """Every candidate that passes the gates, best first; `limit` keeps the best few.

    `asked` says that there was a question, even one that found nothing anywhere.
    """
    pool = list(candidates)
    at = check(at, limit)
    check_question(profile, asked=asked, found=not pool or any(c.questioned for c in pool))
    validation.unique_ids([candidate.id for candidate in pool])
    validation.same_dimensions((candidate.id, candidate.vector) for candidate in pool)

    scheme = Scheme(profile, at)
    excluded: Counter[str] = Counter()
    eligible: list[Candidate] = []
    for candidate in pool:
        gate = closed_gate(candidate, profile, at)
        if gate is None:
            eligible.append(candidate)
        else:
            excluded[f"gate:{gate.signal.name}"] += 1
    given = gather(eligible, profile, at)
    scored = [Scored.of(c, explain(c, profile, at, given.get(c.id, NO_EVIDENCE)), scheme) for c in eligible]
    passed = [one for one in scored if float(one.score) >= profile.min_score]
    passed.sort(key=lambda one: (-one.score, one.id))
    kept = passed if limit is None else passed[:limit]
    excluded["min_score"] = len(scored) - len(passed)
    excluded["limit"] = len(passed) - len(kept)
    return Ranking(scheme=scheme, scored=tuple(kept), proof=Proof.scan(len(pool)), excluded=tally(profile, excluded))


def explain(candidate: Candidate, profile: Profile, at: datetime, given: SetEvidence = NO_EVIDENCE) -> Explanation:
    """The candidate's score as its parts and scales, whether or not a gate would let it in."""
    parts = tuple(_part(term, candidate, at, given) for term in profile.terms)
    scales = tuple(_scale(factor, candidate, at, given) for factor in profile.factors)
    used = {use.signal.name for use in profile.uses}
    opened = dict(note for gate in profile.gates if (note := _opened(gate, candidate, at, used)))
    if opened:
        parts = tuple(_remarked(part, opened.get(part.signal)) for part in parts)
        scales = tuple(_remarked(scale, opened.get(scale.factor)) for scale in scales)
    return Explanation(parts, scales)


def closed_gate(candidate: Candidate, profile: Profile, at: datetime) -> Gate | None:
    """The first gate that keeps the candidate out: no evidence, or too little of it."""
    return next((gate for gate in profile.gates if not passes(gate, candidate, at)), None)


def passes(gate: Gate, candidate: Candidate, at: datetime) -> bool:
    """Whether the candidate has any of the evidence that opens the gate, and enough of it."""
    return any(_enough(way, candidate, at) for way in gate.ways)


def _enough(way: Gate, candidate: Candidate, at: datetime) -> bool:
    value = read(way.signal, candidate, at)
    return value is not None and value >= way.at_least


def _opened(gate: Gate, candidate: Candidate, at: datetime, used: Collection[str]) -> tuple[str, str] | None:
    """What opened a gate that its own signal did not, by the signal that tells it; nothing where it did, or none."""
    value = read(gate.signal, candidate, at)
    way = next((way for way in gate.ways if _enough(way, candidate, at)), gate)
    if way is gate:
        return None
    if gate.signal.name not in used:
        return way.signal.name, f"opened the gate of {gate.signal.name}"
    under = "no evidence for the gate" if value is None else f"under the gate's {gate.at_least:g}"
    return gate.signal.name, f"{under}, which {way.signal.name} opened"


def _remarked(heard: Noted, note: str | None) -> Noted:
    return heard if note is None else replace(heard, note=f"{heard.note}; {note}" if heard.note else note)


def gather(candidates: Sequence[Candidate], profile: Profile, at: datetime) -> Mapping[MemoryId, SetEvidence]:
    """What the profile's set signals find among these candidates, for each of them."""
    if not profile.set_signals:
        return {}
    from recollect.model.table import Table
    from recollect.ranking.columns import Columns  # NumPy, only where a set is looked at
    from recollect.ranking.set_signal_columns import every_row, evidence, gather_sets

    table = Table.of(candidates)
    sets = gather_sets(Columns(table, at), profile, every_row(table))
    return {candidate.id: evidence(sets, row) for row, candidate in enumerate(candidates)}


def check(at: datetime, limit: int | None) -> datetime:
    """The moment in UTC; a moment that is none is refused, and so is a limit that keeps nothing."""
    if limit is not None and (type(limit) is not int or limit < 1):
        raise InvalidInput(f"limit is {show(limit)}; give a whole number of at least 1, or leave it out")
    return validation.a_moment("at", at)


def check_question(profile: Profile, *, asked: bool, found: bool) -> None:
    """Refuse to rank without a question what is about one, and the reverse."""
    if asked and profile.question is Question.REFUSED:
        raise InvalidInput(f"profile {profile.name!r} takes no question; it is for a brief")
    if profile.question is Question.NEEDED and not asked and not found:
        raise SignalMissing(
            f"profile {profile.name!r} needs a question, but no candidate has similarity, lexical or "
            "relevance; bring evidence, or use a profile that takes no question, such as 'session'"
        )


def _part(term: Term, candidate: Candidate, at: datetime, given: SetEvidence) -> Part:
    opinion = _opinion(term, candidate, at, given)
    return Part(term.signal.name, opinion.value, term.weight, opinion.assumed, opinion.note)


def _scale(factor: Factor, candidate: Candidate, at: datetime, given: SetEvidence) -> Scale:
    opinion = _opinion(factor, candidate, at, given)
    return Scale(factor.signal.name, opinion.value, factor.floor, opinion.assumed, opinion.note)


@dataclass(frozen=True, slots=True)
class _Opinion:
    """What a signal said, or what the profile says its silence is worth."""

    value: float
    assumed: bool
    note: str | None


def _opinion(use: Term | Factor, candidate: Candidate, at: datetime, given: SetEvidence) -> _Opinion:
    name = use.signal.name
    if isinstance(use.signal, SetSignal):
        found = given.get(name, UNKNOWN)
        value, note = found.value, found.note
    else:
        value, note = read(use.signal, candidate, at), use.signal.quantity.remark(candidate, at)
    if value is not None:
        return _Opinion(value, assumed=False, note=note)
    if use.missing is None:
        raise SignalMissing(
            f"candidate {candidate.id!r} has no evidence for {name}, and the profile does not say what "
            f"that is worth; give the candidate a value, or the profile `{name}.missing`"
        )
    return _Opinion(use.missing, assumed=True, note=note)
