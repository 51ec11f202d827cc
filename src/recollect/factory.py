"""open(): build an engine from a target and settings; the only module that chooses adapters."""

import os
import platform
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect import config
from recollect.admission.extraction import PhraseExtractor
from recollect.admission.prompt_injection import find_injection
from recollect.config import ExtractionSettings, Settings
from recollect.engine import reembed
from recollect.engine.dependencies import Dependencies
from recollect.engine.engine import Engine
from recollect.engine.transfer import move_store
from recollect.errors import FieldError, InvalidInput, NotFound, RecollectError, StoreError, show
from recollect.ids import make_id_generator, new_marker
from recollect.jobs.scheduler import JOBS, JobListener, Scheduler
from recollect.lifecycle.extractive_summarizer import ExtractiveSummarizer
from recollect.lifecycle.schedule import NEVER_EXPRESSION, Schedule
from recollect.model import validation
from recollect.model.archive import MoveReport, SweepReport, VerifyReport
from recollect.model.conversation import ModelPrices
from recollect.model.encoder import Encoder, ReembeddingProgress, ReembeddingReport, ScopeVectorIndex
from recollect.model.scope import Scope, as_scope
from recollect.packing.tokens import Estimate
from recollect.protocols import Embedder, Extractor, JobStore, Store, Summarizer, ignore_progress
from recollect.ranking.profile import Profile

if TYPE_CHECKING:
    from recollect.stores.postgres.vector_index import PostgresVectorIndexes
    from recollect.stores.sql.reembedding import SqlReembedding
    from recollect.stores.sqlite.verify import SampleMemory

_RECALL_MODULES = (
    "recollect.ranking.selection",
    "recollect.ranking.bound_pruning",
    "recollect.text.dates",
    "numpy.ma",
)
"""Modules that a recall loads; `open` imports them early.

A child forked while another thread imports a module can never import that module.
"""

MAX_QUERY_CHARS = 2_000
"""How many characters of a memory `verify` uses as the query that must find it."""

MAX_VERIFY_RESULTS = 1_000
"""A memory queried by its own text must be among this many results."""


def open(
    target: str | PathLike[str],
    *,
    profile: Profile | str = "default",
    embedder: Embedder | str | None = None,
    clock: Callable[[], datetime] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> Engine:
    """Open a store and return its engine.

    The target is a file (created if missing), a PostgreSQL URL (`postgresql://…`), or `:memory:` for a temporary store.
    `profile` is the default ranking profile of its searches. Without `embedder`, the engine uses the configured model,
    or that of the store's vectors, or the best installed model for a new store; a model other than the store's raises
    `EmbedderMismatch`. `clock` replaces the system clock. A mapping of `settings` overrides those of the environment
    and the settings file.
    """
    from recollect.providers.base import CachedEmbedder

    for module in _RECALL_MODULES:
        import_module(module)
    loaded = config.load_settings(settings)
    ranked = profile if isinstance(profile, Profile) else config.load_configured_profile(loaded, profile)
    path = validation.require_path("target", target)
    now = _now if clock is None else _check_clock(clock)
    requested = loaded.embedder if embedder is None else embedder
    checked = None if requested is None else _require_embedder(requested, loaded)  # before the file is created
    store = _open_store(path, now, loaded)
    try:
        chosen_embedder = _choose_embedder(store, checked)
    except BaseException:
        store.close()
        raise
    return Engine(
        Dependencies(
            store=store,
            embedder=CachedEmbedder(chosen_embedder),
            clock=now,
            new_id=make_id_generator(),
            new_marker=new_marker,
            profile_by_name=partial(config.load_configured_profile, loaded),
            default_profile=ranked,
            count_tokens=Estimate(),
            policy=loaded.policy,
            extractor=_make_extractor(loaded),
            max_extracted=loaded.extraction.most,
            lifecycle=loaded.lifecycle,
            time_zone=config.require_time_zone("lifecycle.time_zone", loaded.lifecycle.time_zone),
            consolidation=loaded.consolidation,
            topics=loaded.topics,
            episodic=loaded.episodic,
            sessions=loaded.sessions,
            summarizer=_make_summarizer(loaded),
        )
    )


def _open_store(target: str, clock: Callable[[], datetime], settings: Settings) -> Store:
    """Open the store that the target names."""
    if not is_database(target):
        from recollect.stores.sqlite.store import SqliteStore

        refuse_url(target)
        return SqliteStore(target, clock, timeout=settings.busy_timeout, cache_bytes=settings.cache_bytes)
    with _require_postgres_driver():
        from recollect.stores.postgres.store import PostgresStore
    return PostgresStore(target, clock, timeout=settings.busy_timeout, cache_bytes=settings.cache_bytes)


@contextmanager
def _require_postgres_driver() -> Iterator[None]:
    """Raise InvalidInput with the install command if the PostgreSQL driver is missing."""
    try:
        yield
    except ImportError as error:
        remedy = "install recollect with its extra postgres (in its folder: pip install '.[postgres]')"
        raise InvalidInput(f"the driver for PostgreSQL is not installed; {remedy}") from error


def _make_summarizer(settings: Settings) -> Summarizer:
    """Build the configured summarizer; a model is the one that extraction uses."""
    if settings.lifecycle.summariser == "extractive":
        return ExtractiveSummarizer()
    from recollect.providers.http_client import RetryPolicy
    from recollect.providers.summarizer import ChatSummarizer

    extraction = settings.extraction
    address, model = extraction.require_endpoint()
    return ChatSummarizer(
        address,
        model,
        orders_in=find_injection,
        prices=_model_prices(extraction),
        key=extraction.key,
        timeout=timedelta(seconds=extraction.timeout),
        patience=RetryPolicy(attempts=extraction.attempts),
    )


def _model_prices(extraction: ExtractionSettings) -> ModelPrices | None:
    if extraction.price_prompt is None or extraction.price_completion is None:
        return None
    return ModelPrices(prompt=extraction.price_prompt, completion=extraction.price_completion)


def _make_extractor(settings: Settings) -> Extractor:
    """Build the configured extractor.

    A remote model is not called before there is a conversation.
    """
    extraction = settings.extraction
    if extraction.extractor == "phrases":
        return PhraseExtractor(importance=settings.importance, confidence=settings.confidence)
    from recollect.providers.extractor import ChatExtractor
    from recollect.providers.http_client import RetryPolicy

    address, model = extraction.require_endpoint()
    return ChatExtractor(
        address,
        model,
        confidence=settings.confidence,
        importance=settings.importance,
        prices=_model_prices(extraction),
        key=extraction.key,
        timeout=timedelta(seconds=extraction.timeout),
        patience=RetryPolicy(attempts=extraction.attempts),
    )


def scheduler(
    target: str | PathLike[str],
    *,
    embedder: Embedder | str | None = None,
    clock: Callable[[], datetime] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    heard: JobListener | None = None,
) -> Scheduler:
    """Return the scheduler of a store, which runs each job when it is due.

    A job runs once per due time, however many schedulers the store has. `heard` is called when a run of a job begins
    and ends, and with errors in between.
    """
    loaded = config.load_settings(settings)
    path = validation.require_path("target", target)
    if path == validation.IN_MEMORY_TARGET:
        problem = "an in-memory store cannot have jobs; use a file or a database"
        raise FieldError(problem, field="target")
    listener = _ignore_job_event if heard is None else validation.require_callable("heard", heard)
    now = _now if clock is None else _check_clock(clock)
    checked = None if embedder is None else _require_embedder(embedder, loaded)
    if not is_database(path) and not _file_exists(path):
        raise NotFound(f"store {show(path)} does not exist; create it with `recollect.open`")
    return Scheduler(
        _open_job_store(path, loaded),
        partial(open, path, embedder=checked, clock=clock, settings=loaded),
        jobs=JOBS,
        schedules=_make_schedules(loaded),
        policy=loaded.scheduler,
        clock=now,
        random=random.SystemRandom().random,
        name=f"{platform.node()}:{os.getpid()}:{new_marker()}",
        heard=listener,
    )


def _make_schedules(settings: Settings) -> Mapping[str, Schedule]:
    """Return the schedule of each job; no job is ever due if the lifecycle is disabled."""
    zone = config.require_time_zone("lifecycle.time_zone", settings.lifecycle.time_zone)
    expressions = {
        "rollup": settings.scheduler.rollup,
        "extract": settings.scheduler.extract,
        "topics": settings.scheduler.topics,
        "prune-vectors": settings.lifecycle.vector.prune_schedule,
        "prune-episodes": settings.episodic.prune_schedule,
        "rebuild-index": settings.lifecycle.bm25.rebuild_schedule,
        "consolidate": settings.scheduler.consolidate,
    }
    enabled = settings.lifecycle.enabled
    return {job: Schedule(expression if enabled else NEVER_EXPRESSION, zone) for job, expression in expressions.items()}


def _open_job_store(target: str, settings: Settings) -> JobStore:
    """Open the job table of the store that the target names."""
    from recollect.stores.sql.jobs import SqlJobStore

    if is_database(target):
        with _require_postgres_driver():
            from recollect.stores.postgres.transaction import PostgresTransactionRunner
        return SqlJobStore(PostgresTransactionRunner(target, timeout=settings.busy_timeout))
    from recollect.stores.sqlite.store import SqliteTransactionRunner

    refuse_url(target)
    return SqlJobStore(SqliteTransactionRunner(target, timeout=settings.busy_timeout))


def re_embed(
    target: str | PathLike[str],
    *,
    embedder: Embedder | str,
    settings: Settings | Mapping[str, Any] | None = None,
    progress: Callable[[ReembeddingProgress], object] | None = None,
) -> ReembeddingReport:
    """Replace a store's vectors by another embedder's while the store is in use.

    Afterwards, engines opened with the former model raise `EmbedderMismatch`. The next run resumes an interrupted one.
    """
    loaded = config.load_settings(settings)
    path = validation.require_path("target", target)
    checked = _require_embedder(embedder, loaded)
    report = _ignore_stage if progress is None else validation.require_callable("progress", progress)
    with closing(_open_reembedding(path, loaded)) as store:
        return reembed.re_embed(store, checked, report)


def _open_reembedding(target: str, settings: Settings) -> "SqlReembedding":
    """Open the store that the target names for a change of its model."""
    if is_database(target):
        with _require_postgres_driver():
            from recollect.stores.postgres.writer import PostgresReembedding
        return PostgresReembedding(target, timeout=settings.busy_timeout)
    from recollect.stores.sqlite.store import SqliteReembedding

    refuse_url(target)
    if not _file_exists(target):
        raise NotFound(f"store {show(target)} does not exist; use the file of a store")
    return SqliteReembedding(target, timeout=settings.busy_timeout)


def migrate_store(
    source: str | PathLike[str],
    target: str,
    *,
    settings: Settings | Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MoveReport:
    """Move a whole file store to an empty PostgreSQL database.

    Versions, usage, votes, keys and contexts move too. What arrived is counted and compared before the database becomes
    a store. The next run resumes an interrupted one. The file stays unchanged; no process should write to it meanwhile.
    """
    from recollect.stores.sqlite.store import SqliteStore

    loaded = config.load_settings(settings)
    path = validation.require_path("source", source)
    refuse_url(path)
    if not is_database(target):
        raise FieldError("is not a PostgreSQL database; use postgresql://USER@HOST/DATABASE", field="target")
    if not _file_exists(path):
        raise NotFound(f"store {show(path)} does not exist; use the file of a store")
    report = ignore_progress if progress is None else validation.require_callable("progress", progress)
    with _require_postgres_driver():
        from recollect.stores.postgres.store import PostgresImport
    with (
        closing(SqliteStore(path, _now, timeout=loaded.busy_timeout)) as store,
        closing(PostgresImport(target, timeout=loaded.busy_timeout)) as receiving,
    ):
        return move_store(store, str(Path(path).resolve()), receiving, report)


def index_scope(
    target: str | PathLike[str], scope: Scope | str, *, settings: Settings | Mapping[str, Any] | None = None
) -> ScopeVectorIndex:
    """Build the vector index of a scope in PostgreSQL, unless it exists.

    Other connections read and write meanwhile. An index left by an interrupted build is rebuilt, and the scope's
    indexes of former models are dropped.
    """
    with closing(_open_vector_indexes(target, settings)) as store:
        return store.build(as_scope(scope))


def drop_index(
    target: str | PathLike[str], scope: Scope | str, *, settings: Settings | Mapping[str, Any] | None = None
) -> list[ScopeVectorIndex]:
    """Drop all vector indexes of a scope, and return them."""
    with closing(_open_vector_indexes(target, settings)) as store:
        return store.drop(as_scope(scope))


def drop_useless_indexes(
    target: str | PathLike[str], *, settings: Settings | Mapping[str, Any] | None = None
) -> list[ScopeVectorIndex]:
    """Drop and return the indexes of former models, erased scopes and interrupted builds."""
    with closing(_open_vector_indexes(target, settings)) as store:
        return store.drop_useless()


def list_indexes(
    target: str | PathLike[str], *, settings: Settings | Mapping[str, Any] | None = None
) -> list[ScopeVectorIndex]:
    """Return every approximate vector index in a PostgreSQL database."""
    with closing(_open_vector_indexes(target, settings)) as store:
        return store.list_all()


def _open_vector_indexes(
    target: str | PathLike[str], settings: Settings | Mapping[str, Any] | None
) -> "PostgresVectorIndexes":
    """Open a PostgreSQL database to build and drop vector indexes."""
    loaded = config.load_settings(settings)
    reason = "a file store has no vector indexes and needs none, because it compares all vectors of a scope"
    path = _require_database_url(target, reason)
    with _require_postgres_driver():
        from recollect.stores.postgres.vector_index import PostgresVectorIndexes
    return PostgresVectorIndexes(path, timeout=loaded.busy_timeout)


def sweep(target: str | PathLike[str], *, settings: Settings | Mapping[str, Any] | None = None) -> SweepReport:
    """Have PostgreSQL rewrite the files that still contain erased data.

    Each table is locked while it is rewritten.
    """
    loaded = config.load_settings(settings)
    path = _require_database_url(target, "a file store needs no sweep, because erasing removes the data from the file")
    with _require_postgres_driver():
        from recollect.stores.postgres.connection import PostgresDatabase
        from recollect.stores.postgres.erasure import TableSweeper
    with closing(PostgresDatabase(path, timeout=loaded.busy_timeout, create=False)) as database:
        return TableSweeper(database, path, loaded.busy_timeout).sweep()


def _require_database_url(target: str | PathLike[str], reason: str) -> str:
    """Return the database URL; for a file, raise InvalidInput with the reason."""
    path = validation.require_path("target", target)
    if not is_database(path):
        refuse_url(path)
        raise InvalidInput(f"{reason}; use a database, such as postgresql://USER@HOST/DATABASE")
    return path


def verify(path: str | PathLike[str], *, progress: Callable[[int, int], None] | None = None) -> VerifyReport:
    """Restore a backup or a store to a temporary place, and report its content and defects."""
    from recollect.stores.sqlite.verify import verify

    target = validation.require_path("path", path)
    refuse_url(target)  # before Path() merges the two slashes of a URL
    file = Path(target)
    _refuse_unreachable(file)
    return verify(
        file, _try_recall, ignore_progress if progress is None else validation.require_callable("progress", progress)
    )


def _try_recall(restored: Path, sample: "SampleMemory") -> list[str]:
    """Recall a memory from a restored store by its own text and vector; return the problems."""
    from recollect.providers.base import ConstantEmbedder

    memory = sample.memory
    at = max(_now(), memory.created_at, memory.valid_from or memory.created_at)
    with open(restored, embedder=ConstantEmbedder(sample.encoder.name, sample.vector), clock=lambda: at) as engine:
        question = memory.searched_text[:MAX_QUERY_CHARS]
        results = engine.search(question, scope=memory.scope, limit=MAX_VERIFY_RESULTS)
        engine.recall(question, scope=memory.scope)
    return [] if any(one.id == memory.id for one in results) else [f"a recall does not find the memory {memory.id}"]


def can_embed(encoder: Encoder) -> bool:
    """Return whether the model is available here, without loading it."""
    from recollect.providers import registry

    try:
        embedder = registry.find_embedder_for_model(encoder.name)
    except RecollectError:
        return False
    return Encoder(embedder.name, embedder.dimensions) == encoder


def is_model_available(model: str) -> bool:
    """Return whether the model of recorded vectors can be used here without naming it."""
    from recollect.providers import registry

    try:
        registry.find_embedder_for_model(model)
    except RecollectError:
        return False
    return True


def find_named_embedder(name: str, settings: Settings) -> Embedder:
    """Return the embedder with this name; the configured key is sent only to one behind a URL."""
    from recollect.providers import registry

    return registry.find_embedder(name, key=settings.embedder_key if "://" in name else None)


def is_database(target: str | PathLike[str]) -> bool:
    """Return whether the target is a PostgreSQL URL rather than a file."""
    return str(target).startswith(("postgresql://", "postgres://"))


def refuse_url(target: str | PathLike[str]) -> None:
    """Raise InvalidInput if the target is a URL where a file is expected."""
    if is_database(target):
        raise InvalidInput("this works only with file stores; for PostgreSQL, use its own tools, such as pg_dump")
    if re.match(r"(?i)postgres\w*:?/{1,2}[^/]*@", str(target)):  # the URL is not shown: it may contain a password
        raise InvalidInput("not a PostgreSQL URL; use postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
    if "://" in str(target):
        from recollect.providers.http_client import redact_url

        remedy = "use a file, or a database such as postgresql://USER@HOST/DATABASE"
        raise InvalidInput(f"{redact_url(str(target))} is not a store; {remedy}")


def _require_embedder(embedder: Embedder | str, settings: Settings) -> Embedder:
    """Return the given embedder, or the one with this name."""
    if isinstance(embedder, str):
        return find_named_embedder(embedder, settings)
    if not all(hasattr(embedder, name) for name in ("name", "dimensions", "embed")):
        remedy = "pass a name, or an object with name, dimensions and embed(texts, purpose)"
        raise FieldError(f"{show(embedder)} is not an embedder; {remedy}", field="embedder")
    Encoder(embedder.name, embedder.dimensions)  # raises if the name or the dimensions are invalid
    validation.require_callable("embedder", embedder.embed)
    return embedder


def _check_clock(clock: Callable[[], datetime]) -> Callable[[], datetime]:
    """Return the clock wrapped so that every value is checked to be a timezone-aware datetime."""
    validation.require_callable("clock", clock)
    return lambda: validation.require_moment("clock", clock())


def _refuse_unreachable(path: Path) -> None:
    """Raise StoreError if the path cannot be examined, for example because its name is too long."""
    try:
        path.exists()
    except OSError as error:
        remedy = "check its name and the permissions of its folder"
        raise StoreError(f"cannot access {show(str(path))} ({error.strerror}); {remedy}") from error


def _file_exists(target: str | PathLike[str]) -> bool:
    """Return whether the file exists, or cannot be examined.

    In the latter case opening it reports why.
    """
    try:
        return Path(target).exists()
    except OSError:
        return True


def _ignore_job_event(_: object) -> None:
    """Ignore job events."""


def _ignore_stage(_: ReembeddingProgress) -> None:
    """Ignore progress reports of a re-embedding."""


def _now() -> datetime:
    return datetime.now(UTC)


def _choose_embedder(store: Store, requested: Embedder | None) -> Embedder:
    """Return the requested embedder, or the one that the store's vectors come from.

    A requested embedder of another model is refused. If the store's model is not installed, a placeholder raises the
    error when it is first used: reading needs no embedder.
    """
    from recollect.providers import registry
    from recollect.providers.base import MissingEmbedder
    from recollect.stores.sql.rows import refuse_other_encoder

    recorded = store.encoder()
    if requested is not None:
        refuse_other_encoder(recorded, Encoder(requested.name, requested.dimensions))
        return requested
    if recorded is None:
        return registry.find_embedder("auto")
    try:
        return registry.find_embedder_for_model(recorded.name)
    except RecollectError as problem:
        return MissingEmbedder(recorded.name, recorded.dimensions, problem)
