"""Who extracts, how many, and how a model is asked, is what the settings say."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Provenance
from recollect.config import ExtractionSettings
from tests.integration.providers.chat_server import TEA, proposing
from tests.integration.providers.server import Handler, Request, Server, saying, serving

from .shell import Shell

ANA = "acme/ana"
TALK = [{"text": "As you know, I prefer green tea, and I hate teaching.", "speaker": "Anna"}]


def asked(server: Server, **more: Any) -> dict[str, Any]:
    return {"extraction": {"extractor": "llm", "address": server.url, "model": "tiny", **more}}


def test_a_model_is_asked_with_the_key_and_what_it_proposes_is_remembered_as_its_inference(tmp_path: Path) -> None:
    priced = {"key": "k-1", "price_prompt": 2.0, "price_completion": 10.0}
    with (
        serving(proposing(TEA)) as server,
        recollect.open(tmp_path / "a.db", embedder="hashing", settings=asked(server, **priced)) as memory,
    ):
        extracted = memory.extract(TALK, scope=ANA)
    (receipt,) = extracted.receipts
    assert (receipt.memory.text, receipt.memory.provenance) == (TEA["text"], Provenance.MODEL_INFERENCE)
    (request,) = server.asked
    assert request.headers["Authorization"] == "Bearer k-1"
    assert request.body["model"] == "tiny"
    spent = extracted.extraction
    assert (spent.calls, spent.cost) == (1, (1000 * 2.0 + 200 * 10.0) / 1_000_000)


def test_a_server_that_answers_nonsense_is_an_error_and_nothing_is_remembered(tmp_path: Path) -> None:
    with (
        serving(*[saying(b"<html>")] * 2) as server,
        recollect.open(tmp_path / "a.db", embedder="hashing", settings=asked(server, attempts=1)) as memory,
    ):
        with pytest.raises(recollect.ProviderError, match="tiny"):
            memory.extract(TALK, scope=ANA)
        assert memory.memories(scope=ANA) == []


def test_the_command_asks_the_model_of_the_configuration(shell: Shell, tmp_path: Path) -> None:
    chat, configured = tmp_path / "chat.jsonl", tmp_path / "recollect.toml"
    chat.write_text(json.dumps({"content": TALK[0]["text"], "name": "Anna", "timestamp": "2026-01-01T00:00:00Z"}))
    with serving(proposing(TEA)) as server:
        configured.write_text(f'[extraction]\nextractor = "llm"\naddress = "{server.url}"\nmodel = "tiny"\n')
        found = shell.json("--config", str(configured), "extract", str(chat), "--scope", ANA)
    assert [(one["memory"]["text"], one["quote"]) for one in found["extracts"]] == [(TEA["text"], TEA["quote"])]
    assert found["calls"] == 1


def test_so_many_are_extracted_as_the_settings_say(tmp_path: Path) -> None:
    said = ["I'm allergic to peanuts.", "I prefer small places with a garden."]
    with recollect.open(tmp_path / "a.db", embedder="hashing", settings={"extraction": {"most": 1}}) as memory:
        assert len(memory.extract(said, scope=ANA).receipts) == 1
        assert len(memory.extract(said, scope=ANA, most=2).receipts) == 2


def test_one_price_without_the_other_is_refused() -> None:
    with pytest.raises(recollect.errors.FieldError, match="price_completion"):
        ExtractionSettings(price_prompt=1.0, address="http://127.0.0.1", model="m").require_endpoint()


@pytest.mark.parametrize(("given", "lacking"), [("price_prompt", "completion"), ("price_completion", "prompt")])
def test_a_store_is_not_opened_with_half_a_price(given: str, lacking: str, tmp_path: Path) -> None:
    settings = {"extraction": {"extractor": "llm", "address": "http://127.0.0.1", "model": "m", given: 1.0}}
    with pytest.raises(recollect.errors.FieldError, match=f"price_{lacking}"):
        recollect.open(tmp_path / "a.db", embedder="hashing", settings=settings)


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_busy_server_is_asked_as_often_as_the_settings_say(attempts: int, tmp_path: Path) -> None:
    with (
        serving(saying(b"", 503, Retry_After="0")) as server,
        recollect.open(tmp_path / "a.db", embedder="hashing", settings=asked(server, attempts=attempts)) as memory,
    ):
        with pytest.raises(recollect.errors.ProviderBusy):
            memory.extract(TALK, scope=ANA)
        assert len(server.asked) == attempts


def answering_late(handler: Handler, request: Request) -> None:
    """Answer when the test is over; nobody may be listening any more."""
    handler.told.over.wait()
    with suppress(OSError):
        proposing(TEA)(handler, request)


def test_a_slow_server_is_waited_for_as_long_as_the_settings_say(tmp_path: Path) -> None:
    patience = {"attempts": 1, "timeout": 0.05}
    with (
        serving(answering_late) as server,
        recollect.open(tmp_path / "a.db", embedder="hashing", settings=asked(server, **patience)) as memory,
        pytest.raises(recollect.errors.ProviderBusy, match="timed out"),
    ):
        memory.extract(TALK, scope=ANA)


def test_the_rubric_and_the_confidences_of_the_settings_reach_the_model_and_its_memories(tmp_path: Path) -> None:
    policies = {"importance": {"preference": 0.33}, "confidence": {"stated": 0.44}}
    with (
        serving(proposing(TEA)) as server,
        recollect.open(tmp_path / "a.db", embedder="hashing", settings={**asked(server), **policies}) as memory,
    ):
        (receipt,) = memory.extract(TALK, scope=ANA).receipts
    assert "0.33 preference or habit" in server.asked[0].body["messages"][0]["content"]
    assert receipt.memory.confidence == 0.44


def test_the_command_asks_with_the_key_of_the_environment_and_prints_the_cost(shell: Shell, tmp_path: Path) -> None:
    chat, configured = tmp_path / "chat.jsonl", tmp_path / "recollect.toml"
    turn = {"content": TALK[0]["text"], "name": "Anna", "timestamp": "2026-01-01T00:00:00Z"}
    chat.write_text(json.dumps(turn))
    with serving(proposing(TEA, {**TEA, "quote": "never said"})) as server:
        configured.write_text(
            f'[extraction]\nextractor = "llm"\naddress = "{server.url}"\nmodel = "tiny"\nmost = 3\n'
            "price_prompt = 2.0\nprice_completion = 10.0\n"
        )
        named = ("--config", str(configured), "extract", str(chat), "--scope", ANA)
        dry = shell(*named, "--dry-run", RECOLLECT_EXTRACTION_KEY="k-2").stdout
        told = shell(*named, RECOLLECT_EXTRACTION_KEY="k-2").stdout
    assert {one.headers["Authorization"] for one in server.asked} == {"Bearer k-2"}
    assert "at most 3 memories" in server.asked[0].body["messages"][0]["content"]
    assert "the model was called anyway: 1 call, cost 0.004" in dry
    assert "rejected: Anna prefers green tea. (its quote does not occur in the conversation)" in told
    assert told.splitlines()[-1] == "1 session: 1 created (1 call, 1000 and 200 tokens, cost 0.004)"
