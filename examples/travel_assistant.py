"""An assistant that remembers across sessions: what it was told, what changed, and what helped.

Run from the root of a clone, with `source .venv/bin/activate`: `python examples/travel_assistant.py`.
"""

from datetime import UTC, datetime, timedelta

import recollect


def main() -> None:
    """Three sessions of an assistant that books trips, on one throw-away store."""
    today = datetime.now(UTC)
    with recollect.open(":memory:") as memory:
        first_session(memory, today - timedelta(days=90))
        second_session(memory, today - timedelta(days=20))
        third_session(memory, today)


def first_session(memory: recollect.Engine, at: datetime) -> None:
    """The team has a rule, and Ana says what she likes."""
    memory.remember("Trips above 2,000 euros need an approval", scope="acme", shared=True, kind="constraint", at=at)
    memory.remember("Ana prefers window seats", scope="acme/ana", kind="preference", topic_key="seat", at=at)
    memory.remember("Ana is allergic to peanuts", scope="acme/ana", kind="profile", pinned=True, at=at)


def second_session(memory: recollect.Engine, at: datetime) -> None:
    """Ana changes her mind: the same topic, a new revision."""
    receipt = memory.remember("Ana prefers aisle seats now", scope="acme/ana", topic_key="seat", at=at)
    print("what she said, and says now:", [version.text for version in memory.history(receipt.id, scope="acme/ana")])


def third_session(memory: recollect.Engine, at: datetime) -> None:
    """Before it books, the assistant asks what it knows, and says afterwards what helped."""
    context = memory.recall("book a seat on the flight to Berlin", scope="acme/ana", tokens=400)
    print(context.text)  # for the prompt
    print(context)  # for us
    seat = next(scored for scored in context.packed if "aisle" in scored.memory.text)
    memory.feedback(context.id or "", scope="acme/ana", helped=[seat.id])

    then = memory.search("which seat?", scope="acme/ana", as_of=at - timedelta(days=60))
    print("sixty days ago:", [scored.memory.text for scored in then])


if __name__ == "__main__":
    main()
