"""A check of `recollect doctor` has a remedy exactly if it is not ok."""

import pytest

from recollect.cli.doctor_checks import Check, CheckStatus, check_from_error, problem, warning
from recollect.errors import InvalidInput, ProviderError
from tests.tables import table


@table(("finding", "remedy"), [(CheckStatus.OK, "do it"), (CheckStatus.WARNING, None), (CheckStatus.PROBLEM, None)])
def test_a_check_without_a_fitting_remedy_is_refused(finding: CheckStatus, remedy: str | None) -> None:
    with pytest.raises(InvalidInput, match="must have a remedy if it is not ok, and none if it is"):
        Check("disk", finding, "full", remedy)


def test_the_remedy_is_the_end_of_the_error_message() -> None:
    error = ProviderError("the embedder lacks onnx; tokens; run pip install onnx")
    assert check_from_error("embedding", error) == problem(
        "embedding", "the embedder lacks onnx; tokens", "run pip install onnx"
    )
    assert check_from_error("embedding", error, CheckStatus.WARNING) == warning(
        "embedding", "the embedder lacks onnx; tokens", "run pip install onnx"
    )


def test_an_error_without_a_remedy_points_to_its_message() -> None:
    assert check_from_error("embedding", ProviderError("it broke")) == problem(
        "embedding", "it broke", "see the message"
    )
