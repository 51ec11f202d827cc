"""What a text is about: tables of statements with one value at a time, of updates, and of what is about nothing."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from recollect.evaluation.duplicates import shipped_pairs
from recollect.model.enums import Provenance
from recollect.model.memory import Memory
from recollect.testing.builders import a_memory
from recollect.text.updates.claims import (
    MAX_SUBJECT_CHARS,
    UNNAMED_USER,
    are_compatible,
    distinguishing_context,
    find_subject,
    first_person_name,
    normalize_subject,
)
from recollect.text.updates.statement import DATA
from tests.tables import table

TRUE_TOGETHER = Path(__file__).parent / "true_together.txt"
PART_AND_WHOLE = {
    "My mother lives in Lazio | My mother lives in Rome",
    "Ana works at Alphabet | Ana works at Google",
    "I work at Charité | I work at Humboldt University",
}

ABOUT = [
    ("Ana lives in Berlin", None, "ana: lives in"),
    ("ana lives in Berlin", None, None),  # a word like any other, without its capital
    ("Ana currently lives in Berlin.", None, "ana: lives in"),
    ("Ana resides in Berlin", None, "ana: lives in"),
    ("Ana lives in Germany", None, "ana: lives in (country)"),
    ("I live in Berlin", "Ana", "ana: lives in"),
    ("I live in Berlin", None, "user: lives in"),
    ("The user lives in Berlin", None, "user: lives in"),
    ("User works at Acme", None, "user: works at"),
    ("Ana works for Acme Labs", None, "ana: works at"),
    ("Ana is employed by Acme", None, "ana: works at"),
    ("Ana works at Acme as a nurse", None, "ana: works at"),
    ("Ana works for Bob", None, "ana: works for"),
    ("Ana works for Dr Hansen", None, "ana: works for"),
    ("Ana moved to Porto", None, "ana: lives in"),
    ("Ana has just moved from Rome to Porto, Portugal", None, "ana: lives in"),
    ("I've moved to Madrid", None, "user: lives in"),
    ("I relocated to Portugal last week", "Ana", "ana: lives in (country)"),
    ("Ana lives in Texas", None, "ana: lives in (region)"),
    ("Ana lives in Brooklyn", None, "ana: lives in (quarter)"),
    ("Ana no longer lives in Rome", None, "ana: lives in"),
    ("The port is not 5432", None, "port: is"),
    ("The project switched from MySQL to Postgres", None, "project: whether use mysql"),
    ("Ana has a dog", None, "ana: have # dog"),
    ("Ana has no dogs", None, "ana: have # dog"),
    ("Ana has the dog", None, "ana: whether have the dog"),
    ("Ana has one kid", None, "ana: have # children"),
    ("The deploy takes 20 minutes", None, "deploy: take #time"),
    ("Ana is married to Bob", None, "ana: is married to"),
    ("Ana is 34 years old", None, "ana: is old"),
    ("I am 34 years old", "Ana", "ana: is old"),
    ("I'm 34 years old", "Ana", "ana: is old"),
    ("My favourite colour is blue", "Ana", "ana: favorite color"),
    ("My favorite color is blue", "Ana", "ana: favorite color"),
    ("My favourite colour is blue", None, "user: favorite color"),
    ("Ana's favourite colour is blue", None, "ana: favorite color"),
    ("User's email is ana@example.org", None, "user: email"),
    ("The user's email address is ana@example.org", None, "user: email"),
    ("My wife's email is eva@example.org", "Bob", "bob wife: email"),
    ("Ana's phone number is 555-1234", None, "ana: phone number"),
    ("The meeting with Bob is at 10:00", None, "meeting with bob: is at"),
    ("The meeting with Bob is at 10am.", None, "meeting with bob: is at"),
    ("The meeting with Bob is on 5 March 2026", None, "meeting with bob: is on"),
    ("The meeting with Bob is on Monday at 10:00", None, "meeting with bob: is at weekday"),
    ("The deadline of project Yew is 2026-03-05", None, "project yew: deadline"),
    ("The owner of repo A is Ana", None, "repository A: owner"),
    ("The database port is 5432", None, "database port: is"),
    ("The database port is 5432", "Zoe", "database port (zoe): is"),
    ("Please note that the database port is 5432", None, "database port: is"),
    ("The default branch is main", None, "default branch: is"),
    ("The project is called Falcon", None, "project: is named"),
    ("The emergency contact is Hiroko Sato", None, "emergency contact: is"),
    ("Deadline of project Yew: 2026-03-05", None, "project yew: deadline"),
    ("The deadline of project Yew is Friday", None, "project yew: deadline (weekday)"),
    ("The rent is 900 euros a month", None, "rent (eur per month): is"),
    ("User's country is Argentina", None, "user: country"),
    ("The destination is Italy", None, "destination (country): is"),
    ("MAX_UPLOADS = 5", None, "MAX_UPLOADS: ="),
    ("Ana's manager is Bob", None, "ana: manager"),
    ("Ana's wife lives in Oslo", None, "ana wife: lives in"),
    ("Ana has 3 cats", None, "ana: have # cat"),
    ("The service runs on Python 3.11", None, "service: run on python #"),
    ("Ana prefers tea over coffee", None, "ana: prefers coffee or tea"),
    ("Ana is not vegetarian", None, "ana: whether be vegetarian"),
    ("Ana likes tea", "Zoe", "ana (zoe): whether feel about tea"),
    ("PR 482 was merged", None, "pr 482: is open or closed"),
]

ABOUT_NOTHING = [
    "Ana's sister lives in Rome",
    "Ana lived in Rome",
    "Ana will live in Rome",
    "Ana may live in Rome",
    "Ana does not live in a small flat",
    "Ana moved to the back row",
    "Ana moved to a new desk",
    "Ana moved to Slack",
    "Ana moved to Sales last week",
    "Ana moved to Porto in 2012",
    "Ana moved to Porto ten years ago",
    "Ana moved to Porto last year",
    "Ana moved to Porto for two months",
    "Ana moved to Porto Street",
    "Ana moved closer to Porto",
    "Ana moved from Porto to Sales in May 2012",
    "Ana never moved to Porto",
    "Ana has not moved to Porto",
    "Ana hasn't moved to Porto",
    "Ana almost moved to Porto",
    "Ana had moved to Porto",
    "The project migrated to Postgres",
    "The project switched from MySQL to Postgres for analytics",
    "The project switched from Python 3.11 to Python 3.12",
    "The project never switched from MySQL to Postgres",
    "The project uses Zoom instead of Slack for calls",
    "The project uses MySQL Cluster instead of MySQL",
    "Ana does not have two dogs",
    "The deploy takes place",
    "The deploy takes 5 steps",
    "The project switched from MySQL to MySQL Cluster",
    "Ana prefers neither tea over coffee",
    "Ana does not prefer tea over coffee",
    "Does Ana live in Rome?",
    "If Ana lives in Rome, she is happy",
    "Maybe Ana lives in Rome",
    "I think Ana lives in Rome",
    "Bob said Ana lives in Rome",
    "Ana lives in Rome and Oslo",
    "Ana also lives in Rome",
    "Ana lives in Rome. Bob lives in Oslo.",
    "Ana lives in a small flat",
    "Ana lives in Rome in summer",
    "She lives in Rome",
    "Everyone lives in Rome",
    "Ana has been to Rome",
    "Ana visited Rome",
    "Ana bought a car",
    "Ana ran 8 km on Sunday",
    "Ana has 2 meetings on Monday",
    "Ana is on call in week 14",
    "Ana's favourite colours are blue and red",
    "Ana's dog is called Rex",
    "Ana's friend is Bob",
    "My daughter's name is Mia",
    "My cat's name is Tom",
    "The user's daughter's birthday is 9 May",
    "User's son is 4 years old",
    "My brother is not married",
    "My flight is at 10:00",
    "The train leaves at 7:12",
    "The answer is 42",
    "The name is Bo",
    "A meeting with Bob is at 10:00",
    "The meetings with Bob are at 10:00",
    "The meeting with Bob is on Mondays at 10:00",
    "The meeting with Bob was at 10:00",
    "Known bug: crash on empty file",
    "Port: 80",
    "The port: 80",
    "Interest Rate: 22%",
    "Deadline: Friday",
    "Bake for 20 minutes",
    "Wait 5 minutes",
    "Set it to 5",
    "Keep it under 5 MB",
    "Bus 42 leaves at 9:05",
    "Bus 42 is at 9:05",
    "The choir meets on Monday",
    "The weekly meeting with Bob is on Monday",
    "The meeting about pay is on Monday",
    "My insulin is at 8am",
    "The service listens on port 80",
    "Ana has 20 euros",
    "Ana takes 5 mg a day",
    "I pay 10 euros",
    "Ana was called by Bob",
    "Ana would not go",
    "Ana isn't never late",
    "Guests may not bring dogs",
    "",
    "...",
    "Ana",
    "is",
    "My",
    "Ana's",
    "The",
    "=",
    "no",
    "never",
    "can not",
]

UPDATES = """
User has 2 cats | User has three cats
The team has 11 engineers | The team has 12 engineers
User's flat is on the 4th floor | User's flat is on the 14th floor
The shard count is sixteen | The shard count is thirty-two
Retry failed jobs 3 times | Retry failed jobs 5 times
Pull requests need one approval | Pull requests need two approvals
Backups are kept for 30 days | Backups are kept for 30 weeks
The cache TTL is 60 s | The cache TTL is 60 ms
The garden is 400 square feet | The garden is 500 square feet
The subscription costs $12 a month | The subscription costs $15 a month
User sleeps 6 hours a night | User sleeps 8 hours a night
User takes 10 mg of lisinopril | User takes 20 mg of lisinopril
The recipe needs 200 g of flour | The recipe needs 250 g of flour
The app targets Android 14 | The app targets Android 15
Pin numpy to 1.26 | Pin numpy to 2.1
The API contract is at revision C | The API contract is at revision D
User's car is parked on level P2 | User's car is parked on level P3
User's visa expires on 3 May 2026 | User's visa expires on 3 June 2026
The rent contract ends in March | The rent contract ends in May
Sprint 18 ends on 12 Nov | Sprint 18 ends on 19 Nov
The keynote was moved to Thursday 8 May | The keynote is on Friday 9 May
The exam in maths is on Monday | The exam in maths is on Friday
The call with Seoul is at 8 am | The call with Seoul is at 8 pm
User goes to bed at 10 pm | User goes to bed at midnight
User's dentist is Dr Hansen | User's dentist is Dr. Jansen
The project lead is Adaeze Obi | The project lead is Adaora Obi
Our payment provider is Stripe | Our payment provider is Adyen
The emergency contact is Hiroko Sato | The emergency contact is Hiroto Sato
The staging server is called heron | The staging server is called egret
User goes by Alex | User goes by Sasha
The spare key is in the drawer | The spare key is in the letterbox
The config file is in /etc/falcon | The config file is in /opt/falcon
The offsite takes place in Porto | The offsite takes place in Split
I live in Rome | User lives in Oslo
I live on Elm Street | I live on Oak Street
User was born in Birmingham, England | User was born in Birmingham, Alabama
The company was founded in 1998 | The company was founded in 1989
User drinks coffee | User doesn't drink coffee
User is allergic to penicillin | User is no longer allergic to penicillin
User has a driving licence | User has no driving licence
User can swim | User can't swim
The API supports pagination | The API does not support pagination
Kaveh is a member of the club | Kaveh isn't a member of the club anymore
Ola is available in the mornings | Ola is unavailable in the mornings
Deploy on Fridays | Never deploy on Fridays
User is not married | User is married
I love horror films | I can't stand horror films
The feature flag new_checkout is on | The feature flag new_checkout is off
The invoice to Globex is unpaid | The invoice to Globex has been paid
The dishwasher is broken | The dishwasher works again
User is paid weekly | User is paid monthly
User prefers tabs over spaces | User prefers spaces over tabs
User prefers window seats | User prefers aisle seats
User wants long, detailed answers | User wants short answers
User wants answers in French | User wants answers in Italian
User prefers meetings before lunch | User prefers meetings after lunch
Kenji is a backend engineer at Acme | Kenji is now an engineering manager at Acme
User is a junior analyst | User is a senior analyst
User's country is Argentina | User's country is Armenia
My home country is Peru | My home country is Chile
Ana's mother tongue is French | Ana's mother tongue is Basque
Ana's nationality is French | Ana's nationality is Dutch
The destination is Rome | The destination is Oslo
Ana's city is Rome | Ana's city is Oslo
The price is 20 EUR | The price is 25 euros
The timeout is 30 s | The timeout is 2 min
Ana's salary is 5000 EUR a month | Ana's salary is 6000 EUR per month
Limit uploads to 5 MB | Limit uploads to 10 MB
Invoice 12 is overdue | Invoice 12 has been paid
Ana is divorced | Ana is married
The milestone is unfinished | The milestone is done
User prefers dark mode | User prefers light mode
I have a key | I do not have a key
MAX_UPLOADS = 5 | MAX_UPLOADS=50
I work at Initech as a tester | I work at Globex now
I work at Initech | I work for Globex
Ana is employed by Acme | Ana works at Hooli
Ana works at Acme as an analyst | Ana works at Acme as a manager
Ana works for Bob | Ana works for Maria
Ana works at Acme as a nurse | Ana no longer works at Acme
I live in Berlin | I moved to Madrid last week
I live in Berlin | I've moved to Madrid
I live in Berlin | I just moved to Madrid
User lives in Oslo | User has relocated to Bergen last month
Ana lives in Lisbon | Ana moved from Lisbon to Porto
Ana lives in Lisbon | Ana moved to Porto in March
Ana lives in Lisbon | Ana moved to Porto two weeks ago
Ana lives in Lisbon | Ana moved to Porto, Portugal
Ana moved to Porto | Ana moved to Faro
My wife lives in Rome | My wife moved to Milan yesterday
We live in Leeds | We moved to York last month
Ana lives in Texas | Ana moved to California
Ana lives in Lisbon | Ana no longer lives in Lisbon
I live in Berlin | I don't live in Berlin anymore
Ana no longer lives in Lisbon | Ana has moved to Lisbon
Ana reports to Bob | Ana no longer reports to Bob
The port is 5432 | The port is not 5432
User's dentist is Dr Hansen | User's dentist is no longer Dr Hansen
The deploy takes 20 minutes | The deploy takes 5 minutes
The build takes 12 minutes | The build takes 90 seconds now
Ana has a dog | Ana has two dogs
Ana has one kid | Ana has three children
Ana has two dogs | Ana has no dogs
Ana has siblings | Ana has no siblings
User doesn't have a car | User has a car
I have a car | I no longer have a car
User can't stand cilantro | User loves cilantro
User dislikes olives | User enjoys olives
User is single | User is married
The server web1 is up | The server web1 is offline
The project uses MySQL | The project migrated from MySQL to Postgres
The project uses MySQL | The project now uses Postgres instead of MySQL
The project switched from MySQL to Postgres | The project uses MySQL
We use Slack | We switched from Slack to Teams
Our team uses Jira | Our team moved from Jira to Linear last week
"""
"""The second ends the first."""

LOOK_ALIKES = """
several: Ana likes tea | Ana likes coffee
several: Ana knows Bob | Ana doesn't know Eva
several: Ana speaks French | Ana speaks German
several: Ana is allergic to nuts | Ana is not allergic to milk
several: Ana has a cat | Ana has a dog
several: Ana is a nurse | Ana is a mother
several: The API supports JSON | The API does not support XML
also: Ana lives in Rome | Ana also lives in Milan
also: Ana's manager is Bo | Ana's manager is also Eva
also: Ana lives in Rome | Ana lives in Milan too
qualifier: The timeout is 30 s | The timeout is 60 s on staging
qualifier: The price is 5 EUR | The price is 7 EUR in Norway
qualifier: Ana's phone number is 555 1234 | Ana's phone number is 555 9999 in summer
qualifier: The pharmacy closes at 18:00 | The pharmacy closes at 13:00 on Saturdays
qualifier: Pull requests need one approval | Pull requests to main need two approvals
qualifier: Ana drinks wine | Ana doesn't drink wine at home
qualifier: Ana takes 500 mg of metformin in the morning | Ana takes 250 mg of metformin in the evening
kin: My daughter's name is Mia | My daughter's name is Lea
kin: My cat's name is Tom | My cat's name is Kit
kin: My dog is called Rex | My dog is called Bello
kin: Ana's sister lives in Rome | Ana's sister lives in Oslo
kin: Ana's brother is married | Ana's brother is not married
kin: User is 180 cm tall | User's wife is 165 cm tall
kin: User's birthday is 9 May | User's daughter's birthday is 10 May
unnamed: My flight is at 10:00 | My flight is at 18:00
unnamed: The train is at 7:12 | The train is at 9:40
unnamed: The meeting is at 10:00 | The meeting is at 15:00
unnamed: My appointment is on Monday | My appointment is on Friday
unnamed: The ticket costs 20 euros | The ticket costs 30 euros
unnamed: The answer is 42 | The answer is 7
unnamed: The book has 300 pages | The book has 250 pages
unnamed: The 42 bus leaves at 7:12 | The 42 bus leaves at 7:32
unnamed: The train to Lyon leaves at 7:12 | The train to Lyon leaves at 9:12
unnamed: Bob's class starts at 9:00 | Bob's class starts at 11:00
unnamed: User's order is 400 units | User's order is 20 units
unnamed: It is open | It is closed
name: The owner of repo A is Ana | The owner of repo a is Bo
name: Team A has 5 engineers | Team B has 7 engineers
name: Ana lives in Rome | Bob lives in Oslo
name: The meeting with Bob is at 10:00 | The meeting with Zoe is at 11:00
name: The CEO of Acme is Bo | The CEO of Globex is Eva
number of it: Room 301 has 20 seats | Room 310 has 25 seats
number of it: Ticket OPS-1 is done | Ticket OPS-2 is blocked
number of it: Sprint 17 ends on 29 October | Sprint 18 ends on 12 November
number of it: Python 3.9 support ends in October 2025 | Python 3.10 support ends in October 2026
counted: Ana has two cats | Ana has three dogs
counted: The recipe needs 200 g of flour | The recipe needs 300 g of sugar
counted: The server has 16 GB of RAM | The server has 512 GB of disk
counted: Ana takes 10 mg of lisinopril | Ana takes 20 mg of cetirizine
measure: The bottle is 1 litre | The bottle is 5 euros
measure: The table is 2 m long | The table is 1 m wide
measure: The subscription costs 12 euros a month | The subscription costs 120 euros a year
measure: The limit is 100 files | The limit is 5 MB
event: Ana ran 8 km | Ana ran 10 km
event: Ana paid Bob 50 euros | Ana paid Bob 20 euros
event: There was an outage on 3 March | There was an outage on 5 March
event: User has a meeting with Kofi on Monday | User has a meeting with Kofi on Tuesday
event: User needs 3 eggs | User needs 2 eggs
event: I'm on call in week 14 | I'm on call in week 18
attribute: Ana's favourite colour is blue | Ana's favourite food is ramen
attribute: Ana's email is a@example.org | Ana's work email is b@example.org
attribute: The read timeout is 30 seconds | The connect timeout is 5 seconds
attribute: p50 latency is 40 ms | p99 latency is 400 ms
attribute: User's visa expires on 3 May 2026 | User's passport expires on 3 May 2030
attribute: The pharmacy opens at 8:00 | The pharmacy closes at 18:00
attribute: Ana goes to bed at 10 pm | Ana gets up at 7 am
attribute: Ana was born in Rome | Ana lives in Oslo
attribute: Ana was born in Rome | Ana was born in May
attribute: The offsite takes place in Porto | The offsite takes place in May
attribute: User lives at 12 Elm Street | User lives at Grandma's
attribute: The CEO of Acme is Bo | The founder of Acme is Eva
state: Ticket OPS-77 is in progress | Ticket OPS-77 is not blocked
state: PR 482 was merged | PR 482 is not closed
state: The offer on the house is pending | The offer on the house is not rejected
attribute: The PR 482 is open | The PR 482 is approved
past: Ana works at Acme | Ana worked at Globex
past: Ana's former manager is Bo | Ana's manager is Eva
past: User lives in Lima | User used to live in Cusco
plan: Ana lives in Rome | Ana may live in Oslo
plan: Ana works at Acme | Ana will work at Globex
detail: Ana lives in Italy | Ana lives in Rome
detail: User lives in Mexico | User lives in Oaxaca, Mexico
detail: User's flat has three rooms | User's flat has four rooms and a balcony
condition: User eats meat | User doesn't eat meat when travelling
condition: Ana works at Acme | If all goes well, Ana works at Globex
question: Ana lives in Rome | Does Ana live in Oslo?
question: The API supports pagination | Does the API not support pagination?
swapped: Ana reports to Bob | Bob reports to Ana
swapped: Ana owes Bob 50 euros | Bob owes Ana 20 euros
list: Known bug: crash on empty file | Known bug: crash on huge file
list: Todo: buy milk | Todo: call Bob
choice: Ana prefers tea over coffee | Ana prefers wine over beer
choice: Ana prefers short answers | Ana prefers long walks
place: The Berlin office has 40 people | The Paris office has 25 people
place: The spare key is under the mat | The car key is in the drawer
role: Ana is a developer at Acme | Ana is a shareholder at Acme
role: Ana works at Acme | Ana works as a nurse
order: Use tabs in Go | Don't use tabs in Python
order: Deploy on Mondays | Never deploy on Fridays
work: I work at Initech | I work as a tester
work: I work at Initech as a tester | I work at Globex on Saturdays
work: Ana works at Acme | Ana works for Bob
work: Ana works at Acme | Ana works for Maria Lopez
work: Ana works for Acme | Ana works for Bob at Acme
moved: I live in Berlin | I moved to the back row
moved: I live in Berlin | I moved to Terraform last week
moved: I live in Berlin | I moved to Kreuzberg
moved: I live in Berlin | I moved to Germany last week
moved: I live in Berlin | I moved to Madrid as a child
moved: I live in Berlin | I moved to Oxford University
moved: I live in Berlin | My sister moved to Madrid
moved: Ana lives in Lisbon | Ana moved to Porto and back
around: Ana lives in Texas | Ana lives in Austin
around: Ana lives in New York | Ana lives in Brooklyn
counted: Ana has a dog | Ana has a dog named Rex
counted: Ana has a dog | Ana has a second dog
counted: Ana has a dog | Ana has the dog
counted: Ana has a meeting | Ana has two meetings
counted: Ana has a son | Ana has two children
takes: The deploy takes 20 minutes | The deploy takes 5 minutes on staging
takes: The deploy takes 20 minutes | The deploy takes 5 steps
takes: The deploy takes 20 minutes | The deploy takes up to 40 minutes
takes: The deploy takes 20 minutes | The rollback takes 5 minutes
switched: The project uses MySQL | The project migrated from Oracle to Postgres
switched: The project uses MySQL | The docs migrated from MySQL to Postgres
switched: The project uses MySQL | The project may switch from MySQL to Postgres
switched: We use Slack | We use Zoom instead of Slack for calls
switched: User drinks coffee | User switched from coffee to tea
denied: Ana lives in Lisbon | Bea no longer lives in Lisbon
denied: Ana works at Acme | Ana no longer works at Acme as a nurse
wanted: I want to learn French | I want to learn Italian
wanted: I like the dark room | I like the light room
wanted: Dan has read-only access to the lake | Dan has admin access to the lake
wanted: Ana prefers French wine | Ana prefers Italian wine
part of a time: The exam in maths is on Monday | The exam in maths is on 3 June
part of a time: The exam in maths is on Monday | The exam in maths is at 10:00
part of a time: The deadline is Friday | The deadline is 5 June
part of a time: User's birthday is 3 May | User's birthday is Sunday
part of a time: The launch is at 10:00 | The launch is at 9:00 UTC
how it is there: My passport is in the drawer | My passport is under the blue folder
how it is there: The gym is in Soho | The gym is on Dean Street
how it is there: Ana's car is in Berlin | Ana's car is in the garage
how it is there: The wedding takes place in Rome | The wedding takes place at Villa Borghese
a or the: I have a key | I do not have the key
a or the: The app has a bug | The app does not have the bug
unit: The rent is 900 euros | The rent is 975 dollars
unit: The temperature is 5 °C | The temperature is 41 °F
unit: The wall is 3 m | The wall is 10 ft
unit: Ana's salary is 5000 EUR a month | Ana's salary is 60000 EUR a year
unit: The link speed is 100 Mbit/s | The link speed is 12 MB/s
behind it: The price is 20 EUR | The price is 16 EUR net
behind it: The timeout is 30 s | The timeout is 60 s by default
behind it: The rent is 900 EUR | The rent is 700 EUR without heating
behind it: The port is 80 | The port is 443 by default
adjective: My manager is Bo | My manager is Norwegian
adjective: Ana's boss is Eva | Ana's boss is Catholic
where within: The destination is Italy | The destination is Rome
where within: Ana's hometown is Texas | Ana's hometown is Austin
state: Ana is divorced | Ana is engaged
state: The project is on hold | The project is blocked
state: Ticket 7 is in progress | Ticket 7 is blocked
state: Ana is not divorced | Ana is single
role: Ana works as a nurse | Ana works as a tutor
grade: Ana is a senior member | Ana is a full member
grade: Ana is a junior member | Ana is a permanent member
"""
"""Both may be true at once."""

AGREEING = """
Ana lives in Lisbon | Ana no longer lives in Porto
Ana no longer lives in Lisbon | Ana moved to Porto
Ana no longer lives in Lisbon | Ana does not live in Faro
Ana no longer lives in Lisbon | Ana does not live in Lisbon
Ana reports to Bob | Ana does not report to Carl
Ana is married to Bob | Ana is not married to Carl
Ana moved to Porto last week | Ana lives in Porto
Ana works at Acme as a nurse | Ana works for Acme
Ana works at Acme as a nurse | Ana works at Acme as a union rep
User works at Acme | User does not work for Globex
The port is 5432 | The port is not 5433
The meeting with Bob is on Monday | The meeting with Bob is not on Tuesday
User's dentist is Dr Hansen | User's dentist is not Dr Jansen
User hates cilantro | User can't stand cilantro
User hates cilantro | User dislikes cilantro
User doesn't like olives | User loathes olives
User likes jazz | User loves jazz
Ana is a vegetarian | Ana is vegetarian
Ana is single | Ana is divorced
Invoice 12 is unpaid | Invoice 12 is overdue
PR 7 was merged | PR 7 is closed
Ana's manager is Bo | Ana's manager is Bo Hansen
Ana lives at 12 Oak Street | Ana lives at Oak Street 12, Bonn
The config is in /etc/app | The config is in /etc/app/app.toml
The wedding is on 4 July | The wedding is on Saturday, 4 July
Ana trusts Bob | Ana does not distrust Bob
The app is unavailable | The app is not available
The API excludes drafts | The API does not include drafts
The flag new_checkout is on | The flag new_checkout is enabled
The flag new_checkout is off | The flag new_checkout is not on
User is not married | User is single
User is not married | User is divorced
The dishwasher is broken | The dishwasher doesn't work
Never use tabs | Don't use tabs
The project doesn't use MySQL | The project switched from MySQL to Postgres
Ana has no dog | Ana doesn't have any dogs
Ana has dogs | Ana has two dogs
"""
"""Both are about the same, and may be true at once."""


def pairs(table: str) -> list[tuple[str, str]]:
    lines = [line.split(": ", 1)[1] if table is LOOK_ALIKES else line for line in table.strip().splitlines()]
    return [(one.strip(), other.strip()) for one, _, other in (line.partition(" | ") for line in lines)]


@table(("text", "speaker", "subject"), ABOUT)
def test_a_statement_with_one_value_at_a_time_has_a_subject(
    text: str, speaker: str | None, subject: str | None
) -> None:
    assert find_subject(text, speaker, "user") == subject


@table("text", ABOUT_NOTHING)
def test_what_is_in_doubt_past_plural_or_one_of_several_is_about_nothing(text: str) -> None:
    assert find_subject(text, "Zoe", "user") is None
    assert find_subject(text, None, "user") is None


@table(("old", "new"), pairs(UPDATES))
def test_what_takes_the_place_of_another_is_about_the_same_and_does_not_agree(old: str, new: str) -> None:
    assert find_subject(old, None, "user") is not None
    assert find_subject(old, None, "user") == find_subject(new, None, "user")
    assert not are_compatible(said(old), said(new))
    assert not are_compatible(said(new), said(old))


@table(("one", "other"), pairs(AGREEING))
@table("speaker", [None, "Zoe"])
def test_what_is_about_the_same_may_agree(one: str, other: str, speaker: str | None) -> None:
    assert find_subject(one, speaker, "user") == find_subject(other, speaker, "user") is not None
    assert are_compatible(said(one, speaker), said(other, speaker))
    assert are_compatible(said(other, speaker), said(one, speaker))


def test_of_a_subject_that_is_not_the_texts_own_no_agreement_is_told() -> None:
    one, other = said("Ana lives in Lisbon"), said("Ana no longer lives in Porto")
    assert are_compatible(one, other)
    assert not are_compatible(one.with_changes(subject="home"), other.with_changes(subject="home"))


def said(text: str, speaker: str | None = None) -> Memory:
    """A memory of the user's own with the subject that is read from its text."""
    subject = find_subject(text, speaker, UNNAMED_USER)
    return a_memory("m", text=text, speaker=speaker, subject=subject, provenance=Provenance.DIRECT_USER)


@table(("one", "other"), pairs(LOOK_ALIKES))
@table("speaker", [None, "Zoe"])
def test_look_alikes_are_not_about_the_same(one: str, other: str, speaker: str | None) -> None:
    known = find_subject(one, speaker, "user")
    assert known is None or known != find_subject(other, speaker, "user")


def test_of_what_is_true_together_only_part_and_whole_that_no_table_tells_are_at_odds() -> None:
    """Pairs that were written to be taken for updates; without those that can be argued over."""
    lines = TRUE_TOGETHER.read_text(encoding="utf-8").splitlines()
    assert len(lines) > 150
    assert {line for line in lines if contradict(*map(said, line.split(" | ")))} == PART_AND_WHOLE


def contradict(one: Memory, other: Memory) -> bool:
    return one.subject is not None and one.subject == other.subject and not are_compatible(one, other)


def test_there_are_two_look_alikes_of_every_family() -> None:
    families = [line.split(": ")[0] for line in LOOK_ALIKES.strip().splitlines()]
    assert len(families) >= 60
    assert all(families.count(family) >= 2 for family in families)


@table(
    ("one", "other"),
    [
        ("The meeting with Bob is at 3 pm", "The meeting with Bob is at 15:00"),
        ("User is 1.80 m tall", "User is 180 cm tall."),
        ("Ana's favourite colour is blue", "Ana's favorite color is blue"),
        ("Ana lives in Rome", "Ana currently resides in Rome."),
    ],
)
def test_a_restatement_is_about_the_same(one: str, other: str) -> None:
    assert find_subject(one, None, "user") == find_subject(other, None, "user") is not None


# ── who speaks ─────────────────────────────────────────────────────────────────────────────────────────────────────


@table("text", ["I live in Rome", "User lives in Rome", "My email is a@example.org", "The port is 5"])
def test_nobody_known_speaks_where_the_text_is_not_the_users_own(text: str) -> None:
    assert find_subject(text, None, None) is None
    assert find_subject(text, None, "user") is not None


@table("text", ["I live in Rome", "User lives in Rome", "The port is 5"])
@table("speaker", ["user", "Human", "assistant", " tool"])
def test_a_part_in_a_conversation_is_nobody_by_name(text: str, speaker: str) -> None:
    assert find_subject(text, speaker, None) is None


def test_the_user_speaks_in_their_own_words_and_in_records_of_them_alone() -> None:
    own = {one for one in Provenance if first_person_name(one) == UNNAMED_USER}
    assert own == {Provenance.DIRECT_USER, Provenance.MODEL_INFERENCE, Provenance.OPERATOR}
    assert all(first_person_name(one) is None for one in Provenance if one not in own)


def test_the_assistant_does_not_speak_of_the_user_as_i() -> None:
    assert find_subject("I live in Rome", "assistant", "user") is None


@table("text", ["I live in Rome", "User lives in Rome", "The user's email is a@example.org"])
def test_the_user_is_whoever_speaks_by_name(text: str) -> None:
    subjects = {find_subject(text, speaker, me) for speaker in ("ana", "bo") for me in (None, "user")}
    assert len(subjects) == 2
    assert None not in subjects


@table("text", ["The price is 5", "The port is 80", "The status is green", "The cache TTL is 60 s"])
def test_what_only_a_conversation_tells_from_others_belongs_to_who_speaks(text: str) -> None:
    found = [find_subject(text, speaker, "user") for speaker in ("zoe", "bob", None)]
    assert None not in found
    assert len(set(found)) == 3


@table("text", ["The CEO of Acme is Bo", "Ana lives in Rome", "PR 482 is open"])
def test_what_has_a_name_is_the_same_whoever_speaks(text: str) -> None:
    assert (
        find_subject(text, "zoe", "user")
        == find_subject(text, "bob", "user")
        == find_subject(text, None, None)
        is not None
    )


# ── what stands beside it ──────────────────────────────────────────────────────────────────────────────────────────

WITHOUT_A_NAME = [
    "The port is 80",
    "The budget is 500 euros",
    "The team's chat tool is Slack",
    "MAX_SIZE = 5",
    "Use tabs",
    "Backups are kept for 30 days",
    "The API supports pagination",
]


@table("text", WITHOUT_A_NAME)
@table("speaker", [None, "Zoe"])
def test_what_has_neither_name_nor_owner_is_another_one_beside_something_else(text: str, speaker: str | None) -> None:
    found = {
        find_subject(text, speaker, UNNAMED_USER, within)
        for within in (None, "nginx", "postgres", "x" * 200, "x" * 201)
    }
    assert None not in found
    assert len(found) == 5


@table("text", ["Port: 80", "Interest Rate: 22%", "Deadline: Friday", "Emergency contact: Hiroko Sato"])
def test_a_label_is_about_what_stands_beside_it(text: str) -> None:
    assert find_subject(text, None, UNNAMED_USER) is None
    one, other = find_subject(text, None, UNNAMED_USER, "Loan A"), find_subject(text, None, UNNAMED_USER, "Loan B")
    assert one is not None
    assert other is not None
    assert one != other
    assert find_subject(text, None, None, "Loan A") is None


def test_a_label_is_about_the_same_as_a_sentence_beside_the_same() -> None:
    assert (
        find_subject("Port: 80", None, UNNAMED_USER, "nginx")
        == find_subject("The port is 81", None, UNNAMED_USER, " nginx ")
        is not None
    )


@table("text", ["Ana lives in Rome", "I live in Rome", "My rent is 900 euros", "PR 482 is open", "Ana likes tea"])
@table("speaker", [None, "Zoe"])
def test_people_and_what_has_a_name_or_an_owner_are_the_same_beside_anything(text: str, speaker: str | None) -> None:
    assert find_subject(text, speaker, UNNAMED_USER, "Notes") == find_subject(text, speaker, UNNAMED_USER) is not None


def test_beside_a_memory_stands_its_title_or_else_its_source_or_else_its_session() -> None:
    memory = a_memory("m", session="today")
    assert distinguishing_context(memory) == "today"
    assert distinguishing_context(memory.with_changes(source="a.py")) == "a.py"
    assert distinguishing_context(memory.with_changes(source="a.py", title="nginx")) == "nginx"


def test_what_agrees_does_so_beside_the_same_title() -> None:
    one, other = (
        a_memory("m", text=text, title="nginx", provenance=Provenance.DIRECT_USER)
        for text in ("The port is 80", "The port is not 81")
    )
    subject = find_subject(one.text, None, UNNAMED_USER, "nginx")
    assert are_compatible(one.with_changes(subject=subject), other.with_changes(subject=subject))


@table("blanks", [" ", "", "\n"])
def test_nothing_stands_beside_a_text_with_an_empty_title(blanks: str) -> None:
    assert find_subject("The port is 80", None, UNNAMED_USER, blanks) == "port: is"


@given(st.text())
def test_a_subject_is_short_beside_whatever_stands_there(within: str) -> None:
    found = find_subject("The port is 80", None, UNNAMED_USER, within)
    assert found is not None
    assert len(found) <= MAX_SUBJECT_CHARS


# ── what is given ──────────────────────────────────────────────────────────────────────────────────────────────────


@table("given", ["ana: lives in", "Ana: lives in", " ANA :  Lives   IN ", "ana:lives in"])
def test_a_given_subject_is_that_of_a_text_whatever_its_case_and_blanks(given: str) -> None:
    assert normalize_subject(given) == find_subject("Ana lives in Rome", None, "user")


def test_names_of_one_or_two_letters_behind_another_word_keep_their_case() -> None:
    assert normalize_subject("Repository A: Owner") == find_subject("The owner of repo A is Ana", None, "user")
    assert normalize_subject("repository a: owner") == find_subject("The owner of repo a is Bo", None, "user")
    assert normalize_subject("Repository A: Owner") != normalize_subject("repository a: owner")


@given(st.text())
def test_a_normal_subject_stays_as_it_is(subject: str) -> None:
    assert normalize_subject(normalize_subject(subject)) == normalize_subject(subject)


@table("subject", sorted({subject for _, _, subject in ABOUT if subject and "_" not in subject}))
def test_a_subject_that_is_read_is_normal(subject: str) -> None:
    assert normalize_subject(subject) == subject


# ── whatever is said ───────────────────────────────────────────────────────────────────────────────────────────────

SAID = """
    Ana Ana's my I the The user's lives works in at as is called a nurse Rome 10:00 deadline of on Monday email 5 not
    moved relocated switched from uses instead last week just dogs two for Acme Porto employed by
    no never longer has can't doesn't prefers over = : MAX_A 3 % km May isn't anymore any more was been to gate P2
"""
WORDS = st.sampled_from(SAID.split())
TEXTS = st.one_of(st.text(), st.lists(WORDS, max_size=10).map(" ".join))


@given(TEXTS, st.one_of(st.none(), st.text(max_size=300)), st.sampled_from([None, "user", ""]))
def test_a_subject_is_short_and_the_same_every_time(text: str, speaker: str | None, me: str | None) -> None:
    found = find_subject(text, speaker, me)
    assert found is None or 0 < len(found) <= MAX_SUBJECT_CHARS
    assert find_subject(text, speaker, me) == found
    assert find_subject(f" {text} ", speaker, me) == found or len(text) > 190


@given(
    st.sampled_from([line for pair in pairs(UPDATES) for line in pair]), st.sampled_from([" ", "  ", "\t", "\u00a0"])
)
def test_a_subject_does_not_hang_on_a_full_stop_or_blanks(text: str, blank: str) -> None:
    assert find_subject(text, None, "user") == find_subject(f"{blank}{text.replace(' ', blank)}.{blank}", None, "user")


@table(
    "text",
    [
        one
        for pair in pairs(UPDATES)
        for one in pair
        if one.startswith(("The ", "User", "Our ", "I ", "Deploy", "Pull "))
    ],
)
def test_a_subject_does_not_hang_on_the_case_of_its_first_letter(text: str) -> None:
    assert find_subject(text, None, "user") == find_subject(text[0].lower() + text[1:], None, "user")


@table("part", ["Ana lives in ", "my ", "'s ", "is ", "\u0301", "the of ", "not ", "= "])
def test_a_megabyte_is_about_nothing(part: str) -> None:
    assert find_subject(part * (1_000_000 // len(part)), "Ana", "user") is None


@table("key", ["properties.shapes", "states.kinds", "states.synonyms", "values.dimensions"])
def test_no_word_of_the_data_file_stands_in_two_groups_of_a_table(key: str) -> None:
    words = [word for group in DATA.mapping(key).values() for word in group.split()]
    assert len(words) == len(set(words))


# ── the labelled pairs ─────────────────────────────────────────────────────────────────────────────────────────────


def at_odds(label: str) -> list[str]:
    found = [one for one in shipped_pairs() if one.label == label]
    both = [(one.id, said(one.old, one.speaker), said(one.new, one.speaker)) for one in found]
    return [id for id, old, new in both if contradict(old, new)]


def test_of_the_labelled_updates_most_are_at_odds_and_of_the_others_none() -> None:
    assert len(at_odds("update")) >= 142
    assert at_odds("other") == []
