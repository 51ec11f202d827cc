"""Statements: the only sentence of a short text, in the present tense and without negation.

In reading order: parsing, changes that tell how it is now (a move to a town means living there), and the people and
things that a statement may be about, as far as its words identify them with certainty.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from recollect.model.memory import content_hash
from recollect.model.validation import to_nfc
from recollect.text.data_files import load_data_file
from recollect.text.lexicon import (
    BINDING_PREPOSITIONS,
    CONTEXT_NOUNS,
    DOUBTFUL_WORDS,
    ES_ENDINGS,
    EVENT_NOUNS,
    LEXICON,
    NEVER_NAME_STARTS,
    POINTER_WORDS,
    REPEATABLE_RELATIONS,
    TIMETABLED_NOUNS,
    UNIQUE_ADJECTIVES,
    UNIQUE_POSSESSIONS,
    UNIQUE_RELATIONS,
    is_place,
    word_set,
)
from recollect.text.paraphrase import canonical_keys

DATA = load_data_file("recollect.text", "en/updates.toml", LEXICON)
"""The words and patterns of this package."""


def load_words(key: str) -> frozenset[str]:
    """Return the words under a key of the data file."""
    return word_set(DATA.text(key))


def load_groups(key: str) -> dict[str, str]:
    """Return the group of each word, from a table of the data file that lists the words of each group."""
    groups = DATA.mapping(key).items()
    return {word.replace("_", " "): group for group, words in groups for word in words.split()}


MAX_VERB_POSITION = 10
"""Maximum position, in words, of the verb of a statement."""

_MAX_STATEMENT_WORDS = 24
"""Maximum words in a statement; a longer one makes several statements."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The words of a statement as if it were not negated, and whether it is."""

    words: tuple[str, ...]
    negated: bool = False
    lowered: list[str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lowered", [word.lower() for word in self.words])


@dataclass(frozen=True, slots=True)
class Claim:
    """The subject of a statement, and its value in the words of the statement.

    The value may have several parts; unknown parts are None, and an unknown value is empty. `denied` means that the
    statement denies the value.
    """

    subject: str
    value: tuple[str | None, ...] = ()
    denied: bool = False


def parse_statement(text: str) -> Statement | None:
    """Return the statement that a text is, without its negation.

    None if the text has several statements, or is a question, a list, hedged, conditional or about the past.
    """
    plain = " ".join(to_nfc(text).replace("\u2019", "'").split()).strip()
    plain = _OPENING_FILLER.sub("", plain).rstrip(".! ")
    if not plain or _NOT_STATEMENT.search(plain):
        return None
    split = plain.split()
    if len(split) > _MAX_SPLIT_WORDS or not _ALWAYS_DOUBTFUL.isdisjoint(map(str.lower, split)):
        return None
    words = _resolve_perfect([full for word in split for full in _CONTRACTIONS.get(word, (word,))])
    words, ceased = _resolve_state_change(words)
    words = [word for at, word in enumerate(words) if at == 0 or word.lower() not in _IDLE_ADVERBS]
    if len(words) > 2 and words[-1].lower() == "again":
        words.pop()
    if len(words) > _MAX_STATEMENT_WORDS:
        return None
    words, negations = _strip_negations(words)
    negations += ceased
    if negations > 1 or any(map(_is_doubtful, words)):
        return None
    return Statement(tuple(words), negations == 1) if words else None


_MAX_SPLIT_WORDS = 2 * _MAX_STATEMENT_WORDS
_ALWAYS_DOUBTFUL = DOUBTFUL_WORDS - load_words("statement.doubtful_in_places")
"""Words that make a statement doubtful wherever they stand, checked first."""


def _is_doubtful(word: str) -> bool:
    lowered = word.strip(",").lower()
    return (lowered in DOUBTFUL_WORDS and word != "May") or _NEGATED_WORD.search(lowered) is not None


_OPENING_FILLER = re.compile(DATA.pattern("patterns.opening_filler"), re.IGNORECASE)
_NOT_STATEMENT = re.compile(DATA.pattern("patterns.not_statement"))
_IDLE_ADVERBS = load_words("statement.idle_adverbs")
_CONTRACTIONS = {word: tuple(full.split()) for word, full in DATA.mapping("statement.contractions").items()}
_NEGATED_WORD = re.compile(DATA.pattern("patterns.negated_word"))


def _resolve_perfect(words: list[str]) -> list[str]:
    """Replace a change by its result: "has been paid" and "was merged" become "is …"."""
    for at in range(1, len(words) - 1):
        verb = words[at].lower()
        end = at + 2 if verb == "has" and words[at + 1].lower() == "been" else at + 1
        if (end == at + 2 or verb == "was") and _is_lasting([word.lower() for word in words[end:]]):
            return [*words[:at], "is", *words[end:]]
    return words


def _is_lasting(lowered: Sequence[str]) -> bool:
    """Return whether the result of an action lasts, and the action was done once."""
    return (len(lowered) == 1 and lowered[0] in _LASTING_PARTICIPLES) or tuple(lowered[:2]) in _LASTING_PHRASES


_LASTING_PARTICIPLES = load_words("statement.lasting_participles")
_LASTING_PHRASES = {
    (verb, preposition)
    for row in DATA.rows("statement.lasting_phrases")
    for verb in row["verbs"].split()
    for preposition in row["prepositions"].split()
}


def _strip_negations(words: Sequence[str]) -> tuple[list[str], int]:
    """Strip negations, and return the other words and the number of negations."""
    rest, count, at = list[str](), 0, 0
    lowered = [word.lower() for word in words]
    while at < len(words):
        lowered_word, after = lowered[at], lowered[at + 1] if at + 1 < len(words) else ""
        if (lowered_word, after) in _NEGATING_PAIRS:
            at, count = at + 2, count + 1
        elif (
            lowered_word == "never"
            or (lowered_word == "not" and rest and rest[-1].lower() in _WORDS_BEFORE_NOT)
            or (lowered_word == "no" and rest and rest[-1].lower() in _WORDS_BEFORE_NO)
        ):
            at, count = at + 1, count + 1
        else:
            rest.append(words[at])
            at += 1
    while count == 1 and rest and [word.lower() for word in rest[-2:]] in (["any", "more"], ["any", "longer"]):
        rest = rest[:-2]
    if count == 1 and rest and rest[-1].lower() == "anymore":
        rest.pop()
    return rest, count


_NEGATING_PAIRS = {tuple(pair.split()) for pair in load_words("statement.negating_pairs")}
_WORDS_BEFORE_NOT = load_words("statement.words_before_not")
_WORDS_BEFORE_NO = load_words("statement.words_before_no")


def base_form(verb: str) -> str:
    """Return the base form of a verb."""
    if verb in _IRREGULAR_VERBS:
        return _IRREGULAR_VERBS[verb]
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    if verb.endswith(ES_ENDINGS):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") and len(verb) > 2 else verb


_IRREGULAR_VERBS = DATA.mapping("statement.irregular_verbs")


def _resolve_state_change(words: Sequence[str]) -> tuple[list[str], bool]:
    """Return how it is since a change, and whether that is denied.

    A move to Porto means living in Porto; a switch from one tool to another denies that the first is used. Any other
    words are returned unchanged.
    """
    for at in range(1, min(len(words) - 2, _MAX_CHANGE_POSITION)):
        verb = words[at].lower()
        if verb in _MOVE_VERBS:
            return _read_move(words, at) or (list(words), False)
        if verb in _USE_VERBS:
            return _read_replacement(words, at) or (list(words), False)
    return list(words), False


_MAX_CHANGE_POSITION = 8
_MOVE_VERBS = load_words("changes.move_verbs")
_RELOCATION_VERBS = load_words("changes.relocation_verbs")
_USE_VERBS = load_words("changes.use_verbs")


def _read_move(words: Sequence[str], at: int) -> tuple[list[str], bool] | None:
    subject, verb, rest = _strip_perfect(words[:at]), words[at].lower(), _strip_moment(words[at + 1 :])
    lowered = [word.lower() for word in rest]
    to = lowered.index("to") if "to" in lowered else 0
    if not subject or (to and lowered[0] != "from") or lowered.count("to") != 1 or to == len(rest) - 1:
        return None
    source, aim = rest[1:to], rest[to + 1 :]
    if to == 1:
        return None
    if verb in _RELOCATION_VERBS and is_place(" ".join(aim)) and (not to or is_place(" ".join(source))):
        return [*subject, "lives", "in", *aim], False
    if to and verb != "relocated" and _is_tool(source) and _is_tool(aim) and not _share_words(source, aim):
        return [*subject, "uses", *source], True
    return None


def _read_replacement(words: Sequence[str], at: int) -> tuple[list[str], bool] | None:
    """Read that one tool is used instead of another, as a denial of the other."""
    rest = _strip_moment(words[at + 1 :])
    lowered = [word.lower() for word in rest]
    if "instead" not in lowered[1:-2] or lowered[lowered.index("instead") + 1] != "of":
        return None
    bound = lowered.index("instead")
    new, old = rest[:bound], rest[bound + 2 :]
    if not _is_tool(new) or not _is_tool(old) or _share_words(new, old):
        return None
    subject = [word for word in words[:at] if word.lower() != "now"]
    return [*subject, words[at], *old], True


def _strip_perfect(words: Sequence[str]) -> list[str]:
    """Return the subject without auxiliaries: "I have just" becomes "I".

    Empty if another auxiliary or a negation is among the words.
    """
    subject = ["I"] if [*words[:1]] == ["I've"] else ["We"] if [*words[:1]] == ["We've"] else [*words[:1]]
    subject += words[1:]
    while len(subject) > 1 and subject[-1].lower() in _PERFECT_WORDS:
        subject.pop()
    return subject if not any(_NOT_PERFECT.search(word.lower()) for word in subject) else []


_PERFECT_WORDS = load_words("changes.perfect_words")
_NOT_PERFECT = re.compile(DATA.pattern("patterns.not_perfect"))


def _strip_moment(words: Sequence[str]) -> Sequence[str]:
    """Strip a moment at the end that is not long past."""
    text = " ".join(words)
    moment = _RECENT_MOMENT.search(text)
    return text[: moment.start()].split() if moment else words


_RECENT_MOMENT = re.compile(DATA.pattern("patterns.recent_moment"), re.IGNORECASE)


def _is_tool(words: Sequence[str]) -> bool:
    """Return whether the words name one tool that is used, and not where or for what."""
    lowered = [word.lower() for word in words]
    plain = all(word.isascii() and not any(char.isdigit() or char == "," for char in word) for word in words)
    return (
        0 < len(words) <= _MAX_TOOL_WORDS
        and plain
        and not set(lowered) & (BINDING_PREPOSITIONS | POINTER_WORDS | _NOT_TOOL_WORDS)
    )


_MAX_TOOL_WORDS = 3
_NOT_TOOL_WORDS = load_words("changes.not_tool_words")


def _share_words(one: Sequence[str], other: Sequence[str]) -> bool:
    return bool({word.lower() for word in one} & {word.lower() for word in other})


_MAX_SUBJECT_WORDS = 8
"""Maximum words that name a thing."""

MAX_NAME_WORDS = 3


@dataclass(frozen=True, slots=True)
class SpeakerContext:
    """Who "I" and "the user" are, and in which context "the meeting" is a known one.

    The suffixes become part of subjects that are unique only there; None means unknown.
    """

    me: str | None
    context_suffix: str | None
    speaker_suffix: str = ""
    source_suffix: str = ""


def resolve_speaker(speaker: str | None, me: str | None, within: str | None = None) -> SpeakerContext:
    """Return who speaks, and the context of the text.

    The speaker is a name, or else the unnamed user if there is one.
    """
    name = None if speaker is None or speaker.strip().lower() in _UNNAMED_LABELS else canonical_key(speaker)
    user = None if me is None else _user_key(me)
    source_suffix = "" if within is None else _make_source_suffix(within)
    if name:
        speaker_suffix = "" if name == user else f" ({name})"
        return SpeakerContext(name, f"{speaker_suffix}{source_suffix}", speaker_suffix, source_suffix)
    is_machine = speaker is not None and speaker.strip().lower() in _MACHINE_LABELS
    return SpeakerContext(
        None if is_machine else user, None if user is None else source_suffix, source_suffix=source_suffix
    )


def _make_source_suffix(within: str) -> str:
    """Return the context of a text as a part of its subject.

    A long context is cut, and the beginning of its hash makes it unique.
    """
    source = " ".join(to_nfc(within).replace(":", " ").split())
    if len(source) > _MAX_SOURCE_CHARS:
        source = f"{source[:_MAX_SOURCE_CHARS].rstrip()}… {content_hash(within)[:8]}"
    return f" (in {fold_case(source)})" if source else ""


_MAX_SOURCE_CHARS = 32


@lru_cache(maxsize=8)
def _user_key(me: str) -> str:
    """Return the key of an unnamed user, which is cached as it is nearly always the same."""
    return canonical_key(me)


_MACHINE_LABELS = load_words("speakers.machine_labels")
_UNNAMED_LABELS = _MACHINE_LABELS | load_words("speakers.unnamed_labels") | {""}


def canonical_key(words: str) -> str:
    """Return the canonical form of the words; short names keep their case as in `fold_case`."""
    return fold_case(" ".join(canonical_keys(words)))


def fold_case(words: str) -> str:
    """Return the words in lower case, except short names behind another word: repo A.

    Short names have one or two letters.
    """
    parts = words.split()
    return " ".join(
        part
        if at and len(part) <= _MAX_SHORT_NAME_CHARS and part[0].isupper() and part.lower() not in _SMALL_WORDS
        else part.lower()
        for at, part in enumerate(parts)
    )


_MAX_SHORT_NAME_CHARS = 2
_SMALL_WORDS = BINDING_PREPOSITIONS | load_words("things.small_words")


def resolve_person(words: Sequence[str], context: SpeakerContext) -> str | None:
    """Return the person meant: the speaker, a name, or a relation of which a person has one."""
    written = " ".join(words)
    if written.lower() in ("i", "user", "the user"):
        return context.me
    if written.lower() == "we":
        return None if context.me is None else f"{context.me}'s people"
    if 0 < len(words) <= MAX_NAME_WORDS and is_name(words):
        return canonical_key(written)
    owner, rest = _resolve_owner(words, context)
    return f"{owner} {rest[0].lower()}" if owner and len(rest) == 1 and rest[0].lower() in UNIQUE_RELATIONS else None


def is_name(words: Sequence[str]) -> bool:
    """Return whether the words are a name."""
    return bool(words) and all(map(is_name_word, words)) and words[0].lower() not in NEVER_NAME_STARTS


def is_name_word(word: str) -> bool:
    bare = word.replace("-", "").replace("'", "").replace(".", "")
    return word[:1].isupper() and bare.isalpha() and word[-2:] != "'s"


def resolve_thing(words: Sequence[str], context: SpeakerContext) -> str | None:
    """Return the thing meant, if it is a certain one: the …, my …, Ana's …, ticket 7."""
    owner, rest = _resolve_owner(words, context)
    if owner:
        return (
            f"{owner} {canonical_key(' '.join(rest))}"
            if is_single_thing(rest) and _is_certain(rest, owned=True)
            else None
        )
    if not words or _has_owner(words):
        return None
    if words[0].lower() == "the":
        rest = words[1:]
        if not is_single_thing(rest) or not _is_certain(rest):
            return None
        key = canonical_key(" ".join(rest))
        if _is_specific(rest):
            return key
        return None if context.context_suffix is None else f"{key}{context.context_suffix}"
    return canonical_key(" ".join(words)) if _is_numbered(words) else None


def _has_owner(words: Sequence[str]) -> bool:
    """Return whether the thing has an owner; "the gate for Ana's flight" has none."""
    return any(word.endswith("'s") for word in words[: _head_end(words)])


def resolve_property(words: Sequence[str], context: SpeakerContext) -> tuple[str | None, Sequence[str]]:
    """Return the owner and the property, such as Ana and email.

    The owner is "" or a context suffix if the property has none in particular, and None if it is unknown. The deadline
    of project Y is project Y's deadline.
    """
    owner, property_words = _resolve_owner(words, context)
    if owner:
        return owner, property_words
    lowered = [word.lower() for word in words]
    if _has_owner(words):
        return None, ()
    if lowered[:1] == ["the"]:
        if lowered.count("of") == 1 and lowered.index("of") > 1:
            at = lowered.index("of")
            owner_words = words[at + 2 :] if lowered[at + 1 : at + 2] == ["the"] else words[at + 1 :]
            if not owner_words or owner_words[0].lower() in NEVER_NAME_STARTS:
                return None, ()
            owner_key = canonical_key(" ".join(owner_words))
            return (owner_key if _is_specific(owner_words) else _add_context_to_owner(owner_key, context)), words[1:at]
        return (_add_context_to_owner("", context) if not _is_specific(words[1:]) else ""), words[1:]
    if len(words) > 1 and (lowered[0] in UNIQUE_ADJECTIVES or lowered[0] == "main"):
        return _add_context_to_owner("", context), words
    return None, ()


def _resolve_owner(words: Sequence[str], context: SpeakerContext) -> tuple[str | None, Sequence[str]]:
    """Return the owner and the thing.

    The owner is None if the thing has none, or if it belongs to one of several.
    """
    if not words:
        return None, words
    first = words[0].lower()
    if first in ("my", "our"):
        owner = context.me if first == "my" or context.me is None else f"{context.me}'s people"
        return _resolve_ownership(owner, words[1:])
    start = 1 if first == "the" else 0
    for at in range(start, min(len(words), start + MAX_NAME_WORDS)):
        if not words[at].endswith("'s"):
            continue
        owner_words = [*words[start:at], words[at][:-2]]
        if any(name.lower() in BINDING_PREPOSITIONS for name in owner_words):  # the gate for Ana's flight
            return None, words
        lowered = [name.lower() for name in owner_words]
        rest = words[at + 1 :]
        if lowered == ["user"]:
            return _resolve_ownership(context.me, rest)
        if is_name(owner_words) or (lowered[0] == "project" and len(owner_words) > 1):
            return _resolve_ownership(canonical_key(" ".join(owner_words)), rest)
        if start == 1 and _is_certain(owner_words) and lowered[-1] not in REPEATABLE_RELATIONS:
            return _resolve_ownership(_add_context_to_owner(canonical_key(" ".join(owner_words)), context), rest)
        return None, words
    return None, words


def _resolve_ownership(owner: str | None, rest: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return the final owner: my wife's email is hers; "my daughter's" may be one of several."""
    owner_at = next((at for at, word in enumerate(rest) if word.endswith("'s")), None)
    if owner is None or not rest or owner_at is None:
        return (owner if rest else None), rest
    is_bound = any(word.lower() in BINDING_PREPOSITIONS for word in rest[:owner_at])
    if is_bound:  # the gate for Ana's flight
        return owner, rest
    kin = rest[owner_at][:-2].lower()
    return (
        (f"{owner} {kin}", rest[1:]) if owner_at == 0 and len(rest) > 1 and kin in UNIQUE_POSSESSIONS else (None, rest)
    )


def is_single_thing(words: Sequence[str]) -> bool:
    """Return whether the words name one thing: no list and no plural."""
    if (
        not 0 < len(words) <= _MAX_SUBJECT_WORDS
        or words[0].lower() in NEVER_NAME_STARTS
        or any("," in word for word in words)
    ):
        return False
    head = head_noun(words)
    return not head.endswith("s") or head.endswith(_SINGULAR_ENDINGS)


_SINGULAR_ENDINGS = DATA.words("things.singular_endings")


def head_noun(words: Sequence[str]) -> str:
    """Return the noun that the other words describe."""
    return words[_head_end(words) - 1].lower()


def _head_end(words: Sequence[str]) -> int:
    return next((at for at, word in enumerate(words) if at and word.lower() in BINDING_PREPOSITIONS), len(words))


def _is_certain(words: Sequence[str], *, owned: bool = False) -> bool:
    """Return whether it is certain which thing is meant.

    It is uncertain for one of several things or of a series, unless the words are more specific.
    """
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


_SINGLE_EVENT_WORDS = load_words("things.single_event_words")


def _is_specific(words: Sequence[str]) -> bool:
    """Return whether the words identify the thing in any conversation."""
    return any(map(_is_specific_word, words))


def _is_specific_word(word: str) -> bool:
    is_name = word[:1].isupper() and word.lower() not in _ACRONYMS
    return is_name or any(char.isdigit() or char in "_/@.#" for char in word)


_ACRONYMS = load_words("things.acronyms")


def _add_context_to_owner(of: str, context: SpeakerContext) -> str | None:
    """Return the owner with the context that identifies it; None if that is unknown."""
    return None if context.context_suffix is None else f"{of}{context.context_suffix}".strip()


def _is_numbered(words: Sequence[str]) -> bool:
    """Return whether it is a ticket, a sprint or the like with its number, or an identifier."""
    if not 0 < len(words) <= _MAX_NUMBERED_WORDS or not is_single_thing(words):
        return False
    if len(words) == 1:
        return _IDENTIFIER.fullmatch(words[0]) is not None
    return words[0][:1].isalpha() and any(_NUMBER.fullmatch(word) for word in words[1:])


_MAX_NUMBERED_WORDS = 4
_NUMBER = re.compile(r"#?[A-Z]{0,8}-?\d[\d.-]{0,20}")
_IDENTIFIER = re.compile(r"[A-Za-z][\w.-]{0,60}[_\d][\w.-]{0,60}|[A-Z]{1,8}-\d{1,8}")


def resolve_kind(words: Sequence[str], context: SpeakerContext) -> str | None:
    """Return the key for all of a kind, or for what exists once: backups, p50 latency."""
    words = words[1:] if words[0].lower() == "the" and words[-1].lower().endswith("s") else words
    small = all(word[:1].islower() or not word[:1].isalpha() for word in words[1:])
    lowered = [word.lower() for word in words]
    if (
        context.context_suffix is None
        or not 0 < len(words) <= _MAX_KIND_WORDS
        or not small
        or set(lowered) & _NOT_KIND_WORDS
        or _has_owner(words)
    ):
        return None
    if not words[0][:1].isalpha():
        return None
    is_known = len(words) > 1 or lowered[0].endswith("s") or lowered[0] in _UNCOUNTED_NOUNS
    return f"{canonical_key(' '.join(words))}{context.context_suffix}" if is_known and not is_name(words[1:]) else None


_UNCOUNTED_NOUNS = load_words("things.uncounted_nouns")
UNCOUNTED_SUBJECTS = [[word] for word in _UNCOUNTED_NOUNS]
_NOT_KIND_WORDS = POINTER_WORDS | CONTEXT_NOUNS | load_words("things.not_kind_words")
_MAX_KIND_WORDS = 4
