"""A ranking profile: what makes a memory good for one purpose, as terms, factors and gates.

Terms add up to a score, factors reduce it, and gates decide which candidates are scored at all.
"""

import math
import re
from dataclasses import dataclass, field, replace
from enum import StrEnum

from recollect.errors import ProfileError, show
from recollect.ranking.signals import QUESTION_SIGNALS, Relevance, SetSignal, Signal

NAME_PATTERN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
VERSION_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,54}(\+[0-9a-f]{8})?")
REPORT_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}\.json")
WEIGHT_TOLERANCE = 1e-9


class QuestionPolicy(StrEnum):
    """Whether a profile needs, allows or refuses a query."""

    NEEDED = "needed"
    OPTIONAL = "optional"
    REFUSED = "refused"


Question = QuestionPolicy  # the old name, found in pickles of earlier versions


class Hearing(StrEnum):
    """How a query is matched: with each memory alone, or with each as a turn of its session.

    As a turn, a memory is matched together with the turns before it, and a query that names a speaker is also tried
    in the speaker's own wording.
    """

    ALONE = "alone"
    TURNS = "turns"


@dataclass(frozen=True, slots=True)
class Term:
    """A weighted part of the score. `missing` is its value without evidence; if unset, evidence is required."""

    signal: Signal | SetSignal
    weight: float
    missing: float | None = None

    def __post_init__(self) -> None:
        _require_share(f"the weight of {self.signal.name}", self.weight)
        _require_share(f"{self.signal.name}: missing", self.missing)


@dataclass(frozen=True, slots=True)
class Factor:
    """A multiplier of the sum of all terms, within `floor`..1."""

    signal: Signal | SetSignal
    floor: float = 0.0
    missing: float | None = None

    def __post_init__(self) -> None:
        _require_share(f"the floor of {self.signal.name}", self.floor)
        _require_share(f"{self.signal.name}: missing", self.missing)


@dataclass(frozen=True, slots=True)
class Gate:
    """The minimum of a signal that a candidate needs to be scored; `otherwise` has alternatives."""

    signal: Signal
    at_least: float
    otherwise: tuple["Gate", ...] = ()
    """Other signals that open the gate as well, each on its own."""

    def __post_init__(self) -> None:
        _require_share(f"the gate {self.signal.name}", self.at_least)
        names = [way.signal.name for way in self.alternatives]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ProfileError(
                f"the gate {self.signal.name} is opened by {', '.join(twice)} twice; give each signal once"
            )
        if any(way.otherwise for way in self.otherwise):
            raise ProfileError(
                f"the gate {self.signal.name} has nested alternatives; give signals, each with its minimum"
            )

    @property
    def alternatives(self) -> tuple["Gate", ...]:
        """Everything that opens the gate: its own signal first."""
        return (self, *self.otherwise)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The terms, factors and gates for one purpose; an invalid one cannot be created.

    `report` names a file beside the profile that reports how well these numbers did. It does not affect ranking, and
    equality ignores it.
    """

    name: str
    version: str
    about: str
    terms: tuple[Term, ...]
    factors: tuple[Factor, ...] = ()
    gates: tuple[Gate, ...] = ()
    question: QuestionPolicy = QuestionPolicy.OPTIONAL
    hearing: Hearing = Hearing.ALONE
    min_score: float = 0.0
    max_items: int | None = None
    report: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        try:
            self._check()
        except ProfileError as error:
            raise ProfileError(f"profile {self.name!r}: {error}") from error

    def __repr__(self) -> str:
        return f"<Profile {self.name} {self.version}: {self.about}>"

    @property
    def uses(self) -> tuple[Term | Factor, ...]:
        """The terms and factors that make up the score."""
        return (*self.terms, *self.factors)

    @property
    def lenient(self) -> "Profile":
        """The profile with 0 wherever it requires evidence.

        It explains candidates that do not pass the gates.
        """
        terms = tuple(replace(term, missing=term.missing or 0.0) for term in self.terms)
        factors = tuple(replace(factor, missing=factor.missing or 0.0) for factor in self.factors)
        return replace(self, terms=terms, factors=factors)

    def _check(self) -> None:
        if not NAME_PATTERN.fullmatch(self.name):
            raise ProfileError("its name is not valid; use lowercase letters, digits and single hyphens")
        if not VERSION_PATTERN.fullmatch(self.version):
            raise ProfileError(f"its version is {show(self.version)}; give up to 55 letters, digits and . - _")
        if not self.about.strip():
            raise ProfileError("it has no `about`; describe what it is for")
        self._check_weights()
        self._check_question()
        self._check_gates()
        _require_share("min_score", self.min_score)
        if self.max_items is not None and self.max_items < 1:
            raise ProfileError(f"max_items is {self.max_items!r}; give at least 1, or leave it out")
        if self.report is not None and not REPORT_NAME_PATTERN.fullmatch(self.report):
            raise ProfileError(f"its report is {show(self.report)}; give the name of a .json file beside it")

    def _check_weights(self) -> None:
        total = math.fsum(term.weight for term in self.terms)
        if not abs(total - 1.0) <= WEIGHT_TOLERANCE:
            raise ProfileError(f"the weights add up to {total:.10g}, not 1")
        names = [use.signal.name for use in self.uses]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ProfileError(f"{', '.join(twice)} is used twice; use each signal once")
        if {"frequency", "rarity"} <= set(names):
            raise ProfileError("frequency rewards a high count and rarity a low one; use only one of them")

    def _check_question(self) -> None:
        weighted = {term.signal.name for term in self.terms if term.weight > 0.0}
        others: tuple[Factor | Gate, ...] = (*self.factors, *self._gate_alternatives)
        reads = QUESTION_SIGNALS & {*weighted, *(use.signal.name for use in others)}
        if self.question is QuestionPolicy.NEEDED and not reads:
            raise ProfileError("it needs a question, but none of its signals reads one")
        if self.question is QuestionPolicy.REFUSED and reads:
            raise ProfileError(f"it takes no question, but {', '.join(sorted(reads))} reads one")

    def _check_gates(self) -> None:
        """Check that each gate uses its signal with the options of the term, or with the defaults."""
        names = [gate.signal.name for gate in self.gates]
        if len(set(names)) < len(names):
            raise ProfileError("two gates use the same signal; keep the higher one")
        signals = {use.signal.name: use.signal for use in self.uses}
        for gate in self._gate_alternatives:
            name = gate.signal.name
            if name not in signals and gate.signal != _default_signal(gate.signal):
                raise ProfileError(f"the gate {name} has options; set them on a term {name}")
            if gate.signal != signals.get(name, gate.signal):
                raise ProfileError(f"the gate {name} and the term {name} have different options; use the same ones")

    @property
    def set_signals(self) -> tuple[SetSignal, ...]:
        """The signals that compare all candidates; a profile with any of them cannot prune by bounds."""
        return tuple(use.signal for use in self.uses if isinstance(use.signal, SetSignal))

    @property
    def pointwise(self) -> tuple[Signal, ...]:
        """The signals that read one candidate, including those of the gates."""
        scoring = [use.signal for use in self.uses if not isinstance(use.signal, SetSignal)]
        return (*scoring, *(gate.signal for gate in self._gate_alternatives))

    @property
    def _gate_alternatives(self) -> tuple[Gate, ...]:
        """All alternatives of all gates."""
        return tuple(way for gate in self.gates for way in gate.alternatives)

    @property
    def relevance(self) -> Relevance:
        """The relevance signal of this profile, for code that needs relevance beside the score."""
        own = [signal for signal in self.pointwise if isinstance(signal, Relevance)]
        return own[0] if own else Relevance()

    @property
    def fields(self) -> frozenset[str]:
        """Every candidate field that scoring reads; set signals may read more."""
        return frozenset(field for signal in self.pointwise for field in signal.quantity.fields)

    def weight(self, signal: str) -> float:
        """Return the weight of the named term; 0 if there is none."""
        return math.fsum(term.weight for term in self.terms if term.signal.name == signal)


def _default_signal(signal: Signal) -> Signal | None:
    """Return the signal with default options; `None` if it has no defaults."""
    try:
        return type(signal)()
    except ProfileError:
        return None


def _require_share(what: str, value: float | None) -> None:
    if value is not None and not 0.0 <= value <= 1.0:
        raise ProfileError(f"{what} is {value!r}; give a number within 0..1")
