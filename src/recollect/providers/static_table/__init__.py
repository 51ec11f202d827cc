"""The files of the static embedding table, which the build copies from wordllama's wheel.

They are not in the repository. `hatch_build.py` and `scripts/setup` run this module by itself, so it must not import
anything from the package.
"""

import hashlib
from pathlib import Path

REQUIREMENT = "wordllama==0.4.0.post1"
TABLE = "l2_supercat_256.safetensors"
TOKENIZER = "l2_supercat_tokenizer_config.json"
SHA256 = {
    TABLE: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    TOKENIZER: "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
}
LICENSE = "LICENSE"
"""The license of wordllama, which covers both files."""


def find_wrong_files(folder: Path = Path(__file__).parent) -> list[str]:
    """Return the names of files in the folder that are missing or have unexpected content."""
    return [name for name, digest in SHA256.items() if not _has_digest(folder / name, digest)]


def _has_digest(path: Path, digest: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest
