"""Making: material for the drivers, kept in folders that are named after what it was made of and how."""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from peers import material, synthetic
from peers.material import Asked, Material, Matrix, Said, Wording, unit
from recollect.evaluation.judgments import Judgments
from recollect.model.draft import Draft
from recollect.protocols import Embedder
from recollect.text import questions

HOW = tuple(Path(module.__file__ or "") for module in (material, synthetic, questions))
"""What decides, besides this file, what is made: if one of them changes, all material is made anew."""

STAMP = 12
"""How many digits of a digest tell one material from another."""

Embed = Callable[[Sequence[Asked], Sequence[str]], Matrix]
"""A row for each wording, given the question of each and its text."""


def for_speed(folder: Path, rows: int, questions: int) -> Path:
    """Where the synthetic material of so many memories is, which is made if it is not there."""

    def make() -> Material:
        # what counts for speed is that there is a second vector, not where it points
        return with_wordings(synthetic.synthetic(rows, questions), lambda of, _: np.stack([one.vector for one in of]))

    return _kept(folder, f"synthetic-{rows}", [np.__version__.encode(), str(questions).encode()], make)


def for_quality(folder: Path, judged: Judgments, embedder: Embedder) -> Path:
    """Where the material of a folder of judgements is, which is made if it is not there."""
    content = [path.read_bytes() for path in judged.files]
    return _kept(folder, judged.folder.name, [embedder.name.encode(), *content], lambda: embedded(judged, embedder))


def embedded(judged: Judgments, embedder: Embedder) -> Material:
    """The memories and questions of the judgements, with the vectors of their whole texts."""

    def asked(texts: Sequence[str]) -> Matrix:
        return unit(np.asarray(embedder.embed(texts, "query")))

    said = unit(np.asarray(embedder.embed([one.text for one in judged.drafts], "memory")))
    queries = zip(judged.queries, asked([one.text for one in judged.queries]), strict=True)
    made = Material(
        embedder.name,
        [_said(draft, vector) for draft, vector in zip(judged.drafts, said, strict=True)],
        [
            Asked(id=one.id, scope=str(one.scope), text=one.text, at=one.asked_at, vector=vector)
            for one, vector in queries
        ],
    )
    return with_wordings(made, lambda _, texts: asked(texts))


def with_wordings(given: Material, embed: Embed) -> Material:
    """The same with each question as those would put it whom it names, for recollect asks it so."""
    put = list(_put(given))
    if not put:
        return given
    vectors = embed([question for question, _ in put], [text for _, text in put])
    wordings = [
        Wording(text=text, question=question.id, vector=vector)
        for (question, text), vector in zip(put, vectors, strict=True)
    ]
    return replace(given, wordings=wordings)


def _put(given: Material) -> Iterator[tuple[Asked, str]]:
    """Each question with the words of each whom it names; recollect knows only those who had spoken by then."""
    speakers: dict[str, set[str]] = {}
    for one in given.memories:
        if "speaker" in one.details:
            speakers.setdefault(one.scope, set()).add(one.details["speaker"])
    for question in given.questions:
        there = speakers.get(question.scope, set())
        for name in questions.find_named_speakers(question.text, there):
            yield question, questions.rephrase_as_speaker(question.text, name)


def _said(draft: Draft, vector: material.Vector) -> Said:
    if draft.id is None or draft.at is None:
        raise ValueError(f"{draft} has no id or no moment, which memories of a folder have")
    known = {"kind": draft.kind, "session": draft.session, "speaker": draft.speaker, **(draft.metadata or {})}
    details = {name: str(value) for name, value in known.items() if isinstance(value, str)}
    return Said(id=draft.id, scope=str(draft.scope), text=draft.text, at=draft.at, vector=vector, details=details)


def _kept(folder: Path, name: str, made_of: Sequence[bytes], make: Callable[[], Material]) -> Path:
    """The folder of what is made of this; one whose making was interrupted does not count."""
    digest = hashlib.sha256()
    for part in (*(path.read_bytes() for path in (Path(__file__), *HOW)), *made_of):
        digest.update(hashlib.sha256(part).digest())
    place = folder / f"{name}-{digest.hexdigest()[:STAMP]}"
    if not place.exists():
        print(f"preparing {place.name}", flush=True)
        unfinished = place.with_name(f"{place.name}.part")
        shutil.rmtree(unfinished, ignore_errors=True)
        material.write(unfinished, make())
        unfinished.rename(place)
    return place
