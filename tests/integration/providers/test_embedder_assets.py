"""Files of this package and of other distributions are read only if their content is the expected one."""

import hashlib
from pathlib import Path

import pytest

from recollect.errors import ProviderError
from recollect.providers.embedder_assets import (
    MINILM_REQUIREMENTS,
    WORDLLAMA_REQUIREMENTS,
    BundledFile,
    EmbedderRequirements,
    PackageFile,
)
from tests.tables import table

CONTENT = b"weights"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PART = PackageFile("carrier-of-tests", "weights.bin", SHA256)


def install(folder: Path, *, content: bytes | None = CONTENT, record: bool = True) -> None:
    """A distribution in that folder, as an installer leaves it, with a module that nobody may import."""
    package, told = folder / "carrier_of_tests", folder / "carrier_of_tests-1.5.dist-info"
    (package / "data").mkdir(parents=True)
    told.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    if content is not None:
        (package / "data" / "weights.bin").write_bytes(content)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: carrier-of-tests\nVersion: 1.5\n")
    if record:
        files = ["carrier_of_tests/__init__.py,,", "carrier_of_tests/data/weights.bin,,"]
        (told / "RECORD").write_text("\n".join(files))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Python looks for distributions in."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_file_is_found_wherever_its_distribution_keeps_it(site: Path) -> None:
    install(site)
    assert PART.find() == site / "carrier_of_tests" / "data" / "weights.bin"
    assert PART.read() == CONTENT


def test_another_file_under_the_same_name_is_refused_with_both_digests(site: Path) -> None:
    install(site, content=b"weightz")
    other = hashlib.sha256(b"weightz").hexdigest()
    with pytest.raises(ProviderError, match=rf"carrier-of-tests has SHA-256 {other}, expected {SHA256}; install it"):
        PART.read()


def test_a_distribution_that_is_not_installed_has_no_files() -> None:
    assert PART.find() is None
    with pytest.raises(ProviderError, match=r"carrier-of-tests is not installed; install carrier-of-tests again$"):
        PART.read()


def test_a_file_that_was_removed_is_not_there(site: Path) -> None:
    install(site, content=None)
    assert PART.find() is None


def test_a_distribution_that_does_not_know_its_files_has_none(site: Path) -> None:
    install(site, record=False)
    assert PART.find() is None


def test_a_file_that_cannot_be_read_is_an_error_of_the_provider(site: Path) -> None:
    install(site)
    path = site / "carrier_of_tests" / "data" / "weights.bin"
    path.unlink()
    path.symlink_to(site / "gone")
    assert PART.find() is None
    path.unlink()
    path.symlink_to("/proc/self/mem")  # a file that exists, and cannot be read from its beginning
    with pytest.raises(
        ProviderError, match=r"cannot be read \(.+\); check its permissions, or install carrier-of-tests"
    ):
        PART.read()


def test_a_bundled_file_is_found_in_its_folder_and_checked(tmp_path: Path) -> None:
    part = BundledFile(tmp_path, "weights.bin", SHA256)
    assert part.find() is None
    with pytest.raises(ProviderError, match=r"^weights\.bin is not installed; install recollect again$"):
        part.read()
    (tmp_path / "weights.bin").write_bytes(b"weightz")
    with pytest.raises(ProviderError, match=rf"^weights\.bin has SHA-256 .*, expected {SHA256}; install it again$"):
        part.read()
    (tmp_path / "weights.bin").write_bytes(CONTENT)
    assert part.read() == CONTENT


def test_a_kit_names_all_that_is_missing_and_the_fix(site: Path) -> None:
    kit = EmbedderRequirements(embedder="e", modules=("json", "no_such_module"), files=(PART,), fix="run it")
    with pytest.raises(ProviderError, match=r"'e' is missing no_such_module, weights\.bin of carrier-of-tests; run it"):
        kit.check()
    install(site)
    assert kit.find_missing() == ["no_such_module"]


def test_a_kit_of_an_extra_that_is_not_installed_names_the_extra_and_no_files(site: Path) -> None:
    kit = EmbedderRequirements(embedder="e", modules=("no_such_module",), files=(PART,), fix="run it", extra="more")
    with pytest.raises(ProviderError, match=r"^the embedder 'e' needs the extra more, which is not installed; run it$"):
        kit.check()
    install(site)
    with pytest.raises(ProviderError, match="'e' is missing no_such_module; run it"):
        kit.check()


@table("kit", [WORDLLAMA_REQUIREMENTS, MINILM_REQUIREMENTS], ids=lambda kit: kit.embedder)
def test_the_kits_of_our_embedders_are_installed_and_are_the_files_we_know(kit: EmbedderRequirements) -> None:
    kit.check()
    assert all(part.read() for part in kit.files)
