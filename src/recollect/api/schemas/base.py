"""What all answers share: how one is built from a value of the engine, and how it becomes JSON.

The OpenAPI document, the MCP tools and the gRPC messages come from the same models.
"""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

Moment = Annotated[str, BeforeValidator(lambda at: at.isoformat() if isinstance(at, datetime) else at)]
"""A moment in ISO 8601, with every digit that was stored."""

ScopeText = Annotated[str, BeforeValidator(str)]
"""A scope as a path, such as acme/ana."""

_MISSING = object()


class AnswerSchema(BaseModel):
    """Base class of answers: built from the engine's values, and sent as JSON by every transport."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)

    @classmethod
    def of(cls, value: object = None, /, **fields: object) -> Self:
        """Return the answer with these fields, and the others from the engine's value."""
        return cls.model_validate({**({} if value is None else cls.read(value)), **fields})

    @classmethod
    def read(cls, value: Any) -> dict[str, Any]:
        """Return the fields that the value has as attributes, by their JSON names."""
        names = (field.alias or name for name, field in cls.model_fields.items())
        found = ((name, getattr(value, name, _MISSING)) for name in names)
        return {name: one for name, one in found if one is not _MISSING}

    @model_validator(mode="before")
    @classmethod
    def _read_nested(cls, value: object) -> object:
        """Accept the engine's value for an answer inside another."""
        has_own_read = cls.read.__func__ is not AnswerSchema.read.__func__  # type: ignore[attr-defined]
        if has_own_read and not isinstance(value, (dict, BaseModel)):
            return cls.read(value)
        return value  # pydantic reads attributes by itself, and faster

    def to_json(self, *omitted: str) -> dict[str, Any]:
        """Return the fields as JSON, in full precision, but for the omitted ones and those that were not set."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude=set(omitted))
