"""Statements about oneself: the rules that find lasting ones, and which sentences can be understood alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.model.enums import Kind
from recollect.text.data_files import alternation
from recollect.text.extraction_vocabulary import (
    ACTIVITY_VERB,
    ADVERB,
    FAVORITE,
    HABIT_VERB,
    INTEREST_PHRASE,
    LIFE_EVENT,
    LIKING_VERB,
    LONG_INTEREST_PHRASE,
    MONTH,
    OCCUPATION,
    ONGOING_ACTIVITY,
    PAST_EVENT,
    PERSONAL_STATE,
    POSSESSION,
    RECENT_ACTIVITY,
    RELATION,
    SEASON,
    WEEKDAY,
    WISH_VERB,
)
from recollect.text.sentences import TextSpan


@dataclass(frozen=True, slots=True)
class FirstPersonRule:
    """How a sentence of one type begins, and which kind of memory it makes.

    `outright` tells whether the sentence says so explicitly, `together` whether it holds for the speaker no matter who
    else is meant by "we".
    """

    kind: Kind
    pattern: re.Pattern[str]
    outright: bool = True
    together: bool = False


_I = rf"(?:i|we|my \w{{2,15}}(?: \w{{2,15}})? and i) (?:{ADVERB} )*"
_I_AM = rf"(?:i'?m|i am|we're|we are) (?:{ADVERB} )*(?:(?:so|very|quite|pretty|a bit|super) )?"
_I_HAVE = rf"(?:i've|i have|we've|we have) (?:{ADVERB} )*"
_I_DID = rf"(?:{_I}|{_I_HAVE})"

# what must not follow, because it would refer to an earlier sentence or say too little
_POINTER = (
    alternation(r"""
    its?, that, this, these, those, them, they, there, here, him, her, his, their, your?, how, what, when, where, why,
    one(?!-), some of, everything, anything, something, nothing, all(?! \w+s\b), any, both(?= ?[.!;] |$| of), such,
    so, hearing
""")
    + r"\b"
)
_WELL_KNOWN_THING = alternation("""
    outdoors, beach, ocean, sea, mountains?, countryside, rain, snow, cold, heat, woods, forest, smell of, sound of,
    theat(?:re|er), gym, violin, viola, cello, piano, guitar, bass, drums, flute, clarinet, saxophone, trumpet, harp,
    organ, thrill of, taste of
""")
_UNKNOWN_THE = rf"the (?!{_WELL_KNOWN_THING})"
_TRIFLE = alternation(r"""
    for a while, a (?:ton|lot|difference|positive (?:impact|difference))\b, (?:some )?(?:options|progress|fun)\b,
    us\b, (?:a|some|another|any) (?:new )?(?:projects?|things?|stuff)\b(?! (?:on|about|for|to|with|called|that|-)), a
    few more, the (?:same|one|other|best|most|rest|chance|idea|feeling|push|boost|time to|positive|moment)\b
""")
_OBJECT_START = rf"(?!{_POINTER}|(?:and|or|in)\b)[\w\"']"
_LIKED_OBJECT = (
    rf"(?!{_POINTER}|{_UNKNOWN_THE}|to (?:know|see|hear|say|think|be|point|add|thank|do)\b"
    r"|to\W*$|(?:and|or|in)\b)[\w\"']"
)
_DONE_OBJECT = rf"(?!{_POINTER}|{_TRIFLE}|(?:and|or|in|to (?:do|be))\b)[\w\"']"
_SUBJECT = (
    rf"(?!(?:{_POINTER}|(?:he|she|which|who|someone|you're|the (?:best|first|next))\b))[\w\"'][\w \"'&,:-]{{1,90}}?"
)

_IS_FORM = alternation("is, are, has been, have been, has always been, have always been, will always be, remains?")
_NUMBER = alternation(
    r"an?, one, two, three, four, five, six, seven, eight, nine, ten, \d\d?, no, several, a few, some, another"
)
_YEARS = r"(?:[\w-]+ ){0,6}?(?:years?|months?|decades?)"
_CHILDHOOD = (
    r"(?:as a (?:kid|child|boy|girl|teen\w*)|when i was (?:a (?:kid|child|boy|girl)|young\w*|little|small|in \w))"
)

# words that some rules need or exclude
_FREQUENCY = alternation("""
    always, usually, normally, typically, generally, often, regularly, never, rarely, seldom, mostly, only, tend to
""")
_PERSONAL_DETAIL = alternation("""
    birthday, pronouns, job, occupation, profession, nationality, native language, mother tongue, first language, home
    ?town, home country, time ?zone, address, phone number, zodiac sign, star sign, degree, major,
    blood (?:type|group), shoe size, e-?mail(?: address)?
""")
_PASSING_REMARK = alternation("so, really, very, going, coming, great, good, fun, tough, hard, awesome, amazing, soon")
_NOT_WORKPLACE = alternation("""
    on, out, hard, through, together, towards?, well, best, my (?:dream|best), the, like, up, down, too
""")
_RESTRICTED_THING = alternation("""
    dairy, gluten, nuts, lactose, alcohol, sugar, meat, caffeine, pets, kids, children, a (?:car|licen[cs]e|dog|cat)
""")
_OPINION_WORD = alternation("""
    relaxing, calming, boring, fascinating, rewarding, soothing, stressful, therapeutic, exhausting, annoying,
    inspiring, exciting, tedious, comforting, enjoyable
""")
_TEMPORARY_STATE = alternation("""
    able, (?:thinking|feeling|meaning|wanting|waiting|dreaming|hoping|trying), there,
    (?:playing|doing|working|going|using|making|taking|having|on) (?:for|since)
""")
_NOT_ACTIVITY_OBJECT = alternation("""
    into, out, away, from, off, on, up, by, down, over, late, best, through, myself, me, us, inspiration, sure, sense,
    going, pushing, trying, working, coming, moving, believing, getting, facing, bouncing, mistakes, each, in mind, my
    (?:eyes|head|mind|best|promise|word), the (?:line|faith|difference|most), a lot in
""")
_PERSONAL_GOAL = alternation("""
    goal, dream, aim, hobby, hobbies, ambition, plan, passion, team, company, business, school, university, pets?,
    specialty, diet
""")
_NOT_GOAL = alternation("""
    really, very, going, coming, great, good, fun, tough, hard, awesome, amazing, doing, finally, just, now, back,
    still, like, paying, always, excited, the best
""")
_NOT_ONGOING_OBJECT = alternation(r"""
    care, off, stuff, some (?:time|\w+ ideas), a break, things, hard, with, out, ways?, myself, my best, new things,
    more, time, late, steps, on, into, to (?:realize|feel|think|see|get), a
    (?:difference|positive|big|real|great|change|good|nice|quick|simple|cheap|decent), an impact
""")
_NOT_RECENT_OBJECT = alternation("""
    hard(?! on), great, some stuff, stuff, care, a lot, non-?stop, really, out, lately, new things
""")
_NOT_NEVER_DONE = alternation("""
    been (?:so|more|happier|better|that|this), felt, seen (?:it|that|such), heard, thought, looked, regretted
""")
_OWN_WORK = alternation("""
    art, work, book, script, screenplay, novel, blog, writing, job, thesis, research, project, store, studio, shop
""")
_NOT_PASTIME = alternation("""
    nothing, something, everything, anything, seeing, hearing, knowing, having, talking, being, during, getting, going
""")
_PASTIME = alternation("""
    art, music, dance, yoga, pottery, nature, fashion, sports?, exercise, meditation, poetry, photography, books
""")
_RELATIVE_PREDICATE = alternation("""
    (?:love|like|enjoy|hate|adore|live|work|play|stud(?:y|ie)|teach(?:e)?)s?, passed away, died, moved, (?:was|were)
    born, graduated, got (?:married|divorced|engaged), (?:has|have)
    (?:asthma|diabetes|autism|adhd|allergies|cancer|dementia), starts?
    (?:school|kindergarten|nursery|college|university)
""")
_SUPPORT_NOUN = alternation("""
    rocks?, motivation, support, supporters?, inspiration, fans?, world, priority, strength, everything
""")
_NOT_EVENT_OBJECT = alternation("""
    touch, track, my (?:mind|temper|way|head|cool|words?), off, out, to
    (?:feel|think|realize|see|get|appreciate|hang), thinking, feeling, crying, looking, caring, bed, sleep, through,
    over
""")


def _make_rule(kind: Kind, begins: str, *, outright: bool = True, together: bool = False) -> FirstPersonRule:
    return FirstPersonRule(kind, re.compile(begins, re.IGNORECASE), outright, together)


_RELATED_PERSON = alternation(f"""
    {RELATION}, manager, boss, doctor, dentist, therapist, landlord, landlady, teacher, colleague, coworker, assistant,
    neighbou?r, room ?mate, flat ?mate, best friend, team lead, nanny, tutor, coach
""")
_PHYSICIAN = alternation("doctor, gp, physician, psychiatrist, cardiologist, dermatologist, dentist, vet")
_BOOKED_THING = alternation("""
    flight, train, bus, ferry, appointment, interview, exam, surgery, operation, lease, contract, visa, passport,
    deadline, due date, wedding, shift
""")
_ANSWER_NOUN = alternation(
    "answers?, replies, reply, responses?, reports?, summaries, summary, emails?, code, explanations?"
)
_NOT_NAME = alternation("""
    sorry, good, fine, ok, okay, sure, done, ready, here, back, home, in, out, great, well, happy, sad, tired, busy,
    late, free, lost, glad, afraid, yours, right, wrong, serious, aware, alone, bored, new, open, old, young, off, on,
    confused, stuck, curious, interested, excited, hungry, sick, cold, hot, alive, better, dead, evil, god, batman
""")
_COUNT = alternation("""
    one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen,
    seventeen, eighteen, nineteen, twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety, \\d\\d?
""")

_HABIT_RULES = (
    _make_rule(
        Kind.PATTERN,
        rf"{_I}(?:take|catch|ride) (?:the|an?) (?:[\w:'-]+ ){{1,3}}?to (?:work|school|the office|university|college)\b",
    ),
    _make_rule(Kind.PATTERN, rf"(?:i|we) (?:[\w'-]+ ){{1,8}}?on (?:{WEEKDAY}s|weekdays|weekends)\b"),
    _make_rule(
        Kind.PATTERN,
        rf"(?:i|we) {_FREQUENCY} "
        rf"{HABIT_VERB} (?!(?:sure|me)\b){_OBJECT_START}",
    ),
    _make_rule(
        Kind.PATTERN,
        r"(?!\w+ (?:\w+ )?(?:get|see) (?:an?|the) (?:\w+ )?(?:error|exception|warning|message)\b)"
        r"(?:i |we |(?:i'm|i've been|we're) (?=\w+ing\b))(?:[\w'-]+ ){1,10}?(?:every|each) "
        rf"(?:day|week|month|year|morning|evening|night|weekend|{WEEKDAY}|{SEASON})\b",
    ),
    _make_rule(
        Kind.PATTERN,
        r"(?:i|we) (?:[\w'-]+ ){1,10}?"
        r"(?:daily|weekly|(?:once|twice|(?:two|three|four|five|\d) times) (?:a|per) (?:day|week|month|year))\b",
    ),
)

_PROFILE_RULES = (
    _make_rule(
        Kind.PROFILE, rf"(?:i'?m|i am) (?!{_NOT_NAME}\b)(?-i:[A-Z][a-z]{{1,20}})(?: (?-i:[A-Z][a-z]{{1,20}}))?\W*$"
    ),
    _make_rule(Kind.PROFILE, r"(?:i'?m|i am) \d{1,3}(?: now)?\W*$"),
    _make_rule(
        Kind.PROFILE,
        r"(?:i'?m|i am) (?:\d(?:'| ?(?:foot|feet|ft)\b)|\d[.,]\d\d ?m\b|\d{3} ?cm\b)",
    ),
    _make_rule(Kind.PROFILE, rf"{_I}report (?:directly )?to (?-i:[A-Z])"),
    _make_rule(
        Kind.PROFILE,
        r"(?:i'?m|i am) (?:on|in) (?:the )?(?-i:[A-Z][A-Za-z]{2,15}(?:[+-]\d{1,2})?)(?: (?:standard|daylight))? ?time",
    ),
    _make_rule(
        Kind.PROFILE, rf"(?:i'?m|i am) the (?:[\w'/-]+ ){{0,2}}?{OCCUPATION} (?:of|at|for) (?!the\b){_OBJECT_START}"
    ),
    _make_rule(Kind.PROFILE, rf"{_I}(?:majored|minored) in {_OBJECT_START}"),
    _make_rule(
        Kind.PROFILE, rf"i (?:was|used to be) an? (?:[\w'/-]+ ){{0,3}}?{OCCUPATION} (?:for|in|at|before|until)\b"
    ),
    _make_rule(Kind.PROFILE, rf"{_I_AM}no longer (?:an? )?(?:\w+ )?(?:{OCCUPATION}|{PERSONAL_STATE})\b"),
    _make_rule(Kind.PROFILE, r"my (?:(?:full|first|last|real|middle) )?name(?: is|'s) [\w\"']"),
    _make_rule(
        Kind.PROFILE,
        r"(?:(?:please|just) )*call me (?!(?:when|if|later|back|at|crazy|on|any\w*|asap|old|whatever)\b)[\w\"'-]+\W*$",
    ),
    _make_rule(Kind.PROFILE, r"i go by [\w\"']"),
    _make_rule(
        Kind.PROFILE,
        rf"my {_PERSONAL_DETAIL}(?: is|'s| are) (?!{_PASSING_REMARK}\b)[\w\"']",
    ),
    _make_rule(
        Kind.PROFILE,
        rf"{_I_AM}(?:originally )?(?:from|based in|born in|living in|employed (?:at|by)) (?!a\b){_OBJECT_START}",
    ),
    _make_rule(
        Kind.PROFILE, r"(?:i was|we were) (?:born|raised|brought up) (?:and raised )?(?:in|on|near|as|by|into) \w"
    ),
    _make_rule(Kind.PROFILE, rf"{_I}grew up (?:in|on|near|with|as|speaking|around|playing|watching|poor) (?!it\b)\w"),
    _make_rule(Kind.PROFILE, rf"{_I_AM}(?:\d{{1,3}}|[a-z]+(?:ty|teen)(?:-\w+)?) years? old\b"),
    _make_rule(Kind.PROFILE, rf"{_I_AM}(?:not )?(?:an? )?{PERSONAL_STATE}\b(?! (?:to|with|by|about)\b)"),
    _make_rule(
        Kind.PROFILE,
        rf"{_I_AM}(?:not )?an? (?!(?:bit|little|mix|huge|real|better|different|total|lucky|proud|happy|changed)\b)"
        rf"(?:[\w'/-]+ ){{0,3}}?{OCCUPATION}\b(?! of (?:the|my)\b)",
    ),
    _make_rule(
        Kind.PROFILE,
        rf"{_I}(?:work|study|live|teach|volunteer|freelance|reside|intern) "
        rf"(?!{_NOT_WORKPLACE}\b)"
        r"(?!(?:it|here|there|so)\b)[\w\"']",
    ),
    _make_rule(
        Kind.PROFILE,
        rf"{_I_AM}(?:studying|majoring in|working (?:at|for|as)|interning|training (?:to be|as)|enrolled) (?!(?:hard|"
        r"on)\b)"
        r"(?!(?:it|that|this)\b)[\w\"']",
    ),
    _make_rule(Kind.PROFILE, rf"{_I}speak (?!(?:to|with|for|up|about|from|out|of|it|soon)\b)[\w\"']"),
)

_HEALTH_RULES = (
    _make_rule(
        Kind.FACT,
        rf"my {_PHYSICIAN} (?:(?:just|recently|has) )*(?:put me on|prescribed(?: me)?|diagnosed me with) "
        rf"{_OBJECT_START}",
    ),
    _make_rule(Kind.FACT, rf"{_I_AM}(?:\w+ly )?(?:allergic|intolerant) to {_LIKED_OBJECT}"),
    _make_rule(
        Kind.FACT,
        rf"{_I}(?:can't|cannot|can not|don't|do not|never) "
        rf"(?:eat|drink|tolerate|digest|have(?= {_RESTRICTED_THING}\b)) "
        rf"(?!(?:much|any)\b){_OBJECT_START}",
    ),
    _make_rule(
        Kind.FACT,
        rf"(?:{_I}(?:suffer from|(?:was|got) diagnosed with|(?:(?:need|have) to )?take (?:\w+ )?(?:medication|"
        r"insulin|pills))|"
        rf"{_I_HAVE}been diagnosed with)\b",
    ),
)

_PREFERENCE_RULES = (
    _make_rule(
        Kind.PREFERENCE,
        rf"(?:i'd like|i (?:need|want|like|prefer)) (?:all )?my {_ANSWER_NOUN} "
        r"(?:in|as|with|without|to be|to have|short|brief|long|simple|concise)\b",
    ),
    _make_rule(Kind.PREFERENCE, rf"{_I}{LIKING_VERB} {_LIKED_OBJECT}"),
    _make_rule(
        Kind.PREFERENCE,
        rf"(?:{_I_AM}(?:not )?(?:really )?{INTEREST_PHRASE}|{_I_HAVE}{LONG_INTEREST_PHRASE}) {_LIKED_OBJECT}",
    ),
    _make_rule(
        Kind.PREFERENCE,
        rf"{_I_AM}an? (?:(?:big|huge|total|massive) )?(?!(?:big|huge|total|massive|true|real|loyal)\b)[\w'-]+ (?:\w+ "
        r")?(?:fan|lover|addict|buff)\b",
    ),
    _make_rule(Kind.PREFERENCE, rf"i(?:'ll| will) always (?:love|prefer|hate|enjoy) {_LIKED_OBJECT}"),
    _make_rule(Kind.PREFERENCE, r"i'd (?:much )?rather (?!not)\w[^.]{2,80} than\b"),
    _make_rule(
        Kind.PREFERENCE,
        r"my (?:(?:absolute|all-time|personal|current|other) )*(?:favou?rites?|fave?)"
        rf"(?! (?:part|moment|memory|memories|thing about|one))(?: [\w'&/ -]{{1,60}}?)?"
        rf"(?: {_IS_FORM}|'s) {_DONE_OBJECT}",
    ),
    _make_rule(
        Kind.PREFERENCE,
        rf"{_SUBJECT}(?: {_IS_FORM}|'s|'re) (?:(?:definitely|really|always|probably|mostly|pretty much) )*"
        r"(?:(?:one|some) of )?(?:my|our) "
        rf"(?:(?:absolute|all-time|personal|new|creative|main|own) )*{FAVORITE}\b(?! (?:part|moment|memory|memories|"
        r"thing about|is|are))",
    ),
    _make_rule(Kind.PREFERENCE, rf"i (?:loved|enjoyed|hated|liked) [\w\"'][^.]{{2,120}}?{_CHILDHOOD}"),
    _make_rule(
        Kind.PREFERENCE,
        r"i (?:really |absolutely )?(?:loved|enjoyed|hated) (?:reading |watching |playing )?"
        r"(?:\"\w|(?-i:[A-Z][a-z]+ (?:[a-z]{1,3} ){0,2}[A-Z]))",
    ),
    _make_rule(
        Kind.PREFERENCE,
        rf"{_SUBJECT}(?: {_IS_FORM}|'s| means) (?:(?:such|really|very|so|super|always|extremely) )*"
        r"(?:important to (?:me|us)|"
        r"(?:an? )?(?:huge|big|important|major|special|integral|large) part of (?:my|our) (?:life|lives|identity|"
        r"routine|family)|"
        r"(?:the world|everything|a lot) to (?:me|us))\b",
    ),
    _make_rule(
        Kind.PREFERENCE, rf"{_SUBJECT} (?:is|are) an? (?:must|must-have|no-go|deal-?breaker) (?:for|to|with) me\b"
    ),
    _make_rule(
        Kind.PREFERENCE,
        rf"i (?:really |always )?find (?!(?:it|that|this|them|myself)\b)(?:[\w'-]+ ){{1,5}}?(?:(?:so|very|really) "
        rf")?{_OPINION_WORD}\b",
    ),
)

_LIFE_RULES = (
    _make_rule(
        Kind.FACT,
        r"my (?:\w+ )?(?:car|bike|laptop|computer|phone|printer|router|watch|camera|guitar|piano) is an? "
        r"(?:[\w-]+ ){0,3}(?-i:[A-Z])",
    ),
    _make_rule(Kind.FACT, rf"{_I_AM}(?:scared|afraid|terrified) of (?!losing\b){_LIKED_OBJECT}"),
    _make_rule(
        Kind.FACT, rf"{_I}(?:don't|do not) have (?:an? )?(?:driving |driver's |driver )?(?:licen[cs]e|car|kids|pets)\b"
    ),
    _make_rule(Kind.EVENT, rf"i (?:just |recently )?turned {_COUNT}\b"),
    _make_rule(
        Kind.FACT,
        rf"{_I}(?:have|own|adopted) an? (?:[\w'-]+ ){{1,4}}?(?:called|named) (?-i:[A-Z])",
        together=True,
    ),
    _make_rule(
        Kind.FACT,
        rf"(?:my|our) (?:\w+ )?{_RELATED_PERSON}(?:'s names? (?:is|are)|(?: is|'s| are) (?:called|named)) \w",
        together=True,
    ),
    _make_rule(
        Kind.FACT,
        rf"(?:(?:my|our) (?:\w+ )?{RELATION}'s birthday|(?:my|our) (?:wedding )?anniversary)(?: is|'s) "
        rf"(?:on |in )?(?:the )?(?:\d|{MONTH}\b)",
        together=True,
    ),
    _make_rule(
        Kind.FACT,
        r"(?:i'?m|i am|we're|we are) expecting (?:our|my|an?) (?:\w+ )?(?:child|baby|son|daughter|girl|boy|twins)\b",
        together=True,
    ),
    _make_rule(
        Kind.EVENT,
        rf"(?:my|our) (?:\w+ )?{RELATION}(?: (?-i:[A-Z][a-z]+))? (?:turns|is turning|turned) {_COUNT}\b",
        together=True,
    ),
    _make_rule(
        Kind.FACT, rf"(?:my|our) (?:\w+ )?{RELATION}s?(?: (?-i:[A-Z][a-z]+))? (?:go|goes) to (?-i:[A-Z])", together=True
    ),
    _make_rule(Kind.FACT, r"(?:my|our) budget(?: for [^.,;]{2,40}?)? is [^.,;\d]{0,15}\d", together=True),
    _make_rule(
        Kind.EVENT,
        rf"my {_BOOKED_THING} (?:leaves|departs|arrives|starts|begins|ends|expires|is) (?:on|at|in) "
        rf"(?:the )?(?:\d|{MONTH}\b|{WEEKDAY}\b)",
    ),
    _make_rule(
        Kind.FACT,
        rf"(?:{_I}(?:have|own|adopted|rescued|share|got)|{_I_HAVE}(?:got|adopted)) {_NUMBER} (?:[\w'-]+ "
        rf"){{0,3}}?{POSSESSION}\b",
    ),
    _make_rule(
        Kind.FACT,
        rf"(?:my|our) (?:[\w'-]+ ){{0,2}}?{RELATION}(?:'s names? (?:is|are)|(?: is|'s| are) (?:called|named)) \w",
    ),
    _make_rule(
        Kind.FACT,
        rf"{_I_HAVE}(?:been (?!{_TEMPORARY_STATE}\b)|(?:had|known|played|lived|worked|owned|loved|done|wanted) "
        rf"){_OBJECT_START}[^.;]{{2,120}}?"
        rf"(?:for {_YEARS}|since (?:i was|childhood|high school|college|university|(?:19|20)\d\d|we were|my))\b",
    ),
    _make_rule(
        Kind.FACT,
        r"i (?:started|began|took up|learned|learnt) (?!(?:to realize|feeling|thinking|crying|looking|off|"
        rf"out)\b){_OBJECT_START}[^.;]{{2,120}}?"
        rf"(?:{_YEARS} ago|when i was|at (?:the )?age|{_CHILDHOOD}|in (?:19|20)\d\d)\b",
    ),
    _make_rule(
        Kind.FACT,
        rf"{_I}(?:haven't|have not) (?:been to|tried|visited|seen|read|watched|played|learned) {_DONE_OBJECT}",
    ),
    _make_rule(
        Kind.FACT,
        rf"{_I}(?:don't|do not) (?:drive|smoke|cook|surf|swim|ski|dance|sing|own|wear|use|watch|read|play|work|live|"
        r"speak)(?=\W*$|[,.]| (?!(?:it|that|this|them|like|as|out|hard)\b)\w)",
    ),
    _make_rule(Kind.FACT, r"(?:i|we) used to (?!(?:it|that|think|be scared|worry|feel|the)\b)\w"),
    _make_rule(Kind.FACT, rf"{_I}{ACTIVITY_VERB} (?!{_NOT_ACTIVITY_OBJECT}\b){_LIKED_OBJECT}"),
    _make_rule(
        Kind.FACT,
        rf"(?:my|our) (?:(?:biggest|main|ultimate|long-term|lifelong|big|other|current|new) )*{_PERSONAL_GOAL}"
        rf"(?: (?:this|next) year)?(?: is|'s| are|s are) (?!{_NOT_GOAL}\b){_LIKED_OBJECT}",
    ),
    _make_rule(
        Kind.FACT,
        rf"{_I}(?:want to|wanna|hope to|plan to|aim to|intend to) {WISH_VERB} "
        rf"(?!(?:sure|part of|like)\b){_DONE_OBJECT}",
    ),
    _make_rule(Kind.FACT, rf"{_I_AM}{ONGOING_ACTIVITY} (?!{_NOT_ONGOING_OBJECT}\b){_DONE_OBJECT}"),
    _make_rule(
        Kind.FACT,
        rf"(?:{_I_HAVE}(?:lately |recently )?)?been (?:busy )?{RECENT_ACTIVITY} "
        rf"(?!{_NOT_RECENT_OBJECT}\b){_DONE_OBJECT}",
    ),
    _make_rule(
        Kind.FACT,
        rf"{_I_HAVE}never (?!{_NOT_NEVER_DONE}\b)\w+ {_DONE_OBJECT}",
    ),
    _make_rule(
        Kind.FACT,
        rf"(?:my|our) (?:\w+ )?{_OWN_WORK}"
        rf"(?: is|'s) (?:all )?(?:about|called|on|titled|based (?:on|in)) {_DONE_OBJECT}",
    ),
    _make_rule(
        Kind.FACT,
        rf"{_I_AM}(?:lucky|blessed|grateful|thankful|fortunate|happy|glad) to have (?:an?|my|two|three) (?:\w+ "
        rf"){{0,3}}?{POSSESSION}\b",
        outright=False,
    ),
    _make_rule(
        Kind.FACT,
        rf"(?:(?!{_NOT_PASTIME}\b)"
        rf"\w{{3,20}}ing|{_PASTIME}|"
        r"\w{3,12}ball)(?: [\w'&,]+){0,6}? (?:(?:always|really|also|just|totally) )*(?:(?:helps?|calms?|relaxes|"
        r"brings?|gives?|keeps?) me|"
        r"makes? me (?:(?:so|really|very) )?(?:happy|feel|calm|relaxed|anxious|nervous|sick))\b(?! (?:through (?:it|"
        r"this|that)|going|do)\b)",
    ),
    _make_rule(
        Kind.FACT,
        rf"(?:my|our) (?:\w+ )?{RELATION}s?(?: (?-i:[A-Z][a-z]+))? "
        rf"(?:(?:really|also|just|always|both|all|absolutely) )*(?:{_RELATIVE_PREDICATE}|(?:is|"
        rf"are|was|were) (?:an? (?:\w+ )?{OCCUPATION}|{PERSONAL_STATE}|allergic to|from|\d{{1,3}} years? old))\b"
        rf"(?! (?:{_POINTER}|the (?:idea|way)))",
    ),
    _make_rule(
        Kind.FACT,
        rf"my (?:[\w',]+ ){{1,6}}?(?:is|are) my (?:(?:biggest|greatest|main|top|whole|number one) )*{_SUPPORT_NOUN}\b",
    ),
    _make_rule(
        Kind.FACT,
        rf"(?:my|our) (?:\w+ )?(?:{RELATION}s?|family|fam|friends) (?:(?:always|really|also) )*(?:motivates?|"
        r"inspires?|supports?|keeps?|encourages?) me\b",
    ),
    _make_rule(
        Kind.FACT,
        rf"(?:{_I_AM}|{_I_HAVE}been )(?:an? (?:\w+ )?)?(?:part|member) of (?:an?|my|the|our) (?!(?:team effort|journey|"
        r"difference|process|problem)\b)\w",
    ),
    _make_rule(
        Kind.LEARNING,
        r"(?:i|i've|i have|we've|we have|we) (?:(?:also|recently|just|really) )*(?:learned|learnt|realized|realised|"
        r"discovered|found)(?: out)? that "
        r"(?!(?:the hard way|it|that|this|these|they|those|he|she|there)\b)[\w\"']",
    ),
)

_DECISION_RULES = (
    _make_rule(
        Kind.DECISION,
        rf"{_I_DID}(?:decided|resolved|opted|made up my mind|chosen|chose|agreed) (?:to|on|against|that|for|not to|"
        rf"it's time to) (?!disagree){_OBJECT_START}",
    ),
    _make_rule(Kind.DECISION, rf"(?:we|i)(?:'re| are|'m| am) going with (?!the flow){_OBJECT_START}"),
)

_EVENT_RULES = (
    _make_rule(
        Kind.EVENT,
        r"(?:(?:i'?m|i am|we're|we are) getting|(?:i|we) (?:just |recently |finally )?got) "
        r"(?:married|divorced|engaged)\b",
        together=True,
    ),
    _make_rule(Kind.EVENT, r"(?:i|we) (?:just |recently |finally )?moved to (?-i:[A-Z])", together=True),
    _make_rule(
        Kind.EVENT,
        r"(?:i|we)(?:'ll| will) (?:always remember|never forget) (?!(?:it|that|this|them|those|these|how|what|"
        r"you)\b)[\w\"']",
    ),
    _make_rule(
        Kind.EVENT,
        rf"(?:{_I}(?:have|got)|i've got|we've got) (?:an?|my|another|the) (?:[\w'-]+ ){{1,7}}?"
        rf"(?:coming up|tomorrow|tonight|(?:next|this|on) (?:week\w*|month|year|{WEEKDAY}|{SEASON}|{MONTH}))\b",
    ),
    _make_rule(
        Kind.EVENT,
        rf"{_I_DID}(?:moved|relocated|emigrated|immigrated) (?:to|from|into|in with|out of|back to|away from) "
        rf"(?!on\b){_OBJECT_START}",
    ),
    _make_rule(Kind.EVENT, rf"{_I_DID}{LIFE_EVENT}\b(?! (?:it|that|this|them|so|more|really|back|through|over)\b)"),
    _make_rule(Kind.EVENT, rf"(?:{_I_DID})?{PAST_EVENT} (?!{_NOT_EVENT_OBJECT}\b){_DONE_OBJECT}"),
)

FIRST_PERSON_RULES = (
    *_HABIT_RULES,
    *_PROFILE_RULES,
    *_HEALTH_RULES,
    *_PREFERENCE_RULES,
    *_LIFE_RULES,
    *_DECISION_RULES,
    *_EVENT_RULES,
)
"""The order in which the rules are tried."""

MIN_WORDS, MIN_CHARS = 2, 6
"""Minimum words and characters in a sentence."""


def _compile_words(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b{alternation(words)}\b", re.IGNORECASE)


_JOKE = re.compile(r"\b(?:lol|lmao|rofl|ha(?:ha)+h?|he(?:he)+)\b|[😂🤣😜😝🙃😹]", re.IGNORECASE)
_RETRACTION = re.compile(
    r"\b(?:(?:just|only|i'm|am) (?:kidding|joking)|jk|kidding)\b|(?:^|\s)/s(?:\s|$)", re.IGNORECASE
)
_SUPPOSITION = _compile_words("""
    if, unless, whether, wish(?:es|ed)?, suppos(?:e|ing), imagin(?:e|ing), hypothetically, pretend(?:ing)?, as though,
    were to, should (?:i|we), let's, let us, someday, one day
""")
_MODAL = _compile_words("""
    would, wouldn't, could, couldn't, might, (?-i:may),
    (?:i|we|he|she|they|it)'d(?! (?:(?:much )?rather|like (?:all )?my)\\b)
""")
_REPORTED_SPEECH = _compile_words("""
    said, says?, told, tells, claims?, claimed, thinks?, asked, asks, according to, quote, quoting, apparently, heard,
    (?:he|she|they|people|everyone|everybody) (?:think|believe|call)s?, character, lyrics?, song goes
""")
_IRONIC_OPENING = re.compile(
    r"\b(?:yeah,? (?:right|sure)|oh,? (?:great|joy|wonderful|fantastic|perfect|how nice)|just (?:great|what i needed)|"
    r"as if|sure thing)\b",
    re.IGNORECASE,
)
_OWN_THOUGHT = re.compile(r"\b(?:i|we) (?:\w+ )?(?:think|believe)\b", re.IGNORECASE)
_SMALL_TALK = _compile_words("""
    i must (?:say|admit), i mean, means a lot, should be fun, first of all, can't wait, good luck, congrat\\w*, (?:it
    |that |this )(?:sounds?|looks?|feels?) like, (?:need|have|got|gotta) to (?:go|run|leave|head), gotta
    (?:go|run|leave|head), proud of (?:you|him|her|them), thank(?:s|ful)? (?:you|for), so happy for, nice to
    (?:meet|see|hear), talk (?:soon|later), take care, keep (?:me|ya|you) (?:posted|updated), believe in
    (?:you|yourself), here for you, there for you, have faith in
""")
_SECOND_PERSON = _compile_words("you, your, yours, yourself, you're, you've, you'll, you'd, u, ur, ya, y'all")
_SECRET = _compile_words("""
    pass ?(?:word|phrase|code)s?, api[ _-]?keys?, (?:access|auth|bearer|secret)[ _-](?:token|key)s?, private keys?,
    pin (?:code|number|is), credentials?
""")
_HEDGE = _compile_words("""
    maybe, perhaps, probably, possibly, presumably, i (?:think|guess|suppose|feel like), i believe(?! in), kind of,
    kinda, sort of, sorta, not (?:(?:really|quite|entirely) )?sure, more or less, i'm thinking of, thinking about,
    hopefully, tempted, seems?, supposedly, might
""")

_CLAUSE_STOP = r"(?=[.,;:!?)]|$)"
_TIME_WORD = alternation(f"""
    week\\w*, month, year, morning, afternoon, evening, {SEASON}, season, semester, term, quarter, coming, past, last,
    mon, tues, wednes, thurs, fri, satur, sun
""")
_WORD_AFTER_THAT = alternation("""
    is, was, one, kind, sort, way, same, stuff, thing, moment, day, time, place, feeling, experience, pic, photo,
    painting, name, for, to, with, in, on, and, but, so, too, as
""")
_PRONOUN = alternation("both, either, neither, mine, yours, such")
_CONTINUATION_WORD = alternation("with, for, in, on, and, but, to, too, that, last, from")
_VAGUE_ADJECTIVE = alternation("similar, like, else, new, different, cool, exciting, special, big, awesome")
_POINTER_PATTERNS = (
    rf"this(?! {_TIME_WORD})",
    r"these(?! days)",
    r"those(?! (?:who|with|in need|of us))",
    r"here(?:'s)?",
    r"there(?!'s| (?:is|are|was|were)\b)",
    rf"that(?:{_CLAUSE_STOP}|(?='s\b| {_WORD_AFTER_THAT}\b))",
    r"(?<=[,;-] )that",
    r"(?<=\bso )that(?= (?:might|would|could|will|may|was|is)\b)",
    r"like (?:that|this|those|these)",
    r"the (?:same(?! \w+ as (?:me|mine|us)\b)|other(?! day\b)|latter|former)",
    r"(?:another|the (?:first|second|third|last|next|new|old|only)|a (?:new|different|second)) one",
    (
        rf"(?:(?<!one )another|(?<!my )one(?! another)|(?<!\w )ones|{_PRONOUN})"
        rf"(?:{_CLAUSE_STOP}|(?= {_CONTINUATION_WORD}\b))"
    ),
    rf"(?:a few|any|some){_CLAUSE_STOP}",
    r"a few more",
    r"(?:do|doing|did|done|tried|try|trying) so",
    r"as usual",
    rf"something {_VAGUE_ADJECTIVE}",
    r"(?:(?<=\bwe )|(?<=\bwe're ))(?:both|all)",
)
_POINTING_WORD = re.compile(rf"\b(?:{'|'.join(_POINTER_PATTERNS)})\b", re.IGNORECASE)
_VAGUE_AMOUNT = alternation("""
    an?, some, another, (?:a )?few, lots of, many, several, more, any, other, such, different, all (?:kinds|sorts) of,
    one of, that
""")
_PALE_ADJECTIVE = alternation("""
    new, big, cool, great, amazing, awesome, nice, good, really, super, pretty, different, interesting, little, small,
    special, similar, certain, fun, tough, hard, huge, exciting, crazy, rad, wicked, personal, important, other, few,
    lot, more, fantastic, lovely, couple of
""")
_VAGUE_NOUN = alternation("""
    books?, events?, places?, tours?, trip, movies?, games?, things?, projects?, shows?, trophy, challenges?, story,
    stories, series, experiences?, ideas?, opportunit(?:y|ies), options?, goals?, stuff, people, pics?, pictures?,
    photos?, moments?, changes?, steps?, plans?, news, ways?, issues?, problems?, questions?, tips, advice, bits,
    progress, pieces?, recipes?, songs?, activit(?:y|ies), one, ones, time, fun, others
""")
_VAGUE_OBJECT = re.compile(
    rf"\b(?:{_VAGUE_AMOUNT} )+(?:{_PALE_ADJECTIVE} )*{_VAGUE_NOUN}(?=\W*$|[.,;!:)]| -(?! an? )|"
    r" (?:and|which|but|so|too|lately|recently|last|today|yesterday|together|really|i|we|now|right|next|this|as|"
    r"for (?:me|us)|that (?:really|was|is|i|made|blew|has|had))\b)",
    re.IGNORECASE,
)
_THING_PRONOUN = _compile_words("it, its, they, them, their, theirs, they're, they've, it's")
_PERSON_PRONOUN = _compile_words("he, she, him, her, his, hers, he's, she's")
_KIN_WORDS = """
    family, fam, kids?, child, children, wife, husband, partner, fianc[eé]e?, girlfriend, boyfriend, son, daughter,
    parents?, mother, father, mom, mum, dad, siblings?, brother, sister, dogs?, cats?, pups?, puppy, kitty,
    kitten, pets?
"""
_KNOWN_PERSON = alternation(f"""
    {_KIN_WORDS}, grand\\w+, aunt, uncle, cousin, niece, nephew, friend, boss, teacher, mentor, coach, neighbou?r,
    colleague, coworker, youngest, oldest, eldest, baby, boy, girl, woman, man, lady, guy, couple
""")
_PERSON_MENTION = re.compile(rf"\b(?:(?i:{_KNOWN_PERSON})|(?<=\s)(?!I\b)[A-Z][a-z]+)\b")
_CLAUSE_BREAK = re.compile(
    r"[,;:(]|\s-+\s|\s(?:and|but|so|because|'?cause|since|which|when|while|as|where|although|though|who|that)\s",
    re.IGNORECASE,
)
_WE = re.compile(r"(?:we|we're|we've|we'll|our)\b", re.IGNORECASE)
_COMPANIONS = _compile_words(f"""
    {_KIN_WORDS}, with (?:my|some|our), at work, in production, (?:my|our) (?:\\w+
    )?(?:friends?|team|teammates|colleagues|coworkers|workmates|band|class|neighbou?rs?|group|company|church)
""")


def is_plain_statement(sentence: str) -> bool:
    """Return whether the sentence states something and has no secret.

    It must not ask, suppose, joke, cite or make small talk.
    """
    if "?" in sentence or len(sentence) < MIN_CHARS or len(sentence.split()) < MIN_WORDS:
        return False
    modal = _MODAL.search(sentence)
    if modal is not None and _CLAUSE_BREAK.search(sentence, 0, modal.start() + 1) is None:
        return False
    if _REPORTED_SPEECH.search(_OWN_THOUGHT.sub("", sentence)):
        return False
    return not any(found.search(sentence) for found in (_SUPPOSITION, _SMALL_TALK, _JOKE, _SECRET))


def has_retraction(text: str) -> bool:
    """Return whether the speaker takes something back as a joke."""
    return _RETRACTION.search(text) is not None


def makes_hypothetical(before: str) -> bool:
    """Return whether the text before makes what follows a supposition or reported speech."""
    return any(found.search(before) for found in (_SUPPOSITION, _REPORTED_SPEECH))


def is_ironic_opening(opening: str) -> bool:
    """Return whether a sentence that opens like this means the opposite."""
    return _IRONIC_OPENING.search(opening) is not None


def addresses_listener(sentence: str) -> bool:
    """Return whether the sentence addresses a listener."""
    return _SECOND_PERSON.search(sentence) is not None


def has_hedge(sentence: str) -> bool:
    """Return whether the speaker is not sure."""
    return _HEDGE.search(sentence) is not None


def names_companions(sentence: str) -> bool:
    """Return whether the sentence tells who "we" are; True if it does not begin with "we"."""
    return _WE.match(sentence) is None or _COMPANIONS.search(sentence) is not None


def is_self_contained(sentence: str) -> bool:
    """Return whether the sentence names its subject and refers to no other sentence.

    "It" may stand for what an earlier clause names, and "she" for a person who is named before it.
    """
    if _POINTING_WORD.search(sentence):
        return False
    clause = _CLAUSE_BREAK.search(sentence)
    first = len(sentence) if clause is None else clause.start()
    if _THING_PRONOUN.search(sentence, 0, first) or _is_vague(sentence, first):
        return False
    person = _PERSON_PRONOUN.search(sentence)
    return person is None or _PERSON_MENTION.search(sentence, 0, person.start()) is not None


def _is_vague(sentence: str, first: int) -> bool:
    """Return whether the first clause has a vague object: a book or an event, but not which."""
    vague = _VAGUE_OBJECT.search(sentence)
    return vague is not None and vague.start() < first


MAX_PROCEDURE_CHARS = 2000
"""Maximum length of a procedure; a longer text is a document."""

MAX_ASIDE_SENTENCES = 2
"""Maximum sentences between two steps."""

_FIRST_STEP = re.compile(
    r"(?:(?:in order )?(?:how )?to [^,:.\n]{3,80}[,:] )?"
    r"(?:step (?:1|one)\b|first(?:ly)?,? (?!of all|time|thing|i\b|i'|we\b|he\b|she\b|they\b|my\b|and\b))",
    re.IGNORECASE,
)
_NEXT_STEP = re.compile(
    r"(?:and )?(?:step (?:\d{1,2}|[a-z]{3,6})\b|second(?:ly)?,|third(?:ly)?,|then,? |next,? |after that,? |"
    r"afterwards,? |finally,? |lastly,? )",
    re.IGNORECASE,
)
_NARRATION = re.compile(
    r"\b(?:i|we|he|she|they) (?!(?:must|should|need|have to|always)\b)\w|\b(?:was|were|went|had|did|got|felt|i'm|"
    r"we're|i've|we've)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r":$")


def find_procedures(text: str, spans: Sequence[TextSpan]) -> list[TextSpan]:
    """Return the spans of procedures with two steps or more; a narrative is not a procedure."""
    found: list[TextSpan] = []
    place = 0
    while place < len(spans):
        last = _find_last_step(text, spans, place)
        if last > place:
            headed = place > 0 and _HEADING.search(text, *spans[place - 1]) is not None
            begin, end = spans[place - headed][0], spans[last][1]
            if end - begin <= MAX_PROCEDURE_CHARS and _NARRATION.search(text, begin, end) is None:
                found.append((begin, end))
        place = last + 1
    return found


def _find_last_step(text: str, spans: Sequence[TextSpan], place: int) -> int:
    """Return the place of the last step of the procedure at `place`; `place` without one."""
    last = place
    if _FIRST_STEP.match(text, *spans[place]):
        for later in range(place + 1, len(spans)):
            if later - last > MAX_ASIDE_SENTENCES + 1:
                break
            if _NEXT_STEP.match(text, *spans[later]):
                last = later
    return last
