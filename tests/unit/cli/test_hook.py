"""Why a hook steps aside, in a line that its agent may show."""

import pytest

from recollect.cli.hook import why_not
from recollect.errors import InvalidInput


def test_a_problem_is_told_and_of_a_fault_only_its_kind_and_its_place() -> None:
    assert why_not(InvalidInput("the hook has no prompt")) == "the hook has no prompt"
    assert why_not(ConnectionRefusedError()) == "ConnectionRefusedError"
    with pytest.raises(ValueError, match="tea") as raised:
        int("Ana likes tea")
    told = why_not(raised.value)
    assert "ValueError at " in told
    assert "test_hook.py" in told
    assert "tea" not in told
