"""recollect on PostgreSQL with pgvector beside what one would write in SQL, in one run, on one data set.

Starts a PostgreSQL of its own, fills it with made-up memories, and measures, as ratios to (a):

  ours, exact            engine.search, from columns in memory
  ours, exact preferred  engine.search(exact="preferred"), from the index of the scope where it is enough
  ours, exact, no room   engine.search where `cache_bytes` holds all columns of the scope but vectors (one scope)
  (a)                    the statement of seed 001 over its own table, with the formula of each profile; the table has
                         an index by agent besides, which the seed does not name
  (a) in floats          the same with casts: as it is written, PostgreSQL takes exp() of a decimal, digit by digit
  (b)                    the nearest 100 by an HNSW index on that table, re-ranked by the formula
  inner product          importance and recency as two more dimensions, HNSW on that (with --augmented)

for the profiles three-signal, five-signal and salience, and which share of the true best ten each way returns. The
truth is ours, which is exact; first it is checked that what is filled by COPY answers as what was remembered. Then the
first search and the memory of a new process, and how many memories a second are written, with and without the index.

Compare ratios, not digits: the ways are asked in turn, so that whatever else runs on the machine disturbs all alike.

    scripts/bench postgres --rows 100000
    scripts/bench postgres --rows 1000 --scopes 1000
    scripts/bench postgres --rows 1000000 --questions 20 --augmented --json million.json
"""

import argparse
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.postgres import Server, a_server

import recollect
from postgres import checking, filling, process, searching, seed, ways
from postgres.filling import Admin
from postgres.material import Material, Question, Told
from postgres.report import Report, stretch
from postgres.ways import EXACT, NO_ROOM, NO_ROOM_BYTES, PREFERRED, Ours, Way
from postgres.writing import Ingest
from recollect import factory

SETTINGS: Mapping[str, str] = {
    "fsync": "on",  # as a server has it to which something is entrusted
    "full_page_writes": "on",
    "io_method": "worker",
    "maintenance_work_mem": "3GB",  # a graph that does not fit is built many times as slowly
    "max_parallel_maintenance_workers": "2",
    "max_wal_size": "8GB",
    "random_page_cost": "1.1",
    "shared_buffers": "4GB",
    "work_mem": "64MB",
}
"""As one would set a server of that size; statistics are made when everything is filled, since autovacuum is off."""

PREFERRING: dict[str, Any] = {"exact": "preferred"}


def main() -> None:
    chosen = arguments().parse_args()
    material = Material(chosen.rows, chosen.scopes, chosen.dimensions, chosen.seed)
    report = Report()
    report.note("asked", **{name: str(value) for name, value in vars(chosen).items()})
    with ExitStack() as stack:
        if chosen.json:
            stack.callback(report.write, chosen.json)  # also what was measured before something failed
        server = stack.enter_context(a_server({**SETTINGS, **dict(chosen.set)}, chosen.folder))
        name = stack.enter_context(server.database())
        server.trust_vector(name)
        run(server, name, material, chosen, report)


def arguments() -> argparse.ArgumentParser:
    """What may be said on the command line."""
    known = argparse.ArgumentParser(
        prog="scripts/bench postgres", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known.add_argument("--rows", type=int, default=10_000, metavar="N", help="memories in each scope")
    known.add_argument("--scopes", type=int, default=1, metavar="N", help="scopes, each of a root of its own")
    known.add_argument("--dimensions", type=int, default=384, metavar="N", help="of every vector")
    known.add_argument("--questions", type=int, default=50, metavar="N", help="for each profile and way")
    known.add_argument(
        "--ingest", type=int, default=4_000, metavar="N", help="memories written in each way, by the thousand"
    )
    known.add_argument("--seed", type=int, default=0, metavar="N", help="of all that is made up")
    known.add_argument("--no-index", action="store_true", help="without the index of a scope, and what goes by it")
    known.add_argument("--augmented", action="store_true", help="also the augmented inner product, for three-signal")
    known.add_argument("--check", action="store_true", help="only check that COPY fills as remembering does")
    known.add_argument(
        "--folder",
        type=Path,
        default=Path(tempfile.gettempdir()),
        metavar="DIR",
        help="where the server keeps its files: 12 GB for a million memories, augmented, and 8 GB for its log",
    )
    known.add_argument(
        "--set", type=setting, action="append", default=[], metavar="NAME=VALUE", help="another setting of the server"
    )
    known.add_argument("--json", type=Path, metavar="FILE", help="write all figures there at the end, also if it fails")
    return known


def setting(text: str) -> tuple[str, str]:
    """A name and a value."""
    name, _, value = text.partition("=")
    return name, value


def run(server: Server, name: str, material: Material, chosen: argparse.Namespace, report: Report) -> None:
    """All of it, in an order in which nothing disturbs what comes after it."""
    report.say(checking.check(server, material.dimensions))
    if chosen.check:
        return
    report.say(
        f"{material.scopes:,} × {material.rows:,} memories, {material.dimensions} dimensions, "
        f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
    )
    url, questions = server.url(name), material.questions(chosen.questions)
    recollect.open(url, embedder=Told(material.dimensions)).close()
    with server.admin(name) as db:
        filling.admit(db)
        fill(db, material, report, augmented=chosen.augmented)
        index_seed(db, material, report, augmented=chosen.augmented)
        if not chosen.no_index:
            index(url, material, questions, report)
        warm(db, report)
        search(url, material, questions, chosen, report)
        ingest = Ingest(url, db, material, chosen.ingest)
        if not chosen.no_index:
            ingest.measure("with the index", report)
            factory.drop_index(url, material.scope(0))
        ingest.measure("without an index", report)


def fill(db: Admin, material: Material, report: Report, *, augmented: bool) -> None:
    """The tables of the store and those of the seed, with the same memories; only the copying counts."""
    filling.begin(db, material.dimensions)
    seed.make(db, material.dimensions)
    total, done, told = material.rows * material.scopes, 0, 0
    ours = others = 0.0
    for chunk in material.chunks():
        prepared = filling.prepare(db, chunk)
        with stretch() as taken:
            filling.write(db, prepared)
        ours += taken.seconds
        with stretch() as taken:
            seed.fill(db, chunk)
        others += taken.seconds
        if augmented:
            seed.augment(db, chunk)
        done += len(chunk)
        if done - told >= 100_000 and done < total:
            told = done
            report.say(f"  {done:,} of {total:,} filled in")
    report.rate("filling by COPY, no index of vectors", total, ours)
    report.rate("  the seed's table", total, others)


def index_seed(db: Admin, material: Material, report: Report, *, augmented: bool) -> None:
    """The indexes of the seed's tables, over all scopes."""
    total = material.rows * material.scopes
    with stretch() as taken:
        db.execute(seed.NEAREST)
    report.rate("building the seed's index (vector)", total, taken.seconds)
    if augmented:
        with stretch() as taken:
            db.execute(seed.AUGMENTED)
        report.rate("building the index of inner products (vector)", total, taken.seconds)


def index(url: str, material: Material, questions: Sequence[Question], report: Report) -> None:
    """The indexes of the first scope and of those that are asked."""
    scopes = {material.scope(0), *(one.scope for one in questions)}
    with stretch() as taken:
        for scope in scopes:
            factory.index_scope(url, scope)
    report.rate("building the index of a scope (halfvec)", len(scopes) * material.rows, taken.seconds)


def warm(db: Admin, report: Report) -> None:
    """Count everything for the planner, and have it in memory, as far as there is room: no way is to wait for disks.

    Else who goes by a large index would read other pages of it from disk for every question.
    """
    db.execute("VACUUM (ANALYZE)")
    db.execute("CHECKPOINT")
    db.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
    db.execute(
        "SELECT pg_prewarm(c.oid, 'read') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname IN ('recollect', 'seed') AND c.relkind IN ('r', 'i', 't')"
    )
    row = db.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    size, room = row[0] / 2**30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    report.note("database", gib=size, memory_gib=room)
    report.say(f"the database has {size:.1f} GiB, the machine {room:.1f} GiB of memory")


def search(
    url: str, material: Material, questions: Sequence[Question], chosen: argparse.Namespace, report: Report
) -> None:
    """All ways side by side, then what a new process pays."""
    with ExitStack() as stack:
        exact = Ours(stack.enter_context(ways.open_engine(url, material, questions)))
        compared = [Way(EXACT, exact.ask)]
        preferred = Ours(stack.enter_context(ways.open_engine(url, material, questions)), PREFERRING)
        if not chosen.no_index:
            compared.append(Way(PREFERRED, preferred.ask))
        bare = Ours(stack.enter_context(ways.open_engine(url, material, questions, NO_ROOM_BYTES * material.rows)))
        if material.scopes == 1:
            compared.append(Way(NO_ROOM, bare.ask))
        compared += ways.in_sql(stack, url, augmented=chosen.augmented)
        searching.measure(compared, questions, report)
        searching.tell_looked(EXACT, exact, report)
        searching.tell_looked(PREFERRED, preferred, report)
        searching.tell_looked(NO_ROOM, bare, report)
    process.tell(EXACT, process.cold(url, material, questions[0], {}), material, report)
    if not chosen.no_index:
        process.tell(PREFERRED, process.cold(url, material, questions[0], PREFERRING), material, report)


if __name__ == "__main__":
    main()
