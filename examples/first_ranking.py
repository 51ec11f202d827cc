"""A first ranking: what an agent knows about a deploy, ranked, explained, and packed for a model.

Run from the root of a clone, with `source .venv/bin/activate`: `python examples/first_ranking.py`.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import recollect

QUESTION = "When may I deploy the billing service, and how?"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CANDIDATES = Path(__file__).with_name("candidates.jsonl")
MARKER = "5f1d0c2a9b7e4d38"
"""Fixed, so that the story is the same every time; elsewhere use `secrets.token_hex(8)`, once per context."""


def main() -> None:
    """Tell the story."""
    lines = CANDIDATES.read_text(encoding="utf-8").splitlines()
    candidates = [json.loads(line) for line in lines]

    ranking = recollect.rank(candidates, "default", NOW)
    print(f"{QUESTION}\n")
    for place, scored in enumerate(ranking, start=1):
        print(f"{place}. {scored.score:.3f}  {scored.memory.text}")
    print(f"left out: {dict(ranking.excluded)}\n")

    old = next(scored for scored in ranking if scored.id == "deploy-day-2024")
    print(f"why {old.id} has {old.score:.3f}:")
    for part in old.explanation.parts:
        if part.points:
            print(f"  + {part.points:.3f}  {part.signal}{' (assumed)' if part.assumed else ''}")
    for scale in old.explanation.scales:
        print(f"  × {scale.times:.3f}  {scale.factor}: {scale.note}")

    among_two = recollect.why(old.id, candidates, "default", NOW, limit=2)
    print("it would have been among the best two with one of")
    for change in among_two.changes:
        print(f"  {change.signal} {change.needed:.3f} instead of {change.value:.3f}")

    budget = recollect.Budget.for_window(1_000, messages=100, reserves={recollect.Kind.CONSTRAINT: 80})
    context = recollect.pack(ranking, budget, recollect.Prompt(MARKER))
    print(f"\n{context.tokens} of {budget.tokens} tokens, some of them kept for constraints:\n\n{context.text}")
    for omitted in context.omitted:
        print(f"omitted {omitted.scored.id}: {omitted.reason}, {omitted.short} tokens short")


if __name__ == "__main__":
    main()
