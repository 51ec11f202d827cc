"""Relations: how two things that a graph knows stand to each other, as a sentence."""

from typing import Any

from recollect.errors import FieldError
from recollect.importers.fields import read_label
from recollect.importers.reader import ImportOptions
from recollect.model.draft import Draft
from recollect.model.memory import Kind
from recollect.model.trust import Provenance


def require_name(field: str, value: Any) -> str:
    """What something is called; refused if that is nothing."""
    name = read_label(field, value)
    if name is None:
        raise FieldError("is missing or blank; a graph knows things by their names", field=field)
    return name


def to_words(name: str) -> str:
    """A name as it is read: graphs write John_Smith and works_at."""
    return " ".join(name.replace("_", " ").split()) or name


def draft_relation(setting: ImportOptions, name: str, start: str, relation: str, end: str) -> Draft:
    """That one thing stands to another so, as a fact of the format of that name."""
    text = " ".join(map(to_words, (start, relation, end)))
    return Draft(
        text=text,
        scope=setting.scope,
        id=setting.make_id(name, text, "relation", start, relation, end),
        kind=Kind.FACT,
        provenance=Provenance.IMPORT,
        source=setting.source,
        metadata={"relation": {"from": start, "type": relation, "to": end}},
    )
