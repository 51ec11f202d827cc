"""Importance: what a text is worth by what it says of itself."""

import re

from recollect.admission.policy import ImportancePolicy
from recollect.model.memory import Kind

RECURRING_KINDS = frozenset({Kind.PREFERENCE, Kind.PATTERN, Kind.CONSTRAINT, Kind.PROCEDURE})
"""The kinds that hold again and again: how somebody likes it, and how it is to be done."""

MAX_IMPORTANCE_CHARS = 20_000
"""How many characters of a text are looked at: what is said far down in a document does not speak for all of it."""


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
    """What a text of that kind is worth by the rubric of the policy; none where its words suggest nothing.

    Credentials are worth nothing, whatever else is said of them.
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
