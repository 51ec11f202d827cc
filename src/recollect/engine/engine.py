"""Engine: the use cases bound to a world; what users hold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from recollect.admission.screening import ScreenedT
from recollect.engine import edit, erase, extract, import_files, plans, recall, topics, transfer
from recollect.engine import events as browse
from recollect.engine.contexts import collect_training_examples, record_feedback, replay_context, require_context_id
from recollect.engine.curator import Curator
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import restore
from recollect.engine.episodes import Episodes
from recollect.engine.events import EventOrigin, observe
from recollect.engine.extract import BackgroundWorker, ExtractionResult, Pending, read_turns
from recollect.engine.extract_events import EventExtraction, extract_events
from recollect.engine.recall import count_served
from recollect.engine.remember import get_kept, keep_exact, read_keys, read_seen_versions, remember_all, screen_or_raise
from recollect.engine.rollup import rollup
from recollect.engine.sessions import Sessions
from recollect.errors import FieldError, InvalidInput, RecollectError, show
from recollect.fork_safety import ForkSafeLock
from recollect.model import validation
from recollect.model.archive import ImportReport, Stats
from recollect.model.context import Noted, Usage
from recollect.model.conversation import ConversationTurn
from recollect.model.draft import Draft, Receipt, read_draft
from recollect.model.enums import Kind, Level, Provenance, Status, parse_choice
from recollect.model.erasure import ErasureReceipt
from recollect.model.memory import Memory, MemoryId
from recollect.model.plan import Job, Plan, RetentionOverrides, Run, UndoReport
from recollect.model.scope import Scope, as_scope
from recollect.model.timeline import (
    Entity,
    EntityNeighbors,
    GripExpansion,
    RollupReport,
    TimelinePage,
    Topic,
    TopicRefreshReport,
)
from recollect.packing.budget import Budget
from recollect.packing.pack import Context, Replay
from recollect.protocols import ProgressListener, SupportsBackup, TracksFailures
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import ProfileDocument
from recollect.ranking.result import Exact, Ranking, Scored
from recollect.ranking.why import Why
from recollect.retrieval.query import QueryTurn, parse_query

if TYPE_CHECKING:
    from recollect.model.training_example import TrainingSet

_ERASE_USAGE = "say what to erase by exactly one of id=, source= and everything=True"

DEFAULT_DEPTH = 200
"""How many of the best a recall considers for packing."""


class Engine:
    """Remembers, recalls and explains. Safe to use from many threads; close it, or use it in a `with`."""

    def __init__(self, world: Dependencies) -> None:
        self._world = world
        self._closing = ForkSafeLock()
        self._closed = False
        self._background = BackgroundWorker()

    def __repr__(self) -> str:
        state = "closed" if self._closed else self._world.encoder.name
        return f"<recollect.Engine of {self._world.store}, {state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except RecollectError as problem:
            if error is None:
                raise
            error.add_note(f"and then the store could not be closed well: {problem}")

    def close(self) -> None:
        """Write what is still to be written, and let go of the store."""
        self._background.finish()
        with self._closing.rlock:
            if not self._closed:
                self._closed = True
                self._world.store.close()

    @property
    def closed(self) -> bool:
        """Whether it was closed, so that nothing can be asked of it any more."""
        return self._closed

    @property
    def takes_writes(self) -> bool:
        """Whether the store did not fail when something was last to be written, which is not done for this."""
        return self._world.store.takes_writes

    @property
    def embedder(self) -> str:
        """The name of the model that embeds."""
        return self._dependencies.encoder.name

    @property
    def embedder_fails(self) -> bool:
        """Whether the model failed when it was last asked, or is long silent; it is not asked for this."""
        return isinstance(self._world.embedder, TracksFailures) and self._world.embedder.failing

    @property
    def embedder_failures(self) -> int:
        """How often the model has failed since it was opened, so that none is missed between two looks."""
        return self._world.embedder.failures if isinstance(self._world.embedder, TracksFailures) else 0

    @property
    def curator(self) -> Curator:
        """What an operator may do to memories."""
        return Curator(lambda: self._dependencies)

    @property
    def episodes(self) -> Episodes:
        """Tasks, what was done for them, how they went, and what they taught."""
        return Episodes(lambda: self._dependencies)

    def now(self) -> datetime:
        """The present moment by the clock of the engine, in UTC."""
        return self._dependencies.now()

    @property
    def sessions(self) -> Sessions:
        """Stretches of work: begun with what is known, saved in, summed up and ended."""
        return Sessions(lambda: self._dependencies)

    @property
    def _dependencies(self) -> Dependencies:
        if self._closed:
            raise RecollectError("this engine is closed; open the store again")
        return self._world

    def remember(
        self,
        text: str,
        *,
        scope: str | Scope,
        kind: Kind | str | None = None,
        title: str | None = None,
        topic_key: str | None = None,
        subject: str | None = None,
        tags: Iterable[str] = (),
        importance: float | None = None,
        confidence: float | None = None,
        pinned: bool = False,
        shared: bool = False,
        session: str | None = None,
        speaker: str | None = None,
        at: datetime | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
        provenance: Provenance | str = Provenance.MODEL_INFERENCE,
        source: str | None = None,
        derived_from: Iterable[str] = (),
        evidence: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        vector: Sequence[float] | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Remember a text; the receipt says which memory now says it, and what was decided."""
        given = {name: value for name, value in locals().items() if name != "self"}
        (receipt,) = remember_all(self._dependencies, [read_draft(given)])
        return receipt

    def remember_all(
        self, drafts: Iterable[Draft | Mapping[str, Any]], *, scope: str | Scope | None = None
    ) -> list[Receipt]:
        """Remember all of the drafts, or none; `scope` is for those that name none."""
        given = validation.require_several("drafts", drafts)
        return remember_all(
            self._dependencies, [one if isinstance(one, Draft) else read_draft(one, scope) for one in given]
        )

    def keep(
        self,
        drafts: Iterable[Draft | Mapping[str, Any]],
        *,
        scope: str | Scope | None = None,
        drop: Iterable[tuple[str | Scope, str]] = (),
        seen: Iterable[tuple[str | Scope, str, Memory | None]] = (),
        apart: bool = False,
        provenance: Provenance | str | None = None,
    ) -> list[Receipt]:
        """Keep every draft word for word under its topic key, also if another one says the same, and forget what is
        under the keys to drop, each a scope and a topic key; all of it or, if anything cannot be so, nothing.

        Refused is what has secrets in it, and what admission would not believe; with `apart`, that is kept in
        quarantine. `seen` tells what was there under keys, or that nothing was: if that has changed, it is a
        `Conflict`. `provenance` is through whom keys are dropped, if that is to count: then nothing is that is trusted
        more.
        """
        given = validation.require_several("drafts", drafts)
        by = None if provenance is None else parse_choice("provenance", provenance, Provenance)
        proposed = [one if isinstance(one, Draft) else read_draft(one, scope) for one in given]
        quarantine = validation.require_flag("apart", apart)
        return keep_exact(
            self._dependencies, proposed, drop=read_keys(drop), by=by, seen=read_seen_versions(seen), apart=quarantine
        )

    def kept(self, topic_key: str, *, scope: str | Scope) -> Memory | None:
        """The scope's memory of that topic key, if one is active and holds now."""
        return get_kept(self._dependencies, as_scope(scope), topic_key)

    def screened(self, value: ScreenedT) -> ScreenedT:
        """A text, or a value of JSON, as it could be kept: with placeholders for what is private or secret in it.

        A secret is refused instead if that is the setting.
        """
        return screen_or_raise(self._dependencies, value)

    def observe(
        self,
        events: Iterable[ConversationTurn | str | Mapping[str, Any]],
        *,
        scope: str | Scope,
        provenance: Provenance | str | None = None,
        source: str | None = None,
    ) -> list[Receipt]:
        """Keep what happened as events, all of them or none; the same event again changes nothing.

        Events are like turns of a conversation: texts, or mappings with text or content, and any of role, speaker, at,
        session and id. `source` is the id of what they were read from.
        """
        by = None if provenance is None else parse_choice("provenance", provenance, Provenance)
        origin = EventOrigin(as_scope(scope), by, None if source is None else validation.require_id("source", source))
        return observe(self._dependencies, read_turns(events, "events"), origin)

    def rollup(
        self, *, scope: str | Scope, unfinished: bool = False, progress: ProgressListener | None = None
    ) -> RollupReport:
        """Bring the records of days, weeks, months and years up to the scope's events: of all that is over, or also of
        what is under way. The same again changes nothing.
        """
        validation.require_flag("unfinished", unfinished)
        return rollup(self._dependencies, as_scope(scope), unfinished=unfinished, progress=_check_progress(progress))

    def browse(self, key: str | None = None, *, scope: str | Scope) -> TimelinePage:
        """What happened: all years, or what is below a year, month, week or day (2026, 2026-03, 2026-W09, 2026-03-01),
        a segment or a grip.
        """
        return browse.browse(self._dependencies, as_scope(scope), key)

    def expand(self, id: str, *, scope: str | Scope, around: int = 0) -> GripExpansion:
        """The events that a grip or a segment rests on, with so many before and after them of the same session."""
        return browse.expand(self._dependencies, as_scope(scope), id, around)

    def extract(
        self,
        turns: Iterable[ConversationTurn | str | Mapping[str, Any]],
        *,
        scope: str | Scope,
        most: int | None = None,
        provenance: Provenance | str | None = None,
    ) -> ExtractionResult:
        """Understand what is worth remembering in a conversation, and remember it; the same again changes nothing."""
        by = None if provenance is None else parse_choice("provenance", provenance, Provenance)
        return extract.extract(self._dependencies, read_turns(turns), as_scope(scope), most=most, provenance=by)

    def extract_soon(
        self,
        turns: Iterable[ConversationTurn | str | Mapping[str, Any]],
        *,
        scope: str | Scope,
        most: int | None = None,
        provenance: Provenance | str | None = None,
    ) -> Pending[ExtractionResult]:
        """The same in the background: wait for it or await it; closing the engine waits for it too."""
        world, said, whose = self._dependencies, read_turns(turns), as_scope(scope)
        by = None if provenance is None else parse_choice("provenance", provenance, Provenance)
        return self._background.submit(lambda: extract.extract(world, said, whose, most=most, provenance=by))

    def extract_events(self, *, scope: str | Scope, progress: ProgressListener | None = None) -> EventExtraction:
        """Remember what is worth it in the scope's events that came since the last time; each memory names its event in
        `derived_from`. The same again changes nothing, and what fails is left to the next time.
        """
        return extract_events(self._dependencies, as_scope(scope), _check_progress(progress))

    def search(
        self,
        query: str | Sequence[QueryTurn],
        *,
        scope: str | Scope,
        profile: Profile | str | None = None,
        limit: int = 10,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        past: bool = False,
        kinds: Iterable[Kind | str] | None = None,
        levels: Iterable[Level | str] | None = None,
        overrides: ProfileDocument | None = None,
        exact: Exact | str = "required",
        below: bool = False,
    ) -> Ranking:
        """The exact best `limit` of all the scope's memories, each with its explanation.

        With `exact="preferred"` a store that has an index of the scope may go by it; `Ranking.proof` says what came of
        it. With `below`, each scope below it is searched too, by itself, and what scopes above share is left out.
        """
        world = self._dependencies
        asked = parse_query(query)
        request = recall.read_request(
            world,
            asked,
            scope=scope,
            profile=profile,
            as_of=as_of,
            known_at=known_at,
            past=past,
            kinds=kinds,
            levels=levels,
            overrides=overrides,
            exact=exact,
        )
        find = recall.search_below if validation.require_flag("below", below) else recall.search
        return find(world, request, limit)

    def recall(
        self,
        query: str | Sequence[QueryTurn],
        *,
        scope: str | Scope,
        tokens: int | Budget = 1200,
        profile: Profile | str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        past: bool = False,
        kinds: Iterable[Kind | str] | None = None,
        levels: Iterable[Level | str] | None = None,
        depth: int = DEFAULT_DEPTH,
        overrides: ProfileDocument | None = None,
    ) -> Context:
        """The memories that best answer the question, packed into a budget and rendered for a model."""
        world = self._dependencies
        asked = parse_query(query)
        request = recall.read_request(
            world,
            asked,
            scope=scope,
            profile=profile,
            as_of=as_of,
            known_at=known_at,
            past=past,
            kinds=kinds,
            levels=levels,
            overrides=overrides,
        )
        return recall.recall(world, request, _to_budget(tokens), depth)

    def brief(
        self,
        *,
        scope: str | Scope,
        tokens: int | Budget = 1200,
        profile: Profile | str = "session",
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        past: bool = False,
        kinds: Iterable[Kind | str] | None = None,
        levels: Iterable[Level | str] | None = None,
        depth: int = DEFAULT_DEPTH,
    ) -> Context:
        """What to know before anyone asks, packed into a budget and rendered for a model."""
        world = self._dependencies
        request = recall.read_request(
            world,
            None,
            scope=scope,
            profile=profile,
            as_of=as_of,
            known_at=known_at,
            past=past,
            kinds=kinds,
            levels=levels,
        )
        return recall.recall(world, request, _to_budget(tokens), depth)

    def why(
        self,
        id: str,
        query: str | Sequence[QueryTurn],
        *,
        scope: str | Scope,
        profile: Profile | str | None = None,
        tokens: int | Budget = 1200,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        past: bool = False,
        kinds: Iterable[Kind | str] | None = None,
        levels: Iterable[Level | str] | None = None,
        depth: int = DEFAULT_DEPTH,
        overrides: ProfileDocument | None = None,
    ) -> Why:
        """At which step the memory stands or falls when the question is recalled, and what would change it."""
        world = self._dependencies
        asked = parse_query(query)
        request = recall.read_request(
            world,
            asked,
            scope=scope,
            profile=profile,
            as_of=as_of,
            known_at=known_at,
            past=past,
            kinds=kinds,
            levels=levels,
            overrides=overrides,
        )
        return recall.explain_why(world, request, id, _to_budget(tokens), depth)

    def feedback(
        self,
        context_id: str,
        *,
        scope: str | Scope,
        helped: Iterable[str] = (),
        misled: Iterable[str] = (),
        by: str | None = None,
        answer: str | None = None,
    ) -> Noted:
        """Say which memories of a context helped and which misled; it moves their usefulness, and only that.

        Which of them the `answer` quotes that was given from it is noted beside that; the answer is not kept.
        """
        votes = {"helped": _check_ids("helped", helped), "misled": _check_ids("misled", misled)}
        return record_feedback(
            self._dependencies, require_context_id(context_id), scope=as_scope(scope), by=by, answer=answer, **votes
        )

    def served(self, handed: Iterable[Scored | str], *, scope: str | Scope) -> None:
        """Count as served what a search found and whoever asked handed to an agent: a ranking, or ids. It is written
        soon, together with other uses; what the scope may not see is skipped.
        """
        count_served(self._dependencies, as_scope(scope), handed)

    def replay(self, context_id: str, *, scope: str | Scope) -> Replay:
        """A recorded context made again by what was known when it was made, and what differs, if anything does.

        It counts as no use, and nothing is written.
        """
        return replay_context(self._dependencies, as_scope(scope), require_context_id(context_id))

    def experience(
        self, *, scope: str | Scope, profile: Profile | str | None = None, progress: ProgressListener | None = None
    ) -> "TrainingSet":
        """What can be learned for a profile from the scope's contexts that anybody said anything of, the oldest first.

        Each is asked again as the store knew things when it was made; that counts as no use, and no model is asked for
        it. How many cannot be asked so is counted.
        """
        world = self._dependencies
        return collect_training_examples(
            world, as_scope(scope), world.resolve_profile(profile), _check_progress(progress)
        )

    def revise(self, id: str, text: str, *, scope: str | Scope, **changes: Any) -> Receipt:
        """Give a memory a new text, and any of title, kind, tags, importance, confidence, at, valid_from,
        valid_until, metadata and vector; its history keeps what it said.
        """
        known = [one.name for one in fields(edit.Revision)]
        odd = next((name for name in changes if name not in known), None)
        if odd is not None:
            raise TypeError(f"revise() has no argument {odd!r}; it takes {', '.join(known)}")
        return edit.revise(self._dependencies, as_scope(scope), id, edit.Revision(text=text, **changes))

    def forget(self, id: str, *, scope: str | Scope, provenance: Provenance | str | None = None) -> Receipt:
        """Recall the memory no more; `restore` brings it back, `erase` removes it for good.

        `provenance` is through whom that is wished, if it is to count: then it is `Refused` where the memory is trusted
        more, and to all but an operator where it is quarantined.
        """
        by = None if provenance is None else parse_choice("provenance", provenance, Provenance)
        return edit.forget(self._dependencies, as_scope(scope), id, by)

    def restore(self, id: str, *, scope: str | Scope) -> Receipt:
        """Bring back a memory that was forgotten or put away; what took its place holds no longer."""
        return restore(self._dependencies, as_scope(scope), id)

    def pin(self, id: str, *, scope: str | Scope) -> Receipt:
        """Keep room for the memory in every context of its scope."""
        return edit.set_pinned(self._dependencies, as_scope(scope), id, pinned=True)

    def unpin(self, id: str, *, scope: str | Scope) -> Receipt:
        """Let the memory compete like any other."""
        return edit.set_pinned(self._dependencies, as_scope(scope), id, pinned=False)

    def hold(self, seen: Memory, *, until: datetime) -> Receipt:
        """Let a memory hold until that moment, if it has not changed since it was seen; nothing else of it changes."""
        if not isinstance(seen, Memory):
            raise FieldError(f"{show(seen)} is no memory; give what `get` or `kept` gave", field="seen")
        return edit.hold(self._dependencies, seen, validation.require_moment("until", until))

    def get(self, id: str, *, scope: str | Scope) -> Memory:
        """The memory of that id, if the scope may see it."""
        return edit.get_visible(self._dependencies, as_scope(scope), id)

    def replacement(self, memory: Memory, *, scope: str | Scope) -> Memory | None:
        """What took the place of the memory, if anything did, it is still there, and the scope may see it."""
        if not isinstance(memory, Memory):
            raise FieldError(f"{show(memory)} is no memory; give what `get` gave", field="memory")
        return edit.find_replacement(self._dependencies, as_scope(scope), memory)

    def usage(self, id: str, *, scope: str | Scope) -> Usage:
        """What happened to the memory since it was written."""
        world, whose = self._dependencies, as_scope(scope)
        world.store.settle()
        memory = self.get(id, scope=whose)
        return world.store.usage(whose, [memory.id])[0]

    def history(self, id: str, *, scope: str | Scope) -> list[Memory]:
        """Every version of the memory, the oldest first."""
        whose = as_scope(scope)
        versions = self._dependencies.store.history(whose, edit.require_memory_id(whose, id))
        if not versions:
            raise edit.memory_not_found(whose, id)
        return versions

    def memories(
        self,
        *,
        scope: str | Scope,
        below: bool = False,
        statuses: Iterable[Status | str] = (Status.ACTIVE,),
        after: str | None = None,
        limit: int | None = None,
    ) -> list[Memory]:
        """The memories of the scope, with those of the scopes below it if asked, in the order of ids: all that come
        after an id, or the first so many of them.
        """
        wanted = tuple(
            parse_choice("statuses", status, Status) for status in validation.require_several("statuses", statuses)
        )
        validation.require_flag("below", below)
        found = self._dependencies.store.memories(
            as_scope(scope),
            below=below,
            statuses=wanted,
            after=None if after is None else MemoryId(validation.require_id("after", after)),
            limit=None if limit is None else validation.require_limit("limit", limit),
        )
        return list(found)

    def scopes(self, *, scope: str | Scope | None = None) -> list[Scope]:
        """Every scope that has memories, in order; only this one and those below it, if one is given."""
        return self._dependencies.store.scopes(None if scope is None else as_scope(scope))

    def entities(self, *, scope: str | Scope, limit: int = 100) -> list[Entity]:
        """The names that the memories of the scope mention, the most mentioned first."""
        return topics.list_entities(self._dependencies, as_scope(scope), limit)

    def neighbours(self, name_or_id: str, *, scope: str | Scope, limit: int = 20) -> EntityNeighbors:
        """What is linked to a name, or to the memory of an id: names, and memories with the name that links them."""
        return topics.find_neighbors(self._dependencies, as_scope(scope), name_or_id, limit)

    def refresh_topics(self, *, scope: str | Scope) -> TopicRefreshReport:
        """Look anew which of the scope's own plain memories belong together. The same again changes nothing."""
        return topics.refresh_topics(self._dependencies, as_scope(scope))

    def topics(self, *, scope: str | Scope, pruned: bool = False, limit: int = 100) -> list[Topic]:
        """What the memories of the scope are about, as it was last refreshed, the most important first; those that were
        not mentioned for long only if asked.
        """
        return topics.list_topics(
            self._dependencies, as_scope(scope), pruned=validation.require_flag("pruned", pruned), limit=limit
        )

    def topic(self, id: str, *, scope: str | Scope) -> Topic:
        """The topic of that id, also if it is pruned."""
        return topics.get_topic(self._dependencies, as_scope(scope), id)

    def stats(self, *, scope: str | Scope | None = None, below: bool = True) -> Stats:
        """How much there is of the scope, with the scopes below it unless it is said, or of the whole store."""
        world, whose = self._dependencies, None if scope is None else as_scope(scope)
        validation.require_flag("below", below)
        world.store.settle()
        return world.store.stats(whose, below=below)

    def plan(
        self,
        job: Job | str,
        *,
        scope: str | Scope,
        level: Level | str | None = None,
        age_days: int | None = None,
        min_level: Level | str | None = None,
        max_age_days: int | None = None,
    ) -> Plan:
        """What a job would do to the scope's own memories, each with its reason; nothing is written.

        `prune-vectors` takes `level` and `age_days`, `rebuild-index` takes `min_level` and `max_age_days`; these go
        before the settings.
        """
        wish = _make_retention_overrides(level, age_days, min_level, max_age_days)
        return plans.make_plan(self._dependencies, parse_choice("job", job, Job), as_scope(scope), wish)

    def run(
        self,
        job: Job | str,
        *,
        scope: str | Scope,
        level: Level | str | None = None,
        age_days: int | None = None,
        min_level: Level | str | None = None,
        max_age_days: int | None = None,
        progress: ProgressListener | None = None,
    ) -> list[Run]:
        """Plan a job and do it, in parts that leave others room to write; each can be undone. `plan` says the rest."""
        wish = _make_retention_overrides(level, age_days, min_level, max_age_days)
        return plans.run_job(
            self._dependencies, parse_choice("job", job, Job), as_scope(scope), wish, _check_progress(progress)
        )

    def apply(self, plan: Plan) -> Run:
        """Do exactly what the plan says, at once; refused, so that nothing is written, if any memory that it names has
        changed since.
        """
        return plans.apply_plan(self._dependencies, plan)

    def undo(self, run: Run | int, *, scope: str | Scope | None = None) -> UndoReport:
        """Let every memory that a run wrote stand as it did before; the number of a run needs its scope."""
        return plans.undo_run(self._dependencies, run, None if scope is None else as_scope(scope))

    def erase(
        self, *, scope: str | Scope, id: str | None = None, source: str | None = None, everything: bool = False
    ) -> ErasureReceipt:
        """Remove for good one memory, all that came from a source, or everything of exactly that scope; with a memory
        goes what was derived from it. The receipt says whether every file was searched and nothing was left.
        """
        world, whose = self._dependencies, as_scope(scope)
        match id, source, everything:
            case str(), None, False:
                return erase.erase_memory(world, whose, edit.require_memory_id(whose, id))
            case None, str(), False:
                return erase.erase_source(world, whose, source)
            case None, None, True:
                return erase.erase_everything(world, whose)
            case _:
                raise InvalidInput(_ERASE_USAGE)

    def erasable(
        self, *, scope: str | Scope, id: str | None = None, source: str | None = None, everything: bool = False
    ) -> list[MemoryId]:
        """The ids of the memories that `erase` would remove if it were asked the same, in order; nothing is written."""
        world, whose = self._dependencies, as_scope(scope)
        match id, source, everything:
            case str(), None, False:
                return erase.list_memory_and_derived(world, whose, edit.require_memory_id(whose, id))
            case None, str(), False:
                return erase.list_from_source(world, whose, validation.require_id("source", source))
            case None, None, True:
                return erase.list_in_scope(world, whose)
            case _:
                raise InvalidInput(_ERASE_USAGE)

    def prove_erased(self, erasure: ErasureReceipt) -> ErasureReceipt:
        """Look once more for what was erased while somebody else kept the store from being searched to the end."""
        if not isinstance(erasure, ErasureReceipt):
            raise FieldError(f"{show(erasure)} is no receipt of an erasure; give what `erase` gave", field="erasure")
        return erase.prove_erased(self._dependencies, erasure)

    def export(self, *, scope: str | Scope | None = None) -> Iterator[str]:
        """The scope and those below it, or the whole store, as lines of text: every version, vector, use and vote."""
        return transfer.export(self._dependencies, None if scope is None else as_scope(scope))

    def import_(self, lines: Iterable[str], *, progress: ProgressListener | None = None) -> ImportReport:
        """Take in an export, all of it or nothing. A new store is then what the exported one was; another gets what it
        does not have yet, and an id that says something else here is a `Conflict`.
        """
        if isinstance(lines, str | bytes | Mapping) or not isinstance(lines, Iterable):
            raise FieldError(f"{show(lines)} has no lines; give those of the export, as a file does", field="lines")
        return transfer.import_(self._dependencies, lines, _check_progress(progress))

    def import_from(
        self,
        lines: Iterable[str],
        *,
        format: str,
        scope: str | Scope,
        name: str | None = None,
        skip_bad: bool = False,
        dry_run: bool = False,
        progress: ProgressListener | None = None,
    ) -> import_files.FileImportReport:
        """Remember what another program exported, in the format of that name; what was imported before stays as it is.
        All of it is read before anything is written. With `dry_run`, nothing is, and it is told what would be.
        """
        if isinstance(lines, str | bytes | Mapping) or not isinstance(lines, Iterable):
            raise FieldError(f"{show(lines)} has no lines; give those of the export, as a file does", field="lines")
        source = import_files.ImportSource(
            lines=list(transfer.read_texts(lines)),  # which are read more than once
            name=None if name is None else validation.require_id("name", name),
            format=import_files.find_format("format", format),
            scope=as_scope(scope),
            skip_bad=validation.require_flag("skip_bad", skip_bad),
        )
        dry = validation.require_flag("dry_run", dry_run)
        return import_files.import_from(self._dependencies, source, dry=dry, progress=_check_progress(progress))

    def backup(self, path: str | PathLike[str], *, progress: ProgressListener | None = None) -> Path:
        """Copy the store as it is now to a new file, while others go on; `recollect verify` checks such a file."""
        store, target, told = (
            self._dependencies.store,
            Path(validation.require_path("path", path)),
            _check_progress(progress),
        )
        if not isinstance(store, SupportsBackup):
            raise InvalidInput("this store has no file to copy; use `export`")
        store.settle()
        store.backup(target, told)
        return target

    def flush(self) -> None:
        """Wait until every trace and every use counted so far is written."""
        self._dependencies.store.flush()


def _ignore_progress(done: int, total: int) -> None:
    """Nobody wants to know how far it is."""


def _to_budget(tokens: int | Budget) -> Budget:
    return tokens if isinstance(tokens, Budget) else Budget(tokens)


def _check_progress(progress: ProgressListener | None) -> ProgressListener:
    return _ignore_progress if progress is None else validation.require_callable("progress", progress)


def _make_retention_overrides(
    level: Level | str | None, age_days: int | None, min_level: Level | str | None, max_age_days: int | None
) -> RetentionOverrides:
    return RetentionOverrides(
        level=None if level is None else parse_choice("level", level, Level),
        age_days=age_days,
        min_level=None if min_level is None else parse_choice("min_level", min_level, Level),
        max_age_days=max_age_days,
    )


def _check_ids(field: str, given: Iterable[str]) -> tuple[str, ...]:
    return tuple(validation.require_text(field, one) for one in validation.require_several(field, given))
