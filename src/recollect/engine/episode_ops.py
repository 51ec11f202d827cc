"""Undertake: a task begins, what is done for it is recorded, and it ends with an outcome and what it taught."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from recollect.admission.decision import reads_like_orders
from recollect.admission.policy import Policy
from recollect.admission.prompt_injection import orders_in
from recollect.admission.screening import T, screen
from recollect.engine.admit import retried
from recollect.engine.dependencies import World, not_later
from recollect.engine.feedback import followed, refuse_stranger, still_there
from recollect.engine.remember import remember_all
from recollect.errors import Conflict, FieldError, InvalidInput, NotFound, show
from recollect.lifecycle.episodes import NOWHERE, decided_by, ended, outcome_of, sureness
from recollect.model import validation
from recollect.model.draft import Draft
from recollect.model.episode import FAILURE, LESSON, Action, Outcome, Result, told
from recollect.model.idempotency import Kept
from recollect.model.level import Level
from recollect.model.memory import Kind, Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.trust import TRUST, Provenance, Trust, least
from recollect.model.verdict import Created, Receipt, Refused, Unchanged
from recollect.protocols import Writing

OPEN = (Status.ACTIVE, Status.QUARANTINED)
"""Where an episode stands that is under way."""

_STEP, _NEAR = timedelta(microseconds=1), timedelta(milliseconds=1)


Words = str | Mapping[str, Any]
"""What an action was given, or what came of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What is to be recorded."""

    episode: str
    scope: Scope
    type: str
    input: Words
    output: Words
    result: Result
    at: datetime | None
    context: str | None
    provenance: Provenance
    key: str | None

    @property
    def body(self) -> str:
        """What tells it from another one under the same key; who says so again does not."""
        said = [self.episode, self.type, self.input, self.output, self.result, str(self.at), self.context]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a task is to end, and what it taught."""

    score: float
    lessons: tuple[str, ...]
    failure_modes: tuple[str, ...]
    contexts: tuple[str, ...]
    provenance: Provenance
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Ended:
    """An episode that has ended, by which run, what became of what it taught, and whether all of that was so before."""

    episode: Memory
    run: int | None
    receipts: Sequence[Receipt]
    again: bool = False


def start(world: World, draft: Draft) -> Memory:
    """Begin the task that a draft tells."""
    if not world.episodic.enabled:
        raise InvalidInput("episodes are switched off; set episodic.enabled = true")
    now = world.now()
    draft = screened(world, draft, "task")
    memory = _task(world, draft, now)
    known = _retried(world.store.kept, draft, now)
    vector = world.embed([memory.embedded_text], "memory")[0] if known is None else None

    def change(writing: Writing) -> Memory:
        before = _retried(writing.kept, draft, now)
        if before is not None:
            return own_episode(writing, draft.scope, before)
        writing.adopt(world.encoder)
        kept = writing.put(memory, vector)
        _keep(writing, draft, kept.id, now)
        return kept

    return world.store.write(change)


def _task(world: World, draft: Draft, now: datetime) -> Memory:
    at, metadata = not_later("at", draft.at, now), draft.metadata or {}
    memory = Memory(
        id=MemoryId(world.new_id(now)),
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
    return isolated(memory, [draft.text, *metadata.get("plan", ())], world.policy)


def record(world: World, deed: Deed) -> Memory:
    """Add what was done to an episode that is under way; gives the episode."""
    now, scope, id = world.now(), deed.scope, deed.episode
    at = None if deed.at is None else not_later("at", deed.at, now)
    deed = _clean(world, deed)
    new = MemoryId(world.new_id(now))
    if deed.context is not None:
        world.store.settle()  # the trace of a context is written soon after it was made

    def change(writing: Writing) -> Memory:
        episode = own_episode(writing, scope, id)
        if _retried(writing.kept, deed, now) is not None:
            return episode
        if outcome_of(episode) is not None or episode.status not in OPEN:
            raise Conflict(f"the episode {show(id)} is over; start another one")
        if deed.context is not None and writing.context(scope, deed.context) is None:
            raise NotFound(f"there is no context {show(deed.context)} in {scope}")
        writing.put(_deed(deed, new, episode, _moment(writing, episode, at, now)), None)
        _keep(writing, deed, new, now)
        return episode

    return world.store.write(change)


def _clean(world: World, deed: Deed) -> Deed:
    """The same without what is private or secret."""
    names = _Names(text=deed.type, scope=deed.scope, context=deed.context, key=deed.key)
    type = screened(world, names, "type").text
    return replace(deed, type=type, input=_spoken(world, deed, "input"), output=_spoken(world, deed, "output"))


def _spoken(world: World, deed: Deed, field: str) -> Words:
    """What an action was given, or what came of it: its type may say that a single word is a secret."""
    match getattr(deed, field):
        case str() as text:
            return screened(world, _Spoken(title=deed.type, text=text), field, may_be_blank=True).text
        case told:
            return screened(world, _Told(metadata=told), field, may_be_blank=True).metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """The type of an action, and all about it that is a name, as they are screened."""

    text: str
    scope: Scope
    context: str | None
    key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spoken:
    """A text with what it is the text of, as it is screened."""

    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """The same as a mapping."""

    metadata: Mapping[str, Any]


def _moment(writing: Writing, episode: Memory, at: datetime | None, now: datetime) -> datetime:
    """When it counts as done: no two of an episode at one moment, none before it began, and, unless it is said when, in
    the order in which they are told.
    """
    moment = max(episode.created_at, now if at is None else at)
    if at is None:
        later = done_for(writing, episode, since=moment)
        return later[-1].created_at + _STEP if later else moment
    while True:
        taken = {one.created_at for one in done_for(writing, episode, since=moment, before=moment + _NEAR)}
        free = next((one for n in range(_NEAR // _STEP) if (one := moment + n * _STEP) not in taken), None)
        if free is not None:
            return free
        moment += _NEAR


def _deed(deed: Deed, id: MemoryId, episode: Memory, at: datetime) -> Memory:
    action = Action(
        id=id,
        type=deed.type,
        at=at,
        input=_written(deed.input),
        output=_written(deed.output),
        result=deed.result,
        context=deed.context,
    )
    return Memory(
        id=id,
        scope=deed.scope,
        text=told(action),
        created_at=at,
        observed_at=at,
        updated_at=at,
        kind=Kind.EVENT,
        level=Level.ACTION,
        left=NOWHERE,
        session=episode.session,
        shared=episode.shared,
        provenance=deed.provenance,
        derived_from=(episode.id,),
    )


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def complete(world: World, scope: Scope, id: str, ending: Ending) -> Ended:
    """End an episode, and remember what it taught; what ended just so before is left as it is."""
    now = world.now()
    not_later("at", ending.at, now)
    lessons = _taught(world, "lessons", ending.lessons)
    failures = _taught(world, "failure_modes", ending.failure_modes)
    both = next((text for text in lessons if text in failures), None)
    if both is not None:
        raise FieldError(f"{show(both)} is told as a failure mode too; say it as one of the two", field="lessons")
    ending = replace(ending, lessons=lessons, failure_modes=failures)
    world.store.settle()  # traces of contexts
    drafts = _learned(find_episode(world, scope, id), ending)
    done: list[Memory] = []

    def end(writing: Writing) -> None:
        done.append(_ended(world, writing, own_episode(writing, scope, id), ending, now))

    try:
        receipts = remember_all(world, drafts, end) if drafts else []
        if not drafts:
            world.store.write(end)
    except _Done as before:
        return before.ended
    return Ended(done[-1], done[-1].commit, receipts)


@dataclass(frozen=True, slots=True)
class _Taught:
    """Something that was learned, under a name that is screened."""

    text: str


def _taught(world: World, field: str, texts: Sequence[str]) -> tuple[str, ...]:
    """What was learned without what is private or secret, each once; refused if nothing else is left of one."""
    return tuple(dict.fromkeys(screened(world, _Taught(text), field).text for text in texts))


class _Done(Exception):
    """The episode ended just so before."""

    def __init__(self, ended: Ended) -> None:
        super().__init__()
        self.ended = ended


def _ended(world: World, writing: Writing, episode: Memory, ending: Ending, now: datetime) -> Memory:
    """The episode with its outcome; what it was decided by is noted to have been followed by success, if it was."""
    actions = done_for(writing, episode)
    outcome = Outcome(
        score=ending.score,
        lessons=ending.lessons,
        failure_modes=ending.failure_modes,
        at=max([ending.at or now, episode.created_at, *(one.created_at for one in actions)]),
    )
    former, decided = outcome_of(episode), decided_by(episode, actions)
    if former is not None:
        run = _completed(writing, episode)
        if replace(former, at=outcome.at) != outcome or not set(ending.contexts) <= set(decided):
            told = f"the episode {show(episode.id)} ended otherwise, with {former.score:g}"
            raise Conflict(f"{told}; to end it anew, undo run {run} first")
        raise _Done(Ended(episode, run, _known(writing, episode, ending), again=True))
    if episode.status not in OPEN:
        raise Conflict(
            f"the episode {show(episode.id)} is {episode.status.value}; restore it first, or start another one"
        )
    refuse_stranger(writing, episode.scope, ending.contexts)
    if ending.score >= world.episodic.success:
        followed(writing, episode.scope, [*still_there(writing, episode.scope, decided), *ending.contexts], now)
    state = episode.changed(
        metadata=ended(episode.metadata, outcome, ending.contexts),
        updated_at=outcome.at,
        trust=least([episode.trust, TRUST[ending.provenance], *(one.trust for one in actions)]),
    )
    return writing.put(isolated(state, [*ending.lessons, *ending.failure_modes], world.policy), None)


def _completed(writing: Writing, episode: Memory) -> int | None:
    """The run that completed an episode: its present version may be of another one, as that it was pinned."""
    while (earlier := writing.before(episode.scope, episode.id, episode.commit or 0)) is not None:
        if outcome_of(earlier[0]) is None:
            break
        episode = earlier[0]
    return episode.commit


def _known(writing: Writing, episode: Memory, ending: Ending) -> list[Receipt]:
    """What is known by now of each thing that an episode taught; it may have been put away or reworded since."""
    receipts = []
    for text in (*ending.lessons, *ending.failure_modes):
        said = writing.sayings(episode.changed(text=text, kind=Kind.LEARNING, level=None))
        found = next((one for one in said if one.status in OPEN), None)
        gone = Receipt(None, Refused("nothing says so any more"), None)
        receipts.append(gone if found is None else Receipt(found.id, Unchanged(), found))
    return receipts


def _learned(episode: Memory, ending: Ending) -> list[Draft]:
    """What is to be remembered of it."""
    return [
        Draft(
            text=text,
            scope=episode.scope,
            kind=Kind.LEARNING,
            confidence=sureness(ending.score, of_failure=tag == FAILURE),
            tags=(tag,),
            session=episode.session,
            shared=episode.shared,
            provenance=ending.provenance,
            derived_from=(episode.id,),
        )
        for tag, texts in ((LESSON, ending.lessons), (FAILURE, ending.failure_modes))
        for text in texts
    ]


def done_for(
    writing: Writing, episode: Memory, *, since: datetime | None = None, before: datetime | None = None
) -> list[Memory]:
    """What was done for an episode, in its order, or within a stretch of time."""
    found = writing.timeline(episode.scope, [Level.ACTION], since=since or episode.created_at, before=before)
    return [one for one in found if episode.id in one.derived_from]


def own_episode(writing: Writing, scope: Scope, id: str) -> Memory:
    """The scope's own episode of that id."""
    found = writing.get(scope, MemoryId(id)) if validation.can_be_kept(validation.a_text("id", id)) else None
    if found is None or found.level is not Level.EPISODE:
        raise no_episode(scope, id)
    return found


def find_episode(world: World, scope: Scope, id: str) -> Memory:
    """The episode of that id that the scope may see."""
    found = world.store.get(scope, [MemoryId(id)]) if validation.can_be_kept(validation.a_text("id", id)) else []
    if not found or found[0].level is not Level.EPISODE:
        raise no_episode(scope, id)
    return found[0]


def no_episode(scope: Scope, id: str) -> NotFound:
    """What is said of an episode that is not there."""
    return NotFound(f"there is no episode {show(id)} in {scope}")


def screened(world: World, value: T, field: str, *, may_be_blank: bool = False) -> T:
    """The value without what is private or secret; refused under the name of its field if nothing else is left."""
    found = screen(value, world.policy.secrets, may_be_blank=may_be_blank)
    if isinstance(found, Refused):
        raise FieldError(found.reason, field=field)
    return found.value


def isolated(memory: Memory, words: Sequence[str], policy: Policy) -> Memory:
    """The memory; quarantined if any of these words speak to a model, and are not the user's own."""
    if not policy.quarantine.enabled or not memory.trust.less_than(Trust.STATED):
        return memory
    orders = next((found for text in words if (found := orders_in(text)) is not None), None)
    return memory if orders is None else memory.changed(status=Status.QUARANTINED, remark=reads_like_orders(orders))


def _retried(kept: Callable[[Scope, str], Kept | None], said: Draft | Deed, now: datetime) -> MemoryId | None:
    """The memory that the same call made before under its key."""
    before = None if said.key is None else retried(kept(said.scope, said.key), said, now)
    return None if before is None else before.memory


def _keep(writing: Writing, said: Draft | Deed, id: MemoryId, now: datetime) -> None:
    if said.key is not None:
        kept = Kept(scope=said.scope, key=said.key, body=said.body, memory=id, verdict=Created(), at=now)
        writing.keep(kept)
