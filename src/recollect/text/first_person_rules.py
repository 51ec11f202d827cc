"""Firsthand: what people say of themselves that lasts, told by how the sentence begins."""

import re
from dataclasses import dataclass

from recollect.model.memory import Kind
from recollect.text.extraction_vocabulary import (
    ADVERB,
    CALLING,
    CHERISHED,
    DAY,
    DOING,
    HABIT,
    HAPPENED,
    LATELY,
    LIKING,
    LONG_LIKED,
    MONTH,
    OWNED,
    RELATION,
    SEASON,
    STATE,
    TAKEN_WITH,
    TURNED,
    UNDER_WAY,
    WISHED,
    either,
)


@dataclass(frozen=True, slots=True)
class Rule:
    """How a sentence of one sort begins, which kind of memory it is, whether it says so outright, and whether it holds
    for who speaks, whoever else is meant by "we".
    """

    kind: Kind
    begins: re.Pattern[str]
    outright: bool = True
    together: bool = False


_I = rf"(?:i|we|my \w{{2,15}}(?: \w{{2,15}})? and i) (?:{ADVERB} )*"
_IM = rf"(?:i'?m|i am|we're|we are) (?:{ADVERB} )*(?:(?:so|very|quite|pretty|a bit|super) )?"
_IVE = rf"(?:i've|i have|we've|we have) (?:{ADVERB} )*"
_DID = rf"(?:{_I}|{_IVE})"

# what a sentence may not go on with, because it would point to something said before, or say too little
_POINTER = (
    either(r"""
    its?, that, this, these, those, them, they, there, here, him, her, his, their, your?, how, what, when, where, why,
    one(?!-), some of, everything, anything, something, nothing, all(?! \w+s\b), any, both(?= ?[.!;] |$| of), such,
    so, hearing
""")
    + r"\b"
)
_KNOWN = either("""
    outdoors, beach, ocean, sea, mountains?, countryside, rain, snow, cold, heat, woods, forest, smell of, sound of,
    theat(?:re|er), gym, violin, viola, cello, piano, guitar, bass, drums, flute, clarinet, saxophone, trumpet, harp,
    organ, thrill of, taste of
""")
_THE = rf"the (?!{_KNOWN})"
_TRIFLE = either(r"""
    for a while, a (?:ton|lot|difference|positive (?:impact|difference))\b, (?:some )?(?:options|progress|fun)\b,
    us\b, (?:a|some|another|any) (?:new )?(?:projects?|things?|stuff)\b(?! (?:on|about|for|to|with|called|that|-)), a
    few more, the (?:same|one|other|best|most|rest|chance|idea|feeling|push|boost|time to|positive|moment)\b
""")
_THING = rf"(?!{_POINTER}|(?:and|or|in)\b)[\w\"']"
_LIKED = rf"(?!{_POINTER}|{_THE}|to (?:know|see|hear|say|think|be|point|add|thank|do)\b|to\W*$|(?:and|or|in)\b)[\w\"']"
_DONE = rf"(?!{_POINTER}|{_TRIFLE}|(?:and|or|in|to (?:do|be))\b)[\w\"']"
_SUBJECT = (
    rf"(?!(?:{_POINTER}|(?:he|she|which|who|someone|you're|the (?:best|first|next))\b))[\w\"'][\w \"'&,:-]{{1,90}}?"
)

_IS = either("is, are, has been, have been, has always been, have always been, will always be, remains?")
_NUMBER = either(
    r"an?, one, two, three, four, five, six, seven, eight, nine, ten, \d\d?, no, several, a few, some, another"
)
_YEARS = r"(?:[\w-]+ ){0,6}?(?:years?|months?|decades?)"
_CHILDHOOD = (
    r"(?:as a (?:kid|child|boy|girl|teen\w*)|when i was (?:a (?:kid|child|boy|girl)|young\w*|little|small|in \w))"
)

# what some rules look for, or are kept from by
_OFTEN = either("""
    always, usually, normally, typically, generally, often, regularly, never, rarely, seldom, mostly, only, tend to
""")
_TOLD = either("""
    birthday, pronouns, job, occupation, profession, nationality, native language, mother tongue, first language, home
    ?town, home country, time ?zone, address, phone number, zodiac sign, star sign, degree, major,
    blood (?:type|group), shoe size, e-?mail(?: address)?
""")
_PASSING = either("so, really, very, going, coming, great, good, fun, tough, hard, awesome, amazing, soon")
_AT_WORK = either("""
    on, out, hard, through, together, towards?, well, best, my (?:dream|best), the, like, up, down, too
""")
_FORBIDDEN = either("""
    dairy, gluten, nuts, lactose, alcohol, sugar, meat, caffeine, pets, kids, children, a (?:car|licen[cs]e|dog|cat)
""")
_FOUND = either("""
    relaxing, calming, boring, fascinating, rewarding, soothing, stressful, therapeutic, exhausting, annoying,
    inspiring, exciting, tedious, comforting, enjoyable
""")
_UNLASTING = either("""
    able, (?:thinking|feeling|meaning|wanting|waiting|dreaming|hoping|trying), there,
    (?:playing|doing|working|going|using|making|taking|having|on) (?:for|since)
""")
_ASIDE = either("""
    into, out, away, from, off, on, up, by, down, over, late, best, through, myself, me, us, inspiration, sure, sense,
    going, pushing, trying, working, coming, moving, believing, getting, facing, bouncing, mistakes, each, in mind, my
    (?:eyes|head|mind|best|promise|word), the (?:line|faith|difference|most), a lot in
""")
_AIM = either("""
    goal, dream, aim, hobby, hobbies, ambition, plan, passion, team, company, business, school, university, pets?,
    specialty, diet
""")
_MOOD = either("""
    really, very, going, coming, great, good, fun, tough, hard, awesome, amazing, doing, finally, just, now, back,
    still, like, paying, always, excited, the best
""")
_UNSAID = either(r"""
    care, off, stuff, some (?:time|\w+ ideas), a break, things, hard, with, out, ways?, myself, my best, new things,
    more, time, late, steps, on, into, to (?:realize|feel|think|see|get), a
    (?:difference|positive|big|real|great|change|good|nice|quick|simple|cheap|decent), an impact
""")
_IDLE = either("""
    hard(?! on), great, some stuff, stuff, care, a lot, non-?stop, really, out, lately, new things
""")
_UNTRIED = either("""
    been (?:so|more|happier|better|that|this), felt, seen (?:it|that|such), heard, thought, looked, regretted
""")
_MADE = either("""
    art, work, book, script, screenplay, novel, blog, writing, job, thesis, research, project, store, studio, shop
""")
_UNNAMED = either("""
    nothing, something, everything, anything, seeing, hearing, knowing, having, talking, being, during, getting, going
""")
_PASTIME = either("""
    art, music, dance, yoga, pottery, nature, fashion, sports?, exercise, meditation, poetry, photography, books
""")
_OF_KIN = either("""
    (?:love|like|enjoy|hate|adore|live|work|play|stud(?:y|ie)|teach(?:e)?)s?, passed away, died, moved, (?:was|were)
    born, graduated, got (?:married|divorced|engaged), (?:has|have)
    (?:asthma|diabetes|autism|adhd|allergies|cancer|dementia), starts?
    (?:school|kindergarten|nursery|college|university)
""")
_STAY = either("""
    rocks?, motivation, support, supporters?, inspiration, fans?, world, priority, strength, everything
""")
_NOTHING = either("""
    touch, track, my (?:mind|temper|way|head|cool|words?), off, out, to
    (?:feel|think|realize|see|get|appreciate|hang), thinking, feeling, crying, looking, caring, bed, sleep, through,
    over
""")


def _rule(kind: Kind, begins: str, *, outright: bool = True, together: bool = False) -> Rule:
    return Rule(kind, re.compile(begins, re.IGNORECASE), outright, together)


_RELATED = either(f"""
    {RELATION}, manager, boss, doctor, dentist, therapist, landlord, landlady, teacher, colleague, coworker, assistant,
    neighbou?r, room ?mate, flat ?mate, best friend, team lead, nanny, tutor, coach
""")
_PHYSICIAN = either("doctor, gp, physician, psychiatrist, cardiologist, dermatologist, dentist, vet")
_BOOKED = either("""
    flight, train, bus, ferry, appointment, interview, exam, surgery, operation, lease, contract, visa, passport,
    deadline, due date, wedding, shift
""")
_ANSWERS = either("answers?, replies, reply, responses?, reports?, summaries, summary, emails?, code, explanations?")
_NO_NAME = either("""
    sorry, good, fine, ok, okay, sure, done, ready, here, back, home, in, out, great, well, happy, sad, tired, busy,
    late, free, lost, glad, afraid, yours, right, wrong, serious, aware, alone, bored, new, open, old, young, off, on,
    confused, stuck, curious, interested, excited, hungry, sick, cold, hot, alive, better, dead, evil, god, batman
""")
_COUNT = either("""
    one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen,
    seventeen, eighteen, nineteen, twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety, \\d\\d?
""")

_RECURRING = (
    _rule(
        Kind.PATTERN,
        rf"{_I}(?:take|catch|ride) (?:the|an?) (?:[\w:'-]+ ){{1,3}}?to (?:work|school|the office|university|college)\b",
    ),
    _rule(Kind.PATTERN, rf"(?:i|we) (?:[\w'-]+ ){{1,8}}?on (?:{DAY}s|weekdays|weekends)\b"),
    _rule(
        Kind.PATTERN,
        rf"(?:i|we) {_OFTEN} "
        rf"{HABIT} (?!(?:sure|me)\b){_THING}",
    ),
    _rule(
        Kind.PATTERN,
        r"(?!\w+ (?:\w+ )?(?:get|see) (?:an?|the) (?:\w+ )?(?:error|exception|warning|message)\b)"
        r"(?:i |we |(?:i'm|i've been|we're) (?=\w+ing\b))(?:[\w'-]+ ){1,10}?(?:every|each) "
        rf"(?:day|week|month|year|morning|evening|night|weekend|{DAY}|{SEASON})\b",
    ),
    _rule(
        Kind.PATTERN,
        r"(?:i|we) (?:[\w'-]+ ){1,10}?"
        r"(?:daily|weekly|(?:once|twice|(?:two|three|four|five|\d) times) (?:a|per) (?:day|week|month|year))\b",
    ),
)

_WHO_THEY_ARE = (
    _rule(Kind.PROFILE, rf"(?:i'?m|i am) (?!{_NO_NAME}\b)(?-i:[A-Z][a-z]{{1,20}})(?: (?-i:[A-Z][a-z]{{1,20}}))?\W*$"),
    _rule(Kind.PROFILE, r"(?:i'?m|i am) \d{1,3}(?: now)?\W*$"),
    _rule(
        Kind.PROFILE,
        r"(?:i'?m|i am) (?:\d(?:'| ?(?:foot|feet|ft)\b)|\d[.,]\d\d ?m\b|\d{3} ?cm\b)",
    ),
    _rule(Kind.PROFILE, rf"{_I}report (?:directly )?to (?-i:[A-Z])"),
    _rule(
        Kind.PROFILE,
        r"(?:i'?m|i am) (?:on|in) (?:the )?(?-i:[A-Z][A-Za-z]{2,15}(?:[+-]\d{1,2})?)(?: (?:standard|daylight))? ?time",
    ),
    _rule(Kind.PROFILE, rf"(?:i'?m|i am) the (?:[\w'/-]+ ){{0,2}}?{CALLING} (?:of|at|for) (?!the\b){_THING}"),
    _rule(Kind.PROFILE, rf"{_I}(?:majored|minored) in {_THING}"),
    _rule(Kind.PROFILE, rf"i (?:was|used to be) an? (?:[\w'/-]+ ){{0,3}}?{CALLING} (?:for|in|at|before|until)\b"),
    _rule(Kind.PROFILE, rf"{_IM}no longer (?:an? )?(?:\w+ )?(?:{CALLING}|{STATE})\b"),
    _rule(Kind.PROFILE, r"my (?:(?:full|first|last|real|middle) )?name(?: is|'s) [\w\"']"),
    _rule(
        Kind.PROFILE,
        r"(?:(?:please|just) )*call me (?!(?:when|if|later|back|at|crazy|on|any\w*|asap|old|whatever)\b)[\w\"'-]+\W*$",
    ),
    _rule(Kind.PROFILE, r"i go by [\w\"']"),
    _rule(
        Kind.PROFILE,
        rf"my {_TOLD}(?: is|'s| are) (?!{_PASSING}\b)[\w\"']",
    ),
    _rule(
        Kind.PROFILE, rf"{_IM}(?:originally )?(?:from|based in|born in|living in|employed (?:at|by)) (?!a\b){_THING}"
    ),
    _rule(Kind.PROFILE, r"(?:i was|we were) (?:born|raised|brought up) (?:and raised )?(?:in|on|near|as|by|into) \w"),
    _rule(Kind.PROFILE, rf"{_I}grew up (?:in|on|near|with|as|speaking|around|playing|watching|poor) (?!it\b)\w"),
    _rule(Kind.PROFILE, rf"{_IM}(?:\d{{1,3}}|[a-z]+(?:ty|teen)(?:-\w+)?) years? old\b"),
    _rule(Kind.PROFILE, rf"{_IM}(?:not )?(?:an? )?{STATE}\b(?! (?:to|with|by|about)\b)"),
    _rule(
        Kind.PROFILE,
        rf"{_IM}(?:not )?an? (?!(?:bit|little|mix|huge|real|better|different|total|lucky|proud|happy|changed)\b)"
        rf"(?:[\w'/-]+ ){{0,3}}?{CALLING}\b(?! of (?:the|my)\b)",
    ),
    _rule(
        Kind.PROFILE,
        rf"{_I}(?:work|study|live|teach|volunteer|freelance|reside|intern) "
        rf"(?!{_AT_WORK}\b)"
        r"(?!(?:it|here|there|so)\b)[\w\"']",
    ),
    _rule(
        Kind.PROFILE,
        rf"{_IM}(?:studying|majoring in|working (?:at|for|as)|interning|training (?:to be|as)|enrolled) (?!(?:hard|"
        r"on)\b)"
        r"(?!(?:it|that|this)\b)[\w\"']",
    ),
    _rule(Kind.PROFILE, rf"{_I}speak (?!(?:to|with|for|up|about|from|out|of|it|soon)\b)[\w\"']"),
)

_HEALTH = (
    _rule(
        Kind.FACT,
        rf"my {_PHYSICIAN} (?:(?:just|recently|has) )*(?:put me on|prescribed(?: me)?|diagnosed me with) {_THING}",
    ),
    _rule(Kind.FACT, rf"{_IM}(?:\w+ly )?(?:allergic|intolerant) to {_LIKED}"),
    _rule(
        Kind.FACT,
        rf"{_I}(?:can't|cannot|can not|don't|do not|never) (?:eat|drink|tolerate|digest|have(?= {_FORBIDDEN}\b)) "
        rf"(?!(?:much|any)\b){_THING}",
    ),
    _rule(
        Kind.FACT,
        rf"(?:{_I}(?:suffer from|(?:was|got) diagnosed with|(?:(?:need|have) to )?take (?:\w+ )?(?:medication|"
        r"insulin|pills))|"
        rf"{_IVE}been diagnosed with)\b",
    ),
)

_LIKES = (
    _rule(
        Kind.PREFERENCE,
        rf"(?:i'd like|i (?:need|want|like|prefer)) (?:all )?my {_ANSWERS} "
        r"(?:in|as|with|without|to be|to have|short|brief|long|simple|concise)\b",
    ),
    _rule(Kind.PREFERENCE, rf"{_I}{LIKING} {_LIKED}"),
    _rule(Kind.PREFERENCE, rf"(?:{_IM}(?:not )?(?:really )?{TAKEN_WITH}|{_IVE}{LONG_LIKED}) {_LIKED}"),
    _rule(
        Kind.PREFERENCE,
        rf"{_IM}an? (?:(?:big|huge|total|massive) )?(?!(?:big|huge|total|massive|true|real|loyal)\b)[\w'-]+ (?:\w+ "
        r")?(?:fan|lover|addict|buff)\b",
    ),
    _rule(Kind.PREFERENCE, rf"i(?:'ll| will) always (?:love|prefer|hate|enjoy) {_LIKED}"),
    _rule(Kind.PREFERENCE, r"i'd (?:much )?rather (?!not)\w[^.]{2,80} than\b"),
    _rule(
        Kind.PREFERENCE,
        r"my (?:(?:absolute|all-time|personal|current|other) )*(?:favou?rites?|fave?)"
        rf"(?! (?:part|moment|memory|memories|thing about|one))(?: [\w'&/ -]{{1,60}}?)?(?: {_IS}|'s) {_DONE}",
    ),
    _rule(
        Kind.PREFERENCE,
        rf"{_SUBJECT}(?: {_IS}|'s|'re) (?:(?:definitely|really|always|probably|mostly|pretty much) )*(?:(?:one|some) "
        r"of )?(?:my|our) "
        rf"(?:(?:absolute|all-time|personal|new|creative|main|own) )*{CHERISHED}\b(?! (?:part|moment|memory|memories|"
        r"thing about|is|are))",
    ),
    _rule(Kind.PREFERENCE, rf"i (?:loved|enjoyed|hated|liked) [\w\"'][^.]{{2,120}}?{_CHILDHOOD}"),
    _rule(
        Kind.PREFERENCE,
        r"i (?:really |absolutely )?(?:loved|enjoyed|hated) (?:reading |watching |playing )?"
        r"(?:\"\w|(?-i:[A-Z][a-z]+ (?:[a-z]{1,3} ){0,2}[A-Z]))",
    ),
    _rule(
        Kind.PREFERENCE,
        rf"{_SUBJECT}(?: {_IS}|'s| means) (?:(?:such|really|very|so|super|always|extremely) )*(?:important to (?:me|"
        r"us)|"
        r"(?:an? )?(?:huge|big|important|major|special|integral|large) part of (?:my|our) (?:life|lives|identity|"
        r"routine|family)|"
        r"(?:the world|everything|a lot) to (?:me|us))\b",
    ),
    _rule(Kind.PREFERENCE, rf"{_SUBJECT} (?:is|are) an? (?:must|must-have|no-go|deal-?breaker) (?:for|to|with) me\b"),
    _rule(
        Kind.PREFERENCE,
        rf"i (?:really |always )?find (?!(?:it|that|this|them|myself)\b)(?:[\w'-]+ ){{1,5}}?(?:(?:so|very|really) "
        rf")?{_FOUND}\b",
    ),
)

_LIFE = (
    _rule(
        Kind.FACT,
        r"my (?:\w+ )?(?:car|bike|laptop|computer|phone|printer|router|watch|camera|guitar|piano) is an? "
        r"(?:[\w-]+ ){0,3}(?-i:[A-Z])",
    ),
    _rule(Kind.FACT, rf"{_IM}(?:scared|afraid|terrified) of (?!losing\b){_LIKED}"),
    _rule(
        Kind.FACT, rf"{_I}(?:don't|do not) have (?:an? )?(?:driving |driver's |driver )?(?:licen[cs]e|car|kids|pets)\b"
    ),
    _rule(Kind.EVENT, rf"i (?:just |recently )?turned {_COUNT}\b"),
    _rule(
        Kind.FACT,
        rf"{_I}(?:have|own|adopted) an? (?:[\w'-]+ ){{1,4}}?(?:called|named) (?-i:[A-Z])",
        together=True,
    ),
    _rule(
        Kind.FACT,
        rf"(?:my|our) (?:\w+ )?{_RELATED}(?:'s names? (?:is|are)|(?: is|'s| are) (?:called|named)) \w",
        together=True,
    ),
    _rule(
        Kind.FACT,
        rf"(?:(?:my|our) (?:\w+ )?{RELATION}'s birthday|(?:my|our) (?:wedding )?anniversary)(?: is|'s) "
        rf"(?:on |in )?(?:the )?(?:\d|{MONTH}\b)",
        together=True,
    ),
    _rule(
        Kind.FACT,
        r"(?:i'?m|i am|we're|we are) expecting (?:our|my|an?) (?:\w+ )?(?:child|baby|son|daughter|girl|boy|twins)\b",
        together=True,
    ),
    _rule(
        Kind.EVENT,
        rf"(?:my|our) (?:\w+ )?{RELATION}(?: (?-i:[A-Z][a-z]+))? (?:turns|is turning|turned) {_COUNT}\b",
        together=True,
    ),
    _rule(
        Kind.FACT, rf"(?:my|our) (?:\w+ )?{RELATION}s?(?: (?-i:[A-Z][a-z]+))? (?:go|goes) to (?-i:[A-Z])", together=True
    ),
    _rule(Kind.FACT, r"(?:my|our) budget(?: for [^.,;]{2,40}?)? is [^.,;\d]{0,15}\d", together=True),
    _rule(
        Kind.EVENT,
        rf"my {_BOOKED} (?:leaves|departs|arrives|starts|begins|ends|expires|is) (?:on|at|in) "
        rf"(?:the )?(?:\d|{MONTH}\b|{DAY}\b)",
    ),
    _rule(
        Kind.FACT,
        rf"(?:{_I}(?:have|own|adopted|rescued|share|got)|{_IVE}(?:got|adopted)) {_NUMBER} (?:[\w'-]+ "
        rf"){{0,3}}?{OWNED}\b",
    ),
    _rule(
        Kind.FACT,
        rf"(?:my|our) (?:[\w'-]+ ){{0,2}}?{RELATION}(?:'s names? (?:is|are)|(?: is|'s| are) (?:called|named)) \w",
    ),
    _rule(
        Kind.FACT,
        rf"{_IVE}(?:been (?!{_UNLASTING}\b)|(?:had|known|played|lived|worked|owned|loved|done|wanted) "
        rf"){_THING}[^.;]{{2,120}}?"
        rf"(?:for {_YEARS}|since (?:i was|childhood|high school|college|university|(?:19|20)\d\d|we were|my))\b",
    ),
    _rule(
        Kind.FACT,
        r"i (?:started|began|took up|learned|learnt) (?!(?:to realize|feeling|thinking|crying|looking|off|"
        rf"out)\b){_THING}[^.;]{{2,120}}?"
        rf"(?:{_YEARS} ago|when i was|at (?:the )?age|{_CHILDHOOD}|in (?:19|20)\d\d)\b",
    ),
    _rule(Kind.FACT, rf"{_I}(?:haven't|have not) (?:been to|tried|visited|seen|read|watched|played|learned) {_DONE}"),
    _rule(
        Kind.FACT,
        rf"{_I}(?:don't|do not) (?:drive|smoke|cook|surf|swim|ski|dance|sing|own|wear|use|watch|read|play|work|live|"
        r"speak)(?=\W*$|[,.]| (?!(?:it|that|this|them|like|as|out|hard)\b)\w)",
    ),
    _rule(Kind.FACT, r"(?:i|we) used to (?!(?:it|that|think|be scared|worry|feel|the)\b)\w"),
    _rule(Kind.FACT, rf"{_I}{DOING} (?!{_ASIDE}\b){_LIKED}"),
    _rule(
        Kind.FACT,
        rf"(?:my|our) (?:(?:biggest|main|ultimate|long-term|lifelong|big|other|current|new) )*{_AIM}"
        rf"(?: (?:this|next) year)?(?: is|'s| are|s are) (?!{_MOOD}\b){_LIKED}",
    ),
    _rule(
        Kind.FACT,
        rf"{_I}(?:want to|wanna|hope to|plan to|aim to|intend to) {WISHED} (?!(?:sure|part of|like)\b){_DONE}",
    ),
    _rule(Kind.FACT, rf"{_IM}{UNDER_WAY} (?!{_UNSAID}\b){_DONE}"),
    _rule(
        Kind.FACT,
        rf"(?:{_IVE}(?:lately |recently )?)?been (?:busy )?{LATELY} "
        rf"(?!{_IDLE}\b){_DONE}",
    ),
    _rule(
        Kind.FACT,
        rf"{_IVE}never (?!{_UNTRIED}\b)\w+ {_DONE}",
    ),
    _rule(
        Kind.FACT,
        rf"(?:my|our) (?:\w+ )?{_MADE}"
        rf"(?: is|'s) (?:all )?(?:about|called|on|titled|based (?:on|in)) {_DONE}",
    ),
    _rule(
        Kind.FACT,
        rf"{_IM}(?:lucky|blessed|grateful|thankful|fortunate|happy|glad) to have (?:an?|my|two|three) (?:\w+ "
        rf"){{0,3}}?{OWNED}\b",
        outright=False,
    ),
    _rule(
        Kind.FACT,
        rf"(?:(?!{_UNNAMED}\b)"
        rf"\w{{3,20}}ing|{_PASTIME}|"
        r"\w{3,12}ball)(?: [\w'&,]+){0,6}? (?:(?:always|really|also|just|totally) )*(?:(?:helps?|calms?|relaxes|"
        r"brings?|gives?|keeps?) me|"
        r"makes? me (?:(?:so|really|very) )?(?:happy|feel|calm|relaxed|anxious|nervous|sick))\b(?! (?:through (?:it|"
        r"this|that)|going|do)\b)",
    ),
    _rule(
        Kind.FACT,
        rf"(?:my|our) (?:\w+ )?{RELATION}s?(?: (?-i:[A-Z][a-z]+))? "
        rf"(?:(?:really|also|just|always|both|all|absolutely) )*(?:{_OF_KIN}|(?:is|"
        rf"are|was|were) (?:an? (?:\w+ )?{CALLING}|{STATE}|allergic to|from|\d{{1,3}} years? old))\b"
        rf"(?! (?:{_POINTER}|the (?:idea|way)))",
    ),
    _rule(
        Kind.FACT,
        rf"my (?:[\w',]+ ){{1,6}}?(?:is|are) my (?:(?:biggest|greatest|main|top|whole|number one) )*{_STAY}\b",
    ),
    _rule(
        Kind.FACT,
        rf"(?:my|our) (?:\w+ )?(?:{RELATION}s?|family|fam|friends) (?:(?:always|really|also) )*(?:motivates?|"
        r"inspires?|supports?|keeps?|encourages?) me\b",
    ),
    _rule(
        Kind.FACT,
        rf"(?:{_IM}|{_IVE}been )(?:an? (?:\w+ )?)?(?:part|member) of (?:an?|my|the|our) (?!(?:team effort|journey|"
        r"difference|process|problem)\b)\w",
    ),
    _rule(
        Kind.LEARNING,
        r"(?:i|i've|i have|we've|we have|we) (?:(?:also|recently|just|really) )*(?:learned|learnt|realized|realised|"
        r"discovered|found)(?: out)? that "
        r"(?!(?:the hard way|it|that|this|these|they|those|he|she|there)\b)[\w\"']",
    ),
)

_DECISIONS = (
    _rule(
        Kind.DECISION,
        rf"{_DID}(?:decided|resolved|opted|made up my mind|chosen|chose|agreed) (?:to|on|against|that|for|not to|"
        rf"it's time to) (?!disagree){_THING}",
    ),
    _rule(Kind.DECISION, rf"(?:we|i)(?:'re| are|'m| am) going with (?!the flow){_THING}"),
)

_EVENTS = (
    _rule(
        Kind.EVENT,
        r"(?:(?:i'?m|i am|we're|we are) getting|(?:i|we) (?:just |recently |finally )?got) "
        r"(?:married|divorced|engaged)\b",
        together=True,
    ),
    _rule(Kind.EVENT, r"(?:i|we) (?:just |recently |finally )?moved to (?-i:[A-Z])", together=True),
    _rule(
        Kind.EVENT,
        r"(?:i|we)(?:'ll| will) (?:always remember|never forget) (?!(?:it|that|this|them|those|these|how|what|"
        r"you)\b)[\w\"']",
    ),
    _rule(
        Kind.EVENT,
        rf"(?:{_I}(?:have|got)|i've got|we've got) (?:an?|my|another|the) (?:[\w'-]+ ){{1,7}}?"
        rf"(?:coming up|tomorrow|tonight|(?:next|this|on) (?:week\w*|month|year|{DAY}|{SEASON}|{MONTH}))\b",
    ),
    _rule(
        Kind.EVENT,
        rf"{_DID}(?:moved|relocated|emigrated|immigrated) (?:to|from|into|in with|out of|back to|away from) "
        rf"(?!on\b){_THING}",
    ),
    _rule(Kind.EVENT, rf"{_DID}{TURNED}\b(?! (?:it|that|this|them|so|more|really|back|through|over)\b)"),
    _rule(Kind.EVENT, rf"(?:{_DID})?{HAPPENED} (?!{_NOTHING}\b){_DONE}"),
)

RULES = (*_RECURRING, *_WHO_THEY_ARE, *_HEALTH, *_LIKES, *_LIFE, *_DECISIONS, *_EVENTS)
"""In the order in which they are tried."""
