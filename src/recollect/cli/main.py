"""The command `recollect`: its command groups, global options and exit codes."""

import errno
import io
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from recollect import config
from recollect.cli import options, output
from recollect.cli.admin import admin, stats
from recollect.cli.agent_commands import hook, mcp
from recollect.cli.curate import curate
from recollect.cli.demo import demo
from recollect.cli.doctor import config_command, doctor
from recollect.cli.entrypoint import HELP_FLAGS
from recollect.cli.episodes import episodes
from recollect.cli.evaluate import evaluate
from recollect.cli.events import browse, expand, graph, observe, topics
from recollect.cli.extract import extract
from recollect.cli.memories import erase, forget, history, list_memories, pin, remember, restore, revise, show, unpin
from recollect.cli.options import DEFAULT_TARGET, StoreTarget, expand_home
from recollect.cli.profiles import profiles, rank
from recollect.cli.recall import brief, feedback, recall, replay, search, why
from recollect.cli.scheduler import scheduler
from recollect.cli.serve import keys, serve
from recollect.cli.transfer import backup, export, import_, verify
from recollect.errors import FieldError, InvalidInput, NotFound, RecollectError, SignalMissing
from recollect.model.format import make_printable
from recollect.version import __version__

EXIT_CODES: Mapping[type[RecollectError], int] = {
    NotFound: 3,
    InvalidInput: 2,
    SignalMissing: 2,
    RecollectError: 1,
}
"""The exit code of each error class; the first class that matches applies."""

EXIT_BUSY = 4
"""The exit code of an error that may go away on a retry."""

SECTIONS: Mapping[str, tuple[click.Command, ...]] = {
    "Start here": (demo,),
    "Remember and recall": (remember, observe, extract, recall, brief, search, why, replay, feedback, episodes),
    "Look and change": (
        *(show, list_memories, history, browse, expand, graph, topics),
        *(revise, forget, restore, pin, unpin, curate, erase),
    ),
    "Look after a store": (stats, export, import_, backup, verify, doctor, config_command, admin, scheduler),
    "Serve agents": (mcp, hook, serve, keys),
    "Rank without a store": (rank, profiles),
    "Measure": (evaluate,),
}
"""Every command, under its heading in `--help`."""

SUGGESTED_COMMANDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("get", "cat", "view", "inspect"), ("show",)),
    **dict.fromkeys(("rm", "remove", "delete", "del"), ("forget", "erase")),
    **dict.fromkeys(("add", "save", "store", "put", "new", "create"), ("remember",)),
    **dict.fromkeys(("ls", "memories"), ("list",)),
    **dict.fromkeys(("query", "find", "grep"), ("search", "recall")),
    "ask": ("recall",),
    **dict.fromkeys(("edit", "update", "set"), ("revise",)),
    "undelete": ("restore",),
    "log": ("history", "browse"),
    **dict.fromkeys(("timeline", "walk", "days"), ("browse",)),
    **dict.fromkeys(("event", "events", "ingest"), ("observe",)),
    **{name: (f"admin {name}",) for name in admin.commands if name not in ("extract", "index")},
    **dict.fromkeys(("entities", "names", "neighbours", "neighbors"), ("graph",)),
    **dict.fromkeys(("episode", "task", "tasks", "begin"), ("episodes",)),
    **dict.fromkeys(("topic", "themes", "clusters"), ("topics",)),
    **dict.fromkeys(("schedule", "cron", "jobs", "run"), ("scheduler",)),
    **dict.fromkeys(("server", "http", "rest", "api", "daemon"), ("serve",)),
    **dict.fromkeys(("key", "token", "auth"), ("keys",)),
    "explain": ("why",),
    **dict.fromkeys(("status", "info", "count"), ("stats",)),
    **dict.fromkeys(("settings", "configure"), ("config",)),
    **dict.fromkeys(("evaluate", "measure", "benchmark"), ("eval",)),
    **dict.fromkeys(("help", "commands"), ("--help",)),
    "version": ("--version",),
}
"""Command names known from other programs, and the commands to suggest instead."""

GLOBAL_OPTION_METAVARS: Mapping[str, str] = {"--db": "FILE", "--config": "FILE", "--setting": "NAME=VALUE"}
"""The options that come before any command, with their value placeholders."""

COMPLETION_HELP = """\b
To have bash complete commands, options and names (zsh and fish likewise):
eval "$(_RECOLLECT_COMPLETE=bash_source recollect)"
"""
"""The last lines of `--help`."""


def exit_code(error: RecollectError) -> int:
    """Return the exit code of an error."""
    return EXIT_BUSY if error.retryable else next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))


class MainGroup(click.Group):
    """A command group that lists commands under headings and turns errors into exit codes."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        suggested = SUGGESTED_COMMANDS.get(args[0])
        if suggested is not None and not ctx.resilient_parsing:
            commands = " or ".join(f"`recollect {name}`" for name in suggested)
            raise click.UsageError(f"No such command {args[0]!r}; did you mean {commands}?", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            if error.option_name in GLOBAL_OPTION_METAVARS:
                typed = f"{error.option_name} {GLOBAL_OPTION_METAVARS[error.option_name]}"
                raise click.UsageError(
                    f"{error.option_name} belongs before the command: recollect {typed} COMMAND …", error.ctx
                ) from error
            raise
        except RecollectError as error:
            command = self.commands.get(ctx.invoked_subcommand or "")
            shown_error = options.with_option_name(command, error) if isinstance(error, FieldError) else error
            click.echo(f"Error: {make_printable(_hide_password(str(shown_error)))}", err=True)
            ctx.exit(exit_code(error))
        except click.ClickException as error:
            message = _hide_password(error.format_message())
            if message == error.format_message():
                raise
            raise click.UsageError(message, getattr(error, "ctx", None)) from None
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader closed the pipe; click exits quietly
                raise
            click.echo(f"Error: the output cannot be written: {error.strerror}", err=True)
            ctx.exit(1)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(len(name) for name in self.commands)
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                room = formatter.width - widest - 6
                rows = [(f"{command.name:<{widest}}", command.get_short_help_str(room)) for command in commands]
                formatter.write_dl(rows)


_PASSWORD_PATTERN = re.compile(r"(postgres\w*:?/{1,2}[^\s'\"@:/]*):[^\s'\"]*@")


def _hide_password(message: str) -> str:
    """Return a message with the password of each database address in it replaced."""
    return _PASSWORD_PATTERN.sub(r"\1:…@", message)


def _parse_config_path(_: click.Context, __: click.Parameter, value: str | None) -> Path | None:
    if value == "":
        raise click.UsageError("--config is empty; name a file, or use none with an empty RECOLLECT_CONFIG")
    return None if value is None else Path(expand_home(value))


def _complete_settings(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    names = (path for path, option in config.OPTIONS.items() if not option.secret and not option.is_table)
    return [f"{name}=" for name in names if name.startswith(incomplete)]


@click.group(cls=MainGroup, context_settings={"help_option_names": list(HELP_FLAGS)}, epilog=COMPLETION_HELP)
@click.option(
    "--db",
    "target",
    metavar="TARGET",
    default=DEFAULT_TARGET,
    show_default=True,
    envvar="RECOLLECT_DB",
    show_envvar=True,
    help="The store: a file, postgresql://… for a database, or :memory: for a throw-away.",
)
@click.option(
    "--config",
    "file",
    metavar="FILE",
    callback=_parse_config_path,
    help="The settings, as TOML.  [env var: RECOLLECT_CONFIG; default: config.toml in ~/.config/recollect]",
)
@click.option(
    "--setting",
    "flags",
    metavar="NAME=VALUE",
    multiple=True,
    shell_complete=_complete_settings,
    help="Set one setting for this run, as novelty.threshold=0.9; may be repeated.",
)
@click.version_option(__version__, prog_name="recollect")
@click.pass_context
def cli(ctx: click.Context, target: str, file: Path | None, flags: tuple[str, ...]) -> None:
    """A memory engine for AI agents: it keeps what an agent learned, and finds, ranks, explains and packs it.

    \b
    recollect remember "Ana prefers window seats" --scope acme/ana
    recollect recall "which seat should I book?" --scope acme/ana
    """
    ctx.color = output.detect_color()
    ctx.with_resource(config.use_sources(config.Sources(explicit_file=file, reads_user_file=True, flags=flags)))
    if file is not None or flags:  # refuse wrong settings at once, even if the command does not need them
        config.load_configuration()
    ctx.obj = StoreTarget(
        expand_home(target), is_explicit=ctx.get_parameter_source("target") is click.core.ParameterSource.COMMANDLINE
    )


for command in [command for section in SECTIONS.values() for command in section]:
    cli.add_command(command)


def main() -> None:
    """Run the command line; characters that the terminal cannot show are escaped."""
    if sys.stdout is None:
        sys.exit("Error: standard output is closed")
    if sys.stdin is None:  # standard input was closed by the parent process
        sys.stdin = io.TextIOWrapper(io.BytesIO())
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    cli()
