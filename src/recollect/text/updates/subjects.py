"""Things and people that a statement may be about: whose words say for certain who or what is meant."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from recollect.model.memory import content_hash
from recollect.model.nfc import composed
from recollect.text.paraphrase import canonical
from recollect.text.updates.word_lists import (
    BINDING,
    CHOSEN,
    EVENTS,
    ITS_OWN,
    NO_NAMES,
    ONLY_ONE,
    POINTERS,
    POINTING,
    SEVERAL,
    TIMETABLED,
    listed,
)

MOST_WORDS = 8
"""How many words name something."""

LONGEST_NAME = 3


@dataclass(frozen=True, slots=True)
class Speaking:
    """Who "I" and "the user" are, and in whose conversation and beside what "the meeting" is one that is known; none if
    unknown.
    """

    me: str | None
    within: str | None
    by: str = ""
    beside: str = ""


def speaking(speaker: str | None, me: str | None, within: str | None = None) -> Speaking:
    """Who speaks: somebody with a name of their own, or else whoever the unnamed user is; and what stands beside it."""
    named = None if speaker is None or speaker.strip().lower() in _PARTS else key_of(speaker)
    own = None if me is None else _own(me)
    beside = "" if within is None else _beside(within)
    if named:
        by = "" if named == own else f" ({named})"
        return Speaking(named, f"{by}{beside}", by, beside)
    unheard = speaker is not None and speaker.strip().lower() in _OTHERS
    return Speaking(None if unheard else own, None if own is None else beside, beside=beside)


def _beside(within: str) -> str:
    """What stands beside a text, as a part of its subject; of what is long its beginning, and what tells it apart."""
    said = " ".join(composed(within).replace(":", " ").split())
    if len(said) > _LONGEST_BESIDE:
        said = f"{said[:_LONGEST_BESIDE].rstrip()}… {content_hash(within)[:8]}"
    return f" (in {folded(said)})" if said else ""


_LONGEST_BESIDE = 32


@lru_cache(maxsize=8)
def _own(me: str) -> str:
    """What an unnamed user is called, who is nearly always called the same."""
    return key_of(me)


_OTHERS = listed("assistant ai bot model agent tool function system developer")
_PARTS = _OTHERS | {"user", "human", "the user", ""}
"""What speakers are called who have no name: two of them are not the same."""


def key_of(words: str) -> str:
    """The words in their canonical form; a name of one or two letters behind another word keeps its case."""
    return folded(" ".join(canonical(words)))


def folded(words: str) -> str:
    """The words in small letters, but for names of one or two letters that stand behind another word: repo A."""
    parts = words.split()
    return " ".join(
        part if at and len(part) <= _SHORT and part[0].isupper() and part.lower() not in _SMALL else part.lower()
        for at, part in enumerate(parts)
    )


_SHORT = 2
_SMALL = BINDING | listed("is as by my be am an or no do it us me he we")


def person(words: Sequence[str], who: Speaking) -> str | None:
    """Who is spoken of: the speaker, a user, a name, or somebody of whom a person has but one."""
    said = " ".join(words)
    if said.lower() in ("i", "user", "the user"):
        return who.me
    if said.lower() == "we":
        return None if who.me is None else f"{who.me}'s people"
    if 0 < len(words) <= LONGEST_NAME and is_name(words):
        return key_of(said)
    owner, rest = _owner(words, who)
    return f"{owner} {rest[0].lower()}" if owner and len(rest) == 1 and rest[0].lower() in ONLY_ONE else None


def is_name(words: Sequence[str]) -> bool:
    """Whether the words are a name of somebody."""
    return bool(words) and all(map(is_named, words)) and words[0].lower() not in NO_NAMES


def is_named(word: str) -> bool:
    bare = word.replace("-", "").replace("'", "").replace(".", "")
    return word[:1].isupper() and bare.isalpha() and word[-2:] != "'s"


def thing(words: Sequence[str], who: Speaking) -> str | None:
    """What is spoken of, if it is one certain thing: the …, my …, somebody's …, ticket 7."""
    owner, rest = _owner(words, who)
    if owner:
        return f"{owner} {key_of(' '.join(rest))}" if is_one(rest) and _certain(rest, owned=True) else None
    if not words or has_owner(words):
        return None
    if words[0].lower() == "the":
        rest = words[1:]
        if not is_one(rest) or not _certain(rest):
            return None
        return key_of(" ".join(rest)) if _says_which(rest) else _within(rest, who)
    return key_of(" ".join(words)) if _is_numbered(words) else None


def has_owner(words: Sequence[str]) -> bool:
    """Whether somebody has it: the gate for Ana's flight is nobody's."""
    return any(word.endswith("'s") for word in words[: _bound(words)])


def property_of(words: Sequence[str], who: Speaking) -> tuple[str | None, Sequence[str]]:
    """Whose property and which, as somebody's email; "" if it is of nobody in particular, none if that is unknown.

    The deadline of project Y is project Y's deadline.
    """
    owner, what = _owner(words, who)
    if owner:
        return owner, what
    lowered = [word.lower() for word in words]
    if has_owner(words):
        return None, ()
    if lowered[:1] == ["the"]:
        if lowered.count("of") == 1 and lowered.index("of") > 1:
            at = lowered.index("of")
            whose = words[at + 2 :] if lowered[at + 1 : at + 2] == ["the"] else words[at + 1 :]
            if not whose or whose[0].lower() in NO_NAMES:
                return None, ()
            of = key_of(" ".join(whose))
            return (of if _says_which(whose) else _outside(of, who)), words[1:at]
        return (_outside("", who) if not _says_which(words[1:]) else ""), words[1:]
    if len(words) > 1 and (lowered[0] in CHOSEN or lowered[0] == "main"):
        return _outside("", who), words
    return None, ()


def _owner(words: Sequence[str], who: Speaking) -> tuple[str | None, Sequence[str]]:
    """Whose it is, and what; nobody if it is nobody's, or of one of several."""
    if not words:
        return None, words
    first = words[0].lower()
    if first in ("my", "our"):
        owner = who.me if first == "my" or who.me is None else f"{who.me}'s people"
        return _owned(owner, words[1:])
    start = 1 if first == "the" else 0
    for at in range(start, min(len(words), start + LONGEST_NAME)):
        if not words[at].endswith("'s"):
            continue
        named = [*words[start:at], words[at][:-2]]
        if any(name.lower() in BINDING for name in named):  # the gate for Ana's flight
            return None, words
        lowered = [name.lower() for name in named]
        rest = words[at + 1 :]
        if lowered == ["user"]:
            return _owned(who.me, rest)
        if is_name(named) or (lowered[0] == "project" and len(named) > 1):
            return _owned(key_of(" ".join(named)), rest)
        if start == 1 and _certain(named) and lowered[-1] not in SEVERAL:
            return _owned(_outside(key_of(" ".join(named)), who), rest)
        return None, words
    return None, words


def _owned(owner: str | None, rest: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Whose it is in the end: my wife's email is hers; of one of my daughters nothing is certain."""
    whose = next((at for at, word in enumerate(rest) if word.endswith("'s")), None)
    if owner is None or not rest or whose is None:
        return (owner if rest else None), rest
    bound = any(word.lower() in BINDING for word in rest[:whose])
    if bound:  # the gate for Ana's flight
        return owner, rest
    kin = rest[whose][:-2].lower()
    return (f"{owner} {kin}", rest[1:]) if whose == 0 and len(rest) > 1 and kin in ITS_OWN else (None, rest)


def is_one(words: Sequence[str]) -> bool:
    """Whether the words name one thing: no list, and no more than one."""
    if not 0 < len(words) <= MOST_WORDS or words[0].lower() in NO_NAMES or any("," in word for word in words):
        return False
    head = head_of(words)
    return not (
        head.endswith("s") and not head.endswith(("ss", "us", "is", "address", "ics", "os", "news", "headquarters"))
    )


def head_of(words: Sequence[str]) -> str:
    """The noun of which the other words say which."""
    return words[_bound(words) - 1].lower()


def _bound(words: Sequence[str]) -> int:
    return next((at for at, word in enumerate(words) if at and word.lower() in BINDING), len(words))


def _certain(words: Sequence[str], *, owned: bool = False) -> bool:
    """Whether it is certain which one is meant: not one of several, nor one after the other, unless more is said."""
    head = head_of(words)
    if head in SEVERAL:
        return False
    if head in POINTING:
        return owned or len(words) > 1
    if head in TIMETABLED:
        return owned and _bound(words) < len(words) - 1
    if head not in EVENTS:
        return True
    single = len(words) > 1 and words[0].lower() in _SINGLE
    return single or _bound(words) < len(words) - 1 or any(map(_tells, words))


_SINGLE = listed("final annual weekly daily monthly quarterly yearly keynote opening closing main")


def _says_which(words: Sequence[str]) -> bool:
    """Whether the words themselves tell it from others of its kind, in whatever conversation."""
    return any(map(_tells, words))


def _tells(word: str) -> bool:
    named = word[:1].isupper() and word.lower() not in _SHORT_FOR
    return named or any(char.isdigit() or char in "_/@.#" for char in word)


_SHORT_FOR = listed("""
    api url ttl vpn ceo cto cfo coo db ui ip id pr ci cd pin sql http https ssh dns ram cpu gpu os wifi wi-fi tv qr vm
    cli sdk tls ssl llm ai hr it gp phd rfc sla
""")
"""Capitals that are no name."""


def _within(words: Sequence[str], who: Speaking) -> str | None:
    return None if who.within is None else f"{key_of(' '.join(words))}{who.within}"


def _outside(of: str, who: Speaking) -> str | None:
    """A thing that only a conversation tells from others."""
    return None if who.within is None else f"{of}{who.within}".strip()


def _is_numbered(words: Sequence[str]) -> bool:
    """Whether it is a ticket, a sprint or the like with its number, or an identifier."""
    if not 0 < len(words) <= _MOST_NUMBERED or not is_one(words):
        return False
    if len(words) == 1:
        return _IDENTIFIER.fullmatch(words[0]) is not None
    return words[0][:1].isalpha() and any(_NUMBER.fullmatch(word) for word in words[1:])


_MOST_NUMBERED = 4
_NUMBER = re.compile(r"#?[A-Z]{0,8}-?\d[\d.-]{0,20}")
_IDENTIFIER = re.compile(r"[A-Za-z][\w.-]{0,60}[_\d][\w.-]{0,60}|[A-Z]{1,8}-\d{1,8}")


def kind_of(words: Sequence[str], who: Speaking) -> str | None:
    """What is said of all of a kind, or of what there is but one of: backups, p50 latency."""
    words = words[1:] if words[0].lower() == "the" and words[-1].lower().endswith("s") else words
    small = all(word[:1].islower() or not word[:1].isalpha() for word in words[1:])
    lowered = [word.lower() for word in words]
    if (
        who.within is None
        or not 0 < len(words) <= _MOST_OF_A_KIND
        or not small
        or set(lowered) & _NO_KIND
        or has_owner(words)
    ):
        return None
    if not words[0][:1].isalpha():
        return None
    known = len(words) > 1 or lowered[0].endswith("s") or lowered[0] in _UNCOUNTED
    return f"{key_of(' '.join(words))}{who.within}" if known and not is_name(words[1:]) else None


_UNCOUNTED = listed("coverage rent latency throughput uptime retention parking production staging admission tuition")
UNCOUNTED_ALONE = [[word] for word in _UNCOUNTED]
_NO_KIND = POINTERS | POINTING | listed("a an the my our your his her their its i some all most many no dinner lunch")
_MOST_OF_A_KIND = 4
