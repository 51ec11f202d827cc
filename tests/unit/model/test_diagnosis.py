"""Check: what is not well has a remedy, and nothing else has."""

import pytest

from recollect.cli.doctor_checks import Check, CheckStatus, check_from_error, problem, warning
from recollect.errors import InvalidInput, ProviderError
from tests.tables import table


@table(("finding", "remedy"), [(CheckStatus.OK, "do it"), (CheckStatus.WARNING, None), (CheckStatus.PROBLEM, None)])
def test_a_remedy_is_for_what_is_not_well(finding: CheckStatus, remedy: str | None) -> None:
    with pytest.raises(InvalidInput, match="a remedy is for what is not well"):
        Check("disk", finding, "full", remedy)


def test_an_error_is_told_with_the_remedy_that_ends_its_message() -> None:
    error = ProviderError("the embedder lacks onnx; tokens; run pip install onnx")
    assert check_from_error("embedding", error) == problem(
        "embedding", "the embedder lacks onnx; tokens", "run pip install onnx"
    )
    assert check_from_error("embedding", error, CheckStatus.WARNING) == warning(
        "embedding", "the embedder lacks onnx; tokens", "run pip install onnx"
    )


def test_an_error_without_a_remedy_still_is_told() -> None:
    assert check_from_error("embedding", ProviderError("it broke")) == problem(
        "embedding", "it broke", "see what it says"
    )
