"""Vocabulary: what is known of single words, whatever sentence they stand in."""

from recollect.text.canonical_tokens import Token, TokenKind


def split_words(text: str) -> list[str]:
    """The words of a table that is written as running text."""
    return text.split()


_NEGATIONS = "not no never none nobody nothing nowhere neither nor without hardly barely scarcely rarely seldom cannot"
_QUANTITIES = """
all some most many few several only every each any both half more less fewer least enough always usually often
sometimes everyone everybody someone somebody anyone everything something
"""
_MODALS = "must may might should shall can could would will ought"
_WORDS_BY_KIND: tuple[tuple[TokenKind, str], ...] = (
    ("negation", _NEGATIONS),
    ("quantity", _QUANTITIES),
    ("modality", _MODALS),
)
WORD_KINDS: dict[str, TokenKind] = {word: sort for sort, words in _WORDS_BY_KIND for word in words.split()}


def classify_word(word: str) -> TokenKind:
    """What the word is by itself, if it is more than a word."""
    return WORD_KINDS.get(word, "word")


AUXILIARIES = frozenset(
    split_words("""
    is are was were be been am has have had do does did can could will would shall should may might must need ought ca
    wo isn aren
    """)
)
VERB_FORMS = {"are": "is", "am": "am", "has": "have", "does": "do", "goes": "go"} | {
    f"{verb}s": verb
    for verb in split_words("""
    prefer like love hate want need live work use own know think believe eat drink drive play speak read write study
    teach travel run walk ride wear cook buy sell pay cost take make get give keep hold say tell mean include contain
    require allow support start end open close begin finish avoid enjoy dislike favor choose manage lead report belong
    depend expire weigh sleep wake arrive leave stay meet call visit attend plan hope expect suffer smoke vote practice
    collect sing dance paint swim train commute fly move host maintain deploy ship run build store return send receive
    accept reject fail pass handle process trigger remain become seem feel look sound happen occur
    """)
}
for _irregular in ("teaches:teach", "flies:fly", "studies:study", "passes:pass", "processes:process", "watches:watch"):
    VERB_FORMS[_irregular.split(":")[0]] = _irregular.split(":")[1]

FUNCTION_WORDS = frozenset(
    split_words("""
    i me my mine we us our ours you your yours he him his she her hers it its they them their theirs who whom whose what
    which this that these those a an the and or but if so as at by for from in into of off on onto out over to up with
    without about after before between during since until till while when where why how because although though unless
    is are was were be been am has have had do does did can could would should shall must might not no never none all
    some most many few several only every each any both more less there here then also please note remember just really
    actually every under through against among per via than either neither nor yes let hi hey today tomorrow yesterday
    however
    """)
)
"""Words that begin a sentence with a capital and mean no name; in capitals, or inside a sentence, they may be one."""

FUNCTION_WORDS_AS_TITLES = frozenset(
    split_words("it us who her him she he they me them you yes what why here there up an a so no do can am in on any")
)
"""Of these, the ones that are also a name or a title inside a sentence."""

NAME_HOMOGRAPHS = frozenset(
    split_words("""
    polish march may will bill mark rose china turkey apple amazon nice job august mobile jersey chad jack grace hope
    faith joy dawn iris lily pat rob sue don dick art drew frank gene grant guy jean lance max miles nick pierce
    ray rich rusty sandy ward wade victor violet summer daisy ruby amber crystal pearl ginger olive basil robin jay colt
    ford fox shell target gap visa oracle swift go rust dart elm slack teams meet word excel access windows office
    notion linear stripe square zoom box signal chrome edge safari opera spring flask express react mercury mars earth
    cancer lent reading bath cork sandwich bologna ham hamburg bond case chase chance chip cliff dale dean earl eve ace
    angel carol cash christian cole cooper dot ernest fern forest gage hank hazel heather holly hunter ivy jade june
    april king kit lane lee mason melody mike mine myrtle noble norm page paris penny peg piper poppy porter
    pound price prince queen randy reed rod roman rory sage scarlet sky stew rock sunny times trip trinity wolf worth
    young bishop baker brown black white green gray grey gold silver stone wood woods rivers brook brooks field hill
    church day knight bell cook carter fisher gardener miller smith taylor turner walker potter rice wise short small
    long strong love sharp page best west north south east us uk
    arrow bamboo beam blender bronco buffalo bun catholic chef circle coke conservative corona dane democrat discord
    economist ember finn flint fortune guardian helm hive hull jaguar jordan liberal meta mirror mustang nature neon
    ninja orange pandas phoenix pole puma puppet republican rocket rugby salt scot segment sentry sketch snowflake spark
    split steam storm subway sun swede twitch unity vault vogue yarn
    """)
)
"""Words that are another one with a capital."""

ACRONYM_HOMOGRAPHS = frozenset(
    split_words("""
    ACE ACID ADD AIDS ANT ART BASE CAD CAT CO CRUD DARE DB DRY ED ER GAP GAS GEM GIN ID IT LAB LAN LED MAC MAD MAP MS
    NET NICE OS PA PET PIN RAM REST ROM SAD SCAN SIM SMART SOAP SOLID STEM SWAT US WEB WHO
    """)
)
"""What is another word in small letters."""

CASE_SENSITIVE_NOUNS = frozenset(
    split_words("""
    argument argv attribute branch bucket class column columns command constant enum env field file filename files flag
    flags folder function gene glob handle header hint identifier index key keyword login macro method module namespace
    option package parameter passphrase password path property queue regex schema sku string switch symbol table tag
    token topic type types username value variable variables
    """)
)
"""In a sentence with one of these the case of a word may tell it from another."""

REPORTING_VERBS = frozenset(
    split_words("""
    say says said tell tells told mention mentions mentioned state states stated note notes noted think thinks thought
    believe believes believed know knows knew confirm confirms confirmed report reports reported hear heard promise
    promised hope hopes hoped claim claims claimed explain explained decide decided agree agreed announce announced
    learn learned plan plans planned want wants wanted ask asks asked remember remembers remembered see sees saw find
    found expect expects expected suggest suggests suggested propose proposed notice noticed feel feels felt
    """)
)

MONTHS = split_words("january february march april may june july august september october november december")
WEEKDAYS = split_words("monday tuesday wednesday thursday friday saturday sunday")
CLOCK_WORDS = {"noon": "12:00", "midday": "12:00", "midnight": "00:00"}
SHORT_WEEKDAYS = {
    **dict.fromkeys(("tue", "tues"), "tuesday"),
    "wed": "wednesday",
    **dict.fromkeys(("thu", "thur", "thurs"), "thursday"),
    "fri": "friday",
}
"""Not those that are other words as well."""

RECURRING_TIMES = frozenset(
    {f"{day}s" for day in WEEKDAYS} | {"weekends", "weekdays", "mornings", "evenings", "nights"}
)


def singularize(token: Token) -> str:
    """The noun of several as one of them; not of a name, which may end in an s for ever."""
    word = token.key
    if token.text != token.text.lower() or len(word) < 4 or word in RECURRING_TIMES or not word.isalpha():
        return word
    if word.endswith(("ss", "us", "is", "as", "os")) or not word.endswith("s"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes", "zzes")) else word[:-1]
