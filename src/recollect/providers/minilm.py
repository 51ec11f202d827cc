"""The embedder all-MiniLM-L6-v2 in this process: a small 8-bit transformer on the CPU.

The second half is the cache of the 8-bit graph, which is built once.
"""

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from recollect.errors import ProviderError
from recollect.protocols import Purpose
from recollect.providers import minilm_graph
from recollect.providers.base import Lazy, Vectors, clean_texts, normalize_rows
from recollect.providers.embedder_assets import MINILM_REQUIREMENTS, MINILM_TOKENIZER_FILE, MINILM_WEIGHTS_FILE

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

HASH_DIGITS = 32
"""How many hexadecimal digits of its SHA-256 the name of a cached file has."""


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
                totals[batch] = model.run([tokens[index] for index in batch])
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
        for row, text_ids in enumerate(tokens):
            ids[row, : len(text_ids)] = text_ids
            mask[row, : len(text_ids)] = 1.0
        totals: Vectors = self.session.run(["totals"], {"ids": ids, "mask": mask})[0]
        return totals


def _group_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield batches of texts of similar length, as lists of indexes."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > MAX_BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
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
    # Without this, onnxruntime queues facts about this machine in the home folder and tries to send them.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime  # type: ignore[import-untyped]

    runtime: Any = onnxruntime
    runtime.disable_telemetry_events()
    options = runtime.SessionOptions()
    allowed_processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    options.intra_op_num_threads = min(allowed_processors, MAX_THREADS)
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


def load_or_build(stem: str, make: Callable[[], bytes], folders: Sequence[Path]) -> bytes:
    """Return the content from the first folder that has it intact, or build it.

    Built content is written to the first writable folder. If there is none, it is built again the next time: a
    read-only cache is not an error.
    """
    for folder in folders:
        for path in sorted(folder.glob(f"{stem}-*")):
            content = _read_or_none(path)
            if content is not None and path.name == _hashed_name(stem, content):
                return content
    content = make()
    for folder in folders:
        if _write_whole(folder / _hashed_name(stem, content), content):
            break
    return content


def cache_folders() -> list[Path]:
    """Return the cache folders: the user's, then a private temporary folder."""
    user = user_cache_folder(os.environ, sys.platform)
    return [folder for folder in (user, _temporary_folder()) if folder is not None]


def user_cache_folder(environment: Mapping[str, str], platform: str) -> Path | None:
    """Return the user's cache folder on this platform, or `None`."""
    for name, below in _cache_variables(platform):
        folder = Path(environment.get(name, ""))
        if folder.is_absolute():
            return folder.joinpath(*below, "recollect")
    return None


def _cache_variables(platform: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the environment variables for the cache folder, and the path below each."""
    if platform == "win32":
        yield "LOCALAPPDATA", ()
        return
    yield "XDG_CACHE_HOME", ()
    yield "HOME", ("Library", "Caches") if platform == "darwin" else (".cache",)


def _temporary_folder() -> Path | None:
    """Return this user's folder for temporary files, unless other users can write to it."""
    user = os.getuid() if hasattr(os, "getuid") else None  # platforms without user ids have a temporary folder per user
    folder = Path(tempfile.gettempdir()) / (f"recollect-{user}" if user is not None else "recollect")
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return folder
    private = user is None or (status.st_uid == user and not stat.S_IMODE(status.st_mode) & 0o077)
    return folder if stat.S_ISDIR(status.st_mode) and private else None


def _read_or_none(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _write_whole(path: Path, content: bytes) -> bool:
    """Write the file atomically, and return whether that succeeded."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".unfinished-")
    except OSError:
        return False
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        return False
    return True


def _hashed_name(stem: str, content: bytes) -> str:
    """Return a file name with the content's hash, so that a reader can verify the content."""
    return f"{stem}-{hashlib.sha256(content).hexdigest()[:HASH_DIGITS]}"
