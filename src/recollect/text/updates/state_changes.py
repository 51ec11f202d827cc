"""Moves: what somebody did of late that says how it is now, as that they live where they moved to."""

import re
from collections.abc import Sequence

from recollect.text.updates.places import is_a_place
from recollect.text.updates.word_lists import BINDING, POINTERS, listed


def settled(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words as what is so since, and whether that is denied: whoever moved to Porto lives in Porto, and what was
    switched from one to the other does not use the one. Any other words as they are.
    """
    for at in range(1, min(len(words) - 2, _LATEST)):
        said = words[at].lower()
        if said in _MOVING:
            return _moved(words, at) or (list(words), False)
        if said in ("uses", "use"):
            return _replaced(words, at) or (list(words), False)
    return list(words), False


_LATEST = 8
_MOVING = listed("moved relocated migrated switched")


def _moved(words: Sequence[str], at: int) -> tuple[list[str], bool] | None:
    who, verb, rest = _without_perfect(words[:at]), words[at].lower(), _without_moment(words[at + 1 :])
    lowered = [word.lower() for word in rest]
    to = lowered.index("to") if "to" in lowered else 0
    if not who or (to and lowered[0] != "from") or lowered.count("to") != 1 or to == len(rest) - 1:
        return None
    source, aim = rest[1:to], rest[to + 1 :]
    if to == 1:
        return None
    if verb in ("moved", "relocated") and is_a_place(" ".join(aim)) and (not to or is_a_place(" ".join(source))):
        return [*who, "lives", "in", *aim], False
    if to and verb != "relocated" and _is_a_tool(source) and _is_a_tool(aim) and not _shared(source, aim):
        return [*who, "uses", *source], True
    return None


def _replaced(words: Sequence[str], at: int) -> tuple[list[str], bool] | None:
    """Something is used instead of another one, which is not."""
    rest = _without_moment(words[at + 1 :])
    lowered = [word.lower() for word in rest]
    if "instead" not in lowered[1:-2] or lowered[lowered.index("instead") + 1] != "of":
        return None
    bound = lowered.index("instead")
    new, old = rest[:bound], rest[bound + 2 :]
    if not _is_a_tool(new) or not _is_a_tool(old) or _shared(new, old):
        return None
    who = [word for word in words[:at] if word.lower() != "now"]
    return [*who, words[at], *old], True


def _without_perfect(words: Sequence[str]) -> list[str]:
    """Who did it: "I have just" is I."""
    kept = ["I"] if [*words[:1]] == ["I've"] else ["We"] if [*words[:1]] == ["We've"] else [*words[:1]]
    kept += words[1:]
    while len(kept) > 1 and kept[-1].lower() in _LATELY:
        kept.pop()
    return kept if not any(_NOT_SO.search(word.lower()) for word in kept) else []


_LATELY = listed("has have just recently now")
_NOT_SO = re.compile(r"n't$|^(?:not|never|no|is|am|are|was|were|be|been|got|had|did)$")


def _without_moment(words: Sequence[str]) -> Sequence[str]:
    """The words but for a moment at their end that is not long past."""
    said = " ".join(words)
    found = _OF_LATE.search(said)
    return said[: found.start()].split() if found else words


_OF_LATE = re.compile(
    r",? (?:yesterday|today|recently|now|this (?:week|weekend|month|morning|year|spring|summer|autumn|fall|winter)"
    r"|last (?:week|weekend|month|night|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|(?:a|one|two|three|four|five|six|a few|a couple of|\d{1,2}) (?:day|week|month)s? ago"
    r"|in (?:january|february|march|april|may|june|july|august|september|october|november|december))$",
    re.IGNORECASE,
)


def _is_a_tool(words: Sequence[str]) -> bool:
    """Whether the words name one thing that is used, and say nothing of where or what for."""
    lowered = [word.lower() for word in words]
    plain = all(word.isascii() and not any(char.isdigit() or char == "," for char in word) for word in words)
    return 0 < len(words) <= _LONGEST_TOOL and plain and not set(lowered) & (BINDING | POINTERS | _UNNAMED)


_LONGEST_TOOL = 3
_UNNAMED = listed("a an the my our your his her their its as and or when while because if but")


def _shared(one: Sequence[str], other: Sequence[str]) -> bool:
    return bool({word.lower() for word in one} & {word.lower() for word in other})
