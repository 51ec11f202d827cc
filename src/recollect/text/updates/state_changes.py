"""Moves: what somebody did of late that says how it is now, as that they live where they moved to."""

import re
from collections.abc import Sequence

from recollect.text.updates.places import is_place
from recollect.text.updates.word_lists import BINDING_PREPOSITIONS, POINTER_WORDS, word_set


def resolve_state_change(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words as what is so since, and whether that is denied: whoever moved to Porto lives in Porto, and what was
    switched from one to the other does not use the one. Any other words as they are.
    """
    for at in range(1, min(len(words) - 2, _MAX_CHANGE_POSITION)):
        said = words[at].lower()
        if said in _MOVE_VERBS:
            return _read_move(words, at) or (list(words), False)
        if said in ("uses", "use"):
            return _read_replacement(words, at) or (list(words), False)
    return list(words), False


_MAX_CHANGE_POSITION = 8
_MOVE_VERBS = word_set("moved relocated migrated switched")


def _read_move(words: Sequence[str], at: int) -> tuple[list[str], bool] | None:
    who, verb, rest = _strip_perfect(words[:at]), words[at].lower(), _strip_moment(words[at + 1 :])
    lowered = [word.lower() for word in rest]
    to = lowered.index("to") if "to" in lowered else 0
    if not who or (to and lowered[0] != "from") or lowered.count("to") != 1 or to == len(rest) - 1:
        return None
    source, aim = rest[1:to], rest[to + 1 :]
    if to == 1:
        return None
    if verb in ("moved", "relocated") and is_place(" ".join(aim)) and (not to or is_place(" ".join(source))):
        return [*who, "lives", "in", *aim], False
    if to and verb != "relocated" and _is_tool(source) and _is_tool(aim) and not _share_words(source, aim):
        return [*who, "uses", *source], True
    return None


def _read_replacement(words: Sequence[str], at: int) -> tuple[list[str], bool] | None:
    """Something is used instead of another one, which is not."""
    rest = _strip_moment(words[at + 1 :])
    lowered = [word.lower() for word in rest]
    if "instead" not in lowered[1:-2] or lowered[lowered.index("instead") + 1] != "of":
        return None
    bound = lowered.index("instead")
    new, old = rest[:bound], rest[bound + 2 :]
    if not _is_tool(new) or not _is_tool(old) or _share_words(new, old):
        return None
    who = [word for word in words[:at] if word.lower() != "now"]
    return [*who, words[at], *old], True


def _strip_perfect(words: Sequence[str]) -> list[str]:
    """Who did it: "I have just" is I."""
    kept = ["I"] if [*words[:1]] == ["I've"] else ["We"] if [*words[:1]] == ["We've"] else [*words[:1]]
    kept += words[1:]
    while len(kept) > 1 and kept[-1].lower() in _PERFECT_WORDS:
        kept.pop()
    return kept if not any(_NOT_PERFECT.search(word.lower()) for word in kept) else []


_PERFECT_WORDS = word_set("has have just recently now")
_NOT_PERFECT = re.compile(r"n't$|^(?:not|never|no|is|am|are|was|were|be|been|got|had|did)$")


def _strip_moment(words: Sequence[str]) -> Sequence[str]:
    """The words but for a moment at their end that is not long past."""
    said = " ".join(words)
    found = _RECENT_MOMENT.search(said)
    return said[: found.start()].split() if found else words


_RECENT_MOMENT = re.compile(
    r",? (?:yesterday|today|recently|now|this (?:week|weekend|month|morning|year|spring|summer|autumn|fall|winter)"
    r"|last (?:week|weekend|month|night|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|(?:a|one|two|three|four|five|six|a few|a couple of|\d{1,2}) (?:day|week|month)s? ago"
    r"|in (?:january|february|march|april|may|june|july|august|september|october|november|december))$",
    re.IGNORECASE,
)


def _is_tool(words: Sequence[str]) -> bool:
    """Whether the words name one thing that is used, and say nothing of where or what for."""
    lowered = [word.lower() for word in words]
    plain = all(word.isascii() and not any(char.isdigit() or char == "," for char in word) for word in words)
    return (
        0 < len(words) <= _MAX_TOOL_WORDS
        and plain
        and not set(lowered) & (BINDING_PREPOSITIONS | POINTER_WORDS | _NOT_TOOL_WORDS)
    )


_MAX_TOOL_WORDS = 3
_NOT_TOOL_WORDS = word_set("a an the my our your his her their its as and or when while because if but")


def _share_words(one: Sequence[str], other: Sequence[str]) -> bool:
    return bool({word.lower() for word in one} & {word.lower() for word in other})
