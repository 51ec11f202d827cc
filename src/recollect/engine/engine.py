"""The Engine: every operation on a store, as methods that users call."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from functools import partial
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from recollect.engine import edit, erase, extract, plans, recall, topics, transfer
from recollect.engine.contexts import record_feedback, require_context_id
from recollect.engine.curator import Curator
from recollect.engine.dependencies import Dependencies
from recollect.engine.edit import restore
from recollect.engine.episodes import Episodes
from recollect.engine.events import EventOrigin, observe
from recollect.engine.extract import BackgroundWorker, ExtractionResult, Pending, read_turns
from recollect.engine.groups import (
    Admin,
    Contexts,
    Items,
    Timeline,
    Topics,
    check_progress,
    make_retention_overrides,
    read_drafts,
    read_provenance,
    require_lines,
)
from recollect.engine.remember import (
    remember_all,
)
from recollect.engine.sessions import Sessions
from recollect.errors import InvalidInput, RecollectError
from recollect.fork_safety import ForkSafeLock
from recollect.model import validation
from recollect.model.archive import ErasureReceipt, ImportReport, Stats
from recollect.model.context import Noted
from recollect.model.conversation import ConversationTurn
from recollect.model.draft import Draft, Receipt, read_draft
from recollect.model.enums import Kind, Level, Provenance, Status, parse_choice
from recollect.model.memory import Memory, MemoryId
from recollect.model.plan import Job, Plan, Run, UndoReport
from recollect.model.scope import Scope, as_scope
from recollect.model.timeline import (
    EntityNeighbors,
)
from recollect.packing.budget import Budget
from recollect.packing.pack import Context
from recollect.protocols import ProgressListener
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import ProfileDocument
from recollect.ranking.result import Exact, Ranking
from recollect.ranking.why import Why
from recollect.retrieval.query import QueryTurn, parse_query

_MOVED: Mapping[str, str] = {
    "backup": "admin.backup",
    "browse": "timeline.browse",
    "embedder": "admin.embedder",
    "embedder_failures": "admin.embedder_failures",
    "embedder_fails": "admin.embedder_fails",
    "entities": "topics.entities",
    "erasable": "admin.erasable",
    "expand": "timeline.expand",
    "experience": "contexts.training_examples",
    "extract_events": "timeline.extract_events",
    "flush": "admin.flush",
    "hold": "items.hold",
    "import_from": "admin.import_from",
    "keep": "items.put",
    "kept": "items.get",
    "neighbours": "neighbors",
    "now": "items.now",
    "prove_erased": "admin.prove_erased",
    "refresh_topics": "topics.refresh",
    "replacement": "items.replacement",
    "replay": "contexts.replay",
    "rollup": "timeline.rollup",
    "run": "admin.run",
    "screened": "items.screen",
    "served": "contexts.count_served",
    "takes_writes": "admin.takes_writes",
    "topic": "topics.get",
    "usage": "contexts.usage",
}
"""Former members and their new names; using one warns, and the next release drops them."""

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
    def episodes(self) -> Episodes:
        """Tasks with their actions, their outcomes and the lessons learned from them."""
        return Episodes(lambda: self._open_deps)

    @property
    def sessions(self) -> Sessions:
        """Work sessions: start one, save memories in it, summarize it and end it."""
        return Sessions(lambda: self._open_deps)

    @property
    def timeline(self) -> Timeline:
        """What happened: summaries by day, week, month and year, down to the events."""
        return Timeline(lambda: self._open_deps)

    @property
    def topics(self) -> Topics:
        """What memories are about: topics, and the names that memories mention."""
        return Topics(lambda: self._open_deps)

    @property
    def contexts(self) -> Contexts:
        """Recorded contexts and the use of memories: replay, counts and training data."""
        return Contexts(lambda: self._open_deps)

    @property
    def items(self) -> Items:
        """Texts under keys, stored and read verbatim, for integrations."""
        return Items(lambda: self._open_deps)

    @property
    def curator(self) -> Curator:
        """Corrections by an operator, such as quarantine, merge, purge and undo."""
        return Curator(lambda: self._open_deps)

    @property
    def admin(self) -> Admin:
        """Maintenance of the store: jobs, imports, backups, and its health."""
        return Admin(self._deps, lambda: self._open_deps)

    if not TYPE_CHECKING:  # type checkers report the old names

        def __getattr__(self, name: str) -> Any:
            """Return what has moved to another name, with a warning."""
            if name == "extract_soon":
                warnings.warn(
                    "Engine.extract_soon has moved; use Engine.extract(…, background=True)",
                    DeprecationWarning,
                    stacklevel=2,
                )
                return partial(self.extract, background=True)
            if name not in _MOVED:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            warnings.warn(f"Engine.{name} has moved; use Engine.{_MOVED[name]}", DeprecationWarning, stacklevel=2)
            return attrgetter(_MOVED[name])(self)

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
        return remember_all(self._open_deps, read_drafts(drafts, scope))

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
            provenance=read_provenance(provenance),
            source=None if source is None else validation.require_id("source", source),
        )
        return observe(self._open_deps, read_turns(events, "events"), origin)

    @overload
    def extract(
        self,
        turns: Iterable[ConversationTurn | str | Mapping[str, Any]],
        *,
        scope: str | Scope,
        most: int | None = None,
        provenance: Provenance | str | None = None,
        background: Literal[False] = False,
    ) -> ExtractionResult: ...

    @overload
    def extract(
        self,
        turns: Iterable[ConversationTurn | str | Mapping[str, Any]],
        *,
        scope: str | Scope,
        most: int | None = None,
        provenance: Provenance | str | None = None,
        background: Literal[True],
    ) -> Pending[ExtractionResult]: ...

    def extract(
        self,
        turns: Iterable[ConversationTurn | str | Mapping[str, Any]],
        *,
        scope: str | Scope,
        most: int | None = None,
        provenance: Provenance | str | None = None,
        background: bool = False,
    ) -> ExtractionResult | Pending[ExtractionResult]:
        """Extract memories from a conversation and remember them.

        Turns are texts of the user, or mappings with `text` or `content`, and optionally `role`, `speaker`, `at`,
        `session` and `id`. Each memory has a quote from the conversation as evidence. `most` limits how many one call
        extracts. `provenance` is where the conversation came from, if that has lower trust than its speakers.
        Repeating the call changes nothing.

        With `background`, a thread extracts; call `result()` on what this returns, or `await` it. Closing the engine
        waits for the thread.
        """
        deps, conversation, target = self._open_deps, read_turns(turns), as_scope(scope)
        caller = read_provenance(provenance)

        def run() -> ExtractionResult:
            return extract.extract(deps, conversation, target, most=most, provenance=caller)

        return self._background.submit(run) if validation.require_flag("background", background) else run()

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
        return edit.forget(self._open_deps, as_scope(scope), id, read_provenance(provenance))

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

    def get(self, id: str, *, scope: str | Scope) -> Memory:
        """Return a memory by id; raise NotFound if the scope may not see it."""
        return edit.get_visible(self._open_deps, as_scope(scope), id)

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

    def neighbors(self, name_or_id: str, *, scope: str | Scope, limit: int = 20) -> EntityNeighbors:
        """Return the names and memories linked to a name, or to the memory with this id."""
        return topics.find_neighbors(self._open_deps, as_scope(scope), name_or_id, limit)

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
        overrides = make_retention_overrides(level, age_days, min_level, max_age_days)
        return plans.make_plan(self._open_deps, parse_choice("job", job, Job), as_scope(scope), overrides)

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
                raise InvalidInput(erase.USAGE)

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
        return transfer.import_(self._open_deps, require_lines(lines), check_progress(progress))


def _to_budget(tokens: int | Budget) -> Budget:
    return tokens if isinstance(tokens, Budget) else Budget(tokens)


def _check_ids(field: str, ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(validation.require_text(field, id) for id in validation.require_several(field, ids))
