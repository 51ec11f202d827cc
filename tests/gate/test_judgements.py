"""The judgements of the gate are what the generator writes, and nobody's handiwork.

`scripts/bench synthetic --out tests/gate/judgements` writes them again.
"""

from collections import Counter

from synthetic.__main__ import SCOPES, SEED
from synthetic.making import scripts
from synthetic.script import Dice, files

from recollect.evaluation.judgments import read_judgments
from tests.tables import table

from .bench import JUDGEMENTS

FEWEST, LARGEST = 8, 300_000


def test_the_generator_writes_exactly_these_files() -> None:
    made = {name: text.encode() for name, text in files(scripts(SEED, SCOPES)).items()}
    assert {path.name: path.read_bytes() for path in JUDGEMENTS.iterdir()} == made


def test_the_files_are_small() -> None:
    assert sum(path.stat().st_size for path in JUDGEMENTS.iterdir()) <= LARGEST


def test_all_that_is_judged_was_there_when_it_was_asked_for() -> None:
    judgements = read_judgments(JUDGEMENTS)
    assert (judgements.absent_pairs, judgements.late_pairs, judgements.unjudged_queries) == (0, 0, 0)


def test_every_category_has_enough_questions() -> None:
    asked = Counter(query.category for query in read_judgments(JUDGEMENTS).queries)
    assert min(asked.values()) >= FEWEST


@table("number", range(SCOPES))
def test_a_scope_depends_on_the_seed_and_its_number_alone(number: int) -> None:
    assert files([scripts(SEED, number + 1)[number]]) == files([scripts(SEED, SCOPES)[number]])


def test_another_seed_makes_other_judgements() -> None:
    assert files(scripts(SEED, 1)) != files(scripts(SEED + 1, 1))


def test_dice_give_what_they_were_given() -> None:
    dice = Dice("a seed")
    assert sorted(dice.shuffled(range(9))) == list(range(9))
    assert len(set(dice.some(range(9), 4))) == 4
    assert {dice.below(3) for _ in range(99)} == {0, 1, 2}
