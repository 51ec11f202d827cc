"""Synonyms: words and spellings that can always be exchanged, and the one that stands for them."""

import re
from collections.abc import Sequence

from recollect.text.canonical_tokens import Token, matches_phrase
from recollect.text.lexicon import WEEKDAYS, classify_word, split_words


def to_american(word: str) -> str:
    """The word in American spelling."""
    if word in AMERICAN_SPELLINGS:
        return AMERICAN_SPELLINGS[word]
    if len(word) > _MAX_UNCHANGED_CHARS and ("is" in word or "ys" in word) and (found := _ISE_WORD.fullmatch(word)):
        return f"{found[1]}{found[2].replace('s', 'z', 1)}"
    return word


_MAX_UNCHANGED_CHARS = 5
_ISE_WORD = re.compile(r"([a-z]+[iy])(se|sed|ses|sing|ser|sers|sation|sations)")
AMERICAN_SPELLINGS = {
    british: american
    for pair in split_words("""
    colour:color colours:colors coloured:colored favourite:favorite favourites:favorites favour:favor favours:favors
    favoured:favored behaviour:behavior behaviours:behaviors neighbour:neighbor neighbours:neighbors honour:honor
    labour:labor harbour:harbor flavour:flavor flavours:flavors humour:humor rumour:rumor odour:odor vapour:vapor
    armour:armor tumour:tumor neighbourhood:neighborhood centre:center centres:centers centred:centered
    theatre:theater theatres:theaters litre:liter metre:meter fibre:fiber calibre:caliber defence:defense
    offence:offense licence:license licences:licenses pretence:pretense grey:gray programme:program
    programmes:programs catalogue:catalog catalogues:catalogs dialogue:dialog analogue:analog tyre:tire tyres:tires
    aluminium:aluminum jewellery:jewelry travelling:traveling travelled:traveled traveller:traveler
    travellers:travelers cancelled:canceled cancelling:canceling modelling:modeling modelled:modeled
    labelled:labeled labelling:labeling fuelled:fueled counsellor:counselor enrolment:enrollment fulfil:fulfill
    fulfils:fulfills skilful:skillful instalment:installment practise:practice practises:practices mould:mold
    plough:plow sceptical:skeptical cosy:cozy pyjamas:pajamas moustache:mustache mum:mom mums:moms maths:math
    ageing:aging judgement:judgment acknowledgement:acknowledgment storey:story artefact:artifact
    artefacts:artifacts anaemia:anemia paediatric:pediatric paediatrician:pediatrician gynaecologist:gynecologist
    oestrogen:estrogen diarrhoea:diarrhea leukaemia:leukemia haemoglobin:hemoglobin orthopaedic:orthopedic
    learnt:learned spelt:spelled burnt:burned dreamt:dreamed whilst:while amongst:among towards:toward
    afterwards:afterward e-mail:email e-mails:emails till:until til:until per-cent:percent doughnut:donut
    yoghurt:yogurt omelette:omelet whisky:whiskey
    """)
    for british, american in [pair.split(":")]
}

CONTRACTIONS = {
    **{
        f"{verb}nt": f"{verb} not"
        for verb in split_words("do does did is are was were have has had could should would")
    },
    "can't": "can not",
    "cant": "can not",
    "cannot": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "i'm": "i am",
    "im": "i am",
    "gonna": "going to",
    "wanna": "want to",
    "y'all": "you all",
    "o'clock": "o'clock",
    "ok": "okay",
    "w/o": "without",
    "w/": "with",
}
CONTRACTION_ENDINGS = {"re": "are", "ve": "have", "ll": "will"}


def exchange_synonyms(sentence: list[Token]) -> list[Token]:
    """The sentence with one word for those that can always be exchanged; EXCHANGED says when there may be any."""
    found: list[Token] = []
    at = 0
    while at < len(sentence):
        for phrase, instead in _SYNONYM_PHRASES.get(sentence[at].key, ()):
            if matches_phrase(sentence, at, phrase) and not _is_in_name(sentence, at, len(phrase)):
                said = " ".join(token.text for token in sentence[at : at + len(phrase)])
                named = any(token.kind == "name" for token in sentence[at : at + len(phrase)])
                found += [Token(word, "name" if named else classify_word(word), said) for word in instead]
                at += len(phrase)
                break
        else:
            found.append(sentence[at])
            at += 1
    return found


def _is_in_name(sentence: Sequence[Token], at: int, length: int) -> bool:
    """Whether the words there are a name, or a part of one, in which no word can be exchanged."""
    first = sentence[at]
    if at == 0:
        after = sentence[length] if length < len(sentence) else None
        return first.key in _KIN_TITLES and first.text[:1].isupper() and after is not None and after.kind == "name"
    if first.key in _PROPER_NOUNS or first.key in _WORDS_BEFORE_DAY:
        return False
    return any(token.kind == "name" and token.text[1:].islower() for token in sentence[at : at + length])


_KIN_TITLES = frozenset(split_words("mother mommy mum father daddy"))
"""Before a name these may be a title."""

_PROPER_NOUNS = frozenset(split_words("united european postgresql k8s dr"))
"""What has a capital, and is exchanged for something that has one."""

_WORDS_BEFORE_DAY = frozenset(split_words("on every each"))

_SYNONYM_PHRASES: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
for _line in """
prefer = like better
prefers = likes better
preferred = liked better
no one = noone
nobody = no one
somebody = someone
everybody = everyone
anybody = anyone
email = email address | e-mail address | mail address
phone number = telephone number | phone no | telephone no | phone nr
phone = telephone
cell phone = mobile phone | cellphone
photo = photograph
photos = photographs
fridge = refrigerator
television = tv | TV | tele | telly
car = automobile
movie = film
movies = films
maybe = perhaps
buy = purchase
buys = purchases
bought = purchased
live = reside
lives = resides
lived = resided
almost = nearly
begin = start
begins = starts
began = started
help = assist
helps = assists
use = utilize
uses = utilizes
used = utilized
daily = every day | each day | everyday
weekly = every week | each week
monthly = every month | each month
yearly = every year | each year | annually | once a year
currently = at the moment | at present | right now | at this time | as of now
because of = due to | owing to | on account of
to = in order to | so as to
lots of = a lot of
for example = eg | for instance
etc = and so on | and so forth | et cetera
can = is able to | are able to | am able to
can not = is not able to | are not able to | am not able to | is unable to | are unable to | am unable to
is located in = is situated in
versus = vs
information = info
repository = repo
repositories = repos
configuration = config
database = db
databases = dbs
documentation = docs
kubernetes = k8s | K8s
javascript = js | JS
typescript = ts | TS
postgres = postgresql
university = uni
department = dept
children = kids
at least = no less than | no fewer than
at most = no more than
mom = mother | mommy | mum
dad = father | daddy
okay = ok | alright | all right
thank you = thanks
approximately = approx
between = in between
outside = outside of
inside = inside of
both = both of
version = ver
usa = united states | united states of america | US | U.S | USA
uk = united kingdom | UK
eu = european union | EU
doctor = dr
too = as well
two times = twice
three times = thrice
""".strip().splitlines():
    _instead, _, _ways = _line.partition("=")
    for _way in _ways.split("|"):
        _phrase = tuple(_way.split())
        _SYNONYM_PHRASES.setdefault(_phrase[0], []).append((_phrase, tuple(_instead.split())))
for _day in WEEKDAYS:
    for _every in ("every", "each"):
        _SYNONYM_PHRASES.setdefault(_every, []).append(((_every, _day), ("on", f"{_day}s")))
    _SYNONYM_PHRASES.setdefault("on", []).append((("on", "every", _day), ("on", f"{_day}s")))
for _short, _day in zip(split_words("mon tue wed thu fri sat sun"), WEEKDAYS, strict=True):
    _SYNONYM_PHRASES.setdefault("on", []).append((("on", _short), ("on", _day)))
_SYNONYM_PHRASES["on"].append((("on", "Sun"), ("on", "sunday")))  # with a small letter it is a star
for _ways_of in _SYNONYM_PHRASES.values():
    _ways_of.sort(key=lambda way: (-len(way[0]), way))

_COMMON_WORDS = frozenset(split_words("a and are as at in is of on to"))
SYNONYM_TRIGGERS = frozenset(
    max(phrase, key=lambda word: (word not in _COMMON_WORDS, len(word)))
    for ways in _SYNONYM_PHRASES.values()
    for phrase, _ in ways
)
"""Of every phrase that is exchanged its rarest word, more or less: a sentence without one of these has none."""
