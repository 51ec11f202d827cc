"""Rewrite the golden files with what this version gives: python -m tests.golden.write."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from tests.golden import output, packages, pickles, storage
from tests.golden.files import DATA
from tests.upgrades.write import fill_store

FILES: Mapping[str, Callable[[], str]] = {
    "keys.jsonl": storage.dump_text_keys,
    "key_file.json": storage.dump_key_file,
    "imports.jsonl": storage.dump_imports,
    "integrations.jsonl": storage.dump_integrations,
    "settings.jsonl": output.dump_settings,
    "errors.jsonl": output.dump_error_codes,
    "openapi.txt": output.dump_open_api,
    "answers.jsonl": output.dump_answers,
    "transports.jsonl": output.dump_transport_answers,
    "grpc.jsonl": output.dump_messages,
    "rankings.jsonl": output.dump_rankings,
    "packages.json": packages.dump_packages,
    "messages/help.txt": output.dump_help,
    "messages/openapi.txt": output.dump_open_api_wording,
    "messages/mcp.jsonl": output.dump_mcp_session,
    "messages/server.txt": output.dump_server,
}
"""The golden files and what gives their content."""

STORE_FILES: Mapping[str, Callable[[Path], str]] = {
    "tables.jsonl": storage.dump_tables,
    "export.jsonl": storage.dump_export,
    "plans.jsonl": storage.dump_plans,
    "commands.txt": output.dump_json_output,
    "messages/commands.txt": output.dump_printed_text,
}
"""The golden files that come from a store which the upgrade scenario filled."""

PICKLES = "pickles.json"
"""The file that is never rewritten, because old pickles must stay readable; delete it to make new ones."""


def write(names: Collection[str] = ()) -> None:
    """Write the golden files of these names, or every one."""
    (DATA / "messages").mkdir(parents=True, exist_ok=True)
    if not (DATA / PICKLES).exists():
        _write(PICKLES, pickles.dump_pickles())
    for name, give in FILES.items():
        if not names or name in names:
            _write(name, give())
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "store.db")
        fill_store(str(store))
        for name, give_from in STORE_FILES.items():
            if not names or name in names:
                _write(name, give_from(store))


def _write(name: str, content: str) -> None:
    (DATA / name).write_text(content, encoding="utf-8")
    sys.stdout.write(f"{name}: {len(content.encode())} bytes\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Rewrite the golden files with what this version gives.")
    parser.add_argument("names", nargs="*", help="only these, such as messages/help.txt")
    write(parser.parse_args().names)
