"""The reference scorer in plain Python; every faster implementation must equal it.

`rank_candidates` and `explain` are the definition. `rank` is the entry point for callers that bring their own
candidates; it uses columns for many candidates.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from recollect.errors import FieldError, InvalidInput, SignalMissing, show
from recollect.model import validation
from recollect.model.candidate import Candidate
from recollect.model.memory import MemoryId
from recollect.ranking.candidates_json import read_candidate
from recollect.ranking.explanation import Explanation, ScoreFactor, ScorePart
from recollect.ranking.profile import Factor, Gate, Profile, QuestionPolicy, Term
from recollect.ranking.profile_toml import ProfileDocument, override_profile
from recollect.ranking.profiles import builtin_profile
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
    """Rank the candidates that pass the gates, best first; `limit` keeps the best few.

    `asked` says that there was a query, even if it matched nothing.
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
    given = compute_set_evidence(eligible, profile, at)
    scored = [Scored.of(c, explain(c, profile, at, given.get(c.id, NO_EVIDENCE)), scheme) for c in eligible]
    passed = [one for one in scored if float(one.score) >= profile.min_score]
    passed.sort(key=lambda one: (-one.score, one.id))
    kept = passed if limit is None else passed[:limit]
    excluded["min_score"] = len(scored) - len(passed)
    excluded["limit"] = len(passed) - len(kept)
    return Ranking(
        scheme=scheme, scored=tuple(kept), proof=Proof.scan(len(pool)), excluded=order_exclusions(profile, excluded)
    )


def explain(candidate: Candidate, profile: Profile, at: datetime, given: SetEvidence = NO_EVIDENCE) -> Explanation:
    """Return the candidate's score as parts and factors, whether or not it passes the gates."""
    parts = tuple(_score_part(term, candidate, at, given) for term in profile.terms)
    scales = tuple(_score_factor(factor, candidate, at, given) for factor in profile.factors)
    used = {use.signal.name for use in profile.uses}
    opened = dict(note for gate in profile.gates if (note := _describe_opening(gate, candidate, at, used)))
    if opened:
        parts = tuple(_add_note(part, opened.get(part.signal)) for part in parts)
        scales = tuple(_add_note(scale, opened.get(scale.factor)) for scale in scales)
    return Explanation(parts, scales)


def closed_gate(candidate: Candidate, profile: Profile, at: datetime) -> Gate | None:
    """Return the first gate that the candidate does not pass, or `None`."""
    return next((gate for gate in profile.gates if not passes(gate, candidate, at)), None)


def passes(gate: Gate, candidate: Candidate, at: datetime) -> bool:
    """Return whether the candidate has enough of any evidence that opens the gate."""
    return any(_reaches(way, candidate, at) for way in gate.alternatives)


def _reaches(way: Gate, candidate: Candidate, at: datetime) -> bool:
    value = signal_value(way.signal, candidate, at)
    return value is not None and value >= way.at_least


def _describe_opening(gate: Gate, candidate: Candidate, at: datetime, used: Collection[str]) -> tuple[str, str] | None:
    """Return which alternative opened a gate, as (signal that shows the note, note).

    Returns `None` if the gate's own signal opened it, or none did.
    """
    value = signal_value(gate.signal, candidate, at)
    way = next((way for way in gate.alternatives if _reaches(way, candidate, at)), gate)
    if way is gate:
        return None
    if gate.signal.name not in used:
        return way.signal.name, f"opened the gate of {gate.signal.name}"
    under = "no evidence for the gate" if value is None else f"under the gate's {gate.at_least:g}"
    return gate.signal.name, f"{under}, which {way.signal.name} opened"


def _add_note(heard: PartOrFactor, note: str | None) -> PartOrFactor:
    return heard if note is None else replace(heard, note=f"{heard.note}; {note}" if heard.note else note)


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
    """Refuse a query that the profile does not take, and a missing one that it needs."""
    if asked and profile.question is QuestionPolicy.REFUSED:
        raise InvalidInput(f"profile {profile.name!r} takes no question; it is for a brief")
    if profile.question is QuestionPolicy.NEEDED and not asked and not found:
        raise SignalMissing(
            f"profile {profile.name!r} needs a question, but no candidate has similarity, lexical or "
            "relevance; bring evidence, or use a profile that takes no question, such as 'session'"
        )


def _score_part(term: Term, candidate: Candidate, at: datetime, given: SetEvidence) -> ScorePart:
    opinion = _read_signal(term, candidate, at, given)
    return ScorePart(term.signal.name, opinion.value, term.weight, opinion.assumed, opinion.note)


def _score_factor(factor: Factor, candidate: Candidate, at: datetime, given: SetEvidence) -> ScoreFactor:
    opinion = _read_signal(factor, candidate, at, given)
    return ScoreFactor(factor.signal.name, opinion.value, factor.floor, opinion.assumed, opinion.note)


@dataclass(frozen=True, slots=True)
class _SignalReading:
    """The value of a signal, or the profile's value for missing evidence."""

    value: float
    assumed: bool
    note: str | None


def _read_signal(use: Term | Factor, candidate: Candidate, at: datetime, given: SetEvidence) -> _SignalReading:
    name = use.signal.name
    if isinstance(use.signal, SetSignal):
        found = given.get(name, NO_VALUE)
        value, note = found.value, found.note
    else:
        value, note = signal_value(use.signal, candidate, at), use.signal.quantity.remark(candidate, at)
    if value is not None:
        return _SignalReading(value, assumed=False, note=note)
    if use.missing is None:
        raise SignalMissing(
            f"candidate {candidate.id!r} has no evidence for {name}, and the profile does not say what "
            f"that is worth; give the candidate a value, or the profile `{name}.missing`"
        )
    return _SignalReading(use.missing, assumed=True, note=note)


MIN_COLUMN_CANDIDATES = 2_000
"""From this many candidates on, columns find the best faster than the plain scorer."""


def rank(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    profile: Profile | str,
    at: datetime,
    *,
    overrides: ProfileDocument | None = None,
    limit: int | None = None,
    asked: bool = False,
) -> Ranking:
    """Rank candidates by a profile at a moment, best first, each with its explanation.

    A candidate is a `Candidate` or a mapping with its fields. A profile is a `Profile` or the name of a built-in one;
    `overrides` change it for this call. `limit` keeps the best few. `asked` says that there was a query, even if it
    matched nothing.
    """
    pool = parse_candidates(candidates)
    chosen = resolve_profile(profile, overrides)
    if limit is None or len(pool) < MIN_COLUMN_CANDIDATES:
        return rank_candidates(pool, chosen, at, limit=limit, asked=asked)
    from recollect.model.table import CandidateTable  # imports NumPy, only for many candidates
    from recollect.ranking.selection import rank_table

    table = CandidateTable.of(pool)
    return rank_table(table, chosen, at, limit=limit, asked=asked, fetch=lambda rows: [pool[row] for row in rows])


def parse_candidates(candidates: Iterable[Candidate | Mapping[str, Any]]) -> list[Candidate]:
    """Return the candidates as values; mappings are parsed."""
    return [one if isinstance(one, Candidate) else read_candidate(one) for one in candidates]


def resolve_profile(profile: Profile | str, overrides: ProfileDocument | None) -> Profile:
    """Return the profile, or the built-in one of that name, with the overrides applied."""
    chosen = builtin_profile(profile) if isinstance(profile, str) else profile
    if not isinstance(chosen, Profile):
        raise FieldError(f"{show(chosen)} is neither a profile nor the name of one", field="profile")
    return chosen if overrides is None else override_profile(chosen, overrides)
