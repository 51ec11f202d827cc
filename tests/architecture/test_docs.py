"""The documentation is complete: what can be used has its place, and what is linked is there."""

import dataclasses
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from recollect import errors
from recollect.api.operations import OPERATIONS
from recollect.cli.main import cli
from recollect.ranking.profile_toml import PROFILE_KEYS, SIGNAL_CLASSES
from recollect.ranking.profiles import BUILTIN_PROFILES
from recollect.ranking.signals import SET_SIGNALS, SIGNALS
from recollect.server.grpc.server import SERVICE, STATUSES
from recollect.server.http.middleware import STATUSES as HTTP_STATUSES
from recollect.server.mcp.catalog import ToolEntry, load_tools
from recollect.server.mcp.resources import PROMPTS, RESOURCES, TEMPLATES, PromptTemplate, Resource
from tests.tables import table

from .markdown import Page, unsaid
from .source import ROOT, files, relative

DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
EXCEPTIONS = [thing for _, thing in inspect.getmembers(errors, inspect.isclass) if thing.__module__ == errors.__name__]


def commands(group: click.Command = cli, path: str = "recollect") -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that call it."""
    yield path, group
    if isinstance(group, click.Group):
        for name, command in group.commands.items():
            yield from commands(command, f"{path} {name}")


def pages() -> list[Page]:
    """Every page of the repository."""
    return [Page.read(path) for path in files() if path.suffix == ".md"]


@table("name", sorted(SIGNAL_CLASSES))
def test_every_signal_has_a_heading_and_each_of_its_options_is_named_under_it(name: str) -> None:
    section = Page.read(REFERENCE / "signals.md").section(name)
    assert section, f"no heading says {name}"
    options = [field.name for field in dataclasses.fields({**SIGNALS, **SET_SIGNALS}[name])]  # type: ignore[arg-type]
    assert unsaid(section, options) == []


def test_the_signals_of_both_sorts_are_all_the_signals() -> None:
    assert set(SIGNAL_CLASSES) == set(SIGNALS) | set(SET_SIGNALS)


@table("name", sorted(BUILTIN_PROFILES))
def test_every_built_in_profile_has_a_heading(name: str) -> None:
    assert name in Page.read(REFERENCE / "profiles.md").titles()


@table("name", sorted(BUILTIN_PROFILES))
def test_the_section_of_a_profile_begins_with_its_version(name: str) -> None:
    section = Page.read(REFERENCE / "profiles.md").section(name)
    assert re.match(rf"## {name}\n\nVersion {re.escape(BUILTIN_PROFILES[name].version)}\. ", section), section


def test_the_parts_of_the_default_profile_are_told_with_their_weights() -> None:
    section = Page.read(DOCS / "explanation" / "ranking.md").section("What default looks at")
    told = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", section, re.MULTILINE))
    assert told == {term.signal.name: f"{term.weight:g}" for term in BUILTIN_PROFILES["default"].terms}


def test_every_key_of_a_profile_is_explained() -> None:
    page = Page.read(REFERENCE / "profiles.md")
    assert unsaid(page.text(), (*PROFILE_KEYS, "weight", "missing", "floor")) == []


@table("error", EXCEPTIONS, ids=lambda error: error.__name__)
def test_every_error_has_a_heading(error: type[Exception]) -> None:
    assert error.__name__ in Page.read(REFERENCE / "errors.md").titles()


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    drawn: dict[str, str] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").split("\n"):
        if branch := re.match(r"([│├└─ ]*)([A-Z]\w+)(?: \((\w+)\))?  ", line):
            above = [*above[: len(branch[1]) // 4], branch[2]]
            drawn[branch[2]] = " ".join(filter(None, [*above[-2:-1], branch[3]]))
    ours = {error.__name__: error.__bases__ for error in EXCEPTIONS}
    actual = {name: " ".join(b.__name__ for b in bases if b is not Exception) for name, bases in ours.items()}
    assert drawn == actual


@table("words", [words for words, _ in commands()])
def test_every_command_has_a_heading_and_each_of_its_options_is_named_under_it(words: str) -> None:
    page = Page.read(REFERENCE / "cli.md")
    calls = re.compile(rf"{re.escape(words)}(?: [A-Z\[-].*)?")
    heading = next(filter(calls.fullmatch, page.titles()), None)
    assert heading, f"no heading says {words}"
    options = [o for o in dict(commands())[words].params if isinstance(o, click.Option)]
    names = [name for option in options for name in (*option.opts, *option.secondary_opts)]
    assert unsaid(page.section(heading), names) == []


@table("name", OPERATIONS)
def test_every_operation_has_a_heading_with_its_right_and_its_fields(name: str) -> None:
    section = Page.read(REFERENCE / "http.md").section(name)
    operation = OPERATIONS[name]
    assert operation.about in section
    assert f"Right: `{operation.right.value}`." in section
    assert unsaid(section, operation.request.model_fields) == []


def test_every_code_of_a_problem_is_explained_with_its_status() -> None:
    section = Page.read(REFERENCE / "http.md").section("Problems")
    told = dict(re.findall(r"^\| `(\w+)` \| (\d+)", section, re.MULTILINE))
    assert told == {code.value: str(status.value) for code, status in HTTP_STATUSES.items()}


@table("entry", load_tools().values(), ids=lambda entry: entry.name)
def test_every_tool_has_a_row_under_its_toolset_with_its_right_and_what_it_takes(entry: ToolEntry) -> None:
    section = Page.read(REFERENCE / "mcp.md").section(f"The toolset {entry.toolset}")
    row = next((row for row in section.split("\n") if row.startswith(f"| `{entry.name}` | {entry.right.value} |")), "")
    assert row, f"no row says {entry.name}"
    assert unsaid(row, entry.input.get("properties", {})) == []


@table("one", [*RESOURCES.values(), *TEMPLATES.values()], ids=lambda one: one.address)
def test_every_resource_has_a_row_with_what_it_asks(one: Resource) -> None:
    rows = Page.read(REFERENCE / "mcp.md").section("Resources").split("\n")
    assert [unsaid(row, one.operations) for row in rows if row.startswith(f"| `{one.address}` |")] == [[]]


@table("one", PROMPTS.values(), ids=lambda one: one.name)
def test_every_prompt_has_a_row_with_what_it_takes_and_asks(one: PromptTemplate) -> None:
    rows = Page.read(REFERENCE / "mcp.md").section("Prompts").split("\n")
    assert [unsaid(row, (*one.arguments, *one.operations)) for row in rows if row.startswith(f"| `{one.name}` |")] == [
        []
    ]


def test_what_the_pages_import_is_public() -> None:
    offered = r"integrations\.(?:anthropic|langgraph|openai_agents|pydantic_ai)|grpc\.v1|testing"
    private = re.compile(rf"^\s*(?:from|import) (recollect\.(?!(?:{offered})\b)[\w.]+)", re.MULTILINE)
    found = [f"{relative(page.path)}: {name}" for page in pages() for name in private.findall(page.code("python"))]
    assert found == []


def test_every_relative_link_leads_somewhere() -> None:
    lost = [f"{relative(page.path)}: {link}" for page in pages() for link in page.links() if is_lost(page, link)]
    assert lost == []


def is_lost(page: Page, link: str) -> bool:
    """Whether a link within the repository names a file or a heading that is not there."""
    if re.match(r"[a-z]+:", link):
        return False
    name, _, anchor = link.partition("#")
    target = page.path.parent / name if name else page.path
    return not target.exists() or (bool(anchor) and anchor not in Page.read(target).anchors())


def test_every_page_of_the_documentation_is_in_its_index() -> None:
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in Page.read(DOCS / "index.md").links()}
    pages_there = {path for path in DOCS.rglob("*.md") if path != DOCS / "index.md"}
    assert [relative(path) for path in sorted(pages_there - linked)] == []


def test_every_decision_has_a_number_of_its_own_a_status_and_the_three_headings() -> None:
    decisions = [path for path in sorted((DOCS / "adr").glob("*.md")) if path.name not in ("README.md", "index.md")]
    numbers = Counter(path.name.split("-")[0] for path in decisions)
    wrong = [path.name for path in decisions if not re.match(r"\d{4}-[\w-]+\.md", path.name)]
    wrong += [number for number, times in numbers.items() if times > 1]
    for page in map(Page.read, decisions):
        wrong += [] if re.search(r"^\W*Status\b", page.text(), re.MULTILINE) else [f"{page.path.name}: no status"]
        absent = {"Context", "Decision", "Consequences"} - set(page.titles())
        wrong += [f"{page.path.name}: no heading {heading}" for heading in sorted(absent)]
    assert decisions
    assert wrong == []


@table("name", OPERATIONS)
def test_every_call_over_grpc_has_a_row_with_its_messages_and_its_right(name: str) -> None:
    call = SERVICE.methods_by_name[OPERATIONS[name].call_name]
    row = f"| `{call.name}` | `{call.input_type.name}` | `{call.output_type.name}` | {OPERATIONS[name].right} |"
    assert row in Page.read(REFERENCE / "grpc.md").section("The calls")


def test_no_call_over_grpc_has_a_row_that_is_not_there() -> None:
    rows = re.findall(r"^\| `(\w+)`", Page.read(REFERENCE / "grpc.md").section("The calls"), re.MULTILINE)
    assert rows == [call.name for call in SERVICE.methods]


def test_every_code_has_a_row_with_its_status_over_grpc() -> None:
    section = Page.read(REFERENCE / "grpc.md").section("When it is refused")
    told = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", section, re.MULTILINE))
    assert told == {code.value: status.name for code, status in STATUSES.items()}


def test_every_word_of_the_glossary_is_there_once() -> None:
    terms = Counter(re.findall(r"\*\*(.+?)\*\*", Page.read(DOCS / "glossary.md").text().lower()))
    assert terms
    assert [term for term, times in terms.items() if times > 1] == []


def test_a_name_is_said_only_as_code_and_whole() -> None:
    text = "`--at ISO` sets `recollect.rank`, and weight is `weight = 0.5` here"
    assert unsaid(text, ["--at", "rank", "weight", "--a", "sets", "and", "rank_result"]) == [
        "--a",
        "sets",
        "and",
        "rank_result",
    ]


def test_a_page_is_read_by_its_headings_and_not_by_what_its_code_looks_like(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("# One\n```sh\n# no heading\n```\n## `Two` more\nhere\n### Deeper\n## Two more\nthere\n")
    page = Page.read(path)
    assert page.titles() == ["One", "Two more", "Deeper", "Two more"]
    assert page.anchors() == {"one", "two-more", "deeper", "two-more-1"}
    assert page.section("Deeper") == "### Deeper"
    assert page.section("Three") == ""


@pytest.mark.parametrize(
    ("link", "lost"),
    [
        ("https://example.org/nowhere", False),
        ("page.md", False),
        ("page.md#one", False),
        ("#one", False),
        ("other.md", True),
        ("#two", True),
        ("page.md#two", True),
    ],
)
def test_a_link_to_a_missing_file_or_heading_is_noticed(link: str, lost: bool, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"# One\n[words]({link})\n`[code](nowhere.md)`\n")
    page = Page.read(path)
    assert page.links() == [link]
    assert is_lost(page, link) == lost
