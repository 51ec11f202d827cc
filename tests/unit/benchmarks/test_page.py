"""The page and the plot, from results that are made up."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st
from peers import page, plot, results
from peers.job import Speed
from peers.machine import Machine
from peers.metrics import Quality
from peers.results import Measured, Record

MEASURED = Measured(
    date="2026-01-01",
    command="scripts/bench peers",
    machine=Machine(processor="a processor", cores=2, memory=24, system="a system"),
    load=1.0,
    python="3.11.7",
    versions={"numpy": "2.4.6"},
)


def a_record(p50: float, recall: float = 0.5, rows: int = 1_000) -> Record:
    """What is known of a peer that searches in so many milliseconds."""
    speed = Speed(rows=rows, added=rows, finished=True, bulk_rate=100.0, one_p50=1.0, first=9.0, p50=p50, p95=2 * p50)
    return Record().with_speed(rows, speed, MEASURED).with_quality("a-folder", Quality(recall, 0.4, 7), MEASURED)


def unfinished(rows: int) -> Speed:
    """The speed of a peer that could not add all in time."""
    return Speed(rows=rows, added=10, finished=False, bulk_rate=0.1)


def test_whoever_is_better_is_named_with_both_figures() -> None:
    written = page.page({"numpy": a_record(1.0, recall=0.4), "recollect": a_record(2.0)})
    assert "- **Search** among 1,000, 2.0 ms: NumPy scan 1.0 ms" in written
    assert "- **Recall**" not in written


def test_who_is_better_by_a_hair_is_not_called_better() -> None:
    written = page.page({"numpy": a_record(1.0), "recollect": a_record(1.0 + page.NOTICED / 2)})
    assert "Where recollect loses" not in written


def test_what_did_not_finish_and_what_did_not_work_is_said() -> None:
    chroma = a_record(1.0).with_speed(10_000, unfinished(10_000), MEASURED).with_problem("speed 100000", "no room")
    written = page.page({"recollect": a_record(1.0), "chroma": chroma})
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


def test_the_plot_has_a_line_and_a_label_for_each_peer_that_was_searched() -> None:
    known = {"recollect": a_record(2.0), "chroma": a_record(0.5), "bm25": Record()}
    drawn = plot.search(known)
    names = {element.text for element in ET.fromstring(drawn).iter() if element.tag.endswith("text")}  # noqa: S314
    assert drawn.count("<polyline") == 2
    assert {"recollect (default)", "Chroma", "1,000 memories"} <= names


def test_the_plot_of_nothing_is_a_drawing_too() -> None:
    assert "nothing is measured yet" in plot.search({})


@given(st.dictionaries(st.text("abcdefgh", min_size=1), st.floats(plot.TOP, plot.BOTTOM), max_size=9))
def test_no_label_is_written_over_another_nor_below_the_plot(wanted: dict[str, float]) -> None:
    heights = plot.spread(wanted)
    ordered = sorted(heights.values())
    assert set(heights) == set(wanted)
    assert all(after - before >= plot.BETWEEN - 1e-9 for before, after in pairwise(ordered))
    assert max(ordered, default=0.0) <= plot.BOTTOM + 1e-9


def test_the_floor_takes_no_part_in_adding() -> None:
    fast = Speed(rows=1_000, added=1_000, finished=True, bulk_rate=1e6, one_p50=1e-3, p50=1.0, p95=1.0)
    written = page.page({"numpy": Record().with_speed(1_000, fast, MEASURED), "recollect": a_record(1.0)})
    assert "**Adding" not in written


def test_a_size_after_one_that_did_not_finish_was_not_tried() -> None:
    slow = Record().with_speed(1_000, unfinished(1_000), MEASURED)
    written = page.page({"recollect": a_record(1.0, rows=10_000), "mem0": slow})
    assert "| mem0 (`infer=False`) | not finished | not tried |" in written


def test_times_from_a_busy_machine_are_called_so() -> None:
    busy = Record().with_speed(1_000, unfinished(1_000), replace(MEASURED, load=MEASURED.machine.cores + 0.1))
    assert "busy" not in page.page({"recollect": a_record(1.0)})
    assert "nobody can tell:** Chroma." in page.page({"recollect": a_record(1.0), "chroma": busy})
    assert "nobody can tell:** all." in page.page({"chroma": busy})
