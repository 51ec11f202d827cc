"""Pleasantries: words that are said about everything, and so tell little of what a talk was about."""

import re
from functools import cache

from recollect.text.tokenizer import tokenize

_GREETINGS = """
absolutely afternoon ah aha alright amazing aw awesome aww awww beautiful brilliant btw bye cheers congrats
congratulations cool definitely evening exactly excellent fab fantastic fine fyi good goodbye gorgeous gosh gotcha
great ha haha hahaha hello hey hi hiya hm hmm hour huh image impressive incredible indeed lol lovely minute morning nah
nice night nope oh ok okay omg ooh pardon perfect photo pic picture please pm right second sorry stunning super sure
sweet terrific thank thx tonight totally uh um welcome whoa wonderful wow yay yeah yep yes yup
"""
_SMALL_TALK = """
able actually ago agree almost already always anybody anymore anyone anything anywhere apparently appreciate ask
available aware away back bad based basically became become believe best bet better big bit bright brighter bring
brought busy call care certain challenging check clear come completely connected considering contagious couple crazy
crucial curious current cute decent determined different difficult easy either else enjoy enough entire especially
essential even ever every everybody everyone everything everywhere excited experienced extra extremely fair familiar
far fave favorite favourite feel felt final find follow forward found fun funny gave general generous get give given
glad go goes gone gonna got gotta gotten grab grateful guess guy happen happy hear heard hectic help hold honest huge
humbling ideal imagine important including insane instead interested keen keep kept kind kinda knew know known large
last later learn least leave less lets like little look lot lucky made main make many matter maybe mean meaningful
meant memorable mention mind moment motivated much need nervous never new next nobody none nothing nowadays obvious
often one ordinary others overall particular past per perhaps popular positive pretty previous probably proper proud
put quick quite rather ready real really recent refreshing related remarkable remember rewarding rough sad said
satisfying saw say scary see seem seen send serious several share show similar simple since single small somebody
somehow someone something sometime somewhere soon sort sound special spend spent start stay still stop strong stuck
suggest supposed swamped take taken talk tell tend terrible thing think tho though thought three till today together
told tomorrow took top tough tricky tried true truly two understand unfortunately unique unless upon use user usual
various via wait wanna want warm watch well went whatever whenever wherever whether whole wild willing wise wish within
without worry worth wrong yesterday yet younger
"""
_VAGUE_WORDS = """
add alone along another anyways area around aspect balance beyond blast blown cause chance change comfort common
content continue cos count create cuz day deal dear decide decision deserve despite details early effect effort
encourage end energy ensure example experience explain express face fact fast fear figure fill first focus force form
free fresh full future gain gift goal grow growth half hang hard hit hopes however hug idea impact inspiration issue
item journey joy key lack late left level life list live loads long lost manage memories mine mix month mood move mtg
natural near number old open option otherwise overcome part path peace people person piece place plan plus point
possibility power present process progress push quality question rad realise realize reason recommend relax reminder
result rid risk scene sense set shame short side sit situation smile somewhat speak spoke spot spread state step
stories strength stress struggle stuff success suit support surprise tackle thrill time tips truth turn type vibe way
week weekend whatnot word work world year
"""
_FOREIGN_WORDS = """
aan aber algo ante auch auf aus aux avec bei bij bis ces cette che chi com comme como cuando dans das dass dat dei del
della dem der des desde deze dich dir dit doch donde dos een ein einem einen einer ela ele ella elle ellos entre est
esta esto está euch eux foi für gli haben hasta het hij hoe há ich ihm ihn ihr isso ist jij já kan kann las les leur
los lui maar mais mein meu mia mich mij minha mio mir mis mit moi mucho muito muy más même möchte naar nach nas nel
nella nicht niet noch nog nos nous nur não nós oder ons ook où para pas pela pelo perché pero più por porque quando que
qui quien schon sehr sem ses seu sich sie sind sobre sono sont sta sua sul suo sur sus são también também tem toi très
uit uma una und une uno você vom von voor vor vous waar wat weil wel wenn wie wij wir wird wordt zich zij zijn zum zur
à ça é él était être über а бы был было в вам вас во вот все вы да для до его ее если есть еще же за и из или им их к
как ко когда кто ли мне мы на не нет но ну о об он она они оно от по при с со так там то тоже только ты у уже что чтобы
это я
"""
"""Words that hold sentences of other languages together, but for those that tell something in English."""

_CALENDAR_WORDS = """
apr april aug august dec december feb february fri friday jan january jul july jun june mar march mon monday nov
november oct october sat saturday sep sept september sun sunday thu thur thursday tue tuesday wed wednesday
"""


@cache
def pleasantry_terms() -> frozenset[str]:
    """The terms of words that are said whatever the talk is about."""
    return frozenset(tokenize(" ".join((_GREETINGS, _SMALL_TALK, _FOREIGN_WORDS))))


@cache
def calendar_terms() -> frozenset[str]:
    """The terms of days and months, which are written like names."""
    return frozenset(tokenize(_CALENDAR_WORDS))


@cache
def vague_terms() -> frozenset[str]:
    """The terms of words that tell something only together with others."""
    return frozenset(tokenize(_VAGUE_WORDS))


JOINING_LETTERS = re.compile(
    "[\u3041-\u309f的了是我你他她它们在有和就不也都要吗呢吧啊这那个很会能着过到与及对把被让给但而或]"
)
"""Letters that hold Chinese and Japanese sentences together; a pair with one of these is seldom a word."""
