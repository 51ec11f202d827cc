"""Find secrets in a text, and redact them."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from recollect.admission.secret_rules import KINDS, RULES, RuleMatch, find_long_words, match_broken_tokens, match_rules
from recollect.admission.secret_values import decode_base64
from recollect.text.normalize import BARRIER, CONFUSABLE_CHARACTERS, NormalizedText, is_disguised, plain_character

__all__ = ["KINDS", "RedactedText", "Secret", "find_secrets", "redact", "redact_named"]


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
    URLs and HTML) and look-alike characters, and decoded base64. Placeholders that `redact` left are no secrets.
    """
    masked = _PLACEHOLDER.sub(lambda match: BARRIER * len(match[0]), text) if "[REDACTED" in text else text
    secrets: list[RuleMatch] = []
    for _ in range(_MAX_PASSES):
        long = find_long_words(masked)
        new = _merge_spans(
            [
                *match_rules(masked, long),
                *_match_escaped(masked),
                *_match_base64(masked, long),
                *match_broken_tokens(masked),
            ]
        )
        if not new:
            return tuple(Secret(RULES[rank].kind, start, end) for start, end, rank in sorted(secrets))
        secrets += new
        masked = _replace_spans(masked, [(start, end, BARRIER * (end - start)) for start, end, _ in new])
    return (Secret(RULES[secrets[0][2]].kind, 0, len(text)),)


def redact(text: str) -> RedactedText:
    """Replace every secret with `[REDACTED: <kind>]`; a second run changes nothing."""
    found = find_secrets(text)
    if not found:
        return RedactedText(text, ())
    kinds = tuple(dict.fromkeys(secret.kind for secret in found))
    return RedactedText(
        _replace_spans(text, [(each.start, each.end, f"[REDACTED: {each.kind}]") for each in found]), kinds
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
        found = [one for one in find_secrets(f"{before}{value}{after}") if at < one.end <= at + len(value)]
        if found:
            pieces = [(max(0, one.start - at), one.end - at, f"[REDACTED: {one.kind}]") for one in found]
            return RedactedText(_replace_spans(value, pieces), tuple(dict.fromkeys(one.kind for one in found)))
    return RedactedText(value, ())


_MAX_PASSES = 6
"""How often the text is searched, because adjacent secrets can hide each other.

A text that still has secrets after that is redacted as a whole.
"""

_SECRET_NAME = re.compile(
    r"pass|pw|pin\b|pins\b|code|token|key|secret|credential|authorization|phrase|mnemonic|kennwort|contrase|senha|пароль",
    re.IGNORECASE,
)
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


def _match_escaped(text: str) -> Iterator[RuleMatch]:
    """Yield the matches behind escapes and look-alike characters, up to two layers deep."""
    layers: list[NormalizedText] = []
    for _ in range(_MAX_LAYERS):
        odd = _find_escape_pattern(text)
        if odd is None or not odd.search(text):
            return
        layers.append(_unescape(text, odd))
        text = layers[-1].text
        for start, end, rank in match_rules(text, find_long_words(text)):
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
    reading = NormalizedText()
    sparse = "BEGIN" not in text
    done = 0
    for match in odd.finditer(text):
        start = match.start()
        if sparse and start - done > _MAX_ESCAPE_GAP:
            last, first = _next_line(text, done) if done else 0, _line_before(text, done, start)
            if last < first:
                reading.add(text[done:last], done, last)
                reading.add(BARRIER, last, first)
                done = first
        reading.add(text[done:start], done, start)
        reading.add(_decode_escape(match[0]), start, match.end())
        done = match.end()
    last = _next_line(text, done) if sparse else len(text)
    reading.add(text[done:last], done, last)
    return reading


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


def _match_base64(text: str, long: list[tuple[int, int]]) -> Iterator[RuleMatch]:
    """Yield runs of base64 that decode to a text with a secret."""
    done = 0
    for first, last in long:
        done = max(first, done)
        while (run := _BASE64_RUN.search(text, done, last)) and (match := _BASE64.match(text, run.start())):
            done = match.end()
            inside = decode_base64("".join(match[0].split()))
            if inside is not None and (ranks := [rank for _, _, rank in match_rules(inside, find_long_words(inside))]):
                yield match.start(), done, min(ranks)


def _merge_spans(spans: list[RuleMatch]) -> list[RuleMatch]:
    """Merge overlapping matches, keeping the most specific kind."""
    merged: list[RuleMatch] = []
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
