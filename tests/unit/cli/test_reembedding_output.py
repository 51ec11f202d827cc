"""A re-embedding, told."""

from recollect.cli import admin
from recollect.model.encoder import Encoder, ReembeddingReport
from tests.tables import table

FORMER, NEW = Encoder("hashing-256", 256), Encoder("hashing-64", 64)
OF_NEW = "the vectors are of hashing-64 (64 dimensions)"


@table(
    ("done", "said"),
    [
        (
            ReembeddingReport(encoder=NEW, former=FORMER, embedded=3, removed=4),
            f"{OF_NEW} now: 3 embedded, 4 former vectors removed",
        ),
        (
            ReembeddingReport(encoder=NEW, former=NEW, embedded=0, removed=0),
            f"{OF_NEW} already",
        ),
        (
            ReembeddingReport(encoder=NEW, former=NEW, embedded=0, removed=1),
            f"{OF_NEW} already: 1 former vector removed",
        ),
        (
            ReembeddingReport(encoder=NEW, former=NEW, embedded=3, removed=4),
            f"{OF_NEW} already: 3 embedded that lacked one, 4 former vectors removed",
        ),
    ],
)
def test_a_sentence_says_which_model_it_is_now_and_what_was_done(done: ReembeddingReport, said: str) -> None:
    assert admin.describe_re_embed(done) == said


def test_a_store_without_memories_had_no_model() -> None:
    done = ReembeddingReport(encoder=NEW, former=None, embedded=0, removed=0)
    assert done.changed
    assert admin.re_embed_fields(done) == {
        "embedder": {"name": "hashing-64", "dimensions": 64},
        "former": None,
        "changed": True,
        "embedded": 0,
        "removed": 0,
    }
