"""Every setting reaches what it is about."""

import tomllib
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.ranking.profiles import builtin_profile
from tests.integration.providers.server import serving, well

ANA = "acme/ana"


def test_the_busy_timeout_is_how_long_a_write_waits_for_others(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with recollect.open(path, embedder="hashing", settings={"busy_timeout": 0.05}) as memory:
        memory.remember("before", scope=ANA)
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(recollect.StoreBusy, match=r"0\.05 s") as caught:
            memory.remember("meanwhile", scope=ANA)
        assert caught.value.retryable
        other.execute("ROLLBACK")
        memory.remember("after", scope=ANA)
        assert {one.text for one in memory.memories(scope=ANA)} == {"before", "after"}


def test_the_busy_timeout_is_how_long_opening_waits_too(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    holder = apsw.Connection(str(path))
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(recollect.StoreBusy):
        recollect.open(path, embedder="hashing", settings={"busy_timeout": 0.05})
    holder.execute("ROLLBACK")


def test_the_busy_timeout_is_how_long_re_embedding_waits_for_the_file(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    recollect.open(path, embedder="hashing").close()
    holder = apsw.Connection(str(path))
    holder.pragma("journal_mode", "delete")
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(recollect.StoreBusy):
        recollect.re_embed(path, embedder="hashing-64", settings={"busy_timeout": 0.05})
    holder.execute("ROLLBACK")


def test_the_cache_keeps_no_more_than_its_bytes_and_the_answers_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with recollect.open(path, embedder="hashing") as memory:
        for name in ("ana", "ben", "eva"):
            memory.remember_all([{"text": f"seat {name} {n}"} for n in range(20)], scope=f"acme/{name}")
        wide = {name: [one.id for one in memory.search("seat 7", scope=f"acme/{name}")] for name in ("ana", "ben")}
        assert len(memory._open_deps.store._column_cache._columns) == 2  # type: ignore[attr-defined]
    with recollect.open(path, settings={"cache_bytes": 1}) as memory:
        for _ in range(2):
            for name, expected in wide.items():
                assert [one.id for one in memory.search("seat 7", scope=f"acme/{name}")] == expected
        assert len(memory._open_deps.store._column_cache._columns) == 1  # type: ignore[attr-defined]


def test_the_embedder_of_the_environment_is_the_one_for_a_new_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hashing")
    with recollect.open(tmp_path / "agent.db") as memory:
        assert memory.admin.embedder == "hashing-256"


def test_the_key_is_for_an_embedder_behind_an_address(tmp_path: Path) -> None:
    settings = {"embedder_key": "k-1"}
    with recollect.open(tmp_path / "a.db", embedder="hashing", settings=settings) as memory:
        assert memory.admin.embedder == "hashing-256"
    with serving(well) as server:
        with recollect.open(tmp_path / "b.db", embedder=f"{server.url}#m", settings=settings) as memory:
            memory.remember("seat", scope=ANA)
        assert {asked.headers["Authorization"] for asked in server.asked} == {"Bearer k-1"}


def test_the_profile_of_open_is_the_one_that_goes_without_saying(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "agent.db", embedder="hashing", profile="three-signal") as memory:
        memory.remember("seat", scope=ANA)
        assert memory.search("seat", scope=ANA).profile == "three-signal"
        assert memory.search("seat", scope=ANA, profile="five-signal").profile == "five-signal"
        assert memory.search("seat", scope=ANA, overrides={"min_score": 0.5}).version.startswith("1+")
    with pytest.raises(recollect.NotFound, match="did you mean 'default'"):
        recollect.open(tmp_path / "agent.db", profile="defalt")


def served(path: Path) -> Path:
    """A store with a memory that was served once."""
    with recollect.open(path, embedder="hashing") as memory:
        memory.remember("Ana prefers window seats", scope=ANA)
        memory.recall("window seats", scope=ANA)
    return path


def rarity(ranking: recollect.Ranking) -> list[float]:
    """What the score of the first is multiplied by for how often it was served."""
    return [scale.times for scale in ranking[0].explanation.scales if scale.factor == "rarity"]


@pytest.mark.parametrize("profile", ["salience", "salience-hybrid"])
@pytest.mark.parametrize(
    ("decay", "expected", "version"),
    [
        ({}, [1 / (1 + 0.15 * 1)], "1"),
        ({"decay_factor": 0.15, "enabled": True}, [1 / (1 + 0.15 * 1)], "1"),
        ({"decay_factor": 0.6}, [1 / (1 + 0.6 * 1)], "1+"),
        ({"enabled": False}, [], "1+"),
    ],
)
def test_the_usage_decay_is_what_the_profiles_of_seed_004_rank_by_and_say(
    profile: str, decay: dict[str, object], expected: list[float], version: str, tmp_path: Path
) -> None:
    store = served(tmp_path / "agent.db")
    with recollect.open(store, settings={"usage_decay": decay}, profile=profile) as memory:
        for ranking in (
            memory.search("window seats", scope=ANA),
            memory.search("window seats", scope=ANA, profile=profile),
        ):
            assert rarity(ranking) == expected
            assert ranking.version.startswith(version)
            assert ("+" in ranking.version) == ("+" in version)
        assert memory.search("window seats", scope=ANA, profile="default").version == builtin_profile("default").version


def test_the_usage_decay_leaves_a_profile_that_is_handed_over_alone(tmp_path: Path) -> None:
    mine = recollect.profile("salience")
    with recollect.open(served(tmp_path / "agent.db"), settings={"usage_decay": {"enabled": False}}) as memory:
        assert memory.search("window seats", scope=ANA, profile=mine).version == mine.version


def test_open_reads_the_file_that_the_environment_names_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "embedder = 'hashing'\n[usage_decay]\nenabled = false\n"
    for path in (tmp_path / "recollect.toml", tmp_path / "xdg" / "recollect" / "config.toml"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("no TOML")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("RECOLLECT_EMBEDDER", raising=False)
    (tmp_path / "agent.toml").write_text(text)
    monkeypatch.setenv("RECOLLECT_CONFIG", "agent.toml")
    with recollect.open("new.db") as memory:
        assert memory.admin.embedder == "hashing-256"
    with recollect.open(served(tmp_path / "agent.db")) as memory:
        assert rarity(memory.search("window seats", scope=ANA, profile="salience")) == []
    with recollect.open("agent.db", settings=tomllib.loads(text)) as memory:
        assert rarity(memory.search("window seats", scope=ANA, profile="salience")) == []
    with recollect.open("agent.db", settings=recollect.Settings()) as memory:
        assert rarity(memory.search("window seats", scope=ANA, profile="salience")) == [1 / (1 + 0.15 * 1)]
