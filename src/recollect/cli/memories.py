"""Commands for single memories: remember, change, show, list, erase and sweep.

Erasing removes memories for good and searches the files for remains. `recollect admin sweep` rewrites PostgreSQL tables
whose files still hold erased data. Showing or listing a memory does not count as use.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from recollect import factory
from recollect.api import schemas
from recollect.cli import formatting, options, output
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.output import find_replacements
from recollect.cli.tables import Paint, TextStyle, paint_plain
from recollect.engine.engine import Engine
from recollect.model.archive import ErasureReceipt, SweepReport
from recollect.model.draft import read_draft
from recollect.model.enums import Kind, Status
from recollect.model.format import format_count, make_printable
from recollect.model.scope import Scope


@click.command(cls=options.TextCommand, short_help="Remember a text.", epilog=f"Kinds: {', '.join(Kind)}.")
@click.argument("text")
@options.scope
@options.choice(
    Kind, "--kind", help="What sort of memory it is; if not given, what its topic is, or else an observation."
)
@click.option("--title", help="A short title.")
@click.option("--topic-key", metavar="KEY", help="What it is about: the next one with this key revises it.")
@click.option(
    "--subject", metavar="NAME", help="What it is about, where only one thing holds at a time: it replaces the former."
)
@click.option("--tag", "tags", multiple=True, help="A tag; may be repeated.")
@options.fraction("--importance", "How much it matters.")
@options.fraction("--confidence", "How sure it is.")
@click.option("--pinned", is_flag=True, help="Keep room for it in every context.")
@click.option("--shared", is_flag=True, help="Let the scopes below see it too.")
@click.option("--session", metavar="ID", help="The session it comes from.")
@click.option("--speaker", metavar="NAME", help="Who said it.")
@options.moment("--at", "When it was observed; now if not given.")
@options.moment("--valid-from", "Since when it holds.")
@options.moment("--valid-until", "Until when it holds.")
@options.provenance("Through whom it came.")
@click.option("--source", metavar="ID", help="The document, tool or import it came from.")
@click.option("--derived-from", metavar="ID", multiple=True, help="A memory it was made from; may be repeated.")
@click.option("--evidence", metavar="QUOTE", multiple=True, help="A quote that bears it out; may be repeated.")
@options.metadata("Anything else, as a JSON object.")
@click.option("--key", help="Makes a retry harmless: the same call with the same key is done once.")
@click.option("--id", metavar="ID", help="The id it is to have; one is made if not given.")
@options.as_json
@pass_target
def remember(store: StoreTarget, /, text: str, as_json: bool, **values: Any) -> None:
    """Remember TEXT, or what standard input says if TEXT is -.

    Prints the id of the memory that says it now.

    \b
    recollect remember "Ana prefers window seats" --scope acme/ana --kind preference
    git log -1 --format=%B | recollect remember - --scope acme/builds --kind event
    """
    fields = {name: value for name, value in values.items() if value is not None}
    draft = read_draft({"text": options.read_text(text), **fields})
    with store.open_or_create() as engine:
        (receipt,) = engine.remember_all([draft])
    if draft.key is None:
        output.print_new(receipt, as_json=as_json)
    else:  # a retry gets the result of the first call, whose run number is not known
        output.print_receipt(receipt, as_json=as_json)


memory_id = click.argument("id")


@click.command(short_help="Give a memory a new text.", cls=options.TextCommand)
@memory_id
@click.argument("text")
@options.scope
@options.choice(Kind, "--kind", help="Another kind.")
@click.option("--title", help="Another title.")
@click.option("--tag", "tags", multiple=True, help="A tag; those given replace the former ones.")
@options.fraction("--importance", "How much it matters; it never falls.")
@options.fraction("--confidence", "How sure it is.")
@options.moment("--at", "When that was observed; now if not given.")
@options.moment("--valid-from", "Since when it holds.")
@options.moment("--valid-until", "Until when it holds.")
@options.metadata("Another JSON object in place of the former.")
@options.provenance("Through whom the new text came.")
@options.as_json
@pass_target
def revise(
    store: StoreTarget, /, id: str, text: str, scope: Scope, tags: tuple[str, ...], as_json: bool, **changes: Any
) -> None:
    """Give the memory ID the new TEXT, or what standard input says if TEXT is -.

    It keeps its id; what it said before stays in its history. What is not given stays as it was.
    """
    with store.open_existing() as engine:
        receipt = engine.revise(id, options.read_text(text), scope=scope, tags=tags or None, **changes)
    output.print_undoable(receipt, as_json=as_json)


@click.command(short_help="Recall a memory no more.")
@memory_id
@options.scope
@options.as_json
@pass_target
def forget(store: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Recall the memory ID no more; `recollect restore` brings it back."""
    with store.open_existing() as engine:
        receipt = engine.forget(id, scope=scope)
    output.print_undoable(receipt, as_json=as_json)


@click.command(short_help="Bring a memory back.")
@memory_id
@options.scope
@options.as_json
@pass_target
def restore(store: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Bring back the memory ID, which was forgotten or put away."""
    with store.open_existing() as engine:
        receipt = engine.restore(id, scope=scope)
    output.print_undoable(receipt, as_json=as_json)


@click.command(short_help="Keep room for a memory.")
@memory_id
@options.scope
@options.as_json
@pass_target
def pin(store: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Keep room for the memory ID in every context of its scope."""
    with store.open_existing() as engine:
        receipt = engine.pin(id, scope=scope)
    output.print_undoable(receipt, as_json=as_json)


@click.command(short_help="Let a memory compete again.")
@memory_id
@options.scope
@options.as_json
@pass_target
def unpin(store: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Let the memory ID compete like any other."""
    with store.open_existing() as engine:
        receipt = engine.unpin(id, scope=scope)
    output.print_undoable(receipt, as_json=as_json)


@click.command(short_help="Print a memory and its use.")
@click.argument("id")
@options.scope
@options.as_json
@pass_target
def show(store: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Print the memory ID with all that is known of it, and what happened to it since."""
    with store.open_existing() as engine:
        memory = engine.get(id, scope=scope)
        usage = engine.contexts.usage(id, scope=scope)
        by = engine.items.replacement(memory, scope=scope)
    if as_json:
        output.print_answer(schemas.memories.Shown.of(memory, usage=usage, replacement=by))
    else:
        output.print_lines(formatting.format_memory(memory, usage, output.paint, by))


@click.command(short_help="List the versions of a memory.")
@click.argument("id")
@options.scope
@options.as_json
@pass_target
def history(store: StoreTarget, id: str, scope: Scope, as_json: bool) -> None:
    """Print every version of the memory ID, the oldest first, each with the run that `recollect admin undo` takes."""
    with store.open_existing() as engine:
        versions = engine.history(id, scope=scope)
        replacements, last = find_replacements(engine, versions), versions[-1].superseded_by
    if as_json:
        by = None if last is None else replacements.get(last)
        output.print_answer(schemas.memories.Versions.of(id=id, versions=versions, replacement=by))
    else:
        output.print_table(formatting.version_table(versions, replacements))


@click.command("list", short_help="List the memories of a scope.")
@options.scope
@click.option("--below", is_flag=True, help="Those of the scopes below too.")
@options.choice(
    Status,
    "--status",
    "statuses",
    multiple=True,
    default=[Status.ACTIVE.value],
    show_default=True,
    help="Those of this status; may be repeated.",
)
@options.as_json
@pass_target
def list_memories(store: StoreTarget, scope: Scope, below: bool, statuses: tuple[Status, ...], as_json: bool) -> None:
    """List the memories of a scope, sorted by id: ids that were made here sort by the time they were made.

    In a pipe there is one line a memory: id, scope, kind, date, marks and text, between tabs.
    """
    with store.open_existing() as engine:
        memories = engine.memories(scope=scope, below=below, statuses=statuses)
        hints = [] if memories else output.explain_empty_scope(engine, scope)
        replacements = {} if as_json else find_replacements(engine, memories)
    if as_json:
        page = schemas.memories.Memories.of(scope=scope, memories=memories, next=None)
        output.print_json(page.to_json("next"))
    else:
        output.print_table(formatting.memory_table(memories, replacements))
    for hint in hints:
        output.print_note(hint)


UNPROVED_REMEDY = (
    "No later run can check this, because the erased text is not stored anywhere. To be sure, close every program that "
    "has the store open; then `recollect export FILE` and `recollect --db NEW import FILE` make a store without it. "
    "With RECOLLECT_BUSY_TIMEOUT=600 an erasure waits up to 600 seconds for other programs."
)
"""What a user can do about an erasure that could not be proved."""

UNSWEPT_REMEDY = (
    "The database has a record of what remains to be done: run `recollect admin sweep` as the owner of its tables. It "
    "reports when nothing is left in their files."
)
"""The same for an erasure in a PostgreSQL database."""


@click.command(short_help="Remove memories for good, and prove it.")
@options.scope
@click.option("--id", metavar="ID", help="Erase this memory, and what was derived from it.")
@click.option("--source", metavar="ID", help="Erase all that came from this source, and what was derived from it.")
@click.option("--everything", is_flag=True, help="Erase all memories and contexts of exactly this scope.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.as_json
@click.pass_context
@pass_target
def erase(
    store: StoreTarget,
    ctx: click.Context,
    scope: Scope,
    id: str | None,
    source: str | None,
    everything: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove memories for good, from every file of the store, and look whether anything of them is left.

    Prints what was removed, which files were searched, and what is out of reach. The exit code is 1 if it could not be
    proved that nothing is left.

    \b
    recollect erase --scope acme/ana --id 0193e5b2-7e1c-7000-8000-0123456789ab
    recollect erase --scope acme/ana --source mail-7 --yes
    """
    if (id is not None) + (source is not None) + everything != 1:
        raise click.UsageError("Use exactly one of --id ID, --source ID and --everything.")
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise click.UsageError("not a terminal; pass --yes to erase for good")
    with store.open_existing() as engine:
        for hint in [] if id is not None else output.explain_empty_scope(engine, scope):
            output.print_note(hint)
        if not yes:
            click.confirm(_confirmation_question(engine, scope, id, source), abort=True, err=True)
        erasure = engine.erase(scope=scope, id=id, source=source, everything=everything)
        while not yes and erasure.retryable and click.confirm(ask_to_prove_again(erasure), default=True, err=True):
            erasure = engine.admin.prove_erased(erasure)
    _print_erasure(erasure, as_json=as_json)
    if not erasure.proven:
        output.print_note(UNSWEPT_REMEDY if store.is_database else UNPROVED_REMEDY)
        ctx.exit(1)


def _confirmation_question(engine: Engine, scope: Scope, id: str | None, source: str | None) -> str:
    """Return the confirmation question for an erasure; raise NotFound if the id does not exist."""
    if id is not None:
        what = formatting.quote_memory(engine.get(id, scope=scope))
        return f"Erase for good {what}, and all that was derived from it?"
    if source is not None:
        return (
            f"Erase for good all that came to {scope} from {make_printable(source)}, and all that was derived from it?"
        )
    memories = format_count(engine.stats(scope=scope, below=False).memories, "memory", "memories")
    return f"Erase for good everything in {scope}, {memories} and the contexts made for it?"


def _print_erasure(erasure: ErasureReceipt, *, as_json: bool) -> None:
    if as_json:
        output.print_json(schemas.admin.Erasure.of(erasure, dry_run=False).to_json("dry_run"))
    else:
        output.print_lines(format_erasure(erasure, output.paint))


MAX_NAMED_IDS = 10
"""Maximum number of ids listed in a message."""


def format_erasure(erasure: ErasureReceipt, paint: Paint = paint_plain) -> Iterator[str]:
    """Yield what was erased, where it was searched for, what was found and what is out of reach."""
    for name, value in _erasure_findings(erasure):
        yield f"{paint(TextStyle.FAINT, f'{name:<12}')} {make_printable(value)}"


def ask_to_prove_again(erasure: ErasureReceipt) -> str:
    """Return the question whether to search again for erased data."""
    return f"Erased, but not proved: {erasure.search.unfinished}. Search again now?"


def _erasure_findings(erasure: ErasureReceipt) -> Iterator[tuple[str, str]]:
    search = erasure.search
    memories = format_count(erasure.memories, "memory", "memories")
    versions = format_count(erasure.versions, "version")
    contexts = format_count(erasure.contexts, "context")
    yield "erased", f"{memories} of {erasure.scope} with {versions}, and all of it in {contexts}"
    if erasure.ids:
        yield "ids", _name_some(erasure.ids)
    more = {"use": erasure.uses, "vote": erasure.votes, "key": erasure.keys, "checkpoint": erasure.checkpoints}
    with_it = [format_count(erasure.vectors, "vector"), *(format_count(count, name) for name, count in more.items())]
    yield "with it", f"its words in the text index, {', '.join(with_it)}"
    if erasure.restored:
        yield "restored", f"{_name_some(erasure.restored)}: the merged memory was erased"
    if erasure.made_of:
        them = "it" if len(erasure.made_of) == 1 else "them"
        yield "made of", f"{_name_some(erasure.made_of)}, which may still say the same; erase {them} too"
    if search.rewritten:
        yield "rewritten", _name_some(search.rewritten)
    yield "searched", _name_some(search.files) or f"no files: {search.unsearched or 'the store has none'}"
    if erasure.proven:
        yield "proved", "nothing of it was found there"
    for place in search.remains:
        yield "left", place
    if search.unfinished is not None:
        yield "not proved", search.unfinished
    same = [f"{format_count(count, 'row')} of {table}" for table, count in search.elsewhere.items()]
    if same:
        yield "same bytes", f"in {', '.join(same)}, which belong to memories that were not erased"
    yield from zip(["out of reach", *[""] * len(erasure.out_of_reach)], erasure.out_of_reach, strict=False)


def _name_some(names: Sequence[str]) -> str:
    """Join the first names, and the number of those left out."""
    more = [f"and {len(names) - MAX_NAMED_IDS} more"] if len(names) > MAX_NAMED_IDS else []
    return ", ".join([*names[:MAX_NAMED_IDS], *more])


@click.command(short_help="Rid the files of PostgreSQL of what was erased.")
@options.as_json
@pass_target
def sweep(store: StoreTarget, as_json: bool) -> None:
    """Write the files of PostgreSQL anew that still have what was erased, with the rows that stay alone.

    For a database of PostgreSQL, as the owner of its tables. Nobody else can use a table while it is written: about a
    second for 100 MB, and longer with an index of the nearest. It may be stopped at any moment: the same command goes
    on from there. Nothing is done if nothing was erased since.

    \b
    recollect admin sweep
    """
    report = factory.sweep(store.target)
    if as_json:
        output.print_json(sweep_fields(report))
    else:
        output.print_lines([describe_sweep(report)])


def sweep_fields(report: SweepReport) -> dict[str, Any]:
    """Return a sweep report as JSON fields."""
    return {
        "tables": list(report.tables),
        "before": report.before,
        "after": report.after,
        "erasures": report.erasures,
    }


def describe_sweep(report: SweepReport) -> str:
    """Describe the result of a sweep in one sentence."""
    if not report.erasures:
        return "no file has erased data"
    size = f"{report.before / 1e6:,.1f} MB before, {report.after / 1e6:,.1f} MB now"
    proof = f"their files no longer have data of {format_count(report.erasures, 'erasure')}"
    return f"rewrote {format_count(len(report.tables), 'table')}, {size}: {proof}"
