"""Secret rules: compile the patterns, and try each only where the text can match.

The rules are in secrets.toml. A rule runs only if one of its keywords occurs, and only in windows around it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from types import MappingProxyType

from recollect.admission.secret_values import VALUE_TESTS, is_varied, looks_random
from recollect.text.data_files import load_data_file

RuleMatch = tuple[int, int, int]
"""A match: start, end, and the rank of the rule."""

MIN_TOKEN_CHARS = 15
"""The shortest token with a prefix."""


@dataclass(frozen=True, slots=True)
class SecretRule:
    """A rule of one kind of secret.

    The secret is the group `s` of the pattern, or else the whole match, if `accepts` agrees.
    """

    kind: str
    description: str
    keywords: tuple[str, ...]
    pattern: str
    accepts: Callable[[str], bool]
    matches_lower_case: bool = False
    """Whether the pattern matches the text in lower case."""
    needs_long_word: bool = False
    """Whether every match has a long word."""

    def find_spans(self, text: str, folded: str, windows: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield the accepted matches within the windows."""
        pattern, group = _compile(self.pattern)
        searched = folded if self.matches_lower_case else text
        for first, last in windows:
            for match in pattern.finditer(searched, first, last):
                start, end = match.span(group)
                if self.accepts(text[start:end]):
                    yield start, end


def match_rules(text: str, long: list[tuple[int, int]]) -> list[RuleMatch]:
    """Return the matches in the text, unordered; `long` are the spans of its long words."""
    folded = _fold(text)
    spans: list[RuleMatch] = []
    if long:
        spans += _match_prefixed(text, long)
        runs = [
            (start, end) for start, end in long if end - start >= _MIN_RUN_CHARS and _LONG_RUN.search(text, start, end)
        ]
        if runs:
            spans += _match_ranks(_FAMILIES[("<long>",)], text, folded, runs)
    if _NUMBER.search(text):
        for name, (gate, reach) in _NUMBER_GATES.items():
            windows = [(match.start(), match.end() + reach) for match in gate.finditer(text)]
            spans += _match_ranks(_FAMILIES[(name,)], text, folded, windows)
    for keywords in _needed_families(folded, _LONG_TEXT_FAMILIES if long else _ANY_TEXT_FAMILIES):
        spans += _match_ranks(_FAMILIES[keywords], text, folded, _find_windows(folded, keywords))
    return spans


def match_broken_tokens(text: str) -> Iterator[RuleMatch]:
    """Yield tokens of known length that are split by one to three line breaks."""
    at = text.find("\n")
    while at >= 0:
        last = text[max(0, at - _MAX_LINE_CHARS) : at].rsplit(maxsplit=1)[-1:] if _NEXT_LINE.match(text, at) else []
        for word in last:
            stump = _TOKEN_START.search(word) if len(word) >= _MIN_STUB_CHARS else None
            if stump is not None:
                yield from _mend_token(text, at, stump)
        at = text.find("\n", at + 1)


def _mend_token(text: str, at: int, stump: re.Match[str]) -> Iterator[RuleMatch]:
    """Yield the token that begins at the end of a line, if the next lines complete it."""
    (pattern, rank), token, end = _WHOLE_TOKENS[stump[1]], stump[0], at - (text[at - 1] == "\r")
    start = end - len(token)
    for _ in range(_MAX_LINE_BREAKS):
        more = _NEXT_LINE.match(text, end)
        if more is None:
            return
        token, end = token + more[1], more.end()
        if re.fullmatch(pattern, token[len(stump[1]) :]) and is_varied(token):
            yield start, end, rank
            return


def find_long_words(text: str) -> list[tuple[int, int]]:
    """Return the spans of words that are long enough for a token."""
    places: list[tuple[int, int]] = []
    at = 0
    for word in [word for word in text.split() if len(word) >= MIN_TOKEN_CHARS]:
        at = text.find(word, at)
        places.append((at, at + len(word)))
        at += len(word)
    return places


def _needed_families(folded: str, guarded: "_GuardedFamilies") -> Iterable[tuple[str, ...]]:
    """Return the families of rules that have one of their keywords in the text."""
    needed: dict[tuple[str, ...], None] = {}
    for guard, words in guarded:
        if guard in folded:
            for word, families in words:
                if word in folded:
                    needed |= families
    return needed


def _fold(text: str) -> str:
    """Return the text in lower case with the same length (a Turkish letter would become two)."""
    folded = text.lower()
    return folded if len(folded) == len(text) else text.translate(_LOWER_CASE)


def _match_prefixed(text: str, words: Iterable[tuple[int, int]]) -> Iterator[RuleMatch]:
    """Yield prefixed tokens; a rule is not tried again inside its own match."""
    done: dict[int, int] = {}
    for first, last in words:
        for prefix in _PREFIX.finditer(text, first, last):
            for rank in _BY_PREFIX[prefix[0]]:
                if prefix.start() < done.get(rank, 0):
                    continue
                match = _compile(RULES[rank].pattern)[0].match(text, prefix.start())
                if match:
                    done[rank] = match.end()
                    if RULES[rank].accepts(match[0]):
                        yield match.start(), match.end(), rank


def _match_ranks(
    ranks: Iterable[int], text: str, folded: str, windows: Iterable[tuple[int, int]]
) -> Iterator[RuleMatch]:
    for rank in ranks:
        for start, end in RULES[rank].find_spans(text, folded, windows):
            yield start, end, rank


def _find_windows(folded: str, keywords: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return windows around the keywords: their lines, and as far beyond as a rule reads."""
    if len(folded) <= 2 * _CHARS_BEFORE or keywords in _WHOLE_TEXT_FAMILIES:
        return [(0, len(folded))]
    windows: list[tuple[int, int]] = []
    first = last = 0
    for at in sorted({at for keyword in keywords for at in _find_keyword(folded, keyword)}):
        if at + _CHARS_AFTER <= last:
            continue
        start = max(folded.rfind("\n", max(0, at - _CHARS_BEFORE), at) + 1, at - _CHARS_BEFORE, 0)
        end = _window_end(folded, at)
        if start <= last:
            last = max(last, end)
            continue
        if last:
            windows.append((first, last))
        first, last = start, end
    windows.append((first, last))
    return windows


def _find_keyword(folded: str, keyword: str) -> Iterator[int]:
    at = folded.find(keyword)
    while at >= 0:
        yield at
        at = folded.find(keyword, at + len(keyword))


def _window_end(folded: str, at: int) -> int:
    """Return the end of the window: the end of the next line, or a gap in a long line."""
    far = at + _CHARS_AFTER
    line = folded.find("\n", at, far)
    line = folded.find("\n", line + _GAP_CHARS, far) if line >= 0 else -1
    if line >= 0:
        return line
    gap = _WHITESPACE.search(folded, far)
    return gap.start() if gap else len(folded)


@cache
def _compile(pattern: str) -> tuple[re.Pattern[str], str | int]:
    """Compile a pattern and find its group, on first use.

    Compiling two hundred would slow down every start, and most are never needed.
    """
    compiled = re.compile(pattern)
    return compiled, "s" if "s" in compiled.groupindex else 0


_CHARS_BEFORE, _CHARS_AFTER, _GAP_CHARS = 200, 1000, 9
"""How far a rule reads from its keywords: back, ahead, and across blanks between two lines."""

_WHITESPACE = re.compile(r"\s")
_LOWER_CASE = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}

_MIN_RUN_CHARS = 26
_LONG_RUN = re.compile(r"[A-Za-z0-9_+/-]{22}")
_NUMBER = re.compile(r"[0-9]{2} ?[A-Z0-9]{2}")
_NUMBER_GATES = {
    "<digits>": (re.compile(r"[0-9]{4}[ -]?[0-9]{4}"), 30),
    "<account>": (re.compile(r"[A-Z]{2}[0-9]{2} ?[A-Z0-9]{4}"), 60),
}
"""For rules without keywords: a pattern that must occur, and how far to read beyond it."""

_FILE = load_data_file("recollect.admission", "secrets.toml")


def _read_rules() -> Iterator[SecretRule]:
    for row in _FILE.rows("rule.prefixed"):
        yield _build_rule(row, f"(?:{'|'.join(map(re.escape, row['prefixes'].split()))}){row['rest']}", is_varied)
    for name in ("rule.multiline", "rule.shaped"):
        for row in _FILE.rows(name):
            yield _build_rule(row, row["pattern"], VALUE_TESTS[row["test"]], needs_long_word=True)
    for row in _FILE.rows("rule.named"):
        pattern = rf"(?:{row['names']}){{name_to_value}}(?P<s>{row['value']})(?![A-Za-z0-9])"
        yield _build_rule(row, pattern, looks_random, matches_lower_case=True, needs_long_word=True)
    for row in _FILE.rows("rule.assigned"):
        yield _build_rule(row, row["pattern"], VALUE_TESTS[row["test"]], matches_lower_case=True)
    for row in _FILE.rows("rule.settings"):
        yield _build_rule(row, row["pattern"], VALUE_TESTS[row["test"]])


def _build_rule(row: Mapping[str, str], pattern: str, accepts: Callable[[str], bool], **flags: bool) -> SecretRule:
    return SecretRule(
        kind=row["kind"],
        description=row.get("description", ""),
        keywords=tuple(_FILE.expand(row.get("keywords", "")).split()),
        pattern=_FILE.expand(pattern).replace("\n", ""),
        accepts=accepts,
        **flags,
    )


RULES: tuple[SecretRule, ...] = tuple(_read_rules())
"""Every rule, the most specific first."""

KINDS: Mapping[str, str] = MappingProxyType({rule.kind: rule.description for rule in RULES if rule.description})
"""The description of each kind of secret."""

_RANKS = {prefix: rank for rank, rule in enumerate(_FILE.rows("rule.prefixed")) for prefix in rule["prefixes"].split()}
_BY_PREFIX = {
    long: tuple(rank for prefix, rank in _RANKS.items() if long.startswith(prefix)) for long in _RANKS
}  # a token that begins with sk-ant- also begins with sk-
_PREFIX = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z0-9_\-.+/=$%:~,]{15})(?:"
    + "|".join(
        re.escape(first) + "(?:" + "|".join(re.escape(prefix[1:]) for prefix in prefixes) + ")"
        for first, prefixes in groupby(sorted(_RANKS, reverse=True), key=lambda prefix: prefix[0])
    )
    + ")"
)

_FAMILIES = {
    keywords: tuple(rank for rank, rule in enumerate(RULES) if rule.keywords == keywords)
    for keywords in dict.fromkeys(rule.keywords for rule in RULES)
}
"""The ranks of the rules that have the same keywords."""

_WHOLE_TEXT_FAMILIES = {tuple(row["keywords"].split()) for row in _FILE.rows("rule.multiline")}

_WHOLE_TOKENS = {
    prefix: (_FILE.expand(row["rest"]), next(rank for rank, rule in enumerate(RULES) if rule.kind == row["kind"]))
    for row in _FILE.rows("fixed_length")
    for prefix in row["prefixes"].split()
}
_TOKEN_START = re.compile(
    rf"(?<![A-Za-z0-9])({'|'.join(map(re.escape, sorted(_WHOLE_TOKENS, key=len, reverse=True)))})[A-Za-z0-9_-]*+\Z"
)
_NEXT_LINE = re.compile(r"\r?\n[ \t]{0,8}([A-Za-z0-9_-]++)")
_MIN_STUB_CHARS, _MAX_LINE_CHARS, _MAX_LINE_BREAKS = 5, 200, 3
"""The shortest start of a token at the end of a line, the longest line, and the most breaks."""

_GuardedFamilies = tuple[tuple[str, tuple[tuple[str, dict[tuple[str, ...], None]], ...]], ...]
"""Keywords with the families that need them, by a guard: without it, none of the keywords occurs."""


def _guard_families(rules: Iterable[SecretRule]) -> _GuardedFamilies:
    families = tuple(dict.fromkeys(rule.keywords for rule in rules))
    words = sorted({word for keywords in families for word in keywords if word[0] != "<"})
    guards = {word: _find_guard(word, words) for word in words}
    return tuple(
        (guard, tuple((word, dict.fromkeys(keywords for keywords in families if word in keywords)) for word in group))
        for guard, group in groupby(sorted(words, key=lambda word: guards[word]), key=lambda word: guards[word])
    )


def _find_guard(word: str, words: Iterable[str]) -> str:
    """Return a rare mark in the word, or another of the words that it contains, or ""."""
    mark = next((mark for mark in "$=_/-:~." if mark in word), "")
    return mark or next((other for other in words if other in word and other != word), "")


_LONG_TEXT_FAMILIES = _guard_families(RULES)
_ANY_TEXT_FAMILIES = _guard_families(rule for rule in RULES if not rule.needs_long_word)
