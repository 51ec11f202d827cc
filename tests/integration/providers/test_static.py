"""The static table keeps the promises of every embedder, and gives what wordllama gives."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import recollect
from recollect.protocols import Embedder
from recollect.providers.embedder_assets import STATIC_TABLE_FILE, STATIC_TOKENIZER_FILE
from recollect.providers.static import CHUNK_TOKENS, StaticEmbedder
from recollect.testing.embedder_contract import SAMPLE_TEXTS, EmbedderContract, embed
from tests.tables import table

STATIC = StaticEmbedder()

WORDLLAMA = """
import json, sys
from pathlib import Path
import wordllama
model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
print(json.dumps(model.embed(json.load(sys.stdin), norm=True).tolist()))
"""


class TestStatic(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return STATIC


def test_it_is_recorded_by_its_table_and_dimensions() -> None:
    assert (STATIC.name, STATIC.dimensions, repr(STATIC)) == ("wordllama-256", 256, "StaticEmbedder()")


def test_vectors_are_those_of_wordllama_itself() -> None:
    texts = [*SAMPLE_TEXTS, "naïve café 😀 <s>", "a\0b", "  indented\ttext\n", "word " * (2 * CHUNK_TOKENS)]
    ran = subprocess.run(
        [sys.executable, "-c", WORDLLAMA], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    np.testing.assert_allclose(embed(STATIC, *texts), json.loads(ran.stdout), rtol=0, atol=1e-6)


def test_the_empty_text_points_along_the_last_axis_where_hardly_anything_else_does() -> None:
    empty, *others = embed(STATIC, "", *SAMPLE_TEXTS)
    assert empty.tolist() == [0.0] * 255 + [1.0]
    assert (np.abs(others @ empty) < 0.3).all()


@table(
    ("text", "paraphrase", "unrelated"),
    [
        ("the doctor saw the patient", "a physician examined a sick person", "stocks fell on Friday"),
        ("the car would not start", "my vehicle has engine trouble", "she sings in a choir"),
        ("we ship the release tomorrow", "deployment of the new version is planned", "cats sleep a lot"),
    ],
)
def test_a_paraphrase_is_nearer_than_what_has_nothing_to_do_with_it(text: str, paraphrase: str, unrelated: str) -> None:
    first, near, far = embed(STATIC, text, paraphrase, unrelated)
    assert first @ near > first @ far + 0.1


def test_nothing_of_wordllama_or_the_network_is_loaded() -> None:
    script = (
        "import sys; from recollect.providers.static import StaticEmbedder\n"
        "StaticEmbedder().embed(['a'], 'memory'); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    unwanted = {"wordllama", "tokenizers", "requests", "huggingface_hub", "ssl", "onnxruntime"}
    assert not unwanted & set(loaded.stdout.split())


def test_without_its_files_it_says_what_to_do_and_auto_does_not_become_hashing(tmp_path: Path) -> None:
    files = shutil.ignore_patterns(STATIC_TABLE_FILE.file, STATIC_TOKENIZER_FILE.file, "__pycache__")
    shutil.copytree(Path(recollect.__file__).parent, tmp_path / "recollect", ignore=files)
    script = "import sys; sys.modules['onnxruntime'] = None\nfrom recollect.providers.registry import find_embedder\n"
    fix = "install recollect again (in its folder: pip install .)"
    missing = f"{STATIC_TABLE_FILE.file}, {STATIC_TOKENIZER_FILE.file}"
    problems = {
        "auto": f"no embedder is installed; {fix}",
        "wordllama": f"the embedder 'wordllama' is missing {missing}; {fix}",
    }
    for name, problem in problems.items():
        command = [sys.executable, "-c", f"{script}find_embedder({name!r})"]
        ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(tmp_path)})
        assert ran.stderr.splitlines()[-1] == f"recollect.errors.ProviderError: {problem}"
