"""Values for people: a terminal, a log, a page."""

import math
from collections.abc import Iterator
from typing import assert_never

from recollect.ranking.explanation import Explanation
from recollect.ranking.profile import Profile
from recollect.ranking.result import Ranking, Scored
from recollect.ranking.why import BelowMinimum, Change, Fate, Gated, Outranked, Ranked, Unpacked, Why

BAR = 20
"""How many blocks the longest bar has."""


def ranking(ranking: Ranking) -> Iterator[str]:
    """A ranking with every explanation, best first."""
    yield f"{ranking.profile}, version {ranking.version}, at {ranking.at.isoformat()}"
    for place, scored in enumerate(ranking, start=1):
        yield ""
        yield f"{place:>3}. {float(scored.score):.3f}  {_headline(scored)}"
        yield from (f"     {line}" for line in explanation(scored.explanation))
    yield ""
    yield _tally(ranking)


def explanation(explanation: Explanation) -> Iterator[str]:
    """What each signal contributed, as numbers and bars; the lines add up and multiply to the score."""
    for part in explanation.parts:
        yield f"+ {part.points:.3f} {_bar(part.points)} {printable(str(part))}"
    for scale in explanation.scales:
        yield f"× {scale.times:.3f} {_bar(scale.times)} {printable(str(scale))}"


def why(why: Why) -> Iterator[str]:
    """Where a candidate stands or fell, and what would have put it in."""
    yield f"{why.id} {_fate(why.fate)}"
    yield f"score {why.explanation.score:.3f}"
    yield from (f"  {line}" for line in explanation(why.explanation))
    if isinstance(why.fate, Ranked):
        return
    if not why.changes and not isinstance(why.fate, Unpacked):
        yield "no single signal could have put it in"
    for lead, change in zip(["it would have been in with", *["or"] * len(why.changes)], why.changes, strict=False):
        yield f"{lead} {_change(change)}"


def profile(profile: Profile) -> str:
    """A profile in one line."""
    return f"{profile.name:<20} {profile.version:<3} {profile.about}"


def _headline(scored: Scored) -> str:
    memory = scored.candidate.memory
    return scored.id if memory is None else f"{scored.id}  {printable(memory.text)}"


def printable(text: str) -> str:
    """The text on one line, with whatever could steer a terminal spelled out."""
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def _bar(value: float) -> str:
    return f"{'▇' * round(value * BAR):<{BAR}}"


def _tally(ranking: Ranking) -> str:
    left_out = [f"{count} by {reason}" for reason, count in ranking.excluded.items()]
    return f"{len(ranking)} ranked" + (f", left out: {', '.join(left_out)}" if left_out else "")


def _fate(fate: Fate) -> str:
    match fate:
        case Gated(signal, None, _):
            return f"did not pass the gate: it has no evidence for {signal}"
        case Gated(signal, value, at_least):
            return f"did not pass the gate: {signal} is {value:.3f}, and {at_least:g} is needed"
        case BelowMinimum(min_score):
            return f"is below the minimum score of {min_score:g}"
        case Outranked(place, limit):
            return f"is at place {place}, and the limit is {limit}"
        case Unpacked(reason, cost, room, None, _):
            return f"was ranked but not packed: it costs {cost} tokens, {room} were left, and {reason} decided"
        case Unpacked(_, cost, room, budget, _):
            return f"was ranked but not packed: it costs {cost} tokens, {room} were left; {budget} in all would do"
        case Ranked(place):
            return f"is in, at place {place}"
        case _ as unknown:
            assert_never(unknown)


def _change(change: Change) -> str:
    needed = math.ceil(change.needed * 1000.0) / 1000.0
    means = f" ({change.means})" if change.means else ""
    now = "none at all" if change.value is None else f"{change.value:.3f}"
    return f"{change.signal} {needed:.3f} instead of {now}{means}"
