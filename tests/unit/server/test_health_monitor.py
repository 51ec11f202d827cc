"""What a server tells of itself: how it is, what is counted, and what is logged."""

import asyncio
import io
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

import recollect
from recollect.api.dispatcher import RequestOutcome
from recollect.errors import ProviderError, StoreError
from recollect.jobs.scheduler import JobFailure
from recollect.model.changeset import Changeset
from recollect.model.draft import Refused
from recollect.model.memory import MemoryId
from recollect.model.plan import JobOccurrence, JobState
from recollect.model.scope import Scope
from recollect.protocols import Purpose
from recollect.providers.hashing import HashingEmbedder
from recollect.server import health
from recollect.server.authenticator import AUTH_OK, KEYS_EXPIRED, KEYS_UNREADABLE, NO_KEYS, TOKEN_AUTH, AuthStatus
from recollect.server.health import DEGRADED_MODES, NO_EMBEDDER, NO_SCHEDULER, NO_STORE, NO_WRITES, HealthMonitor
from recollect.server.json_log import JsonFormatter
from recollect.server.telemetry import Metrics
from tests.faults import acting
from tests.tables import table

NOW = datetime(2026, 11, 17, 9, 0, tzinfo=UTC)
FAILED = JobFailure("rollup", None, StoreError("gone"))
OUT_OF_REACH = JobFailure(None, None, StoreError("gone"))


def an_occurrence(state: JobState, ended_at: datetime | None = NOW) -> JobOccurrence:
    times = {"due_at": NOW, "until": NOW, "started_at": NOW, "ended_at": ended_at}
    return JobOccurrence(job="rollup", state=state, attempt=1, holder="here", **times)  # type: ignore[arg-type]


def asked(operation: str = "recall", outcome: str = "ok") -> RequestOutcome:
    return RequestOutcome(transport="http", operation=operation, caller="ana", outcome=outcome, seconds=0.25)


def well() -> AuthStatus:
    return AUTH_OK


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that has to wait for a processor is no store that does not answer."""
    monkeypatch.setattr(health, "PROBE_TIMEOUT_SECONDS", 60.0)


@table(
    ("embedder", "here", "told", "ready", "expected"),
    [
        ("hashing-256", AUTH_OK, (), True, ()),
        (None, AUTH_OK, (), True, (NO_EMBEDDER,)),
        ("hashing-256", AuthStatus(TOKEN_AUTH), (FAILED,), True, (NO_SCHEDULER, TOKEN_AUTH)),
        ("hashing-256", AUTH_OK, (FAILED, an_occurrence(JobState.RUNNING, None)), True, (NO_SCHEDULER,)),
        ("hashing-256", AUTH_OK, (FAILED, an_occurrence(JobState.DONE)), True, ()),
        *(("hashing-256", AuthStatus(one), (), False, (one,)) for one in (KEYS_UNREADABLE, KEYS_EXPIRED, NO_KEYS)),
    ],
)
def test_every_mode_that_is_less_than_it_should_be_is_named(
    embedder: str | None,
    here: AuthStatus,
    told: tuple[JobFailure | JobOccurrence, ...],
    ready: bool,
    expected: tuple[str, ...],
) -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        watch = HealthMonitor(engine, embedder, lambda: here)
        for one in told:
            watch.on_job(one)
        found = asyncio.run(watch.health())
        assert watch.health_now() == found
        watch.close()
    assert (found.ready, found.embedder, found.degraded) == (ready, embedder, expected)
    assert set(expected) <= set(DEGRADED_MODES)


def test_what_works_less_well_is_logged_once_and_that_it_works_again(caplog: pytest.LogCaptureFixture) -> None:
    with recollect.open(":memory:", embedder="hashing") as engine, caplog.at_level(logging.WARNING):
        watch = HealthMonitor(engine, None, well)
        for one in (FAILED, FAILED, an_occurrence(JobState.DONE), an_occurrence(JobState.DONE)):
            watch.on_job(one)
        watch.close()
    logged = [(one.getMessage(), vars(one)["modes"]) for one in caplog.records]
    assert logged == [("degraded", [NO_EMBEDDER, NO_SCHEDULER]), ("recovered", [NO_SCHEDULER])]


def test_a_model_that_failed_and_works_again_before_anybody_looks_is_logged_as_both(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Blinking(HashingEmbedder):
        def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
            if "broken" in texts:
                raise ProviderError("the model is down")
            return super().embed(texts, purpose)

    def fail(engine: recollect.Engine) -> None:
        with pytest.raises(ProviderError):
            engine.search("broken", scope="acme")

    with recollect.open(":memory:", embedder=Blinking()) as engine, caplog.at_level(logging.WARNING):
        watch = HealthMonitor(engine, engine.admin.embedder, well)
        for text in ("one", "two"):
            fail(engine)
            engine.remember(text, scope="acme")
            watch.log_changes()
            watch.log_changes()
        fail(engine)
        watch.log_changes()
        fail(engine)
        engine.remember("three", scope="acme")
        watch.log_changes()
        watch.close()
        assert engine.admin.embedder_failures == 4
    assert [one.getMessage() for one in caplog.records] == ["degraded", "recovered"] * 3
    assert {str(vars(one)["modes"]) for one in caplog.records} == {str([health.EMBEDDER_FAILS])}


def test_a_scheduler_fails_for_as_long_as_it_does_not_reach_its_store(caplog: pytest.LogCaptureFixture) -> None:
    with recollect.open(":memory:", embedder="hashing") as engine, caplog.at_level(logging.WARNING):
        watch, fails = HealthMonitor(engine, "hashing-256", well), True
        watch.watch_scheduler(lambda: fails)
        watch.on_job(OUT_OF_REACH)
        assert watch.health_now().degraded == (NO_SCHEDULER,)
        fails = False
        assert watch.health_now().degraded == ()
        watch.close()
    assert [one.getMessage() for one in caplog.records] == ["degraded", "recovered"]


def test_a_store_that_fails_is_not_ready() -> None:
    engine = recollect.open(":memory:", embedder="hashing")
    watch = HealthMonitor(engine, "hashing-256", well)
    engine.close()
    assert not asyncio.run(watch.health()).ready
    assert not watch.health_now().ready
    assert watch.degraded_modes() == (NO_STORE,)
    watch.close()


@pytest.mark.parametrize("outcome", ["store", "busy", "overdue"])
def test_a_request_that_goes_wrong_has_the_store_looked_at_until_it_is_there(
    outcome: str, caplog: pytest.LogCaptureFixture
) -> None:
    gone = True

    class Away(recollect.Engine):
        def get(self, id: str, *, scope: object) -> recollect.Memory:
            raise StoreError("gone") if gone else recollect.NotFound("nothing")

    with recollect.open(":memory:", embedder="hashing") as engine, caplog.at_level(logging.WARNING):
        watch = HealthMonitor(Away(engine._deps), "hashing-256", well)

        def after(*heard: RequestOutcome) -> tuple[str, ...]:
            for one in heard:
                watch.on_request(one)
            watch._current_probe()[0].result()
            return watch.degraded_modes()

        watch.on_request(asked())
        assert watch.degraded_modes() == ()  # nobody looked
        assert after(asked(outcome=outcome)) == (NO_STORE,)
        assert after(asked("list_profiles")) == (NO_STORE,)  # which needs no store
        gone = False
        assert after(asked()) == ()
        watch.close()
        watch.on_request(asked(outcome=outcome))
    assert [(one.getMessage(), vars(one)["modes"]) for one in caplog.records] == [
        ("degraded", [NO_STORE]),
        ("recovered", [NO_STORE]),
    ]


def test_a_store_that_has_what_is_looked_for_is_there_all_the_same() -> None:
    with recollect.open(":memory:", embedder="hashing") as engine:
        engine.remember_all([{"text": "nobody would", "scope": health.PROBE_SCOPE, "id": health.PROBE_ID}])
        watch = HealthMonitor(engine, "hashing-256", well)
        watch._store_reachable = False
        assert watch.health_now().ready
        assert watch.degraded_modes() == ()
        watch.close()


def test_a_store_that_takes_no_writes_is_named_until_it_has_taken_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise apsw.IOError("the disk is gone")

    with recollect.open(tmp_path / "a.db", embedder="hashing") as engine, caplog.at_level(logging.WARNING):
        watch, store = HealthMonitor(engine, "hashing-256", well), engine._deps.store
        broken = acting(Changeset(), fail)
        for put in (lambda: store.write(lambda writing: writing.apply(broken)), lambda: store.defer(broken)):
            with suppress(StoreError):
                put()
            with suppress(StoreError):
                store.flush()
            watch.on_request(asked())
            assert watch.degraded_modes() == (NO_WRITES,)
            assert isinstance(engine.remember("<private>tea</private>", scope="acme").verdict, Refused)
            store.write(lambda writing: writing.get(Scope.parse("acme"), MemoryId("none")))
            assert watch.degraded_modes() == (NO_WRITES,)  # nothing was written since
            engine.remember("Ana likes tea", scope="acme")
            watch.on_request(asked())
            assert watch.degraded_modes() == ()
        watch.close()
    told = [one.getMessage() for one in caplog.records if "modes" in vars(one)]
    assert told == ["degraded", "recovered"] * 2


def test_a_store_that_does_not_answer_is_not_ready_and_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    go, asks = Event(), list[str]()

    class Stuck(recollect.Engine):
        def get(self, id: str, *, scope: object) -> recollect.Memory:
            asks.append(id)
            assert go.wait(60)
            raise recollect.NotFound("nothing")

    monkeypatch.setattr(health, "PROBE_TIMEOUT_SECONDS", 0.02)
    with recollect.open(":memory:", embedder="hashing") as engine:
        watch = HealthMonitor(Stuck(engine._deps), "hashing-256", well)
        look, _ = watch._current_probe()

        async def story() -> list[bool]:
            found = await asyncio.gather(*(watch.health() for _ in range(5)))
            now = await asyncio.to_thread(watch.health_now)
            go.set()
            return [one.ready for one in (*found, now)]

        assert asyncio.run(story()) == [False] * 6
        assert look.result(60)  # that it is there after all is logged by then, too, and not in another test
        watch.close()
    assert len(asks) == 1


def test_what_a_look_finds_after_the_watch_is_closed_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    began, go = Event(), Event()

    class Closing(recollect.Engine):
        def get(self, id: str, *, scope: object) -> recollect.Memory:
            began.set()
            assert go.wait(60)
            raise StoreError("the store is closed")

    with recollect.open(":memory:", embedder="hashing") as engine, caplog.at_level(logging.WARNING):
        watch = HealthMonitor(Closing(engine._deps), "hashing-256", well)
        look, _ = watch._current_probe()
        assert began.wait(60)
        watch.close()
        go.set()
        assert not look.result(60)
    assert caplog.records == []


def test_what_is_asked_and_done_is_counted_and_nobody_makes_up_names() -> None:
    degraded = [NO_SCHEDULER]
    counted = Metrics(lambda: 3, DEGRADED_MODES, lambda: degraded)
    counted.count_request(asked())
    counted.count_request(asked("made/up-name", "not_found"))
    counted.count_job(FAILED)
    counted.count_job(an_occurrence(JobState.RUNNING, None))
    counted.count_job(an_occurrence(JobState.DONE))
    told = counted.text().decode()
    assert 'recollect_requests_total{face="http",operation="recall",outcome="ok"} 1.0' in told
    assert 'recollect_requests_total{face="http",operation="unknown",outcome="not_found"} 1.0' in told
    assert "made/up-name" not in told
    assert 'recollect_request_seconds_sum{face="http",operation="recall"} 0.25' in told
    assert 'recollect_jobs_total{job="rollup",state="done"} 1.0' in told
    assert 'state="running"' not in told
    assert "recollect_scheduler_failures_total 1.0" in told
    assert "recollect_requests_under_way 3.0" in told
    for mode in DEGRADED_MODES:
        assert f'recollect_degraded{{mode="{mode}"}} {float(mode in degraded)}' in told
    degraded.clear()
    assert f'recollect_degraded{{mode="{NO_SCHEDULER}"}} 0.0' in counted.text().decode()


def logged(level: int, event: str, error: BaseException | None = None, **fields: object) -> dict[str, object]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    trace = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord("recollect", level, __file__, 1, event, (), trace)
    vars(record).update(fields)
    handler.handle(record)
    (line,) = stream.getvalue().splitlines()
    found: dict[str, object] = json.loads(line)
    return found


def test_a_log_line_is_json_whatever_is_in_it() -> None:
    told = logged(logging.INFO, "asked", caller="a\nb\ud800", scope=recollect.Scope.parse("acme"))
    assert datetime.fromisoformat(str(told.pop("time"))).tzinfo == UTC
    assert told == {"level": "info", "event": "asked", "caller": "a\nb\ud800", "scope": "acme"}


def test_what_broke_is_logged_by_its_class_and_place_and_not_by_its_words() -> None:
    with pytest.raises(ValueError, match="tea") as raised:
        int("Ana likes tea")
    told = logged(logging.ERROR, "job_crashed", raised.value, job="rollup")
    assert (told["error"], told["job"], "likes" in str(told)) == ("ValueError", "rollup", False)
    assert "test_health_monitor.py" in str(told["frames"])
