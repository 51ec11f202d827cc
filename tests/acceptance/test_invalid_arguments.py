"""Whatever is passed to the engine, it is taken or refused with an error of ours that says which argument it was."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import recollect
from recollect.engine.edit import Revision
from recollect.engine.episodes import Episodes
from recollect.engine.extract import Pending
from recollect.engine.groups import Admin, Contexts, Items, Timeline, Topics
from tests.examples import at_most
from tests.tables import table

ANA, NOBODY = "acme/ana", "acme/nobody"
HALF = "\ud800"
UNKEPT = [HALF, f"a{HALF}b", "a\0b"]
"""Texts that no store can have, so that nobody needs to look for them."""

DEEP: list[Any] = [[[[[[[[["x"]]]]]]]]]
ROUND: list[Any] = []
ROUND.append(ROUND)
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1.5, float("nan"), float("inf"), -(2**63) - 1, 2**63, 10**30),
    *("", " ", HALF, "\0", "x", "x" * 10_000, "\x1b[2J", "a\u200bb", "http://", "x.toml", f"{HALF}.toml", "\0.toml"),
    *(b"x", bytearray(b"x"), memoryview(b"x"), [], ["x"], [HALF], [None], [1], [[]], DEEP, (1, 2), set(), {1}),
    *({}, {"a": 1}, {1: 2}, {HALF: HALF}, {"terms": 1}, {"terms": {1: 1}}, {"text": []}, [{"text": 1}]),
    *(object(), object, range(3), len, datetime, date(2020, 1, 1), timedelta(1), datetime(2020, 1, 1)),
    datetime(9999, 12, 31, 23, 59, tzinfo=timezone(-timedelta(hours=14))),
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    datetime(2020, 1, 1, tzinfo=UTC),
]
UNSPEAKABLE: list[Any] = [10**5000, [10**5000], {10**5000: 1}, {"terms": {10**5000: 1}}, ROUND]
"""What not even Python can write down."""

LEAVES = st.one_of(
    st.sampled_from(ODD),
    st.text(st.characters(exclude_categories=())),
    st.integers(),
    st.floats(),
    st.binary(max_size=8),
)
NESTED = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=8,
)

Call = Callable[..., object]


class EntryPoints:
    """An engine with something in it, and every way into it with arguments that can be."""

    def __init__(self, folder: Path) -> None:
        self.engine = recollect.open(":memory:", embedder="hashing-16")
        self.folder = folder
        id = self.engine.remember("a seat by the window", scope=ANA, key="seat").id
        context = self.engine.recall("which seat?", scope=ANA).id
        asked: dict[str, Any] = {
            "scope": ANA,
            "profile": None,
            "as_of": None,
            "known_at": None,
            "past": False,
            "kinds": None,
            "levels": None,
        }
        one: dict[str, Any] = {"id": id, "scope": ANA}
        tasks = [self.engine.episodes.start(task, scope=ANA).id for task in ("book a seat", "book a table", "call Ben")]
        self.engine.episodes.complete(tasks[0], 0.5, scope=ANA, failure_modes=["all seats were taken"])
        revision = dict.fromkeys(inspect.signature(Revision).parameters) | {"text": "a seat"}
        self.ways: Mapping[str, dict[str, Any]] = {
            "remember": self._arguments("remember", text="a seat", scope=ANA),
            "remember_all": {"drafts": [{"text": "a seat"}], "scope": ANA},
            "items.screen": {"value": "a seat"},
            "observe": self._arguments("observe", events=["a seat by the window, please"], scope=ANA),
            "timeline.rollup": self._arguments("timeline.rollup", scope=ANA),
            "timeline.extract_events": self._arguments("timeline.extract_events", scope=ANA),
            "topics.refresh": {"scope": ANA},
            "topics.list": {"scope": ANA, "pruned": False, "limit": 3},
            "topics.get": {"id": "topic-0c0ffee00c0f", "scope": ANA},
            "timeline.browse": {"key": None, "scope": ANA},
            "timeline.expand": {"id": id, "scope": ANA, "around": 0},
            "scopes": {"scope": ANA},
            "extract": self._arguments("extract", turns=["I prefer a seat by the window"], scope=ANA),
            "topics.entities": {"scope": ANA, "limit": 3},
            "neighbors": {"name_or_id": id, "scope": ANA, "limit": 3},
            "search": asked | {"query": "seat", "limit": 3, "overrides": None, "exact": "required", "below": False},
            "recall": asked | {"query": "seat", "tokens": 200, "depth": 3, "overrides": None},
            "brief": asked | {"profile": "session", "tokens": 200, "depth": 3},
            "why": asked | {"id": id, "query": "seat", "tokens": 200, "depth": 3, "overrides": None},
            "contexts.replay": {"context_id": context, "scope": ANA},
            "feedback": {"context_id": context, "scope": ANA, "helped": [id], "misled": (), "by": None, "answer": "x"},
            "contexts.training_examples": self._arguments("contexts.training_examples", scope=ANA),
            "revise": one | revision,
            **dict.fromkeys(("restore", "pin", "unpin", "get", "contexts.usage", "history"), one),
            "forget": {**one, "provenance": None},
            "memories": self._arguments("memories", scope=ANA),
            "items.put": self._arguments("items.put", drafts=[{"text": "a seat", "topic_key": "seat"}], scope=ANA),
            "items.get": {"topic_key": "seat", "scope": ANA},
            "items.hold": {"seen": self.engine.get(id, scope=ANA), "until": datetime(2020, 1, 1, tzinfo=UTC)},
            "contexts.count_served": {"handed": [id], "scope": ANA},
            "items.replacement": {"memory": self.engine.get(id, scope=ANA), "scope": ANA},
            "admin.erasable": {"scope": ANA, "id": id, "source": None, "everything": False},
            "stats": {"scope": ANA, "below": True},
            "plan": self._arguments("plan", job="prune-vectors", scope=ANA, level="segment", age_days=3),
            "admin.run": self._arguments("admin.run", job="rebuild-index", scope=ANA, min_level="day", max_age_days=3),
            "apply": {"plan": self.engine.plan("consolidate", scope=ANA)},
            "undo": {"run": 99, "scope": ANA},
            "erase": {"scope": NOBODY, "id": None, "source": None, "everything": False},
            "admin.prove_erased": {"erasure": None},
            "export": {"scope": ANA},
            "import_": {"lines": list(self.engine.export()), "progress": None},
            "admin.import_from": self._arguments(
                "admin.import_from", lines=['{"role": "user", "content": "I prefer a seat"}'], format="chat", scope=ANA
            ),
            "admin.backup": {"path": folder / "copy.db", "progress": None},
            "episodes.start": self._arguments("episodes.start", task="book a seat", scope=ANA),
            "episodes.record": self._arguments("episodes.record", id=tasks[1], type="search", scope=ANA),
            "episodes.complete": self._arguments("episodes.complete", id=tasks[2], outcome=0.5, scope=ANA),
            "episodes.similar": self._arguments("episodes.similar", task="book a seat", scope=ANA),
            "episodes.failure_modes": self._arguments("episodes.failure_modes", task="book a seat", scope=ANA),
            "episodes.list": self._arguments("episodes.list", scope=ANA),
            "episodes.show": {"id": tasks[0], "scope": ANA},
        }

    def _arguments(self, name: str, **given: Any) -> dict[str, Any]:
        """Every argument of a method as it is where it is not given, and those that are."""
        parameters = inspect.signature(attrgetter(name)(self.engine)).parameters.values()
        return {one.name: given.get(one.name, one.default) for one in parameters}

    def enter(self, way: str, argument: str, value: object) -> None:
        """Call it; anything but an answer or an error of ours is a failure of the test."""
        if argument == "progress" and callable(value):
            return  # what the caller's own function raises is the caller's
        with suppress(recollect.RecollectError):
            came = attrgetter(way)(self.engine)(**self.ways[way] | {argument: value})
            if way == "export":
                list(came)
            if isinstance(came, Pending):
                came.result()
        self.engine.admin.flush()  # which would tell if anything could not be written that was put off


@pytest.fixture(scope="module")
def entry_points(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EntryPoints]:
    folder = tmp_path_factory.mktemp("entry-points")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # where names that are none after all become files
        found = EntryPoints(folder)
        with found.engine:
            yield found


GROUPS: Mapping[str, type] = {
    "": recollect.Engine,
    "episodes.": Episodes,
    "timeline.": Timeline,
    "topics.": Topics,
    "contexts.": Contexts,
    "items.": Items,
    "admin.": Admin,
}
PUBLIC = [
    f"{prefix}{name}"
    for prefix, group in GROUPS.items()
    for name, one in vars(group).items()
    if not name.startswith("_") and not isinstance(one, property)
]
WITHOUT_ARGUMENTS = {"close", "admin.flush", "items.now"}


def test_every_way_in_is_tried_with_all_of_its_arguments(entry_points: EntryPoints) -> None:
    assert entry_points.ways.keys() == set(PUBLIC) - WITHOUT_ARGUMENTS
    for name, arguments in entry_points.ways.items():
        named = set(inspect.signature(attrgetter(name)(entry_points.engine)).parameters)
        more = set(inspect.signature(Revision).parameters) if "changes" in named else set()
        assert arguments.keys() == named - {"changes"} | more


@pytest.mark.parametrize("way", sorted(set(PUBLIC) - WITHOUT_ARGUMENTS))
def test_nothing_but_our_errors_comes_out_whatever_an_argument_is(way: str, entry_points: EntryPoints) -> None:
    for argument in entry_points.ways[way]:
        for value in (*ODD, *UNSPEAKABLE):
            entry_points.enter(way, argument, value)
    assert entry_points.engine.history(entry_points.ways["get"]["id"], scope=ANA)[0].text == "a seat by the window"


@at_most(400, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), NESTED)
def test_nothing_but_our_errors_comes_out_however_deep_it_is(
    entry_points: EntryPoints, data: st.DataObject, value: object
) -> None:
    way = data.draw(st.sampled_from(sorted(entry_points.ways)))
    entry_points.enter(way, data.draw(st.sampled_from(sorted(entry_points.ways[way]))), value)


IDS = (
    "get",
    "contexts.usage",
    "history",
    "forget",
    "restore",
    "pin",
    "unpin",
    "revise",
    "why",
    "timeline.expand",
    "erase",
)


@pytest.mark.parametrize("way", IDS)
def test_an_id_that_nobody_can_have_is_not_there(way: str, entry_points: EntryPoints) -> None:
    for id in UNKEPT:
        with pytest.raises(recollect.NotFound, match=r"there is no memory .* in acme/"):
            attrgetter(way)(entry_points.engine)(**entry_points.ways[way] | {"id": id})


EPISODES = ("episodes.record", "episodes.complete", "episodes.show")


@pytest.mark.parametrize("way", EPISODES)
def test_an_episode_that_nobody_can_have_is_not_there(way: str, entry_points: EntryPoints) -> None:
    for id in (*UNKEPT, entry_points.ways["get"]["id"]):  # the last is a memory like any other
        with pytest.raises(recollect.NotFound, match=r"there is no episode .* in acme/"):
            attrgetter(way)(entry_points.engine)(**entry_points.ways[way] | {"id": id})


@pytest.mark.parametrize("way", [*IDS[:-1], *EPISODES])
@pytest.mark.parametrize("id", [[], 2**63, 7, b"x", None])
def test_what_is_no_text_is_no_id(way: str, id: object, entry_points: EntryPoints) -> None:
    with pytest.raises(recollect.errors.FieldError, match=r"field 'id': .* is not text"):
        attrgetter(way)(entry_points.engine)(**entry_points.ways[way] | {"id": id})


def test_who_gives_a_thing_in_the_place_of_its_id_is_told_to_give_that(entry_points: EntryPoints) -> None:
    engine, episodes = entry_points.engine, entry_points.engine.episodes
    receipt, context = engine.remember("a seat", scope=ANA), engine.recall("a seat", scope=ANA)
    episode, given = episodes.start("book a seat", scope=ANA), dict[str, Any](scope=ANA)
    for call, told in (
        (lambda: engine.feedback(context, **given, helped=[receipt.id]), "field 'context_id': is a Context"),  # type: ignore[arg-type]
        (lambda: engine.contexts.replay(context, **given), "field 'context_id': is a Context"),  # type: ignore[arg-type]
        (lambda: engine.feedback(context.id or "", **given, helped=[receipt]), "field 'helped': is a Receipt"),  # type: ignore[list-item]
        (lambda: episodes.record(episode, "look", **given), "field 'id': is an Episode"),  # type: ignore[arg-type]
        (lambda: episodes.record(episode.id, "look", **given, context=context), "field 'context': is a Context"),  # type: ignore[arg-type]
        (lambda: engine.get(receipt, **given), "field 'id': is a Receipt"),  # type: ignore[arg-type]
    ):
        with pytest.raises(recollect.errors.FieldError) as refused:
            call()
        assert str(refused.value) == f"{told}; give its id (….id)"
    with pytest.raises(recollect.errors.FieldError, match=r"field 'text': <Receipt .* is not text"):
        engine.remember(receipt, **given)  # type: ignore[arg-type]


def test_a_place_that_nobody_can_have_is_not_there(entry_points: EntryPoints) -> None:
    for key in (*UNKEPT, "", "2026-13", "1898", "2201", "2026-W54", "\u0662\u0660\u0662\u0666"):
        with pytest.raises(recollect.NotFound, match=r"there is no memory .* in acme/ana"):
            entry_points.engine.timeline.browse(key, scope=ANA)


def test_a_context_that_nobody_can_have_is_not_there_and_what_is_no_text_is_none(entry_points: EntryPoints) -> None:
    for id in UNKEPT:
        for way in (entry_points.engine.feedback, entry_points.engine.contexts.replay):
            with pytest.raises(recollect.NotFound, match="there is no context"):
                way(id, scope=ANA)
    with pytest.raises(
        recollect.errors.FieldError, match="field 'context_id': None is not an id: contexts of a read-only store"
    ):
        entry_points.engine.feedback(None, scope=ANA)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("way", "argument", "value", "problem"),
    [
        ("revise", "importance", "", "field 'importance': '' is not a number"),
        ("revise", "vector", 0, "field 'vector': 0 is not a list of numbers"),
        ("revise", "vector", [1.0], "field 'vector': has 1 dimensions; expected a vector of hashing-16"),
        ("revise", "tags", "seat", "field 'tags': 'seat' is not a list"),
        ("memories", "below", [], r"field 'below': \[\] is neither true nor false"),
        ("memories", "statuses", None, "field 'statuses': None is not a list"),
        ("memories", "statuses", "active", "field 'statuses': 'active' is not a list"),
        ("stats", "below", 1, "field 'below': 1 is neither true nor false"),
        ("search", "kinds", "fact", "field 'kinds': 'fact' is not a list"),
        *((way, "kinds", [], "field 'kinds': is empty.*omit it") for way in ("search", "recall", "brief", "why")),
        ("search", "levels", "day", "field 'levels': 'day' is not a list"),
        ("recall", "levels", ["weeek"], "field 'levels': 'weeek' is not a valid level; did you mean 'week'"),
        ("why", "levels", [7], "field 'levels': 7 is not a valid level"),
        ("brief", "levels", [HALF], r"field 'levels': '\\ud800' is not a valid level"),
        ("observe", "events", "a seat", "field 'events': 'a seat' is not a list of events"),
        ("observe", "events", [7], "field 'events': 7 is not a turn; give a text, or a mapping"),
        ("observe", "provenance", "me", "field 'provenance': 'me' is not a valid provenance"),
        ("timeline.rollup", "unfinished", 1, "field 'unfinished': 1 is neither true nor false"),
        ("timeline.rollup", "progress", 7, "field 'progress': 7 is not callable"),
        ("timeline.browse", "key", 7, "field 'key': 7 is not text"),
        ("timeline.expand", "around", 1.5, "field 'around': 1.5 is not a whole number"),
        ("timeline.expand", "around", 101, "field 'around': 101 is not within 0..100"),
        ("scopes", "scope", 7, "7 is not a scope"),
        ("plan", "job", "tidy", "field 'job': 'tidy' is not a valid job; known are consolidate"),
        ("plan", "level", "fortnight", "field 'level': 'fortnight' is not a valid level"),
        ("plan", "level", "month", "field 'level': 'month' is not one of event, segment, grip, day, week"),
        ("plan", "age_days", -1, "field 'age_days': -1 is not a count"),
        ("plan", "age_days", 40_000, "field 'age_days': 40000 days are not within 1..36500"),
        ("plan", "min_level", "day", "field 'min_level': does not apply to prune-vectors"),
        ("plan", "max_age_days", 3, "field 'max_age_days': does not apply to prune-vectors"),
        ("admin.run", "job", "tidy", "field 'job': 'tidy' is not a valid job"),
        ("admin.run", "min_level", "grip", "field 'min_level': 'grip' is not one of day, week, month, year"),
        ("admin.run", "max_age_days", "3", "field 'max_age_days': '3' is not a whole number"),
        ("admin.run", "level", "segment", "field 'level': does not apply to rebuild-index"),
        ("admin.run", "age_days", 3, "field 'age_days': is the age for one level"),
        ("admin.run", "progress", 3, "field 'progress': 3 "),
        ("plan", "job", 7, "field 'job': 7 is not a valid job"),
        ("apply", "plan", {}, "field 'plan': {} is not a plan; pass what `plan` returned"),
        ("undo", "run", "99", "field 'run': '99' is not a whole number"),
        ("undo", "scope", None, "field 'scope': is missing"),
        ("search", "limit", None, "field 'limit': None is not a limit; give a whole number of at least 1"),
        ("search", "profile", 0, "field 'profile': 0 is neither a profile nor the name of one"),
        ("recall", "depth", 0, "field 'depth': 0 is not a limit"),
        ("why", "depth", 1.0, "field 'depth': 1.0 is not a limit"),
        ("recall", "depth", 2**63, "field 'depth': 9223372036854775808 is too large for a limit"),
        ("brief", "tokens", 2**63, "tokens is 9223372036854775808, which is too large"),
        ("why", "overrides", -1, "overrides is -1; give a mapping"),
        ("recall", "overrides", [], r"overrides is \[\]; give a mapping"),
        ("brief", "profile", "\0.toml", "cannot read"),
        ("feedback", "helped", "x", "field 'helped': 'x' is not a list"),
        ("feedback", "misled", [7], "field 'misled': 7 is not text"),
        ("feedback", "answer", 7, "field 'answer': 7 is not text"),
        ("feedback", "answer", " ", "field 'answer': is blank; give the answer, or omit it"),
        ("feedback", "answer", "a\0b", "field 'answer': has a NUL character"),
        ("feedback", "answer", "\ud800", "field 'answer': has a lone surrogate"),
        (
            "feedback",
            "answer",
            "é" * 600_000,
            "field 'answer': has 600000 characters; at most 1048576 bytes are allowed",
        ),
        ("remember_all", "drafts", None, "field 'drafts': None is not a list"),
        ("remember_all", "drafts", ["x"], "field 'drafts': 'x' is not a draft; give a recollect.Draft or a mapping"),
        ("admin.prove_erased", "erasure", None, "field 'erasure': None is not an erasure receipt"),
        ("import_", "lines", None, "field 'lines': None has no lines"),
        ("import_", "lines", [b"x"], "line 1: b'x' is not text; open the export in text mode"),
        ("import_", "lines", [7], "line 1: 7 is not text"),
        ("import_", "progress", 7, "field 'progress': 7 is not callable"),
        ("admin.backup", "path", None, "field 'path': None is not a path; give a string or a pathlib.Path"),
        ("admin.backup", "path", "a\0b", r"'a\\x00b' is not a path"),
        ("admin.backup", "path", HALF, r"'\\ud800' is not a path"),
        ("episodes.start", "task", " ", "field 'task': is blank; describe the task"),
        ("episodes.start", "plan", "book it", "field 'plan': 'book it' is not a list"),
        ("episodes.start", "plan", [7], "field 'plan': 7 is not text"),
        ("episodes.start", "plan", [f"step {place}" for place in range(65)], "field 'plan': has 65 items; at most 64"),
        ("episodes.start", "pinned", 1, "field 'pinned': 1 is neither true nor false"),
        ("episodes.start", "provenance", "me", "field 'provenance': 'me' is not a valid provenance"),
        ("episodes.start", "at", datetime(2020, 1, 1), "field 'at': .* has no time zone"),
        ("episodes.record", "type", " ", "field 'type'"),
        ("episodes.record", "input", [1, 2], r"field 'input': \[1, 2\] is not a text or a mapping; give one of these"),
        ("episodes.record", "output", None, "field 'output': None is not a text or a mapping; give one of these"),
        ("episodes.record", "output", 3, "field 'output': 3 is not a text or a mapping; give one of these, or omit it"),
        ("episodes.record", "output", {"a": object()}, "field 'output': .* cannot be written as JSON"),
        ("episodes.record", "result", "great", "field 'result': 'great' is not a valid result; known are succeeded"),
        ("episodes.record", "context", 7, "field 'context': 7 is not text"),
        ("episodes.complete", "outcome", float("nan"), "field 'outcome': nan is not an outcome; give a number from 0"),
        ("episodes.complete", "outcome", 1.01, "field 'outcome': 1.01 is not an outcome; give a number from 0"),
        (
            "episodes.complete",
            "outcome",
            True,
            r"True is not an outcome; give a number from 0 \(failure\) to 1 \(success\)",
        ),
        ("episodes.complete", "outcome", "0.8", "field 'outcome': '0.8' is not an outcome; give a number from 0"),
        ("episodes.complete", "lessons", "none", "field 'lessons': 'none' is not a list"),
        ("episodes.complete", "failure_modes", [" "], "field 'failure_modes'"),
        ("episodes.complete", "contexts", [7], "field 'contexts': 7 is not text"),
        ("episodes.similar", "task", "", "field 'task'"),
        ("episodes.similar", "limit", 0, "field 'limit': 0 is not a limit"),
        ("episodes.similar", "min_score", -0.1, "field 'min_score': -0.1 is not within 0..1"),
        ("episodes.failure_modes", "min_score", "0", "field 'min_score': '0' is not a number"),
        ("episodes.list", "finished", 1, "field 'finished': 1 is neither true nor false"),
        ("episodes.list", "limit", None, "field 'limit': None is not a limit"),
        ("episodes.show", "scope", None, "scope"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(
    way: str, argument: str, value: object, problem: str, entry_points: EntryPoints
) -> None:
    with pytest.raises(recollect.InvalidInput, match=problem):
        attrgetter(way)(entry_points.engine)(**entry_points.ways[way] | {argument: value})


def test_an_odd_title_is_refused_also_under_a_key_that_is_known(entry_points: EntryPoints) -> None:
    with pytest.raises(recollect.errors.FieldError, match="field 'title'"):
        entry_points.engine.remember("a seat", scope=ANA, key="seat", title={1: 2, "a": 3})  # type: ignore[arg-type]


class Nameless:
    """Something like an embedder."""

    name = 7
    dimensions = 16
    embed = None


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"target": None}, "field 'target': None is not a path"),
        ({"target": b"agent.db"}, "field 'target': b'agent.db' is not a path"),
        ({"target": Path}, "field 'target': .* is not a path"),
        ({"settings": -1}, "field 'settings': -1 is not a recollect.Settings or a mapping"),
        ({"settings": []}, "field 'settings'"),
        ({"settings": {10**5000: 1}}, "unknown setting"),
        ({"embedder": 0}, "field 'embedder': 0 is not an embedder; pass a name, or an object"),
        ({"embedder": Nameless()}, "field 'embedder': 7 is not text"),
        ({"profile": 0}, "field 'profile': 0 is not a path"),
        ({"clock": 0}, "field 'clock': 0 is not callable"),
    ],
)
def test_a_store_is_not_made_for_what_cannot_be(
    given: dict[str, Any], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(recollect.errors.FieldError, match=problem):
        recollect.open(**{"target": "agent.db", "embedder": "hashing", **given})
    assert list(tmp_path.iterdir()) == []


def test_a_clock_that_gives_no_moment_is_refused_whatever_is_asked() -> None:
    with recollect.open(":memory:", embedder="hashing", clock=lambda: datetime(2026, 1, 1)) as engine:
        for act in (lambda: engine.forget("a", scope=ANA), lambda: engine.brief(scope=ANA)):
            with pytest.raises(recollect.errors.FieldError, match=r"field 'clock': .* has no time zone"):
                act()


OPENED: list[tuple[Call, dict[str, Any]]] = [
    (recollect.open, {"target": ":memory:", "profile": "default", "embedder": "hashing", "settings": None}),
    (recollect.verify, {"path": "nowhere.db"}),
    (recollect.re_embed, {"target": "nowhere.db", "embedder": "hashing", "settings": None, "progress": None}),
]


@pytest.mark.usefixtures("entry_points")
@table(("opens", "arguments"), OPENED)
def test_nothing_but_our_errors_comes_out_of_opening(opens: Call, arguments: dict[str, Any]) -> None:
    refused = dict.fromkeys(arguments, 0)
    for argument in arguments:
        for value in (*ODD, *UNSPEAKABLE):
            if not callable(value):
                try:
                    came = opens(**arguments | {argument: value})
                except recollect.RecollectError:
                    refused[argument] += 1
                else:
                    if isinstance(came, recollect.Engine):
                        came.close()
    assert all(refused.values()), refused


@pytest.mark.parametrize("name", ["x" * 300, "x" * 10_000, "a\0b"])
def test_a_name_that_no_file_can_have_is_refused(name: str, entry_points: EntryPoints) -> None:
    for act in (recollect.verify, entry_points.engine.admin.backup, recollect.open):
        with pytest.raises(
            recollect.RecollectError, match=r"cannot access|cannot be accessed|is not a path|does not exist"
        ):
            act(name)
