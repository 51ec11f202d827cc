"""A folder in which old memories are needed, and a profile that asks for new ones: what tuning is to put right."""

from pathlib import Path

from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import parse_profile

from .folder import a_memory, a_query, write_folder

SUBJECTS = ("seats", "meals", "hotels", "trains", "invoices", "visas", "luggage", "miles")
PEOPLE = ("ana", "ben", "cleo", "dan")

WRONG = """
about = "Rank by what is fresh and long, and hardly by what it says."
version = "1"
question = "needed"

[terms]
lexical = { weight = 0.2, missing = 0.0 }
recency = { weight = 0.4, missing = 0.5, half_life = "30d" }
importance = { weight = 0.12, missing = 0.5 }
substance = { weight = 0.28, missing = 0.0, cap = 20 }
confidence = { weight = 0.0, missing = 0.5 }

[factors]
rarity = { floor = 0.6, missing = 1.0, rate = 0.15 }
"""


def wrong(name: str = "fresh") -> Profile:
    """The profile that finds little in the folder."""
    return parse_profile(WRONG, name=name)


def fresh_folder(folder: Path, people: tuple[str, ...] = PEOPLE) -> Path:
    """Each person said something about every subject long ago, and much about nothing since."""
    said = [
        a_memory(
            f"{who}-{what}", f"{who} decided about {what}", scope=f"acme/{who}", created_at=f"2025-0{month}-01T00:00Z"
        )
        for who in people
        for month, what in enumerate(SUBJECTS, start=1)
    ]
    talk = [
        a_memory(
            f"{who}-talk{day}",
            f"{who} talked {'on and on ' * day} on day {day}, and nothing came of it",
            scope=f"acme/{who}",
            created_at=f"2026-01-{day:02}T00:00Z",
        )
        for who in people
        for day in range(1, 13)
    ]
    asked = [
        a_query(f"{who}-q-{what}", f"what was decided about {what}?", scope=f"acme/{who}")
        for who in people
        for what in SUBJECTS
    ]
    needed = [(f"{who}-q-{what}", f"{who}-{what}", 1) for who in people for what in SUBJECTS]
    return write_folder(folder, [*said, *talk], asked, needed)
