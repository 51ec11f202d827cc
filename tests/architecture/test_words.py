"""Names and sentences use the field's words: a function is named by a verb, and a sentence names its actor."""

import ast
import re
from collections.abc import Callable, Iterator

from tests.tables import table

from .source import modules, name_of, parsed

VAGUE = re.compile(r"\b(?:who(?:m)?ever|nobody|somebody|anybody)\b", re.IGNORECASE)
"""Words that stand where a noun belongs: the caller, the reader, a request, a row."""

VAGUE_LINES = {
    "recollect.api.operations.events": 2,
    "recollect.api.schemas.episodes": 1,
    "recollect.cli.admin": 1,
    "recollect.cli.memories": 1,
    "recollect.cli.profiles": 1,
    "recollect.cli.serve": 2,
    "recollect.compat.observations": 2,
    "recollect.providers.extractor": 6,
    "recollect.providers.summarizer": 2,
}
"""How many lines of help, API texts, prompts and word lists still have such a word; everywhere else there is none."""

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
    r"\bsummariser\b|\bsummarised?\b|\bjudgements\b|\bnormalised\b|\b[Nn]eighbours\b|\bauthorisation\b"
    "|parts that are no text"
)
"""Names of settings, JSON keys, stored values and public functions, which keep their spelling."""

ODD_LINES = {
    "recollect.api.operations.admin": 1,
    "recollect.api.operations.events": 1,
    "recollect.api.operations.recall": 1,
    "recollect.api.schemas.recall": 1,
    "recollect.cli.admin": 2,
    "recollect.cli.agent_commands": 1,
    "recollect.cli.events": 1,
    "recollect.cli.memories": 1,
    "recollect.cli.profiles": 1,
    "recollect.cli.serve": 2,
    "recollect.cli.transfer": 2,
    "recollect.compat.observations": 1,
    "recollect.server.http.openapi": 1,
    "recollect.server.mcp.catalog": 1,
    "recollect.server.mcp.resources": 2,
}
"""How many lines of help texts and API texts still have such a phrase; everywhere else there is none."""

PARTICIPLES = frozenset(
    [
        "begun",
        "brought",
        "built",
        "chosen",
        "done",
        "drawn",
        "found",
        "given",
        "gone",
        "heard",
        "held",
        "kept",
        "known",
        "left",
        "lost",
        "made",
        "meant",
        "met",
        "said",
        "seen",
        "sent",
        "shown",
        "sought",
        "spoken",
        "taken",
        "thought",
        "told",
        "written",
    ]
)
"""Irregular participles; the regular ones end in "ed"."""

VERBS_IN_ED = {"embed"}


def vague_words(text: str) -> list[str]:
    """The lines of the text that have one of the vague words."""
    return [f"{number}: {line.strip()}" for number, line in enumerate(text.split("\n"), 1) if VAGUE.search(line)]


def odd_phrases(text: str) -> list[str]:
    """The lines of the text that have a phrase or spelling that is not plain American English."""
    lines = enumerate(text.split("\n"), 1)
    return [f"{number}: {line.strip()}" for number, line in lines if ODD.search(STORED_OR_PUBLIC.sub("", line))]


def is_participle(name: str) -> bool:
    """Whether a name is a participle and nothing else."""
    return name in PARTICIPLES or (name.endswith("ed") and "_" not in name and name not in VERBS_IN_ED)


def participles(tree: ast.Module) -> Iterator[str]:
    """The functions and methods that are named by nothing but a participle; a property may be."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_participle(node.name.strip("_")):
            decorators = {getattr(one, "id", getattr(one, "attr", "")) for one in node.decorator_list}
            if not decorators & {"property", "cached_property", "lock_free_property"}:
                yield node.name


def count_lines(find: Callable[[str], list[str]]) -> dict[str, int]:
    """How many lines of each module have what is searched for; modules without any are left out."""
    counts = {name_of(path): len(find(path.read_text(encoding="utf-8"))) for path in modules()}
    return {name: count for name, count in counts.items() if count}


def test_sentences_name_their_actor() -> None:
    assert count_lines(vague_words) == VAGUE_LINES


def test_sentences_are_plain_american_english() -> None:
    assert count_lines(odd_phrases) == ODD_LINES


def test_no_function_is_named_by_a_participle() -> None:
    found = {name_of(path): set(participles(parsed(path))) for path in modules()}
    assert {name: odd for name, odd in found.items() if odd} == {}


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
