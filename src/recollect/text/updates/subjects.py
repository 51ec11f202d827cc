"""Things and people that a statement may be about: whose words say for certain who or what is meant."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from recollect.model.memory import content_hash
from recollect.model.nfc import to_nfc
from recollect.text.paraphrase import canonical_keys
from recollect.text.updates.word_lists import (
    BINDING_PREPOSITIONS,
    CONTEXT_NOUNS,
    EVENT_NOUNS,
    NEVER_NAME_STARTS,
    POINTER_WORDS,
    REPEATABLE_RELATIONS,
    TIMETABLED_NOUNS,
    UNIQUE_ADJECTIVES,
    UNIQUE_POSSESSIONS,
    UNIQUE_RELATIONS,
    word_set,
)

MAX_SUBJECT_WORDS = 8
"""How many words name something."""

MAX_NAME_WORDS = 3


@dataclass(frozen=True, slots=True)
class SpeakerContext:
    """Who "I" and "the user" are, and in whose conversation and beside what "the meeting" is one that is known; none if
    unknown.
    """

    me: str | None
    context_suffix: str | None
    speaker_suffix: str = ""
    source_suffix: str = ""


def resolve_speaker(speaker: str | None, me: str | None, within: str | None = None) -> SpeakerContext:
    """Who speaks: somebody with a name of their own, or else whoever the unnamed user is; and what stands beside it."""
    named = None if speaker is None or speaker.strip().lower() in _UNNAMED_LABELS else canonical_key(speaker)
    own = None if me is None else _user_key(me)
    beside = "" if within is None else _make_source_suffix(within)
    if named:
        by = "" if named == own else f" ({named})"
        return SpeakerContext(named, f"{by}{beside}", by, beside)
    unheard = speaker is not None and speaker.strip().lower() in _MACHINE_LABELS
    return SpeakerContext(None if unheard else own, None if own is None else beside, source_suffix=beside)


def _make_source_suffix(within: str) -> str:
    """What stands beside a text, as a part of its subject; of what is long its beginning, and what tells it apart."""
    said = " ".join(to_nfc(within).replace(":", " ").split())
    if len(said) > _MAX_SOURCE_CHARS:
        said = f"{said[:_MAX_SOURCE_CHARS].rstrip()}… {content_hash(within)[:8]}"
    return f" (in {fold_case(said)})" if said else ""


_MAX_SOURCE_CHARS = 32


@lru_cache(maxsize=8)
def _user_key(me: str) -> str:
    """What an unnamed user is called, who is nearly always called the same."""
    return canonical_key(me)


_MACHINE_LABELS = word_set("assistant ai bot model agent tool function system developer")
_UNNAMED_LABELS = _MACHINE_LABELS | {"user", "human", "the user", ""}
"""What speakers are called who have no name: two of them are not the same."""


def canonical_key(words: str) -> str:
    """The words in their canonical form; a name of one or two letters behind another word keeps its case."""
    return fold_case(" ".join(canonical_keys(words)))


def fold_case(words: str) -> str:
    """The words in small letters, but for names of one or two letters that stand behind another word: repo A."""
    parts = words.split()
    return " ".join(
        part
        if at and len(part) <= _MAX_SHORT_NAME_CHARS and part[0].isupper() and part.lower() not in _SMALL_WORDS
        else part.lower()
        for at, part in enumerate(parts)
    )


_MAX_SHORT_NAME_CHARS = 2
_SMALL_WORDS = BINDING_PREPOSITIONS | word_set("is as by my be am an or no do it us me he we")


def resolve_person(words: Sequence[str], who: SpeakerContext) -> str | None:
    """Who is spoken of: the speaker, a user, a name, or somebody of whom a person has but one."""
    said = " ".join(words)
    if said.lower() in ("i", "user", "the user"):
        return who.me
    if said.lower() == "we":
        return None if who.me is None else f"{who.me}'s people"
    if 0 < len(words) <= MAX_NAME_WORDS and is_name(words):
        return canonical_key(said)
    owner, rest = _resolve_owner(words, who)
    return f"{owner} {rest[0].lower()}" if owner and len(rest) == 1 and rest[0].lower() in UNIQUE_RELATIONS else None


def is_name(words: Sequence[str]) -> bool:
    """Whether the words are a name of somebody."""
    return bool(words) and all(map(is_name_word, words)) and words[0].lower() not in NEVER_NAME_STARTS


def is_name_word(word: str) -> bool:
    bare = word.replace("-", "").replace("'", "").replace(".", "")
    return word[:1].isupper() and bare.isalpha() and word[-2:] != "'s"


def resolve_thing(words: Sequence[str], who: SpeakerContext) -> str | None:
    """What is spoken of, if it is one certain thing: the …, my …, somebody's …, ticket 7."""
    owner, rest = _resolve_owner(words, who)
    if owner:
        return (
            f"{owner} {canonical_key(' '.join(rest))}"
            if is_single_thing(rest) and _is_certain(rest, owned=True)
            else None
        )
    if not words or has_owner(words):
        return None
    if words[0].lower() == "the":
        rest = words[1:]
        if not is_single_thing(rest) or not _is_certain(rest):
            return None
        return canonical_key(" ".join(rest)) if _is_specific(rest) else _add_context(rest, who)
    return canonical_key(" ".join(words)) if _is_numbered(words) else None


def has_owner(words: Sequence[str]) -> bool:
    """Whether somebody has it: the gate for Ana's flight is nobody's."""
    return any(word.endswith("'s") for word in words[: _head_end(words)])


def resolve_property(words: Sequence[str], who: SpeakerContext) -> tuple[str | None, Sequence[str]]:
    """Whose property and which, as somebody's email; "" if it is of nobody in particular, none if that is unknown.

    The deadline of project Y is project Y's deadline.
    """
    owner, what = _resolve_owner(words, who)
    if owner:
        return owner, what
    lowered = [word.lower() for word in words]
    if has_owner(words):
        return None, ()
    if lowered[:1] == ["the"]:
        if lowered.count("of") == 1 and lowered.index("of") > 1:
            at = lowered.index("of")
            whose = words[at + 2 :] if lowered[at + 1 : at + 2] == ["the"] else words[at + 1 :]
            if not whose or whose[0].lower() in NEVER_NAME_STARTS:
                return None, ()
            of = canonical_key(" ".join(whose))
            return (of if _is_specific(whose) else _add_context_to_owner(of, who)), words[1:at]
        return (_add_context_to_owner("", who) if not _is_specific(words[1:]) else ""), words[1:]
    if len(words) > 1 and (lowered[0] in UNIQUE_ADJECTIVES or lowered[0] == "main"):
        return _add_context_to_owner("", who), words
    return None, ()


def _resolve_owner(words: Sequence[str], who: SpeakerContext) -> tuple[str | None, Sequence[str]]:
    """Whose it is, and what; nobody if it is nobody's, or of one of several."""
    if not words:
        return None, words
    first = words[0].lower()
    if first in ("my", "our"):
        owner = who.me if first == "my" or who.me is None else f"{who.me}'s people"
        return _resolve_ownership(owner, words[1:])
    start = 1 if first == "the" else 0
    for at in range(start, min(len(words), start + MAX_NAME_WORDS)):
        if not words[at].endswith("'s"):
            continue
        named = [*words[start:at], words[at][:-2]]
        if any(name.lower() in BINDING_PREPOSITIONS for name in named):  # the gate for Ana's flight
            return None, words
        lowered = [name.lower() for name in named]
        rest = words[at + 1 :]
        if lowered == ["user"]:
            return _resolve_ownership(who.me, rest)
        if is_name(named) or (lowered[0] == "project" and len(named) > 1):
            return _resolve_ownership(canonical_key(" ".join(named)), rest)
        if start == 1 and _is_certain(named) and lowered[-1] not in REPEATABLE_RELATIONS:
            return _resolve_ownership(_add_context_to_owner(canonical_key(" ".join(named)), who), rest)
        return None, words
    return None, words


def _resolve_ownership(owner: str | None, rest: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Whose it is in the end: my wife's email is hers; of one of my daughters nothing is certain."""
    whose = next((at for at, word in enumerate(rest) if word.endswith("'s")), None)
    if owner is None or not rest or whose is None:
        return (owner if rest else None), rest
    bound = any(word.lower() in BINDING_PREPOSITIONS for word in rest[:whose])
    if bound:  # the gate for Ana's flight
        return owner, rest
    kin = rest[whose][:-2].lower()
    return (f"{owner} {kin}", rest[1:]) if whose == 0 and len(rest) > 1 and kin in UNIQUE_POSSESSIONS else (None, rest)


def is_single_thing(words: Sequence[str]) -> bool:
    """Whether the words name one thing: no list, and no more than one."""
    if (
        not 0 < len(words) <= MAX_SUBJECT_WORDS
        or words[0].lower() in NEVER_NAME_STARTS
        or any("," in word for word in words)
    ):
        return False
    head = head_noun(words)
    return not (
        head.endswith("s") and not head.endswith(("ss", "us", "is", "address", "ics", "os", "news", "headquarters"))
    )


def head_noun(words: Sequence[str]) -> str:
    """The noun of which the other words say which."""
    return words[_head_end(words) - 1].lower()


def _head_end(words: Sequence[str]) -> int:
    return next((at for at, word in enumerate(words) if at and word.lower() in BINDING_PREPOSITIONS), len(words))


def _is_certain(words: Sequence[str], *, owned: bool = False) -> bool:
    """Whether it is certain which one is meant: not one of several, nor one after the other, unless more is said."""
    head = head_noun(words)
    if head in REPEATABLE_RELATIONS:
        return False
    if head in CONTEXT_NOUNS:
        return owned or len(words) > 1
    if head in TIMETABLED_NOUNS:
        return owned and _head_end(words) < len(words) - 1
    if head not in EVENT_NOUNS:
        return True
    single = len(words) > 1 and words[0].lower() in _SINGLE_EVENT_WORDS
    return single or _head_end(words) < len(words) - 1 or any(map(_is_specific_word, words))


_SINGLE_EVENT_WORDS = word_set("final annual weekly daily monthly quarterly yearly keynote opening closing main")


def _is_specific(words: Sequence[str]) -> bool:
    """Whether the words themselves tell it from others of its kind, in whatever conversation."""
    return any(map(_is_specific_word, words))


def _is_specific_word(word: str) -> bool:
    named = word[:1].isupper() and word.lower() not in _ACRONYMS
    return named or any(char.isdigit() or char in "_/@.#" for char in word)


_ACRONYMS = word_set("""
    api url ttl vpn ceo cto cfo coo db ui ip id pr ci cd pin sql http https ssh dns ram cpu gpu os wifi wi-fi tv qr vm
    cli sdk tls ssl llm ai hr it gp phd rfc sla
""")
"""Capitals that are no name."""


def _add_context(words: Sequence[str], who: SpeakerContext) -> str | None:
    return None if who.context_suffix is None else f"{canonical_key(' '.join(words))}{who.context_suffix}"


def _add_context_to_owner(of: str, who: SpeakerContext) -> str | None:
    """A thing that only a conversation tells from others."""
    return None if who.context_suffix is None else f"{of}{who.context_suffix}".strip()


def _is_numbered(words: Sequence[str]) -> bool:
    """Whether it is a ticket, a sprint or the like with its number, or an identifier."""
    if not 0 < len(words) <= _MAX_NUMBERED_WORDS or not is_single_thing(words):
        return False
    if len(words) == 1:
        return _IDENTIFIER.fullmatch(words[0]) is not None
    return words[0][:1].isalpha() and any(_NUMBER.fullmatch(word) for word in words[1:])


_MAX_NUMBERED_WORDS = 4
_NUMBER = re.compile(r"#?[A-Z]{0,8}-?\d[\d.-]{0,20}")
_IDENTIFIER = re.compile(r"[A-Za-z][\w.-]{0,60}[_\d][\w.-]{0,60}|[A-Z]{1,8}-\d{1,8}")


def resolve_kind(words: Sequence[str], who: SpeakerContext) -> str | None:
    """What is said of all of a kind, or of what there is but one of: backups, p50 latency."""
    words = words[1:] if words[0].lower() == "the" and words[-1].lower().endswith("s") else words
    small = all(word[:1].islower() or not word[:1].isalpha() for word in words[1:])
    lowered = [word.lower() for word in words]
    if (
        who.context_suffix is None
        or not 0 < len(words) <= _MAX_KIND_WORDS
        or not small
        or set(lowered) & _NOT_KIND_WORDS
        or has_owner(words)
    ):
        return None
    if not words[0][:1].isalpha():
        return None
    known = len(words) > 1 or lowered[0].endswith("s") or lowered[0] in _UNCOUNTED_NOUNS
    return f"{canonical_key(' '.join(words))}{who.context_suffix}" if known and not is_name(words[1:]) else None


_UNCOUNTED_NOUNS = word_set(
    "coverage rent latency throughput uptime retention parking production staging admission tuition"
)
UNCOUNTED_SUBJECTS = [[word] for word in _UNCOUNTED_NOUNS]
_NOT_KIND_WORDS = (
    POINTER_WORDS
    | CONTEXT_NOUNS
    | word_set("a an the my our your his her their its i some all most many no dinner lunch")
)
_MAX_KIND_WORDS = 4
