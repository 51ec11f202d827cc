"""Find secrets in a text, and redact them.

The rules are in secrets.toml. A rule runs only if one of its keywords occurs, and only in windows around it.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from types import MappingProxyType

from recollect.admission.secret_values import VALUE_TESTS, decode_base64, is_varied, looks_random
from recollect.text.data_files import load_data_file
from recollect.text.normalize import BARRIER, CONFUSABLE_CHARACTERS, NormalizedText, is_disguised, plain_character

_RuleMatch = tuple[int, int, int]
"""A match: start, end, and the rank of the rule."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret: its kind and its span in the text."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RedactedText:
    """A text without its secrets, and the kinds found, in order of first occurrence."""

    text: str
    kinds: tuple[str, ...]


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return the secrets of the text, in order and without overlap.

    A span covers the secret, not the words around it. Searched are the text itself, the text behind escapes (of JSON,
    URLs and HTML) and look-alike characters, and decoded base64. Placeholders from `redact` are not secrets.
    """
    masked = _PLACEHOLDER.sub(lambda match: BARRIER * len(match[0]), text) if "[REDACTED" in text else text
    secrets: list[_RuleMatch] = []
    for _ in range(_MAX_PASSES):
        long_words = _find_long_words(masked)
        matches = _merge_spans(
            [
                *_match_rules(masked, long_words),
                *_match_escaped(masked),
                *_match_base64(masked, long_words),
                *_match_broken_tokens(masked),
            ]
        )
        if not matches:
            return tuple(Secret(RULES[rank].kind, start, end) for start, end, rank in sorted(secrets))
        secrets += matches
        masked = _replace_spans(masked, [(start, end, BARRIER * (end - start)) for start, end, _ in matches])
    return (Secret(RULES[secrets[0][2]].kind, 0, len(text)),)


def redact(text: str) -> RedactedText:
    """Replace every secret with `[REDACTED: <kind>]`; a second run changes nothing."""
    secrets = find_secrets(text)
    if not secrets:
        return RedactedText(text, ())
    kinds = tuple(dict.fromkeys(secret.kind for secret in secrets))
    return RedactedText(
        _replace_spans(text, [(each.start, each.end, f"[REDACTED: {each.kind}]") for each in secrets]), kinds
    )


def redact_named(name: str, value: str, *, quoted: bool = True) -> RedactedText:
    """Redact a value that its name marks as a secret, as if it read `password: …`.

    `quoted` is for values that stand alone; a word of a sentence is judged more strictly.
    """
    if not _SECRET_NAME.search(name):
        return RedactedText(value, ())
    name = _PLURAL_NAME.sub("", " ".join(name.split()).rstrip(" :="))
    for before, after in ((f'{name}="', '"'), (f"{name}: ", ""), (f"{name} is ", ""))[not quoted :]:
        at = len(before)
        secrets = [one for one in find_secrets(f"{before}{value}{after}") if at < one.end <= at + len(value)]
        if secrets:
            pieces = [(max(0, one.start - at), one.end - at, f"[REDACTED: {one.kind}]") for one in secrets]
            return RedactedText(_replace_spans(value, pieces), tuple(dict.fromkeys(one.kind for one in secrets)))
    return RedactedText(value, ())


_FILE = load_data_file("recollect.admission", "secrets.toml")

_MAX_PASSES = 6
"""How often the text is searched, because adjacent secrets can hide each other.

A text that still has secrets after that is redacted as a whole.
"""

_SECRET_NAME = re.compile(_FILE.pattern("patterns.secret_name").replace("\n", ""), re.IGNORECASE)
_PLURAL_NAME = re.compile(r"(?<=[dyenlt])s\b(?<!\btokens)(?=[\s:=]*$)", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\[REDACTED(?:: [a-z0-9. ]{1,40})?\]")
_ESCAPE = re.compile(
    r"\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[nrtbf\"'/\\]|%[0-9A-Fa-f]{2}|&(?:[a-z]{2,6}|#\d{1,6}|#x[0-9a-f]{1,5});"
)
_DISGUISE = re.compile(f"{_ESCAPE.pattern}|{CONFUSABLE_CHARACTERS.pattern}")
_MAX_LAYERS = 2
_MAX_ESCAPE_GAP = 100
"""Escapes that are nearer to each other are decoded together."""

_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}+(?:(?<=[A-Za-z0-9+/]{60})\r?\n[A-Za-z0-9+/]{4,}+)*+={0,2}")
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{20}")  # the shortest card number takes as many


def _match_escaped(text: str) -> Iterator[_RuleMatch]:
    """Yield the matches behind escapes and look-alike characters, up to two layers deep."""
    layers: list[NormalizedText] = []
    for _ in range(_MAX_LAYERS):
        odd = _find_escape_pattern(text)
        if odd is None or not odd.search(text):
            return
        layers.append(_unescape(text, odd))
        text = layers[-1].text
        for start, end, rank in _match_rules(text, _find_long_words(text)):
            for layer in reversed(layers):
                start, end = layer.source_offset(start), layer.source_offset(end)  # noqa: PLW2901
            yield start, end, rank


def _find_escape_pattern(text: str) -> re.Pattern[str] | None:
    """Return the pattern of the escapes to decode, or `None` if the text has none."""
    escaped = "\\" in text or "%" in text or "&" in text
    if is_disguised(text):
        return _DISGUISE if escaped else CONFUSABLE_CHARACTERS
    return _ESCAPE if escaped else None


def _unescape(text: str, odd: re.Pattern[str]) -> NormalizedText:
    """Decode one layer of escapes and look-alike characters.

    Lines far from any are left out, because they were searched before; not if the text may have a key of several lines.
    """
    normalized = NormalizedText()
    sparse = "BEGIN" not in text
    done = 0
    for match in odd.finditer(text):
        start = match.start()
        if sparse and start - done > _MAX_ESCAPE_GAP:
            last, first = _next_line(text, done) if done else 0, _line_before(text, done, start)
            if last < first:
                normalized.add(text[done:last], done, last)
                normalized.add(BARRIER, last, first)
                done = first
        normalized.add(text[done:start], done, start)
        normalized.add(_decode_escape(match[0]), start, match.end())
        done = match.end()
    last = _next_line(text, done) if sparse else len(text)
    normalized.add(text[done:last], done, last)
    return normalized


def _next_line(text: str, at: int) -> int:
    """Return the end of the line after the one at this position."""
    line = text.find("\n", at)
    line = text.find("\n", line + 9) if line >= 0 else -1
    return line if line >= 0 else len(text)


def _line_before(text: str, least: int, at: int) -> int:
    """Return the start of the line before the one at this position, at least `least`."""
    return text.rfind("\n", least, max(least, text.rfind("\n", least, at))) + 1 or least


def _decode_escape(escape: str) -> str:
    if len(escape) == 1:
        return plain_character(escape)
    match escape[0], escape[1]:
        case "%", _:
            return chr(int(escape[1:], 16))
        case "&", _:
            return html.unescape(escape)
        case _, "u" | "x":
            return chr(int(escape[2:], 16))
        case _, character:
            return _CONTROLS.get(character, character)


def _match_base64(text: str, long: list[tuple[int, int]]) -> Iterator[_RuleMatch]:
    """Yield runs of base64 that decode to a text with a secret."""
    done = 0
    for first, last in long:
        done = max(first, done)
        while (run := _BASE64_RUN.search(text, done, last)) and (match := _BASE64.match(text, run.start())):
            done = match.end()
            inside = decode_base64("".join(match[0].split()))
            if inside is not None and (
                ranks := [rank for _, _, rank in _match_rules(inside, _find_long_words(inside))]
            ):
                yield match.start(), done, min(ranks)


def _merge_spans(spans: list[_RuleMatch]) -> list[_RuleMatch]:
    """Merge overlapping matches, keeping the most specific kind."""
    merged: list[_RuleMatch] = []
    for start, end, rank in sorted(spans):
        if merged and start < merged[-1][1]:
            first, last, best = merged[-1]
            merged[-1] = (first, max(last, end), min(best, rank))
        else:
            merged.append((start, end, rank))
    return merged


def _replace_spans(text: str, pieces: list[tuple[int, int, str]]) -> str:
    """Replace these ordered spans of the text."""
    parts: list[str] = []
    done = 0
    for start, end, words in pieces:
        parts += (text[done:start], words)
        done = end
    return "".join([*parts, text[done:]])


_MIN_TOKEN_CHARS = 15
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


def _match_rules(text: str, long: list[tuple[int, int]]) -> list[_RuleMatch]:
    """Return the matches in the text, unordered; `long` are the spans of its long words."""
    folded = _fold(text)
    spans: list[_RuleMatch] = []
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


def _match_broken_tokens(text: str) -> Iterator[_RuleMatch]:
    """Yield tokens of known length that are split by one to three line breaks."""
    at = text.find("\n")
    while at >= 0:
        last = text[max(0, at - _MAX_LINE_CHARS) : at].rsplit(maxsplit=1)[-1:] if _NEXT_LINE.match(text, at) else []
        for word in last:
            stump = _TOKEN_START.search(word) if len(word) >= _MIN_STUB_CHARS else None
            if stump is not None:
                yield from _mend_token(text, at, stump)
        at = text.find("\n", at + 1)


def _mend_token(text: str, at: int, stump: re.Match[str]) -> Iterator[_RuleMatch]:
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


def _find_long_words(text: str) -> list[tuple[int, int]]:
    """Return the spans of words that are long enough for a token."""
    places: list[tuple[int, int]] = []
    at = 0
    for word in [word for word in text.split() if len(word) >= _MIN_TOKEN_CHARS]:
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


def _match_prefixed(text: str, words: Iterable[tuple[int, int]]) -> Iterator[_RuleMatch]:
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
) -> Iterator[_RuleMatch]:
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


def _read_rules() -> Iterator[SecretRule]:
    for row in _FILE.rows("rule.prefixed"):
        begin = "|".join(map(re.escape, row["prefixes"].split()))
        yield _build_rule({**row, "keywords": ""}, f"(?:{begin}){row['rest']}", is_varied)
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
        keywords=tuple(_FILE.expand(row["keywords"]).split()),
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
_MIN_STUB_CHARS = 5
"""Minimum characters of a token at the end of a line for it to continue on the next line."""

_MAX_LINE_CHARS = 200
"""Characters before a line break that are searched for the start of a token."""

_MAX_LINE_BREAKS = 3
"""Maximum line breaks within a token."""

_GuardedFamilies = tuple[tuple[str, tuple[tuple[str, dict[tuple[str, ...], None]], ...]], ...]
"""For each guard (a substring that all its keywords have): the keywords, and the rule families that need them."""


def _guard_families(rules: Iterable[SecretRule]) -> _GuardedFamilies:
    families = tuple(dict.fromkeys(rule.keywords for rule in rules))
    words = sorted({word for keywords in families for word in keywords if word[0] != "<"})
    guards = {word: _find_guard(word, words) for word in words}
    return tuple(
        (guard, tuple((word, dict.fromkeys(keywords for keywords in families if word in keywords)) for word in group))
        for guard, group in groupby(sorted(words, key=lambda word: guards[word]), key=lambda word: guards[word])
    )


def _find_guard(word: str, words: Iterable[str]) -> str:
    """Return a cheap substring to test before the keyword: a rare mark, or another keyword; "" without one."""
    mark = next((mark for mark in "$=_/-:~." if mark in word), "")
    return mark or next((other for other in words if other in word and other != word), "")


_LONG_TEXT_FAMILIES = _guard_families(RULES)
_ANY_TEXT_FAMILIES = _guard_families(rule for rule in RULES if not rule.needs_long_word)
