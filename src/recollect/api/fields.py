"""The types of request fields: their limits, their checks and what they mean, as every transport shows them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WithJsonSchema

from recollect.errors import FieldError, show, suggest
from recollect.model.conversation import Role
from recollect.model.enums import PLAIN_LEVEL_NAME, Kind, Level, Provenance, Status
from recollect.model.memory import MAX_LIST_ITEMS
from recollect.model.validation import MAX_ID_CHARS, MAX_TEXT_BYTES, MAX_TITLE_CHARS, require_fraction
from recollect.ranking.candidates_json import parse_datetime
from recollect.ranking.profiles import BUILTIN_PROFILES, builtin_profile

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
