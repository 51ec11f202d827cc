"""The Engine: every operation on a store, as methods that users call."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from recollect.admission.screening import ScreenedT
from recollect.engine import edit, erase, extract, import_files, plans, recall, topics, transfer
from recollect.engine.contexts import collect_training_examples, record_feedback, replay_context, require_context_id
from recollect.engine.curator import Curator
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import restore
from recollect.engine.episodes import Episodes
from recollect.engine.events import EventExtraction, EventOrigin, browse, expand, extract_events, observe
from recollect.engine.extract import BackgroundWorker, ExtractionResult, Pending, read_turns
from recollect.engine.recall import count_served
from recollect.engine.remember import (
    get_kept,
    keep_verbatim,
    read_keys,
    read_seen_versions,
    remember_all,
    screen_or_raise,
)
from recollect.engine.rollup import rollup
from recollect.engine.sessions import Sessions
from recollect.errors import FieldError, InvalidInput, RecollectError, show
from recollect.fork_safety import ForkSafeLock
from recollect.model import validation
from recollect.model.archive import ErasureReceipt, ImportReport, Stats
from recollect.model.context import Noted, TrainingSet, Usage
from recollect.model.conversation import ConversationTurn
from recollect.model.draft import Draft, Receipt, read_draft
from recollect.model.enums import Kind, Level, Provenance, Status, parse_choice
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
from recollect.protocols import ProgressListener, SupportsBackup, TracksFailures, ignore_progress
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import ProfileDocument
from recollect.ranking.result import Exact, Ranking, Scored
from recollect.ranking.why import Why
from recollect.retrieval.query import QueryTurn, parse_query

_ERASE_USAGE = "give exactly one of id=, source= and everything=True"

DEFAULT_DEPTH = 200
"""How many top-ranked memories a recall considers for packing."""


class Engine:
    """The memory engine of one store: remember, recall, explain, curate and erase.

    Thread-safe. Close it when you are done, or use it in a `with` block. A scope is a `Scope` or its path, such as
    `acme/ana`; all moments are timezone-aware datetimes.
    """

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._closing = ForkSafeLock()
        self._closed = False
        self._background = BackgroundWorker()

    def __repr__(self) -> str:
        state = "closed" if self._closed else self._deps.encoder.name
        return f"<recollect.Engine of {self._deps.store}, {state}>"

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
            error.add_note(f"closing the store failed too: {problem}")

    def close(self) -> None:
        """Write everything that is still queued, then close the store.

        Waits for background extractions. Raises if a queued write failed. Closing twice is harmless.
        """
        self._background.finish()
        with self._closing.rlock:
            if not self._closed:
                self._closed = True
                self._deps.store.close()

    @property
    def closed(self) -> bool:
        """Whether the engine is closed; then everything but `close` and the health properties raises."""
        return self._closed

    @property
    def takes_writes(self) -> bool:
        """False after a write has failed, until one succeeds; a busy store does not count as a failure."""
        return self._deps.store.takes_writes

    @property
    def embedder(self) -> str:
        """The name of the embedding model."""
        return self._open_deps.encoder.name

    @property
    def embedder_fails(self) -> bool:
        """Whether the embedder's last call failed, or a call has been unanswered for 20 seconds.

        Reading this property does not call the embedder.
        """
        return isinstance(self._deps.embedder, TracksFailures) and self._deps.embedder.failing

    @property
    def embedder_failures(self) -> int:
        """How many embedder calls have failed since the engine was opened.

        Compare two readings to see failures that happened in between. It stays 0 if the embedder does not count them.
        """
        return self._deps.embedder.failures if isinstance(self._deps.embedder, TracksFailures) else 0

    @property
    def curator(self) -> Curator:
        """Corrections by an operator, such as quarantine, merge, purge and undo."""
        return Curator(lambda: self._open_deps)

    @property
    def episodes(self) -> Episodes:
        """Tasks with their actions, their outcomes and the lessons learned from them."""
        return Episodes(lambda: self._open_deps)

    def now(self) -> datetime:
        """Return the current time of the engine's clock, in UTC."""
        return self._open_deps.now()

    @property
    def sessions(self) -> Sessions:
        """Work sessions: start one, save memories in it, summarize it and end it."""
        return Sessions(lambda: self._open_deps)

    @property
    def _open_deps(self) -> Dependencies:
        if self._closed:
            raise RecollectError("this engine is closed; open the store again")
        return self._deps

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
        """Remember a text, and return a receipt that says what was decided.

        When the call returns, the memory is on disk. Depending on the scope's other memories, the text becomes a new
        memory, revises or supersedes one, reinforces a duplicate, is quarantined, or is refused. The receipt's verdict
        says which, and its memory is the one that now has the text. Private parts and secrets are removed first;
        `receipt.redacted` names them.

        A `topic_key` names something that has one current text: the next text with that key revises the memory. A
        `subject` is what the memory is about if only one thing can be true of it; a newer memory of the same subject
        supersedes the older. Without it, the subject is read from the text if that is unambiguous. `shared` makes the
        memory visible in the scopes below, and `pinned` keeps room for it in every context.

        `at` is when the fact was observed (default: now, never in the future); `valid_from` and `valid_until` are when
        it is true. `provenance` says who stated it, and determines its trust. `source`, `derived_from` and `evidence`
        say where it came from. `vector` replaces the embedder's. `key` makes a retry harmless for 30 days: the same
        call gets the first receipt, and another call with that key raises `Conflict`.
        """
        arguments = {name: value for name, value in locals().items() if name != "self"}
        (receipt,) = remember_all(self._open_deps, [read_draft(arguments)])
        return receipt

    def remember_all(
        self, drafts: Iterable[Draft | Mapping[str, Any]], *, scope: str | Scope | None = None
    ) -> list[Receipt]:
        """Remember all drafts in one transaction, or none of them.

        A draft is a `Draft` or a mapping with the arguments of `remember`. `scope` applies to mappings that name no
        scope.
        """
        return remember_all(self._open_deps, _read_drafts(drafts, scope))

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
        """Store each draft verbatim under its topic key, and forget the keys in `drop`.

        A draft is stored even if another memory says the same. All changes are made in one transaction, or none. A
        draft that contains a secret is refused. A draft that admission would quarantine is refused too, or quarantined
        if `apart` is true.

        Each entry of `drop` is a scope and a topic key. Each entry of `seen` is a scope, a topic key and the memory
        that the caller read there, or `None`; the call raises `Conflict` if that memory has changed. `provenance` is
        that of the caller who drops keys: with it, a memory with higher trust is not dropped.
        """
        return keep_verbatim(
            self._open_deps,
            _read_drafts(drafts, scope),
            drop=read_keys(drop),
            caller=_read_provenance(provenance),
            seen=read_seen_versions(seen),
            may_quarantine=validation.require_flag("apart", apart),
        )

    def kept(self, topic_key: str, *, scope: str | Scope) -> Memory | None:
        """Return the scope's active memory with this topic key, or None if none is valid now."""
        return get_kept(self._open_deps, as_scope(scope), topic_key)

    def screened(self, value: ScreenedT) -> ScreenedT:
        """Return a text or JSON value with private parts and secrets replaced by placeholders.

        Raises `InvalidInput` instead if the settings refuse secrets.
        """
        return screen_or_raise(self._open_deps, value)

    def observe(
        self,
        events: Iterable[ConversationTurn | str | Mapping[str, Any]],
        *,
        scope: str | Scope,
        provenance: Provenance | str | None = None,
        source: str | None = None,
    ) -> list[Receipt]:
        """Store events that happened, verbatim, all of them or none; return their receipts.

        Events look like turns of a conversation: texts, or mappings with `text` or `content`, and optionally `role`,
        `speaker`, `at`, `session` and `id`. An event without `at` happens now. Repeating the call changes nothing, but
        the same event twice in one call is two events. `source` is the id of the document they were read from, by which
        they can be erased.
        """
        origin = EventOrigin(
            scope=as_scope(scope),
            provenance=_read_provenance(provenance),
            source=None if source is None else validation.require_id("source", source),
        )
        return observe(self._open_deps, read_turns(events, "events"), origin)

    def rollup(
        self, *, scope: str | Scope, unfinished: bool = False, progress: ProgressListener | None = None
    ) -> RollupReport:
        """Update the summaries of days, weeks, months and years from the scope's events.

        Covers periods that are over; with `unfinished`, also those still running. It may be interrupted at any moment,
        and repeating the call changes nothing.
        """
        validation.require_flag("unfinished", unfinished)
        return rollup(self._open_deps, as_scope(scope), unfinished=unfinished, progress=_check_progress(progress))

    def browse(self, key: str | None = None, *, scope: str | Scope) -> TimelinePage:
        """Return one page of the timeline: all years, or the parts of one place.

        `key` is a year, month, week or day (2026, 2026-03, 2026-W09, 2026-03-01), or the id of a segment or a grip.
        """
        return browse(self._open_deps, as_scope(scope), key)

    def expand(self, id: str, *, scope: str | Scope, around: int = 0) -> GripExpansion:
        """Return the events behind a grip or a segment, with `around` events before and after them.

        The surrounding events are of the same session.
        """
        return expand(self._open_deps, as_scope(scope), id, around)

    def extract(
        self,
        turns: Iterable[ConversationTurn | str | Mapping[str, Any]],
        *,
        scope: str | Scope,
        most: int | None = None,
        provenance: Provenance | str | None = None,
    ) -> ExtractionResult:
        """Extract memories from a conversation and remember them.

        Turns are texts of the user, or mappings with `text` or `content`, and optionally `role`, `speaker`, `at`,
        `session` and `id`. Each memory has a quote from the conversation as evidence. `most` limits how many one call
        extracts. `provenance` is where the conversation came from, if that has lower trust than its speakers.
        Repeating the call changes nothing.
        """
        return extract.extract(
            self._open_deps, read_turns(turns), as_scope(scope), most=most, provenance=_read_provenance(provenance)
        )

    def extract_soon(
        self,
        turns: Iterable[ConversationTurn | str | Mapping[str, Any]],
        *,
        scope: str | Scope,
        most: int | None = None,
        provenance: Provenance | str | None = None,
    ) -> Pending[ExtractionResult]:
        """Extract from a conversation in a background thread; call `result()` on what it returns, or `await` it.

        Closing the engine waits for it too.
        """
        deps, conversation, target = self._open_deps, read_turns(turns), as_scope(scope)
        caller = _read_provenance(provenance)
        return self._background.submit(
            lambda: extract.extract(deps, conversation, target, most=most, provenance=caller)
        )

    def extract_events(self, *, scope: str | Scope, progress: ProgressListener | None = None) -> EventExtraction:
        """Extract memories from the scope's events that were stored since the last call.

        Each memory names its event in `derived_from`. Repeating the call changes nothing, and events that failed are
        tried again by the next call.
        """
        return extract_events(self._open_deps, as_scope(scope), _check_progress(progress))

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
        """Return the best `limit` memories for a query, each with its score and explanation.

        It ranks every memory of the scope and those that parent scopes share, so the result is exact. With
        `exact="preferred"`, PostgreSQL may use an approximate index of a large scope; `Ranking.proof` says whether the
        result is still exact. With `below`, the scopes below are searched too, each on its own, and memories shared
        by parent scopes are left out.

        A query is a text, or the turns of a conversation, of which the last three count. `as_of` asks what was true at
        a moment, `known_at` what the store knew then. With `past`, memories that are no longer valid are ranked too.
        `kinds` and `levels` restrict the result. The results do not count as served; see `served`.
        """
        deps = self._open_deps
        request = recall.read_request(
            deps,
            parse_query(query),
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
        return find(deps, request, limit)

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
        """Return the memories that best answer a query, packed into a token budget.

        The context's text is rendered for a model. The best `depth` memories compete for the budget; pinned ones always
        do. The other arguments are those of `search`.

        The packed memories count as served, unless `known_at` is given. The context is recorded under its id, so that
        it takes feedback and can be replayed. A read-only store records nothing, so its contexts have no id.
        """
        deps = self._open_deps
        request = recall.read_request(
            deps,
            parse_query(query),
            scope=scope,
            profile=profile,
            as_of=as_of,
            known_at=known_at,
            past=past,
            kinds=kinds,
            levels=levels,
            overrides=overrides,
        )
        return recall.recall(deps, request, _to_budget(tokens), depth)

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
        """Return what is worth knowing without a query, packed into a token budget.

        Use it at the start of a session. It is rendered and recorded like a recall.
        """
        deps = self._open_deps
        request = recall.read_request(
            deps,
            None,
            scope=scope,
            profile=profile,
            as_of=as_of,
            known_at=known_at,
            past=past,
            kinds=kinds,
            levels=levels,
        )
        return recall.recall(deps, request, _to_budget(tokens), depth)

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
        """Explain why a memory is recalled or left out for a query, and what would change that."""
        deps = self._open_deps
        request = recall.read_request(
            deps,
            parse_query(query),
            scope=scope,
            profile=profile,
            as_of=as_of,
            known_at=known_at,
            past=past,
            kinds=kinds,
            levels=levels,
            overrides=overrides,
        )
        return recall.explain_why(deps, request, id, _to_budget(tokens), depth)

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
        """Record which memories of a context helped and which misled.

        This changes only their usefulness. A later vote by the same principal (`by`, or else the scope) on a memory in
        this context replaces the earlier one. If `answer` is given, the memories of the context that it quotes are
        recorded too; this does not affect ranking, and the answer itself is not stored.
        """
        votes = {"helped": _check_ids("helped", helped), "misled": _check_ids("misled", misled)}
        return record_feedback(
            self._open_deps, require_context_id(context_id), scope=as_scope(scope), by=by, answer=answer, **votes
        )

    def served(self, handed: Iterable[Scored | str], *, scope: str | Scope) -> None:
        """Count memories as served: a search found them, and the caller gave them to an agent.

        Takes a ranking, parts of one, or ids. The write is deferred and batched with others; `flush` waits for it.
        Memories that the scope may not see are skipped, and a read-only store counts nothing.
        """
        count_served(self._open_deps, as_scope(scope), handed)

    def replay(self, context_id: str, *, scope: str | Scope) -> Replay:
        """Make a recorded context again from what the store knew then, and list the differences.

        Nothing is written, and nothing counts as served. Raises `Conflict` if this version cannot read the context's
        profile.
        """
        return replay_context(self._open_deps, as_scope(scope), require_context_id(context_id))

    def experience(
        self, *, scope: str | Scope, profile: Profile | str | None = None, progress: ProgressListener | None = None
    ) -> TrainingSet:
        """Return training data for a profile from the scope's contexts that have feedback.

        Contexts come oldest first. Each is ranked again from what the store knew when it was made. Nothing counts as
        served, and no model is called. Contexts that cannot be ranked that way are counted.
        """
        deps = self._open_deps
        return collect_training_examples(
            deps, as_scope(scope), deps.resolve_profile(profile), _check_progress(progress)
        )

    def revise(self, id: str, text: str, *, scope: str | Scope, **changes: Any) -> Receipt:
        """Give a memory a new text; its earlier versions stay in its history.

        `changes` may set title, kind, tags, importance, confidence, at, valid_from, valid_until, metadata, provenance
        and vector; other fields stay. Importance never falls. The new text has at most the trust of the former one and
        of its `provenance` (default: `model_inference`); an operator's text is vouched for.
        """
        known = [one.name for one in fields(edit.Revision)]
        unknown = next((name for name in changes if name not in known), None)
        if unknown is not None:
            raise TypeError(f"revise() has no argument {unknown!r}; it takes {', '.join(known)}")
        return edit.revise(self._open_deps, as_scope(scope), id, edit.Revision(text=text, **changes))

    def forget(self, id: str, *, scope: str | Scope, provenance: Provenance | str | None = None) -> Receipt:
        """Stop recalling a memory; `restore` brings it back, `erase` removes it for good.

        `provenance` is that of the caller. With it, the request is `Refused` if the memory has higher trust, or if the
        memory is quarantined and the caller is not an operator.
        """
        return edit.forget(self._open_deps, as_scope(scope), id, _read_provenance(provenance))

    def restore(self, id: str, *, scope: str | Scope) -> Receipt:
        """Bring back a memory that is forgotten, superseded or otherwise inactive.

        A forgotten memory gets the status that it had, any other becomes active. The replacement and the active rivals
        of a superseded memory are ended. Any other memory takes its place among its rivals: it ends those that began
        earlier, and one that began later ends it at once. A quarantined memory raises `Conflict`: use
        `curator.release`.
        """
        return restore(self._open_deps, as_scope(scope), id)

    def pin(self, id: str, *, scope: str | Scope) -> Receipt:
        """Pin a memory: it is always considered for contexts, and packed before others.

        Pinned memories take at most the budget's pinned share that way.
        """
        return edit.set_pinned(self._open_deps, as_scope(scope), id, pinned=True)

    def unpin(self, id: str, *, scope: str | Scope) -> Receipt:
        """Unpin a memory, so that it competes for the budget like any other."""
        return edit.set_pinned(self._open_deps, as_scope(scope), id, pinned=False)

    def hold(self, seen: Memory, *, until: datetime) -> Receipt:
        """Set the end of a memory's validity, and nothing else.

        Nothing is written if the memory has changed since it was read as `seen`, or is no longer valid.
        """
        if not isinstance(seen, Memory):
            raise FieldError(f"{show(seen)} is not a memory; pass what `get` or `kept` returned", field="seen")
        return edit.hold(self._open_deps, seen, validation.require_moment("until", until))

    def get(self, id: str, *, scope: str | Scope) -> Memory:
        """Return a memory by id; raise NotFound if the scope may not see it."""
        return edit.get_visible(self._open_deps, as_scope(scope), id)

    def replacement(self, memory: Memory, *, scope: str | Scope) -> Memory | None:
        """Return the memory that replaced this one, or None.

        It is None as well if the replacement was erased or the scope may not see it.
        """
        if not isinstance(memory, Memory):
            raise FieldError(f"{show(memory)} is not a memory; pass what `get` returned", field="memory")
        return edit.find_replacement(self._open_deps, as_scope(scope), memory)

    def usage(self, id: str, *, scope: str | Scope) -> Usage:
        """Return how a memory was used: how often it was served, echoed, helped or misled."""
        deps, target = self._open_deps, as_scope(scope)
        deps.store.settle()
        memory = self.get(id, scope=target)
        return deps.store.usage(target, [memory.id])[0]

    def history(self, id: str, *, scope: str | Scope) -> list[Memory]:
        """Return every version of a memory, the oldest first."""
        target = as_scope(scope)
        versions = self._open_deps.store.history(target, edit.require_memory_id(target, id))
        if not versions:
            raise edit.memory_not_found(target, id)
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
        """Return the memories of a scope, sorted by id; by default only active ones.

        `below` adds the scopes below it. For pages, pass the last id as `after` and a `limit`.
        """
        chosen = tuple(
            parse_choice("statuses", status, Status) for status in validation.require_several("statuses", statuses)
        )
        validation.require_flag("below", below)
        memories = self._open_deps.store.memories(
            as_scope(scope),
            below=below,
            statuses=chosen,
            after=None if after is None else MemoryId(validation.require_id("after", after)),
            limit=None if limit is None else validation.require_limit("limit", limit),
        )
        return list(memories)

    def scopes(self, *, scope: str | Scope | None = None) -> list[Scope]:
        """Return every scope that has memories, sorted.

        With `scope`, only that one and the scopes below it.
        """
        return self._open_deps.store.scopes(None if scope is None else as_scope(scope))

    def entities(self, *, scope: str | Scope, limit: int = 100) -> list[Entity]:
        """Return the names that the scope's memories mention, the most mentioned first."""
        return topics.list_entities(self._open_deps, as_scope(scope), limit)

    def neighbours(self, name_or_id: str, *, scope: str | Scope, limit: int = 20) -> EntityNeighbors:
        """Return the names and memories linked to a name, or to the memory with this id."""
        return topics.find_neighbors(self._open_deps, as_scope(scope), name_or_id, limit)

    def refresh_topics(self, *, scope: str | Scope) -> TopicRefreshReport:
        """Group the scope's own plain memories into topics again.

        Repeating the call changes nothing.
        """
        return topics.refresh_topics(self._open_deps, as_scope(scope))

    def topics(self, *, scope: str | Scope, pruned: bool = False, limit: int = 100) -> list[Topic]:
        """Return the scope's topics as last refreshed, the most important first.

        Topics that have not been mentioned for long are included only if `pruned` is true.
        """
        return topics.list_topics(
            self._open_deps, as_scope(scope), pruned=validation.require_flag("pruned", pruned), limit=limit
        )

    def topic(self, id: str, *, scope: str | Scope) -> Topic:
        """Return a topic by id, even if it is pruned."""
        return topics.get_topic(self._open_deps, as_scope(scope), id)

    def stats(self, *, scope: str | Scope | None = None, below: bool = True) -> Stats:
        """Return counts for a scope and the scopes below it, or for the whole store.

        `below=False` counts exactly that scope.
        """
        deps, target = self._open_deps, None if scope is None else as_scope(scope)
        validation.require_flag("below", below)
        deps.store.settle()
        return deps.store.stats(target, below=below)

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
        """Return what a maintenance job would do, each step with its reason; nothing is written.

        A job covers the scope's own memories. `prune-vectors` takes `level` and `age_days`, `rebuild-index` takes
        `min_level` and `max_age_days`; these override the settings.
        """
        overrides = _make_retention_overrides(level, age_days, min_level, max_age_days)
        return plans.make_plan(self._open_deps, parse_choice("job", job, Job), as_scope(scope), overrides)

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
        """Plan a maintenance job and apply it; return the runs, each of which can be undone.

        The arguments are those of `plan`. All jobs but `consolidate` are applied in batches of at most 500 memories, so
        that other writers get in between; what they change meanwhile is planned again.
        """
        overrides = _make_retention_overrides(level, age_days, min_level, max_age_days)
        return plans.run_job(
            self._open_deps, parse_choice("job", job, Job), as_scope(scope), overrides, _check_progress(progress)
        )

    def apply(self, plan: Plan) -> Run:
        """Apply a plan exactly, in one transaction.

        Raises `Conflict` and writes nothing if a memory named in the plan has changed since.
        """
        return plans.apply_plan(self._open_deps, plan)

    def undo(self, run: Run | int, *, scope: str | Scope | None = None) -> UndoReport:
        """Undo a run: every memory it wrote gets its previous version back.

        A run given by its number needs its scope. Raises `Conflict` if one of the memories has changed since.
        """
        return plans.undo_run(self._open_deps, run, None if scope is None else as_scope(scope))

    def erase(
        self, *, scope: str | Scope, id: str | None = None, source: str | None = None, everything: bool = False
    ) -> ErasureReceipt:
        """Permanently remove a memory, everything from a source, or everything of a scope.

        Give exactly one of `id`, `source` and `everything`. `everything=True` covers exactly that scope, not those
        below it. Memories derived from an erased one are erased too. The receipt says what was removed, and whether
        every file was searched and nothing was left.
        """
        deps, target = self._open_deps, as_scope(scope)
        match id, source, everything:
            case str(), None, False:
                return erase.erase_memory(deps, target, edit.require_memory_id(target, id))
            case None, str(), False:
                return erase.erase_source(deps, target, source)
            case None, None, True:
                return erase.erase_everything(deps, target)
            case _:
                raise InvalidInput(_ERASE_USAGE)

    def erasable(
        self, *, scope: str | Scope, id: str | None = None, source: str | None = None, everything: bool = False
    ) -> list[MemoryId]:
        """Return the ids, sorted, of the memories that `erase` would remove; nothing is written."""
        deps, target = self._open_deps, as_scope(scope)
        match id, source, everything:
            case str(), None, False:
                return erase.list_memory_and_derived(deps, target, edit.require_memory_id(target, id))
            case None, str(), False:
                return erase.list_from_source(deps, target, validation.require_id("source", source))
            case None, None, True:
                return erase.list_in_scope(deps, target)
            case _:
                raise InvalidInput(_ERASE_USAGE)

    def prove_erased(self, erasure: ErasureReceipt) -> ErasureReceipt:
        """Search again for erased data, if the first search could not finish.

        That happens while readers hold up the search, or if PostgreSQL's tables must be swept first.
        """
        if not isinstance(erasure, ErasureReceipt):
            raise FieldError(f"{show(erasure)} is not an erasure receipt; pass what `erase` returned", field="erasure")
        return erase.prove_erased(self._open_deps, erasure)

    def export(self, *, scope: str | Scope | None = None) -> Iterator[str]:
        """Yield the lines of an export of the scope and those below it, or of the whole store.

        It has every version, vector, use, vote and recorded context.
        """
        return transfer.export(self._open_deps, None if scope is None else as_scope(scope))

    def import_(self, lines: Iterable[str], *, progress: ProgressListener | None = None) -> ImportReport:
        """Import the lines of an export, all of it or nothing.

        An empty store becomes a copy of the exported one. Another store takes only what it lacks, and raises `Conflict`
        if an id has different content here.
        """
        return transfer.import_(self._open_deps, _require_lines(lines), _check_progress(progress))

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
        """Import a file that another program exported, in the named format.

        Records imported before stay unchanged. The whole file is read before anything is written. With `dry_run`,
        nothing is written, and the report says what would be.
        """
        source = import_files.ImportSource(
            lines=list(transfer.read_texts(_require_lines(lines))),  # the lines are read more than once
            name=None if name is None else validation.require_id("name", name),
            format=import_files.find_format("format", format),
            scope=as_scope(scope),
            skip_bad=validation.require_flag("skip_bad", skip_bad),
        )
        dry = validation.require_flag("dry_run", dry_run)
        return import_files.import_from(self._open_deps, source, dry=dry, progress=_check_progress(progress))

    def backup(self, path: str | PathLike[str], *, progress: ProgressListener | None = None) -> Path:
        """Copy the store to a new file while readers and writers go on.

        `recollect verify` checks such a file.
        """
        store = self._open_deps.store
        target, listener = Path(validation.require_path("path", path)), _check_progress(progress)
        if not isinstance(store, SupportsBackup):
            raise InvalidInput("this store has no file to copy; use `export`")
        store.settle()
        store.backup(target, listener)
        return target

    def flush(self) -> None:
        """Wait until all deferred writes (context records and uses) are in the store.

        Raises if one of them failed.
        """
        self._open_deps.store.flush()


def _read_drafts(drafts: Iterable[Draft | Mapping[str, Any]], scope: str | Scope | None) -> list[Draft]:
    """Convert mappings to drafts; `scope` applies to those that name none."""
    several = validation.require_several("drafts", drafts)
    return [one if isinstance(one, Draft) else read_draft(one, scope) for one in several]


def _read_provenance(provenance: Provenance | str | None) -> Provenance | None:
    return None if provenance is None else parse_choice("provenance", provenance, Provenance)


def _require_lines(lines: Iterable[str]) -> Iterable[str]:
    if isinstance(lines, str | bytes | Mapping) or not isinstance(lines, Iterable):
        problem = f"{show(lines)} has no lines; pass the lines of the export, such as an open file"
        raise FieldError(problem, field="lines")
    return lines


def _to_budget(tokens: int | Budget) -> Budget:
    return tokens if isinstance(tokens, Budget) else Budget(tokens)


def _check_progress(progress: ProgressListener | None) -> ProgressListener:
    return ignore_progress if progress is None else validation.require_callable("progress", progress)


def _make_retention_overrides(
    level: Level | str | None, age_days: int | None, min_level: Level | str | None, max_age_days: int | None
) -> RetentionOverrides:
    return RetentionOverrides(
        level=None if level is None else parse_choice("level", level, Level),
        age_days=age_days,
        min_level=None if min_level is None else parse_choice("min_level", min_level, Level),
        max_age_days=max_age_days,
    )


def _check_ids(field: str, ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(validation.require_text(field, id) for id in validation.require_several(field, ids))
