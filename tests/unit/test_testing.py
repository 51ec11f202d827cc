"""What others test with is where the documentation says it is."""

import pytest

from recollect import testing
from tests.tables import table


@table("name", testing.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(testing, name) is not None


def test_no_other_is() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nobody'"):
        _ = testing.nobody
