"""The usage decay of the settings in the profiles of seed 004."""

import pytest

from recollect import config
from recollect.config import Settings, UsageDecay
from recollect.ranking.profile_toml import override_profile, profile_to_document
from recollect.ranking.profiles import BUILTIN_PROFILES, PROFILE_TEXTS, builtin_profile
from tests.tables import table

DECAYING = ("salience", "salience-hybrid")


@table("name", BUILTIN_PROFILES)
def test_by_default_every_profile_is_the_very_one_that_is_built_in(name: str) -> None:
    assert config.load_configured_profile(Settings(), name) is builtin_profile(name)


@table("name", DECAYING)
def test_the_factor_is_the_rate_of_rarity_and_the_version_says_that_it_was_changed(name: str) -> None:
    changed = config.load_configured_profile(Settings(usage_decay=UsageDecay(decay_factor=0.3)), name)
    assert changed == override_profile(builtin_profile(name), {"factors": {"rarity": {"rate": 0.3}}})
    assert profile_to_document(changed)["factors"]["rarity"] == {
        **profile_to_document(builtin_profile(name))["factors"]["rarity"],
        "rate": 0.3,
    }
    assert changed.version.startswith("1+")


@table("name", DECAYING)
def test_switched_off_the_factor_is_gone_and_the_rest_is_as_it_was(name: str) -> None:
    changed = config.load_configured_profile(Settings(usage_decay=UsageDecay(enabled=False, decay_factor=0.3)), name)
    kept = profile_to_document(builtin_profile(name))
    del kept["factors"]["rarity"]
    assert {**profile_to_document(changed), "version": "1"} == kept
    assert changed.version.startswith("1+")


@table("name", sorted(set(BUILTIN_PROFILES) - set(DECAYING)))
def test_no_other_profile_is_touched(name: str) -> None:
    assert config.load_configured_profile(Settings(usage_decay=UsageDecay(enabled=False)), name) is builtin_profile(
        name
    )


def test_a_file_is_as_it_is_written_whatever_its_name(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("mine") / "salience.toml"
    file.write_text(PROFILE_TEXTS["salience"], encoding="utf-8")
    assert config.load_configured_profile(Settings(usage_decay=UsageDecay(enabled=False)), file) == builtin_profile(
        "salience"
    )


def test_overrides_of_a_call_are_applied_last() -> None:
    decay = Settings(usage_decay=UsageDecay(decay_factor=0.3))
    back = {"factors": {"rarity": {"rate": 0.15}}}
    assert config.load_configured_profile(decay, "salience", back).factors == builtin_profile("salience").factors


def test_a_profile_that_is_asked_for_without_settings_is_the_built_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_USAGE_DECAY_ENABLED", "false")
    assert config.profile("salience") is builtin_profile("salience")
