"""The words that the made-up memories are made of."""

PAIRS = (
    ("Ana", "Bruno"),
    ("Ingrid", "Tariq"),
    ("Noor", "Felix"),
    ("Petra", "Samuel"),
    ("Yuki", "Dario"),
    ("Leila", "Otto"),
    ("Marta", "Kwame"),
    ("Freya", "Diego"),
)
"""Two people who talk with each other."""

PEOPLE = (
    *("Agnes", "Bilal", "Carla", "Dmitri", "Elif", "Fabio", "Greta", "Hamid", "Irina", "Jonas", "Katja", "Lorenzo"),
    *("Mireille", "Nadia", "Oskar", "Pilar", "Quentin", "Rosa", "Stefan", "Tamara", "Ulrich", "Vera", "Wim", "Zofia"),
)

PLACES = (
    *("Ghent", "Porto", "Trieste", "Bergen", "Valencia", "Krakow", "Tallinn", "Bologna", "Graz", "Aarhus", "Split"),
    *("Galway", "Lyon", "Utrecht", "Basel", "Malmo", "Sintra", "Zadar", "Leipzig", "Bilbao", "Riga", "Verona"),
    *("Gdansk", "Nantes", "Cork", "Turku", "Maribor", "Salzburg", "Antwerp", "Cadiz", "Bristol", "Freiburg"),
)

FAMILIES = (
    ("mandolin", "zither", "accordion", "banjo", "clarinet", "marimba", "oboe", "ukulele", "cello", "trombone"),
    ("pergola", "trellis", "greenhouse", "sundial", "birdbath", "compost bin", "hedge", "rockery", "gazebo", "pond"),
    ("kayak", "wetsuit", "surfboard", "canoe", "dinghy", "snorkel", "paddle", "life jacket", "raft", "windsurfer"),
    ("typewriter", "gramophone", "barometer", "telescope", "metronome", "sextant", "camera", "lantern", "globe"),
    ("armchair", "bookcase", "wardrobe", "sideboard", "footstool", "hammock", "dresser", "chandelier", "bench"),
    ("tandem", "scooter", "moped", "caravan", "trailer", "unicycle", "van", "motorbike", "sledge", "tractor"),
    ("samovar", "teapot", "casserole", "wok", "juicer", "toaster", "kettle", "waffle iron", "coffee grinder"),
    ("quilt", "tapestry", "cardigan", "scarf", "tablecloth", "cushion", "rug", "curtain", "apron", "blanket"),
)
"""Things of one sort: near each other in meaning, and no word in common."""

CHORES = (
    "the dentist moved my appointment again",
    "the tram stood still for an hour",
    "the lift was out of order",
    "I had to sign for a parcel of the neighbours",
    "the bank wanted yet another form",
    "my phone ran out of battery",
    "the bakery had nothing left",
    "I forgot my keys at the office",
    "the plumber came two hours late",
    "I queued at the post office for ages",
    "the supermarket was closed for stocktaking",
    "my umbrella turned inside out",
)

FATES = (
    (
        "{who} borrowed the {thing} and brought it back with a scratch",
        "What did {who} do with {name}'s {thing}?",
        "What did they do with my {thing}, I wonder?",
    ),
    (
        "the {thing} went to {place} in the boot of {who}'s car",
        "Where in {place} did {name}'s {thing} go?",
        "Where in town did my {thing} go?",
    ),
    (
        "{who} offered me two hundred for the {thing}",
        "How much did {who} offer {name} for the {thing}?",
        "How much would you offer for my {thing}?",
    ),
    (
        "the {thing} got wet in the cellar and {who} is drying it",
        "What happened to {name}'s {thing} in the cellar?",
        "What happened to my {thing} on the stairs?",
    ),
    (
        "the {thing} won a prize at the fair in {place}",
        "Which prize did {name}'s {thing} win in {place}?",
        "Which prize would my {thing} win?",
    ),
    (
        "the {thing} is with a restorer in {place} until spring",
        "Until when is {name}'s {thing} in {place}?",
        "Until when may my {thing} stay?",
    ),
)
"""What happened to a thing, said somewhere in a long turn; how it is asked for; and what is said of a like thing."""

MENTIONS = (
    "I keep thinking about that {thing} in the window.",
    "The {thing} would be nice to have, one day.",
    "Do you remember the {thing} of my aunt?",
    "My cousin has the most beautiful {thing}.",
    "I had to move the {thing} again, it is always in the way.",
    "The {thing} needs cleaning, I suppose.",
    "What happened to that {thing} you used to have?",
    "Somebody should really take the {thing} to be repaired.",
    "I saw just the right {thing} at the flea market.",
)
"""Turns about a thing that answer nothing."""

PARAPHRASES = (
    (
        "We adopted a kitten from the shelter, and she sleeps on my keyboard.",
        "Which pet does {name} own?",
        "People who own two houses and rent out neither, that is a pet hate of mine.",
    ),
    (
        "The physician told me to stop eating so much salt because of my blood pressure.",
        "What did the doctor advise {name}?",
        "I would advise against that series, the doctor in it is a bore.",
    ),
    (
        "I handed in my notice at the bank, from May on I shall bake bread for a living.",
        "Which career change is {name} making?",
        "The bus driver could not give me change, that is making me late every week.",
    ),
    (
        "My little boy lost his first tooth at nursery.",
        "What happened to {name}'s son?",
        "You will not guess what happened: the singer sang his encore to the son of the mayor.",
    ),
    (
        "We got engaged on the ferry, he had hidden the ring in a thermos flask.",
        "Who proposed marriage to {name} and how?",
        "The committee proposed to move the meeting, nobody knows how or who.",
    ),
    (
        "I sprained my ankle on the stairs, so no jogging until the swelling is gone.",
        "Which injury keeps {name} from running?",
        "The tap keeps running in the guest bathroom.",
    ),
    (
        "The landlord is throwing us out, we must leave the apartment by autumn.",
        "Why does {name} need a new home?",
        "You need a new password for the home page, no idea why.",
    ),
    (
        "Rain poured into the tent all night and our sleeping bags were soaked.",
        "How was the weather when {name} went camping?",
        "The party will be camping on that decision for weeks, whatever the weather.",
    ),
    (
        "I owe my brother four thousand, and the interest is killing me.",
        "How much debt does {name} have?",
        "Much of the film is about a debt of honour, how dull.",
    ),
    (
        "Our automobile broke down on the motorway and had to be towed.",
        "What trouble did {name} have with the car?",
        "No trouble at all, I can have the car park ticket stamped.",
    ),
    (
        "I passed the bar exam, so I may represent clients in court from now on.",
        "Which profession has {name} qualified for?",
        "The team has qualified for the final, says my neighbour who made betting his profession.",
    ),
    (
        "Peanuts make my throat swell up, I always carry an adrenaline pen.",
        "Which allergy does {name} have?",
        "Which number does the tram have? I have an allergy to timetables.",
    ),
    (
        "My grandmother passed away on Sunday, the funeral is in her village.",
        "Who died in {name}'s family?",
        "The phone died in the middle of the family photo.",
    ),
    (
        "Twins! The midwife heard two heartbeats.",
        "What did {name} learn about the pregnancy?",
        "Did you learn about the pregnancy of that queen at school too?",
    ),
    (
        "I swim forty lengths before breakfast, otherwise I am grumpy all day.",
        "Which sport does {name} do in the morning?",
        "Do be a good sport and take the morning shift.",
    ),
    (
        "I gave up meat and fish last year, lentils are my staple now.",
        "What diet is {name} on?",
        "They were on a diet of bad news, says the columnist.",
    ),
    (
        "The burglars took the silver and my laptop while we were at the opera.",
        "What was stolen from {name}?",
        "He has stolen the show, that clown from the circus.",
    ),
    (
        "I am scared of spiders, I cannot even enter the attic.",
        "What is {name}'s phobia?",
        "The crossword wanted a phobia with nine letters.",
    ),
    (
        "She speaks Portuguese with the children and I speak Danish with them.",
        "Which languages are used in {name}'s household?",
        "They used the household budget for that, the figures speak volumes.",
    ),
    (
        "My manager promised me a bigger salary from January.",
        "Which raise will {name} receive from the boss?",
        "The boss of the choir will raise the curtain and receive the guests.",
    ),
    (
        "We sold the cottage and the money went into a sailing boat.",
        "What did {name} spend the proceeds of the house on?",
        "On the house, he said, and I did spend the evening there.",
    ),
    (
        "The professor rejected my thesis, I have to rewrite two chapters.",
        "How did {name}'s dissertation go at university?",
        "How did it go with the university choir?",
    ),
    (
        "I cannot sleep, most nights I lie awake until four.",
        "Which symptom of insomnia does {name} describe?",
        "That novel does describe the symptom of a whole age.",
    ),
    (
        "The orchestra took me as second violinist.",
        "What musical position did {name} get?",
        "Get into position, the musical chairs begin!",
    ),
)
"""What is said, how it is asked for in other words, and a turn that has the question's words and says nothing of it."""

WORKPLACES = ("bakery", "cinema", "petrol station", "library", "hotel", "call centre", "florist", "museum", "zoo")
PROFESSIONS = ("midwife", "surveyor", "pilot", "translator", "judge", "beekeeper", "welder", "chemist", "tailor")
DESSERTS = ("tiramisu", "baklava", "rice pudding", "apple strudel", "panna cotta", "lemon sorbet", "carrot cake")
BIRDS = ("kingfisher", "heron", "wren", "puffin", "stork", "goldfinch", "osprey", "swift", "nuthatch")
SUBJECTS = ("chemistry", "geography", "Latin", "algebra", "needlework", "physics", "religion", "gymnastics")
VEGETABLES = ("celery", "beetroot", "fennel", "okra", "kale", "parsnip", "aubergine", "radish", "artichoke")
COLLECTED = ("postcard", "stamp", "map", "coin", "bottle", "button", "ticket", "record", "thimble")

CLAIMS = (
    ("The first job I ever had was at a {0}.", "What was {name}'s first job?", WORKPLACES),
    ("I grew up in {0}, right behind the station.", "Where did {name} grow up?", PLACES),
    ("The instrument I am learning to play is the {0}.", "Which instrument is {name} learning to play?", FAMILIES[0]),
    ("My sister earns her money as a {0}.", "How does {name}'s sister earn money?", PROFESSIONS),
    (
        "For my birthday I wish for the {0} in the shop window.",
        "What does {name} wish for on the birthday?",
        FAMILIES[3],
    ),
    ("My favourite dessert is {0}.", "What is {name}'s favourite dessert?", DESSERTS),
    ("My favourite bird is the {0}.", "What is {name}'s favourite bird?", BIRDS),
    ("The subject I hated most at school was {0}.", "Which subject did {name} hate at school?", SUBJECTS),
    ("I spend my holidays in {0} every summer.", "Where does {name} spend the summer holidays?", PLACES),
    ("The vegetable I refuse to eat is {0}.", "Which vegetable does {name} refuse to eat?", VEGETABLES),
    ("I collect old {0}s.", "What does {name} collect?", COLLECTED),
    ("My train to work goes through {0}.", "Which place does {name}'s train to work go through?", PLACES),
)
"""What both people say of themselves, each in their own way; the question names one of them."""

OTHERS = ("My brother says: {claim}", "My neighbour told me: {claim}", "As my grandfather used to say: {claim}")
CALLING = (
    "Well, {name}, what can I say. {claim}",
    "{name}, you will laugh: {claim}",
    "Funny that you mention it, {name}. {claim}",
    "I told you before, {name}: {claim}",
)

MOTIFS = (
    *("a lighthouse", "an old mill", "two goats", "the viaduct", "a bowl of plums", "my mother", "the quarry"),
    *("a stormy sea", "the chapel", "a heap of chairs", "birches in fog", "the fish market"),
)
DISHES = (
    *("moussaka", "goulash", "paella", "dumplings", "mushroom risotto", "lentil soup", "shakshuka", "ravioli"),
    *("fish curry", "stuffed peppers", "onion tart", "pumpkin stew"),
)
MATTERS = (
    *("glaciers", "the silk trade", "deep sea cables", "honey bees", "medieval guilds", "volcanoes", "salt mines"),
    *("tulip mania", "polar explorers", "the invention of zero", "windmills", "migrating cranes"),
)

DEEDS = (
    ("Today I painted {0} and did not stop before dark.", "What did {name} paint {when}?", MOTIFS),
    ("I cooked {0} for everybody tonight.", "What did {name} cook {when}?", DISHES),
    ("I just finished reading a book about {0}.", "Which book did {name} finish reading {when}?", MATTERS),
    ("I am back from a day trip to {0}, my feet hurt.", "Where did {name} go on a day trip {when}?", PLACES),
    ("I gave a talk about {0} this morning.", "Which talk did {name} give {when}?", MATTERS),
    ("We had visitors today, {0} and the children.", "Which visitors did {name} have {when}?", PEOPLE),
)
"""What one does again and again; the question names a time."""

EXCHANGES = (
    ("Where did you put the {thing} in the end?", "Next to the {spot}.", "Where did {name} put the {thing}?"),
    ("Who looks after the {thing} while you are away?", "{who}, as always.", "Who looks after {name}'s {thing}?"),
    ("How much did they want for the {thing}?", "{number}, believe it or not.", "How much was {name}'s {thing}?"),
    ("Which colour did you choose for the {thing}?", "{colour}, of course.", "Which colour is {name}'s {thing}?"),
    ("When do you collect the {thing}?", "{weekday}, after work.", "When does {name} collect the {thing}?"),
    ("Did you find out who broke the {thing}?", "Yes, {who} confessed.", "Who broke {name}'s {thing}?"),
    ("Is the {thing} still at your uncle's?", "No, in {place} since Easter.", "In which town is {name}'s {thing}?"),
    ("And what did you get for the {thing}?", "{number} and a cake.", "What did {name} get for the {thing}?"),
)
"""A question, a short answer that means nothing without it, and what is asked later."""

SPOTS = ("harbour", "chimney", "back door", "cherry tree", "washing machine", "piano", "south wall", "letter box")
NUMBERS = ("Forty", "Sixty", "A hundred and ten", "Two hundred", "Three fifty", "Eighty-five", "Nine hundred")
COLOURS = ("Turquoise", "Mustard yellow", "Dark green", "Plum", "Off-white", "Brick red", "Navy blue", "Apricot")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

OUTINGS = (
    *("sailing trip", "pottery workshop", "cave tour", "cheese tasting", "balloon ride", "night hike", "chess contest"),
    *("truffle hunt", "glider flight", "puppet show", "cider festival", "bell ringing class", "mosaic course"),
    *(
        "harvest supper",
        "regatta",
        "lantern parade",
        "folk dance evening",
        "fossil walk",
        "moonlight swim",
        "poetry slam",
    ),
)
TALES = (
    (
        "A {outing} with {who} it was, near {place}: rain until noon, then sunshine, a borrowed guitar, cold soup, "
        "forty strangers singing, and the {outing} ended with wet socks on the last bus."
    ),
    (
        "{who} invited me to a {outing} in {place}; two hours late, the wrong shoes, mustard on my best coat, a speech "
        "in dialect, and yet what a {outing}, we danced between parked lorries."
    ),
    (
        "My {outing} in {place} began badly, no tickets, no umbrella, a stolen map; then {who} saved the {outing} with "
        "dry matches, plum brandy, patience and a very long ladder."
    ),
    (
        "The {outing} near {place} was {who}'s idea, we missed three trains, slept beside a barn, paid twice for "
        "breakfast, and as a {outing} it was worth the bruises, even the lost hat."
    ),
)
ECHOES = (
    "Wow, a {outing}!",
    "A {outing}, really?",
    "Oh, the {outing}, what fun!",
    "A {outing}? Never heard of such a thing!",
    "Ha, that {outing} again!",
    "Ah yes, the {outing}, you said so.",
    "The {outing}, sure, why not.",
    "So a {outing}, of all things, well well.",
    "Still laughing about the {outing}, honestly.",
    "That {outing} sounds like you, I must say.",
)
"""They have the words and say nothing."""

EVENTS = (
    *("wedding", "christening", "auction", "marathon", "carnival", "school reunion", "housewarming", "conference"),
    *("funeral", "street party", "premiere", "charity dinner"),
)
OPENINGS = (
    "So the {event} is over, you must be tired.",
    "I want to hear all about the {event}.",
    "Half of the town talks about the {event}.",
    "You looked splendid at the {event}, I am told.",
)
SCENERY = (
    "Everything in {place} was closed, I suppose.",
    "They say that it never stops raining in {place}.",
    "The hotels in {place} are a scandal, everybody knows that.",
    "I envy you, I have never been to {place}.",
)
COMPANY = (
    "I hear that {friend} came along.",
    "At least {friend} was there to keep you company.",
    "They put you into one room with {friend}, poor you.",
    "I know from {friend} that the journey was long.",
)
REMARKS = (
    (
        "In the end it was {who} who gave the speech.",
        "Who gave the speech at {name}'s {event} with {friend} in {place}?",
    ),
    (
        "Guess what, {who} fell into the fountain.",
        "Who fell into the fountain at {name}'s {event} with {friend} in {place}?",
    ),
    ("Of all people, {who} paid the bill.", "Who paid the bill at {name}'s {event} with {friend} in {place}?"),
    ("The cake was made by {who}, by the way.", "Who made the cake for {name}'s {event} with {friend} in {place}?"),
    ("I sat beside {who} the whole time.", "Whom did {name} sit beside at the {event} with {friend} in {place}?"),
    ("The photos will come from {who}.", "Who has the photos of {name}'s {event} with {friend} in {place}?"),
)
"""What is said later in a call that began with an event, a place and a friend, and again in other such calls."""

ASIDES = (
    "Hold on, the kettle.",
    "There, back again.",
    "Sorry, somebody rang.",
    "Where was I?",
    "One moment, please.",
    "Right, go on.",
    "Can you hear me now?",
    "Better, yes.",
)

SMALL_TALK = (
    "How are you these days?",
    "Not too bad, only tired.",
    "Did you see the news?",
    "I have to run, talk soon!",
    "That sounds wonderful.",
    "Same here, to be honest.",
    "Let us have coffee one of these days.",
    "Sorry, I was on the phone.",
    "What a week this has been.",
    "Send my love to everybody.",
    "You always say that.",
    "I could use a holiday.",
)

PROJECTS = (
    *("rooftop garden", "tram museum", "choir festival", "bakery website", "harbour mural", "school library"),
    *("bicycle workshop", "village theatre", "cookery book", "climbing hall", "podcast studio", "orchard survey"),
)
PARTS = (
    *("budget", "deadline", "contact person", "opening date", "supplier", "venue", "insurance limit", "team size"),
    *("ticket price", "delivery slot", "storage place", "sponsor"),
)
TASKS = (
    ("order the timber", "buy the wood"),
    ("print the leaflets", "make copies of the flyer"),
    ("call the architect", "phone the building designer"),
    ("sand the floor", "smooth the parquet"),
    ("check the wiring", "inspect the electric cables"),
    ("write the invitation", "compose the letter to the guests"),
    ("book the choir", "engage the singers"),
    ("measure the windows", "find out how wide the glass panes are"),
    ("clean the gutters", "remove leaves from the drainpipe"),
    ("scan the old plans", "digitise the blueprints"),
    ("hire a crane", "rent lifting equipment"),
    ("test the microphones", "try out the sound equipment"),
    ("draw the site map", "sketch the layout of the grounds"),
    ("translate the captions", "put the subtitles into another language"),
    ("label the shelves", "put name tags on the racks"),
    ("collect the permits", "pick up the official licences"),
    ("plant the seedlings", "put the young plants into the soil"),
    ("tune the piano", "adjust the keyboard instrument"),
    ("paint the railing", "give the banister a new colour"),
    ("repair the pump", "fix the water machine"),
    ("rent the chairs", "borrow seats"),
    ("edit the interviews", "cut the recorded conversations"),
    ("photograph the facade", "take pictures of the front of the house"),
    ("weigh the apples", "put the fruit on the scales"),
    ("varnish the doors", "lacquer the entrances"),
    ("pack the costumes", "put the clothes of the actors into boxes"),
    ("bind the pages", "turn the sheets into a book"),
    ("install the lockers", "put up the cabinets"),
    ("water the saplings", "sprinkle the young trees"),
    ("pick the fonts", "choose the typeface"),
)
"""What is to be done, and the same in other words."""

AMOUNTS = ("1,200 euros", "2,750 euros", "480 euros", "9,300 euros", "640 euros", "15,000 euros", "3,900 euros")
STANDINGS = ("agreed", "planned", "official", "final")
"""How a figure is first stated and later asked for; whoever changes it does not say so."""

RULES = (
    "{who} wants {matter} on paper, signed in blue ink",
    "{who} wants {matter} by mail, in one single file",
    "{who} wants {matter} before noon, without any logo",
    "{who} wants {matter} in French, with large letters",
    "{who} wants {matter} by courier, never by fax",
    "{who} wants {matter} read aloud, twice if need be",
)
PAPERS = (
    *("invoices", "drawings", "contracts", "minutes", "quotes", "reports", "press texts", "floor plans", "schedules"),
    *("receipts", "photos", "sketches", "questionnaires", "menus"),
)

FACTS = (
    ("I always fly from {place}.", "Which airport do I fly from?", "the airport in {place}, flights from {place}"),
    ("My train leaves from {place} at seven.", "Where does my train leave from?", "the train, the station in {place}"),
    ("I am allergic to {food}.", "What am I allergic to?", "{food}, an allergy, being allergic to {food}"),
    ("My landlady is called {who}.", "What is my landlady called?", "the landlady, a letter to {who}, your landlady"),
    ("I keep my savings in {paper}.", "What do I keep my savings in?", "savings, {paper}, keeping savings in {paper}"),
    ("My dog is a {dog}.", "Which breed is my dog?", "the dog, the breed, a {dog}, dogs of your breed"),
    ("I drive a {colour} van.", "What colour is the van I drive?", "the van, the colour, driving a {colour} van"),
    (
        "My daughter plays the {thing}.",
        "What does my daughter play?",
        "your daughter, the {thing}, playing the {thing}",
    ),
    ("I moved here from {place}.", "Where did I move here from?", "the move from {place}, moving here, {place}"),
    ("My boss is called {who}.", "What is my boss called?", "the boss, a talk with {who}, your boss {who}"),
    ("I take my coffee with {milk}.", "How do I take my coffee?", "coffee, {milk}, taking coffee with {milk}"),
    ("My wife teaches {subject}.", "What does my wife teach?", "your wife, teaching {subject}, {subject}"),
    ("I live on the {floor} floor.", "Which floor do I live on?", "the {floor} floor, living on the {floor} floor"),
    ("My gym is in {place} Street.", "Which street is my gym in?", "the gym, {place} Street, a gym in {place} Street"),
    ("I bake bread every {weekday}.", "On which day do I bake bread?", "bread, baking on {weekday}, baking bread"),
    ("My car insurance ends in {month}.", "When does my car insurance end?", "the car insurance, {month}, its end"),
    ("I studied {subject} in {place}.", "What did I study?", "your studies, {subject} in {place}, studying {subject}"),
    ("My brother lives in {place}.", "Where does my brother live?", "your brother, living in {place}, {place}"),
)
"""What a user says in passing, how they ask for it later, and what an assistant's reply goes on about."""

FOODS = ("hazelnuts", "shellfish", "strawberries", "sesame", "mustard", "lupins", "penicillin", "latex")
PAPER = ("bonds", "gold coins", "a savings account", "index funds", "a biscuit tin", "Swiss francs")
DOGS = ("dachshund", "whippet", "spaniel", "poodle", "corgi", "terrier", "collie", "greyhound")
MILK = ("oat milk", "two sugars", "cinnamon", "condensed milk", "a pinch of salt", "whipped cream")
FLOORS = ("second", "third", "fourth", "fifth", "sixth", "seventh", "top")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November"),
    "December",
)

REQUESTS = (
    "Can you help me to plan the week?",
    "What should I pay attention to?",
    "Please make a list of what to do first.",
    "Is there anything that I have overlooked?",
    "How would you go about it?",
    "Give me three suggestions, please.",
)
ADVICE = (
    "When it comes to {x}, the first thing to look at is how much time you really have.",
    "Many people underestimate {x} and only notice it when the week is nearly over.",
    "You may want to write down everything about {x} in one place, so that nothing gets lost.",
    "As for {x}, a short list is better than a long one that nobody reads.",
    "It also helps to talk about {x} with somebody who has been through the same.",
    "Keep in mind that {x} can change from one month to the next, so check it again later.",
    "If {x} turns out to be more difficult than expected, take a step back and start with the smallest part.",
    "A good rule of thumb for {x} is to plan half of the time and to leave the other half free.",
    "Some would put {x} first, others would leave it for the weekend; both can work.",
    "With {x}, costs are usually the smaller problem, and habits are the larger one.",
    "I would also compare two or three options for {x} before you decide on anything.",
    "Once {x} is settled, the rest of the plan becomes much easier.",
    "Do not forget that {x} depends on the season as well.",
    "Let me know which part of {x} matters most to you, and I can go into more detail.",
    "To sum up: start with {x}, keep notes, and look at them again after a week.",
    "There are good checklists for {x} that you can adapt to your own situation.",
)
"""What a reply says of whatever it is about."""

BUILDINGS = ("boat shed", "tram depot", "mill", "ferry", "observatory", "brewery", "stable", "quarry", "lighthouse")
FIGURES = ("storage capacity", "ceiling height", "door width", "fire risk class", "rental price", "load limit")
EPITHETS = ("official", "planned", "usual", "exact")
"""What a figure is called at first and when it is asked for."""
SLIPS = (
    "No, wait: the {figure} of the {place} is {value}.",
    "I misread that, the {figure} of the {place} is {value}.",
    "Correction: the {figure} of the {place} is {value}.",
    "Or rather, the {figure} of the {place} is {value}.",
)
"""How a figure is put right that was stated just before."""

READINGS = (
    ("The {side} valve of the {place} holds {value} bar.", "How much does the {side} valve of the {place} hold?"),
    (
        "The telephone number of the {side} office of the {place} is {value}.",
        "What is the telephone number of the {side} office of the {place}?",
    ),
    (
        "The {side} fuse of the {place} is one of {value} amperes.",
        "How many amperes has the {side} fuse of the {place}?",
    ),
)
"""What is read off one of two like parts, and how it is asked for."""

SIDES = (("left", "right"), ("upper", "lower"), ("front", "back"), ("inner", "outer"))

SPELLINGS = (
    *(("yoghurt", "yogurt"), ("sabre", "saber"), ("armour", "armor"), ("ochre", "ocher"), ("aluminium", "aluminum")),
    *(("catalogue", "catalog"), ("whisky", "whiskey"), ("omelette", "omelet"), ("axe", "ax"), ("sulphur", "sulfur")),
    *(("fibre", "fiber"), ("tyres", "tires"), ("doughnuts", "donuts"), ("pyjamas", "pajamas")),
)
"""Things as one writes them who has them, and as another does who asks for them."""

ALLUSIONS = (
    "On the radio they talk about {0} and {1} for an hour.",
    "The crossword has {0} and {1} in it.",
    "The teacher wrote {0} and {1} on the blackboard.",
    "There are pictures of {0} and {1} on the wall.",
    "The choir sings of {0} and {1}.",
    "Somebody in that novel dreams of {0} and {1}.",
)
"""Notes that have the words and tell nothing of the things."""

INCIDENTS = (
    "The plumber sealed both taps.",
    "Pilar sold her canoe.",
    "The goat ate our lettuce.",
    "Roof tiles arrived from Ghent.",
    "Wim broke a violin string.",
    "Blue paint for the shutters.",
    "Zofia passed her chemistry exam.",
    "A heron sat by the pond.",
    "New brakes for the moped.",
    "Two jars of plum jam.",
    "Rust on the garden gate.",
    "The beekeeper brought honey.",
    "Irina baked rye bread.",
    "Cracked tile behind the stove.",
    "Moths in the wool cupboard.",
    "Bilal tuned the accordion.",
    "Frost killed the tomato plants.",
    "A fuse blew in the cellar.",
    "Katja sprained her ankle.",
    "Lentil soup with Greta.",
)
"""What is noted on a day: no word of it is in a question that names a time, and it is not near one."""

REVERIES = (
    "What happened, happened, as my uncle says.",
    "What did we do to deserve such a week?",
    "A month has weeks, a week has days, and what do they have?",
    "We did what we could do, last but not least.",
    "Years and months go by, and what was going on, nobody knows.",
    "Nothing ever happens on a day like this.",
    "In those months something was always going on.",
    "What we do on days off is nobody's business.",
)
"""What has the words of such a question, and happened at another time."""

NEWS = (
    ("What happened in {month}?", "month"),
    ("What did we do in {month} {year}?", "month"),
    ("Was there anything on {day} {month}?", "day"),
    ("What was going on on {month} {day}?", "day"),
)
"""Questions that name a time and nothing else, and whether they mean the month or the day."""

LATELY = (
    ("What happened yesterday?", 1),
    ("What did we do last week?", None),
    ("Anything two days ago?", 2),
    ("What was going on last week?", None),
)
"""The same, asked so many days later; or in the next week."""

TRAITS = (
    ("sister", "works as a {0}", "What does {name}'s sister work as?", PROFESSIONS),
    ("favourite dessert", "is {0}", "What is {name}'s favourite dessert?", DESSERTS),
    ("favourite bird", "is the {0}", "What is {name}'s favourite bird?", BIRDS),
    ("worst subject", "was {0}", "What was {name}'s worst subject?", SUBJECTS),
    ("brother", "lives in {0}", "Where does {name}'s brother live?", PLACES),
    ("first job", "was at a {0}", "What was {name}'s first job?", WORKPLACES),
    ("cousin", "collects {0}s", "What does {name}'s cousin collect?", COLLECTED),
    ("vegetable of choice", "is {0}", "What is {name}'s vegetable of choice?", VEGETABLES),
    ("instrument", "is the {0}", "What is {name}'s instrument?", FAMILIES[0]),
)
"""Of what, what is said or noted of it, and how it is asked for."""

TELLING = (
    "Between you and me, my {0}, as I must have told you.",
    "Since you insist, my {0}, and that is all I am going to say.",
    "I keep forgetting it myself, but my {0}.",
)
DODGES = ("I will tell you about my {0} some other time.", "My {0}, do not ask me.")
"""How one tells it of oneself, and how one does not."""
