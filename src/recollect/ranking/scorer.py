"""The reference scorer in plain Python: the definition of a ranking.

`rank_candidates` gates, explains, sorts and cuts. `explain` makes a score of the profile's terms and factors. Every
faster implementation must give the same result, to the last bit.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from recollect.errors import InvalidInput, SignalMissing, show
from recollect.model import validation
from recollect.model.candidate import Candidate
from recollect.model.memory import MemoryId
from recollect.ranking.explanation import Explanation, ScoreFactor, ScorePart
from recollect.ranking.profile import Factor, Gate, Profile, QuestionPolicy, Term
from recollect.ranking.result import Proof, Ranking, Scheme, Scored, order_exclusions
from recollect.ranking.signals import SetSignal, SetSignalValue, signal_value

SetEvidence = Mapping[str, SetSignalValue]
"""The values of the set signals for one candidate, by signal."""

NO_EVIDENCE: SetEvidence = {}
PartOrFactor = TypeVar("PartOrFactor", ScorePart, ScoreFactor)
NO_VALUE = SetSignalValue(None)


def rank_candidates(
    candidates: Iterable[Candidate],
    profile: Profile,
    at: datetime,
    *,
    limit: int | None = None,
    asked: bool = False,
) -> Ranking:
    """Rank the candidates that pass the gates, best first; keep at most `limit`.

    `asked` means that there was a query, even if it matched nothing.
    """
    pool = list(candidates)
    at = check_arguments(at, limit)
    check_question(profile, asked=asked, found=not pool or any(c.questioned for c in pool))
    validation.require_unique_ids([candidate.id for candidate in pool])
    validation.require_same_dimensions((candidate.id, candidate.vector) for candidate in pool)

    scheme = Scheme(profile, at)
    excluded: Counter[str] = Counter()
    eligible: list[Candidate] = []
    for candidate in pool:
        gate = closed_gate(candidate, profile, at)
        if gate is None:
            eligible.append(candidate)
        else:
            excluded[f"gate:{gate.signal.name}"] += 1
    evidence = compute_set_evidence(eligible, profile, at)
    scored = [Scored.of(c, explain(c, profile, at, evidence.get(c.id, NO_EVIDENCE)), scheme) for c in eligible]
    passing = [one for one in scored if float(one.score) >= profile.min_score]
    passing.sort(key=lambda one: (-one.score, one.id))
    best = passing if limit is None else passing[:limit]
    excluded["min_score"] = len(scored) - len(passing)
    excluded["limit"] = len(passing) - len(best)
    return Ranking(
        scheme=scheme, scored=tuple(best), proof=Proof.scan(len(pool)), excluded=order_exclusions(profile, excluded)
    )


def explain(candidate: Candidate, profile: Profile, at: datetime, set_values: SetEvidence = NO_EVIDENCE) -> Explanation:
    """Return the candidate's score as parts and factors, whether or not it passes the gates.

    `set_values` are the candidate's values of the profile's set signals.
    """
    parts = tuple(_score_part(term, candidate, at, set_values) for term in profile.terms)
    scales = tuple(_score_factor(factor, candidate, at, set_values) for factor in profile.factors)
    names = {use.signal.name for use in profile.uses}
    notes = dict(note for gate in profile.gates if (note := _describe_opening(gate, candidate, at, names)))
    if notes:
        parts = tuple(_add_note(part, notes.get(part.signal)) for part in parts)
        scales = tuple(_add_note(scale, notes.get(scale.factor)) for scale in scales)
    return Explanation(parts, scales)


def explain_despite_gates(
    candidate: Candidate, profile: Profile, at: datetime, set_values: SetEvidence = NO_EVIDENCE
) -> Explanation:
    """Explain a candidate that may not pass a gate; if it does not, missing required evidence counts 0.

    `explain` would raise an error for missing required evidence, but such a candidate is never ranked.
    """
    gated = closed_gate(candidate, profile, at) is not None
    return explain(candidate, profile.lenient if gated else profile, at, set_values)


def closed_gate(candidate: Candidate, profile: Profile, at: datetime) -> Gate | None:
    """Return the first gate that the candidate does not pass, or `None`."""
    return next((gate for gate in profile.gates if not passes(gate, candidate, at)), None)


def passes(gate: Gate, candidate: Candidate, at: datetime) -> bool:
    """Return whether the gate's signal or one of its alternatives reaches its minimum."""
    return any(_reaches(alternative, candidate, at) for alternative in gate.alternatives)


def _reaches(alternative: Gate, candidate: Candidate, at: datetime) -> bool:
    value = signal_value(alternative.signal, candidate, at)
    return value is not None and value >= alternative.at_least


def _describe_opening(
    gate: Gate, candidate: Candidate, at: datetime, signals: Collection[str]
) -> tuple[str, str] | None:
    """Return (signal, note): the note names the alternative that opened the gate.

    The signal is where to show it. `signals` are those of the terms and factors. The result is `None` if the gate's
    own signal opened it, or no signal did.
    """
    value = signal_value(gate.signal, candidate, at)
    opener = next((one for one in gate.alternatives if _reaches(one, candidate, at)), gate)
    if opener is gate:
        return None
    if gate.signal.name not in signals:
        return opener.signal.name, f"opened the gate of {gate.signal.name}"
    under = "no evidence for the gate" if value is None else f"under the gate's {gate.at_least:g}"
    return gate.signal.name, f"{under}, which {opener.signal.name} opened"


def _add_note(entry: PartOrFactor, note: str | None) -> PartOrFactor:
    return entry if note is None else replace(entry, note=f"{entry.note}; {note}" if entry.note else note)


def compute_set_evidence(
    candidates: Sequence[Candidate], profile: Profile, at: datetime
) -> Mapping[MemoryId, SetEvidence]:
    """Compute the profile's set signals over these candidates, by candidate."""
    if not profile.set_signals:
        return {}
    from recollect.model.table import CandidateTable
    from recollect.ranking.columns import SignalColumns  # imports NumPy, only for profiles with set signals
    from recollect.ranking.set_signals import all_rows, compute_set_signals, set_evidence

    table = CandidateTable.of(candidates)
    sets = compute_set_signals(SignalColumns(table, at), profile, all_rows(table))
    return {candidate.id: set_evidence(sets, row) for row, candidate in enumerate(candidates)}


def check_arguments(at: datetime, limit: int | None) -> datetime:
    """Return the moment in UTC; refuse an invalid moment or limit."""
    if limit is not None and (type(limit) is not int or limit < 1):
        raise InvalidInput(f"limit is {show(limit)}; give a whole number of at least 1, or leave it out")
    return validation.require_moment("at", at)


def check_question(profile: Profile, *, asked: bool, found: bool) -> None:
    """Refuse a question that the profile does not take, and a missing one that it needs."""
    if asked and profile.question is QuestionPolicy.REFUSED:
        raise InvalidInput(f"profile {profile.name!r} takes no question; it is for a brief")
    if profile.question is QuestionPolicy.NEEDED and not asked and not found:
        raise SignalMissing(
            f"profile {profile.name!r} needs a question, but no candidate has similarity, lexical or "
            "relevance; give evidence, or use a profile that takes no question, such as 'session'"
        )


def _score_part(term: Term, candidate: Candidate, at: datetime, set_values: SetEvidence) -> ScorePart:
    reading = _read_signal(term, candidate, at, set_values)
    return ScorePart(term.signal.name, reading.value, term.weight, reading.assumed, reading.note)


def _score_factor(factor: Factor, candidate: Candidate, at: datetime, set_values: SetEvidence) -> ScoreFactor:
    reading = _read_signal(factor, candidate, at, set_values)
    return ScoreFactor(factor.signal.name, reading.value, factor.floor, reading.assumed, reading.note)


@dataclass(frozen=True, slots=True)
class _SignalReading:
    """The value of a signal, or the profile's value for missing evidence."""

    value: float
    assumed: bool
    note: str | None


def _read_signal(use: Term | Factor, candidate: Candidate, at: datetime, set_values: SetEvidence) -> _SignalReading:
    name = use.signal.name
    if isinstance(use.signal, SetSignal):
        set_value = set_values.get(name, NO_VALUE)
        value, note = set_value.value, set_value.note
    else:
        value, note = signal_value(use.signal, candidate, at), use.signal.quantity.remark(candidate, at)
    if value is not None:
        return _SignalReading(value, assumed=False, note=note)
    if use.missing is None:
        raise SignalMissing(
            f"candidate {candidate.id!r} has no evidence for {name}, and the profile has no value for that; "
            f"give the candidate a value, or set `{name}.missing` in the profile"
        )
    return _SignalReading(use.missing, assumed=True, note=note)
