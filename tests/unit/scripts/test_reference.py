"""The script that writes the reference of operations: its pages are up to date, and a new operation gets a section."""

import reference

from tests.tables import table


@table("name", reference.PAGES)
def test_a_page_is_what_the_script_writes(name: str) -> None:
    page = (reference.REFERENCE / name).read_text(encoding="utf-8")
    assert reference.PAGES[name](page) == page, "run scripts/generate"


def test_an_operation_without_a_section_gets_one_at_the_end_of_its_subject() -> None:
    page = (reference.REFERENCE / "http.md").read_text(encoding="utf-8")
    start, end = page.index("### list_memories\n"), page.index("## What happened\n")
    written = reference.render_http(page[:start] + page[end:])
    section = written[start : written.index("## What happened\n")]
    assert "Right: `read`. It only looks; the same again changes nothing more." in section
    assert "| `scope` | text | whose memory; required |\n" in section
    assert "| `limit` | whole number | how many at most; default 100 |\n" in section
    assert written.endswith(page[end:])
