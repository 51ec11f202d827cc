"""What each part of a profile gives: the parts, and the table of them."""

from datetime import UTC, datetime, timedelta

import ablation
import pytest

from recollect.evaluation.judgments import JudgedQuery
from recollect.evaluation.measures import ndcg
from recollect.evaluation.report import ProfileEvaluation, QueryAnswer, evaluate_answers
from recollect.model.scope import Scope
from recollect.ranking.profile import Hearing
from recollect.ranking.profiles import builtin_profile
from recollect.ranking.tuning_report_check import fingerprint
from recollect.version import __version__
from tests.tables import table

DEFAULT = builtin_profile("default")
VARIANTS = dict(ablation.variants(DEFAULT))
AT = datetime(2026, 1, 1, tzinfo=UTC)
WANTED = {"a": 1.0}


def an_outcome(*found: tuple[str, ...]) -> ProfileEvaluation:
    """What it comes to if these are found, query by query; each needs `a`."""
    answers = [
        QueryAnswer(
            query=JudgedQuery(id=f"q{place}", scope=Scope.parse("acme"), text="which", asked_at=AT, grades=WANTED),
            found_ids=ids,
            tokens=None,
            complete=False,
            duration=timedelta(milliseconds=1),
        )
        for place, ids in enumerate(found)
    ]
    return evaluate_answers("default", "1", ablation.WIDE, answers, (ablation.K, ablation.WIDE))


def test_every_part_of_the_default_profile_is_left_out_once() -> None:
    terms = [f"`{term.signal.name}`" for term in DEFAULT.terms if term.weight > 0.0]
    factors = [f"`{factor.signal.name}` (factor)" for factor in DEFAULT.factors]
    gates = ["the gate", "what else opens the gate"]
    turns = ["hearing as turns"] if DEFAULT.hearing is Hearing.TURNS else []
    assert list(VARIANTS) == [*terms, *factors, *gates, *turns, "words (meaning alone)", "meaning (words alone)"]


@table("part", VARIANTS)
def test_a_profile_without_a_part_ranks_by_other_numbers(part: str) -> None:
    assert fingerprint(VARIANTS[part]) != fingerprint(DEFAULT)


@table("name", [term.signal.name for term in DEFAULT.terms])
def test_the_weight_of_what_is_left_out_goes_to_the_others_in_proportion(name: str) -> None:
    weights = {term.signal.name: term.weight for term in DEFAULT.terms}
    left = {term.signal.name: term.weight for term in VARIANTS[f"`{name}`"].terms}
    assert left == pytest.approx({one: of / (1.0 - weights[name]) for one, of in weights.items() if one != name})


@table("name", [term.signal.name for term in DEFAULT.terms])
def test_no_gate_asks_for_a_signal_that_is_left_out(name: str) -> None:
    assert [way for gate in VARIANTS[f"`{name}`"].gates for way in gate.alternatives if way.signal.name == name] == []


def test_what_is_lost_is_the_mean_over_the_queries() -> None:
    whole, part = an_outcome(("a",), ("a",)), an_outcome(("a",), ("x", "a"))
    lost = ablation.lost(whole, part)
    assert lost["recall@10"].mean == 0.0
    assert lost["ndcg@10"].mean == (ndcg(("x", "a"), WANTED, ablation.K) - 1.0) / 2


def test_the_table_tells_of_the_profile_and_of_each_part() -> None:
    whole, part = an_outcome(("a",), ("a",)), an_outcome((), ())
    written = ablation.table(DEFAULT, "hashing", {"talk": whole}, {"`dated`": {"talk": ablation.lost(whole, part)}})
    told = f"Profile `default` version {DEFAULT.version}, fingerprint `{fingerprint(DEFAULT)[: ablation.STAMP]}`, "
    assert written.startswith(f"{told}recollect {__version__}, embedder hashing, ")
    assert "over 2 queries of talk." in written
    assert "| nothing: the whole | 1.000 | 1.000 |" in written
    assert "| `dated` | **−1.000** [−1.000, −1.000] | **−1.000** [−1.000, −1.000] |" in written
    assert written.endswith("- talk: uncategorised 1.00 (2 queries); recall@50 1.00")


def test_what_may_be_chance_is_not_bold() -> None:
    whole, part = an_outcome(("a",), ("x",)), an_outcome(("x",), ("a",))
    written = ablation.table(DEFAULT, "hashing", {"talk": whole}, {"`dated`": {"talk": ablation.lost(whole, part)}})
    assert "| `dated` | +0.000 [" in written


def test_the_table_takes_the_place_of_the_former_one_and_nothing_else() -> None:
    page = f"before {ablation.BEGIN}\nold\n{ablation.END} after"
    assert ablation.placed(page, r"new \1") == f"before {ablation.BEGIN}\nnew \\1\n{ablation.END} after"


@table("places", [0, 2])
def test_a_page_without_one_place_for_the_table_is_refused(places: int) -> None:
    with pytest.raises(SystemExit, match=f"has {places} places for it"):
        ablation.placed(places * f"{ablation.BEGIN}\n{ablation.END}\n", "new")


def test_a_table_is_asked_which_profile_it_is_about() -> None:
    whole = an_outcome(("a",))
    page = ablation.placed(f"{ablation.BEGIN}{ablation.END}", ablation.table(DEFAULT, "hashing", {"talk": whole}, {}))
    assert ablation.measured_with(page) == fingerprint(DEFAULT)[: ablation.STAMP]
    assert ablation.measured_with(f"{ablation.BEGIN}\nold\n{ablation.END}") is None
