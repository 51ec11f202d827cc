"""What is fenced off with `<private>` does not come through."""

from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table

from recollect.admission.screening import redact_private


@table(
    ("text", "left"),
    [
        ("a <private>b</private> c", "a [REDACTED] c"),
        ("<PRIVATE>b</Private>", "[REDACTED]"),
        ("<private reason='shy' x=1>b</private >", "[REDACTED]"),
        ("< private\n>b</ private>", "[REDACTED]"),
        ("<private>a<private>b</private>c</private>d", "[REDACTED]d"),
        ("<private>a</private> and <private>b</private>", "[REDACTED] and [REDACTED]"),
        ("<private></private>", "[REDACTED]"),
        ("<private/>x", "[REDACTED]"),
        ("a <private>b", "a [REDACTED]"),
        ("a <private>b<private>c</private>d", "a [REDACTED]"),
        ("a </private> b", "[REDACTED] b"),
        ("a</private></private>b<private>c</private>", "[REDACTED]b[REDACTED]"),
        ("<prvate>a<private>b</private>c</private>d", "[REDACTED]d"),
        ("<private data='<'>b</private> c", "[REDACTED] c"),
        ('<private data=">">b</private> c', "[REDACTED] c"),
        ("<private data=<>b</private> c", "[REDACTED] c"),
        ("<private why=it's>b isn't</private> c", "[REDACTED] c"),
        (f"<private {'a' * 3_000}>b</private> c", "[REDACTED] c"),
        ("a <private b", "a [REDACTED]"),
        ("a <private data='", "a [REDACTED]"),
        ("a </private", "[REDACTED]"),
        ("<private>line\nline</private>", "[REDACTED]"),
    ],
)
def test_what_is_private_is_replaced(text: str, left: str) -> None:
    assert redact_private(text) == left


@table("unseen", ["\u200b", "\u00ad", "\u2060", "\ufeff", "\ufe0f", "\U000e0101", "\u202e"])
@table("tags", [("<priv{}ate>", "</private>"), ("<private>", "</priv{}ate>"), ("<{}private{}>", "<{}/private>")])
def test_a_tag_is_known_with_characters_that_no_eye_sees(tags: tuple[str, str], unseen: str) -> None:
    start, end = (tag.replace("{}", unseen) for tag in tags)
    assert redact_private(f"Zoë {unseen} a {start}b{end} c") == f"Zoë {unseen} a [REDACTED] c"


def test_a_tag_in_wide_letters_is_a_tag() -> None:
    assert redact_private("a ＜ｐｒｉｖａｔｅ＞b＜／private＞ c") == "a [REDACTED] c"


@table("text", ["", "private", "<privateer>a</privateer>", "a < private b", "<b>private</b>", "&lt;private>"])
def test_a_text_without_the_tag_is_the_same(text: str) -> None:
    assert redact_private(text) is text


@given(
    st.lists(
        st.sampled_from(
            ["<private>", "</private>", "<PRIVATE a='b'>", "word", " ", "<", ">", "\u200b", "<priv\u00adate", "'", '="']
        ),
        max_size=12,
    ).map("".join)
)
def test_nothing_is_left_to_remove_and_no_word_behind_an_open_tag(text: str) -> None:
    left = redact_private(text)
    assert redact_private(left) == left
    assert (
        redact_private(f"<private>{text}") in {"[REDACTED]", f"[REDACTED]{left.removeprefix('[REDACTED]')}"}
        or "</private>" in text
    )


@table(
    "piece",
    ["<private>", "</private>", "<private ", "< ", "<private a", "<", "< private ", "<private ='", "<priv\u200bate "],
)
def test_a_hundred_thousand_characters_of_tags_come_to_an_end(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    assert redact_private(redact_private(text)) == redact_private(text)
