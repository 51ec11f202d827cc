"""The files of the static table are known by their contents."""

from pathlib import Path

from recollect.providers import static_table
from recollect.providers.static_table import TABLE, TOKENIZER, find_wrong_files


def test_files_that_are_missing_or_have_other_contents_are_found(tmp_path: Path) -> None:
    assert find_wrong_files() == []
    assert find_wrong_files(tmp_path) == [TABLE, TOKENIZER]
    content = (Path(static_table.__file__).parent / TOKENIZER).read_bytes()
    (tmp_path / TABLE).write_bytes(content)
    (tmp_path / TOKENIZER).write_bytes(content)
    assert find_wrong_files(tmp_path) == [TABLE]
