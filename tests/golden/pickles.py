"""Pickles of the scores that users may keep: they carry the paths of our modules."""

import base64
import json
import pickle
from typing import Any

import recollect
from tests.upgrades.scenario import BEGIN, END

PROTOCOL = 4


def make_scores() -> dict[str, Any]:
    """Return the scores whose pickles are frozen."""
    updated = BEGIN.isoformat()
    ranking = recollect.rank([{"id": "a", "similarity": 0.5}], profile="five-signal", at=END)
    return {
        "SearchScore": recollect.SearchScore.of(fts5_rank=0.5, updated_at=updated, revision_count=3, now=END),
        "ContextScore": recollect.ContextScore.of(updated_at=updated, revision_count=3, type="preference", now=END),
        "score of a ranking": ranking[0].score,
    }


def dump_pickles() -> str:
    """Return the pickle of each score, in base64."""
    texts = {name: base64.b64encode(pickle.dumps(one, PROTOCOL)).decode() for name, one in make_scores().items()}
    return json.dumps(texts, indent=1) + "\n"
