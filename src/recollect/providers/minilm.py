"""The embedder all-MiniLM-L6-v2 in this process: a small 8-bit transformer on the CPU."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from recollect.errors import ProviderError
from recollect.protocols import Purpose
from recollect.providers import minilm_graph
from recollect.providers.base import Lazy, Vectors, clean_texts, normalize_rows
from recollect.providers.embedder_assets import (
    MINILM_REQUIREMENTS,
    MINILM_TOKENIZER_FILE,
    MINILM_WEIGHTS_FILE,
    cache_folders,
    load_or_build,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MODEL_NAME = "all-minilm-l6-v2-m8"
DIMENSIONS = minilm_graph.WIDTH
MAX_BATCH_TOKENS = 512
"""The most tokens, with padding, that go through the model at once; more exceed CPU caches."""

MAX_TEXT_CHARS = 20_000
"""How many characters of a text are tokenized: several times what 256 tokens take."""

MAX_THREADS = 4
ERROR_LOG_LEVEL = 3
"""The log level of onnxruntime: errors only."""


class MiniLM:
    """Sentence vectors of 384 dimensions that recognize paraphrases.

    Only the first 256 tokens of a text are read. The weights are those of the extra `minilm`. Their 8-bit form is
    built once, in half a second, and kept in `cache` or in the user's cache folder; it is loaded on first use. A text
    without words has a normal vector, because the model reads the special tokens around it.
    """

    name = MODEL_NAME
    dimensions = DIMENSIONS

    def __init__(self, cache: Path | None = None) -> None:
        MINILM_REQUIREMENTS.check()
        self._model = Lazy(lambda: _load_model(cache_folders() if cache is None else [cache]))

    def __repr__(self) -> str:
        return "MiniLM()"

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Return a row of numbers for each text, in order."""
        texts = clean_texts(texts)
        totals = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        if texts:
            model = self._model()
            tokens = [model.tokenizer.encode(text[:MAX_TEXT_CHARS]).ids for text in texts]
            for batch in _group_by_length([len(ids) for ids in tokens]):
                totals[batch] = model.run([tokens[place] for place in batch])
        return normalize_rows(totals)


class _OnnxSession(Protocol):
    """The part of onnxruntime's untyped session that is used."""

    def run(self, outputs: Sequence[str], inputs: dict[str, Any]) -> list[Any]: ...


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    """The tokenizer, and the session that turns tokens into totals."""

    tokenizer: "Tokenizer"
    session: _OnnxSession

    def run(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        """Return the totals of some texts; the padding to the longest one does not count."""
        ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int64)
        mask = np.zeros(ids.shape, dtype=np.float32)
        for row, own in enumerate(tokens):
            ids[row, : len(own)] = own
            mask[row, : len(own)] = 1.0
        totals: Vectors = self.session.run(["totals"], {"ids": ids, "mask": mask})[0]
        return totals


def _group_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield batches of texts of similar length, as positions."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > MAX_BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    yield batch


def _load_model(folders: Sequence[Path]) -> _LoadedModel:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(MINILM_TOKENIZER_FILE.read())
    tokenizer.no_padding()
    tokenizer.enable_truncation(minilm_graph.MAX_TOKENS)
    graph = load_or_build(
        f"{MODEL_NAME}-{minilm_graph.GRAPH_VERSION}",
        lambda: minilm_graph.build_onnx_graph(MINILM_WEIGHTS_FILE.read()),
        folders,
    )
    return _LoadedModel(tokenizer, _create_session(graph))


def _create_session(graph: bytes) -> _OnnxSession:
    # Otherwise it queues facts about this machine in the home folder and tries to send them.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime  # type: ignore[import-untyped]

    runtime: Any = onnxruntime
    runtime.disable_telemetry_events()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = min(_count_processors(), MAX_THREADS)
    options.inter_op_num_threads = 1
    options.log_severity_level = ERROR_LOG_LEVEL
    # Idle threads sleep, because the application needs the processors too.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    state = runtime.capi.onnxruntime_pybind11_state
    try:
        session: _OnnxSession = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except (
        state.Fail,
        state.InvalidGraph,
        state.InvalidProtobuf,
        state.NotImplemented,
        state.RuntimeException,
    ) as error:
        version = runtime.__version__
        raise ProviderError(
            f"onnxruntime {version} cannot run the graph of {MODEL_NAME}; {MINILM_REQUIREMENTS.fix}"
        ) from error
    return session


def _count_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
