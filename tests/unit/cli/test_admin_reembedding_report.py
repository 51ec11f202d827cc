"""A re-embedding, told."""

from recollect.cli import admin
from recollect.model.encoder import Encoder, ReembeddingReport
from tests.tables import table

FORMER, NEW = Encoder("hashing-256", 256), Encoder("hashing-64", 64)
NEW_MODEL = "hashing-64 (64 dimensions)"


@table(
    ("done", "said"),
    [
        (
            ReembeddingReport(encoder=NEW, former=FORMER, embedded=3, removed=4),
            f"the vectors are now from {NEW_MODEL}: 3 embedded, 4 old vectors removed",
        ),
        (
            ReembeddingReport(encoder=NEW, former=NEW, embedded=0, removed=0),
            f"the vectors are already from {NEW_MODEL}",
        ),
        (
            ReembeddingReport(encoder=NEW, former=NEW, embedded=0, removed=1),
            f"the vectors are already from {NEW_MODEL}: 1 old vector removed",
        ),
        (
            ReembeddingReport(encoder=NEW, former=NEW, embedded=3, removed=4),
            f"the vectors are already from {NEW_MODEL}: 3 embedded that had none, 4 old vectors removed",
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
