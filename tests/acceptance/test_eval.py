"""`recollect eval`: a folder of judgements in, figures, a comparison and a page out."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from recollect.cli.main import cli
from tests.unit.evaluation.folder import a_memory, a_query, write_folder

from .shell import ENVIRONMENT, Shell

HOSTILE = "<script>alert('&\"')</script>\u202e\x1b[31m"


def the_folder(folder: Path) -> Path:
    """Four scopes' worth of travel notes, some of which repeat, with queries of two categories."""
    subjects = ("seats", "meals", "hotels", "trains", "meetings", "invoices", "visas", "luggage")
    memories = [
        a_memory(f"{subject}{number}", f"Ana said about {subject}: choice number {number}", kind="preference")
        for subject in subjects
        for number in range(4)
    ]
    late = a_memory("late", "Ana changed her mind about seats", created_at="2027-01-01T00:00:00+00:00")
    twin = a_memory("twin", "Ana said about meals: choice number 1", project="travel")
    queries = [
        a_query(f"q-{subject}", f"what did Ana say about {subject}?", category="even" if place % 2 else "odd")
        for place, subject in enumerate(subjects)
    ]
    qrels = [(f"q-{subject}", f"{subject}{number}", 1 + number % 2) for subject in subjects for number in range(2)]
    extra = [("q-seats", "late", 1), ("q-meals", "twin", 1), ("q-visas", "never written", 1)]
    return write_folder(folder, [*memories, late, twin], [*queries, a_query("unjudged")], [*qrels, *extra])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return the_folder(tmp_path / "travel")


def without_latency(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_latency(one) for name, one in value.items() if name != "latency_ms"}
    return [without_latency(one) for one in value] if isinstance(value, list) else value


def test_one_profile_is_printed_in_the_shape_that_scripts_rely_on(shell: Shell, folder: Path) -> None:
    found = shell.json("eval", str(folder))
    assert (found["profile"], found["queries"], found["exact"]) == ("default", 8, True)
    measures = [f"{what}@{k}" for what in ("recall", "any", "ndcg") for k in (5, 10, 20)] + ["mrr"]
    for figures in (found, *found["by_category"].values()):
        assert all(0.0 <= figures[name] <= 1.0 for name in measures)
        assert all(figures["intervals"][name][0] <= figures["intervals"][name][1] for name in measures)
        assert 0.0 < figures["latency_ms"]["p50"] <= figures["latency_ms"]["p95"]
        assert 0 < figures["tokens"]["median"] <= figures["tokens"]["p95"]
    assert {name: one["queries"] for name, one in found["by_category"].items()} == {"even": 4, "odd": 4}
    assert found["by_category_mean"].keys() == set(measures)
    facts = ("folder", "memories", "merged", "judgements", "absent", "later", "unjudged", "embedder", "depth")
    assert [found[name] for name in facts] == ["travel", 34, 0, 19, 1, 1, 1, "hashing-256", 200]


def test_k_says_which_measures_there_are(shell: Shell, folder: Path) -> None:
    found = shell.json("eval", str(folder), "--k", "3,1,3")
    assert [name for name in found if "@" in name] == ["recall@1", "recall@3", "any@1", "any@3", "ndcg@1", "ndcg@3"]


def test_figures_are_those_worked_by_hand(shell: Shell, tmp_path: Path) -> None:
    memories = [a_memory("seat", "Ana prefers window seats"), a_memory("fish", "the sea is deep")]
    queries = [a_query("q", "Ana prefers window seats"), a_query("r", "the sea is deep")]
    qrels = [("q", "seat", 1), ("q", "gone", 1), ("r", "seat", 1)]
    found = shell.json(
        "eval", str(write_folder(tmp_path / "f", memories, queries, qrels)), "--k", "1,2", "--profile", "salience"
    )
    assert (found["recall@1"], found["recall@2"]) == ((1 / 2 + 0) / 2, (1 / 2 + 1) / 2)
    assert (found["any@1"], found["any@2"], found["mrr"]) == (1 / 2, 1, (1 + 1 / 2) / 2)


def test_a_memory_from_after_the_query_is_never_found(shell: Shell, folder: Path) -> None:
    qrels = [("q-seats", "late", 1)]
    (folder / "qrels.tsv").write_text("query\tmemory\tgrade\n" + "\t".join(map(str, qrels[0])) + "\n")
    found = shell.json("eval", str(folder), "--k", "100")
    assert (found["any@100"], found["mrr"], found["later"]) == (0.0, 0.0, 1)
    assert found["tokens"] == {"median": None, "p95": None, "reached": 0, "complete": 0}


def test_dates_may_be_ahead_of_the_clock(shell: Shell, tmp_path: Path) -> None:
    memories = [a_memory("m", created_at="2150-01-01T00:00:00+00:00")]
    folder = write_folder(tmp_path / "f", memories, [a_query("q", asked_at="2151-01-01T00:00:00+00:00")])
    for store in (
        [],
        ["--store", ":memory:"],
        ["--store", str(tmp_path / "kept.db")],
        ["--store", str(tmp_path / "kept.db")],
    ):
        assert shell.json("eval", str(folder), *store)["recall@5"] == 1.0


def test_every_run_gives_the_same_figures_and_a_kept_store_too(shell: Shell, folder: Path, tmp_path: Path) -> None:
    kept = ("--store", str(tmp_path / "kept.db"))
    runs = [
        shell.json("eval", str(folder), "--compare", "default", "five-signal", *more) for more in ((), (), kept, kept)
    ]
    assert [without_latency(run) for run in runs] == [without_latency(runs[0])] * 4


def test_the_order_of_the_lines_changes_no_figure(shell: Shell, folder: Path) -> None:
    before = without_latency(shell.json("eval", str(folder)))
    lines = (folder / "memories.jsonl").read_text().splitlines(keepends=True)
    (folder / "memories.jsonl").write_text("".join(reversed(lines)))
    after = without_latency(shell.json("eval", str(folder)))
    assert {**after, "digest": ""} == {**before, "digest": ""}


def test_queries_that_were_changed_or_come_much_later_find_the_store_as_it_is(
    shell: Shell, folder: Path, tmp_path: Path
) -> None:
    kept = ("--store", str(tmp_path / "kept.db"))
    before = shell.json("eval", str(folder), *kept)
    queries = (folder / "queries.jsonl").read_text().replace("2026-02-01", "2031-02-01")
    (folder / "queries.jsonl").write_text(queries)
    after = shell.json("eval", str(folder), *kept)
    assert (before["later"], after["later"]) == (1, 0)


def test_no_store_is_left_behind_unless_it_is_asked_for(shell: Shell, folder: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    shell("eval", str(folder), TMPDIR=str(tmp_path))
    assert sorted(tmp_path.iterdir()) == before


def test_another_folder_in_the_store_is_refused(shell: Shell, folder: Path, tmp_path: Path) -> None:
    kept = ("--store", str(tmp_path / "kept.db"))
    shell("eval", str(folder), *kept)
    with (folder / "memories.jsonl").open("a") as file:
        file.write(json.dumps(a_memory("one more")))
    told = shell("eval", str(folder), *kept, code=2).stderr
    assert "name another file with --store" in told
    other = write_folder(tmp_path / "other")
    assert "name another file with --store" in shell("eval", str(other), *kept, code=2).stderr


def test_several_profiles_are_a_list_and_a_file_is_a_profile(shell: Shell, folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(shell("profiles", "show", "salience").stdout)
    found = shell.json("eval", str(folder), "--profile", "salience", "--profile", str(mine))
    assert [one["profile"] for one in found] == ["salience", "mine"]
    first, second = (without_latency(one) for one in found)
    assert {**first, "profile": ""} == {**second, "profile": ""}


def test_two_profiles_of_one_name_are_told_apart_by_how_they_are_written(
    shell: Shell, folder: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "salience.toml"
    mine.write_text(shell("profiles", "show", "salience").stdout)
    found = shell.json("eval", str(folder), "--compare", "salience", str(mine))
    assert (found["compared"]["one"], found["compared"]["other"]) == ("salience", str(mine))


def test_a_comparison_has_both_and_what_the_second_gains(shell: Shell, folder: Path) -> None:
    found = shell.json("eval", str(folder), "--compare", "five-signal", "default", "--k", "5")
    one, other = found["profiles"]
    assert (one["profile"], other["profile"]) == ("five-signal", "default")
    compared = found["compared"]["differences"]
    assert list(compared) == ["recall@5", "ndcg@5", "mrr"]
    for name, difference in compared.items():
        assert difference["mean"] == pytest.approx(other[name] - one[name])
        assert difference["interval"][0] <= difference["mean"] <= difference["interval"][1]
        assert difference["wins"] + difference["losses"] + difference["ties"] == 8
        assert 0.0 < difference["p"] <= 1.0


def test_a_profile_compared_with_itself_gains_nothing(shell: Shell, folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(shell("profiles", "show", "default").stdout)
    found = shell.json("eval", str(folder), "--compare", "default", str(mine))["compared"]["differences"]
    assert {(one["mean"], one["p"], one["ties"]) for one in found.values()} == {(0.0, 1.0, 8)}


def test_people_see_measures_categories_and_what_to_know_of_the_folder(shell: Shell, folder: Path) -> None:
    shown = shell("eval", str(folder), "--compare", "default", "five-signal").stdout
    assert re.search(r"^travel: 34 memories, 8 queries, embedder ", shown)
    assert "1 query without judgments: left out\n" in shown
    assert "1 judged memory not in the folder: counted as not found\n" in shown
    assert "the text of an earlier one" not in shown
    assert re.search(r"^recall@10 +\d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\] +\d\.\d{3} ", shown, re.MULTILINE)
    assert re.search(r"^even +4 ", shown, re.MULTILINE)
    assert len(re.findall(r"^mean over queries +8 +\d\.\d{3} \[", shown, re.MULTILINE)) == 2
    assert len(re.findall(r"^mean over categories +8 +\d\.\d{3} +\d\.\d{3}$", shown, re.MULTILINE)) == 2
    assert "five-signal over default" in shown


def test_columns_stand_under_each_other_also_where_characters_are_wide(shell: Shell, tmp_path: Path) -> None:
    queries = [a_query("q", category="座位"), a_query("r", category="seats")]
    folder = write_folder(tmp_path / "f", queries=queries, qrels=[("q", "m", 1), ("r", "m", 1)])
    shown = shell("eval", str(folder), "--k", "1").stdout.splitlines()
    head = next(line for line in shown if line.startswith("recall@1  ") and "queries" in line)
    wide, narrow = (next(line for line in shown if line.startswith(f"{name} ")) for name in ("座位", "seats"))
    assert narrow.index("1 ") == head.index("queries")
    assert wide.index("1 ") == head.index("queries") - len("座位")  # each of which takes two columns


def test_no_profile_is_cut_off_however_many_there_are(shell: Shell, tmp_path: Path) -> None:
    profile = shell("profiles", "show", "salience").stdout
    names = [f"{'x' * 50}-{number}" for number in range(25)]
    for name in names:
        (tmp_path / f"{name}.toml").write_text(profile)
    chosen = [word for name in names for word in ("--profile", str(tmp_path / f"{name}.toml"))]
    shown = shell("eval", str(write_folder(tmp_path / "f")), "--k", "1", *chosen).stdout.splitlines()
    assert [line.split() for line in shown if line.startswith(" ")] == [names]


def test_someone_at_a_terminal_sees_how_far_it_is_and_a_script_does_not(shell: Shell, folder: Path) -> None:
    seen = shell.terminal("eval", str(folder))
    assert "loading" in seen
    assert "asking default" in seen
    assert shell.process("eval", str(folder), "--json", "--store", ":memory:").stderr == ""


def test_some_queries_are_enough_for_a_first_look(shell: Shell, folder: Path) -> None:
    assert shell.json("eval", str(folder), "--limit-queries", "3")["queries"] == 3


def test_what_a_query_cannot_see_is_told_in_lines_on_the_page_and_as_json(shell: Shell, tmp_path: Path) -> None:
    memories = [a_memory("m"), a_memory("bens", "Ben likes the aisle", scope="acme/ben")]
    queries = [a_query("q"), a_query("lost", scope="other/zoe")]
    folder = write_folder(tmp_path / "f", memories, queries, [("q", "m", 1), ("q", "bens", 1), ("lost", "m", 1)])
    notes = (
        "2 judged memories that the query may not see: counted as not found",
        "1 query that may see no memory: counted as finding nothing",
    )
    shown, page = shell("eval", str(folder)).stdout, " ".join(parsed(page_of(shell, folder)).itertext())
    for note in notes:
        assert f"{note}\n" in shown
        assert note in page
    found = shell.json("eval", str(folder))
    assert (found["outside"], found["blind"], found["recall@5"]) == (2, 1, (1 / 2 + 0) / 2)


def test_a_memory_that_was_replaced_is_told_in_lines_on_the_page_and_as_json(shell: Shell, tmp_path: Path) -> None:
    said = [
        ("A", "the cat sat on the mat", "2026-01-01T00:00Z"),
        ("B", "the dog lay under a table", "2026-03-01T00:00Z"),
    ]
    memories = [a_memory(id, text, topic_key="cat", created_at=at) for id, text, at in said]
    queries = [a_query("before"), a_query("after", asked_at="2026-04-01T00:00Z")]
    qrels = [("before", "A", 1), ("after", "A", 1), ("after", "B", 1)]
    folder = write_folder(tmp_path / "f", memories, queries, qrels)
    note, kept = "1 judged memory replaced by a later one: counted as not found", ("--store", str(tmp_path / "kept.db"))
    called = ("eval", str(folder), "--profile", "salience")
    shown, page = shell(*called, *kept).stdout, " ".join(parsed(page_of(shell, folder)).itertext())
    assert f"{note}\n" in shown
    assert "the text of an earlier one" not in shown
    assert note in page
    assert "A, replaced by a later one" in page
    for store in (kept, ()):
        found = shell.json(*called, *store)
        assert (found["replaced"], found["merged"], found["outside"]) == (1, 0, 0)
        assert (found["recall@5"], found["mrr"]) == ((1 + 1 / 2) / 2, 1.0)


def test_texts_that_repeat_take_a_place_each(shell: Shell, tmp_path: Path) -> None:
    memories = [*(a_memory(f"seat{number}") for number in range(3)), a_memory("fish", "the sea is deep")]
    qrels = [("q", f"seat{number}", 1) for number in range(3)]
    folder = write_folder(tmp_path / "f", memories, [a_query("q", "Ana prefers window seats")], qrels)
    found = shell.json("eval", str(folder), "--k", "1,3", "--profile", "salience")
    assert (found["recall@1"], found["recall@3"], found["ndcg@3"], found["merged"]) == (1 / 3, 1.0, 1.0, 0)


def test_within_a_topic_texts_that_repeat_are_one_memory(shell: Shell, tmp_path: Path) -> None:
    memories = [a_memory(f"seat{number}", topic_key="seat") for number in range(3)]
    qrels = [("q", f"seat{number}", 1 + number) for number in range(3)]
    folder = write_folder(tmp_path / "f", memories, [a_query("q", "Ana prefers window seats")], qrels)
    found = shell.json("eval", str(folder), "--k", "1", "--profile", "salience")
    assert (found["recall@1"], found["ndcg@1"], found["mrr"], found["merged"]) == (1.0, 1.0, 1.0, 2)
    assert "2 memories with the text of an earlier one of the same topic" in shell("eval", str(folder)).stdout


def test_every_category_counts_the_same_in_the_mean_over_categories(shell: Shell, tmp_path: Path) -> None:
    memories = [a_memory("seat", "Ana prefers window seats"), a_memory("fish", "the sea is deep")]
    queries = [a_query(f"q{number}", "Ana prefers window seats", category="many") for number in range(3)]
    queries.append(a_query("r", "Ana prefers window seats", category="few"))
    qrels = [("q0", "seat", 1), ("q1", "seat", 1), ("q2", "fish", 1), ("r", "fish", 1)]
    folder = write_folder(tmp_path / "f", memories, queries, qrels)
    found = shell.json("eval", str(folder), "--k", "1", "--profile", "salience")
    assert found["recall@1"] == 2 / 4
    assert found["by_category_mean"]["recall@1"] == (2 / 3 + 0) / 2
    page = " ".join(parsed(page_of(shell, folder)).itertext())
    assert "mean over categories" in page


def test_a_store_that_is_named_before_the_command_is_said_to_be_of_no_use(
    shell: Shell, folder: Path, tmp_path: Path
) -> None:
    told = "--db is not used here: --store FILE would keep the memories of DIR there\n"
    assert shell("eval", str(folder)).stderr == told
    assert shell("eval", str(folder), "--store", str(tmp_path / "kept.db")).stderr == ""
    alone = CliRunner().invoke(cli, ["eval", str(folder)], env={**ENVIRONMENT, "RECOLLECT_DB": str(shell.store)})
    assert (alone.exit_code, alone.stderr) == (0, "")
    assert not shell.store.exists()


def test_files_that_never_end_are_refused_and_a_missing_folder_is_named(shell: Shell, folder: Path) -> None:
    (folder / "queries.jsonl").unlink()
    os.mkfifo(folder / "queries.jsonl")
    told = shell("eval", str(folder), code=2).stderr
    assert f"'{folder}/queries.jsonl' is not a regular file; put one there" in told
    holds = "a judgments folder has memories.jsonl, queries.jsonl and qrels.tsv"
    assert f"folder '{folder}/no' does not exist; {holds}" in shell("eval", str(folder / "no"), code=2).stderr


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder in which every text that may be shown would rather be something else."""
    memories = [a_memory("m", f"seat {HOSTILE}"), a_memory("<b>id</b>", "Ana's & Ben's")]
    queries = [a_query("<i>q", f"which seat? {HOSTILE}", category=f'"><svg onload=x>{HOSTILE}')]
    qrels = [("<i>q", "<b>gone</b>", 1), ("<i>q", "m", 1)]
    return write_folder(tmp_path / "a<img src=x>&", memories, queries, qrels)


def parsed(page: str) -> ET.Element:
    return ET.fromstring(page)  # noqa: S314  # our own page


def page_of(shell: Shell, folder: Path, *more: str) -> str:
    target = folder.parent / "report.html"
    shell("eval", str(folder), "--report", str(target), "--force", *more)
    return target.read_text(encoding="utf-8")


@pytest.mark.parametrize("more", [(), ("--compare", "default", "five-signal"), ("--profile", "salience", "--k", "1")])
def test_the_page_is_well_formed_and_needs_nothing_else(more: tuple[str, ...], shell: Shell, folder: Path) -> None:
    page = page_of(shell, folder, *more)
    root = parsed(page)
    names = [element.tag for element in root.iter()]
    assert not {"svg", "script", "link", "img", "iframe", "object", "base", "form"} & set(names)
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not {name for name in attributes if name in ("src", "href", "style") or name.startswith("on")}
    assert "url(" not in page
    assert "@import" not in page
    assert "prefers-color-scheme: dark" in page


def test_the_page_shows_figures_categories_and_what_came_instead(shell: Shell, folder: Path) -> None:
    page = page_of(shell, folder, "--k", "2")
    text = " ".join(parsed(page).itertext())
    for said in ("recall@2", "even", "odd", "Queries with the worst results", "never written", "not in the folder"):
        assert said in text
    assert "what did Ana say about visas?" in text
    assert "recollect 0." in text


def test_no_text_of_the_folder_is_markup(shell: Shell, hostile: Path) -> None:
    page = page_of(shell, hostile, "--k", "1")
    root = parsed(page)
    assert not {"script", "img", "b", "i"} & {element.tag for element in root.iter()}
    assert "<script" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "<script>alert('&\"')</script>" in " ".join(root.itertext())


def test_a_hostile_folder_cannot_steer_a_terminal(shell: Shell, hostile: Path) -> None:
    shown = shell("eval", str(hostile)).stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_report_is_never_written_over_what_it_is_made_of(shell: Shell, folder: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "new.db")
    for taken in (store, str(folder / "memories.jsonl"), str(folder / "qrels.tsv")):
        told = shell("eval", str(folder), "--store", store, "--report", taken, "--force", code=2).stderr
        assert "name another file" in told
    assert not Path(store).exists()
    shell("eval", str(folder))


def test_a_report_is_not_written_over_unless_it_is_wished(shell: Shell, folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("mine")
    assert "--force" in shell("eval", str(folder), "--report", str(target), code=1).stderr
    assert target.read_text() == "mine"
    assert str(target) in shell("eval", str(folder), "--report", str(target), "--force").stderr
    assert target.read_text().startswith("<!DOCTYPE html>")


def test_a_wrong_folder_is_refused_with_file_line_and_field(shell: Shell, folder: Path) -> None:
    with (folder / "qrels.tsv").open("a") as file:
        file.write("q-seats\tseats2\tgreat\n")
    told = shell("eval", str(folder), code=2).stderr
    assert re.search(r"^Error: .*qrels\.tsv, line 21, field 'grade': 'great' is not a number$", told)
    assert "does not exist" in shell("eval", str(folder / "nowhere"), code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--k", "0"), 2, "has a number outside 1..1000"),
        (("--k", "five"), 2, "not a list of whole numbers"),
        (("--k", ""), 2, "not a list of whole numbers"),
        (("--profile", "defualt"), 3, "default"),
        (("--profile", "nowhere.toml"), 3, "nowhere.toml"),
        (("--compare", "default", "five-signal", "--profile", "default"), 2, "remove --profile"),
        (("--compare", "default", "default"), 2, "twice"),
        (("--embedder", "nobody"), 3, "nobody"),
        (("--store", "postgresql://host/db"), 2, "--store takes a file, not a database"),
        (("--store", ""), 2, "--store is empty"),
        (("--limit-queries", "0"), 2, "--limit-queries"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(
    arguments: tuple[str, ...], code: int, told: str, shell: Shell, folder: Path
) -> None:
    assert told in shell("eval", str(folder), *arguments, code=code).stderr


@pytest.mark.parametrize("command", [("eval",), ("profiles", "tune")])
def test_a_store_that_keeps_nothing_is_told_of_in_the_help(command: tuple[str, ...], shell: Shell) -> None:
    assert ":memory: keeps nothing" in " ".join(shell(*command, "--help").stdout.split())


def test_help_is_there_without_loading_what_computes() -> None:
    script = (
        "import sys; from recollect.cli.main import cli\n"
        "try: cli(['eval', '--help'])\n"
        "except SystemExit: print(sorted({'numpy', 'apsw'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "Usage:" in shown
    assert shown.splitlines()[-1] == "[]"
