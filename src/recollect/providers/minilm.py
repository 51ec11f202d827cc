"""all-MiniLM-L6-v2 in this process: a small transformer in eight bits, on the processor."""

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
"""How many tokens, padding included, go through the model at once; more is slower, for it leaves the caches."""

MAX_TEXT_CHARS = 20_000
"""How much of a text is looked at for its first tokens: several times what 256 tokens of prose take."""

MAX_THREADS = 4
ERROR_LOG_LEVEL = 3
"""The level from which onnxruntime says something by itself: errors."""


class MiniLM:
    """Sentence vectors of 384 dimensions that know a paraphrase; of a text, the first 256 tokens are read.

    The weights are those of the extra `minilm`. Their eight-bit form is made once, in half a second, and kept in
    `cache` or else in the user's cache folder; it is loaded when it is first needed. A text without words has a
    direction like any other, for the model reads the marks around it.
    """

    name = MODEL_NAME
    dimensions = DIMENSIONS

    def __init__(self, cache: Path | None = None) -> None:
        MINILM_REQUIREMENTS.check()
        self._model = Lazy(lambda: _load_model(cache_folders() if cache is None else [cache]))

    def __repr__(self) -> str:
        return "MiniLM()"

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """A row of numbers for each text, in their order."""
        texts = clean_texts(texts)
        totals = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        if texts:
            model = self._model()
            tokens = [model.tokenizer.encode(text[:MAX_TEXT_CHARS]).ids for text in texts]
            for batch in _group_by_length([len(ids) for ids in tokens]):
                totals[batch] = model.run([tokens[place] for place in batch])
        return normalize_rows(totals)


class _OnnxSession(Protocol):
    """What we use of onnxruntime's session, which has no types of its own."""

    def run(self, outputs: Sequence[str], inputs: dict[str, Any]) -> list[Any]: ...


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    """What makes tokens of a text, and totals of tokens."""

    tokenizer: "Tokenizer"
    session: _OnnxSession

    def run(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        """The totals of some texts, filled up to the longest of them; the filling does not count."""
        ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int64)
        mask = np.zeros(ids.shape, dtype=np.float32)
        for row, own in enumerate(tokens):
            ids[row, : len(own)] = own
            mask[row, : len(own)] = 1.0
        totals: Vectors = self.session.run(["totals"], {"ids": ids, "mask": mask})[0]
        return totals


def _group_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places of texts of about the same length, as many as fit into a batch."""
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
    # It would queue facts about this machine in the home folder and look for a network to send them over.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime  # type: ignore[import-untyped]

    runtime: Any = onnxruntime
    runtime.disable_telemetry_events()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = min(_count_processors(), MAX_THREADS)
    options.inter_op_num_threads = 1
    options.log_severity_level = ERROR_LOG_LEVEL
    # Idle threads sleep, because the processors are also those of the program we are part of.
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
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
