"""Subject: what a text is about, where only one thing of that can be true at a time."""

from recollect.model.enums import Provenance
from recollect.model.memory import Memory
from recollect.model.validation import to_nfc
from recollect.text.updates.claim_rules import read_choice_claim, read_number_claim, read_setting, read_truth_claim
from recollect.text.updates.relations import read_event_claim, read_person_claim, read_property_claim
from recollect.text.updates.statement import Claim, canonical_key, fold_case, parse_statement, resolve_speaker

MAX_TEXT_CHARS = 200
"""Longer texts say more than one thing."""

MAX_SUBJECT_CHARS = 120
"""Longer subjects are none: nobody would name it again in the same words."""

UNNAMED_USER = "user"
"""What somebody without a name is called to whom a scope belongs."""

_CLAIM_READERS = (read_person_claim, read_property_claim, read_event_claim, read_number_claim, read_choice_claim)


def find_subject(text: str, speaker: str | None, me: str | None, within: str | None = None) -> str | None:
    """What the text gives the present value of, as "ana: lives in"; none if anything about that is in doubt.

    Only one short statement in the present tense has a subject: nothing hedged, asked, conditional, counted up or bound
    to a moment. "I" and "the user" are the speaker, or else `me`, if the text is the user's own or a record of what
    they said; without either nothing is known of them. What has neither a name nor an owner is another one `within`
    each of what may stand beside a text, as its title. Two texts have the same subject only if both cannot be true, or
    if one denies what the other may say, or both say the same of it: `are_compatible` tells.
    """
    found = read_claim(text, speaker, me, within)
    return None if found is None else found.subject


def read_claim(text: str, speaker: str | None, me: str | None, within: str | None = None) -> Claim | None:
    """The subject of the text, and what it says of that."""
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
    elif said.negated and not found.value:  # that it is not this value says nothing of which one it is
        return None
    return found if found is not None and len(found.subject) <= MAX_SUBJECT_CHARS else None


def are_compatible(one: Memory, other: Memory) -> bool:
    """Whether two memories of one subject can both be true, as far as their texts tell: both affirm it or both deny it,
    they give it the same value, one of them in more words, or one denies another value than the other one gives.

    Of a subject that was given and that is not the text's own, nothing is told.
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
    """Whether the other value says all of the one and more: Bo and Bo Hansen, a folder and a file in it."""
    less, more = (set(said.lower().replace(",", " ").split()) for said in (one, other))
    return less <= more or other.startswith(f"{one.rstrip('/')}/")


def _read_own_claim(memory: Memory) -> Claim | None:
    found = read_claim(
        memory.text, memory.speaker, first_person_name(memory.provenance), distinguishing_context(memory)
    )
    return found if found is not None and found.subject == memory.subject else None


def distinguishing_context(memory: Memory) -> str | None:
    """What stands beside the text of a memory and gives "the …" its meaning: its title, or else whence or in which
    session it came.
    """
    return memory.title or memory.source or memory.session


def first_person_name(provenance: Provenance) -> str | None:
    """Who "I" and "the user" are in what came that way, if nobody else is named: the user in their own words, in a
    model's record of them and in an operator's; nobody known in what tools, documents and imports say.
    """
    return UNNAMED_USER if provenance in _USER_PROVENANCES else None


_USER_PROVENANCES = frozenset({Provenance.DIRECT_USER, Provenance.MODEL_INFERENCE, Provenance.OPERATOR})


def normalize_subject(subject: str) -> str:
    """A subject that was given, as one that is read from a text would be written: "Ana:  Lives in" as "ana: lives in".

    Small letters, single blanks, one behind each colon; names of one or two letters behind another word keep their
    case, as in "repo A: owner".
    """
    parts = (fold_case(" ".join(part.split())) for part in to_nfc(subject).split(":"))
    return ": ".join(parts).strip() or subject
