"""Which memories are like others that say the same in other words."""

from recollect.model.enums import Kind, Level
from recollect.testing import a_memory
from recollect.text.paraphrase import NO_KEY, are_paraphrases, paraphrase_key
from tests.tables import table

TOLD, AGAIN = a_memory("a", text="Ana is in Rome."), a_memory("b", text="ana is in Rome")


def test_two_that_say_the_same_in_other_words_are_alike() -> None:
    assert are_paraphrases(TOLD, AGAIN)
    assert paraphrase_key(TOLD) == paraphrase_key(AGAIN) != NO_KEY


@table("level", Level)
def test_a_record_of_what_happened_is_like_nothing_else(level: Level) -> None:
    record = TOLD.changed(level=level)
    assert paraphrase_key(record) == NO_KEY
    assert not are_paraphrases(record, AGAIN)
    assert not are_paraphrases(AGAIN, record)
    assert not are_paraphrases(record, AGAIN.changed(level=level))


def test_an_event_and_a_long_text_are_like_nothing_else() -> None:
    assert (
        paraphrase_key(TOLD.changed(kind=Kind.EVENT))
        == paraphrase_key(TOLD.changed(text="Ana is in Rome. " * 200))
        == NO_KEY
    )
