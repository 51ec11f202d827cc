"""Extract: a conversation leaves memories behind."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from recollect.admission.screening import clean
from recollect.engine.remember import remember_all
from recollect.engine.world import World, not_later
from recollect.errors import FieldError, remedy, show, spelled
from recollect.model import limits
from recollect.model.conversation import Extract, Role, Said
from recollect.model.draft import Draft
from recollect.model.extraction import Extraction
from recollect.model.memory import MemoryId, named
from recollect.model.scope import Scope
from recollect.model.trust import TRUST, Provenance
from recollect.model.verdict import Receipt

MOST = 10
"""How many memories one call extracts at most."""

_PROVENANCE: Mapping[Role, Provenance] = {
    Role.USER: Provenance.DIRECT_USER,
    Role.ASSISTANT: Provenance.MODEL_INFERENCE,
    Role.SYSTEM: Provenance.MODEL_INFERENCE,
    Role.TOOL: Provenance.TOOL_EXTERNAL,
}
"""Through whom words of the conversation came, by the part of who said them."""

_FIELDS = ("text", "content", "role", "speaker", "name", "at", "session", "id")


@dataclass(frozen=True, slots=True)
class Extracted:
    """What became of what was understood, in the order of the conversation, and how it was understood."""

    receipts: tuple[Receipt, ...]
    extraction: Extraction


def read_turns(turns: Iterable[Said | str | Mapping[str, Any]]) -> tuple[Said, ...]:
    """The turns of a conversation: texts of a user, or mappings with text or content, role, speaker, at and session."""
    if isinstance(turns, str | bytes | Mapping):
        raise FieldError(f"{show(turns)} is no list of turns", field="turns")
    return tuple(one if isinstance(one, Said) else _said(one) for one in limits.several("turns", turns))


def extract(
    world: World, turns: Sequence[Said], scope: Scope, *, most: int | None = None, provenance: Provenance | None = None
) -> Extracted:
    """Understand what is worth remembering in a conversation, and remember it.

    The same conversation again changes nothing: what is told again of the same moment is the same saying. What came
    through somebody who is trusted less than who speaks in it is trusted no more than that.
    """
    now = world.now()
    most = world.most_extracted if most is None else most
    if not 1 <= limits.a_count("most", most) <= MOST:
        raise FieldError(f"{most} memories from one call; give at most {MOST}", field="most")
    for turn in turns:
        not_later("at", turn.at, now)
    heard = [_screened(turn, world) for turn in turns]

    extraction = world.extractor.extract(heard, most=most) if heard else Extraction()
    through = [
        _came_through(heard[one.turn], provenance, verbatim=world.extractor.verbatim) for one in extraction.extracts
    ]
    drafts = [
        _once(_draft(one, heard[one.turn], scope, by)) for one, by in zip(extraction.extracts, through, strict=True)
    ]

    return Extracted(tuple(remember_all(world, drafts)), extraction)


def _screened(turn: Said, world: World) -> Said:
    """The turn without what is private or secret: a model elsewhere may read it."""
    for name in ("speaker", "session"):
        said = getattr(turn, name)
        if said is not None and clean(said, world.policy.secrets) != said:
            raise FieldError("has what looks like a secret; give another name", field=name)
    text = clean(turn.text, world.policy.secrets)
    return (
        turn
        if text == turn.text
        else Said(text=text, role=turn.role, speaker=turn.speaker, at=turn.at, session=turn.session, id=turn.id)
    )


def _came_through(turn: Said, given: Provenance | None, *, verbatim: bool) -> Provenance:
    """Through whom it came that is trusted least: who said it, the model that put it in words, and who brought it."""
    by = [_PROVENANCE[turn.role], *([] if verbatim else [Provenance.MODEL_INFERENCE]), *([given] if given else [])]
    return min(by, key=lambda one: TRUST[one].level)


def _draft(extract: Extract, turn: Said, scope: Scope, provenance: Provenance) -> Draft:
    """What is proposed to be remembered."""
    return Draft(
        text=extract.text,
        scope=scope,
        kind=extract.kind,
        subject=extract.subject,
        importance=extract.importance,
        confidence=extract.confidence,
        session=turn.session,
        speaker=turn.speaker,
        at=turn.at,
        provenance=provenance,
        source=turn.session,
        evidence=(extract.quote,),
        derived_from=() if turn.id is None else (turn.id,),
    )


def _once(draft: Draft) -> Draft:
    """A saying that has no date gets a key made of all that is said, so that it is remembered once."""
    return draft if draft.at is not None else replace(draft, key=f"extract-{draft.body[:32]}")


def _said(given: object) -> Said:
    if isinstance(given, str):
        return Said(text=given)
    if not isinstance(given, Mapping):
        raise FieldError(f"{show(given)} is no turn; give a text, or a mapping with `content`", field="turns")
    unknown = next((name for name in map(spelled, given) if name not in _FIELDS), None)
    if unknown is not None:
        raise FieldError(f"a turn has no such field; {remedy(unknown, _FIELDS)}", field=unknown)
    text = given.get("content") if given.get("text") is None else given["text"]
    if text is None:
        raise FieldError("is missing; a turn has what was said as `text` or `content`", field="text")
    at = given.get("at")
    return Said(
        text=limits.a_text("text", text),
        role=named("role", given.get("role", Role.USER), Role),
        speaker=given.get("speaker", given.get("name")),
        at=_moment(at),
        session=given.get("session"),
        id=None if given.get("id") is None else MemoryId(given["id"]),
    )


def _moment(given: object) -> datetime | None:
    if given is None or isinstance(given, datetime):
        return given
    raise FieldError(f"{show(given)} is no moment; give an aware datetime", field="at")
