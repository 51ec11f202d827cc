"""Names and sentences use the field's words: a function is named by a verb, and a sentence names its actor."""

import ast
import re
from collections.abc import Iterator

from tests.tables import table

from .source import modules, name_of, parsed, relative

VAGUE = re.compile(r"\b(?:who(?:m)?ever|nobody|somebody|anybody)\b", re.IGNORECASE)
"""Words that stand where a noun belongs: the caller, the reader, a request, a row."""

NOT_YET_PLAIN = {"api", "cli", "compat", "providers"}
"""Packages with such words in word lists, prompts, help and API texts."""

PARTICIPLES = frozenset(
    [
        "asked",
        "begun",
        "brought",
        "built",
        "called",
        "changed",
        "chosen",
        "departed",
        "done",
        "drawn",
        "dropped",
        "ended",
        "found",
        "gathered",
        "given",
        "gone",
        "heard",
        "held",
        "judged",
        "kept",
        "known",
        "left",
        "lost",
        "made",
        "marked",
        "meant",
        "measured",
        "met",
        "named",
        "noted",
        "opened",
        "passed",
        "placed",
        "put",
        "ranked",
        "reached",
        "recorded",
        "refused",
        "said",
        "seen",
        "sent",
        "served",
        "settled",
        "shown",
        "sought",
        "spared",
        "spoken",
        "stored",
        "taken",
        "thought",
        "told",
        "touched",
        "tried",
        "used",
        "wanted",
        "weighed",
        "written",
    ]
)
"""Words that say in a function's name what was done, and not what it does."""

OLD_NAMES = {
    "recollect.compat.observations": {"told"},
    "recollect.engine.engine": {"kept", "served"},
    "recollect.model.memory": {"changed", "recorded", "stored"},
    "recollect.protocols": {"kept", "put", "touched"},
    "recollect.stores.sql.reader": {"kept", "touched"},
    "recollect.stores.sql.writer": {"kept", "put", "touched"},
    "recollect.testing.builders": {"put"},
    "recollect.testing.reference_store": {"kept", "touched"},
    "recollect.testing.reference_writer": {"kept", "put", "touched"},
}
"""Functions of the public API and of the store protocol that keep such a name until these change."""


def vague_words(text: str) -> list[str]:
    """The lines of the text that have one of the vague words."""
    return [f"{number}: {line.strip()}" for number, line in enumerate(text.split("\n"), 1) if VAGUE.search(line)]


def participles(tree: ast.Module) -> Iterator[str]:
    """The functions and methods that are named by nothing but a participle; a property may be."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.strip("_") in PARTICIPLES:
            decorators = {getattr(one, "id", getattr(one, "attr", "")) for one in node.decorator_list}
            if not decorators & {"property", "cached_property", "lock_free_property"}:
                yield node.name


def package_of(name: str) -> str:
    """The package of a module, or the root module itself."""
    return f"{name}.__init__".split(".")[1]


def test_sentences_name_their_actor() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in modules()}
    plain = {path: text for path, text in texts.items() if package_of(name_of(path)) not in NOT_YET_PLAIN}
    assert [f"{relative(path)}:{line}" for path, text in plain.items() for line in vague_words(text)] == []


def test_a_package_that_is_plain_is_not_listed_as_one_that_is_not() -> None:
    vague = {package_of(name_of(path)) for path in modules() if vague_words(path.read_text(encoding="utf-8"))}
    assert vague == NOT_YET_PLAIN


def test_no_function_is_named_by_a_participle() -> None:
    found = {name_of(path): set(participles(parsed(path))) for path in modules()}
    assert {name: odd for name, odd in found.items() if odd} == OLD_NAMES


@table("line", ["Whoever asks is told", "nobody reads it", "for somebody else", "# anybody", "whomever it may concern"])
def test_a_vague_word_is_noticed(line: str) -> None:
    assert vague_words(f"one\n{line}") == [f"2: {line}"]


@table(
    ("code", "odd"),
    [
        ("def told(): ...", ["told"]),
        ("class A:\n    async def _kept(self): ...", ["_kept"]),
        ("class A:\n    @property\n    def kept(self): ...", []),
        ("def render_told(): ...", []),
    ],
)
def test_a_participle_is_noticed_unless_it_is_a_property(code: str, odd: list[str]) -> None:
    assert list(participles(ast.parse(code))) == odd
