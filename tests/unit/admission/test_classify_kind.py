"""Which kind of memory a text is: told where its words leave no doubt, and else not."""

from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.admission.classify import MAX_KIND_CHARS, detect_kind
from recollect.model.enums import Kind


@table(
    ("text", "kind"),
    [
        ("Ana prefers window seats", Kind.PREFERENCE),
        ("I prefer tabs over spaces", Kind.PREFERENCE),
        ("The user likes short answers", Kind.PREFERENCE),
        ("User dislikes cilantro.", Kind.PREFERENCE),
        ("I can't stand loud bars.", Kind.PREFERENCE),
        ("My favourite colour is green.", Kind.PREFERENCE),
        ("Ana's favorite band is Mogwai", Kind.PREFERENCE),
        ("Rye bread is one of my favourites", Kind.PREFERENCE),
        ("All merges must be reviewed by two people.", Kind.CONSTRAINT),
        ("The service must never log tokens.", Kind.CONSTRAINT),
        ("Backups should always be encrypted.", Kind.CONSTRAINT),
        ("Invoices need to be sent before the 5th.", Kind.CONSTRAINT),
        ("The importer requires Python 3.11", Kind.CONSTRAINT),
        ("Smoking is strictly prohibited in the lab", Kind.CONSTRAINT),
        ("We must not share the list.", Kind.CONSTRAINT),
        ("Never deploy on a Friday", Kind.CONSTRAINT),
        ("Please always answer in French", Kind.CONSTRAINT),
        ("Please don't use emojis", Kind.CONSTRAINT),
        ("You should always cite sources", Kind.CONSTRAINT),
        ("From now on, use metric units", Kind.CONSTRAINT),
        ("Step 1: run the tests. Step 2: tag the commit.", Kind.PROCEDURE),
        ("To deploy, first run the tests, then tag the release", Kind.PROCEDURE),
        ("First, soak the beans. Then boil them for an hour.", Kind.PROCEDURE),
        ("Churn is defined as cancelled over active accounts", Kind.DEFINITION),
        ('"Done" means deployed and watched for a day', Kind.DEFINITION),
        ("SLO stands for service level objective", Kind.DEFINITION),
        ("The term 'grip' refers to a bundle of excerpts", Kind.DEFINITION),
        ("By active we mean seen in the last week", Kind.DEFINITION),
        ("We decided to use PostgreSQL", Kind.DECISION),
        ("The team has agreed on two-week sprints", Kind.DECISION),
        ("Decision: ship without the importer", Kind.DECISION),
        ("We're going with the blue logo", Kind.DECISION),
        ("Correction: the meeting is on Tuesday", Kind.CORRECTION),
        ("I was wrong about the port; it is 5433", Kind.CORRECTION),
        ("“Done” means deployed", Kind.DEFINITION),
    ],
)
def test_words_that_leave_no_doubt_tell_the_kind(text: str, kind: Kind) -> None:
    assert detect_kind(text) is kind


@table(
    "text",
    [
        "",
        "The meeting is on Tuesday",
        "Ana moved to Ghent",
        "Do you prefer tea?",
        "If I liked tea I would buy some",
        "I like that!",
        "She likes it",
        "It looks like rain",
        "I would like to know more",
        "That must have been fun",
        "You must be tired",
        "Winning must feel great",
        "This should be fun",
        "It means a lot to me",
        "I mean the other one",
        "First of all, thanks",
        "The first time was the best",
        "First we ate, then we slept",
        "Never mind",
        "Don't deploy yet",
        "Never give up",
        "Always fun on a Sunday",
        "The mustard is prefermented",
        "He didn't say whether they decided to go",
        "It requires a lot of work",
        "A must for me: good bread",
    ],
)
def test_words_that_leave_a_doubt_tell_nothing(text: str) -> None:
    assert detect_kind(text) is None


def test_only_the_beginning_of_a_text_tells_its_kind() -> None:
    assert (
        detect_kind("So it goes on and on. " * (MAX_KIND_CHARS // 20) + "Churn is defined as cancelled accounts")
        is None
    )


WORDS = st.sampled_from(["I", "we", "must", "first", "then", "step 1", "means", "prefer", ",", ".", '"', "'", "\n"])


@given(st.text() | st.lists(WORDS).map(" ".join))
def test_any_text_has_a_kind_or_none_and_always_the_same(text: str) -> None:
    assert detect_kind(text) in {*Kind, None}
    assert detect_kind(text) is detect_kind(text)


@table("unit", ["a", "a ", "step 1 ", "'", '"', "must ", "First, ", "\n", "A"])
def test_a_megabyte_of_the_same_ends(unit: str) -> None:
    assert detect_kind(unit * (1_000_000 // len(unit))) in {*Kind, None}
