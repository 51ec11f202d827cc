"""Nothing private or secret is left of a draft, in whichever field it stood."""

from dataclasses import dataclass, fields, replace
from typing import Any, get_args

from tests.tables import table

from recollect.admission.policy import SecretAction, SecretsPolicy
from recollect.admission.screening import PRIVATE_MARK, PROSE_FIELDS, Screened, redact_text, screen
from recollect.engine.edit import Revision
from recollect.engine.merge import Wording
from recollect.model.draft import Draft, Refused
from recollect.model.memory import MemoryId
from recollect.model.scope import Scope
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


@table("name", FIELDS)
def test_a_secret_in_any_field_is_taken_out_or_the_draft_is_refused(name: str) -> None:
    found = screen(with_words(name, TOKEN), REDACTING)
    if name in PROSE_FIELDS:
        assert isinstance(found, Screened)
        assert len(found.redacted) == 1
    else:
        assert isinstance(found, Refused)
        assert name in found.reason
    assert TOKEN not in repr(found)


@table("name", [one for one in FIELDS if one != "scope"])  # which has no room for a tag
@table("policy", [REDACTING, UNCHECKED], ids=["redacting", "unchecked"])
def test_what_is_private_in_any_field_is_taken_out_or_the_draft_is_refused(name: str, policy: SecretsPolicy) -> None:
    found = screen(with_words(name, HIDDEN), policy)
    assert "surprise" not in repr(found)
    if name in PROSE_FIELDS:
        assert isinstance(found, Screened)
        assert found.redacted == (PRIVATE_MARK,)
        assert "[REDACTED]" in repr(found.value)
    else:
        assert isinstance(found, Refused)


@table("name", FIELDS)
def test_ordinary_words_stay_in_every_field(name: str) -> None:
    draft = with_words(name, "window-seat")
    assert screen(draft, REDACTING) == Screened(draft, ())


@table("name", FIELDS)
def test_whoever_refuses_secrets_refuses_them_in_every_field(name: str) -> None:
    assert isinstance(screen(with_words(name, TOKEN), REFUSING), Refused)


@table("name", FIELDS)
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
    assert found.redacted[0] == PRIVATE_MARK


@table("text", [HIDDEN, TOKEN, f"  {TOKEN}\n{HIDDEN} … ", "<private>never closed"])
def test_a_text_of_which_nothing_is_left_is_refused(text: str) -> None:
    found = screen(a_draft(text=text), REDACTING)
    assert isinstance(found, Refused)
    assert found.reason.startswith("nothing is left of it after redaction")
    assert TOKEN not in found.reason


def test_whoever_refuses_secrets_still_takes_out_what_is_private() -> None:
    found = screen(a_draft(text=f"Ana plans {HIDDEN} on Friday"), REFUSING)
    assert found == Screened(a_draft(text="Ana plans [REDACTED] on Friday"), (PRIVATE_MARK,))


def test_a_reason_names_the_kind_and_never_the_secret() -> None:
    for name in FIELDS:
        found = screen(with_words(name, TOKEN), REFUSING)
        assert isinstance(found, Refused)
        assert TOKEN not in found.reason
        assert "github" in found.reason.lower()


def test_every_way_to_treat_secrets_is_known_here() -> None:
    assert set(get_args(SecretAction)) == {REDACTING.action, REFUSING.action}


def test_a_revision_and_a_wording_are_screened_by_the_same_rule() -> None:
    revision = Revision(text=f"Ana says {TOKEN}", title=f"by {HIDDEN}", metadata={"a": TOKEN}, at=NOW)
    found = screen(revision, REDACTING)
    assert isinstance(found, Screened)
    assert TOKEN not in repr(found.value)
    assert "surprise" not in repr(found.value)
    assert isinstance(screen(replace(revision, tags=(TOKEN,)), REDACTING), Refused)
    wording = screen(Wording(text=f"Ana says {TOKEN}"), REDACTING)
    assert isinstance(wording, Screened)
    assert TOKEN not in repr(wording.value)


def test_what_has_nothing_to_hide_is_given_back_as_it_is() -> None:
    draft = a_draft(metadata={"a": [1, None, True, 2.5, "b"]})
    found = screen(draft, REDACTING)
    assert isinstance(found, Screened)
    assert found.value is draft


def test_a_new_field_is_screened_without_a_word_about_it() -> None:
    @dataclass(frozen=True)
    class Wider:
        text: str
        hint: str

    assert isinstance(screen(Wider("fine", TOKEN), REDACTING), Refused)


def test_a_question_is_cleaned() -> None:
    assert redact_text(f"is {HIDDEN} today?", UNCHECKED) == "is [REDACTED] today?"
    assert TOKEN not in redact_text(f"what is {TOKEN}?", REDACTING)
    assert TOKEN in redact_text(f"what is {TOKEN}?", UNCHECKED)


def test_what_was_kept_elsewhere_may_have_nothing_left_but_what_was_taken_out() -> None:
    found = screen(a_draft(text=TOKEN), REDACTING, may_be_blank=True)
    assert isinstance(found, Screened)
    assert found.value.text == f"[REDACTED: {found.redacted[0]}]"


CARD = 4539148803436467
PASSWORD = "hunter2" + "Secret99x"
TOLD_BY_NAME: list[tuple[dict[str, Any], object]] = [
    ({"password": PASSWORD}, PASSWORD),
    ({"dbPassword": PASSWORD}, PASSWORD),
    ({"DB_PASSWORD": PASSWORD}, PASSWORD),
    ({"passwords": ["fine", PASSWORD]}, PASSWORD),
    ({"deep": [{"er": {"wifi password": PASSWORD}}]}, PASSWORD),
    ({"password": {"value": PASSWORD}}, PASSWORD),
    ({"passwords": {"prod": PASSWORD}}, PASSWORD),
    ({"kept": {"type": "password", "value": PASSWORD}}, PASSWORD),
    ({"pass\u200bword": PASSWORD}, PASSWORD),
    ({"credentials": {"user": "ana", "word": PASSWORD}}, PASSWORD),
    ({"env": [{"name": "DB_PASSWORD", "value": PASSWORD}]}, PASSWORD),
    ({"passphrase": "correct horse battery staple"}, "correct horse battery staple"),
    ({"aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEYQ"}, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEYQ"),
    ({"api-key": "0a1b2c3d4e5f60718293a4b5c6d7e8f9"}, "0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    ({"Authorization": "Bearer 0a1b2c3d4e5f60718293"}, "0a1b2c3d4e5f60718293"),
    ({"card": CARD}, CARD),
    ({"card": float(CARD)}, CARD),
    ({"cards": [1, CARD]}, CARD),
    ({"pin": 4711}, 4711),
]


@table(("metadata", "secret"), TOLD_BY_NAME, ids=[str(list(one)) for one, _ in TOLD_BY_NAME])
def test_a_value_in_metadata_is_known_by_its_name(metadata: dict[str, Any], secret: object) -> None:
    found = screen(a_draft(metadata={"fine": "a", **metadata}), REDACTING)
    assert isinstance(found, Screened)
    assert len(found.redacted) == 1
    assert str(secret) not in repr(found.value.metadata)
    assert found.value.metadata is not None
    assert list(found.value.metadata) == ["fine", *metadata]
    assert isinstance(screen(a_draft(metadata=metadata), REFUSING), Refused)


def test_values_of_metadata_that_no_name_makes_secret_are_kept_as_they_are() -> None:
    metadata = {
        "password": "required",
        "password_policy": "12 characters, 1 digit",
        "password_rules": {"owner": "Alice2 Smith", "least": 12},
        "password_changed": "2024-05-01",
        "key": "value-12ab",
        "primary_key": "user_id_1",
        "passenger": "Ana2",
        "zip_code": "90210",
        "status_code": 2000,
        "token_count": 1234567,
        "tokens": {"prompt": 1234, "completion": 4321, "model": "gpt-4o-2024-08-06"},
        "session_id": "8f14e45fceea167a5a36dedd4bea2543",
        "pinned_at": 1717171717171,
        "order": 4539148803436468,
        "ratio": 4539148803436467.5,
        "huge": 10**400,
        "endless": float("1e300"),
        "flag": True,
        "value": "hunter2",
    }
    draft = replace(a_draft(), metadata=metadata)
    assert screen(draft, REDACTING) == Screened(draft, ())


@table(
    "named",
    [
        {"title": "wifi password"},
        {"title": "The password for the guest wifi"},
        {"tags": ("home", "password")},
        {"topic_key": "wifi-password"},
        {"subject": "wifi: password"},
    ],
    ids=str,
)
@table("text", ["{}", "It is {}.", "it's '{}'", "= {}"])
def test_a_text_of_one_word_is_what_its_name_says(named: dict[str, Any], text: str) -> None:
    found = screen(a_draft(text=text.format(PASSWORD), **named), REDACTING)
    assert PASSWORD not in repr(found)
    assert isinstance(found, Refused) if text in ("{}", "= {}") else isinstance(found, Screened)
    assert isinstance(screen(a_draft(text=text.format(PASSWORD), **named), REFUSING), Refused)
    assert isinstance(screen(a_draft(text=text.format(PASSWORD), title="wifi name"), REDACTING), Screened)


@table("title", ["Password", "wifi password", "Password policy", "API key", "PIN", "Passwords", "Token"])
@table(
    "text",
    [
        "Ana changed it on 2024-05-01",
        "rotated",
        "Friday",
        "12 characters",
        "in vault 7",
        "See page2 of the notes",
        "4711 Elm Street",
    ],
)
def test_an_ordinary_text_is_kept_whatever_its_title(title: str, text: str) -> None:
    draft = a_draft(text=text, title=title, tags=(title,))
    assert screen(draft, REDACTING) == Screened(draft, ())
