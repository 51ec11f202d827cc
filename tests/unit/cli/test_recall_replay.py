"""A replay in words: every cause has a sentence, and every part that differs a line."""

from recollect.api import schemas
from recollect.cli import recall
from recollect.model.context import DifferenceKind, ReplayDifference
from recollect.packing.budget import Budget
from recollect.packing.pack import Replay, pack
from recollect.packing.prompt import Prompt
from recollect.testing.builders import a_memory, a_ranking
from tests.tables import table

CONTEXT = pack(a_ranking([a_memory("a")]), Budget(500), Prompt("0" * 16))
CAUSES = [what for what in DifferenceKind if not what.is_effect]


def test_an_identical_one_says_so_in_a_line() -> None:
    again = Replay(CONTEXT, ())
    assert (again.identical, list(recall.describe_replay(again)), list(recall.list_differences(again))) == (
        True,
        [recall.IDENTICAL_MESSAGE],
        [],
    )
    assert repr(again) == "<Replay of None: identical>"
    assert schemas.recall.Replay.of(again).to_json()["identical"] is True


@table("what", CAUSES)
def test_every_cause_has_a_sentence_with_what_it_was_and_is(what: DifferenceKind) -> None:
    again = Replay(
        CONTEXT,
        (
            ReplayDifference(what, "\x1b name", "\x1b was", "\x1b is"),
            ReplayDifference(DifferenceKind.TOKENS, None, "1", "2"),
        ),
    )
    first, second = recall.describe_replay(again)
    assert first == "not identical: the tokens"
    assert second.startswith("because ")
    assert second.isprintable()
    assert repr(again) == "<Replay of None: 2 differences>"


def test_each_cause_is_told_in_words_of_its_own() -> None:
    told = {
        list(recall.describe_replay(Replay(CONTEXT, (ReplayDifference(what), ReplayDifference(DifferenceKind.TEXT)))))[
            1
        ]
        for what in CAUSES
    }
    assert len(told) == len(CAUSES)


def test_parts_are_counted_and_each_is_told_if_asked() -> None:
    again = Replay(
        CONTEXT,
        (
            *(
                ReplayDifference(DifferenceKind.PACKED, "a", "0.5", "0.25"),
                ReplayDifference(DifferenceKind.PACKED, "b", None, "0.5"),
            ),
            *(
                ReplayDifference(DifferenceKind.OMITTED, "b", "0.5 budget 3"),
                ReplayDifference(DifferenceKind.TEXT, None, None, "sum"),
            ),
        ),
    )
    assert list(recall.describe_replay(again)) == [
        "not identical: packed in 2 places, omitted in 1 place, the text",
        "the recorded context does not show why",
    ]
    assert list(recall.list_differences(again)) == [
        "packed a: was 0.5, is 0.25",
        "packed b: was missing, is 0.5",
        "omitted b: was 0.5 budget 3, is missing",
        "text: the recorded text is unknown because part of it was erased",
    ]


@table(
    ("differences", "told"),
    [
        ([ReplayDifference(DifferenceKind.TEXT, None, "sum", "other")], "text: changed"),
        (
            [ReplayDifference(DifferenceKind.NOT_RECORDED), ReplayDifference(DifferenceKind.TEXT, None, None, "sum")],
            "text: the recorded text was not stored",
        ),
    ],
)
def test_no_sum_of_a_text_is_shown_to_people(differences: list[ReplayDifference], told: str) -> None:
    assert list(recall.list_differences(Replay(CONTEXT, tuple(differences)))) == [told]
