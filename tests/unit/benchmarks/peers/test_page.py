"""The page, from results that are made up."""

from dataclasses import replace
from pathlib import Path

from peers import page, results
from peers.job import Speed
from peers.machine import Machine
from peers.quality import Quality
from peers.results import Measured, Record, Results

MEASURED = Measured(
    date="2026-01-01",
    command="scripts/bench peers",
    machine=Machine(processor="a processor", cores=2, memory=24, system="a system"),
    load=1.0,
    python="3.11.7",
    versions={"numpy": "2.4.6"},
    fingerprint="0" * 64,
)


PRESENT = "0" * 64
OTHER = "1" * 64


def written_of(known: Results) -> str:
    """The page of these results, written with the profile that they are of."""
    return page.page(known, PRESENT)


def a_record(p50: float, recall: float = 0.5, rows: int = 1_000) -> Record:
    """What is known of a peer that searches in so many milliseconds."""
    speed = Speed(rows=rows, added=rows, finished=True, bulk_rate=100.0, one_p50=1.0, first=9.0, p50=p50, p95=2 * p50)
    return Record().with_speed(rows, speed, MEASURED).with_quality("a-folder", Quality(recall, 0.4, 7), MEASURED)


def unfinished(rows: int) -> Speed:
    """The speed of a peer that could not add all in time."""
    return Speed(rows=rows, added=10, finished=False, bulk_rate=0.1)


def test_whoever_is_better_is_named_with_both_figures() -> None:
    written = written_of({"numpy": a_record(1.0, recall=0.4), "recollect": a_record(2.0)})
    assert "- **Search** among 1,000, 2.0 ms: NumPy scan 1.0 ms" in written
    assert "- **Recall**" not in written


def test_who_is_better_by_a_hair_is_not_called_better() -> None:
    written = written_of({"numpy": a_record(1.0), "recollect": a_record(1.0 + page.NOTICED / 2)})
    assert "Where recollect loses" not in written


def test_what_did_not_finish_and_what_did_not_work_is_said() -> None:
    chroma = a_record(1.0).with_speed(10_000, unfinished(10_000), MEASURED).with_problem("speed 100000", "no room")
    written = written_of({"recollect": a_record(1.0), "chroma": chroma})
    assert "not finished: 10 at 0/s" in written
    assert "- Chroma, speed 100000: `no room`" in written


def test_a_figure_in_place_of_a_problem_takes_the_problem_away() -> None:
    record = Record().with_problem("speed 1000", "no room").with_problem("quality other", "no room")
    better = record.with_speed(1_000, unfinished(1_000), MEASURED)
    assert better.problems == {"quality other": "no room"}


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    known = {"recollect": a_record(2.0).with_problem("quality other", "no room"), "chroma": a_record(0.5)}
    results.write(tmp_path / "results.json", known)
    assert results.read(tmp_path / "results.json") == known
    assert results.read(tmp_path / "none.json") == {}


def test_the_floor_takes_no_part_in_adding() -> None:
    fast = Speed(rows=1_000, added=1_000, finished=True, bulk_rate=1e6, one_p50=1e-3, p50=1.0, p95=1.0)
    written = written_of({"numpy": Record().with_speed(1_000, fast, MEASURED), "recollect": a_record(1.0)})
    assert "**Adding" not in written


def test_a_size_after_one_that_did_not_finish_was_not_tried() -> None:
    slow = Record().with_speed(1_000, unfinished(1_000), MEASURED)
    written = written_of({"recollect": a_record(1.0, rows=10_000), "mem0": slow})
    assert "| mem0 (`infer=False`) | not finished | not tried |" in written


def test_times_from_a_busy_machine_are_called_so() -> None:
    busy = Record().with_speed(1_000, unfinished(1_000), replace(MEASURED, load=MEASURED.machine.cores + 0.1))
    assert "busy" not in written_of({"recollect": a_record(1.0)})
    assert "nobody can tell:** Chroma." in written_of({"recollect": a_record(1.0), "chroma": busy})
    assert "nobody can tell:** all." in written_of({"chroma": busy})


def full(better: float) -> Record:
    """What is known of a peer of which everything was measured; all of it that many times as good as could be."""
    speed = Speed(
        rows=1_000,
        added=1_000,
        finished=True,
        bulk_rate=100.0 * better,
        one_p50=1.0 / better,
        first=9.0 / better,
        p50=2.0 / better,
        p95=3.0 / better,
        memory=20.0 / better,
        disk=10.0 / better,
    )
    quality = Quality(0.4 * better, 0.3 * better, 7)
    return (
        Record()
        .with_speed(1_000, speed, MEASURED)
        .with_speed(10_000, speed, MEASURED)
        .with_quality("a-folder", quality, MEASURED)
    )


def test_every_figure_of_every_table_is_one_that_may_be_lost() -> None:
    known = {"recollect": full(1.0), "chroma": full(2.0)}
    shown = page.tables(known)
    figures = [contest for table in shown for column in table.columns for contest in column.contests]
    assert [line for table in shown for line in table.losses] == [
        f"- {one.what}, {one.shown(value)}{one.unit}: Chroma {one.shown(other)}{one.unit}"
        for one in figures
        if (value := one.value(known["recollect"])) is not None and (other := one.value(known["chroma"])) is not None
    ]
    assert len(figures) == 2 * len(("p50", "p95", "first", "bulk", "one", "memory", "disk")) + len(("recall", "ndcg"))


def test_the_first_search_memory_and_files_are_lost_at_every_size() -> None:
    written = written_of({"recollect": full(1.0), "chroma": full(2.0)})
    for rows in ("1,000", "10,000"):
        assert f"- **First search** among {rows}, 9.0 ms: Chroma 4.5 ms" in written
        assert f"- **Memory** with {rows}, 20.0 MiB: Chroma 10.0 MiB" in written
        assert f"- **Files** of {rows}, 10.0 MiB: Chroma 5.0 MiB" in written


def test_who_keeps_no_files_does_not_win_by_that() -> None:
    ours, theirs = full(1.0), full(1.0)
    none = {rows: replace(speed, disk=0.0) for rows, speed in theirs.speed.items()}
    assert "**Files**" not in written_of({"recollect": ours, "txtai": replace(theirs, speed=none)})


def test_recollect_is_no_rival_of_its_own() -> None:
    written = written_of({"recollect": full(1.0), "recollect-one-vector": full(2.0)})
    assert "Where recollect loses" not in written
    assert "| **recollect**, one vector a question | 0.800 / 0.600 |" in written


def test_figures_of_another_profile_than_the_present_one_are_called_so() -> None:
    measured = replace(MEASURED, fingerprint=OTHER)
    unknown = replace(MEASURED, fingerprint=None)
    speed = unfinished(1_000)
    warning = "recollect's `default` is not the one that was measured here:** speed 1000."
    assert "is not the one" not in written_of({"recollect": a_record(1.0)})
    assert warning in written_of({"recollect": Record().with_speed(1_000, speed, measured)})
    assert warning in written_of({"recollect": Record().with_speed(1_000, speed, unknown)})
    assert "is not the one" not in written_of({"chroma": Record().with_speed(1_000, speed, unknown)})


def test_the_page_tells_which_profile_was_measured() -> None:
    assert f"numpy 2.4.6, `default` {PRESENT[: page.STAMP]} |" in written_of({"recollect": a_record(1.0)})
