"""What was said of memories counts by what it is, by whom it is and how often; nobody counts for everybody."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.evaluation.feedback_data import MAX_VOTES_PER_VOICE, WORTH_BY_USE, weigh_votes
from recollect.model.context import MAX_COUNTED_VOTES, Sign, TrainingExample, Use
from recollect.model.memory import MemoryId

from .users import ANA, a_vote, an_experience

M0, M1 = MemoryId("m0"), MemoryId("m1")


def test_a_vote_counts_for_more_than_a_sign_and_against_as_much_as_for() -> None:
    assert WORTH_BY_USE[Use.HELPED] == -WORTH_BY_USE[Use.MISLED] > WORTH_BY_USE[Use.QUOTED] > 0.0
    said = [
        an_experience("a", votes=[a_vote("a", "m0"), a_vote("a", "m1", Use.MISLED)]),
        an_experience("b", signs=[Sign("b", M0, Use.QUOTED)]),
    ]
    heard = weigh_votes(said)
    assert heard.worth_by_memory == {("a", M0): 1.0, ("a", M1): -1.0, ("b", M0): 0.5}
    assert (dict(heard.count_by_use), heard.principals) == (dict.fromkeys(WORTH_BY_USE, 1), 1)


def test_that_success_followed_says_nothing_of_which_should_come_first() -> None:
    """All that a context shows have it alike, so to learn from it would be to learn who was shown."""
    signs = [Sign("c", one, Use.FOLLOWED) for one in (M0, M1)]
    assert not weigh_votes([an_experience(signs=signs)]).worth_by_memory
    heard = weigh_votes([an_experience(votes=[a_vote("c", "m0")], signs=signs)])
    assert (heard.worth_by_memory, dict(heard.count_by_use)) == ({("c", M0): 1.0}, {Use.HELPED: 1})


def test_where_somebody_voted_signs_say_nothing_more() -> None:
    signs = [Sign("c", one, use) for one in (M0, M1) for use in (Use.FOLLOWED, Use.QUOTED)]
    heard = weigh_votes([an_experience(votes=[a_vote("c", "m0", Use.MISLED)], signs=signs)])
    assert heard.worth_by_memory == {("c", M0): -1.0, ("c", M1): 0.5}
    assert dict(heard.count_by_use) == {Use.MISLED: 1, Use.QUOTED: 1}


def test_what_several_say_of_a_memory_adds_up() -> None:
    votes = [a_vote("c", "m0", by="ben"), a_vote("c", "m0", by="cleo"), a_vote("c", "m0", Use.MISLED, by="dan")]
    heard = weigh_votes([an_experience(votes=votes)])
    assert heard.worth_by_memory == {("c", M0): 1.0}
    assert heard.principals == 3


def test_of_one_principal_the_newest_five_words_on_a_memory_count() -> None:
    said = [an_experience(f"c{n}", votes=[a_vote(f"c{n}", "m0", minutes=n)]) for n in range(8)]
    said.append(an_experience("other", votes=[a_vote("other", "m1")]))
    said.append(an_experience("ben", votes=[a_vote("ben", "m0", by="ben")]))
    random.Random(1).shuffle(said)
    heard = weigh_votes(said)
    newest = {f"c{n}" for n in range(8 - MAX_COUNTED_VOTES, 8)}
    assert {context for context, _ in heard.worth_by_memory} == {*newest, "other", "ben"}


def test_so_do_quotations() -> None:
    said = [an_experience(f"c{n}", days=n, signs=[Sign(f"c{n}", M0, Use.QUOTED)]) for n in range(8)]
    assert sorted(context for context, _ in weigh_votes(said).worth_by_memory) == ["c3", "c4", "c5", "c6", "c7"]
    assert (dict(weigh_votes(said).count_by_use), weigh_votes(said).principals) == (
        {Use.QUOTED: 5},
        0,
    )  # nobody said anything


def test_signs_take_no_vote_of_whoever_votes_without_a_name() -> None:
    """Such a vote is the scope's, and signs are found in the scope."""
    misled = [
        an_experience(f"c{n}", votes=[a_vote(f"c{n}", "m0", Use.MISLED, by=str(ANA), minutes=n)]) for n in range(5)
    ]
    quoted = [an_experience(f"d{n}", days=1 + n, signs=[Sign(f"d{n}", M0, Use.QUOTED)]) for n in range(5)]
    heard = weigh_votes([*misled, *quoted])
    assert dict(heard.count_by_use) == {Use.MISLED: 5, Use.QUOTED: 5}
    assert sum(heard.worth_by_memory.values()) == -5.0 + 5 * WORTH_BY_USE[Use.QUOTED]


def test_however_many_signs_there_are_no_vote_counts_for_less_and_they_for_a_hundred() -> None:
    votes = [
        an_experience(f"v{n}", [[0.5] * (n + 1)], shown=[n], votes=[a_vote(f"v{n}", f"m{n}", by=str(ANA))])
        for n in range(50)
    ]
    signs = [
        an_experience(
            f"s{n}", [[0.5]], shown=[0], signs=[Sign(f"s{n}", MemoryId(f"s{n}-0"), Use.QUOTED)], name=f"s{n}-"
        )
        for n in range(5_000)
    ]
    ben = an_experience("ben", votes=[a_vote("ben", "m0", by="ben")])
    words = weigh_votes([*votes, *signs, ben]).worth_by_memory
    assert {worth for (context, _), worth in words.items() if not context.startswith("s")} == {1.0}
    said = sum(worth for (context, _), worth in words.items() if context.startswith("s"))
    assert said == pytest.approx(MAX_VOTES_PER_VOICE * WORTH_BY_USE[Use.QUOTED])
    assert set(weigh_votes(signs).worth_by_memory.values()) == {WORTH_BY_USE[Use.QUOTED]}  # alone, they drown nobody


def test_nobody_can_be_called_what_signs_are_counted_by() -> None:
    said = [an_experience(f"c{n}", days=n, signs=[Sign(f"c{n}", M0, Use.QUOTED)]) for n in range(5)]
    said += [an_experience(f"d{n}", votes=[a_vote(f"d{n}", "m0", by=f"quoted {ANA}", minutes=n)]) for n in range(5)]
    assert len(weigh_votes(said).worth_by_memory) == 10


def test_whoever_votes_very_often_counts_for_a_hundred_words() -> None:
    many = 10_000
    loud = [
        an_experience(
            f"c{n:05}",
            [[0.5] * (n // 4 + 1)],
            shown=[n // 4],
            votes=[a_vote(f"c{n:05}", f"m{n // 4}", by="loud", minutes=n)],
        )
        for n in range(many)
    ]
    quiet = [an_experience(f"q{n}", votes=[a_vote(f"q{n}", "m0", by=f"quiet {n}")]) for n in range(50)]
    assert set(weigh_votes(loud).worth_by_memory.values()) == {1.0}  # alone, there is nobody to drown
    words = weigh_votes([*loud, *quiet]).worth_by_memory
    said = sum(worth for (context, _), worth in words.items() if context.startswith("c"))
    assert said == pytest.approx(MAX_VOTES_PER_VOICE)
    assert sum(worth for (context, _), worth in words.items() if context.startswith("q")) == 50.0


def test_whoever_speaks_of_all_that_contexts_show_counts_for_no_more_than_a_hundred_who_speak_of_one() -> None:
    def spoken(context: str, by: str, memories: int) -> TrainingExample:
        votes = [a_vote(context, f"{context}-{one}", by=by) for one in range(memories)]
        return an_experience(context, [[0.5] * 10], shown=range(10), votes=votes, name=f"{context}-")

    many = [spoken(f"m{n}", f"person {n}", 1) for n in range(100)]
    words = weigh_votes([*many, *(spoken(f"l{n}", "mallory", 10) for n in range(100))]).worth_by_memory
    said = [sum(worth for (context, _), worth in words.items() if context[0] == one) for one in "ml"]
    assert said == [100.0, pytest.approx(MAX_VOTES_PER_VOICE)]


def test_words_on_what_was_not_shown_or_is_no_candidate_say_nothing() -> None:
    assert not weigh_votes([an_experience(shown=[0], votes=[a_vote("c", "m1"), a_vote("c", "m7")])]).worth_by_memory
    assert not weigh_votes([an_experience(shown=[], signs=[Sign("c", M0, Use.QUOTED)])]).worth_by_memory
    assert weigh_votes([]).principals == 0


uses = st.sampled_from([Use.HELPED, Use.MISLED])
voices = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 1), uses), max_size=60)


@given(voices, st.randoms(use_true_random=False))
def test_the_order_of_contexts_makes_no_difference(said: list[tuple[str, int, int, Use]], dice: random.Random) -> None:
    votes = {(by, number, memory): use for by, number, memory, use in said}
    experiences = [
        an_experience(
            f"c{n}",
            votes=[
                a_vote(f"c{n}", f"m{memory}", use, by=by, minutes=n // 2)
                for (by, number, memory), use in votes.items()
                if number == n
            ],
        )
        for n in range(10)
    ]
    first = weigh_votes(experiences)
    dice.shuffle(experiences)
    again = weigh_votes(experiences)
    assert dict(again.worth_by_memory) == dict(first.worth_by_memory)
    assert all(abs(worth) <= 3.0 for worth in first.worth_by_memory.values())
