"""What was said of memories counts by what it is, by whom it is and how often; nobody counts for everybody."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.evaluation.votes import WORDS_THAT_COUNT, WORTH_OF, hear
from recollect.model.memory import MemoryId
from recollect.model.training_example import Experience
from recollect.model.usage import VOTES_THAT_COUNT, Sign, Use

from .users import ANA, a_vote, an_experience

M0, M1 = MemoryId("m0"), MemoryId("m1")


def test_a_vote_counts_for_more_than_a_sign_and_against_as_much_as_for() -> None:
    assert WORTH_OF[Use.HELPED] == -WORTH_OF[Use.MISLED] > WORTH_OF[Use.QUOTED] > 0.0
    said = [
        an_experience("a", votes=[a_vote("a", "m0"), a_vote("a", "m1", Use.MISLED)]),
        an_experience("b", signs=[Sign("b", M0, Use.QUOTED)]),
    ]
    heard = hear(said)
    assert heard.said == {("a", M0): 1.0, ("a", M1): -1.0, ("b", M0): 0.5}
    assert (dict(heard.uses), heard.principals) == (dict.fromkeys(WORTH_OF, 1), 1)


def test_that_success_followed_says_nothing_of_which_should_come_first() -> None:
    """All that a context shows have it alike, so to learn from it would be to learn who was shown."""
    signs = [Sign("c", one, Use.FOLLOWED) for one in (M0, M1)]
    assert not hear([an_experience(signs=signs)]).said
    heard = hear([an_experience(votes=[a_vote("c", "m0")], signs=signs)])
    assert (heard.said, dict(heard.uses)) == ({("c", M0): 1.0}, {Use.HELPED: 1})


def test_where_somebody_voted_signs_say_nothing_more() -> None:
    signs = [Sign("c", one, use) for one in (M0, M1) for use in (Use.FOLLOWED, Use.QUOTED)]
    heard = hear([an_experience(votes=[a_vote("c", "m0", Use.MISLED)], signs=signs)])
    assert heard.said == {("c", M0): -1.0, ("c", M1): 0.5}
    assert dict(heard.uses) == {Use.MISLED: 1, Use.QUOTED: 1}


def test_what_several_say_of_a_memory_adds_up() -> None:
    votes = [a_vote("c", "m0", by="ben"), a_vote("c", "m0", by="cleo"), a_vote("c", "m0", Use.MISLED, by="dan")]
    heard = hear([an_experience(votes=votes)])
    assert heard.said == {("c", M0): 1.0}
    assert heard.principals == 3


def test_of_one_principal_the_newest_five_words_on_a_memory_count() -> None:
    said = [an_experience(f"c{n}", votes=[a_vote(f"c{n}", "m0", minutes=n)]) for n in range(8)]
    said.append(an_experience("other", votes=[a_vote("other", "m1")]))
    said.append(an_experience("ben", votes=[a_vote("ben", "m0", by="ben")]))
    random.Random(1).shuffle(said)
    heard = hear(said)
    newest = {f"c{n}" for n in range(8 - VOTES_THAT_COUNT, 8)}
    assert {context for context, _ in heard.said} == {*newest, "other", "ben"}


def test_so_do_quotations() -> None:
    said = [an_experience(f"c{n}", days=n, signs=[Sign(f"c{n}", M0, Use.QUOTED)]) for n in range(8)]
    assert sorted(context for context, _ in hear(said).said) == ["c3", "c4", "c5", "c6", "c7"]
    assert (dict(hear(said).uses), hear(said).principals) == ({Use.QUOTED: 5}, 0)  # nobody said anything


def test_signs_take_no_vote_of_whoever_votes_without_a_name() -> None:
    """Such a vote is the scope's, and signs are found in the scope."""
    misled = [
        an_experience(f"c{n}", votes=[a_vote(f"c{n}", "m0", Use.MISLED, by=str(ANA), minutes=n)]) for n in range(5)
    ]
    quoted = [an_experience(f"d{n}", days=1 + n, signs=[Sign(f"d{n}", M0, Use.QUOTED)]) for n in range(5)]
    heard = hear([*misled, *quoted])
    assert dict(heard.uses) == {Use.MISLED: 5, Use.QUOTED: 5}
    assert sum(heard.said.values()) == -5.0 + 5 * WORTH_OF[Use.QUOTED]


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
    words = hear([*votes, *signs, ben]).said
    assert {worth for (context, _), worth in words.items() if not context.startswith("s")} == {1.0}
    said = sum(worth for (context, _), worth in words.items() if context.startswith("s"))
    assert said == pytest.approx(WORDS_THAT_COUNT * WORTH_OF[Use.QUOTED])
    assert set(hear(signs).said.values()) == {WORTH_OF[Use.QUOTED]}  # alone, they drown nobody


def test_nobody_can_be_called_what_signs_are_counted_by() -> None:
    said = [an_experience(f"c{n}", days=n, signs=[Sign(f"c{n}", M0, Use.QUOTED)]) for n in range(5)]
    said += [an_experience(f"d{n}", votes=[a_vote(f"d{n}", "m0", by=f"quoted {ANA}", minutes=n)]) for n in range(5)]
    assert len(hear(said).said) == 10


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
    assert set(hear(loud).said.values()) == {1.0}  # alone, there is nobody to drown
    words = hear([*loud, *quiet]).said
    said = sum(worth for (context, _), worth in words.items() if context.startswith("c"))
    assert said == pytest.approx(WORDS_THAT_COUNT)
    assert sum(worth for (context, _), worth in words.items() if context.startswith("q")) == 50.0


def test_whoever_speaks_of_all_that_contexts_show_counts_for_no_more_than_a_hundred_who_speak_of_one() -> None:
    def spoken(context: str, by: str, memories: int) -> Experience:
        votes = [a_vote(context, f"{context}-{one}", by=by) for one in range(memories)]
        return an_experience(context, [[0.5] * 10], shown=range(10), votes=votes, name=f"{context}-")

    many = [spoken(f"m{n}", f"person {n}", 1) for n in range(100)]
    words = hear([*many, *(spoken(f"l{n}", "mallory", 10) for n in range(100))]).said
    said = [sum(worth for (context, _), worth in words.items() if context[0] == one) for one in "ml"]
    assert said == [100.0, pytest.approx(WORDS_THAT_COUNT)]


def test_words_on_what_was_not_shown_or_is_no_candidate_say_nothing() -> None:
    assert not hear([an_experience(shown=[0], votes=[a_vote("c", "m1"), a_vote("c", "m7")])]).said
    assert not hear([an_experience(shown=[], signs=[Sign("c", M0, Use.QUOTED)])]).said
    assert hear([]).principals == 0


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
    first = hear(experiences)
    dice.shuffle(experiences)
    again = hear(experiences)
    assert dict(again.said) == dict(first.said)
    assert all(abs(worth) <= 3.0 for worth in first.said.values())
