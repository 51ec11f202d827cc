"""Words of subjects: what makes a statement less than certain, what there may be several of, and what a thing is."""


def word_set(text: str) -> frozenset[str]:
    """The words of a table that is written as running text; an underscore stands for a blank."""
    return frozenset(word.replace("_", " ") for word in text.split())


DOUBTFUL_WORDS = word_set("""
    also too none nobody nothing neither nor hardly barely rarely seldom maybe perhaps probably possibly might
    may could would should will shall seems apparently likely allegedly supposedly think thinks believe believes guess
    hope hopes said says told heard if unless when whenever while because and or but & and/or either both sometimes
    usually often mostly partly occasionally generally typically was were been had did used going about around almost
    nearly roughly approximately other another except than who which where whose what how why soon
    tomorrow next last yesterday today tonight formerly previously temporarily so only ago once since though
    although whether there plus then instead besides even yet meanwhile according supposed
""")
"""Words that make a statement less than certain, bind it to a moment, or make it more than one."""

POINTER_WORDS = word_set("""
    he she it they we you this that these those there here everyone everybody someone somebody anyone people one ones
    him them us me himself herself itself themselves mine yours ours theirs something anything everything everywhere
    another others same such
""")
"""Words that mean something else each time."""

NEVER_NAME_STARTS = POINTER_WORDS | word_set("""
    the a an my our your his her their its all some most many few two three several i today in on at from since after
    with for as to of by during no any each every user please note remember never always when if does do is are was
""")
"""What no name begins with, though a sentence may."""

UNIQUE_RELATIONS = word_set("""
    wife husband spouse partner mother father mom mum dad boss manager employer fiancé fiancée fiance fiancee landlord
    girlfriend boyfriend
""")
"""Of these a person has one at a time; of sisters, friends and dogs there may be several."""

UNIQUE_POSSESSIONS = UNIQUE_RELATIONS | word_set("company team firm startup department school university household")
"""What somebody has one of, so that something of it is one as well: my company's name."""

REPEATABLE_RELATIONS = word_set("""
    sister brother friend colleague cousin child son daughter dog cat pet aunt uncle neighbor neighbour coworker kid
    baby horse rabbit bird fish parrot hamster boy girl man woman person teacher roommate flatmate housemate grandson
    granddaughter grandchild nephew niece sibling twin stepson stepdaughter stepbrother stepsister grandmother
    grandfather grandma grandpa ex client customer student patient employee guest puppy kitten guy lady
    classmate teammate mate buddy godson goddaughter intern tenant nurse contractor candidate
""")
"""Of these a person may have several, so that two are no contradiction."""

EVENT_NOUNS = word_set("""
    meeting call appointment flight train bus ferry taxi ride trip dinner lunch breakfast brunch drink class lesson
    course lecture party exam test quiz visit interview surgery operation session talk concert show game match race
    event ceremony delivery parcel package reservation ticket hotel holiday vacation date movie film funeral demo
    presentation workshop webinar conference checkup check-up treatment shift walk swim hike workout invoice receipt
    payment purchase outage incident email mail message letter gift present book article song photo picture ship boat
    plane cab offer quote order booking run
""")
"""Of these there is one after the other, so that one is certain only if more is said of it."""

TIMETABLED_NOUNS = word_set("bus train tram ferry metro shuttle coach subway")
"""Of these there are several a day, wherever they go."""

CONTEXT_NOUNS = word_set("""
    answer result question example problem issue point thing idea rest sum total difference number value reason aim goal
    plan solution option alternative choice case matter fact truth first second third fourth other latter former one
    name way step word text line part page section chapter paragraph side end start beginning top bottom figure count
    score winner loser guess estimate amount quantity condition exception rule catch trick bug error cause fix
    suggestion request topic subject title note comment code id link job task item release deploy deployment build file
    room table seat bill fee fine key function method field column button
    device machine box shop store restaurant place house car person man woman kid boy girl guy doctor nurse
""")
"""Of these each conversation has its own; one is certain only if any word says which, or whose."""

BINDING_PREPOSITIONS = word_set("of with for in on at between from to under near behind above below over against per")

UNIQUE_ADJECTIVES = word_set("favourite favorite preferred default current primary official go-to best-loved")
"""Of what is so called there is one at a time."""

WEEKDAY_WORDS = word_set("monday tuesday wednesday thursday friday saturday sunday")
MONTH_WORDS = word_set("""
    january february march april june july august september october november december jan feb mar apr jun jul aug sep
    sept oct nov dec
""")

COUNTRIES = word_set("""
    afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan bahrain bangladesh belarus
    belgium belize benin bhutan bolivia bosnia botswana brazil brunei bulgaria burundi cambodia cameroon canada chad
    chile china colombia congo croatia cuba cyprus czechia denmark ecuador egypt england eritrea estonia eswatini
    ethiopia europe fiji finland france gabon gambia georgia germany ghana greece guatemala guinea guyana haiti honduras
    hungary iceland india indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya korea kosovo
    kuwait kyrgyzstan laos latvia lebanon lesotho liberia libya liechtenstein lithuania madagascar malawi malaysia
    maldives mali malta mauritania mauritius mexico moldova mongolia montenegro morocco mozambique myanmar namibia nepal
    netherlands the_netherlands new_zealand nicaragua niger nigeria north_macedonia norway oman pakistan panama paraguay
    peru the_philippines philippines poland portugal qatar romania russia rwanda samoa saudi_arabia scotland senegal
    serbia singapore_city slovakia slovenia somalia south_africa south_korea spain sri_lanka sudan suriname sweden
    switzerland syria taiwan tajikistan tanzania thailand togo tonga tunisia turkey türkiye turkmenistan uganda ukraine
    united_kingdom the_united_kingdom uk the_uk united_states the_united_states us the_us usa the_usa uruguay uzbekistan
    vanuatu venezuela vietnam wales yemen zambia zimbabwe africa asia america south_america
""")
"""Who lives in one of these lives in a town of it as well, so that the two are no contradiction."""

STATE_WORDS = word_set("""
    closed open broken late gone good bad great nice expensive cheap near far new old unavailable available busy unknown
    missing important very too quite in at on from with by to of for like similar better worse best here there hard easy
    fun safe private public secret full empty down up back being getting becoming tight close wrong right correct fine
    okay ok true high low large small big long short fast slow more less one some any not just led run owned managed
    used made done set based located part still already under over out off ready due about what how nowhere pretty
    rather really kind sort a_bit pending blocked paid unpaid
""")
"""What something is besides what it is: its value goes on holding."""

JOB_GRADES = word_set("""
    junior senior mid-level midlevel associate assistant trainee deputy principal resident attending
    part-time full-time permanent
""")
JOB_TITLES = word_set("""
    engineer developer designer analyst manager director consultant architect programmer administrator accountant
    researcher scientist technician intern coordinator specialist recruiter salesperson buyer clerk secretary lawyer
    editor copywriter cashier barista chef cook waiter nurse physician surgeon lecturer professor librarian
    tester doctor animator
""")
"""What somebody is one of at a time, at one employer."""
