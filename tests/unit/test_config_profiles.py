"""The usage decay of the settings in the profiles of seed 004."""

import pytest

from recollect import config
from recollect.config import Settings, UsageDecay
from recollect.ranking.profile_toml import describe, override
from recollect.ranking.profiles import BUILT_IN, TEXTS, built_in
from tests.tables import table

DECAYING = ("salience", "salience-hybrid")


@table("name", BUILT_IN)
def test_by_default_every_profile_is_the_very_one_that_is_built_in(name: str) -> None:
    assert config.configured_profile(Settings(), name) is built_in(name)


@table("name", DECAYING)
def test_the_factor_is_the_rate_of_rarity_and_the_version_says_that_it_was_changed(name: str) -> None:
    changed = config.configured_profile(Settings(usage_decay=UsageDecay(decay_factor=0.3)), name)
    assert changed == override(built_in(name), {"factors": {"rarity": {"rate": 0.3}}})
    assert describe(changed)["factors"]["rarity"] == {**describe(built_in(name))["factors"]["rarity"], "rate": 0.3}
    assert changed.version.startswith("1+")


@table("name", DECAYING)
def test_switched_off_the_factor_is_gone_and_the_rest_is_as_it_was(name: str) -> None:
    changed = config.configured_profile(Settings(usage_decay=UsageDecay(enabled=False, decay_factor=0.3)), name)
    kept = describe(built_in(name))
    del kept["factors"]["rarity"]
    assert {**describe(changed), "version": "1"} == kept
    assert changed.version.startswith("1+")


@table("name", sorted(set(BUILT_IN) - set(DECAYING)))
def test_no_other_profile_is_touched(name: str) -> None:
    assert config.configured_profile(Settings(usage_decay=UsageDecay(enabled=False)), name) is built_in(name)


def test_a_file_is_as_it_is_written_whatever_its_name(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("mine") / "salience.toml"
    file.write_text(TEXTS["salience"], encoding="utf-8")
    assert config.configured_profile(Settings(usage_decay=UsageDecay(enabled=False)), file) == built_in("salience")


def test_overrides_of_a_call_are_applied_last() -> None:
    decay = Settings(usage_decay=UsageDecay(decay_factor=0.3))
    back = {"factors": {"rarity": {"rate": 0.15}}}
    assert config.configured_profile(decay, "salience", back).factors == built_in("salience").factors


def test_a_profile_that_is_asked_for_without_settings_is_the_built_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_USAGE_DECAY_ENABLED", "false")
    assert config.profile("salience") is built_in("salience")
