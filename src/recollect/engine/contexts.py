"""What follows a recorded context: feedback, replay, and training data made from both."""

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
    find_evidence,
    make_context,
    make_context_record,
    read_formula,
    select_rows,
)
from recollect.errors import Conflict, FieldError, InvalidInput, NotFound, ProfileError, show
from recollect.model import validation
from recollect.model.context import ContextRecord, Noted, Sign, Use, Vote, compare_records
from recollect.model.encoder import Encoder
from recollect.model.enums import BRIEF_LEVELS, RECALL_LEVELS, Kind, Level, parse_level
from recollect.model.memory import Memory, MemoryId
from recollect.model.scope import Scope
from recollect.packing.budget import Budget
from recollect.packing.pack import Replay
from recollect.packing.prompt import READING_ORDER
from recollect.protocols import ProgressListener, Purpose, WriteTransaction
from recollect.ranking.profile import Profile, QuestionPolicy
from recollect.ranking.profile_toml import ProfileDocument, build_profile
from recollect.retrieval.eligibility import version_at, was_revised_since
from recollect.retrieval.query import Query, QueryAnalysis
from recollect.text.grounding import find_quoted_texts, quotes_all_texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.model.training_example import TrainingExample, TrainingSet
    from recollect.retrieval.evidence import RecallEvidence, Vectors


COPIED_REASON = "it is the context pasted back"
QUOTES_ALL_REASON = "it quotes every memory of the context, which prefers none"
"""Why quotes in an answer are not recorded."""


def require_context_id(value: str | None) -> str:
    """Return the context id, or raise FieldError; contexts of a read-only store have none."""
    if value is None:
        why = "None is no id: a context of a store that may only be read has none, since nothing of it is kept"
        raise FieldError(f"{why}; recall where the store may be written to", field="context_id")
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
    said = None if answer is None else _screen_answer(deps, answer)
    deps.store.settle()
    trace = require_context(
        deps.store.context(scope, context) if validation.is_storable(context) else None, scope, context
    )
    copied = answer is not None and trace.marker in answer  # only a copy of the context has its boundary
    memories = [] if said is None or copied else _load_as_packed(deps, trace)

    handed = {placed.id for placed in trace.packed}
    both = next((id for id in helped if id in set(misled)), None)
    if both is not None:
        raise InvalidInput(f"the memory {show(both)} cannot both have helped and misled")
    stranger = next((id for id in (*helped, *misled) if id not in handed), None)
    if stranger is not None:
        raise NotFound(f"the memory {show(stranger)} was not handed over in the context {show(context)}")
    voices = [*((id, Use.HELPED) for id in helped), *((id, Use.MISLED) for id in misled)]
    votes = [
        Vote(context=context, memory=MemoryId(id), by=principal, use=use, at=now) for id, use in dict(voices).items()
    ]
    quotes, every = _find_quoted(said or "", memories, "\n".join(trace.question))

    if votes or quotes:
        deps.store.write(lambda writing: _write_feedback(writing, scope, context, votes, quotes, now))
    return Noted(len(votes), tuple(quotes), COPIED_REASON if copied else every)


def record_success(writing: WriteTransaction, scope: Scope, contexts: Sequence[str], at: datetime) -> None:
    """Record for every memory packed in these contexts that success followed, once per context.

    Context records are written later than the contexts are made: flush the store before the transaction.
    """
    for context in contexts:
        trace = require_context(_load_context(writing, scope, context), scope, context)
        writing.record(scope, [placed.id for placed in trace.packed], Use.FOLLOWED, at, context)


def require_known_contexts(writing: WriteTransaction, scope: Scope, contexts: Sequence[str]) -> None:
    """Raise NotFound if one of these is not a context of the scope."""
    for context in contexts:
        require_context(_load_context(writing, scope, context), scope, context)


def retract_success(writing: WriteTransaction, scope: Scope, contexts: Sequence[str]) -> None:
    """Remove the record that success followed these contexts."""
    for context in contexts:
        trace = require_context(_load_context(writing, scope, context), scope, context)
        writing.retract(scope, [placed.id for placed in trace.packed], Use.FOLLOWED, context)


def filter_known_contexts(writing: WriteTransaction, scope: Scope, contexts: Sequence[str]) -> list[str]:
    """Return those of these contexts that the scope still has a record of."""
    return [one for one in contexts if _load_context(writing, scope, one) is not None]


def _find_quoted(said: str, memories: Sequence[Memory], question: str) -> tuple[list[MemoryId], str | None]:
    """Return the memories that the answer quotes; if it quotes all of them, none and the reason."""
    texts = [one.searched_text for one in memories]
    found = [memories[place].id for place in find_quoted_texts(said, texts, question)]
    return found, QUOTES_ALL_REASON if not found and quotes_all_texts(said, texts, question) else None


def _load_context(writing: WriteTransaction, scope: Scope, context: str) -> ContextRecord | None:
    return writing.context(scope, context) if validation.is_storable(context) else None


def _write_feedback(
    writing: WriteTransaction,
    scope: Scope,
    context: str,
    votes: Sequence[Vote],
    quotes: Sequence[MemoryId],
    at: datetime,
) -> None:
    """Store votes and quotes of a context, unless it was erased meanwhile."""
    require_context(writing.context(scope, context), scope, context)
    writing.vote(scope, votes)
    writing.record(scope, quotes, Use.QUOTED, at, context)


def require_context(trace: ContextRecord | None, scope: Scope, context: str) -> ContextRecord:
    """Return the context record, or raise NotFound.

    The error is the same for another scope's context, so that it reveals nothing.
    """
    if trace is None:
        raise NotFound(f"there is no context {show(context)} in {scope}")
    return trace


def _load_as_packed(deps: Dependencies, trace: ContextRecord) -> list[Memory]:
    """Return the memories of a context as they were when it was made, as far as they exist."""
    present = deps.store.get(trace.scope, [placed.id for placed in trace.packed])
    return [one if _is_unchanged(one, trace) else _version_when_packed(deps, one, trace) for one in present]


def _is_unchanged(memory: Memory, trace: ContextRecord) -> bool:
    return (memory.commit or 0) <= trace.commit and not was_revised_since(memory, trace.at)


def _version_when_packed(deps: Dependencies, memory: Memory, trace: ContextRecord) -> Memory:
    """Return the memory's version when the context was made, or the present one if unknown."""
    versions = deps.store.history(trace.scope, memory.id)
    known = [one for one in versions if (one.commit or 0) <= trace.commit]
    if not known:
        return memory
    was = known[-1] if trace.at == trace.made_at else version_at(known, trace.at)
    return was or known[-1]


def _screen_answer(deps: Dependencies, answer: str) -> str:
    """Return the answer without private parts and secrets, since no memory has them either."""
    if not validation.require_clean_text("answer", answer).strip():
        raise FieldError("is blank; give what was answered, or leave it out", field="answer")
    return redact_text(validation.require_content("answer", answer), deps.policy.secrets)


def _check_principal(deps: Dependencies, by: str) -> str:
    """Return who votes; a name with a secret is refused, since it is stored unchanged."""
    name = validation.require_id("by", by)
    if redact_text(name, deps.policy.secrets) != name:
        raise FieldError("has what is private or looks like a secret; give another name", field="by")
    return name


def replay_context(deps: Dependencies, scope: Scope, context: str) -> Replay:
    """Make a recorded context again, and compare it with its record; nothing is written."""
    deps.store.settle()
    trace = require_context(
        deps.store.context(scope, context) if validation.is_storable(context) else None, scope, context
    )
    request, found = repeat_request(deps, trace)

    made = make_context(deps, request, found, _recorded_budget(trace), trace.depth, trace.marker)
    made = replace(made, id=trace.id)
    again = make_context_record(deps, made, request, found, trace.depth)
    differing = compare_records(trace, again, there=set(found.table.ids), departed=len(found.dropped_vectors))
    return Replay(made, differing)


def repeat_request(
    deps: Dependencies, trace: ContextRecord, profile: Profile | None = None
) -> "tuple[RecallRequest, RecallEvidence]":
    """Return a recorded request, and the evidence that the store had for it at its commit.

    `profile` replaces the recorded profile. A context imported from another store is asked by what is known here and
    now.
    """
    written = _read_profile_document(trace)
    chosen = _build_profile(trace, written) if profile is None else profile
    request = RecallRequest(
        made_at=trace.made_at,
        scope=trace.scope,
        question=Query(trace.question) if trace.question else None,
        profile=chosen,
        at=trace.at,
        present=trace.at == trace.made_at if trace.making is None else trace.making.present,
        past=trace.past,
        known_at=trace.known_at,
        kinds=frozenset(map(Kind, trace.kinds or Kind)),
        levels=_recorded_levels(trace),
        commit=None if trace.elsewhere else trace.commit,
        recorded_vectors=_recorded_vectors(deps, trace),
    )
    if chosen.hearing.value != written.get("hearing") and not _is_asked_verbatim(deps, request):
        request = replace(request, recorded_vectors=None)
    return request, find_evidence(deps, request)


def _is_asked_verbatim(deps: Dependencies, request: RecallRequest) -> bool:
    """Return whether the query is embedded unchanged, whatever the profile: it names no speaker."""
    from recollect.retrieval.evidence import EvidenceRequest

    if request.question is None:
        return True
    probe = EvidenceRequest(
        scope=request.scope,
        at=request.at,
        present=request.present,
        past=request.past,
        known_at=request.known_at,
        commit=request.commit,
        levels=request.levels,
    )
    text = request.question.text
    return QueryAnalysis.of(text, deps.store.speakers(probe)).phrasings == [text]


def _read_profile_document(trace: ContextRecord) -> ProfileDocument:
    """Return the profile document in a context record."""
    try:
        return read_formula(trace.formula)
    except ProfileError as error:
        raise _unreadable_profile(trace, str(error)) from error


def _build_profile(trace: ContextRecord, written: ProfileDocument) -> Profile:
    try:
        return build_profile(written, name=trace.profile)
    except ProfileError as error:
        raise _unreadable_profile(trace, str(error)) from error


def _unreadable_profile(trace: ContextRecord, why: str) -> Conflict:
    told = f"the context {show(trace.id)} was ranked by a formula that this version cannot read"
    return Conflict(f"{told}: {why}; replay it with the version that made it")


def _recorded_levels(trace: ContextRecord) -> frozenset[Level | None]:
    """Return the levels of the request; old records lack them and mean the defaults."""
    if trace.making is None and not trace.levels:
        return RECALL_LEVELS if trace.question else BRIEF_LEVELS
    return frozenset(parse_level("levels", one) for one in trace.levels)


def _recorded_vectors(deps: Dependencies, trace: ContextRecord) -> "Vectors | None":
    """Return the recorded query vectors, if they come from the present model."""
    import numpy as np

    making = trace.making
    if making is None or making.directions is None or making.encoder != deps.encoder:
        return None
    return np.frombuffer(base64.b64decode(making.directions), dtype="<f4").reshape(-1, deps.encoder.dimensions)


def _recorded_budget(trace: ContextRecord) -> Budget:
    making = trace.making
    if making is None:
        return Budget(trace.budget)
    reserves = {Kind(kind): room for kind, room in making.reserves.items()}
    return Budget(trace.budget, reserves=reserves, items=making.items, pinned_share=making.pinned_share)


MAX_CANDIDATES = 500
"""How many candidates of a context are examined: the best by the profile.

Packed memories are examined in addition.
"""

CONTEXTS_PER_PAGE = 500
"""How many contexts' votes are read at once."""

JudgedContext = tuple[ContextRecord, tuple[Vote, ...], tuple[Sign, ...]]
"""A context with its votes and signs."""


def collect_training_examples(
    deps: Dependencies, scope: Scope, profile: Profile, progress: ProgressListener
) -> "TrainingSet":
    """Return training data for a profile from the contexts of exactly this scope.

    Contexts come oldest first. Each is ranked again from what the store knew when it was made. Nothing counts as
    served, and no model is called. Contexts without feedback are ignored; others that cannot be used are counted by
    reason.
    """
    from recollect.model.training_example import SkipReason, TrainingSet

    deps.store.settle()
    left_out = Counter[SkipReason]()
    fit: list[JudgedContext] = []
    for one in _load_judged_contexts(deps, scope):
        trace, votes, signs = one
        if trace.elsewhere:
            left_out[SkipReason.OTHER_STORE] += 1
        elif not votes and all(sign.use is Use.FOLLOWED for sign in signs):
            left_out[SkipReason.ONLY_FOLLOWED] += 1
        elif trace.question and profile.question is QuestionPolicy.REFUSED:
            left_out[SkipReason.HAS_QUESTION] += 1
        elif not trace.question and profile.question is QuestionPolicy.NEEDED:
            left_out[SkipReason.NO_QUESTION] += 1
        elif not _is_ranked_by(trace, profile):
            left_out[SkipReason.OTHER_PROFILE] += 1
        else:
            fit.append(one)

    alone = replace(deps, embedder=_RecordedEmbedder(deps.encoder))
    found: list[TrainingExample] = []
    progress(0, len(fit))
    fit.sort(key=lambda one: (one[0].commit, one[0].id))  # in commit order, so that the store's cache helps
    for done, one in enumerate(fit, start=1):
        try:
            found.append(_make_training_example(alone, one, profile))
        except _VectorNotRecorded:
            left_out[SkipReason.UNRECORDED] += 1
        progress(done, len(fit))
    return TrainingSet(scopes=(scope,), told=tuple(sorted(found, key=lambda one: one.sort_key)), left_out=left_out)


class _VectorNotRecorded(Exception):
    """Raised when a context cannot be ranked again from recorded vectors alone."""


@dataclass(frozen=True, slots=True)
class _RecordedEmbedder:
    """Replaces the store's embedder, so that training sends no text to a model."""

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
    traces = deps.store.contexts(scope)
    while page := list(islice(traces, CONTEXTS_PER_PAGE)):
        ids = [trace.id for trace in page]
        votes = {id: tuple(some) for id, some in groupby(deps.store.votes(scope, ids), key=lambda one: one.context)}
        signs = {id: tuple(some) for id, some in groupby(deps.store.signs(scope, ids), key=lambda one: one.context)}
        for trace in page:
            if trace.id in votes or trace.id in signs:
                yield trace, votes.get(trace.id, ()), signs.get(trace.id, ())


def _is_ranked_by(trace: ContextRecord, profile: Profile) -> bool:
    """Return whether the context was ranked by this profile's formula, whatever its name."""
    try:
        written = build_profile(read_formula(trace.formula), name=profile.name)
    except ProfileError:
        return False
    return replace(written, version=profile.version, about=profile.about) == profile


def _make_training_example(deps: Dependencies, told: JudgedContext, profile: Profile) -> "TrainingExample":
    """Return a context with the signal values of its candidates."""
    import numpy as np

    from recollect.model.training_example import ShownMemory, TrainingExample
    from recollect.ranking.selection import score_columns

    trace, votes, signs = told
    request, found = repeat_request(deps, trace, profile)
    seen = score_columns(
        found.table,
        profile,
        request.at,
        asked=request.question is not None,
        fetch=found.candidates,
        rows=select_rows(found, request),
    )

    rows = {id: row for row, id in enumerate(found.table.ids)}
    packed = [placed.id for placed in trace.packed if placed.id in rows]
    shown = {id: seen.columns.row_index(rows[id]) for id in packed if seen.columns.has_row(rows[id])}
    best = np.argsort(-seen.scores, kind="stable")[:MAX_CANDIDATES]
    looked_at = np.union1d(best, np.array([*shown.values()], dtype=np.intp))
    ids = seen.columns.ids(looked_at)
    order = sorted(range(len(ids)), key=ids.__getitem__)
    candidates = {ids[row]: place for place, row in enumerate(order)}
    said = [one.opinions for one in seen.explain_rows_once(looked_at[order])]
    whole = trace.making is not None and trace.making.packed == len(packed)  # else one may have been erased
    places = _find_text_positions(found, [rows[id] for id in packed]) if whole else [None] * len(packed)
    return TrainingExample(
        context=trace.id,
        scope=trace.scope,
        question=trace.question,
        made_at=trace.made_at,
        opinions=np.array(said, dtype=np.float64).reshape(len(said), len(profile.uses)).T,
        shown=tuple(
            ShownMemory(MemoryId(id), place, candidates[id])
            for id, place in zip(packed, places, strict=True)
            if id in shown
        ),
        votes=votes,
        signs=signs,
    )


def _find_text_positions(found: "RecallEvidence", rows: Sequence[int]) -> list[int]:
    """Return the position of each packed memory in the rendered text, which is grouped by kind."""
    from recollect.model.table import KINDS

    kinds = found.table.kinds
    turns = [0 if kinds is None else READING_ORDER.index(KINDS[kinds[row]]) for row in rows]
    order = sorted(range(len(rows)), key=lambda one: (turns[one], one))
    return [order.index(one) + 1 for one in range(len(rows))]
