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

AFTER_NO = "longer|such|evidence|more|less|fewer|better|newer|older|faster|deeper|larger"
"""Words that may follow "is no"; elsewhere it stands for "is not a"."""

ODD = re.compile(
    "|".join(
        [
            rf"(?<!there )\b(?:is|are|was|were) no (?!(?:{AFTER_NO})\b)",
            r"\banew\b|\bthereof\b|\bhereby\b|\bwhence\b",
            r"\bwhat (?:is|was) (?:said|told|kept|asked|had)\b",
            r"\b(?:is|are) not there\b|\bis there already\b|\bthere any ?more\b",
            r"\bof them; at most\b|\bthe most that\b",
            r"\b(?:is|are) called so\b|\bno \w+ is called [{'\"]",
            r"\bwhose \w+ it is\b|\bfor it (?:is|has)\b",
            r"\b(?:behaviour|colour|favour|honour|judgement|neighbour|catalogue)\w*",
            r"\b(?:normal|summar|token|serial|recogn|organ|initial|optim|author)is(?:e|ed|er|es|ing|ation)\b",
        ]
    ),
    re.IGNORECASE,
)
"""Phrases and spellings that an American engineer would not write."""

STORED_OR_PUBLIC = re.compile(
    r"\bsummariser\b|\bsummarised?\b|\bjudgements\b|\bnormalised\b|\bneighbours\b|\bauthorisation\b"
    "|parts that are no text"
)
"""Names of settings, JSON keys, stored values and public functions, which keep their spelling."""

WITH_ODD_PHRASES = {"api", "cli", "compat", "server"}
"""Packages with such phrases in help texts, tool descriptions and prompts."""

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


def odd_phrases(text: str) -> list[str]:
    """The lines of the text that have a phrase or spelling that is not plain American English."""
    lines = enumerate(text.split("\n"), 1)
    return [f"{number}: {line.strip()}" for number, line in lines if ODD.search(STORED_OR_PUBLIC.sub("", line))]


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


def test_sentences_are_plain_american_english() -> None:
    found = {path: odd_phrases(path.read_text(encoding="utf-8")) for path in modules()}
    odd = {path: lines for path, lines in found.items() if lines}
    plain = {path: lines for path, lines in odd.items() if package_of(name_of(path)) not in WITH_ODD_PHRASES}
    assert [f"{relative(path)}:{line}" for path, lines in plain.items() for line in lines] == []
    assert {package_of(name_of(path)) for path in odd} == WITH_ODD_PHRASES


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


@table(
    "line",
    [
        "'x' is no number",
        "what is said is kept",
        "begun anew",
        "it is not there",
        "3 of them; at most 2",
        "the behaviour",
    ],
)
def test_an_odd_phrase_is_noticed(line: str) -> None:
    assert odd_phrases(f"one\n{line}") == [f"2: {line}"]


@table(
    "line", ["there is no scope", "it is no longer active", "None is no evidence", "is no newer", "the judgements key"]
)
def test_a_plain_phrase_is_not_taken_for_an_odd_one(line: str) -> None:
    assert odd_phrases(line) == []
