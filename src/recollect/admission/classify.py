"""Classify a text: its importance, its kind and its salience, by rules."""

import re

from recollect.admission.policy import DEFAULT_SALIENCE, ImportancePolicy, SaliencePolicy
from recollect.model.enums import Kind

RECURRING_KINDS = frozenset({Kind.PREFERENCE, Kind.PATTERN, Kind.CONSTRAINT, Kind.PROCEDURE})
"""The kinds that apply again and again: preferences, habits and rules."""

MAX_IMPORTANCE_CHARS = 20_000
"""How many characters of a text are read; a remark far down does not speak for a document."""


def _compile_words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


_CREDENTIAL = _compile_words(
    r"pass ?(?:word|phrase|code)s?|api[ _-]?keys?|(?:access|auth|bearer|secret|session)[ _-](?:tokens?|keys?)|"
    r"private keys?|pin (?:code|number)|credentials?|one[- ]time code|2fa code"
)
_STATED_IMPORTANT = _compile_words(
    r"(?:is|are|was|it's|that's|'s|so|very|really|most|extremely|super|particularly|especially|top) (?:important|"
    r"crucial|vital|essential)|"
    r"important (?:to (?:me|us|note|know|remember)|that)|of (?:utmost|great) importance|top priority|"
    r"(?:please |do |must )(?:remember|keep in mind|bear in mind)|remember (?:that|this)|(?:don't|do not|never) "
    r"forget (?:that|to)|"
    r"matters? (?:a lot|most|the most|deeply) to (?:me|us)|means (?:everything|the world) to (?:me|us)"
)
_MARKED_IMPORTANT = re.compile(
    r"^\s{0,8}(?:important|crucial|remember|critical|urgent|nota bene|n\.?b\.?)\s{0,3}[:!]", re.IGNORECASE
)
_UNIMPORTANT = _compile_words(
    r"(?:not|isn't|aren't|wasn't|never|n't|no longer|less|un) (?:\w{2,12} )?(?:important|crucial|vital|essential)|"
    r"unimportant"
)
_CRITICAL = _compile_words(
    r"allerg(?:y|ies|ic)|anaphyla\w{1,8}|epi-?pen|asthma(?:tic)?|diabet(?:es|ic)|epilep(?:sy|tic)|insulin|c(?:o)?eliac|"
    r"(?:lactose|gluten|fructose|histamine)[- ]intoleran(?:t|ce)|intoleran(?:t|ce) (?:of|to) (?:lactose|gluten)|"
    r"medications?|prescribed|prescription|diagnos(?:ed|is)|"
    r"cancer|chemo(?:therapy)?|pacemaker|blood (?:type|pressure|thinners?)|heart (?:attack|condition|disease)|"
    r"pregnant|miscarriage|"
    r"suicidal|self-harm|overdose|seizures?|(?:had|have|having|need|undergo(?:ing)?) (?:\w{2,15} )?surgery|emergency "
    r"contact|life-threatening|"
    r"hazard(?:s|ous)?|toxic|flammable|evacuat(?:e|ion)|safety[- ](?:critical|rule|rules|requirement|requirements)|"
    r"business[- ]critical|mission[- ]critical"
)
_BUSINESS = _compile_words(
    r"customers?|clients?|invoices?|contracts?|deadlines?|stakeholders?|revenue|budgets?|roadmap|q[1-4]|sprints?|"
    r"releases?|"
    r"deploy(?:s|ed|ment|ments|ing)?|in production|production (?:server|servers|system|systems|database|cluster)|api|"
    r"database|codebase|"
    r"repositor(?:y|ies)|compliance|gdpr|sla|vendors?|suppliers?|wholesalers?|investors?|shareholders?|start-?up|"
    r"(?:my|our|the|own|a|small) (?:online )?(?:business|company|firm|employer|employees|shop|store|manager)|"
    r"i work (?:at|for|as|in|with)|i'm working (?:at|for|as)|my (?:job|boss|career)|(?:my|our) (?:work )?team at "
    r"work|colleagues?|coworkers?"
)
_RECURRING = _compile_words(
    r"(?:always|usually|normally|typically|prefers?|never (?:eat|drink|use|wear|take|work)s?|"
    r"(?:every|each) (?:day|week|month|year|morning|evening|night|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day|"
    r"summer|winter|spring|autumn|fall)|"
    r"(?:once|twice|(?:two|three|four|five|\d{1,2}) times) (?:a|per) (?:day|week|month|year)|daily|weekly|on (?:mon|"
    r"tues|wednes|thurs|fri|satur|sun)days)"
)


def detect_importance(text: str, kind: Kind, policy: ImportancePolicy) -> float | None:
    """Return the importance of a text by the policy's rubric; `None` if no words suggest one.

    A text that mentions credentials has none, whatever else it says.
    """
    looked_at = text[:MAX_IMPORTANCE_CHARS]
    if _CREDENTIAL.search(looked_at):
        return None
    if _MARKED_IMPORTANT.match(looked_at) or (
        _STATED_IMPORTANT.search(looked_at) and not _UNIMPORTANT.search(looked_at)
    ):
        return policy.stated
    if _CRITICAL.search(looked_at):
        return policy.critical
    if _BUSINESS.search(looked_at):
        return policy.critical if kind is Kind.DECISION else policy.business
    if kind in RECURRING_KINDS or _RECURRING.search(looked_at):
        return policy.preference
    return None


MAX_KIND_CHARS = 600
"""How many characters are read for the kind; a text shows its kind at its beginning."""

_PLAIN_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
_HYPOTHETICAL = re.compile(
    r"\?\s*$|^(?:if|suppose|imagine|what if|would|wish|i wish|unless)\b|\bif (?:i|we|you|he|she|they)\b", re.IGNORECASE
)

# a person who acts, a thing that is no pronoun, and a term that is explained
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
    """Return the kind that the words of the text show, or `None` if in doubt.

    Questions and suppositions are always in doubt.
    """
    looked_at = text[:MAX_KIND_CHARS].translate(_PLAIN_QUOTES).strip()
    if _HYPOTHETICAL.search(looked_at):
        return None
    return next((kind for kind, rule in _COMPILED_KIND_RULES if rule.search(looked_at)), None)


STANDING_KINDS = frozenset({Kind.PREFERENCE, Kind.PROCEDURE, Kind.CONSTRAINT, Kind.DEFINITION})
"""The kinds that stand out by themselves: they say how things should be, not how they were."""


def rate_salience(text: str, kind: Kind, *, pinned: bool, policy: SaliencePolicy) -> float | None:
    """Return the salience of a memory with this text; `None` if salience is disabled."""
    return compute_salience(text, kind, pinned=pinned, policy=policy) if policy.enabled else None


def compute_salience(text: str, kind: Kind, *, pinned: bool, policy: SaliencePolicy = DEFAULT_SALIENCE) -> float:
    """Return the salience within 0..1; the length counts characters, not bytes."""
    density = min(len(text) / policy.full_length, 1.0)
    boost = policy.kind_boost if kind in STANDING_KINDS else 0.0
    pin = policy.pinned_boost if pinned else 0.0
    return min(density * policy.length_density_weight + boost + pin, 1.0)
