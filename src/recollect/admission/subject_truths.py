"""Truths: statements that are the same but for whether they hold, or in which state something is."""

from collections.abc import Sequence

from recollect.admission.subject_statement import LATEST, Statement, base_of
from recollect.admission.subject_things import Speaking, key_of, kind_of, person, thing
from recollect.admission.subject_words import DAYS, MONTHS, POINTERS, listed
from recollect.evidence.sameness import tokens

_MOST_BEHIND = 9


def of_a_truth(said: Statement, who: Speaking) -> str | None:
    """Something holds or does not: all but the negation is the subject."""
    words, lowered = said.words, said.lowered
    if lowered[0] in ("always", *_TO_DO) and who.within is not None:
        rest = words[1:] if lowered[0] == "always" else words
        return f"order{who.within}: {_whole(rest)}" if len(rest) > 1 and rest[0].lower() in _TO_DO else None
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
            whose = f"{somebody}{who.within or ''}"
        return _holding(whose, verb, rest, negated=said.negated)
    return None


def _holding(whose: str, verb: str, rest: Sequence[str], *, negated: bool) -> str | None:
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
        if state is not None and (not negated or state in _ONE_OF_TWO):
            return f"{whose}: is {state}"
        if (lowered[0].endswith("ing") and lowered[0] not in _LASTING) or lowered[0] in _PASSIVE:
            return None
    verb = "feel about" if verb in _FEELING else _OPPOSITES.get(verb, verb)
    if verb == "feel about" and (not rest or lowered[0] == "about"):
        return None
    verb = "feel about" if verb == "can stand" else verb
    said = [_OPPOSITES.get(word.lower(), word) for word in rest]
    if not said and verb not in ("smoke", "drink", "drive", "can swim", "swim", "can drive", "cook", "snore"):
        return None
    return f"{whose}: whether {_whole([verb, *said])}"


def _whole(words: Sequence[str]) -> str:
    rest = [word for word in words[1:] if word.lower() not in ("a", "an", "the")]
    return key_of(" ".join([words[0].lower(), *rest]))


def _plural(words: Sequence[str], who: Speaking) -> str | None:
    """All of a kind: deploys, pull requests."""
    plural = len(words) <= 2 and words[-1].lower().endswith("s") and (words[-1][:1].islower() or len(words) == 1)
    return kind_of(words, who) if plural else None


_FEELING = listed("like love hate dislike enjoy adore detest loathe")
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
        "done or not": "in_progress finished done completed complete blocked unblocked on_hold paused cancelled",
        "accepted or not": "pending accepted approved rejected declined under_review",
        "paid or not": "paid unpaid overdue",
        "working or not": "working broken out_of_order fixed repaired",
        "in force or not": "in_force lifted suspended",
        "locked or not": "locked unlocked",
        "married or not": "single married divorced widowed engaged unmarried",
        "pregnant or not": "pregnant",
        "public or private": "public private",
        "paid how often": "paid_weekly paid_monthly paid_fortnightly paid_biweekly paid_daily paid_hourly",
    }.items()
    for state in (one.replace("_", " ") for one in states.split())
}
"""States of which one excludes the others of its kind."""

_ONE_OF_TWO = frozenset(
    ("on or off", "up or down", "working or not", "locked or not", "married or not", "pregnant or not")
)
"""Kinds of which not to be one is to be the other; what is not blocked may be in progress, or done."""

_TO_DO = listed("""
    deploy use run commit push merge send call write add include ask show give answer format sign log cache store build
    test review squash rebase mention reply explain translate summarise summarize
""")
"""What can be asked for, or not."""
