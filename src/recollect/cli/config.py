"""recollect config: what is set, where it comes from, and whether a file is right."""

from pathlib import Path

import click

from recollect import config as configured
from recollect.cli import options, output
from recollect.config import toml_writer
from recollect.model.format import make_printable

origin_option = click.option(
    "--origin", is_flag=True, help="Say where each comes from: the default, a file, a variable, an option."
)


@click.group("config", short_help="Show the settings and where they come from.", invoke_without_command=True)
@origin_option
@options.as_json
@click.pass_context
def config_command(ctx: click.Context, origin: bool, as_json: bool) -> None:
    """Show the settings and where they come from, and check a file of them; alone it shows them."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show, origin=origin, as_json=as_json)


@config_command.command()
@origin_option
@options.as_json
def show(origin: bool, as_json: bool) -> None:
    """Print every setting as TOML, ready to be kept in a file and changed. Of a key it says whether it is set.

    \b
    recollect config show --origin
    recollect --setting novelty.enabled=true config show
    """
    found = configured.load_configuration()
    if as_json:
        output.print_json(toml_writer.to_json(found, origins=origin))
    else:
        output.print_lines(toml_writer.render_lines(found, origins=origin))
    for line in configured.find_unknown_variables():
        output.print_note(line)


@config_command.command()
@click.argument("file", type=click.Path(path_type=Path))
@options.as_json
def check(file: Path, as_json: bool) -> None:
    """Check the configuration in FILE by itself, and say what is wrong with it if anything is."""
    found = configured.load_file_configuration(file)
    if as_json:
        output.print_json(toml_writer.to_json(found, origins=True))
    else:
        said = sum(1 for origin in found.origins.values() if isinstance(origin, configured.FileOrigin))
        count = "1 setting" if said == 1 else f"{said} settings"
        click.echo(f"{make_printable(str(file))} is a sound configuration with {count}")
