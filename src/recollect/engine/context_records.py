"""Tracing: what a context was made of and with what, noted so that it can be made again."""

import base64
import hashlib
import json
from typing import TYPE_CHECKING

from recollect.engine.dependencies import World
from recollect.errors import ProfileError, show
from recollect.model.context_record import Making, Passed, Placed, Trace
from recollect.model.level import PLAIN
from recollect.model.memory import Kind
from recollect.packing.pack import Context
from recollect.ranking.profile_toml import Document, describe
from recollect.text import entities, tokenizer

if TYPE_CHECKING:
    from recollect.engine.recall import Request
    from recollect.retrieval.evidence import Found


def trace_of(world: World, context: Context, request: "Request", found: "Found", depth: int) -> Trace:
    """What the context was made of, which was made of what was found for the request."""
    ranking = context.ranking
    every_kind = len(request.kinds) == len(Kind)
    return Trace(
        id=context.id or "",
        scope=request.scope,
        made_at=request.made_at,
        at=request.at,
        commit=found.commit,
        known_at=request.known_at,
        question=() if request.question is None else request.question.turns,
        profile=ranking.profile,
        version=ranking.version,
        formula=json.dumps(describe(request.profile)),
        tokens=context.tokens,
        budget=context.budget.tokens,
        depth=depth,
        past=request.past,
        kinds=() if every_kind else tuple(sorted(kind.value for kind in request.kinds)),
        levels=tuple(sorted(PLAIN if one is None else one.value for one in request.levels)),
        marker=context.marker,
        packed=tuple(Placed(scored.id, float(scored.score)) for scored in context.packed),
        omitted=tuple(
            Passed(one.scored.id, float(one.scored.score), one.reason.value, one.cost) for one in context.omitted
        ),
        excluded=dict(ranking.excluded),
        making=_making(world, context, request, found),
    )


def read_formula(text: str) -> Document:
    """The profile that a trace has written out, whatever it says; a text that cannot be one is refused."""
    try:
        written = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(str(error)) from error
    if not isinstance(written, dict):
        raise ProfileError(f"{show(written)} is no profile")
    return written


def _making(world: World, context: Context, request: "Request", found: "Found") -> Making:
    budget, vectors = context.budget, found.vectors
    return Making(
        present=request.present,
        reserves={kind.value: room for kind, room in budget.reserves.items()},
        items=budget.items,
        pinned_share=budget.pinned_share,
        counter=world.count.name,
        analyser=tokenizer.VERSION,
        naming=entities.VERSION,
        encoder=None if request.question is None else world.encoder,
        directions=None if vectors is None else base64.b64encode(vectors.astype("<f4").tobytes()).decode("ascii"),
        directed=found.directed,
        packed=len(context.packed),
        omitted=len(context.omitted),
        text=hashlib.sha256(context.text.encode()).hexdigest(),
    )
