"""Extract: a conversation leaves memories behind.

Heard: what is said in a conversation that was heard of it before.

Background: what is done soon in a thread of its own, and can be waited for.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from recollect.admission.policy import SecretsPolicy
from recollect.admission.screening import Screened, redact_text, screen
from recollect.engine.dependencies import Dependencies, require_not_future
from recollect.engine.remember import BeforeWrite, do_nothing_first, remember_all
from recollect.errors import FieldError, show, show_name, suggest
from recollect.fork_safety import ForkSafeLock, register_fork_aware
from recollect.model import validation
from recollect.model.conversation import (
    MAX_EXTRACTS,
    PROVENANCE_BY_ROLE,
    ConversationTurn,
    Extract,
    Extraction,
    RejectedExtract,
    Role,
)
from recollect.model.draft import Draft, IdempotencyRecord, Receipt, Refused, Unchanged
from recollect.model.enums import TRUST_BY_PROVENANCE, Kind, Provenance, Status, Trust, lowest_trust, parse_choice
from recollect.model.format import format_count, shorten
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import WriteTransaction
from recollect.text.grounding import is_grounded

_TURN_FIELDS = ("text", "content", "role", "speaker", "name", "at", "session", "id")


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """What became of what was understood, in the order of the conversation, and how it was understood; and of how many
    turns something was taken out before they were read, by what it was.
    """

    receipts: tuple[Receipt, ...]
    extraction: Extraction
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])

    def __repr__(self) -> str:
        became = "; ".join(f"{type(one.verdict).__name__} {shorten(said.text, 60)!r}" for one, said in self._pairs())
        rejected = f", {len(self.extraction.rejected)} not taken" if self.extraction.rejected else ""
        redacted = f", without {', '.join(self.redacted)}" if self.redacted else ""
        told = f"{format_count(len(self.receipts), 'memory', 'memories')}{rejected}{redacted}"
        return f"<Extracted {told}: {became or 'nothing'}>"

    def _pairs(self) -> Iterable[tuple[Receipt, Extract]]:
        return zip(self.receipts, self.extraction.extracts, strict=True)


def read_turns(
    turns: Iterable[ConversationTurn | str | Mapping[str, Any]], field: str = "turns"
) -> tuple[ConversationTurn, ...]:
    """The turns of a conversation: texts of a user, or mappings with text or content, role, speaker, at and session."""
    if isinstance(turns, str | bytes | Mapping):
        raise FieldError(f"{show(turns)} is no list of {field}", field=field)
    return tuple(
        one if isinstance(one, ConversationTurn) else _parse_turn(one, field)
        for one in validation.require_several(field, turns)
    )


def extract(
    world: Dependencies,
    turns: Sequence[ConversationTurn],
    scope: Scope,
    *,
    most: int | None = None,
    provenance: Provenance | None = None,
    first: BeforeWrite = do_nothing_first,
) -> ExtractionResult:
    """Understand what is worth remembering in a conversation, and remember it.

    The same conversation again changes nothing: what is told again of the same moment is the same saying, and a turn
    without a date brings nothing back. What came through somebody who is trusted less than who speaks in it is trusted
    no more than that, and what a model worded no more than the least of what it read.
    """
    now = world.now()
    most = world.max_extracted if most is None else most
    if not 1 <= validation.require_count("most", most) <= MAX_EXTRACTS:
        raise FieldError(f"{most} memories from one call; give at most {MAX_EXTRACTS}", field="most")
    for turn in turns:
        require_not_future("at", turn.at, now)
    screened = [_screen_turn(turn, world.policy.secrets) for turn in turns]
    heard = [one.value for one in screened]
    redacted = Counter(kind for one in screened for kind in one.redacted)

    extraction = _run_extractor(world, heard, most)
    origins = _load_origins(world, heard, scope)

    def drafted(one: Extract) -> Draft:
        lineage = _derive_lineage(one, origins, provenance, verbatim=world.extractor.verbatim)
        return _with_retry_key(_make_draft(one, origins[one.turn], scope, lineage))

    receipts = _remember_new(world, [drafted(one) for one in extraction.extracts], first)
    for place, one in enumerate(extraction.extracts):
        again = _find_repetition(world, one, heard) if isinstance(receipts[place].verdict, Refused) else None
        if again is not None:
            (receipts[place],) = _remember_new(world, [drafted(again)], first)
    return ExtractionResult(tuple(receipts), extraction, dict(redacted))


def _remember_new(world: Dependencies, drafts: Sequence[Draft], first: BeforeWrite) -> list[Receipt]:
    """What became of each; what was heard before is answered, and all the others are remembered, or none."""
    answers = answer_known_drafts(world, drafts)
    asked = [one for one, answer in zip(drafts, answers, strict=True) if answer is None]
    new = iter(remember_all(world, asked, first) if asked else [])
    return [next(new) if answer is None else answer for answer in answers]


def _find_repetition(world: Dependencies, extract: Extract, heard: Sequence[ConversationTurn]) -> Extract | None:
    """The same from the latest turn with a date in which its speaker says it once more, if somebody who needs no model
    can tell: what was put away in between is back.
    """
    own = heard[extract.turn]
    for place in range(len(heard) - 1, extract.turn, -1) if world.extractor.verbatim else ():
        turn = heard[place]
        if turn.at is not None and (turn.role, turn.speaker) == (own.role, own.speaker) and extract.quote in turn.text:
            found = world.extractor.extract([turn], most=MAX_EXTRACTS).extracts
            if any(one.text == extract.text for one in found):
                return replace(extract, turn=place)
    return None


def _run_extractor(world: Dependencies, heard: Sequence[ConversationTurn], most: int) -> Extraction:
    """What the extractor makes of the turns; of what was not taken, only what may be shown."""
    found = world.extractor.extract(heard, most=most) if heard else Extraction()
    shown = (
        RejectedExtract(shorten(redact_text(one.text, world.policy.secrets)), one.reason) for one in found.rejected
    )
    return replace(found, rejected=tuple(shown))


@dataclass(frozen=True, slots=True)
class _ScreenedTurnText:
    """What was said in a turn, and nothing else of it."""

    text: str


def _screen_turn(turn: ConversationTurn, policy: SecretsPolicy) -> Screened[ConversationTurn]:
    """The turn without what is private or secret: a model elsewhere may read it."""
    for name in ("speaker", "session"):
        said = getattr(turn, name)
        if said is not None and redact_text(said, policy) != said:
            raise FieldError("has what looks like a secret; give another name", field=name)
    redacting = replace(policy, action="redact")  # what may be blank and has no names is then never refused
    found = cast("Screened[_ScreenedTurnText]", screen(_ScreenedTurnText(turn.text), redacting, may_be_blank=True))
    text = found.value.text
    heard = ConversationTurn(
        text=text, role=turn.role, speaker=turn.speaker, at=turn.at, session=turn.session, id=turn.id
    )
    return Screened(turn if text == turn.text else heard, found.redacted)


@dataclass(frozen=True, slots=True)
class _TurnOrigin:
    """A turn, how far it is trusted by who said it and by the memory that keeps it, and from where that came."""

    turn: ConversationTurn
    trust: Trust
    source: str | None


@dataclass(frozen=True, slots=True)
class _DraftLineage:
    """Through whom a memory came that is trusted least, what it was made of, and whether it may say what it settles."""

    provenance: Provenance
    derived_from: tuple[MemoryId, ...]
    may_supersede: bool


def _load_origins(world: Dependencies, turns: Sequence[ConversationTurn], scope: Scope) -> list[_TurnOrigin]:
    ids = [turn.id for turn in turns if turn.id is not None]
    kept = {one.id: one for one in world.store.get(scope, ids)} if ids else {}
    return [_make_origin(turn, None if turn.id is None else kept.get(turn.id)) for turn in turns]


def _make_origin(turn: ConversationTurn, kept: Memory | None) -> _TurnOrigin:
    said, source = TRUST_BY_PROVENANCE[PROVENANCE_BY_ROLE[turn.role]], None if kept is None else kept.source
    trust = said if turn.id is None else lowest_trust([said, Trust.EXTERNAL if kept is None else kept.trust])
    return _TurnOrigin(turn, trust, source or turn.session)


def _derive_lineage(
    extract: Extract, origins: Sequence[_TurnOrigin], given: Provenance | None, *, verbatim: bool
) -> _DraftLineage:
    """What a memory came from: the turn whose words it has; or, in the words of a model, all the turns that it read.

    A model says of what subject something is by all that it read too, so nobody in it may be trusted less than the
    model for that to end anything.
    """
    own = origins[extract.turn]
    alone = verbatim or is_grounded(extract.text, own.turn.text, own.turn.speaker)
    lowest = own if alone else min(origins, key=lambda one: one.trust.level)
    by = [PROVENANCE_BY_ROLE[one.turn.role] for one in (own, lowest)]
    by += [*([] if verbatim else [Provenance.MODEL_INFERENCE]), *([given] if given else [])]
    ids = dict.fromkeys(one.turn.id for one in (own, lowest) if one.turn.id is not None)
    doubted = any(one.trust.less_than(TRUST_BY_PROVENANCE[Provenance.MODEL_INFERENCE]) for one in origins)
    return _DraftLineage(min(by, key=lambda one: TRUST_BY_PROVENANCE[one].level), tuple(ids), verbatim or not doubted)


def _make_draft(extract: Extract, origin: _TurnOrigin, scope: Scope, lineage: _DraftLineage) -> Draft:
    """What is proposed to be remembered."""
    turn = origin.turn
    return Draft(
        text=extract.text,
        scope=scope,
        kind=extract.kind,
        subject=extract.subject if lineage.may_supersede else None,
        importance=extract.importance,
        confidence=extract.confidence,
        session=turn.session,
        speaker=turn.speaker,
        at=turn.at,
        provenance=lineage.provenance,
        source=origin.source,
        evidence=(extract.quote,),
        derived_from=lineage.derived_from,
    )


def _with_retry_key(draft: Draft) -> Draft:
    """A saying that has no date gets a key made of all that is said, so that two who extract it at once make one."""
    return draft if draft.at is not None else replace(draft, key=f"extract-{draft.body[:32]}")


def _parse_turn(given: object, field: str) -> ConversationTurn:
    if isinstance(given, str):
        return ConversationTurn(text=given)
    if not isinstance(given, Mapping):
        raise FieldError(f"{show(given)} is none of the {field}; give a text, or a mapping with `content`", field=field)
    unknown = next((name for name in map(show_name, given) if name not in _TURN_FIELDS), None)
    if unknown is not None:
        raise FieldError(f"a turn has no such field; {suggest(unknown, _TURN_FIELDS)}", field=unknown)
    text = given.get("content") if given.get("text") is None else given["text"]
    if text is None:
        raise FieldError("is missing; a turn has what was said as `text` or `content`", field="text")
    at = given.get("at")
    return ConversationTurn(
        text=validation.require_text("text", text),
        role=parse_choice("role", given.get("role", Role.USER), Role),
        speaker=given.get("speaker", given.get("name")),
        at=_check_time(at),
        session=given.get("session"),
        id=None if given.get("id") is None else MemoryId(given["id"]),
    )


def _check_time(given: object) -> datetime | None:
    if given is None or isinstance(given, datetime):
        return given
    raise FieldError(f"{show(given)} is no moment; give an aware datetime", field="at")


@dataclass(frozen=True, slots=True)
class _KnownMemory:
    """A memory with the same words as a draft, and since when it has its status.

    `is_same_saying` tells whether the draft comes from the same call, or from the same moment.
    """

    memory: Memory
    status_since: datetime | None
    is_same_saying: bool


def answer_known_drafts(world: Dependencies, drafts: Sequence[Draft]) -> list[Receipt | None]:
    """What is answered to each draft that was heard before, whatever became of it since; nothing to what is new.

    What is told again of its moment is the same saying. Of a turn without a date nothing says when it was said: it is
    new only if nothing that is known can have come from it. So it is not if a memory with its words rests on the same
    quote of the same session, or was ever echoed, which may have been by this turn. A model puts the same in other
    words each time: then it is the quote that tells.
    """
    if not drafts:
        return []
    wanted = [_make_lookup_memory(world, draft) for draft in drafts]

    def look(writing: WriteTransaction) -> list[list[_KnownMemory]]:
        return [_load_sayings(writing, draft, memory) for draft, memory in zip(drafts, wanted, strict=True)]

    known = world.store.write(look)
    answers = [_make_answer(world, draft, found) for draft, found in zip(drafts, known, strict=True)]
    reworded = {} if world.extractor.verbatim or all(answers) else _load_by_quote(world, drafts)
    return [answer or _answer_reworded(draft, reworded) for draft, answer in zip(drafts, answers, strict=True)]


def _make_lookup_memory(world: Dependencies, draft: Draft) -> Memory:
    """A memory with the words that the draft would be kept with."""
    return Memory(
        id=MemoryId("wanted"),
        scope=draft.scope,
        text=redact_text(draft.text, world.policy.secrets),
        created_at=world.now(),
        kind=draft.kind or Kind.OBSERVATION,
        speaker=draft.speaker,
    )


def _load_sayings(writing: WriteTransaction, draft: Draft, memory: Memory) -> list[_KnownMemory]:
    """What says the same, the active ones first; and the memory that the same call made before."""
    kept: IdempotencyRecord | None = None if draft.key is None else writing.kept(draft.scope, draft.key)
    made = None if kept is None else writing.get(draft.scope, kept.memory)
    saying = (*writing.sayings(memory), *writing.said_before(memory), *([] if made is None else [made]))
    found = {one.id: one for one in saying}
    return [
        _KnownMemory(
            one,
            one.valid_until if one.status is Status.SUPERSEDED else writing.standing_since(one),
            made is one or (draft.at is not None and writing.echoed(one, draft.at)),
        )
        for one in found.values()
    ]


def _make_answer(world: Dependencies, draft: Draft, known: Sequence[_KnownMemory]) -> Receipt | None:
    heard = next((one for one in known if one.is_same_saying or _comes_from_draft(world, draft, one.memory)), None)
    if heard is None:
        return None
    active = next((one for one in known if one.memory.status is Status.ACTIVE), heard)
    memory = active.memory
    match memory.status:
        case Status.QUARANTINED:
            return None  # how long it waits depends on who says it
        case Status.FORGOTTEN | Status.SUPERSEDED if draft.at is not None:
            return None  # whether it was said since is told by its date
        case Status.FORGOTTEN | Status.SUPERSEDED:
            when = "" if active.status_since is None else f" on {active.status_since.isoformat(timespec='seconds')}"
            reason = f"it was {memory.status.value}{when}, and nothing says that this was said since"
            return Receipt(memory.id, Refused(f"{reason}: the turn has no date", memory.id), memory)
        case _:
            return Receipt(memory.id, Unchanged(), memory)


def _comes_from_draft(world: Dependencies, draft: Draft, memory: Memory) -> bool:
    """Whether a version of the memory comes from the draft's saying, as far as one can tell."""
    versions = world.store.history(draft.scope, memory.id)
    if draft.at is not None:
        return any(draft.at in (one.created_at, one.observed_at) for one in versions)
    (usage,) = world.store.usage(draft.scope, [memory.id])
    return usage.echoed > 0 or any((one.evidence, one.session) == (draft.evidence, draft.session) for one in versions)


_Quote = tuple[tuple[str, ...], str | None, str | None]


def _load_by_quote(world: Dependencies, drafts: Sequence[Draft]) -> dict[_Quote, list[Memory]]:
    """The memories of any standing that rest on the same words of the same speaker and session as a draft does."""
    wanted = {_quote_of(draft) for draft in drafts if draft.at is not None or draft.session is not None}
    found: dict[_Quote, list[Memory]] = {}
    for scope in {draft.scope for draft in drafts} if wanted else ():
        for one in world.store.memories(scope, below=False, statuses=list(Status)):
            if _quote_of(one) in wanted:
                found.setdefault(_quote_of(one), []).append(one)
    return found


def _quote_of(said: Draft | Memory) -> _Quote:
    return said.evidence, said.session, said.speaker


def _answer_reworded(draft: Draft, known: Mapping[_Quote, Sequence[Memory]]) -> Receipt | None:
    """What is answered if the same saying was understood in other words before, at that moment if it has one."""
    same = [
        one
        for one in known.get(_quote_of(draft), ())
        if one.scope == draft.scope and draft.at in (None, one.created_at, one.observed_at)
    ]
    if not same:
        return None
    memory = next((one for one in same if one.status is Status.ACTIVE), same[0])
    if memory.status is Status.ACTIVE:
        return Receipt(memory.id, Unchanged(), memory)
    reason = f"the same words were understood before, and what they left is {memory.status.value}"
    return Receipt(memory.id, Refused(reason, memory.id), memory)


T = TypeVar("T")


class Pending(Generic[T]):
    """Something that is being done: `result()` waits for it, and so does `await`."""

    def __init__(self, future: "Future[T]") -> None:
        self._future = future

    def __repr__(self) -> str:
        return f"<Pending {'done' if self.done else 'under way'}>"

    def __await__(self) -> Generator[Any, None, T]:
        import asyncio  # which whoever awaits has loaded

        return asyncio.wrap_future(self._future).__await__()

    @property
    def done(self) -> bool:
        """Whether it came to an end, good or bad."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """What came of it, once it has; raises what went wrong, or `TimeoutError` after so many seconds."""
        return self._future.result(timeout)


class BackgroundWorker:
    """One thread that does one thing after the other; begun when something is first to be done."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._pool: ThreadPoolExecutor | None = None
        register_fork_aware(self)

    def submit(self, what: Callable[[], T]) -> Pending[T]:
        """Have it done after all that was asked for before."""
        with self._lock.rlock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recollect-background")
            return Pending(self._pool.submit(what))

    def finish(self) -> None:
        """Wait until all of it is done."""
        with self._lock.rlock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)

    def after_fork(self) -> None:
        """The thread is the parent's, and so is what it has to do."""
        self._pool = None
