"""What can be learned from contexts: who was shown where, what was said, and what signals said when it was asked."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recollect
from recollect.model.context import SkipReason, TrainingExample, TrainingSet, Use
from recollect.protocols import Purpose
from recollect.providers.hashing import HashingEmbedder
from recollect.ranking.profiles import builtin_profile
from recollect.testing.builders import ManualClock

from .stores import on_both_stores
from .test_replay import edited

ANA = "acme/ana"
PROFILES = ["default", "five-signal", "salience", "graph"]


class Agent:
    """An engine whose clock goes on by an hour with everything it does."""

    def __init__(self, target: str) -> None:
        self._now = datetime(2026, 3, 2, 9, tzinfo=UTC)
        self.engine = recollect.open(target, embedder="hashing", clock=self._hour)

    def _hour(self) -> datetime:
        self._now += timedelta(hours=1)
        return self._now

    def recall(self, question: str = "which seats on flights?", **more: object) -> recollect.Context:
        budget = recollect.Budget(2_000, items=4)
        return self.engine.recall(question, **{"scope": ANA, "tokens": budget, **more})  # type: ignore[arg-type]

    def only(self, profile: str = "default") -> TrainingExample:
        (found,) = self.told(profile)
        return found

    def told(self, profile: str = "default", scope: str = ANA) -> tuple[TrainingExample, ...]:
        return self.engine.contexts.training_examples(scope=scope, profile=profile).told

    def judged(self, question: str = "which seats on flights?", **more: object) -> recollect.Context:
        """A context of which somebody said that its first memory helped."""
        context = self.recall(question, **more)
        self.engine.feedback(context.id or "", scope=ANA, helped=[context.packed[0].id])
        return context


@pytest.fixture
def agent(target: str) -> Iterator[Agent]:
    agent = Agent(target)
    texts = ["window seats on flights", "no early flights", "the aisle in trains", "seats near Ben", "vegan meals"]
    kinds = ["observation", "procedure", "fact", "observation", "preference"]
    for number, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
        agent.engine.remember(f"Ana wants {text}", scope=ANA, kind=kind, importance=number / 5)
    agent.engine.remember("Everybody books flights by Friday", scope="acme", shared=True)
    with agent.engine:
        yield agent


def everything_since(agent: Agent, ids: list[str]) -> None:
    """All that would change what signals say, if it were known."""
    engine = agent.engine
    engine.remember("Ana wants seats on flights, whichever", scope=ANA, importance=1.0)
    engine.remember("Everybody wants seats on flights", scope="acme", shared=True)
    engine.revise(ids[0], "Ana wants something else", scope=ANA, importance=0.9)
    engine.forget(ids[1], scope=ANA)
    for _ in range(3):
        again = agent.recall()
        engine.feedback(again.id or "", scope=ANA, misled=[again.packed[0].id], by="ben")


@on_both_stores
@pytest.mark.parametrize("profile", PROFILES)
def test_signals_say_what_they_said_when_it_was_asked(agent: Agent, profile: str) -> None:
    context = agent.recall(profile=profile)
    expected = {scored.id: scored.explanation.opinions for scored in context.ranking}
    agent.engine.feedback(context.id or "", scope=ANA, helped=[context.packed[0].id])
    everything_since(agent, [scored.id for scored in context.ranking if str(scored.memory.scope) == ANA])
    found = next(one for one in agent.told(profile) if one.context == context.id)
    assert found.opinions.T.tolist() == [list(expected[id]) for id in sorted(expected)]
    assert found.question == ("which seats on flights?",)
    assert [sorted(expected)[one.candidate] for one in found.shown] == [scored.id for scored in context.packed]


def test_a_place_is_that_in_the_text_which_goes_by_kind(agent: Agent) -> None:
    context = agent.recall("seats on early flights, meals, trains")
    agent.engine.feedback(context.id or "", scope=ANA, helped=[context.packed[0].id])
    read = sorted(context.packed, key=lambda scored: context.text.index(scored.memory.text))
    assert [scored.id for scored in read] != [scored.id for scored in context.packed]
    places = {one.memory: one.place or 0 for one in agent.only().shown}
    assert sorted(places, key=places.__getitem__) == [scored.id for scored in read]
    assert sorted(places.values()) == [1, 2, 3, 4]


def test_what_another_profile_ranked_is_left_out(agent: Agent) -> None:
    """What would be learned from it is who was shown by that one."""
    agent.judged(profile="five-signal")
    ours = agent.judged(profile="default")
    found = agent.engine.contexts.training_examples(scope=ANA, profile="default")
    assert ([one.context for one in found.told], dict(found.left_out)) == ([ours.id], {SkipReason.OTHER_PROFILE: 1})


def test_a_profile_is_another_one_as_soon_as_a_number_is(agent: Agent) -> None:
    agent.judged(profile="five-signal")
    five = builtin_profile("five-signal")
    first, second, *rest = five.terms
    moved = replace(first, weight=first.weight - 0.01), replace(second, weight=second.weight + 0.01), *rest
    for other in (replace(five, terms=moved), replace(five, min_score=0.1)):
        assert agent.engine.contexts.training_examples(scope=ANA, profile=other).left_out == {
            SkipReason.OTHER_PROFILE: 1
        }


def test_the_same_formula_under_another_name_is_the_same_profile(agent: Agent) -> None:
    context = agent.judged(profile="five-signal")
    renamed = replace(
        builtin_profile("five-signal"), name="ours", version="7", about="Ours.", report="ours.report.json"
    )
    (found,) = agent.engine.contexts.training_examples(scope=ANA, profile=renamed).told
    assert found.context == context.id


def test_that_success_followed_tells_no_memory_from_another(agent: Agent) -> None:
    context, both = agent.recall(), agent.judged("which flights?")
    task = agent.engine.episodes.start("Book a flight", scope=ANA)
    agent.engine.episodes.complete(task.id, 1.0, scope=ANA, contexts=[context.id or "", both.id or ""])
    found = agent.engine.contexts.training_examples(scope=ANA)
    assert ([one.context for one in found.told], dict(found.left_out)) == ([both.id], {SkipReason.ONLY_FOLLOWED: 1})
    assert {sign.use for sign in found.told[0].signs} == {Use.FOLLOWED}


def test_who_is_shown_for_being_pinned_and_does_not_pass_the_gates_is_no_candidate(agent: Agent) -> None:
    pinned = agent.engine.remember("Ana pays by card", scope=ANA, pinned=True).id
    context = agent.judged("vegan")
    assert pinned in {scored.id for scored in context.packed}
    found = agent.only("default")
    assert {one.memory for one in found.shown} == {scored.id for scored in context.packed} - {pinned}
    assert found.opinions.shape[1] == len(agent.engine.search("vegan", scope=ANA, limit=50))


@on_both_stores
def test_only_contexts_that_anybody_said_anything_of_teach_and_each_scope_its_own(agent: Agent) -> None:
    first, silent, last = (agent.recall(question) for question in ("which seats?", "which meals?", "which flights?"))
    agent.engine.remember("Ben wants seats", scope="acme/ben")
    theirs = agent.recall("which seats?", scope="acme/ben")
    agent.engine.feedback(theirs.id or "", scope="acme/ben", helped=[theirs.packed[0].id])
    for one in (last, first):
        agent.engine.feedback(one.id or "", scope=ANA, misled=[one.packed[0].id])
    assert [one.context for one in agent.told()] == [first.id, last.id]
    assert silent.id not in {one.context for one in agent.told()}
    assert [one.context for one in agent.told(scope="acme/ben")] == [theirs.id]
    none = agent.engine.contexts.training_examples(scope="acme")
    assert (none.told, none.left_out, [str(one) for one in none.scopes]) == ((), {}, ["acme"])


def test_signs_teach_as_votes_do(agent: Agent) -> None:
    context = agent.recall("which flights?")
    quoted = next(scored for scored in context.packed if "early" in scored.memory.text)
    agent.engine.feedback(context.id or "", scope=ANA, answer="Note that Ana wants no early flights, please.")
    found = agent.only()
    assert [(sign.memory, sign.use) for sign in found.signs] == [(quoted.id, Use.QUOTED)]
    assert found.votes == ()


def test_a_brief_teaches_what_takes_no_question_and_a_question_what_needs_one(agent: Agent) -> None:
    asked, brief = agent.recall(), agent.engine.brief(scope=ANA)
    for one in (asked, brief):
        agent.engine.feedback(one.id or "", scope=ANA, helped=[one.packed[0].id])
    assert agent.only("default").context == asked.id
    assert (agent.only("session").context, agent.only("session").question) == (brief.id, ())
    left_out = [
        agent.engine.contexts.training_examples(scope=ANA, profile=profile).left_out
        for profile in ("default", "session")
    ]
    assert left_out == [{SkipReason.NO_QUESTION: 1}, {SkipReason.HAS_QUESTION: 1}]


@on_both_stores
def test_learning_counts_as_no_use_and_writes_nothing(agent: Agent) -> None:
    context = agent.recall()
    agent.engine.feedback(context.id or "", scope=ANA, helped=[context.packed[0].id])
    before = agent.engine.stats(), [agent.engine.contexts.usage(scored.id, scope=ANA) for scored in context.packed]
    first, again = agent.only(), agent.only()
    assert np.array_equal(first.opinions, again.opinions)
    assert before == (
        agent.engine.stats(),
        [agent.engine.contexts.usage(scored.id, scope=ANA) for scored in context.packed],
    )


@on_both_stores
def test_what_was_erased_since_was_not_shown(agent: Agent) -> None:
    context = agent.recall()
    gone, kept = (scored for scored in context.packed[:2])
    agent.engine.feedback(context.id or "", scope=ANA, helped=[gone.id, kept.id])
    agent.engine.erase(scope=ANA, id=gone.id)
    found = agent.only()
    assert gone.id not in {one.memory for one in found.shown} | {vote.memory for vote in found.votes}
    assert found.opinions.shape[1] == len(context.ranking) - 1
    assert {vote.memory for vote in found.votes} == {kept.id}
    agent.engine.erase(scope=ANA, everything=True)
    assert agent.told() == ()


@on_both_stores
@pytest.mark.parametrize("gone", [0, -1])
def test_where_something_shown_was_erased_since_nobody_knows_the_places(agent: Agent, gone: int) -> None:
    """Else who stood second would count as the first."""
    context = agent.judged()
    assert [one.place for one in sorted(agent.only().shown, key=lambda one: one.place or 0)] == [1, 2, 3, 4]
    agent.engine.feedback(context.id or "", scope=ANA, misled=[context.packed[1].id])
    own = [scored.id for scored in context.packed if str(scored.memory.scope) == ANA]
    agent.engine.erase(scope=ANA, id=own[gone])
    found = agent.only()
    assert [one.place for one in found.shown] == [None] * 3
    assert not found.has_all_places
    assert found.votes


@on_both_stores
def test_where_something_else_was_erased_places_are_known(agent: Agent) -> None:
    context = agent.judged(tokens=recollect.Budget(2_000, items=2))
    shown = {scored.id for scored in context.packed}
    own = [scored.id for scored in context.ranking if str(scored.memory.scope) == ANA and scored.id not in shown]
    agent.engine.erase(scope=ANA, id=own[0])
    assert agent.only().has_all_places


@on_both_stores
def test_a_context_that_came_from_another_store_is_left_out(
    agent: Agent, tmp_path_factory: pytest.TempPathFactory
) -> None:
    context = agent.recall()
    agent.engine.feedback(context.id or "", scope=ANA, helped=[context.packed[0].id])
    exported = list(agent.engine.export())
    with recollect.open(tmp_path_factory.mktemp("other") / "other.db", embedder="hashing") as engine:
        engine.remember("Ben wants nothing", scope="acme/ben")
        engine.import_(exported)
        found = engine.contexts.training_examples(scope=ANA)
        assert (found.told, found.left_out) == ((), {SkipReason.OTHER_STORE: 1})


def test_how_far_it_is_is_told_to_the_end(agent: Agent) -> None:
    for _ in range(2):
        context = agent.recall()
        agent.engine.feedback(context.id or "", scope=ANA, helped=[context.packed[0].id])
    told: list[tuple[int, int]] = []
    agent.engine.contexts.training_examples(scope=ANA, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 2), (1, 2), (2, 2)]


class Silenced:
    """Hashes texts as long as it may; then it fails whoever asks it anything."""

    name, dimensions = "silenced", 64
    silent = False

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        assert not self.silent, f"it was asked about {texts}"
        return HashingEmbedder(64).embed(texts, purpose)


class TestNothingLeavesTheMachine:
    """What is learned is learned from what was recorded, whatever the embedder is: it is never asked."""

    def experience(self, target: str, model: Silenced, profile: str = "default") -> TrainingSet:
        model.silent = True
        with recollect.open(target, embedder=model) as engine:  # which remembers no directions
            return engine.contexts.training_examples(scope=ANA, profile=profile)

    def live(self, engine: recollect.Engine, *questions: str, **more: Any) -> list[str]:
        """Ask, and say that what came first helped."""
        made = [engine.recall(question, scope=ANA, **more) for question in questions]
        for context in made:
            engine.feedback(context.id or "", scope=ANA, helped=[context.packed[0].id])
        return [context.id or "" for context in made]

    def test_the_model_is_not_asked_again(self, target: str) -> None:
        model = Silenced()
        with recollect.open(target, embedder=model) as engine:
            engine.remember_all([{"text": f"Ana wants seat {n}"} for n in range(3)], scope=ANA)
            made = self.live(engine, "which seat?", "which of the seats?")
        found = self.experience(target, model)
        assert ([one.context for one in found.told], dict(found.left_out)) == (made, {})

    @on_both_stores
    def test_contexts_of_another_model_are_left_out(self, target: str) -> None:
        with recollect.open(target, embedder="hashing-32") as engine:
            engine.remember("Ana wants seats", scope=ANA)
            self.live(engine, "which seats?")
        model = Silenced()
        recollect.re_embed(target, embedder=model)
        found = self.experience(target, model)
        assert (found.told, found.left_out) == ((), {SkipReason.UNRECORDED: 1})

    def test_contexts_that_lack_what_the_model_said_are_left_out(self, target: str, tmp_path: Path) -> None:
        model = Silenced()
        with recollect.open(target, embedder=model) as engine:
            engine.remember("Ana wants seats", scope=ANA)
            self.live(engine, "which seats?")
            lines = edited(engine, lambda trace: trace.pop("making"))
        other = str(tmp_path / "other.db")
        with recollect.open(other, embedder=model) as engine:
            engine.import_(lines)
        found = self.experience(other, model)
        assert (found.told, found.left_out) == ((), {SkipReason.UNRECORDED: 1})

    @on_both_stores
    def test_contexts_of_records_that_lost_their_directions_since_are_left_out(self, target: str) -> None:
        model, clock = Silenced(), ManualClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
        with recollect.open(target, embedder=model, clock=clock) as engine:
            engine.observe([{"text": "Ana wants seats", "at": clock() - timedelta(minutes=1)}], scope=ANA)
            clock.move(timedelta(days=2))
            engine.timeline.rollup(scope=ANA)
            self.live(engine, "which seats?", levels=("segment", "grip"))
            clock.move(timedelta(days=60))
            engine.admin.run("prune-vectors", scope=ANA)
        found = self.experience(target, model)
        assert (found.told, found.left_out) == ((), {SkipReason.UNRECORDED: 1})
