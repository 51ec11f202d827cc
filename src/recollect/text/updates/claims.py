"""Claims: what a text is about, if only one statement about it can be true at a time.

Texts share a subject if they give one relation or property of a person or a thing (see `relations`), or if they are
equal except for one side of a contrast, a job grade, the order of a preference, whether they hold, the state of a
thing, one number, or the value of one setting.
"""

import re
from collections.abc import Sequence

from recollect.model.enums import Provenance
from recollect.model.memory import Memory
from recollect.model.validation import to_nfc
from recollect.text.lexicon import (
    BINDING_PREPOSITIONS,
    INDEFINITE_ARTICLES,
    JOB_GRADES,
    JOB_TITLES,
    MONTH_WORDS,
    POINTER_WORDS,
    WEEKDAY_WORDS,
)
from recollect.text.paraphrase import canonicalize_text
from recollect.text.updates.relations import dimension_mark, read_event_claim, read_person_claim, read_property_claim
from recollect.text.updates.statement import (
    DATA,
    MAX_VERB_POSITION,
    UNCOUNTED_SUBJECTS,
    Claim,
    SpeakerContext,
    Statement,
    base_form,
    canonical_key,
    fold_case,
    is_name,
    load_groups,
    load_words,
    parse_statement,
    resolve_kind,
    resolve_person,
    resolve_speaker,
    resolve_thing,
)

MAX_TEXT_CHARS = 200
"""Maximum length of a text with a claim; a longer text makes several statements."""

MAX_SUBJECT_CHARS = 120
"""Maximum length of a subject; a longer one would never be named again in the same words."""

UNNAMED_USER = "user"
"""The name of an unnamed user who owns a scope."""


def find_subject(text: str, speaker: str | None, me: str | None, within: str | None = None) -> str | None:
    """Return the subject whose present value the text gives, such as "ana: lives in".

    Return None if the subject is ambiguous. Only one short statement in the present tense has a subject: nothing
    hedged, asked, conditional, listed or bound to a moment.

    "I" and "the user" are the speaker, or else `me`, if the text is the user's own or a record of what they said;
    without either, they are unknown. A thing without a name or an owner is a different one in each `within`, the
    context of a text such as its title.

    Two texts have the same subject only if both cannot be true, or if one denies what the other may say, or if both
    mean the same: `are_compatible` tells these apart.
    """
    found = read_claim(text, speaker, me, within)
    return None if found is None else found.subject


def read_claim(text: str, speaker: str | None, me: str | None, within: str | None = None) -> Claim | None:
    """Return the subject of the text and its value; None without a subject."""
    if len(text) > MAX_TEXT_CHARS:
        return None
    if "=" in text:
        setting = _read_setting(" ".join(to_nfc(text).split()).rstrip(". "), resolve_speaker(speaker, me, within))
        if setting is not None:
            return Claim(setting) if len(setting) <= MAX_SUBJECT_CHARS else None
    statement = parse_statement(text)
    if statement is None:
        return None
    context = resolve_speaker(speaker, me, within)
    claim = next((one for one in (read(statement, context) for read in _CLAIM_READERS) if one is not None), None)
    if claim is None:
        claim = _read_truth_claim(statement, context)
    elif statement.negated and not claim.value:  # a denial alone does not tell the true value
        return None
    return claim if claim is not None and len(claim.subject) <= MAX_SUBJECT_CHARS else None


def are_compatible(one: Memory, other: Memory) -> bool:
    """Return whether two memories with one subject can both be true, judging by their texts."""
    first, second = (
        read_claim(each.text, each.speaker, first_person_name(each.provenance), distinguishing_context(each))
        for each in (one, other)
    )
    return one.subject == other.subject and are_claims_compatible(one.subject, first, second)


def are_claims_compatible(subject: str | None, first: Claim | None, second: Claim | None) -> bool:
    """Return whether two claims about a subject can both be true.

    They can if both affirm or both deny the same thing, if they give it the same value, one of them in more words, or
    if one denies another value than the other gives. Return False if the caller supplied a subject that a text itself
    does not imply: then its claim is about another one.
    """
    if first is None or second is None or not first.subject == second.subject == subject:
        return False
    if not first.value or not second.value:
        return False
    if first.denied or second.denied:
        if first.denied and second.denied:
            return True
        denial, claim = (first, second) if first.denied else (second, first)
        return any(
            no is not None and not _is_same_value(no, yes) for no, yes in zip(denial.value, claim.value, strict=False)
        )
    return all(
        left is None or right is None or _is_same_value(left, right) or _is_part(left, right) or _is_part(right, left)
        for left, right in zip(first.value, second.value, strict=False)
    )


def _is_same_value(one: str | None, other: str | None) -> bool:
    return one == other or (one is not None and other is not None and canonical_key(one) == canonical_key(other))


def _is_part(one: str, other: str) -> bool:
    """Return whether the other value contains this one and more.

    For example Bo and Bo Hansen, or a folder and a file in it.
    """
    less, more = (set(value.lower().replace(",", " ").split()) for value in (one, other))
    return less <= more or other.startswith(f"{one.rstrip('/')}/")


def distinguishing_context(memory: Memory) -> str | None:
    """Return what gives "the …" in a memory its meaning: its title, its source or its session."""
    return memory.title or memory.source or memory.session


def first_person_name(provenance: Provenance) -> str | None:
    """Return who "I" and "the user" refer to in a text with this provenance and no speaker.

    The user, in their own words, in a model's record of them and in an operator's; unknown in what tools, documents and
    imports say.
    """
    return UNNAMED_USER if provenance in _USER_PROVENANCES else None


_USER_PROVENANCES = frozenset({Provenance.DIRECT_USER, Provenance.MODEL_INFERENCE, Provenance.OPERATOR})


def normalize_subject(subject: str) -> str:
    """Return a given subject in the spelling of subjects that are read from texts.

    "Ana:  Lives in" becomes "ana: lives in": lower case, single spaces, one after each colon. Names of one or two
    letters after another word keep their case, as in "repo A: owner".
    """
    parts = (fold_case(" ".join(part.split())) for part in to_nfc(subject).split(":"))
    return ": ".join(parts).strip() or subject


# ── a choice: prefers one of two, wants short answers, has a job of some grade ───────────────────────────────────────

_MAX_CHOICE_WORDS = 9


def _read_choice_claim(statement: Statement, context: SpeakerContext) -> Claim | None:
    """Read a preference, a wish for short answers and the like, or the grade of a job."""
    words, lowered = statement.words, statement.lowered
    for at in range(1, min(len(words), MAX_VERB_POSITION)):
        if lowered[at] not in _CHOICE_VERBS:
            continue
        whose, rest = resolve_person(words[:at], context), words[at + 1 :]
        if whose is None or not 0 < len(rest) <= _MAX_CHOICE_WORDS or {word.lower() for word in rest} & POINTER_WORDS:
            return None
        if lowered[at] in ("is", "am"):
            choice = _read_job(rest)
        else:
            choice = (_read_preference_pair(rest) if base_form(lowered[at]) == "prefer" else None) or _mask_contrast(
                lowered[at], rest
            )
        return Claim(f"{whose}: {choice}") if choice else None
    return None


_CHOICE_VERBS = load_words("choices.verbs")


def _read_preference_pair(words: Sequence[str]) -> str | None:
    """Return both sides of a preference in a fixed order, whichever is preferred."""
    lowered = [word.lower() for word in words]
    at = next((at for at, word in enumerate(lowered) if word in ("over", "to") and 0 < at < len(words) - 1), None)
    if at is None:
        return None
    sides = sorted((canonical_key(" ".join(words[:at])), canonical_key(" ".join(words[at + 1 :]))))
    return f"prefers {sides[0]} or {sides[1]}"


def _mask_contrast(written_verb: str, words: Sequence[str]) -> str | None:
    """Return the words with both sides of the contrast in place of the one that is named.

    For "want", only answer styles count, because a person can want both of most other things.
    """
    verb, answers = base_form(written_verb), not _ANSWER_NOUNS.isdisjoint(word.lower() for word in words)
    contrasts = _ANSWER_CONTRASTS if answers else _CONTRASTS if verb == "prefer" else {}
    masked, count = list[str](), 0
    for word in words:
        contrast = contrasts.get(word.lower().strip(","))
        if contrast is None or masked[-1:] != [contrast]:  # "long, detailed answers" is one contrast
            count += contrast is not None
            masked.append(contrast or word)
    return f"{verb} {canonical_key(' '.join(masked))}" if count == 1 and len(words) > 1 else None


_ANSWER_NOUNS = load_words("choices.answer_nouns")


def _load_contrasts(*keys: str) -> dict[str, str]:
    """Return the contrast that each word is a side of, named by its first two words."""
    contrasts = [line.split() for key in keys for line in DATA.lines(key)]
    return {word: "/".join(words[:2]) for words in contrasts for word in words}


_CONTRASTS = _load_contrasts("choices.style_contrasts", "choices.thing_contrasts")
_ANSWER_CONTRASTS = _load_contrasts("choices.style_contrasts", "choices.language_contrasts")


def _read_job(words: Sequence[str]) -> str | None:
    """Return the job of a person at one employer, or the job with any grade."""
    lowered = [word.lower() for word in words]
    if lowered[0] not in INDEFINITE_ARTICLES or len(words) < 3:
        return None
    if "at" in lowered[2:-1]:
        at = lowered.index("at")
        where = words[at + 1 :]
        if lowered[at - 1] in JOB_TITLES and is_name(where):
            return f"job at {canonical_key(' '.join(where))}"
    graded = lowered[1] in JOB_GRADES and not JOB_TITLES.isdisjoint(lowered[2:])
    return f"is ~ {canonical_key(' '.join(words[2:]))}" if graded else None


# ── what holds or not: uses, likes, is open ──────────────────────────────────────────────────────────────────────────

_MAX_TRUTH_WORDS = 9


def _read_truth_claim(statement: Statement, context: SpeakerContext) -> Claim | None:
    """Read a yes/no statement; everything except the negation is the subject."""
    words, lowered = statement.words, statement.lowered
    if lowered[0] in ("always", *_ACTION_VERBS) and context.context_suffix is not None:
        rest = words[1:] if lowered[0] == "always" else words
        if len(rest) < 2 or rest[0].lower() not in _ACTION_VERBS:
            return None
        return Claim(f"order{context.context_suffix}: {_join_canonical(rest)}", _yes_or_no(denied=statement.negated))
    for at in range(1, min(len(words), MAX_VERB_POSITION)):
        verb = base_form(lowered[at])
        if verb not in _STATE_VERBS:
            continue
        person = resolve_person(words[:at], context)
        whose = person or resolve_thing(words[:at], context) or _resolve_plural(words[:at], context)
        if whose is None:
            continue
        rest = words[at + 1 :]
        if lowered[at] == "can":
            if not rest:
                return None
            verb, rest = (f"can {base_form(rest[0].lower())}" if person else base_form(rest[0].lower())), rest[1:]
        if person and person != context.me:  # each speaker takes back only their own words about others
            whose = f"{person}{context.speaker_suffix}"
        return _read_state(whose, verb, rest, negated=statement.negated)
    return None


def _read_state(owner: str, verb: str, rest: Sequence[str], *, negated: bool) -> Claim | None:
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
        state_words = " ".join(lowered)
        if state is not None and (not negated or (state in _BINARY_STATE_KINDS and state_words not in _ONE_WAY_STATES)):
            return Claim(f"{owner}: is {state}", (_STATE_SYNONYMS.get(state_words, state_words),), negated)
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
    if not bare and verb not in _COMPLETE_VERBS:
        return None
    return Claim(f"{owner}: whether {_join_canonical([verb, *bare])}", _yes_or_no(denied=denied))


def _yes_or_no(*, denied: bool) -> tuple[str]:
    """Return the value of a yes-or-no statement."""
    return ("no" if denied else "yes",)


def _join_canonical(words: Sequence[str]) -> str:
    """Return the key of all the words.

    Keep "the": "a key" and "the key" may differ.
    """
    rest = [word for word in words[1:] if word.lower() not in INDEFINITE_ARTICLES]
    parts = [list[str]([words[0].lower()])]
    for word in rest:
        if word.lower() == "the":
            parts.append([])
        else:
            parts[-1].append(word)
    return " the ".join(canonical_key(" ".join(part)) for part in parts)


def _resolve_plural(words: Sequence[str], context: SpeakerContext) -> str | None:
    """Return the key for all of a kind, if the words are a plural: deploys, pull requests."""
    plural = len(words) <= 2 and words[-1].lower().endswith("s") and (words[-1][:1].islower() or len(words) == 1)
    return resolve_kind(words, context) if plural else None


_DISLIKE_VERBS = load_words("truths.dislike_verbs")
_FEELING_VERBS = _DISLIKE_VERBS | load_words("truths.liking_verbs")
_OPPOSITES = DATA.mapping("truths.opposites") | {
    f"{prefix}{word}": word
    for prefix, words in DATA.mapping("truths.opposite_prefixes").items()
    for word in words.split()
}
_STATE_VERBS = _FEELING_VERBS | _OPPOSITES.keys() | load_words("truths.state_verbs")
_COMPLETE_VERBS = load_words("truths.complete_verbs")
_MOMENT_WORDS = WEEKDAY_WORDS | MONTH_WORDS | load_words("truths.moment_words")
_LASTING_ACTIVITIES = load_words("truths.lasting_activities")
_PASSIVE_PARTICIPLES = load_words("truths.passive_participles")
_STATE_KINDS = load_groups("states.kinds")
_STATE_SYNONYMS = load_groups("states.synonyms")
_BINARY_STATE_KINDS = load_words("states.binary_kinds")
_ONE_WAY_STATES = load_words("states.one_way")
_ACTION_VERBS = load_words("truths.action_verbs")


# ── a number: has three children, costs 5 euros, pin version 2 ───────────────────────────────────────────────────────


def _read_number_claim(statement: Statement, context: SpeakerContext) -> Claim | None:
    """Read a count, a price, a version and the like: all but the number is the subject."""
    words, lowered = statement.words, statement.lowered
    if lowered[0] in _IMPERATIVE_VERBS and len(words) > 2 and context.context_suffix is not None:
        masked = _mask_number(words[1:]) if _has_object(lowered[1:]) else None
        return Claim(f"{lowered[0]}{context.context_suffix}: {masked}") if masked else None
    for at in range(1, min(len(words), MAX_VERB_POSITION)):
        if lowered[at] not in _NUMBER_VERBS:
            continue
        verb, habit = base_form(lowered[at]), lowered[-2] in ("a", "per") and lowered[-1] in _PERIOD_NOUNS
        whose = resolve_person(words[:at], context) if lowered[at] not in ("are", "must") else None
        if (
            whose is not None
            and verb == "have"
            and (count := _count_possessions(words[at + 1 :], negated=statement.negated))
        ):
            return Claim(f"{whose}: have # {count[1]}", (count[0], "no" if statement.negated else "yes"))
        if lowered[:at] in UNCOUNTED_SUBJECTS:
            whose = None
        elif whose is not None and not (_applies_to_people(lowered[at:]) or (habit and lowered[at] in _HABIT_VERBS)):
            return None
        masked = _mask_number(words[at + 1 :])
        if masked is None or not _names_measured_thing(verb, masked.split()):
            return None
        whose = whose or resolve_thing(words[:at], context) or resolve_kind(words[:at], context)
        if whose is None and verb == "take" and masked == "#time" and context.context_suffix is not None:
            whose = (
                f"{lowered[1]}{context.context_suffix}"
                if at == 2 and lowered[0] == "the" and lowered[1] in _PROCESS_NOUNS
                else None
            )
        return Claim(f"{whose}: {verb} {masked}") if whose else None
    return None


def _has_object(lowered: Sequence[str]) -> bool:
    """Return whether the command's object is a specific noun, not a pronoun."""
    known = lowered[0] not in BINDING_PREPOSITIONS and lowered[0][:1].isalpha() and len(lowered) > 1
    return known and not set(lowered) & POINTER_WORDS and canonicalize_text(lowered[0])[0].kind != "number"


def _names_measured_thing(verb: str, masked: Sequence[str]) -> bool:
    """Return whether the number measures one identifiable thing.

    "Has 32 GB" does not say of what.
    """
    needed = {"take": "of", "pay": "for"}.get(verb)
    if needed is not None:
        return needed in masked or masked == ["#time"]
    return verb not in ("have", "need", "use") or len(masked) > 1


def _count_possessions(words: Sequence[str], *, negated: bool) -> tuple[str | None, str] | None:
    """Return how many of a countable kind a person has, and the kind; None for other nouns.

    The number is None if the text does not give it. Count only things that a person can own any number of, long
    term.
    """
    kind = _COUNTED_FORMS.get(words[-1].lower()) if 0 < len(words) <= 2 else None
    if kind is None:
        return None
    count_word = words[0].lower() if len(words) > 1 else ""
    if negated:
        return ("0", kind) if count_word in _NO_COUNT_WORDS else None
    if count_word in INDEFINITE_ARTICLES:
        return "1", kind
    if not count_word:
        return (None, kind) if words[0].lower() not in _COUNTED_SINGULARS else None
    number = canonicalize_text(count_word)[0]
    return (number.key, kind) if number.kind == "number" else None


_NO_COUNT_WORDS = INDEFINITE_ARTICLES | {"", "any"}
"""What may stand before the noun in "I do not have a car"; the empty word stands for nothing."""

_COUNTED_NOUNS = load_words("numbers.counted_nouns")
_COUNTED_SINGULARS = _COUNTED_NOUNS | load_words("numbers.counted_irregular")
_COUNTED_FORMS = {form: noun for noun in _COUNTED_NOUNS for form in (noun, f"{noun}s")} | DATA.mapping(
    "numbers.counted_forms"
)
_PROCESS_NOUNS = load_words("numbers.process_nouns")


def _applies_to_people(lowered: Sequence[str]) -> bool:
    """Return whether the phrase can be said of any person or thing with a name.

    "Is number 5" cannot, because it need not last.
    """
    return lowered[0] in _VERBS_OF_ANYONE or lowered[1:2] == ["pinned"] or lowered[1:3] == ["at", "version"]


def _mask_number(words: Sequence[str]) -> str | None:
    """Replace the only number by a mark for what it measures; None unless there is exactly one."""
    lowered = {word.lower().strip(",") for word in words}
    if not 0 < len(words) <= _MAX_NUMBER_WORDS or lowered & _TIME_WORDS or any("," in word[-1:] for word in words):
        return None
    tokens = canonicalize_text(" ".join(words))
    numbers = [at for at, token in enumerate(tokens) if token.kind == "number"]
    if not numbers:  # a letter or a code counts like a number: revision C, level P2
        places = range(1, len(tokens))
        numbers = [at for at in places if tokens[at - 1].key in _LABELED_NOUNS and _LABEL.fullmatch(tokens[at].text)]
    if len(numbers) != 1 or any(token.kind in ("date", "time", "negation", "question") for token in tokens):
        return None
    at = numbers[0]
    mark, taken = dimension_mark(tokens, at)
    keys = [*(token.key for token in tokens[:at]), mark, *(token.key for token in tokens[at + 1 + taken :])]
    return " ".join(keys).lower()


_LABELED_NOUNS = load_words("numbers.labeled_nouns")
_LABEL = re.compile(r"[A-Z]|[A-Z]{1,2}\d{1,3}[A-Z]?")

_VERBS_OF_ANYONE = load_words("numbers.verbs_of_anyone")
_HABIT_VERBS = load_words("numbers.habit_verbs")
_PERIOD_NOUNS = load_words("numbers.period_nouns")
_QUANTITY_VERBS = _VERBS_OF_ANYONE | load_words("numbers.quantity_verbs")
_NUMBER_VERBS = _QUANTITY_VERBS | _HABIT_VERBS
_IMPERATIVE_VERBS = load_words("numbers.order_verbs")
_TIME_WORDS = WEEKDAY_WORDS | MONTH_WORDS | {f"{day}s" for day in WEEKDAY_WORDS} | load_words("numbers.time_words")
_MAX_NUMBER_WORDS = 9


# ── a setting: MAX_UPLOADS = 5 ───────────────────────────────────────────────────────────────────────────────────────

_SETTING_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z][\w.-]{2,60}) ?= ?(?P<value>\S{1,60})")
"""A setting and its value, as in MAX_UPLOADS = 5."""


def _read_setting(text: str, context: SpeakerContext) -> str | None:
    """Return the subject of a setting as code has it: MAX_UPLOADS = 5."""
    assignment = _SETTING_ASSIGNMENT.fullmatch(text)
    if (
        assignment is None
        or context.context_suffix is None
        or not (assignment["name"].isupper() or "_" in assignment["name"].strip("_"))
    ):
        return None
    return f"{assignment['name']}{context.context_suffix}: ="


_CLAIM_READERS = (read_person_claim, read_property_claim, read_event_claim, _read_number_claim, _read_choice_claim)
"""The first that finds a claim decides; `_read_truth_claim` is asked last."""
