"""Fields: what requests are made of, with the limits of the edge; what a value means is the engine's to judge."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WithJsonSchema

from recollect.errors import FieldError, remedy, show
from recollect.model.conversation import Role
from recollect.model.level import PLAIN, Level
from recollect.model.memory import MOST_ITEMS, Kind, Status
from recollect.model.trust import Provenance
from recollect.model.validation import LONGEST_ID, LONGEST_TEXT, LONGEST_TITLE, a_share
from recollect.ranking.candidates_json import read_moment
from recollect.ranking.profiles import BUILT_IN, built_in

MOST_AT_ONCE = 1_000
"""How many drafts, events, turns or results one request is about at most."""

MOST_TOKENS = 1_000_000
"""The largest budget that a request may ask for."""

DEEPEST = 10_000
"""How many of the best a request may have considered at most."""


def _moment(value: object) -> datetime:
    if not isinstance(value, str):
        raise FieldError(f"{show(value)} is no moment; write one as 2026-01-31T09:00:00Z", field="at")
    return read_moment("at", value)


def _profile(value: str) -> str:
    """Only by name: whoever asks from outside names no file of the server."""
    built_in(value)
    return value


def _share(value: float) -> float:
    return a_share("share", value)


def _known(choices: Iterable[str], what: str) -> AfterValidator:
    """Refuses what is none of the choices, with the nearest of them."""
    names = [str(one) for one in choices]

    def check(value: str) -> str:
        if value not in names:
            raise FieldError(f"{show(value)} is no {what}; {remedy(value, names)}", field=what)
        return value

    return AfterValidator(check)


def one_of(choices: Iterable[str]) -> WithJsonSchema:
    """The schema of a text that is one of the choices."""
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
Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
Line = Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE)]
Id = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
UNIT = WithJsonSchema({"type": "number", "minimum": 0.0, "maximum": 1.0})
"""The schema of a number within 0..1, which is refused otherwise in the words of the engine."""

Share = Annotated[float, BeforeValidator(_share), UNIT]
Moment = Annotated[
    datetime,
    PlainValidator(_moment),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-01-31T09:00:00Z"]}),
]
Texts = Annotated[list[Text], Field(max_length=MOST_ITEMS)]
Ids = Annotated[list[Id], Field(max_length=MOST_AT_ONCE)]
Names = Annotated[list[Id], Field(max_length=MOST_ITEMS)]
Limit = Annotated[int, Field(ge=1, le=MOST_AT_ONCE, description="How many at most.")]
Depth = Annotated[int, Field(ge=1, le=DEEPEST, description="How many of the best are considered for packing.")]
Tokens = Annotated[int, Field(ge=1, le=MOST_TOKENS, description="The budget of the whole context, in tokens.")]
ProfileName = Annotated[
    str,
    AfterValidator(_profile),
    WithJsonSchema({"type": "string", "enum": list(BUILT_IN), "description": "The rank profile, by name."}),
]
KindName = Annotated[str, _known(Kind, "kind"), one_of(Kind)]
LevelName = Annotated[str, _known((PLAIN, *Level), "level"), one_of((PLAIN, *Level))]
RoleName = Annotated[str, _known(Role, "role"), one_of(Role)]
StatusName = Annotated[str, _known(Status, "status"), one_of(Status)]
ProvenanceName = Annotated[str, _known(Provenance, "provenance"), one_of(Provenance)]
SAID_THROUGH = (
    "Through whom it came: direct_user if the user said it; if left out, model_inference, for what you concluded. "
    "A key may be believed less."
)
"""What is told of the provenance of what a caller says."""

Object = Annotated[dict[str, Any], Field(description="A JSON object.")]
Key = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_ID,
        description="Makes a retry harmless: the same request with the same key is done once.",
    ),
]
