"""What a text is about: tables of statements with one value at a time, of updates, and of what is about nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.admission.subject import LONGEST, USER, me_in, normal_subject, subject_of
from recollect.evaluation.pairs import shipped_pairs
from recollect.model.trust import Provenance

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
    ("Ana works for Acme Labs", None, "ana: works for"),
    ("Ana works as a nurse", None, "ana: works as"),
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
    ("The meeting with Bob is on Monday at 10:00", None, "meeting with bob: is at on"),
    ("The deadline of project Yew is 2026-03-05", None, "project yew: deadline"),
    ("The owner of repo A is Ana", None, "repository A: owner"),
    ("The database port is 5432", None, "database port: is"),
    ("The database port is 5432", "Zoe", "database port (zoe): is"),
    ("Please note that the database port is 5432", None, "database port: is"),
    ("The default branch is main", None, "default branch: is"),
    ("The project is called Falcon", None, "project: is named"),
    ("Emergency contact: Hiroko Sato", None, "emergency contact: is"),
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
    "Ana does not live in Rome",
    "Ana doesn't live in Rome",
    "Ana no longer lives in Rome",
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
The service listens on port 8080 | The service listens on port 8081
Redis listens on port 6379 | Redis listens on port 6380
User's flat is on the 4th floor | User's flat is on the 14th floor
The shard count is sixteen | The shard count is thirty-two
Retry failed jobs 3 times | Retry failed jobs 5 times
Pull requests need one approval | Pull requests need two approvals
Backups are kept for 30 days | Backups are kept for 30 weeks
The cache TTL is 60 s | The cache TTL is 60 ms
The garden is 400 square feet | The garden is 400 square metres
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
The pharmacy closes at 18:00 | The pharmacy closes at 8 pm
User's train to Lyon leaves at 7:12 | User's train to Lyon leaves at 7:21
User goes to bed at 10 pm | User goes to bed at midnight
Quiet hours begin at 22:00 | Quiet hours begin at 21:00
User's dentist is Dr Hansen | User's dentist is Dr. Jansen
The project lead is Adaeze Obi | The project lead is Adaora Obi
Our payment provider is Stripe | Our payment provider is Adyen
Emergency contact: Hiroko Sato | The emergency contact is Hiroto Sato
The staging server is called heron | The staging server is called egret
User goes by Alex | User goes by Sasha
The spare key is under the doormat | The spare key is in the letterbox
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
Dan has read-only access to the data lake | Dan has admin access to the data lake
MAX_UPLOADS = 5 | MAX_UPLOADS=50
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
"""
"""Both may be true at once."""


def pairs(table: str) -> list[tuple[str, str]]:
    lines = [line.split(": ", 1)[1] if table is LOOK_ALIKES else line for line in table.strip().splitlines()]
    return [(one.strip(), other.strip()) for one, _, other in (line.partition(" | ") for line in lines)]


@pytest.mark.parametrize(("text", "speaker", "subject"), ABOUT)
def test_a_statement_with_one_value_at_a_time_has_a_subject(
    text: str, speaker: str | None, subject: str | None
) -> None:
    assert subject_of(text, speaker, "user") == subject


@pytest.mark.parametrize("text", ABOUT_NOTHING)
def test_what_is_in_doubt_past_plural_or_one_of_several_is_about_nothing(text: str) -> None:
    assert subject_of(text, "Zoe", "user") is None
    assert subject_of(text, None, "user") is None


@pytest.mark.parametrize(("old", "new"), pairs(UPDATES))
def test_what_takes_the_place_of_another_is_about_the_same(old: str, new: str) -> None:
    assert subject_of(old, None, "user") is not None
    assert subject_of(old, None, "user") == subject_of(new, None, "user")


@pytest.mark.parametrize(("one", "other"), pairs(LOOK_ALIKES))
@pytest.mark.parametrize("speaker", [None, "Zoe"])
def test_look_alikes_are_not_about_the_same(one: str, other: str, speaker: str | None) -> None:
    known = subject_of(one, speaker, "user")
    assert known is None or known != subject_of(other, speaker, "user")


def test_there_are_two_look_alikes_of_every_family() -> None:
    families = [line.split(": ")[0] for line in LOOK_ALIKES.strip().splitlines()]
    assert len(families) >= 60
    assert all(families.count(family) >= 2 for family in families)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The meeting with Bob is at 3 pm", "The meeting with Bob is at 15:00"),
        ("User is 1.80 m tall", "User is 180 cm tall."),
        ("Ana's favourite colour is blue", "Ana's favorite color is blue"),
        ("Ana lives in Rome", "Ana currently resides in Rome."),
    ],
)
def test_a_restatement_is_about_the_same(one: str, other: str) -> None:
    assert subject_of(one, None, "user") == subject_of(other, None, "user") is not None


# ── who speaks ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["I live in Rome", "User lives in Rome", "My email is a@example.org", "The port is 5"])
def test_nobody_known_speaks_where_the_text_is_not_the_users_own(text: str) -> None:
    assert subject_of(text, None, None) is None
    assert subject_of(text, None, "user") is not None


@pytest.mark.parametrize("text", ["I live in Rome", "User lives in Rome", "The port is 5"])
@pytest.mark.parametrize("speaker", ["user", "Human", "assistant", " tool"])
def test_a_part_in_a_conversation_is_nobody_by_name(text: str, speaker: str) -> None:
    assert subject_of(text, speaker, None) is None


def test_the_user_speaks_in_their_own_words_and_in_records_of_them_alone() -> None:
    own = {one for one in Provenance if me_in(one) == USER}
    assert own == {Provenance.DIRECT_USER, Provenance.MODEL_INFERENCE, Provenance.OPERATOR}
    assert all(me_in(one) is None for one in Provenance if one not in own)


def test_the_assistant_does_not_speak_of_the_user_as_i() -> None:
    assert subject_of("I live in Rome", "assistant", "user") is None


@pytest.mark.parametrize("text", ["I live in Rome", "User lives in Rome", "The user's email is a@example.org"])
def test_the_user_is_whoever_speaks_by_name(text: str) -> None:
    subjects = {subject_of(text, speaker, me) for speaker in ("ana", "bo") for me in (None, "user")}
    assert len(subjects) == 2
    assert None not in subjects


@pytest.mark.parametrize("text", ["The price is 5", "The port is 80", "The status is green", "The cache TTL is 60 s"])
def test_what_only_a_conversation_tells_from_others_belongs_to_who_speaks(text: str) -> None:
    found = [subject_of(text, speaker, "user") for speaker in ("zoe", "bob", None)]
    assert None not in found
    assert len(set(found)) == 3


@pytest.mark.parametrize("text", ["The CEO of Acme is Bo", "Ana lives in Rome", "PR 482 is open"])
def test_what_has_a_name_is_the_same_whoever_speaks(text: str) -> None:
    assert (
        subject_of(text, "zoe", "user") == subject_of(text, "bob", "user") == subject_of(text, None, None) is not None
    )


# ── what is given ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("given", ["ana: lives in", "Ana: lives in", " ANA :  Lives   IN ", "ana:lives in"])
def test_a_given_subject_is_that_of_a_text_whatever_its_case_and_blanks(given: str) -> None:
    assert normal_subject(given) == subject_of("Ana lives in Rome", None, "user")


def test_names_of_one_or_two_letters_behind_another_word_keep_their_case() -> None:
    assert normal_subject("Repository A: Owner") == subject_of("The owner of repo A is Ana", None, "user")
    assert normal_subject("repository a: owner") == subject_of("The owner of repo a is Bo", None, "user")
    assert normal_subject("Repository A: Owner") != normal_subject("repository a: owner")


@given(st.text())
def test_a_normal_subject_stays_as_it_is(subject: str) -> None:
    assert normal_subject(normal_subject(subject)) == normal_subject(subject)


@pytest.mark.parametrize("subject", sorted({subject for _, _, subject in ABOUT if subject and "_" not in subject}))
def test_a_subject_that_is_read_is_normal(subject: str) -> None:
    assert normal_subject(subject) == subject


# ── whatever is said ───────────────────────────────────────────────────────────────────────────────────────────────

SAID = """
    Ana Ana's my I the The user's lives works in at as is called a nurse Rome 10:00 deadline of on Monday email 5 not
    no never longer has can't doesn't prefers over = : MAX_A 3 % km May isn't anymore any more was been to gate P2
"""
WORDS = st.sampled_from(SAID.split())
TEXTS = st.one_of(st.text(), st.lists(WORDS, max_size=10).map(" ".join))


@given(TEXTS, st.one_of(st.none(), st.text(max_size=300)), st.sampled_from([None, "user", ""]))
def test_a_subject_is_short_and_the_same_every_time(text: str, speaker: str | None, me: str | None) -> None:
    found = subject_of(text, speaker, me)
    assert found is None or 0 < len(found) <= LONGEST
    assert subject_of(text, speaker, me) == found
    assert subject_of(f" {text} ", speaker, me) == found or len(text) > 190


@given(
    st.sampled_from([line for pair in pairs(UPDATES) for line in pair]), st.sampled_from([" ", "  ", "\t", "\u00a0"])
)
def test_a_subject_does_not_hang_on_a_full_stop_or_blanks(text: str, blank: str) -> None:
    assert subject_of(text, None, "user") == subject_of(f"{blank}{text.replace(' ', blank)}.{blank}", None, "user")


@pytest.mark.parametrize(
    "text",
    [
        one
        for pair in pairs(UPDATES)
        for one in pair
        if one.startswith(("The ", "User", "Our ", "I ", "Deploy", "Pull "))
    ],
)
def test_a_subject_does_not_hang_on_the_case_of_its_first_letter(text: str) -> None:
    assert subject_of(text, None, "user") == subject_of(text[0].lower() + text[1:], None, "user")


@pytest.mark.parametrize("part", ["Ana lives in ", "my ", "'s ", "is ", "\u0301", "the of ", "not ", "= "])
def test_a_megabyte_is_about_nothing(part: str) -> None:
    assert subject_of(part * (1_000_000 // len(part)), "Ana", "user") is None


# ── the labelled pairs ─────────────────────────────────────────────────────────────────────────────────────────────


def about_the_same(label: str) -> list[str]:
    found = [one for one in shipped_pairs() if one.label == label]
    both = [
        (one.id, subject_of(one.old, one.speaker, "user"), subject_of(one.new, one.speaker, "user")) for one in found
    ]
    return [id for id, old, new in both if old is not None and old == new]


def test_of_the_labelled_updates_most_are_about_the_same_and_of_the_others_none() -> None:
    assert len(about_the_same("update")) >= 160
    assert about_the_same("other") == []
