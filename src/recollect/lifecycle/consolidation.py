"""Consolidation: find memories with the same content, so that one can replace the others.

Similar vectors do not mean agreement: more than half of the pairs that contradict each other are similar. So similarity
only selects candidates, and the words decide. A memory replaces another if it has all words of the other in the same
order, and adds nothing that could change the meaning: no number, date, name, negation or condition. Replacement is not
transitive: a replaced memory is near its replacement, not only near a third one. A memory that conflicts with a near
one takes no part: the curator decides which is right. This module decides and never acts.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from recollect.errors import FieldError, show
from recollect.model import validation
from recollect.model.memory import MAX_LIST_ITEMS, Memory, MemoryId
from recollect.model.validation import to_nfc
from recollect.text.data_files import load_data_file
from recollect.text.lexer import POSSESSIVE
from recollect.text.paraphrase import MAX_COMPARED_CHARS, SameMeaning, canonicalize_text, compare_meanings

IMPORTANCE_BONUS = 0.1
"""How much the importance of the lead is raised above its most important member, once."""

DEFAULT_IMPORTANCE = 0.5
"""The importance of a memory without one, here as in ranking."""

MIN_GROUP_MEMORIES, MAX_GROUP_MEMORIES = 2, MAX_LIST_ITEMS
"""How many memories a group may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPolicy:
    """How similar candidates must be, how many form a group, and from which size a scope counts.

    A scope is checked if it has more than `more_than` memories. The similarity threshold belongs to an embedder; 0.8 is
    the seed's. It only selects the memories to compare: the words decide.
    """

    threshold: float = 0.8
    least: int = 3
    more_than: int = 20

    def __post_init__(self) -> None:
        if validation.require_fraction("threshold", self.threshold) <= 0.0:
            raise FieldError(
                f"{show(self.threshold)} is not above 0; use a similarity above 0, at most 1", field="threshold"
            )
        if not MIN_GROUP_MEMORIES <= validation.require_count("least", self.least) <= MAX_GROUP_MEMORIES:
            raise FieldError(
                f"{show(self.least)} is not within {MIN_GROUP_MEMORIES}..{MAX_GROUP_MEMORIES}", field="least"
            )
        validation.require_count("more_than", self.more_than)


@dataclass(frozen=True, slots=True)
class ConsolidationGroup:
    """Memories with the same content, and the lead that replaces the others."""

    lead: Memory
    others: tuple[Memory, ...]

    @property
    def members(self) -> tuple[Memory, ...]:
        """All memories of the group, ordered by id."""
        return tuple(sorted((self.lead, *self.others), key=lambda one: one.id))


@dataclass(frozen=True, slots=True)
class UnmergedMemory:
    """A memory near several others that stays as it is, the reason, and the other memory."""

    memory: Memory
    reason: str
    other: Memory


@dataclass(frozen=True, slots=True)
class Consolidation:
    """The groups to merge, and what is left for the curator; both ordered by id."""

    groups: tuple[ConsolidationGroup, ...]
    unmerged: tuple[UnmergedMemory, ...]


def find_consolidation(
    memories: Sequence[Memory],
    neighbors: Sequence[Sequence[int]],
    *,
    least: int,
    made: Collection[MemoryId],
    conflicts: Callable[[Memory, Memory], bool],
) -> Consolidation:
    """Find groups of at least `least` memories to merge, and explain which others stay.

    The memories come ordered by id; `neighbors` lists the rows near each, nearest first. A memory is explained if it is
    near enough others for a group, but joins none. Memories in `made`, which come from earlier consolidations, can
    replace others but are not replaced, so that a second run changes nothing. `conflicts` returns whether two memories
    share a subject and cannot both be true.
    """
    grouping = _Grouping([_MemoryWords.of(one) for one in memories], neighbors, frozenset(made), conflicts)
    isolated = {row for row, others in enumerate(neighbors) if not others}
    disputes = {row: other for row in range(len(memories)) if (other := grouping.find_dispute(row)) is not None}
    free = {
        row for row in range(len(memories)) if row not in isolated | disputes.keys() and not grouping.find_obstacle(row)
    }
    groups = grouping.find_groups(free, least)
    grouped = {row for lead, others in groups for row in (lead, *others)}
    left_over = (row for row, others in enumerate(neighbors) if len(others) >= least - 1 and row not in grouped)
    return Consolidation(
        tuple(
            ConsolidationGroup(memories[lead], tuple(memories[row] for row in sorted(others)))
            for lead, others in groups
        ),
        tuple(grouping.explain_unmerged(row, disputes.get(row)) for row in left_over),
    )


def raise_importance(members: Iterable[Memory], made: Collection[MemoryId]) -> float:
    """Return the importance of the lead: above the highest of the group.

    A member that an earlier consolidation made counts without the bonus, since it got it then.
    """
    return max(
        _importance_of(one)
        if one.id in made
        else min(_importance_of(one) + IMPORTANCE_BONUS, 1.0)  # only once, however often it is consolidated
        for one in members
    )


def _importance_of(memory: Memory) -> float:
    return DEFAULT_IMPORTANCE if memory.importance is None else memory.importance


@dataclass(frozen=True, slots=True)
class _MemoryWords:
    """The words of a memory in order, and counted as distinctive and plain words."""

    memory: Memory
    words: tuple[str, ...]
    distinctive: Counter[str]
    plain: Counter[str]

    @classmethod
    def of(cls, memory: Memory) -> "_MemoryWords":
        """Read the words of a memory; none for a text too long to compare."""
        if len(memory.text) > MAX_COMPARED_CHARS:
            return cls(memory, (), Counter(), Counter())
        tokens = [one for one in canonicalize_text(memory.embedded_text) if one.text or one.key == POSSESSIVE]
        telling = Counter(one.key for one in tokens if one.kind not in _PLAIN_SORTS)
        return cls(
            memory,
            tuple(one.key for one in tokens),
            telling,
            Counter(one.key for one in tokens if one.kind in _PLAIN_SORTS),
        )

    @property
    def merge_key(self) -> tuple[object, ...]:
        """The fields that must be equal for two memories to merge.

        So the words of one speaker never replace another's, a less trusted memory never changes a more trusted one, and
        a merged memory is visible to the same readers for the same time.
        """
        one = self.memory
        speaker = None if one.speaker is None else to_nfc(one.speaker).casefold()
        return one.kind, speaker, one.trust, one.shared, one.valid_until, one.subject

    def speaks_for(self, other: "_MemoryWords") -> bool:
        """Return whether it has all words of the other in order, and adds nothing that could matter.

        What could matter is a distinctive word, such as a number or name, or a word that changes the meaning.
        """
        if not other.words or self.distinctive != other.distinctive or self.merge_key != other.merge_key:
            return False
        added_words = Counter(self.words) - Counter(other.words)
        return not any(word.lower() in MEANING_CHANGING_WORDS for word in added_words) and _is_subsequence(
            other.words, self.words
        )

    def is_at_odds_with(self, other: "_MemoryWords") -> bool:
        """Return whether the two differ only in distinctive words, in one plain word, or in word order."""
        if not self.words or not other.words or self.words == other.words:
            return False
        missing_words, added_words = self.plain - other.plain, other.plain - self.plain
        if self.distinctive != other.distinctive:
            return not missing_words or not added_words
        return missing_words.total() == added_words.total() <= 1


_PLAIN_SORTS = ("word", "order")
"""The kinds of words that are not distinctive."""


def _is_subsequence(words: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether `others` contains these words in this order, possibly with words in between."""
    rest = iter(others)
    return all(word in rest for word in words)


@dataclass(slots=True)
class _Grouping:
    """The search for groups among memories that are near each other."""

    memories: Sequence[_MemoryWords]
    neighbors: Sequence[Sequence[int]]
    consolidated_ids: Set[MemoryId]
    conflicts: Callable[[Memory, Memory], bool]
    overflow: set[int] = field(default_factory=set[int])

    def find_obstacle(self, row: int) -> str | None:
        """Return why a memory can be in no group, or `None` if it can."""
        memory = self.memories[row].memory
        if memory.pinned:
            return "is pinned"
        if memory.topic_key is not None:
            return "has a topic, and changes only with it"
        return None if self.memories[row].words else "is too long to be compared by its words"

    def find_dispute(self, row: int) -> int | None:
        """Return the nearest row that conflicts with this one, or `None`."""
        return next((other for other in self.neighbors[row] if self._are_at_odds(row, other)), None)

    def _are_at_odds(self, row: int, other: int) -> bool:
        one, two = self.memories[row], self.memories[other]
        if one.merge_key[1] != two.merge_key[1]:  # two people may say different things
            return False
        return self.conflicts(one.memory, two.memory) or one.is_at_odds_with(two)

    def find_groups(self, free: Set[int], least: int) -> list[tuple[int, list[int]]]:
        """Return each lead with the rows it replaces.

        Greedy: the next lead is the row that replaces most remaining rows; of equals, the newest, then the first.
        """
        covered = {row: self._find_covered(row, free) for row in free}
        queue = [self._queue_entry(row, len(others)) for row, others in covered.items() if len(others) >= least - 1]
        heapify(queue)
        groups, grouped = list[tuple[int, list[int]]](), set[int]()
        while queue:
            entry = heappop(queue)
            row = entry[-1]
            others = [] if row in grouped else [one for one in covered[row] if one not in grouped]
            if len(others) < least - 1:
                continue
            if self._queue_entry(row, len(others)) != entry:  # some were taken since it was queued
                heappush(queue, self._queue_entry(row, len(others)))
                continue
            groups.append((row, others[: MAX_GROUP_MEMORIES - 1]))
            self.overflow |= set(others[MAX_GROUP_MEMORIES - 1 :])
            grouped |= {row, *others[: MAX_GROUP_MEMORIES - 1]}
        return sorted(groups)

    def _find_covered(self, row: int, free: Set[int]) -> list[int]:
        own = self.memories[row]
        others = (
            one
            for one in self.neighbors[row]
            if one in free and self.memories[one].memory.id not in self.consolidated_ids
        )
        return [one for one in others if own.speaks_for(self.memories[one])]

    def _queue_entry(self, row: int, count: int) -> tuple[int, float, int]:
        memory = self.memories[row].memory
        return -count, -(memory.observed_at or memory.created_at).timestamp(), row

    def explain_unmerged(self, row: int, dispute: int | None) -> UnmergedMemory:
        """Explain why a memory near several others stays as it is."""
        one = self.memories[row]
        reason, other = self.find_obstacle(row), self.memories[self.neighbors[row][0] if dispute is None else dispute]
        if reason is None and dispute is not None:
            subject = self.conflicts(one.memory, other.memory)
            difference = (
                f"both are of the subject {one.memory.subject!r}"
                if subject
                else _describe_difference(one.memory, other.memory)
            )
            reason = f"may contradict what is near it: {difference}"
        elif reason is None and row in self.overflow:
            reason = f"more than {MAX_GROUP_MEMORIES} memories say the same; the next run continues"
        elif reason is None and one.merge_key != other.merge_key:
            names = [
                name
                for name, own, its in zip(_MERGE_KEY_NAMES, one.merge_key, other.merge_key, strict=True)
                if own != its
            ]
            reason = f"has another {names[0]} than what is near it"
        elif reason is None:
            reason = f"too few memories say the same: {_describe_difference(one.memory, other.memory)}"
        return UnmergedMemory(one.memory, reason, other.memory)


_MERGE_KEY_NAMES = ("kind", "speaker", "trust", "reach", "end", "subject")
"""The names of the merge key's fields in an explanation."""


def _describe_difference(memory: Memory, other: Memory) -> str:
    """Describe how two texts differ."""
    if max(len(memory.text), len(other.text)) > MAX_COMPARED_CHARS:
        return "one of them is too long to be compared"
    comparison = compare_meanings(memory.embedded_text, other.embedded_text)
    return (
        "no difference"
        if isinstance(comparison, SameMeaning)
        else f"{comparison.kind}, {comparison.old!r} → {comparison.new!r}"
    )


MEANING_CHANGING_WORDS = frozenset(
    {POSSESSIVE, *load_data_file("recollect.text", "en/sentences.toml").words("consolidation.meaning_changing")}
)
"""Words that may change the meaning of a sentence: possession, time, condition, source."""
