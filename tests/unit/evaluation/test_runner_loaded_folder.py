"""What became of a folder's memories: which ids a stored memory has the words of, and why others are not found."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import factory
from recollect.evaluation import runner
from recollect.evaluation.judgments import read_judgments
from recollect.evaluation.report import QueryAnswer
from recollect.evaluation.training_set import TunableNumbers, build_training_set
from recollect.ranking.profiles import builtin_profile
from tests.examples import at_most

from .folder import a_memory, a_query, write_folder
from .test_training_set import untold

CAT, DOG = "the cat sat on the mat", "the dog lay under a table"
EVERYTHING = builtin_profile("salience")
"""Which has no gates: whatever a query sees is found."""


def on(month: int) -> str:
    return f"2026-{month:02}-01T00:00:00+00:00"


def cat_and_dog(**more: Any) -> list[dict[str, Any]]:
    """In March the topic's text of January is replaced."""
    said = [("A", CAT, 1), ("B", DOG, 3)]
    return [a_memory(id, text, topic_key="cat", created_at=on(month), **more) for id, text, month in said]


def asked_in(
    folder: Path, months: Sequence[int], memories: Sequence[dict[str, Any]]
) -> tuple[runner.JudgmentStore, list[QueryAnswer]]:
    """The folder in a store, and the answers to a query a month, for each of which every memory is judged."""
    queries = [a_query(f"q{month}", "cat or dog?", asked_at=on(month)) for month in months]
    qrels = [(query["id"], memory["id"], 1) for query in queries for memory in memories]
    judgements = read_judgments(write_folder(folder, memories, queries, qrels))
    there = runner.load_judgment_store(judgements, partial(factory.open, folder / "kept.db", embedder="hashing"))
    return there, there.ask(EVERYTHING)


def found(answer: QueryAnswer) -> list[str]:
    return [id for id in answer.query.grades if answer.find_place(id) is not None]


def test_a_memory_is_found_until_another_replaces_it_and_that_one_from_then_on(tmp_path: Path) -> None:
    there, answers = asked_in(tmp_path, [2, 3, 4], cat_and_dog())
    assert [found(answer) for answer in answers] == [["A"], ["B"], ["B"]]
    assert [answer.found_ids for answer in answers] == [("A",), ("B",), ("B",)]
    assert [answer.replaced_ids for answer in answers] == [(), ("A",), ("A",)]
    assert [answer.complete for answer in answers] == [False, False, False]
    assert (there.merged_count, there.invisible_count, there.judgments.late_pairs) == (0, 0, 1)


def test_a_kept_store_says_the_same_again(tmp_path: Path) -> None:
    (there, answers), (again, anew) = (asked_in(tmp_path, [2, 4], cat_and_dog()) for _ in range(2))
    assert there.loaded == again.loaded
    assert [(one.found_ids, one.twins, one.replaced_ids) for one in answers] == [
        (one.found_ids, one.twins, one.replaced_ids) for one in anew
    ]


def test_what_is_said_again_after_it_was_replaced_is_found_again_with_its_twin(tmp_path: Path) -> None:
    back = a_memory("C", CAT, topic_key="cat", created_at=on(5))
    there, answers = asked_in(tmp_path, [2, 4, 6], [*cat_and_dog(), back])
    assert [found(answer) for answer in answers] == [["A"], ["B"], ["A", "C"]]
    assert [answer.replaced_ids for answer in answers] == [(), ("A",), ("B",)]
    assert (answers[-1].twins, there.merged_count) == ({"C": "A"}, 1)


def test_a_twin_goes_with_the_text_that_is_replaced(tmp_path: Path) -> None:
    twin = a_memory("A twin", CAT, topic_key="cat", created_at=on(2))
    there, answers = asked_in(tmp_path, [2, 4], [*cat_and_dog(), twin])
    assert [found(answer) for answer in answers] == [["A", "A twin"], ["B"]]
    assert [answer.replaced_ids for answer in answers] == [(), ("A", "A twin")]
    assert there.merged_count == 1


def test_a_twin_that_says_when_it_ends_ends_the_one_memory_and_both_are_out_of_sight(tmp_path: Path) -> None:
    first = a_memory("a", CAT, topic_key="cat")
    memories = [first, a_memory("b", CAT, topic_key="cat", created_at=on(2), valid_until=on(4))]
    there, answers = asked_in(tmp_path, [3, 5], memories)
    assert [found(answer) for answer in answers] == [["a", "b"], []]
    assert [answer.replaced_ids for answer in answers] == [(), ()]
    assert (there.merged_count, there.invisible_count) == (1, 2)


def test_a_twin_that_says_when_it_begins_hides_the_one_memory_until_then(tmp_path: Path) -> None:
    first = a_memory("a", CAT, topic_key="cat")
    memories = [first, a_memory("b", CAT, topic_key="cat", created_at=on(2), valid_from=on(4))]
    there, answers = asked_in(tmp_path, [1, 3, 5], memories)
    assert [found(answer) for answer in answers] == [["a"], [], ["a", "b"]]
    assert (there.merged_count, there.invisible_count, there.judgments.late_pairs) == (1, 2, 1)


def is_sound(draft: dict[str, Any]) -> bool:
    """Whether it ends, if it does, after it begins."""
    return bool(draft.get("valid_from", "") < draft.get("valid_until", "9"))


MONTHS = st.integers(1, 6).map(on)
SAID: dict[str, st.SearchStrategy[Any]] = {
    "text": st.sampled_from([CAT, DOG]),
    "created_at": MONTHS,
    "scope": st.sampled_from(["acme", "acme/ana"]),
    "shared": st.booleans(),
}
MORE: dict[str, st.SearchStrategy[Any]] = {
    "topic_key": st.just("cat"),
    "title": st.just("pets"),
    "valid_from": MONTHS,
    "valid_until": MONTHS,
}
DRAFTS = st.fixed_dictionaries(SAID, optional=MORE).filter(is_sound)


@at_most(60)
@given(st.lists(DRAFTS, min_size=1, max_size=6), st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True))
def test_every_judged_memory_is_found_or_counted_for_one_reason_and_tuning_agrees(
    drafts: list[dict[str, Any]], months: list[int]
) -> None:
    memories = [a_memory(f"m{number}", **draft) for number, draft in enumerate(drafts)]
    with TemporaryDirectory() as folder:
        there, answers = asked_in(Path(folder), months, memories)
        with there.open_engine() as engine:
            features = build_training_set(
                engine, there.judgments, there.loaded, EVERYTHING, k=2, report_progress=untold
            )
            said = [
                [
                    one.memory.text
                    for one in engine.search("cat or dog?", scope="acme/ana", profile=EVERYTHING, as_of=at)
                ]
                for at in (answer.query.asked_at for answer in answers)
            ]
    judged, texts, since = there.judgments, there.judgments.texts, there.judgments.creation_times
    assert [[texts[id] for id in answer.found_ids] for answer in answers] == said
    for answer in answers:
        later = [id for id in texts if since[id] > answer.query.asked_at]
        reasons = [*found(answer), *later, *answer.replaced_ids, *there.loaded.find_invisible(answer.query)]
        assert sorted(reasons) == sorted(texts)
    assert judged.absent_pairs == 0
    recalls, ndcgs = features.measure(TunableNumbers.of(EVERYTHING)).values()
    measured = [answer.measure([2]) for answer in answers]
    assert recalls.tolist() == [one["recall@2"] for one in measured]
    assert ndcgs == pytest.approx([one["ndcg@2"] for one in measured])
