"""Subject: what a text is about, where only one thing of that can be true at a time."""

from recollect.admission.subject_amounts import of_a_number, of_a_setting
from recollect.admission.subject_choices import of_a_choice
from recollect.admission.subject_relations import of_a_person, of_a_property, of_an_event
from recollect.admission.subject_statement import statement_of
from recollect.admission.subject_things import folded, speaking
from recollect.admission.subject_truths import of_a_truth
from recollect.model.composed import composed
from recollect.model.trust import Provenance

LONGEST_TEXT = 200
"""Longer texts say more than one thing."""

LONGEST = 120
"""Longer subjects are none: nobody would name it again in the same words."""

USER = "user"
"""What somebody without a name is called to whom a scope belongs."""

_OF_A_VALUE = (of_a_person, of_a_property, of_an_event, of_a_number, of_a_choice)


def subject_of(text: str, speaker: str | None, me: str | None) -> str | None:
    """What the text gives the present value of, as "ana: lives in"; none if anything about that is in doubt.

    Only one short statement in the present tense has a subject: nothing hedged, asked, conditional, counted up or bound
    to a moment. "I" and "the user" are the speaker, or else `me`, if the text is the user's own or a record of what
    they said; without either nothing is known of them. Two texts have the same subject only if both cannot be true.
    """
    if len(text) > LONGEST_TEXT:
        return None
    who = speaking(speaker, me)
    found = of_a_setting(" ".join(composed(text).split()).rstrip(". "), who)
    said = statement_of(text) if found is None else None
    if said is not None:
        found = next((one for one in (read(said, who) for read in _OF_A_VALUE) if one is not None), None)
        if said.negated and found is not None:  # that it is not this value says nothing of which one it is
            return None
        found = found or of_a_truth(said, who)
    return found if found is not None and len(found) <= LONGEST else None


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
