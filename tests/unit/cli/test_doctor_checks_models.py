"""The models of a store: whether the one it needs is to be had, and whether it is on its way to another."""

from recollect.cli.doctor_checks import CheckStatus, check_model, check_re_embedding
from recollect.config import Settings
from recollect.model.encoder import Encoder
from tests.tables import table

HASHING = Encoder("hashing-64", 64)
SERVED = Encoder("http:some-model", 512)


@table(
    ("encoder", "configured", "finding", "seen"),
    [
        (HASHING, None, CheckStatus.OK, "which is installed"),
        (HASHING, "hashing-64", CheckStatus.OK, "as in the settings"),
        (HASHING, "hashing", CheckStatus.PROBLEM, "but the settings name hashing-256"),
        (HASHING, "hashin", CheckStatus.PROBLEM, "'hashin' is neither an embedder nor an address"),
        (SERVED, None, CheckStatus.WARNING, "a remote model"),
        (SERVED, "https://nobody.invalid/v1#some-model", CheckStatus.OK, "as in the settings"),
        (SERVED, "https://nobody.invalid/v1#other", CheckStatus.PROBLEM, "but the settings name http:other"),
        (Encoder("of-my-own", 3), None, CheckStatus.WARNING, "which recollect does not provide"),
    ],
)
def test_a_store_s_model_must_be_to_be_had(
    encoder: Encoder, configured: str | None, finding: CheckStatus, seen: str
) -> None:
    check = check_model(encoder, Settings(embedder=configured))
    assert check.finding is finding
    assert seen in check.seen


def test_a_model_behind_an_address_is_to_be_named_by_it() -> None:
    assert check_model(SERVED, Settings()).remedy == "set RECOLLECT_EMBEDDER to https://host/v1#some-model"


def test_every_model_that_a_store_is_on_its_way_to_is_named() -> None:
    assert list(check_re_embedding((), 0)) == []
    assert [check.seen for check in check_re_embedding((SERVED, Encoder("x", 1)), 2)] == [
        "started with http:some-model (512 dimensions), but not finished",
        "started with x (1 dimension), but not finished",
        "vectors of an earlier model have not been removed yet",
    ]
