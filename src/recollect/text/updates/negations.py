"""Truths: statements that are the same but for whether they hold, or in which state something is."""

from collections.abc import Sequence

from recollect.text.paraphrase import canonicalize_text
from recollect.text.updates.statement import MAX_VERB_POSITION, Claim, Statement, base_form
from recollect.text.updates.subjects import SpeakerContext, canonical_key, resolve_kind, resolve_person, resolve_thing
from recollect.text.updates.word_lists import MONTH_WORDS, POINTER_WORDS, WEEKDAY_WORDS, word_set

_MAX_TRUTH_WORDS = 9


def read_truth_claim(said: Statement, who: SpeakerContext) -> Claim | None:
    """Something holds or does not: all but the negation is the subject."""
    words, lowered = said.words, said.lowered
    if lowered[0] in ("always", *_ACTION_VERBS) and who.context_suffix is not None:
        rest = words[1:] if lowered[0] == "always" else words
        if len(rest) < 2 or rest[0].lower() not in _ACTION_VERBS:
            return None
        return Claim(f"order{who.context_suffix}: {_join_canonical(rest)}", _yes_or_no(denied=said.negated))
    for at in range(1, min(len(words), MAX_VERB_POSITION)):
        verb = base_form(lowered[at])
        if verb not in _STATE_VERBS:
            continue
        somebody = resolve_person(words[:at], who)
        whose = somebody or resolve_thing(words[:at], who) or _resolve_plural(words[:at], who)
        if whose is None:
            continue
        rest = words[at + 1 :]
        if lowered[at] == "can":
            if not rest:
                return None
            verb, rest = (f"can {base_form(rest[0].lower())}" if somebody else base_form(rest[0].lower())), rest[1:]
        if somebody and somebody != who.me:  # what others say of somebody, each may take back
            whose = f"{somebody}{who.speaker_suffix}"
        return _read_state(whose, verb, rest, negated=said.negated)
    return None


def _read_state(whose: str, verb: str, rest: Sequence[str], *, negated: bool) -> Claim | None:
    lowered = [word.lower() for word in rest]
    if (
        len(rest) > _MAX_TRUTH_WORDS
        or set(lowered) & (POINTER_WORDS | _MOMENT_WORDS)
        or any("," in word for word in rest)
    ):
        return None
    if any(token.kind in ("date", "time", "number") for token in (canonicalize_text(" ".join(rest)) if rest else ())):
        return None
    if verb == "work" and not rest:
        verb, lowered, rest = "be", ["working"], ["working"]
    if verb == "be":
        if not rest:
            return None
        state = _STATE_KINDS.get(" ".join(lowered))
        said = " ".join(lowered)
        if state is not None and (not negated or (state in _BINARY_STATE_KINDS and said not in _ONE_WAY_STATES)):
            return Claim(f"{whose}: is {state}", (_STATE_SYNONYMS.get(said, said),), negated)
        if (lowered[0].endswith("ing") and lowered[0] not in _LASTING_ACTIVITIES) or lowered[0] in _PASSIVE_PARTICIPLES:
            return None
    denied = (
        negated
        ^ (verb in _DISLIKE_VERBS)
        ^ (verb in _OPPOSITES)
        ^ (sum(word in _OPPOSITES for word in lowered) % 2 == 1)
    )
    verb = "feel about" if verb in _FEELING_VERBS else _OPPOSITES.get(verb, verb)
    if verb == "feel about" and (not rest or lowered[0] == "about"):
        return None
    verb = "feel about" if verb == "can stand" else verb
    bare = [_OPPOSITES.get(word.lower(), word) for word in rest]
    if not bare and verb not in ("smoke", "drink", "drive", "can swim", "swim", "can drive", "cook", "snore"):
        return None
    return Claim(f"{whose}: whether {_join_canonical([verb, *bare])}", _yes_or_no(denied=denied))


def _yes_or_no(*, denied: bool) -> tuple[str]:
    """On which side of whether it holds a statement is."""
    return ("no" if denied else "yes",)


def _join_canonical(words: Sequence[str]) -> str:
    """All of it; who has a key may not have the key."""
    rest = [word for word in words[1:] if word.lower() not in ("a", "an")]
    parts = [list[str]([words[0].lower()])]
    for word in rest:
        if word.lower() == "the":
            parts.append([])
        else:
            parts[-1].append(word)
    return " the ".join(canonical_key(" ".join(part)) for part in parts)


def _resolve_plural(words: Sequence[str], who: SpeakerContext) -> str | None:
    """All of a kind: deploys, pull requests."""
    plural = len(words) <= 2 and words[-1].lower().endswith("s") and (words[-1][:1].islower() or len(words) == 1)
    return resolve_kind(words, who) if plural else None


_DISLIKE_VERBS = word_set("hate dislike detest loathe")
_FEELING_VERBS = _DISLIKE_VERBS | word_set("like love enjoy adore")
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
_STATE_VERBS = (
    _FEELING_VERBS
    | _OPPOSITES.keys()
    | word_set("""
    be have drink eat smoke own speak support handle include require allow accept use trust want need play drive can
    work swim cook wear offer provide contain know believe celebrate wear vote snore return validate check cache store
    log encrypt permit follow
""")
)
"""Verbs that say how somebody or something is for a while, not what was done once."""

_MOMENT_WORDS = WEEKDAY_WORDS | MONTH_WORDS | word_set("this late early ready here now away back home later")
_LASTING_ACTIVITIES = word_set(
    "working living studying using taking learning training looking smoking breastfeeding missing"
)
_PASSIVE_PARTICIPLES = word_set("told asked given shown sent")
_STATE_KINDS = {
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

_STATE_SYNONYMS = {
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

_BINARY_STATE_KINDS = frozenset(
    ("on or off", "up or down", "working or not", "locked or not", "married or not", "pregnant or not", "done or not")
)
"""Kinds of which not to be one is to be the other; what is not pending may be accepted, or rejected."""

_ONE_WAY_STATES = word_set("single divorced fixed repaired out_of_order")
"""States that are more than their side of a kind: who is not divorced may be unmarried."""

_ACTION_VERBS = word_set("""
    deploy use run commit push merge send call write add include ask show give answer format sign log cache store build
    test review squash rebase mention reply explain translate summarise summarize
""")
"""What can be asked for, or not."""
