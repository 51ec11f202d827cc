"""Experience: what was recorded of the contexts that anybody said anything of, for whoever learns from it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import TYPE_CHECKING

from recollect.engine.context_records import read_formula
from recollect.engine.dependencies import Dependencies
from recollect.engine.recall import select_rows
from recollect.engine.replay import repeat_request
from recollect.errors import ProfileError
from recollect.model.context_record import ContextRecord
from recollect.model.encoder import Encoder
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.usage import Sign, Use, Vote
from recollect.packing.prompt import READING_ORDER
from recollect.protocols import ProgressListener, Purpose
from recollect.ranking.profile import Profile, QuestionPolicy
from recollect.ranking.profile_toml import build_profile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.model.training_example import TrainingExample, TrainingSet
    from recollect.retrieval.evidence import RecallEvidence

MAX_CANDIDATES = 500
"""How many candidates of a context are looked at, the best by the profile as it is; those that were shown are, too."""

CONTEXTS_PER_PAGE = 500
"""Of how many contexts the votes are asked for at once."""

JudgedContext = tuple[ContextRecord, tuple[Vote, ...], tuple[Sign, ...]]
"""A context with what was said of it."""


def collect_training_examples(
    world: Dependencies, scope: Scope, profile: Profile, progress: ProgressListener
) -> "TrainingSet":
    """What can be learned for the profile from the contexts of exactly that scope, the oldest first.

    Each is asked again, as the store knew things when it was made; that counts as no use, and no model is asked for it.
    Contexts that nobody said anything of are none; others that cannot be asked about are left out, and counted.
    """
    from recollect.model.training_example import SkipReason, TrainingSet

    world.store.settle()
    left_out = Counter[SkipReason]()
    fit: list[JudgedContext] = []
    for one in _load_judged_contexts(world, scope):
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

    alone = replace(world, embedder=_RecordedEmbedder(world.encoder))
    found: list[TrainingExample] = []
    progress(0, len(fit))
    fit.sort(key=lambda one: (one[0].commit, one[0].id))  # a store keeps what it last looked up
    for done, one in enumerate(fit, start=1):
        try:
            found.append(_make_training_example(alone, one, profile))
        except _VectorNotRecorded:
            left_out[SkipReason.UNRECORDED] += 1
        progress(done, len(fit))
    return TrainingSet(scopes=(scope,), examples=tuple(sorted(found, key=lambda one: one.sort_key)), skipped=left_out)


class _VectorNotRecorded(Exception):
    """A context cannot be asked again by what was recorded alone."""


@dataclass(frozen=True, slots=True)
class _RecordedEmbedder:
    """Stands for the embedder of the store, which is not asked: nothing that learning needs leaves the machine."""

    encoder: Encoder

    @property
    def name(self) -> str:
        return self.encoder.name

    @property
    def dimensions(self) -> int:
        return self.encoder.dimensions

    def embed(self, _: Sequence[str], __: Purpose) -> "NDArray[np.float32]":
        raise _VectorNotRecorded


def _load_judged_contexts(world: Dependencies, scope: Scope) -> Iterator[JudgedContext]:
    """Every context of the scope that anybody said anything of."""
    traces = world.store.contexts(scope)
    while page := list(islice(traces, CONTEXTS_PER_PAGE)):
        ids = [trace.id for trace in page]
        votes = {id: tuple(some) for id, some in groupby(world.store.votes(scope, ids), key=lambda one: one.context)}
        signs = {id: tuple(some) for id, some in groupby(world.store.signs(scope, ids), key=lambda one: one.context)}
        for trace in page:
            if trace.id in votes or trace.id in signs:
                yield trace, votes.get(trace.id, ()), signs.get(trace.id, ())


def _is_ranked_by(trace: ContextRecord, profile: Profile) -> bool:
    """Whether the profile ranked the context: the same formula, whatever it was called then."""
    try:
        written = build_profile(read_formula(trace.formula), name=profile.name)
    except ProfileError:
        return False
    return replace(written, version=profile.version, about=profile.about) == profile


def _make_training_example(world: Dependencies, told: JudgedContext, profile: Profile) -> "TrainingExample":
    """The context with what the profile says of its candidates."""
    import numpy as np

    from recollect.model.training_example import ShownMemory, TrainingExample
    from recollect.ranking.column_scores import score_columns

    trace, votes, signs = told
    request, found = repeat_request(world, trace, profile)
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
    whole = trace.making is not None and trace.making.packed == len(packed)  # else something above may be erased
    places = _find_text_positions(found, [rows[id] for id in packed]) if whole else [None] * len(packed)
    return TrainingExample(
        context=trace.id,
        scope=trace.scope,
        question=trace.question,
        made_at=trace.made_at,
        signal_values=np.array(said, dtype=np.float64).reshape(len(said), len(profile.uses)).T,
        shown=tuple(
            ShownMemory(MemoryId(id), place, candidates[id])
            for id, place in zip(packed, places, strict=True)
            if id in shown
        ),
        votes=votes,
        signs=signs,
    )


def _find_text_positions(found: "RecallEvidence", rows: Sequence[int]) -> list[int]:
    """At which place in the text each of these stood, which were packed in this order: a text goes by kind first."""
    from recollect.model.table import KINDS

    kinds = found.table.kinds
    turns = [0 if kinds is None else READING_ORDER.index(KINDS[kinds[row]]) for row in rows]
    order = sorted(range(len(rows)), key=lambda one: (turns[one], one))
    return [order.index(one) + 1 for one in range(len(rows))]
