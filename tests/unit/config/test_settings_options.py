"""Every setting: read from a file, the environment, an option and a mapping, told where from, and documented."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from functools import reduce
from operator import attrgetter, getitem
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import config
from recollect.admission.policy import AdmissionPolicy
from recollect.config import OPTIONS, Option, Sources
from recollect.config.loader import (
    OTHER_VARIABLES,
    ArgumentOrigin,
    DefaultOrigin,
    EnvironmentOrigin,
    FileOrigin,
    FlagOrigin,
    render_settings_json,
    render_settings_toml,
)
from recollect.config.settings import SECTION_NAMES
from recollect.errors import FieldError
from recollect.lifecycle.policy import RetentionDays
from tests.tables import table

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"
ROW = re.compile(r"^\| `([\w.]+)` \| (?:`(\w+)`|–) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)

PATHS = table("option", OPTIONS.values(), ids=lambda option: option.path)
PLAIN = table("option", [one for one in OPTIONS.values() if not one.is_table], ids=lambda option: option.path)

OF_THEIR_OWN: Mapping[str, Any] = {
    "lifecycle.time_zone": "Europe/Lisbon",
    "lifecycle.segment_tokens": 700,
    "lifecycle.vector.prune_schedule": "30 6 * * 1",
    "lifecycle.bm25.rebuild_schedule": "30 6 * * 1",
    "episodic.prune_schedule": "30 6 * * 1",
    "scheduler.rollup": "30 6 * * 1",
    "scheduler.extract": "30 6 * * 1",
    "scheduler.topics": "30 6 * * 1",
    "scheduler.consolidate": "30 6 * * 1",
    "scheduler.lease_minutes": 20.5,
}
"""What settings may be that not every value of their type can be."""


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*OTHER_VARIABLES, *(option.variable for option in OPTIONS.values())):
        monkeypatch.delenv(name, raising=False)


def another(option: Option) -> Any:
    """A value that it may have and that is not its default."""
    if option.path in OF_THEIR_OWN:
        return OF_THEIR_OWN[option.path]
    if option.is_table:
        return {"some/model-1": 0.35}
    if get_origin(option.type) is Literal:
        return next(one for one in get_args(option.type) if one != option.default)
    if option.type == RetentionDays:
        return 7
    return {bool: not option.default, float: 0.35, int: 7, str: 'a "text" é'}[option.type]


def as_toml(value: Any) -> str:
    """The value as somebody would write it, without the code that is tested here."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(key)} = {as_toml(one)}" for key, one in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def as_document(option: Option) -> dict[str, Any]:
    """A mapping that sets it."""
    return nested(option, another(option))


def nested(option: Option, value: Any) -> dict[str, Any]:
    """A mapping that sets it to this."""
    for name in reversed(option.path.split(".")):
        value = {name: value}
    found: dict[str, Any] = value
    return found


def held(settings: config.Settings, option: Option) -> Any:
    """What the settings have of it."""
    return attrgetter(option.path)(settings)


@PATHS
def test_it_is_set_by_a_mapping_and_by_nothing_else_there(option: Option) -> None:
    found = config.load_configuration(as_document(option))
    assert held(found.settings, option) == another(option) != option.default
    assert found.origins == {**dict.fromkeys(OPTIONS, DefaultOrigin()), option.path: ArgumentOrigin()}
    assert config.load_settings(as_document(option)) == found.settings


@PATHS
def test_it_is_set_by_a_mapping_that_names_it_with_its_dots(option: Option) -> None:
    assert config.load_configuration({option.path: another(option)}) == config.load_configuration(as_document(option))


@table("option", [one for one in OPTIONS.values() if one.section is not None], ids=lambda option: option.path)
def test_what_a_mapping_says_in_both_forms_has_to_be_the_same(option: Option) -> None:
    both = {option.path: another(option), **as_document(option)}
    assert config.load_settings(both) == config.load_settings(as_document(option))
    default = {option.path: option.default, **as_document(option)}
    with pytest.raises(FieldError, match=re.escape("is given twice with different values; give it once")) as caught:
        config.load_settings(default)
    assert caught.value.field == option.path


@PATHS
def test_it_is_set_by_a_file_which_tells_the_line_unless_it_is_a_secret(
    option: Option, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "agent.toml"
    header = "" if option.section is None else f"[{option.section}]"
    file.write_text(f"# mine\n{header}\n\n{option.name} = {as_toml(another(option))}\n", encoding="utf-8")
    monkeypatch.setenv("RECOLLECT_CONFIG", str(file))
    if option.secret:
        with pytest.raises(FieldError, match=rf"is a secret, .* set {option.variable} .*, line 4$"):
            config.load_settings()
        return
    found = config.load_configuration()
    assert held(found.settings, option) == another(option)
    assert found.origins[option.path] == FileOrigin(str(file), 4)
    assert set(found.origins.values()) == {FileOrigin(str(file), 4), DefaultOrigin()}
    assert config.load_file_configuration(file) == found


@PLAIN
def test_it_is_set_by_its_variable_and_a_variable_that_is_empty_says_nothing(
    option: Option, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as environment:
        environment.setenv(option.variable, "")
        assert config.load_settings() == config.Settings()
        environment.setenv(option.variable, str(another(option)))
        found = config.load_configuration()
    assert held(found.settings, option) == another(option)
    assert found.origins == {**dict.fromkeys(OPTIONS, DefaultOrigin()), option.path: EnvironmentOrigin(option.variable)}


@PLAIN
def test_it_is_set_by_the_command_line_unless_it_is_a_secret(option: Option) -> None:
    with config.use_sources(Sources(flags=(f"{option.path}={another(option)}",))):
        if option.secret:
            with pytest.raises(FieldError, match=f"would show to other users; set {option.variable} "):
                config.load_settings()
            return
        found = config.load_configuration()
    assert held(found.settings, option) == another(option)
    assert found.origins[option.path] == FlagOrigin("--setting")
    assert config.load_settings() == config.Settings()


@PATHS
def test_what_is_given_wins_over_flags_those_over_the_environment_and_that_over_the_file(
    option: Option, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    winners: list[Any] = []
    with monkeypatch.context() as environment:
        with config.use_sources(Sources(explicit_file=tmp_path / "agent.toml", flags=())):
            (tmp_path / "agent.toml").write_text("")
            winners.append(config.load_configuration().origins[option.path])
            if not option.secret:
                header = "" if option.section is None else f"[{option.section}]\n"
                (tmp_path / "agent.toml").write_text(f"{header}{option.name} = {as_toml(another(option))}\n", "utf-8")
                winners.append(config.load_configuration().origins[option.path])
            if not option.is_table:
                environment.setenv(option.variable, str(another(option)))
                winners.append(config.load_configuration().origins[option.path])
        if not option.is_table and not option.secret:
            with config.use_sources(
                Sources(explicit_file=tmp_path / "agent.toml", flags=(f"{option.path}={another(option)}",))
            ):
                winners.append(config.load_configuration().origins[option.path])
                found = config.load_configuration(nested(option, option.default))
                winners.append(found.origins[option.path])
                assert held(found.settings, option) == option.default
    ranks = [
        type(one) for one in (DefaultOrigin(), FileOrigin(""), EnvironmentOrigin(""), FlagOrigin(""), ArgumentOrigin())
    ]
    assert [ranks.index(type(one)) for one in winners] == sorted({ranks.index(type(one)) for one in winners})


@PATHS
def test_it_is_shown_with_its_value_and_where_it_comes_from_and_a_secret_is_not(option: Option) -> None:
    found = config.load_configuration(as_document(option))
    shown = "\n".join(render_settings_toml(found, origins=True))
    row = next(one for one in render_settings_json(found, origins=True) if one["name"] == option.path)
    if option.secret:
        assert f"# {option.name} is set  # given" in shown
        assert row == {"name": option.path, "set": True, "origin": "given"}
        assert another(option) not in shown
        return
    assert reduce(getitem, option.path.split("."), tomllib.loads(shown)) == row["value"] == another(option)
    assert row == {"name": option.path, "value": another(option), "origin": "given"}
    assert re.search(rf"^{option.name} = .*  # given$", shown, re.MULTILINE)


def test_what_is_shown_is_a_file_that_comes_to_the_same(tmp_path: Path) -> None:
    for one in OPTIONS.values():
        if not one.secret:
            found = config.load_configuration(as_document(one))
            (tmp_path / "shown.toml").write_text("\n".join(render_settings_toml(found, origins=True)), encoding="utf-8")
            assert config.load_file_configuration(tmp_path / "shown.toml").settings == found.settings


@given(st.text(), st.dictionaries(st.text(), st.floats(0, 1)))
def test_any_text_is_written_as_toml_reads_it(text: str, table: dict[str, float]) -> None:
    found = config.load_configuration({"extraction": {"model": text}, "duplicates": {"by_embedder": table}})
    lines = list(render_settings_toml(found, origins=False))
    assert all(line.isprintable() for line in lines)
    document = tomllib.loads("\n".join(lines))
    assert document["duplicates"]["by_embedder"] == table
    assert "//" in text or document["extraction"]["model"] == text


def test_an_address_is_shown_without_what_may_be_secret_in_it() -> None:
    found = config.load_configuration({"embedder": "https://ana:hunter2@host/v1?key=hunter3#m"})
    for shown in (
        "\n".join(render_settings_toml(found, origins=True)),
        str(render_settings_json(found, origins=True)),
    ):
        assert "https://…host/v1…" in shown
        assert "hunter" not in shown
    assert "embedder" not in tomllib.loads("\n".join(render_settings_toml(found, origins=False)))


def test_the_reference_has_every_setting_with_its_variable_its_default_and_what_it_is() -> None:
    rows = {path: (variable or None, default.strip()) for path, variable, default, _ in _rows()}
    assert list(rows) == list(OPTIONS)
    assert rows == {path: (None if one.is_table else one.variable, rows[path][1]) for path, one in OPTIONS.items()}
    stated = {path: _default(one.default) for path, one in OPTIONS.items() if one.default is not None}
    assert {path: rows[path][1] for path in stated} == stated


def _rows() -> list[tuple[str, str, str, str]]:
    return ROW.findall(PAGE.read_text(encoding="utf-8"))


def _default(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case Mapping():
            return "none"
        case _:
            return str(value)


def test_no_two_settings_have_one_variable_and_none_has_that_of_something_else() -> None:
    variables = [option.variable for option in OPTIONS.values()] + list(OTHER_VARIABLES)
    assert len(set(variables)) == len(variables)


def test_every_section_of_the_policy_is_one_of_the_settings_and_reaches_the_policy() -> None:
    assert {one.name for one in fields(AdmissionPolicy)} <= set(SECTION_NAMES)
    assert config.load_settings({}).policy == AdmissionPolicy()
    for option in OPTIONS.values():
        if option.section in {one.name for one in fields(AdmissionPolicy)}:
            policy = config.load_settings(as_document(option)).policy
            assert getattr(getattr(policy, option.section), option.name) == another(option)


def test_the_names_of_seed_004_are_its_own() -> None:
    seed = {
        "salience": {"enabled": True, "length_density_weight": 0.45, "kind_boost": 0.20, "pinned_boost": 0.20},
        "usage_decay": {"enabled": True, "decay_factor": 0.15},
        "novelty": {"enabled": True, "threshold": 0.82},
    }
    assert config.load_settings(seed) == config.load_settings({"novelty": {"enabled": True}})
