"""Kind: which sort of memory a text is, where its words leave no doubt."""

import re

from recollect.model.memory import Kind

MAX_KIND_CHARS = 600
"""How many characters of a text are looked at: what sort of memory it is, it says at its beginning."""

_PLAIN_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
_HYPOTHETICAL = re.compile(
    r"\?\s*$|^(?:if|suppose|imagine|what if|would|wish|i wish|unless)\b|\bif (?:i|we|you|he|she|they)\b", re.IGNORECASE
)

# who does something, a thing that is no pronoun, and a term that is being explained
_WHO = (
    r"(?:(?i:i|we|they|he|she|(?:the |our |my )?(?:user|team|client|customer|company|board|group|family))|"
    r"[A-Z][\w'-]{1,30})"
)
_THING = r"(?!(?i:you|i|it|that|this|these|those|they|he|she|there|we|which|what|here)\b)[\w\"'(][\w \"'()/,&-]{1,80}?"
_TERM = r"(?:\"[^\"\n]{1,60}\"|'[^'\n]{1,60}'|[A-Z][A-Z0-9]{1,9})"

_NOUN = r"(?:(?i:the |an? |our )?(?i:term|word|phrase|acronym|abbreviation|name) |(?:The|A|An) )"
_WHOSE = r"(?:(?i:my|his|her|their|our|(?:the )?user's)|[A-Z]\w{1,30}'s)"
_GOAL = r"(?:(?:(?:in order )?(?:how )?to|when|before|after) [^,:.\n]{3,80}[,:] )"

_HAVE = r"(?:'ve|'s| have| has)? (?:(?:finally|just|now|already|all|both) )?"
_DECIDED = (
    r"(?:(?:decided|opted|resolved|agreed) (?:to|on|against|that|not to|for)\b|"
    r"made up (?:my|our|their|his|her) minds?\b|settled on |chosen to |chose to )"
)
_NARRATED = r"(?!of all|time|thing|i\b|we\b|he\b|she\b|they\b|my\b)"
_DONE = r"be (?:\w{2,20}ly )?(?:\w{2,20}(?:ed|en)|kept|sent|built|run|set|met|made|done|read|paid|held|told|put)\b"
_FELT = (
    r"(?!(?:be|have|say|admit|see|feel|seem|look|mean|love|like|know|taste|sound|miss|think|remember|enjoy|want|need|"
    r"bring|give|get|come)\b)"
)
_ORDER = (
    r"(?:use|write|answer|reply|respond|ask|run|include|add|check|test|deploy|commit|push|send|call|give(?! in\b)|show|"
    r"put|make|format|return|start|end|avoid|cite|explain|speak|translate|prefer|follow|do|leave|delete|remove|store|"
    r"share|mention|tell|assume|book|order|buy|schedule|merge|review|log|encrypt|validate|wear|take|eat|drink|feed|"
    r"lock|"
    r"turn|keep|release|ship|close|open|sign|address) (?!up\b|care\b|heart\b|it\b|that\b|this\b)\w"
)
_BOUND = r"(?:(?:must|may) (?:not|never|always|only)|should (?:never|always))"
_KEPT_FROM = (
    r"(?:use|write|include|add|mention|share|send|deploy|push|commit|log|store) (?!it\b|that\b|this\b|them\b)\w"
)
_LITTLE = r"(?!(?:a lot|some|time|you|more|work|hard|effort|patience|assistance|help|evaluation|information)\b)"
_MUCH = r"(?:(?:really|strongly|much|always|usually|generally|also|now|does|do|would|absolutely) )*"
_LIKE = r"(?:likes?|loves?|enjoys?|hates?|dislikes?|detests?|avoids?|can(?:'|no)t stand)"
_POINTED_AT = (
    r"(?!(?:it|that|this|these|those|them|him|her|you|your|how|when|what|the (?:way|idea)|to (?:know|see|hear))\b)"
)

_KIND_RULES: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    (
        Kind.CORRECTION,
        (
            r"^(?i:correction|erratum|corrigendum)\s*[:,-]",
            r"^(?i:(?:no, )?i was wrong(?: about\b|[:,])|(?:sorry, )?i misspoke\b)",
        ),
    ),
    (
        Kind.PROCEDURE,
        (
            r"(?i:\bstep (?:1|one)\b[\s\S]{1,400}?\b(?:step (?:2|two)|then|next|finally)\b)",
            rf"(?i:^{_GOAL}?first,? {_NARRATED}[\s\S]{{3,200}}?[,.;] (?:and )?(?:then|next|after that|finally)\b)",
        ),
    ),
    (
        Kind.DEFINITION,
        (
            r"^[^.\n]{1,120}? (?:is|are) defined as\b",
            rf"^{_NOUN}?{_TERM} (?:refers? to|stands for|is short for) \w",
            rf"^(?:[Ii]n (?:our|this|the) [\w ]{{2,40}}, )?{_TERM} means\b",
            rf"^(?i:by (?:{_TERM}|[\w -]{{2,40}}),? (?:we|i) mean\b)",
        ),
    ),
    (
        Kind.DECISION,
        (
            r"^(?i:decision)\s*[:-]",
            rf"^(?:[\w ]{{2,40}}, )?{_WHO}{_HAVE}{_DECIDED}",
            r"^(?i:we(?:'re| are) going with|it was decided (?:to|that)) (?!it\b|that\b|this\b|the flow)\w",
        ),
    ),
    (
        Kind.CONSTRAINT,
        (
            rf"^{_THING}(?<! a) must (?:(?:not|never|always|only) )?(?:{_DONE}|{_FELT}[a-z]{{2,20}}\b)",
            rf"^{_THING} (?:should (?:always|never|only) |(?:should|needs? to|has to|have to) (?:not )?(?={_DONE}))\w",
            rf"^(?i:we|you|i) {_BOUND} (?!forget\b|stop\b|give up\b)\w",
            rf"^{_THING} requires? {_LITTLE}\w",
            rf"^{_THING} (?:is|are) (?:strictly )?(?:required|mandatory|forbidden|prohibited|not allowed|compulsory)\b",
            rf"^(?i:(?:please,? )?(?:never|always|do not ever|don't ever|under no circumstances) {_ORDER})",
            rf"^(?!.*\b(?:yet|now|today|tonight|until)\b)(?i:(?:please,? )?(?:don't|do not) {_KEPT_FROM})",
            r"^(?i:from now on|going forward)\b,? \w",
        ),
    ),
    (
        Kind.PREFERENCE,
        (
            rf"^{_WHO} {_MUCH}(?:prefers?) (?!(?:not )?to say\b)\w",
            rf"^{_WHO} (?:(?:really|also|absolutely|does not|doesn't|don't|do not) )*(?i:{_LIKE} {_POINTED_AT})[\w\"']",
            rf"^{_WHOSE} (?:(?:absolute|all-time|personal) )*favou?rites?(?: [\w' -]{{1,60}}?)? (?:is|are)\b",
            rf"^{_THING} (?:is|are) (?:one of )?(?:my|his|her|their) favou?rites?\b",
        ),
    ),
)
_COMPILED_KIND_RULES = tuple((kind, re.compile(rule)) for kind, rules in _KIND_RULES for rule in rules)


def detect_kind(text: str) -> Kind | None:
    """The kind that the words of the text tell; none where they leave a doubt, as questions and suppositions do."""
    looked_at = text[:MAX_KIND_CHARS].translate(_PLAIN_QUOTES).strip()
    if _HYPOTHETICAL.search(looked_at):
        return None
    return next((kind for kind, rule in _COMPILED_KIND_RULES if rule.search(looked_at)), None)
