"""The Operation type, base classes of requests and answers, field types, and redaction of answers.

An operation is the same on every transport. The field types limit sizes; the engine checks what the values mean. The
redaction functions remove stored text from the answer for callers who may run an operation but not read memories.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema

from recollect.api.auth import Caller, Right
from recollect.engine.engine import Engine
from recollect.errors import Conflict, FieldError, InvalidInput, show, suggest
from recollect.model.conversation import Role
from recollect.model.enums import PLAIN_LEVEL_NAME, Kind, Level, Provenance, Status
from recollect.model.memory import MAX_LIST_ITEMS
from recollect.model.validation import MAX_ID_CHARS, MAX_TEXT_BYTES, MAX_TITLE_CHARS, require_fraction
from recollect.ranking.candidates_json import parse_datetime
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile

Answer = Mapping[str, Any]
"""An answer in the one JSON shape that all transports share."""


class OperationRequest(BaseModel):
    """Base class of requests: their types are checked here, their meaning by the engine."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    scope_field: ClassVar[str | None] = "scope"
    """The field with the scope; None if the operation is not about a scope."""

    def to_arguments(self, *excluded: str) -> dict[str, Any]:
        """Return the fields by name, except those in `excluded`."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in excluded}


class AnswerSchema(BaseModel):
    """Base class of answers: `render` makes them, and tests compare them with their schema."""

    model_config = ConfigDict(extra="forbid")


class Effect(StrEnum):
    """What an operation does to the store."""

    NONE = "none"
    """Only reads; memories that are returned for use count as served, nothing else changes."""

    ADDS = "adds"
    """Adds or changes something; the change can be undone, and earlier versions are kept."""

    REMOVES = "removes"
    """May delete something for good."""


class Toolset(StrEnum):
    """A group of operations that a server can offer to a model as tools."""

    CORE = "core"
    """For every model; kept small, since tool descriptions always fill its context."""

    EPISODES = "episodes"
    """For agents that learn from the outcome of their tasks."""

    OBSERVATIONS = "observations"
    """The eight methods of seed 003."""

    OPERATOR = "operator"
    """For the administration of a store."""


R = TypeVar("R", bound=OperationRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[R]):
    """One operation: the required right, its request, answer, effect and handler.

    `repeatable` means that a second run changes nothing more, though a memory may count as repeated. `about` teaches a
    model when to use it. `redact` shapes the answer for callers who may run it but not read.
    """

    name: str
    title: str
    about: str
    right: Right
    effect: Effect
    repeatable: bool
    request: type[R]
    answer: type[BaseModel]
    run: Callable[[Engine, R, Caller], Answer]
    toolset: Toolset
    redact: Callable[[Answer], Answer] | None = None

    @property
    def takes_key(self) -> bool:
        """Whether an idempotency key makes a retry harmless."""
        return self.effect is not Effect.NONE and "key" in self.request.model_fields

    def with_key(self, arguments: Mapping[str, Any], key: str | None, source: str) -> Mapping[str, Any]:
        """Return the arguments with the idempotency key that was sent in `source`, if any.

        An operation that takes no key ignores it if it is repeatable, else raises InvalidInput. Raise Conflict if the
        arguments have another key.
        """
        if key is None or (self.repeatable and not self.takes_key):  # a retry does no harm anyway
            return arguments
        if not self.takes_key:
            raise InvalidInput(f"{source} is not supported by {self.name}, whose retry would run again; leave it out")
        if arguments.get("key") not in (None, key):
            raise Conflict(f"{source} and the field 'key' differ; send only one of them")
        return {**arguments, "key": key}


REFUSED_VERDICT = "refused"
"""The verdict whose reason is about the draft alone; any other reason may quote a memory."""


def keep_own_words(answer: Answer) -> Answer:
    """Return the answer unchanged: it repeats only what the caller sent."""
    return answer


def keep_names(answer: Answer) -> Answer:
    """Return the answer unchanged: it has names, ids and counts, but no text of a memory."""
    return answer


def redact_receipt(answer: Answer) -> Answer:
    """Remove the memory and the reason, which may quote another memory."""
    redacted = {**answer, "memory": None}
    return redacted if answer["verdict"] == REFUSED_VERDICT or "reason" not in answer else {**redacted, "reason": None}


def redact_receipts(answer: Answer) -> Answer:
    """Redact each receipt."""
    return {**answer, "receipts": [redact_receipt(one) for one in answer["receipts"]]}


def redact_extracts(answer: Answer) -> Answer:
    """Redact each extracted memory."""
    return {**answer, "extracts": [redact_receipt(one) for one in answer["extracts"]]}


def redact_saved_observation(answer: Answer) -> Answer:
    """Remove the reason, which may quote another memory."""
    return answer if answer["outcome"] == REFUSED_VERDICT else {**answer, "reason": None}


def redact_feedback(answer: Answer) -> Answer:
    """Remove the memories that the answer quotes: they would confirm a guess."""
    return {**answer, "quoted": []}


def redact_started_episode(answer: Answer) -> Answer:
    """Keep the task, which the caller sent; remove what others have added since."""
    return {**answer, "outcome": None, "value": None, "contexts": [], "actions": []}


def redact_recorded_action(answer: Answer) -> Answer:
    """Keep whether the task is under way; remove all that others wrote."""
    return {**answer, **_EMPTY_EPISODE, "outcome": None, "value": None}


def redact_completed_episode(answer: Answer) -> Answer:
    """Keep the outcome, which the caller sent; remove all that others wrote."""
    return {**redact_receipts(answer), **_EMPTY_EPISODE}


def redact_undo(answer: Answer) -> Answer:
    """Keep the number of the run; remove the memories that it wrote."""
    return {**answer, "memories": []}


def redact_plan(answer: Answer) -> Answer:
    """Keep which memories a job would change; remove texts, reasons, states and the hash.

    Reasons may quote memories, and digests would confirm a guess.
    """
    plan = answer["plan"]
    if plan is None:  # the job ran, and its runs name only ids
        return answer
    steps = [{**step, "text": None, "reason": None, "state": None} for step in plan["steps"]]
    return {**answer, "plan": {**plan, "hash": None, "steps": steps}}


_EMPTY_EPISODE: Answer = {"task": None, "plan": [], "session": None, "contexts": [], "actions": []}
"""Fields of an episode without their content."""


MAX_BATCH_ITEMS = 1_000
"""Maximum number of drafts, events, turns or results in one request."""

MAX_TOKENS = 1_000_000
"""Maximum token budget of a request."""

MAX_DEPTH = 10_000
"""Maximum number of top-ranked memories that a request may have considered."""


def _parse_timestamp(value: object) -> datetime:
    if not isinstance(value, str):
        raise FieldError(f"{show(value)} is not a timestamp; write one such as 2026-01-31T09:00:00Z", field="at")
    return parse_datetime("at", value)


def _check_profile(value: str) -> str:
    """Accept only names of built-in profiles: a remote caller may not name files of the server."""
    builtin_profile(value)
    return value


def _check_fraction(value: float) -> float:
    return require_fraction("share", value)


def _choice_validator(choices: Iterable[str], what: str) -> AfterValidator:
    """Return a validator that rejects unknown values and suggests the nearest choice."""
    names = [str(one) for one in choices]

    def check(value: str) -> str:
        if value not in names:
            raise FieldError(f"{show(value)} is not a valid {what}; {suggest(value, names)}", field=what)
        return value

    return AfterValidator(check)


def choice_schema(choices: Iterable[str]) -> WithJsonSchema:
    """Return the JSON schema of a string that is one of the choices."""
    return WithJsonSchema({"type": "string", "enum": [str(one) for one in choices]})


ScopePath = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2_063,
        description="Whose memory: a path such as acme/ana. It sees its own memories and what the scopes above share.",
        examples=["acme/ana"],
    ),
]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_BYTES)]
ShortText = Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARS)]
Id = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARS)]
FRACTION_SCHEMA = WithJsonSchema({"type": "number", "minimum": 0.0, "maximum": 1.0})
"""JSON schema of a number in 0..1; the engine's own check writes the error message."""

UnitFloat = Annotated[float, BeforeValidator(_check_fraction), FRACTION_SCHEMA]
Timestamp = Annotated[
    datetime,
    PlainValidator(_parse_timestamp),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-01-31T09:00:00Z"]}),
]
Texts = Annotated[list[Text], Field(max_length=MAX_LIST_ITEMS)]
Ids = Annotated[list[Id], Field(max_length=MAX_BATCH_ITEMS)]
Names = Annotated[list[Id], Field(max_length=MAX_LIST_ITEMS)]
Limit = Annotated[int, Field(ge=1, le=MAX_BATCH_ITEMS, description="How many at most.")]
Depth = Annotated[int, Field(ge=1, le=MAX_DEPTH, description="How many of the best are considered for packing.")]
Tokens = Annotated[int, Field(ge=1, le=MAX_TOKENS, description="The budget of the whole context, in tokens.")]
ProfileName = Annotated[
    str,
    AfterValidator(_check_profile),
    WithJsonSchema({"type": "string", "enum": list(BUILTIN_PROFILES), "description": "The rank profile, by name."}),
]
KindName = Annotated[str, _choice_validator(Kind, "kind"), choice_schema(Kind)]
LevelName = Annotated[
    str, _choice_validator((PLAIN_LEVEL_NAME, *Level), "level"), choice_schema((PLAIN_LEVEL_NAME, *Level))
]
RoleName = Annotated[str, _choice_validator(Role, "role"), choice_schema(Role)]
StatusName = Annotated[str, _choice_validator(Status, "status"), choice_schema(Status)]
ProvenanceName = Annotated[str, _choice_validator(Provenance, "provenance"), choice_schema(Provenance)]
PROVENANCE_HELP = (
    "Through whom it came: direct_user if the user said it; if left out, model_inference, for what you concluded. "
    "A key may be believed less."
)
"""Description of the field `provenance`."""

JsonObject = Annotated[dict[str, Any], Field(description="A JSON object.")]
IdempotencyKey = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_ID_CHARS,
        description="Makes a retry harmless: the same request with the same key is done once.",
    ),
]
