"""What commands print."""

import json

from hypothesis import given
from hypothesis import strategies as st

from recollect.cli.output import dump_line


@given(st.text())
def test_a_line_of_json_says_the_same_and_cannot_steer_a_terminal(text: str) -> None:
    line = dump_line({"text": text})
    assert line.isprintable()
    assert json.loads(line) == {"text": text}
