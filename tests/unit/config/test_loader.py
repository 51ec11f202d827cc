"""Which file is read, what is refused in it, and with which words."""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import config
from recollect.admission.policy import NoveltyPolicy
from recollect.config import OPTIONS, ExtractionSettings, Settings, Sources, UsageDecay
from recollect.config.loader import MAX_FILE_BYTES, MAX_VALUE_LINES, OTHER_VARIABLES, FileOrigin, read_settings_file
from recollect.errors import FieldError, InvalidInput, NotFound, RecollectError
from tests.platforms import posix_only
from tests.tables import table


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*OTHER_VARIABLES, *(option.variable for option in OPTIONS.values())):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def a_file(path: Path, text: str = "busy_timeout = 7") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def wait(sources: Sources | None = None) -> float:
    """The one setting that the files of these tests are about."""
    with config.use_sources(Sources() if sources is None else sources):
        return config.load_settings().busy_timeout


USERS = Sources(reads_user_file=True)


def test_a_file_of_the_working_directory_is_never_read_without_being_named(tmp_path: Path) -> None:
    for name in ("recollect.toml", "config.toml", ".recollect.toml", "recollect/config.toml"):
        a_file(tmp_path / name)
    assert wait() == wait(USERS) == Settings().busy_timeout
    assert wait(Sources(explicit_file=Path("recollect.toml"))) == 7


def test_the_users_own_file_is_for_the_command_line_alone(tmp_path: Path) -> None:
    a_file(tmp_path / "xdg" / "recollect" / "config.toml")
    assert wait() == Settings().busy_timeout
    assert wait(USERS) == 7


@pytest.mark.parametrize("xdg", ["", "relative", None])
def test_without_a_folder_for_configurations_it_is_in_the_home(
    xdg: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_file(tmp_path / "relative" / "recollect" / "config.toml", "busy_timeout = 1")
    a_file(tmp_path / "home" / ".config" / "recollect" / "config.toml")
    if xdg is None:
        monkeypatch.delenv("XDG_CONFIG_HOME")
    else:
        monkeypatch.setenv("XDG_CONFIG_HOME", xdg)
    assert wait(USERS) == 7


def test_the_file_that_is_named_wins_over_that_of_the_environment_and_this_over_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_file(tmp_path / "xdg" / "recollect" / "config.toml", "busy_timeout = 1\ncache_bytes = 1")
    monkeypatch.setenv("RECOLLECT_CONFIG", str(a_file(tmp_path / "b.toml", "busy_timeout = 2")))
    assert wait() == wait(USERS) == 2
    sources = replace(USERS, explicit_file=a_file(tmp_path / "c.toml", "busy_timeout = 3"))
    assert wait(sources) == 3
    with config.use_sources(sources):
        assert config.load_settings().cache_bytes == Settings().cache_bytes  # one file is read, never two


def test_an_empty_variable_has_no_file_read_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_file(tmp_path / "xdg" / "recollect" / "config.toml")
    monkeypatch.setenv("RECOLLECT_CONFIG", "")
    assert wait(USERS) == Settings().busy_timeout


def test_where_nobody_has_a_home_there_is_no_file_of_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert wait(USERS) == Settings().busy_timeout


def test_a_users_folder_that_cannot_be_entered_is_told_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ("x" * 300)))
    with pytest.raises(InvalidInput, match="set RECOLLECT_CONFIG to another file, or to nothing for none"):
        wait(USERS)


@pytest.mark.parametrize("by", ["named", "environment"])
def test_a_file_that_is_named_must_be_there(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CONFIG", "nope.toml" if by == "environment" else "")
    with pytest.raises(NotFound, match=r"configuration file 'nope\.toml' does not exist"):
        wait(Sources(explicit_file=Path("nope.toml")) if by == "named" else None)


@posix_only
def test_a_pipe_a_device_a_folder_and_what_is_too_large_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "device.toml").symlink_to("/dev/zero")
    (tmp_path / "folder.toml").mkdir()
    for name in ("pipe", "device", "folder"):
        with pytest.raises(InvalidInput, match=rf"cannot read .*'{name}\.toml': it is not a regular file"):
            config.load_file_configuration(Path(f"{name}.toml"))
    a_file(tmp_path / "large.toml", "#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(InvalidInput, match=f"cannot read .*: it has more than {MAX_FILE_BYTES} bytes"):
        config.load_file_configuration(Path("large.toml"))


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("a =\n", r"the configuration file 'a\.toml' is not valid TOML: .*line 1"),
        ("busy_timeout = 1\nbusy_timeout = 2\n", "is not valid TOML: .*line 2"),
        ("a = " + "[" * 5000, "is not valid TOML"),
        ("[noveltyy]\nenabled = true", r"field 'noveltyy': unknown section; did you mean 'novelty'\?; .*1$"),
        (
            "\n[novelty]\ntreshold = 1",
            r"'novelty\.treshold': unknown setting; did you mean 'threshold'.*, line 3",
        ),
        ("nothing.like = 1", r"field 'nothing': unknown section; known are embedder, .*a\.toml, line 1"),
        ("threshold = 1", "field 'threshold': unknown setting"),
        ('"novelty.threshold" = 1', r"field 'novelty\.threshold': unknown setting"),
        ("novelty = true", r"field 'novelty': True is not a table; write enabled = … under \[novelty\]; .*, line 1"),
        ("[[novelty]]\nenabled = true", r"field 'novelty': .* is not a table; .*a\.toml, line 1"),
        ("novelty.enabled = 1", r"field 'novelty\.enabled': 1 is neither true nor false; .*a\.toml, line 1"),
        ("[novelty]\nthreshold = '0.9'", r"field 'novelty\.threshold': '0\.9' is not a number; .*, line 2"),
        ("[novelty]\nthreshold = nan", r"'novelty\.threshold': nan is not a finite number; .*, line 2"),
        (
            "[novelty]\n\nthreshold = 1.5",
            r"'novelty\.threshold': 1\.5 is not within 0\.\.1; it comes from a\.toml, line 3",
        ),
        ("[novelty]\nthreshold = 2026-01-01", r"datetime\.date\(2026, 1, 1\) is not a number"),
        ("cache_bytes = 1.0", r"'cache_bytes': 1\.0 is not a whole number; it comes from a\.toml, line 1"),
        ("cache_bytes = true", "'cache_bytes': True is not a whole number"),
        ("busy_timeout = 0", r"'busy_timeout': 0\.0 is not a number of seconds .*; it comes from a\.toml, line 1"),
        ("embedder = ['hashing']", r"'embedder': \['hashing'\] is not text; it comes from a\.toml, line 1"),
        ("embedder = '''\n\n\n'''\nbusy_timeout = 0", r"it comes from a\.toml, line 5"),
        ("[secrets]\naction = 'keep'", r"'secrets\.action': 'keep' is not an action for secrets; .*, line 2"),
        ("[salience]\nfull_length = 0", r"field 'salience': full_length is 0; use .*; it comes from a\.toml, line 2"),
        (
            "[usage_decay]\ndecay_factor = 0",
            r"decay_factor': 0\.0 is not above 0; set enabled = false to turn the decay off",
        ),
        ("[extraction]\nextractor = 'lln'", r"'lln' is not an extractor; did you mean 'llm'\?|known are phrases, llm"),
        ("[extraction]\nmost = 11", r"'extraction\.most': 11 is not within 1\.\.10; .*, line 2"),
        ("[extraction]\nattempts = 0", r"'extraction\.attempts': 0 is not within 1\.\.100"),
        ("[extraction]\ntimeout = 86401", r"'extraction\.timeout': 86401\.0 is not a number of seconds up to a day"),
        ("[extraction]\nprice_prompt = -1", r"'extraction\.price_prompt': -1\.0 is not a price"),
        (
            "[duplicates]\nby_embedder = 0.9",
            r"'duplicates\.by_embedder': 0\.9 is not a table of names and numbers; .*line 2",
        ),
        ("[duplicates.by_embedder]\n\nm = 'x'", r"'duplicates\.by_embedder\.m': 'x' is not a number; .*, line 3"),
        ("[duplicates.by_embedder]\n\nm = 2", r"'duplicates\.by_embedder': 2\.0 is not within 0\.\.1; .*, line 1"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name_its_value_and_its_line(
    text: str, refusal: str, tmp_path: Path
) -> None:
    a_file(tmp_path / "a.toml", text)
    with pytest.raises(InvalidInput, match=refusal):
        config.load_file_configuration(Path("a.toml"))


@pytest.mark.parametrize("text", ["embeder_key = 'k-1'", "[extraction]\napi_key = 'k-1'", "embedder_key = 'k-1'"])
def test_a_key_in_a_file_is_refused_and_not_repeated_however_it_is_spelled(text: str, tmp_path: Path) -> None:
    with pytest.raises(FieldError) as refused:
        config.load_file_configuration(a_file(tmp_path / "a.toml", text))
    assert "k-1" not in str(refused.value)


def test_a_wrong_value_is_refused_also_where_another_one_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CONFIG", str(a_file(tmp_path / "a.toml", "busy_timeout = 0")))
    monkeypatch.setenv("RECOLLECT_BUSY_TIMEOUT", "1")
    with pytest.raises(FieldError, match=r"a\.toml, line 1"):
        config.load_settings({"busy_timeout": 2})


def test_lines_are_told_of_headers_dotted_names_and_tables_within_tables(tmp_path: Path) -> None:
    text = """# a comment

novelty.threshold = 0.5
"busy_timeout" = 1  # and one here
[ duplicates ]
threshold = 0.5
by_embedder.'a.b' = 0.5
  [ extraction ]
  model = '''
[secrets]
'''
  address = "x"
"""
    found = {path: origin.line for path, (_, origin) in read_settings_file(a_file(tmp_path / "a.toml", text)).items()}
    assert found == {
        "novelty.threshold": 3,
        "busy_timeout": 4,
        "duplicates.threshold": 6,
        "duplicates.by_embedder": 7,
        "extraction.model": 9,
        "extraction.address": 12,
    }


def test_behind_a_value_that_is_very_long_lines_are_not_told(tmp_path: Path) -> None:
    text = "embedder = '''" + "\n" * MAX_VALUE_LINES + "'''\nbusy_timeout = 1"
    path = a_file(tmp_path / "a.toml", text)
    assert read_settings_file(path)["busy_timeout"][1] == FileOrigin(str(path), None)
    assert str(FileOrigin("a.toml")) == "a.toml"


@given(st.text())
def test_whatever_is_in_a_file_it_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "a.toml"
    path.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    with suppress(RecollectError):
        config.load_file_configuration(path)


@table("text", ["true", "TRUE", " yes ", "1", "Yes"])
def test_a_variable_says_yes(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_NOVELTY_ENABLED", text)
    assert config.load_settings().novelty.enabled is True


@table("text", ["false", "False", "no", "0", " NO"])
def test_a_variable_says_no(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_QUARANTINE_ENABLED", text)
    assert config.load_settings().quarantine.enabled is False


@table(
    ("variable", "text", "refusal"),
    [
        ("RECOLLECT_NOVELTY_ENABLED", "on", "'on' is not a boolean"),
        ("RECOLLECT_NOVELTY_THRESHOLD", "0,9", "'0,9' is not a number"),
        ("RECOLLECT_NOVELTY_THRESHOLD", "9", r"9\.0 is not within 0\.\.1"),
        ("RECOLLECT_NOVELTY_THRESHOLD", "1e999", "inf is not a finite number"),
        ("RECOLLECT_BUSY_TIMEOUT", "nan", "nan is not a finite number"),
        ("RECOLLECT_CACHE_BYTES", "1G", "'1G' is not a number"),
        ("RECOLLECT_SALIENCE_FULL_LENGTH", "5.5", r"'5\.5' is not a number"),
        ("RECOLLECT_SECRETS_ACTION", "keep", "'keep' is not an action for secrets"),
        ("RECOLLECT_DUPLICATES_BY_EMBEDDER", "m=0.9", "is a table, which a single value cannot set; set it in a file"),
    ],
)
def test_a_variable_that_cannot_be_is_refused_by_its_name(
    variable: str, text: str, refusal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as environment:
        environment.setenv(variable, text)
        with pytest.raises(FieldError, match=f"{refusal}.*; it comes from {variable}"):
            config.load_settings()


@table(
    ("flag", "refusal"),
    [
        ("novelty.threshold", "is not NAME=VALUE"),
        (
            "novelty.treshold=1",
            r"field 'novelty\.treshold': unknown setting; did you mean 'novelty\.threshold'",
        ),
        ("novelty.threshold=2", r"2\.0 is not within 0\.\.1; it comes from --setting"),
        ("duplicates.by_embedder=1", "is a table, .*; it comes from --setting"),
    ],
)
def test_a_flag_that_cannot_be_is_refused(flag: str, refusal: str) -> None:
    with config.use_sources(Sources(flags=(flag,))), pytest.raises(FieldError, match=refusal):
        config.load_settings()


def test_the_last_of_two_flags_for_one_setting_holds() -> None:
    with config.use_sources(Sources(flags=("busy_timeout=1", "busy_timeout=2"))):
        assert config.load_settings().busy_timeout == 2


@table(
    ("given", "refusal"),
    [
        (
            {"novelty": {"treshold": 1}},
            r"field 'novelty\.treshold': unknown setting; did you mean 'threshold'",
        ),
        ({"novelty": None}, "field 'novelty': None is not a table"),
        (
            {"novelty.treshold": 0.5},
            r"field 'novelty\.treshold': unknown setting; did you mean 'novelty\.threshold'",
        ),
        ({"novelty.threshold": "high"}, r"field 'novelty\.threshold': 'high' is no"),
        ({"lifecycle.vector": 7}, r"field 'lifecycle\.vector': 7 is not a table"),
        ({"extraction.key": "k-1", "extraction": {"key": "k-2"}}, r"field 'extraction\.key': is given twice(?!.*k-)"),
        ({"novelty": {7: 1}}, r"field 'novelty\.7': unknown setting"),
        ({7: 1}, "field '7': unknown setting"),
        ({"novelty": {"threshold": None}}, r"field 'novelty\.threshold': None is not a number"),
        ({"extraction": {"key": b"k-1"}}, r"field 'extraction\.key': bytes is not a string"),
        ({"duplicates": {"by_embedder": {7: 0.5}}}, r"field 'duplicates\.by_embedder': 7 is not text"),
        ("novelty", "field 'settings': 'novelty' is not a recollect.Settings or a mapping"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(given: Any, refusal: str) -> None:
    with pytest.raises(FieldError, match=refusal):
        config.load_settings(given)


def test_a_section_may_be_given_whole_and_a_setting_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_NOVELTY_ENABLED", "true")
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hashing")
    found = config.load_settings({"novelty": NoveltyPolicy(threshold=0.5), "embedder": None})
    assert found == Settings(novelty=NoveltyPolicy(threshold=0.5))


def test_settings_are_not_read_from_anywhere_where_they_are_given_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CONFIG", "nope.toml")
    whole = Settings(usage_decay=UsageDecay(enabled=False))
    assert config.load_settings(whole) is whole


def test_settings_take_no_mapping_for_a_section() -> None:
    with pytest.raises(FieldError, match="is not a NoveltyPolicy; to set part of a section, pass `open` a mapping"):
        Settings(novelty={"enabled": True})  # type: ignore[arg-type]


def test_what_a_caller_holds_of_a_mapping_cannot_change_the_settings() -> None:
    mine = {"m": 0.5}
    found = config.load_settings({"duplicates": {"by_embedder": mine}})
    mine["m"] = 0.9
    assert found.duplicates.threshold_for("m") == 0.5
    assert hash(found) == hash(config.load_settings({"duplicates": {"by_embedder": {"m": 0.5}}}))


def test_no_key_is_in_a_repr() -> None:
    assert "k-1" not in repr(config.load_settings({"embedder_key": "k-1", "extraction": {"key": "k-1"}}))


def test_a_model_that_extracts_is_named_with_its_address() -> None:
    assert ExtractionSettings(address="http://host/v1", model="m").require_endpoint() == ("http://host/v1", "m")
    with pytest.raises(FieldError, match=r"'extraction\.address': is not set, .* in RECOLLECT_EXTRACTION_ADDRESS"):
        ExtractionSettings(extractor="llm").require_endpoint()
    with pytest.raises(FieldError, match=r"'extraction\.model': is not set, .* in RECOLLECT_EXTRACTION_MODEL"):
        ExtractionSettings(extractor="llm", address="http://host/v1").require_endpoint()


def test_variables_that_nobody_hears_are_told_with_those_that_were_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.find_unknown_variables() == []
    monkeypatch.setenv("RECOLLECT_NOVELTY_TRESHOLD", "0.9")
    monkeypatch.setenv("RECOLLECT_DB", "agent.db")
    monkeypatch.setenv("RECOLLECT_XYZ", "1")
    assert config.find_unknown_variables() == [
        "RECOLLECT_NOVELTY_TRESHOLD is not a setting; did you mean RECOLLECT_NOVELTY_THRESHOLD?",
        "RECOLLECT_XYZ is not a setting",
    ]
