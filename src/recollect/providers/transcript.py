"""Transcript: a conversation as a model is shown it, turn by turn."""

from collections.abc import Mapping, Sequence

from recollect.model.conversation import Said
from recollect.providers.windows import Form, Window, in_windows


def windows(turns: Sequence[Said]) -> list[Window[Said]]:
    """The conversation in as few windows as it fits into, in its order; too many are refused before any is read."""
    return in_windows(turns, _CONVERSATION)


def _told(place: int, turn: Said) -> Mapping[str, object]:
    return {
        "turn": place,
        "role": turn.role.value,
        "speaker": turn.speaker,
        "date": None if turn.at is None else turn.at.date().isoformat(),
    }


_CONVERSATION = Form(tag="conversation", told=_told, field="turns", remedy="extract from its parts one by one")
