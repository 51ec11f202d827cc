"""Detect text that gives instructions to a model instead of stating something."""

import re

_INJECTION_RULES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("instruction", "prompt", "rule", "guideline", "direction", "message", "context", "constraint"),
        (
            r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){0,3}?"
            r"(?:previous|prior|above|earlier|preceding|foregoing|all|any|your|system|safety)\s+(?:\w+\s+){0,2}?"
            r"(?:instructions?|prompts?|rules?|guidelines?|directions?|messages?|context|constraints?)\b"
        ),
    ),
    (
        ("instruction", "prompt"),
        r"\b(?:new|updated|real|actual|hidden|secret)\s+(?:system\s+)?(?:instructions?|prompt)\s*:",
    ),
    (
        ("system", "assistant", "developer"),
        r"(?:^|\n)[ ]?(?:system|assistant|developer)\s*(?:message|prompt|override)?\s*:\s*\S",
    ),
    (
        ("<|", "[inst]", "[/inst]", "<<", "<system", "</system", "<instruction", "</instruction"),
        r"<\|(?:im_start|im_end|system|endoftext|start_header_id)\|>|\[/?INST\]|<</?SYS>>|</?(?:system|instructions?)>",
    ),
    (
        (" now ",),
        (
            r"\byou\s+(?:are|must)\s+now\s+(?:act|be|behave|pretend|respond|obey|called|dan|in\s+\w+\s+mode|"
            r"(?:an?|the)\s+(?:\w+\s+){0,2}?(?:ai|assistant|(?:chat)?bot|model|agent|terminal|interpreter|hacker|persona))\b"
        ),
    ),
    (
        ("user", "operator", "human"),
        (
            r"\b(?:do\s+not|don't|never)\s+(?:tell|inform|alert|warn|mention\s+(?:this|it)\s+to|reveal\s+(?:this|it)\s+to)\s+"
            r"(?:the\s+)?(?:user|users|operator|human)\b"
        ),
    ),
    (
        ("prompt", "instructions", "memories", "credentials", "api key"),
        (
            r"\b(?:reveal|print|repeat|output|leak|exfiltrate|send)\s+(?:\w+\s+){0,3}?"
            r"(?:system\s+prompt|your\s+instructions|hidden\s+instructions|(?:all\s+)?(?:memories|credentials|api\s+keys))\b"
        ),
    ),
    (
        ("memory",),
        (
            r"\b(?:store|save|remember|add)\s+(?:this|the\s+following)\s+(?:\w+\s+){0,3}?(?:to|in)\s+(?:your\s+)?"
            r"(?:long[- ]term\s+)?memory\b"
        ),
    ),
)
"""Rules as (words, pattern); a text without any of the words is not searched."""

_COMPILED_RULES = tuple((words, re.compile(pattern, re.IGNORECASE)) for words, pattern in _INJECTION_RULES)

_BLANKS = re.compile(r"\s+")

MAX_SHOWN_CHARS = 60
"""How many characters of a match are shown."""


def find_injection(text: str) -> str | None:
    """Return the first text that reads like instructions to a model, on one line, or `None`."""
    told = _BLANKS.sub(_collapse_blanks, text)  # runs of blanks would cause backtracking
    low = told.casefold().replace("\n", " ")
    tried = (pattern.search(told) for words, pattern in _COMPILED_RULES if any(word in low for word in words))
    found = min((one for one in tried if one is not None), key=lambda one: one.start(), default=None)
    if found is None:
        return None
    words = " ".join(found[0].split())
    return repr(words if len(words) <= MAX_SHOWN_CHARS else f"{words[:MAX_SHOWN_CHARS]}…")


def _collapse_blanks(blanks: re.Match[str]) -> str:
    return "\n" if "\n" in blanks[0] else " "
