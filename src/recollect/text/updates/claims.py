"""Claims: what a text is about, if only one statement about it can be true at a time."""

from recollect.model.enums import Provenance
from recollect.model.memory import Memory
from recollect.model.validation import to_nfc
from recollect.text.updates.claim_rules import read_choice_claim, read_number_claim, read_setting, read_truth_claim
from recollect.text.updates.relations import read_event_claim, read_person_claim, read_property_claim
from recollect.text.updates.statement import Claim, canonical_key, fold_case, parse_statement, resolve_speaker

MAX_TEXT_CHARS = 200
"""Maximum length of a text with a claim; a longer text says more than one thing."""

MAX_SUBJECT_CHARS = 120
"""Maximum length of a subject; a longer one would never be named again in the same words."""

UNNAMED_USER = "user"
"""The name of an unnamed user who owns a scope."""

_CLAIM_READERS = (read_person_claim, read_property_claim, read_event_claim, read_number_claim, read_choice_claim)


def find_subject(text: str, speaker: str | None, me: str | None, within: str | None = None) -> str | None:
    """Return the subject whose present value the text gives, such as "ana: lives in".

    None if anything about it is in doubt. Only one short statement in the present tense has a subject: nothing hedged,
    asked, conditional, listed or bound to a moment. "I" and "the user" are the speaker, or else `me`, if the text is
    the user's own or a record of what they said; without either, they are unknown. A thing without a name or an owner
    is a different one in each `within`, which is what stands beside a text, such as its title. Two texts have the same
    subject only if both cannot be true, or if one denies what the other may say, or if both say the same:
    `are_compatible` tells these apart.
    """
    found = read_claim(text, speaker, me, within)
    return None if found is None else found.subject


def read_claim(text: str, speaker: str | None, me: str | None, within: str | None = None) -> Claim | None:
    """Return the subject of the text and its value; None without a subject."""
    if len(text) > MAX_TEXT_CHARS:
        return None
    if "=" in text:
        setting = read_setting(" ".join(to_nfc(text).split()).rstrip(". "), resolve_speaker(speaker, me, within))
        if setting is not None:
            return Claim(setting) if len(setting) <= MAX_SUBJECT_CHARS else None
    said = parse_statement(text)
    if said is None:
        return None
    who = resolve_speaker(speaker, me, within)
    found = next((one for one in (read(said, who) for read in _CLAIM_READERS) if one is not None), None)
    if found is None:
        found = read_truth_claim(said, who)
    elif said.negated and not found.value:  # a denial alone does not tell the true value
        return None
    return found if found is not None and len(found.subject) <= MAX_SUBJECT_CHARS else None


def are_compatible(one: Memory, other: Memory) -> bool:
    """Return whether two memories with one subject can both be true, judging by their texts.

    They can if both affirm or both deny the same thing, if they give it the same value, one of them in more words, or
    if one denies another value than the other gives. The result is False for a subject that was given and that is not
    the text's own.
    """
    known, read = _read_own_claim(one), _read_own_claim(other)
    if known is None or read is None or known.subject != read.subject or not known.value or not read.value:
        return False
    if known.denied or read.denied:
        if known.denied and read.denied:
            return True
        denial, claim = (known, read) if known.denied else (read, known)
        return any(
            no is not None and not _is_same_value(no, yes) for no, yes in zip(denial.value, claim.value, strict=False)
        )
    return all(
        one is None or other is None or _is_same_value(one, other) or _is_part(one, other) or _is_part(other, one)
        for one, other in zip(known.value, read.value, strict=False)
    )


def _is_same_value(one: str | None, other: str | None) -> bool:
    return one == other or (one is not None and other is not None and canonical_key(one) == canonical_key(other))


def _is_part(one: str, other: str) -> bool:
    """Return whether the other value says all of this one and more.

    For example Bo and Bo Hansen, or a folder and a file in it.
    """
    less, more = (set(said.lower().replace(",", " ").split()) for said in (one, other))
    return less <= more or other.startswith(f"{one.rstrip('/')}/")


def _read_own_claim(memory: Memory) -> Claim | None:
    found = read_claim(
        memory.text, memory.speaker, first_person_name(memory.provenance), distinguishing_context(memory)
    )
    return found if found is not None and found.subject == memory.subject else None


def distinguishing_context(memory: Memory) -> str | None:
    """Return what gives "the …" in a memory its meaning: its title, its source or its session."""
    return memory.title or memory.source or memory.session


def first_person_name(provenance: Provenance) -> str | None:
    """Return who "I" and "the user" are in a text from there, if it names no speaker.

    The user, in their own words, in a model's record of them and in an operator's; unknown in what tools, documents and
    imports say.
    """
    return UNNAMED_USER if provenance in _USER_PROVENANCES else None


_USER_PROVENANCES = frozenset({Provenance.DIRECT_USER, Provenance.MODEL_INFERENCE, Provenance.OPERATOR})


def normalize_subject(subject: str) -> str:
    """Return a given subject in the spelling of subjects that are read from texts.

    "Ana:  Lives in" becomes "ana: lives in": lower case, single blanks, one after each colon. Names of one or two
    letters behind another word keep their case, as in "repo A: owner".
    """
    parts = (fold_case(" ".join(part.split())) for part in to_nfc(subject).split(":"))
    return ": ".join(parts).strip() or subject
