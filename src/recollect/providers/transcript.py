"""Transcript: a conversation as a model is shown it, turn by turn."""

from collections.abc import Mapping, Sequence

from recollect.model.conversation import ConversationTurn
from recollect.providers.windows import Window, WindowFormat, split_into_windows


def split_conversation(turns: Sequence[ConversationTurn]) -> list[Window[ConversationTurn]]:
    """The conversation in as few windows as it fits into, in its order; too many are refused before any is read."""
    return split_into_windows(turns, _CONVERSATION_FORMAT)


def _describe_turn(place: int, turn: ConversationTurn) -> Mapping[str, object]:
    return {
        "turn": place,
        "role": turn.role.value,
        "speaker": turn.speaker,
        "date": None if turn.at is None else turn.at.date().isoformat(),
    }


_CONVERSATION_FORMAT = WindowFormat(
    tag="conversation", describe=_describe_turn, field="turns", remedy="extract from its parts one by one"
)
