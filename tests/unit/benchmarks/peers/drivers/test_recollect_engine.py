"""recollect as a peer, on a tiny folder."""

from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from peers import making, material
from peers.drivers.recollect_engine import ONE_VECTOR, PROFILE, Engine, one_vector
from peers.driving import Vectors, do
from peers.job import Job
from peers.quality import quality
from peers.roster import PEERS, Peer
from peers.running import run

from recollect.evaluation.judgments import read_judgments
from recollect.providers.hashing import HashingEmbedder
from recollect.ranking.tuning_report_check import fingerprint
from tests.unit.evaluation.folder import a_memory, a_query, write_folder

OURS = [peer for peer in PEERS if peer.driver == "recollect_engine"]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """Two talk about seats, and Ana is asked for; a third says the same to somebody else."""
    said = [
        a_memory("ana", "I like a window seat", speaker="Ana", session="s", project="travel"),
        a_memory("boris", "I like an aisle seat", speaker="Boris", session="s"),
        a_memory("later", "I like any window seat", speaker="Ana", created_at="2026-03-01T00:00:00+00:00"),
        a_memory("theirs", "I like a window seat", speaker="Ana", scope="acme/boris"),
    ]
    queries = [a_query("q", "Which seat does Ana like?")]
    return write_folder(tmp_path / "talk", said, queries, [("q", "ana", 1)])


@pytest.fixture
def job(talk: Path, tmp_path: Path) -> Job:
    """The job to answer it."""
    place = making.for_quality(tmp_path / "material", read_judgments(talk), HashingEmbedder())
    (tmp_path / "store").mkdir()
    return Job(measure="quality", material=str(place), store=str(tmp_path / "store"), packages=("recollect",))


@pytest.mark.parametrize("variant", ["", ONE_VECTOR])
def test_a_question_is_answered_from_its_scope_up_to_its_moment(variant: str, job: Job, talk: Path) -> None:
    found = do(replace(job, variant=variant), Engine).found
    assert found == {"q": ["ana", "boris"]}
    assert quality(found, read_judgments(talk).queries).recall == 1.0


def test_texts_that_repeat_are_found_as_separate_memories(tmp_path: Path) -> None:
    said = [a_memory(id, "I like a window seat", speaker="Ana") for id in ("first", "second")]
    folder = write_folder(tmp_path / "talk", said, [a_query("q", "Which seat does Ana like?")], [("q", "second", 1)])
    place = making.for_quality(tmp_path / "material", read_judgments(folder), HashingEmbedder())
    (tmp_path / "store").mkdir()
    found = do(Job(measure="quality", material=str(place), store=str(tmp_path / "store")), Engine).found
    assert found is not None
    assert sorted(found["q"]) == ["first", "second"]


def test_speed_is_measured_with_conversations(tmp_path: Path) -> None:
    place = making.for_speed(tmp_path / "material", 60, 6)
    (tmp_path / "store").mkdir()
    speed = do(Job(measure="speed", material=str(place), store=str(tmp_path / "store")), Engine).speed
    assert speed is not None
    assert (speed.added, speed.finished) == (60, True)
    assert speed.disk is not None
    assert speed.disk > 0.0


def test_with_one_vector_a_wording_has_that_of_its_question(job: Job) -> None:
    given = material.read(Path(job.material))
    (question,) = given.questions
    (wording,) = given.wordings
    assert not np.array_equal(Vectors(given)(wording.text), question.vector)
    assert np.array_equal(Vectors(one_vector(given))(wording.text), question.vector)


def test_a_text_that_the_material_does_not_have_is_named(job: Job) -> None:
    with pytest.raises(LookupError, match="no vector of 'unheard of'"):
        Vectors(material.read(Path(job.material)))("unheard of")


@pytest.mark.parametrize("peer", OURS, ids=lambda peer: peer.name)
def test_a_run_tells_which_profile_ranked(peer: Peer, job: Job, tmp_path: Path) -> None:
    outcome = run(peer, replace(job, store="store", variant=peer.variant), tmp_path)
    assert outcome.fingerprint == fingerprint(PROFILE)
    assert outcome.versions == {"recollect": version("recollect")}
