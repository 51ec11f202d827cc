"""What a store or a file of ours keeps: keys of texts, rows of every table, exports, plans, key files."""

import asyncio
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw

import recollect
from tests.acceptance.test_import_others import SAMPLES
from tests.golden.command_line import run_command
from tests.golden.entry_points import RecollectMemoryTool, RecollectSession, RecollectStore, seed_randomness
from tests.golden.texts import BLOCK_SIZE, TEXT_COUNT, number_texts
from tests.upgrades.scenario import ANA, BEGIN, EMBEDDER, END, SETTINGS

Row = dict[str, Any]

BLOCKS = range(TEXT_COUNT // BLOCK_SIZE)
DEFAULT_BLOCKS = BLOCKS[:40]
"""The blocks that every test run checks; a thorough run checks the others too."""

TEXT_SETTINGS = {"kind.detect": True, "importance.enabled": True}
"""Settings under which admission computes from a text all that it can."""

DIGEST_CHARS = 12

KEY_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "content": ("title", "text"),
    "terms": ("terms", "analyser"),
    "entities": ("entities", "naming"),
    "hashes": ("content_hash", "said_hash"),
    "likeness": ("likeness",),
    "admission": ("kind", "level", "status", "subject", "importance", "confidence", "salience", "more"),
    "vector": ("vector",),
}
"""What is computed from a text and stored, in groups that fail separately."""

READ_KEYS = """
SELECT m.id, c.title, c.text, c.terms, c.analyser, c.entities, c.naming, c.hash AS content_hash, m.hash AS said_hash,
       m.likeness, m.kind, m.level, m.status, m.subject, m.importance, m.confidence, m.salience, m.more,
       v.value AS vector
FROM memories m JOIN contents c ON c.number = m.content LEFT JOIN vectors v ON v.key / 256 = c.number
"""


@dataclass(frozen=True, slots=True)
class KeyedText:
    """A text and the row that a store keeps of it; a text that is refused has no row."""

    text: str
    row: Row | None

    def values(self, group: str) -> list[Any]:
        """Return the columns of a group as JSON."""
        return [] if self.row is None else [to_json(self.row[column]) for column in KEY_COLUMNS[group]]


def compute_keys(blocks: Sequence[int]) -> Iterator[tuple[int, list[KeyedText]]]:
    """Remember the texts of these blocks, each in a scope of its own, and yield them with their rows."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "texts.db")
        with recollect.open(store, embedder=EMBEDDER, clock=lambda: BEGIN, settings=TEXT_SETTINGS) as engine:
            for block in blocks:
                _remember(engine, [_make_draft(number, text) for number, text in number_texts(block)])
        rows = {row["id"]: row for row in read_rows(store, READ_KEYS)}
    for block in blocks:
        yield block, [KeyedText(text, rows.get(f"text-{number}")) for number, text in number_texts(block)]


def _make_draft(number: int, text: str) -> Row:
    """Return a draft of the text, with a speaker, a kind or a title for some."""
    speakers = ("Ana", "user", "Bo Chen", "ANA")
    return {
        "id": f"text-{number}",
        "text": text,
        "scope": f"texts/{number}",
        "speaker": speakers[number % len(speakers)] if number % 5 == 0 else None,
        "kind": "event" if number % 7 == 0 else None,
        "title": f"Title {number % 10}" if number % 11 == 0 else None,
        "provenance": "direct_user" if number % 3 == 0 else "model_inference",
    }


def _remember(engine: recollect.Engine, drafts: Sequence[Row]) -> None:
    """Remember all of the drafts but those that are refused: halves are tried until only these are left out."""
    try:
        engine.remember_all(drafts)
    except recollect.InvalidInput:
        middle = len(drafts) // 2
        if middle:
            _remember(engine, drafts[:middle])
            _remember(engine, drafts[middle:])


def digest_block(texts: Sequence[KeyedText]) -> dict[str, str]:
    """Return a digest of the texts themselves, and one for each group of columns."""
    digests = {"texts": digest([one.text for one in texts])}
    return digests | {group: digest([one.values(group) for one in texts]) for group in KEY_COLUMNS}


def digest(value: object) -> str:
    """Return a short digest of a JSON value."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:DIGEST_CHARS]


def dump_text_keys() -> str:
    """Return a line for each block of texts: its number and the digests of its keys."""
    return to_lines({"block": block, **digest_block(texts)} for block, texts in compute_keys(BLOCKS))


# ── a store that the upgrade scenario filled ───────────────────────────────────────────────────────────────────────


def dump_tables(store: Path) -> str:
    """Return the schema of a SQLite file and every row of every table, each on a line."""
    return to_lines(_iterate_tables(store))


def _iterate_tables(store: Path) -> Iterator[Row]:
    with closing(apsw.Connection(str(store), apsw.SQLITE_OPEN_READONLY)) as db:
        yield {name: db.pragma(name) for name in ("application_id", "user_version", "page_size")}
    schema = list(read_rows(store, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY 1, 2"))
    yield from schema
    for table in (one["name"] for one in schema if one["type"] == "table"):
        keys = read_rows(store, f"SELECT name FROM pragma_table_info('{table}') WHERE pk > 0 ORDER BY pk")  # noqa: S608
        order = ", ".join(one["name"] for one in keys)
        for row in read_rows(store, f"SELECT * FROM {table} ORDER BY {order}"):  # noqa: S608
            yield {"table": table, **{name: to_json(value) for name, value in row.items() if value is not None}}


def dump_export(store: Path) -> str:
    """Return a line for each line of an export: what it is of, and its digest."""
    return to_lines({"of": _name_line(line), "digest": digest(line)} for line in read_export(store))


def read_export(store: Path) -> list[str]:
    """Return the lines of an export."""
    with recollect.open(store, clock=lambda: END) as engine:
        return list(engine.export())


def _name_line(line: str) -> str:
    value = json.loads(line)
    return str(value["context"]["id"] if "context" in value else value.get("memory") or "header or end")


def dump_plans(store: Path) -> str:
    """Return the plan of every job, and of those that take options a second one."""
    options: list[tuple[str, dict[str, Any]]] = [
        ("consolidate", {}),
        ("prune-vectors", {}),
        ("prune-vectors", {"level": "event", "age_days": 30}),
        ("rebuild-index", {}),
        ("rebuild-index", {"min_level": "week", "max_age_days": 7}),
        ("prune-episodes", {}),
    ]
    settings = {**SETTINGS, "consolidation.least": 2, "episodic.value_threshold": 0.95}
    with recollect.open(store, clock=lambda: END + timedelta(days=400), settings=settings) as engine:
        return to_lines(engine.plan(job, scope=ANA, **given).to_json() for job, given in options)


# ── other things that a store or a file keeps ──────────────────────────────────────────────────────────────────────


def dump_key_file() -> str:
    """Return the key file after three keys were added, as if at a fixed moment."""
    digits, secrets = count(1), count(1)
    with (
        tempfile.TemporaryDirectory() as folder,
        patch("secrets.token_hex", lambda _: f"{next(digits):012x}"),
        patch("secrets.token_urlsafe", lambda size: f"secret-{next(secrets)}".ljust(size, "x")),
    ):
        path = Path(folder, "keys.json")
        for arguments in (
            ["agent-7", "--right", "read,write", "--scope", "acme/agent-7", "--scope", "labs"],
            ["operator", "--right", "read,admin,erase", "--whole-store", "--expires", "2199-01-31T00:00:00Z"],
            ["tool", "--right", "write", "--scope", "acme", "--provenance", "tool_external"],
        ):
            run_command("--setting", f"server.keys={path}", "keys", "add", *arguments, XDG_CONFIG_HOME=folder)
        text = path.read_text(encoding="utf-8")
    return re.sub(r'(?<="created_at": ")[^"]+', END.isoformat(), text)


def dump_imports() -> str:
    """Return the memories and idempotency keys that imports of other formats leave behind."""

    def fill(store: Path) -> None:
        for name, records in SAMPLES.items():
            file = store.with_name(f"{name}.jsonl")
            file.write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")
            run_command("--db", str(store), "import", str(file), "--format", name, "--scope", f"acme/{name}")

    return _dump_rows_after(fill)


def dump_integrations() -> str:
    """Return the memories that the integrations with other frameworks leave behind."""

    def fill(store: Path) -> None:
        with recollect.open(store, embedder=EMBEDDER, clock=lambda: BEGIN) as engine:
            _use_integrations(engine)

    return re.sub("[0-9]{12}-[0-9a-f]{32}", "<number of the call>", _dump_rows_after(fill))


def _use_integrations(engine: recollect.Engine) -> None:
    graph = RecollectStore(engine, "acme/graph")
    graph.put(("users", "ana"), "tea", {"drink": "green tea", "cups": 3, "at": [1.5, None, "Zürich"]})
    graph.put(("users", "a/b ~ç"), "50% \u0301odd ", {"text": "odd names"}, index=["text"])
    graph.put(("users",), "long", {"text": "leaves " * 5_000}, index=False)

    session = RecollectSession("monday 1/2", engine, "acme/chats")
    items: list[Any] = [
        {"role": "user", "content": "Which tea is there?"},
        {"type": "function_call", "call_id": "call_1", "name": "list_teas", "arguments": '{"kind":  "green"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "sencha\x00 \ud800"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Sencha", "annotations": []}]},
    ]
    asyncio.run(session.add_items(items))

    files = RecollectMemoryTool(engine, "acme/claude")
    for path, text in (("/memories/notes.md", "one\ntwo\n"), ("/memories/a b/ç.txt", ""), ("/memories/x", "  odd\r\n")):
        files.call({"command": "create", "path": path, "file_text": text})
    files.call({"command": "str_replace", "path": "/memories/notes.md", "old_str": "two", "new_str": "three"})


def _dump_rows_after(fill: Callable[[Path], None]) -> str:
    """Fill a new store; return what it keeps of each memory, and each idempotency key."""
    with tempfile.TemporaryDirectory() as folder, seed_randomness():
        store = Path(folder, "store.db")
        fill(store)
        memories = read_rows(
            store,
            """
            SELECT s.path, m.id, m.kind, m.level, m.status, m.topic_key, m.subject, m.hash, m.likeness, m.valid_until,
                   c.title, c.text, m.more, k.key, k.body, k.verdict
            FROM memories m JOIN scopes s ON s.number = m.scope JOIN contents c ON c.number = m.content
            LEFT JOIN keys k ON k.memory = m.number ORDER BY m.number, k.key
            """,
        )
        return to_lines({name: _shorten(value) for name, value in row.items()} for row in memories)


def _shorten(value: Any) -> Any:
    long = isinstance(value, str) and len(value) > 2_000
    return f"{value[:100]}… {digest(value)}" if long else value


# ── rows and lines ─────────────────────────────────────────────────────────────────────────────────────────────────


def read_rows(store: Path, sql: str) -> Iterator[Row]:
    """Yield the rows of a query on a SQLite file by the names of the columns."""
    with closing(apsw.Connection(str(store), apsw.SQLITE_OPEN_READONLY)) as db:
        cursor = db.execute(sql)
        for row in cursor:
            yield dict(zip((name for name, _ in cursor.get_description()), row, strict=True))


def to_json(value: Any) -> Any:
    """Return a value of a column as JSON: bytes as their digest."""
    return f"blob {hashlib.sha256(value).hexdigest()[:16]}" if isinstance(value, bytes) else value


def to_lines(values: Iterable[Mapping[str, Any]]) -> str:
    """Return a line of JSON for each value."""
    return "".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values)
