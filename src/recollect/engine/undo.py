"""Undo: what a run wrote stands again as it did before."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.admission.decision import begins
from recollect.admission.policy import Policy
from recollect.engine.dependencies import World
from recollect.engine.episode_ops import done_for
from recollect.engine.erase import descent
from recollect.engine.feedback import followed, not_followed, still_there
from recollect.engine.index_coverage import gap
from recollect.engine.supersession import is_a_truth, overlapping, rivals
from recollect.errors import Conflict, NotFound, show
from recollect.lifecycle.episodes import actions_by_episode, decided_by, outcome_of
from recollect.model import validation
from recollect.model.curation import Undone
from recollect.model.frozen_copy import amended
from recollect.model.index import Index
from recollect.model.level import Level
from recollect.model.memory import Memory, MemoryId, Status
from recollect.model.scope import Scope
from recollect.model.trust import Provenance, Trust, least
from recollect.protocols import Writing

if TYPE_CHECKING:
    from recollect.retrieval.evidence import Vector

UNDONE = "undone"
"""What is remarked of a memory that was not there before the run."""


def undo(world: World, scope: Scope, run: int) -> Undone:
    """Every memory of the scope that the run wrote gets its former version back, as a new one; all of them, or none.

    Refused if one of them has changed since, if another one holds of its subject or topic by now, or if a record of
    what happened would be found no more, nor anything in its place. What was made of a memory while it was trusted
    more, as one that somebody vouched for, is trusted no more than that one again; what scopes below made of it stays
    theirs to judge.
    """
    validation.a_count("run", run)

    vectors = _anew(world, scope, run)

    def change(writing: Writing) -> Undone:
        states = [_former(writing, scope, id, run) for id in _written_by(writing, scope, run)]
        if not states and run >= writing.commit:
            raise NotFound(f"there was no run {run} yet; the last one here is {writing.commit - 1}")
        if not states:
            nothing = f"run {run} changed no memory of {scope}"
            raise NotFound(f"{nothing}, or none that was not erased since; what is erased never comes back")
        for one in states:
            _refuse_second(writing, one, states, run, world.policy)
        _refuse_gap(writing, scope, states)
        fallen = {one.memory.id: one.memory.trust for one in states if one.memory.trust.less_than(one.present.trust)}
        # those that are put away go first: they may say what one of the others is to say again
        states.sort(key=lambda one: (one.memory.status is Status.ACTIVE, one.memory.id))
        memories = [writing.put(one.memory, vectors.get(one.memory.id, one.vector)) for one in states]
        memories += _fell_with(writing, scope, fallen, {one.id for one in memories}) if fallen else []
        for one in states:
            _sign_anew(world, writing, one)
        in_order = tuple(sorted(memories, key=lambda one: one.id))
        return Undone(scope=scope, undone=run, memories=in_order, run=writing.commit)

    return world.store.write(change)


def _anew(world: World, scope: Scope, run: int) -> "dict[MemoryId, Vector]":
    """Directions for the memories that come back into the index that has none of them any more: the same text has the
    same one. They are made before anybody has to wait.
    """

    def look(writing: Writing) -> list[Memory]:
        lacking = []
        for id in _written_by(writing, scope, run):
            present, found = writing.get(scope, id), writing.before(scope, id, run)
            if present is not None and found is not None and Index.VECTOR in present.left and found[1] is None:
                lacking += [found[0]] if Index.VECTOR not in found[0].left else []
        return lacking

    found = world.store.write(look)
    vectors = world.embed([one.embedded_text for one in found], "memory") if found else ()
    return {one.id: vector for one, vector in zip(found, vectors, strict=True)}


def _written_by(writing: Writing, scope: Scope, run: int) -> list[MemoryId]:
    """What the run wrote. A session is active with whatever is saved in it, and nobody takes that back."""
    found = [(id, writing.get(scope, id)) for id in writing.written_by(scope, run)]
    return [id for id, memory in found if memory is None or memory.level is not Level.SESSION]


@dataclass(frozen=True, slots=True)
class _State:
    """A memory as it is to stand, its direction where that is another than now, and as it stands."""

    memory: Memory
    vector: "Vector | None"
    present: Memory


def _former(writing: Writing, scope: Scope, id: MemoryId, run: int) -> _State:
    present, after = writing.get(scope, id), writing.before(scope, id, run + 1)
    found = writing.before(scope, id, run)
    if present is None or after is None or not _is_still(present, after[0]):
        if present is not None and after is not None and _is_still(present, found[0] if found else _unmade(after[0])):
            raise Conflict(f"run {run} was undone by run {present.commit}; nothing of it is left to undo")
        remedy = "undo first what was done to it later, or change it by hand"
        raise Conflict(f"the memory {show(id)} has changed since run {run}; {remedy}")
    if found is None:
        return _State(_unmade(present), None, present)
    memory, vector = found
    _refuse_silence(writing, memory)
    kept = memory.reads_like(present) and _same(vector, writing.direction(present))
    return _State(memory, None if kept else vector, present)


def _sign_anew(world: World, writing: Writing, state: _State) -> None:
    """What a task was decided by was followed by its success only as long as it counts as ended so."""
    if state.memory.level is not Level.EPISODE:
        return
    was, now, scope = outcome_of(state.present), outcome_of(state.memory), state.memory.scope
    if was is not None and now is None:
        actions = actions_by_episode(writing.timeline(scope, [Level.ACTION], statuses=tuple(Status)))
        others = writing.timeline(scope, [Level.EPISODE], statuses=tuple(Status))
        said = {one for other in others if _succeeded(world, other) for one in decided_by(other, actions[other.id])}
        decided = decided_by(state.present, actions[state.present.id])
        not_followed(writing, scope, [one for one in still_there(writing, scope, decided) if one not in said])
    if was is None and now is not None:
        done = done_for(writing, state.memory)
        if done and done[-1].created_at > now.at:
            raise Conflict(f"the episode {show(state.memory.id)} was worked on since it ended; end it anew")
        if _succeeded(world, state.memory):
            followed(writing, scope, still_there(writing, scope, decided_by(state.memory, done)), now.at)


def _succeeded(world: World, episode: Memory) -> bool:
    outcome = outcome_of(episode)
    return outcome is not None and outcome.score >= world.episodic.success


def _unmade(memory: Memory) -> Memory:
    """A memory that was not there before the run, once it is undone."""
    return memory.changed(status=Status.FORGOTTEN, remark=UNDONE)


def _refuse_silence(writing: Writing, memory: Memory) -> None:
    """What is put away behind another memory is recalled through that one, which must be there."""
    by = memory.superseded_by if memory.status is Status.CONSOLIDATED else None
    if by is not None and writing.get(memory.scope, by) is None:
        what = f"the memory {show(memory.id)} would be put away behind {show(by)}, which was erased"
        raise Conflict(f"{what}; forget it if it is not to be recalled")


def _refuse_gap(writing: Writing, scope: Scope, states: Sequence[_State]) -> None:
    """Whoever stands in for what has left an index does so until that is back, and nothing leaves one again in which
    nothing is found in its place by now.
    """
    gone = gap(writing, scope, [(one.present, one.memory) for one in states])
    if gone is not None:
        away = f"the record {show(gone.id)} would be outside of an index in which nothing is found in its place"
        raise Conflict(f"{away}; undo the later runs first, the last one before the others")


def _refuse_second(writing: Writing, state: _State, states: Sequence[_State], run: int, policy: Policy) -> None:
    """Of a subject one thing holds at a time: what would hold again must not do so beside another one, unless that
    stood beside it before the run and is still what it was.
    """
    memory = state.memory
    if memory.status is not Status.ACTIVE or not is_a_truth(memory, policy) or _holds_so(memory, state.present):
        return
    undone = {one.memory.id: one.memory for one in states}
    here = [one for one in rivals(writing, memory, policy) if one.id not in undone and (one.commit or 0) > run]
    there = overlapping(memory, (one for one in undone.values() if one.subject == memory.subject))
    other = next(iter([*here, *there]), None)
    if other is not None:
        holds = f"the memory {show(other.id)} holds of the subject {show(memory.subject)} by now"
        raise Conflict(f"{holds}, so that {show(memory.id)} cannot come back beside it; forget one of the two first")


def _holds_so(memory: Memory, present: Memory) -> bool:
    """Whether it is the truth about its subject already, for the same time."""
    names = ("status", "subject", "kind", "valid_until")
    same = all(getattr(memory, name) == getattr(present, name) for name in names)
    return same and begins(memory) == begins(present)


def _fell_with(writing: Writing, scope: Scope, fallen: dict[MemoryId, Trust], states: Set[MemoryId]) -> list[Memory]:
    """What was made of memories that are trusted less again, trusted no more than these; whatever an operator vouched
    for by itself, or wrote anew, stays as it is.
    """
    trusts = dict(fallen)
    known = [writing.get(scope, id) for id in descent(writing.lineage(scope), fallen) if id not in states]
    waiting = [one for one in known if one is not None and not _raised(writing, one)]
    written: dict[MemoryId, Memory] = {}
    fell = True
    while fell:
        fell = False
        for one in waiting:
            origins = [trusts[MemoryId(id)] for id in one.derived_from if id in trusts]
            trust = least([trusts.get(one.id, one.trust), *origins])
            if trust.less_than(trusts.get(one.id, one.trust)):
                trusts[one.id], fell = trust, True
                written[one.id] = one.changed(trust=trust)
    return [writing.put(one, None) for one in written.values()]


def _raised(writing: Writing, memory: Memory) -> bool:
    """Whether it is vouched for since later than it is there."""
    one = memory
    while one.trust is Trust.VOUCHED:
        earlier = writing.before(one.scope, one.id, one.commit or 0)
        if earlier is None:
            return one.provenance is not Provenance.OPERATOR
        one, _ = earlier
    return one is not memory


def _is_still(present: Memory, after: Memory) -> bool:
    """Whether the memory is what it was after the run, or is so again because all that came later was undone."""
    return amended(present, recorded_at=after.recorded_at, commit=after.commit) == after


def _same(one: "Vector | None", other: "Vector | None") -> bool:
    if one is None or other is None:
        return one is other
    return one.tobytes() == other.tobytes()
