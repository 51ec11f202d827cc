"""Records of contexts: what a context was made of, so that it can be replayed."""

import base64
import hashlib
import json
from typing import TYPE_CHECKING

from recollect.engine.dependencies import Dependencies
from recollect.errors import ProfileError, show
from recollect.model.context import ContextRecipe, ContextRecord, OmittedEntry, PackedEntry
from recollect.model.enums import PLAIN_LEVEL_NAME, Kind
from recollect.packing.pack import Context
from recollect.ranking.profile_toml import ProfileDocument, profile_to_document
from recollect.text import entities, tokenizer

if TYPE_CHECKING:
    from recollect.engine.recall import RecallRequest
    from recollect.retrieval.evidence import RecallEvidence


def make_context_record(
    world: Dependencies, context: Context, request: "RecallRequest", found: "RecallEvidence", depth: int
) -> ContextRecord:
    """Return the record of a context made from this evidence."""
    ranking = context.ranking
    every_kind = len(request.kinds) == len(Kind)
    return ContextRecord(
        id=context.id or "",
        scope=request.scope,
        made_at=request.made_at,
        at=request.at,
        commit=found.commit,
        known_at=request.known_at,
        question=() if request.question is None else request.question.turns,
        profile=ranking.profile,
        version=ranking.version,
        formula=json.dumps(profile_to_document(request.profile)),
        tokens=context.tokens,
        budget=context.budget.tokens,
        depth=depth,
        past=request.past,
        kinds=() if every_kind else tuple(sorted(kind.value for kind in request.kinds)),
        levels=tuple(sorted(PLAIN_LEVEL_NAME if one is None else one.value for one in request.levels)),
        marker=context.marker,
        packed=tuple(PackedEntry(scored.id, float(scored.score)) for scored in context.packed),
        omitted=tuple(
            OmittedEntry(one.scored.id, float(one.scored.score), one.reason.value, one.cost) for one in context.omitted
        ),
        excluded=dict(ranking.excluded),
        making=_make_recipe(world, context, request, found),
    )


def read_formula(text: str) -> ProfileDocument:
    """Read the profile document in a context record; raise ProfileError if it is not one."""
    try:
        written = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(str(error)) from error
    if not isinstance(written, dict):
        raise ProfileError(f"{show(written)} is no profile")
    return written


def _make_recipe(
    world: Dependencies, context: Context, request: "RecallRequest", found: "RecallEvidence"
) -> ContextRecipe:
    budget, vectors = context.budget, found.vectors
    return ContextRecipe(
        present=request.present,
        reserves={kind.value: room for kind, room in budget.reserves.items()},
        items=budget.items,
        pinned_share=budget.pinned_share,
        counter=world.count_tokens.name,
        analyser=tokenizer.VERSION,
        naming=entities.VERSION,
        encoder=None if request.question is None else world.encoder,
        directions=None if vectors is None else base64.b64encode(vectors.astype("<f4").tobytes()).decode("ascii"),
        directed=found.similarity_count,
        packed=len(context.packed),
        omitted=len(context.omitted),
        text=hashlib.sha256(context.text.encode()).hexdigest(),
    )
