"""Consolidation: which memories say the same, so that one of them can speak for all; decides, never acts.

Being near each other is no agreement: more than half of the pairs that contradict each other are. So nearness only says
who is looked at, and the words decide. A memory speaks for another if it says all that the other says, in the same
order, and nothing besides that could turn it: no number, date, name, negation or condition. Nothing is passed on:
whoever is spoken for is near the one that speaks, not near somebody in between. And whoever is at odds with anybody
near takes no part: which of the two is right is for the curator to say.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heapify, heappop, heappush

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.memory import MAX_LIST_ITEMS, Memory, MemoryId
from recollect.model.validation import to_nfc
from recollect.text.lexicon import split_words
from recollect.text.paraphrase import MAX_COMPARED_CHARS, SameMeaning, canonicalize_text, compare_meanings
from recollect.text.tokens import POSSESSIVE

IMPORTANCE_BONUS = 0.1
"""How much more important the one is than the most important of those that it speaks for, once."""

DEFAULT_IMPORTANCE = 0.5
"""What an importance that nobody said counts as, here as in a ranking."""

MIN_GROUP_MEMORIES, MAX_GROUP_MEMORIES = 2, MAX_LIST_ITEMS
"""How many memories can become one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPolicy:
    """How near memories must be to be looked at, how many make a group, and above how many a scope is looked at.

    The threshold belongs to an embedder; 0.8 is the seed's. It only says who is compared: the words decide.
    """

    threshold: float = 0.8
    least: int = 3
    more_than: int = 20

    def __post_init__(self) -> None:
        if validation.require_fraction("threshold", self.threshold) <= 0.0:
            raise FieldError(f"{show(self.threshold)} is not above 0, so that all would be near", field="threshold")
        if not MIN_GROUP_MEMORIES <= validation.require_count("least", self.least) <= MAX_GROUP_MEMORIES:
            raise FieldError(
                f"{show(self.least)} is not within {MIN_GROUP_MEMORIES}..{MAX_GROUP_MEMORIES}", field="least"
            )
        validation.require_count("more_than", self.more_than)


@dataclass(frozen=True, slots=True)
class ConsolidationGroup:
    """Memories that say the same, and the one of them that speaks for all."""

    lead: Memory
    others: tuple[Memory, ...]

    @property
    def members(self) -> tuple[Memory, ...]:
        """All of them, in the order of ids."""
        return tuple(sorted((self.lead, *self.others), key=lambda one: one.id))


@dataclass(frozen=True, slots=True)
class UnmergedMemory:
    """A memory that is near several others and stays as it is, why, and which other memory that concerns."""

    memory: Memory
    reason: str
    other: Memory


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What can become one, and what is left for the curator; both in the order of ids."""

    groups: tuple[ConsolidationGroup, ...]
    unmerged: tuple[UnmergedMemory, ...]


def find_consolidation(
    memories: Sequence[Memory],
    near: Sequence[Sequence[int]],
    *,
    least: int,
    made: Collection[MemoryId],
    rivals: Callable[[Memory, Memory], bool],
) -> Consolidation:
    """Which of the memories can become one, at least so many at a time, and which of those near several stay.

    They are given in the order of ids; `near` names those near each, the nearest first. Those that were `made` of
    others before speak for others and are not spoken for, so that the same again changes nothing. `rivals` tells
    whether two are of one subject and cannot both be true.
    """
    work = _Grouping([_MemoryWords.of(one) for one in memories], near, frozenset(made), rivals)
    alone = {row for row, others in enumerate(near) if not others}
    disputes = {row: other for row in range(len(memories)) if (other := work.find_dispute(row)) is not None}
    free = {row for row in range(len(memories)) if row not in alone | disputes.keys() and not work.find_obstacle(row)}
    groups = work.find_groups(free, least)
    taken = {row for lead, others in groups for row in (lead, *others)}
    crowd = (row for row, others in enumerate(near) if len(others) >= least - 1 and row not in taken)
    return Consolidation(
        tuple(
            ConsolidationGroup(memories[lead], tuple(memories[row] for row in sorted(others)))
            for lead, others in groups
        ),
        tuple(work.explain_unmerged(row, disputes.get(row)) for row in crowd),
    )


def raise_importance(members: Iterable[Memory], made: Collection[MemoryId]) -> float:
    """How important the one is: more than the most important of them, unless that was made so before."""
    return max(
        _importance_of(one)
        if one.id in made
        else min(_importance_of(one) + IMPORTANCE_BONUS, 1.0)  # once, however often it is consolidated
        for one in members
    )


def _importance_of(memory: Memory) -> float:
    return DEFAULT_IMPORTANCE if memory.importance is None else memory.importance


@dataclass(frozen=True, slots=True)
class _MemoryWords:
    """What a memory says: its words in order, those that tell it from others of the same words, and the others."""

    memory: Memory
    words: tuple[str, ...]
    distinctive: Counter[str]
    plain: Counter[str]

    @classmethod
    def of(cls, memory: Memory) -> "_MemoryWords":
        """What the memory says; of one that is too long to be compared, nothing."""
        if len(memory.text) > MAX_COMPARED_CHARS:
            return cls(memory, (), Counter(), Counter())
        found = [one for one in canonicalize_text(memory.embedded_text) if one.text or one.key == POSSESSIVE]
        telling = Counter(one.key for one in found if one.kind not in _PLAIN_SORTS)
        return cls(
            memory,
            tuple(one.key for one in found),
            telling,
            Counter(one.key for one in found if one.kind in _PLAIN_SORTS),
        )

    @property
    def merge_key(self) -> tuple[object, ...]:
        """What memories must have in common to become one: nobody is heard for another, what is trusted less changes
        nothing of what is trusted more, and nobody sees more or less of it, or for longer, than before.
        """
        one = self.memory
        speaker = None if one.speaker is None else to_nfc(one.speaker).casefold()
        return one.kind, speaker, one.trust, one.shared, one.valid_until, one.subject

    def speaks_for(self, other: "_MemoryWords") -> bool:
        """Whether it says all that the other says, in the same order, and besides nothing that could turn it."""
        if not other.words or self.distinctive != other.distinctive or self.merge_key != other.merge_key:
            return False
        more = Counter(self.words) - Counter(other.words)
        return not any(word.lower() in MEANING_CHANGING_WORDS for word in more) and _is_subsequence(
            other.words, self.words
        )

    def is_at_odds_with(self, other: "_MemoryWords") -> bool:
        """Whether the two are the same but for what tells them apart, for one word, or for the order."""
        if not self.words or not other.words or self.words == other.words:
            return False
        lacking, more = self.plain - other.plain, other.plain - self.plain
        if self.distinctive != other.distinctive:
            return not lacking or not more
        return lacking.total() == more.total() <= 1


_PLAIN_SORTS = ("word", "order")
"""The sorts of words that tell nothing by themselves."""


def _is_subsequence(said: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the others have these words in this order, whatever is between them."""
    rest = iter(others)
    return all(word in rest for word in said)


@dataclass(slots=True)
class _Grouping:
    """One look at memories that are near each other."""

    sayings: Sequence[_MemoryWords]
    near: Sequence[Sequence[int]]
    consolidated_ids: Set[MemoryId]
    rivals: Callable[[Memory, Memory], bool]
    overflow: set[int] = field(default_factory=set[int])

    def find_obstacle(self, row: int) -> str | None:
        """Why a memory can take no part, if it cannot, whatever is near it."""
        memory = self.sayings[row].memory
        if memory.pinned:
            return "is pinned"
        if memory.topic_key is not None:
            return "is of a topic, and changes with that"
        return None if self.sayings[row].words else "is too long to be compared by its words"

    def find_dispute(self, row: int) -> int | None:
        """The nearest of those near it that it is at odds with."""
        return next((other for other in self.near[row] if self._are_at_odds(row, other)), None)

    def _are_at_odds(self, row: int, other: int) -> bool:
        one, two = self.sayings[row], self.sayings[other]
        if one.merge_key[1] != two.merge_key[1]:  # two people may well say two things
            return False
        return self.rivals(one.memory, two.memory) or one.is_at_odds_with(two)

    def find_groups(self, free: Set[int], least: int) -> list[tuple[int, list[int]]]:
        """Who speaks for whom: always the one next that speaks for most of those that are left, the newest of several,
        and then the first.
        """
        wanted = {row: self._find_covered(row, free) for row in free}
        queue = [self._queue_entry(row, len(others)) for row, others in wanted.items() if len(others) >= least - 1]
        heapify(queue)
        groups, taken = list[tuple[int, list[int]]](), set[int]()
        while queue:
            place = heappop(queue)
            row = place[-1]
            others = [] if row in taken else [one for one in wanted[row] if one not in taken]
            if len(others) < least - 1:
                continue
            if self._queue_entry(row, len(others)) != place:  # some were taken since
                heappush(queue, self._queue_entry(row, len(others)))
                continue
            groups.append((row, others[: MAX_GROUP_MEMORIES - 1]))
            self.overflow |= set(others[MAX_GROUP_MEMORIES - 1 :])
            taken |= {row, *others[: MAX_GROUP_MEMORIES - 1]}
        return sorted(groups)

    def _find_covered(self, row: int, free: Set[int]) -> list[int]:
        own = self.sayings[row]
        others = (
            one for one in self.near[row] if one in free and self.sayings[one].memory.id not in self.consolidated_ids
        )
        return [one for one in others if own.speaks_for(self.sayings[one])]

    def _queue_entry(self, row: int, count: int) -> tuple[int, float, int]:
        return -count, -_observed_at(self.sayings[row].memory).timestamp(), row

    def explain_unmerged(self, row: int, dispute: int | None) -> UnmergedMemory:
        """Why a memory that is near several stays as it is."""
        one = self.sayings[row]
        reason, other = self.find_obstacle(row), self.sayings[self.near[row][0] if dispute is None else dispute]
        if reason is None and dispute is not None:
            subject = self.rivals(one.memory, other.memory)
            told = (
                f"both are of the subject {one.memory.subject!r}"
                if subject
                else _describe_difference(one.memory, other.memory)
            )
            reason = f"may contradict what is near it: {told}"
        elif reason is None and row in self.overflow:
            reason = f"more than {MAX_GROUP_MEMORIES} say the same; the next run goes on"
        elif reason is None and one.merge_key != other.merge_key:
            names = [
                name
                for name, own, its in zip(_MERGE_KEY_NAMES, one.merge_key, other.merge_key, strict=True)
                if own != its
            ]
            reason = f"has another {names[0]} than what is near it"
        elif reason is None:
            reason = f"too few say all of the same: {_describe_difference(one.memory, other.memory)}"
        return UnmergedMemory(one.memory, reason, other.memory)


_MERGE_KEY_NAMES = ("kind", "speaker", "trust", "reach", "end", "subject")
"""What memories must have in common, as it is told."""


def _observed_at(memory: Memory) -> datetime:
    return memory.observed_at or memory.created_at


def _describe_difference(memory: Memory, other: Memory) -> str:
    """How two texts differ."""
    if max(len(memory.text), len(other.text)) > MAX_COMPARED_CHARS:
        return "one of them is too long to be compared"
    found = compare_meanings(memory.embedded_text, other.embedded_text)
    return "in nothing" if isinstance(found, SameMeaning) else f"{found.kind}, {found.old!r} → {found.new!r}"


MEANING_CHANGING_WORDS = frozenset(
    {
        POSSESSIVE,
        *split_words("""
        if when whenever unless whether while until till since once after before during except besides but yet although
        though however only just almost nearly hardly barely without instead rather than otherwise or nor
        former formerly ex past previous previously next future deputy vice assistant acting interim
        sometimes usually often rarely seldom occasionally weekend weekends weekday weekdays
        want wants wanted plan plans planned intend intends intended hope hopes hoped would could should might may try
        tries tried ask asks asked wonder wonders wondered say says said tell tells told think thinks thought believe
        believes believed consider considers considered considering promise promises promised going about dream dreams
        pretend pretends seem seems claim claims deny denies stop stops stopped quit used wish wishes doubt doubts fail
        fails failed refuse refuses forgot
        kein keine keinen nicht nie pas jamais sin non nein nunca inte ikke niet geen
        """),
    }
)
"""What may turn a sentence into another if it is added: whose it is, when and whether it holds, who says so."""
