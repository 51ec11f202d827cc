"""Word lists: what is known about single English words in any sentence.

In reading order: grammar and case, words that decide what a claim is about, given names (they tell a person from a
company), places, and American spelling.
"""

import re
from collections.abc import Sequence


def split_words(text: str) -> list[str]:
    """Split a table of words that is written as running text."""
    return text.split()


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
"""Words whose capital at the start of a sentence does not make them names; inside a sentence it may."""

FUNCTION_WORDS_AS_TITLES = frozenset(
    split_words("it us who her him she he they me them you yes what why here there up an a so no do can am in on any")
)
"""Function words that are also a name or a title inside a sentence."""

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
"""Words that mean something else when they have a capital."""

ACRONYM_HOMOGRAPHS = frozenset(
    split_words("""
    ACE ACID ADD AIDS ANT ART BASE CAD CAT CO CRUD DARE DB DRY ED ER GAP GAS GEM GIN ID IT LAB LAN LED MAC MAD MAP MS
    NET NICE OS PA PET PIN RAM REST ROM SAD SCAN SIM SMART SOAP SOLID STEM SWAT US WEB WHO
    """)
)
"""Acronyms that are another word in lower case."""

CASE_SENSITIVE_NOUNS = frozenset(
    split_words("""
    argument argv attribute branch bucket class column columns command constant enum env field file filename files flag
    flags folder function gene glob handle header hint identifier index key keyword login macro method module namespace
    option package parameter passphrase password path property queue regex schema sku string switch symbol table tag
    token topic type types username value variable variables
    """)
)
"""Nouns in whose sentences the case of a word may tell it from another."""

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
"""Short forms that are also other words are left out."""

RECURRING_TIMES = frozenset(
    {f"{day}s" for day in WEEKDAYS} | {"weekends", "weekdays", "mornings", "evenings", "nights"}
)


def word_set(text: str) -> frozenset[str]:
    """Split a table of words into a set; an underscore stands for a blank."""
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
"""Words that make a statement uncertain, tie it to a moment, or make it more than one statement."""

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
"""Words that no name begins with, though a sentence may."""

UNIQUE_RELATIONS = word_set("""
    wife husband spouse partner mother father mom mum dad boss manager employer fiancé fiancée fiance fiancee landlord
    girlfriend boyfriend
""")
"""People of whom a person has one at a time; of sisters, friends and dogs there may be several."""

UNIQUE_POSSESSIONS = UNIQUE_RELATIONS | word_set("company team firm startup department school university household")
"""What a person has one of, so that its properties are unique as well: my company's name."""

REPEATABLE_RELATIONS = word_set("""
    sister brother friend colleague cousin child son daughter dog cat pet aunt uncle neighbor neighbour coworker kid
    baby horse rabbit bird fish parrot hamster boy girl man woman person teacher roommate flatmate housemate grandson
    granddaughter grandchild nephew niece sibling twin stepson stepdaughter stepbrother stepsister grandmother
    grandfather grandma grandpa ex client customer student patient employee guest puppy kitten guy lady
    classmate teammate mate buddy godson goddaughter intern tenant nurse contractor candidate
""")
"""People and animals of whom a person may have several, so that two of them are no contradiction."""

EVENT_NOUNS = word_set("""
    meeting call appointment flight train bus ferry taxi ride trip dinner lunch breakfast brunch drink class lesson
    course lecture party exam test quiz visit interview surgery operation session talk concert show game match race
    event ceremony delivery parcel package reservation ticket hotel holiday vacation date movie film funeral demo
    presentation workshop webinar conference checkup check-up treatment shift walk swim hike workout invoice receipt
    payment purchase outage incident email mail message letter gift present book article song photo picture ship boat
    plane cab offer quote order booking run
""")
"""Events that follow one another, so that only a closer description identifies one."""

TIMETABLED_NOUNS = word_set("bus train tram ferry metro shuttle coach subway")
"""Things that run several times a day, wherever they go."""

CONTEXT_NOUNS = word_set("""
    answer result question example problem issue point thing idea rest sum total difference number value reason aim goal
    plan solution option alternative choice case matter fact truth first second third fourth other latter former one
    name way step word text line part page section chapter paragraph side end start beginning top bottom figure count
    score winner loser guess estimate amount quantity condition exception rule catch trick bug error cause fix
    suggestion request topic subject title note comment code id link job task item release deploy deployment build file
    room table seat bill fee fine key function method field column button
    device machine box shop store restaurant place house car person man woman kid boy girl guy doctor nurse
""")
"""Nouns that mean something else in each conversation; a word that says which, or whose, identifies one."""

BINDING_PREPOSITIONS = word_set("of with for in on at between from to under near behind above below over against per")

UNIQUE_ADJECTIVES = word_set("favourite favorite preferred default current primary official go-to best-loved")
"""Adjectives that make a thing the only one of its kind at a time."""

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
"""A person who lives in one of these also lives in one of its towns: the two are no contradiction."""

STATE_WORDS = word_set("""
    closed open broken late gone good bad great nice expensive cheap near far new old unavailable available busy unknown
    missing important very too quite in at on from with by to of for like similar better worse best here there hard easy
    fun safe private public secret full empty down up back being getting becoming tight close wrong right correct fine
    okay ok true high low large small big long short fast slow more less one some any not just led run owned managed
    used made done set based located part still already under over out off ready due about what how nowhere pretty
    rather really kind sort a_bit pending blocked paid unpaid
""")
"""Words for a state, which do not replace the value of a property."""

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
"""Jobs of which a person has one at a time at one employer."""


def is_person_name(words: Sequence[str]) -> bool:
    """Return whether the name is a person's, as far as its first word is known."""
    return words[0].lower().rstrip(".,") in _GIVEN_NAMES


_GIVEN_NAMES = word_set("""
    mr mrs ms miss dr prof professor sir lady lord señor señora herr frau madame monsieur uncle aunt mom mum dad
    aaron abby abdul abigail adam adaeze adele adrian agnes agnieszka ahmed aisha alan alba albert alberto alejandra
    alejandro alessandra alessandro alex alexander alexandra alexei alexis alfred ali alice alicia alina alison
    allison amanda amber amelia amina amir amit amy ana anastasia anders andre andrea andreas andrei andrew andy
    angel angela angelica angelo anita anja anke ann anna anne annette annie anthony antoine anton antonia antonio
    anya april arjun arthur arturo asha ashley astrid audrey aurora axel ayesha barbara barry beatrice beatriz becky
    ben benedict benjamin bernard bernd bert beth bettina betty bianca bill billy birgit björn bo bob bobby boris
    brad bradley brandon brenda brian bridget britta bruce bruno bryan camila camille carl carla carlos carmen carol
    carolina caroline cass cathy cecilia celia chad chan charles charlie charlotte chen chiara chloe chris christa
    christian christina christine christopher cindy claire clara claudia claudio clemens cleo colin connor craig
    cristina curtis cynthia dagmar daisy damien dan dana daniel daniela daniele danielle danny daphne dario dave
    david dawn dean deborah debbie denis denise dennis derek diana diane dick diego dieter dimitri dina dirk dmitri
    dominic don donald donna doris dorothy doug douglas duncan dylan ed eddie edgar edith eduardo edward edwin
    eileen elaine elena eleanor eli elias elif elisa elisabeth elise eliza elizabeth ella ellen ellie elsa elvira
    emil emilia emilio emily emma emmanuel enrique eric erica erik erika erin ernst esra esteban esther ethan eugene
    eva evan eve evelyn fabian fabio fatima federico felicia felipe felix fernanda fernando fiona florian frances
    francesca francesco francis francisco frank franz fred frederick frieda fritz gabriel gabriela gabriele gareth
    gary gavin gemma george georg georgia gerald gerard gerd gina giorgio giovanni gisela giulia giuseppe gloria
    gordon grace graham greg gregory greta guido guillermo gunther gustav hana hank hanna hannah hans harald harold
    harriet harry harvey hasan hassan heather hector heidi heike heinz helen helena helene helga henri henrik henry
    herbert hermann hilda hiroko hiroshi holger holly horst hugh hugo ian ibrahim ida ignacio igor imran ines inga
    inge ingrid irene irina iris isaac isabel isabella ivan ivana jack jackie jacob jacqueline jacques jake jakob
    james jamie jan jana jane janet janice jared jasmine jason javier jay jean jeff jeffrey jen jenna jennifer jenny
    jens jeremy jerome jerry jess jesse jessica jill jim jimmy jin jing joan joana joanna joanne joao joão jochen
    joe joel johan johanna johannes john johnny jon jonas jonathan jordan jorge jörg jose josé josef joseph josh
    joshua joy joyce juan juana judith judy jules julia julian juliana julie juliet julio julius jürgen justin
    justine kai kamal karen karim karin karl karla kate katharina katherine kathleen kathryn kathy katie katja
    katrin kavita keiko keith kelly ken kenji kenneth kerstin kevin khalid kim kirsten klara klaus kofi krishna
    kristen kristin kristina kumar kurt kwame kyle lara larissa larry lars laszlo laura lauren laurent lea leah
    leila lena leo leon leonard leonardo leonie leslie lewis li liam lidia lilian lily lina linda lindsay ling lisa
    lise liz lola lorenzo louis louise luca lucas lucia lucy luigi luis luisa lukas luke luna lydia lynn maggie
    magda magdalena mahmoud malik manfred manuel manuela mara marc marcel marcela marco marcos marcus margaret
    margarita maria maría marian mariana marie marina mario marion marisa marius mark markus marta martha martin
    martina mary masha mateo mathias mathieu matilda matt matteo matthew matthias maurice max maxim maximilian maya
    mehmet mei mel melanie melissa mercedes mia michael michaela michal michel michele michelle miguel mika mike
    mikhail mila milan milena milo mina ming miranda miriam misha mohamed mohammed moira molly mona monica monika
    morgan moritz muhammad murat mustafa nadia nadine nancy naomi natalia natalie natasha nathan nathalie neha neil
    nelson nia nicholas nick nicola nicolas nicole nigel nikita niklas nikolai nils nina noah noel nora norbert
    norman olaf oleg olga oliver olivia olivier omar orlando oscar oskar otto pablo pamela paola paolo pascal pat
    patricia patrick paul paula paulo pavel pedro peggy penny pete peter petra phil philip philipp phoebe pia pierre
    piotr priya rachel rafael rahul raj rajesh ralf ralph ramon rana randy raphael raquel rashid raul ravi ray
    raymond rebecca regina reinhard renata renate rene ricardo richard rick rita rob robert roberta roberto robin
    rocio rodrigo roger roland rolf roman ron ronald rosa rosalind rose rosie ross roxana roy ruben rudolf rupert
    russell ruth ryan sabine sabrina said sally salma sam samantha samira samuel sandra sandro sandy sanjay sara
    sarah sasha scott sean sebastian selma serena sergei sergey sergio seth shane shannon sharon shaun shawn sheila
    shirley sibylle sid sigrid silke silvia simon simona simone sina sofia sofie sonia sonja sophia sophie stacy
    stan stefan stefania stefano steffen stella stephan stephanie stephen steve steven stuart sue suleiman sunita
    susan susana susanne suzanne sven svetlana sylvia tamara tania tanja tanya tara tariq tatiana ted teresa terry
    tess theo theodor theresa thomas thorsten tim timo timothy tina tobias todd tom tomas tomasz tommy toni tony
    tracy travis trevor tristan ulf ulrich ulrike una ursula uta uwe valentina valeria valerie vanessa vera verena
    veronica vicky victor victoria vijay viktor vincent viola virginia vivian vladimir volker walter wanda warren
    wei wendy werner wilhelm will william wolfgang xavier yan yannick yara yasmin yolanda yuki yuri yusuf yves
    yvonne zach zara zoe zofia
""")

REGIONS = word_set("""
    alabama alaska arizona arkansas california colorado connecticut delaware florida hawaii idaho illinois indiana iowa
    kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana nebraska
    nevada new_hampshire new_jersey new_mexico north_carolina north_dakota ohio oklahoma oregon pennsylvania
    rhode_island south_carolina south_dakota tennessee texas utah vermont virginia washington west_virginia wisconsin
    wyoming new_england ontario alberta manitoba saskatchewan british_columbia nova_scotia new_brunswick newfoundland
    bavaria saxony hesse thuringia brandenburg baden-württemberg lower_saxony schleswig-holstein rhineland tyrol styria
    carinthia tuscany lombardy sicily sardinia umbria piedmont veneto puglia calabria catalonia andalusia galicia
    brittany normandy provence burgundy alsace corsica occitanie flanders wallonia algarve alentejo
    madeira the_azores cornwall devon kent essex sussex surrey norfolk suffolk dorset somerset yorkshire lancashire
    cumbria cheshire hampshire berkshire wiltshire oxfordshire gloucestershire hertfordshire the_cotswolds
    the_highlands northern_ireland ulster munster leinster connacht new_south_wales queensland victoria tasmania
    south_australia western_australia punjab kerala gujarat rajasthan maharashtra karnataka tamil_nadu west_bengal
    crete scania lapland jutland zealand silesia masovia bohemia moravia transylvania crimea siberia hokkaido okinawa
    the_bay_area bay_area silicon_valley the_midwest the_south
""")
"""A person who lives in one of these also lives in one of its towns."""

CITY_DISTRICTS = word_set("""
    kreuzberg neukölln mitte charlottenburg wedding friedrichshain prenzlauer_berg schöneberg moabit spandau pankow
    altona eimsbüttel ottensen schwabing sendling haidhausen ehrenfeld alfama chiado belém bairro_alto graça
    trastevere monti testaccio navigli brera montmartre belleville le_marais marais gràcia eixample el_born raval
    malasaña lavapiés chueca chamberí shoreditch hackney camden islington brixton peckham soho mayfair chelsea clapham
    greenwich notting_hill kensington battersea southwark lambeth lewisham brooklyn manhattan queens bronx the_bronx
    staten_island harlem tribeca williamsburg astoria bushwick hollywood venice_beach santa_monica the_mission
    mission_district pacific_heights capitol_hill lincoln_park wicker_park back_bay dorchester grünerløkka frogner
    majorstuen södermalm östermalm kungsholmen vasastan nørrebro vesterbro østerbro frederiksberg jordaan de_pijp
    leopoldstadt josefstadt neubau favoriten shibuya shinjuku ginza roppongi minato harajuku bandra andheri kadıköy
    beyoğlu beşiktaş leith newtown fitzroy surry_hills bondi
""")
"""A person who lives in one of these also lives in the town around it."""

CITIES = word_set("""
    aachen aarhus aberdeen abuja accra addis_ababa adelaide ahmedabad albuquerque aleppo alexandria algiers alicante
    almaty amman amsterdam anchorage ankara antalya antwerp athens atlanta auckland augsburg austin baghdad baku
    baltimore bamako bangalore bengaluru bangkok barcelona bari basel beijing beirut belfast belgrade bergen berlin bern
    bilbao birmingham bogota bogotá bologna bonn bordeaux boston braga brasilia brasília bratislava bremen bremerhaven
    brighton brisbane bristol brno brussels bucharest budapest buenos_aires buffalo cairo calgary cambridge canberra
    cape_town caracas cardiff casablanca catania charlotte chennai chicago christchurch cincinnati cleveland cluj
    coimbra cologne colombo columbus copenhagen cordoba córdoba cork coventry dakar dallas damascus dar_es_salaam
    darmstadt delhi denver detroit dhaka doha dortmund dresden dubai dublin duisburg dundee durban düsseldorf dusseldorf
    edinburgh edmonton eindhoven erfurt essen exeter faro florence frankfurt freiburg galway gdansk gdańsk geneva genoa
    ghent girona glasgow gothenburg göteborg göttingen granada graz grenoble groningen guadalajara guangzhou haifa
    halifax hamburg hanoi hanover hannover harare havana heidelberg helsinki ho_chi_minh_city hong_kong honolulu houston
    hyderabad indianapolis innsbruck istanbul izmir jaipur jeddah jena jerusalem johannesburg kampala kansas_city
    karachi karlsruhe kassel katowice kathmandu kaunas kharkiv kiel kigali kingston kinshasa klagenfurt kolkata krakow
    kraków kuala_lumpur kyiv kyoto la_paz lagos lahore las_vegas lausanne leeds leicester leipzig leiden lille limerick
    linz lisbon liverpool ljubljana london los_angeles louisville luanda lucerne luxembourg_city lviv lyon madison
    madrid mainz malaga málaga malmö managua manchester manila mannheim maputo marrakesh marseille medellín melbourne
    memphis mexico_city miami milan milwaukee minneapolis minsk montevideo montpellier montréal montreal moscow mumbai
    munich münster murcia nagoya nairobi nantes naples nashville new_delhi new_orleans new_york new_york_city newcastle
    norwich nottingham nuremberg oakland odense odesa osaka oslo ottawa oxford palermo palma panama_city paris perth
    philadelphia pittsburgh plymouth porto porto_alegre portsmouth poznan poznań prague pretoria quebec_city quito
    rabat raleigh recife reykjavik rennes riga rio_de_janeiro riyadh rome rostock rotterdam sacramento salamanca
    salt_lake_city salvador salzburg san_antonio san_diego san_francisco san_jose santiago sao_paulo são_paulo sapporo
    sarajevo seattle seoul seville shanghai sheffield shenzhen singapore skopje sofia southampton st._gallen stavanger
    stockholm strasbourg stuttgart sydney taipei tallinn tampa tampere tartu tashkent tbilisi tehran tel_aviv
    the_hague thessaloniki tirana tokyo toledo toronto toulouse trieste tripoli trondheim tucson tunis turin turku
    uppsala utrecht valencia valladolid valletta vancouver venice verona vienna vilnius warsaw wellington wiesbaden
    winnipeg wolfsburg wroclaw wrocław wuhan würzburg yerevan york zagreb zaragoza zurich zürich
""")
"""Towns: a person who moved to one lives there. Towns named like something else to move to are left out."""


def place_suffix(words: str) -> str:
    """Return the kind of a place that is not a town, in brackets; empty for everything else."""
    said = words.lower()
    if said in COUNTRIES:
        return " (country)"
    if said in REGIONS:
        return " (region)"
    return " (quarter)" if said in CITY_DISTRICTS else ""


def is_place(words: str) -> bool:
    """Return whether the words name a known place, such as "Porto" or "Porto, Portugal"."""
    town, _, beyond = (part.strip() for part in words.lower().partition(","))
    return (town in CITIES and (not beyond or place_suffix(beyond) != "")) or (not beyond and place_suffix(town) != "")


def to_american(word: str) -> str:
    """Return the word in American spelling."""
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
