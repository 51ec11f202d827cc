"""Extract memories from a conversation, once for each statement.

In order: reading turns and running the extractor, answering drafts that were extracted before, and the thread for
background extraction.
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
from recollect.engine.remember import BeforeWrite, do_nothing, remember_all
from recollect.errors import FieldError, show, show_name, suggest
from recollect.fork_safety import ForkSafeLock, register_fork_aware
from recollect.model import changeset, validation
from recollect.model.conversation import (
    MAX_EXTRACTS,
    PROVENANCE_BY_ROLE,
    ConversationTurn,
    Extract,
    Extraction,
    RejectedExtract,
    Role,
)
from recollect.model.draft import Draft, Receipt, Refused, Unchanged
from recollect.model.enums import TRUST_BY_PROVENANCE, Kind, Provenance, Status, Trust, lowest_trust, parse_choice
from recollect.model.format import format_count, shorten
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.text.grounding import is_grounded
from recollect.text.paraphrase import paraphrase_key

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
        outcomes = "; ".join(
            f"{type(receipt.verdict).__name__} {shorten(extract.text, 60)!r}"
            for receipt, extract in zip(self.receipts, self.extraction.extracts, strict=True)
        )
        rejected = f", {len(self.extraction.rejected)} rejected" if self.extraction.rejected else ""
        redacted = f", without {', '.join(self.redacted)}" if self.redacted else ""
        summary = f"{format_count(len(self.receipts), 'memory', 'memories')}{rejected}{redacted}"
        return f"<Extracted {summary}: {outcomes or 'nothing'}>"


def read_turns(
    turns: Iterable[ConversationTurn | str | Mapping[str, Any]], field: str = "turns"
) -> tuple[ConversationTurn, ...]:
    """Convert texts of the user, or mappings, to turns of a conversation.

    A mapping has `text` or `content`, and optionally role, speaker, at, session and id.
    """
    if isinstance(turns, str | bytes | Mapping):
        raise FieldError(f"{show(turns)} is not a list of {field}", field=field)
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
    before_write: BeforeWrite = do_nothing,
) -> ExtractionResult:
    """Extract memories from a conversation, and remember them.

    Repeating the call changes nothing: the same text at the same time is the same statement, and a turn without a date
    restores nothing. A memory has at most the trust of `provenance`. If a model worded it, it has at most the lowest
    trust of the turns that the model read.
    """
    now = deps.now()
    most = deps.max_extracted if most is None else most
    if not 1 <= validation.require_count("most", most) <= MAX_EXTRACTS:
        raise FieldError(f"{most} is not within 1..{MAX_EXTRACTS}", field="most")
    for turn in turns:
        require_not_future("at", turn.at, now)
    screened = [_screen_turn(turn, deps.policy.secrets) for turn in turns]
    turns_read = [one.value for one in screened]
    redacted = Counter(kind for one in screened for kind in one.redacted)

    extraction = _run_extractor(deps, turns_read, most)
    origins = _load_origins(deps, turns_read, scope)

    def make_draft(one: Extract) -> Draft:
        lineage = _derive_lineage(one, origins, provenance, verbatim=deps.extractor.verbatim)
        draft = _make_draft(one, origins[one.turn], scope, lineage)
        if draft.at is not None:
            return draft
        # the key of an undated draft is made from its content, so that parallel calls store it once
        return replace(draft, key=f"extract-{draft.body[:32]}")

    receipts = _remember_new(deps, [make_draft(one) for one in extraction.extracts], before_write)
    for place, one in enumerate(extraction.extracts):
        repetition = _find_repetition(deps, one, turns_read) if isinstance(receipts[place].verdict, Refused) else None
        if repetition is not None:
            (receipts[place],) = _remember_new(deps, [make_draft(repetition)], before_write)
    return ExtractionResult(tuple(receipts), extraction, dict(redacted))


def _remember_new(deps: Dependencies, drafts: Sequence[Draft], before_write: BeforeWrite) -> list[Receipt]:
    """Return a receipt for each draft; remember all that were not extracted before, or none of them."""
    answers = answer_known_drafts(deps, drafts)
    unknown = [one for one, answer in zip(drafts, answers, strict=True) if answer is None]
    receipts = iter(remember_all(deps, unknown, before_write) if unknown else [])
    return [next(receipts) if answer is None else answer for answer in answers]


def _find_repetition(deps: Dependencies, extract: Extract, turns: Sequence[ConversationTurn]) -> Extract | None:
    """Return the extract from the latest dated turn in which its speaker repeats it, or None.

    It is None if the extractor uses a model. A repetition restores a memory that was forgotten in between.
    """
    own_turn = turns[extract.turn]
    for place in range(len(turns) - 1, extract.turn, -1) if deps.extractor.verbatim else ():
        turn = turns[place]
        if (
            turn.at is not None
            and (turn.role, turn.speaker) == (own_turn.role, own_turn.speaker)
            and extract.quote in turn.text
        ):
            extracts = deps.extractor.extract([turn], most=MAX_EXTRACTS).extracts
            if any(one.text == extract.text for one in extracts):
                return replace(extract, turn=place)
    return None


def _run_extractor(deps: Dependencies, turns: Sequence[ConversationTurn], most: int) -> Extraction:
    """Run the extractor on the turns; redact and shorten the rejected extracts."""
    extraction = deps.extractor.extract(turns, most=most) if turns else Extraction()
    secrets = deps.policy.secrets
    rejected = (RejectedExtract(shorten(redact_text(one.text, secrets)), one.reason) for one in extraction.rejected)
    return replace(extraction, rejected=tuple(rejected))


@dataclass(frozen=True, slots=True)
class _ScreenedTurnText:
    """The text of a turn, for screening."""

    text: str


def _screen_turn(turn: ConversationTurn, policy: SecretsPolicy) -> Screened[ConversationTurn]:
    """Return the turn without private parts and secrets, since a remote model may read it."""
    for name in ("speaker", "session"):
        value = getattr(turn, name)
        if value is not None and redact_text(value, policy) != value:
            raise FieldError("looks like a secret; use another name", field=name)
    redact_policy = replace(policy, action="redact")  # so that screening never refuses the text
    screened = cast(
        "Screened[_ScreenedTurnText]", screen(_ScreenedTurnText(turn.text), redact_policy, may_be_blank=True)
    )
    text = screened.value.text
    redacted = ConversationTurn(
        text=text, role=turn.role, speaker=turn.speaker, at=turn.at, session=turn.session, id=turn.id
    )
    return Screened(turn if text == turn.text else redacted, screened.redacted)


@dataclass(frozen=True, slots=True)
class _TurnOrigin:
    """A turn, its trust (from its role and the memory that stores it), and its source."""

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
    stored = {one.id: one for one in deps.store.get(scope, ids)} if ids else {}
    return [_make_origin(turn, None if turn.id is None else stored.get(turn.id)) for turn in turns]


def _make_origin(turn: ConversationTurn, stored: Memory | None) -> _TurnOrigin:
    trust = TRUST_BY_PROVENANCE[PROVENANCE_BY_ROLE[turn.role]]
    if turn.id is not None:
        trust = lowest_trust([trust, Trust.EXTERNAL if stored is None else stored.trust])
    source = None if stored is None else stored.source
    return _TurnOrigin(turn, trust, source or turn.session)


def _derive_lineage(
    extract: Extract, origins: Sequence[_TurnOrigin], provenance: Provenance | None, *, verbatim: bool
) -> _DraftLineage:
    """Return a draft's lineage: its own turn, or all turns if a model worded it.

    A model derives the subject from all turns too. So a draft may supersede only if no turn has lower trust than the
    model.
    """
    own = origins[extract.turn]
    is_own_text = verbatim or is_grounded(extract.text, own.turn.text, own.turn.speaker)
    lowest = own if is_own_text else min(origins, key=lambda one: one.trust.level)
    provenances = [PROVENANCE_BY_ROLE[one.turn.role] for one in (own, lowest)]
    if not verbatim:
        provenances.append(Provenance.MODEL_INFERENCE)
    if provenance is not None:
        provenances.append(provenance)
    ids = dict.fromkeys(one.turn.id for one in (own, lowest) if one.turn.id is not None)
    model_trust = TRUST_BY_PROVENANCE[Provenance.MODEL_INFERENCE]
    return _DraftLineage(
        provenance=min(provenances, key=lambda one: TRUST_BY_PROVENANCE[one].level),
        derived_from=tuple(ids),
        may_supersede=verbatim or not any(one.trust.less_than(model_trust) for one in origins),
    )


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


def _parse_turn(value: object, field: str) -> ConversationTurn:
    if isinstance(value, str):
        return ConversationTurn(text=value)
    if not isinstance(value, Mapping):
        raise FieldError(f"{show(value)} is not a turn; give a text, or a mapping with `content`", field=field)
    unknown = next((name for name in map(show_name, value) if name not in _TURN_FIELDS), None)
    if unknown is not None:
        raise FieldError(f"is not a field of a turn; {suggest(unknown, _TURN_FIELDS)}", field=unknown)
    text = value.get("content") if value.get("text") is None else value["text"]
    if text is None:
        raise FieldError("is missing; give the turn's words as `text` or `content`", field="text")
    at = value.get("at")
    return ConversationTurn(
        text=validation.require_text("text", text),
        role=parse_choice("role", value.get("role", Role.USER), Role),
        speaker=value.get("speaker", value.get("name")),
        at=_check_time(at),
        session=value.get("session"),
        id=None if value.get("id") is None else MemoryId(value["id"]),
    )


def _check_time(value: object) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    raise FieldError(f"{show(value)} is not a datetime; give an aware datetime", field="at")


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
    come from the same turn. A memory with its text can if it has the same quote from the same session, or if it was
    ever echoed, possibly by this turn. A model words the same statement differently each time, so then the quote
    decides.
    """
    if not drafts:
        return []
    neighbors = deps.store.neighbors([_query_known(deps, draft) for draft in drafts])
    known = [_list_known(found) for found in neighbors]
    answers = [_make_answer(deps, draft, memories) for draft, memories in zip(drafts, known, strict=True)]
    reworded = {} if deps.extractor.verbatim or all(answers) else _load_by_quote(deps, drafts)
    return [answer or _answer_reworded(draft, reworded) for draft, answer in zip(drafts, answers, strict=True)]


def _query_known(deps: Dependencies, draft: Draft) -> changeset.NeighborQuery:
    """Return the query for memories that have, or had, the text that the draft would be stored with."""
    memory = Memory(
        id=MemoryId("lookup"),
        scope=draft.scope,
        text=redact_text(draft.text, deps.policy.secrets),
        created_at=deps.now(),
        kind=draft.kind or Kind.OBSERVATION,
        speaker=draft.speaker,
    )
    return changeset.NeighborQuery(
        scope=draft.scope,
        hash=memory.hash,
        paraphrase_key=paraphrase_key(memory),
        retry_key=draft.key,
        stated_at=draft.at,
        former=True,
    )


def _list_known(neighbors: changeset.Neighbors) -> list[_KnownMemory]:
    """Return the memories that say the same, active ones first, and the memory stored under the key."""
    keyed = neighbors.retried_memory
    candidates = (*neighbors.duplicates, *neighbors.former_duplicates, *([] if keyed is None else [keyed]))
    by_id = {one.id: one for one in candidates}
    return [
        _KnownMemory(
            one,
            one.valid_until if one.status is Status.SUPERSEDED else neighbors.status_since.get(one.id),
            (keyed is not None and one.id == keyed.id) or one.id in neighbors.echoed,
        )
        for one in by_id.values()
    ]


def _make_answer(deps: Dependencies, draft: Draft, known: Sequence[_KnownMemory]) -> Receipt | None:
    same = next((one for one in known if one.is_same_saying or _comes_from_draft(deps, draft, one.memory)), None)
    if same is None:
        return None
    best = next((one for one in known if one.memory.status is Status.ACTIVE), same)
    memory, since = best.memory, best.status_since
    match memory.status:
        case Status.QUARANTINED:
            return None  # a quarantine depends on the caller's trust
        case Status.FORGOTTEN | Status.SUPERSEDED if draft.at is not None:
            return None  # its date shows whether it is a later statement
        case Status.FORGOTTEN | Status.SUPERSEDED:
            when = "" if since is None else f" on {since.isoformat(timespec='seconds')}"
            reason = f"it was {memory.status.value}{when}, and the turn has no date that would show it is newer"
            return Receipt(memory.id, Refused(reason, memory.id), memory)
        case _:
            return Receipt(memory.id, Unchanged(), memory)


def _comes_from_draft(deps: Dependencies, draft: Draft, memory: Memory) -> bool:
    """Return whether a version of the memory comes from the same statement, as far as can be known."""
    versions = deps.store.history(draft.scope, memory.id)
    if draft.at is not None:
        return any(draft.at in (one.created_at, one.observed_at) for one in versions)
    (usage,) = deps.store.usage(draft.scope, [memory.id])
    return usage.echoed > 0 or any((one.evidence, one.session) == (draft.evidence, draft.session) for one in versions)


_Quote = tuple[tuple[str, ...], str | None, str | None]


def _load_by_quote(deps: Dependencies, drafts: Sequence[Draft]) -> dict[_Quote, list[Memory]]:
    """Return memories in any status that have the same quote, speaker and session as a draft."""
    quotes = {_quote_of(draft) for draft in drafts if draft.at is not None or draft.session is not None}
    by_quote: dict[_Quote, list[Memory]] = {}
    for scope in {draft.scope for draft in drafts} if quotes else ():
        for one in deps.store.memories(scope, below=False, statuses=list(Status)):
            if _quote_of(one) in quotes:
                by_quote.setdefault(_quote_of(one), []).append(one)
    return by_quote


def _quote_of(source: Draft | Memory) -> _Quote:
    return source.evidence, source.session, source.speaker


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
    reason = f"a memory was already extracted from the same words, and it is {memory.status.value}"
    return Receipt(memory.id, Refused(reason, memory.id), memory)


T = TypeVar("T")


class Pending(Generic[T]):
    """The result of a background task: call `result()` or await it."""

    def __init__(self, future: "Future[T]") -> None:
        self._future = future

    def __repr__(self) -> str:
        return f"<Pending {'done' if self.done else 'running'}>"

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

    def submit(self, task: Callable[[], T]) -> Pending[T]:
        """Run a task after all earlier ones."""
        with self._lock.rlock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="recollect-background")
            return Pending(self._pool.submit(task))

    def finish(self) -> None:
        """Wait until all tasks are done."""
        with self._lock.rlock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)

    def after_fork(self) -> None:
        """Drop the thread and its tasks in a forked child: they belong to the parent."""
        self._pool = None
