"""Classify a text: its importance, its kind and its salience, by rules. Their words are in `en/classification.toml`."""

import re

from recollect.admission.policy import DEFAULT_SALIENCE, ImportancePolicy, SaliencePolicy
from recollect.model.enums import Kind
from recollect.text.data_files import load_data_file

RECURRING_KINDS = frozenset({Kind.PREFERENCE, Kind.PATTERN, Kind.CONSTRAINT, Kind.PROCEDURE})
"""The kinds that apply again and again: preferences, habits and rules."""

MAX_IMPORTANCE_CHARS = 20_000
"""How many characters of a text are read; a remark far down does not speak for a document."""

_FILE = load_data_file("recollect.admission", "en/classification.toml")


def _compile_phrases(name: str) -> re.Pattern[str]:
    """Return the pattern of any of the phrases, as whole words."""
    return re.compile(rf"\b(?:{'|'.join(_FILE.lines(f'importance.{name}'))})\b", re.IGNORECASE)


_CREDENTIAL = _compile_phrases("credential")
_STATED_IMPORTANT = _compile_phrases("stated")
_MARKED_IMPORTANT = re.compile(_FILE.pattern("patterns.marked_important"), re.IGNORECASE)
_UNIMPORTANT = _compile_phrases("unimportant")
_CRITICAL = _compile_phrases("critical")
_BUSINESS = _compile_phrases("business")
_RECURRING = _compile_phrases("recurring")


def detect_importance(text: str, kind: Kind, policy: ImportancePolicy) -> float | None:
    """Return the importance of a text by the policy's rubric; `None` if no words suggest one.

    A text that mentions credentials has none.
    """
    beginning = text[:MAX_IMPORTANCE_CHARS]
    if _CREDENTIAL.search(beginning):
        return None
    if _MARKED_IMPORTANT.match(beginning) or (
        _STATED_IMPORTANT.search(beginning) and not _UNIMPORTANT.search(beginning)
    ):
        return policy.stated
    if _CRITICAL.search(beginning):
        return policy.critical
    if _BUSINESS.search(beginning):
        return policy.critical if kind is Kind.DECISION else policy.business
    if kind in RECURRING_KINDS or _RECURRING.search(beginning):
        return policy.preference
    return None


MAX_KIND_CHARS = 600
"""How many characters are read for the kind; a text shows its kind at its beginning."""

_PLAIN_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
_HYPOTHETICAL = re.compile(_FILE.pattern("patterns.hypothetical"), re.IGNORECASE)
_KIND_RULES = tuple(
    (Kind(row["kind"]), re.compile(_FILE.expand(pattern))) for row in _FILE.rows("rule") for pattern in row["patterns"]
)
"""The kinds with their patterns, in the order in which they are tried."""


def detect_kind(text: str) -> Kind | None:
    """Return the kind that the words of the text show, or `None` if in doubt.

    Questions and suppositions are always in doubt.
    """
    beginning = text[:MAX_KIND_CHARS].translate(_PLAIN_QUOTES).strip()
    if _HYPOTHETICAL.search(beginning):
        return None
    return next((kind for kind, rule in _KIND_RULES if rule.search(beginning)), None)


STANDING_KINDS = frozenset({Kind.PREFERENCE, Kind.PROCEDURE, Kind.CONSTRAINT, Kind.DEFINITION})
"""The kinds that stand out by themselves: they describe how things should be, not how they were."""


def rate_salience(text: str, kind: Kind, *, pinned: bool, policy: SaliencePolicy) -> float | None:
    """Return the salience of a memory with this text; `None` if salience is disabled."""
    return compute_salience(text, kind, pinned=pinned, policy=policy) if policy.enabled else None


def compute_salience(text: str, kind: Kind, *, pinned: bool, policy: SaliencePolicy = DEFAULT_SALIENCE) -> float:
    """Return the salience within 0..1; the length counts characters, not bytes."""
    density = min(len(text) / policy.full_length, 1.0)
    boost = policy.kind_boost if kind in STANDING_KINDS else 0.0
    pin = policy.pinned_boost if pinned else 0.0
    return min(density * policy.length_density_weight + boost + pin, 1.0)
