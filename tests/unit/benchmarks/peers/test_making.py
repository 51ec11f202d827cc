"""The material of the benchmark: what is in it, and when it is made anew."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from peers import making, material
from peers.synthetic import SPEAKERS, TURNS, synthetic

from recollect.evaluation.judgments import read_judgments
from recollect.protocols import Purpose
from recollect.providers.hashing import HashingEmbedder
from tests.unit.evaluation.folder import a_memory, a_query, write_folder

HASHING = HashingEmbedder()


class Spent:
    """An embedder of the same name that has nothing more to give."""

    name, dimensions = HASHING.name, HASHING.dimensions

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        raise AssertionError(f"{texts} is embedded again")


def a_folder(path: Path, question: str = "Where does Ana sit?") -> Path:
    """A talk of two, and a question to one of them."""
    said = [
        a_memory("a", "by the window", speaker="Ana", session="s", kind="event", mood="glad"),
        a_memory("b", "in the aisle", speaker="Boris"),
    ]
    return write_folder(path, said, [a_query("q", question)], [("q", "a", 1)])


def test_a_memory_has_what_its_folder_says_of_it(tmp_path: Path) -> None:
    judged = read_judgments(a_folder(tmp_path / "talk"))
    made = making.embedded(judged, HASHING)
    assert [(one.id, one.scope, one.text) for one in made.memories] == [
        ("a", "acme/ana", "by the window"),
        ("b", "acme/ana", "in the aisle"),
    ]
    assert made.memories[0].details == {"kind": "event", "session": "s", "speaker": "Ana", "mood": "glad"}
    assert [one.at for one in made.questions] == [query.asked_at for query in judged.queries]


def test_a_question_is_there_in_the_words_of_whom_it_names(tmp_path: Path) -> None:
    made = making.embedded(read_judgments(a_folder(tmp_path / "talk", "Did Ana meet Boris?")), HASHING)
    assert [(one.text, one.question) for one in made.wordings] == [("Did I meet Boris?", "q"), ("Did Ana meet I?", "q")]
    expected = material.unit(np.asarray(HASHING.embed(["Did I meet Boris?"], "query")))
    assert np.array_equal(made.wordings[0].vector, expected[0])


def test_a_question_that_names_nobody_has_no_other_words(tmp_path: Path) -> None:
    assert making.embedded(read_judgments(a_folder(tmp_path / "talk", "which seat?")), HASHING).wordings == ()


@pytest.mark.parametrize("question", ["Where does Ana sit?", "which seat?"])
def test_material_is_read_as_it_was_made(question: str, tmp_path: Path) -> None:
    made = making.embedded(read_judgments(a_folder(tmp_path / "talk", question)), HASHING)
    material.write(tmp_path / "material", made)
    read = material.read(tmp_path / "material")
    assert [one.details for one in read.memories] == [one.details for one in made.memories]
    assert [(one.text, one.question) for one in read.wordings] == [(one.text, one.question) for one in made.wordings]
    assert all(np.array_equal(a.vector, b.vector) for a, b in zip(read.wordings, made.wordings, strict=True))


def test_material_of_the_same_folder_is_made_once(tmp_path: Path) -> None:
    judged = read_judgments(a_folder(tmp_path / "talk"))
    place = making.for_quality(tmp_path / "material", judged, HASHING)
    assert making.for_quality(tmp_path / "material", judged, Spent()) == place


def test_material_of_a_folder_that_changed_is_made_anew(tmp_path: Path) -> None:
    before = making.for_quality(tmp_path / "material", read_judgments(a_folder(tmp_path / "talk")), HASHING)
    changed = read_judgments(a_folder(tmp_path / "talk", "Where does Boris sit?"))
    after = making.for_quality(tmp_path / "material", changed, HASHING)
    assert before != after
    assert [one.text for one in material.read(after).questions] == ["Where does Boris sit?"]


def test_material_that_is_made_in_another_way_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = making.for_speed(tmp_path, 4, 2)
    (tmp_path / "way.py").write_text("another", encoding="utf-8")
    monkeypatch.setattr(making, "HOW", (*making.HOW, tmp_path / "way.py"))
    assert making.for_speed(tmp_path, 4, 2) != before


def test_material_without_a_digest_in_its_name_is_not_taken_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "synthetic-4").mkdir()
    (tmp_path / "synthetic-4" / "memories.jsonl").write_text("theirs", encoding="utf-8")
    assert material.read(making.for_speed(tmp_path, 4, 2)).model == "synthetic"
    assert (tmp_path / "synthetic-4" / "memories.jsonl").read_text(encoding="utf-8") == "theirs"


def test_material_whose_making_was_interrupted_does_not_count(tmp_path: Path) -> None:
    place = making.for_speed(tmp_path, 4, 2)
    place.rename(place.with_name(f"{place.name}.part"))
    (place.with_name(f"{place.name}.part") / "memories.npy").unlink()
    assert len(material.read(making.for_speed(tmp_path, 4, 2)).memories) == 4


def test_synthetic_memories_are_turns_of_conversations_a_minute_apart() -> None:
    memories = synthetic(2 * TURNS + 1, 1).memories
    assert [one.details["session"] for one in memories] == [f"s{row // TURNS:05}" for row in range(2 * TURNS + 1)]
    assert {one.details["speaker"] for one in memories[:TURNS]} == set(SPEAKERS)
    assert all(a.details["speaker"] != b.details["speaker"] for a, b in pairwise(memories))
    assert {after.at - before.at for before, after in pairwise(memories)} == {timedelta(minutes=1)}


def test_every_other_synthetic_question_names_a_speaker(tmp_path: Path) -> None:
    made = material.read(making.for_speed(tmp_path, 4, 8))
    assert [one.question for one in made.wordings] == [one.id for one in made.questions[1::2]]
