"""Nothing private or secret is left of a draft, in whichever field it stood."""

from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import pytest

from recollect.admission.policy import OnSecret, SecretsPolicy
from recollect.admission.screening import PRIVATE, PROSE, Screened, clean, screen, screened
from recollect.engine.change import Revision
from recollect.engine.merge import Wording
from recollect.model.draft import Draft
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
from recollect.model.verdict import Refused
from recollect.testing.builders import NOW, SCOPE

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"[:36]
KEY = "AKIA" + "QK7DZ2M5XW3RT6YB"
HIDDEN = "<private>the surprise party</private>"
REDACTING, REFUSING, UNCHECKED = SecretsPolicy(), SecretsPolicy(action="refuse"), SecretsPolicy(enabled=False)

NO_WORDS = {
    "kind": "one of a closed list",
    "provenance": "one of a closed list",
    **dict.fromkeys(("importance", "confidence"), "a number"),
    **dict.fromkeys(("pinned", "shared"), "a flag"),
    **dict.fromkeys(("at", "valid_from", "valid_until"), "a moment"),
    "vector": "numbers",
}
"""The fields that have no room for words."""


def a_draft(**given: Any) -> Draft:
    return Draft(**{"text": "Ana prefers window seats", "scope": SCOPE, **given})


def with_words(name: str, words: str) -> Draft:
    """A draft that has the words in one of its fields, in whatever that field holds."""
    match name:
        case "tags" | "derived_from":
            return a_draft(**{name: ("fine", words)})
        case "evidence":
            return a_draft(evidence=("fine", f"she said {words}"))
        case "metadata":
            return a_draft(metadata={"fine": 1, "deep": [{"er": f"she said {words}"}]})
        case "scope":
            return a_draft(scope=Scope(("acme", words)))
        case "text" | "title":
            return a_draft(**{name: f"she said {words} to Ben"})
        case "id":
            return a_draft(id=MemoryId(words))
        case _:
            return a_draft(**{name: words})


FIELDS = [one.name for one in fields(Draft) if one.name not in NO_WORDS]


@pytest.mark.parametrize("name", FIELDS)
def test_a_secret_in_any_field_is_taken_out_or_the_draft_is_refused(name: str) -> None:
    found = screen(with_words(name, TOKEN), REDACTING)
    if name in PROSE:
        assert isinstance(found, Screened)
        assert len(found.redacted) == 1
    else:
        assert isinstance(found, Refused)
        assert name in found.reason
    assert TOKEN not in repr(found)


@pytest.mark.parametrize("name", [one for one in FIELDS if one != "scope"])  # which has no room for a tag
@pytest.mark.parametrize("policy", [REDACTING, UNCHECKED], ids=["redacting", "unchecked"])
def test_what_is_private_in_any_field_is_taken_out_or_the_draft_is_refused(name: str, policy: SecretsPolicy) -> None:
    found = screen(with_words(name, HIDDEN), policy)
    assert "surprise" not in repr(found)
    if name in PROSE:
        assert isinstance(found, Screened)
        assert found.redacted == (PRIVATE,)
        assert "[REDACTED]" in repr(found.draft)
    else:
        assert isinstance(found, Refused)


@pytest.mark.parametrize("name", FIELDS)
def test_ordinary_words_stay_in_every_field(name: str) -> None:
    draft = with_words(name, "window-seat")
    assert screen(draft, REDACTING) == Screened(draft, ())


@pytest.mark.parametrize("name", FIELDS)
def test_whoever_refuses_secrets_refuses_them_in_every_field(name: str) -> None:
    assert isinstance(screen(with_words(name, TOKEN), REFUSING), Refused)


@pytest.mark.parametrize("name", FIELDS)
def test_nothing_is_looked_for_where_that_is_switched_off(name: str) -> None:
    draft = with_words(name, TOKEN)
    assert screen(draft, UNCHECKED) == Screened(draft, ())


def test_tags_that_came_as_a_list_are_looked_at_too() -> None:
    draft = Draft(text="Ana sits", scope=SCOPE, tags=["fine", TOKEN])  # type: ignore[arg-type]
    assert isinstance(screen(draft, REDACTING), Refused)


def test_names_in_metadata_are_prose_too() -> None:
    found = screen(a_draft(metadata={TOKEN: 1, "deep": {KEY: [KEY]}}), REDACTING)
    assert isinstance(found, Screened)
    assert len(found.redacted) == 2
    assert TOKEN not in repr(found)
    assert KEY not in repr(found)


def test_what_was_taken_out_is_named_once_and_in_order() -> None:
    found = screen(a_draft(text=f"{HIDDEN} {TOKEN} and {KEY} and {TOKEN}", title=f"{KEY} {HIDDEN}"), REDACTING)
    assert isinstance(found, Screened)
    assert len(found.redacted) == len(set(found.redacted)) == 3
    assert found.redacted[0] == PRIVATE


@pytest.mark.parametrize("text", [HIDDEN, TOKEN, f"  {TOKEN}\n{HIDDEN} … ", "<private>never closed"])
def test_a_text_of_which_nothing_is_left_is_refused(text: str) -> None:
    found = screen(a_draft(text=text), REDACTING)
    assert isinstance(found, Refused)
    assert found.reason.startswith("nothing is left of it but what was taken out")
    assert TOKEN not in found.reason


def test_whoever_refuses_secrets_still_takes_out_what_is_private() -> None:
    found = screen(a_draft(text=f"Ana plans {HIDDEN} on Friday"), REFUSING)
    assert found == Screened(a_draft(text="Ana plans [REDACTED] on Friday"), (PRIVATE,))


def test_a_reason_names_the_kind_and_never_the_secret() -> None:
    for name in FIELDS:
        found = screen(with_words(name, TOKEN), REFUSING)
        assert isinstance(found, Refused)
        assert TOKEN not in found.reason
        assert "github" in found.reason.lower()


def test_every_way_to_treat_secrets_is_known_here() -> None:
    assert set(get_args(OnSecret)) == {REDACTING.action, REFUSING.action}


def test_a_revision_and_a_wording_are_screened_by_the_same_rule() -> None:
    revision = Revision(text=f"Ana says {TOKEN}", title=f"by {HIDDEN}", metadata={"a": TOKEN}, at=NOW)
    found = screened(revision, REDACTING)
    assert not isinstance(found, Refused)
    assert TOKEN not in repr(found[0])
    assert "surprise" not in repr(found[0])
    assert isinstance(screened(replace(revision, tags=(TOKEN,)), REDACTING), Refused)
    wording = screened(Wording(text=f"Ana says {TOKEN}"), REDACTING)
    assert not isinstance(wording, Refused)
    assert TOKEN not in repr(wording)


def test_what_has_nothing_to_hide_is_given_back_as_it_is() -> None:
    draft = a_draft(metadata={"a": [1, None, True, 2.5, "b"]})
    found = screen(draft, REDACTING)
    assert isinstance(found, Screened)
    assert found.draft is draft


def test_a_new_field_is_screened_without_a_word_about_it() -> None:
    @dataclass(frozen=True)
    class Wider:
        text: str
        remark: str

    assert isinstance(screened(Wider("fine", TOKEN), REDACTING), Refused)


def test_a_question_is_cleaned() -> None:
    assert clean(f"is {HIDDEN} today?", UNCHECKED) == "is [REDACTED] today?"
    assert TOKEN not in clean(f"what is {TOKEN}?", REDACTING)
    assert TOKEN in clean(f"what is {TOKEN}?", UNCHECKED)
