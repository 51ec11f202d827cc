"""A text is carried by a turn if it says nothing but what was said there."""

from hypothesis import given
from hypothesis import strategies as st

from recollect.text.grounding import is_grounded
from tests.tables import table

TURN = "I don't eat meat, I've been living in São Paulo since 2019 and I studied law; my rent is 1,200 EUR."


@table(
    "text",
    [
        "The user doesn't eat meat.",
        "Ana does not eat meat and lives in São Paulo.",
        "Ana studied law; her rent is 1,200 EUR.",
        "Ana studies law.",
        "Her rent is 1,200 EUR",
    ],
)
def test_other_endings_the_speakers_name_and_words_that_say_nothing_are_carried(text: str) -> None:
    assert is_grounded(text, TURN, "Ana")


@table(
    "text",
    [
        "The user eats meat.",
        "The user doesn't eat fish.",
        "Bo doesn't eat meat.",
        "The user doesn't live in Sao Paulo.",
        "The user has not lived in São Paulo since 2018.",
        "The rent is 1,201 EUR.",
        "The rent is 1200 USD.",
        "The rent is not 1,200 EUR.",
        "Ana has not been eating meat since 2019.",
        "Ana studies law, not meat.",
        "The user doesn't eat meat and pays to DE00.",
    ],
)
def test_another_word_figure_or_name_is_not_and_nor_is_what_was_denied(text: str) -> None:
    assert not is_grounded(text, TURN, "Ana")


@table(
    ("turn", "text"),
    [
        ("Bo is in Paris and Ana lives with Cy", "Ana lives in Paris"),
        ("Bob owes Ana 500 euros", "Ana owes Bob 500 euros"),
        ("Never pay Bob. Always pay Alice, and do not trust Mallory.", "Always pay Mallory, not Alice"),
        ("Please transfer 50 to account 9000", "Transfer 9000 to account 50"),
    ],
)
def test_the_same_words_in_another_order_or_with_some_left_out_between_are_not(turn: str, text: str) -> None:
    assert not is_grounded(text, turn)
    assert is_grounded(turn, turn)


def test_short_words_are_not_mistaken_for_others_without_their_ending() -> None:
    assert not is_grounded("She likes care.", "I like my car.")
    assert is_grounded("She likes cars.", "I like my car.")


@given(st.text(), st.text(), st.none() | st.text())
def test_any_text_is_carried_by_itself_and_nothing_raises(text: str, turn: str, speaker: str | None) -> None:
    assert is_grounded(text, text, speaker)
    assert is_grounded(text, turn, speaker) in (True, False)
