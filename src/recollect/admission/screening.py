"""Screening: remove private parts and secrets from a draft before anything else reads it.

Private parts are those that the author put between `<private>` tags.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Generic, TypeVar

from recollect.admission.policy import SecretsPolicy
from recollect.admission.secrets import find_secrets, redact, redact_named
from recollect.model.draft import Refused
from recollect.model.scope import Scope
from recollect.text.data_files import load_data_file
from recollect.text.normalize import CONFUSABLE_CHARACTERS, is_disguised, plain_character, replace_characters

ScreenedT = TypeVar("ScreenedT", bound=Any)

PROSE_FIELDS = ("text", "title", "evidence", "metadata", "remark")
"""The fields that may be redacted; all others are names, which redaction would change."""

PRIVATE_MARK = "private"
"""The name of private parts in a receipt."""

_PLACEHOLDER = re.compile(r"\[REDACTED[^\]]*\]")
_MAX_DEPTH = 128
"""How deep values are searched; deeper nesting is stored nowhere."""

_TEXT_TYPES = (str, Scope, Mapping, tuple, list)


@dataclass(frozen=True, slots=True)
class Screened(Generic[ScreenedT]):
    """A value without private parts and secrets, and the list of what was removed."""

    value: ScreenedT
    redacted: tuple[str, ...]


def screen(value: ScreenedT, policy: SecretsPolicy, *, may_be_blank: bool = False) -> Screened[ScreenedT] | Refused:
    """Redact the fields of a draft, or refuse it.

    It is refused if the policy says so, if a name contains a secret or private part, or if nothing else is left of the
    text, unless `may_be_blank`.
    """
    changes: dict[str, Any] = {}
    removed: dict[str, None] = {}
    kind: Any = type(value)
    for name in _text_fields(kind):
        content = getattr(value, name)
        if not isinstance(content, _TEXT_TYPES) or not content:
            continue
        if name in PROSE_FIELDS:
            cleaned = _redact_value(content, policy, removed)
            if isinstance(content, Mapping) and len(cleaned) < len(content):
                return Refused(f"its {name} has keys that look like secrets; rename them")
            if cleaned != content:
                changes[name] = cleaned
        elif (problem := _find_name_problem(content, policy)) is not None:
            has = "have" if name == "tags" else "has"
            return Refused(f"its {name} {has} {problem}; use other words")
    if policy.enabled and (text := _redact_named_text(value, changes.get("text"), removed)) is not None:
        changes["text"] = text
    if (refused := _refuse_secrets(removed, policy)) is not None:
        return refused
    if not changes:
        return Screened(value, ())
    if not may_be_blank and _is_blank(changes.get("text")):
        return Refused(f"nothing is left of it after redaction ({', '.join(removed)})")
    return Screened(replace(value, **changes), tuple(removed))


def screen_value(value: ScreenedT, policy: SecretsPolicy) -> Screened[ScreenedT] | Refused:
    """Redact a text or a JSON value; refuse it if it is nested too deep or the policy says so."""
    if _is_deeper_than(value, _MAX_DEPTH):
        return Refused(f"it is nested more than {_MAX_DEPTH} levels deep; flatten it")
    removed: dict[str, None] = {}
    cleaned = _redact_value(value, policy, removed)
    refused = _refuse_secrets(removed, policy)
    return Screened(cleaned, tuple(removed)) if refused is None else refused


def _is_deeper_than(value: Any, levels: int) -> bool:
    """Return whether a value is nested deeper than `levels`."""
    layer = [value]
    for _ in range(levels + 1):
        layer = [one for each in layer for one in _child_values(each)]
    return bool(layer)


def _child_values(value: Any) -> Iterable[Any]:
    match value:
        case Mapping():
            return value.values()
        case list() | tuple():
            return value
        case _:
            return ()


def _refuse_secrets(removed: Mapping[str, None], policy: SecretsPolicy) -> Refused | None:
    """Return the refusal if the policy refuses secrets and some were found."""
    secrets = [kind for kind in removed if kind != PRIVATE_MARK]
    if not secrets or policy.action != "refuse":
        return None
    return Refused(f"it has what looks like a secret ({', '.join(secrets)}); remove it")


def redact_text(text: str, policy: SecretsPolicy) -> str:
    """Return the text with placeholders for private parts and secrets."""
    return str(_redact_value(text, policy, {}))


@cache
def _text_fields(kind: Any) -> tuple[str, ...]:
    """Return the names of all fields but `vector`, which has no text."""
    return tuple(one.name for one in fields(kind) if one.name != "vector")


def _is_blank(text: Any) -> bool:
    """Return whether only placeholders are left of a text."""
    return isinstance(text, str) and not any(map(str.isalnum, _PLACEHOLDER.sub("", text)))


def _redact_value(value: Any, policy: SecretsPolicy, removed: dict[str, None], name: str = "", depth: int = 0) -> Any:
    """Return the value with placeholders, and add what was removed to `removed`.

    Parts nested too deep to be stored are left as they are.
    """
    if depth > _MAX_DEPTH:
        return value
    match value:
        case str():
            return _redact_string(value, policy, removed, name)
        case Mapping():
            inner = [(_redact_value(key, policy, removed), key, one) for key, one in value.items()]
            return {
                new: _redact_value(one, policy, removed, _value_name(key, value, name), depth + 1)
                for new, key, one in inner
            }
        case tuple() | list():
            return type(value)(_redact_value(one, policy, removed, name, depth + 1) for one in value)
        case int() | float() if (
            policy.enabled and not isinstance(value, bool) and _MIN_SECRET_NUMBER <= abs(value) < _MAX_SECRET_NUMBER
        ):
            digits = str(int(value)) if value == int(value) else str(value)
            found = _redact_string(digits, policy, removed, name)
            return value if found == digits else found
        case _:
            return value


def _redact_string(text: str, policy: SecretsPolicy, removed: dict[str, None], name: str) -> str:
    public = redact_private(text)
    if public != text:
        removed[PRIVATE_MARK] = None
    if not policy.enabled:
        return public
    redacted = redact(public)
    if name and not redacted.kinds:
        redacted = redact_named(name, public)
    removed.update(dict.fromkeys(redacted.kinds))
    return redacted.text


_MIN_SECRET_NUMBER, _MAX_SECRET_NUMBER = 10**3, 10**20
"""The range of numbers to check. PINs have at least 4 digits, cards at most 19."""

_FILE = load_data_file("recollect.admission", "secret_words.toml")
_GENERIC_KEYS = frozenset(_FILE.words("names.generic_keys"))
_NAME_KEYS = _FILE.words("names.name_keys")
_SECRET_MAPPING_NAME = re.compile(_FILE.text("names.mapping_of_secrets"), re.IGNORECASE)


def _value_name(key: object, mapping: Mapping[str, Any], outer: str) -> str:
    """Return the name of a value in a mapping, to judge whether it is a secret.

    It is the key; for a generic key such as "value" the name beside it; or else the name of the mapping. In a mapping
    of secrets, it is the name of the mapping.
    """
    if not isinstance(key, str):
        return outer
    plain_key = "".join(map(plain_character, key))
    if _SECRET_MAPPING_NAME.fullmatch(outer) and not _SECRET_MAPPING_NAME.search(plain_key):
        return outer
    if plain_key.lower() not in _GENERIC_KEYS:
        return plain_key
    beside = (mapping.get(one) for one in _NAME_KEYS)
    return next((one for one in beside if isinstance(one, str)), outer)


_SINGLE_WORD = re.compile(_FILE.text("names.single_word"), re.IGNORECASE)
_MAX_SINGLE_WORD_CHARS = 250
"""The longest text that can be a single word named by its title."""


def _redact_named_text(value: Any, cleaned: str | None, removed: dict[str, None]) -> str | None:
    """Return the text without its only word, if a name such as the title calls it a secret.

    Names are the title, subject, topic and tags. The result is `None` if there is nothing to remove.
    """
    text = getattr(value, "text", None) if cleaned is None else cleaned
    word = _SINGLE_WORD.fullmatch(text) if isinstance(text, str) and len(text) <= _MAX_SINGLE_WORD_CHARS else None
    if word is None:
        return None
    for field in ("title", "subject", "topic_key", "tags"):
        for name in _texts_of(getattr(value, field, None)):
            redacted = redact_named(name, word["s"], quoted=False)
            if redacted.kinds:
                removed.update(dict.fromkeys(redacted.kinds))
                return f"{word.string[: word.start('s')]}{redacted.text}{word.string[word.end('s') :]}"
    return None


def _find_name_problem(value: Any, policy: SecretsPolicy) -> str | None:
    """Return what a name contains that it must not, or `None`."""
    if any(redact_private(text) != text for text in _texts_of(value)):
        return f"a part that is {PRIVATE_MARK}"
    secret = (
        next((one.kind for text in _texts_of(value) for one in find_secrets(text)), None) if policy.enabled else None
    )
    return None if secret is None else f"what looks like a secret ({secret})"


def _texts_of(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield str(value)
        case Scope():
            yield str(value)
        case tuple() | list():
            yield from (one for one in value if isinstance(one, str))
        case _:
            pass


REDACTED_MARK = "[REDACTED]"

_PRIVATE_TAG = re.compile(
    r"<(?P<closing>/?)private(?=[\s/>]|\Z)(?:=\s{0,8}+(?:'[^']*+'|\"[^\"]*+\")|[^>])*+(?:>|\Z)"
    r"|<\s{0,8}(?P<spaced>/?)\s{0,8}private(?:\s[^<>]{0,1000}|/)?>",
    re.IGNORECASE,
)
"""A tag; one written without a blank after `<` needs no `>`, because it may be cut off."""


def redact_private(text: str) -> str:
    """Replace each `<private>…</private>` with `[REDACTED]`.

    Tags may nest, have attributes, use any case, and contain invisible characters. In doubt, text is hidden: an opening
    tag without an end hides the rest of the text, an end without an opening tag everything before it.
    """
    normalized = replace_characters(text, CONFUSABLE_CHARACTERS, plain_character) if is_disguised(text) else None
    parts: list[str] = []
    depth = done = 0
    for tag in _PRIVATE_TAG.finditer(text if normalized is None else normalized.text):
        start, end = tag.span() if normalized is None else (normalized.source_offset(at) for at in tag.span())
        if tag["closing"] or tag["spaced"]:
            if not depth:
                parts = [REDACTED_MARK]
            depth = max(0, depth - 1)
        else:
            parts += [] if depth else [text[done:start], REDACTED_MARK]
            depth += 1
        done = end
    return text if not done else "".join([*parts, text[done:] * (depth == 0)])
