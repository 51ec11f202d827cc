"""What was exported elsewhere is screened as it is read."""

from dataclasses import replace
from datetime import timedelta

import pytest

from recollect.admission.policy import SecretsPolicy
from recollect.engine import archive_format
from recollect.errors import FieldError
from recollect.model.archive import ArchivedContent, ArchivedMemory, ArchivedVote, ArchiveItem
from recollect.model.context import ContextRecord, Use, Vote
from recollect.model.draft import Created, IdempotencyRecord
from recollect.model.memory import Memory, MemoryId
from recollect.testing.builders import NOW, SCOPE, a_context_record, some_replay_inputs

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"[:36]
VECTOR = b"\0\0\x80?" + b"\0" * 28
REDACTING, REFUSING, UNCHECKED = SecretsPolicy(), SecretsPolicy(action="refuse"), SecretsPolicy(enabled=False)


def saved(*texts: str, **given: object) -> ArchivedMemory:
    """A memory that said these texts, one after the other."""
    memory = Memory(id=MemoryId("m1"), scope=SCOPE, text="x", created_at=NOW, recorded_at=NOW)
    return ArchivedMemory(
        contents=tuple(ArchivedContent(None, text, VECTOR) for text in texts),
        versions=tuple(
            (replace(memory, text=text, commit=place + 1, **given), place)  # type: ignore[arg-type]
            for place, text in enumerate(texts)
        ),
    )


def read(item: ArchiveItem, policy: SecretsPolicy) -> ArchivedMemory:
    (found,) = archive_format.screen_items([item], policy)
    assert isinstance(found, ArchivedMemory)
    return found


def test_a_memory_without_secrets_comes_in_as_it_is() -> None:
    item = saved("Ana sits", "Ana stands")
    assert read(item, REDACTING) is item


def test_a_secret_is_taken_out_of_every_version_and_its_vector_with_it() -> None:
    found = read(saved("Ana sits", f"Ana says {TOKEN}", f"Ana said {TOKEN}"), REDACTING)
    texts = ["Ana sits", "Ana says [REDACTED: github token]", "Ana said [REDACTED: github token]"]
    assert found.contents == (
        ArchivedContent(None, texts[0], VECTOR),
        *(ArchivedContent(None, text, None) for text in texts[1:]),
    )
    assert [(memory.text, place) for memory, place in found.versions] == [(text, at) for at, text in enumerate(texts)]


def test_versions_of_one_content_that_differ_in_what_gives_it_away_have_two() -> None:
    password = "hunter2" + "Secret99x"
    item = saved(password)
    (memory, _) = item.versions[0]
    item = replace(item, versions=((memory, 0), (replace(memory, tags=("password",), commit=2), 0)))
    found = read(item, REDACTING)
    assert found.contents == (
        ArchivedContent(None, password, VECTOR),
        ArchivedContent(None, "[REDACTED: password]", None),
    )
    assert [place for _, place in found.versions] == [0, 1]


def test_a_text_that_was_a_secret_and_nothing_else_stays_as_what_was_taken_out() -> None:
    assert read(saved(TOKEN), REDACTING).contents == (ArchivedContent(None, "[REDACTED: github token]", None),)


def test_whoever_refuses_secrets_is_told_the_line_and_the_reason() -> None:
    items = archive_format.screen_items([saved("Ana sits"), saved(f"Ana says {TOKEN}")], REFUSING)
    next(items)
    with pytest.raises(FieldError, match=r"line 3.*looks like a secret \(github token\)") as raised:
        next(items)
    assert TOKEN not in str(raised.value)


def test_a_secret_in_a_name_is_refused_with_its_line() -> None:
    vote = ArchivedVote(Vote(context="c", memory=MemoryId("m1"), by=TOKEN, use=Use.HELPED, at=NOW), 1, NOW)
    kept = IdempotencyRecord(scope=SCOPE, key=TOKEN, body="b", memory=MemoryId("m1"), verdict=Created(), at=NOW)
    sound = saved("Ana sits")
    for item in (saved("Ana sits", tags=(TOKEN,)), replace(sound, votes=(vote,)), replace(sound, keys=(kept,))):
        with pytest.raises(FieldError, match=r"line 2.*looks like a secret"):
            read(item, REDACTING)


def test_nothing_is_looked_for_where_that_is_switched_off_but_what_is_private_goes() -> None:
    item = saved(f"Ana says {TOKEN}")
    assert read(item, UNCHECKED) is item
    assert read(saved("Ana <private>hides</private>"), UNCHECKED).current.text == "Ana [REDACTED]"


def test_what_was_asked_is_cleaned_and_never_refused() -> None:
    trace = ContextRecord(
        id="c1",
        scope=SCOPE,
        made_at=NOW,
        at=NOW,
        commit=1,
        known_at=None,
        question=("what now?", f"what is {TOKEN}?"),
        profile="default",
        version="1",
        formula="f",
        tokens=0,
        budget=0,
        depth=1,
        kinds=(),
        marker="",
        packed=(),
        omitted=(),
        excluded={},
    )
    for policy in (REDACTING, REFUSING):
        (found,) = archive_format.screen_items([trace], policy)
        assert found == replace(trace, question=("what now?", "what is [REDACTED: github token]?"))


def test_the_moments_and_the_remark_of_a_memory_are_kept() -> None:
    found = read(saved(f"Ana says {TOKEN}", remark=f"by {TOKEN}", valid_until=NOW + timedelta(days=1)), REDACTING)
    assert found.current.remark == "by [REDACTED: github token]"
    assert (found.current.valid_until, found.current.recorded_at) == (NOW + timedelta(days=1), NOW)


def test_what_was_made_of_a_secret_goes_with_it() -> None:
    asked = a_context_record("asked", question=(f"what is {TOKEN}?",), making=some_replay_inputs())
    told, other = (
        a_context_record("told", "m1", making=some_replay_inputs()),
        a_context_record("other", "m2", making=some_replay_inputs()),
    )
    _, *found = archive_format.screen_items([saved(f"Ana says {TOKEN}"), asked, told, other], REDACTING)
    cleaned = ("what is [REDACTED: github token]?",)
    assert found == [
        replace(asked, question=cleaned, making=some_replay_inputs(directions=None)),
        replace(told, making=some_replay_inputs(text=None)),
        other,
    ]
