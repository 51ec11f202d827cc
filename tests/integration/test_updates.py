"""A new fact ends the old one of its subject, a restated one does not, and a look-alike is left alone."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.evaluation.duplicates import LabeledPair, read_pairs, shipped_pairs
from recollect.importers import FORMATS
from recollect.model.scope import Scope

T0 = datetime(2026, 1, 5, 9, tzinfo=UTC)
SCOPE = "acme/ana"

UNSEEN = Path(__file__).parent / "unseen_pairs.jsonl"
"""Pairs that were written without sight of any rule, and that no rule was mended by (ADR 0059)."""

UPDATES = [
    ("I live in Rome", "User lives in Oslo"),
    ("User has 2 cats.", "User has three cats."),
    ("The cache TTL is 60 s.", "The cache TTL is 60 ms."),
    ("User's visa expires on 3 May 2026.", "User's visa expires on 3 June 2026."),
    ("User is not married.", "User is married."),
    ("User drinks coffee.", "User doesn't drink coffee."),
    ("The service runs on Python 3.11.", "The service runs on Python 3.12."),
    ("User prefers tabs over spaces.", "User prefers spaces over tabs."),
    ("PR 482 is open.", "PR 482 was merged."),
    ("User's dentist is Dr Hansen.", "User's dentist is Dr Jansen."),
    ("I work at Initech as a tester", "I work at Globex now"),
    ("I work at Initech", "I work for Globex"),
    ("I live in Berlin", "I moved to Madrid last week"),
    ("Ana lives in Lisbon", "Ana no longer lives in Lisbon"),
    ("The deploy takes 20 minutes", "The deploy takes 5 minutes"),
    ("Ana has a dog", "Ana has two dogs"),
    ("The project uses MySQL", "The project migrated from MySQL to Postgres"),
    ("User hates cilantro", "User likes cilantro"),
    ("User's country is Argentina", "User's country is Armenia"),
]

LOOK_ALIKES = [
    ("The timeout is 30 s", "The timeout is 60 s on staging"),
    ("My daughter's name is Mia", "My daughter's name is Lea"),
    ("My flight is at 10:00", "My flight is at 18:00"),
    ("The owner of repo A is Ana", "The owner of repo a is Bo"),
    ("User likes tea", "User doesn't like green tea"),
    ("User lives in Mexico", "User lives in Oaxaca, Mexico"),
    ("User lives in Rome", "User's father lives in Oslo"),
    ("The subscription costs 12 euros a month", "The subscription costs 120 euros a year"),
    ("I work at Initech as a tester", "I work as a volunteer firefighter"),
    ("Ana works at Initech", "Ana works for Bob"),
    ("I live in Berlin", "I moved to a new desk"),
    ("I live in Berlin", "I moved to Slack last week"),
    ("Ana lives in Lisbon", "Ana no longer lives in Porto"),
    ("The deploy takes 20 minutes", "The deploy takes 5 minutes on staging"),
    ("Ana has a dog", "Ana has the dog"),
    ("I have a key", "I do not have the key"),
    ("The price is 20 EUR", "The price is 16 EUR net"),
    ("My insulin is at 8am", "My insulin is at 8pm"),
    ("I want to learn French", "I want to learn Italian"),
    ("Interest Rate: 22%", "Interest Rate: 0%"),
    ("User hates cilantro", "User can't stand cilantro"),
    ("The project uses MySQL", "The project migrated from Oracle to Postgres"),
]


@pytest.fixture
def memory() -> Iterator[recollect.Engine]:
    moments = (T0 + timedelta(minutes=minute) for minute in range(10**9))
    with recollect.open(":memory:", embedder="hashing-256", clock=lambda: next(moments)) as engine:
        yield engine


def holding(memory: recollect.Engine, *said: str) -> list[str]:
    """Those of the texts that are found by their words, and hold."""
    return sorted(one.memory.text for one in memory.search(" ".join(said), scope=SCOPE, limit=10))


@pytest.mark.parametrize(("old", "new"), UPDATES)
def test_an_update_ends_what_it_takes_the_place_of(memory: recollect.Engine, old: str, new: str) -> None:
    known = memory.remember(old, scope=SCOPE, kind="fact")
    verdict = memory.remember(new, scope=SCOPE, kind="fact").verdict
    assert isinstance(verdict, recollect.types.Superseded)
    assert verdict.old == known.id
    assert holding(memory, old, new) == [new]


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKES)
def test_a_look_alike_is_left_alone(memory: recollect.Engine, one: str, other: str) -> None:
    memory.remember(one, scope=SCOPE, kind="fact")
    assert isinstance(memory.remember(other, scope=SCOPE, kind="fact").verdict, recollect.types.Created)
    assert holding(memory, one, other) == sorted([one, other])


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("Ana lives in Rome", "ana lives in Rome."),
        ("The meeting with Bob is at 3 pm", "The meeting with Bob is at 15:00"),
        ("Ana's favourite colour is blue", "Ana's favorite color is blue."),
        ("User doesn't drink coffee", "User does not drink coffee."),
    ],
)
def test_a_restatement_ends_nothing(memory: recollect.Engine, said: str, again: str) -> None:
    memory.remember(said, scope=SCOPE, kind="fact")
    verdict = memory.remember(again, scope=SCOPE, kind="fact").verdict
    assert isinstance(verdict, recollect.types.Reinforced | recollect.types.Updated)
    assert len(holding(memory, said, again)) == 1


def test_a_denial_ends_only_what_it_denies_and_is_ended_when_that_holds_again(memory: recollect.Engine) -> None:
    home, denial, next_home = "Ana lives in Lisbon", "Ana no longer lives in Lisbon", "Ana moved to Porto"
    for text in (home, denial, next_home):
        memory.remember(text, scope=SCOPE, kind="fact")
    assert holding(memory, home, denial, next_home) == sorted([denial, next_home])
    memory.remember("Ana has moved to Lisbon", scope=SCOPE, kind="fact")
    assert holding(memory, home, denial, next_home) == ["Ana has moved to Lisbon"]


@pytest.mark.parametrize("texts", [("The price is 5", "The price is 7"), ("I live in Rome", "I live in Oslo")])
def test_two_speakers_do_not_end_each_others_truths(memory: recollect.Engine, texts: tuple[str, str]) -> None:
    for speaker, text in zip(("Zoe", "Bob"), texts, strict=True):
        memory.remember(text, scope=SCOPE, speaker=speaker)
    assert holding(memory, *texts) == sorted(texts)


BESIDE: list[Callable[[str], dict[str, Any]]] = [
    lambda name: {"title": name},
    lambda name: {"source": name},
    lambda name: {"session": name},
    lambda name: {"title": name, "session": "the same for all"},
]


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize(
    ("kitchen", "wedding", "later"),
    [
        ("Port: 80", "Port: 5432", "Port: 5433"),
        ("The budget is 500 euros", "The budget is 900 euros", "The budget is 950 euros"),
        ("SIZE_A = 5", "SIZE_A = 10", "SIZE_A = 20"),
    ],
)
def test_what_has_no_name_is_ended_only_beside_the_same(
    memory: recollect.Engine, kitchen: str, wedding: str, later: str, beside: Callable[[str], dict[str, Any]]
) -> None:
    memory.remember(kitchen, scope=SCOPE, **beside("Kitchen"))
    known = memory.remember(wedding, scope=SCOPE, **beside("Wedding"))
    assert isinstance(known.verdict, recollect.types.Created)
    verdict = memory.remember(later, scope=SCOPE, **beside("Wedding")).verdict
    assert isinstance(verdict, recollect.types.Superseded)
    assert verdict.old == known.id
    assert holding(memory, kitchen, wedding, later) == sorted([kitchen, later])


def test_two_users_of_mem0_in_one_scope_do_not_end_each_others_truths(memory: recollect.Engine) -> None:
    items = [
        {"id": "m1", "memory": "User lives in Rome", "user_id": "ana", "created_at": "2026-01-01T00:00:00Z"},
        {"id": "m2", "memory": "User lives in Oslo", "user_id": "bo", "created_at": "2026-01-02T00:00:00Z"},
        {"id": "m3", "memory": "User lives in Lisbon", "user_id": "ana", "created_at": "2026-01-03T00:00:00Z"},
    ]
    memory.remember_all(FORMATS["mem0"].read([json.dumps(items)], Scope.parse(SCOPE), source=None, now=T0))
    assert holding(memory, "Where does the user live: Rome, Oslo or Lisbon?") == [
        "User lives in Lisbon",
        "User lives in Oslo",
    ]


def verdicts_on(pairs: Iterable[LabeledPair], memory: recollect.Engine) -> Counter[tuple[str, str]]:
    """What becomes of the second text of each pair when the first is known, by the label of the pair."""
    found = Counter[tuple[str, str]]()
    for number, pair in enumerate(pairs):
        scope = f"pairs/p{number}"
        memory.remember(pair.old, scope=scope, kind="fact", speaker=pair.speaker)
        verdict = memory.remember(pair.new, scope=scope, kind="fact", speaker=pair.speaker).verdict
        found[pair.label, type(verdict).__name__] += 1
    return found


@pytest.mark.parametrize(
    ("pairs", "least"), [(shipped_pairs(), 142), (read_pairs(UNSEEN.read_text().splitlines()), 38)]
)
def test_labelled_updates_supersede_and_nothing_else_that_is_labelled_does(
    pairs: Sequence[LabeledPair], least: int, memory: recollect.Engine
) -> None:
    verdicts = verdicts_on(pairs, memory)
    assert verdicts["update", "Superseded"] >= least
    assert {verdict for label, verdict in verdicts if label == "other"} == {"Created"}
    assert verdicts["update", "Reinforced"] == 0
