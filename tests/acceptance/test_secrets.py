"""No secret reaches the file of a store, by whichever door it comes."""

import json
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import InvalidInput

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"[:36]
PASSWORD = "hunter2" + "Secret99x"
ANA = "acme/ana"


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


def test_whoever_votes_is_not_called_by_a_secret(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "s.db", embedder="hashing") as engine:
        kept = engine.remember("Ana likes tea", scope=ANA)
        context = engine.recall("what does Ana like", scope=ANA)
        assert context.id is not None
        for name in (TOKEN, "Bo <private>the spy</private>"):
            with pytest.raises(InvalidInput, match="by") as raised:
                engine.feedback(context.id, scope=ANA, helped=[kept.id], by=name)
            assert TOKEN not in str(raised.value)
        engine.feedback(context.id, scope=ANA, helped=[kept.id], by="bo")
    assert TOKEN.encode() not in bytes_of(tmp_path)
    assert b"the spy" not in bytes_of(tmp_path)


def test_what_a_name_gives_away_reaches_no_file(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "s.db", embedder="hashing") as engine:
        receipt = engine.remember("The wifi", scope=ANA, metadata={"password": PASSWORD, "card": 4539148803436467})
        assert receipt.redacted == ("password", "credit card number")
        refused = engine.remember(PASSWORD, scope=ANA, title="wifi password")
        assert isinstance(refused.verdict, recollect.types.Refused)
        engine.remember(f"Once upon a time there was {TOKEN[:20]}\u200b{TOKEN[20:]}, they say", scope=ANA)
    found = bytes_of(tmp_path)
    assert not any(secret.encode() in found for secret in (PASSWORD, TOKEN[:20], TOKEN[20:], "4539148803436467"))


def exported(*texts: str, **given: Any) -> list[str]:
    """The export of a store that looks for no secrets."""
    with recollect.open(":memory:", embedder="hashing", settings={"secrets": {"enabled": False}}) as engine:
        for text in texts:
            engine.remember(text, scope=ANA, **given)
        engine.recall(f"what is {TOKEN}?", scope=ANA)
        return list(engine.export())


def vectors(engine: recollect.Engine) -> dict[str, str]:
    """What each text of the store points to."""
    lines = map(json.loads, engine.export())
    return {one["text"]: one["vector"] for line in lines for one in line.get("contents", ())}


def test_an_export_from_elsewhere_brings_no_secret_into_the_file(tmp_path: Path) -> None:
    said = "The deploy token of Ana is {}, she says"
    lines = exported("Ana likes tea", said.format(TOKEN), metadata={"password": PASSWORD})
    redacted = said.format("[REDACTED: github token]")
    with recollect.open(tmp_path / "s.db", embedder="hashing") as engine:
        assert engine.import_(lines).memories == 2
        assert [one.memory.text for one in engine.search("deploy token", scope=ANA)] == [redacted]
        with recollect.open(":memory:", embedder="hashing") as fresh:
            for text in ("Ana likes tea", redacted):
                fresh.remember(text, scope=ANA)
            assert vectors(engine) == vectors(fresh)
        assert engine.import_(lines).memories == 0
        assert isinstance(engine.remember(redacted, scope=ANA).verdict, recollect.types.Reinforced)
    assert not any(secret.encode() in bytes_of(tmp_path) for secret in (TOKEN, PASSWORD))


def test_whoever_refuses_secrets_takes_in_nothing_of_an_export_that_has_one() -> None:
    lines = exported("Ana likes tea", f"The deploy token of Ana is {TOKEN}, she says")
    with recollect.open(":memory:", embedder="hashing", settings={"secrets": {"action": "refuse"}}) as engine:
        with pytest.raises(InvalidInput, match=r"line 3.*github token") as raised:
            engine.import_(lines)
        assert TOKEN not in str(raised.value)
        assert vectors(engine) == {}


def test_a_word_that_is_revised_in_under_a_title_that_gives_it_away_reaches_no_file(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "s.db", embedder="hashing") as engine:
        note = engine.remember("ask Bo for it", scope=ANA, title="wifi password")
        revised = engine.revise(note.id, PASSWORD, scope=ANA)
        assert isinstance(revised.verdict, recollect.types.Refused)
        assert engine.get(note.id, scope=ANA).title == "wifi password"
    assert PASSWORD.encode() not in bytes_of(tmp_path)
