"""The parts of the engine: less common operations, grouped as `engine.timeline`, `engine.topics` and so on."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from recollect.admission.screening import ScreenedT
from recollect.engine import edit, erase, import_files, plans, topics, transfer
from recollect.engine.contexts import collect_training_examples, replay_context, require_context_id
from recollect.engine.dependencies import Dependencies
from recollect.engine.events import EventExtraction, browse, expand, extract_events
from recollect.engine.recall import count_served
from recollect.engine.remember import get_kept, keep_verbatim, read_keys, read_seen_versions, screen_or_raise
from recollect.engine.rollup import rollup
from recollect.errors import FieldError, InvalidInput, show
from recollect.model import validation
from recollect.model.archive import ErasureReceipt
from recollect.model.context import TrainingSet, Usage
from recollect.model.draft import Draft, Receipt, read_draft
from recollect.model.enums import Level, Provenance, parse_choice
from recollect.model.memory import Memory, MemoryId
from recollect.model.plan import Job, RetentionOverrides, Run
from recollect.model.scope import Scope, as_scope
from recollect.model.timeline import Entity, GripExpansion, RollupReport, TimelinePage, Topic, TopicRefreshReport
from recollect.packing.pack import Replay
from recollect.protocols import ProgressListener, SupportsBackup, TracksFailures, ignore_progress
from recollect.ranking.profile import Profile
from recollect.ranking.result import Scored


class Timeline:
    """What happened: summaries by day, week, month and year, down to the events."""

    def __init__(self, get_deps: Callable[[], Dependencies]) -> None:
        self._get_deps = get_deps

    def browse(self, key: str | None = None, *, scope: str | Scope) -> TimelinePage:
        """Return one page of the timeline: all years, or the parts of one place.

        `key` is a year, month, week or day (2026, 2026-03, 2026-W09, 2026-03-01), or the id of a segment or a grip.
        """
        return browse(self._get_deps(), as_scope(scope), key)

    def expand(self, id: str, *, scope: str | Scope, around: int = 0) -> GripExpansion:
        """Return the events behind a grip or a segment, with `around` events before and after them.

        The surrounding events are of the same session.
        """
        return expand(self._get_deps(), as_scope(scope), id, around)

    def rollup(
        self, *, scope: str | Scope, unfinished: bool = False, progress: ProgressListener | None = None
    ) -> RollupReport:
        """Update the summaries of days, weeks, months and years from the scope's events.

        Covers periods that are over; with `unfinished`, also those still running. It may be interrupted at any moment,
        and repeating the call changes nothing.
        """
        validation.require_flag("unfinished", unfinished)
        return rollup(self._get_deps(), as_scope(scope), unfinished=unfinished, progress=check_progress(progress))

    def extract_events(self, *, scope: str | Scope, progress: ProgressListener | None = None) -> EventExtraction:
        """Extract memories from the scope's events that were stored since the last call.

        Each memory names its event in `derived_from`. Repeating the call changes nothing, and events that failed are
        tried again by the next call.
        """
        return extract_events(self._get_deps(), as_scope(scope), check_progress(progress))


class Topics:
    """What a scope's memories are about: topics, and the names that memories mention."""

    def __init__(self, get_deps: Callable[[], Dependencies]) -> None:
        self._get_deps = get_deps

    def get(self, id: str, *, scope: str | Scope) -> Topic:
        """Return a topic by id, even if it is pruned."""
        return topics.get_topic(self._get_deps(), as_scope(scope), id)

    def refresh(self, *, scope: str | Scope) -> TopicRefreshReport:
        """Group the scope's own plain memories into topics again.

        Repeating the call changes nothing.
        """
        return topics.refresh_topics(self._get_deps(), as_scope(scope))

    def entities(self, *, scope: str | Scope, limit: int = 100) -> list[Entity]:
        """Return the names that the scope's memories mention, the most mentioned first."""
        return topics.list_entities(self._get_deps(), as_scope(scope), limit)

    def __call__(self, *, scope: str | Scope, pruned: bool = False, limit: int = 100) -> list[Topic]:
        """List the topics, as `engine.topics()` did; the next release drops this."""
        warnings.warn("Engine.topics() has moved; use Engine.topics.list()", DeprecationWarning, stacklevel=2)
        return self.list(scope=scope, pruned=pruned, limit=limit)

    def list(self, *, scope: str | Scope, pruned: bool = False, limit: int = 100) -> list[Topic]:
        """Return the scope's topics as last refreshed, the most important first.

        Topics that have not been mentioned for long are included only if `pruned` is true.
        """
        return topics.list_topics(
            self._get_deps(), as_scope(scope), pruned=validation.require_flag("pruned", pruned), limit=limit
        )


class Contexts:
    """Recorded contexts and the use of memories: replay, counts and training data."""

    def __init__(self, get_deps: Callable[[], Dependencies]) -> None:
        self._get_deps = get_deps

    def replay(self, context_id: str, *, scope: str | Scope) -> Replay:
        """Make a recorded context again from what the store knew then, and list the differences.

        Nothing is written, and nothing counts as served. Raises `Conflict` if this version cannot read the context's
        profile.
        """
        return replay_context(self._get_deps(), as_scope(scope), require_context_id(context_id))

    def count_served(self, handed: Iterable[Scored | str], *, scope: str | Scope) -> None:
        """Count memories as served: a search found them, and the caller gave them to an agent.

        Takes a ranking, parts of one, or ids. The write is deferred and batched with others; `flush` waits for it.
        Memories that the scope may not see are skipped, and a read-only store counts nothing.
        """
        count_served(self._get_deps(), as_scope(scope), handed)

    def usage(self, id: str, *, scope: str | Scope) -> Usage:
        """Return how a memory was used: how often it was served, echoed, helped or misled."""
        deps, target = self._get_deps(), as_scope(scope)
        deps.store.settle()
        memory = edit.get_visible(deps, target, id)
        return deps.store.usage(target, [memory.id])[0]

    def training_examples(
        self, *, scope: str | Scope, profile: Profile | str | None = None, progress: ProgressListener | None = None
    ) -> TrainingSet:
        """Return training data for a profile from the scope's contexts that have feedback.

        Contexts come oldest first. Each is ranked again from what the store knew when it was made. Nothing counts as
        served, and no model is called. Contexts that cannot be ranked that way are counted.
        """
        deps = self._get_deps()
        return collect_training_examples(deps, as_scope(scope), deps.resolve_profile(profile), check_progress(progress))


class Items:
    """Texts under keys, stored and read verbatim, for integrations that must return what they were given."""

    def __init__(self, get_deps: Callable[[], Dependencies]) -> None:
        self._get_deps = get_deps

    def put(
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
            self._get_deps(),
            read_drafts(drafts, scope),
            drop=read_keys(drop),
            caller=read_provenance(provenance),
            seen=read_seen_versions(seen),
            may_quarantine=validation.require_flag("apart", apart),
        )

    def get(self, topic_key: str, *, scope: str | Scope) -> Memory | None:
        """Return the scope's active memory with this topic key, or None if none is valid now."""
        return get_kept(self._get_deps(), as_scope(scope), topic_key)

    def hold(self, seen: Memory, *, until: datetime) -> Receipt:
        """Set the end of a memory's validity, and nothing else.

        Nothing is written if the memory has changed since it was read as `seen`, or is no longer valid.
        """
        if not isinstance(seen, Memory):
            raise FieldError(f"{show(seen)} is not a memory; pass what `get` returned", field="seen")
        return edit.hold(self._get_deps(), seen, validation.require_moment("until", until))

    def replacement(self, memory: Memory, *, scope: str | Scope) -> Memory | None:
        """Return the memory that replaced this one, or None.

        It is None as well if the replacement was erased or the scope may not see it.
        """
        if not isinstance(memory, Memory):
            raise FieldError(f"{show(memory)} is not a memory; pass what `get` returned", field="memory")
        return edit.find_replacement(self._get_deps(), as_scope(scope), memory)

    def screen(self, value: ScreenedT) -> ScreenedT:
        """Return a text or JSON value with private parts and secrets replaced by placeholders.

        Raises `InvalidInput` instead if the settings refuse secrets.
        """
        return screen_or_raise(self._get_deps(), value)

    def now(self) -> datetime:
        """Return the current time of the engine's clock, in UTC."""
        return self._get_deps().now()


class Admin:
    """Maintenance of a store: jobs, imports, backups, and its health."""

    def __init__(self, deps: Dependencies, get_deps: Callable[[], Dependencies]) -> None:
        self._deps = deps  # for the health of an engine that is closed
        self._get_deps = get_deps

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
        overrides = make_retention_overrides(level, age_days, min_level, max_age_days)
        return plans.run_job(
            self._get_deps(), parse_choice("job", job, Job), as_scope(scope), overrides, check_progress(progress)
        )

    def erasable(
        self, *, scope: str | Scope, id: str | None = None, source: str | None = None, everything: bool = False
    ) -> list[MemoryId]:
        """Return the ids, sorted, of the memories that `erase` would remove; nothing is written."""
        deps, target = self._get_deps(), as_scope(scope)
        match id, source, everything:
            case str(), None, False:
                return erase.list_memory_and_derived(deps, target, edit.require_memory_id(target, id))
            case None, str(), False:
                return erase.list_from_source(deps, target, validation.require_id("source", source))
            case None, None, True:
                return erase.list_in_scope(deps, target)
            case _:
                raise InvalidInput(erase.USAGE)

    def prove_erased(self, erasure: ErasureReceipt) -> ErasureReceipt:
        """Search again for erased data, if the first search could not finish.

        That happens while readers hold up the search, or if PostgreSQL's tables must be swept first.
        """
        if not isinstance(erasure, ErasureReceipt):
            raise FieldError(f"{show(erasure)} is not an erasure receipt; pass what `erase` returned", field="erasure")
        return erase.prove_erased(self._get_deps(), erasure)

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
            lines=list(transfer.read_texts(require_lines(lines))),  # the lines are read more than once
            name=None if name is None else validation.require_id("name", name),
            format=import_files.find_format("format", format),
            scope=as_scope(scope),
            skip_bad=validation.require_flag("skip_bad", skip_bad),
        )
        dry = validation.require_flag("dry_run", dry_run)
        return import_files.import_from(self._get_deps(), source, dry=dry, progress=check_progress(progress))

    def backup(self, path: str | PathLike[str], *, progress: ProgressListener | None = None) -> Path:
        """Copy the store to a new file while readers and writers go on.

        `recollect verify` checks such a file.
        """
        store = self._get_deps().store
        target, listener = Path(validation.require_path("path", path)), check_progress(progress)
        if not isinstance(store, SupportsBackup):
            raise InvalidInput("this store has no file to copy; use `export`")
        store.settle()
        store.backup(target, listener)
        return target

    def flush(self) -> None:
        """Wait until all deferred writes (context records and uses) are in the store.

        Raises if one of them failed.
        """
        self._get_deps().store.flush()

    @property
    def takes_writes(self) -> bool:
        """False after a write has failed, until one succeeds; a busy store does not count as a failure."""
        return self._deps.store.takes_writes

    @property
    def embedder(self) -> str:
        """The name of the embedding model."""
        return self._get_deps().encoder.name

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


def read_drafts(drafts: Iterable[Draft | Mapping[str, Any]], scope: str | Scope | None) -> list[Draft]:
    """Convert mappings to drafts; `scope` applies to those that name none."""
    several = validation.require_several("drafts", drafts)
    return [one if isinstance(one, Draft) else read_draft(one, scope) for one in several]


def read_provenance(provenance: Provenance | str | None) -> Provenance | None:
    return None if provenance is None else parse_choice("provenance", provenance, Provenance)


def require_lines(lines: Iterable[str]) -> Iterable[str]:
    if isinstance(lines, str | bytes | Mapping) or not isinstance(lines, Iterable):
        problem = f"{show(lines)} has no lines; pass the lines of the export, such as an open file"
        raise FieldError(problem, field="lines")
    return lines


def check_progress(progress: ProgressListener | None) -> ProgressListener:
    return ignore_progress if progress is None else validation.require_callable("progress", progress)


def make_retention_overrides(
    level: Level | str | None, age_days: int | None, min_level: Level | str | None, max_age_days: int | None
) -> RetentionOverrides:
    return RetentionOverrides(
        level=None if level is None else parse_choice("level", level, Level),
        age_days=age_days,
        min_level=None if min_level is None else parse_choice("min_level", min_level, Level),
        max_age_days=max_age_days,
    )
