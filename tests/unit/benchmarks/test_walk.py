"""The walk: which functions a recall and a remember pass, on every thread."""

import threading

import pytest
from walk import SOURCE, Step, Walk, is_ours, show, walk


@pytest.fixture(scope="module")
def recall() -> Walk:
    return walk("recall")


def test_a_recall_passes_the_engine_the_ranking_and_the_packing(recall: Walk) -> None:
    expected = {"engine/engine.py", "engine/recall.py", "ranking/selection.py", "ranking/curves.py", "packing/pack.py"}
    assert expected <= set(recall.files)


def test_the_first_formula_lies_below_the_first_call_and_not_below_the_deepest(recall: Walk) -> None:
    arithmetic = recall.frames_to_arithmetic
    assert arithmetic is not None
    assert 1 < arithmetic <= recall.deepest


def test_what_the_writer_thread_does_is_followed_too(recall: Walk) -> None:
    threads = {step.thread for step in recall.steps if step.file == "stores/sql/writer.py"}
    assert threads.isdisjoint(step.thread for step in recall.steps if step.file == "engine/engine.py")
    assert threads


def test_a_remember_computes_no_score() -> None:
    remembered = walk("remember")
    assert remembered.frames_to_arithmetic is None
    assert "admission/changes.py" in remembered.files


def test_no_text_is_analyzed_in_the_transaction_of_a_remember() -> None:
    inside = [step for step in walk("remember").steps if step.thread == "recollect-writer"]
    assert "stores/sql/writer.py" in {step.file for step in inside}
    language = ("text/", "admission/classify.py", "admission/prompt_injection.py", "admission/screening.py")
    assert {step.function for step in inside if step.file.startswith(language)} <= {"hash_term", "IndexEntry.describes"}


def test_each_function_is_shown_once_with_its_depth_and_thread() -> None:
    steps = [
        Step("a.py", "run", 1, "MainThread"),
        Step("b.py", "load", 2, "MainThread"),
        Step("b.py", "load", 2, "MainThread"),
        Step("a.py", "write", 1, "writer"),
    ]
    lines = show(Walk(steps)).splitlines()
    assert lines[:3] == ["a.py  run", "  b.py  load", "a.py  write  [writer]"]
    assert lines[4:] == [
        "files                 2",
        "files of the caller   2",
        "functions             3",
        "switches of file      2",
        "deepest frame         2",
        "frames to arithmetic  -",
    ]


def test_the_arithmetic_begins_where_a_formula_is_computed_and_not_where_one_is_made() -> None:
    made = Step("ranking/curves.py", "HalfLife.__post_init__", 3, "main")
    computed = Step("ranking/curves.py", "HalfLife.__call__", 5, "main")
    assert Walk([made]).frames_to_arithmetic is None
    assert Walk([made, computed]).frames_to_arithmetic == 5


def test_what_the_writer_passes_is_not_the_callers() -> None:
    steps = [Step("a.py", "run", 1, "main"), Step("b.py", "write", 1, "writer")]
    assert Walk(steps).files_of_caller == ["a.py"]


def test_a_comprehension_and_foreign_code_are_not_functions_of_ours() -> None:
    comprehension = compile("[x for x in y]", str(SOURCE / "a.py"), "eval")
    assert not is_ours(comprehension)
    assert not is_ours(threading.Thread.run.__code__)
