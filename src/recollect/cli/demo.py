"""The command `recollect demo`: a one-minute story told in commands that really run."""

import io
import shlex
import sys
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from recollect import factory
from recollect.cli import output
from recollect.cli.memories import remember
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.recall import recall, search, why
from recollect.cli.tables import TextStyle
from recollect.config import Settings
from recollect.errors import InvalidInput
from recollect.model.validation import IN_MEMORY_TARGET

TODAY = datetime(2026, 1, 15, 9, tzinfo=UTC)
EMBEDDER = "wordllama"
"""The embedder of a plain install, so that the story gives the same results everywhere."""

COMMANDS = {"remember": remember, "recall": recall, "search": search, "why": why}
"""The commands that the story uses."""


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One step of the story: its title and commands; the output of a quiet step is not shown."""

    title: str
    commands: tuple[str, ...]
    quiet: bool = False


OPENING = (
    "An assistant books Ana's trips. What you see typed is run.",
    f"In this story today is {TODAY.date()}.",
)

QUESTION = '"Which seat should I book for Ana, and from where?"'

STORY = (
    DemoStep(
        "Remember. Every memory has a scope: Ana's, Ben's, or the team's, for both.",
        (
            """recollect remember "Flights under four hours are booked in economy." \\
    --scope acme --shared --kind constraint --at 2025-03-10 --id economy""",
            """recollect remember "Ana likes a window seat near the front." \\
    --scope acme/ana --kind preference --at 2025-06-02 --id window""",
            """recollect remember "Ana is allergic to peanuts." \\
    --scope acme/ana --kind profile --pinned --at 2025-06-02 --id peanuts""",
            """recollect remember "Ana lives in Porto." \\
    --scope acme/ana --at 2025-06-02 --id porto""",
            """recollect remember "The October flight to Berlin was three hours late. Ana
missed the dinner with the client, took a taxi for ninety euros, and asked for
morning flights from then on." \\
    --scope acme/ana --kind event --at 2025-10-08 --id late""",
            """recollect remember "Ben wants an aisle seat." \\
    --scope acme/ben --kind preference --at 2025-07-01 --id aisle""",
        ),
        quiet=True,
    ),
    DemoStep(
        "Say more. Each draft is judged: no news, a change, a secret to be taken out.",
        (
            """recollect remember "Ana really likes a window seat near the front!" \\
    --scope acme/ana""",
            """recollect remember "Ana lives in Lisbon." \\
    --scope acme/ana --at 2025-12-20 --id lisbon""",
            """recollect remember "The lounge password is Gate7-Lounge!42." \\
    --scope acme/ana --id lounge""",
        ),
    ),
    DemoStep(
        "Recall. The best that fits in 300 tokens; what is pinned has room kept.",
        (f"recollect recall {QUESTION} \\\n    --scope acme/ana --tokens 300",),
    ),
    DemoStep(
        "Ask why. A score is the sum you see; this one was too long for the budget.",
        (f"recollect why late {QUESTION} \\\n    --scope acme/ana --tokens 300",),
    ),
    DemoStep(
        "Change the scope. Ben's assistant sees what is his or the team's, not Ana's.",
        (f"recollect search {QUESTION} \\\n    --scope acme/ben",),
    ),
    DemoStep(
        "Turn back time. A month ago she still lived in Porto.",
        (
            """recollect search "Where does Ana live?" \\
    --scope acme/ana --as-of 2025-12-15 --limit 1""",
        ),
    ),
)


CLOSING = (
    'Now you:  {recollect} remember "I drink tea" --scope me',
    '          {recollect} recall "coffee or tea?" --scope me',
    "More:     {recollect} --help",
)


@click.command(short_help="Tell a story in one minute; it needs nothing.")
@click.pass_context
@pass_target
def demo(store: StoreTarget, ctx: click.Context) -> None:
    """Tell a story in one minute: remember, recall, explain. It needs nothing and leaves nothing.

    With --db before the command the story is kept in that file or database, which must be a new one.
    """
    target = store.target if store.is_explicit else IN_MEMORY_TARGET
    if target != IN_MEMORY_TARGET and store.exists:
        raise InvalidInput(f"{store.display_name!r} already exists; name a new file or database for the demo, or none")
    output.merge_streams(ctx)
    output.print_lines(OPENING)
    with factory.open(target, embedder=EMBEDDER, clock=lambda: TODAY, settings=Settings()) as engine:
        ctx.obj = StoreTarget(target, open_engine=lambda _: nullcontext(engine))
        for number, step in enumerate(STORY, start=1):
            output.print_lines(["", output.paint(TextStyle.STRONG, f"{number}. {step.title}")])
            for typed in step.commands:
                output.print_lines([f"{output.paint(TextStyle.FAINT, '$')} {output.paint(TextStyle.TYPED, typed)}"])
                with redirect_stdout(io.StringIO()) if step.quiet else nullcontext():
                    _run_command(typed, ctx)
    closing_note = (
        []
        if target == IN_MEMORY_TARGET
        else [f"The story is kept in {store.display_name}; name it with --db to go on with it."]
    )
    program = sys.argv[0] if Path(sys.argv[0]).name == "recollect" else "recollect"  # the path the user typed
    output.print_lines(["", *closing_note, *(line.format(recollect=program) for line in CLOSING)])


def _run_command(typed: str, ctx: click.Context) -> None:
    """Run one command line of the story."""
    name, *arguments = shlex.split(typed.replace("\\\n", ""))[1:]
    command = COMMANDS[name]
    with command.make_context(name, arguments, parent=ctx) as called:
        command.invoke(called)
