"""Recorded contexts: give feedback on them, replay them, and make training data from both."""

import base64
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, islice
from typing import TYPE_CHECKING

from recollect.admission.screening import redact_text
from recollect.engine.dependencies import Dependencies
from recollect.engine.recall import (
    RecallRequest,
    gather,
    make_context_record,
    rank_for_context,
    read_formula,
)
from recollect.errors import Conflict, FieldError, InvalidInput, NotFound, ProfileError, show
from recollect.model import changeset, validation
from recollect.model.context import (
    ContextRecord,
    Noted,
    ShownMemory,
    Sign,
    SkipReason,
    TrainingExample,
    TrainingSet,
    Use,
    Vote,
    compare_records,
)
from recollect.model.encoder import Encoder
from recollect.model.enums import BRIEF_LEVELS, RECALL_LEVELS, Kind, Level, parse_level
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.packing.budget import Budget
from recollect.packing.pack import Replay, pack
from recollect.packing.prompt import READING_ORDER, Prompt
from recollect.protocols import ProgressListener, Purpose, WriteTransaction
from recollect.ranking.profile import Profile, QuestionPolicy
from recollect.ranking.profile_toml import ProfileDocument, build_profile
from recollect.retrieval.eligibility import View, version_at, was_revised_since
from recollect.retrieval.query import Query, analyze
from recollect.text.grounding import find_quoted_texts, quotes_all_texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.retrieval.evidence import Evidence
    from recollect.retrieval.vectors import Vectors


COPIED_REASON = "it is a copy of the context"
QUOTES_ALL_REASON = "it quotes every memory of the context"
"""Why the quotes in an answer are not recorded."""


def require_context_id(value: str | None) -> str:
    """Return the context id, or raise FieldError; contexts of a read-only store have none."""
    if value is None:
        problem = "None is not an id: contexts of a read-only store have none"
        raise FieldError(f"{problem}; recall from a writable store", field="context_id")
    return validation.require_text("context_id", value)


def record_feedback(
    deps: Dependencies,
    context: str,
    *,
    scope: Scope,
    helped: Sequence[str],
    misled: Sequence[str],
    by: str | None,
    answer: str | None,
) -> Noted:
    """Store one vote for each memory named, and the memories that the answer quotes.

    A vote replaces the principal's earlier one on the memory in this context. Quotes are recorded once per context, and
    not at all if the answer is a copy of the context. The answer is not stored.
    """
    now = deps.now()
    principal = str(scope) if by is None else _check_principal(deps, by)
    screened_answer = None if answer is None else _screen_answer(deps, answer)
    deps.store.settle()
    record = require_context(
        deps.store.context(scope, context) if validation.is_storable(context) else None, scope, context
    )
    copied = answer is not None and record.marker in answer  # only a copy of the context has its boundary
    memories = [] if screened_answer is None or copied else _load_as_packed(deps, record)

    packed_ids = {entry.id for entry in record.packed}
    both = next((id for id in helped if id in set(misled)), None)
    if both is not None:
        raise InvalidInput(f"memory {show(both)} cannot have both helped and misled")
    unpacked = next((id for id in (*helped, *misled) if id not in packed_ids), None)
    if unpacked is not None:
        raise NotFound(f"memory {show(unpacked)} is not in the context {show(context)}")
    choices = [*((id, Use.HELPED) for id in helped), *((id, Use.MISLED) for id in misled)]
    votes = [
        Vote(context=context, memory=MemoryId(id), by=principal, use=use, at=now) for id, use in dict(choices).items()
    ]
    quotes, reason = _find_quoted(screened_answer or "", memories, "\n".join(record.question))

    changes = changeset.Changeset(
        votes=(changeset.ScopeVotes(scope, tuple(votes)),),
        uses=(changeset.MemoryUses(scope, tuple(quotes), Use.QUOTED, now, context),),
    )

    def change(writing: WriteTransaction) -> None:
        require_context(writing.context(scope, context), scope, context)  # it may have been erased meanwhile
        writing.apply(changes)

    if votes or quotes:
        deps.store.write(change)
    return Noted(len(votes), tuple(quotes), COPIED_REASON if copied else reason)


def record_success(writing: WriteTransaction, scope: Scope, contexts: Sequence[str], at: datetime) -> None:
    """Record for every memory packed in these contexts that success followed, once per context.

    Context records are deferred writes: flush the store before the transaction.
    """
    for context in contexts:
        record = require_context(_load_context(writing, scope, context), scope, context)
        ids = tuple(entry.id for entry in record.packed)
        followed = changeset.MemoryUses(scope, ids, Use.FOLLOWED, at, context)
        writing.apply(changeset.Changeset(uses=(followed,)))


def require_known_contexts(writing: WriteTransaction, scope: Scope, contexts: Sequence[str]) -> None:
    """Raise NotFound if one of these is not a context of the scope."""
    for context in contexts:
        require_context(_load_context(writing, scope, context), scope, context)


def retract_success(writing: WriteTransaction, scope: Scope, contexts: Sequence[str]) -> None:
    """Remove the record that success followed these contexts."""
    for context in contexts:
        record = require_context(_load_context(writing, scope, context), scope, context)
        ids = tuple(entry.id for entry in record.packed)
        followed = changeset.MemoryUses(scope, ids, Use.FOLLOWED, record.made_at, context)
        writing.apply(changeset.Changeset(retracted=(followed,)))


def filter_known_contexts(writing: WriteTransaction, scope: Scope, contexts: Sequence[str]) -> list[str]:
    """Return those of these contexts that still have a record in the scope."""
    return [one for one in contexts if _load_context(writing, scope, one) is not None]


def _find_quoted(answer: str, memories: Sequence[Memory], question: str) -> tuple[list[MemoryId], str | None]:
    """Return the memories that the answer quotes; if it quotes all of them, none and the reason."""
    texts = [one.searched_text for one in memories]
    quoted = [memories[place].id for place in find_quoted_texts(answer, texts, question)]
    return quoted, QUOTES_ALL_REASON if not quoted and quotes_all_texts(answer, texts, question) else None


def _load_context(writing: WriteTransaction, scope: Scope, context: str) -> ContextRecord | None:
    return writing.context(scope, context) if validation.is_storable(context) else None


def require_context(record: ContextRecord | None, scope: Scope, context: str) -> ContextRecord:
    """Return the context record, or raise NotFound.

    The error is the same for another scope's context, so that it reveals nothing.
    """
    if record is None:
        raise NotFound(f"there is no context {show(context)} in {scope}")
    return record


def _load_as_packed(deps: Dependencies, record: ContextRecord) -> list[Memory]:
    """Return the existing memories of a context as they were when it was made."""
    present = deps.store.get(record.scope, [entry.id for entry in record.packed])
    return [one if _is_unchanged(one, record) else _version_when_packed(deps, one, record) for one in present]


def _is_unchanged(memory: Memory, record: ContextRecord) -> bool:
    return (memory.commit or 0) <= record.commit and not was_revised_since(memory, record.at)


def _version_when_packed(deps: Dependencies, memory: Memory, record: ContextRecord) -> Memory:
    """Return the memory's version when the context was made, or the present one if unknown."""
    versions = deps.store.history(record.scope, memory.id)
    known = [one for one in versions if (one.commit or 0) <= record.commit]
    if not known:
        return memory
    version = known[-1] if record.at == record.made_at else version_at(known, record.at)
    return version or known[-1]


def _screen_answer(deps: Dependencies, answer: str) -> str:
    """Return the answer without private parts and secrets, which memories lack too."""
    if not validation.require_clean_text("answer", answer).strip():
        raise FieldError("is blank; give the answer, or omit it", field="answer")
    return redact_text(validation.require_content("answer", answer), deps.policy.secrets)


def _check_principal(deps: Dependencies, by: str) -> str:
    """Return the principal's name; a name with a secret is refused, since it is stored unchanged."""
    name = validation.require_id("by", by)
    if redact_text(name, deps.policy.secrets) != name:
        raise FieldError("is private or looks like a secret; use another name", field="by")
    return name


def replay_context(deps: Dependencies, scope: Scope, context_id: str) -> Replay:
    """Make a recorded context again, and compare it with its record; nothing is written."""
    deps.store.settle()
    record = require_context(
        deps.store.context(scope, context_id) if validation.is_storable(context_id) else None, scope, context_id
    )
    request, evidence = repeat_request(deps, record)

    ranking = rank_for_context(deps, request, evidence, record.depth)
    context = pack(ranking, _recorded_budget(record), Prompt(record.marker, deps.count_tokens))
    context = replace(context, id=record.id)
    new_record = make_context_record(deps, context, request, evidence, record.depth)
    differences = compare_records(
        record, new_record, there=set(evidence.table.ids), departed=len(evidence.snapshot.dropped_vectors)
    )
    return Replay(context, differences)


def repeat_request(
    deps: Dependencies, record: ContextRecord, profile: Profile | None = None
) -> "tuple[RecallRequest, Evidence]":
    """Return a recorded request, and the evidence that the store had for it at its commit.

    `profile` replaces the recorded profile. For a context imported from another store, the evidence is what this store
    has now.
    """
    document = _read_profile_document(record)
    chosen = _build_profile(record, document) if profile is None else profile
    request = RecallRequest(
        made_at=record.made_at,
        query=Query(record.question) if record.question else None,
        view=View(
            scope=record.scope,
            at=record.at,
            present=record.at == record.made_at if record.making is None else record.making.present,
            past=record.past,
            known_at=record.known_at,
            commit=None if record.elsewhere else record.commit,
            levels=_recorded_levels(record),
            encoder=deps.encoder if record.question else None,
        ),
        profile=chosen,
        kinds=frozenset(map(Kind, record.kinds or Kind)),
        recorded_vectors=_recorded_vectors(deps, record),
    )
    if chosen.hearing.value != document.get("hearing") and not _is_asked_verbatim(deps, request):
        request = replace(request, recorded_vectors=None)
    return request, gather(deps, request)


def _is_asked_verbatim(deps: Dependencies, request: RecallRequest) -> bool:
    """Return whether the query is embedded unchanged under every profile, since it names no speaker."""
    if request.query is None:
        return True
    analysis = analyze(request.query, deps.store.snapshot(request.view), (), in_turns=True)
    return analysis.phrasings == (request.query.text,)


def _read_profile_document(record: ContextRecord) -> ProfileDocument:
    """Return the profile document in a context record."""
    try:
        return read_formula(record.formula)
    except ProfileError as error:
        raise _unreadable_profile(record, str(error)) from error


def _build_profile(record: ContextRecord, document: ProfileDocument) -> Profile:
    try:
        return build_profile(document, name=record.profile)
    except ProfileError as error:
        raise _unreadable_profile(record, str(error)) from error


def _unreadable_profile(record: ContextRecord, reason: str) -> Conflict:
    problem = f"context {show(record.id)} was ranked by a formula that this version cannot read"
    return Conflict(f"{problem}: {reason}; replay it with the version that made it")


def _recorded_levels(record: ContextRecord) -> frozenset[Level | None]:
    """Return the levels of the request; old records lack them and mean the defaults."""
    if record.making is None and not record.levels:
        return RECALL_LEVELS if record.question else BRIEF_LEVELS
    return frozenset(parse_level("levels", one) for one in record.levels)


def _recorded_vectors(deps: Dependencies, record: ContextRecord) -> "Vectors | None":
    """Return the recorded query vectors, if they come from the present model."""
    import numpy as np

    recipe = record.making
    if recipe is None or recipe.directions is None or recipe.encoder != deps.encoder:
        return None
    return np.frombuffer(base64.b64decode(recipe.directions), dtype="<f4").reshape(-1, deps.encoder.dimensions)


def _recorded_budget(record: ContextRecord) -> Budget:
    recipe = record.making
    if recipe is None:
        return Budget(record.budget)
    reserves = {Kind(kind): room for kind, room in recipe.reserves.items()}
    return Budget(record.budget, reserves=reserves, items=recipe.items, pinned_share=recipe.pinned_share)


MAX_CANDIDATES = 500
"""How many candidates of a context are examined, the best by the profile; packed memories are added."""

CONTEXTS_PER_PAGE = 500
"""How many contexts' votes are read at once."""

JudgedContext = tuple[ContextRecord, tuple[Vote, ...], tuple[Sign, ...]]
"""A context with its votes and signs."""


def collect_training_examples(
    deps: Dependencies, scope: Scope, profile: Profile, progress: ProgressListener
) -> TrainingSet:
    """Return training data for a profile from the contexts of exactly this scope.

    Contexts come oldest first. Each is ranked again from what the store knew when it was made. Nothing counts as
    served, and no model is called. Contexts without feedback are ignored; others that cannot be used are counted by
    reason.
    """

    deps.store.settle()
    skipped = Counter[SkipReason]()
    usable: list[JudgedContext] = []
    for judged in _load_judged_contexts(deps, scope):
        record, votes, signs = judged
        if record.elsewhere:
            skipped[SkipReason.OTHER_STORE] += 1
        elif not votes and all(sign.use is Use.FOLLOWED for sign in signs):
            skipped[SkipReason.ONLY_FOLLOWED] += 1
        elif record.question and profile.question is QuestionPolicy.REFUSED:
            skipped[SkipReason.HAS_QUESTION] += 1
        elif not record.question and profile.question is QuestionPolicy.NEEDED:
            skipped[SkipReason.NO_QUESTION] += 1
        elif not _is_ranked_by(record, profile):
            skipped[SkipReason.OTHER_PROFILE] += 1
        else:
            usable.append(judged)

    offline_deps = replace(deps, embedder=_RecordedEmbedder(deps.encoder))
    examples: list[TrainingExample] = []
    progress(0, len(usable))
    usable.sort(key=lambda one: (one[0].commit, one[0].id))  # in commit order, which suits the store's cache
    for done, judged in enumerate(usable, start=1):
        try:
            examples.append(_make_training_example(offline_deps, judged, profile))
        except _VectorNotRecorded:
            skipped[SkipReason.UNRECORDED] += 1
        progress(done, len(usable))
    return TrainingSet(scopes=(scope,), told=tuple(sorted(examples, key=lambda one: one.sort_key)), left_out=skipped)


class _VectorNotRecorded(Exception):
    """Raised when a context cannot be ranked again from recorded vectors alone."""


@dataclass(frozen=True, slots=True)
class _RecordedEmbedder:
    """Replaces the engine's embedder, so that training sends no text to a model."""

    encoder: Encoder

    @property
    def name(self) -> str:
        return self.encoder.name

    @property
    def dimensions(self) -> int:
        return self.encoder.dimensions

    def embed(self, _: Sequence[str], __: Purpose) -> "NDArray[np.float32]":
        raise _VectorNotRecorded


def _load_judged_contexts(deps: Dependencies, scope: Scope) -> Iterator[JudgedContext]:
    """Yield every context of the scope that has votes or signs."""
    records = deps.store.contexts(scope)
    while page := list(islice(records, CONTEXTS_PER_PAGE)):
        ids = [record.id for record in page]
        votes = {id: tuple(some) for id, some in groupby(deps.store.votes(scope, ids), key=lambda one: one.context)}
        signs = {id: tuple(some) for id, some in groupby(deps.store.signs(scope, ids), key=lambda one: one.context)}
        for record in page:
            if record.id in votes or record.id in signs:
                yield record, votes.get(record.id, ()), signs.get(record.id, ())


def _is_ranked_by(record: ContextRecord, profile: Profile) -> bool:
    """Return whether the context was ranked by this profile's formula, whatever its name."""
    try:
        recorded = build_profile(read_formula(record.formula), name=profile.name)
    except ProfileError:
        return False
    return replace(recorded, version=profile.version, about=profile.about) == profile


def _make_training_example(deps: Dependencies, judged: JudgedContext, profile: Profile) -> TrainingExample:
    """Return a context with the signal values of its candidates."""
    import numpy as np

    from recollect.ranking.selection import score_evidence

    record, votes, signs = judged
    request, evidence = repeat_request(deps, record, profile)
    scores = score_evidence(evidence.of_kinds(request.kinds), profile, request.at)

    rows = {id: row for row, id in enumerate(evidence.table.ids)}
    packed = [entry.id for entry in record.packed if entry.id in rows]
    index_by_id = {id: scores.columns.row_index(rows[id]) for id in packed if scores.columns.has_row(rows[id])}
    best = np.argsort(-scores.scores, kind="stable")[:MAX_CANDIDATES]
    examined = np.union1d(best, np.array([*index_by_id.values()], dtype=np.intp))
    ids = scores.columns.ids(examined)
    order = sorted(range(len(ids)), key=ids.__getitem__)
    candidates = {ids[row]: position for position, row in enumerate(order)}
    opinions = [one.opinions for one in scores.explain_rows_once(examined[order])]
    is_complete = record.making is not None and record.making.packed == len(packed)  # else one may have been erased
    positions = _find_text_positions(evidence, [rows[id] for id in packed]) if is_complete else [None] * len(packed)
    return TrainingExample(
        context=record.id,
        scope=record.scope,
        question=record.question,
        made_at=record.made_at,
        opinions=np.array(opinions, dtype=np.float64).reshape(len(opinions), len(profile.uses)).T,
        shown=tuple(
            ShownMemory(MemoryId(id), position, candidates[id])
            for id, position in zip(packed, positions, strict=True)
            if id in index_by_id
        ),
        votes=votes,
        signs=signs,
    )


def _find_text_positions(evidence: "Evidence", rows: Sequence[int]) -> list[int]:
    """Return the position of each packed memory in the rendered text, which is grouped by kind."""
    from recollect.model.table import KINDS

    kinds = evidence.table.kinds
    groups = [0 if kinds is None else READING_ORDER.index(KINDS[kinds[row]]) for row in rows]
    order = sorted(range(len(rows)), key=lambda one: (groups[one], one))
    return [order.index(one) + 1 for one in range(len(rows))]
