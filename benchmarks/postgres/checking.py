"""Checking: what is filled by COPY answers as what was remembered, to the last bit."""

from collections.abc import Sequence
from contextlib import closing

from tests.postgres import Server

import recollect
from postgres import filling
from postgres.material import AT, Made, Material, Question, Told
from recollect.model.context import Use, Vote
from recollect.protocols import WriteTransaction
from recollect.stores.postgres.store import PostgresStore
from recollect.testing.builders import cast_votes, count_uses

ROWS, QUESTIONS = 300, 12
PROFILES = ("three-signal", "five-signal", "salience", "default")
Answers = list[tuple[str, float]]


def check(server: Server, dimensions: int) -> str:
    """Fill one database by COPY and have another one remember the same; says what was compared."""
    material = Material(rows=ROWS, scopes=1, dimensions=dimensions)
    chunk, questions = material.chunk(0, 0, ROWS), material.questions(QUESTIONS)
    with server.database() as copied, server.database() as remembered:
        for name in (copied, remembered):
            server.trust_vector(name)
        _remember(server.url(remembered), chunk, dimensions)
        recollect.open(server.url(copied), embedder=Told(dimensions)).close()
        with server.admin(copied) as db:
            filling.admit(db)
            filling.begin(db, dimensions)
            filling.fill(db, chunk)
        expected, found = (_answers(server.url(name), questions, dimensions) for name in (remembered, copied))
    if found != expected:
        wrong = sum(1 for one, other in zip(found, expected, strict=True) if one != other)
        raise SystemExit(
            f"{wrong} of {len(expected)} rankings differ between a store filled by COPY and a remembered one"
        )
    return f"filled by COPY as remembered: {len(expected)} rankings of {ROWS} memories have the same ids and scores"


def _remember(url: str, chunk: Sequence[Made], dimensions: int) -> None:
    with recollect.open(url, embedder=Told(dimensions), clock=lambda: AT) as engine:
        receipts = engine.remember_all([one.draft(one.former or one.said) for one in chunk])
        receipts += engine.remember_all([one.draft(one.said) for one in chunk if one.former is not None])
    verdicts = {type(one.verdict).__name__ for one in receipts}
    if verdicts != {"Created", "Updated"}:
        raise SystemExit(f"not all that is made up was news: {', '.join(sorted(verdicts))}")
    with closing(PostgresStore(url, lambda: AT)) as store:
        store.write(lambda writing: _use(writing, chunk))


def _use(writing: WriteTransaction, chunk: Sequence[Made]) -> None:
    for one in chunk:
        for number in range(one.served):
            assert one.served_at is not None
            count_uses(writing, one.scope, [one.id], Use.SERVED, one.served_at, f"context {number}")
        cast = [Use.HELPED] * one.helped + [Use.MISLED] * one.misled
        cast_votes(
            writing,
            one.scope,
            [
                Vote(context=f"context {number}", memory=one.id, by=f"voter {number}", use=use, at=AT)
                for number, use in enumerate(cast)
            ],
        )


def _answers(url: str, questions: Sequence[Question], dimensions: int) -> list[Answers]:
    with recollect.open(url, embedder=Told(dimensions, questions), clock=lambda: AT) as engine:
        return [
            [(one.id, float(one.score)) for one in engine.search(asked.text, scope=asked.scope, profile=profile)]
            for profile in PROFILES
            for asked in questions
        ]
