"""The options that commands share, and the store that a command works on.

Parsers turn what a user types into values and raise FieldError if that fails. `StoreTarget` at the end opens the store.
"""

import json
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import click
from click.shell_completion import CompletionItem

from recollect import config, factory
from recollect.engine.engine import Engine
from recollect.errors import EmbedderMismatch, FieldError, InvalidInput, NotFound, show
from recollect.importers import FORMATS
from recollect.model import validation
from recollect.model.encoder import Encoder
from recollect.model.enums import PLAIN_LEVEL_NAME, Kind, Level, Provenance, parse_choice
from recollect.model.scope import Scope, as_scope
from recollect.model.validation import IN_MEMORY_TARGET
from recollect.ranking.candidates_json import parse_datetime
from recollect.ranking.profiles import BUILTIN_PROFILES
from recollect.stores.postgres import inspect

F = TypeVar("F", bound=Callable[..., Any] | click.Command)

STDIN = "-"
"""What a user types for a text that comes from standard input."""

MAX_K = 1_000
"""Largest number of results for which measures are computed."""


def complete_from(names: Collection[str]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return a shell completion that offers the names which start with what was typed."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


class TextCommand(click.Command):
    """A command whose last argument is a text; unquoted extra words are refused with a hint."""

    allow_extra_args = True  # extra arguments are refused here, with the remedy

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            ctx.fail(f"Got unexpected extra arguments ({' '.join(rest)}); {self.extra_words_remedy(ctx)}.")
        return rest

    def extra_words_remedy(self, ctx: click.Context) -> str:
        """Return the hint for extra words."""
        name = next(one for one in reversed(self.params) if isinstance(one, click.Argument)).make_metavar(ctx)
        return f"put {name} in quotes if it has spaces"


class NumberCommand(click.Command):
    """A command with a number argument that accepts negative numbers, which look like options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        original = list(args)  # parsing empties the list
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            number = next((one for one in original if one.startswith(error.option_name) and _is_number(one)), None)
            if number is None:
                raise
        original.remove(number)
        return super().parse_args(ctx, [*original, "--", number])


class OrderedGroup(click.Group):
    """A group that lists its commands in the order added and names the option of a wrong value."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FieldError as error:
            raise with_option_name(self.commands.get(ctx.invoked_subcommand or ""), error) from error


def with_option_name(command: click.Command | None, error: FieldError) -> FieldError:
    """Return the error with its field spelled as the option that gave the value.

    Errors about lines of input have no option and are returned unchanged.
    """
    if command is None or error.line is not None:
        return error
    options = (one for one in command.params if isinstance(one, click.Option) and one.name == error.field)
    typed = next((max(one.opts, key=len) for one in options), error.field)
    return FieldError(error.problem, field=typed)


def moment(name: str, help: str) -> Callable[[F], F]:
    """Return an option for a day, or for a moment with an offset."""
    return click.option(name, metavar="ISO", callback=_parse_moment, help=help)


def choice(choices: type[StrEnum], *names: str, help: str, **more: Any) -> Callable[[F], F]:
    """Return an option for one of a closed list; unknown values get the nearest one suggested."""
    return click.option(
        *names,
        shell_complete=partial(_complete_choice, choices),
        help=help,
        **{"callback": partial(_parse_choice, choices), "metavar": choices.__name__.upper(), **more},
    )


def query_options(profile_default: str) -> Callable[[F], F]:
    """Return a decorator that adds the options shared by all queries, named as in the engine."""
    options = (
        scope,
        profile(profile_default),
        moment("--as-of", "The moment to answer for, as 2026-10-01 (0:00 UTC) or 2026-10-01T09:30Z; else the present."),
        moment("--known-at", "Answer from what the store knew then, as 2026-10-01 or 2026-10-01T09:30Z."),
        click.option("--past", is_flag=True, help="Also what held before, and was superseded or has ended."),
        kinds,
        levels,
    )

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def provenance(help: str) -> Callable[[F], F]:
    """Return --provenance, which defaults to the user at a terminal and else to a model."""
    typed, called = Provenance.DIRECT_USER.value, Provenance.MODEL_INFERENCE.value
    return click.option(
        "--provenance",
        metavar="CLASS",
        callback=_parse_provenance,
        shell_complete=partial(_complete_choice, Provenance),
        help=f"{help}  [default: {typed} at a terminal, else {called}]",
    )


def fraction(name: str, help: str) -> Callable[[F], F]:
    """Return an option for a number within 0..1."""
    return click.option(name, type=float, metavar="0..1", help=help)


def profile(default: str) -> Callable[[F], F]:
    """Return the --profile option with this default."""
    return click.option(
        "--profile",
        default=default,
        show_default=True,
        shell_complete=complete_profiles,
        help="A profile's name, or a .toml file.",
    )


def complete_profiles(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the profile names for shell completion."""
    return [
        CompletionItem(one.name, help=one.about) for one in BUILTIN_PROFILES.values() if one.name.startswith(incomplete)
    ]


def metadata(help: str) -> Callable[[F], F]:
    """Return the --metadata option, a JSON object."""
    return click.option("--metadata", metavar="JSON", callback=_parse_json_object, help=help)


def read_text(text: str) -> str:
    """Return the text, or read standard input if the text is a dash.

    The last line break of the input is removed.
    """
    if text != STDIN:
        return text
    if sys.stdin.isatty():
        click.echo("reading the text; Ctrl-D ends it", err=True)
    max_bytes = validation.MAX_TEXT_BYTES + len("\r\n")
    try:
        data = sys.stdin.buffer.read(max_bytes + 1)
    except OSError as error:
        raise InvalidInput(f"standard input cannot be read: {error.strerror}") from error
    if len(data) > max_bytes:
        raise InvalidInput(f"standard input has more than {validation.MAX_TEXT_BYTES} bytes; split it")
    try:
        return data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8: {error.reason}") from error


def missing_scope(ctx: click.Context | None = None, param: click.Parameter | None = None) -> click.MissingParameter:
    """Return the error for a missing --scope, with an example."""
    message = "Name the scope, for example: --scope acme/ana"
    ctx = ctx or click.get_current_context()
    return click.MissingParameter(message, ctx, param, None if param else "'--scope'", "option")


def parse_optional_scope(_: click.Context, __: click.Parameter, value: str | None) -> Scope | None:
    """Parse the scope if one was given."""
    return None if value is None else as_scope(value)


def _parse_scope(ctx: click.Context, param: click.Parameter, value: str | None) -> Scope | None:
    if value is None and not ctx.resilient_parsing:
        raise missing_scope(ctx, param)
    return parse_optional_scope(ctx, param, value)


def _parse_moment(_: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    if value is None:
        return None
    if not _is_moment(value):
        remedy = "write a day, such as 2026-01-31, or a moment, such as 2026-01-31T09:00Z"
        raise FieldError(f"{show(value)} is not a date; {remedy}", field=param.opts[0])
    return parse_datetime(param.opts[0], validation.expand_day(value))


def _parse_outcome(_: click.Context, __: click.Parameter, value: Any) -> float | None:
    if value is None:  # None while a shell completes
        return None
    return validation.require_outcome("outcome", float(value) if _is_number(value) else value)


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _is_moment(value: str) -> bool:
    """Return whether the value is in ISO 8601 format."""
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _parse_choice(choices: type[StrEnum], _: click.Context, param: click.Parameter, value: Any) -> Any:
    """Parse one choice or a tuple of them; None if none was given."""
    if isinstance(value, tuple):
        return tuple(parse_choice(param.opts[0], one, choices) for one in value) or None
    return None if value is None else parse_choice(param.opts[0], value, choices)


def _parse_provenance(_: click.Context, param: click.Parameter, value: str | None) -> Provenance | None:
    """Parse the provenance; by default the user at a terminal, else None.

    The engine treats None like a model.
    """
    if value is not None:
        return parse_choice(param.opts[0], value, Provenance)
    return Provenance.DIRECT_USER if sys.stdin.isatty() else None


def _complete_choice(choices: type[StrEnum], _: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [one.value for one in choices if one.value.startswith(incomplete)]


def _parse_json_object(_: click.Context, param: click.Parameter, value: str | None) -> Mapping[str, Any] | None:
    if value is None:
        return None
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise FieldError(f"{show(value)} is not JSON: {error}", field=param.opts[0]) from error
    if not isinstance(parsed, dict):
        raise FieldError(f'{show(parsed)} is not a JSON object, such as {{"color": "blue"}}', field=param.opts[0])
    return parsed


scope = click.option("--scope", metavar="SCOPE", callback=_parse_scope, help="Whose memory, as acme/ana.  [required]")
scope_filter = click.option(
    "--scope",
    metavar="SCOPE",
    callback=parse_optional_scope,
    help="Only this scope and those below it; the whole store if not given.",
)
outcome = click.argument("outcome", callback=_parse_outcome)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON with full precision.")
tokens = click.option(
    "--tokens",
    type=click.IntRange(min=1),
    metavar="N",
    default=1200,
    show_default=True,
    help="The budget of the whole context.",
)
levels = click.option(
    "--level",
    "levels",
    metavar="LEVEL",
    multiple=True,
    callback=lambda _, __, value: value or None,
    shell_complete=lambda _, __, incomplete: [one for one in (PLAIN_LEVEL_NAME, *Level) if one.startswith(incomplete)],
    help="Only records of this level, or plain memories; may be repeated.  [default: plain and event; brief: plain]",
)
kinds = choice(Kind, "--kind", "kinds", help="Only this kind; may be repeated.", multiple=True)

DEFAULT_TARGET = "recollect.db"
OpenEngine = Callable[[str], AbstractContextManager[Engine]]

SECRET_PARAMETERS = frozenset(
    {"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"}
)
"""Parameters of a database address that are secret and never shown."""


@dataclass(frozen=True, slots=True)
class StoreTarget:
    """A store that is opened when a command needs it; `is_explicit` if --db named it.

    `create_hint` is the command suggested to a user without a store.
    """

    target: str
    is_explicit: bool = False
    open_engine: OpenEngine = factory.open
    create_hint: str = "`recollect remember` or `recollect observe`"

    def open_existing(self) -> AbstractContextManager[Engine]:
        """Open the engine of an existing store; raise NotFound instead of creating one."""
        self.refuse_missing()
        return self.open_or_create()

    def refuse_missing(self) -> None:
        """Raise NotFound if the store does not exist."""
        if not self.exists:
            raise NotFound(
                f"store {self.display_name!r} does not exist; {self.create_hint} creates one, "
                "or name another with --db before the command"
            )

    def open_or_create(self, encoder: Encoder | None = None) -> AbstractContextManager[Engine]:
        """Open the engine of the store, and create the store if it is missing.

        A new store gets `encoder` as its model if that is available and the settings name no other embedder.
        """
        if not self.target:
            raise InvalidInput("--db is empty; name a file, such as --db agent.db")
        configuration = config.load_configuration()
        has_embedder = configuration.settings.embedder is not None
        if encoder is not None and not has_embedder and factory.can_embed(encoder):
            return factory.open(self.target, embedder=encoder.name)
        try:
            return self.open_engine(self.target)
        except EmbedderMismatch as error:
            if not has_embedder:
                raise
            origin = configuration.origins["embedder"]
            remedy = "unset it" if isinstance(origin, config.EnvironmentOrigin) else "remove it"
            raise EmbedderMismatch(f"{error}; {origin} sets an embedder: {remedy}") from error

    @property
    def is_database(self) -> bool:
        """Return whether the target is a PostgreSQL address and not a file."""
        return factory.is_database(self.target)

    @property
    def display_name(self) -> str:
        """Return the target for messages and commands: an address without its secrets."""
        return strip_secrets(self.target) if self.is_database else self.target

    @property
    def full_name(self) -> str:
        """Return the target with an absolute path, for readers in another working directory."""
        if self.is_database or self.target == IN_MEMORY_TARGET:
            return self.display_name
        return str(Path(self.target).absolute())

    @property
    def exists(self) -> bool:
        """Return whether the store exists; also True if that cannot be checked.

        Opening the store then reports what is wrong.
        """
        if self.is_database:
            return self._exists_in_database()
        if self.target == IN_MEMORY_TARGET or "://" in self.target:
            return True
        try:
            return Path(self.target).exists()
        except OSError:
            return True

    def _exists_in_database(self) -> bool:
        try:
            return inspect.has_store(self.target)
        except ImportError:
            return True


def expand_home(path: str) -> str:
    """Return the path with a leading `~/` expanded, as a shell would do."""
    try:
        return str(Path(path).expanduser()) if path.startswith("~/") else path
    except RuntimeError:  # the home directory cannot be found
        return path


def strip_secrets(address: str) -> str:
    """Return a database address without passwords; the user supplies those some other way."""
    scheme, slashes, rest = address.partition("://")
    user, at, host = rest.partition("@")
    if at and "/" not in user:  # as PostgreSQL reads it: an @ after a slash is an ordinary character
        rest = f"{user.partition(':')[0]}@{host}"
    host, mark, options = rest.partition("?")
    parameters = [one for one in options.split("&") if unquote(one.partition("=")[0]) not in SECRET_PARAMETERS]
    return f"{scheme}{slashes}{host}{mark if parameters else ''}{'&'.join(parameters)}"


pass_target = click.make_pass_decorator(StoreTarget)
"""Passes the store target to a command as its first argument."""


def complete_formats(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the import format names for shell completion."""
    return [CompletionItem(one.name, help=one.about) for one in FORMATS.values() if one.name.startswith(incomplete)]
