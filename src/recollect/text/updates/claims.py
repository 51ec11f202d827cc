"""Subject: what a text is about, where only one thing of that can be true at a time."""

from recollect.model.memory import Memory
from recollect.model.nfc import composed
from recollect.model.trust import Provenance
from recollect.text.updates.contrasts import of_a_choice
from recollect.text.updates.negations import of_a_truth
from recollect.text.updates.numeric_claims import of_a_number, of_a_setting
from recollect.text.updates.relations import of_a_person, of_a_property, of_an_event
from recollect.text.updates.statement import Reading, statement_of
from recollect.text.updates.subjects import folded, key_of, speaking

LONGEST_TEXT = 200
"""Longer texts say more than one thing."""

LONGEST = 120
"""Longer subjects are none: nobody would name it again in the same words."""

USER = "user"
"""What somebody without a name is called to whom a scope belongs."""

_OF_A_VALUE = (of_a_person, of_a_property, of_an_event, of_a_number, of_a_choice)


def subject_of(text: str, speaker: str | None, me: str | None, within: str | None = None) -> str | None:
    """What the text gives the present value of, as "ana: lives in"; none if anything about that is in doubt.

    Only one short statement in the present tense has a subject: nothing hedged, asked, conditional, counted up or bound
    to a moment. "I" and "the user" are the speaker, or else `me`, if the text is the user's own or a record of what
    they said; without either nothing is known of them. What has neither a name nor an owner is another one `within`
    each of what may stand beside a text, as its title. Two texts have the same subject only if both cannot be true, or
    if one denies what the other may say, or both say the same of it: `agree` tells.
    """
    found = reading_of(text, speaker, me, within)
    return None if found is None else found.subject


def reading_of(text: str, speaker: str | None, me: str | None, within: str | None = None) -> Reading | None:
    """The subject of the text, and what it says of that."""
    if len(text) > LONGEST_TEXT:
        return None
    if "=" in text:
        setting = of_a_setting(" ".join(composed(text).split()).rstrip(". "), speaking(speaker, me, within))
        if setting is not None:
            return Reading(setting) if len(setting) <= LONGEST else None
    said = statement_of(text)
    if said is None:
        return None
    who = speaking(speaker, me, within)
    found = next((one for one in (read(said, who) for read in _OF_A_VALUE) if one is not None), None)
    if found is None:
        found = of_a_truth(said, who)
    elif said.negated and not found.value:  # that it is not this value says nothing of which one it is
        return None
    return found if found is not None and len(found.subject) <= LONGEST else None


def agree(one: Memory, other: Memory) -> bool:
    """Whether two memories of one subject can both be true, as far as their texts tell: both affirm it or both deny it,
    they give it the same value, one of them in more words, or one denies another value than the other one gives.

    Of a subject that was given and that is not the text's own, nothing is told.
    """
    known, read = _reading(one), _reading(other)
    if known is None or read is None or known.subject != read.subject or not known.value or not read.value:
        return False
    if known.denied or read.denied:
        if known.denied and read.denied:
            return True
        denial, claim = (known, read) if known.denied else (read, known)
        return any(no is not None and not _same(no, yes) for no, yes in zip(denial.value, claim.value, strict=False))
    return all(
        one is None or other is None or _same(one, other) or _is_part(one, other) or _is_part(other, one)
        for one, other in zip(known.value, read.value, strict=False)
    )


def _same(one: str | None, other: str | None) -> bool:
    return one == other or (one is not None and other is not None and key_of(one) == key_of(other))


def _is_part(one: str, other: str) -> bool:
    """Whether the other value says all of the one and more: Bo and Bo Hansen, a folder and a file in it."""
    less, more = (set(said.lower().replace(",", " ").split()) for said in (one, other))
    return less <= more or other.startswith(f"{one.rstrip('/')}/")


def _reading(memory: Memory) -> Reading | None:
    found = reading_of(memory.text, memory.speaker, me_in(memory.provenance), beside(memory))
    return found if found is not None and found.subject == memory.subject else None


def beside(memory: Memory) -> str | None:
    """What stands beside the text of a memory and gives "the …" its meaning: its title, or else whence or in which
    session it came.
    """
    return memory.title or memory.source or memory.session


def me_in(provenance: Provenance) -> str | None:
    """Who "I" and "the user" are in what came that way, if nobody else is named: the user in their own words, in a
    model's record of them and in an operator's; nobody known in what tools, documents and imports say.
    """
    return USER if provenance in _OF_THE_USER else None


_OF_THE_USER = frozenset({Provenance.DIRECT_USER, Provenance.MODEL_INFERENCE, Provenance.OPERATOR})


def normal_subject(subject: str) -> str:
    """A subject that was given, as one that is read from a text would be written: "Ana:  Lives in" as "ana: lives in".

    Small letters, single blanks, one behind each colon; names of one or two letters behind another word keep their
    case, as in "repo A: owner".
    """
    parts = (folded(" ".join(part.split())) for part in composed(subject).split(":"))
    return ": ".join(parts).strip() or subject
