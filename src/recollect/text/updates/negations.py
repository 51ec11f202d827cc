"""Truths: statements that are the same but for whether they hold, or in which state something is."""

from collections.abc import Sequence

from recollect.text.paraphrase import tokens
from recollect.text.updates.statement import LATEST, Reading, Statement, base_of
from recollect.text.updates.subjects import Speaking, key_of, kind_of, person, thing
from recollect.text.updates.word_lists import DAYS, MONTHS, POINTERS, listed

_MOST_BEHIND = 9


def of_a_truth(said: Statement, who: Speaking) -> Reading | None:
    """Something holds or does not: all but the negation is the subject."""
    words, lowered = said.words, said.lowered
    if lowered[0] in ("always", *_TO_DO) and who.within is not None:
        rest = words[1:] if lowered[0] == "always" else words
        if len(rest) < 2 or rest[0].lower() not in _TO_DO:
            return None
        return Reading(f"order{who.within}: {_whole(rest)}", _side(denied=said.negated))
    for at in range(1, min(len(words), LATEST)):
        verb = base_of(lowered[at])
        if verb not in _HOLDING:
            continue
        somebody = person(words[:at], who)
        whose = somebody or thing(words[:at], who) or _plural(words[:at], who)
        if whose is None:
            continue
        rest = words[at + 1 :]
        if lowered[at] == "can":
            if not rest:
                return None
            verb, rest = (f"can {base_of(rest[0].lower())}" if somebody else base_of(rest[0].lower())), rest[1:]
        if somebody and somebody != who.me:  # what others say of somebody, each may take back
            whose = f"{somebody}{who.by}"
        return _holding(whose, verb, rest, negated=said.negated)
    return None


def _holding(whose: str, verb: str, rest: Sequence[str], *, negated: bool) -> Reading | None:
    lowered = [word.lower() for word in rest]
    if len(rest) > _MOST_BEHIND or set(lowered) & (POINTERS | _MOMENTS) or any("," in word for word in rest):
        return None
    if any(token.sort in ("date", "time", "number") for token in (tokens(" ".join(rest)) if rest else ())):
        return None
    if verb == "work" and not rest:
        verb, lowered, rest = "be", ["working"], ["working"]
    if verb == "be":
        if not rest:
            return None
        state = _STATES.get(" ".join(lowered))
        said = " ".join(lowered)
        if state is not None and (not negated or (state in _ONE_OF_TWO and said not in _ONE_WAY)):
            return Reading(f"{whose}: is {state}", (_SAME_STATES.get(said, said),), negated)
        if (lowered[0].endswith("ing") and lowered[0] not in _LASTING) or lowered[0] in _PASSIVE:
            return None
    denied = negated ^ (verb in _AVERSE) ^ (verb in _OPPOSITES) ^ (sum(word in _OPPOSITES for word in lowered) % 2 == 1)
    verb = "feel about" if verb in _FEELING else _OPPOSITES.get(verb, verb)
    if verb == "feel about" and (not rest or lowered[0] == "about"):
        return None
    verb = "feel about" if verb == "can stand" else verb
    bare = [_OPPOSITES.get(word.lower(), word) for word in rest]
    if not bare and verb not in ("smoke", "drink", "drive", "can swim", "swim", "can drive", "cook", "snore"):
        return None
    return Reading(f"{whose}: whether {_whole([verb, *bare])}", _side(denied=denied))


def _side(*, denied: bool) -> tuple[str]:
    """On which side of whether it holds a statement is."""
    return ("no" if denied else "yes",)


def _whole(words: Sequence[str]) -> str:
    """All of it; who has a key may not have the key."""
    rest = [word for word in words[1:] if word.lower() not in ("a", "an")]
    parts = [list[str]([words[0].lower()])]
    for word in rest:
        if word.lower() == "the":
            parts.append([])
        else:
            parts[-1].append(word)
    return " the ".join(key_of(" ".join(part)) for part in parts)


def _plural(words: Sequence[str], who: Speaking) -> str | None:
    """All of a kind: deploys, pull requests."""
    plural = len(words) <= 2 and words[-1].lower().endswith("s") and (words[-1][:1].islower() or len(words) == 1)
    return kind_of(words, who) if plural else None


_AVERSE = listed("hate dislike detest loathe")
_FEELING = _AVERSE | listed("like love enjoy adore")
_OPPOSITES = {"distrust": "trust", "exclude": "include", "disallow": "allow", "forbid": "allow"} | {
    f"{prefix}{word}": word
    for prefix, words in {
        "un": "available safe married employed happy able signed necessary reliable stable insured supported encrypted",
        "in": "active valid secure compatible complete dependent",
        "im": "possible",
        "il": "legal",
    }.items()
    for word in words.split()
}
_HOLDING = (
    _FEELING
    | _OPPOSITES.keys()
    | listed("""
    be have drink eat smoke own speak support handle include require allow accept use trust want need play drive can
    work swim cook wear offer provide contain know believe celebrate wear vote snore return validate check cache store
    log encrypt permit follow
""")
)
"""Verbs that say how somebody or something is for a while, not what was done once."""

_MOMENTS = DAYS | MONTHS | listed("this late early ready here now away back home later")
_LASTING = listed("working living studying using taking learning training looking smoking breastfeeding missing")
_PASSIVE = listed("told asked given shown sent")
_STATES = {
    state: kind
    for kind, states in {
        "open or closed": "open closed merged",
        "on or off": "on off enabled disabled",
        "up or down": "up down online offline",
        "done or not": "finished done completed complete unfinished",
        "accepted or not": "pending accepted approved rejected declined under_review",
        "paid or not": "paid unpaid overdue",
        "working or not": "working broken out_of_order fixed repaired",
        "in force or not": "in_force lifted suspended",
        "locked or not": "locked unlocked",
        "married or not": "single married divorced unmarried",
        "pregnant or not": "pregnant",
        "public or private": "public private",
        "paid how often": "paid_weekly paid_monthly paid_fortnightly paid_biweekly paid_daily paid_hourly",
    }.items()
    for state in (one.replace("_", " ") for one in states.split())
}
"""States of which one excludes the others of its kind."""

_SAME_STATES = {
    other: state
    for state, others in {
        "closed": "merged",
        "unpaid": "overdue",
        "unmarried": "single divorced",
        "pending": "under_review",
        "lifted": "suspended",
        "on": "enabled",
        "off": "disabled",
        "up": "online",
        "down": "offline",
        "done": "finished completed complete",
        "broken": "out_of_order",
        "working": "fixed repaired",
        "rejected": "declined",
        "accepted": "approved",
    }.items()
    for other in (one.replace("_", " ") for one in others.split())
}
"""States that are the same in other words."""

_ONE_OF_TWO = frozenset(
    ("on or off", "up or down", "working or not", "locked or not", "married or not", "pregnant or not", "done or not")
)
"""Kinds of which not to be one is to be the other; what is not pending may be accepted, or rejected."""

_ONE_WAY = listed("single divorced fixed repaired out_of_order")
"""States that are more than their side of a kind: who is not divorced may be unmarried."""

_TO_DO = listed("""
    deploy use run commit push merge send call write add include ask show give answer format sign log cache store build
    test review squash rebase mention reply explain translate summarise summarize
""")
"""What can be asked for, or not."""
