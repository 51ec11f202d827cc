"""Extract memories from a conversation, once for each statement.

In order: reading turns and running the extractor, answering drafts that were extracted before, and the background
thread.
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
    """The receipts of the extracted memories, in conversation order, and the extraction itself.

    `redacted` counts the turns from which something was removed before extraction, by kind.
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
    """Convert texts of the user, or mappings, to turns of a conversation.

    A mapping has `text` or `content`, and optionally role, speaker, at, session and id.
    """
    if isinstance(turns, str | bytes | Mapping):
        raise FieldError(f"{show(turns)} is no list of {field}", field=field)
    return tuple(
        one if isinstance(one, ConversationTurn) else _parse_turn(one, field)
        for one in validation.require_several(field, turns)
    )


def extract(
    deps: Dependencies,
    turns: Sequence[ConversationTurn],
    scope: Scope,
    *,
    most: int | None = None,
    provenance: Provenance | None = None,
    first: BeforeWrite = do_nothing_first,
) -> ExtractionResult:
    """Extract memories from a conversation, and remember them.

    Repeating the call changes nothing: the same text at the same time is the same statement, and a turn without a date
    restores nothing. A memory has at most the trust of `provenance`. If a model worded it, it has at most the lowest
    trust of what the model read.
    """
    now = deps.now()
    most = deps.max_extracted if most is None else most
    if not 1 <= validation.require_count("most", most) <= MAX_EXTRACTS:
        raise FieldError(f"{most} memories from one call; give at most {MAX_EXTRACTS}", field="most")
    for turn in turns:
        require_not_future("at", turn.at, now)
    screened = [_screen_turn(turn, deps.policy.secrets) for turn in turns]
    heard = [one.value for one in screened]
    redacted = Counter(kind for one in screened for kind in one.redacted)

    extraction = _run_extractor(deps, heard, most)
    origins = _load_origins(deps, heard, scope)

    def drafted(one: Extract) -> Draft:
        lineage = _derive_lineage(one, origins, provenance, verbatim=deps.extractor.verbatim)
        return _with_retry_key(_make_draft(one, origins[one.turn], scope, lineage))

    receipts = _remember_new(deps, [drafted(one) for one in extraction.extracts], first)
    for place, one in enumerate(extraction.extracts):
        again = _find_repetition(deps, one, heard) if isinstance(receipts[place].verdict, Refused) else None
        if again is not None:
            (receipts[place],) = _remember_new(deps, [drafted(again)], first)
    return ExtractionResult(tuple(receipts), extraction, dict(redacted))


def _remember_new(deps: Dependencies, drafts: Sequence[Draft], first: BeforeWrite) -> list[Receipt]:
    """Return a receipt for each draft; the ones not extracted before are remembered, or none."""
    answers = answer_known_drafts(deps, drafts)
    asked = [one for one, answer in zip(drafts, answers, strict=True) if answer is None]
    new = iter(remember_all(deps, asked, first) if asked else [])
    return [next(new) if answer is None else answer for answer in answers]


def _find_repetition(deps: Dependencies, extract: Extract, heard: Sequence[ConversationTurn]) -> Extract | None:
    """Return the extract from the latest dated turn in which its speaker repeats it, or None.

    Only for extractors that need no model. A repetition restores what was forgotten in between.
    """
    own = heard[extract.turn]
    for place in range(len(heard) - 1, extract.turn, -1) if deps.extractor.verbatim else ():
        turn = heard[place]
        if turn.at is not None and (turn.role, turn.speaker) == (own.role, own.speaker) and extract.quote in turn.text:
            found = deps.extractor.extract([turn], most=MAX_EXTRACTS).extracts
            if any(one.text == extract.text for one in found):
                return replace(extract, turn=place)
    return None


def _run_extractor(deps: Dependencies, heard: Sequence[ConversationTurn], most: int) -> Extraction:
    """Run the extractor on the turns; redact and shorten the rejected extracts."""
    found = deps.extractor.extract(heard, most=most) if heard else Extraction()
    shown = (RejectedExtract(shorten(redact_text(one.text, deps.policy.secrets)), one.reason) for one in found.rejected)
    return replace(found, rejected=tuple(shown))


@dataclass(frozen=True, slots=True)
class _ScreenedTurnText:
    """The text of a turn, for screening."""

    text: str


def _screen_turn(turn: ConversationTurn, policy: SecretsPolicy) -> Screened[ConversationTurn]:
    """Return the turn without private parts and secrets, since a remote model may read it."""
    for name in ("speaker", "session"):
        said = getattr(turn, name)
        if said is not None and redact_text(said, policy) != said:
            raise FieldError("has what looks like a secret; give another name", field=name)
    redacting = replace(policy, action="redact")  # so that screening never refuses the text
    found = cast("Screened[_ScreenedTurnText]", screen(_ScreenedTurnText(turn.text), redacting, may_be_blank=True))
    text = found.value.text
    heard = ConversationTurn(
        text=text, role=turn.role, speaker=turn.speaker, at=turn.at, session=turn.session, id=turn.id
    )
    return Screened(turn if text == turn.text else heard, found.redacted)


@dataclass(frozen=True, slots=True)
class _TurnOrigin:
    """A turn, its trust (by its role and the memory that stores it), and its source."""

    turn: ConversationTurn
    trust: Trust
    source: str | None


@dataclass(frozen=True, slots=True)
class _DraftLineage:
    """The least trusted provenance of a draft, its origins, and whether it may supersede."""

    provenance: Provenance
    derived_from: tuple[MemoryId, ...]
    may_supersede: bool


def _load_origins(deps: Dependencies, turns: Sequence[ConversationTurn], scope: Scope) -> list[_TurnOrigin]:
    ids = [turn.id for turn in turns if turn.id is not None]
    kept = {one.id: one for one in deps.store.get(scope, ids)} if ids else {}
    return [_make_origin(turn, None if turn.id is None else kept.get(turn.id)) for turn in turns]


def _make_origin(turn: ConversationTurn, kept: Memory | None) -> _TurnOrigin:
    said, source = TRUST_BY_PROVENANCE[PROVENANCE_BY_ROLE[turn.role]], None if kept is None else kept.source
    trust = said if turn.id is None else lowest_trust([said, Trust.EXTERNAL if kept is None else kept.trust])
    return _TurnOrigin(turn, trust, source or turn.session)


def _derive_lineage(
    extract: Extract, origins: Sequence[_TurnOrigin], given: Provenance | None, *, verbatim: bool
) -> _DraftLineage:
    """Return a draft's lineage: its own turn, or all turns read if a model worded it.

    A model derives the subject from all it read too. So a draft may supersede only if no turn has lower trust than the
    model.
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
    """Return the draft of an extract."""
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
    """Give an undated draft a key made from its content, so that parallel calls store it once."""
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
    """A memory with the same text as a draft, and since when it has its status.

    `is_same_saying` says that the draft comes from the same call or the same moment.
    """

    memory: Memory
    status_since: datetime | None
    is_same_saying: bool


def answer_known_drafts(deps: Dependencies, drafts: Sequence[Draft]) -> list[Receipt | None]:
    """Return the answer to each draft that was extracted before, and None for new ones.

    A dated draft with the same text and time is the same statement. An undated draft is new only if no known memory can
    have come from it: it is not new if a memory with its text rests on the same quote of the same session, or was ever
    echoed, possibly by this turn. A model words the same statement differently each time, so then the quote decides.
    """
    if not drafts:
        return []
    wanted = [_make_lookup_memory(deps, draft) for draft in drafts]

    def look(writing: WriteTransaction) -> list[list[_KnownMemory]]:
        return [_load_sayings(writing, draft, memory) for draft, memory in zip(drafts, wanted, strict=True)]

    known = deps.store.write(look)
    answers = [_make_answer(deps, draft, found) for draft, found in zip(drafts, known, strict=True)]
    reworded = {} if deps.extractor.verbatim or all(answers) else _load_by_quote(deps, drafts)
    return [answer or _answer_reworded(draft, reworded) for draft, answer in zip(drafts, answers, strict=True)]


def _make_lookup_memory(deps: Dependencies, draft: Draft) -> Memory:
    """Return a memory with the text that the draft would be stored with."""
    return Memory(
        id=MemoryId("wanted"),
        scope=draft.scope,
        text=redact_text(draft.text, deps.policy.secrets),
        created_at=deps.now(),
        kind=draft.kind or Kind.OBSERVATION,
        speaker=draft.speaker,
    )


def _load_sayings(writing: WriteTransaction, draft: Draft, memory: Memory) -> list[_KnownMemory]:
    """Return memories that say the same, active ones first, and the one stored under the key."""
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


def _make_answer(deps: Dependencies, draft: Draft, known: Sequence[_KnownMemory]) -> Receipt | None:
    heard = next((one for one in known if one.is_same_saying or _comes_from_draft(deps, draft, one.memory)), None)
    if heard is None:
        return None
    active = next((one for one in known if one.memory.status is Status.ACTIVE), heard)
    memory = active.memory
    match memory.status:
        case Status.QUARANTINED:
            return None  # a quarantine depends on the caller's trust
        case Status.FORGOTTEN | Status.SUPERSEDED if draft.at is not None:
            return None  # its date says whether it is a later statement
        case Status.FORGOTTEN | Status.SUPERSEDED:
            when = "" if active.status_since is None else f" on {active.status_since.isoformat(timespec='seconds')}"
            reason = f"it was {memory.status.value}{when}, and nothing says that this was said since"
            return Receipt(memory.id, Refused(f"{reason}: the turn has no date", memory.id), memory)
        case _:
            return Receipt(memory.id, Unchanged(), memory)


def _comes_from_draft(deps: Dependencies, draft: Draft, memory: Memory) -> bool:
    """Return whether a version of the memory comes from the same statement, as far as known."""
    versions = deps.store.history(draft.scope, memory.id)
    if draft.at is not None:
        return any(draft.at in (one.created_at, one.observed_at) for one in versions)
    (usage,) = deps.store.usage(draft.scope, [memory.id])
    return usage.echoed > 0 or any((one.evidence, one.session) == (draft.evidence, draft.session) for one in versions)


_Quote = tuple[tuple[str, ...], str | None, str | None]


def _load_by_quote(deps: Dependencies, drafts: Sequence[Draft]) -> dict[_Quote, list[Memory]]:
    """Return memories in any status that rest on the same quote, speaker and session as a draft."""
    wanted = {_quote_of(draft) for draft in drafts if draft.at is not None or draft.session is not None}
    found: dict[_Quote, list[Memory]] = {}
    for scope in {draft.scope for draft in drafts} if wanted else ():
        for one in deps.store.memories(scope, below=False, statuses=list(Status)):
            if _quote_of(one) in wanted:
                found.setdefault(_quote_of(one), []).append(one)
    return found


def _quote_of(said: Draft | Memory) -> _Quote:
    return said.evidence, said.session, said.speaker


def _answer_reworded(draft: Draft, known: Mapping[_Quote, Sequence[Memory]]) -> Receipt | None:
    """Return the answer if the same statement was extracted in other words before."""
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
    """The result of a background task: call `result()` or await it."""

    def __init__(self, future: "Future[T]") -> None:
        self._future = future

    def __repr__(self) -> str:
        return f"<Pending {'done' if self.done else 'under way'}>"

    def __await__(self) -> Generator[Any, None, T]:
        import asyncio  # already imported by any caller that awaits

        return asyncio.wrap_future(self._future).__await__()

    @property
    def done(self) -> bool:
        """Whether the task has finished or failed."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the result; raise the task's error, or TimeoutError after `timeout` seconds."""
        return self._future.result(timeout)


class BackgroundWorker:
    """One thread that runs tasks in order; started by the first task."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._pool: ThreadPoolExecutor | None = None
        register_fork_aware(self)

    def submit(self, what: Callable[[], T]) -> Pending[T]:
        """Run a task after all earlier ones."""
        with self._lock.rlock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recollect-background")
            return Pending(self._pool.submit(what))

    def finish(self) -> None:
        """Wait until all tasks are done."""
        with self._lock.rlock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)

    def after_fork(self) -> None:
        """Drop the thread and its tasks in a forked child: they belong to the parent."""
        self._pool = None
