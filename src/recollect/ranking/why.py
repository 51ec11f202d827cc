"""Explain a candidate's place or exclusion, and the smallest change that would include it.

The fates and changes come first, then the search for changes, then their descriptions as text.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from recollect.errors import NotFound
from recollect.model import validation
from recollect.model.candidate import Candidate
from recollect.model.enums import Status
from recollect.model.format import format_moment, make_printable
from recollect.model.memory import Memory, MemoryId
from recollect.ranking import scorer
from recollect.ranking.curves import Clamp, Curve, ExponentialDecay, HalfLife, HyperbolicDecay, LinearSaturation
from recollect.ranking.explanation import Explanation
from recollect.ranking.profile import Gate, Profile
from recollect.ranking.quantities import Age, KindWorth
from recollect.ranking.result import Ranking, Scored
from recollect.ranking.signals import Addressed, Linked, SetSignal, Signal, signal_value
from recollect.retrieval.eligibility import Barrier

if TYPE_CHECKING:
    from recollect.ranking.selection import ScoredColumns
    from recollect.retrieval.evidence import Evidence

MAX_TRIED_QUANTITIES = 16
"""How many quantities near the inverse of a curve are tried."""


@dataclass(frozen=True, slots=True)
class Gated:
    """The candidate did not pass a gate: the signal had no evidence, or too little of it.

    `otherwise` has the other signals that would open the gate, with the minimum of each.
    """

    signal: str
    value: float | None
    at_least: float
    otherwise: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)


@dataclass(frozen=True, slots=True)
class BelowMinimum:
    """The score is below the profile's `min_score`."""

    min_score: float


@dataclass(frozen=True, slots=True)
class Outranked:
    """Better candidates took all places."""

    place: int
    limit: int


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidate is included, at this place."""

    place: int


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The memory was ranked but not packed.

    `cost` is its size in tokens, `room` what was left, and `budget` the tokens that would have been enough, or `None`
    if no number would. `smallest` says whether a smaller budget is certainly too small.
    """

    reason: str
    cost: int
    room: int
    budget: int | None
    smallest: bool = True


@dataclass(frozen=True, slots=True)
class Barred:
    """The memory may not be recalled for this moment, because of its status or its times."""

    barrier: Barrier
    status: Status


Fate = Barred | Gated | BelowMinimum | Outranked | Unpacked | Ranked


@dataclass(frozen=True, slots=True)
class SignalChange:
    """A change of one signal that would have been enough; a `value` of `None` is no evidence.

    `means` puts it in the unit of the signal's quantity, if that differs from the value.
    """

    signal: str
    value: float | None
    needed: float
    means: str | None = None

    @property
    def size(self) -> float:
        return self.needed - (self.value or 0.0)


@dataclass(frozen=True, slots=True)
class Why:
    """A candidate's place or exclusion, its explanation, and what would have included it.

    Each change is of one signal, all else equal, smallest first. If there are none, no change of a single signal
    would have been enough.
    """

    candidate: Candidate
    explanation: Explanation
    fate: Fate
    changes: tuple[SignalChange, ...] = ()

    def __repr__(self) -> str:
        return f"<Why {make_printable(self.id)}: {self.fate}, score {self.explanation.score:.3f}>"

    @property
    def id(self) -> MemoryId:
        return self.candidate.id

    @property
    def superseded_by(self) -> MemoryId | None:
        """The memory that replaced this one, if any."""
        return None if self.candidate.memory is None else self.candidate.memory.superseded_by


def why_ranked(
    id: str,
    candidates: Sequence[Candidate],
    profile: Profile,
    at: datetime,
    *,
    limit: int | None = None,
    asked: bool = False,
) -> Why:
    """Explain why the candidate is in the best `limit`, or what kept it out."""
    at = scorer.check_arguments(at, limit)
    candidate = next((one for one in candidates if one.id == id), None)
    if candidate is None:
        raise _candidate_not_found(id)
    ranking = scorer.rank_candidates(candidates, profile, at, asked=asked)
    rank = next((rank for rank, one in enumerate(ranking, start=1) if one.id == id), None)
    rivals = [one for one in candidates if one is candidate or not scorer.closed_gate(one, profile, at)]
    set_values = scorer.compute_set_evidence(rivals, profile, at).get(candidate.id, scorer.NO_EVIDENCE)
    position = CandidatePosition(candidate, set_values, rank)
    return explain_position(
        position, profile, at, limit=limit, rival=lambda last: find_rival(ranking, candidate.id, last)
    )


def why_in_evidence(id: str, evidence: "Evidence", profile: Profile, at: datetime, *, limit: int | None = None) -> Why:
    """Explain why the memory is in the best `limit` of the evidence, or what kept it out.

    The result equals that of `why_ranked` for the candidates of the evidence.
    """
    from recollect.ranking.selection import score_evidence  # imports NumPy

    at = scorer.check_arguments(at, limit)
    row = find_row(id, evidence.table.ids, evidence.rows.tolist())
    return explain_row(row, score_evidence(evidence, profile, at), limit)


def find_row(id: str, ids: Sequence[MemoryId], rows: Iterable[int]) -> int:
    """Return the row of that id; raise NotFound if it is not among these rows."""
    row = next((row for row in rows if ids[row] == id), None)
    if row is None:
        raise _candidate_not_found(id)
    return row


def explain_row(row: int, scored: "ScoredColumns", limit: int | None) -> Why:
    """Explain where a row of the table is among the scored ones."""
    from recollect.ranking.selection import select_best

    candidate, set_values = scored.candidate(row)

    def rival(last: int) -> Scored | None:
        return find_rival(select_best(scored, last), candidate.id, last)

    position = CandidatePosition(candidate, set_values, scored.rank_of(row))
    return explain_position(position, scored.profile, scored.columns.at, limit=limit, rival=rival)


def _candidate_not_found(id: str) -> NotFound:
    return NotFound(f"candidate {id!r} does not exist")


@dataclass(frozen=True, slots=True)
class CandidatePosition:
    """A candidate among all others: its set signals, and its rank if it reached the minimum."""

    candidate: Candidate
    set_evidence: scorer.SetEvidence
    rank: int | None


def explain_position(
    position: CandidatePosition,
    profile: Profile,
    at: datetime,
    *,
    limit: int | None,
    rival: Callable[[int], Scored | None],
) -> Why:
    """Explain a position for a limit; `rival` returns the last one in without the candidate."""
    candidate, rank = position.candidate, position.rank
    gate = scorer.closed_gate(candidate, profile, at)
    explanation = scorer.explain_despite_gates(position.candidate, profile, at, position.set_evidence)
    if gate is not None:
        otherwise = {way.signal.name: way.at_least for way in gate.otherwise}
        fate: Fate = Gated(gate.signal.name, signal_value(gate.signal, candidate, at), gate.at_least, otherwise)
    elif rank is None:
        fate = BelowMinimum(profile.min_score)
    elif limit is not None and rank > limit:
        fate = Outranked(rank, limit)
    else:
        return Why(candidate, explanation, Ranked(rank))
    target = _TargetScore(candidate.id, profile.min_score, None if limit is None else rival(limit))
    return Why(candidate, explanation, fate, _find_changes(candidate, explanation, profile, at, target))


def changes_to_reach(reason: Why, ranking: Ranking, limit: int) -> tuple[SignalChange, ...]:
    """Return the changes that would have put the candidate among the first `limit`; none if it is."""
    if reason.id in [one.id for one in ranking[:limit]]:
        return ()
    profile, rival = ranking.scheme.profile, find_rival(ranking, reason.id, limit)
    target = _TargetScore(reason.id, profile.min_score, rival)
    return _find_changes(reason.candidate, reason.explanation, profile, ranking.at, target)


@dataclass(frozen=True, slots=True)
class _TargetScore:
    """The score needed to be included: the minimum, and more than the last included candidate."""

    id: MemoryId
    min_score: float
    rival: Scored | None

    def is_reached_by(self, score: float) -> bool:
        if score < self.min_score:
            return False
        return self.rival is None or (-score, self.id) < (-float(self.rival.score), self.rival.id)


def find_rival(ranking: Ranking, id: MemoryId, limit: int) -> Scored | None:
    """Return the candidate that this one would have to outrank, or `None` if a place is free."""
    others = [one for one in ranking if one.id != id]
    return None if len(others) < limit else others[limit - 1]


def _find_changes(
    candidate: Candidate, explanation: Explanation, profile: Profile, at: datetime, target: _TargetScore
) -> tuple[SignalChange, ...]:
    closed = [gate for gate in profile.gates if not scorer.passes(gate, candidate, at)]
    with_evidence = {part.signal for part in explanation.parts if not part.assumed}
    with_evidence |= {scale.factor for scale in explanation.scales if not scale.assumed}
    required = {use.signal.name for use in profile.uses if use.missing is None}
    signals: dict[str, Signal | SetSignal] = {
        way.signal.name: way.signal for gate in closed for way in gate.alternatives
    }
    signals |= {use.signal.name: use.signal for use in profile.uses}
    changes: list[SignalChange] = []
    for name, value in _changeable_values(explanation, closed, candidate, at).items():
        if required - with_evidence - {name}:
            continue  # even past the gates, other required evidence would be missing
        opening = [way.at_least for gate in closed for way in gate.alternatives if way.signal.name == name]
        if len(opening) < len(closed):
            continue  # it does not open all closed gates
        floor = max([value or 0.0, *opening])
        smallest = _smallest_sufficient(explanation, name, floor, target)
        needed = None if smallest is None else _next_possible_value(signals[name], smallest)
        if needed is not None:
            changes.append(SignalChange(name, value, needed, _describe_quantity(signals[name], needed)))
    return tuple(sorted(changes, key=lambda change: (change.size, change.signal)))


def _changeable_values(
    explanation: Explanation, closed: Sequence[Gate], candidate: Candidate, at: datetime
) -> dict[str, float | None]:
    """Return the value of every signal that a change could raise; `None` is no evidence."""
    parts: dict[str, float | None] = {part.signal: part.value for part in explanation.parts}
    scales = {scale.factor: scale.value for scale in explanation.scales}
    gated = {way.signal.name: signal_value(way.signal, candidate, at) for gate in closed for way in gate.alternatives}
    return {**parts, **scales, **gated}


def _smallest_sufficient(explanation: Explanation, signal: str, floor: float, target: _TargetScore) -> float | None:
    """Return the smallest sufficient value from `floor` on, by bisection; `None` if 1 is not."""

    def enough(value: float) -> bool:
        return target.is_reached_by(_with_value(explanation, signal, value).score)

    if enough(floor):
        return floor
    if not enough(1.0):
        return None
    low, high = floor, 1.0
    while low < (middle := (low + high) / 2.0) < high:
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _with_value(explanation: Explanation, signal: str, value: float) -> Explanation:
    """Return the explanation with another value for one signal."""
    parts = [replace(part, value=value) if part.signal == signal else part for part in explanation.parts]
    scales = [replace(one, value=value) if one.factor == signal else one for one in explanation.scales]
    return Explanation(tuple(parts), tuple(scales))


def _next_possible_value(signal: Signal | SetSignal, value: float) -> float | None:
    """Return the smallest value the signal can have from this one on; some have few values."""
    levels: tuple[float, ...] | None
    if isinstance(signal, SetSignal):
        levels = signal.possible_values
    elif isinstance(signal.quantity, KindWorth):
        levels = (*signal.quantity.priorities.values(), signal.quantity.otherwise)
    elif isinstance(signal, Addressed):
        levels = (0.0, 1.0)
    else:
        levels = None
    return value if levels is None else min((level for level in levels if level >= value), default=None)


def _describe_quantity(signal: Signal | SetSignal, value: float) -> str | None:
    """Describe the value as a quantity, rounded so that it is still enough."""
    if isinstance(signal, SetSignal):
        return signal.how_to_raise
    if isinstance(signal, Addressed):
        return "if the question named the speaker"
    if isinstance(signal, Linked):
        return "if rarer names linked it to the question"
    if isinstance(signal.quantity, KindWorth):
        kinds = [kind.value for kind, worth in signal.quantity.priorities.items() if worth >= value]
        return f"as {' or '.join([*kinds, *['any other kind'] * (signal.quantity.otherwise >= value)])}"
    curve, counted = signal.curve, signal.quantity.fields[0]
    quantity = _invert_curve(curve, value)
    if not 0.0 <= quantity <= validation.MAX_COUNT:
        return None
    match curve:
        case HalfLife() | ExponentialDecay():
            tenths = _first_sufficient(lambda tenths: curve(tenths / 10.0) >= value, math.floor(quantity * 10.0), -1)
            since = "old" if isinstance(signal.quantity, Age) else "from a day in the question"
            return None if tenths is None else f"at most {tenths / 10.0:g} {'day' if tenths == 10 else 'days'} {since}"
        case LinearSaturation():
            count = _first_sufficient(lambda count: curve(count) >= value, math.ceil(quantity), 1)
            return None if count is None else f"{counted} at least {count:d}"
        case HyperbolicDecay():
            count = _first_sufficient(lambda count: curve(count) >= value, math.floor(quantity), -1)
            return None if count is None else f"{counted} at most {count:d}"
        case Clamp():
            return None
        case _ as unknown:
            assert_never(unknown)


def _first_sufficient(holds: Callable[[int], bool], start: int, step: int) -> int | None:
    """Return the first sufficient number from `start`, because the inverse is inexact.

    A very flat curve has no such number nearby; the result is then `None`.
    """
    numbers = range(start, start + MAX_TRIED_QUANTITIES * step, step)
    return next((number for number in numbers if holds(number)), None)


def _invert_curve(curve: Curve, value: float) -> float:
    """Return the quantity that gives this value; infinite if the curve only approaches it."""
    match curve:
        case HalfLife(half):
            return -half * math.log2(value) if value > 0.0 else math.inf
        case ExponentialDecay(rate):
            return -math.log(value) / rate if value > 0.0 else math.inf
        case LinearSaturation(cap):
            return value * cap
        case HyperbolicDecay(rate):
            return (1.0 / value - 1.0) / rate if value > 0.0 else math.inf
        case Clamp():
            return value
        case _ as unknown:
            assert_never(unknown)


def describe_fate(fate: Fate, memory: Memory | None = None, by: str | None = None) -> str:
    """Describe a fate as a predicate; `by` names the replacement, otherwise its id does."""
    match fate:
        case Barred(barrier, status):
            replacement = _describe_replacement(barrier, memory, by)
            return f"is not recalled: {_describe_barrier(barrier, status, memory)}{replacement}"
        case Gated(signal, value, at_least, otherwise):
            shortfall = (
                f"{signal} is {_format_below(value, at_least)}"
                if value is not None
                else f"it has no evidence for {signal}"
            )
            alternatives = "".join(f", or {value:g} of {name}" for name, value in otherwise.items())
            return f"did not pass the gate: {shortfall}, and {at_least:g} is needed{alternatives}"
        case BelowMinimum(min_score):
            return f"is below the minimum score of {min_score:g}"
        case Outranked(place, limit):
            return f"is at place {place}, and the limit is {limit}"
        case Unpacked(reason, cost, room, None, _):
            left = tokens_left(room)
            tokens = f"it costs {cost} tokens, {left} were left"
            return f"was ranked but not packed: {tokens}, and the limit of {reason} applied"
        case Unpacked(_, cost, room, budget, _):
            left = tokens_left(room)
            tokens = f"it costs {cost} tokens, {left} were left"
            return f"was ranked but not packed: {tokens}; a budget of {budget} would be enough"
        case Ranked(place):
            return f"is in, at place {place}"
        case _ as unknown:
            assert_never(unknown)


def describe_change(change: SignalChange) -> str:
    """Describe a change, rounded so that it is still enough, and the current value."""
    needed = math.ceil(change.needed * 1000.0) / 1000.0
    means = f" ({change.means})" if change.means else ""
    now = "none at all" if change.value is None else _format_below(change.value, needed)
    return f"{change.signal} {needed:.3f} instead of {now}{means}"


def format_start(at: datetime) -> str:
    """Format a moment; the start of a day as the day alone."""
    shown = format_moment(at)
    return shown.removesuffix(" 00:00:00Z")


def tokens_left(room: int) -> int:
    """Return the room to show: 0 if what is packed already exceeds the budget."""
    return max(room, 0)


def _describe_barrier(barrier: Barrier, status: Status, memory: Memory | None) -> str:
    since, until = (None, None) if memory is None else (memory.valid_from, memory.valid_until)
    match barrier:
        case Barrier.STATUS:
            return f"it is {status.value}"
        case Barrier.UNINDEXED:
            if memory is not None and memory.left:
                return "it was old enough to leave the indexes; a coarser record is found in its place"
            return "it repeats another event and is stored without being indexed"
        case Barrier.NOT_YET_KNOWN:
            return "it was not known yet"
        case Barrier.NOT_YET_VALID:
            return "it is not valid yet" if since is None else f"it is valid only from {format_start(since)}"
        case Barrier.NO_LONGER_VALID:
            return "it is no longer valid" if until is None else f"it was valid only until {format_start(until)}"
        case Barrier.KIND:
            return "only other kinds were requested"
        case Barrier.LEVEL:
            return "only other levels were requested"
        case _ as unknown:
            assert_never(unknown)


def _describe_replacement(barrier: Barrier, memory: Memory | None, by: str | None) -> str:
    """Describe what replaced the memory, if that is why it is excluded."""
    ended = barrier in (Barrier.STATUS, Barrier.NO_LONGER_VALID)
    if memory is None or memory.superseded_by is None or not ended:
        return ""
    return f"; it was replaced by {memory.superseded_by if by is None else by}"


def _format_below(value: float, needed: float) -> str:
    """Format a value below what was needed, never rounded up to it."""
    near = f"{value:.3f}"
    return near if float(near) < needed else f"{math.floor(value * 1000.0) / 1000.0:.3f}"
