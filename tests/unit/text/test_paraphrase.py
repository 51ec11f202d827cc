"""When two texts say the same: tables of what carries no meaning and of what does, and what holds for every text."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from recollect.model.enums import Kind, Level
from recollect.testing import a_memory
from recollect.text.paraphrase import (
    NO_KEY,
    VERSION,
    MeaningDifference,
    SameMeaning,
    are_paraphrases,
    canonicalize_text,
    compare_meanings,
    meaning_key,
    paraphrase_key,
)
from tests.tables import table

SAME = [
    ("Ana prefers window seats", "ana prefers window seats."),
    ("Ana prefers window seats", "Ana prefers a window seat!"),
    ("Ana doesn't eat meat", "Ana does not eat meat"),
    ("Ana doesn’t eat meat", "Ana doesnt eat meat"),
    ("It's raining in Oslo", "It is raining in Oslo"),
    ("I can't swim", "I cannot swim"),
    ("We'll meet Bob", "We will meet Bob"),
    ("The server is in Frankfurt", "Server is in Frankfurt"),
    ("Please note that the office is closed on Fridays", "The office is closed on Fridays"),
    ("Remember: the office is closed on Fridays", "The office is closed on Fridays."),
    ("FYI the office is closed on Fridays", "the office is closed on Fridays"),
    ("Ana really likes tea", "Ana likes tea"),
    ("Ana also likes tea", "Ana likes tea"),
    ("My favourite colour is blue", "My favorite color is blue"),
    ("They organise travel", "They organize travel"),
    ("Ana has two cats", "Ana has 2 cats"),
    ("Ana has twenty-one cats", "Ana has 21 cats"),
    ("It cost two hundred and fifty euros", "It cost 250 euros"),
    ("The city has 1.5 million people", "The city has 1,500,000 people"),
    ("The meeting is at 10am", "The meeting is at 10:00"),
    ("The meeting is at 10 a.m.", "The meeting is at 10:00"),
    ("The meeting is at 10:00 AM", "The meeting is at 10am."),
    ("The meeting is at 5pm", "The meeting is at 17:00"),
    ("The launch is on 2026-03-05", "The launch is on 5 March 2026"),
    ("The launch is on March 5, 2026", "The launch is on 5 March 2026"),
    ("The launch is on the 5th of March 2026", "The launch is on Mar 5 2026"),
    ("The launch is on 25/03/2026", "The launch is on 2026-03-25"),
    ("The office is 5 km away", "The office is 5 kilometres away"),
    ("The office is 5km away", "The office is five kilometers away"),
    ("The disk has 16GB", "The disk has 16 gigabytes"),
    ("It costs $5", "It costs 5 dollars"),
    ("Usage grew by 50%", "Usage grew by 50 percent"),
    ("On Mondays Ana works from home", "Ana works from home on Mondays"),
    ("On Mondays, Ana works from home", "Ana works from home on Mondays."),
    ("Every Monday Ana works from home", "Ana works from home on Mondays"),
    ("If it rains, Ana stays inside", "Ana stays inside if it rains"),
    ("The call starts at 10:00 on Monday", "The call starts on Monday at 10:00"),
    ("Ana likes tea, coffee, and cake", "Ana likes tea, coffee and cake"),
    ("Ana's email address is ana@example.org", "Ana's e-mail is ana@example.org"),
    ("**Ana** likes `tea`", "Ana likes tea"),
    ("- Ana likes tea", "Ana likes tea"),
    ("Ana  likes\n tea", "Ana likes tea"),
    ("The team prefer tabs", "The team prefers tabs"),
    ("The app needs v2.1", "The app needs version 2.1"),
    ("THE OFFICE IS CLOSED", "The office is closed"),
    ("The Office Is Closed By Ana", "The Office is closed by Ana"),
    ("> Ana likes tea", "Ana likes tea"),
    ("See [the page](https://example.org/a)", "See the page (https://example.org/a)"),
    ("Zoe's the owner", "Zoe is the owner"),
    ("Could you please call Ana?", "Call Ana."),
    ("Hello! Ana likes tea", "Ana likes tea"),
    ("We meet at noon", "We meet at 12:00"),
    ("We meet on Thurs. at 10:00", "We meet on Thursday at 10:00"),
    ("It costs $3k", "It costs $3,000"),
    ("Ana bought a dozen eggs", "Ana bought 12 eggs"),
    ("Ana runs twice a day", "Ana runs two times a day"),
    ("The rate is 2.50%", "The rate is 2.5 %"),
    ("The call takes 250 ms", "The call takes 0.25 s"),
    ("The trip takes 3 weeks", "The trip takes 21 days"),
    ("Caf\u0065\u0301 Luna is shut", "Café Luna is shut"),
    ("The meeting is at 3 pm", "The meeting is at 15:00"),
    ("The meeting is at 3:00 PM", "The meeting is at 15h"),
    ("The meeting is at 15h30", "The meeting is at 3:30 p.m."),
    ("Ana is 1.80 m tall", "Ana is 180 cm tall"),
    ("The pool is 25 m long", "The pool is 25 metres long"),
    ('The desk is 60" wide', "The desk is 60 inches wide"),
    ("The wall is 6' high", "The wall is 6 feet high"),
    ("The cable is 0.500 km long", "The cable is 500 metres long"),
    ('Ana\'s cat is named "Mochi"', "Ana's cat is named 'Mochi'"),
    ('The code is "5" today', "The code is 5 today"),
    ("Ana's father is ill", "Ana's dad is ill"),
    ("Perhaps Ana is ill", "Maybe Ana is ill"),
    ("Ana is CEO", "Ana is the CEO"),
    ("__Important__: call Ana", "Important: call Ana"),
    ("Ana called on Sun at noon", "Ana called on Sunday at noon"),
    ("In 2021 We moved to Rome", "In 2021 we moved to Rome"),
    ("The call took 15h", "The call took 15 hours"),
    ("The desk is 60'' wide", "The desk is 60 inches wide"),
    ("Ana moved to the United States", "Ana moved to the USA"),
]

DIFFERENT = [
    ("Ana lives in Argentina", "Ana lives in Armenia", "name"),
    ("Ana prefers an aisle seat", "Ana prefers a window seat", "word"),
    ("The meeting is at 10:00", "The meeting is at 11:00", "time"),
    ("The meeting is at 10am", "The meeting is at 10pm", "time"),
    ("Ana does not eat meat", "Ana does eat meat", "negation"),
    ("Ana likes tea", "Ana never likes tea", "negation"),
    ("Ana doesn't eat meat", "Ana eats meat", "negation"),
    ("Ana works here", "Ana no longer works here", "negation"),
    ("Coffee with sugar", "Coffee without sugar", "negation"),
    ("Ana has 2 cats", "Ana has 3 cats", "number"),
    ("Ana has a cat", "Ana has two cats", "number"),
    ("Python 3.1 is used", "Python 3.10 is used", "number"),
    ("It was -5 degrees", "It was 5 degrees", "number"),
    ("The door code is 0042", "The door code is 42", "number"),
    ("The launch is on 2026-03-05", "The launch is on 2026-03-06", "date"),
    ("The launch is on 5 March 2026", "The launch is on 5 April 2026", "date"),
    ("The launch is on 03/05/2026", "The launch is on 5 March 2026", "date"),
    ("The launch is on 03/05/2026", "The launch is on 3 May 2026", "date"),
    ("The office is 5 km away", "The office is 5 miles away", "unit"),
    ("The plant gives 5 mW", "The plant gives 5 MW", "unit"),
    ("The file has 5 Mb", "The file has 5 MB", "unit"),
    ("It costs $5", "It costs €5", "unit"),
    ("All users agreed", "Some users agreed", "quantity"),
    ("Ana eats fish", "Ana eats only fish", "quantity"),
    ("Ana has few friends", "Ana has a few friends", "word"),
    ("You must log in", "You may log in", "modality"),
    ("Ana lives in Rome", "Ana lived in Rome", "word"),
    ("Ana will move to Rome", "Ana moved to Rome", "modality"),
    ("Ana called Bob", "Bob called Ana", "order"),
    ("Bob was called by Ana", "Bob was called Ana", "word"),
    ("The gift is from Bob", "The gift is to Bob", "word"),
    ("Open before noon", "Open after noon", "word"),
    ("Ana lives in Rome", "Ana lives in Rome?", "question"),
    ("Ana comes if it rains", "Ana comes unless it rains", "word"),
    ("Deploy on Monday", "Deploy on Mondays", "name"),
    ("Ana Maria and Bob came", "Ana, Maria and Bob came", "word"),
    ("Ana moved to the US", "Ana moved to us", "name"),
    ("The nails need polish", "The nails need Polish", "name"),
    ("Ana called William", "Ana called Williams", "name"),
    ("She takes vitamin a", "She takes vitamin", "word"),
    ("Ana chose plan A", "Ana chose plan B", "name"),
    ("A third of them left", "The third of them left", "word"),
    ("Ana owns a house", "Ana owns houses", "word"),
    ("The key is aB3x", "The key is Ab3x", "word"),
    ("Ana feels 😀", "Ana feels 😢", "word"),
    ("On Monday Ana said Bob left", "Ana said Bob left on Monday", "order"),
    ("On Monday Ana decided to leave", "Ana decided to leave on Monday", "order"),
    ("Because of Bob, Ana did not leave", "Ana did not leave because of Bob", "word"),
    ("Ana does not really like tea", "Ana does not like tea", "word"),
    ("Ask An about it", "Ask about it", "name"),
    ("Her brother who is in Rome called", "Her brother, who is in Rome, called", "word"),
    ("Ana saw that man", "Ana saw the man", "word"),
    ("Ana called Louise", "Ana called Louize", "name"),
    ("She wears 5 S shirts", "She wears 5 s shirts", "number"),
    ("The dose is 250 mg", "The dose is 250 g", "unit"),
    ("In Rome, Ana bought a house", "Ana bought a house in Rome", "word"),
    ("Open from 9am to 5pm", "Open from 9pm to 5am", "time"),
    ("The photo of the son of the friend", "The photo of the friend of the son", "order"),
    ("The price is 2.000 dollars", "The price is 2 dollars", "number"),
    ("The list has 5 m users", "The list has 5 M users", "name"),
    ("The desk is 5' wide", 'The desk is 5" wide', "unit"),
    ("Column is id", "Column is ID", "name"),
    ("Ana is the CEO", "Ana is a CEO", "word"),
    ("Ana prefers a red car", "Ana prefers the red car", "word"),
    ("Run it with --force", "Run it with -force", "word"),
    ("Ana is :) about it", "Ana is :( about it", "word"),
]


def near_twins() -> dict[str, list[tuple[str, str]]]:
    """By family, two texts to a line that differ in little, and in what they say."""
    found: dict[str, list[tuple[str, str]]] = {}
    for family in Path(__file__).with_name("near_twins.txt").read_text("utf-8").split("\n\n"):
        name, *lines = family.strip().splitlines()
        found[name.removeprefix("# ")] = [(old, new) for old, _, new in (line.partition(" ≠ ") for line in lines)]
    return found


NEAR_TWINS = near_twins()


@table("family", NEAR_TWINS)
def test_no_near_twin_is_taken_for_the_same(family: str) -> None:
    assert [pair for pair in NEAR_TWINS[family] if meaning_key(pair[0]) == meaning_key(pair[1])] == []


def test_every_family_of_near_twins_has_some_and_there_are_a_thousand() -> None:
    assert min(map(len, NEAR_TWINS.values())) >= 9
    assert all(old and new and old != new for pairs in NEAR_TWINS.values() for old, new in pairs)
    assert len({pair for pairs in NEAR_TWINS.values() for pair in pairs}) >= 1000


@given(
    st.integers(1, 999),
    st.integers(0, 999),
    st.sampled_from(["euros", "dollars", "km", "kg", "l", "ms", "%", "million people", "people", "EUR", "m long"]),
)
def test_three_digits_behind_a_point_are_only_the_same_as_themselves(whole: int, rest: int, unit: str) -> None:
    said = f"{whole}.{rest:03}"
    others = {f"{whole}{rest:03}", f"{whole},{rest:03}", said.rstrip("0").rstrip("."), f"{said}0", f"-{said}"}
    assert meaning_key(f"It was {said} {unit}") not in {
        meaning_key(f"It was {other} {unit}") for other in others - {said}
    }
    assert meaning_key(f"It was ${said}k") not in {meaning_key(f"It was ${other}k") for other in others - {said}}


@table(("old", "new"), SAME)
def test_what_carries_no_meaning_makes_no_difference(old: str, new: str) -> None:
    assert compare_meanings(old, new) == SameMeaning()
    assert meaning_key(old) == meaning_key(new)


@table(("old", "new", "sort"), DIFFERENT)
def test_what_carries_meaning_makes_a_difference_of_its_sort(old: str, new: str, sort: str) -> None:
    found = compare_meanings(old, new)
    assert isinstance(found, MeaningDifference)
    assert found.kind == sort
    assert meaning_key(old) != meaning_key(new)


@table(
    ("old", "new", "expected"),
    [
        ("Ana lives in Argentina.", "Ana lives in Armenia.", MeaningDifference("name", "Argentina", "Armenia")),
        ("We meet at 10:00", "We meet at 11:00", MeaningDifference("time", "10:00", "11:00")),
        ("Ana does not eat", "Ana does eat", MeaningDifference("negation", "not", "")),
        ("It is 5 km", "It is 5 miles", MeaningDifference("unit", "5 km", "5 miles")),
        ("Ana had had tea", "Ana drank tea", MeaningDifference("word", "had had", "drank")),
        ("Ana couldn't", "Ana", MeaningDifference("negation", "couldn't", "")),
        ("It is 2.000 kg", "It is 2 kg", MeaningDifference("number", "2.000 kg", "2 kg")),
    ],
)
def test_a_difference_shows_how_either_text_has_it(old: str, new: str, expected: MeaningDifference) -> None:
    assert compare_meanings(old, new) == expected


def test_a_key_is_short_and_says_by_which_rules_it_was_made() -> None:
    version, digest = meaning_key("Ana likes tea").split(":")
    assert version == VERSION
    assert len(digest) == 32
    assert int(digest, 16) >= 0


@table("text", ["...", "?!", "—", '"', ", ,", "("])
def test_a_text_in_which_nothing_can_be_read_is_only_the_same_as_itself(text: str) -> None:
    assert compare_meanings(text, text) == SameMeaning()
    assert meaning_key(text) != meaning_key(text + "-")


WORDS = st.sampled_from(
    """
    Ana Bob likes prefers the a an not never two 2 10am 10:00 5 km kilometres March 2026-03-05 5 on Mondays , . ? : - $5
    if every and to of really Please note that I'm doesn't isn't it's colour 50 % 😀 — vitamin plan A US us may May
    hundred thousand million 1,000 v2 3rd third was called by http://a.b/c **x** `y` 1.5 -5 Rome seats
    2.000 5' 5" at 15h m M long column "x" 'y' --force -f ../a .env :) :( !x f(x) [y] {} A- ID mother Sun db
    """.split()  # noqa: SIM905
)
SENTENCES = st.lists(WORDS, max_size=14).map(" ".join)
TEXTS = st.one_of(st.text(), SENTENCES)


@given(TEXTS, TEXTS)
def test_texts_are_the_same_exactly_if_their_meanings_are(old: str, new: str) -> None:
    assert (compare_meanings(old, new) == SameMeaning()) == (meaning_key(old) == meaning_key(new))
    assert (compare_meanings(new, old) == SameMeaning()) == (meaning_key(old) == meaning_key(new))


@given(TEXTS)
def test_every_text_says_the_same_as_itself_however_it_is_spaced(text: str) -> None:
    assert compare_meanings(text, text) == SameMeaning()
    assert meaning_key(text) == meaning_key(f"  {text}\t")


@given(SENTENCES)
def test_a_canonical_form_has_words_and_no_blanks_in_them(text: str) -> None:
    found = canonicalize_text(text)
    assert found
    assert len(found) == 1 or not any(char.isspace() for token in found for char in token.key)


PLAIN = st.lists(
    st.sampled_from("Ana Bob likes sees old tea green houses Rome quickly under near".split()),  # noqa: SIM905
    min_size=1,
    max_size=10,
)


@given(PLAIN, st.integers(0, 10), st.sampled_from(["not", "never", "7", "Zoe", "only", "must", "without", "unless"]))
def test_a_negation_a_number_or_a_name_more_always_changes_the_meaning(words: list[str], at: int, more: str) -> None:
    longer = [*words[:at], more, *words[at:]]
    assert meaning_key(" ".join(words)) != meaning_key(" ".join(longer))


@given(PLAIN, st.integers(0, 10**9), st.integers(0, 10**9))
def test_other_numbers_always_have_another_meaning(words: list[str], one: int, other: int) -> None:
    said = " ".join(words)
    assert (meaning_key(f"{said} {one}") == meaning_key(f"{said} {other}")) == (one == other)


HOSTILE = [
    *(
        "a",
        "1",
        "-",
        "*",
        "_",
        "'s ",
        "1,000",
        "a.",
        "10:",
        "ab://.",
        "two hundred ",
        "on Monday ",
        "every ",
        "?",
        "x'",
    ),
    *(
        "'s",
        "x'd",
        "http://",
        "\n- ",
        "\u0301",
        "please note that ",
        "1.1",
        "**a",
        "the ",
        "5 km/h",
        "😀",
        "\\",
        "( ",
        "[a](",
        "> ",
    ),
    *(" \"'", ' "', "5' ", "--a ", "../", "/a", ":)", "(: ", "!a ", "[", "f(", "a . ", "at 15h30 ", 'column "a', "A- "),
    *("column user-id ", "1.000 million ", "5 m long ", "a - ", "mother Ana ", "on Sun ", "__a__"),
]


@table("part", HOSTILE)
def test_a_hostile_text_has_a_meaning_however_long_it_is(part: str) -> None:
    assert meaning_key(part * (50_000 // len(part))).startswith(f"{VERSION}:")


def test_all_that_is_hostile_has_a_meaning_together() -> None:
    each = 200_000 // len(HOSTILE)
    assert meaning_key("".join(part * (each // len(part)) for part in HOSTILE)).startswith(f"{VERSION}:")


@table("text", ["", " ", "\0", "\ud800", "\x1f|\x1f", "=", "|", "\n", "1" * 5000, "1" * 5000 + " million"])
def test_no_text_is_refused(text: str) -> None:
    assert compare_meanings(text, text) == SameMeaning()


def test_a_month_with_a_long_s_is_that_month() -> None:
    assert meaning_key("on ſept 5, 2020") == meaning_key("on Sept 5, 2020")


TOLD, AGAIN = a_memory("a", text="Ana is in Rome."), a_memory("b", text="ana is in Rome")


def test_two_that_say_the_same_in_other_words_are_alike() -> None:
    assert are_paraphrases(TOLD, AGAIN)
    assert paraphrase_key(TOLD) == paraphrase_key(AGAIN) != NO_KEY


@table("level", Level)
def test_a_record_of_what_happened_is_like_nothing_else(level: Level) -> None:
    record = TOLD.with_changes(level=level)
    assert paraphrase_key(record) == NO_KEY
    assert not are_paraphrases(record, AGAIN)
    assert not are_paraphrases(AGAIN, record)
    assert not are_paraphrases(record, AGAIN.with_changes(level=level))


def test_an_event_and_a_long_text_are_like_nothing_else() -> None:
    assert (
        paraphrase_key(TOLD.with_changes(kind=Kind.EVENT))
        == paraphrase_key(TOLD.with_changes(text="Ana is in Rome. " * 200))
        == NO_KEY
    )
