"""Loading a folder into an engine and asking its queries: what stands for what, and what nothing may change."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import InvalidInput
from recollect.evaluation import runner
from recollect.evaluation.judgments import Judgments, read_judgments
from recollect.evaluation.report import QueryAnswer
from recollect.packing.pack import pack
from recollect.packing.prompt import Prompt
from recollect.ranking.profiles import builtin_profile
from tests.tables import table

from .folder import ASKED, a_memory, a_query, write_folder

TEXTS = (
    "Ana prefers window seats on long flights",
    "Ben likes the aisle",
    "the office in Berlin is at Ostkreuz",
    "invoices go to accounting once a month",
    "Ana flies from Lisbon",
    "flights before eight are too early for Ana",
)


def untold(done: int, total: int) -> None:
    """Nobody wants to know how far it is."""


def judged(folder: Path, memories: Iterable[Mapping[str, Any]], *qrels: str, **asked: Any) -> Judgments:
    query = a_query("q", **{"text": "which seat does Ana prefer on flights?", **asked})
    return read_judgments(write_folder(folder, memories, [query], [("q", id, 1) for id in qrels]))


def opened(judgements: Judgments, target: Path | str = ":memory:", **more: Any) -> recollect.Engine:
    return recollect.open(target, **{"embedder": "hashing", "clock": lambda: judgements.ended_at, **more})


def asked(judgements: Judgments, profile: str = "salience") -> QueryAnswer:
    with opened(judgements) as engine:
        loaded = runner.load_folder(engine, judgements, untold)
        (answer,) = runner.ask_queries(engine, judgements, loaded, builtin_profile(profile), report_progress=untold)
    return answer


def numbered(texts: Iterable[str] = TEXTS) -> list[dict[str, Any]]:
    return [a_memory(f"m{number}", text) for number, text in enumerate(texts)]


def of_topics() -> list[dict[str, Any]]:
    """The same, each of a topic, within which a text that repeats is merged."""
    return [{**memory, "topic_key": memory["id"]} for memory in numbered()]


def test_ids_of_the_folder_come_back_best_first(tmp_path: Path) -> None:
    answer = asked(judged(tmp_path, numbered(), "m0"))
    assert answer.found_ids[0] == "m0"
    assert sorted(answer.found_ids) == [f"m{number}" for number in range(len(TEXTS))]
    assert answer.complete
    assert answer.exact
    assert answer.duration > timedelta(0)


def test_what_is_later_than_a_query_is_not_there_for_it(tmp_path: Path) -> None:
    memories = [*numbered(), a_memory("later", TEXTS[0] + "!", created_at="2026-02-01T00:00:01+00:00")]
    at_once = a_memory("at once", TEXTS[0] + "?", created_at=ASKED)
    answer = asked(judged(tmp_path, [*memories, at_once], "later", "at once"))
    assert "later" not in answer.found_ids
    assert "at once" in answer.found_ids[:2]
    assert not answer.complete


def test_nothing_is_taken_from_another_scope(tmp_path: Path) -> None:
    memories = [*numbered(), a_memory("theirs", TEXTS[0], scope="acme/ben")]
    assert "theirs" not in asked(judged(tmp_path, memories, "theirs")).found_ids


def test_every_text_that_repeats_is_a_memory_with_a_place_of_its_own(tmp_path: Path) -> None:
    same = [a_memory("m0 again", TEXTS[0]), a_memory("m0 once more", TEXTS[0], topic_key="seat")]
    in_other_words = a_memory("m0 reworded", "Ana prefers window seats on flights that are long")
    answer = asked(judged(tmp_path, [*numbered(), *same, in_other_words], "m0", "m0 again", "m0 once more", "nowhere"))
    assert len(answer.found_ids) == len(TEXTS) + 3
    assert sorted(answer.found_ids[:4]) == ["m0", "m0 again", "m0 once more", "m0 reworded"]
    places = [answer.find_place(id) for id in ("m0", "m0 again", "m0 once more")]
    assert len(set(places)) == 3
    assert (answer.twins, answer.find_place("nowhere")) == ({}, None)
    assert answer.measure([200])["recall@200"] == 3 / 4


@table("grades", [{}, {"m0 twin": 3}, {"m0": 3, "m4": 2}])
def test_a_perfect_ranking_of_memories_with_twins_is_worth_exactly_1(grades: dict[str, int], tmp_path: Path) -> None:
    twins = [a_memory(id, TEXTS[0], topic_key="seat") for id in ("m0", "m0 twin")]
    memories = [*twins, a_memory("m4", TEXTS[4])]
    qrels = [("q", id, grades.get(id, 1)) for id in ("m0", "m0 twin", "m4")]
    folder = write_folder(tmp_path, memories, [a_query("q", TEXTS[0])], qrels)
    answer = asked(read_judgments(folder))
    assert answer.found_ids == ("m0", "m4")
    assert answer.complete
    assert answer.measure([2]) == {"recall@2": 1.0, "any@2": 1.0, "ndcg@2": 1.0, "mrr": 1.0}


@table("more", [{}, {"project": "travel"}, {"importance": 0.9}, {"tags": ["seat"]}])
def test_a_twin_is_credited_whatever_else_it_says(more: dict[str, Any], tmp_path: Path) -> None:
    twin = a_memory("twin", TEXTS[0], topic_key="m0", created_at="2026-01-15T00:00:00+00:00", **more)
    answer = asked(judged(tmp_path, [twin, *of_topics()], "twin"))
    assert (answer.found_ids[0], answer.twins) == ("m0", {"twin": "m0"})
    assert (answer.find_place("twin"), answer.complete) == (1, True)
    assert len(answer.found_ids) == len(TEXTS)


def test_a_twin_that_is_later_than_the_query_is_not_credited(tmp_path: Path) -> None:
    twin = a_memory("twin", TEXTS[0], topic_key="m0", created_at="2026-02-15T00:00:00+00:00", project="travel")
    answer = asked(judged(tmp_path, [twin, *of_topics()], "m0", "twin"))
    assert answer.found_ids[0] == "m0"
    assert (answer.twins, answer.find_place("twin"), answer.complete) == ({}, None, False)


def test_a_store_that_is_kept_says_again_which_memory_stands_for_which(tmp_path: Path) -> None:
    twins = [
        a_memory("twin", TEXTS[0], topic_key="m0"),
        a_memory("other twin", TEXTS[0], topic_key="m0", project="travel"),
    ]
    judgements = judged(tmp_path, [*of_topics(), *twins], "twin")
    loaded = []
    for _ in range(2):
        with opened(judgements, tmp_path / "kept.db") as engine:
            loaded.append(runner.load_folder(engine, judgements, untold))
    assert loaded[0] == loaded[1]
    assert [one.id for one in loaded[0].histories["twin"].sources] == ["m0", "other twin", "twin"]


class Counting:
    """An embedder that counts what it is asked for."""

    name, dimensions = "counting", 2

    def __init__(self) -> None:
        self.texts = 0

    def embed(self, texts: list[str], purpose: str) -> list[list[float]]:
        self.texts += len(texts)
        return [[1.0, float(len(text))] for text in texts]


def test_what_is_loaded_already_is_not_embedded_again(tmp_path: Path) -> None:
    judgements, embedded = judged(tmp_path, numbered(), "m0"), []
    for _ in range(2):
        counting = Counting()
        with opened(judgements, tmp_path / "kept.db", embedder=counting) as engine:
            runner.load_folder(engine, judgements, untold)
        embedded.append(counting.texts)
    assert embedded == [len(TEXTS), 0]


def test_a_load_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    many = [a_memory(f"m{number:03}", f"note number {number}") for number in range(2 * runner.BATCH_SIZE)]
    judgements = judged(tmp_path, many, "m000")

    def stop(done: int, total: int) -> None:
        if 0 < done < total:
            raise KeyboardInterrupt

    with opened(judgements, tmp_path / "kept.db") as engine, pytest.raises(KeyboardInterrupt):
        runner.load_folder(engine, judgements, stop)
    with opened(judgements, tmp_path / "kept.db") as engine:
        assert engine.stats().memories == runner.BATCH_SIZE
        assert len(runner.load_folder(engine, judgements, untold).histories) == 2 * runner.BATCH_SIZE


ALTERED: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "a text": lambda memories: [{**memories[0], "text": "another"}, *memories[1:]],
    "one more": lambda memories: [*memories, a_memory("new", "something new")],
    "one less": lambda memories: memories[1:],
    "one less at the end": lambda memories: memories[:-1],
    "other ids": lambda memories: [{**memory, "id": f"n{memory['id']}"} for memory in memories],
    "another scope": lambda memories: [{**memory, "scope": "acme/ben"} for memory in memories],
}


@pytest.mark.parametrize("change", ALTERED.values(), ids=list(ALTERED))
def test_a_folder_that_was_altered_is_refused_and_the_store_stays_as_it_was(
    change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], tmp_path: Path
) -> None:
    before = judged(tmp_path, numbered(), "m0")
    with opened(before, tmp_path / "kept.db") as engine:
        runner.load_folder(engine, before, untold)
        kept = engine.stats()
    after = judged(tmp_path, change(numbered()), "m0")
    with opened(after, tmp_path / "kept.db") as engine:
        with pytest.raises(InvalidInput, match="name another file with --store"):
            runner.load_folder(engine, after, untold)
        assert (engine.stats().memories, engine.stats().versions) == (kept.memories, kept.versions)


CHANGES: dict[str, Callable[[recollect.Engine], object]] = {
    "remembered": lambda engine: engine.remember("one more", scope="acme/ben"),
    "revised": lambda engine: engine.revise("m0", "said otherwise", scope="acme/ana"),
    "forgotten": lambda engine: engine.forget("m0", scope="acme/ana"),
    "pinned": lambda engine: engine.pin("m0", scope="acme/ana"),
    "recalled": lambda engine: engine.recall("seat", scope="acme/ana"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_store_that_was_used_otherwise_is_refused(
    change: Callable[[recollect.Engine], object], tmp_path: Path
) -> None:
    judgements = judged(tmp_path, numbered(), "m0")
    with opened(judgements, tmp_path / "kept.db") as engine:
        runner.load_folder(engine, judgements, untold)
        change(engine)
    with opened(judgements, tmp_path / "kept.db") as engine, pytest.raises(InvalidInput, match="name another file"):
        runner.load_folder(engine, judgements, untold)


def test_asking_changes_nothing(tmp_path: Path) -> None:
    judgements = judged(tmp_path, numbered(), "m0")
    with opened(judgements) as engine:
        loaded = runner.load_folder(engine, judgements, untold)
        before = list(engine.export())
        answers = [
            runner.ask_queries(engine, judgements, loaded, builtin_profile("default"), report_progress=untold)
            for _ in range(2)
        ]
        assert list(engine.export()) == before
    assert [one.found_ids for one in answers[0]] == [one.found_ids for one in answers[1]]


def test_the_tokens_needed_are_the_least_budget_that_takes_all_up_to_the_last_judged(tmp_path: Path) -> None:
    judgements = judged(tmp_path, numbered(), "m0", "m4", "nowhere")
    with opened(judgements) as engine:
        loaded = runner.load_folder(engine, judgements, untold)
        (answer,) = runner.ask_queries(engine, judgements, loaded, builtin_profile("salience"), report_progress=untold)
        (query,) = judgements.queries
        ranking = engine.search(query.text, scope=query.scope, profile="salience", as_of=query.asked_at)
    assert answer.tokens is not None
    last = max(answer.found_ids.index(id) for id in ("m0", "m4"))
    enough, short = (
        pack(ranking, recollect.Budget(tokens), Prompt("7" * 18)) for tokens in (answer.tokens, answer.tokens - 1)
    )
    assert [one.id for one in enough.packed] == list(answer.found_ids[: last + 1])
    assert enough.tokens == answer.tokens
    assert answer.found_ids[last] not in [one.id for one in short.packed]
    assert not answer.complete


def test_what_a_profile_never_packs_is_out_of_reach(tmp_path: Path) -> None:
    many = [a_memory(f"m{number:02}", f"seat number {number}, Ana") for number in range(40)]
    answer = asked(judged(tmp_path, many, "m00", "m39"), "assistant")
    most = builtin_profile("assistant").max_items
    assert most is not None
    reached = {"m00", "m39"} & set(answer.found_ids[:most])
    assert len(answer.found_ids) == len(many)
    assert answer.complete == (len(reached) == 2)
    assert (answer.tokens is None) == (not reached)
