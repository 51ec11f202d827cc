"""recollect serve: one process that answers over HTTP, MCP and gRPC for one store."""

import click

from recollect.cli import output
from recollect.cli.target import StoreTarget, pass_target
from recollect.errors import InvalidInput

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
    place: StoreTarget,
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
        raise InvalidInput(f"what a server needs is not installed ({error.name}); {remedy}") from error

    wanted = server.build_options(
        place.target,
        shown=place.full_name,
        host=host,
        port=port,
        grpc_port=grpc_port,
        mcp=not no_mcp,
        grpc=not no_grpc,
        scheduler=not no_scheduler,
    )
    ctx.exit(server.serve(wanted, place.open_or_create, lambda line: output.print_lines([line])))
