"""The files in tests/unit are named after the modules that they test.

`tests/unit/ranking/test_why.py` and `tests/unit/ranking/test_why_text.py` test `src/recollect/ranking/why.py`;
`tests/unit/ranking/test_package_repr.py` tests the whole package.
"""

from pathlib import Path

from tests.tables import table

from .source import PACKAGE, ROOT, files, relative

UNIT_TESTS = ROOT / "tests" / "unit"
OTHER_FOLDERS = {"benchmarks": ROOT / "benchmarks", "scripts": ROOT / "scripts"}
"""The folders of tests/unit that mirror a folder outside the package."""

WHOLE_PACKAGE = "package"


def source_folder(test_file: Path) -> Path:
    """The folder of the modules that this file may be named after."""
    package_path = test_file.parent.relative_to(UNIT_TESTS)
    if package_path.parts and package_path.parts[0] in OTHER_FOLDERS:
        return OTHER_FOLDERS[package_path.parts[0]].joinpath(*package_path.parts[1:])
    return PACKAGE / package_path


def is_named_after_module(test_file: Path) -> bool:
    """Whether the name is test_<module> or test_<module>_<aspect>, or test_package for the whole package."""
    folder = source_folder(test_file)
    words = test_file.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:count]) for count in range(1, len(words) + 1)]
    if names[0] == WHOLE_PACKAGE:
        return folder.is_dir()
    return any((folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file() for name in names)


def test_every_unit_test_file_is_named_after_a_module() -> None:
    test_files = [path for path in files(UNIT_TESTS) if path.match("test_*.py")]
    assert [relative(path) for path in test_files if not is_named_after_module(path)] == []


@table(
    "name",
    [
        "test_ids.py",
        "ranking/test_scorer.py",
        "ranking/test_why_text.py",
        "ranking/test_profile_toml_writer.py",
        "ranking/test_profiles.py",
        "ranking/test_package_repr.py",
        "stores/sql/test_deferred.py",
        "benchmarks/peers/test_job.py",
        "scripts/test_mcp_tools.py",
    ],
)
def test_a_module_its_package_and_an_aspect_are_accepted(name: str) -> None:
    assert is_named_after_module(UNIT_TESTS / name)


@table(
    "name",
    [
        "test_scorer.py",
        "ranking/test_scorers.py",
        "ranking/test_order_scorer.py",
        "stores/test_deferred.py",
        "nowhere/test_package.py",
        "benchmarks/test_scorer.py",
    ],
)
def test_a_name_without_a_module_is_noticed(name: str) -> None:
    assert not is_named_after_module(UNIT_TESTS / name)
