"""The commands `recollect serve` and `recollect keys`.

`serve` runs one process that offers a store over HTTP, MCP and gRPC. `keys` manages API keys.
"""

from datetime import UTC, datetime

import click

from recollect import config
from recollect.api.auth import WHOLE_STORE, Grant, Reach, Right
from recollect.api.keys import ApiKey, KeyFile, describe_key, issue_key
from recollect.cli import options, output
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.tables import TextTable
from recollect.errors import FieldError, InvalidInput, show
from recollect.model.enums import Provenance, parse_choice
from recollect.model.format import format_moment
from recollect.model.scope import as_scope
from recollect.ranking.candidates_json import parse_datetime
from recollect.ranking.profile_toml import DURATION_PATTERN, DURATION_UNITS
from recollect.server.authenticator import keys_path

PORT_RANGE = click.IntRange(0, 65_535)


@click.command(short_help="Answer over HTTP, MCP and gRPC.")
@click.option("--host", metavar="ADDRESS", help="Where to listen.  [default: server.host, 127.0.0.1]")
@click.option("--port", type=PORT_RANGE, metavar="N", help="The port of HTTP; 0 for any.  [default: server.port, 8765]")
@click.option(
    "--grpc-port", type=PORT_RANGE, metavar="N", help="The port of gRPC; 0 for any.  [default: server.grpc_port, 8766]"
)
@click.option("--no-grpc", is_flag=True, help="Do not speak gRPC.")
@click.option("--no-mcp", is_flag=True, help="Do not speak MCP.")
@click.option("--no-scheduler", is_flag=True, help="Do not run jobs when they fall due.")
@click.pass_context
@pass_target
def serve(
    store: StoreTarget,
    ctx: click.Context,
    host: str | None,
    port: int | None,
    grpc_port: int | None,
    no_grpc: bool,
    no_mcp: bool,
    no_scheduler: bool,
) -> None:
    """Answer over HTTP, MCP and gRPC for one store, which is made if it is not there, until Ctrl-C or SIGTERM.

    Whoever asks shows a key (`recollect keys add`). As long as there is none, only this machine is listened to, and the
    token in a file of its owner lets in.

    \b
    recollect serve
    recollect --db postgresql://recollect@db/memories serve --host 10.0.0.5
    """
    try:
        from recollect.server import serve as server
    except ImportError as error:
        remedy = "install recollect with its extra server (in its folder: pip install '.[server]')"
        raise InvalidInput(f"the package {error.name}, which a server needs, is not installed; {remedy}") from error

    server_options = server.build_options(
        store.target,
        shown=store.full_name,
        host=host,
        port=port,
        grpc_port=grpc_port,
        mcp=not no_mcp,
        grpc=not no_grpc,
        scheduler=not no_scheduler,
    )
    ctx.exit(server.serve(server_options, store.open_or_create, lambda line: output.print_lines([line])))


def _parse_rights(_: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[Right, ...]:
    return tuple(parse_choice(param.opts[0], one.strip(), Right) for several in value for one in several.split(","))


def _parse_reaches(_: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[Reach, ...]:
    if WHOLE_STORE in value:
        raise FieldError("'*' is not a scope; use --whole-store", field=param.opts[0])
    return tuple(as_scope(one) for one in value)


def _parse_expiry(_: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    if value is None:
        return None
    duration = DURATION_PATTERN.fullmatch(value)
    try:
        if duration is not None:
            return datetime.now(UTC) + float(duration[1]) * DURATION_UNITS[duration[2]]
        return parse_datetime(param.opts[0], value)
    except (OverflowError, FieldError) as error:
        remedy = "write a duration, such as 90d or 12h, or a moment, such as 2027-01-31T00:00Z"
        raise FieldError(f"{show(value)} is not an expiry time; {remedy}", field=param.opts[0]) from error


@click.group(cls=options.OrderedGroup, short_help="Say who may ask a server.")
def keys() -> None:
    """Say who may ask `recollect serve`, for what, and until when.

    Keys are in a file that a server reads again when it has changed; of a key itself only a digest is kept.
    """


@keys.command(short_help="Make a key, which is printed once.")
@click.argument("name")
@options.choice(
    Right,
    "--right",
    "rights",
    multiple=True,
    required=True,
    callback=_parse_rights,
    help="What it allows: read, write, admin or erase; several between commas, or repeated.",
)
@click.option(
    "--scope",
    "reaches",
    metavar="SCOPE",
    multiple=True,
    callback=_parse_reaches,
    help="Where it does: this scope and all below it; may be repeated.",
)
@click.option("--whole-store", is_flag=True, help="It does everywhere.")
@click.option(
    "--expires",
    metavar="90d|ISO",
    callback=_parse_expiry,
    help="For how long it holds, or until when.  [default: for ever]",
)
@options.choice(
    Provenance,
    "--provenance",
    metavar="CLASS",
    default=Provenance.DIRECT_USER.value,
    show_default=True,
    help="The most that what is said through it is believed.",
)
@options.as_json
def add(
    name: str,
    rights: tuple[Right, ...],
    reaches: tuple[Reach, ...],
    whole_store: bool,
    expires: datetime | None,
    provenance: Provenance,
    as_json: bool,
) -> None:
    """Make a key by the name of whoever is to have it, and print it; it is shown this once.

    \b
    recollect keys add agent-7 --right read,write --scope acme/agent-7 --expires 90d
    recollect keys add operator --right read,admin,erase --whole-store
    """
    if reaches and whole_store:
        raise click.UsageError("Use --scope or --whole-store, not both.")
    if not reaches and not whole_store:
        raise click.UsageError("Name the scope of the key with --scope acme/ana, or use --whole-store.")
    grants = [Grant(frozenset(rights), reach) for reach in (reaches or (WHOLE_STORE,))]
    file = _open_key_file()
    existing = file.keys().values()
    key, secret = issue_key(name, grants, at=datetime.now(UTC), expires_at=expires, provenance=provenance)
    file.add(key)
    if as_json:
        output.print_json({**describe_key(key), "key": secret})
    else:
        output.print_lines([secret])
    output.print_note(f"key {key.id} of {key.name} was added to {file.path}; the key itself is shown only once")
    if not existing:
        output.print_note("while there are keys, a server does not accept the token of its owner")
    if any(one.name == key.name for one in existing):
        output.print_note(f"{key.name} already had a key; the votes of both count as one voter's")


@keys.command("list", short_help="List the keys.")
@options.as_json
def list_keys(as_json: bool) -> None:
    """Print every key: its id, whose it is, what it allows where, and until when; never the key itself."""
    file = _open_key_file()
    api_keys = list(file.keys().values())
    if not api_keys:
        output.print_note(f"there are no keys in {file.path}; `recollect keys add` creates one")
    if as_json:
        output.print_json({"keys": [describe_key(one) for one in api_keys]})
    else:
        output.print_table(_key_table(api_keys))


@keys.command(short_help="Let a key open nothing any more.")
@click.argument("id_or_name", metavar="ID|NAME")
@options.as_json
def revoke(id_or_name: str, as_json: bool) -> None:
    """Take a key out, by its id or by its name; a server that runs refuses it from the next request on."""
    revoked = _open_key_file().revoke(id_or_name)
    if as_json:
        output.print_json({"revoked": describe_key(revoked)})
    else:
        output.print_lines([f"revoked {revoked.id} of {revoked.name}"])


def _open_key_file() -> KeyFile:
    return KeyFile(keys_path(config.load_settings().server))


def _key_table(api_keys: list[ApiKey]) -> TextTable:
    at = datetime.now(UTC)
    rows: list[tuple[str, ...]] = []
    for one in api_keys:
        expiry = "–"
        if one.expires_at is not None:
            expiry = f"{'' if one.is_valid(at) else 'expired '}{format_moment(one.expires_at)}"
        grants = ", ".join(f"{' '.join(sorted(grant.rights))} in {grant.reach}" for grant in one.grants)
        rows.append((one.id, one.name, expiry, one.provenance.value, grants))
    return TextTable(("id", "name", "expires", "provenance", "allows"), rows)
