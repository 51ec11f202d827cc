"""Episode operations: start a task, record its actions, end it with an outcome and lessons."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from recollect.admission import duplicates
from recollect.admission.decision import injection_reason
from recollect.admission.policy import AdmissionPolicy
from recollect.admission.prompt_injection import find_injection
from recollect.admission.screening import ScreenedT, screen
from recollect.engine.contexts import filter_known_contexts, record_success, require_known_contexts
from recollect.engine.dependencies import Dependencies, require_not_future
from recollect.engine.edit import query_duplicates
from recollect.engine.remember import remember_all
from recollect.errors import Conflict, FieldError, InvalidInput, NotFound, show
from recollect.lifecycle.episodes import (
    ACTION_LEFT_INDEXES,
    build_outcome_metadata,
    collect_contexts,
    lesson_confidence,
    read_outcome,
)
from recollect.model import changeset, validation
from recollect.model.draft import Created, Draft, IdempotencyRecord, Receipt, Refused, Unchanged
from recollect.model.enums import TRUST_BY_PROVENANCE, Kind, Level, Provenance, Status, Trust, lowest_trust
from recollect.model.episode import FAILURE_TAG, LESSON_TAG, Action, Outcome, Result, render_action
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.protocols import WriteTransaction
from recollect.text.index_entry import index_memory

OPEN_EPISODE_STATUSES = (Status.ACTIVE, Status.QUARANTINED)
"""The statuses of an open episode."""

_TIME_STEP, _TIME_WINDOW = timedelta(microseconds=1), timedelta(milliseconds=1)


ActionData = str | Mapping[str, Any]
"""The input or output of an action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDraft:
    """An action to be recorded."""

    episode: str
    scope: Scope
    type: str
    input: ActionData
    output: ActionData
    result: Result
    at: datetime | None
    context: str | None
    provenance: Provenance
    key: str | None

    @property
    def body(self) -> str:
        """A digest that distinguishes calls with the same key; the provenance does not count."""
        content = [self.episode, self.type, self.input, self.output, self.result, str(self.at), self.context]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeDraft:
    """The outcome of a task that is to end, with its lessons."""

    score: float
    lessons: tuple[str, ...]
    failure_modes: tuple[str, ...]
    contexts: tuple[str, ...]
    provenance: Provenance
    at: datetime | None


@dataclass(frozen=True, slots=True)
class EndedEpisode:
    """An ended episode, the run that ended it, and the receipts of its lessons.

    `again` says that it had already ended with the same outcome.
    """

    episode: Memory
    run: int | None
    receipts: Sequence[Receipt]
    again: bool = False


def start_episode(deps: Dependencies, draft: Draft) -> Memory:
    """Start the task described by a draft."""
    if not deps.episodic.enabled:
        raise InvalidInput("episodes are disabled; set episodic.enabled = true")
    now = deps.now()
    draft = screen_field(deps, draft, "task")
    memory = _build_episode(deps, draft, now)
    (neighbors,) = deps.store.neighbors([_query_retry(draft)])
    earlier = _find_retried(neighbors, draft, now)
    vector = deps.embed([memory.embedded_text], "memory")[0] if earlier is None else None
    index = index_memory(memory)

    def change(writing: WriteTransaction) -> Memory:
        retried = _find_retried(writing.neighbors(_query_retry(draft)), draft, now)
        if retried is not None:
            return get_own_episode(writing, draft.scope, retried)
        changes = changeset.Changeset(
            encoder=deps.encoder,
            puts=(changeset.Put(memory, vector, index),),
            keys=_make_key_records(draft, memory.id, now),
        )
        return writing.apply(changes)[0]

    return deps.store.write(change)


def _build_episode(deps: Dependencies, draft: Draft, now: datetime) -> Memory:
    at, metadata = require_not_future("at", draft.at, now), draft.metadata or {}
    memory = Memory(
        id=MemoryId(deps.new_id(now)),
        scope=draft.scope,
        text=draft.text,
        created_at=at,
        observed_at=at,
        updated_at=at,
        kind=Kind.TASK,
        level=Level.EPISODE,
        session=draft.session,
        pinned=draft.pinned,
        shared=draft.shared,
        provenance=draft.provenance,
        source=draft.source,
        metadata=metadata,
    )
    return quarantine_if_injected(memory, [draft.text, *metadata.get("plan", ())], deps.policy)


def record_action(deps: Dependencies, action: ActionDraft) -> Memory:
    """Add an action to an open episode, and return the episode."""
    now, scope, id = deps.now(), action.scope, action.episode
    at = None if action.at is None else require_not_future("at", action.at, now)
    action = _screen_action(deps, action)
    new_id = MemoryId(deps.new_id(now))
    if action.context is not None:
        deps.store.settle()  # the record of a context is a deferred write

    def change(writing: WriteTransaction) -> Memory:
        episode = get_own_episode(writing, scope, id)
        if _find_retried(writing.neighbors(_query_retry(action)), action, now) is not None:
            return episode
        if read_outcome(episode) is not None or episode.status not in OPEN_EPISODE_STATUSES:
            raise Conflict(f"episode {show(id)} has ended; start a new one")
        if action.context is not None and writing.context(scope, action.context) is None:
            raise NotFound(f"there is no context {show(action.context)} in {scope}")
        memory = _build_action(action, new_id, episode, _choose_time(writing, episode, at, now))
        keys = _make_key_records(action, new_id, now)
        writing.apply(changeset.Changeset(puts=(changeset.Put(memory),), keys=keys))
        return episode

    return deps.store.write(change)


def _screen_action(deps: Dependencies, action: ActionDraft) -> ActionDraft:
    """Return the action without private parts and secrets."""
    names = _ScreenedNames(text=action.type, scope=action.scope, context=action.context, key=action.key)
    type = screen_field(deps, names, "type").text
    return replace(
        action, type=type, input=_screen_data(deps, action, "input"), output=_screen_data(deps, action, "output")
    )


def _screen_data(deps: Dependencies, action: ActionDraft, field: str) -> ActionData:
    """Screen an input or output; the action's type may reveal that a single word is a secret."""
    match getattr(action, field):
        case str() as text:
            return screen_field(deps, _ScreenedText(title=action.type, text=text), field, may_be_blank=True).text
        case mapping:
            return screen_field(deps, _ScreenedMapping(metadata=mapping), field, may_be_blank=True).metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScreenedNames:
    """The type and the identifiers of an action, for screening."""

    text: str
    scope: Scope
    context: str | None
    key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScreenedText:
    """An input or output text with the action's type as its title, for screening."""

    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScreenedMapping:
    """An input or output mapping, for screening."""

    metadata: Mapping[str, Any]


def _choose_time(writing: WriteTransaction, episode: Memory, at: datetime | None, now: datetime) -> datetime:
    """Return a unique time for an action, not before its episode began.

    Actions without a time keep the order in which they are recorded.
    """
    moment = max(episode.created_at, now if at is None else at)
    if at is None:
        later_actions = load_actions(writing, episode, since=moment)
        return later_actions[-1].created_at + _TIME_STEP if later_actions else moment
    while True:
        taken = {one.created_at for one in load_actions(writing, episode, since=moment, before=moment + _TIME_WINDOW)}
        unused = next(
            (one for n in range(_TIME_WINDOW // _TIME_STEP) if (one := moment + n * _TIME_STEP) not in taken), None
        )
        if unused is not None:
            return unused
        moment += _TIME_WINDOW


def _build_action(draft: ActionDraft, id: MemoryId, episode: Memory, at: datetime) -> Memory:
    action = Action(
        id=id,
        type=draft.type,
        at=at,
        input=_to_text(draft.input),
        output=_to_text(draft.output),
        result=draft.result,
        context=draft.context,
    )
    return Memory(
        id=id,
        scope=draft.scope,
        text=render_action(action),
        created_at=at,
        observed_at=at,
        updated_at=at,
        kind=Kind.EVENT,
        level=Level.ACTION,
        left=ACTION_LEFT_INDEXES,
        session=episode.session,
        shared=episode.shared,
        provenance=draft.provenance,
        derived_from=(episode.id,),
    )


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def complete_episode(deps: Dependencies, scope: Scope, id: str, outcome: OutcomeDraft) -> EndedEpisode:
    """End an episode and remember its lessons; repeating the call changes nothing."""
    now = deps.now()
    require_not_future("at", outcome.at, now)
    lessons = _screen_lessons(deps, "lessons", outcome.lessons)
    failures = _screen_lessons(deps, "failure_modes", outcome.failure_modes)
    both = next((text for text in lessons if text in failures), None)
    if both is not None:
        raise FieldError(f"{show(both)} is also a failure mode; give it only once", field="lessons")
    outcome = replace(outcome, lessons=lessons, failure_modes=failures)
    deps.store.settle()  # deferred writes of context records
    drafts = _make_lesson_drafts(find_episode(deps, scope, id), outcome)
    ended: list[Memory] = []

    def end(writing: WriteTransaction) -> None:
        ended.append(_end_episode(deps, writing, get_own_episode(writing, scope, id), outcome, now))

    try:
        receipts = remember_all(deps, drafts, end) if drafts else []
        if not drafts:
            deps.store.write(end)
    except _AlreadyEnded as already:
        return already.ended
    return EndedEpisode(ended[-1], ended[-1].commit, receipts)


@dataclass(frozen=True, slots=True)
class _ScreenedLesson:
    """A lesson under a field name that screening checks."""

    text: str


def _screen_lessons(deps: Dependencies, field: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct lessons without secrets; raise FieldError if nothing is left of one."""
    return tuple(dict.fromkeys(screen_field(deps, _ScreenedLesson(text), field).text for text in texts))


class _AlreadyEnded(Exception):
    """Raised when the episode already ended with the same outcome."""

    def __init__(self, ended: EndedEpisode) -> None:
        super().__init__()
        self.ended = ended


def _end_episode(
    deps: Dependencies, writing: WriteTransaction, episode: Memory, draft: OutcomeDraft, now: datetime
) -> Memory:
    """Write an episode with its outcome; after a success, mark the contexts that led to it."""
    actions = load_actions(writing, episode)
    outcome = Outcome(
        score=draft.score,
        lessons=draft.lessons,
        failure_modes=draft.failure_modes,
        at=max([draft.at or now, episode.created_at, *(one.created_at for one in actions)]),
    )
    former, contexts = read_outcome(episode), collect_contexts(episode, actions)
    if former is not None:
        run = _find_completing_run(writing, episode)
        if replace(former, at=outcome.at) != outcome or not set(draft.contexts) <= set(contexts):
            problem = f"episode {show(episode.id)} already ended with a different outcome, {former.score:g}"
            raise Conflict(f"{problem}; to end it again, undo run {run} first")
        raise _AlreadyEnded(EndedEpisode(episode, run, _load_known_lessons(writing, episode, draft), again=True))
    if episode.status not in OPEN_EPISODE_STATUSES:
        raise Conflict(f"episode {show(episode.id)} is {episode.status.value}; restore it first, or start a new one")
    require_known_contexts(writing, episode.scope, draft.contexts)
    if draft.score >= deps.episodic.success:
        record_success(
            writing, episode.scope, [*filter_known_contexts(writing, episode.scope, contexts), *draft.contexts], now
        )
    state = episode.with_changes(
        metadata=build_outcome_metadata(episode.metadata, outcome, draft.contexts),
        updated_at=outcome.at,
        trust=lowest_trust([episode.trust, TRUST_BY_PROVENANCE[draft.provenance], *(one.trust for one in actions)]),
    )
    return writing.put(quarantine_if_injected(state, [*draft.lessons, *draft.failure_modes], deps.policy), None)


def _find_completing_run(writing: WriteTransaction, episode: Memory) -> int | None:
    """Return the run that completed an episode; a later run may have written its present version."""
    while (earlier := writing.version(episode.scope, episode.id, before=episode.commit or 0)) is not None:
        if read_outcome(earlier[0]) is None:
            break
        episode = earlier[0]
    return episode.commit


def _load_known_lessons(writing: WriteTransaction, episode: Memory, outcome: OutcomeDraft) -> list[Receipt]:
    """Return a receipt for the present memory of each lesson, which may have been reworded or archived since."""
    receipts = []
    for text in (*outcome.lessons, *outcome.failure_modes):
        wanted = episode.with_changes(text=text, kind=Kind.LEARNING, level=None)
        known = writing.neighbors(query_duplicates(wanted, index_memory(wanted))).duplicates
        lesson = next((one for one in known if one.status in OPEN_EPISODE_STATUSES), None)
        missing = Receipt(None, Refused("no memory has this text any more"), None)
        receipts.append(missing if lesson is None else Receipt(lesson.id, Unchanged(), lesson))
    return receipts


def _make_lesson_drafts(episode: Memory, outcome: OutcomeDraft) -> list[Draft]:
    """Return the drafts of the lessons and failure modes."""
    return [
        Draft(
            text=text,
            scope=episode.scope,
            kind=Kind.LEARNING,
            confidence=lesson_confidence(outcome.score, of_failure=tag == FAILURE_TAG),
            tags=(tag,),
            session=episode.session,
            shared=episode.shared,
            provenance=outcome.provenance,
            derived_from=(episode.id,),
        )
        for tag, texts in ((LESSON_TAG, outcome.lessons), (FAILURE_TAG, outcome.failure_modes))
        for text in texts
    ]


def load_actions(
    writing: WriteTransaction, episode: Memory, *, since: datetime | None = None, before: datetime | None = None
) -> list[Memory]:
    """Return the actions of an episode in order, optionally within a time range."""
    actions = writing.timeline(episode.scope, [Level.ACTION], since=since or episode.created_at, before=before)
    return [one for one in actions if episode.id in one.derived_from]


def get_own_episode(writing: WriteTransaction, scope: Scope, id: str) -> Memory:
    """Return the scope's own episode with this id, or raise NotFound."""
    memory = writing.get(scope, MemoryId(id)) if validation.is_storable(validation.require_text("id", id)) else None
    if memory is None or memory.level is not Level.EPISODE:
        raise episode_not_found(scope, id)
    return memory


def find_episode(deps: Dependencies, scope: Scope, id: str) -> Memory:
    """Return the episode with this id if the scope may see it, or raise NotFound."""
    is_storable = validation.is_storable(validation.require_text("id", id))
    memories = deps.store.get(scope, [MemoryId(id)]) if is_storable else []
    if not memories or memories[0].level is not Level.EPISODE:
        raise episode_not_found(scope, id)
    return memories[0]


def episode_not_found(scope: Scope, id: str) -> NotFound:
    """Return the error for an unknown episode."""
    return NotFound(f"there is no episode {show(id)} in {scope}")


def screen_field(deps: Dependencies, value: ScreenedT, field: str, *, may_be_blank: bool = False) -> ScreenedT:
    """Return the value without private parts and secrets; raise FieldError if nothing is left."""
    screened = screen(value, deps.policy.secrets, may_be_blank=may_be_blank)
    if isinstance(screened, Refused):
        raise FieldError(screened.reason, field=field)
    return screened.value


def quarantine_if_injected(memory: Memory, texts: Sequence[str], policy: AdmissionPolicy) -> Memory:
    """Quarantine the memory if a text instructs a model and the memory is not the user's own."""
    if not policy.quarantine.enabled or not memory.trust.less_than(Trust.STATED):
        return memory
    injection = next((match for text in texts if (match := find_injection(text)) is not None), None)
    return (
        memory
        if injection is None
        else memory.with_changes(status=Status.QUARANTINED, remark=injection_reason(injection))
    )


def _query_retry(draft: Draft | ActionDraft) -> changeset.NeighborQuery:
    return changeset.NeighborQuery(scope=draft.scope, retry_key=draft.key)


def _find_retried(neighbors: changeset.Neighbors, draft: Draft | ActionDraft, now: datetime) -> MemoryId | None:
    """Return the memory that the same call stored earlier under its key."""
    record = duplicates.check_retry_key(neighbors.retried, draft, now)
    return None if record is None else record.memory


def _make_key_records(draft: Draft | ActionDraft, id: MemoryId, now: datetime) -> tuple[IdempotencyRecord, ...]:
    """Return the record of the call's retry key, if it has one."""
    if draft.key is None:
        return ()
    return (IdempotencyRecord(scope=draft.scope, key=draft.key, body=draft.body, memory=id, verdict=Created(), at=now),)
