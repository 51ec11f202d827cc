"""What a store and our files keep as text is what they kept when the golden files were written."""

import base64
import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

import recollect
from tests.golden import pickles, storage
from tests.golden.command_line import run_command
from tests.golden.files import REMEDY, check, read
from tests.golden.storage import BLOCKS, DEFAULT_BLOCKS, KEY_COLUMNS, KeyedText, compute_keys, digest_block, read_rows
from tests.golden.write import PICKLES
from tests.upgrades.scenario import ANA, END

VERDICTS: dict[str, dict[str, Any]] = {
    "Created": {},
    "Updated": {"revision": 3, "instead_of": "m1"},
    "Reinforced": {"twin": "m1", "reason": "the same words"},
    "Superseded": {"old": "m1", "reason": "it changed"},
    "Outdated": {"newer": "m1", "reason": "it changed"},
    "Reactivated": {"was": "forgotten", "instead_of": None},
    "Unindexed": {"twin": "m1", "reason": "it is known"},
    "Quarantined": {"reason": "it reads like orders", "other": None},
    "Refused": {"reason": "it is private", "other": "m1"},
    "Changed": {"to": "pinned", "instead_of": None},
    "Unchanged": {},
}
"""Every verdict as the idempotency rows of a store have it: a tag and fields. Add verdicts, but rename none."""


def check_blocks(blocks: Sequence[int]) -> None:
    """Compare the keys of the texts in these blocks with the golden file; list every block that differs."""
    golden = {one["block"]: one for one in map(json.loads, read("keys.jsonl").splitlines())}
    problems = []
    for block, texts in compute_keys(blocks):
        groups = [group for group, one in digest_block(texts).items() if golden[block][group] != one]
        if groups:
            problems.append(describe_block(block, groups, texts))
    if problems:
        first_problems = "\n".join(problems[:5])
        pytest.fail(f"stored keys of {len(problems)} blocks changed; {REMEDY}\n{first_problems}", pytrace=False)


def describe_block(block: int, groups: list[str], texts: list[KeyedText]) -> str:
    """Name a block and the groups that changed in it, and show its first texts with their new keys."""
    if "texts" in groups:
        return f"block {block}: its texts changed, which come from the repository and tests/golden/texts.py"
    lines = [f"block {block}: {', '.join(groups)} changed; its first texts now have"]
    for one in texts[:6]:
        values = json.dumps({group: one.values(group) for group in groups}, ensure_ascii=False)
        lines.append(f"  {one.text[:80]!r}: {values[:300]}")
    return "\n".join(lines)


def test_texts_have_the_keys_that_stores_have() -> None:
    check_blocks(DEFAULT_BLOCKS)


@pytest.mark.thorough
def test_all_other_texts_have_the_keys_that_stores_have() -> None:
    check_blocks(BLOCKS[len(DEFAULT_BLOCKS) :])


def test_most_texts_are_kept_and_have_every_key() -> None:
    ((_, texts),) = compute_keys([0])
    rows = [one.row for one in texts if one.row is not None]
    assert len(rows) >= 90
    for group in KEY_COLUMNS.values():
        assert any(row[group[0]] for row in rows), group


def test_the_rows_of_every_table_are_the_same(scenario_store: Path) -> None:
    check("tables.jsonl", storage.dump_tables(scenario_store))


def test_an_export_has_the_same_lines(scenario_store: Path) -> None:
    check("export.jsonl", storage.dump_export(scenario_store))


def test_plans_have_the_same_json_and_hash(scenario_store: Path) -> None:
    check("plans.jsonl", storage.dump_plans(scenario_store))


def test_a_plan_of_before_can_be_read_and_keeps_its_hash() -> None:
    for line in read("plans.jsonl").splitlines():
        assert recollect.Plan.read(line).hash == json.loads(line)["hash"]


def test_a_key_file_is_the_same() -> None:
    check("key_file.json", storage.dump_key_file())


def test_a_key_file_of_before_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(read("key_file.json"), encoding="utf-8")
    path.chmod(0o600)
    listing = json.loads(run_command("--setting", f"server.keys={path}", "keys", "list", "--json").stdout)
    keys = json.loads(path.read_text(encoding="utf-8"))["keys"]
    assert listing["keys"] == [{name: value for name, value in key.items() if name != "digest"} for key in keys]


def test_an_import_of_another_format_leaves_the_same_rows() -> None:
    check("imports.jsonl", storage.dump_imports())


def test_integrations_leave_the_same_rows() -> None:
    check("integrations.jsonl", storage.dump_integrations())


def test_every_verdict_is_read_and_written_by_the_tag_that_stores_have(tmp_path: Path) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    with recollect.open(first, embedder="hashing-32", clock=lambda: END) as engine:
        receipts = {tag: engine.remember(f"Ana has note {tag}", scope=ANA, key=tag) for tag in VERDICTS}
    texts = {tag: json.dumps([tag, fields]) for tag, fields in VERDICTS.items()}
    database = apsw.Connection(str(first))
    for tag, text in texts.items():
        database.execute("UPDATE keys SET verdict = ? WHERE key = ?", (text, tag))
    database.close()

    with recollect.open(first, clock=lambda: END) as engine:
        lines = list(engine.export())
        exports = [entry for line in lines for entry in json.loads(line).get("keys", ())]
        assert {key: {tag: fields} for key, _, tag, fields, _ in exports} == {
            tag: {tag: fields} for tag, fields in VERDICTS.items()
        }
        for tag, fields in VERDICTS.items():
            again = engine.remember(f"Ana has note {tag}", scope=ANA, key=tag)
            assert again.id == receipts[tag].id
            assert {name: getattr(again.verdict, name) for name in fields} == fields
    with recollect.open(second, embedder="hashing-32", clock=lambda: END) as engine:
        engine.import_(lines)
    for store in (first, second):
        assert {row["key"]: row["verdict"] for row in read_rows(store, "SELECT key, verdict FROM keys")} == texts


@pytest.mark.filterwarnings("ignore:recollect.dialects:DeprecationWarning")
def test_pickles_of_before_can_be_loaded_and_equal_new_ones() -> None:
    texts, scores = json.loads(read(PICKLES)), pickles.make_scores()
    assert texts.keys() == scores.keys()
    for name, score in scores.items():
        old_score = pickle.loads(base64.b64decode(texts[name]))  # noqa: S301
        assert (type(old_score), old_score, repr(old_score)) == (type(score), score, repr(score))
